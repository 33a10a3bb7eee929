//! Overload resolution: selects the function of a call.
//!
//! For every candidate, generic arguments are inferred ([`crate::generics::infer`]), and then each argument must convert to
//! its parameter. The candidate with the smallest sum of conversion costs wins. Ties are broken in this order:
//!
//! 1. a declaration in the type before one in an extension of it, and that before one in an extension of all types;
//! 2. a requirement of a more derived interface;
//! 3. a generic parameter before one of interface type;
//! 4. fewer generic parameters;
//! 5. tighter bounds;
//! 6. nearer scope;
//! 7. higher `[OverloadRank]`.
//!
//! Any remaining tie is ambiguous. A call of a derivative works in the same way, with the derived [`Signature`] of each
//! candidate.

mod callee;

pub(crate) use callee::{Argument, Callee, Candidate, Fit};

use crate::bodies::body::BodyCx;
use crate::bodies::convert::{Cost, PLACE, TO_BASE};
use crate::bodies::overload_errors::Misfit;
use crate::derive::{SigParam, Signature};
use crate::facts::Facts;
use crate::generics::arguments::Share;
use crate::hir::{
    Arg, Args, Dir, Expr, FuncId, FuncKind, FuncRef, GenericParamId, Program, Ty, TyKind, Types,
};
use cotangent_base::Span;
use cotangent_syntax::ast;

/// The cost of passing arguments for a pack, so that a function with as many parameters is preferred.
const PACK: Cost = 500;

