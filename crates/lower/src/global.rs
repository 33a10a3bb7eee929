//! Lowers globals.
//!
//! | of the program              | in the IR                                                              |
//! | --------------------------- | ---------------------------------------------------------------------- |
//! | `static const`              | its initializer, evaluated at the start of each function that uses it  |
//! | `static`                    | a variable in memory with a function that computes its first value     |
//! | `groupshared`               | a variable in memory                                                   |
//! | a shader parameter          | a parameter; a structure that holds buffers becomes one per leaf       |
//! | .. that is a pointer        | a buffer, and a pointer to its first element                           |
//!
//! The parts of a split structure are named by their path: `params.weights`.

use crate::func::Frame;
use crate::instance::{Lowerer, Origin};
use crate::place::Root;
use cotangent_base::{Span, Symbol};
use cotangent_ir::shader::Shape;
use cotangent_ir::{self as ir, GlobalData, Op, Path, Type, Value};
use cotangent_sema::Subst;
use cotangent_sema::hir::{self, Args, GlobalId, StmtKind};

/// A global of the program.
#[derive(Clone, Debug)]
pub(crate) enum GlobalRef {
    /// Its initializer.
    Const,
    /// A handle.
    Variable(ir::Global),
    /// A parameter of the shader.
    Uniform(Uniform),
}

/// A parameter of the shader.
#[derive(Clone, Debug)]
pub(crate) enum Uniform {
    /// A buffer, or a value without buffers in it.
    Leaf(ir::Global),
    /// A value that lies in a way of its own.
    Element(ir::Global),
    /// A buffer that the program sees as a pointer of this type.
    Pointer(ir::Global, ir::Ty),
    /// A structure or array that holds buffers.
    Parts(ir::Ty, Vec<Uniform>),
}

impl Lowerer<'_> {
    /// What a global of the program is, under (concrete) arguments for the generic parameters around it.
    fn global(&mut self, id: GlobalId, args: Args) -> GlobalRef {
        if let Some(global) = self.globals.get(&(id, args)) {
            return global.clone();
        }
        let hir::Global { kind, span, .. } = self.queries.program.globals[id];
        let (name, ty) = self.global_instance(id, args);
        let global = match kind {
            hir::GlobalKind::Const => GlobalRef::Const,
            hir::GlobalKind::Param => {
                let (shape, ty) = (self.global_shape(id), self.lower_ty(ty, span));
                GlobalRef::Uniform(self.uniform(name.as_str(), &shape, ty, span))
            }
            hir::GlobalKind::Static => {
                let init = self.queries.initializer(id).and_then(|_| self.origin(Origin::Init(id, args)));
                GlobalRef::Variable(self.variable(name, ty, ir::GlobalKind::Static(init), span))
            }
            hir::GlobalKind::Shared => {
                GlobalRef::Variable(self.variable(name, ty, ir::GlobalKind::Shared, span))
            }
        };
        self.globals.insert((id, args), global.clone());
        global
    }

    /// The name and type of a global under arguments: `kept<f32>`.
    pub fn global_instance(&mut self, id: GlobalId, args: Args) -> (Symbol, hir::Ty) {
        let subst = self.global_subst(id, args);
        let hir::Global { name, ty, .. } = self.queries.program.globals[id];
        let shown = self.types.args_name(self.queries, args);
        (Symbol::new(&format!("{name}{shown}")), self.queries.subst(ty, &subst))
    }

    /// The arguments of a global, by parameter.
    pub fn global_subst(&self, id: GlobalId, args: Args) -> Subst {
        Subst { params: self.queries.program.globals[id].params.clone(), args, at: None }
    }

    fn variable(&mut self, name: Symbol, ty: hir::Ty, kind: ir::GlobalKind, span: Span) -> ir::Global {
        let inner = self.lower_ty(ty, span);
        let ty = self.module.types.intern(Type::Ref(inner));
        self.add_global(name.as_str(), ty, kind, span)
    }

    /// A parameter of the shader, split if there are resources inside.
    pub fn uniform(&mut self, name: &str, shape: &Shape, ty: ir::Ty, span: Span) -> Uniform {
        self.expose_inside(ty);
        let part = |index| self.module.types.part(ty, Some(index)).unwrap_or(ty);
        let parts: Vec<(String, &Shape, ir::Ty)> = match shape {
            Shape::Resource(buffer) if matches!(self.module.types.get(ty), Type::Ref(_)) => {
                return Uniform::Pointer(self.add_global(name, *buffer, ir::GlobalKind::Param, span), ty);
            }
            Shape::Value(element) if self.module.types.element_value(*element).is_some() => {
                return Uniform::Element(self.add_global(name, *element, ir::GlobalKind::Param, span));
            }
            Shape::Value(_) | Shape::Packed(..) | Shape::Resource(_) | Shape::Counter(_) => {
                return Uniform::Leaf(self.add_global(name, ty, ir::GlobalKind::Param, span));
            }
            Shape::Block(_, inner) => return self.uniform(name, inner, ty, span),
            Shape::Struct(fields) => {
                let named =
                    fields.iter().zip(0..).map(|(f, i)| (format!("{name}.{}", f.name), &f.shape, part(i)));
                named.collect()
            }
            Shape::Array(elem, n) => (0..*n).map(|i| (format!("{name}.{i}"), &**elem, part(i))).collect(),
        };
        let parts = parts.into_iter().map(|(name, shape, ty)| self.uniform(&name, shape, ty, span)).collect();
        Uniform::Parts(ty, parts)
    }

    pub fn holds_handle(&self, ty: ir::Ty) -> bool {
        match self.module.types.get(ty) {
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => true,
            Type::Array(elem, _) => self.holds_handle(elem),
            Type::Struct(id) | Type::Sum(id) => {
                self.module.types.struct_def(id).fields.iter().any(|f| self.holds_handle(f.ty))
            }
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
        }
    }

    fn add_global(&mut self, name: &str, ty: ir::Ty, kind: ir::GlobalKind, span: Span) -> ir::Global {
        self.module.add_global(GlobalData { name: Symbol::new(name), ty, kind, span })
    }
}

