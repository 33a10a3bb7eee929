//! A session: programs taken through the stages, each stage computed once and shared.
//!
//! A [`Session`] owns a loader and the results computed from its files. A [`Request`] describes a program: its files, macros
//! and options. [`Session::program`] reads the files of a request and returns a [`Program`], which answers queries: `check`,
//! `compile`, `report`. Sessions and programs are `Send + Sync` and cheap to clone. Threads may query at the same time; if
//! another thread is computing a stage, the query waits for it.
//!
//! The stages, each an owned value behind an `Arc`:
//!
//! | stage | made from |
//! | --- | --- |
//! | library (`library`) | nothing; a file is parsed, and a set of files collected, once per process |
//! | parsed file (`modules`) | path, macros, limits, and what the loader answered while it was preprocessed |
//! | loaded program (`modules`) | the request, and what the loader answered about modules and imports |
//! | checked program | the loaded program, and whether it may be a part of a larger one |
//! | lowered program | the checked program, roots and [`Options`] |
//! | derived program | the lowered program |
//! | optimized program | the derived program, and the layout of its matrices |
//!
//! A stage owns the stages made from it. So dropping a stage drops everything that depends on it, and nothing else.
//!
//! # Changes
//!
//! A session is not notified of changed files. A parsed file and a loaded program record every query to the loader with its
//! answer (`trace`). [`Session::program`] repeats the queries. If all answers are the same, so is the program. Otherwise the
//! program is loaded again. Files with unchanged answers are not parsed again. Modules that neither changed nor import a
//! changed module are not checked again (`unchanged`). A [`Program`] is immutable: later changes of files do not affect it.
//!
//! # Errors
//!
//! A program with errors has a checked stage ([`Program::checked`]), but not the stages after it. An [`Answer`] has the
//! result or a [`Stop`], and in both cases the diagnostics.

mod memo;
mod program;
mod trace;
mod unchanged;

pub use program::Program;

pub(crate) use memo::Memo;
pub(crate) use program::Stages;
pub(crate) use trace::{Trace, Tracer};

use crate::modules::ParsedFiles;
use crate::pipeline::Watch;
use crate::render;
use crate::specialization::{self, Setting};
use crate::{library, modules};
use cotangent_base::{Diagnostic, Diagnostics, Loader, Sources, Span};
use cotangent_ir::layout::Matrices;
use cotangent_lower::Options;
use cotangent_syntax::Limits;
use cotangent_syntax::ast::Version as Language;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The program has errors; they are in [`Answer::diagnostics`].
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
    pub(crate) fn silences(&self, diagnostic: &Diagnostic) -> bool {
        let named = |code: &String| code == "all" || code.eq_ignore_ascii_case(diagnostic.code.name);
        !diagnostic.is_error() && self.silent.iter().any(named)
    }
}

/// What a program is made of, and how it is to be compiled.
#[derive(Clone, Default, Debug)]
pub struct Request {
    /// The path of its main module.
    pub path: String,
    /// Modules of the program that nobody imports: they export what others declare `extern`.
    pub others: Vec<String>,
    /// Macros and their values.
    pub defines: Vec<(String, String)>,
    /// Types and values for what the program leaves open.
    pub settings: Vec<(Setting, String, String)>,
    /// The version of the language for files that do not say which they are written in.
    pub language: Language,
    /// How deep programs may nest; more than the default needs a large stack.
    pub limits: Limits,
    /// What the user says about the whole program.
    pub options: Options,
    /// Which warnings matter.
    pub warnings: Warnings,
    /// What to observe of the passes that run for an answer. Passes that ran before are not observed.
    pub watch: Watch,
}

impl Request {
    /// The program whose main module is at `path`, without macros or options.
    pub fn new(path: impl Into<String>) -> Self {
        Request { path: path.into(), ..Request::default() }
    }

    /// The conformances whose types have generic arguments, which the checker resolves.
    fn generic_conformances(&self) -> impl Iterator<Item = (Setting, String, String)> {
        let all = self.options.conformances.iter();
        let generic = all.filter(|c| c.ty.as_str().contains('<') || c.interface.as_str().contains('<'));
        generic.map(|c| {
            let (ty, interface) = (c.ty, c.interface);
            (Setting::Conformance, format!("{ty}:{interface}"), format!("{ty}, {interface}"))
        })
    }

    /// Everything that its checked stage depends on beside files.
    fn key(&self) -> Key {
        Key {
            path: self.path.clone(),
            others: self.others.clone(),
            defines: self.defines.clone(),
            settings: self.settings.iter().cloned().chain(self.generic_conformances()).collect(),
            language: self.language,
            limits: self.limits,
            columns: self.options.matrices == Matrices::Columns,
        }
    }
}

