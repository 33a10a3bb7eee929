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
