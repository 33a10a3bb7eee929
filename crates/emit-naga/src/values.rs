//! Values: naga expressions, or variables that are loaded when needed.

use crate::func::FuncEmitter;
use crate::passing::Variable;
use crate::types::{is_native_matrix, vector_size};
use crate::{Result, unsupported};
use cotangent_base::Scalar;
use cotangent_ir::layout::Target;
use cotangent_ir::{Const, InstData, Op, Path, Ty, Type, Value, type_group};
use cotangent_passes::shape::choice;
use naga::{Expression, Handle, Literal};

/// Where a value is.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// In an expression.
    Expr(Handle<Expression>),
    /// In a variable: read it where it is used.
    Var(Variable),
    /// A pointer to a global.
    Pointer(Handle<Expression>),
}

impl FuncEmitter<'_, '_> {
    /// The expression of a value.
    pub fn value(&mut self, value: Value) -> Handle<Expression> {
        match self.places[&value] {
            Place::Expr(handle) | Place::Pointer(handle) => handle,
            Place::Var(var) => self.load_var(var),
        }
    }

    /// Says where a value is, once. One that is read at a dynamic index is put in a variable here and now, since later
    /// may be inside a loop.
    pub fn place(&mut self, value: Value, place: Place) -> Result<()> {
        self.places.insert(value, place);
        if let (Place::Expr(handle), Some(var)) = (place, self.shared_variable(value)?) {
            self.store_var(var, handle);
            self.places.insert(value, Place::Var(var));
            return Ok(());
        }
        if self.indexed.contains(&value) {
            let var = self.variable_of(value)?;
            self.places.insert(value, Place::Var(var));
        }
        Ok(())
    }

    /// The variable that a value shares with others, if it does.
    pub fn shared_variable(&mut self, value: Value) -> Result<Option<Variable>> {
        let Some(slot) = self.shared.slot(value) else { return Ok(None) };
        // A call gives its results as values here, and so does a choice: what nothing else shares a variable with needs none.
        let is_value = |made: &InstData| {
            matches!(made.op, Op::Call(_)) || choice(&self.module().types, self.func, made).is_some()
        };
        if let Some(var) = self.variables.get(&slot) {
            return Ok(Some(*var));
        }
        if self.shared.members(slot).len() == 1 && self.func.def(value).is_some_and(is_value) {
            return Ok(None);
        }
        let named = self.shared.members(slot).iter().find_map(|v| self.name_of(*v));
        let var = self.new_variable(self.func.ty(value), named)?;
        self.variables.insert(slot, var);
        Ok(Some(var))
    }

    /// The variable a value is in; one is made for it if need be.
    pub fn variable_of(&mut self, value: Value) -> Result<Variable> {
        if let Place::Var(var) = self.places[&value] {
            return Ok(var);
        }
        let handle = self.value(value);
        let var = self.new_variable(self.func.ty(value), self.name_of(value))?;
        self.store_var(var, handle);
        Ok(var)
    }

    /// A constant of scalar type.
    pub fn literal(&mut self, constant: Const, ty: Ty) -> Result<Handle<Expression>> {
        let Type::Scalar(scalar) = self.module().types.get(ty) else {
            return unsupported(self.span, "a constant of this type is not supported");
        };
        let known = self.emitter.scalar(scalar, self.span)?;
        // What a module has no type of is not asked for at the head of a shader.
        self.emitter.plain(naga::TypeInner::Scalar(known));
        let literal = match (scalar, constant) {
            (Scalar::Bool, Const::Bool(b)) => Literal::Bool(b),
            (Scalar::I32 | Scalar::I16 | Scalar::I8, Const::Int(n)) => Literal::I32(n as i32),
            (Scalar::U32 | Scalar::U16 | Scalar::U8, Const::Int(n)) => Literal::U32(n as u32),
            (Scalar::I64, Const::Int(n)) => Literal::I64(n),
            (Scalar::U64, Const::Int(n)) => Literal::U64(n as u64),
            (Scalar::F32, Const::Float(bits)) => match f64::from_bits(bits) as f32 {
                x if x.is_finite() => Literal::F32(x),
                x => return Ok(self.special_float(x)),
            },
            (Scalar::F16, Const::Float(bits)) => match half::f16::from_f64(f64::from_bits(bits)) {
                x if x.is_finite() => Literal::F16(x),
                x => return Ok(self.special_of_width(x.into(), 2)),
            },
            (Scalar::F64, Const::Float(bits)) => match f64::from_bits(bits) {
                x if x.is_finite() => Literal::F64(x),
                x => return Ok(self.special_of_width(x as f32, 8)),
            },
            _ => {
                let what = format!("a {scalar} constant of this kind is not supported");
                return unsupported(self.span, what);
            }
        };
        Ok(self.expr(Expression::Literal(literal)))
    }

