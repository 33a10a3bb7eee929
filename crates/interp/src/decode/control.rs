//! Decodes branches and loops to jumps.
//!
//! The state of a loop is in the slots of its results:
//!
//! ```text
//!         results <- init                            results <- init, count <- n, i <- 0
//! head:   condition's args <- copies of results      head: if i == count goto end
//!         ..condition..                                    k <- i, or count - 1 - i
//!         unless yielded goto end                          body's args <- results
//!         body's args <- results                           ..body..
//!         ..body..                                         results <- yielded
//!         results <- yielded, goto head                    i <- i + 1, goto head
//! end:                                               end:
//! ```

use super::{Arg, Code, Decoder, Label, Loop, Rounds, Slot, Target};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, Inst, InstData, Region};

impl Decoder<'_> {
    pub(super) fn decode_if(&mut self, inst: Inst, data: &InstData) {
        let (otherwise, end) = (self.label(), self.label());
        self.emit(Code::Branch { cond: self.arg(inst, 0), otherwise: otherwise.0 });
        let target = Target { to: self.define(&data.results), label: end };
        self.branch(data.regions[0], &target);
        self.place(otherwise);
        self.branch(data.regions[1], &target);
        self.place(end);
    }

    pub(super) fn decode_switch(&mut self, inst: Inst, data: &InstData, cases: &[i64]) {
        let labels: Vec<Label> = data.regions.iter().map(|_| self.label()).collect();
        let targets = labels.iter().map(|l| l.0).collect();
        let selector = self.arg(inst, 0);
        let ty = self.module.types.scalar_of(self.func.ty(data.operands[0]));
        let held = |case: &i64| Eval::default().constant(Const::Int(*case), ty.expect("it is an integer"));
        let cases = cases.iter().map(held).collect();
        self.emit(Code::Switch { selector, cases, targets });
        let target = Target { to: self.define(&data.results), label: self.label() };
        for (&region, label) in data.regions.iter().zip(labels) {
            self.place(label);
            self.branch(region, &target);
        }
        self.place(target.label);
    }

    /// A branch begins by dropping what only other branches use.
    fn branch(&mut self, region: Region, target: &Target) {
        let dead = self.lifetimes.on_entry.remove(&region).unwrap_or_default();
        self.drop_values(dead);
        self.region(region, Some(target));
    }

    pub(super) fn decode_while(&mut self, inst: Inst, data: &InstData) {
        let (head, end) = (self.label(), self.label());
        let state = self.loop_state(data);
        let round = self.counts.then(|| self.new_slot());
        if let Some(round) = round {
            self.emit(Code::Start { round });
        }
        self.emit_move(inst, 0, state.clone(), Box::default(), head);
        self.place(head);
        let rounds = self.begin_rounds(round);
        if let Some(round) = round {
            let here = self.label();
            self.emit(Code::Next { round, goto: here.0 });
            self.place(here);
        }
        let (cond, body) = (data.regions[0], data.regions[1]);
        let scope = self.scope.len();
        let args = self.define(&self.func.regions[cond].args);
        self.carry(&state, &args, false);
        let verdict = self.new_slot();
        let decided = self.label();
        self.region(cond, Some(&Target { to: vec![Some(verdict)], label: decided }));
        self.scope.truncate(scope);
        self.place(decided);
        self.emit(Code::Branch { cond: Arg { slot: verdict, take: true }, otherwise: end.0 });
        self.loop_body(body, &state, &[], head, end);
        self.end_rounds(rounds);
        self.place(end);
        self.leave_loop(inst, data);
    }

    pub(super) fn decode_for(&mut self, inst: Inst, data: &InstData, reversed: bool) {
        let (head, next, end) = (self.label(), self.label(), self.label());
        let (rounds, round) = (self.new_slot(), self.new_slot());
        let state = self.loop_state(data);
        self.emit(Code::Count { n: self.arg(inst, 0), rounds, round });
        self.emit_move(inst, 1, state.clone(), Box::default(), head);
        self.place(head);
        let around = self.begin_rounds(Some(round));
        let scope = self.scope.len();
        let body = data.regions[0];
        let counter = self.define(&self.func.regions[body].args[..1]);
        self.emit(Code::Round { rounds, round, counter: counter[0], reversed, done: end.0 });
        self.loop_body(body, &state, &counter, next, end);
        self.scope.truncate(scope);
        self.place(next);
        self.emit(Code::Next { round, goto: head.0 });
        self.end_rounds(around);
        self.place(end);
        self.leave_loop(inst, data);
    }

    /// Notes that a loop begins whose iterations are counted in a slot.
    fn begin_rounds(&mut self, round: Option<Slot>) -> Option<usize> {
        let start = self.codes.len();
        self.rounds.push(Rounds { start, end: start, round: round? });
        Some(self.rounds.len() - 1)
    }

    fn end_rounds(&mut self, rounds: Option<usize>) {
        if let Some(rounds) = rounds {
            self.rounds[rounds].end = self.codes.len();
        }
    }

    /// The results of a loop hold its state, so they have slots even if nobody uses them afterwards.
    fn loop_state(&mut self, data: &InstData) -> Vec<Option<Slot>> {
        let slots = data.results.iter().map(|v| {
            let slot = self.new_slot();
            self.slots[*v] = Some(slot);
            if self.has_storage(*v) {
                self.scope.push(slot);
            }
            Some(slot)
        });
        slots.collect()
    }

    /// Hands the state to the arguments of a region.
    fn carry(&mut self, state: &[Option<Slot>], args: &[Option<Slot>], take: bool) {
        // What nobody looks at is still taken, so that the state does not hold on to it.
        let pairs = state.iter().zip(args).filter(|(_, arg)| take || arg.is_some());
        let (from, to): (Vec<Arg>, Vec<Option<Slot>>) =
            pairs.map(|(slot, arg)| (Arg { slot: slot.expect("state has slots"), take }, *arg)).unzip();
        if !from.is_empty() {
            let here = self.label();
            self.emit(Code::Move { from: from.into(), to: to.into(), clear: Box::default(), goto: here.0 });
            self.place(here);
        }
    }

    /// A body whose first arguments are defined already.
    fn loop_body(
        &mut self,
        body: Region,
        state: &[Option<Slot>],
        defined: &[Option<Slot>],
        next: Label,
        end: Label,
    ) {
        let scope = self.scope.len();
        let args = self.define(&self.func.regions[body].args[defined.len()..]);
        self.carry(state, &args, true);
        self.loops.push(Loop { state: state.to_vec(), next, end, scope });
        self.region(body, Some(&Target { to: state.to_vec(), label: next }));
        self.loops.pop();
        self.scope.truncate(scope);
    }

    fn leave_loop(&mut self, inst: Inst, data: &InstData) {
        let mut dead = self.lifetimes.behind.remove(&inst).unwrap_or_default();
        dead.extend(data.results.iter().filter(|v| self.lifetimes.unused.contains(**v)));
        self.drop_values(dead);
    }

    /// Leaving several loops at once passes by the places where values of the outer ones are dropped.
    pub(super) fn decode_exit(&mut self, inst: Inst, out: u32, goto: fn(&Loop) -> Label) {
        let target = &self.loops[self.loops.len() - 1 - out as usize];
        let clear = if out == 0 { Box::default() } else { self.scope[target.scope..].into() };
        let (state, label) = (target.state.clone(), goto(target));
        self.emit_move(inst, 0, state, clear, label);
    }
}
