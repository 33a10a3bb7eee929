//! Reports modifiers that are not allowed where they stand, and warns of modifiers and semantics that mean nothing there.
//!
//! Semantics say what the parameters and results of entry points are, and the fields of structures that pass from one stage to the next.
//! How a value is interpolated is said in the same places. A function without a stage may become an entry point on the command line, so
//! its semantics are in doubt only if the file marks its entry points. `cotangent explain W0318` is about these warnings.
//!
//! Not here: `precise`, `lowp` and others that say nothing about what a program computes.

use crate::codes;
use crate::declarations::attrs;
use crate::facts::{Facts, Rules};
use crate::hir::FuncId;
use crate::names::access::ModuleId;
use crate::tables::{FuncSource, Owner};
use cotangent_base::{Diagnostic, Set};
use cotangent_syntax::ast::{self, DeclKind, Ident, Modifier, ModifierKind};

/// The word for a modifier about values between stages.
fn interpolation(kind: ModifierKind) -> Option<&'static str> {
    Some(match kind {
        ModifierKind::NoInterpolation => "nointerpolation",
        ModifierKind::NoPerspective => "noperspective",
        ModifierKind::Linear => "linear",
        ModifierKind::Centroid => "centroid",
        ModifierKind::Sample => "sample",
        _ => return None,
    })
}

/// The word for a modifier that is only for parameters.
fn direction(kind: ModifierKind) -> Option<&'static str> {
    Some(match kind {
        ModifierKind::In => "in",
        ModifierKind::Out => "out",
        ModifierKind::InOut => "inout",
        ModifierKind::Ref => "__ref",
        ModifierKind::ConstRef => "__constref",
        _ => return None,
    })
}

/// The word for a modifier that is only for functions.
fn of_function(kind: ModifierKind) -> Option<&'static str> {
    Some(match kind {
        ModifierKind::Inline => "inline",
        ModifierKind::Override => "override",
        ModifierKind::Prefix => "__prefix",
        ModifierKind::Postfix => "__postfix",
        _ => return None,
    })
}

/// The word for a modifier that is not allowed on a kind of declaration, which the second word names.
fn misplaced_word(kind: ModifierKind, decl: &DeclKind, owner: Owner) -> Option<(&'static str, &'static str)> {
    use ModifierKind::{
        ColumnMajor, GroupShared, In, InOut, Out, Override, Postfix, Prefix, RowMajor, Uniform,
    };
    let is_member = !matches!(owner, Owner::Module);
    match (decl, kind) {
        (DeclKind::Var(_), In | Out | InOut) if is_member => direction(kind).map(|word| (word, "a field")),
        (DeclKind::Var(_), Prefix | Postfix) => of_function(kind).map(|word| (word, "a variable")),
        (DeclKind::Func(_), In | Out | InOut) => direction(kind).map(|word| (word, "a function")),
        (DeclKind::Var(_), Override) => Some(("override", "a variable")),
        (DeclKind::Func(_), GroupShared) => Some(("groupshared", "a function")),
        (DeclKind::Func(_), RowMajor) => Some(("row_major", "a function")),
        (DeclKind::Func(_), ColumnMajor) => Some(("column_major", "a function")),
        (DeclKind::Func(_), Uniform) => Some(("uniform", "a function")),
        (DeclKind::Func(_), Override) if !is_member => Some(("override", "a function outside a type")),
        (DeclKind::Func(_), _) => interpolation(kind).map(|word| (word, "a function")),
        _ => None,
    }
}

/// The word for a modifier that means nothing on a kind of declaration.
fn idle_word(kind: ModifierKind, decl: &DeclKind, owner: Owner) -> Option<(&'static str, &'static str)> {
    let is_plain = matches!(decl, DeclKind::Func(func) if func.kind != ast::FuncKind::Operator);
    match (decl, kind) {
        (DeclKind::Var(_), ModifierKind::Inline) => Some(("inline", "a variable")),
        (_, ModifierKind::Prefix) if is_plain => Some(("__prefix", "a function that is no operator")),
        (_, ModifierKind::Postfix) if is_plain => Some(("__postfix", "a function that is no operator")),
        (DeclKind::Var(_), _) if matches!(owner, Owner::Module) => {
            interpolation(kind).map(|word| (word, "a global variable"))
        }
        _ => None,
    }
}

/// Whether what stands after the colon is a semantic, not a register.
fn is_semantic(semantic: &Ident) -> bool {
    !semantic.name.as_str().contains('(')
}

