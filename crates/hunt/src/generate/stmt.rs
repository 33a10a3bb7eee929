//! Generates random statements, biased towards loops and exits from them.

use super::Generator;
use super::scope::{Loop, Scope, Var};
use crate::program::{Node, Piece, Ty};

/// Places that can be written to, by the variable they are part of: the place, the type of what is written, and how
/// many indices it takes.
const PLACES: &[(Ty, &str, Ty)] = &[
    (Ty::Float, "#", Ty::Float),
    (Ty::Float, "#", Ty::Float),
    (Ty::Vec2, "#", Ty::Vec2),
    (Ty::Vec2, "#.y", Ty::Float),
    (Ty::Vec2, "#.yx", Ty::Vec2),
    (Ty::Vec2, "#[$ % 2]", Ty::Float),
    (Ty::Vec3, "#", Ty::Vec3),
    (Ty::Vec3, "#.zx", Ty::Vec2),
    (Ty::Mat, "#", Ty::Mat),
    (Ty::Mat, "#[$ % 2]", Ty::Vec2),
    (Ty::Mat, "#[$ % 2][$ % 2]", Ty::Float),
    (Ty::Mat, "#[1].x", Ty::Float),
    (Ty::Array, "#[$ % 4]", Ty::Float),
    (Ty::Array, "#[$ % 4]", Ty::Float),
    (Ty::Array, "#[2]", Ty::Float),
    (Ty::Array, "#", Ty::Array),
    (Ty::Inner, "#", Ty::Inner),
    (Ty::Inner, "#.a", Ty::Float),
    (Ty::Inner, "#.b", Ty::Vec2),
    (Ty::Inner, "#.b.x", Ty::Float),
    (Ty::Inner, "#.mean", Ty::Float),
    (Ty::Outer, "#", Ty::Outer),
    (Ty::Outer, "#.i", Ty::Inner),
    (Ty::Outer, "#.i.a", Ty::Float),
    (Ty::Outer, "#.i.b[$ % 2]", Ty::Float),
    (Ty::Outer, "#.w[$ % 3]", Ty::Float),
    (Ty::Outer, "#[$]", Ty::Float),
    (Ty::Pair, "#", Ty::Pair),
    (Ty::Pair, "#._0", Ty::Float),
    (Ty::Pair, "#._1.y", Ty::Float),
];

/// What is no number, or has an infinite slope, where its guard keeps it from being used. Some is made before the guard.
const GUARDED: &[&str] = &[
    "if (# > 0.3) $ += 0.2 * sqrt(# - 0.3);",
    "if (# > 0.1) $ = 0.3 * log(#);",
    "if (# > 0.2) $ += 0.1 / max(#, 0.0);",
    "if (# < -0.1) $ = 0.2 * # / min(#, 0.0);",
    "$ += 0.3 * (# < 0.2 ? # : pow(# - 0.1, 0.7));",
    "{ float root = sqrt(# - 0.2); if (# > 0.2) $ = 0.4 * root; }",
    "{ float share = 0.1 / max(#, 0.0); $ += # > 0.2 ? share : 0.1; }",
];

fn statement(text: &str, parts: Vec<Piece>) -> Node {
    Node::of(None, text, parts)
}

impl Generator {
    /// Some statements. Names they declare are gone after them.
    pub fn block(&mut self, scope: &Scope, count: usize) -> Vec<Node> {
        let mut scope = Scope { depth: scope.depth + 1, ..scope.clone() };
        let mut nodes = Vec::new();
        for _ in 0..count {
            self.statement(&mut scope, &mut nodes);
        }
        nodes
    }

    /// Adds a statement, with what it needs before it.
    pub fn statement(&mut self, scope: &mut Scope, nodes: &mut Vec<Node>) {
        let deep = scope.depth >= 4 || self.budget == 0;
        self.budget = self.budget.saturating_sub(1);
        match self.random.below(if deep { 15 } else { 27 }) {
            0..=4 => nodes.extend(self.assignment(scope)),
            5 | 6 => nodes.push(self.declaration(scope)),
            7 | 8 => nodes.extend(self.called(scope)),
            9 => nodes.push(self.memory(scope)),
            10..=13 => nodes.extend(self.exit(scope)),
            14 => nodes.extend(self.guarded(scope)),
            15..=17 => nodes.push(self.branch(scope)),
            18 => nodes.push(self.switch(scope)),
            19..=21 => nodes.push(self.counted(scope)),
            22 | 23 => self.conditional(scope, nodes),
            24 => nodes.push(self.dynamic(scope)),
            25 => self.repeated(scope, nodes),
            _ => {
                let count = 1 + self.random.below(2);
                nodes.push(statement("$", vec![Piece::Block(self.block(scope, count))]));
            }
        }
    }

