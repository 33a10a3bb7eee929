//! Rewrites accesses to memory: converts loaded values from, and stored values to, the memory form of their types.

use super::memory::Memory;
use super::paths::{End, Way};
use cotangent_base::EntityMap;
use cotangent_ir::layout::Matrices;
use cotangent_ir::{
    Builder, Func, Global, GlobalData, GlobalKind, Inst, Op, Path, Region, Ty, Type, Types, Value, op_group,
};

/// Turns the accesses of a function, and then the types of its handles.
pub(super) fn function(
    memory: &mut Memory,
    types: &mut Types,
    func: &mut Func,
    globals: &EntityMap<Global, GlobalData>,
) {
    for region in func.regions.keys() {
        for inst in std::mem::take(&mut func.regions[region].insts) {
            Turner { memory, types, func, region, inst }.instruction(globals);
            func.regions[region].insts.push(inst);
        }
    }
    let mut turn = |ty: &mut Ty| *ty = memory.held(types, *ty);
    func.values.values_mut().for_each(|value| turn(&mut value.ty));
    func.sig.params.iter_mut().for_each(|param| turn(&mut param.ty));
    func.sig.ret.iter_mut().for_each(|result| turn(&mut result.ty));
}

/// Which way something goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Value,
    Memory,
}

/// Works on one instruction.
struct Turner<'f> {
    memory: &'f mut Memory,
    types: &'f mut Types,
    func: &'f mut Func,
    region: Region,
    inst: Inst,
}

impl Turner<'_> {
    fn instruction(&mut self, globals: &EntityMap<Global, GlobalData>) {
        match self.func.insts[self.inst].op.clone() {
            Op::Global(global) => {
                let GlobalData { ty, ref kind, .. } = globals[global];
                let is_value = *kind == GlobalKind::Param && !matches!(self.types.get(ty), Type::Buffer(..));
                if is_value && self.memory.differs(self.types, ty) {
                    self.uniform(global, ty);
                }
            }
            Op::Load(path) => self.load(&path),
            Op::Store(path) => self.store(&path),
            Op::Atomic(mut atomic) => {
                let skip = self.operands().len() - atomic.path.indices();
                if let Some(way) = self.way(&atomic.path, skip) {
                    atomic.path = way.path;
                    self.put_back(Op::Atomic(atomic), skip, &way.indices);
                }
            }
            Op::Point(path) => {
                if let Some(way) = self.way(&path, 1) {
                    self.put_back(Op::Point(way.path), 1, &way.indices);
                }
            }
            // Values, and memory without types.
            Op::Offset | Op::Address | Op::Pointer | Op::Length => {}
            op_group!(pure | texture | threads | host | pixel | call | control | exit) => {}
        }
    }

    fn operands(&self) -> &[Value] {
        &self.func.insts[self.inst].operands
    }

    fn way(&self, path: &Path, skip: usize) -> Option<Way> {
        self.memory.way(self.types, self.func, self.inst, path, skip)
    }

    /// Builds before the instruction.
    fn b(&mut self) -> Builder<'_> {
        let span = self.func.insts[self.inst].span;
        Builder { types: self.types, func: self.func, region: self.region, span }
    }

    /// Gives the instruction another path and other indices; `kept` operands come before them.
    fn put_back(&mut self, op: Op, kept: usize, indices: &[Value]) {
        let data = &mut self.func.insts[self.inst];
        data.op = op;
        data.operands.truncate(kept);
        data.operands.extend(indices.iter().copied());
    }

    fn load(&mut self, path: &Path) {
        let Some(way) = self.way(path, 1) else { return };
        let ty = self.func.ty(self.func.insts[self.inst].results[0]);
        let operands = [&self.operands()[..1], &way.indices].concat();
        match way.end {
            End::Element => self.put_back(Op::Load(way.path), 1, &way.indices),
            End::Whole(matrices) => {
                let stored = self.memory.stored_as(self.types, ty, matrices);
                let value = self.b().emit1(Op::Load(way.path), &operands, stored);
                self.finish(value, ty, matrices);
            }
            End::Row => {
                let scalar = self.types.part(ty, None).expect("a row has lanes");
                let count = self.types.arity(ty).unwrap_or(0);
                let mut b = self.b();
                // The handle still has its old type, which these paths do not fit.
                let lane = |lane| b.emit1(Op::Load(way.across(lane)), &operands, scalar);
                let lanes: Vec<Value> = (0..count).map(lane).collect();
                self.put_back(Op::Pack, 0, &lanes);
            }
        }
    }

    fn store(&mut self, path: &Path) {
        let Some(way) = self.way(path, 2) else { return };
        let (handle, value) = (self.operands()[0], self.operands()[1]);
        let ty = self.func.ty(value);
        match way.end {
            End::Element => self.put_back(Op::Store(way.path), 2, &way.indices),
            End::Whole(matrices) => {
                let turned = self.turn(value, ty, matrices, To::Memory);
                self.func.insts[self.inst].operands[1] = turned;
            }
            End::Row => {
                let last = self.types.arity(ty).unwrap_or(0) - 1;
                for lane in 0..last {
                    let mut b = self.b();
                    let part = b.part(value, lane);
                    b.store(handle, part, way.across(lane), &way.indices);
                }
                let part = self.b().part(value, last);
                self.func.insts[self.inst].operands[1] = part;
                self.put_back(Op::Store(way.across(last)), 2, &way.indices);
            }
        }
    }

    /// The value of a uniform.
    fn uniform(&mut self, global: Global, ty: Ty) {
        let stored = self.memory.stored(self.types, ty);
        let value = self.b().emit1(Op::Global(global), &[], stored);
        self.finish(value, ty, self.memory.matrices);
    }

    /// Makes the instruction give what was stored as `value`, of type `ty`.
    fn finish(&mut self, value: Value, ty: Ty, matrices: Matrices) {
        let (op, operands) = match self.types.get(ty) {
            Type::Matrix(..) => (Op::Transpose, vec![value]),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => (Op::Pack, self.parts(value, ty, matrices, To::Value)),
        };
        self.put_back(op, 0, &operands);
    }

    /// The parts of an aggregate of type `ty`: of a structure, or of an array that lies as `matrices` says.
    fn parts(&mut self, value: Value, ty: Ty, matrices: Matrices, to: To) -> Vec<Value> {
        let def = match self.types.get(ty) {
            Type::Struct(id) => Some(self.types.struct_def(id).clone()),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Array(..)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => None,
        };
        let mut parts = Vec::new();
        for index in 0..self.types.arity(ty).unwrap_or(0) {
            let inner = self.types.part(ty, Some(index)).expect("it has that many parts");
            let own = def.as_ref().map(|def| self.memory.field(def, index as usize));
            let part = self.b().part(value, index);
            parts.push(self.turn(part, inner, own.unwrap_or(matrices), to));
        }
        parts
    }

    /// A value of type `ty` as it is stored, or what is stored as a value.
    fn turn(&mut self, value: Value, ty: Ty, matrices: Matrices, to: To) -> Value {
        if !self.memory.differs_as(self.types, ty, matrices) {
            return value;
        }
        let result = match to {
            To::Value => ty,
            To::Memory => self.memory.stored_as(self.types, ty, matrices),
        };
        match self.types.get(ty) {
            Type::Matrix(..) => self.b().emit1(Op::Transpose, &[value], result),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => {
                let parts = self.parts(value, ty, matrices, to);
                self.b().pack(&parts, result)
            }
        }
    }
}
