//! Compares how a member and the requirement it meets pass their parameters.
//!
//! A caller that knows only the requirement passes arguments as the requirement says, so the member must take each parameter in
//! the same way. One exception: where the requirement has `inout`, the member may have `in` or `out`.

use crate::facts::Facts;
use crate::hir::{Dir, FuncId, Param};
use crate::names::lookup::Found;
use crate::tables::Item;
use cotangent_syntax::ast::ModifierKind;

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passing {
    In,
    Out,
    InOut,
    Ref,
    ConstRef,
}

impl Passing {
    fn word(self) -> &'static str {
        match self {
            Passing::In => "in",
            Passing::Out => "out",
            Passing::InOut => "inout",
            Passing::Ref => "__ref",
            Passing::ConstRef => "__constref",
        }
    }

    /// Whether a parameter of a member may be passed like this where the requirement says `required`.
    fn stands_for(self, required: Passing) -> bool {
        self == required || (required == Passing::InOut && matches!(self, Passing::In | Passing::Out))
    }
}

impl<'a> Facts<'a> {
    /// Whether a member passes its parameters as a requirement does.
    pub(crate) fn passes_alike(self, required: FuncId, member: FuncId) -> bool {
        self.other_passing(required, member).is_none()
    }

    /// If only one member has the requirement's name: how its parameters are passed otherwise, for a message.
    pub(crate) fn passed_otherwise(self, required: FuncId, found: &[Found]) -> Option<String> {
        let [Found { item: Item::Func(member), .. }] = *found else { return None };
        let (param, own, wanted) = self.other_passing(required, member)?;
        let (own, wanted) = (own.word(), wanted.word());
        Some(format!("`{}` is `{own}` here, but `{wanted}` in the requirement", param.name))
    }

    /// The words before a parameter that say how it is passed.
    pub(crate) fn passing_words(self, func: FuncId, number: usize) -> &'static str {
        match self.passing(func, number) {
            Passing::In => "",
            Passing::Out => "out ",
            Passing::InOut => "inout ",
            Passing::Ref => "__ref ",
            Passing::ConstRef => "__constref ",
        }
    }

    fn other_passing(self, required: FuncId, member: FuncId) -> Option<(&'a Param, Passing, Passing)> {
        let all = |func: FuncId| &self.program.funcs[func].params;
        let pairs = all(member).iter().zip(all(required)).enumerate();
        // The elements of a pack are matched one by one elsewhere, and are only ever read.
        let mut pairs =
            pairs.take_while(|(_, (a, b))| !self.program.is_pack(a.ty) && !self.program.is_pack(b.ty));
        pairs.find_map(|(number, (param, _))| {
            let own = self.passing(member, number);
            let wanted = self.passing(required, number);
            (!own.stands_for(wanted)).then_some((param, own, wanted))
        })
    }

    fn passing(self, func: FuncId, number: usize) -> Passing {
        let param = &self.program.funcs[func].params[number];
        let written = self.tables.written_params(func).get(number);
        let constant = |m: &cotangent_syntax::ast::Modifier| m.kind == ModifierKind::ConstRef;
        match param.dir {
            _ if param.by_ref => Passing::Ref,
            Dir::Out => Passing::Out,
            Dir::InOut => Passing::InOut,
            Dir::In if written.is_some_and(|param| param.modifiers.iter().any(constant)) => Passing::ConstRef,
            Dir::In => Passing::In,
        }
    }
}
