//! Elementary functions on four lanes: [`cotangent_maths`] over Cranelift's vectors.
//!
//! A binary64 for each of four lanes takes two vectors, of the first two lanes and of the last two.

use super::Lanes;
use crate::state::Helper;
use cotangent_maths::{Machine, Rare};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{ConstantData, InstBuilder, Value as Reg, types};

/// Emits an instruction for each operation, or two.
pub(super) struct Inline<'l, 'c, 'f, 'm> {
    lanes: &'l mut Lanes<'c, 'f, 'm>,
}

impl<'l, 'c, 'f, 'm> Inline<'l, 'c, 'f, 'm> {
    pub fn new(lanes: &'l mut Lanes<'c, 'f, 'm>) -> Self {
        Inline { lanes }
    }

    /// Four words, each one of the eight of two vectors.
    fn words(&mut self, a: Reg, b: Reg, words: [u8; 4]) -> Reg {
        let bytes: Vec<u8> = words.iter().flat_map(|word| (0..4).map(move |byte| 4 * word + byte)).collect();
        let (a, b) = (self.lanes.body.vector_as(types::I8X16, a), self.lanes.body.vector_as(types::I8X16, b));
        let mask = self.lanes.body.b.func.dfg.immediates.push(ConstantData::from(bytes));
        let found = self.lanes.body.b.ins().shuffle(a, b, mask);
        self.lanes.body.vector_as(types::I32X4, found)
    }
}

/// Methods that are one instruction on their operands.
macro_rules! instructions {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(fn $name(&mut self, $($arg: Reg),*) -> Reg {
            self.lanes.body.b.ins().$op($($arg),*)
        })*
    };
}

/// The same on both halves of binary64.
macro_rules! doubles {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(fn $name(&mut self, $($arg: [Reg; 2]),*) -> [Reg; 2] {
            [0, 1].map(|half| self.lanes.body.b.ins().$op($($arg[half]),*))
        })*
    };
}

impl Machine for Inline<'_, '_, '_, '_> {
    type Float = Reg;
    type Int = Reg;
    type Truth = Reg;
    type Double = [Reg; 2];

    fn float(&mut self, value: f32) -> Reg {
        self.lanes.floats(value)
    }
    fn int(&mut self, value: i32) -> Reg {
        self.lanes.ints(value)
    }
    fn double(&mut self, value: f64) -> [Reg; 2] {
        let bits = value.to_bits();
        let words = [bits as u32, (bits >> 32) as u32];
        [self.lanes.constant(types::F64X2, [words[0], words[1], words[0], words[1]]); 2]
    }

    instructions! {
        add(a, b) = fadd;
        sub(a, b) = fsub;
        mul(a, b) = fmul;
        div(a, b) = fdiv;
        int_add(a, b) = iadd;
        int_sub(a, b) = isub;
        int_and(a, b) = band;
        int_or(a, b) = bor;
        int_xor(a, b) = bxor;
        both(a, b) = band;
        either(a, b) = bor;
    }

    doubles! {
        double_add(a, b) = fadd;
        double_sub(a, b) = fsub;
        double_mul(a, b) = fmul;
        double_div(a, b) = fdiv;
        double_sqrt(a) = sqrt;
    }

