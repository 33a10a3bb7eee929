//! What a session computes, and when: each stage once, for every thread, until a file changes that it depends on.

use cotangent::ir::Mode;
use cotangent::ir::layout::Target;
use cotangent::ir::text::print_module;
use cotangent::sema::Checked;
use cotangent::session::Counts;
use cotangent::{Answer, Lowered, Program, Request, Roots, Session, Stop, Symbol, Texts};
use std::sync::Arc;

const MODULES: usize = 10;

/// Ten modules: `m9` imports `m6`, `m7` and `m8`, and each of the others the one three before it.
fn ten_modules() -> Texts {
    Texts::new((0..MODULES).map(|n| (path(n), module(n, "2.0"))))
}

fn path(n: usize) -> String {
    format!("m{n}.slang")
}

fn module(n: usize, factor: &str) -> String {
    if n == MODULES - 1 {
        return "
            import m6; import m7; import m8;
            uniform float p9;
            RWStructuredBuffer<float> out;
            [numthreads(1, 1, 1)] void main() {
                IScale scales[2];
                scales[0] = S6(p6);
                scales[1] = S0(p0);
                float sum = p7 + p8 + p9;
                for (int i = 0; i < 2; i++) { sum += scales[i].scale(sum); }
                var x = diffPair(sum, 0.0);
                bwd_diff(f6)(x, 1.0);
                out[0] = x.d + f7(sum) + f8(sum);
            }"
        .into();
    }
    let (imported, inner) = match n {
        0..3 => (String::new(), "x".to_string()),
        _ => (format!("__exported import m{};", n - 3), format!("f{}(x)", n - 3)),
    };
    let interface = "interface IScale { float scale(float x); }";
    let interface = if n == 0 { interface } else { "" };
    let conforms = if n.is_multiple_of(3) { ": IScale" } else { "" };
    format!(
        "{imported} {interface}
        uniform float p{n};
        struct S{n} {conforms} {{ float by; float scale(float x) {{ return by * x + {n}; }} }}
        float helper{n}(float x) {{ float y = x * {factor}; return y + {n}; }}
        [Differentiable] float f{n}(float x) {{
            S{n} s = {{ {factor} }};
            return {inner} * {factor} * sin(x) + no_diff(s.scale(helper{n}(x)));
        }}"
    )
}

fn request() -> Request {
    Request::new(path(MODULES - 1))
}

/// The text of a program in several forms.
fn emitted(program: &Program) -> Vec<String> {
    let compiled = program.compile(Roots::Module).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    let cpp = cotangent::cpp(&compiled, &program.sources(), "m.slang", true);
    let reflected = program.reflect(Roots::Module, Target::Wgsl).accept().unwrap();
    vec![
        print_module(&compiled.module),
        cotangent::wgsl(&compiled).unwrap_or_else(|refusal| panic!("{}", refusal.message)),
        cpp.unwrap_or_else(|refusal| panic!("{}", refusal.message)),
        format!("{reflected:?}"),
    ]
}

#[test]
fn sessions_and_stages_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync>() {}
    shared::<Session>();
    shared::<Program>();
    shared::<Answer<Arc<Lowered>>>();
    shared::<Checked>();
}

#[test]
fn a_second_question_costs_no_compilation() {
    let session = Session::new(ten_modules());
    let program = session.program(&request());
    let modes = vec![Mode::Forward, Mode::Backward];
    let derivatives = |name: &str| Roots::Derivatives { func: Symbol::new(name), modes: modes.clone() };
    let ask = |program: &Program| {
        program.check().accept().unwrap();
        program.check_whole(true).accept().unwrap();
        program.lower(Roots::Module).accept().unwrap();
        program.compile(derivatives("f3")).accept().unwrap();
        program.report(Symbol::new("f6")).accept().unwrap();
        emitted(program)
    };
    let first = ask(&program);
    let counts = session.counts();
    // `check_whole` takes the program as a part of another, which is a checked stage of its own.
    assert_eq!((counts.parsed, counts.checked), (MODULES, 2 * MODULES));
    assert_eq!(ask(&program), first);
    assert_eq!(ask(&session.program(&request())), first);
    assert_eq!(session.counts(), counts);
    // Another question about the same program starts from the checked program.
    program.compile(derivatives("f4")).accept().unwrap();
    let Counts { parsed, checked, lowered, derived, optimized } = session.counts();
    assert_eq!((parsed, checked), (counts.parsed, counts.checked));
    assert_eq!([lowered, derived, optimized], [counts.lowered + 1, counts.derived + 1, counts.optimized + 1]);
}

