//! Finds how to recompute a residual, if that is possible.

use super::leaving::Leaving;
use super::nest::{Nest, init_of, loop_bound};
use super::{Input, Residual};
use crate::kind::{Kind, kind};
use crate::linearize::Linearized;
use cotangent_base::{Map, Scalar, Set};
use cotangent_ir::{Inst, InstData, Op, Region, Ty, Type, Value, ValueDef};

/// How to compute a residual again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recipe {
    /// It is at hand everywhere: a constant, a global, the counter of a loop.
    Free,
    /// Impossible: it differs between iterations, or it is the result of an operation that must not run again.
    None,
    /// From these values.
    Of {
        /// The values.
        operands: Vec<Value>,
        /// What it costs, once.
        work: u64,
    },
}

/// Knows the recipe of every residual of a function.
pub struct Recipes<'a, 'b> {
    /// The function.
    pub input: &'b Input<'a>,
    /// Its tree.
    pub nest: &'b Nest,
    /// Its flags that end loops.
    pub leaving: &'b Map<Value, Leaving>,
}

impl Recipes<'_, '_> {
    /// The recipe of `residual`.
    pub fn of(&self, residual: Residual) -> Recipe {
        match residual {
            Residual::Trips(_) => Recipe::None,
            Residual::Context(inst) => self.of_call(inst),
            Residual::Value(value) => match self.input.linearized.func.values[value].def {
                ValueDef::Arg(region, index) => self.of_argument(value, region, index),
                ValueDef::Result(inst, _) => self.of_result(inst),
            },
        }
    }

    fn of_argument(&self, value: Value, region: Region, index: u32) -> Recipe {
        let func = &self.input.linearized.func;
        let counts = |inst: Inst| matches!(func.insts[inst].op, Op::For(_));
        if index == 0 && self.nest.owner(region).is_some_and(counts) {
            return Recipe::Free;
        }
        let known = self.input.induction.contains_key(&value);
        match self.nest.owner(region).and_then(|owner| init_of(func, owner, value)) {
            Some(init) if known => Recipe::Of { operands: vec![init], work: 2 },
            _ => Recipe::None,
        }
    }

    fn of_result(&self, inst: Inst) -> Recipe {
        let Linearized { func, .. } = self.input.linearized;
        let data = &func.insts[inst];
        match kind(&data.op) {
            Kind::Plain if is_constant(&data.op) => Recipe::Free,
            Kind::Plain => self.of_operands(data),
            Kind::Memory | Kind::Call(_) => match (self.input.unrepeatable)(inst) {
                true => Recipe::None,
                false => self.of_operands(data),
            },
            Kind::DiffCall(_) => self.of_call(inst),
            Kind::Branches => self.of_branches(inst),
            Kind::Counted(_) | Kind::Conditional(_) | Kind::LinCall(_) | Kind::Exit => Recipe::None,
        }
    }

    /// The same operation on the same operands.
    fn of_operands(&self, data: &InstData) -> Recipe {
        let work = self.input.works.inst(self.input.module, &self.input.linearized.func, data);
        Recipe::Of { operands: data.operands.to_vec(), work }
    }

    fn of_call(&self, inst: Inst) -> Recipe {
        let callee = self.input.callee(inst);
        if !callee.repeatable {
            return Recipe::None;
        }
        let inputs = callee.needed.len();
        let operands = self.input.linearized.func.insts[inst].operands[..inputs].to_vec();
        Recipe::Of { operands, work: callee.work }
    }

    /// An `if` or `switch` is repeated as a whole, its primal half, if it holds only plain operations.
    fn of_branches(&self, inst: Inst) -> Recipe {
        let func = &self.input.linearized.func;
        let mut branches = Branches { recipes: self, inside: Set::default(), operands: Vec::new(), work: 1 };
        branches.take(func.insts[inst].operands[0]);
        if branches.enter(inst) {
            Recipe::Of { operands: branches.operands, work: branches.work }
        } else {
            Recipe::None
        }
    }

