//! `cotangent gradcheck`: compares derivatives with finite differences.

use super::INTERPRETED;
use super::set::setting;
use crate::args::{Format, Gradcheck};
use crate::output::print;
use crate::report::{Failure, finish};
use cotangent::gradcheck::{Disagreement, Finding, Hidden, Kink, Options, Outcome, Why};
use cotangent::ir::Mode;
use cotangent::{Session, Sources, gradcheck as check};
use serde_json::{Value, json};

pub fn gradcheck(args: &Gradcheck) -> Result<(), Failure> {
    let format = if args.json { Format::Json } else { args.format };
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(INTERPRETED);
    if let Some(entry) = &args.entry {
        return super::grad_kernel::check(args, entry);
    }
    request.options.runs = true;
    let set = args.set.iter().map(|item| setting(item, &loader)).collect::<Result<_, _>>()?;
    let options = Options {
        functions: args.function.clone(),
        at: args.at.clone(),
        set,
        samples: args.samples,
        seed: args.seed,
        ..Options::default()
    };
    let program = Session::new(loader).program(&request);
    let findings = finish(check::gradcheck(&program, &options), format)?;
    let sources = program.sources();
    print(&match format {
        Format::Text => text(&sources, &findings),
        Format::Json => format!("{}\n", json(&sources, &findings)),
    })?;
    match findings.iter().any(|f| matches!(f.outcome, Outcome::Differs(_))) {
        true => Err(Failure::Program),
        false => Ok(()),
    }
}

/// How many kinks of one function are shown.
const KINKS: usize = 3;

fn text(sources: &Sources, findings: &[Finding]) -> String {
    let width = findings.iter().map(|f| f.name.as_str().len()).max().unwrap_or(0).max("function".len());
    let mut out =
        format!("{:width$}  {:8}  {:8}  {:>6}  {:>8}\n", "function", "result", "modes", "points", "error");
    for finding in findings {
        let row = format!("{:width$}  {:8}  ", finding.name.as_str(), word(&finding.outcome));
        out += &match &finding.outcome {
            Outcome::Skipped(reason) => format!("{row}{reason}\n"),
            Outcome::Agrees | Outcome::Singular => format!("{row}{}\n", measured(finding, finding.error)),
            Outcome::Differs(worst) => format!("{row}{}\n", measured(finding, worst.error)),
        };
    }
    for finding in findings {
        if let Outcome::Differs(worst) = &finding.outcome {
            out += &difference(sources, finding, worst);
        }
    }
    for finding in findings {
        if let Some(reason) = half_checked(finding) {
            let modes: Vec<&str> = finding.modes.iter().map(mode).collect();
            out += &format!("\nonly {} of {} was compared: {reason}", modes.join(","), finding.name);
        }
    }
    for finding in findings {
        for kink in finding.kinks.iter().take(KINKS) {
            out += &format!("\n{}: {}", kink_word(kink), kink_text(finding, kink));
        }
        if finding.kinks.len() > KINKS {
            out += &format!("\nkink: {} has {} more", finding.name, finding.kinks.len() - KINKS);
        }
    }
    for finding in findings {
        for why in [Why::NotFinite, Why::Waves, Why::Detached] {
            if let Some(hidden) = finding.hidden.iter().find(|hidden| hidden.why == why) {
                out += &format!("\nnot judged: {}", hidden_text(finding, hidden));
            }
        }
    }
    if findings.iter().any(|f| !f.kinks.is_empty() || !f.hidden.is_empty() || half_checked(f).is_some()) {
        out.push('\n');
    }
    out += &summary(findings);
    out
}

/// Why only one of two derivatives was compared, if so.
fn half_checked(finding: &Finding) -> Option<&str> {
    let is_skipped = matches!(finding.outcome, Outcome::Skipped(_));
    finding.unchecked.as_deref().filter(|_| !is_skipped)
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Agrees => "agrees",
        Outcome::Singular => "singular",
        Outcome::Differs(_) => "DIFFERS",
        Outcome::Skipped(_) => "skipped",
    }
}

fn measured(finding: &Finding, error: f64) -> String {
    let modes: Vec<&str> = finding.modes.iter().map(mode).collect();
    format!("{:8}  {:>6}  {error:>8.1e}", modes.join(","), finding.points)
}

fn mode(mode: &Mode) -> &'static str {
    match mode {
        Mode::Forward => "fwd",
        Mode::Backward => "bwd",
    }
}

