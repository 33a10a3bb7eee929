//! Applies the modifiers `row_major` and `column_major`.
//!
//! The modifier sets the layout of a matrix that is a field of a structure without resources. It also sets that of the
//! element of a resource, if it is a matrix or an array of matrices: `StructuredBuffer<column_major float3x3>`. In memory
//! such an element is a structure of one field. On a matrix that is itself a parameter, or that is beside resources, the
//! modifier is not supported yet: an error, unless it agrees with the default layout. Elsewhere, also on arrays of matrices,
//! the modifier has no effect, as in slangc; a warning reports it if it differs from the actual layout.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_ir::layout::Matrices;
use cotangent_ir::{self as ir, FuncId, Type};
use cotangent_sema::hir::{self, FuncRef, StructId, TyKind};

/// Something that may have a word: the word, its name and type, and where it is.
type Worded = (Option<bool>, Symbol, ir::Ty, Span);

impl Lowerer<'_> {
    /// Fields that are matrices may say how they lie in memory.
    pub fn note_matrices(&mut self, id: StructId, lowered: ir::Ty) {
        let Type::Struct(made) = self.module.types.get(lowered) else { return };
        let fields = self.worded_fields(id, lowered);
        let own = (0..).zip(fields).filter_map(|(index, (row_major, _, ty, _))| {
            let way = if row_major? { Matrices::Rows } else { Matrices::Columns };
            self.is_matrix(ty).then_some((index, way))
        });
        let own = own.collect();
        self.module.types.set_matrices(made, own);
    }

    /// What the element of a resource is in memory, if it has a word: wrapped, where the word asks for something else than all
    /// matrices do.
    pub fn laid_element(&mut self, elem: hir::Ty, row_major: bool, span: Span) -> ir::Ty {
        let lowered = self.lower_ty(elem, span);
        let Some((word, _)) = self.contradicts(Some(row_major)) else { return lowered };
        if let Some(known) = self.types.elements.get(&elem) {
            return *known;
        }
        let way = if row_major { Matrices::Rows } else { Matrices::Columns };
        let name = format!("{word} {}", self.types.name(self.queries, elem));
        let wrapped = self.module.types.add_element(Symbol::new(&name), lowered, way);
        self.types.elements.insert(elem, wrapped);
        wrapped
    }

    /// What stands alone, or among resources, lies as all matrices do.
    pub fn check_matrix(&mut self, row_major: Option<bool>, ty: hir::Ty, span: Span) {
        let Some((word, flag)) = self.contradicts(row_major) else { return };
        if !matches!(self.queries.program.types.kind(ty), TyKind::Matrix(..)) {
            return;
        }
        let message = format!("`{word}` is supported only on fields of structures without resources");
        self.diagnostics.push(
            Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message)
                .help(format!("`--matrix-layout {flag}` sets the layout of all matrices")),
        );
    }

    /// The word and the flag for it, if it asks for something else than all matrices do.
    fn contradicts(&self, row_major: Option<bool>) -> Option<(&'static str, &'static str)> {
        match (row_major?, self.options.matrices) {
            (true, Matrices::Columns) => Some(("row_major", "row")),
            (false, Matrices::Rows) => Some(("column_major", "column")),
            (true, Matrices::Rows) | (false, Matrices::Columns) => None,
        }
    }

    fn is_matrix(&self, ty: ir::Ty) -> bool {
        matches!(self.module.types.get(ty), Type::Matrix(..))
    }

    fn worded_fields(&self, id: StructId, lowered: ir::Ty) -> Vec<Worded> {
        let fields = (0..).zip(&self.queries.program.structs[id].fields);
        let worded = fields.filter_map(|(index, field)| {
            let ty = self.module.types.part(lowered, Some(index))?;
            Some((field.row_major, field.name, ty, field.span))
        });
        worded.collect()
    }

    /// What is declared of the types that were lowered, and as parameters.
    fn worded(&mut self, entries: &[(FuncId, FuncRef)]) -> Vec<Worded> {
        let structs = self.types.structs(self.queries);
        let mut all: Vec<Worded> =
            structs.into_iter().flat_map(|(id, lowered)| self.worded_fields(id, lowered)).collect();
        let globals: Vec<hir::Global> = self.queries.program.globals.values().cloned().collect();
        for global in globals.into_iter().filter(|global| global.row_major.is_some()) {
            let ty = self.lower_ty(global.ty, global.span);
            all.push((global.row_major, global.name, ty, global.span));
        }
        for (_, func) in entries {
            let subst = self.subst(*func);
            for param in self.queries.program.funcs[func.func].params.clone() {
                let ty = self.queries.subst(param.ty, &subst);
                all.push((param.row_major, param.name, self.lower_ty(ty, param.span), param.span));
            }
        }
        all
    }
}

/// Refuses layout words inside types, other than before the element of a resource, that differ from the default layout.
fn check_types(lowerer: &mut Lowerer<'_>) {
    let mut words = lowerer.queries.program.layout_words.clone();
    words.sort_by_key(|(_, span)| (span.file, span.start));
    words.dedup();
    for (row_major, span) in words {
        let Some((word, flag)) = lowerer.contradicts(Some(row_major)) else { continue };
        let message = format!(
            "inside a type, `{word}` is supported only on a matrix that is the element of a buffer or block"
        );
        let help = format!(
            "put the matrix into a structure with `{word}` before the field, or use `--matrix-layout {flag}` for all matrices"
        );
        lowerer.diagnostics.push(Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message).help(help));
    }
}

/// Warns of words that have no effect though they ask for one.
pub(crate) fn check(lowerer: &mut Lowerer<'_>, entries: &[(FuncId, FuncRef)]) {
    check_types(lowerer);
    let Some(all) = lowerer.quietly(|lowerer| lowerer.worded(entries)) else { return };
    let mut found: Vec<(Span, Diagnostic)> = Vec::new();
    for (row_major, name, ty, span) in all {
        let Some((word, flag)) = lowerer.contradicts(row_major) else { continue };
        if lowerer.is_matrix(ty) || found.iter().any(|(other, _)| *other == span) {
            continue;
        }
        let message = format!("`{word}` has no effect on `{name}`, which is not a matrix");
        let help = if let Type::Array(..) = lowerer.module.types.get(ty) {
            format!("matrices in arrays have the default layout; `--matrix-layout {flag}` sets it")
        } else {
            format!(
                "write it before the matrices themselves, or use `--matrix-layout {flag}` for all matrices"
            )
        };
        found.push((span, Diagnostic::new(codes::IDLE_WORD, span, message).help(help)));
    }
    found.sort_by_key(|(span, _)| (span.file, span.start));
    found.into_iter().for_each(|(_, warning)| lowerer.diagnostics.push(warning));
}
