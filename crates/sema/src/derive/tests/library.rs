//! The library itself.

use super::valid;

#[test]
fn every_declaration_of_the_library_is_valid() {
    let mut program = valid("");
    let funcs: Vec<_> = program.checked.program.funcs.keys().collect();
    for func in funcs {
        program.checked.check_body(func);
    }
    let conformances: Vec<_> = program.checked.program.conformances.keys().collect();
    for conformance in conformances {
        program.checked.complete_witnesses(conformance);
    }
    assert_eq!(program.problems(), Vec::<String>::new());
}
