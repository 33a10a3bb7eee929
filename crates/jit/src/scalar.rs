//! Compiles element-wise operations, as [`cotangent_ir::eval`] defines them.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::maths::{self, Inline};
use crate::shape::{Leaf, native};
use crate::state::Helper;
use cotangent_base::Scalar;
use cotangent_ir::{InstData, Math, Trap, math_group};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};
use smallvec::SmallVec;

impl Body<'_, '_, '_> {
    /// An operation on each scalar of its operands.
    pub fn elementwise(&mut self, op: Math, data: &InstData) -> Result<Regs> {
        let scalar = self.scalar_of(data.operands[0]);
        let operands = self.operands(data);
        let mut all = Regs::new();
        for i in 0..operands[0].len() {
            let element: SmallVec<[Reg; 3]> = operands.iter().map(|regs| regs[i]).collect();
            all.push(self.math(op, scalar, &element)?);
        }
        Ok(all)
    }

    /// The sum of two leaves of a type that is added part by part.
    pub fn add_leaf(&mut self, leaf: Leaf, a: Reg, b: Reg) -> Result<Reg> {
        match leaf {
            Leaf::Scalar(Scalar::Bool) => Ok(a),
            Leaf::Scalar(scalar) => self.math(Math::Add, scalar, &[a, b]),
            Leaf::Handle | Leaf::Word => self.refuse("a sum of handles"),
        }
    }

    /// An operation on scalars of one type.
    pub fn math(&mut self, op: Math, scalar: Scalar, x: &[Reg]) -> Result<Reg> {
        if let Math::Eq | Math::Ne | Math::Lt | Math::Le | Math::Gt | Math::Ge = op {
            return Ok(self.compare(op, scalar, x[0], x[1]));
        }
        match scalar {
            Scalar::F16 => self.half(op, x),
            Scalar::F32 => self.single(op, x),
            Scalar::F64 => self.double(op, x),
            Scalar::Bool => Ok(self.boolean(op, x)),
            Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 => self.narrow(op, scalar, x),
            Scalar::I32 | Scalar::I64 | Scalar::U32 | Scalar::U64 => self.integer(op, scalar, x),
        }
    }

    pub fn compare(&mut self, op: Math, scalar: Scalar, a: Reg, b: Reg) -> Reg {
        if scalar.is_float() {
            let cond = match op {
                Math::Eq => FloatCC::Equal,
                Math::Ne => FloatCC::NotEqual,
                Math::Lt => FloatCC::LessThan,
                Math::Le => FloatCC::LessThanOrEqual,
                Math::Gt => FloatCC::GreaterThan,
                Math::Ge | math_group!(arithmetic | logic | bits | test | round | elementary) => {
                    FloatCC::GreaterThanOrEqual
                }
            };
            return self.b.ins().fcmp(cond, a, b);
        }
        let cond = match (op, scalar.is_signed()) {
            (Math::Eq, _) => IntCC::Equal,
            (Math::Ne, _) => IntCC::NotEqual,
            (Math::Lt, true) => IntCC::SignedLessThan,
            (Math::Le, true) => IntCC::SignedLessThanOrEqual,
            (Math::Gt, true) => IntCC::SignedGreaterThan,
            (_, true) => IntCC::SignedGreaterThanOrEqual,
            (Math::Lt, false) => IntCC::UnsignedLessThan,
            (Math::Le, false) => IntCC::UnsignedLessThanOrEqual,
            (Math::Gt, false) => IntCC::UnsignedGreaterThan,
            (_, false) => IntCC::UnsignedGreaterThanOrEqual,
        };
        self.b.ins().icmp(cond, a, b)
    }

    fn boolean(&mut self, op: Math, x: &[Reg]) -> Reg {
        match op {
            Math::And => self.b.ins().band(x[0], x[1]),
            Math::Or => self.b.ins().bor(x[0], x[1]),
            Math::Xor => self.b.ins().bxor(x[0], x[1]),
            Math::Not | math_group!(arithmetic | bits | compare | test | round | elementary) => {
                self.is_const(x[0], 0)
            }
        }
    }

    /// Integers of 8 and 16 bits are computed in 32 and cut off.
    fn narrow(&mut self, op: Math, scalar: Scalar, x: &[Reg]) -> Result<Reg> {
        let signed = scalar.is_signed();
        let wide: SmallVec<[Reg; 3]> = x
            .iter()
            .map(|reg| match signed {
                true => self.b.ins().sextend(types::I32, *reg),
                false => self.b.ins().uextend(types::I32, *reg),
            })
            .collect();
        let as_wide = if signed { Scalar::I32 } else { Scalar::U32 };
        let bits = scalar.bits();
        let result = match op {
            Math::Shl | Math::Shr => {
                let mask = self.int(types::I32, i64::from(bits) - 1);
                let amount = self.b.ins().band(wide[1], mask);
                self.integer(op, as_wide, &[wide[0], amount])?
            }
            Math::CountBits | Math::FirstBitLow | Math::ReverseBits => {
                let low = self.b.ins().uextend(types::I32, x[0]);
                let found = self.integer(op, Scalar::U32, &[low])?;
                let amount = self.int(types::I32, 32 - i64::from(bits));
                if op == Math::ReverseBits { self.b.ins().ushr(found, amount) } else { found }
            }
            Math::FirstBitHigh | math_group!(arithmetic | logic | compare | test | round | elementary) => {
                self.integer(op, as_wide, &wide)?
            }
        };
        Ok(self.b.ins().ireduce(native(scalar), result))
    }

    fn integer(&mut self, op: Math, scalar: Scalar, x: &[Reg]) -> Result<Reg> {
        let (ty, signed) = (native(scalar), scalar.is_signed());
        Ok(match op {
            Math::Add => self.b.ins().iadd(x[0], x[1]),
            Math::Sub => self.b.ins().isub(x[0], x[1]),
            Math::Mul => self.b.ins().imul(x[0], x[1]),
            Math::Div | Math::Rem => self.divide(op, scalar, x[0], x[1]),
            Math::Neg => self.b.ins().ineg(x[0]),
            Math::Abs if signed => self.b.ins().iabs(x[0]),
            Math::Abs => x[0],
            Math::Sign => {
                let zero = self.int(ty, 0);
                let is_positive = self.compare(Math::Gt, scalar, x[0], zero);
                let is_negative = self.compare(Math::Lt, scalar, x[0], zero);
                let positive = self.b.ins().uextend(ty, is_positive);
                let negative = self.b.ins().uextend(ty, is_negative);
                self.b.ins().isub(positive, negative)
            }
            Math::Min | Math::Max => {
                let is_less = self.compare(Math::Lt, scalar, x[0], x[1]);
                let (a, b) = if op == Math::Min { (x[0], x[1]) } else { (x[1], x[0]) };
                self.b.ins().select(is_less, a, b)
            }
            Math::And => self.b.ins().band(x[0], x[1]),
            Math::Or => self.b.ins().bor(x[0], x[1]),
            Math::Xor => self.b.ins().bxor(x[0], x[1]),
            Math::Not => self.b.ins().bnot(x[0]),
            // Cranelift takes amounts modulo the width, too.
            Math::Shl => self.b.ins().ishl(x[0], x[1]),
            Math::Shr if signed => self.b.ins().sshr(x[0], x[1]),
            Math::Shr => self.b.ins().ushr(x[0], x[1]),
            Math::CountBits => self.b.ins().popcnt(x[0]),
            Math::ReverseBits => self.b.ins().bitrev(x[0]),
            Math::FirstBitLow => {
                let found = self.b.ins().ctz(x[0]);
                self.or_none(x[0], found)
            }
            Math::FirstBitHigh => {
                let amount = self.int(ty, i64::from(scalar.bits()) - 1);
                let differs = if signed {
                    let sign = self.b.ins().sshr(x[0], amount);
                    self.b.ins().bxor(x[0], sign)
                } else {
                    x[0]
                };
                let above = self.b.ins().clz(differs);
                let found = self.b.ins().isub(amount, above);
                self.or_none(differs, found)
            }
            Math::Fma | math_group!(compare | test | round | elementary) => {
                return self.refuse(format!("`{}` on {scalar}", op.name()));
            }
        })
    }

    /// All ones if no bit is set.
    fn or_none(&mut self, bits: Reg, found: Reg) -> Reg {
        let is_none = self.is_const(bits, 0);
        let ty = self.b.func.dfg.value_type(bits);
        let none = self.int(ty, -1);
        self.b.ins().select(is_none, none, found)
    }

    /// Division by zero stops the program. Division of the least number by -1 wraps, which processors do not do.
    fn divide(&mut self, op: Math, scalar: Scalar, a: Reg, b: Reg) -> Reg {
        let is_zero = self.is_const(b, 0);
        self.stop_if(is_zero, Trap::DivisionByZero, None);
        self.quotient(op, scalar, a, b)
    }

    /// The same, where the divisor is not zero.
    pub fn quotient(&mut self, op: Math, scalar: Scalar, a: Reg, b: Reg) -> Reg {
        if !scalar.is_signed() {
            return if op == Math::Div { self.b.ins().udiv(a, b) } else { self.b.ins().urem(a, b) };
        }
        let is_minus_one = self.is_const(b, -1);
        let one = self.int(native(scalar), 1);
        let divisor = self.b.ins().select(is_minus_one, one, b);
        if op == Math::Rem {
            return self.b.ins().srem(a, divisor);
        }
        let quotient = self.b.ins().sdiv(a, divisor);
        let negated = self.b.ins().ineg(a);
        self.b.ins().select(is_minus_one, negated, quotient)
    }

    /// A binary16: tests are those of binary32, all else is computed by `eval`.
    fn half(&mut self, op: Math, x: &[Reg]) -> Result<Reg> {
        match op {
            Math::IsNan | Math::IsInf => self.single(op, x),
            Math::Neg | Math::Abs => self.single(op, x),
            math_group!(arithmetic | logic | bits | compare | round | elementary) => {
                self.evaluated(Helper::Math16, op, x)
            }
        }
    }

    /// An operation as `eval` computes it.
    fn evaluated(&mut self, helper: Helper, op: Math, x: &[Reg]) -> Result<Reg> {
        let number = Math::ALL.iter().position(|other| *other == op).unwrap_or_default();
        let number = self.int(types::I32, number as i64);
        let args = [number, x[0], *x.get(1).unwrap_or(&x[0]), *x.get(2).unwrap_or(&x[0])];
        Ok(self.helper(helper, &args)?.expect("it gives a number"))
    }

    fn double(&mut self, op: Math, x: &[Reg]) -> Result<Reg> {
        match self.arithmetic(op, x) {
            Some(result) => Ok(result),
            None => self.evaluated(Helper::Math64, op, x),
        }
    }

    fn single(&mut self, op: Math, x: &[Reg]) -> Result<Reg> {
        if let Some(result) = self.arithmetic(op, x) {
            return Ok(result);
        }
        if op == Math::Fma {
            return self.evaluated(Helper::Math32, op, x);
        }
        match maths::elementary(&mut Inline::new(self), op, x) {
            Some(result) => Ok(result),
            None => self.refuse(format!("`{}` on f32", op.name())),
        }
    }

    /// What processors compute exactly as `eval` does, but for the bits of NaN.
    fn arithmetic(&mut self, op: Math, x: &[Reg]) -> Option<Reg> {
        let ty = self.b.func.dfg.value_type(x[0]);
        let number = |body: &mut Self, value: f32| match ty {
            types::F32 => body.f32(value),
            _ => body.f64(value.into()),
        };
        Some(match op {
            Math::Add => self.b.ins().fadd(x[0], x[1]),
            Math::Sub => self.b.ins().fsub(x[0], x[1]),
            Math::Mul => self.b.ins().fmul(x[0], x[1]),
            Math::Div => self.b.ins().fdiv(x[0], x[1]),
            Math::Neg => self.b.ins().fneg(x[0]),
            Math::Abs => self.b.ins().fabs(x[0]),
            Math::Sqrt => self.b.ins().sqrt(x[0]),
            Math::Floor => self.b.ins().floor(x[0]),
            Math::Ceil => self.b.ins().ceil(x[0]),
            Math::Trunc => self.b.ins().trunc(x[0]),
            Math::RoundEven => self.b.ins().nearest(x[0]),
            Math::Round => {
                // What truncation leaves is exact.
                let whole = self.b.ins().trunc(x[0]);
                let rest = self.b.ins().fsub(x[0], whole);
                let rest = self.b.ins().fabs(rest);
                let (half, one) = (number(self, 0.5), number(self, 1.0));
                let goes_on = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, rest, half);
                let step = self.b.ins().fcopysign(one, x[0]);
                let next = self.b.ins().fadd(whole, step);
                self.b.ins().select(goes_on, next, whole)
            }
            Math::Sign => {
                let (zero, one, minus) = (number(self, 0.0), number(self, 1.0), number(self, -1.0));
                let is_positive = self.b.ins().fcmp(FloatCC::GreaterThan, x[0], zero);
                let is_negative = self.b.ins().fcmp(FloatCC::LessThan, x[0], zero);
                let rest = self.b.ins().select(is_negative, minus, zero);
                self.b.ins().select(is_positive, one, rest)
            }
            Math::Min | Math::Max => {
                let cond = if op == Math::Min { FloatCC::LessThan } else { FloatCC::GreaterThan };
                let is_first = self.b.ins().fcmp(cond, x[0], x[1]);
                let is_none = self.b.ins().fcmp(FloatCC::Unordered, x[1], x[1]);
                let takes_first = self.b.ins().bor(is_first, is_none);
                self.b.ins().select(takes_first, x[0], x[1])
            }
            Math::IsNan => self.b.ins().fcmp(FloatCC::Unordered, x[0], x[0]),
            Math::IsInf => {
                let infinity = number(self, f32::INFINITY);
                let magnitude = self.b.ins().fabs(x[0]);
                self.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
            }
            Math::Rem | Math::Fma | math_group!(logic | bits | compare | elementary) => return None,
        })
    }
}
