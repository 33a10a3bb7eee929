//! Expressions, for all threads of a mask.

use super::super::ops;
use super::super::tape::{Num, Value};
use super::super::tree::{Expr, Op, Ty, Wave};
use super::{Frame, Machine, Mask, Mode, Senseless, Values, lanes};

impl Machine<'_> {
    pub(super) fn expr(&mut self, frame: &mut Frame, expr: &Expr, mask: Mask) -> Result<Values, Senseless> {
        let threads = self.tree.threads;
        Ok(match expr {
            Expr::Float(x) => vec![Value::Float(Num::constant(*x)); threads],
            Expr::Int(x) => vec![Value::Int(*x as i32); threads],
            Expr::Bool(x) => vec![Value::Bool(*x); threads],
            Expr::Var(name) => frame.vars.get(name).ok_or(Senseless)?.clone(),
            Expr::Op(op, operands) => {
                let mut values = Vec::new();
                for operand in operands {
                    values.push(self.expr(frame, operand, mask)?);
                }
                let mut result = vec![Value::Int(0); threads];
                for lane in lanes(mask) {
                    let operands: Values = values.iter().map(|v| v[lane]).collect();
                    result[lane] = self.operate(*op, &operands);
                }
                result
            }
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                self.choose(frame, condition, Ok(yes), Ok(no), mask)?
            }
            Expr::And(parts) => self.choose(frame, &parts[0], Ok(&parts[1]), Err(false), mask)?,
            Expr::Or(parts) => self.choose(frame, &parts[0], Err(true), Ok(&parts[1]), mask)?,
            Expr::Detach(inner) => self.expr(frame, inner, mask)?.into_iter().map(Value::plain).collect(),
            Expr::Read(mem, at) => {
                let at = self.expr(frame, at, mask)?;
                let mut result = self.blank(mem.ty());
                for lane in lanes(mask) {
                    let cell = *self.cell(*mem, lane, at[lane].int());
                    result[lane] = match mem.ty() {
                        Ty::Float => Value::Float(Num::constant(cell)),
                        Ty::Int | Ty::Bool => Value::Int(cell as i32),
                    };
                }
                result
            }
            Expr::Call(call) => self.call(frame, call, mask)?.ok_or(Senseless)?,
        })
    }

    /// A choice between two expressions: each is computed only by the threads that choose it.
    fn choose(
        &mut self,
        frame: &mut Frame,
        condition: &Expr,
        yes: Result<&Expr, bool>,
        no: Result<&Expr, bool>,
        mask: Mask,
    ) -> Result<Values, Senseless> {
        let conditions = self.expr(frame, condition, mask)?;
        let chosen: Mask = lanes(mask).filter(|l| conditions[*l].bool()).map(|l| 1 << l).sum();
        let mut result = vec![Value::Int(0); self.tree.threads];
        for (side, mask) in [(yes, chosen), (no, mask & !chosen)] {
            if mask == 0 {
                continue;
            }
            let values = match side {
                Ok(expr) => self.expr(frame, expr, mask)?,
                Err(constant) => vec![Value::Bool(constant); self.tree.threads],
            };
            lanes(mask).for_each(|lane| result[lane] = values[lane]);
        }
        Ok(result)
    }

    fn operate(&mut self, op: Op, x: &[Value]) -> Value {
        let floats: Vec<f64> = x.iter().map(|v| v.num().value).collect();
        let int = |i: usize| x[i].int();
        if let Some((value, slopes, margin)) = ops::float(op, &floats) {
            let parts: Vec<(Num, f64)> = x.iter().map(|v| v.num()).zip(slopes).collect();
            let tangent = parts.iter().map(|(num, slope)| num.tangent * slope).sum();
            let id = if self.mode == Mode::Backward { self.tape.sum(&parts) } else { None };
            self.near(margin);
            self.largest = self.largest.max(value.abs()).max(f64::abs(tangent));
            return Value::Float(Num { value, tangent, id });
        }
        match op {
            Op::ToFloat => Value::Float(Num::constant(f64::from(int(0) & 7) * 0.25)),
            Op::Floor => {
                let scaled = floats[0] * 2.0;
                self.near((scaled - scaled.round()).abs());
                Value::Int(scaled.floor() as i32)
            }
            Op::IntAdd => Value::Int(int(0).wrapping_add(int(1))),
            Op::IntSub => Value::Int(int(0).wrapping_sub(int(1))),
            Op::IntMul => Value::Int(int(0).wrapping_mul(int(1))),
            Op::IntAnd => Value::Int(int(0) & 3),
            Op::IntXor => Value::Int(int(0) ^ int(1)),
            Op::Less => {
                self.near((floats[0] - floats[1]).abs());
                Value::Bool(floats[0] < floats[1])
            }
            Op::Greater => {
                self.near((floats[0] - 0.125).abs());
                Value::Bool(floats[0] > 0.125)
            }
            Op::IntLess => Value::Bool(int(0) < int(1)),
            Op::IntEqual => Value::Bool(int(0) == int(1)),
            Op::IsOdd => Value::Bool(int(0) & 1 == 1),
            Op::Not => Value::Bool(!x[0].bool()),
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Neg
            | Op::Sin
            | Op::Cos
            | Op::Tanh
            | Op::Exp
            | Op::Sqrt
            | Op::Max
            | Op::Min
            | Op::Clamp => Value::Float(Num::default()),
        }
    }

    /// Notes how close a comparison was. Exactly equal numbers do not count: they are equal in every precision.
    fn near(&mut self, margin: f64) {
        if margin != 0.0 {
            self.margin = self.margin.min(margin);
        }
    }
}

/// The result of a wave operation over the active threads.
pub(super) fn waved(op: Wave, values: &[Value], mask: Mask) -> Values {
    let mut result = vec![Value::Int(0); values.len()];
    let ints: Vec<(usize, i32)> = lanes(mask).map(|lane| (lane, values[lane].int())).collect();
    for (lane, _) in &ints {
        let of = |f: &dyn Fn(i32, i32) -> i32, start: i32| ints.iter().fold(start, |a, (_, b)| f(a, *b));
        result[*lane] = Value::Int(match op {
            Wave::Sum => of(&i32::wrapping_add, 0),
            Wave::Max => of(&i32::max, i32::MIN),
            Wave::CountOdd => ints.iter().filter(|(_, x)| x & 1 == 1).count() as i32,
            Wave::PrefixSum => {
                ints.iter().filter(|(l, _)| l < lane).fold(0, |sum, (_, x)| sum.wrapping_add(*x))
            }
            Wave::First => ints[0].1,
        });
    }
    result
}
