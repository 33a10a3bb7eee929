//! Rules about what may stand where, beyond what resolution needs: modifiers, nesting, properties with defaults, `dyn`
//! interfaces, constants, and the parameters of extensions.
//!
//! Input: declarations of the user's, as collected or resolved. Output: diagnostics. The library is trusted.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::{Facts, Rules};
use crate::hir::{
    Bound, Expr, ExprKind, FuncKind, GlobalId, GlobalKind, InterfaceId, InterfaceRef, Ty, TyKind,
};
use crate::tables::{ExtId, GenericsId, Owner, ScopeId};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast::{self, AccessorKind, DeclKind, ModifierKind, Version};

impl Rules<'_> {
    /// Checks the modifiers before a declaration, and whether it may stand inside the one around it.
    pub(crate) fn check_written(
        &mut self,
        kind: &DeclKind,
        modifiers: &[ast::Modifier],
        scope: ScopeId,
        owner: Owner,
    ) {
        self.check_repeated(modifiers);
        self.check_modifiers(kind, modifiers, scope);
        let nested = match (owner, kind) {
            (Owner::Module | Owner::Enum(_), _) => None,
            (_, DeclKind::Interface(decl)) => Some(("an interface", decl.name.span)),
            (_, DeclKind::Extension(decl)) => Some(("an extension", decl.target.span)),
            (_, DeclKind::Using(path)) => Some(("`using`", path.span)),
            (_, DeclKind::Import(path)) => Some(("`import`", path.span)),
            (_, DeclKind::Namespace(path, _)) => path.first().map(|name| ("a namespace", name.span)),
            (Owner::Interface(_), DeclKind::Struct(decl)) => Some(("a structure", decl.name.span)),
            (Owner::Interface(_), DeclKind::Enum(decl)) => {
                decl.name.map(|name| ("an enumeration", name.span))
            }
            _ => None,
        };
        if let Some((what, span)) = nested {
            let message = format!("{what} cannot be declared inside a type");
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message).help("move it out"));
        }
        if let (Owner::Interface(_), DeclKind::Property(decl)) = (owner, kind) {
            self.check_defaults_of_accessors(&decl.accessors);
        }
    }

    /// One modifier, one word about visibility and one way to pass a parameter is enough. `in out` is one way.
    pub(crate) fn check_repeated(&mut self, modifiers: &[ast::Modifier]) {
        use ModifierKind::{ConstRef, Ignored, InOut, Internal, Out, Private, Public, Ref};
        let class = |kind| match kind {
            Internal | Private => Public,
            InOut | Ref | ConstRef => Out,
            other => other,
        };
        for (number, modifier) in modifiers.iter().enumerate() {
            let same = |m: &&ast::Modifier| class(m.kind) == class(modifier.kind) && m.span != modifier.span;
            if modifier.kind == Ignored {
                continue;
            }
            if let Some(first) = modifiers[..number].iter().find(same) {
                let message = "this repeats or contradicts another modifier";
                let diagnostic = Diagnostic::new(codes::MISPLACED, modifier.span, message);
                self.diagnostics
                    .push(diagnostic.label(first.span, "the other one").help("remove one of them"));
            }
        }
    }

    fn check_modifiers(&mut self, kind: &DeclKind, modifiers: &[ast::Modifier], scope: ScopeId) {
        let is_value = matches!(kind, DeclKind::Var(_));
        let takes_dyn = is_value || matches!(kind, DeclKind::Interface(_));
        let find = |wanted| modifiers.iter().find(|m| m.kind == wanted);
        let mut wrong = |span: Span, message: &str, help: &str| {
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message).help(help));
        };
        if let (Some(word), false) = (find(ModifierKind::Dyn), takes_dyn) {
            wrong(word.span, "`dyn` applies to interfaces only", "remove it");
        }
        for reference in [ModifierKind::Ref, ModifierKind::ConstRef] {
            if let Some(word) = find(reference) {
                wrong(word.span, "only parameters can be references", "store a value, an index or a pointer");
            }
        }
        if let DeclKind::Var(decl) = kind {
            let linked = find(ModifierKind::Extern).or(find(ModifierKind::Export)).is_some();
            let (is_static, is_const) =
                (find(ModifierKind::Static).is_some(), find(ModifierKind::Const).is_some());
            if linked && is_static != is_const {
                let help = "write `static const`";
                wrong(decl.name.span, "what other modules define or use must be `static const`", help);
            }
        }
        if let Some(word) = find(ModifierKind::Volatile) {
            if self.facts().language(scope) >= Version::V2026 {
                let message = "`volatile` is not part of this version of the language";
                self.diagnostics.push(Diagnostic::new(codes::REMOVED, word.span, message).help("remove it"));
            } else {
                self.warn_without_effect("volatile", word.span);
            }
        }
        for modifier in modifiers {
            if let ModifierKind::Idle(word) = modifier.kind {
                self.warn_without_effect(word, modifier.span);
            }
        }
    }

    /// A property of an interface has a default for all its accessors or for none.
    fn check_defaults_of_accessors(&mut self, accessors: &[ast::Accessor]) {
        let (with, without): (Vec<&ast::Accessor>, Vec<_>) = accessors.iter().partition(|a| a.body.is_some());
        if let (Some(first), Some(other)) = (with.first(), without.first()) {
            let word = |a: &ast::Accessor| match a.kind {
                AccessorKind::Get => "get",
                AccessorKind::Set => "set",
                AccessorKind::Ref => "ref",
            };
            let message = format!("`{}` has a default, but `{}` has none", word(first), word(other));
            self.diagnostics.push(
                Diagnostic::new(codes::INCOMPLETE, first.span, message)
                    .label(other.span, "without a body")
                    .help("give both a body, or none"),
            );
        }
    }

    /// A `dyn interface` has only what can be called through a value.
    fn check_dyn_interface(&mut self, id: InterfaceId) {
        let is_dyn = |cx: &Self, id: InterfaceId| {
            cx.tables.interfaces[id].modifiers.iter().any(|m| m.kind == ModifierKind::Dyn)
        };
        if !is_dyn(self, id) {
            return;
        }
        let decl = self.tables.interfaces[id].decl.clone();
        let mut wrong: Vec<(Span, String)> = vec![];
        if !decl.generics.params.is_empty() {
            wrong.push((decl.name.span, "a `dyn interface` cannot be generic".into()));
        }
        for assoc in &self.program.interfaces[id].assocs {
            wrong.push((
                self.program.assocs[*assoc].span,
                "a `dyn interface` cannot have associated types".into(),
            ));
        }
        for base in self.program.interfaces[id].bases.clone() {
            if !is_dyn(self, base.interface) {
                let span = decl.bases.first().map_or(decl.name.span, |base| base.span);
                let name = self.program.interfaces[base.interface].name;
                wrong.push((
                    span,
                    format!("a `dyn interface` cannot inherit from `{name}`, which is not `dyn`"),
                ));
            }
        }
        for requirement in &self.program.interfaces[id].requirements {
            let (func, info) = (&self.program.funcs[*requirement], &self.tables.funcs[*requirement]);
            let own = func.generics.params.len() - info.hidden;
            let what = if own > self.facts().interface_params(id).len() {
                "generic methods"
            } else if attrs::has(&info.prefix.attributes, "mutating") {
                "`[mutating]` methods"
            } else if func.diff.differentiable.is_some() {
                "differentiable methods"
            } else {
                continue;
            };
            wrong.push((func.span, format!("a `dyn interface` cannot have {what}")));
        }
        for (span, message) in wrong {
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message).help("remove `dyn`"));
        }
    }

    /// A bound of a generic parameter speaks of the parameters before it only.
    pub(crate) fn check_bound_order(&mut self, id: GenericsId, number: usize, bound: Bound, span: Span) {
        let Bound::Conforms(_, interface) = bound else { return };
        let scope = self.tables.generics[id].scope;
        let later = self.tables.generics[id].own[number..].to_vec();
        if self.tables.scopes[scope].is_library() || !self.program.types.mentions_any(interface.args, &later)
        {
            return;
        }
        let message = "the bound mentions a generic parameter that is declared later";
        self.diagnostics.push(
            Diagnostic::new(codes::GENERIC_ARGS, span, message)
                .help("write the bound in a `where` clause after the parameters"),
        );
    }
}

