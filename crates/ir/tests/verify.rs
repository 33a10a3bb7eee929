//! The verifier accepts what is right and names the rule that is broken otherwise.

use cotangent_ir::text::{parse_linear, parse_module};
use cotangent_ir::{ValueDef, verify, verify_linear};

/// What the verifier says about a text.
fn says(text: &str) -> String {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).map_or_else(|e| e.to_string(), |()| "ok".into())
}

/// What the verifier says about a function body that begins with some values and may use some globals.
fn body(insts: &str) -> String {
    says(&format!(
        "struct $S {{ a: f32, b: [i32; 4] }}
         global @buf: rwbuffer<$S> param
         global @ro: buffer<f32> param
         global @var: ref<[f32; 2]> shared
         func @g(%a: f32, inout %b: i32) -> bool {{ %c: bool = const true return %c, %b }}
         func @f(%x: f32, %i: i32, %b: bool, %v: f32x3, %m: f32x2x3, %s: $S, %v2: f32x2) -> f32 {{ {insts} }}"
    ))
}

/// The part of a complaint about a body after function and instruction.
fn complaint(insts: &str) -> String {
    let said = body(insts);
    said.rsplit_once("`: ").map_or(said.clone(), |(_, rule)| rule.to_string())
}

#[test]
fn instructions_of_every_family_are_accepted() {
    let families = [
        "%y: f32 = fma %x, %x, %x %z: bool = lt %y, %x %w: bool = and %z, %b return %y",
        "%c: f32 = const 1.5 %d: u8 = const 255 %e: i8 = const -128 %f: u64 = const -1 return %c",
        "%t: f32x3 = select %b, %v, %v %c: boolx3 = lt %v, %v %u: f32x3 = select %c, %v, %t return %x",
        "%c: i32x3 = convert %v %d: u32 = bitcast %x %e: u32x2 = bitcast %v2 %f: f64 = bitcast %v2 return %x",
        "%a: f32x2x3 = splat %x %c: f32 = sum %a %d: [f32x3; 5] = splat %v %e: f32x3 = sum %d return %c",
        "%a: f32 = swizzle %v y %c: f32x4 = swizzle %v xxzy return %a",
        "%a: f32 = dot %v, %v %c: f32x2 = matvec %m, %v %d: f32x3 = vecmat %c, %m %t: f32x3x2 = transpose %m
         %e: f32x2x2 = matmat %m, %t %f: f32x3x2 = outer %v, %v2 return %a",
        "%a: [i32; 4] = zero %c: $S = pack %x, %a %d: i32 = extract %c [1, %i] %e: $S = insert %c, %d [1, 3]
         %f: $S = insert_add %e, %c return %x",
        "%h: rwbuffer<$S> = global @buf %e: $S = load %h [%i] %c: i32 = load %h [0, 1, %i] store %h, %x [%i, 0]
         %n: u32 = length %h %r: ref<[f32; 2]> = global @var %l: f32 = load %r [1] store %r, %l [%i] return %l",
        "%r: bool, %o: i32 = call @g(%x, %i) assert loop_bound %r return %x",
        "%y: f32 = if %b { yield %x } else { return %x } return %y",
        "%y: f32 = switch %i case 1 { yield %x } case -2 { return %x } default { yield %x } return %y",
        "%y: f32, %k: i32 = while (%x, %i) cond(%a: f32, %c: i32) { %t: bool = lt %a, %x yield %t }
         body(%a2: f32, %c2: i32) { %z: f32 = for %c2 (%a2) body(%k2: i32, %q: f32) { break 1 %q, %k2 } continue 0 %z, %c2 }
         return %y",
    ];
    for insts in families {
        assert_eq!(body(insts), "ok", "{insts}");
    }
}

#[test]
fn broken_instructions_are_named_with_their_rule() {
    assert_eq!(
        body("%y: f32 = add %x, %i return %y"),
        "@f: `%y.7: f32 = add %x.0, %i.1`: the operands must have one type"
    );
}

