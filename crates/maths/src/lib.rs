//! Elementary functions on binary32, defined once for every back end that runs on a CPU.
//!
//! Each function is written over [`Machine`], a small set of operations that every CPU computes in the same way: IEEE arithmetic,
//! comparisons, selection and bit patterns. An implementation of `Machine` decides what running an operation means.
//! [`Scalar`] computes with numbers; a code generator emits an instruction, for one lane or for a vector of them. So the
//! interpreter and native code, scalar or in lanes, agree bit for bit on every host.
//!
//! What makes that work:
//!
//! - No fused multiply-add, no table, no host library. Every operation rounds once, to its type.
//! - No branches. Where an argument needs a rare and costly algorithm, [`Machine::or_rare`] replaces the result by that of a
//!   plain Rust function ([`Rare`]), per lane, if any lane asks for it.
//! - Where binary32 is too narrow on the way (range reduction, powers, inverse functions), the functions compute in
//!   binary64 ([`Machine::Double`]).
//!
//! Errors are at most 2 ulp for all arguments; `cargo xtask ulp` measures them over all of binary32. Infinities, NaN,
//! signed zeros and subnormal numbers are as IEEE 754 recommends.
//!
//! | module | functions |
//! | --- | --- |
//! | `power` | `exp`, `exp2`, `log`, `log2`, `log10`, `pow` |
//! | `circular` | `sin`, `cos`, `tan`, and their reduction by multiples of a quarter turn |
//! | `inverse` | `asin`, `acos`, `atan`, `atan2` |
//! | `hyperbolic` | `sinh`, `cosh`, `tanh`, `asinh`, `acosh`, `atanh` |
//! | `remainder` | `rem` |
//!
//! The coefficients of polynomials are minimax fits of ours; a comment gives the interval and error of each.

mod circular;
mod hyperbolic;
mod inverse;
mod power;
mod remainder;
mod scalar;

pub use circular::{cos, sin, tan};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use inverse::{acos, asin, atan, atan2};
pub use power::{exp, exp2, log, log2, log10, pow};
pub use remainder::rem;
pub use scalar::Scalar;

/// The operations that elementary functions are made of.
///
/// Arithmetic is that of IEEE 754, rounding to nearest even; a NaN may have any payload. Integers have 32 bits (those of a
/// [`Float`](Self::Float)) or 64 (of a [`Double`](Self::Double)) and wrap.
pub trait Machine {
    /// A binary32, or a vector of them.
    type Float: Copy;
    /// An integer of 32 bits for each of them.
    type Int: Copy;
    /// A truth value for each of them.
    type Truth: Copy;
    /// A binary64 for each of them.
    type Double: Copy;

    /// A constant.
    fn float(&mut self, value: f32) -> Self::Float;
    /// A constant.
    fn int(&mut self, value: i32) -> Self::Int;
    /// A constant.
    fn double(&mut self, value: f64) -> Self::Double;

