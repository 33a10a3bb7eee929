//! Vertex and fragment shaders (`tests/pipeline`): every entry point in every language that naga writes, seen by the validators of
//! this machine, and its interface compared with what another compiler reports (`name.facts`).
//!
//! A line of facts is `entry in|out path SEMANTIC location count`, a dash for what does not apply. Slang's own compiler numbers
//! targets in its reflection by their order, and in most languages it writes by the number of their semantic; the latter is meant
//! here.

mod support;

use cotangent::ir::Stage;
use cotangent::ir::layout::Target;
use cotangent::reflect::{EntryPoint, Varying};
use cotangent::{Disk, Emitted, Request, Roots, Session, Symbol, capabilities};
use std::path::Path;
use support::validators::{Made, listed, validate};
use support::{folder, programs};

fn entries(path: &Path) -> Vec<EntryPoint> {
    let program = Session::new(Disk::default()).program(&Request::new(path.display().to_string()));
    let found = program.reflect(Roots::Entries(vec![]), Target::Wgsl).accept();
    found.unwrap_or_else(|rejected| panic!("{}: {rejected}", path.display())).entries
}

fn emit(path: &Path, entry: &EntryPoint, target: Target) -> Result<Emitted, Box<cotangent::Diagnostic>> {
    let program = Session::new(Disk::default()).program(&Request::new(path.display().to_string()));
    let lowered = program.compile(Roots::Entries(vec![entry.name])).accept();
    cotangent::shader(&lowered.unwrap_or_else(|rejected| panic!("{rejected}")), target, None)
}

#[test]
fn every_entry_point_is_accepted_or_refused_as_the_table_says() {
    let (mut made, mut whole) = (Vec::new(), 0);
    for path in programs(&folder("pipeline")) {
        let mut all = true;
        for entry in entries(&path) {
            for target in capabilities::SHADERS {
                let program = format!("{}_{}", path.file_stem().unwrap_or_default().display(), entry.name);
                match emit(&path, &entry, target) {
                    Ok(emitted) => {
                        made.push(Made { program, traps: false, target, emitted, stage: entry.stage })
                    }
                    Err(refusal) => {
                        all = false;
                        let text = format!("{program} for {}: {}", target.name(), refusal.message);
                        assert!(listed(&refusal, target).is_some(), "{text}");
                    }
                }
            }
        }
        whole += usize::from(all);
    }
    assert!(whole >= 20, "only {whole} programs are possible in all languages");
    validate(&made, 1);
}

/// A varying as a line of facts.
fn line(entry: &EntryPoint, varying: &Varying) -> String {
    let way = if varying.input { "in" } else { "out" };
    let semantic = match varying.semantic.as_str() {
        "" => "-".to_string(),
        name if varying.location.is_none() && !name.ends_with(|c: char| c.is_ascii_digit()) => {
            format!("{}0", name.to_uppercase())
        }
        name => name.to_uppercase(),
    };
    let place = match varying.location {
        Some(location) => format!("{location} {}", varying.count),
        None => "- -".to_string(),
    };
    format!("{} {way} {} {semantic} {place}", entry.name, varying.name)
}

/// A fact, with targets at the places that their semantics say.
fn fact(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if let Some(number) = words[3].strip_prefix("SV_TARGET") {
        words[4] = number;
    }
    words.join(" ")
}

#[test]
fn interfaces_are_those_of_the_other_compiler() {
    for path in programs(&folder("pipeline")) {
        let facts = std::fs::read_to_string(path.with_extension("facts")).expect("facts");
        let mut facts: Vec<String> = facts.lines().map(fact).collect();
        let entries = entries(&path);
        let pipeline = entries.iter().filter(|entry| entry.stage != Stage::Compute);
        let mut ours: Vec<String> =
            pipeline.flat_map(|entry| entry.varyings.iter().map(|varying| line(entry, varying))).collect();
        facts.sort();
        ours.sort();
        assert_eq!(ours, facts, "{}", path.display());
    }
}

#[test]
fn a_stage_that_is_not_written_can_be_said() {
    let path = folder("pipeline/triangle.slang").display().to_string();
    let compile = |more: &[&str]| {
        let args = ["compile", &path, "--target", "wgsl", "--entry", "fill"];
        support::cotangent(&args.iter().chain(more).map(|a| a.to_string()).collect::<Vec<_>>())
    };
    assert!(compile(&["--stage", "fragment"]).status.success());
    let refused = compile(&["--stage", "vertex"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("`fill` is a fragment shader, not a vertex shader"), "{said}");
    let mut request = Request::default();
    request.options.stage = Some(Stage::Vertex);
    let path = folder("pipeline/modules/corner.slang").display().to_string();
    let program = Session::new(Disk::default()).program(&Request { path, ..request });
    let lowered = program.compile(Roots::Entries(vec![Symbol::new("corner")])).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    let text = cotangent::wgsl(&lowered).unwrap_or_else(|refusal| panic!("{}", refusal.message));
    assert!(text.contains("@vertex"), "{text}");
}

#[test]
fn hlsl_has_the_semantics_of_the_source() {
    let path = folder("pipeline/mesh.slang");
    let Emitted::Text(text) =
        emit(&path, &entries(&path)[0], Target::Hlsl).unwrap_or_else(|r| panic!("{}", r.message))
    else {
        panic!("HLSL is text")
    };
    for part in
        ["float3 position : POSITION0, float3 normal : NORMAL0", "uv : TEXCOORD0;", "uint id : SV_VertexID"]
    {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn a_discard_in_the_branch_of_a_branch_keeps_its_condition() {
    let path = folder("pipeline/discards.slang");
    let Emitted::Text(text) =
        emit(&path, &entries(&path)[0], Target::Wgsl).unwrap_or_else(|r| panic!("{}", r.message))
    else {
        panic!("WGSL is text")
    };
    for part in ["(uv.x - 0.5f) < 0f", "uv.y > 0.75f", "= 5f"] {
        let found = text.replace("uv_1", "uv").contains(part);
        assert!(found, "`{part}` is not in\n{text}");
    }
}

#[test]
fn numbers_of_vertices_and_instances_begin_with_zero() {
    let path = folder("pipeline/instances.slang");
    let entry = &entries(&path)[0];
    let text = |target| match emit(&path, entry, target).unwrap_or_else(|r| panic!("{}", r.message)) {
        Emitted::Text(text) => text,
        Emitted::Words(words) => cotangent::disassemble(&words).unwrap(),
    };
    let expected: [(Target, &[&str]); 2] = [
        (
            Target::SpirV,
            &["OpCapability DrawParameters", "BuiltIn BaseVertex", "BuiltIn BaseInstance", "OpISub"],
        ),
        (Target::Glsl, &["gl_VertexIndex", "gl_BaseVertexARB", "gl_InstanceIndex", "gl_BaseInstanceARB"]),
    ];
    for (target, parts) in expected {
        let text = text(target);
        for part in parts {
            assert!(text.contains(part), "`{part}` is not in\n{text}");
        }
    }
    // These have no numbers that a draw call begins with.
    for target in [Target::Wgsl, Target::Hlsl, Target::Metal] {
        assert!(!text(target).contains("first_vertex"), "{}", target.name());
    }
}
