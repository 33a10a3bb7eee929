//! Collects all shader parameters as declared. Unused ones matter too, because each shifts the bindings of those after it.
//!
//! The code refers only to the leaves that it uses; see [`global`](crate::global).

use crate::codes;
use crate::counter;
use crate::global::{GlobalRef, Uniform};
use crate::instance::Lowerer;
use crate::varying::{Interface, is_varying};
use cotangent_base::{Diagnostic, Span, Symbol, Wish};
use cotangent_ir::layout::Target;
use cotangent_ir::shader::{Block, Field, ShaderParam, ShaderParams, Shape};
use cotangent_ir::{self as ir, FuncId, Stage};
use cotangent_sema::hir::{self, Arg, Ty, TyKind};
use cotangent_sema::kind_group;

/// The most resources in one array. Each is a global of its own.
const MOST_RESOURCES: u64 = 1 << 14;

/// The most bytes of uniforms in a program that runs: the host allocates them. Shaders allow far fewer.
const MOST_UNIFORM_BYTES: u64 = 1 << 26;

/// Refuses uniforms that are too large for a host. Type sizes have been checked one by one.
fn check_uniforms(lowerer: &mut Lowerer<'_>) {
    let types = &lowerer.module.types;
    let mut sum = 0;
    let passes_limit = |data: &&ir::GlobalData| {
        let is_uniform = data.kind == ir::GlobalKind::Param
            && !matches!(types.get(data.ty), ir::Type::Buffer(..) | ir::Type::Opaque(_));
        let size = ir::layout::layout(types, data.ty).filter(|_| is_uniform).map_or(0, |l| u64::from(l.size));
        sum += size;
        sum > MOST_UNIFORM_BYTES
    };
    let Some(data) = lowerer.module.globals.values().find(passes_limit) else { return };
    let message = format!(
        "uniform parameters of more than {} MiB are not supported where programs run",
        MOST_UNIFORM_BYTES >> 20
    );
    let diagnostic = Diagnostic::new(codes::UNSUPPORTED_TYPE, data.span, message)
        .help("make its arrays shorter, or store the elements in a buffer");
    lowerer.diagnostics.push(diagnostic);
}

/// All global parameters, and those of these entry points.
pub(crate) fn collect(lowerer: &mut Lowerer<'_>, entries: &[(FuncId, hir::FuncRef)]) -> ShaderParams {
    let mut params = ShaderParams::default();
    // A parameter of the shader stands in no generic declaration.
    let plain = lowerer.queries.args(&[]);
    for id in lowerer.queries.program.globals.keys() {
        let hir::Global { name, ty, kind, span, wish, cbuffer, .. } =
            lowerer.queries.program.globals[id].clone();
        if kind != hir::GlobalKind::Param {
            continue;
        }
        let shape = lowerer.quietly(|l| l.global_shape(id));
        let Some(shape) = shape else {
            params.unknown.get_or_insert(span);
            continue;
        };
        let leaves = match lowerer.globals.get(&(id, plain)) {
            Some(GlobalRef::Uniform(uniform)) => leaves(uniform),
            _ => vec![],
        };
        let bytes = lowerer.is_byte_buffer(ty);
        let ty = cbuffer.is_none().then(|| Symbol::new(&lowerer.queries.show(ty)));
        params.globals.push(ShaderParam { name, span, ty, shape, bytes, wish, leaves });
    }
    for (id, func) in entries {
        let list = entry_params(lowerer, *func, &mut params.unknown);
        params.entries.push((lowerer.module.funcs[*id].name, list));
        let stage = lowerer.module.funcs[*id].entry.as_ref().map_or(Stage::Compute, |e| e.stage);
        let varyings = match stage {
            Stage::Compute => None,
            Stage::Vertex | Stage::Fragment => lowerer.quietly(|l| Interface::of(l, *func, stage).shown),
        };
        params.varyings.push(varyings.unwrap_or_default());
    }
    params.globals.extend(counter::params(lowerer));
    if lowerer.options.runs {
        check_uniforms(lowerer);
    }
    params
}

