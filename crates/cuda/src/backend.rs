//! The back end: programs, buffers and textures on a device, and launches.
//!
//! A thread that stops notes its site, its number and the index in a variable of the module, and leaves. The variable is read when the
//! launch has ended. What a program prints goes to the standard output by CUDA's own means, at the end of the launch.
#![allow(unsafe_code)]

use crate::blocks::Blocks;
use crate::driver::{Driver, Handle};
use crate::memory::Memory;
use crate::{Device, Translate};
use cotangent_base::{Span, Symbol};
use cotangent_ir::layout::bind::bind;
use cotangent_ir::layout::{Matrices, Memory as Place, Target};
use cotangent_ir::texture::{Extent, Texture as Texels};
use cotangent_ir::{FuncId, Trap};
use cotangent_runtime::{
    Arguments, Backend, Compiled, Element, Failure, Launch, Launched, Outside, Packing, Stopped, TextureType,
    Time,
};
use std::collections::HashMap;
use std::ffi::{CString, c_uint, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// How many threads a group may have.
const MOST_THREADS: u64 = 1024;
/// How many groups there may be along each axis.
const MOST_GROUPS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// What every text begins with: where a thread notes why it stopped.
const PRELUDE: &str = r#"
struct CtNote { int state, line; unsigned thread[3]; int length; long long index; unsigned long long count; char text[96]; };
extern "C" { __device__ CtNote ct_note; }
static __device__ __noinline__ void ct_stop(int line, const char* what, long long index, unsigned long long count) {
    if (atomicCAS(&ct_note.state, 0, 1) == 0) {
        ct_note.line = line;
        ct_note.thread[0] = blockIdx.x * blockDim.x + threadIdx.x;
        ct_note.thread[1] = blockIdx.y * blockDim.y + threadIdx.y;
        ct_note.thread[2] = blockIdx.z * blockDim.z + threadIdx.z;
        ct_note.index = index;
        ct_note.count = count;
        int n = 0;
        for (; what[n] && n < 96; n++) ct_note.text[n] = what[n];
        ct_note.length = n;
    }
    asm volatile("exit;");
}
#define COTANGENT_TRAP(line, what) ct_stop(line, what, 0, 0)
#define COTANGENT_OUTSIDE(line, index, count) ct_stop(line, "index out of bounds", index, count)
"#;
const NOTE_BYTES: usize = 136;

/// Runs programs on a device.
pub struct Cuda {
    /// The device.
    pub device: Arc<Device>,
    translate: Translate,
}

/// A program on a device.
pub struct Loaded {
    compiled: Compiled,
    kernels: Mutex<HashMap<FuncId, Arc<Kernel>>>,
}

/// An entry point on a device.
struct Kernel {
    device: Arc<Device>,
    module: Handle,
    function: Handle,
    /// Where threads note why they stop; a kernel that cannot stop has no such place.
    note: Option<u64>,
    sites: Vec<Span>,
    /// Held while it runs: launches share the note.
    running: Mutex<()>,
}

// SAFETY: handles of the driver may be used in any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above; the note is used under a lock.
unsafe impl Sync for Kernel {}

/// A buffer on a device.
#[derive(Clone)]
pub struct Buffer {
    pub(crate) element: Element,
    packing: Arc<Packing>,
    pub(crate) count: usize,
    pub(crate) memory: Arc<Memory>,
}

/// A texture on a device.
#[derive(Clone)]
pub struct Texture {
    pub(crate) ty: Texels,
    /// A `ct::Texture`, which points to the texels.
    pub(crate) header: Arc<Memory>,
    texels: Arc<Memory>,
    /// How many bytes the first level has.
    first: usize,
}

/// How such elements move.
pub(crate) fn packing(element: &Element) -> Result<Packing, Failure> {
    let packing = Packing::by(element, Target::Cuda.rules(Place::Buffer, Matrices::Rows));
    packing.ok_or_else(|| Failure::usage("the elements of the buffer have no layout on a CUDA device"))
}

impl Cuda {
    /// A device that is given the texts that `translate` writes.
    pub fn new(device: Device, translate: Translate) -> Self {
        Cuda { device: Arc::new(device), translate }
    }

    fn memory(&self, bytes: &[u8]) -> Result<Arc<Memory>, Failure> {
        Memory::new(&self.device, bytes).map(Arc::new).map_err(Failure::Device)
    }

    /// The entry point, compiled when it is first launched.
    fn kernel(&self, program: &Loaded, entry: FuncId) -> Result<Arc<Kernel>, Failure> {
        let mut kernels = program.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&entry) {
            return Ok(kernel.clone());
        }
        let crate::Text { text, symbol, sites } =
            (self.translate)(&program.compiled, entry).map_err(Failure::Refused)?;
        let nvrtc = self.device.nvrtc;
        let kernel = nvrtc.architecture(self.device.info().capability).and_then(|architecture| {
            let code = nvrtc.compile(&format!("{PRELUDE}{text}"), &architecture)?;
            Kernel::load(&self.device, &code, &symbol, sites)
        });
        let kernel = Arc::new(kernel.map_err(Failure::Device)?);
        kernels.insert(entry, kernel.clone());
        Ok(kernel)
    }
}

