//! Names loop-invariant expressions, so that naga does not compute them in every iteration.
//!
//! naga writes an unnamed expression with a single use at that use, even if the use is inside a loop. A name makes it a
//! statement where it is computed.

use cotangent_base::{Map, Set};
use cotangent_ir::{Func, Inst, Op, Region, Value, ValueDef};

/// The values of a function that take computing and that a loop uses which they are outside of.
pub(crate) fn invariants(func: &Func) -> Set<Value> {
    let mut search = Search { func, loops: Map::default(), found: Set::default() };
    search.region(func.body, None);
    search.found
}

struct Search<'f> {
    func: &'f Func,
    /// The innermost loop around each computation so far.
    loops: Map<Inst, Option<Inst>>,
    found: Set<Value>,
}

impl Search<'_> {
    /// Looks at a region whose innermost loop is `around`.
    fn region(&mut self, region: Region, around: Option<Inst>) {
        for inst in &self.func.regions[region].insts {
            let data = &self.func.insts[*inst];
            self.loops.insert(*inst, around);
            let inside = if data.op.is_loop() { Some(*inst) } else { around };
            for (number, operand) in data.operands.iter().enumerate() {
                // Every iteration compares with the number of iterations.
                let is_count = number == 0 && matches!(data.op, Op::For(_));
                self.used(*operand, if is_count { inside } else { around });
            }
            data.regions.iter().for_each(|region| self.region(*region, inside));
        }
    }

    /// A value is used where `around` is the innermost loop.
    fn used(&mut self, value: Value, around: Option<Inst>) {
        if let ValueDef::Result(made, _) = self.func.values[value].def
            && self.loops.get(&made).is_some_and(|home| *home != around)
            && computes(&self.func.insts[made].op)
        {
            self.found.insert(value);
        }
    }
}

/// Whether an operation does more than to read, to put together or to take apart.
fn computes(op: &Op) -> bool {
    matches!(
        op,
        Op::Math(_)
            | Op::Select
            | Op::Convert
            | Op::Sum
            | Op::Dot
            | Op::MatVec
            | Op::VecMat
            | Op::MatMat
            | Op::Outer
            | Op::Transpose
    )
}
