//! Scalar operations against hand-derived values, and against the host's own types where it has them.

use cotangent_base::Scalar;
use cotangent_ir::eval::{Eval, bits, from_bits, index, round, zero};
use cotangent_ir::{Class, Const, Math, Trap};

const NARROW: Eval = Eval { wide: false };
const WIDE: Eval = Eval { wide: true };

fn float(op: Math, scalar: Scalar, operands: &[f64]) -> f64 {
    let operands: Vec<Const> = operands.iter().map(|x| Const::float(*x)).collect();
    match NARROW.math(op, scalar, &operands).unwrap() {
        Const::Float(bits) => f64::from_bits(bits),
        other => panic!("{other:?} is not a float"),
    }
}

fn int(op: Math, scalar: Scalar, operands: &[i64]) -> i64 {
    let operands: Vec<Const> = operands.iter().map(|x| Const::Int(*x)).collect();
    match NARROW.math(op, scalar, &operands).unwrap() {
        Const::Int(value) => value,
        other => panic!("{other:?} is not an integer"),
    }
}

fn test(op: Math, scalar: Scalar, operands: &[Const]) -> bool {
    NARROW.math(op, scalar, operands).unwrap() == Const::Bool(true)
}

/// A deterministic stream of bits.
fn noise(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *seed ^ *seed >> 29
}

#[test]
fn arithmetic_in_binary32_is_that_of_the_host() {
    let mut seed = 1;
    for _ in 0..20_000 {
        let [a, b, c] = [(); 3].map(|()| f32::from_bits(noise(&mut seed) as u32));
        let same = |op, operands: &[f32], want: f32| {
            let wide: Vec<f64> = operands.iter().map(|x| f64::from(*x)).collect();
            let got = float(op, Scalar::F32, &wide) as f32;
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{op:?} {operands:?}");
        };
        same(Math::Add, &[a, b], a + b);
        same(Math::Sub, &[a, b], a - b);
        same(Math::Mul, &[a, b], a * b);
        same(Math::Div, &[a, b], a / b);
        same(Math::Sqrt, &[a], a.sqrt());
        same(Math::Fma, &[a, b, c], a.mul_add(b, c));
        same(Math::Rem, &[a, b], a % b);
    }
}

#[test]
fn a_fused_sum_is_rounded_once() {
    // The exact sum is 1 + 2^-23 + 2^-24 - 2^-64: just below a tie of binary32, on which binary64 puts it.
    let (a, b) = ((1.0 + 2f64.powi(-20)) / 4096.0, (1.0 - 2f64.powi(-20)) / 4096.0);
    let c = 1.0 + 2f64.powi(-23);
    assert_eq!(float(Math::Fma, Scalar::F32, &[a, b, c]), c);
    assert_eq!(round(a * b + c, Scalar::F32), 1.0 + 2f64.powi(-22));
}

#[test]
fn binary16_rounds_to_even_and_overflows_above_65520() {
    assert_eq!(round(65519.9, Scalar::F16), 65504.0);
    assert_eq!(round(65520.0, Scalar::F16), f64::INFINITY);
    assert_eq!(round(-70000.0, Scalar::F16), f64::NEG_INFINITY);
    assert_eq!(round(2049.0, Scalar::F16), 2048.0);
    assert_eq!(round(2051.0, Scalar::F16), 2052.0);
    assert_eq!(round(2f64.powi(-25), Scalar::F16), 0.0);
    assert_eq!(round(3.0 * 2f64.powi(-25), Scalar::F16), 2f64.powi(-23));
    assert_eq!(round(0.1, Scalar::F16), 0.0999755859375);
    assert_eq!(float(Math::Add, Scalar::F16, &[2048.0, 1.0]), 2048.0);
}

#[test]
fn every_binary16_has_its_own_bits() {
    for pattern in 0..=0xffffu64 {
        assert_eq!(bits(from_bits(pattern, Scalar::F16), Scalar::F16), pattern);
    }
    assert_eq!(from_bits(0x3c00, Scalar::F16), Const::float(1.0));
    assert_eq!(from_bits(0x0001, Scalar::F16), Const::float(2f64.powi(-24)));
    assert_eq!(from_bits(0xfbff, Scalar::F16), Const::float(-65504.0));
}

