//! What textures contain: addressing and filtering, for back ends that compute on a CPU.
//!
//! The texels of a texture are stored level by level, layer by layer, row by row. Samples are computed in binary64 and
//! rounded once, by the caller. Devices round differently, many to 1/256 of a texel, so results differ in the last digits.
//! Filtering continues across the edges of a cube to the neighbouring face.

use cotangent_base::Scalar;
use cotangent_ir::texture::{Address, Dim, Extent, Filter, SamplerState, Sampling, Texture};
use cotangent_ir::{Const, eval};

/// A texture and how it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    /// Its type.
    pub texture: Texture,
    /// How large it is.
    pub extent: Extent,
    /// Its texels.
    pub texels: &'v [u8],
    /// Whether each number of a texel is a binary64 or 64-bit integer.
    pub wide: bool,
    /// How it is sampled.
    pub state: SamplerState,
    /// By how many texels of a level the location is moved.
    pub offset: [i64; 3],
}

/// A texel as numbers.
pub type Texel = [f64; 4];

const NOTHING: Texel = [0.0; 4];

fn mix(a: Texel, b: Texel, t: f64) -> Texel {
    std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t)
}

impl View<'_> {
    /// What is sampled at some coordinates; `rest` has the operands that the method takes beside them, and perhaps an offset in texels.
    pub fn sample(mut self, how: Sampling, coordinates: &[f64], rest: &[&[f64]]) -> Texel {
        if let Some(offset) = rest.get(how.operands()) {
            offset.iter().zip(&mut self.offset).for_each(|(n, to)| *to = *n as i64);
        }
        if self.extent.texels() == 0 {
            return NOTHING;
        }
        let (at, layer) = self.place(coordinates);
        let same = |texel| texel;
        match how {
            Sampling::Implicit => self.at_level(layer, at, 0.0, &same),
            Sampling::Bias | Sampling::Level => self.at_level(layer, at, rest[0][0], &same),
            Sampling::Gradient => self.at_level(layer, at, self.level_of(rest[0], rest[1]), &same),
            Sampling::Compare | Sampling::CompareZero => {
                let (reference, compare) = (rest[0][0], self.state.compare);
                let passes = |t: Texel| [f64::from(compare.passes(reference, t[0])), 0.0, 0.0, 0.0];
                self.at_level(layer, at, 0.0, &passes)
            }
            Sampling::Gather(lane) => self.gather(lane, coordinates),
        }
    }

    /// One texel; outside there is zero.
    pub fn texel(&self, position: &[f64], level: i64) -> Texel {
        match inside(self.texture, self.extent, level, position) {
            Some((position, layer)) => self.fetch(level as u32, layer, position),
            None => NOTHING,
        }
    }

    /// The texel at a position inside.
    fn fetch(&self, level: u32, layer: u32, at: [i64; 3]) -> Texel {
        let size = self.extent.level(level).map(|n| n as usize);
        let [x, y, z] = at.map(|i| i as usize);
        let within = ((layer as usize * size[2] + z) * size[1] + y) * size[0] + x;
        let lanes = usize::from(self.texture.lanes);
        let size = texel_bytes(self.texture.scalar, self.wide);
        let start = (self.extent.start(level) + within) * lanes * size;
        let mut texel = NOTHING;
        for (lane, bytes) in texel[..lanes].iter_mut().zip(self.texels[start..].chunks_exact(size)) {
            *lane = match read(self.texture.scalar, self.wide, bytes) {
                Const::Float(bits) => f64::from_bits(bits),
                Const::Int(n) => n as f64,
                Const::Bool(b) => f64::from(b),
            };
        }
        texel
    }

    /// The texel at a position that may lie outside.
    fn wrapped(&self, level: u32, layer: u32, at: [i64; 3]) -> Texel {
        let size = self.extent.level(level).map(i64::from);
        if self.texture.dim == Dim::Cube {
            return self.around(level, layer, at, size[0]);
        }
        let mut inside = [0; 3];
        for axis in 0..usize::from(self.texture.axes()) {
            let (i, n) = (at[axis].saturating_add(self.offset[axis]), size[axis]);
            inside[axis] = match self.state.address[axis] {
                Address::Clamp => i.clamp(0, n - 1),
                Address::Repeat => i.rem_euclid(n),
                Address::Mirror => {
                    let i = i.rem_euclid(2 * n);
                    if i < n { i } else { 2 * n - 1 - i }
                }
                Address::Border if !(0..n).contains(&i) => return NOTHING,
                Address::Border => i,
            };
        }
        self.fetch(level, layer, inside)
    }

    /// The texel of a cube at a position that may lie on the next face.
    fn around(&self, level: u32, layer: u32, [x, y, _]: [i64; 3], n: i64) -> Texel {
        if (0..n).contains(&x) && (0..n).contains(&y) {
            return self.fetch(level, layer, [x, y, 0]);
        }
        let at = |i: i64| (i as f64 + 0.5) / n as f64;
        let direction = direction(layer % 6, [at(x), at(y)]);
        let (face, [s, t]) = face(direction);
        let index = |s: f64| ((s * n as f64) as i64).clamp(0, n - 1);
        self.fetch(level, layer / 6 * 6 + face, [index(s), index(t), 0])
    }

    /// What is seen at `at` of one level, each texel taken through `of`.
    fn filtered(
        &self,
        filter: Filter,
        level: u32,
        layer: u32,
        at: [f64; 3],
        of: &dyn Fn(Texel) -> Texel,
    ) -> Texel {
        let size = self.extent.level(level);
        let scaled: [f64; 3] = std::array::from_fn(|i| at[i] * f64::from(size[i]));
        if filter == Filter::Nearest {
            return of(self.wrapped(level, layer, scaled.map(|x| x.floor() as i64)));
        }
        let axes = if self.texture.dim == Dim::D3 { 3 } else { self.texture.axes().min(2) };
        let low = scaled.map(|x| (x - 0.5).floor());
        let mut sum = NOTHING;
        for corner in 0..1u32 << axes {
            let (mut weight, mut position) = (1.0, [0; 3]);
            for axis in 0..usize::from(axes) {
                let far = corner >> axis & 1;
                let part = scaled[axis] - 0.5 - low[axis];
                weight *= if far == 1 { part } else { 1.0 - part };
                // Far away the number of the texel is the last there is.
                position[axis] = (low[axis] as i64).saturating_add(i64::from(far));
            }
            let texel = of(self.wrapped(level, layer, position));
            sum = std::array::from_fn(|i| sum[i] + weight * texel[i]);
        }
        sum
    }

    /// What is seen at a level between levels.
    fn at_level(&self, layer: u32, at: [f64; 3], level: f64, of: &dyn Fn(Texel) -> Texel) -> Texel {
        let filter = if level <= 0.0 { self.state.mag } else { self.state.min };
        let last = f64::from(self.extent.levels.max(1) - 1);
        let level = if level.is_nan() { 0.0 } else { level.clamp(0.0, last) };
        let one = |level: f64| self.filtered(filter, level as u32, layer, at, of);
        match self.state.mip {
            Filter::Nearest => one((level + 0.5).floor().min(last)),
            Filter::Linear if level.fract() == 0.0 => one(level),
            Filter::Linear => mix(one(level.floor()), one(level.floor() + 1.0), level.fract()),
        }
    }

    /// The level that derivatives of the coordinates ask for.
    fn level_of(&self, dx: &[f64], dy: &[f64]) -> f64 {
        let length = |d: &[f64]| {
            let squares = d.iter().zip(self.extent.size).map(|(d, n)| (d * f64::from(n)).powi(2));
            squares.sum::<f64>().sqrt()
        };
        length(dx).max(length(dy)).log2()
    }

    /// Splits coordinates into where on a layer and which layer.
    fn place(&self, coordinates: &[f64]) -> ([f64; 3], u32) {
        let axes = usize::from(self.texture.axes());
        let count = if self.texture.dim == Dim::Cube { self.extent.layers / 6 } else { self.extent.layers };
        let layer = match coordinates.get(axes) {
            Some(layer) => layer.round_ties_even().clamp(0.0, f64::from(count.max(1) - 1)) as u32,
            None => 0,
        };
        let mut at = [0.0; 3];
        at[..axes].copy_from_slice(&coordinates[..axes]);
        if self.texture.dim == Dim::Cube {
            let (face, [s, t]) = face(at);
            return ([s, t, 0.0], layer * 6 + face);
        }
        (at, layer)
    }

    fn gather(&self, lane: u8, coordinates: &[f64]) -> Texel {
        let (at, layer) = self.place(coordinates);
        let size = self.extent.level(0);
        let low = [0, 1].map(|i| (at[i] * f64::from(size[i]) - 0.5).floor() as i64);
        let corners = [[0, 1], [1, 1], [1, 0], [0, 0]];
        let at = |[x, y]: [i64; 2]| [low[0].saturating_add(x), low[1].saturating_add(y), 0];
        corners.map(|corner| self.wrapped(0, layer, at(corner))[usize::from(lane)])
    }
}

