//! `checkpoint`: decides how the backward pass gets each primal value that it needs.
//!
//! Input: a linearized function. Output: a [`Plan`], which [`unzip`](mod@crate::unzip) carries out. The linear operations
//! read primal values: coefficients, indices, conditions, trip counts, and contexts of calls. These are the [`Residual`]s.
//! There are three ways to provide a residual: store it in the context, recompute it from other values, or, if it is a
//! parameter, take it from the caller.
//!
//! ```text
//! p1 = while .. (p, p_t) {            reads:       s, c
//!   s = sin x; c = cos p              stored:      p, per iteration (4 bytes each)
//!   p' = p * s                        recomputed:  s from x, c from p
//!   p'_t = s * p_t + ..               from caller: x
//! ```
//!
//! # The cut
//!
//! The decision is one minimum cut for the function with all its loop nests. A residual `v` is two nodes:
//!
//! ```text
//! in(v)  -> out(v) : bytes(v) * trips       cut: store v
//! SOURCE -> in(v)  : work(v) * trips        cut: recompute v; infinite if that is impossible
//! out(u) -> in(v)  : infinite               for each u that recomputing v reads
//! out(v) -> SINK   : infinite               if a linear operation reads v
//! ```
//!
//! Values that are always available (constants, globals, loop counters) have no node. Parameters have a weight like other
//! values, because the caller must provide them: a loop that calls `update(a, i)` should not store the whole array `a` per
//! iteration. Parameters are free only if the user is the caller, or if the argument costs the caller nothing. A flag that ends a
//! loop costs one byte for the whole loop ([`leaving`]).

pub mod induction;
mod leaving;
pub mod nest;
mod plan;
mod recipe;
pub mod work;

pub use leaving::Leaving;
pub use plan::{Field, Plan, Refusal, Source};
pub use recipe::Recipe;

use crate::kind::{Kind, kind};
use crate::linearize::Linearized;
use crate::mincut::{INFINITE, Network, Node, SINK, SOURCE};
use crate::prepare::Induction;
use cotangent_base::{EntitySet, Map};
use cotangent_ir::layout::layout;
use cotangent_ir::{FuncId, InputMask, Inst, Module, Prefer, Region, Ty, Value, ValueDef};
use nest::Nest;
use recipe::Recipes;
use work::Works;

/// Something of the primal part that the linear part may need.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Residual {
    /// A value.
    Value(Value),
    /// How many iterations a `while` ran.
    Trips(Inst),
    /// The context of a call.
    Context(Inst),
}

/// What must be known about the function that a [`DiffCall`](cotangent_ir::DiffCall) calls.
#[derive(Clone, Debug)]
pub struct Callee {
    /// The function.
    pub func: FuncId,
    /// Its primal half.
    pub primal: FuncId,
    /// Its linear half; `None` if that is the user's backward derivative.
    pub linear: Option<FuncId>,
    /// What the primal half gives besides the outputs.
    pub context: Option<Ty>,
    /// Which inputs the linear half takes.
    pub needed: InputMask,
    /// Whether it is a source: it runs a custom backward derivative even if no cotangent arrives.
    pub source: bool,
    /// Whether the primal half may run twice.
    pub repeatable: bool,
    /// What its author prefers.
    pub prefer: Prefer,
    /// What running the primal half costs.
    pub work: u64,
}

/// What [`checkpoint`] looks at.
pub struct Input<'a> {
    /// The module.
    pub module: &'a Module,
    /// The function.
    pub linearized: &'a Linearized,
    /// Its loop arguments that are known in every iteration.
    pub induction: &'a Induction,
    /// The functions it calls with a derivative.
    pub calls: &'a Map<Inst, Callee>,
    /// The calls of sources, and the constructs around them.
    pub sources: &'a EntitySet<Inst>,
    /// The primal instructions that must not run twice: those with an effect, those that depend on other threads, loads of
    /// memory that may change, and calls of functions that contain any of these.
    pub unrepeatable: &'a dyn Fn(Inst) -> bool,
    /// What functions cost.
    pub works: &'a Works,
    /// Which inputs cost nothing.
    pub free: &'a InputMask,
    /// How many times as much as usual a byte counts.
    pub price: u64,
}

