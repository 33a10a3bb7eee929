//! A GPU as a back end.
//!
//! An entry point is translated and compiled when it is first launched. Its pipeline is cached by the kinds of its bindings,
//! and the lengths of buffers that end within a word or are empty. Buffers and textures stay on the device. A buffer is repacked from C
//! layout to that of the target when it is filled, and back when it is read.

use crate::run::{Dispatch, Layouts};
use crate::texture::{Image, Number, Storage};
use crate::{Binding, Content, Device};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::layout::bind::{self, BlockPlace, LeafPlace, Slot};
use cotangent_ir::layout::{Matrices, Memory, Repack, Rules, Target};
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Texture as Texels};
use cotangent_ir::{Access, FuncId, Global, GlobalData, GlobalKind, Stage, Type};
use cotangent_runtime::shader::{Lengths, Prints, Shader, Translate};
use cotangent_runtime::{
    Argument, Arguments, Backend, Compiled, Element, Failure, Fitting, Launch, Launched, Packing,
    TextureType, fitting,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs programs on a device.
pub struct Gpu {
    /// The device.
    pub device: Device,
    target: Target,
    translate: Translate,
}

/// A program on a device.
pub struct Loaded {
    compiled: Compiled,
    kernels: Mutex<HashMap<Key, Arc<Kernel>>>,
}

/// What a kernel was compiled for.
type Key = (FuncId, Vec<(Global, usize)>, Vec<(u32, u32, wgpu::BindingType)>);

struct Kernel {
    shader: Shader,
    pipeline: wgpu::ComputePipeline,
    layouts: Layouts,
}

/// A buffer on a device.
#[derive(Clone, Debug)]
pub struct Buffer {
    element: Element,
    packing: Arc<Packing>,
    count: usize,
    buffer: wgpu::Buffer,
}

/// A texture on a device.
#[derive(Clone, Debug)]
pub struct Texture {
    ty: TextureType,
    image: Image,
    texture: wgpu::Texture,
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Failure::Device(error.0)
    }
}

impl Gpu {
    /// A device that is given shaders in the language of `target`, as `translate` writes them.
    pub fn new(device: Device, target: Target, translate: Translate) -> Self {
        Gpu { device, target, translate }
    }

    fn packing(&self, element: &Element) -> Result<Packing, Failure> {
        let rules = self.target.rules(Memory::Buffer, Matrices::Rows);
        match Packing::by(element, rules) {
            Some(packing) => Ok(packing),
            // No shader can use it, and translating one that does says so.
            None => Packing::new(element, |outer| outer),
        }
    }

    /// The lengths that a shader cannot find out: those of buffers that end within a word, and of buffers without elements, for
    /// which another is bound.
    fn lengths(&self, compiled: &Compiled, arguments: &Arguments<Self>) -> Lengths {
        let module = &compiled.module;
        let params = module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
        let length = |(global, data): (Global, &GlobalData)| match arguments.get(global) {
            Some(Argument::Buffer(Buffer { count, packing, .. })) => {
                let is_told = *count == 0 || !(count * packing.inner()).is_multiple_of(4);
                is_told.then_some((global, *count))
            }
            None if matches!(module.types.get(data.ty), Type::Buffer(..)) => Some((global, 0)),
            _ => None,
        };
        params.filter_map(length).collect()
    }

