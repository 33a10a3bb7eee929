//! Emits C++17 and CUDA, with one writer. Output: one self-contained file.
//!
//! The output reads like hand-written code: a value with a single use is emitted at that use, values keep the names of the
//! source, and an array that a loop updates is one variable ([`cotangent_passes::place`]). The modules:
//!
//! | module     | writes                                                                    |
//! | ---------- | ------------------------------------------------------------------------- |
//! | `language` | what differs between the two                                              |
//! | `prelude`  | vectors, matrices, arrays, arithmetic that wraps and traps as ours does   |
//! | `types`    | structures                                                                |
//! | `params`   | what the host fills in                                                    |
//! | `entry`    | the functions that the host calls, and the comment that documents them    |
//! | `func`     | functions: signature, variables, when an expression becomes a statement   |
//! | `control`  | branches, loops and exits                                                 |
//! | `inst`     | instructions that change something                                        |
//! | `moves`    | assignments that happen at once, in order                                 |
//! | `sums`     | interface values                                                          |
//! | `memory`   | loads, stores, atomic operations, pointers                                |
//! | `wave`     | what lanes of a wave do together                                          |
//! | `lanes`    | which lanes are together                                                  |
//! | `texture`  | textures, through the sampler in the prelude                              |
//! | `target_text` | text that the program has in the language itself                       |
//! | `expr`     | expressions                                                               |
//! | `literal`  | strings                                                                   |
//! | `lines`    | `#line` directives                                                        |
//! | `names`    | names that C++ accepts                                                    |
//!
//! **Calling convention.** A function returns its result if that is one small value. Otherwise it writes its results through
//! references. Values that contain an array are passed by reference. If a result is an update of an argument, one reference
//! serves both. Functions that access parameters or `static` variables take the thread that they run in.
//!
//! **The host side** is documented at the start of each file. There is a structure `Params`, with the layout that `cotangent
//! reflect` prints for the target, and one function per entry point: in C++ it runs a range of thread groups, and in CUDA it
//! is a kernel.
//!
//! **Barriers and waves.** CUDA has both in hardware; the emitted code tracks the active lanes ([`lanes`]). In C++ the
//! threads of a group run one after another in a loop. If the program has barriers or wave operations, each is a host thread,
//! and they take turns (`prelude/turns.h`).

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod codes;
mod control;
mod entry;
mod expr;
mod func;
mod inst;
mod lanes;
mod language;
mod lines;
mod literal;
mod memory;
mod moves;
mod names;
mod params;
mod sums;
mod target_text;
mod texture;
mod types;
mod wave;

use cotangent_base::{Diagnostic, EntitySet, Map, Set, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{Effect, FuncId, Global, Inst, Module, Op, Stage};
use cotangent_passes::calls::Calls;
use cotangent_passes::place::Places;
use names::Names;
use types::Structs;

pub use language::Language;
use language::Uses;

/// What emission gives: a value, or why the language cannot express the program.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What to write besides the program.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// The language to write.
    pub language: Language,
    /// The namespace of the program.
    pub name: &'o str,
    /// The file that is compiled.
    pub file: &'o str,
    /// The file and line of a span.
    pub place: &'o dyn Fn(Span) -> Option<(String, u32)>,
    /// Whether to say with `#line` where each statement comes from.
    pub lines: bool,
}

/// The text of a module: its entry points, or if it has none all its functions.
pub fn emit(
    module: &Module,
    params: &ShaderParams,
    options: Options<'_>,
) -> std::result::Result<String, Box<Diagnostic>> {
    let mut emitter = Emitter {
        module,
        params,
        options,
        out: String::new(),
        names: Names::default(),
        structs: Structs::default(),
        adds: false,
        funcs: Map::default(),
        places: Map::default(),
        recursive: EntitySet::new(),
        threaded: Set::default(),
        reading: Set::default(),
        writing: Set::default(),
        waiting: Set::default(),
        waving: Set::default(),
        meeting: Set::default(),
        barriers: 0,
        together: Map::default(),
        has_shared: false,
        has_textures: false,
        renamed: vec![],
        paths: Map::default(),
        variables: Map::default(),
    };
    emitter.program()
}

/// What the entry points of a module are called in a language.
pub fn entry_names(module: &Module, language: Language) -> Map<FuncId, String> {
    let order = Calls::emitted(module).callees_first;
    let mut names = function_names(module, &order, &mut Names::default());
    names.retain(|id, _| module.funcs[*id].entry.is_some());
    names.values_mut().for_each(|name| *name = entry::host_name(language, name).to_string());
    names
}

/// The names of functions: those of the source, unless they are taken or reserved. Entry points choose first.
fn function_names(module: &Module, order: &[FuncId], names: &mut Names) -> Map<FuncId, String> {
    let (entries, others): (Vec<FuncId>, Vec<FuncId>) =
        order.iter().partition(|id| module.funcs[**id].entry.is_some());
    let all = entries.iter().chain(&others);
    all.map(|id| (*id, names.fresh(module.funcs[*id].name.as_str()))).collect()
}

