//! What a context takes, as a formula in the trip counts of loops.
//!
//! ```text
//! for i < n { keep x;  for j < m { keep y } }      4*n + 4*n*m
//! ```
//!
//! What a call keeps is added up with the loops around the call.

use super::{Kept, Loop, Report};
use cotangent_base::Map;

/// The size of a context: a sum of products of trip counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Growth {
    /// The loops, whose trip counts are the variables.
    pub loops: Vec<Loop>,
    /// The summands, those with fewer loops first.
    pub terms: Vec<Term>,
}

/// A summand of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// How many bytes.
    pub bytes: u64,
    /// By which trip counts they are multiplied: numbers in the list of loops, outermost first.
    pub loops: Vec<usize>,
}

impl Growth {
    pub(super) fn of(report: &Report) -> Growth {
        let mut adder = Adder::default();
        adder.add(&report.kept, report.bytes);
        let terms = adder.terms.into_iter().filter(|(_, bytes)| *bytes > 0);
        let mut terms: Vec<Term> = terms.map(|(loops, bytes)| Term { bytes, loops }).collect();
        terms.sort_by(|a, b| (a.loops.len(), &a.loops).cmp(&(b.loops.len(), &b.loops)));
        Growth { loops: adder.loops, terms }
    }

    /// The size if every loop runs as often as there is room for.
    pub fn most(&self) -> u64 {
        let times = |loops: &[usize]| loops.iter().map(|l| u64::from(self.loops[*l].room)).product::<u64>();
        self.terms.iter().map(|term| term.bytes * times(&term.loops)).sum()
    }

    /// The name of a trip count: `n`, or `n1` if there are more.
    pub fn name(&self, number: usize) -> String {
        if self.loops.len() == 1 { "n".to_string() } else { format!("n{}", number + 1) }
    }

    /// The formula: `8 + 4*n`.
    pub fn formula(&self) -> String {
        let factor = |l: &usize| format!("*{}", self.name(*l));
        let term = |t: &Term| format!("{}{}", t.bytes, t.loops.iter().map(factor).collect::<String>());
        let terms: Vec<String> = self.terms.iter().map(term).collect();
        if terms.is_empty() { "0".to_string() } else { terms.join(" + ") }
    }
}

/// Adds up fields.
#[derive(Default)]
struct Adder {
    loops: Vec<Loop>,
    terms: Map<Vec<usize>, u64>,
    /// The loops around the fields.
    around: Vec<usize>,
}

impl Adder {
    /// Adds the fields of a structure of so many bytes.
    fn add(&mut self, fields: &[Kept], bytes: u64) {
        let padding = bytes.saturating_sub(fields.iter().map(|field| field.bytes).sum());
        self.count(padding);
        for field in fields {
            let outside = self.around.len();
            for inner in &field.loops {
                let number = self.number(*inner);
                self.around.push(number);
            }
            match field.parts.is_empty() {
                true => self.count(field.each),
                false => self.add(&field.parts, field.each),
            }
            self.around.truncate(outside);
        }
    }

    fn count(&mut self, bytes: u64) {
        *self.terms.entry(self.around.clone()).or_default() += bytes;
    }

    fn number(&mut self, wanted: Loop) -> usize {
        self.loops.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.loops.push(wanted);
            self.loops.len() - 1
        })
    }
}
