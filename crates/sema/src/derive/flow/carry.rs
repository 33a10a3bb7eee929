//! The forward pass of the check: finds the values that carry a derivative.
//!
//! The [`State`] is the set of variables whose value carries one. At a jump, the state moves to the jump's target and becomes
//! empty. Losses in assignments and constructions are reported here, since they are errors even if the value is never used.
//! Calls whose arguments carry a derivative are recorded for the backward pass. The state also has the integers that are
//! computed from a value with a derivative: [`integers`].

pub(super) mod integers;
mod stores;

use self::integers::{Ending, Seen, Spot};
use super::trail::Step;
use super::{Flow, Given, Locals, Loss, Target, join};
use crate::hir::{
    BinaryOp, Call, Dir, Expr, ExprId, ExprKind, Label, LocalId, Loop, LoopKind, Stmt, StmtKind, TyKind,
};
use cotangent_base::Map;
use std::collections::BTreeSet;

/// What is known at a point of the body.
#[derive(Clone, Default)]
struct State {
    /// The variables that carry a derivative.
    carries: Locals,
    /// The integers that a derivative ended in.
    cut: BTreeSet<Spot>,
}

impl State {
    /// Adds all of `more`; says whether something was new.
    fn join(&mut self, more: &State) -> bool {
        let known = self.cut.len();
        self.cut.extend(more.cut.iter().cloned());
        join(&mut self.carries, &more.carries) | (self.cut.len() > known)
    }
}

struct Carry<'f, 'a> {
    flow: &'f mut Flow<'a>,
    state: State,
    /// Where derivatives end in integers: conversions, and integers that are in the state.
    endings: Map<ExprId, Ending>,
    held: Map<Spot, Ending>,
    /// How often each variable was assigned so far, so that two looks at it are known to see the same.
    versions: Map<LocalId, u32>,
    /// What variables of compound assignments stand for: a look at another one, and an expression.
    aliases: Map<LocalId, Seen>,
    stands: Map<LocalId, ExprId>,
    breaks: Map<Label, State>,
    continues: Map<Label, State>,
    /// The outputs that carry a derivative at some exit so far.
    given: Given,
}

impl Flow<'_> {
    /// Follows derivatives from the parameters through the body.
    pub(super) fn carry(&mut self) {
        let carriers = self.carriers().into_iter().filter(|(_, dir)| *dir != Dir::Out);
        let carries: Locals = carriers.map(|(local, _)| local).collect();
        let body = self.body;
        for local in carries.iter() {
            let step = Step {
                at: body.locals[local].span,
                words: format!("`{}`", body.locals[local].name),
                next: None,
            };
            if let Some(trails) = &mut self.trails {
                trails.came.note(local, step);
            }
        }
        Carry::new(self, carries).block(&body.block);
    }

    /// The outputs that carry a derivative although no parameter does.
    pub(super) fn carry_from_nothing(&mut self) -> Given {
        let body = self.body;
        let mut carry = Carry::new(self, Locals::new());
        carry.block(&body.block);
        carry.leave(false);
        carry.given
    }
}

impl<'f, 'a> Carry<'f, 'a> {
    fn new(flow: &'f mut Flow<'a>, carries: Locals) -> Self {
        let state = State { carries, cut: BTreeSet::new() };
        let (endings, held, versions, aliases, stands, breaks, continues) = Default::default();
        let given = Given::default();
        Carry { flow, state, endings, held, versions, aliases, stands, breaks, continues, given }
    }
}

