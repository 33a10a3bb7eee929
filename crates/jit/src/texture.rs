//! Operations on textures: native code passes the operands to Rust, which computes what [`cotangent_runtime::sampling`] defines.
#![allow(unsafe_code)]

use crate::body::Body;
use crate::compile::Result;
use crate::state::Helper;
use cotangent_base::Scalar;
use cotangent_ir::eval::Eval;
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Sampling, Texture};
use cotangent_ir::{Const, InstData, Op, Type, op_group};
use cotangent_runtime::sampling::{self, View};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};

/// A texture or sampler that a launch was given.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    pub address: *mut u8,
    pub bytes: usize,
    pub extent: Extent,
    pub state: SamplerState,
}

/// What is there if nothing was given.
pub(crate) const NO_EXTENT: Extent = Extent { size: [0; 3], layers: 0, levels: 0 };

impl Default for Image {
    fn default() -> Self {
        Image { address: std::ptr::null_mut(), bytes: 0, extent: NO_EXTENT, state: SamplerState::default() }
    }
}

/// What is done to a texture.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Sample(Sampling),
    Texel,
    Store,
    Dimensions,
}

/// An operation on a texture.
#[derive(Clone, Debug)]
pub(crate) struct TextureOp {
    deed: Deed,
    texture: Texture,
    /// How many numbers each operand has.
    counts: Vec<usize>,
    /// What the result is made of.
    result: Scalar,
}

impl Body<'_, '_, '_> {
    /// An operation on a texture. Operands are binary64, but a texel that is written is in words as [`Body::word_of`] makes them.
    pub fn texture(&mut self, data: &InstData) -> Result<()> {
        let Type::Opaque(Opaque::Texture(texture)) = self.ty(data.operands[0]) else {
            unreachable!("the verifier checked the type")
        };
        let (deed, first) = match &data.op {
            Op::Sample(how) => (Deed::Sample(*how), 2),
            Op::Texel => (Deed::Texel, 1),
            Op::StoreTexel => (Deed::Store, 1),
            op_group!(plain | call | control | exit) => (Deed::Dimensions, 1),
        };
        data.operands[..first].iter().for_each(|handle| self.check_handle(*handle));
        let handles = [0, first - 1].map(|i| self.reg(data.operands[i]));
        let operands = &data.operands[first..];
        let counts: Vec<usize> = operands.iter().map(|operand| self.regs(*operand).len()).collect();
        let slot = self.stack(8 * counts.iter().sum::<usize>().max(4) as u64);
        let words = self.b.ins().stack_addr(types::I64, slot, 0);
        let mut number = 0;
        for (index, operand) in operands.iter().enumerate() {
            let scalar = self.scalar_of(*operand);
            for reg in self.regs(*operand) {
                let word = self.word_of(reg, scalar);
                let is_float = self.b.func.dfg.value_type(word) == types::F64;
                let is_texel = matches!(deed, Deed::Store) && index == 1;
                let word = match is_float || is_texel {
                    true => self.canonical(word),
                    false => self.b.ins().fcvt_from_sint(types::F64, word),
                };
                self.b.ins().store(MemFlagsData::trusted(), word, words, 8 * number);
                number += 1;
            }
        }
        let result = data.results.first().map_or(texture.scalar, |result| self.scalar_of(*result));
        self.c.textures.push(TextureOp { deed, texture, counts, result });
        let op = self.int(types::I32, self.c.textures.len() as i64 - 1);
        self.helper(Helper::Texture, &[self.state, op, handles[0], handles[1], words])?;
        if let Some(value) = data.results.first() {
            let leaves = self.shape_of(*value).leaves;
            let regs = (0..leaves).map(|i| self.of_word(words, i as i32, result)).collect();
            self.set(*value, regs);
        }
        Ok(())
    }
}

impl TextureOp {
    /// Does it.
    ///
    /// # Safety
    /// The image is what a launch was given, and `words` has room for all operands, and for four.
    pub unsafe fn run(&self, image: &Image, state: SamplerState, words: *mut u64) {
        let count = self.counts.iter().sum::<usize>().max(4);
        // SAFETY: what the caller promises.
        let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
        let numbers: Vec<f64> = words.iter().map(|word| f64::from_bits(*word)).collect();
        let mut rest = &numbers[..];
        let operands: Vec<&[f64]> =
            self.counts.iter().map(|n| rest.split_off(..*n).unwrap_or_default()).collect();
        let (texture, extent) = (self.texture, image.extent);
        let view = || {
            // SAFETY: the memory of the image is there as long as the launch.
            let texels = match image.bytes {
                0 => &[],
                bytes => unsafe { std::slice::from_raw_parts(image.address, bytes) },
            };
            View { texture, extent, texels, wide: false, state, offset: [0; 3] }
        };
        let texel = match self.deed {
            Deed::Sample(how) => view().sample(how, operands[0], &operands[1..]),
            Deed::Texel => view().texel(operands[0], operands.get(1).map_or(0, |level| level[0] as i64)),
            Deed::Dimensions => sampling::dimensions(texture, extent, operands[0][0] as i64).map(f64::from),
            Deed::Store => {
                let at = sampling::offset(texture, extent, false, operands[0]);
                let new = &words[self.counts[0]..][..self.counts[1]];
                // SAFETY: as above.
                return at.into_iter().for_each(|at| unsafe { self.store(image, at, new) });
            }
        };
        for (word, number) in words.iter_mut().zip(texel) {
            *word = match self.result.is_float() {
                true => match Eval::default().constant(Const::float(number), self.result) {
                    Const::Float(bits) => bits,
                    Const::Int(_) | Const::Bool(_) => 0,
                },
                false => number as i64 as u64,
            };
        }
    }

    /// Writes a texel.
    ///
    /// # Safety
    /// The texel at that byte is one of the image.
    unsafe fn store(&self, image: &Image, at: usize, new: &[u64]) {
        let scalar = self.texture.scalar;
        let bytes = sampling::texel_bytes(scalar, false);
        if at + new.len() * bytes > image.bytes {
            return;
        }
        // SAFETY: that was just seen. Another thread may write the same texel: which one stays is up to the program.
        let texel = unsafe { std::slice::from_raw_parts_mut(image.address.add(at), new.len() * bytes) };
        for (old, new) in texel.chunks_exact_mut(bytes).zip(new) {
            let new = if scalar.is_float() { Const::Float(*new) } else { Const::Int(*new as i64) };
            sampling::write(scalar, false, new, old);
        }
    }
}
