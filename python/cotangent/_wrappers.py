"""Entry points and derivatives in Slang, which are appended to the user's program.

A function is called over arrays by an entry point with a thread for each point. Its derivatives are functions of their own, whose
inputs and outputs are arrays like any others:

    void f_vjp(x.., cotangents of the outputs.., out gradients of the inputs..)
    void f_jvp(x.., tangents of the inputs.., out outputs.., out tangents of the outputs..)

So a second derivative is the derivative of a derivative, and every device runs all of them in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

#: Threads of a group of points.
THREADS = 64
DIFFERENTIAL = "typealias ct_Differential<T : IDifferentiable> = T.Differential;\n"


def differential(ty: str) -> str:
    return f"ct_Differential<{ty}>"


@dataclass(frozen=True)
class Param:
    """A parameter of a function, or its result, whose direction is `out`."""

    name: str
    type: str
    dir: str = "in"
    diff: bool = False
    resource: bool = False
    #: What messages call it, if not by its name.
    label: str = ""
    #: The parts that carry no derivative although their numbers could: their paths, and the names of their structures.
    lost: tuple = ()

    def loses(self, path: tuple[str, ...]) -> str | None:
        """The structure that drops the derivative of a leaf, if there is one."""
        return next((name for start, name in self.lost if list(path[: len(start)]) == list(start)), None)


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives."""

    name: str
    params: tuple[Param, ...]
    result: Param | None
    #: How often it was derived. Names of its derivative have this number, so that they differ from those that it has.
    order: int = 0
    #: What messages call it, if not by its name.
    label: str = ""

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.label or self.name

    def cotangent(self, name: str) -> str:
        """What the cotangent of an output is called in the vjp."""
        return f"ct_d{self.order}_{name}"

    def gradient(self, name: str) -> str:
        """What the gradient of an input is called in the vjp."""
        return f"ct_g{self.order}_{name}"

    def tangent(self, name: str) -> str:
        """What the tangent of an input is called in the jvp."""
        return f"ct_t{self.order}_{name}"

    def value(self, name: str) -> str:
        """What an output is called in the jvp."""
        return f"ct_o{self.order}_{name}"

    def moved(self, name: str) -> str:
        """What the tangent of an output is called in the jvp."""
        return f"ct_u{self.order}_{name}"

    @cached_property
    def names(self) -> list[str]:
        """What a caller gives."""
        return [p.name for p in self.params if p.dir != "out"]

    @property
    def inputs(self) -> list[Param]:
        return [p for p in self.params if p.dir != "out" and not p.resource]

    @property
    def resources(self) -> list[Param]:
        return [p for p in self.params if p.resource]

    @property
    def outputs(self) -> list[Param]:
        given = [p for p in self.params if p.dir != "in"]
        return [self.result, *given] if self.result else given

    @property
    def identifier(self) -> str:
        return self.name.replace(".", "_").replace("::", "_")


def entry_name(sig: Signature) -> str:
    return f"ct_points_{sig.identifier}"


def entry(sig: Signature) -> str:
    """The entry point that calls a function at all points."""
    params = ["uint3 ct_id : SV_DispatchThreadID", "uniform uint ct_count"]
    body, given, after = [], {}, []
    for i, p in enumerate(sig.inputs):
        params += [f"uniform StructuredBuffer<{p.type}> ct_in{i}", f"uniform uint ct_step{i}"]
        body.append(f"{p.type} ct_v_{p.name} = ct_in{i}[ct_id.x * ct_step{i}];")
        given[p.name] = f"ct_v_{p.name}"
    for p in sig.resources:
        params.append(f"uniform {p.type} {p.name}")
        given[p.name] = p.name
    for i, p in enumerate(sig.outputs):
        params.append(f"uniform RWStructuredBuffer<{p.type}> ct_out{i}")
        if p is sig.result:
            continue
        if p.dir == "out":
            body.append(f"{p.type} ct_v_{p.name};")
            given[p.name] = f"ct_v_{p.name}"
        after.append(f"ct_out{i}[ct_id.x] = ct_v_{p.name};")
    call = f"{sig.name}({', '.join(given[p.name] for p in sig.params)});"
    body.append(f"ct_out0[ct_id.x] = {call}" if sig.result else call)
    lines = "\n    ".join(["if (ct_id.x >= ct_count) return;", *body, *after])
    header = f'[shader("compute")] [numthreads({THREADS}, 1, 1)]\n'
    return f"{header}void {entry_name(sig)}({', '.join(params)})\n{{\n    {lines}\n}}\n"


