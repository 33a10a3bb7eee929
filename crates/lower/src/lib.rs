//! From typed program to IR, specializing generics on the way.
//!
//! The typed program is generic and has variables, places and scopes; the IR is concrete and has only values. The
//! way there is a work list of *instances*: a function with concrete generic arguments. `instance` declares one
//! with its signature when it is first mentioned and fills in the body when its turn comes, so recursion needs no
//! care and order is that of first mention. A call of an interface's requirement is resolved then and there, since
//! the conforming type is known.
//!
//! Lowering closes the world for autodiff: for every instance that derivatives are taken of also its custom derivatives
//! are instances, for every differentiable structure there is a row in the module's table (`diff`), and a call of
//! `bwd_diff(f)` is a call of a *request*, a function without a body that autodiff will write.
//!
//! | module                              | what it turns into IR                                         |
//! | ----------------------------------- | ------------------------------------------------------------- |
//! | `roots`                             | what the user asks for; where lowering starts                 |
//! | `instance`                          | functions with their arguments; the work list                 |
//! | `declare`                           | their names and signatures                                    |
//! | `allowed`                           | whether they may be called for this target and stage          |
//! | `types`                             | types                                                         |
//! | `unpack`                            | packs, taken apart                                            |
//! | `sums`, `dispatch`, `conformance`   | interface types, and what depends on who conforms             |
//! | `diff`                              | rows of the table of differentials; signatures of derivatives |
//! | `demand`                            | which custom derivatives are needed                           |
//! | `intrinsic`                         | library functions that stand for one operation                |
//! | `reinterpret`                       | the one intrinsic that is many operations                     |
//! | `synth`                             | members of `IDifferentiable` that nobody wrote                |
//! | `global`                            | parameters of the shader, `static` and group-shared variables |
//! | `params`                            | what the parameters of the shader are made of                 |
//! | `entry`                             | entry points                                                  |
//! | `stage`, `varying`                  | what vertex and fragment shaders take and give                |
//! | `func`                              | bodies: the state while one is lowered                        |
//! | `stmt`, `branch`, `loops`           | statements; how variables become values                       |
//! | `assigned`                          | which variables need a new value where control flow joins     |
//! | `switch`, `breaks`                  | the statement that falls through                              |
//! | `by_ref`                            | `__ref` parameters and pointers                               |
//! | `counter`                           | the counters of structured buffers                            |
//! | `fold`                              | nothing; finds known numbers, so that dead branches are left out |
//! | `zero`                              | nothing; reports integers that are divided by zero            |
//! | `pairs_again`                       | nothing; reports second derivatives through pairs of pointers |
//! | `frozen`                            | functions without derivatives, for calls under `no_diff`      |
//! | `bytes`                             | values in buffers of words                                    |
//! | `pairing`                           | functions that take pairs of pointers, for their derivatives  |
//! | `expr`, `number`, `call`, `place`   | expressions; how assignments become values                    |
//!
//! What cannot be lowered yet gets a diagnostic of the E07 family at its place and lowering goes on, so one run
//! tells everything. A module with such diagnostics is not meant to be used.

mod allowed;
mod assigned;
mod branch;
mod breaks;
mod by_ref;
mod bytes;
mod call;
pub mod codes;
mod conformance;
mod counter;
mod declare;
mod demand;
mod diff;
mod dispatch;
mod entry;
mod expr;
mod fold;
mod frozen;
mod func;
mod global;
mod instance;
mod intrinsic;
mod loops;
mod matrices;
mod number;
mod pairing;
mod pairs_again;
mod params;
mod place;
mod reinterpret;
mod roots;
mod stage;
mod stmt;
mod sums;
mod switch;
mod synth;
mod system;
mod types;
mod unpack;
mod varying;
mod zero;

pub use roots::{ConformanceId, Lowered, Options, Roots, lower, lower_with, no_such};
