//! What scripts rely on: exit codes, and what goes where.

mod support;

use serde_json::Value;
use std::process::Output;
use support::folder::Folder;
use support::{cotangent, words};

fn run(command: &str, file: &str, rest: &str) -> Output {
    let mut args = vec![command.to_string(), file.to_string()];
    args.extend(words(rest));
    cotangent(&args)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const KERNEL: &str = "
struct Light { float3 pos; int kind; }
StructuredBuffer<Light> lights;
RWStructuredBuffer<float> result;
uniform float2 scale;
uniform int count;

[numthreads(2, 1, 1)]
void first(uint3 id : SV_DispatchThreadID)
{
    result[id.x] = lights[id.x].pos.y * scale.x + lights[id.x].kind * count;
}

[numthreads(1, 1, 1)]
void second()
{
    for (int i = 0; i < count; i++)
        result[i] = 10 / (count - 3) + i;
}
";

#[test]
fn parameters_are_set_by_path_and_printed_by_type() {
    let folder = Folder::new("paths");
    let file = folder.file("kernel.slang", KERNEL);
    let set = "--entry first --set lights=zeros(u8,32) --set 'lights[1].pos=f32[1, 2.5, 3]' --set lights[0].kind=4 \
               --set 'scale=f32[2, 0]' --set count=3 --set 'result=f32[9, 9]'";
    let output = run("run", &file, &format!("{set} --print result --print lights[1].pos.y --format json"));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    // lights[0]: 0 * 2 + 4 * 3; lights[1]: 2.5 * 2 + 0.
    assert_eq!(value["buffers"]["result"]["values"], serde_json::json!([12.0, 5.0]));
    assert_eq!(value["buffers"]["result"]["bytes"], "000040410000a040");
    assert_eq!(value["buffers"]["lights[1].pos.y"]["values"], serde_json::json!([2.5]));
    assert_eq!(value["stdout"], "");
    let text = run("run", &file, set);
    assert_eq!(String::from_utf8_lossy(&text.stdout), "result = f32[12, 5]\n");
}

#[test]
fn members_of_a_cbuffer_are_set_by_their_own_names() {
    let folder = Folder::new("cbuffer");
    let program = "cbuffer Frame { float2 wind; int steps; }\nRWStructuredBuffer<float> result;\n\
                   [numthreads(1,1,1)] void main() { result[0] = wind.y * steps; }\n";
    let file = folder.file("cbuffer.slang", program);
    for name in ["wind", "Frame.wind"] {
        let output =
            run("run", &file, &format!("--set '{name}=f32[1, 2.5]' --set steps=4 --set result=zeros(f32,1)"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "result = f32[10]\n", "{}", said(&output));
    }
}

#[test]
fn matrices_lie_row_by_row_unless_asked_otherwise() {
    let folder = Folder::new("matrix");
    let program =
        "RWStructuredBuffer<float2x3> m;\n[numthreads(1,1,1)] void main() { m[0][0][2] = m[0][1].x; }\n";
    let file = folder.file("matrix.slang", program);
    let set = "--set 'm=f32[1, 2, 3, 4, 5, 6]'";
    let rows = run("run", &file, set);
    assert_eq!(String::from_utf8_lossy(&rows.stdout), "m = f32[1, 2, 4, 4, 5, 6]\n");
    // Column by column: the first row is 1, 3, 5 and the second begins with 2.
    let columns = run("run", &file, &format!("{set} --matrix-layout column"));
    assert_eq!(String::from_utf8_lossy(&columns.stdout), "m = f32[1, 2, 3, 4, 2, 6]\n");
}

#[test]
fn numpy_files_go_in_and_out() {
    let folder = Folder::new("npy");
    let file = folder.file(
        "twice.slang",
        "RWStructuredBuffer<float> x;\n[numthreads(1,1,1)] void main() { x[0] *= 2; x[1] *= 2; }\n",
    );
    let path = folder.path("x.npy");
    let first = run("run", &file, &format!("--set 'x=f32[1.5, -4]' --save x={path}"));
    assert_eq!(String::from_utf8_lossy(&first.stdout), "x = f32[3, -8]\n", "{}", said(&first));
    let second = run("run", &file, &format!("--set x=@{path} --print x"));
    assert_eq!(String::from_utf8_lossy(&second.stdout), "x = f32[6, -16]\n");
}

#[test]
fn numbers_of_numpy_files_become_those_of_the_buffer() {
    let folder = Folder::new("npy-types");
    let program = |ty: &str| {
        format!("RWStructuredBuffer<{ty}> x;\n[numthreads(1,1,1)] void main() {{ x[0] += x[1]; }}\n")
    };
    let doubles = folder.file("doubles.slang", program("double"));
    let floats = folder.file("floats.slang", program("float"));
    let shorts = folder.file("shorts.slang", program("int16_t"));
    let longs = folder.file("longs.slang", program("int64_t"));
    let path = |name: &str| folder.path(name);
    run("run", &doubles, &format!("--set 'x=f64[1.5, 2]' --save x={}", path("f64.npy")));
    run("run", &longs, &format!("--set 'x=i64[7, 100000]' --save x={}", path("i64.npy")));
    let from = |program: &str, file: &str| run("run", program, &format!("--set x=@{}", path(file)));
    let shown = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(shown(&from(&floats, "f64.npy")), "x = f32[5.5, 2]\n");
    assert_eq!(shown(&from(&floats, "i64.npy")), "x = f32[200007, 100000]\n");
    let narrow = from(&shorts, "i64.npy");
    assert_eq!(narrow.status.code(), Some(2));
    assert!(said(&narrow).contains("100007 does not fit in i16"), "{}", said(&narrow));
    // The file has 3.5 and 2 now; whole numbers are integers, others are none.
    let ints = folder.file("ints.slang", program("int"));
    let words = folder.file("words.slang", program("uint"));
    run("run", &floats, &format!("--set 'x=f32[1, 2]' --save x={}", path("whole.npy")));
    assert_eq!(shown(&from(&ints, "whole.npy")), "x = i32[5, 2]\n");
    assert_eq!(shown(&from(&words, "whole.npy")), "x = u32[5, 2]\n");
    assert!(said(&from(&ints, "f64.npy")).contains("3.5 is not an integer, but the type is i32"));
}

#[test]
fn numbers_of_numpy_files_become_those_of_structures_but_not_of_bytes() {
    let folder = Folder::new("npy-structures");
    let path = |name: &str| folder.path(name);
    let doubles = "RWStructuredBuffer<double> x;\n[numthreads(1,1,1)] void main() { x[0] += 1; }\n";
    let doubles = folder.file("doubles.slang", doubles);
    run("run", &doubles, &format!("--set 'x=f64[0.5, 2]' --save x={}", path("x.npy")));
    let read = |program: &str| {
        run(
            "run",
            &folder.file("read.slang", program),
            &format!("--set x=@{} --set 'r=f64[0]'", path("x.npy")),
        )
    };
    let shown = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let result = "RWStructuredBuffer<double> r;\n[numthreads(1,1,1)] void main()";
    let floats = format!(
        "struct P {{ float a; float b[1]; }}; StructuredBuffer<P> x; {result} {{ r[0] = x[0].a + 10 * x[0].b[0]; }}"
    );
    assert_eq!(shown(&read(&floats)), "r = f64[21.5]\n");
    let mixed =
        format!("struct P {{ float a; int b; }}; StructuredBuffer<P> x; {result} {{ r[0] = x[0].a; }}");
    let refused = said(&read(&mixed));
    assert!(
        refused.contains("`x` has elements of several types, and the file f64: give its bytes, as u8"),
        "{refused}"
    );
    let bytes = format!("ByteAddressBuffer x; {result} {{ r[0] = x.Load<double>(8); }}");
    assert_eq!(shown(&read(&bytes)), "r = f64[2]\n");
    let inside = format!(
        "struct P {{ ByteAddressBuffer b; }}; uniform P x; {result} {{ r[0] = x.b.Load<double>(8); }}"
    );
    let file = folder.file("inside.slang", &inside);
    let refused = said(&run("run", &file, &format!("--set x.b=@{} --set 'r=f64[0]'", path("x.npy"))));
    assert!(refused.contains("`x.b` may be accessed by bytes"), "{refused}");
}

#[test]
fn an_empty_numpy_file_is_an_empty_buffer() {
    let folder = Folder::new("empty-npy");
    let file = folder.file(
        "count.slang",
        "RWStructuredBuffer<float> x; RWStructuredBuffer<uint> count;
        [numthreads(1,1,1)] void main() { uint stride; x.GetDimensions(count[0], stride); }\n",
    );
    let path = folder.path("x.npy");
    let written = run("run", &file, &format!("--set 'x=f32[]' --set 'count=u32[7]' --save x={path}"));
    assert_eq!(String::from_utf8_lossy(&written.stdout), "x = f32[]\ncount = u32[0]\n", "{}", said(&written));
    let read = run("run", &file, &format!("--set x=@{path} --set 'count=u32[7]' --print count"));
    assert_eq!(String::from_utf8_lossy(&read.stdout), "count = u32[0]\n", "{}", said(&read));
    // An image without numbers is as before none for a buffer.
    let image = run("run", &file, "--set 'x=image(2x2)' --set 'count=u32[7]'");
    assert!(said(&image).contains("`x` is a buffer: write f32[..] or another list"), "{}", said(&image));
}

#[test]
fn structures_are_printed_field_by_field() {
    let folder = Folder::new("structures");
    let program = "struct Hit { float3 at; bool front; uint2 ids[2]; half w; }
        RWStructuredBuffer<Hit> hits;
        [numthreads(1,1,1)] void main() { hits[1].at = float3(1, 2, 0.5); hits[1].front = true; hits[1].ids[1].y = 7; }\n";
    let file = folder.file("hits.slang", program);
    let set = "--set 'hits=zeros(u8, 72)' --print hits[1]";
    let text = run("run", &file, set);
    let expected = "{at = [1, 2, 0.5], front = true, ids = [[0, 0], [0, 7]], w = 0}";
    assert_eq!(String::from_utf8_lossy(&text.stdout), format!("hits[1] = {expected}\n"), "{}", said(&text));
    let json = run("run", &file, &format!("{set} --format json"));
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["buffers"]["hits[1]"]["values"]["ids"], serde_json::json!([[0, 0], [0, 7]]));
}

#[test]
fn what_a_program_declares_may_be_set_even_if_it_is_not_used() {
    let folder = Folder::new("unused");
    let program = "StructuredBuffer<float> x; uniform float y; RWStructuredBuffer<float> r;
        [numthreads(1,1,1)] void main() { r[0] = 2; }\n";
    let file = folder.file("unused.slang", program);
    let output = run("run", &file, "--set 'x=f32[1]' --set y=3 --set 'r=f32[0]'");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "r = f32[2]\n", "{}", said(&output));
    assert!(said(&output).contains("note: the program does not use `x`"), "{}", said(&output));
    assert!(said(&run("run", &file, "--set z=3")).contains("no parameter `z`"));
    // Where diagnostics are lines of JSON, so are notes.
    let output = run("run", &file, "--set y=3 --set 'r=f32[0]' --format json");
    let note: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(note["severity"], "note");
    assert_eq!(note["message"], "the program does not use `y`, so setting it has no effect");
}

