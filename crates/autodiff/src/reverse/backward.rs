//! Transposes linear halves into backward functions.
//!
//! Input: a linear half in the module, and which of its outputs have a cotangent. Output: the backward function, and the
//! tangent inputs whose cotangents it returns. Results are cached per half and set of cotangents.

use super::{Recursive, halves};
use crate::driver::{Context, Reported};
use crate::stages::TRANSPOSE;
use crate::transpose::doubts::Doubts;
use crate::transpose::reach::Reach;
use crate::transpose::{Seeds, declare, transpose};
use cotangent_ir::{Func, FuncId, OutputMask, Prefer, TangentMask};
use cotangent_passes::calls::callees;
use std::rc::Rc;

/// Which tangent inputs of a linear half get a cotangent, if the given outputs have one.
pub(crate) fn contributions(
    cx: &mut Context<'_>,
    linear: FuncId,
    outputs: &OutputMask,
) -> Result<TangentMask, Reported> {
    // A recursive function contributes to all its inputs or to none, rather than to what it contributes to.
    if let Some(&Recursive { tangents, source }) = cx.reverse.recursive.get(&linear) {
        return Ok(TangentMask::filled(source || outputs.any(), tangents));
    }
    Ok(reach(cx, linear, outputs)?.contributions().clone())
}

/// Which values of a linear half get a cotangent, if the given outputs have one. Computed once.
fn reach(cx: &mut Context<'_>, linear: FuncId, outputs: &OutputMask) -> Result<Rc<Reach>, Reported> {
    let key = (linear, outputs.clone());
    if let Some(known) = cx.reverse.reach.get(&key) {
        return Ok(known.clone());
    }
    let half = cx.reverse.linear[&linear].clone();
    let found = Rc::new(Reach::of(cx, &half, outputs)?);
    cx.reverse.reach.insert(key, found.clone());
    Ok(found)
}

/// Which tangent inputs of a linear half get a cotangent for sure, if the given outputs have one for sure.
pub(crate) fn certain(
    cx: &mut Context<'_>,
    linear: FuncId,
    outputs: &OutputMask,
) -> Result<TangentMask, Reported> {
    let key = (linear, outputs.clone());
    if let Some(known) = cx.reverse.certain.get(&key) {
        return Ok(known.clone());
    }
    if let Some(&Recursive { tangents, .. }) = cx.reverse.recursive.get(&linear) {
        return Ok(TangentMask::filled(false, tangents));
    }
    let half = cx.reverse.linear[&linear].clone();
    let reach = reach(cx, linear, outputs)?;
    let inputs = Doubts::of(cx, &half, reach.values(), outputs, true)?.inputs;
    cx.reverse.certain.insert(key, inputs.clone());
    Ok(inputs)
}

/// Whether a linear half, or what it calls, has steep operations.
pub(crate) fn is_steep(cx: &mut Context<'_>, linear: FuncId) -> bool {
    if let Some(&known) = cx.reverse.steep.get(&linear) {
        return known;
    }
    // One that calls itself counts as steep, while it is written too; a function called for its values does not.
    let Some(half) = cx.reverse.linear.get(&linear).cloned() else {
        return cx.reverse.recursive.contains_key(&linear);
    };
    cx.reverse.steep.insert(linear, true);
    let found = !half.steep.is_empty() || callees(&half.func).into_iter().any(|callee| is_steep(cx, callee));
    cx.reverse.steep.insert(linear, found);
    found
}

/// The transpose of a linear half for the cotangents that a caller has.
pub(crate) fn backward(cx: &mut Context<'_>, linear: FuncId, seeds: &Seeds) -> Result<FuncId, Reported> {
    let key = (linear, seeds.clone());
    if let Some(&known) = cx.reverse.backward.get(&key) {
        return Ok(known);
    }
    let half = cx.reverse.linear[&linear].clone();
    let contributes = contributions(cx, linear, &seeds.outputs)?;
    let declared = declare(cx.module, &half, seeds, &contributes);
    let id = halves::add(cx, declared.clone(), half.func.diff.differentiable);
    if cx.module.funcs[linear].diff.prefer == Prefer::Rerun {
        cx.module.funcs[id].diff.prefer = Prefer::Rerun;
    }
    cx.reverse.backward.insert(key, id);
    cx.watch.begin(TRANSPOSE, || half.func.size());
    let transposed = reach(cx, linear, &seeds.outputs)
        .and_then(|reach| transpose(cx, declared, &half, seeds, &reach, &contributes));
    cx.watch.end(|| transposed.as_ref().map_or(0, Func::size));
    let transposed = transposed?;
    cx.after(TRANSPOSE, &transposed, None);
    let name = cx.module.funcs[id].name;
    let diff = cx.module.funcs[id].diff.clone();
    cx.module.funcs[id] = Func { name, diff, ..transposed };
    Ok(id)
}
