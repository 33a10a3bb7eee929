//! Every pass keeps the meaning of random programs.

mod support;

use cotangent_ir::text::print_module;
use cotangent_ir::verify;
use support::{PASSES, generate};

#[test]
fn passes_keep_the_results_of_random_programs() {
    for seed in 0..2000 {
        let module = generate::module(seed);
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", print_module(&module)));
        for (name, pass) in PASSES {
            let mut changed = module.clone();
            pass(&mut changed);
            if let Err(e) = verify(&changed) {
                panic!("seed {seed}, {name}: {e}\n{}\n{}", print_module(&module), print_module(&changed));
            }
        }
    }
}
