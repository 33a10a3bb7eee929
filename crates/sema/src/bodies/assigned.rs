//! Warns about variables that are read before they are assigned, `out` parameters that are not assigned, unreachable
//! statements, and a variable passed to two parameters that write it.
//!
//! A variable declared without a value, or an `out` parameter, is *open*. At each point, the analysis knows which open
//! variables may be unassigned and which may be assigned. A branch works on copies, which are joined after it. Assigning any
//! part of a variable, or passing it as `out` or `inout`, assigns it, so that a structure filled field by field is not
//! reported. A loop is assumed to run at least once, and to have run before where it reads what it assigns. The analysis
//! reports only likely mistakes, and each variable once.

use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{
    BinaryOp, Block, Body, Case, Const, Dir, Expr, ExprKind, FuncId, Label, LocalId, Loop, LoopKind, Program,
    Stmt, StmtKind, Ty, TyKind, each_expr,
};
use cotangent_base::{Diagnostic, Map, Set, Span};

/// What is known of the open variables at a point of the program.
#[derive(Clone, Default)]
struct State {
    /// Those that may be unassigned.
    unset: Set<LocalId>,
    /// Those that may be assigned.
    set: Set<LocalId>,
}

/// A state, or nothing where control never comes.
type Reached = Option<State>;

fn join(a: Reached, b: Reached) -> Reached {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.unset.extend(b.unset);
            a.set.extend(b.set);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

struct Walk<'a> {
    facts: Facts<'a>,
    body: &'a Body,
    /// The `out` parameters.
    outs: Vec<LocalId>,
    now: Reached,
    /// What is known where a loop or switch is left, and where a loop goes on.
    left: Map<Label, Reached>,
    next: Map<Label, Reached>,
    /// Variables that an earlier iteration of a loop around may have assigned: an order of iterations is not followed.
    carried: Map<LocalId, u32>,
    /// Variables that are written somewhere.
    written: Set<LocalId>,
    told: Set<LocalId>,
    found: Vec<Diagnostic>,
}

impl Rules<'_> {
    /// Warns of what is read, left or skipped without being meant.
    pub(crate) fn check_assigned(&mut self, func: FuncId, body: &Body) {
        if self.facts().is_library(func) || self.diagnostics.has_errors() {
            return;
        }
        let function = &self.program.funcs[func];
        let skip = usize::from(body.params.len() > function.params.len());
        let outs = body.params.iter().skip(skip).zip(&function.params);
        let outs: Vec<LocalId> = outs.filter(|(_, p)| p.dir == Dir::Out).map(|(local, _)| *local).collect();
        let mut walk = Walk {
            facts: self.facts(),
            body,
            now: Some(State::default()),
            left: Map::default(),
            next: Map::default(),
            carried: Map::default(),
            written: written(&body.block),
            told: Set::default(),
            found: vec![],
            outs,
        };
        for out in walk.outs.clone() {
            walk.open(out);
        }
        walk.block(&body.block);
        walk.returned(None);
        let found = walk.found;
        found.into_iter().for_each(|diagnostic| self.diagnostics.push(diagnostic));
    }
}

impl Program {
    /// Whether values of a type hold anything that could be unassigned: not empty structures, resources, or what is not known.
    fn holds_data(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Scalar(_) | TyKind::Vector(..) | TyKind::Matrix(..) | TyKind::Enum(_) => true,
            TyKind::Interface(..) => true,
            TyKind::Array(element, _) => self.holds_data(element),
            TyKind::Struct(id, _) => {
                let info = &self.structs[id];
                info.magic.is_none() && info.fields.iter().any(|field| self.holds_data(field.ty))
            }
            _ => false,
        }
    }
}

