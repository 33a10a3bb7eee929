//! Makes random expressions from the variables, operators and functions in scope.

use super::feature::Feature;
use super::{Maker, Scope};
use crate::model::ops;
use crate::model::tree::{Call, Expr, Func, Op, Ty, Way};

const FLOATS: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Mul,
    Op::Div,
    Op::Neg,
    Op::Sin,
    Op::Cos,
    Op::Tanh,
    Op::Exp,
    Op::Sqrt,
    Op::Max,
    Op::Min,
    Op::Clamp,
    Op::ToFloat,
];
const INTS: &[Op] = &[Op::IntAdd, Op::IntSub, Op::IntMul, Op::IntAnd, Op::IntXor, Op::Floor];
const BOOLS: &[Op] = &[Op::Less, Op::Greater, Op::IntLess, Op::IntEqual, Op::IsOdd, Op::IsOdd, Op::Not];

impl Maker {
    /// An expression of a type, at most about `depth` deep. It changes nothing in memory.
    pub fn expr(&mut self, scope: &Scope, ty: Ty, depth: usize) -> Expr {
        if depth == 0 || self.random.once_in(4) {
            return self.leaf(scope, ty);
        }
        match self.random.below(12) {
            0 | 1 => {
                if let Some(call) = self.quiet_call(scope, ty, depth - 1) {
                    return Expr::Call(call);
                }
            }
            2 => {
                let parts = [Ty::Bool, ty, ty].map(|ty| self.expr(scope, ty, depth - 1));
                return Expr::Select(Box::new(parts));
            }
            3 if ty == Ty::Float && self.has(Feature::Detach) => {
                return Expr::Detach(Box::new(self.expr(scope, ty, depth - 1)));
            }
            4 if ty == Ty::Bool => {
                let parts = [ty, ty].map(|ty| self.expr(scope, ty, depth - 1));
                return if self.random.once_in(2) {
                    Expr::And(Box::new(parts))
                } else {
                    Expr::Or(Box::new(parts))
                };
            }
            5 | 6 => {
                if let Some(mem) = self.mem(ty) {
                    return Expr::Read(mem, Box::new(self.expr(scope, Ty::Int, 1)));
                }
            }
            _ => {}
        }
        let op = *self.random.pick(match ty {
            Ty::Float => FLOATS,
            Ty::Int => INTS,
            Ty::Bool => BOOLS,
        });
        let operands = ops::form(op).1.iter().map(|ty| self.expr(scope, *ty, depth - 1)).collect();
        Expr::Op(op, operands)
    }

    /// A variable or a constant.
    fn leaf(&mut self, scope: &Scope, ty: Ty) -> Expr {
        let names = scope.of(ty);
        if !names.is_empty() && !self.random.once_in(5) {
            return Expr::Var((*self.random.pick(&names)).to_string());
        }
        match ty {
            Ty::Float => Expr::Float((self.random.float() * 16.0).round() / 16.0 + 0.03125),
            Ty::Int => Expr::Int(self.random.below(4) as i64),
            Ty::Bool => Expr::Op(Op::IsOdd, vec![self.leaf(scope, Ty::Int)]),
        }
    }

    /// An expression that stays small, for what loops write to variables.
    pub fn bounded(&mut self, scope: &Scope, ty: Ty) -> Expr {
        let depth = 1 + self.random.below(3);
        let inner = self.expr(scope, ty, depth);
        match ty {
            Ty::Float => Expr::Op(*self.random.pick(&[Op::Sin, Op::Cos, Op::Tanh]), vec![inner]),
            Ty::Int => Expr::Op(Op::IntAnd, vec![inner]),
            Ty::Bool => inner,
        }
    }

    /// A call of a function that changes neither memory nor variables.
    fn quiet_call(&mut self, scope: &Scope, ty: Ty, depth: usize) -> Option<Call> {
        let quiet =
            |f: &&Func| f.ret == Some(ty) && is_quiet(f) && f.params.iter().all(|p| p.way != Way::InOut);
        let all: Vec<Func> = self.funcs.iter().filter(quiet).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let func = self.random.pick(&all).clone();
        let args = func.params.iter().map(|p| self.argument(scope, p.ty, p.way, depth)).collect();
        Some(self.called(scope, &func, args))
    }

    pub fn argument(&mut self, scope: &Scope, ty: Ty, way: Way, depth: usize) -> Expr {
        let value = self.expr(scope, ty, depth);
        if way == Way::NoDiff { Expr::Detach(Box::new(value)) } else { value }
    }

    /// A call; with `no_diff` if it must be, and sometimes where it need not.
    pub fn called(&mut self, scope: &Scope, func: &Func, args: Vec<Expr>) -> Call {
        let has =
            func.marked || func.backward.is_some() || func.forward.is_some() || func.substitute.is_some();
        let no_diff = scope.differentiable && (!has || self.has(Feature::Detach) && self.random.once_in(6));
        Maker::call_of(func, args, no_diff)
    }
}

/// Whether a function changes no memory itself. Its custom derivatives may.
fn is_quiet(func: &Func) -> bool {
    crate::model::walk::is_quiet(func)
}