/// The face that a direction leads to, and where on it.
fn face([x, y, z]: [f64; 3]) -> (u32, [f64; 2]) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, s, t, m) = if az >= ax && az >= ay {
        if z >= 0.0 { (4, x, -y, az) } else { (5, -x, -y, az) }
    } else if ay >= ax {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if x >= 0.0 {
        (0, -z, -y, ax)
    } else {
        (1, z, -y, ax)
    };
    (face, [s, t].map(|c| if m == 0.0 { 0.5 } else { (c / m + 1.0) / 2.0 }))
}

/// The way back; `at` may lie outside the face.
fn direction(face: u32, at: [f64; 2]) -> [f64; 3] {
    let [s, t] = at.map(|c| 2.0 * c - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The position and layer that numbers lead to, if they are inside.
fn inside(texture: Texture, extent: Extent, level: i64, at: &[f64]) -> Option<([i64; 3], u32)> {
    let level = u32::try_from(level).ok().filter(|level| *level < extent.levels)?;
    let size = extent.level(level);
    let axes = match texture.dim {
        Dim::Cube => 2,
        Dim::D1 | Dim::D2 | Dim::D3 => usize::from(texture.axes()),
    };
    let mut position = [0; 3];
    for axis in 0..axes {
        position[axis] = at[axis] as i64;
        if !(0..i64::from(size[axis])).contains(&position[axis]) {
            return None;
        }
    }
    let layer = at.get(axes).map_or(0, |layer| *layer as i64);
    let layer = u32::try_from(layer).ok().filter(|layer| *layer < extent.layers)?;
    Some((position, layer))
}

/// The first byte of the texel at a position of the first level, unless it is outside.
pub fn offset(texture: Texture, extent: Extent, wide: bool, at: &[f64]) -> Option<usize> {
    let (position, layer) = inside(texture, extent, 0, at)?;
    let size = extent.size.map(|n| n as usize);
    let [x, y, z] = position.map(|i| i as usize);
    let within = ((layer as usize * size[2] + z) * size[1] + y) * size[0] + x;
    Some(within * usize::from(texture.lanes) * texel_bytes(texture.scalar, wide))
}

/// Width, height, depth or number of layers, and number of levels.
pub fn dimensions(texture: Texture, extent: Extent, level: i64) -> [u32; 4] {
    let [x, y, z] = extent.level(level.clamp(0, 31) as u32);
    let faces = if texture.dim == Dim::Cube { 6 } else { 1 };
    let third = if texture.array { extent.layers / faces } else { z };
    [x, y, third, extent.levels]
}

/// The bytes of a number of a texel.
pub fn texel_bytes(scalar: Scalar, wide: bool) -> usize {
    if wide { 8 } else { scalar.bytes() as usize }
}

fn read(scalar: Scalar, wide: bool, bytes: &[u8]) -> Const {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    match wide {
        false => eval::from_bits(word, scalar),
        true if scalar.is_float() => Const::Float(word),
        true => Const::Int(word as i64),
    }
}

/// Writes a number of a texel.
pub fn write(scalar: Scalar, wide: bool, value: Const, bytes: &mut [u8]) {
    let word = match value {
        Const::Float(bits) if wide => bits,
        Const::Int(n) if wide => n as u64,
        Const::Bool(_) | Const::Int(_) | Const::Float(_) => eval::bits(value, scalar),
    };
    let count = bytes.len();
    bytes.copy_from_slice(&word.to_le_bytes()[..count]);
}
