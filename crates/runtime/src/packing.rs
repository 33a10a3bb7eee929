//! How the elements of a buffer move between the host and a back end.
//!
//! Input: the type of the elements, and what a back end stores for one. Output: checked ranges and converted bytes. On the host,
//! elements are in C layout and `outer` bytes apart; the back end may store them in a layout of its own, `inner` bytes apart.
//! Callers name bytes on the host, and always whole elements. Back ends own the memory and nothing else of a buffer.

use crate::{Element, Failure};
use cotangent_ir::layout::{Repack, Rules};
use std::ops::Range;

/// How elements move, and how far they are apart on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    /// None if the bytes are the same on both sides, or the back end converts them.
    repack: Option<Repack>,
    outer: usize,
    inner: usize,
}

impl Packing {
    /// Elements that take `inner` bytes each, given those that they take on the host.
    pub fn new(element: &Element, inner: impl FnOnce(usize) -> usize) -> Result<Packing, Failure> {
        let Some(outer) = element.stride() else {
            return Err(Failure::usage("the elements of the buffer have no layout"));
        };
        Ok(Packing { repack: None, outer, inner: inner(outer) })
    }

    /// Elements that are stored by these rules, if they have a layout on both sides.
    pub fn by(element: &Element, rules: Rules) -> Option<Packing> {
        let (types, ty) = element.ty();
        let inner = rules.stride(types, ty).map(|n| n as usize).filter(|n| *n > 0)?;
        let repack = Some(Repack::new(types, ty, Rules::C, rules)?);
        Some(Packing { repack, outer: element.stride()?, inner })
    }

    /// The distance of elements on the host.
    pub fn outer(&self) -> usize {
        self.outer
    }

    /// The distance of elements in the back end.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// How many elements these bytes are, which must be whole.
    pub fn count(&self, bytes: &[u8]) -> Result<usize, Failure> {
        let (size, stride) = (bytes.len(), self.outer);
        if !size.is_multiple_of(stride) {
            return Err(Failure::usage(format!("{size} bytes are no whole elements of {stride} bytes")));
        }
        Ok(size / stride)
    }

    /// Where the back end stores a range of a buffer of `count` elements.
    pub fn range(&self, count: usize, range: Range<usize>) -> Result<Range<usize>, Failure> {
        let (outer, size) = (self.outer, count * self.outer);
        let Range { start, end } = range;
        let is_whole = start.is_multiple_of(outer) && end.is_multiple_of(outer);
        if !is_whole || start > end || end > size {
            return Err(Failure::usage(format!(
                "bytes {start} to {end} are no elements of a buffer of {size} bytes, whose elements have {outer}"
            )));
        }
        Ok(start / outer * self.inner..end / outer * self.inner)
    }

    /// Whole elements as the back end stores them.
    pub fn inward(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.repack {
            Some(repack) => converted(repack, bytes, self.outer, self.inner),
            None => bytes.to_vec(),
        }
    }

    /// The way back; bytes that belong to no number are zero.
    pub fn outward(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.repack {
            Some(repack) => converted(&repack.reversed(), bytes, self.inner, self.outer),
            None => bytes.to_vec(),
        }
    }
}

fn converted(repack: &Repack, bytes: &[u8], from: usize, to: usize) -> Vec<u8> {
    let mut out = vec![0; bytes.len() / from * to];
    for (from, to) in bytes.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
        repack.apply(from, to);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Packing;
    use crate::Element;
    use cotangent_base::Scalar;

    #[test]
    fn ranges_are_whole_elements_of_the_buffer() {
        let packing =
            Packing::new(&Element::scalar(Scalar::F32), |outer| 2 * outer).expect("it has a layout");
        assert_eq!(packing.count(&[0; 12]).expect("three floats"), 3);
        assert_eq!(packing.range(3, 4..12).expect("the last two"), 8..24);
        let wrong = |range| packing.range(3, range).expect_err("it is refused").to_string();
        let text = "bytes 2 to 8 are no elements of a buffer of 12 bytes, whose elements have 4";
        assert_eq!(wrong(2..8), text);
        assert!(wrong(8..16).starts_with("bytes 8 to 16 are no elements"));
        assert!(wrong(8..usize::MAX).contains("no elements"));
        let text = "7 bytes are no whole elements of 4 bytes";
        assert_eq!(packing.count(&[0; 7]).expect_err("it is refused").to_string(), text);
    }
}
