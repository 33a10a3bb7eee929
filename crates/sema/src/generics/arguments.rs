//! Resolves explicit generic arguments: assigns them to parameters, fills in defaults, and collects the bounds to check.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::generics::worklist::Obligation;
use crate::hir::{Arg, Args, GenericParam, GenericParamId, Ty, TyKind, Val};
use crate::tables::{GenericsId, Item, ScopeId};
use crate::types::subst::Rewrite;
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast::{self, ExprKind};

/// What a generic parameter gets of the arguments as written.
pub(crate) enum Share<'e> {
    /// One.
    One(&'e ast::Expr),
    /// Those of a pack.
    Pack(&'e [ast::Expr]),
    /// None.
    Open,
}

impl Checked {
    /// Has the bounds on written arguments checked later, when conformances can be asked for without going round in
    /// circles. The library is trusted.
    pub(crate) fn owe_bounds(
        &mut self,
        generics: GenericsId,
        args: Args,
        span: Span,
        scope: ScopeId,
        hidden: usize,
    ) {
        let library = self.tables.scopes[scope].is_library();
        if !library && hidden == 0 && !self.program.types.list(args).is_empty() {
            let assumed = self.tables.assumptions.to_vec();
            self.tables.work.owe(Obligation { generics, args, span, assumed });
        }
    }

    /// Arguments for the parameters `own`, after those `around`.
    pub(crate) fn generic_args(
        &mut self,
        generics: GenericsId,
        mut args: Vec<Arg>,
        own: &[GenericParamId],
        explicit: &[ast::Expr],
        span: Span,
        scope: ScopeId,
    ) -> Option<Vec<Arg>> {
        let shares = self.shares(own, explicit);
        if shares.is_none() {
            let expected = own.iter().filter(|param| !self.program.params[**param].witness).count();
            let message = format!("expected {expected} generic arguments, found {}", explicit.len());
            self.diagnostics.push(Diagnostic::new(codes::GENERIC_ARGS, span, message));
            return None;
        }
        for (param, share) in own.iter().zip(shares.into_iter().flatten()) {
            let arg = match share {
                Share::One(expr) => self.generic_arg(*param, expr, scope),
                Share::Pack(exprs) => self.pack_arg(*param, exprs, scope),
                Share::Open => match self.default_arg(generics, *param, &args) {
                    Some(arg) => arg,
                    None => {
                        let name = self.program.params[*param].name;
                        let message = format!("generic argument `{name}` is missing");
                        let declared = self.program.params[*param].span;
                        self.diagnostics.push(
                            Diagnostic::new(codes::GENERIC_ARGS, span, message)
                                .label(declared, "declared here"),
                        );
                        return None;
                    }
                },
            };
            args.push(arg);
        }
        Some(args)
    }

    /// What each parameter gets of the arguments as written: one, or what is left if it is a pack (evenly, if there are several).
    /// Nothing if there are too many.
    pub(crate) fn shares<'e>(
        &self,
        params: &[GenericParamId],
        written: &'e [ast::Expr],
    ) -> Option<Vec<Share<'e>>> {
        let written_for = |param: &&GenericParamId| !self.program.params[**param].witness;
        let is_pack = |param: &&GenericParamId| self.program.params[**param].pack;
        let packs = params.iter().filter(is_pack).count();
        let single = params.iter().filter(written_for).count() - packs;
        let left = written.len().saturating_sub(single);
        let length = left.checked_div(packs).unwrap_or(0);
        if left != length * packs {
            return None;
        }
        let mut rest = written;
        let mut take = |n: usize| {
            let (taken, behind) = rest.split_at(n.min(rest.len()));
            rest = behind;
            taken
        };
        let share = |param: &GenericParamId| match &self.program.params[*param] {
            GenericParam { witness: true, .. } => Share::Open,
            GenericParam { pack: true, .. } => Share::Pack(take(length)),
            _ => take(1).first().map_or(Share::Open, Share::One),
        };
        Some(params.iter().map(share).collect())
    }

    /// Expressions as the argument for a pack.
    pub(crate) fn pack_arg(&mut self, param: GenericParamId, exprs: &[ast::Expr], scope: ScopeId) -> Arg {
        let items: Vec<Arg> = exprs.iter().map(|expr| self.pack_item(param, expr, scope)).collect();
        Arg::Ty(self.program.pack_of(&items))
    }

    /// An expression as an element of a pack, or as a pack in it.
    fn pack_item(&mut self, param: GenericParamId, expr: &ast::Expr, scope: ScopeId) -> Arg {
        let is_value = self.program.params[param].value.is_some();
        match &expr.kind {
            ExprKind::Expand(inner) if is_value => {
                self.tables.resolving.begin_expand();
                let pattern = self.const_val(inner, scope);
                let packs = self.tables.resolving.end_expand();
                match self.rules().expanded_over(&packs, expr.span, true) {
                    Some(over) => Arg::Ty(self.expand_ty(Arg::Val(pattern), over)),
                    None => Arg::Ty(self.program.types.error()),
                }
            }
            ExprKind::Name(name) if is_value => {
                match self.lookup_type(scope, *name).map(|found| found.item) {
                    Some(Item::Param(pack)) if self.program.params[pack].pack => self.program.param_arg(pack),
                    _ => self.generic_arg(param, expr, scope),
                }
            }
            _ => self.generic_arg(param, expr, scope),
        }
    }

    /// An expression as the argument for a parameter.
    pub(crate) fn generic_arg(&mut self, param: GenericParamId, expr: &ast::Expr, scope: ScopeId) -> Arg {
        if let Some(ty) = self.program.params[param].value {
            let val = self.const_val(expr, scope);
            Arg::Val(self.checked_value(val, ty, expr, scope))
        } else {
            let outer = self.tables.resolving.begin_head();
            let ty = self.resolve_ty(expr, scope);
            self.tables.resolving.end_head(outer);
            Arg::Ty(ty)
        }
    }

    /// A value as the argument for a parameter of a type: only an enumeration's own cases are of it.
    fn checked_value(&mut self, val: Val, ty: Ty, expr: &ast::Expr, scope: ScopeId) -> Val {
        if !matches!(self.program.types.kind(ty), TyKind::Enum(_)) || self.program.types.known(val).is_none()
        {
            return val;
        }
        let mut cx = BodyCx::new(self, scope);
        let value = cx.expr(expr);
        cx.coerce(value, ty);
        val
    }

    /// The default of a parameter, under the arguments before it.
    pub(crate) fn default_arg(
        &mut self,
        generics: GenericsId,
        param: GenericParamId,
        before: &[Arg],
    ) -> Option<Arg> {
        if let Some(usual) = self.tables.generics.usual(param) {
            return Some(usual);
        }
        let mut at = Some(generics);
        while let Some(id) = at {
            let info = &self.tables.generics[id];
            if let Some(index) = info.own.iter().position(|p| *p == param) {
                if self.program.params[param].witness {
                    return Some(self.witness_arg(id, param, before));
                }
                let default = info.syntax.params.get(index)?.default.clone()?;
                let (scope, params) = (info.scope, info.params.clone());
                let offset = params.len().min(before.len());
                let args = self.program.types.args(before);
                if !self.begin_foreign(default.span) {
                    return Some(Arg::Ty(self.program.types.error()));
                }
                let saved = self.enter(id);
                let arg = self.generic_arg(param, &default, scope);
                self.leave(saved);
                self.end_foreign();
                return Some(self.rewrite_arg(arg, Rewrite { params: &params[..offset], args, at: None }));
            }
            at = info.parent;
        }
        None
    }
}
