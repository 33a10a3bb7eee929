//! Linearizes calls.
//!
//! ```text
//! r = call f x, y          r, r_t = diff_call f[10] x, y, x_t
//! ```
//!
//! The callee determines how:
//!
//! - If it has a *substitute*, the substitute is called instead.
//! - If it has no derivatives, or its derivatives are zero, the call does not change. The same holds if no argument has a
//!   tangent or no output is differentiable, unless the callee is a *source* (see [`callee`](crate::callee)), whose custom
//!   derivative still runs.
//! - If it has a *library rule*, the call does not change, and the rule is expanded after it.
//! - Any other call becomes a call beside its derivative, which each mode translates in its own way.
//!
//! **Expanding a rule.** A rule computes tangents of outputs from inputs and tangents of inputs, and is linear in the
//! tangents: `sin_t(x, x_t) = cos(x) * x_t`. The derivative of a linear function is the function itself. So the rule's body
//! is copied with *stand-ins* for its tangent parameters, and the copy is linearized like any other code. The tangents of the
//! stand-ins are the tangents of the arguments:
//!
//! ```text
//! y = call sin x           y = call sin x
//!                          c = call cos x
//!                          y_t = mul c, x_t
//! ```
//!
//! Instructions of the copy that depend on stand-ins (here, `mul c, z`) are omitted; only their tangents are emitted. The
//! arguments themselves have no tangents inside the rule. So a tangent that is symbolically zero stays so, and no second set
//! of rules is needed. A function that a rule calls with a tangent is linear in it, so its body is expanded too.

use super::Linearizer;
use crate::callee::{self, Callee, resolve};
use crate::codes;
use crate::prepare::prepare;
use cotangent_base::Diagnostic;
use cotangent_ir::{
    Builder, Copier, DiffCall, Func, FuncId, InputMask, Inst, InstData, Mode, Op, OutputMask, Value,
};
use std::rc::Rc;

/// How deep rules may call each other before that looks like a circle.
const RULE_DEPTH: usize = 32;

/// Whether `func` computes derivatives of `of`.
fn is_derivative(of: &Func, func: FuncId) -> bool {
    let pullback = of.diff.apply.map(|apply| apply.pullback);
    [of.diff.forward, of.diff.backward, pullback].contains(&Some(func))
}

