//! Places: what can be assigned.

use crate::attrs;
use crate::body::BodyCx;
use crate::codes;
use crate::hir::{Expr, ExprKind, GlobalKind, Ty, TyKind};
use crate::tables::{ElementAccess, Item};
use cotangent_base::Diagnostic;

impl BodyCx<'_> {
    /// Why an expression cannot be assigned, in words that follow "but"; nothing if it can.
    pub(crate) fn not_a_place(&mut self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Error => None,
            ExprKind::Local(id) => {
                let why = *self.frozen.get(id)?;
                let name = self.locals[*id].name;
                Some(if name == "this" { why.into() } else { format!("`{name}` cannot be changed: {why}") })
            }
            ExprKind::Global(id) => {
                let global = &self.cx.program.globals[*id];
                match global.kind {
                    GlobalKind::Static | GlobalKind::Shared => None,
                    GlobalKind::Const => Some(format!("`{}` is a constant", global.name)),
                    GlobalKind::Param => {
                        Some(format!("`{}` is a shader parameter, which is read-only", global.name))
                    }
                }
            }
            ExprKind::Field(base, _) => self.not_a_place(base),
            ExprKind::MatrixSwizzle(base, elements) => {
                let repeated = (1..elements.len()).any(|i| elements[..i].contains(&elements[i]));
                if repeated { Some(repeats()) } else { self.not_a_place(base) }
            }
            ExprKind::Swizzle(base, lanes) => {
                let repeated = (1..lanes.len()).any(|i| lanes[..i].contains(&lanes[i]));
                if repeated { Some(repeats()) } else { self.not_a_place(base) }
            }
            ExprKind::Element(base, _) => match self.kind(base.ty) {
                TyKind::Struct(..) => self.element_not_a_place(base.ty),
                _ => self.not_a_place(base),
            },
            ExprKind::Property { this, set, mutating, .. } => match (set, this) {
                (None, _) => Some("the property or subscript has no `set`".into()),
                (Some(_), Some(this)) if *mutating => self.not_a_place(this),
                (Some(_), _) => None,
            },
            ExprKind::Convert(inner) if self.cx.is_int_place(inner.ty, expr.ty) => self.not_a_place(inner),
            _ => Some("it is a value, not a place".into()),
        }
    }

    /// Elements of a resource are places if its subscript says so, whatever the resource itself is.
    fn element_not_a_place(&mut self, ty: Ty) -> Option<String> {
        let found = self.cx.members(ty, attrs::SUBSCRIPT.into());
        let writable = found.iter().any(|f| match f.item {
            Item::Property(id) => self.cx.tables.props[id].element == Some(ElementAccess::Ref),
            _ => false,
        });
        (!writable).then(|| format!("elements of `{}` are read-only", self.show(ty)))
    }

    /// Reports an expression that must be a place and is not.
    pub(crate) fn require_place(&mut self, expr: &Expr) -> bool {
        let Some(why) = self.not_a_place(expr) else {
            return true;
        };
        let message = format!("this cannot be assigned: {why}");
        let mut diagnostic = Diagnostic::new(codes::NOT_A_PLACE, expr.span, message);
        if why.contains("[mutating]") {
            diagnostic = diagnostic.help("mark the method `[mutating]`");
        }
        self.report(diagnostic);
        false
    }
}

fn repeats() -> String {
    "a component occurs twice".into()
}

impl crate::Checked {
    /// Whether a place of type `from` may be written as `to`: integers of one width.
    fn is_int_place(&self, from: Ty, to: Ty) -> bool {
        match (self.program.types.kind(from), self.program.types.kind(to)) {
            (TyKind::Scalar(a), TyKind::Scalar(b)) => a.is_int() && b.is_int() && a.bits() == b.bits(),
            (TyKind::Vector(a, m), TyKind::Vector(b, n)) => m == n && self.is_int_place(a, b),
            _ => false,
        }
    }
}
