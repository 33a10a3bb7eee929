//! Splits text into tokens.

use super::ParseError;
use std::borrow::Cow;

/// What a token is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind<'a> {
    /// Letters, digits, `_` and `.`, perhaps after a minus sign: keywords, names, numbers.
    Word(&'a str),
    /// A name in quotes.
    Quoted(Cow<'a, str>),
    /// `%` or `~` with what follows.
    Value(ValueName<'a>),
    /// `@` with a name.
    At(Cow<'a, str>),
    /// `$` with a name.
    Dollar(Cow<'a, str>),
    /// Anything else.
    Punct(&'a str),
    /// The end of the text.
    End,
}

/// A value as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ValueName<'a> {
    /// Whether it was written with `~`.
    pub(super) linear: bool,
    /// The name before the number, if any.
    pub(super) name: Option<Cow<'a, str>>,
    /// All of it: the same value is always written the same way.
    pub(super) text: &'a str,
    /// Offset of its first byte.
    pub(super) start: usize,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Offset of the first byte.
    pub(super) start: usize,
}

/// The error at byte `start` of `text`.
pub(super) fn error(text: &str, start: usize, message: impl Into<String>) -> ParseError {
    let before = &text[..start];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1;
    ParseError { line, column, message: message.into() }
}

/// All tokens of a text, [`Kind::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.next()?;
        let end = kind == Kind::End;
        tokens.push(Token { kind, start });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments.
    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest().len() - self.rest().trim_start().len();
            self.at += blank;
            let comment = self.rest().starts_with(';') && (blank > 0 || self.at == 0);
            if !comment {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn next(&mut self) -> Result<Kind<'a>, ParseError> {
        let rest = self.rest();
        let mut chars = rest.chars();
        let Some(first) = chars.next() else {
            return Ok(Kind::End);
        };
        let second = chars.next();
        match first {
            '%' | '~' => self.value(first == '~').map(Kind::Value),
            '@' => self.name().map(Kind::At),
            '$' => self.name().map(Kind::Dollar),
            '"' => self.quoted().map(Kind::Quoted),
            '-' if second == Some('>') => Ok(self.punct(2)),
            '-' if second.is_some_and(|c| c.is_ascii_alphanumeric()) => Ok(Kind::Word(self.word())),
            c if is_word(c) => Ok(Kind::Word(self.word())),
            c if "(){}[]<>,:;=-".contains(c) => Ok(self.punct(1)),
            c => Err(error(self.text, self.at, format!("unexpected character `{c}`"))),
        }
    }

    fn punct(&mut self, len: usize) -> Kind<'a> {
        let text = &self.rest()[..len];
        self.at += len;
        Kind::Punct(text)
    }

    /// A word; in a number an exponent may have a sign.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let unsigned = rest.strip_prefix('-').unwrap_or(rest);
        let number = unsigned.starts_with(|c: char| c.is_ascii_digit());
        let mut previous = ' ';
        let outside = |c: char| {
            let sign = (c == '-' || c == '+') && number && previous == 'e';
            previous = c;
            !is_word(c) && !sign
        };
        let len = rest.len() - unsigned.len() + unsigned.find(outside).unwrap_or(unsigned.len());
        self.at += len;
        &rest[..len]
    }

    /// A sigil and the name after it.
    fn name(&mut self) -> Result<Cow<'a, str>, ParseError> {
        self.at += 1;
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let len = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        if len == 0 {
            return Err(error(self.text, self.at, "a name should follow"));
        }
        let name = &self.rest()[..len];
        self.at += len;
        Ok(Cow::Borrowed(name))
    }

    fn quoted(&mut self) -> Result<Cow<'a, str>, ParseError> {
        let start = self.at;
        self.at += 1;
        let mut name = String::new();
        let mut escaped = false;
        for c in self.rest().chars() {
            self.at += c.len_utf8();
            match c {
                '"' if !escaped => return Ok(Cow::Owned(name)),
                '\\' if !escaped => escaped = true,
                c => {
                    name.push(if escaped && c == 'n' { '\n' } else { c });
                    escaped = false;
                }
            }
        }
        Err(error(self.text, start, "the quotation mark is not closed"))
    }

    /// `%7`, `%x.7` or `%x`.
    fn value(&mut self, linear: bool) -> Result<ValueName<'a>, ParseError> {
        let start = self.at + 1;
        let quoted = self.text[start..].starts_with('"');
        let name = self.name()?;
        if quoted {
            let len = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
            self.at += len;
            return Ok(ValueName {
                linear,
                name: Some(name),
                text: &self.text[start..self.at],
                start: start - 1,
            });
        }
        let text = &self.text[start..self.at];
        let is_number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
        let name = match text.rsplit_once('.') {
            _ if is_number(text) => None,
            Some((name, number)) if is_number(number) && !name.is_empty() => Some(name),
            _ => Some(text),
        };
        Ok(ValueName { linear, name: name.map(Cow::Borrowed), text, start: start - 1 })
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}
