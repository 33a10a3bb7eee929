//! Typed indices: a `Value` is not an `Inst`, although both are a `u32`.
//!
//! [`entity!`](crate::entity) declares an index with the prefix under which it prints; [`EntityMap`] is a
//! vector indexed by one, and [`EntitySet`] a bit set of them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index into an [`EntityMap`].
pub trait Entity: Copy + Eq + fmt::Debug {
    /// The entity with this number.
    fn new(index: usize) -> Self;
    /// The number of this entity.
    fn index(self) -> usize;
}

/// Declares an index type: `entity!(/// A value. Value, "%");`
#[macro_export]
macro_rules! entity {
    ($(#[$meta:meta])* $name:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $crate::Entity for $name {
            fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

/// A vector indexed by an entity; `push` hands out the next one.
#[derive(Clone, PartialEq, Eq)]
pub struct EntityMap<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: Entity, V> EntityMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }
    /// Appends `value` and returns its entity.
    pub fn push(&mut self, value: V) -> K {
        self.items.push(value);
        K::new(self.items.len() - 1)
    }
    /// The entity the next `push` will return.
    pub fn next_key(&self) -> K {
        K::new(self.items.len())
    }
    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The value of `key`, if it belongs to this map.
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }
    /// All entities, in order. The iterator does not borrow the map.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::new)
    }
    /// All entities with their values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, v)| (K::new(i), v))
    }
    /// All values, in order.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }
    /// All values, in order, without the map.
    pub fn into_values(self) -> std::vec::IntoIter<V> {
        self.items.into_iter()
    }
    /// All values, in order, to be changed.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }
}

impl<K: Entity, V: Clone> EntityMap<K, V> {
    /// `len` copies of `value`: a side table for a map of that length.
    pub fn filled(value: V, len: usize) -> Self {
        Self { items: vec![value; len], key: PhantomData }
    }
    /// Grows the map so that `key` has a value, filling with `value`.
    pub fn grow_to(&mut self, key: K, value: V) {
        if key.index() >= self.items.len() {
            self.items.resize(key.index() + 1, value);
        }
    }
}

impl<K, V> Default for EntityMap<K, V> {
    fn default() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }
}

impl<K: Entity, V> Index<K> for EntityMap<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for EntityMap<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K: Entity, V> FromIterator<V> for EntityMap<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self { items: items.into_iter().collect(), key: PhantomData }
    }
}

impl<K: Entity, V: fmt::Debug> fmt::Debug for EntityMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A growing bit set of entities.
#[derive(Clone, PartialEq, Eq)]
pub struct EntitySet<K> {
    words: Vec<u64>,
    key: PhantomData<K>,
}

impl<K: Entity> EntitySet<K> {
    /// An empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new(), key: PhantomData }
    }
    /// Adds `key`; says whether it is new.
    pub fn insert(&mut self, key: K) -> bool {
        let (word, bit) = (key.index() / 64, 1u64 << (key.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }
    /// Takes `key` out; says whether it was there.
    pub fn remove(&mut self, key: K) -> bool {
        let was = self.contains(key);
        if was {
            self.words[key.index() / 64] &= !(1u64 << (key.index() % 64));
        }
        was
    }
    /// Whether `key` is in the set.
    pub fn contains(&self, key: K) -> bool {
        self.words.get(key.index() / 64).is_some_and(|w| w >> (key.index() % 64) & 1 == 1)
    }
    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }
    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = K> {
        let bits = |(i, &w): (usize, &u64)| (0..64).filter(move |b| w >> b & 1 == 1).map(move |b| i * 64 + b);
        self.words.iter().enumerate().flat_map(bits).map(K::new)
    }
}

impl<K: Entity> Default for EntitySet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity> FromIterator<K> for EntitySet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: Entity> Extend<K> for EntitySet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Entity> fmt::Debug for EntitySet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    crate::entity!(
        /// An entity of the tests.
        Thing,
        "thing"
    );

    #[test]
    fn a_map_hands_out_entities_in_order() {
        let mut map = EntityMap::<Thing, &str>::new();
        let (a, b) = (map.push("a"), map.push("b"));
        assert_eq!((map[a], map[b]), ("a", "b"));
        assert_eq!(b.to_string(), "thing1");
    }

    #[test]
    fn a_set_forgets_what_is_removed() {
        let mut set: EntitySet<Thing> = [3, 64, 200].map(Thing::new).into_iter().collect();
        assert!(!set.insert(Thing::new(64)));
        assert!(set.remove(Thing::new(64)));
        assert_eq!(set.iter().map(Thing::index).collect::<Vec<_>>(), [3, 200]);
    }
}
