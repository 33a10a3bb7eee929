"""Functions as slangpy calls them."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from .._function import Function as Core
from .._packer import is_array
from ._generators import Generator
from ._tensor import Tensor, write
from ._values import DiffPair, ValueRef, element

#: Arguments that are passed as they are.
_SIMPLE = frozenset([int, float, bool, np.ndarray, np.float32, np.float64])


class Function:
    """A function of a program: `f(2, x)`, `f.map((0,), (1,))(a, b)`, `f.bwds(x=x.with_grads(), _result=y.with_grads())`."""

    def __init__(self, core: Core):
        self._core = core
        self._maps: tuple[tuple, dict] = ((), {})
        #: The type of the elements of a result that is not a structure.
        self._elements = None if core.signature.result is None else element(core.signature.result.type)

    @property
    def name(self) -> str:
        return self._core.signature.name

    def __repr__(self) -> str:
        return repr(self._core)

    def _with(self, **changes) -> Function:
        same = copy.copy(self)
        for name in ("_own_shapes", "_is_simple"):
            same.__dict__.pop(name, None)
        same.__dict__.update(changes)
        return same

    # What a call is made with.

    def map(self, *args, **kwargs) -> Function:
        """Says which dimension of the call each dimension of an argument is: `map((0,), (1,))` gives all pairs."""
        return self._with(_maps=(args, kwargs))

    def set(self, *args, **uniforms) -> Function:
        """Values for uniforms and buffers of the program."""
        for given in args:
            uniforms = {**given, **uniforms}
        return self._with(_core=self._core.bind(**{name: _plain(value) for name, value in uniforms.items()}))

    def cuda_stream(self, stream) -> Function:
        """Nothing changes: launches go to torch's current stream."""
        return self

    def call_group_shape(self, shape) -> Function:
        """Nothing changes: points are not in groups of a shape."""
        return self

    @property
    def bwds(self) -> _Backward:
        """The derivative: it adds to the gradients of inputs."""
        return _Backward(self)

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Calls the function at all points. Writes `out` and `inout` arguments in place, and gives the result."""
        is_made = _result is None or isinstance(_result, (str, type))
        if is_made and not kwargs and self._is_simple and len(args) == len(self._own_shapes):
            flat = self._flat(args)
            if flat is not None:
                return self._as_result(self._core(*flat), _result)
        arguments, sig = _Arguments(self, args, kwargs, _result), self._core.signature
        written = [p.name for p in sig.params if p.dir != "in" and not p.resource]
        for name in written:
            _require_container(arguments.given.get(name), f"`{name}` of {sig.name}")
        found = self._core(**arguments.inputs)
        found = list(found) if len(sig.outputs) > 1 else [found] if sig.outputs else []
        result = found.pop(0) if sig.result else None
        for name, value in zip(written, found):
            _assign(arguments.given[name], value, f"`{name}` of {sig.name}")
        return None if sig.result is None else self._as_result(result, _result)

    # Most calls, in less time.

    @cached_property
    def _own_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the values of parameters."""
        return [slot.leaves[0].shape if slot.is_plain else () for slot in self._core._points.inputs]

    @cached_property
    def _is_simple(self) -> bool:
        """Whether parameters are numbers, vectors, matrices and arrays, and nothing is written but the result."""
        is_in = all(p.dir == "in" for p in self._core.signature.params)
        return is_in and self._core._points.is_plain and self._elements is not None and self._maps == ((), {})

    def _flat(self, args) -> list | None:
        """The arguments, if all are numbers and arrays."""
        flat = []
        for value, own in zip(args, self._own_shapes):
            kind = type(value)
            if kind is Tensor and value.element_shape in ((), own):
                flat.append(value.storage)
            elif kind in _SIMPLE:
                flat.append(value)
            else:
                return None
        return flat

    def _as_result(self, value, wanted):
        """A result as the caller wants it."""
        if wanted is None:
            if isinstance(value, dict) or hasattr(value, "data_ptr") or self._elements is None:
                return value
            name, _, own = self._elements
            if len(np.shape(value)) == len(own):
                return _number(value)
            return Tensor.of(value, name, own)
        kind = wanted if isinstance(wanted, str) else {np.ndarray: "numpy", Tensor: "tensor"}.get(wanted) if isinstance(wanted, type) else None
        if kind == "numpy":
            return value.detach().cpu().numpy() if hasattr(value, "detach") else value if isinstance(value, dict) else np.asarray(value)
        if kind == "tensor":
            if isinstance(value, dict) or self._elements is None:
                return value
            return Tensor.of(value if hasattr(value, "data_ptr") else np.asarray(value), self._elements[0], self._elements[2])
        where = f"_result of {self.name}"
        if isinstance(wanted, (str, type)):
            raise ValueError(f"{where} is 'numpy', 'tensor' or a container, not {wanted!r}")
        _assign(wanted, value, where)
        return wanted