impl Frame<'_, '_> {
    /// A global as the root of a place.
    pub fn global(&mut self, id: GlobalId, args: Args) -> Root {
        let args = self.lowerer.queries.subst_args(args, &self.subst);
        match self.lowerer.global(id, args) {
            GlobalRef::Const => Root::Value(self.constant_global(id)),
            GlobalRef::Variable(global) => Root::Handle(self.global_value(global)),
            GlobalRef::Uniform(uniform) => Root::Value(self.uniform_value(&uniform)),
        }
    }

    pub fn global_value(&mut self, global: ir::Global) -> Value {
        let GlobalData { ty, name, .. } = self.lowerer.module.globals[global];
        let value = self.b().emit1(Op::Global(global), &[], ty);
        self.name(value, name);
        value
    }

    /// The value of a shader parameter.
    pub fn uniform_value(&mut self, uniform: &Uniform) -> Value {
        match uniform {
            Uniform::Leaf(global) => self.global_value(*global),
            Uniform::Element(global) => {
                let element = self.global_value(*global);
                self.b().part(element, 0)
            }
            Uniform::Pointer(global, ty) => {
                let buffer = self.global_value(*global);
                let first = Path::part(0);
                self.b().emit1(Op::Point(first), &[buffer], *ty)
            }
            Uniform::Parts(ty, parts) => {
                let parts: Vec<Value> = parts.iter().map(|p| self.uniform_value(p)).collect();
                self.b().pack(&parts, *ty)
            }
        }
    }

    /// The value of a `static const`, computed once, ahead of the body.
    fn constant_global(&mut self, id: GlobalId) -> Value {
        let hir::Global { name, ty, span, .. } = self.lowerer.queries.program.globals[id];
        let value = match self.constants.get(&id) {
            Some(&value) => value,
            None => {
                self.constants.insert(id, None);
                let value = self.initial_value(id);
                self.constants.insert(id, value);
                value
            }
        };
        if let Some(value) = value {
            self.name(value, name);
            return value;
        }
        self.lowerer.internal(span, format!("the constant `{name}` depends on itself or has no value"));
        let ty = self.ty(ty);
        self.b().undef(ty)
    }

    fn initial_value(&mut self, id: GlobalId) -> Option<Value> {
        let body = self.lowerer.queries.initializer(id)?;
        let stmts = body.clone();
        let is_specialized = self.lowerer.queries.program.globals[id].specialized;
        self.ahead(body, |f| {
            let (last, before) = stmts.block.split_last()?;
            before.iter().for_each(|s| f.stmt(s));
            let StmtKind::Return(Some(value)) = &last.kind else { return None };
            let value = f.eval(value);
            if is_specialized { value.map(|default| f.specialized(id, default)) } else { value }
        })
    }
}
