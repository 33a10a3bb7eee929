//! Arrays, types and numbers of absurd size.

use crate::{body, each, folder::Folder, judge, limited, survived, survived_bytes, taken, value};

#[test]
fn arrays() {
    for (name, size) in [
        ("two to the 31", "2147483648"),
        ("one less", "2147483647"),
        ("nothing", "0"),
        ("negative", "-1"),
        ("no integer", "99999999999999999999"),
        ("two to the 63", "9223372036854775807"),
        ("a fraction", "1.5"),
    ] {
        survived(&[(name, body(&format!("float a[{size}]; x = a[0];")))]);
    }
    survived(&[
        ("nested", body("float a[65536][65536][65536]; x = a[0][0][0];")),
        ("far beyond", body(&format!("float a{}; x = 1.0;", "[1000000000]".repeat(8)))),
        ("static", format!("static float a[1000000000];\n{}", body("x = a[0];"))),
        ("shared", format!("groupshared float a[1000000000];\n{}", body(""))),
    ]);
}

// They are written at run time, so that they cannot be folded.
#[test]
fn arrays_that_are_filled() {
    let fill = "for (int i = 0; i < 300000000; i++) a[i] = x; x = a[(int)x];";
    survived(&[
        ("local", body(&format!("float a[300000000]; {fill}"))),
        ("two", body("int a[100000000], b[100000000]; a[(int)x] = 1; b[a[(int)x + 1]] = 2; x = b[(int)x];")),
        ("static", format!("static float a[300000000];\n{}", body(fill))),
        ("shared", format!("groupshared float a[300000000];\n{}", body(fill))),
        (
            "recursive",
            format!(
                "[noinline] float g(float x, int n) {{ float a[1000000]; a[n] = x; return n > 0 ? g(a[n], n - 1) + a[n / 2] : x; }}\n{}",
                body("x = g(x, 5000);")
            ),
        ),
    ]);
}

#[test]
fn uniforms() {
    survived(&[
        ("one", format!("uniform int8_t u[0x7fffffff];\n{}", body("x = u[(int)x];"))),
        ("nearly", format!("uniform int8_t u[60000000];\n{}", body("x = u[(int)x];"))),
        (
            "several",
            format!(
                "{}{}",
                each(20, |i| format!("uniform float u{i}[10000000];\n")),
                body(&each(20, |i| format!("x += u{i}[(int)x];")))
            ),
        ),
        (
            "in a block",
            format!(
                "struct S {{ float4 a[9000][9000]; }} ConstantBuffer<S> s;\n{}",
                body("x = s.a[(int)x][2].y;")
            ),
        ),
    ]);
}

// There is not enough memory for what the command line asks for.
#[test]
fn resources_on_the_command_line() {
    let folder = Folder::new("hostile-resources");
    let program = "RWStructuredBuffer<float> o;\nTexture2D<float4> t;\n[numthreads(1, 1, 1)] void main() { o[0] = t[uint2(0)].x; }";
    let file = folder.file("resources.slang", program.as_bytes());
    for set in [
        "o=zeros(f32, 1000000000)",
        "o=random(f32, 250000000)",
        "t=image(12000x12000)",
        "o=zeros(f32, 70000000)",
        "o=zeros(f64, 18446744073709551615)",
    ] {
        for backend in ["cpu", "interpreter"] {
            let output = limited(&["run", "--set", set, "--backend", backend], &file);
            assert_eq!(judge(&output, false), Ok(()), "{set} on {backend}");
        }
    }
}

#[test]
fn arrays_of_resources() {
    let read = "x = t[(int)x].Load(int3(0, 0, 0)).x;";
    survived(&[
        ("textures", format!("Texture2D t[0x7fffffff];\n{}", body(read))),
        (
            "in structures",
            format!(
                "struct S {{ Texture2D t[1000]; }}\nS s[1000][1000];\n{}",
                body("x = s[1][2].t[3].Load(int3(0, 0, 0)).x;")
            ),
        ),
        ("unused", format!("Texture2D t[0x7fffffff];\nSamplerState s[65536][65536];\n{}", body(""))),
        ("many", format!("Texture2D t[16000];\n{}", body(read))),
    ]);
}

#[test]
fn types() {
    survived(&[
        (
            "deep",
            format!(
                "struct S0 {{ float a; }}\n{}{}",
                each(2000, |i| format!("struct S{} {{ S{i} a; }}\n", i + 1)),
                body("S2000 s;")
            ),
        ),
        (
            "deep, backwards",
            format!(
                "{}struct S0 {{ float a; }}\n{}",
                each(1000, |i| format!("struct S{} {{ S{} a; }}\n", 1000 - i, 999 - i)),
                body("S1000 s;")
            ),
        ),
        ("groups", body("").replace("numthreads(1, 1, 1)", "numthreads(2147483647, 2147483647, 64)")),
    ]);
    taken(&[
        (
            "many cases",
            format!(
                "enum E {{ {} }}\n{}",
                each(50_000, |i| format!("e{i}, ")),
                body("x = (float)(int)E.e49999;")
            ),
        ),
        (
            "a long switch",
            body(&format!(
                "switch ((int)x) {{ {} default: break; }}",
                each(5000, |i| format!("case {i}: x = {i}.0; break;\n"))
            )),
        ),
        ("a long list", body(&format!("float a[20000] = {{ {} }}; x = a[3];", "1.0, ".repeat(20_000)))),
        (
            "many fields",
            format!(
                "struct S : IDifferentiable {{ {} }}\n{}",
                each(1000, |i| format!("float a{i};\n")),
                body("S s; s.a0 = x; x = s.a0;")
            ),
        ),
    ]);
}

#[test]
fn numbers() {
    survived(&[
        ("digits", value(&"1".repeat(100_000))),
        ("zeros", value(&format!("1.{}1", "0".repeat(1_000_000)))),
        ("exponent", value("1e999999999999")),
        ("small exponent", value("1e-999999999999")),
        ("hexadecimal exponent", value("0x1p999999999999")),
        ("hexadecimal", value(&format!("0x{}.8p3", "f".repeat(1_000_000)))),
        ("separators", value(&format!("1{}0", "_".repeat(100_000)))),
    ]);
}

#[test]
fn no_text() {
    let program = value("x");
    let with = |before: &[u8], after: &[u8]| [before, program.as_bytes(), after].concat();
    survived_bytes(&[
        ("nothing", vec![]),
        ("zeros", with(b"", b"\0\0\0")),
        ("invalid", with(b"\xff\xfe\x80\n", b"")),
        ("mark", with(b"\xef\xbb\xbf", b"")),
        ("bytes", (0..1_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()),
    ]);
    let lines = value("x\n+ x // a comment\n");
    taken(&[("returns and feeds", lines.replace('\n', "\r\n")), ("returns", lines.replace('\n', "\r"))]);
}
