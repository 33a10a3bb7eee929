//! The layout of values in parameter memory, and conversion between values and bytes.
//!
//! Memory has C layout, so host data is used unchanged. In wide mode, `half` and `float` are evaluated in binary64, and
//! stores must not round. There each scalar takes a word of eight bytes, without padding. The mode is fixed when a program is
//! loaded; [`Layouts`] has the [`Shape`] of each type.
//!
//! An interface value has the layout that [`cotangent_ir::layout`] describes: the number of its type, and its data in a fixed
//! number of words. A number without a type is preserved, so that such a value can be copied.

use crate::Val;
use crate::pointer::Pointer;
use cotangent_base::{Entity, Scalar};
use cotangent_ir::layout::{self, Rules};
use cotangent_ir::{Const, StructDef, Ty, Type, Types, eval};
use std::sync::{Arc, OnceLock};

/// The bytes of a scalar in wide mode.
const WORD: u32 = 8;

/// How the values of a type lie in memory.
#[derive(Debug)]
pub(crate) struct Shape {
    /// How many bytes they take.
    pub(crate) size: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unit,
    Scalar(Scalar, Width),
    /// The lanes of a vector, rows of a matrix, elements of an array.
    List {
        part: Arc<Shape>,
        stride: usize,
        count: usize,
    },
    Struct(Box<[(usize, Arc<Shape>)]>),
    /// The address of a value of that type.
    Pointer(Ty),
    Sum {
        ids: Box<[u32]>,
        members: Box<[Arc<Shape>]>,
        id_at: usize,
        held_at: usize,
    },
}

/// In how many bytes a scalar lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    /// As many as its type says; a `bool` may take four.
    Narrow(u8),
    /// A word that keeps all digits.
    Wide,
}

/// How the types of a program lie in memory. Shapes are worked out when they are first asked for.
#[derive(Debug)]
pub(crate) struct Layouts {
    wide: bool,
    plain: Vec<OnceLock<Option<Arc<Shape>>>>,
    /// Inside of values of interface type.
    held: Vec<OnceLock<Option<Arc<Shape>>>>,
}

impl Layouts {
    pub(crate) fn new(types: &Types, wide: bool) -> Self {
        let empty = || (0..types.count()).map(|_| OnceLock::new()).collect();
        Layouts { wide, plain: empty(), held: empty() }
    }

    /// How values of a type lie; `None` if they cannot, as handles and what is too large.
    pub(crate) fn shape(&self, types: &Types, ty: Ty) -> Option<&Arc<Shape>> {
        self.under(types, ty, Rules::C)
    }

    fn under(&self, types: &Types, ty: Ty, rules: Rules) -> Option<&Arc<Shape>> {
        let table = if rules == Rules::C { &self.plain } else { &self.held };
        table.get(ty.index())?.get_or_init(|| self.make(types, ty, rules).map(Arc::new)).as_ref()
    }

    fn make(&self, types: &Types, ty: Ty, rules: Rules) -> Option<Shape> {
        let size = rules.layout(types, ty)?.size as usize;
        let part = |inner| self.under(types, inner, rules).cloned();
        let list = |inner: Ty, count: u32| {
            let part = part(inner)?;
            let stride = match self.wide {
                true => part.size,
                false => rules.part(types, ty, 1).map_or(part.size, |(at, _)| at as usize),
            };
            let size = if self.wide { stride.checked_mul(count as usize)? } else { size };
            Some(Shape { size, kind: Kind::List { part, stride, count: count as usize } })
        };
        match types.get(ty) {
            Type::Unit => Some(Shape { size: 0, kind: Kind::Unit }),
            Type::Scalar(s) if self.wide => {
                Some(Shape { size: WORD as usize, kind: Kind::Scalar(s, Width::Wide) })
            }
            Type::Scalar(s) => {
                let bytes = rules.scalar_bytes(s);
                Some(Shape { size: bytes as usize, kind: Kind::Scalar(s, Width::Narrow(bytes as u8)) })
            }
            Type::Vector(..) | Type::Matrix(..) | Type::Array(..) => match types.arity(ty)? {
                0 => Some(Shape { size: 0, kind: Kind::Struct(Box::default()) }),
                count => list(types.part(ty, Some(0))?, count),
            },
            Type::Struct(id) => {
                let (mut fields, mut end) = (Vec::new(), 0);
                for (index, field) in types.struct_def(id).fields.iter().enumerate() {
                    let shape = part(field.ty)?;
                    let at = match self.wide {
                        true => end,
                        false => rules.part(types, ty, index as u32)?.0 as usize,
                    };
                    end = at + shape.size;
                    fields.push((at, shape));
                }
                let size = if self.wide { end } else { size };
                Some(Shape { size, kind: Kind::Struct(fields.into()) })
            }
            Type::Sum(id) => self.sum(types, types.struct_def(id), size),
            Type::Ref(inner) => Some(Shape { size: WORD as usize, kind: Kind::Pointer(inner) }),
            Type::Buffer(..) | Type::Opaque(_) => None,
        }
    }

