//! The syntax tree of the source, before name resolution.
//!
//! Types are expressions. `vector<float, 3>`, `Foo.Differential` and `float[4]` parse as [`Expr`], because it is unknown
//! before name resolution whether a name is a type. The checker interprets an expression as a type where one is expected.
//! Every node has its source span.
//!
//! Arrays nest from the outside in: `Index(T, [n])` is an array of `n` elements of type `T`. The parser converts both
//! notations to this form, so that later stages need not distinguish them: `float[2][3] c` is `Index(Index(float, 2), 3)`,
//! three elements of type `float[2]`, while the declarator in `float d[2][3]` reads as in C, two arrays of three, and is
//! `Index(Index(float, 3), 2)`.
//!
//! Where only name resolution could distinguish two readings, the parser takes the likelier one:
//!
//! - `(A)(b)` and `(A) b` are a [`Cast`](ExprKind::Cast) if `A` looks like a type. If `A` is a function, the checker treats
//!   it as a call.
//! - `(A) - b` is a difference unless `A` is the name of a built-in type or has brackets. If the [`Paren`](ExprKind::Paren)
//!   contains a type, the checker treats it as a cast of `-b`.
//! - `a < b > (c)` is a generic application if the brackets may contain generic arguments.
//!
//! The depth of a tree is limited (see [`Limits`](crate::Limits)), so recursion over it is safe.

mod body;
mod decl;
pub mod dump;
mod expr;
mod stmt;

pub use body::Body;
pub use decl::{
    Accessor, AccessorKind, AliasDecl, AssocDecl, Decl, DeclKind, EnumDecl, Extends, ExtensionDecl,
    ExtensionPart, FuncDecl, FuncKind, GenericParam, GenericParamKind, Generics, InterfaceDecl, Param,
    PropertyDecl, StructDecl, SubscriptDecl, VarDecl, Where,
};
pub use expr::{
    BinaryOp, CodeKind, DiffMode, Expr, ExprKind, Lambda, LambdaId, Measure, TargetCode, UnaryOp,
};
pub use stmt::{Block, Cond, Platform, Stmt, StmtKind, SwitchCase};

use cotangent_base::{Span, Symbol};

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its declarations, in order.
    pub decls: Vec<Decl>,
    /// The version of the language it asks for with `#language`.
    pub version: Version,
}

/// A version of the language. It decides what `(a, b)` means and how far an unmarked declaration is visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Before versions were counted, and what a file without a `#language` line gets.
    #[default]
    Legacy,
    /// Unmarked declarations are internal.
    V2025,
    /// `(a, b)` is a tuple; members inherit visibility.
    V2026,
}

/// A name as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where it stands.
    pub span: Span,
}

/// `[name(args)]`; `[a::b]` is the name `a::b`. Two things that are written otherwise become attributes too:
/// the `: register(b0)` of a `cbuffer` is an attribute `register` of it, and `__implicit_conversion(n)` one
/// of that name.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
    /// With the brackets.
    pub span: Span,
}

/// A word before a declaration or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modifier {
    /// Which.
    pub kind: ModifierKind,
    /// Where.
    pub span: Span,
}

/// The modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum ModifierKind {
    Static,
    Const,
    Uniform,
    GroupShared,
    Public,
    Internal,
    Private,
    Extern,
    /// `export`, and `__exported` before an `import`.
    Export,
    Inline,
    Override,
    NoDiff,
    In,
    Out,
    InOut,
    Ref,
    ConstRef,
    RowMajor,
    ColumnMajor,
    Prefix,
    Postfix,
    NoInterpolation,
    NoPerspective,
    Linear,
    Centroid,
    Sample,
    /// Words that are accepted and mean nothing to us, such as `precise` and `shared`.
    Ignored,
    /// A modifier that this compiler does not act on yet, such as `globallycoherent`.
    Idle(&'static str),
    /// `dyn`.
    Dyn,
    /// `volatile`.
    Volatile,
}
