//! Chooses names that are valid in C++ and close to those of the source.

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
    "lanes",
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

/// Names that headers of C and CUDA declare outside all namespaces, which a namespace must not have.
const GLOBAL: &str = "abs acos acosh asin asinh atan atan2 atanh atof atoi atol bsearch calloc cbrt ceil clock copysign cos cosh \
    cospi difftime div drand48 drem erf erfc exit exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod free frexp gamma getenv \
    hypot ilogb index j0 j1 jn labs ldexp lgamma link llabs llrint llround log log10 log1p log2 logb lrint lround main malloc max \
    memmove memset min mktime modf nan nearbyint nextafter norm normcdf open pause pipe pow puts qsort raise rand random read realloc \
    remainder remove remquo rename rint round rsqrt scalbln scalbn scanf select signal significand sin sincos sinh sinpi sleep \
    sqrt srand stat stdin stdout strcmp strcpy strlen surface system tan tanh texture tgamma time tmpfile trunc uint ulong ushort wait \
    write y0 y1 yn dim3 half clock64";

/// Vectors of CUDA are named like these, with the number of lanes after.
const LANES: [&str; 12] = [
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
    "float",
    "double",
];

/// The namespace of a program that is called so.
pub(crate) fn namespace(name: &str) -> String {
    let name = plain(name);
    let (stem, lanes) = name.split_at(name.len() - 1);
    let vector = "1234".contains(lanes) && LANES.contains(&stem);
    let taken = RESERVED.contains(&name.as_str()) || GLOBAL.split_whitespace().any(|global| global == name);
    if taken || vector { format!("{name}_program") } else { name }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_no_word_of_the_language_nor_a_function() {
        let found = ["default", "main", "sin", "float4", "my-shader", "2d"].map(namespace);
        assert_eq!(
            found,
            ["default_program", "main_program", "sin_program", "float4_program", "my_shader", "v2d"]
        );
    }
}
