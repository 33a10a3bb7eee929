//! Evaluates literals: the value and type of a number, character or string.
//!
//! An integer has the first type that it fits: `int`, then `int64_t` for decimal literals; `int`, `uint`, `int64_t`,
//! `uint64_t` for other bases. A floating-point literal is a `float` unless it has a suffix, and is rounded once, directly
//! from its decimal form.

use crate::codes;
use cotangent_base::{Diagnostic, Scalar, Span};

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(u64, Scalar),
    /// A floating-point number.
    Float(f64, Scalar),
}

/// Reads a number. What is odd about it is passed to `report`; `None` after an error.
pub fn number(spelling: &str, span: Span, report: &mut dyn FnMut(Diagnostic)) -> Option<Number> {
    let text = spelling.to_ascii_lowercase();
    if let Some((_, special)) = text.split_once('#') {
        return match infinity(special, span) {
            Ok(number) => Some(number),
            Err(error) => {
                report(*error);
                None
            }
        };
    }
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x', ..] => (16, &text[2..]),
        [b'0', b'b', ..] => (2, &text[2..]),
        [b'0', b'0'..=b'9' | b'_', ..] if !text.contains(['.', 'e']) => (8, &text[1..]),
        _ => (10, &text[..]),
    };
    let is_float = match radix {
        10 => text.contains(['.', 'e']),
        16 => digits.contains(['.', 'p']),
        _ => false,
    };
    let result = if is_float { float(radix, digits, span) } else { integer(radix, digits, span) };
    if radix == 8 && !is_float {
        report(
            Diagnostic::new(codes::OCTAL, span, format!("`{spelling}` is an octal number"))
                .help("remove the leading zero, or write the number in base 10 or 16"),
        );
    }
    match result {
        Ok((number, warning)) => {
            warning.into_iter().for_each(report);
            Some(number)
        }
        Err(error) => {
            report(*error);
            None
        }
    }
}

/// What `#INF` and its kin stand for, with the suffix of a floating-point number.
fn infinity(special: &str, span: Span) -> Result<Number, Box<Diagnostic>> {
    let names = [("inf", f64::INFINITY), ("ind", f64::NAN), ("qnan", f64::NAN)];
    let found = names.iter().find_map(|(name, value)| Some((special.strip_prefix(name)?, *value)));
    let (suffix, value) = found.unwrap_or((special, f64::NAN));
    let scalar = float_suffix(suffix).ok_or_else(|| bad_suffix(suffix, span))?;
    Ok(Number::Float(value, scalar))
}

/// The type that the suffix of a floating-point number gives it.
fn float_suffix(suffix: &str) -> Option<Scalar> {
    match suffix {
        "" | "f" => Some(Scalar::F32),
        "h" | "hf" => Some(Scalar::F16),
        "l" | "lf" => Some(Scalar::F64),
        _ => None,
    }
}

type Read = Result<(Number, Option<Diagnostic>), Box<Diagnostic>>;

fn bad_suffix(suffix: &str, span: Span) -> Diagnostic {
    let error = Diagnostic::new(codes::BAD_NUMBER, span, format!("`{suffix}` is not a suffix of a number"));
    match suffix {
        "f" | "h" | "hf" | "lf" => error
            .here("an integer cannot have a floating-point suffix")
            .help(format!("write `.{suffix}` or `.0{suffix}` at its end")),
        _ => {
            error.help("integers take `u`, `l`, `ll`, `ul`, `ull`, `z`; floating-point numbers `f`, `h`, `l`")
        }
    }
}

fn integer(radix: u32, digits: &str, span: Span) -> Read {
    let end = digits.find(|c: char| !c.is_digit(radix) && c != '_').unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if suffix.starts_with(|c: char| c.is_ascii_digit()) || (digits.is_empty() && radix != 8) {
        let text = format!("this is not a number in base {radix}");
        return Err(Diagnostic::new(codes::BAD_NUMBER, span, text).into());
    }
    let value = match digits.as_str() {
        "" => 0,
        digits => u64::from_str_radix(digits, radix).map_err(|_| {
            Diagnostic::new(codes::INTEGER_TOO_LARGE, span, "this integer does not fit in 64 bits")
                .help(format!("the largest value is {}", u64::MAX))
        })?,
    };
    let (i32_max, i64_max) = (i32::MAX as u64, i64::MAX as u64);
    let scalar = match suffix {
        "" | "l" if value <= i32_max => Scalar::I32,
        "" | "l" if radix != 10 && value <= u64::from(u32::MAX) => Scalar::U32,
        "" | "l" if value <= i64_max => Scalar::I64,
        "" | "l" => Scalar::U64,
        "u" | "ul" | "lu" if value <= u64::from(u32::MAX) => Scalar::U32,
        "u" | "ul" | "lu" => Scalar::U64,
        "ll" | "z" => Scalar::I64,
        "ull" | "llu" | "uz" | "zu" => Scalar::U64,
        _ => return Err(bad_suffix(suffix, span).into()),
    };
    let odd = value > i64_max && (scalar == Scalar::I64 || (radix == 10 && !suffix.contains('u')));
    let warning = odd.then(|| {
        Diagnostic::new(
            codes::LARGE_LITERAL,
            span,
            "this integer is too large for a signed type, so it is a `uint64_t`",
        )
        .help("add the suffix `ull`")
    });
    let scalar = if odd { Scalar::U64 } else { scalar };
    Ok((Number::Int(value, scalar), warning))
}