impl Kernel {
    fn load(device: &Arc<Device>, code: &[u8], symbol: &str, sites: Vec<Span>) -> Result<Kernel, String> {
        let mut kernel = Kernel {
            device: device.clone(),
            module: std::ptr::null_mut(),
            function: std::ptr::null_mut(),
            note: None,
            sites,
            running: Mutex::default(),
        };
        let c = |text: &str| CString::new(text).map_err(|_| format!("`{text}` is not a name"));
        let (symbol, note) = (c(symbol)?, c("ct_note")?);
        device.current(|driver| {
            let (mut place, mut size) = (0, 0);
            // SAFETY: the code is complete, portable code ends with a zero byte, and names are of C.
            unsafe {
                driver.check(
                    (driver.load)(&mut kernel.module, code.as_ptr().cast()),
                    "cannot load the program",
                )?;
                let found = (driver.function)(&mut kernel.function, kernel.module, symbol.as_ptr());
                driver.check(found, "cannot find the kernel")?;
                let found = (driver.global)(&mut place, &mut size, kernel.module, note.as_ptr());
                kernel.note = (found == 0 && size >= NOTE_BYTES).then_some(place);
            }
            Ok(())
        })?;
        Ok(kernel)
    }

    /// Runs groups, and waits for their end. Gives the seconds by the clock of the device, and the note if a thread stopped.
    fn run(
        &self,
        [x, y, z]: [u32; 3],
        threads: [u32; 3],
        blocks: &[Vec<u8>],
        timed: bool,
    ) -> Result<(Option<f64>, Option<[u8; NOTE_BYTES]>), String> {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut arguments: Vec<*mut c_void> =
            blocks.iter().map(|block| block.as_ptr().cast_mut().cast()).collect();
        let [tx, ty, tz] = threads.map(|n| n as c_uint);
        self.device.current(|driver| {
            let events = timed.then(|| Events::new(driver)).transpose()?;
            let (stream, none) = (std::ptr::null_mut(), std::ptr::null_mut());
            events.as_ref().map_or(Ok(()), |events| events.record(0))?;
            // SAFETY: the kernel takes blocks of these sizes, which the driver copies.
            let code = unsafe {
                (driver.launch)(self.function, x, y, z, tx, ty, tz, 0, stream, arguments.as_mut_ptr(), none)
            };
            driver.check(code, "cannot launch the kernel")?;
            events.as_ref().map_or(Ok(()), |events| events.record(1))?;
            // SAFETY: the context is current.
            driver.check(unsafe { (driver.synchronize)() }, "the kernel failed")?;
            let seconds = events.as_ref().map(Events::seconds).transpose()?;
            Ok((seconds, self.take_note(driver)?))
        })
    }

