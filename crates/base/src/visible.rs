//! Escapes control characters in untrusted text before it is printed. Input: file names and messages that quote programs.
//! Output: the same text with escapes such as `\u{1b}`.
//!
//! A terminal obeys control characters, and characters that change the direction of text can hide what a line says.

use std::borrow::Cow;

/// `text` with control characters as escapes, except line ends and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

/// As [`visible`], for text that must stay on one line, such as a file name.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match hidden(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Control characters, line separators, and the characters that change the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{visible, visible_line};

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(visible("a\u{1b}[31mb\nc\td\r"), "a\\u{1b}[31mb\nc\td\\u{d}");
        assert_eq!(visible_line("a\nb\u{9b}2J"), "a\\u{a}b\\u{9b}2J");
        assert_eq!(visible("x\u{202e}y\u{7f}"), "x\\u{202e}y\\u{7f}");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = "größe.slang: 日本 — `x`";
        assert!(matches!(visible(text), std::borrow::Cow::Borrowed(same) if same == text));
    }
}