    fn sum(&self, types: &Types, def: &StructDef, size: usize) -> Option<Shape> {
        let members = def.fields.iter().map(|member| self.under(types, member.ty, Rules::HELD).cloned());
        let members: Option<Box<[Arc<Shape>]>> = members.collect();
        let members = if def.ids.is_empty() { Box::default() } else { members? };
        let (id_at, held_at) = match (self.wide, def.ids.is_empty()) {
            (true, _) => (0, WORD as usize),
            // A sum without members consists of its number alone.
            (false, true) => (0, size),
            (false, false) => (layout::ID as usize, layout::HEADER as usize),
        };
        let widest = members.iter().map(|member| member.size).max().unwrap_or(0);
        let size = if self.wide { held_at + widest } else { size };
        Some(Shape { size, kind: Kind::Sum { ids: def.ids.clone().into(), members, id_at, held_at } })
    }

    /// Where a part begins, and how far equal parts are apart. Zero where there is no layout, since then nobody asks.
    pub(crate) fn part(&self, types: &Types, ty: Ty, index: Option<u32>) -> usize {
        // The elements of a buffer follow each other.
        let shape = if let Type::Buffer(elem, _) = types.get(ty) {
            let stride = self.shape(types, elem).map_or(0, |shape| shape.size);
            return index.map_or(stride, |index| stride * index as usize);
        } else {
            self.shape(types, ty)
        };
        match (shape.map(|shape| &shape.kind), index) {
            (Some(Kind::Struct(fields)), Some(index)) => {
                fields.get(index as usize).map_or(0, |field| field.0)
            }
            (Some(Kind::List { stride, .. }), Some(index)) => stride * index as usize,
            (Some(Kind::List { stride, .. }), None) => *stride,
            _ => 0,
        }
    }
}

