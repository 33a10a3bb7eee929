//! Linearization: adds the derivative of a function to it, as a linear map.
//!
//! Input: a function and its active inputs. Output: the same function, in which the instructions that compute tangents follow
//! each active instruction. The original instructions keep their identity and their order, so side tables stay valid. A
//! function without active inputs does not change.
//!
//! ```text
//! f(a, b) -> r {               f(a, b, a_t, b_t) -> r, r_t {
//!   p = mul a, b                 p = mul a, b
//!                                1 = mul a_t, b     2 = mul a, b_t     p_t = add 1, 2
//!   return p                     return p, p_t
//! }                            }
//! ```
//!
//! A value without a tangent has the tangent zero, and no rule emits code for it. Zeros are symbolic until a construct must
//! carry one (a sibling branch, a loop slot, a part of an aggregate, an output).
//!
//! - `activity` decides in advance which results of branches and which slots of loops need a tangent.
//! - `rules` handles operations. `branches`, `loops`, `exits` and `call` handle the constructs, each with its derivation.
//!
//! Early exits are supported directly, so forward mode needs no preparation.

mod activity;
mod branches;
mod call;
mod exits;
mod loops;
mod rules;

pub(crate) use loops::counters;
pub(crate) use rules::passes_tangents;

use crate::callee::Sources;
use crate::tangent;
use cotangent_base::{Diagnostics, EntityMap, EntitySet, Map, Span, Symbol};
use cotangent_ir::{
    Builder, DiffTable, Dir, Func, FuncId, InputMask, Inst, Mode, Module, Op, OutputMask, Param, Region,
    Signature, SlotMask, Ty, Types, Value,
};
use std::rc::Rc;

/// A function beside its derivative. Its inputs are those of the original function and then a tangent for each
/// active one; its outputs are those of the original and then a tangent for each active one.
#[derive(Clone, Debug)]
pub struct Linearized {
    /// The function. Instructions of the original have kept their identity.
    pub func: Func,
    /// Which values are linear: tangents, and what is computed from them. All others are primal.
    pub lin: EntitySet<Value>,
    /// The linear values that are chosen by a `select` of the original, and not by one in a rule.
    pub choices: EntitySet<Value>,
    /// Which of the original's inputs have a tangent.
    pub inputs: InputMask,
    /// Which of the original's outputs have a tangent: all that carry a derivative.
    pub outputs: OutputMask,
}

/// Linearizes `func`, a copy of a function of `module`, for derivatives of the given mode. `inputs` says which inputs have a
/// tangent. If something has no derivative, `diagnostics` gets the reason and the result must not be used.
pub fn linearize(
    module: &mut Module,
    func: Func,
    inputs: &InputMask,
    mode: Mode,
    diagnostics: &mut Diagnostics,
) -> Linearized {
    let Module { types, diff, funcs, .. } = module;
    let (sig, outputs) = signature(types, diff, &func.sig, inputs);
    let mut l = Linearizer {
        types,
        diff,
        funcs,
        diagnostics,
        region: func.body,
        span: func.span,
        func,
        lin: EntitySet::new(),
        choices: EntitySet::new(),
        tangents: Map::default(),
        active: EntitySet::new(),
        yields: Vec::new(),
        loops: Vec::new(),
        outputs: outputs.iter().copied().collect(),
        rules: Vec::new(),
        prepared: Map::default(),
        mode,
        sources: Sources::default(),
    };
    l.function(inputs);
    let mut func = l.func;
    func.sig = sig;
    Linearized { func, lin: l.lin, choices: l.choices, inputs: inputs.clone(), outputs }
}

/// The signature of a linearized function, and which outputs have a tangent. Tangents are ordinary
/// differentiable data, so that the result can be differentiated again.
pub fn signature(
    types: &mut Types,
    diff: &DiffTable,
    sig: &Signature,
    inputs: &InputMask,
) -> (Signature, OutputMask) {
    let mut params = sig.params.clone();
    let mut tangent = |name: &dyn std::fmt::Display, ty: Ty, dir: Dir| {
        let ty = diff.differential(types, ty).expect("what is active is differentiable");
        let name = unused(&params, format!("{name}_t"));
        params.push(Param { name, ty, dir, diff: true });
    };
    for (param, _) in sig.inputs().zip(inputs).filter(|(_, active)| **active) {
        tangent(&param.name, param.ty, Dir::In);
    }
    if let Some(ret) = sig.ret.filter(|ret| ret.diff) {
        tangent(&"result", ret.ty, Dir::Out);
    }
    for param in sig.params.iter().filter(|p| p.diff && p.dir != Dir::In) {
        let name = if param.dir == Dir::Out { param.name.to_string() } else { format!("{}_new", param.name) };
        tangent(&name, param.ty, Dir::Out);
    }
    (Signature { params, ret: sig.ret }, sig.outputs().map(|o| o.diff).collect())
}

/// `name`, or if a parameter has that name, the first of `name2`, `name3`, .. that none has.
fn unused(params: &[Param], name: String) -> Symbol {
    let numbered = (2..).map(|n| Symbol::new(&format!("{name}{n}")));
    let mut names = std::iter::once(Symbol::new(&name)).chain(numbered);
    names.find(|name| params.iter().all(|p| p.name != *name)).expect("there are more names than parameters")
}

