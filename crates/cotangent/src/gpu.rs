//! Programs made ready for a graphics processor.
//!
//! [`Prepared`] is a shader with the bytes of its parameters; who has a device runs it and hands back what was written
//! ([`Prepared::finish`]). Indices and divisors are tested ([`checks`](mod@checks)), and the shader says in a buffer of its own
//! which test failed first, so that a program stops here as it does on the interpreter.

use crate::targets::{Refusal, check_layout, check_push_constants, without_sums};
use cotangent_base::{Map, Scalar};
use cotangent_emit_naga::{Emitted, FLAG_BYTES, Site, codes, entry_name};
use cotangent_interp::{Outside, Stopped};
use cotangent_ir::layout::bind::{LeafPlace, bind};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_ir::{Const, Global, Module, Op, Type};
use cotangent_lower::Lowered;
use cotangent_passes::checks;
use cotangent_runtime::device::{Device, Kind, Slotted};
use cotangent_runtime::{Error, Params};

/// A program for a graphics processor.
pub struct Prepared {
    /// In WGSL, or the words of SPIR-V.
    pub code: Emitted,
    /// The name of its entry point in the shader.
    pub entry: String,
    target: Target,
    /// Where the buffer is bound in which the first failure is told.
    flag: (u32, u32),
    sites: Vec<Site>,
    places: Map<Global, LeafPlace>,
}

/// Writes the shader of a program with one entry point as WGSL or SPIR-V, for parameters as long as those in `params`.
pub fn prepare(lowered: &Lowered, params: &Params, target: Target) -> Result<Prepared, Refusal> {
    check_layout(lowered, codes::UNSUPPORTED)?;
    let bindings = bind(&lowered.module.types, &lowered.params, target, Matrices::Rows);
    check_push_constants(lowered, &bindings)?;
    let places = bindings.leaves(&lowered.params);
    let mut module = without_sums(&lowered.module)?.into_owned();
    checks::checks(&mut module);
    let device = Device { module: &lowered.module, places: &places, target };
    write_lengths(&mut module, &device.broken_words(params));
    let flag = (0, free(&places));
    let (code, sites) = cotangent_emit_naga::checked(&module, &places, flag, target)?;
    let entry =
        lowered.entries.first().map_or(String::new(), |id| entry_name(lowered.module.funcs[*id].name));
    Ok(Prepared { code, entry, target, flag, sites, places })
}

/// Puts the lengths of these buffers where the program asks for them.
fn write_lengths(module: &mut Module, lengths: &Map<Global, usize>) {
    for func in module.funcs.values_mut() {
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let Some(Op::Global(buffer)) = data.operands.first().and_then(|v| func.op(*v)) else { continue };
            if let (Op::Length, Some(length)) = (&data.op, lengths.get(buffer)) {
                func.insts[inst].op = Op::Const(Const::Int(*length as i64));
                func.insts[inst].operands.clear();
            }
        }
    }
}

/// A number of the first group that nothing is bound to.
fn free(places: &Map<Global, LeafPlace>) -> u32 {
    let index = |place: &LeafPlace| match place {
        LeafPlace::Slot(slot) | LeafPlace::Element(slot) => Some(*slot),
        LeafPlace::Value(block, _) | LeafPlace::Packed(block) => block.slot,
    };
    places
        .values()
        .filter_map(index)
        .filter(|slot| slot.space == 0)
        .map(|slot| slot.index + 1)
        .max()
        .unwrap_or(0)
}

impl Prepared {
    /// What is bound to the shader: the parameters, and last the buffer that tells of a failure.
    pub fn slots(&self, module: &Module, params: &Params) -> Result<Vec<Slotted>, Error> {
        let mut slots = self.device(module).bind(params)?;
        if !self.sites.is_empty() {
            slots.push(Slotted {
                name: "first_failure".into(),
                group: self.flag.0,
                index: self.flag.1,
                kind: Kind::Write,
                bytes: vec![0; FLAG_BYTES],
            });
        }
        Ok(slots)
    }

    /// Takes over what was written to each slot, or says why the program stopped.
    pub fn finish(
        &self,
        module: &Module,
        params: &mut Params,
        slots: &[Slotted],
        written: &[Option<Vec<u8>>],
    ) -> Result<(), Stopped> {
        for (slot, bytes) in slots.iter().zip(written) {
            let Some(bytes) = bytes else { continue };
            if (slot.group, slot.index) == self.flag {
                self.stopped(bytes).map_or(Ok(()), Err)?;
            }
        }
        for (slot, bytes) in slots.iter().zip(written) {
            if let Some(bytes) = bytes {
                self.device(module).take_back(params, slot, bytes);
            }
        }
        Ok(())
    }

    fn stopped(&self, flag: &[u8]) -> Option<Stopped> {
        let word = |i: usize| u32::from_le_bytes(flag[4 * i..4 * i + 4].try_into().unwrap_or_default());
        let site = self.sites.get(word(0).checked_sub(1)? as usize)?;
        let outside = site.index.map(|scalar| Outside {
            index: if scalar.is_signed() { (word(4) as i32).into() } else { word(4).into() },
            len: word(5) as usize,
        });
        Some(Stopped {
            trap: site.trap,
            span: site.span,
            func: site.func,
            calls: vec![],
            thread: Some([word(1), word(2), word(3)]),
            outside,
            other: None,
            unknown: None,
        })
    }

    fn device<'m>(&'m self, module: &'m Module) -> Device<'m> {
        Device { module, places: &self.places, target: self.target }
    }
}

/// Whether some value of the program is made of numbers of type `scalar`.
pub fn computes_in(module: &Module, scalar: Scalar) -> bool {
    let is_one = |ty| match module.types.get(ty) {
        Type::Buffer(elem, _) | Type::Ref(elem) => module.types.scalar_of(elem) == Some(scalar),
        _ => module.types.scalar_of(ty) == Some(scalar),
    };
    module.funcs.values().any(|func| func.values.values().any(|value| is_one(value.ty)))
}
