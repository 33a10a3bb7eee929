//! The interpreter as a back end.
//!
//! Buffers and textures are bytes, as [`layout`](crate::layout) describes. A launch takes exclusive ownership of memory that
//! it may write, until it ends. It shares memory that it only reads; concurrent readers see the state before the launch.
//! Locks are taken in a fixed order, so that launches in several threads cannot deadlock.

use crate::aggregate::array_elements;
use crate::held::Detached;
use crate::layout::{narrowed, widened};
use crate::params::{Param, Store};
use crate::{Machine, Options, Program, Val};
use cotangent_base::Scalar;
use cotangent_ir::texture::{Extent, Texture as Texels};
use cotangent_ir::{FuncId, Global, Ty, Type};
use cotangent_runtime::{
    Arguments, Backend, Call, Called, Compiled, Element, Failure, Fitting, Launch, Launched, Packing,
    TextureType, Time, check_inputs, fittings, locking,
};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Instant;

/// Runs programs by interpreting them.
#[derive(Clone, Default, Debug)]
pub struct Interpreter {
    /// How to run, unless a launch says otherwise.
    pub options: Options,
    /// What was detached in the first launch, if later ones hold it still.
    held: Option<Arc<Mutex<FirstLaunch>>>,
}

/// What the first launch of several detached.
#[derive(Default, Debug)]
struct FirstLaunch {
    /// None before it.
    detached: Option<Detached>,
    /// Whether the last launch detached something for which there is nothing here.
    strayed: bool,
}

/// Memory that launches take turns in writing.
type Memory = Arc<RwLock<Arc<Vec<u8>>>>;

fn words(memory: &Memory) -> Vec<u64> {
    let memory = memory.read().unwrap_or_else(PoisonError::into_inner);
    memory.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
}

/// A buffer of the interpreter.
#[derive(Clone, Debug)]
pub struct Buffer {
    element: Element,
    packing: Packing,
    memory: Memory,
}

/// A texture of the interpreter.
#[derive(Clone, Debug)]
pub struct Texture {
    ty: Texels,
    extent: Extent,
    memory: Memory,
}

impl Interpreter {
    /// An interpreter with these options.
    pub fn new(options: Options) -> Self {
        Interpreter { options, held: None }
    }

    /// One whose launches all have the values that the first one detaches, so that differences hold them still.
    pub fn holding(options: Options) -> Self {
        Interpreter { options, held: Some(Arc::default()) }
    }

    /// Whether the last launch detached a value at a place that the first launch did not reach.
    pub fn has_strayed(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.lock().unwrap_or_else(PoisonError::into_inner).strayed)
    }

    fn options(&self, launch: Launch) -> Result<Options, Failure> {
        if launch.max_time.is_some() {
            return Err(Failure::usage("the interpreter limits steps, not time"));
        }
        let max_steps = launch.max_steps.unwrap_or(self.options.max_steps);
        Ok(Options { max_steps, ..self.options })
    }

    /// The scalars of a buffer in wide mode, in order: each is a word, and that of a float has the bits of a binary64.
    pub fn wide_words(&self, buffer: &Buffer) -> Vec<u64> {
        words(&buffer.memory)
    }

    /// The numbers of a texture in wide mode, as those of a buffer.
    pub fn wide_texels(&self, texture: &Texture) -> Vec<u64> {
        words(&texture.memory)
    }

    /// What `work` gives on a machine that has the values that the first launch detached, or notes them.
    fn holding_detached<R>(&self, machine: &mut Machine<'_>, work: impl FnOnce(&mut Machine<'_>) -> R) -> R {
        let Some(held) = &self.held else { return work(machine) };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        match &held.detached {
            Some(values) => machine.give_detached(values),
            None => machine.note_detached(),
        }
        let result = work(machine);
        held.strayed = machine.has_strayed();
        held.detached.get_or_insert_with(|| machine.take_detached());
        result
    }

    /// What `work` gives on a machine whose parameters have these arguments.
    fn with_machine<R>(
        &self,
        program: &Program,
        arguments: &Arguments<Self>,
        options: Options,
        work: impl FnOnce(&mut Machine<'_>) -> R,
    ) -> Result<R, Failure> {
        let wide = program.options().wide;
        let fitting = fittings(program.module(), arguments, wide)?;
        let mut machine = program.machine_with(options);
        let mut bound: Vec<(Global, &Memory, bool)> = Vec::new();
        for (global, argument) in fitting {
            match argument {
                Fitting::Buffer(buffer, elem, writes) => {
                    bound.push((global, &buffer.memory, writes));
                    machine.params[global] = Param::Buffer { store: 0, stride: program.stride(elem) };
                }
                Fitting::Texture(texture, writes) => {
                    bound.push((global, &texture.memory, writes));
                    machine.params[global] = Param::Texture { store: 0, extent: texture.extent };
                }
                Fitting::Sampler(state) => machine.params[global] = Param::Sampler(state),
                Fitting::Value(bytes) if wide => {
                    let ty = program.module().globals[global].ty;
                    machine.memory[global] = program.value(ty, bytes);
                }
                Fitting::Value(bytes) => machine.params[global] = Param::Value(Arc::new(bytes.to_vec())),
            }
        }
        let memories = locking::in_order(bound.iter().map(|(_, memory, writes)| (*memory, *writes)));
        let mut taken: Vec<RwLockWriteGuard<'_, Arc<Vec<u8>>>> = Vec::new();
        let mut guards = Vec::new();
        for (store, (memory, written)) in memories.iter().enumerate() {
            machine.add_store(match written {
                true => {
                    let mut guard = memory.write().unwrap_or_else(PoisonError::into_inner);
                    let bytes = mem::take(&mut *guard);
                    taken.push(guard);
                    guards.push(store);
                    Store::Own(Arc::try_unwrap(bytes).unwrap_or_else(|shared| shared.to_vec()))
                }
                false => Store::Shared(memory.read().unwrap_or_else(PoisonError::into_inner).clone()),
            });
        }
        for (global, memory, _) in &bound {
            let at = memories.iter().position(|(other, _)| Arc::ptr_eq(other, memory)).unwrap_or(0);
            if let Param::Buffer { store, .. } | Param::Texture { store, .. } = &mut machine.params[*global] {
                *store = at;
            }
        }
        let result = work(&mut machine);
        for (mut guard, store) in taken.into_iter().zip(guards) {
            let bytes = mem::replace(&mut machine.stores[store], Store::Own(vec![]));
            *guard = match bytes {
                Store::Own(bytes) => Arc::new(bytes),
                Store::Shared(bytes) => bytes,
            };
        }
        Ok(result)
    }
}

