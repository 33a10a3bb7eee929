"""Compiled entry points: for the CPU in process, for CUDA by NVRTC. Both take the same blocks of parameters."""

from __future__ import annotations

import struct

from ._layout import DTYPES, NAMES, describe, leaves_of

FORMATS = {
    "bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}


class Entry:
    """An entry point of a program, compiled for one kind of device: in process for the CPU, by NVRTC for CUDA."""

    def __init__(self, program, name: str, addition: str, threads, cuda: bool):
        self.name, self.cuda = name, cuda
        self.kernel = program.kernel(name, threads, addition, cuda)
        (self.globals_size, self.globals), (self.own_size, self.own) = self.kernel.layout
        self.group = tuple(self.kernel.threads)
        self._loaded = {}

    def launch(self, groups, globals_block, own_block, device) -> None:
        """Runs groups of threads on a device: `"cpu"`, or one of torch's."""
        if not self.cuda:
            printed = self.kernel.launch(groups, bytes(globals_block), bytes(own_block))
            if printed:
                print(printed, end="", flush=True)
            return
        loaded = self._loaded.get(device)
        if loaded is None:
            from . import _cuda

            loaded = self._loaded[device] = _cuda.load(self, device)
        loaded.launch(groups, globals_block, own_block)


def is_cuda(device) -> bool:
    """Whether a device is one of CUDA's. There is no other beside the CPU."""
    kind = getattr(device, "type", device)
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"arrays are on {device}, but programs run on the CPU and on CUDA")
    return kind == "cuda"


