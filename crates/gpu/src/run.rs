//! Runs a program: creates and binds buffers, dispatches, and reads back the buffers that may have been written.
//!
//! wgpu reports errors of the caller to an error scope. Every step with its own error message has one: creating the shader,
//! binding, and running.

use crate::bindings::{Made, padded, pushed};
use crate::clock::Clock;
use crate::device::now;
use crate::spirv::renumbered;
use crate::{Binding, Code, Content, Device, Error, Outcome, Program};
use cotangent_runtime::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long filling and reading buffers may take, and a program unless [`Dispatch::limit`] says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How to run a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dispatch {
    /// How many groups of threads.
    pub groups: [u32; 3],
    /// Whether to measure how long that takes.
    pub timed: bool,
    /// How long to wait for the end. The time that the driver compiles before does not count.
    pub limit: Duration,
}

impl Dispatch {
    /// Runs this many groups of threads, for two minutes at most.
    pub fn new(groups: [u32; 3]) -> Self {
        Dispatch { groups, timed: false, limit: PATIENCE }
    }
}

impl Device {
    /// Runs `program` over groups of threads.
    pub fn run(&self, program: &Program, options: Dispatch) -> Result<Outcome, Error> {
        let Dispatch { groups, timed, limit } = options;
        self.check(program.needs)?;
        self.check_sizes(program, groups)?;
        let (pipeline, layouts) = self.pipeline(&program.code, &program.entry, &program.bindings)?;
        let made = self.caught("cannot create the buffers", || self.make_all(&program.bindings))?;
        let bound =
            self.caught("cannot bind the parameters", || self.bind(&program.bindings, &layouts, &made))?;
        let clock = self.caught("cannot create a timer", || timed.then(|| self.clock()).flatten())?;
        let pass = Pass { pipeline: &pipeline, bound: &bound, pushed: pushed(&program.bindings) };
        self.warm_up(&pass)?;
        let time = self.dispatch(&pass, groups, clock.as_ref(), limit)?;
        let mut written = Vec::new();
        for (binding, made) in program.bindings.iter().zip(&made) {
            written.push(match (&binding.content, made) {
                (Content::Write(bytes), Made::Buffer(buffer)) => {
                    Some(self.read_back(buffer, 0, bytes.len())?)
                }
                (Content::Texture(image, _), Made::Texture(texture, _)) if image.storage.is_some() => {
                    Some(self.read_texture(*image, texture)?)
                }
                _ => None,
            });
        }
        let time = match clock {
            Some(clock) => clock.read(self)?,
            None => Time { seconds: time.as_secs_f64(), by_device: false },
        };
        Ok(Outcome { written, time: timed.then_some(time) })
    }

    /// Runs a pipeline with what is bound to it. Gives what is in the bindings `read` afterwards, and how long it took.
    pub(crate) fn run_kernel(
        &self,
        pipeline: &wgpu::ComputePipeline,
        layouts: &Layouts,
        bindings: &[Binding],
        Dispatch { groups, timed, limit }: Dispatch,
        is_new: bool,
        read: Range<usize>,
    ) -> Result<Ran, Error> {
        self.check_groups(groups)?;
        self.check_bindings(bindings)?;
        let made = self.caught("cannot make the buffers", || self.make_all(bindings))?;
        let bound = self.caught("cannot bind the parameters", || self.bind(bindings, layouts, &made))?;
        let clock = self.caught("cannot make a clock", || timed.then(|| self.clock()).flatten())?;
        let pass = Pass { pipeline, bound: &bound, pushed: pushed(bindings) };
        if is_new {
            self.warm_up(&pass)?;
        }
        let time = self.dispatch(&pass, groups, clock.as_ref(), limit)?;
        let mut contents = Vec::new();
        for at in read {
            if let Made::Buffer(buffer) = &made[at] {
                contents.push(self.read_back(buffer, 0, bindings[at].content.bytes().len())?);
            }
        }
        let time = match clock {
            Some(clock) => clock.read(self)?,
            None => Time { seconds: time.as_secs_f64(), by_device: false },
        };
        Ok(Ran { read: contents, time: timed.then_some(time) })
    }

