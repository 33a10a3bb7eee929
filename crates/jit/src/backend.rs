//! Native code as a back end.
//!
//! The memory of buffers is bytes in C layout: what the host has is copied as it is. An entry point is compiled at its first launch
//! and kept. A launch locks the buffers that it writes for itself and shares the others, in a fixed order, so that launches in several
//! threads cannot deadlock.
#![allow(unsafe_code)]

use crate::bytes::Bytes;
use crate::compile::{LaneChoice, Options, Program};
use crate::launch::{Given, Limits};
use crate::monitor::{Control, Monitor};
use crate::points::Points;
use crate::stop::Unsupported;
use crate::texture::{Image, NO_EXTENT};
use cotangent_base::Map;
use cotangent_ir::texture::{Extent, Texture as Texels};
use cotangent_ir::{Func, FuncId, Global, Module, Type, layout};
use cotangent_runtime::{
    Arguments, Backend, Call, Called, Compiled, Element, Failure, Fitting, Launch, Launched, Packing,
    Stopped, TextureType, Time, check_inputs, fittings, locking,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// Runs programs as native code.
#[derive(Clone, Debug)]
pub struct Native {
    /// How to run, unless a launch says otherwise.
    pub limits: Limits,
    /// Whether threads run side by side in lanes.
    pub lanes: LaneChoice,
    /// Watches launches, and stops them.
    pub monitor: Monitor,
}

impl Default for Native {
    /// On all cores.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Native::new(Limits { cores, ..Limits::default() })
    }
}

impl Native {
    /// Runs with these limits.
    pub fn new(limits: Limits) -> Self {
        Native { limits, lanes: LaneChoice::default(), monitor: Monitor::default() }
    }

    /// Compiles an entry point for such launches, so that the first of them takes no longer than others.
    pub fn prepare(&self, program: &Loaded, entry: FuncId, launch: Launch) -> Result<(), Failure> {
        program.code(self.key(entry, launch, false)).map(|_| ())
    }

    /// Why the threads of an entry point run one after the other in such launches, if they were to run in lanes and cannot.
    pub fn no_lanes(
        &self,
        program: &Loaded,
        entry: FuncId,
        launch: Launch,
    ) -> Result<Option<Unsupported>, Failure> {
        let code = program.code(self.key(entry, launch, false))?;
        Ok(code.program.no_lanes().cloned())
    }

    /// What is to be compiled for such launches.
    fn key(&self, func: FuncId, launch: Launch, at_points: bool) -> Key {
        let count_steps = self.limits(launch).max_steps.is_some();
        Key { func, options: Options { count_steps, lanes: self.lanes }, at_points }
    }

    /// Launches an entry point on memory of the caller's, without a copy. `values` are the bytes of uniforms. What is not there is
    /// a buffer without elements, or zero.
    ///
    /// # Safety
    /// The memory is there until the launch ends. Nobody else writes it meanwhile, nor reads what the program writes. Parts of it may
    /// overlap, as parameters that are the same buffer do.
    pub unsafe fn launch_on(
        &self,
        program: &Loaded,
        entry: FuncId,
        groups: [u32; 3],
        values: &[(Global, &[u8])],
        memory: &[Foreign],
        launch: Launch,
    ) -> Result<Launched, Failure> {
        let limits = self.limits(launch);
        let mut locked = Locked { _written: vec![], _read: vec![], _values: vec![], given: vec![] };
        for (global, bytes) in values {
            locked.give_value(*global, bytes);
        }
        let module = &program.compiled.module;
        for Foreign { global, address, bytes } in memory {
            let Type::Buffer(elem, _) = module.types.get(module.globals[*global].ty) else {
                return Err(Failure::usage(format!("`{}` is no buffer", module.globals[*global].name)));
            };
            let align = layout::layout(&module.types, elem).map_or(1, |l| l.align as usize);
            if !(*address as usize).is_multiple_of(align) {
                let name = module.globals[*global].name;
                return Err(Failure::usage(format!(
                    "the memory of `{name}` is not aligned to {align} bytes"
                )));
            }
            locked.given.push(Given::new(*global, *address, *bytes));
        }
        let code = program.code_on(self.key(entry, launch, false), &locked.given)?;
        let control = Control::new(&self.monitor, limits.max_steps, false);
        let mut printed = String::new();
        // SAFETY: what the caller promises; values are held until the end of this function.
        let ended =
            unsafe { code.program.run(&locked.given, groups, limits, control, &self.monitor, &mut printed) };
        Ok(Launched { ended, printed, time: None })
    }

    fn limits(&self, launch: Launch) -> Limits {
        Limits {
            max_steps: launch.max_steps.or(self.limits.max_steps),
            max_time: launch.max_time.or(self.limits.max_time),
            ..self.limits
        }
    }
}

/// The memory of a buffer that is not the back end's.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// The parameter.
    pub global: Global,
    /// Its first element.
    pub address: *mut u8,
    /// How many bytes its elements take.
    pub bytes: usize,
}

/// Memory that launches take turns in writing.
type Memory = Arc<RwLock<Bytes>>;

