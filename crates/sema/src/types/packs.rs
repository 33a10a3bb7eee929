//! Packs: generic parameters that stand for any number of types or values.
//!
//! `each T` in a list of generic parameters declares a pack; its argument is one type, a [`TyKind::Pack`]. A body is checked
//! once, while the lengths of its packs are unknown. `each x` has the type [`TyKind::Each`], with only the members that the
//! bounds provide. `expand e` is a pack, [`TyKind::Expand`], as long as the pack under `each` in it. This module keeps types
//! in normal form:
//!
//! - `expand each P` is `P`, `each (expand t)` is `t`, and a pack of one pack is that pack;
//! - a known pack inside a pack or tuple is replaced by its elements;
//! - `expand` over a pack of known elements is the pack of the expanded elements.
//!
//! Substitution restores the normal form, so that an instance contains no `each` and no `expand`. Lowering expands the bodies
//! in the same way.

use crate::Checked;
use crate::generics::assumptions::Assumptions;
use crate::hir::{Arg, Args, Bound, PackPart, Program, Ty, TyKind, Types, Val, ValKind};
use crate::types::subst::Rewrite;

/// Makes types of packs under the assumptions in force.
pub(crate) struct Packs<'a> {
    /// The types, to which new ones are added.
    pub program: &'a mut Program,
    /// What packs and their elements may be equal to.
    pub assumptions: &'a Assumptions,
}

impl Checked {
    /// Makes types of packs.
    pub(crate) fn packs(&mut self) -> Packs<'_> {
        Packs { program: &mut self.program, assumptions: &self.tables.assumptions }
    }

    /// `expand pattern`, as long as the pack `over`.
    pub(crate) fn expand_ty(&mut self, pattern: Arg, over: Ty) -> Ty {
        let none = self.program.types.args(&[]);
        self.expanded(pattern, over, Rewrite { params: &[], args: none, at: None })
    }

    /// `expand pattern` with parameters replaced; in `over` they are replaced already.
    fn expanded(&mut self, pattern: Arg, over: Ty, by: Rewrite) -> Ty {
        let Some(items) = self.program.types.elements_of(over) else {
            let pattern = self.rewrite_arg(pattern, Rewrite { at: None, ..by });
            return self.packs().open_expand(pattern, over);
        };
        let mut given = vec![];
        for (index, item) in items.into_iter().enumerate() {
            let element = self.rewrite_arg(pattern, Rewrite { at: Some(index), ..by });
            given.push(match item {
                Arg::Ty(ty) if self.program.is_pack(ty) => Arg::Ty(self.packs().open_expand(element, ty)),
                Arg::Ty(_) | Arg::Val(_) | Arg::Laid(..) => element,
            });
        }
        self.program.pack_of(&given)
    }

    /// A type that has to do with packs, with parameters replaced.
    pub(crate) fn rewrite_pack(&mut self, ty: Ty, by: Rewrite) -> Ty {
        // What stands in for a whole pack does not depend on the element that an `expand` around it is at.
        let whole = Rewrite { at: None, ..by };
        match self.program.types.kind(ty) {
            TyKind::Pack(list) => {
                let list = self.rewrite_args(list, by);
                let items = self.program.types.list(list).to_vec();
                self.program.pack_of(&items)
            }
            TyKind::Expand(pattern, over) => {
                let over = self.rewrite(over, whole);
                self.expanded(pattern, over, by)
            }
            TyKind::Each(pack) => {
                let pack = self.rewrite(pack, whole);
                match self.packs().element(pack, by.at) {
                    Some(Arg::Ty(ty) | Arg::Laid(ty, _)) => ty,
                    Some(Arg::Val(_)) | None => self.packs().each_ty(pack),
                }
            }
            TyKind::Part(part, pack) => {
                let pack = self.rewrite(pack, whole);
                self.packs().part_ty(part, pack)
            }
            _ => ty,
        }
    }
}