class Packer:
    """Writes arguments into a block of parameters. What the block points to stays alive as long as this does."""

    def __init__(self, size: int, error=TypeError):
        self.block = bytearray(size)
        self.alive = []
        self.devices = []
        self.error = error

    def pack(self, node, offset: int, value, where: str) -> None:
        getattr(self, f"_{node[0]}")(node, offset, value, where)

    def _scalar(self, node, offset, value, where):
        self._number(node[1], offset, value, where)

    def _number(self, scalar, offset, value, where):
        try:
            if scalar[0] == "f":
                value = float(value)
            elif scalar == "bool":
                value = bool(value)
            elif hasattr(value, "__index__"):
                value = value.__index__()
            else:
                raise TypeError
            struct.pack_into("<" + FORMATS[scalar], self.block, offset, value)
        except (TypeError, ValueError, OverflowError, struct.error):
            raise self.error(f"{where} takes a number of type {NAMES[scalar]}, but was given {value!r}") from None

    def _sequence(self, value, count, where, what):
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or len(value) != count:
            given = f"{len(value)} values" if isinstance(value, (list, tuple)) else type(value).__name__
            raise self.error(f"{where} is {what} and takes {count} values, but was given {given}")
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
        for i, part in enumerate(self._sequence(value, count, where, "an array")):
            self.pack(element, offset + i * stride, part, f"{where}[{i}]")

    def _struct(self, node, offset, value, where):
        fields = node[1]
        names = [name for name, _, _ in fields]
        if names == ["data", "strides", "sizes", "dimensions"]:
            return self._tensor(fields, offset, value, where)
        if names == ["primal", "diff"]:
            return self._pair(fields, offset, value, where)
        if hasattr(value, "_asdict"):
            value = value._asdict()
        if isinstance(value, dict):
            missing, unknown = [n for n in names if n not in value], [n for n in value if n not in names]
            if missing or unknown:
                what = f"lacks {', '.join(missing)}" if missing else f"has no field {', '.join(map(str, unknown))}"
                raise TypeError(f"{where} {what}: its fields are {', '.join(names)}")
            value = [value[name] for name in names]
        elif isinstance(value, (list, tuple)):
            if len(value) != len(names):
                raise TypeError(
                    f"{where} has {len(names)} fields ({', '.join(names)}), but was given {len(value)} values"
                )
        else:
            raise ValueError(
                f"{where} is a structure ({', '.join(names)}): give a dictionary, a tuple or a named tuple, "
                f"not {type(value).__name__}"
            )
        for (name, at, part), own in zip(fields, value):
            self.pack(part, offset + at, own, f"{where}.{name}")

    def _pair(self, fields, offset, value, where):
        (_, at, primal), (_, diff_at, diff) = fields
        if hasattr(value, "value") and hasattr(value, "grad") and hasattr(value, "_asdict"):
            value, grad = value.value, value.grad
        elif isinstance(value, (list, tuple)) and len(value) in (1, 2):
            value, grad = value[0], value[1] if len(value) == 2 else None
        elif isinstance(value, (list, tuple)):
            raise TypeError(f"{where} takes an array or a pair of an array and its gradient")
        else:
            grad = None
        self.pack(primal, offset + at, value, where)
        # Without a gradient, its view has no dimensions: the program drops what it would add there.
        if grad is not None:
            inner = diff[1]
            if len(inner) == 1 and inner[0][2][0] == "struct" and not isinstance(grad, (tuple, list, dict)):
                _, inner_at, view = inner[0]
                if _shape(grad) != _shape(value):
                    raise ValueError(
                        f"{where}: the gradient has shape {_shape(grad)}, but the array has {_shape(value)}"
                    )
                self.pack(view, offset + diff_at + inner_at, grad, f"{where}.grad")
            else:
                self.pack(diff, offset + diff_at, grad, f"{where}.diff")

    def _tensor(self, fields, offset, value, where):
        places = {name: offset + at for name, at, _ in fields}
        _, element, size, _ = fields[0][2]
        scalar = element[1] if element[0] in ("scalar", "vector") else None
        address, shape, strides, itemsize = self._memory(value, scalar, where)
        if len(shape) > 5:
            raise RuntimeError(f"{where} has {len(shape)} dimensions, but at most 5 are possible")
        lanes = 1
        if element[0] == "vector":
            lanes = element[2]
            if not shape or shape[-1] != lanes or strides[-1] != itemsize:
                raise RuntimeError(
                    f"{where} has elements of type {describe(element)}: its last dimension must have {lanes} "
                    f"numbers side by side, but its shape is {shape}"
                )
        steps, count = [], 1
        for i, (length, stride) in enumerate(zip(shape, strides)):
            if lanes > 1 and i == len(shape) - 1:
                steps.append(0)
                continue
            if stride <= 0 and length > 1:
                raise RuntimeError(
                    f"{where}: dimension {i} has stride {stride // itemsize}; pass `.contiguous()` of the tensor"
                )
            if stride % size:
                raise RuntimeError(f"{where}: dimension {i} does not step over whole elements; make it contiguous")
            steps.append(max(stride, 0) // size)
            count += (length - 1) * steps[-1]
        if 0 in shape:
            count = 0
        rest = [0] * (5 - len(shape))
        pack = struct.pack_into
        pack("<QQ", self.block, places["data"], address if count else 0, count)
        pack("<5I", self.block, places["strides"], *steps, *rest)
        pack("<5I", self.block, places["sizes"], *shape, *rest)
        pack("<I", self.block, places["dimensions"], len(shape))

    def _buffer(self, node, offset, value, where):
        _, element, size, writes = node
        scalars = {leaf.scalar for leaf in leaves_of(element)}
        scalar = scalars.pop() if len(scalars) == 1 else None
        if not writes and not _is_array(value):
            import numpy as np

            value = np.asarray(value, DTYPES[scalar] if scalar else None)
        address, shape, strides, itemsize = self._memory(value, scalar, where)
        expected, total = itemsize, itemsize
        for length, stride in zip(reversed(shape), reversed(strides)):
            if length != 1 and stride != expected:
                raise ValueError(f"{where} is a buffer: its array must be contiguous")
            expected *= length
            total *= length
        if total % size:
            raise ValueError(f"{where} has elements of {size} bytes, but was given {total} bytes")
        struct.pack_into("<QQ", self.block, offset, address if total else 0, total // size)

    def _other(self, node, offset, value, where):
        raise TypeError(f"{where} is {node[1]}, which cannot be passed from Python yet")

    def _memory(self, value, scalar, where):
        """Address, shape, strides in bytes and size of an element of an array or tensor."""
        if not _is_array(value):
            raise RuntimeError(f"{where} takes an array or a tensor, but was given {type(value).__name__}")
        self.alive.append(value)
        if hasattr(value, "__array_interface__") and not hasattr(value, "data_ptr"):
            if scalar and value.dtype != DTYPES[scalar]:
                raise RuntimeError(f"{where} takes elements of type {DTYPES[scalar]}, but was given {value.dtype}")
            if not value.flags.writeable:
                raise RuntimeError(f"{where} is read-only: pass a copy")
            self.devices.append("cpu")
            return value.__array_interface__["data"][0], value.shape, value.strides, value.itemsize
        from . import _torch

        if scalar and value.dtype != _torch.DTYPES[scalar]:
            raise RuntimeError(f"{where} takes elements of type {_torch.DTYPES[scalar]}, but was given {value.dtype}")
        size = value.element_size()
        self.devices.append(value.device)
        return value.data_ptr(), tuple(value.shape), tuple(s * size for s in value.stride()), size

    def device(self):
        """The device that all arrays are on."""
        found = {str(device): device for device in self.devices}
        if len(found) > 1:
            raise RuntimeError(f"arguments are on several devices: {', '.join(sorted(found))}")
        return next(iter(found.values()), "cpu")


def _is_array(value) -> bool:
    return hasattr(value, "__array_interface__") or hasattr(value, "data_ptr")


def _shape(value):
    return tuple(getattr(value, "shape", ()))

