//! General passes over the IR. Each is a file and a function of the same name; [`optimize`](mod@optimize) has their order.
//!
//! | pass | does |
//! | --- | --- |
//! | [`fold`](mod@fold) | folds constants |
//! | [`simplify`](mod@simplify) | simplifies numbers, aggregates and carried values |
//! | [`cse`](mod@cse) | merges common subexpressions |
//! | [`dce`](mod@dce) | removes dead code |
//! | [`hoist`](mod@hoist) | moves invariant code out of loops |
//! | [`sink`](mod@sink) | moves code into the branches that need it |
//! | [`counted`](mod@counted) | turns loops with a counter into counted loops |
//! | [`unroll`](mod@unroll) | unrolls loops marked `[ForceUnroll]` |
//! | [`inline`] | inlines calls |
//! | [`pointers`](mod@pointers) | replaces pointers of known origin |
//! | [`prune`](mod@prune) | removes unused functions |
//! | [`checks`](mod@checks) | tests indices and divisors, for targets where they do not trap |
//! | [`totals`](mod@totals) | adds up in loops what derived kernels add to memory |
//! | [`wave_sums`](mod@wave_sums) | sums what the lanes of a wave add to one element |
//! | [`private_atomics`](mod@private_atomics) | replaces atomic operations on variables of one thread by a load and a store |
//! | [`resource_arrays`](mod@resource_arrays) | replaces accesses to a resource that an index chooses by a `switch` |
//! | [`idle`](mod@idle) | makes idle lanes exit, for drivers that run them |
//! | [`prints`](mod@prints) | replaces `printf` by stores to a buffer, for targets that cannot print |
//! | [`columns`](mod@columns) | transposes matrices that the host stores column-major |
//! | [`sums`](mod@sums) | replaces sums by structures, for targets without sums |
//! | [`widen`](mod@widen) | replaces half and float by binary64, for finite differences |
//! | [`exits`](mod@exits) | removes loops of one iteration, which unrolling and inlining create |
//!
//! Eight analyses serve these and other crates: [`thread_iterations`] bounds the iterations of a thread, [`effects`] summarizes
//! what functions do to memory, [`calls`] is the call graph, [`shape`] maps instructions and exits to enclosing constructs,
//! [`loop_bound`] bounds the iteration counts of loops, [`bounds`] finds the range of each integer by [`interval`] arithmetic,
//! [`place`] assigns storage when a target is emitted, and [`uniform`] finds the values that are equal in all lanes.
//!
//! Beside them: [`pass`] is the table of passes and [`watch`] runs them; [`consts`], [`edit`], [`evaluate`], [`rewrite`] and
//! [`types`] are what several passes share, [`precedence`] what emitters of text share.
//!
//! All passes preserve:
//!
//! - the results of a program, bit for bit, except the payload of a NaN and the sign of a zero that nothing was added to
//!   (`totals`, which runs on derived kernels, changes the order of additions);
//! - its writes, in order;
//! - failed assertions;
//! - nontermination.
//!
//! A pass may remove a trap on an unused index or division. Spans stay with the instructions, and names of variables with the
//! values. Each pass takes time linear in the size of the function (times the depth of its loops at worst).
//!
//! The passes of [`tidy`](optimize::tidy) keep the numbers of values and add only constants, so a table of linear values
//! beside the function stays valid.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

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
pub mod idle;
pub mod inline;
mod interval;
pub mod loop_bound;
pub mod optimize;
pub mod pass;
pub mod place;
pub mod pointers;
pub mod precedence;
pub mod prints;
pub mod private_atomics;
pub mod prune;
pub mod resource_arrays;
mod rewrite;
pub mod shape;
pub mod simplify;
pub mod sink;
pub mod sums;
pub mod thread_iterations;
pub mod totals;
mod types;
pub mod uniform;
pub mod unroll;
pub mod watch;
pub mod wave_sums;
pub mod widen;