impl BodyCx<'_> {
    /// A call of one of some functions.
    pub(crate) fn call(&mut self, callee: &Callee, args: Vec<Argument>, span: Span) -> Expr {
        match self.choose(callee, &args) {
            Choice::One(fit) => self.emit_call(callee, *fit, args, span),
            Choice::None(misfits) => {
                self.report_misfits(callee, &args, misfits, span);
                self.error(span)
            }
            Choice::Many(fits) => {
                // What is wrong with an argument fits everywhere; it has been reported.
                if !self.cx.program.any_wrong(&args) {
                    self.cx.rules().report_ambiguity(callee, &fits, span);
                }
                self.error(span)
            }
        }
    }

    /// The function that a call with these arguments means.
    pub(crate) fn choose(&mut self, callee: &Callee, args: &[Argument]) -> Choice {
        let mut fits: Vec<Fit> = vec![];
        let mut misfits = vec![];
        for candidate in &callee.candidates {
            match self.fit(callee, *candidate, args) {
                Ok(fit) => fits.push(fit),
                Err(misfit) => misfits.push((candidate.func, misfit)),
            }
        }
        let mut best: Vec<Fit> = vec![];
        for fit in fits {
            if best.iter().any(|other| self.better(other, &fit)) {
                continue;
            }
            best.retain(|other| !self.better(&fit, other));
            best.push(fit);
        }
        match best.len() {
            0 => Choice::None(misfits),
            1 => Choice::One(Box::new(best.remove(0))),
            _ => Choice::Many(best),
        }
    }

    fn fit(&mut self, callee: &Callee, candidate: Candidate, args: &[Argument]) -> Result<Fit, Misfit> {
        self.cx.ensure_func(candidate.func);
        if let Some(instance) = self.special_instance(callee, candidate) {
            return self.fit_instance(callee, candidate, instance, args);
        }
        let signature = self.called_signature(callee, candidate.func);
        let takes_this = self.cx.program.funcs[candidate.func].this.is_some() && callee.diff.is_empty();
        let with_this;
        let args = match (takes_this, &callee.this) {
            (false, _) => args,
            (true, None) => return Err(Misfit::NoThis),
            (true, Some(this)) => {
                let this = Argument::Value(self.as_base(this.clone(), candidate.base));
                with_this = std::iter::once(this).chain(args.iter().cloned()).collect::<Vec<_>>();
                &with_this
            }
        };
        let required = self.cx.facts().required_args(callee, candidate.func, &signature);
        let most = self.cx.program.most_args(&signature, args.len());
        if args.len() < required || args.len() > most {
            let this = usize::from(takes_this);
            return Err(Misfit::Count(required - this, most - this, args.len() - this));
        }
        let passed = self.cx.program.passed(&signature, args);
        let inferred = self.infer(callee, candidate, &signature, &passed)?;
        let generics = self.cx.tables.funcs[candidate.func].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        let mut signature = signature;
        for param in &mut signature.params {
            param.ty = self.cx.replace(param.ty, &params, inferred.args);
        }
        signature.result = self.cx.replace(signature.result, &params, inferred.args);
        let mut cost = inferred.cost;
        let mut number = usize::from(!takes_this);
        for (args, param) in passed.into_iter().zip(&signature.params) {
            match args {
                _ if self.cx.program.is_pack(param.ty) => {
                    cost += self.pack_cost(args, param.ty, param.dir, number)?
                }
                [this] if number == 0 => self.fit_this(this, param.dir)?,
                [arg] => cost += self.argument_cost(arg, param.ty, param.dir, number)?,
                _ => {}
            }
            number += args.len();
        }
        Ok(Fit { candidate, args: inferred.args, signature, cost })
    }

    /// The generic arguments of a function whose derivative is called, if these are written and have a derivative of their own.
    fn special_instance(&mut self, callee: &Callee, candidate: Candidate) -> Option<Args> {
        let mode = *callee.diff.first()?;
        if !self.cx.facts().has_special(candidate.func, mode) {
            return None;
        }
        let given = self.written_args(callee, candidate).ok()?;
        let args: Vec<Arg> = given.into_iter().collect::<Option<_>>()?;
        let args = self.cx.program.types.args(&args);
        let generics = self.cx.tables.funcs[candidate.func].generics;
        if self.cx.unmet_bound(generics, args).is_some() {
            return None;
        }
        let diff = self.cx.diff_of_instance(FuncRef { func: candidate.func, args });
        diff.has(mode).then_some(args)
    }

    /// Fits a call of the derivative of an instance: its signature follows from the types of the instance.
    fn fit_instance(
        &mut self,
        callee: &Callee,
        candidate: Candidate,
        args: Args,
        passed: &[Argument],
    ) -> Result<Fit, Misfit> {
        let mut signature = self.cx.signature_of_instance(FuncRef { func: candidate.func, args });
        for mode in &callee.diff {
            signature = self.cx.derived(&signature, *mode);
        }
        let count = signature.params.len();
        if passed.len() != count {
            return Err(Misfit::Count(count, count, passed.len()));
        }
        let mut cost = 0;
        for (number, (arg, param)) in passed.iter().zip(&signature.params).enumerate() {
            cost += self.argument_cost(arg, param.ty, param.dir, number + 1)?;
        }
        Ok(Fit { candidate, args, signature, cost })
    }

    /// The signature of what is called, in terms of the function's parameters.
    pub(crate) fn called_signature(&mut self, callee: &Callee, func: FuncId) -> Signature {
        let mut signature = Signature::of(&self.cx.program.funcs[func]);
        if !callee.diff.is_empty() {
            let saved = self.cx.enter(self.cx.tables.funcs[func].generics);
            for mode in &callee.diff {
                signature = self.cx.derived(&signature, *mode);
            }
            self.cx.leave(saved);
        }
        signature
    }

    /// A mutating method needs an assignable object. A candidate without one is refused, and not merely worse.
    fn fit_this(&mut self, this: &Argument, dir: Dir) -> Result<(), Misfit> {
        let Argument::Value(this) = this else { return Ok(()) };
        match (dir, self.not_a_place(this)) {
            (Dir::InOut, Some(why)) => Err(Misfit::Place(0, why)),
            _ => Ok(()),
        }
    }

    fn pack_cost(&mut self, args: &[Argument], pack: Ty, dir: Dir, number: usize) -> Result<Cost, Misfit> {
        let types = self.cx.program.pack_types(pack);
        if types.len() != args.len() {
            return Err(Misfit::Count(types.len(), types.len(), args.len()));
        }
        let mut cost = PACK;
        for (index, (arg, ty)) in args.iter().zip(types).enumerate() {
            cost += self.argument_cost(arg, ty, dir, number + index)?;
        }
        Ok(cost)
    }

    fn argument_cost(&mut self, arg: &Argument, ty: Ty, dir: Dir, number: usize) -> Result<Cost, Misfit> {
        let expr = match arg {
            Argument::Value(expr) => expr,
            Argument::List(items, span) => {
                let (items, span) = (items.clone(), *span);
                let (_, fine) = self.quietly(|cx| cx.list_as(&items, ty, span));
                let misfit = || Misfit::Argument(number, "the initializer list".into(), ty);
                return if fine && dir == Dir::In { Ok(0) } else { Err(misfit()) };
            }
        };
        if self.cx.program.types.is_error(expr.ty) {
            return Ok(0);
        }
        let misfit = |cx: &Self| Misfit::Argument(number, format!("`{}`", cx.show(expr.ty)), ty);
        if dir == Dir::In {
            return self.cx.cost(expr, ty).ok_or_else(|| misfit(self));
        }
        if let Some(why) = self.not_a_place(expr) {
            return Err(Misfit::Place(number, why));
        }
        if expr.ty == ty {
            return Ok(0);
        }
        let written = |cx: &Self| Misfit::Written(number, format!("`{}`", cx.show(expr.ty)), ty);
        match self.cx.levels_to_base(expr.ty, ty) {
            _ if self.cx.program.types.same_width(expr.ty, ty) => Ok(PLACE),
            Some(levels) => Ok(TO_BASE * levels),
            None => Err(written(self)),
        }
    }

    /// Whether `a` is to be preferred to `b`.
    fn better(&mut self, a: &Fit, b: &Fit) -> bool {
        if a.cost != b.cost {
            return a.cost < b.cost;
        }
        if a.candidate.extension != b.candidate.extension {
            return a.candidate.extension < b.candidate.extension;
        }
        match (
            self.cx.program.requirement_of(a.candidate.func),
            self.cx.program.requirement_of(b.candidate.func),
        ) {
            (Some(x), Some(y)) if x != y => {
                if self.inherits(x, y) {
                    return true;
                }
                if self.inherits(y, x) {
                    return false;
                }
            }
            _ => {}
        }
        let hidden = |cx: &Self, fit: &Fit| cx.cx.tables.funcs[fit.candidate.func].hidden;
        if hidden(self, a) != hidden(self, b) {
            return hidden(self, a) < hidden(self, b);
        }
        let generic = |cx: &Self, fit: &Fit| cx.cx.facts().own_params(fit).len();
        if generic(self, a) != generic(self, b) {
            return generic(self, a) < generic(self, b);
        }
        let (tight_a, tight_b) = (self.tightness(a), self.tightness(b));
        if tight_a != tight_b {
            return tight_a > tight_b;
        }
        if a.candidate.depth != b.candidate.depth {
            return a.candidate.depth < b.candidate.depth;
        }
        self.overload_rank(a.candidate.func) > self.overload_rank(b.candidate.func)
    }

    fn overload_rank(&mut self, func: FuncId) -> i64 {
        let info = &self.cx.tables.funcs[func];
        let (attributes, scope) = (info.prefix.attributes.clone(), info.scope);
        let rank = crate::declarations::attrs::find(&attributes, "OverloadRank").and_then(|a| a.args.first());
        let rank = rank.map(|e| self.cx.const_val(e, scope));
        rank.and_then(|rank| self.cx.program.types.known(rank)).unwrap_or(0)
    }

    /// Whether interface `a` inherits `b`.
    pub(crate) fn inherits(&mut self, a: crate::hir::InterfaceId, b: crate::hir::InterfaceId) -> bool {
        let this = self.cx.program.interfaces[a].this;
        let this = self.ty(TyKind::Param(this));
        let own = self.cx.names().own_interface(a);
        let all = self.cx.closure(this, vec![own]);
        a != b && all.iter().any(|i| i.interface == b)
    }

    /// The number of bounds of the candidate's own generic parameters.
    fn tightness(&mut self, fit: &Fit) -> usize {
        let own = self.cx.facts().own_params(fit);
        if own.is_empty() {
            return 0;
        }
        let generics = self.cx.tables.funcs[fit.candidate.func].generics;
        let saved = self.cx.enter(generics);
        let mut count = 0;
        for param in own {
            let ty = self.ty(TyKind::Param(param));
            count += self.cx.bounds_of(ty).len();
        }
        self.cx.leave(saved);
        count
    }

    /// Generic arguments that are the same for everybody: `around`, then those written.
    pub(crate) fn written_args(
        &mut self,
        callee: &Callee,
        candidate: Candidate,
    ) -> Result<Vec<Option<Arg>>, Misfit> {
        let generics = self.cx.tables.funcs[candidate.func].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        let around = self.cx.program.types.list(candidate.around).to_vec();
        let mut bindings: Vec<Option<Arg>> = around.iter().copied().map(Some).collect();
        // A member that meets a requirement gets the requirement's arguments, also for hidden parameters.
        let end = params.len().saturating_sub(self.cx.tables.funcs[candidate.func].hidden);
        let own = params.get(around.len()..end).unwrap_or_default();
        let shares = self.cx.shares(own, &callee.explicit).ok_or(Misfit::Explicit)?;
        let scope = self.scope;
        for (param, share) in own.iter().zip(shares) {
            // A type where this one wants a value may be what another one wants, and the other way round.
            if let (Share::One(expr), true) = (&share, callee.candidates.len() > 1) {
                let wants_value = self.cx.program.params[*param].value.is_some();
                let is_type = self.cx.type_path(expr, scope, false).is_some();
                if wants_value == is_type && !self.is_unknown(expr) {
                    return Err(Misfit::Explicit);
                }
            }
            bindings.push(match share {
                Share::One(expr) => Some(self.knowing_locals(|cx| cx.generic_arg(*param, expr, scope))),
                // What is not written may follow from the arguments.
                Share::Pack([]) | Share::Open => None,
                Share::Pack(exprs) => Some(self.knowing_locals(|cx| cx.pack_arg(*param, exprs, scope))),
            });
        }
        bindings.resize(params.len(), None);
        Ok(bindings)
    }

    /// Whether an expression is a name that nothing has.
    fn is_unknown(&mut self, expr: &ast::Expr) -> bool {
        matches!(&expr.kind, ast::ExprKind::Name(name) if self.cx.lookup(self.scope, *name).is_empty())
    }
}

