//! Tests of the preprocessor's output, as text.

use super::*;
use crate::token::Flags;
use cotangent_base::Files;

/// The preprocessed text on one line, and the codes of what is wrong with it.
fn run_with(
    text: &str,
    files: &'static [(&'static str, &'static str)],
    defines: &[(&str, &str)],
) -> (String, Vec<&'static str>) {
    let mut sources = Sources::new();
    let file = sources.add("main.slang", text);
    let mut diags = Diagnostics::new();
    let defines: Vec<_> = defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let stream = preprocess(&mut sources, &Files(files), file, &defines, &mut diags);
    let mut out = String::new();
    for token in &stream.tokens {
        if token.flags.has(Flags::SPACE) && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(token.spelling());
    }
    (out.trim().into(), diags.iter().map(|d| d.code.name).collect())
}

/// The preprocessed text, which must be without fault.
fn run(text: &str) -> String {
    let (out, codes) = run_with(text, &[], &[]);
    assert!(codes.is_empty(), "{codes:?} in {text}");
    out
}

#[test]
fn macros_stand_for_their_bodies() {
    assert_eq!(run("#define N 16\n#define M (N + N)\nM N"), "(16 + 16) 16");
    assert_eq!(run("#define EMPTY\na EMPTY b"), "a b");
    assert_eq!(run("#define N 1\n#undef N\nN"), "N");
}

#[test]
fn macros_take_arguments() {
    assert_eq!(run("#define F(a, b) b a\nF(1, 2) F((1, 2), 3)"), "2 1 3 (1, 2)");
    assert_eq!(run("#define F(x) [x]\nF\n(\n1\n) F F()"), "[1] F []");
    assert_eq!(run("#define F() x\n#define G (1)\nF() F G"), "x F (1)");
    assert_eq!(run("#define F (x)\nF(1)"), "(x)(1)");
    assert_eq!(run("#define ID(x) x\n#define F(x) x * 2\nID(F(ID(3)))"), "3 * 2");
}

#[test]
fn a_macro_does_not_expand_itself_again() {
    assert_eq!(run("#define x x + 1\nx"), "x + 1");
    assert_eq!(run("#define a b\n#define b a\na b"), "a b");
    assert_eq!(run("#define f(x) f(x + 1)\nf(f(2))"), "f(f(2 + 1) + 1)");
}

