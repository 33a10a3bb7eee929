//! Creates the buffers and textures that a program is bound to, and describes them to wgpu.

use crate::run::{Bound, Layouts};
use crate::texture::sampler_kind;
use crate::{Binding, Content, Device, Error};
use std::collections::BTreeMap;

impl Device {
    /// Refuses what is too large to be bound.
    pub(crate) fn check_bindings(&self, bindings: &[Binding]) -> Result<(), Error> {
        let limits = self.device.limits();
        for binding in bindings {
            let mut size = binding.content.bytes().len() as u64;
            if let Content::Buffer(buffer, _) = &binding.content {
                size = buffer.size();
            }
            let limit = match binding.content {
                Content::Pushed(_) => u64::from(limits.max_immediate_size),
                Content::Uniform(_) => limits.max_uniform_buffer_binding_size,
                Content::Read(_) | Content::Write(_) | Content::Buffer(..) => {
                    limits.max_storage_buffer_binding_size
                }
                Content::Texture(image, ref bytes) => {
                    image
                        .check(&limits, size)
                        .and_then(|()| image.check_depths(bytes))
                        .map_err(|e| Error(format!("`{}` {e}", binding.name)))?;
                    continue;
                }
                Content::Bound(..) | Content::Sampler(_) | Content::Comparison(_) => continue,
            };
            if size > limit {
                let name = &binding.name;
                return Err(Error(format!(
                    "`{name}` has {size} bytes, but the device binds at most {limit}"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn pipeline_layout(&self, layouts: &Layouts, bindings: &[Binding]) -> wgpu::PipelineLayout {
        let last = layouts.keys().max().map_or(0, |group| group + 1);
        let groups: Vec<_> = (0..last).map(|group| layouts.get(&group)).collect();
        self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &groups,
            immediate_size: pushed(bindings).map_or(0, |bytes| bytes.len() as u32),
        })
    }

    /// How a shader sees something; what comes with the command to run is not bound.
    pub(crate) fn binding_type(&self, content: &Content) -> Option<wgpu::BindingType> {
        let buffer = |ty| wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
        let storage = |writes: bool| buffer(wgpu::BufferBindingType::Storage { read_only: !writes });
        Some(match content {
            Content::Pushed(_) => return None,
            Content::Uniform(_) => buffer(wgpu::BufferBindingType::Uniform),
            Content::Read(_) => storage(false),
            Content::Write(_) => storage(true),
            Content::Buffer(_, writes) => storage(*writes),
            Content::Texture(image, _) | Content::Bound(image, _) => image.binding(self.filters_floats()),
            Content::Sampler(state) => wgpu::BindingType::Sampler(sampler_kind(*state, false)),
            Content::Comparison(state) => wgpu::BindingType::Sampler(sampler_kind(*state, true)),
        })
    }

    pub(crate) fn layouts(&self, bindings: &[Binding], visibility: wgpu::ShaderStages) -> Layouts {
        let mut entries: BTreeMap<u32, Vec<wgpu::BindGroupLayoutEntry>> = BTreeMap::new();
        for binding in bindings {
            let Some(ty) = self.binding_type(&binding.content) else { continue };
            entries.entry(binding.group).or_default().push(wgpu::BindGroupLayoutEntry {
                binding: binding.index,
                visibility,
                ty,
                count: None,
            });
        }
        let layout = |entries: &[wgpu::BindGroupLayoutEntry]| {
            self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries })
        };
        entries.iter().map(|(group, entries)| (*group, layout(entries))).collect()
    }

    pub(crate) fn make_all(&self, bindings: &[Binding]) -> Vec<Made> {
        bindings.iter().map(|binding| self.make(&binding.content)).collect()
    }

    fn make(&self, content: &Content) -> Made {
        match content {
            Content::Pushed(_) => Made::Nothing,
            Content::Uniform(bytes) => Made::Buffer(self.buffer(wgpu::BufferUsages::UNIFORM, bytes)),
            Content::Read(bytes) => Made::Buffer(self.buffer(wgpu::BufferUsages::STORAGE, bytes)),
            Content::Write(bytes) => {
                let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
                Made::Buffer(self.buffer(usage, bytes))
            }
            Content::Buffer(buffer, _) => Made::Buffer(buffer.clone()),
            Content::Bound(image, texture) => Made::Texture(texture.clone(), Device::view(*image, texture)),
            Content::Texture(image, bytes) => {
                let texture = self.make_texture(*image, bytes);
                let view = Device::view(*image, &texture);
                Made::Texture(texture, view)
            }
            Content::Sampler(state) => Made::Sampler(self.make_sampler(*state, false)),
            Content::Comparison(state) => Made::Sampler(self.make_sampler(*state, true)),
        }
    }

    pub(crate) fn buffer(&self, usage: wgpu::BufferUsages, bytes: &[u8]) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: padded(bytes.len()),
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.fill(&buffer, 0, bytes);
        buffer
    }

    /// Writes bytes from the byte `start` on, which begins a word. The last word is filled up with zeros.
    pub(crate) fn fill(&self, buffer: &wgpu::Buffer, start: usize, bytes: &[u8]) {
        let whole = bytes.len() / 4 * 4;
        self.queue.write_buffer(buffer, start as u64, &bytes[..whole]);
        if whole < bytes.len() {
            let mut word = [0; 4];
            word[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.queue.write_buffer(buffer, (start + whole) as u64, &word);
        }
    }

    pub(crate) fn bind(&self, bindings: &[Binding], layouts: &Layouts, made: &[Made]) -> Bound {
        let bind = |(group, layout): (&u32, &wgpu::BindGroupLayout)| {
            let all = bindings.iter().zip(made).filter(|(binding, _)| binding.group == *group);
            let entries: Vec<_> = all
                .filter_map(|(binding, made)| {
                    Some(wgpu::BindGroupEntry { binding: binding.index, resource: made.resource()? })
                })
                .collect();
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
            (*group, self.device.create_bind_group(&descriptor))
        };
        layouts.iter().map(bind).collect()
    }
}

/// What a binding became on the device.
pub(crate) enum Made {
    Buffer(wgpu::Buffer),
    Texture(wgpu::Texture, wgpu::TextureView),
    Sampler(wgpu::Sampler),
    Nothing,
}

/// The values that come with the command to run.
pub(crate) fn pushed(bindings: &[Binding]) -> Option<&[u8]> {
    bindings.iter().find_map(|binding| {
        if let Content::Pushed(bytes) = &binding.content { Some(&bytes[..]) } else { None }
    })
}

impl Made {
    fn resource(&self) -> Option<wgpu::BindingResource<'_>> {
        match self {
            Made::Buffer(buffer) => Some(buffer.as_entire_binding()),
            Made::Texture(_, view) => Some(wgpu::BindingResource::TextureView(view)),
            Made::Sampler(sampler) => Some(wgpu::BindingResource::Sampler(sampler)),
            Made::Nothing => None,
        }
    }
}

/// Buffers are bound in words, and never empty.
pub(crate) fn padded(size: usize) -> u64 {
    (size as u64).next_multiple_of(4).max(4)
}
