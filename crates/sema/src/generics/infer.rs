//! Infers generic arguments from the arguments of a call.
//!
//! Parameter types are patterns: matching an argument's type against a pattern binds the generic parameters in it. If several
//! arguments bind one parameter to different types, it is bound to their join, as for operators: the join of an integer and a
//! float is the float, and that of a vector and a scalar is the vector. If the result is an integer that does not satisfy the
//! bounds, the float of the same shape is tried: `sin(1)`.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::bodies::convert::Cost;
use crate::bodies::overload::{Argument, Callee, Candidate};
use crate::bodies::overload_errors::Misfit;
use crate::derive::Signature;
use crate::hir::{Arg, Args, Bound, GenericParamId, Program, Ty, TyKind, Val, ValKind};
use crate::tables::GenericsId;
use cotangent_base::Scalar;
use std::sync::Arc;

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
    params: Arc<[GenericParamId]>,
    args: Vec<Option<Arg>>,
    /// Which were given and stay as they are.
    fixed: Vec<bool>,
    bounds: Arc<[Bound]>,
    /// Lengths of vectors that scalars are passed for.
    ones: Vec<Val>,
    /// Where the parameters begin that stand for parameters of interface type.
    hidden: usize,
}

impl BodyCx<'_> {
    /// Finds the generic arguments of a candidate, which gets these arguments for each of its parameters.
    pub(crate) fn infer(
        &mut self,
        callee: &Callee,
        candidate: Candidate,
        signature: &Signature,
        passed: &[&[Argument]],
    ) -> Result<Inferred, Misfit> {
        let generics = self.cx.tables.funcs[candidate.func].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        let given = self.written_args(callee, candidate)?;
        let bounds = self.cx.bounds(generics);
        let mut bindings = Bindings::start(params, given, bounds);
        bindings.hidden -= self.cx.tables.funcs[candidate.func].hidden;
        for (&arg, param) in passed.iter().zip(&signature.params) {
            match arg {
                _ if self.cx.program.is_pack(param.ty) => bindings.bind_pack(self.cx, param.ty, arg),
                [Argument::Value(expr)] => bindings.bind(self.cx, param.ty, expr.ty),
                _ => {}
            }
        }
        loop {
            bindings.bind_by_equalities(self.cx, generics);
            let Bindings { params, args, bounds, .. } = &mut bindings;
            if !self.cx.bind_by_conformances(bounds, params, args) {
                break;
            }
        }
        self.convert_lambdas(&mut bindings);
        let one = self.cx.program.types.int_val(1);
        for length in std::mem::take(&mut bindings.ones) {
            bindings.bind_val(self.cx, length, one);
        }
        bindings.bind_defaults(self.cx, generics)?;
        bindings.satisfy(self.cx, generics).map(|args| Inferred {
            args,
            cost: self.cx.generality(generics, self.cx.program.types.list(candidate.around).len()),
        })
    }

    /// Where a function is wanted, a lambda whose result only converts to the wanted one stands for another that converts it.
    fn convert_lambdas(&mut self, bindings: &mut Bindings) {
        for bound in bindings.bounds.clone().iter() {
            let Bound::Conforms(ty, interface) = *bound else { continue };
            let TyKind::Param(param) = self.kind(ty) else { continue };
            let Some(index) = bindings.params.iter().position(|p| *p == param) else { continue };
            let Some(Arg::Ty(given)) = bindings.args[index] else { continue };
            if index < bindings.hidden
                || !matches!(self.kind(given), TyKind::Struct(id, _) if self.cx.tables.lambdas.contains(id))
            {
                continue;
            }
            let partial = bindings.partial(self.cx);
            let params = bindings.params.clone();
            let interface = self.cx.replace_interface(interface, &params, partial);
            if !self.cx.conforms(given, interface)
                && let Some(converted) = self.lambda_as(given, interface)
            {
                bindings.args[index] = Some(Arg::Ty(converted));
            }
        }
    }
}

