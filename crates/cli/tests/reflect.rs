//! `cotangent reflect` says where things are, in words and as JSON; emitted WGSL puts them there.

mod support;

use serde_json::Value;
use support::folder::Folder;
use support::{cotangent, folder};

fn said(args: &[&str], program: &str) -> String {
    let path = folder("layout").join(program).display().to_string();
    let mut all: Vec<String> = vec![args[0].into(), path];
    all.extend(args[1..].iter().map(|arg| arg.to_string()));
    let output = cotangent(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_names_every_parameter_and_entry_point() {
    let text = said(&["reflect", "--target", "hlsl"], "wishes.slang");
    for line in
        ["  a: RWStructuredBuffer<int>  [u 1 of space 1, stride 4]", "main: compute, 8 x 1 x 1 threads"]
    {
        assert!(text.lines().any(|l| l == line), "`{line}` is not in\n{text}");
    }
}

#[test]
fn json_has_offsets_and_contexts() {
    let json: Value = serde_json::from_str(&said(&["reflect", "--format", "json"], "context.slang")).unwrap();
    assert_eq!(json["target"], "wgsl");
    assert_eq!(json["entry_points"][0]["threads"], serde_json::json!([2, 3, 4]));
    let field = &json["parameters"][0]["fields"][1];
    assert_eq!((&field["name"], &field["offset"]), (&"weights".into(), &16.into()));
    // The loop keeps two floats per iteration.
    assert_eq!(json["contexts"], serde_json::json!([{ "function": "power", "bytes": 64 }]));
}

#[test]
fn wgsl_binds_parameters_where_reflection_says() {
    let text = said(&["compile", "--target", "wgsl"], "context.slang");
    // An array of floats takes 16 bytes an element in a uniform buffer, which no type of WGSL does.
    for part in
        ["@group(0) @binding(1) \nvar<uniform> settings_1: array<vec4<u32>, 9>", "@group(2) @binding(5)"]
    {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// `step` and `signed` are words of some languages, `main` of others, and naga wants no digit at the end.
#[test]
fn entry_points_are_found_in_the_code_by_the_names_that_reflection_says() {
    let place = Folder::new("entry-names");
    let names = ["step", "main", "signed", "pass2"];
    let entry =
        |name: &str| format!("[shader(\"compute\")] [numthreads(1, 1, 1)] void {name}() {{ o[0] = 1; }}\n");
    let program = names.map(entry).concat();
    place.file("names.slang", format!("RWStructuredBuffer<int> o;\n{program}"));
    let path = place.join("names.slang").display().to_string();
    let run = |words: &[&str]| {
        let output = cotangent(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (target, emitted) in [
        ("wgsl", ["step_", "main", "signed", "pass2_"]),
        ("spirv", ["step", "main", "signed", "pass2"]),
        ("glsl", ["main"; 4]),
        ("hlsl", ["step_", "main", "signed_", "pass2_"]),
        ("metal", ["step", "main_", "signed_", "pass2_"]),
        ("cpp", ["step", "main", "signed_1", "pass2"]),
        ("cuda", ["step", "main_0", "signed_1", "pass2"]),
    ] {
        let text = run(&["reflect", &path, "--target", target]);
        let json: Value =
            serde_json::from_str(&run(&["reflect", &path, "--target", target, "--format", "json"])).unwrap();
        for (number, (name, emitted)) in names.iter().zip(emitted).enumerate() {
            let is_other = *name != emitted;
            let said =
                if is_other { format!("\n{name} (emitted as {emitted}): ") } else { format!("\n{name}: ") };
            assert!(text.contains(&said), "`{said}` is not in\n{text}");
            let known = &json["entry_points"][number]["emitted_name"];
            assert_eq!(known.as_str(), is_other.then_some(emitted), "{name} for {target}");
            let shown = if target == "spirv" { "spirv-asm" } else { target };
            let code = run(&["compile", &path, "--target", shown, "--entry", name]);
            let forms = [("fn ", "("), ("void ", "("), (") ", "("), (" \"", "\"")];
            let forms = forms.map(|(before, behind)| format!("{before}{emitted}{behind}"));
            let is_there = forms.iter().any(|form| code.contains(form));
            assert!(is_there, "`{emitted}` is not in\n{code}");
        }
    }
}

/// The buffers of a derived kernel are bound where reflection of the same derivative says.
#[test]
fn parameters_of_a_derived_kernel_are_listed() {
    let place = Folder::new("derived-reflection");
    let program = "StructuredBuffer<float> w; uniform float k; RWStructuredBuffer<float> y;
        [numthreads(4, 1, 1)] void main(uint3 t : SV_DispatchThreadID) { y[t.x] = w[t.x] * w[t.x] * k; }";
    place.file("square.slang", program);
    let path = place.join("square.slang").display().to_string();
    let run = |command: &str, rest: &[&str]| {
        let mut words = vec![command.to_string(), path.clone(), "--derivative".into(), "main:bwd".into()];
        words.extend(rest.iter().map(|word| word.to_string()));
        let output = cotangent(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&run("reflect", &["--format", "json"])).unwrap();
    let code = run("compile", &["--target", "wgsl"]);
    let params = json["parameters"].as_array().unwrap();
    for name in ["w_grad", "k_grad", "y_grad"] {
        let param = params.iter().find(|param| param["name"] == name).expect(name);
        let slot = &param["slots"][0];
        let bound = format!(
            "@group({}) @binding({}) \nvar<storage, read_write> {name}:",
            slot["space"], slot["index"]
        );
        assert!(code.contains(&bound), "`{bound}` is not in\n{code}");
    }
    let only = run("reflect", &["--wrt", "w"]);
    assert!(only.contains("w_grad") && !only.contains("k_grad"), "{only}");
}

/// `bool` is a word in the emitted code; numbers that no attribute gives are the first free ones.
#[test]
fn specialization_constants_are_listed_with_their_numbers() {
    let place = Folder::new("constants");
    let program =
        "[[vk::constant_id(3)]] const int kind = 4; [SpecializationConstant] const float gain = 1.5;
        layout(constant_id = 0) const bool on = true; RWStructuredBuffer<float> o;
        [shader(\"compute\")] [numthreads(1, 1, 1)] void main() { o[0] = on ? kind * gain : 0; }";
    place.file("constants.slang", program);
    let path = place.path("constants.slang");
    let reflect = |format: &str| {
        let output =
            cotangent(&["reflect", &path, "--target", "spirv", "--format", format].map(String::from));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = reflect("text");
    for line in [
        "  kind: int  [number 3, default 4]",
        "  gain: float  [number 1, default 1.5]",
        "  on: uint  [number 0, default 1]",
    ] {
        assert!(text.lines().any(|l| l == line), "`{line}` is not in\n{text}");
    }
    let json: Value = serde_json::from_str(&reflect("json")).unwrap();
    let constants = json["constants"].as_array().unwrap();
    let kind = serde_json::json!({ "name": "kind", "id": 3, "type": "int", "default": 4 });
    assert!(constants.contains(&kind), "{constants:?}");
}

/// `layout(..)` binds as the attributes do.
#[test]
fn layouts_bind_as_attributes_do() {
    let place = Folder::new("layouts");
    let program = |first: &str, second: &str| {
        format!(
            "{first} Texture2D<float4> image; {second} RWStructuredBuffer<float> o;
            [shader(\"compute\")] [numthreads(1, 1, 1)] void main() {{ o[0] = image[uint2(0)].x; }}"
        )
    };
    place.file("glsl.slang", program("layout(set = 1, binding = 3)", "layout(binding = 2)"));
    place.file("slang.slang", program("[[vk::binding(3, 1)]]", "[[vk::binding(2)]]"));
    let reflect = |name: &str| {
        let output = cotangent(&["reflect", &place.path(name), "--target", "spirv"].map(String::from));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(reflect("glsl.slang").contains("3 of space 1"), "{}", reflect("glsl.slang"));
    assert_eq!(reflect("glsl.slang"), reflect("slang.slang"));
}
