//! Loops that copy adjacent elements of a buffer to an array, or an array to adjacent elements of a buffer.
//!
//! ```text
//! for (int i = 0; i < N; i++) x[i] = buffer[thread * N + i];
//! ```
//!
//! The elements that the lanes read in one iteration are far apart. The elements that one lane reads in four iterations are
//! adjacent. So the loop runs four iterations at once: it reads a vector for each of four lanes, and transposes these four vectors.
//!
//! This needs all lanes to be active, all elements to be within the buffer, and no element to belong to two lanes. Otherwise the
//! loop runs as it is written.

use super::host::Memory;
use super::value::{Leaf, Repr, native};
use super::{LANES, LEAF_BYTES, Lanes, PARTS};
use crate::compile::Result;
use cotangent_base::{Map, Scalar};
use cotangent_ir::{Const, Func, InstData, LoopInfo, Math, Op, Path, Step, Type, Value, op_group};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::SmallVec;

/// Loops of fewer iterations are left as they are.
const LEAST: u32 = 8;

/// A loop that copies.
struct Copy<'d> {
    /// The access to the buffer.
    access: &'d InstData,
    /// The index of the buffer's element.
    index: Value,
    /// The element.
    element: Value,
    scalar: Scalar,
    /// The array that is read, if the buffer is written.
    array: Option<Value>,
    /// The instructions that compute the index.
    before: Vec<&'d InstData>,
}

/// The elements of a buffer that belong to lanes.
struct Rows {
    /// The address of the first element of the first lane.
    address: Reg,
    /// The bytes from lane to lane.
    stride: i32,
}

