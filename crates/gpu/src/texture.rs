//! Creates textures and samplers on a device.

use crate::{Device, Error};
use cotangent_ir::texture::{Address, Compare, Dim, Filter, SamplerState};

/// What texels are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they say it all")]
pub enum Number {
    F16,
    F32,
    I32,
    U32,
    /// 32-bit floats from 0 to 1, which a sampler may compare.
    Depth,
}

/// How a texture that is not sampled is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The shader reads texels.
    pub read: bool,
    /// The shader writes texels.
    pub write: bool,
}

/// A texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    /// Its axes.
    pub dim: Dim,
    /// Whether it is declared as an array.
    pub array: bool,
    /// Texels along each axis.
    pub size: [u32; 3],
    /// Layers; the faces of a cube are six.
    pub layers: u32,
    /// Levels, each half as large as the one before.
    pub levels: u32,
    /// What texels are made of.
    pub number: Number,
    /// How many of those: one, two or four.
    pub lanes: u8,
    /// How it is used; a texture that is sampled has none.
    pub storage: Option<Storage>,
}

/// How a shader sees a sampler; one that `compares` differs.
pub(crate) fn sampler_kind(sampler: SamplerState, compares: bool) -> wgpu::SamplerBindingType {
    if compares {
        wgpu::SamplerBindingType::Comparison
    } else if [sampler.mag, sampler.min, sampler.mip].contains(&Filter::Linear) {
        wgpu::SamplerBindingType::Filtering
    } else {
        wgpu::SamplerBindingType::NonFiltering
    }
}

fn comparison(compare: Compare) -> wgpu::CompareFunction {
    match compare {
        Compare::Never => wgpu::CompareFunction::Never,
        Compare::Less => wgpu::CompareFunction::Less,
        Compare::Equal => wgpu::CompareFunction::Equal,
        Compare::LessEqual => wgpu::CompareFunction::LessEqual,
        Compare::Greater => wgpu::CompareFunction::Greater,
        Compare::NotEqual => wgpu::CompareFunction::NotEqual,
        Compare::GreaterEqual => wgpu::CompareFunction::GreaterEqual,
        Compare::Always => wgpu::CompareFunction::Always,
    }
}

impl Image {
    fn format(self) -> wgpu::TextureFormat {
        use wgpu::TextureFormat as F;
        match (self.number, self.lanes) {
            (Number::Depth, _) => F::Depth32Float,
            (Number::F16, 1) => F::R16Float,
            (Number::F16, 2) => F::Rg16Float,
            (Number::F16, _) => F::Rgba16Float,
            (Number::F32, 1) => F::R32Float,
            (Number::F32, 2) => F::Rg32Float,
            (Number::F32, _) => F::Rgba32Float,
            (Number::I32, 1) => F::R32Sint,
            (Number::I32, 2) => F::Rg32Sint,
            (Number::I32, _) => F::Rgba32Sint,
            (Number::U32, 1) => F::R32Uint,
            (Number::U32, 2) => F::Rg32Uint,
            (Number::U32, _) => F::Rgba32Uint,
        }
    }

    fn view_dimension(self) -> wgpu::TextureViewDimension {
        match (self.dim, self.array) {
            (Dim::D1, _) => wgpu::TextureViewDimension::D1,
            (Dim::D2, false) => wgpu::TextureViewDimension::D2,
            (Dim::D2, true) => wgpu::TextureViewDimension::D2Array,
            (Dim::D3, _) => wgpu::TextureViewDimension::D3,
            (Dim::Cube, false) => wgpu::TextureViewDimension::Cube,
            (Dim::Cube, true) => wgpu::TextureViewDimension::CubeArray,
        }
    }

    /// The size of a level; layers count as depth.
    pub(crate) fn extent(self, level: u32) -> wgpu::Extent3d {
        let [width, height, depth] = self.size.map(|n| (n >> level).max(1));
        let depth_or_array_layers = if self.dim == Dim::D3 { depth } else { self.layers };
        wgpu::Extent3d { width, height, depth_or_array_layers }
    }