fn read(memory: &Memory) -> RwLockReadGuard<'_, Bytes> {
    memory.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(memory: &Memory) -> RwLockWriteGuard<'_, Bytes> {
    memory.write().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer of native code.
#[derive(Clone, Debug)]
pub struct Buffer {
    element: Element,
    packing: Packing,
    memory: Memory,
}

/// A texture of native code.
#[derive(Clone, Debug)]
pub struct Texture {
    ty: Texels,
    extent: Extent,
    memory: Memory,
}

/// What is compiled of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    func: FuncId,
    options: Options,
    /// Whether it is called at points.
    at_points: bool,
}

/// Something that is compiled.
struct Code {
    program: Program,
    /// How it is called at points.
    points: Option<Points>,
    /// How long compiling took.
    time: Duration,
}

/// A program whose entry points are compiled when they are first launched.
pub struct Loaded {
    compiled: Compiled,
    code: Mutex<Map<Key, Result<Arc<Code>, Unsupported>>>,
}

impl Loaded {
    /// The code of a function, compiled if it is not there yet.
    fn code(&self, key: Key) -> Result<Arc<Code>, Failure> {
        let mut all = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let code = all.entry(key).or_insert_with(|| compile(&self.compiled.module, key).map(Arc::new));
        code.clone().map_err(|unsupported| Failure::Refused(Box::new(unsupported.diagnostic())))
    }

    /// The same for a launch on such memory.
    fn code_on(&self, key: Key, given: &[Given]) -> Result<Arc<Code>, Failure> {
        let code = self.code(key)?;
        if code.program.takes(given) {
            return Ok(code);
        }
        let options = Options { lanes: LaneChoice::Never, ..key.options };
        self.code(Key { options, ..key })
    }

    /// How long it took to compile what was launched so far.
    pub fn compile_time(&self) -> Duration {
        let all = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().flatten().map(|code| code.time).sum()
    }
}

fn compile(module: &Module, Key { func, options, at_points }: Key) -> Result<Code, Unsupported> {
    let start = Instant::now();
    let points = at_points.then(|| Points::new(module, func));
    let program = match &points {
        Some(points) => Program::compile(&points.module, points.entry, options)?,
        None => Program::compile(module, func, options)?,
    };
    Ok(Code { program, points, time: start.elapsed() })
}

/// A parameter with its memory, whether it is written, and how large a texture is.
type Bound<'a> = (Global, &'a Memory, bool, Extent);

/// The memory that a launch uses, locked until it ends.
struct Locked<'a> {
    _written: Vec<RwLockWriteGuard<'a, Bytes>>,
    _read: Vec<RwLockReadGuard<'a, Bytes>>,
    /// Copies of values.
    _values: Vec<Bytes>,
    given: Vec<Given>,
}

impl<'a> Locked<'a> {
    fn new(compiled: &Compiled, arguments: &'a Arguments<Native>) -> Result<Self, Failure> {
        let mut bound: Vec<Bound<'a>> = Vec::new();
        let mut locked = Locked { _written: vec![], _read: vec![], _values: vec![], given: vec![] };
        for (global, argument) in fittings(&compiled.module, arguments, false)? {
            match argument {
                Fitting::Buffer(buffer, _, writes) => bound.push((global, &buffer.memory, writes, NO_EXTENT)),
                Fitting::Texture(texture, writes) => {
                    bound.push((global, &texture.memory, writes, texture.extent));
                }
                Fitting::Sampler(state) => {
                    locked.given.push(Given { global, image: Image { state, ..Image::default() } });
                }
                Fitting::Value(bytes) => locked.give_value(global, bytes),
            }
        }
        locked.lock(bound);
        Ok(locked)
    }

    fn give_value(&mut self, global: Global, bytes: &[u8]) {
        let own = Bytes::copied(bytes);
        self.given.push(Given::new(global, own.address(), own.len()));
        self._values.push(own);
    }

    fn lock(&mut self, bound: Vec<Bound<'a>>) {
        let uses = bound.iter().map(|(_, memory, writes, _)| (*memory, *writes));
        for (memory, writes) in locking::in_order(uses) {
            let (address, bytes) = match writes {
                true => {
                    let guard = write(memory);
                    let found = (guard.address(), guard.len());
                    self._written.push(guard);
                    found
                }
                false => {
                    let guard = read(memory);
                    let found = (guard.address(), guard.len());
                    self._read.push(guard);
                    found
                }
            };
            let users = bound.iter().filter(|(_, other, ..)| Arc::ptr_eq(other, memory));
            self.given.extend(users.map(|(global, _, _, extent)| {
                let image = Image { address, bytes, extent: *extent, ..Image::default() };
                Given { global: *global, image }
            }));
        }
    }
}

impl Backend for Native {
    type Program = Loaded;
    type Buffer = Buffer;
    type Texture = Texture;

    fn load(&self, compiled: &Compiled) -> Result<Loaded, Failure> {
        Ok(Loaded { compiled: compiled.clone(), code: Mutex::default() })
    }

