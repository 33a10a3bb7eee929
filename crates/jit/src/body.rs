//! The state of one function under construction: its values, its storage, and its exit on a trap.

use crate::Unsupported;
use crate::compile::{Compiler, Result};
use crate::lanes;
use crate::shape::{Leaf, Shape};
use crate::state::{Helper, at};
use crate::trail::Trail;
use cotangent_base::{EntityMap, Map, Scalar, Set, Span};
use cotangent_ir::{Func, FuncId, InstData, Op, Trap, Ty, Type, Value};
use cotangent_passes::place::{Places, Slot};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64, Imm64};
use cranelift_codegen::ir::{
    Block, BlockArg, Endianness, InstBuilder, InstructionData, MemFlagsData, Opcode, StackSlot,
    StackSlotData, StackSlotKind, Type as Native, Value as Reg, types,
};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::Module as _;
use smallvec::SmallVec;
use std::mem;

/// The leaves of a value.
pub(crate) type Regs = SmallVec<[Reg; 4]>;

/// Storage of more bytes than this in one frame is in the arena.
const MOST_OF_FRAME: u64 = 32 << 10;

/// Copies of more bytes than this in one frame are refused.
const MOST_OF_COPIES: u64 = 256 << 10;

/// Where a value is.
#[derive(Clone, Debug)]
pub(crate) enum Repr {
    Leaves(Regs),
    Memory(Storage),
}

/// Memory of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Storage {
    Stack(StackSlot),
    /// So far from the start of the function's part of the arena.
    Arena(u64),
    At(Reg),
}

/// A loop around what is emitted.
pub(crate) struct Loop {
    /// Where `continue` and `break` go, with the leaves of the loop's values.
    pub next: Block,
    pub end: Block,
    /// The loop's results, whose storage its values share.
    pub results: SmallVec<[Value; 4]>,
}

/// What belongs to the caller of an inlined function.
pub(crate) struct Frame<'m> {
    func: &'m Func,
    id: FuncId,
    span: Span,
    end: Option<Block>,
    inlined: Option<u32>,
    values: EntityMap<Value, Option<Repr>>,
    slots: Map<Slot, Storage>,
    own: Map<Value, Storage>,
    loops: Vec<Loop>,
    outputs: Vec<Option<Storage>>,
}

/// The function under construction.
pub(crate) struct Body<'c, 'f, 'm> {
    pub c: &'c mut Compiler<'m>,
    pub b: FunctionBuilder<'f>,
    pub func: &'m Func,
    pub id: FuncId,
    pub values: EntityMap<Value, Option<Repr>>,
    /// The storage of slots, and of values that have none.
    slots: Map<Slot, Storage>,
    own: Map<Value, Storage>,
    pub state: Reg,
    /// Whether values in memory are laid out for lanes.
    pub is_lanes: bool,
    arena: Option<Reg>,
    /// How much of the arena is taken, and the constant in the code that says so.
    taken: u64,
    taken_reg: Option<Reg>,
    /// How many bytes of the frame are copies.
    copies: u64,
    /// Where an output that lies in memory is to be written, unless it is in place already.
    pub outputs: Vec<Option<Storage>>,
    pub loops: Vec<Loop>,
    /// Where `return` goes with the leaves of outputs, if the function is inlined, and the site of the call.
    pub end: Option<Block>,
    pub inlined: Option<u32>,
    /// Where the function ends that has stopped.
    stopped: Option<Block>,
    pub trail: Trail,
    /// Room for calls of rare functions.
    pub rare_room: Option<StackSlot>,
    pub span: Span,
}

impl<'c, 'f, 'm> Body<'c, 'f, 'm> {
    pub fn new(c: &'c mut Compiler<'m>, mut b: FunctionBuilder<'f>, id: FuncId) -> Self {
        let func = &c.module.funcs[id];
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let state = b.block_params(entry)[0];
        Body {
            values: EntityMap::filled(None, func.values.len()),
            c,
            b,
            func,
            id,
            slots: Map::default(),
            own: Map::default(),
            state,
            is_lanes: false,
            arena: None,
            taken: 0,
            taken_reg: None,
            copies: 0,
            outputs: vec![],
            loops: vec![],
            end: None,
            inlined: None,
            stopped: None,
            trail: Trail::default(),
            rare_room: None,
            span: func.span,
        }
    }

