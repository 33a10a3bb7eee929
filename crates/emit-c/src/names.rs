//! Names that C++ accepts, close to those of the source.

use cotangent_base::Set;

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

/// The names of one scope.
#[derive(Clone, Default)]
pub(crate) struct Names {
    taken: Set<String>,
}

impl Names {
    /// A name like `wish` that nobody has yet.
    pub fn fresh(&mut self, wish: &str) -> String {
        let plain = plain(wish);
        let mut name = plain.clone();
        let mut number = 1;
        while RESERVED.contains(&name.as_str()) || self.taken.contains(&name) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        self.taken.insert(name.clone());
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
