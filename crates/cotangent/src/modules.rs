//! Which files a program is made of: modules with their parts, and what they import.
//!
//! `import a.b;` is a module of its own, read once however often it is imported, with `-D` macros but none of the importing
//! file's. `__include part;` adds a file to the module, which says `implementing m;`. Modules come out behind those they import.

use crate::codes;
use crate::compiler::{Compiler, Stop};
use cotangent_base::{Diagnostic, Map, Symbol};
use cotangent_sema::{Import, Input};
use cotangent_syntax::ast::{self, DeclKind, ModifierKind};

/// What was read so far.
#[derive(Default)]
struct Modules {
    /// The number of each module, by the path of its first file.
    numbers: Map<String, usize>,
    /// The modules whose imports are being read, outermost first.
    open: Vec<String>,
    inputs: Vec<Input>,
}

impl Compiler<'_> {
    /// Reads the module at `path`, the others of the program, and what they import.
    pub(crate) fn load_modules(&mut self, path: &str) -> Result<Vec<Input>, Stop> {
        let mut modules = Modules::default();
        self.load_module(path, None, &mut modules)?;
        for other in self.others.clone() {
            if !modules.numbers.contains_key(&self.loader.identity(&other)) {
                self.load_module(&other, None, &mut modules)?;
            }
        }
        Ok(modules.inputs)
    }

    /// Reads one module, all its parts, and then what they import. `asked` is where it is imported.
    fn load_module(
        &mut self,
        path: &str,
        asked: Option<ast::Ident>,
        modules: &mut Modules,
    ) -> Result<Option<usize>, Stop> {
        let module = modules.numbers.len();
        let identity = self.loader.identity(path);
        modules.numbers.insert(identity.clone(), module);
        modules.open.push(identity);
        let name = Symbol::new(stem(path));
        let mut files = vec![self.load_file(path)?];
        if let Some(of) = implemented(&files[0].tree) {
            let message = format!("this file is a part of module `{}`", of.name);
            let at = asked.map_or(of.span, |asked| asked.span);
            let help = format!("use module `{}` instead", of.name);
            self.diagnostics.push(Diagnostic::new(codes::BAD_PART, at, message).help(help));
            modules.open.pop();
            return Ok(None);
        }
        let mut next = 0;
        while next < files.len() {
            for part in includes(&files[next].tree) {
                let from = files[next].path.clone();
                if let Some(found) = self.find(&from, part, "file")
                    && files.iter().all(|f| self.loader.identity(&f.path) != self.loader.identity(&found))
                {
                    let file = self.load_file(&found)?;
                    let called = module_line(&files[0].tree).unwrap_or(name);
                    self.check_part(&file, part, called);
                    files.push(file);
                }
            }
            next += 1;
        }
        for File { file, path, tree } in files {
            let mut imports = vec![];
            for (import, exported) in import_lines(&tree) {
                if let Some(module) = self.load_import(&path, import, modules)? {
                    imports.push(Import { module, exported });
                }
            }
            modules.inputs.push(Input { file, tree, library: false, name, module, imports });
        }
        modules.open.pop();
        Ok(Some(module))
    }

    fn load_import(
        &mut self,
        from: &str,
        import: ast::Ident,
        modules: &mut Modules,
    ) -> Result<Option<usize>, Stop> {
        let Some(found) = self.find(from, import, "module") else { return Ok(None) };
        let identity = self.loader.identity(&found);
        if let Some(start) = modules.open.iter().position(|path| *path == identity) {
            let circle = modules.open[start..].iter().map(|path| stem(path));
            let circle: Vec<&str> = circle.chain([stem(&found)]).collect();
            let message = format!("module `{}` imports itself", stem(&found));
            let mut diagnostic = Diagnostic::new(codes::IMPORT_CYCLE, import.span, message);
            if circle.len() > 2 {
                diagnostic = diagnostic.note(format!("by way of {}", circle.join(", ")));
            }
            let help = "move what both need into a third module";
            self.diagnostics.push(diagnostic.help(help));
            return Ok(None);
        }
        match modules.numbers.get(&identity) {
            Some(number) => Ok(Some(*number)),
            None => self.load_module(&found, Some(import), modules),
        }
    }

    fn load_file(&mut self, path: &str) -> Result<File, Stop> {
        let text = self
            .loader
            .load(path)
            .ok_or_else(|| Stop::NoFile { path: path.to_string(), why: self.loader.why_not(path) })?;
        let file = self.sources.add(path, text);
        let defines = self.defines.clone();
        let tree = self.parse(file, &defines);
        Ok(File { file, path: path.to_string(), tree })
    }

    /// An included file must say that it is a part of this module.
    fn check_part(&mut self, file: &File, part: ast::Ident, module: Symbol) {
        let message = match implemented(&file.tree) {
            Some(of) if of.name == module => return,
            Some(of) => format!("`{}` is a part of module `{}`, not of `{module}`", part.name, of.name),
            None => format!("`{}` does not say which module it is a part of", part.name),
        };
        let help = format!("begin it with `implementing {module};`");
        self.diagnostics.push(Diagnostic::new(codes::BAD_PART, part.span, message).help(help));
    }

    /// The file that an `import` or `__include` means: `foo_bar` may be `foo-bar.slang` or `foo_bar.slang`.
    fn find(&mut self, from: &str, name: ast::Ident, what: &str) -> Option<String> {
        let written = name.name.as_str();
        let plain = written.strip_suffix(".slang").unwrap_or(written);
        let hyphens = format!("{}.slang", plain.replace('_', "-"));
        let mut candidates = vec![hyphens, format!("{plain}.slang")];
        candidates.dedup();
        if let Some(found) = candidates.iter().find_map(|c| self.loader.resolve(from, c)) {
            return Some(found);
        }
        let message = format!("there is no {what} `{}`", name.name);
        let mut diagnostic = Diagnostic::new(codes::NO_MODULE, name.span, message);
        for place in candidates.iter().flat_map(|c| self.loader.places(from, c)) {
            diagnostic = diagnostic.note(format!("looked for `{place}`"));
        }
        if let Some(limit) = self.loader.limit() {
            diagnostic = diagnostic.note(limit);
        }
        self.diagnostics.push(diagnostic.help("name the folder of the file with -I"));
        None
    }
}

/// A file that was read.
struct File {
    file: cotangent_base::FileId,
    path: String,
    tree: ast::File,
}

/// The name of a file without folders and ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".slang").unwrap_or(name)
}

fn implemented(tree: &ast::File) -> Option<ast::Ident> {
    tree.decls.iter().find_map(|decl| match decl.kind {
        DeclKind::Implementing(name) => Some(name),
        _ => None,
    })
}

fn module_line(tree: &ast::File) -> Option<Symbol> {
    tree.decls.iter().find_map(|decl| match decl.kind {
        DeclKind::Module(name) => Some(name.name),
        _ => None,
    })
}

fn includes(tree: &ast::File) -> Vec<ast::Ident> {
    let include = |decl: &ast::Decl| match decl.kind {
        DeclKind::Include(name) => Some(name),
        _ => None,
    };
    tree.decls.iter().filter_map(include).collect()
}

/// What a file imports, and whether it hands that on.
fn import_lines(tree: &ast::File) -> Vec<(ast::Ident, bool)> {
    let import = |decl: &ast::Decl| match decl.kind {
        DeclKind::Import(name) => Some((name, decl.modifiers.iter().any(|m| m.kind == ModifierKind::Export))),
        _ => None,
    };
    tree.decls.iter().filter_map(import).collect()
}