#[test]
fn wrong_types_are_found() {
    let wrong = [
        ("%y: f32 = add %x return %y", "the operation takes 2 operands"),
        ("%y: i32 = add %x, %x return %x", "the result has the wrong type"),
        ("%y: f32 = shl %x, %x return %y", "the operation is not defined on f32"),
        ("%y: bool = add %b, %b return %x", "the operation is not defined on bool"),
        ("%y: i32 = sin %i return %x", "the operation is not defined on i32"),
        ("%y: f32 = lt %x, %x return %x", "the result has the wrong type"),
        ("%y: i32 = const 1.5 return %x", "a float is not a i32"),
        ("%y: u8 = const 256 return %x", "the constant does not fit its type"),
        ("%y: f32x3 = select %b, %v, %x return %x", "both sides and the result must have one type"),
        ("%c: boolx3 = lt %v, %v %y: f32 = select %c, %x, %x return %x", "the condition does not fit"),
        ("%y: i32x2 = convert %v return %x", "a conversion keeps the shape of a number"),
        ("%y: u32x2 = bitcast %v return %x", "the types are not numbers of one size"),
        ("%y: f32x3 = splat %i return %x", "the result is not a shape of the operand"),
        ("%y: bool = sum %b return %x", "the operand is not a shape of the result"),
        ("%y: f32 = swizzle %v2 z return %x", "the vector has no such lane"),
        ("%y: f32x2 = swizzle %v xyz return %x", "the result is not of those lanes"),
        ("%y: f32 = dot %v, %v2 return %x", "the shapes do not fit"),
        ("%y: f32x3 = matvec %m, %v return %x", "the shapes do not fit"),
        ("%y: f32x2x3 = transpose %m return %x", "the result is not the transposed shape"),
        ("%y: f32x3 = pack %x, %x return %x", "the aggregate has 3 parts"),
        ("%y: $S = pack %x, %x return %x", "part 1 has another type"),
        ("%y: f32 = extract %s [2] return %x", "the path does not fit the type"),
        ("%y: f32 = extract %s [%i] return %x", "the path does not fit the type"),
        ("%y: i32 = extract %s [1, 4] return %x", "the path does not fit the type"),
        ("%y: f32 = extract %v [%x] return %x", "an index is not an integer"),
        ("%y: f32 = extract %s [1, 0] return %x", "the result is not the part at that path"),
        ("%y: $S = insert %s, %i [0] return %x", "the value is not a part at that path"),
        ("%y: f32x3 = insert %s, %x [0] return %x", "the result must have the type of the aggregate"),
        ("%y: f32 = load %x return %x", "the operand is not a handle"),
        (
            "%h: rwbuffer<$S> = global @buf %y: $S = load %h return %x",
            "the path does not begin with an element",
        ),
        ("%h: buffer<f32> = global @ro store %h, %x [0] return %x", "the buffer may only be read"),
        ("%h: buffer<i32> = global @ro return %x", "the global has another type"),
        ("assert loop_bound %x return %x", "the condition is not a `bool`"),
        ("%r: bool = call @g(%x, %i) return %x", "the results are not the outputs of the function"),
        ("%r: bool, %o: i32 = call @g(%x) return %x", "the operands are not the inputs of the function"),
        ("if %x { yield } else { yield } return %x", "the condition is not a `bool`"),
        (
            "switch %i case 1 { yield } case 1 { yield } default { yield } return %x",
            "two cases have one value",
        ),
        ("for %x () body(%k: i32) { yield } return %x", "the number of rounds is not an `i32`"),
        ("for %i () body() { yield } return %x", "the arguments of a region have other types"),
        ("%d: f32, %t: f32 = diff_call @f [d] -> [d] (%x, %x) return %x", "a mask does not fit the function"),
        ("zero return %x", "the operation takes other operands or gives other results"),
    ];
    for (insts, rule) in wrong {
        assert_eq!(complaint(insts), rule, "{insts}");
    }
}

