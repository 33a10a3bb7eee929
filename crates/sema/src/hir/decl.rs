//! Declarations of the typed program.

use super::{Args, Ty, Types, Val};
use crate::capability::Targets;
use cotangent_base::{EntityMap, Map, Span, Symbol, Wish, entity};
use cotangent_syntax::ast::DiffMode;

entity!(
    /// A function, method, constructor, accessor or requirement.
    FuncId,
    "fn"
);
entity!(
    /// A structure.
    StructId,
    "struct"
);
entity!(
    /// An interface.
    InterfaceId,
    "interface"
);
entity!(
    /// An enumeration.
    EnumId,
    "enum"
);
entity!(
    /// A global variable, constant or shader parameter.
    GlobalId,
    "global"
);
entity!(
    /// A generic parameter.
    GenericParamId,
    "param"
);
entity!(
    /// An associated type of an interface.
    AssocId,
    "assoc"
);
entity!(
    /// The fact that a type conforms to an interface.
    ConformanceId,
    "conformance"
);

/// All declarations.
#[derive(Default, Debug)]
pub struct Program {
    /// Types, values and argument lists.
    pub types: Types,
    /// Functions.
    pub funcs: EntityMap<FuncId, Func>,
    /// Structures.
    pub structs: EntityMap<StructId, Struct>,
    /// Interfaces.
    pub interfaces: EntityMap<InterfaceId, Interface>,
    /// Enumerations.
    pub enums: EntityMap<EnumId, Enum>,
    /// Globals.
    pub globals: EntityMap<GlobalId, Global>,
    /// Generic parameters.
    pub params: EntityMap<GenericParamId, GenericParam>,
    /// Associated types.
    pub assocs: EntityMap<AssocId, Assoc>,
    /// Conformances.
    pub conformances: EntityMap<ConformanceId, Conformance>,
    /// What the compiler must know of the library.
    pub lang: LangItems,
    /// Functions of the user's modules, in order: the roots of lowering a whole module.
    pub user_funcs: Vec<FuncId>,
}

/// Declarations of the library that the language itself speaks of; marked `[__lang("..")]` there.
#[derive(Clone, Copy, Default, Debug)]
pub struct LangItems {
    /// `IDifferentiable`.
    pub differentiable: Option<InterfaceId>,
    /// Its `Differential`.
    pub differential: Option<AssocId>,
    /// Its `dzero`.
    pub dzero: Option<FuncId>,
    /// Its `dadd`.
    pub dadd: Option<FuncId>,
    /// `DifferentialPair<T>`; its fields are the primal and the differential, in this order.
    pub pair: Option<StructId>,
    /// `NullDifferential`: the derivative of a value of interface type to which nothing was added yet.
    pub null_differential: Option<StructId>,
}

/// The generic parameters of a declaration, those of what encloses it first.
#[derive(Clone, Default, Debug)]
pub struct Generics {
    /// The parameters. For a requirement the first is the interface's `This`.
    pub params: Vec<GenericParamId>,
    /// What may be assumed of them.
    pub bounds: Vec<Bound>,
}

/// An assumption about generic parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The type conforms.
    Conforms(Ty, InterfaceRef),
    /// The types are the same.
    Equal(Ty, Ty),
    /// The pack has that many elements.
    Count(Ty, Val),
    /// The pack has elements.
    NonEmpty(Ty),
    /// The type conforms if the value is not zero.
    Optional(Ty, InterfaceRef, Val),
}

/// A generic parameter.
#[derive(Clone, Debug)]
pub struct GenericParam {
    /// Its name.
    pub name: Symbol,
    /// The type of a value parameter; `None` for a type parameter.
    pub value: Option<Ty>,
    /// `each`: whether it stands for any number of types or values.
    pub pack: bool,
    /// Whether nobody writes its argument: it says whether an optional constraint holds.
    pub witness: bool,
    /// Where it is declared.
    pub span: Span,
}

/// An interface with its generic arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InterfaceRef {
    /// Which.
    pub interface: InterfaceId,
    /// Its arguments.
    pub args: Args,
}

/// A function with all its generic arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FuncRef {
    /// Which.
    pub func: FuncId,
    /// Arguments for `generics.params`, in that order.
    pub args: Args,
}

/// A conformance with arguments for its generic parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConformanceRef {
    /// Which.
    pub conformance: ConformanceId,
    /// Arguments for `generics.params`.
    pub args: Args,
}

