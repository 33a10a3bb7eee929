//! Derivatives of kernels: entry points whose buffers, uniforms and variables carry derivatives.
//!
//! A kernel is a function from the contents of its memory before a dispatch to the contents after it. Input: a module before
//! derivatives are taken, and which entry point, in which mode, with respect to what. Output: the module with a new entry point
//! that asks for the derivative, and a *shadow* for each memory that carries derivatives. The passes of [forward](crate::forward)
//! and [reverse](crate::reverse) mode then write it like any other derivative: nothing in them knows about kernels.
//!
//! ```text
//! y[i] = x[i] * x[i]     becomes     store_y(i, load_x(i) * load_x(i))
//! ```
//!
//! Each access becomes a call of an *accessor*, a function with custom derivatives:
//!
//! | access | primal | forward | backward, given or giving the cotangent `d` |
//! | --- | --- | --- | --- |
//! | load | loads | loads the tangent from the shadow | adds `d` to the shadow |
//! | store | stores | stores the tangent to the shadow | takes `d` from the shadow, which becomes zero |
//! | atomic add whose result is not used | adds | adds the tangent to the shadow | reads `d` from the shadow |
//! | uniform | reads | loads the tangent from the shadow | adds `d` to the shadow |
//! | texel | as a load or store | as a load or store | as a load or store; outside the texture nothing happens |
//! | barrier | waits | waits | waits |
//!
//! So a shadow holds tangents in forward mode, and in reverse mode first the cotangents of the contents after the dispatch, in the
//! end those of the contents before it. Group-shared variables and `static` variables have shadows of their own kind; those of the
//! group are cleared first.
//!
//! # Layout of shadows
//!
//! The shadow of a buffer or uniform is a buffer of scalars: for each element the floats of its differential in order, without
//! padding. Matrices have the layout that they have on the host. The scalars are `double` if the element contains one, otherwise
//! `float`. Scalars can be added atomically on every target, which the lanes of vectors cannot. The shadow of a texture has its
//! texels level by level, layer by layer, row by row ([`texels`](mod@texels)). Samples are computed from texels
//! ([`samples`](mod@samples)).
//!
//! Additions are atomic, except where [`owned`](mod@owned) shows that each thread has elements of its own: then the atomic
//! operations become plain ones after optimization.
//!
//! For additions in a fixed order ([`Asked::deterministic`]), the shadows of what is read have a copy for each thread, one after
//! the other, which the host adds up.
//!
//! # Primal results in reverse mode
//!
//! A backward kernel does not write the results of the kernel again: stores to buffers that the kernel never reads are left out. If
//! it reads a buffer that it writes, the backward kernel runs those stores again; the host passes a copy of the contents before the
//! dispatch ([`Kernel::copies`]).
//!
//! # Derivatives within the kernel
//!
//! What a kernel computes with `fwd_diff` and `bwd_diff` is a function of memory like all else:
//!
//! ```text
//! y[0] = fwd_diff(model)(pair).d        where model(x) = w[0] * x * x, so y[0] = 2 * w[0] * x * x_t
//! ```
//!
//! So these derivatives are written first, as ordinary code that loads `w[0]`. Its loads become accessors as those of other code
//! do. For the inner derivative memory is constant, for that of the kernel it is not. Substitutes are called where they would be
//! differentiated, so that their accesses are seen too. The body of a function with a custom derivative stays as it is: what it
//! reads without a derivative is reported ([`by_hand`](mod@crate::by_hand)).
//!
//! # What is refused
//!
//! Memory of integers that holds the bits of floats is memory of floats meanwhile ([`words`](mod@words)).
//! [`accesses`](mod@accesses) reports what has no derivative: atomic operations on floats other than additions, additions whose
//! result is used, memory chosen at run time. [`losses`](mod@losses) reports derivatives that would be lost on the way from memory
//! to memory. [`collisions`](mod@collisions) reports elements that several threads write, [`races`](mod@races) elements that one
//! thread writes and another reads, and [`phases`](mod@phases) those of group-shared memory; both warn where they cannot see that.
//!
//! # Structures
//!
//! A kernel need not say what is differentiable. [`rows`](mod@rows) gives each structure or interface value that contains floats a
//! differential, and every function below the kernel is differentiated, in all parameters that are not `no_diff`, unless it has a
//! custom derivative.

