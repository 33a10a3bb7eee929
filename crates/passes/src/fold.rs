//! Constant folding: evaluates operations whose operands are constants.
//!
//! ```text
//! func @f(%y: f32) -> f32 {
//!   %a: i32 = const 2
//!   %b: i32 = const 3
//!   %c: bool = lt %a, %b
//!   %r: f32 = if %c {
//!     %s: i32 = mul %a, %b
//!     %t: f32 = convert %s
//!     %x: f32 = mul %y, %t
//!     yield %x
//!   } else {
//!     yield %y
//!   }
//!   return %r
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%y: f32) -> f32 {
//!   %t: f32 = const 6.0
//!   %x: f32 = mul %y, %t
//!   return %x
//! }
//! ```
//!
//! [`cotangent_ir::eval`] evaluates scalars and vectors, as in the interpreter, so folding never changes a result. Operations
//! that would trap stay. A branch on a constant, or on the condition of an enclosing branch, is replaced by the region that
//! runs, even if that region exits. A loop without iterations is replaced by its initial values.
//!
//! An operation on `zero`s folds to `zero`, not to a constant, because a `zero` may be linear and a constant is not. For the
//! same reason, an operation that turns `zero` into a negative zero or NaN is not folded.
//!
//! The pass does not fold through aggregates ([`simplify`](crate::simplify) finds their parts), does not unroll
//! ([`unroll`](crate::unroll)), and does not sum vectors, because each executor has its own order of addition.

use crate::consts::{self, is_zero};
use crate::evaluate::{Trial, scalar_op};
use crate::rewrite::{Change, Rewriter, Rules, rewrite};
use crate::shape::Loop;
use cotangent_base::{Map, Scalar};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, Effect, Func, Inst, Linear, Op, Region, Ty, Type, Types, Value, op_group};
use smallvec::SmallVec;

/// Folds constants in `func`. Says whether there were any.
pub fn fold(types: &mut Types, func: &mut Func) -> bool {
    rewrite(types, func, &mut Fold::default())
}

#[derive(Default)]
struct Fold {
    /// Conditions of the branches around the code being visited, and what they are there.
    known: Map<Value, bool>,
}

impl Fold {
    /// Whether `value` holds, if that is known here.
    fn truth(&self, cx: &Rewriter<'_>, value: Value) -> Option<bool> {
        self.known.get(&value).copied().or_else(|| consts::bool(cx.types, cx.func, value))
    }
}

