//! Pointers: a buffer or group-shared variable, and a path to a part of it.
//!
//! Path steps are stored as computed, and checked when the pointer is dereferenced: a pointer past the last element is valid
//! until then. A pointer moves along the array or buffer of its last step. If the last step is a structure field, it cannot
//! move: the offset is recorded, and any offset other than 0 is out of bounds.
//!
//! A pointer made of a number, as [`address`](Machine::address) gives it, begins at a byte of some memory, and moves along all of
//! it. In a variable it leads to the part of its type that begins there, or, if there is none, to those bytes of the variable.

use crate::aggregate::Positions;
use crate::decode::Level;
use crate::{Machine, Val};
use cotangent_base::{Entity, Scalar};
use cotangent_ir::{ADDRESS_BITS, Const, Global, Step, Trap, Ty, Type, Types, eval, layout, type_group};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// A pointer to a part of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer {
    origin: Origin,
    /// The first step from an address counts elements.
    steps: SmallVec<[i64; 4]>,
    /// Whether the last step is an element of an array or buffer.
    moves: bool,
    /// How far a pointer was moved that cannot be.
    strayed: i64,
}

/// Where the path of a pointer begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Global(Global),
    /// At a number, where values of that type are.
    Address(i64, Ty),
}

/// Where an access begins: the memory, and the way to the part that a pointer leads to.
pub(crate) struct Start {
    pub global: Global,
    /// The way, in a variable.
    pub at: Positions,
    /// The first byte, in a buffer, and in a variable that is taken as bytes.
    pub offset: usize,
    /// Whether a variable is taken as bytes.
    pub as_bytes: bool,
}

impl Start {
    fn of(global: Global) -> Start {
        Start { global, at: Positions::new(), offset: 0, as_bytes: false }
    }
}

impl Pointer {
    fn new(global: Global) -> Pointer {
        Pointer { origin: Origin::Global(global), steps: SmallVec::new(), moves: false, strayed: 0 }
    }

    /// A pointer to what lies at an address.
    pub(crate) fn at(address: i64, to: Ty) -> Val {
        if address as u64 >> ADDRESS_BITS == 0 {
            return Val::Null;
        }
        let origin = Origin::Address(address, to);
        Val::Pointer(Arc::new(Pointer { origin, steps: smallvec![0], moves: true, strayed: 0 }))
    }

    /// The address that it was made of, if it has not been moved.
    pub(crate) fn number(&self) -> Option<i64> {
        match self.origin {
            Origin::Address(address, _) if self.steps[..] == [0] && self.strayed == 0 => Some(address),
            Origin::Address(..) | Origin::Global(_) => None,
        }
    }
}

