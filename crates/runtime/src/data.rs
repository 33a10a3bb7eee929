//! Parses and prints values of the command line, and converts them to bytes.
//!
//! ```text
//! f32[1, 2.5, -3]      numbers of one scalar type
//! zeros(u32, 64)       as many zeros
//! bytes[0000803f]      raw little-endian memory
//! 3                    one number, of whatever type its place has
//! image(4x2, f32[..])  an image, width by height, for a texture
//! linear,clamp         what a sampler says
//! ```

use crate::image::Image;
use crate::{Error, bail};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::Const;
use cotangent_ir::texture::SamplerState;
use half::f16;

/// A number before it has a type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Written without a point or exponent, or as `true` and `false`.
    Int(i128),
    /// Written as a floating-point number.
    Float(f64),
}

impl Number {
    /// Reads `12`, `-0x1f`, `1.5e-3`, `inf`, `nan`, `true`.
    pub fn parse(text: &str) -> Option<Number> {
        let text = text.trim();
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
        let sign = if negative { -1 } else { 1 };
        if let Some(hex) = digits.strip_prefix("0x") {
            return i128::from_str_radix(hex, 16).ok().map(|n| Number::Int(sign * n));
        }
        match digits {
            "true" => return Some(Number::Int(1)),
            "false" => return Some(Number::Int(0)),
            _ => {}
        }
        if let Ok(n) = digits.parse::<i128>() {
            // A zero keeps its sign.
            return Some(if negative && n == 0 { Number::Float(-0.0) } else { Number::Int(sign * n) });
        }
        let is_written_so = |x: &f64| x.is_finite() || !text.contains(|c: char| c.is_ascii_digit());
        text.parse().ok().filter(is_written_so).map(Number::Float)
    }

    /// As a floating-point number.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Appends the bytes of this number as a `scalar`; fails if an integer type cannot hold it.
    pub fn write(self, scalar: Scalar, out: &mut Vec<u8>) -> Result<(), Error> {
        match scalar {
            Scalar::F16 => out.extend(f16::from_f64(self.as_f64()).to_le_bytes()),
            Scalar::F32 => out.extend((self.as_f64() as f32).to_le_bytes()),
            Scalar::F64 => out.extend(self.as_f64().to_le_bytes()),
            Scalar::Bool => out.push((self.as_f64() != 0.0).into()),
            scalar_group!(int) => out.extend(&self.integer(scalar)?.to_le_bytes()[..scalar.bytes() as usize]),
        }
        Ok(())
    }

    fn integer(self, scalar: Scalar) -> Result<i128, Error> {
        let n = match self {
            Number::Int(n) => n,
            Number::Float(x) if x.fract() == 0.0 && x.abs() < 2e18 => x as i128,
            Number::Float(x) => bail!("{x} is not an integer, but the type is {scalar}"),
        };
        let bits = scalar.bits();
        let (low, high) =
            if scalar.is_signed() { (-(1i128 << (bits - 1)), 1i128 << (bits - 1)) } else { (0, 1 << bits) };
        if n < low || n >= high {
            bail!("{n} does not fit in {scalar}");
        }
        Ok(n)
    }

    /// Reads one `scalar` from the front of `bytes`.
    pub fn read(scalar: Scalar, bytes: &[u8]) -> Number {
        let mut word = [0; 8];
        let size = scalar.bytes() as usize;
        word[..size].copy_from_slice(&bytes[..size]);
        let unsigned = u64::from_le_bytes(word);
        let shift = 64 - 8 * size as u32;
        match scalar {
            Scalar::F16 => Number::Float(f16::from_bits(unsigned as u16).to_f64()),
            Scalar::F32 => Number::Float(f32::from_bits(unsigned as u32).into()),
            Scalar::F64 => Number::Float(f64::from_bits(unsigned)),
            Scalar::Bool => Number::Int((unsigned != 0).into()),
            scalar_group!(signed) => Number::Int((((unsigned << shift) as i64) >> shift).into()),
            scalar_group!(unsigned) => Number::Int(unsigned.into()),
        }
    }

