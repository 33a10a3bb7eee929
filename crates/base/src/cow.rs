//! Tables that share chunks with their clones.
//!
//! A [`CowMap`] is an [`EntityMap`](crate::EntityMap) in chunks. While it is filled, it owns every chunk, and writes have no
//! overhead. [`CowMap::share`] makes the chunks reference-counted: from then on, a clone costs one reference count per chunk,
//! and the first write to a chunk, by the clone or the original, copies that chunk only.

use crate::Entity;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// How many entities share a chunk: few enough to copy when one is changed.
const CHUNK: usize = 16;

/// A vector indexed by an entity. Clones share the chunks that neither has changed.
#[derive(Clone)]
pub struct CowMap<K, V> {
    chunks: Vec<Chunk<V>>,
    len: usize,
    key: PhantomData<K>,
}

#[derive(Clone)]
enum Chunk<V> {
    Own(Vec<V>),
    Shared(Arc<Vec<V>>),
}

impl<V> Chunk<V> {
    fn items(&self) -> &[V] {
        match self {
            Chunk::Own(items) => items,
            Chunk::Shared(items) => items,
        }
    }
}

impl<V: Clone> Chunk<V> {
    fn items_mut(&mut self) -> &mut Vec<V> {
        if let Chunk::Shared(shared) = self {
            let mut own = Vec::with_capacity(CHUNK);
            match Arc::get_mut(shared) {
                Some(items) => own.append(items),
                None => own.extend_from_slice(shared),
            }
            *self = Chunk::Own(own);
        }
        match self {
            Chunk::Own(items) => items,
            Chunk::Shared(_) => unreachable!("it was made our own"),
        }
    }
}

impl<K: Entity, V> CowMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { chunks: Vec::new(), len: 0, key: PhantomData }
    }
    /// The entity the next `push` will return.
    pub fn next_key(&self) -> K {
        K::new(self.len)
    }
    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The value of `key`, if it belongs to this map.
    pub fn get(&self, key: K) -> Option<&V> {
        self.chunks.get(key.index() / CHUNK)?.items().get(key.index() % CHUNK)
    }
    /// All entities, in order. The iterator does not borrow the map.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.len).map(K::new)
    }
    /// All entities with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> + Clone {
        self.values().enumerate().map(|(i, v)| (K::new(i), v))
    }
    /// All values, in order.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.chunks.iter().flat_map(Chunk::items)
    }
    /// Makes clones cheap until the next change.
    pub fn share(&mut self) {
        for chunk in &mut self.chunks {
            if let Chunk::Own(items) = chunk {
                *chunk = Chunk::Shared(Arc::new(std::mem::take(items)));
            }
        }
    }
}

impl<K: Entity, V: Clone> CowMap<K, V> {
    /// Appends `value` and returns its entity.
    pub fn push(&mut self, value: V) -> K {
        let key = self.next_key();
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Chunk::Own(Vec::with_capacity(CHUNK)));
        }
        self.chunks[self.len / CHUNK].items_mut().push(value);
        self.len += 1;
        key
    }
}

impl<K, V> Default for CowMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0, key: PhantomData }
    }
}

impl<K: Entity, V> Index<K> for CowMap<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.chunks[key.index() / CHUNK].items()[key.index() % CHUNK]
    }
}

impl<K: Entity, V: Clone> IndexMut<K> for CowMap<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.chunks[key.index() / CHUNK].items_mut()[key.index() % CHUNK]
    }
}

impl<K: Entity, V: fmt::Debug> fmt::Debug for CowMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
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
    fn a_clone_and_its_original_do_not_see_each_others_changes() {
        let mut map = CowMap::<Thing, usize>::new();
        let things: Vec<Thing> = (0..3 * CHUNK + 1).map(|n| map.push(n)).collect();
        map.share();
        let mut clone = map.clone();
        clone[things[40]] = 7;
        let added = clone.push(8);
        map[things[41]] = 9;
        assert_eq!((map[things[40]], map[things[41]], map.len()), (40, 9, things.len()));
        assert_eq!((clone[things[40]], clone[things[41]], clone[added]), (7, 41, 8));
        assert!(map.get(added).is_none());
        let sum = |map: &CowMap<Thing, usize>| map.values().sum::<usize>();
        assert_eq!(sum(&clone) + 40 - 7 - 8, sum(&map) + 41 - 9);
    }

    #[test]
    fn untouched_chunks_are_shared() {
        let mut map = CowMap::<Thing, usize>::new();
        let things: Vec<Thing> = (0..3 * CHUNK).map(|n| map.push(n)).collect();
        map.share();
        let mut clone = map.clone();
        clone[things[0]] = 1;
        let same = |thing: Thing| std::ptr::eq(&map[thing], &clone[thing]);
        assert!(!same(things[0]) && !same(things[1]) && same(things[CHUNK]) && same(things[2 * CHUNK]));
    }
}
