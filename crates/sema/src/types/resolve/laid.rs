//! Resolves `row_major` and `column_major` before the element type of a resource.
//!
//! A modifier that agrees with the default layout has no effect. Modifiers inside other types are recorded, and lowering
//! refuses them.

use crate::Checked;
use crate::facts::Facts;
use crate::hir::{Arg, Program, StructId, Ty, TyKind};
use crate::tables::{Item, ScopeId};
use cotangent_base::Span;
use cotangent_syntax::ast;

impl Checked {
    /// `T.Handle`, the handle of a resource.
    pub(crate) fn handle_of(&mut self, ty: Ty) -> Option<Ty> {
        let is_resource = self.program.is_handled(ty);
        let Some(Item::Struct(id)) = self.tables.lang.get(&"DescriptorHandle".into()) else { return None };
        let (id, args) = (*id, self.program.types.args(&[Arg::Ty(ty)]));
        is_resource.then(|| self.struct_ty(id, args))
    }

    /// The argument that `column_major float3x3`, the element of a resource, is.
    pub(super) fn laid_arg(&mut self, elem: &ast::Expr, row_major: bool, word: Span, scope: ScopeId) -> Arg {
        let elem = self.resolve_ty(elem, scope);
        let mut inner = elem;
        while let TyKind::Array(part, _) = self.program.types.kind(inner) {
            inner = part;
        }
        if matches!(self.program.types.kind(inner), TyKind::Matrix(..)) && self.facts().differs(row_major) {
            return Arg::Laid(elem, row_major);
        }
        self.note_idle_word(row_major, word);
        Arg::Ty(elem)
    }

    /// Notes a word that has no effect, if it asks for one.
    pub(super) fn note_idle_word(&mut self, row_major: bool, word: Span) {
        if self.facts().differs(row_major) {
            self.program.layout_words.push((row_major, word));
        }
    }
}

impl Facts<'_> {
    fn differs(self, row_major: bool) -> bool {
        row_major == self.tables.links.columns()
    }
}

impl Program {
    /// Whether a type is a resource that has handles.
    pub(crate) fn is_handled(&self, ty: Ty) -> bool {
        let TyKind::Struct(id, _) = self.types.kind(ty) else { return false };
        self.structs[id].magic.is_some_and(|magic| magic != *"ptr" && magic != *"handle")
    }

    /// Whether a type is a handle, which is compared as such.
    pub(crate) fn is_handle(&self, ty: Ty) -> bool {
        let TyKind::Struct(id, _) = self.types.kind(ty) else { return false };
        self.structs[id].magic.is_some_and(|magic| magic == *"handle")
    }

    /// Whether a structure is a resource whose element type may have a matrix layout modifier.
    pub(super) fn is_resource(&self, id: StructId) -> bool {
        let magic = self.structs[id].magic;
        magic.is_some_and(|m| {
            matches!(
                m.as_str(),
                "buffer" | "rwbuffer" | "constantbuffer" | "texturebuffer" | "parameterblock"
            )
        })
    }
}
