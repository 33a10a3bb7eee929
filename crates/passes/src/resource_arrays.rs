//! Replaces accesses to a resource that an index chooses by a `switch` over the resources, for targets where handles are no values.
//!
//! ```text
//! global @a: buffer<f32> param
//! global @b: buffer<f32> param
//!
//! func @f(%i: i32, %n: i32) -> f32 {
//!   %a: buffer<f32> = global @a
//!   %b: buffer<f32> = global @b
//!   %all: [buffer<f32>; 2] = pack %a, %b
//!   %one: buffer<f32> = extract %all [%i]
//!   %x: f32 = load %one [%n]
//!   return %x
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @a: buffer<f32> param
//! global @b: buffer<f32> param
//!
//! func @f(%i: i32, %n: i32) -> f32 {
//!   %a: buffer<f32> = global @a
//!   %b: buffer<f32> = global @b
//!   %x: f32 = switch %i case 0 {
//!     %y: f32 = load %a [%n]
//!     yield %y
//!   } default {
//!     %z: f32 = load %b [%n]
//!     yield %z
//!   }
//!   return %x
//! }
//! ```
//!
//! An index out of bounds chooses the last resource. Samples whose level depends on the neighbours stay, since lanes that take
//! different cases have none.

use cotangent_base::Span;
use cotangent_ir::{Builder, Func, Inst, Module, Op, Region, Step, Ty, Type, Types, Value};

/// The access to replace that may be to most resources: how many, and where it is. `None` if there is nothing to replace.
pub fn widest(module: &Module) -> Option<(usize, Span)> {
    let choices = module.funcs.values().flat_map(|func| {
        func.all_insts().into_iter().filter_map(|inst| {
            let data = &func.insts[inst];
            let choice = chosen(&module.types, func, &data.op, &data.operands)?;
            Some((choice.resources.len(), data.span))
        })
    });
    choices.max_by_key(|(resources, _)| *resources)
}

/// Replaces accesses to resources that an index chooses.
pub fn resource_arrays(module: &mut Module) {
    for id in module.funcs.keys() {
        let mut func = module.detach(id);
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                func.regions[region].insts.push(inst);
                replace(&mut module.types, &mut func, region, inst);
            }
        }
        module.funcs[id] = func;
    }
}

/// Makes an access to a chosen resource a `switch`.
fn replace(types: &mut Types, func: &mut Func, at: Region, inst: Inst) {
    let data = &func.insts[inst];
    let (op, operands, span) = (data.op.clone(), data.operands.to_vec(), data.span);
    let Some(choice) = chosen(types, func, &op, &operands) else { return };
    let results: Vec<Ty> = data.results.iter().map(|result| func.ty(*result)).collect();
    let b = &mut Builder { types, func, region: at, span };
    let mut regions = vec![];
    for resource in &choice.resources {
        let mut operands = operands.clone();
        operands[choice.operand] = *resource;
        regions.push(b.region(&[], |b, _| {
            let made = access(b, &op, &operands, &results);
            b.yield_(&made);
        }));
    }
    let data = &mut func.insts[inst];
    data.op = Op::Switch((0..choice.resources.len() as i64 - 1).collect());
    data.operands = [choice.index].into_iter().collect();
    data.regions.extend(regions);
}

/// The access in a case; another operand may be chosen too.
fn access(b: &mut Builder<'_>, op: &Op, operands: &[Value], results: &[Ty]) -> Vec<Value> {
    let Some(choice) = chosen(b.types, b.func, op, operands) else {
        let inst = b.emit(op.clone(), operands, results);
        return b.func.insts[inst].results.to_vec();
    };
    let count = choice.resources.len() as u32;
    b.switch_(choice.index, count, results, |b, case| {
        let mut operands = operands.to_vec();
        operands[choice.operand] = choice.resources[case as usize];
        let made = access(b, op, &operands, results);
        b.yield_(&made);
    })
}

/// An operand of an access that is one of several resources.
struct Choice {
    operand: usize,
    index: Value,
    resources: Vec<Value>,
}

fn chosen(types: &Types, func: &Func, op: &Op, operands: &[Value]) -> Option<Choice> {
    // All other operations are refused by targets without handles as values, or take no resource.
    let is_access = matches!(op, Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Length)
        || matches!(op, Op::Texel | Op::StoreTexel | Op::Dimensions);
    let sampled = if let Op::Sample(how) = op { 2 * usize::from(!how.asks_neighbours()) } else { 0 };
    let handles = sampled + usize::from(is_access);
    (0..handles.min(operands.len())).find_map(|operand| {
        let (index, resources) = choices(types, func, operands[operand])?;
        Some(Choice { operand, index, resources })
    })
}

/// The resources that `extract %all [%i]` may be, and the index.
fn choices(types: &Types, func: &Func, resource: Value) -> Option<(Value, Vec<Value>)> {
    if !matches!(types.get(func.ty(resource)), Type::Buffer(..) | Type::Opaque(_)) {
        return None;
    }
    let data = func.def(resource)?;
    let Op::Extract(path) = &data.op else { return None };
    let (Step::Index, steps) = path.0.split_first()? else { return None };
    let all = func.def(data.operands[0]).filter(|all| all.op == Op::Pack)?;
    let resources: Option<Vec<Value>> = all.operands.iter().map(|one| part(func, *one, steps)).collect();
    Some((*data.operands.get(1)?, resources?))
}

/// The global that a path leads to in a packed structure.
fn part(func: &Func, mut value: Value, steps: &[Step]) -> Option<Value> {
    for step in steps {
        let packed = func.def(value).filter(|data| data.op == Op::Pack)?;
        value = *packed.operands.get(step.known()? as usize)?;
    }
    matches!(func.op(value), Some(Op::Global(_))).then_some(value)
}
