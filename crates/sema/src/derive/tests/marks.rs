//! Tests of the attributes in the library that the front end reads, and of the shared mechanism of `fwd_diff` and `bwd_diff`.

use super::{library, program_with, valid};
use crate::hir::{DiffMode, Expr, ExprKind, FuncId, InterfaceRef, StmtKind};
use crate::tables::Item;

/// What is wrong with an empty conformance if a member of `IDifferentiable` lacks its mark.
fn problems_without(mark: &str) -> Vec<String> {
    let mark = format!("[__lang(\"{mark}\")] ");
    let strip = |(path, text): (String, String)| (path, text.replacen(&mark, "", 1));
    let marked = library().iter().filter(|(_, text)| text.contains(&mark)).count();
    assert_eq!(marked, 1, "the library has one {mark}");
    program_with(library().into_iter().map(strip).collect(), "struct S : IDifferentiable { float x; int n; }")
        .problems()
}

#[test]
fn members_of_the_interface_are_made_because_the_library_marks_them() {
    // req: TYPE-25
    valid("struct S : IDifferentiable { float x; int n; }");
    for mark in ["dzero", "dadd", "dmul"] {
        let problems = problems_without(mark);
        assert!(problems.iter().any(|p| p.contains("IDifferentiable")), "without {mark}: {problems:?}");
    }
}

#[test]
fn the_library_has_no_pointer_types_and_resources_stay_as_they_are() {
    // req: PTR-07
    let mut program = valid(
        "[Differentiable] float f(RWStructuredBuffer<float> a, StructuredBuffer<float2> b, RWByteAddressBuffer c, float x)
         { return x * x; }
         struct P : IDifferentiablePtrType { typealias Differential = P; RWStructuredBuffer<float> at; }
         [Differentiable] float g(P p, float x) { return x; }",
    );
    let resources = "RWStructuredBuffer<float>, StructuredBuffer<float2>, RWByteAddressBuffer";
    let forward = format!("DifferentialPair<float>({resources}, DifferentialPair<float>)");
    assert_eq!(program.derived("f", &[DiffMode::Forward]), forward);
    let backward = format!("void({resources}, inout DifferentialPair<float>, float)");
    assert_eq!(program.derived("f", &[DiffMode::Backward]), backward);
    let paired = "void(DifferentialPtrPair<P>, inout DifferentialPair<float>, float)";
    assert_eq!(program.derived("g", &[DiffMode::Backward]), paired);
    // The one conformance beside that of arrays of such types is the user's.
    let checked = &program.checked;
    let Some(Item::Interface(pointers)) = checked.tables.lang.get(&"IDifferentiablePtrType".into()) else {
        panic!("the interface is marked");
    };
    let is_pointer = |i: InterfaceRef| i.interface == *pointers;
    let conforming = checked.program.conformances.values().filter(|c| is_pointer(c.interface));
    let types: Vec<String> = conforming.map(|c| checked.show(c.ty)).collect();
    assert_eq!(types, ["T[N]", "P"]);
}

/// The function and the operators of the call that `main` makes in its first statement.
fn called(text: &str) -> (FuncId, Vec<DiffMode>, usize) {
    let mut program = valid(text);
    let functions = program.checked.program.funcs.len();
    let main = program.func("main");
    let body = program.checked.check_body(main).expect("`main` has a body").clone();
    let StmtKind::Let(_, Some(Expr { kind: ExprKind::Call(call), .. })) = &body.block[0].kind else {
        panic!("not a variable that holds the result of a call: {:?}", body.block[0]);
    };
    assert_eq!(program.checked.program.funcs.len(), functions, "checking a body declares nothing");
    (call.callee.func, call.diff.clone(), functions)
}

#[test]
fn the_chosen_overload_is_the_original_function() {
    // req: RES-03
    let overloads = "[Differentiable] float f(float x) { return x; }
        [Differentiable] float f(float2 x) { return x.x; }";
    let plain = called(&format!("{overloads}\nvoid main() {{ let y = f(float2(1.0, 2.0)); }}"));
    let derived = called(&format!(
        "{overloads}\nvoid main() {{ let y = fwd_diff(f)(diffPair(float2(1.0, 2.0), float2(1.0, 0.0))); }}"
    ));
    assert_eq!(plain.0, derived.0);
    assert_eq!((plain.1, derived.1), (vec![], vec![DiffMode::Forward]));
    // Translating the signatures of both overloads left no declaration behind.
    assert_eq!(plain.2, derived.2);
}

#[test]
fn both_operators_go_through_one_mechanism() {
    // req: RES-05
    use DiffMode::{Backward, Forward};
    let f = "[Differentiable] void f(inout float x) { x = x * x; }";
    let pair = "diffPair(2.0, 1.0)";
    let cases = [
        (vec![Forward], "fwd_diff(f)(a)"),
        (vec![Backward], "bwd_diff(f)(a)"),
        (vec![Forward, Forward], "fwd_diff(fwd_diff(f))(b)"),
        (vec![Backward, Forward], "fwd_diff(bwd_diff(f))(b)"),
        (vec![Forward, Backward], "bwd_diff(fwd_diff(f))(b)"),
        (vec![Backward, Backward], "bwd_diff(bwd_diff(f))(b)"),
    ];
    for (modes, call) in cases {
        let main = format!("void main() {{ var a = {pair}; var b = diffPair(a, {pair}); {call}; }}");
        let mut program = valid(&format!("{f}\n{main}"));
        let main = program.func("main");
        let body = program.checked.check_body(main).expect("`main` has a body").clone();
        let StmtKind::Expr(Expr { kind: ExprKind::Call(call), .. }) = &body.block[2].kind else {
            panic!("not a call: {:?}", body.block[2]);
        };
        assert_eq!((call.callee.func, &call.diff), (program.func("f"), &modes));
    }
}

#[test]
fn the_library_itself_says_what_its_derivatives_are() {
    // req: CUSTOM-18
    let mut program = valid("");
    for func in program.checked.program.funcs.keys() {
        program.checked.ensure_func(func);
    }
    let funcs = &program.checked.program.funcs;
    let has_rule = |name: &str| funcs.values().any(|f| f.name == name && f.diff.rule.is_some());
    for name in ["sin", "sqrt", "pow", "length", "normalize"] {
        assert!(has_rule(name), "{name}");
    }
    for func in funcs.values().filter_map(|f| f.diff.rule) {
        assert!(program.checked.is_library(func.func), "{}", funcs[func.func].name);
    }
}