/// A structure.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name, with the names around it: `Outer.Inner`.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// Its generic parameters.
    pub generics: Generics,
    /// Its fields; those of a base structure are one field, the first, named `__base`.
    pub fields: Vec<Field>,
    /// `[__magic("..")]`: what it is to lowering, such as `rwbuffer`.
    pub magic: Option<Symbol>,
    /// The structure whose differential was synthesised here, if any.
    pub differential_of: Option<StructId>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Symbol,
    /// Its type, in terms of the structure's parameters.
    pub ty: Ty,
    /// Left out of the differential.
    pub no_diff: bool,
    /// The field of the differential type that holds its derivative, if it is named otherwise:
    /// `[DerivativeMember(D.x)]`.
    pub derivative: Option<Symbol>,
    /// What it is to the stages of a pipeline, if an entry point has it.
    pub varying: Varying,
    /// Whether its matrix lies in memory row by row, if `row_major` or `column_major` says so.
    pub row_major: Option<bool>,
    /// Where it is declared.
    pub span: Span,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// `This`, then its own parameters.
    pub generics: Generics,
    /// The parameter that stands for the conforming type.
    pub this: GenericParamId,
    /// The interfaces it inherits, in terms of its parameters.
    pub bases: Vec<InterfaceRef>,
    /// Its associated types.
    pub assocs: Vec<AssocId>,
    /// Its requirements: methods, static methods, constructors, accessors.
    pub requirements: Vec<FuncId>,
    /// `[anyValueSize(n)]`: how many bytes conforming types may take, once the argument was looked at.
    pub any_value_size: Option<Val>,
}

/// An associated type.
#[derive(Clone, Debug)]
pub struct Assoc {
    /// Its name.
    pub name: Symbol,
    /// The interface that requires it.
    pub interface: InterfaceId,
    /// What it must conform to, in terms of the interface's parameters.
    pub bounds: Vec<InterfaceRef>,
    /// Where it is declared.
    pub span: Span,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: Symbol,
    /// Its integer type.
    pub underlying: Ty,
    /// Its cases.
    pub cases: Vec<(Symbol, i64)>,
    /// Where it is declared.
    pub span: Span,
}

/// That a type conforms to an interface, and how.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// Parameters of the structure or extension that states it.
    pub generics: Generics,
    /// The type, in terms of those.
    pub ty: Ty,
    /// The interface, in terms of those.
    pub interface: InterfaceRef,
    /// What stands for each requirement.
    pub witnesses: Map<FuncId, Witness>,
    /// What stands for each associated type.
    pub assocs: Map<AssocId, Ty>,
    /// Where it is stated.
    pub span: Span,
}

/// What stands for a requirement. Its generic arguments are in terms of the conformance's parameters followed by
/// the requirement's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Witness {
    /// A function.
    Func(FuncRef),
    /// The field of that number, for a property requirement.
    Field(u32),
    /// Made by the compiler.
    Synth(Synth),
}

/// What the compiler makes for `IDifferentiable`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Synth {
    /// `dzero` of every field.
    DZero,
    /// `dadd` of every field.
    DAdd,
    /// `dmul` of every field.
    DMul,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Its name, with the names around it: `Ray.at`.
    pub name: Symbol,
    /// Where its name stands.
    pub span: Span,
    /// What it is.
    pub kind: FuncKind,
    /// Its generic parameters and those around it.
    pub generics: Generics,
    /// Its `this`, if it has one.
    pub this: Option<This>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result type.
    pub result: Ty,
    /// `no_diff` before the result type.
    pub no_diff_result: bool,
    /// `throws E`: there is a last parameter, an optional `E` that is written, which `params` does not list.
    pub throws: Option<Ty>,
    /// `[__intrinsic("..")]`: the operation it stands for; it has no body then.
    pub intrinsic: Option<Symbol>,
    /// What is known of its derivatives.
    pub diff: FuncDiff,
    /// Whether calls are replaced by the body.
    pub inline: Inline,
    /// Set if the host can start it.
    pub entry: Option<Entry>,
    /// What its result is to the stages behind, if the host starts it.
    pub varying: Varying,
    /// `[require(..)]`: the targets it may be compiled for.
    pub targets: Targets,
    /// Whether there is a body to ask the checker for.
    pub has_body: bool,
}

/// Kinds of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncKind {
    /// A function or method.
    Plain,
    /// A constructor. Its result is the new value, it has no `this`, and its body declares, fills and returns one.
    Constructor,
    /// A requirement of an interface. Its first generic argument is the conforming type; who calls it looks up
    /// the witness. It has a body if it has a default.
    Requirement(InterfaceId),
}

/// The `this` of a method: its first parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct This {
    /// Its type.
    pub ty: Ty,
    /// Whether the method may change it: `inout` instead of `in`.
    pub mutating: bool,
    /// `[NoDiffThis]`.
    pub no_diff: bool,
    /// `[__ref]`: the method works on the object where it lies, not on a copy that is written back.
    pub by_ref: bool,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// Its direction.
    pub dir: Dir,
    /// `__ref`: an argument that lies in memory is worked on there. Of others a copy is written back, as for `inout`.
    pub by_ref: bool,
    /// Whether it carries no derivative though its type could.
    pub no_diff: bool,
    /// What it is to the stages before and behind, if an entry point has it.
    pub varying: Varying,
    /// Whether its matrix lies in memory row by row, if `row_major` or `column_major` says so.
    pub row_major: Option<bool>,
    /// Where it is declared.
    pub span: Span,
}

