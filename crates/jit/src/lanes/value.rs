//! Values in lanes: kinds of leaves, masks, and how to get from one to another.

use super::{LANES, Lanes, PARTS};
use crate::body::{Regs, Storage};
use crate::compile::Result;
use cotangent_base::Scalar;
use cotangent_ir::Value;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    ConstantData, Immediate, InstBuilder, InstructionData, Opcode, Type as Native, Value as Reg, ValueDef,
    types,
};
use smallvec::SmallVec;

/// The lanes of a leaf.
pub(crate) type Vector = [Reg; PARTS];

/// A leaf that may vary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    /// The same in all lanes: a scalar, as scalar code has it.
    One(Reg),
    /// An integer of 32 bits that grows by a number from lane to lane, modulo 2^32: that of the first lane, and the number.
    Next(Reg, u32),
    /// Four lanes in each vector.
    Each(Vector),
}

pub(crate) type Leaves = SmallVec<[Leaf; 4]>;

/// Where a value is.
#[derive(Clone, Debug)]
pub(crate) enum Repr {
    Leaves(Leaves),
    /// In memory, lane by lane.
    Memory(Storage),
    /// In memory as scalar code has it, the same for all lanes. It does not change.
    Shared(Reg),
}

/// The lanes that are here.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mask {
    /// All, but for dead ones.
    Full,
    /// Those whose bits are set.
    Some(Vector),
}

impl Mask {
    pub fn is_full(self) -> bool {
        matches!(self, Mask::Full)
    }
}

/// The type of vectors of a scalar type.
pub(super) fn native(scalar: Scalar) -> Native {
    if scalar == Scalar::F32 { types::F32X4 } else { types::I32X4 }
}

