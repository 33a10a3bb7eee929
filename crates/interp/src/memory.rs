//! Loads, stores, atomics, assertions and text.

use crate::decode::Level;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_base::printf::{self, Piece, Shown};
use cotangent_ir::{AtomicKind, Const, Trap, Type};
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
        self.change(levels, &args[0], indices, |machine, part| {
            let old = machine.scalar(part, scalar);
            let new = match (kind.math(), &values[..]) {
                (Some(math), &[v]) => machine.eval.math(math, scalar, &[old, v])?,
                (None, &[v]) => v,
                (None, &[expected, v]) => {
                    if old == expected {
                        v
                    } else {
                        old
                    }
                }
                _ => unreachable!("the verifier counted"),
            };
            *part = Val::Scalar(new);
            Ok(Val::Scalar(old))
        })?
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

    pub(crate) fn length(&mut self, buffer: &Val) -> Val {
        let Val::Handle(global) = buffer else { unreachable!("the verifier checked the type") };
        Val::int(self.memory[*global].parts().len() as i64)
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
