//! A report as a page: one HTML file without anything else to load. Beside each line of the source stand the bytes that are
//! stored for it, on a background that is darker for more bytes.

use super::{Leaf, Shown, leaves};
use cotangent::Span;
use std::collections::BTreeMap;

/// How many lines are shown before and after an annotated line.
const AROUND: u32 = 8;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;color:#222}\
    h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}code,td,pre{font-family:ui-monospace,monospace;font-size:13px}\
    table{border-collapse:collapse}.facts td,.facts th{padding:.2em 1em .2em 0;text-align:left}\
    .facts td.n{text-align:right}.source{width:100%}.source td{padding:0 .6em;white-space:pre;vertical-align:top}\
    .source .no{color:#999;text-align:right;width:3em}.source .heat{text-align:right;width:6em}\
    .source .again{color:#06c;width:1.5em}.source .note{white-space:normal;color:#555;font-family:inherit;padding-left:3em}\
    .chosen{font-weight:bold}";

/// What is said of a line.
#[derive(Default)]
struct Line<'r> {
    kept: Vec<Leaf<'r>>,
    again: Vec<String>,
}

pub fn page(shown: &Shown<'_>) -> String {
    let function = escape(shown.function);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{function}: the backward pass</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>The backward pass of <code>{function}</code></h1>\n"
    );
    out += &summary(shown);
    out += &policies(shown);
    out += &source(shown);
    out + "</body></html>\n"
}

fn summary(shown: &Shown<'_>) -> String {
    let (costs, growth) = (shown.costs, shown.costs.growth());
    let mut out = format!("<p>It stores <b>{} bytes</b>", costs.bytes);
    if !growth.loops.is_empty() {
        out += &format!(" = <code>{}</code>, where", growth.formula());
    }
    out += "</p>\n";
    if !growth.loops.is_empty() {
        out += "<ul>\n";
        for (number, l) in growth.loops.iter().enumerate() {
            let (name, place) = (growth.name(number), escape(&shown.sources.place(l.span)));
            let room = l.room;
            out += &format!(
                "<li><code>{name}</code> ≤ {room} counts the iterations of the loop at {place}</li>\n"
            );
        }
        out += "</ul>\n";
    }
    let (primal, backward) = (costs.primal_instructions, costs.backward_instructions);
    out += &format!("<p>{primal} instructions compute the values, {backward} the gradient.");
    if !costs.taken.is_empty() {
        let taken = costs
            .taken
            .iter()
            .map(|t| format!("<code>{}</code> ({} bytes)", escape(t.name.as_str()), t.bytes));
        out += &format!(" It takes from its caller: {}.", taken.collect::<Vec<_>>().join(", "));
    }
    for s in &costs.segmented {
        let lengths = s.lengths.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let place = escape(&shown.sources.place(s.span));
        out += &format!(" It runs the loop at {place} again in segments of {lengths} iterations.");
    }
    if costs.peak > costs.bytes {
        out += &format!(" At most {} bytes are stored at a time, with those of what runs again.", costs.peak);
    }
    out + "</p>\n"
}

fn policies(shown: &Shown<'_>) -> String {
    let mut out =
        "<h2>Policies</h2>\n<table class=\"facts\"><tr><th>policy</th><th>bytes</th><th>at a time</th><th>formula</th>\
                   <th>values computed twice</th><th>instructions</th></tr>\n"
            .to_string();
    for (name, costs) in &shown.policies {
        let is_chosen = costs.bytes == shown.costs.bytes && costs.repeated == shown.costs.repeated;
        let class = if is_chosen { " class=\"chosen\"" } else { "" };
        let instructions = costs.primal_instructions + costs.backward_instructions;
        out += &format!(
            "<tr{class}><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{instructions}</td></tr>\n",
            name.unwrap_or("(default)"),
            costs.bytes,
            costs.peak,
            costs.growth().formula(),
            costs.repeated.len(),
        );
    }
    out + "</table>\n"
}

