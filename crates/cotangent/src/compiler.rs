//! Loads modules, and takes them through the stages.

use crate::asked;
use crate::codes;
use crate::given::Setting;
use crate::library::Needs;
use crate::pipeline::{self, Listing, Memory};
use crate::reflect::Reflection;
use crate::render;
use cotangent_base::{Diagnostic, Diagnostics, FileId, Loader, Sources};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_lower::{Lowered, Options, Roots};
use cotangent_sema::Checked;
use cotangent_syntax::{Limits, TokenStream, ast};

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The program has errors; they are in [`Compiler::diagnostics`].
    Errors,
    /// A file cannot be read.
    NoFile {
        /// Where it should be.
        path: String,
        /// The reason, and what may be meant instead.
        why: String,
    },
    /// What was asked for cannot be done, for this reason.
    Usage(String),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Errors => f.write_str("the program has errors"),
            Stop::NoFile { path, why } => write!(f, "cannot read `{path}`: {why}"),
            Stop::Usage(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Stop {}

/// Which warnings are shown, and whether they count.
#[derive(Clone, Default, Debug)]
pub struct Warnings {
    /// Codes of warnings to keep quiet about; `all` for every one.
    pub silent: Vec<String>,
    /// Whether a warning stops the compilation as an error does.
    pub deny: bool,
}

impl Warnings {
    fn silences(&self, diagnostic: &Diagnostic) -> bool {
        let named = |code: &String| code == "all" || code.eq_ignore_ascii_case(diagnostic.code.name);
        !diagnostic.is_error() && self.silent.iter().any(named)
    }
}

/// One compilation: its files, its macros, and what it has to tell.
pub struct Compiler<'l> {
    pub(crate) loader: &'l dyn Loader,
    pub(crate) defines: Vec<(String, String)>,
    /// What the user says about the whole program.
    pub options: Options,
    /// What the user says about what the program leaves open: names, and types or values for them.
    pub settings: Vec<(Setting, String, String)>,
    /// Modules of the program that nobody imports: they export what others declare `extern`.
    pub others: Vec<String>,
    /// Which warnings matter.
    pub warnings: Warnings,
    /// How deep programs may nest; more than the default needs a large stack.
    pub limits: Limits,
    /// All files read.
    pub sources: Sources,
    /// What there is to tell so far, warnings included.
    pub diagnostics: Diagnostics,
    /// The enumerators of the program, once it is checked: `Kind.Round` and its number.
    pub enumerators: Vec<(String, i64)>,
    /// What is needed of the library, by what was read so far.
    pub(crate) needs: Needs,
}

impl<'l> Compiler<'l> {
    /// All there is to tell so far, as a person reads it.
    pub fn complaints(&self) -> String {
        let shown = self.diagnostics.iter().map(|d| render::render(&self.sources, d, render::Style::Plain));
        shown.collect::<Vec<_>>().join("\n")
    }

    /// A compilation with these macros.
    pub fn new(loader: &'l dyn Loader, defines: Vec<(String, String)>) -> Self {
        Compiler {
            loader,
            defines,
            options: Options::default(),
            settings: vec![],
            others: vec![],
            warnings: Warnings::default(),
            limits: Limits::default(),
            sources: Sources::new(),
            diagnostics: Diagnostics::new(),
            enumerators: vec![],
            needs: Needs::new(),
        }
    }

    /// Reads the module at `path` and what it imports, and checks all of it.
    pub fn check(&mut self, path: &str) -> Result<Checked, Stop> {
        self.check_linked(path, false)
    }

    /// As [`check`](Self::check). A part of a program may leave open what others define.
    fn check_linked(&mut self, path: &str, partial: bool) -> Result<Checked, Stop> {
        let modules = self.load_modules(path)?;
        // What a module would declare that was not read is not unknown; there is nothing to say about it.
        if self.diagnostics.iter().any(|d| codes::CODES.contains(&d.code)) {
            return Err(Stop::Errors);
        }
        let mut given = self.read_settings();
        given.partial = partial;
        given.columns = self.options.matrices == Matrices::Columns;
        let mut inputs = self.library();
        inputs.extend(modules);
        given.unread = self.needs.unread();
        let mut checked = cotangent_sema::check_given(inputs, given);
        self.enumerators = checked.user_enumerators();
        self.tell(std::mem::take(&mut checked.diagnostics))?;
        Ok(checked)
    }

    /// As [`check`](Self::check), and lowers the whole module to find what shows only in code. If asked to, writes the
    /// derivatives as well that the program takes.
    pub fn check_whole(&mut self, path: &str, derivatives: bool) -> Result<(), Stop> {
        let mut checked = self.check_linked(path, true)?;
        if checked.is_open() {
            return Ok(());
        }
        let mut lowered = self.lower_checked(&mut checked, Roots::Module)?;
        if !derivatives {
            return Ok(());
        }
        let diagnostics = pipeline::write_derivatives(&mut lowered);
        self.tell(diagnostics)
    }

