//! Emits textures and samplers.
//!
//! naga separates the layer from the other coordinates, and its texels always have four 32-bit components. A writable texture
//! is declared with the format of its texels in memory (three components are stored as four), and as readable only if it is
//! read. In a compute shader there are no neighbouring pixels, so implicit levels are level 0.
//!
//! A texture that is compared is a depth texture in naga: it has one component, and other sampling of it uses level 0 only.
//!
//! GLSL samples a combination of texture and sampler. In naga each combination that occurs is a separate texture
//! ([`Emitter::pair`]), which [`glsl`](crate::glsl) prints as a combination.

use crate::func::FuncEmitter;
use crate::refuse::refuse;
use crate::write::Pair;
use crate::{Emitter, Result, unsupported, variable};
use cotangent_base::{Scalar, Span, scalar_group};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::Target;
use cotangent_ir::texture::{Dim, Opaque, Sampling, Texture, Touched};
use cotangent_ir::{Access, Const, Func, Global, InstData, Op, Type, Value};
use naga::{
    AddressSpace, Expression, GlobalVariable, Handle, ImageClass, ImageDimension, ImageQuery, Literal,
    ResourceBinding, SampleLevel, ScalarKind, Statement, StorageAccess, StorageFormat, SwizzleComponent,
    TypeInner,
};

type Expr = Handle<Expression>;

const LANES: [SwizzleComponent; 4] =
    [SwizzleComponent::X, SwizzleComponent::Y, SwizzleComponent::Z, SwizzleComponent::W];

/// The group of variables that stand for pairs.
pub(crate) const PAIRS: u32 = u32::MAX - 1;

/// The format of the texels of a texture that is written.
fn format(texture: Texture) -> Option<StorageFormat> {
    Some(match (texture.scalar, texture.lanes) {
        (Scalar::F16, 1) => StorageFormat::R16Float,
        (Scalar::F16, 2) => StorageFormat::Rg16Float,
        (Scalar::F16, _) => StorageFormat::Rgba16Float,
        (Scalar::F32, 1) => StorageFormat::R32Float,
        (Scalar::F32, 2) => StorageFormat::Rg32Float,
        (Scalar::F32, _) => StorageFormat::Rgba32Float,
        (Scalar::I32, 1) => StorageFormat::R32Sint,
        (Scalar::I32, 2) => StorageFormat::Rg32Sint,
        (Scalar::I32, _) => StorageFormat::Rgba32Sint,
        (Scalar::U32, 1) => StorageFormat::R32Uint,
        (Scalar::U32, 2) => StorageFormat::Rg32Uint,
        (Scalar::U32, _) => StorageFormat::Rgba32Uint,
        _ => return None,
    })
}

/// The kind of numbers that a shader sees in a texture.
fn kind(texture: Texture) -> ScalarKind {
    match texture.scalar {
        Scalar::I32 => ScalarKind::Sint,
        Scalar::U32 => ScalarKind::Uint,
        Scalar::Bool | scalar_group!(int | float) => ScalarKind::Float,
    }
}

