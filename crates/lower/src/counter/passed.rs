//! Passes counters to functions that take buffers.
//!
//! Callers know which buffer a function counts with. So each buffer parameter whose counter is used gets an additional
//! parameter for the counter, after all others, and callers pass it. This happens when all functions are lowered: a caller
//! that takes the buffer as a parameter gets such a parameter in turn, until no function needs one more.
//!
//! ```text
//! uint take(RWStructuredBuffer<uint> b)       func @take(%b: rwbuffer<u32>, %b.counter: rwbuffer<u32>)
//! { return b.IncrementCounter(); }
//!
//! take(pool);                                 %1 = global @pool.counter
//!                                             call @take(%pool, %1)
//! ```
//!
//! Buffers are tracked through structures. A buffer that is chosen at run time has no counter. Neither has a buffer parameter
//! of a differentiated function, because its signature is fixed.

use super::{Lowerer, Source, UNKNOWN, refuse, source};
use cotangent_base::{Map, Scalar, Span, Symbol};
use cotangent_ir::{Access, Dir, Func, FuncId, FuncKind, Inst, Op, Param, Signature, Ty, Type, Value};

/// A buffer that a function was given: the number of the input, and the way to it in there, last step first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Given {
    pub input: usize,
    pub steps: Vec<u32>,
}

/// The counters that a function is given, each with its parameter, in the order of these.
pub(crate) type Counters = Vec<(Given, Value)>;

/// The counter of a buffer that the function was given: the same for the same buffer.
pub(super) fn counter(func: &mut Func, counters: &mut Counters, given: Given, ty: Ty) -> Value {
    if let Some((_, value)) = counters.iter().find(|(known, _)| *known == given) {
        return *value;
    }
    let value = func.add_arg(func.body, ty);
    counters.push((given, value));
    value
}

impl Lowerer<'_> {
    /// Passes counters from where they are known to where they are needed.
    pub(crate) fn pass_counters(&mut self) {
        if self.passed.is_empty() {
            return;
        }
        let mut given: Map<(FuncId, Inst), usize> = Map::default();
        while self.pass_once(&mut given) {}
        let functions: Vec<FuncId> = self.module.funcs.keys().collect();
        for id in functions {
            if self.passed.contains_key(&id) {
                self.settle_signature(id);
            }
        }
    }

    /// Gives every call the counters that its function is known to need by now. Says whether one was missing. `given` is how many a call has.
    fn pass_once(&mut self, given: &mut Map<(FuncId, Inst), usize>) -> bool {
        let mut changed = false;
        for caller in self.module.funcs.keys().collect::<Vec<_>>() {
            for inst in self.module.funcs[caller].all_insts() {
                let Op::Call(callee) = self.module.funcs[caller].insts[inst].op else { continue };
                let Some(needs) = self.passed.get(&callee) else { continue };
                let has = given.entry((caller, inst)).or_default();
                let missing: Vec<Given> = needs[*has..].iter().map(|(given, _)| given.clone()).collect();
                *has = needs.len();
                for need in missing {
                    changed = true;
                    let value = self.counter_for(caller, inst, need);
                    self.module.funcs[caller].insts[inst].operands.push(value);
                }
            }
        }
        changed
    }

    /// The type of a counter.
    pub(super) fn counter_ty(&mut self) -> Ty {
        let word = self.module.types.scalar(Scalar::U32);
        self.module.types.intern(Type::Buffer(word, Access::ReadWrite))
    }

    /// The counter that goes with a buffer in the arguments of a call.
    fn counter_for(&mut self, caller: FuncId, call: Inst, need: Given) -> Value {
        let ty = self.counter_ty();
        let func = &self.module.funcs[caller];
        let argument = func.insts[call].operands[need.input];
        match source(func, argument, need.steps) {
            Source::Global(buffer) => {
                let counter = self.counter(buffer);
                self.at_start(caller, Op::Global(counter), ty)
            }
            Source::Given(given) => {
                let counters = self.passed.entry(caller).or_default();
                counter(&mut self.module.funcs[caller], counters, given, ty)
            }
            Source::Unknown => {
                let span = func.insts[call].span;
                refuse(self, span, UNKNOWN);
                self.at_start(caller, Op::Undef, ty)
            }
        }
    }

    /// The result of an operation without operands, ahead of everything else.
    fn at_start(&mut self, id: FuncId, op: Op, ty: Ty) -> Value {
        let func = &mut self.module.funcs[id];
        let inst = func.new_inst(op, &[], &[ty], Span::none());
        let body = func.body;
        func.regions[body].insts.insert(0, inst);
        func.insts[inst].results[0]
    }

    /// Declares the counters that a function is given.
    fn settle_signature(&mut self, id: FuncId) {
        let is_asked = self.module.funcs.values().any(|other| {
            matches!(other.kind, FuncKind::Request(_, of) if of == id) || other.diff.links().any(|f| f == id)
        });
        if is_asked {
            let span = self.module.funcs[id].span;
            refuse(self, span, "cannot differentiate a function that uses the counter of a buffer parameter");
        }
        let func = &mut self.module.funcs[id];
        for (given, value) in self.passed[&id].clone() {
            let name = Symbol::new(&format!("{}.counter", buffer_name(&func.sig, &given)));
            let ty = func.ty(value);
            func.values[value].name.get_or_insert(name);
            func.sig.params.push(Param { name, ty, dir: Dir::In, diff: false });
        }
    }
}

/// The name of the parameter in which a buffer was given.
fn buffer_name(sig: &Signature, given: &Given) -> String {
    let name = sig.inputs().nth(given.input).map_or(String::new(), |param| param.name.to_string());
    given.steps.iter().rev().fold(name, |name, step| format!("{name}.{step}"))
}
