//! Reports unmet requirements of an interface: each once, with the declaration to add.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{ConformanceId, FuncId};
use crate::names::lookup::Found;
use crate::tables::{FuncSource, Item, Owner, PropId};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast::{self, FuncKind as Written, ModifierKind};

impl Checked {
    pub(crate) fn missing_requirement(&mut self, id: ConformanceId, requirement: FuncId) {
        let conformance = &self.program.conformances[id];
        let (ty, interface, span) = (conformance.ty, conformance.interface, conformance.span);
        let (name, _) = self.facts().requirement_name(requirement);
        let found = self.own_members(ty, name);
        let is_element = found.iter().any(|f| match f.item {
            Item::Property(p) => self.tables.props[p].element.is_some(),
            _ => false,
        });
        if is_element || self.program.types.is_error(ty) {
            // Elements of arrays and vectors are places the compiler knows; there is no function to name.
            return;
        }
        if self.facts().is_told(id, requirement) {
            return;
        }
        let shown = self.facts().shown_requirement(requirement);
        let mut message = format!("`{}` does not provide `{shown}`", self.show(ty));
        let interface = self.facts().show_interface(interface);
        if interface.contains('<') {
            message.push_str(&format!(" for `{interface}`"));
        }
        if let Some(how) = self.facts().passed_otherwise(requirement, &found) {
            message.push_str(&format!(": {how}"));
        }
        let misfit = self.facts().ill_fitting(&found);
        let mut diagnostic = Diagnostic::new(codes::MISSING_REQUIREMENT, misfit.unwrap_or(span), message);
        if misfit.is_some() {
            diagnostic = diagnostic.label(span, "conforms here");
        }
        diagnostic = diagnostic.label(self.program.funcs[requirement].span, "required here");
        for member in found.iter().filter(|_| misfit.is_none()) {
            if let Item::Func(func) = member.item {
                let declared = self.program.funcs[func].span;
                diagnostic = diagnostic.label(declared, "this one has a different signature");
            }
        }
        let help = match self.tables.funcs[requirement].source.clone() {
            FuncSource::Func(decl) => format!("add `{}`", self.declaration_for(id, requirement, &decl)),
            FuncSource::Accessor(property, _) => self.accessor_help(id, requirement, property),
        };
        self.diagnostics.push(diagnostic.help(help));
    }

    /// How a type would declare what meets a requirement.
    fn declaration_for(&mut self, id: ConformanceId, requirement: FuncId, decl: &ast::FuncDecl) -> String {
        let (_, args) = self.wanted(id, requirement);
        let args = self.program.types.args(&args);
        let func = self.program.funcs[requirement].clone();
        let mut params = vec![];
        for (number, param) in func.params.iter().enumerate() {
            let ty = self.replace(param.ty, &func.generics.params, args);
            let dir = self.facts().passing_words(requirement, number);
            let no_diff = if param.no_diff { "no_diff " } else { "" };
            params.push(format!("{no_diff}{dir}{} {}", self.show(ty), param.name));
        }
        let result = self.replace(func.result, &func.generics.params, args);
        let mut declared = match decl.kind {
            Written::Constructor => attrs::INIT.to_string(),
            Written::Plain | Written::Operator => {
                let (name, _) = self.facts().requirement_name(requirement);
                format!("{} {name}", self.show(result))
            }
        };
        let own = decl.generics.params.len();
        if own > 0 {
            let written = func.generics.params.len() - self.tables.funcs[requirement].hidden;
            let own = &func.generics.params[written.saturating_sub(own)..written];
            let own: Vec<String> =
                own.iter().map(|param| self.facts().show_generic(*param, &func.generics.bounds)).collect();
            declared.push_str(&format!("<{}>", own.join(", ")));
        }
        let is_static = self.tables.funcs[requirement].is_static && decl.kind != Written::Constructor;
        let differentiable = if func.diff.differentiable.is_some() { "[Differentiable] " } else { "" };
        let mutating = if func.this.is_some_and(|this| this.mutating) { "[mutating] " } else { "" };
        let fixed = if is_static { "static " } else { "" };
        format!("{differentiable}{mutating}{fixed}{declared}({})", params.join(", "))
    }

