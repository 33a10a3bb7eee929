//! Values of parameters, which lie in uniform buffers.
//!
//! A block that holds one value whose layout by WGSL's own rules is what std140 says is a variable of that type. Any
//! other block (several values, arrays of small elements, matrices of two columns, booleans) is an array of
//! `vec4<u32>`, and a value is put together from its words where it is read.

use crate::func::FuncEmitter;
use crate::{Emitter, Result, unsupported, variable};
use cotangent_base::Scalar;
use cotangent_ir::layout::bind::BlockPlace;
use cotangent_ir::layout::{Rules, Set};
use cotangent_ir::{Global, Ty, Type, Types};
use naga::{ArraySize, BinaryOperator, Expression, Handle, Literal, ScalarKind, Span as NoSpan, TypeInner};
use std::num::NonZeroU32;

/// Where a value lies among the words of a block.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    block: Handle<naga::GlobalVariable>,
    offset: u32,
    rules: Rules,
}

/// Whether a type lies in memory as `rules` say if WGSL lays it out.
fn is_native(types: &Types, ty: Ty, rules: Rules) -> bool {
    let own = Rules { set: Set::Std430, ..rules };
    match types.get(ty) {
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Ref(_) => false,
        Type::Scalar(s) | Type::Vector(s, _) => s != Scalar::Bool,
        Type::Matrix(s, r, c) => s.is_float() && own.matrix_steps(s, r, c) == rules.matrix_steps(s, r, c),
        Type::Array(elem, _) => {
            own.stride(types, elem) == rules.stride(types, elem) && is_native(types, elem, rules)
        }
        Type::Struct(id) => {
            let fields = 0..types.struct_def(id).fields.len() as u32;
            let same = |i| match (own.part(types, ty, i), rules.part(types, ty, i)) {
                (Some(a), Some(b)) => a == b && is_native(types, a.1, rules),
                _ => false,
            };
            !fields.is_empty() && fields.into_iter().all(same)
        }
    }
}

impl Emitter<'_> {
    /// Declares the block of a value, or finds it.
    pub fn uniform(&mut self, global: Global, block: BlockPlace, offset: u32) -> Result<()> {
        let data = &self.module.globals[global];
        let Some(slot) = block.slot else {
            return unsupported(data.span, "a value that no buffer holds is not possible");
        };
        let binding = naga::ResourceBinding { group: slot.space, binding: slot.index };
        let alone = !self.places.iter().any(|(other, place)| {
            *other != global && matches!(place, crate::LeafPlace::Value(b, _) if b.slot == block.slot)
        });
        if alone && offset == 0 && is_native(&self.module.types, data.ty, block.rules) {
            let ty = self.ty(data.ty, data.span)?;
            let var = variable(data.name.as_str(), naga::AddressSpace::Uniform, ty, Some(binding), None);
            let handle = self.out.global_variables.append(var, NoSpan::UNDEFINED);
            self.globals.insert(global, handle);
            return Ok(());
        }
        let found = self.out.global_variables.iter().find(|(_, v)| v.binding == Some(binding)).map(|v| v.0);
        let handle = match found {
            Some(handle) => handle,
            None => {
                let ty = self.block_type(block.size);
                let name = if alone { data.name.to_string() } else { "parameters".to_string() };
                let var = variable(&name, naga::AddressSpace::Uniform, ty, Some(binding), None);
                self.out.global_variables.append(var, NoSpan::UNDEFINED)
            }
        };
        self.words.insert(global, Words { block: handle, offset, rules: block.rules });
        Ok(())
    }

    fn block_type(&mut self, size: u32) -> Handle<naga::Type> {
        let base = self.plain(TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::U32 });
        let count = NonZeroU32::new(size.div_ceil(16)).unwrap_or(NonZeroU32::MIN);
        self.plain(TypeInner::Array { base, size: ArraySize::Constant(count), stride: 16 })
    }
}

