//! Lowers accesses to byte-address buffers.
//!
//! Such a buffer is a buffer of 32-bit words in the IR, so no later stage knows about bytes. `load_bytes` and `store_bytes`
//! of a type access each of its scalars, in C layout:
//!
//! | size of the scalar | loaded                          | stored                                           |
//! | ------------------ | ------------------------------- | ------------------------------------------------ |
//! | 4                  | a word, its bits                | a word                                           |
//! | 8                  | two words                       | two words                                        |
//! | 1, 2               | a word, shifted, cut            | a word is read, the bits replaced, written again |
//!
//! If two threads store less than a word to the same word at the same time, one of the stores may be lost.
//!
//! An address must be a multiple of the type's alignment; a multiple of 4 is enough if the alignment is larger; otherwise the
//! program traps.

use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_ir::layout::{self, Matrices};
use cotangent_ir::{Builder, Const, Func, FuncId, Math, Op, Path, Trap, Ty, Type, Types, Value};

/// What to do with the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytes {
    Load,
    Store,
}

/// The operation of that name.
pub(crate) fn named(name: &str) -> Option<Bytes> {
    match name {
        "load_bytes" => Some(Bytes::Load),
        "store_bytes" => Some(Bytes::Store),
        _ => None,
    }
}

/// Writes the body of `T load(this, address)` or `void store(this, address, value)`.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: FuncId, bytes: Bytes) {
    let mut func = lowerer.module.funcs[id].clone();
    let inputs = func.inputs().to_vec();
    let ty = match (bytes, &inputs[..]) {
        (Bytes::Load, [_, _]) => func.sig.ret.map(|ret| ret.ty),
        (Bytes::Store, [_, _, value]) => Some(func.ty(*value)),
        _ => None,
    };
    let span = lowerer.mentions.get(&id).copied().unwrap_or(func.span);
    let Some(ty) = ty.filter(|ty| layout::layout(&lowerer.module.types, *ty).is_some()) else {
        let message = "a type that contains resources has no bytes";
        return lowerer.error(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
    };
    if has_sum(&lowerer.module.types, ty) {
        let message = "interface values in a byte-address buffer are not supported yet";
        let diagnostic = Diagnostic::new(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
        let help = "use a `StructuredBuffer` of the interface, or load and store conforming types";
        return lowerer.diagnostics.push(diagnostic.help(help));
    }
    let words = Words::new(lowerer, &mut func, inputs[0], inputs[1], ty);
    let mut words = words;
    let results = match bytes {
        Bytes::Load => vec![words.load(ty, 0, words.way())],
        Bytes::Store => {
            words.store(ty, 0, inputs[2], words.way());
            vec![]
        }
    };
    words.b.emit(Op::Return, &results, &[]);
    lowerer.module.funcs[id] = func;
}

/// Whether a type holds a value of interface type.
pub(crate) fn has_sum(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Sum(_) => true,
        Type::Array(element, _) => has_sum(types, element),
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|field| has_sum(types, field.ty)),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

struct Words<'a> {
    b: Builder<'a>,
    buffer: Value,
    /// In bytes.
    address: Value,
    /// The word it is in.
    first: Value,
    /// How matrices lie that do not say so themselves.
    matrices: Matrices,
}

/// How something lies in memory.
#[derive(Clone, Copy)]
struct Way {
    matrices: Matrices,
    /// How many bytes the lanes of a vector are apart, if it is a row of a matrix that lies column by column.
    apart: Option<u32>,
}

impl<'a> Words<'a> {
    /// Begins by checking the address.
    fn new(lowerer: &'a mut Lowerer<'_>, func: &'a mut Func, buffer: Value, address: Value, ty: Ty) -> Self {
        let align = layout::layout(&lowerer.module.types, ty).map_or(1, |l| l.align.min(4));
        let matrices = lowerer.options.matrices;
        let mut b = Builder::new(&mut lowerer.module.types, func);
        b.span = Span::none();
        let u32_ = b.ty(address);
        if align > 1 {
            let mask = b.constant(Const::Int(i64::from(align) - 1), u32_);
            let zero = b.constant(Const::Int(0), u32_);
            let rest = b.math(Math::And, &[address, mask]);
            let fine = b.math(Math::Eq, &[rest, zero]);
            b.emit(Op::Assert(Trap::Misaligned), &[fine], &[]);
        }
        let two = b.constant(Const::Int(2), u32_);
        let first = b.math(Math::Shr, &[address, two]);
        Words { b, buffer, address, first, matrices }
    }

    fn word_ty(&mut self) -> Ty {
        self.b.types.scalar(Scalar::U32)
    }

    fn number(&mut self, n: u32) -> Value {
        let ty = self.word_ty();
        self.b.constant(Const::Int(n.into()), ty)
    }

    /// The index of the word `offset` bytes behind the address, both multiples of 4.
    fn index(&mut self, offset: u32) -> Value {
        if offset == 0 {
            return self.first;
        }
        let words = self.number(offset / 4);
        self.b.math(Math::Add, &[self.first, words])
    }

    fn load_word(&mut self, index: Value) -> Value {
        self.b.load(self.buffer, Path::index(), &[index])
    }

    fn store_word(&mut self, index: Value, word: Value) {
        self.b.store(self.buffer, word, Path::index(), &[index]);
    }

