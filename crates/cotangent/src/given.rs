//! What the command line says about what a program leaves open: `--specialize f=float,4`, `--specialize-global T=Real`,
//! `--set-type p=Real`.
//!
//! Each becomes a file of its own with one line, `f=float, 4`, in which mistakes are shown. The parser reads it as `f<float, 4>
//! _;`, as it reads everything. `--fn 'f<float, 4>'` is read in the same way.

use crate::compiler::Compiler;
use cotangent_base::{Span, Symbol};
use cotangent_sema::Given;
use cotangent_syntax::ast::{DeclKind, Expr, ExprKind};
use cotangent_syntax::{Punct, Token, TokenKind};

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

/// The flag that names a function.
const FUNCTION: &str = "--fn";

impl Setting {
    const ALL: [Setting; 3] = [Setting::Function, Setting::Global, Setting::Type];

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
    /// Whether something stands on the command line and not in a file.
    pub fn is_setting(&self, span: Span) -> bool {
        let flags = Setting::ALL.iter().map(|setting| setting.flag());
        !span.is_none() && flags.chain([FUNCTION]).any(|flag| flag == self.sources.path(span.file))
    }

    /// Reads all settings.
    pub(crate) fn read_settings(&mut self) -> Given {
        let mut given = Given::default();
        for (setting, name, text) in self.settings.clone() {
            let args = self.read_arguments(setting.flag(), &format!("{name}={text}"));
            let name = Symbol::new(&name.replace("::", "."));
            match setting {
                Setting::Function => given.functions.push((name, args)),
                Setting::Global => given.globals.extend(args.into_iter().next().map(|arg| (name, arg))),
                Setting::Type => given.types.extend(args.into_iter().next().map(|arg| (name, arg))),
            }
        }
        given
    }

    /// The types and values in `f<float, 4>`, as `--fn` says it. Mistakes are told.
    pub(crate) fn read_instance(&mut self, text: &str) -> Vec<Expr> {
        self.read_arguments(FUNCTION, text)
    }

    /// The types and values of one setting. Mistakes are told.
    fn read_arguments(&mut self, flag: &str, text: &str) -> Vec<Expr> {
        let file = self.sources.add(flag, format!("{text}\n"));
        let mut stream = self.preprocess(file, &[]);
        self.needs.note(&stream);
        as_declaration(&mut stream.tokens);
        let tree = cotangent_syntax::parse_tokens(stream, &self.sources, self.limits, &mut self.diagnostics);
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

/// Makes `f<float, 4> _;` of the tokens of `f=float, 4` or `f<float, 4>`.
fn as_declaration(tokens: &mut Vec<Token>) {
    let Some(end) = tokens.pop() else { return };
    let punct = |punct| Token::new(TokenKind::Punct(punct), end.span);
    if let Some(equals) = tokens.iter_mut().find(|token| token.is(Punct::Eq)) {
        equals.kind = TokenKind::Punct(Punct::Lt);
        tokens.push(punct(Punct::Gt));
    }
    tokens.extend([Token::ident("_".into(), end.span), punct(Punct::Semi), end]);
}
