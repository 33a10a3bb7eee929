//! Shows what a kernel's derivative holds constant. Input: a module as it was lowered, with a kernel to be run as it is. Output: the
//! same with a `detach` wherever the program says `no_diff`: at arguments and results of calls, and at fields.
//!
//! Differences of a dispatch change everything that depends on an input. Whoever compares a derivative with them must hold still what
//! the derivative leaves out, and so needs to find it in the code. The places are those that `mark` and `rows` leave alone.

use super::{isolate, words};
use crate::tangent::differential_path;
use cotangent_base::{Diagnostics, Map};
use cotangent_ir::{Func, FuncId, FuncKind, Inst, Mode, Module, Op, Path, Type, Value};
use cotangent_passes::calls::Calls;

/// Adds the detachments. Memory that holds the bits of floats becomes memory of floats, whose precision can be changed.
pub fn hold(module: &mut Module) {
    if let Some(entry) = module.funcs.keys().find(|id| module.funcs[*id].entry.is_some())
        && words::is_possible(module)
    {
        // What has no derivative is reported where that is asked for.
        let mut unheard = Diagnostics::new();
        isolate(module, entry, &mut unheard);
        let funcs = Calls::below(module, [entry]).callees_first;
        words::words(module, &funcs, &|_| false, &mut unheard);
    }
    hold_all(module);
}

/// Adds them, and changes nothing else.
pub(super) fn hold_all(module: &mut Module) {
    each(module, held);
}

/// Adds those at fields. A derivative needs them too where code is simplified before it is taken: what is read from a field may
/// become what was put there.
pub(super) fn hold_fields(module: &mut Module) {
    each(module, |module, func, inst| (vec![], left_out(module, func, inst)));
}

/// What an instruction needs: detachments before it, and the result of which one follows.
type Held = (Vec<Inst>, Option<Value>);

fn each(module: &mut Module, held: fn(&mut Module, &mut Func, Inst) -> Held) {
    for id in module.funcs.keys().collect::<Vec<FuncId>>() {
        if module.funcs[id].kind == FuncKind::Defined {
            let mut func = module.detach(id);
            hold_in(module, &mut func, held);
            module.funcs[id] = func;
        }
    }
}

fn hold_in(module: &mut Module, func: &mut Func, held: fn(&mut Module, &mut Func, Inst) -> Held) {
    let mut renamed: Map<Value, Value> = Map::default();
    for region in func.regions.keys() {
        let mut insts = vec![];
        for inst in std::mem::take(&mut func.regions[region].insts) {
            let (before, held) = held(module, func, inst);
            insts.extend(before);
            insts.push(inst);
            if let Some(value) = held {
                let detach = detach(func, value, inst);
                renamed.insert(value, func.insts[detach].results[0]);
                insts.push(detach);
            }
        }
        func.regions[region].insts = insts;
    }
    let detached: Map<Value, Value> = renamed.iter().map(|(value, result)| (*result, *value)).collect();
    func.replace_uses(|value| renamed.get(&value).copied());
    for inst in func.all_insts() {
        if let Some(value) = func.insts[inst].results.first().and_then(|result| detached.get(result)) {
            func.insts[inst].operands[0] = *value;
        }
    }
}

fn detach(func: &mut Func, value: Value, at: Inst) -> Inst {
    func.new_inst(Op::Detach, &[value], &[func.ty(value)], func.insts[at].span)
}

fn held(module: &mut Module, func: &mut Func, inst: Inst) -> Held {
    let data = func.insts[inst].clone();
    let mut before = vec![];
    if let Op::Call(callee) = data.op {
        // A derivative that is not written yet holds what its function holds.
        let (of, mode) = origin(module, callee);
        let held_result = of.diff.held_result && mode != Some(Mode::Backward);
        let held = &of.diff.held;
        let callee = &module.funcs[callee];
        let is_held: Vec<bool> = callee.sig.inputs().map(|p| held.contains(&p.name)).collect();
        for (i, _) in is_held.into_iter().enumerate().filter(|(_, is_held)| *is_held) {
            let detach = detach(func, data.operands[i], inst);
            func.insts[inst].operands[i] = func.insts[detach].results[0];
            before.push(detach);
        }
        let result = callee.sig.ret.and(data.results.first().copied());
        return (before, result.filter(|_| held_result));
    }
    (before, left_out(module, func, inst))
}

/// The function of the program that `func` is or differentiates, and the last mode in which.
fn origin(module: &Module, func: FuncId) -> (&Func, Option<Mode>) {
    let (mut func, mut last) = (&module.funcs[func], None);
    while let FuncKind::Request(mode, of) = func.kind {
        last = if last == Some(Mode::Backward) { last } else { Some(mode) };
        func = &module.funcs[of];
    }
    (func, last)
}

/// The result of reading a field that the derivative of its structure leaves out although the type has one.
fn left_out(module: &mut Module, func: &Func, inst: Inst) -> Option<Value> {
    let data = &func.insts[inst];
    let whole = func.ty(*data.operands.first()?);
    let (whole, path) = if let Op::Extract(path) = &data.op {
        (whole, path.clone())
    } else if let Op::Load(path) = &data.op {
        if let Type::Buffer(elem, _) = module.types.get(whole) {
            (elem, Path(path.0.iter().skip(1).copied().collect()))
        } else if let Type::Ref(ty) = module.types.get(whole) {
            (ty, path.clone())
        } else {
            return None;
        }
    } else {
        return None;
    };
    let value = data.results[0];
    let Module { types, diff, .. } = module;
    diff.differential(types, func.ty(value))?;
    diff.differential(types, whole)?;
    differential_path(types, diff, whole, &path).is_none().then_some(value)
}