    /// A constant of the IR as a number.
    pub fn of(constant: Const, scalar: Scalar) -> Number {
        match constant {
            Const::Bool(b) => Number::Int(b.into()),
            Const::Float(bits) => Number::Float(f64::from_bits(bits)),
            // Unsigned values are held by their bits.
            Const::Int(n) if scalar.is_signed() => Number::Int(n.into()),
            Const::Int(n) => Number::Int((n as u64 & (u64::MAX >> (64 - scalar.bits()))).into()),
        }
    }

    /// This number as a constant of the IR; fails if an integer type cannot hold it.
    pub fn constant(self, scalar: Scalar) -> Result<Const, Error> {
        Ok(match scalar {
            Scalar::Bool => Const::Bool(self.as_f64() != 0.0),
            scalar_group!(float) => Const::float(self.as_f64()),
            scalar_group!(int) => Const::Int(self.integer(scalar)? as i64),
        })
    }

    /// A text that reads back as this number of that type.
    pub fn show(self, scalar: Scalar) -> String {
        match (self, scalar) {
            (Number::Int(n), Scalar::Bool) => (n != 0).to_string(),
            (Number::Int(n), _) => n.to_string(),
            (Number::Float(x), Scalar::F64) => shortest(x, x.to_string(), format!("{x:e}")),
            (Number::Float(x), Scalar::F16) => {
                let short = f16::from_f64(x);
                shortest(x, short.to_string(), format!("{short:e}"))
            }
            (Number::Float(x), _) => {
                let short = x as f32;
                shortest(x, short.to_string(), format!("{short:e}"))
            }
        }
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Bytes, with the scalar type they were written in, if any.
    Bytes(Option<Scalar>, Vec<u8>),
    /// A number for a place of scalar type.
    Number(Number),
    /// An image for a texture.
    Image(Image),
    /// What a sampler says.
    Sampler(SamplerState),
    /// A tensor: its sizes, and its elements row by row.
    Tensor(Vec<u32>, Scalar, Vec<u8>),
}

impl Data {
    /// Reads what follows `NAME=`, except `@file`.
    pub fn parse(text: &str) -> Result<Data, Error> {
        let text = text.trim();
        if let Some(number) = Number::parse(text) {
            return Ok(Data::Number(number));
        }
        if let Some(image) = Image::parse(text) {
            return image.map(Data::Image);
        }
        if let Some(state) = crate::sampler::parse(text) {
            return state.map(Data::Sampler);
        }
        if let Some(inner) = text.strip_prefix("zeros(").and_then(|t| t.strip_suffix(')')) {
            return zeros(inner);
        }
        if let Some(inner) = text.strip_prefix("tensor(").and_then(|t| t.strip_suffix(')')) {
            return tensor(inner);
        }
        if let Some(inner) = text.strip_prefix("random(").and_then(|t| t.strip_suffix(')')) {
            return random(inner);
        }
        let Some((name, list)) = text.strip_suffix(']').and_then(|t| t.split_once('[')) else {
            bail!(
                "cannot read the value `{text}`: write f32[1, 2], zeros(f32, 4), random(f32, 4), bytes[00ff], @file.npy or a number; \
                 image(4x4, f32[..]) for a texture; for a sampler linear,clamp or other settings of {}",
                crate::sampler::words()
            );
        };
        if name.trim() == "bytes" {
            return Ok(Data::Bytes(None, hex(list)?));
        }
        if name.trim().is_empty() {
            bail!("the list `{}` has no element type: write f32[{}]", short(text), short(list.trim()));
        }
        let scalar = scalar(name)?;
        let mut bytes = Vec::new();
        for word in list.split(|c: char| c == ',' || c.is_whitespace()).filter(|w| !w.is_empty()) {
            let Some(number) = Number::parse(word) else { bail!("`{word}` is not a number") };
            number.write(scalar, &mut bytes)?;
        }
        Ok(Data::Bytes(Some(scalar), bytes))
    }
}

/// The beginning of a text that a message quotes.
fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_string(),
    }
}

