//! Emits WGSL, SPIR-V, GLSL, HLSL and Metal, through naga's IR.
//!
//! naga has statements and mutable variables; our IR has regions and values. Results of regions, values that loops carry, and
//! updated aggregates are variables, as [`place`](cotangent_passes::place) assigns them: values that are never live at the
//! same time share a variable, so updates happen in place and loops copy nothing. Everything else is an expression.
//!
//! Our matrices are lists of rows, and naga's are lists of columns. So a matrix is emitted transposed: row `i` here is column
//! `i` there, and products swap their operands.
//!
//! A program cannot trap on a GPU; [`traps`] describes what happens after a failed `assert`.
//!
//! Memory that the host sees has the layout of the target. Parameter values are in [`uniforms`]. Buffers whose elements naga
//! would lay out differently are arrays of [`words`]. One table lists the limits of each target: [`cotangent_ir::capabilities`].
//!
//! naga's validator checks all output ([`write`]).

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod assembly;
mod atomic;
pub mod codes;
mod constants;
mod control;
mod convert;
mod distances;
mod elements;
mod func;
mod globals;
mod glsl;
mod held;
mod hlsl;
mod invariants;
mod lines;
mod math;
mod matrices;
mod memory;
mod narrow;
mod passing;
mod refuse;
mod semantics;
mod specialized;
mod stage;
mod texture;
mod together;
mod traps;
mod types;
mod uniforms;
mod values;
mod wave;
mod words;
mod write;

pub use assembly::disassemble;
use cotangent_base::{Diagnostic, EntitySet, Map, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::bind::{Kind, LeafPlace, Slot};
use cotangent_ir::layout::{Matrices, Memory, Rules, Target};
use cotangent_ir::texture::Touched;
use cotangent_ir::{Func, FuncId, Global, Module, Op, Stage, Ty};
use cotangent_passes::calls::Calls;
pub use func::plain_name as entry_name;
pub(crate) use globals::variable;
pub use lines::{Line, Locate};
use naga::Handle;
use refuse::refuse;
use traps::Poison;
pub use traps::{FLAG_BYTES, Site};
use uniforms::Uniform;
use words::Words;
pub use write::{Emitted, is_catching};

/// What emission gives: a value, or why the target cannot express the program.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Where the parameters of a module are bound. Those it does not know are numbered in the order of declaration.
pub type Places = Map<Global, LeafPlace>;

/// How to write a module.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Set to say in the shader where each statement comes from.
    pub lines: Option<Locate<'o>>,
}

/// A module in the language of a target that says in a buffer which of its assertions failed; the buffer is bound at that group
/// and number.
pub fn checked(
    module: &Module,
    places: &Places,
    flag: (u32, u32),
    target: Target,
) -> std::result::Result<(Emitted, Vec<Site>), Box<Diagnostic>> {
    let flag = naga::ResourceBinding { group: flag.0, binding: flag.1 };
    let mut built = build(module, places, target, Some(flag), Options::default())?;
    // Where targets have numbers of their own, the flag has the same.
    built.slots.binding(Slot { kind: Kind::Binding, space: flag.group, index: flag.binding, count: 1 });
    Ok((write::write(&built, target)?, built.sites))
}

/// A module in the language of a target: its entry points, or if it has none all its functions.
pub fn emit(
    module: &Module,
    places: &Places,
    target: Target,
    options: Options<'_>,
) -> std::result::Result<Emitted, Box<Diagnostic>> {
    let built = build(module, places, target, None, options)?;
    let written = write::write(&built, target)?;
    Ok(match written {
        Emitted::Text(text) if target == Target::Wgsl && wave::has_waves(&built.out) => {
            Emitted::Text(format!("{}{text}", wave::DIRECTIVES))
        }
        Emitted::Text(_) | Emitted::Words(_) => written,
    })
}