impl Emitter<'_> {
    /// The type of a texture or sampler.
    pub fn opaque(&mut self, opaque: Opaque, global: Global, span: Span) -> Result<Handle<naga::Type>> {
        self.require(Feature::Texture, span, "a texture or sampler is not supported")?;
        let texture = match opaque {
            Opaque::Sampler => return Ok(self.plain(TypeInner::Sampler { comparison: false })),
            Opaque::Comparison => return Ok(self.plain(TypeInner::Sampler { comparison: true })),
            Opaque::Texture(texture) => texture,
        };
        // Texels are made of what the target must know, although naga converts them.
        self.scalar(texture.scalar, span)?;
        if texture.dim == Dim::D1 && texture.array {
            self.require(Feature::LineArray, span, "an array of 1D textures is not supported")?;
        }
        let touched = self.touched.get(&global).copied().unwrap_or_default();
        let class = match texture.access {
            // GLSL has a variable for each sampler.
            Access::Read if touched.compared && self.target != Target::Glsl => self.depths(texture, span)?,
            Access::Read => ImageClass::Sampled { kind: kind(texture), multi: false },
            Access::ReadWrite => {
                let Some(format) = format(texture) else {
                    return unsupported(span, "a texture of these numbers is not supported");
                };
                ImageClass::Storage { format, access: access(touched) }
            }
        };
        Ok(self.image(texture, class))
    }

    fn image(&mut self, texture: Texture, class: ImageClass) -> Handle<naga::Type> {
        let dim = match texture.dim {
            Dim::D1 => ImageDimension::D1,
            Dim::D2 => ImageDimension::D2,
            Dim::D3 => ImageDimension::D3,
            Dim::Cube => ImageDimension::Cube,
        };
        self.plain(TypeInner::Image { dim, arrayed: texture.array, class })
    }

    /// The class of a texture that is compared.
    fn depths(&self, texture: Texture, span: Span) -> Result<ImageClass> {
        let flat = matches!(texture.dim, Dim::D2 | Dim::Cube);
        if !flat || texture.lanes != 1 || texture.scalar != Scalar::F32 {
            let what = "comparing a texture other than a 2D texture of `float` is not supported";
            return refuse(Feature::OtherComparison, span, what);
        }
        Ok(ImageClass::Depth { multi: false })
    }

    /// The variable that stands for a texture together with a sampler.
    fn pair(
        &mut self,
        texture: (Global, Texture),
        sampler: Global,
        compares: bool,
        span: Span,
    ) -> Result<Handle<GlobalVariable>> {
        if let Some(found) = self.pairs.get(&(texture.0, sampler)) {
            return Ok(*found);
        }
        let class = match compares {
            true => self.depths(texture.1, span)?,
            false => ImageClass::Sampled { kind: kind(texture.1), multi: false },
        };
        let ty = self.image(texture.1, class);
        let parts = [texture.0, sampler].map(|g| self.out.global_variables[self.globals[&g]].binding);
        let [Some(texture_at), Some(sampler_at)] = parts else {
            return unsupported(span, "a texture without a binding is not supported");
        };
        let binding = ResourceBinding { group: PAIRS, binding: self.pairs.len() as u32 };
        self.slots.pairs.push(Pair { pair: binding, texture: texture_at, sampler: sampler_at });
        let var = variable("pair", AddressSpace::Handle, ty, Some(binding), None);
        let handle = self.out.global_variables.append(var, naga::Span::UNDEFINED);
        self.pairs.insert((texture.0, sampler), handle);
        Ok(handle)
    }
}

/// Whether a texture that may be written is read, written or both.
fn access(touched: Touched) -> StorageAccess {
    let mut access = StorageAccess::empty();
    access.set(StorageAccess::LOAD, touched.read);
    access.set(StorageAccess::STORE, touched.written || !touched.read);
    access
}

impl FuncEmitter<'_, '_> {
    fn texture_of(&self, handle: Value) -> Result<Texture> {
        if let Type::Opaque(Opaque::Texture(texture)) = self.module().types.get(self.func.ty(handle)) {
            Ok(texture)
        } else {
            unsupported(self.span, "a texture operation on something else is not supported")
        }
    }

    /// The coordinates without the layer, and the layer.
    fn split(&mut self, at: Expr, axes: u8, layer: bool) -> (Expr, Option<Expr>) {
        if !layer {
            return (at, None);
        }
        let coordinate = match crate::types::vector_size(axes) {
            Some(size) => self.expr(Expression::Swizzle { size, vector: at, pattern: LANES }),
            None => self.expr(Expression::AccessIndex { base: at, index: 0 }),
        };
        (coordinate, Some(self.expr(Expression::AccessIndex { base: at, index: axes.into() })))
    }

    /// The lanes of a texel that there are, as the numbers they are.
    fn lanes(&mut self, texel: Expr, lanes: u8, texture: Texture) -> Expr {
        let expr = match crate::types::vector_size(lanes) {
            Some(naga::VectorSize::Quad) => texel,
            Some(size) => self.expr(Expression::Swizzle { size, vector: texel, pattern: LANES }),
            None => self.expr(Expression::AccessIndex { base: texel, index: 0 }),
        };
        if texture.scalar != Scalar::F16 {
            return expr;
        }
        self.expr(Expression::As { expr, kind: ScalarKind::Float, convert: Some(2) })
    }

    /// Whether what naga sees is a texture of depths, whose texels are no vectors.
    fn is_of_depths(&self, handle: Value) -> bool {
        let Some(Op::Global(global)) = self.func.op(handle) else { return false };
        self.emitter.target != Target::Glsl
            && self.emitter.touched.get(global).is_some_and(|touched| touched.compared)
    }

    /// The texture through which a sampler samples.
    fn sampled(&mut self, data: &InstData, texture: Texture, how: Sampling) -> Result<Expr> {
        if self.emitter.target != Target::Glsl {
            return Ok(self.value(data.operands[0]));
        }
        let (Some(Op::Global(global)), Some(Op::Global(sampler))) =
            (self.func.op(data.operands[0]), self.func.op(data.operands[1]))
        else {
            return unsupported(self.span, "a texture chosen at run time is not supported");
        };
        let var = self.emitter.pair((*global, texture), *sampler, how.compares(), self.span)?;
        Ok(self.expr(Expression::GlobalVariable(var)))
    }

