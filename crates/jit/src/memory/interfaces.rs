//! Values of interface type in memory of the host, which are converted to and from leaves, part by part.

use crate::body::{Body, Regs, Storage};
use crate::compile::Result;
use crate::shape::Leaf;
use cotangent_base::Scalar;
use cotangent_ir::layout::Rules;
use cotangent_ir::{StructId, Ty, Type, layout};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::{SmallVec, smallvec};

/// Arrays of the host with values of interface type in them are copied element by element up to this length.
const MOST_ELEMENTS: u32 = 64;

impl Body<'_, '_, '_> {
    /// The leaves of what lies in memory of the host.
    pub(super) fn decode(&mut self, address: Reg, offset: u32, ty: Ty, rules: Rules) -> Result<Regs> {
        match self.c.module.types.get(ty) {
            Type::Unit => Ok(Regs::new()),
            Type::Scalar(Scalar::Bool) if rules.scalar_bytes(Scalar::Bool) == 4 => {
                let flags = MemFlagsData::new().with_notrap();
                let word = self.b.ins().load(types::I32, flags, address, offset as i32);
                let zero = self.int(types::I32, 0);
                Ok(smallvec![self.b.ins().icmp(IntCC::NotEqual, word, zero)])
            }
            Type::Scalar(scalar) => {
                Ok(smallvec![self.load_leaf(Leaf::Scalar(scalar), address, offset as i32)?])
            }
            Type::Sum(id) => self.decode_sum(address, offset, ty, id),
            Type::Ref(inner) => {
                let flags = MemFlagsData::new().with_notrap();
                let word = self.b.ins().load(types::I64, flags, address, offset as i32);
                Ok(self.pointer_at(word, inner))
            }
            Type::Buffer(..) | Type::Opaque(_) => self.refuse("handles in memory"),
            Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
                let mut all = Regs::new();
                for (at, inner) in self.host_parts(ty, rules) {
                    all.extend(self.decode(address, offset + at, inner, rules)?);
                }
                Ok(all)
            }
        }
    }

    fn host_parts(&self, ty: Ty, rules: Rules) -> Vec<(u32, Ty)> {
        (0..).map_while(|index| rules.part(&self.c.module.types, ty, index)).collect()
    }

    /// What is of no known type keeps its number; what a sum does not hold is zero.
    fn decode_sum(&mut self, address: Reg, offset: u32, ty: Ty, id: StructId) -> Result<Regs> {
        let def = self.c.module.types.struct_def(id).clone();
        let mut regs = self.zeros(ty);
        let at = if def.ids.is_empty() { 0 } else { layout::ID };
        let flags = MemFlagsData::new().with_notrap();
        let found = self.b.ins().load(types::I32, flags, address, (offset + at) as i32);
        (regs[0], regs[1]) = (self.int(types::I32, -1), found);
        for (number, known) in def.ids.iter().enumerate() {
            let is_here = self.is_const(found, (*known).into());
            let tag = self.int(types::I32, number as i64);
            regs[0] = self.b.ins().select(is_here, tag, regs[0]);
            let none = self.int(types::I32, 0);
            regs[1] = self.b.ins().select(is_here, none, regs[1]);
            let part = self.c.shapes.member(ty, number as u32).expect("it is a member");
            // The bytes of a member are there for all: a sum is as large as its largest.
            let held = self.decode(address, offset + layout::HEADER, part.ty, Rules::HELD)?;
            for (i, reg) in held.into_iter().enumerate() {
                let zero = regs[part.leaf as usize + i];
                regs[part.leaf as usize + i] = self.b.ins().select(is_here, reg, zero);
            }
        }
        Ok(regs)
    }

    /// The same, from memory to memory.
    pub(super) fn decode_to(&mut self, to: Reg, from: Reg, ty: Ty, rules: Rules) -> Result<()> {
        let shape = self.c.shapes.shape(ty);
        if !shape.in_memory() {
            let regs = self.decode(from, 0, ty, rules)?;
            self.write_leaves(to, 0, ty, &regs);
            return Ok(());
        }
        if shape.plain && rules == Rules::C {
            self.copy_bytes(to, from, ty);
            return Ok(());
        }
        if let Type::Sum(id) = self.c.module.types.get(ty) {
            return self.decode_sum_to(to, from, ty, id);
        }
        self.each_part(ty, rules, |body, own, host, inner| {
            let (to, from) = (body.add_const(to, own), body.add_const(from, host));
            body.decode_to(to, from, inner, rules)
        })
    }

    /// A sum, from memory of the host to ours: only the member that it is.
    fn decode_sum_to(&mut self, to: Reg, from: Reg, ty: Ty, id: StructId) -> Result<()> {
        let ids = self.c.module.types.struct_def(id).ids.clone();
        let flags = MemFlagsData::new().with_notrap();
        self.clear(Storage::At(to), ty);
        let at = if ids.is_empty() { 0 } else { layout::ID };
        let found = self.b.ins().load(types::I32, flags, from, at as i32);
        let end = self.b.create_block();
        for (number, known) in (0..).zip(&ids) {
            let (here, next) = (self.b.create_block(), self.b.create_block());
            let is_here = self.is_const(found, (*known).into());
            self.b.ins().brif(is_here, here, &[], next, &[]);
            self.b.switch_to_block(here);
            let tag = self.int(types::I32, number.into());
            self.b.ins().store(flags, tag, to, 0);
            let part = self.c.shapes.member(ty, number).expect("it is a member");
            let own = self.add_const(to, part.offset as i64);
            let held = self.add_const(from, layout::HEADER.into());
            self.decode_to(own, held, part.ty, Rules::HELD)?;
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(next);
        }
        let none = self.int(types::I32, -1);
        self.b.ins().store(flags, none, to, 0);
        self.b.ins().store(flags, found, to, 4);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    /// Calls for each part: where it is in our memory, where in the host's, and its type.
    fn each_part(
        &mut self,
        ty: Ty,
        rules: Rules,
        mut each: impl FnMut(&mut Self, i64, i64, Ty) -> Result<()>,
    ) -> Result<()> {
        if let Type::Array(_, n) = self.c.module.types.get(ty)
            && n > MOST_ELEMENTS
        {
            self.refuse("long arrays of values of interface type in memory")
        } else {
            for (number, (at, inner)) in (0..).zip(self.host_parts(ty, rules)) {
                let own = self.c.shapes.part(ty, number).expect("it has that part");
                each(self, own.offset as i64, at.into(), inner)?;
            }
            Ok(())
        }
    }

    /// Gives a variable with pointers its first value.
    pub fn store_first(&mut self, address: Reg, ty: Ty, in_memory: bool, first: &[Reg]) -> Result<()> {
        if in_memory {
            return self.refuse("initial values of large variables with pointers");
        }
        self.encode(address, 0, ty, Rules::C, first)
    }

    /// Writes leaves to memory of the host.
    pub(super) fn encode(
        &mut self,
        address: Reg,
        offset: u32,
        ty: Ty,
        rules: Rules,
        regs: &[Reg],
    ) -> Result<()> {
        match self.c.module.types.get(ty) {
            Type::Unit => {}
            Type::Scalar(scalar) => {
                let reg = self.canonical(regs[0]);
                if scalar == Scalar::Bool && rules.scalar_bytes(scalar) == 4 {
                    let word = self.b.ins().uextend(types::I32, reg);
                    let flags = MemFlagsData::new().with_notrap();
                    self.b.ins().store(flags, word, address, offset as i32);
                } else {
                    self.store_leaf(Leaf::Scalar(scalar), reg, address, offset as i32)?;
                }
            }
            Type::Sum(id) => self.encode_sum(address, offset, ty, id, regs)?,
            Type::Ref(inner) => {
                let word = self.address_of(regs, inner);
                let flags = MemFlagsData::new().with_notrap();
                self.b.ins().store(flags, word, address, offset as i32);
            }
            Type::Buffer(..) | Type::Opaque(_) => return self.refuse("handles in memory"),
            Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
                for (number, (at, inner)) in (0..).zip(self.host_parts(ty, rules)) {
                    let part = self.c.shapes.part(ty, number).expect("it has that part");
                    let count = self.c.shapes.shape(inner).leaves as usize;
                    let regs = &regs[part.leaf as usize..part.leaf as usize + count];
                    self.encode(address, offset + at, inner, rules, regs)?;
                }
            }
        }
        Ok(())
    }

    /// A value that is not known writes its number only; any other takes all bytes there are.
    fn encode_sum(&mut self, address: Reg, offset: u32, ty: Ty, id: StructId, regs: &[Reg]) -> Result<()> {
        let def = self.c.module.types.struct_def(id).clone();
        if def.ids.is_empty() {
            return Ok(());
        }
        let Some(whole) = layout::layout(&self.c.module.types, ty) else {
            return self.refuse("a value of interface type without a layout");
        };
        let flags = MemFlagsData::new().with_notrap();
        let end = self.b.create_block();
        for (number, known) in def.ids.iter().enumerate() {
            let (here, next) = (self.b.create_block(), self.b.create_block());
            let is_here = self.is_const(regs[0], number as i64);
            self.b.ins().brif(is_here, here, &[], next, &[]);
            self.b.switch_to_block(here);
            let to = self.add_const(address, offset.into());
            self.clear_bytes(to, whole.size.into());
            let known = self.int(types::I32, (*known).into());
            self.b.ins().store(flags, known, address, (offset + layout::ID) as i32);
            let part = self.c.shapes.member(ty, number as u32).expect("it is a member");
            let count = self.c.shapes.shape(part.ty).leaves as usize;
            let held: SmallVec<[Reg; 4]> =
                SmallVec::from_slice(&regs[part.leaf as usize..part.leaf as usize + count]);
            self.encode(address, offset + layout::HEADER, part.ty, Rules::HELD, &held)?;
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(next);
        }
        self.b.ins().store(flags, regs[1], address, (offset + layout::ID) as i32);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    /// The same, from memory to memory.
    pub(super) fn encode_from(&mut self, to: Reg, from: Reg, ty: Ty, rules: Rules) -> Result<()> {
        let shape = self.c.shapes.shape(ty);
        if !shape.in_memory() {
            let regs = self.read_leaves(from, 0, ty)?;
            return self.encode(to, 0, ty, rules, &regs);
        }
        if shape.plain && rules == Rules::C {
            self.copy_bytes(to, from, ty);
            return Ok(());
        }
        if let Type::Sum(id) = self.c.module.types.get(ty) {
            return self.encode_sum_from(to, from, ty, id);
        }
        self.each_part(ty, rules, |body, own, host, inner| {
            let (to, from) = (body.add_const(to, host), body.add_const(from, own));
            body.encode_from(to, from, inner, rules)
        })
    }

    /// A sum, from our memory to the host's: all bytes there are, unless it is of no known type.
    fn encode_sum_from(&mut self, to: Reg, from: Reg, ty: Ty, id: StructId) -> Result<()> {
        let ids = self.c.module.types.struct_def(id).ids.clone();
        if ids.is_empty() {
            return Ok(());
        }
        let Some(whole) = layout::layout(&self.c.module.types, ty) else {
            return self.refuse("a value of interface type without a layout");
        };
        let flags = MemFlagsData::new().with_notrap();
        let tag = self.b.ins().load(types::I32, flags, from, 0);
        let end = self.b.create_block();
        for (number, known) in (0..).zip(&ids) {
            let (here, next) = (self.b.create_block(), self.b.create_block());
            let is_here = self.is_const(tag, number.into());
            self.b.ins().brif(is_here, here, &[], next, &[]);
            self.b.switch_to_block(here);
            self.clear_bytes(to, whole.size.into());
            let known = self.int(types::I32, (*known).into());
            self.b.ins().store(flags, known, to, layout::ID as i32);
            let part = self.c.shapes.member(ty, number).expect("it is a member");
            let own = self.add_const(from, part.offset as i64);
            let held = self.add_const(to, layout::HEADER.into());
            self.encode_from(held, own, part.ty, Rules::HELD)?;
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(next);
        }
        let given = self.b.ins().load(types::I32, flags, from, 4);
        self.b.ins().store(flags, given, to, layout::ID as i32);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }
}
