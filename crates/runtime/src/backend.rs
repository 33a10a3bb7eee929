//! The interface to everything that runs programs.
//!
//! A program is loaded once ([`Backend::load`]) and launched many times. Buffers and textures are handles to memory that the
//! back end owns: launches, also of different programs, share them without copying through the host. On the host, a buffer is
//! bytes in C layout; [`Backend::make_buffer`] and [`Backend::write`] convert them to the form of the back end, and
//! [`Backend::read`] converts back.
//!
//! Failures and traps are separate. A [`Failure`] means that the launch is impossible: the back end refuses the program, an
//! argument does not fit, or the device fails. A program that stops before its end is not a failure of the launch:
//! [`Launched::ended`] has the reason, with the source line and the thread. What the program wrote before stays in the
//! buffers.
//!
//! Threads may share programs, buffers and textures. Launches that write the same buffer run one after another.

use crate::{Element, Error, Stopped};
use cotangent_base::{Diagnostic, Map, Symbol};
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Texture, Touched};
use cotangent_ir::{FuncId, Global, GlobalKind, Module, Type};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Something that runs programs.
pub trait Backend: Send + Sync {
    /// A program that is ready to run.
    type Program: Send + Sync;
    /// A handle to a buffer; clones name the same memory.
    type Buffer: Clone + Send + Sync;
    /// A handle to a texture; clones name the same memory.
    type Texture: Clone + Send + Sync;

    /// Makes a program ready to run.
    fn load(&self, compiled: &Compiled) -> Result<Self::Program, Failure>;

    /// A buffer of such elements, filled with `bytes` in C layout.
    fn make_buffer(&self, element: &Element, bytes: &[u8]) -> Result<Self::Buffer, Failure>;

    /// A texture of that extent, filled with texels: level by level, layer by layer, row by row.
    fn make_texture(&self, ty: TextureType, extent: Extent, texels: &[u8]) -> Result<Self::Texture, Failure>;

    /// The elements of a buffer.
    fn element(buffer: &Self::Buffer) -> &Element;

    /// The type of a texture.
    fn texels(texture: &Self::Texture) -> Texture;

    /// How many bytes a buffer has in C layout.
    fn size(&self, buffer: &Self::Buffer) -> usize;

    /// Replaces whole elements of a buffer, from the byte `offset` on.
    fn write(&self, buffer: &Self::Buffer, offset: usize, bytes: &[u8]) -> Result<(), Failure>;

    /// Reads whole elements of a buffer: the bytes in that range.
    fn read(&self, buffer: &Self::Buffer, range: Range<usize>) -> Result<Vec<u8>, Failure>;

    /// Reads the first level of a texture.
    fn read_texture(&self, texture: &Self::Texture) -> Result<Vec<u8>, Failure>;

    /// Runs an entry point of a loaded program over groups of threads, and waits for its end. Parameters without an argument are
    /// zero; whether a buffer or texture may be missing is up to the back end.
    fn launch(
        &self,
        program: &Self::Program,
        entry: FuncId,
        groups: [u32; 3],
        arguments: &Arguments<Self>,
        launch: Launch,
    ) -> Result<Launched, Failure>;
}

/// A back end that can also call any function of a program, over an array of points.
pub trait Call: Backend {
    /// Calls a function once per point, each call as the only thread of a group. `inputs` has an array in C layout per input of
    /// the function, with one element per point. Stops at the first point at which the function traps.
    fn call(
        &self,
        program: &Self::Program,
        func: FuncId,
        arguments: &Arguments<Self>,
        points: usize,
        inputs: &[&[u8]],
        launch: Launch,
    ) -> Result<Called, Failure>;
}

/// What came of calling a function over an array of points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// An array in C layout per output of the function: the result first, then `out` and `inout` parameters. What a function
    /// does not write is zero.
    pub outputs: Vec<Vec<u8>>,
    /// Whether all points were evaluated, or else which one stopped and why.
    pub ended: Result<(), (usize, Stopped)>,
    /// What was printed.
    pub printed: String,
}

/// An optimized program, as the compiler hands it to back ends. Clones share it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The code.
    pub module: Arc<Module>,
    /// The parameters as they were declared.
    pub params: Arc<ShaderParams>,
    /// The parameters whose matrices were transposed, since they lie column by column.
    pub turned: Arc<[Symbol]>,
}

impl Compiled {
    /// A program with these parameters.
    pub fn new(module: impl Into<Arc<Module>>, params: impl Into<Arc<ShaderParams>>) -> Self {
        Compiled { module: module.into(), params: params.into(), turned: Arc::default() }
    }

