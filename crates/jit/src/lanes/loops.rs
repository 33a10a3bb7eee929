//! Loops in lanes.
//!
//! A branch or loop that lanes go through together is emitted as in scalar code. If the number of iterations is a constant, the
//! loop asks at its end whether there is another; a loop of few iterations is [unrolled](super::unroll).
//!
//! A loop is *masked* if lanes leave it in different iterations, or go on to the next iteration along different ways:
//!
//! ```text
//!        carried = init; here = mask
//! head:  ..condition, under `here`..
//!        here = lanes for which it held
//!        any here? body : end
//! body:  next = none
//!        ..body, under `here`..            an exit to the next iteration: carried = values, next |= lanes
//!                                          an exit from the loop: carried = values
//! next:  here = next; any here? head : end
//! end:   results = carried
//! ```
//!
//! What a lane carries does not change once it has left. Only a result that varies though what is carried is uniform, as a count of
//! iterations, has variables of its own.
//!
//! A reversed loop whose count varies ends for all lanes together: lanes with fewer iterations begin later. So its counter is the
//! same in all lanes, and what the loop before it has kept for an iteration is read by vector accesses.
//!
//! Values that the analysis finds uniform stay scalars, in masked loops as well. Returns are treated as exits from a loop that runs
//! once.

use super::control::{Landing, LaneLoop, MaskedLoop, Yield};
use super::edges::Slot;
use super::value::{Leaf, Mask, Vector};
use super::{Lanes, PARTS};
use crate::compile::Result;
use crate::state::at;
use cotangent_base::Scalar;
use cotangent_ir::{Control, Inst, InstData, LoopInfo, Region};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value as Reg, types};
use smallvec::SmallVec;

/// Loops that together have at most so many iterations do not ask whether the program must end.
const MOST_QUIET: u64 = 4096;