    /// Emits the whole function.
    pub fn function(mut self) -> Result<()> {
        let entry = self.b.current_block().expect("a function begins with a block");
        let params: Vec<Reg> = self.b.block_params(entry)[1..].to_vec();
        let mut params = params.into_iter();
        let func = self.func;
        let mut inputs = Vec::new();
        for input in func.inputs() {
            let shape = self.shape_of(*input);
            inputs.push(match shape.in_memory() {
                true => Repr::Memory(Storage::At(params.next().expect("the signature has it"))),
                false => Repr::Leaves(params.by_ref().take(shape.leaves as usize).collect()),
            });
        }
        for (number, output) in func.sig.outputs().enumerate() {
            let is_new = self.c.shapes.shape(output.ty).in_memory() && self.places().passed[number].is_none();
            let given = is_new.then(|| Storage::At(params.next().expect("the signature has it")));
            self.outputs.push(given);
        }
        self.begin_trail();
        self.emit(inputs)?;
        self.finish();
        Ok(())
    }

    /// Emits the code of the function, of which the inputs and outputs are given.
    pub fn emit(&mut self, inputs: Vec<Repr>) -> Result<()> {
        let func = self.func;
        let mut copies = Vec::new();
        for (number, (input, given)) in func.inputs().iter().copied().zip(inputs).enumerate() {
            let Repr::Memory(storage) = given else {
                self.values[input] = Some(given);
                continue;
            };
            let slot = self.places().slot(input);
            let is_passed = self.places().passed.contains(&Some(number));
            let changes = slot.is_some_and(|slot| self.places().members(slot).len() > 1);
            match slot {
                // It is changed, and the caller's must not be.
                Some(_) if changes && !is_passed => copies.push((input, storage)),
                Some(slot) => {
                    self.slots.insert(slot, storage);
                    self.values[input] = Some(given);
                }
                None => self.values[input] = Some(given),
            }
        }
        self.allocate();
        for (input, given) in copies {
            let own = self.storage(input);
            self.copy(own, given, self.func.ty(input));
            self.values[input] = Some(Repr::Memory(own));
        }
        self.region(func.body)
    }

    /// Emits the code of a callee in place of a call. The inputs and the storage of outputs are given. The leaves of outputs
    /// are the parameters of the block that it ends with.
    pub fn inline(
        &mut self,
        callee: FuncId,
        inputs: Vec<Repr>,
        outputs: Vec<Option<Storage>>,
        site: Option<u32>,
    ) -> Result<Vec<Reg>> {
        let func = &self.c.module.funcs[callee];
        let leaves = func.sig.outputs().filter(|output| !self.c.shapes.shape(output.ty).in_memory());
        let leaves: Vec<Native> =
            leaves.flat_map(|output| self.leaf_types(output.ty)).map(|leaf| leaf.native()).collect();
        let end = self.block_with(&leaves);
        let caller = self.enter_frame(callee, outputs, site);
        self.end = Some(end);
        let emitted = self.emit(inputs);
        self.leave_frame(caller);
        emitted?;
        self.b.switch_to_block(end);
        Ok(self.b.block_params(end).to_vec())
    }

