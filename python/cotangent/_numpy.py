"""Arrays of numpy, as the parts that run functions see them. `_torch` has the same for tensors."""

from __future__ import annotations

import sys

import numpy as np

from ._layout import DTYPES, NAMES, Leaf

NAME = "numpy"


def device(_array) -> str:
    return "cpu"


def asarray(value, scalar: str, where: str, _device=None) -> np.ndarray:
    """A value as an array of such numbers. Floats may lose precision; nothing else may change a number."""
    dtype, kind = DTYPES[scalar], type(value)
    if kind is float and dtype.kind == "f":
        return np.array(value, dtype)
    try:
        array = value if kind is np.ndarray else np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{where} takes an array: {error}") from None
    if array.dtype == dtype:
        return array
    kinds = {"b": 0, "u": 1, "i": 1, "f": 2}
    if kinds.get(array.dtype.kind, 3) > kinds[dtype.kind]:
        given = type(value).__name__ if array.dtype.kind in "OUSV" else f"{array.dtype}"
        raise TypeError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {given}")
    if dtype.kind in "iu" and not np.can_cast(array.dtype, dtype) and array.size:
        limits = np.iinfo(dtype.name)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ValueError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {array.min()} to {array.max()}")
    return array.astype(dtype)


def shape(array) -> tuple[int, ...]:
    return array.shape


def contiguous(array, wanted: tuple[int, ...]):
    """The numbers side by side in memory, repeated to a shape."""
    if array.shape != wanted:
        array = np.broadcast_to(array, wanted)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def pointer(array) -> int:
    return array.__array_interface__["data"][0]


def empty(wanted: tuple[int, ...], scalar: str, _device):
    return np.empty(wanted, DTYPES[scalar])


def raw(size: int, _device):
    """Memory of so many bytes, aligned for all numbers."""
    return np.zeros((size + 7) // 8, np.int64)


def view(memory, leaf: Leaf, batch: tuple[int, ...], stride: int):
    """The numbers of a leaf in an array of values."""
    steps: list[int] = []
    step = stride
    for length in reversed(batch):
        steps.insert(0, step)
        step *= length
    return np.ndarray(
        (*batch, *leaf.shape), leaf.dtype, memory.data, leaf.offset, (*steps, *leaf.strides)
    )


def copied(array):
    return array.copy()


def finish(array):
    """An array as a user gets it: without dimensions it is a number."""
    return array[()] if array.ndim == 0 else array


def sum_to(array, wanted: tuple[int, ...]):
    """The sum over the dimensions along which an array of another shape was repeated."""
    if array.shape == wanted:
        return array
    lead = array.ndim - len(wanted)
    array = array.sum(axis=tuple(range(lead))) if lead else array
    axes = tuple(i for i, n in enumerate(wanted) if n == 1 and array.shape[i] != 1)
    return array.sum(axis=axes, keepdims=True) if axes else array


def zeros(wanted, scalar, _device):
    return np.zeros(wanted, DTYPES[scalar])


def eye(count: int, scalar: str, _device):
    return np.eye(count, dtype=DTYPES[scalar])


def reshape(array, wanted):
    return np.reshape(array, wanted)


def moveaxis(array, source: int, destination: int):
    return np.moveaxis(array, source, destination)


def call(function, leaves, around):
    """Calls a function on leaves."""
    return function._run(leaves, _me(), around)


def concatenate(arrays):
    return np.concatenate(arrays)


def wants_graph(_arrays) -> bool:
    """Whether calls are recorded, to be differentiated."""
    return False


def refuse_gradients(_name, _given) -> None:
    """Arrays of numpy want no gradients."""


def _me():
    return sys.modules[__name__]
