//! Depth textures, which samplers can compare.
//!
//! Devices do not accept bytes for them, so they are drawn: a triangle covers each layer of each level, and its depth at each
//! pixel is a texel of an ordinary texture. Depths are numbers from 0 to 1.

use crate::Device;
use crate::texture::{Image, Number};

const SHADER: &str = "
@group(0) @binding(0) var depths: texture_2d<f32>;
@vertex fn corner(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return vec4(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}
@fragment fn depth(@builtin(position) at: vec4<f32>) -> @builtin(frag_depth) f32 {
    return textureLoad(depths, vec2<u32>(at.xy), 0).x;
}
";

impl Image {
    /// Says which number is no depth, if a texture of depths has one.
    pub(crate) fn check_depths(self, bytes: &[u8]) -> Result<(), String> {
        if self.number != Number::Depth {
            return Ok(());
        }
        let floats = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        match floats.into_iter().find(|x| !(0.0..=1.0).contains(x)) {
            Some(x) => Err(format!("contains {x}, but devices compare only with numbers from 0 to 1")),
            None => Ok(()),
        }
    }
}

impl Device {
    /// Fills a texture of depths.
    pub(crate) fn draw_depths(&self, image: Image, texture: &wgpu::Texture, bytes: &[u8]) {
        let pipeline = self.depth_pipeline();
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut start = 0;
        for level in 0..image.levels {
            let size = image.extent(level);
            let length = image.level_bytes(level) as usize / size.depth_or_array_layers as usize;
            for layer in 0..size.depth_or_array_layers {
                let size = wgpu::Extent3d { depth_or_array_layers: 1, ..size };
                let from = self.plain_depths(size, &bytes[start..start + length]);
                let to = texture.create_view(&wgpu::TextureViewDescriptor {
                    dimension: Some(wgpu::TextureViewDimension::D2),
                    base_mip_level: level,
                    mip_level_count: Some(1),
                    base_array_layer: layer,
                    array_layer_count: Some(1),
                    ..Default::default()
                });
                self.draw(&mut encoder, &pipeline, &from, &to);
                start += length;
            }
        }
        self.queue.submit([encoder.finish()]);
    }

    fn depth_pipeline(&self) -> wgpu::RenderPipeline {
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some("corner"),
                compilation_options: Default::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: Some(wgpu::DepthStencilState {
                format: wgpu::TextureFormat::Depth32Float,
                depth_write_enabled: Some(true),
                depth_compare: Some(wgpu::CompareFunction::Always),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some("depth"),
                compilation_options: Default::default(),
                targets: &[],
            }),
            multiview_mask: None,
            cache: None,
        })
    }

    /// The depths of one layer as an ordinary texture.
    fn plain_depths(&self, size: wgpu::Extent3d, bytes: &[u8]) -> wgpu::TextureView {
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * size.width),
            rows_per_image: Some(size.height),
        };
        self.queue.write_texture(texture.as_image_copy(), bytes, layout, size);
        texture.create_view(&wgpu::TextureViewDescriptor::default())
    }

    fn draw(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &wgpu::RenderPipeline,
        from: &wgpu::TextureView,
        to: &wgpu::TextureView,
    ) {
        let entries =
            [wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(from) }];
        let layout = pipeline.get_bind_group_layout(0);
        let bound = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        let depth_ops =
            Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Store });
        let attachment = wgpu::RenderPassDepthStencilAttachment { view: to, depth_ops, stencil_ops: None };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            depth_stencil_attachment: Some(attachment),
            ..Default::default()
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &bound, &[]);
        pass.draw(0..3, 0..1);
    }
}