impl Program {
    /// A value from bytes in C layout; none if it has more elements than a program may have. Such a program stops when it reads
    /// one.
    pub fn value(&self, ty: Ty, bytes: &[u8]) -> Val {
        let types = &self.module().types;
        if array_elements(types, ty) > self.options().max_elements {
            return Val::Undef;
        }
        let decode = |layouts: &crate::layout::Layouts| layouts.shape(types, ty).map(|s| s.decode(bytes));
        let value = match self.options().wide {
            true => decode(&crate::layout::Layouts::new(types, false)),
            false => decode(self.layouts()),
        };
        value.unwrap_or_else(|| {
            if let Type::Sum(_) = types.get(ty) { Val::unknown(0) } else { Val::zero(types, ty) }
        })
    }

    /// A value as bytes in C layout, if its type has one. In wide mode, floats are rounded.
    pub fn bytes(&self, ty: Ty, value: &Val) -> Option<Vec<u8>> {
        let types = &self.module().types;
        let narrow = self.options().wide.then(|| crate::layout::Layouts::new(types, false));
        let shape = narrow.as_ref().unwrap_or(self.layouts()).shape(types, ty)?;
        let mut bytes = vec![0; shape.size];
        shape.encode(value, &mut bytes);
        Some(bytes)
    }

    /// Elements in C layout as they lie in the program's memory.
    pub(crate) fn elements(&self, elem: Ty, bytes: &[u8]) -> Vec<u8> {
        match self.options().wide {
            true => widened(&self.module().types, elem, bytes),
            false => bytes.to_vec(),
        }
    }

    pub(crate) fn texels(&self, scalar: Scalar, texels: &[u8]) -> Vec<u8> {
        match self.options().wide {
            true => {
                let element = Element::scalar(scalar);
                let (types, ty) = element.ty();
                widened(types, ty, texels)
            }
            false => texels.to_vec(),
        }
    }
}

impl Interpreter {
    /// Bytes in C layout as they lie in memory.
    fn inward(&self, element: &Element, bytes: &[u8]) -> Vec<u8> {
        let (types, ty) = element.ty();
        if self.options.wide { widened(types, ty, bytes) } else { bytes.to_vec() }
    }

    /// The way back.
    fn outward(&self, element: &Element, bytes: &[u8]) -> Vec<u8> {
        let (types, ty) = element.ty();
        if self.options.wide { narrowed(types, ty, bytes) } else { bytes.to_vec() }
    }

    /// How many elements a buffer has.
    fn count(&self, buffer: &Buffer) -> usize {
        let size = buffer.memory.read().unwrap_or_else(PoisonError::into_inner).len();
        size.checked_div(buffer.packing.inner()).unwrap_or(0)
    }
}

impl Backend for Interpreter {
    type Program = Program;
    type Buffer = Buffer;
    type Texture = Texture;

    fn load(&self, compiled: &Compiled) -> Result<Program, Failure> {
        Ok(Program::new(compiled.module.clone(), self.options))
    }

