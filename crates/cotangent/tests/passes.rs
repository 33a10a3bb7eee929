//! The list of passes in ARCHITECTURE.md, and what observing the passes shows.

use cotangent::pipeline::{names, table};
use cotangent::{Request, Roots, Session, Texts};
use std::path::Path;
use std::time::Duration;

#[test]
fn architecture_lists_the_table_of_passes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).expect("ARCHITECTURE.md can be read");
    let mut lines = text.lines().skip_while(|line| *line != "| pass | within | what it does |").skip(2);
    let listed: Vec<&str> = lines.by_ref().take_while(|line| line.starts_with('|')).collect();
    let row = |entry: cotangent::pipeline::Entry| {
        let within = entry.within.map_or(String::new(), |within| format!("`{within}` "));
        format!("| `{}` | {within}| {} |", entry.pass.name, entry.pass.does)
    };
    let rows: Vec<String> = table().into_iter().map(row).collect();
    assert_eq!(listed, rows, "the list should be\n\n{}\n", rows.join("\n"));
}

#[test]
fn names_of_passes_are_unique() {
    let mut sorted = names();
    sorted.sort_unstable();
    let all = sorted.len();
    sorted.dedup();
    assert_eq!(sorted.len(), all);
}

const PROGRAM: &str = "
RWStructuredBuffer<float> out;
[Differentiable] float f(float x, int n) {
    float y = 1;
    [MaxIters(8), Checkpoint(2)] for (int i = 0; i < n; i++) {
        if (y > 4) break;
        float z = sin(y);
        y = y * x + (2.0 * 3.0);
        if (x > 0) y += z;
    }
    return y;
}
[numthreads(1, 1, 1)] void main() {
    DifferentialPair<float> x = diffPair(out[0]);
    bwd_diff(f)(x, 3, 1.0);
    for (int i = 1; i < 4; i++) out[i] = x.d * i;
}
";

fn compile(watch: impl Fn(&mut cotangent::pipeline::Watch)) -> cotangent::pipeline::Watch {
    let mut request = Request::new("program.slang");
    watch(&mut request.watch);
    let program = Session::new(Texts::new([("program.slang", PROGRAM)])).program(&request);
    let compiled = program.compile(Roots::Entries(vec![]));
    let watch = compiled.watch.clone();
    compiled.accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    watch
}

/// Every pass that does something here can be listed, those within `optimize` and `autodiff` too.
#[test]
fn code_is_listed_after_every_pass() {
    let watch = compile(|watch| watch.list_after(names()));
    let idle = ["unroll", "pointers", "exits"];
    for name in names().into_iter().filter(|name| !idle.contains(name)) {
        assert!(watch.listings().iter().any(|(pass, _)| *pass == name), "nothing is listed after {name}");
    }
}

#[test]
fn passes_are_timed_within_the_passes_around_them() {
    assert!(compile(|_| ()).rows().is_empty(), "nothing is timed unless asked for");
    fn clock() -> Duration {
        use std::sync::atomic::{AtomicU64, Ordering};
        static TICKS: AtomicU64 = AtomicU64::new(0);
        Duration::from_millis(TICKS.fetch_add(1, Ordering::Relaxed))
    }
    let watch = compile(|watch| watch.time_with(clock));
    let rows = watch.rows();
    let row = |pass: &str, around: Option<&str>| {
        let is_meant = |row: &&cotangent::pipeline::Row| {
            row.pass == pass && row.around.map(|index| rows[index].pass) == around
        };
        rows.iter().find(is_meant).unwrap_or_else(|| panic!("no row for {pass} in {around:?}"))
    };
    let (optimize, dce) = (row("optimize", None), row("dce", Some("optimize")));
    assert!(optimize.runs == 1 && dce.runs > 1 && dce.time < optimize.time);
    assert!(dce.after < dce.before && optimize.before > 0 && optimize.after > 0);
    let (autodiff, sink) = (row("autodiff", None), row("sink", Some("prepare")));
    // The loop and its segment are prepared apart.
    assert!(autodiff.after > autodiff.before && sink.runs == 2);
}
