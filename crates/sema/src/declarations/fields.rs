//! Resolves the fields of structures, on first use.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::declarations::attrs::row_major;
use crate::declarations::signature::is_no_diff;
use crate::derive;
use crate::hir::{Args, Field, StructId, Ty, Varying};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, fields};
use cotangent_syntax::ast::{self, ModifierKind};

impl Checked {
    /// Resolves the fields of a structure.
    pub(crate) fn ensure_struct(&mut self, id: StructId) {
        if !self.tables.structs.begin_fields(id) {
            return;
        }
        self.ensure_bases(id);
        let info = &self.tables.structs[id];
        let (fields, scope, generics) = (info.fields.clone(), info.scope, info.generics);
        let base = info.base;
        let saved = self.enter(generics);
        self.program.structs[id].generics = self.hir_generics(generics);
        if let Some(ty) = base {
            let span = self.program.structs[id].span;
            self.program.structs[id].fields.push(Field {
                name: fields::BASE.into(),
                ty,
                no_diff: false,
                derivative: None,
                varying: Varying::default(),
                row_major: None,
                span,
            });
        }
        let first = self.program.structs[id].fields.len();
        for (decl, prefix) in &fields {
            // A field without a type gets that of its value once all fields are there, since the value may mention them.
            let ty = match &decl.ty {
                Some(ty) => self.resolve_ty(ty, scope),
                None => self.program.types.error(),
            };
            let ty = self.field_ty(decl, ty);
            let marked = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::NoDiff);
            let varying = self.rules().varying(&prefix.attributes, &prefix.modifiers, decl.semantic);
            self.program.structs[id].fields.push(Field {
                name: decl.name.name,
                ty,
                no_diff: marked || decl.ty.as_ref().is_some_and(is_no_diff),
                derivative: derive::derivative_member(&prefix.attributes),
                varying,
                row_major: row_major(&prefix.modifiers),
                span: decl.name.span,
            });
        }
        let untyped = fields.iter().enumerate().filter(|(_, (decl, _))| decl.ty.is_none());
        for (number, (decl, _)) in untyped {
            let ty = self.inferred_field(decl, scope);
            self.program.structs[id].fields[first + number].ty = self.field_ty(decl, ty);
        }
        self.leave(saved);
        self.tables.structs.end_fields(id);
    }

    /// The type of a field, if a field may have it.
    fn field_ty(&mut self, decl: &ast::VarDecl, ty: Ty) -> Ty {
        let ty = self.not_void(ty, decl.name);
        self.not_pack(ty, decl.name.span, "a field")
    }

    /// The type of a field without one: `let kind = E.A;` has the type of its value.
    fn inferred_field(&mut self, decl: &ast::VarDecl, scope: ScopeId) -> Ty {
        let name = decl.name;
        let Some(init) = &decl.init else {
            let message = format!("field `{}` has no type", name.name);
            self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, name.span, message));
            return self.program.types.error();
        };
        let reported = self.diagnostics.len();
        let ty = BodyCx::new(self, scope).expr(init).ty;
        if self.program.types.is_error(ty) && self.diagnostics.len() == reported {
            // The value reads a field whose type is not known yet.
            let message = format!("the type of `{}` depends on itself", name.name);
            self.diagnostics.push(Diagnostic::new(codes::CYCLE, name.span, message));
        }
        ty
    }

    /// The types of a structure's fields under its arguments.
    pub(crate) fn fields_under(&mut self, id: StructId, args: Args) -> Vec<Ty> {
        self.ensure_struct(id);
        let params = self.program.structs[id].generics.params.clone();
        let types: Vec<Ty> = self.program.structs[id].fields.iter().map(|f| f.ty).collect();
        types.into_iter().map(|ty| self.replace(ty, &params, args)).collect()
    }
}
