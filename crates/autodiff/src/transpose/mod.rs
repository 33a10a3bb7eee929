//! `transpose`: transposes a linear function.
//!
//! ```text
//! before   D(context, x', x_t..) -> y_t..
//! after    B(context, x', y_ct.., x_ct..) -> x_ct'..
//! ```
//!
//! `D` maps tangents of inputs to tangents of outputs. `B` maps cotangents of outputs to cotangents of inputs, which it adds
//! to the cotangents passed to it. Both take the same primal values.
//!
//! A region of `D` is a prologue of primal operations, followed by linear ones. The prologue is copied unchanged. The linear
//! operations are visited from the last to the first. A table holds the sum of the cotangents found so far for every linear
//! value. A value without an entry has cotangent zero. An operation contributes nothing if none of its results has an entry,
//! unless it is or contains a call of a source. Every rule removes the cotangents of an operation's results from the table
//! and adds to those of its operands:
//!
//! - [`rules`] transposes operations on numbers and aggregates.
//! - [`branch`] transposes `if` and `switch`, [`loops`] loops, and [`call`] calls.
//! - [`skip`] keeps loops and calls from running where their cotangents are zero.
//! - [`captures`] finds the values that those constructs capture.
//! - [`cotangent`] is the table, and builds values from contributions to their parts.
//! - [`reach`] finds the values that get a cotangent, before code is emitted.
//! - [`doubts`] finds the cotangents that may be zero because the value is not used. They stay zero even where the derivative
//!   is infinite.
//!
//! `B` is made for one set of seeds: which outputs have a cotangent, and which inputs already have one to add to. Zeros are
//! neither passed nor computed. So a loop that calls `read(a, i)` does not add whole arrays of zeros in every iteration.

pub mod branch;
pub mod call;
mod captures;
pub mod cotangent;
mod custom;
pub mod doubts;
pub mod loops;
pub mod reach;
pub mod rules;
mod skip;
mod sure;

pub use custom::{DERIVATIVE, PRIMAL, Role, roles};

use crate::Context;
use crate::driver::Reported;
use crate::kind::{Kind, kind};
use crate::unzip::{LinearFunc, param};
use captures::Captures;
use cotangent::Cotangents;
use cotangent_base::{EntitySet, Span, Symbol};
use cotangent_ir::{
    Builder, Copier, DiffTable, Dir, Func, Inst, Mode, Module, Op, OutputMask, Region, Signature,
    TangentMask, Ty, Value,
};

/// Which cotangents a backward function is given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Seeds {
    /// Of which outputs of the linear function; the others are zero.
    pub outputs: OutputMask,
    /// Of which of its tangent inputs, to be added to; the others are made.
    pub inputs: TangentMask,
    /// Whether the cotangents of outputs are there for sure, all of them; else they may be zero because nobody used the output.
    pub certain: bool,
}

/// The transpose of `linear` with an empty body, named after what `linear` is a half of. Its inputs are the primal inputs of
/// `linear`, the cotangents of the outputs that have one, and those of the inputs that have one already; its outputs
/// are the cotangents of the inputs in `contributes`.
pub fn declare(module: &mut Module, linear: &LinearFunc, seeds: &Seeds, contributes: &TangentMask) -> Func {
    let sig = signature(module, linear, seeds, contributes);
    let mut func = Func::new(Symbol::new(&format!("{}.bwd", linear.name)), sig, linear.func.span);
    func.origin = linear.func.origin;
    func.diff.differentiable = Some(Mode::Backward);
    func
}

/// Gives `declared`, the transpose of `linear`, its body. `reach` is what [`Reach::of`](reach::Reach::of) finds for these seeds;
/// the inputs in `contributes` are at least its.
pub fn transpose(
    cx: &mut Context<'_>,
    declared: Func,
    linear: &LinearFunc,
    seeds: &Seeds,
    reach: &reach::Reach,
    contributes: &TangentMask,
) -> Result<Func, Reported> {
    let reach = reach.values();
    let doubts = doubts::Doubts::of(cx, linear, reach, &seeds.outputs, seeds.certain)?;
    let mut transposer = Transposer {
        captures: Captures::of(&linear.func, reach),
        cx,
        source: linear,
        reach,
        doubtful: doubts.doubtful,
        region: declared.body,
        span: declared.span,
        out: declared,
        copy: Copier::new(),
        cotangents: Cotangents::default(),
    };
    transposer.run(seeds, contributes)?;
    Ok(transposer.out)
}

/// The tangent inputs of a linear function.
pub fn tangents(linear: &LinearFunc) -> &[Value] {
    let inputs = linear.func.inputs();
    let first = inputs.iter().position(|v| linear.lin.contains(*v)).unwrap_or(inputs.len());
    &inputs[first..]
}

fn signature(
    module: &mut Module,
    linear: &LinearFunc,
    seeds: &Seeds,
    contributes: &TangentMask,
) -> Signature {
    let func = &linear.func;
    let tangents = tangents(linear);
    let mut named: Vec<(String, Ty, Dir)> = Vec::new();
    let text = |v: Value| func.values[v].name.map_or_else(String::new, |n| n.to_string());
    let primal = &func.inputs()[..func.inputs().len() - tangents.len()];
    named.extend(primal.iter().map(|v| (text(*v), func.ty(*v), Dir::In)));
    let outputs = &func.exit(func.body).operands;
    let seeded = outputs.iter().zip(&seeds.outputs).enumerate().filter(|(_, (_, seeded))| **seeded);
    named.extend(seeded.map(|(i, (v, _))| (format!("out{i}_ct"), func.ty(*v), Dir::In)));
    for (i, &tangent) in tangents.iter().enumerate().filter(|(i, _)| contributes[*i]) {
        let dir = if seeds.inputs[i] { Dir::InOut } else { Dir::Out };
        let name = text(tangent);
        let base = name.strip_suffix("_t").unwrap_or(&name);
        named.push((format!("{base}_ct"), func.ty(tangent), dir));
    }
    let params = named.into_iter().map(|(name, ty, dir)| param(module, &name, ty, dir)).collect();
    Signature { params, ret: None }
}

