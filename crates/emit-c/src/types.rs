//! Emits types and structures.

use crate::names::{Names, plain};
use crate::{Emitter, texture};
use cotangent_base::{Map, Scalar, Set, scalar_group};
use cotangent_ir::shader::Shape;
use cotangent_ir::texture::Texture;
use cotangent_ir::{GlobalKind, Op, StructId, Ty, Type};
use std::sync::Arc;

/// The structures of a program: their names, and those of their fields.
#[derive(Default)]
pub(crate) struct Structs {
    names: Map<StructId, (String, Vec<String>)>,
    /// The names of the structures.
    all: Arc<Set<String>>,
    /// Those without data: see [`Emitter::is_empty`].
    empty: Set<StructId>,
}

impl Structs {
    pub fn name(&self, id: StructId) -> &str {
        &self.names[&id].0
    }

    /// Names, those of the structures taken.
    pub fn taken(&self) -> Names {
        Names::inside(self.all.clone())
    }

    pub fn field(&self, id: StructId, index: u32) -> &str {
        &self.names[&id].1[index as usize]
    }
}

/// The state of declaring structures.
#[derive(Default)]
struct Found {
    begun: Set<StructId>,
    declared: Set<StructId>,
    textures: bool,
}

/// The types in a shape.
fn shape_types(shape: &Shape, found: &mut Vec<Ty>) {
    match shape {
        Shape::Value(ty) | Shape::Packed(ty, _) | Shape::Resource(ty) | Shape::Counter(ty) => {
            found.push(*ty);
        }
        Shape::Block(_, inner) | Shape::Array(inner, _) => shape_types(inner, found),
        Shape::Struct(fields) => fields.iter().for_each(|f| shape_types(&f.shape, found)),
    }
}

