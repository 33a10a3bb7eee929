//! What is defined by itself, and what grows without end.

use crate::{body, each, survived, value};

#[test]
fn declarations_that_need_themselves() {
    survived(&[
        ("typedef", format!("typedef A B; typedef B A; {}", value("x"))),
        ("alias", format!("typealias A = B; typealias B = C; typealias C = A; A g; {}", value("x"))),
        ("field", format!("struct S {{ S s; float a; }}\n{}", body("S s; x = s.a;"))),
        ("fields", format!("struct A {{ B b; }}\nstruct B {{ A a[2]; }}\n{}", body("A a;"))),
        (
            "constant",
            format!("static const int A = B + 1; static const int B = A + 1; {}", body("float q[A];")),
        ),
        ("base", format!("struct A : B {{}}\nstruct B : A {{}}\n{}", body("A a;"))),
        (
            "interface",
            format!("interface I : J {{}} interface J : I {{}} struct S : I {{}}\n{}", body("S a;")),
        ),
        ("enumeration", format!("enum E {{ A = F.B }}\nenum F {{ B = E.A }}\n{}", body("int q = (int)E.A;"))),
        (
            "default argument",
            format!(
                "int g(int a = h()) {{ return a; }} int h(int a = g()) {{ return a; }}\n{}",
                body("int q = g();")
            ),
        ),
        (
            "initializer",
            format!("struct A {{ int x = B().y; }}\nstruct B {{ int y = A().x; }}\n{}", body("A a = {};")),
        ),
        ("generic default", format!("struct A<T = B<>> {{}}\nstruct B<T = A<>> {{}}\n{}", body("A<> a;"))),
        (
            "extension",
            format!(
                "interface I {{}} interface J {{}} extension<T : I> T : J {{}} extension<T : J> T : I {{}} \
                 struct S {{}}\nvoid g<T : I>(T t) {{}}\n{}",
                body("S s; g(s);")
            ),
        ),
        ("recursion", body("").replace("return x;", "return f(x + 1.0);")),
        (
            "property",
            format!(
                "struct A {{ property int x {{ get {{ return y; }} }} property int y {{ get {{ return x; }} }} }}\n{}",
                body("A a; int q = a.x;")
            ),
        ),
    ]);
}

#[test]
fn packs_without_end() {
    survived(&[
        (
            "longer",
            format!(
                "int g<each T>(int n, expand each T t) {{ return n == 0 ? 1 : g(n - 1, 1, expand each t); }}\n{}",
                body("int k = g(3, 1.0);")
            ),
        ),
        (
            "doubled",
            format!(
                "int g<each T>(int n, expand each T t) {{ return n == 0 ? 1 : g(n - 1, expand each t, expand each t); }}\n{}",
                body("int k = g(3, 1.0);")
            ),
        ),
        (
            "nested",
            format!(
                "int g<each T>(int n, expand each T t) {{ return n == 0 ? 1 : g(n - 1, expand makeTuple(each t, each t)); }}\n{}",
                body("int k = g(3, 1.0, 2.0);")
            ),
        ),
        (
            "gathered",
            format!(
                "int g<each T>(Tuple<expand each T> t) {{ return g(makeTuple(t, expand each t)); }}\n{}",
                body("int k = g(makeTuple(1.0));")
            ),
        ),
        (
            "alias",
            format!(
                "typealias A<each T> = B<expand each T, int>; typealias B<each T> = A<expand each T>; {}",
                body("A<int> a;")
            ),
        ),
        (
            "extension",
            format!(
                "interface I {{}} extension<each T> Tuple<expand each T> : I {{ int f() {{ return makeTuple(this, this).f(); }} }}\n{}",
                body("int k = makeTuple(1, 2).f();")
            ),
        ),
    ]);
}

#[test]
fn instances_without_end() {
    survived(&[
        (
            "arguments",
            format!(
                "struct W<T> {{ T t; }}\nint g<T>(T t, int n) {{ W<T> w; w.t = t; return n == 0 ? 1 : g(w, n - 1); }}\n{}",
                body("int k = g(1, 3);")
            ),
        ),
        ("fields", format!("struct R<T> {{ R<R<T>> r; }}\n{}", body("R<float> r;"))),
        (
            "aliases",
            format!(
                "struct R<T> {{ typealias N = R<R<T>>; static int d() {{ return N.d(); }} }}\n{}",
                body("int k = R<float>.d();")
            ),
        ),
        ("values", format!("int g<let N : int>() {{ return g<N + 1>(); }}\n{}", body("int k = g<0>();"))),
    ]);
}

