//! Threads side by side: which thread is reported, groups that lanes do not fill, branches and loops that lanes leave apart. What must
//! come out is derived by hand. `run.rs` compares whole programs with the interpreter.

use cotangent_base::Scalar;
use cotangent_ir::eval::Eval;
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::text::parse_module;
use cotangent_ir::{Const, Global, Math, Trap, Type};
use cotangent_jit::{LaneChoice, Limits, Native, Options, Program, Stopped};
use cotangent_runtime::{Argument, Arguments, Backend, Compiled, Element, Launch, Outside};
use std::sync::Arc;

/// Runs the entry point `main` of a text in lanes. Its parameter `out` is a buffer of `i32`.
fn run(text: &str, memory: &mut [i32]) -> Result<(), Stopped> {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}"));
    cotangent_ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let entry = module.func_named("main".into()).expect("it is there");
    let out: Global = module.global_named("out".into()).expect("it is there");
    let options = Options { lanes: LaneChoice::Always, ..Options::default() };
    let program = Program::compile(&module, entry, options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(program.no_lanes(), None);
    assert_eq!(program.lanes(), 8);
    let mut bytes: Vec<u8> = memory.iter().flat_map(|x| x.to_le_bytes()).collect();
    let ended = program.launch(&mut [(out, &mut bytes[..])], [1; 3], Limits::default(), &mut String::new());
    for (x, bytes) in memory.iter_mut().zip(bytes.chunks_exact(4)) {
        *x = i32::from_le_bytes(bytes.try_into().expect("there are four"));
    }
    ended
}

/// Thread 5 stops at the first store, thread 2 at the second: on the interpreter thread 2 stops before thread 5 begins.
#[test]
fn the_first_thread_in_order_is_reported() {
    let text = "
        global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(8, 1, 1)(dispatch_thread_id) {
          %t: u32 = extract %thread [0]
          %value: i32 = const 1
          %two: u32 = const 2
          %five: u32 = const 5
          %far: u32 = const 1000
          %further: u32 = const 2000
          %is_five: bool = eq %t, %five
          %a: u32 = select %is_five, %far, %t
          %buffer: rwbuffer<i32> = global @out
          store %buffer, %value [%a]
          %is_two: bool = eq %t, %two
          %b: u32 = select %is_two, %further, %t
          store %buffer, %value [%b]
          return
        }";
    let mut memory = [0; 8];
    let stopped = run(text, &mut memory).expect_err("it stops");
    assert_eq!((stopped.trap, stopped.thread), (Trap::OutOfBounds, Some([2, 0, 0])));
    assert_eq!(stopped.outside, Some(Outside { index: 2000, len: 8 }));
    // Threads 6 and 7 are not run on the interpreter; here they have stored before they were stopped. Those before it have run.
    assert_eq!(memory[..2], [1, 1]);
}

/// All threads stop at once if the buffer is empty: the first is reported.
#[test]
fn an_empty_buffer_stops_the_first_thread() {
    let text = "
        global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(8, 1, 1)(dispatch_thread_id) {
          %t: u32 = extract %thread [0]
          %four: u32 = const 4
          %value: i32 = const 1
          %late: bool = ge %t, %four
          if %late {
            %buffer: rwbuffer<i32> = global @out
            store %buffer, %value [%t]
            yield
          } else {
            yield
          }
          return
        }";
    let stopped = run(text, &mut []).expect_err("it stops");
    assert_eq!((stopped.trap, stopped.thread), (Trap::OutOfBounds, Some([4, 0, 0])));
    assert_eq!(stopped.outside, Some(Outside { index: 4, len: 0 }));
}

