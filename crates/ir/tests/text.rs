//! The text form reads back as what was printed.

use cotangent_base::{EntitySet, Map};
use cotangent_ir::text::{parse_linear, parse_module, print_linear, print_module};
use cotangent_ir::{Const, Func, Module, Op, Region, Value};

/// Every item, attribute and operation, in the form in which it is printed.
const ALL: &str = include_str!("all.ir");

/// Compares two functions, values by position, and types by name.
struct Compare<'a> {
    modules: (&'a Module, &'a Module),
    funcs: (&'a Func, &'a Func),
    values: Map<Value, Value>,
}

impl Compare<'_> {
    fn define(&mut self, a: &[Value], b: &[Value]) {
        assert_eq!(a.len(), b.len());
        for (&a, &b) in a.iter().zip(b) {
            let (x, y) = (&self.funcs.0.values[a], &self.funcs.1.values[b]);
            assert_eq!(x.name, y.name);
            assert_eq!(self.modules.0.types.get(x.ty), self.modules.1.types.get(y.ty));
            self.values.insert(a, b);
        }
    }

    fn region(&mut self, a: Region, b: Region) {
        let (x, y) = (&self.funcs.0.regions[a], &self.funcs.1.regions[b]);
        self.define(&x.args, &y.args);
        assert_eq!(x.insts.len(), y.insts.len());
        for (&i, &j) in x.insts.iter().zip(&y.insts) {
            let (p, q) = (&self.funcs.0.insts[i], &self.funcs.1.insts[j]);
            assert_eq!(p.op, q.op);
            let operands: Vec<Value> = p.operands.iter().map(|v| self.values[v]).collect();
            assert_eq!(operands, q.operands.to_vec());
            self.define(&p.results, &q.results);
            assert_eq!(p.regions.len(), q.regions.len());
            for (&r, &s) in p.regions.iter().zip(&q.regions) {
                self.region(r, s);
            }
        }
    }
}

fn assert_same(a: &Module, b: &Module) {
    assert!(a.types.structs().map(|s| s.1).eq(b.types.structs().map(|s| s.1)));
    assert!(a.diff.iter().eq(b.diff.iter()));
    assert_eq!(a.globals.len(), b.globals.len());
    for (x, y) in a.globals.values().zip(b.globals.values()) {
        assert_eq!((x.name, x.ty, &x.kind), (y.name, y.ty, &y.kind));
    }
    assert_eq!(a.funcs.len(), b.funcs.len());
    for (x, y) in a.funcs.values().zip(b.funcs.values()) {
        assert_eq!((x.name, &x.sig, x.kind, x.inline), (y.name, &y.sig, y.kind, y.inline));
        assert_eq!((&x.diff, &x.entry, x.origin), (&y.diff, &y.entry, y.origin));
        let mut compare = Compare { modules: (a, b), funcs: (x, y), values: Map::default() };
        compare.region(x.body, y.body);
    }
}

