//! Emits 8- and 16-bit integers as 32-bit integers.
//!
//! The upper bits are the sign extension of a signed integer, and zero for an unsigned one. [`FuncEmitter::wrapped`] restores
//! them after operations that may change them.

use crate::func::FuncEmitter;
use crate::words::is_narrow;
use cotangent_base::Scalar;
use cotangent_ir::Op;
use naga::{BinaryOperator, Expression, Handle, Literal, VectorSize};

/// Whether an operation computes its numbers, so that they may have bits that a narrow integer does not.
pub(crate) fn may_overflow(op: &Op) -> bool {
    let product = matches!(op, Op::Dot | Op::Sum | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer);
    product || matches!(op, Op::Math(_) | Op::Convert | Op::Bitcast)
}

impl FuncEmitter<'_, '_> {
    /// `value` in the bits that `s` has; `lanes` if it is a vector.
    pub fn wrapped(
        &mut self,
        value: Handle<Expression>,
        s: Scalar,
        lanes: Option<VectorSize>,
    ) -> Handle<Expression> {
        if !is_narrow(s) {
            return value;
        }
        let constant = |e: &mut Self, literal| {
            let one = e.expr(Expression::Literal(literal));
            lanes.map_or(one, |size| e.expr(Expression::Splat { size, value: one }))
        };
        if !s.is_signed() {
            let right = constant(self, Literal::U32(u32::MAX >> (32 - s.bits())));
            return self.expr(Expression::Binary { op: BinaryOperator::And, left: value, right });
        }
        let right = constant(self, Literal::U32(32 - s.bits()));
        let left = self.expr(Expression::Binary { op: BinaryOperator::ShiftLeft, left: value, right });
        self.expr(Expression::Binary { op: BinaryOperator::ShiftRight, left, right })
    }
}
