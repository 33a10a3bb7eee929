//! `budget`: for `--context BYTES`, finds policies under which every backward derivative stays within that number of bytes.
//!
//! Input: a module with a [budget](cotangent_ir::Module::budget). Output: a [`Policy`] for each backward derivative that it
//! requests.
//!
//! Two things make a backward pass store less. A byte can count more against work done again: its *price* in the minimum cut of
//! [`checkpoint`](mod@crate::checkpoint). And loops can be cut into [`segments`](mod@crate::segments). The policies of [`LADDER`]
//! are tried in turn, on copies of the module, until everything that is stored at a time fits: first higher prices, which cost the
//! least work, then loops cut by the square root, which run twice, then by the logarithm. The price is then lowered again to the
//! least that fits. A derivative that no policy makes small enough is an error that says what would fit.
//!
//! What counts is what is stored at a time, with what calls that run again store meanwhile
//! ([`Report::peak`](crate::report::Report)).

use crate::codes;
use crate::driver::{start, write};
use crate::report::again::peak;
use cotangent_base::{Diagnostic, Diagnostics, Map};
use cotangent_ir::{FuncId, FuncKind, Mode, Module, Segments};
use cotangent_passes::watch::Watch;

/// How a backward derivative weighs bytes against work, and cuts loops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    /// How many times as much as usual a byte counts.
    pub price: u64,
    /// How loops are cut that say nothing about it.
    pub segments: Segments,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { price: 1, segments: Segments::Auto }
    }
}

const fn policy(price: u64, segments: Segments) -> Policy {
    Policy { price, segments }
}

/// So high a price makes everything recomputed that can be.
const HIGH: u64 = 1 << 20;

/// The policies, by the work that they cost.
const LADDER: [Policy; 14] = [
    policy(1, Segments::Auto),
    policy(2, Segments::Auto),
    policy(8, Segments::Auto),
    policy(32, Segments::Auto),
    policy(256, Segments::Auto),
    policy(HIGH, Segments::Auto),
    policy(1, Segments::Sqrt),
    policy(8, Segments::Sqrt),
    policy(256, Segments::Sqrt),
    policy(HIGH, Segments::Sqrt),
    policy(1, Segments::Log),
    policy(8, Segments::Log),
    policy(256, Segments::Log),
    policy(HIGH, Segments::Log),
];

/// How often the interval of prices is halved.
const HALVINGS: u32 = 5;

/// The policies of backward derivatives; those that need none but the usual one have none.
pub(crate) type Policies = Map<FuncId, Policy>;

/// What is known about a derivative.
struct Search {
    request: FuncId,
    /// The policy of [`LADDER`] that is tried, or the first that fits.
    rung: usize,
    fits: bool,
    /// The least that any policy stores.
    least: u64,
}

/// The policies under which what `roots` and the functions of `module` request stays within the budget.
pub(crate) fn policies(module: &Module, roots: &[FuncId], budget: u64) -> (Policies, Diagnostics) {
    let mut searches: Vec<Search> = Vec::new();
    for rung in 0..LADDER.len() {
        for search in searches.iter_mut().filter(|search| !search.fits) {
            search.rung = rung;
        }
        let chosen = searches.iter().map(|search| (search.request, LADDER[search.rung])).collect();
        let sizes = sizes(module, roots, &chosen);
        if rung == 0 {
            let search = |request: &FuncId| Search { request: *request, rung, fits: false, least: u64::MAX };
            searches = sizes.keys().map(search).collect();
            searches.sort_by_key(|search| search.request);
        }
        for search in searches.iter_mut().filter(|search| !search.fits) {
            let size = sizes.get(&search.request).copied().unwrap_or(u64::MAX);
            search.least = search.least.min(size);
            search.fits = size <= budget;
        }
        if searches.iter().all(|search| search.fits) {
            break;
        }
    }
    let told = complaints(module, &searches, budget);
    let policies =
        if told.has_errors() { Policies::default() } else { cheapest(module, roots, &searches, budget) };
    (policies, told)
}

/// Lowers prices as far as the budget allows.
fn cheapest(module: &Module, roots: &[FuncId], searches: &[Search], budget: u64) -> Policies {
    let mut found: Policies = searches.iter().map(|search| (search.request, LADDER[search.rung])).collect();
    // The prices between which to search: too low, and high enough.
    let mut open: Vec<(FuncId, u64, u64)> = Vec::new();
    for search in searches.iter().filter(|search| search.rung > 0) {
        let (below, this) = (LADDER[search.rung - 1], LADDER[search.rung]);
        open.extend((below.segments == this.segments).then_some((search.request, below.price, this.price)));
    }
    for _ in 0..HALVINGS {
        open.retain(|(_, low, high)| high - low > 1);
        if open.is_empty() {
            break;
        }
        let middle = |low: u64, high: u64| (low * high).isqrt().clamp(low + 1, high - 1);
        let mut tried = found.clone();
        for &(request, low, high) in &open {
            tried.entry(request).and_modify(|policy| policy.price = middle(low, high));
        }
        let sizes = sizes(module, roots, &tried);
        for (request, low, high) in &mut open {
            let price = middle(*low, *high);
            match sizes.get(request) {
                Some(size) if *size <= budget => {
                    *high = price;
                    found.entry(*request).and_modify(|policy| policy.price = price);
                }
                Some(_) | None => *low = price,
            }
        }
    }
    found
}

/// What backward derivatives store at a time, under these policies; `u64::MAX` of one that cannot be written.
fn sizes(module: &Module, roots: &[FuncId], policies: &Policies) -> Map<FuncId, u64> {
    let mut copy = module.clone();
    let mut cx = start(&mut copy, Watch::default());
    cx.policies.clone_from(policies);
    let cx = write(cx, roots);
    let mut sizes: Map<FuncId, u64> = Map::default();
    for request in module.funcs.keys() {
        let FuncKind::Request(Mode::Backward, _) = module.funcs[request].kind else { continue };
        if cx.has_failed(request) {
            sizes.insert(request, u64::MAX);
        } else if cx.reverse.parts(request).is_some() {
            sizes.insert(request, peak(&cx, request));
        }
    }
    sizes
}

/// Errors about derivatives that do not fit. One that cannot be written at all is told about later.
fn complaints(module: &Module, searches: &[Search], budget: u64) -> Diagnostics {
    let mut told = Diagnostics::new();
    for search in searches.iter().filter(|search| !search.fits && search.least < u64::MAX) {
        let FuncKind::Request(_, of) = module.funcs[search.request].kind else { continue };
        let (name, span) = (module.funcs[of].plain_name(), module.funcs[of].span);
        let message = format!("the backward pass of `{name}` does not fit in {budget} bytes");
        let diagnostic = Diagnostic::new(codes::BUDGET, span, message)
            .note(format!(
                "recomputing what can be recomputed, and cutting loops, it still stores {} bytes at a time",
                search.least
            ))
            .help(format!("`--context {}` fits", search.least));
        told.push(diagnostic);
    }
    told
}