#[test]
fn binary32_has_the_bits_of_the_host() {
    let mut seed = 7;
    for _ in 0..50_000 {
        let pattern = noise(&mut seed) as u32;
        let value = from_bits(pattern.into(), Scalar::F32);
        assert_eq!(bits(value, Scalar::F32), pattern.into());
        let host = f32::from_bits(pattern);
        if !host.is_nan() {
            assert_eq!(value, Const::float(host.into()));
        }
    }
    for pattern in [0, 1, 0x7f_ffff, 0x80_0000, 0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0xffc0_1234] {
        assert_eq!(bits(from_bits(pattern, Scalar::F32), Scalar::F32), pattern);
    }
}

#[test]
fn wide_mode_does_not_round() {
    let third =
        |eval: Eval| eval.math(Math::Div, Scalar::F32, &[Const::float(1.0), Const::float(3.0)]).unwrap();
    assert_eq!(third(WIDE), Const::float(1.0 / 3.0));
    assert_eq!(third(NARROW), Const::float(f64::from(1.0f32 / 3.0)));
    // Bit casts round first.
    assert_eq!(bits(third(WIDE), Scalar::F32), u64::from((1.0f32 / 3.0).to_bits()));
}

#[test]
fn floats_follow_the_conventions_of_the_language() {
    let f = |op, operands: &[f64]| float(op, Scalar::F32, operands);
    assert_eq!(f(Math::Round, &[2.5]), 3.0);
    assert_eq!(f(Math::Round, &[-2.5]), -3.0);
    assert_eq!(f(Math::RoundEven, &[2.5]), 2.0);
    assert_eq!(f(Math::RoundEven, &[-3.5]), -4.0);
    assert_eq!(f(Math::Trunc, &[-1.75]), -1.0);
    assert_eq!(f(Math::Floor, &[-1.25]), -2.0);
    assert_eq!(f(Math::Ceil, &[-1.25]), -1.0);
    assert_eq!(f(Math::Max, &[f64::NAN, 1.0]), 1.0);
    assert_eq!(f(Math::Max, &[1.0, f64::NAN]), 1.0);
    assert_eq!(f(Math::Min, &[f64::NAN, 1.0]), 1.0);
    assert_eq!(f(Math::Min, &[1.0, f64::NAN]), 1.0);
    assert_eq!(f(Math::Min, &[2.0, 1.0]), 1.0);
    assert_eq!(f(Math::Max, &[2.0, 1.0]), 2.0);
    assert_eq!(f(Math::Sign, &[-0.0]), 0.0);
    assert_eq!(f(Math::Sign, &[f64::NAN]), 0.0);
    assert_eq!(f(Math::Sign, &[-3.0]), -1.0);
    assert_eq!(f(Math::Rem, &[-5.5, 2.0]), -1.5);
    assert_eq!(f(Math::Pow, &[-2.0, 2.0]), 4.0);
    assert_eq!(f(Math::Pow, &[0.0, 0.0]), 1.0);
    assert_eq!(f(Math::Div, &[1.0, 0.0]), f64::INFINITY);
    assert_eq!(f(Math::Rsqrt, &[0.25]), 2.0);
    assert_eq!(f(Math::Exp2, &[3.0]), 8.0);
    assert_eq!(f(Math::Log2, &[8.0]), 3.0);
    assert_eq!(f(Math::Log10, &[1000.0]), 3.0);
    assert_eq!(f(Math::Atan2, &[1.0, -1.0]), f64::from((0.75 * std::f64::consts::PI) as f32));
    assert_eq!(f(Math::Sin, &[1.0]), f64::from(0.841_470_984_807_896_5_f64 as f32));
    assert!(f(Math::Log, &[-1.0]).is_nan());
    assert!(f(Math::Sqrt, &[-1.0]).is_nan());
}

#[test]
fn inverse_functions_undo_functions() {
    let pairs = [
        (Math::Sin, Math::Asin),
        (Math::Cos, Math::Acos),
        (Math::Tan, Math::Atan),
        (Math::Sinh, Math::Asinh),
        (Math::Cosh, Math::Acosh),
        (Math::Tanh, Math::Atanh),
        (Math::Exp, Math::Log),
    ];
    for (op, inverse) in pairs {
        let there = float(op, Scalar::F64, &[0.625]);
        assert!((float(inverse, Scalar::F64, &[there]) - 0.625).abs() < 1e-14, "{op:?}");
        assert_ne!(there, 0.625, "{op:?}");
    }
}

