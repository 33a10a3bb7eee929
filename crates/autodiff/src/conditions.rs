//! `conditions`: moves loop conditions that call sources into the loop bodies, where they are differentiated.
//!
//! Input: a function before linearization. Output: the same function with the same results.
//!
//! ```text
//! r = while (x0) { (x)                r = while (x0) { (x)
//!   c = call more x                     yield true
//!   yield c                           } do (x) {
//! } do (x) {                            c = call more x
//!   y = ..                              if c { yield } else { break x }
//!   yield y                             y = ..
//! }                                     yield y
//!                                     }
//! ```
//!
//! `linearize` does not differentiate conditions, since no derivative flows through them. But the derivative of a *source*
//! (see [`callee`](crate::callee)) runs whatever its result is used for. Conditions without a source stay where they are.
//! The loop makes one more iteration, which only evaluates the condition and leaves.

use cotangent_base::{Map, Scalar};
use cotangent_ir::{Builder, Const, Func, Inst, LoopInfo, Op, Region, Types, Value};
use cotangent_passes::effects::Effects;

/// Moves the loop conditions of `func` that call sources.
pub fn conditions(types: &mut Types, func: &mut Func, effects: &Effects) {
    let has_source = |func: &Func, region: Region| effects.region(func, region).sources;
    let mut renamed: Map<Value, Value> = Map::default();
    for inst in func.all_insts() {
        if let (Op::While(info), &[cond, body]) = (&func.insts[inst].op, &func.insts[inst].regions[..])
            && has_source(func, cond)
        {
            let info = *info;
            let args = func.regions[cond].args.clone();
            renamed.extend(args.into_iter().zip(func.regions[body].args.clone()));
            into_body(types, func, inst, cond, body);
            let max_iters = info.max_iters.map(|n| n.saturating_add(1));
            func.insts[inst].op = Op::While(LoopInfo { max_iters, ..info });
        }
    }
    func.replace_uses(|value| renamed.get(&value).copied());
}

/// Moves the instructions of `cond` before those of `body`, with an exit in between. The caller renames the arguments.
fn into_body(types: &mut Types, func: &mut Func, inst: Inst, cond: Region, body: Region) {
    let mut moved = std::mem::take(&mut func.regions[cond].insts);
    let rest = std::mem::take(&mut func.regions[body].insts);
    let answer = moved.pop().and_then(|exit| func.insts[exit].operands.first().copied());
    let answer = answer.expect("a condition yields its answer");
    func.regions[body].insts = moved;
    let (carried, span) = (func.regions[body].args.to_vec(), func.insts[inst].span);
    let mut b = Builder { types, func, region: body, span };
    let leave = |b: &mut Builder<'_>| _ = b.emit(Op::Break(0), &carried, &[]);
    b.if_(answer, &[], |b| b.yield_(&[]), leave);
    b.func.regions[body].insts.extend(rest);
    b.region = cond;
    let bool = b.types.scalar(Scalar::Bool);
    let always = b.constant(Const::Bool(true), bool);
    b.yield_(&[always]);
}
