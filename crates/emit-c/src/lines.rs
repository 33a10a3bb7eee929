//! Emits `#line` directives.
//!
//! The parts of a function are not emitted in order: the body of a loop comes before its head. So every line first gets its
//! own directive. Once the function is complete, directives that only repeat the compiler's own line count are removed:
//!
//! ```text
//! #line 7 "f.slang"                       #line 7 "f.slang"
//!     const float t = x * x;                  const float t = x * x;
//! #line 8 "f.slang"                ->         const float u = t + 1.0f;
//!     const float u = t + 1.0f;           #line 8 "f.slang"
//! #line 8 "f.slang"                           return u * u;
//!     return u * u;
//! ```

use crate::literal::c_string;

/// What directives begin with.
const START: &str = "#line ";

/// The directive for a place.
pub(crate) fn directive(file: &str, line: u32) -> String {
    format!("{START}{line} {}\n", c_string(file))
}

/// The text without the directives that say nothing new.
pub(crate) fn without_idle(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // What a compiler takes the next line for.
    let mut counted: Option<(u32, &str)> = None;
    for line in text.split_inclusive('\n') {
        let said = line.strip_prefix(START).and_then(|rest| rest.split_once(' '));
        let Some(place) = said.and_then(|(number, file)| Some((number.parse().ok()?, file))) else {
            counted = counted.map(|(number, file)| (number + 1, file));
            out += line;
            continue;
        };
        if counted.replace(place) != Some(place) {
            out += line;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_stay_where_a_compiler_would_count_otherwise() {
        let (a, b) = (|line| directive("a b", line), |line| directive("b", line));
        let given = [&a(7), "x\n", &a(8), "y\n", &a(8), "z\n", &b(9), "w\n", "}\n"].concat();
        let expected = [&a(7), "x\n", "y\n", &a(8), "z\n", &b(9), "w\n", "}\n"].concat();
        assert_eq!(without_idle(&given), expected);
    }
}
