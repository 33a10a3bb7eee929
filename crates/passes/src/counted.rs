//! Turns loops that count into counted loops.
//!
//! ```text
//! func @f(%n: i32, %x: f32, out end: i32) -> f32 {
//!   %zero: i32 = const 0
//!   %i: i32, %s: f32 = while (%zero, %x) cond(%i0: i32, %s0: f32) {
//!     %c: bool = lt %i0, %n
//!     yield %c
//!   } body(%j: i32, %s1: f32) {
//!     %t: f32 = convert %j
//!     %s2: f32 = mul %s1, %t
//!     %one: i32 = const 1
//!     %i2: i32 = add %j, %one
//!     yield %i2, %s2
//!   }
//!   return %s, %i
//! }
//! ```
//! becomes
//! ```text
//! func @f(%n: i32, %x: f32, out end: i32) -> f32 {
//!   %2: i32 = const 0
//!   %i: i32 = max %n, %2
//!   %s: f32 = for %i (%x) body(%j: i32, %s1: f32) {
//!     %t: f32 = convert %j
//!     %s2: f32 = mul %s1, %t
//!     yield %s2
//!   }
//!   return %s, %i
//! }
//! ```
//!
//! A `while` counts if its condition compares one carried integer with a value that does not change, and every
//! edge to the next round adds the same constant to that integer. Then the number of rounds is known before the
//! loop starts, and the integer in round `k` is `start + step * k`.
//!
//! **Which loops.** All loops that count and whose number of rounds is a constant get their `max_iters`, unless
//! they have one. Those that are left only through their condition become `for`.
//!
//! **Overflow.** All numbers are 32 bits wide and wrap. Rounds are counted in `u32`, where the distance from
//! start to bound is exact. A count that only passes its bound by wrapping around, and one of more than
//! 2^31 - 1 rounds, is taken as 2^31 - 1 rounds: the IR has no longer counted loop. A step larger than
//! [`LARGEST_STEP`] could wrap after few rounds, so it is only taken with constant bounds.
//!
//! It does not look for bounds that are invariant but computed in the condition; [`hoist`](crate::hoist) has
//! moved those out.

use crate::consts;
use crate::edit::{Renaming, keep_args, keep_operands, keep_results};
use crate::fold::is_silent;
use crate::shape::{Exit, Loop, Shape, exit_of};
use cotangent_base::Scalar;
use cotangent_ir::{Builder, Const, Func, Math, Op, Region, Type, Types, Value, ValueDef};

/// The largest step of a loop with an unknown bound. Its integer wraps after 2^16 rounds at the earliest.
pub const LARGEST_STEP: i64 = 1 << 15;

/// The longest counted loop.
const MOST: i64 = i32::MAX as i64;

/// A loop that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The carried value that counts.
    pub slot: usize,
    /// What it starts with.
    pub start: Value,
    /// What each round adds to it.
    pub step: i64,
    /// How it is compared with the bound, it being on the left.
    pub compare: Compare,
    /// What it is compared with: a value from outside the loop, or a constant of the condition.
    pub bound: Value,
    /// Its type.
    pub scalar: Scalar,
}

/// A comparison that may end a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are those of `Math`")]
pub enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Ne,
}

impl Compare {
    const ALL: [Compare; 5] = [Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Ne];

    fn of(op: &Op) -> Option<Compare> {
        Self::ALL.into_iter().find(|compare| *op == Op::Math(compare.math()))
    }

    /// The operation.
    pub fn math(self) -> Math {
        match self {
            Compare::Lt => Math::Lt,
            Compare::Le => Math::Le,
            Compare::Gt => Math::Gt,
            Compare::Ge => Math::Ge,
            Compare::Ne => Math::Ne,
        }
    }

    /// The same with its sides exchanged.
    fn mirrored(self) -> Compare {
        match self {
            Compare::Lt => Compare::Gt,
            Compare::Le => Compare::Ge,
            Compare::Gt => Compare::Lt,
            Compare::Ge => Compare::Le,
            Compare::Ne => Compare::Ne,
        }
    }
}

/// Turns `while` loops of `func` that count into `for` loops, and notes how long loops are. Says whether there
/// were any.
pub fn counted(types: &mut Types, func: &mut Func) -> bool {
    let shape = Shape::of(func);
    let body = func.body;
    let mut pass = Counted { types, func, shape, renaming: Renaming::default(), changed: false };
    pass.region(body);
    let Counted { func, renaming, changed, .. } = pass;
    renaming.apply(func);
    changed
}