    /// What a thread noted, which is cleared for the next launch.
    fn take_note(&self, driver: &Driver) -> Result<Option<[u8; NOTE_BYTES]>, String> {
        let Some(place) = self.note else { return Ok(None) };
        let mut note = [0u8; NOTE_BYTES];
        // SAFETY: the variable has at least so many bytes.
        let code = unsafe { (driver.to_host)(note.as_mut_ptr().cast(), place, NOTE_BYTES) };
        driver.check(code, "cannot copy from the device")?;
        if note[..4] == [0; 4] {
            return Ok(None);
        }
        let zeros = [0u8; 4];
        // SAFETY: as above.
        driver.check(
            unsafe { (driver.to_device)(place, zeros.as_ptr().cast(), 4) },
            "cannot copy to the device",
        )?;
        Ok(Some(note))
    }

    fn stopped(&self, note: &[u8; NOTE_BYTES], func: Symbol) -> Stopped {
        let word = |at: usize| u32::from_le_bytes(note[at..at + 4].try_into().unwrap_or_default());
        let long = |at: usize| u64::from_le_bytes(note[at..at + 8].try_into().unwrap_or_default());
        let length = (word(20) as usize).min(NOTE_BYTES - 40);
        // `abort` has a text of the program's.
        let trap = Trap::said(&String::from_utf8_lossy(&note[40..40 + length])).unwrap_or(Trap::Abort);
        let site = (word(4) as usize).checked_sub(1).and_then(|site| self.sites.get(site));
        let outside = Outside { index: long(24) as i64, len: long(32) as usize };
        Stopped {
            trap,
            span: site.copied().unwrap_or(Span::none()),
            func,
            calls: vec![],
            thread: Some([word(8), word(12), word(16)]),
            outside: (trap == Trap::OutOfBounds && outside.len > 0).then_some(outside),
            other: None,
            unknown: None,
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let module = self.module;
        let _ = self.device.current(|driver| {
            // SAFETY: nothing runs any more, and nobody else has the module. What was not loaded is null, which the driver refuses.
            unsafe { (driver.unload)(module) };
            Ok(())
        });
    }
}

/// Two points in time, by the clock of the device.
struct Events<'d> {
    driver: &'d Driver,
    events: [Handle; 2],
}

impl<'d> Events<'d> {
    fn new(driver: &'d Driver) -> Result<Self, String> {
        let mut events = Events { driver, events: [std::ptr::null_mut(); 2] };
        for event in &mut events.events {
            // SAFETY: the context is current.
            driver.check(unsafe { (driver.make_event)(event, 0) }, "cannot measure time")?;
        }
        Ok(events)
    }

    fn record(&self, number: usize) -> Result<(), String> {
        // SAFETY: the event was made.
        let code = unsafe { (self.driver.record)(self.events[number], std::ptr::null_mut()) };
        self.driver.check(code, "cannot measure time")
    }

    fn seconds(&self) -> Result<f64, String> {
        let mut milliseconds = 0.0;
        // SAFETY: both were recorded, and the device waited for.
        let code = unsafe { (self.driver.elapsed)(&mut milliseconds, self.events[0], self.events[1]) };
        self.driver.check(code, "cannot measure time")?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        for event in self.events.into_iter().filter(|event| !event.is_null()) {
            // SAFETY: it was made, and nothing waits for it.
            unsafe { (self.driver.free_event)(event) };
        }
    }
}

impl Backend for Cuda {
    type Program = Loaded;
    type Buffer = Buffer;
    type Texture = Texture;

    fn load(&self, compiled: &Compiled) -> Result<Loaded, Failure> {
        Ok(Loaded { compiled: compiled.clone(), kernels: Mutex::default() })
    }

    fn make_buffer(&self, element: &Element, bytes: &[u8]) -> Result<Buffer, Failure> {
        let packing = packing(element)?;
        let count = packing.count(bytes)?;
        let memory = self.memory(&packing.inward(bytes))?;
        Ok(Buffer { element: element.clone(), packing: Arc::new(packing), count, memory })
    }

