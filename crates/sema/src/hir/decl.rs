//! Declarations of the typed program.

use super::{Args, Func, Ty, Types, Val, Varying};
use cotangent_base::{CowMap, Map, Span, Symbol, Wish, entity};

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
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// Types, values and argument lists.
    pub types: Types,
    /// The words `row_major` (true) and `column_major` (false) inside types that differ from the default layout and have no effect.
    pub layout_words: Vec<(bool, Span)>,
    /// The buffers that name their layout, as in `StructuredBuffer<T, ScalarDataLayout>`, with its name.
    pub buffer_layouts: Vec<(Ty, Symbol, Span)>,
    /// Functions.
    pub funcs: CowMap<FuncId, Func>,
    /// Structures.
    pub structs: CowMap<StructId, Struct>,
    /// Interfaces.
    pub interfaces: CowMap<InterfaceId, Interface>,
    /// Enumerations.
    pub enums: CowMap<EnumId, Enum>,
    /// Globals.
    pub globals: CowMap<GlobalId, Global>,
    /// Generic parameters.
    pub params: CowMap<GenericParamId, GenericParam>,
    /// Associated types.
    pub assocs: CowMap<AssocId, Assoc>,
    /// Conformances.
    pub conformances: CowMap<ConformanceId, Conformance>,
    /// What the compiler must know of the library.
    pub lang: LangItems,
    /// Functions of the user's modules, in order: the roots of lowering a whole module.
    pub user_funcs: Vec<FuncId>,
    /// Attributes that the program defines, on its declarations.
    pub user_attributes: Vec<UserAttribute>,
}

/// An attribute that the program defines.
#[derive(Clone, PartialEq, Debug)]
pub struct UserAttribute {
    /// The way to what has it: `S.field`, `f`, `f.parameter`.
    pub on: Symbol,
    /// Its name: `Range` for `struct RangeAttribute`.
    pub name: Symbol,
    /// Its fields with their values.
    pub values: Vec<(Symbol, AttributeValue)>,
}

/// The value of a field of an attribute.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "each is a value of that kind")]
pub enum AttributeValue {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(Symbol),
}

impl Program {
    /// Lets clones share all tables.
    pub(crate) fn share(&mut self) {
        let Program {
            types,
            layout_words: _,
            buffer_layouts: _,
            funcs,
            structs,
            interfaces,
            enums,
            globals,
            params,
            assocs,
            conformances,
            lang: _,
            user_funcs: _,
            user_attributes: _,
        } = self;
        types.share();
        funcs.share();
        structs.share();
        interfaces.share();
        enums.share();
        globals.share();
        params.share();
        assocs.share();
        conformances.share();
    }
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
    /// A value of the first type can be made from one of the second; if the flag is set, by an implicit conversion.
    Coerces(Ty, Ty, bool),
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
    /// Whether its values are not data that can be copied: a class, or `[__NonCopyableType]`.
    pub opaque: bool,
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
    /// Whether it is a specialization constant, which hosts may set when they make a pipeline. `wish.binding` is its number.
    pub specialized: bool,
    /// Whether the checker computed with its value: a size or a type depends on it.
    pub folded: bool,
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