class _Backward:
    """`f.bwds`."""

    def __init__(self, function: Function):
        self._function = function

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> None:
        """Adds to the gradients of inputs, for those of the result and of outputs."""
        core, sig = self._function._core, self._function._core.signature
        core._require_backward()
        arguments = _Arguments(self._function, args, kwargs, _result)
        outputs = [(p, _result if p is sig.result else arguments.given.get(p.name)) for p in sig.outputs if p.diff]
        cotangents = [_gradient(value, "grad_in") for _, value in outputs]
        if outputs and all(c is None for c in cotangents):
            known = ", ".join("_result" if p is sig.result else p.name for p, _ in outputs)
            raise ValueError(f"{sig.name}.bwds reads the gradient of {known}: give a tensor with one, as in _result=y.with_grads()")
        names = [p.name for p in sig.inputs if p.diff]
        if not names:
            # Gradients go to tensors in arguments, by derivatives that the program has for their elements.
            core._vjp(*[arguments.inputs[name] for name in sig.names], *[0.0 if c is None else c for c in cotangents])
            return
        cotangents = cotangents[0] if len(cotangents) == 1 else cotangents
        found = core.vjp(**arguments.inputs, cotangents=cotangents, wrt=names)
        for name, gradient in zip(names, found):
            _accumulate(arguments.given[name], gradient, arguments.shapes.get(name))


class _Arguments:
    """The arguments of a call: as they were given, and as inputs of the function over points."""

    def __init__(self, function: Function, args, kwargs, result):
        core, sig = function._core, function._core.signature
        self._name, names = sig.name, [p.name for p in sig.params]
        if len(args) > len(names):
            raise TypeError(f"{sig.name} takes {len(names)} arguments ({', '.join(names)}), but {len(args)} were given")
        self.given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{sig.name} has no parameter `{name}`: it takes {', '.join(names)}")
            if name in self.given:
                raise TypeError(f"{sig.name} was given `{name}` twice")
            self.given[name] = value
        missing = [p.name for p in sig.params if p.name not in self.given and p.dir != "out"]
        if missing:
            raise TypeError(f"{sig.name} lacks {', '.join(missing)}: it takes {', '.join(names)}")
        self.inputs: dict[str, Any] = {}
        #: The shapes of inputs that were changed by `map`.
        self.shapes: dict[str, tuple] = {}
        slots = {slot.param.name: slot for slot in core._points.inputs}
        maps = dict(zip(names, function._maps[0])) | function._maps[1]
        generators, shapes = {}, [_shape_of(result, sig.result, core)] if result is not None else []
        mapped = {}
        for p in sig.params:
            if p.dir == "out":
                shapes.append(_leading(self.given.get(p.name), _output(core, p.name)))
                continue
            value = self.given[p.name]
            if isinstance(value, Generator):
                generators[p.name] = value
                continue
            if p.name not in slots:
                self.inputs[p.name] = value
                continue
            self.inputs[p.name] = value = _plain(value)
            self._check_elements(self.given[p.name], slots[p.name])
            if maps.get(p.name) is not None:
                mapped[p.name] = tuple(maps[p.name])
            else:
                shapes.append(_leading(value, slots[p.name]))
        ranks = [len(shape) for shape in shapes if shape is not None] + [len(g.shape()) for g in generators.values()]
        rank = max([*ranks, *(max(dims, default=-1) + 1 for dims in mapped.values())], default=0)
        for name, dims in mapped.items():
            self.shapes[name] = dims
            self.inputs[name] = moved = _map(self.inputs[name], slots[name], dims, rank, f"`{name}` of {sig.name}")
            shapes.append(_leading(moved, slots[name]))
        #: The shape of the call.
        self.shape = self._whole(shapes, generators)
        for name, generator in generators.items():
            if name not in slots:
                raise TypeError(f"`{name}` of {sig.name} cannot be generated")
            leaf = slots[name].leaves[0]
            if len(slots[name].leaves) != 1 or leaf.path or len(leaf.shape) > 1:
                raise TypeError(f"`{name}` of {sig.name} is of type {slots[name].param.type}, which cannot be generated")
            count, is_vector = (leaf.shape[0] if leaf.shape else None), slots[name].node[0] == "vector"
            found = generator.values(self.shape, count, is_vector, f"`{name}` of {sig.name}")
            self.inputs[name] = found.astype(leaf.dtype) if found.dtype.kind in "iu" and leaf.dtype.kind in "iu" else found

    def _whole(self, shapes, generators) -> tuple[int, ...]:
        try:
            whole = np.broadcast_shapes(*[s for s in shapes if s is not None])
            for generator in generators.values():
                own = generator.shape()
                whole = np.broadcast_shapes(whole, tuple(1 if n == -1 else n for n in own))
        except ValueError as error:
            raise ValueError(f"Shape mismatch: the arguments of {self._name} do not fit together: {error}") from None
        return whole

    def _check_elements(self, value, slot) -> None:
        if isinstance(value, Tensor) and slot.is_plain and value.element_shape:
            own = slot.leaves[0].shape
            if own[: len(value.element_shape)] != value.element_shape and own[-len(value.element_shape):] != value.element_shape:
                raise TypeError(f"`{slot.param.name}` of {self._name} is of type {slot.param.type}, but was given elements of type {value.dtype}")


