//! Replaces calls by the bodies of the callees.
//!
//! ```text
//! func @g(%a: f32) -> f32 {
//!   %s: f32 = mul %a, %a
//!   return %s
//! }
//! func @f(%x: f32) -> f32 {
//!   %y: f32 = call @g(%x)
//!   return %y
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @g(%a: f32) -> f32 {
//!   %s: f32 = mul %a, %a
//!   return %s
//! }
//! func @f(%x: f32) -> f32 {
//!   %s: f32 = mul %x, %x
//!   return %s
//! }
//! ```
//!
//! A body whose only `return` is its last instruction replaces the call directly. Any other body goes into a loop of one
//! iteration, where each `return` is a `break`. [`exits`](crate::exits) then turns that loop into branches, unless a `return`
//! is inside a loop of the body.
//!
//! Calls in an inlined body are inlined too. Recursive functions and derivatives that are not written yet are never inlined.
//! Inlined instructions keep the spans of the callee; those without a span (from the library) get that of the call.

use crate::calls::Calls;
use crate::edit::{Renaming, change_exits};
use crate::exits::exits;
use cotangent_base::EntitySet;
use cotangent_ir::{
    Builder, Copier, Exit, Func, FuncId, FuncKind, Inst, LoopInfo, Module, Op, Region, Signature, Ty, Value,
};

/// The most instructions that a function may have for something to be inlined into it. Functions that each call the one
/// before twice would grow without end.
const CALLER_LIMIT: usize = 1 << 18;

/// Replaces the calls in `func` of functions that are wanted. Says whether there were any.
pub fn inline_calls(module: &mut Module, func: FuncId, want: &dyn Fn(&Func) -> bool) -> bool {
    inline_known(module, func, &Calls::below(module, [func]).recursive, want)
}

/// The same, for one who knows already which functions are recursive.
pub fn inline_known(
    module: &mut Module,
    func: FuncId,
    recursive: &EntitySet<FuncId>,
    want: &dyn Fn(&Func) -> bool,
) -> bool {
    let placeholder = Func::new(module.funcs[func].name, Signature::default(), module.funcs[func].span);
    let caller = std::mem::replace(&mut module.funcs[func], placeholder);
    let body = caller.body;
    let mut inliner = Inliner {
        module,
        caller,
        recursive,
        want,
        renaming: Renaming::default(),
        inlined: false,
        early: false,
    };
    inliner.region(body);
    let Inliner { mut caller, renaming, inlined, early, .. } = inliner;
    renaming.apply(&mut caller);
    if early {
        exits(&mut module.types, &mut caller);
    }
    module.funcs[func] = caller;
    inlined
}

struct Inliner<'a> {
    module: &'a mut Module,
    caller: Func,
    recursive: &'a EntitySet<FuncId>,
    want: &'a dyn Fn(&Func) -> bool,
    renaming: Renaming,
    inlined: bool,
    /// Whether a body with an early `return` was inlined.
    early: bool,
}

impl Inliner<'_> {
    fn region(&mut self, region: Region) {
        let mut todo = std::mem::take(&mut self.caller.regions[region].insts);
        todo.reverse();
        while let Some(inst) = todo.pop() {
            for inner in self.caller.insts[inst].regions.clone() {
                self.region(inner);
            }
            match self.inlinable(inst) {
                Some(callee) => {
                    self.inlined = true;
                    let body = self.inline(inst, callee);
                    todo.extend(body.into_iter().rev());
                }
                None => self.caller.regions[region].insts.push(inst),
            }
        }
    }

    fn inlinable(&self, inst: Inst) -> Option<FuncId> {
        let Op::Call(callee) = self.caller.insts[inst].op else {
            return None;
        };
        let func = &self.module.funcs[callee];
        let has_body = func.kind == FuncKind::Defined && !func.regions[func.body].insts.is_empty();
        let possible = has_body && !self.recursive.contains(callee) && self.caller.insts.len() < CALLER_LIMIT;
        (possible && (self.want)(func)).then_some(callee)
    }

    /// The instructions that stand for the call `inst`. They are in no region yet.
    fn inline(&mut self, inst: Inst, callee: FuncId) -> Vec<Inst> {
        let callee = &self.module.funcs[callee];
        let call = self.caller.insts[inst].clone();
        let mut copier = Copier::new();
        for (&param, &arg) in callee.inputs().iter().zip(&call.operands) {
            copier.rename(param, arg);
        }
        let region = self.caller.new_region();
        let mut b =
            Builder { types: &mut self.module.types, func: &mut self.caller, region, span: call.span };
        if is_single_exit(callee) {
            copier.insts(callee, callee.body, &mut b);
            self.caller.place_in_source(region, callee.span, call.span);
            let mut insts = std::mem::take(&mut self.caller.regions[region].insts);
            let values = insts.pop().map(|exit| self.caller.insts[exit].operands.clone());
            self.rename(&call.results, &values.unwrap_or_default());
            return insts;
        }
        self.early = true;
        let results = once(&mut b, callee, &mut copier, &call.results);
        self.caller.place_in_source(region, callee.span, call.span);
        let insts = std::mem::take(&mut self.caller.regions[region].insts);
        self.rename(&call.results, &results);
        insts
    }

    fn rename(&mut self, old: &[Value], new: &[Value]) {
        for (&old, &new) in old.iter().zip(new) {
            self.renaming.rename(&mut self.caller, old, new);
        }
    }
}

/// Puts the body of `callee` into a loop of one iteration, and gives the loop's results.
fn once(b: &mut Builder<'_>, callee: &Func, copier: &mut Copier, results: &[Value]) -> Vec<Value> {
    let types: Vec<Ty> = results.iter().map(|v| b.ty(*v)).collect();
    let inits: Vec<Value> = types.iter().map(|ty| b.undef(*ty)).collect();
    let one = b.int(1);
    let info = LoopInfo { max_iters: Some(1), ..LoopInfo::default() };
    b.for_(info, one, &inits, |b, _, _| {
        copier.insts(callee, callee.body, b);
        let insts = b.func.regions[b.region].insts.clone();
        change_exits(b.func, &insts, 0, &|exit, depth| match exit {
            Exit::Return => Exit::Break(depth),
            Exit::Yield | Exit::Break(_) | Exit::Continue(_) => exit,
        });
    })
}

/// Whether the only `return` of a function is its last instruction.
pub fn is_single_exit(func: &Func) -> bool {
    let mut returns = 0;
    func.walk(func.body, &mut |inst| {
        returns += u32::from(func.insts[inst].op.exit() == Some(Exit::Return));
    });
    returns == 1 && func.exit(func.body).op.exit() == Some(Exit::Return)
}