    /// What is bound to a shader: the parameters that it uses, and last the buffer in which it notes a failure.
    fn bindings(
        &self,
        compiled: &Compiled,
        shader: &Shader,
        arguments: &Arguments<Self>,
    ) -> Result<Vec<Binding>, Failure> {
        let module = &compiled.module;
        let mut slots: BTreeMap<(bool, u32, u32), Binding> = BTreeMap::new();
        let used = module
            .globals
            .iter()
            .filter(|(global, data)| data.kind == GlobalKind::Param && shader.used.contains(*global));
        for (global, data) in used {
            let (name, ty) = (data.name, data.ty);
            match shader.places.get(&global) {
                Some(LeafPlace::Slot(slot)) => {
                    let content = self.content(compiled, global, arguments.get(global))?;
                    let Slot { space, index, .. } = *slot;
                    let binding = Binding { name: name.to_string(), group: space, index, content };
                    slots.insert((false, space, index), binding);
                }
                Some(LeafPlace::Value(BlockPlace { slot: Some(slot), size, rules }, offset)) => {
                    let pushed = slot.kind == bind::Kind::PushConstant;
                    let bytes = vec![0; size.next_multiple_of(16) as usize];
                    let Slot { space, index, .. } = *slot;
                    let block = slots.entry((pushed, space, index)).or_insert_with(|| Binding {
                        name: name.to_string(),
                        group: space,
                        index,
                        content: if pushed { Content::Pushed(bytes) } else { Content::Uniform(bytes) },
                    });
                    let Some(repack) = Repack::new(&module.types, ty, Rules::C, *rules) else {
                        return Err(Failure::usage(format!("`{name}` has no layout on a device")));
                    };
                    let (Content::Uniform(block) | Content::Pushed(block)) = &mut block.content else {
                        return Err(Failure::usage(format!("`{name}` cannot be bound on a device")));
                    };
                    let argument = arguments.get(global).map(|given| fitting(module, global, given, false));
                    match argument.transpose()? {
                        Some(Fitting::Value(bytes)) => repack.apply(bytes, &mut block[*offset as usize..]),
                        None => {}
                        Some(_) => return Err(Failure::usage(format!("`{name}` is a value"))),
                    }
                }
                _ => return Err(Failure::usage(format!("`{name}` cannot be bound on a device"))),
            }
        }
        let mut bindings: Vec<Binding> = slots.into_values().collect();
        if let Some(Prints { group, index, .. }) = shader.prints {
            let content = Content::Write(vec![0; Prints::BYTES]);
            bindings.push(Binding { name: "printed".into(), group, index, content });
        }
        if !shader.sites.is_empty() {
            let (group, index, size) = shader.flag;
            let content = Content::Write(vec![0; size]);
            bindings.push(Binding { name: "first_failure".into(), group, index, content });
        }
        Ok(bindings)
    }

    /// A buffer, texture or sampler as it is bound.
    fn content(
        &self,
        compiled: &Compiled,
        param: Global,
        argument: Option<&Argument<Self>>,
    ) -> Result<Content, Failure> {
        let data = &compiled.module.globals[param];
        let name = data.name;
        let argument = argument.map(|given| fitting(&compiled.module, param, given, false)).transpose()?;
        match (compiled.module.types.get(data.ty), argument) {
            (_, Some(Fitting::Buffer(buffer, _, writes))) if buffer.count > 0 => {
                Ok(Content::Buffer(buffer.buffer.clone(), writes))
            }
            // A device cannot bind an empty buffer. The shader is told that there are no elements.
            (Type::Buffer(elem, access), _) => {
                let packing = self.packing(&Element::new(&compiled.module, elem))?;
                let zeros = vec![0; packing.inner().next_multiple_of(4)];
                Ok(if access == Access::ReadWrite { Content::Write(zeros) } else { Content::Read(zeros) })
            }
            (_, Some(Fitting::Texture(texture, _))) => {
                if compiled.texture(param) != Some(texture.ty) {
                    return Err(Failure::usage(format!(
                        "the texture given for `{name}` was made for another use"
                    )));
                }
                Ok(Content::Bound(texture.image, texture.texture.clone()))
            }
            (Type::Opaque(Opaque::Texture(_)), None) => {
                Err(Failure::usage(format!("`{name}` has no texels; set it")))
            }
            (Type::Opaque(Opaque::Sampler), given) => Ok(Content::Sampler(sampler(given))),
            (Type::Opaque(Opaque::Comparison), given) => Ok(Content::Comparison(sampler(given))),
            _ => Err(Failure::usage(format!("`{name}` was given an argument of another kind"))),
        }
    }

