//! Lowers calls.
//!
//! Arguments are evaluated from left to right: an `in` argument to its value, an `out` or `inout` argument to its address.
//! Then the values of `inout` arguments are read, so that `s.push(s.pop())` pushes onto the shortened stack. After the call,
//! the results are written back in parameter order. So `out` and `inout` are copy-in, copy-out, as the language specifies. If
//! two parameters refer to the same variable, the last one wins.
//!
//! The function that satisfies a requirement may have wider or narrower numbers than the requirement (`double` for `float`).
//! Then arguments and results are converted.

use crate::diff;
use crate::dispatch::Deferred;
use crate::func::Frame;
use crate::instance::Origin;
use crate::place::Place;
use cotangent_ir::{self as ir, Dir, Op, Ty, Value};
use cotangent_sema::hir::{self, Call, Expr, FuncRef};

/// An argument, evaluated as far as its direction asks for.
enum Argument {
    Value(Value),
    Place(Place, Dir),
}

impl Frame<'_, '_> {
    /// Calls a function or a derivative of one. Under `no_diff` no derivative goes in or out.
    pub fn call(&mut self, call: &Call, no_diff: bool) -> Option<Value> {
        if let Some(through) = &call.through {
            return self.call_through(call, through, no_diff);
        }
        if let Some(counted) = self.counting(call) {
            return Some(counted);
        }
        let mut callee = self.callee(call)?;
        let params = self.lowerer.module.funcs[callee].sig.params.clone();
        let sources = self.lowerer.source_sig(callee).params;
        let given: Vec<&Expr> = call.args.iter().flat_map(|(_, arg)| arg.elements()).collect();
        if params.len() != given.len() {
            self.internal("a call has other arguments than its function");
            return None;
        }
        let (mut args, mut copied, mut computed) = (Vec::new(), 0, false);
        for (i, (arg, param)) in given.into_iter().zip(&params).enumerate() {
            let by_ref = sources.get(i).is_some_and(|s| s.by_ref);
            args.push(match param.dir {
                _ if by_ref => match self.reference(arg) {
                    Ok(pointer) => Argument::Value(pointer),
                    Err(place) => {
                        computed |= place.has_getter();
                        copied |= 1u64.checked_shl(i as u32).unwrap_or(0);
                        Argument::Place(place, Dir::InOut)
                    }
                },
                Dir::In => Argument::Value(self.expr(arg)),
                Dir::Out | Dir::InOut => Argument::Place(self.place(arg), param.dir),
            });
        }
        if computed && self.lowerer.in_library(callee) {
            return self.texel_atomic();
        }
        if copied != 0 {
            callee = self.copying_callee(call, callee, copied)?;
        }
        let mut inputs = Vec::new();
        for arg in &args {
            match arg {
                Argument::Value(value) => inputs.push(*value),
                Argument::Place(place, Dir::InOut) => inputs.push(self.read(place)),
                Argument::Place(..) => {}
            }
        }
        let (result, outs) = self.emit_call(callee, inputs, no_diff);
        let places = args.iter().filter_map(|arg| match arg {
            Argument::Place(place, _) => Some(place),
            Argument::Value(_) => None,
        });
        for (place, out) in places.zip(outs) {
            self.write(place, out);
        }
        result
    }

    /// Calls a static requirement of the type that a value of interface type is.
    fn call_through(&mut self, call: &Call, through: &Expr, no_diff: bool) -> Option<Value> {
        let func = self.lowerer.queries.subst_func(call.callee, &self.subst);
        let ty = self.lowerer.queries.subst(through.ty, &self.subst);
        let mut inputs = vec![self.expr(through)];
        if call.args.iter().any(|(dir, _)| *dir != hir::Dir::In) {
            self.unsupported("a static method with `out` parameters, called through an interface value, is");
            return None;
        }
        inputs.extend(call.args.iter().flat_map(|(_, arg)| arg.elements()).map(|arg| self.expr(arg)));
        let callee = self.lowerer.origin(Origin::Deferred(Deferred::Static(func, ty)))?;
        self.emit_call(callee, inputs, no_diff).0
    }

    /// Calls a function of the library or the user's by reference, with all inputs as values; gives the result and
    /// the values of `out` and `inout` parameters.
    pub fn call_values(
        &mut self,
        func: FuncRef,
        inputs: Vec<Value>,
        no_diff: bool,
    ) -> Option<(Option<Value>, Vec<Value>)> {
        let func = self.lowerer.queries.subst_func(func, &self.subst);
        let callee = self.lowerer.callee(func, self.site())?;
        Some(self.emit_call(callee, inputs, no_diff))
    }

    fn callee(&mut self, call: &Call) -> Option<ir::FuncId> {
        let func = self.lowerer.queries.subst_func(call.callee, &self.subst);
        let mut callee = self.lowerer.callee(func, self.site())?;
        if !call.diff.is_empty() {
            callee = self.lowerer.paired(callee)?;
        }
        for &mode in &call.diff {
            callee = self.lowerer.origin(Origin::Request(diff::mode(mode), callee))?;
        }
        Some(callee)
    }

    fn emit_call(
        &mut self,
        callee: ir::FuncId,
        inputs: Vec<Value>,
        no_diff: bool,
    ) -> (Option<Value>, Vec<Value>) {
        let sig = self.lowerer.module.funcs[callee].sig.clone();
        // What is only treated as differentiable gives constants, as if it were called under `no_diff`.
        let constant = self.lowerer.module.funcs[callee].diff.constant;
        let no_diff = no_diff || constant;
        let types: Vec<Ty> = sig.outputs().map(|o| o.ty).collect();
        let shown = self.shown_drops(callee);
        if inputs.len() != sig.inputs().count() {
            self.internal("a call has other arguments than its function");
            return (None, vec![]);
        }
        let mut operands = Vec::new();
        for (number, (value, param)) in inputs.into_iter().zip(sig.inputs()).enumerate() {
            let value = self.convert(value, param.ty);
            let drops = if param.diff { no_diff } else { shown.0.get(number) == Some(&true) };
            operands.push(if drops { self.detach(value) } else { value });
        }
        let callee = if no_diff { self.lowerer.frozen(callee) } else { callee };
        let inst = self.b().emit(Op::Call(callee), &operands, &types);
        let results = self.func.insts[inst].results.clone();
        let mut results = results.into_iter();
        let result = sig.ret.and_then(|_| results.next());
        let drops = constant || shown.1;
        let result = result.map(|v| if drops { self.detach(v) } else { v });
        let outs = results.map(|v| if no_diff { self.detach(v) } else { v }).collect();
        (result, outs)
    }

    /// Which inputs of a function, and whether its result, would have a derivative and are shown to drop it.
    fn shown_drops(&mut self, callee: ir::FuncId) -> (Vec<bool>, bool) {
        if !self.lowerer.options.show_dropped || self.func.diff.differentiable.is_none() {
            return Default::default();
        }
        let sig = self.lowerer.source_sig(callee);
        let mut drops = |ty, diff: bool| !diff && self.lowerer.queries.differential(ty).is_some();
        let inputs = sig.params.iter().filter(|p| p.dir != Dir::Out);
        (inputs.map(|p| drops(p.ty, p.diff)).collect(), sig.ret.is_some_and(|(ty, diff)| drops(ty, diff)))
    }
}
