//! Queries for editors: the declaration whose name is at a position, and the type of what a name means.
//!
//! Input: the typed program and the tables, as checking left them, also when it reported errors: a declaration that was collected is
//! found, and what has an error has the error type. Nothing is resolved for an answer. Together with [`uses`](super::uses) this
//! answers what an editor asks about a position: which expression is there, which declaration does its name mean, which type has
//! it, and where else is it used.

use crate::Checked;
use crate::hir::{Body, Ty};
use crate::names::uses::{Meaning, Use};
use cotangent_base::{FileId, Span};
use std::sync::Arc;

impl Checked {
    /// The name at a byte of a file, and what it means: a use, or the name in a declaration.
    pub fn name_at(&self, file: FileId, offset: u32) -> Option<Use> {
        self.use_at(file, offset).or_else(|| self.declaration_at(file, offset))
    }

    /// The declaration whose name is at a byte of a file.
    pub fn declaration_at(&self, file: FileId, offset: u32) -> Option<Use> {
        let here = |span: Span| span.file == file && span.start <= offset && offset < span.end;
        // `this` is a variable too, declared where the name of its method stands.
        let found = self.declared().find(|(_, span)| here(*span)).or_else(|| {
            let mut locals = self.user_bodies().flat_map(|body| body.locals.values());
            locals.find(|local| here(local.span)).map(|local| (Meaning::Local, local.span))
        });
        found.map(|(meaning, span)| Use { span, meaning, declared: span })
    }

    /// The type of what a name means: of a variable, field, property or global its own, of a function that of the result, of a case
    /// of an enumeration that of its number. A name of a type has none.
    pub fn type_of(&self, name: &Use) -> Option<Ty> {
        let program = &self.program;
        match name.meaning {
            Meaning::Local => {
                let mut all = self.user_bodies().flat_map(|body| body.locals.values());
                all.find(|local| local.span == name.declared).map(|local| local.ty)
            }
            Meaning::Func(id) => Some(program.funcs[id].result),
            Meaning::Global(id) => Some(program.globals[id].ty),
            Meaning::Case(id) => Some(program.enums[id].underlying),
            Meaning::Field => {
                let (id, number) = self.tables.structs.iter().find_map(|(id, info)| {
                    let number = info.fields.iter().position(|field| field.0.name.span == name.declared)?;
                    Some((id, number))
                })?;
                let own = self.tables.structs[id].fields.len();
                // The fields of a base structure are one field, before the others.
                let all = &program.structs[id].fields;
                all.get(number + all.len().saturating_sub(own)).map(|field| field.ty)
            }
            Meaning::Property => {
                let (_, info) = self.tables.props.iter().find(|(_, info)| info.span == name.declared)?;
                Some(program.funcs[info.get?].result)
            }
            Meaning::Struct(_)
            | Meaning::Interface(_)
            | Meaning::Enum(_)
            | Meaning::Alias
            | Meaning::Assoc(_)
            | Meaning::Param(_) => None,
        }
    }

    /// All declarations but variables, with where their names stand.
    fn declared(&self) -> impl Iterator<Item = (Meaning, Span)> {
        let (program, tables) = (&self.program, &self.tables);
        // What a lambda captures is a field of its structure, but the variable is what was declared.
        let written = tables.structs.iter().filter(|(id, _)| !tables.lambdas.contains(*id));
        let fields = written.flat_map(|(_, info)| &info.fields);
        let cases = tables
            .enums
            .iter()
            .flat_map(|(id, info)| info.decl.cases.iter().map(move |case| (Meaning::Case(id), case.0.span)));
        let funcs = program.funcs.iter().map(|(id, func)| (Meaning::Func(id), func.span));
        funcs
            .chain(program.structs.iter().map(|(id, data)| (Meaning::Struct(id), data.span)))
            .chain(fields.map(|field| (Meaning::Field, field.0.name.span)))
            .chain(program.interfaces.iter().map(|(id, data)| (Meaning::Interface(id), data.span)))
            .chain(program.enums.iter().map(|(id, data)| (Meaning::Enum(id), data.span)))
            .chain(cases)
            .chain(tables.aliases.iter().map(|(_, info)| (Meaning::Alias, info.decl.name.span)))
            .chain(program.assocs.iter().map(|(id, data)| (Meaning::Assoc(id), data.span)))
            .chain(program.params.iter().map(|(id, data)| (Meaning::Param(id), data.span)))
            .chain(program.globals.iter().map(|(id, data)| (Meaning::Global(id), data.span)))
            .chain(tables.props.iter().map(|(_, info)| (Meaning::Property, info.span)))
    }

    /// The bodies of the user's functions and globals that were checked.
    fn user_bodies(&self) -> impl Iterator<Item = &Arc<Body>> {
        let tables = &self.tables;
        let funcs = tables.funcs.user().iter().filter_map(|func| tables.bodies.of(*func));
        let is_user = |id| !tables.scopes[tables.globals[id].scope].is_library();
        let globals = tables.globals.iter().map(|(id, _)| id).filter(move |id| is_user(*id));
        funcs.chain(globals.filter_map(|id| tables.bodies.initializer(id)))
    }
}