impl Lanes<'_, '_, '_> {
    /// The leaves of a value that is not in memory.
    pub(super) fn leaves(&self, value: Value) -> Leaves {
        if !self.varies(value) {
            return self.body.regs(value).into_iter().map(Leaf::One).collect();
        }
        match &self.values[value] {
            Some(Repr::Leaves(leaves)) => leaves.clone(),
            _ => unreachable!("its type says that it has leaves"),
        }
    }

    /// The only leaf of a value.
    pub(super) fn leaf(&self, value: Value) -> Leaf {
        self.leaves(value)[0]
    }

    /// The only leaf of a value that is uniform.
    pub(super) fn one(&self, value: Value) -> Reg {
        let Leaf::One(reg) = self.leaf(value) else { unreachable!("the analysis says that it is uniform") };
        reg
    }

    pub(super) fn repr(&self, value: Value) -> Repr {
        if self.in_memory(value) {
            return self.values[value].clone().expect("values are made before they are used");
        }
        Repr::Leaves(self.leaves(value))
    }

    /// Makes a value one of these leaves.
    pub(super) fn set(&mut self, value: Value, leaves: Leaves) -> Result<()> {
        if self.varies(value) {
            // Whatever varies must have a type that lanes can have.
            self.scalars(self.ty(value))?;
            self.values[value] = Some(Repr::Leaves(leaves));
            return Ok(());
        }
        let mut regs = Regs::new();
        for leaf in leaves {
            match leaf {
                Leaf::One(reg) => regs.push(reg),
                Leaf::Next(..) | Leaf::Each(_) => unreachable!("the analysis says that it is uniform"),
            }
        }
        self.body.set(value, regs);
        Ok(())
    }

    /// A constant in all lanes.
    pub(super) fn constant(&mut self, ty: Native, words: [u32; 4]) -> Reg {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let handle = self.body.b.func.dfg.constants.insert(ConstantData::from(bytes));
        self.body.b.ins().vconst(ty, handle)
    }

    /// What chooses four words of the eight of two vectors. The same choice is the same immediate, as equal shuffles are only then
    /// computed once.
    fn shuffle_mask(&mut self, words: [u8; 4]) -> Immediate {
        let immediates = &mut self.body.b.func.dfg.immediates;
        *self.shuffles.entry(words).or_insert_with(|| {
            let bytes: Vec<u8> =
                words.iter().flat_map(|word| (0..4).map(move |byte| 4 * word + byte)).collect();
            immediates.push(ConstantData::from(bytes))
        })
    }

    /// Four words, each one of the eight of two vectors.
    pub(super) fn words(&mut self, a: Reg, b: Reg, words: [u8; 4]) -> Reg {
        let (a, b) = (self.body.vector_as(types::I8X16, a), self.body.vector_as(types::I8X16, b));
        let mask = self.shuffle_mask(words);
        let found = self.body.b.ins().shuffle(a, b, mask);
        self.body.vector_as(types::I32X4, found)
    }

    pub(super) fn ints(&mut self, value: i32) -> Reg {
        self.constant(types::I32X4, [value as u32; 4])
    }

    pub(super) fn floats(&mut self, value: f32) -> Reg {
        self.constant(types::F32X4, [value.to_bits(); 4])
    }

    /// Zeros for a leaf.
    pub(super) fn zero_vector(&mut self, scalar: Scalar) -> Vector {
        let zero = self.constant(native(scalar), [0; 4]);
        [zero; PARTS]
    }

    /// The bits of a scalar that is a constant.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other instruction is of interest")]
    pub(super) fn known(&self, reg: Reg) -> Option<u32> {
        let dfg = &self.body.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(reg) else { return None };
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u32),
            InstructionData::UnaryIeee32 { opcode: Opcode::F32const, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    /// A leaf in vectors.
    pub(super) fn vector(&mut self, leaf: Leaf, scalar: Scalar) -> Vector {
        match leaf {
            Leaf::Each(vector) => vector,
            Leaf::One(reg) => [self.spread(reg, scalar); PARTS],
            Leaf::Next(first, step) => {
                let first = self.body.b.ins().splat(types::I32X4, first);
                std::array::from_fn(|part| {
                    let at = part as u32 * 4;
                    let steps = self.constant(types::I32X4, [at, at + 1, at + 2, at + 3].map(|n| n * step));
                    self.body.b.ins().iadd(first, steps)
                })
            }
        }
    }

    /// A scalar in all lanes of a vector.
    fn spread(&mut self, reg: Reg, scalar: Scalar) -> Reg {
        if let Some(bits) = self.known(reg) {
            let bits = if scalar == Scalar::Bool { (bits & 1).wrapping_neg() } else { bits };
            return self.constant(native(scalar), [bits; 4]);
        }
        if scalar == Scalar::Bool {
            let word = self.body.b.ins().uextend(types::I32, reg);
            let word = self.body.b.ins().ineg(word);
            return self.body.b.ins().splat(types::I32X4, word);
        }
        self.body.b.ins().splat(native(scalar), reg)
    }

    /// A lane of a leaf, as scalar code has it.
    pub(super) fn lane(&mut self, leaf: Leaf, scalar: Scalar, lane: usize) -> Reg {
        match leaf {
            Leaf::One(reg) => reg,
            Leaf::Next(first, step) => {
                let lane = self.body.int(types::I32, lane as i64 * i64::from(step));
                self.body.b.ins().iadd(first, lane)
            }
            Leaf::Each(vector) => {
                let word = self.body.b.ins().extractlane(vector[lane / 4], (lane % 4) as u8);
                if scalar != Scalar::Bool {
                    return word;
                }
                let one = self.body.int(types::I32, 1);
                let bit = self.body.b.ins().band(word, one);
                self.body.b.ins().ireduce(types::I8, bit)
            }
        }
    }

    /// Vectors of integers or floats, from scalars for all lanes.
    pub(super) fn gathered(&mut self, lanes: &[Reg]) -> Vector {
        std::array::from_fn(|part| {
            let four = &lanes[4 * part..4 * part + 4];
            let ty = self.body.b.func.dfg.value_type(four[0]);
            let ty = if ty == types::F32 { types::F32X4 } else { types::I32X4 };
            let mut vector = self.body.b.ins().splat(ty, four[0]);
            for (lane, reg) in four.iter().enumerate().skip(1) {
                vector = self.body.b.ins().insertlane(vector, *reg, lane as u8);
            }
            vector
        })
    }

    /// Vectors of a leaf, from what scalar code computes for each lane.
    pub(super) fn of_lanes(&mut self, scalar: Scalar, lanes: &[Reg]) -> Vector {
        if scalar != Scalar::Bool {
            return self.gathered(lanes);
        }
        let words: Vec<Reg> = lanes
            .iter()
            .map(|lane| {
                let word = self.body.b.ins().uextend(types::I32, *lane);
                self.body.b.ins().ineg(word)
            })
            .collect();
        self.gathered(&words)
    }

    // Masks.

    /// `a` in lanes of the mask, else `b`. All are vectors of 32 bits.
    pub(super) fn blend(&mut self, mask: Reg, a: Reg, b: Reg) -> Reg {
        if a == b {
            return a;
        }
        let ty = self.body.b.func.dfg.value_type(a);
        let (a, b) = (self.body.vector_as(types::I32X4, a), self.body.vector_as(types::I32X4, b));
        let blended = match cfg!(target_arch = "x86_64") {
            true => self.body.b.ins().blendv(mask, a, b),
            false => self.body.b.ins().bitselect(mask, a, b),
        };
        self.body.vector_as(ty, blended)
    }

    pub(super) fn blend_vector(&mut self, mask: Vector, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|part| self.blend(mask[part], a[part], b[part]))
    }

    /// A leaf where a truth value holds, else another.
    pub(super) fn choose(&mut self, cond: Leaf, scalar: Scalar, a: Leaf, b: Leaf) -> Leaf {
        match (cond, a, b) {
            (Leaf::One(cond), Leaf::One(a), Leaf::One(b)) => Leaf::One(self.body.b.ins().select(cond, a, b)),
            (_, a, b) if a == b => a,
            (cond, a, b) => {
                let cond = self.vector(cond, Scalar::Bool);
                let (a, b) = (self.vector(a, scalar), self.vector(b, scalar));
                Leaf::Each(self.blend_vector(cond, a, b))
            }
        }
    }

    pub(super) fn and(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|part| self.body.b.ins().band(a[part], b[part]))
    }

    pub(super) fn or(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|part| self.body.b.ins().bor(a[part], b[part]))
    }

    /// `a` and not `b`.
    pub(super) fn and_not(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|part| self.body.b.ins().band_not(a[part], b[part]))
    }

    /// The lanes of the mask for which a condition holds.
    pub(super) fn within(&mut self, mask: Mask, cond: Vector) -> Vector {
        match mask {
            Mask::Full => cond,
            Mask::Some(mask) => self.and(mask, cond),
        }
    }

    /// The lanes of the mask for which it does not.
    pub(super) fn without(&mut self, mask: Mask, cond: Vector) -> Vector {
        match mask {
            Mask::Full => cond.map(|part| self.body.b.ins().bnot(part)),
            Mask::Some(mask) => self.and_not(mask, cond),
        }
    }

    /// A mask as vectors.
    pub(super) fn mask_vector(&mut self, mask: Mask) -> Vector {
        match mask {
            Mask::Full => [self.ints(-1); PARTS],
            Mask::Some(mask) => mask,
        }
    }

    /// Whether there is a lane: 0 or 1.
    pub(super) fn any(&mut self, mask: Vector) -> Reg {
        let all = mask[1..].iter().fold(mask[0], |all, part| self.body.b.ins().bor(all, *part));
        self.body.b.ins().vany_true(all)
    }

    /// One bit for each lane, the first lane lowest, in 32 bits.
    pub(super) fn bits(&mut self, mask: Vector) -> Reg {
        let mut all = None;
        for (part, vector) in mask.iter().enumerate() {
            let four = self.body.b.ins().vhigh_bits(types::I32, *vector);
            all = Some(match all {
                None => four,
                Some(all) => {
                    let amount = self.body.int(types::I32, 4 * part as i64);
                    let four = self.body.b.ins().ishl(four, amount);
                    self.body.b.ins().bor(all, four)
                }
            });
        }
        all.expect("there is a vector")
    }

    /// The mask of these bits.
    pub(super) fn of_bits(&mut self, bits: Reg) -> Vector {
        let all = self.body.b.ins().splat(types::I32X4, bits);
        std::array::from_fn(|part| {
            let at = part as u32 * 4;
            let own = self.constant(types::I32X4, [0, 1, 2, 3].map(|lane| 1 << (at + lane)));
            let found = self.body.b.ins().band(all, own);
            self.body.b.ins().icmp(IntCC::Equal, found, own)
        })
    }

    /// The quiet NaN in place of any other.
    pub(super) fn canonical(&mut self, leaf: Leaf, scalar: Scalar) -> Leaf {
        if scalar != Scalar::F32 {
            return leaf;
        }
        match leaf {
            Leaf::One(reg) => Leaf::One(self.body.canonical(reg)),
            Leaf::Next(..) => leaf,
            Leaf::Each(vector) => {
                let nan = self.floats(f32::from_bits(0x7fc0_0000));
                Leaf::Each(vector.map(|part| {
                    let is_nan = self.body.b.ins().fcmp(FloatCC::Unordered, part, part);
                    self.blend(is_nan, nan, part)
                }))
            }
        }
    }

    /// The leaves of a value with canonical NaN, unless no operation made it.
    pub(super) fn canonical_leaves(&mut self, value: Value, leaves: Leaves) -> Result<Leaves> {
        if self.body.is_given(value) {
            return Ok(leaves);
        }
        let scalars = self.scalars(self.ty(value))?;
        Ok(leaves.into_iter().zip(scalars).map(|(leaf, scalar)| self.canonical(leaf, scalar)).collect())
    }

    /// The same value under another name.
    pub(super) fn same(&mut self, from: Value, to: Value) -> Result<()> {
        if !self.in_memory(to) {
            let leaves = self.leaves(from);
            return self.set(to, leaves);
        }
        let from = self.repr(from);
        let storage = self.stored(to);
        self.copy_repr(storage, from, self.ty(to))
    }

    /// All lanes, by number.
    pub(super) fn numbers() -> std::ops::Range<usize> {
        0..LANES
    }
}
