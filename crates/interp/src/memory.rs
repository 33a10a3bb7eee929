//! Loads, stores, atomics, assertions and text.

use crate::decode::Level;
use crate::stop::Outside;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_base::printf::{self, Piece, Shown};
use cotangent_ir::{AtomicKind, Const, Global, Trap, Type};
use std::mem;

impl Machine<'_> {
    pub(crate) fn load(&mut self, levels: &[Level], args: &[Val]) -> Result<Val, Trap> {
        let start = self.follow(&args[0])?;
        let len = self.memory[start.global].parts().len();
        let at = self.positions(levels, &args[1..], len)?;
        let way = start.at.iter().chain(&at);
        Ok(way.fold(&self.memory[start.global], |value, i| value.part(*i)).clone())
    }

    pub(crate) fn store(&mut self, levels: &[Level], args: &mut [Val]) -> Result<Val, Trap> {
        let value = mem::take(&mut args[1]);
        self.change(levels, &args[0], &args[2..], |_, part| *part = value)?;
        Ok(Val::Unit)
    }

    /// One step of one thread is never in the middle of another's, so what is atomic is so by itself.
    pub(crate) fn atomic(
        &mut self,
        kind: AtomicKind,
        scalar: Scalar,
        levels: &[Level],
        args: &mut [Val],
    ) -> Result<Val, Trap> {
        let (values, indices) = args[1..].split_at(kind.values());
        let values: Vec<Const> = values.iter().map(|v| self.scalar(v, scalar)).collect();
        if scalar.bytes() == 8
            && let Some((global, first)) = self.first_word(levels, &args[0], indices)?
        {
            return self.atomic_words(kind, scalar, &values, global, first);
        }
        self.change(levels, &args[0], indices, |machine, part| {
            let old = machine.scalar(part, scalar);
            *part = Val::Scalar(machine.updated(kind, scalar, old, &values)?);
            Ok(Val::Scalar(old))
        })?
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

    /// If a handle and a path lead to a word of a buffer of words: the buffer, and which word.
    fn first_word(
        &mut self,
        levels: &[Level],
        handle: &Val,
        indices: &[Val],
    ) -> Result<Option<(Global, usize)>, Trap> {
        let start = self.follow(handle)?;
        let types = &self.module.types;
        let is_word = match types.get(self.module.globals[start.global].ty) {
            Type::Buffer(elem, _) => types.get(elem) == Type::Scalar(Scalar::U32),
            _ => false,
        };
        if !is_word {
            return Ok(None);
        }
        let len = self.memory[start.global].parts().len();
        let at = self.positions(levels, indices, len)?;
        Ok(start.at.iter().chain(&at).next().map(|first| (start.global, *first)))
    }

    /// An atomic operation on 64 bits of a buffer of words.
    fn atomic_words(
        &mut self,
        kind: AtomicKind,
        scalar: Scalar,
        values: &[Const],
        global: Global,
        first: usize,
    ) -> Result<Val, Trap> {
        let len = self.memory[global].parts().len();
        if first + 1 >= len {
            self.outside = Some(Outside { index: first as i64 + 1, len });
            return Err(Trap::OutOfBounds);
        }
        let word = |machine: &mut Self, i: usize| {
            let part = machine.memory[global].part(i).clone();
            match machine.scalar(&part, Scalar::U32) {
                Const::Int(word) => word as u64 & 0xffff_ffff,
                _ => 0,
            }
        };
        let bits = word(self, first) | word(self, first + 1) << 32;
        let old = match scalar.is_float() {
            true => Const::Float(bits),
            false => Const::Int(bits as i64),
        };
        let bits = match self.updated(kind, scalar, old, values)? {
            Const::Float(bits) => bits,
            Const::Int(bits) => bits as u64,
            Const::Bool(_) => unreachable!("the verifier checked the type"),
        };
        let mut memory = mem::take(&mut self.memory[global]);
        let words = self.own(&mut memory, 0, true);
        words[first] = Val::int(i64::from(bits as u32));
        words[first + 1] = Val::int((bits >> 32) as i64);
        self.memory[global] = memory;
        Ok(Val::Scalar(old))
    }

    /// Changes the part of memory that a handle or pointer and a path lead to.
    fn change<R>(
        &mut self,
        levels: &[Level],
        handle: &Val,
        indices: &[Val],
        change: impl FnOnce(&mut Self, &mut Val) -> R,
    ) -> Result<R, Trap> {
        let start = self.follow(handle)?;
        let len = self.memory[start.global].parts().len();
        let at = self.positions(levels, indices, len)?;
        let mut memory = mem::take(&mut self.memory[start.global]);
        let mut part = &mut memory;
        for &i in &start.at {
            part = &mut self.own(part, 0, true)[i];
        }
        let part = self.place(part, levels, &at);
        let mut value = mem::take(part);
        let result = change(self, &mut value);
        *part = value;
        self.memory[start.global] = memory;
        Ok(result)
    }

    pub(crate) fn length(&mut self, buffer: &Val) -> Result<Val, Trap> {
        let Val::Handle(global) = buffer else { return Err(Trap::NullPointer) };
        Ok(Val::int(self.memory[*global].parts().len() as i64))
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
