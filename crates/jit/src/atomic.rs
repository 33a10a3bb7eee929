//! Compiles atomic operations.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::memory::Found;
use crate::shape::native;
use crate::state::at;
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::{Atomic, AtomicKind, InstData, Trap, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::smallvec;

impl Body<'_, '_, '_> {
    pub fn atomic(&mut self, data: &InstData, atomic: &Atomic) -> Result<Regs> {
        let count = atomic.kind.values();
        let (values, indices) = data.operands[1..].split_at(count);
        let scalar = self.scalar_of(data.results[0]);
        let Found { address, ty, .. } = self.find(data.operands[0], &atomic.path, indices)?;
        if scalar.bytes() == 8 && self.c.module.types.get(ty) == Type::Scalar(Scalar::U32) {
            self.check_next_word(data, address)?;
        }
        let given: Vec<bool> = values.iter().map(|value| self.is_given(*value)).collect();
        let regs: Vec<Reg> = values.iter().map(|value| self.reg(*value)).collect();
        Ok(smallvec![self.atomic_at(atomic.kind, scalar, address, &regs, &given)?])
    }

    /// The same, at an address. `given` says of values whether no operation made them.
    pub fn atomic_at(
        &mut self,
        kind: AtomicKind,
        scalar: Scalar,
        address: Reg,
        values: &[Reg],
        given: &[bool],
    ) -> Result<Reg> {
        let mut bits = Regs::new();
        for (value, given) in values.iter().zip(given) {
            bits.push(self.bits_of(*value, scalar, *given)?);
        }
        // Lanes of eight and sixteen bits are compared and exchanged, too.
        let flags = MemFlagsData::new().with_notrap();
        let old = match (self.direct(kind, scalar), &bits[..]) {
            (Some(op), [bits]) => self.b.ins().atomic_rmw(bits_type(scalar), flags, op, address, *bits),
            (_, [expected, new]) => self.b.ins().atomic_cas(flags, address, *expected, *new),
            (_, _) => self.update(kind, scalar, address, values[0])?,
        };
        self.scalar_of_bits(old, scalar)
    }

    /// The instruction for an operation, if there is one.
    fn direct(&self, kind: AtomicKind, scalar: Scalar) -> Option<AtomicRmwOp> {
        let float = scalar.is_float();
        Some(match kind {
            AtomicKind::Exchange => AtomicRmwOp::Xchg,
            AtomicKind::And => AtomicRmwOp::And,
            AtomicKind::Or => AtomicRmwOp::Or,
            AtomicKind::Xor => AtomicRmwOp::Xor,
            AtomicKind::Add if !float => AtomicRmwOp::Add,
            AtomicKind::Min if scalar.is_signed() && !float => AtomicRmwOp::Smin,
            AtomicKind::Max if scalar.is_signed() && !float => AtomicRmwOp::Smax,
            AtomicKind::Min if !float => AtomicRmwOp::Umin,
            AtomicKind::Max if !float => AtomicRmwOp::Umax,
            AtomicKind::Add | AtomicKind::Min | AtomicKind::Max | AtomicKind::CompareExchange => return None,
        })
    }

    /// Tries until nobody else has written in between.
    fn update(&mut self, kind: AtomicKind, scalar: Scalar, address: Reg, value: Reg) -> Result<Reg> {
        let ty = bits_type(scalar);
        let flags = MemFlagsData::new().with_notrap();
        let (head, end) = (self.block_with(&[ty]), self.b.create_block());
        let first = self.b.ins().load(ty, flags, address, 0);
        self.jump(head, &[first]);
        self.b.switch_to_block(head);
        let old = self.b.block_params(head)[0];
        let number = self.scalar_of_bits(old, scalar)?;
        let Some(math) = kind.math() else { return self.refuse("this atomic operation") };
        let new = self.math(math, scalar, &[number, value])?;
        let new = self.bits_of(new, scalar, false)?;
        let seen = self.b.ins().atomic_cas(flags, address, old, new);
        let is_done = self.b.ins().icmp(IntCC::Equal, seen, old);
        self.b.ins().brif(is_done, end, &[], head, &[seen.into()]);
        self.b.switch_to_block(end);
        Ok(old)
    }

    /// Where 64 bits are read from words of a buffer, the second word must be there, too.
    fn check_next_word(&mut self, data: &InstData, address: Reg) -> Result<()> {
        let handle = data.operands[0];
        let number = self.regs(handle)[0];
        let base = self.table(number, types::I64, 0);
        let len = self.table(number, types::I64, at::ENTRY_LEN);
        let offset = self.b.ins().isub(address, base);
        let two = self.int(types::I32, 2);
        let index = self.b.ins().ushr(offset, two);
        let index = self.add_const(index, 1);
        let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.stop_if(is_outside, Trap::OutOfBounds, Some((index, len)));
        Ok(())
    }
}

/// The integer that has the bits of a scalar.
fn bits_type(scalar: Scalar) -> cranelift_codegen::ir::Type {
    match scalar {
        Scalar::F16 => types::I16,
        Scalar::F32 => types::I32,
        Scalar::F64 => types::I64,
        Scalar::Bool | scalar_group!(int) => native(scalar),
    }
}
