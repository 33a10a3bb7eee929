//! Resolves signatures of functions, fields of structures, cases of enumerations, and types of globals.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::capability::STAGES;
use crate::codes;
use crate::declarations::attrs;
use crate::derive;
use crate::facts::Rules;
use crate::hir::{
    Args, Bound, Dir, Entry, Field, FuncId, GenericParam, GenericParamId, Global, GlobalId, GlobalKind,
    Inline, InterfaceRef, Param, Stage, StructId, This, Ty, TyKind, Val, ValKind, Varying,
};
use crate::tables::{FuncSource, GenericsInfo, Owner, Progress, ScopeId};
use cotangent_base::{Diagnostic, Diagnostics, Scalar, Set, Symbol, fields, nearest};
use cotangent_syntax::ast::{self, ModifierKind};
use std::sync::Arc;

/// When to drop repeated diagnostics: whenever there are half as many more.
#[derive(Clone, Default, Debug)]
pub(crate) struct Repetitions {
    /// How many diagnostics there were when repetitions were last dropped.
    kept: usize,
}

impl Repetitions {
    fn due(&self, diagnostics: usize) -> bool {
        diagnostics > self.kept + self.kept / 2
    }
    fn dropped(&mut self, kept: usize) {
        self.kept = kept;
    }
}

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
    fn not_void(&mut self, ty: Ty, name: ast::Ident) -> Ty {
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

    fn resolve_entry(&mut self, id: FuncId, scope: ScopeId) {
        let attributes = self.tables.funcs[id].prefix.attributes.clone();
        for name in ["shader", "numthreads"] {
            self.rules().check_said_once(&attributes, name);
        }
        let written = attrs::string(&attributes, "shader");
        let threads = attrs::find(&attributes, "numthreads");
        let launched = threads.is_none() && attrs::has(&attributes, "CudaKernel");
        let bound = attrs::has(&attributes, "AutoPyBindCUDA");
        if threads.is_none() && written.is_none() && !launched {
            return;
        }
        let name = written.unwrap_or_else(|| "compute".into());
        let Some(stage) = Stage::named(name.as_str()) else {
            return self.no_stage(id, name, attrs::find(&attributes, "shader"));
        };
        if self.program.funcs[id].throws.is_some() {
            let message = "an entry point cannot throw, because nothing can catch its errors";
            let span = self.program.funcs[id].span;
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message));
        }
        self.rules().check_outputs_of_stage(id, stage);
        let mut counts: [Val; 3] = [self.program.types.int_val(1); 3];
        for (count, arg) in counts.iter_mut().zip(threads.into_iter().flat_map(|t| &t.args)) {
            *count = self.const_val(arg, scope);
        }
        let span = threads.map_or(self.program.funcs[id].span, |attribute| attribute.span);
        self.program.funcs[id].entry = Some(Entry { stage, threads: counts, launched, bound, span });
    }

    /// Resolves the fields of a structure.
    pub(crate) fn ensure_struct(&mut self, id: StructId) {
        if !self.tables.structs.begin_fields(id) {
            return;
        }
        self.ensure_bases(id);
        let info = &self.tables.structs[id];
        let (fields, scope, generics) = (info.fields.clone(), info.scope, info.generics);
        let base = info.base;
        let saved = self.enter(generics);
        self.program.structs[id].generics = self.hir_generics(generics);
        if let Some(ty) = base {
            let span = self.program.structs[id].span;
            self.program.structs[id].fields.push(Field {
                name: fields::BASE.into(),
                ty,
                no_diff: false,
                derivative: None,
                varying: Varying::default(),
                row_major: None,
                span,
            });
        }
        let first = self.program.structs[id].fields.len();
        for (decl, prefix) in &fields {
            // A field without a type gets that of its value once all fields are there, since the value may mention them.
            let ty = match &decl.ty {
                Some(ty) => self.resolve_ty(ty, scope),
                None => self.program.types.error(),
            };
            let ty = self.field_ty(decl, ty);
            let marked = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::NoDiff);
            let varying = self.rules().varying(&prefix.attributes, &prefix.modifiers, decl.semantic);
            self.program.structs[id].fields.push(Field {
                name: decl.name.name,
                ty,
                no_diff: marked || decl.ty.as_ref().is_some_and(is_no_diff),
                derivative: derive::derivative_member(&prefix.attributes),
                varying,
                row_major: row_major(&prefix.modifiers),
                span: decl.name.span,
            });
        }
        let untyped = fields.iter().enumerate().filter(|(_, (decl, _))| decl.ty.is_none());
        for (number, (decl, _)) in untyped {
            let ty = self.inferred_field(decl, scope);
            self.program.structs[id].fields[first + number].ty = self.field_ty(decl, ty);
        }
        self.leave(saved);
        self.tables.structs.end_fields(id);
    }

    /// The type of a field, if a field may have it.
    fn field_ty(&mut self, decl: &ast::VarDecl, ty: Ty) -> Ty {
        let ty = self.not_void(ty, decl.name);
        self.not_pack(ty, decl.name.span, "a field")
    }

    /// The type of a field without one: `let kind = E.A;` has the type of its value.
    fn inferred_field(&mut self, decl: &ast::VarDecl, scope: ScopeId) -> Ty {
        let name = decl.name;
        let Some(init) = &decl.init else {
            let message = format!("field `{}` has no type", name.name);
            self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, name.span, message));
            return self.program.types.error();
        };
        let reported = self.diagnostics.len();
        let ty = BodyCx::new(self, scope).expr(init).ty;
        if self.program.types.is_error(ty) && self.diagnostics.len() == reported {
            // The value reads a field whose type is not known yet.
            let message = format!("the type of `{}` depends on itself", name.name);
            self.diagnostics.push(Diagnostic::new(codes::CYCLE, name.span, message));
        }
        ty
    }

    /// The types of a structure's fields under its arguments.
    pub(crate) fn fields_under(&mut self, id: StructId, args: Args) -> Vec<Ty> {
        self.ensure_struct(id);
        let params = self.program.structs[id].generics.params.clone();
        let types: Vec<Ty> = self.program.structs[id].fields.iter().map(|f| f.ty).collect();
        types.into_iter().map(|ty| self.replace(ty, &params, args)).collect()
    }

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

    /// Resolves what was mentioned and checks bounds that were put off, until nothing is left.
    pub(crate) fn settle(&mut self) {
        loop {
            if let Some(id) = self.tables.work.next_struct() {
                self.ensure_struct(id);
            } else if let Some(owed) = self.tables.work.next_obligation() {
                let saved = self.tables.assumptions.replace(owed.assumed);
                self.check_bounds(owed.generics, owed.args, owed.span);
                self.tables.assumptions.restore(saved);
            } else {
                break;
            }
        }
        // Looking at all of them each time would be slow in a program full of mistakes.
        if self.tables.repetitions.due(self.diagnostics.len()) {
            self.drop_repetitions();
        }
    }

    /// Overload resolution may look at one thing several times; each mistake is reported once.
    pub(crate) fn drop_repetitions(&mut self) {
        let mut seen = Set::default();
        let mut kept = Diagnostics::new();
        for diagnostic in std::mem::take(&mut self.diagnostics) {
            let key = (diagnostic.code.name, diagnostic.primary.span, diagnostic.message.clone());
            if seen.insert(key) {
                kept.push(diagnostic);
            }
        }
        self.tables.repetitions.dropped(kept.len());
        self.diagnostics = kept;
    }

    /// Says that there is no stage of that name, or that we do not have it.
    fn no_stage(&mut self, func: FuncId, name: Symbol, attribute: Option<&ast::Attribute>) {
        if STAGES.contains(&name.as_str()) {
            self.program.funcs[func].other_stage = Some(name);
            return;
        }
        let own = self.program.funcs[func].span;
        let span = attribute.and_then(|a| a.args.first()).map_or(own, |arg| arg.span);
        let mut diagnostic =
            Diagnostic::new(codes::BAD_ATTRIBUTE, span, format!("there is no stage `{name}`"));
        diagnostic = match nearest(name.as_str(), STAGES.into_iter()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("there are `compute`, `vertex` and `fragment`"),
        };
        self.diagnostics.push(diagnostic);
    }
}

