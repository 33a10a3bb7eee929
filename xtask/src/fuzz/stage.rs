//! The stages that can be fuzzed.

use super::whole::whole;
use cotangent::ir::{text, verify};
use cotangent::{Answer, Diagnostics, Request, Roots, Session, Sources, Texts};
use cotangent_lower::Lowered;

/// A stage, with all that come before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Lex,
    Preprocess,
    Parse,
    Check,
    Lower,
    Ir,
    Whole,
}

const STAGES: [(&str, Stage); 7] = [
    ("lex", Stage::Lex),
    ("preprocess", Stage::Preprocess),
    ("parse", Stage::Parse),
    ("check", Stage::Check),
    ("lower", Stage::Lower),
    ("ir", Stage::Ir),
    ("whole", Stage::Whole),
];

/// What the program is called.
pub const PATH: &str = "fuzz.slang";

/// Whether the program was accepted; an error if the compiler is at fault.
pub type Result = std::result::Result<bool, String>;

impl Stage {
    /// The stage of a name.
    pub fn named(name: &str) -> Option<Stage> {
        STAGES.iter().find(|(n, _)| *n == name).map(|(_, stage)| *stage)
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        STAGES.iter().map(|(name, _)| *name).collect()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        STAGES.iter().find(|(_, stage)| *stage == self).map_or("", |(name, _)| name)
    }

    /// The ending of the files it reads.
    pub fn ending(self) -> &'static str {
        if self == Stage::Ir { "ir" } else { "slang" }
    }

    /// Takes a text through the stage.
    pub fn run(self, text: &str) -> Result {
        let mut sources = Sources::new();
        let mut diagnostics = Diagnostics::new();
        let file = sources.add(PATH, text);
        let loader = Texts::new([(PATH, text)]);
        let program = || Session::new(loader.clone()).program(&Request::new(PATH));
        match self {
            Stage::Lex => {
                cotangent_syntax::lex(file, text);
            }
            Stage::Preprocess => {
                cotangent_syntax::preprocess(&mut sources, &loader, file, &[], &mut diagnostics);
            }
            Stage::Parse => {
                let limits = Default::default();
                cotangent_syntax::parse(&mut sources, &loader, file, &[], limits, &mut diagnostics);
            }
            Stage::Check => return judge(&program().check()),
            Stage::Lower => {
                let program = program();
                let (Ok(()), Some(checked)) = (program.check().result, program.checked()) else {
                    return Ok(false);
                };
                return verified(cotangent_lower::lower(&checked, Roots::Module));
            }
            Stage::Ir => return ir(text),
            Stage::Whole => return whole(text),
        }
        render(&sources, &diagnostics);
        Ok(!diagnostics.has_errors())
    }
}

/// Every diagnostic can be drawn.
pub fn render(sources: &Sources, diagnostics: &Diagnostics) {
    for diagnostic in diagnostics.iter() {
        cotangent::render::render(sources, diagnostic, cotangent::render::Style::Plain);
    }
}

pub fn judge<T>(answer: &Answer<T>) -> Result {
    render(&answer.sources, &answer.diagnostics);
    blameless(&answer.diagnostics)?;
    Ok(answer.result.is_ok())
}

/// An error if a diagnostic says that the compiler is at fault. Numbers are left out of it: they differ from program to
/// program.
pub fn blameless(diagnostics: &Diagnostics) -> std::result::Result<(), String> {
    let internal = diagnostics.iter().find(|d| cotangent::is_internal(d.code));
    internal.map_or(Ok(()), |d| {
        let message: String = d.message.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
        Err(format!("{} {message}", d.code.name))
    })
}

fn verified(lowered: Lowered) -> Result {
    blameless(&lowered.diagnostics)?;
    if lowered.diagnostics.has_errors() {
        return Ok(false);
    }
    let wrong = verify(&lowered.module);
    wrong.map(|()| true).map_err(|e| format!("lowered to invalid IR: {}", kind(&e.to_string())))
}

/// What is wrong, without the names and numbers of one program.
pub fn kind(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).take(60).collect()
}

/// IR that is valid survives being printed and read.
fn ir(source: &str) -> Result {
    let source = source.split("; expect").next().unwrap_or(source);
    let Ok(module) = text::parse_module(source) else { return Ok(false) };
    if verify(&module).is_err() {
        return Ok(false);
    }
    let printed = text::print_module(&module);
    match text::parse_module(&printed) {
        Ok(again) if text::print_module(&again) == printed => Ok(true),
        Ok(_) => Err("printed differently the second time".into()),
        Err(e) => Err(format!("what is printed cannot be read: {}", kind(&e.to_string()))),
    }
}