    /// The pipeline of an entry point for these arguments, and whether it is new.
    fn kernel(
        &self,
        program: &Loaded,
        entry: FuncId,
        arguments: &Arguments<Self>,
    ) -> Result<(Arc<Kernel>, Vec<Binding>, bool), Failure> {
        let lengths = self.lengths(&program.compiled, arguments);
        let mut listed: Vec<(Global, usize)> = lengths.iter().map(|(global, n)| (*global, *n)).collect();
        listed.sort_unstable();
        // Bindings are the same for all kernels of an entry point but for their kinds.
        let known = {
            let kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
            let found = kernels.iter().find(|((func, found, _), _)| *func == entry && *found == listed);
            found.map(|(_, kernel)| kernel.shader.clone())
        };
        let shader = match known {
            Some(shader) => shader,
            None => {
                (self.translate)(&program.compiled, entry, &lengths, self.target).map_err(Failure::Refused)?
            }
        };
        let bindings = self.bindings(&program.compiled, &shader, arguments)?;
        let kinds = bindings.iter().filter_map(|binding| {
            Some((binding.group, binding.index, self.device.binding_type(&binding.content)?))
        });
        let key = (entry, listed, kinds.collect());
        let mut kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&key) {
            return Ok((kernel.clone(), bindings, false));
        }
        self.device.check(shader.needs)?;
        let (pipeline, layouts) = self.device.pipeline(&shader.code, &shader.entry, &bindings)?;
        let kernel = Arc::new(Kernel { shader, pipeline, layouts });
        kernels.insert(key, kernel.clone());
        Ok((kernel, bindings, true))
    }
}

fn sampler(argument: Option<Fitting<'_, Gpu>>) -> SamplerState {
    if let Some(Fitting::Sampler(state)) = argument { state } else { SamplerState::default() }
}

impl Backend for Gpu {
    type Program = Loaded;
    type Buffer = Buffer;
    type Texture = Texture;

    fn load(&self, compiled: &Compiled) -> Result<Loaded, Failure> {
        Ok(Loaded { compiled: compiled.clone(), kernels: Mutex::default() })
    }

    fn make_buffer(&self, element: &Element, bytes: &[u8]) -> Result<Buffer, Failure> {
        let packing = self.packing(element)?;
        let count = packing.count(bytes)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let packed = packing.inward(bytes);
        let buffer = self.device.caught("cannot make the buffers", || self.device.buffer(usage, &packed))?;
        Ok(Buffer { element: element.clone(), packing: Arc::new(packing), count, buffer })
    }

    fn make_texture(&self, ty: TextureType, extent: Extent, texels: &[u8]) -> Result<Texture, Failure> {
        let image = image(ty, extent);
        let texels = four_lanes(ty.texture, texels);
        let checked = image.check(&self.device.device.limits(), texels.len() as u64);
        checked
            .and_then(|()| image.check_depths(&texels))
            .map_err(|why| Failure::Device(format!("a texture {why}")))?;
        let texture =
            self.device.caught("cannot make the buffers", || self.device.make_texture(image, &texels))?;
        Ok(Texture { ty, image, texture })
    }

    fn element(buffer: &Buffer) -> &Element {
        &buffer.element
    }

    fn texels(texture: &Texture) -> Texels {
        texture.ty.texture
    }

    fn size(&self, buffer: &Buffer) -> usize {
        buffer.count * buffer.packing.outer()
    }

