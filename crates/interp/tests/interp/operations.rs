//! Every family of operations, with results derived by hand.

use crate::common::{module, outputs, run};
use cotangent_base::Symbol;
use cotangent_interp::{Machine, Options, Val};

/// The result of a body with inputs `%x: f32 = 2.5`, `%i: i32 = 7`, `%v: f32x3 = (1, 2, 3)` and
/// `%m: f32x2x3 = ((1, 2, 3), (4, 5, 6))`.
fn result(ty: &str, insts: &str) -> Val {
    let text = format!(
        "struct $S {{ a: f32, b: [i32; 3] }}
         func @f(%x: f32, %i: i32, %v: f32x3, %m: f32x2x3) -> {ty} {{ {insts} return %r }}"
    );
    let rows = [Val::floats(&[1.0, 2.0, 3.0]), Val::floats(&[4.0, 5.0, 6.0])];
    let inputs = vec![Val::float(2.5), Val::int(7), Val::floats(&[1.0, 2.0, 3.0]), Val::aggregate(rows)];
    outputs(&text, inputs).remove(0)
}

fn floats(values: &[f64]) -> Val {
    Val::floats(values)
}

#[test]
fn arithmetic_is_element_wise() {
    assert_eq!(result("f32", "%r: f32 = mul %x, %x"), Val::float(6.25));
    assert_eq!(result("f32x3", "%r: f32x3 = add %v, %v"), floats(&[2.0, 4.0, 6.0]));
    let negated = Val::aggregate([floats(&[-1.0, -2.0, -3.0]), floats(&[-4.0, -5.0, -6.0])]);
    assert_eq!(result("f32x2x3", "%r: f32x2x3 = neg %m"), negated);
    assert_eq!(result("f32", "%r: f32 = fma %x, %x, %x"), Val::float(8.75));
    let compared = Val::aggregate([true, false, false].map(Val::bool));
    assert_eq!(result("boolx3", "%s: f32x3 = splat %x %t: f32x3 = sqrt %s %r: boolx3 = lt %v, %t"), compared);
}

#[test]
fn constants_round_to_their_type_except_in_wide_mode() {
    assert_eq!(result("f32", "%r: f32 = const 0.1d"), Val::float(0.1f32.into()));
    assert_eq!(result("u8", "%r: u8 = const -1"), Val::int(255));
    assert_eq!(result("bool", "%r: bool = const true"), Val::bool(true));
    let text = "func @f(%x: f32) -> f32 { %t: f32 = const 3.0 %r: f32 = div %x, %t return %r }";
    let third =
        |wide| run(text, vec![Val::float(1.0)], Options { wide, ..Options::default() }).0.unwrap().remove(0);
    assert_eq!(third(false), Val::float((1.0f32 / 3.0).into()));
    assert_eq!(third(true), Val::float(1.0 / 3.0));
    let text = "func @f(%x: f32) -> f32 { return %x }";
    let same =
        |wide| run(text, vec![Val::float(0.1)], Options { wide, ..Options::default() }).0.unwrap().remove(0);
    assert_eq!(same(false), Val::float(0.1f32.into()));
    assert_eq!(same(true), Val::float(0.1));
}

#[test]
fn zero_is_zero_all_the_way_down() {
    let zero = Val::aggregate([Val::float(0.0), Val::ints(&[0, 0, 0])]);
    assert_eq!(result("$S", "%r: $S = zero"), zero);
    assert_eq!(result("unit", "%r: unit = zero"), Val::Unit);
}

#[test]
fn selection_takes_one_side_or_one_per_element() {
    let text = "%t: bool = const false %z: f32x3 = zero %r: f32x3 = select %t, %z, %v";
    assert_eq!(result("f32x3", text), floats(&[1.0, 2.0, 3.0]));
    let text = "%s: f32x3 = splat %x %c: boolx3 = lt %v, %s %r: f32x3 = select %c, %v, %s";
    assert_eq!(result("f32x3", text), floats(&[1.0, 2.0, 2.5]));
}

#[test]
fn conversions_go_by_value_and_casts_by_bits() {
    assert_eq!(
        result("i32x3", "%s: f32x3 = splat %x %t: f32x3 = mul %v, %s %r: i32x3 = convert %t"),
        Val::ints(&[2, 5, 7])
    );
    assert_eq!(result("u32", "%r: u32 = bitcast %x"), Val::int(0x4020_0000));
    // 2.5 twice is the binary64 with both halves 0x40200000.
    let double = f64::from_bits(0x4020_0000_4020_0000);
    assert_eq!(result("f64", "%p: f32x2 = splat %x %r: f64 = bitcast %p"), Val::float(double));
    let half = "%h: f16 = convert %x %r: u16 = bitcast %h";
    assert_eq!(result("u16", half), Val::int(0x4100));
}

