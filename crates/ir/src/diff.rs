//! What autodiff needs to know about types and functions. Lowering writes it; the passes only read it, except that they add
//! rows for the types that they create.

use crate::{FuncId, StructId, Ty, Type, Types};
use cotangent_base::{Map, Symbol};

/// The direction of differentiation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// Tangents along with values.
    Forward,
    /// Cotangents after values.
    Backward,
}

/// What is known about a function's derivatives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiffInfo {
    /// Which derivatives may be generated from the body.
    pub differentiable: Option<Mode>,
    /// A library rule: takes the inputs, then a tangent for each differentiable input; gives a tangent for each
    /// differentiable output. Linear in the tangents, by promise and by check, so that reverse mode may
    /// transpose it.
    pub rule: Option<FuncId>,
    /// The user's forward derivative, with the signature of a forward request.
    pub forward: Option<FuncId>,
    /// The user's backward derivative, with the signature of a backward request.
    pub backward: Option<FuncId>,
    /// The user's backward derivative in two steps.
    pub apply: Option<Apply>,
    /// The function to differentiate in place of this one.
    pub substitute: Option<FuncId>,
    /// Derivatives are zero: `[TreatAsDifferentiable]`.
    pub constant: bool,
    /// What to do with its results in a backward pass.
    pub prefer: Prefer,
    /// The parameters that the program marks `no_diff`. Others carry derivatives in kernels, even those of types that are not
    /// differentiable elsewhere.
    pub held: Vec<Symbol>,
    /// Whether it marks the result so.
    pub held_result: bool,
}

/// A backward derivative in two steps, with a context of the user's between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Apply {
    /// Takes what the function takes, and gives what it gives, but in place of the result the pair of that and a context; the
    /// context alone, if there is no result.
    pub primal: FuncId,
    /// Takes the context, then for each differentiable parameter its derivative, the other way round, and last the derivative
    /// of the result.
    pub pullback: FuncId,
}

impl DiffInfo {
    /// The functions it refers to.
    pub fn links(&self) -> impl Iterator<Item = FuncId> + use<> {
        let Self { rule, forward, backward, apply, substitute, .. } = *self;
        let (primal, pullback) = (apply.map(|a| a.primal), apply.map(|a| a.pullback));
        [rule, forward, backward, primal, pullback, substitute].into_iter().flatten()
    }

    /// Refers to other functions instead, or to none.
    pub fn relink(&mut self, to: impl Fn(FuncId) -> Option<FuncId>) {
        for link in [&mut self.rule, &mut self.forward, &mut self.backward, &mut self.substitute] {
            *link = link.and_then(&to);
        }
        self.apply =
            self.apply.and_then(|a| Some(Apply { primal: to(a.primal)?, pullback: to(a.pullback)? }));
    }

    /// Whether derivatives that are generated come from the body. They do not if a library rule or a substitute gives them, or
    /// if they are zero.
    pub fn is_from_body(&self) -> bool {
        self.rule.is_none() && self.substitute.is_none() && !self.constant
    }

    /// Whether the user wrote a derivative.
    pub fn is_custom(&self) -> bool {
        self.forward.is_some() || self.has_custom_backward()
    }

    /// Whether the user wrote the derivative of that mode.
    pub fn is_custom_in(&self, mode: Mode) -> bool {
        match mode {
            Mode::Forward => self.forward.is_some(),
            Mode::Backward => self.has_custom_backward(),
        }
    }

    /// Whether the user wrote a backward derivative, in one step or in two.
    pub fn has_custom_backward(&self) -> bool {
        self.backward.is_some() || self.apply.is_some()
    }
}

/// Whether values, such as the results of a call, are stored for the backward pass or computed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefer {
    /// What is cheapest, bytes against work.
    #[default]
    Auto,
    /// As few bytes as possible, whatever the work: `[PreferRecompute]`.
    Recompute,
    /// Whatever linear operations read is stored: `[PreferCheckpoint]`.
    Checkpoint,
    /// Of functions only: calls keep no context but run again from their inputs, and whether results are kept is open:
    /// `[Checkpoint]`.
    Rerun,
}

impl Prefer {
    /// Every preference that a module may have.
    pub const ALL: [Prefer; 3] = [Prefer::Auto, Prefer::Recompute, Prefer::Checkpoint];

    /// This, or the other where this says nothing.
    pub fn or(self, other: Prefer) -> Prefer {
        match self {
            Prefer::Auto => other,
            Prefer::Recompute | Prefer::Checkpoint | Prefer::Rerun => self,
        }
    }
}

/// The differential of a structure, or of a sum: that is a sum too, whose members are the differentials of the members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// The type of its derivatives.
    pub differential: Ty,
    /// For each field or member, the field or member of the differential that holds its derivative.
    pub fields: Vec<Option<u32>>,
    /// The user's `dzero`; without it, zero of every field.
    pub zero: Option<FuncId>,
    /// The user's `dadd`; without it, the sum of every field.
    pub add: Option<FuncId>,
}

/// The differentiable structures and sums of a module. Closed: differentials of differentials are in it too.
#[derive(Clone, Default, Debug)]
pub struct DiffTable {
    rows: Map<StructId, DiffRow>,
    order: Vec<StructId>,
}

impl DiffTable {
    /// Adds or replaces a row.
    pub fn set(&mut self, id: StructId, row: DiffRow) {
        if self.rows.insert(id, row).is_none() {
            self.order.push(id);
        }
    }

    /// The row of a structure, if it is differentiable.
    pub fn get(&self, id: StructId) -> Option<&DiffRow> {
        self.rows.get(&id)
    }

    /// All rows, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (StructId, &DiffRow)> {
        self.order.iter().map(|id| (*id, &self.rows[id]))
    }

    /// The type of derivatives of `ty`, if it is differentiable. Its own is itself.
    pub fn differential(&self, types: &mut Types, ty: Ty) -> Option<Ty> {
        match types.get(ty) {
            Type::Array(elem, n) => {
                let elem = self.differential(types, elem)?;
                Some(types.intern(Type::Array(elem, n)))
            }
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => self.find_differential(types, ty),
        }
    }

    /// The type of derivatives of `ty`, if it is differentiable and that type has been made.
    pub fn find_differential(&self, types: &Types, ty: Ty) -> Option<Ty> {
        match types.get(ty) {
            Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => s.is_float().then_some(ty),
            Type::Array(elem, n) => types.find(Type::Array(self.find_differential(types, elem)?, n)),
            Type::Struct(id) | Type::Sum(id) => self.get(id).map(|row| row.differential),
            Type::Unit | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => None,
        }
    }
}
