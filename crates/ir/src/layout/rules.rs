//! The sets of rules by which memory is laid out.
//!
//! All of them build a type from its parts; they differ in five questions, and [`Rules`] answers each by a small
//! function: how large a `bool` is, how a vector is aligned, what a matrix is made of, how elements of an array
//! follow each other, and where a structure ends.
//!
//! | rules                     | `bool` | vector of `n`            | array element       | structure               |
//! | ------------------------- | ------ | ------------------------ | ------------------- | ----------------------- |
//! | [`Set::C`]                | 1      | as its scalar            | as it is            | padded                  |
//! | [`Set::Cuda`]             | 1      | 2 and 4 as a whole       | as it is            | padded                  |
//! | [`Set::Std430`]           | 4      | as 2 or 4 scalars        | as it is            | padded                  |
//! | [`Set::Std140`]           | 4      | as 2 or 4 scalars        | multiple of 16      | padded, multiple of 16  |
//! | [`Set::D3dBuffer`]        | 4      | as its scalar            | as it is            | not padded at the end   |
//! | [`Set::D3dConstant`]      | 4      | within 16 bytes          | multiple of 16      | aligned to 16, not padded |
//! | [`Set::MetalBuffer`]      | 1      | as its scalar            | as it is            | padded                  |
//! | [`Set::MetalConstant`]    | 1      | 3 takes the room of 4    | as it is            | padded                  |
//!
//! A matrix is a list of its rows, or of its columns ([`Matrices`]). Where vectors are aligned as their scalars it is
//! just its numbers. What is empty takes no room and aligns nothing.

use super::{HEADER, Layout, MAX_SIZE, MAX_WEIGHT};
use crate::{StructDef, Ty, Type, Types};
use cotangent_base::Scalar;

/// Which of a matrix's vectors lie in one piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Matrices {
    /// Row by row.
    #[default]
    Rows,
    /// Column by column.
    Columns,
}

/// A set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Set {
    /// C and C++, where vectors are structures of scalars.
    C,
    /// CUDA, whose own vector types are aligned.
    Cuda,
    /// Storage buffers of Vulkan, OpenGL and WebGPU.
    Std430,
    /// Uniform buffers of Vulkan, OpenGL and WebGPU.
    Std140,
    /// Structured buffers of Direct3D.
    D3dBuffer,
    /// Constant buffers of Direct3D.
    D3dConstant,
    /// Device buffers of Metal, with packed vectors.
    MetalBuffer,
    /// Constant buffers of Metal, with its own vectors.
    MetalConstant,
}

/// How memory is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// The rules.
    pub set: Set,
    /// How matrices lie. C pays no heed to it.
    pub matrices: Matrices,
}

/// A layout before it is known whether there is one.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub size: u64,
    pub align: u64,
    /// Whether there is a handle in it.
    pub handle: bool,
}

impl Measure {
    pub const EMPTY: Measure = Measure { size: 0, align: 1, handle: false };

    fn scalars(bytes: u64, n: u64) -> Self {
        Measure { size: bytes * n, align: bytes, handle: false }
    }

    /// Room for either.
    fn or(self, other: Self) -> Self {
        let (size, align) = (self.size.max(other.size), self.align.max(other.align));
        Measure { size, align, handle: self.handle || other.handle }
    }
}

fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}

impl Rules {
    /// What the host uses.
    pub const C: Rules = Rules { set: Set::C, matrices: Matrices::Rows };

    /// How what a sum holds lies in memory that the host sees, on every target: numbers as close as their sizes allow, a `bool` as a
    /// word, and nothing at the end.
    pub const HELD: Rules = Rules { set: Set::D3dBuffer, matrices: Matrices::Rows };

    /// How much room `ty` takes. Handles have no layout here, nor has what is too large.
    pub fn layout(self, types: &Types, ty: Ty) -> Option<Layout> {
        let Measure { size, align, handle } = self.measure(types, ty, 0);
        (!handle && size <= MAX_SIZE).then_some(Layout { size: size as u32, align: align as u32 })
    }

    /// How many bytes lie from the start of one `elem` of an array or buffer to the next.
    pub fn stride(self, types: &Types, elem: Ty) -> Option<u32> {
        self.layout(types, elem)?;
        let stride = self.step(self.measure(types, elem, 0));
        (stride <= MAX_SIZE).then_some(stride as u32)
    }

