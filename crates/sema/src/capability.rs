//! Capabilities: the requirements in `[require(..)]`, and the names after `case` in `__target_switch` and `__stage_switch`.
//!
//! A capability is a target (`hlsl`), several targets (`cpp_cuda`), a stage (`compute`), a version (`sm_6_0`) or a feature
//! (`atomic64`). This table lists the targets and stages that may have each capability; the checker tests nothing else.
//! Versions and features of more than one target are assumed to exist on all. The emitters know what a target actually
//! supports.

use crate::Checked;
use crate::codes;
use crate::facts::Rules;
use crate::hir::FuncId;
use cotangent_base::{Diagnostic, Symbol, nearest};
use cotangent_syntax::ast::{Attribute, DeclKind, Expr, ExprKind, StructDecl};

/// The targets by name. A target's number is its place here.
pub const TARGETS: [&str; 7] = ["hlsl", "glsl", "spirv", "metal", "wgsl", "cpp", "cuda"];

/// The stages by name. A stage's number is its place here. We compile for the first three; the others are only ever left out.
pub const STAGES: [&str; 19] = [
    "compute",
    "vertex",
    "fragment",
    "hull",
    "domain",
    "geometry",
    "tesscontrol",
    "tesseval",
    "raygen",
    "raygeneration",
    "intersection",
    "anyhit",
    "closesthit",
    "callable",
    "miss",
    "mesh",
    "task",
    "amplification",
    "node",
];

/// The number of a stage, of which one has two names.
pub fn stage_number(name: &str) -> Option<usize> {
    let name = if name == "pixel" { "fragment" } else { name };
    STAGES.iter().position(|stage| *stage == name)
}

/// Targets of the language that we have no code for.
const OTHERS: [&str; 6] = ["c", "llvm", "slangvm", "nvapi", "textualTarget", "optix"];

/// What names of versions and extensions begin with, and whose they are.
const FAMILIES: &[(&str, &[&str])] = &[
    ("sm_", &TARGETS),
    ("DX_", &TARGETS),
    ("GLSL_", &TARGETS),
    ("SPIRV_", &TARGETS),
    ("METAL_", &TARGETS),
    ("glsl_spirv_1_", &["glsl"]),
    ("spirv_", &["spirv"]),
    ("metallib_", &["metal"]),
    ("cuda_sm_", &["cuda"]),
    ("optix_", &["cuda"]),
    ("hlsl_", &["hlsl"]),
    ("dxil_", &["hlsl"]),
    ("SPV_", &["spirv", "glsl"]),
    ("spv", &["spirv", "glsl"]),
    ("GL_", &["glsl", "spirv"]),
];

/// Names of features, or what they begin with.
const FEATURES: &[&str] = &[
    "abort",
    "any_cpp_target",
    "any_gfx_target",
    "any_stage",
    "any_target",
    "any_textual_target",
    "appendstructuredbuffer",
    "atomic",
    "breakpoint",
    "bufferreference",
    "byteaddressbuffer",
    "consumestructuredbuffer",
    "cooperative_",
    "descriptor_handle",
    "fragmentprocessing",
    "fragmentshaderbarycentric",
    "fragmentshaderinterlock",
    "getattributeatvertex",
    "helper_lane",
    "image_",
    "implicit_derivatives_sampling",
    "mem_model",
    "memorybarrier",
    "meshshading",
    "motionblur_nv",
    "nonuniformqualifier",
    "pack_vector",
    "printf",
    "quad_control",
    "rayquery",
    "raytracing",
    "ser",
    "shader5_sm_",
    "shaderclock",
    "shaderinvocationgroup",
    "shadermemorycontrol",
    "structuredbuffer",
    "subgroup_",
    "subpass",
    "tensor_addressing",
    "texture",
    "vk_mem_model",
];

/// A set of targets and of stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Targets {
    targets: u8,
    stages: u32,
}

impl Targets {
    /// All of them.
    pub const ALL: Targets = Targets { targets: (1 << TARGETS.len()) - 1, stages: (1 << STAGES.len()) - 1 };

