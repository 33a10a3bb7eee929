//! The operators of the model: their Slang text, their values, and their partial derivatives.

use super::tree::{Op, Ty};

/// The text of an operator with `$` for operands, the types of the operands, and the type of the result.
pub fn form(op: Op) -> (&'static str, &'static [Ty], Ty) {
    use Ty::{Bool, Float, Int};
    match op {
        Op::Add => ("($ + $)", &[Float, Float], Float),
        Op::Sub => ("($ - $)", &[Float, Float], Float),
        Op::Mul => ("($ * $)", &[Float, Float], Float),
        Op::Div => ("($ / (1.5 + 0.25 * sin($)))", &[Float, Float], Float),
        Op::Neg => ("(-$)", &[Float], Float),
        Op::Sin => ("sin($)", &[Float], Float),
        Op::Cos => ("cos($)", &[Float], Float),
        Op::Tanh => ("tanh($)", &[Float], Float),
        Op::Exp => ("exp(-abs($))", &[Float], Float),
        Op::Sqrt => ("sqrt(1.5 + sin($))", &[Float], Float),
        Op::Max => ("max($, $)", &[Float, Float], Float),
        Op::Min => ("min($, $)", &[Float, Float], Float),
        Op::Clamp => ("clamp($, -0.75, 0.5)", &[Float], Float),
        Op::ToFloat => ("(float($ & 7) * 0.25)", &[Int], Float),
        Op::Floor => ("int(floor(detach($) * 2.0))", &[Float], Int),
        Op::IntAdd => ("($ + $)", &[Int, Int], Int),
        Op::IntSub => ("($ - $)", &[Int, Int], Int),
        Op::IntMul => ("($ * $)", &[Int, Int], Int),
        Op::IntAnd => ("($ & 3)", &[Int], Int),
        Op::IntXor => ("($ ^ $)", &[Int, Int], Int),
        Op::Less => ("($ < $)", &[Float, Float], Bool),
        Op::Greater => ("($ > 0.125)", &[Float], Bool),
        Op::IntLess => ("($ < $)", &[Int, Int], Bool),
        Op::IntEqual => ("($ == $)", &[Int, Int], Bool),
        Op::IsOdd => ("(($ & 1) == 1)", &[Int], Bool),
        Op::Not => ("(!$)", &[Bool], Bool),
    }
}

/// The value of an operator on floats, its partial derivatives, and how far its operands are from a point where it is not smooth.
/// At such a point the partial derivatives are those that the guide promises.
pub fn float(op: Op, x: &[f64]) -> Option<(f64, [f64; 2], f64)> {
    let smooth = f64::INFINITY;
    Some(match op {
        Op::Add => (x[0] + x[1], [1.0, 1.0], smooth),
        Op::Sub => (x[0] - x[1], [1.0, -1.0], smooth),
        Op::Mul => (x[0] * x[1], [x[1], x[0]], smooth),
        Op::Div => {
            let by = 1.5 + 0.25 * x[1].sin();
            (x[0] / by, [1.0 / by, -x[0] * 0.25 * x[1].cos() / (by * by)], smooth)
        }
        Op::Neg => (-x[0], [-1.0, 0.0], smooth),
        Op::Sin => (x[0].sin(), [x[0].cos(), 0.0], smooth),
        Op::Cos => (x[0].cos(), [-x[0].sin(), 0.0], smooth),
        Op::Tanh => (x[0].tanh(), [1.0 - x[0].tanh().powi(2), 0.0], smooth),
        Op::Exp => {
            let y = (-x[0].abs()).exp();
            let sign = if x[0] == 0.0 { 0.0 } else { x[0].signum() };
            (y, [-sign * y, 0.0], x[0].abs())
        }
        Op::Sqrt => {
            let y = (1.5 + x[0].sin()).sqrt();
            (y, [x[0].cos() / (2.0 * y), 0.0], smooth)
        }
        Op::Max | Op::Min => {
            let first = (op == Op::Max) == (x[0] > x[1]);
            let slopes = match first {
                _ if x[0] == x[1] => [0.5, 0.5],
                true => [1.0, 0.0],
                false => [0.0, 1.0],
            };
            (if first { x[0] } else { x[1] }, slopes, (x[0] - x[1]).abs())
        }
        Op::Clamp => {
            let inside = (-0.75..=0.5).contains(&x[0]);
            let near = (x[0] + 0.75).abs().min((x[0] - 0.5).abs());
            (x[0].clamp(-0.75, 0.5), [f64::from(u8::from(inside)), 0.0], near)
        }
        Op::ToFloat
        | Op::Floor
        | Op::IntAdd
        | Op::IntSub
        | Op::IntMul
        | Op::IntAnd
        | Op::IntXor
        | Op::Less
        | Op::Greater
        | Op::IntLess
        | Op::IntEqual
        | Op::IsOdd
        | Op::Not => return None,
    })
}
