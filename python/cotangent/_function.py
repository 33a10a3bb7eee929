"""Functions over arrays, and their derivatives."""

from __future__ import annotations

import itertools
import math
import struct
from functools import cached_property

import numpy as np

from . import _numpy, _wrappers
from ._entry import Entry, Packer, is_cuda
from ._layout import leaves_of, is_dense
from ._reports import Check, Report
from ._wrappers import Param, Signature

_handles = itertools.count()


class _Slot:
    """An input or output of a function: its leaves, and where they lie."""

    def __init__(self, param: Param, node, stride: int):
        self.param, self.stride = param, stride
        self.leaves = leaves_of(node)
        self.dense = len(self.leaves) == 1 and is_dense(self.leaves[0], stride)

    def flatten(self, value) -> list:
        """The leaves of what a user gives."""
        if len(self.leaves) == 1 and not self.leaves[0].path:
            return [value]
        known = {leaf.path for leaf in self.leaves}
        found = [self._part(value, leaf.path) for leaf in self.leaves]
        if isinstance(value, dict):
            for name in value:
                if name not in {path[0] for path in known}:
                    raise TypeError(f"`{self.param.name}` has no field `{name}`")
        return found

    def _part(self, value, path):
        for name in path:
            if isinstance(value, dict):
                if name not in value:
                    raise TypeError(f"`{self.param.name}` is a structure, and lacks `{'.'.join(path)}`")
                value = value[name]
            elif hasattr(value, name):
                value = getattr(value, name)
            else:
                raise TypeError(
                    f"`{self.param.name}` is a structure: give a dictionary with `{name}`, not {type(value).__name__}"
                )
        return value

    def unflatten(self, arrays, finish):
        """What a user gets for leaves."""
        if len(self.leaves) == 1 and not self.leaves[0].path:
            return finish(arrays[0])
        tree: dict = {}
        for leaf, array in zip(self.leaves, arrays):
            place = tree
            for name in leaf.path[:-1]:
                place = place.setdefault(name, {})
            place[leaf.path[-1]] = finish(array)
        return tree


class _Points:
    """A function, compiled to be called at many points."""

    def __init__(self, function: "Function", cuda: bool):
        sig = function.signature
        text = _wrappers.DIFFERENTIAL + function.text + _wrappers.entry(sig)
        self.entry = Entry(function.program, _wrappers.entry_name(sig), text, None, cuda)
        own = {name: (offset, node) for name, _, offset, node in self.entry.own}
        self.inputs, self.outputs, places, formats = [], [], [], {}
        formats[own["ct_count"][0]] = "I"
        for i, param in enumerate(sig.inputs):
            offset, (_, node, stride, _) = own[f"ct_in{i}"]
            self.inputs.append(_Slot(param, node, stride))
            formats[offset], formats[own[f"ct_step{i}"][0]] = "QQ", "I"
        for i, param in enumerate(sig.outputs):
            offset, (_, node, stride, _) = own[f"ct_out{i}"]
            self.outputs.append(_Slot(param, node, stride))
            formats[offset] = "QQ"
        self.resources = [(p.name, *own[p.name]) for p in sig.resources]
        # Parameters lie in the order in which they are packed, so one format writes them all.
        text, at = "<", 0
        for offset in sorted(formats):
            text += f"{offset - at}x{formats[offset]}" if offset > at else formats[offset]
            at = offset + struct.calcsize("<" + formats[offset])
        places = [own["ct_count"][0], *itertools.chain.from_iterable(
            [own[f"ct_in{i}"][0], own[f"ct_step{i}"][0]] for i in range(len(self.inputs))
        ), *[own[f"ct_out{i}"][0] for i in range(len(self.outputs))]]
        self.ordered = places == sorted(places) and not self.resources
        self.format, self.places = struct.Struct(text), places
        self.leaves_in = [leaf for slot in self.inputs for leaf in slot.leaves]
        self.leaves_out = [leaf for slot in self.outputs for leaf in slot.leaves]


