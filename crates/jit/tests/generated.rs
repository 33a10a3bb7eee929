//! Generated programs with their derivatives, run natively thread by thread and in lanes, and compared with the interpreter bit for
//! bit. `cargo xtask hunt --only native` tries more of them.

use cotangent_hunt::native::compare;

/// Programs that the test tries.
const PROGRAMS: u64 = 60;

#[test]
fn generated_programs_agree() {
    let (mut functions, mut in_lanes) = (0, 0);
    for seed in 1..=PROGRAMS {
        let compared = compare(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        functions += compared.functions;
        in_lanes += compared.in_lanes;
    }
    assert!(in_lanes * 3 > functions, "only {in_lanes} of {functions} ran in lanes");
}
