//! The laws of reverse mode, tried on random programs, with every preference.
//!
//! Each test guards every transpose rule and every way to keep or repeat a value that occurs in such programs: a slot
//! not cleared, a `continue` taken for a `break`, a captured cotangent dropped, a loop run in the wrong direction, a
//! value kept in the wrong iteration all give another number.

#[allow(dead_code, reason = "random programs are not parsed, nor what they cost looked at")]
mod law;
mod random;
mod requests;

use cotangent_base::Symbol;
use cotangent_ir::Prefer;
use law::Trio;
use random::Random;

// req: OP-03, IR-TR-6, IR-CFG-1, IR-CFG-5, IR-CFG-6, IR-CFG-8, IR-CKPT-1, IR-CKPT-4, IR-CKPT-20
// req: IR-EXT-5, IR-UNZIP-12, LOOP-01, LOOP-02, LOOP-09
#[test]
fn backward_forward_and_differences_agree_on_random_programs() {
    for seed in 0..150 {
        for prefer in Prefer::ALL {
            let module = random::module(seed);
            let f = module.func_named(Symbol::new("f")).expect("the function is there");
            let trio = Trio::of(module, f, prefer);
            assert!(trio.module.func_named(Symbol::new("f.linear")).is_some(), "both halves can be run");
            for point in 0..3 {
                println!("seed {seed}, {prefer:?}, point {point}");
                trio.check(&mut Random::new(seed * 10 + point), 1e-6);
            }
        }
    }
}

// Backward of backward: a context is data like any other.
#[test]
fn the_same_holds_of_the_backward_derivative_itself() {
    for seed in 0..50 {
        for prefer in Prefer::ALL {
            let module = random::module(seed);
            let f = module.func_named(Symbol::new("f")).expect("the function is there");
            let first = Trio::of(module, f, prefer);
            let second = Trio::of(first.module, first.bwd, prefer);
            println!("seed {seed}, {prefer:?}");
            second.check(&mut Random::new(seed), 1e-5);
        }
    }
}

#[test]
fn the_third_order_holds_as_well() {
    for seed in 0..12 {
        let module = random::module(seed);
        let f = module.func_named(Symbol::new("f")).expect("the function is there");
        let first = Trio::of(module, f, Prefer::Auto);
        let second = Trio::of(first.module, first.bwd, Prefer::Auto);
        let third = Trio::of(second.module, second.bwd, Prefer::Auto);
        println!("seed {seed}");
        third.check(&mut Random::new(seed), 1e-5);
    }
}
