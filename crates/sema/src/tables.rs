//! The tables of the checker beside the typed program: scopes, the syntax of declarations, and the progress of each.
//!
//! Declarations are collected once ([`crate::collect`]): each gets a number in [`Program`](crate::hir::Program) with a
//! placeholder, and an entry here with its syntax and scope. Everything else (signatures, fields, bases, bodies) is resolved
//! on first use. So the order of declarations does not matter, and unused parts of the library cost nothing. A [`Progress`]
//! detects cycles.

use crate::conformance::conform::{ConformanceIndex, Search};
use crate::generics::assumptions::Assumptions;
use crate::generics::worklist::WorkList;
use crate::hir::{
    Arg, AssocId, Body, Bound, ConformanceId, EnumId, Expr, FuncId, GenericParamId, GlobalId, InterfaceId,
    Local, LocalId, StructId, Ty, Val,
};
use crate::names::access::{Access, ModuleId};
use crate::names::scopes::Scopes;
use cotangent_base::{CowMap, EntityMap, EntitySet, Map, Scalar, Set, Span, Symbol, entity};
use cotangent_syntax::ast;
use std::sync::Arc;

entity!(
    /// A scope with names.
    ScopeId,
    "scope"
);
entity!(
    /// A `typealias` or `typedef`.
    AliasId,
    "alias"
);
entity!(
    /// A property or subscript.
    PropId,
    "property"
);
entity!(
    /// An extension.
    ExtId,
    "extension"
);
entity!(
    /// A list of generic parameters with those around it.
    GenericsId,
    "generics"
);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Item {
    /// A function, method, constructor or requirement.
    Func(FuncId),
    /// A structure.
    Struct(StructId),
    /// An interface.
    Interface(InterfaceId),
    /// An enumeration.
    Enum(EnumId),
    /// Another name of a type.
    Alias(AliasId),
    /// An associated type.
    Assoc(AssocId),
    /// A global or static member.
    Global(GlobalId),
    /// A member of a `cbuffer`: a field of a global.
    BufferField(GlobalId, u32),
    /// A field of the structure whose scope this is.
    Field(u32),
    /// A property.
    Property(PropId),
    /// A namespace.
    Namespace(ScopeId),
    /// A generic parameter.
    Param(GenericParamId),
    /// A case of an enumeration.
    Case(EnumId, u32),
    /// A local constant, as far as types and sizes are concerned.
    Const(Val, Ty),
}

/// The declaration whose members a scope holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// None: a module, namespace or block.
    Module,
    /// A structure.
    Struct(StructId),
    /// An extension.
    Extension(ExtId),
    /// An interface.
    Interface(InterfaceId),
    /// An enumeration.
    Enum(EnumId),
}

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Its name.
    pub name: Symbol,
    /// Whether something in it may be less than public.
    pub guarded: bool,
    /// Its number among the user's.
    pub number: usize,
    /// The version of the language it is written in: the latest that one of its files asks for.
    pub version: ast::Version,
    /// Whether bodies are checked only where somebody asks for them, since they were checked before.
    pub known: bool,
    /// Whether its bodies declare something: local types, lambdas, static variables.
    pub adds: bool,
}

/// How far something was resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Progress {
    /// Not begun.
    #[default]
    New,
    /// Begun; whoever meets it again must do with what is there.
    Busy,
    /// Finished.
    Done,
}

/// Attributes and modifiers of a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub attributes: Arc<[ast::Attribute]>,
    pub modifiers: Arc<[ast::Modifier]>,
}

impl Prefix {
    /// Nothing stands before the declaration.
    pub(crate) fn none() -> Self {
        Self { attributes: Arc::new([]), modifiers: Arc::new([]) }
    }
}

/// What a function was written as.
#[derive(Clone, Debug)]
pub(crate) enum FuncSource {
    /// A function, operator or constructor.
    Func(Arc<ast::FuncDecl>),
    /// An accessor of a property or subscript: which, and its number there.
    Accessor(PropId, usize),
}

/// A function beside its [`hir::Func`](crate::hir::Func).
#[derive(Clone, Debug)]
pub(crate) struct FuncInfo {
    pub source: FuncSource,
    pub prefix: Prefix,
    /// The scope of its generic parameters.
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub owner: Owner,
    pub is_static: bool,
    pub signature: Progress,
    pub checking: Progress,
    pub body: Option<Arc<Body>>,
    /// Which parameters are hidden generic ones made for parameters of interface type.
    pub hidden: usize,
}

/// A structure beside its [`hir::Struct`](crate::hir::Struct).
#[derive(Clone, Debug)]
pub(crate) struct StructInfo {
    pub decl: Arc<ast::StructDecl>,
    pub fields: Vec<(Arc<ast::VarDecl>, Prefix)>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub resolved: Progress,
    pub bases: Progress,
    /// The structure it inherits from, with arguments.
    pub base: Option<Ty>,
    /// What built-in type it describes.
    pub builtin: Option<Builtin>,
    /// Whether it has constructors marked `__implicit_conversion(cost)`.
    pub converts: bool,
}

