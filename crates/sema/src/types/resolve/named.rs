//! Resolves named types: structures with their arguments, aliases, `This`, and shapes such as `float3x4`.

use super::Path;
use crate::Checked;
use crate::codes;
use crate::hir::{Arg, Args, StructId, Ty, TyKind, Types, Val, ValKind};
use crate::tables::{AliasId, Builtin, Owner, Progress, ScopeId, Tables};
use cotangent_base::{Diagnostic, Span, Symbol};

impl Checked {
    /// A structure with arguments; those that describe built-in types are the built-in types.
    pub(crate) fn struct_ty(&mut self, id: StructId, args: Args) -> Ty {
        let list = self.program.types.list(args).to_vec();
        let kind = match (self.tables.structs[id].builtin, list.as_slice()) {
            (Some(Builtin::Scalar(scalar)), _) => TyKind::Scalar(scalar),
            (Some(Builtin::Void), _) => TyKind::Void,
            (Some(Builtin::String), _) => TyKind::String,
            (Some(Builtin::Vector), [Arg::Ty(t), Arg::Val(n)]) => TyKind::Vector(*t, *n),
            (Some(Builtin::Matrix), [Arg::Ty(t), Arg::Val(r), Arg::Val(c), ..]) => TyKind::Matrix(*t, *r, *c),
            (Some(Builtin::Array), [Arg::Ty(t), Arg::Val(n)]) => TyKind::Array(*t, *n),
            _ => {
                self.tables.mention(id);
                TyKind::Struct(id, args)
            }
        };
        self.program.types.ty(kind)
    }

    /// What an alias stands for, in terms of its parameters.
    pub(crate) fn alias_ty(&mut self, id: AliasId) -> Ty {
        let info = &self.tables.aliases[id];
        if let Some(ty) = info.ty {
            return ty;
        }
        let (decl, scope, generics) = (info.decl.clone(), info.scope, info.generics);
        if info.resolved == Progress::Busy {
            let message = format!("the definition of `{}` depends on itself", decl.name.name);
            self.diagnostics.push(Diagnostic::new(codes::CYCLE, decl.name.span, message));
            let ty = self.program.types.error();
            self.tables.aliases.set_ty(id, ty);
            return ty;
        }
        self.tables.aliases.begin(id);
        let saved = self.enter(generics);
        let own = (!decl.generics.params.is_empty()).then_some(generics);
        let outer = self.tables.resolving.begin_alias(own);
        let ty = match &decl.ty {
            Some(ty) => self.resolve_ty(ty, scope),
            None if self.is_open() => self.open_type(&decl, scope),
            // Nobody said which type it is, which has been reported.
            None => self.program.types.error(),
        };
        self.tables.resolving.end_alias(outer);
        self.leave(saved);
        self.tables.aliases.end(id, ty)
    }

    /// `This` where `scope` is.
    pub(crate) fn this_type(&mut self, scope: ScopeId) -> Option<Ty> {
        let mut at = Some(scope);
        while let Some(scope) = at {
            let owner = self.tables.scopes[scope].owner();
            if let Some(ty) = self.owner_ty(owner) {
                return Some(ty);
            }
            at = self.tables.scopes[scope].parent();
        }
        None
    }

    /// The type whose members a declaration holds, in terms of its own parameters.
    pub(crate) fn owner_ty(&mut self, owner: Owner) -> Option<Ty> {
        match owner {
            Owner::Module => None,
            Owner::Struct(id) => {
                let generics = self.tables.structs[id].generics;
                let args = self.names().identity(generics);
                Some(self.struct_ty(id, args))
            }
            Owner::Extension(id) => self.ext_target(id),
            Owner::Interface(id) => {
                let this = self.program.interfaces[id].this;
                Some(self.program.types.ty(TyKind::Param(this)))
            }
            Owner::Enum(id) => Some(self.program.types.ty(TyKind::Enum(id))),
        }
    }

    /// The scalar type of a name with a shape after it: `float3`, `half2x4`.
    pub(crate) fn shaped_type(&mut self, scope: ScopeId, name: Symbol) -> Option<Ty> {
        let (word, shape) = split_shape(name.as_str())?;
        let found = self.lookup_type(scope, Symbol::new(word))?;
        let Some(Path::Ty(element)) = self.found_path(found, Span::none(), scope, false) else {
            return None;
        };
        if !matches!(self.program.types.kind(element), TyKind::Scalar(_)) {
            return None;
        }
        let kind = match shape {
            (n, None) => TyKind::Vector(element, self.program.types.int_val(n)),
            (r, Some(c)) => {
                TyKind::Matrix(element, self.program.types.int_val(r), self.program.types.int_val(c))
            }
        };
        Some(self.program.types.ty(kind))
    }
}

impl Tables {
    /// Notes that a structure's fields will be wanted.
    fn mention(&mut self, id: StructId) {
        if self.structs[id].resolved == Progress::New {
            self.work.mention(id);
        }
    }
}

impl Types {
    /// A known compile-time integer.
    pub(crate) fn int_val(&mut self, n: i64) -> Val {
        self.val(ValKind::Int(n))
    }
}

/// Splits `float3` into (`float`, 3) and `half2x4` into (`half`, 2 by 4).
fn split_shape(name: &str) -> Option<(&str, (i64, Option<i64>))> {
    let digit = |b: u8| (b'1'..=b'4').contains(&b).then(|| i64::from(b - b'0'));
    let bytes = name.as_bytes();
    let last = digit(*bytes.last()?)?;
    if let [.., rows, b'x', _] = bytes
        && let Some(rows) = digit(*rows)
        && bytes.len() > 3
    {
        return Some((&name[..name.len() - 3], (rows, Some(last))));
    }
    (bytes.len() > 1).then(|| (&name[..name.len() - 1], (last, None)))
}

#[cfg(test)]
mod tests {
    use super::split_shape;

    #[test]
    fn a_shape_is_the_digits_behind_a_scalar() {
        assert_eq!(split_shape("float3"), Some(("float", (3, None))));
        assert_eq!(split_shape("int64_t2"), Some(("int64_t", (2, None))));
        assert_eq!(split_shape("half3x2"), Some(("half", (3, Some(2)))));
        assert_eq!(split_shape("float5"), None);
        assert_eq!(split_shape("3"), None);
    }
}