    /// `a + b`.
    fn add(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a - b`.
    fn sub(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b`.
    fn mul(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a / b`.
    fn div(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a < b`.
    fn lt(&mut self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// `a == b`.
    fn eq(&mut self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// `a` where `cond` holds, else `b`.
    fn select(&mut self, cond: Self::Truth, a: Self::Float, b: Self::Float) -> Self::Float;

    /// The bits of a float.
    fn bits(&mut self, a: Self::Float) -> Self::Int;
    /// The float of these bits.
    fn float_of_bits(&mut self, a: Self::Int) -> Self::Float;
    /// The float of an integer.
    fn float_of(&mut self, a: Self::Int) -> Self::Float;
    /// `a + b`.
    fn int_add(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `a - b`.
    fn int_sub(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise and.
    fn int_and(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise or.
    fn int_or(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise exclusive or.
    fn int_xor(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `a << n`.
    fn int_shl(&mut self, a: Self::Int, n: u32) -> Self::Int;
    /// `a >> n`, keeping the sign.
    fn int_shr(&mut self, a: Self::Int, n: u32) -> Self::Int;
    /// `a == b`.
    fn int_eq(&mut self, a: Self::Int, b: Self::Int) -> Self::Truth;
    /// Whether the lowest bit is set.
    fn is_odd(&mut self, a: Self::Int) -> Self::Truth;

    /// Both hold.
    fn both(&mut self, a: Self::Truth, b: Self::Truth) -> Self::Truth;
    /// At least one holds.
    fn either(&mut self, a: Self::Truth, b: Self::Truth) -> Self::Truth;

    /// The binary64 that equals a float.
    fn widen(&mut self, a: Self::Float) -> Self::Double;
    /// The nearest float.
    fn narrow(&mut self, a: Self::Double) -> Self::Float;
    /// `a + b`.
    fn double_add(&mut self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// `a - b`.
    fn double_sub(&mut self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// `a * b`.
    fn double_mul(&mut self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// `a / b`.
    fn double_div(&mut self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// The square root.
    fn double_sqrt(&mut self, a: Self::Double) -> Self::Double;
    /// `a` where `cond` holds, else `b`.
    fn double_select(&mut self, cond: Self::Truth, a: Self::Double, b: Self::Double) -> Self::Double;
    /// The low 32 bits of the bits of a binary64.
    fn low_word(&mut self, a: Self::Double) -> Self::Int;
    /// The high 32 bits.
    fn high_word(&mut self, a: Self::Double) -> Self::Int;
    /// The binary64 of these halves.
    fn double_of_words(&mut self, low: Self::Int, high: Self::Int) -> Self::Double;

    /// `usual` where `is_usual` holds, else `function(a, b)`, which is rare.
    fn or_rare(
        &mut self,
        is_usual: Self::Truth,
        usual: Self::Float,
        function: Rare,
        a: Self::Float,
        b: Self::Float,
    ) -> Self::Float;
}

/// A function for arguments that its polynomial does not cover. It ignores the second argument if it takes one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rare {
    /// `sin` of an argument that needs more bits of the circle's ratio than binary64 has.
    Sin,
    /// `cos` of such an argument.
    Cos,
    /// `tan` of such an argument.
    Tan,
    /// The remainder of a division whose quotient has more than 29 bits.
    Rem,
}

impl Rare {
    /// Every rare function.
    pub const ALL: [Rare; 4] = [Rare::Sin, Rare::Cos, Rare::Tan, Rare::Rem];

    /// Computes it.
    pub fn call(self, a: f32, b: f32) -> f32 {
        match self {
            Rare::Sin => circular::rare_sin(a),
            Rare::Cos => circular::rare_cos(a),
            Rare::Tan => circular::rare_tan(a),
            Rare::Rem => a % b,
        }
    }
}

/// `c[0] + c[1] x + c[2] x^2 + ..`, by Horner's rule.
fn polynomial<M: Machine>(m: &mut M, x: M::Float, c: &[f32]) -> M::Float {
    let (last, rest) = c.split_last().expect("a polynomial has a coefficient");
    let last = m.float(*last);
    rest.iter().rev().fold(last, |sum, c| {
        let product = m.mul(sum, x);
        let c = m.float(*c);
        m.add(product, c)
    })
}

/// The same in binary64.
fn double_polynomial<M: Machine>(m: &mut M, x: M::Double, c: &[f64]) -> M::Double {
    let (last, rest) = c.split_last().expect("a polynomial has a coefficient");
    let last = m.double(*last);
    rest.iter().rev().fold(last, |sum, c| {
        let product = m.double_mul(sum, x);
        let c = m.double(*c);
        m.double_add(product, c)
    })
}

/// The magnitude of `x`.
fn abs<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let bits = m.bits(x);
    let mask = m.int(i32::MAX);
    let bits = m.int_and(bits, mask);
    m.float_of_bits(bits)
}

/// `x`, negated where `signs` has its sign bit set.
fn flip_sign<M: Machine>(m: &mut M, x: M::Float, signs: M::Int) -> M::Float {
    let sign = m.int(i32::MIN);
    let sign = m.int_and(signs, sign);
    let bits = m.bits(x);
    let bits = m.int_xor(bits, sign);
    m.float_of_bits(bits)
}

/// `x` with the sign of `y`, of which the magnitude does not matter. `x` is not negative.
fn with_sign_of<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let signs = m.bits(y);
    flip_sign(m, x, signs)
}

/// A float of magnitude below 2^22 rounded to the nearest integer: as a float, and as an integer.
///
/// The sum with 1.5 * 2^23 has its last bit at the units, and the integer in the low bits of its fraction.
fn nearest<M: Machine>(m: &mut M, x: M::Float) -> (M::Float, M::Int) {
    const MAGIC: f32 = 12_582_912.0;
    let magic = m.float(MAGIC);
    let sum = m.add(x, magic);
    let bits = m.bits(sum);
    let offset = m.int(MAGIC.to_bits() as i32);
    (m.sub(sum, magic), m.int_sub(bits, offset))
}

/// The same for a binary64 of magnitude below 2^31.
fn double_nearest<M: Machine>(m: &mut M, x: M::Double) -> (M::Double, M::Int) {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let magic = m.double(MAGIC);
    let sum = m.double_add(x, magic);
    (m.double_sub(sum, magic), m.low_word(sum))
}