mod accesses;
mod accessor;
mod collisions;
mod dependences;
mod hold;
mod losses;
mod owned;
mod phases;
mod races;
mod rows;
mod samples;
mod shadow;
mod texels;
mod words;

use crate::codes;
use crate::driver::differentiate_below;
use crate::substitute::stand_in;
use accesses::Accesses;
use cotangent_base::{Diagnostic, Diagnostics, Map, Scalar, Set, Span, Symbol};
use cotangent_ir::flat;
use cotangent_ir::layout::Matrices;
use cotangent_ir::{
    Barrier, Builder, Const, Dir, Func, FuncId, FuncKind, Global, GlobalKind, Link, LoopInfo, Math, Memory,
    Mode, Module, Op, Param, Path, Signature, Stage, SystemValue, Type, Value,
};
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::Effects;
use cotangent_passes::optimize::{inline_handles, optimize_func};
use cotangent_passes::pass::{Facts, When};
use cotangent_passes::resource_arrays;
use cotangent_passes::watch::Watch;
pub use hold::hold;
pub use samples::State;
pub use shadow::Shadow;

/// Which derivative of which kernel.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The entry point.
    pub entry: FuncId,
    /// The direction.
    pub mode: Mode,
    /// The parameters whose gradient is wanted, or which have a tangent; all that can have one if nothing is said.
    pub wrt: Option<Set<Global>>,
    /// The parameters whose contents after the dispatch have a cotangent, or whose tangent is wanted; all if nothing is said.
    pub results: Option<Set<Global>>,
    /// Whether the kernel is launched with groups along x only. Then some elements are known to belong to one thread.
    pub along_x: bool,
    /// Whether gradients are added in an order that is always the same: each thread has a copy of its own.
    pub deterministic: bool,
    /// The layout of matrices in memory that specifies none. Their derivatives have the same layout.
    pub matrices: Matrices,
    /// Whether a place is in the library, where nobody looks for mistakes.
    pub is_library: fn(Span) -> bool,
}

/// The derivative of a kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The new entry point.
    pub entry: FuncId,
    /// The shadows of parameters, in the order of the parameters.
    pub shadows: Vec<Shadow>,
    /// The buffers that a backward kernel writes, and of which it needs a copy with the contents before the dispatch.
    pub copies: Vec<Global>,
    /// The parameters that say what samplers do.
    pub samplers: Vec<State>,
    /// What could not be seen.
    pub warnings: Diagnostics,
    /// The shadows of which each thread has elements of its own: atomic operations on them may become plain ones.
    pub owned: Vec<Global>,
}

