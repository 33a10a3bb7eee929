//! Formats of `printf`: their conversions, and how each prints a number.
//!
//! A format is text with conversions, as in C: `%[flags][width][.precision][length]letter`. The flags are `-`, `+`, space,
//! `0` and `#`. Lengths (`h`, `l`, `ll`, `z`) are accepted and ignored, since the type of the value is known. The letters are
//! `d i` for integers, `u o x X` for their bits, `c` for a character, `f F e E g G` for floats, `s` for text. `%%` is a
//! percent sign. `%v3f` shows the components of a vector ([`spread`]). A width or precision from an argument (`*`) is not supported.
//!
//! The checker compares conversions with arguments ([`Conversion::takes`]); the interpreter prints values
//! ([`Conversion::show`]).

use std::fmt::Write;

/// A part of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// The next argument.
    Value(Conversion),
}

/// How to show a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

/// What a conversion takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// An integer or truth value.
    Integer,
    /// A floating-point number.
    Float,
    /// Text.
    Text,
}

/// A value to show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shown<'a> {
    /// An integer, and how many bits its type has.
    Integer(i64, u32),
    /// A float.
    Float(f64),
    /// Text.
    Text(&'a str),
}

/// Widths and precisions above this are mistakes, not wishes.
const MOST: usize = 4096;

