//! Generic arguments that say how or where a value is stored.
//!
//! The last arguments of `matrix<T, R, C, L>`, `Ptr<T, Access.Read, AddressSpace.Device, Layout>` and `StructuredBuffer<T, Layout>` are
//! not part of the type in this compiler: they are checked and dropped. Three of them have an effect. A read-only pointer is a
//! separate type. The layout of a buffer, and a matrix layout that differs from the default, are recorded, and lowering
//! refuses those that it does not support.
//!
//! A generic parameter among these arguments (`extension<T, let R : int, let C : int, let L : int> matrix<T, R, C, L>`) is bound
//! to what holds for all types: the default layout, any access, memory of the device.

use crate::Checked;
use crate::facts::Facts;
use crate::hir::{Arg, GenericParamId, StructId, TyKind, ValKind};
use crate::tables::{Builtin, Item, ScopeId};
use cotangent_base::Symbol;
use cotangent_syntax::ast;

/// What an argument says.
#[derive(Clone, Copy)]
enum Says {
    /// Whether the matrix is row-major (1), column-major (2) or like all matrices (0).
    MatrixLayout,
    /// What a pointer may be used for.
    Access,
    /// Where a pointer leads.
    Space,
    /// How what is behind a pointer or in a buffer is laid out.
    Layout,
}

/// A structure without the arguments that say how or where values are stored.
pub(super) struct Stored<'e> {
    /// The structure that is meant.
    pub meant: StructId,
    /// The other arguments.
    pub args: &'e [ast::Expr],
    /// The layout of a buffer.
    pub layout: Option<Symbol>,
}

/// `AddressSpace.Device`.
const DEVICE: i64 = 0x7fff_fffd;

impl Checked {
    /// Removes the arguments of a structure that say how or where values are stored.
    pub(super) fn without_storage<'e>(
        &mut self,
        id: StructId,
        args: &'e [ast::Expr],
        scope: ScopeId,
    ) -> Stored<'e> {
        let mut stored = Stored { meant: id, args, layout: None };
        let (count, says): (usize, &[Says]) = match self.program.structs[id].magic {
            Some(magic) if magic == *"ptr" => (1, &[Says::Access, Says::Space, Says::Layout]),
            Some(magic) if has_layout(magic.as_str()) => (1, &[Says::Layout]),
            _ if self.tables.structs[id].builtin == Some(Builtin::Matrix) => (3, &[Says::MatrixLayout]),
            _ => return stored,
        };
        if args.len() <= count || args.len() > count + says.len() {
            return stored;
        }
        stored.args = &args[..count];
        for (says, arg) in says.iter().zip(&args[count..]) {
            match says {
                Says::Layout => stored.layout = self.layout_name(arg, scope),
                Says::MatrixLayout | Says::Access | Says::Space => {
                    if self.forbids_stores(*says, arg, scope) {
                        stored.meant = self.facts().reading(id);
                    }
                }
            }
        }
        stored
    }

    /// The name of a layout.
    fn layout_name(&mut self, arg: &ast::Expr, scope: ScopeId) -> Option<Symbol> {
        let layout = self.resolve_ty(arg, scope);
        match self.program.types.kind(layout) {
            TyKind::Struct(id, _) => Some(self.program.structs[id].name),
            TyKind::Param(param) => {
                self.describe(param, Arg::Ty(layout));
                None
            }
            _ => None,
        }
    }

    /// Checks an argument that is a value; says whether it forbids stores.
    fn forbids_stores(&mut self, says: Says, arg: &ast::Expr, scope: ScopeId) -> bool {
        let val = self.const_val(arg, scope);
        let usual = match says {
            Says::Space => DEVICE,
            Says::MatrixLayout | Says::Access | Says::Layout => 0,
        };
        if let ValKind::Param(param) = self.program.types.val_kind(val) {
            let usual = Arg::Val(self.program.types.int_val(usual));
            self.describe(param, usual);
        }
        match (says, self.program.types.known(val)) {
            (Says::MatrixLayout, Some(layout @ 1..=2)) => {
                self.note_idle_word(layout == 1, arg.span);
                false
            }
            (Says::Access, Some(access)) => access != 0,
            _ => false,
        }
    }

    /// Notes what a generic parameter is bound to if nothing else binds it.
    fn describe(&mut self, param: GenericParamId, usual: Arg) {
        self.tables.generics.set_usual(param, usual);
    }
}

impl Facts<'_> {
    /// The pointers that only read.
    fn reading(self, id: StructId) -> StructId {
        match self.tables.lang.get(&"ReadPtr".into()) {
            Some(Item::Struct(reading)) => *reading,
            _ => id,
        }
    }
}

/// Whether a resource may have a layout as its second argument.
fn has_layout(magic: &str) -> bool {
    matches!(magic, "buffer" | "rwbuffer" | "constantbuffer" | "texturebuffer" | "parameterblock")
}