impl Program {
    /// The float type of the shape of an integer type.
    fn promoted(&mut self, ty: Ty) -> Option<Ty> {
        match self.types.kind(ty) {
            TyKind::Scalar(s) if !s.is_float() => Some(self.types.scalar(Scalar::F32)),
            TyKind::Vector(t, n) => {
                let t = self.promoted(t)?;
                Some(self.types.ty(TyKind::Vector(t, n)))
            }
            TyKind::Matrix(t, r, c) => {
                let t = self.promoted(t)?;
                Some(self.types.ty(TyKind::Matrix(t, r, c)))
            }
            TyKind::Pack(list) => {
                let mut items = self.types.list(list).to_vec();
                for item in &mut items {
                    if let Arg::Ty(ty) = item {
                        *ty = self.promoted(*ty).unwrap_or(*ty);
                    }
                }
                Some(self.pack_of(&items))
            }
            _ => None,
        }
    }
}

impl Checked {
    fn generality(&mut self, generics: GenericsId, around: usize) -> Cost {
        let bounds = self.bounds(generics);
        let params = self.tables.generics[generics].params.clone();
        let mut cost = 0;
        for param in params.iter().skip(around) {
            if self.program.params[*param].value.is_some() {
                continue;
            }
            let ty = self.program.types.ty(TyKind::Param(*param));
            let ty = if self.program.is_pack(ty) { self.program.types.ty(TyKind::Each(ty)) } else { ty };
            let bounded = bounds.iter().any(|b| matches!(b, Bound::Conforms(t, _) if *t == ty));
            cost += if bounded { 0 } else { UNBOUNDED };
        }
        cost
    }
}

impl Bindings {
    /// Begins with what is given.
    fn start(params: Arc<[GenericParamId]>, args: Vec<Option<Arg>>, bounds: Arc<[Bound]>) -> Self {
        let fixed = args.iter().map(Option::is_some).collect();
        let hidden = params.len();
        Self { params, args, fixed, bounds, ones: vec![], hidden }
    }

    fn bind(&mut self, cx: &mut Checked, pattern: Ty, ty: Ty) {
        use TyKind::*;
        if cx.program.types.is_error(ty) {
            return;
        }
        match (cx.program.types.kind(pattern), cx.program.types.kind(ty)) {
            (Param(param), _) => self.bind_ty(cx, param, ty),
            (Vector(p, m), Vector(t, n)) | (Array(p, m), Array(t, n)) => {
                self.bind(cx, p, t);
                self.bind_val(cx, m, n);
            }
            (Matrix(p, a, b), Matrix(t, c, d)) => {
                self.bind(cx, p, t);
                self.bind_val(cx, a, c);
                self.bind_val(cx, b, d);
            }
            // A scalar will be splat; where nothing else tells the length, it is a vector of one.
            (Vector(p, n), Scalar(_) | Param(_)) => {
                self.bind(cx, p, ty);
                self.ones.push(n);
            }
            (Matrix(p, _, _), Scalar(_) | Param(_)) => self.bind(cx, p, ty),
            (UnsizedArray(p), UnsizedArray(t) | Array(t, _)) => self.bind(cx, p, t),
            (Struct(a, p), Struct(b, t)) if a == b => self.bind_args(cx, p, t),
            (Tuple(p), Tuple(t)) | (Pack(p), Pack(t)) => self.bind_members(cx, p, t),
            (_, Struct(id, _)) => {
                // A constant buffer stands for what it holds, a structure for its base.
                if let Some(content) = cx.program.block_content(ty) {
                    self.bind(cx, pattern, content);
                } else if let Some(base) = cx.base_of(ty, id) {
                    self.bind(cx, pattern, base);
                }
            }
            _ => {}
        }
    }

    /// The arguments of a pack bind its elements.
    fn bind_pack(&mut self, cx: &mut Checked, pattern: Ty, args: &[Argument]) {
        let ty = |arg: &Argument| match arg {
            Argument::Value(expr) => Some(Arg::Ty(expr.ty)),
            Argument::List(..) => None,
        };
        if let Some(types) = args.iter().map(ty).collect::<Option<Vec<Arg>>>() {
            self.bind_elements(cx, pattern, &types);
        }
    }

