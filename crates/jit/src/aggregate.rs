//! Compiles operations on aggregates, as leaves or in memory.

use crate::body::{Body, Regs, Repr, Storage};
use crate::compile::Result;
use cotangent_ir::{InstData, Math, Op, Path, Step, Trap, Ty, Type, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};

/// Arrays that are added element by element: longer ones in a loop.
const UNROLLED: u64 = 4;

impl Body<'_, '_, '_> {
    /// The leaves of a type at an address.
    pub fn read_leaves(&mut self, address: Reg, offset: i32, ty: Ty) -> Result<Regs> {
        let leaves = self.c.shapes.leaves(ty);
        leaves.iter().map(|(leaf, at)| self.load_leaf(*leaf, address, offset + *at as i32)).collect()
    }

    /// Writes the leaves of a type at an address.
    pub fn write_leaves(&mut self, address: Reg, offset: i32, ty: Ty, regs: &[Reg]) {
        let leaves = self.c.shapes.leaves(ty);
        for ((leaf, at), reg) in leaves.iter().zip(regs) {
            // Only a binary16 calls something, which was declared when its type was first used.
            let stored = self.store_leaf(*leaf, *reg, address, offset + *at as i32);
            debug_assert!(stored.is_ok(), "helpers can be declared");
        }
    }

    /// Writes a value into memory of our own.
    pub fn write_value(&mut self, address: Reg, offset: u64, value: Value) {
        let ty = self.func.ty(value);
        match self.repr(value) {
            Repr::Leaves(mut regs) => {
                if self.c.stores_memory && !self.is_given(value) {
                    regs.iter_mut().for_each(|reg| *reg = self.canonical(*reg));
                }
                self.write_leaves(address, offset as i32, ty, &regs);
            }
            Repr::Memory(from) => {
                let (to, from) = (self.add_const(address, offset as i64), self.address(from));
                self.copy_bytes(to, from, ty);
            }
        }
    }

    /// The value of a part that lies at an address in memory of our own.
    pub fn read_value(&mut self, address: Reg, result: Value) -> Result<()> {
        let ty = self.func.ty(result);
        if self.shape_of(result).in_memory() {
            let to = self.set_stored(result);
            let to = self.address(to);
            self.copy_bytes(to, address, ty);
        } else {
            let regs = self.read_leaves(address, 0, ty)?;
            self.set(result, regs);
        }
        Ok(())
    }

    pub fn pack(&mut self, data: &InstData) -> Result<()> {
        let result = data.results[0];
        if !self.shape_of(result).in_memory() {
            let regs = data.operands.iter().flat_map(|part| self.regs(*part)).collect();
            self.set(result, regs);
            return Ok(());
        }
        let to = self.set_stored(result);
        let address = self.address(to);
        for (number, part) in (0..).zip(&data.operands) {
            let at = self.c.shapes.part(self.func.ty(result), number).expect("the verifier counted");
            self.write_value(address, at.offset, *part);
        }
        Ok(())
    }

    pub fn splat(&mut self, data: &InstData) -> Result<()> {
        let (result, part) = (data.results[0], data.operands[0]);
        let (whole, one) = (self.shape_of(result), self.shape_of(part));
        if !whole.in_memory() {
            let regs = self.regs(part);
            let all = (0..whole.leaves).map(|i| regs[(i % one.leaves.max(1)) as usize]).collect();
            self.set(result, all);
            return Ok(());
        }
        let to = self.set_stored(result);
        let to = self.address(to);
        let Type::Array(_, n) = self.ty(result) else { unreachable!("only arrays lie in memory") };
        self.repeat(n.into(), |body, i| {
            let at = body.mul_const(i, one.size as i64);
            let at = body.b.ins().iadd(to, at);
            body.write_value(at, 0, part);
            Ok(())
        })
    }

    /// Emits something for every number below `n`: one after the other, or in a loop.
    pub fn repeat(&mut self, n: u64, mut each: impl FnMut(&mut Self, Reg) -> Result<()>) -> Result<()> {
        if n <= UNROLLED {
            for i in 0..n {
                let i = self.int(types::I64, i as i64);
                each(self, i)?;
            }
            return Ok(());
        }
        let (head, end) = (self.block_with(&[types::I64]), self.b.create_block());
        let zero = self.int(types::I64, 0);
        self.jump(head, &[zero]);
        self.b.switch_to_block(head);
        let i = self.b.block_params(head)[0];
        each(self, i)?;
        let next = self.add_const(i, 1);
        let n = self.int(types::I64, n as i64);
        let goes_on = self.b.ins().icmp(IntCC::UnsignedLessThan, next, n);
        self.b.ins().brif(goes_on, head, &[next.into()], end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    /// The sum of all elements, from the first to the last.
    pub fn sum(&mut self, data: &InstData) -> Result<()> {
        let (operand, result) = (data.operands[0], data.results[0]);
        let elem = self.func.ty(result);
        let one = self.c.shapes.shape(elem);
        if !self.shape_of(operand).in_memory() {
            let regs = self.regs(operand);
            let scalar = self.c.shapes.leaves(elem);
            let mut parts = regs.chunks(one.leaves.max(1) as usize).map(Regs::from_slice);
            let mut sum = match parts.next() {
                Some(first) => first,
                None => self.zeros(elem),
            };
            for part in parts {
                for ((sum, part), (leaf, _)) in sum.iter_mut().zip(part).zip(scalar.iter()) {
                    *sum = self.add_leaf(*leaf, *sum, part)?;
                }
            }
            self.set(result, sum);
            return Ok(());
        }
        let Type::Array(_, n) = self.ty(operand) else { unreachable!("only arrays lie in memory") };
        let from = self.place_of(operand);
        let from = self.address(from);
        // The sum is in memory while it grows.
        let sum = match one.in_memory() {
            true => self.set_stored(result),
            false => Storage::Stack(self.stack(one.size.next_multiple_of(16).max(16))),
        };
        let to = self.address(sum);
        self.copy_bytes(to, from, elem);
        self.repeat(u64::from(n) - 1, |body, i| {
            let i = body.add_const(i, 1);
            let at = body.mul_const(i, one.size as i64);
            let at = body.b.ins().iadd(from, at);
            body.add_in_memory(to, at, elem)
        })?;
        if !one.in_memory() {
            let regs = self.read_leaves(to, 0, elem)?;
            self.set(result, regs);
        }
        Ok(())
    }

    /// Adds what lies at one address to what lies at another, part by part.
    fn add_in_memory(&mut self, to: Reg, from: Reg, ty: Ty) -> Result<()> {
        let shape = self.c.shapes.shape(ty);
        if !shape.in_memory() {
            let leaves = self.c.shapes.leaves(ty);
            for (leaf, at) in leaves.iter() {
                let a = self.load_leaf(*leaf, to, *at as i32)?;
                let b = self.load_leaf(*leaf, from, *at as i32)?;
                let sum = self.add_leaf(*leaf, a, b)?;
                self.store_leaf(*leaf, sum, to, *at as i32)?;
            }
            return Ok(());
        }
        if let Type::Array(elem, n) = self.c.module.types.get(ty) {
            let size = self.c.shapes.shape(elem).size as i64;
            return self.repeat(n.into(), |body, i| {
                let at = body.mul_const(i, size);
                let (to, from) = (body.b.ins().iadd(to, at), body.b.ins().iadd(from, at));
                body.add_in_memory(to, from, elem)
            });
        }
        for part in (0..).map_while(|i| self.c.shapes.part(ty, i)).collect::<Vec<_>>() {
            let to = self.add_const(to, part.offset as i64);
            let from = self.add_const(from, part.offset as i64);
            self.add_in_memory(to, from, part.ty)?;
        }
        Ok(())
    }

    /// An index in 64 bits, which is less than `len`.
    pub fn checked_index(&mut self, index: Value, len: Reg) -> Reg {
        let (reg, scalar) = (self.reg(index), self.scalar_of(index));
        let index = self.extended(reg, scalar);
        let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.stop_if(is_outside, Trap::OutOfBounds, Some((index, len)));
        index
    }

    /// Follows a path in memory of our own. Gives the address of the part.
    pub fn follow_path(
        &mut self,
        mut address: Reg,
        mut ty: Ty,
        steps: &[Step],
        indices: &[Value],
    ) -> (Reg, Ty) {
        let mut indices = indices.iter();
        let mut offset = 0;
        for step in steps {
            match step {
                Step::Part(number) => {
                    let part = self.c.shapes.part(ty, *number).expect("the verifier checked the path");
                    offset += part.offset;
                    ty = part.ty;
                }
                Step::Index => {
                    let arity = self.c.module.types.arity(ty).expect("the verifier checked the path");
                    let len = self.int(types::I64, arity.into());
                    let index = self.checked_index(*indices.next().expect("the verifier counted"), len);
                    ty = self.c.module.types.part(ty, None).expect("the verifier checked the path");
                    let at = self.mul_const(index, self.c.shapes.shape(ty).size as i64);
                    address = self.b.ins().iadd(address, at);
                }
            }
        }
        (self.add_const(address, offset as i64), ty)
    }

    pub fn extract(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let (whole, result) = (data.operands[0], data.results[0]);
        let ty = self.func.ty(whole);
        match self.repr(whole) {
            Repr::Leaves(regs) => {
                let regs = self.part_of(&regs, ty, &path.0, &data.operands[1..]);
                self.set(result, regs);
                Ok(())
            }
            Repr::Memory(place) => {
                let address = self.address(place);
                let (address, _) = self.follow_path(address, ty, &path.0, &data.operands[1..]);
                if self.shape_of(result).in_memory() && self.never_changes(whole) && self.has_own(result) {
                    self.values[result] = Some(Repr::Memory(Storage::At(address)));
                    return Ok(());
                }
                self.read_value(address, result)
            }
        }
    }

    /// Whether a value shares its storage with no other, so that it stays as it is.
    fn never_changes(&self, value: Value) -> bool {
        if let Some(slot) = self.places().slot(value) {
            return self.places().members(slot).len() == 1;
        }
        let of = self.func.def(value).filter(|data| matches!(data.op, Op::Extract(_)));
        of.is_none_or(|data| self.never_changes(data.operands[0]))
    }

    fn has_own(&self, value: Value) -> bool {
        self.places().slot(value).is_none()
    }

    /// The leaves of a part. A dynamic index selects.
    fn part_of(&mut self, regs: &[Reg], ty: Ty, steps: &[Step], indices: &[Value]) -> Regs {
        let Some((step, rest)) = steps.split_first() else { return Regs::from_slice(regs) };
        match step {
            Step::Part(number) => {
                let part = self.c.shapes.part(ty, *number).expect("the verifier checked the path");
                let inner = self.slice(regs, part.leaf, part.ty);
                self.part_of(&inner, part.ty, rest, indices)
            }
            Step::Index => {
                let (n, inner, index) = self.dynamic(ty, indices[0]);
                let mut chosen: Option<Regs> = None;
                for number in 0..n {
                    let at = u64::from(number) * self.c.shapes.shape(inner).leaves;
                    let part = self.slice(regs, at, inner);
                    chosen = Some(match chosen {
                        None => part,
                        Some(chosen) => {
                            let is_here = self.is_const(index, number.into());
                            let pick = |(part, chosen)| self.b.ins().select(is_here, part, chosen);
                            part.into_iter().zip(chosen).map(pick).collect()
                        }
                    });
                }
                let chosen = match chosen {
                    Some(chosen) => chosen,
                    None => self.zeros(inner),
                };
                self.part_of(&chosen, inner, rest, &indices[1..])
            }
        }
    }

    /// A checked index into an aggregate of leaves: how many parts there are, and their type.
    fn dynamic(&mut self, ty: Ty, index: Value) -> (u32, Ty, Reg) {
        let n = self.c.module.types.arity(ty).expect("the verifier checked the path");
        let len = self.int(types::I64, n.into());
        let index = self.checked_index(index, len);
        (n, self.c.module.types.part(ty, None).expect("the verifier checked the path"), index)
    }

    fn slice(&self, regs: &[Reg], first: u64, ty: Ty) -> Regs {
        let count = self.c.shapes.shape(ty).leaves as usize;
        Regs::from_slice(&regs[first as usize..first as usize + count])
    }

    /// `insert` and `insert_add`.
    pub fn insert(&mut self, data: &InstData, path: &Path, adds: bool) -> Result<()> {
        let (whole, part, result) = (data.operands[0], data.operands[1], data.results[0]);
        let (ty, indices) = (self.func.ty(whole), &data.operands[2..]);
        match self.repr(whole) {
            Repr::Leaves(mut regs) => {
                let new = self.regs(part);
                self.put(&mut regs, ty, &path.0, indices, &new, adds)?;
                self.set(result, regs);
            }
            Repr::Memory(from) => {
                let to = self.storage(result);
                // A part of itself would be overwritten by the copy.
                self.copy(to, from, ty);
                self.set_stored(result);
                let address = self.address(to);
                let (address, inner) = self.follow_path(address, ty, &path.0, indices);
                match (adds, self.repr(part)) {
                    (false, _) => self.write_value(address, 0, part),
                    (true, Repr::Leaves(new)) => {
                        let mut old = self.read_leaves(address, 0, inner)?;
                        let leaves = self.leaf_types(inner);
                        for ((old, new), leaf) in old.iter_mut().zip(new).zip(leaves) {
                            *old = self.add_leaf(leaf, *old, new)?;
                            if self.c.stores_memory {
                                *old = self.canonical(*old);
                            }
                        }
                        self.write_leaves(address, 0, inner, &old);
                    }
                    (true, Repr::Memory(part)) => {
                        let part = self.address(part);
                        self.add_in_memory(address, part, inner)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts a part into leaves, or adds it.
    fn put(
        &mut self,
        regs: &mut [Reg],
        ty: Ty,
        steps: &[Step],
        indices: &[Value],
        new: &[Reg],
        adds: bool,
    ) -> Result<()> {
        let Some((step, rest)) = steps.split_first() else {
            let leaves = self.leaf_types(ty);
            for ((old, new), leaf) in regs.iter_mut().zip(new).zip(leaves) {
                *old = if adds { self.add_leaf(leaf, *old, *new)? } else { *new };
            }
            return Ok(());
        };
        match step {
            Step::Part(number) => {
                let part = self.c.shapes.part(ty, *number).expect("the verifier checked the path");
                let count = self.c.shapes.shape(part.ty).leaves as usize;
                let inner = &mut regs[part.leaf as usize..part.leaf as usize + count];
                self.put(inner, part.ty, rest, indices, new, adds)
            }
            Step::Index => {
                // Change the part that is chosen, and put it back where it was.
                let (n, inner, index) = self.dynamic(ty, indices[0]);
                let mut chosen = self.part_of(regs, ty, &steps[..1], indices);
                self.put(&mut chosen, inner, rest, &indices[1..], new, adds)?;
                let count = self.c.shapes.shape(inner).leaves as usize;
                for number in 0..n {
                    let is_here = self.is_const(index, number.into());
                    let first = number as usize * count;
                    for (old, new) in regs[first..first + count].iter_mut().zip(&chosen) {
                        *old = self.b.ins().select(is_here, *new, *old);
                    }
                }
                Ok(())
            }
        }
    }

    // Sums.

    pub fn inject(&mut self, data: &InstData, member: u32) -> Result<()> {
        let (part, result) = (data.operands[0], data.results[0]);
        let ty = self.func.ty(result);
        let at = self.c.shapes.member(ty, member).expect("the verifier checked the member");
        let tag = self.int(types::I32, member.into());
        if self.shape_of(result).in_memory() {
            let to = self.set_stored(result);
            self.clear(to, ty);
            let address = self.address(to);
            self.b.ins().store(cranelift_codegen::ir::MemFlagsData::trusted(), tag, address, 0);
            self.write_value(address, at.offset, part);
            return Ok(());
        }
        let mut regs = self.zeros(ty);
        regs[0] = tag;
        for (number, reg) in self.regs(part).into_iter().enumerate() {
            regs[at.leaf as usize + number] = reg;
        }
        self.set(result, regs);
        Ok(())
    }

    /// What a sum holds if it is that member. The leaves of other members are zero.
    pub fn project(&mut self, data: &InstData, member: u32) -> Result<()> {
        let (sum, result) = (data.operands[0], data.results[0]);
        self.known_type(sum);
        let at = self.c.shapes.member(self.func.ty(sum), member).expect("the verifier checked the member");
        match self.repr(sum) {
            Repr::Leaves(regs) => {
                let regs = self.slice(&regs, at.leaf, at.ty);
                self.set(result, regs);
                Ok(())
            }
            Repr::Memory(place) => {
                let address = self.address(place);
                let address = self.add_const(address, at.offset as i64);
                self.read_value(address, result)
            }
        }
    }

    // Products.

    /// Rows and columns of a product.
    pub fn extent(&self, data: &InstData) -> (usize, usize) {
        let rows = |ty: Type| {
            if let Type::Matrix(_, rows, _) | Type::Vector(_, rows) = ty { usize::from(rows) } else { 1 }
        };
        let columns = |ty: Type| if let Type::Matrix(_, _, columns) = ty { usize::from(columns) } else { 1 };
        let (a, b) = (self.ty(data.operands[0]), self.ty(data.operands[1]));
        if data.op == Op::VecMat {
            (1, columns(b))
        } else if data.op == Op::Outer {
            (rows(a), rows(b))
        } else {
            (rows(a), columns(b))
        }
    }

    /// A product of matrices or vectors of that extent.
    pub fn product(&mut self, data: &InstData, extent: (usize, usize)) -> Result<Regs> {
        let scalar = self.scalar_of(data.operands[0]);
        let (a, b) = (self.regs(data.operands[0]), self.regs(data.operands[1]));
        Ok(product((&a, &b), extent, &mut |op, x| self.math(op, scalar, &x))?.into())
    }

    pub fn transpose(&mut self, data: &InstData) -> Regs {
        let regs = self.regs(data.operands[0]);
        let Type::Matrix(_, rows, columns) = self.ty(data.results[0]) else {
            unreachable!("a transposed matrix is a matrix")
        };
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        (0..rows * columns).map(|i| regs[(i % columns) * rows + i / columns]).collect()
    }
}

/// A product of a `rows x k` and a `k x columns` matrix, of one number or of lanes. Sums are made from the first product to the last.
pub(crate) fn product<T: Copy>(
    (a, b): (&[T], &[T]),
    (rows, columns): (usize, usize),
    math: &mut dyn FnMut(Math, [T; 2]) -> Result<T>,
) -> Result<Vec<T>> {
    let k = a.len() / rows;
    let mut elements = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let mut sum = None;
            for i in 0..k {
                let term = math(Math::Mul, [a[row * k + i], b[i * columns + column]])?;
                sum = Some(match sum {
                    None => term,
                    Some(sum) => math(Math::Add, [sum, term])?,
                });
            }
            elements.extend(sum);
        }
    }
    Ok(elements)
}