#[test]
fn eight_threads_get_the_answers_that_one_gets() {
    let texts = ten_modules();
    let ask = |program: &Program, which: usize| match which % 4 {
        0 => emitted(program),
        1 => vec![format!("{:?}", program.report(Symbol::new("f6")).accept().unwrap())],
        2 => {
            let roots = Roots::Derivatives { func: Symbol::new("f5"), modes: vec![Mode::Forward] };
            vec![print_module(&program.compile(roots).accept().unwrap().module)]
        }
        _ => vec![format!("{:?}", program.checked().unwrap().program.user_funcs.len())],
    };
    let alone = Session::new(texts.clone());
    let serial = alone.program(&request());
    let expected: Vec<_> = (0..4).map(|which| ask(&serial, which)).collect();
    let session = Session::new(texts);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (session, expected, ask) = (session.clone(), &expected, &ask);
            scope.spawn(move || {
                let program = session.program(&request());
                for which in (0..4).map(|turn| thread + turn) {
                    assert_eq!(ask(&program, which), expected[which % 4]);
                }
            });
        }
    });
    assert_eq!(session.counts(), alone.counts(), "no stage is computed twice");
}

#[test]
fn a_program_with_errors_has_a_checked_stage() {
    let texts =
        Texts::new([("a.slang", "int wrong() { return nothing; } float right(float x) { return x; }")]);
    let session = Session::new(texts.clone());
    let program = session.program(&Request::new("a.slang"));
    assert_eq!(program.check().result, Err(Stop::Errors));
    let checked = program.checked().unwrap();
    assert_eq!(checked.program.user_funcs.len(), 2);
    assert!(checked.diagnostics.has_errors());
    assert!(program.compile(Roots::Module).accept().unwrap_err().complaints.contains("nothing"));
    // The program stays as it is; the session sees what changed.
    texts.set("a.slang", "float right(float x) { return x; }");
    assert!(program.check().result.is_err());
    assert!(session.program(&Request::new("a.slang")).check().result.is_ok());
}

#[test]
fn a_file_that_appears_or_goes_away_is_noticed() {
    let texts = Texts::new([("a.slang", "import b; float f() { return g(); }")]);
    let session = Session::new(texts.clone());
    let check = || session.program(&Request::new("a.slang")).check();
    assert_eq!(check().result, Err(Stop::Errors));
    texts.set("b.slang", "float g() { return 1; }");
    check().accept().unwrap();
    texts.set("b.slang", "#include \"c.h\"\nfloat g() { return X; }");
    assert!(check().result.is_err());
    texts.set("c.h", "#define X 2");
    check().accept().unwrap();
    texts.remove("a.slang");
    assert!(matches!(check().result, Err(Stop::NoFile { .. })));
    texts.set("a.slang", "float f() { return 1; }");
    check().accept().unwrap();
}

/// How many functions of each module have a checked body.
fn checked_bodies(program: &Program) -> Vec<usize> {
    let (checked, sources) = (program.checked().unwrap(), program.sources());
    let mut bodies = vec![0; MODULES];
    for func in checked.program.user_funcs.iter().filter(|func| checked.is_body_checked(**func)) {
        let file = sources.path(checked.program.funcs[*func].span.file);
        bodies[(0..MODULES).find(|n| path(*n) == file).unwrap()] += 1;
    }
    bodies
}

