//! Images, which set textures and are saved from them.
//!
//! An image has a NumPy shape: layers or depth, then height, then width, and last the components, if there are several. It
//! fits a texture if the numbers of axes agree. Its numbers are converted to the type of the texels. The integers of a PNG
//! file are scaled to the range from 0 to 1 if texels are floats. No colour space is applied. Missing components are 0,
//! except that the fourth is 1.

use crate::data::{Data, MOST_BYTES, Number, room_for};
use crate::{Error, bail};
use cotangent_base::Scalar;
use cotangent_ir::texture::{Dim, Extent, Texture};

/// Numbers with a shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// As NumPy has it.
    pub shape: Vec<usize>,
    /// The type of the numbers.
    pub scalar: Scalar,
    /// Their bytes; none if all are zero and the number of lanes does not matter.
    pub bytes: Option<Vec<u8>>,
    /// What is one, if texels are floats.
    pub one: f64,
    /// Whether smaller levels are to be made of it.
    pub mips: bool,
}

/// How many texels an image has along an axis, at most.
const MOST_TEXELS: usize = 1 << 16;

impl Image {
    /// Reads `image(3x2, f32[..])` (width by height) or `image(3x2)`, which is zero; `mips(..)` around it asks for levels.
    pub fn parse(text: &str) -> Option<Result<Image, Error>> {
        let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(inner) = inside("mips") {
            let image = Image::parse(inner.trim())?;
            return Some(image.map(|image| Image { mips: true, ..image }));
        }
        Some(Image::written(inside("image")?))
    }

    fn written(text: &str) -> Result<Image, Error> {
        let (size, list) = text.split_once(',').map_or((text, None), |(size, list)| (size, Some(list)));
        let sizes: Option<Vec<usize>> = size.trim().split('x').map(|n| n.trim().parse().ok()).collect();
        let Some(mut shape) = sizes.filter(|s| !s.contains(&0)) else {
            bail!("`{}` is not a size: write 4x4", size.trim());
        };
        if let Some(side) = shape.iter().find(|n| **n > MOST_TEXELS) {
            bail!(
                "an image of {} is too large: {side} texels in a row exceed the limit of {MOST_TEXELS}",
                size.trim()
            );
        }
        shape.reverse();
        let texels = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let Some(texels) = texels.filter(|n| *n <= MOST_BYTES / size_of::<[f64; 4]>()) else {
            bail!("an image of {} texels is larger than 4 GiB", size.trim());
        };
        let Some(list) = list else {
            shape.push(1);
            return Ok(Image { shape, scalar: Scalar::F32, bytes: None, one: 1.0, mips: false });
        };
        let Data::Bytes(Some(scalar), bytes) = Data::parse(list)? else {
            bail!("write the numbers of an image as f32[..] or another list");
        };
        let count = bytes.len() / scalar.bytes() as usize;
        if count == 0 || !count.is_multiple_of(texels) || count / texels > 4 {
            bail!("an image of {texels} texels cannot have {count} numbers");
        }
        shape.push(count / texels);
        Ok(Image { shape, scalar, bytes: Some(bytes), one: 1.0, mips: false })
    }