    fn of(targets: &[&str]) -> Targets {
        let bits = TARGETS.iter().enumerate().filter(|(_, target)| targets.contains(target));
        Targets { targets: bits.fold(0, |all, (number, _)| all | 1 << number), ..Targets::ALL }
    }

    fn of_stages(stages: &[&str]) -> Targets {
        let bits = stages.iter().filter_map(|stage| stage_number(stage));
        Targets { stages: bits.fold(0, |all, number| all | 1 << number), ..Targets::ALL }
    }

    fn both(self, other: Targets) -> Targets {
        Targets { targets: self.targets & other.targets, stages: self.stages & other.stages }
    }

    fn either(self, other: Targets) -> Targets {
        Targets { targets: self.targets | other.targets, stages: self.stages | other.stages }
    }

    fn is_empty(self) -> bool {
        self.targets == 0 || self.stages == 0
    }

    /// Whether the target of this name is among them.
    pub fn contains(self, name: &str) -> bool {
        self.numbers().any(|number| TARGETS[number] == name)
    }

    /// Whether the stage of this name is among them.
    pub fn contains_stage(self, name: &str) -> bool {
        self.stages().contains(&name)
    }

    /// The numbers of the targets.
    pub(crate) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..TARGETS.len()).filter(move |number| self.targets >> number & 1 == 1)
    }

    /// The names of the targets.
    pub fn names(self) -> Vec<&'static str> {
        self.numbers().map(|number| TARGETS[number]).collect()
    }

    /// The names of the stages.
    pub fn stages(self) -> Vec<&'static str> {
        (0..STAGES.len()).filter(|number| self.stages >> number & 1 == 1).map(|n| STAGES[n]).collect()
    }
}

/// Whether a name is that of targets or stages, which imply no features.
pub(crate) fn is_place(name: &str) -> bool {
    name.split('_').all(|word| TARGETS.contains(&word) || stage_number(word).is_some())
}

/// What can have a capability.
fn capability(name: &str) -> Option<Targets> {
    let words: Vec<&str> = name.split('_').collect();
    if words.iter().all(|word| TARGETS.contains(word) || OTHERS.contains(word)) {
        return Some(Targets::of(&words));
    }
    if words.iter().all(|word| stage_number(word).is_some()) {
        return Some(Targets::of_stages(&words));
    }
    let version = |rest: &str| rest == "latest" || rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let family = FAMILIES.iter().find(|(prefix, _)| name.strip_prefix(prefix).is_some_and(version));
    if let Some((_, targets)) = family {
        return Some(Targets::of(targets));
    }
    let feature = FEATURES.iter().any(|feature| name.starts_with(feature));
    feature.then_some(Targets::ALL)
}

/// The targets that a `case` of a `__target_switch` stands for.
pub(crate) fn case_targets(name: &str) -> Option<Targets> {
    capability(name).filter(|_| stage_number(name).is_none())
}

impl Checked {
    /// The targets that a function may be for: `[require(a, b)]` asks for both, a second attribute allows something else.
    pub(crate) fn resolve_required(&mut self, id: FuncId) {
        let attributes = self.tables.funcs[id].prefix.attributes.clone();
        let mut allowed: Option<Targets> = None;
        for attribute in attributes.iter().filter(|a| a.name.name.as_str().eq_ignore_ascii_case("require")) {
            let targets = self.rules().required(attribute);
            allowed = Some(allowed.map_or(targets, |before| before.either(targets)));
        }
        self.program.funcs[id].targets = allowed.unwrap_or(Targets::ALL);
    }
}