// A plain function is called on what they return, so that the checker asks whether that carries a derivative.
#[test]
fn functions_that_call_each_other() {
    let next = |i: usize| (i + 1) % 60;
    let calls = each(60, |i| {
        let (i, next) = (i, next(i));
        format!(
            "[Differentiable] float g{i}(int n) {{ return n == 0 ? 1 : g{next}(n - 1) + g{next}(n - 2) + g0(n - 1) + g{}(0); }}\n",
            i / 2
        )
    });
    survived(&[(
        "cycle",
        format!("float plain(float x) {{ return x * x; }}\n{calls}{}", body("x = plain(g0(2)) * x;")),
    )]);
}

#[test]
fn nested_derivatives() {
    for result in ["float f2(float x) { return x * x; }", "void f2(inout float x) { x = x * x; }"] {
        let times = 12;
        let pair = format!("{}float{} p", "DifferentialPair<".repeat(times), ">".repeat(times));
        let call = format!("{}f2{}(p)", "fwd_diff(".repeat(times), ")".repeat(times));
        survived(&[("nested", format!("[Differentiable] {result}\n{}", body(&format!("{pair}; {call};"))))]);
    }
}

// Each link needs the one before twice, so that what the last stands for has 2^40 parts or more.
#[test]
fn doubling() {
    let chain = |first: &str, link: &dyn Fn(usize, usize) -> String, last: String| {
        format!("{first}\n{}{last}", each(40, |i| link(i + 1, i)))
    };
    survived(&[
        (
            "structures",
            chain(
                "struct S0 { float a; }",
                &|i, j| format!("struct S{i} {{ S{j} a; S{j} b; }}\n"),
                body("S40 s;"),
            ),
        ),
        (
            "differentials",
            chain(
                "struct S0 : IDifferentiable { float a; }",
                &|i, j| format!("struct S{i} : IDifferentiable {{ S{j} a; S{j} b; }}\n"),
                "[Differentiable] float f(S40 x) { return 1.0; }\n".into(),
            ),
        ),
        (
            "types",
            chain(
                "struct P<A, B> { A a; B b; }\ntypealias T0 = P<int, int>;",
                &|i, j| format!("typealias T{i} = P<T{j}, T{j}>;\n"),
                body("T40 t; t = 1;"),
            ),
        ),
        (
            "constants",
            chain(
                "static const int c0 = 1;",
                &|i, j| format!("static const int c{i} = (c{j} + c{j}) % 7;\n"),
                body("float q[c40];"),
            ),
        ),
        (
            "default arguments",
            chain(
                "int f0(int a = 1) { return a; }",
                &|i, j| format!("int f{i}(int a = f{j}() + f{j}()) {{ return a; }}\n"),
                body("int q = f40();"),
            ),
        ),
        (
            "inlined calls",
            chain(
                "[ForceInline] [Differentiable] float h0(float x) { return x + 1.0; }",
                &|i, j| {
                    format!(
                        "[ForceInline] [Differentiable] float h{i}(float x) {{ return h{j}(x) + h{j}(x); }}\n"
                    )
                },
                value("x > 100.0 ? h40(x) : x"),
            ),
        ),
        (
            "orders",
            chain(
                "[Differentiable] float g0(float x) { return sin(x) * exp(x); }",
                &|i, j| {
                    format!(
                        "[Differentiable] float g{i}(float x) {{ return fwd_diff(g{j})(diffPair(x, 1.0)).d; }}\n"
                    )
                },
                value("g20(x)"),
            ),
        ),
    ]);
}

#[test]
fn loops_without_end() {
    survived(&[
        ("while", body("while (true) { x += 1.0; }")),
        ("long", body("for (int i = 0; i < 2000000000; i++) x += 1.0;")),
        (
            "unrolled",
            body(
                "[ForceUnroll] for (int i = 0; i < 1000; i++) [ForceUnroll] for (int j = 0; j < 1000; j++) x += 1.0;",
            ),
        ),
        ("bounded", body("[MaxIters(2000000000)] for (int i = 0; i < (int)x; i++) x = x * x;")),
    ]);
}
