//! Restores the semantics of the source in HLSL.
//!
//! naga names values between stages by location: `LOC0`. A Direct3D host binds vertex buffers by the names in the source. So
//! this module replaces the names in the structures and parameters of naga's entry points.
//!
//! ```text
//! struct VertexOutput_main { float2 uv : LOC0; };      struct VertexOutput_main { float2 uv : TEXCOORD0; };
//! ```

use crate::distances;
use cotangent_ir::{Entry, Link, Location, Stage};

/// The semantics of one entry point, by location.
pub(crate) struct Semantics {
    stage: Stage,
    inputs: Vec<Location>,
    outputs: Vec<Location>,
    /// Everything that goes out.
    gives: Vec<Link>,
}

impl Semantics {
    pub fn of(entry: &Entry) -> Self {
        // What is said twice means the first; the other goes by its location.
        let locations = |links: &[Link]| {
            let mut found: Vec<Location> = Vec::new();
            for link in links {
                let Link::Location(location) = link else { continue };
                let same =
                    |l: &Location| l.semantic.as_str().eq_ignore_ascii_case(location.semantic.as_str());
                if !found.iter().any(same) {
                    found.push(*location);
                }
            }
            found
        };
        Semantics {
            stage: entry.stage,
            inputs: locations(&entry.inputs),
            outputs: locations(&entry.outputs),
            gives: entry.outputs.clone(),
        }
    }

    /// The locations that are named between these words and the end of the block that they begin.
    fn within(&self, header: &str, name: &str) -> Option<&[Location]> {
        let is = |structure: &str| {
            let given = header.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {"));
            given.is_some_and(|given| given.trim_end_matches('_') == structure.trim_end_matches('_'))
        };
        match self.stage {
            Stage::Vertex if is(&format!("VertexOutput_{name}")) || is(&format!("{name}_outputs")) => {
                Some(&self.outputs)
            }
            Stage::Vertex if header.contains(&format!(" {name}(")) => Some(&self.inputs),
            Stage::Fragment if is(&format!("FragmentInput_{name}")) => Some(&self.inputs),
            Stage::Fragment if header.contains(&format!(" {name}(")) => Some(&self.inputs),
            Stage::Compute | Stage::Vertex | Stage::Fragment => None,
        }
    }
}

/// The text with the semantics of its entry points, whose names in the text are given.
pub(crate) fn with_semantics(text: &str, entries: &[(&str, &Semantics)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut here: Option<(&Semantics, &[Location])> = None;
    for line in text.split_inclusive('\n') {
        if !line.starts_with([' ', '}', '{', '\n']) {
            here = entries.iter().find_map(|(name, semantics)| {
                semantics.within(line.trim_end(), name).map(|locations| (*semantics, locations))
            });
        }
        match here {
            Some((semantics, locations)) => {
                let rows = distances::in_rows(line, &semantics.gives);
                out += &rows.unwrap_or_else(|| renamed(line, locations));
            }
            None => out += line,
        }
    }
    out
}

/// A line with the semantics of locations.
fn renamed(line: &str, locations: &[Location]) -> String {
    let mut parts = line.split(" : LOC");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let found = locations.iter().find(|location| location.index.to_string() == number);
        match found {
            Some(location) => out += &format!(" : {}{rest}", location.semantic),
            None => out += &format!(" : LOC{number}{rest}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_ir::Interpolation;

    #[test]
    fn semantics_are_those_of_the_entry_point() {
        let location = |index, semantic: &str| Location {
            index,
            interpolation: Interpolation::Perspective,
            semantic: semantic.into(),
        };
        let semantics = |stage, name| Semantics {
            stage,
            inputs: vec![location(0, name)],
            outputs: vec![location(0, "COLOR1"), location(1, "UV0")],
            gives: vec![],
        };
        let (vertex, pixel) = (semantics(Stage::Vertex, "POSITION0"), semantics(Stage::Fragment, "UV0"));
        let text = "struct VertexOutput_a1_ {\n    float x : LOC0;\n    float y : LOC1;\n};\n\n\
                    VertexOutput_a1_ a1_(float3 p : LOC0, float q : LOC7)\n{\n}\n\
                    struct FragmentInput_b {\n    float x : LOC0;\n};\n";
        let expected = "struct VertexOutput_a1_ {\n    float x : COLOR1;\n    float y : UV0;\n};\n\n\
                        VertexOutput_a1_ a1_(float3 p : POSITION0, float q : LOC7)\n{\n}\n\
                        struct FragmentInput_b {\n    float x : UV0;\n};\n";
        assert_eq!(with_semantics(text, &[("a1_", &vertex), ("b", &pixel)]), expected);
    }
}
