"""What the examples share: pictures without dependencies, and a progress bar."""

import struct
import sys
import zlib

import torch


def save_png(path, picture):
    """Writes a tensor of shape (height, width, 3) with numbers from 0 to 1."""
    height, width, _ = picture.shape
    rows = (picture.detach().clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    data = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def progress(step, steps, loss):
    """Shows how far it is."""
    done = 40 * (step + 1) // steps
    end = "\n" if step + 1 == steps else ""
    print(f"\r[{'#' * done}{'.' * (40 - done)}] {step + 1}/{steps}  loss {loss:.6f}", end=end, file=sys.stderr, flush=True)


def target(size, device):
    """A picture to fit: rings, a disc and a slope of colors."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    rings = 0.5 + 0.5 * torch.cos(14 * torch.sqrt(x * x + y * y))
    disc = ((x - 0.35) ** 2 + (y + 0.3) ** 2 < 0.1).float()
    picture = torch.stack([0.6 * rings + 0.4 * disc, 0.5 + 0.4 * x - 0.3 * disc, 0.5 + 0.4 * y * rings], -1)
    return picture.clamp(0, 1).to(device)
