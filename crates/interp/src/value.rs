//! Run-time values of the interpreter.

use crate::pointer::Pointer;
use cotangent_ir::eval::{self, Eval};
use cotangent_ir::{Const, Global, Ty, Type, Types};
use std::sync::Arc;

/// What a sum has in place of the number of a member if it is none.
const UNKNOWN: i64 = -1;

/// A value.
///
/// Parts of an aggregate are shared until they are changed; what has one owner is changed in place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Val {
    /// A value nobody may look at. One who does sees zero, and is counted.
    #[default]
    Undef,
    /// The one value of the unit type.
    Unit,
    /// A scalar, in the form of [`cotangent_ir::eval`].
    Scalar(Const),
    /// The lanes of a vector, rows of a matrix, elements of an array or buffer, fields of a structure; of a sum the
    /// number of the member and what it holds.
    Aggregate(Arc<[Val]>),
    /// A buffer or variable.
    Handle(Global),
    /// A pointer to a part of one.
    Pointer(Arc<Pointer>),
    /// A pointer to nothing.
    Null,
}

impl Val {
    /// A float.
    pub const fn float(value: f64) -> Self {
        Val::Scalar(Const::float(value))
    }

    /// An integer.
    pub const fn int(value: i64) -> Self {
        Val::Scalar(Const::Int(value))
    }

    /// A truth value.
    pub const fn bool(value: bool) -> Self {
        Val::Scalar(Const::Bool(value))
    }

    /// An aggregate of these parts.
    pub fn aggregate(parts: impl IntoIterator<Item = Val>) -> Self {
        Val::Aggregate(parts.into_iter().collect())
    }

    /// A value of a sum type: the number of the member it is, and what it holds.
    pub fn sum(member: u32, value: Val) -> Self {
        Self::aggregate([Val::int(member.into()), value])
    }

    /// A value of a sum type that came from outside with a number that no member has. It can be copied, but not looked at.
    pub fn unknown(id: u32) -> Self {
        Self::aggregate([Val::int(UNKNOWN), Val::int(id.into())])
    }

    /// The number that a value of a sum type came with, if no member has it.
    pub fn unknown_id(&self) -> Option<u32> {
        match self.parts() {
            [tag, id] if tag.as_int() == Some(UNKNOWN) => id.as_int().map(|id| id as u32),
            _ => None,
        }
    }

    /// A vector, array or buffer of floats.
    pub fn floats(values: &[f64]) -> Self {
        Self::aggregate(values.iter().map(|v| Val::float(*v)))
    }

    /// A vector, array or buffer of integers.
    pub fn ints(values: &[i64]) -> Self {
        Self::aggregate(values.iter().map(|v| Val::int(*v)))
    }

    /// All zero: what the host gives where it has nothing better.
    pub fn zero(types: &Types, ty: Ty) -> Self {
        match types.get(ty) {
            Type::Unit => Val::Unit,
            Type::Scalar(s) => Val::Scalar(eval::zero(s)),
            Type::Vector(s, n) => Self::repeat(n.into(), || Val::Scalar(eval::zero(s))),
            Type::Matrix(s, r, c) => {
                Self::repeat(r.into(), || Self::repeat(c.into(), || Val::Scalar(eval::zero(s))))
            }
            Type::Array(elem, n) => Self::repeat(n as usize, || Self::zero(types, elem)),
            Type::Struct(id) => {
                Self::aggregate(types.struct_def(id).fields.iter().map(|f| Self::zero(types, f.ty)))
            }
            Type::Sum(id) => {
                let first = types.struct_def(id).fields.first();
                Self::sum(0, first.map_or(Val::Unit, |member| Self::zero(types, member.ty)))
            }
            Type::Ref(_) => Val::Null,
            Type::Buffer(..) | Type::Opaque(_) => Val::Undef,
        }
    }

    fn repeat(n: usize, make: impl FnMut() -> Val) -> Self {
        Self::aggregate(std::iter::repeat_with(make).take(n))
    }

    /// The float this is, if it is one.
    pub fn as_float(&self) -> Option<f64> {
        if let Val::Scalar(Const::Float(bits)) = self { Some(f64::from_bits(*bits)) } else { None }
    }

    /// The integer this is, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Val::Scalar(Const::Int(value)) = self { Some(*value) } else { None }
    }

    /// The truth value this is, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Val::Scalar(Const::Bool(value)) = self { Some(*value) } else { None }
    }

    /// The parts of an aggregate; none of anything else.
    pub fn parts(&self) -> &[Val] {
        if let Val::Aggregate(parts) = self { parts } else { &[] }
    }

    /// All scalars of this value, in order.
    pub fn scalars(&self) -> Vec<Const> {
        match self {
            Val::Scalar(value) => vec![*value],
            Val::Aggregate(parts) => parts.iter().flat_map(Val::scalars).collect(),
            Val::Undef | Val::Unit | Val::Handle(_) | Val::Pointer(_) | Val::Null => vec![],
        }
    }

    /// Part `index`; of a value nobody may look at, another such value.
    pub fn part(&self, index: usize) -> &Val {
        const UNDEF: Val = Val::Undef;
        match self {
            Val::Aggregate(parts) => &parts[index],
            Val::Undef | Val::Unit | Val::Scalar(_) => &UNDEF,
            Val::Handle(_) | Val::Pointer(_) | Val::Null => &UNDEF,
        }
    }

    /// This value with every scalar in the form of its type, so that a host may give `0.1` for a `float`.
    pub fn conform(&self, types: &Types, ty: Ty, eval: Eval) -> Val {
        let scalar = |value: &Val, s| match value {
            Val::Scalar(c) => Val::Scalar(eval.constant(*c, s)),
            other @ (Val::Undef
            | Val::Unit
            | Val::Aggregate(_)
            | Val::Handle(_)
            | Val::Pointer(_)
            | Val::Null) => other.clone(),
        };
        let all = |parts: &Val, inner: &dyn Fn(usize, &Val) -> Val| match parts {
            Val::Aggregate(parts) => Self::aggregate(parts.iter().enumerate().map(|(i, p)| inner(i, p))),
            other @ (Val::Undef
            | Val::Unit
            | Val::Scalar(_)
            | Val::Handle(_)
            | Val::Pointer(_)
            | Val::Null) => other.clone(),
        };
        match types.get(ty) {
            Type::Scalar(s) => scalar(self, s),
            Type::Vector(s, _) => all(self, &|_, lane| scalar(lane, s)),
            Type::Matrix(s, ..) => all(self, &|_, row| all(row, &|_, lane| scalar(lane, s))),
            Type::Array(elem, _) | Type::Buffer(elem, _) | Type::Ref(elem) => {
                all(self, &|_, part| part.conform(types, elem, eval))
            }
            Type::Struct(id) => {
                let fields = &types.struct_def(id).fields;
                all(self, &|i, part| fields.get(i).map_or(Val::Undef, |f| part.conform(types, f.ty, eval)))
            }
            Type::Sum(id) => {
                let members = &types.struct_def(id).fields;
                let member = self.part(0).as_int().and_then(|tag| members.get(tag as usize));
                all(self, &|i, part| match member {
                    Some(member) if i == 1 => part.conform(types, member.ty, eval),
                    _ => part.clone(),
                })
            }
            Type::Opaque(_) => self.clone(),
            Type::Unit => Val::Unit,
        }
    }
}