    /// An infinity or NaN: WGSL refuses them as constants, so the bits go through a variable.
    fn special_float(&mut self, x: f32) -> Handle<Expression> {
        let bits = self.expr(Expression::Literal(Literal::U32(x.to_bits())));
        let u32 = self.emitter.plain(naga::TypeInner::Scalar(naga::Scalar::U32));
        let var = self.new_naga_variable(u32, None);
        self.store_var(var, bits);
        let loaded = self.load_var(var);
        self.expr(Expression::As { expr: loaded, kind: naga::ScalarKind::Float, convert: None })
    }

    fn special_of_width(&mut self, x: f32, width: naga::Bytes) -> Handle<Expression> {
        let expr = self.special_float(x);
        self.expr(Expression::As { expr, kind: naga::ScalarKind::Float, convert: Some(width) })
    }

    pub fn zero(&mut self, ty: Ty) -> Result<Handle<Expression>> {
        if let Type::Scalar(scalar) = self.module().types.get(ty) {
            return self.literal(cotangent_ir::eval::zero(scalar), ty);
        }
        self.emitter.require_room(ty, self.span)?;
        let ty = self.emitter.ty(ty, self.span)?;
        Ok(self.expr(Expression::ZeroValue(ty)))
    }

    /// An aggregate of its parts.
    pub fn compose(&mut self, ty: Ty, mut parts: Vec<Handle<Expression>>) -> Result<Handle<Expression>> {
        if let (Type::Vector(_, 1), [only]) = (self.module().types.get(ty), &parts[..]) {
            return Ok(*only);
        }
        if parts.is_empty() {
            parts.push(self.expr(Expression::Literal(Literal::U32(0))));
        }
        let ty = self.emitter.ty(ty, self.span)?;
        Ok(self.expr(Expression::Compose { ty, components: parts }))
    }

    pub fn splat(&mut self, a: Handle<Expression>, ty: Ty) -> Result<Handle<Expression>> {
        let count = match self.module().types.get(ty) {
            Type::Vector(_, n) => {
                return Ok(vector_size(n).map_or(a, |size| self.expr(Expression::Splat { size, value: a })));
            }
            Type::Matrix(_, r, c) => {
                let row = vector_size(c).map_or(a, |size| self.expr(Expression::Splat { size, value: a }));
                return self.compose(ty, vec![row; r.into()]);
            }
            Type::Array(_, n) => n,
            Type::Scalar(_) | type_group!(unit | composite | handle) => {
                return unsupported(self.span, "a splat of this type is not supported");
            }
        };
        self.compose(ty, vec![a; count as usize])
    }

    /// The part of a value at a path without dynamic steps, or of a variable at any path.
    pub fn extract(&mut self, data: &InstData, path: &Path) -> Result<Handle<Expression>> {
        let aggregate = data.operands[0];
        if let (true, Some(Op::Global(global))) = (self.parted.contains(&aggregate), self.func.op(aggregate))
        {
            return self.uniform_part(*global, path);
        }
        if path.indices() > 0 || matches!(self.places[&aggregate], Place::Var(_)) {
            let var = self.variable_of(aggregate)?;
            let base = self.pointer_to(var);
            let pointer = self.access(base, self.func.ty(aggregate), path, &data.operands[1..])?;
            return Ok(self.expr(Expression::Load { pointer }));
        }
        let base = self.value(aggregate);
        let part = self.access(base, self.func.ty(aggregate), path, &[])?;
        self.as_matrix(part, aggregate, path)
    }

    /// A matrix from an array, put together anew where its rows have two elements: naga's HLSL has another type for it in arrays, of
    /// which it knows the rows alone.
    fn as_matrix(
        &mut self,
        part: Handle<Expression>,
        aggregate: Value,
        path: &Path,
    ) -> Result<Handle<Expression>> {
        let (mut array, mut ty) = (None, Some(self.func.ty(aggregate)));
        for step in &path.0 {
            array = ty;
            ty = ty.and_then(|ty| self.part_type(ty, step.known()));
        }
        let shape = |ty: Option<Ty>| ty.map(|ty| self.module().types.get(ty));
        match (self.emitter.target, shape(array), shape(ty), ty) {
            (Target::Hlsl, Some(Type::Array(..)), Some(Type::Matrix(_, rows, 2)), Some(ty)) => {
                let row = |index| self.expr(Expression::AccessIndex { base: part, index });
                let rows = (0..rows.into()).map(row).collect();
                self.compose(ty, rows)
            }
            _ => Ok(part),
        }
    }

