//! `cotangent compile`: a module as IR or a target's source.

use crate::args::Compile;
use crate::output::{print, write};
use crate::report::{Failure, finish};
use cotangent::pipeline::{self, Listing};
use cotangent::{Roots, Stop, Symbol, ir};

pub fn compile(args: &Compile) -> Result<(), Failure> {
    let names = pipeline::names();
    if let Some(pass) = args.dump_after.as_ref().filter(|pass| !names.contains(&pass.as_str())) {
        return Err(Failure::Usage(format!("there is no pass `{pass}`; there are {}", names.join(", "))));
    }
    let loader = args.source.search.loader();
    let mut compiler = args.source.compiler(&loader)?;
    let roots = if args.entry.is_empty() {
        Roots::Module
    } else {
        Roots::Entries(args.entry.iter().map(|name| Symbol::new(name)).collect())
    };
    let mut listing = Listing { passes: args.dump_after.iter().cloned().collect(), made: vec![] };
    let result = compiler.compile_listing(&args.source.path(), roots, &mut listing);
    for (pass, text) in &listing.made {
        print(&format!("; after {pass}\n{}\n\n", text.trim_end()))?;
    }
    let lowered = finish(&compiler, args.format, result)?;
    if args.stage != "compute" {
        return Err(Failure::Usage(format!("stage `{}` is not supported yet; only compute is", args.stage)));
    }
    let text = match args.target.as_str() {
        "ir" => ir::text::print_module(&lowered.module),
        "wgsl" | "cpp" | "cuda" => {
            let file = args.source.path();
            let emitted = match args.target.as_str() {
                "wgsl" => cotangent::wgsl(&lowered),
                "cpp" => cotangent::cpp(&lowered, &compiler.sources, &file, args.lines),
                _ => cotangent::cuda(&lowered, &compiler.sources, &file, args.lines),
            };
            match emitted {
                Ok(text) => text,
                Err(diagnostic) => {
                    compiler.diagnostics = cotangent::Diagnostics::new();
                    compiler.diagnostics.push(*diagnostic);
                    return finish(&compiler, args.format, Err(Stop::Errors));
                }
            }
        }
        other => {
            return Err(Failure::Usage(format!(
                "target `{other}` is not supported yet; there are ir, wgsl, cpp and cuda"
            )));
        }
    };
    match args.output.as_str() {
        "-" if args.dump_after.is_some() => Ok(()),
        "-" => print(&text),
        path => write(path, text.as_bytes()),
    }
}
