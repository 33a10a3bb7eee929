//! Regions, branches and exits in lanes.
//!
//! A branch that lanes take together is emitted as in scalar code. If they part, each arm runs under its part of the mask.

use super::edges::{LaneVariable, Slot};
use super::order::Segment;
use super::value::{Leaf, Leaves, Mask, Vector};
use super::{Lanes, MOST_INSTS, MOST_INSTS_FOR_SPEED, PARTS};
use crate::compile::{LaneChoice, Result};
use cotangent_base::Scalar;
use cotangent_ir::{Control, Effect, Exit, Inst, InstData, Math, Op, Region, Value, op_group};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type as Native, Value as Reg, types};
use cranelift_frontend::Switch;

/// Arms that cost less than this run without a look at whether a lane takes them.
const CHEAP: usize = 12;

/// A loop around what is emitted.
pub(super) enum LaneLoop {
    /// Lanes stay together: where `continue` and `break` go, with what is carried and with results.
    Together {
        next: Block,
        end: Block,
        args: Vec<Value>,
        results: Vec<Value>,
    },
    Masked(Box<MaskedLoop>),
}

/// A loop that lanes leave apart.
#[derive(Clone)]
pub(super) struct MaskedLoop {
    pub next: Block,
    /// The lanes that take part in the next iteration, and those that have left.
    pub here: LaneVariable,
    pub left: LaneVariable,
    pub carried: Vec<Slot>,
    pub out: Vec<Slot>,
    pub results: Vec<Value>,
}

/// Where code goes on when no lane is left.
#[derive(Clone)]
pub(super) enum Landing {
    /// The end of an arm, which takes a mask and vectors of these types.
    Arm(Block, Vec<Native>),
    /// The next iteration of a loop, or the end of a function.
    Block(Block),
}

/// Where `return` goes, and the segment there.
pub(super) struct Returns {
    pub to: ReturnTo,
    pub segment: Segment,
}

/// Where `return` goes.
pub(super) enum ReturnTo {
    /// Nowhere: the function ends with its only return, and the code after it uses the leaves of outputs.
    Here(Leaves),
    /// With vectors of the leaves of outputs.
    Block(Block),
    /// Lanes return separately, into variables of these leaves.
    Apart(Block, Vec<Slot>),
}

/// Where `yield` goes.
#[derive(Clone)]
pub(super) enum Yield {
    /// With the results of an instruction, and with the mask if lanes may be lost.
    To {
        block: Block,
        results: Vec<Value>,
        masks: bool,
    },
    /// The verdict of a condition.
    Verdict(Block),
    /// To the next iteration of the innermost loop.
    Round,
    Nowhere,
}

