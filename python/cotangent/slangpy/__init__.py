"""slangpy's calls, on the CPU and on CUDA devices: `import cotangent.slangpy as spy`.

Functions over numbers, arrays and tensors, with `_result=`, `.map`, `.bwds` and `with_grads`, generators of indices and random numbers,
and structures as arguments. There is no device to choose: arrays say where programs run.

>>> import cotangent.slangpy as spy
>>> m = spy.Module.load_from_source(spy.create_device(), "poly", "[Differentiable] float poly(float a, float x) { return a * x * x; }")
>>> m.poly(2, 3)
18.0
>>> x = spy.Tensor.from_numpy(None, [1.0, 2.0], "float").with_grads()
>>> y = m.poly(2, x).with_grads()
>>> y.grad.copy_from_numpy([1.0, 1.0])
>>> m.poly.bwds(2, x, _result=y)
>>> x.grad.to_numpy()
array([4., 8.], dtype=float32)
"""

from __future__ import annotations

import os
from typing import Any

from .. import CompileError, load, load_text
from .. import Module as _Program
from .._kernel import Kernel as _Kernel
from ._functions import Function
from ._generators import call_id, grid, rand_float, thread_id, wang_hash
from ._instances import InstanceList, InstanceTensor, Struct
from ._kernels import KernelFunction
from ._tensor import Tensor
from ._values import DiffPair, ValueRef, diff_pair, diffPair, element, floatDiffPair, floatRef, intRef, vectors

globals().update(vectors())


class Device:
    """What programs are loaded with: folders of imports, and macros. Everything else about it has no effect."""

    def __init__(self, *_args, include_paths=(), compiler_options=None, **_options):
        options = dict(compiler_options or {})
        self.include_paths = [os.fspath(p) for p in [*include_paths, *options.get("include_paths", ())]]
        self.defines: dict = dict(options.get("defines", {}))

    def __repr__(self) -> str:
        return "Device(the one that arrays are on)"

    def wait(self) -> None:
        """Waits for launches on CUDA devices."""
        from .. import synchronize

        synchronize()


def create_device(*args: Any, **options: Any) -> Device:
    """A device, which chooses nothing: programs run where arrays are."""
    return Device(*args, **options)


create_torch_device = create_device


class Type:
    """A type of elements: `module.float3`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Module:
    """A program: functions, kernels, structures and types are attributes, instances of generic structures items."""

    def __init__(self, module: _Program):
        self._module = module
        self._found: dict[str, Any] = {}

    @staticmethod
    def load_from_file(device: Device | None, path, options=None, link=()) -> Module:
        """Compiles a file. A name without a folder is looked for in those of the device."""
        include = [*device.include_paths] if device else []
        path = os.fspath(path)
        if not os.path.exists(path):
            path = next((own for own in (os.path.join(folder, path) for folder in include) if os.path.exists(own)), path)
        return Module(load(path, defines=_defines(device, options), include=include))

    @staticmethod
    def load_from_source(device: Device | None, name: str, source: str, options=None, link=()) -> Module:
        """Compiles a text."""
        include = [*device.include_paths] if device else []
        return Module(load_text(f"{name}.slang", source, _defines(device, options), include))

    def _get(self, name: str):
        """What has a name; none if nothing has."""
        name = " ".join(name.split())
        if name not in self._found:
            self._found[name] = self._make(name)
        return self._found[name]

    def _make(self, name: str):
        if name in dir(self._module):
            found = self._module._find(name)
            return KernelFunction(found) if isinstance(found, _Kernel) else Function(found)
        if element(name) is not None:
            return Type(name)
        if name in self._module._structures() or "<" in name:
            try:
                return Struct(self._module._program, name)
            except CompileError:
                return None
        return None

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._get(name)
        if found is None:
            raise AttributeError(f"{self._module._path} has no function or structure `{name}`; it has {', '.join(dir(self))}")
        return found

    __getitem__ = __getattr__

    def find_function(self, name: str):
        found = self._get(name)
        return found if isinstance(found, (Function, KernelFunction)) else None

    def require_function(self, name: str):
        found = self.find_function(name)
        if found is None:
            raise ValueError(f"{self._module._path} has no function `{name}`; it has {', '.join(dir(self._module))}")
        return found

    def find_struct(self, name: str) -> Struct | None:
        found = self._get(name)
        return found if isinstance(found, Struct) else None

    def require_struct(self, name: str) -> Struct:
        found = self.find_struct(name)
        if found is None:
            raise ValueError(f"{self._module._path} has no structure `{name}`; it has {', '.join(self._module._structures())}")
        return found

    def __dir__(self):
        return [*dir(self._module), *self._module._structures()]

    def __repr__(self) -> str:
        return repr(self._module)

    def _repr_html_(self) -> str:
        return self._module._repr_html_()


def _defines(device: Device | None, options) -> dict:
    return {**(device.defines if device else {}), **dict((options or {}).get("defines", {}))}


def pack(module: Module, value):
    """An argument, as it is."""
    return value


__all__ = [
    "Device", "DiffPair", "Function", "InstanceList", "InstanceTensor", "KernelFunction", "Module", "Struct", "Tensor", "Type", "ValueRef",
    "call_id", "create_device", "create_torch_device", "diffPair", "diff_pair", "floatDiffPair", "floatRef", "grid", "intRef", "pack",
    "rand_float", "thread_id", "wang_hash", *vectors(),
]
