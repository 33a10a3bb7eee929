//! Warns about floats that are converted to integers and back: `float(int(x))`.
//!
//! An integer has no derivative, and most integers need none: they are indices and counts. But if an integer becomes a float
//! again whose derivative is needed, the derivative was lost silently. So the state records which integer variables and
//! fields are computed from a value with a derivative, and where the derivative ended. Conversions back to float are recorded
//! for [`super::super::want`].
//!
//! `x - int(x)` has the derivative of `x`, if `x` is not assigned in between. Floats that a function computes from integers
//! (a table, a hash) are not reported, unless it is a library function that only changes the type, such as `asfloat`.

use super::Carry;
use crate::derive::flow::Flow;
use crate::derive::flow::trail::Step;
use crate::hir::{Call, Expr, ExprKind, LocalId, Ty, TyKind};
use cotangent_base::{Scalar, Span};

/// The operations of library functions that give the same bits another type.
const SAME_BITS: [&str; 2] = ["bitcast", "reinterpret"];

/// Where a derivative ended in an integer, and how it came there.
#[derive(Clone, Debug)]
pub(in crate::derive::flow) struct Ending {
    pub at: Span,
    pub came: Vec<Step>,
    /// What was cut, if it was in a variable.
    cut: Option<Seen>,
}

/// A variable, or the fields that lead to a part of it. Elements and lanes are not distinguished.
pub(super) type Spot = (LocalId, Vec<u32>);

/// A look at what a variable held then.
pub(super) type Seen = (Spot, u32);

/// Where a place is, and whether it is all of that.
pub(super) fn spot_of(place: &Expr) -> Option<(Spot, bool)> {
    match &place.kind {
        ExprKind::Local(local) => Some(((*local, vec![]), true)),
        ExprKind::Field(base, number) => {
            let ((local, mut fields), whole) = spot_of(base)?;
            fields.push(*number);
            Some(((local, fields), whole))
        }
        ExprKind::Swizzle(base, _) | ExprKind::MatrixSwizzle(base, _) | ExprKind::Element(base, _) => {
            Some((spot_of(base)?.0, false))
        }
        _ => None,
    }
}

impl Carry<'_, '_> {
    /// Notes a conversion that ends a derivative, or that makes a number of what one ended in.
    pub(super) fn converted(&mut self, expr: &Expr, base: &Expr, carries: bool) {
        if carries && self.flow.is_integer(expr.ty) {
            let ending = Ending { at: expr.span, came: self.came(base), cut: self.seen(base) };
            self.endings.insert(expr.id, ending);
        } else if self.flow.is_integer(base.ty) && self.flow.has_derivative(expr.ty) {
            self.returned(expr, base);
        }
    }

    /// As [`Self::converted`], of a call of the library. `fed` is whether an argument carries a derivative.
    pub(super) fn converted_by_call(&mut self, expr: &Expr, call: &Call, fed: bool) {
        if !self.changes_type_alone(call, expr.ty) {
            return;
        }
        let from = call.args.iter().find(|(_, arg)| fed && self.flow.has_derivative(arg.ty));
        if let Some((_, from)) = from.filter(|_| self.flow.is_integer(expr.ty)) {
            let ending = Ending { at: expr.span, came: self.came(from), cut: None };
            self.endings.insert(expr.id, ending);
        }
        if call.args.iter().all(|(_, arg)| self.flow.is_integer(arg.ty)) && self.flow.has_derivative(expr.ty)
        {
            call.args.iter().for_each(|(_, arg)| self.returned(expr, arg));
        }
    }

    /// Whether a function of the library does no more than to give the same value, or nearly that, another type. What packs numbers gives
    /// unsigned integers: a signed one, as that of `sign`, is something else.
    fn changes_type_alone(&self, call: &Call, result: Ty) -> bool {
        let func = call.callee.func;
        let same = match self.flow.checked.program.funcs[func].intrinsic {
            Some(name) => SAME_BITS.contains(&name.as_str()),
            None => !self.flow.is_signed(result),
        };
        same && self.flow.checked.facts().is_library(func)
    }

    fn returned(&mut self, expr: &Expr, integer: &Expr) {
        if let Some(ending) = self.ending(integer).cloned() {
            self.flow.returned.insert(expr.id, ending);
        }
    }

    /// What is left of a variable after its integer part is taken from it has its derivative.
    pub(super) fn subtracted(&mut self, from: &Expr, taken: &Expr) {
        let at = match taken.kind {
            ExprKind::Local(local) => self.stands.get(&local).copied(),
            _ => None,
        };
        let at = at.unwrap_or(taken.id);
        let cut = self.flow.returned.get(&at).and_then(|ending| ending.cut.as_ref());
        if cut.is_some() && cut == self.seen(from).as_ref() {
            self.flow.returned.remove(&at);
        }
    }

    /// A variable gets what another holds, and nothing else ever.
    pub(super) fn alias(&mut self, local: LocalId, of: &Expr) {
        match self.seen(of) {
            Some(seen) => self.aliases.insert(local, seen),
            None => self.aliases.remove(&local),
        };
    }