/// How `looped` counts, if it does.
pub fn count_of(types: &Types, func: &Func, shape: &Shape, looped: Loop) -> Option<Count> {
    let cond = looped.cond?;
    let condition = func.def(func.exit(cond).operands[0])?;
    let compare = Compare::of(&condition.op)?;
    let [a, b] = condition.operands[..] else {
        return None;
    };
    let slot = |value: Value| func.regions[cond].args.iter().position(|arg| *arg == value);
    let (slot, compare, bound) = match (slot(a), slot(b)) {
        (Some(slot), None) => (slot, compare, b),
        (None, Some(slot)) => (slot, compare.mirrored(), a),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let is_fixed = !is_inside(func, shape, cond, bound) || consts::int(types, func, bound).is_some();
    let Type::Scalar(scalar) = types.get(func.ty(bound)) else {
        return None;
    };
    if !is_fixed || !scalar.is_int() {
        return None;
    }
    let step = step_of(types, func, shape, looped, slot, scalar)?;
    let start = func.insts[looped.inst].operands[slot];
    let count = Count { slot, start, step, compare, bound, scalar };
    count.approaches().then_some(count)
}

/// Whether `value`, which is visible at the end of `region`, is made there.
fn is_inside(func: &Func, shape: &Shape, region: Region, value: Value) -> bool {
    match func.values[value].def {
        ValueDef::Result(inst, _) => shape.home(inst) == Some(region),
        ValueDef::Arg(of, _) => of == region,
    }
}

/// The constant that every edge to the next round adds to a slot.
fn step_of(
    types: &Types,
    func: &Func,
    shape: &Shape,
    looped: Loop,
    slot: usize,
    scalar: Scalar,
) -> Option<i64> {
    let arg = func.regions[looped.body].args[slot];
    let mut step = None;
    for &exit in shape.exits(looped.inst).iter().filter(|exit| looped.is_back_edge(func, shape, **exit)) {
        let (sign, added) = addition(func, func.insts[exit].operands[slot], arg)?;
        let here = sign * sign_extend(consts::int(types, func, added)?, scalar);
        if *step.get_or_insert(here) != here {
            return None;
        }
    }
    step.filter(|step| *step != 0)
}

/// What `next` is `arg` plus, and with which sign.
fn addition(func: &Func, next: Value, arg: Value) -> Option<(i64, Value)> {
    let data = func.def(next)?;
    let [a, b] = data.operands[..] else { return None };
    if data.op == Op::Math(Math::Add) && a == arg {
        Some((1, b))
    } else if data.op == Op::Math(Math::Add) && b == arg {
        Some((1, a))
    } else if data.op == Op::Math(Math::Sub) && a == arg {
        Some((-1, b))
    } else {
        None
    }
}

/// The low bits of `n` as a signed number: a step of `u32::MAX` is a step of -1.
fn sign_extend(n: i64, scalar: Scalar) -> i64 {
    let unused = 64 - scalar.bits();
    n << unused >> unused
}

/// The number that `n` is in a type.
fn number(n: i64, scalar: Scalar) -> i128 {
    let n = sign_extend(n, scalar);
    if scalar.is_signed() || n >= 0 { n.into() } else { i128::from(n) + (1i128 << scalar.bits()) }
}

impl Count {
    /// Whether the steps lead towards the bound.
    fn approaches(&self) -> bool {
        match self.compare {
            Compare::Lt | Compare::Le => self.step > 0,
            Compare::Gt | Compare::Ge => self.step < 0,
            Compare::Ne => true,
        }
    }

    /// The number of rounds, if start and bound are constants and it ends without wrapping around.
    pub fn rounds(&self, types: &Types, func: &Func) -> Option<u32> {
        let start = number(consts::int(types, func, self.start)?, self.scalar);
        let bound = number(consts::int(types, func, self.bound)?, self.scalar);
        let step = i128::from(self.step);
        let distance = (bound - start) * step.signum();
        let size = step.abs();
        let rounds = match self.compare {
            Compare::Lt | Compare::Gt => (distance + size - 1).div_euclid(size).max(0),
            Compare::Le | Compare::Ge => (distance.div_euclid(size) + 1).max(0),
            Compare::Ne if distance < 0 || distance % size != 0 => return None,
            Compare::Ne => distance / size,
        };
        let (low, high) = range(self.scalar);
        let end = start + step * rounds;
        let fits = rounds <= i128::from(MOST) && (low..=high).contains(&end);
        fits.then_some(rounds as u32)
    }
}

fn range(scalar: Scalar) -> (i128, i128) {
    let bits = scalar.bits();
    if scalar.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}

struct Counted<'a> {
    types: &'a mut Types,
    func: &'a mut Func,
    shape: Shape,
    renaming: Renaming,
    changed: bool,
}

