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

/// Why the entry point `main` of a text does not run in lanes.
fn refused(text: &str) -> String {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}"));
    cotangent_ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let entry = module.func_named("main".into()).expect("it is there");
    let options = Options { lanes: LaneChoice::Always, ..Options::default() };
    let program = Program::compile(&module, entry, options).unwrap_or_else(|e| panic!("{e}"));
    program.no_lanes().expect("it does not run in lanes").what.clone()
}

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
        assert_eq!(refused(&adds_to_rows(row)), "memory that threads read and write, in lanes");
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

/// A program of 20 threads, twice eight and four. Each writes its element of a buffer to a tile of the group, then runs a text.
fn with_tile(text: &str) -> String {
    format!(
        "global @out: rwbuffer<i32> param
        global @tile: ref<[i32; 20]> shared
        func @main(%t: u32) entry(20, 1, 1)(group_index) {{
          %out: rwbuffer<i32> = global @out
          %tile: ref<[i32; 20]> = global @tile
          %zero: i32 = const 0
          %three: i32 = const 3
          %last: u32 = const 19
          %other: u32 = sub %last, %t
          %x: i32 = load %out [%t]
          {text}
          return
        }}"
    )
}

#[test]
fn lanes_wait_at_barriers() {
    let text = with_tile(
        "store %tile, %x [%t]
         barrier group sync
         %y: i32 = load %tile [%other]
         store %out, %y [%t]",
    );
    let mut memory: Vec<i32> = (0..20).collect();
    run(&text, &mut memory).expect("it runs");
    assert_eq!(memory, (0..20).rev().collect::<Vec<i32>>());
}

/// Three times each thread adds the number of the thread opposite to its own: x and y become x + y, 2 (x + y) and 4 (x + y).
#[test]
fn lanes_wait_at_barriers_in_loops() {
    let text = with_tile(
        "%sum: i32 = for %three (%x) body(%k: i32, %own: i32) {
           store %tile, %own [%t]
           barrier group sync
           %y: i32 = load %tile [%other]
           %more: i32 = add %own, %y
           barrier group sync
           yield %more
         }
         store %out, %sum [%t]",
    );
    let mut memory: Vec<i32> = (0..20).collect();
    run(&text, &mut memory).expect("it runs");
    assert_eq!(memory, [4 * 19; 20]);
}

/// Without the second barrier a thread may write its element before another has read it: on the interpreter threads run in order.
#[test]
fn threads_that_race_between_barriers_run_one_by_one() {
    let races = with_tile(
        "%sum: i32 = for %three (%x) body(%k: i32, %own: i32) {
           store %tile, %own [%t]
           barrier group sync
           %y: i32 = load %tile [%other]
           %more: i32 = add %own, %y
           yield %more
         }
         store %out, %sum [%t]",
    );
    assert_eq!(refused(&races), "memory that threads read and write, in lanes");
    // A barrier in one arm of a branch separates nothing after it.
    let in_an_arm = with_tile(
        "store %tile, %x [%t]
         %some: bool = lt %zero, %three
         if %some {
           barrier group sync
           yield
         } else {
           yield
         }
         %y: i32 = load %tile [%other]
         store %out, %y [%t]",
    );
    assert_eq!(refused(&in_an_arm), "memory that threads read and write, in lanes");
}

#[test]
fn threads_that_reach_barriers_apart_run_one_by_one() {
    let text = with_tile(
        "%is_small: bool = lt %x, %three
         if %is_small {
           barrier group sync
           yield
         } else {
           yield
         }",
    );
    assert_eq!(refused(&text), "barriers in branches that lanes take apart, in lanes");
}

