//! Writes companions beside the values that have one.
//!
//! Results of branches, slots of loops and outputs get a companion after all others. Where control flow meets a value that was
//! not assigned, its companion is zero.

use super::Companion;
use super::calls::Called;
use super::flow::Flow;
use crate::instance::Lowerer;
use cotangent_base::{Map, Span};
use cotangent_ir::{Control, Exit, Func, FuncId, Inst, Op, Region, Ty, Value, op_group};

/// Writes the companions of all values into a function, given those of its inputs, and returns those of `outputs`.
pub(super) fn write(
    lowerer: &mut Lowerer<'_>,
    func: &mut Func,
    flow: Flow,
    companions: Map<Value, Value>,
    outputs: &[usize],
) {
    let (body, around) = (func.body, vec![Around { is_loop: false, slots: outputs.to_vec() }]);
    let mut writer = Writer { lowerer, func, flow, companions, around, out: vec![] };
    writer.region(body);
}

/// What exits lead to: a construct, and the numbers of its results that have companions.
struct Around {
    is_loop: bool,
    slots: Vec<usize>,
}

struct Writer<'a, 'c> {
    lowerer: &'a mut Lowerer<'c>,
    func: &'a mut Func,
    flow: Flow,
    companions: Map<Value, Value>,
    /// The function, then the constructs around.
    around: Vec<Around>,
    /// The instructions of the region at hand, so far.
    out: Vec<Inst>,
}