    fn texel_bytes(self) -> u32 {
        let lane = if self.number == Number::F16 { 2 } else { 4 };
        lane * u32::from(self.lanes)
    }

    /// How many bytes the texels of a level have.
    pub(crate) fn level_bytes(self, level: u32) -> u64 {
        let wgpu::Extent3d { width, height, depth_or_array_layers } = self.extent(level);
        [width, height, depth_or_array_layers]
            .iter()
            .fold(self.texel_bytes().into(), |bytes: u64, n| bytes.saturating_mul((*n).into()))
    }

    /// Says what is wrong with a texture that has `given` bytes of texels, if it is too large for a device or these are too few.
    pub(crate) fn check(self, limits: &wgpu::Limits, given: u64) -> Result<(), String> {
        if self.dim == Dim::D1 && self.array {
            return Err("is an array of 1D textures, which WebGPU does not have".to_string());
        }
        let most = match self.dim {
            Dim::D1 => limits.max_texture_dimension_1d,
            Dim::D2 | Dim::Cube => limits.max_texture_dimension_2d,
            Dim::D3 => limits.max_texture_dimension_3d,
        };
        if let Some(n) = self.size.iter().find(|n| **n > most) {
            return Err(format!("has {n} texels along one axis, but the device supports at most {most}"));
        }
        let most = limits.max_texture_array_layers;
        if self.dim != Dim::D3 && self.layers > most {
            return Err(format!("has {} layers, but the device supports at most {most}", self.layers));
        }
        let needed = (0..self.levels).fold(0, |sum: u64, level| sum.saturating_add(self.level_bytes(level)));
        if given < needed {
            return Err(format!("has {given} bytes, but its texels take {needed}"));
        }
        Ok(())
    }

    /// How the shader sees it.
    pub(crate) fn binding(self, filterable: bool) -> wgpu::BindingType {
        match self.storage {
            Some(storage) => wgpu::BindingType::StorageTexture {
                access: match (storage.read, storage.write) {
                    (true, false) => wgpu::StorageTextureAccess::ReadOnly,
                    (true, true) => wgpu::StorageTextureAccess::ReadWrite,
                    (false, _) => wgpu::StorageTextureAccess::WriteOnly,
                },
                format: self.format(),
                view_dimension: self.view_dimension(),
            },
            None => wgpu::BindingType::Texture {
                sample_type: match self.number {
                    Number::F16 => wgpu::TextureSampleType::Float { filterable: true },
                    Number::F32 => wgpu::TextureSampleType::Float { filterable },
                    Number::Depth => wgpu::TextureSampleType::Depth,
                    Number::I32 => wgpu::TextureSampleType::Sint,
                    Number::U32 => wgpu::TextureSampleType::Uint,
                },
                view_dimension: self.view_dimension(),
                multisampled: false,
            },
        }
    }
}

impl Device {
    /// Whether textures of floats can be sampled with a mixture of texels.
    pub(crate) fn filters_floats(&self) -> bool {
        self.device.features().contains(wgpu::Features::FLOAT32_FILTERABLE)
    }

