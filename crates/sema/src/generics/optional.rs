//! Optional constraints: `where optional T : IFoo`.
//!
//! Whether the constraint holds is a hidden generic parameter of type `bool`, after the explicit ones. It takes no explicit
//! argument: each use of the declaration passes what is known about the type there ([`Checked::witness_arg`]). `T is IFoo` is
//! that value. The branch that it guards is checked as if the constraint were not optional. Lowering removes the branches
//! that such a value excludes, so that unavailable members are never instantiated.
//!
//! ```text
//! float f<T>(T t) where optional T : IFoo { if (T is IFoo) return t.foo(); return 0; }
//! float f<T, let optional : bool>(T t)    { if (optional) return t.foo(); return 0; }      // what it becomes
//! ```

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{Arg, Bound, Expr, ExprKind, GenericParamId, InterfaceRef, Ty, TyKind, Val, ValKind};
use crate::tables::{GenericsId, ScopeId};
use crate::types::resolve::Path;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast;

impl Checked {
    /// `where optional T : IA`.
    pub(crate) fn assume_optional(
        &mut self,
        id: GenericsId,
        param: GenericParamId,
        (ty, bound): (&ast::Expr, &ast::Expr),
        scope: ScopeId,
    ) {
        let subject = self.resolve_ty(ty, scope);
        if self.program.is_pack(subject) {
            return self.rules().unsupported(ty.span, "an optional constraint on a pack");
        }
        if let Some(interface) = self.resolve_interface(bound, scope) {
            let holds = self.program.types.val(ValKind::Param(param));
            self.tables.assume(id, Bound::Optional(subject, interface, holds));
        }
    }

    /// What a declaration gets for an optional constraint of its own, under the arguments before it: whether whoever uses it
    /// knows that the type conforms.
    pub(crate) fn witness_arg(&mut self, id: GenericsId, param: GenericParamId, before: &[Arg]) -> Arg {
        let own = self.program.types.val(ValKind::Param(param));
        let bound = self.bounds(id).iter().find_map(|bound| match *bound {
            Bound::Optional(ty, interface, holds) if holds == own => Some((ty, interface)),
            _ => None,
        });
        let Some((ty, interface)) = bound else {
            return Arg::Val(self.program.types.val(ValKind::Error));
        };
        let params = self.tables.generics[id].params.clone();
        let params = &params[..params.len().min(before.len())];
        let args = self.program.types.args(before);
        let ty = self.replace(ty, params, args);
        let interface = self.replace_interface(interface, params, args);
        Arg::Val(self.conformance_val(ty, interface))
    }

    /// Whether a type conforms, as far as is known here: yes, no, or as an optional constraint says. For a parameter of an alias
    /// the answer is left to the uses of the alias.
    pub(crate) fn conformance_val(&mut self, ty: Ty, interface: InterfaceRef) -> Val {
        if self.conforms(ty, interface) {
            return self.program.types.val(ValKind::Int(1));
        }
        if let Some(known) = self.facts().optional_bound(ty, interface) {
            return known;
        }
        let later = match (self.program.types.kind(ty), self.tables.resolving.alias()) {
            (TyKind::Param(param), Some(alias)) => self.tables.generics[alias].own.contains(&param),
            _ => false,
        };
        let kind = if later { ValKind::Conforms(ty, interface) } else { ValKind::Int(0) };
        self.program.types.val(kind)
    }

    /// The interface that would promise a member of a type, if an optional constraint held.
    pub(crate) fn optional_promise(&mut self, ty: Ty, member: Symbol) -> Option<InterfaceRef> {
        let optional = |bound: &Bound| match *bound {
            Bound::Optional(of, interface, _) if of == ty => Some(interface),
            _ => None,
        };
        let interfaces: Vec<InterfaceRef> = self.tables.assumptions.iter().filter_map(optional).collect();
        interfaces.into_iter().find(|interface| {
            let all = self.closure(ty, vec![*interface]);
            all.into_iter().any(|one| !self.names().interface_members(ty, one, member).is_empty())
        })
    }
}

impl Facts<'_> {
    /// What says whether a type conforms, if an optional constraint speaks of it.
    fn optional_bound(self, ty: Ty, interface: InterfaceRef) -> Option<Val> {
        self.tables.assumptions.iter().find_map(|bound| match *bound {
            Bound::Optional(of, to, holds) if of == ty && to == interface => Some(holds),
            _ => None,
        })
    }
}

impl BodyCx<'_> {
    /// `T is U`, if the left side is a type: known when generic arguments are, at the latest.
    pub(crate) fn type_is(&mut self, subject: &ast::Expr, to: &ast::Expr, span: Span) -> Option<Expr> {
        let subject = self.type_alone(subject)?;
        let scope = self.scope;
        let to = self.cx.resolve_ty(to, scope);
        let ty = self.scalar(Scalar::Bool);
        let kind = match self.kind(to) {
            TyKind::Error => return Some(self.error(span)),
            TyKind::Interface(interface, args) => {
                let interface = InterfaceRef { interface, args };
                let Some(holds) = self.cx.facts().optional_bound(subject, interface) else {
                    self.cx.rules().no_optional_bound(subject, interface, span);
                    return Some(self.error(span));
                };
                ExprKind::Val(holds)
            }
            _ => {
                let subject = Expr::new(ExprKind::Undef, subject, span);
                ExprKind::Is(subject.into(), to)
            }
        };
        Some(Expr::new(kind, ty, span))
    }

    /// What holds where the condition of an `if` does: `if (T is IFoo)`.
    pub(crate) fn unlocked(&mut self, cond: &ast::Expr) -> Option<Bound> {
        match &cond.kind {
            ast::ExprKind::Paren(inner) => self.unlocked(inner),
            ast::ExprKind::Is(subject, to) => {
                let subject = self.type_alone(subject)?;
                let scope = self.scope;
                let (interface, _) = self.quietly(|cx| cx.cx.resolve_interface(to, scope));
                let interface = interface?;
                self.cx.facts().optional_bound(subject, interface)?;
                Some(Bound::Conforms(subject, interface))
            }
            _ => None,
        }
    }

    /// Checks something where a bound holds beside the others.
    pub(crate) fn assuming<T>(&mut self, bound: Option<Bound>, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.cx.tables.assumptions.mark();
        self.cx.tables.assumptions.add(bound);
        let result = work(self);
        self.cx.tables.assumptions.forget_since(before);
        result
    }

    /// The type an expression denotes, if it is one.
    fn type_alone(&mut self, expr: &ast::Expr) -> Option<Ty> {
        if let ast::ExprKind::Name(name) = &expr.kind
            && self.vars.iter().any(|vars| vars.contains_key(name))
        {
            return None;
        }
        let scope = self.scope;
        match self.quietly(|cx| cx.cx.type_path(expr, scope, false)) {
            (Some(Path::Ty(ty)), true) if !self.cx.program.types.is_error(ty) => Some(ty),
            _ => None,
        }
    }
}

impl Rules<'_> {
    fn no_optional_bound(&mut self, ty: Ty, interface: InterfaceRef, span: Span) {
        let (ty, interface) = (self.show(ty), self.facts().show_interface(interface));
        let message = format!("there is no optional constraint `{ty} : {interface}`");
        let help = format!("add `where optional {ty} : {interface}`");
        self.diagnostics.push(Diagnostic::new(codes::NO_OPTIONAL, span, message).help(help));
    }
}
