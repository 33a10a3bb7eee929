//! The shape of a type: its leaves, and their layout in memory.
//!
//! In its own memory, native code uses C layout; a sum is a structure of its leaves. So a type without sums and handles has
//! the same layout as in buffers of the host.

use cotangent_base::{Map, Scalar};
use cotangent_ir::{Ty, Type, Types};
use cranelift_codegen::ir::{Type as Native, types};
use std::cell::RefCell;
use std::rc::Rc;

/// Arrays of more leaves than this lie in memory: selecting among many costs more than an access.
const MOST_OF_ARRAY: u64 = 4;

/// Anything of more leaves than this does.
const MOST: u64 = 64;

/// One Cranelift value of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    Scalar(Scalar),
    /// The number of a global, plus one.
    Handle,
    /// 64 bits of a pointer.
    Word,
}

impl Leaf {
    /// Its type in registers.
    pub fn native(self) -> Native {
        match self {
            Leaf::Scalar(scalar) => native(scalar),
            Leaf::Handle => types::I32,
            Leaf::Word => types::I64,
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Leaf::Scalar(scalar) => scalar.bytes().into(),
            Leaf::Handle => 4,
            Leaf::Word => 8,
        }
    }
}

/// The type of a scalar in registers.
pub(crate) fn native(scalar: Scalar) -> Native {
    match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 => types::I8,
        Scalar::I16 | Scalar::U16 => types::I16,
        Scalar::I32 | Scalar::U32 => types::I32,
        Scalar::I64 | Scalar::U64 => types::I64,
        Scalar::F16 | Scalar::F32 => types::F32,
        Scalar::F64 => types::F64,
    }
}

/// A part of an aggregate, or a leaf or member of a sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub ty: Ty,
    /// The byte where it begins.
    pub offset: u64,
    /// The number of its first leaf.
    pub leaf: u64,
}

/// Measures of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub size: u64,
    pub align: u64,
    pub leaves: u64,
    pub has_array: bool,
    /// Whether it lies as C lays it out: there are no sums and handles in it.
    pub plain: bool,
    /// Whether sums or handles of resources are in it. What is neither plain nor opaque has pointers, which lie in all memory as
    /// addresses, in C layout.
    pub opaque: bool,
    pub has_float: bool,
}

impl Shape {
    const EMPTY: Shape = Shape {
        size: 0,
        align: 1,
        leaves: 0,
        has_array: false,
        plain: true,
        opaque: false,
        has_float: false,
    };

    /// Whether values lie in memory.
    pub fn in_memory(&self) -> bool {
        self.leaves > MOST || self.has_array && self.leaves > MOST_OF_ARRAY
    }

    /// This and another one after it: where that begins.
    fn push(&mut self, other: Shape) -> u64 {
        self.has_array |= other.has_array;
        self.has_float |= other.has_float;
        self.plain &= other.plain;
        self.opaque |= other.opaque;
        self.leaves = self.leaves.saturating_add(other.leaves);
        if other.size == 0 {
            return self.size;
        }
        let at = self.size.next_multiple_of(other.align);
        self.align = self.align.max(other.align);
        self.size = at.saturating_add(other.size).min(1 << 48);
        at
    }

    fn padded(mut self) -> Shape {
        self.size = self.size.next_multiple_of(self.align);
        self
    }
}

/// The leaves of pointers.
const POINTER: [Leaf; 4] = [Leaf::Handle, Leaf::Word, Leaf::Word, Leaf::Word];

/// Leaves with the bytes where they lie.
pub(crate) type Leaves = Rc<[(Leaf, u32)]>;

/// The shapes of a module's types.
pub(crate) struct Shapes<'m> {
    pub types: &'m Types,
    known: RefCell<Map<Ty, Shape>>,
    flat: RefCell<Map<Ty, Leaves>>,
}

impl<'m> Shapes<'m> {
    pub fn new(types: &'m Types) -> Self {
        Shapes { types, known: RefCell::default(), flat: RefCell::default() }
    }

    /// The measures of a type.
    pub fn shape(&self, ty: Ty) -> Shape {
        if let Some(shape) = self.known.borrow().get(&ty) {
            return *shape;
        }
        let shape = self.measure(ty);
        self.known.borrow_mut().insert(ty, shape);
        shape
    }