#[test]
fn shapes_are_filled_summed_and_rearranged() {
    let filled = Val::aggregate([floats(&[2.5, 2.5]), floats(&[2.5, 2.5])]);
    assert_eq!(result("f32x2x2", "%r: f32x2x2 = splat %x"), filled);
    assert_eq!(result("[i32; 4]", "%r: [i32; 4] = splat %i"), Val::ints(&[7, 7, 7, 7]));
    assert_eq!(result("f32", "%r: f32 = sum %m"), Val::float(21.0));
    assert_eq!(result("f32x3", "%a: [f32x3; 4] = splat %v %r: f32x3 = sum %a"), floats(&[4.0, 8.0, 12.0]));
    assert_eq!(result("f32x4", "%r: f32x4 = swizzle %v zzxy"), floats(&[3.0, 3.0, 1.0, 2.0]));
    assert_eq!(result("f32", "%r: f32 = swizzle %v y"), Val::float(2.0));
    let transposed = Val::aggregate([floats(&[1.0, 4.0]), floats(&[2.0, 5.0]), floats(&[3.0, 6.0])]);
    assert_eq!(result("f32x3x2", "%r: f32x3x2 = transpose %m"), transposed);
}

#[test]
fn products_of_vectors_and_matrices_are_those_of_algebra() {
    assert_eq!(result("f32", "%r: f32 = dot %v, %v"), Val::float(14.0));
    assert_eq!(result("f32x2", "%r: f32x2 = matvec %m, %v"), floats(&[14.0, 32.0]));
    // (14, 32) times ((1, 2, 3), (4, 5, 6)).
    let text = "%p: f32x2 = matvec %m, %v %r: f32x3 = vecmat %p, %m";
    assert_eq!(result("f32x3", text), floats(&[142.0, 188.0, 234.0]));
    let square = Val::aggregate([floats(&[14.0, 32.0]), floats(&[32.0, 77.0])]);
    assert_eq!(result("f32x2x2", "%t: f32x3x2 = transpose %m %r: f32x2x2 = matmat %m, %t"), square);
    let outer = Val::aggregate([floats(&[14.0, 28.0, 42.0]), floats(&[32.0, 64.0, 96.0])]);
    assert_eq!(result("f32x2x3", "%p: f32x2 = matvec %m, %v %r: f32x2x3 = outer %p, %v"), outer);
}

#[test]
fn parts_are_read_replaced_and_added_to() {
    let start = "%two: i32 = const 2 %b: [i32; 3] = splat %i %s: $S = pack %x, %b";
    let s = |a: f64, b: &[i64]| Val::aggregate([Val::float(a), Val::ints(b)]);
    assert_eq!(result("i32", &format!("{start} %r: i32 = extract %s [1, %two]")), Val::int(7));
    assert_eq!(result("$S", &format!("{start} %r: $S = insert %s, %two [1, %two]")), s(2.5, &[7, 7, 2]));
    assert_eq!(result("$S", &format!("{start} %r: $S = insert_add %s, %two [1, 0]")), s(2.5, &[9, 7, 7]));
    assert_eq!(result("$S", &format!("{start} %r: $S = insert_add %s, %s")), s(5.0, &[14, 14, 14]));
    assert_eq!(result("f32", "%t: i32 = const 1 %r: f32 = extract %m [%t, 2]"), Val::float(6.0));
    let row = Val::aggregate([floats(&[1.0, 2.0, 3.0]), floats(&[5.0, 7.0, 9.0])]);
    assert_eq!(result("f32x2x3", "%r: f32x2x3 = insert_add %m, %v [1]"), row);
}

#[test]
fn an_insert_leaves_the_old_value_alone() {
    let text = "%o: f32x3 = insert %v, %x [0] %r: f32x3 = sub %o, %v";
    assert_eq!(result("f32x3", text), floats(&[1.5, 0.0, 0.0]));
}

