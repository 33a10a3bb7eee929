"""Entry points over buffers and tensors."""

from __future__ import annotations

import warnings

from ._entry import Entry, Packer, is_cuda


class Kernel:
    """An entry point of a program: `m.k(a=x, b=y).launch(blocks, threads)`.

    Parameters are those of the entry point and of the program, by name. A kernel that leaves the threads of a group to the launch
    (`[CudaKernel]`) is compiled for each number of threads that it is launched with.
    """

    def __init__(self, program, name: str, launched: bool, derived: bool):
        self.program, self.name = program, name
        self._launched, self._derived = launched, derived
        self._entries: dict = {}
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.parameters)})>"

    def entry(self, threads=None, cuda: bool = False) -> Entry:
        """The kernel, compiled for groups of so many threads."""
        threads = (tuple(threads) if threads is not None else (1, 1, 1)) if self._launched else None
        found = self._entries.get((threads, cuda))
        if found is None:
            made = Entry(self.program, self.name, "", list(threads) if threads else None, cuda)
            found = self._entries[(threads, cuda)] = made
        return found

    def _any(self, cuda: bool = False) -> Entry:
        """The kernel for any number of threads: parameters are the same."""
        return next((e for (_, of), e in self._entries.items() if of == cuda), None) or self.entry(cuda=cuda)

    @property
    def parameters(self) -> list[str]:
        """The names of all parameters."""
        entry = self._any()
        return [name for name, _, _, _ in [*entry.own, *entry.globals]]

    def __call__(self, *args, **kwargs) -> "Call":
        if args:
            raise ValueError(f"{self.name} takes its arguments by name: {', '.join(self.parameters)}")
        entry = self._any(_is_on_cuda(kwargs.values()))
        own, shared = Packer(entry.own_size), Packer(entry.globals_size)
        known = {name for name, _, _, _ in [*entry.own, *entry.globals]}
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            raise ValueError(f"{self.name} has no parameter {', '.join(unknown)}; it has {', '.join(self.parameters)}")
        missing = [name for name, _, _, _ in entry.own if name not in kwargs]
        if missing:
            raise ValueError(f"{self.name} lacks {', '.join(missing)}; it has {', '.join(self.parameters)}")
        for packer, params in ((own, entry.own), (shared, entry.globals)):
            for name, _, offset, node in params:
                if name in kwargs:
                    packer.pack(node, offset, kwargs[name], name)
        return Call(self, own, shared)

    def _other(self, suffix: str, what: str) -> "Kernel":
        if not self._derived:
            raise ValueError(
                f"{self.name} has no {what} derivative: mark it [AutoPyBindCUDA] and [Differentiable] in the program"
            )
        found = self.__dict__.get(suffix)
        if found is None:
            found = self.__dict__[suffix] = Kernel(self.program, self.name + suffix, self._launched, False)
        return found

    @property
    def fwd(self) -> "Kernel":
        """The kernel that computes tangents of the results: a pair has an array and its tangent."""
        return self._other("_fwd_diff", "forward")

    @property
    def bwd(self) -> "Kernel":
        """The kernel that adds gradients: a pair has an array and its gradient."""
        return self._other("_bwd_diff", "backward")

    def code(self, target: str) -> str:
        """The kernel in another language."""
        return self.program.code(target, "", [self.name])


class Call:
    """A kernel with its arguments, to be launched."""

    def __init__(self, kernel: Kernel, own: Packer, shared: Packer):
        self._kernel, self._own, self._shared = kernel, own, shared
        self._done = False

    def launch(self, blocks, threads=None) -> None:
        """Runs groups of threads. Numbers stand for one dimension: `launch(4, 256)`."""
        blocks, threads = _three(blocks, "blocks"), None if threads is None else _three(threads, "threads")
        kernel = self._kernel
        if kernel._launched and threads is None:
            raise ValueError(f"{kernel.name} leaves the threads of a group to the launch: launch(blocks, threads)")
        self._own.devices += self._shared.devices
        device = self._own.device()
        entry = kernel.entry(threads, is_cuda(device))
        if threads is not None and entry.group != threads:
            raise ValueError(f"{kernel.name} has groups of {entry.group} threads, not {threads}")
        self._done = True
        if 0 in blocks:
            return
        entry.launch(list(blocks), self._shared.block, self._own.block, device)

    def launchRaw(self, blockSize, gridSize) -> None:  # noqa: N802, N803 (names of slangtorch)
        """Runs `gridSize` groups of `blockSize` threads, both tuples of three integers."""
        for name, value in (("blockSize", blockSize), ("gridSize", gridSize)):
            if type(value) is not tuple or len(value) != 3 or not all(type(n) is int for n in value):
                raise ValueError(f"{name} must be a tuple of three integers, but is {value!r}")
        self.launch(gridSize, blockSize)

    def launchTotal(self, *_args, **_kwargs):  # noqa: N802
        raise NotImplementedError("launchTotal: use launchRaw")

    def autoLaunch(self, *_args, **_kwargs):  # noqa: N802
        raise NotImplementedError("autoLaunch: use launchRaw")

    def __del__(self):
        if not getattr(self, "_done", True):
            warnings.warn(f"{self._kernel.name} was called but not launched", stacklevel=2)


def _is_on_cuda(values) -> bool:
    for value in values:
        if getattr(value, "is_cuda", False):
            return True
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        if parts and _is_on_cuda(parts):
            return True
    return False


def _three(value, what) -> tuple[int, int, int]:
    value = (value,) if hasattr(value, "__index__") else tuple(value)
    value = tuple(int(n.__index__()) for n in value) + (1,) * (3 - len(value))
    if len(value) != 3 or min(value) < 0:
        raise ValueError(f"{what} are one to three numbers, not {value}")
    return value