/// What a parameter or result of an entry point, or a field of one, is to the stages of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Varying {
    /// `SV_DispatchThreadID`, `TEXCOORD0` and their kin, as written; upper and lower case mean the same.
    pub semantic: Option<Symbol>,
    /// What becomes of it between vertices.
    pub interpolation: Interpolation,
    /// `[[vk::location(n)]]`.
    pub location: Option<u32>,
    /// `uniform`: it is a parameter of the shader instead.
    pub uniform: bool,
}

/// How a value for a pixel is made of those of vertices.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Interpolation {
    /// Nothing is said: with perspective, or flat if it is not a float.
    #[default]
    Auto,
    /// `linear`: with perspective.
    Linear,
    /// `noperspective`: linear on the screen.
    NoPerspective,
    /// `nointerpolation`: that of one vertex.
    Flat,
    /// `centroid`: with perspective, at a place inside the triangle.
    Centroid,
    /// `sample`: with perspective, for each sample.
    Sample,
}

/// The direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Dir {
    In,
    Out,
    InOut,
}

/// What is known of a function's derivatives. References are in terms of the function's own generic parameters.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FuncDiff {
    /// `[Differentiable]` and `[BackwardDifferentiable]` are `Backward`, which implies forward.
    pub differentiable: Option<DiffMode>,
    /// `[__rule(f)]`: the library's forward rule.
    pub rule: Option<FuncRef>,
    /// `[ForwardDerivative(f)]`.
    pub forward: Option<FuncRef>,
    /// `[BackwardDerivative(f)]`.
    pub backward: Option<FuncRef>,
    /// `__func_extension __apply(f)`.
    pub apply: Option<Apply>,
    /// `[PrimalSubstitute(f)]`.
    pub substitute: Option<FuncRef>,
    /// `[TreatAsDifferentiable]`.
    pub constant: bool,
    /// `[PreferRecompute]`, `[PreferCheckpoint]`.
    pub prefer: Prefer,
}

/// A backward derivative in two steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Apply {
    /// Computes what the function computes, and an object beside it.
    pub primal: FuncRef,
    /// The `operator()` of that object, which computes the derivatives.
    pub pullback: FuncRef,
}

impl Func {
    /// Whether something of it is `no_diff`.
    pub fn stops_derivatives(&self) -> bool {
        let this = self.this.is_some_and(|this| this.no_diff);
        this || self.no_diff_result || self.params.iter().any(|param| param.no_diff)
    }
}

impl FuncDiff {
    /// Whether the function may stand under `fwd_diff` or `bwd_diff`, or be called where derivatives flow.
    pub fn is_differentiable(&self) -> bool {
        self.differentiable.is_some()
            || self.rule.is_some()
            || self.forward.is_some()
            || self.backward.is_some()
            || self.apply.is_some()
            || self.substitute.is_some()
            || self.constant
    }

    /// Whether somebody wrote a derivative of the function, or named a function that stands in for it.
    pub fn is_custom(&self) -> bool {
        self.forward.is_some() || self.backward.is_some() || self.apply.is_some() || self.substitute.is_some()
    }
}

/// Whether results of a call are stored for the backward pass or computed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Prefer {
    #[default]
    Auto,
    Recompute,
    Checkpoint,
}

/// Whether calls are replaced by the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Inline {
    #[default]
    Auto,
    /// `[ForceInline]`, `[__unsafeForceInlineEarly]`.
    Early,
    /// `[noinline]`.
    Never,
}

/// Whether to unroll a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unroll {
    #[default]
    Auto,
    /// `[ForceUnroll]`; `[unroll]` is a wish and stays `Auto`.
    Force,
    /// `[loop]`.
    Never,
}

/// How the host starts a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where in the pipeline it stands.
    pub stage: Stage,
    /// `[numthreads(x, y, z)]`.
    pub threads: [Val; 3],
    /// Where that is written; the function's name if nowhere.
    pub span: Span,
}

/// A programmable stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Stage {
    Compute,
    Vertex,
    Fragment,
}

impl Stage {
    /// The stage of that name. `pixel` is the older one for `fragment`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "compute" => Some(Stage::Compute),
            "vertex" => Some(Stage::Vertex),
            "fragment" | "pixel" => Some(Stage::Fragment),
            _ => None,
        }
    }
}

/// A global.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// What it is.
    pub kind: GlobalKind,
    /// Where the program wants it.
    pub wish: Wish,
    /// For a `cbuffer`: the offset that `packoffset` gives each member.
    pub cbuffer: Option<Vec<Option<u32>>>,
    /// Whether its matrix lies in memory row by row, if `row_major` or `column_major` says so.
    pub row_major: Option<bool>,
    /// The generic parameters around it.
    pub params: Vec<GenericParamId>,
    /// Where it is declared.
    pub span: Span,
}

/// Kinds of globals. Ask the checker for an initializer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalKind {
    /// A shader parameter, read-only unless it is a writable resource.
    Param,
    /// `static const`: its initializer may be evaluated anywhere.
    Const,
    /// `static`: one per thread.
    Static,
    /// `groupshared`.
    Shared,
}