fn entry_params(
    lowerer: &mut Lowerer<'_>,
    func: hir::FuncRef,
    unknown: &mut Option<Span>,
) -> Vec<ShaderParam> {
    let mut list = Vec::new();
    let declared = lowerer.queries.program.funcs[func.func].params.clone();
    let subst = lowerer.subst(func);
    let stage = lowerer.entry(func.func).map(|e| e.stage);
    for (number, param) in declared.into_iter().enumerate() {
        let (name, span) = (param.name, param.span);
        let ty = lowerer.queries.subst(param.ty, &subst);
        let varying = match stage {
            Some(hir::Stage::Compute) | None => param.varying.semantic.is_some(),
            _ => lowerer.quietly(|l| is_varying(l, ty, &param)).unwrap_or(false),
        };
        if varying {
            continue;
        }
        let Some(shape) = lowerer.quietly(|l| l.shape(ty, span)) else {
            unknown.get_or_insert(span);
            continue;
        };
        let leaves = lowerer.uniforms.get(&(func.func, number)).map_or(vec![], leaves);
        let bytes = lowerer.is_byte_buffer(ty);
        let ty = Some(Symbol::new(&lowerer.queries.show(ty)));
        list.push(ShaderParam { name, span, ty, shape, bytes, wish: Wish::default(), leaves });
    }
    list
}

/// How many globals a parameter of a shape becomes.
fn count(shape: &Shape) -> u64 {
    match shape {
        Shape::Value(_) | Shape::Packed(..) | Shape::Resource(_) | Shape::Counter(_) => 1,
        Shape::Block(_, inner) => count(inner),
        Shape::Struct(fields) => fields.iter().map(|field| count(&field.shape)).fold(0, u64::saturating_add),
        Shape::Array(elem, n) => u64::from(*n).saturating_mul(count(elem)),
    }
}

/// The globals of a parameter, in order.
fn leaves(uniform: &Uniform) -> Vec<ir::Global> {
    match uniform {
        Uniform::Leaf(global) | Uniform::Element(global) | Uniform::Pointer(global, _) => vec![*global],
        Uniform::Parts(_, parts) => parts.iter().flat_map(leaves).collect(),
    }
}

