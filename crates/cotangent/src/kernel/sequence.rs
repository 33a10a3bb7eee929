//! Sequences of launches with a gradient: a simulation of many dispatches, differentiated as a whole.
//!
//! A [`Sequence`] owns buffers and a list of launches over them. [`Sequence::gradient`] runs the launches, then their backward
//! kernels in reverse order. The backward kernel of a launch needs the contents of the buffers from before the launch. They come from
//! *snapshots* of all buffers. With room for as many snapshots as launches every launch runs once; with fewer, launches run again from
//! the last snapshot before them. For `s` snapshots and `n` launches, the snapshots are placed so that each launch runs at most `t`
//! more times, where `t` is the smallest number with `C(s + t, s) >= n` (binomial checkpointing): 100 launches with 5 snapshots run at
//! most 4 more times each.

use cotangent_base::Symbol;
use cotangent_ir::Mode;
use cotangent_ir::shader::ShaderShadow;
use cotangent_lower::{KernelRoot, Lowered, Roots};
use cotangent_runtime::{Backend, Data, Element, Failure, Launch, Launched, Params, Runner, Stopped};
use std::sync::Arc;

/// A kernel of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelId(usize);

/// A buffer of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferId(usize);

/// Why there is no gradient.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// A kernel cannot be compiled; the text has its diagnostics.
    Rejected(String),
    /// A launch is impossible.
    Failure(Failure),
    /// A launch trapped.
    Trap(Box<Stopped>),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failure(failure)
    }
}

impl From<cotangent_runtime::Error> for Stop {
    fn from(error: cotangent_runtime::Error) -> Self {
        Stop::Failure(error.into())
    }
}

struct Kernel<B: Backend> {
    primal: Runner<B>,
    backward: Runner<B>,
    derived: Arc<Lowered>,
}

struct Memory<B: Backend> {
    buffer: B::Buffer,
    /// Its derivatives, if some kernel carries any.
    gradient: Option<B::Buffer>,
}

struct Step {
    kernel: usize,
    groups: [u32; 3],
    /// The buffers of the parameters.
    bound: Vec<(String, usize)>,
}

/// Launches over buffers, with a gradient.
pub struct Sequence<B: Backend> {
    backend: Arc<B>,
    kernels: Vec<Kernel<B>>,
    memory: Vec<Memory<B>>,
    steps: Vec<Step>,
    /// How many snapshots may exist at a time, at least one.
    pub snapshots: usize,
}

/// The contents of all buffers.
type Snapshot = Vec<Vec<u8>>;

impl<B: Backend> Sequence<B> {
    /// Nothing yet, on this back end, with room for a hundred snapshots.
    pub fn new(backend: Arc<B>) -> Self {
        Sequence { backend, kernels: vec![], memory: vec![], steps: vec![], snapshots: 100 }
    }

    /// Adds an entry point of a program. `set` sets its uniforms, textures and samplers, in the kernel and in its derivative.
    pub fn kernel(
        &mut self,
        program: &crate::Program,
        entry: &str,
        set: &[(String, Data)],
    ) -> Result<KernelId, Stop> {
        let entry = Symbol::new(entry);
        let root = KernelRoot::new(entry, Mode::Backward);
        let compile =
            |roots: Roots| program.compile(roots).accept().map_err(|e| Stop::Rejected(e.to_string()));
        let (original, derived) = (compile(Roots::Entries(vec![entry]))?, compile(Roots::Kernel(root))?);
        let load = |lowered: &Lowered| -> Result<Runner<B>, Stop> {
            let mut params = Params::new(&lowered.module);
            for (name, data) in set.iter().filter(|(name, _)| params_has(lowered, name)) {
                params.set(name, data)?;
            }
            super::set_samplers(lowered, &mut params)?;
            Ok(Runner::with_params(self.backend.clone(), crate::compiled(lowered), params)?)
        };
        let (primal, mut backward) = (load(&original)?, load(&derived)?);
        let mut uniforms = Params::new(&derived.module);
        // Textures are set like uniforms.
        let is_set = |name: &str| backward.params.texture(name).is_some();
        let fixed: Vec<&ShaderShadow> =
            derived.params.shadows.iter().filter(|s| !s.is_buffer || is_set(s.of.as_str())).collect();
        for shadow in fixed {
            let scalar = super::scalar(&derived, shadow);
            let count = super::elements(&derived, &backward.params, shadow)? * shadow.scalars as usize;
            let zeros = vec![0; count * scalar.bytes() as usize];
            uniforms.set(shadow.name.as_str(), &Data::Bytes(Some(scalar), zeros))?;
            backward.params.copy(shadow.name, &uniforms);
        }
        self.kernels.push(Kernel { primal, backward, derived });
        Ok(KernelId(self.kernels.len() - 1))
    }

