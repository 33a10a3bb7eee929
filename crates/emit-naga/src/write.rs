//! Writes a naga module in a target language, with naga's validator and writers.
//!
//! While the module is built, resources have naga's own numbers: HLSL numbers `b`, `t` and `u` separately, but naga has one
//! sequence per group. The tables passed to each writer map them to the target's numbers ([`Slots`]).
//!
//! naga panics on some modules that its validator accepts. This module catches such panics and reports an internal error.

use crate::hlsl::{is_sampler, sampler_buffers, with_registers};
use crate::semantics::{Semantics, with_semantics};
use crate::{Built, codes, lines, specialized};
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::layout::Target;
use cotangent_ir::layout::bind::{Kind, Slot};
use naga::back::{hlsl, msl, spv, wgsl};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, EntryPointError, ModuleInfo, ValidationError, ValidationFlags, Validator};
use rspirv::spirv::{Capability, Op};
use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Result<T> = crate::Result<T>;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// What a target wants: text, or the words of SPIR-V.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Emitted {
    /// Source.
    Text(String),
    /// SPIR-V.
    Words(Vec<u32>),
}

/// A module as a target wants it, and the names of its entry points there.
struct Written {
    code: Emitted,
    entries: Vec<String>,
}

/// The slots of the target, by the binding that naga knows a resource by.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<(naga::ResourceBinding, Slot)>,
    /// Textures together with samplers, where a target samples so.
    pub pairs: Vec<Pair>,
}

/// The group in which the samplers are that share the binding of a texture in set 0; those of other sets are in groups before it.
/// naga knows no two resources of one binding.
const BESIDE: u32 = u32::MAX / 2;

/// A binding that stands for a texture together with a sampler.
pub(crate) struct Pair {
    pub pair: naga::ResourceBinding,
    pub texture: naga::ResourceBinding,
    pub sampler: naga::ResourceBinding,
}

impl Slots {
    /// The binding that stands for `slot`: the same where the target numbers as naga does.
    pub fn binding(&mut self, slot: Slot) -> naga::ResourceBinding {
        if let Some((ours, _)) = self.slots.iter().find(|(_, s)| *s == slot) {
            return *ours;
        }
        let ours = match slot.kind {
            Kind::Binding => naga::ResourceBinding { group: slot.space, binding: slot.index },
            Kind::ConstantBuffer
            | Kind::ShaderResource
            | Kind::UnorderedAccess
            | Kind::Sampler
            | Kind::Texture
            | Kind::Buffer => naga::ResourceBinding { group: 0, binding: self.slots.len() as u32 },
            Kind::PushConstant => naga::ResourceBinding { group: u32::MAX, binding: 0 },
            Kind::Beside => naga::ResourceBinding { group: BESIDE - slot.space, binding: slot.index },
        };
        self.slots.push((ours, slot));
        ours
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (naga::ResourceBinding, Slot)> {
        self.slots.iter().copied()
    }
}

/// A bug of ours.
pub(crate) fn invalid(what: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(codes::INVALID, Span::none(), format!("the emitted shader is invalid: {what}")))
}

/// Validates a module and writes it.
pub(crate) fn write(built: &Built, target: Target) -> Result<Emitted> {
    specialized::set(write_marked(built, target)?, &built.marks, target)
}

/// The same before specialization constants have their values.
fn write_marked(built: &Built, target: Target) -> Result<Emitted> {
    catching(target, || match (write_module(&built.out, built, target, None)?.code, &built.lines) {
        (plain, None) => Ok(plain),
        (Emitted::Text(plain), Some(table)) => {
            let (module, marker) = lines::marked(&built.out, &plain);
            match write_module(&module, built, target, None)?.code {
                Emitted::Text(marked) => {
                    lines::in_text(&plain, &marked, &marker, table, target).map(Emitted::Text)
                }
                Emitted::Words(_) => Err(invalid("text was expected")),
            }
        }
        (Emitted::Words(plain), Some(table)) => {
            match write_module(&built.out, built, target, Some(&lines::source(table)))?.code {
                Emitted::Words(lined) => lines::in_words(&plain, &lined, table).map(Emitted::Words),
                Emitted::Text(_) => Err(invalid("words were expected")),
            }
        }
    })
}

/// The names that entry points have in what is written.
pub(crate) fn entry_names(built: &Built, target: Target) -> Result<Vec<String>> {
    catching(target, || Ok(write_module(&built.out, built, target, None)?.entries))
}

