//! Adds requests for derivatives to a module, as the front end would.

use cotangent_base::{Span, Symbol};
use cotangent_ir::{
    DiffRow, Dir, Func, FuncId, FuncKind, Mode, Module, Param, Signature, StructField, Ty, Type,
};

/// `DifferentialPair<ty>`, which is differentiable itself.
pub fn pair(module: &mut Module, ty: Ty) -> Ty {
    let name = Symbol::new(&format!("Pair<{}>", cotangent_ir::text::print_type(&module.types, ty)));
    if let Some(known) = module.types.struct_named(name) {
        return module.types.intern(Type::Struct(known));
    }
    let inner =
        module.diff.differential(&mut module.types, ty).expect("only differentiable types have pairs");
    let field = |name: &str, ty| StructField { name: Symbol::new(name), ty };
    let id = module.types.add_struct(name, vec![field("p", ty), field("d", inner)]);
    let own = Symbol::new(&format!("{name}.Differential"));
    let d = module.types.add_struct(own, vec![field("p", inner), field("d", inner)]);
    let differential = module.types.intern(Type::Struct(d));
    for id in [id, d] {
        module.diff.set(id, DiffRow { differential, fields: vec![Some(0), Some(1)], zero: None, add: None });
    }
    module.types.intern(Type::Struct(id))
}

/// Adds a request for the backward derivative of `of`.
pub fn backward(module: &mut Module, of: FuncId, name: &str) -> FuncId {
    let sig = module.funcs[of].sig.clone();
    let mut params = Vec::new();
    for param in &sig.params {
        let inner = |module: &mut Module| module.diff.differential(&mut module.types, param.ty);
        let (ty, dir, diff) = match (param.dir, param.diff) {
            (Dir::In | Dir::InOut, true) => (pair(module, param.ty), Dir::InOut, true),
            (Dir::Out, true) => (inner(module).expect("differentiable"), Dir::In, true),
            (Dir::In | Dir::InOut, false) => (param.ty, Dir::In, false),
            (Dir::Out, false) => continue,
        };
        params.push(Param { name: param.name, ty, dir, diff });
    }
    if let Some(ret) = sig.ret.filter(|r| r.diff) {
        let ty = module.diff.differential(&mut module.types, ret.ty).expect("differentiable");
        params.push(Param { name: Symbol::new("d_result"), ty, dir: Dir::In, diff: true });
    }
    let mut func = Func::new(Symbol::new(name), Signature { params, ret: None }, Span::none());
    func.kind = FuncKind::Request(Mode::Backward, of);
    module.add_func(func)
}

/// Adds a request for the forward derivative of `of`.
pub fn forward(module: &mut Module, of: FuncId, name: &str) -> FuncId {
    let mut sig = module.funcs[of].sig.clone();
    for param in sig.params.iter_mut().filter(|p| p.diff) {
        param.ty = pair(module, param.ty);
    }
    if let Some(ret) = sig.ret.as_mut().filter(|r| r.diff) {
        ret.ty = pair(module, ret.ty);
    }
    let mut func = Func::new(Symbol::new(name), sig, Span::none());
    func.kind = FuncKind::Request(Mode::Forward, of);
    module.add_func(func)
}