    /// Checks the module at `path`, lowers what `roots` names, and writes its derivatives.
    pub fn compile(&mut self, path: &str, roots: Roots) -> Result<Lowered, Stop> {
        self.compile_listing(path, roots, &mut Listing::default())
    }

    /// As [`compile`](Self::compile), listing the code after some passes.
    pub fn compile_listing(
        &mut self,
        path: &str,
        roots: Roots,
        listing: &mut Listing,
    ) -> Result<Lowered, Stop> {
        self.run_passes(path, roots, Memory::Rows(self.options.matrices), listing)
    }

    fn run_passes(
        &mut self,
        path: &str,
        roots: Roots,
        memory: Memory,
        listing: &mut Listing,
    ) -> Result<Lowered, Stop> {
        let mut lowered = self.lower(path, roots)?;
        let diagnostics = pipeline::run(&mut lowered, memory, listing);
        self.tell(diagnostics)?;
        Ok(lowered)
    }

    /// What a host must know about the module at `path`, for one target.
    pub fn reflect(
        &mut self,
        path: &str,
        roots: Roots,
        target: Target,
        matrices: Matrices,
    ) -> Result<Reflection, Stop> {
        self.options.matrices = matrices;
        let mut lowered = self.run_passes(path, roots, Memory::Declared, &mut Listing::default())?;
        if let Err(refusal) = crate::targets::check_layout(&lowered, cotangent_emit_naga::codes::UNSUPPORTED)
        {
            self.diagnostics.push(*refusal);
            return Err(Stop::Errors);
        }
        let contexts = self.contexts(path)?;
        let mut found = crate::reflect::reflect(&lowered, target, matrices, contexts);
        // Reflection describes matrices as declared; in the code for the target they lie row by row. A program that the target
        // refuses has no code, and so no names.
        if !pipeline::lay_out_matrices(&mut lowered, Memory::Rows(matrices)).has_errors()
            && let Ok(names) = crate::targets::entry_names(&lowered, target)
        {
            for (entry, id) in found.entries.iter_mut().zip(&lowered.entries) {
                entry.emitted = names.get(id).filter(|name| *name != entry.name.as_str()).cloned();
            }
        }
        Ok(found)
    }

    /// One with the same options that has read nothing yet.
    pub(crate) fn fresh(&self) -> Compiler<'_> {
        let mut compiler = Compiler::new(self.loader, self.defines.clone());
        compiler.options = self.options.clone();
        compiler.settings = self.settings.clone();
        compiler.others = self.others.clone();
        compiler
    }

    /// Checks the module at `path` and lowers what `roots` names; derivatives are not written yet. The function whose derivatives
    /// are wanted may be an overload, `f(float2)`, or an instance, `sum<float, 3>`.
    pub fn lower(&mut self, path: &str, roots: Roots) -> Result<Lowered, Stop> {
        let mut checked = self.check(path)?;
        let roots = match roots {
            Roots::Derivatives { func, modes } if asked::is_exact(func.as_str()) => {
                Roots::DerivativesOf { func: asked::choose_one(self, &mut checked, func.as_str())?, modes }
            }
            roots => roots,
        };
        self.lower_checked(&mut checked, roots)
    }

    /// Lowers the `roots` of a checked program, which can be lowered again for other roots.
    pub(crate) fn lower_checked(&mut self, checked: &mut Checked, roots: Roots) -> Result<Lowered, Stop> {
        let mut lowered = cotangent_lower::lower_with(checked, roots, self.options.clone());
        self.tell(std::mem::take(&mut checked.diagnostics))?;
        self.tell(std::mem::take(&mut lowered.diagnostics))?;
        Ok(lowered)
    }

    pub(crate) fn tell(&mut self, diagnostics: Diagnostics) -> Result<(), Stop> {
        self.diagnostics.append(diagnostics);
        if !self.warnings.silent.is_empty() {
            let all = std::mem::take(&mut self.diagnostics);
            all.into_iter().filter(|d| !self.warnings.silences(d)).for_each(|d| self.diagnostics.push(d));
        }
        let denied = self.warnings.deny && !self.diagnostics.is_empty();
        if denied || self.diagnostics.has_errors() { Err(Stop::Errors) } else { Ok(()) }
    }

    pub(crate) fn parse(&mut self, file: FileId, defines: &[(String, String)]) -> ast::File {
        let stream = self.preprocess(file, defines);
        self.needs.note(&stream);
        cotangent_syntax::parse_tokens(stream, &self.sources, self.limits, &mut self.diagnostics)
    }

    pub(crate) fn preprocess(&mut self, file: FileId, defines: &[(String, String)]) -> TokenStream {
        cotangent_syntax::preprocess(&mut self.sources, self.loader, file, defines, &mut self.diagnostics)
    }
}