    /// Follows a path from a value or pointer. A vector of one lane is a scalar and takes no step.
    pub fn access(
        &mut self,
        mut base: Handle<Expression>,
        ty: Ty,
        path: &Path,
        indices: &[Value],
    ) -> Result<Handle<Expression>> {
        let (mut ty, mut indices) = (Some(ty), indices.iter());
        for step in &path.0 {
            let shape = ty.map(|t| self.module().types.get(t));
            let single = matches!(shape, Some(Type::Vector(_, 1)));
            let index = step.known();
            let operand = if index.is_none() { indices.next() } else { None };
            let operand = match operand {
                Some(index) if self.is_outside(*index, shape) => Some(self.unseen(*index)?),
                index => index.map(|index| self.index(*index)),
            };
            base = match (single, index, operand) {
                (true, ..) => base,
                (false, Some(index), _) => self.expr(Expression::AccessIndex { base, index }),
                (false, None, Some(index)) => self.expr(Expression::Access { base, index }),
                (false, None, None) => base,
            };
            ty = ty.and_then(|t| self.part_type(t, index));
        }
        Ok(base)
    }

    /// Whether an index is known to be outside.
    fn is_outside(&self, index: Value, shape: Option<Type>) -> bool {
        let length = match shape {
            Some(Type::Array(_, n)) => n.into(),
            Some(Type::Vector(_, n) | Type::Matrix(_, n, _)) => n.into(),
            _ => i64::MAX,
        };
        matches!(self.func.op(index), Some(Op::Const(Const::Int(index))) if !(0..length).contains(index))
    }

    /// A value that nobody knows before the program runs. An index that is sure to be outside, or a divisor that is sure to be
    /// zero, stands behind an assertion that fails; but shaders in which one is seen are refused.
    pub fn unseen(&mut self, value: Value) -> Result<Handle<Expression>> {
        let var = self.new_variable(self.func.ty(value), None)?;
        let seen = self.value(value);
        self.store_var(var, seen);
        Ok(self.load_var(var))
    }

    /// An index of at most 32 bits: more are no index in WGSL, and drivers fall over them. Whether it is inside is tested before.
    fn index(&mut self, index: Value) -> Handle<Expression> {
        let value = self.value(index);
        if let Scalar::I64 | Scalar::U64 = self.scalar_of(index) {
            self.converted(value, naga::Scalar::U32)
        } else {
            value
        }
    }

    fn part_type(&self, ty: Ty, index: Option<u32>) -> Option<Ty> {
        if let Type::Buffer(elem, _) = self.module().types.get(ty) {
            Some(elem)
        } else {
            self.module().types.part(ty, index)
        }
    }

    /// `insert` and `insert_add`: writes into the result's variable, which is the aggregate's or gets a copy of it.
    pub fn insert(&mut self, data: &InstData, path: &Path, adds: bool) -> Result<Place> {
        let (aggregate, part) = (data.operands[0], data.operands[1]);
        let ty = self.func.ty(aggregate);
        let var = match self.shared_variable(data.results[0])? {
            Some(var) => var,
            None => self.new_variable(ty, self.name_of(data.results[0]))?,
        };
        if !matches!(self.places[&aggregate], Place::Var(old) if old == var) {
            let old = self.value(aggregate);
            self.store_var(var, old);
        }
        let mut value = self.value(part);
        let base = self.pointer_to(var);
        let pointer = self.access(base, ty, path, &data.operands[2..])?;
        if adds {
            let old = self.expr(Expression::Load { pointer });
            value = self.add(old, value, self.func.ty(part))?;
        }
        self.statement(naga::Statement::Store { pointer, value });
        Ok(Place::Var(var))
    }

    /// The sum of two values of any type that derivatives have.
    pub fn add(
        &mut self,
        a: Handle<Expression>,
        b: Handle<Expression>,
        ty: Ty,
    ) -> Result<Handle<Expression>> {
        let types = &self.module().types;
        let parts: Vec<Ty> = match types.get(ty) {
            Type::Array(elem, n) => vec![elem; n as usize],
            Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| f.ty).collect(),
            Type::Matrix(s, r, c) if !is_native_matrix(s, r, c) => {
                let Some(row) = types.find(Type::Vector(s, c)) else {
                    return unsupported(self.span, "this matrix operation is not supported");
                };
                vec![row; r.into()]
            }
            Type::Sum(_) | type_group!(unit | number | handle) => {
                return Ok(self.expr(Expression::Binary {
                    op: naga::BinaryOperator::Add,
                    left: a,
                    right: b,
                }));
            }
        };
        let mut sums = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            let index = index as u32;
            let left = self.expr(Expression::AccessIndex { base: a, index });
            let right = self.expr(Expression::AccessIndex { base: b, index });
            sums.push(self.add(left, right, part)?);
        }
        self.compose(ty, sums)
    }
}
