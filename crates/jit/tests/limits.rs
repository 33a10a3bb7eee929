//! Programs that need much memory, recur without end or never stop, launched on small stacks and from several threads at once. What
//! must come out is derived by hand.

use cotangent_ir::text::parse_module;
use cotangent_ir::{Global, Trap};
use cotangent_jit::{Limits, Options, Program, Stopped};
use cotangent_runtime::Outside;
use std::thread;

/// Compiles the entry point `main` of a text.
fn compile(text: &str, options: Options) -> (Global, Program) {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}"));
    cotangent_ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let entry = module.func_named("main".into()).expect("it is there");
    let out = module.global_named("out".into()).expect("it is there");
    (out, Program::compile(&module, entry, options).unwrap_or_else(|e| panic!("{e}")))
}

/// Runs a program whose parameter `out` is a buffer of `f32`.
fn launch(out: Global, program: &Program, memory: &mut [f32], limits: Limits) -> Result<(), Stopped> {
    let mut bytes: Vec<u8> = memory.iter().flat_map(|x| x.to_le_bytes()).collect();
    let ended = program.launch(&mut [(out, &mut bytes[..])], [1; 3], limits, &mut String::new());
    for (x, bytes) in memory.iter_mut().zip(bytes.chunks_exact(4)) {
        *x = f32::from_le_bytes(bytes.try_into().expect("there are four"));
    }
    ended
}

/// Runs something on a stack that is small, as those of threads are.
fn on_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, run);
        thread.expect("a thread starts").join().expect("it does not panic")
    })
}

/// Swaps two arrays of 400,000 bytes in every iteration, after writing the number of the iteration into one.
const SWAP: &str = "
    global @out: rwbuffer<f32> param
    func @main() entry(1, 1, 1) {
      %a: [f32; 100000] = zero
      %one: f32 = const 1.0
      %b: [f32; 100000] = splat %one
      %n: i32 = const 5
      %last: i32 = const 99999
      %x: [f32; 100000], %y: [f32; 100000] = for %n (%a, %b) body(%k: i32, %p: [f32; 100000], %q: [f32; 100000]) {
        %f: f32 = convert %k
        %p2: [f32; 100000] = insert %p, %f [%last]
        yield %q, %p2
      }
      %o: rwbuffer<f32> = global @out
      %x0: f32 = extract %x [0]
      store %o, %x0 [0]
      %x1: f32 = extract %x [%last]
      store %o, %x1 [1]
      %y0: f32 = extract %y [0]
      store %o, %y0 [2]
      %y1: f32 = extract %y [%last]
      store %o, %y1 [3]
      return
    }";

#[test]
fn large_arrays_are_swapped() {
    let (out, program) = compile(SWAP, Options::default());
    let mut memory = [9.0; 4];
    on_small_stack(|| launch(out, &program, &mut memory, Limits::default())).unwrap();
    // After five swaps `x` is the second array, last written in iteration 3, and `y` the first, written in iteration 4.
    assert_eq!(memory, [1.0, 3.0, 0.0, 4.0]);
}

#[test]
fn a_program_runs_on_several_threads_at_once() {
    let (out, program) = compile(SWAP, Options::default());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut memory = [9.0; 4];
                launch(out, &program, &mut memory, Limits::default()).unwrap();
                assert_eq!(memory, [1.0, 3.0, 0.0, 4.0]);
            });
        }
    });
}

#[test]
fn recursion_without_end_stops() {
    // One level deep, and with an array of 64 KiB in each call.
    for array in ["[f32; 16]", "[f32; 16384]"] {
        let text = format!(
            "global @out: rwbuffer<f32> param
             func @down(%x: f32, %i: i32) -> f32 {{
               %a: {array} = splat %x
               %b: {array} = insert %a, %x [%i]
               %one: f32 = const 1.0
               %y: f32 = add %x, %one
               %below: f32 = call @down(%y, %i)
               %c: f32 = extract %b [%i]
               %sum: f32 = add %below, %c
               return %sum
             }}
             func @main() entry(1, 1, 1) {{
               %x: f32 = const 0.0
               %i: i32 = const 3
               %y: f32 = call @down(%x, %i)
               %o: rwbuffer<f32> = global @out
               store %o, %y [0]
               return
             }}"
        );
        let (out, program) = compile(&text, Options::default());
        for max_depth in [100, 10_000, 1 << 40] {
            let limits = Limits { max_depth, ..Limits::default() };
            let stopped = on_small_stack(|| launch(out, &program, &mut [0.0], limits)).unwrap_err();
            assert_eq!((stopped.trap, stopped.func.as_str()), (Trap::CallDepth, "down"));
        }
    }
}

#[test]
fn steps_are_limited_where_they_are_counted() {
    let text = "
        global @out: rwbuffer<f32> param
        func @main() entry(1, 1, 1) {
          %yes: bool = const true
          while () cond() { yield %yes } body() { yield }
          return
        }";
    let (out, program) = compile(text, Options { count_steps: true, ..Options::default() });
    let limits = Limits { max_steps: Some(1000), ..Limits::default() };
    let stopped = launch(out, &program, &mut [0.0], limits).unwrap_err();
    assert_eq!(stopped.trap, Trap::StepLimit);
}

#[test]
fn an_index_outside_is_a_value() {
    let text = "
        global @out: rwbuffer<f32> param
        func @main(%i: u32) entry(8, 1, 1)(group_index) {
          %o: rwbuffer<f32> = global @out
          %x: f32 = convert %i
          store %o, %x [%i]
          return
        }";
    let (out, program) = compile(text, Options::default());
    let mut memory = [9.0; 5];
    let stopped = launch(out, &program, &mut memory, Limits::default()).unwrap_err();
    assert_eq!((stopped.trap, stopped.thread), (Trap::OutOfBounds, Some([5, 0, 0])));
    assert_eq!(stopped.outside, Some(Outside { index: 5, len: 5 }));
    assert_eq!(memory, [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn variables_that_no_machine_has_memory_for_are_refused() {
    for (kind, size) in [("shared", 600_000_000), ("static", 600_000_000), ("static", i32::MAX)] {
        let text = format!(
            "global @out: rwbuffer<f32> param
             global @all: ref<[f32; {size}]> {kind}
             func @main(%i: u32) entry(8, 1, 1)(group_index) {{
               %all: ref<[f32; {size}]> = global @all
               %o: rwbuffer<f32> = global @out
               %x: f32 = load %all [%i]
               store %o, %x [%i]
               return
             }}"
        );
        let module = parse_module(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let entry = module.func_named("main".into()).expect("it is there");
        let refused = Program::compile(&module, entry, Options::default()).err().expect("it is refused");
        assert_eq!(refused.what, "more than 2 GiB of variables of a group");
    }
}
