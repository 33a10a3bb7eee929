"""A function at many points: how arguments become arrays of points, and how it runs over them.

Arguments and results are lists of *leaves* (see `_layout`), in the order of the parameters. The dimensions that a leaf has before
those of its type are its points.
"""

from __future__ import annotations

import math
import struct
from dataclasses import fields, is_dataclass

import numpy as np

from . import _numpy, _wrappers
from ._entry import Entry, is_cuda
from ._layout import Leaf, is_dense, leaves_of
from ._packer import Packer, is_array
from ._wrappers import Param, Signature

#: Points are numbered in 32 bits.
MOST_POINTS = 2**32 - 1


class Around:
    """What a call runs with beside the leaves: the device, and values of buffers and uniforms by name."""

    __slots__ = ("device", "given")

    def __init__(self, device: object = "cpu", given: dict | None = None):
        self.device, self.given = device, given or {}


class Slot:
    """An input or output of a function: its type, its leaves, and where they lie."""

    def __init__(self, param: Param, node, stride: int):
        self.param, self.node, self.stride = param, node, stride
        self.leaves: list[Leaf] = leaves_of(node)
        #: Whether an array of the leaf is an array of the values.
        self.dense = len(self.leaves) == 1 and is_dense(self.leaves[0], stride)
        self.is_plain = len(self.leaves) == 1 and not self.leaves[0].path

    def names(self) -> list[str]:
        """What the leaves are called in messages."""
        return [".".join((self.param.label or self.param.name, *leaf.path)) for leaf in self.leaves]

    def flatten(self, value) -> list:
        """The leaves of what a user gives."""
        return [value] if self.is_plain else _parts(self.node, value, self.param.name)

    def unflatten(self, arrays: list, finish):
        """What a user gets for leaves: a dictionary if the type is a structure."""
        return tree(zip(self.leaves, arrays), finish)


def tree(parts, finish):
    """Arrays by the paths of their leaves, as nested dictionaries."""
    parts = list(parts)
    if len(parts) == 1 and not parts[0][0].path:
        return finish(parts[0][1])
    found: dict = {}
    for leaf, array in parts:
        place = found
        for name in leaf.path[:-1]:
            place = place.setdefault(name, {})
        place[leaf.path[-1]] = finish(array)
    return found


def _holds_structure(node) -> bool:
    return node[0] == "struct" or node[0] == "array" and _holds_structure(node[1])


def _parts(node, value, where: str) -> list:
    """The leaves of a value of a structure, or of an array of structures."""
    if node[0] == "array" and _holds_structure(node):
        if isinstance(value, (list, tuple)):
            if len(value) != node[2]:
                raise ValueError(f"`{where}` has {node[2]} elements, but was given {len(value)}")
            rows = [_parts(node[1], part, f"{where}[{i}]") for i, part in enumerate(value)]
            return [stack(list(column), f"`{where}`") for column in zip(*rows)]
        return _parts(node[1], value, where)
    if node[0] != "struct":
        return [value]
    names = [name for name, _, _ in node[1]]
    own = _fields(value, names, where)
    return [leaf for (name, _, part), v in zip(node[1], own) for leaf in _parts(part, v, f"{where}.{name}")]


