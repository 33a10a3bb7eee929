//! `--set`: sets values of shader parameters.
//!
//! Numbers are written to memory in the type of the argument, since a buffer may hold any data. If that differs from the type
//! of the parameter, the bytes are reinterpreted. A warning reports this if all numbers of the parameter have one type.
//! Byte-address buffers accept any type. So do buffers of words in a structure, since they may be byte-address buffers.

use crate::args::Format;
use crate::report::{Failure, note, warning};
use cotangent::ir::shader::{ShaderParam, Shape};
use cotangent::runtime::image::Image;
use cotangent::runtime::{Data, Number, Params, data, npy};
use cotangent::{Disk, Lowered, Scalar, Setting, Symbol};
use std::borrow::Cow;

/// Sets parameters as the command line says. To set one that the program declares and does not use has no effect.
pub fn set_all(
    params: &mut Params,
    lowered: &Lowered,
    items: &[String],
    disk: &Disk,
    format: Format,
) -> Result<(), Failure> {
    params.declare(&lowered.params);
    let known = Known { lowered, unset: Params::new(&lowered.module) };
    for item in items {
        let item = known.with_type(item)?;
        let (name, data) = setting(&item, disk)?;
        let root = root(&name);
        let is_root = |used: Symbol| used.as_str().split('.').next() == Some(root);
        if known.param(root).is_some() && !params.iter().any(|(used, ..)| is_root(used)) {
            note(&format!("the program does not use `{root}`, so setting it has no effect"), format);
            continue;
        }
        params.set(&name, &data)?;
        known.warn_of_another_type(&name, &data, format);
    }
    Ok(())
}

/// The settings of specialization constants, which must be known before the program is checked, and those of parameters.
pub fn split_constants(items: &[String], constants: &[Symbol]) -> (Vec<Constant>, Vec<String>) {
    let (mut given, mut others) = (vec![], vec![]);
    for item in items {
        match item.split_once('=') {
            Some((name, value)) if constants.iter().any(|constant| *constant == *name.trim()) => {
                given.push((Setting::Global, name.trim().to_string(), bare(value.trim()).to_string()));
            }
            _ => others.push(item.clone()),
        }
    }
    (given, others)
}

/// The lengths of arrays without one: those that are specified, otherwise the number of elements that are set.
pub fn lengths(items: &[String], arrays: &[Symbol], given: &[Constant]) -> Vec<Constant> {
    let index = |item: &String, array: Symbol| {
        let rest = item.trim_start().strip_prefix(array.as_str())?.strip_prefix('[')?;
        rest.split(']').next()?.trim().parse::<u32>().ok()
    };
    let length = |array: &Symbol| {
        let last = items.iter().filter_map(|item| index(item, *array)).max()?;
        let is_given = given.iter().any(|(setting, name, _)| *setting == Setting::Global && *array == **name);
        (!is_given).then(|| (Setting::Global, array.to_string(), (u64::from(last) + 1).to_string()))
    };
    arrays.iter().filter_map(length).collect()
}

/// A specialization constant with its name and value, or an array with its length.
type Constant = (Setting, String, String);

/// The number in `i32[4]`.
fn bare(value: &str) -> &str {
    let inside = value.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    inside.unwrap_or(value).trim()
}

fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}

/// What is known of the parameters before any is set.
struct Known<'a> {
    lowered: &'a Lowered,
    unset: Params,
}