#[test]
fn a_program_with_errors_exits_with_1_and_names_the_place() {
    let folder = Folder::new("errors");
    let file = folder.file("bad.slang", "float f(float x)\n{\n    return y;\n}\n");
    let output = run("check", &file, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("error"));
    assert!(said(&output).contains("bad.slang:3:12"), "{}", said(&output));
    let json = run("check", &file, "--format json");
    let value: Value = serde_json::from_str(&said(&json)).expect("nothing but JSON");
    assert_eq!((&value["severity"], &value["place"]["line"]), (&"error".into(), &3.into()));
}

#[test]
fn every_target_has_its_name_on_the_command_line() {
    for command in ["compile", "reflect"] {
        let help = String::from_utf8(cotangent(&words(&format!("{command} --help"))).stdout).unwrap();
        for target in cotangent::ir::layout::Target::ALL {
            assert!(help.contains(target.name()), "`{command} --help` does not name `{}`", target.name());
        }
    }
}

#[test]
fn a_bad_command_line_exits_with_2_and_says_what_there_is() {
    let folder = Folder::new("usage");
    let file = folder.file("kernel.slang", KERNEL);
    let cases = [
        ("run", "--entry third", "`first`, `second`"),
        ("run", "", "first, second"),
        ("run", "--entry first --set nothing=3", "no parameter `nothing`"),
        ("run", "--entry first --set result=f32[1,", "cannot read the value"),
        ("run", "--entry first --set count=1.5", "not an integer"),
        ("run", "--entry first --set 'scale=f32[1]'", "takes 8 bytes"),
        ("run", "--entry first --groups a", "not a number of groups"),
        ("run", "--entry first --groups 4,0,1", "`0` is not a number of groups"),
        ("run", "--entry first --device 0", "--device needs"),
        ("run", "--entry first --set count=1e500", "cannot read the value"),
        ("run", "--entry first --save result=picture.png", "`result` is not a texture: save it as FILE.npy"),
        ("run", "--entry first --save result=picture.jpg", "--save writes FILE.npy"),
        ("check", "-D 1X=3", "-D: `1X` is not the name of a macro"),
        ("check", "-D =3", "-D: `` is not the name of a macro"),
        ("run", "--entry first --conformance Kernel:INothing=1", "there is no interface `INothing`"),
        ("check", "--no-warn W9999", "there is no warning `W9999`"),
        ("check", "--no-warn E0301", "there is no warning `E0301`"),
        ("compile", "--target ir --lines", "--lines does not apply"),
        ("gradcheck", "--samples 0", "--samples"),
        ("check", "--specialize first=int --specialize first=float", "--specialize sets `first` twice"),
        ("check", "--specialize first=int", "there is no generic function `first`"),
        ("run", "--entry first --backend interpreter --cores 2", "one core"),
        ("run", "--entry first --backend interpreter --lanes never", "--lanes is for native code"),
        ("run", "--no-such-flag", "--no-such-flag"),
        ("compile", "--target cobol", "spirv-asm, glsl"),
        ("compile", "--target ir --dump-after nothing", "linearize"),
    ];
    for (command, rest, expected) in cases {
        let output = run(command, &file, rest);
        assert_eq!(output.status.code(), Some(2), "{command} {rest}: {}", said(&output));
        assert!(said(&output).contains(expected), "{command} {rest}: {}", said(&output));
    }
    assert_eq!(run("check", "/no/such/file.slang", "").status.code(), Some(2));
    assert_eq!(cotangent(&["explain".into(), "E9999".into()]).status.code(), Some(2));
}

