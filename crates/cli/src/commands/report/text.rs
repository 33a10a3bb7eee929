//! Prints a report as text.

use super::Shown;
use cotangent::Sources;
use cotangent::report::{Kept, Report as Costs, Segmented};

pub fn text(shown: &Shown<'_>) -> String {
    let Shown { function, costs, sources, .. } = shown;
    let mut out = format!("{function}: the backward pass stores {} bytes\n", costs.bytes);
    costs.kept.iter().for_each(|kept| line(&mut out, kept, sources, 0));
    out += &growth(costs, sources);
    if !costs.taken.is_empty() {
        let taken = costs.taken.iter().map(|t| format!("{} ({} bytes)", t.name, t.bytes));
        out += &format!("\nand takes from its caller {}\n", taken.collect::<Vec<_>>().join(", "));
    }
    let values = if costs.repeated.len() == 1 { "value" } else { "values" };
    out += &format!("\nand recomputes {} {values}\n", costs.repeated.len());
    for repeated in &costs.repeated {
        out += &format!("  {} at {}\n", repeated.name, sources.place(repeated.span));
    }
    out += &again(costs, sources);
    let (primal, backward) = (costs.primal_instructions, costs.backward_instructions);
    out += &format!("\n{primal} instructions compute the values, {backward} the gradient\n");
    out + &policies(shown)
}

/// What runs again as a whole, and the most that is stored then.
fn again(costs: &Costs, sources: &Sources) -> String {
    let mut out = String::new();
    if !costs.segmented.is_empty() {
        out += "\nand runs loops again\n";
    }
    for Segmented { span, lengths } in &costs.segmented {
        let lengths = match &lengths[..] {
            [first, second, .., last] if lengths.len() > 3 => format!("{first}, {second}, .. {last}"),
            all => all.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        out += &format!("  at {} in segments of {lengths} iterations\n", sources.place(*span));
    }
    if costs.price > 1 {
        out += &format!("\na byte counts {} times as much as without `--context`\n", costs.price);
    }
    if costs.peak > costs.bytes {
        out +=
            &format!("\nat most {} bytes are stored at a time, with those of what runs again\n", costs.peak);
    }
    out
}

/// A field, and under it the parts of what a call keeps.
fn line(out: &mut String, kept: &Kept, sources: &Sources, depth: usize) {
    let (place, why, indent) = (sources.place(kept.span), kept.why.text(), 2 * depth + 8);
    *out += &format!("  {:>indent$} bytes  {}: {}  at {place} ({why})\n", kept.bytes, kept.name, kept.ty);
    kept.parts.iter().for_each(|part| line(out, part, sources, depth + 1));
}

/// The formula, if loops play a part in it.
fn growth(costs: &Costs, sources: &Sources) -> String {
    let growth = costs.growth();
    if growth.loops.is_empty() {
        return String::new();
    }
    let loops = growth.loops.iter().enumerate().map(|(number, l)| {
        let (name, place) = (growth.name(number), sources.place(l.span));
        format!("{name} iterations of the loop at {place} (at most {})", l.room)
    });
    let loops = loops.collect::<Vec<_>>();
    match &loops[..] {
        [only] => format!("         = {} bytes for {only}\n", growth.formula()),
        _ => format!(
            "         = {} bytes for\n             {}\n",
            growth.formula(),
            loops.join("\n             ")
        ),
    }
}

/// What other policies would give, if that is something else.
fn policies(shown: &Shown<'_>) -> String {
    let differs = |costs: &Costs| costs.bytes != shown.costs.bytes || costs.repeated != shown.costs.repeated;
    let others = shown.policies.iter().filter(|(_, costs)| differs(costs));
    let lines = others.map(|(name, costs)| {
        let (bytes, again) = (costs.bytes, costs.repeated.len());
        let instructions = costs.primal_instructions + costs.backward_instructions;
        let flag = name.unwrap_or("without a flag");
        let peak = match costs.peak > bytes {
            true => format!(", at most {} bytes at a time", costs.peak),
            false => String::new(),
        };
        format!("  {bytes:>8} bytes  {flag}: {again} recomputed, {instructions} instructions{peak}\n")
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\nother policies store\n{lines}") }
}
