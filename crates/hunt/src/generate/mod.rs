//! Generates random programs.
//!
//! A program has a fixed set of types and small functions, one or two random functions, and the function `f`, which may call
//! them. Statements write to variables of every type, so that values depend on each other. Written values are bounded, so
//! that numbers stay tame however often a loop runs. The macro `LOOP` is before the loops that may be unrolled, and
//! determines whether they are.

mod expr;
mod orders;
mod scope;
mod stmt;

use crate::program::{Function, Node, Piece, Program, Ty};
use crate::random::Random;
use scope::{Callable, Scope, Var};

/// The declarations every program may use.
const PRELUDE: &str = include_str!("../prelude.slang");

/// What functions of second order use besides.
const WEIGH: &str = include_str!("../weigh.slang");

/// The program that belongs to `seed`.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator { random: Random::new(seed), budget: 0, names: 0 };
    generator.program(seed.is_multiple_of(2))
}

/// The state of making one.
struct Generator {
    random: Random,
    /// How many statements may still be made that contain others.
    budget: usize,
    /// How many names were made up.
    names: usize,
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    InOut,
    Out,
}

struct Parameter {
    name: String,
    ty: Ty,
    way: Way,
}

impl Generator {
    fn fresh(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// A program; with functions of second order, if they are wanted and `f` has a signature for them.
    fn program(&mut self, second: bool) -> Program {
        let mut items = items(PRELUDE);
        let (mut functions, mut callables) = (Vec::new(), Vec::new());
        for number in 0..self.random.below(3) {
            self.budget = 4;
            let (function, callable, _) = self.function(&format!("g{number}"), &callables, 3);
            functions.push(function);
            callables.push(callable);
        }
        self.budget = 9;
        let (function, callable, parameters) = self.function("f", &callables, 6);
        functions.push(function);
        let mut orders = Vec::new();
        if second && callable.ret == Some(Ty::Float) && parameters.iter().all(|p| p.way == Way::In) {
            items.extend(self::items(WEIGH));
            orders.push(("ff".to_string(), orders::over_forward(&parameters)));
            orders.push(("fb".to_string(), orders::over_backward(&parameters)));
        }
        Program { items, functions, orders }
    }

    /// A function of at most so many statements on the outermost level.
    fn function(
        &mut self,
        name: &str,
        callables: &[Callable],
        statements: usize,
    ) -> (Function, Callable, Vec<Parameter>) {
        let parameters = self.parameters();
        let returns = self.random.below(6) > 0 || parameters.iter().all(|p| p.way == Way::In);
        let ret = returns.then(|| *self.random.pick(&[Ty::Float, Ty::Float, Ty::Float, Ty::Vec2, Ty::Inner]));
        let mut scope = Scope { callables: callables.to_vec(), ret, ..Scope::default() };
        let mut body = Vec::new();
        for p in parameters.iter().filter(|p| p.way != Way::Out) {
            scope.vars.push(Var { name: p.name.clone(), ty: p.ty, mutable: true });
        }
        scope.vars.push(Var { name: "c".into(), ty: Ty::Float, mutable: false });
        scope.ints.push("n".into());
        for p in parameters.iter().filter(|p| p.way == Way::Out) {
            let value = self.bounded(&scope, p.ty);
            body.push(Node::of(None, &format!("{} = $;", p.name), vec![Piece::Node(value)]));
            scope.vars.push(Var { name: p.name.clone(), ty: p.ty, mutable: true });
        }
        for _ in 0..2 + self.random.below(statements) {
            self.statement(&mut scope, &mut body);
        }
        if let Some(ty) = ret {
            body.push(self.last(&scope, ty));
        }
        let params = parameters.iter().map(|p| (p.ty, p.way != Way::In)).collect();
        let callable = Callable { name: name.to_string(), params, ret };
        (Function { head: self.head(name, &parameters, ret), body }, callable, parameters)
    }

    fn parameters(&mut self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter { name: "x".into(), ty: Ty::Float, way: Way::In }];
        for _ in 0..1 + self.random.below(3) {
            let way = *self.random.pick(&[Way::In, Way::In, Way::In, Way::InOut, Way::Out]);
            let (name, ty) = (self.fresh("p"), *self.random.pick(&Ty::DIFF));
            parameters.push(Parameter { name, ty, way });
        }
        parameters
    }

    fn head(&mut self, name: &str, parameters: &[Parameter], ret: Option<Ty>) -> String {
        let one = |p: &Parameter| {
            let way = match p.way {
                Way::In => "",
                Way::InOut => "inout ",
                Way::Out => "out ",
            };
            format!("{way}{} {}", p.ty.name(), p.name)
        };
        let all: Vec<String> = parameters.iter().map(one).collect();
        let prefer = match self.random.below(8) {
            0 if name != "f" => "[PreferRecompute]\n",
            1 if name != "f" => "[PreferCheckpoint]\n",
            _ => "",
        };
        let ret = ret.map_or("void", Ty::name);
        format!(
            "[Differentiable]\n{prefer}{ret} {name}({}, no_diff float c = 0.4, int n = 2)",
            all.join(", ")
        )
    }

    /// The last return, which looks at several variables.
    fn last(&mut self, scope: &Scope, ty: Ty) -> Node {
        let value = if ty == Ty::Float {
            let parts = (0..3).map(|_| self.expr(scope, ty, 2)).collect();
            Node::expr(ty, "$ + 0.7 * $ - 0.4 * $", parts)
        } else {
            self.bounded(scope, ty)
        };
        Node::of(None, "return $;", vec![Piece::Node(value)])
    }
}

/// Declarations are separated by empty lines; a line that is indented continues one.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for part in text.trim_end().split("\n\n") {
        match items.last_mut().filter(|_| part.starts_with(' ')) {
            Some(last) => *last += &format!("\n\n{part}"),
            None => items.push(part.to_string()),
        }
    }
    items
}
