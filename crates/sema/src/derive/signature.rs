//! Signatures of derivatives.
//!
//! A [`Signature`] is what a call passes: parameters with a direction, `this` first, and a result. [`Checked::derived`]
//! computes the signature of a function's derivative. Applied again, it computes that of the second derivative; a `no_diff`
//! parameter stays `no_diff`.
//!
//! | written        | forward                  | backward                     |
//! |----------------|--------------------------|------------------------------|
//! | `in T`         | `in DifferentialPair<T>` | `inout DifferentialPair<T>`  |
//! | `out T`        | `out DifferentialPair<T>`| `in T.Differential`          |
//! | `inout T`      | `inout DifferentialPair<T>` | `inout DifferentialPair<T>` |
//! | `in P`         | `in DifferentialPtrPair<P>` | `in DifferentialPtrPair<P>` |
//! | `in N`         | `in N`                   | `in N`                       |
//! | `out N`        | `out N`                  | absent                       |
//! | `inout N`      | `inout N`                | `in N`                       |
//! | result `T`     | result `DifferentialPair<T>` | a last `in T.Differential` |
//! | result `N`     | result `N`               | absent                       |
//!
//! `T` is differentiable, `P` is an `IDifferentiablePtrType`, and `N` is neither or is marked `no_diff`. The result of a
//! backward derivative is `void`.

use crate::Checked;
use crate::facts::Facts;
use crate::hir::{Arg, DiffMode, Dir, Func, InterfaceRef, StructId, Ty, TyKind};
use crate::tables::Item;
use cotangent_base::Symbol;

/// What a call of a function, or of a derivative of one, passes and gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    /// `this`, if there is one, and the parameters.
    pub params: Vec<SigParam>,
    /// The type of the result.
    pub result: Ty,
    /// Whether the result carries no derivative though its type could.
    pub no_diff_result: bool,
}

/// A parameter of a [`Signature`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SigParam {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// Its direction.
    pub dir: Dir,
    /// Whether it carries no derivative though its type could.
    pub no_diff: bool,
}

/// What differentiation makes of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiffKind {
    /// It has no derivative.
    Plain,
    /// It has derivatives of that type.
    Value(Ty),
    /// It says where derivatives are kept.
    Pointer,
}

impl Signature {
    /// The signature of a function as it is declared.
    pub fn of(func: &Func) -> Self {
        let this = func.this.map(|this| SigParam {
            name: Symbol::new("this"),
            ty: this.ty,
            dir: if this.mutating { Dir::InOut } else { Dir::In },
            no_diff: this.no_diff,
        });
        let params =
            func.params.iter().map(|p| SigParam { name: p.name, ty: p.ty, dir: p.dir, no_diff: p.no_diff });
        Self {
            params: this.into_iter().chain(params).collect(),
            result: func.result,
            no_diff_result: func.no_diff_result,
        }
    }

    /// The types of the parameters, then that of the result.
    pub fn types(&self) -> impl Iterator<Item = Ty> {
        self.params.iter().map(|p| p.ty).chain([self.result])
    }
}

impl SigParam {
    /// The word that stands before the type, with a space after it.
    pub fn dir_word(&self) -> &'static str {
        match self.dir {
            Dir::In => "",
            Dir::Out => "out ",
            Dir::InOut => "inout ",
        }
    }
}

impl Checked {
    /// The signature of a function's derivative, in terms of the function's generic parameters; what is assumed of
    /// those must be in force.
    pub(crate) fn derived(&mut self, signature: &Signature, mode: DiffMode) -> Signature {
        match mode {
            DiffMode::Forward => self.forward_signature(signature),
            DiffMode::Backward => self.backward_signature(signature),
        }
    }

    fn forward_signature(&mut self, signature: &Signature) -> Signature {
        let params = signature.params.iter().map(|p| self.forward_param(p)).collect();
        let result = match self.diff_kind(signature.result, signature.no_diff_result) {
            DiffKind::Value(_) => self.pair_of(signature.result),
            DiffKind::Plain | DiffKind::Pointer => signature.result,
        };
        Signature { params, result, ..*signature }
    }

    fn forward_param(&mut self, param: &SigParam) -> SigParam {
        let ty = match self.diff_kind(param.ty, param.no_diff) {
            DiffKind::Value(_) => self.pair_of(param.ty),
            DiffKind::Pointer if param.dir == Dir::In => self.pointer_pair_of(param.ty),
            DiffKind::Plain | DiffKind::Pointer => param.ty,
        };
        SigParam { ty, ..*param }
    }