    fn make_texture(&self, ty: TextureType, extent: Extent, texels: &[u8]) -> Result<Texture, Failure> {
        let ty = ty.texture;
        let texels = self.memory(texels)?;
        let [x, y, z] = extent.size;
        let address = texels.address().to_le_bytes();
        let numbers = [x, y, z, extent.layers, extent.levels, 0].into_iter().flat_map(u32::to_le_bytes);
        let header: Vec<u8> = address.into_iter().chain(numbers).collect();
        let texel = usize::from(ty.lanes) * ty.scalar.bytes() as usize;
        let first = Extent { levels: 1, ..extent }.texels() * texel;
        Ok(Texture { ty, header: self.memory(&header)?, texels, first })
    }

    fn element(buffer: &Buffer) -> &Element {
        &buffer.element
    }

    fn texels(texture: &Texture) -> Texels {
        texture.ty
    }

    fn size(&self, buffer: &Buffer) -> usize {
        buffer.count * buffer.packing.outer()
    }

    fn write(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let range = buffer.packing.range(buffer.count, offset..offset.saturating_add(bytes.len()))?;
        buffer.memory.write(range.start, &buffer.packing.inward(bytes)).map_err(Failure::Device)
    }

    fn read(&self, buffer: &Buffer, range: Range<usize>) -> Result<Vec<u8>, Failure> {
        let range = buffer.packing.range(buffer.count, range)?;
        let bytes = buffer.memory.read(range).map_err(Failure::Device)?;
        Ok(buffer.packing.outward(&bytes))
    }

    fn read_texture(&self, texture: &Texture) -> Result<Vec<u8>, Failure> {
        texture.texels.read(0..texture.first).map_err(Failure::Device)
    }

    fn launch(
        &self,
        program: &Loaded,
        entry: FuncId,
        groups: [u32; 3],
        arguments: &Arguments<Self>,
        launch: Launch,
    ) -> Result<Launched, Failure> {
        let Loaded { compiled, .. } = program;
        let func = &compiled.module.funcs[entry];
        let Some(threads) = func.entry.as_ref().map(|entry| entry.threads) else {
            return Err(Failure::usage(format!("`{}` is no entry point", func.name)));
        };
        if launch.max_steps.is_some() || launch.max_time.is_some() {
            return Err(Failure::usage("CUDA cannot limit a launch: leave out the limit"));
        }
        let all: u64 = threads.iter().map(|n| u64::from(*n)).product();
        if all > MOST_THREADS {
            let why =
                format!("a group has {all} threads, but a CUDA device runs at most {MOST_THREADS} together");
            return Err(Failure::usage(why));
        }
        if groups.iter().zip(MOST_GROUPS).any(|(given, most)| *given > most) {
            let why = format!(
                "{groups:?} groups are too many for a CUDA device, which runs at most {MOST_GROUPS:?}"
            );
            return Err(Failure::usage(why));
        }
        let kernel = self.kernel(program, entry)?;
        let bindings = bind(&compiled.module.types, &compiled.params, Target::Cuda, Matrices::Rows);
        let mut blocks = Blocks { cuda: self, compiled, arguments, held: vec![] };
        let size = bindings.block.map_or(1, |block| block.size);
        let mut all = vec![blocks.block(&compiled.params.globals, &bindings.params, size)?];
        let own = compiled.params.entries.iter().zip(&bindings.entries);
        for ((_, list), placed) in own.filter(|((name, list), _)| *name == func.name && !list.is_empty()) {
            let size = placed.block.map_or(1, |block| block.size);
            all.push(blocks.block(list, &placed.params, size)?);
        }
        if groups.contains(&0) {
            return Ok(Launched { ended: Ok(()), printed: String::new(), time: None });
        }
        let (seconds, note) = kernel.run(groups, threads, &all, launch.timed).map_err(Failure::Device)?;
        drop(blocks);
        let ended = note.map_or(Ok(()), |note| Err(kernel.stopped(&note, func.name)));
        let time = seconds.map(|seconds| Time { seconds, by_device: true });
        Ok(Launched { ended, printed: String::new(), time })
    }
}
