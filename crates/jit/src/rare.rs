//! Calls for arguments that the inline code of an elementary function does not cover.
//!
//! A call by the convention of the host changes most registers. Although it hardly ever happens, whatever lives across it would be
//! stored to the stack whenever the function is evaluated. So code calls a function made here, which keeps all registers, takes
//! its arguments in memory and leaves its results there:
//!
//! | bytes | of room |
//! | --- | --- |
//! | 0 to 15 | the first arguments of four lanes |
//! | 16 to 31 | the second arguments |
//! | 32 to 47 | the results, of which those of lanes that are not usual are written |

use crate::body::Body;
use crate::compile::{Compiler, Result};
use crate::state::Helper;
use cotangent_base::Span;
use cotangent_maths::Rare;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Value as Reg, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use cranelift_module::{FuncId as NativeId, Module as _};

/// Lanes that a call may have.
const LANES: i64 = 4;

/// The bytes of the room.
const ROOM: u64 = 48;

impl Compiler<'_> {
    /// The function to call, which is compiled if it is not there yet.
    fn rare(&mut self, function: Rare) -> Result<NativeId> {
        if let Some(native) = self.rares.get(&function) {
            return Ok(*native);
        }
        let mut signature = self.jit.make_signature();
        signature.call_conv = CallConv::PreserveAll;
        signature.params = vec![AbiParam::new(types::I64), AbiParam::new(types::I32)];
        let native = self.jit.declare_anonymous_function(&signature);
        let native = native.map_err(|e| crate::compile::failed(Span::none(), e))?;
        let helper = self.helper(Helper::Rare(function))?;
        self.build(native, signature, Span::none(), |compiler, builder| {
            call_lanes(compiler, builder, helper);
            Ok(())
        })?;
        self.rares.insert(function, native);
        Ok(native)
    }
}

/// The function: for each lane whose bit is not set it calls the helper.
fn call_lanes(c: &mut Compiler<'_>, mut b: FunctionBuilder<'_>, helper: NativeId) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let [room, usual] = [0, 1].map(|i| b.block_params(entry)[i]);
    let helper = c.jit.declare_func_in_func(helper, b.func);
    for lane in 0..LANES {
        let (call, next) = (b.create_block(), b.create_block());
        let bit = b.ins().iconst(types::I32, 1 << lane);
        let is_usual = b.ins().band(usual, bit);
        b.ins().brif(is_usual, next, &[], call, &[]);
        b.switch_to_block(call);
        let at = 4 * lane as i32;
        let args = [0, 16].map(|from| b.ins().load(types::F32, MemFlagsData::trusted(), room, from + at));
        let called = b.ins().call(helper, &args);
        let result = b.inst_results(called)[0];
        b.ins().store(MemFlagsData::trusted(), result, room, 32 + at);
        b.ins().jump(next, &[]);
        b.switch_to_block(next);
    }
    b.ins().return_(&[]);
    b.seal_all_blocks();
    let config = c.jit.target_config();
    b.finalize(config);
}

impl Body<'_, '_, '_> {
    /// Calls a rare function for lanes whose bit is not set. Arguments and `found` are vectors, or scalars of the first lane. Gives
    /// `found` with the results of the calls.
    pub fn call_rare(&mut self, function: Rare, [a, b]: [Reg; 2], found: Reg, usual: Reg) -> Reg {
        // Functions are declared under names of their own, so declaring one cannot fail.
        let Ok(native) = self.c.rare(function) else { return found };
        let slot = match self.rare_room {
            Some(slot) => slot,
            None => self.stack(ROOM),
        };
        self.rare_room = Some(slot);
        let native = self.c.jit.declare_func_in_func(native, self.b.func);
        let room = self.b.ins().stack_addr(types::I64, slot, 0);
        for (at, reg) in [(0, a), (16, b), (32, found)] {
            self.b.ins().store(MemFlagsData::trusted(), reg, room, at);
        }
        self.b.ins().call(native, &[room, usual]);
        let ty = self.b.func.dfg.value_type(found);
        self.b.ins().load(ty, MemFlagsData::trusted(), room, 32)
    }
}