def _function(sig: Signature, body: list[str], attributes: str) -> str:
    def declare(p: Param) -> str:
        no_diff = "" if p.diff or p.resource else "no_diff "
        return f"{no_diff if attributes else ''}{'out ' if p.dir == 'out' else ''}{p.type} {p.name}"

    params = ", ".join(declare(p) for p in sig.params)
    lines = "\n    ".join(body)
    return f"{attributes}void {sig.name}({params})\n{{\n    {lines}\n}}\n"


def vjp(sig: Signature, differentiable: bool) -> tuple[Signature, str]:
    """The function that multiplies cotangents with the Jacobian of another, and its text."""
    cotangents = [
        Param(sig.cotangent(p.name), differential(p.type), diff=True, label=f"the cotangent of {_output(sig, p)}")
        for p in sig.outputs
        if p.diff
    ]
    gradients = [Param(sig.gradient(p.name), differential(p.type), "out", True) for p in sig.inputs if p.diff]
    kept = [replace(p, dir="in") for p in sig.params if p.dir != "out"]
    label = f"the vjp of {sig.shown}"
    derived = Signature(f"ct_vjp_{sig.identifier}", (*kept, *cotangents, *gradients), None, sig.order + 1, label)
    body, given, after = [], [], []
    for p in sig.params:
        if p.diff and p.dir == "out":
            given.append(sig.cotangent(p.name))
        elif p.diff and not p.resource:
            seed = f", {sig.cotangent(p.name)}" if p.dir == "inout" else ""
            body.append(f"DifferentialPair<{p.type}> ct_p_{p.name} = diffPair({p.name}{seed});")
            given.append(f"ct_p_{p.name}")
            after.append(f"{sig.gradient(p.name)} = ct_p_{p.name}.d;")
        elif p.dir != "out":
            given.append(p.name)
    if sig.result and sig.result.diff:
        given.append(sig.cotangent(sig.result.name))
    body.append(f"bwd_diff({sig.name})({', '.join(given)});")
    return derived, _function(derived, body + after, "[Differentiable]\n" if differentiable else "")


def _output(sig: Signature, p: Param) -> str:
    return "the result" if p is sig.result else p.label or p.name


def jvp(sig: Signature, differentiable: bool) -> tuple[Signature, str]:
    """The function that gives what another gives, and multiplies its Jacobian with tangents."""
    tangents = [
        Param(sig.tangent(p.name), differential(p.type), diff=True, label=f"the tangent of {p.label or p.name}")
        for p in sig.inputs
        if p.diff
    ]
    kept = [replace(p, dir="in") for p in sig.params if p.dir != "out"]
    values = [Param(sig.value(p.name), p.type, "out", p.diff) for p in sig.outputs]
    moved = [Param(sig.moved(p.name), differential(p.type), "out", True) for p in sig.outputs if p.diff]
    label = f"the jvp of {sig.shown}"
    derived = Signature(f"ct_jvp_{sig.identifier}", (*kept, *tangents, *values, *moved), None, sig.order + 1, label)
    body, given, after = [], [], []
    for p in sig.params:
        if p.resource or (p.dir == "in" and not p.diff):
            given.append(p.name)
            continue
        ty = f"DifferentialPair<{p.type}>" if p.diff else p.type
        value = f"diffPair({p.name}, {sig.tangent(p.name)})" if p.diff else p.name
        body.append(f"{ty} ct_p_{p.name}" + (";" if p.dir == "out" else f" = {value};"))
        given.append(f"ct_p_{p.name}")
        if p.dir != "in":
            after += _split(sig, p, f"ct_p_{p.name}")
    call = f"fwd_diff({sig.name})({', '.join(given)});"
    if sig.result:
        ty = f"DifferentialPair<{sig.result.type}>" if sig.result.diff else sig.result.type
        call = f"{ty} ct_r = {call}"
        after += _split(sig, sig.result, "ct_r")
    return derived, _function(derived, [*body, call, *after], "[Differentiable]\n" if differentiable else "")


def _split(sig: Signature, p: Param, name: str) -> list[str]:
    if not p.diff:
        return [f"{sig.value(p.name)} = {name};"]
    return [f"{sig.value(p.name)} = {name}.p;", f"{sig.moved(p.name)} = {name}.d;"]