    fn measure(&self, ty: Ty) -> Shape {
        let scalars = |scalar: Scalar, n: u64| {
            let bytes = u64::from(scalar.bytes());
            let has_float = scalar.is_float();
            Shape { size: bytes * n, align: bytes, leaves: n, has_float, ..Shape::EMPTY }
        };
        let handles = |leaves: &[Leaf]| {
            let mut all = Shape { plain: false, opaque: leaves.len() == 1, ..Shape::EMPTY };
            for leaf in leaves {
                all.push(Shape { size: leaf.bytes(), align: leaf.bytes(), leaves: 1, ..Shape::EMPTY });
            }
            all.padded()
        };
        match self.types.get(ty) {
            Type::Unit => Shape::EMPTY,
            Type::Scalar(s) => scalars(s, 1),
            Type::Vector(s, n) => scalars(s, n.into()),
            Type::Matrix(s, r, c) => scalars(s, u64::from(r) * u64::from(c)),
            Type::Array(elem, n) => {
                let one = self.shape(elem);
                Shape {
                    size: one.size.saturating_mul(n.into()).min(1 << 48),
                    leaves: one.leaves.saturating_mul(n.into()),
                    has_array: true,
                    ..one
                }
            }
            Type::Struct(id) => {
                let mut all = Shape::EMPTY;
                for field in &self.types.struct_def(id).fields {
                    all.push(self.shape(field.ty));
                }
                all.padded()
            }
            Type::Sum(id) => {
                let mut all = Shape { plain: false, opaque: true, ..self.header() };
                for member in &self.types.struct_def(id).fields {
                    all.push(self.shape(member.ty));
                }
                all.padded()
            }
            Type::Buffer(..) | Type::Opaque(_) => handles(&POINTER[..1]),
            Type::Ref(_) => handles(&POINTER),
        }
    }

    /// What every sum begins with: the number of the member, and the number that the host gave.
    fn header(&self) -> Shape {
        Shape { size: 8, align: 4, leaves: 2, ..Shape::EMPTY }
    }

    /// Part `index` of an aggregate.
    pub fn part(&self, ty: Ty, index: u32) -> Option<Part> {
        let inner = self.types.part(ty, Some(index))?;
        if let Type::Struct(id) = self.types.get(ty) {
            let fields = self.types.struct_def(id).fields.iter().map(|f| f.ty);
            return self.field(Shape::EMPTY, fields, index);
        }
        let one = self.shape(inner);
        let (offset, leaf) = (one.size * u64::from(index), one.leaves * u64::from(index));
        Some(Part { ty: inner, offset, leaf })
    }

    /// What a sum holds if it is that member.
    pub fn member(&self, ty: Ty, index: u32) -> Option<Part> {
        let members = self.types.members(ty)?.iter().map(|f| f.ty);
        self.field(self.header(), members, index)
    }

    fn field(&self, mut before: Shape, fields: impl Iterator<Item = Ty>, index: u32) -> Option<Part> {
        for (number, ty) in (0..).zip(fields) {
            let leaf = before.leaves;
            let offset = before.push(self.shape(ty));
            if number == index {
                return Some(Part { ty, offset, leaf });
            }
        }
        None
    }

    /// All leaves of a type, of which there are not too many.
    pub fn leaves(&self, ty: Ty) -> Leaves {
        if let Some(leaves) = self.flat.borrow().get(&ty) {
            return Rc::clone(leaves);
        }
        let mut all = Vec::new();
        self.flatten(ty, 0, &mut all);
        let leaves: Leaves = all.into();
        self.flat.borrow_mut().insert(ty, Rc::clone(&leaves));
        leaves
    }

    fn flatten(&self, ty: Ty, at: u64, all: &mut Vec<(Leaf, u32)>) {
        match self.types.get(ty) {
            Type::Unit => {}
            Type::Scalar(s) => all.push((Leaf::Scalar(s), at as u32)),
            Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
                for part in (0..).map_while(|index| self.part(ty, index)) {
                    self.flatten(part.ty, at + part.offset, all);
                }
            }
            Type::Sum(_) => {
                all.push((Leaf::Scalar(Scalar::I32), at as u32));
                all.push((Leaf::Scalar(Scalar::U32), at as u32 + 4));
                for part in (0..).map_while(|index| self.member(ty, index)) {
                    self.flatten(part.ty, at + part.offset, all);
                }
            }
            Type::Buffer(..) | Type::Opaque(_) => all.push((Leaf::Handle, at as u32)),
            Type::Ref(_) => {
                let mut shape = Shape::EMPTY;
                for leaf in POINTER {
                    let one = Shape { size: leaf.bytes(), align: leaf.bytes(), ..Shape::EMPTY };
                    all.push((leaf, (at + shape.push(one)) as u32));
                }
            }
        }
    }
}
