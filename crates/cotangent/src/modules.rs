//! Finds the files of a program: modules with their parts and imports. Output: modules, each after those it imports.
//!
//! `import a.b;` names a separate module. It is read once, with the `-D` macros but without the macros of the importing file.
//! Where no file is found, it may be a built-in module. `__include part;` adds a file to the module; that file begins with `implementing m;`.

use crate::codes;
use crate::library::{self, Needs};
use crate::session::{Key, State, Stop, Trace, Tracer};
use cotangent_base::{Diagnostic, Diagnostics, FileId, Loader, Map, Symbol};
use cotangent_sema::{Given, Import, Input};
use cotangent_syntax::Limits;
use cotangent_syntax::ast::{self, DeclKind, ModifierKind, Version as Language};
use std::sync::{Arc, Mutex, PoisonError};

/// A file of the user's: the first stage.
pub(crate) struct Parsed {
    path: String,
    file: FileId,
    tree: Arc<ast::File>,
    /// What it needs of the library.
    needs: Needs,
    diagnostics: Diagnostics,
    /// What the loader answered about it and the files that it includes.
    trace: Trace,
}

/// The macros, limits and language version under which a file was parsed, and its path.
type ParsedKey = (String, Vec<(String, String)>, Limits, Language);

/// The latest version of each file.
#[derive(Default)]
pub(crate) struct ParsedFiles(Mutex<Vec<(ParsedKey, Arc<Parsed>)>>);

impl ParsedFiles {
    fn latest(&self, key: &ParsedKey) -> Option<Arc<Parsed>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().find(|(other, _)| other == key).map(|(_, file)| file.clone())
    }

    fn keep(&self, key: ParsedKey, file: Arc<Parsed>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match files.iter_mut().find(|(other, _)| *other == key) {
            Some((_, latest)) => *latest = file,
            None => files.push((key, file)),
        }
    }
}

/// A program whose files have been read: the second stage.
pub(crate) struct Loaded {
    /// The files, in the order in which they are checked.
    pub inputs: Vec<Input>,
    /// What the request gives for what the program leaves open.
    pub given: Given,
    /// What it needs of the library.
    pub needs: Needs,
    /// What was found while files were read.
    pub diagnostics: Diagnostics,
    /// Why there is nothing to check.
    pub stop: Option<Stop>,
    files: Vec<Arc<Parsed>>,
    /// What the loader answered about modules and imports.
    trace: Trace,
}

impl Loaded {
    /// Whether the loader gives the same answers now.
    pub(crate) fn still_holds(&self, loader: &dyn Loader) -> bool {
        self.trace.still_holds(loader) && self.files.iter().all(|file| file.trace.still_holds(loader))
    }
}

/// Reads the files of a program.
pub(crate) fn load(state: &State, key: &Key) -> Loaded {
    let mut reader = Reader {
        state,
        key,
        loader: Tracer::new(&*state.loader),
        files: vec![],
        diagnostics: Diagnostics::new(),
        needs: Needs::always(),
    };
    let read = reader.load_modules();
    // What a module would declare that was not read is not unknown; there is nothing to say about it.
    let missing = reader.diagnostics.iter().any(|d| codes::CODES.contains(&d.code));
    let (inputs, stop) = match read {
        Ok(inputs) => (inputs, missing.then_some(Stop::Errors)),
        Err(stop) => (vec![], Some(stop)),
    };
    let mut given = if stop.is_none() { reader.read_settings() } else { Given::default() };
    given.columns = key.columns;
    let Reader { loader, files, diagnostics, needs, .. } = reader;
    let needs = needs.closed();
    given.unread = needs.unread();
    Loaded { inputs, given, needs, diagnostics, stop, files, trace: loader.finish() }
}

/// Reads a program.
pub(crate) struct Reader<'s> {
    pub state: &'s State,
    pub key: &'s Key,
    loader: Tracer<'s>,
    files: Vec<Arc<Parsed>>,
    pub diagnostics: Diagnostics,
    pub needs: Needs,
}

/// What was read so far.
#[derive(Default)]
struct Modules {
    /// The number of each module, by the path of its first file.
    numbers: Map<String, usize>,
    /// The modules whose imports are being read, outermost first.
    open: Vec<String>,
    inputs: Vec<Input>,
}