/// A function on its way to be linearized.
struct Linearizer<'m> {
    types: &'m mut Types,
    diff: &'m DiffTable,
    funcs: &'m EntityMap<FuncId, Func>,
    diagnostics: &'m mut Diagnostics,
    func: Func,
    /// Where instructions go.
    region: Region,
    /// The source they stand for.
    span: Span,
    /// The linear values.
    lin: EntitySet<Value>,
    /// Those that the original chooses.
    choices: EntitySet<Value>,
    /// The tangents; a value without one has the tangent zero.
    tangents: Map<Value, Value>,
    /// The values that may have a tangent.
    active: EntitySet<Value>,
    /// Which values of a `yield` take their tangent along, innermost region last.
    yields: Vec<SlotMask>,
    /// The same for `break` and `continue`, innermost loop last.
    loops: Vec<SlotMask>,
    /// The same for `return`.
    outputs: SlotMask,
    /// The library rules being written out, innermost last; see `call`.
    rules: Vec<FuncId>,
    /// Bodies of rules without early exits.
    prepared: Map<FuncId, Rc<Func>>,
    /// The mode of the derivative that is being written.
    mode: Mode,
    /// Which functions are sources.
    sources: Sources,
}

impl Linearizer<'_> {
    fn function(&mut self, inputs: &InputMask) {
        let body = self.func.body;
        let chosen: Vec<Value> =
            self.func.inputs().iter().zip(inputs).filter(|(_, a)| **a).map(|(v, _)| *v).collect();
        for x in chosen {
            let ty = self.differential(x).expect("an active input is differentiable");
            let x_t = self.func.add_arg(body, ty);
            self.active.insert(x);
            self.set(x, x_t);
        }
        let insts = self.func.regions[body].insts.clone();
        self.activate(&insts);
        self.region_body(body);
    }

    /// Linearizes the instructions of `region` in place.
    fn region_body(&mut self, region: Region) {
        let outer = std::mem::replace(&mut self.region, region);
        for inst in std::mem::take(&mut self.func.regions[region].insts) {
            self.inst(inst);
        }
        self.region = outer;
    }

    /// Puts `inst` where instructions go, and what computes the tangents of its results.
    fn inst(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        self.span = data.span;
        if data.op.is_exit() {
            self.exit(inst);
        } else if data.op.is_loop() {
            self.loop_(inst);
        } else if !data.regions.is_empty() {
            self.branches(inst);
        } else if let Op::Call(f) = data.op {
            self.call(inst, f);
        } else {
            self.plain(inst);
        }
    }

    fn plain(&mut self, inst: Inst) {
        let stands_for_tangent =
            self.in_rule() && self.func.insts[inst].operands.iter().any(|x| self.get(*x).is_some());
        if !stands_for_tangent {
            self.push(inst);
        }
        if let Some(y_t) = self.rule(inst) {
            self.set(self.func.insts[inst].results[0], y_t);
        } else if stands_for_tangent {
            let name = self.func.insts[inst].op.name();
            self.nonlinear(format!("a derivative rule applies `{name}` to a tangent"));
        }
    }

    fn push(&mut self, inst: Inst) {
        self.func.regions[self.region].insts.push(inst);
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder { types: self.types, func: &mut self.func, region: self.region, span: self.span }
    }

    /// Appends an instruction whose result is linear.
    fn linear(&mut self, op: Op, operands: &[Value], ty: Ty) -> Value {
        let value = self.builder().emit1(op, operands, ty);
        self.lin.insert(value);
        value
    }

    /// From now on the tangent of `x` is `x_t`.
    fn set(&mut self, x: Value, x_t: Value) {
        if let (Some(name), None) = (self.func.values[x].name, self.func.values[x_t].name) {
            self.func.values[x_t].name = Some(Symbol::new(&format!("{name}_t")));
        }
        self.lin.insert(x_t);
        self.tangents.insert(x, x_t);
    }

    /// The tangent of `x`, unless it is zero.
    fn get(&self, x: Value) -> Option<Value> {
        self.tangents.get(&x).copied()
    }

    /// The type of the tangent of `x`, if it can have one.
    fn differential(&mut self, x: Value) -> Option<Ty> {
        self.diff.differential(self.types, self.func.ty(x))
    }

    /// The tangent of `x` where something must carry one. Of a value that nobody may look at it is another such.
    fn carried(&mut self, x: Value) -> Value {
        if let Some(x_t) = self.get(x) {
            return x_t;
        }
        let ty = self.differential(x).expect("what must carry a tangent is differentiable");
        if matches!(self.func.op(x), Some(Op::Undef)) {
            self.linear(Op::Undef, &[], ty)
        } else {
            self.zero(ty)
        }
    }

    /// The zero of a differential, as a linear value.
    fn zero(&mut self, ty: Ty) -> Value {
        let first = self.func.values.next_key();
        let diff = self.diff;
        let zero = tangent::zero(&mut self.builder(), diff, ty);
        let new = self.func.values.keys().skip(cotangent_base::Entity::index(first));
        self.lin.extend(new);
        zero
    }
}
