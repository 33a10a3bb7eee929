//! Reports elements that one thread writes and another reads in the same dispatch, where that can be seen.
//!
//! The derivative of a kernel is right if no element of a buffer is written by one thread and touched by another. This check finds
//! the plain case: a store and a load of one buffer whose indices differ by a constant, as in `b[i] = b[i + 1]`, where `i` depends
//! on the thread. Where it cannot see that threads have elements of their own either, it warns.

use super::accesses::{Accesses, holds_floats, memory};
use super::owned::owned;
use crate::codes;
use cotangent_base::{Diagnostic, Diagnostics, Map, Set, Span};
use cotangent_ir::{Const, Func, FuncId, Global, GlobalKind, Math, Module, Op, Value};

/// An index: a value plus a constant.
type Index = (Option<Value>, i64);

/// Reports what threads of a kernel do to the elements of others.
pub(super) fn races(
    module: &Module,
    followed: &[FuncId],
    accesses: &Accesses,
    diagnostics: &mut Diagnostics,
) {
    for &id in followed {
        let func = &module.funcs[id];
        let mut stored: Map<Global, Vec<(Index, Span)>> = Map::default();
        let mut loaded: Vec<(Global, Index, Span)> = vec![];
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let Some(global) = memory(func, inst) else { continue };
            let both = accesses.done_to(global).is_some_and(|done| done.read && done.written);
            if !both || module.globals[global].kind != GlobalKind::Param {
                continue;
            }
            if data.op.path().is_none_or(|path| path.indices() == 0) {
                continue;
            }
            if let Op::Load(_) = data.op {
                loaded.push((global, index(func, data.operands[1]), data.span));
            } else if let Op::Store(_) = data.op {
                stored.entry(global).or_default().push((index(func, data.operands[2]), data.span));
            }
        }
        for (global, (base, offset), span) in loaded {
            let others = stored.get(&global).into_iter().flatten();
            let mut others = others.filter(|((other, _), _)| *other == base && depends_on_thread(func, base));
            if let Some((_, store)) = others.find(|((_, other), _)| *other != offset) {
                let name = module.globals[global].name;
                let message = format!("a thread reads an element of `{name}` that another thread writes");
                let diagnostic = Diagnostic::new(codes::KERNEL_RACE, span, message)
                    .label(*store, "written here, at another index")
                    .help("read from one buffer and write to another");
                diagnostics.push(diagnostic);
            }
        }
    }
}

/// Warns of buffers and textures that the kernel reads and writes, unless each thread has elements of its own. For those in
/// `apart`, [`phases`](super::phases) has proved that.
pub(super) fn unseen(
    module: &Module,
    (entry, apart): (FuncId, &Set<Global>),
    followed: &[FuncId],
    accesses: &Accesses,
    diagnostics: &mut Diagnostics,
) {
    let owned = owned(module, entry, followed);
    let mut told: Set<Global> = Set::default();
    for &id in followed {
        let func = &module.funcs[id];
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let writes = matches!(data.op, Op::Store(_) | Op::StoreTexel | Op::Atomic(_));
            let Some(global) = memory(func, inst).filter(|_| writes) else { continue };
            // Atomic operations on integers carry no derivatives.
            let is_added =
                matches!(data.op, Op::Atomic(_)) && !holds_floats(module, func.ty(data.operands[1]));
            let is_param = module.globals[global].kind == GlobalKind::Param;
            let is_read = accesses.done_to(global).is_some_and(|done| done.read);
            let is_own = owned.contains(&global) || apart.contains(&global);
            if is_param && is_read && !is_own && !is_added && told.insert(global) {
                let name = module.globals[global].name;
                let message = format!(
                    "cannot determine whether a thread writes elements of `{name}` that another thread reads"
                );
                let help = "read from one buffer and write to another, or compare with `cotangent gradcheck --entry`";
                diagnostics.push(Diagnostic::new(codes::KERNEL_SHARES, data.span, message).help(help));
            }
        }
    }
}

/// Whether an index is a number of the thread, and not a constant or a counter.
fn depends_on_thread(func: &Func, base: Option<Value>) -> bool {
    let Some(mut value) = base else { return false };
    loop {
        if func.inputs().contains(&value) {
            return true;
        }
        let Some(data) = func.def(value) else { return false };
        if !matches!(data.op, Op::Extract(_) | Op::Swizzle(_) | Op::Convert | Op::Bitcast) {
            return false;
        }
        value = data.operands[0];
    }
}

/// Takes a constant off an index.
fn index(func: &Func, value: Value) -> Index {
    let constant = |value: Value| match func.op(value) {
        Some(Op::Const(Const::Int(number))) => Some(*number),
        _ => None,
    };
    if let Some(number) = constant(value) {
        return (None, number);
    }
    let Some(data) = func.def(value) else { return (Some(value), 0) };
    match (&data.op, &data.operands[..]) {
        (Op::Math(Math::Add), &[a, b]) => match (constant(a), constant(b)) {
            (_, Some(number)) => (index(func, a).0, index(func, a).1 + number),
            (Some(number), _) => (index(func, b).0, index(func, b).1 + number),
            (None, None) => (Some(value), 0),
        },
        (Op::Math(Math::Sub), &[a, b]) => match constant(b) {
            Some(number) => (index(func, a).0, index(func, a).1 - number),
            None => (Some(value), 0),
        },
        (Op::Bitcast, &[a]) => index(func, a),
        _ => (Some(value), 0),
    }
}
