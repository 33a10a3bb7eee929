//! Makes random trees. Input: a seed and the [features](feature::Feature) allowed. Output: a well-typed tree that uses a few of them.

mod custom;
mod expr;
pub mod feature;
mod stmt;

use super::tree::{Call, Expr, Func, Home, Inline, Mem, Op, Param, Stmt, Tree, Ty, Way};
use crate::random::Random;
use feature::{Feature, Features};

/// The tree for `seed`, made from the given features.
pub fn tree(seed: u64, on: &[Feature]) -> Tree {
    let mut random = Random::new(seed ^ 0x005E_ED0F_7EE5);
    let features = Features::pick(on, &mut random);
    let threads = if features.has(Feature::Wave) { 4 } else { 1 };
    let mut maker = Maker { random, features, names: 0, budget: 0, funcs: vec![] };
    maker.helpers();
    let root = maker.root();
    maker.funcs.push(root);
    Tree { funcs: maker.funcs, threads }
}

struct Maker {
    random: Random,
    features: Features,
    names: usize,
    /// How many statements may still be made that contain others.
    budget: usize,
    funcs: Vec<Func>,
}

/// A variable in scope.
#[derive(Clone)]
struct Var {
    ty: Ty,
    name: String,
    mutable: bool,
}

/// What is in scope.
#[derive(Clone, Default)]
struct Scope {
    vars: Vec<Var>,
    loops: Vec<String>,
    ret: Option<Ty>,
    depth: usize,
    /// Whether this code is differentiated: calls of functions without a derivative need `no_diff`.
    differentiable: bool,
}

impl Scope {
    fn add(&mut self, ty: Ty, name: &str, mutable: bool) {
        self.vars.push(Var { ty, name: name.to_string(), mutable });
    }

    fn of(&self, ty: Ty) -> Vec<&str> {
        self.vars.iter().filter(|v| v.ty == ty).map(|v| v.name.as_str()).collect()
    }

    fn mutable(&self, ty: Ty) -> Vec<&str> {
        self.vars.iter().filter(|v| v.ty == ty && v.mutable).map(|v| v.name.as_str()).collect()
    }
}

fn param(ty: Ty, name: &str, way: Way) -> Param {
    Param { ty, name: name.to_string(), way }
}

fn var(name: &str) -> Expr {
    Expr::Var(name.to_string())
}

