//! The structure of a function, seen from the inside: which construct contains an instruction, and which exits leave a
//! construct.
//!
//! A [`Func`] is a tree that points only downwards. [`Shape`] is computed in one walk and points upwards: from an instruction
//! to its region, from a region to its owner, and from a control operation to every exit that ends at it. It is a snapshot: a
//! pass that moves instructions must compute it again.
//!
//! Loops are counted as in exits: both regions of a `while` are inside it. For emitters, [`choice`] tells whether a branch
//! only chooses between values.

use cotangent_base::EntityMap;
use cotangent_ir::{Control, Exit, Func, Inst, InstData, Op, Region, Type, Types, Value};

/// The upward links of a function.
pub struct Shape {
    homes: EntityMap<Inst, Option<Region>>,
    owners: EntityMap<Region, Option<Inst>>,
    targets: EntityMap<Inst, Option<Inst>>,
    exits: EntityMap<Inst, Vec<Inst>>,
}

impl Shape {
    /// The links of `func` as it is now.
    pub fn of(func: &Func) -> Shape {
        let insts = func.insts.len();
        let mut shape = Shape {
            homes: EntityMap::filled(None, insts),
            owners: EntityMap::filled(None, func.regions.len()),
            targets: EntityMap::filled(None, insts),
            exits: EntityMap::filled(Vec::new(), insts),
        };
        shape.region(func, func.body, None, &mut Vec::new());
        shape
    }

    /// Whether the instruction was in the function when this was computed.
    pub fn knows(&self, inst: Inst) -> bool {
        self.homes.get(inst).is_some_and(Option::is_some)
    }

    /// The region an instruction is in; `None` if it has been taken out of the function.
    pub fn home(&self, inst: Inst) -> Option<Region> {
        self.homes[inst]
    }

    /// The instruction a region belongs to; `None` for the body.
    pub fn owner(&self, region: Region) -> Option<Inst> {
        self.owners[region]
    }

    /// The instruction in whose region `inst` is; `None` at the outermost level.
    pub fn parent(&self, inst: Inst) -> Option<Inst> {
        self.homes[inst].and_then(|region| self.owners[region])
    }

    /// The control operation an exit ends at: the owner of a `yield`'s region, the loop of a `break` or a
    /// `continue`. `None` for a `return`.
    pub fn target(&self, exit: Inst) -> Option<Inst> {
        self.targets[exit]
    }

    /// Every exit that ends at this control operation, in order.
    pub fn exits(&self, control: Inst) -> &[Inst] {
        &self.exits[control]
    }

    fn region(&mut self, func: &Func, region: Region, owner: Option<Inst>, loops: &mut Vec<Inst>) {
        self.owners[region] = owner;
        for &inst in &func.regions[region].insts {
            self.homes[inst] = Some(region);
            let data = &func.insts[inst];
            if data.op.is_exit() {
                self.exit(inst, &data.op, owner, loops);
            }
            let is_loop = data.op.is_loop();
            if is_loop {
                loops.push(inst);
            }
            for &inner in &data.regions {
                self.region(func, inner, Some(inst), loops);
            }
            if is_loop {
                loops.pop();
            }
        }
    }

    fn exit(&mut self, inst: Inst, op: &Op, owner: Option<Inst>, loops: &[Inst]) {
        let target = match op.exit() {
            Some(Exit::Yield) => owner,
            Some(Exit::Break(out) | Exit::Continue(out)) => {
                loops.len().checked_sub(out as usize + 1).map(|index| loops[index])
            }
            Some(Exit::Return) | None => None,
        };
        self.targets[inst] = target;
        if let Some(target) = target {
            self.exits[target].push(inst);
        }
    }
}

/// The parts of a loop, the same for both kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The instruction.
    pub inst: Inst,
    /// The condition, if it is a `while`.
    pub cond: Option<Region>,
    /// The body.
    pub body: Region,
    /// Operands before the initial values, and arguments of the body before the carried ones: the count of a
    /// `for` and its counter.
    pub lead: usize,
}

impl Loop {
    /// The parts of `inst`, if it is a loop.
    pub fn of(func: &Func, inst: Inst) -> Option<Loop> {
        let data = &func.insts[inst];
        match data.op.control() {
            Control::While(_) => {
                Some(Loop { inst, cond: Some(data.regions[0]), body: data.regions[1], lead: 0 })
            }
            Control::For(_) => Some(Loop { inst, cond: None, body: data.regions[0], lead: 1 }),
            Control::Plain | Control::If | Control::Switch(_) | Control::Exit(_) => None,
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => None,
        }
    }

    /// How many values it carries.
    pub fn slots(self, func: &Func) -> usize {
        func.insts[self.inst].results.len()
    }

    /// Whether `exit`, which ends at this loop, starts its next iteration, as the `yield` of the body and every
    /// `continue` do.
    pub fn is_back_edge(self, func: &Func, shape: &Shape, exit: Inst) -> bool {
        match func.insts[exit].op.exit() {
            Some(Exit::Yield) => shape.home(exit) == Some(self.body),
            Some(Exit::Continue(_)) => true,
            Some(Exit::Break(_) | Exit::Return) | None => false,
        }
    }

    /// The exits that start its next iteration.
    pub fn back_edges(self, func: &Func, shape: &Shape) -> Vec<Inst> {
        let exits = shape.exits(self.inst).iter().copied();
        exits.filter(|exit| self.is_back_edge(func, shape, *exit)).collect()
    }

    /// Whether `exit` is the `yield` of the condition, which carries no slots.
    pub fn is_condition(self, shape: &Shape, exit: Inst) -> bool {
        self.cond.is_some() && shape.home(exit) == self.cond
    }
}

/// The two values of an `if` that does nothing but choose between numbers or vectors: they are there before it, or constants.
pub fn choice(types: &Types, func: &Func, data: &InstData) -> Option<[Value; 2]> {
    let (Op::If, [result]) = (&data.op, &data.results[..]) else { return None };
    let plain = matches!(types.get(func.ty(*result)), Type::Scalar(_) | Type::Vector(..));
    let only = |region: Region| {
        let (exit, before) = func.regions[region].insts.split_last()?;
        let constant = |inst: &Inst| matches!(func.insts[*inst].op, Op::Const(_));
        let exit = &func.insts[*exit];
        (exit.op == Op::Yield && before.iter().all(constant)).then(|| exit.operands[0])
    };
    let chosen = [only(data.regions[0])?, only(data.regions[1])?];
    let made = chosen.iter().all(|value| !matches!(func.op(*value), Some(Op::Undef)));
    (plain && made).then_some(chosen)
}
