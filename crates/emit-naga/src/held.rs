//! Emits values of interface type in memory that the host sees.
//!
//! In the program such a value is a structure: the index of the member, and every member ([`sums`](cotangent_passes::sums)). In memory
//! it is four words, of which the third is the number by which the host knows the type, and the words of the member
//! ([`HEADER`](cotangent_ir::layout::HEADER)):
//!
//! ```text
//! tag = number == 7 ? 0 : number == 9 ? 1 : number | 0x80000000;   value = Shape(tag, circle at 16, rect at 16)
//! ```
//!
//! All members are read; nobody looks at those that the value is not. A number that no type has makes a negative index, which is written
//! back as it was.

use crate::Result;
use crate::func::FuncEmitter;
use crate::words::{Address, Words};
use cotangent_ir::layout::{HEADER, ID, Rules};
use cotangent_ir::{StructId, Ty};
use naga::{BinaryOperator, Block, Expression, Handle, ScalarKind, Statement};

type Expr = Handle<Expression>;

/// Set in the index of a value whose type nobody knows.
const UNKNOWN: u32 = 1 << 31;

impl FuncEmitter<'_, '_> {
    fn chosen(&mut self, condition: Expr, accept: u32, reject: Expr) -> Expr {
        let accept = self.word_literal(accept);
        self.expr(Expression::Select { condition, accept, reject })
    }

    fn has_number(&mut self, word: Expr, n: u32) -> Expr {
        let n = self.word_literal(n);
        self.word_op(BinaryOperator::Equal, word, n)
    }

    /// A value of interface type in memory.
    pub fn read_held(&mut self, at: Address, ty: Ty, id: StructId) -> Result<Expr> {
        let def = self.module().types.struct_def(id).clone();
        let found = self.read_word(at.later(ID));
        let unknown = self.word_literal(UNKNOWN);
        let mut tag = self.word_op(BinaryOperator::InclusiveOr, found, unknown);
        for (member, known) in (0..).zip(&def.ids) {
            let is_here = self.has_number(found, *known);
            tag = self.chosen(is_here, member, tag);
        }
        let mut parts = vec![self.expr(Expression::As { expr: tag, kind: ScalarKind::Sint, convert: None })];
        for member in def.members() {
            parts.push(self.read_words(held(at), member.ty)?);
        }
        self.compose(ty, parts)
    }

    /// Writes a value of interface type to memory: the member that it is, and zeros after it.
    pub fn write_held(&mut self, at: Address, (ty, id): (Ty, StructId), value: Expr) -> Result<()> {
        let def = self.module().types.struct_def(id).clone();
        let tag = self.expr(Expression::AccessIndex { base: value, index: 0 });
        let tag = self.expr(Expression::As { expr: tag, kind: ScalarKind::Uint, convert: None });
        let number = self.word_literal(!UNKNOWN);
        let mut number = self.word_op(BinaryOperator::And, tag, number);
        for (member, known) in (0..).zip(&def.ids) {
            let is_here = self.has_number(tag, member);
            number = self.chosen(is_here, *known, number);
        }
        let size = at.of.rules.layout(&self.module().types, ty).map_or(HEADER, |layout| layout.size);
        for offset in (0..size).step_by(4) {
            let word = if offset == ID { number } else { self.word_literal(0) };
            self.write_word(at.later(offset), word, 32);
        }
        for (index, member) in (0..).zip(def.members()) {
            let condition = self.has_number(tag, index);
            let accept = self.block(|e| {
                let part = e.expr(Expression::AccessIndex { base: value, index: index + 1 });
                e.write_words(held(at), member.ty, part)
            })?;
            self.statement(Statement::If { condition, accept, reject: Block::new() });
        }
        Ok(())
    }
}

/// Where what a value holds begins.
fn held(at: Address) -> Address {
    let at = at.later(HEADER);
    Address { of: Words { rules: Rules::HELD, ..at.of }, ..at }
}
