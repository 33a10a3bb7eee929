"""How long loading and calling take, on the CPU and on CUDA, beside slangpy where it is installed.

    python bench.py
"""

import statistics
import time

import numpy as np

import cotangent

TEXT = """
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void scale(DiffTensorView a, DiffTensorView b)
{ uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x; if (i >= a.size(0)) return; b.storeOnce(i, a[i] * a[i]); }
"""


def median_us(f, repeat=2000, after=lambda: None):
    for _ in range(20):
        f()
    after()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    after()
    return statistics.median(times) * 1e6


def row(what, value, unit):
    print(f"{what:58} {value:10.1f} {unit}")


def loads(make, what):
    start = time.perf_counter()
    make()
    row(what, (time.perf_counter() - start) * 1e3, "ms")


def main():
    loads(lambda: cotangent.load(source=TEXT).poly(1.0, 2.0), "load and first call, first in the process, CPU")
    m = None

    def again():
        nonlocal m
        m = cotangent.load(source=TEXT.replace("+ x", "- x"))
        m.poly(1.0, 2.0)

    loads(again, "load and first call, CPU")
    x = np.ones(64, np.float32)
    row("poly(1, x) of 64 numbers, numpy", median_us(lambda: m.poly(1.0, x)), "us")
    row("poly.grad(1, x) of 64 numbers, numpy", median_us(lambda: m.poly.grad(1.0, x)), "us")
    b = np.zeros(64, np.float32)
    launch = lambda: m.scale(a=x, b=b).launchRaw(blockSize=(64, 1, 1), gridSize=(1, 1, 1))
    row("scale(a, b).launchRaw of 64 threads, numpy", median_us(launch), "us")
    try:
        import torch
    except ImportError:
        return
    for device in ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]:
        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        t, o = torch.ones(64, device=device), torch.zeros(64, device=device)
        one = torch.tensor(1.0, device=device)
        if device == "cuda":
            from cotangent import _nvrtc

            t.sum().item()
            _nvrtc.clear_cache()
            for what in ("without a cache", "with a cache"):
                loads(lambda: (cotangent.load(source=TEXT).poly(one, t), wait()), f"load and first call, CUDA, {what}")
        row(f"poly(1, x) of 64 numbers, torch on {device}", median_us(lambda: m.poly(one, t), after=wait), "us")
        launch = lambda: m.scale(a=t, b=o).launchRaw(blockSize=(64, 1, 1), gridSize=(1, 1, 1))
        row(f"scale(a, b).launchRaw of 64 threads, torch on {device}", median_us(launch, after=wait), "us")
        r = t.clone().requires_grad_()
        row(f"poly(1, x).sum().backward(), torch on {device}", median_us(lambda: m.poly(one, r).sum().backward(), 500, wait), "us")
        row(f"(x * x + x).sum().backward(), torch alone on {device}", median_us(lambda: (r * r + r).sum().backward(), 500, wait), "us")


if __name__ == "__main__":
    main()
