//! What several tests share.

#![allow(dead_code, reason = "not every test uses all of it")]

pub mod generate;

use cotangent_ir::layout::Matrices;
use cotangent_ir::{Func, Module, Types};
use cotangent_passes::effects::Effects;
use cotangent_passes::{
    checks, columns, counted, cse, dce, exits, fold, hoist, inline, optimize, pointers, simplify, sink, sums,
    unroll,
};

/// A pass with its name.
pub type Pass = (&'static str, fn(&mut Module));

/// Every pass, and all of them together.
pub const PASSES: &[Pass] = &[
    ("fold", |m| each(m, |types, func, _| _ = fold::fold(types, func))),
    ("simplify", |m| each(m, |types, func, _| _ = simplify::simplify(types, func))),
    ("cse", |m| each(m, |types, func, effects| _ = cse::cse(types, func, effects))),
    ("dce", |m| each(m, |_, func, effects| _ = dce::dce(func, effects))),
    ("hoist", |m| each(m, |types, func, _| _ = hoist::hoist(types, func, optimize::When::BeforeDerivatives))),
    ("sink", |m| each(m, |types, func, effects| sink::sink(types, func, effects, &|_| true))),
    ("counted", |m| each(m, |types, func, _| _ = counted::counted(types, func))),
    ("sums", sums::sums),
    ("checks", checks::checks),
    ("columns", |m| {
        let mut params = Default::default();
        columns::columns(m, &mut params, Matrices::Columns).expect("nothing points to matrices");
    }),
    ("exits", |m| each(m, |types, func, _| _ = exits::exits(types, func))),
    ("unroll", |m| each(m, |types, func, _| _ = unroll::unroll(types, func, 2000))),
    ("pointers", |m| each(m, |types, func, _| _ = pointers::pointers(types, func))),
    ("inline", |m| {
        for func in m.funcs.keys() {
            inline::inline_calls(m, func, &|_| true);
        }
    }),
    ("tidy", |m| each(m, optimize::tidy)),
    ("optimize", optimize::optimize),
    ("everything", |m| {
        for func in m.funcs.keys() {
            inline::inline_calls(m, func, &|_| true);
        }
        each(m, |types, func, _| _ = unroll::unroll(types, func, 2000));
        optimize::optimize(m);
    }),
];

fn each(module: &mut Module, pass: fn(&mut Types, &mut Func, &Effects)) {
    let effects = Effects::of(module);
    for func in module.funcs.values_mut() {
        pass(&mut module.types, func, &effects);
    }
}
