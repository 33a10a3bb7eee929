//! Textures and samplers: their types, the sampling methods, and sampler states.
//!
//! A texel has one to four components of one scalar type. Texture coordinates are one vector: a number from 0 to 1 per axis,
//! or a direction for a cube, followed by the layer for an array. Texel coordinates are indices from zero per axis, followed
//! by the layer. The layers of a cube are its faces, in the order +x, -x, +y, -y, +z, -z.

use crate::{Access, Global, Module, Op, Type};
use cotangent_base::{Map, Scalar};

/// A resource without addressable memory; it has its own operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Opaque {
    /// A texture.
    Texture(Texture),
    /// How textures are sampled.
    Sampler,
    /// A sampler that compares.
    Comparison,
}

/// The type of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Texture {
    /// Its axes.
    pub dim: Dim,
    /// Whether it has layers.
    pub array: bool,
    /// What texels are made of.
    pub scalar: Scalar,
    /// How many of those.
    pub lanes: u8,
    /// Whether it is sampled, or read and written texel by texel.
    pub access: Access,
}

/// The axes of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "they say it all")]
pub enum Dim {
    D1,
    D2,
    D3,
    Cube,
}

impl Dim {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Dim); 4] =
        [("1d", Dim::D1), ("2d", Dim::D2), ("3d", Dim::D3), ("cube", Dim::Cube)];
}

impl Texture {
    /// How many coordinates say where to sample, the layer not counted.
    pub const fn axes(self) -> u8 {
        match self.dim {
            Dim::D1 => 1,
            Dim::D2 => 2,
            Dim::D3 | Dim::Cube => 3,
        }
    }

    /// How many coordinates say where to sample.
    pub const fn coordinates(self) -> u8 {
        self.axes() + self.array as u8
    }

    /// How many numbers say which texel.
    pub const fn position(self) -> u8 {
        match self.dim {
            Dim::D1 | Dim::D2 | Dim::D3 => self.coordinates(),
            // The face.
            Dim::Cube => 3,
        }
    }

    /// The type of a texel.
    pub const fn texel(self) -> Type {
        if self.lanes == 1 { Type::Scalar(self.scalar) } else { Type::Vector(self.scalar, self.lanes) }
    }
}

/// A way to sample a texture. After the texture, the sampler and the coordinates stand the operands named here, and last, if
/// there is one, an offset: by how many texels of the level to move the location along each axis, `i32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sampling {
    /// `()`. The level follows from how the coordinates differ between neighbours; where there are none it is 0.
    Implicit,
    /// `(bias: f32)`. As before, and the level is so much higher.
    Bias,
    /// `(level: f32)`.
    Level,
    /// `(dx, dy: coordinates)`. The level follows from these derivatives.
    Gradient,
    /// `(reference: f32) -> f32`. How much of what is sampled passes the comparison with the reference.
    Compare,
    /// `(reference: f32) -> f32`. As before, at level 0.
    CompareZero,
    /// `() -> vector of 4`. That lane of the four texels that would be interpolated, counterclockwise from the lower left, as in
    /// the reference compiler: (0, 1), (1, 1), (1, 0), (0, 0).
    Gather(u8),
}

impl Sampling {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Sampling); 10] = [
        ("implicit", Sampling::Implicit),
        ("bias", Sampling::Bias),
        ("level", Sampling::Level),
        ("gradient", Sampling::Gradient),
        ("compare", Sampling::Compare),
        ("compare_zero", Sampling::CompareZero),
        ("gather_0", Sampling::Gather(0)),
        ("gather_1", Sampling::Gather(1)),
        ("gather_2", Sampling::Gather(2)),
        ("gather_3", Sampling::Gather(3)),
    ];

    /// How many operands follow the coordinates.
    pub const fn operands(self) -> usize {
        match self {
            Sampling::Implicit | Sampling::Gather(_) => 0,
            Sampling::Bias | Sampling::Level | Sampling::Compare | Sampling::CompareZero => 1,
            Sampling::Gradient => 2,
        }
    }

    /// The type of the result.
    pub const fn result(self, texture: Texture) -> Type {
        match self {
            Sampling::Compare | Sampling::CompareZero => Type::Scalar(Scalar::F32),
            Sampling::Gather(_) => Type::Vector(texture.scalar, 4),
            Sampling::Implicit | Sampling::Bias | Sampling::Level | Sampling::Gradient => texture.texel(),
        }
    }

    /// Whether the level depends on how the coordinates differ between threads.
    pub const fn asks_neighbours(self) -> bool {
        match self {
            Sampling::Implicit | Sampling::Bias | Sampling::Compare => true,
            Sampling::Level | Sampling::Gradient | Sampling::CompareZero | Sampling::Gather(_) => false,
        }
    }

    /// Whether the sampler must be one that compares.
    pub const fn compares(self) -> bool {
        matches!(self, Sampling::Compare | Sampling::CompareZero)
    }
}

/// What a program does to a texture.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Touched {
    /// It reads texels one by one.
    pub read: bool,
    /// It writes texels.
    pub written: bool,
    /// It compares what it samples.
    pub compared: bool,
}

