//! Matches a type against a pattern: finds the generic arguments with which the pattern is the type.
//!
//! A [`Matcher`] compares shapes and looks nothing up; [`Checked::match_under`] then checks bounds.

use crate::Checked;
use crate::hir::{Arg, Args, GenericParamId, Program, Ty, TyKind, Val, ValKind};
use crate::tables::GenericsId;

impl Checked {
    /// Matches patterns with these parameters.
    pub(crate) fn matcher<'a>(
        &'a mut self,
        params: &'a [GenericParamId],
        bindings: &'a mut [Option<Arg>],
    ) -> Matcher<'a> {
        Matcher { program: &mut self.program, params, bindings }
    }

    /// Arguments for `generics` under which `pattern` is `ty` and the bounds hold.
    pub(crate) fn match_under(&mut self, generics: GenericsId, pattern: Ty, ty: Ty) -> Option<Args> {
        let params = self.tables.generics[generics].params.clone();
        if params.is_empty() {
            return (pattern == ty).then(|| self.program.types.args(&[]));
        }
        let mut bindings = vec![None; params.len()];
        if !self.matcher(&params, &mut bindings).ty(pattern, ty) {
            return None;
        }
        if !self.tables.search.begin() {
            return None;
        }
        let open = |cx: &Self, (binding, param): (&Option<Arg>, &GenericParamId)| {
            binding.is_none() && !cx.program.params[*param].witness
        };
        if bindings.iter().zip(params.iter()).any(|pair| open(self, pair)) {
            let bounds = self.bounds(generics);
            self.bind_by_conformances(&bounds, &params, &mut bindings);
        }
        let args = self.bound_args(generics, &params, bindings);
        let met = args.is_some_and(|args| self.bounds_met(generics, args));
        self.tables.search.end();
        args.filter(|_| met)
    }

    /// The arguments that a match gave, with what optional constraints ask for.
    fn bound_args(
        &mut self,
        generics: GenericsId,
        params: &[GenericParamId],
        bindings: Vec<Option<Arg>>,
    ) -> Option<Args> {
        let mut args = vec![];
        for (binding, param) in bindings.into_iter().zip(params.iter()) {
            match binding {
                None if self.program.params[*param].witness => {
                    args.push(self.witness_arg(generics, *param, &args));
                }
                binding => args.extend(binding.or_else(|| self.tables.generics.usual(*param))),
            }
        }
        (args.len() == params.len()).then(|| self.program.types.args(&args))
    }

    /// Whether bounds hold. A search may need the same bounds many times, so the answers are cached.
    fn bounds_met(&mut self, generics: GenericsId, args: Args) -> bool {
        if let Some(met) = self.tables.search.known(generics, args) {
            return met;
        }
        let met = self.unmet_bound(generics, args).is_none();
        self.tables.search.remember(generics, args, met);
        met
    }
}

impl Program {
    /// The one pack among the members of a pattern, with how many come before and after it, if `count` members are enough.
    pub(crate) fn around_pack(&self, pattern: &[Arg], count: usize) -> Option<(usize, Ty, usize)> {
        let before = pattern.iter().position(|arg| self.is_pack_arg(*arg))?;
        let behind = pattern.len() - before - 1;
        match pattern[before] {
            Arg::Ty(pack) if before + behind <= count => Some((before, pack, behind)),
            _ => None,
        }
    }

