//! Names: what a name in a scope means, where it is visible, and suggestions for unknown names.
//!
//! Input: the scopes that [`crate::collect`] filled. Output: [`lookup::Found`]. A lookup reports nothing; its caller does.
//!
//! | module | subject |
//! |---|---|
//! | [`lookup`] | plain names, members of types and namespaces, suggestions |
//! | [`scopes`] | scopes, and the names entered in them |
//! | [`modules`] | the modules of a program |
//! | [`library_items`] | what the checker itself needs of the library |
//! | [`usings`] | `using namespace` |
//! | [`access`] | `public`, `internal`, `private` |
//! | [`foreign`] | names of other languages, with what to write instead |
//! | [`unavailable`] | names of the language's library that ours does not have |
//! | [`uses`] | what each name of the user's files means, for editors |
//! | [`declared`] | the declaration at a position, and the type of what a name means, for editors |

pub(crate) mod access;
mod declared;
pub(crate) mod foreign;
pub(crate) mod library_items;
pub(crate) mod lookup;
pub(crate) mod modules;
pub(crate) mod scopes;
pub(crate) mod unavailable;
pub(crate) mod uses;
mod usings;

use crate::Checked;
use crate::facts::Facts;
use crate::hir::Program;
use crate::tables::Tables;

/// Finds what is declared under names, without resolving it: reads the tables and adds types to the program.
pub(crate) struct Names<'a> {
    /// The typed program, to which types are added.
    pub program: &'a mut Program,
    /// What is known beside it.
    pub tables: &'a Tables,
}

impl Checked {
    /// What is declared under names.
    pub(crate) fn names(&mut self) -> Names<'_> {
        Names { program: &mut self.program, tables: &self.tables }
    }
}

impl Names<'_> {
    /// What is resolved so far.
    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts { program: self.program, tables: self.tables }
    }
}