impl Checked {
    /// The first interface that values of a type are dispatched on, if there are several types to choose from.
    pub(crate) fn dispatched_in(&mut self, ty: Ty) -> Option<InterfaceRef> {
        match self.program.types.kind(ty) {
            TyKind::Interface(interface, args) => Some(InterfaceRef { interface, args }),
            TyKind::Array(element, _) | TyKind::UnsizedArray(element) => self.dispatched_in(element),
            TyKind::Tuple(args) => {
                let parts = self.program.types.list(args).to_vec();
                parts.into_iter().filter_map(|part| part.ty()).find_map(|ty| self.dispatched_in(ty))
            }
            TyKind::Struct(id, args) if self.program.structs[id].magic.is_none() => {
                let fields = self.fields_under(id, args);
                fields.into_iter().find_map(|ty| self.dispatched_in(ty))
            }
            _ => None,
        }
    }

    /// Checks rules that need resolved declarations.
    pub(crate) fn check_rules(&mut self) {
        for id in self.tables.exts.keys() {
            if !self.tables.scopes[self.tables.exts[id].scope].is_library() {
                self.check_extension_params(id);
            }
        }
        for id in self.tables.interfaces.keys() {
            let scope = self.tables.interfaces[id].scope;
            if !self.tables.scopes[scope].is_library() && self.facts().language(scope) >= Version::V2026 {
                self.rules().check_dyn_interface(id);
            }
        }
    }

