"""Kernels as functions of torch's autograd."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ._layout import DTYPES, leaves_of
from ._torch import DTYPES as TORCH


class KernelFunction:
    """A kernel as a function: tensors in, new tensors out, gradients by the kernel's backward derivative.

    `out` says what the kernel writes: the name of a parameter, or several, with the shape of its tensor, or a function of the
    arguments (a dictionary) that gives the shape. `blocks` and `threads` are as in a launch, or functions of the arguments.

        blur = m.blur.function(out={"y": lambda a: a["x"].shape}, blocks=lambda a: -(-a["x"].numel() // 64))
        y = blur(x=x, weights=w)

    New tensors begin as zeros. Buffers among the arguments are not changed: the kernel gets copies of those that it writes. It must
    not write a `TensorView` or `DiffTensorView` that is no result, since nothing tells which of these it writes.
    """

    def __init__(self, kernel, out: dict, blocks, threads=None):
        self.kernel, self.blocks, self.threads = kernel, blocks, threads
        if not isinstance(out, dict) or not out:
            raise TypeError(f"out says which parameters of {kernel.name} are results: out={{'y': shape}}")
        unknown = [name for name in out if name not in kernel.parameters]
        if unknown:
            raise ValueError(f"{kernel.name} has no parameter {', '.join(unknown)}; it has {', '.join(kernel.parameters)}")
        self.out = out

    def __repr__(self) -> str:
        return f"<function of the kernel {self.kernel.name} that gives {', '.join(self.out)}>"

    def __call__(self, **arguments: Any):
        """Launches the kernel. Gives the tensor of its result; of several results, a tuple."""
        given = [name for name in self.out if name in arguments]
        if given:
            raise ValueError(f"{', '.join(given)} of {self.kernel.name} is a result, which the function makes")
        names = [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]
        tensors = [arguments[name] for name in names]
        hidden = [name for name, value in arguments.items() if name not in names and _requires_grad(value)]
        if hidden and torch.is_grad_enabled():
            raise TypeError(f"tensors in {', '.join(hidden)} require gradients, which only whole arguments get: pass `.detach()`")
        found = _Launch.apply(self, names, {k: v for k, v in arguments.items() if k not in names}, *tensors)
        return found[0] if len(found) == 1 else found

    def geometry(self, arguments: dict):
        """Blocks and threads of a launch."""
        return [value(arguments) if callable(value) else value for value in (self.blocks, self.threads)]

    def results(self, arguments: dict, device, cuda: bool) -> dict:
        """New tensors for what the kernel writes."""
        params = {param.name: param.node for param in self.kernel.any_entry(cuda).parameters}
        return {
            name: torch.zeros(_shape(shape, arguments, name), dtype=_dtype(params[name], name), device=device)
            for name, shape in self.out.items()
        }

    def is_written(self, cuda: bool) -> set[str]:
        """The parameters that the kernel may write."""
        return {p.name for p in self.kernel.any_entry(cuda).parameters if p.node[0] == "buffer" and p.node[3]}


def _first_order(backward):
    """Lets gradients be differentiated only to report that they cannot.

    torch's `once_differentiable` reports it only if the cotangents require gradients, which those of a sum do not.
    """

    @functools.wraps(backward)
    def wrapped(ctx, *cotangents):
        with torch.no_grad():
            gradients = backward(ctx, *cotangents)
        if not torch.is_grad_enabled():
            return gradients
        message = "derivatives of kernels are of first order: call a function, or launch a kernel that computes the derivative"
        report = torch._C._functions.DelayedError(message.encode(), len(gradients))
        return report(*[None if g is None else g.detach().requires_grad_() for g in gradients])

    return wrapped


class _Launch(torch.autograd.Function):
    """A launch. Its backward pass launches the derivative, which computes again what it needs: only arguments are saved."""

    @staticmethod
    def forward(ctx, function: KernelFunction, names, rest, *tensors):
        own = {name: tensor.detach().contiguous() for name, tensor in zip(names, tensors)}
        device = tensors[0].device if tensors else torch.device("cpu")
        cuda = device.type == "cuda"
        arguments = {**rest, **own}
        results = function.results(arguments, device, cuda)
        ctx.function, ctx.names, ctx.rest, ctx.device = function, names, rest, device
        ctx.geometry = function.geometry(arguments)
        ctx.save_for_backward(*tensors)
        ctx.results = [(tuple(tensor.shape), tensor.dtype) for tensor in results.values()]
        written = function.is_written(cuda)
        own = {name: tensor.clone() if name in written else tensor for name, tensor in own.items()}
        function.kernel(**{**rest, **own, **results}).launch(*ctx.geometry)
        ctx.mark_non_differentiable(*[tensor for tensor in results.values() if not tensor.is_floating_point()])
        return tuple(results.values())

    @staticmethod
    @_first_order
    def backward(ctx, *cotangents):
        function, pairs, gradients = ctx.function, dict(ctx.rest), {}
        written = function.is_written(ctx.device.type == "cuda")
        for name, tensor, needs in zip(ctx.names, ctx.saved_tensors, ctx.needs_input_grad[3:]):
            value = tensor.detach().contiguous()
            value = value.clone() if name in written else value
            if needs:
                gradients[name] = torch.zeros(tensor.shape or (1,), dtype=tensor.dtype, device=tensor.device)
                pairs[name] = (value, gradients[name])
            else:
                pairs[name] = value
        for name, cotangent, (shape, dtype) in zip(function.out, cotangents, ctx.results):
            value = torch.zeros(shape, dtype=dtype, device=ctx.device)
            # The derivative takes cotangents: they become zero.
            pairs[name] = (value, cotangent.clone(memory_format=torch.contiguous_format)) if dtype.is_floating_point else value
        function.kernel.bwd(**pairs).launch(*ctx.geometry)
        found = [gradients.get(name) for name in ctx.names]
        shapes = [tensor.shape for tensor in ctx.saved_tensors]
        return (None, None, None, *[None if g is None else g.reshape(s) for g, s in zip(found, shapes)])


def _requires_grad(value) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return getattr(value, "requires_grad", False) or any(_requires_grad(part) for part in parts)


def _shape(shape, arguments: dict, name: str) -> tuple[int, ...]:
    shape = shape(arguments) if callable(shape) else shape
    if isinstance(shape, torch.Tensor):
        raise TypeError(f"out[{name!r}] is the shape of a tensor, not a tensor")
    return (shape,) if hasattr(shape, "__index__") else tuple(shape)


def _dtype(node, name: str) -> torch.dtype:
    """The numbers of a buffer or tensor."""
    if node[0] == "struct":
        fields = {field: part for field, _, part in node[1]}
        part = fields.get("primal") or fields.get("data")
        if part is not None:
            return _dtype(part, name)
    if node[0] == "buffer":
        scalars = {leaf.scalar for leaf in leaves_of(node[1])}
        if len(scalars) == 1 and (scalar := scalars.pop()) in DTYPES:
            return TORCH[scalar]
    raise TypeError(f"`{name}` is no buffer or tensor of one kind of number, so it cannot be a result")
