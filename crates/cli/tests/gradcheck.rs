//! What `cotangent gradcheck` prints and how it ends.

mod support;

use serde_json::Value;
use support::cotangent;
use support::folder::Folder;

fn run(file: &str, rest: &[&str]) -> (Option<i32>, String) {
    let path = format!("{}/../../tests/gradcheck/{file}", env!("CARGO_MANIFEST_DIR"));
    let args: Vec<String> = ["gradcheck", &path].iter().chain(rest).map(|s| s.to_string()).collect();
    let output = cotangent(&args);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_table_then_the_worst_cases_then_kinks() {
    let (code, text) = run("wrong.slang", &["--fn", "square", "--fn", "rough_sine"]);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("function    result    modes     points     error"), "{text}");
    assert!(lines[1].starts_with("square      DIFFERS   fwd,bwd       20"), "{text}");
    assert!(lines[2].starts_with("rough_sine  agrees    fwd,bwd       20"), "{text}");
    assert!(text.contains("wrong.slang:5:7)\n  at x = "), "{text}");
    for what in ["in forward mode", "in reverse mode", "by differences"] {
        assert!(text.contains(what), "{text}");
    }
    assert!(text.ends_with("1 agree, 1 differ, 0 skipped.\n"), "{text}");
    let (code, text) = run("right.slang", &["--fn", "f015", "--samples", "5"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("jump: d result / d x of f015 is "), "{text}");
    let (code, text) = run("right.slang", &["--fn", "k001", "--fn", "h002", "--samples", "5"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("kink: d result / d x of k001 is "), "{text}");
    assert!(text.contains("not judged: d result / d x of h002 is given as NaN"), "{text}");
    let (_, text) = run("wrong.slang", &["--fn", "edge", "--fn", "half_used"]);
    assert!(
        text.contains("d result / d x = -1.0000 to the left, 1.0000 to the right, by differences"),
        "{text}"
    );
    assert_eq!(text.matches("The derivative is NaN, but").count(), 1, "{text}");
    assert_eq!(text.matches("The modes disagree: only one of them").count(), 1, "{text}");
}

#[test]
fn json_has_the_same() {
    let (code, text) = run("wrong.slang", &["--fn", "level", "--fn", "polar", "--json", "--seed", "7"]);
    assert_eq!(code, Some(1));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value[0]["function"], "level");
    assert_eq!(value[0]["result"], "differs");
    assert_eq!(value[0]["modes"], serde_json::json!(["fwd"]));
    assert_eq!(value[0]["worst"]["forward"], "NaN");
    assert_eq!(value[0]["worst"]["error"], "inf");
    assert_eq!((&value[1]["worst"]["output"], &value[1]["worst"]["input"]), (&"y".into(), &"a".into()));
    assert_eq!(value[1]["points"], 20);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let [first, second] = [(); 2].map(|()| run("wrong.slang", &["--seed", "5"]));
    assert_eq!(first, second);
    assert_ne!(first, run("wrong.slang", &["--seed", "6"]));
}

#[test]
fn a_name_that_is_not_there_is_a_bad_command_line() {
    assert_eq!(run("right.slang", &["--fn", "absent"]).0, Some(2));
}

#[test]
fn a_name_that_is_not_there_lists_those_that_are() {
    let path = format!("{}/../../tests/gradcheck/chosen.slang", env!("CARGO_MANIFEST_DIR"));
    for command in ["grad", "gradcheck"] {
        let output = cotangent(&[command, &path, "--fn", "absent"].map(String::from));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("one of `") && text.contains("`power`"), "{text}");
    }
}

#[test]
fn what_is_specialized_is_checked() {
    let (code, text) = run("chosen.slang", &["--fn", "Curve.at", "--specialize", "Curve.at=3"]);
    assert!(code == Some(0) && !text.contains("skipped, "), "{text}");
}

