//! Finds the buffers of which each thread has elements of its own, so that gradients are added there without atomic operations.
//!
//! ```text
//! x[581 * id.x + k]     with k from 0 to 580: thread 0 has elements 0 to 580, thread 1 has 581 to 1161, ..
//! ```
//!
//! An index is followed to a multiple of the number of the thread plus a rest, through calls, and the range of the rest is found by
//! [`Bounds`]. A buffer is owned if the multiple is the same in all accesses and all rests lie in a range shorter than it. That tells
//! threads apart only if the dispatch extends along x alone, which the caller must promise ([`Asked::along_x`](super::Asked)). Sums that
//! exceed 32 bits are not considered.

use super::accesses::memory;
use cotangent_base::{Map, Set};
use cotangent_ir::{
    Const, Func, FuncId, Global, GlobalKind, Link, Math, Module, Op, Path, Region, Step, SystemValue, Type,
    Value, ValueDef,
};
use cotangent_passes::bounds::Bounds;
use cotangent_passes::calls::Calls;
use cotangent_passes::loop_bound;
use cotangent_passes::shape::{Loop, Shape};
use std::cell::RefCell;

/// How many operations an index is followed through.
const DEPTH: usize = 32;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// The number of the thread, a vector.
    Thread,
    /// A multiple of its first lane, plus a number in a range.
    Linear { times: i128, low: i128, high: i128 },
}

impl Form {
    const fn constant(n: i128) -> Form {
        Form::Linear { times: 0, low: n, high: n }
    }

    /// What is known of a value that is one or the other.
    fn or(self, other: Form) -> Option<Form> {
        match (self, other) {
            (Form::Linear { times, low, high }, Form::Linear { times: same, low: l, high: h })
                if times == same =>
            {
                Some(Form::Linear { times, low: low.min(l), high: high.max(h) })
            }
            (a, b) => (a == b).then_some(a),
        }
    }

    fn plus(self, other: Form, sign: i128) -> Option<Form> {
        let (Form::Linear { times, low, high }, Form::Linear { times: t, low: l, high: h }) = (self, other)
        else {
            return None;
        };
        let ends = [sign * l, sign * h];
        Some(Form::Linear {
            times: times + sign * t,
            low: low + ends[0].min(ends[1]),
            high: high + ends[0].max(ends[1]),
        })
    }

    fn times(self, other: Form) -> Option<Form> {
        match (self, other) {
            (Form::Linear { times, low, high }, Form::Linear { times: 0, low: n, high: same })
                if n == same =>
            {
                let ends = [low.checked_mul(n)?, high.checked_mul(n)?];
                let times = times.checked_mul(n)?;
                Some(Form::Linear { times, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) })
            }
            (Form::Linear { times: 0, low, high }, Form::Linear { .. }) if low == high => other.times(self),
            _ => None,
        }
    }
}

/// The buffers of which each thread has elements of its own, given the functions that are differentiated.
pub(super) fn owned(module: &Module, entry: FuncId, followed: &[FuncId]) -> Set<Global> {
    let threads = module.funcs[entry].entry.as_ref().map_or([0; 3], |entry| entry.threads);
    if threads[1..] != [1, 1] {
        return Set::default();
    }
    let calls = Calls::below(module, [entry]);
    let mut owners = Owners { module, inputs: Map::default(), accessed: Map::default() };
    for &id in calls.callees_first.iter().rev() {
        let is_known = followed.contains(&id) && !calls.recursive.contains(id);
        owners.function(id, id == entry, is_known);
    }
    let is_owned = |form: &Option<Form>| matches!(form, Some(Form::Linear { times, low, high }) if *times > 0 && high - low < *times);
    owners.accessed.into_iter().filter(|(_, form)| is_owned(form)).map(|(global, _)| global).collect()
}

struct Owners<'a> {
    module: &'a Module,
    /// What is known of the inputs of functions, from all calls.
    inputs: Map<(FuncId, usize), Option<Form>>,
    /// The indices of all accesses to a buffer.
    accessed: Map<Global, Option<Form>>,
}

impl Owners<'_> {
    /// Looks at a function after all that call it.
    fn function(&mut self, id: FuncId, is_entry: bool, is_known: bool) {
        let (module, func) = (self.module, &self.module.funcs[id]);
        let (bounds, shape) = (Bounds::of(func), Shape::of(func));
        let loops = func.all_insts().into_iter().filter_map(|inst| Loop::of(func, inst));
        let loops: Map<Region, Loop> = loops.map(|looped| (looped.body, looped)).collect();
        let (mut given, mut touched) = (vec![], vec![]);
        let look = Look {
            owners: self,
            id,
            func,
            bounds: &bounds,
            shape: &shape,
            loops: &loops,
            is_entry,
            is_known,
            forms: RefCell::default(),
        };
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if let Op::Call(callee) = data.op {
                let forms = data.operands.iter().map(|value| look.form(*value, DEPTH)).enumerate();
                given.extend(forms.map(|(number, form)| ((callee, number), form)));
            }
            let Some(global) = memory(func, inst) else { continue };
            let is_buffer = matches!(module.types.get(module.globals[global].ty), Type::Buffer(..));
            if !is_buffer || module.globals[global].kind != GlobalKind::Param || data.op == Op::Length {
                continue;
            }
            let begin = 1 + usize::from(matches!(data.op, Op::Store(_) | Op::Atomic(_)));
            let is_indexed = data.op.path().is_some_and(|path| path.0.first() == Some(&Step::Index));
            let index = data.operands.get(begin).filter(|_| is_indexed);
            touched.push((global, index.and_then(|index| look.form(*index, DEPTH))));
        }
        given.into_iter().for_each(|(input, form)| join(&mut self.inputs, input, form));
        touched.into_iter().for_each(|(global, form)| join(&mut self.accessed, global, form));
    }
}