    /// The entry point of that name.
    pub fn entry(&self, name: &str) -> Option<FuncId> {
        let mut entries = self.module.funcs.iter().filter(|(_, func)| func.entry.is_some());
        entries.find(|(_, func)| func.name == *name).map(|(id, _)| id)
    }

    /// The parameter of that name: `gain`, or for a resource inside of a structure `block.weights`.
    pub fn parameter(&self, name: &str) -> Option<Global> {
        let mut all = self.module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
        all.find(|(_, data)| data.name == *name).map(|(global, _)| global)
    }

    /// What the elements of a parameter are, if it is a buffer.
    pub fn element(&self, param: Global) -> Option<Element> {
        if let Type::Buffer(elem, _) = self.module.types.get(self.module.globals[param].ty) {
            Some(Element::new(&self.module, elem))
        } else {
            None
        }
    }

    /// What a parameter is, if it is a texture.
    pub fn texture(&self, param: Global) -> Option<TextureType> {
        if let Type::Opaque(Opaque::Texture(texture)) = self.module.types.get(self.module.globals[param].ty) {
            Some(TextureType { texture, touched: Touched::of(&self.module, param) })
        } else {
            None
        }
    }
}

/// What a texture is, and what programs do to it: a device keeps textures of different uses in different ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextureType {
    /// Its type.
    pub texture: Texture,
    /// What is done to it.
    pub touched: Touched,
}

/// What a launch gives to a parameter.
pub enum Argument<B: Backend + ?Sized> {
    /// The bytes of a value in C layout.
    Value(Vec<u8>),
    /// A buffer.
    Buffer(B::Buffer),
    /// A texture.
    Texture(B::Texture),
    /// What a sampler does.
    Sampler(SamplerState),
}

impl<B: Backend + ?Sized> Clone for Argument<B> {
    fn clone(&self) -> Self {
        match self {
            Argument::Value(bytes) => Argument::Value(bytes.clone()),
            Argument::Buffer(buffer) => Argument::Buffer(buffer.clone()),
            Argument::Texture(texture) => Argument::Texture(texture.clone()),
            Argument::Sampler(state) => Argument::Sampler(*state),
        }
    }
}

/// What a launch gives to the parameters of a program.
pub struct Arguments<B: Backend + ?Sized>(Map<Global, Argument<B>>);

impl<B: Backend + ?Sized> Default for Arguments<B> {
    fn default() -> Self {
        Arguments(Map::default())
    }
}

impl<B: Backend + ?Sized> Clone for Arguments<B> {
    fn clone(&self) -> Self {
        Arguments(self.0.iter().map(|(global, argument)| (*global, argument.clone())).collect())
    }
}

impl<B: Backend + ?Sized> Arguments<B> {
    /// Gives a parameter its argument, in place of what it had.
    pub fn set(&mut self, param: Global, argument: Argument<B>) {
        self.0.insert(param, argument);
    }

    /// The argument of a parameter.
    pub fn get(&self, param: Global) -> Option<&Argument<B>> {
        self.0.get(&param)
    }
}

/// How to launch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Launch {
    /// How many steps it may take, for back ends that count them; others refuse this.
    pub max_steps: Option<u64>,
    /// How long it may run, for back ends that watch the clock; others refuse this.
    pub max_time: Option<Duration>,
    /// Whether to measure how long it runs.
    pub timed: bool,
}

/// What came of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Launched {
    /// Whether it ran to its end, or else why it stopped.
    pub ended: Result<(), Stopped>,
    /// What the program printed, also if it stopped.
    pub printed: String,
    /// How long it ran, if that was asked for.
    pub time: Option<Time>,
}

/// How long a program ran.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Time {
    /// Seconds.
    pub seconds: f64,
    /// Whether a device took the time itself; else it is the time between launching and hearing of the end, by the clock of the
    /// host.
    pub by_device: bool,
}

/// Why something cannot be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The back end cannot run the program.
    Refused(Box<Diagnostic>),
    /// What was asked for does not fit the program or the back end.
    Usage(Error),
    /// The device or its driver failed, or there is none.
    Device(String),
}

impl Failure {
    /// A failure of the caller, as a sentence.
    pub fn usage(why: impl Into<String>) -> Self {
        Failure::Usage(Error(why.into()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Usage(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused(diagnostic) => f.write_str(&diagnostic.message),
            Failure::Usage(error) => error.fmt(f),
            Failure::Device(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}
