//! Assigns bindings to the parameters of a program: slots for resources, offsets for values.
//!
//! The values of all global parameters form one block, and those of each entry point another. Each block has the layout of
//! [`Target::rules`]. The target determines which parameters take slots:
//!
//! | target              | slots                                                | an array of resources    |
//! | ------------------- | ---------------------------------------------------- | ------------------------ |
//! | WGSL, SPIR-V, GLSL  | one sequence per space; `ParameterBlock` has a space | takes one slot           |
//! | HLSL                | `b`, `t`, `u` numbered apart                         | takes one for each       |
//! | Metal               | buffers; what is in a `ParameterBlock` takes none    | takes one for each       |
//! | CUDA, C++           | none: handles are pointers among the values          | is in memory             |
//!
//! Explicit numbers are reserved first. On targets with one numbering, a Direct3D register is a binding or buffer index; if
//! `b0` takes number 0, `t0` takes the first free one ([`wishes`]). Then the global block gets a slot. Then each parameter,
//! in declaration order, gets the first free range that is large enough. Entry points follow. SPIR-V and GLSL pass the values
//! of an entry point as push constants.
//!
//! Counters without a slot in the reference compiler come after all others: those that HLSL hides in the register of a
//! buffer, and those of buffers that use `IncrementCounter`.

mod leaves;
mod place;
mod slots;

use super::{Matrices, Memory, Rules, Target};
use crate::Types;
use crate::shader::{Field, ShaderParam, ShaderParams, Shape};
use cotangent_base::Symbol;
pub use leaves::LeafPlace;
use place::{Cursor, Placer};
use slots::{Allocator, Usage};
pub use slots::{Kind, Slot};

/// Where all parameters are.
#[derive(Clone, PartialEq, Debug)]
pub struct Bindings {
    /// For which target.
    pub target: Target,
    /// The block of global values, if there are any.
    pub block: Option<BlockPlace>,
    /// The global parameters, in the order of declaration.
    pub params: Vec<Bound>,
    /// The entry points.
    pub entries: Vec<EntryBindings>,
}

/// Where the parameters of an entry point are.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryBindings {
    /// Its name.
    pub name: Symbol,
    /// The block of its values, if there are any.
    pub block: Option<BlockPlace>,
    /// Its uniform parameters.
    pub params: Vec<Bound>,
}

/// Memory that holds values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockPlace {
    /// Where it is bound; nowhere where values are passed by pointer.
    pub slot: Option<Slot>,
    /// How many bytes it has.
    pub size: u32,
    /// How it is laid out.
    pub rules: Rules,
}

/// Where a parameter or a part of one is.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// Its name.
    pub name: Symbol,
    /// What it is.
    pub shape: Shape,
    /// The slots it takes, at most one range of each kind.
    pub slots: Vec<Slot>,
    /// The space that belongs to it alone.
    pub space: Option<u32>,
    /// Where its values lie in the block around it.
    pub data: Option<Span>,
    /// How a value is laid out, or an element of a buffer.
    pub rules: Rules,
    /// The memory it stands for, if it is a block.
    pub block: Option<BlockPlace>,
    /// The fields of a structure, the contents of a block, the first element of an array.
    pub parts: Vec<Bound>,
}

/// A range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first.
    pub offset: u32,
    /// How many.
    pub size: u32,
}

/// Gives all parameters their places.
pub fn bind(types: &Types, params: &ShaderParams, target: Target, matrices: Matrices) -> Bindings {
    let placer = Placer { types, target, matrices };
    let mut free = Allocator::default();
    let wishes = wishes(&placer, &params.globals, &mut free);
    let fields = fields(&params.globals);
    let block = placer.gather(&fields, Memory::Constant, &mut free);
    if params.globals.iter().any(|p| placer.usage(p).needs_default_space()) {
        free.use_space(0);
    }
    let offsets = placer.offsets(&fields, placer.rules(Memory::Constant));
    let mut bound = Vec::new();
    for ((param, offset), wished) in params.globals.iter().zip(offsets).zip(wishes) {
        let mut cursor = match param.shape {
            Shape::Counter(_) => Cursor::default(),
            Shape::Value(_)
            | Shape::Packed(..)
            | Shape::Resource(_)
            | Shape::Block(..)
            | Shape::Struct(_)
            | Shape::Array(..) => placer.cursor(param, wished, &mut free),
        };
        bound.push(placer.top(param, offset, placer.rules(Memory::Constant), &mut cursor));
    }
    let entries = params.entries.iter().map(|(name, params)| entry(&placer, *name, params, &mut free));
    let mut entries: Vec<EntryBindings> = entries.collect();
    let of_entries = entries.iter_mut().flat_map(|entry| &mut entry.params);
    for bound in bound.iter_mut().chain(of_entries) {
        let alone = matches!(bound.shape, Shape::Counter(_));
        if alone || placer.hides_counters() {
            placer.count_behind(bound, 1, &mut free);
        }
    }
    Bindings { target, block, params: bound, entries }
}

