//! Converts values between two layouts.
//!
//! A [`Repack`] is the list of byte ranges that move when a value of a type changes its layout. It is computed once and used
//! for every element of a buffer. Adjacent ranges are merged.

use super::Rules;
use crate::{Ty, Type, Types};
use cotangent_base::Scalar;

/// How bytes move from one layout to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repack {
    moves: Vec<Move>,
}

/// A range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Where it begins.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// How many bytes it has.
    pub size: usize,
    /// A `bool`, which may be larger on one side: its first byte tells.
    pub flag: bool,
}

impl Repack {
    /// How a value of type `ty` moves. `None` if it has no layout.
    pub fn new(types: &Types, ty: Ty, from: Rules, to: Rules) -> Option<Repack> {
        from.layout(types, ty)?;
        to.layout(types, ty)?;
        let mut repack = Repack::default();
        repack.collect(types, ty, (from, 0), (to, 0))?;
        Some(repack)
    }

    /// The ranges.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The way back.
    pub fn reversed(&self) -> Repack {
        let moves = self.moves.iter().map(|m| Move { from: m.to, to: m.from, ..*m });
        Repack { moves: moves.collect() }
    }

    /// Moves a value.
    pub fn apply(&self, from: &[u8], to: &mut [u8]) {
        for m in &self.moves {
            if m.flag {
                to[m.to] = u8::from(from[m.from] != 0);
            } else {
                to[m.to..m.to + m.size].copy_from_slice(&from[m.from..m.from + m.size]);
            }
        }
    }

    fn collect(&mut self, types: &Types, ty: Ty, from: (Rules, usize), to: (Rules, usize)) -> Option<()> {
        match types.get(ty) {
            Type::Unit => Some(()),
            Type::Scalar(s) => {
                self.push(s, from.1, to.1);
                Some(())
            }
            Type::Matrix(s, r, c) => {
                let steps = |rules: Rules| {
                    let (row, column) = rules.matrix_steps(s, r, c);
                    (row as usize, column as usize)
                };
                let (a, b) = (steps(from.0), steps(to.0));
                for (row, column) in
                    (0..usize::from(r)).flat_map(|i| (0..usize::from(c)).map(move |j| (i, j)))
                {
                    self.push(s, from.1 + row * a.0 + column * a.1, to.1 + row * b.0 + column * b.1);
                }
                Some(())
            }
            Type::Vector(..) | Type::Array(..) | Type::Struct(_) => {
                for index in 0..types.arity(ty)? {
                    let (a, part) = from.0.part(types, ty, index)?;
                    let (b, _) = to.0.part(types, ty, index)?;
                    self.collect(types, part, (from.0, from.1 + a as usize), (to.0, to.1 + b as usize))?;
                }
                Some(())
            }
            // Its bytes are the same everywhere.
            Type::Sum(id) if !types.struct_def(id).ids.is_empty() => {
                let size = from.0.layout(types, ty)?.size as usize;
                self.range(Move { from: from.1, to: to.1, size, flag: false });
                Some(())
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => None,
        }
    }

    fn push(&mut self, s: Scalar, from: usize, to: usize) {
        self.range(Move { from, to, size: s.bytes() as usize, flag: s == Scalar::Bool });
    }

    fn range(&mut self, next: Move) {
        let follows = |last: &Move| (last.from + last.size, last.to + last.size) == (next.from, next.to);
        match self.moves.last_mut() {
            Some(last) if !last.flag && !next.flag && follows(last) => last.size += next.size,
            _ => self.moves.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructField;
    use crate::layout::{Matrices, Memory, Target};

    #[test]
    fn a_structure_moves_to_std430_and_back() {
        let mut types = Types::default();
        let (flag, float) = (types.scalar(Scalar::Bool), types.scalar(Scalar::F32));
        let float3 = types.intern(Type::Vector(Scalar::F32, 3));
        let matrix = types.intern(Type::Matrix(Scalar::F32, 2, 3));
        types.intern(Type::Vector(Scalar::F32, 2));
        let field = |name: &str, ty| StructField { name: name.into(), ty };
        let fields = vec![field("a", float), field("b", float3), field("c", flag), field("d", matrix)];
        let id = types.add_struct("S".into(), fields);
        let ty = types.intern(Type::Struct(id));
        let rules = Target::Wgsl.rules(Memory::Buffer, Matrices::Rows);
        let repack = Repack::new(&types, ty, Rules::C, rules).unwrap();
        // C: a 0, b 4, c 16, d 20 (rows of 12), 44 in all. std430: a 0, b 16, c 28, d 32 (rows 16 apart), 64 in all.
        let bytes: Vec<u8> = (0..44).map(|i| if i == 16 { 1 } else { i + 100 }).collect();
        let mut there = vec![0; 64];
        repack.apply(&bytes, &mut there);
        assert_eq!(
            (there[0], there[16], there[28], there[32], there[48], there[59]),
            (100, 104, 1, 120, 132, 143)
        );
        let mut back = vec![0; 44];
        repack.reversed().apply(&there, &mut back);
        let told = |i: usize| !(17..20).contains(&i);
        assert!((0..44).filter(|i| told(*i)).all(|i| back[i] == bytes[i]));
    }
}