    /// What a value in a variable is, in the sense that two looks at the same are the same.
    fn seen(&self, value: &Expr) -> Option<Seen> {
        let (spot, _) = spot_of(value)?;
        if let Some(seen) = self.aliases.get(&spot.0) {
            return Some(seen.clone());
        }
        let version = self.versions.get(&spot.0).copied().unwrap_or_default();
        Some((spot, version))
    }

    /// A variable, or a part of it, gets another value.
    pub(super) fn changed(&mut self, local: LocalId) {
        *self.versions.entry(local).or_default() += 1;
    }

    /// A place gets a value, or a part of one.
    pub(super) fn hold(&mut self, spot: Spot, value: &Expr, whole: bool) {
        if self.flow.is_integer(value.ty) {
            match self.ending(value).cloned() {
                Some(ending) => {
                    self.state.cut.insert(spot.clone());
                    self.held.insert(spot, ending);
                }
                None if whole => {
                    self.state.cut.remove(&spot);
                }
                None => {}
            }
        } else {
            self.hold_fields(spot, value, whole);
        }
    }

    /// The fields of a structure get values: those of a list, or of another variable.
    fn hold_fields(&mut self, (local, fields): Spot, value: &Expr, whole: bool) {
        let below = |path: &[u32], spot: &Spot, of: LocalId| spot.0 == of && spot.1.starts_with(path);
        let mut copied = vec![];
        if let Some((from, _)) = spot_of(value) {
            for (_, path) in self.state.cut.iter().filter(|spot| below(&from.1, spot, from.0)) {
                let ending = self.held.get(&(from.0, path.clone())).cloned();
                let path = [&fields[..], &path[from.1.len()..]].concat();
                copied.extend(ending.map(|ending| (path, ending)));
            }
        }
        if whole {
            self.state.cut.retain(|spot| !below(&fields, spot, local));
        }
        for (path, ending) in copied {
            self.state.cut.insert((local, path.clone()));
            self.held.insert((local, path), ending);
        }
        if let (ExprKind::Construct(parts), TyKind::Struct(..)) =
            (&value.kind, self.flow.checked.program.types.kind(value.ty))
        {
            for (number, part) in (0..).zip(parts) {
                self.hold((local, [&fields[..], &[number]].concat()), part, whole);
            }
        }
    }

    /// Where the derivative ended of which an integer is made, if it is.
    fn ending(&self, expr: &Expr) -> Option<&Ending> {
        if !self.flow.is_integer(expr.ty) {
            return None;
        }
        let held = |spot: &Spot| self.held.get(spot).filter(|_| self.state.cut.contains(spot));
        match &expr.kind {
            ExprKind::Local(_) | ExprKind::Field(..) | ExprKind::Element(..) => {
                spot_of(expr).and_then(|(spot, _)| held(&spot))
            }
            ExprKind::Cond(_, a, b) | ExprKind::Select(_, a, b) => self.ending(a).or_else(|| self.ending(b)),
            ExprKind::Sequence(_, value) | ExprKind::Assign(_, value) => self.ending(value),
            ExprKind::Modify { new, post: false, .. } => self.ending(new),
            ExprKind::Modify { old, .. } => held(&(*old, vec![])),
            ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Unary(_, base)
            | ExprKind::Splat(base)
            | ExprKind::Truncate(base) => self.ending(base),
            ExprKind::Convert(base) => self.endings.get(&expr.id).or_else(|| self.ending(base)),
            ExprKind::Binary(_, a, b) => self.ending(a).or_else(|| self.ending(b)),
            ExprKind::Construct(parts) | ExprKind::Concat(parts) => {
                parts.iter().find_map(|part| self.ending(part))
            }
            ExprKind::Call(_) => self.endings.get(&expr.id),
            // Memory is not followed, nor are packs.
            ExprKind::Const(_)
            | ExprKind::Val(_)
            | ExprKind::Platform(_)
            | ExprKind::Measure(..)
            | ExprKind::Assert(..)
            | ExprKind::String(_)
            | ExprKind::Zero
            | ExprKind::Undef
            | ExprKind::Global(..)
            | ExprKind::Property { .. }
            | ExprKind::Is(..)
            | ExprKind::As(..)
            | ExprKind::Pack(_)
            | ExprKind::Expand(_)
            | ExprKind::Each(_)
            | ExprKind::Part(..)
            | ExprKind::Print(..)
            | ExprKind::TargetCode(..)
            | ExprKind::AddressOf(_)
            | ExprKind::NoDiff(_)
            | ExprKind::Error => None,
        }
    }
}

impl Flow<'_> {
    /// Whether a type is that of integers, alone or in a vector or matrix.
    pub(in crate::derive::flow) fn is_integer(&self, ty: Ty) -> bool {
        self.number(ty).is_some_and(|scalar| scalar.is_int())
    }

    fn is_signed(&self, ty: Ty) -> bool {
        self.number(ty).is_some_and(|scalar| scalar.is_signed())
    }

    /// The type of the numbers that make up a value, if it is made of numbers.
    fn number(&self, ty: Ty) -> Option<Scalar> {
        match self.checked.program.types.kind(ty) {
            TyKind::Scalar(scalar) => Some(scalar),
            TyKind::Vector(element, _) | TyKind::Matrix(element, ..) => self.number(element),
            _ => None,
        }
    }
}
