//! Inference of generic arguments from the arguments of a call.
//!
//! Parameter types are patterns: matching an argument's type against one binds the generic parameters in it. If
//! several arguments bind one parameter to different types the join of these is taken, as for operators: an integer
//! and a float give a float, a vector and a scalar the vector. If the result does not satisfy the bounds and is an
//! integer, the float of its shape is tried: `sin(1)`.

use crate::body::BodyCx;
use crate::convert::Cost;
use crate::derive::Signature;
use crate::hir::{Arg, Args, Bound, GenericParamId, Ty, TyKind, Val, ValKind};
use crate::overload::{Argument, Callee, Candidate, Misfit};
use crate::tables::GenericsId;
use cotangent_base::Scalar;
use std::rc::Rc;

/// The cost of a generic parameter without bounds, which accepts anything.
const UNBOUNDED: Cost = 20;

/// What was inferred.
pub(crate) struct Inferred {
    /// All generic arguments.
    pub args: Args,
    /// What the generality costs.
    pub cost: Cost,
}

/// Bindings in the making.
struct Bindings {
    params: Rc<[GenericParamId]>,
    args: Vec<Option<Arg>>,
    /// Which were given and stay as they are.
    fixed: Vec<bool>,
}

impl BodyCx<'_> {
    /// Finds the generic arguments of a candidate.
    pub(crate) fn infer(
        &mut self,
        callee: &Callee,
        candidate: Candidate,
        signature: &Signature,
        args: &[Argument],
    ) -> Result<Inferred, Misfit> {
        let generics = self.cx.tables.funcs[candidate.func].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        let given = self.written_args(callee, candidate)?;
        let mut bindings = Bindings::start(params, given);
        for (arg, param) in args.iter().zip(&signature.params) {
            if let Argument::Value(expr) = arg {
                self.bind(&mut bindings, param.ty, expr.ty);
            }
        }
        self.bind_by_equalities(&mut bindings, generics);
        self.bind_defaults(&mut bindings, generics)?;
        self.satisfy(&mut bindings, generics).map(|args| Inferred {
            args,
            cost: self.generality(generics, self.cx.program.types.list(candidate.around).len()),
        })
    }

    fn bind(&mut self, bindings: &mut Bindings, pattern: Ty, ty: Ty) {
        use TyKind::*;
        if self.cx.is_error(ty) {
            return;
        }
        match (self.kind(pattern), self.kind(ty)) {
            (Param(param), _) => self.bind_ty(bindings, param, ty),
            (Vector(p, m), Vector(t, n)) | (Array(p, m), Array(t, n)) => {
                self.bind(bindings, p, t);
                self.bind_val(bindings, m, n);
            }
            (Matrix(p, a, b), Matrix(t, c, d)) => {
                self.bind(bindings, p, t);
                self.bind_val(bindings, a, c);
                self.bind_val(bindings, b, d);
            }
            // A scalar will be splat.
            (Vector(p, _) | Matrix(p, _, _), Scalar(_) | Param(_)) => self.bind(bindings, p, ty),
            (UnsizedArray(p), UnsizedArray(t) | Array(t, _)) => self.bind(bindings, p, t),
            (Struct(a, p), Struct(b, t)) if a == b => self.bind_args(bindings, p, t),
            (Tuple(p), Tuple(t)) => self.bind_args(bindings, p, t),
            (_, Struct(id, _)) => {
                // A constant buffer stands for what it holds, a structure for its base.
                if let Some(content) = self.cx.block_content(ty) {
                    self.bind(bindings, pattern, content);
                } else if let Some(base) = self.cx.base_of(ty, id) {
                    self.bind(bindings, pattern, base);
                }
            }
            _ => {}
        }
    }

    fn bind_args(&mut self, bindings: &mut Bindings, pattern: Args, args: Args) {
        let pattern = self.cx.program.types.list(pattern).to_vec();
        let args = self.cx.program.types.list(args).to_vec();
        for pair in pattern.into_iter().zip(args) {
            match pair {
                (Arg::Ty(p), Arg::Ty(t)) => self.bind(bindings, p, t),
                (Arg::Val(p), Arg::Val(v)) => self.bind_val(bindings, p, v),
                _ => {}
            }
        }
    }

    fn bind_ty(&mut self, bindings: &mut Bindings, param: GenericParamId, ty: Ty) {
        let Some(index) = bindings.params.iter().position(|p| *p == param) else {
            return;
        };
        if bindings.fixed[index] {
            return;
        }
        let joined = match bindings.args[index] {
            Some(Arg::Ty(old)) => self.join_types(old, ty).unwrap_or(old),
            Some(Arg::Val(_)) | None => ty,
        };
        bindings.args[index] = Some(Arg::Ty(joined));
    }

    fn bind_val(&mut self, bindings: &mut Bindings, pattern: Val, val: Val) {
        let ValKind::Param(param) = self.cx.program.types.val_kind(pattern) else {
            return;
        };
        if let Some(index) = bindings.params.iter().position(|p| *p == param)
            && bindings.args[index].is_none()
        {
            bindings.args[index] = Some(Arg::Val(val));
        }
    }

    /// `where T.A == U` tells `U` once `T` is known.
    fn bind_by_equalities(&mut self, bindings: &mut Bindings, generics: GenericsId) {
        if bindings.args.iter().all(Option::is_some) {
            return;
        }
        for bound in self.cx.bounds(generics).iter() {
            let Bound::Equal(a, b) = *bound else { continue };
            for (open, other) in [(a, b), (b, a)] {
                let TyKind::Param(param) = self.kind(open) else { continue };
                let index = bindings.params.iter().position(|p| *p == param);
                if let Some(index) = index
                    && bindings.args[index].is_none()
                {
                    let partial = self.partial(bindings);
                    let params = bindings.params.clone();
                    bindings.args[index] = Some(Arg::Ty(self.cx.replace(other, &params, partial)));
                }
            }
        }
    }

    /// What is bound, with the rest standing for itself.
    fn partial(&mut self, bindings: &Bindings) -> Args {
        let mut list = vec![];
        for (arg, param) in bindings.args.iter().zip(bindings.params.iter()) {
            list.push(arg.unwrap_or_else(|| self.cx.param_arg(*param)));
        }
        self.cx.program.types.args(&list)
    }

    fn bind_defaults(&mut self, bindings: &mut Bindings, generics: GenericsId) -> Result<(), Misfit> {
        for index in 0..bindings.args.len() {
            if bindings.args[index].is_some() {
                continue;
            }
            let param = bindings.params[index];
            let before: Vec<Arg> = bindings.args[..index].iter().map_while(|a| *a).collect();
            match self.cx.default_arg(generics, param, &before) {
                Some(arg) => bindings.args[index] = Some(arg),
                None => return Err(Misfit::Open(param)),
            }
        }
        Ok(())
    }

    /// Checks the bounds, promoting integers to floats where that helps.
    fn satisfy(&mut self, bindings: &mut Bindings, generics: GenericsId) -> Result<Args, Misfit> {
        let args = self.partial(bindings);
        let Some(unmet) = self.cx.unmet_bound(generics, args) else {
            return Ok(args);
        };
        let mut promoted = false;
        for index in 0..bindings.args.len() {
            if bindings.fixed[index] {
                continue;
            }
            if let Some(Arg::Ty(ty)) = bindings.args[index]
                && let Some(float) = self.promoted(ty)
            {
                bindings.args[index] = Some(Arg::Ty(float));
                promoted = true;
            }
        }
        if promoted {
            let args = self.partial(bindings);
            if self.cx.unmet_bound(generics, args).is_none() {
                return Ok(args);
            }
        }
        Err(Misfit::Bound(unmet))
    }

    /// The float type of the shape of an integer type.
    fn promoted(&mut self, ty: Ty) -> Option<Ty> {
        match self.kind(ty) {
            TyKind::Scalar(s) if !s.is_float() => Some(self.scalar(Scalar::F32)),
            TyKind::Vector(t, n) => {
                let t = self.promoted(t)?;
                Some(self.ty(TyKind::Vector(t, n)))
            }
            TyKind::Matrix(t, r, c) => {
                let t = self.promoted(t)?;
                Some(self.ty(TyKind::Matrix(t, r, c)))
            }
            _ => None,
        }
    }

    fn generality(&mut self, generics: GenericsId, around: usize) -> Cost {
        let bounds = self.cx.bounds(generics);
        let params = self.cx.tables.generics[generics].params.clone();
        let mut cost = 0;
        for param in params.iter().skip(around) {
            if self.cx.program.params[*param].value.is_some() {
                continue;
            }
            let ty = self.ty(TyKind::Param(*param));
            let bounded = bounds.iter().any(|b| matches!(b, Bound::Conforms(t, _) if *t == ty));
            cost += if bounded { 0 } else { UNBOUNDED };
        }
        cost
    }
}

impl Bindings {
    /// Begins with what is given.
    fn start(params: Rc<[GenericParamId]>, args: Vec<Option<Arg>>) -> Self {
        let fixed = args.iter().map(Option::is_some).collect();
        Self { params, args, fixed }
    }
}