    fn backward_signature(&mut self, signature: &Signature) -> Signature {
        let mut params: Vec<SigParam> = vec![];
        for param in &signature.params {
            params.extend(self.backward_param(param));
        }
        if let DiffKind::Value(differential) = self.diff_kind(signature.result, signature.no_diff_result) {
            params.push(SigParam {
                name: Symbol::new("resultGradient"),
                ty: differential,
                dir: Dir::In,
                no_diff: false,
            });
        }
        Signature { params, result: self.program.types.ty(TyKind::Void), no_diff_result: false }
    }

    fn backward_param(&mut self, param: &SigParam) -> Option<SigParam> {
        let (ty, dir) = match (self.diff_kind(param.ty, param.no_diff), param.dir) {
            (DiffKind::Value(_), Dir::In | Dir::InOut) => (self.pair_of(param.ty), Dir::InOut),
            (DiffKind::Value(differential), Dir::Out) => (differential, Dir::In),
            (DiffKind::Pointer, Dir::In) => (self.pointer_pair_of(param.ty), Dir::In),
            (DiffKind::Plain, Dir::In | Dir::InOut) | (DiffKind::Pointer, Dir::InOut) => (param.ty, Dir::In),
            (DiffKind::Plain | DiffKind::Pointer, Dir::Out) => return None,
        };
        Some(SigParam { ty, dir, ..*param })
    }

    /// What differentiation makes of a type, unless it is marked `no_diff`.
    pub(crate) fn diff_kind(&mut self, ty: Ty, no_diff: bool) -> DiffKind {
        if self.program.is_pack(ty) {
            let element = self.packs().each_ty(ty);
            return match self.diff_kind(element, no_diff) {
                DiffKind::Value(differential) => DiffKind::Value(self.expand_ty(Arg::Ty(differential), ty)),
                kind @ (DiffKind::Plain | DiffKind::Pointer) => kind,
            };
        }
        if no_diff || matches!(self.program.types.kind(ty), TyKind::Void | TyKind::Error) {
            return DiffKind::Plain;
        }
        if let Some(differential) = self.differential_of(ty) {
            return DiffKind::Value(differential);
        }
        match self.is_pointer_type(ty) {
            true => DiffKind::Pointer,
            false => DiffKind::Plain,
        }
    }

    /// `DifferentialPair<ty>`.
    pub(crate) fn pair_of(&mut self, ty: Ty) -> Ty {
        self.library_struct("DifferentialPair", ty)
    }

    /// `DifferentialPtrPair<ty>`, if the type says where derivatives are kept.
    pub(crate) fn pointer_pair(&mut self, ty: Ty) -> Option<Ty> {
        (self.diff_kind(ty, false) == DiffKind::Pointer).then(|| self.pointer_pair_of(ty))
    }

    /// `DifferentialPtrPair<ty>`.
    fn pointer_pair_of(&mut self, ty: Ty) -> Ty {
        self.library_struct("DifferentialPtrPair", ty)
    }

    /// The structure of that name in the library, applied to `ty`; to each element if it is a pack.
    fn library_struct(&mut self, lang: &str, ty: Ty) -> Ty {
        if self.program.is_pack(ty) {
            let element = self.packs().each_ty(ty);
            let pattern = self.library_struct(lang, element);
            return self.expand_ty(Arg::Ty(pattern), ty);
        }
        match self.facts().lang_struct(lang) {
            Some(id) => {
                let args = self.program.types.args(&[Arg::Ty(ty)]);
                self.program.types.ty(TyKind::Struct(id, args))
            }
            None => self.program.types.error(),
        }
    }

    /// Whether the type conforms to `IDifferentiablePtrType`. An interface value does not: nothing says where its derivatives are.
    fn is_pointer_type(&mut self, ty: Ty) -> bool {
        if matches!(self.program.types.kind(ty), TyKind::Interface(..) | TyKind::Error) {
            return false;
        }
        let Some(Item::Interface(interface)) =
            self.tables.lang.get(&"IDifferentiablePtrType".into()).copied()
        else {
            return false;
        };
        let args = self.program.types.args(&[]);
        self.conforms(ty, InterfaceRef { interface, args })
    }
}

impl Facts<'_> {
    fn lang_struct(self, lang: &str) -> Option<StructId> {
        match self.tables.lang.get(&Symbol::new(lang)) {
            Some(Item::Struct(id)) => Some(*id),
            _ => None,
        }
    }

    /// Whether the type is `DifferentialPtrPair<..>`.
    pub(crate) fn is_pointer_pair(self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Struct(id, _) => self.lang_struct("DifferentialPtrPair") == Some(id),
            _ => false,
        }
    }
}
