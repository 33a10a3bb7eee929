//! Memory that is aligned for everything that programs hold.
#![allow(unsafe_code)]

/// Bytes at an address that is a multiple of 16.
#[derive(Default, Debug)]
pub(crate) struct Bytes {
    words: Vec<u128>,
    len: usize,
}

impl Bytes {
    /// So many zeros.
    pub fn zeroed(len: usize) -> Bytes {
        Bytes { words: vec![0; len.div_ceil(16)], len }
    }

    /// So many zeros, if there is as much memory.
    pub fn try_zeroed(len: usize) -> Option<Bytes> {
        let count = len.div_ceil(16);
        let layout = std::alloc::Layout::array::<u128>(count).ok()?;
        if count == 0 {
            return Some(Bytes::default());
        }
        // SAFETY: the size is not zero.
        let address = unsafe { std::alloc::alloc_zeroed(layout) };
        // SAFETY: it was allocated with the layout of as many words, and zero is a word.
        (!address.is_null())
            .then(|| Bytes { words: unsafe { Vec::from_raw_parts(address.cast(), count, count) }, len })
    }

    /// A copy of some bytes.
    pub fn copied(bytes: &[u8]) -> Bytes {
        let mut own = Bytes::zeroed(bytes.len());
        own.as_mut_slice().copy_from_slice(bytes);
        own
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The address of the first, for native code.
    pub fn address(&self) -> *mut u8 {
        self.words.as_ptr().cast_mut().cast()
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the words have at least that many bytes, and bytes may have any value.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above; the words are borrowed as long as the slice is.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }

    pub fn clear(&mut self) {
        self.words.fill(0);
    }
}
