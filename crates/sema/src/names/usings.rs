//! `using namespace`: makes the names of other namespaces visible in a scope, as if they were declared there.
//!
//! Functions overload those declared in the scope. Among equally good candidates, the nearest declaration wins, counted in
//! scopes outwards and inwards. Among several types, the least nested one wins. Several values are ambiguous.

use crate::Checked;
use crate::codes;
use crate::names::lookup::Found;
use crate::names::scopes::Scopes;
use crate::tables::{Item, ScopeId};
use cotangent_base::{Diagnostic, Span, Symbol};

impl Checked {
    /// Looks up the namespaces of the `using` declarations of a scope. A second call does nothing.
    pub(crate) fn resolve_usings(&mut self, scope: ScopeId) {
        // To write to the scope would copy it if it is the library's.
        if !self.tables.scopes[scope].has_usings() {
            return;
        }
        for (path, span) in self.tables.scopes[scope].take_usings() {
            match self.type_path(&path, scope, true) {
                Some(crate::types::resolve::Path::Namespace(inner)) => self.use_namespace(inner, scope),
                Some(_) => {
                    let message = "`using` takes a namespace";
                    self.diagnostics.push(Diagnostic::new(codes::NOT_A_NAMESPACE, span, message));
                }
                None => {}
            }
        }
    }

    /// Makes the names of a namespace visible in `scope`, including those that it has in other modules.
    fn use_namespace(&mut self, inner: ScopeId, scope: ScopeId) {
        self.resolve_usings(inner);
        let mut spaces = vec![inner];
        spaces.extend_from_slice(self.tables.scopes[inner].imports());
        let imports = self.tables.scopes[scope].imports();
        spaces.retain(|space| *space != scope && !imports.contains(space));
        self.tables.scopes[scope].use_scopes(&spaces);
    }

    /// Whether a name is ambiguous because several namespaces in use declare it. If so, that is reported.
    pub(crate) fn is_ambiguous(&mut self, scope: ScopeId, name: Symbol, span: Span) -> bool {
        let rivals = self.rivals(scope, name);
        let [first, second, ..] = rivals.as_slice() else { return false };
        let is_type = rivals.iter().all(|rival| self.program.is_type_item(rival.item));
        if is_type && first.depth < second.depth {
            return false;
        }
        let message = format!("`{name}` is declared in several visible namespaces");
        let mut diagnostic = Diagnostic::new(codes::AMBIGUOUS, span, message);
        for rival in &rivals {
            if let Some(declared) = self.facts().item_span(rival.item) {
                diagnostic = diagnostic.label(declared, "one of them");
            }
        }
        let help = format!("write the namespace before it, as in `A::{name}`");
        self.diagnostics.push(diagnostic.help(help));
        true
    }

    /// All meanings of a name but functions, in the innermost scope that has it, nearest first.
    fn rivals(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let parent = |at: &ScopeId| self.tables.scopes[*at].parent();
        if std::iter::successors(Some(scope), parent).all(|at| self.tables.scopes[at].used().is_empty()) {
            return vec![];
        }
        let mut at = Some(scope);
        while let Some(scope) = at {
            if !self.level(scope, name).is_empty() {
                return self.rivals_in(scope, name);
            }
            at = self.tables.scopes[scope].parent();
        }
        vec![]
    }

    fn rivals_in(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let used = self.tables.scopes[scope].used().to_vec();
        if used.is_empty() {
            return vec![];
        }
        let mut rivals: Vec<Found> = vec![];
        for space in std::iter::once(scope).chain(used) {
            let depth = self.tables.scopes.detour(scope, space);
            let found = self.names().direct(space, name).into_iter().find(|f| self.can_see(f.access, scope));
            let Some(found) = found else { continue };
            let is_plain = !matches!(found.item, Item::Func(_) | Item::Namespace(_));
            if is_plain && rivals.iter().all(|other| other.item != found.item) {
                rivals.push(Found { depth, ..found });
            }
        }
        rivals.sort_by_key(|rival| rival.depth);
        rivals
    }
}

impl Scopes {
    /// The distance from a scope to one whose names are visible there; see [`Found::depth`].
    pub(crate) fn detour(&self, from: ScopeId, to: ScopeId) -> u32 {
        let module = |scope: ScopeId| self[scope].module();
        let outwards = |scope: ScopeId| -> Vec<ScopeId> {
            let parent = |at: &ScopeId| self[*at].parent().filter(|next| module(*next) == module(*at));
            std::iter::successors(Some(scope), parent).collect()
        };
        let (out, back) = (outwards(from), outwards(to));
        let other_module = u32::from(module(from) != module(to));
        let shared = out.iter().rev().zip(back.iter().rev()).take_while(|(a, b)| a == b).count();
        // Modules lie side by side.
        let shared = shared.max(other_module as usize);
        2 * (out.len() - shared + back.len() - shared) as u32 + other_module
    }
}
