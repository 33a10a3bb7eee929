//! Snapshots of trees: what each construct parses to. `UPDATE_EXPECT=1` rewrites them.

use crate::support::{self, Parsed};
use cotangent_syntax::ast::{self, Decl, DeclKind, dump};
use expect_test::{Expect, expect};

/// Parses declarations and compares the dump and the diagnostics, of which there should be none.
fn check(text: &str, expected: Expect) {
    let parsed = support::parse(text);
    expected.assert_eq(&format!("{}{}", dump::file(&parsed.file), parsed.messages()));
}

/// The dump of an expression.
fn expr(text: &str) -> String {
    let parsed = support::parse(&format!("static int x = {text};"));
    assert_eq!(parsed.messages(), "", "{text}");
    let DeclKind::Var(var) = &parsed.file.decls[0].kind else { panic!("{text} is no initializer") };
    dump::expr(var.init.as_ref().expect("the initializer"))
}

/// The dumps of the statements of a function.
fn stmts(text: &str, expected: Expect) {
    let parsed = support::parse(&format!("void f() {{\n{text}\n}}"));
    let dump = dump::file(&parsed.file);
    let body: String = dump.lines().skip(1).map(|l| format!("{}\n", &l[2..])).collect();
    expected.assert_eq(&format!("{body}{}", parsed.messages()));
}

#[test]
fn operators_bind_as_in_c() {
    let cases = [
        ("a + b * c - d", "(- (+ a (* b c)) d)"),
        ("a << 1 + b < c", "(< (<< a (+ 1:i32 b)) c)"),
        ("a & b == c | d ^ e", "(| (& a (== b c)) (^ d e))"),
        ("a || b && c", "(|| a (&& b c))"),
        ("a = b += c ? d : e = f", "(= a (+= b (? c d (= e f))))"),
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("-a.b++ * !c", "(* (- (_++ (. a b))) (! c))"),
        ("*p + &q", "(+ (deref p) (address q))"),
        ("~-+x", "(~ (- (+ x)))"),
        ("(a, b)", "(paren (, a b))"),
        ("x is Foo && y as Bar == none", "(&& (is x Foo) (== (as y Bar) none))"),
    ];
    for (text, tree) in cases {
        assert_eq!(expr(text), tree, "{text}");
    }
}

#[test]
fn postfix_operators_chain() {
    assert_eq!(expr("a.b[i, j](x, y,).c->d"), "(-> (. (call (index (. a b) i j) x y) c) d)");
    assert_eq!(expr("a::b::c(1)"), "(call (. (. a b) c) 1:i32)");
    assert_eq!(expr("1.0f.xxx"), "(. 1.0:f32 xxx)");
}

