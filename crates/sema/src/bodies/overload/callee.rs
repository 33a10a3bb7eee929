//! Calls: the callee, its arguments, its candidates, and how a candidate fits.

use crate::bodies::convert::Cost;
use crate::derive::Signature;
use crate::hir::{Args, DiffMode, Expr, FuncId};
use crate::names::lookup::{Added, Found};
use crate::tables::Item;
use cotangent_base::{Span, Symbol};
use cotangent_syntax::ast;

/// An argument of a call: a value, or an initializer list that waits for the type of its parameter.
#[derive(Clone)]
pub(crate) enum Argument {
    /// A checked value.
    Value(Expr),
    /// `{ .. }`.
    List(Vec<ast::Expr>, Span),
}

impl Argument {
    /// Where it stands.
    pub(crate) fn span(&self) -> Span {
        match self {
            Argument::Value(expr) => expr.span,
            Argument::List(_, span) => *span,
        }
    }
}

/// A function that a call may mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Which.
    pub func: FuncId,
    /// Arguments for the generic parameters around it.
    pub around: Args,
    /// How far away it is declared; see [`Found`].
    pub depth: u32,
    /// Which kind of extension declares it, if one does.
    pub extension: Added,
    /// How many base structures down from the type of `this` it is.
    pub base: u32,
}

/// What is called: functions of one name, perhaps with an object and explicit generic arguments.
#[derive(Clone)]
pub(crate) struct Callee {
    /// The name.
    pub name: Symbol,
    /// The functions.
    pub candidates: Vec<Candidate>,
    /// The object, for candidates that take `this`. Without one they are named through their type.
    pub this: Option<Expr>,
    /// `f<A, B>`.
    pub explicit: Vec<ast::Expr>,
    /// Derivatives to take, innermost first.
    pub diff: Vec<DiffMode>,
    /// Where it is named.
    pub span: Span,
    /// The name alone, if it is written.
    pub name_span: Option<Span>,
}

impl Callee {
    /// The functions among what was found under a name.
    pub(crate) fn new(name: Symbol, found: &[Found], span: Span) -> Self {
        let candidates = found.iter().filter_map(|f| match f.item {
            Item::Func(func) => {
                Some(Candidate { func, around: f.args, depth: f.depth, extension: f.extension, base: f.base })
            }
            _ => None,
        });
        Self {
            name,
            candidates: candidates.collect(),
            this: None,
            explicit: vec![],
            diff: vec![],
            span,
            name_span: None,
        }
    }

    /// As [`Self::new`], under a name that is written.
    pub(crate) fn named(name: ast::Ident, found: &[Found], span: Span) -> Self {
        Self { name_span: Some(name.span), ..Self::new(name.name, found, span) }
    }

    /// What is called, as it is written: `bwd_diff(f)`.
    pub(crate) fn shown(&self) -> String {
        self.diff.iter().fold(self.name.to_string(), |inner, mode| match mode {
            DiffMode::Forward => format!("fwd_diff({inner})"),
            DiffMode::Backward => format!("bwd_diff({inner})"),
        })
    }
}

/// A candidate that can be called.
pub(crate) struct Fit {
    pub candidate: Candidate,
    /// All generic arguments.
    pub args: Args,
    /// The signature under them.
    pub signature: Signature,
    pub cost: Cost,
}