/// The built-in types that structures of the library describe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Builtin {
    Scalar(Scalar),
    Vector,
    Matrix,
    Array,
    Tuple,
    String,
    Void,
}

/// An interface beside its [`hir::Interface`](crate::hir::Interface).
#[derive(Clone, Debug)]
pub(crate) struct InterfaceInfo {
    pub decl: Arc<ast::InterfaceDecl>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub bases: Progress,
    pub attributes: Arc<[ast::Attribute]>,
    pub modifiers: Arc<[ast::Modifier]>,
    /// `__constraint` statements, as written and as bounds in terms of the interface's parameters.
    pub constraints: Vec<ast::Where>,
    pub constrained: Progress,
    pub constraint_bounds: Vec<Bound>,
}

/// An enumeration beside its [`hir::Enum`](crate::hir::Enum).
#[derive(Clone, Debug)]
pub(crate) struct EnumInfo {
    pub decl: Arc<ast::EnumDecl>,
    pub prefix: Prefix,
    pub scope: ScopeId,
    pub resolved: Progress,
    /// How many cases have got their values.
    pub numbered: usize,
}

/// The variables around a constant in a body. They are no constants, and a message should say so; but their sizes are.
#[derive(Clone, Default, Debug)]
pub(crate) struct Around {
    /// As in [`BodyCx`](crate::bodies::body::BodyCx).
    pub names: Vec<Map<Symbol, LocalId>>,
    /// As in [`BodyCx`](crate::bodies::body::BodyCx).
    pub locals: EntityMap<LocalId, Local>,
    /// As in [`BodyCx`](crate::bodies::body::BodyCx).
    pub aggregates: Map<LocalId, Expr>,
}

/// An associated type beside its [`hir::Assoc`](crate::hir::Assoc).
#[derive(Clone, Debug)]
pub(crate) struct AssocInfo {
    pub decl: Arc<ast::AssocDecl>,
    pub resolved: Progress,
    /// `where` clauses that equate types, in terms of the interface's parameters.
    pub equal: Vec<(Ty, Ty)>,
}

/// A global beside its [`hir::Global`](crate::hir::Global).
#[derive(Clone, Debug)]
pub(crate) struct GlobalInfo {
    pub decl: Arc<ast::VarDecl>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub resolved: Progress,
    pub checking: Progress,
    pub init: Option<Arc<Body>>,
    /// The type of the structure that stands behind a `cbuffer`.
    pub buffer: Option<StructId>,
    /// Whether it is declared in a function.
    pub local: bool,
    /// The numbers of `[[vk::binding(..)]]`, where they are not literals.
    pub binding: Vec<ast::Expr>,
}

/// A `typealias`.
#[derive(Clone, Debug)]
pub(crate) struct AliasInfo {
    pub decl: Arc<ast::AliasDecl>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub resolved: Progress,
    pub ty: Option<Ty>,
}

/// A property or subscript.
#[derive(Clone, Debug)]
pub(crate) struct PropInfo {
    /// Its name; none for a subscript.
    pub name: Option<Symbol>,
    pub span: Span,
    /// The indices.
    pub params: Arc<[ast::Param]>,
    pub ty: Arc<ast::Expr>,
    pub accessors: Arc<[ast::Accessor]>,
    pub get: Option<FuncId>,
    pub set: Option<FuncId>,
    /// `ref`, or an intrinsic accessor: access is an [`Element`](crate::hir::ExprKind::Element).
    pub element: Option<ElementAccess>,
    pub is_static: bool,
    /// Whether it is a `static const` that an interface requires.
    pub is_const: bool,
    /// Whether its value carries no derivative, as `no_diff` before it says.
    pub no_diff: bool,
    pub generics: GenericsId,
    pub scope: ScopeId,
}

/// How a subscript that stands for an element may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ElementAccess {
    /// Read only.
    Get,
    /// Read and written.
    Ref,
}

/// An extension.
#[derive(Clone, Debug)]
pub(crate) struct ExtInfo {
    pub decl: Arc<ast::ExtensionDecl>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub resolved: Progress,
    pub bases: Progress,
    /// The extended type, in terms of `generics`.
    pub target: Option<Ty>,
}

/// Generic parameters.
#[derive(Clone, Debug)]
pub(crate) struct GenericsInfo {
    pub parent: Option<GenericsId>,
    /// Parameters of this list alone.
    pub own: Vec<GenericParamId>,
    /// All, those around first.
    pub params: Arc<[GenericParamId]>,
    pub syntax: Arc<ast::Generics>,
    /// Where names in bounds are looked up.
    pub scope: ScopeId,
    pub resolved: Progress,
    /// Own assumptions so far.
    pub own_bounds: Vec<Bound>,
    /// All assumptions, once resolved.
    pub bounds: Option<Arc<[Bound]>>,
    /// The interface whose list this is, which assumes that `This` conforms.
    pub interface: Option<InterfaceId>,
}

