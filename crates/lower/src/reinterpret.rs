//! The same words under another type: what `createDynamicObject` makes of its data.
//!
//! A value is taken apart into scalars of 32 bits, in order, and another is put together from them. What the data does not
//! reach is zero.

use crate::func::Frame;
use cotangent_base::Scalar;
use cotangent_ir::{Op, Ty, Type, Value};

impl Frame<'_, '_> {
    /// `value` as a `to`, word by word.
    pub fn reinterpret(&mut self, value: Value, to: Ty) -> Option<Value> {
        let mut words = Vec::new();
        self.words(value, &mut words)?;
        let mut words = words.into_iter();
        self.rebuild(&mut words, to)
    }

    /// Appends the words of a value.
    fn words(&mut self, value: Value, words: &mut Vec<Value>) -> Option<()> {
        let ty = self.func.ty(value);
        if let Type::Scalar(s) = self.lowerer.module.types.get(ty) {
            self.check_word(s)?;
            let word = self.lowerer.module.types.scalar(Scalar::U32);
            words.push(if ty == word { value } else { self.b().emit1(Op::Bitcast, &[value], word) });
            return Some(());
        }
        for i in 0..self.parts(ty)? {
            let part = self.b().part(value, i);
            self.words(part, words)?;
        }
        Some(())
    }

    /// A value of the next words.
    fn rebuild(&mut self, words: &mut impl Iterator<Item = Value>, to: Ty) -> Option<Value> {
        if let Type::Scalar(s) = self.lowerer.module.types.get(to) {
            self.check_word(s)?;
            let Some(word) = words.next() else { return Some(self.b().zero(to)) };
            return Some(if s == Scalar::U32 { word } else { self.b().emit1(Op::Bitcast, &[word], to) });
        }
        let mut parts = Vec::new();
        for i in 0..self.parts(to)? {
            let ty = self.lowerer.module.types.part(to, Some(i))?;
            parts.push(self.rebuild(words, ty)?);
        }
        Some(self.b().pack(&parts, to))
    }

    fn check_word(&mut self, scalar: Scalar) -> Option<()> {
        if matches!(scalar, Scalar::F32 | Scalar::I32 | Scalar::U32) {
            return Some(());
        }
        self.unsupported(format!("`createDynamicObject` with data of type `{}` is", scalar.name()));
        None
    }

    fn parts(&mut self, ty: Ty) -> Option<u32> {
        let parts = self.lowerer.module.types.arity(ty);
        if parts.is_none() {
            self.unsupported("`createDynamicObject` with a resource or a value of interface type is");
        }
        parts
    }
}