impl Counted<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        for inst in insts {
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            match Loop::of(self.func, inst) {
                Some(looped) => self.visit(region, looped),
                None => self.func.regions[region].insts.push(inst),
            }
        }
    }

    /// Appends `looped`, changed or not, to `region`.
    fn visit(&mut self, region: Region, looped: Loop) {
        let count = count_of(self.types, self.func, &self.shape, looped);
        self.note_rounds(looped, count);
        match count.filter(|count| self.is_convertible(looped, count)) {
            Some(count) => self.convert(region, looped, count),
            None => self.func.regions[region].insts.push(looped.inst),
        }
    }

    fn note_rounds(&mut self, looped: Loop, count: Option<Count>) {
        let data = &self.func.insts[looped.inst];
        let rounds = match count {
            Some(count) => count.rounds(self.types, self.func),
            None if looped.cond.is_none() => {
                consts::int(self.types, self.func, data.operands[0]).map(|n| n.max(0) as u32)
            }
            None => None,
        };
        let (Op::While(info) | Op::For(info)) = &mut self.func.insts[looped.inst].op else {
            return;
        };
        if info.max_iters.is_none() && rounds.is_some() {
            info.max_iters = rounds;
            self.changed = true;
        }
    }

    fn is_convertible(&self, looped: Loop, count: &Count) -> bool {
        let Some(cond) = looped.cond else { return false };
        let is_constant = count.rounds(self.types, self.func).is_some();
        let is_word = matches!(count.scalar, Scalar::I32 | Scalar::U32);
        let is_near =
            count.step.abs() <= LARGEST_STEP && (count.compare != Compare::Ne || count.step.abs() == 1);
        is_word && (is_constant || is_near) && is_silent(self.func, cond) && self.stays_inside(looped)
    }

    /// Whether a loop is left only through its condition.
    fn stays_inside(&self, looped: Loop) -> bool {
        let mut stays = true;
        let mut depth_of = vec![(looped.body, 0u32)];
        while let Some((region, depth)) = depth_of.pop() {
            for &inst in &self.func.regions[region].insts {
                let data = &self.func.insts[inst];
                stays &= match exit_of(&data.op) {
                    Some(Exit::Return) => false,
                    Some(Exit::Break(out)) => out < depth,
                    Some(Exit::Continue(out)) => out <= depth,
                    Some(Exit::Yield) | None => true,
                };
                let inner = depth + u32::from(data.op.is_loop());
                depth_of.extend(data.regions.iter().map(|r| (*r, inner)));
            }
        }
        stays
    }

    fn convert(&mut self, region: Region, looped: Loop, mut count: Count) {
        self.changed = true;
        let span = self.func.insts[looped.inst].span;
        let mut b = Builder { types: self.types, func: self.func, region, span };
        if let Some(constant) = consts::int(b.types, b.func, count.bound) {
            let ty = b.types.scalar(count.scalar);
            count.bound = b.constant(Const::Int(constant), ty);
        }
        let rounds = emit_rounds(&mut b, &count);
        b.func.regions[region].insts.push(looped.inst);
        let last = emit_at(&mut b, &count, rounds);
        let result = b.func.insts[looped.inst].results[count.slot];
        self.renaming.rename(self.func, result, last);
        self.counter(looped, &count);
        self.drop_slot(looped, &count, rounds);
    }

    /// Gives the body its counter, from which the slot's value is computed.
    fn counter(&mut self, looped: Loop, count: &Count) {
        let int = self.types.scalar(Scalar::I32);
        let counter = self.func.add_arg(looped.body, int);
        let old = self.func.regions[looped.body].args[count.slot];
        let rest = std::mem::take(&mut self.func.regions[looped.body].insts);
        let span = self.func.insts[looped.inst].span;
        let mut b = Builder { types: self.types, func: self.func, region: looped.body, span };
        let now = emit_at(&mut b, count, counter);
        self.func.regions[looped.body].insts.extend(rest);
        self.func.regions[looped.body].args.rotate_right(1);
        self.renaming.rename(self.func, old, now);
    }

    /// Makes the instruction a `for` without the slot that counted.
    fn drop_slot(&mut self, looped: Loop, count: &Count, rounds: Value) {
        let others = |i: usize| i != count.slot;
        for &exit in self.shape.exits(looped.inst) {
            if !looped.is_condition(&self.shape, exit) {
                keep_operands(self.func, exit, others);
            }
        }
        keep_operands(self.func, looped.inst, others);
        keep_results(self.func, looped.inst, others);
        keep_args(self.func, looped.body, |i| i != count.slot + 1);
        let data = &mut self.func.insts[looped.inst];
        data.operands.insert(0, rounds);
        data.regions = smallvec::smallvec![looped.body];
        if let Op::While(info) = data.op {
            data.op = Op::For(info);
        }
    }
}

