//! Lowers types that conform to `IDifferentiablePtrType`: values that refer to the memory of derivatives.
//!
//! Such a value is not differentiated. It is paired with a value that refers to its derivatives. So the derivatives of a
//! function that takes one are those of the *paired* function, in which every such parameter is a `DifferentialPtrPair`
//! without a derivative:
//!
//! ```text
//! float f(P p, float x) { return load(p, 0) * x; }
//!
//! func @paired(f)(%p: PtrPair<P>, %x: f32) -> f32 {
//!   %q: P = extract %p[0]                         uses of `p` other than the calls below are uses of `q`
//!   %l: f32 = call @paired(load)(%p, 0)           a call of what takes a `P` gets the pair
//!   ..
//! ```
//!
//! Custom derivatives have exactly these parameters: `load_bwd(DifferentialPtrPair<P> p, int i, float d)`. So autodiff does
//! not handle pointers.
//!
//! Only unchanged parameters have a pair. A pointer that a differentiable function creates has none, and values loaded
//! through it are constants. A function that is called with both kinds is refused.

use crate::declare::SourceSig;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::Symbol;
use cotangent_ir::{self as ir, Func, FuncId, Value};
use cotangent_sema::hir::FuncRef;

/// The declaration of the paired function, given the plain one.
pub(crate) fn pair(lowerer: &mut Lowerer<'_>, plain: Func, mut sig: SourceSig) -> (Func, SourceSig) {
    for param in &mut sig.params {
        if let Some(pair) = param.pair.take() {
            param.ty = pair;
        }
    }
    let name = Symbol::new(&format!("paired({})", plain.name));
    let mut func = Func::new(name, lowerer.ir_sig(&sig, plain.span), plain.span);
    func.origin = Some(plain.plain_name());
    func.inline = plain.inline;
    (func, sig)
}

impl<'a, 'c> Frame<'a, 'c> {
    /// Writes the body of a paired function: that of the plain one, with the first halves of its pairs.
    pub fn define_paired(lowerer: &'a mut Lowerer<'c>, id: FuncId, func: FuncRef) {
        let Some((body, subst)) = lowerer.instance_body(func) else {
            let hir = &lowerer.queries.program.funcs[func.func];
            let (span, message) = (hir.span, format!("`{}` has no body to differentiate", hir.name));
            return lowerer.error(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
        };
        let mut frame = Frame::new(lowerer, id, subst, body);
        frame.bind_params();
        for local in frame.body.params.clone() {
            let (value, ty) = (frame.var(local), frame.local_ty(local));
            if frame.func.ty(value) != ty {
                let first = frame.b().part(value, 0);
                frame.pairs.insert(first, value);
                frame.set_var(local, first);
            }
        }
        frame.finish(id);
    }

    /// A call with pairs in place of pointers, where their pairs are known.
    pub fn with_pairs(&mut self, callee: FuncId, mut inputs: Vec<Value>) -> (FuncId, Vec<Value>) {
        if self.pairs.is_empty() || !self.lowerer.has_pointers(callee) {
            return (callee, inputs);
        }
        let params = self.lowerer.source_sig(callee).params;
        let pointers: Vec<usize> = (0..)
            .zip(params.iter().filter(|p| p.dir != ir::Dir::Out))
            .filter(|(_, p)| p.pair.is_some())
            .map(|p| p.0)
            .collect();
        let known = pointers.iter().filter(|i| self.pairs.contains_key(&inputs[**i])).count();
        if known == 0 {
            return (callee, inputs);
        }
        if known < pointers.len() {
            self.unsupported("mixing pointers with and without derivatives is");
            return (callee, inputs);
        }
        for i in pointers {
            inputs[i] = self.pairs[&inputs[i]];
        }
        (self.lowerer.paired(callee).unwrap_or(callee), inputs)
    }
}
