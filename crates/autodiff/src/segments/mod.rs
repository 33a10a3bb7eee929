//! `segments`: cuts loops into segments that the backward pass runs again, so that little is stored.
//!
//! ```text
//! before                               after, with [Checkpoint(16)]
//!
//! y = for n (x) (k, a) {               y = for (n + 15) / 16 (x) (s, a) {
//!   b = body(k, a)                       b = call f.segment(a, n, 16 * s)
//!   yield b                              yield b
//! }                                    }
//!                                      f.segment(a, n, base) -> b, prefer(rerun) {
//!                                        b = for min(16, n - base) (a) (j, a) { yield body(base + j, a) }
//!                                        return b
//!                                      }
//! ```
//!
//! No other pass knows about segments. What a loop carries differs between its iterations, so `checkpoint` stores it once per
//! segment. A call of a function that prefers to be run again (`Prefer::Rerun`) keeps no context: the backward half calls the
//! primal half of the segment again, goes back through it, and forgets what it kept. Derivatives of segments are such functions
//! too, so derivatives of higher order need as little.
//!
//! - **A number** of iterations gives segments of that length, which are kept for each of at most `bound / length` segments.
//! - **The square root** of the bound as length makes both about equally many: what is kept for the segments, and what one
//!   segment keeps while it runs again.
//! - **The logarithm**: segments of [`FAN`] iterations, segments of [`FAN`] such segments, and so on. At every level at most
//!   [`FAN`] states are kept at a time, so `n` iterations take `FAN * log(n)` states, and each runs once more per level. If the
//!   count is no constant, a segment of each level runs first, from the lowest to the highest, as long as there are iterations left:
//!   few iterations take few levels. There are levels enough for every count, so these loops need no bound.
//!
//! A segment of a counted loop gets the number of its first iteration. A segment of any other loop ends with the condition, and
//! also returns its result: it is asked for as often as in the loop. An induction variable is computed from its value at the start
//! of the segment. What the loop captures are parameters; constants and globals are written again.
//!
//! Input: a prepared function, in which loops have no early exits. Only outermost cut loops are replaced: inner ones end up in a
//! segment, which is a function like any other and is cut in its turn. A loop that must not run twice cannot be cut. That is an
//! error if the program asked for it, and if only the module did ([`Module::segments`](cotangent_ir::Module)), it stays whole.
//!
//! Where memory and code are cheap (`Module::cuts_long_loops`), the driver also cuts loops for which `checkpoint` finds no plan,
//! since they have no bound or would store too much: [`cut_long_loop`].

mod build;

use crate::checkpoint::nest::{constant_count, loop_bound};
use crate::codes;
use crate::driver::{Context, Reported};
use crate::prepare::Prepared;
use crate::reverse::{CutLoop, Root};
use crate::stages::SEGMENTS;
use build::{Cutter, Form};
use cotangent_base::{Diagnostic, Set, Span};
use cotangent_ir::layout::layout;
use cotangent_ir::{Func, Inst, LoopInfo, Module, Op, Region, Segments, Ty, Value};

/// How many iterations a segment of the lowest level has, and how many segments one of each level above.
const FAN: u32 = 4;

/// More iterations than any loop is expected to run.
const ENDLESS: u32 = i32::MAX as u32;

/// A loop to cut.
struct Found {
    inst: Inst,
    /// The region in which it stands.
    home: Region,
    segments: Segments,
    /// Whether the program says so, and not only the module.
    explicit: bool,
}

/// Cuts the loops of `prepared` that are marked, or that the module wants cut.
pub(crate) fn segments(
    cx: &mut Context<'_>,
    root: &Root,
    mut prepared: Prepared,
) -> Result<Prepared, Reported> {
    let mut open: Vec<Region> = vec![prepared.func.body];
    let mut any = false;
    while let Some(region) = open.pop() {
        for inst in prepared.func.regions[region].insts.clone() {
            let Some(found) = found(cx.module, root, &prepared.func, region, inst) else {
                open.extend(prepared.func.insts[inst].regions.iter().rev());
                continue;
            };
            if let Some(obstacle) = obstacle(cx.module, root, &prepared.func, inst) {
                if found.explicit {
                    if any {
                        cx.watch.end(|| prepared.func.size());
                    }
                    return Err(refuse(cx, &prepared.func, inst, obstacle));
                }
                open.extend(prepared.func.insts[inst].regions.iter().rev());
            } else if let Some(cut) = Cut::of(&prepared.func, &found) {
                if !any {
                    cx.watch.begin(SEGMENTS, || prepared.func.size());
                    any = true;
                }
                replace(cx, &mut prepared, &found, cut);
            }
        }
    }
    if any {
        cx.watch.end(|| prepared.func.size());
        cx.after(SEGMENTS, &prepared.func, None);
    }
    Ok(prepared)
}

