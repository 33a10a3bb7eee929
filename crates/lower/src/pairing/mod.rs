//! Lowers types that conform to `IDifferentiablePtrType`: values that refer to the memory of derivatives.
//!
//! Such a value is not differentiated. It has a *companion*, which refers to its derivatives. So the derivatives of a function
//! that takes one are those of the *paired* function, in which every such parameter is a `DifferentialPtrPair`, without a
//! derivative. It is written from the plain one, after all plain functions:
//!
//! ```text
//! float f(P p, P q, bool c) { P r = c ? p : q; return load(r, 0); }
//!
//! func @paired(f)(%p: PtrPair<P>, %q: PtrPair<P>, %c: bool) -> f32 {
//!   %p.0: P = extract %p[0]                    and its companion `extract %p[1]`, and the same for `q`
//!   %r: P = select %c, %p.0, %q.0
//!   %r.d: P = select %c, %p.1, %q.1            operations on pointers are repeated on companions
//!   %pair: PtrPair<P> = pack %r, %r.d
//!   %l: f32 = call @paired(load)(%pair, 0)     a call that takes a `P` gets the pair
//!   ..
//! ```
//!
//! Custom derivatives have exactly these parameters: `load_bwd(DifferentialPtrPair<P> p, int i, float d)`. So autodiff does
//! not handle pointers.
//!
//! | file       | what it does                                                                     |
//! |------------|----------------------------------------------------------------------------------|
//! | `types`    | types of companions                                                              |
//! | `flow`     | which values have companions, to a fixed point; values may pass through branches, loops, aggregates and calls |
//! | `transfer` | the same for single operations                                                   |
//! | `write`    | writes the companions beside the values                                          |
//! | `calls`    | what to call with companions, and copies of functions that take them             |
//!
//! A pointer that comes from nowhere (made of global buffers, read from memory) has no companion, and what is loaded through
//! it is a constant. A pointer that had a companion and *lost* it must not lead to a differentiable function: its derivatives
//! would be missing. That is an error at the call.

mod calls;
mod flow;
mod transfer;
mod types;
mod write;

use crate::declare::SourceSig;
use crate::instance::{Lowerer, Origin};
use cotangent_base::{Map, Span, Symbol};
use cotangent_ir::{Func, FuncId, Op, Path, Region, StructId, Ty, Type, Value, ValueDef};
use cotangent_sema::hir::FuncRef;

/// What pairing remembers while a program is lowered.
#[derive(Default)]
pub(crate) struct Pairing {
    /// Paired functions whose bodies are not written yet.
    waiting: Vec<(FuncId, FuncRef)>,
    /// What structures are among pointers.
    pointers: Map<StructId, types::Pointer>,
    /// The types of companions.
    companions: Map<Ty, Option<Ty>>,
    /// Copies of functions, by which of their inputs have companions.
    copies: Map<(FuncId, u64), calls::Copied>,
}

/// What is known of the companion of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Companion {
    /// The value was not assigned, so any will do.
    Any,
    /// There is none: the value refers to constants.
    None,
    /// There is one.
    Known,
    /// There was one.
    Lost(Loss),
}

/// Where and how a companion was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Loss {
    span: Span,
    how: &'static str,
}

impl Companion {
    /// What is known of a value that is one or the other, where control flow meets.
    fn join(self, other: Companion, span: Span) -> Companion {
        match (self, other) {
            (Companion::Any, known) | (known, Companion::Any) => known,
            (Companion::Lost(loss), _) | (_, Companion::Lost(loss)) => Companion::Lost(loss),
            (Companion::None, Companion::None) => Companion::None,
            (Companion::Known, Companion::Known) => Companion::Known,
            (Companion::None, Companion::Known) | (Companion::Known, Companion::None) => {
                Companion::Lost(Loss {
                    span,
                    how: "at run time this may also be a pointer without derivatives",
                })
            }
        }
    }
}

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

impl Lowerer<'_> {
    /// Notes that the body of a paired function is to be written when all plain functions have theirs.
    pub fn pair_later(&mut self, id: FuncId, func: FuncRef) {
        self.pairing.waiting.push((id, func));
    }

    /// Writes the body of a paired function. Says whether there was one to write.
    pub fn pair_next(&mut self) -> bool {
        let Some((id, func)) = self.pairing.waiting.pop() else { return false };
        let Some(plain) = self.origin(Origin::Func(func)) else { return true };
        if self.has_missing() {
            // The plain function was only declared now, so it is written first.
            self.pairing.waiting.push((id, func));
            return true;
        }
        let mut body = self.body_of(plain, id);
        let pairs = self.pairs_of(id, plain);
        let known: Vec<Value> = pairs.iter().map(|(number, _)| body.inputs()[*number]).collect();
        let flow = flow::find(self, &body, &known);
        let mut companions = Map::default();
        for (number, ty) in pairs {
            let (value, companion) = split(self, &mut body, number, ty);
            companions.insert(value, companion);
        }
        write::write(self, &mut body, flow, companions, &[]);
        self.module.funcs[id] = body;
        self.take_notes(plain, id);
        self.spread_demand(id);
        true
    }

    /// The body of `plain` under the head of `id`.
    fn body_of(&self, plain: FuncId, id: FuncId) -> Func {
        let Func { name, origin, span, sig, kind, inline, diff, .. } = self.module.funcs[id].clone();
        let body = self.module.funcs[plain].clone();
        Func { name, origin, span, sig, kind, inline, diff, entry: None, ..body }
    }

    /// The inputs of a paired function that are pairs, with their types.
    fn pairs_of(&self, id: FuncId, plain: FuncId) -> Vec<(usize, Ty)> {
        let (paired, plain) = (&self.module.funcs[id].sig, &self.module.funcs[plain].sig);
        let inputs = paired.inputs().zip(plain.inputs()).enumerate();
        inputs.filter(|(_, (pair, plain))| pair.ty != plain.ty).map(|(i, (pair, _))| (i, pair.ty)).collect()
    }

    /// The parts of a pair of pointers.
    fn pair_parts(&self, pair: Ty) -> Option<(Ty, Ty)> {
        let Type::Struct(id) = self.module.types.get(pair) else { return None };
        let fields = &self.module.types.struct_def(id).fields;
        Some((fields.first()?.ty, fields.get(1)?.ty))
    }
}

/// Makes input `number` a pair: the value that it was becomes the first part. Gives that value and its companion.
fn split(lowerer: &Lowerer<'_>, func: &mut Func, number: usize, pair: Ty) -> (Value, Value) {
    let body: Region = func.body;
    let value = func.regions[body].args[number];
    let (first, second) = lowerer.pair_parts(pair).expect("a pair of pointers has two parts");
    let given = func.add_arg(body, pair);
    func.regions[body].args.pop();
    func.values[given].def = ValueDef::Arg(body, number as u32);
    func.values[given].name = func.values[value].name;
    func.regions[body].args[number] = given;
    let part = |index| Op::Extract(Path::part(index));
    let take = func.new_inst(part(0), &[given], &[first], func.span);
    func.insts[take].results[0] = value;
    func.values[value].def = ValueDef::Result(take, 0);
    let other = func.new_inst(part(1), &[given], &[second], func.span);
    func.regions[body].insts.splice(0..0, [take, other]);
    (value, func.insts[other].results[0])
}
