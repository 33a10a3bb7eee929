//! Finds the linear operations that are *steep*: that may multiply by a non-finite number although the inputs are finite.
//!
//! ```text
//! %q = div 1, %x        may be infinite
//! %p = mul %q, %x       and so may values computed from it
//! ~1 = mul %p, ~a       steep
//! ~2 = mul %x, ~1       not steep: inputs and loaded values count as finite
//! ~3 = div ~2, %x       steep
//! ```
//!
//! The analysis covers whole values, not their parts. The result of a call may be infinite if any value in the callee may be.
//! Overflow counts only for exponentials and similar functions. A value that `min` or `max` bounds on one side by a constant
//! counts as finite.
//!
//! It runs before `unzip`: afterwards, a factor that the linear half reads from its context no longer shows its origin.

use cotangent_base::{EntitySet, Map, Scalar};
use cotangent_ir::{Control, Func, FuncId, Inst, InstData, Linear, Math, Module, Op, Region, Value};
use cotangent_passes::effects::is_steep;

/// The results of the steep operations of `func`, whose linear values are `lin`.
pub fn steep(module: &Module, func: &Func, lin: &EntitySet<Value>) -> EntitySet<Value> {
    let mut wild =
        Wild { module, func, lin, values: EntitySet::new(), callees: Callees::default(), news: false };
    wild.region(func.body);
    // What a loop hands on is found where it ends, and matters where it begins.
    while std::mem::take(&mut wild.news) {
        wild.region(func.body);
    }
    let mut steep = EntitySet::new();
    func.walk(func.body, &mut |inst| {
        let data = &func.insts[inst];
        let linear = data.results.first().filter(|result| lin.contains(**result));
        if let Some(&result) = linear.filter(|_| is_product(&data.op) && wild.begins_or_passes(inst)) {
            steep.insert(result);
        }
    });
    steep
}

/// Whether one operand of a linear operation scales the other.
fn is_product(op: &Op) -> bool {
    matches!(op.linear(), Linear::Each | Linear::First)
}

/// Whether an operation keeps a number on one side of a constant. That is what a function does that only compares.
fn bounds(module: &Module, func: &Func, data: &InstData) -> bool {
    let is_constant = |value: &Value| match func.def(*value) {
        Some(InstData { op: Op::Splat, operands, .. }) => matches!(func.op(operands[0]), Some(Op::Const(_))),
        Some(InstData { op, .. }) => matches!(op, Op::Const(_) | Op::Zero),
        None => false,
    };
    let compares = |math| matches!(math, Some(Math::Min | Math::Max));
    let only_compares = |callee: FuncId| {
        let callee = &module.funcs[callee];
        let mut insts = callee.all_insts().into_iter().map(|inst| &callee.insts[inst].op);
        let is_fine =
            |op: &Op| compares(math(module, op)) || matches!(op, Op::Const(_) | Op::Splat | Op::Return);
        insts.len() > 1 && insts.all(is_fine)
    };
    let is_bound = compares(math(module, &data.op)) || called(&data.op).is_some_and(only_compares);
    is_bound && data.operands.iter().any(is_constant)
}

/// The operation that this is, or that the function called consists of.
fn math(module: &Module, op: &Op) -> Option<Math> {
    if let Op::Math(math) = op {
        return Some(*math);
    }
    let callee = &module.funcs[called(op)?];
    let [only, _] = callee.regions[callee.body].insts[..] else { return None };
    let Op::Math(math) = callee.insts[only].op else { return None };
    (callee.insts[only].operands[..] == *callee.inputs()).then_some(math)
}

/// Whether something is multiplied by itself here.
fn is_square(func: &Func, value: Value) -> bool {
    let product = func.def(value).filter(|data| matches!(data.op, Op::Dot | Op::Math(Math::Mul)));
    product.is_some_and(|data| data.operands[0] == data.operands[1])
}

/// The function that an operation calls for its value.
fn called(op: &Op) -> Option<FuncId> {
    match op.control() {
        Control::Call(func) => Some(func),
        Control::DiffCall(call) => Some(call.func),
        Control::Plain | Control::If | Control::Switch(_) | Control::While(_) => None,
        Control::For(_) | Control::LinCall(_) | Control::Exit(_) => None,
    }
}

/// Which functions called give something infinite of finite numbers. One that calls itself counts as such.
#[derive(Default)]
struct Callees(Map<FuncId, bool>);

impl Callees {
    /// Whether an operation does, or calls a function in which some operation does. Of a square there is always a root.
    fn begins(&mut self, module: &Module, func: &Func, inst: Inst) -> bool {
        let data = &func.insts[inst];
        if math(module, &data.op) == Some(Math::Sqrt) {
            return !is_square(func, data.operands[0]);
        }
        let Some(callee) = called(&data.op) else {
            return is_steep(&module.types, func, inst);
        };
        if let Some(&known) = self.0.get(&callee) {
            return known;
        }
        self.0.insert(callee, true);
        let body = &module.funcs[callee];
        let mut insts = body.all_insts().into_iter();
        let found = insts.len() == 0 || insts.any(|inst| self.begins(module, body, inst));
        self.0.insert(callee, found);
        found
    }
}

/// The primal values that may be infinite or NaN.
struct Wild<'a> {
    module: &'a Module,
    func: &'a Func,
    lin: &'a EntitySet<Value>,
    values: EntitySet<Value>,
    callees: Callees,
    /// Whether an argument of a loop was found since somebody looked.
    news: bool,
}

impl Wild<'_> {
    fn region(&mut self, region: Region) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            if data.op.is_loop() {
                self.loop_(data);
            } else if !data.regions.is_empty() {
                self.branches(data);
            } else if self.begins_or_passes(inst) {
                data.results.iter().for_each(|result| _ = self.mark(*result));
            }
        }
    }

    fn begins_or_passes(&mut self, inst: Inst) -> bool {
        let func = self.func;
        let data = &func.insts[inst];
        if bounds(self.module, func, data) {
            return false;
        }
        data.operands.iter().any(|v| self.values.contains(*v)) || self.callees.begins(self.module, func, inst)
    }

    /// Marks a value, if it is a primal one that can be infinite; says whether that is news.
    fn mark(&mut self, value: Value) -> bool {
        let scalar = self.module.types.scalar_of(self.func.ty(value));
        scalar.is_none_or(Scalar::is_float) && !self.lin.contains(value) && self.values.insert(value)
    }

    fn branches(&mut self, data: &InstData) {
        for &branch in &data.regions {
            self.region(branch);
            self.flow(&self.func.exit(branch).operands, &data.results);
        }
    }

    fn loop_(&mut self, data: &InstData) {
        let func = self.func;
        let slots = data.results.len();
        let inits = &data.operands[data.operands.len() - slots..];
        let args = data.regions.iter().map(|region| &func.regions[*region].args);
        let args: Vec<&[Value]> = args.map(|args| &args[args.len() - slots..]).collect();
        args.iter().for_each(|args| _ = self.flow(inits, args));
        data.regions.iter().for_each(|region| self.region(*region));
        let body = *data.regions.last().expect("a loop has a body");
        let next = &func.exit(body).operands;
        for args in args {
            self.news |= self.flow(next, args);
        }
        self.flow(inits, &data.results);
        self.flow(next, &data.results);
    }

    /// Each value goes to a place of its own; says whether that is news to some of them.
    fn flow(&mut self, from: &[Value], to: &[Value]) -> bool {
        let mut news = false;
        for (&from, &to) in from.iter().zip(to) {
            news |= self.values.contains(from) && self.mark(to);
        }
        news
    }
}
