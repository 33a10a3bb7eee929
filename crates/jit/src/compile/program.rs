//! A compiled entry point, and the memory that it needs.

use super::{Compiler, MOST_MEMORY, Result, failed};
use crate::shape::Shapes;
use crate::state::{Print, Words};
use crate::stop::Site;
use crate::texture::TextureOp;
use crate::turns::WaveOp;
use crate::{Unsupported, lanes, worker};
use cotangent_base::{Map, Span, Symbol};
use cotangent_ir::{FuncId, Global, GlobalKind, Module, Ty, Type, layout};
use cotangent_runtime::UnknownType;
use cranelift_jit::JITModule;
use cranelift_module::FuncId as NativeId;

/// An entry point as native code.
pub struct Program {
    /// What holds the code; gone only while it is dropped.
    pub(crate) code: Option<JITModule>,
    /// Runs one thread; `None` if lanes run all.
    pub(crate) run: Option<*const u8>,
    pub(crate) name: Symbol,
    /// Runs [`LANES`](crate::lanes::LANES) threads, or is not there.
    pub(crate) run_lanes: Option<*const u8>,
    /// Why it is not there, if it was wanted.
    pub(super) no_lanes: Option<Unsupported>,
    pub(crate) sites: Vec<Site>,
    /// The types that are known where a value of interface type may be of none of them, by the number of the site.
    pub(crate) unknown: Map<u32, UnknownType>,
    pub(crate) prints: Vec<Print>,
    /// Constants of lanes.
    pub(crate) constants: Vec<Words>,
    pub(crate) textures: Vec<TextureOp>,
    pub(crate) waves: Vec<WaveOp>,
    pub(crate) globals: Vec<GlobalMemory>,
    pub(crate) threads: [u32; 3],
    /// Whether threads of a group wait for each other.
    pub(crate) takes_turns: bool,
    pub(crate) is_recursive: bool,
    /// How many bytes of arena and of stack calls need that do not recur.
    pub(crate) arena: u64,
    pub(crate) stack: u64,
}

/// What memory a global needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalMemory {
    pub kind: MemoryKind,
    pub size: u64,
    pub align: u64,
    /// How many bytes of a variable a pointer that is made of a number may reach.
    pub reach: u64,
}

/// Whose memory that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryKind {
    /// The host's; `size` is that of an element.
    Buffer,
    /// The host's, for a value.
    Uniform,
    /// The group's.
    Shared,
    /// The thread's.
    Static,
    /// There is none: a texture or sampler, or what has no layout.
    Nothing,
}

impl Compiler<'_> {
    /// Makes a program of all functions that were defined.
    pub(super) fn finish(
        mut self,
        run: Option<NativeId>,
        run_lanes: Option<NativeId>,
        entry: FuncId,
        threads: [u32; 3],
        order: &[FuncId],
    ) -> Result<Program> {
        self.jit.finalize_definitions().map_err(|e| failed(Span::none(), e))?;
        let span = self.module.funcs[entry].span;
        let refuse = |what: &str| Unsupported { span, what: what.into() };
        if group_size(threads) > u32::MAX.into() {
            return Err(refuse("groups of more than 4 billion threads"));
        }
        let takes_turns = self.has_barriers || self.has_waves;
        let all = group_size(threads) / if run.is_some() { 1 } else { lanes::LANES as u64 };
        let side_by_side = if takes_turns { all } else { 1 };
        let globals: Vec<GlobalMemory> =
            self.module.globals.keys().map(|g| global_memory(self.module, &self.shapes, g)).collect();
        let of_kind = |kind| move |g: &&GlobalMemory| g.kind == kind;
        let size =
            |kind| globals.iter().filter(of_kind(kind)).fold(0, |all: u64, g| all.saturating_add(g.size));
        let values = |arena: u64, stack: u64| arena.saturating_add(stack).saturating_mul(side_by_side);
        let variables =
            size(MemoryKind::Static).saturating_mul(side_by_side).saturating_add(size(MemoryKind::Shared));
        let (mut arena, mut stack) = (self.deepest(order, &self.frames), self.deepest(order, &self.stacks));
        if values(arena, stack) > MOST_MEMORY {
            return Err(refuse("more than 2 GiB of local values"));
        }
        if values(arena, stack).saturating_add(variables) > MOST_MEMORY {
            return Err(refuse("more than 2 GiB of variables of a group"));
        }
        let (all_arena, all_stack) = (arena.max(self.lane_arena), stack.max(self.lane_stack));
        let fit = values(all_arena, all_stack).saturating_add(variables) <= MOST_MEMORY;
        if run.is_none() && !fit {
            return Err(refuse("more than 2 GiB of local values"));
        }
        let run_lanes = run_lanes.filter(|_| fit);
        if run_lanes.is_some() {
            (arena, stack) = (all_arena, all_stack);
        } else if !fit {
            self.no_lanes = Some(refuse("more than 2 GiB of local values, in lanes"));
        }
        Ok(Program {
            run: run.map(|run| self.jit.get_finalized_function(run)),
            no_lanes: self.no_lanes,
            run_lanes: run_lanes.map(|run| self.jit.get_finalized_function(run)),
            code: Some(self.jit),
            name: self.module.funcs[entry].name,
            sites: self.sites,
            unknown: self.unknown,
            prints: self.prints,
            constants: self.constants,
            textures: self.textures,
            waves: self.waves,
            globals,
            threads,
            takes_turns,
            is_recursive: !self.recursive.is_empty(),
            arena: arena + worker::ARENA_SLACK,
            stack,
        })
    }
}

/// What memory a global needs.
pub(super) fn global_memory(module: &Module, shapes: &Shapes<'_>, global: Global) -> GlobalMemory {
    let data = &module.globals[global];
    let nothing = GlobalMemory { kind: MemoryKind::Nothing, size: 0, align: 1, reach: 0 };
    let host = |kind: MemoryKind, ty: Ty| match layout::layout(&module.types, ty) {
        Some(layout) => GlobalMemory { kind, size: layout.size.into(), align: layout.align.into(), reach: 0 },
        None => nothing,
    };
    let own = |kind: MemoryKind| {
        if let Type::Ref(inner) = module.types.get(data.ty) {
            let shape = shapes.shape(inner);
            let layout = layout::layout(&module.types, inner).filter(|_| !shape.opaque);
            let reach = layout.map_or(0, |layout| layout.size.into());
            GlobalMemory { kind, size: shape.size, align: shape.align, reach }
        } else {
            nothing
        }
    };
    match (&data.kind, module.types.get(data.ty)) {
        (GlobalKind::Shared, _) => own(MemoryKind::Shared),
        (GlobalKind::Static(_), _) => own(MemoryKind::Static),
        (GlobalKind::Param, Type::Buffer(elem, _)) => host(MemoryKind::Buffer, elem),
        (GlobalKind::Param, Type::Opaque(_)) => nothing,
        (GlobalKind::Param, _) => host(MemoryKind::Uniform, data.ty),
    }
}

/// How many threads a group has.
pub(super) fn group_size(threads: [u32; 3]) -> u64 {
    threads.iter().fold(1, |all: u64, n| all.saturating_mul((*n).into()))
}