    /// Adds a buffer with the elements of a parameter of a kernel, filled with `bytes` in C layout.
    pub fn buffer(&mut self, kernel: KernelId, param: &str, bytes: &[u8]) -> Result<BufferId, Stop> {
        let Kernel { primal, derived, .. } = &self.kernels[kernel.0];
        let compiled = primal.compiled();
        let Some(element) = compiled.parameter(param).and_then(|global| compiled.element(global)) else {
            return Err(Failure::usage(format!("the kernel has no buffer `{param}`")).into());
        };
        let buffer = self.backend.make_buffer(&element, bytes)?;
        let shadow = derived.params.shadows.iter().find(|shadow| shadow.of == *param);
        let gradient = match shadow {
            Some(shadow) => {
                let elements = bytes.len() / element.stride().unwrap_or(1);
                let scalar = super::scalar(derived, shadow);
                let zeros = vec![0; elements * shadow.scalars as usize * scalar.bytes() as usize];
                Some(self.backend.make_buffer(&Element::scalar(scalar), &zeros)?)
            }
            None => None,
        };
        self.memory.push(Memory { buffer, gradient });
        Ok(BufferId(self.memory.len() - 1))
    }

    /// Appends a launch.
    pub fn launch(&mut self, kernel: KernelId, groups: [u32; 3], bound: &[(&str, BufferId)]) {
        let bound = bound.iter().map(|(name, buffer)| (name.to_string(), buffer.0)).collect();
        self.steps.push(Step { kernel: kernel.0, groups, bound });
    }

    /// The contents of a buffer.
    pub fn read(&self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        let buffer = &self.memory[buffer.0].buffer;
        Ok(self.backend.read(buffer, 0..self.backend.size(buffer))?)
    }

    /// Runs all launches.
    pub fn run(&mut self) -> Result<(), Stop> {
        (0..self.steps.len()).try_for_each(|step| self.forward(step))
    }

    /// Runs all launches, then propagates cotangents back: those of `seeds`, each the contents of a shadow. Afterwards
    /// [`read_gradient`](Self::read_gradient) has the gradients by the contents before, and the buffers have these contents again.
    pub fn gradient(&mut self, seeds: &[(BufferId, &[u8])]) -> Result<(), Stop> {
        for (buffer, cotangent) in seeds {
            let Some(gradient) = &self.memory[buffer.0].gradient else {
                return Err(Failure::usage("a seed is for a buffer that carries no derivatives").into());
            };
            self.backend.write(gradient, 0, cotangent)?;
        }
        let start = self.snapshot()?;
        self.reverse(0, self.steps.len(), &start, self.snapshots.max(1) - 1)
    }

    /// The shadow of a buffer, if it carries derivatives.
    pub fn read_gradient(&self, buffer: BufferId) -> Result<Option<Vec<u8>>, Stop> {
        match &self.memory[buffer.0].gradient {
            Some(gradient) => Ok(Some(self.backend.read(gradient, 0..self.backend.size(gradient))?)),
            None => Ok(None),
        }
    }

    /// The shadow of a uniform or texture of a kernel, summed over its launches.
    pub fn read_uniform_gradient(&mut self, kernel: KernelId, uniform: &str) -> Result<Vec<u8>, Stop> {
        let Kernel { backward, derived, .. } = &mut self.kernels[kernel.0];
        let is_texture = backward.params.texture(uniform).is_some();
        let is_wanted = |s: &&ShaderShadow| s.of == *uniform && (is_texture || !s.is_buffer);
        match derived.params.shadows.iter().find(is_wanted) {
            Some(shadow) => Ok(backward.read(shadow.name.as_str())?),
            None => Err(Failure::usage(format!("`{uniform}` is no uniform that carries derivatives")).into()),
        }
    }

