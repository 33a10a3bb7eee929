//! Statements.

use super::{Attribute, Decl, Expr, Ident};
use cotangent_base::Span;

/// `{ .. }`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// With the braces.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// `[unroll]`, `[MaxIters(4)]`, ...
    pub attributes: Vec<Attribute>,
    /// What it does.
    pub kind: StmtKind,
    /// All of it.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`.
    Empty,
    /// An expression.
    Expr(Expr),
    /// Local declarations; more than one for `int a, b;`.
    Decl(Vec<Decl>),
    /// `{ .. }`.
    Block(Block),
    /// `if (c) a else b`.
    If(Cond, Box<Stmt>, Option<Box<Stmt>>),
    /// `for (init; cond; step) body`.
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Box<Stmt>),
    /// `while (c) body`.
    While(Expr, Box<Stmt>),
    /// `do body while (c);`.
    DoWhile(Box<Stmt>, Expr),
    /// `switch (x) { .. }`.
    Switch(Expr, Vec<SwitchCase>),
    /// `__target_switch { .. }`, `__stage_switch { .. }`; the labels are names.
    Platform(Platform, Vec<SwitchCase>),
    /// `break;`, `break label;`.
    Break(Option<Ident>),
    /// `continue;`.
    Continue,
    /// `return;`, `return x;`.
    Return(Option<Expr>),
    /// `discard;`.
    Discard,
    /// `defer stmt`.
    Defer(Box<Stmt>),
    /// `label: stmt`.
    Labelled(Ident, Box<Stmt>),
    /// `throw e;`.
    Throw(Expr),
    /// `do { .. } catch (e : E) { .. }`.
    Catch(Block, Option<Ident>, Option<Expr>, Block),
    /// A statement that could not be read; the error is reported.
    Error,
}

/// The condition of an `if`.
#[derive(Clone, Debug)]
pub enum Cond {
    /// An expression.
    Expr(Expr),
    /// `let x = optional`.
    Let(Ident, Expr),
}

/// What a program may be compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Platform {
    /// The target: `hlsl`, `cpp`, ...
    Target,
    /// The stage: `compute`, `fragment`, ...
    Stage,
}

/// Some labels and the statements after them. Without a final jump, control falls into the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// `case` values; `None` is `default`.
    pub labels: Vec<Option<Expr>>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// From the first label to the last statement.
    pub span: Span,
}
