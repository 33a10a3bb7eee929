//! The parts of a cotangent that are certain: not zero merely because the value is unused.

use cotangent_ir::{Step, Ty, Type, Types};
use std::collections::BTreeMap;

/// The parts of an aggregate, or all of it, whose cotangent is there for sure. That nothing is sure is said by having none.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Sure {
    /// All of it.
    Whole,
    /// Some parts, and of each something.
    Parts(BTreeMap<u32, Sure>),
}

impl Sure {
    /// What is sure if `self` is sure at `path`. A part with an unknown number may be any, so none is sure.
    pub fn at(self, path: &[Step]) -> Option<Sure> {
        let known = path.iter().rev().map(|step| step.known());
        known.collect::<Option<Vec<u32>>>().map(|parts| {
            parts.into_iter().fold(self, |inner, part| Sure::Parts(BTreeMap::from([(part, inner)])))
        })
    }

    /// What is sure of the part at `path`.
    pub fn part(&self, path: &[Step]) -> Option<Sure> {
        match (self, path) {
            (sure, []) => Some(sure.clone()),
            (Sure::Whole, _) => Some(Sure::Whole),
            (Sure::Parts(parts), [Step::Part(first), rest @ ..]) => parts.get(first)?.part(rest),
            (Sure::Parts(_), [Step::Index, ..]) => None,
        }
    }

    /// What is left without the part at `path`, in an aggregate of type `ty`.
    pub fn without(self, types: &Types, ty: Ty, path: &[Step]) -> Option<Sure> {
        let [Step::Part(first), rest @ ..] = path else {
            return None;
        };
        let mut parts = match self {
            Sure::Parts(parts) => parts,
            Sure::Whole => (0..types.arity(ty)?).map(|part| (part, Sure::Whole)).collect(),
        };
        if let Some(part) = parts.remove(first)
            && let Some(left) = part.without(types, types.part(ty, Some(*first))?, rest)
        {
            parts.insert(*first, left);
        }
        (!parts.is_empty()).then_some(Sure::Parts(parts))
    }

    /// What is sure by either.
    pub fn or(self, other: Sure) -> Sure {
        let (Sure::Parts(mut parts), Sure::Parts(others)) = (self, other) else {
            return Sure::Whole;
        };
        for (part, sure) in others {
            let both = match parts.remove(&part) {
                Some(known) => known.or(sure),
                None => sure,
            };
            parts.insert(part, both);
        }
        Sure::Parts(parts)
    }

    /// What is sure by both.
    pub fn and(&self, other: &Sure) -> Option<Sure> {
        let (parts, others) = match (self, other) {
            (Sure::Whole, sure) | (sure, Sure::Whole) => return Some(sure.clone()),
            (Sure::Parts(parts), Sure::Parts(others)) => (parts, others),
        };
        let both = |(part, sure): (&u32, &Sure)| Some((*part, sure.and(others.get(part)?)?));
        let both: BTreeMap<u32, Sure> = parts.iter().filter_map(both).collect();
        (!both.is_empty()).then_some(Sure::Parts(both))
    }

    /// Whether every part of a value of type `ty` is sure.
    pub fn is_whole(&self, types: &Types, ty: Ty) -> bool {
        let Sure::Parts(parts) = self else { return true };
        let is_sure = |part: u32| {
            let Some(ty) = types.part(ty, Some(part)) else { return false };
            let known = parts.get(&part).is_some_and(|sure| sure.is_whole(types, ty));
            known || types.get(ty) == Type::Unit
        };
        types.arity(ty).is_some_and(|count| (0..count).all(is_sure))
    }
}
