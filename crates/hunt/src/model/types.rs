//! Type-checks trees. Shrinking makes many that are ill-typed.

use super::ops;
use super::tree::{Call, Expr, Func, Stmt, Tree, Ty, Way};
use super::walk;

/// Whether the types of a tree fit together.
pub fn fits(tree: &Tree) -> bool {
    walk::reachable(tree).iter().all(|func| function(tree, func).is_some())
}

struct Scope<'t> {
    tree: &'t Tree,
    vars: Vec<(String, Ty)>,
    ret: Option<Ty>,
    loops: usize,
}

fn function(tree: &Tree, func: &Func) -> Option<()> {
    let mut scope = Scope { tree, vars: vec![], ret: func.ret, loops: 0 };
    match func.home {
        super::tree::Home::Module => {}
        super::tree::Home::Method => scope.vars.push(("w".into(), Ty::Float)),
        super::tree::Home::Generic => scope.vars.push(("N".into(), Ty::Int)),
    }
    let home = scope.vars.len();
    scope.vars.extend(func.params.iter().map(|p| (p.name.clone(), p.ty)));
    scope.block(&func.body)?;
    // Every path must return a value, so the last statement must be a `return`.
    if func.ret.is_some() && !matches!(func.body.last(), Some(Stmt::Return(_))) {
        return None;
    }
    for (derivative, ends) in [(&func.backward, &["_v", "_g", "_d"][..]), (&func.forward, &["_v", "_d"])] {
        let Some(derivative) = derivative else { continue };
        scope.vars.truncate(home);
        for p in &func.params {
            if p.varies() {
                // A backward derivative gets no cotangent for an `in` parameter.
                let has = |end: &&str| **end != *"_d" || ends.len() == 2 || p.way == Way::InOut;
                let names = ends.iter().copied().filter(|end| has(end));
                scope.vars.extend(names.map(|end| (format!("{}{end}", p.name), Ty::Float)));
            } else {
                scope.vars.push((p.name.clone(), p.ty));
            }
        }
        if let Some(ty) = func.ret {
            if ends.len() == 2 {
                scope.vars.push(("r_v".into(), ty));
            }
            if ty == Ty::Float {
                scope.vars.push((if ends.len() == 2 { "r_d" } else { "d" }.into(), Ty::Float));
            }
        }
        scope.ret = None;
        scope.block(&derivative.body)?;
    }
    if let Some(name) = &func.substitute {
        let other = tree.func(name)?;
        (other.params == func.params && other.ret == func.ret).then_some(())?;
    }
    Some(())
}

impl Scope<'_> {
    fn block(&mut self, block: &[Stmt]) -> Option<()> {
        let count = self.vars.len();
        for statement in block {
            self.statement(statement)?;
        }
        self.vars.truncate(count);
        Some(())
    }

    fn is(&self, expr: &Expr, ty: Ty) -> Option<()> {
        (self.ty(expr)? == ty).then_some(())
    }

    fn inside(&mut self, body: &[Stmt]) -> Option<()> {
        self.loops += 1;
        self.block(body)?;
        self.loops -= 1;
        Some(())
    }

    fn statement(&mut self, statement: &Stmt) -> Option<()> {
        match statement {
            Stmt::Let(ty, name, value) => {
                self.is(value, *ty)?;
                self.vars.push((name.clone(), *ty));
            }
            Stmt::Set(name, value) => self.is(value, self.var(name)?)?,
            Stmt::Store(mem, at, value) => {
                self.is(at, Ty::Int)?;
                self.is(value, mem.ty())?;
            }
            Stmt::Atomic { at, value, old, .. } => {
                self.is(at, Ty::Int)?;
                self.is(value, Ty::Int)?;
                self.vars.extend(old.iter().map(|old| (old.clone(), Ty::Int)));
            }
            Stmt::Wave { name, value, .. } => {
                self.is(value, Ty::Int)?;
                self.vars.push((name.clone(), Ty::Int));
            }
            Stmt::Do(call) => {
                self.call(call)?;
            }
            Stmt::If(condition, then, other) => {
                self.is(condition, Ty::Bool)?;
                self.block(then)?;
                self.block(other)?;
            }
            Stmt::For { counter, bound, body, .. } => {
                self.is(bound, Ty::Int)?;
                self.vars.push((counter.clone(), Ty::Int));
                self.inside(body)?;
                self.vars.pop();
            }
            Stmt::While { condition, body, .. } => {
                self.is(condition, Ty::Bool)?;
                self.inside(body)?;
            }
            Stmt::Once { body, .. } => self.inside(body)?,
            Stmt::Break(_) | Stmt::Continue => (self.loops > 0).then_some(())?,
            Stmt::Return(None) => self.ret.is_none().then_some(())?,
            Stmt::Return(Some(value)) => self.is(value, self.ret?)?,
        }
        Some(())
    }

    fn var(&self, name: &str) -> Option<Ty> {
        self.vars.iter().rev().find(|(n, _)| n == name).map(|(_, ty)| *ty)
    }

    fn call(&self, call: &Call) -> Option<Option<Ty>> {
        let func = self.tree.func(&call.func)?;
        (func.params.len() == call.args.len()).then_some(())?;
        for (param, arg) in func.params.iter().zip(&call.args) {
            self.is(arg, param.ty)?;
            if param.way == Way::InOut && !matches!(arg, Expr::Var(_)) {
                return None;
            }
        }
        Some(func.ret)
    }

    fn ty(&self, expr: &Expr) -> Option<Ty> {
        match expr {
            Expr::Float(_) => Some(Ty::Float),
            Expr::Int(_) => Some(Ty::Int),
            Expr::Bool(_) => Some(Ty::Bool),
            Expr::Var(name) => self.var(name),
            Expr::Op(op, operands) => {
                let (_, types, ty) = ops::form(*op);
                (operands.len() == types.len()).then_some(())?;
                operands.iter().zip(types).try_for_each(|(o, ty)| self.is(o, *ty))?;
                Some(ty)
            }
            Expr::Select(parts) => {
                self.is(&parts[0], Ty::Bool)?;
                let ty = self.ty(&parts[1])?;
                self.is(&parts[2], ty)?;
                Some(ty)
            }
            Expr::And(parts) | Expr::Or(parts) => {
                self.is(&parts[0], Ty::Bool)?;
                self.is(&parts[1], Ty::Bool)?;
                Some(Ty::Bool)
            }
            Expr::Detach(inner) => {
                self.is(inner, Ty::Float)?;
                Some(Ty::Float)
            }
            Expr::Read(mem, at) => {
                self.is(at, Ty::Int)?;
                Some(mem.ty())
            }
            Expr::Call(call) => self.call(call)?,
        }
    }
}
