//! A cache: values that are computed once per key and shared.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Values by key. Who asks for one that another thread computes waits; different keys do not wait for each other.
pub(crate) struct Memo<K, V> {
    entries: Mutex<Vec<(K, Slot<V>)>>,
}

/// A value, or the place for it.
type Slot<V> = Arc<OnceLock<Arc<V>>>;

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo { entries: Mutex::default() }
    }
}

impl<K: PartialEq + Clone, V> Memo<K, V> {
    /// The value of a key, made now if there is none.
    pub(crate) fn get(&self, key: &K, make: impl FnOnce() -> V) -> Arc<V> {
        let slot = {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            match entries.iter().find(|(other, _)| other == key) {
                Some((_, slot)) => slot.clone(),
                None => {
                    let slot = Slot::default();
                    entries.push((key.clone(), slot.clone()));
                    slot
                }
            }
        };
        slot.get_or_init(|| Arc::new(make())).clone()
    }

    /// The value of a key, if it was made.
    pub(crate) fn made(&self, key: &K) -> Option<Arc<V>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|(other, _)| other == key)?.1.get().cloned()
    }
}
