//! Emits types. naga lays them out by WGSL's rules.

use crate::func::plain_name;
use crate::refuse::refuse;
use crate::{Emitter, Result, unsupported};
use cotangent_base::{Scalar, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{StructId, Ty, Type};
use naga::{Handle, Span as NoSpan, StructMember, TypeInner, VectorSize};
use std::num::NonZeroU32;

/// The size of the largest type that naga takes.
const MOST_BYTES: u64 = i32::MAX as u64;

/// Size and alignment by WGSL's rules. Those of a type that [`Emitter::sized`] refuses may be too small.
#[derive(Clone, Copy)]
struct Layout {
    size: u64,
    align: u64,
}

impl Layout {
    fn stride(self) -> u64 {
        self.size.next_multiple_of(self.align)
    }
}

/// The size of a vector, unless it is a vector of one, which is emitted as a scalar.
pub(crate) fn vector_size(n: u8) -> Option<VectorSize> {
    match n {
        2 => Some(VectorSize::Bi),
        3 => Some(VectorSize::Tri),
        4 => Some(VectorSize::Quad),
        _ => None,
    }
}

/// A number of bytes as naga counts them.
fn bytes(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Whether a matrix can be one of naga's; others are arrays of rows.
pub(crate) fn is_native_matrix(scalar: Scalar, rows: u8, columns: u8) -> bool {
    scalar.is_float() && (2..=4).contains(&rows) && (2..=4).contains(&columns)
}

impl Emitter<'_> {
    /// A type without a name.
    pub fn plain(&mut self, inner: TypeInner) -> Handle<naga::Type> {
        self.out.types.insert(naga::Type { name: None, inner }, NoSpan::UNDEFINED)
    }

    /// The scalar that stands for one of ours, if the target has it.
    pub fn scalar(&self, scalar: Scalar, span: Span) -> Result<naga::Scalar> {
        let (feature, found) = match scalar {
            Scalar::Bool => return Ok(naga::Scalar::BOOL),
            Scalar::F32 => return Ok(naga::Scalar::F32),
            Scalar::I32 => return Ok(naga::Scalar::I32),
            Scalar::U32 => return Ok(naga::Scalar::U32),
            Scalar::I8 | Scalar::I16 => (Feature::NarrowInt, naga::Scalar::I32),
            Scalar::U8 | Scalar::U16 => (Feature::NarrowInt, naga::Scalar::U32),
            Scalar::I64 => (Feature::Int64, naga::Scalar::I64),
            Scalar::U64 => (Feature::Int64, naga::Scalar::U64),
            Scalar::F16 => (Feature::Half, naga::Scalar::F16),
            Scalar::F64 => (Feature::Double, naga::Scalar::F64),
        };
        self.require(feature, span, &format!("the type {scalar} does not exist"))?;
        Ok(found)
    }

    /// The emitted form of a value's type.
    pub fn ty(&mut self, ty: Ty, span: Span) -> Result<Handle<naga::Type>> {
        if let Some(handle) = self.types.get(&ty) {
            return Ok(*handle);
        }
        let handle = match self.module.types.get(ty) {
            Type::Unit => self.plain(TypeInner::Scalar(naga::Scalar::U32)),
            Type::Scalar(s) => {
                let scalar = self.scalar(s, span)?;
                self.plain(TypeInner::Scalar(scalar))
            }
            Type::Vector(s, n) => self.vector(s, n, span)?,
            Type::Matrix(s, r, c) => self.matrix(s, r, c, span)?,
            Type::Array(elem, n) => {
                let base = self.ty(elem, span)?;
                self.array(base, n)
            }
            Type::Struct(id) => self.structure(id, span)?,
            Type::Sum(_) => return unsupported(span, "a sum must have become a structure before"),
            Type::Opaque(_) => {
                let what = "a texture or sampler in a value is not supported";
                return refuse(Feature::ResourceValue, span, what);
            }
            Type::Ref(_) => {
                let what = "a pointer chosen at run time is not supported";
                return refuse(Feature::PointerValue, span, what);
            }
            Type::Buffer(..) => {
                let what = "a buffer cannot be passed to a function that is not inlined";
                return refuse(Feature::BufferArgument, span, what);
            }
        };
        self.sized(handle, span)?;
        self.types.insert(ty, handle);
        Ok(handle)
    }

    /// Refuses a type that is too large as the target stores it, where small integers take four bytes.
    pub fn sized(&self, ty: Handle<naga::Type>, span: Span) -> Result<()> {
        self.fits(self.layout(ty).size, span)
    }

    /// Refuses something of so many bytes if naga does not take it.
    pub fn fits(&self, bytes: u64, span: Span) -> Result<()> {
        match bytes > MOST_BYTES {
            true => refuse(Feature::HugeValue, span, "a value of 2 GiB or more is not supported"),
            false => Ok(()),
        }
    }

    fn vector(&mut self, s: Scalar, n: u8, span: Span) -> Result<Handle<naga::Type>> {
        let scalar = self.scalar(s, span)?;
        Ok(match vector_size(n) {
            Some(size) => self.plain(TypeInner::Vector { size, scalar }),
            None => self.plain(TypeInner::Scalar(scalar)),
        })
    }

    fn matrix(&mut self, s: Scalar, r: u8, c: u8, span: Span) -> Result<Handle<naga::Type>> {
        if let (true, Some(columns), Some(rows)) = (is_native_matrix(s, r, c), vector_size(r), vector_size(c))
        {
            let scalar = self.scalar(s, span)?;
            return Ok(self.plain(TypeInner::Matrix { columns, rows, scalar }));
        }
        let row = self.vector(s, c, span)?;
        Ok(self.array(row, r.into()))
    }

    pub fn array(&mut self, base: Handle<naga::Type>, n: u32) -> Handle<naga::Type> {
        let stride = bytes(self.layout(base).stride());
        let size = naga::ArraySize::Constant(NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN));
        self.plain(TypeInner::Array { base, size, stride })
    }

    /// The type of a whole buffer.
    pub fn runtime_array(&mut self, elem: Ty, span: Span) -> Result<Handle<naga::Type>> {
        let base = self.ty(elem, span)?;
        Ok(self.runtime_array_of(base))
    }

    /// An array of elements of one of naga's types whose number is known when it runs.
    pub fn runtime_array_of(&mut self, base: Handle<naga::Type>) -> Handle<naga::Type> {
        let stride = bytes(self.layout(base).stride());
        self.plain(TypeInner::Array { base, size: naga::ArraySize::Dynamic, stride })
    }

    fn structure(&mut self, id: StructId, span: Span) -> Result<Handle<naga::Type>> {
        let def = self.module.types.struct_def(id);
        let mut fields = Vec::new();
        for field in &def.fields {
            fields.push((field.name.to_string(), self.ty(field.ty, span)?));
        }
        Ok(self.structure_of(&plain_name(def.name), fields))
    }

    /// A structure with these members; an empty one gets one that nobody reads, since WGSL has no empty ones.
    pub fn structure_of(
        &mut self,
        name: &str,
        mut fields: Vec<(String, Handle<naga::Type>)>,
    ) -> Handle<naga::Type> {
        if fields.is_empty() {
            fields.push(("nothing".to_string(), self.plain(TypeInner::Scalar(naga::Scalar::U32))));
        }
        self.bound_structure(name, fields.into_iter().map(|(name, ty)| (name, ty, None)).collect())
    }

    /// A structure whose members may come from or go to other stages.
    pub fn bound_structure(
        &mut self,
        name: &str,
        fields: Vec<(String, Handle<naga::Type>, Option<naga::Binding>)>,
    ) -> Handle<naga::Type> {
        let (mut offset, mut align, mut members) = (0u64, 1, Vec::new());
        for (name, ty, binding) in fields {
            let layout = self.layout(ty);
            offset = offset.next_multiple_of(layout.align);
            members.push(StructMember { name: Some(name), ty, binding, offset: bytes(offset) });
            offset += layout.size;
            align = align.max(layout.align);
        }
        let inner = TypeInner::Struct { members, span: bytes(offset.next_multiple_of(align)) };
        self.out.types.insert(naga::Type { name: Some(name.to_string()), inner }, NoSpan::UNDEFINED)
    }

    /// How many bytes a type takes, and what its address is a multiple of.
    pub fn size_and_align(&self, ty: Handle<naga::Type>) -> (u32, u32) {
        let Layout { size, align } = self.layout(ty);
        (bytes(size), bytes(align))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn layout(&self, ty: Handle<naga::Type>) -> Layout {
        let bytes = |scalar: naga::Scalar| {
            if scalar == naga::Scalar::BOOL { 4 } else { u64::from(scalar.width) }
        };
        let vector = |n: VectorSize, scalar| {
            let n = n as u64;
            Layout { size: n * bytes(scalar), align: n.next_power_of_two() * bytes(scalar) }
        };
        match &self.out.types[ty].inner {
            TypeInner::Scalar(scalar) => Layout { size: bytes(*scalar), align: bytes(*scalar) },
            TypeInner::Vector { size, scalar } => vector(*size, *scalar),
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = vector(*rows, *scalar);
                Layout { size: column.stride() * *columns as u64, align: column.align }
            }
            TypeInner::Array { base, size, stride } => {
                let n = if let naga::ArraySize::Constant(n) = size { n.get() } else { 1 };
                Layout { size: u64::from(n) * u64::from(*stride), align: self.layout(*base).align }
            }
            TypeInner::Struct { members, span } => {
                let align = members.iter().map(|m| self.layout(m.ty).align).max().unwrap_or(1);
                Layout { size: u64::from(*span), align }
            }
            _ => Layout { size: 4, align: 4 },
        }
    }
}