/// What the entry points of a module are called in the language of a target: naga renames those whose names are words of the
/// language, are taken or end in a digit.
pub fn entry_names(
    module: &Module,
    places: &Places,
    target: Target,
) -> std::result::Result<Map<FuncId, String>, Box<Diagnostic>> {
    let entries = order(module)?.into_iter().filter(|id| module.funcs[*id].entry.is_some());
    let names = match target {
        // A file has one.
        Target::Glsl => return Ok(entries.map(|id| (id, "main".to_string())).collect()),
        Target::Wgsl | Target::SpirV | Target::Hlsl | Target::Metal | Target::Cuda | Target::Cpp => {
            write::entry_names(&build(module, places, target, None, Options::default())?, target)?
        }
    };
    Ok(entries.zip(names).collect())
}

/// A diagnostic that says what the target cannot do; which target it is is added at the end.
pub(crate) fn unsupported<T>(span: Span, what: impl Into<String>) -> Result<T> {
    Err(Box::new(Diagnostic::new(codes::UNSUPPORTED, span, what.into())))
}

/// The module under construction.
pub(crate) struct Emitter<'m> {
    pub module: &'m Module,
    pub places: &'m Places,
    pub target: Target,
    /// How the elements of buffers are laid out.
    pub rules: Rules,
    pub slots: write::Slots,
    pub out: naga::Module,
    pub types: Map<Ty, Handle<naga::Type>>,
    pub globals: Map<Global, Handle<naga::GlobalVariable>>,
    /// What is done to textures.
    pub touched: Map<Global, Touched>,
    /// Variables that stand for a texture together with a sampler.
    pub pairs: Map<(Global, Global), Handle<naga::GlobalVariable>>,
    /// Buffers that are words.
    pub words: Map<Global, Words>,
    /// Values of parameters.
    pub values: Map<Global, Uniform>,
    pub funcs: Map<FuncId, Handle<naga::Function>>,
    /// The structure in which a function with several outputs returns them.
    pub results: Map<FuncId, Handle<naga::Type>>,
    /// The elements of arrays of resources: the number in the array that the variable in `globals` is.
    pub elements: Map<Global, u32>,
    /// The arrays of resources that have one binding, by where that is.
    pub binding_arrays: Map<Slot, Handle<naga::GlobalVariable>>,
    /// The buffers and variables that atomic operations are done on.
    pub atomics: EntitySet<Global>,
    /// The buffers of which atomic operations change components of vectors: they are words.
    pub lanes_changed: EntitySet<Global>,
    /// Set if the program asserts something: whether an assertion failed, and the bits of a NaN.
    pub poison: Option<Poison>,
    /// Set if the program asks which lane of its wave a thread is.
    pub lanes: Option<wave::Lanes>,
    /// Set if threads of a group exchange a number to stay together.
    pub together: Option<Handle<naga::GlobalVariable>>,
    /// The assertions so far.
    pub sites: Vec<Site>,
    /// Which functions run for pixels.
    pub reached: stage::Reached,
    /// Set to say in the shader where each statement comes from.
    pub lines: Option<lines::Lines<'m>>,
    /// The specialization constants, with what stands for their values.
    pub marks: Vec<(Global, specialized::Marked)>,
}

/// A module of naga's, and what it does not say.
pub(crate) struct Built {
    out: naga::Module,
    slots: write::Slots,
    sites: Vec<Site>,
    /// Whether it is to do what the interpreter does: memory of groups begins as zero.
    checked: bool,
    /// For each entry point what its inputs and outputs mean.
    semantics: Vec<semantics::Semantics>,
    /// The places that statements come from, by the numbers that their spans contain, if lines are emitted.
    lines: Option<Vec<Line>>,
    /// Where resources are declared.
    declared: Map<Handle<naga::GlobalVariable>, Span>,
    /// The specialization constants, with what stands for their values.
    marks: Vec<(Global, specialized::Marked)>,
}

/// Builds naga's module. A refusal says for which target.
fn build(
    module: &Module,
    places: &Places,
    target: Target,
    flag: Option<naga::ResourceBinding>,
    options: Options<'_>,
) -> Result<Built> {
    try_build(module, places, target, flag, options).map_err(|mut diagnostic| {
        diagnostic.message += &format!(" in {}", target.title());
        match runs_on_cpu(module, target) {
            true => Box::new((*diagnostic).help("`cotangent run` supports it on the CPU")),
            false => diagnostic,
        }
    })
}

