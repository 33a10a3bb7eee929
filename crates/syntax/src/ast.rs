//! The syntax tree: what was written, with nothing resolved.
//!
//! Types are expressions. `vector<float, 3>`, `Foo.Differential` and `float[4]` parse as [`Expr`], because
//! whether a name is a type is not known before names are resolved; the checker reads an expression as a
//! type where one stands. Every node has the span it was read from.
//!
//! Arrays nest from the outside in: `Index(T, [n])` is an array of `n` elements of type `T`. The parser
//! brings both notations to that form, so that nobody behind it needs to know them: `float[2][3] c` is
//! `Index(Index(float, 2), 3)`, three elements of type `float[2]`, while the declarator in `float d[2][3]`
//! reads as in C, two arrays of three, and is `Index(Index(float, 3), 2)`.
//!
//! Where only name resolution could tell two readings apart, the parser takes the likelier one:
//! - `(A)(b)` and `(A) b` are a [`Cast`](ExprKind::Cast) if `A` looks like a type. Should `A` turn out to be a
//!   function, it is a call.
//! - `(A) - b` is a difference unless `A` is the name of a built-in type or carries brackets. Should the
//!   [`Paren`](ExprKind::Paren) turn out to hold a type, it is a cast of `-b`.
//! - `a < b > (c)` is a generic application if what stands in the brackets may be arguments.
//!
//! No tree is deeper than the stack allows (see [`Limits`](crate::Limits)), so recursion over it
//! is safe.

mod body;
pub mod dump;

pub use body::Body;

use cotangent_base::{Scalar, Span, Symbol};
use std::rc::Rc;

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

/// A declaration with what stands before it.
#[derive(Clone, Debug)]
pub struct Decl {
    /// `[Differentiable]`, `[numthreads(8, 8, 1)]`, ...
    pub attributes: Vec<Attribute>,
    /// `static`, `const`, `public`, ...
    pub modifiers: Vec<Modifier>,
    /// What is declared.
    pub kind: DeclKind,
    /// From the first attribute or modifier to the end.
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
}

/// What a declaration declares.
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// A function, method, operator, constructor (`__init`) or accessor.
    Func(Box<FuncDecl>),
    /// A variable, field, or parameter of the shader. `int a = 1, b[2];` gives one declaration per name.
    Var(Box<VarDecl>),
    /// `struct` (and `class`).
    Struct(Box<StructDecl>),
    /// `interface`.
    Interface(Box<InterfaceDecl>),
    /// `extension`.
    Extension(Box<ExtensionDecl>),
    /// `enum`.
    Enum(Box<EnumDecl>),
    /// `typedef` and `typealias`.
    Alias(Box<AliasDecl>),
    /// `associatedtype`.
    Assoc(Box<AssocDecl>),
    /// `property`.
    Property(Box<PropertyDecl>),
    /// `__subscript`.
    Subscript(Box<SubscriptDecl>),
    /// `namespace a.b { .. }`.
    Namespace(Vec<Ident>, Vec<Decl>),
    /// `using a.b;`.
    Using(Box<Expr>),
    /// `cbuffer C { .. }`: its fields are visible around it.
    CBuffer(Ident, Vec<Decl>),
    /// `import a.b;`, with the path as written, separators as `/`.
    Import(Ident),
    /// `__include part;`.
    Include(Ident),
    /// `module m;`.
    Module(Ident),
    /// `implementing m;`.
    Implementing(Ident),
    /// A declaration that could not be read; the error is reported.
    Error,
}

