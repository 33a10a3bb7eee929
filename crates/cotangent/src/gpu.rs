//! Translates programs to shaders for a GPU.
//!
//! Back ends for devices call [`translate`]. It inserts tests of indices and divisors ([`checks`](mod@checks)). The shader
//! records the first failed test in an additional buffer, so that the program traps as on the interpreter.

use crate::targets::{Refusal, check_layout, check_push_constants, for_naga, without_choices};
use cotangent_base::{EntitySet, Map, Scalar};
use cotangent_emit_naga::{Emitted, FLAG_BYTES, codes, entry_name};
use cotangent_ir::layout::bind::{Kind, LeafPlace, Slot, bind};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_ir::{Const, FuncId, Global, Module, Op, Type};
use cotangent_lower::Lowered;
use cotangent_passes::thread_iterations::most_iterations;
use cotangent_passes::{checks, idle, prints, prune};
use cotangent_runtime::Compiled;
use cotangent_runtime::shader::{Code, Lengths, Needs, Prints, Shader, Site};
use std::borrow::Cow;

/// Writes the shader of an entry point as WGSL or SPIR-V, for buffers of these lengths.
pub fn translate(
    compiled: &Compiled,
    entry: FuncId,
    lengths: &Lengths,
    target: Target,
) -> Result<Shader, Refusal> {
    check_layout(&compiled.params, codes::UNSUPPORTED)?;
    let bindings = bind(&compiled.module.types, &compiled.params, target, Matrices::Rows);
    check_push_constants(&compiled.params, &bindings)?;
    let mut places = apart(bindings.leaves(&compiled.params));
    let mut alone = Module::clone(&compiled.module);
    // Entry points are never pruned; the others become functions that nobody calls.
    let others: Vec<FuncId> = alone.funcs.keys().filter(|id| *id != entry).collect();
    others.into_iter().for_each(|id| alone.funcs[id].entry = None);
    let entry = prune::prune(&mut alone, &[entry])[&entry];
    let name = entry_name(alone.funcs[entry].name);
    let needs = needs(&alone);
    let used = used(&alone);
    let mut module = for_naga(&alone)?.into_owned();
    checks::checks(&mut module);
    let threads = module.funcs[entry].entry.as_ref().map_or([1; 3], |entry| entry.threads);
    let prints = prints_at(&mut module, &mut places, threads);
    idle::idle(&mut module);
    let mut module = without_choices(Cow::Owned(module)).into_owned();
    write_lengths(&mut module, lengths);
    let (group, index) = (0, free(&places));
    let (code, sites) = cotangent_emit_naga::checked(&module, &places, (group, index), target)?;
    let code = match code {
        Emitted::Text(text) => Code::Wgsl(text),
        Emitted::Words(words) => Code::SpirV(words),
    };
    let site = |site: &cotangent_emit_naga::Site| Site {
        trap: site.trap,
        span: site.span,
        func: site.func,
        index: site.index,
    };
    let sites = sites.iter().map(site).collect();
    Ok(Shader { code, entry: name, needs, places, used, flag: (group, index, FLAG_BYTES), sites, prints })
}

/// Whether a thread may make more than so many iterations, in all loops together.
pub fn may_exceed(lowered: &Lowered, count: u64) -> bool {
    lowered.entries.iter().any(|id| most_iterations(&lowered.module, *id).is_none_or(|most| most > count))
}

/// Whether lanes without a thread may run the loops of a program, on drivers that have such lanes: [`translate`] lets them leave unless
/// threads wait for each other.
pub fn has_idle_lanes(lowered: &Lowered) -> bool {
    idle::is_exposed(&lowered.module)
}

/// Puts the lengths of these buffers where the program asks for them.
fn write_lengths(module: &mut Module, lengths: &Lengths) {
    for func in module.funcs.values_mut() {
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let Some(Op::Global(buffer)) = data.operands.first().and_then(|v| func.op(*v)) else { continue };
            if let (Op::Length, Some(length)) = (&data.op, lengths.get(buffer)) {
                func.insts[inst].op = Op::Const(Const::Int(*length as i64));
                func.insts[inst].operands.clear();
            }
        }
    }
}

/// The places with a binding of its own for each sampler of a combined one, as WebGPU wants it, and for each resource of an array.
fn apart(mut places: Map<Global, LeafPlace>) -> Map<Global, LeafPlace> {
    let next = free(&places);
    let is_element = |(_, place): &(&Global, &LeafPlace)| matches!(place, LeafPlace::Element(..));
    let mut elements: Vec<Global> = places.iter().filter(is_element).map(|(global, _)| *global).collect();
    elements.sort();
    let count = elements.len() as u32;
    for (index, global) in (next..).zip(elements) {
        let own = Slot { kind: Kind::Binding, space: 0, index, count: 1 };
        places.insert(global, LeafPlace::Slot(own));
    }
    let next = next + count;
    let mut shared: Vec<&mut Slot> = places
        .values_mut()
        .filter_map(|place| match place {
            LeafPlace::Slot(slot) | LeafPlace::Element(slot, _) if slot.kind == Kind::Beside => Some(slot),
            _ => None,
        })
        .collect();
    shared.sort_by_key(|slot| (slot.space, slot.index));
    for (index, slot) in (next..).zip(shared) {
        *slot = Slot { kind: Kind::Binding, space: 0, index, count: slot.count };
    }
    places
}

/// Has a module store what it prints, in a buffer of its own.
fn prints_at(module: &mut Module, places: &mut Map<Global, LeafPlace>, threads: [u32; 3]) -> Option<Prints> {
    let formats = prints::formats(module).into_iter().map(|format| (format.text, format.scalars)).collect();
    let buffer = prints::prints(module)?;
    let slot = Slot { kind: Kind::Binding, space: 0, index: free(places), count: 1 };
    places.insert(buffer, LeafPlace::Slot(slot));
    Some(Prints { group: slot.space, index: slot.index, formats, threads })
}

/// A number of the first group that nothing is bound to.
fn free(places: &Map<Global, LeafPlace>) -> u32 {
    let index = |place: &LeafPlace| match place {
        LeafPlace::Slot(slot) | LeafPlace::Element(slot, _) => Some(*slot),
        LeafPlace::Value(block, _) | LeafPlace::Packed(block) => block.slot,
    };
    let slots = places.values().filter_map(index).filter(|slot| slot.space == 0);
    slots.map(|slot| slot.index + 1).max().unwrap_or(0)
}

/// The globals that functions of a module use.
fn used(module: &Module) -> EntitySet<Global> {
    let mut used = EntitySet::new();
    for func in module.funcs.values() {
        let global = |inst| if let Op::Global(global) = func.insts[inst].op { Some(global) } else { None };
        used.extend(func.all_insts().into_iter().filter_map(global));
    }
    used
}

/// What a module computes with that not every device has.
fn needs(module: &Module) -> Needs {
    let is_of = |ty, scalar| match module.types.get(ty) {
        Type::Buffer(elem, _) | Type::Ref(elem) => module.types.scalar_of(elem) == Some(scalar),
        _ => module.types.scalar_of(ty) == Some(scalar),
    };
    let any =
        |scalar| module.funcs.values().any(|func| func.values.values().any(|value| is_of(value.ty, scalar)));
    Needs {
        f16: any(Scalar::F16),
        f64: any(Scalar::F64),
        i64: any(Scalar::I64) || any(Scalar::U64),
        waves: module.has_waves(),
    }
}
