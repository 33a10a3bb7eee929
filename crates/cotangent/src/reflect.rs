//! Reflection: what a host needs to call a program. Output: parameter types with their bindings and layouts on one target,
//! entry points, and the context sizes of backward derivatives.
//!
//! This is [`bind`] in full detail: names of types, offsets of every field, elements of buffers.

use cotangent_base::Symbol;
use cotangent_emit_slang::scalar_name;
use cotangent_ir::layout::bind::{Bindings, BlockPlace, Bound, Slot};
use cotangent_ir::layout::{Matrices, Rules, Target, bind};
use cotangent_ir::shader::{Block, ShaderParam, ShaderVarying, Shape};
use cotangent_ir::texture::{Dim, Opaque, Texture};
use cotangent_ir::{Access, Const, Entry, Global, Link, Module, Specialized, Stage, Ty, Type, Types};
use cotangent_lower::Lowered;
pub use cotangent_passes::prints::Format;
pub use cotangent_sema::hir::{AttributeValue, UserAttribute};

/// All there is to know about a program on one target.
#[derive(Clone, PartialEq, Debug)]
pub struct Reflection {
    /// The target.
    pub target: Target,
    /// The memory that holds the values of global parameters.
    pub block: Option<BlockPlace>,
    /// The global parameters.
    pub params: Vec<Item>,
    /// The entry points.
    pub entries: Vec<EntryPoint>,
    /// Differentiable functions, with how many bytes their backward derivative keeps.
    pub contexts: Vec<(Symbol, u64)>,
    /// The buffer for what the program prints, where shaders store it.
    pub prints: Option<Printed>,
    /// Attributes that the program defines.
    pub attributes: Vec<UserAttribute>,
    /// The specialization constants that the host may set when it makes a pipeline.
    pub constants: Vec<Constant>,
}

/// A specialization constant of the emitted code.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    /// Its name.
    pub name: Symbol,
    /// The number by which the host sets it.
    pub id: u32,
    /// Its type in the emitted code, where a `bool` is a `uint`.
    pub ty: &'static str,
    /// Its value unless the host sets it.
    pub default: AttributeValue,
}

/// The buffer in which shaders store what they print. [`Prints`](cotangent_runtime::shader::Prints) says how.
#[derive(Clone, PartialEq, Debug)]
pub struct Printed {
    /// Where it is bound.
    pub slot: Slot,
    /// The formats by number.
    pub formats: Vec<Format>,
}

/// An entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryPoint {
    /// Its name.
    pub name: Symbol,
    /// Its name in the code for the target, if that is another.
    pub emitted: Option<String>,
    /// Where in the pipeline it stands.
    pub stage: Stage,
    /// Threads in a group.
    pub threads: [u32; 3],
    /// The system values it takes, if it computes.
    pub inputs: Vec<Symbol>,
    /// What it takes from the stage before and gives to the one after.
    pub varyings: Vec<Varying>,
    /// The memory that holds the values of its uniform parameters.
    pub block: Option<BlockPlace>,
    /// Its uniform parameters.
    pub params: Vec<Item>,
}

/// Something that goes from stage to stage.
#[derive(Clone, PartialEq, Debug)]
pub struct Varying {
    /// The way to it from a parameter: `v.uv`.
    pub name: Symbol,
    /// Its type, as the language writes it.
    pub ty: Symbol,
    /// Whether it is taken; else it is given.
    pub input: bool,
    /// Its semantic, with its number.
    pub semantic: Symbol,
    /// Its first location, unless the pipeline knows it.
    pub location: Option<u32>,
    /// How many locations it has.
    pub count: u32,
}

/// A parameter, a field or an element.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its type, as the language writes it.
    pub ty: String,
    /// The slots it takes.
    pub slots: Vec<Slot>,
    /// The space that belongs to it alone.
    pub space: Option<u32>,
    /// Where it begins in the memory around it.
    pub offset: Option<u32>,
    /// How many bytes it takes there.
    pub size: Option<u32>,
    /// How many bytes of memory a block has.
    pub holds: Option<u32>,
    /// From one element to the next, of an array or a buffer.
    pub stride: Option<u32>,
    /// Its fields, or those of its elements.
    pub fields: Vec<Item>,
}

