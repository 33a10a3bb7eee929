//! What is said to somebody who got the command line a little wrong: what was wrong with it, and what it could be.

mod support;

use std::process::Command;
use support::folder::Folder;
use support::{cotangent, words};

const PROGRAM: &str = "
struct Ray { float3 at; int n; }
enum Kind { Round, Square }
Texture2D<float4> image; SamplerState how; RWStructuredBuffer<float> result;
[Differentiable] float f(float x) { return x * x; }
[Differentiable] float g(float2 v, no_diff Ray r, Kind k) { return v.x * r.at.y * r.n; }
[Differentiable] T twice<T : __BuiltinFloatingPointType>(T x) { return x + x; }
[numthreads(1, 1, 1)] void main() { result[0] = image.SampleLevel(how, float2(0.5), 0).x; }
";

/// A folder with the program in it.
fn with_program(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("program.slang", PROGRAM);
    folder
}

/// What is said of the program under these arguments, which must be about the command line.
fn told(folder: &Folder, command: &str, rest: &str) -> String {
    let mut args = vec![command.to_string(), folder.path("program.slang")];
    args.extend(words(rest));
    refused(&args)
}

fn refused(args: &[String]) -> String {
    let output = cotangent(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

#[test]
fn a_value_that_cannot_be_read_is_shown_one_that_can() {
    let folder = with_program("values");
    for (function, at, says) in [
        ("f", "x=abc", "`abc` is not a number: `x` has type float, as in `x=1.5`"),
        ("f", "x=[1, 2]", "`x` takes one number, but `[1, 2]` has 2: `x` has type float"),
        ("g", "v=[1, q]", "`q` is not a number: `v` has type float2, as in `v=[1.5, 2.5]`"),
        ("g", "v=3", "`v` takes 2 numbers, but `3` has 1: `v` has type float2, as in `v=[1.5, 2.5]`"),
        ("g", "r=[1]", "`r` has type Ray, as in `r=[1.5, 2.5, 3.5, 6]`"),
        ("g", "r.n=1.5", "1.5 is not an integer, but the type is i32: `r.n` has type int, as in `r.n=3`"),
        ("g", "r.to=3", "there is no `r.to`: `r` has type Ray"),
        ("g", "k=Kind.Sqare", "`k` has type int, as in `k=3`; did you mean `Kind.Square`?"),
    ] {
        let said = told(&folder, "grad", &format!("--fn {function} --at '{at}'"));
        assert!(said.contains(says), "{at}: {said}");
    }
}

#[test]
fn generic_arguments_of_a_function_are_pointed_at() {
    let folder = with_program("instances");
    for (function, says) in [
        ("twice<Foo>", "unknown type `Foo`\n --> --fn:1:7\n  |\n1 | twice<Foo>\n  |       ^^^"),
        ("twice<flaot>", "did you mean `float`?"),
        ("twice<int>", "`int` does not conform to `__BuiltinFloatingPointType`"),
        ("twice<float, 2>", "expected 1 generic arguments, found 2"),
        ("twice<>", "there is `twice<T>(T)`"),
        ("twice<float;>", "expected `>`, found `;`"),
    ] {
        for command in ["grad", "gradcheck", "report"] {
            let said = told(&folder, command, &format!("--fn '{function}'"));
            assert!(said.contains(says), "{command} {function}: {said}");
        }
    }
}

#[test]
fn the_words_of_samplers_are_listed() {
    let folder = with_program("samplers");
    let words = "linear nearest mip-linear mip-nearest clamp repeat mirror border";
    for value in ["cubic", "f32[1]", "linear,clmp"] {
        let said = told(&folder, "run", &format!("--set 'how={value}'"));
        assert!(said.contains(words), "{value}: {said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_the_reason() {
    let folder = with_program("files");
    std::fs::create_dir_all(folder.join("folder.slang")).unwrap();
    let near = format!("there is no such file; did you mean `{}`?", folder.path("program.slang"));
    for (name, says) in [
        ("progam.slang", near.as_str()),
        ("program", near.as_str()),
        ("other.slang", "there is no such file\n"),
        ("folder.slang", "it is a folder\n"),
        ("program.slang/x.slang", "a part of the path is not a folder\n"),
    ] {
        let path = folder.path(name);
        for command in ["check", "gradcheck"] {
            let said = refused(&[command.to_string(), path.clone()]);
            assert!(said.contains(&format!("cannot read `{path}`: {says}")), "{said}");
        }
    }
}

#[test]
fn files_are_read_as_editors_write_them() {
    let folder = with_program("encodings");
    let wide: Vec<u8> =
        "\u{feff}".encode_utf16().chain(PROGRAM.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    std::fs::write(folder.join("wide.slang"), wide).unwrap();
    assert_eq!(cotangent(&["check".into(), folder.path("wide.slang")]).status.code(), Some(0));
    std::fs::write(folder.join("latin.slang"), b"// gr\xf6\xdfer\nint gr\xf6\xdfer;\n").unwrap();
    let output = cotangent(&["check".into(), folder.path("latin.slang")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("latin.slang:2:7") && said.contains("the file is not UTF-8 here"), "{said}");
}

#[test]
fn what_gradcheck_skips_is_listed_with_the_reason() {
    let folder = with_program("skipped");
    let program = "
        struct Table
        {
            RWStructuredBuffer<float> values; RWStructuredBuffer<float> slopes;
            [BackwardDerivative(read_back)] float read(int i) { return values[i]; }
            void read_back(int i, float d) { slopes[i] += d; }
        }
        [Differentiable] float looked(Table table, float x) { return table.read(0) * x; }";
    std::fs::write(folder.join("program.slang"), program).unwrap();
    let output = cotangent(&["gradcheck".into(), folder.path("program.slang")]);
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "Table.read  skipped   no input carries a derivative; finite differences do not cover what its custom derivative writes",
        "looked      skipped   `table` contains a resource, which has no random value",
        "random value\n\n0 agree, 0 differ, 2 skipped.",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn drivers_do_not_talk_to_the_user() {
    let folder = with_program("drivers");
    let path = folder.path("program.slang");
    for args in [&["devices"][..], &["run", &path, "--backend", "gpu", "--device", "none such"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        let output = command.args(args).env_remove("XDG_RUNTIME_DIR").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("XDG_RUNTIME_DIR"), "{said}");
    }
}

#[test]
fn what_is_not_finite_is_pointed_out() {
    let folder = Folder::new("finite");
    let program = "[Differentiable] float root(float x) { return sqrt(x); }
        [Differentiable] float quotient(float x, float y) { return x / y; }
        [Differentiable] float hides(float x) { return 1.0 / (1.0 / x); }";
    let file = folder.file("program.slang", program);
    let grad = |rest: &str| {
        let mut args = vec!["grad".to_string(), file.clone()];
        args.extend(words(rest));
        String::from_utf8(cotangent(&args).stdout).unwrap()
    };
    for (rest, says) in [
        ("--fn root --at x=-1", "the value and 1 derivative"),
        ("--fn root --at x=-1 --mode both", "the value and 1 derivative"),
        ("--fn quotient --at 'x=1, y=0'", "the value and 2 derivatives"),
        ("--fn hides --at x=0", "1 derivative"),
    ] {
        let text = grad(rest);
        let line = format!(
            "\nNot finite: {says}. To find the cause, run `cotangent grad` on the functions that it calls.\n"
        );
        assert!(text.ends_with(&line), "{rest}: {text}");
    }
    for rest in ["--fn root --at x=4", "--fn root --at x=0", "--fn root --at x=-1 --format json"] {
        assert!(!grad(rest).contains("Not finite"), "{rest}");
    }
}
