//! Resolves the types of globals, on first use, and checks what globals may be.

use crate::Checked;
use crate::codes;
use crate::facts::Rules;
use crate::hir::{Global, GlobalId, GlobalKind, Ty, TyKind};
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast::{self};

impl Checked {
    /// Resolves the type of a global.
    pub(crate) fn ensure_global(&mut self, id: GlobalId) {
        if !self.tables.globals.begin(id) {
            return;
        }
        let info = &self.tables.globals[id];
        let (decl, scope, buffer) = (info.decl.clone(), info.scope, info.buffer);
        let saved = self.enter(info.generics);
        let ty = match (&decl.ty, buffer) {
            (_, Some(buffer)) => {
                let args = self.program.types.args(&[]);
                self.struct_ty(buffer, args)
            }
            (Some(ty), None) => self.resolve_ty(ty, scope),
            (None, None) => self.program.types.error(),
        };
        let ty = self.given_type(id, ty);
        self.program.globals[id].ty = ty;
        self.resolve_binding(id);
        self.rules().check_specialized_type(id);
        self.leave(saved);
        let unsized_or_untyped =
            matches!(self.program.types.kind(ty), TyKind::UnsizedArray(_)) || decl.ty.is_none();
        if unsized_or_untyped && decl.init.is_some() {
            // The initializer decides the type.
            if let Some(body) = self.check_initializer(id)
                && let Some(result) = crate::bodies::constant::returned(&body)
            {
                self.program.globals[id].ty = result.ty;
            }
        }
        self.rules().check_global(id, &decl);
        self.check_elements(ty, decl.name.span);
        self.tables.globals.end(id);
    }

    /// The elements of a structured buffer are data, so no resource is in them.
    fn check_elements(&mut self, ty: Ty, span: cotangent_base::Span) {
        let TyKind::Struct(id, args) = self.program.types.kind(ty) else { return };
        let is_buffer = |magic: Symbol| matches!(magic.as_str(), "buffer" | "rwbuffer");
        if !self.program.structs[id].magic.is_some_and(is_buffer) {
            return;
        }
        let element = self.program.types.list(args).first().and_then(|arg| arg.ty());
        if let Some(resource) = element.and_then(|element| self.resource_in(element, 0)) {
            let message =
                format!("a buffer cannot hold a resource, and this holds a `{}`", self.show(resource));
            self.diagnostics.push(
                Diagnostic::new(codes::MISPLACED, span, message)
                    .help("bind the resource on its own, and store an index"),
            );
        }
    }

    /// The first texture, sampler or buffer in the fields of a type.
    fn resource_in(&mut self, ty: Ty, depth: u32) -> Option<Ty> {
        match self.program.types.kind(ty) {
            TyKind::Array(element, _) => self.resource_in(element, depth),
            TyKind::Struct(id, args) => {
                let words = ["texture", "rwtexture", "sampler", "buffer", "rwbuffer", "parameterblock"];
                match self.program.structs[id].magic {
                    Some(magic) => words.iter().any(|word| magic.as_str().starts_with(word)).then_some(ty),
                    None if depth > 16 => None,
                    None => {
                        let fields = self.fields_under(id, args);
                        fields.into_iter().find_map(|field| self.resource_in(field, depth + 1))
                    }
                }
            }
            _ => None,
        }
    }
}

impl Rules<'_> {
    fn check_global(&mut self, id: GlobalId, decl: &ast::VarDecl) {
        let global = &self.program.globals[id];
        let Some(init) = &decl.init else {
            if decl.ty.is_none() && self.tables.globals[id].buffer.is_none() {
                let message = format!("`{}` has neither a type nor a value", global.name);
                self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, decl.name.span, message));
            }
            self.check_complete(id, decl);
            return;
        };
        match global.kind {
            GlobalKind::Shared => {
                let message = "a `groupshared` variable cannot have an initializer";
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, init.span, message)
                        .help("assign it in one thread, then use a barrier"),
                );
            }
            GlobalKind::Param => {
                let message =
                    format!("`{}` is a shader parameter, so its initializer has no effect", global.name);
                self.diagnostics.push(
                    Diagnostic::new(codes::IGNORED_INITIALIZER, init.span, message)
                        .help("write `static const` for a constant, `static` for a variable"),
                );
            }
            GlobalKind::Const | GlobalKind::Static => {}
        }
    }

    /// A variable without an initializer has a length and is no constant. Shader parameters get theirs from the host, what is
    /// `extern` from another module.
    fn check_complete(&mut self, id: GlobalId, decl: &ast::VarDecl) {
        let Global { kind, ty, .. } = self.program.globals[id];
        if kind == GlobalKind::Param || self.tables.links.is_extern(id) {
            return;
        }
        if matches!(self.program.types.kind(ty), TyKind::UnsizedArray(_)) {
            self.no_length(decl.name);
        } else if kind == GlobalKind::Const {
            let message = format!("the constant `{}` has no value", decl.name.name);
            self.diagnostics.push(Diagnostic::new(codes::INCOMPLETE, decl.name.span, message));
        }
    }

    /// Reports an array that neither its type nor an initializer says the length of.
    pub(crate) fn no_length(&mut self, name: ast::Ident) {
        let message = format!("the array `{}` has no length", name.name);
        self.diagnostics.push(
            Diagnostic::new(codes::INCOMPLETE, name.span, message)
                .help("write its length between the brackets, or an initializer"),
        );
    }
}