impl Rules for Fold {
    fn enter(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change {
        let data = &cx.func.insts[inst];
        if let Op::If = data.op {
            choose(data.regions[0], data.regions[1], self.truth(cx, data.operands[0]))
        } else if let Op::Switch(cases) = &data.op {
            switch(cx, inst, cases)
        } else if let Some(looped) = Loop::of(cx.func, inst) {
            no_rounds(cx, looped)
        } else {
            Change::Keep
        }
    }

    fn begin(&mut self, cx: &Rewriter<'_>, inst: Inst, index: usize) {
        if let Op::If = cx.func.insts[inst].op {
            self.known.insert(cx.func.insts[inst].operands[0], index == 0);
        }
    }

    fn end(&mut self, cx: &Rewriter<'_>, inst: Inst, _: usize) {
        if let Op::If = cx.func.insts[inst].op {
            self.known.remove(&cx.func.insts[inst].operands[0]);
        }
    }

    fn leave(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change {
        match cx.func.insts[inst].op {
            Op::Math(_) | Op::Convert => numbers(cx, inst),
            Op::Bitcast => scalars_only(cx, inst),
            Op::Select => select(cx, inst, self.truth(cx, cx.func.insts[inst].operands[0])),
            Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Detach => Change::Keep,
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer | Op::Transpose => Change::Keep,
            op_group!(constant | aggregate | sum | memory | pointer | texture) => Change::Keep,
            op_group!(threads | host | pixel | call | control | exit) => Change::Keep,
        }
    }
}

fn choose(then: Region, otherwise: Region, cond: Option<bool>) -> Change {
    match cond {
        Some(true) => Change::Splice(then),
        Some(false) => Change::Splice(otherwise),
        None => Change::Keep,
    }
}

fn switch(cx: &Rewriter<'_>, inst: Inst, cases: &[i64]) -> Change {
    let data = &cx.func.insts[inst];
    let Type::Scalar(scalar) = cx.types.get(cx.func.ty(data.operands[0])) else {
        return Change::Keep;
    };
    let Some(selector) = consts::constant(cx.types, cx.func, data.operands[0]) else {
        return Change::Keep;
    };
    let is_chosen = |case: &i64| Eval::default().constant(Const::Int(*case), scalar) == selector;
    let case = cases.iter().position(is_chosen).unwrap_or(cases.len());
    Change::Splice(data.regions[case])
}

/// A loop that ends before its first iteration gives its initial values.
fn no_rounds(cx: &Rewriter<'_>, looped: Loop) -> Change {
    let inits = SmallVec::from_slice(&cx.func.insts[looped.inst].operands[looped.lead..]);
    let runs = match looped.cond {
        None => consts::int(cx.types, cx.func, cx.func.insts[looped.inst].operands[0]).map(|n| n > 0),
        Some(cond) if is_silent(cx.func, cond) => {
            let known: Vec<_> = inits.iter().map(|v| consts::constant(cx.types, cx.func, *v)).collect();
            let args = &cx.func.regions[cond].args;
            let first = Trial::new(cx.types, cx.func, args, &known).value(cx.func.exit(cond).operands[0]);
            first.map(|c| c == Const::Bool(true))
        }
        Some(_) => None,
    };
    if runs == Some(false) { Change::Values(inits) } else { Change::Keep }
}

/// Whether nobody notices if a region of straight code does not run.
pub(crate) fn is_silent(func: &Func, region: Region) -> bool {
    let mut ops = func.regions[region].insts.iter().map(|inst| &func.insts[*inst].op);
    ops.all(|op| matches!(op.effect(), Effect::None | Effect::Read) || *op == Op::Yield)
}

/// The one side of a choice whose condition is known.
fn select(cx: &Rewriter<'_>, inst: Inst, truth: Option<bool>) -> Change {
    let data = &cx.func.insts[inst];
    let uniform = match consts::uniform(cx.types, cx.func, data.operands[0]) {
        Some(Const::Bool(side)) => Some(side),
        Some(Const::Int(_) | Const::Float(_)) | None => None,
    };
    match truth.or(uniform) {
        Some(true) => Change::value(data.operands[1]),
        Some(false) => Change::value(data.operands[2]),
        None => Change::Keep,
    }
}

/// An operation whose lanes do not correspond one to one.
fn scalars_only(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let result = cx.func.insts[inst].results[0];
    if matches!(cx.types.get(cx.func.ty(result)), Type::Scalar(_)) { numbers(cx, inst) } else { Change::Keep }
}

/// An element-wise operation on constants.
fn numbers(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let (from, ty) = (cx.func.ty(data.operands[0]), cx.func.ty(data.results[0]));
    let (Some(from), Some(to)) = (cx.types.scalar_of(from), cx.types.scalar_of(ty)) else {
        return Change::Keep;
    };
    let Some(operands) = data.operands.iter().map(|v| lanes(cx, *v)).collect::<Option<Vec<_>>>() else {
        return Change::Keep;
    };
    let (eval, count) = (cx.types.eval(), operands[0].len());
    let lane = |i: usize| {
        let constants: SmallVec<[Const; 3]> = operands.iter().map(|lanes| lanes[i]).collect();
        scalar_op(eval, &data.op, from, to, &constants)
    };
    let Some(result) = (0..count).map(lane).collect::<Option<SmallVec<[Const; 4]>>>() else {
        return Change::Keep;
    };
    let of_zero = data.operands.iter().any(|v| is_zero(cx.func, *v));
    if of_zero && result.iter().all(|c| *c == consts::zero(to)) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    // A negative zero is not `zero`, and NaN is not either: where they may be linear they stay as they are.
    if of_zero && result.iter().any(is_zero_or_nan) && data.op.linear() != Linear::No {
        return Change::Keep;
    }
    write(cx, inst, ty, to, &result)
}

/// Whether a constant is what a linear operation makes of zero without being `zero`.
fn is_zero_or_nan(constant: &Const) -> bool {
    matches!(constant, Const::Float(bits) if f64::from_bits(*bits) == 0.0 || f64::from_bits(*bits).is_nan())
}

/// Makes `inst` the constant with these lanes.
fn write(cx: &mut Rewriter<'_>, inst: Inst, ty: Ty, scalar: Scalar, lanes: &[Const]) -> Change {
    if matches!(cx.types.get(ty), Type::Scalar(_)) {
        return cx.become_(inst, Op::Const(lanes[0]), &[]);
    }
    let part = cx.types.scalar(scalar);
    if lanes.iter().all(|lane| *lane == lanes[0]) {
        let part = cx.constant(lanes[0], part, inst);
        return cx.become_(inst, Op::Splat, &[part]);
    }
    if !matches!(cx.types.get(ty), Type::Vector(..)) {
        return Change::Keep;
    }
    let parts: Vec<Value> = lanes.iter().map(|lane| cx.constant(*lane, part, inst)).collect();
    cx.become_(inst, Op::Pack, &parts)
}

/// The constants a number is made of, row by row.
fn lanes(cx: &Rewriter<'_>, value: Value) -> Option<SmallVec<[Const; 4]>> {
    let count = match cx.types.get(cx.func.ty(value)) {
        Type::Scalar(_) => 1,
        Type::Vector(_, n) => usize::from(n),
        Type::Matrix(_, r, c) => usize::from(r) * usize::from(c),
        Type::Unit | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => return None,
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => return None,
    };
    if let Some(constant) = consts::uniform(cx.types, cx.func, value) {
        return Some(SmallVec::from_elem(constant, count));
    }
    let data = cx.func.def(value)?;
    let Op::Pack = data.op else { return None };
    let mut all = SmallVec::new();
    for &part in &data.operands {
        all.extend(lanes(cx, part)?);
    }
    Some(all)
}
