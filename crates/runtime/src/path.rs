//! Paths such as `lights[2].pos`, and the parts of a type that they select.

use crate::{Error, bail};
use cotangent_base::{Scalar, fields};
use cotangent_ir::{StructField, Ty, Type, Types, layout, type_group};

/// `lights[2].pos` -> `lights`, [`2`, `pos`].
pub fn split(path: &str) -> Result<(&str, Vec<String>), Error> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let mut steps = Vec::new();
    for part in rest.split(['.', '[']).skip(1) {
        let step = part.trim();
        let step = step.strip_suffix(']').unwrap_or(step).trim();
        if step.is_empty() {
            bail!("`{path}` is not a path: write name, name.field, name[2] or name.0");
        }
        steps.push(step.to_string());
    }
    if name.trim().is_empty() {
        bail!("`{path}` does not begin with a name");
    }
    Ok((name.trim(), steps))
}

/// Fields that nobody wrote, and what they are called where values are shown and given. What a structure inherits is one field,
/// its first, which has no name of its own: its fields are found as if they were the structure's.
const RENAMED: [(&str, &str); 3] =
    [(fields::BASE, ""), (fields::PRESENT, "hasValue"), (fields::VALUE, "value")];

/// The name of a field where values are shown.
fn shown(field: &StructField) -> &str {
    let renamed = RENAMED.iter().find(|(name, _)| field.name == **name);
    renamed.map_or(field.name.as_str(), |(_, shown)| shown)
}

/// Offset and type of the part a step leads to: a field by name or number, an element, a lane (also by letter), a row.
pub fn descend(types: &Types, ty: Ty, step: &str) -> Option<(u32, Ty)> {
    let index = match (step.parse::<u32>(), types.get(ty)) {
        (Ok(index), _) => index,
        (Err(_), Type::Struct(id)) => {
            let fields = &types.struct_def(id).fields;
            match fields.iter().position(|f| shown(f) == step) {
                Some(index) => index as u32,
                None => return inherited(types, ty, fields.first()?, step),
            }
        }
        (Err(_), Type::Vector(..)) if step.len() == 1 => {
            ["xyzw", "rgba"].iter().find_map(|s| s.find(step))? as u32
        }
        _ => return None,
    };
    layout::part(types, ty, index)
}

/// The part of `ty` that a step leads to in what it inherits.
fn inherited(types: &Types, ty: Ty, first: &StructField, step: &str) -> Option<(u32, Ty)> {
    let (start, base) = layout::part(types, ty, 0).filter(|_| first.name == *fields::BASE)?;
    let (offset, part) = descend(types, base, step)?;
    Some((start + offset, part))
}

/// A scalar inside a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// How it is reached, as written after the name of the whole: `.pos.x`, `[2]`, or nothing.
    pub path: String,
    /// Its type.
    pub scalar: Scalar,
    /// Its first byte.
    pub offset: usize,
}

/// All scalars of a type, in the order they lie in memory.
pub fn leaves(types: &Types, ty: Ty) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(types, ty, &mut String::new(), 0, &mut found);
    found
}

fn collect(types: &Types, ty: Ty, path: &mut String, offset: usize, found: &mut Vec<Leaf>) {
    if let Type::Scalar(scalar) = types.get(ty) {
        found.push(Leaf { path: path.clone(), scalar, offset });
        return;
    }
    for index in 0..types.arity(ty).unwrap_or(0) {
        let Some((part_offset, part)) = layout::part(types, ty, index) else { return };
        let length = path.len();
        path.push_str(&step_name(types, ty, index));
        collect(types, part, path, offset + part_offset as usize, found);
        path.truncate(length);
    }
}

fn step_name(types: &Types, ty: Ty, index: u32) -> String {
    match types.get(ty) {
        Type::Struct(id) => match shown(&types.struct_def(id).fields[index as usize]) {
            "" => String::new(),
            name => format!(".{name}"),
        },
        Type::Vector(..) => format!(".{}", ["x", "y", "z", "w"][index as usize]),
        type_group!(unit | number | composite | handle) => format!("[{index}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Types, Ty) {
        let mut types = Types::default();
        let (int, float2) = (types.scalar(Scalar::I32), types.intern(Type::Vector(Scalar::F32, 2)));
        let pair = types.intern(Type::Array(float2, 2));
        let field = |name: &str, ty| StructField { name: name.into(), ty };
        let id = types.add_struct("S".into(), vec![field("n", int), field("points", pair)]);
        let ty = types.intern(Type::Struct(id));
        (types, ty)
    }

    #[test]
    fn leaves_are_named_as_a_person_would() {
        let (types, ty) = sample();
        let names: Vec<(String, usize)> =
            leaves(&types, ty).into_iter().map(|l| (l.path, l.offset)).collect();
        let expected =
            [(".n", 0), (".points[0].x", 4), (".points[0].y", 8), (".points[1].x", 12), (".points[1].y", 16)];
        assert_eq!(names, expected.map(|(p, o)| (p.to_string(), o)));
    }

    #[test]
    fn paths_lead_to_parts() {
        let (types, ty) = sample();
        let (name, steps) = split("s.points[1].y").unwrap();
        assert_eq!((name, &steps[..]), ("s", &["points".to_string(), "1".into(), "y".into()][..]));
        let (points, array) = descend(&types, ty, "points").unwrap();
        let (element, vector) = descend(&types, array, "1").unwrap();
        assert_eq!((points, element, descend(&types, vector, "y").unwrap().0), (4, 8, 4));
        assert!(descend(&types, array, "2").is_none());
        assert!(split("a..b").is_err() && split("[2]").is_err());
    }
}