impl Touched {
    /// What either does.
    pub fn or(self, other: Touched) -> Touched {
        Touched {
            read: self.read || other.read,
            written: self.written || other.written,
            compared: self.compared || other.compared,
        }
    }

    /// What the functions of a module do to one of its textures.
    pub fn of(module: &Module, texture: Global) -> Touched {
        Touched::all(module).get(&texture).copied().unwrap_or_default()
    }

    /// What they do to each, found in one pass; a texture that is missing is not touched.
    pub fn all(module: &Module) -> Map<Global, Touched> {
        let mut all: Map<Global, Touched> = Map::default();
        for func in module.funcs.values() {
            for inst in func.all_insts().into_iter().map(|inst| &func.insts[inst]) {
                if let Some(Op::Global(texture)) = inst.operands.first().and_then(|v| func.op(*v)) {
                    let touched = all.entry(*texture).or_default();
                    touched.read |= inst.op == Op::Texel;
                    touched.written |= inst.op == Op::StoreTexel;
                    touched.compared |= matches!(inst.op, Op::Sample(how) if how.compares());
                }
            }
        }
        all
    }
}

/// What a sampler says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SamplerState {
    /// Between texels that appear larger than a pixel.
    pub mag: Filter,
    /// Between texels that appear smaller.
    pub min: Filter,
    /// Between levels.
    pub mip: Filter,
    /// Outside the texture, along each axis.
    pub address: [Address; 3],
    /// What a comparison asks.
    pub compare: Compare,
}

impl Default for SamplerState {
    fn default() -> Self {
        let linear = Filter::Linear;
        let address = [Address::Clamp; 3];
        SamplerState { mag: linear, min: linear, mip: linear, address, compare: Compare::LessEqual }
    }
}

impl SamplerState {
    /// The state as an integer that a program can read: bits 0, 1 and 2 say whether magnification, minification and the change between
    /// levels are linear; from bit 4 on two bits for each axis have the number of the address mode in [`Address::ALL`].
    pub fn word(self) -> u32 {
        let filters = [self.mag, self.min, self.mip].into_iter().zip(0..);
        let filters = filters.map(|(filter, bit)| u32::from(filter == Filter::Linear) << bit);
        let address = self.address.into_iter().zip([4, 6, 8]);
        let number = |address| Address::ALL.iter().position(|(_, known)| *known == address).unwrap_or(0);
        filters.chain(address.map(|(address, shift)| (number(address) as u32) << shift)).sum()
    }
}

/// What lies between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// The nearest.
    Nearest,
    /// A mixture.
    Linear,
}

/// What lies outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// The texel at the edge.
    Clamp,
    /// The texture again.
    Repeat,
    /// The texture again, every other time mirrored.
    Mirror,
    /// Nothing: zero.
    Border,
}

impl Address {
    /// All of them, with their names on the command line.
    pub const ALL: [(&str, Address); 4] = [
        ("clamp", Address::Clamp),
        ("repeat", Address::Repeat),
        ("mirror", Address::Mirror),
        ("border", Address::Border),
    ];
}

/// When a reference passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they say it all")]
pub enum Compare {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

impl Compare {
    /// All of them, with their names on the command line.
    pub const ALL: [(&str, Compare); 8] = [
        ("never", Compare::Never),
        ("less", Compare::Less),
        ("equal", Compare::Equal),
        ("less-equal", Compare::LessEqual),
        ("greater", Compare::Greater),
        ("not-equal", Compare::NotEqual),
        ("greater-equal", Compare::GreaterEqual),
        ("always", Compare::Always),
    ];

    /// Whether `reference` passes against a texel.
    pub fn passes(self, reference: f64, texel: f64) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => reference < texel,
            Compare::Equal => reference == texel,
            Compare::LessEqual => reference <= texel,
            Compare::Greater => reference > texel,
            Compare::NotEqual => reference != texel,
            Compare::GreaterEqual => reference >= texel,
            Compare::Always => true,
        }
    }
}

/// How large a texture is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Texels along each axis at level 0; 1 where there is no such axis.
    pub size: [u32; 3],
    /// Layers; the faces of a cube are six.
    pub layers: u32,
    /// Levels, each half as large as the one before.
    pub levels: u32,
}

impl Extent {
    /// The size of a level.
    pub fn level(self, level: u32) -> [u32; 3] {
        self.size.map(|n| (n >> level.min(31)).max(1))
    }

    /// How many texels lie before a level: levels follow each other, each with all its layers.
    pub fn start(self, level: u32) -> usize {
        (0..level).map(|level| self.texels_of(level)).sum()
    }

    fn texels_of(self, level: u32) -> usize {
        self.level(level).iter().map(|n| *n as usize).product::<usize>() * self.layers as usize
    }

    /// How many texels there are.
    pub fn texels(self) -> usize {
        self.start(self.levels)
    }

    /// How many levels there are from this size down to a single texel.
    pub fn all_levels(size: [u32; 3]) -> u32 {
        let largest = size.into_iter().max().unwrap_or(1).max(1);
        largest.ilog2() + 1
    }
}
