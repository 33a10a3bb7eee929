//! Expressions, types among them.

use super::{Ident, Param, Stmt};
use cotangent_base::{FileId, Scalar, Span, Symbol};
use std::sync::Arc;

/// An expression, or a type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A name.
    Name(Symbol),
    /// What stands before `::name`: the scope of the file.
    Root,
    /// An integer: its value and the type its form and suffix give it.
    Int(u64, Scalar),
    /// A floating-point number: its value and type.
    Float(f64, Scalar),
    /// `true`, `false`.
    Bool(bool),
    /// A string; adjacent ones are joined.
    String(Symbol),
    /// `none`.
    None,
    /// `nullptr`.
    Null,
    /// `this`.
    This,
    /// `This`.
    ThisType,
    /// `-x`, `!x`, `*p`, `&x`, `++x`. The operand of `-` may be the literal 2^31 of type `int` or 2^63 of
    /// type `int64_t`, which only fit negated.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`, and `a, b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a = b`; `a += b` has the operator.
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(a, b)`.
    Call(Box<Expr>, Vec<Expr>),
    /// `a[i, j]`. As a type, an array of that many `a`; `T[]` has no index.
    Index(Box<Expr>, Vec<Expr>),
    /// `a.b`, `a::b`.
    Member(Box<Expr>, Ident),
    /// `p->b`.
    Arrow(Box<Expr>, Ident),
    /// `f<int, 3>`.
    Apply(Box<Expr>, Vec<Expr>),
    /// `T*`, in type position.
    Pointer(Box<Expr>),
    /// `(T)x`.
    Cast(Box<Expr>, Box<Expr>),
    /// `{1, 2}`.
    List(Vec<Expr>),
    /// `(a, b)` where the language version makes it a tuple.
    Tuple(Vec<Expr>),
    /// `(x)`. Kept so that messages and lints can speak of it.
    Paren(Box<Expr>),
    /// `no_diff f(x)`. As a type, `no_diff T`.
    NoDiff(Box<Expr>),
    /// `row_major T` (true) or `column_major T`, inside a type.
    Laid(bool, Box<Expr>),
    /// `fwd_diff(f)`, `bwd_diff(f)`.
    Diff(DiffMode, Box<Expr>),
    /// `sizeof(T)`, `alignof(T)`, `countof(T)`.
    Measure(Measure, Box<Expr>),
    /// `x is T`.
    Is(Box<Expr>, Box<Expr>),
    /// `x as T`.
    As(Box<Expr>, Box<Expr>),
    /// `each x`.
    Each(Box<Expr>),
    /// `expand f(each x)`.
    Expand(Box<Expr>),
    /// `try f()`.
    Try(Box<Expr>),
    /// `(float x) => x * k`, whose body is a `return`, or `(float x) => { .. }`, whose body is a block.
    Lambda(Arc<Lambda>),
    /// `functype(float) -> float`.
    FuncType(Vec<Expr>, Box<Expr>),
    /// Code that is not Slang: what an operation of a target does, written in its own language.
    TargetCode(Box<TargetCode>),
    /// An expression that could not be read; the error is reported.
    Error,
}

/// Code in a function that is not Slang.
#[derive(Clone, Debug)]
pub struct TargetCode {
    /// What it is.
    pub kind: CodeKind,
    /// Its text, or the name of an operation.
    pub text: Symbol,
    /// The type of its value, if it says so.
    pub ty: Option<Expr>,
}

/// Kinds of target code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// `__intrinsic_asm "exp($0)"`: an expression or statement in the language of a target. It is what the function returns, and
    /// `$0` is the first parameter.
    Text,
    /// `__intrinsic_op(cmpGT)`: the function is that operation on its parameters.
    Operation,
    /// `__requirePrelude("..")`: declarations in the language of a target, ahead of everything.
    Prelude,
    /// `spirv_asm { .. }`.
    Assembly,
}

/// The direction of differentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiffMode {
    /// `fwd_diff`.
    Forward,
    /// `bwd_diff`.
    Backward,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Measure {
    SizeOf,
    AlignOf,
    CountOf,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum UnaryOp {
    Plus,
    Neg,
    Not,
    BitNot,
    PreInc,
    PreDec,
    PostInc,
    PostDec,
    Deref,
    AddressOf,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Comma,
}

/// Where a lambda is in a file that was parsed: two uses of a macro make two lambdas with the same span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LambdaId {
    /// The file, with all that it includes.
    pub file: FileId,
    /// The index of its first token there.
    pub token: usize,
}

/// A lambda. Copies of the tree share it, so that what was found out about it holds for all of them.
#[derive(Debug)]
pub struct Lambda {
    /// What tells it from others; none for one that the checker makes.
    pub id: Option<LambdaId>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// A block, or a `return`.
    pub body: Stmt,
}
