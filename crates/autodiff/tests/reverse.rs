//! The laws of reverse mode, tried on random programs.

mod random;
mod requests;

use cotangent_autodiff::Context;
use cotangent_autodiff::checkpoint::Policy;
use cotangent_base::Symbol;
use cotangent_ir::{text, verify};

const POLICIES: [Policy; 3] = [Policy::StoreAll, Policy::Cut, Policy::StoreMin];

#[test]
fn backward_derivatives_of_random_programs_are_valid_to_the_second_order() {
    for seed in 0..100 {
        for policy in POLICIES {
            let mut module = random::module(seed);
            let f = module.func_named(Symbol::new("f")).expect("the function is there");
            let first = requests::backward(&mut module, f, "first");
            let second = requests::backward(&mut module, first, "second");
            let mut cx = Context::new(&mut module);
            cx.reverse.policy = policy;
            let wanted = if seed % 4 == 0 { second } else { first };
            assert!(cx.fill(wanted).is_ok(), "seed {seed}: {:?}", cx.diagnostics);
            verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", text::print_module(&module)));
        }
    }
}