/// `prepared` with segments instead of the loop `inst`, for which `checkpoint` has no plan; `None` if the module does not allow
/// that or the loop must not run twice.
pub(crate) fn cut_long_loop(
    cx: &mut Context<'_>,
    root: &Root,
    mut prepared: Prepared,
    inst: Inst,
) -> Option<Prepared> {
    let func = &prepared.func;
    let is_loop = func.insts[inst].op.is_loop();
    if !cx.module.cuts_long_loops || !is_loop || obstacle(cx.module, root, func, inst).is_some() {
        return None;
    }
    let (home, _) = func.regions.iter().find(|(_, region)| region.insts.contains(&inst))?;
    let found = Found { inst, home, segments: Segments::Log, explicit: false };
    let cut = Cut::of(func, &found)?;
    cx.watch.begin(SEGMENTS, || prepared.func.size());
    replace(cx, &mut prepared, &found, cut);
    cx.watch.end(|| prepared.func.size());
    cx.after(SEGMENTS, &prepared.func, None);
    Some(prepared)
}

/// What to report if the loop `inst` of `func`, for which `checkpoint` has no plan, is not cut.
pub(crate) fn no_plan(
    cx: &Context<'_>,
    root: &Root,
    func: &Func,
    inst: Inst,
    diagnostic: Diagnostic,
) -> Diagnostic {
    if diagnostic.code != codes::NO_BOUND {
        return diagnostic;
    }
    let bound = "write `[MaxIters(64)]` before the loop, with a constant bound that it never exceeds";
    match obstacle(cx.module, root, func, inst) {
        Some(obstacle) => {
            let diagnostic = diagnostic
                .note("without a bound the backward pass would have to run parts of the loop a second time")
                .help(bound);
            if obstacle.span.is_none() { diagnostic } else { diagnostic.label(obstacle.span, obstacle.what) }
        }
        None => diagnostic.help(format!("{bound}, or `[Checkpoint(log)]`, which needs no bound")),
    }
}

/// The loop `inst`, if it shall be cut.
fn found(module: &Module, root: &Root, func: &Func, home: Region, inst: Inst) -> Option<Found> {
    let (Op::For(info) | Op::While(info)) = &func.insts[inst].op else {
        return None;
    };
    let mut segments = info.segments.or(module.segments).or(root.policy.segments);
    if matches!(segments, Segments::Auto | Segments::Whole) {
        return None;
    }
    let carries = |v: &Value| module.diff.find_differential(&module.types, func.ty(*v)).is_some();
    let explicit = info.segments != Segments::Auto;
    // A fixed segment length could give any number of segments.
    if !explicit && module.cuts_long_loops && loop_bound(func, inst).is_none() {
        segments = Segments::Log;
    }
    let wanted = explicit || func.insts[inst].results.iter().any(carries);
    wanted.then_some(Found { inst, home, segments, explicit })
}

/// Why a loop cannot be cut.
struct Obstacle {
    span: Span,
    what: &'static str,
}

fn obstacle(module: &Module, root: &Root, func: &Func, looped: Inst) -> Option<Obstacle> {
    let data = &func.insts[looped];
    let has_no_size = |v: &Value| layout(&module.types, func.ty(*v)).is_none();
    if data.results.iter().any(has_no_size) {
        return Some(Obstacle { span: data.span, what: "it carries a resource, which cannot be stored" });
    }
    let mut obstacle = None;
    for &region in &data.regions {
        func.walk(region, &mut |inst| {
            if obstacle.is_none() && !root.may_repeat_inst(module, func, inst) {
                let again = matches!(func.insts[inst].op, Op::Call(f) if root.may_repeat(module, f));
                let what = match again {
                    true => "the derivative is differentiated again, and this call has a custom derivative",
                    false => "this writes memory, reads memory that changes, or depends on other threads",
                };
                obstacle = Some(Obstacle { span: func.insts[inst].span, what });
            }
        });
    }
    obstacle
}

fn refuse(cx: &mut Context<'_>, func: &Func, inst: Inst, obstacle: Obstacle) -> Reported {
    let span = func.insts[inst].span;
    let diagnostic = Diagnostic::new(codes::NOT_CUT, span, "this loop cannot be cut into segments")
        .note("the backward pass would run each segment a second time")
        .help("remove `[Checkpoint]`, and write `[MaxIters(64)]` if the loop has no other bound; or move what cannot run twice out of the loop");
    cx.report(match obstacle.span {
        at if at.is_none() || at == span => diagnostic.here(obstacle.what),
        at => diagnostic.label(at, obstacle.what),
    })
}

