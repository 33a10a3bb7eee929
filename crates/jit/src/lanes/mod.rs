//! Lanes: threads of a group side by side in vectors.
//!
//! Input: an entry point and what it calls, as for scalar code. Output: a function that runs [`LANES`] consecutive threads of a
//! group at once; or a refusal, and then scalar code runs. Results are bit for bit those of scalar code, thread by thread.
//!
//! # Values
//!
//! [`Uniform`] tells which values are equal in all lanes. These are computed once, by scalar code ([`Body`]). A leaf of any other
//! value is one of three kinds ([`Leaf`]): one register for all lanes after all, a number that grows by one from lane to lane, or
//! [`PARTS`] vectors of four lanes. Truth values in vectors are masks: all bits of a lane set, or none.
//!
//! Values in memory are laid out leaf by leaf, the lanes of a leaf next to each other: leaf `n` of lane `k` is at byte
//! `4 * (LANES * n + k)`. So an access with the same index in all lanes is a vector access.
//!
//! # Masks
//!
//! Code runs under a [`Mask`]: the lanes that are here. *A lane that is not in the mask changes nothing*: memory is written for
//! the lanes in the mask only, and values that come out of branches and loops are blended. So the memory of a lane is always what
//! scalar code of its thread would have made it, and storage is shared between values as in scalar code.
//!
//! | construct | if lanes agree | if they part ([`control`]) |
//! | --- | --- | --- |
//! | `if`, `switch` | a branch | each arm under its part of the mask, unless no lane takes it; results are blended |
//! | loop | a loop | iterations until no lane is left; a lane that leaves keeps its results in variables |
//! | exit to a construct that lanes leave apart | | values are blended into variables of the target; the lane leaves the mask |
//! | barrier | all lanes wait together ([`barrier`]) | refused |
//! | call | inlined | inlined |
//!
//! When an exit takes the last lane of a mask, code goes on at the innermost *landing*: the end of an arm, the next iteration of a
//! loop, the end of an inlined function.
//!
//! # Traps
//!
//! The thread that is reported must be the first in order that traps, but a later one may trap earlier. So where some lane
//! traps, the lowest such lane is noted, with site and index, and only lanes below it stay *live* ([`State::live`]). The others
//! go on with a safe index, do not write to memory of the host, do not keep loops running, and cannot trap. At the end the function
//! returns whether some lane is dead. If lane 0 traps, it returns at once.
//!
//! # What is refused
//!
//! What depends on the order of threads ([`order`]), barriers that lanes may reach apart ([`barrier`]), waves, text, textures,
//! variables of a thread, pointers, recursion, and leaves that vary and are not `bool` or of 32 bits.
//!
//! [`State::live`]: crate::state::State::live

mod aggregate;
mod barrier;
mod call;
mod constants;
mod control;
mod copies;
mod cost;
mod edges;
mod host;
mod loops;
mod machine;
mod math;
mod memory;
mod order;
mod rows;
mod settle;
mod slow;
mod traps;
mod unroll;
mod value;

use crate::Unsupported;
use crate::body::Body;
use crate::compile::{Compiler, LaneChoice, Result};
use crate::shape::Leaf as Kind;
use crate::state::at;
use control::{Landing, LaneLoop, Returns};
use cost::Cost;
use cotangent_base::{EntityMap, Map, Scalar};
use cotangent_ir::{
    Effect, Func, FuncId, GlobalKind, InstData, Link, Module, Op, SystemValue, TrapCause, Ty, Type, Value,
};
use cotangent_passes::uniform::{Rules, Uniform};
use cranelift_codegen::ir::{Immediate, InstBuilder, StackSlot, types};
use cranelift_frontend::FunctionBuilder;
use order::{Order, Segment};
use smallvec::SmallVec;
use std::rc::Rc;
use value::{Leaf, Leaves, Mask, Repr};

/// Vectors of a leaf.
pub(crate) const PARTS: usize = 2;

/// How many threads run side by side.
pub(crate) const LANES: usize = 4 * PARTS;

/// The bytes of a leaf of all lanes.
pub(crate) const LEAF_BYTES: u64 = 4 * LANES as u64;

/// Functions that grow beyond this many instructions of the IR, calls inlined, run as scalar code.
const MOST_INSTS: usize = 20_000;

/// The same if lanes are a matter of speed only: long code takes long to compile.
const MOST_INSTS_FOR_SPEED: usize = 3_000;

/// Lanes that need more memory than this for their values run as scalar code: caches are not larger.
const MOST_ARENA: u64 = 1 << 20;

