//! Names that C++ accepts, close to those of the source.

use cotangent_base::{Map, Set};
use std::sync::Arc;

/// Words that a name must not be.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "concept",
    "const",
    "constexpr",
    "continue",
    "ct",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "std",
    "struct",
    "switch",
    "template",
    "this",
    "thread",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "printf",
    "memcpy",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "params",
    "groups",
    "Params",
    "Thread",
    "Shared",
    "add_to",
    "NAN",
    "INFINITY",
    "EOF",
    "NULL",
    "stderr",
    "errno",
];

/// The names of one scope, and those around it.
#[derive(Clone, Default)]
pub(crate) struct Names {
    outer: Arc<Set<String>>,
    taken: Set<String>,
    /// Where to go on looking for a name like one.
    next: Map<String, u32>,
}

impl Names {
    /// A scope in which those names are taken.
    pub fn inside(outer: Arc<Set<String>>) -> Names {
        Names { outer, ..Names::default() }
    }

    /// A name like `wish` that nobody has yet.
    pub fn fresh(&mut self, wish: &str) -> String {
        let plain = plain(wish);
        let mut number = self.next.get(&plain).copied().unwrap_or(0);
        let name = loop {
            let name = if number == 0 { plain.clone() } else { format!("{plain}_{number}") };
            number += 1;
            if !RESERVED.contains(&name.as_str())
                && !self.outer.contains(&name)
                && self.taken.insert(name.clone())
            {
                break name;
            }
        };
        self.next.insert(plain, number);
        name
    }
}

/// Letters, digits and single underscores, beginning with a letter.
pub(crate) fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c == '_' && out.ends_with('_') {
            continue;
        }
        out.push(c);
    }
    let out = out.trim_matches('_').to_string();
    if out.starts_with(|c: char| c.is_ascii_alphabetic()) { out } else { format!("v{out}") }
}
