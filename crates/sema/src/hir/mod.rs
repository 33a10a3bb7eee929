//! The typed program: the output of the checker and the input of lowering.
//!
//! Names are resolved, overloads selected, and conversions explicit. Generic parameters remain; lowering replaces them in
//! each instance. A call names a function and *all* its generic arguments ([`FuncRef`]), those of the enclosing type first. A
//! call of an interface's requirement has the conforming type as its first argument; lowering queries the conformance once
//! that type is known.
//!
//! In a finished [`Body`] every expression is identified by its number, an [`ExprId`]. [`SourceMap`] finds expressions by
//! source position.
//!
//! Assignable expressions (*places*) are also [`Expr`]s: a local, a global, a field, element or swizzle of a place, a
//! property, or a conversion between integers of equal width of a place.

mod body;
mod decl;
mod expr;
mod func;
mod types;
mod walk;

pub use body::{
    Block, Body, Case, ExprId, Label, Local, LocalId, Loop, LoopAttrs, LoopKind, Segments, SourceMap, Stmt,
    StmtKind,
};
pub use cotangent_syntax::ast::{BinaryOp, CodeKind, DiffMode, Platform};
pub use decl::{
    Assoc, AssocId, AttributeValue, Bound, Conformance, ConformanceId, ConformanceRef, Enum, EnumId, Field,
    FuncId, FuncRef, GenericParam, GenericParamId, Generics, Global, GlobalId, GlobalKind, Interface,
    InterfaceId, InterfaceRef, LangItems, Program, Struct, StructId, Synth, UserAttribute, Witness,
};
pub use expr::{Call, Const, Expr, ExprKind, Measure, UnaryOp, hash_of};
pub use func::{
    Apply, Dir, Entry, Func, FuncDiff, FuncKind, Inline, Interpolation, Param, Prefer, Stage, This, Unroll,
    Varying,
};
pub use types::{Arg, Args, PackPart, Ty, TyKind, Types, Val, ValKind};
pub use walk::each_expr;
