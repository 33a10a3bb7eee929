//! An array that a loop carries is never copied, filled or added as a whole in an iteration of it, in a function or in its derivative:
//! on the text that is emitted for the kernels of `bench/kernels` and for arrays in structures, of structures and in nested
//! loops.

mod support;

use std::path::{Path, PathBuf};
use support::cotangent;
use support::folder::Folder;

const SHAPES: &str = "
struct Two : IDifferentiable { float a[64]; float b[64]; };
struct Cell : IDifferentiable { float v; float w; };
[Differentiable] float inStruct(float x)
{
    Two s;
    for (int i = 0; i < 64; i++) { s.a[i] = x * i; s.b[i] = x + i; }
    for (int i = 1; i < 64; i++) { s.a[i] = sin(s.a[i - 1]) * s.b[i]; s.b[i] = s.a[i] * 0.5; }
    return s.a[63] + s.b[2];
}
[Differentiable] float ofStructs(float x)
{
    Cell c[64];
    for (int i = 0; i < 64; i++) { c[i].v = x * i; c[i].w = x; }
    for (int i = 1; i < 64; i++) { c[i].v = sin(c[i - 1].v) * c[i].w; c[i].w += c[i].v; }
    return c[63].v + c[1].w;
}
[Differentiable] float nested(float x)
{
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = x * i;
    for (int k = 0; k < 8; k++)
        for (int i = 1; i < 64; i++)
            a[i] = sin(a[i - 1]) * 0.5 + a[i] * x;
    return a[63];
}
RWStructuredBuffer<float> o;
[numthreads(1, 1, 1)] void gradMain()
{
    var p = diffPair(o[0]);
    bwd_diff(inStruct)(p, 1.0);
    o[1] = p.d;
    bwd_diff(ofStructs)(p, 1.0);
    o[2] = p.d;
    bwd_diff(nested)(p, 1.0);
    o[3] = p.d + inStruct(o[0]) + ofStructs(o[0]) + nested(o[0]);
}
";

/// The names of variables that are arrays, or structures with arrays in them.
fn arrays(text: &str) -> Vec<&str> {
    let is_array = |line: &&str| ["ct::Array<", ": array<", "Two "].iter().any(|ty| line.contains(ty));
    text.lines().map(str::trim).filter(is_array).filter_map(declared_name).collect()
}

/// `a` in `ct::Array<float, 64> a = ..;` and in `var a: array<f32, 64>;`.
fn declared_name(line: &str) -> Option<&str> {
    let left = line.split(" = ").next()?.trim_end_matches(';');
    match left.strip_prefix("var ") {
        Some(rest) => rest.split(':').next(),
        None => left.rsplit(' ').next().filter(|_| line.ends_with(';')),
    }
}

/// Lines inside of loops that read or write an array as a whole. A function ends where a line is nothing but a brace.
fn copies(text: &str) -> Vec<&str> {
    text.split("\n}\n").filter(|part| !part.trim_start().starts_with("struct")).flat_map(copies_in).collect()
}

fn copies_in(text: &str) -> Vec<&str> {
    let arrays = arrays(text);
    let mut loops: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let (trimmed, indent) = (line.trim(), line.len() - line.trim_start().len());
        if trimmed.starts_with('}') {
            loops.retain(|around| *around < indent);
        }
        if !loops.is_empty()
            && let Some((left, right)) = trimmed.trim_end_matches(';').split_once(" = ")
            && trimmed.ends_with(';')
        {
            let whole = |side: &str| arrays.contains(&side);
            if whole(left) || whole(right) || left.contains("ct::Array<") {
                found.push(trimmed);
            }
        }
        if ["for (", "while (", "loop {"].iter().any(|head| trimmed.starts_with(head)) {
            loops.push(indent);
        }
    }
    found
}

fn check(program: &Path, defines: &[&str]) {
    for target in ["cpp", "cuda", "wgsl"] {
        let mut args = ["compile", &program.display().to_string(), "--target", target, "--entry", "gradMain"]
            .map(String::from)
            .to_vec();
        args.extend(defines.iter().flat_map(|define| ["-D".to_string(), define.to_string()]));
        let output = cotangent(&args);
        assert!(
            output.status.success(),
            "{}: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout);
        // What stands before the program is the same for all.
        let text = text.split("#endif\n").last().unwrap_or_default().replace("\n};\n", "\n}\n");
        assert_eq!(copies(&text), Vec::<&str>::new(), "{} in {target}", program.display());
    }
}

#[test]
fn kernels_copy_no_arrays_in_loops() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/kernels");
    let kernel = |name: &str| -> PathBuf { folder.join(name).with_extension("slang") };
    for name in ["k1_polyloop", "k3_splat", "k3_splat_buf", "k4_mlp", "k4_mlp_buf"] {
        check(&kernel(name), &[]);
    }
    check(&kernel("k2_arrayupdate"), &["N=256"]);
}

#[test]
fn arrays_in_and_of_structures_and_in_nested_loops_are_not_copied() {
    let folder = Folder::new("copies");
    check(Path::new(&folder.file("shapes.slang", SHAPES)), &[]);
}

#[test]
fn a_copy_is_seen() {
    let text = "  ct::Array<float, 4> a;\n  for (int i = 0; i < 4; i++) {\n    b = a;\n  }\n  a = b;\n";
    assert_eq!(copies(text), ["b = a;"]);
    let text = "  var a: array<f32, 4>;\n  loop {\n    let _e1 = a;\n  }\n";
    assert_eq!(copies(text), ["let _e1 = a;"]);
}
