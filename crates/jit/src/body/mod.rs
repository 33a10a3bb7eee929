//! The state of one function under construction: its values, its storage, and its exit on a trap.

mod pieces;
mod stopping;
mod storage;

use crate::Unsupported;
use crate::compile::{Compiler, Result};
use crate::shape::{Leaf, Shape};
use crate::trail::Trail;
use cotangent_base::{EntityMap, Map, Scalar, Span};
use cotangent_ir::{Func, FuncId, Ty, Type, Value};
use cotangent_passes::place::{Places, Slot};
use cranelift_codegen::ir::immediates::Imm64;
use cranelift_codegen::ir::{
    Block, InstBuilder, InstructionData, Opcode, StackSlot, Type as Native, Value as Reg, types,
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
}
