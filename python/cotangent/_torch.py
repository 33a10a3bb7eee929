"""Tensors of torch, with the interface of `_numpy`, and gradients by `torch.autograd`."""

from __future__ import annotations

import torch

from ._layout import NAMES, Leaf

NAME = "torch"
DTYPES = {
    "bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
}


def device(array) -> torch.device:
    return array.device


def asarray(value, scalar: str, where: str, on) -> torch.Tensor:
    dtype = DTYPES[scalar]
    if not isinstance(value, torch.Tensor):
        return torch.as_tensor(value, dtype=dtype, device=on)
    if value.device != on:
        raise ValueError(f"{where} is on {value.device}, but another argument is on {on}")
    if value.dtype == dtype:
        return value
    if value.is_floating_point() and not dtype.is_floating_point or value.is_complex():
        raise TypeError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {value.dtype}")
    return value.to(dtype)


def shape(array) -> tuple[int, ...]:
    return tuple(array.shape)


def contiguous(array, wanted):
    return array.expand(wanted).contiguous()


def pointer(array) -> int:
    return array.data_ptr()


def empty(wanted, scalar: str, on):
    return torch.empty(wanted, dtype=DTYPES[scalar], device=on)


def raw(size: int, on):
    return torch.zeros((size + 7) // 8, dtype=torch.int64, device=on)


def view(memory, leaf: Leaf, batch, stride: int):
    size = leaf.dtype.itemsize
    steps, step = [], stride // size
    for length in reversed(batch):
        steps.insert(0, step)
        step *= length
    own = [s // size for s in leaf.strides]
    numbers = memory.view(DTYPES[leaf.scalar])
    return numbers.as_strided((*batch, *leaf.shape), (*steps, *own), leaf.offset // size)


def copied(array):
    return array.clone()


def finish(array):
    return array


def sum_to(array, wanted):
    return array if tuple(array.shape) == tuple(wanted) else array.sum_to_size(wanted)


def zeros(wanted, scalar: str, on):
    return torch.zeros(wanted, dtype=DTYPES[scalar], device=on)


def eye(count: int, scalar: str, on):
    return torch.eye(count, dtype=DTYPES[scalar], device=on)


def reshape(array, wanted):
    return array.reshape(wanted)


def moveaxis(array, source: int, destination: int):
    return torch.movedim(array, source, destination)


class _Call(torch.autograd.Function):
    """A call of a function. Its backward pass calls the function's vjp, which can be differentiated again."""

    @staticmethod
    def forward(ctx, function, leaves_in, *leaves):
        ctx.function, ctx.leaves_in = function, leaves_in
        ctx.save_for_backward(*leaves)
        outputs = function._run(leaves, _me())
        ctx.mark_non_differentiable(*[o for o, diff in zip(outputs, function._diff_outputs) if not diff])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *cotangents):
        function = ctx.function
        given = [c for c, diff in zip(cotangents, function._diff_outputs) if diff]
        leaves = ctx.saved_tensors
        gradients = function._vjp_leaves(leaves, given, _me(), ctx.needs_input_grad[2:])
        return (None, None, *gradients)


def _me():
    import sys

    return sys.modules[__name__]


def call(function, leaves):
    """Calls a function on leaves, with gradients where they are wanted."""
    if torch.compiler.is_compiling():
        return _operation(function.handle, list(leaves))
    wants = torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves)
    if wants and function.differentiable:
        return _Call.apply(function, None, *leaves)
    return function._run([leaf.detach() for leaf in leaves], _me())


#: Functions by their handles, which operations of compiled graphs take.
HANDLES: dict[int, object] = {}


@torch.library.custom_op("cotangent::call", mutates_args=())
def _operation(handle: int, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    return HANDLES[handle]._run([leaf.detach() for leaf in leaves], _me())


@_operation.register_fake
def _(handle, leaves):
    return HANDLES[handle]._fake(leaves, _me())


@torch.library.custom_op("cotangent::vjp", mutates_args=())
def _vjp(handle: int, leaves: list[torch.Tensor], cotangents: list[torch.Tensor]) -> list[torch.Tensor]:
    function = HANDLES[handle]
    found = function._vjp_leaves([x.detach() for x in leaves], cotangents, _me(), [True] * len(leaves))
    return [torch.zeros_like(x) if g is None else g.clone() for x, g in zip(leaves, found)]


@_vjp.register_fake
def _(handle, leaves, cotangents):
    return [torch.empty_like(leaf) for leaf in leaves]


def _setup(ctx, inputs, output):
    ctx.handle = inputs[0]
    ctx.save_for_backward(*inputs[1])


def _backward(ctx, cotangents):
    function = HANDLES[ctx.handle]
    given = [c for c, diff in zip(cotangents, function._diff_outputs) if diff]
    found = _vjp(ctx.handle, list(ctx.saved_tensors), [c.contiguous() for c in given])
    return None, [g if g.is_floating_point() else None for g in found]


_operation.register_autograd(_backward, setup_context=_setup)
