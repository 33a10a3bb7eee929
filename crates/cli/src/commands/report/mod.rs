//! `cotangent report`: shows what the backward pass of a function or kernel stores and recomputes.

mod page;
mod text;

use super::INTERPRETED;
use crate::args::{Format, Report};
use crate::output::{print, write};
use crate::report::{Failure, finish};
use cotangent::ir::{Prefer, Segments};
use cotangent::report::{Kept, Report as Costs};
use cotangent::{Program, Session, Sources, Symbol};
use serde_json::{Value, json};
use std::sync::Arc;

/// What is shown of a function.
struct Shown<'r> {
    function: &'r str,
    costs: &'r Costs,
    /// What each policy would give: the flag that asks for it, if one is needed, and the costs.
    policies: Vec<(Option<&'static str>, Arc<Costs>)>,
    sources: &'r Sources,
}

/// The policies, and how the command line asks for them.
const POLICIES: [(Option<&str>, Prefer, Segments); 5] = [
    (None, Prefer::Auto, Segments::Auto),
    (Some("--prefer recompute"), Prefer::Recompute, Segments::Auto),
    (Some("--prefer checkpoint"), Prefer::Checkpoint, Segments::Auto),
    (Some("--checkpoint sqrt"), Prefer::Auto, Segments::Sqrt),
    (Some("--checkpoint log"), Prefer::Auto, Segments::Log),
];

pub fn report(args: &Report) -> Result<(), Failure> {
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(INTERPRETED);
    request.options.runs = true;
    let session = Session::new(loader);
    let program = session.program(&request);
    let name = args.entry.as_ref().unwrap_or(&args.function);
    let ask = |program: &Program| match &args.entry {
        Some(entry) => program.report_kernel(Symbol::new(entry)),
        None => program.report(Symbol::new(name)),
    };
    let costs = finish(ask(&program), args.format)?;
    let mut policies = vec![];
    for (name, prefer, segments) in POLICIES {
        let mut request = request.clone();
        (request.options.prefer, request.options.segments) = (prefer, segments);
        request.options.budget = None;
        // A policy may need what the program does not say, as the bound of a loop: then there is nothing to compare with.
        policies.extend(ask(&session.program(&request)).result.ok().map(|costs| (name, costs)));
    }
    let sources = program.sources();
    let shown = Shown { function: name, costs: &costs, policies, sources: &sources };
    if let Some(path) = &args.html {
        return write(path, page::page(&shown).as_bytes());
    }
    match args.format {
        Format::Text => print(&text::text(&shown)),
        Format::Json => print(&format!("{}\n", json(&shown))),
    }
}

/// Something kept, without the parts of calls around it.
struct Leaf<'r> {
    kept: &'r Kept,
    /// What it takes in the whole context.
    bytes: u64,
    /// The calls that keep it, outermost first.
    calls: Vec<&'r str>,
}

/// All that is kept, with what calls keep taken apart.
fn leaves(costs: &Costs) -> Vec<Leaf<'_>> {
    fn below<'r>(kept: &'r [Kept], times: u64, calls: &mut Vec<&'r str>, found: &mut Vec<Leaf<'r>>) {
        for field in kept {
            let rooms: u64 = field.loops.iter().map(|l| u64::from(l.room)).product();
            if field.parts.is_empty() {
                found.push(Leaf { kept: field, bytes: times * field.bytes, calls: calls.clone() });
                continue;
            }
            calls.push(field.name.as_str());
            below(&field.parts, times * rooms, calls, found);
            calls.pop();
        }
    }
    let mut found = vec![];
    below(&costs.kept, 1, &mut vec![], &mut found);
    found
}

fn kept_json(kept: &Kept, sources: &Sources) -> Value {
    let loops = kept.loops.iter().map(|l| json!({ "place": sources.place(l.span), "room": l.room }));
    json!({
        "name": kept.name.as_str(),
        "type": kept.ty,
        "bytes": kept.bytes,
        "each": kept.each,
        "loops": loops.collect::<Vec<_>>(),
        "place": sources.place(kept.span),
        "why": kept.why.text(),
        "parts": kept.parts.iter().map(|part| kept_json(part, sources)).collect::<Vec<_>>(),
    })
}

fn json(shown: &Shown<'_>) -> Value {
    let Shown { costs, sources, .. } = shown;
    let kept = costs.kept.iter().map(|kept| kept_json(kept, sources));
    let taken = costs.taken.iter().map(|t| json!({ "name": t.name.as_str(), "bytes": t.bytes }));
    let repeated =
        costs.repeated.iter().map(|r| json!({ "name": r.name.as_str(), "place": sources.place(r.span) }));
    let segmented =
        costs.segmented.iter().map(|s| json!({ "place": sources.place(s.span), "lengths": s.lengths }));
    let growth = costs.growth();
    let loops = growth.loops.iter().enumerate().map(
        |(number, l)| json!({ "name": growth.name(number), "place": sources.place(l.span), "room": l.room }),
    );
    let policies = shown.policies.iter().map(|(name, costs)| {
        json!({
            "policy": name,
            "bytes": costs.bytes,
            "peak": costs.peak,
            "formula": costs.growth().formula(),
            "repeated": costs.repeated.len(),
            "primal_instructions": costs.primal_instructions,
            "backward_instructions": costs.backward_instructions,
        })
    });
    json!({
        "function": shown.function,
        "bytes": costs.bytes,
        "formula": growth.formula(),
        "loops": loops.collect::<Vec<_>>(),
        "kept": kept.collect::<Vec<_>>(),
        "taken": taken.collect::<Vec<_>>(),
        "repeated": repeated.collect::<Vec<_>>(),
        "segmented": segmented.collect::<Vec<_>>(),
        "price": costs.price,
        "peak": costs.peak,
        "primal_instructions": costs.primal_instructions,
        "backward_instructions": costs.backward_instructions,
        "policies": policies.collect::<Vec<_>>(),
    })
}
