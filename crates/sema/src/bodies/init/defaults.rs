//! Values of fields and elements that an initializer list leaves out: the initializers of fields, otherwise zero.

use super::Items;
use crate::bodies::body::BodyCx;
use crate::hir::{Const, Expr, ExprKind, StructId, Ty, TyKind};
use cotangent_base::Span;

impl BodyCx<'_> {
    /// What `{}` makes of a type. Elements of an array are what `{}` makes of them, save that their constructors do not run.
    pub(crate) fn default_value(&mut self, ty: Ty, span: Span) -> Expr {
        match self.kind(ty) {
            TyKind::Struct(..) => self.construct(ty, vec![], span),
            TyKind::Array(element, _) => {
                let element = match self.kind(element) {
                    TyKind::Struct(id, args) if self.cx.facts().suppresses_memberwise(id) => {
                        self.fill_struct(element, id, args, &mut Items::new(), span)
                    }
                    _ => self.default_value(element, span),
                };
                match is_zero(&element) {
                    true => self.zero(ty, span),
                    false => Expr::new(ExprKind::Splat(element.into()), ty, span),
                }
            }
            _ => self.zero(ty, span),
        }
    }

    /// The initializer of a field, or zero.
    pub(super) fn field_default(
        &mut self,
        ty: Ty,
        id: StructId,
        number: usize,
        field: Ty,
        span: Span,
    ) -> Expr {
        match self.field_initializer(ty, id, number, span) {
            Some(value) => value,
            None => self.default_value(field, span),
        }
    }

    /// The initializer written at a field, for a structure with these arguments.
    fn field_initializer(&mut self, ty: Ty, id: StructId, number: usize, span: Span) -> Option<Expr> {
        let offset = self.cx.program.structs[id].fields.len() - self.cx.tables.structs[id].fields.len();
        let decl = self.cx.tables.structs[id].fields.get(number.checked_sub(offset)?)?.0.clone();
        let init = decl.init.as_ref()?;
        let declared = self.cx.program.structs[id].fields[number].ty;
        let (scope, generics) = (self.cx.tables.structs[id].scope, self.cx.tables.structs[id].generics);
        let value = self.foreign(init, declared, scope, generics);
        let params = self.cx.tables.generics[generics].params.clone();
        let (_, args) = self.cx.names().struct_of(ty)?;
        let mut value = self.cx.replace_expr(value, &params, args);
        value.span = span;
        Some(value)
    }

    /// A new value of a structure before its constructor runs: the base is made by its constructor without arguments, and fields
    /// have their initializers. `None` if neither applies.
    pub(crate) fn initialized_fields(&mut self, ty: Ty, id: StructId, span: Span) -> Option<Expr> {
        let (_, args) = self.cx.names().struct_of(ty)?;
        let types = self.cx.fields_under(id, args);
        let has_base = self.has_base(id);
        let mut parts = vec![];
        for (number, field) in types.iter().enumerate() {
            parts.push(match has_base && number == 0 {
                true => self.initialized_base(*field, span),
                false => self.field_initializer(ty, id, number, span),
            });
        }
        if parts.iter().all(Option::is_none) {
            return None;
        }
        let undef = |(part, ty): (Option<Expr>, Ty)| part.unwrap_or(Expr::new(ExprKind::Undef, ty, span));
        let parts = parts.into_iter().zip(types).map(undef).collect();
        Some(Expr::new(ExprKind::Construct(parts), ty, span))
    }

    /// The base of a structure before the structure's constructor runs.
    fn initialized_base(&mut self, base: Ty, span: Span) -> Option<Expr> {
        if self.has_default_constructor(base) {
            return Some(self.construct(base, vec![], span));
        }
        let TyKind::Struct(id, _) = self.kind(base) else { return None };
        self.initialized_fields(base, id, span)
    }
}

/// Whether a value is known to be all zero.
fn is_zero(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Zero | ExprKind::Error => true,
        ExprKind::Const(Const::Int(0) | Const::Bool(false)) => true,
        ExprKind::Const(Const::Float(number)) => number.to_bits() == 0,
        ExprKind::Construct(parts) => parts.iter().all(is_zero),
        _ => false,
    }
}