impl Writer<'_, '_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let outer = std::mem::take(&mut self.out);
        for inst in insts {
            self.inst(inst);
        }
        self.func.regions[region].insts = std::mem::replace(&mut self.out, outer);
    }

    fn inst(&mut self, inst: Inst) {
        match self.func.insts[inst].op.control() {
            Control::If | Control::Switch(_) => self.branch(inst),
            Control::While(_) => self.repeat(inst, 0, 0),
            Control::For(_) => self.repeat(inst, 1, 1),
            Control::Exit(exit) => self.exit(inst, exit),
            Control::Call(callee) => self.call(inst, callee),
            Control::Plain | Control::DiffCall(_) | Control::LinCall(_) => {
                self.out.push(inst);
                self.plain(inst);
            }
        }
    }

    fn branch(&mut self, inst: Inst) {
        let slots = self.known(&self.func.insts[inst].results.clone());
        self.around.push(Around { is_loop: false, slots });
        for region in self.func.insts[inst].regions.clone() {
            self.region(region);
        }
        let slots = self.around.pop().map_or(vec![], |around| around.slots);
        self.out.push(inst);
        self.add_results(inst, &slots);
    }

    /// A loop whose first operands and arguments of regions are no slots.
    fn repeat(&mut self, inst: Inst, operands: usize, args: usize) {
        let data = self.func.insts[inst].clone();
        let body = *data.regions.last().expect("a loop has a body");
        let inner: Vec<Value> = self.func.regions[body].args[args..].to_vec();
        let known = |i: &usize| {
            self.flow.of(inner[*i]) == Companion::Known || self.flow.of(data.results[*i]) == Companion::Known
        };
        let slots: Vec<usize> = (0..inner.len()).filter(known).collect();
        for &slot in &slots {
            let init = data.operands[operands + slot];
            let companion = self.companion(init, data.span);
            self.func.insts[inst].operands.push(companion);
        }
        for &region in &data.regions {
            for &slot in &slots {
                let value = self.func.regions[region].args[args + slot];
                let ty = self.companion_ty(value);
                let companion = self.func.add_arg(region, ty);
                self.companions.insert(value, companion);
            }
        }
        for &region in &data.regions {
            // A condition yields a truth value, and no slots.
            let slots = if region == body { slots.clone() } else { vec![] };
            self.around.push(Around { is_loop: region == body, slots });
            self.region(region);
            self.around.pop();
        }
        self.out.push(inst);
        self.add_results(inst, &slots);
    }

    /// Gives results their companions, as further results.
    fn add_results(&mut self, inst: Inst, slots: &[usize]) {
        for &slot in slots {
            let value = self.func.insts[inst].results[slot];
            let ty = self.companion_ty(value);
            let companion = self.func.add_result(inst, ty);
            self.companions.insert(value, companion);
        }
    }

    fn exit(&mut self, inst: Inst, exit: Exit) {
        let last = self.around.len() - 1;
        let loops = || (0..=last).rev().filter(|i| self.around[*i].is_loop);
        let to = match exit {
            Exit::Yield => last,
            Exit::Break(out) | Exit::Continue(out) => loops().nth(out as usize).unwrap_or(last),
            Exit::Return => 0,
        };
        let operands = self.func.insts[inst].operands.clone();
        for slot in self.around[to].slots.clone() {
            let companion = self.companion(operands[slot], self.func.insts[inst].span);
            self.func.insts[inst].operands.push(companion);
        }
        self.out.push(inst);
    }

    fn call(&mut self, inst: Inst, callee: FuncId) {
        let data = self.func.insts[inst].clone();
        match self.lowerer.called(callee, self.func, &self.flow, inst) {
            Called::Plain => self.out.push(inst),
            Called::Refused(loss) => {
                self.lowerer.refuse(callee, data.span, loss);
                self.out.push(inst);
            }
            Called::Paired(paired, pointers) => {
                let types: Vec<Ty> = self.lowerer.module.funcs[paired].sig.inputs().map(|p| p.ty).collect();
                for i in pointers {
                    let parts = [data.operands[i], self.companion(data.operands[i], data.span)];
                    let pair = self.emit(Op::Pack, &parts, types[i], data.span);
                    self.func.insts[inst].operands[i] = pair;
                }
                self.func.insts[inst].op = Op::Call(paired);
                self.out.push(inst);
            }
            Called::Copy(copy, inputs, outputs) => {
                for i in inputs {
                    let companion = self.companion(data.operands[i], data.span);
                    self.func.insts[inst].operands.push(companion);
                }
                self.func.insts[inst].op = Op::Call(copy);
                self.out.push(inst);
                self.add_results(inst, &outputs);
            }
        }
    }

    /// Repeats an operation on pointers on their companions.
    fn plain(&mut self, inst: Inst) {
        let data = self.func.insts[inst].clone();
        let Some(&value) = data.results.first() else { return };
        if self.flow.of(value) != Companion::Known {
            return;
        }
        let ty = self.companion_ty(value);
        let of = |writer: &mut Self, i: usize| writer.companion(data.operands[i], data.span);
        let (op, operands) = match &data.op {
            Op::Select => (Op::Select, vec![data.operands[0], of(self, 1), of(self, 2)]),
            Op::Splat => (Op::Splat, vec![of(self, 0)]),
            Op::Pack => {
                let mut parts = data.operands.to_vec();
                parts.retain(|part| self.lowerer.companion(self.func.ty(*part)).is_some());
                (Op::Pack, parts.into_iter().map(|part| self.companion(part, data.span)).collect())
            }
            Op::Extract(path) => {
                let whole = self.func.ty(data.operands[0]);
                let Some(way) = self.lowerer.companion_path(whole, path) else { return };
                let mut operands = vec![of(self, 0)];
                operands.extend(&data.operands[1..]);
                (Op::Extract(way), operands)
            }
            Op::Insert(path) => {
                let Some(way) = self.lowerer.companion_path(self.func.ty(value), path) else {
                    // What is inserted is no pointer.
                    let companion = of(self, 0);
                    self.companions.insert(value, companion);
                    return;
                };
                let mut operands = vec![of(self, 0), of(self, 1)];
                operands.extend(&data.operands[2..]);
                (Op::Insert(way), operands)
            }
            op_group!(plain | call | control | exit) => return,
        };
        let companion = self.emit(op, &operands, ty, data.span);
        self.companions.insert(value, companion);
    }

    /// The companion of a value; zero for one that was not assigned, or whose companion is not used.
    fn companion(&mut self, value: Value, span: Span) -> Value {
        match self.companions.get(&value) {
            Some(companion) => *companion,
            None => {
                let ty = self.companion_ty(value);
                self.emit(Op::Zero, &[], ty, span)
            }
        }
    }

    fn companion_ty(&mut self, value: Value) -> Ty {
        let ty = self.func.ty(value);
        self.lowerer.companion(ty).expect("only what has a companion is asked for it")
    }

    fn emit(&mut self, op: Op, operands: &[Value], ty: Ty, span: Span) -> Value {
        let inst = self.func.new_inst(op, operands, &[ty], span);
        self.out.push(inst);
        self.func.insts[inst].results[0]
    }

    fn known(&self, values: &[Value]) -> Vec<usize> {
        (0..values.len()).filter(|i| self.flow.of(values[*i]) == Companion::Known).collect()
    }
}