impl Reader<'_> {
    /// Reads the main module, the others of the program, and what they import.
    fn load_modules(&mut self) -> Result<Vec<Input>, Stop> {
        let mut modules = Modules::default();
        self.load_module(&self.key.path, None, &mut modules)?;
        for other in &self.key.others {
            if !modules.numbers.contains_key(&self.loader.identity(other)) {
                self.load_module(other, None, &mut modules)?;
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
        for parsed in files {
            let Parsed { file, path, tree, .. } = &*parsed;
            let mut imports = vec![];
            for (import, exported) in import_lines(tree) {
                if let Some(module) = self.load_import(path, import, modules)? {
                    imports.push(Import { module, exported });
                }
            }
            let (file, tree) = (*file, tree.clone());
            modules.inputs.push(Input { file, tree, library: false, name, module, imports, known: false });
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
                diagnostic = diagnostic.note(format!("through {}", circle.join(", ")));
            }
            let help = "move the shared declarations into a third module";
            self.diagnostics.push(diagnostic.help(help));
            return Ok(None);
        }
        match modules.numbers.get(&identity) {
            Some(number) => Ok(Some(*number)),
            None => self.load_module(&found, Some(import), modules),
        }
    }

    /// Reads a file, or finds it among those that the session has read.
    fn load_file(&mut self, path: &str) -> Result<Arc<Parsed>, Stop> {
        let key = (path.to_string(), self.key.defines.clone(), self.key.limits, self.key.language);
        let loader = &*self.state.loader;
        let known = self.state.files.latest(&key).filter(|file| file.trace.still_holds(loader));
        let file = match known {
            Some(file) => file,
            None => {
                let file = Arc::new(self.parse(path)?);
                self.state.files.keep(key, file.clone());
                file
            }
        };
        self.needs.add(file.needs);
        file.diagnostics.iter().for_each(|d| self.diagnostics.push(d.clone()));
        self.files.push(file.clone());
        Ok(file)
    }

    fn parse(&self, path: &str) -> Result<Parsed, Stop> {
        let loader = Tracer::new(&*self.state.loader);
        let built_in = library::module_text(path).map(String::from);
        let Some(text) = built_in.or_else(|| loader.load(path)) else {
            // So that the program is read again when the file is there.
            let _ = self.loader.load(path);
            return Err(Stop::NoFile { path: path.to_string(), why: self.loader.why_not(path) });
        };
        let mut diagnostics = Diagnostics::new();
        let mut sources = self.state.sources();
        let file = sources.add(path, text);
        let defines = &self.key.defines;
        let mut stream = cotangent_syntax::preprocess(&mut sources, &loader, file, defines, &mut diagnostics);
        stream.version.get_or_insert(self.key.language);
        let needs = Needs::of(&stream);
        let tree = cotangent_syntax::parse_tokens(stream, &sources, self.key.limits, &mut diagnostics);
        self.state.counters.parsed.add(1);
        Ok(Parsed {
            path: path.to_string(),
            file,
            tree: tree.into(),
            needs,
            diagnostics,
            trace: loader.finish(),
        })
    }

    /// An included file must say that it is a part of this module.
    fn check_part(&mut self, file: &Parsed, part: ast::Ident, module: Symbol) {
        let message = match implemented(&file.tree) {
            Some(of) if of.name == module => return,
            Some(of) => format!("`{}` is a part of module `{}`, not of `{module}`", part.name, of.name),
            None => format!("`{}` does not name its module", part.name),
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
        if what == "module"
            && let Some(built_in) = library::module(&format!("{plain}.slang"))
        {
            return Some(built_in.to_string());
        }
        let message = format!("cannot find {what} `{}`", name.name);
        let mut diagnostic = Diagnostic::new(codes::NO_MODULE, name.span, message);
        for place in candidates.iter().flat_map(|c| self.loader.places(from, c)) {
            diagnostic = diagnostic.note(format!("looked for `{place}`"));
        }
        if let Some(limit) = self.loader.limit() {
            diagnostic = diagnostic.note(limit);
        }
        self.diagnostics.push(diagnostic.help("add the folder of the file with -I"));
        None
    }
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