    /// A place in some variable that can be written to, and its type; only of type `ty`, if one is given.
    fn place(&mut self, scope: &Scope, wanted: Option<Ty>) -> Option<(Node, Ty)> {
        let fits = |p: &&(Ty, &str, Ty)| !scope.mutable(p.0).is_empty() && wanted.is_none_or(|ty| ty == p.2);
        let fitting: Vec<_> = PLACES.iter().filter(fits).copied().collect();
        if fitting.is_empty() {
            return None;
        }
        let (of, text, ty) = *self.random.pick(&fitting);
        let name = (*self.random.pick(&scope.mutable(of))).to_string();
        let indices = (0..text.matches('$').count()).map(|_| self.expr(scope, Ty::Int, 1)).collect();
        let text = text.replace('#', &name);
        Some((Node { ty: None, ..Node::expr(ty, &text, indices) }, ty))
    }

    fn assignment(&mut self, scope: &Scope) -> Option<Node> {
        let (place, ty) = self.place(scope, None)?;
        let value = self.bounded(scope, ty);
        let text = match ty {
            Ty::Float | Ty::Vec2 | Ty::Vec3 | Ty::Mat => {
                *self.random.pick(&["$ = $;", "$ = $;", "$ += 0.4 * $;", "$ -= 0.3 * $;", "$ *= sin($);"])
            }
            _ => "$ = $;",
        };
        Some(statement(text, vec![Piece::Node(place), Piece::Node(value)]))
    }

    fn declaration(&mut self, scope: &mut Scope) -> Node {
        let ty = *self.random.pick(&Ty::DIFF);
        let value = self.bounded(scope, ty);
        let (name, mutable) = (self.fresh("t"), !self.random.once_in(4));
        let word = if mutable { ty.name() } else { "let" };
        scope.vars.push(Var { name: name.clone(), ty, mutable });
        statement(&format!("{word} {name} = $;"), vec![Piece::Node(value)])
    }

    /// A call for what it writes to.
    fn called(&mut self, scope: &Scope) -> Option<Node> {
        let own: Vec<_> = scope.callables.iter().filter(|c| c.params.iter().any(|p| p.1)).cloned().collect();
        if own.is_empty() || self.random.once_in(3) {
            return self.library_call(scope);
        }
        let callable = self.random.pick(&own).clone();
        let mut parts = Vec::new();
        let mut taken: Vec<Node> = Vec::new();
        for (ty, written) in callable.params {
            let node = if written { self.place(scope, Some(ty))?.0 } else { self.expr(scope, ty, 2) };
            // One place may not be written to by two parameters.
            if written && taken.iter().any(|t| overlap(t, &node)) {
                return None;
            }
            taken.extend(written.then(|| node.clone()));
            parts.push(Piece::Node(node));
        }
        let places = vec!["$"; parts.len()].join(", ");
        Some(statement(&format!("{}({places});", callable.name), parts))
    }