#[test]
fn a_point_is_what_it_says_or_refused() {
    let folder = Folder::new("points");
    let program = "enum Kind { A, B = 4 }\nnamespace deep { enum class E { X = 7 } }\n\
                   [Differentiable] float f(float x, Kind k, deep.E e, float2 v) { return k == Kind.B ? x * x * int(e) : v.y; }\n\
                   [Differentiable] IDifferentiable some(float x) { return x; }\n\
                   struct Holder : IDifferentiable { IDifferentiable inner; float y; }\n\
                   [Differentiable] float of(Holder x, float y) { return y; }\n";
    let file = folder.file("points.slang", program);
    let good = run("grad", &file, "--fn f --at 'x=3, k=Kind::B, e=deep.E.X, v=[1, 2]'");
    assert_eq!(good.status.code(), Some(0), "{}", said(&good));
    assert!(
        String::from_utf8_lossy(&good.stdout).contains("d f / d x = 42"),
        "{}",
        String::from_utf8_lossy(&good.stdout)
    );
    let checked = run("gradcheck", &file, "--fn f --at 'k=Kind.B, e=deep.E.X'");
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    let cases = [
        ("grad --fn f --at 'x=3, x=4'", "`x` is given twice"),
        ("gradcheck --fn f --at 'x=3, x=4'", "`x` is given twice"),
        ("grad --fn f --at 'v=[1 2]'", "`1 2` is not a number: write commas between numbers"),
        ("grad --fn f --at 'v=[1, 2'", "a bracket of `[1, 2` is not closed"),
        ("grad --fn f --at 'k=Kind.C'", "`Kind.C` is not a number"),
        ("grad --fn some --at x=1", "the result of `some` contains an interface value"),
        ("grad --fn of --at y=1", "`x` of `of` contains an interface value"),
    ];
    for (line, expected) in cases {
        let (command, rest) = line.split_once(' ').expect("a command and its arguments");
        let output = run(command, &file, rest);
        assert_eq!(output.status.code(), Some(2), "{line}: {}", said(&output));
        assert!(said(&output).contains(expected), "{line}: {}", said(&output));
    }
}

