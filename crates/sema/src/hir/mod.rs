//! The typed program: what the checker hands to lowering.
//!
//! Names are resolved, overloads chosen, conversions written out; what stays open are generic parameters, which
//! lowering replaces when it makes an instance. A call names a function and *all* its generic arguments
//! ([`FuncRef`]), those of the enclosing type first. A call of an interface's requirement is the same, with the
//! conforming type as the first argument; lowering asks the checker for the conformance once that type is known.
//!
//! Expressions that denote places (something that can be assigned) are the same [`Expr`]: a local, a global, a
//! field, element or swizzle of a place, a property, or a conversion between equally wide integers of a place.

mod body;
mod decl;
mod func;
mod types;
mod walk;

pub use body::{
    Block, Body, Call, Case, Const, Expr, ExprKind, Label, Local, LocalId, Loop, LoopAttrs, LoopKind,
    Measure, Stmt, StmtKind, UnaryOp,
};
pub use cotangent_syntax::ast::{BinaryOp, DiffMode, Platform};
pub use decl::{
    Assoc, AssocId, Bound, Conformance, ConformanceId, ConformanceRef, Enum, EnumId, Field, FuncId, FuncRef,
    GenericParam, GenericParamId, Generics, Global, GlobalId, GlobalKind, Interface, InterfaceId,
    InterfaceRef, LangItems, Program, Struct, StructId, Synth, Witness,
};
pub use func::{
    Apply, Dir, Entry, Func, FuncDiff, FuncKind, Inline, Interpolation, Param, Prefer, Stage, This, Unroll,
    Varying,
};
pub use types::{Arg, Args, PackPart, Ty, TyKind, Types, Val, ValKind};
pub(crate) use walk::each_expr;