/// Describes a program. `contexts` is what backward derivatives keep.
pub fn reflect(
    lowered: &Lowered,
    target: Target,
    matrices: Matrices,
    contexts: Vec<(Symbol, u64)>,
) -> Reflection {
    let types = &lowered.module.types;
    let Bindings { block, params, entries, .. } = bind::bind(types, &lowered.params, target, matrices);
    let items = |bound: &[Bound], declared: &[ShaderParam]| {
        let named = |(bound, param): (&Bound, &ShaderParam)| {
            let mut item = item(types, bound);
            item.ty = param.ty.map_or(item.ty, |ty| ty.to_string());
            item
        };
        bound.iter().zip(declared).map(named).collect()
    };
    let declared = lowered.params.entries.iter().map(|(_, params)| params).zip(&lowered.params.varyings);
    let ids = lowered.entries.iter().filter_map(|id| lowered.module.funcs[*id].entry.as_ref());
    let entries = entries.iter().zip(ids).zip(declared).map(|((places, entry), (declared, shown))| {
        let system = |link: &Link| match link {
            Link::System(value) if entry.stage == Stage::Compute => Some(value.semantic().into()),
            Link::System(_) | Link::Location(_) => None,
        };
        EntryPoint {
            name: places.name,
            emitted: None,
            stage: entry.stage,
            threads: entry.threads,
            inputs: entry.inputs.iter().filter_map(system).collect(),
            varyings: shown.iter().map(|shown| varying(entry, shown)).collect(),
            block: places.block,
            params: items(&places.params, declared),
        }
    });
    Reflection {
        target,
        block,
        params: items(&params, &lowered.params.globals),
        entries: entries.collect(),
        contexts,
        prints: None,
        attributes: vec![],
        constants: lowered.module.specialized.iter().map(|item| constant(&lowered.module, item)).collect(),
    }
}

fn constant(module: &Module, (variable, constant): &(Global, Specialized)) -> Constant {
    let data = &module.globals[*variable];
    let inner = if let Type::Ref(inner) = module.types.get(data.ty) { inner } else { data.ty };
    let ty = module.types.scalar_of(inner).map_or("", scalar_name);
    let default = match constant.default {
        Const::Bool(set) => AttributeValue::Bool(set),
        Const::Int(number) => AttributeValue::Int(number),
        Const::Float(bits) => AttributeValue::Float(f64::from_bits(bits)),
    };
    Constant { name: data.name, id: constant.id, ty, default }
}

fn varying(entry: &Entry, shown: &ShaderVarying) -> Varying {
    let links = if shown.input { &entry.inputs } else { &entry.outputs };
    let location = match links.get(shown.leaf) {
        Some(Link::Location(location)) => Some(location.index),
        Some(Link::System(_)) | None => None,
    };
    let &ShaderVarying { name, ty, input, semantic, count, .. } = shown;
    Varying { name, ty, input, semantic, location, count }
}

fn item(types: &Types, bound: &Bound) -> Item {
    let mut item = Item {
        name: bound.name.to_string(),
        ty: shape_name(types, &bound.shape),
        slots: bound.slots.clone(),
        space: bound.space,
        offset: bound.data.map(|d| d.offset),
        size: bound.data.map(|d| d.size),
        holds: bound.block.map(|b| b.size),
        stride: None,
        fields: bound.parts.iter().map(|part| item(types, part)).collect(),
    };
    match &bound.shape {
        Shape::Value(ty) => {
            item.stride = stride(types, bound.rules, *ty);
            item.fields = fields(types, bound.rules, *ty);
        }
        Shape::Packed(ty, at) => {
            let offsets = bound.rules.packed_offsets(types, *ty, at);
            item.fields = fields(types, bound.rules, *ty);
            for (field, offset) in item.fields.iter_mut().zip(offsets) {
                field.offset = Some(offset);
            }
        }
        Shape::Resource(handle) | Shape::Counter(handle) => {
            if let Type::Buffer(elem, _) = types.get(*handle) {
                item.stride = bound.rules.stride(types, elem);
                item.fields = fields(types, bound.rules, elem);
            }
        }
        // What stands in a block is shown at once, not as a part called like the block.
        Shape::Block(..) | Shape::Array(..) => {
            if let [only] = &mut item.fields[..] {
                item.stride = item.stride.or(only.stride);
                item.fields = std::mem::take(&mut only.fields);
            }
        }
        Shape::Struct(_) => {}
    }
    item
}

