//! The state of the checker beside the typed program, by owner: scopes, the syntax of declarations, and the progress of each.
//!
//! Declarations are collected once ([`crate::collect`]): each gets a number in [`Program`](crate::hir::Program) with a
//! placeholder, and an entry here with its syntax and scope. Everything else (signatures, fields, bases, bodies) is resolved
//! on first use. So the order of declarations does not matter, and unused parts of the library cost nothing. A [`Progress`]
//! detects cycles.

pub(crate) use crate::declarations::table::{
    AliasInfo, AssocInfo, ElementAccess, EnumInfo, ExtInfo, FuncInfo, FuncSource, GlobalInfo, InterfaceInfo,
    PropInfo, StructInfo,
};
pub(crate) use crate::generics::table::GenericsInfo;
pub(crate) use crate::names::modules::Module;

use crate::bodies::around::Around;
use crate::bodies::checked_bodies::Bodies;
use crate::bodies::foreign::Foreign;
use crate::bodies::lambda::Lambdas;
use crate::collect::Links;
use crate::conformance::conform::{ConformanceIndex, Search};
use crate::conformance::table::Conformances;
use crate::declarations::removed::Removed;
use crate::declarations::settling::Repetitions;
use crate::declarations::table::{Funcs, Table};
use crate::declarations::user_attributes::UserAttributes;
use crate::derive::Derivatives;
use crate::generics::assumptions::Assumptions;
use crate::generics::table::GenericsTable;
use crate::generics::worklist::WorkList;
use crate::hir::{AssocId, EnumId, FuncId, GenericParamId, GlobalId, InterfaceId, StructId, Ty, Val};
use crate::names::library_items::LibraryItems;
use crate::names::modules::Modules;
use crate::names::scopes::Scopes;
use crate::names::uses::Uses;
use crate::types::leaves::Sizes;
use crate::types::resolving::Resolving;
use cotangent_base::{Scalar, entity};
use cotangent_syntax::ast;
use std::sync::Arc;

entity!(
    /// A scope with names.
    ScopeId,
    "scope"
);
entity!(
    /// A `typealias` or `typedef`.
    AliasId,
    "alias"
);
entity!(
    /// A property or subscript.
    PropId,
    "property"
);
entity!(
    /// An extension.
    ExtId,
    "extension"
);
entity!(
    /// A list of generic parameters with those around it.
    GenericsId,
    "generics"
);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Item {
    /// A function, method, constructor or requirement.
    Func(FuncId),
    /// A structure.
    Struct(StructId),
    /// An interface.
    Interface(InterfaceId),
    /// An enumeration.
    Enum(EnumId),
    /// Another name of a type.
    Alias(AliasId),
    /// An associated type.
    Assoc(AssocId),
    /// A global or static member.
    Global(GlobalId),
    /// A member of a `cbuffer`: a field of a global.
    BufferField(GlobalId, u32),
    /// A field of the structure whose scope this is.
    Field(u32),
    /// A property.
    Property(PropId),
    /// A namespace.
    Namespace(ScopeId),
    /// A generic parameter.
    Param(GenericParamId),
    /// A case of an enumeration.
    Case(EnumId, u32),
    /// A local constant, as far as types and sizes are concerned.
    Const(Val, Ty),
}

/// The declaration whose members a scope holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// None: a module, namespace or block.
    Module,
    /// A structure.
    Struct(StructId),
    /// An extension.
    Extension(ExtId),
    /// An interface.
    Interface(InterfaceId),
    /// An enumeration.
    Enum(EnumId),
}

/// How far something was resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Progress {
    /// Not begun.
    #[default]
    New,
    /// Begun; whoever meets it again must do with what is there.
    Busy,
    /// Finished.
    Done,
}

impl Progress {
    /// Begins what was not begun yet; false if it was.
    pub(crate) fn begin(&mut self) -> bool {
        let begins = *self == Progress::New;
        if begins {
            *self = Progress::Busy;
        }
        begins
    }
}

/// Attributes and modifiers of a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub attributes: Arc<[ast::Attribute]>,
    pub modifiers: Arc<[ast::Modifier]>,
}

impl Prefix {
    /// Nothing stands before the declaration.
    pub(crate) fn none() -> Self {
        Self { attributes: Arc::new([]), modifiers: Arc::new([]) }
    }
}

/// The built-in types that structures of the library describe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Builtin {
    Scalar(Scalar),
    Vector,
    Matrix,
    Array,
    Tuple,
    String,
    Void,
}

/// What stands at the front of a type, by which extensions and conformances are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Head {
    /// A structure; built-in types are the structures that describe them.
    Struct(StructId),
    /// An enumeration.
    Enum(EnumId),
    /// Any type: `extension<T : IA> T`.
    Any,
}

/// The state of the checker beside the typed program. Each part is private to the module that it is declared in, and changes
/// by methods of that module.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tables {
    // Names and scopes.
    pub scopes: Scopes,
    pub modules: Modules,
    pub lang: LibraryItems,
    pub uses: Uses,
    pub links: Links,
    // Declarations.
    pub funcs: Funcs,
    pub structs: Table<StructId, StructInfo>,
    pub interfaces: Table<InterfaceId, InterfaceInfo>,
    pub enums: Table<EnumId, EnumInfo>,
    pub assocs: Table<AssocId, AssocInfo>,
    pub globals: Table<GlobalId, GlobalInfo>,
    pub aliases: Table<AliasId, AliasInfo>,
    pub props: Table<PropId, PropInfo>,
    pub exts: Table<ExtId, ExtInfo>,
    pub removed: Removed,
    pub user_attributes: UserAttributes,
    pub repetitions: Repetitions,
    // Types.
    pub resolving: Resolving,
    pub sizes: Sizes,
    // Generics.
    pub generics: GenericsTable,
    pub assumptions: Assumptions,
    pub work: WorkList,
    // Conformances.
    pub conformances: Conformances,
    pub index: ConformanceIndex,
    pub search: Search,
    // Bodies.
    pub bodies: Bodies,
    pub around: Around,
    pub lambdas: Lambdas,
    pub foreign: Foreign,
    // Derivatives.
    pub derivatives: Derivatives,
}

impl Tables {
    /// Lets clones share the large tables.
    pub(crate) fn share(&mut self) {
        self.scopes.share();
        self.funcs.share();
        self.structs.share();
        self.interfaces.share();
        self.enums.share();
        self.assocs.share();
        self.globals.share();
        self.aliases.share();
        self.props.share();
        self.exts.share();
        self.generics.share();
        self.conformances.share();
        self.bodies.share();
        self.modules.share();
        self.uses.finish();
    }

    /// The parameters of a function as they were written: of a `get`, the indices. (A `set` takes a value too, and is never called by
    /// name.)
    pub(crate) fn written_params(&self, func: FuncId) -> &[ast::Param] {
        match &self.funcs[func].source {
            FuncSource::Func(decl) => &decl.params,
            FuncSource::Accessor(property, _) if self.props[*property].get == Some(func) => {
                &self.props[*property].params
            }
            FuncSource::Accessor(..) => &[],
        }
    }
}
