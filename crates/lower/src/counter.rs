//! Lowers the counters of structured buffers.
//!
//! In Direct3D a buffer has a hidden counter, which `IncrementCounter` and `DecrementCounter` change. Here the counter is a
//! separate shader parameter: a buffer of one word, named after its buffer (`pool.counter`). Each buffer whose counter the
//! program uses has one. Counters are bound after all declared parameters ([`layout::bind`](cotangent_ir::layout::bind)).
//!
//! ```text
//! uint at = pool.IncrementCounter();      %1: rwbuffer<u32> = global @pool.counter
//!                                         %at: u32 = atomic add %1[0], 1
//! ```
//!
//! The buffer must be known at compile time. If a function takes the buffer as a parameter, its callers pass the counter:
//! [`passed`].

mod passed;

pub(crate) use passed::Counters;

use passed::Given;

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol, Wish};
use cotangent_ir::shader::{ShaderParam, Shape};
use cotangent_ir::{
    Atomic, AtomicKind, Const, Func, Global, GlobalData, GlobalKind, Math, Op, Path, Value, ValueDef,
};
use cotangent_sema::hir::Call;

/// In which direction to count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Up,
    Down,
}

/// The counters as parameters of the shader, in the order in which the program came to them.
pub(crate) fn params(lowerer: &Lowerer<'_>) -> Vec<ShaderParam> {
    let param = |&(_, counter): &(Global, Global)| {
        let GlobalData { name, ty, span, .. } = lowerer.module.globals[counter];
        let (shape, shown) = (Shape::Counter(ty), Some(Symbol::new("RWStructuredBuffer<uint>")));
        ShaderParam {
            name,
            span,
            ty: shown,
            shape,
            bytes: false,
            wish: Wish::default(),
            leaves: vec![counter],
        }
    };
    lowerer.counters.iter().map(param).collect()
}

impl Lowerer<'_> {
    /// The counter of a buffer.
    fn counter(&mut self, buffer: Global) -> Global {
        if let Some((_, counter)) = self.counters.iter().find(|(of, _)| *of == buffer) {
            return *counter;
        }
        let ty = self.counter_ty();
        let GlobalData { name, span, .. } = self.module.globals[buffer];
        let name = Symbol::new(&format!("{name}.counter"));
        let counter = self.module.add_global(GlobalData { name, ty, kind: GlobalKind::Param, span });
        self.counters.push((buffer, counter));
        counter
    }
}

impl Frame<'_, '_> {
    /// The result of a call that counts; nothing if it is another call.
    pub fn counting(&mut self, call: &Call) -> Option<Value> {
        let count = match self.lowerer.queries.program.funcs[call.callee.func].intrinsic?.as_str() {
            "count_up" => Count::Up,
            "count_down" => Count::Down,
            _ => return None,
        };
        let (_, this) = call.args.first()?;
        let buffer = self.expr(this);
        let word = self.lowerer.module.types.scalar(Scalar::U32);
        let counter = match source(&self.func, buffer, vec![]) {
            Source::Global(buffer) => {
                let counter = self.lowerer.counter(buffer);
                self.global_value(counter)
            }
            Source::Given(given) => {
                let ty = self.lowerer.counter_ty();
                passed::counter(&mut self.func, &mut self.counters, given, ty)
            }
            Source::Unknown => {
                refuse(self.lowerer, self.span, UNKNOWN);
                return Some(self.b().undef(word));
            }
        };
        let one = self.b().constant(Const::Int(1), word);
        let step = match count {
            Count::Up => one,
            Count::Down => self.b().math(Math::Neg, &[one]),
        };
        let add = Atomic { kind: AtomicKind::Add, path: Path::part(0) };
        let before = self.b().emit1(Op::Atomic(add), &[counter, step], word);
        Some(match count {
            Count::Up => before,
            Count::Down => self.b().math(Math::Sub, &[before, one]),
        })
    }
}

/// Where a buffer comes from.
enum Source {
    /// It is a parameter of the shader.
    Global(Global),
    /// It was given to the function.
    Given(Given),
    /// That is decided while the program runs.
    Unknown,
}

const UNKNOWN: &str = "the buffer of this counter is chosen at run time";

fn refuse(lowerer: &mut Lowerer<'_>, span: Span, message: &str) {
    let diagnostic =
        Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, format!("{message}, which is not supported"))
            .help("use the counter where the buffer is a shader parameter, and pass the number on");
    lowerer.diagnostics.push(diagnostic);
}

/// Where the part of a value behind `steps` (last step first) comes from, seen through the structures that it was put into and taken
/// from.
fn source(func: &Func, handle: Value, mut steps: Vec<u32>) -> Source {
    let mut value = handle;
    loop {
        let Some(def) = func.def(value) else {
            return match func.values[value].def {
                ValueDef::Arg(region, input) if region == func.body => {
                    Source::Given(Given { input: input as usize, steps })
                }
                ValueDef::Arg(..) | ValueDef::Result(..) => Source::Unknown,
            };
        };
        value = if let Op::Extract(path) = &def.op {
            let known = path.0.iter().rev().map(|step| step.known());
            let Some(known) = known.collect::<Option<Vec<u32>>>() else { return Source::Unknown };
            steps.extend(known);
            def.operands[0]
        } else if let Op::Insert(path) = &def.op {
            match replaces(path, &steps) {
                Some(true) => {
                    steps.truncate(steps.len() - path.0.len());
                    def.operands[1]
                }
                Some(false) => def.operands[0],
                None => return Source::Unknown,
            }
        } else if def.op == Op::Pack {
            let part = steps.pop().and_then(|step| def.operands.get(step as usize));
            let Some(part) = part else { return Source::Unknown };
            *part
        } else if let (Op::Global(global), true) = (&def.op, steps.is_empty()) {
            return Source::Global(*global);
        } else {
            // Whatever else makes a handle chooses it while the program runs.
            return Source::Unknown;
        };
    }
}

/// Whether what is put at `path` holds the part behind `steps` (last step first), or lies beside it. Nothing if that is not known.
fn replaces(path: &Path, steps: &[u32]) -> Option<bool> {
    let mut steps = steps.iter().rev();
    for step in &path.0 {
        if step.known()? != *steps.next()? {
            return Some(false);
        }
    }
    Some(true)
}
