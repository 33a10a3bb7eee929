//! Writes the blocks of parameters that a kernel takes: values, and addresses of buffers, textures and samplers.

use crate::backend::Cuda;
use crate::memory::Memory;
use cotangent_base::Symbol;
use cotangent_ir::layout::bind::Bound;
use cotangent_ir::layout::{Repack, Rules};
use cotangent_ir::shader::{ShaderParam, Shape};
use cotangent_ir::texture::{Address, Compare, Filter, SamplerState};
use cotangent_ir::{Global, Ty};
use cotangent_runtime::{Arguments, Compiled, Failure, Fitting, fitting};

/// Writes blocks. What they point to must live as long as a launch.
pub(crate) struct Blocks<'a> {
    pub cuda: &'a Cuda,
    pub compiled: &'a Compiled,
    pub arguments: &'a Arguments<Cuda>,
    /// Samplers and blocks of constants, which are made for the launch.
    pub held: Vec<Memory>,
}

impl Blocks<'_> {
    /// A block of so many bytes with these parameters.
    pub fn block(&mut self, params: &[ShaderParam], bound: &[Bound], size: u32) -> Result<Vec<u8>, Failure> {
        let mut block = vec![0; size.max(1) as usize];
        for (param, bound) in params.iter().zip(bound) {
            let mut leaves = param.leaves.iter().copied();
            self.place(bound, &mut block, 0, &mut leaves)?;
        }
        Ok(block)
    }

    fn place(
        &mut self,
        bound: &Bound,
        block: &mut Vec<u8>,
        shift: u32,
        leaves: &mut dyn Iterator<Item = Global>,
    ) -> Result<(), Failure> {
        let at = (bound.data.map_or(0, |data| data.offset) + shift) as usize;
        match &bound.shape {
            Shape::Value(ty) | Shape::Packed(ty, _) => match leaves.next() {
                Some(global) => self.value(global, *ty, bound.rules, &mut block[at..]),
                None => Ok(()),
            },
            Shape::Resource(_) | Shape::Counter(_) => match leaves.next() {
                Some(global) => self.resource(global, &mut block[at..]),
                None => Ok(()),
            },
            Shape::Struct(_) => {
                bound.parts.iter().try_for_each(|part| self.place(part, block, shift, leaves))
            }
            Shape::Array(_, count) => {
                let stride = bound.data.map_or(0, |data| data.size) / (*count).max(1);
                (0..*count).try_for_each(|i| {
                    bound
                        .parts
                        .iter()
                        .try_for_each(|part| self.place(part, block, shift + i * stride, leaves))
                })
            }
            Shape::Block(..) => {
                let mut inner = vec![0; bound.block.map_or(1, |block| block.size.max(1)) as usize];
                bound.parts.iter().try_for_each(|part| self.place(part, &mut inner, 0, leaves))?;
                self.hold(&inner, &mut block[at..])
            }
        }
    }

    fn name(&self, global: Global) -> Symbol {
        self.compiled.module.globals[global].name
    }

    fn value(&self, global: Global, ty: Ty, rules: Rules, to: &mut [u8]) -> Result<(), Failure> {
        let types = &self.compiled.module.types;
        let name = self.name(global);
        let Some(argument) = self.arguments.get(global) else { return Ok(()) };
        let Fitting::Value(bytes) = fitting(&self.compiled.module, global, argument, false)? else {
            return Err(Failure::usage(format!("`{name}` is a value")));
        };
        let Some(repack) = Repack::new(types, ty, Rules::C, rules) else {
            return Err(Failure::usage(format!("`{name}` has no layout on a device")));
        };
        repack.apply(bytes, to);
        Ok(())
    }

    /// An address, and for a buffer the number of its elements. What has no argument is nowhere.
    fn resource(&mut self, global: Global, to: &mut [u8]) -> Result<(), Failure> {
        let Some(argument) = self.arguments.get(global) else { return Ok(()) };
        match fitting(&self.compiled.module, global, argument, false)? {
            Fitting::Buffer(buffer, ..) => {
                to[..8].copy_from_slice(&buffer.memory.address().to_le_bytes());
                to[8..16].copy_from_slice(&(buffer.count as u64).to_le_bytes());
                Ok(())
            }
            Fitting::Texture(texture, _) => {
                to[..8].copy_from_slice(&texture.header.address().to_le_bytes());
                Ok(())
            }
            Fitting::Sampler(state) => {
                let bytes = sampler(state);
                self.hold(&bytes, to)
            }
            Fitting::Value(_) => {
                let name = self.name(global);
                Err(Failure::usage(format!("`{name}` was given an argument of another kind")))
            }
        }
    }

    /// Makes memory for the launch and writes its address.
    fn hold(&mut self, bytes: &[u8], to: &mut [u8]) -> Result<(), Failure> {
        let memory = Memory::new(&self.cuda.device, bytes).map_err(Failure::Device)?;
        to[..8].copy_from_slice(&memory.address().to_le_bytes());
        self.held.push(memory);
        Ok(())
    }
}

/// A `ct::Sampler`.
fn sampler(state: SamplerState) -> Vec<u8> {
    let filters = [state.mag, state.min, state.mip].map(|filter| u8::from(filter == Filter::Linear));
    let address = state.address.map(|one| number(&Address::ALL, one));
    filters.into_iter().chain(address).chain([number(&Compare::ALL, state.compare)]).collect()
}

fn number<T: PartialEq>(all: &[(&str, T)], one: T) -> u8 {
    all.iter().position(|(_, other)| *other == one).unwrap_or(0) as u8
}
