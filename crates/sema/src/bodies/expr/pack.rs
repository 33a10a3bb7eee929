//! `expand`, `each` and the parts of packs.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::Argument;
use crate::codes;
use crate::hir::{Arg, Expr, ExprKind, PackPart, Ty, TyKind, Val};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// `expand e`: a pack of values.
    pub(super) fn expand(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        self.packs = true;
        self.cx.tables.expanding.push(vec![]);
        let (taken, value, done) = self.pattern(inner);
        let packs = self.cx.tables.expanding.pop().unwrap_or_default();
        if self.cx.is_error(value.ty) {
            return value;
        }
        let Some(over) = self.cx.expanded_over(&packs, span, true) else { return self.error(span) };
        if !taken.is_empty() {
            return self.expand_tried((taken, done), value, over, span);
        }
        let ty = self.cx.expand_ty(Arg::Ty(value.ty), over);
        Expr::new(ExprKind::Expand(value.into()), ty, span)
    }

    /// `each e`: an element of a pack of types or values, or of a tuple.
    pub(super) fn each(&mut self, inner: &ast::Expr, span: Span) -> Entity {
        self.packs = true;
        let entity = self.entity(inner);
        let ty = match &entity {
            Entity::Type(ty) => *ty,
            Entity::Value(value) => value.ty,
            Entity::Open(_) | Entity::Namespace(_) | Entity::Funcs(_) => {
                let value = self.value_of(entity, inner.span);
                return Entity::Value(value);
            }
        };
        if self.cx.is_error(ty) {
            return entity;
        }
        let is_type = matches!(entity, Entity::Type(_));
        let pack = if is_type { Some(ty).filter(|ty| self.cx.is_pack(*ty)) } else { self.cx.as_pack(ty) };
        let Some(pack) = pack else {
            self.cx.not_a_pack(ty, inner.span);
            return Entity::Value(self.error(span));
        };
        if !self.cx.note_each(pack, span, true) {
            return Entity::Value(self.error(span));
        }
        match entity {
            Entity::Value(value) => {
                let ty = self.cx.each_ty(pack);
                self.value(ExprKind::Each(value.into()), ty, span)
            }
            _ => match self.value_type(pack) {
                Some(ty) => {
                    let val = self.cx.each_val(pack);
                    self.value(ExprKind::Val(val), ty, span)
                }
                None => Entity::Type(self.cx.each_ty(pack)),
            },
        }
    }

    /// The type of the values in a pack of values.
    fn value_type(&self, pack: Ty) -> Option<Ty> {
        match self.kind(pack) {
            TyKind::Param(param) => self.cx.program.params[param].value,
            _ => None,
        }
    }

    /// `countof(p)` of a pack or tuple.
    pub(super) fn count(&mut self, ty: Ty) -> Option<Val> {
        match self.kind(ty) {
            TyKind::Array(_, n) | TyKind::Vector(_, n) => Some(n),
            _ => {
                let pack = self.cx.as_pack(ty)?;
                Some(self.cx.count_val(pack))
            }
        }
    }

    /// `__first(p)`, `__trimFirst(p)` and the like.
    pub(super) fn part(&mut self, part: PackPart, args: &[Argument], span: Span) -> Expr {
        let [Argument::Value(value)] = args else {
            let message = format!("`{}` takes one pack", part.name());
            self.report(Diagnostic::new(codes::ARGUMENT_COUNT, span, message));
            return self.error(span);
        };
        if self.cx.is_error(value.ty) {
            return self.error(span);
        }
        if !self.cx.is_pack(value.ty) {
            self.cx.not_a_pack(value.ty, value.span);
            return self.error(span);
        }
        if !self.cx.is_nonempty(value.ty) {
            let message = format!("`{}` of a pack that may be empty", part.name());
            self.report(
                Diagnostic::new(codes::UNMET_BOUND, span, message)
                    .help(format!("add `where nonempty({})`", self.show(value.ty))),
            );
            return self.error(span);
        }
        self.packs = true;
        let ty = self.cx.part_ty(part, value.ty);
        Expr::new(ExprKind::Part(part, value.clone().into()), ty, span)
    }

    /// A tuple of values; packs among them stand for their elements.
    pub(crate) fn tuple_of(&mut self, items: Vec<Expr>, span: Span) -> Expr {
        let types: Vec<_> = items.iter().map(|item| Arg::Ty(item.ty)).collect();
        let ty = self.cx.tuple_ty(&types);
        Expr::new(ExprKind::Construct(items), ty, span)
    }
}