    /// Binds the members of a tuple or pack. One pack in the pattern takes what the others leave.
    fn bind_members(&mut self, cx: &mut Checked, pattern: Args, args: Args) {
        let pattern = cx.program.types.list(pattern).to_vec();
        let args = cx.program.types.list(args).to_vec();
        let Some((before, pack, behind)) = cx.program.around_pack(&pattern, args.len()) else {
            return self.bind_lists(cx, &pattern, &args);
        };
        let (front, rest) = args.split_at(before);
        let (middle, back) = rest.split_at(rest.len() - behind);
        self.bind_lists(cx, &pattern[..before], front);
        self.bind_elements(cx, pack, middle);
        self.bind_lists(cx, &pattern[before + 1..], back);
    }

    fn bind_elements(&mut self, cx: &mut Checked, pattern: Ty, elements: &[Arg]) {
        match cx.program.types.kind(pattern) {
            TyKind::Param(param) => {
                let whole = cx.program.pack_of(elements);
                let whole = self.equated_elements(cx, param, whole);
                self.bind_ty(cx, param, whole);
            }
            TyKind::Expand(Arg::Ty(pattern), over) => {
                let TyKind::Param(param) = cx.program.types.kind(over) else { return };
                let element = cx.program.types.ty(TyKind::Each(over));
                let equal = self.equated_element(cx, param).map(Arg::Ty);
                let mut found = vec![];
                for item in elements {
                    let Arg::Ty(ty) = *item else { return };
                    let is_pack = cx.program.is_pack(ty);
                    let one = if is_pack { cx.packs().each_ty(ty) } else { ty };
                    let mut bound = [equal];
                    cx.program.match_each(pattern, element, one, &mut bound);
                    let Some(Arg::Ty(bound)) = bound[0] else { return };
                    found.push(Arg::Ty(if is_pack { cx.expand_ty(Arg::Ty(bound), ty) } else { bound }));
                }
                let whole = cx.program.pack_of(&found);
                self.bind_ty(cx, param, whole);
            }
            _ => {}
        }
    }

    /// `where T == float` tells what each element of `T` is, however many there are.
    fn equated_elements(&self, cx: &mut Checked, param: GenericParamId, pack: Ty) -> Ty {
        let Some(items) = cx.program.types.elements_of(pack) else { return pack };
        let Some(equal) = self.equated_element(cx, param) else { return pack };
        let one = |item: Arg| if cx.program.is_pack_arg(item) { item } else { Arg::Ty(equal) };
        let items: Vec<Arg> = items.into_iter().map(one).collect();
        cx.program.pack_of(&items)
    }

    fn equated_element(&self, cx: &mut Checked, param: GenericParamId) -> Option<Ty> {
        let own = cx.program.types.ty(TyKind::Param(param));
        let element = cx.program.types.ty(TyKind::Each(own));
        let equal = self.bounds.iter().find_map(|bound| match *bound {
            Bound::Equal(a, b) if a == element => Some(b),
            _ => None,
        })?;
        let partial = self.partial(cx);
        let params = self.params.clone();
        Some(cx.replace(equal, &params, partial))
    }

    fn bind_args(&mut self, cx: &mut Checked, pattern: Args, args: Args) {
        let pattern = cx.program.types.list(pattern).to_vec();
        let args = cx.program.types.list(args).to_vec();
        self.bind_lists(cx, &pattern, &args);
    }

    fn bind_lists(&mut self, cx: &mut Checked, pattern: &[Arg], args: &[Arg]) {
        for pair in pattern.iter().zip(args) {
            match pair {
                (Arg::Ty(p), Arg::Ty(t)) => self.bind(cx, *p, *t),
                (Arg::Val(p), Arg::Val(v)) => self.bind_val(cx, *p, *v),
                _ => {}
            }
        }
    }

