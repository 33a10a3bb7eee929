//! Substitutes generic parameters, and resolves associated types once their type is known.

use crate::hir::{Arg, Args, Bound, FuncRef, GenericParamId, InterfaceRef, Ty, TyKind, Types, Val, ValKind};
use crate::{Checked, Subst};
use cotangent_base::Scalar;
use cotangent_syntax::ast::BinaryOp;

/// What generic parameters are replaced by, and the element of packs that `each` stands for.
#[derive(Clone, Copy)]
pub(crate) struct Rewrite<'a> {
    pub params: &'a [GenericParamId],
    pub args: Args,
    pub at: Option<usize>,
}

impl Subst {
    pub(crate) fn rewrite(&self) -> Rewrite<'_> {
        Rewrite { params: &self.params, args: self.args, at: self.at }
    }
}

impl Checked {
    /// `ty` with each of `params` replaced by its argument.
    pub(crate) fn replace(&mut self, ty: Ty, params: &[GenericParamId], args: Args) -> Ty {
        self.rewrite(ty, Rewrite { params, args, at: None })
    }

    /// `ty` with parameters replaced.
    pub(crate) fn rewrite(&mut self, ty: Ty, by: Rewrite) -> Ty {
        if by.params.is_empty() && by.at.is_none() {
            return ty;
        }
        let kind = match self.program.types.kind(ty) {
            kind @ (TyKind::Error
            | TyKind::Void
            | TyKind::Scalar(_)
            | TyKind::Enum(_)
            | TyKind::String
            | TyKind::None) => kind,
            TyKind::Param(param) => {
                return self.program.types.argument_ty(param, by.params, by.args).unwrap_or(ty);
            }
            TyKind::Vector(t, n) => TyKind::Vector(self.rewrite(t, by), self.rewrite_val(n, by)),
            TyKind::Matrix(t, r, c) => {
                TyKind::Matrix(self.rewrite(t, by), self.rewrite_val(r, by), self.rewrite_val(c, by))
            }
            TyKind::Array(t, n) => TyKind::Array(self.rewrite(t, by), self.rewrite_val(n, by)),
            TyKind::UnsizedArray(t) => TyKind::UnsizedArray(self.rewrite(t, by)),
            TyKind::Struct(id, list) => TyKind::Struct(id, self.rewrite_args(list, by)),
            TyKind::Interface(id, list) => TyKind::Interface(id, self.rewrite_args(list, by)),
            TyKind::Tuple(list) => {
                let list = self.rewrite_args(list, by);
                TyKind::Tuple(self.program.types.spliced(list))
            }
            TyKind::Assoc(t, assoc, list) => {
                let t = self.rewrite(t, by);
                let list = self.rewrite_args(list, by);
                return self.project(t, assoc, list);
            }
            TyKind::Pack(_) | TyKind::Expand(..) | TyKind::Each(_) | TyKind::Part(..) => {
                return self.rewrite_pack(ty, by);
            }
        };
        self.program.types.ty(kind)
    }

    /// `val` with each of `params` replaced by its argument, computed as far as possible.
    pub(crate) fn replace_val(&mut self, val: Val, params: &[GenericParamId], args: Args) -> Val {
        self.rewrite_val(val, Rewrite { params, args, at: None })
    }

    /// `val` with parameters replaced, computed as far as possible.
    pub(crate) fn rewrite_val(&mut self, val: Val, by: Rewrite) -> Val {
        match self.program.types.val_kind(val) {
            ValKind::Int(_) | ValKind::Error => val,
            ValKind::Param(param) => {
                let index = by.params.iter().position(|p| *p == param);
                match index.and_then(|i| self.program.types.list(by.args).get(i)) {
                    Some(Arg::Val(val)) => *val,
                    Some(Arg::Ty(_) | Arg::Laid(..)) | None => val,
                }
            }
            ValKind::Binary(op, scalar, a, b) => {
                let a = self.rewrite_val(a, by);
                let b = self.rewrite_val(b, by);
                self.program.types.binary_val(op, scalar, a, b)
            }
            ValKind::Measure(measure, ty) => {
                let ty = self.rewrite(ty, by);
                self.measure_val(measure, ty).unwrap_or(val)
            }
            ValKind::Each(pack) => {
                let pack = self.rewrite(pack, Rewrite { at: None, ..by });
                match self.packs().element(pack, by.at) {
                    Some(Arg::Val(val)) => val,
                    Some(Arg::Ty(_) | Arg::Laid(..)) | None => self.program.types.each_val(pack),
                }
            }
            ValKind::Part(part, pack) => {
                let pack = self.rewrite(pack, Rewrite { at: None, ..by });
                self.program.types.part_val(part, pack)
            }
            ValKind::Choice(c, a, b) => {
                let c = self.rewrite_val(c, by);
                // The other side may not exist: `N > 0 ? 8 / N : 0`.
                match self.program.types.known(c) {
                    Some(0) => self.rewrite_val(b, by),
                    Some(_) => self.rewrite_val(a, by),
                    None => {
                        let (a, b) = (self.rewrite_val(a, by), self.rewrite_val(b, by));
                        self.program.types.val(ValKind::Choice(c, a, b))
                    }
                }
            }
            ValKind::Count(pack) => {
                let pack = self.rewrite(pack, by);
                self.program.count_val(pack)
            }
            ValKind::Conforms(ty, interface) => {
                let ty = self.rewrite(ty, by);
                let args = self.rewrite_args(interface.args, by);
                self.conformance_val(ty, InterfaceRef { args, ..interface })
            }
            ValKind::Required(func) => {
                let args = self.rewrite_args(func.args, by);
                self.required_val(FuncRef { args, ..func })
            }
        }
    }

