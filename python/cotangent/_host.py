"""Host functions of slangtorch that make tensors and launch kernels: `TorchTensor` and `__dispatch_kernel`.

Such a function reads the shapes of tensors, but none of their elements. So it runs on the CPU with shapes in place of tensors, and
writes what it wants done as a list of words, for which `host.slang` is appended to the program. Then the list is carried out: tensors
are made and filled, and kernels launched, where the tensors that were given are.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from ._packer import is_array
from ._points import _fields, _holds_structure, library

_WORDS = re.compile(r"\b(?:TorchTensor|__dispatch_kernel|syncTorchCudaStream)\b")
_LAUNCHES = re.compile(r"\b__dispatch_kernel\s*\(\s*([A-Za-z_]\w*)")
_KINDS = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
_VECTOR, _TENSOR = 12, 13
_FIELDS = ["ct_number", "ct_dims", "ct_sizes", "ct_strides"]
#: Numbers of tensors that a function made begin here.
_MADE = 2**31
_MOST_ARGUMENTS = 32
#: `__dispatch_kernel(k, blocks, threads)` is something that can be called with arguments.
MACRO = ("__dispatch_kernel(K, B, T)", "ct_launch(ct_kernel_##K, B, T)")


def is_host(text: str) -> bool:
    """Whether a text mentions what only host functions have."""
    return _WORDS.search(text) is not None


def extend(text: str) -> tuple[str, list[str]]:
    """A program with what its host functions need, and the kernels that they launch."""
    kernels = list(dict.fromkeys(_LAUNCHES.findall(text)))
    numbers = "".join(f"static const uint ct_kernel_{name} = {i};\n" for i, name in enumerate(kernels))
    return "\n".join([text, Path(__file__).with_name("host.slang").read_text(), numbers, _launches()]), kernels


def _launches() -> str:
    """What is called with the arguments of a kernel, of which there are any number."""
    calls = []
    for count in range(_MOST_ARGUMENTS + 1):
        types = ", ".join(f"T{i} : ct_IArgument" for i in range(count))
        params = ", ".join(f"T{i} a{i}" for i in range(count))
        gives = " ".join(f"a{i}.ct_give();" for i in range(count))
        calls.append(f"    void operator(){f'<{types}>' if count else ''}({params}) {{ ct_begin({count}); {gives} }}\n")
    return """
struct ct_Launch
{
    uint kernel;
    uint3 blocks;
    uint3 threads;
    void ct_begin(uint arguments)
    {
        ct_write(3);
        ct_write(kernel);
        for (int i = 0; i < 3; i++)
            ct_write(blocks[i]);
        for (int i = 0; i < 3; i++)
            ct_write(threads[i]);
        ct_write(arguments);
    }
%s}
ct_Launch ct_launch(uint kernel, uint3 blocks, uint3 threads) { return { kernel, blocks, threads }; }
""" % "".join(calls)


def is_tensor(node) -> bool:
    """Whether a type is a `TorchTensor`."""
    return node[0] == "struct" and [name for name, _, _ in node[1]] == _FIELDS


class Run:
    """A call of a host function: the tensors that it was given and those that it made."""

    def __init__(self, module, kernels: list[str]):
        self._module, self._kernels = module, kernels
        self._given: list = []
        self._made: dict = {}

    def call(self, function, args) -> list:
        """Calls a function and does what it wants. Gives its outputs, with shapes in place of tensors."""
        slots = function._points.inputs
        if len(args) == len(slots):
            args = [self._shapes(slot.node, value, slot.param.name) for slot, value in zip(slots, args)]
        words = np.zeros(1024, np.uint32)
        while True:
            found = function.bind(ct_commands=words)(*args)
            if words[0] <= len(words):
                break
            words = np.zeros(int(words[0]), np.uint32)
        self._lib, self._device = self._place()
        self._carry_out(iter(words[1 : int(words[0])].tolist()))
        return list(found) if len(function._points.outputs) > 1 else [found]

    def tensor(self, value):
        """The tensor whose shape this is."""
        number = int(value["ct_number"])
        return self._given[number] if number < _MADE else self._made[number]

    def _shapes(self, node, value, where: str):
        """A value with shapes in place of the tensors in it."""
        if is_tensor(node):
            return self._shape(value, where)
        if node[0] == "array" and _holds_structure(node) and isinstance(value, (list, tuple)):
            return [self._shapes(node[1], part, f"{where}[{i}]") for i, part in enumerate(value)]
        if node[0] != "struct":
            return value
        names = [name for name, _, _ in node[1]]
        own = zip(node[1], _fields(value, names, where))
        return {name: self._shapes(part, v, f"{where}.{name}") for (name, _, part), v in own}

    def _shape(self, value, where: str) -> dict:
        if not is_array(value):
            raise TypeError(f"`{where}` takes an array or a tensor, but was given {type(value).__name__}")
        if len(value.shape) > 5:
            raise RuntimeError(f"{where} has {len(value.shape)} dimensions, but at most 5 are possible")
        strides = value.stride() if hasattr(value, "stride") else [step // value.itemsize for step in value.strides]
        rest = 5 - len(strides)
        self._given.append(value)
        return {
            "ct_number": len(self._given) - 1,
            "ct_dims": len(strides),
            "ct_sizes": [*value.shape, *[1] * rest],
            "ct_strides": [*strides, *[0] * rest],
        }

    def _place(self):
        """Where new tensors are: with those that were given, otherwise on torch's device, or in arrays of numpy."""
        if self._given:
            return library(self._given)
        try:
            import torch

            from . import _torch
        except ImportError:
            return library([])
        return _torch, torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _carry_out(self, words) -> None:
        for word in words:
            (self._make, self._fill, self._launch, self._wait)[word - 1](words)

    def _make(self, words) -> None:
        kind, filled, dims = next(words), next(words), next(words)
        make = self._lib.zeros if filled else self._lib.empty
        shape = tuple(next(words) for _ in range(dims))
        self._made[_MADE + len(self._made)] = make(shape, _KINDS[kind], self._device)

    def _fill(self, words) -> None:
        tensor, value = self.tensor({"ct_number": next(words)}), self._argument(words)
        tensor[...] = self._lib.asarray(value, "f64", "value", self._device) if isinstance(value, list) else value

    def _launch(self, words) -> None:
        name = self._kernels[next(words)]
        blocks, threads = [tuple(next(words) for _ in range(3)) for _ in range(2)]
        values = [self._argument(words) for _ in range(next(words))]
        kernel = self._module._kernels.get(name)
        if kernel is None:
            raise TypeError(f"`{name}` is launched by __dispatch_kernel, but it is no kernel: mark it [CudaKernel]")
        names = kernel.parameters
        if len(names) != len(values):
            raise TypeError(f"{name} takes {len(names)} arguments ({', '.join(names)}), but was launched with {len(values)}")
        kernel(**dict(zip(names, values))).launch(blocks, threads)

    def _wait(self, _words) -> None:
        if getattr(self._device, "type", "cpu") == "cuda":
            import torch

            torch.cuda.current_stream(self._device).synchronize()

    def _argument(self, words):
        kind, low, high = next(words), next(words), next(words)
        if kind == _TENSOR:
            return self.tensor({"ct_number": low})
        if kind == _VECTOR:
            return [self._argument(words) for _ in range(low)]
        bits = struct.pack("<II", low, high)
        return {0: bool(low), 4: struct.unpack("<q", bits)[0], 8: low | high << 32}.get(kind, struct.unpack("<d", bits)[0])
