//! Tests of `Differential` types, synthesized and user-defined.

use super::{problems, valid};

#[test]
fn a_structure_of_differentiable_fields_is_its_own_differential() {
    // req: TYPE-16, TYPE-17
    let mut program = valid("struct Ray : IDifferentiable { float3 origin; float3 dir; }");
    assert_eq!(program.differential("Ray"), "Ray");
}

#[test]
fn a_structure_with_other_fields_gets_a_differential_without_them() {
    // req: TYPE-18, TYPE-33, TYPE-34
    let mut program = valid("struct P : IDifferentiable { float x; uint y; no_diff float z; float2 w; }");
    assert_eq!(program.differential("P"), "P.Differential");
    assert_eq!(program.fields("P.Differential"), "float x, float2 w");
}

#[test]
fn a_made_differential_is_its_own_differential() {
    // req: TYPE-20
    let mut program = valid("struct P : IDifferentiable { float x; uint y; }");
    program.differential("P");
    assert_eq!(program.differential("P.Differential"), "P.Differential");
}

#[test]
fn differentials_do_not_depend_on_the_order_of_declarations() {
    // req: TYPE-24
    let mut program =
        valid("struct A : IDifferentiable { B b; };\nstruct B : IDifferentiable { float x; int n; }");
    assert_eq!(program.differential("A"), "A.Differential");
    assert_eq!(program.fields("A.Differential"), "B.Differential b");
}

#[test]
fn a_structure_that_does_not_say_so_has_no_differential() {
    // req: TYPE-02
    let mut program = valid("struct S { float x; }");
    assert_eq!(program.differential("S"), "none");
}

#[test]
fn an_extension_makes_a_structure_differentiable() {
    // req: TYPE-32
    let mut program = valid("struct P { float x; }\nextension P : IDifferentiable {}");
    assert_eq!(program.differential("P"), "P");
}

#[test]
fn the_differential_of_a_generic_structure_has_the_fields_its_constraints_make_differentiable() {
    // req: GEN-05
    let mut program = valid(
        "struct Foo<T : IDifferentiable, U> : IDifferentiable { T t; U u; }
         struct Bar : IDifferentiable { Foo<float, float> foo; }",
    );
    assert_eq!(program.differential("Bar"), "Bar.Differential");
    assert_eq!(program.fields("Foo.Differential"), "T.Differential t");
    assert_eq!(program.fields("Bar.Differential"), "Foo.Differential<float, float> foo");
}

#[test]
fn members_of_a_made_differential_have_the_names_of_the_fields() {
    // req: TYPE-19, TYPE-36
    valid(
        "struct P : IDifferentiable { float x; uint y; }
         float f() { P.Differential d; d.x = 1.0; return d.x; }",
    );
}

#[test]
fn a_differential_may_be_chosen_and_its_fields_tied() {
    // req: TYPE-26, TYPE-27, TYPE-30
    let mut program = valid(
        "struct RayD : IDifferentiable { float3 d_origin; float3 d_dir; }
         struct Ray : IDifferentiable
         {
             typealias Differential = RayD;
             [DerivativeMember(RayD.d_origin)] float3 origin;
             [DerivativeMember(RayD.d_dir)] float3 dir;
             no_diff float t;
         }",
    );
    assert_eq!(program.differential("Ray"), "RayD");
}

#[test]
fn a_chosen_differential_must_be_differentiable() {
    // req: TYPE-04, DIAG-11
    let text = "struct D { float dx; }
        struct S : IDifferentiable { typealias Differential = D; [DerivativeMember(D.dx)] float x; }";
    assert_eq!(problems(text), ["E0509 IDifferentiable"]);
}

#[test]
fn a_chosen_differential_must_be_its_own() {
    // req: TYPE-05, DIAG-12
    let text = "struct D : IDifferentiable { float dx; int n; }
        struct S : IDifferentiable { typealias Differential = D; [DerivativeMember(D.dx)] float x; }";
    assert_eq!(problems(text), ["E0510 IDifferentiable"]);
}

#[test]
fn a_tie_must_name_a_field_of_the_right_type() {
    // req: DIAG-19
    let text = "struct D : IDifferentiable { float dx; float2 dy; }
        struct S : IDifferentiable
        {
            typealias Differential = D;
            [DerivativeMember(D.nothing)] float x;
            [DerivativeMember(D.dy)] float y;
        }";
    assert_eq!(problems(text), ["E0513 x", "E0513 y"]);
}

#[test]
fn a_field_without_tie_is_an_error_if_the_differential_was_chosen() {
    // req: TYPE-29
    let text = "struct D : IDifferentiable { float db; }
        struct S : IDifferentiable { typealias Differential = D; float a; [DerivativeMember(D.db)] float b; }";
    assert_eq!(problems(text), ["E0516 a"]);
}

#[test]
fn pairs_are_of_differentiable_types_only() {
    // req: DIAG-10, OP-13, TYPE-13
    assert_eq!(problems("void f(DifferentialPair<uint> p) {}"), ["E0508 DifferentialPair<uint>"]);
}

#[test]
fn the_differential_of_a_pair_is_a_pair() {
    // req: TYPE-35
    let mut program = valid(
        "struct S : IDifferentiable { float x; int n; }
         struct P : IDifferentiable { DifferentialPair<S> pair; }",
    );
    program.differential("P");
    assert_eq!(program.fields("P.Differential"), "DifferentialPair<S.Differential> pair");
}

#[test]
fn an_array_is_differentiable_if_its_elements_are() {
    // req: TYPE-14
    let mut program = valid(
        "struct S : IDifferentiable { float x; int n; }
         struct A : IDifferentiable { S s[2]; float f[4]; int i[3]; }",
    );
    program.differential("A");
    assert_eq!(program.fields("A.Differential"), "S.Differential[2] s, float[4] f");
}

#[test]
fn a_tuple_is_differentiable_if_its_members_are() {
    // req: TYPE-15
    let mut program = valid(
        "struct S : IDifferentiable { float x; int n; }
         struct T : IDifferentiable { Tuple<float, S> t; Tuple<int, float> u; }",
    );
    program.differential("T");
    assert_eq!(program.fields("T.Differential"), "Tuple<float, S.Differential> t");
}