/// The value of the counting slot after `rounds` rounds: `start + step * rounds`.
fn emit_at(b: &mut Builder<'_>, count: &Count, rounds: Value) -> Value {
    let ty = b.types.scalar(count.scalar);
    let rounds = if count.scalar == Scalar::I32 { rounds } else { b.emit1(Op::Bitcast, &[rounds], ty) };
    let way = match count.step.abs() {
        1 => rounds,
        step => {
            let step = b.constant(Const::Int(step), ty);
            b.mul(rounds, step)
        }
    };
    if count.step < 0 {
        b.math(Math::Sub, &[count.start, way])
    } else if consts::int(b.types, b.func, count.start) == Some(0) {
        way
    } else {
        b.add(count.start, way)
    }
}

/// How many rounds the loop runs, as an `i32`.
fn emit_rounds(b: &mut Builder<'_>, count: &Count) -> Value {
    if let Some(rounds) = count.rounds(b.types, b.func) {
        return b.int(rounds.into());
    }
    let is_simple = count.compare == Compare::Lt && count.step == 1 && count.scalar == Scalar::I32;
    let start = consts::int(b.types, b.func, count.start);
    if let (true, Some(from @ 0..)) = (is_simple, start) {
        let zero = b.int(0);
        let distance = if from == 0 { count.bound } else { b.math(Math::Sub, &[count.bound, count.start]) };
        return b.math(Math::Max, &[distance, zero]);
    }
    let word = b.types.scalar(Scalar::U32);
    let rounds = if count.compare == Compare::Ne { emit_distance(b, count) } else { emit_steps(b, count) };
    let most = b.constant(Const::Int(MOST), word);
    let rounds = b.math(Math::Min, &[rounds, most]);
    let int = b.types.scalar(Scalar::I32);
    b.emit1(Op::Bitcast, &[rounds], int)
}

/// How far the bound is from the start in the direction of the steps, as a `u32`.
fn emit_distance(b: &mut Builder<'_>, count: &Count) -> Value {
    let [start, bound] = [count.start, count.bound].map(|v| emit_word(b, count, v));
    let ends = if count.step > 0 { [bound, start] } else { [start, bound] };
    b.math(Math::Sub, &ends)
}

fn emit_word(b: &mut Builder<'_>, count: &Count, value: Value) -> Value {
    let word = b.types.scalar(Scalar::U32);
    if count.scalar == Scalar::U32 { value } else { b.emit1(Op::Bitcast, &[value], word) }
}

/// How many steps there are to the bound: none if the condition fails at once, as many as possible if the last
/// step would wrap around.
fn emit_steps(b: &mut Builder<'_>, count: &Count) -> Value {
    let distance = emit_distance(b, count);
    let is_strict = matches!(count.compare, Compare::Lt | Compare::Gt);
    let steps = if is_strict && count.step.abs() == 1 {
        distance
    } else {
        emit_long_steps(b, count, distance, is_strict)
    };
    let zero = emit_u32(b, 0);
    let starts = b.math(count.compare.math(), &[count.start, count.bound]);
    b.select(starts, steps, zero)
}

/// The quotient of distance and step, rounded up if `is_strict`, else down and one more; as many as possible if that
/// leads beyond the last number.
fn emit_long_steps(b: &mut Builder<'_>, count: &Count, distance: Value, is_strict: bool) -> Value {
    let (one, most, size) = (emit_u32(b, 1), emit_u32(b, MOST), emit_u32(b, count.step.abs()));
    let reach = if is_strict { b.math(Math::Sub, &[distance, one]) } else { distance };
    let before_last = b.math(Math::Div, &[reach, size]);
    let steps = b.add(before_last, one);
    let (low, high) = range(count.scalar);
    let edge = emit_u32(b, if count.step > 0 { high } else { low } as i64);
    let bound = emit_word(b, count, count.bound);
    let room = b.math(Math::Sub, &if count.step > 0 { [edge, bound] } else { [bound, edge] });
    let way = b.mul(steps, size);
    let beyond = b.math(Math::Sub, &[way, distance]);
    let wraps = b.math(Math::Gt, &[beyond, room]);
    b.select(wraps, most, steps)
}

fn emit_u32(b: &mut Builder<'_>, n: i64) -> Value {
    let word = b.types.scalar(Scalar::U32);
    b.constant(Const::Int(n), word)
}
