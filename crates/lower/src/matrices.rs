//! The words `row_major` and `column_major`.
//!
//! A field that is a matrix, of a structure without resources, lies in memory as its word says. So does the element of a resource, a
//! matrix or an array of matrices: `StructuredBuffer<column_major float3x3>`. In memory it is a structure of one field. A matrix that is a parameter by
//! itself, or stands among resources, would have to and cannot yet: refused, unless all matrices lie so anyway. On anything else
//! the word says nothing, on arrays of matrices too, as in slangc: a warning where it asks for something else than there is.

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
        let name = format!("{word} {}", self.types.name(self.checked, elem));
        let wrapped = self.module.types.add_element(Symbol::new(&name), lowered, way);
        self.types.elements.insert(elem, wrapped);
        wrapped
    }

    /// What stands alone, or among resources, lies as all matrices do.
    pub fn check_matrix(&mut self, row_major: Option<bool>, ty: hir::Ty, span: Span) {
        let Some((word, flag)) = self.contradicts(row_major) else { return };
        if !matches!(self.checked.program.types.kind(ty), TyKind::Matrix(..)) {
            return;
        }
        let message = format!("`{word}` is supported only on fields of structures without resources");
        self.diagnostics.push(
            Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message)
                .help(format!("`--matrix-layout {flag}` lays out all matrices so")),
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
        let fields = (0..).zip(&self.checked.program.structs[id].fields);
        let worded = fields.filter_map(|(index, field)| {
            let ty = self.module.types.part(lowered, Some(index))?;
            Some((field.row_major, field.name, ty, field.span))
        });
        worded.collect()
    }

    /// What is declared of the types that were lowered, and as parameters.
    fn worded(&mut self, entries: &[(FuncId, FuncRef)]) -> Vec<Worded> {
        let structs = self.types.structs(self.checked);
        let mut all: Vec<Worded> =
            structs.into_iter().flat_map(|(id, lowered)| self.worded_fields(id, lowered)).collect();
        let globals: Vec<hir::Global> = self.checked.program.globals.values().cloned().collect();
        for global in globals.into_iter().filter(|global| global.row_major.is_some()) {
            let ty = self.lower_ty(global.ty, global.span);
            all.push((global.row_major, global.name, ty, global.span));
        }
        for (_, func) in entries {
            let subst = self.subst(*func);
            for param in self.checked.program.funcs[func.func].params.clone() {
                let ty = self.checked.subst(param.ty, &subst);
                all.push((param.row_major, param.name, self.lower_ty(ty, param.span), param.span));
            }
        }
        all
    }
}

/// Refuses layout words inside types, other than before the element of a resource, that differ from the default layout.
fn check_types(lowerer: &mut Lowerer<'_>) {
    let mut words = std::mem::take(&mut lowerer.checked.program.layout_words);
    words.sort_by_key(|(_, span)| (span.file, span.start));
    words.dedup();
    for (row_major, span) in words {
        let Some((word, flag)) = lowerer.contradicts(Some(row_major)) else { continue };
        let message = format!(
            "`{word}` is supported inside types only before a matrix that is the element of a buffer or block"
        );
        let help = format!(
            "give the matrix a structure and write `{word}` before the field, or choose for all with `--matrix-layout {flag}`"
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
        let message = format!("`{word}` says nothing of `{name}`, which is no matrix");
        let help = match lowerer.module.types.get(ty) {
            Type::Array(..) => {
                format!("matrices in arrays lie as all others; `--matrix-layout {flag}` chooses how")
            }
            _ => format!(
                "write it before the matrices themselves, or choose for all with `--matrix-layout {flag}`"
            ),
        };
        found.push((span, Diagnostic::new(codes::IDLE_WORD, span, message).help(help)));
    }
    found.sort_by_key(|(span, _)| (span.file, span.start));
    found.into_iter().for_each(|(_, warning)| lowerer.diagnostics.push(warning));
}
