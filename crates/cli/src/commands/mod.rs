//! One file per command.

mod check;
mod compile;
mod derivative;
mod derivative_roots;
#[cfg(feature = "gpu")]
mod device;
mod explain;
mod grad;
mod grad_kernel;
mod gradcheck;
#[cfg(feature = "gpu")]
mod quiet;
mod reflect;
mod report;
mod run;
mod set;

use crate::args::{Command, Given, LanguageVersion, MatrixLayout, Prefer, Search, Source};
use crate::report::Failure;
use cotangent::ir::layout::{Matrices, Target};
use cotangent::{ConformanceId, Disk, Language, Limits, Options, Request, Setting, Warnings, ir};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Does what was asked.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Grad(args) => grad::grad(&args),
        Command::Gradcheck(args) => gradcheck::gradcheck(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Compile(args) => compile::compile(&args),
        Command::Derivative(args) => derivative::derivative(&args),
        Command::Report(args) => report::report(&args),
        Command::Reflect(args) => reflect::reflect(&args),
        #[cfg(feature = "gpu")]
        Command::Devices(args) => device::devices(&args),
        #[cfg(not(feature = "gpu"))]
        Command::Devices(_) => Err(without_gpu()),
        Command::Explain(args) => explain::explain(&args),
    }
}

/// What a build without the feature `gpu` says.
#[cfg(not(feature = "gpu"))]
fn without_gpu() -> Failure {
    Failure::Device("this `cotangent` was built without the feature `gpu`".into())
}

impl From<MatrixLayout> for Matrices {
    fn from(layout: MatrixLayout) -> Matrices {
        match layout {
            MatrixLayout::Row => Matrices::Rows,
            MatrixLayout::Column => Matrices::Columns,
        }
    }
}

/// The target that the interpreter stands for where a program asks.
const INTERPRETED: Target = Target::Cpp;

impl Source {
    fn path(&self) -> String {
        show_path(&self.file)
    }

    /// The program under everything the command line says.
    fn request(&self) -> Result<Request, Failure> {
        Ok(Request {
            path: self.path(),
            others: self.others.iter().map(|path| show_path(path)).collect(),
            settings: self.given.settings()?,
            options: self.options()?,
            ..self.search.request()?
        })
    }

    fn options(&self) -> Result<Options, Failure> {
        let conformances = self.conformance.iter().map(|item| conformance(item)).collect::<Result<_, _>>()?;
        let prefer = match self.prefer {
            None => ir::Prefer::Auto,
            Some(Prefer::Recompute) => ir::Prefer::Recompute,
            Some(Prefer::Checkpoint) => ir::Prefer::Checkpoint,
        };
        let threads = self.threads.as_deref().map(run::groups).transpose()?;
        let segments = self.checkpoint.unwrap_or_default();
        Ok(Options { conformances, prefer, segments, budget: self.context, threads, ..Options::default() })
    }
}

impl Given {
    fn settings(&self) -> Result<Vec<(Setting, String, String)>, Failure> {
        let all = [
            (Setting::Function, &self.specialize),
            (Setting::Global, &self.specialize_global),
            (Setting::Type, &self.set_type),
        ];
        let items =
            all.into_iter().flat_map(|(setting, items)| items.iter().map(move |item| (setting, item)));
        let split = |(setting, item): (Setting, &String)| match item.split_once('=') {
            Some((name, text)) if !name.trim().is_empty() && !text.trim().is_empty() => {
                Ok((setting, name.trim().to_string(), text.trim().to_string()))
            }
            _ => Err(Failure::Usage(format!(
                "`{item}` is not of the form NAME=TYPE, which {} expects",
                setting.flag()
            ))),
        };
        let settings = items.map(split).collect::<Result<Vec<_>, _>>()?;
        for (number, (setting, name, _)) in settings.iter().enumerate() {
            if settings[..number].iter().any(|(s, n, _)| s == setting && n == name) {
                return Err(Failure::Usage(format!("{} sets `{name}` twice", setting.flag())));
            }
        }
        Ok(settings)
    }
}

/// `TYPE:INTERFACE=ID`, or `TYPE:INTERFACE` for the next number.
fn conformance(item: &str) -> Result<ConformanceId, Failure> {
    let usage = || Failure::Usage(format!("`{item}` is not of the form TYPE:INTERFACE=NUMBER"));
    ConformanceId::parse(item).ok_or_else(usage)
}

impl Search {
    fn loader(&self) -> Result<Disk, Failure> {
        let include = self.include.clone();
        match &self.root {
            Some(root) => Disk::within(root, include)
                .map_err(|e| Failure::Usage(format!("--root: cannot use `{}`: {e}", root.display()))),
            None => Ok(Disk::new(include)),
        }
    }

    /// A program without files, with the macros and the choice of warnings, on the large stack that commands run on.
    fn request(&self) -> Result<Request, Failure> {
        let is_warning = |code: &str| {
            code == "all" || (code.starts_with(['W', 'w']) && cotangent::explain(code).is_some())
        };
        if let Some(code) = self.no_warn.iter().find(|code| !is_warning(code)) {
            return Err(Failure::Usage(format!("--no-warn: there is no warning `{code}`")));
        }
        let defines = self.defines();
        if let Some((name, _)) = defines.iter().find(|(name, _)| !is_macro(name)) {
            return Err(Failure::Usage(format!("-D: `{name}` is not the name of a macro")));
        }
        let warnings = Warnings { silent: self.no_warn.clone(), deny: self.deny_warnings };
        let language = match self.language {
            None | Some(LanguageVersion::Legacy) => Language::Legacy,
            Some(LanguageVersion::V2025) => Language::V2025,
            Some(LanguageVersion::V2026) => Language::V2026,
        };
        let limits = Limits::LARGE_STACK;
        let mut request = Request { defines, warnings, language, limits, ..Request::default() };
        if self.time_passes {
            request.watch.time_with(clock);
        }
        Ok(request)
    }

    /// `NAME=VAL`, or `NAME` for 1.
    fn defines(&self) -> Vec<(String, String)> {
        let split = |item: &String| match item.split_once('=') {
            Some((name, value)) => (name.to_string(), value.to_string()),
            None => (item.clone(), "1".to_string()),
        };
        self.define.iter().map(split).collect()
    }
}

/// The time since the first call.
fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Whether `-D` may define this: `NAME`, or `NAME(x)` with parameters.
fn is_macro(name: &str) -> bool {
    let name = name.split('(').next().unwrap_or_default();
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_part)
}

fn show_path(path: &Path) -> String {
    path.display().to_string()
}