impl Maker {
    fn fresh(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// The functions that others call: those with custom derivatives first, so that the rest can call them.
    fn helpers(&mut self) {
        let customs = [
            Feature::Store,
            Feature::Load,
            Feature::Clip,
            Feature::Skewed,
            Feature::Gate,
            Feature::InOut,
            Feature::Substitute,
        ];
        for feature in customs {
            if self.has(feature) {
                self.custom(feature);
            }
        }
        if self.has(Feature::Plain) {
            let func = self.ordinary("plain", false);
            self.funcs.push(func);
        }
        let wrappers = if self.has(Feature::Wrapper) { 1 + self.random.below(2) } else { 0 };
        for number in 0..wrappers {
            let func = self.ordinary(&format!("wrap{number}"), true);
            self.funcs.push(func);
        }
    }

    fn home(&mut self) -> Home {
        match self.random.below(3) {
            0 if self.has(Feature::Method) => Home::Method,
            1 if self.has(Feature::Generic) => Home::Generic,
            _ => Home::Module,
        }
    }

    fn inline(&mut self) -> Inline {
        match self.random.below(4) {
            0 | 1 if self.has(Feature::Inline) => Inline::Never,
            2 if self.has(Feature::Inline) => Inline::Always,
            _ => Inline::Default,
        }
    }

    /// A scope with the parameters of a function and what its home gives.
    fn scope(&self, params: &[Param], ret: Option<Ty>, home: Home, differentiable: bool) -> Scope {
        let mut scope = Scope { ret, differentiable, ..Scope::default() };
        for p in params {
            scope.add(p.ty, &p.name, p.varies());
        }
        match home {
            Home::Module => {}
            Home::Method => scope.add(Ty::Float, "w", false),
            Home::Generic => scope.add(Ty::Int, "N", false),
        }
        scope
    }

    /// A function with a random body.
    fn ordinary(&mut self, name: &str, marked: bool) -> Func {
        let mut params = vec![param(Ty::Float, "a", Way::In)];
        if self.random.once_in(2) {
            let way = *self.random.pick(&[Way::In, Way::InOut, Way::InOut]);
            params.push(param(Ty::Float, "b", if marked { way } else { Way::In }));
        }
        if marked && self.random.once_in(2) {
            params.push(param(Ty::Float, "e", Way::InOut));
        }
        params.push(param(Ty::Int, "n", Way::In));
        let ret = *self.random.pick(&[Some(Ty::Float), Some(Ty::Float), None, Some(Ty::Int), Some(Ty::Bool)]);
        // One that is not differentiated is called for its value.
        let ret = if marked { ret } else { Some(ret.unwrap_or(Ty::Int)) };
        let (home, inline) = (self.home(), self.inline());
        // Inlining would make one that is not marked a part of its caller.
        let inline = if marked || inline != Inline::Always { inline } else { Inline::Default };
        self.budget = 4;
        let body = self.body(&params, ret, home, marked, 4);
        let name = name.to_string();
        Func {
            name,
            ret,
            params,
            body,
            home,
            inline,
            marked,
            backward: None,
            forward: None,
            substitute: None,
        }
    }

    fn root(&mut self) -> Func {
        let mut params = vec![param(Ty::Float, "x", Way::In)];
        if self.random.once_in(2) {
            let way = *self.random.pick(&[Way::In, Way::InOut]);
            params.push(param(Ty::Float, "y", way));
        }
        if self.random.once_in(3) {
            params.push(param(Ty::Float, "z", Way::InOut));
        }
        if self.random.once_in(3) {
            params.push(param(Ty::Float, "c", Way::NoDiff));
        }
        params.push(param(Ty::Int, "n", Way::In));
        let ret = *self.random.pick(&[
            Some(Ty::Float),
            Some(Ty::Float),
            Some(Ty::Float),
            Some(Ty::Float),
            None,
            Some(Ty::Int),
        ]);
        self.budget = 9;
        let body = self.body(&params, ret, Home::Module, true, 7);
        Func {
            name: "f".into(),
            ret,
            params,
            body,
            home: Home::Module,
            inline: Inline::Default,
            marked: true,
            backward: None,
            forward: None,
            substitute: None,
        }
    }

    fn body(
        &mut self,
        params: &[Param],
        ret: Option<Ty>,
        home: Home,
        marked: bool,
        most: usize,
    ) -> Vec<Stmt> {
        let mut scope = self.scope(params, ret, home, marked);
        let mut body = Vec::new();
        let value = self.expr(&scope, Ty::Float, 1);
        body.push(Stmt::Let(Ty::Float, "s".into(), value));
        scope.add(Ty::Float, "s", true);
        for _ in 0..2 + self.random.below(most) {
            self.statement(&mut scope, &mut body);
        }
        let carries = self.has(Feature::Exit) && self.random.once_in(2);
        if carries {
            self.carry(&scope, &mut body);
        }
        match ret {
            // What a loop leaves goes out as it is.
            Some(Ty::Float) if carries || self.random.once_in(3) => {
                let name = (*self.random.pick(&scope.mutable(Ty::Float))).to_string();
                body.push(Stmt::Return(Some(var(&name))));
            }
            Some(Ty::Float) => {
                // Whatever varies counts.
                let mut all = self.expr(&scope, Ty::Float, 2);
                for name in scope.mutable(Ty::Float) {
                    let scale = Expr::Float((self.random.float() * 8.0).round() / 16.0 + 0.625);
                    let part = Expr::Op(Op::Mul, vec![var(name), scale]);
                    all = Expr::Op(Op::Add, vec![all, part]);
                }
                body.push(Stmt::Return(Some(all)));
            }
            Some(ty @ (Ty::Int | Ty::Bool)) => {
                let value = self.expr(&scope, ty, 2);
                body.push(Stmt::Return(Some(value)));
            }
            None => {}
        }
        body
    }

    /// Memory of a type that the program has.
    fn mem(&mut self, ty: Ty) -> Option<Mem> {
        let all: Vec<Mem> =
            self.features.memory().into_iter().filter(|m| m.ty() == ty && *m != Mem::Source).collect();
        (!all.is_empty()).then(|| *self.random.pick(&all))
    }

    fn call_of(func: &Func, args: Vec<Expr>, no_diff: bool) -> Call {
        Call { func: func.name.clone(), args, no_diff }
    }
}
