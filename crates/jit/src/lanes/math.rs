//! Element-wise operations on lanes, as [`cotangent_ir::eval`] defines them.

use super::machine::Inline;
use super::value::{Leaf, Leaves, Mask, Vector};
use super::{Lanes, PARTS};
use crate::compile::Result;
use crate::maths;
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::{InstData, Math, Trap, math_group};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};
use smallvec::SmallVec;

/// Numbers in a row that are further apart are taken to be in none.
const MOST_STEP: u32 = 1 << 20;

impl Lanes<'_, '_, '_> {
    /// An operation on each scalar of its operands.
    pub(super) fn elementwise(&mut self, op: Math, data: &InstData) -> Result<Leaves> {
        let scalar = self.body.scalar_of(data.operands[0]);
        let operands: SmallVec<[Leaves; 3]> =
            data.operands.iter().map(|operand| self.leaves(*operand)).collect();
        let mut all = Leaves::new();
        for i in 0..operands[0].len() {
            let element: SmallVec<[Leaf; 3]> = operands.iter().map(|leaves| leaves[i]).collect();
            all.push(self.math(op, scalar, &element)?);
        }
        Ok(all)
    }

    /// An operation on leaves of one type.
    pub(super) fn math(&mut self, op: Math, scalar: Scalar, x: &[Leaf]) -> Result<Leaf> {
        let divides = matches!(op, Math::Div | Math::Rem) && !scalar.is_float();
        let ones: SmallVec<[Reg; 3]> =
            x.iter().filter_map(|leaf| if let Leaf::One(reg) = leaf { Some(*reg) } else { None }).collect();
        if ones.len() == x.len() && (!divides || self.mask.is_full()) {
            return Ok(Leaf::One(self.body.math(op, scalar, &ones)?));
        }
        if let ([a, b], true, Mask::Some(mask)) = (&ones[..], ones.len() == x.len(), self.mask) {
            return Ok(Leaf::One(self.divide_one(op, scalar, *a, *b, mask)));
        }
        if !matches!(scalar, Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::F32) {
            return self.refuse("numbers that do not have 32 bits");
        }
        if let Some(row) = self.row(op, scalar, x) {
            return Ok(row);
        }
        match (op, scalar) {
            (Math::Div | Math::Rem, Scalar::I32 | Scalar::U32) => return self.divide(op, scalar, x[0], x[1]),
            (Math::Shl | Math::Shr, Scalar::I32 | Scalar::U32) => return self.shift(op, scalar, x[0], x[1]),
            (Math::CountBits | Math::FirstBitLow | Math::FirstBitHigh | Math::ReverseBits, _)
            | (Math::Fma, Scalar::F32) => return self.by_lane(op, scalar, x),
            _ => {}
        }
        let x: SmallVec<[Vector; 3]> = x.iter().map(|leaf| self.vector(*leaf, scalar)).collect();
        let mut parts = [x[0][0]; PARTS];
        for (number, part) in parts.iter_mut().enumerate() {
            let element: SmallVec<[Reg; 3]> = x.iter().map(|vector| vector[number]).collect();
            *part = match self.part(op, scalar, &element)? {
                Some(part) => part,
                None => return Ok(Leaf::Each(self.elementary(op, &x)?)),
            };
        }
        Ok(Leaf::Each(parts))
    }

    /// Numbers in a row, if that is what comes out.
    fn row(&mut self, op: Math, scalar: Scalar, x: &[Leaf]) -> Option<Leaf> {
        if !matches!(scalar, Scalar::I32 | Scalar::U32) {
            return None;
        }
        match (op, x) {
            (Math::Add, [Leaf::Next(a, step), Leaf::One(b)] | [Leaf::One(b), Leaf::Next(a, step)]) => {
                Some(Leaf::Next(self.body.b.ins().iadd(*a, *b), *step))
            }
            (Math::Sub, [Leaf::Next(a, step), Leaf::One(b)]) => {
                Some(Leaf::Next(self.body.b.ins().isub(*a, *b), *step))
            }
            (Math::Mul, [Leaf::Next(a, step), Leaf::One(b)] | [Leaf::One(b), Leaf::Next(a, step)]) => {
                let step = self.known(*b).filter(|b| (1..=MOST_STEP).contains(b))?.checked_mul(*step)?;
                (step <= MOST_STEP).then(|| Leaf::Next(self.body.b.ins().imul(*a, *b), step))
            }
            _ => None,
        }
    }

    /// What scalar code computes, for one lane after the other.
    fn by_lane(&mut self, op: Math, scalar: Scalar, x: &[Leaf]) -> Result<Leaf> {
        self.count_by_lane(3);
        let mut lanes = Vec::new();
        for lane in Self::numbers() {
            let element: SmallVec<[Reg; 3]> = x.iter().map(|leaf| self.lane(*leaf, scalar, lane)).collect();
            lanes.push(self.body.math(op, scalar, &element)?);
        }
        Ok(Leaf::Each(self.gathered(&lanes)))
    }

    /// A division that is the same in all lanes of a mask.
    fn divide_one(&mut self, op: Math, scalar: Scalar, a: Reg, b: Reg, mask: Vector) -> Reg {
        let is_zero = self.body.is_const(b, 0);
        let (cold, go_on) = (self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().brif(is_zero, cold, &[], go_on, &[]);
        self.body.b.switch_to_block(cold);
        self.body.b.set_cold_block(cold);
        self.trap(mask, Trap::DivisionByZero, None);
        self.body.b.ins().jump(go_on, &[]);
        self.body.b.switch_to_block(go_on);
        let one = self.body.int(crate::shape::native(scalar), 1);
        let b = self.body.b.ins().select(is_zero, one, b);
        self.body.quotient(op, scalar, a, b)
    }

    /// Lanes whose divisor is zero trap. The others do not notice.
    fn divide(&mut self, op: Math, scalar: Scalar, a: Leaf, b: Leaf) -> Result<Leaf> {
        self.count_by_lane(3);
        let divisor = self.vector(b, scalar);
        let (zero, one) = (self.ints(0), self.ints(1));
        let is_zero = divisor.map(|part| self.body.b.ins().icmp(IntCC::Equal, part, zero));
        let bad = self.within(self.mask, is_zero);
        self.trap(bad, Trap::DivisionByZero, None);
        let known = matches!(b, Leaf::One(reg) if self.known(reg).is_some_and(|bits| bits != 0));
        let b = if known {
            b
        } else {
            Leaf::Each(std::array::from_fn(|i| self.blend(is_zero[i], one, divisor[i])))
        };
        let mut lanes = Vec::new();
        for lane in Self::numbers() {
            let (a, b) = (self.lane(a, scalar, lane), self.lane(b, scalar, lane));
            lanes.push(self.body.quotient(op, scalar, a, b));
        }
        Ok(Leaf::Each(self.gathered(&lanes)))
    }

    /// Vectors are shifted by one amount.
    fn shift(&mut self, op: Math, scalar: Scalar, a: Leaf, amount: Leaf) -> Result<Leaf> {
        let Leaf::One(amount) = amount else { return self.by_lane(op, scalar, &[a, amount]) };
        let a = self.vector(a, scalar);
        Ok(Leaf::Each(a.map(|part| match (op, scalar.is_signed()) {
            (Math::Shl, _) => self.body.b.ins().ishl(part, amount),
            (_, true) => self.body.b.ins().sshr(part, amount),
            (_, false) => self.body.b.ins().ushr(part, amount),
        })))
    }

    /// An operation on four lanes, unless it is an elementary function.
    fn part(&mut self, op: Math, scalar: Scalar, x: &[Reg]) -> Result<Option<Reg>> {
        if let Math::Eq | Math::Ne | Math::Lt | Math::Le | Math::Gt | Math::Ge = op {
            return Ok(Some(self.body.compare(op, scalar, x[0], x[1])));
        }
        match scalar {
            Scalar::F32 => Ok(self.arithmetic(op, x)),
            Scalar::Bool => Ok(Some(self.bool_part(op, x))),
            Scalar::I32 | Scalar::U32 => Ok(Some(self.int_part(op, scalar, x)?)),
            scalar_group!(int | float) => self.refuse("numbers that do not have 32 bits"),
        }
    }

    fn bool_part(&mut self, op: Math, x: &[Reg]) -> Reg {
        match op {
            Math::And => self.body.b.ins().band(x[0], x[1]),
            Math::Or => self.body.b.ins().bor(x[0], x[1]),
            Math::Xor => self.body.b.ins().bxor(x[0], x[1]),
            Math::Not | math_group!(arithmetic | bits | compare | test | round | elementary) => {
                self.body.b.ins().bnot(x[0])
            }
        }
    }

    fn int_part(&mut self, op: Math, scalar: Scalar, x: &[Reg]) -> Result<Reg> {
        let signed = scalar.is_signed();
        Ok(match op {
            Math::Add => self.body.b.ins().iadd(x[0], x[1]),
            Math::Sub => self.body.b.ins().isub(x[0], x[1]),
            Math::Mul => self.body.b.ins().imul(x[0], x[1]),
            Math::Neg => self.body.b.ins().ineg(x[0]),
            Math::Abs if signed => self.body.b.ins().iabs(x[0]),
            Math::Abs => x[0],
            Math::Sign => {
                let zero = self.ints(0);
                // A mask is -1 where it holds.
                let is_positive = self.body.compare(Math::Gt, scalar, x[0], zero);
                let is_negative = self.body.compare(Math::Lt, scalar, x[0], zero);
                self.body.b.ins().isub(is_negative, is_positive)
            }
            Math::Min if signed => self.body.b.ins().smin(x[0], x[1]),
            Math::Min => self.body.b.ins().umin(x[0], x[1]),
            Math::Max if signed => self.body.b.ins().smax(x[0], x[1]),
            Math::Max => self.body.b.ins().umax(x[0], x[1]),
            Math::And => self.body.b.ins().band(x[0], x[1]),
            Math::Or => self.body.b.ins().bor(x[0], x[1]),
            Math::Xor => self.body.b.ins().bxor(x[0], x[1]),
            Math::Not => self.body.b.ins().bnot(x[0]),
            math_group!(arithmetic | bits | compare | test | round | elementary) => {
                return self.refuse(&format!("`{}` on {scalar}", op.name()));
            }
        })
    }

    /// A function of many instructions, on all lanes at once.
    fn elementary(&mut self, op: Math, x: &[Vector]) -> Result<Vector> {
        match maths::elementary(&mut Inline::new(self), op, x) {
            Some(result) => Ok(result),
            None => self.refuse(&format!("`{}` on f32", op.name())),
        }
    }

    fn arithmetic(&mut self, op: Math, x: &[Reg]) -> Option<Reg> {
        Some(match op {
            Math::Add => self.body.b.ins().fadd(x[0], x[1]),
            Math::Sub => self.body.b.ins().fsub(x[0], x[1]),
            Math::Mul => self.body.b.ins().fmul(x[0], x[1]),
            Math::Div => self.body.b.ins().fdiv(x[0], x[1]),
            Math::Neg => self.body.b.ins().fneg(x[0]),
            Math::Abs => self.body.b.ins().fabs(x[0]),
            Math::Sqrt => self.body.b.ins().sqrt(x[0]),
            Math::Floor => self.body.b.ins().floor(x[0]),
            Math::Ceil => self.body.b.ins().ceil(x[0]),
            Math::Trunc => self.body.b.ins().trunc(x[0]),
            Math::RoundEven => self.body.b.ins().nearest(x[0]),
            Math::Round => {
                // What truncation leaves is exact.
                let whole = self.body.b.ins().trunc(x[0]);
                let rest = self.body.b.ins().fsub(x[0], whole);
                let rest = self.body.b.ins().fabs(rest);
                let (half, one, sign) = (self.floats(0.5), self.floats(1.0), self.ints(i32::MIN));
                let goes_on = self.body.b.ins().fcmp(FloatCC::GreaterThanOrEqual, rest, half);
                let bits = self.body.vector_as(types::I32X4, x[0]);
                let sign = self.body.b.ins().band(bits, sign);
                let one = self.body.vector_as(types::I32X4, one);
                let step = self.body.b.ins().bor(one, sign);
                let step = self.body.vector_as(types::F32X4, step);
                let next = self.body.b.ins().fadd(whole, step);
                self.blend(goes_on, next, whole)
            }
            Math::Sign => {
                let (zero, one, minus) = (self.floats(0.0), self.floats(1.0), self.floats(-1.0));
                let is_positive = self.body.b.ins().fcmp(FloatCC::GreaterThan, x[0], zero);
                let is_negative = self.body.b.ins().fcmp(FloatCC::LessThan, x[0], zero);
                let rest = self.blend(is_negative, minus, zero);
                self.blend(is_positive, one, rest)
            }
            Math::Min | Math::Max => {
                let cond = if op == Math::Min { FloatCC::LessThan } else { FloatCC::GreaterThan };
                let is_first = self.body.b.ins().fcmp(cond, x[0], x[1]);
                let is_none = self.body.b.ins().fcmp(FloatCC::Unordered, x[1], x[1]);
                let takes_first = self.body.b.ins().bor(is_first, is_none);
                self.blend(takes_first, x[0], x[1])
            }
            Math::IsNan => self.body.b.ins().fcmp(FloatCC::Unordered, x[0], x[0]),
            Math::IsInf => {
                let infinity = self.floats(f32::INFINITY);
                let magnitude = self.body.b.ins().fabs(x[0]);
                self.body.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
            }
            Math::Rem | Math::Fma | math_group!(logic | bits | compare | elementary) => return None,
        })
    }

    /// Conversions between types of 32 bits, and truth values.
    pub(super) fn convert(&mut self, data: &InstData) -> Result<Leaves> {
        let (from, to) = (self.body.scalar_of(data.operands[0]), self.body.scalar_of(data.results[0]));
        let leaves = self.leaves(data.operands[0]);
        let mut all = Leaves::new();
        for leaf in leaves {
            all.push(match leaf {
                Leaf::One(reg) => Leaf::One(self.body.convert(reg, from, to)?),
                Leaf::Next(..) if !to.is_float() && to != Scalar::Bool && to.bits() == 32 => leaf,
                Leaf::Next(..) | Leaf::Each(_) => {
                    self.scalars(self.ty(data.operands[0]))?;
                    self.scalars(self.ty(data.results[0]))?;
                    let vector = self.vector(leaf, from);
                    Leaf::Each(vector.map(|part| self.convert_part(part, from, to)))
                }
            });
        }
        Ok(all)
    }

    fn convert_part(&mut self, a: Reg, from: Scalar, to: Scalar) -> Reg {
        match (from, to) {
            (Scalar::F32, Scalar::Bool) => {
                let zero = self.floats(0.0);
                self.body.b.ins().fcmp(FloatCC::NotEqual, a, zero)
            }
            (Scalar::F32, Scalar::I32) => self.body.b.ins().fcvt_to_sint_sat(types::I32X4, a),
            (Scalar::F32, Scalar::U32) => self.body.b.ins().fcvt_to_uint_sat(types::I32X4, a),
            (Scalar::Bool, Scalar::F32) => {
                let one = self.floats(1.0);
                let one = self.body.vector_as(types::I32X4, one);
                let bits = self.body.b.ins().band(a, one);
                self.body.vector_as(types::F32X4, bits)
            }
            (Scalar::Bool, Scalar::I32 | Scalar::U32) => {
                let one = self.ints(1);
                self.body.b.ins().band(a, one)
            }
            (Scalar::I32, Scalar::F32) => self.body.b.ins().fcvt_from_sint(types::F32X4, a),
            (Scalar::U32, Scalar::F32) => self.body.b.ins().fcvt_from_uint(types::F32X4, a),
            (Scalar::I32 | Scalar::U32, Scalar::Bool) => {
                let zero = self.ints(0);
                self.body.b.ins().icmp(IntCC::NotEqual, a, zero)
            }
            _ => a,
        }
    }

    /// The same bits, for types of 32 bits.
    pub(super) fn bitcast(&mut self, data: &InstData) -> Result<Leaves> {
        let (operand, result) = (data.operands[0], data.results[0]);
        let (from, to) = (self.body.scalar_of(operand), self.body.scalar_of(result));
        self.scalars(self.ty(operand))?;
        self.scalars(self.ty(result))?;
        if from == Scalar::Bool || to == Scalar::Bool {
            return self.refuse("the bits of truth values");
        }
        let leaves = self.leaves(operand);
        let leaves = self.canonical_leaves(operand, leaves)?;
        let ty = super::value::native(to);
        let mut all = Leaves::new();
        for leaf in leaves {
            all.push(match leaf {
                Leaf::One(reg) => {
                    let bits = self.body.bits_of(reg, from, true)?;
                    Leaf::One(self.body.scalar_of_bits(bits, to)?)
                }
                Leaf::Next(..) if to != Scalar::F32 => leaf,
                Leaf::Next(..) | Leaf::Each(_) => {
                    let vector = self.vector(leaf, from);
                    Leaf::Each(vector.map(|part| self.body.vector_as(ty, part)))
                }
            });
        }
        Ok(all)
    }

    pub(super) fn select(&mut self, data: &InstData) -> Result<()> {
        let [cond, a, b] = data.operands[..] else { unreachable!("the verifier counted") };
        let result = data.results[0];
        if self.in_memory(result) {
            return self.select_memory(cond, a, b, result);
        }
        let scalars = self.scalars(self.ty(result))?;
        let (cond, a, b) = (self.leaves(cond), self.leaves(a), self.leaves(b));
        let mut all = Leaves::new();
        for (i, scalar) in scalars.into_iter().enumerate() {
            let cond = if cond.len() == 1 { cond[0] } else { cond[i] };
            all.push(self.choose(cond, scalar, a[i], b[i]));
        }
        self.set(result, all)
    }
}
