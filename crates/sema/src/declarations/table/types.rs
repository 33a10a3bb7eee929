//! Types and extensions: their syntax, scopes and generic parameters.

use super::Table;
use crate::hir::{AssocId, Bound, EnumId, InterfaceId, StructId, Ty};
use crate::tables::{AliasId, Builtin, ExtId, GenericsId, Prefix, Progress, ScopeId};
use cotangent_syntax::ast;
use std::sync::Arc;

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

impl Table<StructId, StructInfo> {
    /// Sets the generic parameters.
    pub(crate) fn set_generics(&mut self, id: StructId, generics: GenericsId) {
        self.edit(id).generics = generics;
    }
    /// Adds a field.
    pub(crate) fn add_field(&mut self, id: StructId, decl: Arc<ast::VarDecl>, prefix: Prefix) {
        self.edit(id).fields.push((decl, prefix));
    }
    /// Begins to resolve the fields; false if that was done before.
    pub(crate) fn begin_fields(&mut self, id: StructId) -> bool {
        self[id].resolved == Progress::New && self.edit(id).resolved.begin()
    }
    /// Ends what [`Self::begin_fields`] began.
    pub(crate) fn end_fields(&mut self, id: StructId) {
        self.edit(id).resolved = Progress::Done;
    }
    /// Begins to resolve what it inherits from and conforms to; false if that was done before.
    pub(crate) fn begin_bases(&mut self, id: StructId) -> bool {
        self[id].bases == Progress::New && self.edit(id).bases.begin()
    }
    /// Ends what [`Self::begin_bases`] began.
    pub(crate) fn end_bases(&mut self, id: StructId) {
        self.edit(id).bases = Progress::Done;
    }
    /// Sets the structure it inherits from.
    pub(crate) fn set_base(&mut self, id: StructId, base: Ty) {
        self.edit(id).base = Some(base);
    }
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

impl Table<InterfaceId, InterfaceInfo> {
    /// Begins to resolve the interfaces it inherits from; false if that was done before.
    pub(crate) fn begin_bases(&mut self, id: InterfaceId) -> bool {
        self[id].bases == Progress::New && self.edit(id).bases.begin()
    }
    /// Ends what [`Self::begin_bases`] began.
    pub(crate) fn end_bases(&mut self, id: InterfaceId) {
        self.edit(id).bases = Progress::Done;
    }
    /// Adds a `__constraint`.
    pub(crate) fn add_constraint(&mut self, id: InterfaceId, condition: ast::Where) {
        self.edit(id).constraints.push(condition);
    }
    /// Begins to resolve the `__constraint`s; false if that was done before.
    pub(crate) fn begin_constraints(&mut self, id: InterfaceId) -> bool {
        self[id].constrained == Progress::New && self.edit(id).constrained.begin()
    }
    /// Adds what a `__constraint` says.
    pub(crate) fn add_constraint_bound(&mut self, id: InterfaceId, bound: Bound) {
        self.edit(id).constraint_bounds.push(bound);
    }
    /// Ends what [`Self::begin_constraints`] began.
    pub(crate) fn end_constraints(&mut self, id: InterfaceId) {
        self.edit(id).constrained = Progress::Done;
    }
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

impl Table<EnumId, EnumInfo> {
    /// Begins to resolve the cases; false if that was done before.
    pub(crate) fn begin_cases(&mut self, id: EnumId) -> bool {
        self[id].resolved == Progress::New && self.edit(id).resolved.begin()
    }
    /// Says how many cases have got their values.
    pub(crate) fn set_numbered(&mut self, id: EnumId, cases: usize) {
        self.edit(id).numbered = cases;
    }
    /// Ends what [`Self::begin_cases`] began.
    pub(crate) fn end_cases(&mut self, id: EnumId) {
        self.edit(id).resolved = Progress::Done;
    }
}

/// An associated type beside its [`hir::Assoc`](crate::hir::Assoc).
#[derive(Clone, Debug)]
pub(crate) struct AssocInfo {
    pub decl: Arc<ast::AssocDecl>,
    pub resolved: Progress,
    /// `where` clauses that equate types, in terms of the interface's parameters.
    pub equal: Vec<(Ty, Ty)>,
}

impl Table<AssocId, AssocInfo> {
    /// Begins to resolve the bounds; false if that was done before.
    pub(crate) fn begin(&mut self, id: AssocId) -> bool {
        self[id].resolved == Progress::New && self.edit(id).resolved.begin()
    }
    /// Ends what [`Self::begin`] began, with the types that are equal.
    pub(crate) fn end(&mut self, id: AssocId, equal: Vec<(Ty, Ty)>) {
        let info = self.edit(id);
        info.equal = equal;
        info.resolved = Progress::Done;
    }
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

impl Table<AliasId, AliasInfo> {
    /// Begins to resolve the type.
    pub(crate) fn begin(&mut self, id: AliasId) {
        self.edit(id).resolved = Progress::Busy;
    }
    /// Sets the type, of an alias that depends on itself.
    pub(crate) fn set_ty(&mut self, id: AliasId, ty: Ty) {
        self.edit(id).ty = Some(ty);
    }
    /// Ends what [`Self::begin`] began. Gives the type: the one found, unless there is one by now.
    pub(crate) fn end(&mut self, id: AliasId, ty: Ty) -> Ty {
        let info = self.edit(id);
        info.resolved = Progress::Done;
        *info.ty.get_or_insert(ty)
    }
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

impl Table<ExtId, ExtInfo> {
    /// Begins to resolve the extended type; false if that was done before.
    pub(crate) fn begin_target(&mut self, id: ExtId) -> bool {
        self[id].resolved == Progress::New && self.edit(id).resolved.begin()
    }
    /// Ends what [`Self::begin_target`] began.
    pub(crate) fn end_target(&mut self, id: ExtId, target: Ty) {
        let info = self.edit(id);
        info.target = Some(target);
        info.resolved = Progress::Done;
    }
    /// Begins to resolve what the type conforms to by it; false if that was done before.
    pub(crate) fn begin_bases(&mut self, id: ExtId) -> bool {
        self[id].bases == Progress::New && self.edit(id).bases.begin()
    }
    /// Ends what [`Self::begin_bases`] began.
    pub(crate) fn end_bases(&mut self, id: ExtId) {
        self.edit(id).bases = Progress::Done;
    }
}