#[test]
fn a_nan_made_by_an_operation_has_one_form() {
    let nan = NARROW.math(Math::Sub, Scalar::F32, &[Const::float(f64::INFINITY); 2]).unwrap();
    assert_eq!(nan, Const::float(f64::NAN));
    assert!(test(Math::IsNan, Scalar::F32, &[nan]));
    assert!(!test(Math::IsInf, Scalar::F32, &[nan]));
    assert!(test(Math::Ne, Scalar::F32, &[nan, nan]));
    assert!(!test(Math::Ge, Scalar::F32, &[nan, nan]));
}

#[test]
fn integers_wrap_at_their_width() {
    assert_eq!(int(Math::Add, Scalar::I32, &[i32::MAX.into(), 1]), i32::MIN.into());
    assert_eq!(int(Math::Sub, Scalar::U32, &[0, 1]), u32::MAX.into());
    assert_eq!(int(Math::Mul, Scalar::U8, &[16, 17]), 16);
    assert_eq!(int(Math::Neg, Scalar::I8, &[-128]), -128);
    assert_eq!(int(Math::Abs, Scalar::I16, &[-32768]), -32768);
    assert_eq!(int(Math::Not, Scalar::U16, &[0]), 65535);
    assert_eq!(int(Math::Div, Scalar::I32, &[i32::MIN.into(), -1]), i32::MIN.into());
    assert_eq!(int(Math::Rem, Scalar::I64, &[i64::MIN, -1]), 0);
    assert_eq!(int(Math::Div, Scalar::I32, &[-7, 2]), -3);
    assert_eq!(int(Math::Rem, Scalar::I32, &[-7, 2]), -1);
    assert_eq!(int(Math::Div, Scalar::U64, &[-1, 2]), i64::MAX);
    assert_eq!(int(Math::Max, Scalar::U64, &[-1, 2]), -1);
    assert_eq!(int(Math::Max, Scalar::I64, &[-1, 2]), 2);
    assert!(test(Math::Gt, Scalar::U64, &[Const::Int(-1), Const::Int(2)]));
}

#[test]
fn shifts_take_their_amount_modulo_the_width() {
    assert_eq!(int(Math::Shl, Scalar::I32, &[1, 33]), 2);
    assert_eq!(int(Math::Shl, Scalar::I32, &[1, 31]), i32::MIN.into());
    assert_eq!(int(Math::Shr, Scalar::I32, &[-8, 1]), -4);
    assert_eq!(int(Math::Shr, Scalar::U32, &[0x8000_0000, 31]), 1);
    assert_eq!(int(Math::Shr, Scalar::U64, &[-1, 63]), 1);
    assert_eq!(int(Math::Shl, Scalar::U8, &[0xff, 12]), 0xf0);
    assert_eq!(int(Math::Shl, Scalar::I32, &[1, -1]), i32::MIN.into());
}

#[test]
fn bits_are_found_and_reversed_within_the_width() {
    assert_eq!(int(Math::CountBits, Scalar::I8, &[-1]), 8);
    assert_eq!(int(Math::FirstBitLow, Scalar::U32, &[0x50]), 4);
    assert_eq!(int(Math::FirstBitLow, Scalar::U32, &[0]), u32::MAX.into());
    assert_eq!(int(Math::FirstBitHigh, Scalar::U32, &[0x50]), 6);
    assert_eq!(int(Math::FirstBitHigh, Scalar::U32, &[0]), u32::MAX.into());
    assert_eq!(int(Math::FirstBitHigh, Scalar::I32, &[-1]), -1);
    assert_eq!(int(Math::FirstBitHigh, Scalar::I32, &[-2]), 0);
    assert_eq!(int(Math::ReverseBits, Scalar::U8, &[0b0000_0110]), 0b0110_0000);
    assert_eq!(int(Math::ReverseBits, Scalar::I32, &[1]), i32::MIN.into());
}

#[test]
fn integer_division_by_zero_traps() {
    for op in [Math::Div, Math::Rem] {
        let got = NARROW.math(op, Scalar::I32, &[Const::Int(1), Const::Int(0)]);
        assert_eq!(got, Err(Trap::DivisionByZero));
    }
}