impl FuncEmitter<'_, '_> {
    /// A value, put together from the words of its block.
    pub fn read_words(&mut self, at: Words, ty: Ty) -> Result<Handle<Expression>> {
        let types = &self.module().types;
        let later = |offset: u32| Words { offset: at.offset + offset, ..at };
        match types.get(ty) {
            Type::Unit => Ok(self.expr(Expression::Literal(Literal::U32(0)))),
            Type::Scalar(s) => self.read_scalar(at, s),
            Type::Vector(s, n) => {
                let step = at.rules.scalar_bytes(s);
                self.read_parts(ty, (0..n.into()).map(|i| (later(i * step), types.find(Type::Scalar(s)))))
            }
            Type::Matrix(s, r, c) => {
                let (step, _) = at.rules.matrix_steps(s, r, c);
                self.read_parts(ty, (0..r.into()).map(|i| (later(i * step), types.find(Type::Vector(s, c)))))
            }
            Type::Array(elem, n) => {
                let step = at.rules.stride(types, elem).unwrap_or(0);
                self.read_parts(ty, (0..n).map(|i| (later(i * step), Some(elem))))
            }
            Type::Struct(id) => {
                let fields = 0..types.struct_def(id).fields.len() as u32;
                let parts = fields.filter_map(|i| at.rules.part(types, ty, i));
                self.read_parts(ty, parts.map(|(offset, ty)| (later(offset), Some(ty))))
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Ref(_) => {
                unsupported(self.span, "a parameter of this type is not possible")
            }
        }
    }

    fn read_parts(
        &mut self,
        ty: Ty,
        parts: impl Iterator<Item = (Words, Option<Ty>)>,
    ) -> Result<Handle<Expression>> {
        let mut values = Vec::new();
        for (at, part) in parts {
            if let Some(part) = part {
                values.push(self.read_words(at, part)?);
            }
        }
        self.compose(ty, values)
    }

    /// The word at a byte.
    fn word(&mut self, block: Handle<naga::GlobalVariable>, offset: u32) -> Handle<Expression> {
        let base = self.expr(Expression::GlobalVariable(block));
        let base = self.expr(Expression::AccessIndex { base, index: offset / 16 });
        let pointer = self.expr(Expression::AccessIndex { base, index: offset % 16 / 4 });
        self.expr(Expression::Load { pointer })
    }

    fn read_scalar(&mut self, at: Words, s: Scalar) -> Result<Handle<Expression>> {
        let scalar = self.emitter.scalar(s, self.span)?;
        let word = self.word(at.block, at.offset);
        Ok(match s {
            Scalar::Bool => {
                let right = self.expr(Expression::Literal(Literal::U32(0)));
                self.expr(Expression::Binary { op: BinaryOperator::NotEqual, left: word, right })
            }
            Scalar::F16 => {
                let fun = naga::MathFunction::Unpack2x16float;
                let pair = self.expr(Expression::Math { fun, arg: word, arg1: None, arg2: None, arg3: None });
                let index = at.offset % 4 / 2;
                let expr = self.expr(Expression::AccessIndex { base: pair, index });
                self.expr(Expression::As { expr, kind: ScalarKind::Float, convert: Some(2) })
            }
            Scalar::I64 | Scalar::U64 => {
                let high = self.word(at.block, at.offset + 4);
                let [low, high] = [word, high]
                    .map(|expr| self.expr(Expression::As { expr, kind: ScalarKind::Uint, convert: Some(8) }));
                let right = self.expr(Expression::Literal(Literal::U32(32)));
                let op = BinaryOperator::ShiftLeft;
                let high = self.expr(Expression::Binary { op, left: high, right });
                let op = BinaryOperator::InclusiveOr;
                let expr = self.expr(Expression::Binary { op, left: low, right: high });
                self.expr(Expression::As { expr, kind: scalar.kind, convert: Some(8) })
            }
            _ => self.expr(Expression::As { expr: word, kind: scalar.kind, convert: None }),
        })
    }
}
