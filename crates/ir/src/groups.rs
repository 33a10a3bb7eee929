//! Groups of operations and types, as patterns.
//!
//! A `match` that treats most operations alike names their groups instead of a hundred rows, and needs no wildcard arm: an operation
//! that is added to the table must be added to a group here, and so every `match` says what becomes of it. Groups are joined with
//! `|`, in one macro or with other patterns:
//!
//! ```
//! use cotangent_ir::{Op, op_group};
//!
//! fn may_leave(op: &Op) -> bool {
//!     match op {
//!         op_group!(exit | control | call) => true,
//!         op_group!(pure | memory | pointer | texture | threads | host | pixel) => false,
//!     }
//! }
//! assert!(may_leave(&Op::Return));
//! ```
//!
//! The groups of each macro are disjoint, but for those that are made of others (`pure`, `plain`), and cover all rows: the tests
//! below do not compile otherwise. A `match` that treats one member of a group specially may name the group in a later arm for the
//! other members. Where a new member would need a decision, list the members.

/// Operations of some groups: `constant`, `number`, `aggregate`, `sum`, `memory`, `pointer`, `texture`, `threads`, `host`, `pixel`,
/// `call`, `control`, `exit`. `pure` is what computes values from values, `plain` all but calls, control and exits.
#[macro_export]
macro_rules! op_group {
    (constant) => { $crate::Op::Const(_) | $crate::Op::Zero | $crate::Op::Undef };
    (number) => {
        $crate::Op::Math(_)
            | $crate::Op::Select
            | $crate::Op::Convert
            | $crate::Op::Bitcast
            | $crate::Op::Splat
            | $crate::Op::Sum
            | $crate::Op::Swizzle(_)
            | $crate::Op::Dot
            | $crate::Op::MatVec
            | $crate::Op::VecMat
            | $crate::Op::MatMat
            | $crate::Op::Outer
            | $crate::Op::Transpose
    };
    (aggregate) => { $crate::Op::Pack | $crate::Op::Extract(_) | $crate::Op::Insert(_) | $crate::Op::InsertAdd(_) };
    (sum) => { $crate::Op::Inject(_) | $crate::Op::Project(_) | $crate::Op::Tag };
    (pure) => { $crate::op_group!(constant | number | aggregate | sum) | $crate::Op::Detach };
    (memory) => { $crate::Op::Global(_) | $crate::Op::Load(_) | $crate::Op::Store(_) | $crate::Op::Atomic(_) };
    (pointer) => {
        $crate::Op::Point(_) | $crate::Op::Offset | $crate::Op::Address | $crate::Op::Pointer | $crate::Op::Length
    };
    (texture) => { $crate::Op::Sample(_) | $crate::Op::Texel | $crate::Op::StoreTexel | $crate::Op::Dimensions };
    (threads) => { $crate::Op::Barrier(_) | $crate::Op::Wave(_) };
    (host) => { $crate::Op::Print(_) | $crate::Op::TargetText(_) | $crate::Op::Assert(_) };
    (pixel) => { $crate::Op::Discard | $crate::Op::Screen(_) };
    (plain) => { $crate::op_group!(pure | memory | pointer | texture | threads | host | pixel) };
    (call) => { $crate::Op::Call(_) | $crate::Op::DiffCall(_) | $crate::Op::LinCall(_) };
    (control) => { $crate::Op::If | $crate::Op::Switch(_) | $crate::Op::While(_) | $crate::Op::For(_) };
    (exit) => { $crate::Op::Yield | $crate::Op::Break(_) | $crate::Op::Continue(_) | $crate::Op::Return };
    ($($group:ident)|+) => { $($crate::op_group!($group))|+ };
}

