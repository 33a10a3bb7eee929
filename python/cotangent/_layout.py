"""What the compiler says of types and parameters, and the arrays that hold such values.

A value of a type is one or more *leaves*: arrays of one kind of number. `float3` is one leaf of shape `(3,)`; a structure has
the leaves of its fields. A leaf of an array of structures has the array as its first dimension.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: The numbers of the language, as numpy knows them.
DTYPES = {
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}

#: What the language calls them.
NAMES = {
    "bool": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t", "u8": "uint8_t",
    "u16": "uint16_t", "u32": "uint", "u64": "uint64_t", "f16": "half", "f32": "float", "f64": "double",
}


@dataclass(frozen=True)
class Leaf:
    """Numbers of one kind in a value."""

    path: tuple[str, ...]
    scalar: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.scalar]

    @property
    def is_float(self) -> bool:
        return self.scalar[0] == "f"


def size_of(node) -> int:
    """The bytes of a value in C layout, without what pads it to a multiple of its alignment."""
    kind = node[0]
    if kind == "scalar":
        return DTYPES[node[1]].itemsize
    if kind == "vector":
        return DTYPES[node[1]].itemsize * node[2]
    if kind == "matrix":
        return node[2] * node[4]
    if kind == "array":
        return node[2] * node[3]
    if kind == "struct":
        return max((offset + size_of(part) for _, offset, part in node[1]), default=0)
    return 16


def leaves_of(node) -> list[Leaf]:
    """The leaves of a type, in the order of its fields."""
    found: list[Leaf] = []

    def walk(node, path, offset, shape, strides):
        kind = node[0]
        if kind == "scalar":
            found.append(Leaf(path, node[1], offset, shape, strides))
        elif kind == "vector":
            size = DTYPES[node[1]].itemsize
            found.append(Leaf(path, node[1], offset, (*shape, node[2]), (*strides, size)))
        elif kind == "matrix":
            size = DTYPES[node[1]].itemsize
            found.append(Leaf(path, node[1], offset, (*shape, node[2], node[3]), (*strides, node[4], size)))
        elif kind == "array":
            walk(node[1], path, offset, (*shape, node[2]), (*strides, node[3]))
        elif kind == "struct":
            for name, at, part in node[1]:
                walk(part, (*path, name), offset + at, shape, strides)
        else:
            raise TypeError(f"{node[1]} cannot be a value of an array")

    walk(node, (), 0, (), ())
    return found


def is_dense(leaf: Leaf, stride: int) -> bool:
    """Whether an array of this leaf is an array of the values, which begin `stride` bytes apart."""
    expected = leaf.dtype.itemsize
    for length, step in zip(reversed(leaf.shape), reversed(leaf.strides)):
        if step != expected:
            return False
        expected *= length
    return leaf.offset == 0 and expected == stride


def describe(node) -> str:
    """A type as a person would write it."""
    kind = node[0]
    if kind == "scalar":
        return NAMES[node[1]]
    if kind == "vector":
        return f"{NAMES[node[1]]}{node[2]}"
    if kind == "matrix":
        return f"{NAMES[node[1]]}{node[2]}x{node[3]}"
    if kind == "array":
        return f"{describe(node[1])}[{node[2]}]"
    if kind == "struct":
        return "{" + ", ".join(name for name, _, _ in node[1]) + "}"
    if kind == "buffer":
        return f"{'RW' if node[3] else ''}StructuredBuffer<{describe(node[1])}>"
    return node[1]
