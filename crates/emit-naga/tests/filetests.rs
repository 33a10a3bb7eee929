//! IR in, WGSL out; naga's validator has seen all of it.

use cotangent_filetest::{Pass, run};

fn main() {
    let wgsl = |case: &mut cotangent_filetest::Case| match cotangent_emit_naga::wgsl(
        &case.module,
        &Default::default(),
    ) {
        Ok(text) => text,
        Err(diagnostic) => format!("{}: {}", diagnostic.code.name, diagnostic.message),
    };
    run("tests/filetests", &[Pass::new("wgsl", wgsl)]);
}