    /// Goes back through the launches from `from` to `to`, given the state before the first and room for so many snapshots.
    fn reverse(&mut self, from: usize, to: usize, state: &Snapshot, room: usize) -> Result<(), Stop> {
        if from == to {
            return Ok(());
        }
        if to - from == 1 || room == 0 {
            for step in (from..to).rev() {
                self.restore(state)?;
                (from..step).try_for_each(|step| self.forward(step))?;
                self.backward(step)?;
            }
            return self.restore(state);
        }
        let middle = from + advance(to - from, room);
        self.restore(state)?;
        (from..middle).try_for_each(|step| self.forward(step))?;
        let snapshot = self.snapshot()?;
        self.reverse(middle, to, &snapshot, room - 1)?;
        self.reverse(from, middle, state, room)
    }

    fn snapshot(&self) -> Result<Snapshot, Stop> {
        (0..self.memory.len()).map(|buffer| self.read(BufferId(buffer))).collect()
    }

    fn restore(&self, state: &Snapshot) -> Result<(), Stop> {
        for (memory, bytes) in self.memory.iter().zip(state) {
            self.backend.write(&memory.buffer, 0, bytes)?;
        }
        Ok(())
    }

    fn forward(&mut self, step: usize) -> Result<(), Stop> {
        let Step { kernel, groups, bound } = &self.steps[step];
        let runner = &mut self.kernels[*kernel].primal;
        for (name, buffer) in bound {
            runner.bind(name, self.memory[*buffer].buffer.clone())?;
        }
        let entry = runner.compiled().module.funcs.iter().find(|(_, func)| func.entry.is_some());
        let entry = entry.map(|(id, _)| id).expect("a program with an entry point");
        ended(runner.launch_id(entry, *groups, Launch::default())?)
    }

    /// Runs the backward kernel of a launch, on the contents before it. It may write them: they are not needed afterwards.
    fn backward(&mut self, step: usize) -> Result<(), Stop> {
        let Step { kernel, groups, bound } = &self.steps[step];
        let Kernel { backward, derived, .. } = &mut self.kernels[*kernel];
        for (name, buffer) in bound {
            let Memory { buffer, gradient } = &self.memory[*buffer];
            backward.bind(name, buffer.clone())?;
            let shadow = derived.params.shadows.iter().find(|shadow| shadow.of == **name);
            if let (Some(shadow), Some(gradient)) = (shadow, gradient) {
                backward.bind(shadow.name.as_str(), gradient.clone())?;
            }
        }
        ended(backward.launch_id(derived.entries[0], *groups, Launch::default())?)
    }
}

fn params_has(lowered: &Lowered, name: &str) -> bool {
    Params::new(&lowered.module).find(name).is_ok()
}

fn ended(launched: Launched) -> Result<(), Stop> {
    launched.ended.map_err(|stopped| Stop::Trap(Box::new(stopped)))
}

/// How many of `length` launches to run before the next snapshot, with room for so many.
fn advance(length: usize, room: usize) -> usize {
    // The most launches that the state at the start and `room` snapshots go back through, if each runs at most `again` more times.
    let reach =
        |room: usize, again: usize| (1..=room + 1).fold(1usize, |all, k| all.saturating_mul(again + k) / k);
    let again = (1..).find(|again| reach(room, *again) >= length).unwrap_or(1);
    // What lies after the snapshot has one less.
    length.saturating_sub(reach(room - 1, again)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often launches run in all, going back through `length` of them.
    fn work(length: usize, room: usize) -> usize {
        if length <= 1 || room == 0 {
            return (0..length).sum();
        }
        let first = advance(length, room);
        first + work(length - first, room - 1) + work(first, room)
    }

    #[test]
    fn launches_run_no_more_often_than_binomial_checkpointing_allows() {
        assert_eq!(work(100, 99), 99);
        // By hand: C(11 + 3, 11) >= 100, so at most 3 more runs each; with 6 states 4.
        assert!(work(100, 10) <= 300, "{}", work(100, 10));
        assert!(work(100, 5) <= 400, "{}", work(100, 5));
        assert_eq!(work(10, 0), 45);
        for (length, room) in [(17, 3), (64, 2), (1000, 12)] {
            let first = advance(length, room);
            assert!((1..length).contains(&first));
        }
    }
}
