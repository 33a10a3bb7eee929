//! Collects properties and subscripts, whose accessors are functions.
//!
//! Attributes and `no_diff` before a property apply to each of its accessors. An attribute that names a function applies to
//! one accessor, so it is allowed before the property only if there is one.

use super::Place;
use crate::codes;
use crate::collect::Collector;
use crate::declarations::attrs;
use crate::derive;
use crate::tables::{ElementAccess, FuncSource, Item, Owner, Prefix, PropId, PropInfo};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast::{self, ModifierKind};
use std::sync::Arc;

impl Collector<'_> {
    pub(super) fn collect_property(&mut self, decl: ast::PropertyDecl, prefix: &Prefix, place: Place) {
        let is_static = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
        let id = self.push_property(
            PropInfo {
                name: Some(decl.name.name),
                span: decl.name.span,
                params: Arc::new([]),
                ty: Arc::new(decl.ty),
                accessors: decl.accessors.into(),
                get: None,
                set: None,
                element: None,
                is_static: is_static || place.owner == Owner::Module,
                is_const: prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Const),
                no_diff: is_no_diff(prefix),
                generics: place.generics,
                scope: place.scope,
            },
            &prefix.attributes,
            place,
        );
        self.declare(place.scope, decl.name, Item::Property(id));
    }

    pub(super) fn collect_subscript(
        &mut self,
        decl: ast::SubscriptDecl,
        prefix: &Prefix,
        span: Span,
        place: Place,
    ) {
        let library = self.tables.scopes[place.scope].is_library();
        let path = self.tables.scopes[place.scope].path().clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].set_generics(generics);
        let inner = Place { scope, generics, ..place };
        let is_static = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
        let id = self.push_property(
            PropInfo {
                name: None,
                span,
                params: decl.params.into(),
                ty: Arc::new(decl.result),
                accessors: decl.accessors.into(),
                get: None,
                set: None,
                element: None,
                is_static,
                is_const: false,
                no_diff: is_no_diff(prefix),
                generics,
                scope,
            },
            &prefix.attributes,
            inner,
        );
        let name = ast::Ident { name: attrs::SUBSCRIPT.into(), span };
        self.declare(place.scope, name, Item::Property(id));
    }

    /// Enters a property and makes a function of each accessor, of which the attributes before the property are said too.
    pub(super) fn push_property(
        &mut self,
        property: PropInfo,
        attributes: &[ast::Attribute],
        place: Place,
    ) -> PropId {
        let shared = self.shared_attributes(&property, attributes);
        let accessors = property.accessors.clone();
        let is_static = property.is_static;
        let base = property.name.map_or("subscript", Symbol::as_str);
        let id = self.tables.props.push(property);
        for (number, accessor) in accessors.iter().enumerate() {
            let intrinsic = attrs::string(&accessor.attributes, attrs::INTRINSIC);
            let is_element = intrinsic.is_some_and(|i| i == attrs::ELEMENT);
            if is_element || accessor.kind == ast::AccessorKind::Ref {
                self.element_accessor(id, accessor, is_element);
                continue;
            }
            let word = match accessor.kind {
                ast::AccessorKind::Get => "get",
                ast::AccessorKind::Set => "set",
                ast::AccessorKind::Ref => "ref",
            };
            let name = ast::Ident { name: Symbol::new(&format!("{base}.{word}")), span: accessor.span };
            let said = accessor.attributes.iter().chain(&shared).cloned();
            let prefix = Prefix { attributes: said.collect(), modifiers: Arc::new([]) };
            let source = FuncSource::Accessor(id, number);
            let func = self.push_func(name, source, prefix, is_static, place);
            self.program.funcs[func].has_body = accessor.body.is_some();
            let before = match accessor.kind {
                ast::AccessorKind::Set => self.tables.props.set_set(id, func),
                _ => self.tables.props.set_get(id, func),
            };
            if let Some(first) = before {
                let message = format!("`{word}` is declared twice");
                let first = self.program.funcs[first].span;
                let diagnostic = Diagnostic::new(codes::REDECLARED, accessor.span, message);
                self.diagnostics.push(diagnostic.label(first, "first declared here"));
            }
            if let Owner::Interface(interface) = place.owner {
                self.program.interfaces[interface].requirements.push(func);
            }
        }
        id
    }

    /// The attributes before a property that are about its accessors; reports those that cannot be about all of them.
    fn shared_attributes(
        &mut self,
        property: &PropInfo,
        attributes: &[ast::Attribute],
    ) -> Vec<ast::Attribute> {
        let mut shared = vec![];
        for attribute in attributes.iter().filter(|a| !a.name.name.as_str().starts_with("__")) {
            let of_one = derive::names_function(attribute) || attribute.name.name == "mutating";
            if of_one && property.accessors.len() > 1 {
                let name = attribute.name.name;
                let message =
                    format!("`[{name}]` applies to one accessor, but there are {}", property.accessors.len());
                let diagnostic = Diagnostic::new(codes::BAD_ATTRIBUTE, attribute.span, message);
                self.diagnostics.push(diagnostic.help("write it before `get` or `set`"));
            } else {
                shared.push(attribute.clone());
            }
        }
        shared
    }

    pub(super) fn element_accessor(&mut self, id: PropId, accessor: &ast::Accessor, is_element: bool) {
        if !is_element {
            let message = "a `ref` accessor that does more than return a reference is not supported yet";
            let diagnostic = Diagnostic::new(codes::UNSUPPORTED, accessor.span, message);
            self.diagnostics.push(diagnostic.help("write `get` and `set` instead"));
            return;
        }
        let access = match accessor.kind {
            ast::AccessorKind::Get => ElementAccess::Get,
            ast::AccessorKind::Set | ast::AccessorKind::Ref => ElementAccess::Ref,
        };
        self.tables.props.allow_element(id, access);
    }
}

fn is_no_diff(prefix: &Prefix) -> bool {
    prefix.modifiers.iter().any(|m| m.kind == ModifierKind::NoDiff)
}
