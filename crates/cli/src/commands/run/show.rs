//! Prints and saves parameters after a run.
//!
//! Lists of many numbers are shortened for people: the first and last few, how many there are, their range, and how many are NaN.

use crate::args::Run;
use crate::output::{print, write};
use crate::report::Failure;
use cotangent::Scalar;
use cotangent::runtime::data::Number;
use cotangent::runtime::image::{shape, to_png};
use cotangent::runtime::{Params, Tree, data, npy};
use serde_json::{Map, Value, json};

/// Lists of at most this many numbers or elements are printed whole.
const MOST: usize = 256;

/// How many are printed of a longer one, at its start and at its end.
const FIRST: usize = 5;
const LAST: usize = 3;

/// A parameter to print, and the type to print it in.
pub type Print = (String, Option<Scalar>);

pub fn prints(args: &Run, params: &Params) -> Result<Vec<Print>, Failure> {
    if args.print.is_empty() {
        return Ok(params.writable().iter().map(|name| (name.to_string(), None)).collect());
    }
    let mut prints = Vec::new();
    for item in &args.print {
        let (name, ty) = item.split_once(':').map_or((item.as_str(), None), |(name, ty)| (name, Some(ty)));
        params.find(name)?;
        prints.push((name.to_string(), ty.map(data::scalar).transpose()?));
    }
    Ok(prints)
}

pub fn saves(args: &Run, params: &Params) -> Result<Vec<(String, String)>, Failure> {
    let mut saves = Vec::new();
    for item in &args.save {
        let Some((name, path)) = item.split_once('=') else {
            return Err(Failure::Usage(format!("--save takes NAME=FILE.npy, not `{item}`")));
        };
        params.find(name)?;
        let is_texture = params.texture(name).is_some();
        match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("npy") => {}
            Some("png") if is_texture => {}
            Some("png") => {
                return Err(Failure::Usage(format!(
                    "`{name}` is not a texture: save it as FILE.npy, not `{path}`"
                )));
            }
            _ => {
                let endings = if is_texture { "FILE.npy or FILE.png" } else { "FILE.npy" };
                return Err(Failure::Usage(format!("--save writes {endings}, not `{path}`")));
            }
        }
        saves.push((name.to_string(), path.to_string()));
    }
    Ok(saves)
}

pub fn save(params: &Params, name: &str, path: &str) -> Result<(), Failure> {
    let (scalar, bytes) = params.get(name)?;
    let content = match params.texture(name) {
        Some((texture, extent, texels)) if path.ends_with(".png") => to_png(texture, extent, texels)?,
        Some((texture, extent, texels)) => npy::write_shaped(texture.scalar, &shape(texture, extent), texels),
        None => npy::write(scalar.unwrap_or(Scalar::U8), bytes),
    };
    write(path, &content)
}

/// Prints parameters for people, shortened unless all numbers are asked for.
pub fn print_text(prints: &[Print], params: &Params, all: bool) -> Result<(), Failure> {
    let mut out = String::new();
    for (name, ty) in prints {
        let (scalar, bytes) = params.get(name)?;
        out += &match ty.or(scalar) {
            Some(scalar) => format!("{name} = {}\n", list(scalar, bytes, all)),
            None => match params.tree(name)? {
                Some(Tree::List(items)) if items.len() > MOST && !all => {
                    format!("{name} = {}\n", elements(&items))
                }
                Some(tree) => format!("{name} = {tree}\n"),
                None => format!("{name} = {}\n", hexadecimal(bytes, all)),
            },
        };
    }
    print(&out)
}

/// A list of numbers, shortened unless all are asked for.
pub fn list(scalar: Scalar, bytes: &[u8], all: bool) -> String {
    let size = scalar.bytes() as usize;
    let count = bytes.len() / size;
    let shown =
        |bytes: &[u8]| data::numbers(scalar, bytes).map(|n| n.show(scalar)).collect::<Vec<_>>().join(", ");
    if count <= MOST || all {
        return format!("{scalar}[{}]", shown(bytes));
    }
    let (first, last) = (shown(&bytes[..FIRST * size]), shown(&bytes[(count - LAST) * size..count * size]));
    format!("{scalar}[{first}, .., {last}] ({})", summary(scalar, bytes, count))
}

