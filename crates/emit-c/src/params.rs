//! Emits the parameter structures that the host fills in, and the per-thread state.

use crate::names::{Names, plain};
use crate::{Emitter, Language, Result};
use cotangent_base::{Scalar, Set, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::{Matrices, bind};
use cotangent_ir::shader::{ShaderParam, Shape};
use cotangent_ir::{FuncId, GlobalData, GlobalKind, Op, Ty, Type};
use std::fmt::Write;

impl Emitter<'_> {
    /// `Params`, the structures of entry points, and what a thread knows.
    pub fn parameters(&mut self, order: &[FuncId]) -> Result<()> {
        let params = self.params;
        self.param_struct("Params", "thread.params", &params.globals)?;
        self.check_size();
        for (name, list) in params.entries.iter().filter(|(_, list)| !list.is_empty()) {
            let name = plain(name.as_str());
            self.param_struct(&format!("{name}_Params"), &format!("(*thread.{name}_params)"), list)?;
        }
        let mut used = Set::default();
        for id in order {
            let func = &self.module.funcs[*id];
            let global = |op: &Op| if let Op::Global(global) = op { Some(*global) } else { None };
            used.extend(func.all_insts().iter().filter_map(|i| global(&func.insts[*i].op)));
        }
        for (global, data) in self.module.globals.iter() {
            if data.kind == GlobalKind::Param && used.contains(&global) && !self.paths.contains_key(&global) {
                return self
                    .unsupported(data.span, format!("the parameter `{}` is not supported", data.name));
            }
            if data.kind == GlobalKind::Param {
                self.check_memory(data)?;
            }
        }
        self.thread();
        Ok(())
    }

    /// Refuses parameters that the host cannot fill in the layout of the other targets.
    fn check_memory(&self, data: &GlobalData) -> Result<()> {
        let mut found = Vec::new();
        self.in_memory(data.ty, &mut Set::default(), &mut found);
        // A pointer carries the buffer it points into, which the host cannot derive from an address.
        if found.iter().any(|ty| matches!(self.module.types.get(*ty), Type::Ref(_))) {
            let what = format!("a pointer in memory, as in `{}`, is not supported", data.name);
            self.require(Feature::PointerInMemory, data.span, &what)?;
        }
        Ok(())
    }

    /// The types in the memory of a parameter. A structure may hold buffers of itself.
    fn in_memory(&self, ty: Ty, seen: &mut Set<Ty>, found: &mut Vec<Ty>) {
        if !seen.insert(ty) {
            return;
        }
        found.push(ty);
        let types = &self.module.types;
        match types.get(ty) {
            Type::Array(elem, _) | Type::Buffer(elem, _) => self.in_memory(elem, seen, found),
            Type::Struct(id) | Type::Sum(id) => {
                types.struct_def(id).fields.iter().for_each(|f| self.in_memory(f.ty, seen, found));
            }
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {}
            // What a pointer leads to is a parameter too.
            Type::Opaque(_) | Type::Ref(_) => {}
        }
    }

    /// A structure of parameters; `base` is how a function reaches it.
    fn param_struct(&mut self, name: &str, base: &str, params: &[ShaderParam]) -> Result<()> {
        // A field called like a type would hide it.
        let mut names = self.structs.taken();
        let mut text = format!("struct {name} {{\n");
        for param in params {
            let field = names.fresh(param.name.as_str());
            if field != param.name.as_str() {
                self.renamed.push(format!("{name}::{field} is the parameter `{}`.", param.name));
            }
            self.field(&param.shape, &field, 1, &mut text);
            let mut paths = Vec::new();
            self.paths_of(
                &param.shape,
                format!("{base}.{field}"),
                param.span,
                !param.leaves.is_empty(),
                &mut paths,
            )?;
            for (global, path) in param.leaves.iter().zip(paths) {
                self.paths.insert(*global, path);
            }
        }
        self.out += &(text + "};\n");
        Ok(())
    }

    /// The declaration of one field.
    fn field(&self, shape: &Shape, name: &str, depth: usize, out: &mut String) {
        let indent = "    ".repeat(depth);
        if self.is_nothing(shape) {
            return;
        }
        match shape {
            Shape::Value(ty) | Shape::Packed(ty, _) | Shape::Resource(ty) | Shape::Counter(ty) => {
                _ = writeln!(out, "{indent}{} {name};", self.ty(*ty));
            }
            Shape::Array(elem, n) => match &**elem {
                Shape::Resource(ty) | Shape::Counter(ty) => {
                    _ = writeln!(out, "{indent}{} {name}[{n}];", self.ty(*ty))
                }
                elem @ (Shape::Value(_)
                | Shape::Packed(..)
                | Shape::Block(..)
                | Shape::Struct(_)
                | Shape::Array(..)) => self.inner_struct(elem, &format!("{name}[{n}]"), name, depth, out),
            },
            Shape::Block(_, inner) => match &**inner {
                Shape::Value(ty) => _ = writeln!(out, "{indent}const {}* {name};", self.ty(*ty)),
                Shape::Packed(..) => _ = writeln!(out, "{indent}const void* {name};"),
                inner @ (Shape::Resource(_)
                | Shape::Counter(_)
                | Shape::Block(..)
                | Shape::Struct(_)
                | Shape::Array(..)) => {
                    _ = write!(out, "{indent}const ");
                    self.inner_struct(inner, &format!("*{name}"), name, depth, out);
                }
            },
            Shape::Struct(_) => self.inner_struct(shape, name, name, depth, out),
        }
    }

    /// A structure that is declared where it is used.
    fn inner_struct(&self, shape: &Shape, declarator: &str, name: &str, depth: usize, out: &mut String) {
        let indent = if out.ends_with("const ") { String::new() } else { "    ".repeat(depth) };
        // A field may have the name of the structure that it is in.
        let level = if depth > 1 { format!("_{depth}") } else { String::new() };
        _ = writeln!(out, "{indent}struct {name}_type{level} {{");
        let mut names = Names::default();
        match shape {
            Shape::Struct(fields) => {
                for field in fields {
                    let name = names.fresh(field.name.as_str());
                    self.field(&field.shape, &name, depth + 1, out);
                }
            }
            Shape::Value(_)
            | Shape::Packed(..)
            | Shape::Resource(_)
            | Shape::Counter(_)
            | Shape::Block(..)
            | Shape::Array(..) => self.field(shape, "value", depth + 1, out),
        }
        _ = writeln!(out, "{}}} {declarator};", "    ".repeat(depth));
    }

    /// How the leaves of a parameter are reached, in order.
    fn paths_of(
        &self,
        shape: &Shape,
        base: String,
        span: Span,
        used: bool,
        out: &mut Vec<String>,
    ) -> Result<()> {
        match shape {
            Shape::Value(ty) if self.is_empty(*ty) => out.push(format!("{}{{}}", self.ty(*ty))),
            Shape::Value(_) | Shape::Resource(_) | Shape::Counter(_) => out.push(base),
            Shape::Packed(..) if used => {
                return self.refuse(Feature::PackOffset, span, "`packoffset` is not supported");
            }
            Shape::Packed(..) => {}
            Shape::Block(_, inner) => {
                let inner_base = match &**inner {
                    Shape::Value(_) | Shape::Packed(..) | Shape::Struct(_) => format!("(*{base})"),
                    Shape::Resource(_) | Shape::Counter(_) | Shape::Block(..) | Shape::Array(..) => {
                        format!("{base}->value")
                    }
                };
                self.paths_of(inner, inner_base, span, used, out)?;
            }
            Shape::Struct(fields) => {
                let mut names = Names::default();
                for field in fields {
                    let name = names.fresh(field.name.as_str());
                    self.paths_of(&field.shape, format!("{base}.{name}"), span, used, out)?;
                }
            }
            Shape::Array(elem, n) => {
                let inner = match &**elem {
                    Shape::Resource(_) | Shape::Counter(_) | Shape::Struct(_) => "",
                    Shape::Value(_) | Shape::Packed(..) | Shape::Block(..) | Shape::Array(..) => ".value",
                };
                for i in 0..*n {
                    self.paths_of(elem, format!("{base}[{i}]{inner}"), span, used, out)?;
                }
            }
        }
        Ok(())
    }

    /// The layout that reflection promises is the one the compiler makes.
    fn check_size(&mut self) {
        let target = self.options.language.target();
        let bindings = bind::bind(&self.module.types, self.params, target, Matrices::Rows);
        if let Some(block) = bindings.block {
            self.out +=
                &format!("static_assert(sizeof(Params) == {}, \"the layout of Params\");\n\n", block.size);
        }
    }

    /// Whether a parameter has no data, and so no field.
    fn is_nothing(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Value(ty) | Shape::Packed(ty, _) => self.is_empty(*ty),
            Shape::Resource(_) | Shape::Counter(_) | Shape::Block(..) => false,
            Shape::Struct(fields) => fields.iter().all(|field| self.is_nothing(&field.shape)),
            Shape::Array(elem, n) => *n == 0 || self.is_nothing(elem),
        }
    }

    /// What a thread knows: parameters and variables.
    fn thread(&mut self) {
        let mut names = self.structs.taken();
        names.fresh("shared");
        let (mut shared, mut own) = (String::new(), String::new());
        for (name, list) in &self.params.entries {
            if !list.is_empty() {
                let name = plain(name.as_str());
                names.fresh(&format!("{name}_params"));
                own += &format!("    const {name}_Params* {name}_params = nullptr;\n");
            }
        }
        for (global, data) in self.module.globals.iter() {
            let (Type::Ref(inner), true) = (self.module.types.get(data.ty), data.kind != GlobalKind::Param)
            else {
                continue;
            };
            let name = names.fresh(data.name.as_str());
            let line = format!("    {} {name}{{}};\n", self.ty(inner));
            match data.kind {
                GlobalKind::Shared => shared += &line,
                GlobalKind::Static(_) | GlobalKind::Param => own += &line,
            }
            self.variables.insert(global, name);
        }
        self.has_shared = !shared.is_empty();
        if self.has_shared {
            self.out += &format!("struct Shared {{\n{shared}}};\n");
        }
        let shared = if self.has_shared { "    Shared& shared;\n" } else { "" };
        let turns = if self.takes_turns() {
            format!("    ct::Turns* turns;\n    {} self;\n", self.scalar(Scalar::U32))
        } else {
            String::new()
        };
        self.out += &format!("struct Thread {{\n    const Params& params;\n{shared}{turns}{own}}};\n\n");
    }

    /// Whether the threads of a group wait for each other by taking turns.
    pub fn takes_turns(&self) -> bool {
        let meet = !self.waiting.is_empty() || !self.waving.is_empty();
        self.options.language == Language::Cpp && meet
    }
}
