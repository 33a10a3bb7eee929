//! The lexer: splits text into raw tokens. It does not handle macros and directives.
//!
//! It never fails: invalid text becomes a [`TokenKind::Bad`], which the preprocessor reports unless a conditional skips it. A
//! backslash before a line break joins two lines. Between tokens it is white space; inside a name, number or string it is
//! removed.

use crate::token::{Flags, LexError, Punct, Token, TokenKind};
use cotangent_base::{FileId, Span, Symbol};

/// Longest delimiter of a raw string, as in C++.
const MAX_DELIMITER: usize = 16;

/// The tokens of a text, ending with [`TokenKind::Eof`].
pub fn lex(file: FileId, text: &str) -> Vec<Token> {
    let mut lexer = Lexer { file, text, bytes: text.as_bytes(), pos: 0 };
    // A token every five bytes is what programs have.
    let mut tokens = Vec::with_capacity(text.len() / 5 + 1);
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.kind == TokenKind::Eof {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
}

fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Whether a number with a dot after it is swizzled, as in `1.xxx`: no suffix or exponent has these letters.
fn is_swizzle(behind_dot: &[u8]) -> bool {
    let end = behind_dot.iter().position(|b| !is_name(*b)).unwrap_or(behind_dot.len());
    (1..=4).contains(&end) && behind_dot[..end].iter().all(|b| b"xyzwrgba".contains(b))
}

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        let (mut flags, unterminated) = self.skip_blanks();
        let start = self.pos;
        if let Some(comment) = unterminated {
            self.pos = self.bytes.len();
            let span = Span::new(self.file, comment as u32, comment as u32 + 2);
            return Token::new(TokenKind::Bad(LexError::UnterminatedComment), span).flagged(flags);
        }
        let kind = self.kind();
        let span = Span::new(self.file, start as u32, self.pos as u32);
        if kind == TokenKind::Eof {
            flags = flags.with(Flags::LINE_START);
        }
        match kind {
            TokenKind::Ident(name) => Token::ident(name, span).flagged(flags),
            _ => Token::new(kind, span).flagged(flags),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// The length of a line splice at `pos`, or 0.
    fn splice_at(&self, pos: usize) -> usize {
        match self.bytes.get(pos..) {
            Some([b'\\', b'\r', b'\n', ..]) => 3,
            Some([b'\\', b'\n' | b'\r', ..]) => 2,
            _ => 0,
        }
    }

    /// Whether a line ends here: at `\n`, or at a `\r` with none after it.
    fn at_line_break(&self) -> bool {
        match self.bytes.get(self.pos) {
            Some(b'\n') => true,
            Some(b'\r') => self.bytes.get(self.pos + 1) != Some(&b'\n'),
            _ => false,
        }
    }

    /// Skips white space and comments. The second part is where a comment without an end begins.
    fn skip_blanks(&mut self) -> (Flags, Option<usize>) {
        let mut flags = Flags::NONE;
        if self.pos == 0 {
            flags = Flags::LINE_START;
            if self.text.starts_with('\u{feff}') {
                self.pos = 3;
            }
        }
        loop {
            match self.peek(0) {
                b'\n' | b'\r' => {
                    if self.at_line_break() {
                        flags = flags.with(Flags::LINE_START);
                    }
                    self.pos += 1;
                }
                b' ' | b'\t' | 0x0b | 0x0c => self.pos += 1,
                b'\\' if self.splice_at(self.pos) > 0 => self.pos += self.splice_at(self.pos),
                b'/' if self.peek(1) == b'/' => self.skip_line_comment(),
                b'/' if self.peek(1) == b'*' => match self.text[self.pos + 2..].find("*/") {
                    Some(length) => self.pos += length + 4,
                    None => return (flags, Some(self.pos)),
                },
                _ => return (flags, None),
            }
            flags = flags.with(Flags::SPACE);
        }
    }

    fn skip_line_comment(&mut self) {
        while self.pos < self.bytes.len() && !self.at_line_break() {
            self.pos += self.splice_at(self.pos).max(1);
        }
    }

    fn kind(&mut self) -> TokenKind {
        let Some(&first) = self.bytes.get(self.pos) else {
            return TokenKind::Eof;
        };
        match first {
            b'R' if self.peek(1) == b'"' => self.raw_string(),
            _ if is_name_start(first) => self.name(),
            128.. if self.text[self.pos..].starts_with(char::is_alphabetic) => self.name(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'"' => self.quoted(b'"', TokenKind::String),
            b'\'' => self.quoted(b'\'', TokenKind::Char),
            _ => self.punct(),
        }
    }

    fn punct(&mut self) -> TokenKind {
        if let Some(punct) = Punct::longest(&self.bytes[self.pos..]) {
            self.pos += punct.text().len();
            return TokenKind::Punct(punct);
        }
        let stray = self.text[self.pos..].chars().next().unwrap_or('\0');
        self.pos += stray.len_utf8();
        TokenKind::Bad(LexError::StrayCharacter(stray))
    }

    /// Moves over the bytes that `more` accepts, given the byte before each, and over splices between them.
    fn scan(&mut self, more: impl Fn(u8, u8) -> bool) {
        let mut previous = 0;
        loop {
            while self.pos < self.bytes.len() && more(previous, self.bytes[self.pos]) {
                previous = self.bytes[self.pos];
                self.pos += 1;
            }
            let splice = self.splice_at(self.pos);
            let next = self.bytes.get(self.pos + splice).copied().unwrap_or(0);
            if splice == 0 || !more(previous, next) {
                return;
            }
            self.pos += splice;
        }
    }

    /// The symbol of the text from `start` to here without line splices.
    fn intern(&self, start: usize) -> Symbol {
        let text = &self.text[start..self.pos];
        if !text.contains('\\') {
            return Symbol::new(text);
        }
        Symbol::new(&text.replace("\\\r\n", "").replace("\\\n", "").replace("\\\r", ""))
    }

    fn name(&mut self) -> TokenKind {
        let start = self.pos;
        self.scan(|_, b| is_name(b) || !b.is_ascii());
        // Of the other characters only letters and digits are part of a name.
        let strange = |c: char| !c.is_ascii() && !c.is_alphanumeric();
        if let Some(end) = self.text[start..self.pos].find(strange) {
            self.pos = start + end;
        }
        TokenKind::Ident(self.intern(start))
    }

    /// A number as the preprocessor sees it: digits, letters and a dot, and a sign after an exponent. At
    /// most one dot, so that `1.0.xxx` selects components of a number.
    fn number(&mut self) -> TokenKind {
        let start = self.pos;
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        let exponent = if hex { b'p' } else { b'e' };
        let more = |previous: u8, b: u8| {
            is_name(b) || (matches!(b, b'+' | b'-') && previous.to_ascii_lowercase() == exponent)
        };
        self.scan(more);
        if self.peek(0) == b'.' && !is_swizzle(&self.bytes[self.pos + 1..]) {
            self.pos += 1;
            self.scan(more);
        }
        // `1.0#INF` and its kin, as old shaders spell infinity.
        let rest = &self.bytes[self.pos..];
        let special = ["#INF", "#IND", "#QNAN"].into_iter().find(|s| rest.starts_with(s.as_bytes()));
        if let Some(special) = special {
            self.pos += special.len();
            self.scan(|_, b| is_name(b));
        }
        TokenKind::Number(self.intern(start))
    }

    /// A string or character literal: up to the quote, never over the end of the line.
    fn quoted(&mut self, quote: u8, kind: fn(Symbol) -> TokenKind) -> TokenKind {
        let start = self.pos;
        self.pos += 1;
        loop {
            match self.bytes.get(self.pos) {
                None => return TokenKind::Bad(LexError::UnterminatedLiteral),
                Some(_) if self.at_line_break() => return TokenKind::Bad(LexError::UnterminatedLiteral),
                Some(b'\\') => {
                    let escaped = self.text[self.pos + 1..].chars().next().map_or(0, char::len_utf8);
                    self.pos += self.splice_at(self.pos).max(1 + escaped);
                }
                Some(&b) => {
                    self.pos += 1;
                    if b == quote {
                        return kind(self.intern(start));
                    }
                }
            }
        }
    }

    /// `R"delim(text)delim"`, over any number of lines. Without an end it takes the rest of the file, so that a file full of
    /// them is still read once.
    fn raw_string(&mut self) -> TokenKind {
        let rest = &self.text[self.pos..];
        let is_delimiter = |c: char| !c.is_whitespace() && !matches!(c, '(' | ')' | '\\' | '"');
        let delimiter = rest[2..].find(|c| !is_delimiter(c)).map_or("", |end| &rest[2..2 + end]);
        let body = 2 + delimiter.len();
        if delimiter.len() > MAX_DELIMITER || !rest[body..].starts_with('(') {
            self.pos += body;
            return TokenKind::Bad(LexError::UnterminatedLiteral);
        }
        let close = format!("){delimiter}\"");
        match rest[body..].find(&close) {
            Some(at) => {
                let end = body + at + close.len();
                self.pos += end;
                TokenKind::String(Symbol::new(&rest[..end]))
            }
            None => {
                self.pos = self.bytes.len();
                TokenKind::Bad(LexError::UnterminatedLiteral)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_base::Entity;

    fn spellings(text: &str) -> Vec<&'static str> {
        let tokens = lex(FileId::new(0), text);
        tokens.iter().filter(|t| t.kind != TokenKind::Eof).map(Token::spelling).collect()
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_are_nothing() {
        assert_eq!(spellings("\u{feff}a\r\nb\r\n"), ["a", "b"]);
        assert!(lex(FileId::new(0), "a\r\nb")[1].at_line_start());
    }

    #[test]
    fn a_carriage_return_alone_ends_a_line_too() {
        let tokens = lex(FileId::new(0), "a // b\rc \\\rd");
        assert_eq!(spellings("a // b\rc \\\rd"), ["a", "c", "d"]);
        assert_eq!(tokens.iter().map(Token::at_line_start).collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(lex(FileId::new(0), "\"a\rb")[0].kind, TokenKind::Bad(LexError::UnterminatedLiteral));
    }

    #[test]
    fn comments_are_white_space() {
        assert_eq!(spellings("a/*x*/b // c\nd"), ["a", "b", "d"]);
        assert_eq!(spellings("a // b \\\n still b\nc"), ["a", "c"]);
    }

    #[test]
    fn a_backslash_joins_lines_even_inside_a_token() {
        assert_eq!(spellings("ab\\\ncd 1\\\r\n2 \"x\\\ny\""), ["abcd", "12", "\"xy\""]);
        let tokens = lex(FileId::new(0), "a \\\n b\nc");
        assert_eq!(tokens.iter().map(Token::at_line_start).collect::<Vec<_>>(), [true, false, true, true]);
    }

    #[test]
    fn numbers_take_exponents_with_their_signs_and_one_dot() {
        assert_eq!(spellings("1e-3f+2"), ["1e-3f", "+", "2"]);
        assert_eq!(spellings("0x1e+2"), ["0x1e", "+", "2"]);
        assert_eq!(spellings("0x1.8p-3 .5 1. 1_000"), ["0x1.8p-3", ".5", "1.", "1_000"]);
        assert_eq!(spellings("1.0f.xxx 1.0#INF 1.#INFh"), ["1.0f", ".", "xxx", "1.0#INF", "1.#INFh"]);
    }

    #[test]
    fn letters_of_all_scripts_make_names() {
        assert_eq!(spellings("π2 größe a€b"), ["π2", "größe", "a", "", "b"]);
    }

    #[test]
    fn components_of_a_number_follow_its_dot() {
        assert_eq!(
            spellings("1.xx 2.rgba 1.f 1.e3 1.xxxxx"),
            ["1", ".", "xx", "2", ".", "rgba", "1.f", "1.e3", "1.xxxxx"]
        );
    }

    #[test]
    fn strings_keep_their_escapes_and_raw_strings_their_backslashes() {
        assert_eq!(spellings(r#""a\"b" '\'' R"x(a)" \n)x" "#), [r#""a\"b""#, r"'\''", r#"R"x(a)" \n)x""#]);
    }

    #[test]
    fn what_is_no_token_is_bad_and_the_rest_goes_on() {
        let kinds: Vec<_> = lex(FileId::new(0), "€ \"open\nx `").into_iter().map(|t| t.kind).collect();
        assert_eq!(kinds[0], TokenKind::Bad(LexError::StrayCharacter('€')));
        assert_eq!(kinds[1], TokenKind::Bad(LexError::UnterminatedLiteral));
        assert_eq!(kinds[2], TokenKind::Ident("x".into()));
        assert_eq!(kinds[3], TokenKind::Bad(LexError::StrayCharacter('`')));
        let open = lex(FileId::new(0), "a /* b");
        assert_eq!(open[1].kind, TokenKind::Bad(LexError::UnterminatedComment));
    }
}
