//! The stages that can be fuzzed.

use cotangent::gradient::{Evaluator, Functions};
use cotangent::interp::Options;
use cotangent::ir::{Mode, text, verify};
use cotangent::{Compiler, Diagnostics, Files, Roots, Sources, Stop};
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

/// The most steps that a derivative may take.
const STEPS: u64 = 100_000;
/// The most functions of a program whose derivatives are computed.
const DERIVATIVES: usize = 3;

const PATH: &str = "fuzz.slang";

/// Whether the program was accepted; an error if the compiler is at fault.
type Result = std::result::Result<bool, String>;

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
        let files = [(PATH, text)];
        let loader = Files(&files);
        let mut compiler = Compiler::new(&loader, vec![]);
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
            Stage::Check => return judge(&compiler.check(PATH), &compiler),
            Stage::Lower => {
                let Ok(mut checked) = compiler.check(PATH) else { return Ok(false) };
                let lowered = cotangent_lower::lower(&mut checked, Roots::Module);
                return verified(lowered, checked.diagnostics);
            }
            Stage::Ir => return ir(text),
            Stage::Whole => return whole(&mut compiler, text),
        }
        render(&sources, &diagnostics);
        Ok(!diagnostics.has_errors())
    }
}

/// Every diagnostic can be drawn.
fn render(sources: &Sources, diagnostics: &Diagnostics) {
    for diagnostic in diagnostics.iter() {
        cotangent::render::render(sources, diagnostic, cotangent::render::Style::Plain);
    }
}

fn judge<T>(result: &std::result::Result<T, Stop>, compiler: &Compiler<'_>) -> Result {
    render(&compiler.sources, &compiler.diagnostics);
    blameless(&compiler.diagnostics)?;
    Ok(result.is_ok())
}

/// An error if a diagnostic says that the compiler is at fault. Numbers are left out of it: they differ from program to
/// program.
fn blameless(diagnostics: &Diagnostics) -> std::result::Result<(), String> {
    let internal = diagnostics.iter().find(|d| cotangent::is_internal(d.code));
    internal.map_or(Ok(()), |d| {
        let message: String = d.message.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
        Err(format!("{} {message}", d.code.name))
    })
}

fn verified(lowered: Lowered, checked: Diagnostics) -> Result {
    blameless(&checked)?;
    blameless(&lowered.diagnostics)?;
    if lowered.diagnostics.has_errors() || checked.has_errors() {
        return Ok(false);
    }
    let wrong = verify(&lowered.module);
    wrong.map(|()| true).map_err(|e| format!("lowered to invalid IR: {}", kind(&e.to_string())))
}

/// What is wrong, without the names and numbers of one program.
fn kind(message: &str) -> String {
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

/// WGSL of the whole module, and the derivatives of a few functions at zero.
fn whole(compiler: &mut Compiler<'_>, text: &str) -> Result {
    let result = compiler.compile(PATH, Roots::Module);
    let accepted = judge(&result, compiler)?;
    let Ok(lowered) = result else { return Ok(accepted) };
    if let Err(refused) = cotangent::wgsl(&lowered)
        && cotangent::is_internal(refused.code)
    {
        return Err(format!("{} {}", refused.code.name, kind(&refused.message)));
    }
    let marked = |f: &&cotangent::ir::Func| f.diff.differentiable == Some(Mode::Backward);
    let names: Vec<_> = lowered.module.funcs.values().filter(marked).map(|f| f.name).collect();
    for name in names.into_iter().take(DERIVATIVES) {
        let files = [(PATH, text)];
        let loader = Files(&files);
        let mut compiler = Compiler::new(&loader, vec![]);
        let modes = vec![Mode::Forward, Mode::Backward];
        let result = compiler.compile(PATH, Roots::Derivatives { func: name, modes });
        judge(&result, &compiler)?;
        if let Ok(lowered) = result {
            evaluate(&lowered);
        }
    }
    Ok(true)
}

/// Runs both modes; traps are fine.
fn evaluate(lowered: &Lowered) {
    let [primal, forward, backward] = lowered.roots[..] else { return };
    let functions = Functions { primal, forward: Some(forward), backward: Some(backward) };
    let options = Options { max_steps: STEPS, ..Options::default() };
    let mut evaluator = Evaluator::new(&lowered.module, functions, options);
    if evaluator.resource().is_some() || evaluator.outputs().is_err() {
        return;
    }
    for mode in [Mode::Forward, Mode::Backward] {
        let _ = evaluator.jacobian(mode, &|_| true);
    }
}
