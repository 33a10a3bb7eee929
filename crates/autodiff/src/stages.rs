//! The stages of differentiation, as rows of the table of passes.
//!
//! Every stage ends with a call of [`Context::after`](crate::Context::after). It verifies the function in debug builds, and
//! lists it if the [`Watch`](cotangent_passes::watch::Watch) requests it: for `--dump-after` and the stage snapshots.

use crate::checkpoint::{Plan, Residual};
use crate::driver::Context;
use cotangent_base::EntitySet;
use cotangent_ir::{Func, Module, Op, Value, text, verify_func, verify_linear};
use cotangent_passes::pass::{Pass, Run};

/// Removes early exits from a copy.
pub const PREPARE: &Pass =
    &stage("prepare", "removes early exits from a copy of the function, and finds slots that count");

/// Cuts loops into segments.
pub const SEGMENTS: &Pass =
    &stage("segments", "cuts loops into segments, functions that the backward pass runs again");

/// Adds the linear map of tangents.
pub const LINEARIZE: &Pass =
    &stage("linearize", "adds the differential of each instruction beside it; this alone is forward mode");

/// Decides about residuals.
pub const CHECKPOINT: &Pass = &stage(
    "checkpoint",
    "decides what the primal half keeps, the backward half recomputes and the caller provides",
);

/// Separates the two halves.
pub const UNZIP: &Pass =
    &stage("unzip", "separates the primal half, which fills a context, from the linear half");

/// Transposes the linear half.
pub const TRANSPOSE: &Pass = &stage("transpose", "transposes the linear half: the backward half");

/// Writes the function that the user calls.
pub const EXTRACT: &Pass =
    &stage("extract", "writes the derivative that was asked for: unpack, primal half, backward half, pack");

/// The stages in the order in which they run. Forward mode is `linearize` alone.
pub const PASSES: &[&Pass] = &[PREPARE, SEGMENTS, LINEARIZE, CHECKPOINT, UNZIP, TRANSPOSE, EXTRACT];

const fn stage(name: &'static str, does: &'static str) -> Pass {
    Pass { name, does, run: Run::Stage }
}

impl Context<'_> {
    /// Ends a pass: `func` is what it made, `lin` its linear values if it has any. An invalid function is a bug in the
    /// compiler.
    pub(crate) fn after(&mut self, pass: &Pass, func: &Func, lin: Option<&EntitySet<Value>>) {
        self.verify(pass, func, lin);
        self.watch.list(pass, || listing(self.module, func, lin));
    }

    /// In debug builds, verifies what a pass made.
    pub(crate) fn verify(&self, pass: &Pass, func: &Func, lin: Option<&EntitySet<Value>>) {
        if !cfg!(debug_assertions) {
            return;
        }
        let valid = verify_func(self.module, func);
        let lawful = valid.and_then(|()| lin.map_or(Ok(()), |lin| verify_linear(func, lin, self.module)));
        if let Err(error) = lawful {
            panic!("internal error after {}: {error}\n{}", pass.name, listing(self.module, func, lin));
        }
    }

    /// Ends `checkpoint`, whose result is no function but a decision about one.
    pub(crate) fn decided(&mut self, func: &Func, plan: &Plan) {
        self.watch.list(CHECKPOINT, || decision(self.module, func, plan));
    }
}

fn listing(module: &Module, func: &Func, lin: Option<&EntitySet<Value>>) -> String {
    text::print_linear_func(module, func, lin.unwrap_or(&EntitySet::new()))
}

/// The context that was decided on, a line per field. Everything else the backward pass needs it computes again, or gets
/// from its caller.
fn decision(module: &Module, func: &Func, plan: &Plan) -> String {
    let mut out = format!("; backward pass of @{}\n", func.name);
    for field in &plan.fields {
        let rounds: String =
            field.loops.iter().map(|(_, rounds)| format!(" for each of {rounds} iterations")).collect();
        let ty = text::print_type(&module.types, field.ty);
        out += &format!(";   stores {}: {ty}, {}{rounds}\n", field.name, what(func, field.residual));
    }
    for (param, _) in func.sig.inputs().zip(&plan.needed).filter(|(_, needed)| **needed) {
        out += &format!(";   receives {} from the caller\n", param.name);
    }
    out
}

fn what(func: &Func, residual: Residual) -> String {
    match residual {
        Residual::Trips(_) => "the trip count of the loop".to_string(),
        Residual::Context(_) => "the context of the call".to_string(),
        Residual::Value(value) => match func.op(value) {
            Some(Op::Math(math)) => format!("the result of `{}`", math.name()),
            Some(op) => format!("the result of `{}`", op.name()),
            None => "a carried value".to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: IR-PASS-13
    #[test]
    #[should_panic(expected = "internal error after linearize")]
    fn what_a_pass_breaks_is_noticed_after_it() {
        let source = "func @f(%x: f32) -> f32 { %y: f32 = mul %x, %x return %y }";
        let mut module = text::parse_module(source).expect("it is valid");
        let mut func = module.funcs.values().next().expect("a function").clone();
        let product = func.all_insts()[0];
        func.insts[product].operands.truncate(1);
        Context::new(&mut module).after(LINEARIZE, &func, None);
    }
}
