//! Queries for editors: what a name means, where it is used, and which expression is at a position.
//!
//! While the user's files are checked, [`Uses::note`] records the meaning of each name; names in library files are not
//! recorded. If a name is resolved several times, for example during overload resolution, the last meaning counts.
//! [`Uses::finish`] sorts the table. After that, [`Checked::use_at`], [`Checked::references`] and [`Checked::expr_at`] answer
//! queries.
//!
//! A declaration is identified by the position of its name, so that a variable and the field that captures it in a lambda are
//! the same.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::hir::{AssocId, Body, EnumId, ExprId, FuncId, GenericParamId, GlobalId, InterfaceId, StructId};
use crate::names::lookup::Found;
use crate::tables::{FuncSource, Item, ScopeId};
use cotangent_base::{FileId, Span};
use std::sync::Arc;

/// What a name can mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A variable or parameter.
    Local,
    /// A function, method or requirement: the overload that was chosen.
    Func(FuncId),
    /// A field of a structure or `cbuffer`.
    Field,
    /// A property.
    Property,
    /// A structure.
    Struct(StructId),
    /// An interface.
    Interface(InterfaceId),
    /// An enumeration.
    Enum(EnumId),
    /// A case of an enumeration.
    Case(EnumId),
    /// Another name of a type.
    Alias,
    /// An associated type.
    Assoc(AssocId),
    /// A generic parameter.
    Param(GenericParamId),
    /// A global.
    Global(GlobalId),
}

/// A name in a file of the user's and what it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where the name stands.
    pub span: Span,
    /// What it means.
    pub meaning: Meaning,
    /// Where that is declared; this identifies the declaration.
    pub declared: Span,
}

/// All uses of names in the user's files.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses {
    /// Those found since the table was last sorted.
    new: Vec<Use>,
    /// By place, one for each.
    sorted: Arc<[Use]>,
}

fn place(span: Span) -> (FileId, u32, u32) {
    (span.file, span.start, span.end)
}

impl Uses {
    fn note(&mut self, found: Use) {
        self.new.push(found);
    }

    /// How many uses were noted, for [`Self::forget_since`].
    pub(crate) fn mark(&self) -> usize {
        self.new.len()
    }

    /// Forgets what was noted since `mark`, in something that failed.
    pub(crate) fn forget_since(&mut self, mark: usize) {
        self.new.truncate(mark);
    }

    /// Sorts the table. Of several meanings of one name the last counts.
    pub(crate) fn finish(&mut self) {
        let mut all = self.sorted.to_vec();
        all.append(&mut self.new);
        all.reverse();
        all.sort_by_key(|found| place(found.span));
        all.dedup_by_key(|found| found.span);
        self.sorted = all.into();
    }
}

/// An expression in a body of the user's.
#[derive(Clone, Debug)]
pub struct ExprPlace {
    /// The body it stands in: that of a function, or the initializer of a global.
    pub body: Arc<Body>,
    /// Its number there.
    pub expr: ExprId,
}

impl Checked {
    /// The name at a byte of a file, and what it means.
    pub fn use_at(&self, file: FileId, offset: u32) -> Option<Use> {
        let sorted = &self.tables.uses.sorted;
        let end = sorted.partition_point(|found| (found.span.file, found.span.start) <= (file, offset));
        let found = sorted[..end].last()?;
        (found.span.file == file && offset < found.span.end).then_some(*found)
    }

    /// Where the user's files mention what is declared at `declared`, in order.
    pub fn references(&self, declared: Span) -> impl Iterator<Item = Span> {
        self.tables.uses.sorted.iter().filter(move |found| found.declared == declared).map(|found| found.span)
    }

