//! The trail of a derivative: its path from a parameter to the loss, and from the loss to an output.
//!
//! [`super::carry`] and [`super::want`] need only sets of variables. After a loss, the body is analysed again with trails,
//! for the report. For each variable, a trail records the source location where it got its derivative (or, backwards, where
//! its derivative is needed), and the previous variable on the path. The labels of a report are the steps from the loss to a
//! parameter, and from the loss to an output:
//!
//! ```slang
//! [Differentiable] float f(float x)   // `x` has a derivative
//! {
//!     float a = x * x;                // which goes into `a`
//!     float b = noise(a);             // and is lost here; what comes out goes into `b`
//!     return b;                       // and from there into the result
//! }
//! ```

use super::{Flow, Locals};
use crate::hir::{Expr, ExprKind, LocalId, TyKind};
use cotangent_base::{Diagnostic, Map, Span};

/// The most steps that are reported on either side of the loss.
const MOST: usize = 4;

/// One step: a variable, as it is written there, and what comes next on the way.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Where it stands.
    pub at: Span,
    /// What is reached, in words. Variables of our own have no words.
    pub words: String,
    /// The variable that is next on the way; none at its end.
    pub next: Option<LocalId>,
}

/// The steps of one direction, by the variables they reach.
#[derive(Default, Debug)]
pub(super) struct Trail {
    steps: Map<LocalId, Step>,
}

impl Trail {
    /// Notes how a variable was reached last. A step that leads back to the variable tells nothing.
    pub(super) fn note(&mut self, local: LocalId, mut step: Step) {
        while let Some(next) = step.next
            && let Some(through) = self.steps.get(&next).filter(|s| s.words.is_empty())
        {
            step.next = through.next;
        }
        if step.next != Some(local) {
            self.steps.insert(local, step);
        }
    }

    /// The steps from a variable on, to the end of the way.
    pub(super) fn follow(&self, from: Option<LocalId>) -> Vec<Step> {
        let (mut steps, mut seen, mut next) = (vec![], Locals::new(), from);
        while let Some(local) = next.filter(|local| seen.insert(*local))
            && let Some(step) = self.steps.get(&local)
        {
            steps.push(step.clone());
            next = step.next;
        }
        steps.retain(|step| !step.words.is_empty());
        steps
    }
}

/// Adds the steps by which a derivative came, the nearest first, and those by which it was to go on.
pub(super) fn tell(mut diagnostic: Diagnostic, came: &[Step], goes: &[Step]) -> Diagnostic {
    let lost = diagnostic.primary.span;
    let apart = |step: &&Step| !step.at.is_none() && (step.at.end <= lost.start || lost.end <= step.at.start);
    let skip = came.len().saturating_sub(1);
    let nearest = came.iter().take(MOST.min(skip)).chain(came.last()).rev();
    for step in nearest.filter(apart) {
        let text = match step.next {
            None => format!("{} has a derivative", step.words),
            Some(_) => format!("it flows into {}", step.words),
        };
        diagnostic = diagnostic.label(step.at, text);
    }
    let first = goes.iter().take(MOST.min(goes.len().saturating_sub(1)));
    for (number, step) in first.chain(goes.last()).enumerate().filter(|(_, step)| apart(step)) {
        let words = &step.words;
        let text = match (number, step.next) {
            (_, None) if step.words.starts_with('`') => "which is an output".into(),
            (0, _) if !words.starts_with('`') => format!("it flows into {words}"),
            (0, _) => format!("the result flows into {words}"),
            (_, _) => format!("and on into {words}"),
        };
        diagnostic = diagnostic.label(step.at, text);
    }
    diagnostic
}

impl Flow<'_> {
    /// A variable that carries a derivative into the value of an expression.
    pub(super) fn source(&self, value: &Expr, carrying: &Locals) -> Option<LocalId> {
        match &value.kind {
            ExprKind::Local(local) => {
                (carrying.contains(*local) && !self.is_integer(value.ty)).then_some(*local)
            }
            ExprKind::NoDiff(_) | ExprKind::Is(..) => None,
            ExprKind::Call(call) if self.is_detach(call.callee.func) => None,
            ExprKind::Cond(_, a, b) | ExprKind::Select(_, a, b) => {
                self.source(a, carrying).or_else(|| self.source(b, carrying))
            }
            // What a chain of them holds is found at its end, so that no link goes down to its beginning.
            ExprKind::Modify { old, post: true, .. } => carrying.contains(*old).then_some(*old),
            ExprKind::Modify { new, post: false, .. } => self.source(new, carrying),
            _ => value.operands().into_iter().find_map(|operand| self.source(operand, carrying)),
        }
    }

    /// An assignable expression, roughly as it is written; nothing for a variable that is not the user's.
    pub(super) fn shown_place(&self, place: &Expr) -> String {
        match self.path_of(place) {
            Some(path) => format!("`{path}`"),
            None => String::new(),
        }
    }

    fn path_of(&self, place: &Expr) -> Option<String> {
        match &place.kind {
            ExprKind::Local(local) => self.name_of(*local),
            ExprKind::Field(base, number) => {
                let base_path = self.path_of(base)?;
                let TyKind::Struct(id, _) = self.checked.program.types.kind(base.ty) else {
                    return Some(base_path);
                };
                let field = self.checked.program.structs[id].fields.get(*number as usize)?;
                Some(format!("{base_path}.{}", field.name))
            }
            ExprKind::Element(base, _) => Some(format!("{}[..]", self.path_of(base)?)),
            ExprKind::Property { this: Some(base), .. }
            | ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Convert(base) => self.path_of(base),
            _ => None,
        }
    }

    /// A step to a variable where it is declared, if paths are reported.
    pub(super) fn declared(&self, local: LocalId) -> Option<Step> {
        self.trails.as_ref()?;
        let words = self.name_of(local).map_or_else(String::new, |name| format!("`{name}`"));
        Some(Step { at: self.body.locals[local].span, words, next: Some(local) })
    }

    /// The name of a variable, if the user gave it one.
    fn name_of(&self, local: LocalId) -> Option<String> {
        let name = self.body.locals[local].name.as_str();
        let written = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        written.then(|| name.to_string())
    }
}