impl Lanes<'_, '_, '_> {
    pub(super) fn while_loop(&mut self, data: &InstData) -> Result<()> {
        let func = self.body.func;
        let (cond, body) = (data.regions[0], data.regions[1]);
        let (results, args) = (data.results.to_vec(), func.regions[body].args.to_vec());
        let head = self.native_types(&args)?;
        let head = self.body.block_with(&head);
        let end = self.native_types(&results)?;
        let end = self.body.block_with(&end);
        self.move_storage(&data.operands, &results)?;
        let first = self.registers(&data.operands, &args)?;
        self.body.jump(head, &first);
        self.body.b.switch_to_block(head);
        let given = self.body.b.block_params(head).to_vec();
        let quiet = self.poll(None)?;
        self.take(&func.regions[cond].args, &given)?;
        let (decided, run) = (self.body.block_with(&[types::I8]), self.body.b.create_block());
        self.depth += 1;
        self.region(cond, &Yield::Verdict(decided))?;
        self.depth -= 1;
        // The condition ends where the loop may end.
        let segment = *self.loop_segments.last().expect("the loop has one");
        self.meet_segment(segment)?;
        self.body.b.switch_to_block(decided);
        let verdict = self.body.b.block_params(decided)[0];
        self.take(&args, &given)?;
        let over = self.body.b.create_block();
        let is_over = self.body.is_const(verdict, 0);
        self.body.b.ins().brif(is_over, over, &[], run, &[]);
        self.body.b.switch_to_block(over);
        let out = self.registers(&args, &results)?;
        self.body.jump(end, &out);
        self.body.b.switch_to_block(run);
        self.loops.push(LaneLoop::Together { next: head, end, args, results: results.clone() });
        let before = self.mask;
        self.depth += 1;
        let weight = self.cost.enter_loop(false);
        self.region(body, &Yield::Round)?;
        self.cost.leave(weight);
        self.depth -= 1;
        self.mask = before;
        self.loops.pop();
        self.quiet = quiet;
        self.body.b.switch_to_block(end);
        let given = self.body.b.block_params(end).to_vec();
        self.take(&results, &given)
    }

    /// Sees at the head of a loop whether the program must end. Loops of few iterations by a constant do not ask. Gives what
    /// `quiet` is after the loop.
    fn poll(&mut self, count: Option<Reg>) -> Result<u64> {
        let quiet = self.quiet;
        let known = count.and_then(|n| self.known(n)).map(|n| u64::try_from(n as i32).unwrap_or(0).max(1));
        self.quiet = match known.and_then(|n| quiet.checked_mul(n)).filter(|all| *all <= MOST_QUIET) {
            Some(all) => all,
            None => {
                self.body.count_step()?;
                1
            }
        };
        Ok(quiet)
    }

    pub(super) fn for_loop(&mut self, data: &InstData, info: LoopInfo) -> Result<()> {
        let n = self.one(data.operands[0]);
        let rounds = self.known(n).map(|n| n as i32).filter(|n| *n > 0);
        if let Some(n) = rounds.filter(|n| self.is_unrolled(data.regions[0], *n)) {
            return self.unrolled_loop(data, info, n);
        }
        if let Some(n) = rounds
            && self.copy_loop(data, info, n as u32)?
        {
            return Ok(());
        }
        self.plain_for_loop(data, info)
    }

    /// A loop with the same iteration count in all lanes, one iteration after the other.
    pub(super) fn plain_for_loop(&mut self, data: &InstData, info: LoopInfo) -> Result<()> {
        let func = self.body.func;
        let body = data.regions[0];
        let (counter, args) = func.regions[body].args.split_first().expect("it has a counter");
        let (results, args) = (data.results.to_vec(), args.to_vec());
        let n = self.one(data.operands[0]);
        let rounds = self.known(n).map(|n| n as i32).filter(|n| *n > 0);
        let carried = self.native_types(&args)?;
        let mut types = vec![types::I32];
        types.extend(&carried);
        let (head, next) = (self.body.block_with(&types), self.body.block_with(&carried));
        let end = self.native_types(&results)?;
        let end = self.body.block_with(&end);
        self.move_storage(&data.operands[1..], &results)?;
        let mut first = vec![self.body.int(types::I32, 0)];
        first.extend(self.registers(&data.operands[1..], &args)?);
        self.body.jump(head, &first);
        self.body.b.switch_to_block(head);
        let given = self.body.b.block_params(head).to_vec();
        let quiet = self.poll(Some(n))?;
        self.take(&args, &given[1..])?;
        if rounds.is_none() {
            let (run, over) = (self.body.b.create_block(), self.body.b.create_block());
            let is_over = self.body.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, given[0], n);
            self.body.b.ins().brif(is_over, over, &[], run, &[]);
            self.body.b.switch_to_block(over);
            let out = self.registers(&args, &results)?;
            self.body.jump(end, &out);
            self.body.b.switch_to_block(run);
        }
        let k = self.round_number(info, given[0], Leaf::One(n));
        self.set(*counter, SmallVec::from_slice(&[k]))?;
        self.loops.push(LaneLoop::Together { next, end, args: args.clone(), results: results.clone() });
        let before = self.mask;
        self.depth += 1;
        let weight = self.cost.enter_loop(false);
        let known = self.ranges.len();
        self.note_below(given[0], n, true);
        self.region(body, &Yield::Round)?;
        self.ranges.truncate(known);
        self.cost.leave(weight);
        self.depth -= 1;
        self.mask = before;
        self.loops.pop();
        self.quiet = quiet;
        self.body.b.switch_to_block(next);
        let carried = self.body.b.block_params(next).to_vec();
        let one = self.body.int(types::I32, 1);
        let round = self.body.b.ins().iadd(given[0], one);
        let all: Vec<Reg> = [round].into_iter().chain(carried.iter().copied()).collect();
        match rounds {
            None => self.body.jump(head, &all),
            // It has an iteration, so it asks at its end whether there is another.
            Some(_) => {
                self.take(&args, &carried)?;
                let out = self.registers(&args, &results)?;
                let is_over = self.body.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, round, n);
                let [out, all] = [out, all].map(|regs| regs.into_iter().map(Into::into).collect::<Vec<_>>());
                self.body.b.ins().brif(is_over, end, &out, head, &all);
            }
        }
        self.body.b.switch_to_block(end);
        let given = self.body.b.block_params(end).to_vec();
        self.take(&results, &given)
    }

    /// The counter of an iteration, which counts down if the loop is reversed.
    fn round_number(&mut self, info: LoopInfo, round: Reg, n: Leaf) -> Leaf {
        if !info.reversed {
            return Leaf::One(round);
        }
        let one = self.body.int(types::I32, 1);
        let before = self.body.b.ins().iadd(round, one);
        match n {
            Leaf::One(n) => Leaf::One(self.body.b.ins().isub(n, before)),
            Leaf::Next(..) | Leaf::Each(_) => {
                let (n, before) = (self.vector(n, Scalar::I32), self.vector(Leaf::One(before), Scalar::I32));
                Leaf::Each(std::array::from_fn(|i| self.body.b.ins().isub(n[i], before[i])))
            }
        }
    }

    // Loops that they leave apart.

    pub(super) fn masked_loop(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let func = self.body.func;
        let (cond, body) = if let Control::While(_) = data.op.control() {
            (Some(data.regions[0]), data.regions[1])
        } else {
            (None, data.regions[0])
        };
        let lead = usize::from(cond.is_none());
        let (args, results) = (func.regions[body].args[lead..].to_vec(), data.results.to_vec());
        let before = self.mask;
        let (carried, own) = (self.slots(&args)?, self.slots(&results)?);
        // What a lane carries does not change once it has left, so it is the result, too.
        let is_shared =
            |carried: &Slot, own: &Slot| matches!((carried, own), (Slot::Each(..), Slot::Each(..)));
        let pairs = || carried.iter().zip(&own);
        let out =
            pairs().map(|(carried, own)| if is_shared(carried, own) { *carried } else { *own }).collect();
        let own: Vec<Slot> = pairs().filter(|(a, b)| !is_shared(a, b)).map(|(_, own)| *own).collect();
        let masked = MaskedLoop {
            next: self.body.b.create_block(),
            here: self.variable(Scalar::U32),
            left: self.variable(Scalar::U32),
            carried,
            out,
            results: results.clone(),
        };
        self.move_storage(&data.operands[lead..], &results)?;
        let first = self.all_leaves(&data.operands[lead..]);
        self.set_slots(&masked.carried, &first, None);
        self.clear_slots(&own);
        let (all, none) = (self.mask_vector(before), self.zero_vector(Scalar::U32));
        self.set_variable(&masked.here, all);
        self.set_variable(&masked.left, none);
        let top = self.top(data)?;
        let round = self.body.b.declare_var(types::I32);
        let zero = self.body.int(types::I32, 0);
        self.body.b.def_var(round, zero);
        let (head, run, end) =
            (self.body.b.create_block(), self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().jump(head, &[]);
        self.body.b.switch_to_block(head);
        let here = self.variable_value(&masked.here);
        // Dead lanes do not keep it running.
        let live = self.body.load_state(types::I32, at::LIVE);
        let live = self.of_bits(live);
        let here = self.and(here, live);
        self.mask = Mask::Some(here);
        let quiet = self.poll(None)?;
        let carried = self.slot_leaves(&masked.carried);
        let number = self.body.b.use_var(round);
        let k = match top {
            Some(top) => Some(self.shifted_round(data, top, number, &masked, &carried, here, [run, end])?),
            None => {
                self.plain_round(data, cond, number, &masked, &carried, here, [run, end])?;
                None
            }
        };
        self.body.b.switch_to_block(run);
        self.take_leaves(&args, &carried)?;
        if let Control::For(info) = data.op.control() {
            let n = self.leaf(data.operands[0]);
            let k = match k {
                Some(k) => Leaf::One(k),
                None => self.round_number(info, number, n),
            };
            self.set(func.regions[body].args[0], SmallVec::from_slice(&[k]))?;
        }
        self.landings.push(Landing::Block(masked.next));
        self.loops.push(LaneLoop::Masked(Box::new(masked.clone())));
        self.depth += 1;
        let weight = self.cost.enter_loop(true);
        self.region(body, &Yield::Round)?;
        self.cost.leave(weight);
        self.depth -= 1;
        self.loops.pop();
        self.landings.pop();
        self.quiet = quiet;
        self.body.b.switch_to_block(masked.next);
        let one = self.body.int(types::I32, 1);
        let number = self.body.b.use_var(round);
        let number = self.body.b.ins().iadd(number, one);
        self.body.b.def_var(round, number);
        let here = self.variable_value(&masked.here);
        let any = self.any(here);
        self.body.b.ins().brif(any, head, &[], end, &[]);
        self.body.b.switch_to_block(end);
        self.mask = before;
        let leaves = self.slot_leaves(&masked.out);
        self.take_leaves(&results, &leaves)?;
        if self.loses(inst) {
            let left = self.variable_value(&masked.left);
            self.go_on_with(left);
        }
        Ok(())
    }

    /// Decides who runs an iteration: lanes whose condition fails leave. The mask is then that of the iteration.
    #[allow(clippy::too_many_arguments, reason = "a step of the loop, with all that the loop has")]
    fn plain_round(
        &mut self,
        data: &InstData,
        cond: Option<Region>,
        round: Reg,
        masked: &MaskedLoop,
        carried: &[Leaf],
        here: Vector,
        [run, end]: [Block; 2],
    ) -> Result<()> {
        let verdict = self.verdict(data, cond, carried, round)?;
        let holds = self.vector(verdict, Scalar::Bool);
        let go = self.and(here, holds);
        let stops = self.and_not(here, go);
        self.leave_by_condition(masked, carried, stops, verdict);
        let none = self.zero_vector(Scalar::U32);
        self.set_variable(&masked.here, none);
        let any = self.any(go);
        self.body.b.ins().brif(any, run, &[], end, &[]);
        self.mask = Mask::Some(go);
        Ok(())
    }

    /// The same in a loop that lanes end together: those that begin later wait, and all leave at the end. Gives the counter.
    #[allow(clippy::too_many_arguments, reason = "a step of the loop, with all that the loop has")]
    fn shifted_round(
        &mut self,
        data: &InstData,
        top: Reg,
        round: Reg,
        masked: &MaskedLoop,
        carried: &[Leaf],
        here: Vector,
        [run, end]: [Block; 2],
    ) -> Result<Reg> {
        let one = self.body.int(types::I32, 1);
        let before = self.body.b.ins().iadd(round, one);
        let k = self.body.b.ins().isub(top, before);
        let zero = self.body.int(types::I32, 0);
        let is_over = self.body.b.ins().icmp(IntCC::SignedLessThan, k, zero);
        let (over, more) = (self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().brif(is_over, over, &[], more, &[]);
        self.body.b.switch_to_block(over);
        let verdict = Leaf::Each(self.zero_vector(Scalar::Bool));
        self.leave_by_condition(masked, carried, here, verdict);
        self.body.b.ins().jump(end, &[]);
        self.body.b.switch_to_block(more);
        let n = self.leaf(data.operands[0]);
        let (n, all) = (self.vector(n, Scalar::I32), self.vector(Leaf::One(k), Scalar::I32));
        let begun: Vector =
            std::array::from_fn(|i| self.body.b.ins().icmp(IntCC::SignedLessThan, all[i], n[i]));
        let go = self.and(here, begun);
        let waiting = self.and_not(here, begun);
        self.set_variable(&masked.here, waiting);
        self.mask = Mask::Some(go);
        let any = self.any(go);
        self.body.b.ins().brif(any, run, &[], masked.next, &[]);
        Ok(k)
    }

    /// The largest count of a reversed loop whose count varies.
    fn top(&mut self, data: &InstData) -> Result<Option<Reg>> {
        let Control::For(info) = data.op.control() else { return Ok(None) };
        if !info.reversed || !self.varies(data.operands[0]) {
            return Ok(None);
        }
        let n = self.leaf(data.operands[0]);
        let n = self.vector(n, Scalar::I32);
        let (mask, least) = (self.mask_vector(self.mask), self.ints(i32::MIN));
        let n = self.blend_vector(mask, n, [least; PARTS]);
        let all = n[1..].iter().fold(n[0], |all, part| self.body.b.ins().smax(all, *part));
        let lanes = [0, 1, 2, 3].map(|lane| self.body.b.ins().extractlane(all, lane));
        let none = self.body.int(types::I32, 0);
        Ok(Some(lanes.iter().fold(none, |most, n| self.body.b.ins().smax(most, *n))))
    }

    /// Whether lanes go on with an iteration.
    fn verdict(
        &mut self,
        data: &InstData,
        cond: Option<Region>,
        carried: &[Leaf],
        round: Reg,
    ) -> Result<Leaf> {
        let Some(cond) = cond else {
            return Ok(match self.leaf(data.operands[0]) {
                Leaf::One(n) => Leaf::One(self.body.b.ins().icmp(IntCC::SignedLessThan, round, n)),
                n @ (Leaf::Next(..) | Leaf::Each(_)) => {
                    let (n, round) =
                        (self.vector(n, Scalar::I32), self.vector(Leaf::One(round), Scalar::I32));
                    let less = |i| self.body.b.ins().icmp(IntCC::SignedLessThan, round[i], n[i]);
                    Leaf::Each([0, 1].map(less))
                }
            });
        };
        let func = self.body.func;
        self.take_leaves(&func.regions[cond].args, carried)?;
        let varies = self.varies(func.exit(cond).operands[0]);
        let types = if varies { vec![types::I32X4; PARTS] } else { vec![types::I8] };
        let decided = self.body.block_with(&types);
        let mask = self.mask;
        self.depth += 1;
        self.region(cond, &Yield::Verdict(decided))?;
        self.depth -= 1;
        self.mask = mask;
        self.body.b.switch_to_block(decided);
        let given = self.body.b.block_params(decided).to_vec();
        Ok(if varies { Leaf::Each(std::array::from_fn(|i| given[i])) } else { Leaf::One(given[0]) })
    }

    /// Gives lanes whose condition failed their results: what they carried.
    fn leave_by_condition(&mut self, masked: &MaskedLoop, carried: &[Leaf], stops: Vector, verdict: Leaf) {
        let left = self.variable_value(&masked.left);
        let left = self.or(left, stops);
        self.set_variable(&masked.left, left);
        for (slot, leaf) in masked.out.iter().zip(carried) {
            match (slot, verdict, leaf) {
                // A result that is uniform: all lanes leave by the same way.
                (Slot::One(variable, _), Leaf::One(verdict), Leaf::One(leaf)) => {
                    let old = self.body.b.use_var(*variable);
                    let new = self.body.b.ins().select(verdict, old, *leaf);
                    self.body.b.def_var(*variable, new);
                }
                (Slot::One(..), ..) => unreachable!("the analysis says that lanes leave together"),
                (slot, ..) => self.set_slots(&[*slot], &[*leaf], Some(stops)),
            }
        }
    }
}