    /// Every parameter of an extension follows from the type it extends, or from what that conforms to.
    fn check_extension_params(&mut self, id: ExtId) {
        let Some(target) = self.ext_target(id) else { return };
        let generics = self.tables.exts[id].generics;
        let bounds = self.bounds(generics);
        for param in self.tables.generics[generics].own.clone() {
            let in_bound = |bound: &Bound| match *bound {
                Bound::Conforms(_, interface) => self.program.types.mentions_any(interface.args, &[param]),
                Bound::Equal(a, b) => {
                    self.program.types.depends(a, &[param]) || self.program.types.depends(b, &[param])
                }
                _ => false,
            };
            let known = self.program.params[param].witness
                || self.tables.generics.usual(param).is_some()
                || self.program.types.depends(target, &[param]);
            if known || self.program.types.is_error(target) || bounds.iter().any(in_bound) {
                continue;
            }
            let (name, span) = (self.program.params[param].name, self.program.params[param].span);
            let message = format!("cannot infer `{name}`: `{}` does not depend on it", self.show(target));
            self.diagnostics.push(
                Diagnostic::new(codes::CANNOT_INFER, span, message)
                    .help("make it a parameter of the members, or of the extended type"),
            );
        }
    }

    /// `[WaveSize(n)]`: powers of two that hardware has.
    pub(crate) fn check_wave_size(&mut self, attributes: &[ast::Attribute], scope: ScopeId) {
        let Some(attribute) = attrs::find(attributes, "WaveSize") else { return };
        for arg in &attribute.args {
            let val = self.const_val(arg, scope);
            let known = self.program.types.known(val);
            if known.is_some_and(|n| !(4..=128).contains(&n) || n & (n - 1) != 0) {
                let message = "the size of a wave is a power of two from 4 to 128";
                self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, attribute.span, message));
            }
        }
    }
}

impl Rules<'_> {
    /// The value of a constant at the outer level is computed at compile time: it calls no functions of the program and reads
    /// no variables.
    pub(crate) fn check_constant(&mut self, id: GlobalId) {
        let info = &self.tables.globals[id];
        let outer = !info.local && self.tables.scopes[info.scope].owner() == Owner::Module;
        if self.program.globals[id].kind != GlobalKind::Const || !outer {
            return;
        }
        let Some(body) = self.tables.bodies.initializer(id).cloned() else { return };
        let name = info.decl.name;
        let mut varies: Option<(Span, String)> = None;
        crate::hir::each_expr(&body.block, &mut |expr| {
            if varies.is_none() {
                varies = self.facts().varying_part(expr).map(|what| (expr.span, what));
            }
        });
        if let Some((span, what)) = varies {
            let message = format!("the value of `{}` is not known at compile time", name.name);
            self.diagnostics.push(
                Diagnostic::new(codes::NOT_CONSTANT, name.span, message)
                    .label(span, what)
                    .help("compute it from literals and other constants, or where it is used"),
            );
        }
    }

    /// A structure of a version of the language in which only interfaces can be inherited.
    pub(crate) fn check_inherits(&mut self, scope: ScopeId, base: &ast::Expr, ty: Ty) {
        if self.facts().language(scope) < Version::V2026 || self.tables.scopes[scope].is_library() {
            return;
        }
        let message = format!("a structure cannot inherit from the structure `{}`", self.show(ty));
        self.diagnostics.push(
            Diagnostic::new(codes::REMOVED, base.span, message)
                .help("make it a field; from version 2026 on, only interfaces can be inherited"),
        );
    }
}

impl Facts<'_> {
    /// Why an expression is not known at compile time; none if it may be.
    fn varying_part(self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Global(id, _) if self.program.globals[*id].kind != GlobalKind::Const => {
                Some(format!("`{}` is a variable", self.program.globals[*id].name))
            }
            ExprKind::Call(call) if !call.diff.is_empty() => Some("this is a derivative".into()),
            ExprKind::Call(call) => {
                let func = &self.program.funcs[call.callee.func];
                let own = func.kind != FuncKind::Constructor && !self.is_library(call.callee.func);
                own.then(|| format!("`{}` is a function of the program", func.name))
            }
            _ => None,
        }
    }
}
