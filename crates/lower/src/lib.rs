//! Lowers the typed program to IR, and instantiates generics.
//!
//! Input: a checked program, which lowering does not change, and the [`Roots`] to lower. What the program does not contain
//! yet (library bodies, instances of types, witnesses) comes from [`cotangent_sema::Queries`]. Output: [`Lowered`], a module
//! that contains everything the roots need. If there are no errors, the verifier accepts it.
//!
//! The typed program is generic and has variables, places and scopes; the IR is concrete and has only values. A work list
//! holds *instances*: functions with concrete generic arguments. `instance` declares an instance on first use and writes its
//! body later. So recursion is no special case, and functions are in the order of first use. A call of an interface's
//! requirement is resolved at once, since the conforming type is known.
//!
//! Lowering provides everything that autodiff needs: the custom derivatives of every differentiated instance are instances
//! too, every differentiable structure has a row in the module's table (`diff`), and a call of `bwd_diff(f)` is a call of a
//! *request*, a function without a body that autodiff writes.
//!
//! | module                              | what it turns into IR                                         |
//! | ----------------------------------- | ------------------------------------------------------------- |
//! | `roots`                             | the functions that the user selects; lowering starts there    |
//! | `instance`                          | functions with their arguments; the work list                 |
//! | `declare`                           | their names and signatures                                    |
//! | `allowed`                           | whether they may be called for this target and stage          |
//! | `types`                             | types                                                         |
//! | `unpack`                            | packs                                                         |
//! | `sums`, `dispatch`, `conformance`   | interface types, and functions that depend on conforming types |
//! | `diff`                              | rows of the table of differentials; signatures of derivatives |
//! | `demand`                            | which custom derivatives are needed                           |
//! | `intrinsic`                         | library functions that stand for one operation                |
//! | `reinterpret`                       | the one intrinsic that is many operations                     |
//! | `target_code`                       | text and assembly of a target                                 |
//! | `synth`                             | synthesized members of `IDifferentiable`                      |
//! | `global`                            | parameters of the shader, `static` and group-shared variables |
//! | `specialized`                       | specialization constants                                      |
//! | `statics`                           | nothing; orders `static` variables by their initial values    |
//! | `params`, `matrices`                | declared parameters of the shader; layouts of matrices        |
//! | `entry`                             | entry points                                                  |
//! | `thread`                            | the numbers of a thread, for functions that ask for them      |
//! | `stage`, `varying`, `system`        | inputs and outputs of vertex and fragment shaders             |
//! | `func`                              | bodies: the state while one is lowered                        |
//! | `stmt`, `branch`, `loops`           | statements; how variables become values                       |
//! | `assigned`                          | which variables need a new value where control flow joins     |
//! | `switch`, `breaks`                  | `switch` statements                                           |
//! | `by_ref`                            | `__ref` parameters and pointers                               |
//! | `pinned`                            | variables whose address is taken                              |
//! | `counter`                           | the counters of structured buffers                            |
//! | `fold`                              | nothing; finds constants, so that dead branches are omitted   |
//! | `layouts`                           | nothing; reports layouts of buffers that the target lacks     |
//! | `zero`                              | nothing; reports integer divisions by zero                    |
//! | `pairs_again`                       | nothing; reports second derivatives through pairs of pointers |
//! | `frozen`                            | functions without derivatives, for calls under `no_diff`      |
//! | `bytes`                             | values in buffers of words                                    |
//! | `flat`                              | derivatives in buffers of floats                              |
//! | `pairing`                           | functions with pairs of pointers, and companions of pointers  |
//! | `expr`, `number`, `call`, `place`   | expressions; how assignments become values                    |
//!
//! An unsupported construct is reported with a code of the E07 family, and lowering continues, so that one run reports
//! everything. A module with errors must not be used.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

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
mod flat;
mod fold;
mod frozen;
mod func;
mod global;
mod instance;
mod intrinsic;
mod layouts;
mod loops;
mod matrices;
mod number;
mod pairing;
mod pairs_again;
mod params;
mod pinned;
mod place;
mod reinterpret;
mod roots;
mod specialized;
mod stage;
mod statics;
mod stmt;
mod sums;
mod switch;
mod synth;
mod system;
mod target_code;
mod thread;
mod types;
mod unpack;
mod varying;
mod zero;

pub use roots::{ConformanceId, KernelRoot, Lowered, Options, Roots, lower, lower_from, lower_with, no_such};
