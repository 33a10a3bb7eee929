//! What `--set` says of numbers that are not of the parameter's type.

mod support;

use support::cotangent;
use support::folder::Folder;

const PROGRAM: &str = "
struct Pair { float x; float y; }
struct Held { ByteAddressBuffer raw; StructuredBuffer<float> plain; }
StructuredBuffer<float> a; StructuredBuffer<float2> v; StructuredBuffer<int> n; StructuredBuffer<Pair> pairs;
StructuredBuffer<uint> u; StructuredBuffer<double> wide; ByteAddressBuffer raw; Held held; uniform float3 dir; uniform uint count;
cbuffer Block { float scale; uint many; }
RWStructuredBuffer<float> result;
[numthreads(1, 1, 1)] void main()
{
    float all = a[0] + v[0].x + n[0] + pairs[0].x + u[0] + (float)wide[0] + asfloat(raw.Load(0)) + dir.x + count;
    result[0] = all + asfloat(held.raw.Load(0)) + held.plain[0] + scale + many;
}
";

/// Sets everything, and one thing once more.
fn set(folder: &Folder, format: &str, value: &str) -> (Option<i32>, String) {
    let mut args: Vec<String> =
        ["run", &folder.path("set.slang"), "--format", format].map(String::from).into();
    let all = ["a=f32[1, 2]", "v=f32[1, 2]", "n=i32[1]", "pairs=f32[1, 2]", "u=u32[1]", "wide=f64[1, 2]"];
    let more = ["raw=u32[1]", "held.raw=f32[1]", "held.plain=f32[1]", "result=zeros(f32, 1)"];
    for value in all.into_iter().chain(more).chain([value]) {
        args.extend(["--set".into(), value.into()]);
    }
    let output = cotangent(&args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn numbers_of_another_type_than_the_parameters_are_warned_of() {
    let folder = Folder::new("set-other");
    folder.file("set.slang", PROGRAM);
    for (value, says) in [
        (
            "a=i32[1, 2]",
            "`a` has type StructuredBuffer<float>, so i32 bytes would be reinterpreted; write `a=f32[1, 2]`",
        ),
        ("a=f64[0.5]", "f64 bytes would be reinterpreted; write `a=f32[0.5]`"),
        ("a=zeros(f64, 9)", "write `a=f32[..]`"),
        (
            "a[1]=u32[7]",
            "`a[1]` contains f32 numbers, so u32 bytes would be reinterpreted; write `a[1]=f32[7]`",
        ),
        ("v=i32[3, 4]", "`v` has type StructuredBuffer<float2>, so"),
        ("u=f32[3]", "`u` has type StructuredBuffer<uint>, so"),
        ("wide=f32[3, 4]", "write `wide=f64[3, 4]`"),
        ("dir=i32[1, 2, 3]", "`dir` has type float3, so"),
        ("count=f32[1]", "`count` has type uint, so"),
        ("scale=i32[1]", "`scale` contains f32 numbers, so"),
        ("many=f32[1]", "`many` contains u32 numbers, so"),
        ("held.plain=i32[1]", "`held.plain` contains f32 numbers, so"),
    ] {
        let (code, said) = set(&folder, "text", value);
        assert_eq!(code, Some(0), "{value}: {said}");
        assert!(said.starts_with("warning: ") && said.contains(says), "{value}: {said}");
    }
    let (_, said) = set(&folder, "json", "a=i32[1]");
    assert!(
        said.starts_with(r#"{"message":"`a` has type"#) && said.contains(r#""severity":"warning""#),
        "{said}"
    );
}

#[test]
fn what_can_be_meant_is_not_warned_of() {
    let folder = Folder::new("set-same");
    folder.file("set.slang", PROGRAM);
    for value in [
        "a=f32[3]",
        "a=bytes[0000803f]",
        "a=zeros(u32, 2)",
        "n=u32[3]",
        "u=i32[3]",
        "raw=f32[1, 2]",
        "held.raw=f32[1, 2]",
        "pairs=i32[1, 2]",
        "count=3",
        "scale=3",
    ] {
        assert_eq!(set(&folder, "text", value), (Some(0), String::new()), "{value}");
    }
}

#[test]
fn a_list_without_a_type_takes_that_of_the_parameter() {
    let folder = Folder::new("set-none");
    folder.file("set.slang", PROGRAM);
    for value in ["a=[1, 2, 3]", "n=[7]", "many=[1]", "dir=[1, 2, 3]", "wide=[0.5]", "u=[3]"] {
        assert_eq!(set(&folder, "text", value), (Some(0), String::new()), "{value}");
    }
    for (value, says) in [
        ("n=1,2", "`1,2` is not a list; write `n=[1,2]`"),
        ("raw=[1]", "`[1]` has no element type, and neither has `raw`; write `raw=f32[1]`"),
        ("pairs=[1, 2]", "`[1, 2]` has no element type, and neither has `pairs`; write `pairs=f32[1, 2]`"),
        ("n=[0.5]", "0.5 is not an integer, but the type is i32"),
    ] {
        let (code, said) = set(&folder, "text", value);
        assert_eq!((code, said), (Some(2), format!("error: {says}\n")), "{value}");
    }
}

/// Elements that are set say how long an array without a length is; the flag says it too.
#[test]
fn elements_give_the_length_of_an_array() {
    let folder = Folder::new("set-lengths");
    let program = "RWStructuredBuffer<float> all[]; StructuredBuffer<float> inputs[];
        [shader(\"compute\")] [numthreads(1, 1, 1)] void main(uint3 t : SV_DispatchThreadID) { all[1][0] = inputs[t.x][0] + 1; }";
    folder.file("open.slang", program);
    let run = |more: &[&str]| {
        let mut args: Vec<String> = vec!["run".into(), folder.path("open.slang")];
        args.extend(["--set", "all[1]=f32[0]", "--print", "all[1]"].map(String::from));
        args.extend(more.iter().map(|word| word.to_string()));
        let output = cotangent(&args);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, said) = run(&["--set", "inputs[0]=f32[4]"]);
    assert_eq!((code, said.as_str()), (Some(0), "all[1] = f32[5]\n"));
    let (code, said) = run(&["--specialize-global", "inputs=2"]);
    assert!(code != Some(0) && said.contains("out of bounds"), "{said}");
    let (code, said) = run(&[]);
    assert!(code == Some(1) && said.contains("error[E0720]"), "{said}");
}
