"""Fits Gaussian splats to a picture: a kernel over buffers as a function of torch.

    python splats.py [--steps 300] [--device cuda]
"""

import argparse
from pathlib import Path

import torch
from common import progress, save_png, target

import cotangent


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--size", type=int, default=96)
    options.add_argument("--splats", type=int, default=200)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--out", default="splats.png")
    args = options.parse_args()

    torch.manual_seed(0)
    module = cotangent.load(Path(__file__).with_suffix(".slang"))
    groups = -(-args.size // 8)
    render = module.render.function(out={"picture": (args.size * args.size, 3)}, blocks=(groups, groups))

    n, size, device = args.splats, args.size, args.device
    center = (torch.rand(n, 2, device=device) * 2 - 1).requires_grad_()
    shape = (torch.tensor([8.0, 0.0, 8.0], device=device) + torch.randn(n, 3, device=device)).requires_grad_()
    color = torch.cat([torch.rand(n, 3, device=device), torch.zeros(n, 1, device=device)], 1).requires_grad_()
    wanted = target(size, device)

    optimizer = torch.optim.Adam([{"params": [center], "lr": 5e-3}, {"params": [shape], "lr": 0.1}, {"params": [color], "lr": 2e-2}])
    for step in range(args.steps):
        optimizer.zero_grad()
        picture = render(center=center, shape=shape, color=color, count=n, size=size).reshape(size, size, 3)
        loss = ((picture - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        progress(step, args.steps, loss.item())
    save_png(args.out, torch.cat([wanted, picture], 1))
    print(f"loss {loss.item():.6f}; the picture and its splats are in {args.out}")


if __name__ == "__main__":
    main()