    /// Where part `index` of `ty` begins, and its type. The rows of a matrix that lies column by column begin side by
    /// side; [`matrix_steps`](Self::matrix_steps) says where their numbers are.
    pub fn part(self, types: &Types, ty: Ty, index: u32) -> Option<(u32, Ty)> {
        let inner = types.part(ty, Some(index))?;
        let offset = match types.get(ty) {
            Type::Struct(id) => {
                let def = types.struct_def(id);
                // What a sum holds may be any of its members.
                if !def.ids.is_empty() {
                    return None;
                }
                let mut end = Measure::EMPTY;
                let mut at = 0;
                for (i, field) in def.fields[..=index as usize].iter().enumerate() {
                    (at, end) = self.followed_by(end, self.of_field(def, i).field(types, field.ty, 0));
                }
                at
            }
            Type::Matrix(s, r, c) => u64::from(self.matrix_steps(s, r, c).0) * u64::from(index),
            Type::Vector(s, _) => u64::from(self.scalar_bytes(s)) * u64::from(index),
            Type::Array(..) => self.step(self.measure(types, inner, 0)).saturating_mul(index.into()),
            Type::Unit
            | Type::Scalar(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => return None,
        };
        self.layout(types, inner)?;
        Some((u32::try_from(offset).ok()?, inner))
    }

    /// Where the fields of a structure begin if `packoffset` gives some of them a place. The others follow after those.
    pub fn packed_offsets(self, types: &Types, ty: Ty, at: &[Option<u32>]) -> Vec<u32> {
        self.packed(types, ty, at).0
    }

    /// As [`packed_offsets`](Self::packed_offsets), and the whole.
    pub(super) fn packed(self, types: &Types, ty: Ty, at: &[Option<u32>]) -> (Vec<u32>, Measure) {
        let Type::Struct(id) = types.get(ty) else { return (vec![], self.measure(types, ty, 0)) };
        let def = types.struct_def(id);
        let fields = &def.fields;
        let given = |index: usize| at.get(index).copied().flatten();
        let mut offsets = vec![0; fields.len()];
        let mut all = Measure::EMPTY;
        for (index, field) in fields.iter().enumerate() {
            if let Some(at) = given(index) {
                let field = self.of_field(def, index).measure(types, field.ty, 0);
                offsets[index] = at;
                all.size = all.size.max(u64::from(at).saturating_add(field.size));
                all.align = all.align.max(field.align);
            }
        }
        for (index, field) in fields.iter().enumerate().filter(|(index, _)| given(*index).is_none()) {
            let at;
            (at, all) = self.followed_by(all, self.of_field(def, index).field(types, field.ty, 0));
            offsets[index] = at as u32;
        }
        (offsets, self.structure(all))
    }

    /// How many bytes lie between one row and the next, and between one column and the next.
    pub fn matrix_steps(self, s: Scalar, r: u8, c: u8) -> (u32, u32) {
        let one = self.scalar_bytes(s);
        let columns = self.matrices == Matrices::Columns && self.set != Set::C;
        let minor = if columns { r } else { c };
        let whole = match self.set {
            Set::C | Set::D3dBuffer | Set::MetalBuffer => one * u32::from(minor),
            Set::Cuda | Set::Std430 | Set::Std140 | Set::D3dConstant | Set::MetalConstant => {
                self.step(self.vector(s, minor)) as u32
            }
        };
        if columns { (one, whole) } else { (whole, one) }
    }

    /// The rules for a field: it may say itself how its matrix lies.
    pub fn of_field(self, def: &StructDef, index: usize) -> Rules {
        Rules { matrices: def.own_matrices(index).unwrap_or(self.matrices), ..self }
    }

    /// How many bytes a scalar takes.
    pub fn scalar_bytes(self, s: Scalar) -> u32 {
        match self.set {
            Set::Std430 | Set::Std140 | Set::D3dBuffer | Set::D3dConstant if s == Scalar::Bool => 4,
            Set::C
            | Set::Cuda
            | Set::Std430
            | Set::Std140
            | Set::D3dBuffer
            | Set::D3dConstant
            | Set::MetalBuffer
            | Set::MetalConstant => s.bytes(),
        }
    }

    /// Measures a type. What is empty takes `least` bytes.
    pub(super) fn measure(self, types: &Types, ty: Ty, least: u64) -> Measure {
        if types.weight(ty) > MAX_WEIGHT {
            return Measure { size: u64::MAX, ..Measure::EMPTY };
        }
        let mut whole = match types.get(ty) {
            Type::Unit => Measure::EMPTY,
            Type::Scalar(s) => Measure::scalars(self.scalar_bytes(s).into(), 1),
            Type::Vector(s, n) => self.vector(s, n),
            Type::Matrix(s, r, c) => self.matrix(s, r, c),
            Type::Array(elem, n) => self.array(self.measure(types, elem, least), n),
            Type::Struct(id) if !types.struct_def(id).ids.is_empty() => {
                self.sum(types, types.struct_def(id), least)
            }
            Type::Struct(id) => {
                let def = types.struct_def(id);
                let all = def.fields.iter().enumerate().fold(Measure::EMPTY, |all, (i, field)| {
                    self.followed_by(all, self.of_field(def, i).field(types, field.ty, least)).1
                });
                self.structure(all)
            }
            Type::Sum(id) => self.sum(types, types.struct_def(id), least),
            Type::Buffer(..) | Type::Opaque(_) => Measure { size: 8, align: 8, handle: true },
            // The address of what a pointer leads to.
            Type::Ref(_) => Measure { size: 8, align: 8, handle: false },
        };
        whole.size = whole.size.max(least);
        whole
    }

    /// Where the host sees a sum, it is words whose number does not depend on the target; elsewhere nobody asks for its bytes.
    fn sum(self, types: &Types, def: &StructDef, least: u64) -> Measure {
        let largest = |rules: Rules| {
            let members = def.members().iter().map(|f| rules.measure(types, f.ty, least));
            members.fold(Measure::EMPTY, Measure::or)
        };
        if def.ids.is_empty() {
            return self.structure(self.followed_by(Measure::scalars(4, 1), (largest(self), false)).1);
        }
        let room = largest(Rules::HELD);
        let size = u64::from(HEADER).saturating_add(def.room.map_or(room.size, u64::from));
        let align = if self.set == Set::D3dConstant { 16 } else { 4 };
        Measure { size: round_up(size, 4), align, handle: room.handle }
    }

    fn vector(self, s: Scalar, n: u8) -> Measure {
        let one = u64::from(self.scalar_bytes(s));
        let packed = Measure::scalars(one, n.into());
        let whole = one * u64::from(n).next_power_of_two();
        match self.set {
            Set::C | Set::D3dBuffer | Set::D3dConstant | Set::MetalBuffer => packed,
            Set::Std430 | Set::Std140 => Measure { align: whole, ..packed },
            Set::MetalConstant => Measure { size: whole, align: whole, ..packed },
            // CUDA has no vectors of three or four halves: they are two pairs.
            Set::Cuda if s == Scalar::F16 && n > 1 => Measure { size: whole, align: 4, ..packed },
            Set::Cuda if n == 3 => packed,
            Set::Cuda => Measure { align: whole.min(16), ..packed },
        }
    }

    fn matrix(self, s: Scalar, r: u8, c: u8) -> Measure {
        let one = u64::from(self.scalar_bytes(s));
        match (self.set, self.matrices) {
            (Set::C | Set::D3dBuffer | Set::MetalBuffer, _) => {
                Measure::scalars(one, u64::from(r) * u64::from(c))
            }
            (Set::Cuda | Set::Std430 | Set::Std140 | Set::D3dConstant | Set::MetalConstant, matrices) => {
                let (count, lanes) = if matrices == Matrices::Rows { (r, c) } else { (c, r) };
                self.array(self.vector(s, lanes), count.into())
            }
        }
    }

    pub(super) fn array(self, elem: Measure, n: u32) -> Measure {
        if n == 0 || elem.size == 0 {
            return Measure { handle: elem.handle, ..Measure::EMPTY };
        }
        let (stride, align) = (self.step(elem), self.element_align(elem));
        let size = match self.set {
            // Nothing follows the last element.
            Set::D3dBuffer | Set::D3dConstant => {
                stride.saturating_mul(u64::from(n) - 1).saturating_add(elem.size)
            }
            Set::C | Set::Cuda | Set::Std430 | Set::Std140 | Set::MetalBuffer | Set::MetalConstant => {
                stride.saturating_mul(n.into())
            }
        };
        Measure { size, align, handle: elem.handle }
    }

    fn element_align(self, elem: Measure) -> u64 {
        match self.set {
            Set::Std140 | Set::D3dConstant => round_up(elem.align, 16),
            Set::C | Set::Cuda | Set::Std430 | Set::D3dBuffer | Set::MetalBuffer | Set::MetalConstant => {
                elem.align
            }
        }
    }

    fn step(self, elem: Measure) -> u64 {
        round_up(elem.size, self.element_align(elem))
    }

    /// A field: its room, and whether it may lie across 16 bytes.
    pub(super) fn field(self, types: &Types, ty: Ty, least: u64) -> (Measure, bool) {
        let whole = matches!(types.get(ty), Type::Scalar(_) | Type::Vector(..));
        (self.measure(types, ty, least), whole && self.set == Set::D3dConstant)
    }

    /// Where a field begins after `all`, and both together, not yet padded.
    pub(super) fn followed_by(self, all: Measure, (field, within_16): (Measure, bool)) -> (u64, Measure) {
        let handle = all.handle || field.handle;
        if field.size == 0 {
            return (all.size, Measure { handle, ..all });
        }
        let mut at = round_up(all.size, field.align);
        if within_16 && at % 16 + field.size > 16 {
            at = round_up(at, 16);
        }
        (at, Measure { size: at.saturating_add(field.size), align: all.align.max(field.align), handle })
    }

    pub(super) fn structure(self, all: Measure) -> Measure {
        let align = match self.set {
            Set::Std140 | Set::D3dConstant => round_up(all.align, 16),
            Set::C | Set::Cuda | Set::Std430 | Set::D3dBuffer | Set::MetalBuffer | Set::MetalConstant => {
                all.align
            }
        };
        let size = match self.set {
            Set::D3dBuffer | Set::D3dConstant => all.size,
            Set::C | Set::Cuda | Set::Std430 | Set::Std140 | Set::MetalBuffer | Set::MetalConstant => {
                round_up(all.size, align)
            }
        };
        Measure { size, align, ..all }
    }
}