fn stride(types: &Types, rules: Rules, ty: Ty) -> Option<u32> {
    match types.get(ty) {
        Type::Struct(id) => {
            let elements = types.element_value(ty)?;
            stride(types, rules.of_field(types.struct_def(id), 0), elements)
        }
        Type::Array(elem, _) => rules.stride(types, elem),
        _ => None,
    }
}

/// The fields of a structure, or of the elements of an array.
fn fields(types: &Types, rules: Rules, ty: Ty) -> Vec<Item> {
    match types.get(ty) {
        Type::Array(elem, _) => fields(types, rules, elem),
        // Matrices only.
        Type::Struct(_) if types.element_value(ty).is_some() => vec![],
        Type::Struct(id) => {
            let def = types.struct_def(id);
            let all = def.fields.iter().enumerate();
            all.map(|(index, field)| Item {
                name: field.name.to_string(),
                ty: type_name(types, field.ty),
                slots: vec![],
                space: None,
                offset: rules.part(types, ty, index as u32).map(|p| p.0),
                size: rules.of_field(def, index).layout(types, field.ty).map(|l| l.size),
                holds: None,
                stride: stride(types, rules, field.ty),
                fields: fields(types, rules, field.ty),
            })
            .collect()
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => vec![],
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => vec![],
    }
}

fn shape_name(types: &Types, shape: &Shape) -> String {
    match shape {
        Shape::Value(ty) | Shape::Packed(ty, _) | Shape::Resource(ty) | Shape::Counter(ty) => {
            type_name(types, *ty)
        }
        Shape::Block(Block::Constant, inner) => format!("ConstantBuffer<{}>", shape_name(types, inner)),
        Shape::Block(Block::Parameters, inner) => format!("ParameterBlock<{}>", shape_name(types, inner)),
        Shape::Struct(_) => "struct".to_string(),
        Shape::Array(elem, n) => format!("{}[{n}]", shape_name(types, elem)),
    }
}

/// A type as the language writes it.
pub(crate) fn type_name(types: &Types, ty: Ty) -> String {
    match types.get(ty) {
        Type::Unit => "void".to_string(),
        Type::Scalar(s) => scalar_name(s).to_string(),
        Type::Vector(s, n) => format!("{}{n}", scalar_name(s)),
        Type::Matrix(s, r, c) => format!("{}{r}x{c}", scalar_name(s)),
        Type::Array(mut elem, n) => {
            let mut lengths = format!("[{n}]");
            while let Type::Array(inner, n) = types.get(elem) {
                lengths += &format!("[{n}]");
                elem = inner;
            }
            type_name(types, elem) + &lengths
        }
        Type::Struct(id) if let Some(value) = types.element_value(ty) => {
            let word = match types.struct_def(id).own_matrices(0) {
                Some(Matrices::Columns) => "column_major",
                Some(Matrices::Rows) | None => "row_major",
            };
            format!("{word} {}", type_name(types, value))
        }
        Type::Struct(id) | Type::Sum(id) => {
            let name = types.struct_def(id).name.to_string();
            name.strip_prefix("cbuffer ").unwrap_or(&name).to_string()
        }
        Type::Buffer(elem, Access::Read) => format!("StructuredBuffer<{}>", type_name(types, elem)),
        Type::Buffer(elem, Access::ReadWrite) => format!("RWStructuredBuffer<{}>", type_name(types, elem)),
        Type::Opaque(Opaque::Sampler) => "SamplerState".to_string(),
        Type::Opaque(Opaque::Comparison) => "SamplerComparisonState".to_string(),
        Type::Opaque(Opaque::Texture(texture)) => texture_name(texture),
        Type::Ref(inner) => type_name(types, inner),
    }
}

fn texture_name(texture: Texture) -> String {
    let written = if texture.access == Access::ReadWrite { "RW" } else { "" };
    let dim = match texture.dim {
        Dim::D1 => "1D",
        Dim::D2 => "2D",
        Dim::D3 => "3D",
        Dim::Cube => "Cube",
    };
    let array = if texture.array { "Array" } else { "" };
    let lanes = if texture.lanes > 1 { texture.lanes.to_string() } else { String::new() };
    format!("{written}Texture{dim}{array}<{}{lanes}>", scalar_name(texture.scalar))
}