/// What `work` gives, which calls naga's writers; a panic there becomes a diagnostic.
fn catching<T>(target: Target, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What was half written is thrown away with the panic.
    CATCHING.set(true);
    let written = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    written.unwrap_or_else(|_| Err(invalid(&format!("naga cannot emit it as {}", target.title()))))
}

/// Validates and writes `module`, which is that of `built` or one like it. `source` is what its spans are offsets into, for
/// SPIR-V that says them.
fn write_module(
    module: &naga::Module,
    built: &Built,
    target: Target,
    source: Option<&str>,
) -> Result<Written> {
    let Built { slots, semantics, .. } = built;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(module).map_err(|e| refused(built, target, e.into_inner()))?;
    let (text, entries) = match target {
        Target::Wgsl => write_wgsl(module, &info)?,
        Target::SpirV => {
            let code = Emitted::Words(write_spirv(module, &info, built, source)?);
            let entries = module.entry_points.iter().map(|entry| entry.name.clone()).collect();
            return Ok(Written { code, entries });
        }
        Target::Glsl => (crate::glsl::write(module, &info, slots)?, vec!["main".to_string()]),
        Target::Hlsl => write_hlsl(module, &info, slots, semantics)?,
        Target::Metal => write_metal(module, &info, slots)?,
        Target::Cuda | Target::Cpp => return Err(invalid("naga does not emit this language")),
    };
    Ok(Written { code: Emitted::Text(text), entries })
}

/// What naga found: a bug of ours, unless the program asks for one place for two parameters of an entry point.
fn refused(built: &Built, target: Target, error: ValidationError) -> Box<Diagnostic> {
    let ValidationError::EntryPoint { source: EntryPointError::BindingCollision(at), .. } = error else {
        return invalid(&format!("{error:?}"));
    };
    let variables = &built.out.global_variables;
    let there = variables.iter().filter(|(_, var)| var.binding == variables[at].binding);
    let names: Vec<String> =
        there.map(|(_, var)| format!("`{}`", var.name.as_deref().unwrap_or("_"))).collect();
    let what = format!("{} share one binding in {}", names.join(" and "), target.title());
    let span = built.declared.get(&at).copied().unwrap_or(Span::none());
    let refusal = Diagnostic::new(codes::UNSUPPORTED, span, what);
    Box::new(refusal.help("give each its own `register` or `[[vk::binding]]`, or none"))
}

/// Whether a panic of this thread would be caught here and reported as a diagnostic, so that a panic hook need not report it.
pub fn is_catching() -> bool {
    CATCHING.get()
}

fn write_wgsl(module: &naga::Module, info: &ModuleInfo) -> Result<(String, Vec<String>)> {
    check_layouts(module)?;
    let text = wgsl::write_string(module, info, wgsl::WriterFlags::empty());
    let text = text.map_err(|e| invalid(&e.to_string()))?;
    let entries = wgsl_entries(&text);
    // naga writes the shortest decimal, which for the largest float is slightly too large. Some compilers refuse it.
    let text =
        text.replace("340282350000000000000000000000000000000f", "340282346638528859811704183484516925440f");
    // naga looks at the types of variables only; halves may occur in nothing but expressions.
    let asks = text.lines().any(|line| line.starts_with("enable f16"));
    let text = if !asks && computes_in_halves(module) { format!("enable f16;\n\n{text}") } else { text };
    Ok((text, entries))
}

/// The names of the entry points in WGSL, which naga does not tell: each follows a line with its stage.
fn wgsl_entries(text: &str) -> Vec<String> {
    let is_stage = |line: &str| ["@compute", "@vertex", "@fragment"].iter().any(|s| line.starts_with(s));
    let name = |line: &str| line.strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_string());
    text.lines()
        .zip(text.lines().skip(1))
        .filter(|(stage, _)| is_stage(stage))
        .filter_map(|(_, f)| name(f))
        .collect()
}

