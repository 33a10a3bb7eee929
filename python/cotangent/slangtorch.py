"""slangtorch's surface, so that `import cotangent.slangtorch as slangtorch` is the whole port.

Kernels compile in milliseconds and need neither nvcc nor a host compiler. They run on CPU tensors and numpy arrays too.
"""

from __future__ import annotations

import collections
import warnings

from . import CompileError, Module, load
from ._kernel import Kernel

#: An array and its gradient.
DiffTensorView = collections.namedtuple("DiffTensorView", ("value", "grad"), defaults=(None,))


class SlangModule:
    """A program as slangtorch shows it: kernels and host functions, and a named tuple for each structure."""

    DiffTensorView = DiffTensorView

    def __init__(self, module: Module):
        self._module, self._structures, self._types = module, module._structures(), {}

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._structures and name not in dir(self._module):
            if name not in self._types:
                self._types[name] = collections.namedtuple(name, self._structures[name], rename=True)
            return self._types[name]
        found = self._module._find(name)
        return found if isinstance(found, Kernel) else _host(found)

    def __dir__(self):
        return [*dir(self._module), *self._structures, "DiffTensorView"]

    def __repr__(self) -> str:
        return repr(self._module)


def _host(function):
    """A function that takes and gives Python's numbers, lists and tuples; of tensors and arrays, such."""

    def call(*args):
        slots, found = function._points.outputs, function(*args)
        found = found if len(slots) > 1 else (found,)
        plain = tuple(_plain(slot.node, value) for slot, value in zip(slots, found))
        return plain if len(plain) > 1 else plain[0] if plain else None

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _plain(node, value):
    """A value as slangtorch gives it: structures, arrays, matrices and vectors are tuples."""
    if isinstance(value, dict):
        if node[0] == "array":
            # A dictionary of arrays, of which each has the elements.
            return tuple(_plain(node[1], _element(value, i)) for i in range(node[2]))
        return tuple(_plain(part, value[name]) for name, _, part in node[1])
    if hasattr(value, "tolist") and not hasattr(value, "data_ptr"):
        return _tuples(value.tolist())
    return value


def _element(value, index: int):
    return {n: _element(v, index) for n, v in value.items()} if isinstance(value, dict) else value[index]


def _tuples(value):
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def loadModule(  # noqa: N802 (names of slangtorch)
    fileName,  # noqa: N803
    skipSlang=None,  # noqa: N803
    verbose=False,
    defines=None,
    includePaths=(),  # noqa: N803
    skipNinjaCheck=False,  # noqa: N803
    slangGenLineInfo=True,  # noqa: N803
    cudaFastMath=True,  # noqa: N803
    cudaGenLineInfo=True,  # noqa: N803
    extraSlangFlags=(),  # noqa: N803
    extraCudaFlags=(),  # noqa: N803
) -> SlangModule:
    """Compiles a file. What concerns slangtorch's builds has no effect here; arithmetic is never made less exact."""
    del skipNinjaCheck, slangGenLineInfo, cudaFastMath, cudaGenLineInfo
    if skipSlang is not None:
        warnings.warn("skipSlang has no effect", DeprecationWarning, stacklevel=2)
    for name, flags in (("extraSlangFlags", extraSlangFlags), ("extraCudaFlags", extraCudaFlags)):
        if flags:
            warnings.warn(f"{name} has no effect: {' '.join(flags)}", stacklevel=2)
    module = load(fileName, defines=defines, include=includePaths)
    if verbose:
        print(module)
    return SlangModule(module)


def clearSessionShaderCache() -> None:  # noqa: N802
    """Does nothing: loading again compiles again."""


def clearPersistentShaderCache() -> None:  # noqa: N802
    """Removes what was compiled for CUDA and kept on disk."""
    from . import _nvrtc

    _nvrtc.clear_cache()


def clearShaderCaches() -> None:  # noqa: N802
    clearSessionShaderCache()
    clearPersistentShaderCache()


__all__ = ["CompileError", "DiffTensorView", "SlangModule", "clearPersistentShaderCache", "clearSessionShaderCache",
           "clearShaderCaches", "loadModule"]