    pub fn sample(&mut self, data: &InstData, how: Sampling) -> Result<Expr> {
        let texture = self.texture_of(data.operands[0])?;
        if texture.dim == Dim::D1 {
            let what = "sampling a 1D texture is not supported";
            self.emitter.require(Feature::SampledLine, self.span, what)?;
        }
        let depths = self.is_of_depths(data.operands[0]);
        if depths && matches!(how, Sampling::Bias | Sampling::Level | Sampling::Gradient) {
            let what = "sampling a texture at a chosen level is not supported if it is also compared";
            self.emitter.require(Feature::ComparedLevels, self.span, what)?;
        }
        let image = self.sampled(data, texture, how)?;
        let [sampler, at] = [1, 2].map(|i| self.value(data.operands[i]));
        let rest: Vec<Expr> = data.operands[3..].iter().map(|v| self.value(*v)).collect();
        let (coordinate, layer) = self.split(at, texture.axes(), texture.array);
        let array_index = layer.map(|layer| self.rounded(layer));
        let level = match how {
            Sampling::Implicit if self.for_pixels()? => SampleLevel::Auto,
            Sampling::Bias if self.for_pixels()? => SampleLevel::Bias(rest[0]),
            Sampling::Compare if self.for_pixels()? => SampleLevel::Auto,
            Sampling::Implicit if depths => {
                SampleLevel::Exact(self.expr(Expression::Literal(Literal::I32(0))))
            }
            Sampling::Implicit => SampleLevel::Exact(self.expr(Expression::Literal(Literal::F32(0.0)))),
            Sampling::Bias | Sampling::Level => SampleLevel::Exact(rest[0]),
            Sampling::Gradient if texture.dim == Dim::D1 && self.emitter.target == Target::Wgsl => {
                SampleLevel::Exact(self.level_of(image, [rest[0], rest[1]]))
            }
            Sampling::Gradient => SampleLevel::Gradient { x: rest[0], y: rest[1] },
            Sampling::Gather(_) | Sampling::Compare | Sampling::CompareZero => SampleLevel::Zero,
        };
        let gather = if let Sampling::Gather(lane) = how { Some(LANES[usize::from(lane)]) } else { None };
        let depth_ref = how.compares().then(|| rest[0]);
        let offset = match data.operands.get(3 + how.operands()) {
            Some(_) if texture.dim == Dim::D1 && !Feature::LineOffset.is_in(self.emitter.target) => {
                let what = "sampling a 1D texture with an offset is not supported";
                return refuse(Feature::LineOffset, self.span, what);
            }
            Some(offset) => Some(self.constant_offset(*offset, texture.axes())?),
            None => None,
        };
        let texel = self.expr(Expression::ImageSample {
            image,
            sampler,
            gather,
            coordinate,
            array_index,
            offset,
            level,
            depth_ref,
            clamp_to_edge: false,
        });
        if depth_ref.is_some() || (depths && gather.is_none()) {
            return Ok(texel);
        }
        let lanes = if gather.is_some() { 4 } else { texture.lanes };
        Ok(self.lanes(texel, lanes, texture))
    }

    /// An offset in texels, which must be a constant.
    fn constant_offset(&mut self, offset: Value, axes: u8) -> Result<Expr> {
        let Some(numbers) = constants(self.func, offset, axes.into()) else {
            let what = "sampling with an offset that is not a constant is not supported";
            return refuse(Feature::VariableOffset, self.span, what);
        };
        let literals = numbers.iter().map(|n| self.expr(Expression::Literal(Literal::I32(*n)))).collect();
        match crate::types::vector_size(numbers.len() as u8) {
            Some(_) => {
                let ty = self.emitter.ty(self.func.ty(offset), self.span)?;
                Ok(self.expr(Expression::Compose { ty, components: literals }))
            }
            None => Ok(literals[0]),
        }
    }

    /// The level that two derivatives ask for along a line, which WGSL does not sample by derivatives.
    fn level_of(&mut self, image: Expr, derivatives: [Expr; 2]) -> Expr {
        let math = |e: &mut Self, fun, arg, arg1| {
            e.expr(Expression::Math { fun, arg, arg1, arg2: None, arg3: None })
        };
        let [x, y] = derivatives.map(|d| math(self, naga::MathFunction::Abs, d, None));
        let left = math(self, naga::MathFunction::Max, x, Some(y));
        let expr = self.expr(Expression::ImageQuery { image, query: ImageQuery::Size { level: None } });
        let right = self.expr(Expression::As { expr, kind: ScalarKind::Float, convert: Some(4) });
        let op = naga::BinaryOperator::Multiply;
        let length = self.expr(Expression::Binary { op, left, right });
        math(self, naga::MathFunction::Log2, length, None)
    }

