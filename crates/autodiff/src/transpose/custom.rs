//! The transpose of a call with a custom backward derivative.
//!
//! The custom derivative has the signature of a backward request: an input with a derivative is an `inout` pair, and an
//! output with a derivative is an `in` cotangent. [`roles`] lists what each parameter gets.

use super::Transposer;
use crate::driver::Reported;
use crate::reverse::custom_needs::needs;
use crate::reverse::wrong_signature;
use crate::tangent;
use cotangent_ir::{Dir, FuncId, Inst, LinCall, Op, OutputMask, Signature, Ty, Value};

/// The part of a pair that holds the value.
pub const PRIMAL: u32 = 0;
/// The part of a pair that holds the derivative.
pub const DERIVATIVE: u32 = 1;

/// What a parameter of a backward derivative is, in terms of the original function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A pair of that input, whose derivative comes back.
    Pair {
        /// The number of the input.
        input: usize,
        /// The number of the output whose cotangent goes in, for an `inout` parameter.
        output: Option<usize>,
    },
    /// The cotangent of that output.
    Seed(usize),
    /// That input as it is.
    Plain(usize),
}

/// The parameters of the backward derivative of a function with this signature, in order.
pub fn roles(sig: &Signature) -> Vec<Role> {
    let mut roles = Vec::new();
    let (mut input, mut output) = (0, usize::from(sig.ret.is_some()));
    for param in &sig.params {
        roles.extend(match (param.dir, param.diff) {
            (Dir::In, true) => Some(Role::Pair { input, output: None }),
            (Dir::InOut, true) => Some(Role::Pair { input, output: Some(output) }),
            (Dir::Out, true) => Some(Role::Seed(output)),
            (Dir::In | Dir::InOut, false) => Some(Role::Plain(input)),
            (Dir::Out, false) => None,
        });
        input += usize::from(param.dir != Dir::Out);
        output += usize::from(param.dir != Dir::In);
    }
    if sig.ret.is_some_and(|r| r.diff) {
        roles.push(Role::Seed(0));
    }
    roles
}

impl Transposer<'_, '_> {
    pub(super) fn custom_call(&mut self, inst: Inst, call: &LinCall) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let original = &self.cx.module.funcs[call.call.func];
        if let Some(apply) = original.diff.apply {
            return self.pullback_call(inst, call, apply.pullback);
        }
        let Some(custom) = original.diff.backward else {
            return Err(self.not_linear(inst));
        };
        let roles = roles(&original.sig);
        let types: Vec<Ty> = self.cx.module.funcs[custom].sig.params.iter().map(|p| p.ty).collect();
        if roles.len() != types.len() {
            return Err(wrong_signature(self.cx, call.call.func, data.span));
        }
        let (read, tangents) = data.operands.split_at(call.primals as usize);
        let mut read = self.copy.all(read).into_iter();
        let needs = needs(self.cx, call.call.func, custom)?;
        let input_types: Vec<Ty> = self.cx.module.funcs[call.call.func].sig.inputs().map(|p| p.ty).collect();
        let mut inputs = Vec::new();
        for (needed, ty) in needs.iter().zip(input_types) {
            // What the derivative does not read is not there.
            let given = if *needed { read.next() } else { None };
            inputs.push(given.unwrap_or_else(|| self.build(|b, _| b.undef(ty))));
        }
        let seeds = self.seeds(&call.call.outputs, &data.results);

        let mut operands = Vec::new();
        let mut pairs = Vec::new();
        for (role, &ty) in roles.iter().zip(&types) {
            operands.push(match *role {
                Role::Plain(input) => inputs[input],
                Role::Seed(output) => seeds[output].unwrap_or_else(|| self.zero(ty)),
                Role::Pair { input, output } => {
                    pairs.push((input, ty));
                    let derivative = output.and_then(|o| seeds[o]);
                    self.pair(inputs[input], derivative, ty)
                }
            });
        }
        let results: Vec<Ty> = pairs.iter().map(|(_, ty)| *ty).collect();
        let new = self.build(|b, _| b.emit(Op::Call(custom), &operands, &results));
        for (position, (input, _)) in pairs.into_iter().enumerate() {
            if let Some(tangent) = tangent_of(call, tangents, input) {
                let pair = self.out.insts[new].results[position];
                let derivative = self.build(|b, _| b.part(pair, DERIVATIVE));
                self.add(tangent, derivative);
            }
        }
        Ok(())
    }

    /// The call of a function whose backward derivative comes in two steps: the second of them, on the context.
    fn pullback_call(&mut self, inst: Inst, call: &LinCall, pullback: FuncId) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let (context, tangents) = data.operands.split_at(call.primals as usize);
        let seeds = self.seeds(&call.call.outputs, &data.results);
        let sig = self.cx.module.funcs[call.call.func].sig.clone();
        let types: Vec<Ty> = self.cx.module.funcs[pullback].sig.params[1..].iter().map(|p| p.ty).collect();
        let mut types = types.into_iter();
        let (mut input, mut output) = (0, usize::from(sig.ret.is_some()));
        let mut operands = self.copy.all(context);
        let mut given: Vec<(usize, Ty)> = Vec::new();
        for param in &sig.params {
            if param.diff {
                let ty = types.next().ok_or_else(|| wrong_signature(self.cx, call.call.func, data.span))?;
                if param.dir != Dir::In {
                    operands.push(seeds[output].unwrap_or_else(|| self.zero(ty)));
                }
                if param.dir != Dir::Out {
                    given.push((input, ty));
                }
            }
            input += usize::from(param.dir != Dir::Out);
            output += usize::from(param.dir != Dir::In);
        }
        if let Some(ty) = types.next() {
            operands.push(seeds[0].unwrap_or_else(|| self.zero(ty)));
        }
        let results: Vec<Ty> = given.iter().map(|(_, ty)| *ty).collect();
        let new = self.build(|b, _| b.emit(Op::Call(pullback), &operands, &results));
        for (position, (input, _)) in given.into_iter().enumerate() {
            if let Some(tangent) = tangent_of(call, tangents, input) {
                let result = self.out.insts[new].results[position];
                self.add(tangent, result);
            }
        }
        Ok(())
    }

    /// The cotangent of each output of the original function, if it has one.
    fn seeds(&mut self, outputs: &OutputMask, results: &[Value]) -> Vec<Option<Value>> {
        let mut results = results.iter();
        let mut seed = |active: &bool| {
            if *active { results.next().and_then(|r| self.take(*r)) } else { None }
        };
        outputs.iter().map(&mut seed).collect()
    }

    fn pair(&mut self, primal: Value, derivative: Option<Value>, ty: Ty) -> Value {
        let inner = self.part_type(ty, DERIVATIVE);
        self.build(|b, diff| {
            let derivative = derivative.unwrap_or_else(|| tangent::zero(b, diff, inner));
            b.pack(&[primal, derivative], ty)
        })
    }
}

/// The tangent of an input, if it has one.
fn tangent_of(call: &LinCall, tangents: &[Value], input: usize) -> Option<Value> {
    let active = &call.call.inputs;
    active[input].then(|| tangents[active[..input].iter().filter(|active| **active).count()])
}
