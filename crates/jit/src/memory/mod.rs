//! Compiles globals, loads and stores.
//!
//! Host memory is in C layout. Memory of native code has the same layout, except for interface values, which are converted to
//! and from leaves, part by part.

mod interfaces;

use crate::body::{Body, Regs, Repr, Storage};
use crate::compile::Result;
use crate::state::at;
use cotangent_base::Entity;
use cotangent_ir::layout::Rules;
use cotangent_ir::{Global, GlobalKind, InstData, Op, Path, Step, Trap, Ty, Type, Value, layout, type_group};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::smallvec;

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
}
