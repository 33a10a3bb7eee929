//! What targets refuse of programs that were compiled without naming one.

use cotangent::ir::layout::Target;
use cotangent::{Request, Roots, Session, Texts};

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
