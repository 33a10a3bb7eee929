"""Tensors of torch, with the interface of `_numpy`, and gradients by `torch.autograd`."""

from __future__ import annotations

import sys

import torch
from torch.autograd import forward_ad

from . import _numpy
from ._function import FUNCTIONS
from ._layout import NAMES, Leaf
from ._points import Around, tensors_in

NAME = "torch"
DTYPES = {
    "bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
}


def device(array) -> torch.device:
    return array.device


#: Torch can do little with these.
_NOT_FILLED = (torch.uint16, torch.uint32, torch.uint64)

#: How the elements of most tensors lie.
STRIDED = torch.strided


def asarray(value, scalar: str, where: str, on) -> torch.Tensor:
    """As that of `_numpy`. A tensor stays on its device and keeps its gradient."""
    dtype = DTYPES[scalar]
    if type(value) is float and dtype.is_floating_point:
        return torch.full((), value, dtype=dtype, device=on)
    if not isinstance(value, torch.Tensor):
        array = _numpy.asarray(value, scalar, where)
        if array.ndim == 0 and on.type != "cpu" and dtype not in _NOT_FILLED:
            # Filling waits for nothing, and a copy from memory of the host does.
            return torch.full((), array.item(), dtype=dtype, device=on)
        return torch.from_numpy(array if array.flags.owndata and array.flags.writeable else array.copy()).to(on)
    if value.layout != STRIDED:
        raise TypeError(f"{where} is a sparse tensor: pass `.to_dense()` of it")
    if value.device != on:
        if value.ndim:
            raise ValueError(f"{where} is on {value.device}, but another argument is on {on}")
        value = value.to(on)
    if value.dtype == dtype:
        return value
    if value.is_complex() or value.is_floating_point() and not dtype.is_floating_point:
        raise TypeError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {value.dtype}")
    if dtype == torch.bool:
        raise TypeError(f"{where} takes numbers of type bool, but was given {value.dtype}")
    if not dtype.is_floating_point and not _fits(value.dtype, dtype) and value.numel():
        wide = value.to(torch.int64)
        limits, (low, high) = torch.iinfo(dtype), (int(wide.min()), int(wide.max()))
        if low < limits.min or high > limits.max:
            raise ValueError(f"{where} takes numbers of type {NAMES[scalar]}, but was given {low} to {high}")
    return value.to(dtype)


def _fits(own: torch.dtype, other: torch.dtype) -> bool:
    """Whether all integers of a type are integers of another."""
    if own == torch.bool:
        return True
    inner, outer = torch.iinfo(own), torch.iinfo(other)
    return outer.min <= inner.min and inner.max <= outer.max


def stack(parts: list) -> torch.Tensor:
    """Tensors and numbers as one tensor."""
    like = next(part for part in parts if isinstance(part, torch.Tensor))
    return torch.stack([torch.as_tensor(part, dtype=like.dtype, device=like.device) for part in parts])


def shape(array) -> tuple[int, ...]:
    return tuple(array.shape)


def contiguous(array, wanted):
    if array.shape != wanted:
        array = array.expand(wanted)
    if array.is_contiguous() and not array.is_neg():
        return array
    return array.resolve_neg().contiguous()


def pointer(array) -> int:
    return array.data_ptr()


def empty(wanted, scalar: str, on):
    return torch.empty(wanted, dtype=DTYPES[scalar], device=on)


