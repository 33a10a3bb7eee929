//! What the lexer and the preprocessor must get through: macros, includes, and everything without its end.

use crate::{body, each, survived, taken, value};

#[test]
fn macros() {
    let doubling = |first: &str, link: &dyn Fn(usize, usize) -> String, last: &str| {
        format!("{first}\n{}{}", each(50, |i| link(i + 1, i)), value(last))
    };
    survived(&[
        ("bomb", doubling("#define A0 x + x", &|i, j| format!("#define A{i} A{j} A{j}\n"), "A50")),
        (
            "bomb with arguments",
            doubling("#define F0(x) x x", &|i, j| format!("#define F{i}(x) F{j}(F{j}(x))\n"), "F50(x)"),
        ),
        (
            "long strings",
            doubling("#define Q0(x) #x", &|i, j| format!("#define Q{i}(x) Q{j}(x x)\n"), "Q50(a)"),
        ),
        (
            "argument",
            format!(
                "#define D(x) x x x x x x x x x x\n{}",
                value(&format!("{}1{}", "D(".repeat(10), ")".repeat(10)))
            ),
        ),
        ("cycle", format!("#define A B\n#define B C\n#define C A\n{}", value("A"))),
        (
            "nested uses",
            format!("#define F(x) x\n{}", value(&format!("{}1{}", "F(".repeat(10_000), ")".repeat(10_000)))),
        ),
        ("condition", format!("#if {}1{}\n#endif\n{}", "(".repeat(100_000), ")".repeat(100_000), value("x"))),
        (
            "conditionals",
            format!("{}{}{}", "#if 1\n".repeat(100_000), "#endif\n".repeat(100_000), value("x")),
        ),
    ]);
    taken(&[
        ("flat condition", format!("#if {}\n#endif\n{}", ["1"; 10_000].join(" + "), value("x"))),
        ("splices", format!("{}{}", "\\\n".repeat(500_000), value("x"))),
        ("empty directives", format!("{}{}", "#\n".repeat(300_000), value("x"))),
    ]);
}

#[test]
fn includes() {
    survived(&[
        ("itself", "#include \"hostile.slang\"\n".into()),
        ("itself twice", "#include \"hostile.slang\"\n#include \"hostile.slang\"\n".into()),
        ("folders", format!("#include \".\"\n#include \"/\"\n#include \"\"\n{}", value("x"))),
        ("a long path", format!("import {}a;\n{}", "a.".repeat(10_000), value("x"))),
    ]);
    taken(&[("once", format!("#pragma once\n#include \"hostile.slang\"\n{}", value("x")))]);
    survived(&[("import itself", format!("import hostile;\n{}", value("x")))]);
}

#[test]
fn without_end() {
    for (name, text) in [
        ("comment", "/* "),
        ("string", "static const String s = \"abc;"),
        ("character", "static const int c = 'a;"),
        ("raw string", "static const String s = R\"x(abc;"),
        ("parameters", "void g("),
        ("structure", "struct S { int a;"),
        ("conditional", "#if 1\nint g;"),
        ("macro arguments", "#define F(x) x\nstatic const int y = F(1;"),
        ("generic arguments", "vector<float, 3 v;"),
        ("attribute", "[numthreads(1, 1, 1 void g() {}"),
        ("backslash", "\\"),
    ] {
        survived(&[(name, format!("{}{text}", value("x"))), ("alone", text.into())]);
    }
    survived(&[
        ("raw strings", "R\"a(\n".repeat(100_000)),
        ("raw delimiters", "R\"".repeat(100_000)),
        ("comments", "/*\n".repeat(300_000)),
        ("quotes", "\"\n".repeat(100_000)),
        ("brackets", body(&"([{".repeat(30_000))),
    ]);
}

#[test]
fn mistakes() {
    survived(&[
        ("unknown names", each(10_000, |i| format!("float g{i}() {{ return zz{i}; }}\n"))),
        ("unknown types", each(10_000, |i| format!("Zz{i} g{i}() {{ return 1; }}\n"))),
        ("on one line", body(&"zz;".repeat(20_000))),
        ("warnings", body(&format!("int k = 0; {}", "k = 1.5;\n".repeat(20_000)))),
        ("attributes", format!("{}void g() {{}}\n", "[a]".repeat(100_000))),
        ("modifiers", format!("{}int a;", "static ".repeat(100_000))),
        ("no statements", format!("void g() {{ {} }}", "a b c;".repeat(100_000))),
        ("a long name", value(&"x".repeat(1_000_000))),
    ]);
}