/// Twenty threads are twice eight and four. Rows of five threads are not those of lanes.
#[test]
fn groups_that_lanes_do_not_fill_run_whole() {
    let text = "
        global @out: rwbuffer<i32> param
        func @main(%thread: u32x3, %index: u32) entry(5, 4, 1)(dispatch_thread_id, group_index) {
          %x: u32 = extract %thread [0]
          %y: u32 = extract %thread [1]
          %ten: u32 = const 10
          %tens: u32 = mul %y, %ten
          %both: u32 = add %tens, %x
          %value: i32 = convert %both
          %buffer: rwbuffer<i32> = global @out
          store %buffer, %value [%index]
          return
        }";
    let mut memory = [0; 20];
    run(text, &mut memory).expect("it runs");
    let expected: Vec<i32> = (0..20).map(|i| i / 5 * 10 + i % 5).collect();
    assert_eq!(memory[..], expected);
}

/// Thread t adds the odd numbers below t, and stops adding at 5: a loop with `continue` and `break`.
#[test]
fn lanes_leave_loops_apart() {
    let text = "
        global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(16, 1, 1)(dispatch_thread_id) {
          %t: u32 = extract %thread [0]
          %n: i32 = convert %t
          %zero: i32 = const 0
          %one: i32 = const 1
          %five: i32 = const 5
          %sum: i32 = for %n (%zero) body(%k: i32, %s: i32) {
            %odd: i32 = and %k, %one
            %even: bool = eq %odd, %zero
            if %even {
              continue 0 %s
            } else {
              yield
            }
            %ends: bool = gt %s, %five
            if %ends {
              break 0 %s
            } else {
              yield
            }
            %more: i32 = add %s, %k
            yield %more
          }
          %buffer: rwbuffer<i32> = global @out
          store %buffer, %sum [%t]
          return
        }";
    let mut memory = [0; 16];
    run(text, &mut memory).expect("it runs");
    let sum = |t: i32| (0..t).filter(|k| k % 2 == 1).fold(0, |s, k| if s > 5 { s } else { s + k });
    let expected: Vec<i32> = (0..16).map(sum).collect();
    assert_eq!(memory[..], expected);
}

/// Each thread copies an element to the next. Where both buffers have the same memory, one after the other they copy the first one
/// everywhere.
#[test]
fn threads_run_one_by_one_where_buffers_share_memory() {
    let text = "
        global @from: buffer<i32> param
        global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(8, 1, 1)(dispatch_thread_id) {
          %t: u32 = extract %thread [0]
          %one: u32 = const 1
          %next: u32 = add %t, %one
          %a: buffer<i32> = global @from
          %b: rwbuffer<i32> = global @out
          %x: i32 = load %a [%t]
          store %b, %x [%next]
          return
        }";
    let module = Arc::new(parse_module(text).unwrap_or_else(|e| panic!("{e:?}")));
    let entry = module.func_named("main".into()).expect("it is there");
    let native = Native::new(Limits::default());
    let compiled = Compiled::new(Arc::clone(&module), ShaderParams::default());
    let program = native.load(&compiled).unwrap_or_else(|e| panic!("{e}"));
    let params = ["from", "out"].map(|name| module.global_named(name.into()).expect("it is there"));
    let Type::Buffer(element, _) = module.types.get(module.globals[params[0]].ty) else {
        panic!("it is a buffer")
    };
    let bytes: Vec<u8> = (7..16i32).flat_map(i32::to_le_bytes).collect();
    let element = Element::new(&module, element);
    let run = |shared: bool| {
        let buffers = [0, 1].map(|_| native.make_buffer(&element, &bytes).unwrap_or_else(|e| panic!("{e}")));
        let mut arguments = Arguments::<Native>::default();
        let from = if shared { &buffers[1] } else { &buffers[0] };
        arguments.set(params[0], Argument::Buffer(from.clone()));
        arguments.set(params[1], Argument::Buffer(buffers[1].clone()));
        let launched = native.launch(&program, entry, [1; 3], &arguments, Launch::default());
        launched.unwrap_or_else(|e| panic!("{e}")).ended.expect("it runs");
        let bytes = native.read(&buffers[1], 0..bytes.len()).unwrap_or_else(|e| panic!("{e}"));
        bytes.chunks_exact(4).map(|four| four[0]).collect::<Vec<u8>>()
    };
    assert_eq!(run(false), [7, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert_eq!(run(true), [7; 9]);
}

/// A program in which each thread adds its number to elements `%row` of a buffer, for counters below three.
fn adds_to_rows(row: &str) -> String {
    format!(
        "global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(8, 1, 1)(dispatch_thread_id) {{
          %t: u32 = extract %thread [0]
          %own: i32 = convert %t
          %two: u32 = const 2
          %three: u32 = const 3
          %n: i32 = const 3
          for %n () body(%k: i32) {{
            %c: u32 = convert %k
            {row}
            %buffer: rwbuffer<i32> = global @out
            %old: i32 = load %buffer [%i]
            %twice: i32 = add %old, %old
            %new: i32 = add %twice, %own
            store %buffer, %new [%i]
            yield
          }}
          return
        }}"
    )
}

