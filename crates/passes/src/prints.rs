//! Replaces `printf` by stores to a buffer that the host reads, for targets that cannot print.
//!
//! ```text
//! func @main(%t: u32x3) entry(1, 1, 1)(dispatch_thread_id) {
//!   %n: u32 = extract %t [0]
//!   print "%u\n" %n
//!   return
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @printed: rwbuffer<u32> param
//! global @printing: ref<u32x4> static
//! func @main(%t: u32x3) entry(1, 1, 1)(dispatch_thread_id) {
//!   %own: ref<u32x4> = global @printing
//!   %none: u32 = const 0
//!   %a: u32 = extract %t [0]
//!   %b: u32 = extract %t [1]
//!   %c: u32 = extract %t [2]
//!   %first: u32x4 = pack %a, %b, %c, %none
//!   store %own, %first
//!   %n: u32 = extract %t [0]
//!   %count: u32 = const 7
//!   %format: u32 = const 0
//!   %noted: ref<u32x4> = global @printing
//!   %thread: u32x4 = load %noted
//!   %x: u32 = extract %thread [0]
//!   %y: u32 = extract %thread [1]
//!   %z: u32 = extract %thread [2]
//!   %barriers: u32 = extract %thread [3]
//!   %buffer: rwbuffer<u32> = global @printed
//!   %at: u32 = atomic add %buffer, %count [0]
//!   %length: u32 = length %buffer
//!   %last: u32 = add %at, %count
//!   %fits: bool = lt %last, %length
//!   if %fits {
//!     %k1: u32 = const 1
//!     %w1: u32 = add %at, %k1
//!     store %buffer, %count [%w1]
//!     %k2: u32 = const 2
//!     %w2: u32 = add %at, %k2
//!     store %buffer, %format [%w2]
//!     %k3: u32 = const 3
//!     %w3: u32 = add %at, %k3
//!     store %buffer, %x [%w3]
//!     %k4: u32 = const 4
//!     %w4: u32 = add %at, %k4
//!     store %buffer, %y [%w4]
//!     %k5: u32 = const 5
//!     %w5: u32 = add %at, %k5
//!     store %buffer, %z [%w5]
//!     %k6: u32 = const 6
//!     %w6: u32 = add %at, %k6
//!     store %buffer, %barriers [%w6]
//!     %k7: u32 = const 7
//!     %w7: u32 = add %at, %k7
//!     store %buffer, %n [%w7]
//!     yield
//!   } else {
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! Word 0 of the buffer, zero at first, counts the words of all records. A record begins with its number of words, the number of
//! its format ([`formats`]), the index of the thread in the dispatch and how many barriers it has passed. Then come the values: a word
//! for each, or two, the low bits first, for numbers of 64 bits. Integers are extended to a word, `half` is converted to `float`. A
//! record without room is left out, but counted.

use crate::idle::input;
use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{
    Access, Atomic, AtomicKind, Builder, Const, Func, Global, GlobalData, GlobalKind, Inst, Math, Module, Op,
    Path, Stage, Step, SystemValue, Type, Types, Value,
};

/// The words of a record before its values.
const HEADER: usize = 6;

/// What a `printf` prints: its text, and the types of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// The text.
    pub text: Symbol,
    /// A type for each value.
    pub scalars: Vec<Scalar>,
}

/// The memory that the replacement uses.
#[derive(Clone, Copy)]
struct Memory {
    buffer: Global,
    thread: Global,
}

/// The different formats of a module, by number.
pub fn formats(module: &Module) -> Vec<Format> {
    let mut all = Vec::new();
    for func in module.funcs.values() {
        for inst in func.all_insts() {
            if let Some(format) = format(&module.types, func, inst)
                && !all.contains(&format)
            {
                all.push(format);
            }
        }
    }
    all
}

fn format(types: &Types, func: &Func, inst: Inst) -> Option<Format> {
    let data = &func.insts[inst];
    let Op::Print(text) = data.op else { return None };
    let scalar = |value: &Value| types.scalar_of(func.ty(*value)).unwrap_or(Scalar::U32);
    Some(Format { text, scalars: data.operands.iter().map(scalar).collect() })
}

/// Has a module store what it prints. Gives the buffer, if it prints anything.
pub fn prints(module: &mut Module) -> Option<Global> {
    let formats = formats(module);
    if formats.is_empty() {
        return None;
    }
    let memory = memory(module);
    let Module { funcs, types, globals, .. } = module;
    for func in funcs.values_mut() {
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                let own = [memory.buffer, memory.thread].map(|global| globals[global].ty);
                let span = func.insts[inst].span;
                match format(types, func, inst) {
                    None => {
                        func.regions[region].insts.push(inst);
                        if matches!(&func.insts[inst].op, Op::Barrier(barrier) if barrier.sync) {
                            let mut b = Builder { types, func, region, span };
                            count_barrier(&mut b, memory.thread, own[1]);
                        }
                    }
                    Some(format) => {
                        let number = formats.iter().position(|known| *known == format).unwrap_or(0);
                        let values = func.insts[inst].operands.to_vec();
                        let mut b = Builder { types, func, region, span };
                        record(&mut b, memory, own, number, &values);
                    }
                }
            }
        }
        if func.entry.as_ref().is_some_and(|entry| entry.stage == Stage::Compute) {
            note_thread(types, func, memory.thread, globals[memory.thread].ty);
        }
    }
    Some(memory.buffer)
}