impl<'a> Input<'a> {
    /// The callee of a call with a derivative.
    pub fn callee(&self, inst: Inst) -> &'a Callee {
        &self.calls[&inst]
    }
}

/// Decides, for everything the linear part of the function needs, where it comes from.
pub fn checkpoint(input: &Input<'_>) -> Result<Plan, Refusal> {
    let nest = Nest::of(&input.linearized.func);
    let leaving = leaving::leaving(&input.linearized.func, &nest);
    let reads = reads(input);
    let mut graph = Graph {
        input,
        recipes: Recipes { input, nest: &nest, leaving: &leaving },
        nodes: Map::default(),
        open: Vec::new(),
        net: Network::default(),
    };
    graph.grow(&reads);
    let Graph { nodes, net, .. } = graph;
    let cut = net.cut();
    if cut.cost >= INFINITE {
        return Err(Refusal { diagnostic: plan::not_storable(input), too_long: None });
    }
    let is_stored = |residual: Residual| {
        let (into, out) = nodes[&residual];
        cut.is_near_source(into) && !cut.is_near_source(out)
    };
    plan::plan(Recipes { input, nest: &nest, leaving: &leaving }, &reads, is_stored)
}

/// What the linear operations read, in program order and perhaps more than once.
pub fn reads(input: &Input<'_>) -> Vec<Residual> {
    let mut reads = Vec::new();
    reads_in(input, input.linearized.func.body, &mut reads);
    reads
}

fn reads_in(input: &Input<'_>, region: Region, reads: &mut Vec<Residual>) {
    let Linearized { func, lin, .. } = input.linearized;
    for &inst in &func.regions[region].insts {
        let data = &func.insts[inst];
        if !data.results.iter().any(|v| lin.contains(*v)) && !input.sources.contains(inst) {
            continue;
        }
        match kind(&data.op) {
            Kind::Conditional(_) => reads.push(Residual::Trips(inst)),
            Kind::Counted(_) => reads.push(Residual::Value(data.operands[0])),
            Kind::DiffCall(_) => reads_of_call(input, inst, reads),
            Kind::Plain | Kind::Memory | Kind::Branches | Kind::Call(_) | Kind::LinCall(_) | Kind::Exit => {
                let primal = data.operands.iter().filter(|v| !lin.contains(**v));
                reads.extend(primal.map(|v| Residual::Value(*v)));
            }
        }
        for &inner in &data.regions {
            reads_in(input, inner, reads);
        }
    }
}

fn reads_of_call(input: &Input<'_>, inst: Inst, reads: &mut Vec<Residual>) {
    let callee = input.callee(inst);
    if callee.context.is_some() {
        reads.push(Residual::Context(inst));
    }
    let inputs = &input.linearized.func.insts[inst].operands;
    let needed = callee.needed.iter().zip(inputs).filter(|(needed, _)| **needed);
    reads.extend(needed.map(|(_, v)| Residual::Value(*v)));
}

/// The network while it grows, from what is read towards what that is computed from.
struct Graph<'a, 'b> {
    input: &'b Input<'a>,
    recipes: Recipes<'a, 'b>,
    nodes: Map<Residual, (Node, Node)>,
    /// The residuals that have nodes but no edges yet. A list, because chains of values can be long.
    open: Vec<(Residual, Recipe)>,
    net: Network,
}

/// The cost of storing one byte.
const BYTE: u64 = 16;
/// One unit of work done again costs as much as this.
const WORK: u64 = 2;
/// A parameter's byte: a little less, since the caller often has it anyway.
const PARAMETER_BYTE: u64 = 14;
/// More than any program costs, and less than infinite: a choice that is possible but not wanted.
const UNWANTED: u64 = 1 << 44;

