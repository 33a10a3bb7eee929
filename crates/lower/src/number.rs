//! Lowers conversions and construction of numbers.

use crate::func::Frame;
use cotangent_ir::{Op, Path, Step, Ty, Type, Value};
use smallvec::SmallVec;

impl Frame<'_, '_> {
    /// `value` as a `to`: each scalar converted, a vector of one lane from or to its scalar, a structure to its base.
    pub fn convert(&mut self, value: Value, to: Ty) -> Value {
        let from = self.func.ty(value);
        if from == to {
            return value;
        }
        let types = &self.lowerer.module.types;
        match (types.get(from), types.get(to)) {
            (Type::Vector(_, 1), Type::Scalar(_)) => {
                let lane = self.b().part(value, 0);
                self.convert(lane, to)
            }
            (Type::Scalar(_), Type::Vector(_, 1)) => {
                let scalar = self.part_ty(to, 0);
                let value = self.convert(value, scalar);
                self.b().pack(&[value], to)
            }
            (Type::Scalar(_), Type::Scalar(_)) => self.b().emit1(Op::Convert, &[value], to),
            (Type::Vector(_, n), Type::Vector(_, m)) if n == m => self.b().emit1(Op::Convert, &[value], to),
            (Type::Matrix(_, r, c), Type::Matrix(_, s, d)) if (r, c) == (s, d) => {
                self.b().emit1(Op::Convert, &[value], to)
            }
            (Type::Struct(_), Type::Struct(_)) if self.is_base(from, to) => {
                let base = self.b().part(value, 0);
                self.convert(base, to)
            }
            _ => {
                self.internal("a conversion between types that have none");
                self.b().undef(to)
            }
        }
    }

    /// Whether `base` is the first field of `derived`, or of its first field, and so on.
    pub fn is_base(&mut self, derived: Ty, base: Ty) -> bool {
        match self.lowerer.module.types.part(derived, Some(0)) {
            Some(first) if matches!(self.lowerer.module.types.get(derived), Type::Struct(_)) => {
                first == base || self.is_base(first, base)
            }
            _ => false,
        }
    }

    /// The type of a part that exists.
    fn part_ty(&mut self, ty: Ty, part: u32) -> Ty {
        self.lowerer.module.types.part(ty, Some(part)).unwrap_or(ty)
    }

    /// A scalar in every element of `to`.
    pub fn splat(&mut self, value: Value, to: Ty) -> Value {
        if self.func.ty(value) == to { value } else { self.b().emit1(Op::Splat, &[value], to) }
    }

    /// Lanes of scalars, vectors and matrices in order, as a vector or a matrix.
    pub fn concat(&mut self, parts: &[Value], to: Ty) -> Value {
        if let &[only] = parts
            && self.func.ty(only) == to
        {
            return only;
        }
        let row =
            if let Type::Matrix(_, _, columns) = self.lowerer.module.types.get(to) { columns } else { 0 };
        let row_ty = self.part_ty(to, 0);
        if row > 0 && parts.iter().all(|p| self.func.ty(*p) == row_ty) && self.arity(to) == parts.len() {
            return self.b().pack(parts, to);
        }
        if let Type::Struct(_) = self.lowerer.module.types.get(to) {
            let fields: Vec<Value> = parts.iter().flat_map(|part| self.fields(*part)).collect();
            return self.pack_checked(&fields, to);
        }
        let mut lanes = Vec::new();
        for &part in parts {
            self.lanes(part, &mut lanes);
        }
        if row == 0 {
            return self.pack_checked(&lanes, to);
        }
        let rows: Vec<Value> = lanes.chunks(row.into()).map(|row| self.pack_checked(row, row_ty)).collect();
        self.pack_checked(&rows, to)
    }

    /// The fields of a tuple.
    fn fields(&mut self, tuple: Value) -> Vec<Value> {
        let count = self.arity(self.func.ty(tuple));
        (0..count).map(|i| self.b().part(tuple, i as u32)).collect()
    }

