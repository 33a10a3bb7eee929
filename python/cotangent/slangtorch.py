"""slangtorch's surface, so that `import cotangent.slangtorch as slangtorch` is the whole port.

Kernels compile in milliseconds and need neither nvcc nor a host compiler. They run on CPU tensors and numpy arrays too.
"""

from __future__ import annotations

import collections
import os
import warnings

from . import CompileError, Module, _host, load, load_text
from ._kernel import Kernel

#: An array and its gradient.
DiffTensorView = collections.namedtuple("DiffTensorView", ("value", "grad"), defaults=(None,))


class SlangModule:
    """A program as slangtorch shows it: kernels and host functions, and a named tuple for each structure."""

    DiffTensorView = DiffTensorView

    def __init__(self, module: Module, launched=()):
        self._module = module
        self._types: dict[str, type] = {}
        self._structures = {name: fields for name, fields in module._structures().items() if not name.startswith("ct_")}
        #: The kernels that host functions launch.
        self._launched = list(launched)

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._structures and name not in dir(self._module):
            if name not in self._types:
                self._types[name] = collections.namedtuple(name, self._structures[name], rename=True)
            return self._types[name]
        found = self._module._find(name)
        # From now on it is an attribute like any other.
        found = self.__dict__[name] = found if isinstance(found, Kernel) else self._function(found)
        return found

    def __dir__(self):
        return [*dir(self._module), *self._structures, "DiffTensorView"]

    def __repr__(self) -> str:
        return repr(self._module)

    def _function(self, function):
        """A function that takes and gives Python's numbers, lists and tuples, and tensors; of tensors it gives tensors."""

        def call(*args):
            slots, run = function._points.outputs, None
            if "ct_commands" in function._points.entry.known:
                run = _host.Run(self._module, self._launched)
                found = run.call(function, args)
            else:
                found = function(*args)
                found = found if len(slots) > 1 else (found,)
            plain = tuple(_plain(slot.node, value, run) for slot, value in zip(slots, found))
            return plain if len(plain) > 1 else plain[0] if plain else None

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        return call


def _plain(node, value, run):
    """A value as slangtorch gives it: structures, arrays, matrices and vectors are tuples."""
    if _host.is_tensor(node):
        return run.tensor(value)
    if isinstance(value, dict):
        if node[0] == "array":
            # A dictionary of arrays, of which each has the elements.
            return tuple(_plain(node[1], _element(value, i), run) for i in range(node[2]))
        return tuple(_plain(part, value[name], run) for name, _, part in node[1])
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
    defines, include = dict(defines or {}), [includePaths] if isinstance(includePaths, (str, os.PathLike)) else list(includePaths)
    unknown = _take_flags(extraSlangFlags, defines, include)
    for name, flags in (("extraSlangFlags", unknown), ("extraCudaFlags", list(extraCudaFlags))):
        if flags:
            warnings.warn(f"{name} has no effect: {' '.join(flags)}", stacklevel=2)
    module, launched = _load(os.fspath(fileName), defines, include)
    if verbose:
        print(module)
    return SlangModule(module, launched)


def _take_flags(flags, defines: dict, include: list) -> list[str]:
    """Adds macros and folders that flags of the compiler give. Gives the flags that are neither."""
    unknown = []
    for flag in flags:
        if flag.startswith("-D") and len(flag) > 2:
            name, _, value = flag[2:].partition("=")
            defines[name] = value or "1"
        elif flag.startswith("-I") and len(flag) > 2:
            include.append(flag[2:])
        else:
            unknown.append(flag)
    return unknown


def _load(path: str, defines: dict, include):
    """A program, and the kernels that its host functions launch."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not _host.is_host(text):
        return load(path, defines=defines, include=include), []
    text, launched = _host.extend(text)
    return load_text(path, text, {**defines, _host.MACRO[0]: _host.MACRO[1]}, include), launched


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