#[test]
fn exits_must_be_last_and_fit() {
    let wrong = [
        ("return %x return %x", "an exit must be the last instruction of its region"),
        ("%y: f32 = zero", "the last instruction of a region must be an exit"),
        ("yield %x", "the body of a function must end in `return`"),
        ("return", "the values are not the outputs of the function"),
        (
            "%y: f32 = if %b { yield %i } else { yield %x } return %y",
            "the values are not what the region must yield",
        ),
        ("break 0", "there is no such loop to leave"),
        (
            "%y: f32 = for %i (%x) body(%k: i32, %a: f32) { break 1 %a } return %y",
            "there is no such loop to leave",
        ),
        (
            "%y: f32 = for %i (%x) body(%k: i32, %a: f32) { break 0 } return %y",
            "the values are not the slots of the loop",
        ),
        (
            "while () cond() { return %x } body() { yield } return %x",
            "the condition of a loop must end in `yield`",
        ),
        ("while () cond() { break 0 } body() { yield } return %x", "there is no such loop to leave"),
        (
            "while () cond() { yield %x } body() { yield } return %x",
            "the values are not what the region must yield",
        ),
    ];
    for (insts, rule) in wrong {
        assert_eq!(complaint(insts), rule, "{insts}");
    }
}

#[test]
fn values_are_gone_behind_their_region() {
    let rule = "operand 0 is not in scope";
    assert_eq!(complaint("if %b { %y: f32 = neg %x yield } else { yield } %z: f32 = neg %y return %x"), rule);
    assert_eq!(complaint("if %b { %y: f32 = neg %x yield } else { %z: f32 = neg %y yield } return %x"), rule);
    assert_eq!(complaint("for %i () body(%k: i32) { yield } %z: i32 = neg %k return %x"), rule);
}

#[test]
fn the_tree_must_be_a_tree() {
    let text =
        "func @f(%x: f32, %b: bool) -> f32 { %y: f32 = neg %x if %b { yield } else { yield } return %y }";
    let broken = |change: fn(&mut cotangent_ir::Func)| {
        let mut module = parse_module(text).unwrap();
        change(module.funcs.values_mut().next().unwrap());
        verify(&module).unwrap_err().rule
    };
    let twice = broken(|f| {
        let first = f.regions[f.body].insts[0];
        f.regions[f.body].insts.insert(1, first);
    });
    assert_eq!(twice, "the instruction is used twice");
    let shared = broken(|f| {
        let branch = f.regions[f.body].insts[1];
        f.insts[branch].regions[1] = f.insts[branch].regions[0];
    });
    assert!(shared.ends_with("is used twice"), "{shared}");
    let swapped = broken(|f| {
        let body = f.body;
        f.regions[body].insts.swap(0, 1);
        f.insts[f.regions[body].insts[0]].operands[0] = f.insts[f.regions[body].insts[1]].results[0];
    });
    assert_eq!(swapped, "operand 0 is not in scope");
    let lying = broken(|f| {
        let value = f.insts[f.regions[f.body].insts[0]].results[0];
        f.values[value].def = ValueDef::Arg(f.body, 0);
    });
    assert!(lying.ends_with("does not say where it is made"), "{lying}");
}

#[test]
fn modules_are_checked_too() {
    let wrong = [
        ("struct $S { s: [$T; 2] } struct $T { s: $S }", "structure $S contains itself"),
        ("global @g: f32 shared", "global @g: a variable has the type `ref<..>`"),
        ("global @g: ref<f32> param", "global @g: the host cannot set a variable"),
        (
            "global @g: ref<f32> static(@f) func @f() -> i32 { %0: i32 = zero return %0 }",
            "global @g: its first value is not what the function gives",
        ),
        ("struct $S { x: f32 } diff $S = unit { x -> 0 }", "differential of $S: it has no such field"),
        (
            "struct $S { x: f32 } diff $S = $S { x -> x } zero @f func @f() { return }",
            "differential of $S: its zero is not `() -> differential`",
        ),
        (
            "func @f(%x: f32) entry(1, 1, 1) { return }",
            "@f: the inputs of an entry point are not what the host gives",
        ),
        ("func @f() {}", "@f: region0 is empty"),
    ];
    for (text, rule) in wrong {
        assert_eq!(says(text), rule, "{text}");
    }
    assert_eq!(says("func @f() { return } func @df() request(forward @f)"), "ok");
}

