//! The result of the checker: the typed program with its diagnostics.
//!
//! The bodies of the user's functions are checked before a [`Checked`] is returned. Bodies of the library are checked when
//! [`Queries`](crate::Queries) first needs them, in a copy-on-write clone. So a finished [`Checked`] does not change and can
//! be shared between threads. The same type is the checker's state while it works; the other modules of this crate extend it.

use crate::hir::{Args, FuncId, GenericParamId, Generics, Program, Synth, Ty, Witness};
use crate::tables::Tables;
use cotangent_base::Diagnostics;

/// A program without errors, or with those in `diagnostics`.
#[derive(Clone, Default)]
pub struct Checked {
    /// All declarations.
    pub program: Program,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
    /// What is known beside that, by owner.
    pub(crate) tables: Tables,
}

/// Arguments for generic parameters.
#[derive(Clone, Debug)]
pub struct Subst {
    /// The parameters.
    pub params: Vec<GenericParamId>,
    /// An argument for each.
    pub args: Args,
    /// The element that `each` stands for.
    pub at: Option<usize>,
}

impl Subst {
    /// Arguments for the parameters of a declaration.
    pub fn new(generics: &Generics, args: Args) -> Self {
        Self { params: generics.params.clone(), args, at: None }
    }
}

impl Checked {
    /// Makes clones cheap: they share all that they do not change.
    pub(crate) fn share(&mut self) {
        self.program.share();
        self.tables.share();
    }

    /// What the compiler makes for this requirement of `IDifferentiable`.
    pub fn synthesized(&self, requirement: FuncId) -> Option<Synth> {
        match self.facts().synthesized_witness(requirement)? {
            Witness::Synth(synth) => Some(synth),
            Witness::Func(_) | Witness::Field(_) => None,
        }
    }

    /// The enumerators that the user declares, with their types: `Kind.Round` and its number.
    pub fn user_enumerators(&self) -> Vec<(String, i64)> {
        let own = self.tables.enums.iter().filter(|(_, info)| !self.tables.scopes[info.scope].is_library());
        own.flat_map(|(id, _)| {
            let data = &self.program.enums[id];
            data.cases.iter().map(|(case, value)| (format!("{}.{case}", data.name), *value))
        })
        .collect()
    }

    /// Whether a function belongs to the library.
    pub fn is_library(&self, func: FuncId) -> bool {
        self.facts().is_library(func)
    }

    /// A type as the user would write it.
    pub fn show(&self, ty: Ty) -> String {
        self.facts().show(ty)
    }
}

#[cfg(test)]
mod tests {
    use super::Checked;

    #[test]
    fn a_checked_program_can_be_shared_between_threads() {
        fn shared<T: Clone + Send + Sync>() {}
        shared::<Checked>();
    }
}
