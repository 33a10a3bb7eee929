//! Tells which values are constants, and whether two values are equal.

pub(crate) use cotangent_ir::eval::zero;
use cotangent_ir::{Const, Func, Op, Type, Types, Value};

/// The constant `value` is, if it is a scalar one, in the form in which [`eval`](cotangent_ir::eval) holds it. A scalar
/// `zero` counts.
pub(crate) fn constant(types: &Types, func: &Func, value: Value) -> Option<Const> {
    let Type::Scalar(scalar) = types.get(func.ty(value)) else {
        return None;
    };
    if let Some(Op::Const(constant)) = func.op(value) {
        return Some(types.eval().constant(*constant, scalar));
    }
    is_zero(func, value).then(|| zero(scalar))
}

/// The constant every scalar of `value` is: it is a constant, a splat of one, or `zero`.
pub(crate) fn uniform(types: &Types, func: &Func, value: Value) -> Option<Const> {
    let data = func.def(value)?;
    if let Op::Splat = data.op {
        return uniform(types, func, data.operands[0]);
    }
    if let Op::Zero = data.op {
        return types.scalar_of(func.ty(value)).map(zero);
    }
    constant(types, func, value)
}

/// The integer `value` is.
pub(crate) fn int(types: &Types, func: &Func, value: Value) -> Option<i64> {
    match constant(types, func, value)? {
        Const::Int(n) => Some(n),
        Const::Bool(_) | Const::Float(_) => None,
    }
}

/// The truth value `value` is.
pub(crate) fn bool(types: &Types, func: &Func, value: Value) -> Option<bool> {
    match constant(types, func, value)? {
        Const::Bool(b) => Some(b),
        Const::Int(_) | Const::Float(_) => None,
    }
}

/// Whether `value` is made by `zero`.
pub(crate) fn is_zero(func: &Func, value: Value) -> bool {
    matches!(func.op(value), Some(Op::Zero))
}

/// Whether two values are equal because they are one value or the same constant.
pub(crate) fn same(func: &Func, a: Value, b: Value) -> bool {
    if a == b {
        return true;
    }
    let is_const = matches!(func.op(a), Some(Op::Const(_)));
    is_const && func.op(a) == func.op(b) && func.ty(a) == func.ty(b)
}