    /// Reads a PNG file.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other depths are unpacked to bytes")]
    pub fn from_png(bytes: &[u8]) -> Result<Image, Error> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let read = |e: png::DecodingError| Error(format!("cannot read the PNG file: {e}"));
        let mut reader = decoder.read_info().map_err(read)?;
        let Some(size) = reader.output_buffer_size() else { bail!("the PNG file is too large") };
        let mut bytes = vec![0; size];
        let info = reader.next_frame(&mut bytes).map_err(read)?;
        bytes.truncate(info.buffer_size());
        let (scalar, one) = match info.bit_depth {
            png::BitDepth::Sixteen => {
                bytes.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
                (Scalar::U16, 65535.0)
            }
            _ => (Scalar::U8, 255.0),
        };
        let shape = vec![info.height as usize, info.width as usize, info.color_type.samples()];
        Ok(Image { shape, scalar, bytes: Some(bytes), one, mips: false })
    }

    /// The texels of a texture, level by level, and how many there are.
    pub fn texels(&self, texture: Texture) -> Result<(Extent, Vec<u8>), Error> {
        let (size, layers, lanes) = self.fit(texture)?;
        let levels = if self.mips { Extent::all_levels(size) } else { 1 };
        let extent = Extent { size, layers, levels };
        // A texel has four numbers here, and at most four in the texture.
        room_for(extent.texels().saturating_mul(2 * size_of::<[f64; 4]>()))?;
        let mut level: Vec<[f64; 4]> = self.level(extent, lanes, texture);
        let mut bytes = vec![];
        for number in 0..levels {
            if number > 0 {
                level = halve(&level, extent, number);
            }
            for texel in &level {
                for lane in &texel[..texture.lanes.into()] {
                    let number = if texture.scalar.is_float() {
                        Number::Float(*lane)
                    } else {
                        Number::Int(*lane as i128)
                    };
                    number.write(texture.scalar, &mut bytes)?;
                }
            }
        }
        Ok((extent, bytes))
    }

    /// The size, layers and lanes this image has as such a texture.
    fn fit(&self, texture: Texture) -> Result<([u32; 3], u32, usize), Error> {
        if self.shape.contains(&0) {
            bail!("an image of shape {:?} has no texels", self.shape);
        }
        let layered = texture.array || texture.dim == Dim::Cube;
        let axes = match texture.dim {
            Dim::D1 => 1,
            Dim::D2 | Dim::Cube => 2,
            Dim::D3 => 3,
        };
        let spatial = axes + usize::from(layered);
        let lanes = match self.shape.len().checked_sub(spatial) {
            Some(0) => 1,
            Some(1) if self.shape[spatial] <= 4 => self.shape[spatial],
            _ => bail!(
                "an image of shape {:?} does not fit: the texture has {spatial} axes, optionally followed by components",
                self.shape
            ),
        };
        let layers = if layered { self.shape[0] as u32 } else { 1 };
        if texture.dim == Dim::Cube && !layers.is_multiple_of(6) {
            bail!("a cube has six faces, but the image has {layers}");
        }
        let mut size = [1; 3];
        for (axis, n) in self.shape[..spatial].iter().rev().take(axes).enumerate() {
            size[axis] = *n as u32;
        }
        Ok((size, layers, lanes))
    }

    /// Texels with four lanes.
    fn level(&self, extent: Extent, lanes: usize, texture: Texture) -> Vec<[f64; 4]> {
        let one = if texture.scalar.is_float() { self.one } else { 1.0 };
        let width = self.scalar.bytes() as usize;
        let texel = |bytes: &[u8], index: usize| {
            let mut texel = [0.0, 0.0, 0.0, 1.0];
            for (lane, value) in texel[..lanes].iter_mut().enumerate() {
                let at = (index * lanes + lane) * width;
                *value = Number::read(self.scalar, &bytes[at..]).as_f64() / one;
            }
            texel
        };
        let count = Extent { levels: 1, ..extent }.texels();
        match &self.bytes {
            Some(bytes) => (0..count).map(|index| texel(bytes, index)).collect(),
            None => vec![[0.0; 4]; count],
        }
    }
}

/// The level `number`, made of the one before: each texel is the mean of those it covers.
fn halve(before: &[[f64; 4]], extent: Extent, number: u32) -> Vec<[f64; 4]> {
    let (large, small) = (extent.level(number - 1), extent.level(number));
    let at = |layer: u32, [x, y, z]: [u32; 3]| {
        let [w, h, d] = large;
        before[(((layer * d + z) * h + y) * w + x) as usize]
    };
    let mut texels = vec![];
    for layer in 0..extent.layers {
        for (z, y, x) in positions(small) {
            let (mut sum, mut count) = ([0.0; 4], 0.0);
            let span = |i: u32, axis: usize| 2 * i..(2 * i + 2).min(large[axis].max(1));
            for (a, b, c) in
                span(z, 2).flat_map(|a| span(y, 1).flat_map(move |b| span(x, 0).map(move |c| (a, b, c))))
            {
                let texel = at(layer, [c, b, a]);
                (0..4).for_each(|i| sum[i] += texel[i]);
                count += 1.0;
            }
            texels.push(sum.map(|s| s / count));
        }
    }
    texels
}

