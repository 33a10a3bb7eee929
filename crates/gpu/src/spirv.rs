//! Renumbers bindings in SPIR-V.
//!
//! For Vulkan, wgpu renumbers the bindings of a group without gaps, and adapts the shaders that it translates. It does not
//! adapt SPIR-V that it passes through, so this module does.

use std::collections::BTreeMap;

const DECORATE: u32 = 71;
const BINDING: u32 = 33;
const SET: u32 = 34;
/// Words before the first instruction.
const HEADER: usize = 5;

/// The words with the numbers that the bindings, by group and number, have for the driver.
pub(crate) fn renumbered(words: &[u32], bindings: &[(u32, u32)]) -> Vec<u32> {
    let mut sets = BTreeMap::new();
    decorations(words, SET, |id, at| _ = sets.insert(id, words[at]));
    let mut out = words.to_vec();
    decorations(words, BINDING, |id, at| {
        let here = sets.get(&id).copied().unwrap_or(0);
        let before = bindings.iter().filter(|(group, index)| *group == here && *index < words[at]);
        out[at] = before.count() as u32;
    });
    out
}

/// Calls `found` for every decoration of that kind, with what is decorated and where the number of it stands.
fn decorations(words: &[u32], kind: u32, mut found: impl FnMut(u32, usize)) {
    let mut at = HEADER;
    while let Some(first) = words.get(at) {
        let (length, op) = ((first >> 16) as usize, first & 0xffff);
        if op == DECORATE && length == 4 && words.get(at + 2) == Some(&kind) && at + 3 < words.len() {
            found(words[at + 1], at + 3);
        }
        at += length.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_numbered_by_their_order_in_a_group() {
        let decorate = |id, kind, number| [4 << 16 | DECORATE, id, kind, number];
        let program = |numbers: [u32; 3]| {
            let mut words = vec![0; HEADER];
            words.push(1 << 16 | 56);
            for (id, (set, number)) in (7..).zip([0, 0, 3].into_iter().zip(numbers)) {
                words.extend(decorate(id, SET, set));
                words.extend(decorate(id, BINDING, number));
            }
            words
        };
        let bindings = [(0, 2), (0, 5), (3, 9)];
        assert_eq!(renumbered(&program([5, 2, 9]), &bindings), program([1, 0, 0]));
    }
}
