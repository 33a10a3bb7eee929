//! Compiles calls, and the function that starts a thread.

use crate::body::{Body, Regs, Repr, Storage};
use crate::compile::Result;
use crate::state::{Helper, at};
use cotangent_ir::{FuncId, GlobalKind, InstData, Link, SystemValue, Trap, Type, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};
use cranelift_module::Module as _;
use smallvec::SmallVec;

impl Body<'_, '_, '_> {
    /// A call of a function of the program.
    ///
    /// An input that the callee updates in place is moved to the storage of the result first. The callee reads all other inputs where
    /// they are; those that would be overwritten are copied before.
    pub fn call(&mut self, data: &InstData, callee: FuncId) -> Result<()> {
        let passed = self.c.places[&callee].passed.clone();
        let mut given: Vec<Option<Storage>> = data
            .operands
            .iter()
            .map(|operand| self.shape_of(*operand).in_memory().then(|| self.place_of(*operand)))
            .collect();
        let in_memory: Vec<Value> =
            data.results.iter().copied().filter(|r| self.shape_of(*r).in_memory()).collect();
        let written: Vec<Storage> = in_memory.iter().map(|result| self.storage(*result)).collect();
        let mut brought: Vec<(usize, usize)> = Vec::new();
        for (output, input) in passed.iter().enumerate().filter_map(|(o, i)| Some((o, (*i)?))) {
            if given[input].is_some() {
                brought.push((input, output));
            }
        }
        for (number, storage) in given.iter_mut().enumerate() {
            let Some(from) = *storage else { continue };
            let own = brought.iter().find(|(input, _)| *input == number);
            let in_place = own.is_some_and(|(_, output)| self.storage(data.results[*output]) == from);
            let may_change = matches!(from, Storage::At(_)) || written.contains(&from);
            if !in_place && may_change && !written.is_empty() {
                *storage = Some(self.copied(from, self.func.ty(data.operands[number]))?);
            }
        }
        for (input, output) in brought {
            let to = self.storage(data.results[output]);
            let from = given[input].replace(to).expect("it lies in memory");
            self.copy(to, from, self.func.ty(data.operands[input]));
        }
        if self.c.is_inlined(callee) {
            return self.call_inline(data, callee, given, &passed);
        }
        let mut args: Regs = SmallVec::from_slice(&[self.state]);
        for (operand, storage) in data.operands.iter().zip(given) {
            match storage {
                Some(storage) => args.push(self.address(storage)),
                None => args.extend(self.regs(*operand)),
            }
        }
        for (number, result) in data.results.iter().enumerate() {
            if self.shape_of(*result).in_memory() && passed[number].is_none() {
                let storage = self.storage(*result);
                args.push(self.address(storage));
            }
        }
        let returned = self.call_native(callee, &args, true)?;
        self.take_returned(data, returned);
        Ok(())
    }

    /// Emits the callee in place of the call.
    fn call_inline(
        &mut self,
        data: &InstData,
        callee: FuncId,
        given: Vec<Option<Storage>>,
        passed: &[Option<usize>],
    ) -> Result<()> {
        let inputs = data.operands.iter().zip(given).map(|(operand, storage)| match storage {
            Some(storage) => Repr::Memory(storage),
            None => Repr::Leaves(self.regs(*operand)),
        });
        let inputs = inputs.collect();
        let outputs = data.results.iter().zip(passed).map(|(result, passed)| {
            (self.shape_of(*result).in_memory() && passed.is_none()).then(|| self.storage(*result))
        });
        let outputs = outputs.collect();
        let site = self.site(Trap::CallDepth);
        let returned = self.inline(callee, inputs, outputs, Some(site))?;
        self.take_returned(data, returned);
        Ok(())
    }

    /// Makes the results of a call what was returned, and what is in their storage.
    fn take_returned(&mut self, data: &InstData, returned: Vec<Reg>) {
        let mut returned = returned.into_iter();
        for result in &data.results {
            let shape = self.shape_of(*result);
            if shape.in_memory() {
                self.set_stored(*result);
            } else {
                let regs = returned.by_ref().take(shape.leaves as usize).collect();
                self.set(*result, regs);
            }
        }
    }

    /// Calls a function and returns if it stopped; the place of the call is noted then if it is one in the source. Gives what the
    /// function returned beside the status.
    fn call_native(&mut self, callee: FuncId, args: &[Reg], noted: bool) -> Result<Vec<Reg>> {
        let recurs = self.c.recursive.contains(&callee);
        if recurs {
            self.count_step()?;
            self.check_depth();
        }
        self.lengthen_trail();
        let native = self.c.natives[&callee];
        let func = self.c.jit.declare_func_in_func(native, self.b.func);
        let call = self.b.ins().call(func, args);
        let returned = self.b.inst_results(call).to_vec();
        let (stopped, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(returned[0], stopped, &[], go_on, &[]);
        self.b.switch_to_block(stopped);
        self.b.set_cold_block(stopped);
        if noted {
            let site = self.site(Trap::CallDepth);
            let site = self.int(types::I32, site.into());
            self.helper(Helper::NoteCall, &[self.state, site])?;
        }
        let end = self.stopped_block();
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(go_on);
        if recurs {
            self.change_depth(1);
        }
        Ok(returned[1..].to_vec())
    }

    /// Stops if calls nest too deeply, or if the stack is nearly full.
    fn check_depth(&mut self) {
        let left = self.change_depth(-1);
        let zero = self.int(types::I64, 0);
        let is_over = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, left, zero);
        self.stop_if(is_over, Trap::CallDepth, None);
        let limit = self.load_state(types::I64, at::STACK_LIMIT);
        let stack = self.b.ins().get_stack_pointer(types::I64);
        let is_full = self.b.ins().icmp(IntCC::UnsignedLessThan, stack, limit);
        self.stop_if(is_full, Trap::CallDepth, None);
    }

    fn change_depth(&mut self, by: i64) -> Reg {
        let left = self.load_state(types::I64, at::DEPTH);
        let left = self.add_const(left, by);
        self.store_state(left, at::DEPTH);
        left
    }

    /// Emits what runs a thread: variables of the thread get their first values, then the entry point runs.
    pub fn thunk(mut self) -> Result<()> {
        let module = self.c.module;
        // A group may have billions of threads.
        self.count_step()?;
        self.begin_trail();
        for (global, data) in module.globals.iter() {
            let (GlobalKind::Static(init), Type::Ref(inner)) = (&data.kind, module.types.get(data.ty)) else {
                continue;
            };
            let address = self.global_address(global);
            match init {
                None => self.clear(Storage::At(address), inner),
                Some(init) => {
                    let in_memory = self.c.shapes.shape(inner).in_memory();
                    let mut args = vec![self.state];
                    args.extend(in_memory.then_some(address));
                    let returned = self.call_native(*init, &args, false)?;
                    let shape = self.c.shapes.shape(inner);
                    if !shape.plain && !shape.opaque {
                        self.store_first(address, inner, in_memory, &returned)?;
                    } else if !in_memory {
                        self.write_leaves(address, 0, inner, &returned);
                    }
                }
            }
        }
        let info = self.func.entry.clone().expect("it is an entry point");
        let mut args = vec![self.state];
        for (input, link) in self.func.inputs().iter().zip(&info.inputs) {
            let leaves = self.leaf_types(self.func.ty(*input));
            match link {
                Link::System(value) => self.system_value(*value, leaves.len(), &mut args),
                // Only compute shaders are run.
                Link::Location(_) => {
                    for leaf in leaves {
                        args.push(self.zero_of(leaf.native()));
                    }
                }
            }
        }
        if self.c.is_inlined(self.id) {
            let mut regs = args[1..].iter().copied();
            let inputs = self.func.inputs().iter().map(|input| {
                let leaves = self.shape_of(*input).leaves as usize;
                Repr::Leaves(regs.by_ref().take(leaves).collect())
            });
            let inputs = inputs.collect();
            self.inline(self.id, inputs, vec![None; self.func.sig.outputs().count()], None)?;
        } else {
            self.call_native(self.id, &args, false)?;
        }
        let zero = self.int(types::I32, 0);
        self.b.ins().return_(&[zero]);
        self.finish();
        Ok(())
    }

    fn system_value(&mut self, value: SystemValue, leaves: usize, args: &mut Vec<Reg>) {
        let at = match value {
            SystemValue::DispatchThreadId => Some(at::IN_DISPATCH),
            SystemValue::GroupId => Some(at::GROUP),
            SystemValue::GroupThreadId => Some(at::THREAD),
            SystemValue::GroupIndex => Some(at::INDEX_IN_GROUP),
            SystemValue::VertexId | SystemValue::InstanceId | SystemValue::Position => None,
            SystemValue::FrontFacing | SystemValue::SampleIndex | SystemValue::Coverage => None,
            SystemValue::PrimitiveId | SystemValue::Depth | SystemValue::ViewId => None,
            SystemValue::FirstVertex | SystemValue::FirstInstance | SystemValue::DrawIndex => None,
            SystemValue::VulkanVertexId | SystemValue::VulkanInstanceId => None,
            SystemValue::Barycentrics | SystemValue::PointSize => None,
            SystemValue::ClipDistance | SystemValue::CullDistance => None,
        };
        for lane in 0..leaves as i32 {
            args.push(match at {
                Some(at) => self.load_state(types::I32, at + 4 * lane),
                None => self.int(types::I32, 0),
            });
        }
    }
}