    fn bind_ty(&mut self, cx: &mut Checked, param: GenericParamId, ty: Ty) {
        let Some(index) = self.params.iter().position(|p| *p == param) else {
            return;
        };
        if self.fixed[index] {
            return;
        }
        let joined = match self.args[index] {
            Some(Arg::Ty(old)) => cx.join_types(old, ty).unwrap_or(old),
            Some(Arg::Val(_) | Arg::Laid(..)) | None => ty,
        };
        self.args[index] = Some(Arg::Ty(joined));
    }

    fn bind_val(&mut self, cx: &mut Checked, pattern: Val, val: Val) {
        let ValKind::Param(param) = cx.program.types.val_kind(pattern) else {
            return;
        };
        if let Some(index) = self.params.iter().position(|p| *p == param)
            && self.args[index].is_none()
        {
            self.args[index] = Some(Arg::Val(val));
        }
    }

    /// `where T.A == U` tells `U` once `T` is known.
    fn bind_by_equalities(&mut self, cx: &mut Checked, generics: GenericsId) {
        if self.args.iter().all(Option::is_some) {
            return;
        }
        for bound in cx.bounds(generics).iter() {
            let Bound::Equal(a, b) = *bound else { continue };
            for (open, other) in [(a, b), (b, a)] {
                let TyKind::Param(param) = cx.program.types.kind(open) else { continue };
                let index = self.params.iter().position(|p| *p == param);
                if let Some(index) = index
                    && self.args[index].is_none()
                {
                    let partial = self.partial(cx);
                    let params = self.params.clone();
                    self.args[index] = Some(Arg::Ty(cx.replace(other, &params, partial)));
                }
            }
        }
    }

    /// What is bound, with the rest standing for itself.
    fn partial(&self, cx: &mut Checked) -> Args {
        let mut list = vec![];
        for (arg, param) in self.args.iter().zip(self.params.iter()) {
            list.push(arg.unwrap_or_else(|| cx.program.param_arg(*param)));
        }
        cx.program.types.args(&list)
    }

    fn bind_defaults(&mut self, cx: &mut Checked, generics: GenericsId) -> Result<(), Misfit> {
        for index in 0..self.args.len() {
            if self.args[index].is_some() {
                continue;
            }
            let param = self.params[index];
            let before: Vec<Arg> = self.args[..index].iter().map_while(|a| *a).collect();
            match cx.default_arg(generics, param, &before) {
                Some(arg) => self.args[index] = Some(arg),
                // A pack that nothing speaks of is empty.
                None if cx.program.params[param].pack => {
                    self.args[index] = Some(Arg::Ty(cx.program.pack_of(&[])));
                }
                None => return Err(Misfit::Open(param)),
            }
        }
        Ok(())
    }

    /// Checks the bounds, promoting integers to floats where that helps.
    fn satisfy(&mut self, cx: &mut Checked, generics: GenericsId) -> Result<Args, Misfit> {
        let args = self.partial(cx);
        let Some(unmet) = cx.unmet_bound(generics, args) else {
            return Ok(args);
        };
        if let Bound::Conforms(block, _) = unmet
            && let Some(content) = cx.program.block_content(block)
        {
            // A constant buffer stands for what it holds where a parameter of interface type takes it.
            let held = |arg: &mut Option<Arg>| {
                if *arg == Some(Arg::Ty(block)) {
                    *arg = Some(Arg::Ty(content));
                }
            };
            self.args[self.hidden..].iter_mut().for_each(held);
            let args = self.partial(cx);
            if cx.unmet_bound(generics, args).is_none() {
                return Ok(args);
            }
        }
        let mut promoted = false;
        for index in 0..self.args.len() {
            if self.fixed[index] {
                continue;
            }
            if let Some(Arg::Ty(ty)) = self.args[index]
                && let Some(float) = cx.program.promoted(ty)
            {
                self.args[index] = Some(Arg::Ty(float));
                promoted = true;
            }
        }
        if promoted {
            let args = self.partial(cx);
            if cx.unmet_bound(generics, args).is_none() {
                return Ok(args);
            }
        }
        Err(Misfit::Bound(unmet))
    }
}
