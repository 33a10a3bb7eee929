"""Kernels as slangpy calls them: with a number of threads."""

from __future__ import annotations

from typing import Any

from .._kernel import Call, Kernel, three
from ._functions import _plain
from ._tensor import Tensor
from ._values import DiffPair

#: The threads of a group of a kernel that leaves them to the launch.
THREADS = 32


class KernelFunction:
    """An entry point: `k(count=n, x=x, _thread_count=n)`, or `k.dispatch((width, height, 1), vars={..})`."""

    def __init__(self, kernel: Kernel, group=(THREADS, 1, 1)):
        self._kernel, self._group = kernel, group

    @property
    def name(self) -> str:
        return self._kernel.name

    def __repr__(self) -> str:
        return repr(self._kernel)

    def thread_group_size(self, size) -> KernelFunction:
        """The same with groups of so many threads, if the kernel leaves them to the launch."""
        return KernelFunction(self._kernel, three(size, "the threads of a group"))

    def __call__(self, *, _thread_count: int, **arguments: Any) -> None:
        """Runs so many threads, and those that fill the last group."""
        self._launch(self._kernel(**_bound(arguments)), (_thread_count, 1, 1))

    def dispatch(self, thread_count, vars: dict | None = None, command_encoder=None, **arguments: Any) -> None:
        """Runs threads in up to three dimensions."""
        self._launch(self._kernel(**_bound({**(vars or {}), **arguments})), three(thread_count, "thread_count"))

    @property
    def bwds(self):
        """The derivative: `k.bwds(x=diff_pair(x, gx), y=diff_pair(y, gy), _thread_count=n)`."""

        def run(*, _thread_count: int, **arguments: Any) -> None:
            self._launch(self._kernel.bwd(**_bound(arguments)), (_thread_count, 1, 1))

        return run

    def _launch(self, call: Call, count) -> None:
        is_open = self._kernel._launched
        group = self._group if is_open else self._kernel.any_entry().group
        call.launch(tuple(-(-n // own) for n, own in zip(count, group)), group if is_open else None)


def _bound(arguments: dict) -> dict:
    """Arguments, with pairs of arrays and gradients as kernels take them."""
    return {name: _pairs(value) for name, value in arguments.items()}


def _pairs(value):
    if isinstance(value, DiffPair):
        return _plain(value.primal), _plain(value.grad)
    if isinstance(value, Tensor):
        return value.storage if value.grad is None else (value.storage, value.grad.storage)
    if isinstance(value, dict):
        return {name: _pairs(part) for name, part in value.items()}
    return _plain(value)
