//! `extract`: the last stage of reverse mode. It writes the body of `bwd_diff(f)`.
//!
//! ```text
//! f.bwd_diff(x_pair.., y_ct..) -> x_pair.. {
//!   x = x_pair.0                            unpack
//!   y, context = call f.primal x            primal half
//!   x_ct = call f.bwd context, x', y_ct     backward half
//!   return (x, x_ct)                        pack
//! }
//! ```
//!
//! Input: the primal and the backward function, and which tangent inputs get a cotangent; the others get zero. Output: the
//! body of the request.

use super::Parts;
use crate::checkpoint::Callee;
use crate::driver::Context;
use crate::stages::EXTRACT;
use crate::tangent;
use crate::transpose::{DERIVATIVE, PRIMAL, Role, roles};
use cotangent_ir::{Builder, DiffTable, FuncId, Module, Op, Signature, TangentMask, Ty, Value};

/// Writes the body of `request`, the backward derivative of a function with signature `sig` and these halves.
pub(super) fn extract(
    cx: &mut Context<'_>,
    request: FuncId,
    sig: &Signature,
    halves: &Callee,
    backward: FuncId,
    contributes: &TangentMask,
) {
    cx.watch.begin(EXTRACT, || 0);
    let roles = roles(sig);
    let mut func = cx.module.funcs[request].clone();
    let Module { types, diff, funcs, .. } = &mut *cx.module;
    let mut b = Builder::new(types, &mut func);
    let given = Unpacked::of(&mut b, &roles, sig);
    let outputs: Vec<Ty> = funcs[halves.primal].sig.outputs().map(|o| o.ty).collect();
    let call = b.emit(Op::Call(halves.primal), &given.primal, &outputs);
    let context = halves.context.and_then(|_| b.func.insts[call].results.last().copied());
    let needed = halves.needed.choose(given.primal.iter().copied());
    let mut operands: Vec<Value> = context.into_iter().chain(needed).collect();
    operands.extend(&given.cotangents);
    let outputs: Vec<Ty> = funcs[backward].sig.outputs().map(|o| o.ty).collect();
    let call = b.emit(Op::Call(backward), &operands, &outputs);
    let results = b.func.insts[call].results.to_vec();
    let packed = given.pack(&mut b, diff, &roles, contributes, &results);
    b.emit(Op::Return, &packed, &[]);
    cx.watch.end(|| func.size());
    cx.module.funcs[request] = func;
    cx.reverse.rough.push(request);
    let cotangents = given.cotangents.len();
    let (of, primal, needed) = (halves.func, halves.primal, halves.needed.clone());
    let parts = Parts { of, needed, primal, context: halves.context, backward, cotangents };
    cx.reverse.parts.insert(request, parts);
}

/// What the inputs of a request hold.
struct Unpacked {
    /// The request's inputs, as they are.
    inputs: Vec<Value>,
    /// The inputs of the original function.
    primal: Vec<Value>,
    /// The cotangents of its outputs that have one.
    cotangents: Vec<Value>,
}

impl Unpacked {
    fn of(b: &mut Builder<'_>, roles: &[Role], sig: &Signature) -> Self {
        let inputs = b.func.inputs().to_vec();
        let mut primal: Vec<Option<Value>> = vec![None; sig.inputs().count()];
        let mut cotangents: Vec<Option<Value>> = vec![None; sig.outputs().count()];
        for (role, &value) in roles.iter().zip(&inputs) {
            match *role {
                Role::Plain(input) => primal[input] = Some(value),
                Role::Seed(output) => cotangents[output] = Some(value),
                Role::Pair { input, output } => {
                    primal[input] = Some(b.part(value, PRIMAL));
                    if let Some(output) = output {
                        cotangents[output] = Some(b.part(value, DERIVATIVE));
                    }
                }
            }
        }
        let (primal, cotangents) = (primal.into_iter().flatten(), cotangents.into_iter().flatten());
        Unpacked { inputs, primal: primal.collect(), cotangents: cotangents.collect() }
    }

    /// The pairs that the request gives back: values as they were, derivatives from `results`, which has one for
    /// each input that gets a contribution.
    fn pack(
        &self,
        b: &mut Builder<'_>,
        diff: &DiffTable,
        roles: &[Role],
        contributes: &TangentMask,
        results: &[Value],
    ) -> Vec<Value> {
        let mut results = results.iter().copied();
        let mut gradients = contributes.iter().map(|c| if *c { results.next() } else { None });
        let mut packed = Vec::new();
        for (role, &pair) in roles.iter().zip(&self.inputs) {
            if let Role::Pair { input, .. } = *role {
                let ty = b.ty(pair);
                let inner = b.types.part(ty, Some(DERIVATIVE)).expect("a pair has two parts");
                let gradient = gradients.next().flatten();
                let gradient = gradient.unwrap_or_else(|| tangent::zero(b, diff, inner));
                packed.push(b.pack(&[self.primal[input], gradient], ty));
            }
        }
        packed
    }
}
