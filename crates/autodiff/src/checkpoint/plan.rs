//! The plan: for each residual, whether it is stored, recomputed or taken from the caller.

use super::leaving::Leaving;
use super::nest::loop_bound;
use super::recipe::Recipes;
use super::{Input, Recipe, Residual};
use crate::codes;
use crate::kind::reads_as;
use cotangent_base::{Diagnostic, Entity, Map, Set, Span, Symbol};
use cotangent_ir::layout::layout;
use cotangent_ir::{InputMask, Inst, Ty, ValueDef};

/// Where the linear part gets a residual from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// From that field of the context.
    Kept(u32),
    /// It is computed again.
    Repeated,
    /// It is that input, and the caller hands it over again.
    Input(u32),
}

/// A field of the context.
#[derive(Clone, Debug)]
pub struct Field {
    /// What it holds.
    pub residual: Residual,
    /// What it is called.
    pub name: Symbol,
    /// The type of what it holds, per iteration.
    pub ty: Ty,
    /// The loops around what it holds, outermost first, and how many iterations each has room for.
    pub loops: Vec<(Inst, u32)>,
    /// If the field holds a flag that ends a loop, that loop.
    pub leaving: Option<Leaving>,
}

/// Where the linear part gets everything from.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The context.
    pub fields: Vec<Field>,
    /// The source of each residual that the linear part needs.
    pub sources: Map<Residual, Source>,
    /// Which inputs the linear part needs.
    pub needed: InputMask,
}

/// Why there is no plan.
#[derive(Debug)]
pub struct Refusal {
    /// What to report.
    pub diagnostic: Box<Diagnostic>,
    /// The loop that would store too much, or whose iteration count is unknown. In segments it would store less.
    pub too_long: Option<Inst>,
}

/// The most that a context may take on account of loops.
const MOST_BYTES: u64 = 256 << 20;

/// Turns the cut into a plan: what is needed, found by walking from what is read.
pub fn plan(
    recipes: Recipes<'_, '_>,
    reads: &[Residual],
    is_stored: impl Fn(Residual) -> bool,
) -> Result<Plan, Refusal> {
    let input = recipes.input;
    let mut planner = Planner { input, recipes, plan: Plan::default(), stored: Vec::new() };
    planner.plan.needed = InputMask::filled(false, input.free.len());
    let mut open: Vec<Residual> = reads.to_vec();
    while let Some(residual) = open.pop() {
        planner.source(residual, &is_stored, &mut open);
    }
    planner.lay_out()?;
    Ok(planner.plan)
}

struct Planner<'a, 'b> {
    input: &'b Input<'a>,
    recipes: Recipes<'a, 'b>,
    plan: Plan,
    stored: Vec<Residual>,
}

impl Planner<'_, '_> {
    fn source(
        &mut self,
        residual: Residual,
        is_stored: &impl Fn(Residual) -> bool,
        open: &mut Vec<Residual>,
    ) {
        if self.plan.sources.contains_key(&residual) {
            return;
        }
        let recipe = self.recipes.of(residual);
        let source = if let Some(index) = self.input_number(residual) {
            self.plan.needed.set(index as usize);
            Source::Input(index)
        } else if recipe != Recipe::Free && is_stored(residual) {
            self.stored.push(residual);
            Source::Kept(u32::MAX)
        } else {
            Source::Repeated
        };
        self.plan.sources.insert(residual, source);
        if let (Source::Repeated, Recipe::Of { operands, .. }) = (source, recipe) {
            open.extend(operands.into_iter().map(Residual::Value));
        }
    }

    fn input_number(&self, residual: Residual) -> Option<u32> {
        let Residual::Value(value) = residual else {
            return None;
        };
        let func = &self.input.linearized.func;
        match func.values[value].def {
            ValueDef::Arg(region, index) if region == func.body => Some(index),
            ValueDef::Arg(..) | ValueDef::Result(..) => None,
        }
    }

    /// Gives each stored residual its field: the most strictly aligned first, so that nothing is lost between them.
    fn lay_out(&mut self) -> Result<(), Refusal> {
        let position = |r: &Residual| match *r {
            Residual::Value(value) => (0, value.index()),
            Residual::Trips(inst) => (1, inst.index()),
            Residual::Context(inst) => (2, inst.index()),
        };
        let mut stored = std::mem::take(&mut self.stored);
        stored.sort_by_key(position);
        let types = &self.input.module.types;
        let align = |r: &Residual| layout(types, self.recipes.ty(*r)).map_or(0, |l| l.align);
        stored.sort_by_key(|r| std::cmp::Reverse(align(r)));
        let mut names = Set::default();
        let mut bytes = 0;
        for residual in stored {
            let loops = self.rooms(residual)?;
            let number = self.plan.fields.len() as u32;
            let name = unique(&mut names, self.name(residual));
            let ty = self.recipes.ty(residual);
            bytes = self.check_room(residual, &loops, bytes)?;
            self.plan.fields.push(Field {
                residual,
                name,
                ty,
                loops,
                leaving: self.recipes.leaving(residual),
            });
            self.plan.sources.insert(residual, Source::Kept(number));
        }
        Ok(())
    }