/// The scalar type of that name; `bool` is not one the command line offers.
pub fn scalar(name: &str) -> Result<Scalar, Error> {
    match Scalar::from_name(name.trim()) {
        Some(scalar) if scalar != Scalar::Bool => Ok(scalar),
        _ => bail!("unknown type `{}`: use one of f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64", name.trim()),
    }
}

/// What is made of a few words is no larger.
pub(crate) const MOST_BYTES: usize = 1 << 32;

/// Fails if there is not enough memory for so many more bytes. A failed allocation would end the process.
pub fn room_for(bytes: usize) -> Result<(), Error> {
    let mut room = Vec::<u8>::new();
    let found = room.try_reserve_exact(bytes);
    // The optimizer may remove an allocation that nothing uses.
    std::hint::black_box(room);
    match found {
        Ok(()) => Ok(()),
        Err(_) => bail!("not enough memory for {bytes} bytes"),
    }
}

fn zeros(inner: &str) -> Result<Data, Error> {
    let Some((name, count)) = inner.split_once(',') else { bail!("write zeros(TYPE, COUNT)") };
    let scalar = scalar(name)?;
    let Ok(count) = count.trim().parse::<usize>() else { bail!("`{}` is not a count", count.trim()) };
    match count.checked_mul(scalar.bytes() as usize).filter(|size| *size <= MOST_BYTES) {
        Some(size) => {
            room_for(size)?;
            Ok(Data::Bytes(Some(scalar), vec![0; size]))
        }
        None => bail!("zeros({scalar}, {count}) is larger than 4 GiB"),
    }
}

/// `tensor(2x3, f32[..])`.
fn tensor(inner: &str) -> Result<Data, Error> {
    let Some((sizes, list)) = inner.split_once(',') else { bail!("write tensor(2x3, f32[..])") };
    let sizes: Option<Vec<u32>> = sizes.split('x').map(|size| size.trim().parse().ok()).collect();
    let Some(sizes) = sizes.filter(|sizes| sizes.len() <= MOST_DIMENSIONS) else {
        bail!("`{inner}` does not begin with up to {MOST_DIMENSIONS} sizes, as in tensor(2x3, f32[..])")
    };
    if let Data::Bytes(Some(scalar), bytes) = Data::parse(list)? {
        Ok(Data::Tensor(sizes, scalar, bytes))
    } else {
        bail!("the elements of a tensor are a list: tensor(2x3, f32[..])")
    }
}

/// How many dimensions a tensor has at most.
pub const MOST_DIMENSIONS: usize = 5;

/// `random(f32, 8)` or `random(f32, 8, SEED)`: numbers from -1 to 1, the same everywhere; integers are 0 to 9.
fn random(inner: &str) -> Result<Data, Error> {
    let words: Vec<&str> = inner.split(',').map(str::trim).collect();
    let (Some(name), Some(count), seed, ..=3) = (words.first(), words.get(1), words.get(2), words.len())
    else {
        bail!("write random(TYPE, COUNT) or random(TYPE, COUNT, SEED)")
    };
    let seed = match seed.map(|seed| seed.parse::<u64>()) {
        None => 1,
        Some(Ok(seed)) => seed,
        Some(Err(_)) => bail!("the seed of random(..) is a number"),
    };
    let Data::Bytes(Some(scalar), zeros) = zeros(&format!("{name}, {count}"))? else { bail!("not a list") };
    room_for(zeros.len())?;
    let mut bytes = Vec::with_capacity(zeros.len());
    let mut state = seed;
    for _ in 0..zeros.len() / scalar.bytes() as usize {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        let number = if scalar.is_float() {
            Number::Float(2.0 * unit - 1.0)
        } else {
            Number::Int((unit * 10.0) as i128)
        };
        number.write(scalar, &mut bytes)?;
    }
    Ok(Data::Bytes(Some(scalar), bytes))
}