    /// The innermost expression at a byte of a file of the user's.
    pub fn expr_at(&self, file: FileId, offset: u32) -> Option<ExprPlace> {
        let contains = |span: Span| span.file == file && span.start <= offset && offset < span.end;
        let funcs = self.tables.funcs.user().iter().filter_map(|func| {
            let info = &self.tables.funcs[*func];
            let span = match &info.source {
                FuncSource::Func(decl) => decl.body.as_ref()?.block().span,
                FuncSource::Accessor(property, number) => {
                    self.tables.props[*property].accessors[*number].body.as_ref()?.block().span
                }
            };
            contains(span).then(|| Some((span, self.tables.bodies.of(*func)?.clone()))).flatten()
        });
        let globals = self.tables.globals.iter().filter_map(|(id, info)| {
            let span = info.decl.init.as_ref()?.span;
            contains(span).then(|| Some((span, self.tables.bodies.initializer(id)?.clone()))).flatten()
        });
        // A lambda is a function in a function.
        let innermost = funcs.chain(globals).min_by_key(|(span, _)| span.end - span.start);
        let (_, body) = innermost?;
        let expr = body.source_map().innermost(file, offset)?;
        Some(ExprPlace { body, expr })
    }

    /// Notes that a name means what was found under it.
    pub(crate) fn note_use(&mut self, span: Span, found: Found, scope: ScopeId) {
        if span.is_none() || self.tables.scopes[scope].is_library() {
            return;
        }
        if !matches!(found.item, Item::Field(_)) {
            self.rules().check_item_not_removed(found.item, span, scope);
        }
        if let Some((meaning, declared)) = self.meaning(found) {
            self.tables.uses.note(Use { span, meaning, declared });
        }
    }

    fn meaning(&mut self, found: Found) -> Option<(Meaning, Span)> {
        let program = &self.program;
        Some(match found.item {
            Item::Func(id) => (Meaning::Func(id), program.funcs[id].span),
            Item::Struct(id) => (Meaning::Struct(id), program.structs[id].span),
            Item::Interface(id) => (Meaning::Interface(id), program.interfaces[id].span),
            Item::Enum(id) => (Meaning::Enum(id), program.enums[id].span),
            Item::Case(id, number) => {
                let case = self.tables.enums[id].decl.cases.get(number as usize)?;
                (Meaning::Case(id), case.0.span)
            }
            Item::Alias(id) => (Meaning::Alias, self.tables.aliases[id].decl.name.span),
            Item::Assoc(id) => (Meaning::Assoc(id), program.assocs[id].span),
            Item::Param(id) => (Meaning::Param(id), program.params[id].span),
            Item::Global(id) => (Meaning::Global(id), program.globals[id].span),
            Item::Property(id) => (Meaning::Property, self.tables.props[id].span),
            Item::BufferField(id, number) => {
                let buffer = self.tables.globals[id].buffer?;
                let field = self.tables.structs[buffer].fields.get(number as usize)?;
                (Meaning::Field, field.0.name.span)
            }
            Item::Field(number) => {
                let (id, _) = self.names().struct_of(found.of?)?;
                let field = self.tables.structs[id].fields.get(number as usize)?;
                let captured = self.tables.lambdas.contains(id);
                (if captured { Meaning::Local } else { Meaning::Field }, field.0.name.span)
            }
            Item::Namespace(_) | Item::Const(..) => return None,
        })
    }
}

impl BodyCx<'_> {
    /// Notes that a name means what was found under it.
    pub(crate) fn note_use(&mut self, span: Span, found: Found) {
        self.cx.note_use(span, found, self.scope);
    }

    /// Notes that a name means a variable.
    pub(crate) fn note_local(&mut self, span: Span, declared: Span) {
        if !self.cx.tables.scopes[self.scope].is_library() {
            self.cx.tables.uses.note(Use { span, meaning: Meaning::Local, declared });
        }
    }

    /// Notes that a name means a function, which overload resolution chose.
    pub(crate) fn note_func(&mut self, span: Span, func: FuncId) {
        if !self.cx.tables.scopes[self.scope].is_library() {
            let declared = self.cx.program.funcs[func].span;
            self.cx.tables.uses.note(Use { span, meaning: Meaning::Func(func), declared });
        }
    }
}