    /// The word in which a scalar of less than a word lies, and how many bits from its low end.
    fn inside_word(&mut self, offset: u32) -> (Value, Value) {
        let offset = self.number(offset);
        let at = self.b.math(Math::Add, &[self.address, offset]);
        let [two, three] = [2, 3].map(|n| self.number(n));
        let index = self.b.math(Math::Shr, &[at, two]);
        let bytes = self.b.math(Math::And, &[at, three]);
        let eight = self.number(3);
        (index, self.b.math(Math::Shl, &[bytes, eight]))
    }

    /// How something lies if nobody says otherwise.
    fn way(&self) -> Way {
        Way { matrices: self.matrices, apart: None }
    }

    /// Where the parts of a value are, and how they lie.
    fn parts(&self, ty: Ty, way: Way) -> Vec<(u32, Ty, Way)> {
        let types = &*self.b.types;
        let part = |index: u32| {
            let (offset, inner) = layout::part(types, ty, index)?;
            Some(match (types.get(ty), way.apart) {
                (Type::Matrix(scalar, rows, _), _) if way.matrices == Matrices::Columns => {
                    let apart = Some(scalar.bytes() * u32::from(rows));
                    (scalar.bytes() * index, inner, Way { apart, ..self.way() })
                }
                (Type::Vector(..), Some(apart)) => (apart * index, inner, self.way()),
                (Type::Struct(id), _) => {
                    let own = types.struct_def(id).own_matrices(index as usize);
                    let matrices = own.unwrap_or(self.matrices);
                    (offset, inner, Way { matrices, ..self.way() })
                }
                _ => (offset, inner, self.way()),
            })
        };
        (0..types.arity(ty).unwrap_or(0)).filter_map(part).collect()
    }

    fn load(&mut self, ty: Ty, offset: u32, way: Way) -> Value {
        let Type::Scalar(scalar) = self.b.types.get(ty) else {
            let parts = self.parts(ty, way);
            let parts: Vec<Value> =
                parts.into_iter().map(|(at, part, way)| self.load(part, offset + at, way)).collect();
            return self.b.pack(&parts, ty);
        };
        match scalar.bytes() {
            8 => {
                let indices = [offset, offset + 4].map(|at| self.index(at));
                let words = indices.map(|index| self.load_word(index));
                let pair = self.b.types.intern(Type::Vector(Scalar::U32, 2));
                let pair = self.b.pack(&words, pair);
                self.b.emit1(Op::Bitcast, &[pair], ty)
            }
            4 => {
                let index = self.index(offset);
                let word = self.load_word(index);
                self.same_bits(word, ty)
            }
            _ => {
                let (index, shift) = self.inside_word(offset);
                let word = self.load_word(index);
                let word = self.b.math(Math::Shr, &[word, shift]);
                self.narrow(word, scalar, ty)
            }
        }
    }

    /// The low bits of a word as a scalar of one or two bytes.
    fn narrow(&mut self, word: Value, scalar: Scalar, ty: Ty) -> Value {
        if scalar == Scalar::Bool {
            let mask = self.number(0xff);
            let byte = self.b.math(Math::And, &[word, mask]);
            return self.b.emit1(Op::Convert, &[byte], ty);
        }
        let unsigned = self.unsigned(scalar);
        let cut = self.b.emit1(Op::Convert, &[word], unsigned);
        self.same_bits(cut, ty)
    }

    /// The unsigned integer of the same size.
    fn unsigned(&mut self, scalar: Scalar) -> Ty {
        let unsigned = if scalar.bytes() == 2 { Scalar::U16 } else { Scalar::U8 };
        self.b.types.scalar(unsigned)
    }

    fn same_bits(&mut self, value: Value, ty: Ty) -> Value {
        if self.b.ty(value) == ty { value } else { self.b.emit1(Op::Bitcast, &[value], ty) }
    }

    fn store(&mut self, ty: Ty, offset: u32, value: Value, way: Way) {
        let Type::Scalar(scalar) = self.b.types.get(ty) else {
            for (i, (at, part, way)) in self.parts(ty, way).into_iter().enumerate() {
                let inner = self.b.part(value, i as u32);
                self.store(part, offset + at, inner, way);
            }
            return;
        };
        let word_ty = self.word_ty();
        match scalar.bytes() {
            8 => {
                let pair = self.b.types.intern(Type::Vector(Scalar::U32, 2));
                let pair = self.b.emit1(Op::Bitcast, &[value], pair);
                for half in 0..2 {
                    let (index, word) = (self.index(offset + 4 * half), self.b.part(pair, half));
                    self.store_word(index, word);
                }
            }
            4 => {
                let (index, word) = (self.index(offset), self.same_bits(value, word_ty));
                self.store_word(index, word);
            }
            bytes => {
                let (index, shift) = self.inside_word(offset);
                let mask = self.number(if bytes == 2 { 0xffff } else { 0xff });
                let hole = self.b.math(Math::Shl, &[mask, shift]);
                let kept = self.b.math(Math::Not, &[hole]);
                let old = self.load_word(index);
                let old = self.b.math(Math::And, &[old, kept]);
                let bits = self.widen(value, scalar);
                let bits = self.b.math(Math::Shl, &[bits, shift]);
                let new = self.b.math(Math::Or, &[old, bits]);
                self.store_word(index, new);
            }
        }
    }

    /// A scalar of one or two bytes as the low bits of a word, the others zero.
    fn widen(&mut self, value: Value, scalar: Scalar) -> Value {
        let word = self.word_ty();
        if scalar == Scalar::Bool {
            return self.b.emit1(Op::Convert, &[value], word);
        }
        let unsigned = self.unsigned(scalar);
        let bits = self.same_bits(value, unsigned);
        self.b.emit1(Op::Convert, &[bits], word)
    }
}
