//! `expand`, `each` and the parts of packs.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::Argument;
use crate::codes;
use crate::hir::{Arg, Expr, ExprKind, PackPart, Program, Ty, TyKind, Val};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;

/// What `__first(T)` and its kin ask for, if a call looks like one.
pub(crate) fn query(callee: &ast::Expr, args: &[ast::Expr]) -> Option<PackPart> {
    let (ast::ExprKind::Name(name), [_]) = (&callee.kind, args) else { return None };
    let parts = [PackPart::First, PackPart::Last, PackPart::TrimFirst, PackPart::TrimLast];
    parts.into_iter().find(|part| *name == *part.name())
}

impl BodyCx<'_> {
    /// `__first(p)` and its kin: of a pack of types it is a type, of a pack of values or of a tuple a value.
    pub(super) fn pack_query(&mut self, part: PackPart, arg: &ast::Expr, expr: &ast::Expr) -> Entity {
        let span = expr.span;
        let ast::ExprKind::Call(callee, args) = &expr.kind else { return Entity::Value(self.error(span)) };
        let pack = match self.quietly(|cx| cx.entity(arg)) {
            (Entity::Type(ty), true)
                if self.cx.program.is_pack(ty) || self.cx.program.as_pack(ty).is_some() =>
            {
                ty
            }
            _ => return Entity::Value(self.call_expr(callee, args, span)),
        };
        self.packs = true;
        let value_type = self.cx.program.pack_values(pack);
        match (value_type, part) {
            (Some(ty), PackPart::First | PackPart::Last) => {
                if !self.cx.facts().is_nonempty(pack) {
                    self.cx.rules().may_be_empty(part, pack, span);
                    return Entity::Value(self.error(span));
                }
                let val = self.cx.program.types.part_val(part, pack);
                self.value(ExprKind::Val(val), ty, span)
            }
            _ => match self.cx.part_path(part, pack, span, true) {
                Some(ty) => Entity::Type(ty),
                None => Entity::Value(self.error(span)),
            },
        }
    }

    /// `expand e`: a pack of values.
    pub(super) fn expand(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        self.packs = true;
        self.cx.tables.resolving.begin_expand();
        let (taken, value, done) = self.pattern(inner);
        let packs = self.cx.tables.resolving.end_expand();
        if self.cx.program.types.is_error(value.ty) {
            return value;
        }
        let Some(over) = self.cx.rules().expanded_over(&packs, span, true) else { return self.error(span) };
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
        if self.cx.program.types.is_error(ty) {
            return entity;
        }
        let is_type = matches!(entity, Entity::Type(_));
        let pack = if is_type {
            Some(ty).filter(|ty| self.cx.program.is_pack(*ty))
        } else {
            self.cx.program.as_pack(ty)
        };
        let Some(pack) = pack else {
            self.cx.rules().not_a_pack(ty, inner.span);
            return Entity::Value(self.error(span));
        };
        if !self.cx.note_each(pack, span, true) {
            return Entity::Value(self.error(span));
        }
        match entity {
            Entity::Value(value) => {
                let ty = self.cx.packs().each_ty(pack);
                self.value(ExprKind::Each(value.into()), ty, span)
            }
            _ => match self.cx.program.pack_values(pack) {
                Some(ty) => {
                    let val = self.cx.program.types.each_val(pack);
                    self.value(ExprKind::Val(val), ty, span)
                }
                None => Entity::Type(self.cx.packs().each_ty(pack)),
            },
        }
    }

    /// `__first(p)`, `__trimFirst(p)` and the like.
    pub(super) fn part(&mut self, part: PackPart, args: &[Argument], span: Span) -> Expr {
        let [Argument::Value(value)] = args else {
            let message = format!("`{}` takes one pack", part.name());
            self.report(Diagnostic::new(codes::ARGUMENT_COUNT, span, message));
            return self.error(span);
        };
        if self.cx.program.types.is_error(value.ty) {
            return self.error(span);
        }
        if let TyKind::Tuple(_) = self.kind(value.ty) {
            return self.tuple_part(part, value.clone(), span);
        }
        if !self.cx.program.is_pack(value.ty) {
            self.cx.rules().not_a_pack(value.ty, value.span);
            return self.error(span);
        }
        if !self.cx.facts().is_nonempty(value.ty) {
            self.cx.rules().may_be_empty(part, value.ty, span);
            return self.error(span);
        }
        self.packs = true;
        let ty = self.cx.packs().part_ty(part, value.ty);
        Expr::new(ExprKind::Part(part, value.clone().into()), ty, span)
    }

    /// A part of a tuple of known length: an element, or a tuple of the others.
    fn tuple_part(&mut self, part: PackPart, tuple: Expr, span: Span) -> Expr {
        let items = self.cx.program.types.elements_of(tuple.ty).unwrap_or_default();
        if items.iter().any(|item| self.cx.program.is_pack_arg(*item)) {
            self.cx.rules().unsupported(span, "a part of a tuple of unknown length");
            return self.error(span);
        }
        if items.is_empty() {
            self.cx.rules().may_be_empty(part, tuple.ty, span);
            return self.error(span);
        }
        let last = items.len() - 1;
        let mut element = |at: usize| self.named_member(tuple.clone(), &format!("_{at}"), span);
        match part {
            PackPart::First => element(0),
            PackPart::Last => element(last),
            PackPart::TrimFirst => {
                let rest = (1..=last).map(element).collect();
                self.cx.program.tuple_of(rest, span)
            }
            PackPart::TrimLast => {
                let rest = (0..last).map(element).collect();
                self.cx.program.tuple_of(rest, span)
            }
        }
    }
}

impl Program {
    /// `countof(p)` of a pack or tuple.
    pub(super) fn count(&mut self, ty: Ty) -> Option<Val> {
        match self.types.kind(ty) {
            TyKind::Array(_, n) | TyKind::Vector(_, n) => Some(n),
            _ => {
                let pack = self.as_pack(ty)?;
                Some(self.count_val(pack))
            }
        }
    }

    /// A tuple of values; packs among them stand for their elements.
    pub(crate) fn tuple_of(&mut self, items: Vec<Expr>, span: Span) -> Expr {
        let types: Vec<_> = items.iter().map(|item| Arg::Ty(item.ty)).collect();
        let ty = self.types.tuple_ty(&types);
        Expr::new(ExprKind::Construct(items), ty, span)
    }
}