class Function:
    """A function of a program, called over numbers, arrays or tensors.

    Arguments may have leading dimensions that the function's types do not have: they are broadcast against each other, and the
    function is called at every point.
    """

    def __init__(self, program, signature: Signature, differentiable: bool, backward: bool, text: str = "", bound=None):
        self.program, self.signature, self.text = program, signature, text
        self.differentiable, self.backward = differentiable, backward
        self._bound = bound or {}
        self.handle = next(_handles)
        self.__name__ = signature.name
        params = ", ".join(
            f"{p.name}: {p.type}" for p in signature.params if p.dir != "out"
        )
        gives = ", ".join(p.type for p in signature.outputs) or "nothing"
        self.__doc__ = f"{signature.name}({params}) -> {gives}"

    def __repr__(self) -> str:
        return f"<function {self.__doc__}>"

    @cached_property
    def _points(self) -> _Points:
        return _Points(self, False)

    @cached_property
    def _points_on_cuda(self) -> _Points:
        return _Points(self, True)

    @cached_property
    def _vjp(self) -> "Function":
        self._require_backward()
        text = self._own_text(True)
        sig, own = _wrappers.vjp(self.signature, False)
        return Function(self.program, sig, True, True, text + own, self._bound)._derived_from(self, _wrappers.vjp)

    @cached_property
    def _jvp(self) -> "Function":
        if not self.differentiable:
            raise TypeError(f"`{self.signature.name}` is not differentiable: mark it [Differentiable]")
        text = self._own_text(True)
        sig, own = _wrappers.jvp(self.signature, False)
        return Function(self.program, sig, True, True, text + own, self._bound)._derived_from(self, _wrappers.jvp)

    _origin = None

    def _derived_from(self, origin: "Function", how) -> "Function":
        self._origin = (origin, how)
        return self

    def _own_text(self, differentiable: bool) -> str:
        """The text of this function, if it is a derivative, so that it can be differentiated."""
        if self._origin is None:
            return ""
        origin, how = self._origin
        return origin._own_text(True) + how(origin.signature, differentiable)[1]

    def _require_backward(self):
        if not self.backward:
            raise TypeError(
                f"`{self.signature.name}` has no backward derivative: mark it [Differentiable] in the program"
            )

    def bind(self, **values) -> "Function":
        """The same function, with values for the buffers and uniforms of the program that it uses."""
        bound = {**self._bound, **values}
        same = Function(self.program, self.signature, self.differentiable, self.backward, self.text, bound)
        same._origin = self._origin
        return same

    def __call__(self, *args, **kwargs):
        """Calls the function at all points. Gives its result, and then what it writes to `out` and `inout` parameters."""
        leaves, lib, resources = self._arguments(args, kwargs)
        function = self if not resources else self._with(resources)
        outputs = function._apply(leaves, lib)
        return _one(function._outputs(outputs, lib))

    def _with(self, resources) -> "Function":
        same = self.bind()
        for name in ("_points", "_points_on_cuda", "_vjp", "_jvp"):
            if name in self.__dict__:
                same.__dict__[name] = self.__dict__[name]
        same._given = resources
        return same

    _given: dict = {}

    def _apply(self, leaves, lib):
        return self._run(leaves, lib) if lib is _numpy else lib.call(self, leaves)

    def _outputs(self, arrays, lib) -> list:
        arrays, found = iter(arrays), []
        for slot in self._points.outputs:
            found.append(slot.unflatten([next(arrays) for _ in slot.leaves], lib.finish))
        return found

    def _arguments(self, args, kwargs):
        """The leaves of all arguments, and the library that they are arrays of."""
        sig = self.signature
        names = [p.name for p in sig.params if p.dir != "out"]
        if len(args) > len(names):
            raise TypeError(f"{sig.name} takes {len(names)} arguments ({', '.join(names)}), but {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{sig.name} has no parameter `{name}`: it takes {', '.join(names)}")
            if name in given:
                raise TypeError(f"{sig.name} was given `{name}` twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{sig.name} lacks {', '.join(missing)}: it takes {', '.join(names)}")
        points = self._points
        flat = [value for slot in points.inputs for value in slot.flatten(given[slot.param.name])]
        resources = {p.name: given[p.name] for p in sig.resources}
        lib, device = _numpy, "cpu"
        for value in itertools.chain(flat, resources.values()):
            if type(value).__module__.startswith("torch") and hasattr(value, "data_ptr"):
                from . import _torch

                lib, device = _torch, value.device
                break
        leaves = []
        for (slot, leaf), value in zip(((s, x) for s in points.inputs for x in s.leaves), flat):
            where = ".".join((slot.param.name, *leaf.path))
            array = lib.asarray(value, leaf.scalar, where, device)
            shape, own = lib.shape(array), len(leaf.shape)
            if own and shape[len(shape) - own:] != leaf.shape:
                raise ValueError(
                    f"`{where}` of {sig.name} takes arrays whose last dimensions are {leaf.shape}, "
                    f"but was given shape {tuple(shape)}"
                )
            leaves.append(array)
        return leaves, lib, resources

    def _batch(self, leaves, lib):
        points = self._points
        shapes = []
        for leaf, array in zip(points.leaves_in, leaves):
            shape = lib.shape(array)
            shapes.append(shape[: len(shape) - len(leaf.shape)])
        first = shapes[0] if shapes else ()
        if all(shape == first for shape in shapes):
            return first, shapes
        try:
            return np.broadcast_shapes(*shapes), shapes
        except ValueError:
            shown = ", ".join(f"{leaf_name(s, x)} {b}" for (s, x), b in zip(self._named(), shapes))
            raise ValueError(f"the leading dimensions of the arguments do not fit together: {shown}") from None

    def _named(self):
        return [(slot, leaf) for slot in self._points.inputs for leaf in slot.leaves]

    def _run(self, leaves, lib):
        """Calls the function on leaves. Gives the leaves of all outputs."""
        device = lib.device(leaves[0]) if leaves else "cpu"
        points = self._points_on_cuda if is_cuda(device) else self._points
        batch, shapes = self._batch(leaves, lib)
        count = math.prod(batch)
        values, alive, at = [count], [], 0
        for slot in points.inputs:
            own, shape = leaves[at: at + len(slot.leaves)], shapes[at: at + len(slot.leaves)]
            at += len(slot.leaves)
            once = all(math.prod(s) == 1 for s in shape)
            wanted = () if once else batch
            if slot.dense:
                array = own[0]
                full = (*wanted, *slot.leaves[0].shape)
                if once:
                    array = lib.contiguous(lib.reshape(array, slot.leaves[0].shape), full)
                else:
                    array = lib.contiguous(array, full)
            else:
                array = lib.raw((1 if once else count) * slot.stride, device)
                for leaf, part in zip(slot.leaves, own):
                    part = lib.reshape(part, leaf.shape) if once else part
                    lib.view(array, leaf, wanted, slot.stride)[...] = part
            alive.append(array)
            values += [lib.pointer(array), 1 if once else count, 0 if once else 1]
        outputs, memories = [], []
        for slot in points.outputs:
            if slot.dense:
                array = lib.empty((*batch, *slot.leaves[0].shape), slot.leaves[0].scalar, device)
                outputs.append(array)
            else:
                array = lib.raw(count * slot.stride, device)
                outputs += [lib.view(array, leaf, batch, slot.stride) for leaf in slot.leaves]
            memories.append(array)
            values += [lib.pointer(array), count]
        if count == 0:
            return outputs
        if points.ordered:
            block = points.format.pack(*values)
        else:
            block = self._block(values, points)
        groups = [-(-count // _wrappers.THREADS), 1, 1]
        points.entry.launch(groups, self._globals(points.entry), block, device)
        slots = (slot for slot in points.outputs for _ in slot.leaves)
        return [out if slot.dense else lib.copied(out) for slot, out in zip(slots, outputs)]

    def _block(self, values, points: _Points) -> bytes:
        """The block of parameters where there are resources among them."""
        packer = Packer(points.entry.own_size)
        for name, offset, node in points.resources:
            packer.pack(node, offset, self._given[name], name)
        values = iter(values)
        sizes = ["I"] + ["QQ", "I"] * len(points.inputs) + ["QQ"] * len(points.outputs)
        for place, code in zip(points.places, sizes):
            struct.pack_into("<" + code, packer.block, place, *[next(values) for _ in code])
        self._alive = packer.alive
        return bytes(packer.block)

    def _globals(self, entry: Entry) -> bytes:
        if not entry.globals:
            return b""
        packer = Packer(entry.globals_size)
        for name, _, offset, node in entry.globals:
            if name in self._bound:
                packer.pack(node, offset, self._bound[name], name)
        self._alive_globals = packer.alive
        return bytes(packer.block)

    def _fake(self, leaves, lib):
        """Outputs of the right shapes, for compilers of graphs."""
        batch, _ = self._batch(leaves, lib)
        device = lib.device(leaves[0])
        return [lib.empty((*batch, *leaf.shape), leaf.scalar, device) for leaf in self._points.leaves_out]

    @cached_property
    def _diff_outputs(self) -> list[bool]:
        """Which leaves of outputs carry derivatives."""
        return self._carrying(self._points.outputs, "ct_d_", lambda v: v._points.inputs)

    def _carrying(self, slots, prefix, of) -> list[bool]:
        found = []
        for slot in slots:
            if not slot.param.diff or not self.backward:
                found += [False] * len(slot.leaves)
            elif len(slot.leaves) == 1:
                found.append(True)
            else:
                name = prefix + slot.param.name
                other = next(s for s in of(self._vjp) if s.param.name == name)
                paths = {leaf.path for leaf in other.leaves}
                found += [leaf.path in paths for leaf in slot.leaves]
        return found

    def _vjp_leaves(self, leaves, cotangents, lib, needs):
        """The gradients of the leaves of inputs; none for those that carry no derivative or need none."""
        derived = self._vjp if not self._given else self._vjp._with(self._given)
        found = derived._apply([*leaves, *cotangents], lib)
        by_place = {}
        for (slot, leaf), gradient in zip(((s, x) for s in derived._points.outputs for x in s.leaves), found):
            by_place[(slot.param.name, leaf.path)] = gradient
        gradients = []
        for (slot, leaf), array, need in zip(self._named(), leaves, needs):
            gradient = by_place.get((f"ct_g_{slot.param.name}", leaf.path))
            wanted = gradient is not None and need
            gradients.append(lib.sum_to(gradient, lib.shape(array)) if wanted else None)
        return gradients

    def _cotangents(self, given, leaves, lib):
        """The leaves of cotangents that a user gives, or ones for the only number that there is."""
        batch, _ = self._batch(leaves, lib)
        device = lib.device(leaves[0]) if leaves else "cpu"
        slots = [slot for slot in self._vjp._points.inputs if slot.param.name.startswith("ct_d_")]
        slots = slots[len(slots) - len([p for p in self.signature.outputs if p.diff]):]
        if given is None:
            if len(slots) != 1 or len(slots[0].leaves) != 1 or slots[0].leaves[0].shape:
                raise ValueError(
                    f"`{self.signature.name}` gives more than one number with a derivative: "
                    "give cotangents, or ask for its Jacobian"
                )
            return [lib.zeros(batch, slots[0].leaves[0].scalar, device) + 1]
        given = [given] if len(slots) == 1 else list(given)
        if len(given) != len(slots):
            raise ValueError(f"`{self.signature.name}` has {len(slots)} outputs with cotangents, not {len(given)}")
        flat = []
        for slot, value in zip(slots, given):
            for leaf, part in zip(slot.leaves, slot.flatten(value)):
                array = lib.asarray(part, leaf.scalar, f"the cotangent of `{slot.param.name[5:]}`", device)
                flat.append(array)
        return flat

    def _chosen(self, wrt) -> list[str]:
        carrying = [p.name for p in self.signature.inputs if p.diff]
        if wrt is None:
            return carrying
        names = [wrt] if isinstance(wrt, str) else list(wrt)
        for name in names:
            if name not in carrying:
                raise ValueError(f"`{name}` carries no derivative; {', '.join(carrying) or 'nothing'} does")
        return names

    def _gradients(self, leaves, cotangents, lib, wrt):
        """Gradients as a user gets them: of structures, dictionaries of the fields that have one."""
        found = iter(self._vjp_leaves(leaves, cotangents, lib, [True] * len(leaves)))
        by_name = {}
        for slot in self._points.inputs:
            own = [(leaf, next(found)) for leaf in slot.leaves]
            kept = [(leaf, gradient) for leaf, gradient in own if gradient is not None]
            by_name[slot.param.name] = _tree(kept, lib.finish)
        names = self._chosen(wrt)
        single = len(names) == 1 and (wrt is None or isinstance(wrt, str))
        return by_name[names[0]] if single else tuple(by_name[name] for name in names)

    def _ready(self, args, kwargs):
        self._require_backward()
        leaves, lib, resources = self._arguments(args, kwargs)
        return (self._with(resources) if resources else self), leaves, lib

    def vjp(self, *args, cotangents=None, wrt=None, **kwargs):
        """Gradients of the inputs for cotangents of the outputs, by one call of `bwd_diff`."""
        function, leaves, lib = self._ready(args, kwargs)
        return function._gradients(leaves, function._cotangents(cotangents, leaves, lib), lib, wrt)

    def grad(self, *args, wrt=None, **kwargs):
        """The gradient of a function that gives one number: an array like each input that carries a derivative.

        >>> import cotangent
        >>> m = cotangent.load(source="[Differentiable] float f(float a, float x) { return a * x * x; }")
        >>> m.f.grad(2.0, 3.0)
        (np.float32(9.0), np.float32(12.0))
        """
        return self.vjp(*args, wrt=wrt, **kwargs)

    def value_and_grad(self, *args, wrt=None, **kwargs):
        """What the function gives, and its gradient."""
        return self(*args, **kwargs), self.grad(*args, wrt=wrt, **kwargs)

    def jvp(self, *args, tangents, **kwargs):
        """What the function gives, and the derivatives of that along tangents of the inputs, by one call of `fwd_diff`."""
        leaves, lib, resources = self._arguments(args, kwargs)
        derived = self._jvp if not resources else self._jvp._with(resources)
        slots = [s for s in derived._points.inputs if s.param.name.startswith("ct_t_")]
        carrying = [p for p in self.signature.inputs if p.diff]
        slots = slots[len(slots) - len(carrying):]
        if isinstance(tangents, dict) and set(tangents) <= {p.name for p in carrying}:
            tangents = [tangents.get(p.name) for p in carrying]
        elif len(slots) == 1 and not isinstance(tangents, (tuple, list)):
            tangents = [tangents]
        if len(tangents) != len(slots):
            raise ValueError(f"`{self.signature.name}` takes {len(slots)} tangents, but {len(tangents)} were given")
        device = lib.device(leaves[0]) if leaves else "cpu"
        flat = []
        for slot, value in zip(slots, tangents):
            parts = [0.0] * len(slot.leaves) if value is None else slot.flatten(value)
            for leaf, part in zip(slot.leaves, parts):
                if value is None:
                    flat.append(lib.zeros(leaf.shape, leaf.scalar, device))
                else:
                    flat.append(lib.asarray(part, leaf.scalar, f"the tangent of `{slot.param.name[5:]}`", device))
        found = derived._outputs(derived._apply([*leaves, *flat], lib), lib)
        values = len(self.signature.outputs)
        return _one(found[:values]), _one(found[values:])

    def jacobian(self, *args, wrt=None, **kwargs):
        """All derivatives at every point: arrays of shape `points + output + input`.

        Of several inputs or outputs it gives tuples: of each output, of each input.
        """
        function, leaves, lib = self._ready(args, kwargs)
        found = function._rows(leaves, lib, function._chosen(wrt))
        single = len(self._chosen(wrt)) == 1 and (wrt is None or isinstance(wrt, str))
        rows = [row[0] if single else tuple(row) for row in found]
        return rows[0] if len(rows) == 1 else tuple(rows)

    def _rows(self, leaves, lib, names, outputs=None):
        batch, _ = self._batch(leaves, lib)
        device = lib.device(leaves[0]) if leaves else "cpu"
        derived = self._vjp if not self._given else self._vjp._with(self._given)
        carrying = [p for p in self.signature.outputs if p.diff]
        first = len(derived._points.inputs) - len(carrying)
        slots = derived._points.inputs[first:]
        for slot in [*slots, *[s for s in self._points.inputs if s.param.name in names]]:
            if len(slot.leaves) != 1 or slot.leaves[0].path:
                raise TypeError(f"`{slot.param.name}` is a structure: take Jacobians by vjp or jvp")
        found = []
        for i, slot in enumerate(slots):
            if outputs is not None and carrying[i].name not in outputs:
                continue
            leaf = slot.leaves[0]
            count = math.prod(leaf.shape)
            ones = lib.reshape(lib.eye(count, leaf.scalar, device), (count, *[1] * len(batch), *leaf.shape))
            cotangents = [
                ones if j == i else lib.zeros((1, *[1] * len(batch), *other.leaves[0].shape), other.leaves[0].scalar, device)
                for j, other in enumerate(slots)
            ]
            full = [
                lib.contiguous(array, (*batch, *leaf.shape)) for leaf, array in zip(self._points.leaves_in, leaves)
            ]
            gradients = derived._apply([*full, *cotangents], lib)
            row = []
            for out, gradient in zip(derived._points.outputs, gradients):
                name = out.param.name[len("ct_g_"):]
                if name in names:
                    moved = lib.moveaxis(gradient, 0, len(batch))
                    shape = (*batch, *leaf.shape, *out.leaves[0].shape)
                    row.append((name, lib.finish(lib.reshape(moved, shape))))
            row = dict(row)
            found.append([row[name] for name in names])
        return found

    def hessian(self, *args, wrt=None, **kwargs):
        """All second derivatives of a function that gives one number: arrays of shape `points + input + input`.

        Of several inputs it gives tuples of tuples.
        """
        function, leaves, lib = self._ready(args, kwargs)
        ones = function._cotangents(None, leaves, lib)
        derived = function._vjp if not function._given else function._vjp._with(function._given)
        names = function._chosen(wrt)
        rows = {}
        for name in names:
            rows[name] = derived._rows([*leaves, *ones], lib, names, outputs={f"ct_g_{name}"})[0]
        if len(names) == 1 and (wrt is None or isinstance(wrt, str)):
            return rows[names[0]][0]
        return tuple(tuple(rows[name]) for name in names)

    def check(self, *, samples: int = 20, seed: int = 1, **at) -> Check:
        """Compares both derivatives with finite differences in double precision, at random points.

        Inputs that are given are the same at every point.
        """
        given = ", ".join(f"{name}={_literal(value)}" for name, value in at.items())
        return Check(self.signature.name, *self.program.gradcheck(self.signature.name, given, samples, seed))

    def report(self) -> Report:
        """What the backward derivative keeps and computes again."""
        self._require_backward()
        return Report(self.signature.name, self.program.report(self.signature.name))

    def code(self, target: str) -> str:
        """The function over arrays and its gradient, in another language: `cuda`, `cpp`, `wgsl`, `spirv`, `glsl`, `hlsl`, `metal`."""
        text, names = _wrappers.DIFFERENTIAL + self.text + _wrappers.entry(self.signature), [_wrappers.entry_name(self.signature)]
        if self.backward:
            derived = self._vjp
            text += derived.text + _wrappers.entry(derived.signature)
            names.append(_wrappers.entry_name(derived.signature))
        return self.program.code(target, text, names)


def leaf_name(slot: _Slot, leaf) -> str:
    return "`" + ".".join((slot.param.name, *leaf.path)) + "`"


def _tree(parts, finish):
    if len(parts) == 1 and not parts[0][0].path:
        return finish(parts[0][1])
    tree: dict = {}
    for leaf, array in parts:
        place = tree
        for name in leaf.path[:-1]:
            place = place.setdefault(name, {})
        place[leaf.path[-1]] = finish(array)
    return tree


def _one(values):
    return values[0] if len(values) == 1 else tuple(values) if values else None


def _literal(value) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        raise TypeError("give parts of structures by name: check(**{'s.p': [1, 2, 3]})")
    return str(value)
