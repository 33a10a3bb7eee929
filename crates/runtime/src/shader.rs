//! A program as a shader, with what a device needs to run it.
//!
//! A back end for devices is independent of shader languages: it takes a [`Translate`] that writes shaders.

use crate::{Compiled, Outside, Stopped};
use cotangent_base::printf::{self, Piece, Shown};
use cotangent_base::{Diagnostic, EntitySet, Map, Scalar, Span, Symbol};
use cotangent_ir::layout::Target;
use cotangent_ir::layout::bind::LeafPlace;
use cotangent_ir::{FuncId, Global, Trap};

/// The lengths of buffers, in elements.
pub type Lengths = Map<Global, usize>;

/// Writes the shader of one entry point in the language of a target. The shader takes `lengths` as the lengths of those buffers,
/// since a device counts words and would find an element too many where a buffer ends within one.
pub type Translate = fn(&Compiled, FuncId, &Lengths, Target) -> Result<Shader, Box<Diagnostic>>;

/// A shader with one entry point.
#[derive(Clone, Debug)]
pub struct Shader {
    /// The shader.
    pub code: Code,
    /// The name of its entry point.
    pub entry: String,
    /// What not every device can do.
    pub needs: Needs,
    /// Where parameters are bound.
    pub places: Map<Global, LeafPlace>,
    /// The parameters that it uses.
    pub used: EntitySet<Global>,
    /// Where the buffer is bound in which the shader notes the first failure, and its size; group and number.
    pub flag: (u32, u32, usize),
    /// What may fail, in the order by which the flag counts.
    pub sites: Vec<Site>,
    /// The buffer for what it prints, if it prints anything.
    pub prints: Option<Prints>,
}

/// The buffer in which a shader stores what it prints, as records of words.
///
/// Word 0 counts the words of all records, also of those for which there was no room. A record consists of its number of words, the
/// number of its format, the index of the thread in the dispatch in three words, how many barriers it has passed, and the values: a
/// word for each, or two, the low bits first, for those of 64 bits.
#[derive(Clone, Debug)]
pub struct Prints {
    /// The group it is bound in.
    pub group: u32,
    /// Its number there.
    pub index: u32,
    /// The formats by number: the text, and the types of the values.
    pub formats: Vec<(Symbol, Vec<Scalar>)>,
    /// The threads of a group.
    pub threads: [u32; 3],
}

/// The words of a record before its values.
const HEADER: usize = 6;

/// A record of a shader's prints.
struct Record<'w> {
    group: [u32; 3],
    barriers: u32,
    thread: [u32; 3],
    format: usize,
    values: &'w [u32],
}

impl Prints {
    /// The bytes of the buffer.
    pub const BYTES: usize = 1 << 20;

    /// The text that the buffer holds: group by group, in each from barrier to barrier, and there thread by thread.
    pub fn text(&self, bytes: &[u8]) -> String {
        let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let words: Vec<u32> = words.collect();
        let all = words.first().map_or(0, |count| *count as usize);
        let end = words.len().min(all.saturating_add(1));
        let mut records = Vec::new();
        let mut at = 1;
        while let Some(record) = words.get(at..end).and_then(|rest| self.record(rest)) {
            at += record.values.len() + HEADER;
            records.push(record);
        }
        records.sort_by_key(|record| {
            let key = |[x, y, z]: [u32; 3]| [z, y, x];
            (key(record.group), record.barriers, key(record.thread))
        });
        let mut text = String::new();
        records.iter().for_each(|record| self.show(record, &mut text));
        if all >= words.len() {
            text += "(printf: the buffer is full, and some output is lost)\n";
        }
        text
    }

    /// The first of these words as a record. One without room left zeros.
    fn record<'w>(&self, words: &'w [u32]) -> Option<Record<'w>> {
        let &[count, format, x, y, z, barriers, ..] = words else { return None };
        let values = words.get(HEADER..count as usize)?;
        let threads = self.threads.map(|count| count.max(1));
        let at = [x, y, z];
        let group = [0, 1, 2].map(|axis| at[axis] / threads[axis]);
        let thread = [0, 1, 2].map(|axis| at[axis] % threads[axis]);
        Some(Record { group, barriers, thread, format: format as usize, values })
    }

    fn show(&self, record: &Record<'_>, text: &mut String) {
        let Some((format, scalars)) = self.formats.get(record.format) else { return };
        let mut words = record.values.iter().copied();
        let mut scalars = scalars.iter();
        // The checker has looked at the format.
        for piece in printf::parse(format.as_str()).unwrap_or_default() {
            match piece {
                Piece::Text(piece) => text.push_str(&piece),
                Piece::Value(conversion) => {
                    let (Some(scalar), Some(low)) = (scalars.next(), words.next()) else { break };
                    let high = if scalar.bytes() == 8 { words.next().unwrap_or(0) } else { 0 };
                    text.push_str(&conversion.show(shown(*scalar, low, high)));
                }
            }
        }
    }
}

/// A number of a record.
fn shown(scalar: Scalar, low: u32, high: u32) -> Shown<'static> {
    let bits = u64::from(high) << 32 | u64::from(low);
    match scalar {
        Scalar::F64 => Shown::Float(f64::from_bits(bits)),
        Scalar::F16 | Scalar::F32 => Shown::Float(f32::from_bits(low).into()),
        Scalar::Bool => Shown::Integer(low.into(), 32),
        Scalar::I64 | Scalar::U64 => Shown::Integer(bits as i64, 64),
        Scalar::I8 | Scalar::I16 | Scalar::I32 => Shown::Integer((low as i32).into(), scalar.bits()),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => Shown::Integer(low.into(), scalar.bits()),
    }
}

/// A shader in a language that devices take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// Any device takes it.
    Wgsl(String),
    /// Handed to a Vulkan driver as it is.
    SpirV(Vec<u32>),
}

/// What not every device can do: number formats to compute in, and waves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// Binary16.
    pub f16: bool,
    /// Binary64.
    pub f64: bool,
    /// Integers of 64 bits.
    pub i64: bool,
    /// What lanes of a wave do together.
    pub waves: bool,
}

/// Something that may fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Why the program would stop.
    pub trap: Trap,
    /// Where.
    pub span: Span,
    /// In which function.
    pub func: Symbol,
    /// The type of the index, if one is noted.
    pub index: Option<Scalar>,
}

impl Shader {
    /// Why the program stopped, by what it left in the flag.
    pub fn stopped(&self, flag: &[u8]) -> Option<Stopped> {
        let word = |i: usize| {
            flag.get(4 * i..).and_then(|b| b.first_chunk()).map_or(0, |b: &[u8; 4]| u32::from_le_bytes(*b))
        };
        let site = self.sites.get(word(0).checked_sub(1)? as usize)?;
        let outside = site.index.map(|scalar| Outside {
            index: if scalar.is_signed() { (word(4) as i32).into() } else { word(4).into() },
            len: word(5) as usize,
        });
        Some(Stopped {
            trap: site.trap,
            span: site.span,
            func: site.func,
            calls: vec![],
            thread: Some([word(1), word(2), word(3)]),
            outside,
            other: None,
            unknown: None,
        })
    }
}
