//! Executes loads, stores, atomics, assertions and `printf`.

use crate::aggregate::Positions;
use crate::decode::Level;
use crate::layout::Shape;
use crate::pointer::Start;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_base::printf::{self, Piece, Shown};
use cotangent_ir::{AtomicKind, Const, Global, Trap, Ty, Type};
use smallvec::SmallVec;
use std::mem;
use std::sync::Arc;

/// A part of memory.
enum Part {
    /// Of a variable.
    Variable(Start, Positions),
    /// In the memory of a buffer: the memory, and the first byte.
    Bytes(usize, usize),
    /// Bytes of a variable, from that one on.
    Inside(Global, usize),
}

impl Machine<'_> {
    /// The part that a handle or pointer and a path lead to.
    fn part(&mut self, levels: &[Level], handle: &Val, indices: &[Val]) -> Result<Part, Trap> {
        let start = self.follow(handle)?;
        if start.as_bytes {
            let offset = self.bytes_to(levels, indices, 0)?;
            return Ok(Part::Inside(start.global, start.offset + offset));
        }
        if !self.is_buffer(start.global) {
            let at = self.positions(levels, indices, 0)?;
            return Ok(Part::Variable(start, at));
        }
        let (store, _, len) = self.buffer(start.global).unwrap_or((usize::MAX, 1, 0));
        let offset = self.bytes_to(levels, indices, len)?;
        Ok(Part::Bytes(store, start.offset + offset))
    }

    pub(crate) fn load(&mut self, levels: &[Level], ty: Ty, args: &[Val]) -> Result<Val, Trap> {
        Ok(match self.part(levels, &args[0], &args[1..])? {
            Part::Variable(start, at) => {
                let way = start.at.iter().chain(&at);
                way.fold(&self.memory[start.global], |value, i| value.part(*i)).clone()
            }
            Part::Bytes(store, offset) => {
                let shape = self.shape(ty).expect("what lies in memory has a layout");
                shape.decode(&self.stores[store].bytes()[offset..])
            }
            Part::Inside(global, offset) => {
                let (_, bytes) = self.variable_bytes(global)?;
                self.shape(ty).expect("what lies in memory has a layout").decode(&bytes[offset..])
            }
        })
    }

    pub(crate) fn store(&mut self, levels: &[Level], ty: Ty, args: &mut [Val]) -> Result<Val, Trap> {
        match self.part(levels, &args[0], &args[2..])? {
            Part::Variable(start, at) => {
                let value = mem::take(&mut args[1]);
                self.change(levels, &start, &at, |_, part| *part = value);
            }
            Part::Bytes(store, offset) => {
                let shape = self.loaded.layouts.shape(&self.module.types, ty);
                let shape = shape.expect("what lies in memory has a layout");
                if shape.has_pointers() {
                    args[1] = self.addressed(shape, &args[1]);
                }
                shape.encode(&args[1], &mut self.stores[store].bytes_mut()[offset..]);
            }
            Part::Inside(global, offset) => {
                let shape = self.shape(ty).expect("what lies in memory has a layout").clone();
                let value = self.addressed(&shape, &args[1]);
                self.change_bytes(global, |bytes| shape.encode(&value, &mut bytes[offset..]))?;
            }
        }
        Ok(Val::Unit)
    }

    /// A value with numbers in place of its pointers, as it lies in memory.
    fn addressed(&self, shape: &Shape, value: &Val) -> Val {
        shape.with_addresses(value, &|pointer, to| self.address(pointer, to))
    }

    /// The bytes of a variable.
    fn variable_bytes(&mut self, global: Global) -> Result<(Arc<Shape>, Vec<u8>), Trap> {
        let shape = if let Type::Ref(inner) = self.module.types.get(self.module.globals[global].ty) {
            self.shape(inner).cloned()
        } else {
            None
        };
        let Some(shape) = shape else { return Err(self.out_of_bounds(0, 0)) };
        let mut bytes = vec![0; shape.size];
        shape.encode(&self.addressed(&shape, &self.memory[global]), &mut bytes);
        Ok((shape, bytes))
    }

    fn change_bytes<R>(&mut self, global: Global, change: impl FnOnce(&mut [u8]) -> R) -> Result<R, Trap> {
        let (shape, mut bytes) = self.variable_bytes(global)?;
        let result = change(&mut bytes);
        self.memory[global] = shape.decode(&bytes);
        Ok(result)
    }

    /// One step of one thread is never in the middle of another's, so what is atomic is so by itself.
    pub(crate) fn atomic(
        &mut self,
        kind: AtomicKind,
        ty: Ty,
        levels: &[Level],
        args: &mut [Val],
    ) -> Result<Val, Trap> {
        let scalar = self.module.types.get(ty).scalar().expect("the verifier checked the type");
        let (values, indices) = args[1..].split_at(kind.values());
        let values: SmallVec<[Const; 2]> = values.iter().map(|v| self.scalar(v, scalar)).collect();
        match self.part(levels, &args[0], indices)? {
            Part::Variable(start, at) => self.change(levels, &start, &at, |machine, part| {
                let old = machine.scalar(part, scalar);
                *part = Val::Scalar(machine.updated(kind, scalar, old, &values)?);
                Ok(Val::Scalar(old))
            }),
            Part::Bytes(store, offset) => {
                let global = self.follow(&args[0])?.global;
                if scalar.bytes() == 8 && self.has_words(global) {
                    return self.atomic_words(kind, scalar, &values, global, offset);
                }
                let shape = self.shape(ty).expect("what lies in memory has a layout");
                let old = shape.scalar(&self.stores[store].bytes()[offset..]);
                let old = old.expect("the verifier checked the type");
                let new = Val::Scalar(self.updated(kind, scalar, old, &values)?);
                let shape = self.loaded.layouts.shape(&self.module.types, ty);
                shape
                    .expect("what lies in memory has a layout")
                    .encode(&new, &mut self.stores[store].bytes_mut()[offset..]);
                Ok(Val::Scalar(old))
            }
            Part::Inside(global, offset) => {
                let shape = self.shape(ty).expect("what lies in memory has a layout").clone();
                let (_, bytes) = self.variable_bytes(global)?;
                let old = shape.scalar(&bytes[offset..]).expect("the verifier checked the type");
                let new = Val::Scalar(self.updated(kind, scalar, old, &values)?);
                self.change_bytes(global, |bytes| shape.encode(&new, &mut bytes[offset..]))?;
                Ok(Val::Scalar(old))
            }
        }
    }

    /// What an atomic operation makes of what was there.
    fn updated(
        &mut self,
        kind: AtomicKind,
        scalar: Scalar,
        old: Const,
        values: &[Const],
    ) -> Result<Const, Trap> {
        match (kind.math(), values) {
            (Some(math), &[v]) => self.eval.math(math, scalar, &[old, v]),
            (None, &[v]) => Ok(v),
            (None, &[expected, v]) => Ok(if old == expected { v } else { old }),
            _ => unreachable!("the verifier counted"),
        }
    }

    /// An atomic operation on 64 bits of a buffer of words, from a byte on.
    fn atomic_words(
        &mut self,
        kind: AtomicKind,
        scalar: Scalar,
        values: &[Const],
        global: Global,
        offset: usize,
    ) -> Result<Val, Trap> {
        let (store, stride, len) = self.buffer(global).unwrap_or((usize::MAX, 1, 0));
        let first = offset / stride;
        if first + 1 >= len {
            return Err(self.out_of_bounds(first as i64 + 1, len));
        }
        // In wide memory too, a word lies in the first four of its bytes.
        let word =
            |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()));
        let bytes = &self.stores[store].bytes()[offset..];
        let bits = word(bytes) | word(&bytes[stride..]) << 32;
        let old = match scalar.is_float() {
            true => Const::Float(bits),
            false => Const::Int(bits as i64),
        };
        let bits = match self.updated(kind, scalar, old, values)? {
            Const::Float(bits) => bits,
            Const::Int(bits) => bits as u64,
            Const::Bool(_) => unreachable!("the verifier checked the type"),
        };
        let bytes = &mut self.stores[store].bytes_mut()[offset..];
        bytes[..4].copy_from_slice(&(bits as u32).to_le_bytes());
        bytes[stride..][..4].copy_from_slice(&((bits >> 32) as u32).to_le_bytes());
        Ok(Val::Scalar(old))
    }

    /// Changes a part of a variable.
    fn change<R>(
        &mut self,
        levels: &[Level],
        start: &Start,
        at: &[usize],
        change: impl FnOnce(&mut Self, &mut Val) -> R,
    ) -> R {
        let mut memory = mem::take(&mut self.memory[start.global]);
        let mut part = &mut memory;
        for &i in &start.at {
            part = &mut self.own(part, 0, true)[i];
        }
        let part = self.place(part, levels, at);
        let mut value = mem::take(part);
        let result = change(self, &mut value);
        *part = value;
        self.memory[start.global] = memory;
        result
    }

    pub(crate) fn length(&mut self, buffer: &Val) -> Result<Val, Trap> {
        let Val::Handle(global) = buffer else { return Err(Trap::NullPointer) };
        Ok(Val::int(self.buffer(*global).map_or(0, |(.., len)| len) as i64))
    }

    pub(crate) fn assert(&mut self, cond: &Val, trap: Trap) -> Result<Val, Trap> {
        let holds = self.scalar(cond, Scalar::Bool) == Const::Bool(true);
        if holds { Ok(Val::Unit) } else { Err(trap) }
    }

    /// Appends to what the program has written.
    pub(crate) fn print(&mut self, format: &str, types: &[Type], args: &[Val]) -> Val {
        let mut args = args.iter().zip(types);
        // The checker has looked at the format.
        for piece in printf::parse(format).unwrap_or_default() {
            match piece {
                Piece::Text(text) => self.output.push_str(&text),
                Piece::Value(conversion) => {
                    let Some((value, ty)) = args.next() else { break };
                    let scalar = ty.scalar().expect("the verifier checked the type");
                    let shown = match self.scalar(value, scalar) {
                        Const::Bool(value) => Shown::Integer(value.into(), 32),
                        Const::Int(value) => Shown::Integer(value, scalar.bits()),
                        Const::Float(bits) => Shown::Float(f64::from_bits(bits)),
                    };
                    self.output.push_str(&conversion.show(shown));
                }
            }
        }
        Val::Unit
    }
}