def _plain(value):
    """An argument as the rest of the package takes it: structures are dictionaries, tensors are arrays."""
    if isinstance(value, Tensor):
        return value.storage
    if isinstance(value, DiffPair):
        return _plain(value.primal)
    if isinstance(value, ValueRef):
        return value.value
    if isinstance(value, range):
        return np.arange(value.start, value.stop, value.step)
    if hasattr(value, "get_this"):
        return _plain(value.get_this())
    if isinstance(value, dict):
        found = {name: _plain(part) for name, part in value.items() if name != "_type"}
        if found and list(found) == list("xyzw")[: len(found)] and not any(isinstance(part, dict) for part in found.values()):
            return _vector_of(list(found.values()))
        return found
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def _vector_of(parts: list):
    if any(hasattr(part, "data_ptr") for part in parts):
        import torch

        like = next(part for part in parts if hasattr(part, "data_ptr"))
        whole = torch.broadcast_tensors(*[torch.as_tensor(part, dtype=like.dtype, device=like.device) for part in parts])
        return torch.stack(whole, -1)
    return np.stack(np.broadcast_arrays(*parts), -1)


def _leading(value, slot) -> tuple[int, ...] | None:
    """The shape of the points of an argument."""
    if value is None or slot is None:
        return None
    if isinstance(value, (Tensor, DiffPair, ValueRef)) or hasattr(value, "get_this"):
        value = _plain(value)
    try:
        parts = slot.flatten(value)
    except (TypeError, ValueError):
        # The call says what is wrong.
        return None
    shapes = []
    for leaf, part in zip(slot.leaves, parts):
        shape = tuple(getattr(part, "shape", ())) if is_array(part) else np.shape(part) if not _holds(part) else None
        if shape is not None:
            shapes.append(shape[: len(shape) - len(leaf.shape)])
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _holds(part) -> bool:
    return isinstance(part, (list, tuple)) and any(hasattr(own, "data_ptr") or _holds(own) for own in part)


def _output(core: Core, name: str):
    return next((slot for slot in core._points.outputs if slot.param.name == name), None)


def _shape_of(result, param, core: Core):
    """The shape that a container for the result has."""
    if param is None or isinstance(result, (str, type)):
        return None
    return _leading(result, _output(core, param.name))