def _fields(value, names: list[str], where: str) -> list:
    """The fields of a structure, which may be given as a dictionary, a named tuple, a data class, or a sequence in order."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        missing, unknown = [n for n in names if n not in value], [n for n in value if n not in names]
        if missing or unknown:
            what = f"lacks {', '.join(missing)}" if missing else f"has no field {', '.join(map(str, unknown))}"
            raise TypeError(f"`{where}` {what}: its fields are {', '.join(names)}")
        return [value[name] for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise TypeError(f"`{where}` has {len(names)} fields ({', '.join(names)}), but was given {len(value)} values")
        return list(value)
    raise TypeError(f"`{where}` is a structure: give a dictionary of {', '.join(names)}, not {type(value).__name__}")


def holds_tensor(value) -> bool:
    """Whether a value is a tensor, or a list of such at any depth."""
    if isinstance(value, (list, tuple)):
        return any(holds_tensor(part) for part in value)
    return hasattr(value, "data_ptr")


def stack(value, where: str):
    """A list, with the tensors in it made one, so that their gradients are kept."""
    if not isinstance(value, (list, tuple)) or not holds_tensor(value):
        return value
    from . import _torch

    try:
        return _torch.stack([stack(part, where) for part in value])
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{where} was given a list of tensors that are not alike: {error}") from None


class Points:
    """A function, compiled for one kind of device to be called at many points."""

    def __init__(self, program, sig: Signature, text: str, cuda: bool):
        self.name = sig.shown
        text = _wrappers.DIFFERENTIAL + text + _wrappers.entry(sig)
        self.entry = Entry(program, _wrappers.entry_name(sig), text, None, cuda)
        own = {param.name: param for param in self.entry.own}
        self.inputs = [_slot(p, own[f"ct_in{i}"]) for i, p in enumerate(sig.inputs)]
        self.outputs = [_slot(p, own[f"ct_out{i}"]) for i, p in enumerate(sig.outputs)]
        self.resources = [own[p.name] for p in sig.resources]
        self.leaves_in = [leaf for slot in self.inputs for leaf in slot.leaves]
        self.leaves_out = [leaf for slot in self.outputs for leaf in slot.leaves]
        self.names_in = [name for slot in self.inputs for name in slot.names()]
        #: What messages call the leaves of inputs.
        self.labels_in = [f"`{name}` of {sig.shown}" for name in self.names_in]
        #: Whether the block has nothing but what `run` gives.
        self.is_simple = not self.resources and not self.entry.globals
        slots = [*self.inputs, *self.outputs]
        #: Whether callers give and get the leaves themselves.
        self.is_plain = all(slot.is_plain for slot in slots) and not self.resources
        self._is_dense = all(slot.dense for slot in slots)
        self._places = [(own["ct_count"].offset, "I")]
        for i in range(len(self.inputs)):
            self._places += [(own[f"ct_in{i}"].offset, "QQ"), (own[f"ct_step{i}"].offset, "I")]
        self._places += [(own[f"ct_out{i}"].offset, "QQ") for i in range(len(self.outputs))]
        self._format = _format(self._places)

    def batch(self, leaves, lib):
        """The points of all arguments together, and those of each leaf."""
        shapes = []
        for leaf, array in zip(self.leaves_in, leaves):
            shape, own = array.shape, len(leaf.shape)
            shapes.append(shape[: len(shape) - own] if own else shape)
        longest = ()
        for shape in shapes:
            if len(shape) > len(longest):
                longest = shape
        for shape in shapes:
            if shape and shape != longest:
                break
        else:
            return longest, shapes
        try:
            return np.broadcast_shapes(*shapes), shapes
        except ValueError:
            shown = ", ".join(f"`{name}` {tuple(shape)}" for name, shape in zip(self.names_in, shapes))
            raise ValueError(f"the leading dimensions of the arguments of {self.name} do not fit together: {shown}") from None

    def run(self, leaves, lib, around: Around) -> list:
        """Calls the function at all points. Gives the leaves of all outputs."""
        batch, shapes = self.batch(leaves, lib)
        count, device = math.prod(batch), around.device
        if count > MOST_POINTS:
            raise ValueError(f"{self.name} was called at {count} points, but at most {MOST_POINTS} are possible")
        if self._is_dense and self.is_simple and self._format is not None:
            return self._run_dense(leaves, batch, shapes, count, lib, device, self._format)
        # Arrays stay alive until the launch has begun; on CUDA, memory is freed in the order of the stream.
        alive, values, at = [], [count], 0
        for slot in self.inputs:
            end = at + len(slot.leaves)
            once = count != 1 and all(math.prod(shape) == 1 for shape in shapes[at:end])
            array = self._input(slot, leaves[at:end], () if once else batch, once, lib, device)
            alive.append(array)
            values += (lib.pointer(array), 1 if once else count, 0 if once else 1)
            at = end
        outputs, memories = [], []
        for slot in self.outputs:
            if slot.dense:
                array = lib.empty((*batch, *slot.leaves[0].shape), slot.leaves[0].scalar, device)
                outputs.append(array)
            else:
                array = lib.raw(count * slot.stride, device)
                outputs += [lib.view(array, leaf, batch, slot.stride) for leaf in slot.leaves]
            memories.append(array)
            values += (lib.pointer(array), count)
        if count == 0:
            return outputs
        groups = (-(-count // _wrappers.THREADS), 1, 1)
        if self.is_simple and self._format:
            self.entry.launch(groups, b"", self._format.pack(*values), device)
        else:
            own, shared = self._blocks(values, around)
            self.entry.launch(groups, bytes(shared.block), bytes(own.block), device)
            own.note_changes()
            shared.note_changes()
            alive += (own, shared)
        if len(memories) == len(outputs) and all(slot.dense for slot in self.outputs):
            return outputs
        dense = (slot.dense for slot in self.outputs for _ in slot.leaves)
        return [out if own else lib.copied(out) for own, out in zip(dense, outputs)]

    def _run_dense(self, leaves, batch, shapes, count: int, lib, device, format: struct.Struct) -> list:
        """The same for a function whose inputs and outputs are leaves, and that needs nothing else: most of them, in less time."""
        alive, values = [], [count]
        for leaf, array, shape in zip(self.leaves_in, leaves, shapes):
            once = shape != batch and math.prod(shape) == 1
            array = lib.contiguous(array, (*shape, *leaf.shape) if once else (*batch, *leaf.shape))
            # Arrays stay alive until the launch has begun; on CUDA, memory is freed in the order of the stream.
            alive.append(array)
            values += (lib.pointer(array), 1, 0) if once else (lib.pointer(array), count, 1)
        outputs = []
        for leaf in self.leaves_out:
            array = lib.empty((*batch, *leaf.shape), leaf.scalar, device)
            outputs.append(array)
            values += (lib.pointer(array), count)
        if count:
            self.entry.launch((-(-count // _wrappers.THREADS), 1, 1), b"", format.pack(*values), device)
        return outputs

    @staticmethod
    def _input(slot: Slot, leaves, wanted, once: bool, lib, device):
        """An array of values of a slot."""
        if once:
            leaves = [lib.reshape(array, leaf.shape) for leaf, array in zip(slot.leaves, leaves)]
        if slot.dense:
            return lib.contiguous(leaves[0], (*wanted, *slot.leaves[0].shape))
        array = lib.raw(math.prod(wanted) * slot.stride, device)
        for leaf, part in zip(slot.leaves, leaves):
            lib.view(array, leaf, wanted, slot.stride)[...] = part
        return array

    def _blocks(self, values, around: Around) -> tuple[Packer, Packer]:
        """The blocks of parameters where buffers and uniforms are among them."""
        own = Packer(self.entry.own_size, self.entry.own_writes)
        shared = Packer(self.entry.globals_size, self.entry.globals_writes)
        for param in self.resources:
            own.pack(param.node, param.offset, around.given[param.name], param.name)
        for param in self.entry.globals:
            if param.name in around.given:
                shared.pack(param.node, param.offset, around.given[param.name], param.name)
            elif param.used:
                raise ValueError(f"{self.name} uses `{param.name}` of the program, which is not set: {self.name}.bind({param.name}=..)")
        for packer in (own, shared):
            packer.require(around.device)
        values = iter(values)
        for place, code in self._places:
            struct.pack_into("<" + code, own.block, place, *[next(values) for _ in code])
        return own, shared


def _slot(param: Param, placed) -> Slot:
    _, node, stride, _ = placed.node
    return Slot(param, node, stride)


def _format(places) -> struct.Struct | None:
    """One format for all parameters, if they lie in the order in which they are packed."""
    if places != sorted(places):
        return None
    text, at = "<", 0
    for offset, code in places:
        text += f"{offset - at}x{code}" if offset > at else code
        at = offset + struct.calcsize("<" + code)
    return struct.Struct(text)


def library(values):
    """The library that arrays are of, and the device that they are on: torch if there is a tensor, otherwise numpy."""
    for value in values:
        kind = type(value)
        if kind in _NEVER_TENSORS:
            continue
        if hasattr(value, "data_ptr"):
            from . import _torch

            return _torch, value.device
        if kind is list or kind is tuple:
            parts = value if holds_tensor(value) else ()
        else:
            parts = _parts_of(value)
        if parts:
            lib, device = library(parts)
            if lib is not _numpy:
                return lib, device
    return _numpy, "cpu"


def _parts_of(value):
    """What is in an argument for a structure, or for a tensor with gradients."""
    if hasattr(value, "get_this"):
        value = value.get_this()
    if isinstance(value, dict):
        return list(value.values())
    return (value.storage,) if hasattr(value, "grad_in") else ()


def tensors_in(value, where: str):
    """The tensors in an argument, with their names. One that has a gradient beside it is none of them."""
    if hasattr(value, "data_ptr"):
        yield where, value
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from tensors_in(part, f"{where}[{i}]")
    elif isinstance(value, dict) or hasattr(value, "get_this"):
        for name, part in (value if isinstance(value, dict) else value.get_this()).items():
            yield from tensors_in(part, f"{where}.{name}")
    elif hasattr(value, "grad_in") and value.grad_in is None and value.grad_out is None:
        yield from tensors_in(value.storage, where)


#: What most arguments are.
_NEVER_TENSORS = frozenset([int, float, bool, np.ndarray, np.float32, np.float64])


__all__ = ["Around", "Points", "Slot", "holds_tensor", "is_array", "is_cuda", "library", "stack", "tree"]