impl Graph<'_, '_> {
    fn grow(&mut self, reads: &[Residual]) {
        for &read in reads {
            if let Some((_, out)) = self.nodes(read) {
                self.net.edge(out, SINK, INFINITE);
            }
        }
        while let Some((residual, recipe)) = self.open.pop() {
            let (into, out) = self.nodes[&residual];
            self.net.edge(into, out, self.storing(residual));
            self.net.edge(SOURCE, into, self.recomputing(residual, &recipe));
            if let Recipe::Of { operands, .. } = recipe {
                for operand in operands {
                    if let Some((_, from)) = self.nodes(Residual::Value(operand)) {
                        self.net.edge(from, into, INFINITE);
                    }
                }
            }
        }
    }

    /// The two nodes of a residual; none if it costs nothing.
    fn nodes(&mut self, residual: Residual) -> Option<(Node, Node)> {
        if let Some(nodes) = self.nodes.get(&residual) {
            return Some(*nodes);
        }
        let recipe = self.recipes.of(residual);
        if recipe == Recipe::Free {
            return None;
        }
        let nodes = (self.net.node(), self.net.node());
        self.nodes.insert(residual, nodes);
        self.open.push((residual, recipe));
        Some(nodes)
    }

    /// The cost of storing a residual.
    fn storing(&self, residual: Residual) -> u64 {
        let func = &self.input.linearized.func;
        let ty = self.recipes.ty(residual);
        let layout = layout(&self.input.module.types, ty);
        if let Residual::Value(value) = residual
            && let ValueDef::Arg(region, index) = func.values[value].def
            && region == func.body
        {
            let free = self.input.free[index as usize];
            return layout
                .filter(|_| !free)
                .map_or(0, |l| u64::from(l.size) * PARAMETER_BYTE * self.input.price);
        }
        let Some(layout) = layout else { return INFINITE };
        let region = self.recipes.home(residual);
        if self.prefers(residual) == Prefer::Recompute || self.recipes.in_unbounded_loop(region) {
            return UNWANTED;
        }
        let trips = self.recipes.nest.trips(func, region);
        let once = u64::from(layout.size.max(1)) * BYTE * self.input.price;
        once.saturating_mul(trips).min(UNWANTED)
    }

    /// The cost of recomputing a residual.
    fn recomputing(&self, residual: Residual, recipe: &Recipe) -> u64 {
        let Recipe::Of { work, .. } = recipe else {
            return INFINITE;
        };
        let storable = layout(&self.input.module.types, self.recipes.ty(residual)).is_some();
        let region = self.recipes.region(residual);
        match self.prefers(residual).or(self.input.module.prefer) {
            _ if !storable => 0,
            Prefer::Checkpoint => INFINITE,
            Prefer::Recompute => 1,
            Prefer::Auto | Prefer::Rerun => {
                let trips = self.recipes.nest.trips(&self.input.linearized.func, region);
                (work * WORK).saturating_mul(trips).min(UNWANTED)
            }
        }
    }

    /// What the author of the function that gives a residual wants done with it.
    fn prefers(&self, residual: Residual) -> Prefer {
        let func = &self.input.linearized.func;
        let inst = match residual {
            Residual::Context(inst) | Residual::Trips(inst) => inst,
            Residual::Value(value) => match func.values[value].def {
                ValueDef::Result(inst, _) => inst,
                ValueDef::Arg(..) => return Prefer::Auto,
            },
        };
        let prefer = match kind(&func.insts[inst].op) {
            Kind::DiffCall(_) => self.input.callee(inst).prefer,
            Kind::Call(callee) => self.input.module.funcs[callee].diff.prefer,
            Kind::Plain | Kind::Memory | Kind::Branches => Prefer::Auto,
            Kind::Counted(_) | Kind::Conditional(_) | Kind::LinCall(_) | Kind::Exit => Prefer::Auto,
        };
        match (prefer, residual) {
            (Prefer::Rerun, Residual::Context(_)) => Prefer::Recompute,
            (Prefer::Rerun, Residual::Value(_) | Residual::Trips(_)) => Prefer::Auto,
            (Prefer::Auto | Prefer::Recompute | Prefer::Checkpoint, _) => prefer,
        }
    }
}