impl Facts<'_> {
    /// How many arguments are needed at least: trailing parameters may have defaults.
    fn required_args(self, callee: &Callee, func: FuncId, signature: &Signature) -> usize {
        let all = signature.params.iter().filter(|p| !self.program.is_pack(p.ty)).count();
        if !callee.diff.is_empty() {
            return all;
        }
        let declared = self.tables.written_params(func);
        let trailing = declared.iter().zip(&signature.params).rev().take_while(|(p, _)| p.default.is_some());
        all - trailing.filter(|(_, param)| !self.program.is_pack(param.ty)).count()
    }

    fn own_params(self, fit: &Fit) -> Vec<GenericParamId> {
        let generics = self.tables.funcs[fit.candidate.func].generics;
        let around = self.program.types.list(fit.candidate.around).len();
        self.tables.generics[generics].params.iter().skip(around).copied().collect()
    }
}

impl Program {
    /// How many arguments are accepted at most, close to how many there are: several packs share evenly what is left for them.
    fn most_args(&self, signature: &Signature, given: usize) -> usize {
        let packs = signature.params.iter().filter(|p| self.is_pack(p.ty)).count();
        let single = signature.params.len() - packs;
        match packs {
            0 => single,
            _ => single + given.saturating_sub(single) / packs * packs,
        }
    }

