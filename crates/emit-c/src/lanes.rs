//! Tracks the active lanes of a wave in emitted code.
//!
//! The active lanes of a wave operation are those that reach it in the same iteration of every enclosing loop. The hardware's
//! own mask is not reliable: lanes that diverged may reach the operation one after another. So a function that contains wave
//! operations, or calls one that does, takes a parameter `lanes`, the set of lanes that are active when it starts. Where
//! lanes may diverge, they vote, and each lane keeps the set of lanes that voted the same way:
//!
//! ```text
//! ct::Lanes lanes_1 = lanes;
//! if (ct::part(lanes_1, x > 0.0f)) {       // all of `lanes` vote; lanes_1: those that went the same way
//!     s = ct::wave_sum(lanes_1, x);
//! }
//! s = ct::wave_sum(lanes, s);              // all are back
//! ```
//!
//! There are three kinds of votes:
//!
//! | vote | where | who |
//! | --- | --- | --- |
//! | *part* | before a branch with operations inside | all active lanes: which branch they take |
//! | *round* | at the head of a loop with operations inside | the lanes in the loop: whether they continue |
//! | *join* | after a branch or loop that exits skip, if operations follow | all lanes that entered it: those that arrive vote yes |
//!
//! An exit skips joins and leaves loops. On its way a lane votes no in each of them, from the innermost outwards
//! (`ct::leave`), so that no lane waits for it. A loop that lanes can leave from inside votes every iteration, even if its
//! condition is uniform. There is no vote where a condition is uniform ([`Uniform`]), nor where no operation follows that
//! reads the set.

use crate::Emitter;
use cotangent_base::EntitySet;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Exit, Func, FuncId, Inst, Op, Region};
use cotangent_passes::shape::Shape;
use cotangent_passes::uniform::{Rules, Uniform};

/// Where the lanes of a function vote.
#[derive(Default)]
pub(crate) struct Votes {
    /// Branches and loops with operations on waves inside.
    asking: EntitySet<Inst>,
    parts: EntitySet<Inst>,
    rounds: EntitySet<Inst>,
    /// Loops whose lanes must know of each other before they come to the condition.
    early: EntitySet<Inst>,
    joins: EntitySet<Inst>,
}

/// What a lane says no to when it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vote {
    Round(Inst),
    Join(Inst),
}

/// Whether lanes do this together.
pub(crate) fn is_collective(op: &Op) -> bool {
    matches!(op, Op::Wave(kind) if !matches!(kind, Wave::LaneIndex | Wave::LaneCount))
}

impl Votes {
    pub fn of(emitter: &Emitter<'_>, id: FuncId) -> Votes {
        let func = &emitter.module.funcs[id];
        let mut votes = Votes::default();
        if !emitter.meeting.contains(&id) {
            return votes;
        }
        votes.find_asking(emitter, func, func.body);
        let uniform = Uniform::of(&emitter.module.types, func, Rules::default());
        for inst in func.all_insts() {
            votes.decide(func, &uniform, inst);
        }
        votes
    }

    /// Whether lanes vote on which way to go at a branch.
    pub fn parts(&self, branch: Inst) -> bool {
        self.parts.contains(branch)
    }

    /// Whether lanes vote on going on with a loop.
    pub fn has_rounds(&self, looped: Inst) -> bool {
        self.rounds.contains(looped)
    }

    /// Whether they do so before the condition is computed too.
    pub fn is_early(&self, looped: Inst) -> bool {
        self.early.contains(looped)
    }

    /// Whether lanes vote on being there after a branch or loop.
    pub fn joins(&self, control: Inst) -> bool {
        self.joins.contains(control)
    }

    /// What the lanes say no to that leave by an exit; `open` are the branches and loops around it.
    pub fn left(&self, func: &Func, exit: Inst, open: &[Inst]) -> Vec<Vote> {
        let data = &func.insts[exit];
        let (mut loops, is_break) = match data.op.exit() {
            Some(Exit::Break(out)) => (out as usize + 1, true),
            Some(Exit::Continue(out)) => (out as usize + 1, false),
            Some(Exit::Return) => (usize::MAX, false),
            Some(Exit::Yield) | None => return vec![],
        };
        let mut left = Vec::new();
        for control in open.iter().rev() {
            let is_loop = func.insts[*control].op.is_loop();
            loops -= usize::from(is_loop);
            if self.rounds.contains(*control) && (loops > 0 || is_break) {
                left.push(Vote::Round(*control));
            }
            if loops == 0 {
                break;
            }
            if self.joins.contains(*control) {
                left.push(Vote::Join(*control));
            }
        }
        left
    }

    fn find_asking(&mut self, emitter: &Emitter<'_>, func: &Func, region: Region) -> bool {
        let mut found = false;
        for inst in &func.regions[region].insts {
            let data = &func.insts[*inst];
            let calls = data.op.callee().is_some_and(|callee| emitter.meeting.contains(&callee));
            let mut asks = calls || is_collective(&data.op);
            for inner in &data.regions {
                asks |= self.find_asking(emitter, func, *inner);
            }
            if asks {
                self.asking.insert(*inst);
            }
            found |= asks;
        }
        found
    }

    fn decide(&mut self, func: &Func, uniform: &Uniform<'_>, inst: Inst) {
        let data = &func.insts[inst];
        if data.regions.is_empty() {
            return;
        }
        if self.asking.contains(inst) && data.op.is_loop() {
            let left = uniform.is_left_apart(inst);
            if left || uniform.ends_apart(inst) {
                self.rounds.insert(inst);
            }
            let cond =
                if let Op::While(_) = data.op { &func.regions[data.regions[0]].insts[..] } else { &[] };
            if left && cond.iter().any(|i| self.asking.contains(*i)) {
                self.early.insert(inst);
            }
        } else if self.asking.contains(inst) && uniform.splits(inst) {
            self.parts.insert(inst);
        }
        let mut some_leave = false;
        for region in &data.regions {
            func.walk(*region, &mut |exit| {
                some_leave |= uniform.leaves(exit, inst)
                    && (uniform.is_apart(exit, Some(inst)) || uniform.splits(inst));
            });
        }
        if some_leave && self.is_asked_behind(func, uniform.shape(), inst) {
            self.joins.insert(inst);
        }
    }

    /// Whether something that lanes do together comes after an instruction in its region: only that is told who is left.
    fn is_asked_behind(&self, func: &Func, shape: &Shape, inst: Inst) -> bool {
        let Some(region) = shape.home(inst) else { return false };
        let behind = func.regions[region].insts.iter().rev().take_while(|i| **i != inst);
        behind.into_iter().any(|i| self.asking.contains(*i))
    }
}
