//! Makes random statements: memory, waves, calls, branches, and loops with exits.

use super::feature::Feature;
use super::{Maker, Scope, var};
use crate::model::tree::{Atomic, Expr, Func, Mem, Op, Stmt, Ty, Wave, Way};

impl Maker {
    /// A block of statements with a scope of its own.
    fn inner(&mut self, scope: &Scope, count: usize) -> Vec<Stmt> {
        let mut scope = Scope { depth: scope.depth + 1, ..scope.clone() };
        let mut block = Vec::new();
        for _ in 0..count {
            self.statement(&mut scope, &mut block);
        }
        block
    }

    /// Adds a statement.
    pub fn statement(&mut self, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let deep = scope.depth >= 4 || self.budget == 0;
        self.budget = self.budget.saturating_sub(1);
        match self.random.below(if deep { 16 } else { 23 }) {
            0 | 1 => self.set(scope, out),
            2 | 3 => {
                let ty = *self.random.pick(&[Ty::Float, Ty::Float, Ty::Int, Ty::Bool]);
                let value = self.bounded(scope, ty);
                self.declare(scope, ty, value, out);
            }
            4 | 5 => self.store(scope, out),
            6 | 7 => self.load(scope, out),
            8 => self.atomic(scope, out),
            9 if self.has(Feature::Wave) => {
                let (name, value) = (self.fresh("v"), self.bounded(scope, Ty::Int));
                let op =
                    *self.random.pick(&[Wave::Sum, Wave::Max, Wave::CountOdd, Wave::PrefixSum, Wave::First]);
                scope.add(Ty::Int, &name, false);
                out.push(Stmt::Wave { name: name.clone(), op, value });
                self.use_int(scope, &name, out);
            }
            9..=12 => self.call(scope, out),
            13..=15 => self.exit(scope, out),
            16 | 17 => {
                let condition = self.expr(scope, Ty::Bool, 2);
                let (yes, no) = (1 + self.random.below(3), self.random.below(3));
                let (yes, no) = (self.inner(scope, yes), self.inner(scope, no));
                out.push(Stmt::If(condition, yes, no));
            }
            18..=20 => {
                let (label, counter) = (self.fresh("l"), self.fresh("i"));
                let constant = self.random.once_in(2);
                let bound = if constant {
                    Expr::Int(1 + self.random.below(3) as i64)
                } else {
                    Expr::Op(Op::IntAnd, vec![self.expr(scope, Ty::Int, 1)])
                };
                let mut inside = scope.clone();
                inside.loops.push(label.clone());
                inside.add(Ty::Int, &counter, false);
                let body = self.loop_body(&inside);
                let unroll = constant && self.random.once_in(4);
                out.push(Stmt::For { label, counter, bound, unroll, body });
            }
            21 => {
                let (label, counter) = (self.fresh("l"), self.fresh("w"));
                let condition = self.expr(scope, Ty::Bool, 2);
                let most = 1 + self.random.below(3) as i64;
                let mut inside = scope.clone();
                inside.loops.push(label.clone());
                let body = self.loop_body(&inside);
                out.push(Stmt::While { label, counter, most, condition, body });
            }
            _ => {
                if self.has(Feature::Once) {
                    let label = self.fresh("l");
                    let mut inside = scope.clone();
                    inside.loops.push(label.clone());
                    let body = self.loop_body(&inside);
                    out.push(Stmt::Once { label, body });
                }
            }
        }
    }

    fn loop_body(&mut self, scope: &Scope) -> Vec<Stmt> {
        let count = 1 + self.random.below(4);
        let mut body = Vec::new();
        if self.has(Feature::Exit) && self.random.once_in(2) {
            self.exit(&mut scope.clone(), &mut body);
        }
        body.extend(self.inner(scope, count));
        body
    }

