//! Every element-wise operation and conversion on every scalar type, compared bit for bit with `eval`, on numbers that are likely to
//! go wrong.

use cotangent_base::Scalar;
use cotangent_ir::Class;
use cotangent_ir::eval::{Eval, bits, from_bits};
use cotangent_ir::text::parse_module;
use cotangent_ir::{Const, Global, Math, Module, Trap};
use cotangent_jit::{Limits, Options, Program, Stopped};

/// Numbers of a type, as bits.
fn numbers(scalar: Scalar) -> Vec<u64> {
    if scalar == Scalar::Bool {
        return vec![0, 1];
    }
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.3,
        -7.7,
        3.25,
        1e-3,
        1e-30,
        88.0,
        127.5,
        -128.7,
        255.9,
        300.0,
        -300.0,
        6e4,
        1e5,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        1e19,
        -1e19,
        1.8446744073709552e19,
        3e38,
        1e300,
        1e-300,
        5e-8,
        1e-45,
    ];
    if scalar.is_float() {
        let specials = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let held = |x: f64| bits(Eval::default().constant(Const::float(x), scalar), scalar);
        return floats.into_iter().chain(specials).map(held).collect();
    }
    let integers =
        [0i64, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 12345, 0x5555_5555, 1 << 40];
    let edges =
        [i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX), i16::MIN.into(), i8::MIN.into()];
    let all = integers.into_iter().flat_map(|i| [i, -i, !i]).chain(edges);
    let mut all: Vec<u64> = all.map(|i| bits(Const::Int(i), scalar)).collect();
    all.sort();
    all.dedup();
    all
}

struct Case {
    module: Module,
    program: Program,
}

impl Case {
    /// A program whose thread `i` stores `op` of element `i` of some buffers.
    fn new(op: &str, from: Scalar, arity: usize, to: Scalar, threads: usize) -> Case {
        let names = &["a", "b", "c"][..arity];
        let globals: String = names.iter().map(|n| format!("global @{n}: buffer<{from}> param\n")).collect();
        let loads: String = names
            .iter()
            .map(|n| format!("%h{n}: buffer<{from}> = global @{n} %{n}: {from} = load %h{n} [%i]\n"))
            .collect();
        let operands = names.iter().map(|n| format!("%{n}")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "{globals}global @out: rwbuffer<{to}> param\n
             func @main(%i: u32) entry({threads}, 1, 1)(group_index) {{
               {loads}
               %r: {to} = {op} {operands}
               %o: rwbuffer<{to}> = global @out
               store %o, %r [%i]
               return
             }}"
        );
        let module = parse_module(&text).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
        let entry = module.func_named("main".into()).expect("it is there");
        let program = Program::compile(&module, entry, Options::default())
            .unwrap_or_else(|e| panic!("{op} {from}: {e}"));
        Case { module, program }
    }

    fn run(&self, from: Scalar, operands: &[Vec<u64>], to: Scalar) -> Result<Vec<u64>, Stopped> {
        let count = operands[0].len();
        let mut memory: Vec<Vec<u8>> = operands.iter().map(|numbers| bytes(numbers, from)).collect();
        memory.push(vec![0; count * to.bytes() as usize]);
        let mut params: Vec<(Global, &mut [u8])> =
            self.module.globals.keys().zip(memory.iter_mut().map(|bytes| &mut bytes[..])).collect();
        self.program.launch(&mut params, [1, 1, 1], Limits::default(), &mut String::new())?;
        let out = memory.last().expect("there is a result");
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Ok(out.chunks(to.bytes() as usize).map(word).collect())
    }
}

fn bytes(numbers: &[u64], scalar: Scalar) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(scalar.bytes() as usize)).collect()
}

fn is_defined(op: Math, scalar: Scalar) -> bool {
    match op.class() {
        Class::Number => scalar != Scalar::Bool,
        Class::Float | Class::Test => scalar.is_float(),
        Class::Integer => !scalar.is_float() && scalar != Scalar::Bool,
        Class::Bits => !scalar.is_float(),
        Class::Compare => true,
    }
}

/// All pairs of numbers, or those that do not divide by zero.
fn operands(op: Math, scalar: Scalar) -> Vec<Vec<u64>> {
    let all = numbers(scalar);
    let mut lists = vec![vec![]; op.arity()];
    let divides = matches!(op, Math::Div | Math::Rem) && !scalar.is_float();
    for (i, a) in all.iter().enumerate() {
        let seconds: &[u64] = if op.arity() > 1 { &all } else { &all[..1] };
        for (j, b) in seconds.iter().enumerate().filter(|(_, b)| !(divides && **b == 0)) {
            let values = [*a, *b, all[(i * 7 + j * 3) % all.len()]];
            lists.iter_mut().zip(values).for_each(|(list, value)| list.push(value));
        }
    }
    lists
}

#[test]
fn operations_are_those_of_eval() {
    let mut wrong = String::new();
    for scalar in Scalar::ALL {
        for op in Math::ALL.iter().copied().filter(|op| is_defined(*op, scalar)) {
            let lists = operands(op, scalar);
            let to = if matches!(op.class(), Class::Compare | Class::Test) { Scalar::Bool } else { scalar };
            let found =
                Case::new(op.name(), scalar, op.arity(), to, lists[0].len()).run(scalar, &lists, to).unwrap();
            for (i, found) in found.into_iter().enumerate() {
                let values: Vec<Const> = lists.iter().map(|list| from_bits(list[i], scalar)).collect();
                let expected = bits(Eval::default().math(op, scalar, &values).unwrap(), to);
                if found != expected {
                    wrong += &format!("{} {scalar} {values:?}: {found:#x}, not {expected:#x}\n", op.name());
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn conversions_are_those_of_eval() {
    let mut wrong = String::new();
    for from in Scalar::ALL {
        for to in Scalar::ALL {
            let list = numbers(from);
            let found = Case::new("convert", from, 1, to, list.len())
                .run(from, std::slice::from_ref(&list), to)
                .unwrap();
            for (value, found) in list.into_iter().zip(found) {
                let value = from_bits(value, from);
                let expected = bits(Eval::default().convert(value, from, to), to);
                if found != expected {
                    wrong += &format!("{from} to {to} {value:?}: {found:#x}, not {expected:#x}\n");
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn division_by_zero_is_a_value() {
    for scalar in Scalar::ALL.into_iter().filter(|s| !s.is_float() && *s != Scalar::Bool) {
        for op in ["div", "rem"] {
            let stopped =
                Case::new(op, scalar, 2, scalar, 3).run(scalar, &[vec![1, 2, 3], vec![1, 0, 0]], scalar);
            let stopped = stopped.expect_err("it divides by zero");
            assert_eq!((stopped.trap, stopped.thread), (Trap::DivisionByZero, Some([1, 0, 0])));
        }
    }
}
