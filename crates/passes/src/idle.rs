//! Makes idle lanes exit at once, for drivers that run lanes beside the threads of a group.
//!
//! ```text
//! global @o: rwbuffer<i32> param
//!
//! func @main(%t: u32x3) entry(3, 1, 1)(group_thread_id) {
//!   %o: rwbuffer<i32> = global @o
//!   %n: i32 = const 4
//!   for %n () body(%i: i32) {
//!     store %o, %i [0]
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @o: rwbuffer<i32> param
//!
//! func @main(%t: u32x3) entry(3, 1, 1)(group_thread_id) {
//!   %x: u32 = extract %t [0]
//!   %y: u32 = extract %t [1]
//!   %z: u32 = extract %t [2]
//!   %3: u32 = const 3
//!   %1: u32 = const 1
//!   %one: u32 = const 1
//!   %a: bool = lt %x, %3
//!   %b: bool = lt %y, %1
//!   %c: bool = lt %z, %one
//!   %ab: bool = and %a, %b
//!   %inside: bool = and %ab, %c
//!   if %inside {
//!     yield
//!   } else {
//!     return
//!   }
//!   %o: rwbuffer<i32> = global @o
//!   %n: i32 = const 4
//!   for %n () body(%i: i32) {
//!     store %o, %i [0]
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! llvmpipe runs 4, 8 or 16 lanes at once. If a group does not fill them, the remaining lanes run with indices of threads
//! that do not exist; their stores are masked. A loop that such a lane does not leave uses up the iterations that the driver
//! allows the whole group, and every later loop ends after one iteration, without an error.
//!
//! Lanes run along x. Drivers fold x to 0 where the size there is 1, so then the index in the group is compared with the one
//! that y and z give.
//!
//! Functions in which threads wait for each other do not change, since shading languages forbid an exit before a barrier: see
//! [`is_exposed`].

use cotangent_base::Scalar;
use cotangent_ir::{
    Builder, Const, Dir, Entry, Func, Link, Math, Module, Op, Param, Stage, SystemValue, Ty, Type, Types,
    Value,
};

/// The most lanes that run at once.
const LANES: u32 = 16;

/// Lets lanes without a thread leave at once.
pub fn idle(module: &mut Module) {
    if has_barriers(module) || !has_loops(module) {
        return;
    }
    let Module { funcs, types, .. } = module;
    for func in funcs.values_mut() {
        let threads = func.entry.as_ref().filter(|entry| has_idle_lanes(entry)).map(|entry| entry.threads);
        if let Some(threads) = threads {
            leave(types, func, threads);
        }
    }
}

/// Whether lanes without a thread may run loops, since threads wait for each other.
pub fn is_exposed(module: &Module) -> bool {
    let entries = || module.funcs.values().filter_map(|func| func.entry.as_ref());
    has_barriers(module) && has_loops(module) && entries().any(has_idle_lanes)
}

fn has_idle_lanes(entry: &Entry) -> bool {
    entry.stage == Stage::Compute && !entry.threads[0].is_multiple_of(LANES)
}

fn has_barriers(module: &Module) -> bool {
    any(module, |op| matches!(op, Op::Barrier(barrier) if barrier.sync))
}

fn has_loops(module: &Module) -> bool {
    any(module, Op::is_loop)
}

fn any(module: &Module, is: impl Fn(&Op) -> bool) -> bool {
    module.funcs.values().any(|func| func.all_insts().iter().any(|inst| is(&func.insts[*inst].op)))
}

/// Leaves an entry point if its thread is none of the group.
fn leave(types: &mut Types, func: &mut Func, threads: [u32; 3]) {
    let vector = types.intern(Type::Vector(Scalar::U32, 3));
    let word = types.scalar(Scalar::U32);
    let thread = input(func, "thread", SystemValue::GroupThreadId, vector);
    // Drivers know that x is 0 where a group has the size 1 there, so only the index tells lanes apart.
    let index = (threads[0] == 1).then(|| input(func, "index", SystemValue::GroupIndex, word));
    let rest = std::mem::take(&mut func.regions[func.body].insts);
    let mut b = Builder::new(types, func);
    let at = [0, 1, 2].map(|axis| b.part(thread, axis));
    let sizes = threads.map(|count| b.constant(Const::Int(count.into()), word));
    let inside = match index {
        None => {
            let [x, y, z] = [0, 1, 2].map(|axis| b.math(Math::Lt, &[at[axis], sizes[axis]]));
            let row = b.math(Math::And, &[x, y]);
            b.math(Math::And, &[row, z])
        }
        Some(index) => {
            let planes = b.math(Math::Mul, &[at[2], sizes[1]]);
            let expected = b.math(Math::Add, &[planes, at[1]]);
            b.math(Math::Eq, &[index, expected])
        }
    };
    b.if_(inside, &[], |b| b.yield_(&[]), |b| _ = b.emit(Op::Return, &[], &[]));
    let body = func.body;
    func.regions[body].insts.extend(rest);
}

/// A value that the system gives to an entry point, which may take it already.
pub(crate) fn input(func: &mut Func, name: &str, value: SystemValue, ty: Ty) -> Value {
    let link = Link::System(value);
    let known = func.entry.as_ref().and_then(|entry| entry.inputs.iter().position(|input| *input == link));
    if let Some(known) = known {
        return func.inputs()[known];
    }
    func.sig.params.push(Param { name: name.into(), ty, dir: Dir::In, diff: false });
    if let Some(entry) = &mut func.entry {
        entry.inputs.push(link);
    }
    func.add_arg(func.body, ty)
}
