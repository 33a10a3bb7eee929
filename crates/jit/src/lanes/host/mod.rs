//! Memory of the host and of the group in lanes: loads, stores and atomic operations.
//!
//! | index | load | store |
//! | --- | --- | --- |
//! | one for all lanes | a scalar | a scalar, or by lane in order |
//! | in a row | vectors, if elements are next to each other, else scalars at fixed distances | the same |
//! | any other | a scalar for each lane | the same |
//!
//! Indices in a row are checked by the first and the last. If one is outside, each lane is checked and reads or writes for itself.
//! In stores a lane that is not in the mask, or dead, writes to memory that nobody reads.

mod stores;

use super::value::{Leaf, Leaves, Repr, Vector, native};
use super::{LANES, Lanes, PARTS};
use crate::compile::Result;
use crate::shape::Leaf as Kind;
use crate::state::at;
use cotangent_base::Scalar;
use cotangent_ir::{InstData, Op, Path, Step, Ty, Type, Value, layout, type_group};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};

/// The addresses of a part, as scalar code has it.
#[derive(Clone)]
pub(super) enum Access {
    /// The same in all lanes.
    One(Reg),
    /// So many bytes apart from lane to lane.
    Row(Reg, i64),
    /// One for each lane.
    Each(Vec<Reg>),
}

/// The memory of a buffer or of a variable of the group. A variable counts as a buffer: an array has its elements, any other
/// variable one element.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    /// Its address, or that of other memory if the buffer is empty.
    base: Reg,
    /// Its address, if the buffer is not empty.
    pub given: Reg,
    pub len: Reg,
    elem: Ty,
    /// The size of an element.
    stride: i64,
    /// Whether paths begin with an element: only those of variables that are not arrays do not.
    has_elements: bool,
}

impl Memory {
    /// The part of a path that leads into an element, and its indices.
    fn rest<'p, 'i>(&self, path: &'p Path, indices: &'i [Value]) -> (&'p [Step], &'i [Value]) {
        match &path.0[..] {
            steps if !self.has_elements => (steps, indices),
            [Step::Index, rest @ ..] => (rest, &indices[1..]),
            [Step::Part(_), rest @ ..] => (rest, indices),
            [] => unreachable!("the verifier checked the path"),
        }
    }
}

/// An element of a buffer whose index is in a row, not checked yet.
pub(super) struct Row {
    first: Reg,
    step: u32,
    scalar: Scalar,
}

/// The index of the element that a path begins with.
fn element_index(path: &Path, indices: &[Value]) -> Option<Value> {
    if let Some(Step::Index) = path.0.first() { indices.first().copied() } else { None }
}