impl Walk<'_> {
    fn open(&mut self, local: LocalId) {
        if let Some(state) = &mut self.now
            && self.facts.program.holds_data(self.body.locals[local].ty)
        {
            state.unset.insert(local);
            state.set.remove(&local);
        }
    }

    fn assign(&mut self, local: LocalId) {
        if let Some(state) = &mut self.now {
            state.unset.remove(&local);
            state.set.insert(local);
        }
    }

    fn read(&mut self, local: LocalId, span: Span) {
        let Some(state) = &self.now else { return };
        if !state.unset.contains(&local) || self.carried.get(&local).is_some_and(|loops| *loops > 0) {
            return;
        }
        // Which elements of an array are assigned is not followed.
        let ty = self.facts.program.types.kind(self.body.locals[local].ty);
        if matches!(ty, TyKind::Array(..)) && self.written.contains(&local) || !self.told.insert(local) {
            return;
        }
        let variable = &self.body.locals[local];
        let (code, message) = if state.set.contains(&local) {
            (codes::MAYBE_UNASSIGNED, format!("`{}` may be read before it is assigned", variable.name))
        } else if matches!(self.facts.program.types.kind(variable.ty), TyKind::Interface(..)) {
            (codes::NOTHING_HELD, format!("`{}` holds nothing yet", variable.name))
        } else {
            (codes::UNASSIGNED, format!("`{}` is read before it is assigned", variable.name))
        };
        self.found.push(
            Diagnostic::new(code, span, message)
                .label(variable.span, "declared here without a value")
                .help("give it a value where it is declared"),
        );
    }

    /// The function is left: `out` parameters must have been assigned.
    fn returned(&mut self, span: Option<Span>) {
        let Some(state) = self.now.take() else { return };
        for out in self.outs.clone() {
            if state.unset.contains(&out) && self.told.insert(out) {
                let variable = &self.body.locals[out];
                let sometimes = if state.set.contains(&out) { "may not be" } else { "is not" };
                let message = format!("`{}` {sometimes} assigned when the function returns", variable.name);
                let mut diagnostic = Diagnostic::new(codes::OUT_UNASSIGNED, variable.span, message);
                if let Some(span) = span {
                    diagnostic = diagnostic.label(span, "it returns here");
                }
                self.found.push(diagnostic.help("assign it on every path, or make it `inout`"));
            }
        }
    }

    fn block(&mut self, block: &Block) {
        let mut before: Option<&Stmt> = None;
        let mut told = false;
        for stmt in block {
            let ends = before.is_some_and(|b| b.span.file == stmt.span.file && b.span.end <= stmt.span.start);
            if self.now.is_none() && ends && !told && !matches!(stmt.kind, StmtKind::Break(_)) {
                let message = "this statement is never reached";
                self.found.push(Diagnostic::new(codes::UNREACHABLE, stmt.span, message));
                told = true;
            }
            // What cannot be reached is not looked at further: everything in it would be wrong.
            if self.now.is_some() {
                self.stmt(stmt);
            }
            before = Some(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Let(local, Some(value)) => {
                self.expr(value);
                self.assign(*local);
            }
            StmtKind::Let(local, None) => self.open(*local),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If(cond, then, other) => {
                self.expr(cond);
                let before = self.now.clone();
                self.block(then);
                let after = std::mem::replace(&mut self.now, before);
                self.block(other);
                self.now = join(after, self.now.take());
            }
            StmtKind::Loop(inner) => self.looped(inner),
            StmtKind::Switch(label, selector, cases) => self.switch(*label, selector, cases),
            StmtKind::Break(label) => {
                let here = self.now.take();
                let there = self.left.remove(label).flatten();
                self.left.insert(*label, join(here, there));
            }
            StmtKind::Continue(label) => {
                let here = self.now.take();
                let there = self.next.remove(label).flatten();
                self.next.insert(*label, join(here, there));
            }
            // What code of a target writes is for it to say.
            StmtKind::Return(Some(Expr { kind: ExprKind::TargetCode(..), .. })) => {
                self.now.iter_mut().for_each(|now| now.unset.clear());
                self.returned(Some(stmt.span));
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value));
                self.returned(Some(stmt.span));
            }
            // What the pixel would have been is looked at by nobody.
            StmtKind::Discard => self.now.iter_mut().for_each(|now| now.unset.clear()),
        }
    }

    fn looped(&mut self, inner: &Loop) {
        let carried = written(&inner.body);
        carried.iter().for_each(|local| *self.carried.entry(*local).or_default() += 1);
        self.rounds(inner);
        carried.iter().for_each(|local| *self.carried.entry(*local).or_default() -= 1);
    }

    fn rounds(&mut self, inner: &Loop) {
        if inner.kind == LoopKind::Pre {
            inner.cond.iter().for_each(|cond| self.expr(cond));
        }
        let before = self.now.clone().filter(|_| inner.kind == LoopKind::Pre);
        self.block(&inner.body);
        let next = self.next.remove(&inner.label).flatten();
        self.now = join(self.now.take(), next);
        inner.step.iter().for_each(|step| self.expr(step));
        if inner.kind == LoopKind::Post {
            inner.cond.iter().for_each(|cond| self.expr(cond));
        }
        let endless = |cond: &Expr| matches!(cond.kind, ExprKind::Const(Const::Bool(true)));
        if inner.cond.as_ref().is_none_or(endless) {
            self.now = None;
        } else if self.now.is_none() {
            // The body never reaches its end, so the code after the loop runs only if the body did not.
            self.now = before;
        }
        let left = self.left.remove(&inner.label).flatten();
        self.now = join(self.now.take(), left);
    }

    fn switch(&mut self, label: Label, selector: &Expr, cases: &[Case]) {
        self.expr(selector);
        let entry = self.now.take();
        for case in cases {
            self.now = join(self.now.take(), entry.clone());
            self.block(&case.body);
        }
        if !self.covers(selector.ty, cases) {
            self.now = join(self.now.take(), entry);
        } else if self.now.is_none() && !cases.iter().any(|case| case.default) {
            // A value may be none of the enumerators, so the code after the cases is reached. That variables are not assigned
            // there is not reported.
            self.now = entry;
            self.now.iter_mut().for_each(|now| now.unset.clear());
        }
        let left = self.left.remove(&label).flatten();
        self.now = join(self.now.take(), left);
    }

    /// Whether some case is taken for every value.
    fn covers(&self, ty: Ty, cases: &[Case]) -> bool {
        let all = match self.facts.program.types.kind(ty) {
            TyKind::Enum(id) => {
                let mut values = self.facts.program.enums[id].cases.iter().map(|(_, value)| value);
                values.all(|value| cases.iter().any(|case| case.values.contains(value)))
            }
            _ => false,
        };
        all || cases.iter().any(|case| case.default)
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Local(local) => self.read(*local, expr.span),
            ExprKind::Cond(cond, a, b) => {
                self.expr(cond);
                let before = self.now.clone();
                self.expr(a);
                let after = std::mem::replace(&mut self.now, before);
                self.expr(b);
                self.now = join(after, self.now.take());
            }
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                // Whoever asks for what the right side assigns asks for its truth as well.
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Assign(place, value) => {
                self.place(place);
                self.expr(value);
                self.write(place);
            }
            ExprKind::Modify { place, right, new, .. } => {
                self.expr(place);
                right.iter().for_each(|(_, right)| self.expr(right));
                self.expr(new);
                self.write(place);
            }
            ExprKind::Call(call) => {
                for (dir, arg) in &call.args {
                    match dir {
                        // The methods of arrays tell how many elements there are, not which.
                        Dir::In if self.is_array(arg) && self.is_library(call.callee.func) => self.place(arg),
                        Dir::In => self.expr(arg),
                        Dir::Out | Dir::InOut => arg.elements().iter().for_each(|arg| self.place(arg)),
                    }
                }
                call.through.iter().for_each(|value| self.expr(value));
                let written = call.args.iter().filter(|(dir, _)| *dir != Dir::In);
                written.flat_map(|(_, arg)| arg.elements()).for_each(|arg| self.write(arg));
                self.aliases(&call.args);
            }
            _ => expr.operands().into_iter().for_each(|inner| self.expr(inner)),
        }
    }

    /// What is evaluated to find a place: indices, and objects whose elements are elsewhere.
    fn place(&mut self, place: &Expr) {
        match &place.kind {
            ExprKind::Local(_) | ExprKind::Global(..) => {}
            ExprKind::Field(base, _)
            | ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Convert(base) => self.place(base),
            ExprKind::Element(base, index) => {
                self.place(base);
                self.expr(index);
            }
            ExprKind::Property { this, args, mutating, .. } => {
                args.iter().for_each(|arg| self.expr(arg));
                match this {
                    Some(this) if *mutating => self.place(this),
                    Some(this) => self.expr(this),
                    None => {}
                }
            }
            _ => self.expr(place),
        }
    }

    /// The variable that a place is part of is assigned.
    fn write(&mut self, place: &Expr) {
        if let Some(local) = root(place) {
            self.assign(local);
        }
    }

    fn is_array(&self, expr: &Expr) -> bool {
        matches!(self.facts.program.types.kind(expr.ty), TyKind::Array(..))
    }

    fn is_library(&self, func: FuncId) -> bool {
        self.facts.is_library(func)
    }

    /// One place given to two parameters that write.
    fn aliases(&mut self, args: &[(Dir, Expr)]) {
        let written: Vec<&Expr> =
            args.iter().filter(|(dir, _)| *dir != Dir::In).flat_map(|(_, arg)| arg.elements()).collect();
        for (number, second) in written.iter().enumerate() {
            if let Some(first) = written[..number].iter().find(|first| same_place(first, second)) {
                let message = "this variable is passed to two `out` or `inout` parameters";
                self.found.push(
                    Diagnostic::new(codes::ALIASED, second.span, message)
                        .label(first.span, "and here")
                        .note("the parameters are copied back in order, so the last one wins")
                        .help("use a separate variable for each"),
                );
            }
        }
    }
}

