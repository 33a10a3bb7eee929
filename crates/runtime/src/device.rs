//! Parameters as a device wants them: by slot, in the layout of its language.
//!
//! A buffer has a slot of its own; values share the slot of the block they lie in. [`Device::bind`] makes the bytes of
//! each slot from [`Params`], and [`Device::take_back`] puts what the device wrote into them again.

use crate::{Error, Params, bail};
use cotangent_base::{EntitySet, Map, Symbol};
use cotangent_ir::layout::bind::{self, BlockPlace, LeafPlace, Slot};
use cotangent_ir::layout::{Matrices, Memory, Repack, Rules, Target};
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Texture, Touched};
use cotangent_ir::{Access, Global, Module, Op, Ty, Type};
use std::collections::BTreeMap;

/// What a slot holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slotted {
    /// What messages call it.
    pub name: Symbol,
    /// The space or bind group.
    pub group: u32,
    /// The number within it.
    pub index: u32,
    /// What it is.
    pub kind: Kind,
    /// The bytes, in the device's layout.
    pub bytes: Vec<u8>,
}

/// What a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A block of values.
    Uniform,
    /// A block of values that comes with the command to run.
    Pushed,
    /// A buffer that is only read.
    Read,
    /// A buffer that may be written.
    Write,
    /// A texture. Three lanes have become four.
    Texture(Texture, Extent, Touched),
    /// A sampler.
    Sampler(SamplerState),
    /// A sampler that compares.
    Comparison(SamplerState),
}

/// How the parameters of a program lie on a device.
pub struct Device<'m> {
    /// The program.
    pub module: &'m Module,
    /// Where its globals are.
    pub places: &'m Map<Global, LeafPlace>,
    /// In which language it is written.
    pub target: Target,
}