    /// Finds what `element`, an `each P`, is when `pattern` is `ty`.
    pub(crate) fn match_each(&mut self, pattern: Ty, element: Ty, ty: Ty, bound: &mut [Option<Arg>; 1]) {
        if pattern == element {
            bound[0].get_or_insert(Arg::Ty(ty));
            return;
        }
        use TyKind::*;
        match (self.types.kind(pattern), self.types.kind(ty)) {
            (Vector(p, _), Vector(t, _)) | (Array(p, _), Array(t, _)) | (Matrix(p, ..), Matrix(t, ..)) => {
                self.match_each(p, element, t, bound);
            }
            (Struct(a, p), Struct(b, t)) if a == b => {
                let pairs = self.types.list(p).to_vec().into_iter();
                for pair in pairs.zip(self.types.list(t).to_vec()) {
                    if let (Arg::Ty(p), Arg::Ty(t)) = pair {
                        self.match_each(p, element, t, bound);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A pattern's parameters, and what they are bound to so far.
pub(crate) struct Matcher<'a> {
    /// The types, which a match may add to.
    pub program: &'a mut Program,
    /// The parameters of the pattern.
    pub params: &'a [GenericParamId],
    /// What each is bound to.
    pub bindings: &'a mut [Option<Arg>],
}

impl Matcher<'_> {
    /// Matches a type against a pattern with parameters, binding them. Parameters in `ty` are opaque.
    pub(crate) fn ty(&mut self, pattern: Ty, ty: Ty) -> bool {
        use TyKind::*;
        if let Param(param) = self.program.types.kind(pattern)
            && let Some(index) = self.params.iter().position(|p| *p == param)
        {
            return self.bind(index, Arg::Ty(ty));
        }
        match (self.program.types.kind(pattern), self.program.types.kind(ty)) {
            (Vector(p, m), Vector(t, n)) | (Array(p, m), Array(t, n)) => self.ty(p, t) && self.val(m, n),
            (Matrix(p, a, b), Matrix(t, c, d)) => self.ty(p, t) && self.val(a, c) && self.val(b, d),
            (UnsizedArray(p), UnsizedArray(t)) => self.ty(p, t),
            (Struct(a, p), Struct(b, t)) if a == b => self.args(p, t),
            (Interface(a, p), Interface(b, t)) if a == b => self.args(p, t),
            (Tuple(p), Tuple(t)) | (Pack(p), Pack(t)) => self.members(p, t),
            (Pack(p), _) if self.program.is_pack(ty) => {
                let t = self.program.types.args(&[Arg::Ty(ty)]);
                self.members(p, t)
            }
            _ => pattern == ty,
        }
    }

    /// Matches the members of tuples or packs. One pack in the pattern takes what the others leave.
    fn members(&mut self, pattern: Args, args: Args) -> bool {
        let list = self.program.types.list(pattern).to_vec();
        let members = self.program.types.list(args).to_vec();
        if list.iter().filter(|arg| self.program.is_pack_arg(**arg)).count() > 1 {
            return self.packs(&list, &members);
        }
        let Some((before, pack, behind)) = self.program.around_pack(&list, members.len()) else {
            return self.args(pattern, args);
        };
        let end = members.len() - behind;
        let whole = self.program.pack_of(&members[before..end]);
        let mut pairs = list[..before].iter().zip(&members[..before]);
        let mut others = list[before + 1..].iter().zip(&members[end..]);
        pairs.all(|(p, t)| self.arg(*p, *t)) && others.all(|(p, t)| self.arg(*p, *t)) && self.ty(pack, whole)
    }

    /// Several packs in a pattern take equal shares of what the others leave.
    fn packs(&mut self, pattern: &[Arg], members: &[Arg]) -> bool {
        let packs = pattern.iter().filter(|arg| self.program.is_pack_arg(**arg)).count();
        let Some(shared) = members.len().checked_sub(pattern.len() - packs) else { return false };
        if !shared.is_multiple_of(packs) {
            return false;
        }
        let mut rest = members;
        for arg in pattern {
            let count = if self.program.is_pack_arg(*arg) { shared / packs } else { 1 };
            let (taken, others) = rest.split_at(count);
            rest = others;
            let fits = match *arg {
                Arg::Ty(pack) if self.program.is_pack_arg(*arg) => {
                    let whole = self.program.pack_of(taken);
                    self.ty(pack, whole)
                }
                _ => self.arg(*arg, taken[0]),
            };
            if !fits {
                return false;
            }
        }
        true
    }

    fn arg(&mut self, pattern: Arg, arg: Arg) -> bool {
        match (pattern, arg) {
            (Arg::Ty(p), Arg::Ty(t)) => self.ty(p, t),
            (Arg::Val(p), Arg::Val(t)) => self.val(p, t),
            _ => false,
        }
    }

    /// Matches argument lists.
    pub(crate) fn args(&mut self, pattern: Args, args: Args) -> bool {
        let pattern = self.program.types.list(pattern).to_vec();
        let args = self.program.types.list(args).to_vec();
        pattern.len() == args.len() && pattern.into_iter().zip(args).all(|(p, t)| self.arg(p, t))
    }

    fn val(&mut self, pattern: Val, val: Val) -> bool {
        if let ValKind::Param(param) = self.program.types.val_kind(pattern)
            && let Some(index) = self.params.iter().position(|p| *p == param)
        {
            return self.bind(index, Arg::Val(val));
        }
        // Arithmetic on parameters is not solved for them; a later comparison of whole types decides.
        pattern == val || matches!(self.program.types.val_kind(pattern), ValKind::Binary(..))
    }

    /// Binds a parameter, or checks that it is bound to the same.
    fn bind(&mut self, index: usize, arg: Arg) -> bool {
        *self.bindings[index].get_or_insert(arg) == arg
    }
}
