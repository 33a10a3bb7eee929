//! From IR to C++17: one file that any compiler builds.
//!
//! The text reads like a program somebody wrote: a value that is used once stands where it is used, values keep the
//! names of the source, and an array that a loop updates is one variable ([`cotangent_passes::place`]). The parts:
//!
//! | module     | writes                                                                    |
//! | ---------- | ------------------------------------------------------------------------- |
//! | `prelude.h`| vectors, matrices, arrays, arithmetic that wraps and traps as ours does   |
//! | `types`    | structures                                                                |
//! | `params`   | what the host fills in, and the functions it calls                        |
//! | `func`     | functions: signature, variables, when an expression becomes a statement   |
//! | `control`  | branches, loops and exits                                                 |
//! | `inst`     | instructions that change something                                        |
//! | `expr`     | expressions                                                               |
//! | `names`    | names that C++ accepts                                                    |
//!
//! **Calling convention.** A function returns its result if that is one small value; else it writes its results through
//! references. What has an array in it is passed by reference, and where a result is an update of an argument
//! one reference serves both. Functions that see parameters or `static` variables take the thread they run in.
//!
//! **The host's side** is documented at the head of each file: a structure `Params`, laid out as `cotangent reflect
//! --target cpp` says, and one function per entry point that runs a range of thread groups.

pub mod codes;
mod control;
mod expr;
mod func;
mod inst;
mod names;
mod params;
mod sums;
mod types;

use cotangent_base::{Diagnostic, Map, Set, Span};
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{Effect, FuncId, FuncKind, Global, GlobalKind, Module, Op};
use cotangent_passes::place::Places;
use names::Names;
use types::Structs;

/// What emission gives: a value, or why C++ cannot express the program.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

const PRELUDE: &str = include_str!("prelude.h");

/// What to write besides the program.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// The namespace of the program.
    pub name: &'o str,
    /// The file that is compiled.
    pub file: &'o str,
    /// The file and line of a span.
    pub place: &'o dyn Fn(Span) -> Option<(String, u32)>,
    /// Whether to say with `#line` where each statement comes from.
    pub lines: bool,
}

/// The C++ of a module: its entry points, or if it has none all its functions.
pub fn cpp(
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
        threaded: Set::default(),
        reading: Set::default(),
        writing: Set::default(),
        paths: Map::default(),
        variables: Map::default(),
    };
    emitter.program()
}

/// A diagnostic that says what C++ cannot do.
pub(crate) fn unsupported<T>(span: Span, what: impl Into<String>) -> Result<T> {
    let diagnostic = Diagnostic::new(codes::UNSUPPORTED, span, format!("{} in C++", what.into()));
    Err(Box::new(diagnostic.help("`cotangent run` runs the program on the CPU")))
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
    /// The functions that take the thread they run in.
    pub threaded: Set<FuncId>,
    /// The functions that read memory, and those that write it or may stop.
    pub reading: Set<FuncId>,
    pub writing: Set<FuncId>,
    /// How a function reaches a parameter.
    pub paths: Map<Global, String>,
    /// The names of `static` and group-shared variables in the thread.
    pub variables: Map<Global, String>,
}

impl Emitter<'_> {
    fn program(&mut self) -> Result<String> {
        let (order, recursive) = order(self.module);
        for id in &order {
            let mut places = Places::of(self.module, &self.module.funcs[*id], &self.places);
            if recursive.contains(id) {
                // Who calls it before it is placed does not know what it updates.
                places.passed.fill(None);
            }
            self.places.insert(*id, places);
        }
        self.threaded = self.closure(&order, |op| matches!(op, Op::Global(_)));
        self.threaded.extend(order.iter().filter(|id| self.module.funcs[**id].entry.is_some()));
        self.reading = self.closure(&order, |op| op.effect() == Effect::Read);
        self.writing = self.closure(&order, |op| op.effect() == Effect::Write);
        for id in &order {
            let name = self.module.funcs[*id].name;
            let name = self.names.fresh(name.as_str());
            self.funcs.insert(*id, name);
        }
        self.structures();
        self.parameters(&order)?;
        for id in &order {
            let line = format!("static {};\n", self.signature(*id).text);
            self.out += &line;
        }
        for id in &order {
            self.function(*id)?;
        }
        for id in &order {
            if self.module.funcs[*id].entry.is_some() {
                self.entry(*id);
            }
        }
        let body = std::mem::take(&mut self.out);
        let head = self.head(&order);
        let name = names::plain(self.options.name);
        Ok(format!("{head}{PRELUDE}\nnamespace {name} {{\n\n{body}\n}} // namespace {name}\n"))
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
    let mut walk = Order { module, done: vec![], open: vec![], recursive: Set::default() };
    for root in inits.chain(roots) {
        walk.visit(root);
    }
    (walk.done, walk.recursive)
}

struct Order<'m> {
    module: &'m Module,
    done: Vec<FuncId>,
    open: Vec<FuncId>,
    recursive: Set<FuncId>,
}

impl Order<'_> {
    fn visit(&mut self, id: FuncId) {
        if let Some(at) = self.open.iter().position(|f| *f == id) {
            self.recursive.extend(self.open[at..].iter().copied());
            return;
        }
        if self.done.contains(&id) {
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