/// Thread t has elements 3t to 3t + 2.
#[test]
fn threads_update_elements_of_their_own_in_lanes() {
    let mut memory: Vec<i32> = (0..24).collect();
    run(&adds_to_rows("%first: u32 = mul %t, %three\n%i: u32 = add %first, %c"), &mut memory)
        .expect("it runs");
    let expected: Vec<i32> = (0..24).map(|i| 2 * i + i / 3).collect();
    assert_eq!(memory, expected);
}

/// Thread t updates elements t to t + 2, so an element is updated by three threads, whose order is seen: no lanes.
#[test]
fn threads_that_meet_at_elements_run_one_by_one() {
    for row in ["%i: u32 = add %t, %c", "%first: u32 = mul %t, %two\n%i: u32 = add %first, %c"] {
        let text = adds_to_rows(row);
        let module = parse_module(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let entry = module.func_named("main".into()).expect("it is there");
        let options = Options { lanes: LaneChoice::Always, ..Options::default() };
        let program = Program::compile(&module, entry, options).unwrap_or_else(|e| panic!("{e}"));
        let refused = program.no_lanes().expect("it does not run in lanes");
        assert_eq!(refused.what, "memory that threads read and write, in lanes");
    }
}

/// Of the arguments of a vector some are so large that a function is called for them: results are those that `eval` defines, and
/// near those of the host's library.
#[test]
fn lanes_with_large_arguments_call_and_the_others_do_not() {
    let arguments = [0.5, 1e7, -2.0, -3e30, 999_999.0, 7.0, f32::MAX, 1e6];
    for (op, math, host) in [
        ("sin", Math::Sin, f64::sin as fn(f64) -> f64),
        ("cos", Math::Cos, f64::cos),
        ("tan", Math::Tan, f64::tan),
    ] {
        let text = format!(
            "global @out: rwbuffer<i32> param
             func @main(%thread: u32x3) entry(8, 1, 1)(dispatch_thread_id) {{
               %t: u32 = extract %thread [0]
               %out: rwbuffer<i32> = global @out
               %bits: i32 = load %out [%t]
               %x: f32 = bitcast %bits
               %y: f32 = {op} %x
               %found: i32 = bitcast %y
               store %out, %found [%t]
               return
             }}"
        );
        let mut memory = arguments.map(|x: f32| x.to_bits() as i32);
        run(&text, &mut memory).unwrap();
        for (x, bits) in arguments.into_iter().zip(memory) {
            let found = f32::from_bits(bits as u32);
            let defined = Eval::default().math(math, Scalar::F32, &[Const::float(x.into())]);
            assert_eq!(defined, Ok(Const::float(found.into())), "{op}({x})");
            let expected = host(x.into());
            assert!((f64::from(found) - expected).abs() <= 3e-7 * expected.abs(), "{op}({x}) is {found}");
        }
    }
}
