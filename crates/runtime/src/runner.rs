//! A loaded program with its parameters.

use crate::data::room_for;
use crate::{Argument, Arguments, Backend, Call, Called, Compiled, Error, Failure, Launch, Launched, Params};
use cotangent_base::Symbol;
use cotangent_ir::texture::Opaque;
use cotangent_ir::{FuncId, Global, Type, type_group};
use std::sync::Arc;

/// The most groups of a launch: numbers of threads fit in 64 bits.
const MOST_GROUPS: u64 = 1 << 48;

/// A program loaded by a back end, with arguments for its parameters.
///
/// Parameters are set on the host, by path, in [`params`](Self::params). What was set is uploaded before the next launch; what
/// was not stays where it is. [`download`](Self::download) brings what the program wrote back to the host.
pub struct Runner<B: Backend> {
    backend: Arc<B>,
    compiled: Compiled,
    program: B::Program,
    arguments: Arguments<B>,
    /// The host's side.
    pub params: Params,
}

impl<B: Backend> Runner<B> {
    /// Loads a program. Its uniforms are zero and its buffers empty.
    pub fn new(backend: Arc<B>, compiled: Compiled) -> Result<Self, Failure> {
        let params = Params::of(&compiled);
        Self::with_params(backend, compiled, params)
    }

    /// Loads a program whose parameters have been set.
    pub fn with_params(backend: Arc<B>, compiled: Compiled, mut params: Params) -> Result<Self, Failure> {
        let program = backend.load(&compiled)?;
        params.touch_all();
        Ok(Runner { backend, compiled, program, arguments: Arguments::default(), params })
    }

    /// The back end.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The program.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The program as the back end has it.
    pub fn program(&self) -> &B::Program {
        &self.program
    }

    /// Has the next launch begin with the parameters as they are on the host.
    pub fn restart(&mut self) {
        self.params.touch_all();
    }

    /// Gives the back end what was set since the last time.
    pub fn upload(&mut self) -> Result<(), Failure> {
        for (name, global) in self.params.take_changed() {
            let argument = self.argument(name, global)?;
            if let Some(argument) = argument {
                self.arguments.set(global, argument);
            }
        }
        Ok(())
    }

    /// A parameter as the back end takes it; a buffer or texture that has nothing in it stays unset.
    fn argument(&self, name: Symbol, global: Global) -> Result<Option<Argument<B>>, Failure> {
        let bytes = self.params.bytes(name);
        let ty = self.compiled.module.globals[global].ty;
        room_for(bytes.len())?;
        Ok(match self.compiled.module.types.get(ty) {
            Type::Buffer(..) | Type::Opaque(Opaque::Texture(_)) if bytes.is_empty() => None,
            Type::Buffer(..) => match (self.compiled.element(global), self.arguments.get(global)) {
                (_, Some(Argument::Buffer(buffer))) if self.backend.size(buffer) == bytes.len() => {
                    self.backend.write(buffer, 0, bytes)?;
                    None
                }
                (Some(element), _) => Some(Argument::Buffer(self.backend.make_buffer(&element, bytes)?)),
                (None, _) => None,
            },
            Type::Opaque(Opaque::Texture(_)) => match self.compiled.texture(global) {
                Some(ty) => {
                    let extent = self.params.extent(global);
                    Some(Argument::Texture(self.backend.make_texture(ty, extent, bytes)?))
                }
                None => None,
            },
            Type::Opaque(Opaque::Sampler | Opaque::Comparison) => {
                Some(Argument::Sampler(self.params.sampler(global)))
            }
            type_group!(unit | number | composite | handle) => Some(Argument::Value(bytes.to_vec())),
        })
    }

    /// Uploads what was set, and runs an entry point over groups of threads.
    pub fn launch(&mut self, entry: &str, groups: [u32; 3], launch: Launch) -> Result<Launched, Failure> {
        let Some(id) = self.compiled.entry(entry) else {
            return Err(Failure::usage(format!("there is no entry point `{entry}`")));
        };
        self.launch_id(id, groups, launch)
    }