    /// A loop that carries several values and has several exits, which pass different ones on. It is the last statement, so that
    /// the emitters may store the carried values in the outputs of the function.
    pub fn carry(&mut self, scope: &Scope, out: &mut Vec<Stmt>) {
        let (label, counter) = (self.fresh("l"), self.fresh("i"));
        let names: Vec<String> = scope.mutable(Ty::Float).iter().map(ToString::to_string).collect();
        let mut body = Vec::new();
        for number in 0..2 + self.random.below(4) {
            if number % 2 == 1 {
                let mixed = self.mixed(&names);
                body.push(mixed);
                continue;
            }
            let mut inside: Vec<Stmt> = (0..self.random.below(3)).map(|_| self.mixed(&names)).collect();
            inside.push(match (self.random.below(4), scope.ret) {
                (0, _) => Stmt::Break(label.clone()),
                (1, _) => Stmt::Continue,
                (_, Some(ty)) => {
                    let Stmt::Set(_, mixed) = self.mixed(&names) else { continue };
                    Stmt::Return(Some(if ty == Ty::Float { mixed } else { self.expr(scope, ty, 1) }))
                }
                (_, None) => Stmt::Return(None),
            });
            let at = Expr::Op(Op::IntAnd, vec![self.expr(scope, Ty::Int, 1)]);
            let condition = match self.random.below(3) {
                0 => self.expr(scope, Ty::Bool, 2),
                1 => Expr::Op(Op::Less, vec![var(&self.random.pick(&names).clone()), Expr::Float(0.28125)]),
                _ => Expr::Op(Op::IntEqual, vec![var(&counter), at]),
            };
            body.push(Stmt::If(condition, inside, vec![]));
        }
        let bound = Expr::Int(2 + self.random.below(2) as i64);
        out.push(Stmt::For { label, counter, bound, unroll: false, body });
    }

    /// Assigns one of these variables a value computed from two of them.
    fn mixed(&mut self, names: &[String]) -> Stmt {
        let [to, a, b] = [0; 3].map(|_| self.random.pick(names).clone());
        let value = match self.random.below(4) {
            0 => var(&a),
            1 => Expr::Op(Op::Sin, vec![var(&a)]),
            2 => Expr::Op(Op::Mul, vec![var(&a), var(&b)]),
            _ => Expr::Op(Op::Sub, vec![Expr::Op(Op::Cos, vec![var(&a)]), var(&b)]),
        };
        Stmt::Set(to, value)
    }

    fn declare(&mut self, scope: &mut Scope, ty: Ty, value: Expr, out: &mut Vec<Stmt>) -> String {
        let name = self.fresh("t");
        scope.add(ty, &name, true);
        out.push(Stmt::Let(ty, name.clone(), value));
        name
    }

    fn set(&mut self, scope: &Scope, out: &mut Vec<Stmt>) {
        let ty = *self.random.pick(&[Ty::Float, Ty::Float, Ty::Float, Ty::Int]);
        let names = scope.mutable(ty);
        if names.is_empty() {
            return;
        }
        let name = (*self.random.pick(&names)).to_string();
        let value = match self.random.below(4) {
            _ if ty != Ty::Float => self.bounded(scope, ty),
            0 => {
                let other = (*self.random.pick(&names)).to_string();
                Expr::Op(*self.random.pick(&[Op::Mul, Op::Sub]), vec![var(&name), var(&other)])
            }
            1 => {
                let other = (*self.random.pick(&names)).to_string();
                var(&other)
            }
            2 => Expr::Op(Op::Add, vec![var(&name), self.bounded(scope, ty)]),
            _ => self.bounded(scope, ty),
        };
        out.push(Stmt::Set(name, value));
    }

    /// Changes memory that may have been read before.
    fn store(&mut self, scope: &Scope, out: &mut Vec<Stmt>) {
        let ty = *self.random.pick(&[Ty::Float, Ty::Float, Ty::Int]);
        if let Some(mem) = self.mem(ty) {
            let at = self.expr(scope, Ty::Int, 1);
            let value = self.bounded(scope, ty);
            out.push(Stmt::Store(mem, at, value));
        }
    }

    /// Loads from memory into a variable, and uses it.
    fn load(&mut self, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let ty = *self.random.pick(&[Ty::Float, Ty::Float, Ty::Int]);
        if let Some(mem) = self.mem(ty) {
            let at = self.expr(scope, Ty::Int, 1);
            let name = self.declare(scope, ty, Expr::Read(mem, Box::new(at)), out);
            if ty == Ty::Int {
                self.use_int(scope, &name, out);
            } else {
                self.scale(scope, var(&name), out);
            }
        }
    }