fn join<K: std::hash::Hash + Eq>(known: &mut Map<K, Option<Form>>, key: K, form: Option<Form>) {
    known
        .entry(key)
        .and_modify(|before| *before = before.and_then(|before| before.or(form?)))
        .or_insert(form);
}

/// A function and what is known around it.
struct Look<'a> {
    owners: &'a Owners<'a>,
    id: FuncId,
    func: &'a Func,
    bounds: &'a Bounds,
    shape: &'a Shape,
    /// The loops, by their bodies.
    loops: &'a Map<Region, Loop>,
    is_entry: bool,
    is_known: bool,
    /// The forms of values, so that each is followed once however often it is used.
    forms: RefCell<Map<Value, Option<Form>>>,
}

impl Look<'_> {
    fn form(&self, value: Value, depth: usize) -> Option<Form> {
        if !self.is_known || depth == 0 {
            return None;
        }
        if let Some(known) = self.forms.borrow().get(&value) {
            return *known;
        }
        let form = self.find_form(value, depth);
        self.forms.borrow_mut().insert(value, form);
        form
    }

    fn find_form(&self, value: Value, depth: usize) -> Option<Form> {
        if let ValueDef::Arg(region, number) = self.func.values[value].def
            && region == self.func.body
        {
            return self.input(number as usize);
        }
        self.computed(value, depth - 1).or_else(|| self.counter(value, depth - 1)).or_else(|| {
            let (low, high) = self.bounds.range(&self.owners.module.types, self.func, value)?;
            Some(Form::Linear { times: 0, low, high })
        })
    }

    /// A number that grows by the same in each iteration of a loop.
    fn counter(&self, value: Value, depth: usize) -> Option<Form> {
        let (func, types) = (self.func, &self.owners.module.types);
        let ValueDef::Arg(region, number) = func.values[value].def else { return None };
        let looped = self.loops.get(&region)?;
        let slot = (number as usize).checked_sub(looped.lead)?;
        let mut steps = looped.back_edges(func, self.shape).into_iter().map(|edge| {
            let next = func.def(*func.insts[edge].operands.get(slot)?)?;
            let Op::Const(Const::Int(constant)) = func.op(*next.operands.get(1)?)? else { return None };
            let constant = i128::from(*constant);
            let is_step = next.operands[0] == value;
            if is_step && next.op == Op::Math(Math::Add) {
                Some(constant)
            } else if is_step && next.op == Op::Math(Math::Sub) {
                Some(-constant)
            } else {
                None
            }
        });
        let step = steps.next()??;
        if !steps.all(|other| other == Some(step)) {
            return None;
        }
        let most = i128::from(loop_bound::most(types, func, self.shape, *looped)?);
        let begin = self.form(func.insts[looped.inst].operands[looped.lead + slot], depth)?;
        let way = step * (most - 1).max(0);
        begin.plus(Form::Linear { times: 0, low: way.min(0), high: way.max(0) }, 1)
    }

    fn input(&self, number: usize) -> Option<Form> {
        if !self.is_entry {
            return self.owners.inputs.get(&(self.id, number)).copied().flatten();
        }
        let links = self.func.entry.as_ref().map(|entry| &entry.inputs)?;
        matches!(links.get(number), Some(Link::System(SystemValue::DispatchThreadId))).then_some(Form::Thread)
    }

    fn computed(&self, value: Value, depth: usize) -> Option<Form> {
        let data = self.func.def(value)?;
        let of = |number: usize| self.form(data.operands[number], depth);
        if let Op::Extract(path) = &data.op {
            let lane = (0..3).find(|lane| *path == Path::part(*lane))?;
            return match of(0)? {
                // There is one row of threads.
                Form::Thread if lane > 0 => Some(Form::constant(0)),
                Form::Thread => Some(Form::Linear { times: 1, low: 0, high: 0 }),
                Form::Linear { .. } => None,
            };
        }
        if let Op::Convert | Op::Bitcast = data.op {
            let is_int =
                |value| self.owners.module.types.scalar_of(self.func.ty(value)).is_some_and(|s| s.is_int());
            let is_scalar = matches!(self.owners.module.types.get(self.func.ty(value)), Type::Scalar(_));
            return of(0).filter(|form| is_int(data.operands[0]) && (is_scalar || *form == Form::Thread));
        }
        if let Op::Const(Const::Int(n)) = data.op {
            return Some(Form::constant(n.into()));
        }
        let Op::Math(math) = data.op else { return None };
        if math == Math::Add {
            of(0)?.plus(of(1)?, 1)
        } else if math == Math::Sub {
            of(0)?.plus(of(1)?, -1)
        } else if math == Math::Mul {
            of(0)?.times(of(1)?)
        } else if math == Math::Shl
            && let Some(Form::Linear { times: 0, low, high }) = of(1)
            && low == high
            && (0..31).contains(&low)
        {
            of(0)?.times(Form::constant(1 << low))
        } else {
            None
        }
    }
}
