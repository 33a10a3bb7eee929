//! Reduces a tree that fails. Input: a tree and a test for the failure. Output: a smaller tree that fails the same test.
//!
//! Edits ignore scopes and types; trees that are not valid programs are discarded.

use super::tree::{Expr, Func, Home, Inline, Stmt, Tree};

/// The smallest tree found in so many tries that still fails.
pub fn shrink(tree: &Tree, most: usize, fails: &dyn Fn(&Tree) -> bool) -> Tree {
    let mut best = tree.clone();
    let mut tries = 0;
    loop {
        let before = best.clone();
        for edit in [functions, statements, expressions] {
            let mut at = 0;
            while let Some(smaller) = edit(&best).into_iter().nth(at) {
                if !super::is_program(&smaller) {
                    at += 1;
                    continue;
                }
                tries += 1;
                if tries > most {
                    return best;
                }
                if smaller != best && fails(&smaller) {
                    best = smaller;
                } else {
                    at += 1;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// With one function gone or plainer.
fn functions(tree: &Tree) -> Vec<Tree> {
    let mut all = Vec::new();
    for at in 0..tree.funcs.len() {
        if at + 1 < tree.funcs.len() {
            let mut smaller = tree.clone();
            smaller.funcs.remove(at);
            all.push(smaller);
        }
        let edits: [fn(&mut Func); 6] = [
            |f| f.home = Home::Module,
            |f| f.inline = Inline::Default,
            |f| f.forward = None,
            |f| f.backward = None,
            |f| f.substitute = None,
            |f| f.ret = None,
        ];
        for edit in edits {
            let mut smaller = tree.clone();
            edit(&mut smaller.funcs[at]);
            all.push(smaller);
        }
        if at + 1 == tree.funcs.len() {
            for param in 0..tree.funcs[at].params.len() {
                let mut smaller = tree.clone();
                smaller.funcs[at].params.remove(param);
                all.push(smaller);
            }
        }
    }
    if tree.threads > 1 {
        all.push(Tree { threads: tree.threads / 2, ..tree.clone() });
    }
    all
}

/// With one block changed.
fn blocks(tree: &Tree, change: &dyn Fn(&[Stmt]) -> Vec<Vec<Stmt>>) -> Vec<Tree> {
    let mut all = Vec::new();
    for (at, func) in tree.funcs.iter().enumerate().rev() {
        let mut put = |edit: &dyn Fn(&mut Func)| {
            let mut smaller = tree.clone();
            edit(&mut smaller.funcs[at]);
            all.push(smaller);
        };
        for body in change(&func.body) {
            put(&|f| f.body = body.clone());
        }
        for body in func.backward.iter().flat_map(|d| change(&d.body)) {
            put(&|f| f.backward.as_mut().into_iter().for_each(|d| d.body = body.clone()));
        }
        for body in func.forward.iter().flat_map(|d| change(&d.body)) {
            put(&|f| f.forward.as_mut().into_iter().for_each(|d| d.body = body.clone()));
        }
    }
    all
}

fn statements(tree: &Tree) -> Vec<Tree> {
    blocks(tree, &smaller)
}

fn expressions(tree: &Tree) -> Vec<Tree> {
    blocks(tree, &simpler)
}

fn with(block: &[Stmt], at: usize, by: Vec<Stmt>) -> Vec<Stmt> {
    let mut new = block[..at].to_vec();
    new.extend(by);
    new.extend_from_slice(&block[at + 1..]);
    new
}

/// Without one statement, with what is inside of one in its place, or with less inside of one.
fn smaller(block: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all: Vec<Vec<Stmt>> = (0..block.len()).map(|at| with(block, at, vec![])).collect();
    for (at, statement) in block.iter().enumerate() {
        for (inner, put) in insides(statement) {
            all.push(with(block, at, inner.clone()));
            all.extend(smaller(inner).into_iter().map(|inner| with(block, at, vec![put(inner)])));
        }
    }
    all
}

type Put<'s> = Box<dyn Fn(Vec<Stmt>) -> Stmt + 's>;

/// The blocks inside of a statement, and what makes the statement with another one there.
fn insides(statement: &Stmt) -> Vec<(&Vec<Stmt>, Put<'_>)> {
    let replaced = move |edit: fn(&mut Stmt, Vec<Stmt>)| -> Put<'_> {
        Box::new(move |new| {
            let mut statement = statement.clone();
            edit(&mut statement, new);
            statement
        })
    };
    match statement {
        Stmt::If(_, then, other) => vec![
            (
                then,
                replaced(|s, new| {
                    if let Stmt::If(_, then, _) = s {
                        *then = new
                    }
                }),
            ),
            (
                other,
                replaced(|s, new| {
                    if let Stmt::If(_, _, other) = s {
                        *other = new
                    }
                }),
            ),
        ],
        Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::Once { body, .. } => vec![(
            body,
            replaced(|s, new| {
                if let Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::Once { body, .. } = s {
                    *body = new;
                }
            }),
        )],
        _ => vec![],
    }
}

/// With one expression simpler.
fn simpler(block: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    for (at, statement) in block.iter().enumerate() {
        for (inner, put) in insides(statement) {
            all.extend(simpler(inner).into_iter().map(|inner| with(block, at, vec![put(inner)])));
        }
        for number in 0..expressions_of(&mut statement.clone()).len() {
            let mut counted = statement.clone();
            let choices = expressions_of(&mut counted)[number].clone();
            for choice in reduced(&choices) {
                let mut statement = statement.clone();
                *expressions_of(&mut statement)[number] = choice;
                all.push(with(block, at, vec![statement]));
            }
        }
    }
    all
}

/// The expressions right inside of a statement.
fn expressions_of(statement: &mut Stmt) -> Vec<&mut Expr> {
    match statement {
        Stmt::Let(_, _, value) | Stmt::Set(_, value) | Stmt::Wave { value, .. } => vec![value],
        Stmt::Store(_, at, value) | Stmt::Atomic { at, value, .. } => vec![at, value],
        Stmt::Do(call) => call.args.iter_mut().collect(),
        Stmt::If(condition, ..) | Stmt::While { condition, .. } => vec![condition],
        Stmt::For { bound, .. } => vec![bound],
        Stmt::Return(value) => value.iter_mut().collect(),
        Stmt::Once { .. } | Stmt::Break(_) | Stmt::Continue => vec![],
    }
}

/// What may stand in place of an expression: a constant, a part of it, or the same with a part reduced.
fn reduced(expr: &Expr) -> Vec<Expr> {
    let constants = [Expr::Float(1.0), Expr::Float(0.5), Expr::Int(1), Expr::Int(0), Expr::Bool(true)];
    let mut all: Vec<Expr> = match expr {
        Expr::Float(_) | Expr::Int(_) | Expr::Bool(_) => return vec![],
        Expr::Var(_) => return constants.to_vec(),
        _ => constants.to_vec(),
    };
    let mut copy = expr.clone();
    let parts: Vec<Expr> = parts(&mut copy).into_iter().map(|p| p.clone()).collect();
    all.extend(parts.iter().cloned());
    for (at, part) in parts.iter().enumerate() {
        for smaller in reduced(part) {
            let mut new = expr.clone();
            *self::parts(&mut new)[at] = smaller;
            all.push(new);
        }
    }
    all
}

fn parts(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Float(_) | Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) => vec![],
        Expr::Op(_, operands) => operands.iter_mut().collect(),
        Expr::Select(parts) => parts.iter_mut().collect(),
        Expr::And(parts) | Expr::Or(parts) => parts.iter_mut().collect(),
        Expr::Detach(inner) | Expr::Read(_, inner) => vec![inner],
        Expr::Call(call) => call.args.iter_mut().collect(),
    }
}
