//! Lowers calls under `no_diff`. Input: the callee. Output: a wrapper of it that has no derivative.
//!
//! A custom derivative runs even if no argument or result has a derivative. To prevent that, the program calls a wrapper
//! whose derivative is zero:
//!
//! ```text
//! float y = no_diff f(x);         %y: f32 = call @f.1(%x)       func @f.1(%x: f32) -> f32 constant { call @f(%x) .. }
//! ```
//!
//! The wrapper is also marked differentiable, so that primal substitutes run in it as they do elsewhere. A callee without a
//! derivative needs no wrapper.

use crate::declare::SourceSig;
use crate::instance::{Lowerer, Origin};
use cotangent_ir::{self as ir, Builder, DiffInfo, Func, FuncId, Op, Ty};

impl Lowerer<'_> {
    /// What to call in place of `id` under `no_diff`.
    pub fn frozen(&mut self, id: FuncId) -> FuncId {
        if !self.may_have_derivative(id) {
            return id;
        }
        let frozen = self.origin(Origin::Frozen(id)).unwrap_or(id);
        let differentiable = Some(ir::Mode::Backward);
        self.module.funcs[frozen].diff = DiffInfo { differentiable, constant: true, ..DiffInfo::default() };
        frozen
    }

    fn may_have_derivative(&self, id: FuncId) -> bool {
        let Func { diff, kind, .. } = &self.module.funcs[id];
        let by_hand = || {
            let func = self.func_of(id).map(|func| self.queries.program.funcs[func.func].diff);
            func.is_some_and(|diff| diff.is_custom())
        };
        let has_some = diff.differentiable.is_some() || *kind != ir::FuncKind::Defined || by_hand();
        has_some && !diff.constant
    }

    /// Declares the function that calls `of`.
    pub(crate) fn declare_frozen(&mut self, of: FuncId) -> (Func, SourceSig) {
        let Func { name, origin, sig, span, .. } = &self.module.funcs[of];
        (Func { origin: *origin, ..Func::new(*name, sig.clone(), *span) }, self.source_sig(of))
    }

    /// Writes its body.
    pub(crate) fn define_frozen(&mut self, id: FuncId, of: FuncId) {
        let mut func = self.module.funcs[id].clone();
        let outputs: Vec<Ty> = func.sig.outputs().map(|o| o.ty).collect();
        let inputs = func.inputs().to_vec();
        let mut b = Builder::new(&mut self.module.types, &mut func);
        let call = b.emit(Op::Call(of), &inputs, &outputs);
        let results = b.func.insts[call].results.to_vec();
        b.emit(Op::Return, &results, &[]);
        self.module.funcs[id] = func;
    }
}
