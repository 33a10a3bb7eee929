"""Arguments that are computed at every point of a call: indices and random numbers.

Vectors of indices are in the order x, y, z, which is the reverse of that of the dimensions: `int2(column, row)`. Arrays of indices are in
the order of the dimensions.
"""

from __future__ import annotations

import math

import numpy as np


class Generator:
    """What gives the value of a parameter at every point."""

    def shape(self) -> tuple[int, ...]:
        """What it requires of the shape of the call; -1 stands for any size."""
        return ()

    def values(self, shape: tuple[int, ...], count: int | None, is_vector: bool, where: str) -> np.ndarray:
        """Its values at all points of a call: of `count` numbers, or one number if that is none."""
        raise NotImplementedError


def _indices(ids, count: int | None, is_vector: bool, where: str) -> np.ndarray:
    """Indices along each dimension as the values of a parameter."""
    if len(ids) != (count or 1):
        raise ValueError(f"{where} takes {count or 1} numbers, but the call has {len(ids)} dimensions")
    if count is None:
        return ids[0]
    return np.stack(ids[::-1] if is_vector else ids, -1)


class grid(Generator):  # noqa: N801 (names of slangpy)
    """The indices of the points: `offset + index * stride`."""

    def __init__(self, shape, offset=None, stride=None):
        self._shape = tuple(shape)
        self._offset = tuple(offset) if offset is not None else (0,) * len(self._shape)
        self._stride = tuple(stride) if stride is not None else (1,) * len(self._shape)
        if not len(self._shape) == len(self._offset) == len(self._stride):
            raise ValueError("shape, offset and stride of a grid have one length")

    def shape(self):
        return self._shape

    def values(self, shape, count, is_vector, where):
        ids = np.indices(shape, np.int32)[len(shape) - len(self._shape):]
        return _indices([o + i * s for i, o, s in zip(ids, self._offset, self._stride)], count, is_vector, where)


class call_id(Generator):  # noqa: N801
    """The indices of the points of the call."""

    def values(self, shape, count, is_vector, where):
        return _indices(list(np.indices(shape, np.int32)), count, is_vector, where)


class thread_id(Generator):  # noqa: N801
    """The number of the point, which is x of a vector."""

    def values(self, shape, count, is_vector, where):
        flat = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        return flat if count is None else np.stack([flat, *[np.zeros_like(flat)] * (count - 1)], -1)


def hashed(values: np.ndarray) -> np.ndarray:
    """Wang's hash of 32-bit integers."""
    s = np.asarray(values, np.uint32)
    with np.errstate(over="ignore"):
        s = (s ^ np.uint32(61)) ^ (s >> np.uint32(16))
        s = s * np.uint32(9)
        s = s ^ (s >> np.uint32(4))
        s = s * np.uint32(0x27D4EB2D)
        return s ^ (s >> np.uint32(15))


class wang_hash(Generator):  # noqa: N801
    """Random integers: a hash of the number of the point and a seed."""

    def __init__(self, dim: int = -1, seed: int = 2640457667, warmup: int = 0, hash_seed: bool = True):
        word = np.array(seed & 0xFFFFFFFF, np.uint32)
        self._dim, self._warmup, self._seed = dim, warmup, hashed(word) if hash_seed else word

    def values(self, shape, count, is_vector, where):
        if self._dim not in (-1, count or 1):
            raise ValueError(f"{where} takes {count or 1} numbers, but was given random vectors of {self._dim}")
        state = (np.arange(math.prod(shape), dtype=np.uint32) * np.uint32(count or 1)).reshape(shape)
        for _ in range(self._warmup):
            state = hashed(state)
        state = state ^ self._seed
        found = []
        for _ in range(count or 1):
            state = hashed(state)
            found.append(state)
        return state if count is None else np.stack(found, -1)


class rand_float(Generator):  # noqa: N801
    """Random numbers between two limits."""

    def __init__(self, min: float = 0.0, max: float = 1.0, dim: int = -1, seed: int = 2640457667, warmup: int = 0, hash_seed: bool = True):
        self._low, self._high, self._hash = min, max, wang_hash(dim, seed, warmup, hash_seed)

    def values(self, shape, count, is_vector, where):
        part = (self._hash.values(shape, count, is_vector, where) & np.uint32(0x7FFFFF)).astype(np.float32) / np.float32(2**23)
        return (self._low + (self._high - self._low) * part).astype(np.float32)


__all__ = ["Generator", "call_id", "grid", "rand_float", "thread_id", "wang_hash"]
