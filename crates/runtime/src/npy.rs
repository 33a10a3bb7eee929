//! NumPy's `.npy` files, as bytes of one scalar type. Shapes are ignored, since buffers are flat.

use crate::{Error, bail};
use cotangent_base::{Scalar, scalar_group};
use npyz::{DType, Endianness, NpyFile, Order, TypeChar};

/// Reads a file's content.
pub fn read(bytes: &[u8]) -> Result<(Scalar, Vec<u8>), Error> {
    read_shaped(bytes).map(|(scalar, _, bytes)| (scalar, bytes))
}

/// Reads a file's content and its shape.
pub fn read_shaped(bytes: &[u8]) -> Result<(Scalar, Vec<usize>, Vec<u8>), Error> {
    let file = match NpyFile::new(bytes) {
        Ok(file) => file,
        Err(e) => bail!("not a .npy file: {e}"),
    };
    let DType::Plain(ty) = file.dtype() else {
        bail!("the .npy file holds records; only plain arrays can be read")
    };
    if file.order() == Order::Fortran && file.shape().len() > 1 {
        bail!("the .npy file is in Fortran order; save a C-ordered copy (numpy.ascontiguousarray)");
    }
    if ty.endianness() == Endianness::Big {
        bail!("the .npy file is big-endian; save a little-endian copy");
    }
    let Some(scalar) = scalar_of(ty.type_char(), ty.size_field()) else {
        bail!("the .npy file's type {ty} is not supported")
    };
    let count = file.shape().iter().try_fold(1u64, |product, n| product.checked_mul(*n));
    let size = count.and_then(|n| n.checked_mul(scalar.bytes().into())).and_then(|n| usize::try_from(n).ok());
    match size.and_then(|size| data(bytes)?.get(..size)) {
        Some(data) => Ok((scalar, file.shape().iter().map(|n| *n as usize).collect(), data.to_vec())),
        None => bail!("the .npy file is truncated"),
    }
}

/// What comes after the header, whose length follows the magic word and the version.
fn data(bytes: &[u8]) -> Option<&[u8]> {
    let start = match bytes.get(6)? {
        1 => 10 + usize::from(u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?)),
        _ => 12 + u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?) as usize,
    };
    bytes.get(start..)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other type of NumPy is a scalar here")]
fn scalar_of(kind: TypeChar, size: u64) -> Option<Scalar> {
    let prefix = match kind {
        TypeChar::Float => "f",
        TypeChar::Int => "i",
        TypeChar::Uint => "u",
        TypeChar::Bool => return Some(Scalar::Bool),
        _ => return None,
    };
    Scalar::from_name(&format!("{prefix}{}", size * 8))
}

/// The content of a file that holds `bytes` as a flat array of `scalar`.
pub fn write(scalar: Scalar, bytes: &[u8]) -> Vec<u8> {
    write_shaped(scalar, &[bytes.len() / scalar.bytes() as usize], bytes)
}

/// The content of a file that holds `bytes` as an array of `scalar` of that shape.
pub fn write_shaped(scalar: Scalar, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let count: usize = shape.iter().product();
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let code = match scalar {
        Scalar::Bool => "|b1".to_string(),
        Scalar::I8 => "|i1".to_string(),
        Scalar::U8 => "|u1".to_string(),
        scalar_group!(int | float) => format!("<{}{}", &scalar.name()[..1], scalar.bytes()),
    };
    let header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version, length and header together fill a multiple of 64 bytes and end in a newline.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((length as u16).to_le_bytes());
    out.extend(format!("{header:<width$}\n", width = length - 1).bytes());
    out.extend(&bytes[..count * scalar.bytes() as usize]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for scalar in Scalar::ALL {
            let bytes: Vec<u8> = (0..scalar.bytes() as u8 * 3)
                .map(|i| if scalar == Scalar::Bool { i % 2 } else { i })
                .collect();
            let file = write(scalar, &bytes);
            assert_eq!(read(&file), Ok((scalar, bytes)), "{scalar}");
        }
    }

    #[test]
    fn a_library_reads_what_we_write() {
        let bytes: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let file = write(Scalar::F32, &bytes);
        let values: Vec<f32> = NpyFile::new(&file[..]).unwrap().into_vec().unwrap();
        assert_eq!(values, [1.5, -2.0]);
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        assert!(read(b"hello").is_err());
        let file = write(Scalar::F64, &[0; 16]);
        assert!(read(&file[..file.len() - 1]).is_err());
        assert!(read(&file[..20]).is_err());
        let huge = String::from_utf8_lossy(&file).replace("(2,)", "(4611686018427387904,8,)");
        assert!(read(huge.as_bytes()).is_err());
    }
}
