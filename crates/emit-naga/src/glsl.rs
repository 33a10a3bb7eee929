//! GLSL for Vulkan. Input: naga's GLSL. Output: GLSL with Vulkan's bindings and built-in names.
//!
//! naga writes GLSL for OpenGL, and numbers resources in one sequence of bytes. Descriptor sets and push constants exist only
//! in Vulkan. So such resources get unique numbers, which are replaced in the text ([`Numbers`]). Vulkan has separate
//! textures and samplers ([`textures`]), and other names for vertex and instance indices ([`vulkan_words`]).

mod textures;

use crate::Result;
use crate::write::{Slots, invalid, outside};
use cotangent_ir::layout::bind::{Kind, Slot};
use naga::back::glsl;
use naga::valid::ModuleInfo;
use std::collections::BTreeMap;

/// How naga names stages: compute, vertex, fragment.
const STAGES: [&str; 3] = ["cs", "vs", "fs"];

#[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
fn stage_name(stage: naga::ShaderStage) -> &'static str {
    match stage {
        naga::ShaderStage::Vertex => STAGES[1],
        naga::ShaderStage::Fragment => STAGES[2],
        _ => STAGES[0],
    }
}

/// Writes a module with one entry point.
pub(crate) fn write(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<String> {
    let entry = module.entry_points.first().ok_or_else(|| invalid("there is no entry point"))?;
    let numbers = Numbers::new(slots)?;
    let options = glsl::Options {
        version: glsl::Version::Desktop(450),
        writer_flags: glsl::WriterFlags::empty(),
        binding_map: numbers.given.clone(),
        zero_initialize_workgroup_memory: false,
    };
    let pipeline =
        glsl::PipelineOptions { shader_stage: entry.stage, entry_point: entry.name.clone(), multiview: None };
    let mut out = String::new();
    glsl::Writer::new(&mut out, module, info, &options, &pipeline, outside())
        .and_then(|mut writer| writer.write())
        .map_err(|e| invalid(&e.to_string()))?;
    let out = crate::distances::redeclared(out, module);
    let out = textures::apart(&vulkan_words(&out), slots, &numbers.given, stage_name(entry.stage));
    Ok(with_names(numbers.with_places(&out), module))
}

/// The text with Vulkan's words. Its numbers of vertices and instances begin with what the draw call adds, which naga would have
/// the host say in a uniform.
fn vulkan_words(text: &str) -> String {
    let mut out = text
        .replace("uniform uint naga_vs_first_instance;\n", "")
        .replace("(uint(gl_InstanceID) + naga_vs_first_instance)", "uint(gl_InstanceIndex)")
        .replace("gl_VertexID", "gl_VertexIndex");
    let of_calls = ["uint(gl_BaseVertex)", "uint(gl_BaseInstance)", "gl_DrawID"];
    if of_calls.iter().any(|word| out.contains(word)) {
        for word in of_calls {
            let name = word.trim_start_matches("uint(").trim_end_matches(')');
            out = out.replace(word, &format!("uint({name}ARB)"));
        }
        require(&mut out, "GL_ARB_shader_draw_parameters");
    }
    // naga asks for it where there are operations on waves, but not where only the lane or the number of lanes is read.
    if out.contains("gl_Subgroup") {
        require(&mut out, "GL_KHR_shader_subgroup_basic");
    }
    out
}

/// Adds the directive for an extension after the version, unless it is there.
fn require(text: &mut String, extension: &str) {
    let directive = format!("#extension {extension} : require\n");
    if !text.contains(&directive) {
        let end = text.find('\n').map_or(0, |end| end + 1);
        text.insert_str(end, &directive);
    }
}

/// The numbers that naga writes, and the slots that some of them stand for.
struct Numbers {
    given: BTreeMap<naga::ResourceBinding, u8>,
    stand_ins: BTreeMap<u8, Slot>,
}

impl Numbers {
    fn new(slots: &Slots) -> Result<Self> {
        let own = |slot: Slot| {
            let plain = slot.space == 0 && slot.kind == Kind::Binding;
            u8::try_from(slot.index).ok().filter(|_| plain)
        };
        let taken: Vec<u8> = slots.iter().filter_map(|(_, slot)| own(slot)).collect();
        let mut free = (0..=u8::MAX).rev().filter(|number| !taken.contains(number));
        let (mut given, mut stand_ins) = (BTreeMap::new(), BTreeMap::new());
        for (ours, slot) in slots.iter() {
            let number = match own(slot) {
                Some(number) => number,
                None => {
                    let number = free.next().ok_or_else(|| invalid("there are more than 256 resources"))?;
                    stand_ins.insert(number, slot);
                    number
                }
            };
            given.insert(ours, number);
        }
        Ok(Numbers { given, stand_ins })
    }

    /// The text with the places that numbers stand for; each line is looked at once, so no place is taken for a number.
    fn with_places(&self, text: &str) -> String {
        text.split_inclusive('\n').map(|line| self.placed(line).unwrap_or_else(|| line.to_string())).collect()
    }

    /// A line with a place in it, if it declares a resource whose number stands for one.
    fn placed(&self, line: &str) -> Option<String> {
        let (before, rest) = line.strip_prefix("layout(")?.split_once("binding = ")?;
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let slot = self.stand_ins.get(&number.parse().ok()?)?;
        Some(match slot.kind {
            Kind::PushConstant => format!("layout(push_constant{after}"),
            Kind::Binding
            | Kind::ConstantBuffer
            | Kind::ShaderResource
            | Kind::UnorderedAccess
            | Kind::Sampler
            | Kind::Texture
            | Kind::Beside
            | Kind::Buffer => {
                format!("layout({before}set = {}, binding = {}{after}", slot.space, slot.index)
            }
        })
    }
}

/// naga calls resources in GLSL by their numbers. They get the names of the source back, with their numbers after them, so
/// that they are no words of the language; unless something else is called so.
fn with_names(mut text: String, module: &naga::Module) -> String {
    for (_, var) in module.global_variables.iter() {
        let (Some(binding), Some(name)) = (&var.binding, &var.name) else { continue };
        let naga::ResourceBinding { group, binding } = binding;
        for stage in STAGES {
            let theirs = textures::name(naga::ResourceBinding { group: *group, binding: *binding }, stage);
            let plain = crate::func::plain_name(name.as_str().into());
            // Names that begin so are the language's own.
            let plain = if plain.starts_with("gl_") { format!("_{plain}") } else { plain };
            let ours = match *group {
                0 | u32::MAX => format!("{plain}_{binding}"),
                _ => format!("{plain}_{group}_{binding}"),
            };
            if !text.contains(&ours) {
                text = text.replace(&theirs, &ours);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(places: &[(u32, u32)]) -> Slots {
        let mut slots = Slots::default();
        for &(space, index) in places {
            slots.binding(Slot { kind: Kind::Binding, space, index, count: 1 });
        }
        slots
    }

    #[test]
    fn numbers_that_stand_for_places_are_no_bindings() {
        let slots = slots(&[(0, 255), (1, 0), (2, 254), (0, 300)]);
        let numbers = Numbers::new(&slots).expect("room");
        let lines = numbers.given.iter().map(|(ours, number)| {
            let line = numbers.with_places(&format!("layout(std430, binding = {number}) buffer\n"));
            (ours.group, ours.binding, line)
        });
        for (group, binding, line) in lines {
            let set = if group == 0 && binding < 256 { String::new() } else { format!("set = {group}, ") };
            assert_eq!(line, format!("layout(std430, {set}binding = {binding}) buffer\n"));
        }
    }

    #[test]
    fn there_is_room_for_256_resources() {
        let places: Vec<(u32, u32)> = (0..257).map(|i| (1, i)).collect();
        assert!(Numbers::new(&slots(&places[..256])).is_ok());
        assert!(Numbers::new(&slots(&places)).is_err());
    }
}
