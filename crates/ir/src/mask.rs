//! Masks: one flag for each input, output or tangent of a function.
//!
//! A mask says, for example, which inputs are active or which outputs have a cotangent. The name of the field or parameter
//! says what the flag means. The type says what the flags are for, so that a mask of inputs cannot be used for outputs.
//!
//! | type | has an answer for each |
//! | --- | --- |
//! | [`InputMask`] | input of a function: `in` and `inout` parameters, in order |
//! | [`OutputMask`] | output of a function: its result, then `out` and `inout` parameters |
//! | [`TangentMask`] | tangent input of a linear half: the inputs of the function that are active |
//! | [`SlotMask`] | value that an exit carries: a slot of a loop, or a result of a branch |

use std::marker::PhantomData;
use std::ops::Deref;

/// A mask about something.
pub struct Mask<Of> {
    bits: Box<[bool]>,
    of: PhantomData<fn() -> Of>,
}

/// The inputs of a function.
pub enum Inputs {}
/// The outputs of a function.
pub enum Outputs {}
/// The tangent inputs of a linear half.
pub enum Tangents {}

/// The values that an exit carries.
pub enum Slots {}

/// An answer for each input of a function.
pub type InputMask = Mask<Inputs>;
/// An answer for each output of a function. For a linear half those are the tangents of the active outputs.
pub type OutputMask = Mask<Outputs>;
/// An answer for each tangent input of a linear half.
pub type TangentMask = Mask<Tangents>;
/// An answer for each value that an exit carries.
pub type SlotMask = Mask<Slots>;

impl<Of> Mask<Of> {
    /// The same answer for all of `len`.
    pub fn filled(answer: bool, len: usize) -> Self {
        std::iter::repeat_n(answer, len).collect()
    }

    /// Changes an answer to yes.
    pub fn set(&mut self, index: usize) {
        self.bits[index] = true;
    }

    /// Whether some answer is yes.
    pub fn any(&self) -> bool {
        self.bits.contains(&true)
    }

    /// The items whose answer is yes.
    pub fn choose<T>(&self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().zip(&self.bits).filter(|(_, bit)| **bit).map(|(item, _)| item)
    }
}

impl<Of> Deref for Mask<Of> {
    type Target = [bool];

    fn deref(&self) -> &[bool] {
        &self.bits
    }
}

impl<Of> FromIterator<bool> for Mask<Of> {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        Mask { bits: bits.into_iter().collect(), of: PhantomData }
    }
}

impl<'a, Of> IntoIterator for &'a Mask<Of> {
    type Item = &'a bool;
    type IntoIter = std::slice::Iter<'a, bool>;

    fn into_iter(self) -> Self::IntoIter {
        self.bits.iter()
    }
}

impl<Of> Default for Mask<Of> {
    fn default() -> Self {
        Mask::filled(false, 0)
    }
}

impl<Of> Clone for Mask<Of> {
    fn clone(&self) -> Self {
        Mask { bits: self.bits.clone(), of: PhantomData }
    }
}

impl<Of> PartialEq for Mask<Of> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<Of> Eq for Mask<Of> {}

impl<Of> std::hash::Hash for Mask<Of> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<Of> std::fmt::Debug for Mask<Of> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bits.fmt(f)
    }
}
