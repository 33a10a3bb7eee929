//! Infers generic parameters from conformances: with `f<T, B : IBox<T>>(B b)`, an argument tells `B`, and the way in which `B`
//! conforms to an `IBox<..>` tells `T`.
//!
//! The same holds for the parameters of `extension<T, B : IBox<T>> B`, and for `f<T>(IBox<T> b)`, whose parameter has a
//! hidden generic type. A parameter stays open if no conformance, or several that differ, would tell it.

use crate::Checked;
use crate::hir::{
    Arg, Args, Bound, GenericParamId, InterfaceId, InterfaceRef, Ty, TyKind, Types, Val, ValKind,
};

impl Checked {
    /// Binds open parameters by the conformances that `bounds` ask for; says whether it bound any.
    pub(crate) fn bind_by_conformances(
        &mut self,
        bounds: &[Bound],
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        let mut bound_any = false;
        loop {
            let open: Vec<GenericParamId> =
                params.iter().zip(&*bindings).filter(|(_, b)| b.is_none()).map(|(p, _)| *p).collect();
            let mut progress = false;
            for bound in bounds {
                let Bound::Conforms(ty, interface) = *bound else { continue };
                if open.is_empty()
                    || !self.program.types.mentions_any(interface.args, &open)
                    || self.program.types.depends(ty, &open)
                {
                    continue;
                }
                progress |= self.bind_by_conformance(ty, interface, params, bindings);
            }
            bound_any |= progress;
            if !progress {
                return bound_any;
            }
        }
    }

    fn bind_by_conformance(
        &mut self,
        ty: Ty,
        interface: InterfaceRef,
        params: &[GenericParamId],
        bindings: &mut [Option<Arg>],
    ) -> bool {
        let (known, args): (Vec<GenericParamId>, Vec<Arg>) =
            params.iter().zip(&*bindings).filter_map(|(p, b)| b.map(|b| (*p, b))).unzip();
        let args = self.program.types.args(&args);
        let ty = self.replace(ty, &known, args);
        let mut found: Option<Vec<Option<Arg>>> = None;
        for candidate in self.interfaces_like(ty, interface.interface) {
            let mut trial = bindings.to_vec();
            if !self.matcher(params, &mut trial).args(interface.args, candidate.args) {
                continue;
            }
            match &found {
                Some(other) if *other != trial => return false,
                _ => found = Some(trial),
            }
        }
        let Some(found) = found else { return false };
        let changed = found != bindings;
        bindings.clone_from_slice(&found);
        changed
    }

    /// How a type conforms to an interface: the arguments for which it does.
    fn interfaces_like(&mut self, ty: Ty, interface: InterfaceId) -> Vec<InterfaceRef> {
        let mut all = match self.program.types.kind(ty) {
            TyKind::Error => vec![],
            TyKind::Interface(id, args) => self.closure(ty, vec![InterfaceRef { interface: id, args }]),
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                let mut all = self.bounds_of(ty);
                all.extend(self.conformances_to(ty, interface));
                all
            }
            _ => self.conformances_to(ty, interface),
        };
        all.retain(|i| i.interface == interface);
        all
    }
}

impl Types {
    /// Whether arguments contain one of these parameters.
    pub(crate) fn mentions_any(&self, args: Args, params: &[GenericParamId]) -> bool {
        self.list(args).iter().any(|arg| match arg {
            Arg::Ty(ty) | Arg::Laid(ty, _) => self.depends(*ty, params),
            Arg::Val(val) => self.val_depends(*val, params),
        })
    }

    /// Whether a type contains one of these parameters.
    pub(crate) fn depends(&self, ty: Ty, params: &[GenericParamId]) -> bool {
        match self.kind(ty) {
            TyKind::Param(param) => params.contains(&param),
            TyKind::Vector(t, n) | TyKind::Array(t, n) => {
                self.depends(t, params) || self.val_depends(n, params)
            }
            TyKind::Matrix(t, r, c) => {
                self.depends(t, params) || self.val_depends(r, params) || self.val_depends(c, params)
            }
            TyKind::UnsizedArray(t) | TyKind::Each(t) | TyKind::Part(_, t) => self.depends(t, params),
            TyKind::Expand(Arg::Ty(t) | Arg::Laid(t, _), over) => {
                self.depends(t, params) || self.depends(over, params)
            }
            TyKind::Expand(Arg::Val(v), over) => self.val_depends(v, params) || self.depends(over, params),
            TyKind::Assoc(t, _, args) => self.depends(t, params) || self.mentions_any(args, params),
            TyKind::Struct(_, args)
            | TyKind::Interface(_, args)
            | TyKind::Tuple(args)
            | TyKind::Pack(args) => self.mentions_any(args, params),
            TyKind::Error
            | TyKind::Void
            | TyKind::Scalar(_)
            | TyKind::Enum(_)
            | TyKind::String
            | TyKind::None => false,
        }
    }

    fn val_depends(&self, val: Val, params: &[GenericParamId]) -> bool {
        match self.val_kind(val) {
            ValKind::Int(_) | ValKind::Error => false,
            ValKind::Param(param) => params.contains(&param),
            ValKind::Binary(_, _, a, b) => self.val_depends(a, params) || self.val_depends(b, params),
            ValKind::Choice(c, a, b) => [c, a, b].into_iter().any(|val| self.val_depends(val, params)),
            ValKind::Measure(_, ty) | ValKind::Each(ty) | ValKind::Count(ty) | ValKind::Part(_, ty) => {
                self.depends(ty, params)
            }
            ValKind::Required(func) => self.mentions_any(func.args, params),
            ValKind::Conforms(ty, interface) => {
                self.depends(ty, params) || self.mentions_any(interface.args, params)
            }
        }
    }
}
