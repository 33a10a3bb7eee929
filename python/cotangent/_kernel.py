"""Entry points over buffers and tensors, and their derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ._entry import Entry, is_cuda
from ._packer import Packer, is_array, shape_of


class Kernel:
    """An entry point of a program: `m.k(a=x, b=y).launch(blocks, threads)`.

    Parameters are those of the entry point and of the program, by name. A kernel that leaves the threads of a group to the launch
    (`[CudaKernel]`) is compiled for each number of threads that it is launched with.

    >>> import cotangent, numpy as np
    >>> m = cotangent.load(source='''
    ... RWStructuredBuffer<float> x; uniform float a;
    ... [numthreads(4, 1, 1)] void grow(uint3 id : SV_DispatchThreadID) { x[id.x] *= a; }''')
    >>> x = np.arange(4, dtype=np.float32)
    >>> m.grow(x=x, a=10).launch(1)
    >>> x
    array([ 0., 10., 20., 30.], dtype=float32)
    """

    def __init__(self, program, name: str, launched: bool, bound: bool, differentiable: bool, label: str | None = None):
        # Derivatives have labels.
        self.program, self.name, self.is_derivative = program, name, label is not None
        #: Whether the launch says how many threads a group has; whether it is for slangtorch, which has derivatives by name.
        self._launched, self.is_bound, self._differentiable = launched, bound, differentiable
        self._entries: dict = {}
        #: Of each kind, one for some number of threads.
        self._any: dict = {}
        self._derivatives: dict[str, Kernel | Derivative] = {}
        self.__name__ = name
        #: What messages call it.
        self.label = label or name

    def __deepcopy__(self, _memo) -> Kernel:
        """Nothing in it changes: copies of models share it."""
        return self

    def __repr__(self) -> str:
        return f"<kernel {self.label}({', '.join(self.parameters)})>"

    def entry(self, threads=None, cuda: bool = False, derivative=None, wrt=None) -> Entry:
        """The kernel or its derivative, compiled for groups of so many threads."""
        threads = (tuple(threads) if threads is not None else (1, 1, 1)) if self._launched else None
        key = (threads, cuda, derivative, wrt)
        found = self._entries.get(key)
        if found is None:
            given = list(threads) if threads else None
            chosen = None if wrt is None else list(wrt)
            found = self._entries[key] = Entry(self.program, self.name, "", given, cuda, derivative, chosen)
        return found

    def any_entry(self, cuda: bool = False, derivative=None, wrt=None) -> Entry:
        """The same for any number of threads: parameters do not depend on it."""
        wanted = (cuda, derivative, wrt)
        found = self._any.get(wanted)
        if found is None:
            found = self._any[wanted] = self.entry(None, *wanted)
        return found

    @property
    def parameters(self) -> list[str]:
        """The names of all parameters: those of the entry point, then those of the program that it uses."""
        return list(self.any_entry().needed)

    def __call__(self, *args: Any, **kwargs: Any) -> Call:
        """The kernel with its arguments, to be launched."""
        if args:
            raise ValueError(f"{self.label} takes its arguments by name: {', '.join(self.parameters)}")
        entry = self.any_entry(is_on_cuda(kwargs.values()))
        self.check_names(entry, kwargs)
        return Call(self, entry, kwargs)

    def check_names(self, entry: Entry, given, but_for_results: bool = False) -> None:
        """Fails if arguments are missing or unknown."""
        if given.keys() == entry.all_needed:
            return
        unknown = [name for name in given if name not in entry.known]
        if unknown:
            raise ValueError(f"{self.label} has no parameter {', '.join(unknown)}; it has {', '.join(self.parameters)}")
        missing = [] if but_for_results else [name for name in entry.needed if name not in given]
        if missing:
            raise ValueError(f"{self.label} lacks {', '.join(missing)}; it has {', '.join(self.parameters)}")

    def _derived(self, mode: str) -> Kernel | Derivative:
        found = self._derivatives.get(mode)
        if found is None:
            found = self._derivatives[mode] = self._make(mode)
        return found

    def _make(self, mode: str) -> Kernel | Derivative:
        if not self.is_bound:
            return Derivative(self, mode)
        if not self._differentiable:
            what = {"fwd": "forward", "bwd": "backward"}[mode]
            raise ValueError(f"{self.name} has no {what} derivative: mark it [Differentiable] in the program")
        return Kernel(self.program, f"{self.name}_{mode}_diff", self._launched, False, False, f"{self.name}.{mode}")

    @property
    def fwd(self) -> Kernel | Derivative:
        """The kernel that computes tangents of the results: a pair has an array and its tangent."""
        return self._derived("fwd")

    @property
    def bwd(self) -> Kernel | Derivative:
        """The kernel that adds gradients: a pair has an array and its gradient, which for results is the cotangent.

        >>> import cotangent, numpy as np
        >>> m = cotangent.load(source='''
        ... StructuredBuffer<float> x; RWStructuredBuffer<float> y;
        ... [numthreads(2, 1, 1)] void square(uint3 id : SV_DispatchThreadID) { y[id.x] = x[id.x] * x[id.x]; }''')
        >>> x, y = np.array([3, 4], np.float32), np.zeros(2, np.float32)
        >>> gx, gy = np.zeros(2, np.float32), np.ones(2, np.float32)
        >>> m.square.bwd(x=(x, gx), y=(y, gy)).launch(1)
        >>> gx
        array([6., 8.], dtype=float32)
        """
        return self._derived("bwd")

    def function(self, *, out, blocks, threads=None):
        """The kernel as a function of torch, with gradients by its backward derivative: see `cotangent.KernelFunction`."""
        from ._kernel_function import KernelFunction

        return KernelFunction(self, out, blocks, threads)

    def code(self, target: str, threads=None) -> str:
        """The kernel in another language: `cuda`, `cpp`, `wgsl`, `spirv`, `glsl`, `hlsl`, `metal`."""
        given = list(three(threads, "threads")) if threads is not None else None
        return self.program.code(target, "", [self.name], given)


class Derivative:
    """A derivative of a kernel over plain buffers and uniforms.

    It takes the arguments of the kernel. One that is a pair has a gradient (`bwd`) or a tangent (`fwd`): an array of the numbers of
    the value. A backward launch takes the gradients of what the kernel writes, which become zero, and adds to those of what it
    reads. Gradients of other arguments are not computed.
    """

    def __init__(self, kernel: Kernel, mode: str):
        self._kernel, self._mode = kernel, mode
        self.name = f"{kernel.name}.{mode}"
        self.__name__ = self.name

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self._kernel.parameters)})>"

    @property
    def parameters(self) -> list[str]:
        """The names of all parameters."""
        return self._kernel.parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Call:
        """The derivative with its arguments, to be launched."""
        if args:
            raise ValueError(f"{self.name} takes its arguments by name: {', '.join(self.parameters)}")
        kernel, cuda = self._kernel, is_on_cuda(kwargs.values())
        kernel.check_names(kernel.any_entry(cuda), kwargs)
        values: dict[str, Any] = {}
        derivatives: dict[str, Any] = {}
        for name, value in kwargs.items():
            values[name] = _split(value, name, derivatives)
        if not derivatives:
            what = {"fwd": "its tangent", "bwd": "its gradient"}[self._mode]
            raise ValueError(f"{self.name} was given no pair of an array and {what}: there is nothing to compute")
        shadows = {s[0]: s for s in kernel.any_entry(cuda, self._mode).kernel.shadows}
        for name in derivatives:
            if name not in shadows:
                these = ", ".join(shadows) or "nothing"
                raise ValueError(f"{name} of {kernel.name} carries no derivative; these do: {these}")
        # What the kernel writes passes derivatives on, even if nobody wants to see them.
        chosen = tuple(name for name, s in shadows.items() if name in derivatives or s[5])
        entry = kernel.any_entry(cuda, self._mode, None if len(chosen) == len(shadows) else chosen)
        known = {param.name: param for param in entry.parameters}
        for of, name, scalars, is_buffer, _, _ in entry.kernel.shadows:
            value = _at(values, of)
            dtype = known[name].node[1][1]
            shadow = derivatives.get(of)
            count = _elements(value, known[of].node if of in known else None) * scalars if is_buffer else scalars
            if shadow is None:
                shadow = _zeros(count, dtype, value, kwargs.values())
            elif not is_array(shadow) or _count(shadow) != count:
                given = f"{_count(shadow)} numbers" if is_array(shadow) else type(shadow).__name__
                raise ValueError(f"the derivative of {of} has {count} numbers, but was given {given}")
            values[name] = shadow
        self._require_apart({of: (derivatives[of], s[5]) for of, s in shadows.items() if of in derivatives})
        for name in entry.kernel.copies:
            values[name] = _copy(values[name])
        return Call(kernel, entry, values, self._mode)

    def _require_apart(self, given: dict) -> None:
        """Fails if a derivative of a result is one of something else too."""
        seen: dict = {}
        for of, (array, is_result) in given.items():
            address = array.data_ptr() if hasattr(array, "data_ptr") else array.__array_interface__["data"][0]
            other, is_other_result = seen.setdefault(address, (of, is_result))
            if address and other != of and (is_result or is_other_result) and _count(array):
                raise ValueError(
                    f"the derivatives of {other} and {of} are the same memory, but one of them is a result of {self._kernel.name}: "
                    "pass a copy"
                )

    def code(self, target: str, threads=None) -> str:
        """The derivative in another language, by all parameters."""
        given = list(three(threads, "threads")) if threads is not None else None
        return self._kernel.program.code(target, "", [self._kernel.name], given, self._mode)


def _split(value, name: str, derivatives: dict):
    """A value without the derivatives in it, which are noted under its name."""
    if hasattr(value, "value") and hasattr(value, "grad") and hasattr(value, "_asdict"):
        value = (value.value, value.grad)
    if isinstance(value, tuple) and len(value) == 2 and (value[1] is None or is_array(value[1]) and shape_of(value[1])):
        if value[1] is not None:
            derivatives[name] = value[1]
        return value[0]
    if isinstance(value, dict):
        return {part: _split(own, f"{name}.{part}", derivatives) for part, own in value.items()}
    return value


def _at(values: dict, path: str):
    for name in path.split("."):
        values = values[name] if isinstance(values, dict) else getattr(values, name)
    return values


def _count(array) -> int:
    return array.numel() if hasattr(array, "numel") else array.size


def _elements(array, node) -> int:
    """How many elements a buffer has."""
    size = array.element_size() if hasattr(array, "element_size") else array.itemsize
    return _count(array) * size // (node[2] if node is not None and node[0] == "buffer" else size)


def _zeros(count: int, scalar: str, like, others):
    """Zeros where the arrays are."""
    from ._points import library

    lib, device = library([like, *others])
    return lib.zeros((count,), scalar, device)


def _copy(array):
    return array.clone() if hasattr(array, "clone") else array.copy()


class Call:
    """A kernel with its arguments, to be launched."""

    def __init__(self, kernel: Kernel, entry: Entry, values: dict, derivative=None):
        self._kernel, self._entry, self._done = kernel, entry, True
        self._name = kernel.label if derivative is None else f"{kernel.name}.{derivative}"
        self._own = Packer(entry.own_size, entry.own_writes)
        self._shared = Packer(entry.globals_size, entry.globals_writes) if entry.globals else None
        try:
            self._own.pack_all(entry.own, values)
            if self._shared:
                self._shared.pack_all(entry.globals, values)
                self._own.devices |= self._shared.devices
        except (RuntimeError, TypeError, ValueError) as error:
            raise type(error)(f"{error} (an argument of {self._name})") from None
        if derivative is None and not kernel.is_derivative:
            self._tell_of_gradients()
        self._done = False

    def _tell_of_gradients(self) -> None:
        """Warns if tensors require gradients, which a launch does not record, and fails if it writes such a tensor."""
        tracked = [*self._own.tracked, *(self._shared.tracked if self._shared else ())]
        if not tracked:
            return
        names = ", ".join(name for name, is_written in tracked if is_written)
        if names:
            raise RuntimeError(
                f"{self._name} writes {names}, which requires a gradient: launch it under torch.no_grad(), or pass `.detach()`"
            )
        names = ", ".join(name for name, _ in tracked)
        warnings.warn(
            f"{names} requires a gradient, but a launch of {self._name} records none: use {self._name}.function(..), or launch it "
            "under torch.no_grad()",
            stacklevel=4,
        )

    def __repr__(self) -> str:
        return f"<call of {self._name}, to be launched>"

    def launch(self, blocks, threads=None) -> None:
        """Runs groups of threads. Numbers stand for one dimension: `launch(4, 256)`."""
        self._done = True
        self._launch(three(blocks, "blocks"), None if threads is None else three(threads, "threads"))

    def _launch(self, blocks, threads) -> None:
        kernel, device, entry = self._kernel, self._own.device(), self._entry
        if kernel._launched and threads is None:
            raise ValueError(f"{self._name} leaves the threads of a group to the launch: launch(blocks, threads)")
        if is_cuda(device) != entry.cuda:
            raise RuntimeError(f"arguments of {self._name} are on {device}: put them in dictionaries, lists or tuples")
        if threads is not None:
            if kernel._launched:
                if 0 in threads:
                    raise ValueError(f"a group of {self._name} has at least one thread, but threads is {threads}")
                entry = kernel.entry(threads, *entry.key[1:])
            if entry.group != threads:
                raise ValueError(f"{self._name} has groups of {entry.group} threads, not {threads}")
        if 0 not in blocks:
            shared = bytes(self._shared.block) if self._shared else b""
            entry.launch(blocks, shared, bytes(self._own.block), device)
            self._own.note_changes()
            if self._shared:
                self._shared.note_changes()

    def launchRaw(self, blockSize, gridSize) -> None:  # noqa: N802, N803 (names of slangtorch)
        """Runs `gridSize` groups of `blockSize` threads, both tuples of three integers."""
        self._done = True
        for name, value in (("blockSize", blockSize), ("gridSize", gridSize)):
            if not _is_three(value):
                raise ValueError(f"{name} must be a tuple of three integers from 0 up, but is {value!r}")
        self._launch(gridSize, blockSize)

    def launchTotal(self, *_args, **_kwargs):  # noqa: N802
        """Does not exist, as in slangtorch."""
        raise NotImplementedError("launchTotal: use launchRaw")

    def autoLaunch(self, *_args, **_kwargs):  # noqa: N802
        """Does not exist, as in slangtorch."""
        raise NotImplementedError("autoLaunch: use launchRaw")

    def __del__(self):
        if not getattr(self, "_done", True):
            warnings.warn(f"{self._name} was called but not launched", stacklevel=2)


def _is_three(value) -> bool:
    if type(value) is not tuple or len(value) != 3:
        return False
    x, y, z = value
    return type(x) is int and type(y) is int and type(z) is int and x >= 0 and y >= 0 and z >= 0


def is_on_cuda(values) -> bool:
    """Whether one of these values has a tensor on CUDA in it."""
    for value in values:
        kind = type(value)
        if kind in _NEVER_ON_CUDA:
            continue
        if isinstance(value, (dict, list, tuple)):
            if is_on_cuda(value.values() if isinstance(value, dict) else value):
                return True
        elif getattr(value, "is_cuda", False):
            return True
    return False


#: What has no tensor in it.
_NEVER_ON_CUDA = frozenset([int, float, bool, np.ndarray])


def three(value, what: str) -> tuple[int, int, int]:
    """One to three numbers as three."""
    given = value
    try:
        value = (value,) if hasattr(value, "__index__") else tuple(value)
        value = tuple(n.__index__() for n in value)
    except (TypeError, AttributeError):
        raise TypeError(f"{what} are one to three integers, not {given!r}") from None
    if not 1 <= len(value) <= 3 or min(value) < 0:
        raise ValueError(f"{what} are one to three integers from 0 up, not {given!r}")
    return value + (1,) * (3 - len(value))
