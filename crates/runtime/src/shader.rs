//! A program as a shader, with what a device needs to run it.
//!
//! A back end for devices is independent of shader languages: it takes a [`Translate`] that writes shaders.

use crate::{Compiled, Outside, Stopped};
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
