"""Values that are no arrays: small vectors, references to numbers, and numbers with a gradient."""

from __future__ import annotations

import re

import numpy as np

from .._layout import DTYPES, NAMES

#: The kinds of numbers by their names in the language.
SCALARS = {name: kind for kind, name in NAMES.items()} | {
    "int32_t": "i32", "uint32_t": "u32", "float16_t": "f16", "float32_t": "f32", "float64_t": "f64",
}
_TYPE = re.compile(r"(" + "|".join(sorted(SCALARS, key=len, reverse=True)) + r")(?:([1-4])(?:x([1-4]))?)?((?:\[\d+\])*)")


def element(dtype) -> tuple[str, np.dtype, tuple[int, ...]] | None:
    """A type of elements: its name, its numbers, and its shape. None for a structure."""
    if dtype is None:
        dtype = "float"
    if dtype in (float, int, bool):
        dtype = dtype.__name__
    if not isinstance(dtype, str):
        name = getattr(dtype, "name", None) or str(dtype)
        if isinstance(dtype, (np.dtype, type)):
            name = NAMES[next(kind for kind, own in DTYPES.items() if own == np.dtype(dtype))]
        dtype = name
    found = _TYPE.fullmatch(dtype.replace(" ", ""))
    if found is None:
        return None
    scalar, first, second, rest = found.groups()
    shape = tuple(map(int, re.findall(r"\d+", rest)))
    shape += tuple(int(n) for n in (first, second) if n and (second or n != "1"))
    return dtype, DTYPES[SCALARS[scalar]], shape


class Vector(np.ndarray):
    """A small vector, with components by their names."""

    x = property(lambda self: self[0].item())
    y = property(lambda self: self[1].item())
    z = property(lambda self: self[2].item())
    w = property(lambda self: self[3].item())


def _vector(name: str, dtype, count: int):
    def make(*parts) -> Vector:
        flat = np.concatenate([np.atleast_1d(np.asarray(part)) for part in parts]) if parts else np.zeros(count)
        if flat.size == 1:
            flat = np.repeat(flat, count)
        if flat.size != count:
            raise ValueError(f"{name} takes {count} numbers, but was given {flat.size}")
        return flat.astype(dtype).view(Vector)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A vector of {count} numbers."
    return make


def vectors() -> dict:
    """The constructors of vectors: `float3(1, 2, 3)` and so on."""
    kinds = {"float": np.float32, "int": np.int32, "uint": np.uint32, "bool": np.bool_}
    return {f"{kind}{n}": _vector(f"{kind}{n}", dtype, n) for kind, dtype in kinds.items() for n in (2, 3, 4)}


class ValueRef:
    """A number or vector that a function writes: an argument for `out` and `inout` parameters."""

    def __init__(self, value=0):
        self.value = value

    def __repr__(self) -> str:
        return f"ValueRef({self.value!r})"


def floatRef(value: float = 0.0) -> ValueRef:  # noqa: N802 (names of slangpy)
    return ValueRef(float(value))


def intRef(value: int = 0) -> ValueRef:  # noqa: N802
    return ValueRef(int(value))


class DiffPair:
    """A value and its gradient, for `bwds`."""

    def __init__(self, primal, grad=None):
        self.primal, self.grad = primal, 0.0 if grad is None else grad

    def __repr__(self) -> str:
        return f"diffPair({self.primal!r}, {self.grad!r})"


def diffPair(p=None, d=None) -> DiffPair:  # noqa: N802
    return DiffPair(0.0 if p is None else p, d)


floatDiffPair = diffPair  # noqa: N816
diff_pair = diffPair