impl Lanes<'_, '_, '_> {
    /// A parameter that lies in memory.
    pub(super) fn global(&mut self, data: &InstData) -> Result<()> {
        let result = data.results[0];
        let Op::Global(global) = data.op else { unreachable!("it is a global") };
        let ty = self.ty(result);
        if !self.body.c.shapes.shape(ty).plain || layout::layout(&self.body.c.module.types, ty).is_none() {
            return self.refuse("parameters with values of interface type");
        }
        let address = self.body.global_address(global);
        if self.body.places().slot(result).is_none() {
            self.values[result] = Some(Repr::Shared(address));
            return Ok(());
        }
        let to = self.stored(result);
        self.copy_repr(to, Repr::Shared(address), ty)
    }

    /// The memory of a variable of the group.
    fn shared(&mut self, handle: Value, inner: Ty) -> Result<Memory> {
        let Some(Op::Global(global)) = self.body.func.op(handle) else { return self.refuse("pointers") };
        if !self.body.c.shapes.shape(inner).plain {
            return self.refuse("values of interface type in memory");
        }
        let base = self.body.global_address(*global);
        let (elem, len, has_elements) = match self.body.c.module.types.get(inner) {
            Type::Array(elem, len) => (elem, len, true),
            type_group!(unit | number | composite | handle) => (inner, 1, false),
        };
        let stride = self.body.c.shapes.shape(elem).size as i64;
        let len = self.body.int(types::I64, len.into());
        Ok(Memory { base, given: base, len, elem, stride, has_elements })
    }

    /// The memory of a buffer or of a variable of the group.
    pub(super) fn memory(&mut self, handle: Value) -> Result<Memory> {
        let elem = match self.body.ty(handle) {
            Type::Buffer(elem, _) => elem,
            Type::Ref(inner) => return self.shared(handle, inner),
            Type::Opaque(_) | type_group!(unit | number | composite) => {
                unreachable!("the verifier checked the type")
            }
        };
        let Leaf::One(number) = self.leaf(handle) else { return self.refuse("handles that vary") };
        let is_known = matches!(self.body.func.op(handle), Some(Op::Global(_)));
        if !is_known && !self.mask.is_full() {
            return self.refuse("handles that may be null");
        }
        self.body.check_handle(handle);
        let stride = layout::layout(&self.body.c.module.types, elem).map(|layout| i64::from(layout.size));
        let (Some(stride), true) = (stride, self.body.c.shapes.shape(elem).plain) else {
            return self.refuse("values of interface type in memory");
        };
        let given = self.body.table(number, types::I64, 0);
        let len = self.body.table(number, types::I64, at::ENTRY_LEN);
        let scratch = self.body.arena_address(self.scratch);
        let is_empty = self.body.is_const(len, 0);
        let base = self.body.b.ins().select(is_empty, scratch, given);
        Ok(Memory { base, given, len, elem, stride, has_elements: true })
    }

    /// The index of an element: checked, unless it is in a row.
    fn element(
        &mut self,
        memory: Memory,
        path: &Path,
        indices: &[Value],
    ) -> Result<std::result::Result<Leaf, Row>> {
        let len = memory.len;
        match path.0.first().filter(|_| memory.has_elements) {
            None => Ok(Ok(Leaf::One(self.body.int(types::I64, 0)))),
            Some(Step::Part(number)) => {
                let index = self.body.int(types::I64, (*number).into());
                if self.known(len).is_some_and(|len| *number < len) {
                    return Ok(Ok(Leaf::One(index)));
                }
                let is_outside = self.body.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
                if !self.mask.is_full() {
                    return self.refuse("fixed elements of buffers in branches");
                }
                self.body.stop_if(is_outside, cotangent_ir::Trap::OutOfBounds, Some((index, len)));
                Ok(Ok(Leaf::One(index)))
            }
            Some(Step::Index) => {
                if let Leaf::Next(first, step) = self.leaf(indices[0]) {
                    let scalar = self.body.scalar_of(indices[0]);
                    Ok(Err(Row { first, step, scalar }))
                } else {
                    Ok(Ok(self.checked(indices[0], len)?))
                }
            }
        }
    }

    /// Whether some index in a row may be outside, and the first in 64 bits.
    fn row_outside(&mut self, row: &Row, len: Reg) -> (Reg, Reg) {
        let first = self.body.extended(row.first, row.scalar);
        let last = self.body.add_const(first, i64::from(row.step) * (LANES as i64 - 1));
        let outside = IntCC::UnsignedGreaterThanOrEqual;
        let ends = self.body.b.ins().icmp(outside, last, len);
        if !row.scalar.is_signed() {
            // The first is less than the last.
            return (ends, first);
        }
        let begins = self.body.b.ins().icmp(outside, first, len);
        (self.body.b.ins().bor(begins, ends), first)
    }

    /// The address of an element.
    fn element_access(&mut self, base: Reg, index: Leaf, stride: i64) -> Access {
        if let Leaf::One(index) = index {
            let at = self.body.mul_const(index, stride);
            return Access::One(self.body.b.ins().iadd(base, at));
        }
        let mut all = Vec::new();
        for lane in Self::numbers() {
            let index = self.lane(index, Scalar::U32, lane);
            let index = self.body.b.ins().uextend(types::I64, index);
            let at = self.body.mul_const(index, stride);
            all.push(self.body.b.ins().iadd(base, at));
        }
        Access::Each(all)
    }

    /// Follows a path in memory that scalar code could follow.
    pub(super) fn walk(
        &mut self,
        mut access: Access,
        mut ty: Ty,
        steps: &[Step],
        indices: &[Value],
    ) -> Result<(Access, Ty)> {
        let mut indices = indices.iter();
        let mut fixed = 0;
        for step in steps {
            match step {
                Step::Part(number) => {
                    let part = self.body.c.shapes.part(ty, *number).expect("the verifier checked the path");
                    fixed += part.offset as i64;
                    ty = part.ty;
                }
                Step::Index => {
                    let arity = self.body.c.module.types.arity(ty).expect("the verifier checked the path");
                    let len = self.body.int(types::I64, arity.into());
                    let index = self.checked(*indices.next().expect("the verifier counted"), len)?;
                    ty = self.body.c.module.types.part(ty, None).expect("the verifier checked the path");
                    let stride = self.body.c.shapes.shape(ty).size as i64;
                    access = self.further(access, index, stride);
                }
            }
        }
        let access = match access {
            Access::One(address) => Access::One(self.body.add_const(address, fixed)),
            Access::Row(address, apart) => Access::Row(self.body.add_const(address, fixed), apart),
            Access::Each(all) => {
                Access::Each(all.into_iter().map(|a| self.body.add_const(a, fixed)).collect())
            }
        };
        Ok((access, ty))
    }

    fn further(&mut self, access: Access, index: Leaf, stride: i64) -> Access {
        if let Leaf::One(index) = index {
            let at = self.body.mul_const(index, stride);
            let mut add = |address: Reg| self.body.b.ins().iadd(address, at);
            return match access {
                Access::One(address) => Access::One(add(address)),
                Access::Row(address, apart) => Access::Row(add(address), apart),
                Access::Each(all) => Access::Each(all.into_iter().map(add).collect()),
            };
        }
        let before = self.addresses(&access);
        let Access::Each(at) = self.element_access(before[0], index, stride) else {
            unreachable!("the index varies")
        };
        let all = at.into_iter().zip(&before).map(|(at, own)| {
            let at = self.body.b.ins().isub(at, before[0]);
            self.body.b.ins().iadd(at, *own)
        });
        Access::Each(all.collect())
    }

    /// The addresses of all lanes.
    fn addresses(&mut self, access: &Access) -> Vec<Reg> {
        match access {
            Access::One(address) => vec![*address; LANES],
            Access::Row(address, apart) => {
                Self::numbers().map(|lane| self.body.add_const(*address, apart * lane as i64)).collect()
            }
            Access::Each(all) => all.clone(),
        }
    }

    // Loads.

    pub(super) fn load(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let (handle, indices, result) = (data.operands[0], &data.operands[1..], data.results[0]);
        self.note_load(handle, element_index(path, indices))?;
        let memory = self.memory(handle)?;
        let Memory { base, given, len, elem, stride, .. } = memory;
        let (steps, rest) = memory.rest(path, indices);
        match self.element(memory, path, indices)? {
            Ok(index) => {
                let access = self.element_access(base, index, stride);
                let (access, ty) = self.walk(access, elem, steps, rest)?;
                self.load_access(access, ty, result)
            }
            Err(row) => {
                if self.in_memory(result) {
                    let index = self.checked(indices[0], len)?;
                    let access = self.element_access(base, index, stride);
                    let (access, ty) = self.walk(access, elem, steps, rest)?;
                    return self.load_access(access, ty, result);
                }
                let scalars = self.scalars(self.ty(result))?;
                let types: Vec<_> = scalars.iter().flat_map(|scalar| [native(*scalar); PARTS]).collect();
                let (fast, slow) = (self.body.b.create_block(), self.body.b.create_block());
                let end = self.body.block_with(&types);
                let (is_outside, first) = self.row_outside(&row, len);
                self.body.b.ins().brif(is_outside, slow, &[], fast, &[]);
                self.body.b.switch_to_block(slow);
                self.in_cold(slow, |lanes| {
                    let index = lanes.checked(indices[0], len)?;
                    if let Some((offset, ty)) = lanes.fixed_part(elem, steps) {
                        let address = lanes.body.add_const(base, offset);
                        let regs = lanes.read_one_by_one(address, index, stride, ty)?;
                        lanes.body.jump(end, &regs);
                        return Ok(());
                    }
                    let access = lanes.element_access(base, index, stride);
                    lanes.load_part(access, elem, steps, rest, end)
                })?;
                self.body.b.switch_to_block(fast);
                let at = self.body.mul_const(first, stride);
                let address = self.body.b.ins().iadd(given, at);
                let access = Access::Row(address, stride * i64::from(row.step));
                self.load_part(access, elem, steps, rest, end)?;
                self.body.b.switch_to_block(end);
                let given = self.body.b.block_params(end).to_vec();
                let leaves = given.chunks(PARTS).map(|parts| Leaf::Each(std::array::from_fn(|i| parts[i])));
                self.set(result, leaves.collect())
            }
        }
    }

    /// Loads a part and jumps with the vectors of its leaves.
    fn load_part(
        &mut self,
        access: Access,
        elem: Ty,
        steps: &[Step],
        indices: &[Value],
        end: cranelift_codegen::ir::Block,
    ) -> Result<()> {
        let (access, ty) = self.walk(access, elem, steps, indices)?;
        let leaves = self.read(&access, ty)?;
        let scalars = self.scalars(ty)?;
        let mut regs = Vec::new();
        for (leaf, scalar) in leaves.into_iter().zip(scalars) {
            regs.extend(self.vector(leaf, scalar));
        }
        self.body.jump(end, &regs);
        Ok(())
    }

    /// Makes a value what lies at addresses.
    pub(super) fn load_access(&mut self, access: Access, ty: Ty, result: Value) -> Result<()> {
        if !self.in_memory(result) {
            let leaves = self.read(&access, ty)?;
            return self.set(result, leaves);
        }
        if let Access::One(address) = access {
            let to = self.stored(result);
            return self.copy_repr(to, Repr::Shared(address), ty);
        }
        self.small(ty)?;
        let scalars = self.scalars(ty)?;
        self.stored(result);
        let leaves = self.read(&access, ty)?;
        for (number, (leaf, scalar)) in (0..).zip(leaves.into_iter().zip(scalars)) {
            self.fill(result, number, scalar, leaf);
        }
        Ok(())
    }

    /// The leaves of a type at addresses.
    fn read(&mut self, access: &Access, ty: Ty) -> Result<Leaves> {
        if let Access::One(address) = access {
            return Ok(self.body.read_leaves(*address, 0, ty)?.into_iter().map(Leaf::One).collect());
        }
        let scalars = self.scalars(ty)?;
        let kinds = self.body.c.shapes.leaves(ty);
        let mut leaves = Leaves::new();
        for ((kind, offset), scalar) in kinds.iter().zip(scalars) {
            leaves.push(Leaf::Each(match access {
                Access::Row(address, 4) if scalar != Scalar::Bool => self.load_row(*address, *offset, scalar),
                Access::One(_) | Access::Row(..) | Access::Each(_) => {
                    self.load_each(access, *kind, *offset, scalar)?
                }
            }));
        }
        Ok(leaves)
    }

    fn load_row(&mut self, address: Reg, offset: u32, scalar: Scalar) -> Vector {
        let flags = MemFlagsData::new().with_notrap();
        std::array::from_fn(|part| {
            self.body.b.ins().load(native(scalar), flags, address, offset as i32 + 16 * part as i32)
        })
    }

    fn load_each(&mut self, access: &Access, kind: Kind, offset: u32, scalar: Scalar) -> Result<Vector> {
        self.count_by_lane(2);
        let mut lanes = Vec::new();
        for lane in Self::numbers() {
            let (address, at) = match access {
                Access::One(address) => (*address, 0),
                Access::Row(address, apart) => (*address, apart * lane as i64),
                Access::Each(all) => (all[lane], 0),
            };
            // Words are put together, and become floats as vectors.
            let kind = if scalar == Scalar::F32 { Kind::Scalar(Scalar::U32) } else { kind };
            let at = i64::from(offset) + at;
            let Ok(at) = i32::try_from(at) else { return self.refuse("very large values") };
            lanes.push(self.body.load_leaf(kind, address, at)?);
        }
        let vector = self.of_lanes(scalar, &lanes);
        Ok(vector.map(|part| self.body.vector_as(native(scalar), part)))
    }
}
