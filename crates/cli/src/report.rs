//! Failures of commands: what they print, and their exit codes.

use crate::args::Format;
use cotangent::interp::Stopped;
use cotangent::pipeline::Row;
use cotangent::render::{self, Style};
use cotangent::{Answer, Diagnostic, Severity, Sources, Stop, visible};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Writes a line to stderr. A closed stderr is not an error.
pub fn tell(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The exit code of an internal error.
pub const INTERNAL: u8 = 3;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// The program has errors, which have been shown.
    Program,
    /// The command line asks for something that cannot be done.
    Usage(String),
    /// The command line asks for a function that is not there, or says something that does not fit the program, which
    /// has been shown.
    NotThere,
    /// The compiler has a bug.
    Internal(String),
    /// The two modes differ by so much, which has been shown number by number.
    Disagreement(f64),
    /// The program stopped before its end, which has been shown.
    Trap,
    /// No device can run the program.
    Device(String),
    /// The target language cannot express the program; the diagnostic has been printed.
    Refused,
    /// The user stopped it, and what it had done was shown.
    Interrupted,
}

impl Failure {
    /// The exit code of a command that was interrupted, as shells have it.
    pub const INTERRUPTED: u8 = 130;

    /// Tells the user and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (code, message) = match self {
            Failure::Program => (1, None),
            Failure::Usage(message) => (2, Some(message)),
            Failure::NotThere => (2, None),
            Failure::Internal(message) => {
                (INTERNAL, Some(format!("internal error: {message}\n{PLEASE_REPORT}")))
            }
            Failure::Disagreement(by) => {
                let why = if by.is_finite() { DISAGREEMENT } else { NOT_FINITE };
                (1, Some(format!("forward and reverse mode differ by {by:e}\n{why}")))
            }
            Failure::Trap => (4, None),
            Failure::Device(message) => (5, Some(message)),
            Failure::Refused => (5, None),
            Failure::Interrupted => (Failure::INTERRUPTED, None),
        };
        if let Some(message) = message {
            tell(format_args!("error: {}", visible(&message)));
        }
        ExitCode::from(code)
    }
}

impl From<cotangent::runtime::Error> for Failure {
    fn from(error: cotangent::runtime::Error) -> Self {
        Failure::Usage(error.0)
    }
}

const DISAGREEMENT: &str = "A custom derivative may be wrong. If the program has none, this \
                            is a bug in cotangent: please report it.";
const NOT_FINITE: &str = "An unused value whose derivative is infinite or NaN can cause this: \
                          compute it only where it is used. Or a custom derivative is wrong.";
const PLEASE_REPORT: &str = "This is a bug in cotangent. Please report it with the program that caused it.";

/// Reports a panic as a bug of ours.
pub fn internal_error(info: &std::panic::PanicHookInfo<'_>) {
    // A panic of a library is reported as a diagnostic.
    if cotangent::is_catching() {
        return;
    }
    tell(format_args!("error: internal error: {info}\n{PLEASE_REPORT}"));
}

fn style() -> Style {
    if std::io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}

/// Shows a diagnostic: for people, or as a line of JSON.
pub fn show_one(sources: &Sources, diagnostic: &Diagnostic, format: Format) {
    match format {
        Format::Text => tell(format_args!("{}\n", render::render(sources, diagnostic, style()))),
        Format::Json => tell(format_args!("{}", render::json(sources, diagnostic))),
    }
}

/// Shows where and why a program stopped.
pub fn trapped(sources: &Sources, stopped: &Stopped, format: Format) -> Failure {
    show_one(sources, &stopped.diagnostic(), format);
    Failure::Trap
}

/// Says something that is good to know and changes nothing.
pub fn note(text: &str, format: Format) {
    remark("note", text, format);
}

/// Says that something is likely not what was meant.
pub fn warning(text: &str, format: Format) {
    remark("warning", text, format);
}

fn remark(severity: &str, text: &str, format: Format) {
    match format {
        Format::Text => tell(format_args!("{severity}: {}", visible(text))),
        Format::Json => {
            tell(format_args!("{}", serde_json::json!({ "severity": severity, "message": text })))
        }
    }
}

/// Most errors, and most warnings, that one command shows.
const MOST_SHOWN: usize = 200;

/// Shows the diagnostics of an answer, and for people how many there are.
fn show<T>(answer: &Answer<T>, format: Format) {
    let (mut errors, mut warnings) = (0, 0);
    for diagnostic in answer.diagnostics.iter() {
        let number = match diagnostic.code.severity() {
            Severity::Error => &mut errors,
            Severity::Warning => &mut warnings,
        };
        *number += 1;
        if *number <= MOST_SHOWN {
            show_one(&answer.sources, diagnostic, format);
        }
    }
    if format == Format::Json {
        return;
    }
    for (number, what) in [(errors, "error"), (warnings, "warning")] {
        if number > MOST_SHOWN {
            tell(format_args!("{} not shown", count(number - MOST_SHOWN, &format!("further {what}"))));
        }
    }
    if errors > 0 {
        let warnings =
            if warnings > 0 { format!(" and {}", count(warnings, "warning")) } else { String::new() };
        tell(format_args!("{}{warnings}; run `cotangent explain CODE` for details", count(errors, "error")));
    } else if warnings > 0 && answer.denied {
        tell(format_args!("{}, denied by --deny-warnings", count(warnings, "warning")));
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The table of `--time-passes`: passes within a pass are indented under it. Empty unless passes were timed.
fn time_table(rows: &[Row]) -> Vec<String> {
    fn below(rows: &[Row], around: Option<usize>, depth: usize, table: &mut Vec<String>) {
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.around == around) {
            let (pass, ms) = (format!("{:1$}{2}", "", 2 * depth, row.pass), row.time.as_secs_f64() * 1e3);
            table.push(format!("{pass:<24} {:>7} {ms:>10.3} {:>10} {:>10}", row.runs, row.before, row.after));
            below(rows, Some(index), depth + 1, table);
        }
    }
    if rows.is_empty() {
        return vec![];
    }
    let mut table =
        vec![format!("{:<24} {:>7} {:>10} {:>10} {:>10}", "pass", "runs", "ms", "before", "after")];
    below(rows, None, 0, &mut table);
    table
}

/// Shows the diagnostics of an answer, and gives its result or what its stop means for a command.
pub fn finish<T>(answer: Answer<T>, format: Format) -> Result<T, Failure> {
    show(&answer, format);
    time_table(answer.watch.rows()).iter().for_each(|line| tell(format_args!("{line}")));
    let stop = match answer.result {
        Ok(value) => return Ok(value),
        Err(ref stop) => stop,
    };
    let diagnostics = &answer.diagnostics;
    let mut errors = diagnostics.iter().filter(|d| d.is_error()).peekable();
    Err(match stop {
        Stop::Errors if diagnostics.iter().any(|d| cotangent::is_internal(d.code)) => {
            Failure::Internal("the diagnostics above name the stage that failed".into())
        }
        Stop::Errors
            if errors.peek().is_some() && errors.all(|d| cotangent::is_about_names_asked_for(d.code)) =>
        {
            Failure::NotThere
        }
        Stop::Errors if diagnostics.iter().any(|d| answer.is_setting(d.primary.span)) => Failure::NotThere,
        Stop::Errors => Failure::Program,
        Stop::NoFile { .. } | Stop::Usage(_) => Failure::Usage(stop.to_string()),
    })
}
