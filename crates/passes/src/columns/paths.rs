//! Rewrites access paths that lead into column-major matrices.

use super::memory::Memory;
use cotangent_ir::layout::Matrices;
use cotangent_ir::{Func, Inst, Path, Step, Type, Types, Value};

/// A way to something in memory that is turned, or has turned matrices in it.
pub(super) struct Way {
    pub path: Path,
    pub indices: Vec<Value>,
    pub end: End,
}

/// What a path ends at.
pub(super) enum End {
    /// A whole matrix that lies like this, or a value with matrices in it.
    Whole(Matrices),
    /// A row of a matrix, which does not lie in one piece: the path is still the one to the row.
    Row,
    /// An element of a matrix; the path is the one to it in memory.
    Element,
}

impl Memory {
    /// The path of an access to a buffer, if what it ends at is affected. The indices are the operands from `skip` on.
    pub fn way(&self, types: &Types, func: &Func, inst: Inst, path: &Path, skip: usize) -> Option<Way> {
        let operands = &func.insts[inst].operands;
        let Type::Buffer(elem, _) = types.get(func.ty(operands[0])) else { return None };
        if !self.differs(types, elem) {
            return None;
        }
        let mut indices = operands[skip..].iter().copied();
        let mut steps: Vec<(Step, Option<Value>)> = path
            .0
            .iter()
            .map(|step| (*step, if *step == Step::Index { indices.next() } else { None }))
            .collect();
        let (mut ty, mut matrices) = (elem, self.matrices);
        for at in 1..steps.len() {
            match types.get(ty) {
                Type::Matrix(..) if matrices == Matrices::Columns => {
                    if steps.len() - at == 1 {
                        return Some(Way::new(&steps, End::Row));
                    }
                    steps.swap(at, at + 1);
                    return Some(Way::new(&steps, End::Element));
                }
                Type::Struct(id) => {
                    let index = steps[at].0.known().unwrap_or(0);
                    matrices = self.field(types.struct_def(id), index as usize);
                }
                // The elements of an array lie as it does.
                Type::Unit
                | Type::Scalar(_)
                | Type::Vector(..)
                | Type::Matrix(..)
                | Type::Array(..)
                | Type::Sum(_)
                | Type::Buffer(..)
                | Type::Opaque(_)
                | Type::Ref(_) => {}
            }
            ty = types.part(ty, steps[at].0.known())?;
        }
        self.differs_as(types, ty, matrices).then(|| Way::new(&steps, End::Whole(matrices)))
    }
}

impl Way {
    fn new(steps: &[(Step, Option<Value>)], end: End) -> Way {
        let path = Path(steps.iter().map(|(step, _)| *step).collect());
        Way { path, indices: steps.iter().filter_map(|(_, index)| *index).collect(), end }
    }

    /// The path in memory to a lane of the row that this one ends at: there the lane comes before the row.
    pub fn across(&self, lane: u32) -> Path {
        let mut path = self.path.clone();
        let last = path.0.len() - 1;
        path.0.insert(last, Step::Part(lane));
        path
    }
}
