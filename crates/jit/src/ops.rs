//! Compiles instructions without regions.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::shape::Leaf;
use crate::state::{Helper, Print};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::eval::{self, Eval};
use cotangent_ir::{Const, InstData, Op, Trap, Type, Value};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::{SmallVec, smallvec};

impl Body<'_, '_, '_> {
    /// Emits an instruction without regions.
    pub fn plain(&mut self, data: &InstData) -> Result<()> {
        let regs: Regs = match &data.op {
            Op::Math(math) => self.elementwise(*math, data)?,
            Op::Const(value) => {
                let scalar = self.scalar_of(data.results[0]);
                smallvec![self.constant(*value, scalar)]
            }
            Op::Zero | Op::Undef => return self.zero(data.results[0]),
            Op::Select => return self.select(data),
            Op::Convert => self.convert_all(data)?,
            Op::Bitcast => self.bitcast(data)?,
            Op::Splat => return self.splat(data),
            Op::Sum => return self.sum(data),
            Op::Swizzle(lanes) => {
                let vector = self.regs(data.operands[0]);
                lanes.iter().map(|lane| vector[usize::from(*lane)]).collect()
            }
            Op::Dot => self.product(data, (1, 1))?,
            Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => {
                let extent = self.extent(data);
                self.product(data, extent)?
            }
            Op::Transpose => self.transpose(data),
            Op::Pack => return self.pack(data),
            Op::Extract(path) => return self.extract(data, path),
            Op::Insert(path) => return self.insert(data, path, false),
            Op::InsertAdd(path) => return self.insert(data, path, true),
            Op::Inject(member) => return self.inject(data, *member),
            Op::Project(member) => return self.project(data, *member),
            Op::Tag => {
                self.known_type(data.operands[0]);
                smallvec![self.tag(data.operands[0])]
            }
            Op::Detach => {
                let repr = self.repr(data.operands[0]);
                if self.shape_of(data.results[0]).in_memory() {
                    let to = self.set_stored(data.results[0]);
                    let from = self.place_of(data.operands[0]);
                    self.copy(to, from, self.func.ty(data.results[0]));
                } else {
                    self.values[data.results[0]] = Some(repr);
                }
                return Ok(());
            }
            Op::Global(global) => return self.global(*global, data.results[0]),
            Op::Load(path) => return self.load(data, path),
            Op::Store(path) => return self.store(data, path),
            Op::Atomic(atomic) => self.atomic(data, atomic)?,
            Op::Barrier(barrier) => return if barrier.sync { self.barrier() } else { Ok(()) },
            Op::Wave(kind) => self.wave(*kind, data)?,
            Op::Print(format) => return self.print(format.as_str(), &data.operands),
            Op::TargetText(_) => return self.refuse("text of a target language"),
            Op::Point(path) => self.point(data, path)?,
            Op::Offset => self.offset(data),
            Op::Pointer => self.cast_pointer(data),
            Op::Address => smallvec![self.pointer_address(data.operands[0])],
            Op::Length => smallvec![self.length(data.operands[0])],
            Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => return self.texture(data),
            Op::Assert(trap) => {
                let holds = self.reg(data.operands[0]);
                let fails = self.is_const(holds, 0);
                self.stop_if(fails, *trap, None);
                return Ok(());
            }
            Op::Discard | Op::Screen(_) => {
                let always = self.int(types::I8, 1);
                self.stop_if(always, Trap::NoPixel, None);
                match data.results.first() {
                    Some(result) => return self.zero(*result),
                    None => return Ok(()),
                }
            }
            Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => has_regions(&data.op),
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => has_regions(&data.op),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => has_regions(&data.op),
        };
        if let Some(result) = data.results.first() {
            self.set(*result, regs);
        }
        Ok(())
    }

    /// A constant of a type.
    pub fn constant(&mut self, value: Const, scalar: Scalar) -> Reg {
        match (Eval::default().constant(value, scalar), scalar) {
            (Const::Bool(value), _) => self.int(types::I8, value.into()),
            (Const::Int(value), scalar) => self.int(crate::shape::native(scalar), value),
            (Const::Float(bits), Scalar::F64) => self.f64(f64::from_bits(bits)),
            // Its bits in binary32, which a binary16 has too in registers.
            (value @ Const::Float(_), _) => {
                let bits = eval::bits(value, Scalar::F32) as u32;
                self.f32(f32::from_bits(bits))
            }
        }
    }

    /// All zero.
    pub fn zero(&mut self, result: Value) -> Result<()> {
        let ty = self.func.ty(result);
        if self.shape_of(result).in_memory() {
            let storage = self.set_stored(result);
            self.clear(storage, ty);
        } else {
            let regs = self.zeros(ty);
            self.set(result, regs);
        }
        Ok(())
    }

    /// Zeros for all leaves of a type.
    pub fn zeros(&mut self, ty: cotangent_ir::Ty) -> Regs {
        let leaves = self.leaf_types(ty);
        leaves.into_iter().map(|leaf| self.zero_of(leaf.native())).collect()
    }

    fn select(&mut self, data: &InstData) -> Result<()> {
        let [cond, a, b] = data.operands[..] else { unreachable!("the verifier counted") };
        let result = data.results[0];
        if self.shape_of(result).in_memory() {
            let cond = self.reg(cond);
            let (a, b) = (self.place_of(a), self.place_of(b));
            let (a, b) = (self.address(a), self.address(b));
            let from = self.b.ins().select(cond, a, b);
            let to = self.set_stored(result);
            let to = self.address(to);
            self.copy_bytes(to, from, self.func.ty(result));
            return Ok(());
        }
        let (cond, a, b) = (self.regs(cond), self.regs(a), self.regs(b));
        let pick = |body: &mut Self, i: usize| {
            let cond = if cond.len() == 1 { cond[0] } else { cond[i] };
            body.b.ins().select(cond, a[i], b[i])
        };
        let regs = (0..a.len()).map(|i| pick(self, i)).collect();
        self.set(result, regs);
        Ok(())
    }

    /// Waits for the other threads of the group, or ends the function if one has stopped.
    pub fn barrier(&mut self) -> Result<()> {
        let site = self.site(Trap::Barrier);
        let site = self.int(types::I32, site.into());
        let status = self.helper(Helper::Barrier, &[self.state, site])?.expect("it gives a status");
        let (end, go_on) = (self.stopped_block(), self.b.create_block());
        self.b.ins().brif(status, end, &[], go_on, &[]);
        self.b.switch_to_block(go_on);
        Ok(())
    }

    /// Hands the values to the host in 64 bits each.
    fn print(&mut self, format: &str, operands: &[Value]) -> Result<()> {
        let scalars: Vec<Scalar> = operands.iter().map(|value| self.scalar_of(*value)).collect();
        let slot = self.stack(8 * operands.len().max(1) as u64);
        let values = self.b.ins().stack_addr(types::I64, slot, 0);
        for (number, (operand, scalar)) in operands.iter().zip(&scalars).enumerate() {
            let reg = self.reg(*operand);
            let bits = match self.b.func.dfg.value_type(reg) {
                types::F32 => {
                    let reg = self.canonical(reg);
                    self.b.ins().fpromote(types::F64, reg)
                }
                types::F64 => self.canonical(reg),
                _ => self.extended(reg, *scalar),
            };
            self.b.ins().store(MemFlagsData::trusted(), bits, values, 8 * number as i32);
        }
        self.c.prints.push(Print::new(format, scalars));
        let number = self.int(types::I32, self.c.prints.len() as i64 - 1);
        self.helper(Helper::Print, &[self.state, number, values])?;
        Ok(())
    }

    /// The bits one after the other, low ones first, cut anew.
    fn bitcast(&mut self, data: &InstData) -> Result<Regs> {
        let (operand, result) = (data.operands[0], data.results[0]);
        let (from, to) = (self.scalar_of(operand), self.scalar_of(result));
        let given = self.is_given(operand);
        let mut bits: Regs = SmallVec::new();
        for reg in self.regs(operand) {
            bits.push(self.bits_of(reg, from, given)?);
        }
        let (from, to_bits) = (from.bytes() * 8, to.bytes() * 8);
        let mut cut: Regs = SmallVec::new();
        if from > to_bits {
            let native = crate::shape::native(bits_type(to_bits));
            for word in bits {
                for part in 0..from / to_bits {
                    let amount = self.int(types::I32, (part * to_bits).into());
                    let shifted = self.b.ins().ushr(word, amount);
                    cut.push(self.b.ins().ireduce(native, shifted));
                }
            }
        } else if from < to_bits {
            let native = crate::shape::native(bits_type(to_bits));
            for parts in bits.chunks((to_bits / from) as usize) {
                let mut word = self.int(native, 0);
                for (number, part) in (0..).zip(parts) {
                    let part = self.b.ins().uextend(native, *part);
                    let amount = self.int(types::I32, number * i64::from(from));
                    let part = self.b.ins().ishl(part, amount);
                    word = self.b.ins().bor(word, part);
                }
                cut.push(word);
            }
        } else {
            cut = bits;
        }
        cut.into_iter().map(|bits| self.scalar_of_bits(bits, to)).collect()
    }

    /// The bits of a scalar, as an integer of its width.
    pub fn bits_of(&mut self, reg: Reg, scalar: Scalar, given: bool) -> Result<Reg> {
        let reg = if given { reg } else { self.canonical(reg) };
        Ok(match scalar {
            Scalar::F16 => {
                let bits = self.helper(Helper::Bits16, &[reg])?.expect("it gives bits");
                self.b.ins().ireduce(types::I16, bits)
            }
            Scalar::F32 => self.bits_as(types::I32, reg),
            Scalar::F64 => self.bits_as(types::I64, reg),
            Scalar::Bool | scalar_group!(int) => reg,
        })
    }

    /// The scalar of these bits.
    pub fn scalar_of_bits(&mut self, bits: Reg, scalar: Scalar) -> Result<Reg> {
        Ok(match scalar {
            Scalar::F16 => {
                let bits = self.b.ins().uextend(types::I32, bits);
                self.helper(Helper::Of16, &[bits])?.expect("it gives a number")
            }
            Scalar::F32 => self.bits_as(types::F32, bits),
            Scalar::F64 => self.bits_as(types::F64, bits),
            Scalar::Bool => {
                let one = self.int(types::I8, 1);
                self.b.ins().band(bits, one)
            }
            scalar_group!(int) => bits,
        })
    }

    /// The number of a member that a sum is.
    pub fn tag(&mut self, sum: Value) -> Reg {
        if self.shape_of(sum).in_memory() {
            let place = self.place_of(sum);
            let address = self.address(place);
            return self.b.ins().load(types::I32, MemFlagsData::trusted(), address, 0);
        }
        self.regs(sum)[0]
    }

    /// Stops if a value from outside is of no type that is known.
    pub fn known_type(&mut self, sum: Value) {
        let Type::Sum(interface) = self.ty(sum) else { return };
        if self.c.module.types.struct_def(interface).ids.is_empty() {
            return;
        }
        let tag = self.tag(sum);
        let id = if self.shape_of(sum).in_memory() {
            let place = self.place_of(sum);
            let address = self.address(place);
            self.b.ins().load(types::I32, MemFlagsData::trusted(), address, 4)
        } else {
            self.regs(sum)[1]
        };
        let is_unknown = self.is_const(tag, -1);
        let id = self.b.ins().uextend(types::I64, id);
        self.stop_if(is_unknown, Trap::UnknownType, Some((id, id)));
        self.c.note_known_types(interface);
    }

    /// Loads a leaf from memory.
    pub fn load_leaf(&mut self, leaf: Leaf, address: Reg, offset: i32) -> Result<Reg> {
        let flags = MemFlagsData::new().with_notrap();
        Ok(match leaf {
            Leaf::Scalar(Scalar::Bool) => {
                let byte = self.b.ins().load(types::I8, flags, address, offset);
                let zero = self.int(types::I8, 0);
                self.b.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::NotEqual, byte, zero)
            }
            Leaf::Scalar(Scalar::F16) => {
                let bits = self.b.ins().load(types::I16, flags, address, offset);
                self.scalar_of_bits(bits, Scalar::F16)?
            }
            Leaf::Scalar(_) | Leaf::Handle | Leaf::Word => {
                self.b.ins().load(leaf.native(), flags, address, offset)
            }
        })
    }

    /// Stores a leaf to memory.
    pub fn store_leaf(&mut self, leaf: Leaf, reg: Reg, address: Reg, offset: i32) -> Result<()> {
        let flags = MemFlagsData::new().with_notrap();
        let reg = match leaf {
            Leaf::Scalar(Scalar::F16) => self.bits_of(reg, Scalar::F16, true)?,
            Leaf::Scalar(_) | Leaf::Handle | Leaf::Word => reg,
        };
        self.b.ins().store(flags, reg, address, offset);
        Ok(())
    }
}

/// An integer type of so many bits.
fn bits_type(bits: u32) -> Scalar {
    match bits {
        8 => Scalar::U8,
        16 => Scalar::U16,
        32 => Scalar::U32,
        _ => Scalar::U64,
    }
}

/// Control operations never come here.
fn has_regions(op: &Op) -> ! {
    unreachable!("`{}` is emitted by `control`", op.name())
}
