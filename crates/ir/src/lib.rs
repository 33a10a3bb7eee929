//! The intermediate representation: structured, value-semantic SSA.
//!
//! A [`Module`] has types, globals and functions. A [`Func`] is a tree: a region holds instructions, and an instruction may own
//! regions. There are no basic blocks and no pointers to locals. `out` and `inout` parameters are extra results; changing part of
//! an aggregate makes a new one ([`Op::Insert`]). Memory exists only where the user sees it: buffers, group-shared and `static`
//! variables, and pointers into the first two. So differentiating values needs no alias analysis.
//!
//! **Scope.** A value may be used by every later instruction of its region and of the regions nested in
//! those ("capture"). Captures are not listed; passes compute them where needed.
//!
//! **Evaluation.** Instructions run in order. `if`, `switch`, `while` and `for` run their regions; their results are what the
//! region yielded. `break`, `continue` and `return` end a region early and carry all values their target needs, so no state lives
//! outside values.
//!
//! **Types** are concrete: generics are gone before IR exists.
//!
//! [`op`] is the table of all operations; element-wise operations are rows of [`Math`]. Code elsewhere matches on it without a
//! wildcard, with the groups of `groups`.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod builder;
pub mod capabilities;
mod control;
mod copy;
pub mod diff;
mod entry;
pub mod eval;
pub mod flat;
mod func;
mod groups;
pub mod layout;
mod mask;
mod math;
mod memory;
mod module;
pub mod op;
mod screen;
pub mod shader;
pub mod text;
pub mod texture;
mod types;
mod verify;
pub mod wave;

pub use builder::Builder;
pub use control::{Control, Exit};
pub use copy::Copier;
pub use diff::{Apply, DiffInfo, DiffRow, DiffTable, Mode, Prefer};
pub use entry::{Entry, Interpolation, Link, Location, Stage, SystemValue};
pub use func::{
    Dir, Func, FuncId, FuncKind, Inline, Inst, InstData, Param, Region, RegionData, Ret, Signature, Value,
    ValueData, ValueDef,
};
pub use mask::{InputMask, Mask, OutputMask, SlotMask, TangentMask};
pub use math::{Class, Math};
pub use memory::{ADDRESS_BITS, Atomic, AtomicKind, Barrier, Memory};
pub use module::{Global, GlobalData, GlobalKind, Module, Specialized};
pub use op::{
    Again, Const, DiffCall, Effect, LinCall, Linear, LoopInfo, Op, Path, Segments, Step, Trap, TrapCause,
    Unroll,
};
pub use screen::{Axis, Detail, Screen};
pub use types::{Access, StructDef, StructField, StructId, Ty, Type, Types};
pub use verify::{VerifyError, verify, verify_func, verify_linear};
