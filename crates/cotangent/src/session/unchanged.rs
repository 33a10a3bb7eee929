//! Finds the modules of a program that need not be checked again after others changed.
//!
//! The diagnostics of a module depend on its files and those of all modules that it imports, directly or indirectly: its
//! [`ModuleKey`]. A changed file gets a new number, so the key of a module stays the same as long as its dependencies do. If
//! a module with the same key had no diagnostics before, and declares nothing in its bodies, it is *known*
//! ([`Input::known`]): its declarations are resolved, since others refer to them, and its bodies are checked on demand, like
//! those of the library.
//!
//! Some declarations affect modules that do not import them: extensions, derivatives attached to functions of other modules,
//! `extern` and `export`. If a module with such declarations, or one of its dependencies, changes, everything is checked
//! again.

use crate::library::Needs;
use crate::modules::Loaded;
use cotangent_base::FileId;
use cotangent_sema::{Checked, Input};
use cotangent_syntax::ast::{self, Decl, DeclKind, ModifierKind};

/// The files of a module, and those of all modules that it imports, directly or not.
type ModuleKey = Vec<FileId>;

/// What one version of a program found out about its modules.
pub(crate) struct Unchanged {
    needs: Needs,
    /// The modules whose declarations others see without an import.
    reaching: Vec<ModuleKey>,
    /// The modules with nothing to report and no local declarations.
    clean: Vec<ModuleKey>,
}

impl Unchanged {
    /// Reads it off a checked program.
    pub(crate) fn of(loaded: &Loaded, checked: &Checked) -> Self {
        let inputs = &loaded.inputs;
        let mut reported: Vec<usize> = vec![];
        // A place in no module may be in a file that several include.
        let mut elsewhere = false;
        for diagnostic in checked.diagnostics.iter() {
            match inputs.iter().find(|input| input.file == diagnostic.primary.span.file) {
                Some(input) => reported.push(input.module),
                None => elsewhere = true,
            }
        }
        let is_clean = |module: &usize| {
            !elsewhere && !reported.contains(module) && !checked.has_local_declarations(*module)
        };
        let clean = modules(inputs).into_iter().filter(is_clean).map(|module| key(inputs, module));
        Unchanged { needs: loaded.needs, reaching: reaching(inputs), clean: clean.collect() }
    }

    /// Marks the files of modules that are known.
    pub(crate) fn mark(&self, loaded: &Loaded, inputs: &mut [Input]) {
        if self.needs != loaded.needs || self.reaching != reaching(inputs) {
            return;
        }
        for module in modules(inputs) {
            if self.clean.contains(&key(inputs, module)) {
                inputs.iter_mut().filter(|input| input.module == module).for_each(|input| input.known = true);
            }
        }
    }
}

/// The numbers of the modules, in order.
fn modules(inputs: &[Input]) -> Vec<usize> {
    let mut modules: Vec<usize> = inputs.iter().map(|input| input.module).collect();
    modules.sort_unstable();
    modules.dedup();
    modules
}

fn key(inputs: &[Input], module: usize) -> ModuleKey {
    let (mut seen, mut next) = (vec![module], 0);
    let mut files: ModuleKey = vec![];
    while let Some(&module) = seen.get(next) {
        for input in inputs.iter().filter(|input| input.module == module) {
            files.push(input.file);
            for import in &input.imports {
                if !seen.contains(&import.module) {
                    seen.push(import.module);
                }
            }
        }
        next += 1;
    }
    files
}

/// The modules whose declarations others see without an import.
fn reaching(inputs: &[Input]) -> Vec<ModuleKey> {
    let reaches = |module: &usize| {
        let mut files = inputs.iter().filter(|input| input.module == *module);
        files.any(|input| input.tree.decls.iter().any(reaches_out))
    };
    modules(inputs).into_iter().filter(reaches).map(|module| key(inputs, module)).collect()
}

/// Whether a declaration changes what other modules see that do not import it.
fn reaches_out(decl: &Decl) -> bool {
    let linked = |m: &ast::Modifier| matches!(m.kind, ModifierKind::Extern | ModifierKind::Export);
    let attached = |a: &ast::Attribute| a.name.name.as_str().to_ascii_lowercase().ends_with("of");
    let import = matches!(decl.kind, DeclKind::Import(_));
    (!import && decl.modifiers.iter().any(linked))
        || decl.attributes.iter().any(attached)
        || match &decl.kind {
            DeclKind::Extension(_) => true,
            DeclKind::Func(func) => func.extends.is_some(),
            DeclKind::Namespace(_, decls) => decls.iter().any(reaches_out),
            DeclKind::Struct(decl) => decl.members.iter().any(reaches_out),
            DeclKind::Interface(decl) => decl.members.iter().any(reaches_out),
            _ => false,
        }
}
