//! Line information in SPIR-V: replaces the indices in naga's `OpLine`s by source locations.

use super::{Line, out_of_step, place};
use crate::Result;
use rspirv::spirv::Op;

/// The words of a header: magic number, version, generator, bound, schema.
const HEADER: usize = 5;
/// Where the header says what is beyond all ids.
const BOUND: usize = 3;

/// `plain` with the lines that the same module with naga's lines tells.
pub(crate) fn in_words(plain: &[u32], lined: &[u32], table: &[Line]) -> Result<Vec<u32>> {
    let Some(&bound) = plain.get(BOUND) else { return out_of_step() };
    let mut files: Vec<&str> = Vec::new();
    for line in table {
        if !files.contains(&line.file.as_str()) {
            files.push(&line.file);
        }
    }
    let id = |file: &str| bound + files.iter().position(|f| *f == file).unwrap_or(0) as u32;
    let mut out = plain[..HEADER.min(plain.len())].to_vec();
    out[BOUND] = bound + files.len() as u32;
    let mut rest = Instructions::of(plain);
    // A line holds until the next one or the end of its block.
    let (mut wanted, mut said) = (0, 0);
    for lined in Instructions::of(lined) {
        match (opcode(lined), lined) {
            // The one that naga calls its file by comes first of all debug information, where ours must be.
            (OP_STRING, _) => files.iter().for_each(|file| out.extend(string(id(file), file))),
            (OP_SOURCE | OP_SOURCE_CONTINUED, _) => {}
            (OP_LINE, [_, _, number, ..]) => wanted = number - 1,
            (code, _) => {
                if code == OP_LABEL {
                    (wanted, said) = (0, 0);
                }
                if let (Some(place), true) = (place(table, wanted), wanted != said) {
                    out.extend([first(4, OP_LINE), id(&place.file), place.line, place.column]);
                    said = wanted;
                }
                match rest.next().filter(|own| opcode(own) == code && own.len() == lined.len()) {
                    Some(own) => out.extend(own),
                    None => return out_of_step(),
                }
            }
        }
    }
    rest.next().map_or(Ok(out), |_| out_of_step())
}

const OP_LABEL: u32 = Op::Label as u32;
const OP_STRING: u32 = Op::String as u32;
const OP_SOURCE: u32 = Op::Source as u32;
const OP_SOURCE_CONTINUED: u32 = Op::SourceContinued as u32;
const OP_LINE: u32 = Op::Line as u32;

/// The first word of an instruction.
fn first(words: usize, code: u32) -> u32 {
    (words as u32) << 16 | code
}

fn opcode(instruction: &[u32]) -> u32 {
    instruction.first().map_or(0, |word| word & 0xffff)
}

/// `OpString`: its bytes end with a zero and are filled up to words.
fn string(id: u32, text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    [first(2 + bytes.len() / 4, OP_STRING), id].into_iter().chain(words).collect()
}

/// The instructions of a module.
struct Instructions<'w>(&'w [u32]);

impl<'w> Instructions<'w> {
    fn of(words: &'w [u32]) -> Self {
        Instructions(words.get(HEADER..).unwrap_or_default())
    }
}

impl<'w> Iterator for Instructions<'w> {
    type Item = &'w [u32];

    fn next(&mut self) -> Option<&'w [u32]> {
        let length = (self.0.first()? >> 16) as usize;
        let (this, rest) = self.0.split_at_checked(length.max(1))?;
        self.0 = rest;
        Some(this)
    }
}
