//! Chooses names that mean nothing else in Slang and are close to those of the source.

use crate::expr::function;
use cotangent_base::Set;
use cotangent_ir::Math;

/// Keywords and names of types.
const KEYWORDS: &str = "and Array as associatedtype bool break case catch cbuffer centroid class column_major const constexpr continue \
    default defer discard do double each else enum expand export extension extern false float for func functype groupshared half if \
    implementing import in inline inout int int8_t int16_t int64_t interface internal is let linear main matrix module namespace \
    nointerpolation none noperspective nullptr operator optional or out override param precise private property protected public \
    ref register return row_major sample sizeof snorm static string String struct super switch tbuffer this This throw throws true \
    try typealias typedef typename uint uint8_t uint16_t uint64_t uniform unorm using var vector void volatile where while yield";

/// The functions that printed code calls beside those of [`function`]. No variable may have one of these names.
const FUNCTIONS: &str = "abort asfloat bit_cast dot mul select transpose";

/// The functions of the library that printed code calls.
pub fn functions() -> impl Iterator<Item = &'static str> {
    Math::ALL.iter().filter_map(|math| function(*math)).chain(FUNCTIONS.split_whitespace())
}

/// The names of one scope, and those around it.
#[derive(Clone, Default)]
pub(crate) struct Names {
    taken: Set<String>,
}

impl Names {
    /// A name like `wish` that nobody has yet.
    pub fn fresh(&mut self, wish: &str) -> String {
        self.choose(wish, |name| is_keyword(name) || is_function(name))
    }

    /// The same for a field, which may be called like a function.
    pub fn field(&mut self, wish: &str) -> String {
        self.choose(wish, is_keyword)
    }

    fn choose(&mut self, wish: &str, is_reserved: impl Fn(&str) -> bool) -> String {
        let plain = plain(wish);
        let with = |number: u32| if number == 0 { plain.clone() } else { format!("{plain}_{number}") };
        let is_free = |name: &String| !is_reserved(name) && !self.taken.contains(name);
        let name = (0..).map(with).find(is_free).expect("there are more numbers than names");
        self.taken.insert(name.clone());
        name
    }
}

fn is_function(name: &str) -> bool {
    functions().any(|function| function == name)
}

fn is_keyword(name: &str) -> bool {
    // `float3`, `int2x2` and their kin.
    let is_shape = ["bool", "int", "uint", "half", "float", "double"].iter().any(|s| {
        name.strip_prefix(s).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == 'x'))
    });
    is_shape || KEYWORDS.split_whitespace().any(|word| word == name)
}

/// Letters, digits and single underscores, beginning with a letter.
pub(crate) fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c == '_' && (out.is_empty() || out.ends_with('_')) {
            continue;
        }
        out.push(c);
    }
    let out = out.trim_end_matches('_').to_string();
    if out.starts_with(|c: char| c.is_ascii_alphabetic()) { out } else { format!("v{out}") }
}