fn hex(text: &str) -> Result<Vec<u8>, Error> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b',').collect();
    let byte = |pair: &[u8]| {
        std::str::from_utf8(pair)
            .ok()
            .filter(|_| pair.len() == 2)
            .and_then(|s| u8::from_str_radix(s, 16).ok())
    };
    match digits.chunks(2).map(byte).collect() {
        Some(bytes) => Ok(bytes),
        None => bail!("bytes[..] takes pairs of hexadecimal digits"),
    }
}

/// The numbers in `bytes`, read as `scalar`; a remainder shorter than one is left out.
pub fn numbers(scalar: Scalar, bytes: &[u8]) -> impl Iterator<Item = Number> {
    bytes.chunks_exact(scalar.bytes() as usize).map(move |chunk| Number::read(scalar, chunk))
}

/// Bytes as hexadecimal digits.
pub fn show_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A number as a person would write it: with an exponent where there would be many zeros.
fn shortest(x: f64, plain: String, exponent: String) -> String {
    let many_zeros = x != 0.0 && x.is_finite() && !(1e-5..1e16).contains(&x.abs());
    if many_zeros { exponent } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_bytes_of_their_type() {
        assert_eq!(
            Data::parse("f32[1, -2]"),
            Ok(Data::Bytes(Some(Scalar::F32), vec![0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]))
        );
        assert_eq!(Data::parse("u16[0x102 3]"), Ok(Data::Bytes(Some(Scalar::U16), vec![2, 1, 3, 0])));
        assert_eq!(Data::parse("i8[-1]"), Ok(Data::Bytes(Some(Scalar::I8), vec![255])));
        assert_eq!(Data::parse("f16[1.5]"), Ok(Data::Bytes(Some(Scalar::F16), vec![0, 0x3e])));
        assert_eq!(Data::parse("zeros(u32, 2)"), Ok(Data::Bytes(Some(Scalar::U32), vec![0; 8])));
        assert_eq!(Data::parse("bytes[0aFF]"), Ok(Data::Bytes(None, vec![0x0a, 0xff])));
        assert_eq!(Data::parse("-3e2"), Ok(Data::Number(Number::Float(-300.0))));
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        for bad in [
            "u8[256]",
            "u32[-1]",
            "i32[1.5]",
            "f33[1]",
            "bytes[0]",
            "bytes[xy]",
            "zeros(f32)",
            "f32[a]",
            "hello",
        ] {
            assert!(Data::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_shown_with_an_exponent_instead_of_many_zeros() {
        let shown = |x: f64, scalar| Number::Float(x).show(scalar);
        assert_eq!(shown(1e-7, Scalar::F32), "1e-7");
        assert_eq!(shown(-2.5e-9, Scalar::F64), "-2.5e-9");
        assert_eq!(shown(1e30, Scalar::F64), "1e30");
        assert_eq!(shown(6.0e-8, Scalar::F16), "5.9604645e-8");
        assert_eq!(shown(0.00012345678, Scalar::F32), "0.00012345678");
        assert_eq!(shown(123456792.0, Scalar::F32), "123456790");
        assert_eq!(shown(0.0, Scalar::F32), "0");
        assert_eq!(shown(f64::INFINITY, Scalar::F32), "inf");
        assert_eq!(Number::parse("5.9604645e-8"), Some(Number::Float(5.9604645e-8)));
    }

    #[test]
    fn bytes_read_back_as_the_numbers_they_were() {
        let cases = [
            (Scalar::I64, "i64[-5]", "-5"),
            (Scalar::U64, "u64[18446744073709551615]", "18446744073709551615"),
        ];
        let floats = [
            (Scalar::F32, "f32[0.1]", "0.1"),
            (Scalar::F64, "f64[-0]", "-0"),
            (Scalar::F16, "f16[1.5]", "1.5"),
        ];
        for (scalar, text, shown) in cases.into_iter().chain(floats) {
            let Ok(Data::Bytes(_, bytes)) = Data::parse(text) else { panic!("{text}") };
            assert_eq!(numbers(scalar, &bytes).next().unwrap().show(scalar), shown);
        }
    }
}