/// naga prints no offsets and strides in WGSL: those of memory that the host sees must be what WGSL makes of the order.
#[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
fn check_layouts(module: &naga::Module) -> Result<()> {
    use naga::{AddressSpace, TypeInner};
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).map_err(|e| invalid(&e.to_string()))?;
    let shared = |space| matches!(space, AddressSpace::Uniform | AddressSpace::Storage { .. });
    let vars = module.global_variables.iter().map(|(_, var)| var);
    let mut open: Vec<_> = vars.filter(|var| shared(var.space)).map(|var| (var.ty, true)).collect();
    while let Some((ty, whole)) = open.pop() {
        let fits = match &module.types[ty].inner {
            TypeInner::Struct { members, span } => {
                open.extend(members.iter().map(|member| (member.ty, false)));
                let mut end = 0;
                let placed = members.iter().all(|member| {
                    let offset = layouter[member.ty].alignment.round_up(end);
                    end = offset + layouter[member.ty].size;
                    offset == member.offset
                });
                // Nothing lies after the whole of a variable, so its size may be rounded up.
                placed && (whole || layouter[ty].alignment.round_up(end) == *span)
            }
            TypeInner::Array { base, stride, .. } => {
                open.push((*base, false));
                layouter[*base].to_stride() == *stride
            }
            _ => true,
        };
        if !fits {
            return Err(invalid(&format!("WGSL would lay out {:?} otherwise", module.types[ty])));
        }
    }
    Ok(())
}

fn computes_in_halves(module: &naga::Module) -> bool {
    use naga::{Expression, Literal, ScalarKind};
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let mut functions = module.functions.iter().map(|(_, function)| function).chain(entries);
    functions.any(|function| {
        let half = |expression: &Expression| {
            matches!(
                expression,
                Expression::Literal(Literal::F16(_))
                    | Expression::As { kind: ScalarKind::Float, convert: Some(2), .. }
            )
        };
        function.expressions.iter().any(|(_, expression)| half(expression))
    })
}

fn write_spirv(
    module: &naga::Module,
    info: &ModuleInfo,
    built: &Built,
    source: Option<&str>,
) -> Result<Vec<u32>> {
    let binding = |slot: Slot| spv::BindingInfo {
        descriptor_set: slot.space,
        binding: slot.index,
        ..Default::default()
    };
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        binding_map: built.slots.iter().map(|(ours, slot)| (ours, binding(slot))).collect(),
        bounds_check_policies: outside(),
        zero_initialize_workgroup_memory: if built.checked {
            spv::ZeroInitializeWorkgroupMemoryMode::Polyfill
        } else {
            spv::ZeroInitializeWorkgroupMemoryMode::None
        },
        force_loop_bounding: false,
        emit_int_div_checks: false,
        debug_info: source.map(|source_code| spv::DebugInfo {
            source_code,
            file_name: "",
            language: spv::SourceLanguage::Unknown,
        }),
        ..Default::default()
    };
    let mut words = spv::write_vec(module, info, &options, None).map_err(|e| invalid(&e.to_string()))?;
    if counts_from_first(module) {
        // naga does not say that it needs this.
        let capability = [2 << 16 | Op::Capability as u32, Capability::DrawParameters as u32];
        words.splice(5..5, capability);
    }
    Ok(single_components(&words))
}

/// For the width of an array of 1D textures naga writes a shuffle of one component. SPIR-V wants the component extracted.
fn single_components(words: &[u32]) -> Vec<u32> {
    let (header, mut rest) = words.split_at(5);
    let (mut fixed, mut vectors) = (header.to_vec(), HashSet::new());
    while let [first, ..] = rest {
        let length = ((first >> 16) as usize).clamp(1, rest.len());
        let (instruction, after) = rest.split_at(length);
        match *instruction {
            [_, ty, ..] if first & 0xFFFF == Op::TypeVector as u32 => {
                vectors.insert(ty);
                fixed.extend_from_slice(instruction);
            }
            [_, ty, result, vector, _, component]
                if first & 0xFFFF == Op::VectorShuffle as u32 && !vectors.contains(&ty) =>
            {
                fixed.extend([5 << 16 | Op::CompositeExtract as u32, ty, result, vector, component]);
            }
            _ => fixed.extend_from_slice(instruction),
        }
        rest = after;
    }
    fixed
}

/// Whether an entry point asks what a draw call adds to the numbers of vertices and instances.
fn counts_from_first(module: &naga::Module) -> bool {
    let bases = [naga::BuiltIn::BaseVertex, naga::BuiltIn::BaseInstance].map(naga::Binding::BuiltIn);
    let mut arguments = module.entry_points.iter().flat_map(|entry| &entry.function.arguments);
    arguments.any(|argument| argument.binding.as_ref().is_some_and(|b| bases.contains(b)))
}

/// Outside a texture there is zero; indices are checked by us where they are.
pub(crate) fn outside() -> BoundsCheckPolicies {
    BoundsCheckPolicies { image_load: BoundsCheckPolicy::ReadZeroSkipWrite, ..Default::default() }
}