/// Takes a format apart, or says what is wrong with it.
pub fn parse(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            text.push('%');
            rest = behind;
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let (conversion, behind) = conversion(rest)?;
        pieces.push(Piece::Value(conversion));
        rest = behind;
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The format with some of its conversions replaced by text, in order; nothing if none is or if it is no format.
pub fn replace(format: &str, texts: &[Option<String>]) -> Option<String> {
    if texts.iter().all(Option::is_none) {
        return None;
    }
    let mut texts = texts.iter();
    let (mut out, mut rest) = (String::new(), format);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        if let Some(behind) = rest[at + 1..].strip_prefix('%') {
            out.push_str("%%");
            rest = behind;
            continue;
        }
        let (_, behind) = conversion(&rest[at + 1..]).ok()?;
        match texts.next()? {
            Some(text) => out.push_str(&text.replace('%', "%%")),
            None => out.push_str(&rest[at..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// For each conversion of a format, how many components it shows if it shows a vector: three for `%v3f`.
pub fn vectors(format: &str) -> Vec<Option<u8>> {
    let mut found = Vec::new();
    each_conversion(format, &mut |_, lanes, _| found.push(lanes));
    found
}

/// The format with the conversions of vectors written out: `%f, %f, %f` for `%v3f`.
pub fn spread(format: &str) -> String {
    let mut out = String::new();
    let behind = each_conversion(format, &mut |before, lanes, conversion| {
        out.push_str(before);
        let one = format!("%{conversion}");
        out.push_str(&vec![one; lanes.map_or(1, usize::from)].join(", "));
    });
    out + behind
}

/// Calls `visit` for each conversion: the text before it, how many components it shows if it shows a vector, and the conversion of
/// one of them, without the percent sign. Gives the text after the last.
fn each_conversion<'f>(format: &'f str, visit: &mut dyn FnMut(&str, Option<u8>, &str)) -> &'f str {
    let (mut start, mut at) = (0, 0);
    while let Some(percent) = format[at..].find('%') {
        let begin = at + percent + 1;
        if format[begin..].starts_with('%') {
            at = begin + 1;
            continue;
        }
        let is_vector = |c: char| c == 'v';
        let flags = format[begin..].find(|c: char| !"-+ 0#.123456789".contains(c)).unwrap_or(0);
        let (head, tail) = format[begin..].split_at(flags);
        let lanes = tail.strip_prefix(is_vector).and_then(|t| t.chars().next()?.to_digit(10));
        let lanes = lanes.filter(|n| (2..=4).contains(n)).map(|n| n as u8);
        let tail = if lanes.is_some() { &tail[2..] } else { tail };
        let length = tail
            .find(|c: char| c.is_ascii_alphabetic() && !"hlzjtL".contains(c))
            .map_or(tail.len(), |n| n + 1);
        visit(&format[start..begin - 1], lanes, &format!("{head}{}", &tail[..length]));
        at = format.len() - tail.len() + length;
        start = at;
    }
    &format[start..]
}

/// What follows a percent sign, and the rest of the text.
fn conversion(text: &str) -> Result<(Conversion, &str), String> {
    let mut found = Conversion::default();
    let mut rest = text;
    while let Some(flag) = rest.chars().next().filter(|c| "-+ 0#".contains(*c)) {
        match flag {
            '-' => found.left = true,
            '+' => found.plus = true,
            ' ' => found.space = true,
            '0' => found.zero = true,
            _ => found.alternate = true,
        }
        rest = &rest[1..];
    }
    (found.width, rest) = number(rest)?;
    if let Some(behind) = rest.strip_prefix('.') {
        let (precision, behind) = number(behind)?;
        found.precision = Some(precision);
        rest = behind;
    }
    rest = rest.trim_start_matches(['h', 'l', 'z', 'j', 't', 'L']);
    match rest.chars().next() {
        Some(letter) if "diuoxXcfFeEgGs".contains(letter) => {
            found.letter = letter;
            Ok((found, &rest[1..]))
        }
        Some('*') => Err("a width or precision from an argument (`*`) is not supported".into()),
        Some(other) => {
            Err(format!("`%{}` is not a conversion; `%%` is a percent sign", other.escape_default()))
        }
        None => Err("the format ends in the middle of a conversion; `%%` is a percent sign".into()),
    }
}

fn number(text: &str) -> Result<(usize, &str), String> {
    if text.starts_with('*') {
        return Err("a width or precision from an argument (`*`) is not supported".into());
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Ok((0, text));
    }
    match text[..end].parse() {
        Ok(n) if n <= MOST => Ok((n, &text[end..])),
        _ => Err(format!("a width or precision above {MOST}")),
    }
}

impl Conversion {
    /// What it takes.
    pub fn takes(&self) -> Takes {
        match self.letter {
            's' => Takes::Text,
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => Takes::Float,
            _ => Takes::Integer,
        }
    }

    /// The letter.
    pub fn letter(&self) -> char {
        self.letter
    }

    /// The conversion as C writes it, for integers of 64 bits.
    pub fn in_c(&self) -> String {
        let flags =
            [(self.left, '-'), (self.plus, '+'), (self.space, ' '), (self.zero, '0'), (self.alternate, '#')];
        let mut out = String::from("%");
        out.extend(flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag));
        if self.width > 0 {
            out += &self.width.to_string();
        }
        if let Some(precision) = self.precision {
            out += &format!(".{precision}");
        }
        if self.takes() == Takes::Integer && self.letter != 'c' {
            out += "ll";
        }
        out.push(self.letter);
        out
    }

    /// The value as this conversion shows it.
    pub fn show(&self, value: Shown<'_>) -> String {
        let (sign, digits) = match value {
            Shown::Text(text) => {
                let text = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
                return self.pad("", text, false);
            }
            Shown::Integer(n, _) if self.letter == 'c' => {
                let text = char::from_u32(n as u32 & 0xff).map(String::from).unwrap_or_default();
                return self.pad("", text, false);
            }
            Shown::Integer(n, bits) => self.integer(n, bits),
            Shown::Float(x) => (self.sign(x.is_sign_negative()), self.float(x.abs())),
        };
        let finite = !matches!(value, Shown::Float(x) if !x.is_finite());
        let zeros = self.zero && finite && !(matches!(value, Shown::Integer(..)) && self.precision.is_some());
        self.pad(sign, digits, zeros)
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, n: i64, bits: u32) -> (&'static str, String) {
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let unsigned = n as u64 & mask;
        let prefix = |prefix| if self.alternate && n != 0 { prefix } else { "" };
        let (sign, digits) = match self.letter {
            'u' => ("", unsigned.to_string()),
            'o' => (prefix("0"), format!("{unsigned:o}")),
            'x' => (prefix("0x"), format!("{unsigned:x}")),
            'X' => (prefix("0X"), format!("{unsigned:X}")),
            _ => (self.sign(n < 0), n.unsigned_abs().to_string()),
        };
        let missing = self.precision.unwrap_or(0).saturating_sub(digits.len());
        (sign, "0".repeat(missing) + &digits)
    }

    fn float(&self, x: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = if x.is_nan() {
            "nan".into()
        } else if x.is_infinite() {
            "inf".into()
        } else {
            match self.letter {
                'e' | 'E' => exponential(x, precision),
                'g' | 'G' => self.shortest(x, precision.max(1)),
                _ => format!("{x:.precision$}"),
            }
        };
        if self.letter.is_ascii_uppercase() { text.to_uppercase() } else { text }
    }

    /// `%g`: as many significant digits, in the shorter of both forms, without zeros at the end.
    fn shortest(&self, x: f64, digits: usize) -> String {
        let scientific = exponential(x, digits - 1);
        let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
        let trim = |text: &str| match text.contains('.') && !self.alternate {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text.to_string(),
        };
        if exponent < -4 || exponent >= digits as i32 {
            let (mantissa, e) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
            return format!("{}e{e}", trim(mantissa));
        }
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        trim(&format!("{x:.decimals$}"))
    }

    fn pad(&self, sign: &str, digits: String, zeros: bool) -> String {
        let missing = self.width.saturating_sub(sign.chars().count() + digits.chars().count());
        match (self.left, zeros) {
            (true, _) => format!("{sign}{digits}{}", " ".repeat(missing)),
            (false, true) => format!("{sign}{}{digits}", "0".repeat(missing)),
            (false, false) => format!("{}{sign}{digits}", " ".repeat(missing)),
        }
    }
}

/// `%e`: the exponent has a sign and at least two digits.
fn exponential(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    let mut out = String::new();
    write!(out, "{mantissa}e{sign}{digits:0>2}").expect("a string takes any text");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(format: &str, value: Shown<'_>) -> String {
        let pieces = parse(format).unwrap();
        let piece = |p: &Piece| match p {
            Piece::Text(text) => text.clone(),
            Piece::Value(conversion) => conversion.show(value),
        };
        pieces.iter().map(piece).collect()
    }

    #[test]
    fn integers_are_shown_as_c_does() {
        let int = |n| Shown::Integer(n, 32);
        assert_eq!(show("[%5d|%-5d]", int(42)), "[   42|42   ]");
        assert_eq!(show("%05d %+d % d", int(42)), "00042 +42  42");
        assert_eq!(show("%u %x %#X %o", int(-1)), "4294967295 ffffffff 0XFFFFFFFF 37777777777");
        assert_eq!(show("%.3d %5.3d", int(-7)), "-007  -007");
        assert_eq!(show("%c%%", int(65)), "A%");
        assert_eq!(show("%lld", Shown::Integer(i64::MIN, 64)), "-9223372036854775808");
    }

    #[test]
    fn floats_are_shown_as_c_does() {
        assert_eq!(show("%f %.2f %8.3f|", Shown::Float(2.71651)), "2.716510 2.72    2.717|");
        assert_eq!(show("%e %.1E", Shown::Float(12345.678)), "1.234568e+04 1.2E+04");
        assert_eq!(show("%g", Shown::Float(0.0001)), "0.0001");
        assert_eq!(show("%g", Shown::Float(0.00001)), "1e-05");
        assert_eq!(show("%g %g", Shown::Float(100000.0)), "100000 100000");
        assert_eq!(show("%g", Shown::Float(1e6)), "1e+06");
        assert_eq!(show("%06.1f", Shown::Float(-2.5)), "-002.5");
        assert_eq!(show("%f %5F", Shown::Float(f64::INFINITY)), "inf   INF");
    }

    #[test]
    fn conversions_can_be_written_again() {
        let all = |format: &str| -> Vec<String> {
            let pieces = parse(format).unwrap();
            pieces
                .iter()
                .filter_map(|p| if let Piece::Value(c) = p { Some(c.in_c()) } else { None })
                .collect()
        };
        assert_eq!(all("%-5d %+08.3lf %#x %c %.2s"), ["%-5lld", "%+08.3f", "%#llx", "%c", "%.2s"]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("50%").unwrap_err().contains("ends in the middle"));
        assert!(parse("%y").unwrap_err().contains("`%y`"));
        assert!(parse("%*d").unwrap_err().contains('*'));
        assert!(parse("%99999d").is_err());
        assert_eq!(parse("%-8.3s").unwrap().len(), 1);
    }
}
