//! Emits string literals.

/// A string literal.
pub fn c_string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b'\n' => out += "\\n",
            // Trigraphs begin with two of these.
            b'?' => out += "\\?",
            b' '..=b'~' => out.push(char::from(byte)),
            other => out += &format!("\\{other:03o}"),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_character_is_bytes() {
        assert_eq!(c_string("a\\b \"c\"??/"), r#""a\\b \"c\"\?\?/""#);
        // A digit after an escape is not part of it.
        assert_eq!(c_string("\u{e9}1\n\t"), r#""\303\2511\n\011""#);
    }
}
