//! Collects structures, interfaces, extensions, enumerations, aliases, associated types, and `cbuffer`s, which are structures
//! too.

use super::Place;
use crate::codes;
use crate::collect::Collector;
use crate::declarations::{attrs, placement};
use crate::hir::{Assoc, Enum, EnumId, GenericParam, Generics, GlobalKind, Interface, Struct, StructId};
use crate::tables::{
    AliasInfo, AssocInfo, Builtin, EnumInfo, ExtInfo, InterfaceInfo, Item, Owner, Prefix, Progress,
    StructInfo,
};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast::{self, DeclKind, ModifierKind};
use std::sync::Arc;

impl Collector<'_> {
    pub(super) fn collect_struct(
        &mut self,
        mut decl: ast::StructDecl,
        prefix: &Prefix,
        place: Place,
    ) -> StructId {
        let access = self.access;
        self.spread_bits(&mut decl, place.scope);
        self.rules().check_member_targets(&prefix.attributes, &decl);
        let members = std::mem::take(&mut decl.members);
        let converts = members.iter().any(|m| attrs::has(&m.attributes, attrs::IMPLICIT));
        let decl = Arc::new(decl);
        let id = self.tables.structs.next_key();
        let owner = Owner::Struct(id);
        let scope = self.member_scope(place.scope, owner, place.generics, decl.name.name.as_str());
        let magic = attrs::string(&prefix.attributes, attrs::MAGIC);
        let builtin = magic.and_then(builtin_type);
        self.program.structs.push(Struct {
            name: self.tables.scopes.qualified(place.scope, decl.name.name.as_str()),
            span: decl.name.span,
            generics: Generics::default(),
            fields: vec![],
            magic,
            opaque: decl.is_class || attrs::has(&prefix.attributes, "__NonCopyableType"),
            differential_of: None,
        });
        self.note_lang(&prefix.attributes, Item::Struct(id));
        self.tables.structs.push(StructInfo {
            decl: decl.clone(),
            fields: vec![],
            scope,
            generics: place.generics,
            resolved: Progress::New,
            bases: Progress::New,
            base: None,
            builtin,
            converts,
        });
        if let Some(builtin) = builtin {
            self.tables.lang.set_builtin(builtin, id);
        }
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.structs.set_generics(id, generics);
        self.tables.scopes[scope].set_generics(generics);
        self.declare(place.scope, decl.name, Item::Struct(id));
        let defaults = place.defaults.inside(access, false);
        self.collect_decls(members, Place { scope, owner, generics, defaults });
        id
    }

    /// `__constraint ..;`.
    pub(super) fn collect_constraint(&mut self, condition: ast::Where, span: Span, place: Place) {
        let Owner::Interface(id) = place.owner else {
            let message = "`__constraint` is allowed in interfaces only";
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message));
            return;
        };
        self.tables.conformances.note_constraint();
        self.tables.interfaces.add_constraint(id, condition);
    }

    pub(super) fn collect_interface(&mut self, mut decl: ast::InterfaceDecl, prefix: &Prefix, place: Place) {
        let access = self.access;
        let members = std::mem::take(&mut decl.members);
        let decl = Arc::new(decl);
        let id = self.tables.interfaces.next_key();
        let owner = Owner::Interface(id);
        let scope = self.member_scope(place.scope, owner, place.generics, decl.name.name.as_str());
        let this = self.program.params.push(GenericParam {
            name: "This".into(),
            value: None,
            pack: false,
            witness: false,
            span: decl.name.span,
        });
        self.program.interfaces.push(Interface {
            name: self.tables.scopes.qualified(place.scope, decl.name.name.as_str()),
            span: decl.name.span,
            generics: Generics::default(),
            this,
            bases: vec![],
            assocs: vec![],
            requirements: vec![],
            any_value_size: None,
        });
        self.note_lang(&prefix.attributes, Item::Interface(id));
        let around = self.push_generics(place.generics, vec![this], Arc::default(), scope, None);
        let own = self.collect_generics(&decl.generics, scope, around);
        let generics = self.push_generics(own, vec![], Arc::default(), scope, Some(id));
        self.tables.interfaces.push(InterfaceInfo {
            decl: decl.clone(),
            scope,
            generics,
            bases: Progress::New,
            attributes: prefix.attributes.clone(),
            modifiers: prefix.modifiers.clone(),
            constraints: vec![],
            constrained: Progress::New,
            constraint_bounds: vec![],
        });
        self.tables.scopes[scope].set_generics(generics);
        self.declare(place.scope, decl.name, Item::Interface(id));
        let defaults = place.defaults.inside(access, true);
        self.collect_decls(members, Place { scope, owner, generics, defaults });
    }

    pub(super) fn collect_extension(&mut self, mut decl: ast::ExtensionDecl, place: Place) {
        let access = self.access;
        let members = std::mem::take(&mut decl.members);
        let decl = Arc::new(decl);
        let id = self.tables.exts.next_key();
        let owner = Owner::Extension(id);
        let name = crate::types::show::syntax(&decl.target);
        let scope = self.member_scope(place.scope, owner, place.generics, &name);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].set_generics(generics);
        self.tables.exts.push(ExtInfo {
            decl,
            scope,
            generics,
            resolved: Progress::New,
            bases: Progress::New,
            target: None,
        });
        let defaults = place.defaults.inside(access, false);
        self.collect_decls(members, Place { scope, owner, generics, defaults });
    }

    pub(super) fn collect_enum(&mut self, decl: Arc<ast::EnumDecl>, prefix: Prefix, place: Place) {
        let id: EnumId = self.tables.enums.next_key();
        let anonymous = decl.name.is_none();
        let name = decl.name.map_or("enum", |n| n.name.as_str());
        let scope = self.member_scope(place.scope, Owner::Enum(id), place.generics, name);
        let underlying = self.program.types.error();
        let span = decl.name.map(|n| n.span).or(decl.cases.first().map(|c| c.0.span));
        self.program.enums.push(Enum {
            name: self.tables.scopes.qualified(place.scope, name),
            underlying,
            cases: decl.cases.iter().map(|c| (c.0.name, 0)).collect(),
            span: span.unwrap_or(Span::none()),
        });
        let unscoped = anonymous || attrs::has(&prefix.attributes, "UnscopedEnum");
        if let (true, Some(attribute)) = (decl.is_class, attrs::find(&prefix.attributes, "UnscopedEnum")) {
            let message = "the cases of an `enum class` are visible through its name only";
            let diagnostic = Diagnostic::new(codes::BAD_ATTRIBUTE, attribute.span, message);
            self.diagnostics.push(diagnostic.help("remove `class` or `[UnscopedEnum]`"));
        }
        self.tables.enums.push(EnumInfo {
            decl: decl.clone(),
            prefix,
            scope,
            resolved: Progress::New,
            numbered: 0,
        });
        for (number, (case, _)) in decl.cases.iter().enumerate() {
            let item = Item::Case(id, number as u32);
            self.declare(scope, *case, item);
            if unscoped {
                self.declare(place.scope, *case, item);
            }
        }
        if let Some(name) = decl.name {
            self.declare(place.scope, name, Item::Enum(id));
        }
    }

    pub(super) fn collect_alias(&mut self, decl: Arc<ast::AliasDecl>, place: Place) {
        let library = self.tables.scopes[place.scope].is_library();
        let path = self.tables.scopes[place.scope].path().clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].set_generics(generics);
        let name = decl.name;
        let id =
            self.tables.aliases.push(AliasInfo { decl, scope, generics, resolved: Progress::New, ty: None });
        self.declare(place.scope, name, Item::Alias(id));
    }

    pub(super) fn collect_assoc(&mut self, decl: Arc<ast::AssocDecl>, prefix: &Prefix, place: Place) {
        let Owner::Interface(interface) = place.owner else {
            let message = "`associatedtype` outside an interface";
            let help = "an interface declares an associated type; a structure defines it with `typealias`";
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, decl.name.span, message).help(help));
            return;
        };
        let id = self.program.assocs.push(Assoc {
            name: decl.name.name,
            interface,
            bounds: vec![],
            span: decl.name.span,
        });
        self.program.interfaces[interface].assocs.push(id);
        self.note_lang(&prefix.attributes, Item::Assoc(id));
        self.declare(place.scope, decl.name, Item::Assoc(id));
        self.tables.assocs.push(AssocInfo { decl, resolved: Progress::New, equal: vec![] });
    }

    /// A `cbuffer` is a global of a structure of its members; their names are visible around it. What is `static` in it is a
    /// variable around it.
    pub(super) fn collect_cbuffer(
        &mut self,
        name: ast::Ident,
        decls: Vec<ast::Decl>,
        prefix: &Prefix,
        place: Place,
    ) {
        let (shared, decls): (Vec<_>, Vec<_>) = decls.into_iter().partition(|decl| {
            let is_static = decl.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
            is_static && matches!(decl.kind, DeclKind::Var(_))
        });
        self.collect_decls(shared, place);
        let members: Vec<_> = decls
            .iter()
            .filter_map(|d| match &d.kind {
                DeclKind::Var(var) => Some((var.name, var.semantic)),
                _ => None,
            })
            .collect();
        let offsets = members.iter().map(|(_, semantic)| self.rules().packoffset(*semantic)).collect();
        let wish = self.rules().wish(&prefix.attributes, None);
        let decl = ast::StructDecl {
            name: ast::Ident { name: Symbol::new(&format!("cbuffer {}", name.name)), ..name },
            is_class: false,
            generics: Default::default(),
            bases: vec![],
            members: decls,
        };
        let id = self.collect_struct(decl, &Prefix::none(), place);
        let var = ast::VarDecl { name, ty: None, init: None, semantic: None, bits: None, is_let: false };
        let global = self.push_global(var.into(), GlobalKind::Param, Some(id), place);
        self.program.globals[global].wish = wish;
        self.tables.globals.set_binding(global, placement::open_binding(&prefix.attributes));
        self.program.globals[global].cbuffer = Some(offsets);
        for (number, (name, _)) in members.into_iter().enumerate() {
            self.declare(place.scope, name, Item::BufferField(global, number as u32));
        }
    }
}

/// The built-in type that `[__magic("..")]` describes; other words are for lowering.
fn builtin_type(magic: Symbol) -> Option<Builtin> {
    let word = magic.as_str();
    if let Some(scalar) = Scalar::from_name(word) {
        return Some(Builtin::Scalar(scalar));
    }
    match word {
        "vector" => Some(Builtin::Vector),
        "matrix" => Some(Builtin::Matrix),
        "array" => Some(Builtin::Array),
        "tuple" => Some(Builtin::Tuple),
        "string" => Some(Builtin::String),
        "void" => Some(Builtin::Void),
        _ => None,
    }
}
