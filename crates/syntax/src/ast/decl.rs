//! Declarations.

use super::{Attribute, Body, Expr, Ident, Modifier};
use cotangent_base::Span;
use std::sync::Arc;

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

/// What a declaration declares.
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// A function, method, operator, constructor (`__init`) or accessor.
    Func(Arc<FuncDecl>),
    /// A variable, field, or parameter of the shader. `int a = 1, b[2];` gives one declaration per name.
    Var(Arc<VarDecl>),
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
    /// `__constraint A : IB;` in an interface.
    Constraint(Box<Where>),
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
    /// `optional T == U`, which asks for nothing: `T is U` says whether it holds.
    Perhaps(Expr, Expr),
    /// `T(U)`: a `T` can be made from a `U`; if the flag is set (`T(U) implicit`), by an implicit conversion.
    Coerces(Expr, Expr, bool),
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
    /// What follows the colon: interfaces, or a base structure.
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
    /// Whether it is another name of all its bases at once: `typealias IAB = IA & IB;`.
    pub is_conjunction: bool,
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
    /// Whether it is declared `enum class`.
    pub is_class: bool,
    /// The type after the colon.
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