    fn library_call(&mut self, scope: &Scope) -> Option<Node> {
        match self.random.below(5) {
            0 => {
                let place = self.place(scope, Some(Ty::Float))?.0;
                let by = self.expr(scope, Ty::Float, 2);
                Some(statement("halve($, $);", vec![Piece::Node(place), Piece::Node(by)]))
            }
            1 => {
                let (a, b) = (self.place(scope, Some(Ty::Float))?.0, self.place(scope, Some(Ty::Float))?.0);
                let parts = vec![Piece::Node(a.clone()), Piece::Node(b.clone())];
                (!overlap(&a, &b)).then(|| statement("exchange($, $);", parts))
            }
            2 => {
                let (a, b) = (self.place(scope, Some(Ty::Float))?.0, self.place(scope, Some(Ty::Vec2))?.0);
                if overlap(&a, &b) {
                    return None;
                }
                let parts = vec![self.expr(scope, Ty::Float, 2), a, b].into_iter().map(Piece::Node);
                Some(statement("pieces($, $, $);", parts.collect()))
            }
            3 => {
                let all = scope.mutable(Ty::Inner);
                let name = if all.is_empty() { return None } else { (*self.random.pick(&all)).to_string() };
                let by = self.expr(scope, Ty::Float, 2);
                Some(statement(&format!("{name}.turn($);"), vec![Piece::Node(by)]))
            }
            _ => {
                let place = self.place(scope, Some(Ty::Float))?.0;
                let all = scope.mutable(Ty::Array);
                let name = if all.is_empty() { return None } else { (*self.random.pick(&all)).to_string() };
                if overlap(&place, &Node::leaf(None, name.clone())) {
                    return None;
                }
                let parts = vec![place, self.expr(scope, Ty::Int, 1), self.expr(scope, Ty::Float, 2)];
                let text = format!("$ = heap({name}, $ % 4, $);");
                Some(statement(&text, parts.into_iter().map(Piece::Node).collect()))
            }
        }
    }

    /// A use under a guard.
    fn guarded(&mut self, scope: &Scope) -> Option<Node> {
        let place = Piece::Node(self.place(scope, Some(Ty::Float))?.0);
        let name = (*self.random.pick(&scope.of(Ty::Float))).to_string();
        let text = self.random.pick(GUARDED).replace('#', &name);
        Some(statement(&text, vec![place]))
    }

    /// Memory that is read and overwritten, and a trace of what is computed.
    fn memory(&mut self, scope: &Scope) -> Node {
        let index = Piece::Node(self.expr(scope, Ty::Int, 1));
        if self.random.once_in(2) {
            let other = Piece::Node(self.expr(scope, Ty::Int, 1));
            return statement("memo[$ % 4] = 0.5 * memo[$ % 4] + 0.2;", vec![index, other]);
        }
        let value = Piece::Node(self.expr(scope, Ty::Float, 2));
        statement("trace[$ % 4] += detach($);", vec![index, value])
    }

    /// A way out, under a condition: of a loop, of several, or of the function.
    fn exit(&mut self, scope: &Scope) -> Option<Node> {
        let condition = Piece::Node(self.expr(scope, Ty::Bool, 2));
        let text = match (self.random.below(5), scope.loops.last()) {
            (0 | 1, Some(inner)) if !inner.hidden => "break;".to_string(),
            (2, Some(_)) => "continue;".to_string(),
            (3, Some(_)) => format!("break {};", self.random.pick(&scope.loops).label),
            _ if scope.depth < 2 || self.random.once_in(2) => return self.assignment(scope),
            _ => {
                let value = scope.ret.map(|ty| Piece::Node(self.bounded(scope, ty)));
                let text = if value.is_some() { "return $;" } else { "return;" };
                let exit = statement(text, value.into_iter().collect());
                return Some(statement("if ($) $", vec![condition, Piece::Block(vec![exit])]));
            }
        };
        let mut inside: Vec<Node> = Vec::new();
        if self.random.once_in(2) {
            inside.extend(self.assignment(scope));
        }
        inside.push(statement(&text, vec![]));
        Some(statement("if ($) $", vec![condition, Piece::Block(inside)]))
    }

    fn branch(&mut self, scope: &Scope) -> Node {
        let condition = Piece::Node(self.expr(scope, Ty::Bool, 2));
        let block = |g: &mut Self| {
            let count = 1 + g.random.below(3);
            Piece::Block(g.block(scope, count))
        };
        match self.random.below(3) {
            0 => statement("if ($) $", vec![condition, block(self)]),
            1 => statement("if ($) $ else $", vec![condition, block(self), block(self)]),
            _ => {
                let other = Piece::Node(self.expr(scope, Ty::Bool, 2));
                let parts = vec![condition, block(self), other, block(self), block(self)];
                statement("if ($) $ else if ($) $ else $", parts)
            }
        }
    }