/// The program under construction.
pub(crate) struct Emitter<'m> {
    pub module: &'m Module,
    pub params: &'m ShaderParams,
    pub options: Options<'m>,
    pub out: String,
    pub names: Names,
    pub structs: Structs,
    /// Whether structures are added.
    pub adds: bool,
    /// The names of functions.
    pub funcs: Map<FuncId, String>,
    pub places: Map<FuncId, Places>,
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
    /// The functions that take the thread they run in.
    pub threaded: Set<FuncId>,
    /// The functions that read memory, and those that write it or may stop.
    pub reading: Set<FuncId>,
    pub writing: Set<FuncId>,
    /// The functions in which threads wait for each other.
    pub waiting: Set<FuncId>,
    /// The functions with operations on waves, which take the lanes that are together, and those in which lanes meet.
    pub waving: Set<FuncId>,
    pub meeting: Set<FuncId>,
    /// Whether there are variables of the group.
    pub has_shared: bool,
    /// Whether a type mentions textures or samplers.
    pub has_textures: bool,
    /// Parameters that could not keep their names.
    pub renamed: Vec<String>,
    /// How many barriers have been written.
    pub barriers: u32,
    /// The atomic additions for which lanes add up before.
    pub together: Map<FuncId, Set<Inst>>,
    /// How a function reaches a parameter.
    pub paths: Map<Global, String>,
    /// The names of `static` and group-shared variables in the thread.
    pub variables: Map<Global, String>,
}

impl Emitter<'_> {
    /// A diagnostic that says what the language cannot do.
    pub fn unsupported<T>(&self, span: Span, what: impl Into<String>) -> Result<T> {
        Err(Box::new(self.refusal(span, what.into()).help("`cotangent run` supports it on the CPU")))
    }

    fn refusal(&self, span: Span, what: String) -> Diagnostic {
        let message = format!("{what} in {}", self.options.language.name());
        Diagnostic::new(codes::UNSUPPORTED, span, message)
    }

    /// Refuses `what`, which needs `feature`, unless the language has it.
    fn require(&self, feature: Feature, span: Span, what: &str) -> Result<()> {
        if feature.is_in(self.options.language.target()) { Ok(()) } else { self.refuse(feature, span, what) }
    }

    /// Refuses `what`, which needs `feature`.
    fn refuse<T>(&self, feature: Feature, span: Span, what: &str) -> Result<T> {
        self.unsupported(span, what).map_err(|mut diagnostic: Box<Diagnostic>| {
            diagnostic.notes.push(feature.note());
            diagnostic
        })
    }

    /// Refuses the stages of a pipeline of triangles.
    fn check_stages(&self) -> Result<()> {
        for func in self.module.funcs.values() {
            let stage = func.entry.as_ref().map_or(Stage::Compute, |entry| entry.stage);
            if stage != Stage::Compute && !Feature::Stages.is_in(self.options.language.target()) {
                let what = format!("a {} shader is not supported", stage.name());
                // Nor does the CPU run it.
                return Err(Box::new(self.refusal(func.span, what).note(Feature::Stages.note())));
            }
        }
        Ok(())
    }

    fn program(&mut self) -> Result<String> {
        self.check_stages()?;
        let Calls { callees_first: order, recursive } = Calls::emitted(self.module);
        self.recursive = recursive;
        for id in &order {
            let mut places = Places::of(self.module, &self.module.funcs[*id], &self.places);
            if self.recursive.contains(*id) {
                // Who calls it before it is placed does not know what it updates.
                places.passed.fill(None);
            }
            self.places.insert(*id, places);
        }
        self.waiting = self.closure(&order, |op| matches!(op, Op::Barrier(barrier) if barrier.sync));
        self.waving = self.closure(&order, |op| matches!(op, Op::Wave(_)));
        self.meeting = self.closure(&order, lanes::is_collective);
        self.threaded = self.closure(&order, |op| matches!(op, Op::Global(_)));
        if self.options.language == Language::Cpp {
            self.threaded.extend(&self.waiting);
        }
        self.threaded.extend(order.iter().filter(|id| self.module.funcs[**id].entry.is_some()));
        self.reading = self.closure(&order, |op| op.effect() == Effect::Read);
        self.writing = self.closure(&order, |op| op.effect() == Effect::Write);
        if self.options.language == Language::Cuda && !self.params.shadows.is_empty() {
            self.together = cotangent_passes::wave_sums::together(self.module, &order, &self.recursive);
        }
        self.funcs = function_names(self.module, &order, &mut self.names);
        self.structures();
        self.parameters(&order)?;
        for id in &order {
            let line = format!("{} {};\n", self.options.language.function(), self.signature(*id).text);
            self.out += &line;
        }
        for id in &order {
            self.function(*id)?;
        }
        for id in &order {
            if self.module.funcs[*id].entry.is_some() {
                self.entry(*id)?;
            }
        }
        let body = std::mem::take(&mut self.out);
        let head = self.head(&order);
        let name = names::namespace(self.options.name);
        let prelude = self.options.language.prelude(Uses {
            turns: self.takes_turns(),
            recursion: !self.recursive.is_empty(),
            rooms: body.contains("ct::Room<"),
            waves: !self.waving.is_empty(),
            textures: self.has_textures,
            casts: !self.closure(&order, |op| matches!(op, Op::Pointer)).is_empty(),
        });
        let own: String = self.module.preludes.iter().map(|text| format!("{text}\n")).collect();
        Ok(format!("{head}{prelude}{own}\nnamespace {name} {{\n\n{body}\n}} // namespace {name}\n"))
    }

    /// The functions that do something themselves, or by what they call.
    fn closure(&self, order: &[FuncId], does: impl Fn(&Op) -> bool) -> Set<FuncId> {
        let mut found = Set::default();
        loop {
            let before = found.len();
            for id in order {
                let func = &self.module.funcs[*id];
                let hit = |op: &Op| does(op) || op.callee().is_some_and(|callee| found.contains(&callee));
                if func.all_insts().iter().any(|i| hit(&func.insts[*i].op)) {
                    found.insert(*id);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}
