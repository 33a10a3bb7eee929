//! The counters of structured buffers.
//!
//! Direct3D hides a number in the view of a buffer, which `IncrementCounter` and `DecrementCounter` change. Here it is a parameter
//! of the shader of its own, a buffer of one word, named after the buffer: `pool.counter`. There is one for each buffer that the
//! program counts with; it is bound behind all that the program declares ([`layout::bind`](cotangent_ir::layout::bind)).
//!
//! ```text
//! uint at = pool.IncrementCounter();      %1: rwbuffer<u32> = global @pool.counter
//!                                         %at: u32 = atomic add %1[0], 1
//! ```
//!
//! Which buffer it is must be known where it is counted: one that a function takes as a parameter is refused.

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Scalar, Symbol, Wish};
use cotangent_ir::shader::{ShaderParam, Shape};
use cotangent_ir::{
    Access, Atomic, AtomicKind, Const, Global, GlobalData, GlobalKind, Math, Op, Path, Type, Value,
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
        ShaderParam { name, span, ty: shown, shape, wish: Wish::default(), leaves: vec![counter] }
    };
    lowerer.counters.iter().map(param).collect()
}

impl Lowerer<'_> {
    /// The counter of a buffer.
    fn counter(&mut self, buffer: Global) -> Global {
        if let Some((_, counter)) = self.counters.iter().find(|(of, _)| *of == buffer) {
            return *counter;
        }
        let word = self.module.types.scalar(Scalar::U32);
        let ty = self.module.types.intern(Type::Buffer(word, Access::ReadWrite));
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
        let count = match self.lowerer.checked.program.funcs[call.callee.func].intrinsic?.as_str() {
            "count_up" => Count::Up,
            "count_down" => Count::Down,
            _ => return None,
        };
        let (_, this) = call.args.first()?;
        let buffer = self.expr(this);
        let word = self.lowerer.module.types.scalar(Scalar::U32);
        let Some(buffer) = self.known_global(buffer) else {
            let message = "the counter of a buffer that was passed to a function is not supported yet";
            let diagnostic = Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, self.span, message)
                .help("count where the buffer is a parameter of the shader, and pass the number on");
            self.lowerer.diagnostics.push(diagnostic);
            return Some(self.b().undef(word));
        };
        let counter = self.lowerer.counter(buffer);
        let counter = self.global_value(counter);
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

    /// The global that a handle is, seen through the structures it was put into and taken from.
    fn known_global(&self, handle: Value) -> Option<Global> {
        let (mut value, mut steps) = (handle, vec![]);
        loop {
            let def = self.func.def(value)?;
            if let Op::Extract(path) = &def.op {
                let known = path.0.iter().rev().map(|step| step.known());
                steps.extend(known.collect::<Option<Vec<u32>>>()?);
                value = def.operands[0];
            } else if let Op::Pack = def.op {
                value = *def.operands.get(steps.pop()? as usize)?;
            } else {
                let Op::Global(global) = def.op else { return None };
                return steps.is_empty().then_some(global);
            }
        }
    }
}
