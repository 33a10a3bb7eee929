//! Emits operations on matrices.
//!
//! naga's matrices contain floats and have two to four rows and columns. Other matrices are arrays of rows here, and
//! operations on them are expanded element by element.

use crate::func::FuncEmitter;
use crate::types::is_native_matrix;
use crate::{Result, unsupported};
use cotangent_base::Scalar;
use cotangent_ir::{InstData, Math, Op, Ty, Type, Value, type_group};
use naga::{BinaryOperator, Expression, Handle, MathFunction};

type Expr = Handle<Expression>;

impl FuncEmitter<'_, '_> {
    /// WGSL has few operations on matrices: the others go row by row.
    pub fn by_rows(
        &mut self,
        math: Math,
        data: &InstData,
        ty: Ty,
        (s, r, c): (Scalar, u8, u8),
    ) -> Result<Expr> {
        let Some(row) = self.module().types.find(Type::Vector(s, c)) else {
            return unsupported(self.span, "this matrix operation is not supported");
        };
        let operands: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        let mut rows = Vec::new();
        for index in 0..u32::from(r) {
            let parts: Vec<Expr> = operands
                .iter()
                .map(|base| self.expr(Expression::AccessIndex { base: *base, index }))
                .collect();
            rows.push(self.scalar_math(math, s, row, &parts)?);
        }
        self.compose(ty, rows)
    }

    /// A product in which a matrix takes part; transposed there, so the operands swap. What naga has no matrices for is
    /// multiplied number by number.
    pub fn product(&mut self, data: &InstData, ty: Ty) -> Result<Expr> {
        let native = |value: &Value| {
            if let Type::Matrix(s, r, c) = self.module().types.get(self.func.ty(*value)) {
                is_native_matrix(s, r, c)
            } else {
                true
            }
        };
        if data.operands.iter().all(native) && data.results.iter().all(native) {
            let [left, right] = [1, 0].map(|i| self.value(data.operands[i]));
            return Ok(self.binary(BinaryOperator::Multiply, left, right));
        }
        let [a, b] = [data.operands[0], data.operands[1]].map(|v| self.numbers(v));
        // A vector is a column on the right of a matrix, a row on the left of one.
        let (a, b) = if let Op::MatVec = data.op {
            (a, b.into_iter().flatten().map(|x| vec![x]).collect())
        } else {
            (a, b)
        };
        let mut rows = Vec::new();
        for row in &a {
            let mut numbers = Vec::new();
            for column in 0..b.first().map_or(0, Vec::len) {
                let mut sum = None;
                for (x, others) in row.iter().zip(&b) {
                    let product = self.binary(BinaryOperator::Multiply, *x, others[column]);
                    sum = Some(sum.map_or(product, |s| self.binary(BinaryOperator::Add, s, product)));
                }
                numbers.extend(sum);
            }
            rows.push(numbers);
        }
        self.of_numbers(ty, rows)
    }

    /// The numbers of a matrix, row by row; of a vector, as one row.
    fn numbers(&mut self, value: Value) -> Vec<Vec<Expr>> {
        let base = self.value(value);
        let lanes = |e: &mut Self, base, n: u8| match n {
            1 => vec![base],
            _ => (0..n.into()).map(|index| e.expr(Expression::AccessIndex { base, index })).collect(),
        };
        match self.module().types.get(self.func.ty(value)) {
            Type::Matrix(_, r, c) => (0..r.into())
                .map(|index| {
                    let row = self.expr(Expression::AccessIndex { base, index });
                    lanes(self, row, c)
                })
                .collect(),
            Type::Vector(_, n) => vec![lanes(self, base, n)],
            Type::Scalar(_) | type_group!(unit | composite | handle) => vec![vec![base]],
        }
    }

    /// A matrix or vector of its numbers.
    fn of_numbers(&mut self, ty: Ty, rows: Vec<Vec<Expr>>) -> Result<Expr> {
        let types = &self.module().types;
        let Type::Matrix(s, _, c) = types.get(ty) else {
            return self.compose(ty, rows.into_iter().flatten().collect());
        };
        let Some(row) = types.find(Type::Vector(s, c)) else {
            return unsupported(self.span, "this matrix operation is not supported");
        };
        let mut parts = Vec::new();
        for numbers in rows {
            parts.push(self.compose(row, numbers)?);
        }
        self.compose(ty, parts)
    }

    pub fn outer(&mut self, data: &InstData, ty: Ty) -> Result<Expr> {
        let [a, b] = [0, 1].map(|i| self.value(data.operands[i]));
        let rows = self.module().types.arity(ty).unwrap_or(0);
        let mut parts = Vec::new();
        for index in 0..rows {
            let lane = if rows == 1 { a } else { self.expr(Expression::AccessIndex { base: a, index }) };
            parts.push(self.binary(BinaryOperator::Multiply, b, lane));
        }
        self.compose(ty, parts)
    }

    pub fn transpose(&mut self, data: &InstData, ty: Ty) -> Result<Expr> {
        if let Type::Matrix(s, r, c) = self.module().types.get(ty)
            && is_native_matrix(s, r, c)
        {
            let a = self.value(data.operands[0]);
            return Ok(self.call1(MathFunction::Transpose, a));
        }
        let rows = self.numbers(data.operands[0]);
        let columns = (0..rows.first().map_or(0, Vec::len)).map(|i| rows.iter().map(|row| row[i]).collect());
        self.of_numbers(ty, columns.collect())
    }
}
