//! Synthesizes the members of a conformance to `IDifferentiable` that the program omits.
//!
//! ```slang
//! struct Particle : IDifferentiable { float3 position; int kind; no_diff float mass; }
//! ```
//!
//! has no `Differential`, so the compiler synthesizes one: a structure with a field for each differentiable field, with the
//! same name and that field's differential type; here `{ float3 position; }`. If every field is its own differential, so is
//! the structure, and nothing is synthesized.
//!
//! The new structure has the generic parameters of the conformance, conforms to `IDifferentiable`, and is its own
//! differential. Its fields are resolved on demand, so the order of declarations does not matter.
//!
//! Missing functions (`dzero`, `dadd`, `dmul`) are not written here: a [`Synth`] witness tells lowering to apply the same
//! function to every field. Each user-defined function takes precedence over the synthesized one.

use super::codes;
use crate::Checked;
use crate::facts::Facts;
use crate::hir::{
    Arg, Conformance, ConformanceId, Field, FuncId, InterfaceRef, Struct, StructId, Synth, Ty, TyKind,
    Witness,
};
use crate::tables::{GenericsId, Head, Item, Owner, Prefix, Progress, StructInfo};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

impl Checked {
    /// The `Differential` of a conformance that names none: the type itself or a new structure.
    pub(crate) fn synthesize_differential(&mut self, conformance: ConformanceId) -> Ty {
        let ty = self.program.conformances[conformance].ty;
        let TyKind::Struct(id, args) = self.program.types.kind(ty) else {
            return self.not_synthesizable(conformance);
        };
        let generics = self.facts().generics_of(self.tables.conformances[conformance].owner);
        let bounds = self.bounds(generics).to_vec();
        let saved = self.tables.assumptions.replace(bounds);
        let types = self.fields_under(id, args);
        let differentials: Vec<Option<Ty>> = (0..types.len())
            .map(|n| match self.program.structs[id].fields[n].no_diff {
                true => None,
                false => self.differential_of(types[n]),
            })
            .collect();
        self.tables.assumptions.restore(saved);
        let own = types.iter().zip(&differentials).all(|(ty, d)| *d == Some(*ty));
        if own { ty } else { self.differential_struct(conformance, id, &differentials) }
    }

    /// The tuple of the differentials of a tuple's members, if all have one; of a pack among them, the pack of those of its
    /// elements. There is no declaration to conform by.
    pub(super) fn differential_of_tuple(&mut self, tuple: Ty) -> Option<Ty> {
        let TyKind::Tuple(members) = self.program.types.kind(tuple) else {
            return None;
        };
        // Tuples share their members, so that one may be far larger than the program that writes it.
        let closed = self.tables.assumptions.is_empty();
        if let Some(known) = self.tables.derivatives.of_tuple(tuple).filter(|_| closed) {
            return Some(known);
        }
        let mut differentials = vec![];
        for member in self.program.types.list(members).to_vec() {
            let Arg::Ty(member) = member else {
                return None;
            };
            differentials.push(Arg::Ty(self.differential_of_member(member)?));
        }
        let differentials = self.program.types.args(&differentials);
        let differential = self.program.types.ty(TyKind::Tuple(differentials));
        if closed {
            self.tables.derivatives.remember_tuple(tuple, differential);
        }
        Some(differential)
    }

    fn differential_of_member(&mut self, member: Ty) -> Option<Ty> {
        if !self.program.is_pack(member) {
            return self.differential_of(member);
        }
        let element = self.packs().each_ty(member);
        let differential = self.differential_of(element)?;
        let over = match self.program.types.kind(member) {
            TyKind::Expand(_, over) => over,
            _ => member,
        };
        Some(self.expand_ty(Arg::Ty(differential), over))
    }

    fn not_synthesizable(&mut self, conformance: ConformanceId) -> Ty {
        let Conformance { ty, span, .. } = self.program.conformances[conformance];
        if !self.program.types.is_error(ty) {
            let message =
                format!("cannot synthesize a `Differential` for `{}`, which has no fields", self.show(ty));
            let help = "define it: `typealias Differential = ..;`";
            self.diagnostics.push(Diagnostic::new(codes::DIFFERENTIAL_CONFORMS, span, message).help(help));
        }
        self.program.types.error()
    }

