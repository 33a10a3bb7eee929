//! Checks pointers: `T*`, `&place`, `*p`.
//!
//! A pointer is a value of the library's `Ptr<T>`. Its target is its element 0, as for a constant buffer. So `*p`, `p[i]`,
//! `p->m` and `p.m` are elements and their members. Pointers refer to memory that the program can address: elements of
//! buffers, variables, and parts of them. A local variable whose address is taken lies in memory of its thread.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::hir::{Arg, Expr, ExprKind, GlobalKind, Program, Ty, TyKind};
use crate::tables::Item;
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;

impl Checked {
    /// `T*`.
    pub(crate) fn pointer_to(&mut self, to: Ty) -> Ty {
        match self.tables.lang.get(&"Ptr".into()) {
            Some(Item::Struct(id)) => {
                let (id, args) = (*id, self.program.types.args(&[Arg::Ty(to)]));
                self.struct_ty(id, args)
            }
            _ => self.program.types.error(),
        }
    }
}

impl Program {
    /// What a pointer leads to.
    pub(crate) fn pointee(&self, ty: Ty) -> Option<Ty> {
        let TyKind::Struct(id, args) = self.types.kind(ty) else {
            return None;
        };
        if self.structs[id].magic != Some("ptr".into()) {
            return None;
        }
        self.types.list(args).first()?.ty()
    }
}

impl BodyCx<'_> {
    /// `*pointer`.
    pub(super) fn deref(&mut self, pointer: &ast::Expr, span: Span) -> Expr {
        let pointer = self.expr(pointer);
        if self.cx.program.types.is_error(pointer.ty) {
            return self.error(span);
        }
        match self.cx.program.pointee(pointer.ty) {
            Some(to) => Expr { span, ..self.cx.program.block_value(pointer, to) },
            None => {
                let message = format!("`{}` is not a pointer", self.show(pointer.ty));
                let error = Diagnostic::new(codes::MISMATCH, span, message);
                // After another `*`, as in `x ** 2`.
                let is_number = matches!(self.kind(pointer.ty), TyKind::Scalar(_));
                self.report(match is_number {
                    true => error.help("powers are written `pow(x, y)`"),
                    false => error,
                });
                self.error(span)
            }
        }
    }

    /// `&place`.
    pub(super) fn address_of(&mut self, place: &ast::Expr, span: Span) -> Expr {
        let place = self.expr(place);
        self.address_of_place(place, span)
    }

    /// `&place` and `__getAddress(place)`.
    pub(super) fn address_of_place(&mut self, place: Expr, span: Span) -> Expr {
        if self.cx.program.types.is_error(place.ty) {
            return self.error(span);
        }
        if let Some(why) = self.not_in_memory(&place) {
            let help = "use a variable that can be changed, or an element of a writable buffer";
            self.report(Diagnostic::new(codes::NOT_IN_MEMORY, place.span, why).help(help));
            return self.error(span);
        }
        let ty = self.cx.pointer_to(place.ty);
        Expr::new(ExprKind::AddressOf(place.into()), ty, span)
    }

    /// Why no pointer can lead to a place; nothing if one can.
    fn not_in_memory(&mut self, place: &Expr) -> Option<String> {
        match &place.kind {
            ExprKind::Local(id) if self.by_ref.contains(id) => None,
            ExprKind::Local(_) => self.not_a_place(place).map(|fixed| fixed.why),
            ExprKind::Global(id, _) => {
                let global = &self.cx.program.globals[*id];
                match global.kind {
                    GlobalKind::Shared | GlobalKind::Static => None,
                    GlobalKind::Const => Some(format!("`{}` is a constant", global.name)),
                    GlobalKind::Param => Some(format!("`{}` is a shader parameter", global.name)),
                }
            }
            ExprKind::Element(base, _) if matches!(self.kind(base.ty), TyKind::Struct(..)) => {
                self.not_a_place(place).map(|fixed| format!("this is not writable: {}", fixed.why))
            }
            ExprKind::Field(base, _) | ExprKind::Element(base, _) => self.not_in_memory(base),
            ExprKind::Swizzle(base, lanes) if lanes.len() == 1 => self.not_in_memory(base),
            ExprKind::Error => None,
            _ => Some("this is a value without an address".into()),
        }
    }
}