impl Linearizer<'_> {
    /// Whether the outputs of `func` may have tangents even if no input has one, because a custom derivative makes them.
    pub(super) fn reaches_custom(&mut self, func: FuncId) -> bool {
        self.sources.in_any_mode(self.funcs, func)
    }

    pub(super) fn call(&mut self, inst: Inst, func: FuncId) {
        let operands = self.func.insts[inst].operands.to_vec();
        let any = operands.iter().any(|x| self.get(*x).is_some());
        if self.in_rule() {
            return if any { self.write_out(inst, func, &operands) } else { self.push(inst) };
        }
        let (func, callee) = resolve(self.funcs, func);
        self.func.insts[inst].op = Op::Call(func);
        match callee {
            Callee::Constant => {
                self.push(inst);
                if any {
                    self.refuse_custom(inst, func);
                } else {
                    self.refuse_memory(inst, func);
                }
            }
            Callee::Rule(rule) => {
                self.push(inst);
                if any {
                    self.apply_rule(inst, func, rule, operands);
                }
            }
            Callee::Derived => self.diff_call(inst, func),
        }
    }

    /// A derivative calls the user's derivatives where there are any. To differentiate that derivative once more, those
    /// must be differentiable too; front ends cannot see this, since nobody wrote the call. What `__apply` gives may have no
    /// derivative as a whole, but what is computed from it does.
    fn refuse_custom(&mut self, inst: Inst, func: FuncId) {
        let funcs = self.funcs;
        let mut of = funcs.values().find(|f| f.diff.apply.is_some_and(|a| a.primal == func));
        if of.is_none() && !self.is_detached(inst) {
            of = funcs.values().find(|f| is_derivative(f, func));
        }
        let Some(of) = of else { return };
        let custom = &self.funcs[func];
        let message = format!(
            "`{}` is not differentiable, but a derivative of `{}` needs its derivative",
            custom.name, of.name
        );
        let diagnostic = Diagnostic::new(codes::CUSTOM_NOT_DIFFERENTIABLE, custom.span, message)
            .here("a custom derivative")
            .label(of.span, "this derivative is differentiated again")
            .help(format!("mark `{}` `[Differentiable]`, or give it a custom derivative", custom.name));
        self.diagnostics.push(diagnostic);
    }

    /// A custom forward derivative reads memory whose gradient the backward derivative of its function would write, as that of
    /// `DiffBuffer.load` does. Where the forward derivative is called instead, nothing would write the gradient.
    fn refuse_memory(&mut self, inst: Inst, func: FuncId) {
        let funcs = self.funcs;
        let results = self.func.insts[inst].results.clone();
        let carries = results.iter().any(|y| self.differential(*y).is_some());
        if self.mode != Mode::Backward || !carries || self.is_detached(inst) {
            return;
        }
        let Some(of) = callee::forward_reading(funcs, func) else { return };
        let name = funcs[of].plain_name();
        let message = format!(
            "the gradient of the memory that `{name}` reads would be lost in this derivative of a derivative"
        );
        let diagnostic = Diagnostic::new(codes::CUSTOM_NOT_DIFFERENTIABLE, self.span, message)
            .here("the inner derivative has read it already")
            .help("read the value outside and pass it as a parameter, or use plain buffers and differentiate the kernel");
        self.diagnostics.push(diagnostic);
    }

    /// Whether no result of `inst` that could carry a derivative does: `no_diff` detaches them all.
    fn is_detached(&mut self, inst: Inst) -> bool {
        let results = self.func.insts[inst].results.clone();
        let carrying: Vec<Value> = results.into_iter().filter(|y| self.differential(*y).is_some()).collect();
        let uses = |data: &InstData| data.operands.iter().any(|x| carrying.contains(x));
        !self.func.insts.values().any(|data| data.op != Op::Detach && uses(data))
    }

    /// Makes `inst` a call beside its derivative, if it has one here.
    fn diff_call(&mut self, inst: Inst, func: FuncId) {
        let sig = &self.funcs[func].sig;
        let operands = self.func.insts[inst].operands.clone();
        let inputs: InputMask =
            sig.inputs().zip(&operands).map(|(p, x)| p.diff && self.get(*x).is_some()).collect();
        let outputs: OutputMask = sig.outputs().map(|o| o.diff).collect();
        let varies = outputs.contains(&true) && (inputs.contains(&true) || self.reaches_custom(func));
        if !varies && !self.sources.contain(self.funcs, func, self.mode) {
            self.warn_dropped(func);
            self.refuse_memory(inst, func);
            return self.push(inst);
        }
        let tangents: Vec<Value> =
            operands.iter().zip(&inputs).filter_map(|(x, a)| a.then(|| self.get(*x))?).collect();
        self.func.insts[inst].operands.extend(tangents);
        self.func.insts[inst].op = Op::DiffCall(DiffCall { func, inputs, outputs: outputs.clone() });
        self.push(inst);
        self.add_results(inst, &outputs);
    }

    /// Warns if a call of `func`, which stays as it is, drops what a custom derivative of the other mode gives.
    fn warn_dropped(&mut self, func: FuncId) {
        for (custom, span) in callee::dropped(self.funcs, func, self.span, self.mode) {
            let custom = &self.funcs[custom];
            let (other, this, attribute) = match self.mode {
                Mode::Forward => ("backward", "forward mode", "ForwardDerivative"),
                Mode::Backward => ("forward", "reverse mode", "BackwardDerivative"),
            };
            let message = format!(
                "`{}` has a {other} derivative only, and {this} drops the derivative here",
                custom.name
            );
            let diagnostic = Diagnostic::new(codes::ONE_MODE, span, message)
                .label(custom.span, "declared here")
                .help(format!(
                    "name its derivative with `[{attribute}(g)]`, or write `no_diff` before the call"
                ));
            self.diagnostics.push(diagnostic);
        }
    }

    /// Writes out the rule of a call of `func` that has just been placed.
    fn apply_rule(&mut self, inst: Inst, func: FuncId, rule: FuncId, operands: Vec<Value>) {
        let sig = &self.funcs[func].sig;
        let wanted: Vec<usize> = sig.outputs().enumerate().filter(|(_, o)| o.diff).map(|(i, _)| i).collect();
        let active = sig.inputs().zip(&operands).filter(|(p, _)| p.diff).map(|(_, x)| *x);
        let active: Vec<Value> = active.collect();
        let mut arguments = operands.clone();
        for x in active {
            let ty = self.differential(x).expect("a differentiable parameter has a differential");
            let stand_in = self.builder().zero(ty);
            if let Some(x_t) = self.get(x) {
                self.active.insert(stand_in);
                self.tangents.insert(stand_in, x_t);
            }
            arguments.push(stand_in);
        }
        let hidden: Vec<(Value, Value)> =
            operands.iter().filter_map(|x| self.tangents.remove_entry(x)).collect();
        for (x, _) in &hidden {
            self.active.remove(*x);
        }
        self.rules.push(rule);
        let outputs = self.splice(rule, &arguments);
        self.rules.pop();
        for (x, x_t) in hidden {
            self.active.insert(x);
            self.tangents.insert(x, x_t);
        }
        for (index, output) in wanted.into_iter().zip(outputs) {
            if let Some(y_t) = self.get(output) {
                self.set(self.func.insts[inst].results[index], y_t);
            }
        }
    }

    /// Inside a rule: the tangents of the results of a call whose arguments have tangents, from its body.
    fn write_out(&mut self, inst: Inst, func: FuncId, operands: &[Value]) {
        if self.rules.len() >= RULE_DEPTH {
            let name = self.funcs[func].name;
            return self.nonlinear(format!("the derivative rules of `{name}` call each other without end"));
        }
        self.rules.push(func);
        let outputs = self.splice(func, operands);
        self.rules.pop();
        for (index, output) in outputs.into_iter().enumerate() {
            if let Some(y_t) = self.get(output) {
                self.set(self.func.insts[inst].results[index], y_t);
            }
        }
    }

    /// Copies the body of `func` to where instructions go, linearizing it; gives what it returns.
    fn splice(&mut self, func: FuncId, arguments: &[Value]) -> Vec<Value> {
        let from = self.without_exits(func);
        let region = self.func.new_region();
        let mut copier = Copier::new();
        for (&parameter, &argument) in from.inputs().iter().zip(arguments) {
            copier.rename(parameter, argument);
        }
        let mut b = Builder { types: self.types, func: &mut self.func, region, span: self.span };
        copier.insts(&from, from.body, &mut b);
        self.func.place_in_source(region, from.span, self.span);
        let mut insts = std::mem::take(&mut self.func.regions[region].insts);
        let Some(exit) = insts.pop() else {
            return Vec::new();
        };
        self.activate(&insts);
        for inst in insts {
            self.inst(inst);
        }
        self.func.insts[exit].operands.to_vec()
    }

    /// The body of `func`, which a rule needs, with one `return` at its end.
    fn without_exits(&mut self, func: FuncId) -> Rc<Func> {
        let (types, funcs) = (&mut *self.types, self.funcs);
        let prepared =
            self.prepared.entry(func).or_insert_with(|| Rc::new(prepare(types, &funcs[func]).func));
        Rc::clone(prepared)
    }

    /// Whether a rule is being written out.
    pub(super) fn in_rule(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Inside a rule: values that stand for tangents do not exist, so what carries one carries a zero.
    pub(super) fn replace_stand_ins(&mut self, inst: Inst) {
        if !self.in_rule() {
            return;
        }
        for i in 0..self.func.insts[inst].operands.len() {
            let operand = self.func.insts[inst].operands[i];
            if self.get(operand).is_some() {
                let ty = self.func.ty(operand);
                self.func.insts[inst].operands[i] = self.builder().zero(ty);
            }
        }
    }

    /// A rule of the library has a bug.
    pub(super) fn nonlinear(&mut self, message: String) {
        let rule = &self.funcs[self.rules[0]];
        let diagnostic = Diagnostic::new(codes::NONLINEAR_RULE, rule.span, message)
            .label(self.span, "here")
            .help(format!("rewrite the rule `{}` so that it is linear in its tangents", rule.name));
        self.diagnostics.push(diagnostic);
    }
}
