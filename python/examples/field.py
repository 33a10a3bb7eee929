"""Trains a neural field, a network that gives the color at each place of a picture.

    python field.py [--steps 600] [--device cuda]
"""

import argparse
from pathlib import Path

import torch
from common import progress, save_png, target

import cotangent


class Field(torch.nn.Module):
    """The network, as a module of torch."""

    def __init__(self, inputs=16, hidden=32):
        super().__init__()
        kernel = cotangent.load(Path(__file__).with_suffix(".slang")).field
        self.kernel = kernel.function(out={"color": lambda a: (a["count"], 3)}, blocks=lambda a: -(-a["count"] // 64))
        self.first, self.second, self.last = (
            torch.nn.Parameter(torch.randn(rows, columns + 1) * (2 / columns) ** 0.5)
            for rows, columns in ((hidden, inputs), (hidden, hidden), (3, hidden))
        )

    def forward(self, position):
        return self.kernel(position=position, first=self.first, second=self.second, last=self.last, count=len(position))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--size", type=int, default=128)
    options.add_argument("--batch", type=int, default=2048)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--out", default="field.png")
    args = options.parse_args()

    torch.manual_seed(0)
    model = Field().to(args.device)
    wanted = target(args.size, args.device)
    side = torch.linspace(-1, 1, args.size, device=args.device)
    y, x = torch.meshgrid(side, side, indexing="ij")
    positions, colors = torch.stack([x, y], -1).reshape(-1, 2), wanted.reshape(-1, 3)

    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        chosen = torch.randint(len(positions), (args.batch,), device=args.device)
        optimizer.zero_grad()
        loss = ((model(positions[chosen]) - colors[chosen]) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress(step, args.steps, loss.item())
    with torch.no_grad():
        save_png(args.out, torch.cat([wanted, model(positions).reshape(wanted.shape)], 1))
    print(f"loss {loss.item():.6f}; the picture and the field are in {args.out}")


if __name__ == "__main__":
    main()