/// The state of transposing one function.
pub struct Transposer<'a, 'm> {
    cx: &'a mut Context<'m>,
    source: &'a LinearFunc,
    /// What constructs capture.
    captures: Captures,
    /// The linear values that get a cotangent.
    reach: &'a EntitySet<Value>,
    /// The results of steep operations and calls whose cotangent may be zero because nobody used them.
    doubtful: EntitySet<Value>,
    out: Func,
    /// Where instructions go.
    region: Region,
    span: Span,
    /// What primal values are called in the new function.
    copy: Copier,
    cotangents: Cotangents,
}

impl<'a> Transposer<'a, '_> {
    fn func(&self) -> &'a Func {
        &self.source.func
    }

    fn is_linear(&self, value: Value) -> bool {
        self.source.lin.contains(value)
    }

    /// Whether an instruction is transposed even if no cotangent arrives.
    fn is_source(&self, inst: Inst) -> bool {
        self.source.sources.contains(inst)
    }

    /// Emits with a builder that stands where we are.
    fn build<R>(&mut self, emit: impl FnOnce(&mut Builder<'_>, &DiffTable) -> R) -> R {
        let Module { types, diff, .. } = &mut *self.cx.module;
        let mut b = Builder { types, func: &mut self.out, region: self.region, span: self.span };
        emit(&mut b, diff)
    }

    fn run(&mut self, seeds: &Seeds, contributes: &TangentMask) -> Result<(), Reported> {
        let func = self.func();
        let tangents = tangents(self.source);
        let primal = func.inputs().len() - tangents.len();
        let mut inputs = self.out.inputs().to_vec().into_iter();
        for &old in &func.inputs()[..primal] {
            self.copy.rename(old, inputs.next().expect("an input for each primal one"));
        }
        let outputs = func.exit(func.body).operands.clone();
        let given: Vec<Option<Value>> =
            seeds.outputs.iter().map(|s| if *s { inputs.next() } else { None }).collect();
        for (i, &tangent) in tangents.iter().enumerate() {
            if seeds.inputs[i] && contributes[i] {
                let value = inputs.next().expect("an input for each cotangent to add to");
                self.cotangents.set(tangent, value);
            }
        }
        self.prologue(func.body);
        for (output, given) in outputs.into_iter().zip(given) {
            if let Some(given) = given {
                self.add(output, given);
            }
        }
        self.linear_insts(func.body)?;
        let given = tangents.iter().zip(contributes).filter(|(_, contributes)| **contributes);
        let results: Vec<Value> = given.map(|(t, _)| self.take_or_zero(*t)).collect();
        self.build(|b, _| b.emit(Op::Return, &results, &[]));
        Ok(())
    }

    /// Copies the primal instructions of a region.
    fn prologue(&mut self, region: Region) {
        let func = self.func();
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let is_linear = data.results.iter().any(|v| self.is_linear(*v)) || self.is_source(inst);
            if !is_linear && !data.op.is_exit() {
                let Module { types, .. } = &mut *self.cx.module;
                let mut b = Builder { types, func: &mut self.out, region: self.region, span: self.span };
                self.copy.inst(func, inst, &mut b);
            }
        }
    }

    /// Visits the linear instructions of a region, the last first.
    fn linear_insts(&mut self, region: Region) -> Result<(), Reported> {
        let func = self.func();
        for &inst in func.regions[region].insts.iter().rev() {
            let data = &func.insts[inst];
            if self.is_source(inst) || data.results.iter().any(|v| self.cotangents.has(*v)) {
                let outer = std::mem::replace(&mut self.span, data.span);
                self.linear_inst(inst)?;
                self.span = outer;
            }
        }
        Ok(())
    }

    fn linear_inst(&mut self, inst: Inst) -> Result<(), Reported> {
        match kind(&self.func().insts[inst].op) {
            Kind::Plain => self.rule(inst),
            Kind::Branches => self.branches(inst),
            Kind::Counted(info) => self.counted(inst, info),
            Kind::Call(callee) => self.call(inst, callee),
            Kind::LinCall(call) => self.custom_call(inst, call),
            Kind::Memory | Kind::Conditional(_) | Kind::DiffCall(_) | Kind::Exit => {
                Err(self.not_linear(inst))
            }
        }
    }

    /// Visits `region`, emitting into a fresh region with the given cotangents: first those of `known` values,
    /// then `given` ones added to the region's yields. Hands back the new region, still without exit, and the
    /// cotangents at its end.
    fn nested(
        &mut self,
        region: Region,
        new: Region,
        known: &[(Value, Value)],
        given: &[(Value, Value)],
    ) -> Result<Cotangents, Reported> {
        let outer = std::mem::replace(&mut self.region, new);
        let saved = std::mem::take(&mut self.cotangents);
        for &(value, cotangent) in known {
            self.cotangents.set(value, cotangent);
        }
        self.prologue(region);
        for &(value, cotangent) in given {
            self.add(value, cotangent);
        }
        self.linear_insts(region)?;
        self.region = outer;
        Ok(std::mem::replace(&mut self.cotangents, saved))
    }
}
