//! Times launches of a loaded program: of an empty group, of two groups, and of a million threads on one core and on all:
//! `cargo run --release -p cotangent-jit --example launch`.

use cotangent::runtime::{Data, Launch, Runner};
use cotangent::{Request, Roots, Session, Texts};
use cotangent_jit::{Limits, Native};
use std::sync::Arc;
use std::time::Instant;

const TEXT: &str = "
RWStructuredBuffer<float> x;
[numthreads(1, 1, 1)] void empty() { }
[numthreads(64, 1, 1)] void square(uint3 id : SV_DispatchThreadID) { x[id.x] = x[id.x] * x[id.x]; }
[numthreads(64, 1, 1)] void series(uint3 id : SV_DispatchThreadID)
{
    float y = x[id.x];
    for (int i = 1; i < 100; i++) y = y * 0.5 + sin(y) / i;
    x[id.x] = y;
}
groupshared float parts[64];
[numthreads(64, 1, 1)] void meet(uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex)
{
    parts[index] = x[id.x];
    for (int i = 32; i > 0; i /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (index < i) parts[index] += parts[index + i];
    }
    if (index == 0) x[id.x] = parts[0];
}
";

fn main() {
    let program = Session::new(Texts::new([("t.slang", TEXT)])).program(&Request::new("t.slang"));
    let lowered = program.compile(Roots::Module).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    let all = Native::default().limits.cores;
    println!("{:<10} {:>10} {:>8} {:>12} {:>14}", "entry", "groups", "cores", "us a launch", "threads a us");
    for (entry, groups, threads) in [
        ("empty", 1, 1),
        ("empty", 2, 1),
        ("square", 1, 64),
        ("square", 1 << 14, 64),
        ("series", 1 << 14, 64),
        ("meet", 1 << 10, 64),
    ] {
        for cores in [1, all] {
            let native = Native::new(Limits { cores, ..Limits::default() });
            let compiled = cotangent::compiled(&lowered);
            let mut runner = Runner::new(Arc::new(native), compiled).unwrap_or_else(|e| panic!("{e}"));
            let data = Data::parse(&format!("zeros(f32, {})", groups * 64)).unwrap_or_else(|e| panic!("{e}"));
            runner.params.set("x", &data).unwrap_or_else(|e| panic!("{e}"));
            let mut best = f64::INFINITY;
            for _ in 0..if groups > 100 { 20 } else { 2000 } {
                let start = Instant::now();
                let launched = runner.launch(entry, [groups, 1, 1], Launch::default());
                best = best.min(start.elapsed().as_secs_f64() * 1e6);
                assert!(launched.is_ok_and(|launched| launched.ended.is_ok()));
            }
            let rate = f64::from(groups * threads) / best;
            println!("{entry:<10} {groups:>10} {cores:>8} {best:>12.2} {rate:>14.1}");
        }
    }
}