fn positions([w, h, d]: [u32; 3]) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..d).flat_map(move |z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x))))
}

/// The shape of the first level of a texture.
pub fn shape(texture: Texture, extent: Extent) -> Vec<usize> {
    let [w, h, d] = extent.size.map(|n| n as usize);
    let mut shape = match texture.dim {
        Dim::D1 => vec![w],
        Dim::D2 | Dim::Cube => vec![h, w],
        Dim::D3 => vec![d, h, w],
    };
    if texture.array || texture.dim == Dim::Cube {
        shape.insert(0, extent.layers as usize);
    }
    if texture.lanes > 1 {
        shape.push(texture.lanes.into());
    }
    shape
}

/// A PNG file of an image with these texels: floats from 0 to 1, integers from 0 to 255, others cut off.
pub fn to_png(texture: Texture, extent: Extent, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    if texture.dim != Dim::D2 || texture.array {
        bail!("only a 2D texture can be saved as PNG; save it as .npy");
    }
    let color = [
        png::ColorType::Grayscale,
        png::ColorType::GrayscaleAlpha,
        png::ColorType::Rgb,
        png::ColorType::Rgba,
    ];
    let one = if texture.scalar.is_float() { 255.0 } else { 1.0 };
    let pixels: Vec<u8> = crate::data::numbers(texture.scalar, bytes)
        .take(extent.texels() * usize::from(texture.lanes))
        .map(|n| (n.as_f64() * one).round().clamp(0.0, 255.0) as u8)
        .collect();
    let mut out = vec![];
    let written = (|| {
        let mut encoder = png::Encoder::new(&mut out, extent.size[0], extent.size[1]);
        encoder.set_color(color[usize::from(texture.lanes) - 1]);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&pixels)
    })();
    match written {
        Ok(()) => Ok(out),
        Err(e) => bail!("cannot write a PNG file: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_ir::Access;

    const IMAGE: Texture =
        Texture { dim: Dim::D2, array: false, scalar: Scalar::F32, lanes: 2, access: Access::Read };

    fn floats(bytes: &[u8]) -> Vec<f64> {
        crate::data::numbers(Scalar::F32, bytes).map(Number::as_f64).collect()
    }

    #[test]
    fn levels_are_means_of_the_one_before() {
        let image = Image::parse("mips(image(3x2, f32[1, 2, 3, 4, 5, 6]))").unwrap().unwrap();
        let texture = Texture { lanes: 1, ..IMAGE };
        let (extent, bytes) = image.texels(texture).unwrap();
        // Three by two, then one by one: of an odd row the last is left out.
        assert_eq!((extent.size, extent.levels), ([3, 2, 1], 2));
        assert_eq!(floats(&bytes), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 3.0]);
    }

    #[test]
    fn what_is_written_as_png_reads_back() {
        let bytes: Vec<u8> = [0.0f32, 1.0, 0.2, 0.6].iter().flat_map(|x| x.to_le_bytes()).collect();
        let extent = Extent { size: [1, 2, 1], layers: 1, levels: 1 };
        let file = to_png(IMAGE, extent, &bytes).unwrap();
        let image = Image::from_png(&file).unwrap();
        assert_eq!(image.shape, [2, 1, 2]);
        let (back, texels) = image.texels(IMAGE).unwrap();
        assert_eq!((back, shape(IMAGE, back)), (extent, vec![2, 1, 2]));
        assert_eq!(floats(&texels), [0.0, 1.0, f64::from(51.0f32 / 255.0), f64::from(153.0f32 / 255.0)]);
    }

    #[test]
    fn an_image_of_other_axes_does_not_fit() {
        let image = Image::parse("image(2x2x2)").unwrap().unwrap();
        assert!(image.texels(IMAGE).is_err());
        assert!(image.texels(Texture { dim: Dim::D3, ..IMAGE }).is_ok());
        assert!(Image::parse("image(2x2, f32[1, 2, 3])").unwrap().is_err());
        let vast = Image::parse("image(99999x99999)").unwrap().unwrap_err().0;
        assert_eq!(
            vast,
            "an image of 99999x99999 is too large: 99999 texels in a row exceed the limit of 65536"
        );
        assert!(Image::parse("f32[1]").is_none());
    }
}
