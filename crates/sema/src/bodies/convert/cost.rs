//! What conversions cost: the table of costs, between scalars, of literals and between types.

use crate::Checked;
use crate::declarations::attrs;
use crate::derive;
use crate::hir::{
    Arg, Const, Dir, Expr, ExprKind, FuncRef, InterfaceRef, Param, Program, StructId, Ty, TyKind,
};
use crate::tables::Item;
use cotangent_base::Scalar;
use cotangent_syntax::ast;

/// The cost of a conversion; 0 for none.
pub(crate) type Cost = u32;

/// From a scalar to a vector, beyond that of the scalars.
const SPLAT_VECTOR: Cost = 2;

/// From a scalar to a matrix, beyond that of the scalars.
const SPLAT_MATRIX: Cost = 10;

/// From a vector of one lane to a scalar or back, beyond that of the scalars.
const ONE_LANE: Cost = 1;

/// From a structure to its base.
pub(crate) const TO_BASE: Cost = 50;

/// To a value of some type that conforms to an interface.
const TO_INTERFACE: Cost = 50;

/// From a value, or none, to an optional one.
const TO_OPTIONAL: Cost = 150;

/// From what a descriptor heap holds to a resource.
const FROM_HEAP: Cost = 100;

/// From an array to one without a size.
const UNSIZED: Cost = 30;

/// From a constant buffer to what it holds.
const FROM_BLOCK: Cost = 10;

/// From an enumeration to its integer type, the only one it converts to by itself.
pub(crate) const FROM_ENUM: Cost = 100;

/// What cannot be undone: narrowing, float to integer, ...
pub(crate) const LOSSY: Cost = 900;

/// An `out` or `inout` argument of an integer type of the other signedness.
pub(crate) const PLACE: Cost = 800;

/// The cost of converting a scalar that is not a literal.
pub(crate) fn scalar_cost(from: Scalar, to: Scalar) -> Cost {
    if from == to {
        return 0;
    }
    let unsigned = |s: Scalar| !s.is_signed() && !s.is_float();
    let wider = to.bits() > from.bits();
    match () {
        () if from == Scalar::Bool && to == Scalar::I32 => 120,
        () if from == Scalar::Bool && to.is_float() => LOSSY,
        () if to == Scalar::Bool => LOSSY,
        () if from.is_float() && to.is_float() && wider => 150,
        () if from.is_signed() && to.is_signed() && wider => 150,
        () if unsigned(from) && unsigned(to) && wider => 150,
        () if unsigned(from) && to.is_signed() && wider => 200,
        () if from.is_signed() && unsigned(to) && to.bits() >= from.bits() => 250,
        () if unsigned(from) && to.is_signed() && to.bits() == from.bits() => 300,
        () if from.is_int() && matches!(to, Scalar::F32 | Scalar::F64) => 400,
        () if from.is_int() && to == Scalar::F16 => 500,
        () => LOSSY,
    }
}

/// The cost of converting an integer literal to another integer type, if it fits.
fn literal_cost(value: i64, from: Scalar, to: Scalar) -> Option<Cost> {
    if from == to || !from.is_int() || !to.is_int() || !fits(value, from, to) {
        return None;
    }
    Some(match (from.is_signed(), to.is_signed()) {
        (true, false) => 32,
        (false, true) => 81,
        _ => 23,
    })
}

/// Whether an integer keeps its value in another integer type.
pub(crate) fn fits(value: i64, from: Scalar, to: Scalar) -> bool {
    let wide = if from == Scalar::U64 { i128::from(value as u64) } else { i128::from(value) };
    let bits = to.bits();
    let (low, high) = if to.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    (low..=high).contains(&wide)
}

impl Checked {
    /// What it costs to convert an expression implicitly, or `None` if that is impossible.
    pub(crate) fn cost(&mut self, expr: &Expr, to: Ty) -> Option<Cost> {
        if let (ExprKind::Const(Const::Int(value)), TyKind::Scalar(from)) =
            (&expr.kind, self.program.types.kind(expr.ty))
        {
            return self.literal_to(*value, from, to);
        }
        self.type_cost(expr.ty, to)
    }

    fn literal_to(&mut self, value: i64, from: Scalar, to: Ty) -> Option<Cost> {
        let (element, extra) = match self.program.types.kind(to) {
            TyKind::Scalar(_) => (to, 0),
            TyKind::Vector(t, _) => (t, SPLAT_VECTOR),
            TyKind::Matrix(t, _, _) => (t, SPLAT_MATRIX),
            _ => {
                let ty = self.program.types.ty(TyKind::Scalar(from));
                return self.type_cost(ty, to);
            }
        };
        let TyKind::Scalar(target) = self.program.types.kind(element) else {
            return None;
        };
        let cost = literal_cost(value, from, target).unwrap_or_else(|| scalar_cost(from, target));
        Some(cost + extra)
    }