fn memory(module: &mut Module) -> Memory {
    let word = module.types.scalar(Scalar::U32);
    let four = module.types.intern(Type::Vector(Scalar::U32, 4));
    let buffer = module.types.intern(Type::Buffer(word, Access::ReadWrite));
    let variable = module.types.intern(Type::Ref(four));
    let global = |name: &str, ty, kind| GlobalData { name: name.into(), ty, kind, span: Span::none() };
    Memory {
        buffer: module.add_global(global("printed", buffer, GlobalKind::Param)),
        thread: module.add_global(global("printing", variable, GlobalKind::Static(None))),
    }
}

/// Notes at the start of an entry point which thread runs.
fn note_thread(types: &mut Types, func: &mut Func, variable: Global, ty: cotangent_ir::Ty) {
    let triple = types.intern(Type::Vector(Scalar::U32, 3));
    let thread = input(func, "thread", SystemValue::DispatchThreadId, triple);
    let rest = std::mem::take(&mut func.regions[func.body].insts);
    let mut b = Builder::new(types, func);
    let handle = b.emit1(Op::Global(variable), &[], ty);
    let word = b.types.scalar(Scalar::U32);
    let none = b.constant(Const::Int(0), word);
    let parts = [0, 1, 2].map(|axis| b.part(thread, axis));
    let four = b.types.intern(Type::Vector(Scalar::U32, 4));
    let first = b.pack(&[parts[0], parts[1], parts[2], none], four);
    b.store(handle, first, Path::default(), &[]);
    let body = func.body;
    func.regions[body].insts.extend(rest);
}

/// Notes that the thread passed a barrier.
fn count_barrier(b: &mut Builder<'_>, variable: Global, ty: cotangent_ir::Ty) {
    let word = b.types.scalar(Scalar::U32);
    let handle = b.emit1(Op::Global(variable), &[], ty);
    let path = || Path([Step::Part(3)].into_iter().collect());
    let before = b.load(handle, path(), &[]);
    let one = b.constant(Const::Int(1), word);
    let after = b.add(before, one);
    b.store(handle, after, path(), &[]);
}

/// Stores one record, if there is room.
fn record(
    b: &mut Builder<'_>,
    memory: Memory,
    [buffer, variable]: [cotangent_ir::Ty; 2],
    number: usize,
    values: &[Value],
) {
    let word = b.types.scalar(Scalar::U32);
    let values: Vec<Value> = values.iter().flat_map(|value| words(b, *value)).collect();
    let count = b.constant(Const::Int((HEADER + values.len()) as i64), word);
    let format = b.constant(Const::Int(number as i64), word);
    let thread = b.emit1(Op::Global(memory.thread), &[], variable);
    let thread = b.load(thread, Path::default(), &[]);
    let index = [0, 1, 2, 3].map(|part| b.part(thread, part));
    let record = [&[count, format], &index[..], &values].concat();
    let handle = b.emit1(Op::Global(memory.buffer), &[], buffer);
    let atomic = Atomic { kind: AtomicKind::Add, path: Path([Step::Part(0)].into_iter().collect()) };
    let at = b.emit1(Op::Atomic(atomic), &[handle, count], word);
    let length = b.emit1(Op::Length, &[handle], word);
    let last = b.add(at, count);
    let fits = b.math(Math::Lt, &[last, length]);
    let store = |b: &mut Builder<'_>| {
        for (number, value) in (1..).zip(&record) {
            let number = b.constant(Const::Int(number), word);
            let place = b.add(at, number);
            b.store(handle, *value, Path([Step::Index].into_iter().collect()), &[place]);
        }
        b.yield_(&[]);
    };
    b.if_(fits, &[], store, |b| b.yield_(&[]));
}

/// A number as words.
fn words(b: &mut Builder<'_>, value: Value) -> Vec<Value> {
    let word = b.types.scalar(Scalar::U32);
    let ty = b.ty(value);
    let to = |b: &mut Builder<'_>, op, value, scalar| {
        let ty = b.types.scalar(scalar);
        b.emit1(op, &[value], ty)
    };
    match b.types.scalar_of(ty).unwrap_or(Scalar::U32) {
        Scalar::U32 => vec![value],
        Scalar::Bool => {
            let (one, zero) = (b.constant(Const::Int(1), word), b.constant(Const::Int(0), word));
            vec![b.select(value, one, zero)]
        }
        Scalar::I32 | Scalar::F32 => vec![to(b, Op::Bitcast, value, Scalar::U32)],
        Scalar::F16 => {
            let wide = to(b, Op::Convert, value, Scalar::F32);
            vec![to(b, Op::Bitcast, wide, Scalar::U32)]
        }
        Scalar::I8 | Scalar::I16 => {
            let wide = to(b, Op::Convert, value, Scalar::I32);
            vec![to(b, Op::Bitcast, wide, Scalar::U32)]
        }
        Scalar::U8 | Scalar::U16 => vec![to(b, Op::Convert, value, Scalar::U32)],
        Scalar::I64 | Scalar::F64 => {
            let bits = to(b, Op::Bitcast, value, Scalar::U64);
            halves(b, bits)
        }
        Scalar::U64 => halves(b, value),
    }
}

fn halves(b: &mut Builder<'_>, value: Value) -> Vec<Value> {
    let (word, wide) = (b.types.scalar(Scalar::U32), b.types.scalar(Scalar::U64));
    let low = b.emit1(Op::Convert, &[value], word);
    let by = b.constant(Const::Int(32), wide);
    let high = b.math(Math::Shr, &[value, by]);
    vec![low, b.emit1(Op::Convert, &[high], word)]
}
