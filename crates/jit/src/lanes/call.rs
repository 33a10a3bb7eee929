//! Calls in lanes: the callee is emitted in place of the call, for the kinds of its arguments.

use super::control::{Landing, ReturnTo, Returns, Yield};
use super::edges::Slot;
use super::value::{Leaf, Leaves, Repr, native};
use super::{Lanes, PARTS, analyse};
use crate::body::{Repr as ScalarRepr, Storage};
use crate::compile::Result;
use cotangent_base::EntityMap;
use cotangent_ir::{FuncId, Inst, InstData, Op, Trap};
use cranelift_codegen::ir::Type as Native;
use std::mem;
use std::rc::Rc;

impl<'m> Lanes<'_, '_, 'm> {
    /// A call, inlined. An input that the callee updates in place is moved to the storage of the result first, as in scalar code.
    pub(super) fn call(&mut self, data: &InstData, callee: FuncId) -> Result<()> {
        let passed = self.body.c.places[&callee].passed.clone();
        let mut given: Vec<Repr> = data.operands.iter().map(|operand| self.repr(*operand)).collect();
        let results: Vec<Option<Storage>> = data
            .results
            .iter()
            .map(|result| self.in_memory(*result).then(|| self.body.storage(*result)))
            .collect();
        let written: Vec<Storage> = results.iter().flatten().copied().collect();
        let mut brought: Vec<(usize, usize)> = Vec::new();
        for (output, input) in passed.iter().enumerate().filter_map(|(o, i)| Some((o, (*i)?))) {
            if results[output].is_some() {
                brought.push((input, output));
            }
        }
        for (number, repr) in given.iter_mut().enumerate() {
            let Repr::Memory(from) = *repr else { continue };
            let own = brought.iter().find(|(input, _)| *input == number);
            let in_place = own.is_some_and(|(_, output)| results[*output] == Some(from));
            let may_change = matches!(from, Storage::At(_)) || written.contains(&from);
            if !in_place && may_change && !written.is_empty() {
                let ty = self.ty(data.operands[number]);
                let copy = self.room(ty);
                self.copy_all(copy, Repr::Memory(from), ty)?;
                *repr = Repr::Memory(copy);
            }
        }
        for (input, output) in brought {
            let to = results[output].expect("it lies in memory");
            let from = mem::replace(&mut given[input], Repr::Memory(to));
            self.copy_repr(to, from, self.ty(data.operands[input]))?;
        }
        let outputs =
            results.iter().zip(&passed).map(|(to, passed)| to.filter(|_| passed.is_none())).collect();
        let site = self.body.site(Trap::CallDepth);
        let leaves = self.inline(callee, given, outputs, Some(site))?;
        self.take_leaves(&data.results, &leaves)
    }

    /// Emits the code of a function here. Gives the leaves of its outputs.
    pub(super) fn inline(
        &mut self,
        callee: FuncId,
        inputs: Vec<Repr>,
        outputs: Vec<Option<Storage>>,
        site: Option<u32>,
    ) -> Result<Vec<Leaf>> {
        let module: &'m cotangent_ir::Module = self.body.c.module;
        let func = &module.funcs[callee];
        let is_uniform = |repr: &Repr| matches!(repr, Repr::Leaves(leaves) if leaves.iter().all(|leaf| matches!(leaf, Leaf::One(_))));
        let varies: Vec<bool> = inputs.iter().map(|input| !is_uniform(input)).collect();
        let uniform = Rc::new(analyse(self.body.c, callee, &varies));
        let scalar = self.body.enter_frame(callee, outputs, site);
        let uniform = mem::replace(&mut self.uniform, uniform);
        let values = mem::replace(&mut self.values, EntityMap::filled(None, func.values.len()));
        let (loops, landings) = (mem::take(&mut self.loops), mem::take(&mut self.landings));
        let (returns, mask) = (self.returns.take(), self.mask);
        let emitted = self.function(inputs);
        self.mask = mask;
        (self.loops, self.landings, self.returns) = (loops, landings, returns);
        (self.uniform, self.values) = (uniform, values);
        self.body.leave_frame(scalar);
        emitted
    }

    /// Emits the function whose frame was entered.
    fn function(&mut self, inputs: Vec<Repr>) -> Result<Vec<Leaf>> {
        let func = self.body.func;
        let mut scalars = Vec::new();
        for output in func.sig.outputs().filter(|output| !self.body.c.shapes.shape(output.ty).in_memory()) {
            scalars.extend(self.scalars(output.ty)?);
        }
        let returns: Vec<Inst> =
            func.all_insts().into_iter().filter(|inst| func.insts[*inst].op == Op::Return).collect();
        let is_last = |inst: &Inst| func.regions[func.body].insts.last() == Some(inst);
        let to = if returns.iter().any(|inst| self.uniform.is_apart(*inst, None)) {
            let slots: Vec<Slot> =
                scalars.iter().map(|scalar| Slot::Each(self.variable(*scalar), *scalar)).collect();
            self.clear_slots(&slots);
            let end = self.body.b.create_block();
            self.landings.push(Landing::Block(end));
            ReturnTo::Apart(end, slots)
        } else if let [only] = &returns[..]
            && is_last(only)
        {
            ReturnTo::Here(Leaves::new())
        } else {
            let types: Vec<Native> = scalars.iter().flat_map(|scalar| [native(*scalar); PARTS]).collect();
            ReturnTo::Block(self.body.block_with(&types))
        };
        let segment = self.order.new_segment();
        self.returns = Some(Returns { to, segment });
        self.take_inputs(inputs)?;
        self.region(func.body, &Yield::Nowhere)?;
        self.order.go_on_in(segment);
        match self.returns.take().expect("it was set above").to {
            ReturnTo::Here(leaves) => Ok(leaves.to_vec()),
            ReturnTo::Block(end) => {
                self.body.b.switch_to_block(end);
                let given = self.body.b.block_params(end).to_vec();
                Ok(given.chunks(PARTS).map(|parts| Leaf::Each(std::array::from_fn(|i| parts[i]))).collect())
            }
            ReturnTo::Apart(end, slots) => {
                self.body.b.switch_to_block(end);
                Ok(self.slot_leaves(&slots))
            }
        }
    }

    fn take_inputs(&mut self, inputs: Vec<Repr>) -> Result<()> {
        let func = self.body.func;
        let mut copies = Vec::new();
        for (number, (input, given)) in func.inputs().iter().copied().zip(inputs).enumerate() {
            let storage = match &given {
                Repr::Leaves(leaves) => {
                    self.set(input, leaves.clone())?;
                    continue;
                }
                Repr::Memory(storage) => Some(*storage),
                Repr::Shared(_) => None,
            };
            let slot = self.body.places().slot(input);
            let is_passed = self.body.places().passed.contains(&Some(number));
            let changes = slot.is_some_and(|slot| self.body.places().members(slot).len() > 1);
            // It is changed, and the caller's must not be.
            if changes && !is_passed || slot.is_some() && storage.is_none() {
                copies.push((input, given));
                continue;
            }
            if let (Some(slot), Some(storage)) = (slot, storage) {
                self.body.place(slot, storage);
            }
            if slot.is_none() {
                // It needs no storage.
                self.body.values[input] = Some(ScalarRepr::Memory(Storage::At(self.body.state)));
            }
            self.values[input] = Some(given);
        }
        self.body.allocate();
        for (input, given) in copies {
            let own = self.stored(input);
            self.copy_repr(own, given, self.ty(input))?;
        }
        Ok(())
    }
}
