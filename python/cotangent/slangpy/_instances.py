"""Structures as Python sees them, and arrays of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._entry import Entry
from .._layout import DTYPES, leaves_of
from ._tensor import Tensor


class Struct:
    """A structure of a program, or an instance of a generic one."""

    def __init__(self, program, name: str):
        self.name = name
        text = f'[shader("compute")] [numthreads(1, 1, 1)] void ct_type(uniform {name} ct_value) {{}}'
        #: Its layout.
        self.node = Entry(program, "ct_type", text, None, False).own[0].node
        if self.node[0] != "struct":
            raise TypeError(f"`{name}` is not a structure")
        self.fields: list[str] = [field for field, _, _ in self.node[1]]

    def __repr__(self) -> str:
        return f"Struct({self.name}: {', '.join(self.fields)})"

    def __call__(self, *args: Any, **fields: Any) -> dict:
        """A value, by its fields. Constructors of the program cannot be called from here: call a function that does."""
        if len(args) > len(self.fields):
            raise TypeError(f"{self.name} has {len(self.fields)} fields ({', '.join(self.fields)}), but was given {len(args)} values")
        found = {**dict(zip(self.fields, args)), **fields}
        check_fields(self, found)
        return found


def check_fields(struct: Struct, given) -> None:
    """Fails if something is no field of a structure."""
    for name in given:
        if name not in struct.fields:
            raise AttributeError(f"{struct.name} has no field `{name}`: its fields are {', '.join(struct.fields)}")


class InstanceList:
    """Values of a structure, with one container for each field: `InstanceList(module["Layer<4, 32>"], {"w": weights})`.

    Fields are attributes. Where a function takes the structure, it is an argument like a dictionary of its fields.
    """

    def __init__(self, struct: Struct, data: dict | None = None):
        self.__dict__["struct"], self.__dict__["_data"] = struct, dict(data or {})
        check_fields(struct, self._data)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.struct.fields:
            self._data[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name: str):
        data = self.__dict__.get("_data", {})
        if name in data:
            return data[name]
        raise AttributeError(f"{type(self).__name__} has no attribute `{name}`")

    def __repr__(self) -> str:
        return f"InstanceList({self.struct.name}: {', '.join(self._data)})"

    def get_this(self) -> dict:
        """What functions take."""
        return self._data

    def update_this(self, value: Any) -> None:
        """What functions did to it was done in place."""


class InstanceTensor(InstanceList):
    """Values of a structure in a shape, zero at first."""

    def __init__(self, struct: Struct, shape, data: dict | None = None):
        self.__dict__["shape"] = tuple(shape)
        super().__init__(struct, data if data is not None else _zeros(struct.node, self.shape))


def _zeros(node, shape):
    found: dict = {}
    for leaf in leaves_of(node):
        place = found
        for name in leaf.path[:-1]:
            place = place.setdefault(name, {})
        place[leaf.path[-1]] = np.zeros((*shape, *leaf.shape), DTYPES[leaf.scalar])
    return found


__all__ = ["InstanceList", "InstanceTensor", "Struct", "Tensor"]
