"""Compiled entry points: in process for the CPU, by NVRTC for CUDA. Both take the same two blocks of parameters."""

from __future__ import annotations

from ._packer import writer


class Placed:
    """A parameter and where it lies in its block."""

    def __init__(self, name: str, type: str, offset: int, node: tuple, used: bool):
        self.name, self.type, self.offset, self.node = name, type, offset, node
        #: Whether the program uses it.
        self.used = used
        #: What packs a value, and the part of the type that this takes.
        self.write, self.part = writer(node)


class Entry:
    """An entry point of a program, or its derivative (`"fwd"`, `"bwd"`), compiled for one kind of device."""

    def __init__(self, program, name: str, addition: str, threads, cuda: bool, derivative=None, wrt=None):
        self.name, self.cuda = name, cuda
        self.kernel = program.kernel(name, threads, addition, cuda, derivative, wrt)
        (self.globals_size, shared), (self.own_size, own) = self.kernel.layout
        self.globals, self.own = [Placed(*p) for p in shared], [Placed(*p) for p in own]
        #: Where the buffers are that it writes, in both blocks: those that it names, and all that it may write.
        self.globals_writes, self.own_writes = (tuple(map(frozenset, pair)) for pair in self.kernel.writes)
        self.group = tuple(self.kernel.threads)
        #: The names of all parameters, and of those that must be given.
        self.known = {param.name for param in self.parameters}
        #: What it was compiled for.
        self.key = (threads, cuda, derivative, wrt)
        self.needed = [param.name for param in self.own] + [param.name for param in self.globals if param.used]
        self.all_needed = set(self.needed)
        self._loaded: dict = {}

    @property
    def parameters(self) -> list[Placed]:
        """Those of the entry point, then those of the program."""
        return [*self.own, *self.globals]

    def launch(self, groups, globals_block, own_block, device) -> None:
        """Runs groups of threads on a device: `"cpu"`, or one of torch's."""
        if not self.cuda:
            printed = self.kernel.launch(groups, globals_block, own_block)
            if printed:
                print(printed, end="", flush=True)
            return
        loaded = self._loaded.get(device)
        if loaded is None:
            from . import _cuda

            loaded = self._loaded[device] = _cuda.load(self.kernel, self.group, device)
        loaded.launch(groups, globals_block, own_block)


def is_cuda(device) -> bool:
    """Whether a device is one of CUDA's. There is no other beside the CPU."""
    if device == "cpu":
        return False
    kind = getattr(device, "type", device)
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"arrays are on {device}, but programs run on the CPU and on CUDA")
    return kind == "cuda"