impl Machine<'_> {
    /// Follows a handle or pointer.
    pub(crate) fn follow(&mut self, handle: &Val) -> Result<Start, Trap> {
        match handle {
            Val::Handle(global) => Ok(Start::of(*global)),
            Val::Pointer(pointer) => match pointer.origin {
                Origin::Global(global) => self.follow_pointer(pointer, global),
                Origin::Address(address, to) => self.follow_address(pointer, address, to),
            },
            Val::Null | Val::Undef => Err(Trap::NullPointer),
            Val::Unit | Val::Scalar(_) | Val::Aggregate(_) => unreachable!("the verifier checked the type"),
        }
    }

    fn follow_pointer(&mut self, pointer: &Pointer, global: Global) -> Result<Start, Trap> {
        let types = &self.module.types;
        let mut start = Start::of(global);
        let mut ty = if let Type::Ref(inner) = types.get(self.module.globals[global].ty) {
            inner
        } else {
            self.module.globals[global].ty
        };
        for &step in &pointer.steps {
            let len = if let Type::Buffer(..) = types.get(ty) {
                self.buffer(global).map_or(0, |(.., len)| len)
            } else {
                types.arity(ty).unwrap_or(0) as usize
            };
            let Some(index) = usize::try_from(step).ok().filter(|i| *i < len) else {
                return Err(self.out_of_bounds(step, len));
            };
            start.at.push(index);
            let layouts = &self.loaded.layouts;
            (start.offset, ty) = if let Type::Buffer(elem, _) = types.get(ty) {
                (start.offset + index * layouts.part(types, ty, None), elem)
            } else {
                let part = types.part(ty, Some(index as u32)).expect("the path fits the type");
                (start.offset + layouts.part(types, ty, Some(index as u32)), part)
            };
        }
        if pointer.strayed != 0 {
            return Err(self.out_of_bounds(pointer.strayed, 1));
        }
        Ok(start)
    }

    fn follow_address(&mut self, pointer: &Pointer, address: i64, to: Ty) -> Result<Start, Trap> {
        let Some(global) = self.memory_at(address) else { return Err(Trap::NullPointer) };
        let types = &self.module.types;
        let bytes = address & ((1 << ADDRESS_BITS) - 1);
        let size = size(types, to).max(1);
        let (rest, all) = (bytes % size, self.bytes_of(global));
        let len = if all > rest { (all - rest) / size } else { 0 };
        let index = (bytes / size).wrapping_add(pointer.steps[0]);
        if !(0..len).contains(&index) {
            return Err(self.out_of_bounds(index, len as usize));
        }
        let (mut offset, mut ty) = (rest + index * size, to);
        for &step in &pointer.steps[1..] {
            let len = types.arity(ty).unwrap_or(0);
            let inner = u32::try_from(step).ok().and_then(|step| part(types, ty, step));
            let Some((at, part)) = inner.filter(|_| step < len.into()) else {
                return Err(self.out_of_bounds(step, len as usize));
            };
            (offset, ty) = (offset + at, part);
        }
        if pointer.strayed != 0 {
            return Err(self.out_of_bounds(pointer.strayed, 1));
        }
        self.start_at(global, offset, ty)
    }

    /// The value of a type that lies so many bytes into a memory.
    fn start_at(&mut self, global: Global, offset: i64, ty: Ty) -> Result<Start, Trap> {
        let types = &self.module.types;
        let wide = types.wide;
        match types.get(self.module.globals[global].ty) {
            Type::Buffer(..) if !wide => Ok(Start { offset: offset as usize, ..Start::of(global) }),
            Type::Buffer(elem, _) => {
                let stride = size(types, elem).max(1);
                let mut at = Positions::new();
                if !way(types, elem, offset % stride, ty, &mut at) {
                    return Err(self.out_of_bounds(offset, 0));
                }
                let layouts = &self.loaded.layouts;
                let whole = self.module.globals[global].ty;
                let mut start = (offset / stride) as usize * layouts.part(types, whole, None);
                let mut inner = elem;
                for index in at {
                    start += layouts.part(types, inner, Some(index as u32));
                    inner = types.part(inner, Some(index as u32)).expect("the way fits the type");
                }
                Ok(Start { offset: start, ..Start::of(global) })
            }
            Type::Ref(inner) => {
                let mut at = Positions::new();
                if way(types, inner, offset, ty, &mut at) {
                    return Ok(Start { at, ..Start::of(global) });
                }
                if wide {
                    return Err(self.out_of_bounds(offset, 0));
                }
                Ok(Start { offset: offset as usize, as_bytes: true, ..Start::of(global) })
            }
            Type::Opaque(_) | type_group!(unit | number | composite) => Err(Trap::NullPointer),
        }
    }

    /// The memory that an address is in.
    fn memory_at(&self, address: i64) -> Option<Global> {
        let number = (address as u64 >> ADDRESS_BITS) as usize;
        (1..=self.module.globals.len()).contains(&number).then(|| Global::new(number - 1))
    }

    /// How many bytes a memory has in C layout.
    fn bytes_of(&self, global: Global) -> i64 {
        let types = &self.module.types;
        match types.get(self.module.globals[global].ty) {
            Type::Buffer(elem, _) => {
                size(types, elem) * self.buffer(global).map_or(0, |(.., len)| len) as i64
            }
            Type::Ref(inner) => size(types, inner),
            Type::Opaque(_) | type_group!(unit | number | composite) => 0,
        }
    }

    fn is_empty_buffer(&self, global: Global) -> bool {
        self.is_buffer(global) && self.buffer(global).is_none_or(|(.., len)| len == 0)
    }

    /// `point`: a pointer to the part at a path. A pointer into a buffer without elements is null.
    pub(crate) fn point(&mut self, levels: &[Level], args: &[Val]) -> Val {
        let mut pointer = match &args[0] {
            // A pointer parameter that the host did not set is a buffer without elements.
            Val::Handle(global) if self.is_empty_buffer(*global) => return Val::Null,
            Val::Handle(global) => Pointer::new(*global),
            Val::Pointer(pointer) => (**pointer).clone(),
            // A part of nothing is nowhere either; following it says so.
            Val::Undef | Val::Unit | Val::Scalar(_) | Val::Aggregate(_) | Val::Null => return Val::Null,
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
            Val::Handle(global) => Pointer::new(*global),
            Val::Undef | Val::Unit | Val::Scalar(_) | Val::Aggregate(_) | Val::Null => return Val::Null,
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
        let base = |global: Global| (global.index() as i64 + 1) << ADDRESS_BITS;
        let (mut offset, mut ty, steps, strayed) = match pointer {
            Val::Handle(global) => (base(*global), self.module.globals[*global].ty, &[][..], 0),
            Val::Pointer(pointer) => match pointer.origin {
                Origin::Global(global) => {
                    (base(global), self.module.globals[global].ty, &pointer.steps[..], pointer.strayed)
                }
                Origin::Address(address, _) if self.memory_at(address).is_none() => return Val::int(0),
                Origin::Address(address, first) => {
                    let start = address.wrapping_add(pointer.steps[0].wrapping_mul(size(types, first)));
                    (start, first, &pointer.steps[1..], pointer.strayed)
                }
            },
            Val::Undef | Val::Unit | Val::Scalar(_) | Val::Aggregate(_) | Val::Null => return Val::int(0),
        };
        offset = offset.wrapping_add(strayed.wrapping_mul(size(types, to)));
        for &step in steps {
            let inner = if let Type::Ref(inner) = types.get(ty) { inner } else { ty };
            let part = match types.get(inner) {
                Type::Struct(_) => u32::try_from(step).ok().and_then(|i| layout::part(types, inner, i)),
                Type::Array(elem, _) | Type::Buffer(elem, _) => Some((0, elem)),
                // Lanes and rows are alike; any number stands for them all.
                Type::Sum(_) | type_group!(unit | number | handle) => {
                    types.part(inner, Some(0)).map(|elem| (0, elem))
                }
            };
            let Some((at, elem)) = part else { break };
            let is_field = matches!(types.get(inner), Type::Struct(_));
            let here = if is_field { i64::from(at) } else { step.wrapping_mul(size(types, elem)) };
            offset = offset.wrapping_add(here);
            ty = elem;
        }
        Val::Scalar(eval::Eval::default().constant(Const::Int(offset), Scalar::U64))
    }

    /// `pointer`: a pointer to the place of a number or of another pointer.
    pub(crate) fn pointer(&mut self, from: &Val, from_ty: Type, to: Ty) -> Val {
        let address = if let Type::Ref(inner) = from_ty { self.address(from, inner) } else { from.clone() };
        if let Const::Int(address) = self.scalar(&address, Scalar::U64)
            && self.memory_at(address).is_some()
        {
            Pointer::at(address, to)
        } else {
            Val::Null
        }
    }
}