/// Whether running a program that the target refuses is a way out: not for the stages of a pipeline, nor where the user has only
/// to choose an entry point.
fn runs_on_cpu(module: &Module, target: Target) -> bool {
    let stages: Vec<Stage> =
        module.funcs.values().filter_map(|f| f.entry.as_ref()).map(|entry| entry.stage).collect();
    let too_many = stages.len() > 1 && !Feature::SeveralEntries.is_in(target);
    !too_many && stages.iter().all(|stage| *stage == Stage::Compute)
}

fn try_build<'m>(
    module: &'m Module,
    places: &'m Places,
    target: Target,
    flag: Option<naga::ResourceBinding>,
    options: Options<'m>,
) -> Result<Built> {
    let mut emitter = Emitter {
        module,
        places,
        target,
        rules: target.rules(Memory::Buffer, Matrices::Rows),
        slots: write::Slots::default(),
        out: naga::Module::default(),
        types: Map::default(),
        globals: Map::default(),
        touched: Touched::all(module),
        pairs: Map::default(),
        words: Map::default(),
        values: Map::default(),
        funcs: Map::default(),
        results: Map::default(),
        elements: Map::default(),
        binding_arrays: Map::default(),
        atomics: EntitySet::new(),
        lanes_changed: EntitySet::new(),
        poison: None,
        lanes: None,
        together: None,
        sites: vec![],
        reached: stage::Reached::of(module),
        lines: options.lines.map(lines::Lines::new),
        marks: specialized::marks(module),
    };
    emitter.check_entries()?;
    let order = order(module)?;
    if order.iter().any(|f| asserts(module, *f)) {
        emitter.poison = Some(emitter.poison_variables(flag));
    }
    if wave::asks_for_lanes(module, &order) {
        emitter.lanes = Some(emitter.lane_variables());
    }
    (emitter.atomics, emitter.lanes_changed) = atomic::atomics(module, &order);
    emitter.unite_elements();
    emitter.global_variables(&order)?;
    let entries = order.iter().filter_map(|id| module.funcs[*id].entry.as_ref());
    let semantics = entries.map(semantics::Semantics::of).collect();
    for id in order {
        emitter.function(id)?;
    }
    let checked = flag.is_some();
    let Emitter { out, slots, sites, lines, globals, mut marks, .. } = emitter;
    marks.retain(|(global, _)| globals.contains_key(global));
    let declared = globals.iter().map(|(global, var)| (*var, module.globals[*global].span)).collect();
    let lines = lines.map(lines::Lines::table);
    Ok(Built { out, slots, sites, checked, semantics, lines, declared, marks })
}

fn asserts(module: &Module, id: FuncId) -> bool {
    let func = &module.funcs[id];
    func.all_insts().iter().any(|i| matches!(func.insts[*i].op, Op::Assert(_)))
}

/// The functions to emit, callees before callers.
fn order(module: &Module) -> Result<Vec<FuncId>> {
    let Calls { callees_first, recursive } = Calls::emitted(module);
    match callees_first.iter().rfind(|func| recursive.contains(**func)) {
        Some(&func) => {
            let Func { name, span, .. } = &module.funcs[func];
            refuse(Feature::Recursion, *span, format!("the recursion of `{name}` is not supported"))
        }
        None => Ok(callees_first),
    }
}

impl Emitter<'_> {
    /// How many entry points the target takes in one file.
    fn check_entries(&self) -> Result<()> {
        let mut entries = self.module.funcs.values().filter(|f| f.entry.is_some());
        let (first, second) = (entries.next(), entries.next());
        if first.is_none() {
            self.require(Feature::NoEntry, Span::none(), "a module without an entry point is not supported")?;
        }
        let Some(second) = second else { return Ok(()) };
        let what = "several entry points in one file are not supported (choose one with `--entry`)";
        self.require(Feature::SeveralEntries, second.span, what)
    }
}