/// A lambda. Copies of the tree share it, so that what was found out about it holds for all of them.
#[derive(Debug)]
pub struct Lambda {
    /// Its parameters.
    pub params: Vec<Param>,
    /// A block, or a `return`.
    pub body: Stmt,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FuncDecl {
    /// Which kind of function.
    pub kind: FuncKind,
    /// Its name. For operators the operator's text after `operator`, as in `operator+`.
    pub name: Ident,
    /// `<T : IFoo, let N : int>` and `where` clauses.
    pub generics: Generics,
    /// The parameters.
    pub params: Vec<Param>,
    /// The result type; `None` for constructors and setters. `void` is written.
    pub result: Option<Expr>,
    /// `no_diff` before the result type. It is not repeated among the declaration's modifiers.
    pub no_diff_result: bool,
    /// `throws E`.
    pub throws: Option<Expr>,
    /// `: SV_Target` after the parameter list.
    pub semantic: Option<Ident>,
    /// The body, unless this is a prototype, a requirement or an intrinsic.
    pub body: Option<Body>,
    /// What it is to another function, if it was declared by `__func_extension`.
    pub extends: Option<Extends>,
}

/// `__func_extension fwd_diff(f)`: a function without a name of its own, given for another one.
#[derive(Clone, Debug)]
pub struct Extends {
    /// What is given.
    pub part: ExtensionPart,
    /// The function it is given for.
    pub target: Expr,
    /// From the keyword of the part to its closing parenthesis.
    pub span: Span,
}

/// What `__func_extension` gives for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionPart {
    /// `fwd_diff(f)`: its forward derivative.
    Forward,
    /// `bwd_diff(f)`: its backward derivative.
    Backward,
    /// `__apply(f)`: what computes its value and an object that knows how to go backward from there.
    Apply,
}

/// Kinds of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncKind {
    /// An ordinary function or method.
    Plain,
    /// `operator+` and its kin.
    Operator,
    /// `__init`.
    Constructor,
}

/// A parameter. Its direction and `no_diff` are among the modifiers.
#[derive(Clone, Debug)]
pub struct Param {
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// `in`, `out`, `inout`, `no_diff`, `uniform`, ...
    pub modifiers: Vec<Modifier>,
    /// The name; prototypes may leave it out.
    pub name: Option<Ident>,
    /// The type, array suffixes of the declarator included.
    pub ty: Expr,
    /// `= value`.
    pub default: Option<Expr>,
    /// `: SV_DispatchThreadID`.
    pub semantic: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// The generic part of a declaration. Empty when there is none.
#[derive(Clone, Debug, Default)]
pub struct Generics {
    /// The parameters in angle brackets.
    pub params: Vec<GenericParam>,
    /// The `where` clauses.
    pub wheres: Vec<Where>,
}

/// A generic parameter.
#[derive(Clone, Debug)]
pub struct GenericParam {
    /// Its name.
    pub name: Ident,
    /// A type, a value or a pack.
    pub kind: GenericParamKind,
    /// `= default`.
    pub default: Option<Expr>,
}

/// What a generic parameter stands for.
#[derive(Clone, Debug)]
pub enum GenericParamKind {
    /// `T`, `T : IA & IB`.
    Type(Vec<Expr>),
    /// `let N : int`, `int N`.
    Value(Expr),
    /// `each T`, `each T : IA`.
    Pack(Vec<Expr>),
    /// `let each N : int`.
    ValuePack(Expr),
    /// `where optional T : IA`: whether the type conforms. Nobody writes the argument; who uses the declaration knows it.
    Witness(Expr, Expr),
}

/// One condition of a `where` clause.
#[derive(Clone, Debug)]
pub enum Where {
    /// `T : IA`.
    Conforms(Expr, Vec<Expr>),
    /// `T.A == float`, `countof(T) == 2`.
    Equal(Expr, Expr),
    /// `nonempty(T)`.
    NonEmpty(Expr),
}

/// A variable, field or shader parameter.
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// Its name.
    pub name: Ident,
    /// Its type, declarator suffixes included; `None` for `let x = ..` and `var x = ..`.
    pub ty: Option<Expr>,
    /// The initializer.
    pub init: Option<Expr>,
    /// `: SV_Position`; `: register(u0, space1)` is the name `register(u0,space1)`.
    pub semantic: Option<Ident>,
    /// `: 4`: how many bits a bit field has.
    pub bits: Option<(u64, Span)>,
    /// Declared with `let`.
    pub is_let: bool,
}

