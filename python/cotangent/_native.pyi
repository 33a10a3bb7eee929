"""The native half: compiles programs, and runs them on the memory of arrays."""

from collections.abc import Sequence
from typing import Any

__version__: str

class CompileError(RuntimeError):
    """A program has errors. The text shows each with its place."""

class Trap(RuntimeError):
    """A program stopped before its end. The text says where and why."""

def after_fork() -> None: ...

#: A type, which begins with its kind: `("scalar", "f32")`, `("vector", "f32", 3)`, `("struct", [(name, offset, type)])` and so on.
Node = tuple[Any, ...]
#: Name, type as the language writes it, where it lies, its type, and whether the program uses it.
PlacedParam = tuple[str, str, int, Node, bool]

class Program:
    def __init__(self, path: str, source: str | None, defines: Sequence[tuple[str, str]], include: Sequence[str]) -> None: ...
    def check(self) -> str: ...
    def names(self) -> tuple[list[str], list[tuple[str, bool, bool, bool]]]: ...
    def structures(self) -> list[tuple[str, list[str]]]: ...
    def signature(self, name: str) -> dict[str, Any]: ...
    def kernel(
        self,
        entry: str,
        threads: Sequence[int] | None,
        addition: str,
        cuda: bool,
        derivative: str | None = None,
        wrt: Sequence[str] | None = None,
    ) -> Kernel: ...
    def report(self, name: str) -> dict[str, Any]: ...
    def gradcheck(self, name: str, at: str, samples: int, seed: int) -> tuple[str, int, float, str]: ...
    def code(
        self,
        target: str,
        addition: str,
        entries: Sequence[str],
        threads: Sequence[int] | None = None,
        derivative: str | None = None,
    ) -> str: ...

class Kernel:
    @property
    def layout(self) -> tuple[tuple[int, list[PlacedParam]], tuple[int, list[PlacedParam]]]: ...
    @property
    def threads(self) -> list[int]: ...
    @property
    def shadows(self) -> list[tuple[str, str, int, bool, bool, bool]]: ...
    @property
    def copies(self) -> list[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    def cuda(self) -> tuple[str, str, bool]: ...
    def launch(self, groups: Sequence[int], globals: bytes, own: bytes) -> str: ...
