"""Kernels on CUDA: `_nvrtc` compiles them in process, the driver launches them on torch's current stream.

Nothing here waits for a device. What stops a thread is written to memory of the host, and raised by the next launch of the kernel
or by `cotangent.synchronize`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading

import torch

from . import _nvrtc
from ._native import Trap

#: Where a thread notes why it stopped: its line plus one, how long the reason is, and the reason.
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
        ct_note[0] = line + 1;
        __threadfence_system();
    }
    asm volatile("exit;");
}
#define COTANGENT_TRAP(line, what) ct_stop(line, what)
""" % (_NOTE - 16)

_INVALID_IMAGE = (200, 209)  # CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = 1024

_POINTER, _INT, _UINT, _SIZE, _ADDRESS = (
    ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_uint64
)
#: The functions of the driver that are used, and their parameters.
_FUNCTIONS = {
    "cuGetErrorString": [_INT, _POINTER],
    "cuDeviceGet": [_POINTER, _INT],
    "cuDevicePrimaryCtxRetain": [_POINTER, _INT],
    "cuCtxGetCurrent": [_POINTER],
    "cuCtxPushCurrent_v2": [_POINTER],
    "cuCtxPopCurrent_v2": [_POINTER],
    "cuModuleLoadData": [_POINTER, _POINTER],
    "cuModuleGetFunction": [_POINTER, _POINTER, ctypes.c_char_p],
    "cuModuleGetGlobal_v2": [_POINTER, _POINTER, _POINTER, ctypes.c_char_p],
    "cuMemHostAlloc": [_POINTER, _SIZE, _UINT],
    "cuMemHostGetDevicePointer_v2": [_POINTER, _POINTER, _UINT],
    "cuMemcpyHtoD_v2": [_ADDRESS, _POINTER, _SIZE],
    "cuLaunchKernel": [_POINTER, *[_UINT] * 7, _POINTER, _POINTER, _POINTER],
}
#: Memory of all contexts, which devices see too.
_PORTABLE_AND_MAPPED = 1 | 2


@functools.cache
def _driver():
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        for function, takes in _FUNCTIONS.items():
            getattr(driver, function).argtypes = takes
        return driver
    raise RuntimeError("CUDA's driver was not found")


def _check(code: int, what: str) -> None:
    if code:
        name = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(name))
        raise RuntimeError(f"{what}: {(name.value or b'error').decode()} ({code})")


@functools.cache
def _context(index: int) -> ctypes.c_void_p:
    """The context of a device that torch uses. It is current only in threads that used the device."""
    torch.cuda.init()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(_driver().cuDeviceGet(ctypes.byref(device), index), "cannot find the device")
    _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device.value), "cannot use the device")
    return context


@contextlib.contextmanager
def _current(index: int):
    _check(_driver().cuCtxPushCurrent_v2(_context(index)), "cannot use the device")
    try:
        yield _driver()
    finally:
        _driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


class Loaded:
    """A kernel on a device. It stays loaded as long as the process runs."""

    def __init__(self, text: str, symbol: str, group, name: str, path: str, index: int):
        self.index, self.name, self.path, self.group = index, name, path, group
        if group[0] * group[1] * group[2] > _MOST_THREADS:
            raise ValueError(f"{name} has groups of {group} threads, but a device runs at most {_MOST_THREADS} together")
        arch = _nvrtc.architecture(torch.cuda.get_device_capability(index))
        text = _PRELUDE + text
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        with _current(index) as driver:
            code = driver.cuModuleLoadData(ctypes.byref(self.module), _nvrtc.compile_text(text, arch))
            if code in _INVALID_IMAGE:
                # What was on disk is damaged.
                fresh = _nvrtc.compile_text(text, arch, fresh=True)
                code = driver.cuModuleLoadData(ctypes.byref(self.module), fresh)
            _check(code, f"cannot load {name}")
            found = driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, symbol.encode())
            _check(found, f"cannot find {name}")
            self.note = self._make_note(driver)
        self._line, self.context = ctypes.c_int.from_address(self.note), _context(index).value

    def _make_note(self, driver) -> int:
        """Memory of the host that the device writes to, so that reading it waits for nothing."""
        host, seen = ctypes.c_void_p(), ctypes.c_uint64()
        _check(driver.cuMemHostAlloc(ctypes.byref(host), _NOTE, _PORTABLE_AND_MAPPED), "cannot allocate memory")
        ctypes.memset(host, 0, _NOTE)
        _check(driver.cuMemHostGetDevicePointer_v2(ctypes.byref(seen), host, 0), "cannot map memory")
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        # A kernel that cannot stop has no such variable.
        if driver.cuModuleGetGlobal_v2(ctypes.byref(place), ctypes.byref(size), self.module, b"ct_note") == 0:
            _check(driver.cuMemcpyHtoD_v2(place.value, ctypes.byref(seen), 8), "cannot prepare the kernel")
        return host.value or 0

    def raise_note(self) -> None:
        """Raises what a thread of an earlier launch stopped with."""
        line = self._line.value
        if line <= 0:
            return
        number, length = line - 1, ctypes.c_int.from_address(self.note + 4).value
        what = ctypes.string_at(self.note + 8, length).decode(errors="replace")
        self._line.value = 0
        where = f"at {self.path}:{number}" if number else f"in a file that {self.path} imports"
        raise Trap(f"{self.name} stopped {where}: {what}")

    def launch(self, groups, globals_block, own_block) -> None:
        """Launches groups on the current stream of the device."""
        if self._line.value > 0:
            self.raise_note()
        x, y, z = groups
        if x > _MOST_BLOCKS[0] or y > _MOST_BLOCKS[1] or z > _MOST_BLOCKS[2]:
            raise ValueError(f"{self.name} was launched with {tuple(groups)} groups, but the most are {_MOST_BLOCKS}")
        # The driver copies the blocks while it launches.
        args = _BLOCKS(globals_block or b"\0", own_block or b"\0")
        stream = _raw_stream(self.index)
        driver, current = _driver(), ctypes.c_void_p()
        driver.cuCtxGetCurrent(ctypes.byref(current))
        if current.value == self.context:
            code = driver.cuLaunchKernel(self.function, x, y, z, *self.group, 0, stream, args, None)
        else:
            with _current(self.index):
                code = driver.cuLaunchKernel(self.function, x, y, z, *self.group, 0, stream, args, None)
        if code:
            _check(code, f"cannot launch {self.name}")


#: The blocks of the program and of the entry point. A kernel that takes one of them reads no more.
_BLOCKS = ctypes.c_char_p * 2


def _slow_stream(index: int) -> int:
    return torch.cuda.current_stream(index).cuda_stream


#: The handle of torch's current stream of a device.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _slow_stream)


#: All kernels on devices, by what they were made of.
LOADED: dict[tuple, Loaded] = {}
_LOCK = threading.Lock()


def load(kernel, group, device) -> Loaded:
    """A kernel on a device. The same program is loaded once."""
    index = device.index if device.index is not None else torch.cuda.current_device()
    text, symbol, _ = kernel.cuda()
    key = (text, symbol, group, kernel.path, index)
    with _LOCK:
        found = LOADED.get(key)
        if found is None:
            found = LOADED[key] = Loaded(text, symbol, group, kernel.name, kernel.path, index)
    return found


def synchronize() -> None:
    """Waits for all devices, and raises what a thread stopped with."""
    for index in {loaded.index for loaded in LOADED.values()}:
        torch.cuda.synchronize(index)
    for loaded in LOADED.values():
        loaded.raise_note()
