//! Emits `SV_ClipDistance` and `SV_CullDistance`.
//!
//! In the IR each distance is a separate number, like all values between stages. Shader languages have two arrays:
//!
//! ```text
//! out position: float4 [position]             @builtin(position) position: vec4<f32>,
//! out left: float [clip_distance]             @builtin(clip_distances) clip_distances: array<f32, 2>,
//! out right: float [clip_distance]
//! ```
//!
//! Two of naga's writers need corrections ([`redeclared`], [`in_rows`]). naga supports distances only as outputs of vertex
//! shaders. A fragment shader may declare them in the structure that it shares with the vertex shader, where they are
//! omitted. A fragment shader that reads them is refused.

use crate::func::FuncEmitter;
use crate::refuse::refuse;
use crate::{Emitter, Result};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{Entry, Func, Link, SystemValue};
use naga::{Expression, Handle};

/// What a member of the structure of outputs is made of.
pub(crate) enum Member {
    /// The output of that number.
    Output(usize),
    /// All distances of a kind, by their numbers.
    Distances(SystemValue, Vec<usize>),
}

/// The members for outputs with these links: distances where the first of their kind is.
pub(crate) fn members(links: &[Link]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for (number, link) in links.iter().enumerate() {
        let Some(value) = distance(*link) else {
            members.push(Member::Output(number));
            continue;
        };
        let same = members.iter_mut().find_map(|member| match member {
            Member::Distances(other, numbers) if *other == value => Some(numbers),
            Member::Distances(..) | Member::Output(_) => None,
        });
        match same {
            Some(numbers) => numbers.push(number),
            None => members.push(Member::Distances(value, vec![number])),
        }
    }
    members
}

/// How many distances of a kind these links are.
pub(crate) fn count(links: &[Link], value: SystemValue) -> usize {
    links.iter().filter(|link| **link == Link::System(value)).count()
}

/// GLSL in which the array of distances to cull by has a size, as the one to clip by has: naga gives it none.
#[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
pub(crate) fn redeclared(text: String, module: &naga::Module) -> String {
    let results = module.entry_points.iter().filter_map(|entry| entry.function.result.as_ref());
    let members = results.flat_map(|result| match &module.types[result.ty].inner {
        naga::TypeInner::Struct { members, .. } => &members[..],
        _ => &[],
    });
    let culls = Some(naga::Binding::BuiltIn(naga::BuiltIn::CullDistance));
    let size = members.filter(|member| member.binding == culls).find_map(|member| {
        match module.types[member.ty].inner {
            naga::TypeInner::Array { size: naga::ArraySize::Constant(size), .. } => Some(size),
            _ => None,
        }
    });
    match size {
        Some(size) => text.replacen(
            "void main() {",
            &format!("out float gl_CullDistance[{size}];\n\nvoid main() {{"),
            1,
        ),
        None => text,
    }
}

/// A line of HLSL that declares distances as outputs, of which naga forgets that they are several. An array would take a
/// register for each, of which there are two: they become vectors.
pub(crate) fn in_rows(line: &str, links: &[Link]) -> Option<String> {
    let (declared, semantic) = line.trim_end().strip_suffix(';')?.split_once(" : ")?;
    let name = declared.trim_start().strip_prefix("float ").filter(|name| !name.contains('['))?;
    let kinds = [SystemValue::ClipDistance, SystemValue::CullDistance];
    let value = kinds.into_iter().find(|value| value.semantic() == semantic)?;
    let (mut out, count) = (String::new(), count(links, value));
    for (row, first) in (0..count).step_by(4).enumerate() {
        let lanes = match (count - first).min(4) {
            1 => String::new(),
            lanes => lanes.to_string(),
        };
        let again = if row == 0 { String::new() } else { format!("_{row}") };
        out += &format!("    float{lanes} {name}{again} : {semantic}{row};\n");
    }
    Some(out)
}

/// What the array of distances of a kind is called.
pub(crate) fn array_name(value: SystemValue) -> &'static str {
    if value == SystemValue::ClipDistance { "clip_distances" } else { "cull_distances" }
}

/// Whether the input of that number is no argument of the shader.
pub(crate) fn is_left_out(entry: Option<&Entry>, number: usize) -> bool {
    entry.and_then(|entry| entry.inputs.get(number)).is_some_and(|link| distance(*link).is_some())
}

/// The kind of distance that a link is, if it is one.
pub(crate) fn distance(link: Link) -> Option<SystemValue> {
    match link {
        Link::System(value) if value.is_distance() => Some(value),
        Link::System(_) | Link::Location(_) => None,
    }
}

impl Emitter<'_> {
    /// Refuses an entry point that reads a distance.
    pub fn check_distances(&self, func: &Func, entry: &Entry) -> Result<()> {
        let reads = |value| func.all_insts().iter().any(|inst| func.insts[*inst].operands.contains(value));
        for (link, value) in entry.inputs.iter().zip(func.inputs()) {
            let Some(distance) = distance(*link).filter(|_| reads(value)) else { continue };
            let what = format!("a fragment shader that reads `{}` is not supported", distance.semantic());
            return refuse(Feature::DistanceRead, func.span, what);
        }
        Ok(())
    }

    /// The type of so many distances.
    pub fn distances(&mut self, count: usize) -> Handle<naga::Type> {
        let number = self.plain(naga::TypeInner::Scalar(naga::Scalar::F32));
        self.array(number, count as u32)
    }
}

impl FuncEmitter<'_, '_> {
    /// The values of the structure of outputs.
    pub fn output_members(&mut self, outputs: Vec<Handle<Expression>>) -> Vec<Handle<Expression>> {
        let Some(entry) = &self.func.entry else { return outputs };
        let member = |member| match member {
            Member::Output(number) => outputs[number],
            Member::Distances(_, numbers) => {
                let ty = self.emitter.distances(numbers.len());
                let components = numbers.into_iter().map(|number| outputs[number]).collect();
                self.expr(Expression::Compose { ty, components })
            }
        };
        members(&entry.outputs).into_iter().map(member).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_vectors_in_hlsl() {
        let [clip, cull] = [SystemValue::ClipDistance, SystemValue::CullDistance].map(Link::System);
        let links = [clip, cull, clip, clip, clip, clip];
        let rows = |line| in_rows(line, &links).unwrap_or_default();
        assert_eq!(
            rows("    float d : SV_ClipDistance;\n"),
            "    float4 d : SV_ClipDistance0;\n    float d_1 : SV_ClipDistance1;\n"
        );
        assert_eq!(rows("    float e : SV_CullDistance;\n"), "    float e : SV_CullDistance0;\n");
        assert_eq!(rows("    float d[5] : SV_ClipDistance;\n"), "");
        assert_eq!(rows("    float4 p : SV_Position;\n"), "");
    }
}
