"""Kernels on CUDA: NVRTC compiles them in process, the driver launches them on torch's stream.

Both libraries are loaded when the first kernel needs them, from where torch or the Python packages of CUDA put them. Compiled
kernels are kept on disk under the text, the device and the compiler that they depend on.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import hashlib
import os
import re
import shutil
import site
import sys
import tempfile

import torch

from ._native import Trap

#: Where a thread says why it stopped: a line, how long the reason is, and the reason.
_NOTE = 256
_PRELUDE = """\
__device__ volatile int *ct_note;
static __device__ __forceinline__ void ct_stop(int line, const char *what) {
    if (ct_note && atomicCAS_system((int *)ct_note, 0, -1) == 0) {
        volatile char *text = (volatile char *)(ct_note + 2);
        int n = 0;
        for (; what[n] && n < %d; n++) text[n] = what[n];
        ct_note[1] = n;
        __threadfence_system();
        ct_note[0] = line > 0 ? line : 1;
        __threadfence_system();
    }
    asm volatile("exit;");
}
#define COTANGENT_TRAP(line, what) ct_stop(line, what)
""" % (_NOTE - 16)


def _candidates():
    given = os.environ.get("COTANGENT_NVRTC")
    if given:
        yield given
    roots = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for root in dict.fromkeys(roots):
        found = glob.glob(os.path.join(root, "nvidia", "**", "libnvrtc.so*"), recursive=True)
        yield from sorted((f for f in found if "alt" not in os.path.basename(f)), reverse=True)
        yield from glob.glob(os.path.join(root, "torch", "lib", "libnvrtc*.so*"))
    yield from ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")
    yield from sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so*"), reverse=True)


@functools.cache
def _nvrtc():
    # The compiler of torch's own version is loaded already where torch uses it.
    for path in _candidates():
        if "builtins" in path:
            continue
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise RuntimeError("CUDA's compiler was not found: `pip install nvidia-cuda-nvrtc`, or set COTANGENT_NVRTC")


@functools.cache
def _driver():
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("CUDA's driver was not found")


def _check(code: int, what: str) -> None:
    if code:
        name = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(name))
        raise RuntimeError(f"{what}: {(name.value or b'error').decode()} ({code})")


def cache_folder() -> str:
    base = os.environ.get("COTANGENT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cotangent"
    )
    return os.path.join(base, "cuda")


def clear_cache() -> None:
    """Removes compiled kernels from disk."""
    shutil.rmtree(cache_folder(), ignore_errors=True)


def compile_text(text: str, architecture: str) -> bytes:
    """Machine code for a text. It comes from disk if it is there."""
    nvrtc = _nvrtc()
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    options = [f"--gpu-architecture={architecture}", "--std=c++17", "-w"]
    key = "\n".join([str(major.value), str(minor.value), *options, text])
    path = os.path.join(cache_folder(), hashlib.sha256(key.encode()).hexdigest() + ".cubin")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        pass
    code = _compile(nvrtc, text, options)
    try:
        os.makedirs(cache_folder(), exist_ok=True)
        # Another process may do the same: a file appears whole or not at all.
        with tempfile.NamedTemporaryFile(dir=cache_folder(), delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        pass
    return code


def _compile(nvrtc, text: str, options: list[str]) -> bytes:
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"cotangent.cu", 0, None, None):
        raise RuntimeError("CUDA's compiler does not take the program")
    try:
        flags = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        failed = nvrtc.nvrtcCompileProgram(program, len(options), flags)
        size = ctypes.c_size_t()
        if failed:
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(
                "CUDA's compiler refuses the program. This is a bug in cotangent, please report it:\n"
                + log.value.decode(errors="replace")
            )
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


class Loaded:
    """A kernel on a device."""

    def __init__(self, text: str, entry, path: str, device):
        index = device.index if device.index is not None else torch.cuda.current_device()
        self.device, self.path, self.name = torch.device("cuda", index), path, entry.name
        major, minor = torch.cuda.get_device_capability(index)
        code = compile_text(_PRELUDE + text, f"sm_{major}{minor}")
        found = re.search(r'extern "C" __global__ void(?: __launch_bounds__\(\d+\))? (\w+)\(([^)]*)\)', text)
        if found is None:
            raise RuntimeError(f"the code for CUDA has no kernel `{entry.name}`")
        self.takes = [part.split()[-1] for part in found.group(2).split(",") if part.strip()]
        self.group = entry.group
        driver = _driver()
        with torch.cuda.device(index):
            torch.cuda.current_stream()
            self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
            _check(driver.cuModuleLoadData(ctypes.byref(self.module), code), "cannot load the kernel")
            _check(
                driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, found.group(1).encode()),
                "cannot find the kernel",
            )
            self._make_note(driver)

    def _make_note(self, driver) -> None:
        """Memory of the host that the device writes to when it stops, so that reading it waits for nothing."""
        host, seen = ctypes.c_void_p(), ctypes.c_uint64()
        _check(driver.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(_NOTE), 3), "cannot allocate memory")
        ctypes.memset(host, 0, _NOTE)
        _check(driver.cuMemHostGetDevicePointer_v2(ctypes.byref(seen), host, 0), "cannot map memory")
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        code = driver.cuModuleGetGlobal_v2(ctypes.byref(place), ctypes.byref(size), self.module, b"ct_note")
        self.note = host
        if code == 0:
            _check(driver.cuMemcpyHtoD_v2(place, ctypes.byref(seen), ctypes.c_size_t(8)), "cannot prepare the kernel")
        LOADED.append(self)

    def raise_note(self) -> None:
        """Raises what a thread of an earlier launch stopped with."""
        line = ctypes.c_int.from_address(self.note.value)
        if line.value <= 0:
            return
        length = ctypes.c_int.from_address(self.note.value + 4).value
        what = ctypes.string_at(self.note.value + 8, length).decode(errors="replace")
        where = f"{self.path}:{line.value}"
        line.value = 0
        raise Trap(f"{self.name} stopped at {where}: {what}")

    def launch(self, groups, globals_block, own_block) -> None:
        self.raise_note()
        blocks = {"params": bytes(globals_block) or b"\0", "own": bytes(own_block) or b"\0"}
        held = [ctypes.create_string_buffer(blocks[name], len(blocks[name])) for name in self.takes]
        args = (ctypes.c_void_p * max(len(held), 1))(*[ctypes.addressof(block) for block in held])
        stream = torch.cuda.current_stream(self.device).cuda_stream
        driver = _driver()
        if torch.cuda.current_device() == self.device.index:
            code = driver.cuLaunchKernel(
                self.function, *groups, *self.group, 0, ctypes.c_void_p(stream), args, None
            )
        else:
            with torch.cuda.device(self.device):
                code = driver.cuLaunchKernel(
                    self.function, *groups, *self.group, 0, ctypes.c_void_p(stream), args, None
                )
        _check(code, f"cannot launch {self.name}")


#: All kernels on devices.
LOADED: list[Loaded] = []


def load(entry, device) -> Loaded:
    return Loaded(entry.kernel.cuda(), entry, entry.kernel.path, device)


def synchronize() -> None:
    """Waits for all devices, and raises what a thread stopped with."""
    for device in {loaded.device for loaded in LOADED}:
        torch.cuda.synchronize(device)
    for loaded in LOADED:
        loaded.raise_note()