    fn arity(&self, ty: Ty) -> usize {
        self.lowerer.module.types.arity(ty).unwrap_or(0) as usize
    }

    fn pack_checked(&mut self, parts: &[Value], to: Ty) -> Value {
        if self.arity(to) != parts.len() {
            self.internal("a vector or matrix is made of too few or too many lanes");
            return self.b().undef(to);
        }
        self.b().pack(parts, to)
    }

    /// All scalars of a number, row by row.
    fn lanes(&mut self, value: Value, to: &mut Vec<Value>) {
        let ty = self.func.ty(value);
        if let Type::Vector(..) | Type::Matrix(..) = self.lowerer.module.types.get(ty) {
            for i in 0..self.arity(ty) as u32 {
                let part = self.b().part(value, i);
                self.lanes(part, to);
            }
        } else {
            to.push(value)
        }
    }

    /// The first lanes of a vector, or the upper left part of a matrix.
    pub fn truncate(&mut self, value: Value, to: Ty) -> Value {
        let from = self.func.ty(value);
        let types = &self.lowerer.module.types;
        match (types.get(from), types.get(to)) {
            _ if from == to => value,
            (Type::Matrix(_, r, c), Type::Matrix(_, s, d)) if r >= s && c >= d => {
                let row_ty = self.part_ty(to, 0);
                let row = |i: u8| {
                    let row = self.b().part(value, i.into());
                    self.truncate(row, row_ty)
                };
                let rows: Vec<Value> = (0..s).map(row).collect();
                self.b().pack(&rows, to)
            }
            (Type::Vector(_, n), Type::Vector(_, m)) if n >= m => {
                let lanes: SmallVec<[u8; 4]> = (0..m).collect();
                self.b().emit1(Op::Swizzle(lanes), &[value], to)
            }
            (Type::Vector(..), Type::Scalar(_)) => self.b().part(value, 0),
            _ => {
                self.internal("a matrix is truncated to a larger one");
                self.b().undef(to)
            }
        }
    }

    /// Lanes of a vector, or a scalar repeated.
    pub fn swizzle(&mut self, value: Value, lanes: &[u8]) -> Value {
        let from = self.func.ty(value);
        match (self.lowerer.module.types.get(from), lanes) {
            (Type::Scalar(_), [_]) => value,
            (Type::Scalar(s), _) => {
                let ty = self.lowerer.module.types.intern(Type::Vector(s, lanes.len() as u8));
                self.splat(value, ty)
            }
            (Type::Vector(_, n), &[lane]) if lane < n => self.b().part(value, lane.into()),
            (Type::Vector(s, n), _) if lanes.iter().all(|l| *l < n) => {
                let ty = self.lowerer.module.types.intern(Type::Vector(s, lanes.len() as u8));
                self.b().emit1(Op::Swizzle(lanes.into()), &[value], ty)
            }
            _ => {
                self.internal("a swizzle of something without such lanes");
                value
            }
        }
    }

    /// Elements of a matrix, as a vector unless it is one.
    pub fn matrix_swizzle(&mut self, value: Value, cells: &[(u8, u8)]) -> Value {
        let from = self.func.ty(value);
        let Type::Matrix(s, r, c) = self.lowerer.module.types.get(from) else {
            self.internal("a matrix swizzle of something else");
            return value;
        };
        if cells.iter().any(|(i, j)| *i >= r || *j >= c) {
            self.internal("a matrix has no such element");
            return value;
        }
        let parts: Vec<Value> =
            cells.iter().map(|cell| self.b().extract(value, cell_path(*cell), &[])).collect();
        if let &[only] = &parts[..] {
            return only;
        }
        let ty = self.lowerer.module.types.intern(Type::Vector(s, parts.len() as u8));
        self.b().pack(&parts, ty)
    }
}

/// The path of an element of a matrix.
pub(crate) fn cell_path((row, column): (u8, u8)) -> Path {
    Path([row, column].map(|i| Step::Part(i.into())).into_iter().collect())
}