/// What stands at the front of a type, by which extensions and conformances are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Head {
    /// A structure; built-in types are the structures that describe them.
    Struct(StructId),
    /// An enumeration.
    Enum(EnumId),
    /// Any type: `extension<T : IA> T`.
    Any,
}

/// A conformance beside its [`hir::Conformance`](crate::hir::Conformance).
#[derive(Clone, Debug)]
pub(crate) struct ConformanceInfo {
    /// The structure or extension that states it.
    pub owner: Owner,
    pub assocs: Progress,
    pub witnesses: Progress,
}

/// All of it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tables {
    pub scopes: Scopes,
    pub funcs: CowMap<FuncId, FuncInfo>,
    pub structs: CowMap<StructId, StructInfo>,
    pub interfaces: CowMap<InterfaceId, InterfaceInfo>,
    pub enums: CowMap<EnumId, EnumInfo>,
    pub assocs: CowMap<AssocId, AssocInfo>,
    pub globals: CowMap<GlobalId, GlobalInfo>,
    pub aliases: CowMap<AliasId, AliasInfo>,
    pub props: CowMap<PropId, PropInfo>,
    pub exts: CowMap<ExtId, ExtInfo>,
    pub generics: CowMap<GenericsId, GenericsInfo>,
    pub conformances: CowMap<ConformanceId, ConformanceInfo>,
    /// The structures that describe built-in types.
    pub builtins: Map<Builtin, StructId>,
    /// Declarations marked `[__lang("..")]`, by that name.
    pub lang: Map<Symbol, Item>,
    /// Where extensions and conformances are found.
    pub index: ConformanceIndex,
    /// The search for conformances at hand.
    pub search: Search,
    /// What may be assumed of generic parameters where the checker works now.
    pub assumptions: Assumptions,
    /// What was put off.
    pub work: WorkList,
    /// Variables around a type that is being resolved.
    pub locals: Around,
    /// What is known of lambdas.
    pub lambdas: crate::bodies::lambda::Lambdas,
    /// What constants of the module are as compile-time integers.
    pub folded: Map<GlobalId, Option<Val>>,
    /// Structures that are known not to contain themselves.
    pub finite: Set<StructId>,
    /// How many numbers the fields of types hold, counting an array as one of its elements.
    pub leaves: Map<Ty, u64>,
    /// Expressions written in one declaration that are being used in another.
    pub foreign: crate::bodies::foreign::Foreign,
    /// The generic parameters of the alias that is being resolved.
    pub alias: Option<GenericsId>,
    /// How many diagnostics there were when repetitions were last dropped.
    pub told: usize,
    /// Functions of the user's modules, in order.
    pub user_funcs: Vec<FuncId>,
    /// Functions of the user's that a derivative goes into although they are not marked, as they are inlined early.
    pub inlined: EntitySet<FuncId>,
    /// The modules, the library first.
    pub modules: CowMap<ModuleId, Module>,
    /// How far what is being declared can be seen.
    pub declaring: Option<Access>,
    /// What modules and the command line give each other.
    pub links: crate::collect::Links,
    /// The packs under `each` in the `expand` at hand, innermost last.
    pub expanding: Vec<Vec<Ty>>,
    /// The differentials of tuples, where nothing is assumed.
    pub tuple_differentials: Map<Ty, Ty>,
    /// What names in the user's files mean.
    pub uses: crate::names::uses::Uses,
    /// Derivatives of instances, by function.
    pub special: Map<FuncId, Vec<crate::derive::Special>>,
    /// Declarations that later versions of the language do not have, with their names and attributes.
    pub removed: Map<Item, (Symbol, Arc<[ast::Attribute]>)>,
    /// Whether the head of an extension or a generic argument is being resolved.
    pub heads: bool,
    /// The functions that meet requirements: the requirement, and the function.
    pub meeting: Vec<(FuncId, FuncId)>,
    /// Generic parameters that say how or where values are stored, with what they are bound to if nothing binds them.
    pub described: Map<GenericParamId, Arg>,
    /// Whether some interface has a `__constraint`.
    pub constrained: bool,
    /// The scope of the library.
    pub core: Option<ScopeId>,
}

impl Tables {
    /// Lets clones share the large tables.
    pub(crate) fn share(&mut self) {
        self.scopes.share();
        self.funcs.share();
        self.structs.share();
        self.interfaces.share();
        self.enums.share();
        self.assocs.share();
        self.globals.share();
        self.aliases.share();
        self.props.share();
        self.exts.share();
        self.generics.share();
        self.conformances.share();
        self.modules.share();
        self.uses.finish();
    }

    /// The parameters of a function as they were written: of a `get`, the indices. (A `set` takes a value too, and is never called by
    /// name.)
    pub(crate) fn written_params(&self, func: FuncId) -> &[ast::Param] {
        match &self.funcs[func].source {
            FuncSource::Func(decl) => &decl.params,
            FuncSource::Accessor(property, _) if self.props[*property].get == Some(func) => {
                &self.props[*property].params
            }
            FuncSource::Accessor(..) => &[],
        }
    }
}