impl Program {
    /// Whether a type stands for any number of types or values.
    pub(crate) fn is_pack(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Param(param) => self.params[param].pack,
            TyKind::Pack(_) | TyKind::Expand(..) => true,
            TyKind::Part(PackPart::TrimFirst | PackPart::TrimLast, _) => true,
            _ => false,
        }
    }

    /// Whether an argument stands for any number of arguments.
    pub(crate) fn is_pack_arg(&self, arg: Arg) -> bool {
        matches!(arg, Arg::Ty(ty) if self.is_pack(ty))
    }

    /// The pack of some types or values.
    pub(crate) fn pack_of(&mut self, items: &[Arg]) -> Ty {
        let list = self.types.args(items);
        let list = self.types.spliced(list);
        match *self.types.list(list) {
            [Arg::Ty(only)] if self.is_pack(only) => only,
            _ => self.types.ty(TyKind::Pack(list)),
        }
    }

    /// The pack that can be expanded in place of a type: itself, or the members of a tuple.
    pub(crate) fn as_pack(&mut self, ty: Ty) -> Option<Ty> {
        if self.is_pack(ty) {
            return Some(ty);
        }
        match self.types.kind(ty) {
            TyKind::Tuple(list) => {
                let items = self.types.list(list).to_vec();
                Some(self.pack_of(&items))
            }
            _ => None,
        }
    }

    /// The type of the values in a pack of values.
    pub(crate) fn pack_values(&self, pack: Ty) -> Option<Ty> {
        match self.types.kind(pack) {
            TyKind::Param(param) => self.params[param].value,
            TyKind::Part(_, whole) => self.pack_values(whole),
            _ => None,
        }
    }

    /// `countof(pack)`.
    pub(crate) fn count_val(&mut self, pack: Ty) -> Val {
        match self.types.elements_of(pack) {
            Some(items) if !items.iter().any(|item| self.is_pack_arg(*item)) => {
                self.types.int_val(items.len() as i64)
            }
            _ => self.types.val(ValKind::Count(pack)),
        }
    }
}

impl Types {
    /// A list in which known packs are replaced by their elements.
    pub(crate) fn spliced(&mut self, list: Args) -> Args {
        let types = &*self;
        let known = |arg: &Arg| match arg {
            Arg::Ty(ty) => match types.kind(*ty) {
                TyKind::Pack(inner) => Some(inner),
                _ => None,
            },
            Arg::Val(_) | Arg::Laid(..) => None,
        };
        if !types.list(list).iter().any(|arg| known(arg).is_some()) {
            return list;
        }
        let mut flat = vec![];
        for arg in types.list(list) {
            match known(arg) {
                Some(inner) => flat.extend_from_slice(types.list(inner)),
                None => flat.push(*arg),
            }
        }
        self.args(&flat)
    }

    /// Whether a type is the pack without elements.
    pub(crate) fn is_empty_pack(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Pack(list) if self.list(list).is_empty())
    }

    /// The members of a pack or tuple; packs among them are not known yet.
    pub(crate) fn elements_of(&self, ty: Ty) -> Option<Vec<Arg>> {
        match self.kind(ty) {
            TyKind::Pack(list) | TyKind::Tuple(list) => Some(self.list(list).to_vec()),
            _ => None,
        }
    }

    /// `each pack`, of values.
    pub(crate) fn each_val(&mut self, pack: Ty) -> Val {
        match self.kind(pack) {
            TyKind::Expand(Arg::Val(pattern), _) => pattern,
            _ => self.val(ValKind::Each(pack)),
        }
    }

    /// The first or last element of a pack of values.
    pub(crate) fn part_val(&mut self, part: PackPart, pack: Ty) -> Val {
        let open = ValKind::Part(part, pack);
        let kind = match (part, self.elements_of(pack).as_deref()) {
            (PackPart::First, Some([Arg::Val(val), ..])) => return *val,
            (PackPart::Last, Some([.., Arg::Val(val)])) => return *val,
            (_, Some([])) => ValKind::Error,
            _ => open,
        };
        self.val(kind)
    }

    /// The type under which the assumptions about an element of a pack are found: a part has the elements of the whole.
    pub(crate) fn whole_element(&mut self, ty: Ty) -> Option<Ty> {
        let mut pack = match self.kind(ty) {
            TyKind::Each(pack) | TyKind::Part(PackPart::First | PackPart::Last, pack) => pack,
            _ => return None,
        };
        while let TyKind::Part(_, inner) = self.kind(pack) {
            pack = inner;
        }
        Some(self.ty(TyKind::Each(pack)))
    }

    /// Whether a type is a member of one not yet known; these give way to what they are equal to.
    fn is_member(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Assoc(..))
    }

    fn is_param(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Param(_) | TyKind::Each(_))
    }
}