/// How many numbers there are, their range, and how many are NaN.
fn summary(scalar: Scalar, bytes: &[u8], count: usize) -> String {
    let is_nan = |number: &Number| matches!(number, Number::Float(x) if x.is_nan());
    let mut all = data::numbers(scalar, bytes).filter(|number| !is_nan(number));
    let mut text = format!("{count} numbers");
    let mut left = 0;
    if let Some(first) = all.next() {
        left = 1;
        let (mut low, mut high) = (first, first);
        for number in all {
            left += 1;
            if is_less(number, low) {
                low = number;
            } else if is_less(high, number) {
                high = number;
            }
        }
        text += &format!(", min {}, max {}", low.show(scalar), high.show(scalar));
    }
    if left < count {
        text += &format!(", {} NaN", count - left);
    }
    text
}

fn is_less(a: Number, b: Number) -> bool {
    match (a, b) {
        // Not every integer is a binary64.
        (Number::Int(a), Number::Int(b)) => a < b,
        (Number::Float(a), Number::Float(b)) => a < b,
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => a.as_f64() < b.as_f64(),
    }
}

fn elements(items: &[Tree]) -> String {
    let list = |items: &[Tree]| items.iter().map(Tree::to_string).collect::<Vec<_>>().join(", ");
    let (first, last) = (list(&items[..FIRST]), list(&items[items.len() - LAST..]));
    format!("[{first}, .., {last}] ({} elements)", items.len())
}

fn hexadecimal(bytes: &[u8], all: bool) -> String {
    if bytes.len() <= 4 * MOST || all {
        return format!("bytes[{}]", data::show_hex(bytes));
    }
    let (first, last) =
        (data::show_hex(&bytes[..4 * FIRST]), data::show_hex(&bytes[bytes.len() - 4 * LAST..]));
    format!("bytes[{first}..{last}] ({} bytes)", bytes.len())
}

pub fn print_json(prints: &[Print], params: &Params, output: &str) -> Result<(), Failure> {
    let mut buffers = Map::new();
    for (name, ty) in prints {
        let (scalar, bytes) = params.get(name)?;
        let scalar = ty.or(scalar);
        let values = match scalar {
            Some(scalar) => Some(data::numbers(scalar, bytes).map(|n| number(n, scalar)).collect()),
            None => params.tree(name)?.map(tree_json),
        };
        let entry =
            json!({ "type": scalar.map(Scalar::name), "values": values, "bytes": data::show_hex(bytes) });
        buffers.insert(name.clone(), entry);
    }
    print(&format!("{}\n", json!({ "buffers": buffers, "stdout": output })))
}

fn tree_json(tree: Tree) -> Value {
    match tree {
        Tree::Number(n, scalar) => number(n, scalar),
        Tree::List(items) => items.into_iter().map(tree_json).collect(),
        Tree::Fields(fields) => fields.into_iter().map(|(name, tree)| (name, tree_json(tree))).collect(),
    }
}

/// A number in JSON, which has no infinities: they and NaN become strings.
pub fn number(number: Number, scalar: Scalar) -> Value {
    match number {
        Number::Int(n) if scalar == Scalar::Bool => json!(n != 0),
        Number::Int(n) if n < 0 => json!(n as i64),
        Number::Int(n) => json!(n as u64),
        Number::Float(x) if x.is_finite() => json!(x),
        Number::Float(x) => json!(x.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These integers are the same in binary64, whose significand has 53 bits.
    #[test]
    fn ranges_of_integers_are_exact() {
        let bytes: Vec<u8> = (0..300u64).flat_map(|i| ((1 << 60) + i).to_le_bytes()).collect();
        let text = list(Scalar::U64, &bytes, false);
        assert!(text.ends_with("(300 numbers, min 1152921504606846976, max 1152921504606847275)"), "{text}");
    }
}
