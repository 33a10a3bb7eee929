//! Pointers: a buffer or group-shared variable, and a path to a part of it.
//!
//! Path steps are stored as computed, and checked when the pointer is dereferenced: a pointer past the last element is valid
//! until then. A pointer moves along the array or buffer of its last step. If the last step is a structure field, it cannot
//! move: the offset is recorded, and any offset other than 0 is out of bounds.

use crate::aggregate::Positions;
use crate::decode::Level;
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
    /// The way, in a variable.
    pub at: Positions,
    /// The first byte, in a buffer.
    pub offset: usize,
}

impl Machine<'_> {
    /// Follows a handle or pointer.
    pub(crate) fn follow(&mut self, handle: &Val) -> Result<Start, Trap> {
        match handle {
            Val::Handle(global) => Ok(Start { global: *global, at: Positions::new(), offset: 0 }),
            Val::Pointer(pointer) => self.follow_pointer(pointer),
            Val::Null | Val::Undef => Err(Trap::NullPointer),
            Val::Unit | Val::Scalar(_) | Val::Aggregate(_) => unreachable!("the verifier checked the type"),
        }
    }

    fn follow_pointer(&mut self, pointer: &Pointer) -> Result<Start, Trap> {
        let types = &self.module.types;
        let (mut at, mut offset) = (Positions::new(), 0);
        let mut ty = match types.get(self.module.globals[pointer.global].ty) {
            Type::Ref(inner) => inner,
            _ => self.module.globals[pointer.global].ty,
        };
        for &step in &pointer.steps {
            let len = match types.get(ty) {
                Type::Buffer(..) => self.buffer(pointer.global).map_or(0, |(.., len)| len),
                _ => types.arity(ty).unwrap_or(0) as usize,
            };
            let Some(index) = usize::try_from(step).ok().filter(|i| *i < len) else {
                return Err(self.out_of_bounds(step, len));
            };
            at.push(index);
            let layouts = &self.loaded.layouts;
            (offset, ty) = match types.get(ty) {
                Type::Buffer(elem, _) => (offset + index * layouts.part(types, ty, None), elem),
                _ => {
                    let part = types.part(ty, Some(index as u32)).expect("the path fits the type");
                    (offset + layouts.part(types, ty, Some(index as u32)), part)
                }
            };
        }
        if pointer.strayed != 0 {
            return Err(self.out_of_bounds(pointer.strayed, 1));
        }
        Ok(Start { global: pointer.global, at, offset })
    }

    fn is_empty_buffer(&self, global: Global) -> bool {
        self.is_buffer(global) && self.buffer(global).is_none_or(|(.., len)| len == 0)
    }

    /// `point`: a pointer to the part at a path. A pointer into a buffer without elements is null.
    pub(crate) fn point(&mut self, levels: &[Level], args: &[Val]) -> Val {
        let mut pointer = match &args[0] {
            // A pointer parameter that the host did not set is a buffer without elements.
            Val::Handle(global) if self.is_empty_buffer(*global) => return Val::Null,
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
