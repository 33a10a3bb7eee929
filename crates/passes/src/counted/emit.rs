//! Emits the code that computes the trip count of a counted loop, and its counter in each iteration.

use super::count::{Compare, Count, MOST, range};
use crate::consts;
use cotangent_base::Scalar;
use cotangent_ir::{Builder, Const, Math, Op, Value};

/// The value of the counting slot after `rounds` rounds: `start + step * rounds`.
pub(super) fn emit_at(b: &mut Builder<'_>, count: &Count, rounds: Value) -> Value {
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
pub(super) fn emit_rounds(b: &mut Builder<'_>, count: &Count) -> Value {
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
