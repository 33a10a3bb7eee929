//! Finds the values that are uniform: equal in all lanes that execute the instruction together.
//!
//! Input: a function. Output: the set of values that may *vary*. Two lanes execute an instruction together if both are in the
//! same iteration of every enclosing loop. The analysis assumes that every value is uniform until one of these rules applies:
//!
//! - Thread indices, loads from memory that may change (unless lanes read it at once), results of calls, and results of wave
//!   operations that differ by lane vary. The caller may say the same of inputs and types ([`Rules`]).
//! - A value computed from a varying operand varies.
//! - The results of a branch with a varying condition vary, and so do those of a loop that lanes leave in different
//!   iterations.
//! - A carried value varies if lanes may enter the same iteration along different edges.
//! - Lanes leave a loop in different iterations if only some of them come to an exit: a branch around it, or one before it from
//!   which some lanes leave, has a varying condition.
//!
//! A carried value does not vary merely because some lanes run more iterations: lanes that execute an iteration together have
//! executed all earlier iterations together.

use crate::shape::{Loop, Shape};
use cotangent_base::EntitySet;
use cotangent_ir::wave::Wave;
use cotangent_ir::{
    Access, Control, Effect, Exit, Func, Inst, InstData, Link, Op, SystemValue, Ty, Type, Types, Value,
};

/// What the analysis is told about a function and about how its lanes run.
#[derive(Clone, Copy)]
pub struct Rules<'r> {
    /// Whether each input varies. If there is none for an input, it varies unless it is the number of the group.
    pub inputs: &'r [bool],
    /// Whether lanes read memory at once, so that all see the same at the same address. Otherwise one may write before another
    /// reads.
    pub reads_at_once: bool,
    /// Whether lanes end reversed loops together: those with fewer iterations begin later. Then the counter is uniform even if the
    /// count varies, but what is carried varies.
    pub ends_together: bool,
    /// The types whose values are taken to vary.
    pub varies: &'r dyn Fn(Ty) -> bool,
}

impl Default for Rules<'_> {
    fn default() -> Self {
        Rules { inputs: &[], reads_at_once: false, ends_together: false, varies: &|_| false }
    }
}

/// The values that vary.
pub struct Uniform<'f> {
    types: &'f Types,
    func: &'f Func,
    shape: Shape,
    reads_at_once: bool,
    ends_together: bool,
    /// Exits that skip code: all but `yield`, and the last of the function.
    jumps: Vec<Inst>,
    varying: EntitySet<Value>,
    changed: bool,
}

impl<'f> Uniform<'f> {
    /// Analyses a function.
    pub fn of(types: &'f Types, func: &'f Func, rules: Rules<'_>) -> Uniform<'f> {
        let mut this = Uniform {
            types,
            func,
            shape: Shape::of(func),
            reads_at_once: rules.reads_at_once,
            ends_together: rules.ends_together,
            jumps: vec![],
            varying: EntitySet::new(),
            changed: true,
        };
        let links = func.entry.as_ref().map_or(&[][..], |entry| &entry.inputs);
        for (number, input) in func.inputs().iter().enumerate() {
            let of_group = links.get(number) == Some(&Link::System(SystemValue::GroupId));
            this.set(*input, rules.inputs.get(number).copied().unwrap_or(!of_group));
        }
        for value in func.values.keys().filter(|value| (rules.varies)(func.ty(*value))) {
            this.set(value, true);
        }
        let insts = func.all_insts();
        let jumps = insts
            .iter()
            .copied()
            .filter(|inst| !matches!(func.insts[*inst].op.exit(), None | Some(Exit::Yield)));
        this.jumps = jumps.filter(|inst| this.shape.parent(*inst).is_some()).collect();
        while std::mem::take(&mut this.changed) {
            insts.iter().for_each(|inst| this.visit(*inst));
        }
        this
    }

    /// The upward links of the function.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether lanes that come to a branch or loop may do different things there.
    pub fn splits(&self, control: Inst) -> bool {
        let data = &self.func.insts[control];
        match data.op.control() {
            Control::If | Control::Switch(_) => self.varies(data.operands[0]),
            Control::For(_) | Control::While(_) => self.ends_apart(control) || self.is_left_apart(control),
            Control::Plain | Control::Exit(_) => false,
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => false,
        }
    }

    /// Whether the condition of a loop, or its count, varies.
    pub fn ends_apart(&self, control: Inst) -> bool {
        let data = &self.func.insts[control];
        match data.op.control() {
            Control::For(_) => self.varies(data.operands[0]),
            Control::While(_) => self.varies(self.func.exit(data.regions[0]).operands[0]),
            Control::If | Control::Switch(_) | Control::Plain | Control::Exit(_) => false,
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => false,
        }
    }

    /// Whether some lanes may leave a loop from within an iteration while others go on.
    pub fn is_left_apart(&self, looped: Inst) -> bool {
        let inside = self.jumps.iter().copied().filter(|jump| self.around(*jump).any(|c| c == looped));
        inside.into_iter().any(|jump| self.leaves_round(jump, looped) && self.is_apart(jump, Some(looped)))
    }

    /// Whether an exit ends a loop around it before its condition does.
    pub fn leaves_round(&self, exit: Inst, looped: Inst) -> bool {
        let breaks = matches!(self.func.insts[exit].op, Op::Break(_));
        (breaks && self.shape.target(exit) == Some(looped)) || self.leaves(exit, looped)
    }

    /// Whether an exit inside a branch or loop goes to what is around that.
    pub fn leaves(&self, exit: Inst, control: Inst) -> bool {
        let Control::Exit(kind) = self.func.insts[exit].op.control() else { return false };
        match kind {
            Exit::Yield => false,
            Exit::Return => true,
            Exit::Break(_) | Exit::Continue(_) => {
                let target = self.shape.target(exit);
                target != Some(control)
                    && !self.around(exit).take_while(|c| *c != control).any(|c| Some(c) == target)
            }
        }
    }

    /// The branches and loops around an instruction, from the inside out.
    pub fn around(&self, inst: Inst) -> impl Iterator<Item = Inst> + '_ {
        std::iter::successors(self.shape.parent(inst), |control| self.shape.parent(*control))
    }