    fn make_buffer(&self, element: &Element, bytes: &[u8]) -> Result<Buffer, Failure> {
        let (types, ty) = element.ty();
        let inner = |outer| if self.options.wide { widened(types, ty, &vec![0; outer]).len() } else { outer };
        let packing = Packing::new(element, inner)?;
        packing.count(bytes)?;
        let memory = Arc::new(RwLock::new(Arc::new(self.inward(element, bytes))));
        Ok(Buffer { element: element.clone(), packing, memory })
    }

    fn make_texture(&self, ty: TextureType, extent: Extent, texels: &[u8]) -> Result<Texture, Failure> {
        ty.check(extent, texels)?;
        let texture = ty.texture;
        let texels = self.inward(&Element::scalar(texture.scalar), texels);
        Ok(Texture { ty: texture, extent, memory: Arc::new(RwLock::new(Arc::new(texels))) })
    }

    fn element(buffer: &Buffer) -> &Element {
        &buffer.element
    }

    fn texels(texture: &Texture) -> Texels {
        texture.ty
    }

    fn size(&self, buffer: &Buffer) -> usize {
        self.count(buffer) * buffer.packing.outer()
    }

    fn write(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let range = offset..offset.saturating_add(bytes.len());
        let range = buffer.packing.range(self.count(buffer), range)?;
        let bytes = self.inward(&buffer.element, bytes);
        let mut memory = buffer.memory.write().unwrap_or_else(PoisonError::into_inner);
        match range == (0..memory.len()) {
            true => *memory = Arc::new(bytes),
            false => Arc::make_mut(&mut memory)[range].copy_from_slice(&bytes),
        }
        Ok(())
    }

    fn read(&self, buffer: &Buffer, range: Range<usize>) -> Result<Vec<u8>, Failure> {
        let range = buffer.packing.range(self.count(buffer), range)?;
        let memory = buffer.memory.read().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(self.outward(&buffer.element, &memory[range]))
    }

    fn read_texture(&self, texture: &Texture) -> Result<Vec<u8>, Failure> {
        let memory = texture.memory.read().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(self.outward(&Element::scalar(texture.ty.scalar), &memory))
    }

    fn launch(
        &self,
        program: &Program,
        entry: FuncId,
        groups: [u32; 3],
        arguments: &Arguments<Self>,
        launch: Launch,
    ) -> Result<Launched, Failure> {
        if program.module().funcs[entry].entry.is_none() {
            let name = program.module().funcs[entry].name;
            return Err(Failure::usage(format!("`{name}` is no entry point")));
        }
        self.with_machine(program, arguments, self.options(launch)?, |machine| {
            let start = launch.timed.then(Instant::now);
            let ended = self.holding_detached(machine, |machine| machine.dispatch(entry, groups));
            let time = start.map(|s| Time { seconds: s.elapsed().as_secs_f64(), by_device: false });
            Launched { ended, printed: machine.take_output(), time }
        })
    }
}

impl Call for Interpreter {
    fn call(
        &self,
        program: &Program,
        func: FuncId,
        arguments: &Arguments<Self>,
        points: usize,
        inputs: &[&[u8]],
        launch: Launch,
    ) -> Result<Called, Failure> {
        let module = program.module();
        let sig = &module.funcs[func].sig;
        let sizes = check_inputs(module, func, points, inputs)?;
        let given: Vec<(Ty, usize, &[u8])> = (sig.inputs().zip(inputs))
            .map(|(input, bytes)| (input.ty, bytes.len().checked_div(points).unwrap_or(0), *bytes))
            .collect();
        let outputs: Vec<(Ty, usize)> = sig.outputs().map(|output| output.ty).zip(sizes).collect();
        let narrow = program.options().wide.then(|| crate::layout::Layouts::new(&module.types, false));
        let layouts = narrow.as_ref().unwrap_or(program.layouts());
        let shape = |ty| layouts.shape(&module.types, ty);
        self.with_machine(program, arguments, self.options(launch)?, |machine| {
            let mut called = Called {
                outputs: outputs.iter().map(|(_, size)| vec![0; points * size]).collect(),
                ended: Ok(()),
                printed: String::new(),
            };
            for point in 0..points {
                let input = |(ty, size, bytes): &(Ty, usize, &[u8])| {
                    shape(*ty).map_or(Val::Unit, |shape| shape.decode(&bytes[point * size..]))
                };
                let values = match machine.call(func, given.iter().map(input).collect()) {
                    Ok(values) => values,
                    Err(stopped) => {
                        called.ended = Err((point, stopped));
                        break;
                    }
                };
                for (((ty, size), bytes), value) in outputs.iter().zip(&mut called.outputs).zip(&values) {
                    if let Some(shape) = shape(*ty) {
                        shape.encode(value, &mut bytes[point * size..(point + 1) * size]);
                    }
                }
            }
            called.printed = machine.take_output();
            called
        })
    }
}