/// What the linear law says about a function body.
fn linear(insts: &str) -> String {
    let text = format!(
        "func @h(%x: f32) -> f32 {{ return %x }}
         func @k(%x: f32, %y: f32) -> f32 {{ return %x }}
         func @f(%x: f32, %i: i32, %b: bool, %v: f32x3, ~dx: f32, ~dv: f32x3) {{ {insts} }}"
    );
    let (module, linear) = parse_linear(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).unwrap();
    let (id, func) = module.funcs.iter().last().unwrap();
    verify_linear(func, &linear[&id], &module).map_or_else(|e| e.rule, |()| "ok".into())
}

#[test]
fn linear_code_passes_the_linear_law() {
    let right = [
        "~a: f32 = mul %x, ~dx ~c: f32 = mul ~a, %x ~d: f32 = add ~a, ~c ~e: f32 = div ~d, %x return",
        "~a: f32 = dot %v, ~dv ~z: f32 = zero ~s: f32 = select %b, ~a, ~z return",
        "~a: f32 = call @h(~dx) ~c: f32 = call @k(%x, ~dx) return",
        "~a: f32 = extract ~dv [%i] ~c: f32x3 = insert_add ~dv, ~a [%i] ~d: f64 = convert ~a return",
        "%y: f32, ~dy: f32 = if %b { yield %x, ~dx } else { ~z: f32 = undef yield %x, ~z } return",
        "%y: f32, ~dy: f32 = diff_call @h [d] -> [d] (%x, ~dx) ~r: f32 = lin_call @h [d] -> [d] (%x; ~dx) return",
        "%y: f32, ~dy: f32 = for %i (%x, ~dx) rev body(%k: i32, %a: f32, ~da: f32) { ~t: f32 = mul %a, ~da yield %a, ~t }
         return",
    ];
    for insts in right {
        assert_eq!(linear(insts), "ok", "{insts}");
    }
}

// req: IR-LIN-9, IR-LIN-10
#[test]
fn the_linear_law_finds_what_is_not_linear() {
    let wrong = [
        ("~a: f32 = mul ~dx, ~dx return", "a linear product has one linear operand, not 2"),
        ("~a: f32 = mul %x, %x return", "a linear product has one linear operand, not 0"),
        ("%a: f32 = mul %x, ~dx return", "a primal result has a linear operand"),
        ("~a: f32 = add %x, ~dx return", "a linear result has a primal operand"),
        ("%a: f32 = neg ~dx return", "a primal result has a linear operand"),
        ("~a: f32 = div ~dx, ~dx return", "the operation is linear in its first operand only"),
        ("~a: f32 = div %x, %x return", "the first operand and the result must be of one kind"),
        ("~a: f32 = sin ~dx return", "the operation is not linear in this operand"),
        ("~a: f32 = const 1.0 return", "the operation gives nothing linear"),
        ("~a: i32 = convert ~dx return", "only a conversion between floats is linear"),
        ("%a: f32 = call @h(~dx) return", "the operation is not linear in this operand"),
        ("~a: f32 = call @k(~dx, %x) return", "the tangents come last"),
        (
            "%a: f32 = if %b { yield ~dx } else { yield %x } return",
            "a yield and its result must be of one kind",
        ),
        (
            "~a: f32 = for %i (%x) body(%k: i32, ~c: f32) { yield ~c } return",
            "a slot and its result must be of one kind",
        ),
        (
            "~a: f32 = for %i (~dx) body(%k: i32, %c: f32) { yield %c } return",
            "a slot and its argument must be of one kind",
        ),
        (
            "~a: f32 = for %i (~dx) body(%k: i32, ~c: f32) { break 0 %x } return",
            "an exit and its slot must be of one kind",
        ),
        ("~a: f32 = lin_call @h [d] -> [d] (~dx; ~dx) return", "the tangents are linear, the rest is not"),
    ];
    for (insts, rule) in wrong {
        assert_eq!(linear(insts), rule, "{insts}");
    }
}