/// Shows the first line that differs, for whole modules are long.
fn assert_text(got: &str, want: &str) {
    for (n, (got, want)) in got.lines().zip(want.lines()).enumerate() {
        assert_eq!(got, want, "line {}", n + 1);
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn what_is_printed_reads_back_as_the_same_module() {
    let first = parse_module(ALL).unwrap();
    let text = print_module(&first);
    assert_text(&text, ALL);
    assert_same(&first, &parse_module(&text).unwrap());
}

#[test]
fn the_order_of_items_and_the_names_of_values_are_free() {
    let module = parse_module(
        "func @f(%a: $S) -> f32 {\n  ; a comment\n  %b: f32 = extract %a [0]\n  return %b\n}\nstruct $S { x: f32 }\n",
    );
    let expected = "struct $S { x: f32 }\n\nfunc @f(%a.0: $S) -> f32 {\n  %b.1: f32 = extract %a.0 [0]\n  return %b.1\n}\n";
    assert_text(&print_module(&module.unwrap()), expected);
}

#[test]
fn floats_keep_their_bits() {
    let values = [
        0.1,
        f64::from(0.1f32),
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::from_bits(0xfff8_0000_0000_1234),
        5e-324,
        f64::from(f32::MIN_POSITIVE),
        f64::MAX,
        1e16,
        65504.0,
        0.0999755859375,
    ];
    for ty in ["f16", "f32", "f64"] {
        for value in values {
            let text = format!("func @f() -> {ty} {{\n  %0: {ty} = const 0.0\n  return %0\n}}\n");
            let mut module = parse_module(&text).unwrap();
            let func = module.funcs.values_mut().next().unwrap();
            let inst = func.all_insts()[0];
            func.insts[inst].op = Op::Const(Const::float(value));
            let text = print_module(&module);
            let back = parse_module(&text).unwrap();
            let func = back.funcs.values().next().unwrap();
            assert_eq!(func.insts[func.all_insts()[0]].op, Op::Const(Const::float(value)), "{text}");
        }
    }
}

#[test]
fn a_float_literal_is_rounded_to_its_type() {
    let text = "func @f() -> f32 {\n  %0: f32 = const 0.1\n  return %0\n}\n";
    let module = parse_module(text).unwrap();
    let func = module.funcs.values().next().unwrap();
    assert_eq!(func.insts[func.all_insts()[0]].op, Op::Const(Const::float(f64::from(0.1f32))));
    assert_eq!(print_module(&module), text);
}

#[test]
fn linear_values_have_their_own_sign() {
    let text = "func @f(%x.0: f32, ~dx.1: f32) -> f32 {\n  ~2: f32 = mul %x.0, ~dx.1\n  return ~2\n}\n";
    let (module, linear) = parse_linear(text).unwrap();
    let (id, func) = module.funcs.iter().next().unwrap();
    let expected: EntitySet<Value> =
        [func.inputs()[1], func.insts[func.all_insts()[0]].results[0]].into_iter().collect();
    assert_eq!(linear[&id], expected);
    assert_eq!(print_linear(&module, &linear), text);
    assert_eq!(
        parse_module(text).unwrap_err().to_string(),
        "1:20: only the text of a linearized module has linear values"
    );
}

#[test]
fn odd_names_are_quoted() {
    let text = "struct $\"Pair<f32>\" { \"a b\": f32 }\n\nfunc @\"operator \\\"\\\\\"(%\"a b\".0: f32, out \"out\": f32) {\n  return %\"a b\".0\n}\n";
    assert_text(&print_module(&parse_module(text).unwrap()), text);
}

#[test]
fn errors_say_where_and_what() {
    let errors = [
        ("func @f() {\n  return %x\n}", "2:10: `%x` is not defined above"),
        ("func @f() {\n  frobnicate\n}", "2:3: there is no operation `frobnicate`"),
        ("func @f() {\n  %0: f33 = zero\n}", "2:7: `f33` is not a type"),
        ("func @f() {\n  %0: f32 = zero\n  %0: f32 = zero\n}", "3:3: `%0` is defined twice"),
        ("func @f() {", "1:12: a `}` is missing"),
        ("}", "1:1: nothing is open here"),
        ("hello", "1:1: expected `struct`, `sum`, `diff`, `global`, `prelude` or `func`"),
        ("func @f() { call @g() }", "1:18: there is no function `@g`"),
        ("func @f()\nfunc @f()", "2:6: there are two functions `@f`"),
        ("func @f(out %x: f32)", "1:13: expected a name"),
        ("func @f() {\n  %0: f32 = const one\n}", "2:19: `one` is not a literal"),
        ("func @f() { # }", "1:13: unexpected character `#`"),
        ("struct $S { x: f32 } zero", "1:22: expected the next item"),
    ];
    for (text, message) in errors {
        assert_eq!(parse_module(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn the_listing_of_the_documentation_is_what_is_printed() {
    let source = include_str!("../src/text/mod.rs");
    let listing = source.split("//! ```text\n").nth(1).and_then(|rest| rest.split("//! ```").next());
    let lines = listing.expect("there is a listing").lines().map(|l| l.trim_start_matches("//!"));
    let text: String = lines.map(|l| format!("{}\n", l.strip_prefix(' ').unwrap_or(l))).collect();
    let module = parse_module(&text).unwrap();
    cotangent_ir::verify(&module).unwrap();
    assert_text(&print_module(&module), &text);
}

#[test]
fn no_text_makes_the_reader_or_the_verifier_panic() {
    let words: Vec<&str> = ALL.split_inclusive(|c: char| " \n,()[]{}:".contains(c)).collect();
    let mut seed = 1u64;
    let mut roll = |sides: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % sides
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..1500 {
        let mut text = words.clone();
        for _ in 0..=roll(3) {
            let at = roll(text.len());
            match roll(3) {
                0 => drop(text.remove(at)),
                1 => text[at] = words[roll(words.len())],
                _ => text.insert(at, words[roll(words.len())]),
            }
        }
        match parse_module(&text.concat()) {
            Ok(module) => {
                read += 1;
                refused += usize::from(cotangent_ir::verify(&module).is_err());
                print_module(&module);
            }
            Err(error) => assert!(error.line > 0),
        }
    }
    assert!(read > 50 && refused > 50, "{read} texts were read and {refused} refused");
    let deep = format!("global @g: {}f32 param", "[".repeat(100_000));
    assert_eq!(parse_module(&deep).unwrap_err().message, "types nest too deeply");
    let (open, close) = ("if %c { ".repeat(100_000), "yield } else { yield } ".repeat(100_000));
    let deep = format!("func @f(%c: bool) {{ {open} {close} return }}");
    assert_eq!(parse_module(&deep).unwrap_err().message, "regions nest too deeply");
}
