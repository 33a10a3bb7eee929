//! Indices in a row as sums: what tells whether threads keep to elements of their own.
//!
//! An index in a row is `first + step * lane`, modulo 2^32. `first` is taken apart: into registers that are multiplied by constants, and
//! a remainder that is between two bounds, such as the counter of a loop:
//!
//! ```text
//! gradient[thread * 9 + i]      step 9, first = 9 * (first thread) + 0..8
//! ```
//!
//! Where all registers of such a sum are counters, it also gives addresses of parts that are certainly inside: `base + 32 * i + 32 * 9`
//! for an element `i + 9`, of which outer loops compute their part.
//!
//! If two accesses have the same step and the same registers, and all remainders together span less than a step, then no two lanes
//! meet at an element. The registers must not change from iteration to iteration: in a loop, only those from before it count.

use super::{LANES, Lanes};
use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::ir::{
    DataFlowGraph, InstBuilder, InstructionData, Opcode, Value as Reg, ValueDef, types,
};
use smallvec::SmallVec;

/// How deeply sums of sums are taken apart.
const MOST_DEPTH: usize = 16;

/// What is known of a register of 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    register: Reg,
    least: i64,
    greatest: i64,
    /// Whether it holds in dead lanes, too.
    is_sure: bool,
}

/// The indices of one or more accesses.
#[derive(Clone, Debug)]
pub(super) struct Row {
    step: u32,
    /// The registers of the sum with what they are multiplied by, in order.
    terms: SmallVec<[(Reg, u32); 4]>,
    least: i64,
    greatest: i64,
    /// The registers between bounds with what they are multiplied by, and what is added.
    counters: SmallVec<[(Reg, i64); 4]>,
    constant: i64,
}

impl Row {
    fn new(step: u32) -> Row {
        Row { step, terms: SmallVec::new(), least: 0, greatest: 0, counters: SmallVec::new(), constant: 0 }
    }

    /// Both together, if lanes do not meet.
    pub fn with(mut self, other: &Row) -> Option<Row> {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        (self.step == other.step && self.terms == other.terms && self.keeps_apart()).then_some(self)
    }

    /// Whether each lane has elements of its own. All lanes together must not reach around 2^32.
    fn keeps_apart(&self) -> bool {
        let span = self.greatest.saturating_sub(self.least);
        span < self.step.into() && u64::from(self.step) * (LANES as u64 + 1) < 1 << 32
    }

    fn add(&mut self, register: Reg, factor: u32) {
        match self.terms.iter_mut().find(|(known, _)| *known == register) {
            Some((_, sum)) => *sum = sum.wrapping_add(factor),
            None => self.terms.push((register, factor)),
        }
    }

    /// Adds a number between two bounds.
    fn add_range(&mut self, least: i64, greatest: i64, factor: u32) {
        let factor = i64::from(factor as i32);
        let (a, b) = (least.saturating_mul(factor), greatest.saturating_mul(factor));
        self.least = self.least.saturating_add(a.min(b));
        self.greatest = self.greatest.saturating_add(a.max(b));
    }
}

