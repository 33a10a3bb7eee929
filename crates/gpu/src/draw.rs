//! Draws: runs a vertex and a fragment shader over a grid of pixels, and reads the pixels back.

use crate::bindings::pushed;
use crate::{Binding, Code, Device, Error};

/// Shaders that draw, and what is bound to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// A shader with both entry points.
    pub code: Code,
    /// The vertex shader.
    pub vertex: String,
    /// The fragment shader, whose target 0 is read back.
    pub fragment: String,
    /// What is bound.
    pub bindings: Vec<Binding>,
    /// How many pixels there are, across and down.
    pub size: [u32; 2],
}

/// Numbers of a pixel: nothing is lost of what the shader gives.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Float;
const PIXEL: u32 = 16;
/// Rows of a copy begin at multiples of this.
const ROW: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

impl Device {
    /// Draws one triangle of three vertices onto pixels that are zero, and gives the pixels, row by row from the top.
    pub fn draw_triangle(&self, drawing: &Drawing) -> Result<Vec<[f32; 4]>, Error> {
        let [width, height] = drawing.size;
        let bindings = &drawing.bindings;
        let row = row_bytes(drawing.size, &self.device.limits())?;
        self.check_bindings(bindings)?;
        let module = self.caught("cannot compile the shaders", || {
            self.shader(&drawing.code, &[&drawing.vertex, &drawing.fragment], bindings)
        })??;
        let layouts = self.caught("cannot lay out the parameters", || {
            self.layouts(bindings, wgpu::ShaderStages::VERTEX_FRAGMENT)
        })?;
        let pipeline =
            self.caught("cannot create a pipeline", || self.drawing_pipeline(drawing, &module, &layouts))?;
        let made = self.caught("cannot create the buffers", || self.make_all(bindings))?;
        let bound = self.caught("cannot bind the parameters", || self.bind(bindings, &layouts, &made))?;
        let pixels = self.caught("cannot draw", || {
            let (target, pixels) = self.target(drawing.size, row);
            let view = target.create_view(&wgpu::TextureViewDescriptor::default());
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(attachment(&view))],
                ..Default::default()
            });
            pass.set_pipeline(&pipeline);
            for (group, bound) in &bound {
                pass.set_bind_group(*group, bound, &[]);
            }
            if let Some(bytes) = pushed(bindings) {
                pass.set_immediates(0, bytes);
            }
            pass.draw(0..3, 0..1);
            drop(pass);
            let layout =
                wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
            let to = wgpu::TexelCopyBufferInfo { buffer: &pixels, layout };
            encoder.copy_texture_to_buffer(target.as_image_copy(), to, target.size());
            self.queue.submit([encoder.finish()]);
            pixels
        })?;
        let bytes = self.read_back(&pixels, 0, row as usize * height as usize)?;
        let used = width as usize * PIXEL as usize;
        let pixel = |bytes: &[u8]| {
            [0, 4, 8, 12].map(|at| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default()))
        };
        Ok(bytes.chunks(row as usize).flat_map(|row| row[..used].chunks(PIXEL as usize).map(pixel)).collect())
    }

    /// The pixels, and the buffer that they are copied to.
    fn target(&self, [width, height]: [u32; 2], row: u32) -> (wgpu::Texture, wgpu::Buffer) {
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        (texture, buffer)
    }

    fn drawing_pipeline(
        &self,
        drawing: &Drawing,
        module: &wgpu::ShaderModule,
        layouts: &crate::run::Layouts,
    ) -> wgpu::RenderPipeline {
        let layout = self.pipeline_layout(layouts, &drawing.bindings);
        let options = wgpu::PipelineCompilationOptions::default;
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module,
                entry_point: Some(&drawing.vertex),
                compilation_options: options(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: Some(&drawing.fragment),
                compilation_options: options(),
                targets: &[Some(FORMAT.into())],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}

/// How many bytes a row takes in a copy of that many pixels. Refuses what the device cannot draw or copy.
fn row_bytes([width, height]: [u32; 2], limits: &wgpu::Limits) -> Result<u32, Error> {
    let refuse = |why: String| Err(Error(format!("cannot draw {width} by {height} pixels: {why}")));
    if width == 0 || height == 0 {
        return refuse("there must be at least one".into());
    }
    let most = limits.max_texture_dimension_2d;
    if width.max(height) > most {
        return refuse(format!("the device supports at most {most} along an axis"));
    }
    let row = (u64::from(width) * u64::from(PIXEL)).next_multiple_of(u64::from(ROW));
    let (bytes, most) = (row.saturating_mul(height.into()), limits.max_buffer_size);
    match u32::try_from(row) {
        Ok(row) if bytes <= most => Ok(row),
        _ => refuse(format!("they are {bytes} bytes, and the device copies at most {most}")),
    }
}

fn attachment(view: &wgpu::TextureView) -> wgpu::RenderPassColorAttachment<'_> {
    wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations {
            load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
            store: wgpu::StoreOp::Store,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked_before_anything_is_drawn() {
        let limits =
            wgpu::Limits { max_texture_dimension_2d: 8192, max_buffer_size: 1 << 28, ..Default::default() };
        let said = |size| row_bytes(size, &limits).map_err(|e| e.to_string());
        assert_eq!(said([4, 2]), Ok(256));
        assert_eq!(said([17, 1]), Ok(512));
        for size in [[0, 4], [4, 0]] {
            assert!(said(size).is_err_and(|e| e.ends_with("there must be at least one")), "{size:?}");
        }
        for size in [[u32::MAX, 1], [1, 8193]] {
            assert!(said(size).is_err_and(|e| e.ends_with("at most 8192 along an axis")), "{size:?}");
        }
        let large = "cannot draw 8192 by 8192 pixels: they are 1073741824 bytes, and the device copies at most 268435456";
        assert_eq!(said([8192, 8192]), Err(large.to_string()));
    }
}
