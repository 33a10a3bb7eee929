//! Tables of declarations: read everywhere, changed only by their own methods.
//!
//! An entry holds the syntax of a declaration, its scope, and how far it was resolved. A [`Table`] gives out shared
//! references to entries. What changes in an entry after it was added is a method of the table of its kind, so the possible
//! changes are listed here.
//!
//! | module | subject |
//! |---|---|
//! | [`funcs`] | functions |
//! | [`types`] | structures, interfaces, enumerations, aliases, associated types, extensions |
//! | [`values`] | globals, properties and subscripts |

mod funcs;
mod types;
mod values;

pub(crate) use funcs::{FuncInfo, FuncSource, Funcs};
pub(crate) use types::{AliasInfo, AssocInfo, EnumInfo, ExtInfo, InterfaceInfo, StructInfo};
pub(crate) use values::{ElementAccess, GlobalInfo, PropInfo};

use cotangent_base::{CowMap, Entity};
use std::fmt;
use std::ops::Index;

/// The declarations of one kind.
#[derive(Clone)]
pub(crate) struct Table<K, V> {
    entries: CowMap<K, V>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { entries: CowMap::default() }
    }
}

impl<K: Entity, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}

impl<K: Entity, V: Clone> Table<K, V> {
    /// Adds an entry.
    pub(crate) fn push(&mut self, entry: V) -> K {
        self.entries.push(entry)
    }
    /// The number that the next entry will get.
    pub(crate) fn next_key(&self) -> K {
        self.entries.next_key()
    }
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
    /// All declarations, in order. The iterator does not borrow the table.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        self.entries.keys()
    }
    /// All declarations with their entries, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.entries.iter()
    }
    /// Lets clones share the entries.
    pub(crate) fn share(&mut self) {
        self.entries.share();
    }
    /// An entry, to be changed: for the methods in this folder.
    fn edit(&mut self, key: K) -> &mut V {
        &mut self.entries[key]
    }
}

impl<K: Entity, V: Clone> Index<K> for Table<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.entries[key]
    }
}
