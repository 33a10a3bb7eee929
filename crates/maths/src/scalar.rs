//! The [`Machine`](crate::Machine) that computes with numbers.

use crate::{Machine, Rare};

/// One number at a time, computed at once.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scalar;

impl Machine for Scalar {
    type Float = f32;
    type Int = i32;
    type Truth = bool;
    type Double = f64;

    fn float(&mut self, value: f32) -> f32 {
        value
    }
    fn int(&mut self, value: i32) -> i32 {
        value
    }
    fn double(&mut self, value: f64) -> f64 {
        value
    }

    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    fn select(&mut self, cond: bool, a: f32, b: f32) -> f32 {
        if cond { a } else { b }
    }

    fn bits(&mut self, a: f32) -> i32 {
        a.to_bits() as i32
    }
    fn float_of_bits(&mut self, a: i32) -> f32 {
        f32::from_bits(a as u32)
    }
    fn float_of(&mut self, a: i32) -> f32 {
        a as f32
    }
    fn int_add(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    fn int_sub(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    fn int_and(&mut self, a: i32, b: i32) -> i32 {
        a & b
    }
    fn int_or(&mut self, a: i32, b: i32) -> i32 {
        a | b
    }
    fn int_xor(&mut self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    fn int_shl(&mut self, a: i32, n: u32) -> i32 {
        a << n
    }
    fn int_shr(&mut self, a: i32, n: u32) -> i32 {
        a >> n
    }
    fn int_eq(&mut self, a: i32, b: i32) -> bool {
        a == b
    }
    fn is_odd(&mut self, a: i32) -> bool {
        a & 1 != 0
    }

    fn both(&mut self, a: bool, b: bool) -> bool {
        a & b
    }
    fn either(&mut self, a: bool, b: bool) -> bool {
        a | b
    }

    fn widen(&mut self, a: f32) -> f64 {
        a.into()
    }
    fn narrow(&mut self, a: f64) -> f32 {
        a as f32
    }
    fn double_add(&mut self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn double_sub(&mut self, a: f64, b: f64) -> f64 {
        a - b
    }
    fn double_mul(&mut self, a: f64, b: f64) -> f64 {
        a * b
    }
    fn double_div(&mut self, a: f64, b: f64) -> f64 {
        a / b
    }
    fn double_sqrt(&mut self, a: f64) -> f64 {
        a.sqrt()
    }
    fn double_select(&mut self, cond: bool, a: f64, b: f64) -> f64 {
        if cond { a } else { b }
    }
    fn low_word(&mut self, a: f64) -> i32 {
        a.to_bits() as i32
    }
    fn high_word(&mut self, a: f64) -> i32 {
        (a.to_bits() >> 32) as i32
    }
    fn double_of_words(&mut self, low: i32, high: i32) -> f64 {
        f64::from_bits(u64::from(high as u32) << 32 | u64::from(low as u32))
    }

    fn or_rare(&mut self, is_usual: bool, usual: f32, function: Rare, a: f32, b: f32) -> f32 {
        if is_usual { usual } else { function.call(a, b) }
    }
}
