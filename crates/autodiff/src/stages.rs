//! What each pass made, for people who want to watch: `--dump-after` and the stage snapshots.
//!
//! Every pass ends by showing its function to [`Context::after`](crate::Context::after), which verifies it in debug builds
//! and, if somebody asked, keeps the listing.

use crate::checkpoint::{Plan, Residual};
use crate::driver::Context;
use cotangent_base::EntitySet;
use cotangent_ir::{Func, Module, Op, Value, text, verify_func, verify_linear};

/// The passes that are shown, in the order in which they run. Forward mode is `linearize` alone.
pub const PASSES: &[&str] = &["prepare", "linearize", "checkpoint", "unzip", "transpose", "extract"];

/// What a pass made of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The pass.
    pub pass: &'static str,
    /// The listing, with linear values marked.
    pub text: String,
}

impl Context<'_> {
    /// Ends a pass: `func` is what it made, `lin` its linear values if it has any. An invalid function is a fault of the
    /// compiler.
    pub(crate) fn after(&mut self, pass: &'static str, func: &Func, lin: Option<&EntitySet<Value>>) {
        self.verify(pass, func, lin);
        if let Some(stages) = &mut self.stages {
            stages.push(Stage { pass, text: listing(self.module, func, lin) });
        }
    }

    /// In debug builds, verifies what a pass made.
    pub(crate) fn verify(&self, pass: &str, func: &Func, lin: Option<&EntitySet<Value>>) {
        if !cfg!(debug_assertions) {
            return;
        }
        let valid = verify_func(self.module, func);
        let lawful = valid.and_then(|()| lin.map_or(Ok(()), |lin| verify_linear(func, lin, self.module)));
        if let Err(error) = lawful {
            panic!("internal error after {pass}: {error}\n{}", listing(self.module, func, lin));
        }
    }

    /// Ends `checkpoint`, whose result is no function but a decision about one.
    pub(crate) fn decided(&mut self, func: &Func, plan: &Plan) {
        if let Some(stages) = &mut self.stages {
            stages.push(Stage { pass: "checkpoint", text: decision(self.module, func, plan) });
        }
    }
}

fn listing(module: &Module, func: &Func, lin: Option<&EntitySet<Value>>) -> String {
    text::print_linear_func(module, func, lin.unwrap_or(&EntitySet::new()))
}

/// The context that was decided on, a line per field. Everything else the backward pass needs it computes again, or gets
/// from its caller.
fn decision(module: &Module, func: &Func, plan: &Plan) -> String {
    let mut out = format!("; the backward pass of @{}\n", func.name);
    for field in &plan.fields {
        let rounds: String =
            field.loops.iter().map(|(_, rounds)| format!(" for each of {rounds} rounds")).collect();
        let ty = text::print_type(&module.types, field.ty);
        out += &format!(";   is kept {}: {ty}, {}{rounds}\n", field.name, what(func, field.residual));
    }
    for (param, _) in func.sig.inputs().zip(&plan.needed).filter(|(_, needed)| **needed) {
        out += &format!(";   is given {} again\n", param.name);
    }
    out
}

fn what(func: &Func, residual: Residual) -> String {
    match residual {
        Residual::Trips(_) => "how often the loop ran".to_string(),
        Residual::Context(_) => "what the call keeps".to_string(),
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
    fn what_a_pass_spoils_is_noticed_behind_it() {
        let source = "func @f(%x: f32) -> f32 { %y: f32 = mul %x, %x return %y }";
        let mut module = text::parse_module(source).expect("it is valid");
        let mut func = module.funcs.values().next().expect("a function").clone();
        let product = func.all_insts()[0];
        func.insts[product].operands.truncate(1);
        Context::new(&mut module).after("linearize", &func, None);
    }
}
