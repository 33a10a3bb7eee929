//! `cotangent report`: prints what the backward pass of a function or kernel stores and recomputes.

use super::INTERPRETED;
use crate::args::{Format, Report};
use crate::output::print;
use crate::report::{Failure, finish};
use cotangent::report::Report as Costs;
use cotangent::{Session, Sources, Symbol};
use serde_json::json;

pub fn report(args: &Report) -> Result<(), Failure> {
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(INTERPRETED);
    request.options.runs = true;
    let program = Session::new(loader).program(&request);
    let name = args.entry.as_ref().unwrap_or(&args.function);
    let answer = match &args.entry {
        Some(entry) => program.report_kernel(Symbol::new(entry)),
        None => program.report(Symbol::new(name)),
    };
    let costs = finish(answer, args.format)?;
    let sources = program.sources();
    match args.format {
        Format::Text => print(&text(name, &costs, &sources)),
        Format::Json => print(&format!("{}\n", json(name, &costs, &sources))),
    }
}

fn text(function: &str, costs: &Costs, sources: &Sources) -> String {
    let mut out = format!("{function}: the backward pass stores {} bytes\n", costs.bytes);
    for kept in &costs.kept {
        let (place, why) = (sources.place(kept.span), kept.why.text());
        out += &format!("  {:>8} bytes  {}: {}  at {place} ({why})\n", kept.bytes, kept.name, kept.ty);
    }
    let values = if costs.repeated.len() == 1 { "value" } else { "values" };
    out += &format!("\nand recomputes {} {values}\n", costs.repeated.len());
    for repeated in &costs.repeated {
        out += &format!("  {} at {}\n", repeated.name, sources.place(repeated.span));
    }
    let (primal, backward) = (costs.primal_instructions, costs.backward_instructions);
    out + &format!("\n{primal} instructions compute the values, {backward} the gradient\n")
}

fn json(function: &str, costs: &Costs, sources: &Sources) -> serde_json::Value {
    let kept = costs.kept.iter().map(|k| {
        let (name, place, why) = (k.name.as_str(), sources.place(k.span), k.why.text());
        json!({ "name": name, "type": k.ty, "bytes": k.bytes, "place": place, "why": why })
    });
    let repeated =
        costs.repeated.iter().map(|r| json!({ "name": r.name.as_str(), "place": sources.place(r.span) }));
    json!({
        "function": function,
        "bytes": costs.bytes,
        "kept": kept.collect::<Vec<_>>(),
        "repeated": repeated.collect::<Vec<_>>(),
        "primal_instructions": costs.primal_instructions,
        "backward_instructions": costs.backward_instructions,
    })
}
