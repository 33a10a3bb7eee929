//! Calls of functions as native code, with values as the interpreter has them.
//!
//! In wide mode the code is that of a copy of the program in which half and float are binary64 ([`widen`]). It is made once calls on
//! the interpreter have taken long: most functions that `gradcheck` looks at are small.

use cotangent_interp::{Program, Stopped, Val};
use cotangent_ir::{FuncId, Global, GlobalKind, Module, Op, Type};
use cotangent_jit::Native;
use cotangent_passes::calls;
use cotangent_passes::widen::{refused, widen};
use cotangent_runtime::{Compiled, Data, Launch, Params, Runner};
use std::sync::Arc;

/// Steps on the interpreter that take about as long as compiling.
const LONG: u64 = 1_000_000;

/// A call of fewer steps is faster on the interpreter.
const SHORT: u64 = 200;

/// Functions as native code.
pub(super) struct Calls {
    /// Its types say how values lie in memory.
    program: Program,
    runner: Runner<Native>,
}

impl Calls {
    /// A program, compiled function by function when they are called.
    pub fn new(program: Program, compiled: Compiled, params: Params) -> Option<Calls> {
        let runner = Runner::with_params(Native::default().into(), compiled, params).ok()?;
        Some(Calls { program, runner })
    }

    /// The same program in binary64, if that can be expressed.
    fn wide(program: &Program, func: FuncId) -> Option<Calls> {
        if refused(program.module(), &reached(program.module(), func)).is_some() {
            return None;
        }
        let mut module = Module::clone(program.module());
        widen(&mut module);
        let compiled = Compiled::new(module, cotangent_ir::shader::ShaderParams::default());
        let options = cotangent_interp::Options { wide: false, ..program.options() };
        let params = Params::new(&compiled.module);
        Calls::new(Program::new(compiled.module.clone(), options), compiled, params)
    }

    /// Gives a shader parameter its value. A buffer is the aggregate of its elements.
    fn set(&mut self, global: Global, value: &Val) -> Option<()> {
        let module = self.program.module();
        let data = &module.globals[global];
        let bytes = match module.types.get(data.ty) {
            Type::Buffer(elem, _) => {
                let elements = value.parts().iter().map(|part| self.program.bytes(elem, part));
                elements.collect::<Option<Vec<_>>>()?.concat()
            }
            _ => self.program.bytes(data.ty, value)?,
        };
        self.runner.params.set(data.name.as_str(), &Data::Bytes(None, bytes)).ok()
    }

    /// The outputs of a function, unless it cannot be called so.
    pub fn call(&mut self, func: FuncId, inputs: &[Val]) -> Option<Result<Vec<Val>, Stopped>> {
        let sig = &self.program.module().funcs[func].sig;
        let given = sig.inputs().zip(inputs).map(|(param, value)| self.program.bytes(param.ty, value));
        let given: Vec<Vec<u8>> = given.collect::<Option<_>>()?;
        let given: Vec<&[u8]> = given.iter().map(|bytes| &bytes[..]).collect();
        if !self.runner.params.writable().is_empty() {
            // A call does not see what others wrote.
            self.runner.restart();
        }
        let launch = Launch { max_steps: Some(self.program.options().max_steps), ..Launch::default() };
        let called = self.runner.call(func, 1, &given, launch).ok()?;
        if let Err((_, stopped)) = called.ended {
            return Some(Err(stopped));
        }
        let outputs = sig.outputs().zip(&called.outputs);
        Some(Ok(outputs.map(|(output, bytes)| self.program.value(output.ty, bytes)).collect()))
    }
}

/// Native code in wide mode.
#[derive(Default)]
pub(super) struct Wide {
    /// The calls on the interpreter, and how many steps they took.
    calls: u64,
    steps: u64,
    code: Code,
    /// The values of shader parameters that the code was given.
    given: Arc<Vec<(Global, Val)>>,
}

#[derive(Default)]
enum Code {
    #[default]
    Undecided,
    Never,
    Made(Box<Calls>),
}

impl Wide {
    /// Notes a call on the interpreter. If they have taken long, the next ones are native.
    pub fn note(&mut self, program: &Program, func: FuncId, steps: u64) {
        (self.calls, self.steps) = (self.calls + 1, self.steps.saturating_add(steps));
        if matches!(self.code, Code::Undecided) && self.steps > LONG && self.steps / self.calls > SHORT {
            let calls = Calls::wide(program, func);
            self.code = calls.map_or(Code::Never, |calls| Code::Made(Box::new(calls)));
        }
    }

    /// The outputs of a function by native code, if there is some.
    pub fn call(
        &mut self,
        func: FuncId,
        inputs: &[Val],
        globals: &Arc<Vec<(Global, Val)>>,
    ) -> Option<Result<Vec<Val>, Stopped>> {
        let Code::Made(calls) = &mut self.code else { return None };
        if !Arc::ptr_eq(&self.given, globals) {
            // The function uses none that has no bytes: textures are refused.
            globals.iter().for_each(|(global, value)| _ = calls.set(*global, value));
            self.given = globals.clone();
        }
        let called = calls.call(func, inputs);
        if called.is_none() {
            self.code = Code::Never;
        }
        called
    }
}

/// A function, what it calls, and what computes the first values of variables.
fn reached(module: &Module, func: FuncId) -> Vec<FuncId> {
    let inits = module.globals.values().filter_map(|global| match global.kind {
        GlobalKind::Static(init) => init,
        GlobalKind::Param | GlobalKind::Shared => None,
    });
    calls::Calls::below(module, inits.chain([func])).callees_first
}

/// Whether a function detaches a value, or calls one that does.
pub(super) fn detaches(module: &Module, func: FuncId) -> bool {
    let has_detach = |func: FuncId| {
        let func = &module.funcs[func];
        func.all_insts().into_iter().any(|inst| func.insts[inst].op == Op::Detach)
    };
    reached(module, func).into_iter().any(has_detach)
}
