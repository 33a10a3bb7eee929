//! Compiles elementary functions of binary32 inline: [`cotangent_maths`] over Cranelift's instructions.

use crate::body::Body;
use cotangent_ir::{Math, math_group};
use cotangent_maths::{self as maths, Machine, Rare};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};

/// An operation of many instructions, on one lane or on all at once; none for those that are not elementary functions.
pub(crate) fn elementary<M: Machine>(m: &mut M, op: Math, x: &[M::Float]) -> Option<M::Float> {
    Some(match op {
        Math::Rsqrt => {
            let wide = m.widen(x[0]);
            let root = m.double_sqrt(wide);
            let one = m.double(1.0);
            let result = m.double_div(one, root);
            m.narrow(result)
        }
        Math::Rem => maths::rem(m, x[0], x[1]),
        Math::Exp => maths::exp(m, x[0]),
        Math::Exp2 => maths::exp2(m, x[0]),
        Math::Log => maths::log(m, x[0]),
        Math::Log2 => maths::log2(m, x[0]),
        Math::Log10 => maths::log10(m, x[0]),
        Math::Pow => maths::pow(m, x[0], x[1]),
        Math::Sin => maths::sin(m, x[0]),
        Math::Cos => maths::cos(m, x[0]),
        Math::Tan => maths::tan(m, x[0]),
        Math::Asin => maths::asin(m, x[0]),
        Math::Acos => maths::acos(m, x[0]),
        Math::Atan => maths::atan(m, x[0]),
        Math::Atan2 => maths::atan2(m, x[0], x[1]),
        Math::Sinh => maths::sinh(m, x[0]),
        Math::Cosh => maths::cosh(m, x[0]),
        Math::Tanh => maths::tanh(m, x[0]),
        Math::Asinh => maths::asinh(m, x[0]),
        Math::Acosh => maths::acosh(m, x[0]),
        Math::Atanh => maths::atanh(m, x[0]),
        Math::Sqrt | math_group!(arithmetic | logic | bits | compare | test | round) => return None,
    })
}

/// Emits an instruction for each operation.
pub(crate) struct Inline<'b, 'c, 'f, 'm> {
    body: &'b mut Body<'c, 'f, 'm>,
}

impl<'b, 'c, 'f, 'm> Inline<'b, 'c, 'f, 'm> {
    pub fn new(body: &'b mut Body<'c, 'f, 'm>) -> Self {
        Inline { body }
    }
}

/// Methods that are one instruction on their operands.
macro_rules! instructions {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(fn $name(&mut self, $($arg: Reg),*) -> Reg {
            self.body.b.ins().$op($($arg),*)
        })*
    };
}

impl Machine for Inline<'_, '_, '_, '_> {
    type Float = Reg;
    type Int = Reg;
    type Truth = Reg;
    type Double = Reg;

    fn float(&mut self, value: f32) -> Reg {
        self.body.f32(value)
    }
    fn int(&mut self, value: i32) -> Reg {
        self.body.int(types::I32, value.into())
    }
    fn double(&mut self, value: f64) -> Reg {
        self.body.f64(value)
    }

    instructions! {
        add(a, b) = fadd;
        sub(a, b) = fsub;
        mul(a, b) = fmul;
        div(a, b) = fdiv;
        select(cond, a, b) = select;
        int_add(a, b) = iadd;
        int_sub(a, b) = isub;
        int_and(a, b) = band;
        int_or(a, b) = bor;
        int_xor(a, b) = bxor;
        both(a, b) = band;
        either(a, b) = bor;
        double_add(a, b) = fadd;
        double_sub(a, b) = fsub;
        double_mul(a, b) = fmul;
        double_div(a, b) = fdiv;
        double_sqrt(a) = sqrt;
        double_select(cond, a, b) = select;
    }

    fn lt(&mut self, a: Reg, b: Reg) -> Reg {
        self.body.b.ins().fcmp(FloatCC::LessThan, a, b)
    }
    fn eq(&mut self, a: Reg, b: Reg) -> Reg {
        self.body.b.ins().fcmp(FloatCC::Equal, a, b)
    }
    fn bits(&mut self, a: Reg) -> Reg {
        self.body.bits_as(types::I32, a)
    }
    fn float_of_bits(&mut self, a: Reg) -> Reg {
        self.body.bits_as(types::F32, a)
    }
    fn float_of(&mut self, a: Reg) -> Reg {
        self.body.b.ins().fcvt_from_sint(types::F32, a)
    }
    fn int_shl(&mut self, a: Reg, n: u32) -> Reg {
        let n = self.body.int(types::I32, n.into());
        self.body.b.ins().ishl(a, n)
    }
    fn int_shr(&mut self, a: Reg, n: u32) -> Reg {
        let n = self.body.int(types::I32, n.into());
        self.body.b.ins().sshr(a, n)
    }
    fn int_eq(&mut self, a: Reg, b: Reg) -> Reg {
        self.body.b.ins().icmp(IntCC::Equal, a, b)
    }
    fn is_odd(&mut self, a: Reg) -> Reg {
        let one = self.body.int(types::I32, 1);
        let last = self.body.b.ins().band(a, one);
        self.body.b.ins().ireduce(types::I8, last)
    }
    fn widen(&mut self, a: Reg) -> Reg {
        self.body.b.ins().fpromote(types::F64, a)
    }
    fn narrow(&mut self, a: Reg) -> Reg {
        self.body.b.ins().fdemote(types::F32, a)
    }
    fn low_word(&mut self, a: Reg) -> Reg {
        let bits = self.body.bits_as(types::I64, a);
        self.body.b.ins().ireduce(types::I32, bits)
    }
    fn high_word(&mut self, a: Reg) -> Reg {
        let bits = self.body.bits_as(types::I64, a);
        let amount = self.body.int(types::I32, 32);
        let high = self.body.b.ins().ushr(bits, amount);
        self.body.b.ins().ireduce(types::I32, high)
    }
    fn double_of_words(&mut self, low: Reg, high: Reg) -> Reg {
        let low = self.body.b.ins().uextend(types::I64, low);
        let high = self.body.b.ins().uextend(types::I64, high);
        let amount = self.body.int(types::I32, 32);
        let high = self.body.b.ins().ishl(high, amount);
        let bits = self.body.b.ins().bor(low, high);
        self.body.bits_as(types::F64, bits)
    }

    fn or_rare(&mut self, is_usual: Reg, usual: Reg, function: Rare, a: Reg, b: Reg) -> Reg {
        let body = &mut *self.body;
        let (rare, end) = (body.b.create_block(), body.block_with(&[types::F32]));
        body.b.ins().brif(is_usual, end, &[usual.into()], rare, &[]);
        body.b.switch_to_block(rare);
        body.b.set_cold_block(rare);
        let others = body.int(types::I32, 0b1110);
        let found = body.call_rare(function, [a, b], usual, others);
        body.jump(end, &[found]);
        body.b.switch_to_block(end);
        body.b.block_params(end)[0]
    }
}
