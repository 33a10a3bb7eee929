//! `cotangent compile`: a module as IR or a target's source.

use crate::args::Compile;
use crate::report::{Failure, finish};
use cotangent::{Compiler, Roots, Symbol, ir, pipeline};

pub fn compile(args: &Compile) -> Result<(), Failure> {
    if let Some(pass) = &args.dump_after
        && !pipeline::PASSES.iter().any(|p| p.name == *pass)
    {
        let names: Vec<&str> = pipeline::PASSES.iter().map(|p| p.name).collect();
        return Err(Failure::Usage(format!("there is no pass `{pass}`; there are {}", names.join(", "))));
    }
    let loader = args.source.loader();
    let mut compiler = Compiler::new(&loader, args.source.defines());
    let roots = if args.entry.is_empty() {
        Roots::Module
    } else {
        Roots::Entries(args.entry.iter().map(|name| Symbol::new(name)).collect())
    };
    let mut dump = |pass: &str, module: &ir::Module| {
        if args.dump_after.as_deref() == Some(pass) {
            println!("{}", ir::text::print_module(module));
        }
    };
    let result = compiler.compile_with(&args.source.path(), roots, &mut dump);
    let lowered = finish(&compiler, args.format, result)?;
    if args.stage != "compute" {
        return Err(Failure::Usage(format!("stage `{}` is not supported yet; only compute is", args.stage)));
    }
    let text = match args.target.as_str() {
        "ir" => ir::text::print_module(&lowered.module),
        "wgsl" => {
            let emitted = cotangent::wgsl(&lowered.module);
            emitted.map_err(|diagnostic| {
                compiler.diagnostics = cotangent::Diagnostics::new();
                compiler.diagnostics.push(*diagnostic);
                crate::report::show(&compiler, args.format);
                Failure::Program
            })?
        }
        other => {
            return Err(Failure::Usage(format!(
                "target `{other}` is not supported yet; there are ir and wgsl"
            )));
        }
    };
    write(&args.output, &text)
}

/// Writes all of `text`, or leaves what was there.
fn write(path: &str, text: &str) -> Result<(), Failure> {
    if path == "-" {
        print!("{text}");
        return Ok(());
    }
    let temporary = format!("{path}.partial");
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|e| Failure::Usage(format!("cannot write `{path}`: {e}")))
}
