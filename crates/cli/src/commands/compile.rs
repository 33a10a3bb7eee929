//! `cotangent compile`: emits a module as IR or in a target language.

use super::derivative_roots;
use crate::args::{Compile, CompileTarget, Stage};
use crate::output::{print, print_bytes, write};
use crate::report::{Failure, finish};
use cotangent::ir::layout::Target;
use cotangent::pipeline;
use cotangent::{Answer, Diagnostic, Emitted, Lowered, Roots, Session, Sources, Stop, Symbol, ir};
use std::io::IsTerminal;

pub fn compile(args: &Compile) -> Result<(), Failure> {
    let names = pipeline::names();
    if let Some(pass) = args.dump_after.as_ref().filter(|pass| !names.contains(&pass.as_str())) {
        return Err(Failure::Usage(format!("there is no pass `{pass}`; there are {}", names.join(", "))));
    }
    if args.lines && args.target == CompileTarget::Ir {
        return Err(Failure::Usage("--lines does not apply to --target ir".into()));
    }
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.stage = args.stage.map(stage);
    request.options.target = target_of(args.target);
    request.options.matrices = args.matrix_layout.into();
    request.watch.list_after(args.dump_after.iter().cloned());
    let program = Session::new(loader).program(&request);
    let roots = match derivative_roots::roots(&program, &args.derivative)? {
        Some(derivative) => derivative,
        None if args.entry.is_empty() => Roots::Module,
        None => Roots::Entries(args.entry.iter().map(|name| Symbol::new(name)).collect()),
    };
    let answer = program.compile(roots);
    let sources = answer.sources.clone();
    for (pass, text) in answer.watch.listings() {
        print(&format!("; after {pass}\n{}\n\n", text.trim_end()))?;
    }
    let lowered = finish(answer, args.format)?;
    check_stage(args, &lowered)?;
    let bytes = match emitted(args, &lowered, &sources) {
        Ok(bytes) => bytes,
        Err(diagnostic) => {
            let mut diagnostics = cotangent::Diagnostics::new();
            diagnostics.push(*diagnostic);
            let refused = Answer {
                result: Err(Stop::Errors),
                diagnostics,
                sources,
                denied: false,
                watch: Default::default(),
            };
            return finish(refused, args.format);
        }
    };
    deliver(args, &bytes)
}

/// The module in the language of the target.
fn emitted(args: &Compile, lowered: &Lowered, sources: &Sources) -> Result<Vec<u8>, Box<Diagnostic>> {
    let lines = args.lines.then_some(sources);
    match args.target {
        CompileTarget::Ir => Ok(ir::text::print_module(&lowered.module).into_bytes()),
        CompileTarget::Cpp => {
            cotangent::cpp(lowered, sources, &args.source.path(), args.lines).map(String::into_bytes)
        }
        CompileTarget::Cuda => {
            let file = args.source.path();
            cotangent::cuda(lowered, sources, &file, args.lines).map(String::into_bytes)
        }
        CompileTarget::Wgsl => shader(lowered, Target::Wgsl, lines),
        CompileTarget::Spirv => shader(lowered, Target::SpirV, lines),
        CompileTarget::SpirvAsm => {
            cotangent::shader(lowered, Target::SpirV, lines).and_then(|made| match made {
                Emitted::Text(text) => Ok(text.into_bytes()),
                Emitted::Words(words) => cotangent::disassemble(&words).map(String::into_bytes),
            })
        }
        CompileTarget::Glsl => shader(lowered, Target::Glsl, lines),
        CompileTarget::Hlsl => shader(lowered, Target::Hlsl, lines),
        CompileTarget::Metal => shader(lowered, Target::Metal, lines),
    }
}

/// Writes the result where it is asked for.
fn deliver(args: &Compile, bytes: &[u8]) -> Result<(), Failure> {
    match args.output.as_str() {
        "-" if args.dump_after.is_some() => Ok(()),
        "-" if args.target == CompileTarget::Spirv && std::io::stdout().is_terminal() => {
            let why =
                "cannot write binary SPIR-V to a terminal: name a file with -o, or use --target spirv-asm";
            Err(Failure::Usage(why.to_string()))
        }
        "-" => print_bytes(bytes),
        path => write(path, bytes),
    }
}

fn stage(stage: Stage) -> ir::Stage {
    match stage {
        Stage::Compute => ir::Stage::Compute,
        Stage::Vertex => ir::Stage::Vertex,
        Stage::Fragment => ir::Stage::Fragment,
    }
}

/// Refuses a stage that is not the one that an entry point says it has.
fn check_stage(args: &Compile, lowered: &Lowered) -> Result<(), Failure> {
    let Some(asked) = args.stage.map(stage) else { return Ok(()) };
    for func in lowered.entries.iter().map(|id| &lowered.module.funcs[*id]) {
        let own = func.entry.as_ref().map_or(asked, |entry| entry.stage);
        if own != asked {
            let (name, own, asked) = (func.name, own.name(), asked.name());
            return Err(Failure::Usage(format!("`{name}` is a {own} shader, not a {asked} shader")));
        }
    }
    Ok(())
}

/// What code is made for; the IR is for nobody in particular.
fn target_of(target: CompileTarget) -> Option<Target> {
    match target {
        CompileTarget::Ir => None,
        CompileTarget::Cpp => Some(Target::Cpp),
        CompileTarget::Cuda => Some(Target::Cuda),
        CompileTarget::Wgsl => Some(Target::Wgsl),
        CompileTarget::Spirv | CompileTarget::SpirvAsm => Some(Target::SpirV),
        CompileTarget::Glsl => Some(Target::Glsl),
        CompileTarget::Hlsl => Some(Target::Hlsl),
        CompileTarget::Metal => Some(Target::Metal),
    }
}

/// The bytes of a shader; the words of SPIR-V have their least byte first.
fn shader(lowered: &Lowered, target: Target, lines: Option<&Sources>) -> Result<Vec<u8>, Box<Diagnostic>> {
    Ok(match cotangent::shader(lowered, target, lines)? {
        Emitted::Text(text) => text.into_bytes(),
        Emitted::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    })
}