impl Lowerer<'_> {
    /// What `look` finds, unless there is something to report.
    pub fn quietly<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let said = std::mem::take(&mut self.diagnostics);
        let found = look(self);
        let failed = self.diagnostics.has_errors();
        self.diagnostics = said;
        (!failed).then_some(found)
    }

    /// What a global parameter is made of. A `cbuffer` is a block whose members may have places.
    pub fn global_shape(&mut self, id: hir::GlobalId) -> Shape {
        let hir::Global { ty, span, cbuffer, .. } = self.queries.program.globals[id].clone();
        self.check_matrix(self.queries.program.globals[id].row_major, ty, span);
        let inner = self.shape(ty, span);
        let Some(offsets) = cbuffer else { return inner };
        let inner = match inner {
            Shape::Value(ty) if offsets.iter().any(Option::is_some) => Shape::Packed(ty, offsets),
            Shape::Value(_)
            | Shape::Packed(..)
            | Shape::Resource(_)
            | Shape::Counter(_)
            | Shape::Block(..)
            | Shape::Struct(_)
            | Shape::Array(..) => inner,
        };
        Shape::Block(Block::Constant, Box::new(inner))
    }

    /// What a parameter of type `ty` is made of.
    pub fn shape(&mut self, ty: Ty, span: Span) -> Shape {
        if self.queries.has_too_many_fields(ty) {
            let message = format!("a parameter of the type `{}` has too many fields", self.queries.show(ty));
            self.error(codes::UNSUPPORTED_TYPE, span, message);
            return Shape::Value(self.module.types.intern(ir::Type::Unit));
        }
        match self.queries.program.types.kind(ty) {
            TyKind::Struct(id, args) => {
                // Asked first, since it completes what the program says of the structure.
                let types = self.queries.field_types(id, args);
                if let Some(magic) = self.queries.program.structs[id].magic {
                    return self.magic_shape(ty, magic, args, span);
                }
                let names: Vec<Symbol> =
                    self.queries.program.structs[id].fields.iter().map(|f| f.name).collect();
                let fields = names.into_iter().zip(types.iter().copied());
                let of_library = self.queries.is_library_struct(id);
                let field = |(name, ty): (Symbol, Ty)| {
                    // Combined samplers are the only structures of the library with a sampler.
                    let beside = of_library && name == *"sampler";
                    Field { name, shape: self.shape(ty, span), beside }
                };
                let fields: Vec<Field> = fields.map(field).collect();
                if fields.iter().all(|f| matches!(f.shape, Shape::Value(_))) {
                    return Shape::Value(self.lower_ty(ty, span));
                }
                let own: Vec<_> =
                    self.queries.program.structs[id].fields.iter().map(|f| (f.row_major, f.span)).collect();
                let own = own.into_iter().zip(types);
                own.for_each(|((row_major, span), ty)| self.check_matrix(row_major, ty, span));
                Shape::Struct(fields)
            }
            TyKind::Array(elem, n) => match (self.shape(elem, span), self.queries.program.types.known(n)) {
                (Shape::Value(_), _) | (_, None) => Shape::Value(self.lower_ty(ty, span)),
                (elem, Some(n)) => self.resources(elem, n, span),
            },
            TyKind::UnsizedArray(elem) if self.options.target.is_none() => match self.shape(elem, span) {
                Shape::Value(_) => Shape::Value(self.lower_ty(ty, span)),
                elem @ (Shape::Packed(..)
                | Shape::Resource(_)
                | Shape::Counter(_)
                | Shape::Block(..)
                | Shape::Struct(_)
                | Shape::Array(..)) => Shape::Array(Box::new(elem), 1),
            },
            kind_group!(number | list | named | open | special) => {
                let lowered = self.lower_ty(ty, span);
                self.pointer_shape(lowered).unwrap_or(Shape::Value(lowered))
            }
        }
    }

    /// An array whose elements hold resources.
    fn resources(&mut self, elem: Shape, n: i64, span: Span) -> Shape {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        if u64::from(n).saturating_mul(count(&elem)) <= MOST_RESOURCES {
            return Shape::Array(Box::new(elem), n);
        }
        let message = format!("an array of more than {MOST_RESOURCES} resources is not supported");
        let help = "declare fewer elements, or store the data in one buffer";
        self.diagnostics.push(Diagnostic::new(codes::UNSUPPORTED_TYPE, span, message).help(help));
        Shape::Array(Box::new(elem), 1)
    }

    /// Whether a parameter of type `ty` is a buffer that is addressed by bytes, or an array of such buffers.
    fn is_byte_buffer(&self, mut ty: Ty) -> bool {
        let program = &self.queries.program;
        while let TyKind::Array(elem, _) = program.types.kind(ty) {
            ty = elem;
        }
        let TyKind::Struct(id, _) = program.types.kind(ty) else { return false };
        program.structs[id].magic.is_some_and(|magic| magic == *"bytebuffer" || magic == *"rwbytebuffer")
    }

    /// The buffer that the host gives for a pointer.
    fn pointer_shape(&mut self, ty: ir::Ty) -> Option<Shape> {
        let ir::Type::Ref(elem) = self.module.types.get(ty) else { return None };
        Some(Shape::Resource(self.module.types.intern(ir::Type::Buffer(elem, ir::Access::ReadWrite))))
    }

    fn magic_shape(&mut self, ty: Ty, magic: Symbol, args: hir::Args, span: Span) -> Shape {
        let block = match magic.as_str() {
            "constantbuffer" => Some(Block::Constant),
            "texturebuffer" => {
                if let Some(target @ (Target::Hlsl | Target::Metal)) = self.options.target {
                    let message =
                        format!("a `TextureBuffer` is not supported for target `{}`", target.name());
                    self.error(codes::UNSUPPORTED_TYPE, span, message);
                }
                Some(Block::Constant)
            }
            "parameterblock" => Some(Block::Parameters),
            _ => None,
        };
        let elem = self.queries.program.types.list(args).first().copied();
        if let Some(block) = block {
            let inner = match elem {
                Some(Arg::Ty(elem)) => Some(self.shape(elem, span)),
                Some(Arg::Laid(elem, row_major)) => {
                    Some(Shape::Value(self.laid_element(elem, row_major, span)))
                }
                Some(Arg::Val(_)) | None => None,
            };
            if let Some(inner) = inner {
                return Shape::Block(block, Box::new(inner));
            }
        }
        if magic == *"handle" {
            if let Some(target) = self.options.target.filter(|target| !target.has_pointers()) {
                let what = self.queries.show(ty);
                let message =
                    format!("a handle of type `{what}` is not supported for target `{}`", target.name());
                self.error(codes::UNSUPPORTED_TYPE, span, message);
            }
            if let Some(elem) = elem.and_then(Arg::ty) {
                return self.shape(elem, span);
            }
        }
        if magic == *"opaque" && self.options.target.is_some() {
            let message = format!("a parameter of the type `{}` is not supported", self.queries.show(ty));
            self.error(codes::UNSUPPORTED_TYPE, span, message);
        }
        let lowered = self.lower_ty(ty, span);
        if let Some(shape) = self.pointer_shape(lowered) {
            return shape;
        }
        match magic.as_str() {
            "counter" => Shape::Counter(lowered),
            _ if self.holds_handle(lowered) => Shape::Resource(lowered),
            _ => Shape::Value(lowered),
        }
    }
}
