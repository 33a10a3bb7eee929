//! Matches a type against a pattern: finds the generic arguments with which the pattern is the type.

use crate::Checked;
use crate::hir::{Arg, Args, GenericParamId, Ty, TyKind, Val, ValKind};
use crate::tables::GenericsId;

impl Checked {
    /// Arguments for `generics` under which `pattern` is `ty` and the bounds hold.
    pub(crate) fn match_under(&mut self, generics: GenericsId, pattern: Ty, ty: Ty) -> Option<Args> {
        let params = self.tables.generics[generics].params.clone();
        if params.is_empty() {
            return (pattern == ty).then(|| self.program.types.args(&[]));
        }
        let mut bindings = vec![None; params.len()];
        if !self.match_ty(pattern, ty, &params, &mut bindings) {
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

    /// Matches a type against a pattern with parameters, binding them. Parameters in `ty` are opaque.
    pub(crate) fn match_ty(
        &mut self,
        pattern: Ty,
        ty: Ty,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        use TyKind::*;
        if let Param(param) = self.program.types.kind(pattern)
            && let Some(index) = params.iter().position(|p| *p == param)
        {
            return bind(bindings, index, Arg::Ty(ty));
        }
        match (self.program.types.kind(pattern), self.program.types.kind(ty)) {
            (Vector(p, m), Vector(t, n)) | (Array(p, m), Array(t, n)) => {
                self.match_ty(p, t, params, bindings) && self.match_val(m, n, params, bindings)
            }
            (Matrix(p, a, b), Matrix(t, c, d)) => {
                self.match_ty(p, t, params, bindings)
                    && self.match_val(a, c, params, bindings)
                    && self.match_val(b, d, params, bindings)
            }
            (UnsizedArray(p), UnsizedArray(t)) => self.match_ty(p, t, params, bindings),
            (Struct(a, p), Struct(b, t)) if a == b => self.match_args(p, t, params, bindings),
            (Interface(a, p), Interface(b, t)) if a == b => self.match_args(p, t, params, bindings),
            (Tuple(p), Tuple(t)) | (Pack(p), Pack(t)) => self.match_members(p, t, params, bindings),
            (Pack(p), _) if self.is_pack(ty) => {
                let t = self.program.types.args(&[Arg::Ty(ty)]);
                self.match_members(p, t, params, bindings)
            }
            _ => pattern == ty,
        }
    }

    /// The one pack among the members of a pattern, with how many come before and after it, if `count` members are enough.
    pub(crate) fn around_pack(&self, pattern: &[Arg], count: usize) -> Option<(usize, Ty, usize)> {
        let before = pattern.iter().position(|arg| self.is_pack_arg(*arg))?;
        let behind = pattern.len() - before - 1;
        match pattern[before] {
            Arg::Ty(pack) if before + behind <= count => Some((before, pack, behind)),
            _ => None,
        }
    }

    /// Matches the members of tuples or packs. One pack in the pattern takes what the others leave.
    fn match_members(
        &mut self,
        pattern: Args,
        args: Args,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        let list = self.program.types.list(pattern).to_vec();
        let members = self.program.types.list(args).to_vec();
        if list.iter().filter(|arg| self.is_pack_arg(**arg)).count() > 1 {
            return self.match_packs(&list, &members, params, bindings);
        }
        let Some((before, pack, behind)) = self.around_pack(&list, members.len()) else {
            return self.match_args(pattern, args, params, bindings);
        };
        let end = members.len() - behind;
        let whole = self.pack_of(&members[before..end]);
        let mut pairs = list[..before].iter().zip(&members[..before]);
        let mut others = list[before + 1..].iter().zip(&members[end..]);
        pairs.all(|(p, t)| self.match_arg(*p, *t, params, bindings))
            && others.all(|(p, t)| self.match_arg(*p, *t, params, bindings))
            && self.match_ty(pack, whole, params, bindings)
    }

    /// Several packs in a pattern take equal shares of what the others leave.
    fn match_packs(
        &mut self,
        pattern: &[Arg],
        members: &[Arg],
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        let packs = pattern.iter().filter(|arg| self.is_pack_arg(**arg)).count();
        let Some(shared) = members.len().checked_sub(pattern.len() - packs) else { return false };
        if !shared.is_multiple_of(packs) {
            return false;
        }
        let mut rest = members;
        for arg in pattern {
            let count = if self.is_pack_arg(*arg) { shared / packs } else { 1 };
            let (taken, others) = rest.split_at(count);
            rest = others;
            let fits = match *arg {
                Arg::Ty(pack) if self.is_pack_arg(*arg) => {
                    let whole = self.pack_of(taken);
                    self.match_ty(pack, whole, params, bindings)
                }
                _ => self.match_arg(*arg, taken[0], params, bindings),
            };
            if !fits {
                return false;
            }
        }
        true
    }

    /// Finds what `element`, an `each P`, is when `pattern` is `ty`.
    pub(crate) fn match_each(&mut self, pattern: Ty, element: Ty, ty: Ty, bound: &mut [Option<Arg>; 1]) {
        if pattern == element {
            bound[0].get_or_insert(Arg::Ty(ty));
            return;
        }
        use TyKind::*;
        match (self.program.types.kind(pattern), self.program.types.kind(ty)) {
            (Vector(p, _), Vector(t, _)) | (Array(p, _), Array(t, _)) | (Matrix(p, ..), Matrix(t, ..)) => {
                self.match_each(p, element, t, bound);
            }
            (Struct(a, p), Struct(b, t)) if a == b => {
                let pairs = self.program.types.list(p).to_vec().into_iter();
                for pair in pairs.zip(self.program.types.list(t).to_vec()) {
                    if let (Arg::Ty(p), Arg::Ty(t)) = pair {
                        self.match_each(p, element, t, bound);
                    }
                }
            }
            _ => {}
        }
    }

    fn match_arg(
        &mut self,
        pattern: Arg,
        arg: Arg,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        match (pattern, arg) {
            (Arg::Ty(p), Arg::Ty(t)) => self.match_ty(p, t, params, bindings),
            (Arg::Val(p), Arg::Val(t)) => self.match_val(p, t, params, bindings),
            _ => false,
        }
    }

    /// Matches argument lists.
    pub(crate) fn match_args(
        &mut self,
        pattern: Args,
        args: Args,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        let pattern = self.program.types.list(pattern).to_vec();
        let args = self.program.types.list(args).to_vec();
        pattern.len() == args.len()
            && pattern.into_iter().zip(args).all(|(p, t)| self.match_arg(p, t, params, bindings))
    }

    fn match_val(
        &mut self,
        pattern: Val,
        val: Val,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        if let ValKind::Param(param) = self.program.types.val_kind(pattern)
            && let Some(index) = params.iter().position(|p| *p == param)
        {
            return bind(bindings, index, Arg::Val(val));
        }
        // Arithmetic on parameters is not solved for them; a later comparison of whole types decides.
        pattern == val || matches!(self.program.types.val_kind(pattern), ValKind::Binary(..))
    }
}

/// Binds a parameter, or checks that it is bound to the same.
fn bind(bindings: &mut [Option<Arg>], index: usize, arg: Arg) -> bool {
    match bindings[index] {
        None => {
            bindings[index] = Some(arg);
            true
        }
        Some(old) => old == arg,
    }
}
