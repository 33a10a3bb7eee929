//! Compiles conversions between scalar types, by value.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::shape::native;
use crate::state::Helper;
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::InstData;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};

impl Body<'_, '_, '_> {
    pub fn convert_all(&mut self, data: &InstData) -> Result<Regs> {
        let (from, to) = (self.scalar_of(data.operands[0]), self.scalar_of(data.results[0]));
        self.regs(data.operands[0]).into_iter().map(|reg| self.convert(reg, from, to)).collect()
    }

    /// To integers towards zero and saturating, NaN to 0; between integers modulo the width; to floats the nearest; to booleans
    /// whether it is not 0.
    pub fn convert(&mut self, a: Reg, from: Scalar, to: Scalar) -> Result<Reg> {
        if from == to {
            return Ok(a);
        }
        Ok(match (from.is_float(), to.is_float()) {
            (true, true) => self.float_to_float(a, to)?,
            (true, false) if to == Scalar::Bool => {
                let ty = self.b.func.dfg.value_type(a);
                let zero = self.zero_of(ty);
                self.b.ins().fcmp(FloatCC::NotEqual, a, zero)
            }
            (true, false) => self.float_to_int(a, to),
            (false, true) => self.int_to_float(a, from, to)?,
            (false, false) if to == Scalar::Bool => {
                let ty = self.b.func.dfg.value_type(a);
                let zero = self.int(ty, 0);
                self.b.ins().icmp(IntCC::NotEqual, a, zero)
            }
            (false, false) => {
                let (bits, wanted) = (native(from).bits(), native(to).bits());
                if wanted < bits {
                    self.b.ins().ireduce(native(to), a)
                } else if wanted == bits {
                    a
                } else if from.is_signed() {
                    self.b.ins().sextend(native(to), a)
                } else {
                    self.b.ins().uextend(native(to), a)
                }
            }
        })
    }

    fn float_to_float(&mut self, a: Reg, to: Scalar) -> Result<Reg> {
        let is_wide = self.b.func.dfg.value_type(a) == types::F64;
        Ok(match to {
            Scalar::F64 if is_wide => a,
            Scalar::F64 => self.b.ins().fpromote(types::F64, a),
            Scalar::F32 if is_wide => self.b.ins().fdemote(types::F32, a),
            Scalar::F32 => a,
            Scalar::Bool | Scalar::F16 | scalar_group!(int) => {
                let wide = if is_wide { a } else { self.b.ins().fpromote(types::F64, a) };
                self.helper(Helper::Round16, &[wide])?.expect("it gives a number")
            }
        })
    }

    fn float_to_int(&mut self, a: Reg, to: Scalar) -> Reg {
        let ty = native(to);
        if ty.bits() >= 32 {
            return match to.is_signed() {
                true => self.b.ins().fcvt_to_sint_sat(ty, a),
                false => self.b.ins().fcvt_to_uint_sat(ty, a),
            };
        }
        let bits = i64::from(to.bits());
        let wide = if to.is_signed() {
            let wide = self.b.ins().fcvt_to_sint_sat(types::I32, a);
            let (least, most) =
                (self.int(types::I32, -(1 << (bits - 1))), self.int(types::I32, (1 << (bits - 1)) - 1));
            let wide = self.b.ins().smax(wide, least);
            self.b.ins().smin(wide, most)
        } else {
            let wide = self.b.ins().fcvt_to_uint_sat(types::I32, a);
            let most = self.int(types::I32, (1 << bits) - 1);
            self.b.ins().umin(wide, most)
        };
        self.b.ins().ireduce(ty, wide)
    }

    fn int_to_float(&mut self, a: Reg, from: Scalar, to: Scalar) -> Result<Reg> {
        let wide = if native(from).bits() < 32 {
            match from.is_signed() {
                true => self.b.ins().sextend(types::I32, a),
                false => self.b.ins().uextend(types::I32, a),
            }
        } else {
            a
        };
        let ty = if to == Scalar::F32 { types::F32 } else { types::F64 };
        let float = match from.is_signed() {
            true => self.b.ins().fcvt_from_sint(ty, wide),
            false => self.b.ins().fcvt_from_uint(ty, wide),
        };
        if to == Scalar::F16 {
            Ok(self.helper(Helper::Round16, &[float])?.expect("it gives a number"))
        } else {
            Ok(float)
        }
    }
}
