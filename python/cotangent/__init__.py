"""Differentiable Slang programs over numpy arrays and torch tensors.

>>> import cotangent
>>> m = cotangent.load(source="[Differentiable] float area(float2 a) { return a.x * a.y; }")
>>> m.area([3.0, 4.0])
np.float32(12.0)
>>> m.area.grad([3.0, 4.0])
array([4., 3.], dtype=float32)
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
import weakref
from html import escape

from ._function import Function
from ._kernel import Kernel
from ._native import CompileError, Program, Trap, __version__, after_fork
from ._reports import Check, Report
from ._wrappers import Param, Signature

__all__ = ["Check", "CompileError", "Function", "Kernel", "Module", "Report", "Trap", "load", "synchronize", "__version__"]


# Workers of torch's data loaders, for one, are forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)

_handles = itertools.count()
#: Programs by their handles.
_MODULES: weakref.WeakValueDictionary[int, Module] = weakref.WeakValueDictionary()


def _attribute(handle: int, name: str):
    """A function or entry point of a program, which from now on is an attribute like any other."""
    module = _MODULES[handle]
    found = module.__dict__[name] = module._find(name)
    return found


# Compilers of graphs call it instead of looking into it.
setattr(_attribute, "_dynamo_marked_constant", True)  # noqa: B010


class Module:
    """A program. Its functions and entry points are attributes; `m["name"]` finds them too."""

    def __init__(self, program: Program, path: str):
        self._program, self._path, self._handle = program, path, next(_handles)
        _MODULES[self._handle] = self
        functions, entries = program.names()
        # What this package appends to programs begins with `ct_`.
        self._functions: dict = dict.fromkeys(name for name in functions if not name.rsplit(".", 1)[-1].startswith("ct_"))
        self._kernels: dict = {entry[0]: Kernel(program, *entry) for entry in entries}
        # Compilers of graphs look at attributes twice.
        self.__dict__.update((name, kernel) for name, kernel in self._kernels.items() if not name.startswith("_"))

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        _attribute(self._handle, name)
        return self._functions.get(name) or self._kernels[name]

    def __getitem__(self, name: str):
        try:
            return self._find(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def _find(self, name: str):
        if name in self._kernels:
            return self._kernels[name]
        if name not in self._functions:
            raise AttributeError(self._why_not(name))
        if self._functions[name] is None:
            self._functions[name] = _find_function(self._program, name)
        return self._functions[name]

    def _why_not(self, name: str) -> str:
        """Why there is no such attribute."""
        try:
            self._program.signature(name)
        except ValueError as error:
            return str(error)
        except (AttributeError, CompileError):
            pass
        return f"{self._path} has no function or entry point `{name}`; it has {', '.join(dir(self)) or 'none'}"

    def _structures(self) -> dict:
        """The names of the fields of each structure of the program."""
        return {name.rsplit(".", 1)[-1]: fields for name, fields in self._program.structures()}

    def __dir__(self):
        return [*self._functions, *self._kernels]

    def __deepcopy__(self, _memo) -> Module:
        """Nothing in it changes: copies of models share it."""
        return self

    def __repr__(self) -> str:
        return f"<program {self._path}: {', '.join(dir(self))}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<li><code>{escape(self._shown(name))}</code></li>" for name in dir(self))
        return f"<p><b>{escape(self._path)}</b></p><ul>{rows}</ul>"

    def _shown(self, name: str) -> str:
        """A function or kernel with its parameters, or its name if it cannot be called."""
        try:
            return repr(self[name]).strip("<>")
        except (CompileError, KeyError, TypeError, ValueError):
            return name


def _find_function(program: Program, name: str) -> Function:
    found = program.signature(name)
    params = tuple(Param(**param) for param in found["params"])
    result = Param("ct_result", dir="out", **found["result"]) if found["result"] else None
    return Function(program, Signature(name, params, result), found["differentiable"], found["backward"])


def load(path: str | os.PathLike | None = None, *, source: str | None = None, defines=None, include=()) -> Module:
    """Compiles a program: a file, or a text.

    `defines` are macros, and `include` are the folders in which imports are looked for. Errors are raised as `CompileError`, and
    warnings of the compiler are shown as warnings of Python. The program stays what it is if its files change: load it again.

    >>> import cotangent
    >>> cotangent.load(source="float f(float x) { return SCALE * x; }", defines={"SCALE": 2}).f(3)
    np.float32(6.0)
    """
    if (path is None) == (source is None):
        raise TypeError("load takes the path of a file, or a text as source=")
    if path is not None and any(c in os.fspath(path) for c in "{;\n"):
        raise TypeError("load takes the path of a file: give a text as source=")
    return load_text("source.slang" if path is None else os.fspath(path), source, defines, include)


def load_text(path: str, source: str | None, defines, include) -> Module:
    """Compiles a text that has a path, or the file there if there is no text."""
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    if not isinstance(defines or {}, dict):
        raise TypeError(f"defines are a dictionary of macros, as in defines={{'N': 3}}, not {type(defines).__name__}")
    macros = [(name, "" if value is None else _macro(value)) for name, value in (defines or {}).items()]
    program = Program(path, source, macros, [os.fspath(folder) for folder in include])
    told = program.check()
    if told:
        warnings.warn(told, stacklevel=3)
    return Module(program, path)


def synchronize() -> None:
    """Waits for kernels on CUDA devices, and raises what a thread of them stopped with.

    A launch on such a device does not wait. What stops a thread is raised by the next launch of the kernel, or here.
    """
    cuda = sys.modules.get("cotangent._cuda")
    if cuda is not None:
        cuda.synchronize()


def _macro(value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
