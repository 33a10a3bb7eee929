//! Globals, and properties and subscripts.

use super::Table;
use crate::hir::{FuncId, GlobalId, StructId};
use crate::tables::{GenericsId, Progress, PropId, ScopeId};
use cotangent_base::{Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

/// A global beside its [`hir::Global`](crate::hir::Global).
#[derive(Clone, Debug)]
pub(crate) struct GlobalInfo {
    pub decl: Arc<ast::VarDecl>,
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub resolved: Progress,
    /// The type of the structure that stands behind a `cbuffer`.
    pub buffer: Option<StructId>,
    /// Whether it is declared in a function.
    pub local: bool,
    /// The numbers of `[[vk::binding(..)]]`, where they are not literals.
    pub binding: Vec<ast::Expr>,
}

impl Table<GlobalId, GlobalInfo> {
    /// Begins to resolve the type; false if that was done before.
    pub(crate) fn begin(&mut self, id: GlobalId) -> bool {
        self[id].resolved == Progress::New && self.edit(id).resolved.begin()
    }
    /// Ends what [`Self::begin`] began.
    pub(crate) fn end(&mut self, id: GlobalId) {
        self.edit(id).resolved = Progress::Done;
    }
    /// Replaces the syntax.
    pub(crate) fn set_decl(&mut self, id: GlobalId, decl: ast::VarDecl) {
        self.edit(id).decl = decl.into();
    }
    /// Sets the numbers of `[[vk::binding(..)]]` that are not literals.
    pub(crate) fn set_binding(&mut self, id: GlobalId, numbers: Vec<ast::Expr>) {
        self.edit(id).binding = numbers;
    }
    /// Says that it is declared in a function.
    pub(crate) fn set_local(&mut self, id: GlobalId) {
        self.edit(id).local = true;
    }
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

impl Table<PropId, PropInfo> {
    /// Sets the function that reads. Gives the one there was.
    pub(crate) fn set_get(&mut self, id: PropId, func: FuncId) -> Option<FuncId> {
        self.edit(id).get.replace(func)
    }
    /// Sets the function that writes. Gives the one there was.
    pub(crate) fn set_set(&mut self, id: PropId, func: FuncId) -> Option<FuncId> {
        self.edit(id).set.replace(func)
    }
    /// Says how it may be used as an element. One that may be written can be read too.
    pub(crate) fn allow_element(&mut self, id: PropId, access: ElementAccess) {
        let element = &mut self.edit(id).element;
        if *element != Some(ElementAccess::Ref) {
            *element = Some(access);
        }
    }
}