    /// The number of a layer.
    fn rounded(&mut self, layer: Expr) -> Expr {
        let fun = naga::MathFunction::Round;
        let expr = self.expr(Expression::Math { fun, arg: layer, arg1: None, arg2: None, arg3: None });
        self.expr(Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) })
    }

    pub fn texel(&mut self, data: &InstData) -> Result<Expr> {
        let texture = self.texture_of(data.operands[0])?;
        let [image, at] = [0, 1].map(|i| self.value(data.operands[i]));
        let level = data.operands.get(2).map(|v| self.value(*v));
        let (coordinate, array_index) = self.split(at, texture.axes(), texture.array);
        let texel = self.expr(Expression::ImageLoad { image, coordinate, array_index, sample: None, level });
        if self.is_of_depths(data.operands[0]) {
            return Ok(texel);
        }
        // In GLSL naga sees that numbers are not too large, but not that they are negative.
        let texel = if self.emitter.target == Target::Glsl && texture.access == Access::Read {
            self.zero_below_zero(texel, &[Some(at), level], texture)
        } else {
            texel
        };
        Ok(self.lanes(texel, texture.lanes, texture))
    }

    /// A texel, or zero if one of these numbers is negative as a signed one.
    fn zero_below_zero(&mut self, texel: Expr, numbers: &[Option<Expr>], texture: Texture) -> Expr {
        let mut inside = None;
        for (i, number) in numbers.iter().enumerate() {
            let Some(expr) = *number else { continue };
            let left = self.expr(Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) });
            let lanes = if i == 0 { texture.position() } else { 1 };
            let mut right = self.expr(Expression::Literal(Literal::I32(0)));
            if let Some(size) = crate::types::vector_size(lanes) {
                right = self.expr(Expression::Splat { size, value: right });
            }
            let op = naga::BinaryOperator::GreaterEqual;
            let mut here = self.expr(Expression::Binary { op, left, right });
            if lanes > 1 {
                let fun = naga::RelationalFunction::All;
                here = self.expr(Expression::Relational { fun, argument: here });
            }
            let op = naga::BinaryOperator::LogicalAnd;
            inside = Some(match inside {
                Some(left) => self.expr(Expression::Binary { op, left, right: here }),
                None => here,
            });
        }
        let Some(condition) = inside else { return texel };
        let scalar = naga::Scalar { kind: kind(texture), width: 4 };
        let ty = self.emitter.plain(TypeInner::Vector { size: naga::VectorSize::Quad, scalar });
        let reject = self.expr(Expression::ZeroValue(ty));
        self.expr(Expression::Select { condition, accept: texel, reject })
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
        let value = self.four_lanes(value, texture);
        self.statement(Statement::ImageStore { image, coordinate, array_index, value });
        Ok(())
    }

    /// A texel as naga has it, with zeros where it has no lanes.
    fn four_lanes(&mut self, mut value: Expr, texture: Texture) -> Expr {
        if texture.scalar == Scalar::F16 {
            value = self.expr(Expression::As { expr: value, kind: ScalarKind::Float, convert: Some(4) });
        }
        if texture.lanes == 4 {
            return value;
        }
        let scalar = naga::Scalar { kind: kind(texture), width: 4 };
        let size = naga::VectorSize::Quad;
        let ty = self.emitter.plain(TypeInner::Vector { size, scalar });
        let zero = match texture.scalar {
            Scalar::I32 => Literal::I32(0),
            Scalar::U32 => Literal::U32(0),
            Scalar::Bool | scalar_group!(int | float) => Literal::F32(0.0),
        };
        let mut components = vec![value];
        components.extend((texture.lanes..4).map(|_| self.expr(Expression::Literal(zero))));
        self.expr(Expression::Compose { ty, components })
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

/// The integers of a constant scalar or vector of so many components.
fn constants(func: &Func, value: Value, lanes: usize) -> Option<Vec<i32>> {
    let data = func.def(value)?;
    if let Op::Const(Const::Int(n)) = data.op {
        return Some(vec![n as i32]);
    }
    if data.op == Op::Zero {
        return Some(vec![0; lanes]);
    }
    if data.op == Op::Splat {
        return Some(vec![*constants(func, data.operands[0], 1)?.first()?; lanes]);
    }
    let parts = (data.op == Op::Pack).then_some(&data.operands)?;
    parts.iter().map(|v| constants(func, *v, 1)?.first().copied()).collect()
}