    /// How a property, a subscript or a constant would be declared.
    fn accessor_help(&mut self, id: ConformanceId, requirement: FuncId, property: PropId) -> String {
        let info = &self.tables.props[property];
        let (name, is_static, both) = (info.name, info.is_static, info.set.is_some());
        if info.get.is_some_and(|get| get != requirement) {
            return "give it a `set`".to_string();
        }
        let (_, args) = self.wanted(id, requirement);
        let args = self.program.types.args(&args);
        let func = self.program.funcs[requirement].clone();
        let ty = self.replace(func.result, &func.generics.params, args);
        let ty = self.show(ty);
        let accessors = if both { "{ get { .. } set { .. } }" } else { "{ get { .. } }" };
        match name {
            Some(name) if is_static => format!("add `static const {ty} {name} = ..;`"),
            Some(name) => format!("add `property {ty} {name} {accessors}`, or a field `{ty} {name}`"),
            None => {
                format!("add `{} -> {ty} {accessors}`", self.facts().subscript_head(property, requirement))
            }
        }
    }

    /// Reports `override` before what replaces nothing: no interface of the type has the name.
    pub(crate) fn check_overrides(&mut self) {
        for func in self.tables.funcs.user().to_vec() {
            let info = &self.tables.funcs[func];
            let marked = info.prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Override);
            if !marked || !matches!(info.owner, Owner::Struct(_) | Owner::Extension(_)) {
                continue;
            }
            let owner = info.owner;
            let (name, _) = self.facts().requirement_name(func);
            let Some(ty) = self.owner_ty(owner) else { continue };
            let inherits = matches!(owner, Owner::Struct(id) if self.tables.structs[id].base.is_some());
            let interfaces = self.interfaces_of(ty);
            let has = |interface: &crate::hir::InterfaceRef| {
                let scope = self.tables.interfaces[interface.interface].scope;
                self.tables.scopes[scope].has(name)
            };
            if inherits || self.program.types.is_error(ty) || interfaces.iter().any(has) {
                continue;
            }
            let message = format!("`{}` overrides nothing", self.program.funcs[func].name);
            let span = self.program.funcs[func].span;
            self.diagnostics.push(
                Diagnostic::new(codes::NOTHING_TO_OVERRIDE, span, message)
                    .help("remove `override`, or use the name of the interface's method"),
            );
        }
    }
}

impl Facts<'_> {
    /// Where the user declares the only member with the name of a requirement, which does not meet it.
    fn ill_fitting(self, found: &[Found]) -> Option<Span> {
        let [member] = found else { return None };
        let library = match member.item {
            Item::Func(func) => self.tables.scopes[self.tables.funcs[func].scope].is_library(),
            Item::Property(property) => self.tables.scopes[self.tables.props[property].scope].is_library(),
            _ => return None,
        };
        self.item_span(member.item).filter(|_| !library)
    }

    /// Whether the other accessor of the same property is missing too, which is reported for both.
    fn is_told(self, id: ConformanceId, requirement: FuncId) -> bool {
        let FuncSource::Accessor(property, _) = self.tables.funcs[requirement].source else { return false };
        let get = self.tables.props[property].get.filter(|get| *get != requirement);
        get.is_some_and(|get| !self.program.conformances[id].witnesses.contains_key(&get))
    }

    /// A requirement in words: that of a property is the property.
    fn shown_requirement(self, requirement: FuncId) -> String {
        let FuncSource::Accessor(property, _) = self.tables.funcs[requirement].source else {
            return self.show_func(requirement);
        };
        let info = &self.tables.props[property];
        let name = self.program.funcs[requirement].name;
        let (path, accessor) = name.as_str().rsplit_once('.').unwrap_or((name.as_str(), ""));
        let around = path.rsplit_once('.').map_or("", |(around, _)| around);
        match (info.name, info.get.is_some_and(|get| get != requirement)) {
            (Some(_), false) => path.to_string(),
            (Some(_), true) => format!("{path}.{accessor}"),
            (None, _) => format!("{around}.{}", self.subscript_head(property, requirement)),
        }
    }

    fn subscript_head(self, property: PropId, requirement: FuncId) -> String {
        let count = self.tables.props[property].params.len();
        let params = self.program.funcs[requirement].params.iter().take(count);
        let params: Vec<String> = params.map(|p| format!("{} {}", self.show(p.ty), p.name)).collect();
        format!("__subscript({})", params.join(", "))
    }
}