/// Thread 10 is the third of the second eight: those before it wait at the barrier, and nobody comes after it.
#[test]
fn a_thread_that_stops_before_a_barrier_ends_the_group() {
    let text = with_tile(
        "%ten: u32 = const 10
         %far: u32 = const 500
         %is_ten: bool = eq %t, %ten
         %at: u32 = select %is_ten, %far, %t
         store %out, %three [%t]
         store %tile, %three [%at]
         barrier group sync
         store %out, %zero [%t]",
    );
    let mut memory: Vec<i32> = (0..20).collect();
    let stopped = run(&text, &mut memory).expect_err("it stops");
    assert_eq!((stopped.trap, stopped.thread), (Trap::OutOfBounds, Some([10, 0, 0])));
    assert_eq!(memory[..10], [3; 10]);
    assert_eq!(memory[16..], [16, 17, 18, 19]);
}

/// A program of 16 threads. Each copies `n` elements of its 21 to an array, from `at`, and writes them back plus its number.
fn copies(n: i32, at: &str) -> String {
    format!(
        "global @out: rwbuffer<i32> param
        func @main(%thread: u32x3) entry(16, 1, 1)(dispatch_thread_id) {{
          %t: u32 = extract %thread [0]
          %own: i32 = convert %t
          %n: i32 = const {n}
          %size: u32 = const 21
          %first: u32 = mul %t, %size
          %out: rwbuffer<i32> = global @out
          %none: [i32; 40] = zero
          %all: [i32; 40] = for %n (%none) body(%i: i32, %a: [i32; 40]) {{
            %c: u32 = convert %i
            {at}
            %from: u32 = add %first, %at
            %x: i32 = load %out [%from]
            %b: [i32; 40] = insert %a, %x [%i]
            yield %b
          }}
          %new: [i32; 40] = for %n (%all) body(%i2: i32, %a2: [i32; 40]) {{
            %x2: i32 = extract %a2 [%i2]
            %y2: i32 = add %x2, %own
            %b2: [i32; 40] = insert %a2, %y2 [%i2]
            yield %b2
          }}
          for %n () body(%i3: i32) {{
            %y3: i32 = extract %new [%i3]
            %c3: u32 = convert %i3
            %to: u32 = add %first, %c3
            store %out, %y3 [%to]
            yield
          }}
          return
        }}"
    )
}

/// Elements in a row are copied four at a time: 21 are five times four and one.
#[test]
fn elements_are_copied_in_fours() {
    for n in [8, 11, 21] {
        let mut memory: Vec<i32> = (0..16 * 21).collect();
        run(&copies(n, "%zero: u32 = const 0\n%at: u32 = add %c, %zero"), &mut memory).expect("it runs");
        let new = |i: i32| if i % 21 < n { i + i / 21 } else { i };
        assert_eq!(memory, (0..16 * 21).map(new).collect::<Vec<i32>>(), "{n}");
    }
}

/// Every second element.
#[test]
fn elements_that_are_apart_are_not_copied_in_fours() {
    let mut memory: Vec<i32> = (0..16 * 21).collect();
    run(&copies(10, "%at: u32 = add %c, %c"), &mut memory).expect("it runs");
    let new = |i: i32| if i % 21 < 10 { i + i % 21 + i / 21 } else { i };
    assert_eq!(memory, (0..16 * 21).map(new).collect::<Vec<i32>>());
}

/// The buffer ends within the elements of thread 13.
#[test]
fn a_copy_beyond_the_buffer_stops_the_thread() {
    let mut memory: Vec<i32> = (0..13 * 21 + 4).collect();
    let stopped = run(&copies(21, "%zero: u32 = const 0\n%at: u32 = add %c, %zero"), &mut memory);
    let stopped = stopped.expect_err("it stops");
    assert_eq!((stopped.trap, stopped.thread), (Trap::OutOfBounds, Some([13, 0, 0])));
    assert_eq!(stopped.outside, Some(Outside { index: 13 * 21 + 4, len: 13 * 21 + 4 }));
    assert_eq!(memory[..21], (0..21).collect::<Vec<i32>>());
    assert_eq!(memory[21..42], (22..43).collect::<Vec<i32>>());
}
