"""Fits a material to photographs of a ball under several lights: a function over points.

    python brdf.py [--steps 300] [--device cuda]
"""

import argparse
from pathlib import Path

import torch
from common import progress, save_png

import cotangent


def ball(size, device):
    """The normals of a ball, and where it is."""
    side = torch.linspace(-1.05, 1.05, size, device=device)
    y, x = torch.meshgrid(-side, side, indexing="ij")
    inside = x * x + y * y < 1
    normal = torch.stack([x, y, torch.sqrt((1 - x * x - y * y).clamp(min=1e-6))], -1)
    return torch.nn.functional.normalize(normal, dim=-1), inside[..., None]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--size", type=int, default=96)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--out", default="brdf.png")
    args = options.parse_args()

    device, normalize = args.device, torch.nn.functional.normalize
    module = cotangent.load(Path(__file__).with_suffix(".slang"))
    normal, inside = ball(args.size, device)
    lights = normalize(torch.tensor([[1.0, 1, 1], [-1, 0.5, 0.7], [0.2, -0.5, 1]], device=device), dim=-1)[:, None, None]
    eye = torch.tensor([0.0, 0, 1], device=device)

    def photographs(material):
        return 3 * module.shade(material, normal, lights, eye) * inside

    def material(raw):
        # From all numbers to those that a material may have.
        squashed = torch.sigmoid(raw)
        return {"color": squashed[:3], "roughness": 0.05 + 0.95 * squashed[3], "metallic": squashed[4]}

    wanted = photographs({"color": torch.tensor([0.9, 0.55, 0.2], device=device), "roughness": 0.35, "metallic": 0.8})
    raw = torch.zeros(5, device=device, requires_grad=True)
    begin = photographs(material(raw)).detach()
    optimizer = torch.optim.Adam([raw], lr=0.05)
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = ((photographs(material(raw)) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        progress(step, args.steps, loss.item())
    rows = [wanted, begin, photographs(material(raw)).detach()]
    save_png(args.out, torch.cat([torch.cat(list(row), 1) for row in rows]) ** (1 / 2.2))
    found = {name: [round(x, 3) for x in part.flatten().tolist()] for name, part in material(raw).items()}
    print(f"loss {loss.item():.8f}; found {found}; photographs, first guess and fit are in {args.out}")


if __name__ == "__main__":
    main()
