//! Resolves signatures of functions, on first use.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::declarations::attrs::row_major;
use crate::derive;
use crate::hir::{
    Bound, Dir, FuncId, GenericParam, GenericParamId, Inline, InterfaceRef, Param, This, Ty, TyKind, ValKind,
    Varying,
};
use crate::tables::{FuncSource, GenericsInfo, Owner, Progress, ScopeId};
use cotangent_base::{Diagnostic, Scalar, Symbol};
use cotangent_syntax::ast::{self, ModifierKind};
use std::sync::Arc;

impl Checked {
    /// Resolves the signature of a function.
    pub(crate) fn ensure_func(&mut self, id: FuncId) {
        if !self.tables.funcs.begin_signature(id) {
            return;
        }
        let info = &self.tables.funcs[id];
        let (source, scope, generics) = (info.source.clone(), info.scope, info.generics);
        let saved = self.enter(generics);
        self.program.funcs[id].generics = self.hir_generics(generics);
        self.resolve_this(id, &source);
        match &source {
            FuncSource::Func(decl) => self.resolve_plain(id, decl, scope),
            FuncSource::Accessor(property, number) => {
                let info = &self.tables.props[*property];
                let (params, ty, accessors) = (info.params.clone(), info.ty.clone(), info.accessors.clone());
                let no_diff = info.no_diff || is_no_diff(&ty);
                self.resolve_accessor(id, &params, (&ty, no_diff), &accessors[*number], scope);
            }
        }
        self.resolve_required(id);
        self.resolve_entry(id, scope);
        derive::attributes(self, id);
        self.resolve_inline(id);
        self.check_borrowed(id, &source);
        self.leave(saved);
        self.tables.funcs.end_signature(id);
    }

