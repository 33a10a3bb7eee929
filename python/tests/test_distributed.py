"""Data-parallel training by torch's own means: two processes over gloo, here on CPU tensors."""

import os
import socket

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import cotangent  # noqa: E402

TEXT = """
[Differentiable] float model(float w[4], float2 p) { return w[0] + w[1] * p.x + w[2] * p.y + w[3] * sin(p.x * p.y); }
"""


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.program = cotangent.load(source=TEXT)
        self.w = torch.nn.Parameter(torch.zeros(4))

    def forward(self, p):
        return self.program.model(self.w, p)


def target(p):
    return 1 - 2 * p[:, 0] + 0.5 * p[:, 1] + 3 * torch.sin(p[:, 0] * p[:, 1])


def train(model, points, steps=400):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        ((model(points) - target(points)) ** 2).mean().backward()
        optimizer.step()


def worker(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(Model())
    # Each process has half of the points.
    train(model, points()[rank::2])
    torch.save(model.module.w.detach(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def points():
    return torch.rand(64, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1


def test_two_processes_train_one_model(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(worker, (port, str(tmp_path)), nprocs=2, start_method="spawn")
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    # The mean of the gradients of both halves is the gradient of all points.
    alone = Model()
    train(alone, points())
    torch.testing.assert_close(first, alone.w.detach(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(first, torch.tensor([1, -2, 0.5, 3]), rtol=0, atol=2e-2)