#[test]
fn the_examples_of_the_c_standard() {
    let defines = "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n#define h g(~\n\
                   #define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n#define q(x) x\n#define r(x,y) x ## y\n\
                   #define str(x) # x\n";
    let text = |line: &str| run(&format!("{defines}{line}"));
    assert_eq!(
        text("f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);"),
        "f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);"
    );
    assert_eq!(text("g(x+(3,4)-w)"), "f(2 * (2+(3,4)-0,1))");
    assert_eq!(text("h 5) & m(f)^m(m);"), "f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);");
    assert_eq!(text("p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };"), "int i[] = { 1, 23, 4, 5, };");
    assert_eq!(text("str(\"a\\n\" + 'b')"), r#""\"a\\n\" + 'b'""#);
}

#[test]
fn pasting_makes_one_token() {
    assert_eq!(run("#define GLUE(a, b) a##b\nGLUE(x, 1) GLUE(1, .5) GLUE(<, <) GLUE(, y)"), "x1 1.5 << y");
    assert_eq!(run("#define T(n) float##n##x##n\nT(3)"), "float3x3");
    assert_eq!(run("#define AB 7\n#define G(a, b) a##b\nG(A, B)"), "7");
}

#[test]
fn the_rest_of_the_arguments_has_a_name() {
    assert_eq!(run("#define F(a, ...) a(__VA_ARGS__)\nF(f, 1, 2) F(g)"), "f(1, 2) g()");
    assert_eq!(run("#define P(s, ...) p(s, ##__VA_ARGS__)\nP(1) P(1, 2, 3)"), "p(1) p(1,2, 3)");
    assert_eq!(run("#define N(rest...) {rest}\nN(1, 2)"), "{1, 2}");
}

#[test]
fn conditions_choose() {
    let choose = |condition: &str| {
        run(&format!("#define A 1\n#define B 0x10\n#if {condition}\nyes\n#else\nno\n#endif"))
    };
    for truth in [
        "defined(A) && !defined C",
        "A + B == 17",
        "B >> 2 & 4",
        "C == 0",
        "1 ? A : 1 / 0",
        "-1 < 0",
        "~0 == -1",
        "(1 + 2) * 3 % 5 == 4",
        "'a' == 97",
        "1 || 1 / 0",
        "__SLANG__",
        "!true",
        "2 - 1 - 1 == 0",
        "__HLSL_VERSION == 2018",
    ] {
        assert_eq!(choose(truth), "yes", "{truth}");
    }
    for lie in ["0", "A == 2", "!A", "defined(X)", "A && C", "false", "1 != 1"] {
        assert_eq!(choose(lie), "no", "{lie}");
    }
}

#[test]
fn only_one_branch_of_a_conditional_is_kept() {
    let branches = "#if A\na\n#elif B\nb\n#elif C\nc\n#else\nd\n#endif";
    let with = |names: &[&str]| {
        let defines: String = names.iter().map(|n| format!("#define {n} 1\n")).collect();
        run(&format!("{defines}{branches}"))
    };
    assert_eq!(
        (with(&["A", "B"]), with(&["B", "C"]), with(&["C"]), with(&[])),
        ("a".into(), "b".into(), "c".into(), "d".into())
    );
    assert_eq!(run("#if 0\n#if 1\na\n#else\nb\n#endif\n#error no\n#bogus 'x\n\"\n#else\nc\n#endif"), "c");
    assert_eq!(run("#ifndef A\n#define A\n#ifdef A\nx\n#endif\n#endif"), "x");
}

#[test]
fn files_are_included_and_their_tokens_point_into_them() {
    const FILES: &[(&str, &str)] =
        &[("a.slang", "#pragma once\n#include <b.slang>\nint a;"), ("b.slang", "#define B 2\nint b;")];
    let (out, codes) = run_with(
        "#include \"a.slang\"\n#include \"a.slang\"\n#define F <b.slang>\n#include F\nB",
        FILES,
        &[],
    );
    assert_eq!((out.as_str(), codes.len()), ("int b; int a; int b; 2", 0));
    let mut sources = Sources::new();
    let main = sources.add("main.slang", "#include \"b.slang\"\nB");
    let stream = preprocess(&mut sources, &Files(FILES), main, &[], &mut Diagnostics::new());
    assert_eq!(sources.place(stream.tokens[0].span), "b.slang:2:1");
    assert_eq!(sources.place(stream.tokens[3].span), "main.slang:2:1", "a macro's token points to its use");
}

#[test]
fn definitions_come_from_outside_too() {
    assert_eq!(run_with("N M", &[], &[("N", "16"), ("M", "")]).0, "16");
    assert_eq!(run_with("F(3)", &[], &[("F(x)", "x\n+ 1")]).0, "3 + 1");
}

#[test]
fn line_and_file_are_those_of_the_use() {
    assert_eq!(run("#define HERE __FILE__ __LINE__\n\nHERE\n__LINE__"), "\"main.slang\" 3 4");
    let renumbered = "#line 100 \"o.slang\"\n__LINE__ __FILE__\n#define N 7\n#line N\n__LINE__ __FILE__";
    assert_eq!(run(renumbered), "100 \"o.slang\" 7 \"o.slang\"");
    assert_eq!(run_with("#line x\n__LINE__", &[], &[]), ("2".into(), vec!["E0110"]));
}

#[test]
fn the_version_of_the_language_is_noted() {
    let mut sources = Sources::new();
    let version = |sources: &mut Sources, text: &str| {
        let file = sources.add("x", text);
        preprocess(sources, &Files(&[]), file, &[], &mut Diagnostics::new()).version
    };
    assert_eq!(version(&mut sources, "#language slang 2026\nint x;"), Some(Version::V2026));
    assert_eq!(version(&mut sources, "#lang 2025"), Some(Version::V2025));
    assert_eq!(version(&mut sources, "int x;"), None);
}

#[test]
fn hostile_input_ends_with_a_diagnostic() {
    // Each macro doubles the one before.
    let mut doubling = String::from("#define A0 x x\n");
    (1..40).for_each(|i| doubling.push_str(&format!("#define A{i} A{} A{}\n", i - 1, i - 1)));
    assert_eq!(run_with(&format!("{doubling}A39"), &[], &[]).1, ["E0119"]);
    // A chain of macros.
    let mut chain = String::from("#define A0 x\n");
    (1..5000).for_each(|i| chain.push_str(&format!("#define A{i} A{}\n", i - 1)));
    assert_eq!(run_with(&format!("{chain}A4999"), &[], &[]).1, ["E0119"]);
    // Uses nested in arguments.
    let nested = format!("#define F(x) x\n{}1{}", "F(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(run_with(&nested, &[], &[]).1, ["E0119"]);
    // A condition of parentheses.
    let condition = format!("#if {}1{}\n#endif", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(run_with(&condition, &[], &[]).1, ["E0114"]);
    // Files that include themselves, once and twice.
    const LOOP: &[(&str, &str)] = &[("l", "#include \"l\"\n"), ("t", "#include \"t\"\n#include \"t\"\n")];
    assert_eq!(run_with("#include \"l\"", LOOP, &[]).1, ["E0116"]);
    assert_eq!(run_with("#include \"t\"", LOOP, &[]).1, ["E0116"]);
}