#[test]
fn after_an_edit_modules_that_depend_on_it_are_checked_and_no_others() {
    // The modules that import each, directly or not.
    let dependents = [vec![0, 3, 6, 9], vec![1, 4, 7, 9], vec![5, 8, 9], vec![6, 9], vec![9]];
    for dependents in dependents {
        let edited = dependents[0];
        let texts = ten_modules();
        let session = Session::new(texts.clone());
        emitted(&session.program(&request()));
        let before = session.counts();
        texts.set(path(edited), module(edited, "3.0") + "\n");
        let program = session.program(&request());
        program.check().accept().unwrap();
        let counts = session.counts();
        assert_eq!(counts.parsed - before.parsed, 1, "{edited}");
        assert_eq!(counts.checked - before.checked, dependents.len(), "{edited}");
        let bodies = checked_bodies(&program);
        let with_bodies: Vec<usize> = (0..MODULES).filter(|n| bodies[*n] > 0).collect();
        assert_eq!(with_bodies, dependents, "{edited}");
        // What comes out is what a session gives that never saw the text before.
        let fresh = Session::new(texts).program(&request());
        assert_eq!(emitted(&program), emitted(&fresh), "{edited}");
    }
}

#[test]
fn an_edit_gives_the_diagnostics_that_a_fresh_session_gives() {
    let texts = ten_modules();
    let session = Session::new(texts.clone());
    let told = |session: &Session| session.program(&request()).check().complaints();
    assert_eq!(told(&session), "");
    let edits = [
        (1, "float f1(int x) { return y; } struct S1 { float by; } uniform float p1;".to_string()),
        (5, module(5, "wrong")),
        (1, module(1, "4.0")),
        // An extension is seen by modules that do not import it.
        (5, module(5, "1.0") + "extension float { float twice() { return 2 * this; } }"),
        (0, module(0, "x.twice()")),
        (5, module(5, "1.0")),
        (0, module(0, "1.0")),
        // A local type is a part of the program that nobody sees unless the body is checked.
        (
            4,
            module(4, "1.0")
                + "float g(float x) { struct L { float a; float get() { return a; } } L l = { x }; return l.get(); }",
        ),
        (2, module(2, "9.0")),
    ];
    for (number, (n, text)) in edits.into_iter().enumerate() {
        texts.set(path(n), text);
        let fresh = Session::new(texts.clone());
        let expected = told(&fresh);
        assert_eq!(told(&session), expected, "edit {number}");
        if expected.is_empty() {
            assert_eq!(
                emitted(&session.program(&request())),
                emitted(&fresh.program(&request())),
                "edit {number}"
            );
        }
    }
}

#[test]
fn reflection_lists_the_contexts_that_reports_have() {
    let text = "
        RWStructuredBuffer<float> kept;
        [Differentiable] float a(float x) { float y = x; for (int i = 0; i < 3; i++) { y = sin(y * x); } return y; }
        [Differentiable] float b(float x) { return a(x) * a(x * x) * no_diff(kept[0]); }
        [Differentiable] float unbounded(float x) { float y = x; while (y < 5) { y = y * y; kept[1] = detach(y); } return y; }
        [Differentiable] float c(float x) { kept[0] = detach(x); return b(x) * kept[0]; }
        [Differentiable] float twice(float x) { return x; }
        [Differentiable] float twice(float2 x) { return x.y; }";
    let session = Session::new(Texts::new([("a.slang", text)]));
    let program = session.program(&Request::new("a.slang"));
    let found = program.reflect(Roots::Entries(vec![]), Target::Cpp).accept().unwrap();
    let names: Vec<&str> = found.contexts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for (name, bytes) in found.contexts {
        assert_eq!(bytes, program.report(name).accept().unwrap().bytes, "{name}");
    }
    assert!(program.report(Symbol::new("unbounded")).result.is_err());
}
