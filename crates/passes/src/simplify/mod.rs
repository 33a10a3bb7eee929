//! Algebraic simplification: replaces an operation by a simpler one with the same result.
//!
//! ```text
//! struct $S { x: f32, y: f32 }
//! func @f(%s: $S, %x: f32, %y: f32) -> f32 {
//!   %a: $S = insert %s, %x [0]
//!   %b: $S = insert %a, %y [1]
//!   %c: f32 = extract %b [0]
//!   %z: f32 = zero
//!   %d: f32 = add %c, %z
//!   return %d
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! struct $S { x: f32, y: f32 }
//! func @f(%s: $S, %x: f32, %y: f32) -> f32 {
//!   return %x
//! }
//! ```
//!
//! There are six families, a file each: numbers (`arith`), aggregates (`parts`), sums (`sums`), vectors (`lanes`),
//! values passed through loops and branches (`carried`), and counters that are equal (`lockstep`).
//!
//! **Floats** are simplified only if the result is the same for every operand, including infinities and NaN: `x * 0` stays.
//! One exception: the operation `zero`, unlike the constant, has no sign, so `x + zero` is `x` and `-zero` is `zero`.
//! Derivative passes emit `zero` for "no contribution".
//!
//! **Old versions stay dead.** Aggregates are usually updated in place, so a read of the version before an update would force
//! a copy of the whole aggregate. Rules therefore look past an `insert` only to find the inserted value, or if the aggregate
//! is small.
//!
//! **Indices out of bounds still trap.** A value inserted at a dynamic index is forwarded only if the index is provably in
//! bounds ([`bounds`](crate::bounds)). Otherwise the `insert` might trap, and removing it would remove the trap.
//!
//! The pass does not evaluate constants ([`fold`](crate::fold)), does not find equal computations ([`cse`](crate::cse)), and
//! leaves dead instructions to [`dce`](crate::dce).

mod arith;
mod carried;
mod lanes;
mod lockstep;
mod parts;
mod sums;

use crate::bounds::Bounds;
use crate::pass::When;
use crate::rewrite::{Change, Rewriter, Rules, rewrite};
use cotangent_ir::{Func, Inst, Op, Types, op_group};

/// Simplifies `func`. Says whether anything changed.
pub fn simplify(types: &mut Types, func: &mut Func, when: When) -> bool {
    let mut carried = carried::carried(types, func);
    if when == When::Last {
        carried |= lockstep::lockstep(types, func);
    }
    rewrite(types, func, &mut Simplify { bounds: Bounds::default(), when }) | carried
}

struct Simplify {
    bounds: Bounds,
    when: When,
}

impl Rules for Simplify {
    fn enter(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change {
        self.bounds.enter(cx.func, inst);
        Change::Keep
    }

    fn leave(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change {
        match &cx.func.insts[inst].op {
            Op::Math(math) => arith::math(cx, inst, *math),
            Op::Select => arith::select(cx, inst),
            Op::Convert | Op::Bitcast => arith::convert(cx, inst, self.when),
            Op::Detach => arith::detach(cx, inst),
            Op::Splat | Op::Sum | Op::Transpose => lanes::of_zero(cx, inst),
            Op::Swizzle(_) => lanes::swizzle(cx, inst),
            Op::Pack => parts::pack(cx, inst),
            Op::Extract(_) => parts::extract(cx, &self.bounds, inst),
            Op::Insert(_) => parts::insert(cx, &self.bounds, inst),
            Op::InsertAdd(_) => parts::insert_add(cx, inst),
            Op::Project(member) => sums::project(cx, inst, *member),
            Op::Tag => sums::tag(cx, inst),
            Op::If | Op::Switch(_) => carried::choice(cx, inst),
            Op::Const(_) | Op::Zero | Op::Undef | Op::Inject(_) => Change::Keep,
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => Change::Keep,
            Op::While(_) | Op::For(_) => Change::Keep,
            op_group!(memory | pointer | texture | threads | host | pixel | call | exit) => Change::Keep,
        }
    }
}
