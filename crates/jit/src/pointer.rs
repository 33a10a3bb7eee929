//! Compiles pointers. An index out of bounds traps when the pointer is used, not when it is computed.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::memory::Space;
use crate::state::at;
use cotangent_ir::layout::Rules;
use cotangent_ir::{ADDRESS_BITS, InstData, Path, Step, Ty, Type, Value, type_group};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};
use smallvec::smallvec;

impl Body<'_, '_, '_> {
    /// A pointer to the part at a path. One into a buffer without elements is null.
    pub fn point(&mut self, data: &InstData, path: &Path) -> Result<Regs> {
        let handle = data.operands[0];
        let mut pointer = self.regs(handle);
        let mut indices = data.operands[1..].iter();
        let mut steps = path.0.iter();
        let (zero, one) = (self.int(types::I64, 0), self.int(types::I64, 1));
        let mut ty = match self.ty(handle) {
            Type::Buffer(elem, _) => {
                let len = self.table(pointer[0], types::I64, at::ENTRY_LEN);
                let is_empty = self.is_const(len, 0);
                let null = self.int(types::I32, 0);
                let number = self.b.ins().select(is_empty, null, pointer[0]);
                let index = match steps.next() {
                    Some(step) => self.step(*step, &mut indices),
                    None => return self.refuse("a pointer to a whole buffer"),
                };
                pointer = smallvec![number, zero, index, len];
                elem
            }
            Type::Ref(inner) => inner,
            Type::Opaque(_) | type_group!(unit | number | composite) => {
                unreachable!("the verifier checked the type")
            }
        };
        if self.c.shapes.shape(ty).opaque && !steps.as_slice().is_empty() {
            return self.refuse("pointers into values with interfaces or handles");
        }
        for step in steps {
            // Where it points now becomes fixed; if that is outside, no index into it is inside.
            let at = self.mul_const(pointer[2], self.stride(ty, Space::Host(Rules::C)));
            let mut offset = self.b.ins().iadd(pointer[1], at);
            let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, pointer[2], pointer[3]);
            let arity = self.c.module.types.arity(ty).expect("the verifier checked the path");
            let (index, len) = match (self.c.module.types.get(ty), step) {
                (Type::Struct(_), Step::Part(number)) => {
                    let Some((start, part)) = Rules::C.part(&self.c.module.types, ty, *number) else {
                        return self.refuse("a part without a layout");
                    };
                    offset = self.add_const(offset, start.into());
                    ty = part;
                    (zero, one)
                }
                (Type::Array(elem, _), step) => {
                    ty = elem;
                    let len = self.int(types::I64, arity.into());
                    (self.step(*step, &mut indices), len)
                }
                // Lanes and rows cannot be moved along: the way to one is fixed.
                (_, step) => {
                    let index = self.step(*step, &mut indices);
                    ty = self.c.module.types.part(ty, None).expect("the verifier checked the path");
                    let at = self.mul_const(index, self.c.shapes.shape(ty).size as i64);
                    offset = self.b.ins().iadd(offset, at);
                    let len = self.int(types::I64, arity.into());
                    let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
                    (zero, self.b.ins().select(is_outside, zero, one))
                }
            };
            let len = self.b.ins().select(is_outside, zero, len);
            pointer = smallvec![pointer[0], offset, index, len];
        }
        Ok(pointer)
    }

    fn step<'v>(&mut self, step: Step, indices: &mut impl Iterator<Item = &'v Value>) -> Reg {
        match step {
            Step::Part(number) => self.int(types::I64, number.into()),
            Step::Index => {
                let index = *indices.next().expect("the verifier counted");
                let (reg, scalar) = (self.reg(index), self.scalar_of(index));
                self.extended(reg, scalar)
            }
        }
    }

    /// The pointer so many elements further on.
    pub fn offset(&mut self, data: &InstData) -> Regs {
        let mut pointer = self.regs(data.operands[0]);
        let (n, scalar) = (self.reg(data.operands[1]), self.scalar_of(data.operands[1]));
        let n = self.extended(n, scalar);
        pointer[2] = self.b.ins().iadd(pointer[2], n);
        pointer
    }

    /// Where the part lies, every buffer and variable being an address space of its own.
    pub fn pointer_address(&mut self, pointer: Value) -> Reg {
        let amount = self.int(types::I32, ADDRESS_BITS.into());
        let inner: Ty = if let Type::Ref(inner) = self.ty(pointer) {
            inner
        } else {
            let number = self.regs(pointer)[0];
            let number = self.b.ins().uextend(types::I64, number);
            return self.b.ins().ishl(number, amount);
        };
        let pointer = self.regs(pointer);
        self.address_of(&pointer, inner)
    }

    /// The same, of the leaves of a pointer.
    pub fn address_of(&mut self, pointer: &[Reg], inner: Ty) -> Reg {
        let amount = self.int(types::I32, ADDRESS_BITS.into());
        let at = self.mul_const(pointer[2], self.stride(inner, Space::Host(Rules::C)));
        let offset = self.b.ins().iadd(pointer[1], at);
        let base = self.b.ins().uextend(types::I64, pointer[0]);
        let base = self.b.ins().ishl(base, amount);
        let address = self.b.ins().iadd(base, offset);
        let is_null = self.is_const(pointer[0], 0);
        let zero = self.int(types::I64, 0);
        self.b.ins().select(is_null, zero, address)
    }

    /// A pointer to the place of a number or of another pointer.
    pub fn cast_pointer(&mut self, data: &InstData) -> Regs {
        let from = data.operands[0];
        let address =
            if let Type::Ref(_) = self.ty(from) { self.pointer_address(from) } else { self.reg(from) };
        if let Type::Ref(to) = self.ty(data.results[0]) {
            self.pointer_at(address, to)
        } else {
            unreachable!("the verifier checked the type")
        }
    }

    /// A pointer to what lies at an address, that moves along all of the memory there.
    pub fn pointer_at(&mut self, address: Reg, to: Ty) -> Regs {
        let size = self.stride(to, Space::Host(Rules::C)).max(1);
        let (size, zero) = (self.int(types::I64, size), self.int(types::I64, 0));
        let amount = self.int(types::I32, ADDRESS_BITS.into());
        let number = self.b.ins().ushr(address, amount);
        let count = self.int(types::I64, self.c.module.globals.len() as i64);
        let is_nowhere = self.b.ins().icmp(IntCC::UnsignedGreaterThan, number, count);
        let number = self.b.ins().select(is_nowhere, zero, number);
        let number = self.b.ins().ireduce(types::I32, number);
        let mask = self.int(types::I64, (1 << ADDRESS_BITS) - 1);
        let bytes = self.b.ins().band(address, mask);
        let all = self.table(number, types::I64, at::ENTRY_BYTES);
        let (index, rest) = (self.b.ins().udiv(bytes, size), self.b.ins().urem(bytes, size));
        let room = self.b.ins().isub(all, rest);
        let is_short = self.b.ins().icmp(IntCC::UnsignedLessThan, all, rest);
        let room = self.b.ins().select(is_short, zero, room);
        let len = self.b.ins().udiv(room, size);
        smallvec![number, rest, index, len]
    }
}