impl Rules<'_> {
    /// System values that a stage only reads cannot be written.
    fn check_outputs_of_stage(&mut self, id: FuncId, stage: Stage) {
        let FuncSource::Func(decl) = &self.tables.funcs[id].source else { return };
        let decl = decl.clone();
        let written = |kind| matches!(kind, ModifierKind::Out | ModifierKind::InOut);
        for param in decl.params.iter().filter(|p| p.modifiers.iter().any(|m| written(m.kind))) {
            let Some(semantic) = param.semantic else { continue };
            let name = semantic.name.as_str().to_ascii_lowercase();
            let output = match stage {
                Stage::Compute => false,
                Stage::Fragment => {
                    ["sv_target", "sv_depth", "sv_coverage", "sv_stencil"].iter().any(|o| name.starts_with(o))
                }
                Stage::Vertex => true,
            };
            if name.starts_with("sv_") && !output {
                let message = format!("a {} shader cannot write `{}`", stage_word(stage), semantic.name);
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, semantic.span, message).help("remove `out` or `inout`"),
                );
            }
        }
    }

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

/// What a stage is called.
fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "compute",
        Stage::Vertex => "vertex",
        Stage::Fragment => "fragment",
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

/// What modifiers say about how a matrix lies in memory.
pub(crate) fn row_major(modifiers: &[ast::Modifier]) -> Option<bool> {
    modifiers.iter().rev().find_map(|m| match m.kind {
        ModifierKind::RowMajor => Some(true),
        ModifierKind::ColumnMajor => Some(false),
        _ => None,
    })
}
