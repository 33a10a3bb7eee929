//! Makes a program that fails smaller.

use super::mutate::tokens;

/// How often the program is tried.
const TRIES: u32 = 600;

/// A part of `text` that still fails, found by leaving out ever smaller runs of lines, then of tokens.
pub fn shrink(text: &str, fails: &dyn Fn(&str) -> bool) -> String {
    let mut tries = TRIES;
    let lines = text.split_inclusive('\n').map(str::to_string).collect();
    let fewer = without(lines, fails, &mut tries).concat();
    let words = tokens(&fewer).into_iter().map(str::to_string).collect();
    without(words, fails, &mut tries).concat()
}

fn without(mut parts: Vec<String>, fails: &dyn Fn(&str) -> bool, tries: &mut u32) -> Vec<String> {
    let mut size = parts.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < parts.len() && *tries > 0 {
            *tries -= 1;
            let end = (at + size).min(parts.len());
            let rest: String = parts[..at].iter().chain(&parts[end..]).map(String::as_str).collect();
            if fails(&rest) {
                parts.drain(at..end);
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let text = "int a;\nint b;\nvoid f() { bad(1); }\nint c;\n";
        assert_eq!(shrink(text, &|t| t.contains("bad")), "bad");
    }
}