    fn make_buffer(&self, element: &Element, bytes: &[u8]) -> Result<Buffer, Failure> {
        let packing = Packing::new(element, |outer| outer)?;
        packing.count(bytes)?;
        let memory = Arc::new(RwLock::new(Bytes::copied(bytes)));
        Ok(Buffer { element: element.clone(), packing, memory })
    }

    fn make_texture(&self, ty: TextureType, extent: Extent, texels: &[u8]) -> Result<Texture, Failure> {
        ty.check(extent, texels)?;
        Ok(Texture { ty: ty.texture, extent, memory: Arc::new(RwLock::new(Bytes::copied(texels))) })
    }

    fn element(buffer: &Buffer) -> &Element {
        &buffer.element
    }

    fn texels(texture: &Texture) -> Texels {
        texture.ty
    }

    fn size(&self, buffer: &Buffer) -> usize {
        read(&buffer.memory).len()
    }

    fn write(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let mut memory = write(&buffer.memory);
        let count = memory.len() / buffer.packing.outer();
        let range = buffer.packing.range(count, offset..offset.saturating_add(bytes.len()))?;
        memory.as_mut_slice()[range].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, buffer: &Buffer, range: Range<usize>) -> Result<Vec<u8>, Failure> {
        let memory = read(&buffer.memory);
        let range = buffer.packing.range(memory.len() / buffer.packing.outer(), range)?;
        Ok(memory.as_slice()[range].to_vec())
    }

    fn read_texture(&self, texture: &Texture) -> Result<Vec<u8>, Failure> {
        Ok(read(&texture.memory).as_slice().to_vec())
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
        if func.entry.is_none() {
            return Err(Failure::usage(format!("`{}` is no entry point", func.name)));
        }
        let limits = self.limits(launch);
        let key = self.key(entry, launch, false);
        // Before memory is locked.
        program.code(key)?;
        let locked = Locked::new(&program.compiled, arguments)?;
        let code = program.code_on(key, &locked.given)?;
        let control = Control::new(&self.monitor, limits.max_steps, false);
        let mut printed = String::new();
        let start = launch.timed.then(Instant::now);
        // SAFETY: the locks are held until the end of this function.
        let ended =
            unsafe { code.program.run(&locked.given, groups, limits, control, &self.monitor, &mut printed) };
        let time = start.map(|s| Time { seconds: s.elapsed().as_secs_f64(), by_device: false });
        Ok(Launched { ended, printed, time })
    }
}

impl Call for Native {
    fn call(
        &self,
        program: &Loaded,
        func: FuncId,
        arguments: &Arguments<Self>,
        points: usize,
        inputs: &[&[u8]],
        launch: Launch,
    ) -> Result<Called, Failure> {
        let limits = self.limits(launch);
        let sizes = check_inputs(&program.compiled.module, func, points, inputs)?;
        let key = self.key(func, launch, true);
        let code = program.code(key)?;
        let Some(at) = &code.points else { unreachable!("it was compiled to be called at points") };
        let mut locked = Locked::new(&program.compiled, arguments)?;
        for (global, bytes) in at.inputs.iter().zip(inputs) {
            if let Some(global) = global {
                locked.give_value(*global, bytes);
            }
        }
        let count =
            u32::try_from(points).map_err(|_| Failure::usage(format!("{points} points are too many")))?;
        locked.give_value(at.count, &count.to_le_bytes());
        let mut outputs: Vec<Bytes> = sizes.iter().map(|size| Bytes::zeroed(points * size)).collect();
        for (global, bytes) in at.outputs.iter().zip(&outputs) {
            let given = |global: &Global| Given::new(*global, bytes.address(), bytes.len());
            locked.given.extend(global.iter().map(given));
        }
        let code = program.code_on(key, &locked.given)?;
        let control = Control::new(&self.monitor, limits.max_steps, true);
        let mut printed = String::new();
        let groups = [count.div_ceil(at.threads), 1, 1];
        // SAFETY: the locks are held until the end of this function, where the outputs are, too.
        let ended =
            unsafe { code.program.run(&locked.given, groups, limits, control, &self.monitor, &mut printed) };
        let ended = ended.map_err(|stopped| at_point(stopped, &program.compiled.module.funcs[func]));
        if let Err((point, _)) = &ended {
            // Points after it may have been evaluated, or not.
            for (bytes, size) in outputs.iter_mut().zip(&sizes) {
                bytes.as_mut_slice()[point * size..].fill(0);
            }
        }
        let outputs = outputs.iter().map(|bytes| bytes.as_slice().to_vec()).collect();
        Ok(Called { outputs, ended, printed })
    }
}

/// The point at which a function stopped, and why it did, without the entry point that called it.
fn at_point(mut stopped: Stopped, func: &Func) -> (usize, Stopped) {
    if stopped.span.is_none() && stopped.calls.is_empty() {
        (stopped.span, stopped.func) = (func.span, func.name);
    }
    let point = stopped.thread.take().map_or(0, |thread| thread[0] as usize);
    stopped.calls.pop_if(|span| span.is_none());
    (point, stopped)
}