/// The lines of all files of which something is said.
fn source(shown: &Shown<'_>) -> String {
    let mut files: BTreeMap<_, BTreeMap<u32, Line<'_>>> = BTreeMap::new();
    let line_of = |span: Span| shown.sources.location(span.file, span.start).line;
    let mut nowhere = Line::default();
    for leaf in leaves(shown.costs) {
        let span = leaf.kept.span;
        let line = match span.is_none() {
            true => &mut nowhere,
            false => files.entry(span.file).or_default().entry(line_of(span)).or_default(),
        };
        line.kept.push(leaf);
    }
    for again in &shown.costs.repeated {
        let line = match again.span.is_none() {
            true => &mut nowhere,
            false => files.entry(again.span.file).or_default().entry(line_of(again.span)).or_default(),
        };
        line.again.push(again.name.to_string());
    }
    let lines = files.values().flat_map(BTreeMap::values).chain([&nowhere]);
    let most = lines.map(Line::bytes).max().unwrap_or(0);
    let mut out = String::new();
    for (file, lines) in &files {
        out += &format!("<h2>{}</h2>\n<table class=\"source\">\n", escape(shown.sources.path(*file)));
        let first = lines.keys().next().map_or(0, |line| line.saturating_sub(AROUND));
        let last = lines.keys().next_back().map_or(0, |line| line + AROUND);
        let text = shown.sources.text(*file);
        for (number, text) in
            (1..).zip(text.lines()).skip_while(|(n, _)| *n < first).take_while(|(n, _)| *n <= last)
        {
            out += &row(Some(number), text, lines.get(&number), most);
        }
        out += "</table>\n";
    }
    if !nowhere.kept.is_empty() || !nowhere.again.is_empty() {
        out += "<h2>Generated code</h2>\n<table class=\"source\">\n";
        out += &row(None, "", Some(&nowhere), most);
        out += "</table>\n";
    }
    out
}

impl Line<'_> {
    fn bytes(&self) -> u64 {
        self.kept.iter().map(|leaf| leaf.bytes).sum()
    }
}

/// A line of the source, and what is to be said of it below.
fn row(number: Option<u32>, text: &str, line: Option<&Line<'_>>, most: u64) -> String {
    let number = number.map_or_else(String::new, |number| number.to_string());
    let bytes = line.map_or(0, Line::bytes);
    let again = if line.is_some_and(|line| !line.again.is_empty()) { "↻" } else { "" };
    let shown = if bytes == 0 { String::new() } else { bytes.to_string() };
    let mut out = format!(
        "<tr><td class=\"no\">{number}</td><td class=\"heat\" style=\"background:rgba(220,60,20,{:.2})\">{shown}</td>\
         <td class=\"again\">{again}</td><td>{}</td></tr>\n",
        heat(bytes, most),
        escape(text),
    );
    let Some(line) = line else { return out };
    for leaf in &line.kept {
        let kept = leaf.kept;
        let through = match leaf.calls.is_empty() {
            true => String::new(),
            false => format!(
                ", for a call of {}",
                leaf.calls
                    .iter()
                    .rev()
                    .map(|c| format!("<code>{}</code>", escape(c)))
                    .collect::<Vec<_>>()
                    .join(" in ")
            ),
        };
        out += &note(&format!(
            "<code>{}: {}</code>, {} bytes{through}: it {}",
            escape(kept.name.as_str()),
            escape(&kept.ty),
            leaf.bytes,
            kept.why.text(),
        ));
    }
    if !line.again.is_empty() {
        let names = line.again.iter().map(|name| format!("<code>{}</code>", escape(name)));
        out += &note(&format!("↻ computed twice: {}", names.collect::<Vec<_>>().join(", ")));
    }
    out
}

fn note(text: &str) -> String {
    format!("<tr><td></td><td></td><td></td><td class=\"note\">{text}</td></tr>\n")
}

/// How dark the ground is: by orders of magnitude, so that small amounts show beside large ones.
fn heat(bytes: u64, most: u64) -> f64 {
    match bytes {
        0 => 0.0,
        _ => 0.12 + 0.6 * (bytes as f64).ln_1p() / (most as f64).ln_1p(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