    /// The arguments of each parameter: one, none if its default is wanted, or those of a pack.
    pub(crate) fn passed<'s>(&self, signature: &Signature, args: &'s [Argument]) -> Vec<&'s [Argument]> {
        let packs = signature.params.iter().filter(|p| self.is_pack(p.ty)).count();
        let length = args.len().saturating_sub(signature.params.len() - packs).checked_div(packs);
        let mut rest = args;
        let taken = |param: &SigParam| {
            let count = if self.is_pack(param.ty) { length.unwrap_or(0) } else { 1 };
            let (taken, behind) = rest.split_at(count.min(rest.len()));
            rest = behind;
            taken
        };
        signature.params.iter().map(taken).collect()
    }

    /// The types of the elements that the arguments of a pack are passed as.
    pub(crate) fn pack_types(&self, pack: Ty) -> Vec<Ty> {
        let Some(items) = self.types.elements_of(pack) else { return vec![pack] };
        items.into_iter().filter_map(Arg::ty).collect()
    }

    fn requirement_of(&self, func: FuncId) -> Option<crate::hir::InterfaceId> {
        match self.funcs[func].kind {
            FuncKind::Requirement(interface) => Some(interface),
            FuncKind::Plain | FuncKind::Constructor => None,
        }
    }

    /// Whether an argument has no type because of a mistake in it.
    pub(crate) fn any_wrong(&self, args: &[Argument]) -> bool {
        args.iter().any(|a| matches!(a, Argument::Value(e) if self.types.is_error(e.ty)))
    }
}

impl Types {
    /// Whether two types are integers of one width and shape, so that a place of one may be written as the other; or
    /// an array without a size stands for one with it.
    fn same_width(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Scalar(a), TyKind::Scalar(b)) => a.is_int() && b.is_int() && a.bits() == b.bits(),
            (TyKind::Vector(a, m), TyKind::Vector(b, n)) => m == n && self.same_width(a, b),
            (TyKind::Array(a, _), TyKind::UnsizedArray(b)) => a == b,
            _ => false,
        }
    }
}

/// What overload resolution found.
pub(crate) enum Choice {
    /// One function.
    One(Box<Fit>),
    /// None, and why.
    None(Vec<(FuncId, Misfit)>),
    /// Several that are equally good.
    Many(Vec<Fit>),
}
