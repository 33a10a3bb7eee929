//! Compiles globals, loads and stores.
//!
//! Host memory is in C layout. Memory of native code has the same layout, except for interface values, which are converted to
//! and from leaves, part by part.

use crate::body::{Body, Regs, Repr, Storage};
use crate::compile::Result;
use crate::shape::Leaf;
use crate::state::at;
use cotangent_base::{Entity, Scalar};
use cotangent_ir::layout::{self, Rules};
use cotangent_ir::{
    Global, GlobalKind, InstData, Op, Path, Step, StructId, Trap, Ty, Type, Value, type_group,
};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::{SmallVec, smallvec};

/// Arrays of the host with values of interface type in them are copied element by element up to this length.
const MOST_ELEMENTS: u32 = 64;

/// A part of memory that an access leads to.
pub(crate) struct Found {
    pub address: Reg,
    pub ty: Ty,
    pub space: Space,
}

/// Whose layout memory has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    /// Ours.
    Own,
    /// The host's.
    Host(Rules),
    /// Of either; they are the same for what lies there.
    Either,
}

impl Body<'_, '_, '_> {
    /// The handle of a buffer or variable, or the value of a uniform.
    pub fn global(&mut self, global: Global, result: Value) -> Result<()> {
        let module = self.c.module;
        let data = &module.globals[global];
        let number = global.index() as i64 + 1;
        let regs: Regs = match module.types.get(data.ty) {
            Type::Buffer(..) | Type::Opaque(_) => smallvec![self.int(types::I32, number)],
            Type::Ref(_) => {
                let (zero, one) = (self.int(types::I64, 0), self.int(types::I64, 1));
                smallvec![self.int(types::I32, number), zero, zero, one]
            }
            type_group!(unit | number | composite) => {
                if layout::layout(&module.types, data.ty).is_none() {
                    return self.refuse(format!("`{}`, which has no layout", data.name));
                }
                let address = self.global_address(global);
                return self.load_from(Found { address, ty: data.ty, space: Space::Host(Rules::C) }, result);
            }
        };
        self.set(result, regs);
        Ok(())
    }

    /// The address of a global's memory.
    pub fn global_address(&mut self, global: Global) -> Reg {
        let number = self.int(types::I32, global.index() as i64 + 1);
        self.table(number, types::I64, 0)
    }

    /// A field of an entry in the table of globals. The table does not change while a thread runs.
    pub fn table(&mut self, handle: Reg, ty: cranelift_codegen::ir::Type, field: i32) -> Reg {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let table = self.b.ins().load(types::I64, flags, self.state, at::GLOBALS);
        let handle = self.b.ins().uextend(types::I64, handle);
        let at = self.mul_const(handle, at::ENTRY);
        let entry = self.b.ins().iadd(table, at);
        self.b.ins().load(ty, flags, entry, field)
    }

    /// The global that a handle is of, if the function says so itself.
    fn known_global(&self, handle: Value) -> Option<Global> {
        if let Some(Op::Global(global)) = self.func.op(handle) { Some(*global) } else { None }
    }

    /// Stops if a handle is of no global.
    pub fn check_handle(&mut self, handle: Value) {
        if self.known_global(handle).is_none() {
            let reg = self.regs(handle)[0];
            let is_null = self.is_const(reg, 0);
            self.stop_if(is_null, Trap::NullPointer, None);
        }
    }

    pub fn length(&mut self, buffer: Value) -> Reg {
        self.check_handle(buffer);
        let handle = self.reg(buffer);
        let len = self.table(handle, types::I64, at::ENTRY_LEN);
        self.b.ins().ireduce(types::I32, len)
    }

    /// In whose layout a value lies that a handle or pointer leads to.
    fn space_of(&self, handle: Value) -> Result<Space> {
        let inner = match self.ty(handle) {
            Type::Buffer(..) => return Ok(Space::Host(Rules::C)),
            Type::Ref(inner) => inner,
            Type::Opaque(_) | type_group!(unit | number | composite) => {
                unreachable!("the verifier checked the type")
            }
        };
        let shape = self.c.shapes.shape(inner);
        if shape.plain {
            return Ok(Space::Either);
        }
        if !shape.opaque {
            return Ok(Space::Host(Rules::C));
        }
        // Follow pointers to where they come from.
        let mut value = handle;
        while let Some(data) = self.func.def(value) {
            if let Op::Global(global) = data.op {
                return Ok(match self.c.module.globals[global].kind {
                    GlobalKind::Param => Space::Host(Rules::C),
                    GlobalKind::Shared | GlobalKind::Static(_) => Space::Own,
                });
            }
            if !matches!(data.op, Op::Point(_) | Op::Offset) {
                break;
            }
            value = data.operands[0];
        }
        self.refuse("pointers of unknown origin to values with interfaces or handles")
    }

    /// Finds the part of memory that a handle or pointer and a path lead to.
    pub fn find(&mut self, handle: Value, path: &Path, indices: &[Value]) -> Result<Found> {
        let space = self.space_of(handle)?;
        self.check_handle(handle);
        match self.ty(handle) {
            Type::Buffer(elem, _) => {
                let number = self.reg(handle);
                let base = self.table(number, types::I64, 0);
                let len = self.table(number, types::I64, at::ENTRY_LEN);
                let Some(stride) = layout::layout(&self.c.module.types, elem) else {
                    return self.refuse("a buffer whose elements have no layout");
                };
                let (first, rest) = path.0.split_first().expect("the verifier checked the path");
                let (index, rest_indices) = match first {
                    Step::Part(number) => {
                        let index = self.int(types::I64, (*number).into());
                        let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
                        self.stop_if(is_outside, Trap::OutOfBounds, Some((index, len)));
                        (index, indices)
                    }
                    Step::Index => (self.checked_index(indices[0], len), &indices[1..]),
                };
                let at = self.mul_const(index, stride.size.into());
                let address = self.b.ins().iadd(base, at);
                self.walk(address, elem, space, rest, rest_indices)
            }
            Type::Ref(inner) => {
                let pointer = self.regs(handle);
                let is_outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, pointer[2], pointer[3]);
                self.stop_if(is_outside, Trap::OutOfBounds, Some((pointer[2], pointer[3])));
                let base = self.table(pointer[0], types::I64, 0);
                let address = self.b.ins().iadd(base, pointer[1]);
                let at = self.mul_const(pointer[2], self.stride(inner, space));
                let address = self.b.ins().iadd(address, at);
                self.walk(address, inner, space, &path.0, indices)
            }
            Type::Opaque(_) | type_group!(unit | number | composite) => {
                unreachable!("the verifier checked the type")
            }
        }
    }

    /// How far elements of a type are apart.
    pub fn stride(&self, ty: Ty, space: Space) -> i64 {
        match space {
            Space::Own | Space::Either => self.c.shapes.shape(ty).size as i64,
            Space::Host(_) => layout::layout(&self.c.module.types, ty).map_or(0, |l| l.size.into()),
        }
    }

    fn walk(
        &mut self,
        mut address: Reg,
        mut ty: Ty,
        space: Space,
        steps: &[Step],
        indices: &[Value],
    ) -> Result<Found> {
        if space != Space::Own && self.c.shapes.shape(ty).plain || space == Space::Own {
            let (address, ty) = self.follow_path(address, ty, steps, indices);
            return Ok(Found { address, ty, space });
        }
        let mut indices = indices.iter();
        for step in steps {
            match step {
                Step::Part(number) => {
                    let part = Rules::C.part(&self.c.module.types, ty, *number);
                    let Some((offset, inner)) = part else { return self.refuse("a part without a layout") };
                    address = self.add_const(address, offset.into());
                    ty = inner;
                }
                Step::Index => {
                    let arity = self.c.module.types.arity(ty).expect("the verifier checked the path");
                    let len = self.int(types::I64, arity.into());
                    let index = self.checked_index(*indices.next().expect("the verifier counted"), len);
                    ty = self.c.module.types.part(ty, None).expect("the verifier checked the path");
                    let at = self.mul_const(index, self.stride(ty, space));
                    address = self.b.ins().iadd(address, at);
                }
            }
        }
        Ok(Found { address, ty, space })
    }

    /// Whether a buffer is empty for ever: the host cannot set one whose elements have no layout.
    fn is_never_set(&self, handle: Value) -> bool {
        let Type::Buffer(elem, _) = self.ty(handle) else { return false };
        layout::layout(&self.c.module.types, elem).is_none()
    }

    /// Stops at an access to such a buffer.
    fn stop_at_nothing(&mut self, path: &Path, indices: &[Value]) {
        let zero = self.int(types::I64, 0);
        match path.0.first() {
            Some(Step::Part(number)) => {
                let (index, always) = (self.int(types::I64, (*number).into()), self.int(types::I8, 1));
                self.stop_if(always, Trap::OutOfBounds, Some((index, zero)));
            }
            Some(Step::Index) | None => _ = self.checked_index(indices[0], zero),
        }
    }

    pub fn load(&mut self, data: &InstData, path: &Path) -> Result<()> {
        if self.is_never_set(data.operands[0]) {
            self.stop_at_nothing(path, &data.operands[1..]);
            return self.zero(data.results[0]);
        }
        let found = self.find(data.operands[0], path, &data.operands[1..])?;
        self.load_from(found, data.results[0])
    }

    fn load_from(&mut self, found: Found, result: Value) -> Result<()> {
        let Found { address, ty, space } = found;
        match space {
            Space::Host(rules) if !self.c.shapes.shape(ty).plain => {
                if !self.shape_of(result).in_memory() {
                    let regs = self.decode(address, 0, ty, rules)?;
                    self.set(result, regs);
                    return Ok(());
                }
                let to = self.set_stored(result);
                let to = self.address(to);
                self.decode_to(to, address, ty, rules)
            }
            // What the host gives as a value stays as it is.
            Space::Host(_)
                if self.shape_of(result).in_memory()
                    && matches!(self.func.op(result), Some(Op::Global(_)))
                    && self.places().slot(result).is_none() =>
            {
                self.values[result] = Some(Repr::Memory(Storage::At(address)));
                Ok(())
            }
            Space::Own | Space::Host(_) | Space::Either => self.read_value(address, result),
        }
    }

    pub fn store(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let value = data.operands[1];
        if self.is_never_set(data.operands[0]) {
            self.stop_at_nothing(path, &data.operands[2..]);
            return Ok(());
        }
        let Found { address, ty, space } = self.find(data.operands[0], path, &data.operands[2..])?;
        match (space, self.repr(value)) {
            (Space::Host(rules), repr) if !self.c.shapes.shape(ty).plain => match repr {
                Repr::Leaves(regs) => self.encode(address, 0, ty, rules, &regs),
                Repr::Memory(from) => {
                    let from = self.address(from);
                    self.encode_from(address, from, ty, rules)
                }
            },
            (_, Repr::Leaves(mut regs)) => {
                if !self.is_given(value) {
                    regs.iter_mut().for_each(|reg| *reg = self.canonical(*reg));
                }
                self.write_leaves(address, 0, ty, &regs);
                Ok(())
            }
            (_, Repr::Memory(from)) => {
                self.copy(Storage::At(address), from, ty);
                Ok(())
            }
        }
    }

    // Values of interface type in memory of the host.

    /// The leaves of what lies in memory of the host.
    fn decode(&mut self, address: Reg, offset: u32, ty: Ty, rules: Rules) -> Result<Regs> {
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
    fn decode_to(&mut self, to: Reg, from: Reg, ty: Ty, rules: Rules) -> Result<()> {
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
    fn encode(&mut self, address: Reg, offset: u32, ty: Ty, rules: Rules, regs: &[Reg]) -> Result<()> {
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
    fn encode_from(&mut self, to: Reg, from: Reg, ty: Ty, rules: Rules) -> Result<()> {
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
