//! Checks that an expression is assignable.

use crate::bodies::body::BodyCx;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Expr, ExprKind, GlobalKind, LocalId, Ty, TyKind};
use crate::tables::{ElementAccess, Item};
use cotangent_base::{Diagnostic, Span};

/// Why a variable cannot be changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frozen {
    /// `let x = ..`.
    Let,
    /// `const T x = ..`.
    Const,
    /// A parameter declared `const`.
    Param,
    /// `this` in a method without `[mutating]`.
    This,
    /// `this` in a lambda: what it captured.
    Captured,
}

/// Why something cannot be assigned, and what to do about it.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// In words that follow "but".
    pub why: String,
    /// Where the variable is declared.
    declared: Option<Span>,
    help: Option<String>,
}

impl Fixed {
    fn new(why: impl Into<String>) -> Self {
        Fixed { why: why.into(), declared: None, help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the declaration and the way out to a diagnostic.
    pub fn explain(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if let Some(span) = self.declared {
            diagnostic = diagnostic.label(span, "declared here");
        }
        match &self.help {
            Some(help) => diagnostic.help(help.clone()),
            None => diagnostic,
        }
    }
}

impl BodyCx<'_> {
    /// Why an expression cannot be assigned; nothing if it can.
    pub(crate) fn not_a_place(&mut self, expr: &Expr) -> Option<Fixed> {
        match &expr.kind {
            ExprKind::Error => None,
            ExprKind::Local(id) => self.frozen_local(*id),
            ExprKind::Global(id, _) => {
                let global = &self.cx.program.globals[*id];
                let why = match global.kind {
                    GlobalKind::Static | GlobalKind::Shared => return None,
                    GlobalKind::Const => format!("`{}` is a constant", global.name),
                    GlobalKind::Param => {
                        format!("`{}` is a shader parameter, which is read-only", global.name)
                    }
                };
                Some(Fixed { declared: Some(global.span), ..Fixed::new(why) })
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
                (None, this) => {
                    let fixed = Fixed::new("the property or subscript has no `set`");
                    let on = this.as_ref().map(|this| this.ty);
                    Some(match on.map(|ty| (self.cx.facts().is_pair(ty), self.is_sampled(ty))) {
                        Some((true, _)) => fixed.help("assign a new pair: `diffPair(primal, differential)`"),
                        Some((_, true)) => {
                            fixed.help("declare the texture as `RWTexture2D` or the like to write it")
                        }
                        Some((false, false)) | None => fixed,
                    })
                }
                (Some(_), Some(this)) if *mutating => self.not_a_place(this),
                (Some(_), _) => None,
            },
            ExprKind::Convert(inner) if self.cx.is_int_place(inner.ty, expr.ty) => self.not_a_place(inner),
            _ => Some(Fixed::new("it is a temporary value").help("assign it to a variable first")),
        }
    }

    /// Whether a type is that of textures that are only read.
    fn is_sampled(&self, ty: Ty) -> bool {
        let magic = match self.kind(ty) {
            TyKind::Struct(id, _) => self.cx.program.structs[id].magic,
            _ => None,
        };
        magic.is_some_and(|magic| magic.as_str().starts_with("texture "))
    }

    fn frozen_local(&mut self, id: LocalId) -> Option<Fixed> {
        let frozen = *self.frozen.get(&id)?;
        let (name, span) = (self.locals[id].name, self.locals[id].span);
        if let Frozen::Captured = frozen {
            let fixed = Fixed::new("a lambda captures copies of variables, which are read-only");
            return Some(fixed.help("assign a local variable, or return the new value"));
        }
        let (why, help) = match frozen {
            Frozen::Let => ("is declared with `let`", "declare it with `var` to change it"),
            Frozen::Const => ("is declared `const`", "declare it without `const` to change it"),
            Frozen::Param => ("is a `const` parameter", "declare it without `const` to change the copy"),
            Frozen::Captured | Frozen::This => {
                ("is read-only in a method without `[mutating]`", "mark the method `[mutating]`")
            }
        };
        let declared = (!matches!(frozen, Frozen::This)).then_some(span);
        Some(Fixed { declared, ..Fixed::new(format!("`{name}` {why}")).help(help) })
    }

    /// Elements of a resource are places if its subscript says so, whatever the resource itself is.
    fn element_not_a_place(&mut self, ty: Ty) -> Option<Fixed> {
        let found = self.cx.members(ty, attrs::SUBSCRIPT.into());
        let writable = found.iter().any(|f| match f.item {
            Item::Property(id) => self.cx.tables.props[id].element == Some(ElementAccess::Ref),
            _ => false,
        });
        let shown = self.show(ty);
        let fixed = Fixed::new(format!("elements of `{shown}` are read-only"));
        let is_buffer = match self.kind(ty) {
            TyKind::Struct(id, _) => self.cx.program.structs[id].magic == Some("buffer".into()),
            _ => false,
        };
        (!writable).then(|| if is_buffer { fixed.help(format!("declare it as `RW{shown}`")) } else { fixed })
    }

    /// Reports an expression that must be a place and is not.
    pub(crate) fn require_place(&mut self, expr: &Expr) -> bool {
        let Some(fixed) = self.not_a_place(expr) else {
            return true;
        };
        let message = format!("this is not assignable: {}", fixed.why);
        let diagnostic = fixed.explain(Diagnostic::new(codes::NOT_A_PLACE, expr.span, message));
        self.report(diagnostic);
        false
    }
}

impl Facts<'_> {
    /// Whether a type is that of values with their derivatives.
    pub(crate) fn is_pair(self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Struct(id, _) if self.program.lang.pair == Some(id))
    }
}

fn repeats() -> Fixed {
    Fixed::new("a component occurs twice")
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