    /// The size of a context of `before` bytes and a field for `residual`. Refuses what no memory would hold.
    fn check_room(&self, residual: Residual, loops: &[(Inst, u32)], before: u64) -> Result<u64, Refusal> {
        let once = layout(&self.input.module.types, self.recipes.ty(residual)).map_or(0, |l| l.size.into());
        let all =
            loops.iter().fold(once, |bytes: u64, (_, iterations)| bytes.saturating_mul((*iterations).into()));
        let bytes = before.saturating_add(all);
        let Some((outermost, _)) = loops.first().filter(|_| bytes > MOST_BYTES) else {
            return Ok(bytes);
        };
        let span = self.input.linearized.func.insts[*outermost].span;
        let diagnostic = Diagnostic::new(
            codes::TOO_LARGE,
            span,
            "the backward pass would store too much for this loop",
        )
        .here(format!("it would store {bytes} bytes"))
        .help("write `[Checkpoint(log)]` before the loop, or give it a smaller bound with `[MaxIters(..)]`");
        Err(self.refuse(*outermost, residual, diagnostic))
    }

    /// The loops around a residual with their bounds. A loop without a bound is reported here.
    fn rooms(&self, residual: Residual) -> Result<Vec<(Inst, u32)>, Refusal> {
        let func = &self.input.linearized.func;
        let loops = self.recipes.nest.loops(func, self.recipes.home(residual));
        let room = |l: Inst| loop_bound(func, l).map(|n| (l, n)).ok_or_else(|| self.no_bound(l, residual));
        loops.into_iter().map(room).collect()
    }

    fn no_bound(&self, unbounded: Inst, residual: Residual) -> Refusal {
        let span = self.input.linearized.func.insts[unbounded].span;
        let diagnostic =
            Diagnostic::new(codes::NO_BOUND, span, "the backward pass needs a bound for this loop")
                .here("cannot determine the iteration count")
                .note("the backward pass stores a value per iteration, so it must know the largest count");
        self.refuse(unbounded, residual, diagnostic)
    }

    /// Refuses a loop for the sake of a residual in it.
    fn refuse(&self, too_long: Inst, residual: Residual, diagnostic: Diagnostic) -> Refusal {
        let span = self.input.linearized.func.insts[too_long].span;
        let diagnostic = Box::new(match self.span(residual) {
            at if at.is_none() || at == span => diagnostic,
            at => diagnostic.label(at, "this value is stored in every iteration"),
        });
        Refusal { diagnostic, too_long: Some(too_long) }
    }

    fn span(&self, residual: Residual) -> Span {
        let func = &self.input.linearized.func;
        match residual {
            Residual::Trips(inst) | Residual::Context(inst) => func.insts[inst].span,
            Residual::Value(value) => func.def(value).map_or(Span::none(), |d| d.span),
        }
    }

    fn name(&self, residual: Residual) -> String {
        let func = &self.input.linearized.func;
        match residual {
            Residual::Trips(_) => "trips".into(),
            Residual::Context(inst) => {
                self.input.module.funcs[self.input.callee(inst).func].plain_name().to_string()
            }
            Residual::Value(value) => match (func.values[value].name, func.op(value)) {
                (Some(name), _) => name.to_string(),
                (None, Some(op)) => reads_as(self.input.module, op).into(),
                (None, None) => "carried".into(),
            },
        }
    }
}

/// The diagnostic for a function whose backward pass needs a value that cannot be stored: a handle chosen at run time.
pub fn not_storable(input: &Input<'_>) -> Box<Diagnostic> {
    let func = &input.linearized.func;
    let message = format!("the backward pass of `{}` needs a resource chosen at run time", func.plain_name());
    let diagnostic = Diagnostic::new(codes::NOT_STORABLE, func.span, message);
    Box::new(diagnostic.help("load from each resource and choose between the values"))
}

fn unique(taken: &mut Set<Symbol>, name: String) -> Symbol {
    let mut symbol = Symbol::new(&name);
    for n in 1.. {
        if taken.insert(symbol) {
            break;
        }
        symbol = Symbol::new(&format!("{name}_{n}"));
    }
    symbol
}
