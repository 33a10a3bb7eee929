//! What an editor asks about a program.

use cotangent_base::{Diagnostics, FileId, Files, Sources, Span};
use cotangent_sema::hir::ExprKind;
use cotangent_sema::{Checked, Input, Meaning, check};
use std::path::Path;

const PROGRAM: &str = "\
struct Ball { float radius; float area() { return 3.0 * radius * radius; } }
float scaled(float x) { return x * 2.0; }
float scaled(float2 v) { return v.x; }
enum Kind { First, Second }
static const float K = 4.0;
float main_(Ball ball, float2 v)
{
    float k = ball.radius + K;
    let f = (float y) => y * k;
    float total = ball.area() + scaled(v) + f(k);
    return total;
}
Kind kind() { return Kind.Second; }
";

fn program() -> (Checked, FileId) {
    let (checked, file) = checked(PROGRAM);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    (checked, file)
}

fn checked(text: &str) -> (Checked, FileId) {
    let (mut sources, mut diagnostics) = (Sources::new(), Diagnostics::new());
    let mut inputs = vec![];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../std");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "slang"));
    paths.sort();
    let mut parse = |sources: &mut Sources, file| {
        cotangent_syntax::parse(sources, &Files(&[]), file, &[], Default::default(), &mut diagnostics)
    };
    for path in paths {
        let file = sources.add_library(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        inputs.push(Input::library(file, parse(&mut sources, file)));
    }
    let file = sources.add("a.slang".to_string(), text.to_string());
    inputs.push(Input::module(file, parse(&mut sources, file)));
    (check(inputs), file)
}

/// The offset of `word` in the `number`th line, counted from 1.
fn offset(number: usize, word: &str) -> u32 {
    let before: usize = PROGRAM.lines().take(number - 1).map(|line| line.len() + 1).sum();
    (before + PROGRAM.lines().nth(number - 1).unwrap().find(word).unwrap()) as u32
}

fn line(span: Span) -> usize {
    PROGRAM[..span.start as usize].lines().count().max(1)
        + usize::from(PROGRAM[..span.start as usize].ends_with('\n'))
}

fn text(span: Span) -> &'static str {
    &PROGRAM[span.start as usize..span.end as usize]
}

#[test]
fn names_lead_to_their_declarations() {
    let (checked, file) = program();
    // Where a name stands, the line that declares it, and what is written there.
    let cases = [
        ((8, "ball.radius"), 6, "ball"),
        ((8, "radius"), 1, "radius"),
        ((8, "K;"), 5, "K"),
        ((9, "k;"), 8, "k"),
        ((9, "y * k"), 9, "y"),
        ((10, "area"), 1, "area"),
        ((10, "scaled"), 3, "scaled"),
        ((10, "f(k)"), 9, "f"),
        ((11, "total"), 10, "total"),
        ((6, "Ball"), 1, "Ball"),
        ((1, "radius * radius"), 1, "radius"),
        ((13, "Kind kind"), 4, "Kind"),
        ((13, "Second"), 4, "Second"),
    ];
    for ((number, word), declared, name) in cases {
        let found = checked.use_at(file, offset(number, word));
        let found = found.unwrap_or_else(|| panic!("nothing is known of `{word}` in line {number}"));
        assert_eq!((line(found.declared), text(found.declared)), (declared, name), "{word}: {found:?}");
        assert_eq!(text(found.span), name, "{word}");
    }
    assert!(
        checked.use_at(file, offset(8, "float")).is_some_and(|f| matches!(f.meaning, Meaning::Struct(_)))
    );
    assert_eq!(checked.use_at(file, offset(8, "=")), None);
}

#[test]
fn all_references_of_a_variable_are_found_also_in_lambdas() {
    let (checked, file) = program();
    let k = checked.use_at(file, offset(10, "k)")).unwrap();
    let lines: Vec<usize> = checked.references(k.declared).map(line).collect();
    assert_eq!(lines, [9, 10]);
    let radius = checked.use_at(file, offset(8, "radius")).unwrap();
    assert_eq!(checked.references(radius.declared).map(line).collect::<Vec<_>>(), [1, 1, 8]);
}