/// A structure.
#[derive(Clone, Debug)]
pub struct StructDecl {
    /// Its name.
    pub name: Ident,
    /// Whether it is declared as a `class`.
    pub is_class: bool,
    /// Its generic parameters.
    pub generics: Generics,
    /// What stands behind the colon: interfaces, or a base structure.
    pub bases: Vec<Expr>,
    /// Fields, methods, nested types, ...
    pub members: Vec<Decl>,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct InterfaceDecl {
    /// Its name.
    pub name: Ident,
    /// Its generic parameters.
    pub generics: Generics,
    /// Interfaces it inherits.
    pub bases: Vec<Expr>,
    /// Requirements.
    pub members: Vec<Decl>,
}

/// An extension of a type.
#[derive(Clone, Debug)]
pub struct ExtensionDecl {
    /// `extension<T : IFloat> ..`.
    pub generics: Generics,
    /// The extended type.
    pub target: Expr,
    /// Conformances it adds.
    pub bases: Vec<Expr>,
    /// Members it adds.
    pub members: Vec<Decl>,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct EnumDecl {
    /// Its name; `None` for an anonymous one.
    pub name: Option<Ident>,
    /// The type behind the colon.
    pub underlying: Option<Expr>,
    /// Its cases, with explicit values.
    pub cases: Vec<(Ident, Option<Expr>)>,
}

/// `typealias Name<..> = Type;`.
#[derive(Clone, Debug)]
pub struct AliasDecl {
    /// Its name.
    pub name: Ident,
    /// Its generic parameters.
    pub generics: Generics,
    /// What it must conform to: `extern struct Name : IBase = Type;`.
    pub bases: Vec<Expr>,
    /// What it stands for; nothing if only others say: `extern struct Name;`, `type_param Name;`.
    pub ty: Option<Expr>,
}

/// `associatedtype A : IB where ..;`.
#[derive(Clone, Debug)]
pub struct AssocDecl {
    /// Its name.
    pub name: Ident,
    /// Its bounds.
    pub bounds: Vec<Expr>,
    /// Further conditions.
    pub wheres: Vec<Where>,
}

/// `property float area { get; set; }`.
#[derive(Clone, Debug)]
pub struct PropertyDecl {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Expr,
    /// Its accessors.
    pub accessors: Vec<Accessor>,
}

/// `__subscript(int i) -> T { get; set; }`.
#[derive(Clone, Debug)]
pub struct SubscriptDecl {
    /// Generic parameters.
    pub generics: Generics,
    /// The indices.
    pub params: Vec<Param>,
    /// The element's type.
    pub result: Expr,
    /// Its accessors.
    pub accessors: Vec<Accessor>,
}

/// `get {..}`, `set(v) {..}` or `ref;`.
#[derive(Clone, Debug)]
pub struct Accessor {
    /// Attributes, such as `[mutating]` and `[Differentiable]`.
    pub attributes: Vec<Attribute>,
    /// Which one.
    pub kind: AccessorKind,
    /// The setter's parameter; `newValue` if not written.
    pub value: Option<Ident>,
    /// The body; none in an interface or for an intrinsic.
    pub body: Option<Body>,
    /// All of it.
    pub span: Span,
}

/// Kinds of accessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum AccessorKind {
    Get,
    Set,
    Ref,
}

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

/// Some labels and the statements behind them. Without a final jump, control falls into the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// `case` values; `None` is `default`.
    pub labels: Vec<Option<Expr>>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// From the first label to the last statement.
    pub span: Span,
}

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
    /// `a.b`, `a::b`, `p->b`.
    Member(Box<Expr>, Ident),
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
    Lambda(Rc<Lambda>),
    /// `functype(float) -> float`.
    FuncType(Vec<Expr>, Box<Expr>),
    /// An expression that could not be read; the error is reported.
    Error,
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