impl Known<'_> {
    fn param(&self, name: &str) -> Option<&ShaderParam> {
        let params = &self.lowered.params;
        let of_entries = params.entries.iter().flat_map(|(_, params)| params);
        params.globals.iter().chain(of_entries).find(|p| p.name == *name)
    }

    /// The type of the numbers at a path, if they have one and it is known.
    fn scalar(&self, path: &str) -> Option<Scalar> {
        // A buffer that is not set has no elements.
        let whole = path.split('[').next().unwrap_or_default();
        let (scalar, _) = self.unset.get(path).or_else(|_| self.unset.get(whole)).ok()?;
        let param = self.param(root(path));
        let may_be_bytes = param.is_some_and(|param| match &param.shape {
            Shape::Value(_) | Shape::Packed(..) | Shape::Counter(_) => false,
            Shape::Resource(_) => param.bytes,
            Shape::Block(_, inner) => !matches!(**inner, Shape::Value(_) | Shape::Packed(..)),
            Shape::Struct(_) | Shape::Array(..) => true,
        });
        // Truth values are written as whatever integers they are held in.
        scalar.filter(|s| *s != Scalar::Bool && !(*s == Scalar::U32 && may_be_bytes))
    }

    /// What is at a path, in words.
    fn described(&self, path: &str, scalar: Scalar) -> String {
        match self.param(path).and_then(|param| param.ty) {
            Some(ty) => format!("`{path}` has type {ty}"),
            None => format!("`{path}` contains {scalar} numbers"),
        }
    }

    /// `[1, 2]` has numbers of the parameter's type, if all its numbers have one type; `1, 2` is a slip.
    fn with_type<'i>(&self, item: &'i str) -> Result<Cow<'i, str>, Failure> {
        let Some((name, value)) = item.split_once('=') else { return Ok(item.into()) };
        let (name, value) = (name.trim(), value.trim());
        let list = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
        if list.is_none() && !value.contains(',') || self.unset.texture(name).is_some() {
            return Ok(item.into());
        }
        let numbers = list.unwrap_or(value).trim();
        let mut words = numbers.split(',').map(str::trim);
        if let Some(word) = words.find(|word| Number::parse(word).is_none()).filter(|_| !numbers.is_empty()) {
            return match list {
                Some(_) => Err(Failure::Usage(format!("`{word}` in the list for `{name}` is not a number"))),
                None => Ok(item.into()),
            };
        }
        match (list, self.scalar(name)) {
            (Some(_), Some(scalar)) => Ok(format!("{name}={scalar}[{numbers}]").into()),
            (Some(_), None) => Err(Failure::Usage(format!(
                "`{value}` has no element type, and neither has `{name}`; write `{name}=f32[{numbers}]`"
            ))),
            (None, _) => Err(Failure::Usage(format!("`{value}` is not a list; write `{name}=[{numbers}]`"))),
        }
    }

    fn warn_of_another_type(&self, path: &str, data: &Data, format: Format) {
        let Data::Bytes(Some(given), bytes) = data else { return };
        let Some(scalar) = self.scalar(path) else { return };
        let same_width = given.bytes() == scalar.bytes();
        let same_kind = given.is_float() == scalar.is_float();
        let same_bytes = same_kind || bytes.iter().all(|byte| *byte == 0);
        if same_width && same_bytes {
            return;
        }
        let is = self.described(path, scalar);
        let list = match bytes.len() / given.bytes() as usize {
            0..=8 => data::numbers(*given, bytes).map(|n| n.show(*given)).collect::<Vec<_>>().join(", "),
            _ => "..".into(),
        };
        let text = format!("{is}, so {given} bytes would be reinterpreted");
        warning(&format!("{text}; write `{path}={scalar}[{list}]`"), format);
    }
}

/// `NAME=VALUE`, or `NAME=@file.npy`.
pub fn setting(item: &str, disk: &Disk) -> Result<(String, Data), Failure> {
    let Some((name, value)) = item.split_once('=') else {
        return Err(Failure::Usage(format!("--set takes NAME=VALUE, not `{item}`")));
    };
    let data = match value.trim().strip_prefix('@') {
        Some(path) => Data::Image(image(path, disk)?),
        None => match value.trim().strip_prefix("mips(@").and_then(|v| v.strip_suffix(')')) {
            Some(path) => Data::Image(Image { mips: true, ..image(path, disk)? }),
            None => Data::parse(value)?,
        },
    };
    Ok((name.trim().to_string(), data))
}

/// A `.npy` file, or else a PNG.
fn image(path: &str, disk: &Disk) -> Result<Image, Failure> {
    let bytes = disk.read(path).map_err(|e| Failure::Usage(format!("cannot read `{path}`: {e}")))?;
    let found = if path.ends_with(".png") {
        Image::from_png(&bytes)
    } else {
        npy::read_shaped(&bytes).map(|(scalar, shape, bytes)| Image {
            shape,
            scalar,
            bytes: Some(bytes),
            one: 1.0,
            mips: false,
        })
    };
    found.map_err(|e| Failure::Usage(format!("{path}: {e}")))
}
