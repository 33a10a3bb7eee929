//! The table of element-wise operations.

use crate::op::Linear;
use cotangent_base::Scalar;

/// What an element-wise operation takes and gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Integers and floats; gives the same type.
    Number,
    /// Floats; gives the same type.
    Float,
    /// Integers; gives the same type.
    Integer,
    /// Integers and booleans; gives the same type.
    Bits,
    /// Any scalars; gives booleans of the same shape.
    Compare,
    /// Floats; gives booleans of the same shape.
    Test,
}

impl Class {
    /// Whether the operations are defined on numbers of this kind.
    pub fn takes(self, scalar: Scalar) -> bool {
        match self {
            Class::Number => scalar != Scalar::Bool,
            Class::Float | Class::Test => scalar.is_float(),
            Class::Integer => scalar.is_int(),
            Class::Bits => !scalar.is_float(),
            Class::Compare => true,
        }
    }
}

macro_rules! math {
    ($($(#[$doc:meta])* $name:ident $text:literal $arity:literal $class:ident $linear:ident;)*) => {
        /// Element-wise operations. All operands have one type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Math { $($(#[$doc])* $name,)* }

        impl Math {
            /// Every element-wise operation.
            pub const ALL: &[Math] = &[$(Math::$name),*];

            /// The name in IR text.
            pub const fn name(self) -> &'static str {
                match self { $(Math::$name => $text,)* }
            }
            /// How many operands it takes.
            pub const fn arity(self) -> usize {
                match self { $(Math::$name => $arity,)* }
            }
            /// What it takes and gives.
            pub const fn class(self) -> Class {
                match self { $(Math::$name => Class::$class,)* }
            }
            /// In which operands it is linear (on floats).
            pub const fn linear(self) -> Linear {
                match self { $(Math::$name => Linear::$linear,)* }
            }
        }
    };
}

math! {
    /// `a + b`; integers wrap.
    Add "add" 2 Number Jointly;
    /// `a - b`; integers wrap.
    Sub "sub" 2 Number Jointly;
    /// `a * b`; integers wrap.
    Mul "mul" 2 Number Each;
    /// `a / b`; integers truncate towards zero, and division by zero traps.
    Div "div" 2 Number First;
    /// `a % b`, with the sign of `a`; integer division by zero traps.
    Rem "rem" 2 Number No;
    /// `-a`.
    Neg "neg" 1 Number Jointly;
    /// Magnitude.
    Abs "abs" 1 Number No;
    /// -1, 0 or 1, in the type of the operand.
    Sign "sign" 1 Number No;
    /// The smaller; if one is NaN, the other.
    Min "min" 2 Number No;
    /// The larger; if one is NaN, the other.
    Max "max" 2 Number No;
    /// `a * b + c`, rounded once.
    Fma "fma" 3 Float No;
    /// Bitwise and; logical on booleans, without short circuit.
    And "and" 2 Bits No;
    /// Bitwise or.
    Or "or" 2 Bits No;
    /// Bitwise exclusive or.
    Xor "xor" 2 Bits No;
    /// Bitwise complement; logical on booleans.
    Not "not" 1 Bits No;
    /// `a << b`; the amount is taken modulo the width.
    Shl "shl" 2 Integer No;
    /// `a >> b`, arithmetic if signed; the amount is taken modulo the width.
    Shr "shr" 2 Integer No;
    /// Number of one bits.
    CountBits "countbits" 1 Integer No;
    /// Index of the lowest one bit; all ones if there is none.
    FirstBitLow "firstbitlow" 1 Integer No;
    /// Index of the highest bit that differs from the sign; all ones if there is none.
    FirstBitHigh "firstbithigh" 1 Integer No;
    /// Bits in reverse order.
    ReverseBits "reversebits" 1 Integer No;
    /// `a == b`.
    Eq "eq" 2 Compare No;
    /// `a != b`.
    Ne "ne" 2 Compare No;
    /// `a < b`.
    Lt "lt" 2 Compare No;
    /// `a <= b`.
    Le "le" 2 Compare No;
    /// `a > b`.
    Gt "gt" 2 Compare No;
    /// `a >= b`.
    Ge "ge" 2 Compare No;
    /// Whether it is NaN.
    IsNan "isnan" 1 Test No;
    /// Whether it is an infinity.
    IsInf "isinf" 1 Test No;
    /// Largest integer not above.
    Floor "floor" 1 Float No;
    /// Smallest integer not below.
    Ceil "ceil" 1 Float No;
    /// Nearest integer, halves away from zero.
    Round "round" 1 Float No;
    /// Nearest integer, halves to even.
    RoundEven "round_even" 1 Float No;
    /// Integer part.
    Trunc "trunc" 1 Float No;
    /// Square root.
    Sqrt "sqrt" 1 Float No;
    /// `1 / sqrt(a)`.
    Rsqrt "rsqrt" 1 Float No;
    /// Exponential.
    Exp "exp" 1 Float No;
    /// Power of two.
    Exp2 "exp2" 1 Float No;
    /// Natural logarithm.
    Log "log" 1 Float No;
    /// Logarithm to base 2.
    Log2 "log2" 1 Float No;
    /// Logarithm to base 10.
    Log10 "log10" 1 Float No;
    /// `a` to the power `b`.
    Pow "pow" 2 Float No;
    /// Sine.
    Sin "sin" 1 Float No;
    /// Cosine.
    Cos "cos" 1 Float No;
    /// Tangent.
    Tan "tan" 1 Float No;
    /// Inverse sine.
    Asin "asin" 1 Float No;
    /// Inverse cosine.
    Acos "acos" 1 Float No;
    /// Inverse tangent.
    Atan "atan" 1 Float No;
    /// Angle of the point (`b`, `a`).
    Atan2 "atan2" 2 Float No;
    /// Hyperbolic sine.
    Sinh "sinh" 1 Float No;
    /// Hyperbolic cosine.
    Cosh "cosh" 1 Float No;
    /// Hyperbolic tangent.
    Tanh "tanh" 1 Float No;
    /// Inverse hyperbolic sine.
    Asinh "asinh" 1 Float No;
    /// Inverse hyperbolic cosine.
    Acosh "acosh" 1 Float No;
    /// Inverse hyperbolic tangent.
    Atanh "atanh" 1 Float No;
}
