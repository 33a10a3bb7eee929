//! General passes over the IR. Each is a file and a function of the same name; [`optimize`](mod@optimize) has their order.
//!
//! | pass | does |
//! | --- | --- |
//! | [`fold`](mod@fold) | computes what is known |
//! | [`simplify`](mod@simplify) | algebra of numbers, aggregates and carried values |
//! | [`cse`](mod@cse) | computes nothing twice |
//! | [`dce`](mod@dce) | removes what nobody needs |
//! | [`hoist`](mod@hoist) | moves invariant code out of loops |
//! | [`sink`](mod@sink) | moves code into the branches that need it |
//! | [`counted`](mod@counted) | makes loops that count counted loops |
//! | [`unroll`](mod@unroll) | unrolls loops that ask for it |
//! | [`inline`] | replaces calls by bodies |
//! | [`pointers`](mod@pointers) | follows pointers whose origin is known |
//! | [`prune`](mod@prune) | removes functions nobody needs |
//! | [`checks`](mod@checks) | tests indices and divisors, for targets where they do not trap |
//! | [`columns`](mod@columns) | transposes matrices that the host lays out column by column |
//! | [`sums`](mod@sums) | makes sums structures, for targets |
//! | [`exits`](mod@exits) | removes loops of one round, which unrolling and inlining leave behind |
//!
//! Five analyses serve them and others: [`effects`] says what functions do to memory, [`calls`] who calls whom, [`shape`]
//! who contains and who leaves what, [`rounds`] how many rounds loops have at most, and [`place`] which values share storage when a target is written.
//!
//! What all passes keep: the results of a program, bit for bit (payloads of NaN and the sign of a zero that nothing was
//! added to aside), its writes in order, that it stops if it would have stopped on purpose, and that it does not end if
//! it would not have. What they may change: a program that would have trapped on an index or a division nobody needed
//! may not. Spans stay with the instructions, names of variables with the values. Each pass takes time linear in the
//! size of the function (times the depth of its loops at worst).
//!
//! The passes of [`tidy`](optimize::tidy) keep the numbers of values and make no new ones but constants: a table of
//! linear values beside the function stays right.

pub mod bounds;
pub mod calls;
pub mod checks;
pub mod columns;
mod consts;
pub mod counted;
pub mod cse;
pub mod dce;
mod edit;
pub mod effects;
mod evaluate;
pub mod exits;
pub mod fold;
pub mod hoist;
pub mod inline;
mod interval;
pub mod optimize;
pub mod place;
pub mod pointers;
pub mod prune;
mod rewrite;
pub mod rounds;
pub mod shape;
pub mod simplify;
pub mod sink;
pub mod sums;
mod types;
pub mod unroll;