    fn write(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let range = buffer.packing.range(buffer.count, offset..offset.saturating_add(bytes.len()))?;
        let packed = buffer.packing.inward(bytes);
        let whole = buffer.count * buffer.packing.inner();
        // Devices write words. What lies beside elements in the first and last of them is written again.
        let (start, end) = (range.start / 4 * 4, range.end.next_multiple_of(4));
        let words = if (start, end.min(whole)) == (range.start, range.end) {
            packed
        } else {
            let mut words = self.device.read_back(&buffer.buffer, start, end.min(whole) - start)?;
            words[range.start - start..range.end - start].copy_from_slice(&packed);
            words
        };
        Ok(self.device.caught("cannot write a buffer", || {
            self.device.fill(&buffer.buffer, start, &words);
        })?)
    }

    fn read(&self, buffer: &Buffer, range: Range<usize>) -> Result<Vec<u8>, Failure> {
        let range = buffer.packing.range(buffer.count, range)?;
        let start = range.start / 4 * 4;
        let words = self.device.read_back(&buffer.buffer, start, range.end - start)?;
        Ok(buffer.packing.outward(&words[range.start - start..]))
    }

    fn read_texture(&self, texture: &Texture) -> Result<Vec<u8>, Failure> {
        let texels = self.device.read_texture(texture.image, &texture.texture)?;
        Ok(own_lanes(texture.ty.texture, &texels))
    }

    fn launch(
        &self,
        program: &Loaded,
        entry: FuncId,
        groups: [u32; 3],
        arguments: &Arguments<Self>,
        launch: Launch,
    ) -> Result<Launched, Failure> {
        let func = &program.compiled.module.funcs[entry];
        if func.entry.as_ref().is_none_or(|entry| entry.stage != Stage::Compute) {
            return Err(Failure::usage(format!("`{}` is no compute shader", func.name)));
        }
        if launch.max_steps.is_some() {
            return Err(Failure::usage("a device counts no steps; limit the time"));
        }
        let mut dispatch = Dispatch { timed: launch.timed, ..Dispatch::new(groups) };
        dispatch.limit = launch.max_time.unwrap_or(dispatch.limit);
        let (kernel, bindings, is_new) = self.kernel(program, entry, arguments)?;
        // The last bindings are the buffer for text and the flag.
        let shader = &kernel.shader;
        let more = usize::from(shader.prints.is_some()) + usize::from(!shader.sites.is_empty());
        let read = bindings.len() - more..bindings.len();
        let run =
            self.device.run_kernel(&kernel.pipeline, &kernel.layouts, &bindings, dispatch, is_new, read)?;
        let mut read = run.read.iter();
        let printed = shader.prints.as_ref().and_then(|prints| Some(prints.text(read.next()?)));
        let stopped = read.next().and_then(|bytes| shader.stopped(bytes));
        let printed = printed.unwrap_or_default();
        Ok(Launched { ended: stopped.map_or(Ok(()), Err), printed, time: run.time })
    }
}

/// How a texture is kept on a device.
fn image(TextureType { texture, touched }: TextureType, extent: Extent) -> Image {
    Image {
        dim: texture.dim,
        array: texture.array,
        size: extent.size,
        layers: extent.layers,
        levels: extent.levels,
        number: match texture.scalar {
            Scalar::I32 => Number::I32,
            Scalar::U32 => Number::U32,
            Scalar::F16 => Number::F16,
            _ if touched.compared => Number::Depth,
            Scalar::Bool | scalar_group!(int | float) => Number::F32,
        },
        // No device has three.
        lanes: if texture.lanes == 3 { 4 } else { texture.lanes },
        storage: (texture.access == Access::ReadWrite)
            .then_some(Storage { read: touched.read, write: touched.written || !touched.read }),
    }
}

/// Texels of three lanes with a fourth, since no device has them otherwise.
fn four_lanes(texture: Texels, bytes: &[u8]) -> Vec<u8> {
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
fn own_lanes(texture: Texels, bytes: &[u8]) -> Vec<u8> {
    if texture.lanes != 3 {
        return bytes.to_vec();
    }
    let lane = texture.scalar.bytes() as usize;
    bytes.chunks_exact(4 * lane).flat_map(|texel| texel[..3 * lane].iter().copied()).collect()
}
