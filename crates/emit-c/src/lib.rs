//! From IR to C++17 and CUDA, by one writer: one file that includes nothing of ours and that any compiler builds.
//!
//! The text reads like a program somebody wrote: a value that is used once stands where it is used, values keep the
//! names of the source, and an array that a loop updates is one variable ([`cotangent_passes::place`]). The parts:
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
//! | `memory`   | loads, stores, atomic operations, pointers                                |
//! | `wave`     | what lanes of a wave do together                                          |
//! | `lanes`    | which lanes are together                                                  |
//! | `texture`  | textures, through the sampler in the prelude                              |
//! | `expr`     | expressions                                                               |
//! | `names`    | names that C++ accepts                                                    |
//!
//! **Calling convention.** A function returns its result if that is one small value; else it writes its results through
//! references. What has an array in it is passed by reference, and where a result is an update of an argument
//! one reference serves both. Functions that see parameters or `static` variables take the thread they run in.
//!
//! **The host's side** is documented at the head of each file: a structure `Params`, laid out as `cotangent reflect`
//! says for the target, and one function per entry point: in C++ it runs a range of thread groups, in CUDA it is a kernel.
//!
//! **Barriers and waves.** In CUDA the hardware has them; which lanes of a wave are together is worked out ([`lanes`]). In C++
//! the threads of a group run one after the other in a loop, unless the program has barriers or operations on waves: then each
//! gets a thread of the host, and they take turns (`prelude/turns.h`).

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
mod texture;
mod types;
mod wave;

use cotangent_base::{Diagnostic, Map, Set, Span};
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{Effect, FuncId, FuncKind, Global, GlobalKind, Module, Op, Stage};
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
        recursive: Set::default(),
        threaded: Set::default(),
        reading: Set::default(),
        writing: Set::default(),
        waiting: Set::default(),
        waving: Set::default(),
        meeting: Set::default(),
        barriers: 0,
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
    let (order, _) = order(module);
    let mut names = function_names(module, &order, &mut Names::default());
    names.retain(|id, _| module.funcs[*id].entry.is_some());
    names.values_mut().for_each(|name| *name = entry::host_name(language, name).to_string());
    names
}

/// The names of functions: those of the source, unless they are taken or reserved.
fn function_names(module: &Module, order: &[FuncId], names: &mut Names) -> Map<FuncId, String> {
    order.iter().map(|id| (*id, names.fresh(module.funcs[*id].name.as_str()))).collect()
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
    pub recursive: Set<FuncId>,
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
    /// How a function reaches a parameter.
    pub paths: Map<Global, String>,
    /// The names of `static` and group-shared variables in the thread.
    pub variables: Map<Global, String>,
}

impl Emitter<'_> {
    /// A diagnostic that says what the language cannot do.
    pub fn unsupported<T>(&self, span: Span, what: impl Into<String>) -> Result<T> {
        Err(Box::new(self.refusal(span, what.into()).help("`cotangent run` runs the program on the CPU")))
    }

    fn refusal(&self, span: Span, what: String) -> Diagnostic {
        let message = format!("{what} in {}", self.options.language.name());
        Diagnostic::new(codes::UNSUPPORTED, span, message)
    }

    /// Refuses the stages of a pipeline of triangles.
    fn check_stages(&self) -> Result<()> {
        for func in self.module.funcs.values() {
            let stage = func.entry.as_ref().map_or(Stage::Compute, |entry| entry.stage);
            if stage != Stage::Compute {
                let what = format!("a {} shader is not possible", stage.name());
                // Nor does the CPU run it.
                return Err(Box::new(self.refusal(func.span, what)));
            }
        }
        Ok(())
    }

    fn program(&mut self) -> Result<String> {
        self.check_stages()?;
        let (order, recursive) = order(self.module);
        self.recursive = recursive;
        for id in &order {
            let mut places = Places::of(self.module, &self.module.funcs[*id], &self.places);
            if self.recursive.contains(id) {
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
            waves: !self.waving.is_empty(),
            textures: self.has_textures,
        });
        Ok(format!("{head}{prelude}\nnamespace {name} {{\n\n{body}\n}} // namespace {name}\n"))
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

/// The functions to emit, callees before callers, and those that call themselves, at whatever distance.
fn order(module: &Module) -> (Vec<FuncId>, Set<FuncId>) {
    let defined = |f: &cotangent_ir::Func| f.kind == FuncKind::Defined;
    let entries: Vec<FuncId> =
        module.funcs.iter().filter(|(_, f)| f.entry.is_some()).map(|(id, _)| id).collect();
    let all = || module.funcs.iter().filter(|(_, f)| defined(f)).map(|(id, _)| id).collect();
    let roots: Vec<FuncId> = if entries.is_empty() { all() } else { entries };
    let inits = module.globals.values().filter_map(|g| match g.kind {
        GlobalKind::Static(init) => init,
        GlobalKind::Param | GlobalKind::Shared => None,
    });
    let mut walk =
        Order { module, done: vec![], seen: Set::default(), open: vec![], recursive: Set::default() };
    for root in inits.chain(roots) {
        walk.visit(root);
    }
    (walk.done, walk.recursive)
}

struct Order<'m> {
    module: &'m Module,
    done: Vec<FuncId>,
    seen: Set<FuncId>,
    open: Vec<FuncId>,
    recursive: Set<FuncId>,
}

impl Order<'_> {
    fn visit(&mut self, id: FuncId) {
        if let Some(at) = self.open.iter().position(|f| *f == id) {
            self.recursive.extend(self.open[at..].iter().copied());
            return;
        }
        if !self.seen.insert(id) {
            return;
        }
        self.open.push(id);
        let func = &self.module.funcs[id];
        for inst in func.all_insts() {
            if let Op::Call(callee) = func.insts[inst].op {
                self.visit(callee);
            }
        }
        self.open.pop();
        self.done.push(id);
    }
}
