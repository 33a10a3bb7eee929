//! Reports the cost of a backward derivative: what it stores between the two passes, and what it recomputes.
//!
//! Input: the functions that [`reverse`](crate::reverse) wrote. The report therefore describes the code that runs, not the
//! plan of `checkpoint`. [`growth`] adds up what is kept as a formula in trip counts; `again` finds what runs again as a whole.

pub(crate) mod again;
mod growth;

pub use again::Segmented;

pub use growth::{Growth, Term};

use crate::driver::Context;
use crate::kind::{Kind, kind, reads_as};
use crate::reverse::Parts;
use cotangent_base::{EntitySet, Set, Span, Symbol};
use cotangent_ir::layout::layout;
use cotangent_ir::{Again, Effect, Func, FuncId, Inst, Module, Op, Step, Ty, Type, Value, ValueDef, text};
use cotangent_passes::calls::callees;

/// The cost of a backward derivative.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is kept for the backward pass, in the order of the context's fields.
    pub kept: Vec<Kept>,
    /// The size of the context in bytes, laid out as in C.
    pub bytes: u64,
    /// What the backward pass takes from its caller, which has it or keeps it for each call.
    pub taken: Vec<Taken>,
    /// What the backward pass computes again.
    pub repeated: Vec<Repeated>,
    /// The loops that it runs again in segments.
    pub segmented: Vec<Segmented>,
    /// How many times as much as usual a byte counts, so that they fit in the budget.
    pub price: u64,
    /// The most bytes that are kept at a time, with what is kept by calls that run again; at least `bytes`.
    pub peak: u64,
    /// The instructions of the pass that computes the values; 0 if there is nothing to compute first.
    pub primal_instructions: usize,
    /// The instructions of the pass that computes the gradient.
    pub backward_instructions: usize,
}

impl Report {
    /// What is kept, as a formula in trip counts.
    pub fn growth(&self) -> Growth {
        Growth::of(self)
    }
}

/// A parameter that the backward pass reads.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Its name.
    pub name: Symbol,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A field of a context.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its name: of the variable, if it was one.
    pub name: Symbol,
    /// Its type, as IR text: arrays hold one element per iteration of a loop.
    pub ty: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size of what is kept per iteration of all loops around.
    pub each: u64,
    /// The loops around it, outermost first.
    pub loops: Vec<Loop>,
    /// What the callee keeps per call, if it is the context of a call. A report that would get too long leaves it out.
    pub parts: Vec<Kept>,
    /// Where the value is computed.
    pub span: Span,
    /// Why it is not computed again.
    pub why: Why,
}

/// A loop that keeps something in each iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Where it is.
    pub span: Span,
    /// How many iterations the context has room for.
    pub room: u32,
}

/// Why a value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A loop carries it: it differs between iterations.
    Carried,
    /// A loop computed it.
    LoopResult,
    /// It is how often a loop ran.
    Trips,
    /// It is a flag that ends a loop: it is stored for the last iteration and known in all others.
    Last,
    /// It was loaded from memory that may have changed since.
    Loaded,
    /// It comes from an operation that must not run twice: an atomic, or one that depends on other threads.
    Effect,
    /// It is what a call keeps for its own backward pass.
    Call,
    /// Computing it again would cost more, or the program asks for it to be stored.
    Cheaper,
}

impl Why {
    /// The reason as a phrase.
    pub const fn text(self) -> &'static str {
        match self {
            Why::Carried => "differs between iterations",
            Why::LoopResult => "was computed by a loop",
            Why::Trips => "is the trip count of a loop",
            Why::Last => "is known in all iterations but the last",
            Why::Loaded => "was loaded from memory that may change",
            Why::Effect => "is the result of a side effect",
            Why::Call => "is the context of a call",
            Why::Cheaper => "is cheaper to store than to recompute",
        }
    }
}

/// Something computed in both passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The variable it is, or the operation that computes it.
    pub name: Symbol,
    /// Where.
    pub span: Span,
}

/// The cost of `request`, a backward derivative. There is nothing to say of one that is the user's own or that could not
/// be written.
pub fn report(cx: &Context<'_>, request: FuncId) -> Report {
    let Some(parts) = cx.reverse.parts(request) else {
        return Report::default();
    };
    let funcs = &cx.module.funcs;
    let (primal, backward) = (&funcs[parts.primal], &funcs[parts.backward]);
    let runs_first = callees(&funcs[request]).contains(&parts.primal);
    Report {
        kept: parts.context.map_or_else(Vec::new, |context| kept(cx, primal, context, &mut { MOST_FIELDS })),
        bytes: parts.context.map_or(0, |context| bytes(cx.module, context)),
        taken: taken(cx.module, &funcs[request], parts),
        repeated: repeated(cx.module, backward, parts.cotangents),
        segmented: again::segmented(cx, request),
        price: cx.policies.get(&request).copied().unwrap_or_default().price,
        peak: again::peak(cx, request),
        primal_instructions: if runs_first { primal.all_insts().len() } else { 0 },
        backward_instructions: backward.all_insts().len(),
    }
}

fn bytes(module: &Module, ty: Ty) -> u64 {
    layout(&module.types, ty).map_or(0, |l| l.size.into())
}

/// A report lists at most so many fields, so that calls of calls of calls end.
const MOST_FIELDS: usize = 1000;

/// The parameters that the backward function takes besides the context and the cotangents.
fn taken(module: &Module, request: &Func, parts: &Parts) -> Vec<Taken> {
    let names = request.sig.inputs().map(|param| param.name);
    let inputs = module.funcs[parts.of].sig.inputs().zip(&parts.needed).zip(names);
    let read = inputs.filter(|((_, needed), _)| **needed);
    read.map(|((param, _), name)| Taken { name, bytes: bytes(module, param.ty) }).collect()
}

