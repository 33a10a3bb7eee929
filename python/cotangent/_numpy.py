"""Arrays of numpy, as the parts that run functions see them. `_torch` has the same for tensors."""

from __future__ import annotations

import numpy as np

from ._layout import DTYPES, NAMES, Leaf

NAME = "numpy"


def device(_array) -> str:
    return "cpu"


def asarray(value, scalar: str, where: str, _device) -> np.ndarray:
    """A value as an array of such numbers. Numbers may lose precision, but not their kind."""
    dtype = DTYPES[scalar]
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.dtype == object:
        raise TypeError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {type(value).__name__}")
    kinds = {"b": 0, "u": 1, "i": 1, "f": 2}
    if kinds.get(array.dtype.kind, 3) > kinds[dtype.kind]:
        raise TypeError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {array.dtype}")
    return array.astype(dtype)


def shape(array) -> tuple[int, ...]:
    return array.shape


def contiguous(array, wanted: tuple[int, ...]):
    return np.ascontiguousarray(np.broadcast_to(array, wanted))


def pointer(array) -> int:
    return array.__array_interface__["data"][0]


def empty(wanted: tuple[int, ...], scalar: str, _device):
    return np.empty(wanted, DTYPES[scalar])


def raw(size: int, _device):
    """Memory of so many bytes, aligned for all numbers."""
    return np.zeros((size + 7) // 8, np.int64)


def view(memory, leaf: Leaf, batch: tuple[int, ...], stride: int):
    """The numbers of a leaf in an array of values."""
    steps, step = [], stride
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