    /// Cases that fall through, share statements, leave or return.
    fn switch(&mut self, scope: &Scope) -> Node {
        let mut inner = scope.clone();
        inner.loops.iter_mut().for_each(|l| l.hidden = true);
        let mut parts = vec![Piece::Node(self.expr(scope, Ty::Int, 2))];
        let mut text = "switch ($ % 5) {".to_string();
        let count = 2 + self.random.below(3);
        let default = self.random.below(count + 1);
        for case in 0..count {
            let label = if case == default { "default:".to_string() } else { format!("case {case}:") };
            let shared = if self.random.once_in(4) { format!(" case {}:", case + 10) } else { String::new() };
            let statements = 1 + self.random.below(2);
            parts.push(Piece::Block(self.block(&inner, statements)));
            let end = if case + 1 < count && self.random.once_in(3) { "" } else { " break;" };
            text += &format!(" {label}{shared} ${end}");
        }
        statement(&(text + " }"), parts)
    }

    /// A scope inside a new loop; its label; and how the label is written, if it is.
    fn inside(&mut self, scope: &Scope) -> (Scope, String) {
        let label = self.fresh("l");
        let mut inner = scope.clone();
        inner.loops.push(Loop { label: label.clone(), hidden: false });
        (inner, format!("{label}: "))
    }

    fn body(&mut self, scope: &Scope) -> Vec<Node> {
        let count = 1 + self.random.below(4);
        self.block(scope, count)
    }

    /// A loop with a constant number of iterations, which may be unrolled.
    fn counted(&mut self, scope: &Scope) -> Node {
        let (mut inner, label) = self.inside(scope);
        let i = self.fresh("i");
        let head = match self.random.below(4) {
            0 => format!("for (int {i} = 3; {i} >= 0; {i}--)"),
            1 => format!("for (int {i} = 1; {i} <= 5; {i} += 2)"),
            _ => format!("for (int {i} = 0; {i} < {}; {i}++)", 1 + self.random.below(4)),
        };
        inner.ints.push(i);
        let body = Piece::Block(self.body(&inner));
        statement(&format!("{label}LOOP {head} $"), vec![body])
    }

    /// A loop whose number of iterations is known when it runs.
    fn dynamic(&mut self, scope: &Scope) -> Node {
        let (mut inner, label) = self.inside(scope);
        let (i, bound) = (self.fresh("i"), Piece::Node(self.expr(scope, Ty::Int, 1)));
        inner.ints.push(i.clone());
        let body = Piece::Block(self.body(&inner));
        let text = format!("{label}[MaxIters(5)] for (int {i} = 0; {i} < $ % 6; {i}++) $");
        statement(&text, vec![bound, body])
    }

    /// `while`, with a condition that also depends on numbers.
    fn conditional(&mut self, scope: &Scope, nodes: &mut Vec<Node>) {
        let (mut inner, label) = self.inside(scope);
        let i = self.fresh("i");
        let condition = Piece::Node(self.expr(scope, Ty::Bool, 2));
        inner.ints.push(i.clone());
        let mut body = self.body(&inner);
        body.insert(0, statement(&format!("{i}++;"), vec![]));
        let rounds = 1 + self.random.below(4);
        let text = format!("{label}[MaxIters(6)] while ({i} < {rounds} && $) $");
        nodes.push(statement(&format!("int {i} = 0;"), vec![]));
        nodes.push(statement(&text, vec![condition, Piece::Block(body)]));
    }

    /// `do`, which runs once at least.
    fn repeated(&mut self, scope: &Scope, nodes: &mut Vec<Node>) {
        let (mut inner, label) = self.inside(scope);
        let i = self.fresh("i");
        inner.ints.push(i.clone());
        let mut body = self.body(&inner);
        body.insert(0, statement(&format!("{i}++;"), vec![]));
        let condition = Piece::Node(self.expr(scope, Ty::Bool, 2));
        let text = format!("{label}[MaxIters(6)] do $ while ({i} < 3 && $);");
        nodes.push(statement(&format!("int {i} = 0;"), vec![]));
        nodes.push(statement(&text, vec![Piece::Block(body), condition]));
    }
}

/// Whether two places are in one variable.
fn overlap(a: &Node, b: &Node) -> bool {
    let variable = |node: &Node| match node.pieces.first() {
        Some(Piece::Text(text)) => text.split(['.', '[']).next().map(str::to_string),
        _ => None,
    };
    variable(a) == variable(b)
}
