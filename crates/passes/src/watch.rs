//! Runs passes, and observes them on request: `--dump-after`, `--time-passes`, and the verifier in debug builds.
//!
//! A [`Watch`] is passed through the pipeline with the module. By default it observes nothing, and each pass costs one test
//! of two empty options. This crate has no clock: the caller supplies one to measure times.
//!
//! Passes nest: `optimize` runs `fold`, and reverse mode runs `linearize`. A row of the time table is a pass within its
//! enclosing passes, and its time includes the passes within it.

use crate::pass::{Facts, Pass, Run};
use cotangent_ir::{Func, Module, text, verify, verify_func};
use std::time::Duration;

/// What to observe of the passes, and what was seen.
#[derive(Clone, Default, Debug)]
pub struct Watch {
    /// After which passes to list the code.
    wanted: Vec<String>,
    /// The listings, in the order in which they were made.
    listings: Vec<(&'static str, String)>,
    /// Times and sizes, if somebody wants them.
    times: Option<Times>,
}

/// The time table while it is filled.
#[derive(Clone, Debug)]
struct Times {
    clock: fn() -> Duration,
    rows: Vec<Row>,
    /// The passes that run now, innermost last: the row, when it began, and the instructions it began with.
    open: Vec<(usize, Duration, usize)>,
}

/// A row of the time table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The pass.
    pub pass: &'static str,
    /// The row of the pass around it.
    pub around: Option<usize>,
    /// How often it ran.
    pub runs: usize,
    /// How long all runs took, those of passes within it included.
    pub time: Duration,
    /// Instructions before, summed over the runs.
    pub before: usize,
    /// Instructions after, summed over the runs.
    pub after: usize,
}

impl Watch {
    /// Lists the code after these passes.
    pub fn list_after(&mut self, passes: impl IntoIterator<Item = impl Into<String>>) {
        self.wanted.extend(passes.into_iter().map(Into::into));
    }

    /// Times the passes with this clock, which gives the time since some moment.
    pub fn time_with(&mut self, clock: fn() -> Duration) {
        self.times = Some(Times { clock, rows: Vec::new(), open: Vec::new() });
    }

    /// The listings made so far, each with its pass.
    pub fn listings(&self) -> &[(&'static str, String)] {
        &self.listings
    }

    /// The time table, a row per pass and passes around it, outer ones first. Empty unless passes are timed.
    pub fn rows(&self) -> &[Row] {
        self.times.as_ref().map_or(&[], |times| &times.rows)
    }

    /// Whether the code after `pass` is listed.
    pub fn lists(&self, pass: &Pass) -> bool {
        !self.wanted.is_empty() && self.wanted.iter().any(|name| name == pass.name)
    }

    /// Keeps a listing of what `pass` made, if somebody wants it.
    pub fn list(&mut self, pass: &Pass, text: impl FnOnce() -> String) {
        if self.lists(pass) {
            self.listings.push((pass.name, text()));
        }
    }

    /// Begins a pass on code of `size` instructions. [`end`](Self::end) ends it.
    pub fn begin(&mut self, pass: &Pass, size: impl FnOnce() -> usize) {
        let Some(times) = &mut self.times else { return };
        let around = times.open.last().map(|(row, ..)| *row);
        let found = times.rows.iter().position(|row| row.pass == pass.name && row.around == around);
        let row = found.unwrap_or_else(|| {
            let (runs, time, before, after) = (0, Duration::ZERO, 0, 0);
            times.rows.push(Row { pass: pass.name, around, runs, time, before, after });
            times.rows.len() - 1
        });
        let size = size();
        times.open.push((row, (times.clock)(), size));
    }

    /// Ends the pass that began last, on code that now has `size` instructions.
    pub fn end(&mut self, size: impl FnOnce() -> usize) {
        let Some(times) = &mut self.times else { return };
        let now = (times.clock)();
        if let Some((row, begun, before)) = times.open.pop() {
            let row = &mut times.rows[row];
            row.runs += 1;
            row.time += now.saturating_sub(begun);
            row.before += before;
            row.after += size();
        }
    }

    /// Runs a pass on a function that is not in the module now, or is there in another version. Says whether it changed.
    pub fn run(&mut self, pass: &Pass, module: &mut Module, func: &mut Func, facts: &Facts<'_>) -> bool {
        let Run::Func(run) = pass.run else { panic!("`{}` is no pass over functions", pass.name) };
        self.begin(pass, || func.size());
        let changed = run(&mut module.types, func, facts);
        self.end(|| func.size());
        self.after(pass, module, func, changed);
        changed
    }

    /// Verifies and lists a function after a pass, if the pass changed it.
    pub fn after(&mut self, pass: &Pass, module: &Module, func: &Func, changed: bool) {
        if !changed {
            return;
        }
        if cfg!(debug_assertions)
            && let Err(error) = verify_func(module, func)
        {
            let text = text::print_linear_func(module, func, &Default::default());
            panic!("internal error after {}: {error}\n{text}", pass.name);
        }
        self.list(pass, || text::print_linear_func(module, func, &Default::default()));
    }

    /// Verifies and lists a module after a pass.
    pub fn after_module(&mut self, pass: &Pass, module: &Module) {
        if cfg!(debug_assertions)
            && let Err(error) = verify(module)
        {
            panic!("internal error after {}: {error}", pass.name);
        }
        self.list(pass, || text::print_module(module));
    }
}
