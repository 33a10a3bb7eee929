//! Parameters are bound where the reference compiler binds them. Each program of `tests/layout` has a file of facts beside it,
//! read off that compiler's reflection: a target, a path, and a place: `offset` and size, `space`, how many bytes a block `holds`,
//! the `stride` of the array in it, or a kind of slot with space, index and count. `main:x` is a parameter of the entry point. `name.columns.facts` are those where matrices lie column by column.

use cotangent::ir::layout::{Matrices, Target};
use cotangent::reflect::{Item, Reflection};
use cotangent::{Disk, Request, Roots, Session};
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/layout");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "slang"));
    found.sort();
    found
}

fn reflect(path: &Path, target: Target, matrices: Matrices) -> Reflection {
    let mut request = Request::new(path.display().to_string());
    request.options.matrices = matrices;
    let program = Session::new(Disk::default()).program(&request);
    let found = program.reflect(Roots::Entries(vec![]), target).accept();
    found.unwrap_or_else(|rejected| panic!("{}: {rejected}", path.display()))
}

fn find<'r>(found: &'r Reflection, path: &str) -> Option<&'r Item> {
    let (mut items, path) = match path.split_once(':') {
        Some((_, path)) => (&found.entries[0].params, path),
        None => (&found.params, path),
    };
    let mut item = None;
    for step in path.split('.') {
        item = Some(items.iter().find(|i| i.name == step)?);
        items = &item?.fields;
    }
    item
}

/// Whether the item is where the fact says.
fn holds(item: &Item, fact: &[&str]) -> bool {
    let number = |i: usize| fact[i].parse().ok();
    match fact[0] {
        "offset" => item.offset == number(1) && item.size == number(2),
        "space" => item.space == number(1),
        "holds" => item.holds == number(1),
        "stride" => item.stride == number(1),
        // There is one range of push constants.
        "push_constant" => item.slots.iter().any(|s| s.kind.name() == "push_constant"),
        kind => item.slots.iter().any(|s| {
            let place = [s.space, s.index, s.count].map(Some);
            s.kind.name() == kind && place == [number(1), number(2), number(3)]
        }),
    }
}

#[test]
fn parameters_are_bound_where_the_reference_compiler_binds_them() {
    let (mut checked, mut wrong) = (0, String::new());
    let all = programs();
    let both = all.iter().flat_map(|program| {
        [(program, "facts", Matrices::Rows), (program, "columns.facts", Matrices::Columns)]
    });
    for (program, facts, matrices) in both {
        let facts = program.with_extension(facts);
        let facts = match matrices {
            Matrices::Rows => std::fs::read_to_string(facts).unwrap(),
            Matrices::Columns if !facts.exists() => continue,
            Matrices::Columns => std::fs::read_to_string(facts).unwrap(),
        };
        for &target in Target::ALL {
            let found = reflect(program, target, matrices);
            let own = facts.lines().filter_map(|l| l.split_once(' ')).filter(|(t, _)| *t == target.name());
            for (_, fact) in own {
                let words: Vec<&str> = fact.split_whitespace().collect();
                let item = find(&found, words[0]);
                checked += 1;
                if !item.is_some_and(|item| holds(item, &words[1..])) {
                    wrong += &format!("{}: {} {fact}, not {item:?}\n", program.display(), target.name());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(checked > 500, "only {checked} facts were compared");
}

#[test]
fn registers_of_direct3d_give_way_where_all_are_numbered_together() {
    // By the rule: a binding that is asked for, then registers in the order of declaration, then what is left over.
    let program =
        programs().into_iter().find(|p| p.ends_with("registers.slang")).expect("the program is there");
    let places = |target, kind: &str| {
        let found = reflect(&program, target, Matrices::Rows);
        let of =
            |name| find(&found, name).unwrap().slots.iter().find(|s| s.kind.name() == kind).map(|s| s.index);
        ["constants", "data", "result", "image", "nearest", "extra", "rest"].map(of)
    };
    let together = [0, 2, 3, 4, 6, 1, 5].map(Some);
    assert_eq!(places(Target::SpirV, "binding"), together);
    assert_eq!(places(Target::Wgsl, "binding"), together);
    // `extra` asks Metal for buffer 1 by its register.
    assert_eq!(places(Target::Metal, "buffer"), [Some(0), Some(2), Some(3), None, None, Some(1), Some(5)]);
}
