//! Emits the names of types, and structures.

use crate::names::Names;
use crate::{Emitter, Result};
use cotangent_base::{Map, Scalar, Span};
use cotangent_ir::{Access, FuncId, Op, StructId, Ty, Type};

/// The structures that were written, with the names of their fields.
#[derive(Default)]
pub(crate) struct Structs {
    names: Map<StructId, (String, Vec<String>)>,
    /// The type without a value: a structure without fields.
    nothing: Option<String>,
}

impl Structs {
    pub fn field(&self, id: StructId, number: u32) -> &str {
        &self.names[&id].1[number as usize]
    }
}

/// The name of a scalar type in the language.
pub fn scalar(s: Scalar) -> &'static str {
    match s {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8_t",
        Scalar::I16 => "int16_t",
        Scalar::I32 => "int",
        Scalar::I64 => "int64_t",
        Scalar::U8 => "uint8_t",
        Scalar::U16 => "uint16_t",
        Scalar::U32 => "uint",
        Scalar::U64 => "uint64_t",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

impl Emitter<'_> {
    /// The name of a type.
    pub fn ty(&self, ty: Ty, span: Span) -> Result<String> {
        let types = &self.module.types;
        Ok(match types.get(ty) {
            Type::Unit => self.structs.nothing.clone().unwrap_or_else(|| "Nothing".to_string()),
            Type::Scalar(s) => scalar(s).to_string(),
            Type::Vector(s, n) if n > 1 && !scalar(s).ends_with("_t") => format!("{}{n}", scalar(s)),
            Type::Vector(s, n) => format!("vector<{}, {n}>", scalar(s)),
            Type::Matrix(s, r, c) if r > 1 && c > 1 && !scalar(s).ends_with("_t") => {
                format!("{}{r}x{c}", scalar(s))
            }
            Type::Matrix(s, r, c) => format!("matrix<{}, {r}, {c}>", scalar(s)),
            Type::Array(element, n) => format!("Array<{}, {n}>", self.ty(element, span)?),
            Type::Struct(id) => self.structs.names.get(&id).map(|(name, _)| name.clone()).unwrap_or_default(),
            Type::Buffer(element, Access::Read) => format!("StructuredBuffer<{}>", self.ty(element, span)?),
            Type::Buffer(element, Access::ReadWrite) => {
                format!("RWStructuredBuffer<{}>", self.ty(element, span)?)
            }
            Type::Sum(_) => return self.refuse(span, "an interface value is not supported"),
            Type::Opaque(_) => return self.refuse(span, "a texture or sampler is not supported"),
            Type::Ref(_) => return self.refuse(span, "a pointer is not supported"),
        })
    }

    /// Declares the structures that the functions mention.
    pub fn structures(&mut self, order: &[FuncId]) -> Result<()> {
        for id in order {
            let func = &self.module.funcs[*id];
            for ty in func.sig.inputs().map(|p| p.ty).chain(func.sig.outputs().map(|o| o.ty)) {
                self.structure(ty, func.span)?;
            }
            for inst in func.all_insts() {
                let data = &func.insts[inst];
                if let Op::Global(global) = data.op {
                    self.structure(self.module.globals[global].ty, data.span)?;
                }
                let args = data.regions.iter().flat_map(|region| &func.regions[*region].args);
                for value in data.results.iter().chain(args) {
                    self.structure(func.ty(*value), data.span)?;
                }
            }
        }
        Ok(())
    }

    fn structure(&mut self, ty: Ty, span: Span) -> Result<()> {
        match self.module.types.get(ty) {
            Type::Array(element, _) | Type::Buffer(element, _) | Type::Ref(element) => {
                self.structure(element, span)
            }
            Type::Unit if self.structs.nothing.is_none() => {
                let name = self.names.fresh("Nothing");
                self.out += &format!("struct {name} {{}}\n\n");
                self.structs.nothing = Some(name);
                Ok(())
            }
            Type::Struct(id) if !self.structs.names.contains_key(&id) => {
                let def = self.module.types.struct_def(id).clone();
                for field in &def.fields {
                    self.structure(field.ty, span)?;
                }
                let name = self.names.fresh(&in_slang(def.name.as_str()));
                let mut names = Names::default();
                let mut fields = vec![];
                let mut text = format!("struct {name}\n{{\n");
                for field in &def.fields {
                    let name = names.field(field.name.as_str());
                    text += &format!("    {} {name};\n", self.ty(field.ty, span)?);
                    fields.push(name);
                }
                self.out += &format!("{text}}}\n\n");
                self.structs.names.insert(id, (name, fields));
                Ok(())
            }
            Type::Unit | Type::Struct(_) | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => Ok(()),
            Type::Sum(_) | Type::Opaque(_) => self.ty(ty, span).map(drop),
        }
    }
}

/// A name made of names of types, with those of Slang: `DifferentialPair<f32x3>` is about `float3`.
fn in_slang(name: &str) -> String {
    let mut out = String::new();
    for word in name.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let found =
            [Scalar::F16, Scalar::F32, Scalar::F64, Scalar::I32, Scalar::U32].into_iter().find_map(|s| {
                let rest = word.strip_prefix(s.name())?;
                let shape = rest.strip_prefix('x').unwrap_or(rest);
                (rest.is_empty() || !rest.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'x'))
                    .then(|| format!("{}{shape}", scalar(s)))
            });
        out += &found.unwrap_or_else(|| word.to_string());
    }
    out
}

/// Whether arithmetic on such integers is done in `int`.
pub(crate) fn is_small(s: Scalar) -> bool {
    matches!(s, Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16)
}