#[test]
fn the_innermost_expression_at_a_place_is_found() {
    let (checked, file) = program();
    let at = |number, word| {
        let place = checked.expr_at(file, offset(number, word)).unwrap();
        let expr = place.body.expr(place.expr);
        assert_eq!(expr.id, place.expr);
        (text(expr.span), checked.show(expr.ty), expr.kind.clone())
    };
    assert!(matches!(at(8, "ball.radius"), ("ball", ty, ExprKind::Local(_)) if ty == "Ball"));
    assert!(matches!(at(8, "radius"), ("ball.radius", ty, ExprKind::Field(..)) if ty == "float"));
    assert!(matches!(at(10, "scaled"), ("scaled(v)", ty, ExprKind::Call(_)) if ty == "float"));
    assert!(matches!(at(9, "y * k"), ("y", _, ExprKind::Local(_))));
    assert!(matches!(at(9, "* k"), ("y * k", _, ExprKind::Binary(..))));
    assert!(matches!(at(5, "4.0"), ("4.0", _, ExprKind::Const(_))));
    assert!(checked.expr_at(file, offset(4, "First")).is_none());
}

#[test]
fn a_declaration_is_found_at_its_own_name() {
    let (checked, file) = program();
    let uses = |number, word| {
        let found = checked.name_at(file, offset(number, word)).unwrap_or_else(|| panic!("{word}"));
        assert_eq!(found.span, found.declared, "{word}");
        (found.meaning, checked.references(found.declared).map(line).collect::<Vec<_>>())
    };
    assert!(matches!(uses(1, "Ball"), (Meaning::Struct(_), lines) if lines == [6]));
    assert!(matches!(uses(1, "radius;"), (Meaning::Field, lines) if lines == [1, 1, 8]));
    assert!(matches!(uses(1, "area"), (Meaning::Func(_), lines) if lines == [10]));
    assert!(matches!(uses(2, "scaled"), (Meaning::Func(_), lines) if lines.is_empty()));
    assert!(matches!(uses(3, "scaled"), (Meaning::Func(_), lines) if lines == [10]));
    assert!(matches!(uses(3, "v)"), (Meaning::Local, lines) if lines == [3]));
    assert!(matches!(uses(4, "First"), (Meaning::Case(_), lines) if lines.is_empty()));
    assert!(matches!(uses(5, "K"), (Meaning::Global(_), lines) if lines == [8]));
    assert!(matches!(uses(8, "k "), (Meaning::Local, lines) if lines == [9, 10]));
    assert_eq!(checked.name_at(file, offset(7, "{")), None);
}

#[test]
fn names_have_types() {
    let (checked, file) = program();
    let shown = |number, word| {
        let found = checked.name_at(file, offset(number, word)).unwrap_or_else(|| panic!("{word}"));
        checked.type_of(&found).map(|ty| checked.show(ty))
    };
    for ((number, word), ty) in [
        ((8, "ball.radius"), "Ball"),
        ((8, "radius"), "float"),
        ((8, "K;"), "float"),
        ((8, "k "), "float"),
        ((9, "y * k"), "float"),
        ((6, "v)"), "float2"),
        ((10, "area"), "float"),
        ((13, "kind"), "Kind"),
        ((13, "Second"), "int"),
    ] {
        assert_eq!(shown(number, word).as_deref(), Some(ty), "{word} in line {number}");
    }
    assert_eq!(shown(6, "Ball"), None);
}

#[test]
fn programs_with_errors_are_answered_for_what_is_right_in_them() {
    let broken = PROGRAM.replace("float total = ball.area()", "float total = ball.nothing()");
    let (checked, file) = checked(&broken);
    assert!(checked.diagnostics.has_errors());
    let at = |word: &str| broken.find(word).expect("the program has it") as u32;
    // Before the mistake, in its statement, and after it.
    let radius = checked.name_at(file, at("radius + K")).expect("it is a name");
    assert_eq!(checked.type_of(&radius).map(|ty| checked.show(ty)).as_deref(), Some("float"));
    let v = checked.name_at(file, at("v) + f(k)")).expect("it is a name");
    assert_eq!(checked.type_of(&v).map(|ty| checked.show(ty)).as_deref(), Some("float2"));
    let total = checked.name_at(file, at("total;")).expect("it is a name");
    assert_eq!(&broken[total.declared.start as usize..total.declared.end as usize], "total");
    assert_eq!(checked.references(total.declared).count(), 1);
    let place = checked.expr_at(file, at("total;")).expect("there is an expression");
    assert_eq!(checked.show(place.body.expr(place.expr).ty), "float");
    let wrong = checked.expr_at(file, at("nothing")).expect("there is an expression");
    assert!(wrong.body.exprs().len() > 1);
}
