//! No input makes the parser panic, overflow the stack or run without end: truncated and mutated programs,
//! and inputs made to hurt.

use crate::support;
use cotangent_syntax::ast::dump;
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 4] = [
    include_str!("../programs/splatting.slang"),
    include_str!("../programs/materials.slang"),
    include_str!("../programs/numerics.slang"),
    include_str!("../programs/containers.slang"),
];

/// A small generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

#[test]
fn every_prefix_of_a_program_parses() {
    for program in PROGRAMS {
        for (end, _) in program.char_indices() {
            support::parse(&program[..end]);
        }
    }
}

#[test]
fn mutated_programs_parse() {
    const PIECES: [&str; 24] = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ">>",
        ";",
        ",",
        "::",
        "=>",
        "\"",
        "'",
        "/*",
        "#if 1\n",
        "\n#define x(\n",
        "struct ",
        "if ",
        "case ",
        "operator",
        "0x",
        "\\\n",
    ];
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..4000 {
        let mut text = PROGRAMS[round % PROGRAMS.len()].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(text.len());
            match random.below(4) {
                0 => text[at] = random.below(128) as u8,
                1 => drop(text.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
                2 => drop(text.drain(at..(at + random.below(40)).min(text.len()))),
                _ => {
                    let piece = text[at..(at + random.below(80)).min(text.len())].to_vec();
                    let to = random.below(text.len());
                    drop(text.splice(to..to, piece));
                }
            }
        }
        support::parse(&String::from_utf8_lossy(&text));
    }
}

/// Parses a text that is nested or long beyond reason, in time.
fn parses_in_time(name: &str, text: &str) {
    let start = Instant::now();
    let parsed = support::parse(text);
    assert!(start.elapsed() < Duration::from_secs(10), "{name} took {:?}", start.elapsed());
    // The tree is not too deep to be walked, either.
    dump::file(&parsed.file);
    assert!(parsed.diags.len() < 10, "{name} gives {} diagnostics", parsed.diags.len());
}

#[test]
fn input_made_to_hurt_ends_in_time() {
    let n = 100_000;
    let body = |inner: String| format!("void f() {{ {inner} }}");
    for (open, close) in [
        ("(", ")"),
        ("{", "}"),
        ("f(", ")"),
        ("a[", "]"),
        ("-", ""),
        ("(int)", ""),
        ("a ? ", " : b"),
        ("a ? b : ", ""),
    ] {
        let text = body(format!("x = {}1{};", open.repeat(n), close.repeat(n)));
        parses_in_time(open, &text);
        parses_in_time(open, &body(format!("x = {}", open.repeat(n))));
    }
    for link in ["+ a ", ".a", "(1)", "[1]", "++", ", a", "= a ", "is T ", "as T "] {
        parses_in_time(link, &body(format!("x = a {};", link.repeat(n))));
    }
    for nest in [
        "{",
        "if (1) ",
        "for (;;) ",
        "do ",
        "if (1) ; else ",
        "a: ",
        "defer ",
        "x = () => {",
        "switch (1) { case 1: ",
    ] {
        parses_in_time(nest, &body(nest.repeat(n)));
    }
    for nest in [
        "struct A { ",
        "namespace a { ",
        "A<",
        "[a(",
        "expand each ",
        "functype() -> ",
        "A.B.",
        "float[1]",
        "__generic<A> ",
    ] {
        parses_in_time(nest, &nest.repeat(n));
        parses_in_time(nest, &body(nest.repeat(n)));
    }
    parses_in_time("pointers", &body(format!("int{} p;", "*".repeat(n))));
    parses_in_time("arrays", &body(format!("int p{};", "[1]".repeat(n))));
    parses_in_time("comparisons", &body(format!("x = {};", "a < ".repeat(n))));
    parses_in_time("one long list", &body(format!("x = {{{}}};", "a < b, ".repeat(n))));
}

#[test]
fn a_file_full_of_mistakes_is_given_up() {
    let mistakes = support::parse(&"void f() { x = ; }\n".repeat(1000));
    let last = mistakes.diags.iter().last().expect("a diagnostic");
    assert_eq!((mistakes.diags.len(), last.code.name), (101, "E0215"));
    let garbage: String =
        (0..100_000u32).filter_map(|i| char::from_u32(i.wrapping_mul(2_654_435_761) >> 16)).collect();
    assert!(support::parse(&garbage).diags.len() <= 130);
}

#[test]
fn the_stack_of_a_small_thread_is_enough_for_the_deepest_tree() {
    // Every level uses every precedence, so that as many functions as possible are active.
    let level = "a || b && c | d ^ e & f == g < h << i + j * -(";
    let text = format!("void f() {{ {} x = {}1; }}", "{ if (1) ".repeat(20), level.repeat(400));
    let work = move || support::parse(&text).diags.iter().map(|d| d.code.name).collect::<Vec<_>>();
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread");
    assert_eq!(thread.join().expect("no overflow"), ["E0208"]);
}