impl Rules<'_> {
    /// A member exists on a target on which its structure does.
    pub(crate) fn check_member_targets(&mut self, attributes: &[Attribute], decl: &StructDecl) {
        let allowed = |attributes: &[Attribute]| {
            let requires = attributes.iter().filter(|a| a.name.name.as_str().eq_ignore_ascii_case("require"));
            let sets = requires.map(|a| {
                let names = a.args.iter().filter_map(|arg| capability(capability_name(arg)?.as_str()));
                names.fold(Targets::ALL, Targets::both)
            });
            sets.reduce(Targets::either).unwrap_or(Targets::ALL)
        };
        let own = allowed(attributes);
        if own == Targets::ALL {
            return;
        }
        for member in &decl.members {
            let DeclKind::Func(func) = &member.kind else { continue };
            let both = own.both(allowed(&member.attributes));
            if both.is_empty() {
                let message = format!("`{}` requires a target that its structure excludes", func.name.name);
                self.diagnostics.push(
                    Diagnostic::new(codes::UNKNOWN_CAPABILITY, func.name.span, message)
                        .label(decl.name.span, "this requires another one")
                        .help("remove one of the two attributes"),
                );
            }
        }
    }

    fn required(&mut self, attribute: &Attribute) -> Targets {
        let mut targets = Targets::ALL;
        let mut known = true;
        for arg in &attribute.args {
            match capability_name(arg).map(|name| (name, capability(name.as_str()))) {
                Some((_, Some(these))) => targets = targets.both(these),
                Some((name, None)) => {
                    self.unknown_capability(name, arg, "capability");
                    known = false;
                }
                None => {
                    let message = "a capability is a name, such as `hlsl` or `sm_6_0`";
                    self.diagnostics.push(Diagnostic::new(codes::UNKNOWN_CAPABILITY, arg.span, message));
                    known = false;
                }
            }
        }
        if known && targets.is_empty() && attribute.args.len() > 1 {
            let message = "no target has all of these capabilities";
            let diagnostic = Diagnostic::new(codes::UNKNOWN_CAPABILITY, attribute.span, message);
            self.diagnostics.push(diagnostic.help("for alternatives, write one attribute for each"));
            return Targets::ALL;
        }
        if known { targets } else { Targets::ALL }
    }

    /// Reports a name that is no capability.
    pub(crate) fn unknown_capability(&mut self, name: Symbol, at: &Expr, what: &str) {
        let message = format!("there is no {what} `{name}`");
        let mut diagnostic = Diagnostic::new(codes::UNKNOWN_CAPABILITY, at.span, message);
        let all = TARGETS.iter().chain(&STAGES).copied();
        if let Some(near) = nearest(name.as_str(), all) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(diagnostic);
    }
}

/// The name that an expression is.
pub(crate) fn capability_name(expr: &Expr) -> Option<Symbol> {
    match expr.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(name: &str) -> Option<Vec<&'static str>> {
        capability(name).map(Targets::names)
    }

    #[test]
    fn names_are_targets_versions_features_or_nothing() {
        assert_eq!(targets("hlsl"), Some(vec!["hlsl"]));
        assert_eq!(targets("cpp_cuda_glsl_hlsl_metal_spirv_wgsl_llvm"), Some(TARGETS.to_vec()));
        assert_eq!(targets("cuda_sm_7_0"), Some(vec!["cuda"]));
        assert_eq!(targets("sm_6_0"), Some(TARGETS.to_vec()));
        assert_eq!(targets("spvAtomicFloat32AddEXT"), Some(vec!["glsl", "spirv"]));
        assert_eq!(targets("subgroup_ballot"), Some(TARGETS.to_vec()));
        for unknown in ["hsls", "sm_", "no_such_thing", "cpp_hsls", ""] {
            assert_eq!(targets(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn stages_are_told_apart() {
        let stages = |name: &str| capability(name).map(Targets::stages);
        assert_eq!(stages("compute_fragment"), Some(vec!["compute", "fragment"]));
        assert_eq!(stages("fragment"), Some(vec!["fragment"]));
        assert_eq!(stages("pixel"), stages("fragment"));
        assert_eq!(stages("glsl_spirv_1_3"), Some(STAGES.to_vec()));
        let both = capability("fragment").zip(capability("compute")).map(|(a, b)| a.both(b));
        assert!(both.is_some_and(Targets::is_empty));
    }
}
