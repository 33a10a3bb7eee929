//! Makes random functions with custom derivatives, one constructor per kind: stores, loads, clipped gradients, wrong ones, and so on.

use super::feature::Feature;
use super::{Maker, Scope, param, var};
use crate::model::tree::{Attach, Derivative, Expr, Func, Home, Inline, Mem, Op, Param, Stmt, Ty, Way};

fn op(op: Op, operands: Vec<Expr>) -> Expr {
    Expr::Op(op, operands)
}

fn read(mem: Mem, at: Expr) -> Expr {
    Expr::Read(mem, Box::new(at))
}

/// `mem[at] += value`.
fn add_to(mem: Mem, at: Expr, value: Expr) -> Stmt {
    let sum = op(Op::Add, vec![read(mem, at.clone()), value]);
    Stmt::Store(mem, at, sum)
}

/// The parts of a function with custom derivatives.
struct Parts {
    ret: Option<Ty>,
    params: Vec<Param>,
    body: Vec<Stmt>,
    backward: Vec<Stmt>,
    /// The forward derivative, without the statements that compute the value.
    forward: Vec<Stmt>,
}

impl Maker {
    /// Adds a function with custom derivatives of the kind that `feature` names.
    pub fn custom(&mut self, feature: Feature) {
        let (home, inline) = (self.home(), self.inline());
        let (name, parts) = match feature {
            Feature::Store => ("store", self.storing()),
            Feature::Load => ("load", self.loading()),
            Feature::Clip => ("clip", self.clipping(home)),
            Feature::Gate => ("gate", self.gating()),
            Feature::InOut => ("turn", self.turning()),
            Feature::Substitute => return self.substituted(inline),
            _ => ("skew", self.skewed()),
        };
        let name = self.fresh(name);
        let func = self.assembled(name, parts, home, inline);
        self.funcs.push(func);
    }

    /// With a backward derivative, and often a forward one.
    fn assembled(&mut self, name: String, parts: Parts, home: Home, inline: Inline) -> Func {
        let Parts { ret, params, body, backward, mut forward } = parts;
        let args =
            params.iter().map(|p| if p.varies() { var(&format!("{}_v", p.name)) } else { var(&p.name) });
        let call = super::Call { func: name.clone(), args: args.collect(), no_diff: false };
        let value = match ret {
            Some(_) => Stmt::Set("r_v".into(), Expr::Call(call)),
            None => Stmt::Do(call),
        };
        forward.insert(0, value);
        let (choice, marked) = (self.random.below(6), self.random.once_in(3));
        let has = |wanted: bool, body: Vec<Stmt>, random: &mut crate::random::Random| {
            let attach = if random.once_in(3) { Attach::Of } else { Attach::Named };
            wanted.then_some(Derivative { attach, body })
        };
        let backward = has(choice != 5, backward, &mut self.random);
        let forward = has(choice == 5 || choice < 3, forward, &mut self.random);
        Func { name, ret, params, body, home, inline, marked, backward, forward, substitute: None }
    }

    /// The variables that the backward derivative may read.
    fn backward_scope(&self, params: &[Param], ret: Option<Ty>) -> Scope {
        let mut scope = Scope::default();
        for p in params {
            if p.varies() {
                scope.add(Ty::Float, &format!("{}_v", p.name), false);
            } else {
                scope.add(p.ty, &p.name, false);
            }
        }
        if ret == Some(Ty::Float) {
            scope.add(Ty::Float, "d", false);
        }
        scope
    }

    /// A factor made of values only.
    fn factor(&mut self, params: &[Param]) -> Expr {
        let funcs = std::mem::take(&mut self.funcs);
        let scope = self.backward_scope(params, None);
        let factor = self.expr(&scope, Ty::Float, 2);
        self.funcs = funcs;
        factor
    }

