"""CUDA's compiler in process, and what it made, on disk.

NVRTC is loaded from where torch or the Python packages of CUDA put it. It needs no GPU. What it makes is kept under the text, the
architecture and the version that it depends on, in `$COTANGENT_CACHE/cuda`, or else in the user's folder for caches.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import hashlib
import os
import shutil
import site
import sys
import tempfile


_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")


def _loaded() -> ctypes.CDLL | None:
    """The NVRTC that torch has loaded, if it has: finding another takes much longer than a launch."""
    if not hasattr(os, "RTLD_NOLOAD"):
        return None
    for name in _NAMES:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
    return None


def _candidates():
    """Where NVRTC may be, best first. The one that torch brought fits its driver."""
    roots = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for root in dict.fromkeys(roots):
        found = []
        for pattern in ("libnvrtc.so*", "nvrtc64_*.dll"):
            found += glob.glob(os.path.join(root, "nvidia", "**", pattern), recursive=True)
            found += glob.glob(os.path.join(root, "torch", "lib", pattern.replace("nvrtc.so", "nvrtc*.so")))
        yield from sorted((path for path in found if ".alt." not in path and "builtins" not in path), reverse=True)
    yield from ("libnvrtc.so", *_NAMES)
    yield from sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so*"), reverse=True)


@functools.cache
def library() -> ctypes.CDLL:
    """NVRTC."""
    given = os.environ.get("COTANGENT_NVRTC")
    found = None if given else _loaded()
    if found is not None:
        return found
    for path in [given] if given else _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            if given:
                raise RuntimeError(f"COTANGENT_NVRTC does not name CUDA's compiler: {error}") from None
    raise RuntimeError("CUDA's compiler was not found: `pip install nvidia-cuda-nvrtc`, or set COTANGENT_NVRTC to its path")


@functools.cache
def version() -> tuple[int, int]:
    """The version of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


@functools.cache
def architecture(capability: tuple[int, int]) -> str:
    """What to compile for: machine code of a device, or portable code for one that this compiler does not know yet."""
    count = ctypes.c_int()
    library().nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    library().nvrtcGetSupportedArchs(known)
    own = capability[0] * 10 + capability[1]
    if own in known:
        return f"sm_{own}"
    older = [arch for arch in known if arch < own]
    if not older:
        raise RuntimeError(f"CUDA's compiler {version()} does not support devices of compute capability {capability}")
    return f"compute_{max(older)}"


def folder() -> str:
    """Where compiled kernels are kept."""
    base = os.environ.get("COTANGENT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cotangent"
    )
    return os.path.join(base, "cuda")


def clear_cache() -> None:
    """Removes compiled kernels from disk."""
    shutil.rmtree(folder(), ignore_errors=True)


def _path(text: str, arch: str) -> str:
    key = "\n".join([str(version()), *_options(arch), text])
    return os.path.join(folder(), hashlib.sha256(key.encode()).hexdigest() + ".bin")


def _options(arch: str) -> list[str]:
    return [f"--gpu-architecture={arch}", "--std=c++17", "-w"]


def compile_text(text: str, arch: str, fresh: bool = False) -> bytes:
    """Machine code for a text, or portable code. It comes from disk if it is there, unless it must be made anew."""
    path = _path(text, arch)
    if not fresh:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            pass
    code = _compile(text, arch)
    try:
        _write(path, code)
    except OSError:
        # A cache that cannot be written is none.
        pass
    return code


def _write(path: str, code: bytes) -> None:
    """Writes a file that other processes may write or read at the same time: it appears whole or not at all."""
    os.makedirs(folder(), exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder())
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def _compile(text: str, arch: str) -> bytes:
    nvrtc, program = library(), ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"cotangent.cu", 0, None, None):
        raise RuntimeError("CUDA's compiler does not take the program")
    try:
        options = [option.encode() for option in _options(arch)]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if failed:
            log = _get(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0")
            raise RuntimeError(
                "CUDA's compiler refuses the program. This is a bug in cotangent, please report it:\n"
                + log.decode(errors="replace")
            )
        if arch.startswith("sm_"):
            return _get(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        return _get(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _get(size_of, get, program) -> bytes:
    """What NVRTC gives as a size and then bytes."""
    size = ctypes.c_size_t()
    if size_of(program, ctypes.byref(size)):
        raise RuntimeError("CUDA's compiler gave no code")
    data = ctypes.create_string_buffer(size.value)
    if get(program, data):
        raise RuntimeError("CUDA's compiler gave no code")
    return data.raw