#[test]
fn what_nobody_may_look_at_reads_as_zero_and_is_counted() {
    let text = "func @f(%x: f32) -> f32 { %u: f32 = undef %r: f32 = add %u, %x return %r }";
    let (outcome, counters) = run(text, vec![Val::float(1.0)], Options::default());
    assert_eq!(outcome.unwrap(), [Val::float(1.0)]);
    assert_eq!(counters.undef_reads, 1);
    // Writing every part of such an aggregate first is not looking.
    let text = "func @f(%x: f32) -> f32 {
        %u: [f32; 2] = undef %a: [f32; 2] = insert %u, %x [0] %b: [f32; 2] = insert %a, %x [1] %r: f32 = sum %b return %r }";
    let (outcome, counters) = run(text, vec![Val::float(1.0)], Options::default());
    assert_eq!((outcome.unwrap(), counters.undef_reads), (vec![Val::float(2.0)], 0));
}

#[test]
fn calls_give_all_outputs_in_order() {
    let text = "func @g(%a: f32, out o: i32, inout %b: i32) -> f32 { %t: f32 = add %a, %a %c: i32 = add %b, %b return %t, %b, %c }
         func @f(%x: f32, %i: i32) -> f32 { %r: f32, %o: i32, %b: i32 = call @g(%x, %i)
         %p: i32 = sub %b, %o %q: f32 = convert %p %s: f32 = add %r, %q return %s }";
    assert_eq!(outputs(text, vec![Val::float(1.5), Val::int(4)]), [Val::float(7.0)]);
}

#[test]
fn memory_is_what_the_host_set_and_the_program_wrote() {
    let module = module(
        "struct $P { a: f32, b: f32x2 }
         global @in: buffer<$P> param
         global @out: rwbuffer<f32> param
         global @scale: f32 param
         func @f(%i: i32) -> u32 {
           %in: buffer<$P> = global @in %out: rwbuffer<f32> = global @out %scale: f32 = global @scale
           %b: f32 = load %in [%i, 1, 1] %r: f32 = mul %b, %scale store %out, %r [2] %n: u32 = length %in
           return %n
         }",
    );
    let global = |name| module.global_named(Symbol::new(name)).unwrap();
    let mut machine = Machine::new(&module, Options::default());
    let element = |k: f64| Val::aggregate([Val::float(k), floats(&[k + 1.0, k + 2.0])]);
    machine.set_global(global("in"), Val::aggregate([element(0.0), element(10.0)]));
    machine.set_global(global("out"), floats(&[9.0, 9.0, 9.0, 9.0]));
    machine.set_global(global("scale"), Val::float(0.5));
    let func = module.func_named(Symbol::new("f")).unwrap();
    assert_eq!(machine.call(func, vec![Val::int(1)]).unwrap(), [Val::int(2)]);
    assert_eq!(machine.global(global("out")), floats(&[9.0, 9.0, 6.0, 9.0]));
}

#[test]
fn a_dispatch_runs_every_thread_of_every_group() {
    let module = module(
        "global @out: rwbuffer<u32> param
         global @seen: ref<u32> shared
         global @mine: ref<u32> static(@one)
         func @one() -> u32 { %r: u32 = const 1 return %r }
         func @main(%d: u32x3, %g: u32x3, %t: u32x3, %i: u32) entry(2, 2, 1)(dispatch_thread_id, group_id, group_thread_id, group_index) {
           %seen: ref<u32> = global @seen %n: u32 = load %seen %mine: ref<u32> = global @mine %m: u32 = load %mine
           %n2: u32 = add %n, %m store %seen, %n2 %m2: u32 = add %m, %m store %mine, %m2
           %out: rwbuffer<u32> = global @out
           %x: u32 = extract %d [0] %y: u32 = extract %d [1] %four: u32 = const 4 %at: u32 = mul %y, %four %at2: u32 = add %at, %x
           %hundred: u32 = const 100 %ten: u32 = const 10 %gx: u32 = extract %g [0] %a: u32 = mul %gx, %hundred
           %b: u32 = mul %i, %ten %c: u32 = add %a, %b %e: u32 = add %c, %n2
           store %out, %e [%at2] return
         }",
    );
    let mut machine = Machine::new(&module, Options::default());
    let out = module.global_named(Symbol::new("out")).unwrap();
    machine.set_global(out, Val::ints(&[0; 8]));
    machine.dispatch(module.func_named(Symbol::new("main")).unwrap(), [2, 1, 1]).unwrap();
    // group * 100 + index in the group * 10 + how many threads of the group have run; each began with `mine` at 1.
    assert_eq!(machine.global(out), Val::ints(&[1, 12, 101, 112, 23, 34, 123, 134]));
}
