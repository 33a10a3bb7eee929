//! Modules: the types, globals and functions that are compiled together.

use crate::{Const, DiffTable, Func, FuncId, Op, Prefer, Segments, Ty, Types};
use cotangent_base::{EntityMap, Span, Symbol, entity};

entity!(
    /// A global of a module.
    Global,
    "global"
);

/// Types, globals and functions.
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// The types.
    pub types: Types,
    /// The differentiable structures.
    pub diff: DiffTable,
    /// The globals.
    pub globals: EntityMap<Global, GlobalData>,
    /// The functions.
    pub funcs: EntityMap<FuncId, Func>,
    /// What backward derivatives are to do with values of which no function says anything.
    pub prefer: Prefer,
    /// How reverse mode cuts loops that say nothing about it.
    pub segments: Segments,
    /// Whether reverse mode cuts loops that it would otherwise refuse, because they have no bound or store too much.
    pub cuts_long_loops: bool,
    /// The most bytes that a backward derivative may store at a time.
    pub budget: Option<u64>,
    /// Declarations in the language of the target that stand ahead of everything.
    pub preludes: Vec<Symbol>,
    /// The `static` variables that are specialization constants. Nothing writes them.
    pub specialized: Vec<(Global, Specialized)>,
}

/// A constant that the host may set when it makes a pipeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Specialized {
    /// The number by which the host knows it.
    pub id: u32,
    /// Its value unless the host sets it; a `bool` is 0 or 1.
    pub default: Const,
}

/// A global.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Unique in the module; a path such as `params.scale` for a nested parameter.
    pub name: Symbol,
    /// The type of what [`crate::Op::Global`] gives: a buffer, a `Ref`, or a uniform's own type.
    pub ty: Ty,
    /// What it is.
    pub kind: GlobalKind,
    /// Where it was declared.
    pub span: Span,
}

/// What a global is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GlobalKind {
    /// A parameter the host sets: a buffer or a uniform.
    Param,
    /// A variable every thread of a group sees.
    Shared,
    /// A variable of each thread, with the function that computes its first value; zero without one.
    Static(Option<FuncId>),
}

impl Module {
    /// The function of that name.
    pub fn func_named(&self, name: Symbol) -> Option<FuncId> {
        self.funcs.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }

    /// The global of that name.
    pub fn global_named(&self, name: Symbol) -> Option<Global> {
        self.globals.iter().find(|(_, g)| g.name == name).map(|(id, _)| id)
    }

    /// Whether lanes of a wave do something together.
    pub fn has_waves(&self) -> bool {
        let is_wave = |func: &Func| func.all_insts().iter().any(|i| matches!(func.insts[*i].op, Op::Wave(_)));
        self.funcs.values().any(is_wave)
    }

    /// How many instructions the functions have.
    pub fn size(&self) -> usize {
        self.funcs.values().map(Func::size).sum()
    }

    /// Takes a function out of the module, so that a pass may change both. A declaration stays in its place: callers can be
    /// verified. Put the function back with `module.funcs[func] = ..`.
    pub fn detach(&mut self, func: FuncId) -> Func {
        let Func { name, origin, sig, span, .. } = &self.funcs[func];
        let declaration = Func { origin: *origin, ..Func::new(*name, sig.clone(), *span) };
        std::mem::replace(&mut self.funcs[func], declaration)
    }

    /// Adds a function. A name already taken gets a number appended.
    pub fn add_func(&mut self, mut func: Func) -> FuncId {
        func.name = unique(func.name, |name| self.func_named(name).is_some());
        self.funcs.push(func)
    }

    /// Adds a global. A name already taken gets a number appended.
    pub fn add_global(&mut self, mut global: GlobalData) -> Global {
        global.name = unique(global.name, |name| self.global_named(name).is_some());
        self.globals.push(global)
    }
}

/// `name`, or `name.1`, `name.2` and so on: the first that is not taken.
pub(crate) fn unique(name: Symbol, taken: impl Fn(Symbol) -> bool) -> Symbol {
    let numbered = (1..).map(|n| Symbol::new(&format!("{name}.{n}")));
    std::iter::once(name).chain(numbered).find(|name| !taken(*name)).expect("numbers do not end")
}
