//! Five hundred random programs obey the laws. That wrong derivatives are caught here is what `cargo xtask mutants` shows.

use cotangent_hunt::{Catch, hunt};

#[test]
fn five_hundred_programs_obey_the_laws() {
    let mut caught: Vec<Catch> = Vec::new();
    let tally = hunt(1..501, &mut |c| caught.push(c));
    let shown: Vec<String> = caught
        .iter()
        .map(|c| format!("seed {}: {:?}\n{}\n{}", c.seed, c.failure.kind, c.failure.text, c.program.source()))
        .collect();
    assert!(caught.is_empty(), "{}", shown.join("\n"));
    assert!(tally.smooth > 900, "central differences decided at {} points only", tally.smooth);
    assert!(tally.second > 80, "only {} functions of second order", tally.second);
}