    pub(crate) fn make_texture(&self, image: Image, bytes: &[u8]) -> wgpu::Texture {
        let usage = match image.storage {
            Some(_) => wgpu::TextureUsages::STORAGE_BINDING | wgpu::TextureUsages::COPY_SRC,
            None if image.number == Number::Depth => {
                wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::RENDER_ATTACHMENT
            }
            None => wgpu::TextureUsages::TEXTURE_BINDING,
        };
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: image.extent(0),
            mip_level_count: image.levels,
            sample_count: 1,
            dimension: match image.dim {
                Dim::D1 => wgpu::TextureDimension::D1,
                Dim::D2 | Dim::Cube => wgpu::TextureDimension::D2,
                Dim::D3 => wgpu::TextureDimension::D3,
            },
            format: image.format(),
            usage: usage | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        if image.number == Number::Depth {
            self.draw_depths(image, &texture, bytes);
            return texture;
        }
        let mut start = 0;
        for level in 0..image.levels {
            let size = image.extent(level);
            let row = size.width * image.texel_bytes();
            let length = image.level_bytes(level) as usize;
            let mut target = texture.as_image_copy();
            target.mip_level = level;
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(row),
                rows_per_image: Some(size.height),
            };
            self.queue.write_texture(target, &bytes[start..start + length], layout, size);
            start += length;
        }
        texture
    }

    pub(crate) fn view(image: Image, texture: &wgpu::Texture) -> wgpu::TextureView {
        texture.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(image.view_dimension()),
            ..Default::default()
        })
    }

    pub(crate) fn make_sampler(&self, sampler: SamplerState, compares: bool) -> wgpu::Sampler {
        let filter = |filter| match filter {
            Filter::Linear => wgpu::FilterMode::Linear,
            Filter::Nearest => wgpu::FilterMode::Nearest,
        };
        let [u, v, w] = sampler.address.map(|address| match address {
            Address::Clamp => wgpu::AddressMode::ClampToEdge,
            Address::Repeat => wgpu::AddressMode::Repeat,
            Address::Mirror => wgpu::AddressMode::MirrorRepeat,
            Address::Border => wgpu::AddressMode::ClampToBorder,
        });
        let border = sampler.address.contains(&Address::Border);
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            address_mode_u: u,
            address_mode_v: v,
            address_mode_w: w,
            mag_filter: filter(sampler.mag),
            min_filter: filter(sampler.min),
            mipmap_filter: match sampler.mip {
                Filter::Linear => wgpu::MipmapFilterMode::Linear,
                Filter::Nearest => wgpu::MipmapFilterMode::Nearest,
            },
            compare: compares.then(|| comparison(sampler.compare)),
            border_color: border.then_some(wgpu::SamplerBorderColor::TransparentBlack),
            ..Default::default()
        })
    }

    /// The texels of the first level.
    pub(crate) fn read_texture(&self, image: Image, texture: &wgpu::Texture) -> Result<Vec<u8>, Error> {
        let size = image.extent(0);
        let row = (size.width * image.texel_bytes()) as usize;
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
        let rows = (size.height * size.depth_or_array_layers) as usize;
        let buffer = self.caught("cannot read a texture back", || {
            let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: (padded * rows) as u64,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(padded as u32),
                rows_per_image: Some(size.height),
            };
            let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
            encoder.copy_texture_to_buffer(texture.as_image_copy(), target, size);
            self.queue.submit([encoder.finish()]);
            buffer
        })?;
        let bytes = self.read_back(&buffer, 0, padded * rows)?;
        Ok(bytes.chunks_exact(padded).flat_map(|line| line[..row].iter().copied()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 GiB of texels, within what devices take along each axis.
    const LARGE: Image = Image {
        dim: Dim::D2,
        array: true,
        size: [16384, 16384, 1],
        layers: 1,
        levels: 1,
        number: Number::F32,
        lanes: 4,
        storage: None,
    };

    #[test]
    fn bytes_are_counted_in_64_bits() {
        let limits = wgpu::Limits { max_texture_dimension_2d: 16384, ..Default::default() };
        assert_eq!(LARGE.level_bytes(0), 1 << 32);
        assert_eq!(LARGE.check(&limits, 1 << 32), Ok(()));
        let few = "has 16 bytes, but its texels take 4294967296";
        assert_eq!(LARGE.check(&limits, 16), Err(few.to_string()));
    }

    #[test]
    fn what_no_device_takes_is_told() {
        let limits = wgpu::Limits::default();
        let axis = "has 16384 texels along one axis, but the device supports at most 8192";
        assert_eq!(LARGE.check(&limits, 1 << 32), Err(axis.to_string()));
        let layers = Image { size: [1, 1, 1], layers: 257, ..LARGE };
        let told = "has 257 layers, but the device supports at most 256";
        assert_eq!(layers.check(&limits, 1 << 32), Err(told.to_string()));
    }
}