    /// As [`launch`](Self::launch), by the entry point's number.
    pub fn launch_id(
        &mut self,
        entry: FuncId,
        groups: [u32; 3],
        launch: Launch,
    ) -> Result<Launched, Failure> {
        if self.compiled.params.along_x && groups[1..] != [1, 1] {
            let why = "the kernel was derived for groups along x only; derive it without that promise";
            return Err(Failure::usage(why));
        }
        let count = groups.iter().try_fold(1u64, |count, n| count.checked_mul((*n).into()));
        if count.is_none_or(|count| count > MOST_GROUPS) {
            let [x, y, z] = groups;
            return Err(Failure::usage(format!(
                "{x} x {y} x {z} groups are more than 2^48, the most of a launch"
            )));
        }
        self.upload()?;
        self.backend.launch(&self.program, entry, groups, &self.arguments, launch)
    }

    /// Brings all that the program may have written to [`params`](Self::params).
    pub fn download(&mut self) -> Result<(), Failure> {
        for name in self.params.writable() {
            self.download_one(name)?;
        }
        Ok(())
    }

    fn download_one(&mut self, name: Symbol) -> Result<(), Failure> {
        let bytes = match self.compiled.parameter(name.as_str()).and_then(|param| self.arguments.get(param)) {
            Some(Argument::Buffer(buffer)) => {
                let size = self.backend.size(buffer);
                room_for(size)?;
                self.backend.read(buffer, 0..size)?
            }
            Some(Argument::Texture(texture)) => {
                room_for(self.params.bytes(name).len())?;
                self.backend.read_texture(texture)?
            }
            Some(Argument::Value(_) | Argument::Sampler(_)) | None => return Ok(()),
        };
        self.params.replace(name, bytes);
        Ok(())
    }

    /// The bytes of one buffer as they are now, in C layout; the others stay where they are.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>, Failure> {
        self.upload()?;
        let buffer = self.buffer(name)?;
        self.backend.read(&buffer, 0..self.backend.size(&buffer))
    }

    /// The buffer of a parameter, to be bound to another program, too.
    pub fn buffer(&self, name: &str) -> Result<B::Buffer, Failure> {
        match self.compiled.parameter(name).and_then(|param| self.arguments.get(param)) {
            Some(Argument::Buffer(buffer)) => Ok(buffer.clone()),
            _ => Err(Failure::Usage(Error(format!("`{name}` is no buffer, or was not set and uploaded")))),
        }
    }

    /// The texture of a parameter.
    pub fn texture(&self, name: &str) -> Result<B::Texture, Failure> {
        match self.compiled.parameter(name).and_then(|param| self.arguments.get(param)) {
            Some(Argument::Texture(texture)) => Ok(texture.clone()),
            _ => Err(Failure::Usage(Error(format!("`{name}` is no texture, or was not set and uploaded")))),
        }
    }

    /// Gives a parameter a buffer that is there already.
    pub fn bind(&mut self, name: &str, buffer: B::Buffer) -> Result<(), Failure> {
        let Some(param) = self.compiled.parameter(name).filter(|p| self.compiled.element(*p).is_some())
        else {
            return Err(Failure::Usage(Error(format!("the program has no buffer `{name}`"))));
        };
        self.upload()?;
        self.arguments.set(param, Argument::Buffer(buffer));
        Ok(())
    }
}

impl<B: Call> Runner<B> {
    /// Calls a function over an array of points, as [`Call::call`] does. What it writes to buffers is there for the next call, unless
    /// [`restart`](Self::restart) comes first.
    pub fn call(
        &mut self,
        func: FuncId,
        points: usize,
        inputs: &[&[u8]],
        launch: Launch,
    ) -> Result<Called, Failure> {
        self.upload()?;
        self.backend.call(&self.program, func, &self.arguments, points, inputs, launch)
    }

    /// What the parameters are given.
    pub fn arguments(&mut self) -> Result<&Arguments<B>, Failure> {
        self.upload()?;
        Ok(&self.arguments)
    }
}