/// What each parameter asks for and gets, reserved. Bindings written for this target are reserved first, even if two parameters
/// have the same one; the target reports that. Direct3D registers are reserved only if they are free.
fn wishes(placer: &Placer<'_>, params: &[ShaderParam], free: &mut Allocator) -> Vec<Vec<Slot>> {
    let mut wishes: Vec<Vec<Slot>> = params.iter().map(|param| placer.wished(param)).collect();
    for taken_over in [false, true] {
        let of_kind = |(param, _): &(&ShaderParam, _)| placer.takes_over(param) == taken_over;
        for (_, wished) in params.iter().zip(&mut wishes).filter(of_kind) {
            wished.retain(|slot| !taken_over || free.has(*slot));
            wished.iter().for_each(|slot| free.reserve(*slot));
        }
    }
    wishes
}

fn fields(params: &[ShaderParam]) -> Vec<Field> {
    params.iter().map(|p| Field { name: p.name, shape: p.shape.clone(), beside: false }).collect()
}

/// The parameters of an entry point are allocated together.
fn entry(placer: &Placer<'_>, name: Symbol, params: &[ShaderParam], free: &mut Allocator) -> EntryBindings {
    let pushed = matches!(placer.target, Target::SpirV | Target::Glsl);
    let memory = if pushed { Memory::Push } else { Memory::Constant };
    let fields = fields(params);
    let size = placer.data_size(&fields, placer.rules(memory));
    let mut usage = Usage::default();
    let own = placer.block_kind(memory);
    if size > 0
        && let Some(kind) = own
    {
        usage.add(kind, 1);
    }
    params.iter().for_each(|p| usage.join(&placer.usage(p)));
    let mut cursor = free.take(&usage);
    let block = (size > 0).then(|| {
        let slot = match own {
            Some(kind) => Some(cursor.next(kind, 1)),
            None => placer.push_slot(memory),
        };
        BlockPlace { slot, size, rules: placer.rules(memory) }
    });
    let offsets = placer.offsets(&fields, placer.rules(memory));
    let bound =
        params.iter().zip(offsets).map(|(p, at)| placer.top(p, at, placer.rules(memory), &mut cursor));
    EntryBindings { name, block, params: bound.collect() }
}

impl Placer<'_> {
    /// The block that the values of global parameters are gathered in.
    fn gather(&self, fields: &[Field], memory: Memory, free: &mut Allocator) -> Option<BlockPlace> {
        let rules = self.rules(memory);
        let size = self.data_size(fields, rules);
        if size == 0 {
            return None;
        }
        let mut usage = Usage::default();
        let kind = self.block_kind(memory);
        if let Some(kind) = kind {
            usage.add(kind, 1);
            free.use_space(0);
        }
        let mut cursor = free.take(&usage);
        Some(BlockPlace { slot: kind.map(|kind| cursor.next(kind, 1)), size, rules })
    }

    /// Gives the counters in a parameter slots after all that are taken; `times` is how many of it there are.
    fn count_behind(&self, bound: &mut Bound, times: u32, free: &mut Allocator) {
        let times = if let Shape::Array(_, n) = bound.shape { times.saturating_mul(n) } else { times };
        for part in &mut bound.parts {
            self.count_behind(part, times, free);
        }
        if let Shape::Counter(ty) = bound.shape
            && let Some(kind) = self.resource_kind(ty)
        {
            let mut usage = Usage::default();
            usage.add(kind, times);
            bound.slots = vec![free.take(&usage).next(kind, times)];
        }
    }

    /// Where the slots of a parameter begin: where its wishes are, or where there is room.
    fn cursor(&self, param: &ShaderParam, wished: Vec<Slot>, free: &mut Allocator) -> Cursor {
        let mut usage = self.usage(param);
        for slot in &wished {
            usage.remove(slot.kind);
        }
        let mut cursor = free.take(&usage);
        for slot in wished {
            cursor.start(slot);
        }
        cursor
    }
}
