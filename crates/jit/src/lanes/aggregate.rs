//! Operations on aggregates in lanes: as leaves, or lane by lane in memory.

use super::value::{Leaf, Leaves, Repr};
use super::{LEAF_BYTES, Lanes};
use crate::aggregate::product;
use crate::compile::Result;
use cotangent_base::Scalar;
use cotangent_ir::{InstData, Math, Path, Step, Ty, Type, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

impl Lanes<'_, '_, '_> {
    /// Zeros for all leaves of a type.
    fn zeros(&mut self, ty: Ty) -> Leaves {
        self.body.zeros(ty).into_iter().map(Leaf::One).collect()
    }

    pub(super) fn zero(&mut self, result: Value) -> Result<()> {
        let ty = self.ty(result);
        if !self.in_memory(result) {
            let zeros = self.zeros(ty);
            return self.set(result, zeros);
        }
        let storage = self.stored(result);
        if self.is_copied_over(result) {
            return Ok(());
        }
        self.clear(storage, ty)
    }

    pub(super) fn pack(&mut self, data: &InstData) -> Result<()> {
        let result = data.results[0];
        if !self.in_memory(result) {
            let leaves = data.operands.iter().flat_map(|part| self.leaves(*part)).collect();
            return self.set(result, leaves);
        }
        let to = self.stored(result);
        let address = self.body.address(to);
        for (number, part) in (0..).zip(&data.operands) {
            let at = self.body.c.shapes.part(self.ty(result), number).expect("the verifier counted");
            self.write_value(address, at.leaf, *part)?;
        }
        Ok(())
    }

    pub(super) fn splat(&mut self, data: &InstData) -> Result<()> {
        let (result, part) = (data.results[0], data.operands[0]);
        let (whole, one) = (self.body.shape_of(result), self.body.shape_of(part));
        if !whole.in_memory() {
            let leaves = self.leaves(part);
            let all = (0..whole.leaves).map(|i| leaves[(i % one.leaves.max(1)) as usize]).collect();
            return self.set(result, all);
        }
        let to = self.stored(result);
        let to = self.body.address(to);
        let Type::Array(_, n) = self.body.ty(result) else { unreachable!("only arrays lie in memory") };
        self.repeat(n.into(), |lanes, i| {
            let at = lanes.body.mul_const(i, (one.leaves * LEAF_BYTES) as i64);
            let at = lanes.body.b.ins().iadd(to, at);
            lanes.write_value(at, 0, part)
        })
    }

    /// The sum of two leaves of a type that is added part by part.
    pub(super) fn add(&mut self, scalar: Scalar, a: Leaf, b: Leaf) -> Result<Leaf> {
        if scalar == Scalar::Bool { Ok(a) } else { self.math(Math::Add, scalar, &[a, b]) }
    }

    /// The sum of all elements, from the first to the last.
    pub(super) fn sum(&mut self, data: &InstData) -> Result<()> {
        let (operand, result) = (data.operands[0], data.results[0]);
        if self.in_memory(operand) {
            return self.sum_memory(operand, result);
        }
        let elem = self.ty(result);
        let scalars = self.scalars(elem)?;
        let leaves = self.leaves(operand);
        let mut parts = leaves.chunks(scalars.len().max(1)).map(Leaves::from_slice);
        let mut sum = match parts.next() {
            Some(first) => first,
            None => self.zeros(elem),
        };
        for part in parts {
            for ((sum, part), scalar) in sum.iter_mut().zip(part).zip(&scalars) {
                *sum = self.add(*scalar, *sum, part)?;
            }
        }
        self.set(result, sum)
    }

    pub(super) fn extract(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let (whole, result) = (data.operands[0], data.results[0]);
        let ty = self.ty(whole);
        match self.repr(whole) {
            Repr::Leaves(leaves) => {
                let leaves = self.part_of(&leaves, ty, &path.0, &data.operands[1..])?;
                self.set(result, leaves)
            }
            repr @ (Repr::Memory(_) | Repr::Shared(_)) => {
                self.extract_memory(repr, ty, path, &data.operands[1..], result)
            }
        }
    }

    /// The leaves of a part. A dynamic index selects.
    fn part_of(&mut self, leaves: &[Leaf], ty: Ty, steps: &[Step], indices: &[Value]) -> Result<Leaves> {
        let Some((step, rest)) = steps.split_first() else { return Ok(Leaves::from_slice(leaves)) };
        match step {
            Step::Part(number) => {
                let part = self.body.c.shapes.part(ty, *number).expect("the verifier checked the path");
                let inner = self.slice(leaves, part.leaf, part.ty);
                self.part_of(&inner, part.ty, rest, indices)
            }
            Step::Index => {
                let (n, inner, index) = self.dynamic(ty, indices[0])?;
                let scalars = self.scalars(inner)?;
                let mut chosen: Option<Leaves> = None;
                for number in 0..n {
                    let at = u64::from(number) * scalars.len() as u64;
                    let part = self.slice(leaves, at, inner);
                    chosen = Some(match chosen {
                        None => part,
                        Some(chosen) => {
                            let is_here = self.is_number(index, number);
                            let pairs = part.into_iter().zip(chosen).zip(&scalars);
                            pairs.map(|((a, b), scalar)| self.choose(is_here, *scalar, a, b)).collect()
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
    fn dynamic(&mut self, ty: Ty, index: Value) -> Result<(u32, Ty, Leaf)> {
        let n = self.body.c.module.types.arity(ty).expect("the verifier checked the path");
        let len = self.body.int(types::I64, n.into());
        let index = self.checked(index, len)?;
        Ok((n, self.body.c.module.types.part(ty, None).expect("the verifier checked the path"), index))
    }

    /// Whether a checked index is a number.
    fn is_number(&mut self, index: Leaf, number: u32) -> Leaf {
        match index {
            // It has 64 bits.
            Leaf::One(index) => Leaf::One(self.body.is_const(index, number.into())),
            Leaf::Next(..) | Leaf::Each(_) => {
                let index = self.vector(index, Scalar::U32);
                let number = self.ints(number as i32);
                Leaf::Each(index.map(|part| self.body.b.ins().icmp(IntCC::Equal, part, number)))
            }
        }
    }

    fn slice(&self, leaves: &[Leaf], first: u64, ty: Ty) -> Leaves {
        let count = self.body.c.shapes.shape(ty).leaves as usize;
        Leaves::from_slice(&leaves[first as usize..first as usize + count])
    }

    /// `insert` and `insert_add`.
    pub(super) fn insert(&mut self, data: &InstData, path: &Path, adds: bool) -> Result<()> {
        let (whole, part, result) = (data.operands[0], data.operands[1], data.results[0]);
        let (ty, indices) = (self.ty(whole), &data.operands[2..]);
        match self.repr(whole) {
            Repr::Leaves(mut leaves) => {
                let new = self.leaves(part);
                self.put(&mut leaves, ty, &path.0, indices, &new, adds)?;
                self.set(result, leaves)
            }
            repr @ (Repr::Memory(_) | Repr::Shared(_)) => {
                self.insert_memory(repr, part, result, path, indices, adds)
            }
        }
    }

    /// Puts a part into leaves, or adds it.
    fn put(
        &mut self,
        leaves: &mut [Leaf],
        ty: Ty,
        steps: &[Step],
        indices: &[Value],
        new: &[Leaf],
        adds: bool,
    ) -> Result<()> {
        let Some((step, rest)) = steps.split_first() else {
            let scalars = self.scalars(ty)?;
            for ((old, new), scalar) in leaves.iter_mut().zip(new).zip(scalars) {
                *old = if adds { self.add(scalar, *old, *new)? } else { *new };
            }
            return Ok(());
        };
        match step {
            Step::Part(number) => {
                let part = self.body.c.shapes.part(ty, *number).expect("the verifier checked the path");
                let count = self.body.c.shapes.shape(part.ty).leaves as usize;
                let inner = &mut leaves[part.leaf as usize..part.leaf as usize + count];
                self.put(inner, part.ty, rest, indices, new, adds)
            }
            Step::Index => {
                // Change the part that is chosen, and put it back where it was.
                let (n, inner, index) = self.dynamic(ty, indices[0])?;
                let mut chosen = self.part_of(leaves, ty, &steps[..1], indices)?;
                self.put(&mut chosen, inner, rest, &indices[1..], new, adds)?;
                let scalars = self.scalars(inner)?;
                for number in 0..n {
                    let is_here = self.is_number(index, number);
                    let first = number as usize * scalars.len();
                    let old = &mut leaves[first..first + scalars.len()];
                    for ((old, new), scalar) in old.iter_mut().zip(&chosen).zip(&scalars) {
                        *old = self.choose(is_here, *scalar, *new, *old);
                    }
                }
                Ok(())
            }
        }
    }

    // Sums.

    /// Refuses values of interface type that come from outside, and those in memory.
    pub(super) fn without_unknown(&self, sum: Value) -> Result<()> {
        if let Type::Sum(id) = self.body.ty(sum)
            && self.body.c.module.types.struct_def(id).ids.is_empty()
            && !self.in_memory(sum)
        {
            Ok(())
        } else {
            self.refuse("values of interface type from outside, or in memory")
        }
    }

    pub(super) fn inject(&mut self, data: &InstData, member: u32) -> Result<Leaves> {
        let (part, result) = (data.operands[0], data.results[0]);
        let ty = self.ty(result);
        if self.in_memory(result) || self.in_memory(part) {
            return self.refuse("values of interface type in memory");
        }
        let at = self.body.c.shapes.member(ty, member).expect("the verifier checked the member");
        let mut leaves = self.zeros(ty);
        leaves[0] = Leaf::One(self.body.int(types::I32, member.into()));
        for (number, leaf) in self.leaves(part).into_iter().enumerate() {
            leaves[at.leaf as usize + number] = leaf;
        }
        Ok(leaves)
    }

    /// What a sum holds if it is that member. The leaves of other members are zero.
    pub(super) fn project(&mut self, data: &InstData, member: u32) -> Result<Leaves> {
        let (sum, result) = (data.operands[0], data.results[0]);
        self.without_unknown(sum)?;
        if self.in_memory(result) {
            return self.refuse("values of interface type in memory");
        }
        let at = self.body.c.shapes.member(self.ty(sum), member).expect("the verifier checked the member");
        let leaves = self.leaves(sum);
        Ok(self.slice(&leaves, at.leaf, at.ty))
    }

    // Products.

    /// A product of matrices or vectors of that extent.
    pub(super) fn product(&mut self, data: &InstData, extent: (usize, usize)) -> Result<Leaves> {
        let scalar = self.body.scalar_of(data.operands[0]);
        let (a, b) = (self.leaves(data.operands[0]), self.leaves(data.operands[1]));
        Ok(product((&a, &b), extent, &mut |op, x| self.math(op, scalar, &x))?.into())
    }

    pub(super) fn transpose(&mut self, data: &InstData) -> Leaves {
        let leaves = self.leaves(data.operands[0]);
        let Type::Matrix(_, rows, columns) = self.body.ty(data.results[0]) else {
            unreachable!("a transposed matrix is a matrix")
        };
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        (0..rows * columns).map(|i| leaves[(i % columns) * rows + i / columns]).collect()
    }
}
