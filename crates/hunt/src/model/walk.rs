//! Walks over trees, and the questions they answer: which functions and memory a tree uses, and which modes it has.

use super::eval::Mode;
use super::tree::{Call, Expr, Func, Mem, Stmt, Tree};

/// A visitor, called for every expression, statement and call.
pub trait Visit {
    fn expr(&mut self, _: &Expr) {}
    fn stmt(&mut self, _: &Stmt) {}
    fn call(&mut self, _: &Call) {}
}

/// Visits everything in a block.
pub fn block(visit: &mut dyn Visit, statements: &[Stmt]) {
    for statement in statements {
        visit.stmt(statement);
        match statement {
            Stmt::Let(_, _, value) | Stmt::Set(_, value) | Stmt::Wave { value, .. } => expr(visit, value),
            Stmt::Store(_, at, value) | Stmt::Atomic { at, value, .. } => {
                expr(visit, at);
                expr(visit, value);
            }
            Stmt::Do(call) => args(visit, call),
            Stmt::If(condition, then, other) => {
                expr(visit, condition);
                block(visit, then);
                block(visit, other);
            }
            Stmt::For { bound: condition, body, .. } | Stmt::While { condition, body, .. } => {
                expr(visit, condition);
                block(visit, body);
            }
            Stmt::Once { body, .. } => block(visit, body),
            Stmt::Return(value) => value.iter().for_each(|value| expr(visit, value)),
            Stmt::Break(_) | Stmt::Continue => {}
        }
    }
}

fn args(visit: &mut dyn Visit, call: &Call) {
    visit.call(call);
    call.args.iter().for_each(|arg| expr(visit, arg));
}

fn expr(visit: &mut dyn Visit, e: &Expr) {
    visit.expr(e);
    match e {
        Expr::Float(_) | Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) => {}
        Expr::Op(_, operands) => operands.iter().for_each(|o| expr(visit, o)),
        Expr::Select(parts) => parts.iter().for_each(|o| expr(visit, o)),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|o| expr(visit, o)),
        Expr::Detach(inner) | Expr::Read(_, inner) => expr(visit, inner),
        Expr::Call(call) => args(visit, call),
    }
}

/// All blocks of a function.
pub fn blocks(func: &Func) -> impl Iterator<Item = &[Stmt]> {
    let derivatives = [&func.backward, &func.forward].into_iter().flatten().map(|d| &d.body[..]);
    std::iter::once(&func.body[..]).chain(derivatives)
}

#[derive(Default)]
struct Used {
    mems: Vec<Mem>,
    calls: Vec<String>,
}

impl Visit for Used {
    fn expr(&mut self, e: &Expr) {
        if let Expr::Read(mem, _) = e {
            self.mems.push(*mem);
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        if let Stmt::Store(mem, ..) | Stmt::Atomic { mem, .. } = s {
            self.mems.push(*mem);
        }
    }

    fn call(&mut self, call: &Call) {
        self.calls.push(call.func.clone());
    }
}

/// The functions that the last one may call, and itself, in their order.
pub fn reachable(tree: &Tree) -> Vec<&Func> {
    let mut found: Vec<&str> = vec![&tree.root().name];
    let mut next = 0;
    while let Some(func) = found.get(next).and_then(|name| tree.func(name)) {
        next += 1;
        let mut used = Used::default();
        blocks(func).for_each(|b| block(&mut used, b));
        for name in used.calls.iter().chain(&func.substitute) {
            if let Some(f) = tree.func(name)
                && !found.contains(&f.name.as_str())
            {
                found.push(&f.name);
            }
        }
    }
    tree.funcs.iter().filter(|f| found.contains(&f.name.as_str())).collect()
}

/// The memory that a program uses.
pub fn memory(tree: &Tree) -> Vec<Mem> {
    let mut used = Used::default();
    for func in reachable(tree) {
        blocks(func).for_each(|b| block(&mut used, b));
    }
    Mem::ALL.into_iter().filter(|mem| used.mems.contains(mem)).collect()
}

/// The modes in which every function has a derivative.
pub fn modes(tree: &Tree) -> Vec<Mode> {
    let all = reachable(tree);
    // If a function is marked, the compiler makes the other derivative; if it has none, it is called under `no_diff`.
    let alone = |f: &&&Func| f.substitute.is_none() && !f.marked;
    let has = |backward: bool, forward: bool| {
        let same = |f: &&Func| f.backward.is_some() == backward && f.forward.is_some() == forward;
        all.iter().filter(alone).any(same)
    };
    let mut modes = vec![Mode::Value];
    modes.extend((!has(true, false)).then_some(Mode::Forward));
    modes.extend((!has(false, true)).then_some(Mode::Backward));
    modes
}

/// Whether a function has no effects: no stores, atomics, wave operations or calls. Its custom derivatives may have effects.
pub fn is_quiet(func: &Func) -> bool {
    #[derive(Default)]
    struct Loud(bool);
    impl Visit for Loud {
        fn stmt(&mut self, s: &Stmt) {
            self.0 |= matches!(s, Stmt::Store(..) | Stmt::Atomic { .. } | Stmt::Do(_) | Stmt::Wave { .. });
        }

        fn expr(&mut self, e: &Expr) {
            self.0 |= matches!(e, Expr::Call(_));
        }
    }
    // Its substitute may do anything.
    let mut loud = Loud(func.substitute.is_some());
    block(&mut loud, &func.body);
    !loud.0
}
