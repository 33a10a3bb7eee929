//! Removes early exits from loops.
//!
//! ```text
//! r = while (x0) {                r, .. = while (x0, true) {
//!   yield c(x)                      v = if live { yield c(x) } else { yield false }    yield v
//! } do (x) {                      } do (x, live) {
//!   if d { break (y) } ..           z, go = if d { yield y, false } else { .. yield z, true }
//!   yield z                         yield z, go
//! }                               }
//! ```

use super::exits::{Group, break_of, groups};
use super::landing::{Landing, Outcome};
use super::versions::Met;
use super::{At, Preparer, exits, induction};
use cotangent_ir::{Inst, InstData, LoopInfo, Math, Op, Region, Ty, Value};

impl Preparer<'_> {
    /// Rewrites a loop; says what to hand on, if it can be left for something further out.
    pub(super) fn loop_(&mut self, inst: Inst, data: &InstData) -> Option<Outcome> {
        let depth = self.slots.len();
        let outer = self.exits.leaving(inst).to_vec();
        let body = *data.regions.last().expect("a loop has a body");
        let left = !outer.is_empty() || induction::edges(self.from, body).breaks;
        let known = induction::of_loop(self.types, self.from, &self.shape, inst);
        self.slots.push(self.types_of(&data.results));
        let results = if let Op::For(info) = data.op {
            if left {
                self.counted_with_exits(data, bounded(info, known.rounds), depth, &outer)
            } else {
                self.counted(data, bounded(info, known.rounds), depth)
            }
        } else {
            self.while_(data, &known, depth, left, &outer)
        };
        self.slots.pop();
        let (own, others) = results.split_at(data.results.len());
        self.bind(&data.results, own);
        let skip = data.operands.len() - own.len();
        for (&old, &new) in self.copier.all(&data.operands[skip..]).iter().zip(own) {
            self.current.update(old, new);
        }
        let (&code, slots) = others.split_first()?;
        Some(self.carried(code, &outer, slots))
    }

    /// A counted loop that always runs to its end stays one.
    fn counted(&mut self, data: &InstData, info: LoopInfo, depth: usize) -> Vec<Value> {
        let (from, body) = (self.from, data.regions[0]);
        let operands = self.copier.all(&data.operands);
        let types = self.types_of(&from.regions[body].args);
        let landing = Landing::Loop { depth, counter: None, live: false, outer: vec![] };
        let region = self.build(&types, |p, args| {
            p.bind(&from.regions[body].args, args);
            p.current.begin(Group::Loop(depth), &args[1..]);
            p.sequence(At { region: body, index: 0 }, None, &landing);
        });
        self.emit_loop(data, Op::For(info), &operands, &types[1..], &[region])
    }

    /// A counted loop that can be left: `while (live && k < n)`.
    fn counted_with_exits(
        &mut self,
        data: &InstData,
        info: LoopInfo,
        depth: usize,
        outer: &[exits::Code],
    ) -> Vec<Value> {
        let (from, body) = (self.from, data.regions[0]);
        let operands = self.copier.all(&data.operands);
        let (n, slots) = (operands[0], operands.len() - 1);
        let counter = self.b().int(0);
        let (init, types) = self.carry(&operands[1..], Some(counter), true, outer, depth);
        let condition = self.build(&types, |p, args| {
            let mut b = p.b();
            let more = b.math(Math::Lt, &[args[slots], n]);
            let go_on = b.math(Math::And, &[more, args[slots + 1]]);
            b.yield_(&[go_on]);
        });
        let region = self.build(&types, |p, args| {
            let k = args[slots];
            p.induction.insert(k, 1);
            let index = if info.reversed { p.counted_down(n, k) } else { k };
            p.bind(&from.regions[body].args, &[&[index], &args[..slots]].concat());
            p.set_current(depth, outer, &args[..slots], &args[slots + 2..]);
            let landing = Landing::Loop { depth, counter: Some(k), live: true, outer: outer.to_vec() };
            p.sequence(At { region: body, index: 0 }, None, &landing);
        });
        let info = LoopInfo { reversed: false, ..info };
        let mut results = self.emit_loop(data, Op::While(info), &init, &types, &[condition, region]);
        results.drain(slots..slots + 2);
        results
    }

    fn while_(
        &mut self,
        data: &InstData,
        known: &induction::Known,
        depth: usize,
        left: bool,
        outer: &[exits::Code],
    ) -> Vec<Value> {
        let Op::While(info) = data.op else { unreachable!("the other loops are counted") };
        let (condition, body) = (data.regions[0], data.regions[1]);
        let operands = self.copier.all(&data.operands);
        let slots = operands.len();
        let (init, types) = self.carry(&operands, None, left, outer, depth);
        let condition = self.build(&types, |p, args| p.condition(condition, args, left.then(|| args[slots])));
        let from = self.from;
        let region = self.build(&types, |p, args| {
            for (i, step) in known.steps.iter().enumerate().filter_map(|(i, s)| s.map(|s| (i, s))) {
                p.induction.insert(args[i], step);
            }
            p.bind(&from.regions[body].args, &args[..slots]);
            p.set_current(depth, outer, &args[..slots], &args[slots + usize::from(left)..]);
            let landing = Landing::Loop { depth, counter: None, live: left, outer: outer.to_vec() };
            p.sequence(At { region: body, index: 0 }, None, &landing);
        });
        let op = Op::While(bounded(info, known.rounds));
        let mut results = self.emit_loop(data, op, &init, &types, &[condition, region]);
        results.drain(slots..slots + usize::from(left));
        results
    }

    /// The first values of everything a loop carries, and their types.
    fn carry(
        &mut self,
        slots: &[Value],
        counter: Option<Value>,
        live: bool,
        outer: &[exits::Code],
        depth: usize,
    ) -> (Vec<Value>, Vec<Ty>) {
        let mut init = slots.to_vec();
        if live {
            init.extend(counter);
            init.push(self.b().bool(true));
        }
        if !outer.is_empty() {
            init.push(self.b().int(exits::FALL.into()));
        }
        for group in groups(outer) {
            debug_assert!(group < Group::Loop(depth));
            init.extend(self.current_values(group));
        }
        let types = init.iter().map(|v| self.to.ty(*v)).collect();
        (init, types)
    }

    /// The condition, asked only while the loop is live.
    fn condition(&mut self, region: Region, args: &[Value], live: Option<Value>) {
        self.bind(&self.from.regions[region].args, args);
        let bool = self.types.scalar(cotangent_base::Scalar::Bool);
        let landing = Landing::Branch { fall: vec![bool], exits: vec![], met: Met::default() };
        let at = At { region, index: 0 };
        let Some(live) = live else {
            return self.sequence(at, None, &landing);
        };
        let asked = self.build(&[], |p, _| p.sequence(at, None, &landing));
        let over = self.build(&[], |p, _| {
            let no = p.b().bool(false);
            p.terminate(&[no]);
        });
        let inst = self.b().emit(Op::If, &[live], &[bool]);
        self.to.insts[inst].regions.extend([asked, over]);
        let answer = self.to.insts[inst].results[0];
        self.terminate(&[answer]);
    }

    /// Inside a body: the arguments are the current values. `others` begins with the code, if there is one.
    fn set_current(&mut self, depth: usize, outer: &[exits::Code], own: &[Value], others: &[Value]) {
        self.current.begin(Group::Loop(depth), own);
        let mut others = others.get(1..).unwrap_or_default();
        for group in groups(outer) {
            let (these, rest) = others.split_at(self.slot_types(group).len());
            self.current.begin(group, these);
            others = rest;
        }
        debug_assert!(outer.iter().all(|c| *c < break_of(depth)));
    }

    /// `n - 1 - k`.
    fn counted_down(&mut self, n: Value, k: Value) -> Value {
        let mut b = self.b();
        let one = b.int(1);
        let last = b.math(Math::Sub, &[n, one]);
        b.math(Math::Sub, &[last, k])
    }

    fn emit_loop(
        &mut self,
        data: &InstData,
        op: Op,
        operands: &[Value],
        types: &[Ty],
        regions: &[Region],
    ) -> Vec<Value> {
        self.span = data.span;
        let inst = self.b().emit(op, operands, types);
        self.to.insts[inst].regions.extend_from_slice(regions);
        self.to.insts[inst].results.to_vec()
    }
}

/// The smaller of the bound given and the one inferred.
fn bounded(info: LoopInfo, inferred: Option<u32>) -> LoopInfo {
    let max_iters = info.max_iters.into_iter().chain(inferred).min();
    LoopInfo { max_iters, ..info }
}
