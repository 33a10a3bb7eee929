//! Types: from syntax to [`Ty`](crate::hir::Ty), and what can be done with them.
//!
//! | module | subject |
//! |---|---|
//! | [`resolve`] | resolves types as written |
//! | [`resolving`] | the context while a type is resolved |
//! | [`show`] | types as the user writes them |
//! | [`subst`] | replacing generic parameters; associated types |
//! | [`matching`] | whether a type is an instance of a pattern |
//! | [`packs`] | packs of types and values |
//! | [`measure`] | `sizeof`, `alignof` |
//! | [`leaves`] | how many values a structure has in its fields and theirs |

pub(crate) mod leaves;
mod matching;
mod measure;
pub(crate) mod packs;
pub(crate) mod resolve;
pub(crate) mod resolving;
pub(crate) mod show;
pub(crate) mod subst;