impl<'m> Lanes<'_, '_, 'm> {
    /// Emits a loop of `n` iterations that lanes run together, if it copies elements. Returns whether it does.
    pub(super) fn copy_loop(&mut self, data: &InstData, info: LoopInfo, n: u32) -> Result<bool> {
        let Some(copy) = self.copied(data, n) else { return Ok(false) };
        let counter = self.body.func.regions[data.regions[0]].args[0];
        let zero = self.body.int(types::I32, 0);
        self.set(counter, SmallVec::from_slice(&[Leaf::One(zero)]))?;
        for inst in &copy.before {
            self.plain(inst)?;
        }
        let Leaf::Next(first, step) = self.leaf(copy.index) else { return Ok(false) };
        if step < n {
            return Ok(false);
        }
        self.count_copy(n);
        let Memory { given, len, .. } = self.memory(copy.access.operands[0])?;
        let scalar = self.body.scalar_of(copy.index);
        let first = self.body.extended(first, scalar);
        let is_outside = self.is_row_outside(first, step, n, len, scalar);
        let (fast, slow, end) =
            (self.body.b.create_block(), self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().brif(is_outside, slow, &[], fast, &[]);
        self.body.b.switch_to_block(slow);
        self.in_cold(slow, |lanes| {
            lanes.plain_for_loop(data, info)?;
            lanes.body.b.ins().jump(end, &[]);
            Ok(())
        })?;
        self.body.b.switch_to_block(fast);
        let at = self.body.mul_const(first, 4);
        let rows = Rows { address: self.body.b.ins().iadd(given, at), stride: 4 * step as i32 };
        match copy.array {
            None => {
                self.move_storage(&data.operands[1..], &data.results)?;
                let to = self.body.storage(data.results[0]);
                let to = self.body.address(to);
                self.in_fours(n, |lanes, i| lanes.read_four(&rows, to, i, copy.scalar))?;
            }
            Some(array) => {
                let from = self.place_of(array)?;
                let from = self.body.address(from);
                self.in_fours(n, |lanes, i| lanes.write_four(&rows, from, i, &copy))?;
            }
        }
        self.body.b.ins().jump(end, &[]);
        self.body.b.switch_to_block(end);
        self.take(&data.results, &[])?;
        Ok(true)
    }

    /// Whether a lane has an element outside the buffer or, if lanes write, is dead.
    fn is_row_outside(&mut self, first: Reg, step: u32, n: u32, len: Reg, scalar: Scalar) -> Reg {
        let last = self.body.add_const(first, i64::from(step) * (LANES as i64 - 1) + i64::from(n) - 1);
        // Greater indices would wrap in 32 bits.
        let most = if scalar.is_signed() { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let most = self.body.int(types::I64, most + 1);
        let len = self.body.b.ins().umin(len, most);
        let outside = IntCC::UnsignedGreaterThanOrEqual;
        let ends = self.body.b.ins().icmp(outside, last, len);
        let begins = self.body.b.ins().icmp(outside, first, len);
        let dead = self.is_lane_dead();
        let outside = self.body.b.ins().bor(begins, ends);
        self.body.b.ins().bor(outside, dead)
    }

    /// Emits code for all numbers below `n`, four at a time. The last four may overlap the four before them.
    fn in_fours(&mut self, n: u32, mut each: impl FnMut(&mut Self, Reg) -> Result<()>) -> Result<()> {
        self.repeat(u64::from(n / 4), |lanes, i| {
            let i = lanes.body.mul_const(i, 4);
            each(lanes, i)
        })?;
        if n.is_multiple_of(4) {
            return Ok(());
        }
        let last = self.body.int(types::I64, i64::from(n) - 4);
        each(self, last)
    }

    /// Reads four elements of each lane, from the `i`th, into an array.
    fn read_four(&mut self, rows: &Rows, array: Reg, i: Reg, scalar: Scalar) -> Result<()> {
        let (from, to) = (self.further_by(rows.address, i, 4), self.further_by(array, i, LEAF_BYTES as i64));
        for part in 0..PARTS as i32 {
            let flags = MemFlagsData::new().with_notrap();
            let lanes = [0, 1, 2, 3].map(|lane| {
                self.body.b.ins().load(native(scalar), flags, from, rows.stride * (4 * part + lane))
            });
            for (number, four) in (0..).zip(self.transposed(lanes)) {
                let at = LEAF_BYTES as i32 * number + 16 * part;
                self.body.b.ins().store(MemFlagsData::trusted(), four, to, at);
            }
        }
        Ok(())
    }

    /// Writes four elements of an array, from the `i`th, for each lane.
    fn write_four(&mut self, rows: &Rows, array: Reg, i: Reg, copy: &Copy<'_>) -> Result<()> {
        let (to, from) = (self.further_by(rows.address, i, 4), self.further_by(array, i, LEAF_BYTES as i64));
        let mut parts: [Vec<_>; PARTS] = Default::default();
        for number in 0..4 {
            let leaf = Leaf::Each(self.load_vector(copy.scalar, from, number));
            let leaf = self.canonical_leaves(copy.element, SmallVec::from_slice(&[leaf]))?[0];
            let element = self.vector(leaf, copy.scalar);
            parts.iter_mut().zip(element).for_each(|(part, value)| part.push(value));
        }
        for (part, elements) in parts.iter().enumerate() {
            let lanes = self.transposed(std::array::from_fn(|number| elements[number]));
            let flags = MemFlagsData::new().with_notrap();
            for (lane, four) in (0..).zip(lanes) {
                self.body.b.ins().store(flags, four, to, rows.stride * (4 * part as i32 + lane));
            }
        }
        Ok(())
    }

    /// The copy that a loop makes, if it does nothing else.
    fn copied(&self, data: &InstData, n: u32) -> Option<Copy<'m>> {
        let func: &'m Func = self.body.func;
        let body = &func.regions[data.regions[0]];
        if n < LEAST || !self.mask.is_full() {
            return None;
        }
        let [counter, carried @ ..] = &body.args[..] else { return None };
        let is_element = |path: &Path| path.0[..] == [Step::Index];
        let (mut before, mut access, mut part) = (Vec::new(), None, None);
        let (exit, insts) = body.insts.split_last()?;
        for data in insts.iter().map(|inst| &func.insts[*inst]) {
            match &data.op {
                Op::Global(_) | Op::Const(_) | Op::Convert => before.push(data),
                Op::Math(Math::Add | Math::Sub | Math::Mul) => before.push(data),
                Op::Load(path) | Op::Store(path) if is_element(path) && access.is_none() => {
                    access = Some(data)
                }
                Op::Insert(path) | Op::Extract(path) if is_element(path) && part.is_none() => {
                    part = Some(data)
                }
                op_group!(plain | call | control | exit) => return None,
            }
        }
        let (access, part, exit) = (access?, part?, &func.insts[*exit]);
        let (array, element, index) = match (&access.op, &part.op, carried) {
            (Op::Load(_), Op::Insert(_), [array]) => {
                let is_whole = part.operands[..] == [*array, access.results[0], *counter];
                let is_kept = exit.op == Op::Yield && exit.operands[..] == part.results[..];
                (data.results.first().filter(|_| is_whole && is_kept)?, access.results[0], access.operands[1])
            }
            (Op::Store(_), Op::Extract(_), []) => {
                let is_whole = part.operands[1] == *counter && access.operands[1] == part.results[0];
                (Some(&part.operands[0]).filter(|_| is_whole)?, part.results[0], access.operands[2])
            }
            (op_group!(plain | call | control | exit), ..) => return None,
        };
        let Type::Array(_, len) = self.body.ty(*array) else { return None };
        let scalar = self.body.ty(element).scalar()?;
        let is_vector = self.body.shape_of(element).leaves == 1;
        let is_word = matches!(scalar, Scalar::I32 | Scalar::U32 | Scalar::F32);
        let is_in_place = self.in_memory(*array) && is_vector && is_word && n <= len;
        let made = [access, part].into_iter().flat_map(|data| &data.results).collect::<Vec<_>>();
        let reads = |data: &&InstData| data.operands.iter().any(|operand| made.contains(&operand));
        let depends = before.iter().any(reads) || made.contains(&&index);
        let in_row = !depends && self.grows(index, *counter, &before) == Some(1);
        let writes = matches!(access.op, Op::Store(_));
        let is_there = !writes || matches!(self.values[*array], Some(Repr::Memory(_)));
        let array = writes.then_some(*array);
        (is_in_place && in_row && is_there).then_some(Copy { access, index, element, scalar, array, before })
    }

    /// Whether an array is read only by a loop that overwrites all of its elements.
    pub(super) fn is_copied_over(&self, array: Value) -> bool {
        let func = self.body.func;
        let insts = func.all_insts().into_iter().map(|inst| &func.insts[inst]);
        let mut uses = insts.filter(|data| data.operands.contains(&array));
        let (Some(data), None, Type::Array(_, len)) = (uses.next(), uses.next(), self.body.ty(array)) else {
            return false;
        };
        let [n, only] = data.operands[..] else { return false };
        let is_loop = matches!(data.op, Op::For(_)) && only == array;
        let is_whole = matches!(func.op(n), Some(Op::Const(Const::Int(n))) if *n == i64::from(len));
        is_loop && is_whole && self.copied(data, len).is_some_and(|copy| copy.array.is_none())
    }

    /// The amount by which a number grows per iteration, if it is constant. The instructions that compute the number are in order.
    fn grows(&self, value: Value, counter: Value, before: &[&InstData]) -> Option<i32> {
        let mut known: Map<Value, Option<i32>> = Map::default();
        known.insert(counter, Some(1));
        // Values from outside the loop do not change.
        let of =
            |known: &Map<Value, Option<i32>>, value: Value| known.get(&value).copied().unwrap_or(Some(0));
        let is_word = |value| matches!(self.body.ty(value).scalar(), Some(Scalar::I32 | Scalar::U32));
        for data in before {
            let result = data.results[0];
            let operands: Option<SmallVec<[i32; 2]>> =
                data.operands.iter().map(|operand| of(&known, *operand)).collect();
            let grows = match (&data.op, operands.as_deref()) {
                (_, None) => None,
                (Op::Convert, Some([a])) if is_word(data.operands[0]) && is_word(result) => Some(*a),
                (Op::Math(Math::Add), Some([a, b])) if is_word(result) => Some(a.wrapping_add(*b)),
                (Op::Math(Math::Sub), Some([a, b])) if is_word(result) => Some(a.wrapping_sub(*b)),
                (_, Some(operands)) => operands.iter().all(|n| *n == 0).then_some(0),
            };
            known.insert(result, grows);
        }
        of(&known, value)
    }

    fn further_by(&mut self, address: Reg, i: Reg, size: i64) -> Reg {
        let at = self.body.mul_const(i, size);
        self.body.b.ins().iadd(address, at)
    }

    /// The columns of four rows.
    fn transposed(&mut self, rows: [Reg; 4]) -> [Reg; 4] {
        let ty = self.body.b.func.dfg.value_type(rows[0]);
        let [a, b, c, d] = rows;
        let [ab, cd] = [(a, b), (c, d)].map(|(a, b)| self.words(a, b, [0, 4, 1, 5]));
        let [ab_end, cd_end] = [(a, b), (c, d)].map(|(a, b)| self.words(a, b, [2, 6, 3, 7]));
        let columns = [
            self.words(ab, cd, [0, 1, 4, 5]),
            self.words(ab, cd, [2, 3, 6, 7]),
            self.words(ab_end, cd_end, [0, 1, 4, 5]),
            self.words(ab_end, cd_end, [2, 3, 6, 7]),
        ];
        columns.map(|column| self.body.vector_as(ty, column))
    }
}
