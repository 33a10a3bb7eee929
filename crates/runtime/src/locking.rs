//! The order in which launches lock the memory of buffers and textures.
//!
//! Launches in several threads may share buffers. Each locks all memory that it uses before it starts, and all lock in the same
//! order, so that none waits for another that waits for it. Memory that several parameters share is locked once.

use std::sync::Arc;

/// The memory that is used, each once, with whether it is written, in the order in which it is to be locked.
pub fn in_order<'a, M>(uses: impl IntoIterator<Item = (&'a Arc<M>, bool)>) -> Vec<(&'a Arc<M>, bool)> {
    let mut all: Vec<(&Arc<M>, bool)> = Vec::new();
    for (memory, writes) in uses {
        match all.iter_mut().find(|(other, _)| Arc::ptr_eq(other, memory)) {
            Some((_, written)) => *written |= writes,
            None => all.push((memory, writes)),
        }
    }
    all.sort_by_key(|(memory, _)| Arc::as_ptr(memory) as usize);
    all
}

#[cfg(test)]
mod tests {
    use super::in_order;
    use std::sync::Arc;

    #[test]
    fn shared_memory_is_locked_once_and_in_one_order() {
        let (a, b) = (Arc::new(1), Arc::new(2));
        let (one, other) =
            (in_order([(&a, false), (&b, false), (&a, true)]), in_order([(&b, false), (&a, true)]));
        assert_eq!(one.len(), 2);
        assert!(one.iter().zip(&other).all(|((x, _), (y, _))| Arc::ptr_eq(x, y)));
        assert!(one.iter().all(|(memory, written)| *written == Arc::ptr_eq(memory, &a)));
    }
}
