//! Emits memory whose layout differs from naga's, as arrays of words.
//!
//! naga lays out memory by WGSL's rules. If the target's rules ([`Rules`]) give a type the same layout, a buffer is an array
//! of that type ([`is_native`]). All other memory is words: `u32` in a buffer, `vec4<u32>` in a uniform block. Examples are
//! booleans, 8- and 16-bit integers, arrays of three-component vectors in HLSL and Metal, and uniform arrays of small
//! elements. Loads assemble values from words, and stores split them into words.
//!
//! A store of less than a word is two atomic operations, so that threads can write neighbouring values at the same time:
//! `atomicAnd(&memory[w], ~mask); atomicOr(&memory[w], bits);`

use crate::func::FuncEmitter;
use crate::refuse::refuse;
use crate::{Result, unsupported};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::{Rules, Set};
use cotangent_ir::{Const, Op, Path, Ty, Type, Types, Value, type_group};
use naga::{BinaryOperator, Expression, Handle, Literal, ScalarKind, Statement};

type Expr = Handle<Expression>;

/// The most numbers in a load or store that is written out as words: some of naga's writers take quadratic time.
const MOST_NUMBERS: u64 = 1 << 14;

/// How many numbers a value consists of.
fn numbers_in(types: &Types, ty: Ty) -> u64 {
    match types.get(ty) {
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => u64::from(r) * u64::from(c),
        Type::Array(elem, n) => u64::from(n).saturating_mul(numbers_in(types, elem)),
        Type::Struct(id) | Type::Sum(id) => {
            let fields = types.struct_def(id).fields.iter();
            fields.map(|field| numbers_in(types, field.ty)).fold(0, u64::saturating_add)
        }
        Type::Unit | Type::Scalar(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 1,
    }
}

/// Memory of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub memory: Handle<naga::GlobalVariable>,
    /// The element of it, if it is an array of resources.
    pub element: Option<u32>,
    /// The member of it that is words, if it is a structure.
    pub member: Option<u32>,
    pub form: Form,
    pub rules: Rules,
    /// Where in the memory it begins.
    pub offset: u32,
}

/// What the words are declared as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// `array<vec4<u32>, n>`.
    Quads,
    /// `array<u32>`.
    Plain,
    /// `array<atomic<u32>>`.
    Atomic,
}

/// A byte in memory: `4 * words + bytes + offset`.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub of: Words,
    pub words: Option<Expr>,
    pub bytes: Option<Expr>,
    pub offset: u32,
}

impl Address {
    pub fn later(self, offset: u32) -> Address {
        Address { offset: self.offset + offset, ..self }
    }
}

