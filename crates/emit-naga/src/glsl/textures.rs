//! Separates textures and samplers in GLSL, as Vulkan requires.
//!
//! naga writes combined samplers (`sampler2D`) and no separate ones. Each combination of a texture and a sampler is a
//! variable in its output, beside the texture itself:
//!
//! ```text
//! uniform sampler2D _group_0_binding_0_cs;             uniform texture2D _group_0_binding_0_cs;
//! uniform sampler2D _group_4294967294_binding_0_cs; -> uniform sampler _group_0_binding_1_cs;
//! textureLod(_group_4294967294_binding_0_cs, at, 0.0)  textureLod(sampler2D(_group_0_binding_0_cs, _group_0_binding_1_cs), at, 0.0)
//! texelFetch(_group_0_binding_0_cs, at, 0)             texelFetch(_group_0_binding_0_cs, at, 0)
//! ```

use crate::write::Slots;
use naga::ResourceBinding;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What reading textures without a sampler needs.
const EXTENSION: &str = "#extension GL_EXT_samplerless_texture_functions : require\n";

/// What naga calls a resource.
pub fn name(at: ResourceBinding, stage: &str) -> String {
    format!("_group_{}_binding_{}_{stage}", at.group, at.binding)
}

/// The text with textures and samplers apart; `numbers` are those that naga writes as bindings.
pub fn apart(text: &str, slots: &Slots, numbers: &BTreeMap<ResourceBinding, u8>, stage: &str) -> String {
    let declared: BTreeMap<&str, &str> =
        text.lines().filter_map(declaration).map(|(_, ty, name)| (name, ty)).collect();
    if declared.is_empty() {
        return text.to_string();
    }
    let mut whole: Vec<(String, String)> = Vec::new();
    let mut separate = BTreeSet::new();
    for pair in &slots.pairs {
        let Some(ty) = declared.get(name(pair.pair, stage).as_str()) else { continue };
        let [texture, sampler] = [pair.texture, pair.sampler].map(|at| name(at, stage));
        whole.push((name(pair.pair, stage), format!("{ty}({texture}, {sampler})")));
        let kind = if ty.ends_with("Shadow") { "samplerShadow" } else { "sampler" };
        separate.insert(declare(numbers, pair.sampler, kind, &sampler));
        if !declared.contains_key(texture.as_str()) {
            separate.insert(declare(numbers, pair.texture, &texture_type(ty), &texture));
        }
    }
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match declaration(line) {
            Some((_, _, name)) if whole.iter().any(|(pair, _)| pair == name) => {
                std::mem::take(&mut separate).into_iter().for_each(|line| out += &line);
            }
            Some((before, ty, name)) => {
                _ = writeln!(out, "{before}uniform {} {name};", texture_type(ty));
            }
            None => out += &whole.iter().fold(line.to_string(), |line, (pair, it)| line.replace(pair, it)),
        }
    }
    let fetches = declared.keys().any(|name| whole.iter().all(|(pair, _)| pair != name));
    match out.find('\n').filter(|_| fetches) {
        Some(end) => format!("{}{EXTENSION}{}", &out[..=end], &out[end + 1..]),
        None => out,
    }
}

/// What stands before `uniform`, the type and the name, if a line declares a texture that is sampled.
fn declaration(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.trim_end().strip_suffix(';')?.split_once("uniform ")?;
    let (ty, name) = rest.rsplit_once(' ')?;
    let ty = ty.rsplit(' ').next()?;
    ty.trim_start_matches(['i', 'u']).starts_with("sampler").then_some((before, ty, name))
}

/// `texture2D` of `sampler2D` and `sampler2DShadow`.
fn texture_type(ty: &str) -> String {
    ty.replacen("sampler", "texture", 1).trim_end_matches("Shadow").to_string()
}

fn declare(numbers: &BTreeMap<ResourceBinding, u8>, at: ResourceBinding, ty: &str, name: &str) -> String {
    let number = numbers.get(&at).copied().unwrap_or_default();
    format!("layout(binding = {number}) uniform {ty} {name};\n")
}