    /// A structure with a field for each field of `of` that has a differential, and its conformance.
    fn differential_struct(
        &mut self,
        conformance: ConformanceId,
        of: StructId,
        differentials: &[Option<Ty>],
    ) -> Ty {
        let fields: Vec<Field> = self.program.structs[of]
            .fields
            .iter()
            .zip(differentials)
            .filter_map(|(field, ty)| {
                let ty = (*ty)?;
                Some(Field { ty, no_diff: false, derivative: None, ..field.clone() })
            })
            .collect();
        let base = match (self.tables.structs[of].base, differentials.first()) {
            (Some(_), Some(base)) => *base,
            _ => None,
        };
        let generics = self.facts().generics_of(self.tables.conformances[conformance].owner);
        let id = self.enter_struct(of, fields, base, generics);
        self.conform_to_itself(conformance, id, generics)
    }

    /// Puts a finished structure into the program and the tables.
    fn enter_struct(
        &mut self,
        of: StructId,
        fields: Vec<Field>,
        base: Option<Ty>,
        generics: GenericsId,
    ) -> StructId {
        let name = Symbol::new(&format!("{}.Differential", self.program.structs[of].name));
        let span = self.program.structs[of].span;
        let around = self.tables.structs[of].scope;
        let id: StructId = self.program.structs.next_key();
        let library = self.tables.scopes[around].is_library();
        let path = format!("{name}.");
        let scope = self.collector().new_scope(Some(around), Owner::Struct(id), generics, &path, library);
        for (number, field) in fields.iter().enumerate() {
            self.tables.scopes[scope].enter(field.name, Item::Field(number as u32));
        }
        self.tables.structs.push(StructInfo {
            decl: Arc::new(ast::StructDecl {
                name: ast::Ident { name, span },
                is_class: false,
                generics: ast::Generics::default(),
                bases: vec![],
                members: vec![],
            }),
            fields: fields.iter().map(|f| (field_syntax(f), Prefix::none())).collect(),
            scope,
            generics,
            resolved: Progress::Done,
            bases: Progress::Done,
            base,
            builtin: None,
            converts: false,
        });
        let generics = self.hir_generics(generics);
        self.program.structs.push(Struct {
            name,
            span,
            generics,
            fields,
            magic: None,
            opaque: false,
            differential_of: Some(of),
        })
    }

    /// States that a synthesised differential is its own; gives its type in terms of the conformance it is made for.
    fn conform_to_itself(&mut self, conformance: ConformanceId, id: StructId, generics: GenericsId) -> Ty {
        let args = self.names().identity(generics);
        let ty = self.program.types.ty(TyKind::Struct(id, args));
        let mut own = self.program.conformances[conformance].clone();
        own.ty = ty;
        own.assocs = self.program.lang.differential.map(|assoc| (assoc, ty)).into_iter().collect();
        own.witnesses = self.facts().synthesized_witnesses(own.interface);
        let own = self.program.conformances.push(own);
        self.tables.conformances.push_complete(Owner::Struct(id));
        self.tables.index.add(Head::Struct(id), own);
        ty
    }
}

impl Facts<'_> {
    /// What stands for a member of `IDifferentiable` that a conformance does not give.
    pub(crate) fn synthesized_witness(self, requirement: FuncId) -> Option<Witness> {
        let lang = &self.program.lang;
        let dmul = self.tables.lang.get(&Symbol::new("dmul"));
        let synth = if lang.dzero == Some(requirement) {
            Synth::DZero
        } else if lang.dadd == Some(requirement) {
            Synth::DAdd
        } else if dmul == Some(&Item::Func(requirement)) {
            Synth::DMul
        } else {
            return None;
        };
        Some(Witness::Synth(synth))
    }

    fn synthesized_witnesses(self, interface: InterfaceRef) -> Map<FuncId, Witness> {
        self.program.interfaces[interface.interface]
            .requirements
            .iter()
            .filter_map(|f| Some((*f, self.synthesized_witness(*f)?)))
            .collect()
    }

    /// The generic parameters of what states a conformance.
    fn generics_of(self, owner: Owner) -> GenericsId {
        match owner {
            Owner::Struct(id) => self.tables.structs[id].generics,
            Owner::Extension(id) => self.tables.exts[id].generics,
            Owner::Interface(id) => self.tables.interfaces[id].generics,
            Owner::Enum(id) => self.tables.scopes[self.tables.enums[id].scope].generics(),
            Owner::Module => unreachable!("only types and extensions state conformances"),
        }
    }
}

/// A field as if somebody had written it, for those who look for initializers.
fn field_syntax(field: &Field) -> Arc<ast::VarDecl> {
    Arc::new(ast::VarDecl {
        name: ast::Ident { name: field.name, span: Span::none() },
        ty: None,
        init: None,
        semantic: None,
        bits: None,
        is_let: false,
    })
}