/// A number as naga takes it; larger ones were refused when the resource was declared.
fn byte(number: u32) -> Result<u8> {
    u8::try_from(number).map_err(|_| invalid(&format!("{number} does not fit in a byte")))
}

fn write_hlsl(
    module: &naga::Module,
    info: &ModuleInfo,
    slots: &Slots,
    semantics: &[Semantics],
) -> Result<(String, Vec<String>)> {
    let target = |(ours, slot): (naga::ResourceBinding, Slot)| {
        let space = byte(slot.space)?;
        let register = if is_sampler(slot.kind) { ours.binding } else { slot.index };
        Ok((ours, hlsl::BindTarget { space, register, ..Default::default() }))
    };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_2,
        binding_map: slots.iter().map(target).collect::<Result<_>>()?,
        sampler_buffer_binding_map: sampler_buffers(),
        fake_missing_bindings: false,
        zero_initialize_workgroup_memory: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..Default::default()
    };
    let (mut out, pipeline) = (String::new(), hlsl::PipelineOptions::default());
    let written = hlsl::Writer::new(&mut out, &options, &pipeline)
        .write(module, info, None)
        .map_err(|e| invalid(&e.to_string()))?;
    let names = written_names(written.entry_point_names);
    let meant: Vec<_> = names.iter().map(String::as_str).zip(semantics).collect();
    Ok((with_semantics(&with_registers(&out, slots), &meant), names))
}

/// The names that naga gave to entry points; one that it could not write has none.
fn written_names<E>(names: Vec<std::result::Result<String, E>>) -> Vec<String> {
    names.into_iter().map(|name| name.unwrap_or_default()).collect()
}

/// Metal has no way to ask how long a buffer is: the host says so in a buffer of sizes, the first index that is free.
fn write_metal(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<(String, Vec<String>)> {
    let mutable = |ours: naga::ResourceBinding| {
        let found = module.global_variables.iter().find(|(_, v)| v.binding == Some(ours));
        found.is_some_and(|(_, v)| {
            matches!(v.space, naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE))
        })
    };
    let target = |(ours, slot): (naga::ResourceBinding, Slot)| {
        let index = byte(slot.index)?;
        let target = match slot.kind {
            Kind::Texture => msl::BindTarget { texture: Some(index), ..Default::default() },
            Kind::Sampler => {
                let sampler = Some(msl::BindSamplerTarget::Resource(index));
                msl::BindTarget { sampler, ..Default::default() }
            }
            Kind::Binding
            | Kind::ConstantBuffer
            | Kind::ShaderResource
            | Kind::UnorderedAccess
            | Kind::Buffer
            | Kind::PushConstant
            | Kind::Beside => {
                msl::BindTarget { buffer: Some(index), mutable: mutable(ours), ..Default::default() }
            }
        };
        Ok((ours, target))
    };
    let buffers = slots.iter().filter(|(_, slot)| !matches!(slot.kind, Kind::Texture | Kind::Sampler));
    let sizes = buffers.map(|(_, slot)| slot.index.saturating_add(1)).max().unwrap_or(0);
    let resources = msl::EntryPointResources {
        resources: slots.iter().map(target).collect::<Result<_>>()?,
        immediates_buffer: None,
        sizes_buffer: Some(byte(sizes)?),
    };
    let names = module.entry_points.iter().map(|e| e.name.clone());
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: names.map(|name| (name, resources.clone())).collect(),
        fake_missing_bindings: false,
        bounds_check_policies: outside(),
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { vertex_pulling_transform: false, ..Default::default() };
    let (text, written) =
        msl::write_string(module, info, &options, &pipeline).map_err(|e| invalid(&e.to_string()))?;
    Ok((text, written_names(written.entry_point_names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A uniform block of two floats, the second at `offset`.
    fn block(offset: u32) -> naga::Module {
        let mut module = naga::Module::default();
        let mut add = |inner| module.types.insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED);
        let ty = add(naga::TypeInner::Scalar(naga::Scalar::F32));
        let member = |offset| naga::StructMember { name: None, ty, binding: None, offset };
        let ty = add(naga::TypeInner::Struct { members: vec![member(0), member(offset)], span: 32 });
        let var = crate::variable("block", naga::AddressSpace::Uniform, ty, None, None);
        module.global_variables.append(var, naga::Span::UNDEFINED);
        module
    }

    #[test]
    fn offsets_that_wgsl_would_not_give_are_refused() {
        assert!(check_layouts(&block(4)).is_ok());
        assert!(check_layouts(&block(16)).is_err());
    }
}
