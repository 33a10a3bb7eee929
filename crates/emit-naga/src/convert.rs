//! Emits conversions between types: by value, and by bits.

use crate::func::FuncEmitter;
use crate::words::is_narrow;
use crate::{Result, unsupported};
use cotangent_base::Scalar;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{Ty, Type, Value};
use naga::{Expression, Handle, ScalarKind};

type Expr = Handle<Expression>;

impl FuncEmitter<'_, '_> {
    pub fn convert(&mut self, a: Value, ty: Ty, convert: bool) -> Result<Expr> {
        let expr = self.value(a);
        let Some(scalar) = self.module().types.scalar_of(ty) else {
            return unsupported(self.span, "this conversion is not supported");
        };
        let target = self.emitter.scalar(scalar, self.span)?;
        let from = self.scalar_of(a);
        if from == scalar {
            return Ok(expr);
        }
        // Small integers are kept in 32 bits, so their bits are not those of a half.
        let convert = match (from, scalar) {
            (Scalar::F16, Scalar::U16 | Scalar::I16) | (Scalar::U16 | Scalar::I16, Scalar::F16)
                if !convert =>
            {
                return self.half_bits(expr, ty, target);
            }
            _ => convert || is_narrow(scalar),
        };
        let cast =
            |expr| Expression::As { expr, kind: target.kind, convert: convert.then_some(target.width) };
        let Type::Matrix(_, r, _) = self.module().types.get(ty) else {
            return Ok(self.expr(cast(expr)));
        };
        let mut rows = Vec::new();
        for index in 0..u32::from(r) {
            let row = self.expr(Expression::AccessIndex { base: expr, index });
            rows.push(self.expr(cast(row)));
        }
        self.compose(ty, rows)
    }

    /// The same bits as another type. What has two words for one number of 64 bits, or one for two, is put together.
    pub fn bitcast(&mut self, a: Value, ty: Ty) -> Result<Expr> {
        let types = &self.module().types;
        let (from, to) = (self.scalar_of(a), types.scalar_of(ty).unwrap_or(Scalar::U32));
        if from != to && [from, to].contains(&Scalar::F64) {
            self.emitter.require(Feature::DoubleBits, self.span, "the bits of a double are not supported")?;
        }
        let lanes = |ty| if let Type::Vector(_, n) = types.get(ty) { n } else { 1 };
        match (from.bits(), to.bits(), lanes(self.func.ty(a)), lanes(ty)) {
            (64, 32, 1, 2) => {
                let value = self.value(a);
                let words = self.two_words(value, from);
                let kind = self.emitter.scalar(to, self.span)?.kind;
                let words = words.map(|expr| self.expr(Expression::As { expr, kind, convert: None }));
                self.compose(ty, words.to_vec())
            }
            (32, 64, 2, 1) => {
                let base = self.value(a);
                let [low, high] = [0, 1].map(|index| {
                    let expr = self.expr(Expression::AccessIndex { base, index });
                    self.expr(Expression::As { expr, kind: ScalarKind::Uint, convert: None })
                });
                Ok(self.of_two_words(low, high, to))
            }
            (_, _, n, m) if n == m => self.convert(a, ty, false),
            _ => unsupported(self.span, "this reinterpretation is not supported"),
        }
    }

    /// The bits of a half as an integer, or the other way round.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn half_bits(&mut self, value: Expr, ty: Ty, target: naga::Scalar) -> Result<Expr> {
        let lane = |e: &mut Self, lane: Expr| match target.kind {
            ScalarKind::Float => {
                let word = e.expr(Expression::As { expr: lane, kind: ScalarKind::Uint, convert: None });
                e.half_of(word)
            }
            _ => {
                let word = e.bits_of_half(lane);
                e.expr(Expression::As { expr: word, kind: target.kind, convert: None })
            }
        };
        if let Type::Vector(_, n) = self.module().types.get(ty)
            && n > 1
        {
            let mut lanes = Vec::new();
            for index in 0..n.into() {
                let part = self.expr(Expression::AccessIndex { base: value, index });
                lanes.push(lane(self, part));
            }
            self.compose(ty, lanes)
        } else {
            Ok(lane(self, value))
        }
    }
}