/// The fields of `context`, which `primal` fills; at most so many as are `left`.
fn kept(cx: &Context<'_>, primal: &Func, context: Ty, left: &mut usize) -> Vec<Kept> {
    let module = &*cx.module;
    let Type::Struct(id) = module.types.get(context) else { return Vec::new() };
    let fields = module.types.struct_def(id).fields.iter().enumerate();
    if fields.len() > *left {
        *left = 0;
        return Vec::new();
    }
    *left -= fields.len();
    let field = |(i, field): (usize, &cotangent_ir::StructField)| {
        let value = stored_value(primal, context, i as u32);
        let known = cx.reverse.field(context, i as u32);
        let each = known.map_or(field.ty, |known| known.each);
        let loops: &[(Span, u32)] = known.map_or(&[], |known| &known.loops);
        Kept {
            name: field.name,
            ty: text::print_type(&module.types, field.ty),
            bytes: bytes(module, field.ty),
            each: bytes(module, each),
            loops: loops.iter().map(|&(span, room)| Loop { span, room }).collect(),
            parts: cx
                .reverse
                .keeper(each)
                .map_or_else(Vec::new, |callee| kept(cx, &module.funcs[callee], each, left)),
            span: value.map_or(primal.span, |v| span_of(primal, v)),
            why: match value {
                Some(value) => known.and_then(|known| known.why).unwrap_or_else(|| why(cx, primal, value)),
                None => Why::Cheaper,
            },
        }
    };
    fields.map(field).collect()
}

/// The value that `func` writes into that field of the context.
fn stored_value(func: &Func, context: Ty, field: u32) -> Option<Value> {
    func.all_insts().into_iter().find_map(|inst| {
        let data = &func.insts[inst];
        let is_context = data.results.first().is_some_and(|r| func.ty(*r) == context);
        if !is_context {
            None
        } else if let Op::Insert(path) = &data.op {
            (path.0.first() == Some(&Step::Part(field))).then(|| data.operands[1])
        } else if data.op == Op::Pack {
            data.operands.get(field as usize).copied()
        } else {
            None
        }
    })
}

fn span_of(func: &Func, value: Value) -> Span {
    match func.values[value].def {
        ValueDef::Result(inst, _) => func.insts[inst].span,
        ValueDef::Arg(region, _) => {
            let owns = |inst: &Inst| func.insts[*inst].regions.contains(&region);
            func.all_insts().into_iter().find(owns).map_or(func.span, |inst| func.insts[inst].span)
        }
    }
}

/// Why a value was not computed again: what it is, or, if it could be computed again by itself, the first thing it is
/// computed from that could not.
fn why(cx: &Context<'_>, func: &Func, value: Value) -> Why {
    if let ValueDef::Arg(..) = func.values[value].def {
        return Why::Carried;
    }
    let mut seen = EntitySet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let ValueDef::Result(inst, _) = func.values[value].def else {
            if func.inputs().contains(&value) || is_counter(func, value) {
                continue;
            }
            return Why::Carried;
        };
        let data = &func.insts[inst];
        match kind(&data.op) {
            Kind::Counted(_) | Kind::Conditional(_) => return Why::LoopResult,
            Kind::Memory if data.op.again() == Again::Never => return Why::Effect,
            Kind::Memory => return Why::Loaded,
            Kind::Call(_) if cx.reverse.is_context(func.ty(value)) => return Why::Call,
            Kind::Plain | Kind::Branches | Kind::Call(_) => open.extend(data.operands.iter().rev()),
            Kind::DiffCall(_) | Kind::LinCall(_) | Kind::Exit => {}
        }
    }
    Why::Cheaper
}

/// Whether `value` counts the iterations of a counted loop.
fn is_counter(func: &Func, value: Value) -> bool {
    let counts = |inst: Inst| {
        let data = &func.insts[inst];
        matches!(data.op, Op::For(_)) && func.regions[data.regions[0]].args.first() == Some(&value)
    };
    func.all_insts().into_iter().any(counts)
}

/// What in a backward function does not depend on its last inputs, the cotangents, beyond constants and what it is given.
fn repeated(module: &Module, func: &Func, cotangents: usize) -> Vec<Repeated> {
    let mut dependent: EntitySet<Value> = EntitySet::new();
    dependent.extend(func.inputs().iter().rev().take(cotangents).copied());
    let mut found = Vec::new();
    let mut seen = Set::default();
    for inst in func.all_insts() {
        let data = &func.insts[inst];
        let depends = data.operands.iter().any(|v| dependent.contains(*v)) || !data.regions.is_empty();
        if depends {
            dependent.extend(data.results.iter().copied());
            let args = data.regions.iter().flat_map(|r| &func.regions[*r].args);
            let counter = usize::from(matches!(data.op, Op::For(_)));
            dependent.extend(args.copied().skip(counter));
            continue;
        }
        let is_given =
            matches!(data.op, Op::Extract(_) | Op::Zero | Op::Undef | Op::Const(_) | Op::Global(_));
        let is_work = !is_given && data.op.effect() != Effect::Exit && !data.results.is_empty();
        if is_work {
            let name = data.results.first().and_then(|r| func.values[*r].name);
            let name = name.unwrap_or_else(|| Symbol::new(reads_as(module, &data.op)));
            if seen.insert((name, data.span)) {
                found.push(Repeated { name, span: data.span });
            }
        }
    }
    found
}