    /// Whether some lanes in `control`, or in the function, may come to an instruction in it and others not.
    pub fn is_apart(&self, inst: Inst, control: Option<Inst>) -> bool {
        self.around(inst).take_while(|c| Some(*c) != control).any(|c| self.splits(c))
            || self.is_thinned(inst, control)
    }

    /// Whether some lanes in `control` may have left what is around an instruction before they come to it.
    fn is_thinned(&self, inst: Inst, control: Option<Inst>) -> bool {
        let is_inside = |exit: Inst| control.is_none_or(|control| self.around(exit).any(|c| c == control));
        self.jumps.iter().any(|jump| {
            let target = self.shape.target(*jump);
            let skips = target.is_none_or(|target| self.around(inst).any(|c| c == target));
            let within = |c: &Inst| Some(*c) != control && Some(*c) != target;
            *jump != inst
                && is_inside(*jump)
                && skips
                && self.around(*jump).take_while(within).any(|c| self.splits(c))
        })
    }

    /// Whether lanes may have different values.
    pub fn varies(&self, value: Value) -> bool {
        self.varying.contains(value)
    }

    fn set(&mut self, value: Value, varies: bool) {
        if varies && self.varying.insert(value) {
            self.changed = true;
        }
    }

    fn visit(&mut self, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst];
        match data.op.control() {
            Control::Plain => {
                let varies = self.makes_varying(data);
                data.results.iter().for_each(|result| self.set(*result, varies));
            }
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => {
                data.results.iter().for_each(|result| self.set(*result, true));
            }
            Control::If | Control::Switch(_) => {
                let splits = self.splits(inst);
                for (number, result) in data.results.iter().enumerate() {
                    let one_does = self.shape.exits(inst).iter().any(|e| self.gives(*e, number));
                    self.set(*result, splits || one_does);
                }
            }
            Control::For(info) => self.visit_loop(inst, info.reversed),
            Control::While(_) => self.visit_loop(inst, false),
            Control::Exit(_) => {}
        }
    }

    /// Whether an exit carries something that varies.
    fn gives(&self, exit: Inst, number: usize) -> bool {
        self.func.insts[exit].operands.get(number).is_some_and(|operand| self.varies(*operand))
    }

    fn visit_loop(&mut self, inst: Inst, reversed: bool) {
        let func = self.func;
        let Some(looped) = Loop::of(func, inst) else { return };
        let data = &func.insts[inst];
        let args = &func.regions[looped.body].args;
        let is_shifted = reversed && looped.lead == 1 && self.varies(data.operands[0]);
        if looped.lead == 1 {
            self.set(args[0], is_shifted && !self.ends_together);
        }
        let exits: Vec<Inst> = self
            .shape
            .exits(inst)
            .iter()
            .copied()
            .filter(|e| !looped.is_condition(&self.shape, *e))
            .collect();
        let (back, out): (Vec<Inst>, Vec<Inst>) =
            exits.into_iter().partition(|e| looped.is_back_edge(func, &self.shape, *e));
        let mixes = back.iter().any(|e| self.is_apart(*e, Some(inst)));
        let splits = self.splits(inst);
        for number in 0..looped.slots(func) {
            let begun = self.varies(data.operands[looped.lead + number]);
            let carried = begun
                || mixes
                || is_shifted && self.ends_together
                || back.iter().any(|e| self.gives(*e, number));
            let arg = args[looped.lead + number];
            self.set(arg, carried);
            if let Some(cond) = looped.cond {
                self.set(func.regions[cond].args[number], carried);
            }
            let given = self.varies(arg) || splits || out.iter().any(|e| self.gives(*e, number));
            self.set(data.results[number], given);
        }
    }

    /// Whether an instruction without regions gives something that varies.
    fn makes_varying(&self, data: &InstData) -> bool {
        let some_do = data.operands.iter().any(|operand| self.varies(*operand));
        match data.op.effect() {
            Effect::None | Effect::Inner | Effect::Exit => some_do,
            Effect::Read => some_do || !(self.reads_at_once || self.loads_constant(data)),
            Effect::Write => !matches!(data.op, Op::Wave(kind) if !self.wave_varies(kind, data)),
        }
    }

    /// Whether an instruction reads a buffer that nobody writes.
    fn loads_constant(&self, data: &InstData) -> bool {
        let is_constant =
            |handle| matches!(self.types.get(self.func.ty(handle)), Type::Buffer(_, Access::Read));
        matches!(data.op, Op::Load(_)) && is_constant(data.operands[0])
    }

    fn wave_varies(&self, kind: Wave, data: &InstData) -> bool {
        match kind {
            Wave::Sum | Wave::Product | Wave::Min | Wave::Max | Wave::And | Wave::Or | Wave::Xor => false,
            Wave::All | Wave::Any | Wave::Ballot | Wave::ReadFirst | Wave::LaneCount => false,
            Wave::ReadAt => self.varies(data.operands[1]),
            Wave::LaneIndex | Wave::PrefixSum | Wave::PrefixProduct => true,
            Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal => true,
        }
    }
}
