"""How long loading and calling take, on the CPU and on CUDA, beside slangpy and slangtorch where they are installed and can run.

    python bench.py

Build the package with optimization first: `pip install ./python`.

slangtorch needs a CUDA device and nvcc. slangpy (`pip install slangpy`) needs a device of CUDA or Vulkan: on its CPU device, functions
cannot be called ("Device reports zero compute dispatch groups"). It asks Vulkan for the extension VK_KHR_shader_non_semantic_info, which
Mesa's lavapipe has as a part of Vulkan 1.3 but does not list before version 23. Then a manifest of a layer that lists it lets slangpy
run; here `LAYER` is a folder for the manifest:

    cat > LAYER/device_select.json <<END
    {"file_format_version": "1.0.0", "layer": {"name": "VK_LAYER_MESA_device_select", "type": "GLOBAL", "api_version": "1.3.211",
     "library_path": "libVkLayer_MESA_device_select.so", "implementation_version": "1", "description": "lists an extension",
     "functions": {"vkNegotiateLoaderLayerInterfaceVersion": "vkNegotiateLoaderLayerInterfaceVersion"},
     "device_extensions": [{"name": "VK_KHR_shader_non_semantic_info", "spec_version": "1"}]}}
    END
    NODEVICE_SELECT=1 VK_LAYER_PATH=LAYER VK_INSTANCE_LAYERS=VK_LAYER_MESA_device_select python bench.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cotangent

TEXT = """
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void scale(DiffTensorView a, DiffTensorView b)
{ uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x; if (i >= a.size(0)) return; b.storeOnce(i, a[i] * a[i]); }
"""
FIRST = """
import time
start = time.perf_counter()
import cotangent
imported = time.perf_counter()
cotangent.load(source="[Differentiable] float poly(float a, float x) { return a * x * x + x; }").poly(1.0, 2.0)
print((imported - start) * 1e3, (time.perf_counter() - imported) * 1e3)
"""


def median_us(f, repeat=2000, after=lambda: None):
    """The median time of a call, without the first ones."""
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


def once_ms(f):
    start = time.perf_counter()
    f()
    return (time.perf_counter() - start) * 1e3


def row(what, value, unit):
    print(f"{what:62} {value:10.1f} {unit}")


def loading():
    told = [subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True).stdout for _ in range(5)]
    imported, first = zip(*(map(float, line.split()) for line in told))
    row("import of cotangent", statistics.median(imported), "ms")
    row("load and first call, first in a process, CPU", statistics.median(first), "ms")
    texts = [TEXT.replace("+ x", f"+ {i} * x") for i in range(9)]
    times = [once_ms(lambda: cotangent.load(source=text).poly(1.0, 2.0)) for text in texts]  # noqa: B023
    row("load and first call, CPU", statistics.median(times), "ms")


def numpy_calls(m):
    x, b = np.ones(64, np.float32), np.zeros(64, np.float32)
    row("poly(1, x) of 64 numbers, numpy", median_us(lambda: m.poly(1.0, x)), "us")
    one = np.ones((), np.float32)
    entry, block = m.poly._points.entry, m.poly._points._format.pack(64, one.ctypes.data, 1, 0, x.ctypes.data, 64, 1, b.ctypes.data, 64)
    row("  of which in native code", median_us(lambda: entry.kernel.launch((1, 1, 1), b"", block)), "us")
    row("poly.grad(1, x) of 64 numbers, numpy", median_us(lambda: m.poly.grad(1.0, x)), "us")
    row("scale(a, b).launchRaw of 64 threads, numpy", median_us(lambda: launch(m, x, b)), "us")


def launch(m, a, b):
    m.scale(a=a, b=b).launchRaw(blockSize=(64, 1, 1), gridSize=(1, 1, 1))


def torch_calls(m, torch, device):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    t, o = torch.ones(64, device=device), torch.zeros(64, device=device)
    one = torch.tensor(1.0, device=device)
    if device == "cuda":
        t.sum().item()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["COTANGENT_CACHE"] = folder
            for what in ("without a cache", "with one on disk"):
                load = lambda: (cotangent.load(source=TEXT).poly(one, t), wait())
                from cotangent import _cuda

                _cuda.LOADED.clear()
                row(f"load and first call, CUDA, {what}", once_ms(load), "ms")
    row(f"poly(1, x) of 64 numbers, torch on {device}", median_us(lambda: m.poly(one, t), after=wait), "us")
    row(f"scale(a, b).launchRaw of 64 threads, torch on {device}", median_us(lambda: launch(m, t, o), after=wait), "us")
    r = t.clone().requires_grad_()
    own, other = lambda: m.poly(one, r).sum().backward(), lambda: (r * r + r).sum().backward()
    row(f"poly(1, x).sum().backward(), torch on {device}", median_us(own, 500, wait), "us")
    row(f"(x * x + x).sum().backward(), torch alone on {device}", median_us(other, 500, wait), "us")


def slangpy_calls():
    try:
        import slangpy
    except ImportError:
        return print("slangpy is not installed")
    try:
        device = slangpy.create_device()
    except RuntimeError as error:
        return print(f"slangpy has no device here: {str(error).splitlines()[0]} (VK_LOADER_DEBUG=error may say why)")
    x = np.ones(64, np.float32)
    told = subprocess.run([sys.executable, "-c", "import time; t = time.perf_counter(); import slangpy; print(time.perf_counter() - t)"],
                          capture_output=True, text=True, check=True).stdout
    row("import of slangpy", float(told) * 1e3, "ms")
    where = f"slangpy on {device.info.api_name}, {device.info.adapter_name}"
    print(f"below: {where}")
    with tempfile.TemporaryDirectory() as folder:
        for i, what in enumerate(("first in a process", "another text", "another text")):
            path = os.path.join(folder, f"poly{i}.slang")
            with open(path, "w") as file:
                file.write(TEXT.splitlines()[1].replace("+ x", f"+ {i} * x"))
            start = time.perf_counter()
            module = slangpy.Module.load_from_file(device, path)
            module.poly(1.0, x, _result="numpy")
            row(f"load and first call, slangpy, {what}", (time.perf_counter() - start) * 1e3, "ms")
    row("poly(1, x) of 64 numbers, slangpy, numpy", median_us(lambda: module.poly(1.0, x, _result="numpy"), 500), "us")
    tensor = slangpy.Tensor.from_numpy(device, x)
    row("poly(1, x) of 64 numbers, slangpy, Tensor", median_us(lambda: module.poly(1.0, tensor), 500, device.wait), "us")
    tensor = tensor.with_grads()
    result = module.poly(1.0, tensor).with_grads()
    row("poly.bwds(1, x) of 64 numbers, slangpy", median_us(lambda: module.poly.bwds(1.0, tensor, _result=result), 500, device.wait), "us")


def own_slangpy_calls():
    import cotangent.slangpy as spy

    x = np.ones(64, np.float32)
    module = spy.Module.load_from_source(None, "poly", TEXT.splitlines()[1])
    row("poly(1, x) of 64 numbers, cotangent.slangpy, numpy", median_us(lambda: module.poly(1.0, x, _result="numpy")), "us")
    tensor = spy.Tensor.from_numpy(None, x).with_grads()
    row("poly(1, x) of 64 numbers, cotangent.slangpy, Tensor", median_us(lambda: module.poly(1.0, tensor)), "us")
    result = module.poly(1.0, tensor).with_grads()
    row("poly.bwds(1, x) of 64 numbers, cotangent.slangpy", median_us(lambda: module.poly.bwds(1.0, tensor, _result=result)), "us")


def slangtorch_calls(torch):
    try:
        import slangtorch
    except ImportError:
        return print("slangtorch is not installed")
    if not torch.cuda.is_available():
        return print("slangtorch needs a CUDA device")
    a, b = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scale.slang")
        with open(path, "w") as file:
            file.write("".join(TEXT.splitlines(True)[2:]))
        try:
            for what in ("without a cache", "with one on disk"):
                row(f"load, slangtorch, {what}", once_ms(lambda: slangtorch.loadModule(path)), "ms")
            m = slangtorch.loadModule(path)
        except (OSError, RuntimeError) as error:
            return print(f"slangtorch cannot build here: {str(error).splitlines()[0]}")
        row("scale(a, b).launchRaw of 64 threads, slangtorch", median_us(lambda: launch(m, a, b), after=torch.cuda.synchronize), "us")


def main():
    loading()
    m = cotangent.load(source=TEXT)
    numpy_calls(m)
    try:
        import torch
    except ImportError:
        print("torch is not installed")
    else:
        for device in ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]:
            torch_calls(m, torch, device)
        slangtorch_calls(torch)
    own_slangpy_calls()
    slangpy_calls()


if __name__ == "__main__":
    main()