#[test]
fn a_trap_exits_with_4_and_names_the_line() {
    let folder = Folder::new("traps");
    let file = folder.file("kernel.slang", KERNEL);
    let cases = [
        ("--entry second --set count=5 --set 'result=f32[0, 0]'", "E0801", "kernel.slang:18"),
        (
            "--entry second --set count=5 --set 'result=f32[0, 0]'",
            "the index is 2, the length 2",
            "kernel.slang:18",
        ),
        ("--entry second --set count=5", "was it set?", "kernel.slang:18"),
        ("--entry second --set count=3 --set 'result=zeros(f32, 3)'", "E0803", "kernel.slang:18"),
        (
            "--entry second --set count=500 --set 'result=zeros(f32, 500)' --max-steps 100",
            "E0804",
            "kernel.slang:1",
        ),
    ];
    for (rest, code, place) in cases {
        let output = run("run", &file, rest);
        assert_eq!(output.status.code(), Some(4), "{rest}: {}", said(&output));
        assert!(said(&output).contains(code) && said(&output).contains(place), "{rest}: {}", said(&output));
    }
}

#[test]
fn a_loop_beyond_its_bound_traps_in_the_backward_pass() {
    // req: LOOP-06
    let folder = Folder::new("bound");
    let program = "[Differentiable]\nfloat f(float x, int n)\n{\n    [MaxIters(4)]\n    for (int i = 0; i < n; i++)\n        \
                   x = x * x;\n    return x;\n}\n";
    let file = folder.file("bound.slang", program);
    assert_eq!(run("grad", &file, "--fn f --at 'x=1, n=4'").status.code(), Some(0));
    let output = run("grad", &file, "--fn f --at 'x=1, n=5'");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(
        said(&output).contains("E0802") && said(&output).contains("bound.slang:4:5"),
        "{}",
        said(&output)
    );
}