/// The code under construction: that of a function, or of one that is inlined.
pub(crate) struct Lanes<'c, 'f, 'm> {
    pub body: Body<'c, 'f, 'm>,
    uniform: Rc<Uniform<'m>>,
    values: EntityMap<Value, Option<Repr>>,
    mask: Mask,
    loops: Vec<LaneLoop>,
    /// The segments at the heads of loops.
    loop_segments: Vec<Segment>,
    landings: Vec<Landing>,
    returns: Option<Returns>,
    /// Memory that accesses of dead lanes may read and write.
    scratch: u64,
    /// How many instructions were emitted.
    count: usize,
    /// How many loops are around what is emitted, those of callers among them.
    depth: usize,
    /// If there are some, the number of the first block that belongs to them.
    loop_blocks: Option<usize>,
    order: Order,
    /// Parts of the frame for the lanes of rows, with their sizes.
    rows: Vec<(StackSlot, u64)>,
    /// How many iterations loops have together that do not ask whether the program must end.
    quiet: u64,
    /// What is known of registers where code is emitted.
    ranges: Vec<rows::Range>,
    /// The immediates of shuffles.
    shuffles: Map<[u8; 4], Immediate>,
    constants: constants::Constants,
    settled: settle::Settled,
    cost: Cost,
}

/// Why functions cannot run in lanes, if that is plain to see.
pub(crate) fn refusal(compiler: &Compiler<'_>, order: &[FuncId]) -> Option<Unsupported> {
    let refuse = |span, what: &str| Unsupported { span, what: format!("{what}, in lanes") };
    let module = compiler.module;
    if compiler.options.count_steps {
        return Some(refuse(module.funcs[order[0]].span, "steps that are counted"));
    }
    if let Some(id) = compiler.recursive.first() {
        return Some(refuse(module.funcs[*id].span, "recursion"));
    }
    for func in order.iter().map(|id| &module.funcs[*id]) {
        for data in func.all_insts().into_iter().map(|inst| &func.insts[inst]) {
            if let Some(what) = refused(module, &data.op) {
                return Some(refuse(data.span, what));
            }
        }
    }
    None
}

fn refused(module: &Module, op: &Op) -> Option<&'static str> {
    match op {
        Op::Wave(_) => Some("operations on waves"),
        Op::Print(_) => Some("text"),
        Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => Some("textures"),
        Op::Discard | Op::Screen(_) => Some("pixels"),
        Op::Global(global) => match module.globals[*global].kind {
            GlobalKind::Static(_) => Some("variables of a thread"),
            GlobalKind::Param | GlobalKind::Shared => None,
        },
        Op::Math(_) | Op::Const(_) | Op::Zero | Op::Undef | Op::Select | Op::Convert | Op::Bitcast => None,
        Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat => None,
        Op::Outer | Op::Transpose | Op::Pack | Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) => None,
        Op::Inject(_) | Op::Project(_) | Op::Tag | Op::Detach => None,
        Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Length | Op::Barrier(_) => None,
        Op::Point(_) | Op::Offset | Op::Address | Op::Pointer | Op::Assert(_) | Op::TargetText(_) => None,
        Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => None,
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => None,
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => None,
    }
}

impl<'c, 'f, 'm> Lanes<'c, 'f, 'm> {
    /// Emits what runs lanes: the entry point, inlined.
    pub fn thunk(c: &'c mut Compiler<'m>, b: FunctionBuilder<'f>, entry: FuncId) -> Result<()> {
        let mut body = Body::new(c, b, entry);
        body.is_lanes = true;
        body.count_step()?;
        body.take_arena();
        let scratch = body.c.largest_element();
        let scratch = body.arena_bytes(scratch);
        let uniform = Rc::new(analyse(body.c, entry, &[]));
        let values = EntityMap::filled(None, body.func.values.len());
        let mut lanes = Lanes {
            body,
            uniform,
            values,
            mask: Mask::Full,
            loops: vec![],
            loop_segments: vec![],
            landings: vec![],
            returns: None,
            scratch,
            count: 0,
            depth: 0,
            loop_blocks: None,
            order: Order::default(),
            rows: vec![],
            quiet: 1,
            ranges: vec![],
            shuffles: Map::default(),
            constants: constants::Constants::default(),
            settled: settle::Settled::default(),
            cost: Cost::default(),
        };
        let all = lanes.body.int(types::I32, (1 << LANES) - 1);
        lanes.body.store_state(all, at::LIVE);
        let inputs = lanes.entry_inputs()?;
        lanes.inline(entry, inputs, vec![], None)?;
        if lanes.body.c.options.lanes == LaneChoice::Auto && !lanes.cost.favours_lanes() {
            return lanes.refuse("code that is faster thread by thread");
        }
        if lanes.body.arena_taken() > MOST_ARENA {
            return lanes.refuse("large values");
        }
        lanes.body.leave_arena();
        let live = lanes.body.load_state(types::I32, at::LIVE);
        let is_whole = lanes.body.is_const(live, (1 << LANES) - 1);
        let one = lanes.body.int(types::I8, 1);
        let status = lanes.body.b.ins().bxor(is_whole, one);
        let status = lanes.body.b.ins().uextend(types::I32, status);
        lanes.body.b.ins().return_(&[status]);
        lanes.body.finish();
        Ok(())
    }