impl Emitter<'_> {
    /// A scalar as it is written.
    pub fn scalar(&self, s: Scalar) -> &'static str {
        self.options.language.scalar(s)
    }

    /// A texel as it is written.
    fn texel(&self, texture: Texture) -> String {
        if let Type::Vector(s, n) = texture.texel() {
            self.vector(s, n)
        } else {
            self.scalar(texture.scalar).to_string()
        }
    }

    /// A vector as it is written.
    fn vector(&self, s: Scalar, n: u8) -> String {
        let name = match s {
            Scalar::F32 => "float",
            Scalar::I32 => "int",
            Scalar::U32 => "uint",
            Scalar::Bool | scalar_group!(int | float) => return format!("ct::Vec<{}, {n}>", self.scalar(s)),
        };
        if n == 1 { format!("ct::Vec<{}, 1>", self.scalar(s)) } else { format!("ct::{name}{n}") }
    }

    /// The type of a variable that is assigned once. Handles are pointers to constants.
    pub fn constant(&self, ty: Ty) -> String {
        let ty = self.ty(ty);
        if ty.starts_with("const ") { format!("{ty} const") } else { format!("const {ty}") }
    }

    /// A type as it is written.
    pub fn ty(&self, ty: Ty) -> String {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Unit => "ct::Unit".to_string(),
            Type::Scalar(s) => self.scalar(s).to_string(),
            Type::Vector(s, n) => self.vector(s, n),
            Type::Matrix(s, r, c) => format!("ct::Mat<{}, {r}, {c}>", self.scalar(s)),
            Type::Array(elem, n) => format!("ct::Array<{}, {n}>", self.ty(elem)),
            Type::Struct(id) | Type::Sum(id) => self.structs.name(id).to_string(),
            Type::Buffer(elem, cotangent_ir::Access::Read) => {
                let elem = self.ty(elem);
                // `const` before a pointer would belong to what it points to.
                if elem.ends_with('*') {
                    format!("ct::Buffer<{elem} const>")
                } else {
                    format!("ct::Buffer<const {elem}>")
                }
            }
            Type::Buffer(elem, cotangent_ir::Access::ReadWrite) => format!("ct::Buffer<{}>", self.ty(elem)),
            Type::Opaque(opaque) => texture::handle(opaque, |texture| self.texel(texture)),
            Type::Ref(inner) => format!("ct::Ptr<{}>", self.ty(inner)),
        }
    }

    /// Declares the structures, each after those it holds.
    pub fn structures(&mut self) {
        let ids: Vec<StructId> = self.module.types.structs().map(|(id, _)| id).collect();
        for id in &ids {
            let def = self.module.types.struct_def(*id);
            let name =
                self.names.fresh(def.name.as_str().strip_prefix("cbuffer ").unwrap_or(def.name.as_str()));
            self.structs.names.insert(*id, (name, vec![]));
        }
        self.structs.all = Arc::new(self.structs.names.values().map(|(name, _)| name.clone()).collect());
        self.find_empty(&ids);
        // No field may have the name of a type, which it would hide from the fields after it.
        for id in &ids {
            let mut names = self.structs.taken();
            let def = self.module.types.struct_def(*id);
            let fields = def.fields.iter().map(|f| names.fresh(&plain(f.name.as_str()))).collect();
            self.structs.names.entry(*id).or_default().1 = fields;
        }
        self.adds = self.funcs.keys().any(|id| {
            let func = &self.module.funcs[*id];
            let adds = |op: &Op| matches!(op, Op::InsertAdd(_) | Op::Sum);
            func.all_insts().iter().any(|i| adds(&func.insts[*i].op))
        });
        let mut found = Found::default();
        for ty in self.used_types() {
            self.inner(ty, &mut found);
        }
        self.has_textures = found.textures;
    }

    /// Finds the structures without data. A structure is one as soon as all its fields are found to be without.
    fn find_empty(&mut self, ids: &[StructId]) {
        let mut before = None;
        while before != Some(self.structs.empty.len()) {
            before = Some(self.structs.empty.len());
            for id in ids {
                let def = self.module.types.struct_def(*id);
                if !def.sum && def.fields.iter().all(|field| self.is_empty(field.ty)) {
                    self.structs.empty.insert(*id);
                }
            }
        }
    }

    /// Whether a type has no data. C++ gives at least a byte to an object, our layout none to what is empty, so a structure does
    /// not declare fields of such a type: to read one is to make one, and to write one does nothing.
    pub fn is_empty(&self, ty: Ty) -> bool {
        match self.module.types.get(ty) {
            Type::Unit => true,
            Type::Array(elem, n) => n == 0 || self.is_empty(elem),
            Type::Struct(id) => self.structs.empty.contains(&id),
            Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Sum(_) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    /// The types that functions and parameters mention.
    fn used_types(&self) -> Vec<Ty> {
        let mut found = Vec::new();
        for id in self.funcs.keys().copied().collect::<std::collections::BTreeSet<_>>() {
            let func = &self.module.funcs[id];
            found.extend(func.inputs().iter().map(|v| func.ty(*v)));
            for inst in func.all_insts() {
                let data = &func.insts[inst];
                let args = data.regions.iter().flat_map(|r| func.regions[*r].args.iter());
                found.extend(data.results.iter().chain(args).map(|v| func.ty(*v)));
            }
        }
        let variables = self.module.globals.values().filter(|g| g.kind != GlobalKind::Param);
        found.extend(variables.map(|g| g.ty));
        let entries = self.params.entries.iter().flat_map(|(_, list)| list);
        self.params.globals.iter().chain(entries).for_each(|p| shape_types(&p.shape, &mut found));
        found
    }

    fn structure(&mut self, id: StructId, found: &mut Found) {
        if !found.begun.insert(id) {
            return;
        }
        let def = self.module.types.struct_def(id);
        for field in &def.fields {
            self.inner(field.ty, found);
        }
        found.declared.insert(id);
        let name = self.structs.name(id).to_string();
        if def.sum {
            self.sum(id);
            return;
        }
        self.out += &format!("struct {name} {{\n");
        for (index, field) in def.fields.iter().enumerate() {
            if self.is_empty(field.ty) {
                continue;
            }
            let line = format!("    {} {};\n", self.ty(field.ty), self.structs.field(id, index as u32));
            self.out += &line;
        }
        self.out += "};\n";
        if self.adds && def.fields.iter().all(|f| self.can_add(f.ty)) {
            self.adder(id);
        }
        self.out += "\n";
    }

    fn inner(&mut self, ty: Ty, found: &mut Found) {
        match self.module.types.get(ty) {
            Type::Struct(id) | Type::Sum(id) => self.structure(id, found),
            Type::Array(elem, _) => self.inner(elem, found),
            Type::Buffer(elem, _) | Type::Ref(elem) => {
                self.announce(elem, found);
                self.inner(elem, found);
            }
            Type::Opaque(_) => found.textures = true,
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {}
        }
    }

    /// Declares a structure whose definition is not complete yet, because it holds buffers of itself, perhaps through others.
    fn announce(&mut self, ty: Ty, found: &mut Found) {
        match self.module.types.get(ty) {
            Type::Struct(id) | Type::Sum(id) => {
                if found.begun.contains(&id) && found.declared.insert(id) {
                    self.out += &format!("struct {};\n", self.structs.name(id));
                }
            }
            Type::Array(elem, _) | Type::Buffer(elem, _) | Type::Ref(elem) => self.announce(elem, found),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => {}
        }
    }

    /// Whether values of a type can be added part by part.
    fn can_add(&self, ty: Ty) -> bool {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Unit => true,
            Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => s != Scalar::Bool,
            Type::Array(elem, _) => self.can_add(elem),
            Type::Struct(id) => types.struct_def(id).fields.iter().all(|f| self.can_add(f.ty)),
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    fn adder(&mut self, id: StructId) {
        let name = self.structs.name(id).to_string();
        let inline = self.options.language.inline();
        self.out += &format!("{inline} void add_to({name}& a, const {name}& b) {{\n");
        for (index, field) in self.module.types.struct_def(id).fields.iter().enumerate() {
            if self.is_empty(field.ty) {
                continue;
            }
            let name = self.structs.field(id, index as u32).to_string();
            let scope = if let Type::Struct(_) = self.module.types.get(field.ty) { "" } else { "ct::" };
            self.out += &format!("    {scope}add_to(a.{name}, b.{name});\n");
        }
        let unused = self.structs.empty.contains(&id);
        self.out += if unused { "    (void)a;\n    (void)b;\n}\n" } else { "}\n" };
    }
}