    /// Multiplies a variable that varies by a number.
    fn scale(&mut self, scope: &Scope, by: Expr, out: &mut Vec<Stmt>) {
        let names = scope.mutable(Ty::Float);
        if names.is_empty() {
            return;
        }
        let name = (*self.random.pick(&names)).to_string();
        let product = Expr::Op(Op::Mul, vec![var(&name), by]);
        let bounded = Expr::Op(Op::Sin, vec![product]);
        out.push(Stmt::Set(name, bounded));
    }

    fn use_int(&mut self, scope: &Scope, name: &str, out: &mut Vec<Stmt>) {
        self.scale(scope, Expr::Op(Op::ToFloat, vec![var(name)]), out);
    }

    fn atomic(&mut self, scope: &mut Scope, out: &mut Vec<Stmt>) {
        if !(self.has(Feature::Atomic) || self.has(Feature::AtomicType)) {
            return;
        }
        let Some(mem) = self.mem(Ty::Int).filter(|m| *m != Mem::StaticCount) else { return };
        let ops: &[Atomic] = match mem {
            // Words in byte buffers are unsigned.
            Mem::Bytes => &[Atomic::Add, Atomic::Or, Atomic::Exchange],
            _ => &[Atomic::Add, Atomic::Add, Atomic::Max, Atomic::Min, Atomic::Or, Atomic::Exchange],
        };
        let op = *self.random.pick(ops);
        let (at, value) = (self.expr(scope, Ty::Int, 1), self.bounded(scope, Ty::Int));
        let old = (op == Atomic::Exchange || !self.random.once_in(3)).then(|| self.fresh("o"));
        out.push(Stmt::Atomic { mem, op, at, value, old: old.clone() });
        if let Some(old) = old {
            scope.add(Ty::Int, &old, false);
            self.use_int(scope, &old, out);
        }
    }

    /// A call of any function, with any use of its result.
    fn call(&mut self, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let all: Vec<Func> = self.funcs.iter().filter(|f| !f.name.ends_with("_sub")).cloned().collect();
        if all.is_empty() {
            return self.set(scope, out);
        }
        let func = self.random.pick(&all).clone();
        let mut taken: Vec<String> = Vec::new();
        let mut args = Vec::new();
        for p in &func.params {
            if p.way == Way::InOut {
                let names = scope.mutable(p.ty);
                let Some(name) = names.iter().find(|n| !taken.iter().any(|t| t == *n)) else { return };
                let name = if self.random.once_in(2) { name } else { names[names.len() - 1] };
                if taken.iter().any(|t| t == name) {
                    return;
                }
                taken.push((*name).to_string());
                args.push(var(name));
            } else {
                args.push(self.argument(scope, p.ty, p.way, 2));
            }
        }
        let call = self.called(scope, &func, args);
        match func.ret {
            Some(_) if self.random.once_in(4) => out.push(Stmt::Do(call)),
            Some(Ty::Bool) if self.random.once_in(2) => {
                let count = 1 + self.random.below(2);
                let then = self.inner(scope, count);
                out.push(Stmt::If(Expr::Call(call), then, vec![]));
            }
            Some(ty) => {
                let name = self.declare(scope, ty, Expr::Call(call), out);
                if ty == Ty::Float && self.random.once_in(2) {
                    self.scale(scope, var(&name), out);
                }
            }
            None => out.push(Stmt::Do(call)),
        }
    }

    /// A conditional exit.
    fn exit(&mut self, scope: &mut Scope, out: &mut Vec<Stmt>) {
        let Some(last) = scope.loops.last().filter(|_| self.features.has(Feature::Exit)) else {
            return self.set(scope, out);
        };
        let mut inside = Vec::new();
        let last = last.clone();
        for _ in 0..self.random.below(3) {
            self.set(scope, &mut inside);
        }
        match self.random.below(6) {
            0 | 1 => inside.push(Stmt::Break(last)),
            2 => inside.push(Stmt::Break(self.random.pick(&scope.loops).clone())),
            3 => inside.push(Stmt::Continue),
            _ => {
                let bounded = self.random.once_in(2);
                let mut value = |ty| if bounded { self.bounded(scope, ty) } else { self.expr(scope, ty, 2) };
                inside.push(Stmt::Return(scope.ret.map(&mut value)));
            }
        }
        let condition = self.expr(scope, Ty::Bool, 2);
        out.push(Stmt::If(condition, inside, vec![]));
    }
}
