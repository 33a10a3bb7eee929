//! Evaluates `sizeof` and `alignof` as compile-time integers, for sizes and assertions.
//!
//! The rules are those of C: a scalar is aligned to its size, a vector or matrix to its scalar, a structure to its fields,
//! and a size is a multiple of the alignment. For a type with generic parameters, the result is a [`ValKind::Measure`] until
//! they are known. Lowering computes the size of types that depend on the target (resources, interface values).

use crate::Checked;
use crate::hir::{Measure, Ty, TyKind, Val, ValKind};

/// Size and alignment in bytes.
#[derive(Clone, Copy)]
struct Room {
    size: i64,
    align: i64,
}

/// Why a type has no room of its own.
enum NoRoom {
    /// It depends on generic parameters.
    Open,
    /// It is not a value in memory.
    Never,
}

impl Checked {
    /// The size or alignment of a type; none if it has no such thing.
    pub(crate) fn measure_val(&mut self, measure: Measure, ty: Ty) -> Option<Val> {
        match self.room(ty) {
            Ok(room) => Some(self.program.types.int_val(match measure {
                Measure::Size => room.size,
                Measure::Align => room.align,
            })),
            Err(NoRoom::Open) => Some(self.program.types.val(ValKind::Measure(measure, ty))),
            Err(NoRoom::Never) => None,
        }
    }

    fn room(&mut self, ty: Ty) -> Result<Room, NoRoom> {
        match self.program.types.kind(ty) {
            TyKind::Scalar(scalar) => {
                let size = scalar.bytes().into();
                Ok(Room { size, align: size })
            }
            TyKind::Vector(element, n) => self.repeated(element, &[n]),
            TyKind::Matrix(element, rows, columns) => self.repeated(element, &[rows, columns]),
            TyKind::Array(element, n) => self.repeated(element, &[n]),
            TyKind::Enum(id) => {
                self.ensure_enum(id);
                self.room(self.program.enums[id].underlying)
            }
            TyKind::Struct(id, args) if self.program.structs[id].magic.is_none() => {
                // `sizeof` counts one flag for nested optional values, as slangc does.
                if let Some(content) = self.facts().optional_content(ty)
                    && self.facts().optional_content(content).is_some()
                {
                    return self.room(content);
                }
                let fields = self.fields_under(id, args);
                self.joined(fields)
            }
            TyKind::Tuple(args) => {
                let fields = self.program.types.list(args).iter().filter_map(|arg| arg.ty()).collect();
                self.joined(fields)
            }
            TyKind::Param(_)
            | TyKind::Pack(_)
            | TyKind::Expand(..)
            | TyKind::Each(_)
            | TyKind::Part(..)
            | TyKind::Assoc(..) => Err(NoRoom::Open),
            TyKind::Struct(..)
            | TyKind::UnsizedArray(_)
            | TyKind::Interface(..)
            | TyKind::Void
            | TyKind::String
            | TyKind::None
            | TyKind::Error => Err(NoRoom::Never),
        }
    }

    fn repeated(&mut self, element: Ty, counts: &[Val]) -> Result<Room, NoRoom> {
        let mut room = self.room(element)?;
        for count in counts {
            let n = self.program.types.known(*count).ok_or(NoRoom::Open)?;
            room.size = room.size.saturating_mul(n);
        }
        Ok(room)
    }

    fn joined(&mut self, fields: Vec<Ty>) -> Result<Room, NoRoom> {
        let mut whole = Room { size: 0, align: 1 };
        for field in fields {
            let room = self.room(field)?;
            whole.size = round_up(whole.size, room.align).saturating_add(room.size);
            whole.align = whole.align.max(room.align);
        }
        whole.size = round_up(whole.size, whole.align);
        Ok(whole)
    }
}

fn round_up(size: i64, align: i64) -> i64 {
    size.saturating_add(align - 1) / align * align
}