    /// Begins an inlined function. Gives what belongs to its caller.
    pub fn enter_frame(
        &mut self,
        callee: FuncId,
        outputs: Vec<Option<Storage>>,
        site: Option<u32>,
    ) -> Frame<'m> {
        let func = &self.c.module.funcs[callee];
        let caller = Frame {
            func: self.func,
            id: self.id,
            span: self.span,
            end: self.end,
            inlined: self.inlined,
            values: mem::replace(&mut self.values, EntityMap::filled(None, func.values.len())),
            slots: mem::take(&mut self.slots),
            own: mem::take(&mut self.own),
            loops: mem::take(&mut self.loops),
            outputs: mem::replace(&mut self.outputs, outputs),
        };
        (self.func, self.id, self.span, self.inlined) = (func, callee, func.span, site.or(self.inlined));
        caller
    }

    /// Ends an inlined function.
    pub fn leave_frame(&mut self, caller: Frame<'m>) {
        (self.func, self.id, self.span) = (caller.func, caller.id, caller.span);
        (self.end, self.inlined) = (caller.end, caller.inlined);
        (self.values, self.slots, self.own) = (caller.values, caller.slots, caller.own);
        (self.loops, self.outputs) = (caller.loops, caller.outputs);
    }

    pub fn finish(mut self) {
        if let Some(reg) = self.taken_reg {
            let inst = self.b.func.dfg.value_def(reg).unwrap_inst();
            let imm = Imm64::new(self.taken as i64);
            self.b.func.dfg.insts[inst] = InstructionData::UnaryImm { opcode: Opcode::Iconst, imm };
            match self.is_lanes {
                true => self.c.lane_arena = self.taken,
                false => _ = self.c.frames.insert(self.id, self.taken),
            }
        }
        if let Some(block) = self.stopped {
            self.b.switch_to_block(block);
            let returns: Vec<Native> = self.b.func.signature.returns.iter().map(|r| r.value_type).collect();
            let mut values = vec![self.int(types::I32, 1)];
            for ty in &returns[1..] {
                values.push(self.zero_of(*ty));
            }
            self.b.ins().return_(&values);
        }
        self.b.seal_all_blocks();
        let config = self.c.jit.target_config();
        self.b.finalize(config);
    }

    // Values.

    pub fn places(&self) -> &Places {
        &self.c.places[&self.id]
    }

    pub fn ty(&self, value: Value) -> Type {
        self.c.module.types.get(self.func.ty(value))
    }

    pub fn shape_of(&self, value: Value) -> Shape {
        self.c.shapes.shape(self.func.ty(value))
    }

    pub fn scalar_of(&self, value: Value) -> Scalar {
        self.ty(value).scalar().expect("the verifier checked the type")
    }

    pub fn leaf_types(&self, ty: Ty) -> SmallVec<[Leaf; 4]> {
        self.c.shapes.leaves(ty).iter().map(|(leaf, _)| *leaf).collect()
    }

    pub fn repr(&self, value: Value) -> Repr {
        self.values[value].clone().expect("values are made before they are used")
    }

    /// The leaves of a value that does not lie in memory.
    pub fn regs(&self, value: Value) -> Regs {
        match self.repr(value) {
            Repr::Leaves(regs) => regs,
            Repr::Memory(_) => unreachable!("its type says that it has leaves"),
        }
    }

    /// The only leaf of a value.
    pub fn reg(&self, value: Value) -> Reg {
        self.regs(value)[0]
    }

    pub fn set(&mut self, value: Value, regs: Regs) {
        self.values[value] = Some(Repr::Leaves(regs));
    }

    pub fn refuse<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Unsupported { span: self.span, what: what.into() })
    }

    // Storage.

    /// Gives storage to all values that lie in memory.
    pub fn allocate(&mut self) {
        let func = self.func;
        let mut wanted: Vec<(Option<Slot>, Value)> = Vec::new();
        let mut seen: Set<Slot> = self.slots.keys().copied().collect();
        let mut note = |body: &Self, value: Value| {
            let slot = body.places().slot(value);
            let mut is_known = || match slot {
                Some(slot) => !seen.insert(slot),
                None => body.values[value].is_some(),
            };
            if body.shape_of(value).in_memory() && !is_known() {
                wanted.push((slot, value));
            }
        };
        func.inputs().iter().for_each(|input| note(self, *input));
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            for region in &data.regions {
                func.regions[*region].args.iter().for_each(|arg| note(self, *arg));
            }
            data.results.iter().for_each(|result| note(self, *result));
        }
        let size = |value: Value| match (self.is_lanes, self.shape_of(value)) {
            (true, shape) => shape.leaves.saturating_mul(lanes::LEAF_BYTES),
            (false, shape) => shape.size.next_multiple_of(16),
        };
        // Processors take a load for one of what was just stored a multiple of 4 KiB away, and wait.
        let apart = |size: u64| if size > 0 && size.is_multiple_of(4096) { size + 64 } else { size };
        let sizes: Vec<u64> = wanted.iter().map(|(_, value)| apart(size(*value))).collect();
        let total: u64 = sizes.iter().sum();
        // What is inlined needs little, and the arena is taken where the function begins.
        let in_arena = total > MOST_OF_FRAME && self.end.is_none() || self.arena.is_some();
        if in_arena && self.arena.is_none() {
            self.take_arena();
        }
        for ((slot, value), size) in wanted.into_iter().zip(sizes) {
            let storage = if in_arena { self.in_arena(size) } else { Storage::Stack(self.stack(size)) };
            match slot {
                Some(slot) => _ = self.slots.insert(slot, storage),
                None => _ = self.own.insert(value, storage),
            }
        }
    }

    pub fn stack(&mut self, size: u64) -> StackSlot {
        self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size as u32, 4))
    }

    /// Makes storage that of a slot.
    pub fn place(&mut self, slot: Slot, storage: Storage) {
        self.slots.insert(slot, storage);
    }

    /// Takes a part of the arena. How large it is stands at the end of the function ([`finish`](Self::finish)).
    pub fn take_arena(&mut self) {
        let old = self.load_state(types::I64, at::ARENA);
        let bytes = self.int(types::I64, 0);
        let new = self.b.ins().iadd(old, bytes);
        let end = self.load_state(types::I64, at::ARENA_END);
        let is_over = self.b.ins().icmp(IntCC::UnsignedGreaterThan, new, end);
        self.stop_if(is_over, Trap::CallDepth, None);
        self.store_state(new, at::ARENA);
        self.arena = Some(old);
        self.taken_reg = Some(bytes);
    }

    fn in_arena(&mut self, size: u64) -> Storage {
        Storage::Arena(self.arena_bytes(size))
    }

    /// So many more bytes of the arena: where they begin in the part that the function has.
    pub fn arena_bytes(&mut self, size: u64) -> u64 {
        let at = self.taken;
        self.taken = at.saturating_add(size).next_multiple_of(16);
        at
    }

    /// How many bytes of the arena the function has.
    pub fn arena_taken(&self) -> u64 {
        self.taken
    }

    /// The address of a byte in the part of the arena that the function has.
    pub fn arena_address(&mut self, at: u64) -> Reg {
        self.address(Storage::Arena(at))
    }

    /// Storage for a copy.
    pub fn for_copy(&mut self, ty: Ty) -> Result<Storage> {
        let size = self.c.shapes.shape(ty).size.next_multiple_of(16);
        if self.arena.is_some() {
            return Ok(self.in_arena(size));
        }
        self.copies += size;
        if self.copies > MOST_OF_COPIES {
            return self.refuse("many copies of large values");
        }
        Ok(Storage::Stack(self.stack(size)))
    }

    /// Gives the arena back, at the end of the function.
    pub fn leave_arena(&mut self) {
        if let Some(old) = self.arena {
            self.store_state(old, at::ARENA);
        }
    }

    /// The storage of a value that lies in memory.
    pub fn storage(&self, value: Value) -> Storage {
        match self.places().slot(value) {
            Some(slot) => self.slots[&slot],
            None => self.own[&value],
        }
    }

    /// Makes a value one that lies in its storage.
    pub fn set_stored(&mut self, value: Value) -> Storage {
        let storage = self.storage(value);
        self.values[value] = Some(Repr::Memory(storage));
        storage
    }

    /// The address of storage.
    pub fn address(&mut self, storage: Storage) -> Reg {
        match storage {
            Storage::Stack(slot) => self.b.ins().stack_addr(types::I64, slot, 0),
            Storage::Arena(at) => {
                let base = self.arena.expect("it was taken");
                self.add_const(base, at as i64)
            }
            Storage::At(address) => address,
        }
    }

    /// The storage of a value that lies in memory, as it is now.
    pub fn place_of(&self, value: Value) -> Storage {
        match self.repr(value) {
            Repr::Memory(storage) => storage,
            Repr::Leaves(_) => unreachable!("its type says that it lies in memory"),
        }
    }

    /// Copies a value of a type from one place to another, if they differ.
    pub fn copy(&mut self, to: Storage, from: Storage, ty: Ty) {
        if to == from {
            return;
        }
        let (to, from) = (self.address(to), self.address(from));
        self.copy_bytes(to, from, ty);
    }

    pub fn copy_bytes(&mut self, to: Reg, from: Reg, ty: Ty) {
        let size = self.c.shapes.shape(ty).size;
        if size > 0 {
            let size = self.int(types::I64, size as i64);
            self.move_bytes(to, from, size);
        }
    }

    pub fn move_bytes(&mut self, to: Reg, from: Reg, size: Reg) {
        let config = self.c.jit.target_config();
        self.b.call_memmove(config, to, from, size);
    }

    pub fn clear(&mut self, to: Storage, ty: Ty) {
        let size = self.c.shapes.shape(ty).size;
        let to = self.address(to);
        self.clear_bytes(to, size);
    }

    pub fn clear_bytes(&mut self, to: Reg, size: u64) {
        if size > 0 {
            let (size, zero) = (self.int(types::I64, size as i64), self.int(types::I8, 0));
            let config = self.c.jit.target_config();
            self.b.call_memset(config, to, zero, size);
        }
    }

    // Small pieces of code.

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

    // Stopping.

    /// Ends the function with a trap if a condition holds.
    pub fn stop_if(&mut self, cond: Reg, trap: Trap, found: Option<(Reg, Reg)>) {
        let (stop, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cond, stop, &[], go_on, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        self.stop(trap, found);
        self.b.switch_to_block(go_on);
    }

    /// This place, where the program may stop.
    pub fn site(&mut self, trap: Trap) -> u32 {
        self.c.site(trap, self.span, self.func, self.inlined)
    }

    /// Ends the function with a trap. Nothing can be emitted after it in this block.
    pub fn stop(&mut self, trap: Trap, found: Option<(Reg, Reg)>) {
        let site = self.site(trap);
        let site = self.int(types::I32, site.into());
        self.store_state(site, at::SITE);
        if self.is_lanes {
            // All lanes stop here, the first of them first.
            let first = self.int(types::I32, 0);
            self.store_state(first, at::LANE);
        }
        if let Some((index, len)) = found {
            self.store_state(index, at::INDEX);
            self.store_state(len, at::LEN);
        }
        let end = self.stopped_block();
        self.b.ins().jump(end, &[]);
    }

    /// Where the function returns that something is wrong.
    pub fn stopped_block(&mut self) -> Block {
        if let Some(block) = self.stopped {
            return block;
        }
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        self.stopped = Some(block);
        block
    }

    /// Ends the function if the launch must end; counts a step, if steps are counted.
    pub fn count_step(&mut self) -> Result<()> {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let word = self.b.ins().load(types::I64, flags, self.state, at::INTERRUPT);
        let flags = MemFlagsData::new().with_notrap().with_aligned();
        let must_end = self.b.ins().atomic_load(types::I32, flags, word);
        self.stop_if(must_end, Trap::Interrupted, None);
        if self.c.options.count_steps {
            let left = self.load_state(types::I64, at::FUEL);
            let left = self.add_const(left, -1);
            self.store_state(left, at::FUEL);
            let zero = self.int(types::I64, 0);
            let is_over = self.b.ins().icmp(IntCC::SignedLessThan, left, zero);
            let (empty, go_on) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(is_over, empty, &[], go_on, &[]);
            self.b.switch_to_block(empty);
            self.b.set_cold_block(empty);
            let status = self.helper(Helper::Refuel, &[self.state])?.expect("it gives a status");
            self.stop_if(status, Trap::StepLimit, None);
            self.b.ins().jump(go_on, &[]);
            self.b.switch_to_block(go_on);
        }
        Ok(())
    }

    /// Makes values from here on come from a new block that takes leaves of these types.
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