    /// The type of a residual.
    pub fn ty(&self, residual: Residual) -> Ty {
        match residual {
            Residual::Value(value) => self.input.linearized.func.ty(value),
            Residual::Context(inst) => {
                self.input.callee(inst).context.expect("only contexts that exist are read")
            }
            Residual::Trips(_) => {
                self.input.module.types.find(Type::Scalar(Scalar::I32)).expect("counters have a type")
            }
        }
    }

    /// The region in which a residual is made.
    pub fn region(&self, residual: Residual) -> Region {
        match residual {
            Residual::Value(value) => self.nest.region_of_value(&self.input.linearized.func, value),
            Residual::Trips(inst) | Residual::Context(inst) => self.nest.region_of(inst),
        }
    }

    /// The region that stores a residual once per iteration. The loop that a flag ends does not store it per iteration.
    pub fn home(&self, residual: Residual) -> Region {
        match self.leaving(residual) {
            Some(leaving) => self.nest.region_of(leaving.looped),
            None => self.region(residual),
        }
    }

    /// The loop that a residual ends, if it is such a flag.
    pub fn leaving(&self, residual: Residual) -> Option<Leaving> {
        match residual {
            Residual::Value(value) => self.leaving.get(&value).copied(),
            Residual::Trips(_) | Residual::Context(_) => None,
        }
    }

    /// Whether a loop around `region` has no bound, so that nothing in it can be stored.
    pub fn in_unbounded_loop(&self, region: Region) -> bool {
        let func = &self.input.linearized.func;
        self.nest.loops(func, region).iter().any(|l| loop_bound(func, *l).is_none())
    }
}

/// Collects what the primal half of an `if` or `switch` takes from outside.
struct Branches<'a, 'b, 'c> {
    recipes: &'c Recipes<'a, 'b>,
    inside: Set<Value>,
    operands: Vec<Value>,
    work: u64,
}

impl Branches<'_, '_, '_> {
    /// Visits the branches of `inst`; false if something in them cannot be repeated.
    fn enter(&mut self, inst: Inst) -> bool {
        let func = &self.recipes.input.linearized.func;
        func.insts[inst].regions.iter().all(|r| {
            let (exit, rest) = func.regions[*r].insts.split_last().expect("a region ends in an exit");
            rest.iter().all(|i| self.visit(*i)) && {
                self.take_primal(*exit);
                true
            }
        })
    }

    fn visit(&mut self, inst: Inst) -> bool {
        let input = self.recipes.input;
        let Linearized { func, lin, .. } = input.linearized;
        let data = &func.insts[inst];
        if data.regions.is_empty() && data.results.iter().any(|v| lin.contains(*v)) && !is_call(&data.op) {
            return true;
        }
        let repeatable = match kind(&data.op) {
            Kind::Plain | Kind::Branches => true,
            Kind::Memory => !(input.unrepeatable)(inst),
            Kind::Counted(_) | Kind::Conditional(_) | Kind::Call(_) | Kind::DiffCall(_) => false,
            Kind::LinCall(_) | Kind::Exit => false,
        };
        self.take_primal(inst);
        self.inside.extend(data.results.iter().copied());
        self.work += input.works.inst(input.module, func, data);
        repeatable && self.enter(inst)
    }

    fn take_primal(&mut self, inst: Inst) {
        let Linearized { func, lin, .. } = self.recipes.input.linearized;
        for &operand in func.insts[inst].operands.iter().filter(|v| !lin.contains(**v)) {
            self.take(operand);
        }
    }

    fn take(&mut self, value: Value) {
        if !self.inside.contains(&value) && !self.operands.contains(&value) {
            self.operands.push(value);
        }
    }
}

fn is_call(op: &Op) -> bool {
    matches!(op, Op::DiffCall(_) | Op::Call(_))
}

/// Whether an operation gives the same everywhere.
fn is_constant(op: &Op) -> bool {
    matches!(op, Op::Const(_) | Op::Zero | Op::Undef | Op::Global(_))
}
