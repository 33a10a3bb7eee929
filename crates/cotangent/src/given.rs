//! What the command line says about what a program leaves open: `--specialize f=float,4`, `--specialize-global T=Real`,
//! `--set-type p=Real`.
//!
//! Each becomes a file of its own with one line, `f<float, 4> _;`, which the parser reads as it reads everything and in which
//! mistakes are shown.

use crate::compiler::Compiler;
use cotangent_base::Symbol;
use cotangent_sema::Given;
use cotangent_syntax::ast::{DeclKind, Expr, ExprKind};

/// What a setting is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// The generic parameters of a function.
    Function,
    /// A `type_param` or an `extern` declaration.
    Global,
    /// The type of a shader parameter of interface type.
    Type,
}

impl Setting {
    /// The flag of the command line.
    pub const fn flag(self) -> &'static str {
        match self {
            Setting::Function => "--specialize",
            Setting::Global => "--specialize-global",
            Setting::Type => "--set-type",
        }
    }
}

impl Compiler<'_> {
    /// Reads all settings.
    pub(crate) fn read_settings(&mut self) -> Given {
        let mut given = Given::default();
        for (setting, name, text) in self.settings.clone() {
            let args = self.read_arguments(setting, &name, &text);
            let name = Symbol::new(&name.replace("::", "."));
            match setting {
                Setting::Function => given.functions.push((name, args)),
                Setting::Global => given.globals.extend(args.into_iter().next().map(|arg| (name, arg))),
                Setting::Type => given.types.extend(args.into_iter().next().map(|arg| (name, arg))),
            }
        }
        given
    }

    /// The types and values of one setting. Mistakes are told.
    fn read_arguments(&mut self, setting: Setting, name: &str, text: &str) -> Vec<Expr> {
        let file = self.sources.add(setting.flag(), format!("{name}<{text}> _;\n"));
        let tree = self.parse(file, &[]);
        let declared = tree.decls.into_iter().find_map(|decl| match decl.kind {
            DeclKind::Var(var) => var.ty,
            _ => None,
        });
        match declared.map(|ty| ty.kind) {
            Some(ExprKind::Apply(_, args)) => args,
            _ => vec![],
        }
    }
}
