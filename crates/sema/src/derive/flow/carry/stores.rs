//! Tracks derivatives through assignments, constructions and writes of calls. A target without derivatives loses them.
//! Otherwise the store is recorded on the trail, if there is one.

use super::Carry;
use super::integers::spot_of;
use crate::derive::flow::trail::Step;
use crate::derive::flow::{Loss, Target};
use crate::hir::{Expr, LocalId, TyKind};
use cotangent_base::Span;

impl Carry<'_, '_> {
    /// Notes that a variable gets its derivative from a value, before it has it.
    pub(super) fn note(&mut self, local: LocalId, at: Span, words: String, value: &Expr) {
        if self.flow.trails.is_some() {
            let step = Step { at, words, next: self.flow.source(value, &self.state.carries) };
            self.step(local, step);
        }
    }

    fn step(&mut self, local: LocalId, step: Step) {
        if let Some(trails) = &mut self.flow.trails
            && step.next.is_some()
        {
            trails.came.note(local, step);
        }
    }

    /// The way by which the derivative in a value came.
    pub(super) fn came(&self, value: &Expr) -> Vec<Step> {
        let source = || self.flow.source(value, &self.state.carries);
        self.flow.trails.as_ref().map_or_else(Vec::new, |trails| trails.came.follow(source()))
    }

    /// A value loses its derivative.
    pub(super) fn lose(&mut self, loss: Loss, value: &Expr) {
        let came = self.came(value);
        self.flow.report_store(loss, value.span, &came);
    }

    /// A structure that is not differentiable loses what its fields carry.
    pub(super) fn construct(&mut self, expr: &Expr, parts: &[Expr]) -> bool {
        let mut carries = false;
        let is_struct = matches!(self.flow.checked.program.types.kind(expr.ty), TyKind::Struct(..));
        let lossy = is_struct && !self.flow.has_derivative(expr.ty);
        for (number, part) in parts.iter().enumerate() {
            let part_carries = self.expr(part);
            carries |= part_carries;
            let number = number as u32;
            if part_carries && self.flow.field_is_no_diff(expr.ty, number) {
                self.lose(Loss::NoDiffField(expr.ty, number), part);
            } else if part_carries && lossy {
                self.lose(Loss::PlainStruct(expr.ty, number), part);
            }
        }
        carries
    }

    pub(super) fn assign(&mut self, place: &Expr, value: &Expr, carries: bool) {
        if let Some((spot, whole)) = spot_of(place) {
            self.changed(spot.0);
            self.hold(spot, value, whole);
        }
        let target = self.flow.target(place);
        let tell = carries && self.flow.trails.is_some();
        if let (Target::Whole(local) | Target::Part(local), true) = (&target, tell) {
            let words = self.flow.shown_place(place);
            self.note(*local, place.span, words, value);
        }
        self.write(target, carries, value);
    }

    fn write(&mut self, target: Target, carries: bool, value: &Expr) {
        match target {
            Target::Whole(local) => self.set(local, carries),
            Target::Part(local) if carries => {
                self.state.carries.insert(local);
            }
            Target::Part(_) | Target::Setter => {}
            Target::Lossy(loss) if carries => self.lose(loss, value),
            Target::Lossy(_) => {}
        }
    }

    /// Whatever a call writes to an argument depends on what went in.
    pub(super) fn written_by_call(&mut self, arg: &Expr, carries: bool, source: Option<LocalId>) {
        let target = self.flow.target(arg);
        if let Some((spot, _)) = spot_of(arg) {
            self.changed(spot.0);
        }
        let tell = carries && self.flow.trails.is_some();
        if let (Target::Whole(local) | Target::Part(local), true) = (&target, tell) {
            let step = Step { at: arg.span, words: self.flow.shown_place(arg), next: source };
            self.step(*local, step);
        }
        self.write(target, carries, arg);
    }
}