    /// What it costs to convert a value of one type to another.
    pub(crate) fn type_cost(&mut self, from: Ty, to: Ty) -> Option<Cost> {
        use TyKind::{Array, Assoc, Enum, Error, Interface, Matrix, Scalar, Struct, UnsizedArray, Vector};
        if from == to {
            return Some(0);
        }
        match (self.program.types.kind(from), self.program.types.kind(to)) {
            (Error, _) | (_, Error) => Some(0),
            (_, Interface(interface, args)) => {
                let interface = InterfaceRef { interface, args };
                self.conforms(from, interface).then_some(TO_INTERFACE)
            }
            (Struct(..), Struct(..)) if self.of_heap(from, to).is_some() => Some(FROM_HEAP),
            (TyKind::None, Struct(..))
                if self.program.pointee(to).is_some() || self.facts().is_optional_differential(to) =>
            {
                Some(TO_OPTIONAL)
            }
            (_, Struct(..)) if self.facts().conditional_content(to).is_some() => {
                let content = self.facts().conditional_content(to)?;
                Some(self.type_cost(from, content)? + TO_OPTIONAL)
            }
            (_, Struct(..)) if self.facts().optional_content(to).is_some() => self.optional_cost(from, to),
            (_, Struct(id, _))
                if self.tables.structs[id].converts && !self.program.is_same_struct(from, id) =>
            {
                self.implicit_constructor(from, to).map(|(cost, ..)| cost)
            }
            (Scalar(a), Scalar(b)) => Some(scalar_cost(a, b)),
            (Scalar(_) | TyKind::Param(_) | Assoc(..), Vector(t, _)) => {
                Some(self.type_cost(from, t)? + SPLAT_VECTOR)
            }
            (Scalar(_) | TyKind::Param(_) | Assoc(..), Matrix(t, _, _)) => {
                Some(self.type_cost(from, t)? + SPLAT_MATRIX)
            }
            (TyKind::Param(_), Scalar(cotangent_base::Scalar::Bool)) if self.is_enumeration(from) => {
                Some(LOSSY)
            }
            (Vector(t, n), Scalar(_)) if self.program.types.known(n) == Some(1) => {
                Some(self.type_cost(t, to)? + ONE_LANE)
            }
            (Vector(a, m), Vector(b, n)) if m == n => self.program.element_cost(a, b),
            (Matrix(a, r, c), Matrix(b, s, d)) if r == s && c == d => self.program.element_cost(a, b),
            (Array(a, _), UnsizedArray(b)) if a == b => Some(UNSIZED),
            (Enum(id), Scalar(b)) => {
                self.ensure_enum(id);
                match self.program.enums[id].underlying == to {
                    true => Some(FROM_ENUM),
                    false => (b == cotangent_base::Scalar::Bool).then_some(LOSSY),
                }
            }
            (Struct(..), Struct(..)) if derive::pair_contents(self, from, to).is_some() => {
                let (a, b) = derive::pair_contents(self, from, to)?;
                self.type_cost(a, b)
            }
            (Struct(id, _), Struct(..)) if self.tables.lambdas.is_converted(id, to) => Some(PLACE),
            (Struct(id, _), _) => self.struct_cost(from, id, to),
            _ => None,
        }
    }

    /// The cost of putting a value into an optional, or of converting the content of one.
    fn optional_cost(&mut self, from: Ty, to: Ty) -> Option<Cost> {
        let content = self.facts().optional_content(to)?;
        let holds = self.facts().conditional_content(from) == Some(content);
        if holds || self.program.types.kind(from) == TyKind::None {
            return Some(TO_OPTIONAL);
        }
        match self.mapped_cost(from, content) {
            Some(cost) => Some(cost),
            None => Some(self.type_cost(from, content)? + TO_OPTIONAL),
        }
    }

    /// The cost of taking the content of a block, or the base of a structure.
    fn struct_cost(&mut self, from: Ty, id: StructId, to: Ty) -> Option<Cost> {
        let content = self.program.block_content(from);
        if !matches!(self.program.types.kind(to), TyKind::Struct(..)) {
            return Some(self.type_cost(content?, to)? + FROM_BLOCK);
        }
        if content == Some(to) {
            return Some(FROM_BLOCK);
        }
        let base = self.base_of(from, id)?;
        Some(self.type_cost(base, to)? + TO_BASE)
    }

