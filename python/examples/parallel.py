"""Trains the neural field of `field.py` with several processes: over nccl with a CUDA device each, otherwise over gloo on the CPU.

    torchrun --nproc-per-node 2 parallel.py [--steps 600]
"""

import argparse
import os

import torch
from common import progress, save_png, target
from field import Field
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--size", type=int, default=128)
    options.add_argument("--batch", type=int, default=1024, help="of each process")
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--out", default="parallel.png")
    args = options.parse_args()

    distributed.init_process_group("nccl" if args.device == "cuda" else "gloo")
    rank, device = distributed.get_rank(), args.device
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    # Each process draws its own batches. The model begins with the weights of the first process.
    torch.manual_seed(rank)
    model = DistributedDataParallel(Field().to(device))
    wanted = target(args.size, device)
    side = torch.linspace(-1, 1, args.size, device=device)
    y, x = torch.meshgrid(side, side, indexing="ij")
    positions, colors = torch.stack([x, y], -1).reshape(-1, 2), wanted.reshape(-1, 3)

    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        chosen = torch.randint(len(positions), (args.batch,), device=device)
        optimizer.zero_grad()
        loss = ((model(positions[chosen]) - colors[chosen]) ** 2).mean()
        loss.backward()
        optimizer.step()
        if rank == 0:
            progress(step, args.steps, loss.item())
    # All processes have the same weights, although each saw its own batches.
    own = torch.cat([weights.detach().flatten() for weights in model.parameters()])
    others = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(others, own)
    assert all(torch.equal(own, other) for other in others)
    if rank == 0:
        with torch.no_grad():
            save_png(args.out, torch.cat([wanted, model.module(positions).reshape(wanted.shape)], 1))
        print(f"loss {loss.item():.6f}; {len(others)} processes have the same weights; the picture and the field are in {args.out}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