def raw(size: int, on):
    return torch.zeros((size + 7) // 8, dtype=torch.int64, device=on)


def view(memory, leaf: Leaf, batch, stride: int):
    size = leaf.dtype.itemsize
    steps: list[int] = []
    step = stride // size
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


def concatenate(arrays):
    return torch.cat(arrays)


def wants_graph(arrays) -> bool:
    return torch.is_grad_enabled() and any(array.requires_grad for array in arrays)


class _Call(torch.autograd.Function):
    """A call of a function. Its backward pass calls the function's vjp, which can be differentiated again.

    Nothing is saved but the inputs: the vjp computes again what it needs.
    """

    @staticmethod
    def forward(ctx, function, around: Around, *leaves):
        outputs = tuple(function._run(leaves, _me(), around))
        _Call._remember(ctx, function, around, leaves, outputs)
        return outputs

    @staticmethod
    def _remember(ctx, function, around, leaves, outputs):
        ctx.function, ctx.around = function, around
        ctx.save_for_backward(*leaves)
        ctx.mark_non_differentiable(*[o for o, diff in zip(outputs, function._diff_outputs) if not diff])

    @staticmethod
    def backward(ctx, *cotangents):
        function = ctx.function
        given = [c for c, diff in zip(cotangents, function._diff_outputs) if diff]
        gradients = function._vjp_leaves(ctx.saved_tensors, given, _me(), ctx.around, ctx.needs_input_grad[2:])
        return (None, None, *gradients)


class _TransformedCall(torch.autograd.Function):
    """The same for `torch.func` and forward mode, whose form of functions takes longer to call."""

    @staticmethod
    def forward(function, around: Around, *leaves):
        return tuple(function._run(leaves, _me(), around))

    @staticmethod
    def setup_context(ctx, inputs, output):
        function, around, *leaves = inputs
        _Call._remember(ctx, function, around, leaves, output)
        ctx.save_for_forward(*leaves)

    backward = _Call.backward

    @staticmethod
    def jvp(ctx, _function, _around, *tangents):
        return tuple(ctx.function._jvp_leaves(ctx.saved_tensors, tangents, _me(), ctx.around))

    @staticmethod
    def vmap(info, dims, function, around: Around, *leaves):
        # The batch is one more dimension of the points, before those that the leaves have.
        points = [x.dim() - (d is not None) - len(leaf.shape) for x, d, leaf in zip(leaves, dims[2:], function._points.leaves_in)]
        most, moved = max(points, default=0), []
        for leaf, dim, own in zip(leaves, dims[2:], points):
            if dim is not None:
                leaf = leaf.movedim(dim, 0)
                leaf = leaf.reshape(leaf.shape[0], *[1] * (most - own), *leaf.shape[1:])
            moved.append(leaf)
        found = call(function, moved, around)
        return tuple(found), (0,) * len(found)


def _me():
    return sys.modules[__name__]


_is_compiling = torch.compiler.is_compiling


def call(function, leaves, around: Around):
    """Calls a function on leaves, with gradients if they are wanted."""
    if _is_compiling():
        if not around.given:
            return _operation(function.handle, list(leaves))
        return _uncompiled(function, leaves, around)
    return _eager(function, leaves, around)


#: Whether `torch.func` transforms a call.
_is_transformed = torch._C._are_functorch_transforms_active


def _eager(function, leaves, around: Around):
    if _is_transformed() or forward_ad._current_level >= 0:
        if function.differentiable:
            function._refuse_losses(leaves, _is_tracked)
        if not function.backward:
            function._refuse_gradients(leaves, _requires_grad if function.differentiable else _is_tracked)
        return _TransformedCall.apply(function, around, *leaves)
    if not torch.is_grad_enabled() or not any(leaf.requires_grad for leaf in leaves):
        return function._run(leaves, _me(), around)
    if function.backward:
        function._refuse_losses(leaves, _requires_grad)
        return _Call.apply(function, around, *leaves)
    function._refuse_gradients(leaves, _requires_grad)
    return function._run([leaf.detach() for leaf in leaves], _me(), around)


def _requires_grad(array) -> bool:
    return array.requires_grad


def _is_tracked(array) -> bool:
    """Whether a derivative of a tensor is wanted, in reverse or in forward mode."""
    return array.requires_grad or forward_ad.unpack_dual(array).tangent is not None


def is_tracked(array) -> bool:
    """The same, where derivatives are recorded."""
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(array).tangent is not None:
        return True
    return array.requires_grad and torch.is_grad_enabled()


#: Calls with buffers and uniforms are not part of compiled graphs.
_uncompiled = torch.compiler.disable(_eager)

def _function(handle: int):
    function = FUNCTIONS.get(int(handle))
    if function is None:
        raise RuntimeError("the function of a compiled graph is gone: keep the module that it is of")
    return function


@torch.library.custom_op("cotangent::call", mutates_args=())
def _operation(handle: int, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    function = _function(handle)
    return function._run([leaf.detach() for leaf in leaves], _me(), function._around(leaves))


@_operation.register_fake
def _(handle, leaves):
    return _function(handle)._fake(leaves, _me())


@torch.library.custom_op("cotangent::vjp", mutates_args=())
def _vjp(handle: int, leaves: list[torch.Tensor], cotangents: list[torch.Tensor]) -> list[torch.Tensor]:
    function, leaves = _function(handle), [leaf.detach() for leaf in leaves]
    found = function._vjp_leaves(leaves, cotangents, _me(), function._around(leaves), [True] * len(leaves))
    return [torch.zeros_like(x) if g is None else g.clone() for x, g in zip(leaves, found)]


@_vjp.register_fake
def _(handle, leaves, cotangents):
    return [torch.empty_like(leaf) for leaf in leaves]


def _setup(ctx, inputs, output):
    ctx.handle, function = inputs[0], _function(inputs[0])
    if function.backward:
        function._refuse_losses(inputs[1], _requires_grad)
    else:
        function._refuse_gradients(inputs[1], _requires_grad)
    ctx.shapes = [(o.shape, o.dtype, o.device) for o in output]
    ctx.save_for_backward(*inputs[1])


def _backward(ctx, cotangents):
    function = _function(ctx.handle)
    given = []
    for cotangent, diff, (shape, dtype, device) in zip(cotangents, function._diff_outputs, ctx.shapes):
        if diff:
            given.append(torch.zeros(shape, dtype=dtype, device=device) if cotangent is None else cotangent.contiguous())
    found = _vjp(ctx.handle, list(ctx.saved_tensors), given)
    return None, [g if g.is_floating_point() else None for g in found]


_operation.register_autograd(_backward, setup_context=_setup)


def changed(tensors: list) -> None:
    """Tells torch that a kernel has written tensors, so that gradients that need what was there before are errors."""
    torch.autograd.graph.increment_version(tensors)


def refuse_gradients(name: str, given: dict) -> None:
    """Fails if buffers or uniforms of a function require gradients: they would get none."""
    if not torch.is_grad_enabled():
        return
    for own, value in (pair for part, whole in given.items() for pair in tensors_in(whole, part)):
        if value.requires_grad:
            raise TypeError(
                f"`{own}` requires a gradient, but buffers and uniforms of {name} carry none: pass `.detach()` of it, make it "
                "a parameter that is an array or vector, or write a kernel"
            )
