//! Reports elements that several threads write in the same dispatch, where that can be seen.
//!
//! ```text
//! y[id.x / 2] = x[id.x] * x[id.x]      threads 0 and 1 write element 0
//! y[0] = x[id.x]                       all threads write it
//! ```
//!
//! Input: the entry point. Output: diagnostics for stores that all threads of a group run, at an index that does not tell them
//! apart, of a value that does. It looks at the outermost region only, since a condition may choose one thread; and at nothing if
//! threads may have left before. An index in another form is believed to tell threads apart.

use super::accesses::{holds_floats, is_handle, memory};
use crate::codes;
use cotangent_base::{Diagnostic, Diagnostics, Map};
use cotangent_ir::{
    Const, Func, FuncId, GlobalKind, InstData, Link, Math, Module, Op, Path, SystemValue, Value, ValueDef,
};
use std::cell::RefCell;

/// How many operations a value is followed through.
const DEPTH: usize = 32;

/// What a value is to the threads of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Across {
    Same,
    Differs,
    Unknown,
}

/// Reports what several threads write.
pub(super) fn collisions(module: &Module, entry: FuncId, diagnostics: &mut Diagnostics) {
    let func = &module.funcs[entry];
    let Some(threads) = func.entry.as_ref().map(|entry| entry.threads) else { return };
    let outermost = &func.regions[func.body].insts;
    let leaves = |data: &InstData| data.op == Op::Return;
    let may_leave = func.all_insts().into_iter().filter(|inst| leaves(&func.insts[*inst])).count() > 1;
    if threads == [1; 3] || may_leave {
        return;
    }
    let look = Look { module, func, threads, known: RefCell::default() };
    for &inst in outermost {
        let data = &func.insts[inst];
        let (Op::Store(_), Some(global)) = (&data.op, memory(func, inst)) else { continue };
        let value = data.operands[1];
        // `phases` analyzes group-shared memory.
        let is_own = module.globals[global].kind != GlobalKind::Param;
        if is_own || !holds_floats(module, func.ty(value)) || look.across(value, DEPTH) != Across::Differs {
            continue;
        }
        // Two indices together may differ between all threads: `y[t / 4][t % 4]`.
        let differing = data.operands[2..].iter().filter(|index| look.across(**index, DEPTH) != Across::Same);
        if differing.count() <= 1 && data.operands[2..].iter().all(|index| look.collides(*index)) {
            let name = module.globals[global].name;
            let message = format!("several threads write one element of `{name}`");
            let help = "give each thread an element of its own, let one thread write, or add atomically";
            diagnostics.push(Diagnostic::new(codes::KERNEL_RACE, data.span, message).help(help));
        }
    }
}

struct Look<'a> {
    module: &'a Module,
    func: &'a Func,
    threads: [u32; 3],
    /// What values are, so that each is followed once however often it is used.
    known: RefCell<Map<Value, Across>>,
}

impl Look<'_> {
    /// Whether an index is the same in several threads of a group.
    fn collides(&self, index: Value) -> bool {
        if self.across(index, DEPTH) == Across::Same {
            return true;
        }
        let Some(data) = self.func.def(index) else { return false };
        if let Op::Bitcast | Op::Convert = data.op {
            return self.is_int(data.operands[0]) && self.collides(data.operands[0]);
        }
        let (Op::Math(math), &[thread, by]) = (&data.op, &data.operands[..]) else { return false };
        let (Some(threads), Some(by)) = (self.threads_along(thread), self.constant(by)) else { return false };
        let threads = i64::from(threads);
        if *math == Math::Div {
            threads > 1 && by > 1
        } else if *math == Math::Shr {
            threads > 1 && by > 0
        } else if *math == Math::Rem {
            (1..threads).contains(&by)
        } else {
            *math == Math::And && (0..threads - 1).contains(&by)
        }
    }

    /// How many threads of a group have consecutive numbers here, the first group from zero on.
    fn threads_along(&self, value: Value) -> Option<u32> {
        if let Some(SystemValue::GroupIndex) = self.system(value) {
            return Some(self.threads.iter().product());
        }
        let data = self.func.def(value)?;
        if let Op::Bitcast | Op::Convert = data.op {
            return self.threads_along(data.operands[0]);
        }
        let lane = self.lane(data)?;
        let system = self.system(data.operands[0]);
        let is_thread = matches!(system, Some(SystemValue::DispatchThreadId | SystemValue::GroupThreadId));
        is_thread.then_some(self.threads[lane])
    }

    fn lane(&self, data: &InstData) -> Option<usize> {
        let Op::Extract(path) = &data.op else { return None };
        (0..3).find(|lane| *path == Path::part(*lane)).map(|lane| lane as usize)
    }

    /// What the system gives for an input of the kernel.
    fn system(&self, value: Value) -> Option<SystemValue> {
        let ValueDef::Arg(region, number) = self.func.values[value].def else { return None };
        let inputs =
            self.func.entry.as_ref().filter(|_| region == self.func.body).map(|entry| &entry.inputs)?;
        let Some(Link::System(system)) = inputs.get(number as usize) else { return None };
        Some(*system)
    }

    fn constant(&self, value: Value) -> Option<i64> {
        let Some(Op::Const(Const::Int(number))) = self.func.op(value) else { return None };
        Some(*number)
    }

    fn is_int(&self, value: Value) -> bool {
        self.module.types.scalar_of(self.func.ty(value)).is_some_and(|scalar| scalar.is_int())
    }

    fn across(&self, value: Value, depth: usize) -> Across {
        if let Some(known) = self.known.borrow().get(&value) {
            return *known;
        }
        let across = self.find_across(value, depth);
        self.known.borrow_mut().insert(value, across);
        across
    }

    fn find_across(&self, value: Value, depth: usize) -> Across {
        if let Some(threads) = self.threads_along(value) {
            return if threads > 1 { Across::Differs } else { Across::Same };
        }
        let Some(data) = self.func.def(value).filter(|_| depth > 0) else { return Across::Unknown };
        let each = |values: &[Value]| -> Vec<Across> {
            values.iter().map(|value| self.across(*value, depth - 1)).collect()
        };
        let is_of_group = || self.system(data.operands[0]) == Some(SystemValue::GroupId);
        if matches!(data.op, Op::Const(_) | Op::Zero) || self.lane(data).is_some() && is_of_group() {
            Across::Same
        } else if let Op::Global(global) = data.op {
            let is_value = !is_handle(self.module, self.module.globals[global].ty);
            if is_value { Across::Same } else { Across::Unknown }
        } else if let Op::Load(_) = data.op {
            // What is read at different places differs, but for chance; what is read at one place, threads may have changed.
            let indices = &data.operands[1..];
            let is_apart = each(indices).contains(&Across::Differs);
            if is_apart { Across::Differs } else { Across::Unknown }
        } else if let Op::Math(math @ (Math::Add | Math::Sub | Math::Mul)) = data.op {
            self.arithmetic(math, self.is_int(value), &each(&data.operands))
        } else {
            Across::Unknown
        }
    }

    /// A sum or product. Numbers of threads may cancel, and a product of them with zero is the same.
    fn arithmetic(&self, math: Math, is_int: bool, operands: &[Across]) -> Across {
        let differing = operands.iter().filter(|operand| **operand == Across::Differs).count();
        let is_known = !operands.contains(&Across::Unknown);
        if differing > 0 && (!is_int || differing == 1 && is_known && math != Math::Mul) {
            Across::Differs
        } else if differing == 0 && is_known {
            Across::Same
        } else {
            Across::Unknown
        }
    }
}
