//! What is long.

use crate::{body, each, survived, taken, value};

#[test]
fn lines() {
    taken(&[
        ("a long comment", format!("//{}\n{}", "x".repeat(10_000_000), value("x"))),
        ("many comments", format!("{}{}", "// a comment of some words\n".repeat(370_000), value("x"))),
        ("many semicolons", format!("{}{}", ";".repeat(1_000_000), value("x"))),
        ("a long string", format!("static const String s = \"{}\";\n{}", "a".repeat(1_000_000), value("x"))),
        ("many strings", format!("static const String s = {};\n{}", "\"a\" ".repeat(100_000), value("x"))),
    ]);
    survived(&[
        ("ten megabytes on a line", body(&"x = x + 1.0;".repeat(830_000))),
        (
            "ten megabytes of functions",
            each(250_000, |i| format!("float g{i}(float x) {{\n return x * {i}.0;\n}}\n")),
        ),
    ]);
}

#[test]
fn bodies() {
    let chain = |n: usize| each(n, |i| format!("float v{} = v{i} * 1.0001;\n", i + 1));
    taken(&[
        ("statements", body(&"x = x + 1.0;\n".repeat(50_000))),
        ("variables", body(&each(20_000, |i| format!("float v{i} = x * 2.0;\n")))),
        ("variables in one", body(&format!("float {}last;", each(20_000, |i| format!("a{i}, "))))),
        ("a chain", body(&format!("float v0 = x;\n{} x = v5000;", chain(5000)))),
        (
            "parameters",
            format!(
                "float g({}float last) {{ return last; }}\n{}",
                each(2000, |i| format!("float a{i}, ")),
                body(&format!("float y = no_diff g({}1.0);", "1.0, ".repeat(2000))),
            ),
        ),
    ]);
}

// Deferred statements are repeated at every exit, and so is what they defer.
#[test]
fn deferred_statements() {
    let defers = |n: usize| each(n, |i| format!("defer x += {i}.0; "));
    let exits = |n: usize| each(n, |i| format!("if (x == {i}.0) return 1.0; "));
    let nested = |n: usize| {
        let inside = each(n, |_| "for (int i = 0; i < 3; i++) { defer { ".into());
        format!("{inside} x += 1.0; {}", "} if (x > 1) continue; if (x > 2) break; }".repeat(n))
    };
    taken(&[
        ("many", body(&defers(2000))),
        ("some of both", body(&format!("{}{}", defers(50), exits(50)))),
        ("nested a little", body(&nested(3))),
    ]);
    survived(&[("many of both", body(&format!("{}{}", defers(500), exits(500))))]);
    let long = each(300, |i| format!("x = sin(x * {i}.0 + cos(x)) * 2.0 + x; "));
    let exits = |n: usize| each(n, |i| format!("if (x > {i}.0) break; "));
    let nest = (0..9).fold(long.clone(), |inner, _| {
        format!("while (x < 9.0) {{ defer {{ {inner} }} if (x > 2.0) break; }}")
    });
    survived(&[
        ("a long one", body(&format!("while (x < 9.0) {{ defer {{ {long} }} {} }}", exits(3000)))),
        ("a long one in nine", body(&nest)),
    ]);
}

#[test]
fn programs() {
    let function =
        |i: usize, j: usize| format!("[Differentiable] float g{i}(float x) {{ return g{j}(x) * 1.0001; }}\n");
    let first = "[Differentiable] float g0(float x) { return x * 2.0; }\n";
    taken(&[
        (
            "functions",
            format!(
                "{}{}",
                each(20_000, |i| format!("float g{i}(float x) {{ return x * {i}.0; }}\n")),
                value("x")
            ),
        ),
        ("calls", format!("{first}{}{}", each(1000, |i| function(i + 1, i)), value("g1000(x)"))),
        (
            "calls, backwards",
            format!("{}{first}{}", each(1000, |i| function(1000 - i, 999 - i)), value("g1000(x)")),
        ),
        (
            "constants",
            format!(
                "static const int c0 = 1;\n{}{}",
                each(3000, |i| format!("static const int c{} = c{i} + 1;\n", i + 1)),
                body("float q[c3000]; q[0] = x;")
            ),
        ),
        (
            "constants, backwards",
            format!(
                "{}static const int c0 = 1;\n{}",
                each(1000, |i| format!("static const int c{} = c{} + 1;\n", 1000 - i, 999 - i)),
                body("float q[c1000]; q[0] = x;")
            ),
        ),
        (
            "aliases, backwards",
            format!(
                "{}typealias A0 = int;\n{}",
                each(1000, |i| format!("typealias A{} = A{};\n", 1000 - i, 999 - i)),
                body("A1000 q;")
            ),
        ),
        (
            "interfaces",
            format!(
                "interface I0 {{}}\n{}struct S : I500 {{}}\n{}",
                each(500, |i| format!("interface I{} : I{i} {{}}\n", i + 1)),
                body("S s;")
            ),
        ),
        (
            "overloads",
            format!(
                "{}{}",
                each(1000, |i| format!("struct Z{i} {{}}\nint q(Z{i} a, int b) {{ return 1; }}\n")),
                body(&"{ Z7 z; int k = q(z, 1); }".repeat(100))
            ),
        ),
    ]);
}