fn difference(sources: &Sources, finding: &Finding, worst: &Disagreement) -> String {
    let Disagreement { output, input, forward, backward, differences, uncertainty, sides, at, .. } = worst;
    let mut out = format!("\n{} ({})\n  at {at}\n", finding.name, sources.place(finding.span));
    let mut line = |what: &str, x: String| out += &format!("  d {output} / d {input} = {x} {what}\n");
    for (x, what) in [(forward, "in forward mode"), (backward, "in reverse mode")] {
        if let Some(x) = x {
            line(what, format!("{x}"));
        }
    }
    match sides {
        Some([left, right]) => {
            line(&format!("to the left, {} to the right, by differences", side(right)), side(left))
        }
        None => line(&format!("by differences (± {uncertainty:.0e})"), format!("{differences}")),
    }
    let finite = [forward, backward].map(|x| x.map(f64::is_finite));
    if matches!(finite, [Some(one), Some(other)] if one != other) {
        out += "  The modes disagree: only one of them gives a finite number.\n";
    } else if [forward, backward].into_iter().flatten().any(|x| x.is_nan()) {
        out += "  The derivative is NaN, but the function has a value and finite slopes here.\n";
    }
    out
}

fn kink_word(kink: &Kink) -> &'static str {
    match kink {
        Kink { singular: true, .. } => "singular",
        Kink { jumps: true, .. } => "jump",
        Kink { .. } => "kink",
    }
}

fn kink_text(finding: &Finding, kink: &Kink) -> String {
    let Kink { output, input, left, right, given, at, .. } = kink;
    let (left, right) = (side(left), side(right));
    format!(
        "d {output} / d {input} of {} is {left} to the left, {right} to the right, given as {given:.4}, at {at}",
        finding.name
    )
}

/// The slope of a side.
fn side(slope: &f64) -> String {
    match slope {
        x if x.is_nan() => "undefined".to_string(),
        x if x.is_infinite() => format!("{}unbounded", if *x < 0.0 { "-" } else { "" }),
        // A difference of equal numbers has no sign.
        x => format!("{:.4}", if x.abs() < 5e-5 { 0.0 } else { *x }),
    }
}

fn hidden_text(finding: &Finding, hidden: &Hidden) -> String {
    let Hidden { output, input, given, at, .. } = hidden;
    let name = finding.name;
    format!("d {output} / d {input} of {name} is given as {given:.4}; {}, at {at}", why(hidden))
}

fn why(hidden: &Hidden) -> &'static str {
    match hidden.why {
        Why::NotFinite => "an intermediate value is not finite, but the result is",
        Why::Waves => "the function oscillates too fast for differences",
        Why::Detached => "near the point the function detaches a value that it does not detach at the point",
    }
}

fn summary(findings: &[Finding]) -> String {
    let count = |word_: &str| findings.iter().filter(|f| word(&f.outcome) == word_).count();
    let (agree, differ, skipped) = (count("agrees"), count("DIFFERS"), count("skipped"));
    let half =
        findings.iter().filter(|f| matches!(f.outcome, Outcome::Agrees) && f.unchecked.is_some()).count();
    let half = if half > 0 { format!(" ({half} in one mode only)") } else { String::new() };
    let singular = match count("singular") {
        0 => String::new(),
        n => format!("{n} singular, "),
    };
    format!("\n{agree} agree{half}, {differ} differ, {singular}{skipped} skipped.\n")
}

fn json(sources: &Sources, findings: &[Finding]) -> Value {
    let one = |finding: &Finding| {
        let mut value = json!({
            "function": finding.name.as_str(),
            "place": sources.place(finding.span),
            "result": word(&finding.outcome).to_lowercase(),
            "modes": finding.modes.iter().map(mode).collect::<Vec<_>>(),
            "unchecked": finding.unchecked,
            "points": finding.points,
            "error": number(finding.error),
            "kinks": finding.kinks.iter().map(kink_json).collect::<Vec<_>>(),
            "hidden": finding.hidden.iter().map(hidden_json).collect::<Vec<_>>(),
        });
        match &finding.outcome {
            Outcome::Agrees | Outcome::Singular => {}
            Outcome::Skipped(reason) => value["reason"] = json!(reason),
            Outcome::Differs(worst) => value["worst"] = difference_json(worst),
        }
        value
    };
    findings.iter().map(one).collect()
}

fn kink_json(kink: &Kink) -> Value {
    let Kink { output, input, left, right, given, jumps, singular, at } = kink;
    json!({ "output": output, "input": input, "jumps": jumps, "singular": singular, "left": number(*left), "right": number(*right), "given": number(*given), "at": at })
}

fn hidden_json(hidden: &Hidden) -> Value {
    let Hidden { output, input, given, at, .. } = hidden;
    json!({ "output": output, "input": input, "given": number(*given), "why": why(hidden), "at": at })
}

fn difference_json(worst: &Disagreement) -> Value {
    json!({
        "output": worst.output,
        "input": worst.input,
        "forward": worst.forward.map(number),
        "backward": worst.backward.map(number),
        "differences": number(worst.differences),
        "uncertainty": number(worst.uncertainty),
        "sides": worst.sides.map(|sides| sides.map(number)),
        "error": number(worst.error),
        "at": worst.at,
    })
}

/// JSON has no words for what is not finite; strings say it.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(format!("{x}")) }
}