    fn lt(&mut self, a: Reg, b: Reg) -> Reg {
        self.lanes.body.b.ins().fcmp(FloatCC::LessThan, a, b)
    }
    fn eq(&mut self, a: Reg, b: Reg) -> Reg {
        self.lanes.body.b.ins().fcmp(FloatCC::Equal, a, b)
    }
    fn select(&mut self, cond: Reg, a: Reg, b: Reg) -> Reg {
        self.lanes.blend(cond, a, b)
    }
    fn bits(&mut self, a: Reg) -> Reg {
        self.lanes.body.vector_as(types::I32X4, a)
    }
    fn float_of_bits(&mut self, a: Reg) -> Reg {
        self.lanes.body.vector_as(types::F32X4, a)
    }
    fn float_of(&mut self, a: Reg) -> Reg {
        self.lanes.body.b.ins().fcvt_from_sint(types::F32X4, a)
    }
    fn int_shl(&mut self, a: Reg, n: u32) -> Reg {
        let n = self.lanes.body.int(types::I32, n.into());
        self.lanes.body.b.ins().ishl(a, n)
    }
    fn int_shr(&mut self, a: Reg, n: u32) -> Reg {
        let n = self.lanes.body.int(types::I32, n.into());
        self.lanes.body.b.ins().sshr(a, n)
    }
    fn int_eq(&mut self, a: Reg, b: Reg) -> Reg {
        self.lanes.body.b.ins().icmp(IntCC::Equal, a, b)
    }
    fn widen(&mut self, a: Reg) -> [Reg; 2] {
        let upper = self.words(a, a, [2, 3, 2, 3]);
        let upper = self.lanes.body.vector_as(types::F32X4, upper);
        [self.lanes.body.b.ins().fvpromote_low(a), self.lanes.body.b.ins().fvpromote_low(upper)]
    }
    fn narrow(&mut self, a: [Reg; 2]) -> Reg {
        let halves = a.map(|half| self.lanes.body.b.ins().fvdemote(half));
        let all = self.words(halves[0], halves[1], [0, 1, 4, 5]);
        self.lanes.body.vector_as(types::F32X4, all)
    }
    fn double_select(&mut self, cond: Reg, a: [Reg; 2], b: [Reg; 2]) -> [Reg; 2] {
        let masks = [self.words(cond, cond, [0, 0, 1, 1]), self.words(cond, cond, [2, 2, 3, 3])];
        [0, 1].map(|half| self.lanes.blend(masks[half], a[half], b[half]))
    }
    fn low_word(&mut self, a: [Reg; 2]) -> Reg {
        self.words(a[0], a[1], [0, 2, 4, 6])
    }
    fn high_word(&mut self, a: [Reg; 2]) -> Reg {
        self.words(a[0], a[1], [1, 3, 5, 7])
    }
    fn double_of_words(&mut self, low: Reg, high: Reg) -> [Reg; 2] {
        let halves = [self.words(low, high, [0, 4, 1, 5]), self.words(low, high, [2, 6, 3, 7])];
        halves.map(|half| self.lanes.body.vector_as(types::F64X2, half))
    }

    /// Lanes that are not usual call, one after the other.
    fn or_rare(&mut self, is_usual: Reg, usual: Reg, function: Rare, a: Reg, b: Reg) -> Reg {
        let body = &mut self.lanes.body;
        let (rare, end) = (body.b.create_block(), body.block_with(&[types::F32X4]));
        let all = body.b.ins().vall_true(is_usual);
        body.b.ins().brif(all, end, &[usual.into()], rare, &[]);
        body.b.switch_to_block(rare);
        body.b.set_cold_block(rare);
        let mut found = usual;
        for lane in 0..4 {
            // What is usual must not be asked for.
            let (call, next) = (body.b.create_block(), body.block_with(&[types::F32X4]));
            let is_usual = body.b.ins().extractlane(is_usual, lane);
            body.b.ins().brif(is_usual, next, &[found.into()], call, &[]);
            body.b.switch_to_block(call);
            body.b.set_cold_block(call);
            let [a, b] = [a, b].map(|vector| body.b.ins().extractlane(vector, lane));
            // Helpers are declared under names of their own, so declaring one cannot fail.
            let called = body.helper(Helper::Rare(function), &[a, b]).ok().flatten().unwrap_or(a);
            let all = body.b.ins().insertlane(found, called, lane);
            body.jump(next, &[all]);
            body.b.switch_to_block(next);
            body.b.set_cold_block(next);
            found = body.b.block_params(next)[0];
        }
        body.jump(end, &[found]);
        body.b.switch_to_block(end);
        body.b.block_params(end)[0]
    }
}