impl Device<'_> {
    /// The slots that the program uses, with what is in `params`.
    pub fn bind(&self, params: &Params) -> Result<Vec<Slotted>, Error> {
        let used = self.globals(|op| if let Op::Global(global) = op { Some(*global) } else { None });
        let mut slots: BTreeMap<(bool, u32, u32), Slotted> = BTreeMap::new();
        for (name, global, ty, bytes) in params.iter().filter(|(_, global, ..)| used.contains(*global)) {
            match self.places.get(&global) {
                Some(LeafPlace::Slot(slot)) => {
                    let slotted = match self.module.types.get(ty) {
                        Type::Opaque(opaque) => self.opaque(params, (name, global), opaque, bytes, *slot)?,
                        _ => self.buffer(name, ty, bytes, *slot)?,
                    };
                    slots.insert((false, slot.space, slot.index), slotted);
                }
                Some(LeafPlace::Value(BlockPlace { slot: Some(slot), size, rules }, offset)) => {
                    let pushed = slot.kind == bind::Kind::PushConstant;
                    let block = slots.entry((pushed, slot.space, slot.index)).or_insert_with(|| Slotted {
                        name,
                        group: slot.space,
                        index: slot.index,
                        kind: if pushed { Kind::Pushed } else { Kind::Uniform },
                        bytes: vec![0; size.next_multiple_of(16) as usize],
                    });
                    let Some(repack) = self.repack(ty, *rules) else {
                        bail!("`{name}` has no layout on a device");
                    };
                    repack.apply(bytes, &mut block.bytes[*offset as usize..]);
                }
                _ => bail!("`{name}` cannot be bound on a device"),
            }
        }
        Ok(slots.into_values().collect())
    }

    /// The buffers that end within a word, with their lengths: a device counts words, and finds an element too many.
    pub fn broken_words(&self, params: &Params) -> Map<Global, usize> {
        let broken = |(_, global, ty, bytes): (Symbol, Global, Ty, &[u8])| {
            let (_, inner, outer) = self.element(ty)?;
            let count = bytes.len() / outer;
            (!(count * inner).is_multiple_of(4)).then_some((global, count))
        };
        params.iter().filter_map(broken).collect()
    }

    /// Takes over what the device left in a slot.
    pub fn take_back(&self, params: &mut Params, slotted: &Slotted, written: &[u8]) {
        let here = |global| match self.places.get(&global) {
            Some(LeafPlace::Slot(slot)) => (slot.space, slot.index) == (slotted.group, slotted.index),
            _ => false,
        };
        let Some((name, _, ty, bytes)) = params.iter().find(|(_, global, ..)| here(*global)) else { return };
        if let Type::Opaque(opaque) = self.module.types.get(ty) {
            // What may be written has one level.
            let Opaque::Texture(texture) = opaque else { return };
            params.replace(name, own_lanes(texture, written));
            return;
        }
        let Some((repack, inner, outer)) = self.element(ty) else { return };
        let mut bytes = bytes.to_vec();
        let back = repack.reversed();
        for (to, from) in bytes.chunks_exact_mut(outer).zip(written.chunks_exact(inner)) {
            back.apply(from, to);
        }
        params.replace(name, bytes);
    }

    fn opaque(
        &self,
        params: &Params,
        (name, global): (Symbol, Global),
        opaque: Opaque,
        bytes: &[u8],
        slot: Slot,
    ) -> Result<Slotted, Error> {
        let (kind, bytes) = match opaque {
            Opaque::Sampler => (Kind::Sampler(params.sampler(global)), vec![]),
            Opaque::Comparison => (Kind::Comparison(params.sampler(global)), vec![]),
            Opaque::Texture(texture) => {
                let extent = params.extent(global);
                if extent.texels() == 0 {
                    bail!("`{name}` has no texels: set it");
                }
                let touched = Touched::of(self.module, global);
                let lanes = if texture.lanes == 3 { 4 } else { texture.lanes };
                (Kind::Texture(Texture { lanes, ..texture }, extent, touched), four_lanes(texture, bytes))
            }
        };
        Ok(Slotted { name, group: slot.space, index: slot.index, kind, bytes })
    }

    fn buffer(&self, name: Symbol, ty: Ty, bytes: &[u8], slot: Slot) -> Result<Slotted, Error> {
        let Type::Buffer(_, access) = self.module.types.get(ty) else {
            bail!("`{name}` cannot be bound on a device");
        };
        let Some((repack, inner, outer)) = self.element(ty) else {
            bail!("the elements of `{name}` have no layout on a device");
        };
        let count = bytes.len() / outer;
        if count == 0 {
            bail!("`{name}` has no elements, and a device binds no empty buffers: set it");
        }
        let mut packed = vec![0; count * inner];
        for (from, to) in bytes.chunks_exact(outer).zip(packed.chunks_exact_mut(inner)) {
            repack.apply(from, to);
        }
        let kind = if access == Access::ReadWrite { Kind::Write } else { Kind::Read };
        Ok(Slotted { name, group: slot.space, index: slot.index, kind, bytes: packed })
    }

    /// How an element of a buffer moves, and how far elements are apart there and here.
    fn element(&self, ty: Ty) -> Option<(Repack, usize, usize)> {
        let Type::Buffer(elem, _) = self.module.types.get(ty) else { return None };
        let rules = self.target.rules(Memory::Buffer, Matrices::Rows);
        let inner = rules.stride(&self.module.types, elem)? as usize;
        let outer = Rules::C.stride(&self.module.types, elem)? as usize;
        (inner > 0 && outer > 0).then_some((self.repack(elem, rules)?, inner, outer))
    }

    fn repack(&self, ty: Ty, rules: Rules) -> Option<Repack> {
        Repack::new(&self.module.types, ty, Rules::C, rules)
    }

    fn globals(&self, of: impl Fn(&Op) -> Option<Global>) -> EntitySet<Global> {
        let mut found = EntitySet::new();
        for func in self.module.funcs.values() {
            found.extend(func.all_insts().into_iter().filter_map(|inst| of(&func.insts[inst].op)));
        }
        found
    }
}

/// Texels of three lanes with a fourth, since no device has them otherwise.
fn four_lanes(texture: Texture, bytes: &[u8]) -> Vec<u8> {
    if texture.lanes != 3 {
        return bytes.to_vec();
    }
    let lane = texture.scalar.bytes() as usize;
    bytes
        .chunks_exact(3 * lane)
        .flat_map(|texel| texel.iter().copied().chain(std::iter::repeat_n(0, lane)))
        .collect()
}

/// The way back.
fn own_lanes(texture: Texture, bytes: &[u8]) -> Vec<u8> {
    if texture.lanes != 3 {
        return bytes.to_vec();
    }
    let lane = texture.scalar.bytes() as usize;
    bytes.chunks_exact(4 * lane).flat_map(|texel| texel[..3 * lane].iter().copied()).collect()
}