#[test]
fn without_differentiable_outputs_nothing_is_compared() {
    let folder = Folder::new("outputs");
    let file = folder.file("outputs.slang", "[Differentiable] bool f(float x) { return x > 1; }\n");
    let shown = |output: Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let both = shown(run("grad", &file, "--fn f --at x=3 --mode both"));
    assert!(both.contains("No output carries a derivative.") && !both.contains("agree"), "{both}");
    let checked = shown(run("gradcheck", &file, ""));
    assert!(checked.contains("no output carries a derivative"), "{checked}");
}

#[test]
fn what_no_memory_would_hold_is_refused_before_it_is_tried() {
    let folder = Folder::new("large");
    let program = "[Differentiable]\nfloat f(float x, int n)\n{\n    [MaxIters(1000000000)]\n    for (int i = 0; i < n; i++)\n\
                           x = x * sin(x);\n    return x;\n}\n";
    let file = folder.file("large.slang", program);
    let output = run("compile", &file, "--target wgsl --derivative f:bwd");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("E0613") && said(&output).contains("large.slang:4:5"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_gradient_for_scripts() {
    let folder = Folder::new("json");
    let program = "struct S : IDifferentiable { float a; int n; }\n\
                   [Differentiable] float2 f(S s, float3 v, out float w) { w = s.a; return v.xy * s.a * s.n; }\n";
    let file = folder.file("f.slang", program);
    let output =
        run("grad", &file, "--fn f --at 's.a=2, s.n=3, v=[1, 2, 3]' --mode both --format json --wrt s");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["outputs"], serde_json::json!({ "result": [6.0, 12.0], "w": 2.0 }));
    let expected =
        serde_json::json!({ "result.x": { "s.a": 3.0 }, "result.y": { "s.a": 6.0 }, "w": { "s.a": 1.0 } });
    assert_eq!(value["derivatives"], expected);
}

#[test]
fn nothing_is_written_when_a_target_cannot_express_the_program() {
    let folder = Folder::new("partial");
    let file = folder.file("double.slang", "double f(double x) { return x * x; }\n");
    let out = folder.join("out.wgsl");
    let output = run("compile", &file, &format!("--target wgsl -o {}", out.display()));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("E0761"));
    assert!(!out.exists());
}

#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new("special");
    let file = folder.file("kernel.slang", KERNEL);
    // A device would need rights to make; a socket is as little a file, and refuses to be written to.
    let socket = folder.join("socket");
    let _held = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let output = run("compile", &file, &format!("--target ir -o {}", socket.display()));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(std::fs::metadata(&socket).unwrap().file_type().is_socket());
}

#[test]
fn warnings_can_be_silenced_and_denied() {
    let folder = Folder::new("warnings");
    let file = folder.file("w.slang", "int f(float x) { int y; int z = x; return y + z; }");
    let both = run("check", &file, "");
    assert_eq!(both.status.code(), Some(0));
    assert!(said(&both).contains("W0301") && said(&both).contains("W0306"));
    let one = run("check", &file, "--no-warn w0301");
    assert!(!said(&one).contains("W0301") && said(&one).contains("W0306"));
    let denied = run("check", &file, "--no-warn W0301 --deny-warnings");
    assert_eq!(denied.status.code(), Some(1));
    assert!(said(&denied).contains("1 warning, denied by --deny-warnings"));
    let none = run("check", &file, "--no-warn all --deny-warnings");
    assert_eq!((none.status.code(), said(&none).as_str()), (Some(0), ""));
}

