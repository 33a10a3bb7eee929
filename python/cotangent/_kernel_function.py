"""Kernels as functions of torch's autograd."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ._kernel import is_on_cuda
from ._layout import DTYPES, leaves_of, size_of
from ._packer import is_array
from ._points import _fields, holds_tensor, stack
from ._torch import DTYPES as TORCH


class KernelFunction:
    """A kernel as a function: tensors in, new tensors out, gradients by the kernel's backward derivative.

    `out` says what the kernel writes: the name of a parameter, or several, with the shape of its tensor, or a function of the
    arguments (a dictionary) that gives the shape. `blocks` and `threads` are as in a launch, or functions of the arguments.

        blur = m.blur.function(out={"y": lambda a: a["x"].shape}, blocks=lambda a: -(-a["x"].numel() // 64))
        y = blur(x=x, weights=w)

    Tensors may be in structures and arrays, which are given as to a launch. New tensors begin as zeros. Tensors among the arguments
    are not changed: the kernel gets copies of those that it writes.
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

    @torch.compiler.disable
    def __call__(self, **arguments: Any):
        """Launches the kernel. Gives the tensor of its result; of several results, a tuple."""
        given = [name for name in self.out if name in arguments]
        if given:
            raise ValueError(f"{', '.join(given)} of {self.kernel.name} is a result, which the function makes")
        taken = _Taken(self.kernel, arguments)
        if torch.is_grad_enabled():
            taken.refuse_losses()
        found = _Launch.apply(self, taken, *taken.tensors)
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


class _Place:
    """Where a tensor was among arguments."""

    def __init__(self, index: int):
        self.index = index


class _Taken:
    """The arguments of a kernel without the tensors in them, and these tensors.

    Structures are dictionaries from here on. Of each tensor it has the name, whether its type is a pair of a tensor and a gradient, and
    whether the kernel writes it.
    """

    def __init__(self, kernel, arguments: dict):
        self.kernel, self.cuda = kernel, is_on_cuda(arguments.values())
        self.tensors: list[torch.Tensor] = []
        self.names: list[str] = []
        self.is_written: list[bool] = []
        self._is_pair: list[bool] = []
        entry = kernel.any_entry(self.cuda)
        kernel.check_names(entry, arguments, but_for_results=True)
        self.rest = {}
        for params, writes in ((entry.own, entry.own_writes), (entry.globals, entry.globals_writes)):
            for param in params:
                if param.name in arguments:
                    self._writes = writes
                    self.rest[param.name] = self._take(param.node, param.offset, arguments[param.name], param.name)

    def _take(self, node, offset: int, value, name: str):
        is_pair = node[0] == "struct" and [part for part, _, _ in node[1]] == ["primal", "diff"]
        if is_pair and isinstance(value, tuple) and (len(value) == 1 or value[1] is None):
            value = value[0]
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            self.names.append(name)
            self._is_pair.append(is_pair)
            self.is_written.append(self._changes(node, offset))
            return _Place(len(self.tensors) - 1)
        if is_pair:
            if isinstance(value, tuple):
                raise TypeError(f"{name} of {self.kernel.name} was given a gradient, but a function makes it: give the tensor alone")
            return value
        if node[0] == "struct" and not is_array(value):
            values = _fields(value, [part for part, _, _ in node[1]], f"{name}` of `{self.kernel.name}")
            return {part: self._take(own, offset + at, v, f"{name}.{part}") for (part, at, own), v in zip(node[1], values)}
        if node[0] == "array" and isinstance(value, (list, tuple)):
            return [self._take(node[1], offset + i * node[3], v, f"{name}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, (list, tuple)) and holds_tensor(value):
            return self._take(node, offset, stack(value, f"`{name}` of {self.kernel.name}"), name)
        return value

    def _changes(self, node, offset: int) -> bool:
        """Whether the kernel writes a buffer or tensor."""
        named, possible = self._writes
        end = offset + size_of(node)
        return any(offset <= place < end for place in (possible if node[0] == "buffer" else named))

    def refuse_losses(self) -> None:
        """Fails if a tensor requires a gradient that the kernel does not compute."""
        wanted = [i for i, tensor in enumerate(self.tensors) if tensor.requires_grad]
        if not wanted:
            return
        kernel, known = self.kernel, None
        if not kernel.is_bound:
            known = {shadow[0] for shadow in kernel.any_entry(self.cuda, "bwd").kernel.shadows}
        for i in wanted:
            if not (self._is_pair[i] if known is None else self.names[i] in known):
                way = "make it a `DiffTensorView`" if known is None else "make it a buffer or uniform of floats"
                raise TypeError(
                    f"{self.names[i]} of {kernel.name} requires a gradient, but carries none: {way}, or pass `.detach()` of the tensor"
                )

    def fill(self, values: list) -> dict:
        """The arguments, with these in the places of the tensors."""
        return _fill(self.rest, values)


def _fill(value, values: list):
    if isinstance(value, _Place):
        return values[value.index]
    if isinstance(value, dict):
        return {name: _fill(part, values) for name, part in value.items()}
    return [_fill(part, values) for part in value] if isinstance(value, list) else value


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
    def forward(ctx, function: KernelFunction, taken: _Taken, *tensors):
        own = [tensor.detach().contiguous() for tensor in tensors]
        device = tensors[0].device if tensors else torch.device("cpu")
        arguments = taken.fill(own)
        results = function.results(arguments, device, taken.cuda)
        ctx.function, ctx.taken, ctx.device = function, taken, device
        ctx.geometry = function.geometry(arguments)
        ctx.save_for_backward(*tensors)
        ctx.results = [(tuple(tensor.shape), tensor.dtype) for tensor in results.values()]
        own = [tensor.clone() if written else tensor for tensor, written in zip(own, taken.is_written)]
        function.kernel(**taken.fill(own), **results).launch(*ctx.geometry)
        ctx.mark_non_differentiable(*[tensor for tensor in results.values() if not tensor.is_floating_point()])
        # The tensors are saved by torch.
        taken.tensors = []
        return tuple(results.values())

    @staticmethod
    @_first_order
    def backward(ctx, *cotangents):
        function, taken, values, gradients = ctx.function, ctx.taken, [], []
        for tensor, written, needs in zip(ctx.saved_tensors, taken.is_written, ctx.needs_input_grad[2:]):
            value = tensor.detach().contiguous()
            value = value.clone() if written else value
            # Gradients of numbers have a dimension.
            gradient = torch.zeros(tensor.shape or (1,), dtype=tensor.dtype, device=tensor.device) if needs else None
            gradients.append(gradient)
            values.append(value if gradient is None else (value, gradient))
        pairs = taken.fill(values)
        for name, cotangent, (shape, dtype) in zip(function.out, cotangents, ctx.results):
            value = torch.zeros(shape, dtype=dtype, device=ctx.device)
            # The derivative takes cotangents: they become zero.
            pairs[name] = (value, cotangent.clone(memory_format=torch.contiguous_format)) if dtype.is_floating_point else value
        function.kernel.bwd(**pairs).launch(*ctx.geometry)
        found = [None if g is None else g.reshape(t.shape) for g, t in zip(gradients, ctx.saved_tensors)]
        return (None, None, *found)


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