#[test]
fn literals_know_their_types() {
    let cases = [
        ("2147483648", "2147483648:i64"),
        ("-2147483648", "(- 2147483648:i32)"),
        ("0xFFFFFFFF", "4294967295:u32"),
        ("7ull", "7:u64"),
        ("1.5", "1.5:f32"),
        ("2.0h", "2.0:f16"),
        ("0.1l", "0.1:f64"),
        ("'A'", "65:u32"),
        (r#""a\n" "b""#, r#""a\nb""#),
        ("true", "true"),
        ("{1, {2,}, {}}", "{1:i32 {2:i32} {}}"),
    ];
    for (text, tree) in cases {
        assert_eq!(expr(text), tree, "{text}");
    }
}

#[test]
fn a_less_sign_opens_generic_arguments_only_if_they_close_and_are_used() {
    let cases = [
        ("f<int, 3>(x)", "(call (apply f int 3:i32) x)"),
        ("a < b && c > (d)", "(&& (< a b) (> c (paren d)))"),
        ("g(a < b, c > d)", "(call g (< a b) (> c d))"),
        ("A<B<C<int>>>(1)", "(call (apply A (apply B (apply C int))) 1:i32)"),
        ("vector<float, N * 2 - 1>(0)", "(call (apply vector float (- (* N 2:i32) 1:i32)) 0:i32)"),
        ("P<float[4], int*, (a > b)>.x", "(. (apply P (index float 4:i32) (pointer int) (paren (> a b))) x)"),
        ("A<1 << 2, B<-N>>.x", "(. (apply A (<< 1:i32 2:i32) (apply B (- N))) x)"),
        ("B<X && Y>.v()", "(call (. (apply B (&& X Y)) v))"),
        ("v<1 | 2>()", "(call (apply v (| 1:i32 2:i32)))"),
        ("a < b | c > (d)", "(| (< a b) (> c (paren d)))"),
        ("i < n", "(< i n)"),
        ("a < b >> 1", "(< a (>> b 1:i32))"),
        ("s.get<float>() + 1", "(+ (call (apply (. s get) float)) 1:i32)"),
        ("bwd_diff(f<float>)(p, 1)", "(call (bwd_diff (apply f float)) p 1:i32)"),
        ("x < y > -1", "(> (< x y) (- 1:i32))"),
    ];
    for (text, tree) in cases {
        assert_eq!(expr(text), tree, "{text}");
    }
}

#[test]
fn a_type_in_parentheses_before_a_value_is_a_cast() {
    let cases = [
        ("(float)x * 2", "(* (cast float x) 2:i32)"),
        ("(Foo)bar(1)", "(cast Foo (call bar 1:i32))"),
        ("(float[2])x", "(cast (index float 2:i32) x)"),
        ("(vector<int, 3>)-x", "(cast (apply vector int 3:i32) (- x))"),
        ("(int)-1", "(cast int (- 1:i32))"),
        ("(a)-1", "(- (paren a) 1:i32)"),
        ("(a) * b", "(* (paren a) b)"),
        ("(a.b) ? c : d", "(? (paren (. a b)) c d)"),
        ("(S)0", "(cast S 0:i32)"),
        ("(S){1}", "(cast S {1:i32})"),
        ("(uint)(x + 1)", "(cast uint (paren (+ x 1:i32)))"),
        ("(this).x", "(. (paren this) x)"),
    ];
    for (text, tree) in cases {
        assert_eq!(expr(text), tree, "{text}");
    }
}

#[test]
fn words_act_as_operators_only_in_their_places() {
    let cases = [
        // req: OP-06
        ("__fwd_diff(f)(x)", "(call (fwd_diff f) x)"),
        ("fwd_diff(fwd_diff(f))", "(fwd_diff (fwd_diff f))"),
        // req: ATTR-14
        ("no_diff g(x) + y", "(+ (no_diff (call g x)) y)"),
        ("no_diff(g(x))", "(no_diff (paren (call g x)))"),
        ("sizeof(float[3])", "(sizeof (index float 3:i32))"),
        ("countof(T) + sizeof", "(+ (countof T) sizeof)"),
        ("expand f(each x)", "(expand (call f (each x)))"),
        ("try f(x)", "(try (call f x))"),
        ("get + set.where(each)", "(+ get (call (. set where) each))"),
        ("expand(x) + fwd_diff", "(+ (call expand x) fwd_diff)"),
        ("operator+(a, b)", "(call operator+ a b)"),
    ];
    for (text, tree) in cases {
        assert_eq!(expr(text), tree, "{text}");
    }
}

#[test]
fn lambdas_have_a_value_or_a_block() {
    assert_eq!(expr("(float x, int n) => x * k"), "(lambda ((x float) (n int)) (return (* x k)))");
    assert_eq!(expr("f(() => { return 1; }, 2)"), "(call f (lambda () block; (return 1:i32)) 2:i32)");
    assert_eq!(expr("{} "), "{}");
}

#[test]
fn from_2026_on_a_list_in_parentheses_is_a_tuple() {
    let text = "#language slang 2026\nvoid f() { x = (a, b); for (i = 0, j = 1; ; i++, j++) { } y = (c); }";
    check(
        text,
        expect![[r#"
            (func f () -> void)
              (= x (tuple a b))
              for _ (, (_++ i) (_++ j))
                init
                  (, (= i 0:i32) (= j 1:i32))
                block
              (= y (paren c))
        "#]],
    );
}

#[test]
fn array_types_nest_from_the_outside_in() {
    check(
        "float[2][3] c; float d[2][3]; float[2] e[3][4]; int a[] = {1}, b;",
        expect![[r#"
            (var c (index (index float 2:i32) 3:i32))
            (var d (index (index float 3:i32) 2:i32))
            (var e (index (index (index float 2:i32) 4:i32) 3:i32))
            (var a (index int _) = {1:i32})
            (var b int)
        "#]],
    );
}

#[test]
fn functions_in_both_notations() {
    check(
        r#"
        [Differentiable] no_diff float f(no_diff float a, inout float b[2], out int n = 3, uint3 t : SV_DispatchThreadID);
        func g<T : IFoo & IBar, let N : int = 4>(inout b : T, a : int) -> no_diff T where T.A == float, U : IX { }
        func h() { }
        __generic<T, each U, int K> static T k<typename V>(T, expand each U us) throws E where T : IA, IB;
        V operator*(V a, V b) { return a; }
        [shader("compute"), numthreads(8, 1, 1)] void main([[vk::location(0)]] float4 p : A) : SV_Target { }
        "#,
        expect![[r#"
            [Differentiable] (func f ((no_diff a float) (inout b (index float 2:i32)) (out n int = 3:i32) (t uint3 : SV_DispatchThreadID)) -> no_diff float)
            (func g <(T : IFoo : IBar) (let N : int = 4:i32) (where (== (. T A) float)) (where U : IX)> ((inout b T) (a int)) -> no_diff T)
            (func h () -> void)
            static (func k <T each U (let K : int) V (where T : IA : IB)> ((_ T) (us (expand (each U)))) -> T throws E)
            (func operator* ((a V) (b V)) -> V)
              (return a)
            [shader "compute"] [numthreads 8:i32 1:i32 1:i32] (func main (([vk::location 0:i32] p float4 : A)) -> void : SV_Target)
        "#]],
    );
}

#[test]
fn types_and_their_members() {
    check(
        r#"
        public struct Pair<T : IDifferentiable> : IFoo, IBar where T : IX
        {
            T a, b = {};
            no_diff float c;
            static const int N = 3;
            __init(T a) { this.a = a; }
            [mutating] void set(T v) { a = v; }
            property T first { get { return a; } [nonmutating] set(v) { } }
            property second : T { get; }
            __subscript(int i, int j) -> T { get { return a; } set { a = newValue; } }
            typealias D = T.Differential;
            typedef float Scalar, Grid[2][3];
            typedef struct Tag { int x; } Name;
            typedef struct { } Empty;
            struct Inner { } inner;
        }
        interface IFoo : IBase { associatedtype D : IA, IB where D.D == D; static This zero(); This operator()(float x); }
        extension<T : IFloat, let N : int> vector<T, N> : IFoo { float sum() { return 0; } };
        [Flags] enum class Mode : uint8_t { A, B = 1 << 2, }
        enum { X }
        "#,
        expect![[r#"
            public (struct Pair <(T : IDifferentiable) (where T : IX)> : IFoo : IBar)
              (var a T)
              (var b T = {})
              no_diff (var c float)
              static const (var N int = 3:i32)
              (constructor __init ((a T)))
                (= (. this a) a)
              [mutating] (func set ((v T)) -> void)
                (= a v)
              (property first T)
                get
                  (return a)
                [nonmutating] (set v)
              (property second T)
                get
              (subscript ((i int) (j int)) T)
                get
                  (return a)
                set
                  (= a newValue)
              (alias D (. T Differential))
              (alias Scalar float)
              (alias Grid (index (index float 3:i32) 2:i32))
              (struct Name)
                (var x int)
              (alias Tag Name)
              (struct Empty)
              (struct Inner)
              (var inner Inner)
            (interface IFoo : IBase)
              (associatedtype D : IA : IB (where (== (. D D) D)))
              static (func zero () -> This)
              (func operator() ((x float)) -> This)
            (extension (apply vector T N) <(T : IFloat) (let N : int)> : IFoo)
              (func sum () -> float)
                (return 0:i32)
            [Flags] (enum Mode : uint8_t A (= B (<< 1:i32 2:i32)))
            (enum _ X)
        "#]],
    );
}

#[test]
fn modules_namespaces_and_buffers() {
    check(
        r#"
        module "my/lib";
        implementing m;
        __include part;
        __exported import a.b_c;
        import "dir/x.slang";
        using namespace a::b;
        namespace a.b { int f(); namespace c::d { } }
        cbuffer C : register(b0, space1) { float x; float4x4 m : packoffset(c0.x); }
        RWStructuredBuffer<float> buf : register(u0, space1);
        [[vk::binding(0, 1)]] Texture2D<float4> tex;
        groupshared float tile[16];
        static const float k = 1.0, l;
        let z : int = 3;
        "#,
        expect![[r#"
            (module my/lib)
            (implementing m)
            (include part)
            export (import a/b_c)
            (import dir/x.slang)
            (using (. a b))
            namespace a.b
              (func f () -> int)
              namespace c.d
            [register b0 space1] cbuffer C
              (var x float)
              (var m float4x4 : packoffset(c0.x))
            (var buf (apply RWStructuredBuffer float) : register(u0,space1))
            [vk::binding 0:i32 1:i32] (var tex (apply Texture2D float4))
            groupshared (var tile (index float 16:i32))
            static const (var k float = 1.0:f32)
            static const (var l float)
            (let z int = 3:i32)
        "#]],
    );
}

#[test]
fn statements() {
    stmts(
        r#"
        int i = 0, j;
        for (int k = 0, l; k < 4; k++) continue;
        for (;;) { break; }
        [unroll] [MaxIters(4)] while (i < 3) i++;
        do { i--; } while (i > 0);
        if (let v = opt) f(v); else if (x) ; else return;
        switch (i) { case 0: case 1: f(); break; default: g(); case 2 + 3: { } }
        outer: for (;;) { break outer; }
        do { let r = try f(); throw e; } catch (e : E) { }
        defer { f(); }
        discard;
        var y : float = 1; const float z = 2; static int w;
        Foo<int>[3] t = {}; a.b.C c; float* p = &q; a * b; S* s[2];
        x = a * b; f<int>(x); a[i] *= b; no_diff float nd = 1; no_diff f(x);
        struct Local { float x; };
        { ; }
        "#,
        expect![[r#"
            (var i int = 0:i32)
            (var j int)
            for (< k 4:i32) (_++ k)
              init
                (var k int = 0:i32)
                (var l int)
              continue
            for _ _
              block
                break
            [unroll] [MaxIters 4:i32] while (< i 3:i32)
              (_++ i)
            do-while (> i 0:i32)
              block
                (_-- i)
            if (let v = opt)
              (call f v)
            else
              if x
                empty
              else
                return
            switch i
              case 0:i32 1:i32
                (call f)
                break
              case default
                (call g)
              case (+ 2:i32 3:i32)
                block
            label outer
              for _ _
                block
                  (break outer)
            do
              (let r _ = (try (call f)))
              (throw e)
            (catch e E)
            defer
              block
                (call f)
            discard
            (var y float = 1:i32)
            const (var z float = 2:i32)
            static (var w int)
            (var t (index (apply Foo int) 3:i32) = {})
            (var c (. (. a b) C))
            (var p (pointer float) = (address q))
            (var b (pointer a))
            (var s (index (pointer S) 2:i32))
            (= x (* a b))
            (call (apply f int) x)
            (*= (index a i) b)
            no_diff (var nd float = 1:i32)
            (no_diff (call f x))
            (struct Local)
              (var x float)
            block
              empty
        "#]],
    );
}

#[test]
fn words_may_name_variables() {
    stmts(
        "float get = 1; get = set; module.x = 1; sample = in + out; int each; each++; property[0] = extension; where(1); defer = 2; throw = 3; func(4); discard(x); sample.x = 1;",
        expect![[r#"
            (var get float = 1:i32)
            (= get set)
            (= (. module x) 1:i32)
            (= sample (+ in out))
            (var each int)
            (_++ each)
            (= (index property 0:i32) extension)
            (call where 1:i32)
            (= defer 2:i32)
            (= throw 3:i32)
            (call func 4:i32)
            (call discard x)
            (= (. sample x) 1:i32)
        "#]],
    );
}

#[test]
fn a_line_break_or_a_semicolon_ends_a_structure() {
    check(
        "struct A { int v; } g = {1}, h[2];\nstruct B { }\nB b;\nenum E { X } e;",
        expect![[r#"
        (struct A)
          (var v int)
        (var g A = {1:i32})
        (var h (index A 2:i32))
        (struct B)
        (var b B)
        (enum E X)
        (var e E)
    "#]],
    );
}

/// Asserts that the text under the span of each declaration, and of each initializer, reads as that node
/// again.
fn check_spans(parsed: &Parsed, decls: &[Decl]) -> usize {
    for decl in decls {
        let text = parsed.sources.snippet(decl.span);
        let alone = ast::File { decls: vec![decl.clone()], version: parsed.file.version };
        assert_eq!(dump::file(&support::parse(text).file), dump::file(&alone), "{text}");
        if let DeclKind::Var(var) = &decl.kind
            && let Some(init) = &var.init
        {
            assert_eq!(expr(parsed.sources.snippet(init.span)), dump::expr(init), "{text}");
        }
    }
    let members = |d: &Decl| match &d.kind {
        DeclKind::Struct(s) => check_spans(parsed, &s.members),
        DeclKind::Interface(i) => check_spans(parsed, &i.members),
        DeclKind::Extension(e) => check_spans(parsed, &e.members),
        DeclKind::Namespace(_, members) | DeclKind::CBuffer(_, members) => check_spans(parsed, members),
        _ => 0,
    };
    decls.len() + decls.iter().map(members).sum::<usize>()
}

#[test]
fn the_text_under_a_span_reads_as_the_node_again() {
    // Without macros, whose tokens have the span of their use.
    let programs =
        [include_str!("../programs/materials.slang"), include_str!("../programs/containers.slang")];
    for program in programs {
        let parsed = support::parse(program);
        assert!(check_spans(&parsed, &parsed.file.decls) > 20);
    }
}