/// The variables that a block writes to.
fn written(block: &Block) -> Set<LocalId> {
    let mut all = Set::default();
    each_expr(block, &mut |expr| match &expr.kind {
        ExprKind::Assign(place, _) | ExprKind::Modify { place, .. } => all.extend(root(place)),
        ExprKind::Call(call) => {
            let written = call.args.iter().filter(|(dir, _)| *dir != Dir::In);
            all.extend(written.flat_map(|(_, arg)| arg.elements()).filter_map(root));
        }
        _ => {}
    });
    all
}

/// The variable that a place is part of.
fn root(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(local) => Some(*local),
        ExprKind::Field(base, _)
        | ExprKind::Element(base, _)
        | ExprKind::Swizzle(base, _)
        | ExprKind::MatrixSwizzle(base, _)
        | ExprKind::Convert(base) => root(base),
        ExprKind::Property { this: Some(this), .. } => root(this),
        _ => None,
    }
}

/// Whether two places are certainly one.
fn same_place(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        (ExprKind::Global(a, x), ExprKind::Global(b, y)) => a == b && x == y,
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Field(a, m), ExprKind::Field(b, n)) => m == n && same_place(a, b),
        (ExprKind::Element(a, i), ExprKind::Element(b, j)) => same_place(a, b) && same_place(i, j),
        (ExprKind::Swizzle(a, m), ExprKind::Swizzle(b, n)) => {
            m.iter().any(|lane| n.contains(lane)) && same_place(a, b)
        }
        (ExprKind::Convert(a), ExprKind::Convert(b)) => same_place(a, b),
        _ => false,
    }
}
