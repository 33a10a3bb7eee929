//! Emits globals, loads and stores.

use crate::Result;
use crate::func::FuncEmitter;
use crate::traps::Poison;
use crate::values::Place;
use crate::words::Words;
use cotangent_ir::{Global, InstData, Op, Path, Ty, Type, Value, type_group};
use naga::{Expression, Handle, Statement};

impl FuncEmitter<'_, '_> {
    /// A pointer to a buffer or variable, or the value of a uniform.
    pub fn global(&mut self, global: Global) -> Result<Place> {
        if let Some(uniform) = self.emitter.values.get(&global).copied() {
            return Ok(Place::Expr(self.uniform(global, uniform)?));
        }
        let pointer = self.resource(self.emitter.globals[&global], global);
        if let Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) =
            self.module().types.get(self.module().globals[global].ty)
        {
            Ok(Place::Pointer(pointer))
        } else {
            Ok(Place::Expr(self.expr(Expression::Load { pointer })))
        }
    }

    /// A variable, or the element of it that a global is.
    fn resource(&mut self, variable: Handle<naga::GlobalVariable>, global: Global) -> Handle<Expression> {
        let is_buffer = matches!(self.module().types.get(self.module().globals[global].ty), Type::Buffer(..));
        let element = self.emitter.elements.get(&global).copied();
        let base = self.element_of(variable, element);
        match element {
            Some(_) if is_buffer => self.expr(Expression::AccessIndex { base, index: 0 }),
            _ => base,
        }
    }

    /// A variable, or an element of the array of resources that it is.
    fn element_of(
        &mut self,
        variable: Handle<naga::GlobalVariable>,
        element: Option<u32>,
    ) -> Handle<Expression> {
        let base = self.expr(Expression::GlobalVariable(variable));
        element.map_or(base, |index| self.expr(Expression::AccessIndex { base, index }))
    }

    /// The words of a buffer.
    pub fn words_base(&mut self, of: Words) -> Handle<Expression> {
        let base = self.element_of(of.memory, of.element);
        let member = of.member.or(of.element.map(|_| 0));
        member.map_or(base, |index| self.expr(Expression::AccessIndex { base, index }))
    }

    pub fn pointee(&self, handle: Value) -> Ty {
        let ty = self.func.ty(handle);
        if let Type::Ref(inner) = self.module().types.get(ty) { inner } else { ty }
    }

    /// The words that a handle leads to.
    pub fn words_of(&self, handle: Value) -> Option<Words> {
        match self.func.op(handle) {
            Some(Op::Global(global)) => self.emitter.words.get(global).copied(),
            _ => None,
        }
    }

    pub fn load(&mut self, data: &InstData, path: &Path) -> Result<Handle<Expression>> {
        if let Some(words) = self.words_of(data.operands[0]) {
            let ty = self.pointee(data.operands[0]);
            let (at, ty) = self.follow(words, ty, path, &data.operands[1..])?;
            return self.read_words(at, ty);
        }
        let (base, ty) = (self.value(data.operands[0]), self.pointee(data.operands[0]));
        let pointer = self.access(base, ty, path, &data.operands[1..])?;
        if self.is_atomic(data.operands[0]) {
            return self.load_atomic(pointer, self.func.ty(data.results[0]));
        }
        Ok(self.expr(Expression::Load { pointer }))
    }

    pub fn store(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let value = self.value(data.operands[1]);
        let value = match self.emitter.poison {
            Some(poison) => self.poisoned(value, self.func.ty(data.operands[1]), poison)?,
            None => value,
        };
        let ty = self.pointee(data.operands[0]);
        if let Some(words) = self.words_of(data.operands[0]) {
            let (at, ty) = self.follow(words, ty, path, &data.operands[2..])?;
            return self.write_words(at, ty, value);
        }
        let base = self.value(data.operands[0]);
        let pointer = self.access(base, ty, path, &data.operands[2..])?;
        if self.is_atomic(data.operands[0]) {
            return self.store_atomic(pointer, self.func.ty(data.operands[1]), value);
        }
        self.statement(Statement::Store { pointer, value });
        Ok(())
    }

    /// `value`, with NaN for every float if an assertion failed.
    pub fn poisoned(
        &mut self,
        value: Handle<Expression>,
        ty: Ty,
        poison: Poison,
    ) -> Result<Handle<Expression>> {
        let types = &self.module().types;
        let parts: Vec<Ty> = match types.get(ty) {
            Type::Scalar(s) | Type::Vector(s, _) => {
                return if s.is_float() { self.nan_if_failed(value, ty, poison) } else { Ok(value) };
            }
            Type::Matrix(s, r, c) if s.is_float() => {
                let row = types.find(Type::Vector(s, c));
                row.map_or(vec![], |row| vec![row; r.into()])
            }
            Type::Array(elem, n) => vec![elem; n as usize],
            Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| f.ty).collect(),
            Type::Matrix(..) | Type::Sum(_) | type_group!(unit | handle) => vec![],
        };
        if parts.is_empty() {
            return Ok(value);
        }
        let mut poisoned = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            let inner = self.expr(Expression::AccessIndex { base: value, index: index as u32 });
            poisoned.push(self.poisoned(inner, part, poison)?);
        }
        self.compose(ty, poisoned)
    }

    fn nan_if_failed(
        &mut self,
        value: Handle<Expression>,
        ty: Ty,
        poison: Poison,
    ) -> Result<Handle<Expression>> {
        let [failed, bits] = [poison.failed, poison.nan].map(|var| {
            let pointer = self.expr(Expression::GlobalVariable(var));
            self.expr(Expression::Load { pointer })
        });
        let nan = self.expr(Expression::As { expr: bits, kind: naga::ScalarKind::Float, convert: None });
        let (scalar, lanes) = match self.module().types.get(ty) {
            Type::Vector(s, n) => (s, n),
            Type::Scalar(s) => (s, 1),
            Type::Matrix(..) | type_group!(unit | composite | handle) => return Ok(value),
        };
        let width = scalar.bytes() as naga::Bytes;
        let nan =
            self.expr(Expression::As { expr: nan, kind: naga::ScalarKind::Float, convert: Some(width) });
        let accept = if lanes > 1 { self.splat(nan, ty)? } else { nan };
        Ok(self.expr(Expression::Select { condition: failed, accept, reject: value }))
    }

    /// How many elements a buffer has.
    pub fn length(&mut self, handle: Value) -> Handle<Expression> {
        let types = &self.module().types;
        if let (Some(words), Type::Buffer(elem, _)) = (self.words_of(handle), types.get(self.func.ty(handle)))
        {
            return self.words_length(words, words.rules.stride(types, elem).unwrap_or(4));
        }
        let pointer = self.value(handle);
        self.expr(Expression::ArrayLength(pointer))
    }
}
