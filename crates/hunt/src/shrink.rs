//! Reduces a failing program while it fails in the same way.
//!
//! Edits ignore scopes: a program that no longer compiles fails in another way and is discarded.

use crate::program::{Function, Node, Piece, Program};

/// How often a smaller program is tried at most.
const TRIES: usize = 4000;

/// The smallest program found that still fails.
pub fn shrink(program: &Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut tries = 0;
    loop {
        let mut progress = false;
        for edit in [items, orders, functions, statements, expressions] {
            let mut at = 0;
            while let Some(smaller) = edit(&best).into_iter().nth(at) {
                tries += 1;
                if tries > TRIES {
                    return best;
                }
                // After an edit, the next one is at the same place.
                if fails(&smaller) {
                    best = smaller;
                    progress = true;
                } else {
                    at += 1;
                }
            }
        }
        if !progress {
            return best;
        }
    }
}

fn without<T: Clone>(all: &[T], index: usize) -> Vec<T> {
    let kept = all.iter().enumerate().filter(|(i, _)| *i != index);
    kept.map(|(_, x)| x.clone()).collect()
}

fn items(program: &Program) -> Vec<Program> {
    let all = &program.items;
    (0..all.len()).map(|i| Program { items: without(all, i), ..program.clone() }).collect()
}

fn orders(program: &Program) -> Vec<Program> {
    let all = &program.orders;
    (0..all.len()).map(|i| Program { orders: without(all, i), ..program.clone() }).collect()
}

fn functions(program: &Program) -> Vec<Program> {
    let all = &program.functions;
    (0..all.len()).map(|i| Program { functions: without(all, i), ..program.clone() }).collect()
}

/// With one body changed.
fn bodies(program: &Program, change: &dyn Fn(&[Node]) -> Vec<Vec<Node>>) -> Vec<Program> {
    let mut all = Vec::new();
    for (i, function) in program.functions.iter().enumerate() {
        for body in change(&function.body) {
            let mut smaller = program.clone();
            smaller.functions[i] = Function { body, ..function.clone() };
            all.push(smaller);
        }
    }
    all
}

fn statements(program: &Program) -> Vec<Program> {
    bodies(program, &smaller_block)
}

fn expressions(program: &Program) -> Vec<Program> {
    let change = |body: &[Node]| {
        let mut all = Vec::new();
        for (i, node) in body.iter().enumerate() {
            all.extend(simpler(node).into_iter().map(|node| with(body, i, vec![node])));
        }
        all
    };
    bodies(program, &change)
}

fn with(block: &[Node], index: usize, nodes: Vec<Node>) -> Vec<Node> {
    let mut new = block[..index].to_vec();
    new.extend(nodes);
    new.extend_from_slice(&block[index + 1..]);
    new
}

/// Without one statement, with what is inside one in its place, or with a smaller block inside.
fn smaller_block(block: &[Node]) -> Vec<Vec<Node>> {
    let mut all: Vec<Vec<Node>> = (0..block.len()).map(|i| without(block, i)).collect();
    for (i, node) in block.iter().enumerate() {
        for (at, piece) in node.pieces.iter().enumerate() {
            if let Piece::Block(inside) = piece {
                all.push(with(block, i, inside.clone()));
                for smaller in smaller_block(inside) {
                    let mut node = node.clone();
                    node.pieces[at] = Piece::Block(smaller);
                    all.push(with(block, i, vec![node]));
                }
            }
        }
    }
    all
}

/// With one expression replaced by the simplest of its type, or by one inside of it.
fn simpler(node: &Node) -> Vec<Node> {
    let mut all = Vec::new();
    for (at, piece) in node.pieces.iter().enumerate() {
        let put = |piece: Piece| {
            let mut node = node.clone();
            node.pieces[at] = piece;
            node
        };
        match piece {
            Piece::Text(_) => {}
            Piece::Node(expr) => {
                let simplest = expr.ty.and_then(|ty| Some(Node::leaf(Some(ty), ty.simplest()?)));
                all.extend(simplest.filter(|s| s != expr).map(|s| put(Piece::Node(s))));
                all.extend(inside(expr).into_iter().map(|e| put(Piece::Node(e))));
                all.extend(simpler(expr).into_iter().map(|e| put(Piece::Node(e))));
            }
            Piece::Block(block) => {
                for (i, inner) in block.iter().enumerate() {
                    all.extend(
                        simpler(inner).into_iter().map(|n| put(Piece::Block(with(block, i, vec![n])))),
                    );
                }
            }
        }
    }
    all
}

/// The expressions inside `expr` that are of its type.
fn inside(expr: &Node) -> Vec<Node> {
    let mut all = Vec::new();
    for piece in &expr.pieces {
        if let Piece::Node(inner) = piece {
            if inner.ty == expr.ty {
                all.push(inner.clone());
            } else {
                all.extend(inside(inner).into_iter().filter(|e| e.ty == expr.ty));
            }
        }
    }
    all
}
