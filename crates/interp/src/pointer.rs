//! Pointers: a buffer or variable of the group, and the way to a part of it.
//!
//! Steps of the way are kept as they were computed, and looked at when the pointer is followed: one behind the last
//! element is fine until then. A pointer may move along the array or buffer its last step goes through. One whose last
//! step is a field of a structure has nowhere to move; how far it was moved is kept all the same, and any distance but 0
//! is outside.

use crate::aggregate::Positions;
use crate::decode::Level;
use crate::stop::Outside;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::{Const, Global, Step, Trap, Ty, Type, eval, layout};
use smallvec::SmallVec;
use std::sync::Arc;

/// A pointer to a part of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer {
    global: Global,
    steps: SmallVec<[i64; 4]>,
    /// Whether the last step is an element of an array or buffer.
    moves: bool,
    /// How far a pointer was moved that cannot be.
    strayed: i64,
}

/// Where an access begins: the memory, and the way to the part that a pointer leads to.
pub(crate) struct Start {
    pub global: Global,
    pub at: Positions,
}

impl Machine<'_> {
    /// Follows a handle or pointer.
    pub(crate) fn follow(&mut self, handle: &Val) -> Result<Start, Trap> {
        match handle {
            Val::Handle(global) => Ok(Start { global: *global, at: Positions::new() }),
            Val::Pointer(pointer) => self.follow_pointer(pointer),
            Val::Null | Val::Undef => Err(Trap::NullPointer),
            Val::Unit | Val::Scalar(_) | Val::Aggregate(_) => unreachable!("the verifier checked the type"),
        }
    }

    fn follow_pointer(&mut self, pointer: &Pointer) -> Result<Start, Trap> {
        let mut at = Positions::new();
        let mut value = &self.memory[pointer.global];
        for &step in &pointer.steps {
            let len = value.parts().len();
            match usize::try_from(step).ok().filter(|i| *i < len) {
                Some(i) => {
                    at.push(i);
                    value = value.part(i);
                }
                None => {
                    self.outside = Some(Outside { index: step, len });
                    return Err(Trap::OutOfBounds);
                }
            }
        }
        if pointer.strayed != 0 {
            self.outside = Some(Outside { index: pointer.strayed, len: 1 });
            return Err(Trap::OutOfBounds);
        }
        Ok(Start { global: pointer.global, at })
    }

    /// `point`: a pointer to the part at a path.
    pub(crate) fn point(&mut self, levels: &[Level], args: &[Val]) -> Val {
        let mut pointer = match &args[0] {
            Val::Handle(global) => {
                Pointer { global: *global, steps: SmallVec::new(), moves: false, strayed: 0 }
            }
            Val::Pointer(pointer) => (**pointer).clone(),
            // A part of nothing is nowhere either; following it says so.
            _ => return Val::Null,
        };
        let mut indices = args[1..].iter();
        for level in levels {
            let step = match level.step {
                Step::Part(part) => Const::Int(part.into()),
                Step::Index => self.scalar(indices.next().expect("the verifier counted"), Scalar::I32),
            };
            let Const::Int(step) = step else { unreachable!("the verifier checked the type") };
            pointer.steps.push(step);
            pointer.moves = level.array;
        }
        Val::Pointer(Arc::new(pointer))
    }

    /// `offset`: the pointer so many elements further on.
    pub(crate) fn offset(&mut self, pointer: &Val, n: &Val) -> Val {
        let n = if let Const::Int(n) = self.scalar(n, Scalar::I64) { n } else { 0 };
        let mut moved = match pointer {
            Val::Pointer(pointer) => (**pointer).clone(),
            // A whole variable.
            Val::Handle(global) => {
                Pointer { global: *global, steps: SmallVec::new(), moves: false, strayed: 0 }
            }
            _ => return Val::Null,
        };
        match moved.steps.last_mut() {
            Some(last) if moved.moves => *last = last.wrapping_add(n),
            _ => moved.strayed = moved.strayed.wrapping_add(n),
        }
        Val::Pointer(Arc::new(moved))
    }

    /// `address`: where the part lies, every buffer and variable being an address space of its own.
    pub(crate) fn address(&self, pointer: &Val, to: Ty) -> Val {
        let types = &self.module.types;
        let size = |ty: Ty| i64::from(layout::layout(types, ty).map_or(0, |l| l.size));
        let (global, steps, strayed) = match pointer {
            Val::Handle(global) => (*global, &[][..], 0),
            Val::Pointer(pointer) => (pointer.global, &pointer.steps[..], pointer.strayed),
            _ => return Val::int(0),
        };
        let mut ty = self.module.globals[global].ty;
        let mut offset = strayed.wrapping_mul(size(to));
        for &step in steps {
            let inner = if let Type::Ref(inner) = types.get(ty) { inner } else { ty };
            let part = match types.get(inner) {
                Type::Struct(_) => u32::try_from(step).ok().and_then(|i| layout::part(types, inner, i)),
                Type::Array(elem, _) | Type::Buffer(elem, _) => Some((0, elem)),
                // Lanes and rows are alike; any number stands for them all.
                _ => types.part(inner, Some(0)).map(|elem| (0, elem)),
            };
            let Some((at, elem)) = part else { break };
            let is_field = matches!(types.get(inner), Type::Struct(_));
            let here = if is_field { i64::from(at) } else { step.wrapping_mul(size(elem)) };
            offset = offset.wrapping_add(here);
            ty = elem;
        }
        let base = (cotangent_base::Entity::index(global) as i64 + 1) << 40;
        Val::Scalar(eval::Eval::default().constant(Const::Int(base.wrapping_add(offset)), Scalar::U64))
    }
}