impl Carry<'_, '_> {
    /// Notes what the outputs carry where the function ends.
    fn leave(&mut self, result: bool) {
        let params = &self.flow.body.params;
        self.given.result |= result;
        self.given.written |= params.iter().any(|param| self.state.carries.contains(*param));
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.expr(expr);
            }
            StmtKind::Let(local, value) => {
                let carries = value.as_ref().is_some_and(|v| self.expr(v));
                if let (Some(value), true) = (value, carries && self.flow.addressed.contains(*local)) {
                    self.lose(Loss::Memory, value);
                }
                if let Some(value) = value.as_ref().filter(|_| carries)
                    && let Some(Step { at, words, .. }) = self.flow.declared(*local)
                {
                    self.note(*local, at, words, value);
                }
                self.set(*local, carries);
                value.iter().for_each(|value| self.hold((*local, vec![]), value, true));
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If(cond, then, other) => {
                self.expr(cond);
                let before = self.state.clone();
                self.block(then);
                let after = std::mem::replace(&mut self.state, before);
                self.block(other);
                self.state.join(&after);
            }
            StmtKind::Loop(looping) => self.looping(looping),
            StmtKind::Switch(label, selector, cases) => {
                self.expr(selector);
                let before = std::mem::take(&mut self.state);
                for case in cases {
                    self.state.join(&before);
                    self.block(&case.body);
                }
                if !cases.iter().any(|c| c.default) {
                    self.state.join(&before);
                }
                self.land(*label);
            }
            StmtKind::Break(label) => jump(&mut self.state, &mut self.breaks, *label),
            StmtKind::Continue(label) => jump(&mut self.state, &mut self.continues, *label),
            StmtKind::Return(value) => {
                let result = value.as_ref().is_some_and(|value| self.expr(value));
                self.leave(result);
                self.state = State::default();
            }
            StmtKind::Discard => {}
        }
    }

    /// Goes round until the state at the top stays the same.
    fn looping(&mut self, looping: &Loop) {
        let mut top = self.state.clone();
        loop {
            self.state = top.clone();
            let mut leave = State::default();
            if looping.kind == LoopKind::Pre {
                self.loop_cond(looping, &mut leave);
            }
            self.block(&looping.body);
            if let Some(jumped) = self.continues.remove(&looping.label) {
                self.state.join(&jumped);
            }
            if looping.kind == LoopKind::Post {
                self.loop_cond(looping, &mut leave);
            }
            if let Some(step) = &looping.step {
                self.expr(step);
            }
            if !top.join(&self.state) {
                self.state = leave;
                self.land(looping.label);
                return;
            }
        }
    }

    fn loop_cond(&mut self, looping: &Loop, leave: &mut State) {
        if let Some(cond) = &looping.cond {
            self.expr(cond);
            leave.join(&self.state);
        }
    }

    /// Joins those who jumped to the end of a loop or switch.
    fn land(&mut self, label: Label) {
        if let Some(jumped) = self.breaks.remove(&label) {
            self.state.join(&jumped);
        }
    }

    fn set(&mut self, local: LocalId, carries: bool) {
        let keeps = carries && !self.flow.addressed.contains(local);
        if keeps && self.flow.has_derivative(self.flow.body.locals[local].ty) {
            self.state.carries.insert(local);
        } else {
            self.state.carries.remove(local);
        }
    }

    /// Whether the value of an expression carries a derivative; follows its effects.
    fn expr(&mut self, expr: &Expr) -> bool {
        if !self.value(expr) {
            return false;
        }
        let keeps = self.flow.has_derivative(expr.ty);
        match (self.flow.checked.program.types.kind(expr.ty), &expr.kind) {
            _ if keeps => {}
            (TyKind::Tuple(_), _) => self.lose(Loss::PlainTuple(expr.ty), expr),
            // An object under the type of an interface or base; numbers that become integers are no loss.
            (TyKind::Interface(..) | TyKind::Struct(..), ExprKind::Convert(object)) => {
                self.lose(Loss::Conversion(expr.ty), object);
            }
            _ => {}
        }
        keeps
    }

    fn value(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_)
            | ExprKind::Val(_)
            | ExprKind::Platform(_)
            | ExprKind::Measure(..)
            | ExprKind::Assert(..)
            | ExprKind::String(_)
            | ExprKind::Zero
            | ExprKind::Undef
            | ExprKind::Global(..)
            | ExprKind::Error => false,
            ExprKind::Local(local) => self.state.carries.contains(*local),
            ExprKind::Field(base, number) => self.expr(base) && !self.flow.field_is_no_diff(base.ty, *number),
            ExprKind::Element(base, index) => {
                self.expr(index);
                self.expr(base)
            }
            ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Unary(_, base)
            | ExprKind::Splat(base)
            | ExprKind::As(base, _)
            | ExprKind::Each(base)
            | ExprKind::Part(_, base)
            | ExprKind::Truncate(base) => self.expr(base),
            ExprKind::Convert(base) => {
                let carries = self.expr(base);
                self.converted(expr, base, carries);
                carries
            }
            ExprKind::Expand(inner) => self.expand(inner),
            ExprKind::Is(base, _) => {
                self.expr(base);
                false
            }
            ExprKind::Property { this, args, get, .. } => {
                let mut carries = false;
                for operand in this.iter().map(|t| &**t).chain(args) {
                    carries |= self.expr(operand);
                }
                let passes = get.is_none_or(|get| self.flow.func_passes(get.func));
                if carries && !passes {
                    let came = self.came(expr);
                    self.flow.fed.insert(expr.id, came);
                } else if let (true, Some(get)) = (carries, get) {
                    self.flow.note_inlined(get.func);
                }
                carries && passes || get.is_some_and(|get| self.flow.checked.given_by(get.func).result)
            }
            ExprKind::Binary(op, a, b) => {
                let carries = self.expr(a) | self.expr(b);
                if *op == BinaryOp::Sub {
                    self.subtracted(a, b);
                }
                carries
            }
            ExprKind::Cond(c, a, b) | ExprKind::Select(c, a, b) => {
                self.expr(c);
                self.expr(a) | self.expr(b)
            }
            ExprKind::Sequence(a, b) => {
                self.expr(a);
                self.expr(b)
            }
            ExprKind::Concat(parts) | ExprKind::Pack(parts) => self.any(parts),
            ExprKind::Construct(parts) => self.construct(expr, parts),
            ExprKind::Assign(place, value) => {
                let carries = self.expr(value);
                self.indices(place);
                self.assign(place, value, carries);
                carries
            }
            ExprKind::Modify { place, right, old, new, post } => {
                if let Some((local, right)) = right {
                    let carried = self.expr(right);
                    if carried {
                        self.note(*local, right.span, String::new(), right);
                    }
                    self.set(*local, carried);
                    self.hold((*local, vec![]), right, true);
                    self.stands.insert(*local, right.id);
                }
                let before = self.expr(place);
                if before {
                    self.note(*old, place.span, String::new(), place);
                }
                self.set(*old, before);
                self.hold((*old, vec![]), place, true);
                self.alias(*old, place);
                let after = self.expr(new);
                self.assign(place, new, after);
                if *post { before } else { after }
            }
            ExprKind::Call(call) => {
                let carries = self.call(expr.id, call)
                    || self.flow.has_derivative(expr.ty) && self.flow.given(call).result;
                let fed = carries || self.flow.fed.contains_key(&expr.id);
                self.converted_by_call(expr, call, fed);
                carries
            }
            ExprKind::Print(_, values) | ExprKind::TargetCode(_, _, values) => {
                self.any(values);
                false
            }
            ExprKind::AddressOf(place) => {
                self.indices(place);
                if place
                    .root_local(&self.flow.checked.program.types)
                    .is_some_and(|local| self.state.carries.contains(local))
                {
                    self.lose(Loss::Memory, place);
                }
                false
            }
            ExprKind::NoDiff(inner) => {
                self.without_report(inner);
                false
            }
        }
    }

    /// Follows what is done any number of times, until another time makes no difference.
    fn expand(&mut self, inner: &Expr) -> bool {
        let mut carries = false;
        loop {
            let mut all = self.state.clone();
            carries |= self.expr(inner);
            let grown = all.join(&self.state);
            self.state = all;
            if !grown {
                return carries;
            }
        }
    }

    fn any(&mut self, parts: &[Expr]) -> bool {
        parts.iter().fold(false, |carries, part| self.expr(part) | carries)
    }

    /// Follows the effects of the indices of a place.
    fn indices(&mut self, place: &Expr) {
        match &place.kind {
            ExprKind::Element(base, index) => {
                self.expr(index);
                self.indices(base);
            }
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) | ExprKind::MatrixSwizzle(base, _) => {
                self.indices(base)
            }
            _ => {}
        }
    }

    fn call(&mut self, id: ExprId, call: &Call) -> bool {
        let (open, hidden) = (self.flow.open_args(call), self.flow.hidden_args(call));
        let (mut fed, mut lost) = (false, false);
        let mut source = None;
        for (number, ((dir, arg), open)) in call.args.iter().zip(&open).enumerate() {
            match dir {
                Dir::In | Dir::InOut => {
                    let carries = self.expr(arg) && *open;
                    fed |= carries;
                    if carries && source.is_none() && self.flow.trails.is_some() {
                        source = self.flow.source(arg, &self.state.carries);
                    }
                    lost |= carries && hidden.get(number) == Some(&true);
                }
                Dir::Out => self.indices(arg),
            }
        }
        let passes = self.flow.passes(call);
        if lost || (fed && !passes) {
            let trails = self.flow.trails.as_ref();
            let came = trails.map_or_else(Vec::new, |trails| trails.came.follow(source));
            self.flow.fed.insert(id, came);
        }
        if fed && call.diff.is_empty() {
            self.flow.note_inlined(call.callee.func);
        }
        let carries = fed && passes && !self.flow.is_detach(call.callee.func);
        let written = carries || self.flow.given(call).written;
        for ((dir, arg), open) in call.args.iter().zip(&open) {
            if *dir != Dir::In && *open {
                for place in arg.elements() {
                    self.written_by_call(place, written, source);
                }
            }
        }
        carries && !(call.diff.is_empty() && self.flow.checked.program.funcs[call.callee.func].no_diff_result)
    }

    /// Follows the effects of a call whose derivative is dropped on purpose.
    fn without_report(&mut self, expr: &Expr) {
        self.expr(expr);
        if let ExprKind::Call(call) = &expr.kind {
            self.flow.fed.remove(&expr.id);
            for (dir, arg) in &call.args {
                for place in arg.elements() {
                    if let (Dir::Out | Dir::InOut, Target::Whole(local)) = (dir, self.flow.target(place)) {
                        self.state.carries.remove(local);
                    }
                }
            }
        }
    }
}

/// Moves the state to the target of a jump.
fn jump(state: &mut State, targets: &mut Map<Label, State>, label: Label) {
    let here = std::mem::take(state);
    targets.entry(label).or_default().join(&here);
}