    /// A list with each of `params` replaced by its argument.
    pub(crate) fn replace_args(&mut self, list: Args, params: &[GenericParamId], args: Args) -> Args {
        self.rewrite_args(list, Rewrite { params, args, at: None })
    }

    /// A list with parameters replaced. A pack stays one argument.
    pub(crate) fn rewrite_args(&mut self, list: Args, by: Rewrite) -> Args {
        let items = self.program.types.list(list).to_vec();
        if items.is_empty() {
            return list;
        }
        let items: Vec<Arg> = items.into_iter().map(|arg| self.rewrite_arg(arg, by)).collect();
        self.program.types.args(&items)
    }

    /// An argument with parameters replaced.
    pub(crate) fn rewrite_arg(&mut self, arg: Arg, by: Rewrite) -> Arg {
        match arg {
            Arg::Ty(ty) => match self.program.types.laid_argument(ty, by) {
                Some(laid) => laid,
                None => Arg::Ty(self.rewrite(ty, by)),
            },
            Arg::Val(val) => Arg::Val(self.rewrite_val(val, by)),
            Arg::Laid(ty, row_major) => Arg::Laid(self.rewrite(ty, by), row_major),
        }
    }

    /// An interface with parameters replaced.
    pub(crate) fn replace_interface(
        &mut self,
        interface: InterfaceRef,
        params: &[GenericParamId],
        args: Args,
    ) -> InterfaceRef {
        InterfaceRef { interface: interface.interface, args: self.replace_args(interface.args, params, args) }
    }

    /// An assumption with parameters replaced.
    pub(crate) fn replace_bound(&mut self, bound: Bound, params: &[GenericParamId], args: Args) -> Bound {
        match bound {
            Bound::Conforms(ty, interface) => Bound::Conforms(
                self.replace(ty, params, args),
                self.replace_interface(interface, params, args),
            ),
            Bound::Equal(a, b) => Bound::Equal(self.replace(a, params, args), self.replace(b, params, args)),
            Bound::Count(pack, count) => {
                Bound::Count(self.replace(pack, params, args), self.replace_val(count, params, args))
            }
            Bound::Coerces(to, from, implicit) => {
                Bound::Coerces(self.replace(to, params, args), self.replace(from, params, args), implicit)
            }
            Bound::NonEmpty(pack) => Bound::NonEmpty(self.replace(pack, params, args)),
            Bound::Optional(ty, interface, holds) => Bound::Optional(
                self.replace(ty, params, args),
                self.replace_interface(interface, params, args),
                self.replace_val(holds, params, args),
            ),
        }
    }

    /// A function with parameters replaced in its arguments.
    pub(crate) fn replace_func(&mut self, func: FuncRef, params: &[GenericParamId], args: Args) -> FuncRef {
        FuncRef { func: func.func, args: self.replace_args(func.args, params, args) }
    }

    /// `ty.assoc`, looked up if `ty` is known or the environment equates it with something.
    pub(crate) fn project(&mut self, ty: Ty, assoc: crate::hir::AssocId, args: Args) -> Ty {
        let interface = self.program.assocs[assoc].interface;
        match self.program.types.kind(ty) {
            TyKind::Error => return ty,
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {}
            TyKind::Interface(..) => return self.assoc_of_interface(ty, assoc, args),
            _ => {
                let reference = InterfaceRef { interface, args };
                if let Some(known) = self.assoc_of(ty, assoc, reference) {
                    return known;
                }
            }
        }
        let open = self.program.types.ty(TyKind::Assoc(ty, assoc, args));
        if let Some(equal) = self.equated(open) {
            return equal;
        }
        // An extension of all types may say what it is, whatever the type turns out to be.
        let reference = InterfaceRef { interface, args };
        if self.facts().is_stated_for_all(interface) && !self.bounds_of(ty).contains(&reference) {
            return self.assoc_of(ty, assoc, reference).unwrap_or(open);
        }
        open
    }