fn size(types: &Types, ty: Ty) -> i64 {
    layout::layout(types, ty).map_or(0, |l| l.size.into())
}

/// Where a part begins in C layout, and its type.
fn part(types: &Types, ty: Ty, index: u32) -> Option<(i64, Ty)> {
    layout::part(types, ty, index).map(|(at, part)| (at.into(), part))
}

/// The way from a value to the part of type `to` that begins so many bytes into it; says whether there is one.
fn way(types: &Types, ty: Ty, offset: i64, to: Ty, at: &mut Positions) -> bool {
    if offset == 0 && ty == to {
        return true;
    }
    let Some(arity) = types.arity(ty) else { return false };
    let index = if let Type::Struct(_) = types.get(ty) {
        let holds = |index: &u32| {
            part(types, ty, *index).is_some_and(|(start, part)| {
                start <= offset && (offset < start + size(types, part) || part == to && start == offset)
            })
        };
        (0..arity).find(holds)
    } else {
        let stride = part(types, ty, 1).map_or(i64::MAX, |(start, _)| start.max(1));
        u32::try_from(offset / stride).ok().filter(|index| *index < arity)
    };
    let Some((index, (start, inner))) = index.and_then(|i| Some((i, part(types, ty, i)?))) else {
        return false;
    };
    at.push(index as usize);
    way(types, inner, offset - start, to, at)
}