    /// A parameter with a derivative is passed as a pair, so it cannot be borrowed.
    fn check_borrowed(&mut self, id: FuncId, source: &FuncSource) {
        let FuncSource::Func(decl) = source else { return };
        if self.program.funcs[id].diff.differentiable.is_none() || self.is_library(id) {
            return;
        }
        for (number, param) in decl.params.iter().enumerate() {
            let borrowed = param.modifiers.iter().find(|m| m.kind == ModifierKind::ConstRef);
            let Some(Param { ty, no_diff, .. }) = self.program.funcs[id].params.get(number) else { return };
            let (ty, no_diff) = (*ty, *no_diff);
            if let Some(word) = borrowed
                && !no_diff
                && self.differential_of(ty).is_some()
            {
                let message = "a parameter that has a derivative cannot be a `__constref`";
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, word.span, message)
                        .help("pass it by value, or mark it `no_diff`"),
                );
            }
        }
    }

    fn resolve_this(&mut self, id: FuncId, source: &FuncSource) {
        let info = &self.tables.funcs[id];
        let (owner, is_static, prefix) = (info.owner, info.is_static, info.prefix.clone());
        if is_static {
            return;
        }
        let Some(ty) = self.owner_ty(owner) else {
            return;
        };
        let is_setter = match source {
            FuncSource::Func(_) => false,
            FuncSource::Accessor(property, number) => {
                self.tables.props[*property].accessors[*number].kind == ast::AccessorKind::Set
            }
        };
        let nonmutating = attrs::has(&prefix.attributes, "nonmutating");
        let by_ref = attrs::has(&prefix.attributes, "__ref");
        let mutating = by_ref || attrs::has(&prefix.attributes, "mutating") || (is_setter && !nonmutating);
        let no_diff = derive::no_diff_this(&prefix.attributes);
        self.program.funcs[id].this = Some(This { ty, mutating, no_diff, by_ref });
    }

    fn resolve_plain(&mut self, id: FuncId, decl: &ast::FuncDecl, scope: ScopeId) {
        for param in &decl.params {
            let param = self.resolve_param(param, scope);
            let param = self.open_interface_param(id, param);
            let param = self.open_unsized_param(id, param);
            self.program.funcs[id].params.push(param);
        }
        let owner = self.tables.funcs[id].owner;
        self.check_constructor_place(decl, owner);
        let result = match (&decl.result, decl.kind) {
            (_, ast::FuncKind::Constructor) => self.owner_ty(owner),
            (Some(ty), _) => Some(self.resolve_ty(ty, scope)),
            (None, _) => Some(self.program.types.ty(TyKind::Void)),
        };
        let result = result.unwrap_or_else(|| {
            let message = "a constructor outside a type";
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, decl.name.span, message));
            self.program.types.error()
        });
        self.program.funcs[id].throws = decl.throws.as_ref().map(|error| self.resolve_ty(error, scope));
        let result = self.not_pack(result, decl.name.span, "a result");
        self.program.funcs[id].result = result;
        let written = decl.result.as_ref().is_some_and(is_no_diff);
        self.program.funcs[id].no_diff_result = decl.no_diff_result || written;
        let prefix = self.tables.funcs[id].prefix.clone();
        self.program.funcs[id].varying =
            self.rules().varying(&prefix.attributes, &prefix.modifiers, decl.semantic);
    }

    /// The constructor without parameters belongs to the structure: variables without a value depend on it.
    fn check_constructor_place(&mut self, decl: &ast::FuncDecl, owner: Owner) {
        let Owner::Extension(ext) = owner else { return };
        if decl.kind != ast::FuncKind::Constructor || !decl.params.is_empty() {
            return;
        }
        let target = self.ext_target(ext).map(|ty| self.program.types.kind(ty));
        if let Some(TyKind::Struct(of, _)) = target
            && !self.tables.scopes[self.tables.structs[of].scope].is_library()
        {
            let message = "an extension cannot declare the constructor without parameters";
            self.diagnostics.push(
                Diagnostic::new(codes::MISPLACED, decl.name.span, message)
                    .help("declare it in the structure"),
            );
        }
    }

    fn resolve_accessor(
        &mut self,
        id: FuncId,
        params: &[ast::Param],
        (ty, no_diff): (&ast::Expr, bool),
        accessor: &ast::Accessor,
        scope: ScopeId,
    ) {
        for param in params {
            let mut param = self.resolve_param(param, scope);
            if param.dir != Dir::In || param.by_ref {
                let message = "a subscript takes its arguments by value";
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, param.span, message)
                        .help("remove the direction, or declare a method"),
                );
                (param.dir, param.by_ref) = (Dir::In, false);
            }
            self.program.funcs[id].params.push(param);
        }
        let ty = self.resolve_ty(ty, scope);
        if accessor.kind == ast::AccessorKind::Get {
            self.program.funcs[id].result = ty;
            self.program.funcs[id].no_diff_result = no_diff;
            return;
        }
        self.program.funcs[id].result = self.program.types.ty(TyKind::Void);
        let (name, span) = match accessor.value {
            Some(name) => (name.name, name.span),
            None => ("newValue".into(), accessor.span),
        };
        self.program.funcs[id].params.push(Param {
            name,
            ty,
            dir: Dir::In,
            by_ref: false,
            no_diff,
            varying: Varying::default(),
            row_major: None,
            span,
        });
    }

    pub(crate) fn resolve_param(&mut self, param: &ast::Param, scope: ScopeId) -> Param {
        let has = |kind| param.modifiers.iter().any(|m| m.kind == kind);
        let dir = if has(ModifierKind::InOut) || (has(ModifierKind::In) && has(ModifierKind::Out)) {
            Dir::InOut
        } else if has(ModifierKind::Out) {
            Dir::Out
        } else if has(ModifierKind::Ref) {
            Dir::InOut
        } else {
            Dir::In
        };
        let mut ty = self.resolve_ty(&param.ty, scope);
        if let Some(name) = param.name {
            ty = self.not_void(ty, name);
        }
        if dir != Dir::In {
            ty = self.not_pack(ty, param.span, "a parameter that is written to");
        }
        let varying = self.rules().varying(&param.attributes, &param.modifiers, param.semantic);
        Param {
            name: param.name.map_or_else(|| "_".into(), |n| n.name),
            ty,
            dir,
            by_ref: has(ModifierKind::Ref),
            no_diff: has(ModifierKind::NoDiff) || is_no_diff(&param.ty),
            varying,
            row_major: row_major(&param.modifiers),
            span: param.name.map_or(param.span, |n| n.span),
        }
    }

    /// The type of something that has a value.
    pub(super) fn not_void(&mut self, ty: Ty, name: ast::Ident) -> Ty {
        if self.program.types.kind(ty) != TyKind::Void {
            return ty;
        }
        let message = format!("`{}` would have type `void`", name.name);
        self.diagnostics.push(Diagnostic::new(codes::MISMATCH, name.span, message));
        self.program.types.error()
    }

    /// A parameter of interface type is a generic one in disguise: `f(IShape s)` is `f<S : IShape>(S s)`.
    fn open_interface_param(&mut self, id: FuncId, mut param: Param) -> Param {
        let TyKind::Interface(interface, args) = self.program.types.kind(param.ty) else {
            return param;
        };
        if param.dir != Dir::In {
            return param;
        }
        let name = self.program.interfaces[interface].name;
        let hidden = self.program.params.push(GenericParam {
            name,
            value: None,
            pack: false,
            witness: false,
            span: param.span,
        });
        param.ty = self.program.types.ty(TyKind::Param(hidden));
        self.hide_generic(id, hidden, Some(Bound::Conforms(param.ty, InterfaceRef { interface, args })));
        param
    }

    /// A parameter that is an array without a size takes any: `f(int a[])` is `f<let N : int>(int a[N])`.
    fn open_unsized_param(&mut self, id: FuncId, mut param: Param) -> Param {
        let TyKind::UnsizedArray(element) = self.program.types.kind(param.ty) else {
            return param;
        };
        let int = self.program.types.ty(TyKind::Scalar(Scalar::I32));
        let hidden = self.program.params.push(GenericParam {
            name: Symbol::new(&format!("countof({})", param.name)),
            value: Some(int),
            pack: false,
            witness: false,
            span: param.span,
        });
        let count = self.program.types.val(ValKind::Param(hidden));
        param.ty = self.program.types.ty(TyKind::Array(element, count));
        self.hide_generic(id, hidden, None);
        param
    }

    /// Adds a generic parameter that is not written to those of a function.
    fn hide_generic(&mut self, id: FuncId, hidden: GenericParamId, bound: Option<Bound>) {
        let parent = self.tables.funcs[id].generics;
        let around = self.tables.generics[parent].params.clone();
        let bounds: Arc<[Bound]> = self.bounds(parent).iter().copied().chain(bound).collect();
        let generics = self.tables.generics.push(GenericsInfo {
            parent: Some(parent),
            own: vec![hidden],
            params: around.iter().copied().chain([hidden]).collect(),
            syntax: Arc::default(),
            scope: self.tables.funcs[id].scope,
            resolved: Progress::Done,
            own_bounds: bound.into_iter().collect(),
            bounds: Some(bounds),
            interface: None,
        });
        self.tables.funcs.hide_generic(id, generics);
        self.program.funcs[id].generics = self.hir_generics(generics);
    }

    fn resolve_inline(&mut self, id: FuncId) {
        let attributes = self.tables.funcs[id].prefix.attributes.clone();
        let early = ["ForceInline", "__unsafeForceInlineEarly", "__unsafeForceEarlyInline"];
        // Where a call stops derivatives it must still be one when they are taken.
        let stops = self.program.funcs[id].stops_derivatives();
        self.program.funcs[id].inline = if !stops && early.iter().any(|a| attrs::has(&attributes, a)) {
            Inline::Early
        } else if attrs::has(&attributes, "noinline") {
            Inline::Never
        } else {
            Inline::Auto
        };
    }
}

/// Whether a type is written `no_diff T`.
pub(crate) fn is_no_diff(ty: &ast::Expr) -> bool {
    match &ty.kind {
        ast::ExprKind::NoDiff(_) => true,
        ast::ExprKind::Paren(inner) | ast::ExprKind::Index(inner, _) => is_no_diff(inner),
        _ => false,
    }
}
