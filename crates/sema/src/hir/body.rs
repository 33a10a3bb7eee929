//! Checked bodies.
//!
//! Expressions are trees, and each has a number in its body. The number is its identity: tables beside the body ([`SourceMap`], what
//! the checker notes while it looks at derivatives) are indexed by it, and no address is compared. Why no arena: the checker builds
//! expressions bottom up and drops most of them, since a call is tried on many candidates and an argument is converted in several
//! ways. Trees with shared operands make these attempts cheap and leave nothing behind; numbers are given once, to the expressions
//! that stay. Lowering and the passes over bodies are recursive and read operands in place, for which an arena would only add a
//! lookup. What an editor asks (an expression by position, a name's declaration, its uses, a type) is answered by tables:
//! [`SourceMap`] and `names::uses`.

use super::walk;
use super::{Expr, Ty, Unroll, Val};
use cotangent_base::{Entity, EntityMap, FileId, Span, Symbol, entity};
use std::sync::OnceLock;

entity!(
    /// A local variable or parameter.
    LocalId,
    "local"
);
entity!(
    /// An expression of a finished body.
    ExprId,
    "expr"
);
entity!(
    /// A loop or switch that can be left.
    Label,
    "label"
);

/// The body of a function, or the initializer of a global as one `return`.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its variables, parameters included.
    pub locals: EntityMap<LocalId, Local>,
    /// The variables that are `this`, if the function has one, and the parameters, in order.
    pub params: Vec<LocalId>,
    /// What it does.
    pub block: Block,
    /// Whether packs are variables in it or expanded in it.
    pub packs: bool,
    /// How many expressions there are.
    exprs: usize,
    /// Made when somebody asks for it.
    source_map: OnceLock<SourceMap>,
}

impl Body {
    /// A finished body. Every expression gets its number; expressions that several places share are copied first, so that no two
    /// places have the same number.
    pub fn new(
        locals: EntityMap<LocalId, Local>,
        params: Vec<LocalId>,
        mut block: Block,
        packs: bool,
    ) -> Self {
        let mut exprs = 0;
        walk::each_root_mut(&mut block, &mut |expr| number(expr, &mut exprs));
        Body { locals, params, block, packs, exprs, source_map: OnceLock::new() }
    }

    /// All expressions, in the order of their numbers.
    pub fn exprs(&self) -> impl ExactSizeIterator<Item = ExprId> + use<> {
        (0..self.exprs).map(ExprId::new)
    }

    /// The expression of that number, found by the numbers of the statements and then of the operands.
    pub fn expr(&self, id: ExprId) -> &Expr {
        let mut found = None;
        walk::each_root(&self.block, &mut |root| {
            if root.id <= id {
                found = Some(root);
            }
        });
        let mut expr = found.expect("the expression belongs to the body");
        while expr.id != id {
            let inner = expr.operands().into_iter().rev().find(|inner| inner.id <= id);
            expr = inner.expect("the expression belongs to the body");
        }
        expr
    }

    /// Where each expression stands.
    pub fn source_map(&self) -> &SourceMap {
        self.source_map.get_or_init(|| {
            let mut ranges = Vec::with_capacity(self.exprs);
            walk::each_expr(&self.block, &mut |expr| ranges.push(expr.span));
            SourceMap { ranges }
        })
    }
}

/// Gives an expression and then all inside it their numbers.
fn number(expr: &mut Expr, next: &mut usize) {
    expr.id = ExprId::new(*next);
    *next += 1;
    expr.operands_mut().into_iter().for_each(|inner| number(inner, next));
}

/// A table from source ranges to the expressions of a body.
#[derive(Clone, Debug)]
pub struct SourceMap {
    /// By number: an expression comes before those inside it.
    ranges: Vec<Span>,
}

impl SourceMap {
    /// The innermost expression that contains a byte of a file: the shortest, and of several equally long ones the outermost,
    /// since the checker adds conversions around what the user wrote, and expressions inside it.
    pub fn innermost(&self, file: FileId, offset: u32) -> Option<ExprId> {
        let here = self
            .ranges
            .iter()
            .enumerate()
            .filter(|(_, span)| span.file == file && span.start <= offset && offset < span.end);
        here.min_by_key(|(_, span)| span.end - span.start).map(|(number, _)| ExprId::new(number))
    }

    /// Where an expression stands.
    pub fn span(&self, id: ExprId) -> Span {
        self.ranges[id.index()]
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// Where it is declared.
    pub span: Span,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// An expression, for its effect.
    Expr(Expr),
    /// A variable comes into being; without a value it is undefined.
    Let(LocalId, Option<Expr>),
    /// A scope.
    Block(Block),
    /// `if`.
    If(Expr, Block, Block),
    /// A loop.
    Loop(Box<Loop>),
    /// `switch`: selector and cases. A case whose body does not end in a jump falls into the next.
    Switch(Label, Expr, Vec<Case>),
    /// Leaves a loop or switch.
    Break(Label),
    /// Goes on with the next iteration of a loop.
    Continue(Label),
    /// Leaves the function.
    Return(Option<Expr>),
    /// `discard`: the pixel is not written.
    Discard,
}

/// A loop. What a `for` declares stands before it, in a scope of its own.
#[derive(Clone, Debug)]
pub struct Loop {
    /// What `break` and `continue` name.
    pub label: Label,
    /// Where the condition is tested.
    pub kind: LoopKind,
    /// Absent means true.
    pub cond: Option<Expr>,
    /// Runs after the body and on `continue`.
    pub step: Option<Expr>,
    /// The body.
    pub body: Block,
    /// What stands before it.
    pub attrs: LoopAttrs,
}

/// Where a loop tests its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// Before each iteration: `for` and `while`.
    Pre,
    /// After each iteration: `do`.
    Post,
}

/// Attributes of a loop.
#[derive(Clone, Copy, Default, Debug)]
pub struct LoopAttrs {
    /// `[MaxIters(n)]`.
    pub max_iters: Option<Val>,
    /// `[ForceUnroll]`, `[loop]`.
    pub unroll: Unroll,
    /// `[Checkpoint(..)]`.
    pub segments: Option<Segments>,
}

/// How the backward pass cuts a loop into segments, which it runs again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segments {
    /// `[Checkpoint(n)]`: into segments of so many iterations.
    Of(Val),
    /// `[Checkpoint(sqrt)]`.
    Sqrt,
    /// `[Checkpoint(log)]`.
    Log,
}

/// A case of a switch.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its values.
    pub values: Vec<i64>,
    /// Whether `default` is among its labels.
    pub default: bool,
    /// What it does.
    pub body: Block,
    /// Where it stands.
    pub span: Span,
}
