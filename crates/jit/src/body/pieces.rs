//! Small pieces of code: constants, sums, blocks, the state.

use super::{Body, Regs};
use crate::compile::Result;
use crate::state::Helper;
use cotangent_base::Scalar;
use cotangent_ir::{InstData, Op, Value};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{
    Block, BlockArg, Endianness, InstBuilder, MemFlagsData, Type as Native, Value as Reg, types,
};
use cranelift_module::Module as _;
use smallvec::SmallVec;

impl Body<'_, '_, '_> {
    pub fn int(&mut self, ty: Native, value: i64) -> Reg {
        let bits = ty.bits();
        let value = if bits == 64 { value } else { value & ((1i64 << bits) - 1) };
        self.b.ins().iconst(ty, value)
    }

    pub fn f32(&mut self, value: f32) -> Reg {
        self.b.ins().f32const(Ieee32::with_bits(value.to_bits()))
    }

    pub fn f64(&mut self, value: f64) -> Reg {
        self.b.ins().f64const(Ieee64::with_bits(value.to_bits()))
    }

    pub fn zero_of(&mut self, ty: Native) -> Reg {
        match ty {
            types::F32 => self.f32(0.0),
            types::F64 => self.f64(0.0),
            ty => self.int(ty, 0),
        }
    }

    pub fn add_const(&mut self, a: Reg, n: i64) -> Reg {
        if n == 0 {
            return a;
        }
        let n = self.int(types::I64, n);
        self.b.ins().iadd(a, n)
    }

    pub fn mul_const(&mut self, a: Reg, n: i64) -> Reg {
        let n = self.int(types::I64, n);
        self.b.ins().imul(a, n)
    }

    pub fn is_const(&mut self, a: Reg, n: i64) -> Reg {
        let ty = self.b.func.dfg.value_type(a);
        let n = self.int(ty, n);
        self.b.ins().icmp(IntCC::Equal, a, n)
    }

    pub fn bits_as(&mut self, ty: Native, a: Reg) -> Reg {
        if self.b.func.dfg.value_type(a) == ty {
            return a;
        }
        self.b.ins().bitcast(ty, MemFlagsData::new(), a)
    }

    /// A vector of the same bits.
    pub fn vector_as(&mut self, ty: Native, a: Reg) -> Reg {
        if self.b.func.dfg.value_type(a) == ty {
            return a;
        }
        self.b.ins().bitcast(ty, MemFlagsData::new().with_endianness(Endianness::Little), a)
    }

    /// An integer in 64 bits, extended as its type says.
    pub fn extended(&mut self, a: Reg, scalar: Scalar) -> Reg {
        match self.b.func.dfg.value_type(a) {
            types::I64 => a,
            _ if scalar.is_signed() => self.b.ins().sextend(types::I64, a),
            _ => self.b.ins().uextend(types::I64, a),
        }
    }

    pub fn load_state(&mut self, ty: Native, at: i32) -> Reg {
        self.b.ins().load(ty, MemFlagsData::trusted(), self.state, at)
    }

    pub fn store_state(&mut self, value: Reg, at: i32) {
        self.b.ins().store(MemFlagsData::trusted(), value, self.state, at);
    }

    /// Calls a function of Rust.
    pub fn helper(&mut self, helper: Helper, args: &[Reg]) -> Result<Option<Reg>> {
        let native = self.c.helper(helper)?;
        let func = self.c.jit.declare_func_in_func(native, self.b.func);
        let call = self.b.ins().call(func, args);
        Ok(self.b.inst_results(call).first().copied())
    }

    /// The quiet NaN in place of any other.
    pub fn canonical(&mut self, a: Reg) -> Reg {
        let nan = match self.b.func.dfg.value_type(a) {
            types::F32 => self.f32(f32::from_bits(0x7fc0_0000)),
            types::F64 => self.f64(f64::from_bits(0x7ff8_0000_0000_0000)),
            _ => return a,
        };
        let is_nan = self.b.ins().fcmp(FloatCC::Unordered, a, a);
        self.b.ins().select(is_nan, nan, a)
    }

    /// Whether the bits of a value are as the program was given them: no operation made it.
    pub fn is_given(&self, value: Value) -> bool {
        let given = self.func.def(value).is_some_and(|data| {
            let is_part = matches!(data.op, Op::Extract(_) | Op::Swizzle(_));
            is_part && self.is_given(data.operands[0])
                || matches!(data.op, Op::Load(_) | Op::Const(_) | Op::Zero | Op::Undef)
                || matches!(data.op, Op::Bitcast | Op::Global(_))
        });
        given || !self.shape_of(value).has_float
    }

    /// A new block that takes leaves of these types.
    pub fn block_with(&mut self, types: &[Native]) -> Block {
        let block = self.b.create_block();
        for ty in types {
            self.b.append_block_param(block, *ty);
        }
        block
    }

    pub fn jump(&mut self, block: Block, regs: &[Reg]) {
        let args: SmallVec<[BlockArg; 8]> = regs.iter().map(|reg| BlockArg::from(*reg)).collect();
        self.b.ins().jump(block, &args);
    }

    /// The operands of an instruction that has them as leaves.
    pub fn operands(&self, data: &InstData) -> SmallVec<[Regs; 3]> {
        data.operands.iter().map(|operand| self.regs(*operand)).collect()
    }
}