/// Whether a type lies in memory as `rules` say if naga lays it out.
pub(crate) fn is_native(types: &Types, ty: Ty, rules: Rules) -> bool {
    let own = Rules { set: Set::Std430, ..rules };
    match types.get(ty) {
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        Type::Scalar(s) | Type::Vector(s, _) => s != Scalar::Bool && !is_narrow(s),
        Type::Matrix(s, r, c) => {
            s.is_float() && own.matrix_steps(s, r, c) == rules.matrix_steps(s, r, c) && r > 1 && c > 1
        }
        // naga has no empty arrays: one has an element there.
        Type::Array(_, 0) => false,
        Type::Array(elem, _) => {
            own.stride(types, elem) == rules.stride(types, elem) && is_native(types, elem, rules)
        }
        // A value of interface type: what it holds is converted.
        Type::Struct(id) if !types.struct_def(id).ids.is_empty() => false,
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

/// As [`is_native`], for the elements of a buffer.
pub(crate) fn is_native_element(types: &Types, elem: Ty, rules: Rules) -> bool {
    let own = Rules { set: Set::Std430, ..rules };
    is_native(types, elem, rules) && own.stride(types, elem) == rules.stride(types, elem)
}

/// Whether an integer is kept in one of 32 bits.
pub(crate) fn is_narrow(s: Scalar) -> bool {
    s.is_int() && s.bits() < 32
}

/// Whether a value has numbers that are smaller than a word where `rules` put them.
pub(crate) fn has_small_parts(types: &Types, ty: Ty, rules: Rules) -> bool {
    match types.get(ty) {
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => rules.scalar_bytes(s) < 4,
        Type::Array(elem, _) => has_small_parts(types, elem, rules),
        Type::Struct(id) if !types.struct_def(id).ids.is_empty() => {
            types.struct_def(id).members().iter().any(|f| has_small_parts(types, f.ty, Rules::HELD))
        }
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|f| has_small_parts(types, f.ty, rules)),
    }
}

impl FuncEmitter<'_, '_> {
    pub fn word_literal(&mut self, n: u32) -> Expr {
        self.expr(Expression::Literal(Literal::U32(n)))
    }

    pub fn word_op(&mut self, op: BinaryOperator, left: Expr, right: Expr) -> Expr {
        self.expr(Expression::Binary { op, left, right })
    }

    pub fn converted(&mut self, expr: Expr, scalar: naga::Scalar) -> Expr {
        self.expr(Expression::As { expr, kind: scalar.kind, convert: Some(scalar.width) })
    }

    /// An index as an unsigned word.
    fn index_word(&mut self, index: Value) -> Result<Expr> {
        if let Some(Op::Const(Const::Int(i))) = self.func.op(index) {
            return match u32::try_from(*i) {
                Ok(i) => Ok(self.word_literal(i)),
                Err(_) => unsupported(self.span, format!("the index {i} is not supported")),
            };
        }
        let value = self.value(index);
        match self.module().types.scalar_of(self.func.ty(index)) {
            Some(Scalar::U32 | Scalar::U8 | Scalar::U16) => Ok(value),
            _ => Ok(self.converted(value, naga::Scalar::U32)),
        }
    }

    /// Follows a path into memory.
    pub fn follow(&mut self, of: Words, ty: Ty, path: &Path, indices: &[Value]) -> Result<(Address, Ty)> {
        let types = &self.module().types;
        let mut at = Address { of, words: None, bytes: None, offset: of.offset };
        let (mut ty, mut indices) = (ty, indices.iter());
        for step in &path.0 {
            let (index, rules) = (step.known(), of.rules);
            let (stride, inner) = if let Type::Buffer(elem, _) = types.get(ty) {
                (rules.stride(types, elem).unwrap_or(0), elem)
            } else {
                let known = index.unwrap_or(0);
                let Some((offset, inner)) = rules.part(types, ty, known) else {
                    return unsupported(self.span, "this part of memory is not supported");
                };
                if index.is_some() {
                    at.offset += offset;
                    ty = inner;
                    continue;
                }
                let stride = match types.get(ty) {
                    Type::Matrix(s, r, c) => rules.matrix_steps(s, r, c).0,
                    Type::Vector(s, _) => rules.scalar_bytes(s),
                    Type::Scalar(_) | type_group!(unit | composite | handle) => {
                        rules.stride(types, inner).unwrap_or(0)
                    }
                };
                (stride, inner)
            };
            match index {
                Some(index) => at.offset += stride * index,
                None => match indices.next() {
                    Some(index) => at = self.step(at, *index, stride)?,
                    None => return unsupported(self.span, "this part of memory is not supported"),
                },
            }
            ty = inner;
        }
        Ok((at, ty))
    }

    fn step(&mut self, mut at: Address, index: Value, stride: u32) -> Result<Address> {
        let index = self.index_word(index)?;
        let whole = stride.is_multiple_of(4);
        let factor = if whole { stride / 4 } else { stride };
        let product = match factor {
            1 => index,
            _ => {
                let factor = self.word_literal(factor);
                self.word_op(BinaryOperator::Multiply, index, factor)
            }
        };
        let slot = if whole { &mut at.words } else { &mut at.bytes };
        let before = *slot;
        let sum = before.map_or(product, |b| self.word_op(BinaryOperator::Add, b, product));
        *(if whole { &mut at.words } else { &mut at.bytes }) = Some(sum);
        Ok(at)
    }

    /// The number of the word at an address, and by how many bits to shift it right.
    fn word_index(&mut self, at: Address) -> (Expr, Option<Expr>) {
        let Some(bytes) = at.bytes else {
            let shift = (at.offset % 4) * 8;
            let shift = (shift > 0).then(|| self.word_literal(shift));
            let offset = at.offset / 4;
            let index = match (at.words, offset) {
                (Some(words), 0) => words,
                (Some(words), _) => {
                    let offset = self.word_literal(offset);
                    self.word_op(BinaryOperator::Add, words, offset)
                }
                (None, _) => self.word_literal(offset),
            };
            return (index, shift);
        };
        let offset = self.word_literal(at.offset);
        let byte = self.word_op(BinaryOperator::Add, bytes, offset);
        let [two, three, eight] = [2, 3, 8].map(|n| self.word_literal(n));
        let mut index = self.word_op(BinaryOperator::ShiftRight, byte, two);
        if let Some(words) = at.words {
            index = self.word_op(BinaryOperator::Add, words, index);
        }
        let within = self.word_op(BinaryOperator::And, byte, three);
        (index, Some(self.word_op(BinaryOperator::Multiply, within, eight)))
    }

    /// A pointer to the word at an address, and the shift.
    fn word_pointer(&mut self, at: Address) -> (Expr, Option<Expr>) {
        let base = self.words_base(at.of);
        if at.of.form == Form::Quads {
            let quad = self.expr(Expression::AccessIndex { base, index: at.offset / 16 });
            let pointer = self.expr(Expression::AccessIndex { base: quad, index: at.offset % 16 / 4 });
            let shift = (at.offset % 4) * 8;
            return (pointer, (shift > 0).then(|| self.word_literal(shift)));
        }
        if at.words.is_none() && at.bytes.is_none() {
            let pointer = self.expr(Expression::AccessIndex { base, index: at.offset / 4 });
            let shift = (at.offset % 4) * 8;
            return (pointer, (shift > 0).then(|| self.word_literal(shift)));
        }
        let (index, shift) = self.word_index(at);
        (self.expr(Expression::Access { base, index }), shift)
    }

    /// A pointer to a word that atomic operations are done on.
    pub fn atomic_word(&mut self, at: Address) -> Expr {
        self.word_pointer(at).0
    }

    /// A value in memory.
    pub fn read_words(&mut self, at: Address, ty: Ty) -> Result<Expr> {
        let parts = self.parts_at(at, ty)?;
        match self.module().types.get(ty) {
            Type::Unit => Ok(self.word_literal(0)),
            Type::Array(_, 0) => self.zero(ty),
            Type::Scalar(s) => self.read_scalar(at, s),
            Type::Struct(id) if !self.module().types.struct_def(id).ids.is_empty() => {
                self.read_held(at, ty, id)
            }
            Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
                let mut values = Vec::new();
                for (at, part) in parts {
                    values.push(self.read_words(at, part)?);
                }
                self.compose(ty, values)
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
                unsupported(self.span, "memory of this type is not supported")
            }
        }
    }

    /// Writes a value to memory.
    pub fn write_words(&mut self, at: Address, ty: Ty, value: Expr) -> Result<()> {
        let types = &self.module().types;
        match types.get(ty) {
            Type::Unit => return Ok(()),
            Type::Scalar(s) => return self.write_scalar(at, s, value),
            Type::Vector(s, 1) => return self.write_scalar(at, s, value),
            Type::Struct(id) if !types.struct_def(id).ids.is_empty() => {
                return self.write_held(at, (ty, id), value);
            }
            type_group!(number | composite | handle) => {}
        }
        for (index, (at, part)) in self.parts_at(at, ty)?.into_iter().enumerate() {
            let inner = self.expr(Expression::AccessIndex { base: value, index: index as u32 });
            self.write_words(at, part, inner)?;
        }
        Ok(())
    }

    /// Where the parts of a value are.
    fn parts_at(&self, at: Address, ty: Ty) -> Result<Vec<(Address, Ty)>> {
        let types = &self.module().types;
        if numbers_in(types, ty) > MOST_NUMBERS {
            let what = format!(
                "a value of more than {MOST_NUMBERS} numbers in memory that is accessed as words is not supported"
            );
            return refuse(Feature::LongWords, self.span, what);
        }
        let count = match types.get(ty) {
            Type::Vector(_, n) | Type::Matrix(_, n, _) => n.into(),
            Type::Array(_, n) => n,
            Type::Struct(id) => types.struct_def(id).fields.len() as u32,
            Type::Unit
            | Type::Scalar(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => 0,
        };
        let part = |index| at.of.rules.part(types, ty, index).map(|(offset, part)| (at.later(offset), part));
        Ok((0..count).filter_map(part).collect())
    }

    pub fn read_word(&mut self, at: Address) -> Expr {
        let (pointer, shift) = self.word_pointer(at);
        let word = self.expr(Expression::Load { pointer });
        shift.map_or(word, |shift| self.word_op(BinaryOperator::ShiftRight, word, shift))
    }

    fn read_scalar(&mut self, at: Address, s: Scalar) -> Result<Expr> {
        let scalar = self.emitter.scalar(s, self.span)?;
        let (bits, word) = (8 * at.of.rules.scalar_bytes(s), self.read_word(at));
        Ok(match s {
            Scalar::Bool => {
                let word = if bits < 32 {
                    let mask = self.word_literal(u32::MAX >> (32 - bits));
                    self.word_op(BinaryOperator::And, word, mask)
                } else {
                    word
                };
                let zero = self.word_literal(0);
                self.word_op(BinaryOperator::NotEqual, word, zero)
            }
            Scalar::F16 => self.half_of(word),
            Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 => {
                let value = self.expr(Expression::As { expr: word, kind: scalar.kind, convert: None });
                self.wrapped(value, s, None)
            }
            Scalar::I64 | Scalar::U64 | Scalar::F64 => {
                if s == Scalar::F64 {
                    let what = "a double in memory accessed as words is not supported";
                    self.emitter.require(Feature::DoubleBits, self.span, what)?;
                }
                let high = self.read_word(at.later(4));
                self.of_two_words(word, high, s)
            }
            Scalar::I32 | Scalar::U32 | Scalar::F32 => {
                self.expr(Expression::As { expr: word, kind: scalar.kind, convert: None })
            }
        })
    }

    fn write_scalar(&mut self, at: Address, s: Scalar, value: Expr) -> Result<()> {
        let bits = 8 * at.of.rules.scalar_bytes(s);
        let word = match s {
            Scalar::Bool => {
                let [accept, reject] = [1, 0].map(|n| self.word_literal(n));
                self.expr(Expression::Select { condition: value, accept, reject })
            }
            Scalar::F16 => self.bits_of_half(value),
            Scalar::I64 | Scalar::U64 | Scalar::F64 => {
                if s == Scalar::F64 {
                    let what = "a double in memory accessed as words is not supported";
                    self.emitter.require(Feature::DoubleBits, self.span, what)?;
                }
                let [low, high] = self.two_words(value, s);
                self.write_word(at.later(4), high, 32);
                low
            }
            Scalar::U8 | Scalar::U16 | Scalar::U32 => value,
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::F32 => {
                self.expr(Expression::As { expr: value, kind: ScalarKind::Uint, convert: None })
            }
        };
        self.write_word(at, word, bits.min(32));
        Ok(())
    }

    /// A number of 64 bits from its lower and its upper word.
    pub fn of_two_words(&mut self, low: Expr, high: Expr, s: Scalar) -> Expr {
        let [low, high] = [low, high].map(|expr| self.converted(expr, naga::Scalar::U64));
        let by = self.word_literal(32);
        let high = self.word_op(BinaryOperator::ShiftLeft, high, by);
        let both = self.word_op(BinaryOperator::InclusiveOr, low, high);
        match s {
            Scalar::F64 => self.expr(Expression::As { expr: both, kind: ScalarKind::Float, convert: None }),
            Scalar::I64 => self.converted(both, naga::Scalar::I64),
            Scalar::Bool | scalar_group!(int | float) => both,
        }
    }

    /// The lower and the upper word of a number of 64 bits.
    pub fn two_words(&mut self, value: Expr, s: Scalar) -> [Expr; 2] {
        let convert = (s == Scalar::I64).then_some(8);
        let wide = if s == Scalar::U64 {
            value
        } else {
            self.expr(Expression::As { expr: value, kind: ScalarKind::Uint, convert })
        };
        let by = self.word_literal(32);
        let high = self.word_op(BinaryOperator::ShiftRight, wide, by);
        [wide, high].map(|expr| self.converted(expr, naga::Scalar::U32))
    }

    pub fn write_word(&mut self, at: Address, word: Expr, bits: u32) {
        let (pointer, shift) = self.word_pointer(at);
        if bits == 32 {
            self.statement(Statement::Store { pointer, value: word });
            return;
        }
        let mask = self.word_literal(u32::MAX >> (32 - bits));
        let mut value = self.word_op(BinaryOperator::And, word, mask);
        let mut hole = mask;
        if let Some(shift) = shift {
            [value, hole] = [value, mask].map(|e| self.word_op(BinaryOperator::ShiftLeft, e, shift));
        }
        let hole = self.expr(Expression::Unary { op: naga::UnaryOperator::BitwiseNot, expr: hole });
        let u32 = self.emitter.plain(naga::TypeInner::Scalar(naga::Scalar::U32));
        for (fun, value) in [(naga::AtomicFunction::And, hole), (naga::AtomicFunction::InclusiveOr, value)] {
            let result = self.expr(Expression::AtomicResult { ty: u32, comparison: false });
            self.statement(Statement::Atomic { pointer, fun, value, result: Some(result) });
        }
    }

    /// The half in the lower bits of a word.
    pub fn half_of(&mut self, word: Expr) -> Expr {
        let fun = naga::MathFunction::Unpack2x16float;
        let pair = self.expr(Expression::Math { fun, arg: word, arg1: None, arg2: None, arg3: None });
        let expr = self.expr(Expression::AccessIndex { base: pair, index: 0 });
        self.emitter.plain(naga::TypeInner::Scalar(naga::Scalar::F16));
        self.expr(Expression::As { expr, kind: ScalarKind::Float, convert: Some(2) })
    }

    /// A word whose lower bits are those of a half.
    pub fn bits_of_half(&mut self, half: Expr) -> Expr {
        let wide = self.expr(Expression::As { expr: half, kind: ScalarKind::Float, convert: Some(4) });
        let zero = self.expr(Expression::Literal(Literal::F32(0.0)));
        let ty = self
            .emitter
            .plain(naga::TypeInner::Vector { size: naga::VectorSize::Bi, scalar: naga::Scalar::F32 });
        let arg = self.expr(Expression::Compose { ty, components: vec![wide, zero] });
        let fun = naga::MathFunction::Pack2x16float;
        self.expr(Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None })
    }

    /// How many elements of `stride` bytes lie in a buffer of words.
    pub fn words_length(&mut self, of: Words, stride: u32) -> Expr {
        let base = self.words_base(of);
        let words = self.expr(Expression::ArrayLength(base));
        let (factor, divisor) = match stride.max(1) {
            s if s.is_multiple_of(4) => (1, s / 4),
            s if 4 % s == 0 => (4 / s, 1),
            s => (4, s),
        };
        let mut length = words;
        for (op, n) in [(BinaryOperator::Multiply, factor), (BinaryOperator::Divide, divisor)] {
            if n > 1 {
                let n = self.word_literal(n);
                length = self.word_op(op, length, n);
            }
        }
        length
    }
}