fn float(radix: u32, digits: &str, span: Span) -> Read {
    let body = digits.trim_end_matches(|c: char| match radix {
        16 if digits.contains('p') => matches!(c, 'f' | 'h' | 'l'),
        16 => false,
        _ => c.is_ascii_alphabetic() && c != 'e',
    });
    let suffix = &digits[body.len()..];
    let scalar = float_suffix(suffix).ok_or_else(|| bad_suffix(suffix, span))?;
    let body: String = body.chars().filter(|c| *c != '_').collect();
    let value = if radix == 16 { hex_float(&body, scalar) } else { decimal_float(&body, scalar) };
    let Some(value) = value else {
        return Err(Diagnostic::new(codes::BAD_NUMBER, span, "this is not a floating-point number").into());
    };
    let max = match scalar {
        Scalar::F16 => 65519.99,
        Scalar::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    let warning = (value > max).then(|| {
        let name = if scalar == Scalar::F16 { "half" } else { "float" };
        let name = if scalar == Scalar::F64 { "double" } else { name };
        Diagnostic::new(codes::FLOAT_OVERFLOW, span, format!("this number is too large for a `{name}`"))
            .here("it becomes infinity")
            .help("`l` at its end makes it a `double`")
    });
    Ok((Number::Float(value, scalar), warning))
}

/// A `float` is rounded straight from its decimal form: going through a `double` may round twice.
fn decimal_float(body: &str, scalar: Scalar) -> Option<f64> {
    match scalar {
        Scalar::F32 => body.parse::<f32>().ok().map(f64::from),
        _ => body.parse().ok(),
    }
}

/// The value of `1.8p-3`, in base 16 but for the exponent.
fn hex_float(body: &str, scalar: Scalar) -> Option<f64> {
    let (mantissa, exponent) = body.split_once('p').unwrap_or((body, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for c in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let exponent: i32 = exponent.parse().ok()?;
    let scale = exponent.saturating_sub(4 * i32::try_from(fraction.len()).ok()?).clamp(-4000, 4000);
    // Powers of two are exact, so scaling step by step loses nothing but what does not fit.
    let step = if scale < 0 { 0.5 } else { 2.0 };
    (0..scale.abs()).for_each(|_| value *= step);
    Some(if scalar == Scalar::F32 { f64::from(value as f32) } else { value })
}

/// The value of a character literal: the character's number.
pub fn character(spelling: &str, span: Span) -> Result<u64, Box<Diagnostic>> {
    let text = unescape(&spelling[1..spelling.len() - 1], span)?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(u64::from(u32::from(c))),
        (None, _) => {
            let error = Diagnostic::new(codes::BAD_CHARACTER, span, "this character literal is empty");
            Err(error.help("write the character between the quotes").into())
        }
        _ => {
            let error =
                Diagnostic::new(codes::BAD_CHARACTER, span, "a character literal holds one character");
            Err(error.help("use double quotes for a string").into())
        }
    }
}

/// The text a string literal stands for.
pub fn string(spelling: &str, span: Span) -> Result<String, Box<Diagnostic>> {
    if let Some(raw) = spelling.strip_prefix("R\"") {
        let delimiter = raw.find('(').unwrap_or(0);
        return Ok(raw[delimiter + 1..raw.len() - delimiter - 2].into());
    }
    unescape(&spelling[1..spelling.len() - 1], span)
}

fn unescape(text: &str, span: Span) -> Result<String, Box<Diagnostic>> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escaped = match chars.next() {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('a') => Some('\x07'),
            Some('b') => Some('\x08'),
            Some('f') => Some('\x0c'),
            Some('v') => Some('\x0b'),
            Some(c @ ('\\' | '"' | '\'' | '?')) => Some(c),
            Some('x') => digits(&mut chars, 16, 8, 0),
            Some('u') => digits(&mut chars, 16, 4, 0),
            Some('U') => digits(&mut chars, 16, 8, 0),
            Some(c @ '0'..='7') => digits(&mut chars, 8, 2, c.to_digit(8).unwrap_or(0)),
            _ => None,
        };
        match escaped {
            Some(c) => out.push(c),
            None => {
                let error = Diagnostic::new(codes::BAD_ESCAPE, span, "unknown escape sequence");
                return Err(error.help("write a backslash as `\\\\`").into());
            }
        }
    }
    Ok(out)
}