#[test]
fn conversions_saturate_from_floats_and_wrap_between_integers() {
    let from_float = |x: f64, to| NARROW.convert(Const::float(x), Scalar::F32, to);
    assert_eq!(from_float(-1.9, Scalar::I32), Const::Int(-1));
    assert_eq!(from_float(3e9, Scalar::I32), Const::Int(i32::MAX.into()));
    assert_eq!(from_float(-5.0, Scalar::U8), Const::Int(0));
    assert_eq!(from_float(f64::NAN, Scalar::I32), Const::Int(0));
    assert_eq!(from_float(1e30, Scalar::U64), Const::Int(-1));
    assert_eq!(from_float(0.5, Scalar::Bool), Const::Bool(true));
    assert_eq!(from_float(-0.0, Scalar::Bool), Const::Bool(false));
    assert_eq!(from_float(1e30, Scalar::F16), Const::float(f64::INFINITY));
    let from_int = |x: i64, from, to| NARROW.convert(Const::Int(x), from, to);
    assert_eq!(from_int(-1, Scalar::I32, Scalar::U32), Const::Int(u32::MAX.into()));
    assert_eq!(from_int(300, Scalar::I32, Scalar::U8), Const::Int(44));
    assert_eq!(from_int(-1, Scalar::U64, Scalar::F32), Const::float(18446744073709551616.0));
    // Through binary64 this would become a tie and round down.
    let above_tie = (1i64 << 60) + (1 << 36) + 1;
    assert_eq!(
        from_int(above_tie, Scalar::I64, Scalar::F32),
        Const::float((1u64 << 60) as f64 + (1u64 << 37) as f64)
    );
    assert_eq!(NARROW.convert(Const::Bool(true), Scalar::Bool, Scalar::F32), Const::float(1.0));
    assert_eq!(NARROW.convert(Const::Bool(true), Scalar::Bool, Scalar::I8), Const::Int(1));
}

#[test]
fn constants_take_the_form_of_their_type() {
    assert_eq!(NARROW.constant(Const::Int(-1), Scalar::U32), Const::Int(u32::MAX.into()));
    assert_eq!(NARROW.constant(Const::Int(255), Scalar::I8), Const::Int(-1));
    assert_eq!(NARROW.constant(Const::float(0.1), Scalar::F32), Const::float(f64::from(0.1f32)));
    assert_eq!(WIDE.constant(Const::float(0.1), Scalar::F32), Const::float(0.1));
    assert_eq!(zero(Scalar::Bool), Const::Bool(false));
}

#[test]
fn booleans_have_logic_and_order() {
    let (t, f) = (Const::Bool(true), Const::Bool(false));
    assert!(test(Math::And, Scalar::Bool, &[t, t]) && !test(Math::And, Scalar::Bool, &[t, f]));
    assert!(test(Math::Or, Scalar::Bool, &[f, t]) && test(Math::Xor, Scalar::Bool, &[f, t]));
    assert!(test(Math::Not, Scalar::Bool, &[f]) && test(Math::Lt, Scalar::Bool, &[f, t]));
    assert!(!test(Math::Gt, Scalar::Bool, &[f, t]) && test(Math::Le, Scalar::Bool, &[f, f]));
}

#[test]
fn an_index_outside_is_none() {
    assert_eq!(index(Const::Int(3), 4), Some(3));
    assert_eq!(index(Const::Int(4), 4), None);
    assert_eq!(index(Const::Int(-1), 4), None);
}

#[test]
fn every_operation_is_defined_on_every_type_of_its_class() {
    for &op in Math::ALL {
        for scalar in Scalar::ALL {
            let (takes, gives_bool) = match op.class() {
                Class::Number => (scalar != Scalar::Bool, false),
                Class::Float => (scalar.is_float(), false),
                Class::Integer => (scalar.is_int(), false),
                Class::Bits => (!scalar.is_float(), false),
                Class::Compare => (true, true),
                Class::Test => (scalar.is_float(), true),
            };
            if takes {
                let one = NARROW.convert(Const::Int(1), Scalar::I32, scalar);
                let result = NARROW.math(op, scalar, &vec![one; op.arity()]).unwrap();
                let expected = if gives_bool { Const::Bool(true) } else { one };
                assert_eq!(
                    std::mem::discriminant(&result),
                    std::mem::discriminant(&expected),
                    "{op:?} {scalar}"
                );
                assert_eq!(NARROW.constant(result, scalar), result, "{op:?} {scalar} is not in its one form");
            }
        }
    }
}