impl Lanes<'_, '_, '_> {
    /// Indices that begin with a register and grow by a number from lane to lane; nothing if lanes could meet.
    pub(super) fn row_of(&self, first: Reg, step: u32) -> Option<Row> {
        let mut row = Row::new(step);
        self.take_apart(&mut row, first, 1, 0, false);
        row.terms.retain(|(_, factor)| *factor != 0);
        row.terms.sort_unstable();
        let is_fixed = row.terms.iter().all(|(register, _)| self.is_fixed(*register));
        (is_fixed && row.keeps_apart()).then_some(row)
    }

    /// The least and the greatest number that a register can be, if it is a sum of counters and constants.
    pub(super) fn bounds_of(&self, register: Reg) -> Option<(i64, i64)> {
        self.sum_of(register).map(|row| (row.least, row.greatest))
    }

    fn sum_of(&self, register: Reg) -> Option<Row> {
        let mut row = Row::new(1);
        self.take_apart(&mut row, register, 1, 0, true);
        // Within these bounds, sums modulo 2^32 are sums.
        let is_exact = 0 <= row.least && row.greatest <= i32::MAX.into();
        (is_exact && row.terms.iter().all(|(_, factor)| *factor == 0)).then_some(row)
    }

    /// A multiple of a register that is such a sum, in 64 bits: what is to be computed, and what is to be added to it. What outer loops
    /// count comes first, so that inner loops need not compute it again.
    pub(super) fn multiple_of(&mut self, register: Reg, factor: i64) -> Option<(Option<Reg>, i64)> {
        let row = self.sum_of(register)?;
        let age = |register: Reg| {
            let dfg = &self.body.b.func.dfg;
            self.ranges.iter().rposition(|range| dfg.resolve_aliases(range.register) == register)
        };
        let mut counters = row.counters;
        counters.sort_by_key(|(register, _)| age(*register));
        let mut sum: Option<Reg> = None;
        for (at, (register, own)) in counters.iter().enumerate() {
            if counters[..at].iter().any(|(before, _)| before == register) {
                continue;
            }
            let same = counters[at + 1..].iter().filter(|(other, _)| other == register);
            let all = same.fold(*own, |all, (_, factor)| all + factor);
            let wide = self.body.b.ins().uextend(types::I64, *register);
            let term = self.body.mul_const(wide, all.checked_mul(factor)?);
            sum = Some(sum.map_or(term, |sum| self.body.b.ins().iadd(sum, term)));
        }
        Some((sum, row.constant.checked_mul(factor)?))
    }

    /// Whether a register has one value only while lanes run: it is set outside of loops.
    fn is_fixed(&self, register: Reg) -> bool {
        let func = &self.body.b.func;
        let block = match func.dfg.value_def(register) {
            ValueDef::Result(inst, _) => func.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => None,
        };
        self.loop_blocks.is_none_or(|first| block.is_some_and(|block| block.index() < first))
    }

    fn take_apart(&self, row: &mut Row, register: Reg, factor: u32, depth: usize, only_sure: bool) {
        let dfg = &self.body.b.func.dfg;
        let register = dfg.resolve_aliases(register);
        let is_here =
            |range: &&Range| dfg.resolve_aliases(range.register) == register && (range.is_sure || !only_sure);
        if let Some(Range { least, greatest, .. }) = self.ranges.iter().rfind(is_here) {
            row.counters.push((register, i64::from(factor as i32)));
            return row.add_range(*least, *greatest, factor);
        }
        if let Some(n) = constant(dfg, register) {
            row.constant = row.constant.saturating_add(i64::from(n).saturating_mul(i64::from(factor as i32)));
            return row.add_range(n.into(), n.into(), factor);
        }
        let Some((opcode, [a, b])) = binary(dfg, register).filter(|_| depth < MOST_DEPTH) else {
            return row.add(register, factor);
        };
        let mut both = |a_factor: u32, b_factor: u32| {
            self.take_apart(row, a, a_factor, depth + 1, only_sure);
            self.take_apart(row, b, b_factor, depth + 1, only_sure);
        };
        match (opcode, constant(dfg, a), constant(dfg, b)) {
            (Opcode::Iadd, ..) => both(factor, factor),
            (Opcode::Isub, ..) => both(factor, factor.wrapping_neg()),
            (Opcode::Imul, _, Some(n)) => {
                self.take_apart(row, a, factor.wrapping_mul(n as u32), depth + 1, only_sure);
            }
            (Opcode::Imul, Some(n), _) => {
                self.take_apart(row, b, factor.wrapping_mul(n as u32), depth + 1, only_sure);
            }
            (Opcode::Ishl, _, Some(n)) => {
                self.take_apart(row, a, factor.wrapping_shl(n as u32), depth + 1, only_sure);
            }
            _ => row.add(register, factor),
        }
    }

    /// Notes that a register is less than a number, as long as the region lasts whose code is emitted.
    pub(super) fn note_below(&mut self, register: Reg, count: Reg, is_sure: bool) {
        if let Some(count) = constant(&self.body.b.func.dfg, count).filter(|count| *count > 0) {
            self.ranges.push(Range { register, least: 0, greatest: i64::from(count) - 1, is_sure });
        }
    }
}

/// The number that a register holds, if that is a constant.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other instruction is of interest")]
fn constant(dfg: &DataFlowGraph, register: Reg) -> Option<i32> {
    let ValueDef::Result(inst, _) = dfg.value_def(register) else { return None };
    match dfg.insts[inst] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
            // Constants of 32 bits are extended by zeros.
            i32::try_from(imm.bits()).ok().or_else(|| u32::try_from(imm.bits()).ok().map(|n| n as i32))
        }
        _ => None,
    }
}

/// The operation on two registers that makes a register.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other instruction is of interest")]
fn binary(dfg: &DataFlowGraph, register: Reg) -> Option<(Opcode, [Reg; 2])> {
    let ValueDef::Result(inst, _) = dfg.value_def(register) else { return None };
    match dfg.insts[inst] {
        InstructionData::Binary { opcode, args } => Some((opcode, args)),
        _ => None,
    }
}