    /// The associated type of a value of interface type: whatever it is, it conforms to what the interface asks of it.
    fn assoc_of_interface(&mut self, ty: Ty, assoc: crate::hir::AssocId, args: Args) -> Ty {
        let open = self.program.types.ty(TyKind::Assoc(ty, assoc, args));
        if let Some(equal) = self.equated(open) {
            return equal;
        }
        self.ensure_assoc(assoc);
        let interface = self.program.assocs[assoc].interface;
        let params = self.facts().interface_params(interface);
        let around = self.program.interface_args(ty, InterfaceRef { interface, args });
        match self.program.assocs[assoc].bounds[..] {
            [bound] => {
                let bound = self.replace_interface(bound, &params, around);
                self.program.types.ty(TyKind::Interface(bound.interface, bound.args))
            }
            _ => open,
        }
    }

    /// What the environment or a `where` clause of an associated type equates an open projection with.
    fn equated(&mut self, open: Ty) -> Option<Ty> {
        for bound in self.constraints_on(open) {
            match bound {
                Bound::Equal(a, b) if a == open && b != open => return Some(b),
                Bound::Equal(a, b) if b == open && a != open => return Some(a),
                _ => {}
            }
        }
        for &bound in self.tables.assumptions.iter() {
            if let Bound::Equal(a, b) = bound {
                if a == open && b != open {
                    return Some(b);
                }
                if b == open && a != open {
                    return Some(a);
                }
            }
        }
        // `associatedtype D : I where D.D == D`, met as `(x.D).D`.
        let TyKind::Assoc(inner, _, _) = self.program.types.kind(open) else {
            return None;
        };
        let TyKind::Assoc(base, outer_assoc, args) = self.program.types.kind(inner) else {
            return None;
        };
        self.ensure_assoc(outer_assoc);
        let interface = self.program.assocs[outer_assoc].interface;
        let generics = self.tables.interfaces[interface].generics;
        let params = self.tables.generics[generics].params.clone();
        let mut list = vec![Arg::Ty(base)];
        list.extend_from_slice(self.program.types.list(args));
        let list = self.program.types.args(&list);
        for (a, b) in self.tables.assocs[outer_assoc].equal.clone() {
            // The left side is compared by shape: replacing parameters in it would project it away.
            if self.program.types.same_shape(a, open, &params, list) {
                return Some(self.replace(b, &params, list));
            }
        }
        None
    }
}

impl Types {
    fn argument_ty(&self, param: GenericParamId, params: &[GenericParamId], args: Args) -> Option<Ty> {
        let index = params.iter().position(|p| *p == param)?;
        self.list(args).get(index)?.ty()
    }

    /// `a op b` on operands of an integer type, computed if both are known.
    pub(crate) fn binary_val(&mut self, op: BinaryOp, scalar: Scalar, a: Val, b: Val) -> Val {
        let types = self;
        let kind = match (types.val_kind(a), types.val_kind(b)) {
            (ValKind::Error, _) | (_, ValKind::Error) => ValKind::Error,
            (ValKind::Int(x), ValKind::Int(y)) => {
                crate::bodies::constant::int_binary(op, scalar, x, y).map_or(ValKind::Error, ValKind::Int)
            }
            _ => ValKind::Binary(op, scalar, a, b),
        };
        types.val(kind)
    }

    /// What stands for a parameter among arguments, if it says how its matrices lie: `This` of a resource's methods keeps that.
    fn laid_argument(&self, ty: Ty, by: Rewrite) -> Option<Arg> {
        let TyKind::Param(param) = self.kind(ty) else { return None };
        let index = by.params.iter().position(|p| *p == param)?;
        let arg = *self.list(by.args).get(index)?;
        matches!(arg, Arg::Laid(..)).then_some(arg)
    }

    /// Whether `pattern`, with parameters replaced but nothing looked up, is `ty`.
    fn same_shape(&mut self, pattern: Ty, ty: Ty, params: &[GenericParamId], args: Args) -> bool {
        match (self.kind(pattern), self.kind(ty)) {
            (TyKind::Assoc(p, a, _), TyKind::Assoc(t, b, _)) => a == b && self.same_shape(p, t, params, args),
            (TyKind::Param(param), _) => self.argument_ty(param, params, args) == Some(ty),
            _ => pattern == ty,
        }
    }
}
