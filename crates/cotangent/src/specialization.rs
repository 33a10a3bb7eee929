//! Parses specializations on the command line: `--specialize f=float,4`, `--specialize-global T=Real`, `--set-type p=Real`, and
//! conformances of generic types: `--conformance 'Box<float>:IShape=4'`.
//!
//! Each becomes a source file of one line, `f=float, 4`, so that diagnostics can point to it. The parser reads it as
//! `f<float, 4> _;`. `--fn 'f<float, 4>'` is parsed in the same way.

use crate::library::Needs;
use crate::modules::Reader;
use crate::session::State;
use cotangent_base::{Diagnostics, Files, Sources, Span, Symbol};
use cotangent_sema::Given;
use cotangent_syntax::ast::{DeclKind, Expr, ExprKind};
use cotangent_syntax::{Limits, Punct, Token, TokenKind};

/// What a setting is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// The generic parameters of a function.
    Function,
    /// A `type_param`, an `extern` declaration or a specialization constant.
    Global,
    /// The type of a shader parameter of interface type.
    Type,
    /// A type with generic arguments, and the interface to which it conforms.
    Conformance,
}

/// The flag that names a function.
const FUNCTION: &str = "--fn";

impl Setting {
    const ALL: [Setting; 4] = [Setting::Function, Setting::Global, Setting::Type, Setting::Conformance];

    /// The flag of the command line.
    pub const fn flag(self) -> &'static str {
        match self {
            Setting::Function => "--specialize",
            Setting::Global => "--specialize-global",
            Setting::Type => "--set-type",
            Setting::Conformance => "--conformance",
        }
    }
}

/// Whether something stands on the command line and not in a file.
pub(crate) fn is_setting(sources: &Sources, span: Span) -> bool {
    let flags = Setting::ALL.iter().map(|setting| setting.flag());
    !span.is_none() && flags.chain([FUNCTION]).any(|flag| flag == sources.path(span.file))
}

impl Reader<'_> {
    /// Reads all settings.
    pub(crate) fn read_settings(&mut self) -> Given {
        let mut given = Given::default();
        for (setting, name, text) in &self.key.settings {
            let text = match setting {
                Setting::Conformance => format!("_={text}"),
                Setting::Function | Setting::Global | Setting::Type => format!("{name}={text}"),
            };
            let (args, needs) =
                read_arguments(self.state, self.key.limits, setting.flag(), &text, &mut self.diagnostics);
            self.needs.add(needs);
            let name = Symbol::new(&name.replace("::", "."));
            match setting {
                Setting::Conformance => {
                    if let [ty, interface] = &args[..] {
                        given.conformances.push((name, ty.clone(), interface.clone()));
                    }
                }
                Setting::Function => given.functions.push((name, args)),
                Setting::Global => given.globals.extend(args.into_iter().next().map(|arg| (name, arg))),
                Setting::Type => given.types.extend(args.into_iter().next().map(|arg| (name, arg))),
            }
        }
        given
    }
}

/// The types and values in `f<float, 4>`, as `--fn` says it.
pub(crate) fn read_instance(
    state: &State,
    limits: Limits,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Expr> {
    read_arguments(state, limits, FUNCTION, text, diagnostics).0
}

/// The types and values of one setting, and what they need of the library.
fn read_arguments(
    state: &State,
    limits: Limits,
    flag: &str,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> (Vec<Expr>, Needs) {
    let mut sources = state.sources();
    let file = sources.add(flag, format!("{text}\n"));
    let mut stream = cotangent_syntax::preprocess(&mut sources, &Files(&[]), file, &[], diagnostics);
    let needs = Needs::of(&stream);
    as_declaration(&mut stream.tokens);
    let tree = cotangent_syntax::parse_tokens(stream, &sources, limits, diagnostics);
    let declared = tree.decls.into_iter().find_map(|decl| match decl.kind {
        DeclKind::Var(var) => var.ty.clone(),
        _ => None,
    });
    let args = match declared.map(|ty| ty.kind) {
        Some(ExprKind::Apply(_, args)) => args,
        _ => vec![],
    };
    (args, needs)
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
