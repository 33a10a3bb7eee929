//! Resolves types that are made of packs: `each P`, `__first(P)`, `__packBranch(P, A, B)`, and what an `expand` goes over.

use crate::Checked;
use crate::codes;
use crate::facts::Rules;
use crate::hir::{Arg, PackPart, Ty};
use cotangent_base::{Diagnostic, Span};

impl Checked {
    /// Notes that a pack is expanded here. Reports an `each` that nothing expands.
    pub(crate) fn note_each(&mut self, pack: Ty, span: Span, report: bool) -> bool {
        if self.tables.resolving.expand(pack) {
            return true;
        }
        if report {
            let message = "`each` outside an `expand`";
            self.diagnostics.push(
                Diagnostic::new(codes::EACH_ALONE, span, message)
                    .help("write `expand` before the whole expression"),
            );
        }
        false
    }

    /// The pack that a type is or, as a tuple, has. Reports that there is none.
    fn known_pack(&mut self, ty: Ty, span: Span, report: bool) -> Option<Ty> {
        let pack = self.program.as_pack(ty);
        if pack.is_none() && report {
            self.rules().not_a_pack(ty, span);
        }
        pack
    }

    /// `each pack`, as a type.
    pub(super) fn each_path(&mut self, pack: Ty, span: Span, report: bool) -> Option<Ty> {
        if self.program.types.is_error(pack) {
            return Some(pack);
        }
        let pack = self.known_pack(pack, span, report)?;
        self.note_each(pack, span, report).then(|| self.packs().each_ty(pack))
    }

    /// `__first(pack)` and its kin, as a type.
    pub(crate) fn part_path(&mut self, part: PackPart, pack: Ty, span: Span, report: bool) -> Option<Ty> {
        if self.program.types.is_error(pack) {
            return Some(pack);
        }
        let pack = self.known_pack(pack, span, report)?;
        if !self.facts().is_nonempty(pack) {
            if report {
                self.rules().may_be_empty(part, pack, span);
            }
            return Some(self.program.types.error());
        }
        let ty = self.packs().part_ty(part, pack);
        let is_value = self.program.pack_values(pack).is_some() || self.program.types.is_error(ty);
        if let (true, PackPart::First | PackPart::Last) = (is_value, part) {
            if !report {
                return None;
            }
            let message = format!("`{}` of a pack of values is a value, not a type", part.name());
            self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, span, message));
            return Some(self.program.types.error());
        }
        Some(ty)
    }

    /// `__packBranch(pack, empty, filled)`: `filled` if the pack has elements, otherwise `empty`. It is the first of as many `filled` as
    /// there are elements, with `empty` after them.
    pub(super) fn branch_path(
        &mut self,
        over: Ty,
        empty: Ty,
        filled: Ty,
        span: Span,
        report: bool,
    ) -> Option<Ty> {
        if [over, empty, filled].into_iter().any(|ty| self.program.types.is_error(ty)) {
            return Some(self.program.types.error());
        }
        let over = self.known_pack(over, span, report)?;
        let all = self.expand_ty(Arg::Ty(filled), over);
        let pack = self.program.pack_of(&[Arg::Ty(all), Arg::Ty(empty)]);
        Some(self.packs().part_ty(PackPart::First, pack))
    }

    /// The type of something that has one value.
    pub(crate) fn not_pack(&mut self, ty: Ty, span: Span, what: &str) -> Ty {
        if !self.program.is_pack(ty) {
            return ty;
        }
        let message = format!("{what} cannot be a pack");
        self.diagnostics
            .push(Diagnostic::new(codes::MISPLACED_PACK, span, message).help("use `Tuple<expand each T>`"));
        self.program.types.error()
    }
}

impl Rules<'_> {
    /// Reports a part of a pack that may have none.
    pub(crate) fn may_be_empty(&mut self, part: PackPart, pack: Ty, span: Span) {
        let message = format!("`{}` of a pack that may be empty", part.name());
        self.diagnostics.push(
            Diagnostic::new(codes::UNMET_BOUND, span, message)
                .help(format!("add `where nonempty({})`", self.show(pack))),
        );
    }

    /// Reports that something under `each` or `countof` is no pack.
    pub(crate) fn not_a_pack(&mut self, ty: Ty, span: Span) {
        let message = format!("`{}` is not a pack", self.show(ty));
        self.diagnostics.push(Diagnostic::new(codes::NOT_A_PACK, span, message));
    }

    /// The pack that decides how often something is expanded; reports if there is none.
    pub(crate) fn expanded_over(&mut self, packs: &[Ty], span: Span, report: bool) -> Option<Ty> {
        if packs.is_empty() && report {
            let message = "`expand` contains no pack under `each`";
            self.diagnostics.push(Diagnostic::new(codes::EXPANDS_NOTHING, span, message));
        }
        // One of known elements tells the most.
        packs.iter().find(|pack| self.program.types.elements_of(**pack).is_some()).or(packs.first()).copied()
    }
}
