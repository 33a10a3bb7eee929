//! Writes the halves of a function whose custom backward derivative has two steps.
//!
//! ```text
//! func @f(x) -> y apply(@a @c.call)           a(x) -> (y, c)      c.call(c, y_ct) -> x_ct
//!
//! func @f.primal(x) -> y, context             func @f.linear(context, x_t) -> y_t
//!   r = call @a x                               y_t = lin_call @f context, x_t
//!   return r.0, r.1                             return y_t
//! ```
//!
//! The user's first function returns the result and the context, which the caller stores. The call in the linear half stays
//! opaque until it is transposed into a call of the second function.

use super::halves::add_halves;
use super::{Key, wrong_signature};
use crate::checkpoint::Callee;
use crate::driver::{Context, Reported};
use crate::stages::UNZIP;
use crate::unzip::{LinearFunc, Unzipped, param};
use cotangent_base::{EntitySet, Symbol};
use cotangent_ir::{
    Apply, Builder, DiffCall, Dir, Func, InputMask, LinCall, Mode, Module, Op, OutputMask, Param, Signature,
    Ty, Value,
};

/// Both halves of the function in `key`.
pub(super) fn halves(cx: &mut Context<'_>, key: &Key, apply: Apply) -> Result<Callee, Reported> {
    cx.fill(apply.primal)?;
    cx.fill(apply.pullback)?;
    let original = &cx.module.funcs[key.func];
    let (name, origin, sig) = (original.name, original.plain_name(), original.sig.clone());
    let Some(context) = context_type(cx.module, &sig, apply) else {
        let span = original.span;
        return Err(wrong_signature(cx, key.func, span));
    };
    let mut primal = primal(cx.module, name, &sig, apply, context);
    primal.origin = Some(origin);
    let linear = linear(cx.module, name, key, &sig, context);
    cx.after(UNZIP, &primal, None);
    cx.after(UNZIP, &linear.func, Some(&linear.lin));
    let needed = InputMask::filled(false, sig.inputs().count());
    let halves = Unzipped { primal, linear, context: Some(context) };
    // The user decides what the context stores. A primal half that stores nothing would be replaced by a call of the function,
    // which may return another value.
    Ok(Callee { repeatable: false, ..add_halves(cx, key.func, halves, needed) })
}

/// The type of what goes from the first step to the second.
fn context_type(module: &Module, sig: &Signature, apply: Apply) -> Option<Ty> {
    let given = module.funcs[apply.primal].sig.ret?.ty;
    match sig.ret {
        Some(_) => module.types.part(given, Some(1)),
        None => Some(given),
    }
}

/// The user's first function, with the context as the last output.
fn primal(module: &mut Module, name: Symbol, sig: &Signature, apply: Apply, context: Ty) -> Func {
    let span = module.funcs[apply.primal].span;
    let given: Vec<Ty> = module.funcs[apply.primal].sig.outputs().map(|o| o.ty).collect();
    let mut own = sig.clone();
    own.params.push(param(module, "context", context, Dir::Out));
    let mut func = Func::new(Symbol::new(&format!("{name}.primal")), own, span);
    func.diff.differentiable = Some(Mode::Backward);
    let inputs = func.inputs().to_vec();
    let mut b = Builder::new(&mut module.types, &mut func);
    let call = b.emit(Op::Call(apply.primal), &inputs, &given);
    let results = b.func.insts[call].results.to_vec();
    let mut outputs: Vec<Value> = match sig.ret {
        Some(_) => vec![b.part(results[0], 0)],
        None => vec![],
    };
    outputs.extend(&results[1..]);
    outputs.push(match sig.ret {
        Some(_) => b.part(results[0], 1),
        None => results[0],
    });
    b.emit(Op::Return, &outputs, &[]);
    func
}

/// A function of the context and the tangents whose body is one opaque call.
fn linear(module: &mut Module, name: Symbol, key: &Key, sig: &Signature, context: Ty) -> LinearFunc {
    let mut params = vec![param(module, "context", context, Dir::In)];
    let inputs = sig.inputs().zip(&key.inputs).filter(|(_, active)| **active).map(|(p, _)| (p.name, p.ty));
    let inputs: Vec<(String, Ty)> = inputs.map(|(name, ty)| (format!("{name}_t"), ty)).collect();
    params.extend(inputs.into_iter().map(|(name, ty)| tangent(module, &name, ty, Dir::In)));
    let outputs: OutputMask = sig.outputs().map(|o| o.diff).collect();
    let active: Vec<Ty> = sig.outputs().filter(|o| o.diff).map(|o| o.ty).collect();
    let results =
        active.into_iter().enumerate().map(|(i, ty)| tangent(module, &format!("out{i}_t"), ty, Dir::Out));
    let results: Vec<Param> = results.collect();
    let types: Vec<Ty> = results.iter().map(|p| p.ty).collect();
    params.extend(results);
    let span = module.funcs[key.func].span;
    let sig = Signature { params, ret: None };
    let mut func = Func::new(Symbol::new(&format!("{name}.linear")), sig, span);
    func.diff.differentiable = Some(Mode::Backward);
    let operands = func.inputs().to_vec();
    let mut b = Builder::new(&mut module.types, &mut func);
    let call = DiffCall { func: key.func, inputs: key.inputs.clone(), outputs };
    let call = b.emit(Op::LinCall(LinCall { call, primals: 1 }), &operands, &types);
    let (sources, tangents) = (EntitySet::from_iter([call]), b.func.insts[call].results.to_vec());
    b.emit(Op::Return, &tangents, &[]);
    let lin: EntitySet<Value> = operands[1..].iter().chain(&tangents).copied().collect();
    LinearFunc { name, func, lin, steep: EntitySet::new(), choices: EntitySet::new(), sources }
}

/// A parameter for the derivative of a value of type `ty`.
fn tangent(module: &mut Module, name: &str, ty: Ty, dir: Dir) -> Param {
    let ty = module.diff.differential(&mut module.types, ty).unwrap_or(ty);
    param(module, name, ty, dir)
}