impl Shape {
    /// The value at the start of `bytes`, which are long enough.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Val {
        match &self.kind {
            Kind::Unit => Val::Unit,
            Kind::Scalar(scalar, width) => Val::Scalar(read(*scalar, *width, bytes)),
            Kind::List { part, stride, count } => {
                Val::Aggregate((0..*count).map(|i| part.decode(&bytes[i * stride..])).collect())
            }
            Kind::Struct(fields) => {
                Val::Aggregate(fields.iter().map(|(at, shape)| shape.decode(&bytes[*at..])).collect())
            }
            Kind::Pointer(to) => Pointer::at(word(bytes, 8) as i64, *to),
            Kind::Sum { ids, members, id_at, held_at } => {
                let Some(word) = bytes.get(*id_at..).and_then(|bytes| bytes.first_chunk()) else {
                    return Val::unknown(0);
                };
                let id = u32::from_le_bytes(*word);
                match ids.iter().position(|known| *known == id) {
                    Some(member) => Val::sum(member as u32, members[member].decode(&bytes[*held_at..])),
                    None => Val::unknown(id),
                }
            }
        }
    }

    /// Writes `value` at the start of `bytes`. What nobody may look at leaves memory as it is.
    pub(crate) fn encode(&self, value: &Val, bytes: &mut [u8]) {
        match (&self.kind, value) {
            (Kind::Scalar(scalar, width), Val::Scalar(constant)) => write(*scalar, *width, *constant, bytes),
            (Kind::List { part, stride, .. }, Val::Aggregate(parts)) => {
                for (i, value) in parts.iter().enumerate() {
                    part.encode(value, &mut bytes[i * stride..]);
                }
            }
            (Kind::Struct(fields), Val::Aggregate(parts)) => {
                for ((at, shape), value) in fields.iter().zip(parts.iter()) {
                    shape.encode(value, &mut bytes[*at..]);
                }
            }
            (Kind::Sum { .. }, value) => self.encode_sum(value, bytes),
            (Kind::Pointer(_), Val::Null) => bytes[..8].fill(0),
            (Kind::Pointer(_), Val::Scalar(Const::Int(n))) => bytes[..8].copy_from_slice(&n.to_le_bytes()),
            (Kind::Pointer(_), Val::Pointer(pointer)) => {
                let address = pointer.number().unwrap_or(0);
                bytes[..8].copy_from_slice(&address.to_le_bytes());
            }
            (Kind::Unit | Kind::Scalar(..) | Kind::List { .. } | Kind::Struct(_) | Kind::Pointer(_), _) => {}
        }
    }

    /// Whether pointers are in values of this shape.
    pub(crate) fn has_pointers(&self) -> bool {
        match &self.kind {
            Kind::Pointer(_) => true,
            Kind::Unit | Kind::Scalar(..) => false,
            Kind::List { part, .. } => part.has_pointers(),
            Kind::Struct(fields) => fields.iter().any(|(_, shape)| shape.has_pointers()),
            Kind::Sum { members, .. } => members.iter().any(|shape| shape.has_pointers()),
        }
    }

    /// The value with numbers in place of its pointers; `address` says which.
    pub(crate) fn with_addresses(&self, value: &Val, address: &dyn Fn(&Val, Ty) -> Val) -> Val {
        match (&self.kind, value) {
            (Kind::Pointer(to), Val::Pointer(_) | Val::Handle(_)) => address(value, *to),
            (Kind::List { part, .. }, Val::Aggregate(parts)) => {
                Val::aggregate(parts.iter().map(|value| part.with_addresses(value, address)))
            }
            (Kind::Struct(fields), Val::Aggregate(parts)) => {
                let pairs = fields.iter().zip(parts.iter());
                Val::aggregate(pairs.map(|((_, shape), value)| shape.with_addresses(value, address)))
            }
            (Kind::Sum { members, .. }, Val::Aggregate(parts)) => {
                let member = parts[0].as_int().and_then(|tag| members.get(usize::try_from(tag).ok()?));
                match (member, &parts[..]) {
                    (Some(shape), [tag, held]) => {
                        Val::aggregate([tag.clone(), shape.with_addresses(held, address)])
                    }
                    _ => value.clone(),
                }
            }
            _ => value.clone(),
        }
    }

    /// A value that was written takes all bytes there are for it; one that is as it was keeps what the host left beside it.
    fn encode_sum(&self, value: &Val, bytes: &mut [u8]) {
        let Kind::Sum { ids, members, id_at, held_at } = &self.kind else { return };
        if ids.is_empty() || bytes.len() < self.size {
            return;
        }
        let [tag, inner] = value.parts() else { return };
        if let Some(id) = value.unknown_id() {
            return bytes[*id_at..][..4].copy_from_slice(&id.to_le_bytes());
        }
        let Some(member) = tag.as_int().map(|tag| tag as usize) else { return };
        let (Some(id), Some(shape)) = (ids.get(member), members.get(member)) else { return };
        if self.decode(bytes) == *value {
            return;
        }
        bytes[..self.size].fill(0);
        bytes[*id_at..][..4].copy_from_slice(&id.to_le_bytes());
        shape.encode(inner, &mut bytes[*held_at..]);
    }

    /// The scalar that lies at the start of `bytes`, if this is one.
    pub(crate) fn scalar(&self, bytes: &[u8]) -> Option<Const> {
        let Kind::Scalar(scalar, width) = self.kind else { return None };
        Some(read(scalar, width, bytes))
    }
}

/// Elements in C layout as they lie in wide memory.
pub(crate) fn widened(types: &Types, elem: Ty, bytes: &[u8]) -> Vec<u8> {
    converted(types, elem, bytes, false)
}

/// Elements in wide memory as they lie in C layout.
pub(crate) fn narrowed(types: &Types, elem: Ty, bytes: &[u8]) -> Vec<u8> {
    converted(types, elem, bytes, true)
}