    /// The inputs of the entry point: the state is that of the first lane.
    fn entry_inputs(&mut self) -> Result<Vec<Repr>> {
        let info = self.body.func.entry.clone().expect("it is an entry point");
        let func = self.body.func;
        let mut inputs = Vec::new();
        for (input, link) in func.inputs().iter().zip(&info.inputs) {
            let count = self.body.leaf_types(func.ty(*input)).len();
            let leaves: Leaves =
                (0..count).map(|i| self.system_leaf(*link, i as i32, info.threads)).collect();
            inputs.push(Repr::Leaves(leaves));
        }
        Ok(inputs)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other value of the system has a meaning in compute shaders"
    )]
    fn system_leaf(&mut self, link: Link, component: i32, threads: [u32; 3]) -> Leaf {
        let Link::System(value) = link else { return Leaf::One(self.body.int(types::I32, 0)) };
        match value {
            SystemValue::GroupId => Leaf::One(self.body.load_state(types::I32, at::GROUP + 4 * component)),
            SystemValue::GroupIndex => Leaf::Next(self.body.load_state(types::I32, at::INDEX_IN_GROUP), 1),
            SystemValue::DispatchThreadId | SystemValue::GroupThreadId => {
                let first = if value == SystemValue::GroupThreadId { at::THREAD } else { at::IN_DISPATCH };
                if threads[0].is_multiple_of(LANES as u32) {
                    let first = self.body.load_state(types::I32, first + 4 * component);
                    return if component == 0 { Leaf::Next(first, 1) } else { Leaf::One(first) };
                }
                self.position(value, component, threads)
            }
            _ => Leaf::One(self.body.int(types::I32, 0)),
        }
    }

    /// A component of the position of each lane in the group, or in the dispatch, where lanes are not in a row.
    fn position(&mut self, value: SystemValue, component: i32, threads: [u32; 3]) -> Leaf {
        let first = self.body.load_state(types::I32, at::INDEX_IN_GROUP);
        let [x, y, _] = threads.map(|n| self.body.int(types::I32, n.into()));
        let group = self.body.load_state(types::I32, at::GROUP + 4 * component);
        let size = self.body.int(types::I32, threads[component as usize].into());
        let mut lanes = Vec::new();
        for lane in 0..LANES {
            let lane = self.body.int(types::I32, lane as i64);
            let index = self.body.b.ins().iadd(first, lane);
            let row = self.body.b.ins().udiv(index, x);
            let mut at = match component {
                0 => self.body.b.ins().urem(index, x),
                1 => self.body.b.ins().urem(row, y),
                _ => self.body.b.ins().udiv(row, y),
            };
            if value == SystemValue::DispatchThreadId {
                let before = self.body.b.ins().imul(group, size);
                at = self.body.b.ins().iadd(before, at);
            }
            lanes.push(at);
        }
        Leaf::Each(self.gathered(&lanes))
    }

    pub(crate) fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Unsupported { span: self.body.span, what: format!("{what}, in lanes") })
    }

    /// Whether lanes may have different values.
    fn varies(&self, value: Value) -> bool {
        self.uniform.varies(value)
    }

    fn ty(&self, value: Value) -> Ty {
        self.body.func.ty(value)
    }

    fn in_memory(&self, value: Value) -> bool {
        self.body.shape_of(value).in_memory()
    }

    /// The types of leaves that vary, all of which must be possible.
    fn scalars(&self, ty: Ty) -> Result<SmallVec<[Scalar; 4]>> {
        let mut all = SmallVec::new();
        for leaf in self.body.leaf_types(ty) {
            match leaf {
                Kind::Scalar(scalar @ (Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::F32)) => {
                    all.push(scalar)
                }
                Kind::Scalar(_) => return self.refuse("numbers that do not have 32 bits"),
                Kind::Handle | Kind::Word => return self.refuse("handles that vary"),
            }
        }
        Ok(all)
    }

    /// Emits an instruction without regions.
    fn plain(&mut self, data: &InstData) -> Result<()> {
        let is_uniform = data.results.first().is_some_and(|result| !self.varies(*result));
        let is_safe = self.mask.is_full() || !may_end(self.body.c.module, self.body.func, data);
        if is_uniform && is_safe && !matches!(data.op, Op::Load(_)) {
            return self.body.plain(data);
        }
        let leaves: Leaves = match &data.op {
            Op::Math(math) => self.elementwise(*math, data)?,
            Op::Const(_) | Op::Length | Op::Point(_) | Op::Offset | Op::Address | Op::Pointer => {
                return self.refuse("this operation");
            }
            Op::Zero | Op::Undef => return self.zero(data.results[0]),
            Op::Select => return self.select(data),
            Op::Convert => self.convert(data)?,
            Op::Bitcast => self.bitcast(data)?,
            Op::Splat => return self.splat(data),
            Op::Sum => return self.sum(data),
            Op::Swizzle(lanes) => {
                let vector = self.leaves(data.operands[0]);
                lanes.iter().map(|lane| vector[usize::from(*lane)]).collect()
            }
            Op::Dot => self.product(data, (1, 1))?,
            Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => {
                let extent = self.body.extent(data);
                self.product(data, extent)?
            }
            Op::Transpose => self.transpose(data),
            Op::Pack => return self.pack(data),
            Op::Extract(path) => return self.extract(data, path),
            Op::Insert(path) => return self.insert(data, path, false),
            Op::InsertAdd(path) => return self.insert(data, path, true),
            Op::Inject(member) => self.inject(data, *member)?,
            Op::Project(member) => self.project(data, *member)?,
            Op::Tag => {
                self.without_unknown(data.operands[0])?;
                SmallVec::from_slice(&self.leaves(data.operands[0])[..1])
            }
            Op::Detach => return self.same(data.operands[0], data.results[0]),
            Op::Global(_) => return self.global(data),
            Op::Load(path) => return self.load(data, path),
            Op::Store(path) => return self.store(data, path),
            Op::Atomic(atomic) => self.atomic(data, atomic)?,
            Op::Barrier(barrier) => return if barrier.sync { self.barrier() } else { Ok(()) },
            Op::Assert(trap) => return self.assert(data.operands[0], *trap),
            Op::Wave(_) | Op::Print(_) | Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => {
                return self.refuse("this operation");
            }
            Op::Discard | Op::Screen(_) => return self.refuse("pixels"),
            Op::TargetText(_) => return self.refuse("text of a target"),
            Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => unreachable!("`control` emits calls"),
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => unreachable!("`control` emits these"),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => unreachable!("`control` emits exits"),
        };
        match data.results.first() {
            Some(result) => self.set(*result, leaves),
            None => Ok(()),
        }
    }
}

