"""Functions over arrays, and their derivatives."""

from __future__ import annotations

import itertools
import math
import sys
import weakref
from functools import cached_property
from typing import Any

from . import _wrappers
from ._entry import is_cuda
from ._points import Around, Points, library, stack, tree
from ._reports import Check, Report
from ._wrappers import Signature

_handles = itertools.count()
#: Functions by their handles, which operations of torch's compiled graphs take.
FUNCTIONS: weakref.WeakValueDictionary[int, Function] = weakref.WeakValueDictionary()
#: The most numbers of gradients, of what all points share, that are there at once.
MOST_SHARED = 2**22
_LISTS = (list, tuple)


class Function:
    """A function of a program, called over numbers, arrays or tensors.

    Arguments may have leading dimensions that the function's types do not have: they are broadcast against each other, and the
    function is called at every point.

    >>> import cotangent
    >>> m = cotangent.load(source="[Differentiable] float area(float2 a) { return a.x * a.y; }")
    >>> m.area([[1, 2], [3, 4]])
    array([ 2., 12.], dtype=float32)
    """

    def __init__(self, program, signature: Signature, differentiable: bool, backward: bool, origin=None, bound=None):
        self.program, self.signature = program, signature
        #: Whether it has a forward derivative, and whether it has a backward one.
        self.differentiable, self.backward = differentiable, backward
        #: The function that this is a derivative of, and how its text is made.
        self._origin = origin
        self._bound: dict = bound or {}
        self.handle = next(_handles)
        self._is_ready = False
        self.__name__ = signature.name
        params = ", ".join(f"{p.name}: {p.type}" for p in signature.params if p.dir != "out")
        gives = ", ".join(p.type for p in signature.outputs) or "nothing"
        self.__doc__ = f"{signature.name}({params}) -> {gives}"
        FUNCTIONS[self.handle] = self

    def __repr__(self) -> str:
        return f"<function {self.__doc__}>"

    def __deepcopy__(self, _memo) -> Function:
        """Nothing in it changes: copies of models share it."""
        return self

    # Compilation.

    @cached_property
    def _points(self) -> Points:
        return Points(self.program, self.signature, self._text(False), False)

    @cached_property
    def _points_on_cuda(self) -> Points:
        return Points(self.program, self.signature, self._text(False), True)

    def _text(self, differentiable: bool) -> str:
        """The text of this function, if it is a derivative; on request so that it can be differentiated again."""
        if self._origin is None:
            return ""
        origin, how = self._origin
        return origin._text(True) + how(origin.signature, differentiable)[1]

    def _derivative(self, how) -> Function:
        return Function(self.program, how(self.signature, False)[0], True, self.backward, (self, how), self._bound)

    @cached_property
    def _vjp(self) -> Function:
        self._require_backward()
        return self._derivative(_wrappers.vjp)

    @cached_property
    def _jvp(self) -> Function:
        if not self.differentiable:
            raise TypeError(f"`{self.signature.name}` is not differentiable: mark it [Differentiable] in the program")
        return self._derivative(_wrappers.jvp)

    def _require_backward(self) -> None:
        if not self.backward:
            raise TypeError(f"`{self.signature.name}` has no backward derivative: mark it [Differentiable] in the program")

    def bind(self, **values: Any) -> Function:
        """The same function, with values for the buffers and uniforms of the program that it uses.

        >>> import cotangent
        >>> m = cotangent.load(source="uniform float gain; float scaled(float x) { return gain * x; }")
        >>> m.scaled.bind(gain=3)(2)
        np.float32(6.0)
        """
        known = {param.name: param for param in self._points.entry.globals}
        for name in values:
            if name not in known:
                have = ", ".join(known) or "none"
                raise TypeError(f"the program of {self.signature.name} has no buffer or uniform `{name}`; it has {have}")
        bound = {**self._bound, **values}
        same = Function(self.program, self.signature, self.differentiable, self.backward, self._origin, bound)
        for name in ("_points", "_points_on_cuda"):
            if name in self.__dict__:
                same.__dict__[name] = self.__dict__[name]
        return same

    # Calls.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function at all points. Gives its result, and then what it writes to `out` and `inout` parameters."""
        if not self._is_ready:
            _make_ready(self.handle)
        leaves, lib, around = self._arguments(args, kwargs)
        found = lib.call(self, leaves, around)
        if self._points.is_plain and len(found) == 1:
            return lib.finish(found[0])
        return _one(self._outputs(found, lib))

    def _apply(self, leaves, lib, around: Around) -> list:
        """The leaves of the outputs, with gradients where the library has them."""
        return lib.call(self, leaves, around)

    def _run(self, leaves, lib, around: Around) -> list:
        """The leaves of the outputs."""
        points = self._points_on_cuda if around.device != "cpu" and is_cuda(around.device) else self._points
        return points.run(leaves, lib, around)

    def _outputs(self, arrays, lib) -> list:
        arrays = iter(arrays)
        return [slot.unflatten([next(arrays) for _ in slot.leaves], lib.finish) for slot in self._points.outputs]

    def _arguments(self, args, kwargs):
        """The leaves of all arguments, the library that they are arrays of, and what else the call runs with."""
        points, sig, beside = self._points, self.signature, self._bound
        if points.is_plain and not kwargs and len(args) == len(points.inputs):
            flat = args
        else:
            given = self._by_name(args, kwargs)
            try:
                flat = [value for slot in points.inputs for value in slot.flatten(given[slot.param.name])]
            except (TypeError, ValueError) as error:
                raise type(error)(f"{sig.name}: {error}") from None
            if points.resources:
                beside = {**beside, **{p.name: given[p.name] for p in sig.resources}}
        lib, device = library([*flat, *beside.values()] if beside else flat)
        leaves = []
        for leaf, where, value in zip(points.leaves_in, points.labels_in, flat):
            if type(value) in _LISTS:
                value = stack(value, where)
            array = lib.asarray(value, leaf.scalar, where, device)
            own = len(leaf.shape)
            if own and tuple(array.shape[-own:]) != leaf.shape:
                raise ValueError(
                    f"{where} takes arrays whose last dimensions are {leaf.shape}, "
                    f"but was given shape {tuple(array.shape)}"
                )
            leaves.append(array)
        if not beside:
            return leaves, lib, Around(device)
        lib.refuse_gradients(sig.name, beside)
        return leaves, lib, Around(device, beside)

    def _by_name(self, args, kwargs) -> dict:
        sig = self.signature
        names = sig.names
        if len(args) > len(names):
            raise TypeError(f"{sig.name} takes {len(names)} arguments ({', '.join(names)}), but {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{sig.name} has no parameter `{name}`: it takes {', '.join(names)}")
            if name in given:
                raise TypeError(f"{sig.name} was given `{name}` twice")
            given[name] = value
        if len(given) != len(names):
            missing = [name for name in names if name not in given]
            raise TypeError(f"{sig.name} lacks {', '.join(missing)}: it takes {', '.join(names)}")
        return given

    def _around(self, leaves) -> Around:
        """What a call of nothing but leaves runs with."""
        return Around(leaves[0].device if leaves else "cpu", self._bound)

    def _fake(self, leaves, lib) -> list:
        """Outputs of the right shapes, for compilers of graphs."""
        batch, _ = self._points.batch(leaves, lib)
        device = self._around(leaves).device
        return [lib.empty((*batch, *leaf.shape), leaf.scalar, device) for leaf in self._points.leaves_out]

    # Reverse mode.

    @cached_property
    def _diff_outputs(self) -> list[bool]:
        """Which leaves of outputs carry derivatives."""
        if self.backward:
            own = [(slot, slot.param.name) for slot in self._seeds]
            names = [self.signature.cotangent(p.name) for p in self.signature.outputs]
        elif self.differentiable:
            own = [(slot, slot.param.name) for slot in self._jvp._points.outputs[len(self.signature.outputs):]]
            names = [self.signature.moved(p.name) for p in self.signature.outputs]
        else:
            return [False] * len(self._points.leaves_out)
        carried = {(name, leaf.path) for slot, name in own for leaf in slot.leaves}
        return [(name, leaf.path) in carried for name, slot in zip(names, self._points.outputs) for leaf in slot.leaves]

    @cached_property
    def _seeds(self) -> list:
        """The inputs of the vjp that are cotangents."""
        inputs = self._vjp._points.inputs
        return inputs[len(inputs) - sum(p.diff for p in self.signature.outputs):]

    def _vjp_leaves(self, leaves, cotangents, lib, around: Around, needs) -> list:
        """The gradients of the leaves of inputs; none for those that carry no derivative or need none."""
        derived = self._vjp
        found = self._in_parts(leaves, cotangents, lib, around) or derived._apply([*leaves, *cotangents], lib, around)
        return [
            lib.sum_to(found[place], lib.shape(array)) if need and place is not None else None
            for place, array, need in zip(self._gradient_places, leaves, needs)
        ]

    @cached_property
    def _gradient_places(self) -> list[int | None]:
        """Which output of the vjp is the gradient of each leaf of the inputs."""
        places = {(slot.param.name, leaf.path): i for i, (slot, leaf) in enumerate(_named(self._vjp._points.outputs))}
        named = _named(self._points.inputs)
        found = [places.pop((self.signature.gradient(slot.param.name), leaf.path), None) for slot, leaf in named]
        if places:
            names = ", ".join(".".join((name.split("_", 2)[2], *path)) for name, path in places)
            raise TypeError(
                f"the gradients `{names}` of {self.signature.name} belong to no field of its parameters: let the differential "
                "type have the names of the type"
            )
        return found

    @cached_property
    def _most_gradients(self) -> int:
        """How many numbers the gradients of all inputs have at one point."""
        return sum(math.prod(leaf.shape) for leaf in self._vjp._points.leaves_out)

    def _in_parts(self, leaves, cotangents, lib, around: Around) -> list | None:
        """What the vjp gives, if so many points share inputs that their gradients must not all be there at once.

        Points are taken in parts, and what all of them share has the sum. A vjp that is derived again is not taken apart.
        """
        batch, shapes = self._points.batch(leaves, lib)
        count = math.prod(batch)
        if count * self._most_gradients <= MOST_SHARED:
            return None
        own = {
            (self.signature.gradient(slot.param.name), leaf.path): math.prod(shape) == 1
            for (slot, leaf), shape in zip(_named(self._points.inputs), shapes)
        }
        derived = self._vjp
        places = _named(derived._points.outputs)
        is_shared = [own.get((slot.param.name, leaf.path), False) for slot, leaf in places]
        size = sum(math.prod(leaf.shape) for (_, leaf), shared in zip(places, is_shared) if shared)
        if count * size <= MOST_SHARED or count == 1 or lib.wants_graph([*leaves, *cotangents]):
            return None
        flat = []
        for leaf, array in zip(derived._points.leaves_in, [*leaves, *cotangents]):
            shape = lib.shape(array)
            whole = math.prod(shape[: len(shape) - len(leaf.shape)]) == 1
            array = array if whole else lib.contiguous(array, (*batch, *leaf.shape))
            flat.append((whole, lib.reshape(array, (1 if whole else count, *leaf.shape))))
        parts: list[list] = [[] for _ in places]
        step = max(1, MOST_SHARED // size)
        for start in range(0, count, step):
            part = [array if whole else array[start: start + step] for whole, array in flat]
            for found, shared, gradient in zip(parts, is_shared, derived._run(part, lib, around)):
                found[:] = [sum([*found, gradient.sum(0)])] if shared else [*found, gradient]
        ones = (1,) * len(batch)
        return [
            lib.reshape(found[0], (*ones, *leaf.shape)) if shared else lib.reshape(lib.concatenate(found), (*batch, *leaf.shape))
            for (_, leaf), found, shared in zip(places, parts, is_shared)
        ]

    def _cotangents(self, given, leaves, lib, around: Around) -> list:
        """The leaves of cotangents that a user gives, or ones for the only number that there is."""
        slots, name = self._seeds, self.signature.name
        if given is None:
            if len(slots) != 1 or len(slots[0].leaves) != 1 or slots[0].leaves[0].shape:
                raise ValueError(
                    f"`{name}` gives more than one number with a derivative: give cotangents, or ask for its Jacobian"
                )
            batch, _ = self._points.batch(leaves, lib)
            return [lib.zeros(batch, slots[0].leaves[0].scalar, around.device) + 1]
        given = [given] if len(slots) == 1 else list(given)
        if len(given) != len(slots):
            raise ValueError(f"`{name}` has {len(slots)} outputs with cotangents, but {len(given)} were given")
        outputs = (p for p in self.signature.outputs if p.diff)
        named = zip(slots, given, ("the result" if p is self.signature.result else f"`{p.name}`" for p in outputs))
        return [x for slot, value, of in named for x in self._like(slot, value, f"the cotangent of {of}", lib, around)]

    @staticmethod
    def _like(slot, value, where: str, lib, around: Around) -> list:
        """The leaves of a derivative; zeros for `None`."""
        if value is None:
            return [lib.zeros(leaf.shape, leaf.scalar, around.device) for leaf in slot.leaves]
        found = []
        for leaf, part in zip(slot.leaves, slot.flatten(value)):
            array = lib.asarray(stack(part, where), leaf.scalar, where, around.device)
            own = len(leaf.shape)
            if own and tuple(array.shape[-own:]) != leaf.shape:
                raise ValueError(f"{where} has last dimensions {leaf.shape}, but was given shape {tuple(array.shape)}")
            found.append(array)
        return found

    def _chosen(self, wrt) -> tuple[list[str], bool]:
        """The inputs by which to differentiate, and whether the answer is for the only one."""
        carrying = [p.name for p in self.signature.inputs if p.diff]
        if wrt is None:
            return carrying, len(carrying) == 1
        names = [wrt] if isinstance(wrt, str) else list(wrt)
        self._require_carrying(names)
        return names, isinstance(wrt, str)

    def _require_carrying(self, names) -> None:
        """Fails if one of these is no input that carries a derivative."""
        carrying = [p.name for p in self.signature.inputs if p.diff]
        for name in names:
            if name not in carrying:
                lost = next((p.lost[0][1] for p in self.signature.inputs if p.name == name and p.lost), None)
                why = f": {_not_differentiable(lost)}" if lost else f"; {', '.join(carrying) or 'nothing'} does"
                raise ValueError(f"`{name}` of {self.signature.name} carries no derivative{why}")

    def vjp(self, *args: Any, cotangents: Any = None, wrt=None, **kwargs: Any) -> Any:
        """Gradients of the inputs for cotangents of the outputs, by one call of `bwd_diff`.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float2 f(float x) { return float2(x, x * x); }")
        >>> m.f.vjp(3.0, cotangents=[1.0, 10.0])
        np.float32(61.0)
        """
        self._require_backward()
        leaves, lib, around = self._arguments(args, kwargs)
        return self._gradients(leaves, self._cotangents(cotangents, leaves, lib, around), lib, around, wrt)

    def _gradients(self, leaves, cotangents, lib, around: Around, wrt):
        """Gradients as a user gets them: of structures, dictionaries of the fields that have one."""
        (names, single), by_name = self._chosen(wrt), {}
        found = iter(self._vjp_leaves(leaves, cotangents, lib, around, [True] * len(leaves)))
        for slot in self._points.inputs:
            own = [(leaf, next(found)) for leaf in slot.leaves]
            kept = [(leaf, gradient) for leaf, gradient in own if gradient is not None]
            by_name[slot.param.name] = tree(kept, lib.finish)
        return by_name[names[0]] if single else tuple(by_name[name] for name in names)

    def grad(self, *args: Any, wrt=None, **kwargs: Any) -> Any:
        """The gradient of a function that gives one number: an array like each input that carries a derivative.

        `wrt` names an input or several. What is repeated over points has the sum of their gradients.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float a, float x) { return a * x * x; }")
        >>> m.f.grad(2.0, 3.0)
        (np.float32(9.0), np.float32(12.0))
        >>> m.f.grad(2.0, [1.0, 3.0], wrt="a")
        np.float32(10.0)
        """
        return self.vjp(*args, wrt=wrt, **kwargs)

    def value_and_grad(self, *args: Any, wrt=None, **kwargs: Any) -> Any:
        """What the function gives, and its gradient.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float x) { return x * x; }")
        >>> m.f.value_and_grad(3.0)
        (np.float32(9.0), np.float32(6.0))
        """
        self._require_backward()
        leaves, lib, around = self._arguments(args, kwargs)
        cotangents = self._cotangents(None, leaves, lib, around)
        value = _one(self._outputs(self._apply(leaves, lib, around), lib))
        return value, self._gradients(leaves, cotangents, lib, around, wrt)

    # Forward mode.

    def jvp(self, *args: Any, tangents: Any, **kwargs: Any) -> Any:
        """What the function gives, and the derivatives of that along tangents of the inputs, by one call of `fwd_diff`.

        Tangents are given in the order of the inputs that carry derivatives, or by their names; those left out are zero.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float a, float x) { return a * x * x; }")
        >>> m.f.jvp(2.0, 3.0, tangents={"x": 1.0})
        (np.float32(18.0), np.float32(12.0))
        """
        derived = self._jvp
        leaves, lib, around = self._arguments(args, kwargs)
        names = [p.name for p in self.signature.inputs if p.diff]
        slots = derived._points.inputs[len(derived._points.inputs) - len(names):]
        if isinstance(tangents, dict) and set(tangents) <= set(self.signature.names):
            self._require_carrying(tangents)
            tangents = [tangents.get(name) for name in names]
        elif len(slots) == 1 and not (isinstance(tangents, tuple) and len(tangents) == 1):
            tangents = [tangents]
        if not isinstance(tangents, (list, tuple)) or len(tangents) != len(slots):
            given = f"{len(tangents)} were given" if isinstance(tangents, (list, tuple)) else f"was given {tangents!r}"
            raise ValueError(
                f"`{self.signature.name}` takes {len(slots)} tangents, of {', '.join(names)}, by these names or in a list, but {given}"
            )
        named = zip(slots, tangents, names)
        flat = [x for slot, value, of in named for x in self._like(slot, value, f"the tangent of {of}", lib, around)]
        found = derived._outputs(derived._apply([*leaves, *flat], lib, around), lib)
        values = len(self.signature.outputs)
        return _one(found[:values]), _one(found[values:])

    def _jvp_leaves(self, leaves, tangents, lib, around: Around) -> list:
        """The tangents of the leaves of outputs, for tangents of the leaves of inputs; none for what carries none."""
        derived, given = self._jvp, {}
        for (slot, leaf), tangent in zip(_named(self._points.inputs), tangents):
            given[slot.param.name, leaf.path] = tangent
        names, flat = [p.name for p in self.signature.inputs if p.diff], []
        for slot, name in zip(derived._points.inputs[len(derived._points.inputs) - len(names):], names):
            for leaf in slot.leaves:
                own = given.get((name, leaf.path))
                flat.append(lib.zeros(leaf.shape, leaf.scalar, around.device) if own is None else own)
        found = derived._apply([*leaves, *flat], lib, around)
        moved = iter(found[len(self._points.leaves_out):])
        return [next(moved) if diff else None for diff in self._diff_outputs]

    # All derivatives.

    def jacobian(self, *args: Any, wrt=None, **kwargs: Any) -> Any:
        """All derivatives at every point: arrays of shape `points + output + input`.

        Of several inputs or outputs it gives tuples: of each output, of each input.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float2 f(float2 x) { return float2(x.x * x.y, x.x); }")
        >>> m.f.jacobian([3.0, 4.0])
        array([[4., 3.],
               [1., 0.]], dtype=float32)
        """
        self._require_backward()
        leaves, lib, around = self._arguments(args, kwargs)
        names, single = self._chosen(wrt)
        rows = [row[0] if single else tuple(row) for row in self._rows(leaves, lib, around, names)]
        return rows[0] if len(rows) == 1 else tuple(rows)

    def _rows(self, leaves, lib, around: Around, names, outputs=None) -> list[list]:
        """The Jacobians of outputs by inputs: a row of vjps for each number of an output."""
        batch, _ = self._points.batch(leaves, lib)
        derived, slots = self._vjp, self._seeds
        for slot in [*slots, *(s for s in self._points.inputs if s.param.name in names)]:
            if not slot.is_plain:
                raise TypeError(f"`{slot.param.name}` of {self.signature.name} is a structure: take Jacobians by vjp or jvp")
        points = [1] * len(batch)
        full = [lib.contiguous(array, (*batch, *leaf.shape)) for leaf, array in zip(self._points.leaves_in, leaves)]
        found = []
        for i, slot in enumerate(slots):
            if outputs is not None and slot.param.name not in outputs:
                continue
            leaf = slot.leaves[0]
            count = math.prod(leaf.shape)
            ones = lib.reshape(lib.eye(count, leaf.scalar, around.device), (count, *points, *leaf.shape))
            cotangents = [
                ones if j == i else lib.zeros((1, *points, *s.leaves[0].shape), s.leaves[0].scalar, around.device)
                for j, s in enumerate(slots)
            ]
            gradients, row = derived._apply([*full, *cotangents], lib, around), {}
            for (out, own), gradient in zip(_named(derived._points.outputs), gradients):
                if not own.path:
                    shape = (*batch, *leaf.shape, *own.shape)
                    row[out.param.name] = lib.finish(lib.reshape(lib.moveaxis(gradient, 0, len(batch)), shape))
            found.append([row[self.signature.gradient(name)] for name in names])
        return found

    def hessian(self, *args: Any, wrt=None, **kwargs: Any) -> Any:
        """All second derivatives of a function that gives one number: arrays of shape `points + input + input`.

        Of several inputs it gives tuples of tuples.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float2 x) { return x.x * x.x * x.y; }")
        >>> m.f.hessian([3.0, 4.0])
        array([[8., 6.],
               [6., 0.]], dtype=float32)
        """
        self._require_backward()
        leaves, lib, around = self._arguments(args, kwargs)
        ones, (names, single) = self._cotangents(None, leaves, lib, around), self._chosen(wrt)
        vjp, gradient = self._vjp, self.signature.gradient
        seeds = [vjp.signature.cotangent(gradient(name)) for name in names]
        rows = [vjp._rows([*leaves, *ones], lib, around, names, outputs=[seed])[0] for seed in seeds]
        return rows[0][0] if single else tuple(tuple(row) for row in rows)

    # What the compiler says.

    def check(self, *, samples: int = 20, seed: int = 1, **at: Any) -> Check:
        """Compares both derivatives with finite differences in double precision, at random points.

        Inputs that are given are the same at every point; parts of structures are named as in `check(**{"s.p": [1, 2]})`.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float x) { return x * x; }")
        >>> bool(m.f.check())
        True
        """
        given = ", ".join(f"{name}={_literal(name, value)}" for name, value in at.items())
        return Check(self.signature.name, *self.program.gradcheck(self.signature.name, given, samples, seed))

    def report(self) -> Report:
        """What the backward derivative stores and computes again.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float x) { return x * x; }")
        >>> m.f.report().bytes
        0
        """
        self._require_backward()
        return Report(self.signature.name, self.program.report(self.signature.name))

    def code(self, target: str) -> str:
        """The function over arrays and its gradient in another language: `cuda`, `cpp`, `wgsl`, `spirv`, `glsl`, `hlsl`, `metal`."""
        functions = [self, self._vjp] if self.backward else [self]
        text = _wrappers.DIFFERENTIAL + functions[-1]._text(False)
        text += "".join(_wrappers.entry(f.signature) for f in functions)
        return self.program.code(target, text, [_wrappers.entry_name(f.signature) for f in functions])

    def _refuse_gradients(self, leaves, is_wanted) -> None:
        """Fails if gradients are wanted that the program does not declare: they would be missing without a word."""
        if not any(leaf.is_float for leaf in self._points.leaves_out):
            return
        for name, leaf, array in zip(self._points.names_in, self._points.leaves_in, leaves):
            if leaf.is_float and is_wanted(array):
                what = "has no backward derivative" if self.differentiable else "is not differentiable"
                raise TypeError(
                    f"`{name}` requires a gradient, but `{self.signature.name}` {what}: mark it "
                    f"[Differentiable] in the program, or pass `.detach()` of the tensor"
                )

    @cached_property
    def _lost(self) -> list[tuple[int, str, str]]:
        """The leaves whose derivatives the program drops without saying so: their places, their names, and their structures."""
        named = zip(_named(self._points.inputs), self._points.names_in)
        found = [(i, name, slot.param.loses(leaf.path)) for i, ((slot, leaf), name) in enumerate(named) if leaf.is_float]
        return [(i, name, structure) for i, name, structure in found if structure]

    def _refuse_losses(self, leaves, is_wanted) -> None:
        """Fails if a gradient is wanted that a structure drops since it is not differentiable."""
        for place, name, structure in self._lost:
            if is_wanted(leaves[place]):
                raise TypeError(
                    f"`{name}` of {self.signature.name} requires a gradient, but {_not_differentiable(structure)}, or pass "
                    f"`.detach()` of the tensor"
                )


def _make_ready(handle: int) -> bool:
    """Compiles a function for its first call."""
    function = FUNCTIONS[handle]
    function._is_ready = function._points is not None
    if sys.modules.get("torch") is not None:
        # What a graph asks of a function.
        from . import _torch  # noqa: F401
    return True


# Compilers of graphs call it instead of looking into it.
setattr(_make_ready, "_dynamo_marked_constant", True)  # noqa: B010


def _not_differentiable(structure: str) -> str:
    return f"`{structure}` is not differentiable: declare `struct {structure} : IDifferentiable` in the program"


def _named(slots):
    return [(slot, leaf) for slot in slots for leaf in slot.leaves]


def _one(values):
    return values[0] if len(values) == 1 else tuple(values) if values else None


def _literal(name: str, value) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        raise TypeError(f"`{name}` is a structure: give its parts by name, as in check(**{{'{name}.p': [1, 2, 3]}})")
    return str(value)
