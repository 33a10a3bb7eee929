//! Emits Slang: functions as text that people read and that compiles again.
//!
//! Input: a module without sums, in which no exit leaves more than one loop or passes a `switch` ([`needs_preparation`] says
//! which functions have such exits). Output: structures, parameters and functions, callees first. The code reads as if written
//! by hand: a value with a single use stands at that use, values keep the names of the source, updates happen in place
//! ([`cotangent_passes::place`]), and comments show the lines of the source that the code stands for.
//!
//! | module    | writes                                                     |
//! | --------- | ---------------------------------------------------------- |
//! | `types`   | names of types, structures                                 |
//! | `func`    | functions: variables, when an expression becomes a statement |
//! | `control` | branches, loops, exits, and assignments that happen at once |
//! | `inst`    | instructions that change something                         |
//! | `expr`    | expressions and constants                                  |
//! | `names`   | names that mean nothing else in Slang                      |

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod codes;
mod control;
mod expr;
mod func;
mod inst;
mod names;
mod types;

pub use names::functions;
pub use types::scalar as scalar_name;

use cotangent_base::{Diagnostic, Map, Span};
use cotangent_ir::{Access, Control, Exit, Func, FuncId, Global, GlobalKind, Module, Op, Region, Type};
use cotangent_passes::calls::Calls;
use names::Names;

/// What emission gives: text, or why there is no form for it.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The line of the source that a span begins on: its file, its number and its text.
pub type Lines<'l> = &'l dyn Fn(Span) -> Option<(String, u32, String)>;

/// A function to print, and what to call it.
#[derive(Clone, Debug)]
pub struct Root {
    /// The function.
    pub func: FuncId,
    /// Its name in the text.
    pub name: String,
}

/// The program under construction.
pub(crate) struct Emitter<'m> {
    pub module: &'m Module,
    pub lines: Lines<'m>,
    pub names: Names,
    pub structs: types::Structs,
    pub funcs: Map<FuncId, String>,
    pub globals: Map<Global, String>,
    pub out: String,
}

/// The functions `roots` and what they call.
pub fn emit(module: &Module, roots: &[Root], lines: Lines<'_>) -> Result<String> {
    let order = Calls::below(module, roots.iter().map(|root| root.func)).callees_first;
    let mut e = Emitter {
        module,
        lines,
        names: Names::default(),
        structs: types::Structs::default(),
        funcs: Map::default(),
        globals: Map::default(),
        out: String::new(),
    };
    for root in roots {
        let name = e.names.fresh(&root.name);
        e.funcs.insert(root.func, name);
    }
    for id in &order {
        if !e.funcs.contains_key(id) {
            let name = e.names.fresh(module.funcs[*id].name.as_str());
            e.funcs.insert(*id, name);
        }
    }
    e.structures(&order)?;
    e.variables(&order)?;
    for id in order {
        e.function(id)?;
    }
    e.out.truncate(e.out.trim_end().len());
    e.out.push('\n');
    Ok(e.out)
}

/// Whether a function leaves several regions at once in a way that Slang has no words for: then early exits have to be removed
/// before.
pub fn needs_preparation(func: &Func) -> bool {
    fn region(func: &Func, at: Region, in_switch: bool) -> bool {
        func.regions[at].insts.iter().any(|inst| {
            let data = &func.insts[*inst];
            match data.op.control() {
                Control::Exit(Exit::Break(out) | Exit::Continue(out)) => out > 0 || in_switch,
                Control::Switch(_) => data.regions.iter().any(|r| region(func, *r, true)),
                Control::For(_) | Control::While(_) => data.regions.iter().any(|r| region(func, *r, false)),
                Control::If => data.regions.iter().any(|r| region(func, *r, in_switch)),
                Control::Exit(Exit::Yield | Exit::Return) | Control::Plain => false,
                Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => false,
            }
        })
    }
    region(func, func.body, false)
}

impl Emitter<'_> {
    pub fn refuse<T>(&self, span: Span, what: impl Into<String>) -> Result<T> {
        let message = format!("{} in a printed derivative", what.into());
        Err(Box::new(Diagnostic::new(codes::UNSUPPORTED, span, message)))
    }

    /// Declares the parameters and variables that the functions use.
    fn variables(&mut self, order: &[FuncId]) -> Result<()> {
        let mut used: Vec<Global> = vec![];
        for id in order {
            let func = &self.module.funcs[*id];
            for inst in func.all_insts() {
                if let Op::Global(global) = func.insts[inst].op
                    && !used.contains(&global)
                {
                    used.push(global);
                }
            }
        }
        used.sort();
        for global in used {
            let data = &self.module.globals[global];
            let name = self.names.fresh(data.name.as_str());
            let line = match (&data.kind, self.module.types.get(data.ty)) {
                (GlobalKind::Param, Type::Buffer(element, access)) => {
                    let element = self.ty(element, data.span)?;
                    let kind = if access == Access::Read { "StructuredBuffer" } else { "RWStructuredBuffer" };
                    format!("{kind}<{element}> {name};\n")
                }
                (GlobalKind::Param, _) => format!("uniform {} {name};\n", self.ty(data.ty, data.span)?),
                (GlobalKind::Static(None), Type::Ref(inner)) => {
                    format!("static {} {name} = {{}};\n", self.ty(inner, data.span)?)
                }
                (GlobalKind::Static(_) | GlobalKind::Shared, _) => {
                    return self.refuse(data.span, format!("`{}` is not supported", data.name));
                }
            };
            self.out += &line;
            self.globals.insert(global, name);
        }
        Ok(())
    }
}