impl Packs<'_> {
    /// `each pack`.
    pub(crate) fn each_ty(&mut self, pack: Ty) -> Ty {
        match self.program.types.kind(pack) {
            TyKind::Error => pack,
            TyKind::Expand(Arg::Ty(pattern), _) => pattern,
            _ => {
                let open = self.program.types.ty(TyKind::Each(pack));
                self.known_equal(open).unwrap_or(open)
            }
        }
    }

    fn open_expand(&mut self, pattern: Arg, over: Ty) -> Ty {
        let is_each = match pattern {
            Arg::Ty(pattern) => pattern == self.each_ty(over),
            Arg::Val(pattern) => pattern == self.program.types.each_val(over),
            Arg::Laid(..) => false,
        };
        if is_each { over } else { self.program.types.ty(TyKind::Expand(pattern, over)) }
    }

    /// An element or a part of a pack.
    pub(crate) fn part_ty(&mut self, part: PackPart, pack: Ty) -> Ty {
        let open = self.program.types.ty(TyKind::Part(part, pack));
        let Some(mut items) = self.program.types.elements_of(pack) else {
            return self.known_equal(open).unwrap_or(open);
        };
        let at_start = matches!(part, PackPart::First | PackPart::TrimFirst);
        let end = if at_start { items.first() } else { items.last() };
        let Some(end) = end.copied().filter(|end| !self.program.is_pack_arg(*end)) else {
            return if items.is_empty() { self.program.types.error() } else { open };
        };
        match (part, end) {
            (PackPart::First | PackPart::Last, Arg::Ty(ty) | Arg::Laid(ty, _)) => return ty,
            (PackPart::First | PackPart::Last, Arg::Val(_)) => return self.program.types.error(),
            (PackPart::TrimFirst, _) => drop(items.remove(0)),
            (PackPart::TrimLast, _) => drop(items.pop()),
        }
        self.program.pack_of(&items)
    }

    /// The element of a pack at a place, if both are known.
    pub(crate) fn element(&mut self, pack: Ty, at: Option<usize>) -> Option<Arg> {
        match self.program.types.elements_of(pack)?.get(at?).copied() {
            Some(Arg::Ty(ty)) if self.program.is_pack(ty) => Some(Arg::Ty(self.each_ty(ty))),
            Some(arg) => Some(arg),
            None => Some(Arg::Ty(self.program.types.error())),
        }
    }

    /// What the assumptions in force say that a generic parameter, or an element of a pack, is.
    pub(crate) fn known_equal(&mut self, ty: Ty) -> Option<Ty> {
        let asked = self.program.types.whole_element(ty).unwrap_or(ty);
        self.assumptions.iter().find_map(|bound| match *bound {
            Bound::Equal(a, b) if a == asked && b != asked && !self.program.types.is_member(b) => Some(b),
            // Of two parameters the first stands for both.
            Bound::Equal(a, b)
                if b == asked && !self.program.types.is_param(a) && !self.program.types.is_member(a) =>
            {
                Some(a)
            }
            Bound::Equal(..)
            | Bound::Conforms(..)
            | Bound::Count(..)
            | Bound::NonEmpty(_)
            | Bound::Coerces(..)
            | Bound::Optional(..) => None,
        })
    }

    /// The elements of a known pack, and the pack itself where it is not known: what a bound must hold for.
    pub(crate) fn members_to_satisfy(&mut self, pack: Ty) -> Vec<Ty> {
        let Some(items) = self.program.types.elements_of(pack) else {
            return vec![self.each_ty(pack)];
        };
        let mut types = vec![];
        for item in items {
            match item {
                Arg::Ty(ty) if self.program.is_pack(ty) => types.push(self.each_ty(ty)),
                Arg::Ty(ty) | Arg::Laid(ty, _) => types.push(ty),
                Arg::Val(_) => {}
            }
        }
        types
    }
}
