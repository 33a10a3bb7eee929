//! Compiles regions, branches, loops and exits.
//!
//! ```text
//!        jump head(init)                       jump head(0, init)
//! head(args):                                  head(k, args):
//!        ..condition..                                brif k < n, body, end(args)
//!        brif cond, body, end(args)            body:  ..body..
//! body:  ..body..                                     jump next(yielded)
//!        jump head(yielded)                    next(args): jump head(k + 1, args)
//! end(results):                                end(results):
//! ```
//!
//! Values in memory are not block parameters. They are moved to the storage of the results before the jump; usually they are
//! already there.

use crate::body::{Body, Loop, Regs, Repr, Storage};
use crate::compile::Result;
use cotangent_base::Map;
use cotangent_ir::{Control, Exit, Inst, InstData, LoopInfo, Region, Ty, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type as Native, Value as Reg, types};
use cranelift_frontend::Switch;
use smallvec::SmallVec;

/// Where `yield` goes.
#[derive(Clone)]
enum Yield {
    /// With the results of an instruction.
    To(Block, SmallVec<[Value; 4]>),
    /// The verdict of a condition.
    Verdict(Block),
    /// There is none.
    Nowhere,
}

impl Body<'_, '_, '_> {
    /// Emits the body of the function.
    pub fn region(&mut self, region: Region) -> Result<()> {
        self.region_to(region, &Yield::Nowhere)
    }

    fn region_to(&mut self, region: Region, to: &Yield) -> Result<()> {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            if !data.span.is_none() {
                self.span = data.span;
            }
            match data.op.control() {
                Control::Plain => self.plain(data)?,
                Control::Call(callee) => self.call(data, callee)?,
                Control::If => self.branch(data)?,
                Control::Switch(cases) => self.switch(data, cases)?,
                Control::While(_) => self.while_loop(data)?,
                Control::For(info) => self.for_loop(data, info)?,
                Control::Exit(exit) => self.exit(inst, exit, to)?,
                Control::DiffCall(_) | Control::LinCall(_) => {
                    return self.refuse("a call that autodiff has not finished");
                }
            }
        }
        Ok(())
    }

    fn exit(&mut self, inst: Inst, exit: Exit, to: &Yield) -> Result<()> {
        let data = &self.func.insts[inst];
        match exit {
            Exit::Yield => match to {
                Yield::To(block, results) => self.hand_on(&data.operands, &results.clone(), *block),
                Yield::Verdict(block) => {
                    let verdict = self.reg(data.operands[0]);
                    self.jump(*block, &[verdict]);
                    Ok(())
                }
                Yield::Nowhere => unreachable!("a function ends with a return"),
            },
            Exit::Break(out) => {
                let target = &self.loops[self.loops.len() - 1 - out as usize];
                let (block, results) = (target.end, target.results.clone());
                self.hand_on(&data.operands, &results, block)
            }
            Exit::Continue(out) => {
                let target = &self.loops[self.loops.len() - 1 - out as usize];
                let (block, results) = (target.next, target.results.clone());
                self.hand_on(&data.operands, &results, block)
            }
            Exit::Return => self.return_values(&data.operands),
        }
    }

    /// Jumps with values: leaves as arguments, the others in the storage of `to`.
    fn hand_on(&mut self, from: &[Value], to: &[Value], block: Block) -> Result<()> {
        self.hand_on_storage(from, to)?;
        let regs = self.all_leaves(from);
        self.jump(block, &regs);
        Ok(())
    }

    fn hand_on_storage(&mut self, from: &[Value], to: &[Value]) -> Result<()> {
        let moves = from.iter().zip(to).filter(|(_, to)| self.shape_of(**to).in_memory());
        let moves: Vec<_> =
            moves.map(|(from, to)| (self.place_of(*from), self.storage(*to), self.func.ty(*to))).collect();
        self.move_at_once(moves)
    }

    /// The leaves of all values that have them.
    fn all_leaves(&self, values: &[Value]) -> Regs {
        let with_leaves = values.iter().filter(|value| !self.shape_of(**value).in_memory());
        with_leaves.flat_map(|value| self.regs(*value)).collect()
    }

    /// Copies values as if all were read before any is written.
    pub fn move_at_once(&mut self, moves: Vec<(Storage, Storage, Ty)>) -> Result<()> {
        let mut moves: Vec<_> = moves.into_iter().filter(|(from, to, _)| from != to).collect();
        let is_written = |from: Storage, moves: &[(Storage, Storage, _)]| match from {
            // An address may lead into any storage.
            Storage::At(_) => moves.len() > 1,
            Storage::Stack(_) | Storage::Arena(_) => moves.iter().any(|(_, to, _)| *to == from),
        };
        let conflicts: Vec<bool> = moves.iter().map(|(from, ..)| is_written(*from, &moves)).collect();
        for (number, _) in conflicts.iter().enumerate().filter(|(_, conflict)| **conflict) {
            let (from, _, ty) = moves[number];
            moves[number].0 = self.copied(from, ty)?;
        }
        for (from, to, ty) in moves {
            self.copy(to, from, ty);
        }
        Ok(())
    }

    /// A copy of what is somewhere.
    pub fn copied(&mut self, from: Storage, ty: Ty) -> Result<Storage> {
        let copy = self.for_copy(ty)?;
        self.copy(copy, from, ty);
        Ok(copy)
    }

    /// A block that takes the leaves of some values.
    fn block_for(&mut self, values: &[Value]) -> Block {
        let types = self.native_types(values);
        self.block_with(&types)
    }

    fn native_types(&self, values: &[Value]) -> SmallVec<[Native; 8]> {
        let with_leaves = values.iter().filter(|value| !self.shape_of(**value).in_memory());
        with_leaves.flat_map(|v| self.leaf_types(self.func.ty(*v))).map(|leaf| leaf.native()).collect()
    }

    /// Makes values those that a block was given.
    fn take(&mut self, values: &[Value], given: &[Reg]) {
        let mut given = given.iter().copied();
        for value in values {
            let shape = self.shape_of(*value);
            if shape.in_memory() {
                self.set_stored(*value);
            } else {
                let regs = given.by_ref().take(shape.leaves as usize).collect();
                self.set(*value, regs);
            }
        }
    }

    fn enter(&mut self, block: Block) -> Vec<Reg> {
        self.b.switch_to_block(block);
        self.b.block_params(block).to_vec()
    }

    fn branch(&mut self, data: &InstData) -> Result<()> {
        let cond = self.reg(data.operands[0]);
        let blocks = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(cond, blocks[0], &[], blocks[1], &[]);
        self.branches(data, &blocks)
    }

    fn switch(&mut self, data: &InstData, cases: &[i64]) -> Result<()> {
        let selector = self.reg(data.operands[0]);
        let bits = self.b.func.dfg.value_type(selector).bits();
        let blocks: Vec<Block> = data.regions.iter().map(|_| self.b.create_block()).collect();
        let mut switch = Switch::new();
        let mut seen: Map<u64, ()> = Map::default();
        for (case, block) in cases.iter().zip(&blocks) {
            let case = *case as u64 & (u64::MAX >> (64 - bits));
            // The first of equal cases counts.
            if seen.insert(case, ()).is_none() {
                switch.set_entry(case.into(), *block);
            }
        }
        switch.emit(&mut self.b, selector, blocks[cases.len()]);
        self.branches(data, &blocks)
    }

    fn branches(&mut self, data: &InstData, blocks: &[Block]) -> Result<()> {
        let end = self.block_for(&data.results);
        let to = Yield::To(end, data.results.iter().copied().collect());
        for (region, block) in data.regions.iter().zip(blocks) {
            self.b.switch_to_block(*block);
            self.region_to(*region, &to)?;
        }
        let given = self.enter(end);
        self.take(&data.results, &given);
        Ok(())
    }

    fn while_loop(&mut self, data: &InstData) -> Result<()> {
        let func = self.func;
        let (cond, body) = (data.regions[0], data.regions[1]);
        let (head, end) = (self.block_for(&data.results), self.block_for(&data.results));
        self.enter_loop()?;
        self.hand_on(&data.operands, &data.results, head)?;
        let given = self.enter(head);
        self.count_step()?;
        self.next_iteration();
        self.take(&func.regions[cond].args, &given);
        let (decided, run) = (self.block_with(&[types::I8]), self.b.create_block());
        self.region_to(cond, &Yield::Verdict(decided))?;
        let verdict = self.enter(decided);
        let args: SmallVec<[_; 8]> = given.iter().map(|reg| (*reg).into()).collect();
        let is_over = self.is_const(verdict[0], 0);
        self.b.ins().brif(is_over, end, &args, run, &[]);
        self.b.switch_to_block(run);
        self.take(&func.regions[body].args, &given);
        self.loop_body(data, body, head, end)?;
        self.leave_loop();
        let given = self.enter(end);
        self.take(&data.results, &given);
        Ok(())
    }

    fn for_loop(&mut self, data: &InstData, info: LoopInfo) -> Result<()> {
        let func = self.func;
        let body = data.regions[0];
        let (counter, args) = func.regions[body].args.split_first().expect("it has a counter");
        let n = self.reg(data.operands[0]);
        let mut types: SmallVec<[Native; 8]> = SmallVec::from_slice(&[types::I32]);
        types.extend(self.native_types(&data.results));
        let head = self.block_with(&types);
        let (next, end) = (self.block_for(&data.results), self.block_for(&data.results));
        self.enter_loop()?;
        self.hand_on_first(data, head)?;
        let given = self.enter(head);
        self.count_step()?;
        self.next_iteration();
        let run = self.b.create_block();
        let is_over = self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, given[0], n);
        let carried: SmallVec<[_; 8]> = given[1..].iter().map(|reg| (*reg).into()).collect();
        self.b.ins().brif(is_over, end, &carried, run, &[]);
        self.b.switch_to_block(run);
        let k = if info.reversed {
            let one = self.int(types::I32, 1);
            let last = self.b.ins().isub(n, one);
            self.b.ins().isub(last, given[0])
        } else {
            given[0]
        };
        self.set(*counter, SmallVec::from_slice(&[k]));
        self.take(args, &given[1..]);
        self.loop_body(data, body, next, end)?;
        let carried = self.enter(next);
        let one = self.int(types::I32, 1);
        let round = self.b.ins().iadd(given[0], one);
        let mut all: Regs = SmallVec::from_slice(&[round]);
        all.extend(carried);
        self.jump(head, &all);
        self.leave_loop();
        let given = self.enter(end);
        self.take(&data.results, &given);
        Ok(())
    }

    /// Goes to the head of a counted loop for the first time.
    fn hand_on_first(&mut self, data: &InstData, head: Block) -> Result<()> {
        self.hand_on_storage(&data.operands[1..], &data.results)?;
        let zero = self.int(types::I32, 0);
        let mut all: Regs = SmallVec::from_slice(&[zero]);
        all.extend(self.all_leaves(&data.operands[1..]));
        self.jump(head, &all);
        Ok(())
    }

    fn loop_body(&mut self, data: &InstData, body: Region, next: Block, end: Block) -> Result<()> {
        let results: SmallVec<[Value; 4]> = data.results.iter().copied().collect();
        self.loops.push(Loop { next, end, results: results.clone() });
        self.region_to(body, &Yield::To(next, results))?;
        self.loops.pop();
        Ok(())
    }

    /// Leaves the function.
    fn return_values(&mut self, outputs: &[Value]) -> Result<()> {
        let mut moves = Vec::new();
        for (number, output) in outputs.iter().enumerate() {
            if let Some(to) = self.outputs[number] {
                moves.push((self.place_of(*output), to, self.func.ty(*output)));
            } else if let (Repr::Memory(from), Some(input)) =
                (self.repr(*output), self.places().passed[number])
            {
                // It is in place, for all returns give back the storage of the input.
                let to = self.storage(self.func.inputs()[input]);
                moves.push((from, to, self.func.ty(*output)));
            }
        }
        self.move_at_once(moves)?;
        if let Some(end) = self.end {
            let leaves = self.all_leaves(outputs);
            self.jump(end, &leaves);
            return Ok(());
        }
        self.leave_arena();
        let mut values: Regs = SmallVec::new();
        values.push(self.int(types::I32, 0));
        values.extend(self.all_leaves(outputs));
        self.b.ins().return_(&values);
        Ok(())
    }
}