    /// A store; its backward derivative reads the gradient from other memory.
    fn storing(&mut self) -> Parts {
        let mut params = vec![param(Ty::Int, "i", Way::In), param(Ty::Float, "v", Way::In)];
        if self.random.once_in(3) {
            params.push(param(Ty::Float, "u", Way::In));
        }
        let ret = *self.random.pick(&[None, None, Some(Ty::Bool), Some(Ty::Int), Some(Ty::Float)]);
        let mem = *self.random.pick(&[Mem::Buffer, Mem::Buffer, Mem::ByteFloats, Mem::Shared, Mem::Static]);
        let value = if params.len() > 2 { op(Op::Mul, vec![var("v"), var("u")]) } else { var("v") };
        let mut body = vec![Stmt::Store(mem, var("i"), value.clone())];
        match ret {
            Some(Ty::Float) => body.push(Stmt::Return(Some(op(Op::Sin, vec![value])))),
            Some(Ty::Int) => body.push(Stmt::Return(Some(op(Op::IntAdd, vec![var("i"), Expr::Int(1)])))),
            Some(Ty::Bool) => body.push(Stmt::Return(Some(op(Op::Greater, vec![value])))),
            None => {}
        }
        let mut backward = Vec::new();
        let mut forward = Vec::new();
        for p in params.iter().filter(|p| p.varies()) {
            let factor = self.factor(&params);
            let mut gradient = op(Op::Mul, vec![read(Mem::Source, var("i")), factor.clone()]);
            if ret == Some(Ty::Float) && self.random.once_in(2) {
                gradient = op(Op::Add, vec![gradient, var("d")]);
            }
            backward.push(Stmt::Set(format!("{}_g", p.name), gradient));
            let tangent = op(Op::Mul, vec![var(&format!("{}_d", p.name)), factor]);
            forward.push(add_to(Mem::Sum, var("i"), tangent.clone()));
            if ret == Some(Ty::Float) {
                forward.push(Stmt::Set("r_d".into(), tangent));
            }
        }
        Parts { ret, params, body, backward, forward }
    }

    /// A load; its backward derivative adds the gradient to other memory.
    fn loading(&mut self) -> Parts {
        let mut params = vec![param(Ty::Int, "i", Way::In)];
        let scaled = self.random.once_in(2);
        if scaled {
            params.push(param(Ty::Float, "u", Way::In));
        }
        let mem = *self.random.pick(&[Mem::Buffer, Mem::Buffer, Mem::Texture, Mem::ByteFloats, Mem::Static]);
        let cell = read(mem, var("i"));
        let value = if scaled { op(Op::Mul, vec![cell, var("u")]) } else { cell };
        let ret = Some(Ty::Float);
        let mut backward = vec![add_to(Mem::Sum, var("i"), var("d"))];
        let mut tangent = read(Mem::Source, var("i"));
        if scaled {
            let factor = self.factor(&params);
            backward.push(Stmt::Set("u_g".into(), op(Op::Mul, vec![var("d"), factor.clone()])));
            tangent = op(Op::Add, vec![tangent, op(Op::Mul, vec![var("u_d"), factor])]);
        }
        let body = vec![Stmt::Return(Some(value))];
        Parts { ret, params, body, backward, forward: vec![Stmt::Set("r_d".into(), tangent)] }
    }

    /// A function whose gradient is clamped, so that the derivative is not linear.
    fn clipping(&mut self, home: Home) -> Parts {
        let params = vec![param(Ty::Float, "a", Way::In)];
        let scope = self.scope(&params, Some(Ty::Float), home, false);
        let funcs = std::mem::take(&mut self.funcs);
        let value = if self.random.once_in(2) { var("a") } else { self.expr(&scope, Ty::Float, 2) };
        self.funcs = funcs;
        let scale = Expr::Float(*self.random.pick(&[1.0, 2.0, 0.5]));
        let clipped = |x: &str| op(Op::Clamp, vec![op(Op::Mul, vec![var(x), scale.clone()])]);
        Parts {
            ret: Some(Ty::Float),
            params,
            body: vec![Stmt::Return(Some(value))],
            backward: vec![Stmt::Set("a_g".into(), clipped("d"))],
            forward: vec![Stmt::Set("r_d".into(), clipped("a_d"))],
        }
    }

    /// A function of one or two arguments whose custom derivative is not its true derivative.
    fn skewed(&mut self) -> Parts {
        let mut params = vec![param(Ty::Float, "a", Way::In)];
        if self.random.once_in(2) {
            params.push(param(Ty::Float, "b", Way::In));
        }
        if self.random.once_in(2) {
            params.push(param(Ty::Int, "i", Way::In));
        }
        if self.random.once_in(4) {
            params.push(param(Ty::Float, "k", Way::NoDiff));
        }
        let scope = self.scope(&params, Some(Ty::Float), Home::Module, false);
        let funcs = std::mem::take(&mut self.funcs);
        let value = self.bounded(&scope, Ty::Float);
        self.funcs = funcs;
        let (mut backward, mut forward) = (Vec::new(), Vec::new());
        for p in params.iter().filter(|p| p.varies()) {
            let factor = self.factor(&params);
            backward.push(Stmt::Set(format!("{}_g", p.name), op(Op::Mul, vec![var("d"), factor.clone()])));
            let tangent = op(Op::Mul, vec![var(&format!("{}_d", p.name)), factor]);
            forward.push(Stmt::Set("r_d".into(), op(Op::Add, vec![var("r_d"), tangent])));
        }
        Parts { ret: Some(Ty::Float), params, body: vec![Stmt::Return(Some(value))], backward, forward }
    }

