//! Layouts agree with the reference compiler's: the facts are in `layouts.txt`.

use cotangent_ir::layout::{Matrices, Memory, Rules, Target};
use cotangent_ir::text::parse_module;
use cotangent_ir::{Module, Ty, Type};

const FACTS: &str = include_str!("layouts.txt");

/// The rules that `wgsl.buffer.r` names; both ways of laying out matrices if it names none.
fn rules(name: &str) -> Vec<Rules> {
    let mut words = name.split('.');
    let target = words.next().and_then(Target::named).expect("a target");
    let memory = match words.next() {
        Some("buffer") => Memory::Buffer,
        Some("constant") => Memory::Constant,
        other => panic!("{other:?} is no kind of memory"),
    };
    let matrices = match words.next() {
        None => vec![Matrices::Rows, Matrices::Columns],
        Some("r") => vec![Matrices::Rows],
        Some("c") => vec![Matrices::Columns],
        Some(other) => panic!("{other} says nothing about matrices"),
    };
    matrices.into_iter().map(|m| target.rules(memory, m)).collect()
}

/// The layout of a structure in the form of a fact. `like` says for which fields to leave the offset out.
fn show(module: &Module, ty: Ty, rules: Rules, like: &str) -> String {
    let types = &module.types;
    let (offsets, sizes) = like.split_once('=').expect("offsets and sizes");
    let mut out = String::new();
    for (index, offset) in offsets.split_whitespace().enumerate() {
        let (at, inner) = rules.part(types, ty, index as u32).expect("a field");
        let empty = rules.layout(types, inner).expect("a layout").size == 0;
        assert_eq!(empty, offset == "-");
        out += &if empty { "- ".into() } else { format!("{at} ") };
    }
    let layout = rules.layout(types, ty).expect("a layout");
    let stride = rules.stride(types, ty).expect("a stride");
    let stride = if sizes.trim_end().ends_with('-') { "-".to_string() } else { stride.to_string() };
    format!("{out}= {} {} {stride}", layout.size, layout.align)
}

#[test]
fn layouts_are_those_of_the_reference_compiler() {
    let (facts, items): (Vec<&str>, Vec<&str>) = FACTS.lines().partition(|line| line.starts_with("  "));
    let mut module = parse_module(&items.join("\n")).expect("the structures");
    assert!(facts.len() > 800, "the facts are there");
    let (mut current, mut checked) = (None, 0);
    for line in FACTS.lines() {
        if let Some(item) = line.strip_prefix("struct $") {
            let name = item.split_whitespace().next().expect("a name");
            current = module.types.struct_named(name.into());
        }
        let Some((fact, places)) = line.strip_prefix("  ").and_then(|line| line.split_once(" : ")) else {
            continue;
        };
        let ty = module.types.intern(Type::Struct(current.expect("a structure")));
        for place in places.split_whitespace() {
            for rules in rules(place) {
                assert_eq!(show(&module, ty, rules, fact), fact, "{place} in {line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 3000, "only {checked} layouts were compared");
}
