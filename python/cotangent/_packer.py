"""Arguments of kernels, as bytes in C layout."""

from __future__ import annotations

import functools
import numbers
import struct

import numpy as np

from ._layout import DTYPES, NAMES, describe, leaves_of

FORMATS = {
    "bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}
#: Elements of a tensor are numbered in 32 bits.
MOST_ELEMENTS = 2**32
#: A view: its memory (an address and a number of elements), five strides, five sizes, and how many of these it has.
_VIEW = struct.Struct("<QQ5I5II")
_VIEW_FIELDS = ["data", "strides", "sizes", "dimensions"]
#: A tensor of the module `slangpy`; and tensors with gradients, whose first part is such a tensor.
_SHAPED_FIELDS = ["_data", "_shape", "_strides", "_offset"]
_GRADIENTS = {"_grad_in", "_grad_out"}


class _Everywhere:
    """All places of a block."""

    def __contains__(self, place) -> bool:
        return True


#: What is known of a kernel of which nothing is known: the places it writes by name, and those it may write.
_UNKNOWN: tuple = frozenset(), _Everywhere()


class Packer:
    """Writes arguments into a block of parameters. What the block points to stays alive as long as this does.

    `writes` are the places of buffers that the kernel writes by name, and of those that it may write.
    """

    def __init__(self, size: int, writes=_UNKNOWN):
        self.block = bytearray(size)
        self._named, self._possible = writes
        #: The tensors that the kernel writes, and those that require gradients: their names, and whether they are written.
        self.changed: list = []
        self.tracked: list[tuple[str, bool]] = []
        #: Gradients by their addresses: their names, and whether they are those of what the kernel writes.
        self._gradients: dict[int, tuple[str, bool]] = {}
        self.alive: list = []
        self.devices: dict[str, object] = {}
        #: Whose types messages tell.
        self.params: list = []

    def pack(self, node, offset: int, value, where: str) -> None:
        """Writes a value of a type at an offset. `where` is what messages call it."""
        _PACKERS[node[0]](self, node, offset, value, where)

    def pack_all(self, params, values: dict) -> None:
        """Writes the parameters of which there are values."""
        self.params = params
        for param in params:
            if param.name in values:
                param.write(self, param.part, param.offset, values[param.name], param.name)

    def device(self):
        """The device that all arrays are on."""
        if len(self.devices) > 1:
            raise RuntimeError(f"arguments are on several devices: {', '.join(sorted(self.devices))}")
        return next(iter(self.devices.values()), "cpu")

    def require(self, device) -> None:
        """Fails if an array is not on a device."""
        for name in self.devices:
            if name != str(device):
                raise RuntimeError(f"arguments are on several devices: {name}, {device}")

    def note_changes(self) -> None:
        """To be called after the launch."""
        if self.changed:
            of_torch().changed(self.changed)

    def _scalar(self, node, offset, value, where):
        self._number(node[1], offset, value, where)

    def _number(self, scalar, offset, value, where):
        try:
            struct.pack_into("<" + FORMATS[scalar], self.block, offset, _number(scalar, value))
        except (TypeError, ValueError, OverflowError, struct.error):
            raise TypeError(f"{where} takes a number of type {NAMES[scalar]}, but was given {value!r}") from None

    def _sequence(self, value, count, where, what):
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or len(value) != count:
            given = f"{len(value)} values" if isinstance(value, (list, tuple)) else type(value).__name__
            raise TypeError(f"{where} is {what} and takes {count} values, but was given {given}")
        return value

    def _vector(self, node, offset, value, where):
        _, scalar, count = node
        size = DTYPES[scalar].itemsize
        for i, part in enumerate(self._sequence(value, count, where, describe(node))):
            self._number(scalar, offset + i * size, part, f"{where}[{i}]")

    def _matrix(self, node, offset, value, where):
        _, scalar, rows, columns, size = node
        for i, row in enumerate(self._sequence(value, rows, where, describe(node))):
            self._vector(("vector", scalar, columns), offset + i * size, row, f"{where}[{i}]")

    def _array(self, node, offset, value, where):
        _, element, count, stride = node
        if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
            raise TypeError(f"{where} is an array and takes {count} values, but was given {type(value).__name__}")
        if len(value) != count:
            # As slangtorch does, for programs that expect its exceptions.
            wrong = ValueError if "." in where else TypeError
            raise wrong(f"{where} is an array and takes {count} values, but was given {len(value)}")
        for i, part in enumerate(value):
            self.pack(element, offset + i * stride, part, f"{where}[{i}]")

    def _struct(self, node, offset, value, where):
        fields = node[1]
        names = [name for name, _, _ in fields]
        write, _ = writer(node)
        if write is not Packer._struct:
            return write(self, fields, offset, value, where)
        if hasattr(value, "get_this"):
            value = value.get_this()
        if hasattr(value, "_asdict"):
            value = value._asdict()
        if isinstance(value, dict):
            missing, unknown = [n for n in names if n not in value], [n for n in value if n not in names]
            if missing or unknown:
                what = f"lacks {', '.join(missing)}" if missing else f"has no field {', '.join(map(str, unknown))}"
                raise TypeError(f"{self._called(where)} {what}: its fields are {', '.join(names)}")
            value = [value[name] for name in names]
        elif isinstance(value, (list, tuple)):
            if len(value) != len(names):
                raise TypeError(
                    f"{self._called(where)} has {len(names)} fields ({', '.join(names)}), but was given {len(value)} values"
                )
        else:
            raise ValueError(
                f"{self._called(where)} is a structure ({', '.join(names)}): give a dictionary, a tuple or a named tuple, "
                f"not {type(value).__name__}"
            )
        for (name, at, part), own in zip(fields, value):
            self.pack(part, offset + at, own, f"{where}.{name}")

    def _called(self, where: str) -> str:
        """A parameter with its type."""
        return next((f"{where} ({param.type})" for param in self.params if param.name == where), where)

    def _pair(self, fields, offset, value, where):
        (_, at, primal), (_, diff_at, diff) = fields
        if isinstance(value, (list, tuple)):
            if len(value) not in (1, 2):
                raise TypeError(
                    f"{where} takes an array, or a pair of an array and its gradient, but was given {len(value)} values"
                )
            value, grad = value[0], value[1] if len(value) == 2 else None
        else:
            grad = None
        self._tensor(primal[1], offset + at, value, where, grad is not None)
        # Without a gradient, its view has no dimensions: the program drops what it would add there.
        if grad is None:
            return
        inner = diff[1]
        if len(inner) != 1 or inner[0][2][0] != "struct" or isinstance(grad, (tuple, list, dict)):
            return self.pack(diff, offset + diff_at, grad, f"{where}.diff")
        _, inner_at, view = inner[0]
        if shape_of(grad) != shape_of(value):
            raise ValueError(f"{where}: the gradient has shape {shape_of(grad)}, but the array has {shape_of(value)}")
        if not shape_of(grad):
            # A view without dimensions means that there is no gradient.
            grad = grad.reshape(1)
        self.pack(view, offset + diff_at + inner_at, grad, f"{where}.grad")
        (address,) = struct.unpack_from("<Q", self.block, offset + diff_at + inner_at + view[1][0][1])
        self.note_gradient(address, f"{where}.grad", offset + at + primal[1][0][1] in self._named)

    def note_gradient(self, address: int, where: str, is_result: bool) -> None:
        """Fails if a gradient of a result is one of something else too: it is read and cleared while the other is added to."""
        other, is_other_result = self._gradients.setdefault(address, (where, is_result))
        if address and other != where and (is_result or is_other_result):
            raise ValueError(f"{other} and {where} are the same memory, but one of them is the gradient of a result: pass a copy")

    def _tensor(self, fields, offset, value, where, is_pair=False):
        _, element, size, _ = fields[0][2]
        scalar = element[1] if element[0] in ("scalar", "vector") else None
        place = offset + fields[0][1]
        writes = place in self._possible
        address, shape, strides, itemsize = self._memory(value, scalar, where, writes, place in self._named, is_pair)
        if len(shape) > 5:
            raise RuntimeError(f"{where} has {len(shape)} dimensions, but at most 5 are possible")
        if element[0] not in ("scalar", "vector"):
            raise RuntimeError(f"{where} has elements of type {describe(element)}: only numbers and vectors can be passed")
        lanes = element[2] if element[0] == "vector" else 1
        if element[0] == "vector" and (not shape or shape[-1] != lanes or strides[-1] != itemsize and lanes > 1):
            raise RuntimeError(
                f"{where} has elements of type {describe(element)}: its last dimension must have {lanes} "
                f"numbers side by side, but its shape is {tuple(shape)}"
            )
        if address and lanes == 1 and size == itemsize and len(shape) == 1 and 0 < shape[0] < MOST_ELEMENTS and strides[0] == size:
            # Most tensors.
            n = shape[0]
            step = 1 if n > 1 else 0
            return _VIEW.pack_into(self.block, place, address, n, step, 0, 0, 0, 0, n, 0, 0, 0, 0, 1)
        empty, steps, last = 0 in shape, [], 0
        leading = shape[:-1] if element[0] == "vector" else shape
        for i, (length, stride) in enumerate(zip(leading, strides)):
            if not empty and length > 1 and (stride < 0 or writes and stride == 0):
                raise RuntimeError(
                    f"{where}: dimension {i} has stride {stride // itemsize}; pass `.contiguous()` of the tensor, or a copy"
                )
            if stride % size and length > 1:
                raise RuntimeError(f"{where}: dimension {i} does not step over whole elements; make it contiguous")
            # Nothing steps along a dimension of one element.
            steps.append(stride // size if length > 1 else 0)
            last += (length - 1) * steps[-1]
        count = 0 if empty else last + 1
        if count >= MOST_ELEMENTS or max(shape, default=0) >= MOST_ELEMENTS:
            raise RuntimeError(f"{where} spans {count} elements, but less than 2^32 are possible")
        if writes and _overlap(leading, steps):
            raise RuntimeError(f"{where}: its elements share memory; pass `.contiguous()` of the tensor, or a copy")
        if element[0] == "vector":
            # The program sees the last dimension, but no index goes along it.
            steps.append(count)
        if empty:
            address, steps = 0, [0] * len(shape)
        rest = (0,) * (5 - len(shape))
        # Without dimensions there is one element.
        sizes = (*shape, *rest) if shape else (1, 0, 0, 0, 0)
        # The parts lie one after the other, on all devices.
        _VIEW.pack_into(self.block, place, address, count, *steps, *rest, *sizes, len(shape))

    def _with_gradients(self, fields, offset, value, where):
        """A tensor of the module `slangpy` with those gradients that it is given with. One without a shape is none."""
        (_, at, primal), *gradients = fields
        self._shaped(primal[1], offset + at, value, where)
        for name, own_at, own in gradients:
            gradient = getattr(value, name[1:], None)
            if gradient is None:
                continue
            if shape_of(gradient) != shape_of(value):
                raise ValueError(f"{where}: the gradient has shape {shape_of(gradient)}, but the tensor has {shape_of(value)}")
            self._shaped(own[1], offset + own_at, gradient, f"{where}.{name[1:]}")

    def _shaped(self, fields, offset, value, where):
        """A tensor of the module `slangpy`: memory, a shape, strides in elements, and where the first element is."""
        (_, data_at, (_, element, size, _)), (_, shape_at, (_, _, rank, _)), (_, strides_at, _), (_, offset_at, _) = fields
        if hasattr(value, "grad_in"):
            value = value.storage
        leaves, place = leaves_of(element), offset + data_at
        if len(leaves) != 1 or leaves[0].path:
            raise RuntimeError(f"{where} has elements of type {describe(element)}: only numbers, vectors and arrays can be passed")
        writes, own = place in self._possible, leaves[0].shape
        address, shape, strides, itemsize = self._memory(value, leaves[0].scalar, where, writes, place in self._named)
        lead = len(shape) - len(own)
        if lead != rank or tuple(shape[lead:]) != own:
            dims = f", then {own}" if own else ""
            raise RuntimeError(f"{where} is a tensor of {rank} dimensions{dims}, but was given shape {tuple(shape)}")
        steps, begin, end = [], 0, 0
        for i, (length, stride) in enumerate(zip(shape[:lead], strides)):
            if length > 1 and (stride % size or writes and stride == 0):
                raise RuntimeError(f"{where}: dimension {i} has stride {stride / size:g}; pass `.contiguous()` of the tensor, or a copy")
            steps.append(stride // size if length > 1 else 0)
            reach = (length - 1) * steps[-1]
            begin, end = begin + min(reach, 0), end + max(reach, 0)
        expected = itemsize
        for length, stride in zip(reversed(own), reversed(strides[lead:])):
            if length > 1 and stride != expected:
                raise RuntimeError(f"{where}: the numbers of an element must be side by side; pass a contiguous copy")
            expected *= length
        count = 0 if 0 in shape else end - begin + 1
        if count >= MOST_ELEMENTS // 2:
            raise RuntimeError(f"{where} spans {count} elements, but less than 2^31 are possible")
        if writes and _overlap(shape[:lead], [abs(step) for step in steps]):
            raise RuntimeError(f"{where}: its elements share memory; pass `.contiguous()` of the tensor, or a copy")
        struct.pack_into("<QQ", self.block, place, address + begin * size if count else 0, count)
        struct.pack_into(f"<{rank}I", self.block, offset + shape_at, *shape[:lead])
        struct.pack_into(f"<{rank}i", self.block, offset + strides_at, *steps)
        struct.pack_into("<i", self.block, offset + offset_at, -begin)

    def _buffer(self, node, offset, value, where):
        _, element, size, writes = node
        scalars = {leaf.scalar for leaf in leaves_of(element)}
        scalar = scalars.pop() if len(scalars) == 1 else None
        if not writes and not is_array(value) and scalar:
            value = np.asarray(value, DTYPES[scalar])
        is_written = offset in self._named
        address, shape, strides, itemsize = self._memory(value, scalar, where, writes, is_written)
        if scalar is None and not (itemsize == 1 or itemsize == size and getattr(value.dtype, "names", None)):
            raise RuntimeError(
                f"{where} has elements of type {describe(element)}: give their bytes (uint8), or an array of a structured "
                f"dtype of {size} bytes, not {value.dtype}"
            )
        expected = itemsize
        for length, stride in zip(reversed(shape), reversed(strides)):
            if length != 1 and stride != expected:
                raise ValueError(f"{where} is a buffer: its array must be contiguous")
            expected *= length
        own = leaves_of(element)[0].shape if scalar and len(leaves_of(element)) == 1 else ()
        if own and len(shape) > 1 and tuple(shape[-len(own):]) != own:
            raise ValueError(
                f"{where} has elements of type {describe(element)}: the last dimensions of its array must be {own}, "
                f"but its shape is {tuple(shape)}"
            )
        if expected % size:
            raise ValueError(f"{where} has elements of {size} bytes, but was given {expected} bytes")
        struct.pack_into("<QQ", self.block, offset, address if expected else 0, expected // size)

    def _other(self, node, offset, value, where):
        raise TypeError(f"{where} is {node[1]}, which cannot be passed from Python yet")

    def _memory(self, value, scalar, where, writes: bool, is_named: bool, is_pair=False):
        """Address, shape, strides in bytes and size of an element of an array or tensor."""
        if type(value) is not np.ndarray and not is_array(value):
            raise RuntimeError(f"{where} takes an array or a tensor, but was given {type(value).__name__}")
        self.alive.append(value)
        if type(value) is not np.ndarray and hasattr(value, "data_ptr"):
            if is_named:
                self.changed.append(value)
            if not is_pair and of_torch().is_tracked(value):
                self.tracked.append((where, is_named))
            return self._tensor_memory(value, scalar, where)
        if scalar and value.dtype != DTYPES[scalar]:
            raise RuntimeError(f"{where} takes elements of type {DTYPES[scalar]}, but was given {value.dtype}")
        flags, (address, is_constant) = value.flags, value.__array_interface__["data"]
        if writes and is_constant:
            raise RuntimeError(f"{where} is read-only: pass a copy")
        if not flags.aligned:
            raise RuntimeError(f"{where} is not aligned in memory: pass a copy")
        self.devices["cpu"] = "cpu"
        return address, value.shape, value.strides, value.itemsize

    def _tensor_memory(self, value, scalar, where):
        own = of_torch()
        if scalar and value.dtype != own.DTYPES[scalar]:
            raise RuntimeError(f"{where} takes elements of type {own.DTYPES[scalar]}, but was given {value.dtype}")
        if value.layout != own.STRIDED:
            raise RuntimeError(f"{where} is a sparse tensor: pass `.to_dense()` of it")
        if value.is_conj() or value.is_neg():
            raise RuntimeError(f"{where} is a lazily changed view: pass `.resolve_conj().resolve_neg()` of it")
        size, device = value.element_size(), value.device
        if device not in self.devices.values():
            self.devices[str(device)] = device
        return value.data_ptr(), value.shape, [step * size for step in value.stride()], size


@functools.cache
def of_torch():
    from . import _torch

    return _torch


def _overlap(shape, steps) -> bool:
    """Whether elements of a view may share memory: whether a dimension steps over less than the ones below it span."""
    span = 0
    for step, length in sorted((step, length) for step, length in zip(steps, shape) if length > 1):
        if step <= span:
            return True
        span += (length - 1) * step
    return False


def writer(node):
    """What packs a value of a type, and what it takes: of tensors and pairs, the fields."""
    if node[0] == "struct":
        names = [name for name, _, _ in node[1]]
        if names == _VIEW_FIELDS:
            return Packer._tensor, node[1]
        if names == ["primal", "diff"]:
            return Packer._pair, node[1]
        if names == _SHAPED_FIELDS:
            return Packer._shaped, node[1]
        if names[:1] == ["_primal"] and len(names) > 1 and _GRADIENTS.issuperset(names[1:]):
            return Packer._with_gradients, node[1]
    return _PACKERS[node[0]], node


#: What packs a value of each kind of type.
_PACKERS = {name: getattr(Packer, f"_{name}") for name in ("scalar", "vector", "matrix", "array", "struct", "buffer", "other")}


def _number(scalar: str, value):
    """A value as the number that is packed; TypeError if it is another kind of number."""
    if scalar == "bool":
        if isinstance(value, (bool, np.bool_)) or hasattr(value, "item") and str(value.dtype).endswith("bool"):
            return bool(value)
        number = value.__index__() if hasattr(value, "__index__") else 2
        if number not in (0, 1):
            raise TypeError
        return bool(number)
    if scalar[0] == "f":
        if not isinstance(value, numbers.Real) and not hasattr(value, "__float__"):
            raise TypeError
        return float(value)
    if not hasattr(value, "__index__"):
        raise TypeError
    return value.__index__()


def is_array(value) -> bool:
    """Whether a value is an array of numpy or a tensor of torch."""
    return hasattr(value, "__array_interface__") or hasattr(value, "data_ptr")


def shape_of(value) -> tuple:
    return tuple(getattr(value, "shape", ()))
