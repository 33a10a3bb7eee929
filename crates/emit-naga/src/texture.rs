//! Textures and samplers.
//!
//! naga keeps the layer apart from the other coordinates, and its texels always have four lanes. A texture that is written is
//! declared with the format its texels have in memory, and readable only if it is read. In a compute shader nothing has
//! neighbours, so what follows from those is level 0.

use crate::capabilities::{Feature, refuse};
use crate::func::FuncEmitter;
use crate::{Emitter, Result, unsupported};
use cotangent_base::{Scalar, Span};
use cotangent_ir::texture::{Dim, Opaque, Sampling, Texture};
use cotangent_ir::{Access, Effect, Global, InstData, Op, Type, Value};
use naga::{
    Expression, Handle, ImageClass, ImageDimension, ImageQuery, Literal, SampleLevel, ScalarKind, Statement,
    StorageAccess, StorageFormat, SwizzleComponent, TypeInner,
};

type Expr = Handle<Expression>;

/// The format of the texels of a texture that is written.
fn format(texture: Texture) -> Option<StorageFormat> {
    Some(match (texture.scalar, texture.lanes) {
        (Scalar::F32, 1) => StorageFormat::R32Float,
        (Scalar::F32, 2) => StorageFormat::Rg32Float,
        (Scalar::F32, 4) => StorageFormat::Rgba32Float,
        (Scalar::I32, 1) => StorageFormat::R32Sint,
        (Scalar::I32, 2) => StorageFormat::Rg32Sint,
        (Scalar::I32, 4) => StorageFormat::Rgba32Sint,
        (Scalar::U32, 1) => StorageFormat::R32Uint,
        (Scalar::U32, 2) => StorageFormat::Rg32Uint,
        (Scalar::U32, 4) => StorageFormat::Rgba32Uint,
        _ => return None,
    })
}

impl Emitter<'_> {
    /// The type of a texture or sampler.
    pub fn opaque(&mut self, opaque: Opaque, global: Global, span: Span) -> Result<Handle<naga::Type>> {
        self.require(Feature::Texture, span, "a texture or sampler is not possible")?;
        let texture = match opaque {
            Opaque::Sampler => return Ok(self.plain(TypeInner::Sampler { comparison: false })),
            Opaque::Comparison => {
                return refuse(Feature::OtherTexture, span, "a comparison sampler is not possible yet");
            }
            Opaque::Texture(texture) => texture,
        };
        if texture.scalar == Scalar::F16 {
            return refuse(Feature::OtherTexture, span, "a texture of halves is not possible yet");
        }
        let dim = match texture.dim {
            Dim::D1 => ImageDimension::D1,
            Dim::D2 => ImageDimension::D2,
            Dim::D3 => ImageDimension::D3,
            Dim::Cube => ImageDimension::Cube,
        };
        let kind = self.scalar(texture.scalar, span)?.kind;
        let class = match texture.access {
            Access::Read => ImageClass::Sampled { kind, multi: false },
            Access::ReadWrite => {
                let Some(format) = format(texture) else {
                    return refuse(
                        Feature::OtherTexture,
                        span,
                        "a texture that is written, of three lanes, is not possible",
                    );
                };
                ImageClass::Storage { format, access: self.access_of(global) }
            }
        };
        Ok(self.plain(TypeInner::Image { dim, arrayed: texture.array, class }))
    }

    /// Whether a texture is read, written or both.
    fn access_of(&self, global: Global) -> StorageAccess {
        let mut access = StorageAccess::empty();
        for func in self.module.funcs.values() {
            for inst in func.all_insts().into_iter().map(|inst| &func.insts[inst]) {
                let handle = inst.operands.first().and_then(|v| func.op(*v));
                if handle == Some(&Op::Global(global)) {
                    match inst.op.effect() {
                        Effect::Read => access |= StorageAccess::LOAD,
                        Effect::Write => access |= StorageAccess::STORE,
                        Effect::None | Effect::Inner | Effect::Exit => {}
                    }
                }
            }
        }
        if access.is_empty() { StorageAccess::STORE } else { access }
    }
}

impl FuncEmitter<'_, '_> {
    fn texture_of(&self, handle: Value) -> Result<Texture> {
        match self.module().types.get(self.func.ty(handle)) {
            Type::Opaque(Opaque::Texture(texture)) => Ok(texture),
            _ => unsupported(self.span, "this is no texture, which is not possible"),
        }
    }

    /// The coordinates without the layer, and the layer.
    fn split(&mut self, at: Expr, axes: u8, layer: bool) -> (Expr, Option<Expr>) {
        if !layer {
            return (at, None);
        }
        let pattern = [SwizzleComponent::X, SwizzleComponent::Y, SwizzleComponent::Z, SwizzleComponent::W];
        let coordinate = match crate::types::vector_size(axes) {
            Some(size) => self.expr(Expression::Swizzle { size, vector: at, pattern }),
            None => self.expr(Expression::AccessIndex { base: at, index: 0 }),
        };
        (coordinate, Some(self.expr(Expression::AccessIndex { base: at, index: axes.into() })))
    }

    /// The lanes of a texel that there are.
    fn lanes(&mut self, texel: Expr, lanes: u8) -> Expr {
        let pattern = [SwizzleComponent::X, SwizzleComponent::Y, SwizzleComponent::Z, SwizzleComponent::W];
        match crate::types::vector_size(lanes) {
            Some(naga::VectorSize::Quad) => texel,
            Some(size) => self.expr(Expression::Swizzle { size, vector: texel, pattern }),
            None => self.expr(Expression::AccessIndex { base: texel, index: 0 }),
        }
    }