#[test]
fn passes_are_timed() {
    let folder = Folder::new("time_passes");
    let text = "[Differentiable] float f(float x) { return x * x; }
        RWStructuredBuffer<float> b;
        [numthreads(1, 1, 1)] void main() { b[0] = fwd_diff(f)(diffPair(b[0], 1.0)).d; }";
    let file = folder.file("t.slang", text);
    for (command, rest, pass) in [
        ("compile", "--target cpp", "\n  dce "),
        ("run", "--set b=f32[1]", "\noptimize "),
        ("check", "--derivatives", "\n  linearize "),
        ("reflect", "", "\nprune "),
    ] {
        let output = run(command, &file, &format!("{rest} --time-passes"));
        assert_eq!(output.status.code(), Some(0), "{command}: {}", said(&output));
        assert!(said(&output).starts_with("pass ") && said(&output).contains(pass), "{}", said(&output));
        assert_eq!(said(&run(command, &file, rest)), "");
    }
}

#[test]
fn nobody_has_to_listen_to_errors() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .args(["check", "nowhere.slang"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn parts_of_matrices_have_names_where_they_lie_row_by_row() {
    let folder = Folder::new("turned");
    let program = "struct Turned { column_major float2x3 m; };\nstruct Plain { float2x3 m; };\n\
                   StructuredBuffer<Turned> turned;\nuniform Plain plain;\nRWStructuredBuffer<float> result;\n\
                   [shader(\"compute\")] [numthreads(1, 1, 1)]\n\
                   void computeMain() { result[0] = turned[0].m[1][0] + plain.m[1][0] * 10; }\n";
    let file = folder.file("turned.slang", program);
    let all = "--set 'turned=f32[1, 2, 3, 4, 5, 6]' --set 'result=zeros(f32, 1)' --print result";
    let good = run("run", &file, &format!("{all} --set 'plain.m[1]=f32[7, 8, 9]'"));
    assert_eq!(good.status.code(), Some(0), "{}", said(&good));
    assert!(String::from_utf8_lossy(&good.stdout).contains("[72]"));
    let bad = run("run", &file, &format!("{all} --set 'turned[0].m[1]=f32[7, 8, 9]'"));
    assert_eq!(bad.status.code(), Some(2), "{}", said(&bad));
    assert!(said(&bad).contains("is not contiguous"), "{}", said(&bad));
}

#[test]
fn matrices_are_laid_out_in_a_pass_that_can_be_seen() {
    let folder = Folder::new("columns");
    let program = "RWStructuredBuffer<float2x3> m;\n[shader(\"compute\")] [numthreads(1, 1, 1)]\n\
                   void computeMain() { m[0] = m[1]; }\n";
    let file = folder.file("columns.slang", program);
    for (flags, memory) in [("", "f32x2x3"), ("--matrix-layout column", "f32x3x2")] {
        let seen = run("compile", &file, &format!("--target ir --dump-after columns {flags}"));
        assert_eq!(seen.status.code(), Some(0), "{}", said(&seen));
        let text = String::from_utf8_lossy(&seen.stdout).into_owned();
        assert!(text.starts_with("; after columns\n"), "{text}");
        assert!(text.contains(&format!("global @m: rwbuffer<{memory}> param")), "{text}");
    }
}

#[test]
fn lines_name_files_as_they_are_called() {
    let folder = Folder::new("names");
    let program = "RWStructuredBuffer<float> x;\n[shader(\"compute\")] [numthreads(1, 1, 1)]\n\
                   void computeMain() { x[0] = x[1] * 3; }\n";
    for (name, shown) in
        [("it's é.slang", "it's é.slang"), ("a\"b\u{2028}\t.slang", "a\\\"b\\u2028\\u0009.slang")]
    {
        let file = folder.file(name, program);
        for (target, expected) in [("wgsl", format!("{shown}:3\n")), ("hlsl", format!("{shown}\"\n"))] {
            let made = run("compile", &file, &format!("--target {target} --lines"));
            assert_eq!(made.status.code(), Some(0), "{}", said(&made));
            let text = String::from_utf8_lossy(&made.stdout).into_owned();
            assert!(text.contains(&expected), "{text}");
        }
    }
}

#[test]
fn a_structure_in_a_buffer_may_point_to_its_own_kind() {
    let folder = Folder::new("chain");
    let program = "struct Node { float x; Node* next; };\nStructuredBuffer<Node> nodes;\n\
                   RWStructuredBuffer<float2x3> m;\n[shader(\"compute\")] [numthreads(1, 1, 1)]\n\
                   void computeMain() { m[0][1] = float3(7, 8, 9); if (m[0][0][0] > 0) m[0][0] = nodes[0].x; }\n";
    let file = folder.file("chain.slang", program);
    let flags = "--matrix-layout column --set 'm=f32[0, 1, 2, 3, 4, 5]' --print m";
    let output = run("run", &file, flags);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "m = f32[0, 7, 2, 8, 4, 9]\n");
}

#[test]
fn with_a_root_nothing_outside_is_read_or_quoted() {
    let folder = Folder::new("root");
    std::fs::create_dir_all(folder.join("inside")).unwrap();
    folder.file("secret.slang", "a secret that no parser takes;");
    let array = b"\x93NUMPY\x01\x00";
    let data = folder.file("data.npy", array);
    let kernel = "RWStructuredBuffer<float> o;\n[numthreads(1, 1, 1)] void main() { o[0] = 1; }";
    let fine = folder.file("inside/fine.slang", kernel);
    let include = folder.file("inside/include.slang", "#include \"../secret.slang\"\n");
    let import = folder.file("inside/import.slang", "import secret;\n");
    let absolute =
        folder.file("inside/absolute.slang", format!("#include \"{}\"\n", folder.path("secret.slang")));
    let root = format!("--root {}", folder.path("inside"));
    assert_eq!(run("check", &fine, &root).status.code(), Some(0));
    for file in [&include, &import, &absolute, &folder.path("secret.slang")] {
        let open = run("check", file, &format!("-I {}", folder.path("")));
        assert!(said(&open).contains("a secret"), "{}", said(&open));
        let closed = run("check", file, &format!("{root} -I {}", folder.path("")));
        assert!(!closed.status.success());
        assert!(!said(&closed).contains("a secret"), "{}", said(&closed));
        assert!(said(&closed).contains("root folder"), "{}", said(&closed));
    }
    let output = run("run", &fine, &format!("{root} --set o=@{data}"));
    assert!(said(&output).contains("there is no such file in the root folder"), "{}", said(&output));
    let output = run("check", &fine, "--root /no/such/folder");
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn a_header_is_one_file_however_its_path_is_spelled() {
    let folder = Folder::new("once");
    std::fs::create_dir_all(folder.join("a/b")).unwrap();
    let header = folder.file("h.slang", "#pragma once\nfloat once() { return 3; }\n");
    folder.file("a/inner.slang", "#pragma once\n#include \"../h.slang\"\n#include \"b/../../h.slang\"\n");
    folder.file("m.slang", "module m;\npublic struct M { public float x; }\n");
    std::os::unix::fs::symlink(folder.join("h.slang"), folder.join("link.slang")).unwrap();
    std::os::unix::fs::symlink(folder.join("a"), folder.join("dir")).unwrap();
    std::os::unix::fs::symlink(folder.join("m.slang"), folder.join("a/m2.slang")).unwrap();
    let spellings =
        ["h.slang", "./h.slang", "a/../h.slang", "a/b/../../h.slang", "link.slang", "a/inner.slang"];
    let more = ["dir/inner.slang", "dir/../h.slang", header.as_str(), "a//..//h.slang"];
    let includes: Vec<String> =
        spellings.iter().chain(&more).map(|path| format!("#include \"{path}\"")).collect();
    let kernel = "import m;\nimport \"a/m2\";\nimport \"a/../m\";\nRWStructuredBuffer<float> o;\n\
        [numthreads(1, 1, 1)] void main() { M m = { once() }; o[0] = m.x; }";
    let main = folder.file("main.slang", format!("{}\n{kernel}", includes.join("\n")));
    let output = run("run", &main, &format!("--set o=f32[0] --print o -I {}", folder.path("a/..")));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "o = f32[3]\n", "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn names_of_files_and_notes_cannot_command_the_terminal() {
    let folder = Folder::new("escapes");
    let name = "a\u{1b}[31m\u{202e}.slang";
    let file = folder.file(name, "import nothing;\n#error \u{1b}[32m stop\nint x = \u{1b}[33m;\n");
    let args = |rest: &[&str]| rest.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let missing = folder.path("b\u{1b}[31m.slang");
    let fine = folder.file("fine.slang", KERNEL);
    for args in [
        args(&["check", &file]),
        args(&["check", &missing]),
        args(&["check", &fine, "-D", "\u{1b}[31m"]),
        args(&["check", &fine, "--no-warn", "\u{1b}[31m"]),
        args(&["explain", "\u{1b}[31m"]),
        args(&["grad", &fine, "--fn", "\u{1b}[31m"]),
        args(&["run", &fine, "--entry", "\u{1b}[31m"]),
        args(&["run", &fine, "--entry", "first", "--set", "\u{1b}[31m=3"]),
        args(&["run", &fine, "--entry", "first", "--save", "result=\u{1b}[31m"]),
    ] {
        let output = cotangent(&args);
        assert!(!output.status.success(), "{args:?}");
        let said = said(&output);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{args:?}: {said:?}");
        assert!(!said.is_empty(), "{args:?}");
    }
}

#[test]
fn a_run_that_reaches_its_limit_is_told_how_to_raise_it() {
    let folder = Folder::new("limit");
    let program = "RWStructuredBuffer<float> o;
        [numthreads(1, 1, 1)] void main() { while (o[0] < 2) o[0] = o[0] * 0.5; }";
    let file = folder.file("endless.slang", program);
    let output = run("run", &file, "--set o=f32[1] --max-steps 10000");
    assert_eq!(output.status.code(), Some(4));
    assert!(said(&output).contains("E0804") && said(&output).contains("--max-steps"), "{}", said(&output));
    let wrong = run("run", &file, "--set o=f32[1] --backend gpu --max-steps 10000");
    assert!(said(&wrong).contains("--max-seconds"), "{}", said(&wrong));
    let wrong = run("run", &file, "--set o=f32[1] --backend interpreter --max-seconds 2");
    assert!(said(&wrong).contains("--max-steps"), "{}", said(&wrong));
    let late = run("run", &file, "--set o=f32[1] --max-seconds 1");
    assert_eq!(late.status.code(), Some(4));
    assert!(said(&late).contains("E0813") && said(&late).contains("--max-seconds"), "{}", said(&late));
    // Each launch is short, but there are many.
    let quick = folder
        .file("quick.slang", "RWStructuredBuffer<float> o; [numthreads(1, 1, 1)] void main() { o[0] += 1; }");
    for many in ["--repeat 4000000000", "--entry main*1000000000"] {
        let late = run("run", &quick, &format!("--set o=f32[1] --max-seconds 1 {many}"));
        assert_eq!(late.status.code(), Some(4), "{many}");
        assert!(said(&late).contains("E0813"), "{}", said(&late));
    }
    let slow = run("run", &file, "--set o=f32[1] --backend interpreter --max-steps 10000");
    assert!(said(&slow).contains("E0804"), "{}", said(&slow));
}

#[test]
fn the_language_version_is_for_files_that_do_not_say_theirs() {
    let folder = Folder::new("versions");
    let old = folder.file("old.slang", "struct B { int x; }\nstruct D : B { }\n");
    assert_eq!(run("check", &old, "").status.code(), Some(0));
    assert_eq!(run("check", &old, "--language 2025").status.code(), Some(0));
    let refused = run("check", &old, "--language 2026");
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("E0359"), "{}", said(&refused));
    let marked = folder.file("marked.slang", "#language slang 2018\nstruct B { int x; }\nstruct D : B { }\n");
    assert_eq!(run("check", &marked, "--language 2026").status.code(), Some(0));
}

const DECAY: &str = "[Differentiable]
float decay(float x, float k)
{
    float y = x;
    for (int i = 0; i < 16; i++)
        y = sin(y) * k < 2 ? sin(y) * k : y;
    return y;
}
";

#[test]
fn a_report_is_a_page_that_needs_nothing_else() {
    let folder = Folder::new("page");
    let file = folder.file("decay.slang", DECAY);
    let page = folder.path("report.html");
    let output = run("report", &file, &format!("--fn decay --html {page}"));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(output.stdout.is_empty());
    let page = std::fs::read_to_string(page).unwrap();
    // The line of the loop's body with its bytes, in escaped text; the formula; all policies.
    assert!(page.contains("y = sin(y) * k &lt; 2 ? sin(y) * k : y;"), "{page}");
    for part in ["*n</code>", "(default)", "recompute", "checkpoint", "decay.slang:5:5"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("src=") && !page.contains("href="), "{page}");
    let output = run("report", &file, "--fn decay --format json");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let total = report["bytes"].as_u64().unwrap();
    assert!(page.contains(&format!("<b>{total} bytes</b>")), "{page}");
    let kept: u64 = report["kept"].as_array().unwrap().iter().map(|k| k["bytes"].as_u64().unwrap()).sum();
    assert_eq!(kept, total);
    assert_eq!(report["loops"][0]["room"], 16);
    assert_eq!(report["policies"].as_array().unwrap().len(), 5);
}

#[test]
fn a_printed_derivative_is_written_to_a_file_and_compiles() {
    let folder = Folder::new("derivative");
    let file = folder.file("decay.slang", DECAY);
    for (mode, name) in [("bwd", "decay_bwd_diff"), ("fwd", "decay_fwd_diff")] {
        let text = folder.path("derivative.slang");
        let output = run("derivative", &file, &format!("--fn decay --mode {mode} -o {text}"));
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(std::fs::read_to_string(&text).unwrap().contains(name));
        let output = run("check", &text, "--deny-warnings");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let output = run("derivative", &file, "--fn other");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