def _map(value, slot, dims: tuple[int, ...], rank: int, where: str):
    """An argument with its leading dimensions where a map says."""
    if not slot.is_plain:
        raise TypeError(f"{where} is a structure, whose dimensions map cannot name")
    array: Any = value if is_array(value) else np.asarray(value)
    own = len(slot.leaves[0].shape)
    lead = len(array.shape) - own
    if lead != len(dims):
        raise ValueError(f"{where} has {lead} dimensions to map, but map has {len(dims)}")
    if len(set(dims)) != len(dims):
        raise ValueError(f"the map of {where} names a dimension twice: {dims}")
    order = sorted(range(lead), key=lambda i: dims[i])
    axes = (*order, *range(lead, lead + own))
    array = array.permute(*axes) if hasattr(array, "permute") else array.transpose(axes)
    shape = [1] * rank
    for i in order:
        shape[dims[i]] = value.shape[i] if is_array(value) else np.shape(value)[i]
    return array.reshape(*shape, *slot.leaves[0].shape)


def _assign(container, value, where: str) -> None:
    """Writes a value of a function where the argument was."""
    if isinstance(container, ValueRef):
        container.value = _number(value)
    elif isinstance(container, Tensor):
        write(container.storage, value, where)
    elif isinstance(container, DiffPair):
        _assign(container.primal, value, where)
    elif hasattr(container, "get_this"):
        _assign(container.get_this(), value, where)
    elif isinstance(container, dict):
        for name, part in container.items():
            _assign(part, value[name], f"{where}.{name}")
    else:
        write(container, value, where)


def _require_container(container, where: str) -> None:
    """Fails if an argument that is written is no place for values."""
    if isinstance(container, dict):
        for name, part in container.items():
            _require_container(part, f"{where}.{name}")
    elif hasattr(container, "get_this"):
        _require_container(container.get_this(), where)
    elif not isinstance(container, (Tensor, DiffPair, ValueRef)) and (isinstance(container, np.generic) or not is_array(container)):
        given = "" if container is None else f", not {type(container).__name__}"
        raise TypeError(f"{where} is written: give a tensor, an array, or floatRef(){given}")


def _number(value):
    return value.item() if is_array(value) and not np.shape(value) else value


def _gradient(value, direction: str):
    """The gradients in an argument, as the package takes them; none if there are none."""
    if isinstance(value, Tensor):
        found = getattr(value, direction)
        return None if found is None else found.storage
    if isinstance(value, DiffPair):
        return _plain(value.grad)
    if hasattr(value, "get_this"):
        value = value.get_this()
    if isinstance(value, dict):
        found = {name: _gradient(part, direction) for name, part in value.items()}
        if all(part is None for part in found.values()):
            return None
        return {name: np.zeros(()) if part is None else part for name, part in found.items()}
    return None


def _accumulate(container, gradient, dims) -> None:
    """Adds a gradient to that of an argument, if it has one."""
    if isinstance(container, Tensor):
        if container.grad_out is not None:
            _add(container.grad_out.storage, _unmapped(gradient, container.storage, dims))
    elif isinstance(container, DiffPair):
        if is_array(container.grad) and not isinstance(container.grad, np.generic):
            _add(container.grad, _unmapped(gradient, container.grad, dims))
        elif isinstance(container.grad, Tensor):
            _add(container.grad.storage, gradient)
        else:
            container.grad = _number(container.grad + gradient)
    elif hasattr(container, "get_this"):
        _accumulate(container.get_this(), gradient, dims)
    elif isinstance(container, dict) and isinstance(gradient, dict):
        for name, part in gradient.items():
            if name in container:
                _accumulate(container[name], part, dims)


def _unmapped(gradient, like, dims):
    """A gradient of a mapped argument in the shape of the argument."""
    if dims is None:
        return gradient
    lead, order = len(dims), sorted(range(len(dims)), key=lambda i: dims[i])
    own = tuple(like.shape[lead:])
    gradient = gradient.reshape(tuple(like.shape[i] for i in order) + own)
    back = [order.index(i) for i in range(lead)] + [lead + i for i in range(len(own))]
    return gradient.permute(*back) if hasattr(gradient, "permute") else gradient.transpose(back)


def _add(storage, gradient) -> None:
    if isinstance(storage, np.ndarray):
        storage += gradient if not hasattr(gradient, "detach") else gradient.detach().cpu().numpy()
        return
    import torch

    with torch.no_grad():
        storage += gradient if isinstance(gradient, torch.Tensor) else torch.as_tensor(gradient, device=storage.device)


__all__ = ["Function"]
