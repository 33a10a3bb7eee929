//! Which values are constants, and when two values are one.

use cotangent_base::Scalar;
use cotangent_ir::{Const, Func, Op, Type, Types, Value};

/// The constant `value` is, if it is a scalar one. A scalar `zero` counts.
pub(crate) fn constant(types: &Types, func: &Func, value: Value) -> Option<Const> {
    if let Some(Op::Const(constant)) = func.op(value) {
        return Some(*constant);
    }
    match types.get(func.ty(value)) {
        Type::Scalar(scalar) if is_zero(func, value) => Some(zero(scalar)),
        _ => None,
    }
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

/// Zero of a scalar type.
pub(crate) fn zero(scalar: Scalar) -> Const {
    match scalar {
        Scalar::Bool => Const::Bool(false),
        s if s.is_float() => Const::float(0.0),
        _ => Const::Int(0),
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