/// Element-wise operations of some groups: `arithmetic`, `logic`, `bits`, `compare`, `test`, `round`, `elementary` (all others on
/// floats).
#[macro_export]
macro_rules! math_group {
    (arithmetic) => {
        $crate::Math::Add
            | $crate::Math::Sub
            | $crate::Math::Mul
            | $crate::Math::Div
            | $crate::Math::Rem
            | $crate::Math::Neg
            | $crate::Math::Abs
            | $crate::Math::Sign
            | $crate::Math::Min
            | $crate::Math::Max
            | $crate::Math::Fma
    };
    (logic) => { $crate::Math::And | $crate::Math::Or | $crate::Math::Xor | $crate::Math::Not };
    (bits) => {
        $crate::Math::Shl
            | $crate::Math::Shr
            | $crate::Math::CountBits
            | $crate::Math::FirstBitLow
            | $crate::Math::FirstBitHigh
            | $crate::Math::ReverseBits
    };
    (compare) => {
        $crate::Math::Eq
            | $crate::Math::Ne
            | $crate::Math::Lt
            | $crate::Math::Le
            | $crate::Math::Gt
            | $crate::Math::Ge
    };
    (test) => { $crate::Math::IsNan | $crate::Math::IsInf };
    (round) => {
        $crate::Math::Floor
            | $crate::Math::Ceil
            | $crate::Math::Round
            | $crate::Math::RoundEven
            | $crate::Math::Trunc
    };
    (elementary) => {
        $crate::Math::Sqrt
            | $crate::Math::Rsqrt
            | $crate::Math::Exp
            | $crate::Math::Exp2
            | $crate::Math::Log
            | $crate::Math::Log2
            | $crate::Math::Log10
            | $crate::Math::Pow
            | $crate::Math::Sin
            | $crate::Math::Cos
            | $crate::Math::Tan
            | $crate::Math::Asin
            | $crate::Math::Acos
            | $crate::Math::Atan
            | $crate::Math::Atan2
            | $crate::Math::Sinh
            | $crate::Math::Cosh
            | $crate::Math::Tanh
            | $crate::Math::Asinh
            | $crate::Math::Acosh
            | $crate::Math::Atanh
    };
    ($($group:ident)|+) => { $($crate::math_group!($group))|+ };
}

/// Types of some groups: `unit`, `number`, `composite` (arrays, structures and sums), `handle` (buffers, textures and their kind,
/// pointers).
#[macro_export]
macro_rules! type_group {
    (unit) => { $crate::Type::Unit };
    (number) => { $crate::Type::Scalar(_) | $crate::Type::Vector(..) | $crate::Type::Matrix(..) };
    (composite) => { $crate::Type::Array(..) | $crate::Type::Struct(_) | $crate::Type::Sum(_) };
    (handle) => { $crate::Type::Buffer(..) | $crate::Type::Opaque(_) | $crate::Type::Ref(_) };
    ($($group:ident)|+) => { $($crate::type_group!($group))|+ };
}

#[cfg(test)]
mod tests {
    use crate::{Math, Op, Type};

    /// A row in no group, or in two, is a mistake that the compiler reports here.
    #[deny(unreachable_patterns)]
    fn group_of(op: &Op) -> &'static str {
        match op {
            op_group!(constant) => "constant",
            op_group!(number) => "number",
            op_group!(aggregate) => "aggregate",
            op_group!(sum) => "sum",
            Op::Detach => "detach",
            op_group!(memory) => "memory",
            op_group!(pointer) => "pointer",
            op_group!(texture) => "texture",
            op_group!(threads) => "threads",
            op_group!(host) => "host",
            op_group!(pixel) => "pixel",
            op_group!(call) => "call",
            op_group!(control) => "control",
            op_group!(exit) => "exit",
        }
    }

    #[deny(unreachable_patterns)]
    fn group_of_math(math: Math) -> &'static str {
        match math {
            math_group!(arithmetic) => "arithmetic",
            math_group!(logic) => "logic",
            math_group!(bits) => "bits",
            math_group!(compare) => "compare",
            math_group!(test) => "test",
            math_group!(round) => "round",
            math_group!(elementary) => "elementary",
        }
    }

    #[deny(unreachable_patterns)]
    fn group_of_type(ty: &Type) -> &'static str {
        match ty {
            type_group!(unit) => "unit",
            type_group!(number) => "number",
            type_group!(composite) => "composite",
            type_group!(handle) => "handle",
        }
    }

    #[test]
    fn every_row_has_one_group() {
        assert_eq!(group_of(&Op::Math(Math::Add)), "number");
        assert_eq!(group_of(&Op::Return), "exit");
        assert_eq!(group_of_math(Math::Atanh), "elementary");
        assert_eq!(group_of_type(&Type::Unit), "unit");
        let effects = [Op::Zero, Op::Select, Op::Pack, Op::Tag, Op::Detach];
        assert!(effects.iter().all(|op| matches!(op, op_group!(pure)) && op.effect() == crate::Effect::None));
    }
}
