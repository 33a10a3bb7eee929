//! `unzip`: splits a linearized function into a primal and a linear half, as [`checkpoint`](mod@crate::checkpoint) decided.
//!
//! ```text
//! before   f(x, x_t)      -> (y, y_t)      primal and linear operations, mixed
//! after    P(x)           -> (y, context)  the primal ones, storing what the plan says
//!          D(context, x', x_t) -> y_t      the linear ones; x' are the inputs the plan asks for
//! ```
//!
//! **The primal half** threads the context through the code: `context' = insert context, v, [field, k..]` directly after the
//! instruction that computes `v`, with the counters `k` of the enclosing loops. Only loops and branches that store something
//! carry the context. A `while` that stores something counts its iterations.
//!
//! **The linear half** has the structure of the original wherever that has linear results. Each of its regions starts with a
//! prologue of primal operations, which load or recompute the residuals of the corresponding region. Only linear operations
//! follow. Every loop in it is counted. So `transpose` can copy prologues and transpose the rest.

mod context;
mod linear;
mod primal;

use crate::checkpoint::nest::Nest;
use crate::checkpoint::{Callee, Plan};
use crate::linearize::Linearized;
use crate::prepare::Induction;
use cotangent_base::{EntitySet, Map, Symbol};
use cotangent_ir::{Dir, Func, Inst, Module, Param, Signature, Ty, Value};

/// A function that is linear in its last inputs.
#[derive(Clone, Debug)]
pub struct LinearFunc {
    /// The name of the function it is a half of.
    pub name: Symbol,
    /// The function. Its inputs are the context if there is one, the inputs it needs, and the tangents; its
    /// outputs are tangents.
    pub func: Func,
    /// Its linear values.
    pub lin: EntitySet<Value>,
    /// The results of its [`steep`](mod@crate::steep) operations.
    pub steep: EntitySet<Value>,
    /// What is chosen by a `select` of the original function.
    pub choices: EntitySet<Value>,
    /// The calls of sources, which contribute to cotangents even if none arrives, and the constructs around them.
    pub sources: EntitySet<Inst>,
}

/// The instructions of `func` that are sources, and the constructs around them.
pub(crate) fn sources(func: &Func, is_source: impl Fn(Inst) -> bool) -> EntitySet<Inst> {
    let (nest, mut sources) = (Nest::of(func), EntitySet::new());
    for inst in func.all_insts().into_iter().filter(|inst| is_source(*inst)) {
        sources.insert(inst);
        sources.extend(nest.around(nest.region_of(inst)));
    }
    sources
}

/// Both halves of a linearized function.
#[derive(Clone, Debug)]
pub struct Unzipped {
    /// The primal half.
    pub primal: Func,
    /// The linear half.
    pub linear: LinearFunc,
    /// What the one hands to the other, unless that is nothing.
    pub context: Option<Ty>,
}

/// What both halves are made from.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// The signature of the original.
    pub sig: &'a Signature,
    /// The function beside its derivative.
    pub linearized: &'a Linearized,
    /// Its loop arguments that are known in every iteration.
    pub induction: &'a Induction,
    /// The functions it calls with a derivative.
    pub calls: &'a Map<Inst, Callee>,
    /// The calls of sources, and the constructs around them.
    pub sources: &'a EntitySet<Inst>,
    /// Where the linear half gets everything from.
    pub plan: &'a Plan,
}

/// Takes a linearized function apart. Names are derived from `name`.
pub fn unzip(module: &mut Module, name: Symbol, whole: Whole<'_>) -> Unzipped {
    let context = context::make(module, name, whole.plan);
    let primal = primal::half(module, name, whole, context);
    let linear = linear::half(module, name, whole, context);
    Unzipped { primal, linear, context }
}

/// A parameter of a generated function. It carries a derivative if its type can: the result may be
/// differentiated again.
pub(crate) fn param(module: &mut Module, name: &str, ty: Ty, dir: Dir) -> Param {
    let diff = module.diff.differential(&mut module.types, ty).is_some();
    Param { name: Symbol::new(name), ty, dir, diff }
}