    /// A function whose result is an integer or a truth value, with an invented gradient.
    fn gating(&mut self) -> Parts {
        let params = vec![param(Ty::Float, "a", Way::In), param(Ty::Int, "i", Way::In)];
        let ret = *self.random.pick(&[Some(Ty::Bool), Some(Ty::Int), None]);
        let mut body = Vec::new();
        if self.random.once_in(2) {
            body.push(add_to(Mem::Buffer, var("i"), Expr::Float(0.125)));
        }
        match ret {
            Some(Ty::Bool) => body.push(Stmt::Return(Some(op(Op::Greater, vec![var("a")])))),
            Some(_) => body.push(Stmt::Return(Some(op(Op::Floor, vec![var("a")])))),
            None => {}
        }
        let factor = self.factor(&params);
        let backward = vec![Stmt::Set("a_g".into(), factor)];
        Parts { ret, params, body, backward, forward: vec![add_to(Mem::Sum, var("i"), var("a_d"))] }
    }

    /// A function with an `inout` parameter.
    fn turning(&mut self) -> Parts {
        let params = vec![param(Ty::Float, "a", Way::InOut), param(Ty::Float, "b", Way::In)];
        let ret = *self.random.pick(&[None, None, Some(Ty::Float), Some(Ty::Int)]);
        let new = op(Op::Sin, vec![op(Op::Add, vec![var("a"), var("b")])]);
        let mut body = vec![Stmt::Set("a".into(), new)];
        match ret {
            Some(Ty::Float) => body.push(Stmt::Return(Some(op(Op::Mul, vec![var("a"), var("b")])))),
            Some(_) => body.push(Stmt::Return(Some(op(Op::Floor, vec![var("b")])))),
            None => {}
        }
        let (fa, fb) = (self.factor(&params), self.factor(&params));
        let mut a = op(Op::Mul, vec![var("a_d"), fa.clone()]);
        let mut b = op(Op::Mul, vec![var("a_d"), fb.clone()]);
        if ret == Some(Ty::Float) {
            a = op(Op::Add, vec![a, var("d")]);
            b = op(Op::Sub, vec![b, var("d")]);
        }
        let backward = vec![Stmt::Set("b_g".into(), b), Stmt::Set("a_g".into(), a)];
        let (ta, tb) = (op(Op::Mul, vec![var("a_d"), fa]), op(Op::Mul, vec![var("b_d"), fb]));
        let mut forward = vec![Stmt::Set("a_d".into(), op(Op::Add, vec![ta, tb]))];
        if ret == Some(Ty::Float) {
            forward.push(Stmt::Set("r_d".into(), op(Op::Sub, vec![var("a_d"), var("b_d")])));
        }
        Parts { ret, params, body, backward, forward }
    }

    /// A function, and the one that is differentiated in its place.
    fn substituted(&mut self, inline: Inline) {
        let params = vec![param(Ty::Float, "a", Way::In), param(Ty::Int, "n", Way::In)];
        let ret = Some(Ty::Float);
        let name = self.fresh("rough");
        let substitute = format!("{name}_sub");
        self.budget = 2;
        let body = self.body(&params, ret, Home::Module, false, 2);
        self.budget = 2;
        let smooth = self.body(&params, ret, Home::Module, true, 2);
        let make = |name: String, body: Vec<Stmt>, marked: bool, substitute: Option<String>| Func {
            name,
            ret,
            params: params.clone(),
            body,
            home: Home::Module,
            inline: if substitute.is_some() { Inline::Default } else { inline },
            marked,
            backward: None,
            forward: None,
            substitute,
        };
        let smooth = make(substitute.clone(), smooth, true, None);
        let rough = make(name, body, false, Some(substitute));
        self.funcs.push(smooth);
        self.funcs.push(rough);
    }
}