impl Rules<'_> {
    fn idle_semantic(&mut self, semantic: Option<Ident>, on: &str) {
        if let Some(semantic) = semantic.filter(is_semantic) {
            self.warn_no_effect(
                &format!("the semantic `{}` has no effect on {on}", semantic.name),
                semantic.span,
            );
        }
    }

    /// Warns of what means nothing on a declaration outside functions.
    pub(crate) fn check_idle_words(&mut self, decl: &DeclKind, modifiers: &[Modifier], owner: Owner) {
        for modifier in modifiers {
            if let Some((word, on)) = misplaced_word(modifier.kind, decl, owner) {
                let message = format!("`{word}` is not allowed on {on}");
                self.diagnostics
                    .push(Diagnostic::new(codes::MISPLACED, modifier.span, message).help("remove it"));
            } else if let Some((word, on)) = idle_word(modifier.kind, decl, owner) {
                self.warn_no_effect(&format!("`{word}` has no effect on {on}"), modifier.span);
            }
        }
        match decl {
            DeclKind::Func(func) => self.check_words_of_params(&func.params),
            DeclKind::Var(var) if matches!(owner, Owner::Module) => {
                self.idle_semantic(var.semantic, "a global variable");
            }
            DeclKind::CBuffer(_, fields) => {
                for field in fields {
                    if let DeclKind::Var(var) = &field.kind {
                        self.idle_semantic(var.semantic, "a field of a `cbuffer`");
                    }
                }
            }
            _ => {}
        }
    }

    /// Reports modifiers of parameters that belong to other declarations, and warns of those that have no effect yet.
    fn check_words_of_params(&mut self, params: &[ast::Param]) {
        for modifier in params.iter().flat_map(|param| &param.modifiers) {
            match (modifier.kind, of_function(modifier.kind)) {
                (_, Some(word)) => {
                    let message = format!("`{word}` is not allowed on a parameter");
                    self.diagnostics
                        .push(Diagnostic::new(codes::MISPLACED, modifier.span, message).help("remove it"));
                }
                (ModifierKind::Idle(word), None) => self.warn_without_effect(word, modifier.span),
                (ModifierKind::Volatile, None) => self.warn_without_effect("volatile", modifier.span),
                _ => {}
            }
        }
    }

    /// The same for a variable of a function, which takes few words.
    pub(crate) fn check_idle_words_of_local(&mut self, var: &ast::VarDecl, decl: &ast::Decl) {
        self.refuse_attributes(&decl.attributes, "a local variable");
        let mut refuse = |what: String, span| {
            let message = format!("{what} is not allowed on a local variable");
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message).help("remove it"));
        };
        if let Some(semantic) = var.semantic.filter(is_semantic) {
            refuse(format!("the semantic `{}`", semantic.name), semantic.span);
        }
        for modifier in &decl.modifiers {
            let word = match modifier.kind {
                ModifierKind::Uniform => "uniform",
                ModifierKind::Idle(word) => word,
                other => match interpolation(other).or(direction(other)).or(of_function(other)) {
                    Some(word) => word,
                    None => continue,
                },
            };
            refuse(format!("`{word}`"), modifier.span);
        }
    }

    /// Warns of the semantics of functions that are no entry points: of methods, and of functions without a stage where others have one.
    pub(crate) fn check_semantics(&mut self, func: FuncId, with_stages: &Set<ModuleId>) {
        let info = &self.tables.funcs[func];
        let FuncSource::Func(decl) = &info.source else { return };
        let decl = decl.clone();
        let attributes = &info.prefix.attributes;
        let is_kernel = attrs::has(attributes, "numthreads");
        if attrs::has(attributes, "shader") || is_kernel {
            if is_kernel {
                self.check_thread_index(&decl.params);
            }
            return;
        }
        let on = match info.owner {
            Owner::Module if with_stages.contains(&self.tables.scopes[info.scope].module()) => {
                "a function without a shader stage"
            }
            Owner::Module => return,
            Owner::Struct(_) | Owner::Extension(_) | Owner::Interface(_) | Owner::Enum(_) => "a method",
        };
        self.idle_semantic(decl.semantic, on);
        for param in &decl.params {
            self.idle_semantic(param.semantic, on);
        }
    }

    /// Warns of a parameter of a compute shader that looks like the index of the thread, if no parameter has a semantic.
    fn check_thread_index(&mut self, params: &[ast::Param]) {
        if params.iter().any(|param| param.semantic.is_some()) {
            return;
        }
        let is_index = |param: &&ast::Param| {
            let is_plain = param.modifiers.is_empty() && param.default.is_none();
            is_plain
                && matches!(&param.ty.kind, ast::ExprKind::Name(name) if ["uint3", "int3"].contains(&name.as_str()))
        };
        if let Some(param) = params.iter().find(is_index)
            && let Some(name) = param.name
        {
            let message = format!("`{}` has no semantic, so the host sets it for all threads", name.name);
            let help = format!(
                "write `{} : SV_DispatchThreadID` for the number of the thread, otherwise `uniform` before it",
                name.name
            );
            self.diagnostics.push(Diagnostic::new(codes::NO_THREAD_INDEX, name.span, message).help(help));
        }
    }
}

impl Facts<'_> {
    /// The modules that mark their entry points.
    pub(crate) fn modules_with_stages(self) -> Set<ModuleId> {
        let funcs = self.tables.funcs.user().iter().map(|func| &self.tables.funcs[*func]);
        let marked = funcs.filter(|info| attrs::has(&info.prefix.attributes, "shader"));
        marked.map(|info| self.tables.scopes[info.scope].module()).collect()
    }
}