/// What a loaded program is found by.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub path: String,
    pub others: Vec<String>,
    pub defines: Vec<(String, String)>,
    pub settings: Vec<(Setting, String, String)>,
    pub language: Language,
    pub limits: Limits,
    /// Whether matrices that say nothing themselves lie column by column.
    pub columns: bool,
}

/// The answer to a question about a program.
#[derive(Clone)]
pub struct Answer<T> {
    /// What was asked for, or why there is none.
    pub result: Result<T, Stop>,
    /// What there is to report, warnings included.
    pub diagnostics: Diagnostics,
    /// The files that diagnostics and code point into.
    pub sources: Sources,
    /// Whether warnings count as errors.
    pub denied: bool,
    /// What was observed of the passes, as [`Request::watch`] asks for.
    pub watch: Watch,
}

impl<T> Answer<T> {
    /// All diagnostics, as a person reads them.
    pub fn complaints(&self) -> String {
        let shown = self.diagnostics.iter().map(|d| render::render(&self.sources, d, render::Style::Plain));
        shown.collect::<Vec<_>>().join("\n")
    }

    /// The result, or an error that has all diagnostics in its text.
    pub fn accept(self) -> Result<T, Rejected> {
        let complaints = self.complaints();
        self.result.map_err(|stop| Rejected { stop, complaints })
    }

    /// The same answer about something else.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Answer<U> {
        let Answer { result, diagnostics, sources, denied, watch } = self;
        Answer { result: result.map(f), diagnostics, sources, denied, watch }
    }

    /// Whether something stands on the command line and not in a file.
    pub fn is_setting(&self, span: Span) -> bool {
        specialization::is_setting(&self.sources, span)
    }
}

/// A question that has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// The reason.
    pub stop: Stop,
    /// The diagnostics, as a person reads them.
    pub complaints: String,
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.stop)?;
        if self.complaints.is_empty() { Ok(()) } else { write!(f, "\n{}", self.complaints) }
    }
}

impl std::error::Error for Rejected {}

/// How much work a session has done: a question that the stages at hand can answer adds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Files that were parsed, those of the library excepted.
    pub parsed: usize,
    /// Modules that were checked whole.
    pub checked: usize,
    /// Programs that were lowered.
    pub lowered: usize,
    /// Programs whose derivatives were written.
    pub derived: usize,
    /// Programs that were optimized.
    pub optimized: usize,
}

/// Work done, counted.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub parsed: Counter,
    pub checked: Counter,
    pub lowered: Counter,
    pub derived: Counter,
    pub optimized: Counter,
}

/// Files, and the programs made of them. See the [module](self) for what is kept and when it is made again.
#[derive(Clone)]
pub struct Session {
    state: Arc<State>,
}

/// What the clones of a session share.
pub(crate) struct State {
    pub loader: Arc<dyn Loader + Send + Sync>,
    /// Every file read so far, those of the library first. Numbers of files are the session's, so that parsed files can be shared.
    sources: Mutex<Sources>,
    pub files: ParsedFiles,
    /// The latest version of each program.
    programs: Mutex<Vec<(Key, Arc<Stages>)>>,
    pub counters: Counters,
}

impl State {
    /// The files; nobody else can add one meanwhile.
    pub(crate) fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files read so far, for diagnostics.
    pub(crate) fn snapshot(&self) -> Sources {
        let mut sources = self.sources();
        sources.share();
        sources.clone()
    }
}

impl Session {
    /// A session that reads files with this loader.
    pub fn new(loader: impl Loader + Send + Sync + 'static) -> Self {
        Session {
            state: Arc::new(State {
                loader: Arc::new(loader),
                sources: Mutex::new(library::sources()),
                files: ParsedFiles::default(),
                programs: Mutex::default(),
                counters: Counters::default(),
            }),
        }
    }

    /// The program of a request, with its files as they are now. What is wrong with them is in the answers to questions.
    ///
    /// Threads load one after the other, so that two that ask for the same program get the same stages.
    pub fn program(&self, request: &Request) -> Program {
        let key = request.key();
        let mut programs = self.state.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let place = programs.iter().position(|(other, _)| *other == key);
        let known = place.map(|place| programs[place].1.clone());
        let stages = match known {
            Some(stages) if stages.loaded.still_holds(&*self.state.loader) => stages,
            earlier => {
                let loaded = modules::load(&self.state, &key);
                let stages = Arc::new(Stages::new(loaded, earlier.as_deref()));
                match place {
                    Some(place) => programs[place].1 = stages.clone(),
                    None => programs.push((key, stages.clone())),
                }
                stages
            }
        };
        Program::new(self.clone(), stages, request.clone())
    }

    /// How much work was done so far.
    pub fn counts(&self) -> Counts {
        let Counters { parsed, checked, lowered, derived, optimized } = &self.state.counters;
        Counts {
            parsed: parsed.get(),
            checked: checked.get(),
            lowered: lowered.get(),
            derived: derived.get(),
            optimized: optimized.get(),
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }
}