    /// The function that makes a resource of what a descriptor heap holds.
    pub(super) fn of_heap(&mut self, from: Ty, to: Ty) -> Option<FuncRef> {
        let (Some(&Item::Struct(item)), Some(&Item::Func(func))) =
            (self.tables.lang.get(&"HeapItem".into()), self.tables.lang.get(&"heapItem".into()))
        else {
            return None;
        };
        if !self.program.is_same_struct(from, item) || !self.program.is_handled(to) {
            return None;
        }
        self.ensure_func(func);
        let args = self.program.types.args(&[Arg::Ty(to)]);
        Some(FuncRef { func, args })
    }

    /// Whether a type not yet known is an enumeration by its bounds.
    fn is_enumeration(&mut self, ty: Ty) -> bool {
        self.bounds_of(ty).iter().any(|bound| self.facts().is_enum_interface(bound.interface))
    }

    /// The cheapest constructor marked `__implicit_conversion(cost)` that takes a value of a type: the cost, the constructor,
    /// and the type of its parameter.
    pub(super) fn implicit_constructor(&mut self, from: Ty, to: Ty) -> Option<(Cost, FuncRef, Ty)> {
        let TyKind::Struct(id, args) = self.program.types.kind(to) else { return None };
        let scope = self.tables.structs[id].scope;
        let mut best: Option<(Cost, FuncRef, Ty)> = None;
        for item in self.tables.scopes[scope].items(attrs::INIT.into()).to_vec() {
            let Item::Func(func) = item else { continue };
            let attributes = self.tables.funcs[func].prefix.attributes.clone();
            let Some(marked) = attrs::find(&attributes, attrs::IMPLICIT) else { continue };
            let own = match marked.args.first().map(|arg| &arg.kind) {
                Some(ast::ExprKind::Int(cost, _)) => Cost::try_from(*cost).unwrap_or(LOSSY),
                _ => TO_BASE,
            };
            self.ensure_func(func);
            let generics = self.program.funcs[func].generics.params.clone();
            let [Param { ty, dir: Dir::In, .. }] = self.program.funcs[func].params[..] else { continue };
            if generics.len() != self.program.types.list(args).len() {
                continue;
            }
            let ty = self.replace(ty, &generics, args);
            // One conversion at a time: what a constructor takes is not made by another one.
            let made = matches!(self.program.types.kind(ty), TyKind::Struct(id, _) if self.tables.structs[id].converts);
            if made && ty != from {
                continue;
            }
            if let Some(cost) = self.type_cost(from, ty).map(|cost| cost + own)
                && best.as_ref().is_none_or(|(least, ..)| cost < *least)
            {
                best = Some((cost, FuncRef { func, args }, ty));
            }
        }
        best
    }

    /// The cost of converting the content of an optional value while it stays optional: `none` stays `none`.
    pub(super) fn mapped_cost(&mut self, from: Ty, content: Ty) -> Option<Cost> {
        let held = self.facts().optional_content(from)?;
        let wrapped = derive::pair_contents(self, held, content).is_some()
            || self.program.block_content(held).is_some()
            || self.facts().conditional_content(held).is_some()
            || self.facts().conditional_content(content).is_some();
        if wrapped && held != content {
            return None;
        }
        self.type_cost(held, content)
    }
}

impl Program {
    fn element_cost(&mut self, from: Ty, to: Ty) -> Option<Cost> {
        match (self.types.kind(from), self.types.kind(to)) {
            (TyKind::Scalar(a), TyKind::Scalar(b)) => Some(scalar_cost(a, b)),
            _ => (from == to).then_some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_language() {
        use Scalar::*;
        assert_eq!(scalar_cost(I32, I64), 150);
        assert_eq!(scalar_cost(F16, F64), scalar_cost(F16, F32));
        assert_eq!(scalar_cost(I32, U32), 250);
        assert_eq!(scalar_cost(U32, I32), 300);
        assert_eq!(scalar_cost(U32, I64), 200);
        assert_eq!(scalar_cost(I64, F32), 400);
        assert_eq!(scalar_cost(I64, I32), LOSSY);
        assert_eq!(scalar_cost(Bool, I32), 120);
    }

    #[test]
    fn a_literal_fits_by_its_value() {
        use Scalar::*;
        assert!(fits(255, I32, U8));
        assert!(!fits(256, I32, U8));
        assert!(!fits(-1, I32, U32));
        assert!(!fits(-1, U64, I64));
    }
}
