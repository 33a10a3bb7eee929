//! Elementary functions on all lanes: [`cotangent_maths`] over Cranelift's vectors.
//!
//! An operation is emitted for one vector after the other, so that a constant need not be kept for the second. A binary64 for each of
//! four lanes takes two vectors, of the first two lanes and of the last two.

use super::value::Vector;
use super::{Lanes, PARTS};
use cotangent_maths::{Machine, Rare};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};

/// Emits an instruction for each operation, or two.
pub(super) struct Inline<'l, 'c, 'f, 'm> {
    lanes: &'l mut Lanes<'c, 'f, 'm>,
}

impl<'l, 'c, 'f, 'm> Inline<'l, 'c, 'f, 'm> {
    pub fn new(lanes: &'l mut Lanes<'c, 'f, 'm>) -> Self {
        lanes.begin_constants();
        Inline { lanes }
    }
}

/// The halves of binary64 of each vector.
type Doubles = [[Reg; 2]; PARTS];

/// Methods that are one instruction on each vector of their operands.
macro_rules! instructions {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(fn $name(&mut self, $($arg: Vector),*) -> Vector {
            std::array::from_fn(|part| self.lanes.body.b.ins().$op($($arg[part]),*))
        })*
    };
}

/// The same on both halves of binary64.
macro_rules! doubles {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(fn $name(&mut self, $($arg: Doubles),*) -> Doubles {
            std::array::from_fn(|part| [0, 1].map(|half| self.lanes.body.b.ins().$op($($arg[part][half]),*)))
        })*
    };
}

impl Machine for Inline<'_, '_, '_, '_> {
    type Float = Vector;
    type Int = Vector;
    type Truth = Vector;
    type Double = Doubles;

    fn float(&mut self, value: f32) -> Vector {
        std::array::from_fn(|part| self.lanes.constant_of(types::F32X4, [value.to_bits(); 4], part))
    }
    fn int(&mut self, value: i32) -> Vector {
        std::array::from_fn(|part| self.lanes.constant_of(types::I32X4, [value as u32; 4], part))
    }
    fn double(&mut self, value: f64) -> Doubles {
        let bits = value.to_bits();
        let [low, high] = [bits as u32, (bits >> 32) as u32];
        std::array::from_fn(|part| {
            [2 * part, 2 * part + 1]
                .map(|half| self.lanes.constant_of(types::F64X2, [low, high, low, high], half))
        })
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

    fn lt(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|i| self.lanes.body.b.ins().fcmp(FloatCC::LessThan, a[i], b[i]))
    }
    fn eq(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|i| self.lanes.body.b.ins().fcmp(FloatCC::Equal, a[i], b[i]))
    }
    fn select(&mut self, cond: Vector, a: Vector, b: Vector) -> Vector {
        self.lanes.blend_vector(cond, a, b)
    }
    fn bits(&mut self, a: Vector) -> Vector {
        a.map(|part| self.lanes.body.vector_as(types::I32X4, part))
    }
    fn float_of_bits(&mut self, a: Vector) -> Vector {
        a.map(|part| self.lanes.body.vector_as(types::F32X4, part))
    }
    fn float_of(&mut self, a: Vector) -> Vector {
        a.map(|part| self.lanes.body.b.ins().fcvt_from_sint(types::F32X4, part))
    }
    fn int_shl(&mut self, a: Vector, n: u32) -> Vector {
        let n = self.lanes.body.int(types::I32, n.into());
        a.map(|part| self.lanes.body.b.ins().ishl(part, n))
    }
    fn int_shr(&mut self, a: Vector, n: u32) -> Vector {
        let n = self.lanes.body.int(types::I32, n.into());
        a.map(|part| self.lanes.body.b.ins().sshr(part, n))
    }
    fn int_eq(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|i| self.lanes.body.b.ins().icmp(IntCC::Equal, a[i], b[i]))
    }
    fn is_odd(&mut self, a: Vector) -> Vector {
        // Shifts need no constant in a register.
        let last = self.int_shl(a, 31);
        self.int_shr(last, 31)
    }
    fn widen(&mut self, a: Vector) -> Doubles {
        a.map(|part| {
            let upper = self.lanes.words(part, part, [2, 3, 2, 3]);
            let upper = self.lanes.body.vector_as(types::F32X4, upper);
            [part, upper].map(|half| self.lanes.body.b.ins().fvpromote_low(half))
        })
    }
    fn narrow(&mut self, a: Doubles) -> Vector {
        a.map(|part| {
            let halves = part.map(|half| self.lanes.body.b.ins().fvdemote(half));
            let all = self.lanes.words(halves[0], halves[1], [0, 1, 4, 5]);
            self.lanes.body.vector_as(types::F32X4, all)
        })
    }
    fn double_select(&mut self, cond: Vector, a: Doubles, b: Doubles) -> Doubles {
        std::array::from_fn(|i| {
            let masks = [[0, 0, 1, 1], [2, 2, 3, 3]].map(|words| self.lanes.words(cond[i], cond[i], words));
            std::array::from_fn(|half| self.lanes.blend(masks[half], a[i][half], b[i][half]))
        })
    }
    fn low_word(&mut self, a: Doubles) -> Vector {
        a.map(|part| self.lanes.words(part[0], part[1], [0, 2, 4, 6]))
    }
    fn high_word(&mut self, a: Doubles) -> Vector {
        a.map(|part| self.lanes.words(part[0], part[1], [1, 3, 5, 7]))
    }
    fn double_of_words(&mut self, low: Vector, high: Vector) -> Doubles {
        std::array::from_fn(|i| {
            let halves = [[0, 4, 1, 5], [2, 6, 3, 7]].map(|words| self.lanes.words(low[i], high[i], words));
            halves.map(|half| self.lanes.body.vector_as(types::F64X2, half))
        })
    }

    /// Lanes that are not usual call, one after the other. What is usual must not be asked for.
    fn or_rare(&mut self, is_usual: Vector, usual: Vector, function: Rare, a: Vector, b: Vector) -> Vector {
        let body = &mut self.lanes.body;
        let (rare, end) = (body.b.create_block(), body.block_with(&[types::F32X4; PARTS]));
        // As bits, which need no vector register until the call.
        let bits = is_usual.map(|part| body.b.ins().vhigh_bits(types::I32, part));
        let both = bits[1..].iter().fold(bits[0], |all, part| body.b.ins().band(all, *part));
        let all = body.is_const(both, 0b1111);
        body.b.ins().brif(all, end, &usual.map(Into::into), rare, &[]);
        body.b.switch_to_block(rare);
        body.b.set_cold_block(rare);
        let found: Vector =
            std::array::from_fn(|i| body.call_rare(function, [a[i], b[i]], usual[i], bits[i]));
        body.jump(end, &found);
        body.b.switch_to_block(end);
        std::array::from_fn(|i| body.b.block_params(end)[i])
    }
}