impl Lanes<'_, '_, '_> {
    // Regions.

    pub(super) fn region(&mut self, region: Region, to: &Yield) -> Result<()> {
        let known = self.ranges.len();
        let constants = self.enter_constants(matches!(to, Yield::Round | Yield::Verdict(_)));
        let settled = self.settled.enter();
        self.instructions(region, to)?;
        self.settled.leave(settled);
        self.leave_constants(constants);
        self.ranges.truncate(known);
        Ok(())
    }

    fn instructions(&mut self, region: Region, to: &Yield) -> Result<()> {
        let func = self.body.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            if !data.span.is_none() {
                self.body.span = data.span;
            }
            self.count += 1;
            let most = match self.body.c.options.lanes {
                LaneChoice::Always => MOST_INSTS,
                LaneChoice::Auto | LaneChoice::Never => MOST_INSTS_FOR_SPEED,
            };
            if self.count > most {
                return self.refuse("very long code");
            }
            match data.op.control() {
                Control::Plain => {
                    self.count_cost(data);
                    self.plain(data)?;
                }
                Control::Call(callee) => self.call(data, callee)?,
                Control::If | Control::Switch(_) if !self.uniform.splits(inst) => self.branch(inst, data)?,
                Control::If => self.lanes_if(inst, data)?,
                Control::Switch(cases) => self.lanes_switch(inst, data, cases)?,
                Control::While(_) | Control::For(_) => self.any_loop(inst, data)?,
                Control::Exit(exit) => self.exit(data, exit, to)?,
                Control::DiffCall(_) | Control::LinCall(_) => {
                    return self.refuse("a call that autodiff has not finished");
                }
            }
        }
        Ok(())
    }

    fn any_loop(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let before = self.loop_blocks;
        self.loop_blocks = before.or(Some(self.body.b.func.dfg.num_blocks()));
        let segment = self.order.here();
        self.loop_segments.push(segment);
        match data.op.control() {
            _ if self.is_masked(inst) => self.masked_loop(inst, data)?,
            Control::For(info) => self.for_loop(data, info)?,
            Control::Plain
            | Control::Call(_)
            | Control::DiffCall(_)
            | Control::LinCall(_)
            | Control::If
            | Control::Switch(_)
            | Control::While(_)
            | Control::Exit(_) => self.while_loop(data)?,
        }
        self.loop_segments.pop();
        self.meet_segment(segment)?;
        self.order.go_on_in(segment);
        self.loop_blocks = before;
        Ok(())
    }

    /// Whether lanes leave a loop apart, or go on to its next iteration along different ways.
    fn is_masked(&self, looped: Inst) -> bool {
        let exits = self.uniform.shape().exits(looped);
        self.uniform.splits(looped) || exits.iter().any(|exit| self.uniform.is_apart(*exit, Some(looped)))
    }

    /// Whether some lanes may not come out of a branch or loop: they leave it for a masked loop, or return apart.
    pub(super) fn loses(&self, inst: Inst) -> bool {
        let func = self.body.func;
        let mut found = false;
        for region in &func.insts[inst].regions {
            func.walk(*region, &mut |exit| {
                if self.uniform.leaves(exit, inst) {
                    found |= match self.uniform.shape().target(exit) {
                        Some(target) => self.is_masked(target),
                        None => matches!(&self.returns, Some(Returns { to: ReturnTo::Apart(..), .. })),
                    };
                }
            });
        }
        found
    }

    /// Goes on where lanes are when none is left here. Nothing can be emitted after it in this block.
    fn land(&mut self) {
        match self.landings.last().cloned().expect("lanes are lost inside of what they part at") {
            Landing::Block(block) => _ = self.body.b.ins().jump(block, &[]),
            Landing::Arm(block, types) => {
                let zeros: Vec<Reg> = types.iter().map(|ty| self.constant(*ty, [0; 4])).collect();
                self.body.jump(block, &zeros);
            }
        }
    }

    /// Goes on with the lanes that are left, if there are any.
    pub(super) fn go_on_with(&mut self, mask: Vector) {
        let any = self.any(mask);
        let (lost, here) = (self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().brif(any, here, &[], lost, &[]);
        self.body.b.switch_to_block(lost);
        self.land();
        self.body.b.switch_to_block(here);
        self.mask = Mask::Some(mask);
    }

    // Exits.

    fn exit(&mut self, data: &InstData, exit: Exit, to: &Yield) -> Result<()> {
        match exit {
            Exit::Yield => match to.clone() {
                Yield::To { block, results, masks } => {
                    self.move_storage(&data.operands, &results)?;
                    let mut regs = Vec::new();
                    if masks {
                        regs.extend(self.mask_vector(self.mask));
                    }
                    regs.extend(self.registers(&data.operands, &results)?);
                    self.body.jump(block, &regs);
                    Ok(())
                }
                Yield::Verdict(block) => {
                    let verdict = match self.leaf(data.operands[0]) {
                        Leaf::One(reg) if !self.varies(data.operands[0]) => vec![reg],
                        leaf @ (Leaf::One(_) | Leaf::Next(..) | Leaf::Each(_)) => {
                            self.vector(leaf, Scalar::Bool).to_vec()
                        }
                    };
                    self.body.jump(block, &verdict);
                    Ok(())
                }
                Yield::Round => self.leave(&data.operands, 0, true),
                Yield::Nowhere => unreachable!("a function ends with a return"),
            },
            Exit::Break(out) => self.leave(&data.operands, out as usize, false),
            Exit::Continue(out) => self.leave(&data.operands, out as usize, true),
            Exit::Return => self.return_values(&data.operands),
        }
    }

    /// Goes to the next iteration of a loop, or out of it.
    fn leave(&mut self, values: &[Value], out: usize, goes_on: bool) -> Result<()> {
        let segment = self.loop_segments[self.loop_segments.len() - 1 - out];
        self.meet_segment(segment)?;
        let number = self.loops.len() - 1 - out;
        let masked = match &self.loops[number] {
            LaneLoop::Together { next, end, args, results } => {
                let (block, to) = if goes_on { (*next, args.clone()) } else { (*end, results.clone()) };
                let results = results.clone();
                self.move_storage(values, &results)?;
                let regs = self.registers(values, &to)?;
                self.body.jump(block, &regs);
                return Ok(());
            }
            LaneLoop::Masked(masked) => (**masked).clone(),
        };
        self.move_storage(values, &masked.results)?;
        let mask = self.mask_vector(self.mask);
        let leaves = self.all_leaves(values);
        self.set_slots(if goes_on { &masked.carried } else { &masked.out }, &leaves, Some(mask));
        let lanes = if goes_on { masked.here } else { masked.left };
        let before = self.variable_value(&lanes);
        let after = self.or(before, mask);
        self.set_variable(&lanes, after);
        self.land();
        Ok(())
    }

    fn return_values(&mut self, outputs: &[Value]) -> Result<()> {
        let mut moves = Vec::new();
        for (number, output) in outputs.iter().enumerate() {
            if !self.in_memory(*output) {
                continue;
            }
            let ty = self.ty(*output);
            if let Some(to) = self.body.outputs[number] {
                moves.push((self.repr(*output), to, ty));
            } else if let Some(input) = self.body.places().passed[number] {
                let to = self.body.storage(self.body.func.inputs()[input]);
                moves.push((self.repr(*output), to, ty));
            }
        }
        self.move_at_once(moves)?;
        let leaves = self.all_leaves(outputs);
        let segment = self.returns.as_ref().expect("a function is emitted").segment;
        self.meet_segment(segment)?;
        let returns = self.returns.as_mut().expect("a function is emitted");
        let end = match &mut returns.to {
            ReturnTo::Here(outputs) => {
                *outputs = leaves;
                return Ok(());
            }
            ReturnTo::Block(end) => *end,
            ReturnTo::Apart(_, slots) => {
                let slots = slots.clone();
                let mask = self.mask_vector(self.mask);
                self.set_slots(&slots, &leaves, Some(mask));
                self.land();
                return Ok(());
            }
        };
        let mut regs = Vec::new();
        let mut leaves = leaves.into_iter();
        for output in self.with_leaves(outputs) {
            for scalar in self.scalars(self.ty(output))? {
                let leaf = leaves.next().expect("it has that many leaves");
                regs.extend(self.vector(leaf, scalar));
            }
        }
        self.body.jump(end, &regs);
        Ok(())
    }

    // Branches.

    /// A branch that lanes take together.
    fn branch(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let selector = self.one(data.operands[0]);
        let blocks: Vec<Block> = data.regions.iter().map(|_| self.body.b.create_block()).collect();
        if let Control::Switch(cases) = data.op.control() {
            let bits = self.body.b.func.dfg.value_type(selector).bits();
            let mut switch = Switch::new();
            let mut seen = Vec::new();
            for (case, block) in cases.iter().zip(&blocks) {
                let case = *case as u64 & (u64::MAX >> (64 - bits));
                // The first of equal cases counts.
                if !seen.contains(&case) {
                    seen.push(case);
                    switch.set_entry(case.into(), *block);
                }
            }
            switch.emit(&mut self.body.b, selector, blocks[cases.len()]);
        } else {
            self.body.b.ins().brif(selector, blocks[0], &[], blocks[1], &[]);
        }
        let masks = self.loses(inst);
        let mut types = if masks { vec![types::I32X4; PARTS] } else { vec![] };
        types.extend(self.native_types(&data.results)?);
        let end = self.body.block_with(&types);
        let to = Yield::To { block: end, results: data.results.to_vec(), masks };
        let before = self.mask;
        let (begin, joined) = (self.order.here(), self.order.new_segment());
        for (region, block) in data.regions.iter().zip(blocks) {
            self.body.b.switch_to_block(block);
            self.mask = before;
            self.order.go_on_in(begin);
            self.region(*region, &to)?;
            self.meet_segment(joined)?;
        }
        self.mask = before;
        self.order.go_on_in(joined);
        self.body.b.switch_to_block(end);
        let mut given = self.body.b.block_params(end).to_vec();
        if masks {
            let rest = given.split_off(PARTS);
            self.mask = Mask::Some(std::array::from_fn(|i| given[i]));
            given = rest;
        }
        self.take(&data.results, &given)
    }

    fn lanes_if(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let cond = self.leaf(data.operands[0]);
        let cond = self.vector(cond, Scalar::Bool);
        let arms = [self.within(self.mask, cond), self.without(self.mask, cond)];
        self.arms(inst, data, &arms)
    }

    fn lanes_switch(&mut self, inst: Inst, data: &InstData, cases: &[i64]) -> Result<()> {
        let scalar = self.scalars(self.ty(data.operands[0]))?[0];
        let selector = self.leaf(data.operands[0]);
        let selector = self.vector(selector, scalar);
        let mut rest = self.mask_vector(self.mask);
        let mut arms = Vec::new();
        for case in cases {
            let case = if scalar == Scalar::Bool {
                self.ints(-((*case & 1) as i32))
            } else {
                self.ints(*case as i32)
            };
            let here = selector.map(|part| self.body.b.ins().icmp(IntCC::Equal, part, case));
            arms.push(self.and(rest, here));
            rest = self.and_not(rest, here);
        }
        arms.push(rest);
        self.arms(inst, data, &arms)
    }

    /// Each arm under its mask, one after the other.
    fn arms(&mut self, inst: Inst, data: &InstData, masks: &[Vector]) -> Result<()> {
        let loses = self.loses(inst);
        let before = self.mask;
        let results: Vec<Value> = data.results.to_vec();
        let mut types = if loses { vec![types::I32X4; PARTS] } else { vec![] };
        types.extend(self.native_types(&results)?);
        let mut chosen: Option<Vec<Reg>> = None;
        let mut left: Option<Vector> = None;
        for (region, mask) in data.regions.iter().zip(masks) {
            let end = self.body.block_with(&types);
            if !self.is_cheap(*region) {
                let arm = self.body.b.create_block();
                let zeros: Vec<_> = types.iter().map(|ty| self.constant(*ty, [0; 4]).into()).collect();
                let any = self.any(*mask);
                self.body.b.ins().brif(any, arm, &[], end, &zeros);
                self.body.b.switch_to_block(arm);
            }
            self.mask = Mask::Some(*mask);
            if loses {
                self.landings.push(Landing::Arm(end, types.clone()));
            }
            let weight = self.cost.enter_arm(masks.len());
            self.region(*region, &Yield::To { block: end, results: results.clone(), masks: loses })?;
            self.cost.leave(weight);
            if loses {
                self.landings.pop();
            }
            self.body.b.switch_to_block(end);
            let mut given = self.body.b.block_params(end).to_vec();
            if loses {
                let rest = given.split_off(PARTS);
                let here = std::array::from_fn(|i| given[i]);
                left = Some(left.map_or(here, |left| self.or(left, here)));
                given = rest;
            }
            chosen = Some(match chosen {
                None => given,
                Some(before) => {
                    let pairs = given.into_iter().zip(before).enumerate();
                    pairs.map(|(i, (new, old))| self.blend(mask[i % PARTS], new, old)).collect()
                }
            });
        }
        self.mask = before;
        self.take(&results, &chosen.unwrap_or_default())?;
        if let Some(left) = left {
            self.go_on_with(left);
        }
        Ok(())
    }

    /// Whether a region costs little and does nothing but compute.
    fn is_cheap(&self, region: Region) -> bool {
        let func = self.body.func;
        let mut cost = 0;
        for inst in &func.regions[region].insts {
            let data = &func.insts[*inst];
            if data.op == Op::Yield {
                let moves = data.operands.iter().any(|operand| self.in_memory(*operand));
                return cost <= CHEAP && !moves;
            }
            let is_plain = matches!(data.op.control(), Control::Plain) && data.op.effect() == Effect::None;
            let in_memory = data.operands.iter().chain(&data.results).any(|value| self.in_memory(*value));
            if !is_plain || in_memory || super::may_end(self.body.c.module, func, data) {
                return false;
            }
            let leaves =
                data.results.iter().map(|result| self.body.shape_of(*result).leaves as usize).sum::<usize>();
            cost += match data.op {
                Op::Math(math) if is_long(math) => 2 * CHEAP,
                Op::Math(_) | Op::Select | Op::Convert => leaves,
                op_group!(plain | call | control | exit) => 0,
            };
        }
        false
    }
}

/// Functions of many instructions.
pub(super) fn is_long(math: Math) -> bool {
    !matches!(
        math,
        Math::Add
            | Math::Sub
            | Math::Mul
            | Math::Neg
            | Math::Abs
            | Math::Min
            | Math::Max
            | Math::And
            | Math::Or
            | Math::Xor
            | Math::Not
            | Math::Eq
            | Math::Ne
            | Math::Lt
            | Math::Le
            | Math::Gt
            | Math::Ge
            | Math::Shl
            | Math::Shr
            | Math::Floor
            | Math::Ceil
            | Math::Trunc
            | Math::Sign
            | Math::IsNan
            | Math::IsInf
    )
}