/// Finds the values that vary in a function, of which some inputs do.
pub(crate) fn analyse<'m>(c: &Compiler<'m>, id: FuncId, inputs: &[bool]) -> Uniform<'m> {
    let varies = |ty: Ty| c.shapes.shape(ty).in_memory();
    let rules = Rules { inputs, reads_at_once: true, ends_together: true, varies: &varies };
    Uniform::of(&c.module.types, &c.module.funcs[id], rules)
}

/// Whether an instruction without regions can end the program. Lanes that take no part must not run such instructions.
fn may_end(module: &Module, func: &Func, data: &InstData) -> bool {
    let operand = || module.types.get(func.ty(data.operands[0]));
    match data.op.trap_cause() {
        Some(TrapCause::Divisor) => operand().scalar().is_some_and(|scalar| !scalar.is_float()),
        Some(TrapCause::Index) => true,
        Some(TrapCause::Tag) => {
            if let Type::Sum(id) = operand() {
                !module.types.struct_def(id).ids.is_empty()
            } else {
                true
            }
        }
        None => match data.op.effect() {
            Effect::None => {
                data.op == Op::Length && !matches!(func.op(data.operands[0]), Some(Op::Global(_)))
            }
            Effect::Read | Effect::Write | Effect::Inner | Effect::Exit => !matches!(data.op, Op::Barrier(_)),
        },
    }
}