    pub fn sample(&mut self, data: &InstData, how: Sampling) -> Result<Expr> {
        let texture = self.texture_of(data.operands[0])?;
        if texture.dim == Dim::D1 {
            return refuse(
                Feature::OtherTexture,
                self.span,
                "sampling a texture of one dimension is not possible",
            );
        }
        let [image, sampler, at] = [0, 1, 2].map(|i| self.value(data.operands[i]));
        let rest: Vec<Expr> = data.operands[3..].iter().map(|v| self.value(*v)).collect();
        let (coordinate, layer) = self.split(at, texture.axes(), texture.array);
        let array_index = layer.map(|layer| {
            let nearest = Expression::Math {
                fun: naga::MathFunction::Round,
                arg: layer,
                arg1: None,
                arg2: None,
                arg3: None,
            };
            let expr = self.expr(nearest);
            self.expr(Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) })
        });
        let zero = |e: &mut Self| SampleLevel::Exact(e.expr(Expression::Literal(Literal::F32(0.0))));
        let (level, gather) = match how {
            Sampling::Implicit => (zero(self), None),
            Sampling::Bias | Sampling::Level => (SampleLevel::Exact(rest[0]), None),
            Sampling::Gradient => (SampleLevel::Gradient { x: rest[0], y: rest[1] }, None),
            Sampling::Gather(lane) => {
                let all =
                    [SwizzleComponent::X, SwizzleComponent::Y, SwizzleComponent::Z, SwizzleComponent::W];
                (SampleLevel::Zero, Some(all[usize::from(lane)]))
            }
            Sampling::Compare | Sampling::CompareZero => {
                return refuse(
                    Feature::OtherTexture,
                    self.span,
                    "a comparison with a texture is not possible yet",
                );
            }
        };
        let texel = self.expr(Expression::ImageSample {
            image,
            sampler,
            gather,
            coordinate,
            array_index,
            offset: None,
            level,
            depth_ref: None,
            clamp_to_edge: false,
        });
        let lanes = if gather.is_some() { 4 } else { texture.lanes };
        Ok(self.lanes(texel, lanes))
    }

    pub fn texel(&mut self, data: &InstData) -> Result<Expr> {
        let texture = self.texture_of(data.operands[0])?;
        let [image, at] = [0, 1].map(|i| self.value(data.operands[i]));
        let level = data.operands.get(2).map(|v| self.value(*v));
        let (coordinate, array_index) = self.split(at, texture.axes(), texture.array);
        let texel = self.expr(Expression::ImageLoad { image, coordinate, array_index, sample: None, level });
        Ok(self.lanes(texel, texture.lanes))
    }

    pub fn store_texel(&mut self, data: &InstData) -> Result<()> {
        let texture = self.texture_of(data.operands[0])?;
        let [image, at, value] = [0, 1, 2].map(|i| self.value(data.operands[i]));
        let ty = self.func.ty(data.operands[2]);
        let value = match self.emitter.poison {
            Some(poison) => self.poisoned(value, ty, poison)?,
            None => value,
        };
        let (coordinate, array_index) = self.split(at, texture.axes(), texture.array);
        let value = self.four_lanes(value, texture)?;
        self.statement(Statement::ImageStore { image, coordinate, array_index, value });
        Ok(())
    }

    /// A texel with zeros where it has no lanes.
    fn four_lanes(&mut self, value: Expr, texture: Texture) -> Result<Expr> {
        if texture.lanes == 4 {
            return Ok(value);
        }
        let scalar = self.emitter.scalar(texture.scalar, self.span)?;
        let size = naga::VectorSize::Quad;
        let ty = self.emitter.plain(TypeInner::Vector { size, scalar });
        let zero = match texture.scalar {
            Scalar::I32 => Literal::I32(0),
            Scalar::U32 => Literal::U32(0),
            _ => Literal::F32(0.0),
        };
        let mut components = vec![value];
        components.extend((texture.lanes..4).map(|_| self.expr(Expression::Literal(zero))));
        Ok(self.expr(Expression::Compose { ty, components }))
    }

    pub fn dimensions(&mut self, data: &InstData) -> Result<Expr> {
        let texture = self.texture_of(data.operands[0])?;
        let [image, level] = [0, 1].map(|i| self.value(data.operands[i]));
        let sampled = texture.access == Access::Read;
        let level = sampled.then_some(level);
        let size = self.expr(Expression::ImageQuery { image, query: ImageQuery::Size { level } });
        let axes = if texture.dim == Dim::Cube { 2 } else { texture.axes() };
        let one = self.expr(Expression::Literal(Literal::U32(1)));
        let mut components = vec![one; 4];
        for axis in 0..axes {
            let index = axis.into();
            components[usize::from(axis)] =
                if axes == 1 { size } else { self.expr(Expression::AccessIndex { base: size, index }) };
        }
        if texture.array {
            components[2] = self.expr(Expression::ImageQuery { image, query: ImageQuery::NumLayers });
        }
        if sampled {
            components[3] = self.expr(Expression::ImageQuery { image, query: ImageQuery::NumLevels });
        }
        let ty =
            self.emitter.plain(TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::U32 });
        Ok(self.expr(Expression::Compose { ty, components }))
    }
}