    /// What `step` gives, or what wgpu has to say against it.
    pub(crate) fn caught<T>(&self, what: &str, step: impl FnOnce() -> T) -> Result<T, Error> {
        let filters =
            [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal];
        let mut scopes = filters.map(|filter| Some(self.device.push_error_scope(filter)));
        let result = step();
        let mut error = None;
        for scope in scopes.iter_mut().rev().filter_map(Option::take) {
            error = now(scope.pop()).flatten().or(error);
        }
        match error {
            Some(error) => Err(Error(format!("{what} on `{}`: {error}", self.info().name))),
            None => Ok(result),
        }
    }

    fn check_sizes(&self, program: &Program, groups: [u32; 3]) -> Result<(), Error> {
        self.check_groups(groups)?;
        self.check_bindings(&program.bindings)
    }

    fn check_groups(&self, groups: [u32; 3]) -> Result<(), Error> {
        let most = self.device.limits().max_compute_workgroups_per_dimension;
        if let Some(n) = groups.iter().find(|n| **n > most) {
            return Err(Error(format!("{n} groups along one axis exceed the device limit of {most}")));
        }
        Ok(())
    }

    pub(crate) fn pipeline(
        &self,
        code: &Code,
        entry: &str,
        bindings: &[Binding],
    ) -> Result<(wgpu::ComputePipeline, Layouts), Error> {
        let module = self.caught("cannot compile the shader", || self.shader(code, &[entry], bindings))??;
        let layouts = self.caught("cannot lay out the parameters", || {
            self.layouts(bindings, wgpu::ShaderStages::COMPUTE)
        })?;
        let pipeline = self.caught("cannot create a pipeline", || {
            let layout = self.pipeline_layout(&layouts, bindings);
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&layout),
                module: &module,
                // A text has only one, whatever it calls it.
                entry_point: matches!(code, Code::SpirV(_)).then_some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })?;
        Ok((pipeline, layouts))
    }

    pub(crate) fn shader(
        &self,
        code: &Code,
        entries: &[&str],
        bindings: &[Binding],
    ) -> Result<wgpu::ShaderModule, Error> {
        match code {
            Code::Wgsl(text) => Ok(self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(text.into()),
            })),
            Code::SpirV(_) if !self.takes_spirv() => {
                Err(Error(format!("the device `{}` does not accept SPIR-V", self.info().name)))
            }
            Code::SpirV(words) => {
                let bound = bindings.iter().filter(|b| !matches!(b.content, Content::Pushed(_)));
                let bound: Vec<(u32, u32)> = bound.map(|b| (b.group, b.index)).collect();
                Ok(self.spirv(&renumbered(words, &bound), entries))
            }
        }
    }

    #[expect(
        unsafe_code,
        reason = "nobody but the driver looks at the words; ours come from a validated module"
    )]
    fn spirv(&self, words: &[u32], entries: &[&str]) -> wgpu::ShaderModule {
        // The size of groups is looked at for Metal only.
        let entry = |name: &&str| wgpu::PassthroughShaderEntryPoint {
            name: name.to_string().into(),
            workgroup_size: (1, 1, 1),
        };
        let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
            label: None,
            entry_points: entries.iter().map(entry).collect::<Vec<_>>().into(),
            spirv: Some(words.into()),
            ..Default::default()
        };
        // SAFETY: the words were written from a module that the validator accepted.
        unsafe { self.device.create_shader_module_passthrough(descriptor) }
    }

    /// Dispatches zero groups, so that the driver compiles the program. Many drivers do so at the first dispatch, and it can
    /// take longer than the run. Compiling always ends, so there is no time limit.
    fn warm_up(&self, pass: &Pass<'_>) -> Result<(), Error> {
        let commands = self.commands(pass, [0, 1, 1], None)?;
        self.caught("cannot run the shader", || self.queue.submit([commands]))?;
        self.wait(None)
    }

    fn dispatch(
        &self,
        pass: &Pass<'_>,
        groups: [u32; 3],
        clock: Option<&Clock>,
        limit: Duration,
    ) -> Result<Duration, Error> {
        let commands = self.commands(pass, groups, clock)?;
        let start = Instant::now();
        self.caught("cannot run the shader", || self.queue.submit([commands]))?;
        self.wait(Some(limit))?;
        Ok(start.elapsed())
    }

    fn commands(
        &self,
        Pass { pipeline, bound, pushed }: &Pass<'_>,
        [x, y, z]: [u32; 3],
        clock: Option<&Clock>,
    ) -> Result<wgpu::CommandBuffer, Error> {
        self.caught("cannot run the shader", || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let timestamp_writes = clock.map(Clock::writes);
            let options = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&options);
            pass.set_pipeline(pipeline);
            for (group, bound) in *bound {
                pass.set_bind_group(*group, bound, &[]);
            }
            if let Some(bytes) = pushed {
                pass.set_immediates(0, bytes);
            }
            pass.dispatch_workgroups(x, y, z);
            drop(pass);
            if let Some(clock) = clock {
                clock.resolve(&mut encoder);
            }
            encoder.finish()
        })
    }

    /// Waits until all work is done.
    fn wait(&self, limit: Option<Duration>) -> Result<(), Error> {
        let waited = self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: limit });
        match (waited, limit) {
            (Ok(_), _) => Ok(()),
            (Err(wgpu::PollError::Timeout), Some(limit)) => {
                // Closing the device would wait for the program, so it stays open until the process ends.
                std::mem::forget((self.device.clone(), self.queue.clone()));
                // What is left of a limit is not whole seconds.
                let seconds = limit.as_secs_f64().ceil();
                Err(Error(format!(
                    "the program did not finish within {seconds} seconds; it may not terminate"
                )))
            }
            (Err(e), _) => Err(Error(format!("the device `{}` was lost: {e}", self.info().name))),
        }
    }

    /// The bytes from `start` on, which begins a word.
    pub(crate) fn read_back(
        &self,
        buffer: &wgpu::Buffer,
        start: usize,
        size: usize,
    ) -> Result<Vec<u8>, Error> {
        if size == 0 {
            return Ok(vec![]);
        }
        let words = padded(size);
        let copy = self.caught("cannot read a buffer back", || {
            let copy = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: words,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            });
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(buffer, start as u64, &copy, 0, words);
            self.queue.submit([encoder.finish()]);
            copy
        })?;
        // Whether it could be mapped is seen when it is read.
        self.caught("cannot read a buffer back", || copy.map_async(wgpu::MapMode::Read, .., |_| {}))?;
        self.wait(Some(PATIENCE))?;
        match copy.get_mapped_range(..) {
            Ok(view) => Ok(view[..size].to_vec()),
            Err(e) => Err(Error(format!("the device `{}` was lost: {e}", self.info().name))),
        }
    }

    /// A clock of the device, if it has one.
    fn clock(&self) -> Option<Clock> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let ticks = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 16,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Some(Clock { queries, ticks })
    }
}

/// What came of running a pipeline.
pub(crate) struct Ran {
    /// What is in the bindings that were asked for.
    pub(crate) read: Vec<Vec<u8>>,
    /// How long it took, if that was asked for.
    pub(crate) time: Option<Time>,
}

/// A program with what is bound to it, ready to run.
struct Pass<'a> {
    pipeline: &'a wgpu::ComputePipeline,
    bound: &'a Bound,
    pushed: Option<&'a [u8]>,
}

/// Layouts by bind group.
pub(crate) type Layouts = BTreeMap<u32, wgpu::BindGroupLayout>;
/// What is bound, by bind group.
pub(crate) type Bound = BTreeMap<u32, wgpu::BindGroup>;