/// Adds an entry point that asks for the derivative of a kernel. All other entry points become ordinary functions.
pub fn kernel(module: &mut Module, asked: &Asked) -> Result<Kernel, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let stage = module.funcs[asked.entry].entry.as_ref().map(|entry| entry.stage);
    if stage != Some(Stage::Compute) {
        let func = &module.funcs[asked.entry];
        let message = format!("`{}` is not a compute kernel", func.name);
        let help = "differentiate the functions that it calls instead";
        diagnostics.push(Diagnostic::new(codes::KERNEL, func.span, message).help(help));
        return Err(diagnostics);
    }
    let entry = asked.entry;
    begin_statics(module, entry);
    inner(module, entry, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    call_substitutes(module, entry);
    isolate(module, entry, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let is_in = |set: &Option<Set<Global>>, global| set.as_ref().is_none_or(|set| set.contains(&global));
    let is_asked = |global| is_in(&asked.wrt, global) || is_in(&asked.results, global);
    let below = Calls::below(module, [entry]).callees_first;
    let words = words::words(module, &below, &is_asked, &mut diagnostics);
    let made = rows::rows(module);
    let samplers = samples::samples(module, &differentiated(module, entry));
    let followed = mark(module, entry);
    let accesses = Accesses::of(module, entry, &followed, &mut diagnostics);
    races::races(module, &followed, &accesses, &mut diagnostics);
    collisions::collisions(module, entry, &mut diagnostics);
    let apart = phases::phases(module, entry, &accesses, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    races::unseen(module, (entry, &apart), &followed, &accesses, &mut diagnostics);
    let owned = if asked.along_x { owned::owned(module, entry, &followed) } else { Set::default() };
    let shadows = shadow::Shadows::new(module, &accesses, asked, &owned, &mut diagnostics);
    losses::losses(module, &followed, asked.mode, (&shadows, &made), asked.is_library, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let mut accessors = accessor::Accessors::new(asked.mode, &accesses);
    for func in followed {
        accessors.rewrite(module, &shadows, func);
    }
    let copies = accessors.copies(module);
    let entry = request(module, entry, asked.mode, &shadows);
    let shadows = shadows.of_params(module);
    words.back(module);
    let owned = shadows.iter().filter(|shadow| owned.contains(&shadow.of)).map(|shadow| shadow.global);
    let owned = owned.collect();
    Ok(Kernel { entry, shadows, copies, samplers, owned, warnings: diagnostics })
}

/// Sets `static` variables with floats at the beginning of the entry point, because their initial values may depend on memory.
fn begin_statics(module: &mut Module, entry: FuncId) {
    let mut begin = vec![];
    for global in module.globals.keys().collect::<Vec<_>>() {
        let data = &mut module.globals[global];
        let (GlobalKind::Static(Some(init)), Type::Ref(ty)) = (data.kind.clone(), module.types.get(data.ty))
        else {
            continue;
        };
        if flat::floats(&module.types, ty) == 0 {
            continue;
        }
        data.kind = GlobalKind::Static(None);
        let (handle, func) = (data.ty, &mut module.funcs[entry]);
        let variable = func.new_inst(Op::Global(global), &[], &[handle], Span::none());
        let value = func.new_inst(Op::Call(init), &[], &[ty], Span::none());
        let operands = [variable, value].map(|inst| func.insts[inst].results[0]);
        let store = func.new_inst(Op::Store(Path::default()), &operands, &[], Span::none());
        begin.extend([variable, value, store]);
    }
    let func = &mut module.funcs[entry];
    func.regions[func.body].insts.splice(0..0, begin);
}

/// Writes the derivatives that the kernel itself takes. They are ordinary code from then on, whose accesses are replaced like all
/// others. What the program holds constant is detached first: what is written no longer says which parameters were `no_diff`.
fn inner(module: &mut Module, entry: FuncId, diagnostics: &mut Diagnostics) {
    let below = Calls::below(module, [entry]).callees_first;
    if below.iter().all(|id| module.funcs[*id].kind == FuncKind::Defined) {
        return hold::hold_fields(module);
    }
    hold::hold_all(module);
    diagnostics.append(differentiate_below(module, entry));
}

/// Calls substitutes in place of the functions that have one, wherever the kernel is differentiated from its body.
fn call_substitutes(module: &mut Module, entry: FuncId) {
    let (mut open, mut seen) = (vec![entry], Set::from_iter([entry]));
    while let Some(id) = open.pop() {
        if !is_differentiated(&module.funcs[id]) {
            continue;
        }
        for inst in module.funcs[id].all_insts() {
            let Op::Call(callee) = module.funcs[id].insts[inst].op else { continue };
            let callee = stand_in(module, callee);
            module.funcs[id].insts[inst].op = Op::Call(callee);
            open.extend(seen.insert(callee).then_some(callee));
        }
    }
}

/// The most resources that an index chooses from where the access is differentiated: each has an access of its own.
const MOST_RESOURCES: usize = 1024;

/// Makes the entry point the only one. So that accesses name their memory, functions that take resources are inlined, and an access
/// to a resource that an index chooses becomes a choice between accesses. Equal loads are merged.
fn isolate(module: &mut Module, entry: FuncId, diagnostics: &mut Diagnostics) {
    let others: Vec<FuncId> = module.funcs.keys().filter(|id| *id != entry).collect();
    others.into_iter().for_each(|id| module.funcs[id].entry = None);
    inline_handles(module);
    tidy_below(module, entry);
    let Some((resources, span)) = resource_arrays::widest(module) else { return };
    if resources > MOST_RESOURCES {
        let message = format!("an access to one of {resources} resources is too large to differentiate");
        let help = format!("choose from at most {MOST_RESOURCES} resources");
        diagnostics.push(Diagnostic::new(codes::TOO_MUCH_CODE, span, message).help(help));
    } else {
        resource_arrays::resource_arrays(module);
        tidy_below(module, entry);
    }
}

fn tidy_below(module: &mut Module, entry: FuncId) {
    let effects = Effects::of(module);
    for id in Calls::below(module, [entry]).callees_first {
        if module.funcs[id].kind == FuncKind::Defined {
            let mut func = module.detach(id);
            let facts = Facts { effects: &effects, when: When::BeforeDerivatives };
            optimize_func(module, &mut func, &facts, &mut Watch::default());
            module.funcs[id] = func;
        }
    }
}

/// The functions below the entry point whose bodies are differentiated.
fn differentiated(module: &Module, entry: FuncId) -> Vec<FuncId> {
    let mut all = Calls::below(module, [entry]).callees_first;
    all.retain(|id| is_differentiated(&module.funcs[*id]));
    all
}

/// Whether a function below the kernel is differentiated from its body.
fn is_differentiated(func: &Func) -> bool {
    func.kind == FuncKind::Defined && !func.diff.is_custom() && func.diff.is_from_body()
}

/// Marks everything below the entry point as differentiable, in all parameters that can carry a derivative and are not `no_diff`.
/// Gives the functions whose bodies are differentiated.
fn mark(module: &mut Module, entry: FuncId) -> Vec<FuncId> {
    let mut followed = Vec::new();
    let mut copied: Map<FuncId, FuncId> = Map::default();
    let below = Calls::below(module, [entry]).callees_first;
    for &id in &below {
        if !is_differentiated(&module.funcs[id]) {
            continue;
        }
        let sig = if id == entry { module.funcs[id].sig.clone() } else { marked(module, id) };
        // The derivative of a function that the program asks for has the signature that the language defines. A custom derivative
        // runs as it was written; where the program calls it itself, a copy is differentiated.
        let is_asked = module.funcs.values().any(|f| matches!(f.kind, FuncKind::Request(_, of) if of == id));
        let is_by_hand = module.funcs.values().any(|f| is_derivative(f, id));
        let target = if is_by_hand || is_asked && sig != module.funcs[id].sig {
            let copy = module.funcs[id].clone();
            let copy = module.add_func(copy);
            copied.insert(id, copy);
            copy
        } else {
            id
        };
        let func = &mut module.funcs[target];
        func.sig = sig;
        func.diff.differentiable = Some(Mode::Backward);
        followed.push(target);
    }
    for id in below.into_iter().chain(copied.values().copied()) {
        for data in module.funcs[id].insts.values_mut() {
            if let Op::Call(callee) = &mut data.op {
                *callee = copied.get(callee).copied().unwrap_or(*callee);
            }
        }
    }
    followed
}

/// Whether `func` is part of a custom derivative of `of`.
fn is_derivative(of: &Func, func: FuncId) -> bool {
    let apply = of.diff.apply.map(|apply| [apply.primal, apply.pullback]);
    [of.diff.forward, of.diff.backward]
        .into_iter()
        .flatten()
        .chain(apply.into_iter().flatten())
        .any(|id| id == func)
}

/// The signature of a function in a kernel: what can carry a derivative does, unless it is `no_diff`.
fn marked(module: &mut Module, id: FuncId) -> Signature {
    let Module { types, diff, funcs, .. } = module;
    let func = &funcs[id];
    let mut sig = func.sig.clone();
    let mut carries = |ty| diff.differential(types, ty).is_some();
    for param in &mut sig.params {
        param.diff = !func.diff.held.contains(&param.name) && carries(param.ty);
    }
    if let Some(ret) = &mut sig.ret {
        ret.diff = !func.diff.held_result && carries(ret.ty);
    }
    sig
}

/// Adds the request for the derivative of `of` and an entry point that calls it.
fn request(module: &mut Module, of: FuncId, mode: Mode, shadows: &shadow::Shadows) -> FuncId {
    let Func { name, sig, span, .. } = module.funcs[of].clone();
    let mut entry = module.funcs[of].entry.take().expect("a kernel is an entry point");
    let (asks, ending) = match mode {
        Mode::Forward => ("fwd_diff", "fwd"),
        Mode::Backward => ("bwd_diff", "bwd"),
    };
    let mut derivative = Func::new(Symbol::new(&format!("{asks}({name})")), sig.clone(), span);
    derivative.kind = FuncKind::Request(mode, of);
    derivative.diff.differentiable = Some(Mode::Backward);
    let derivative = module.add_func(derivative);
    let mut sig = sig;
    let arguments = sig.params.len();
    let cleared = shadows.of_group(module);
    let slice = shadows.slice();
    if !cleared.is_empty() || slice.is_some() {
        entry.inputs.push(Link::System(SystemValue::GroupIndex));
        let ty = module.types.scalar(Scalar::U32);
        sig.params.push(Param { name: Symbol::new("thread"), ty, dir: Dir::In, diff: false });
    }
    if slice.is_some() {
        entry.inputs.push(Link::System(SystemValue::GroupId));
        let ty = module.types.intern(Type::Vector(Scalar::U32, 3));
        sig.params.push(Param { name: Symbol::new("group"), ty, dir: Dir::In, diff: false });
    }
    let threads = entry.threads.iter().fold(1, |all: u32, n| all.saturating_mul(*n));
    let mut func = Func::new(Symbol::new(&format!("{name}_{ending}")), sig, span);
    func.entry = Some(entry);
    let inputs = func.inputs().to_vec();
    if let Some(slice) = slice {
        let mut b = Builder::new(&mut module.types, &mut func);
        let group = b.part(inputs[arguments + 1], 0);
        let all = b.ty(group);
        let all = b.constant(Const::Int(threads.into()), all);
        let before = b.mul(group, all);
        let number = b.add(before, inputs[arguments]);
        let handle = b.emit1(Op::Global(slice), &[], module.globals[slice].ty);
        b.store(handle, number, Path::default(), &[]);
    }
    for &(global, length) in &cleared {
        let mut b = Builder::new(&mut module.types, &mut func);
        let ty = module.globals[global].ty;
        let handle = b.emit1(Op::Global(global), &[], ty);
        clear(&mut b, handle, length, inputs[arguments], threads);
    }
    let mut b = Builder::new(&mut module.types, &mut func);
    b.span = Span::none();
    if !cleared.is_empty() {
        b.emit(Op::Barrier(Barrier { memory: Memory::Group, sync: true }), &[], &[]);
    }
    b.emit(Op::Call(derivative), &inputs[..arguments], &[]);
    b.emit(Op::Return, &[], &[]);
    module.add_func(func)
}

/// Sets a variable of the group to zero, a share of its elements by each of `threads` threads.
fn clear(b: &mut Builder<'_>, handle: Value, length: u32, thread: Value, threads: u32) {
    let unsigned = b.ty(thread);
    let turns = b.int(length.div_ceil(threads.max(1)).into());
    b.for_(LoopInfo::default(), turns, &[], |b, turn, _| {
        let turn = b.emit1(Op::Bitcast, &[turn], unsigned);
        let step = b.constant(Const::Int(threads.into()), unsigned);
        let length = b.constant(Const::Int(length.into()), unsigned);
        let index = b.mul(turn, step);
        let index = b.add(index, thread);
        let inside = b.math(Math::Lt, &[index, length]);
        b.if_(
            inside,
            &[],
            |b| {
                let element = b.types.part_at(b.ty(handle), &Path::index());
                let zero = b.zero(element.expect("a shadow of the group is an array"));
                b.store(handle, zero, Path::index(), &[index]);
                b.yield_(&[]);
            },
            |b| b.yield_(&[]),
        );
        b.yield_(&[]);
    });
}
