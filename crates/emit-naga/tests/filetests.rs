//! IR in, WGSL or GLSL out; naga's validator has seen all of it.

use cotangent_emit_naga::{Emitted, Options, emit};
use cotangent_filetest::{Case, Pass, run};
use cotangent_ir::layout::Target;

fn text(case: &Case, target: Target) -> String {
    match emit(&case.module, &Default::default(), target, Options::default()) {
        Ok(Emitted::Text(text)) => text,
        Ok(Emitted::Words(words)) => format!("{} words", words.len()),
        Err(diagnostic) => format!("{}: {}", diagnostic.code.name, diagnostic.message),
    }
}

fn main() {
    let passes = [
        Pass::new("wgsl", |case| text(case, Target::Wgsl)),
        Pass::new("glsl", |case| text(case, Target::Glsl)),
        Pass::new("hlsl", |case| text(case, Target::Hlsl)),
    ];
    run("tests/filetests", &passes);
}