/// How to cut a loop.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Into segments of so many iterations, and at most so many of them if that is known.
    Even { length: u32, most: Option<u32> },
    /// Into segments of so many levels, and at most so many of the highest. If the count is not known before, one of each lower
    /// level runs first.
    Levels { levels: u32, most: u32, climbs: bool },
}

impl Cut {
    /// `None` if there is nothing to gain.
    fn of(func: &Func, found: &Found) -> Option<Cut> {
        let bound = loop_bound(func, found.inst);
        let data = &func.insts[found.inst];
        let even = |length: u32| {
            let most = bound.map(|bound| bound.div_ceil(length));
            (most != Some(0) && most != Some(1)).then_some(Cut::Even { length, most })
        };
        match found.segments {
            Segments::Of(length) => even(length.max(1)),
            // Few iterations are no longer than a segment.
            Segments::Sqrt if bound.is_some_and(|bound| bound <= FAN) => None,
            Segments::Sqrt => even(bound.map_or(FAN, u32::isqrt)),
            Segments::Log => {
                let is_constant =
                    matches!(data.op, Op::For(_)) && constant_count(func, data.operands[0]).is_some();
                Cut::levels(bound.unwrap_or(ENDLESS), !is_constant)
            }
            Segments::Auto | Segments::Whole => None,
        }
    }

    fn levels(bound: u32, climbs: bool) -> Option<Cut> {
        if bound <= FAN {
            return None;
        }
        let (mut levels, mut before, mut length) = (1, 0, FAN);
        loop {
            let most = bound.saturating_sub(before).div_ceil(length);
            if most <= FAN {
                return Some(Cut::Levels { levels, most: most.max(1), climbs });
            }
            before += if climbs { length } else { 0 };
            (levels, length) = (levels + 1, length * FAN);
        }
    }
}

/// Puts the cut loop in the place of the loop.
fn replace(cx: &mut Context<'_>, prepared: &mut Prepared, found: &Found, cut: Cut) {
    let data = &prepared.func.insts[found.inst];
    let (Op::For(info) | Op::While(info)) = data.op else {
        unreachable!("only loops are cut");
    };
    let form = if let Op::For(_) = data.op {
        Form::Counted { count: data.operands[0], reversed: info.reversed }
    } else {
        Form::Conditional
    };
    let info = LoopInfo { max_iters: None, segments: Segments::Whole, reversed: false, ..info };
    let old = data.results.to_vec();
    let region = prepared.func.new_region();
    let mut cutter = Cutter::new(cx, &mut prepared.func, &prepared.induction, found.inst, form, info);
    let new = match cut {
        Cut::Even { length, most } => cutter.even(region, length, most),
        Cut::Levels { levels, most, climbs } => cutter.levels(region, levels, most, climbs),
    };
    let units = std::mem::take(&mut cutter.units);
    let func = &mut prepared.func;
    cx.reverse.add_cut(CutLoop { span: func.insts[found.inst].span, units });
    let insts = std::mem::take(&mut func.regions[region].insts);
    let home = &mut func.regions[found.home].insts;
    let at = home.iter().position(|inst| *inst == found.inst).expect("the loop stands there");
    home.splice(at..=at, insts);
    for (old, new) in old.iter().zip(&new) {
        func.values[*new].name = func.values[*new].name.or(func.values[*old].name);
    }
    let replaced = |v: Value| old.iter().position(|o| *o == v).map(|i| new[i]);
    func.replace_uses(replaced);
}

/// What a loop takes from outside: each value once, in the order of its uses.
fn captured(func: &Func, looped: Inst) -> Vec<Value> {
    let data = &func.insts[looped];
    let mut inside: Set<Value> = Set::default();
    let mut insts = Vec::new();
    for &region in &data.regions {
        inside.extend(func.regions[region].args.iter().copied());
        func.walk(region, &mut |inst| {
            let data = &func.insts[inst];
            inside.extend(data.results.iter().copied());
            inside.extend(data.regions.iter().flat_map(|r| func.regions[*r].args.iter().copied()));
            insts.push(inst);
        });
    }
    let mut captured = Vec::new();
    let mut seen = Set::default();
    let count = matches!(data.op, Op::For(_)).then(|| data.operands[0]);
    let used = insts.iter().flat_map(|inst| func.insts[*inst].operands.iter().copied());
    for value in count.into_iter().chain(used) {
        if !inside.contains(&value) && seen.insert(value) {
            captured.push(value);
        }
    }
    captured
}

/// The types of values.
fn types_of(func: &Func, values: &[Value]) -> Vec<Ty> {
    values.iter().map(|v| func.ty(*v)).collect()
}
