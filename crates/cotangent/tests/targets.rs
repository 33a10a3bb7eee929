//! What targets refuse of programs that were compiled without naming one.

use cotangent::ir::layout::Target;
use cotangent::{Request, Roots, Session, Texts};
use std::path::Path;

#[test]
fn the_checker_knows_all_targets() {
    let mut known = cotangent_sema::capability::TARGETS.to_vec();
    let mut all: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
    known.sort_unstable();
    all.sort_unstable();
    assert_eq!(known, all);
}

#[test]
fn the_library_has_the_functions_that_printed_derivatives_call() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../std");
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let library: String = files.collect();
    for name in cotangent_emit_slang::functions() {
        let is_declared =
            [format!(" {name}("), format!(" {name}<")].iter().any(|text| library.contains(text));
        assert!(is_declared, "`{name}` is not in the library");
    }
}

#[test]
fn differences_between_pixels_are_refused_in_compute_shaders() {
    let text = "RWStructuredBuffer<float> r;
        [numthreads(8, 1, 1)] void main(uint3 t : SV_DispatchThreadID) { r[0] = ddx(float(t.x)); }";
    let program = Session::new(Texts::new([("a.slang", text)])).program(&Request::new("a.slang"));
    let lowered = program.compile(Roots::Module).accept().unwrap();
    for target in [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal] {
        let refusal = cotangent::shader(&lowered, target, None).expect_err("compute shaders have no pixels");
        assert_eq!(refusal.code.name, "E0761", "{}", refusal.message);
    }
}