/// Reads up to `most` more digits of a numeric escape.
fn digits(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    first: u32,
) -> Option<char> {
    let mut value = Some(first);
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value.and_then(|v| v.checked_mul(radix)).map(|v| v + digit);
        chars.next();
    }
    value.and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::*;

    fn read(text: &str) -> (Option<Number>, Vec<&'static str>) {
        let mut codes = vec![];
        let value = number(text, Span::none(), &mut |d| codes.push(d.code.name));
        (value, codes)
    }

    fn int(text: &str) -> (u64, Scalar) {
        match read(text) {
            (Some(Number::Int(value, scalar)), codes) if codes.is_empty() => (value, scalar),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn real(text: &str) -> (f64, Scalar) {
        match read(text) {
            (Some(Number::Float(value, scalar)), codes) if codes.is_empty() => (value, scalar),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn an_integer_takes_the_first_type_it_fits() {
        assert_eq!(int("2147483647"), (2147483647, I32));
        assert_eq!(int("2147483648"), (2147483648, I64));
        assert_eq!(int("0x80000000"), (0x8000_0000, U32));
        assert_eq!(int("0x100000000"), (1 << 32, I64));
        assert_eq!(int("0xFFFFFFFFFFFFFFFF"), (u64::MAX, U64));
        assert_eq!(int("5u"), (5, U32));
        assert_eq!(int("4294967296U"), (1 << 32, U64));
        assert_eq!((int("5LL"), int("5ull"), int("5z"), int("5L")), ((5, I64), (5, U64), (5, I64), (5, I32)));
        assert_eq!((int("0b1011"), int("1_000"), int("0")), ((11, I32), (1000, I32), (0, I32)));
    }

    #[test]
    fn odd_integers_are_reported() {
        assert_eq!(read("010"), (Some(Number::Int(8, I32)), vec!["W0102"]));
        assert_eq!(read("18446744073709551615"), (Some(Number::Int(u64::MAX, U64)), vec!["W0103"]));
        assert_eq!(read("18446744073709551616"), (None, vec!["E0105"]));
        for bad in ["123f", "12abc", "0b2", "0x", "089"] {
            assert!(read(bad).1.contains(&"E0104"), "{bad}: {:?}", read(bad));
        }
    }

    #[test]
    fn a_real_is_a_float_unless_it_says_otherwise() {
        assert_eq!(
            (real("1.5"), real("1.5f"), real("1e3"), real(".5")),
            ((1.5, F32), (1.5, F32), (1e3, F32), (0.5, F32))
        );
        assert_eq!(
            (real("1.h"), real("1.0hf"), real("0.1l"), real("2.5LF")),
            ((1., F16), (1., F16), (0.1, F64), (2.5, F64))
        );
        assert_eq!((real("0x1p3"), real("0x1.8p1f"), real("09.5")), ((8., F32), (3., F32), (9.5, F32)));
        assert_eq!(real("0.1").0, f64::from(0.1f32));
        assert_eq!((real("1.0#INF"), real("1.#INFh")), ((f64::INFINITY, F32), (f64::INFINITY, F16)));
        assert_eq!(read("1.0#INFx").1, ["E0104"]);
    }

    #[test]
    fn a_float_is_rounded_once() {
        // Just above the middle of two floats; through a double it would round down to even.
        let (value, _) = real("1.00000005960464477540");
        assert_eq!(value, f64::from(1.0f32 + f32::EPSILON));
    }

    #[test]
    fn a_real_beyond_its_type_is_reported() {
        assert_eq!(read("1e40").1, ["W0104"]);
        assert_eq!(read("70000.0h").1, ["W0104"]);
        assert_eq!(read("1.5q").1, ["E0104"]);
        assert_eq!(read("1e").1, ["E0104"]);
    }

    #[test]
    fn characters_and_strings_know_the_escapes_of_c() {
        let character = |text| character(text, Span::none()).map_err(|d| d.code.name);
        assert_eq!(
            (character("'A'"), character(r"'\n'"), character(r"'\x41'"), character(r"'\101'")),
            (Ok(65), Ok(10), Ok(65), Ok(65))
        );
        assert_eq!(
            (character("''"), character("'ab'"), character(r"'\q'")),
            (Err("E0106"), Err("E0106"), Err("E0107"))
        );
        assert_eq!(string(r#""a\tb\0""#, Span::none()).unwrap(), "a\tb\0");
        assert_eq!(string(r#"R"x(a\t"b)x""#, Span::none()).unwrap(), r#"a\t"b"#);
    }
}