#[test]
fn grad_and_report_take_overloads_and_instances_as_well() {
    let path = format!("{}/../../tests/gradcheck/chosen.slang", env!("CARGO_MANIFEST_DIR"));
    let ask = |command: &str, function: &str, rest: &[&str]| {
        let args = [&[command, &path, "--fn", function], rest].concat();
        let output = cotangent(&args.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    for (function, at, lines) in [
        ("f(float)", "x=3", ["f(x = 3) = 9", "d f / d x = 6"]),
        ("f( float2 )", "x=[3, 4]", ["f(x = [3, 4]) = 12", "d f / d x.y = 3"]),
        ("power<double, 3>", "x=2", ["power<double, 3>(x = 2) = 8", "d power<double, 3> / d x = 12"]),
        ("Curve.at<2>", "x=5", ["Curve.at<2>(x = 5) = 10", "d Curve.at<2> / d x = 2"]),
    ] {
        let (code, text) = ask("grad", function, &["--at", at]);
        assert_eq!(code, Some(0), "{text}");
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    }
    let (code, text) = ask("report", "power<float, 3>", &[]);
    assert!(code == Some(0) && text.starts_with("power<float, 3>: the backward pass stores"), "{text}");
    for (function, says) in [
        ("f", "add the parameter types, as in `f(float)`"),
        ("f(int)", "there is no function named `f(int)`"),
        ("f(int)", "there is `f(float)`, `f(float2)`"),
        ("power<float>", "there is `power<T, N>(T)`"),
        ("power<3>", "expected a type"),
        ("both<2>", "more than one function matches `both<2>`"),
    ] {
        for command in ["grad", "report"] {
            let (code, text) = ask(command, function, &[]);
            assert!(code == Some(2) && text.contains(says), "{command}: {text}");
        }
    }
}

#[test]
fn the_summary_counts_what_agrees_in_one_mode_only() {
    let (code, text) = run("right.slang", &["--fn", "k011", "--fn", "k020"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("only bwd of k020 was compared: E06"), "{text}");
    assert!(text.ends_with("\n2 agree (1 in one mode only), 0 differ, 0 skipped.\n"), "{text}");
}

/// What `grad --entry` is given must fit the kernel, and it says where gradients go that it does not list.
#[test]
fn gradients_of_kernels_name_what_has_them() {
    let folder = Folder::new("gradients_of_kernels");
    let program = "StructuredBuffer<float> x; DiffBuffer<float> b; RWStructuredBuffer<float> y;\n\
                   [numthreads(2, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { y[id.x] = x[id.x] * x[id.x] * b[0]; }\n";
    let path = folder.file("entry.slang", program);
    let set =
        ["--entry", "main", "--set", "x=f32[1, 2]", "--set", "b.primal=f32[3]", "--set", "y=zeros(f32, 2)"];
    let ask = |rest: &[&str]| {
        let args = ["grad", path.as_str()].into_iter().chain(set).chain(rest.iter().copied());
        let output = cotangent(&args.map(str::to_string).collect::<Vec<_>>());
        let [out, said] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (output.status.code(), out, said)
    };
    let (code, out, said) = ask(&["--cotangent", "y=2"]);
    assert_eq!((code, out.as_str()), (Some(0), "gradient of x = f32[12, 24]\n"), "{said}");
    assert!(said.contains("`b` is a `DiffBuffer`: the kernel adds its gradient to `b.diff`"), "{said}");
    for (rest, expected) in [
        (["--cotangent", "x=1"], "does not write `x`; name one of these: y"),
        (["--tangent", "x=1"], "--tangent is for --mode fwd"),
        (["--wrt", "y"], "`y` has no gradient in this kernel; these have: x"),
        (["--wrt", "b.primal"], "`b.primal` has no gradient in this kernel; these have: x"),
    ] {
        let (code, out, said) = ask(&rest);
        assert!(code == Some(2) && out.is_empty() && said.contains(expected), "{rest:?}: {said}");
    }
    let (code, _, said) = ask(&["--mode", "fwd", "--tangent", "y=1"]);
    assert!(code == Some(2) && said.contains("does not read `y`; name one of these: x"), "{said}");
}