fn converted(types: &Types, elem: Ty, bytes: &[u8], wide: bool) -> Vec<u8> {
    let (from, to) = (Layouts::new(types, wide), Layouts::new(types, !wide));
    let (Some(from), Some(to)) = (from.shape(types, elem), to.shape(types, elem)) else { return vec![] };
    let mut converted = vec![0; bytes.len() / from.size.max(1) * to.size];
    let chunks = bytes.chunks_exact(from.size.max(1)).zip(converted.chunks_exact_mut(to.size.max(1)));
    chunks.for_each(|(from_bytes, to_bytes)| to.encode(&from.decode(from_bytes), to_bytes));
    converted
}

fn word(bytes: &[u8], count: usize) -> u64 {
    let mut word = [0; 8];
    word[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(word)
}

fn read(scalar: Scalar, width: Width, bytes: &[u8]) -> Const {
    match (scalar, width) {
        (Scalar::F32, Width::Narrow(_)) => {
            let bytes = bytes.first_chunk().copied().unwrap_or_default();
            Const::float(f32::from_le_bytes(bytes).into())
        }
        // Where it takes a word, all of the word counts.
        (Scalar::Bool, Width::Narrow(count)) => Const::Bool(word(bytes, count.into()) != 0),
        (scalar, Width::Narrow(count)) => eval::from_bits(word(bytes, count.into()), scalar),
        (Scalar::Bool, Width::Wide) => Const::Bool(word(bytes, 8) != 0),
        (scalar, Width::Wide) if scalar.is_float() => Const::Float(word(bytes, 8)),
        (_, Width::Wide) => Const::Int(word(bytes, 8) as i64),
    }
}

fn write(scalar: Scalar, width: Width, value: Const, bytes: &mut [u8]) {
    let (bits, count) = match (value, width) {
        (Const::Float(bits), Width::Narrow(4)) => (u64::from((f64::from_bits(bits) as f32).to_bits()), 4),
        (value, Width::Narrow(count)) => (eval::bits(value, scalar), usize::from(count)),
        (Const::Float(bits), Width::Wide) => (bits, 8),
        (Const::Int(n), Width::Wide) => (n as u64, 8),
        (Const::Bool(b), Width::Wide) => (b.into(), 8),
    };
    bytes[..count].copy_from_slice(&bits.to_le_bytes()[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_ir::StructField;

    fn structure() -> (Types, Ty) {
        let mut types = Types::default();
        let (flag, unsigned) = (types.scalar(Scalar::Bool), types.scalar(Scalar::U64));
        let half2 = types.intern(Type::Vector(Scalar::F16, 2));
        let matrix = types.intern(Type::Matrix(Scalar::F32, 2, 2));
        let field = |name: &str, ty| StructField { name: name.into(), ty };
        let fields = vec![field("a", flag), field("b", half2), field("c", matrix), field("d", unsigned)];
        let id = types.add_struct("S".into(), fields);
        let ty = types.intern(Type::Struct(id));
        (types, ty)
    }

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        let (types, ty) = structure();
        let mut bytes = vec![0u8; 32];
        bytes[0] = 1;
        bytes[2..6].copy_from_slice(&[0, 0x3c, 0, 0xc0]);
        for (i, x) in [1f32, 2.0, 3.0, -4.5].iter().enumerate() {
            bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&x.to_le_bytes());
        }
        bytes[24..].copy_from_slice(&u64::MAX.to_le_bytes());
        let layouts = Layouts::new(&types, false);
        let shape = layouts.shape(&types, ty).unwrap();
        let value = shape.decode(&bytes);
        assert_eq!(value.parts()[1].parts()[1].as_float(), Some(-2.0));
        assert_eq!(value.parts()[2].parts()[1].parts()[1].as_float(), Some(-4.5));
        let mut back = vec![0u8; 32];
        shape.encode(&value, &mut back);
        assert_eq!(back, bytes);
    }

    #[test]
    fn wide_memory_rounds_nothing() {
        let (types, ty) = structure();
        let layouts = Layouts::new(&types, true);
        let shape = layouts.shape(&types, ty).unwrap();
        assert_eq!(shape.size, 8 * 8);
        let half2 = Val::floats(&[0.1, -0.3]);
        let matrix = Val::aggregate([Val::floats(&[1.0 / 3.0, 2.0]), Val::floats(&[3.0, 1e300])]);
        let value = Val::aggregate([Val::bool(true), half2, matrix, Val::int(-1)]);
        let mut bytes = vec![0; shape.size];
        shape.encode(&value, &mut bytes);
        assert_eq!(shape.decode(&bytes), value);
    }
}
