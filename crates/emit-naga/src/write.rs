//! From naga's module to the text or words of a target, through naga's validator and writer.
//!
//! Resources get numbers that are naga's own while the module is built, since HLSL numbers `b`, `t` and `u` apart and naga has
//! one sequence per group; the tables that go to each writer say what they are called in the target ([`Slots`]).
//!
//! naga panics on some modules that its validator accepts. Such a panic is caught here and becomes a diagnostic: it is our
//! fault, and the user is told so.

use crate::capabilities::title;
use crate::codes;
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::layout::Target;
use cotangent_ir::layout::bind::{Kind, Slot};
use naga::back::{glsl, hlsl, msl, spv, wgsl};
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::cell::Cell;
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

/// The slots of the target, by the binding that naga knows a resource by.
#[derive(Default)]
pub(crate) struct Slots(Vec<(naga::ResourceBinding, Slot)>);

impl Slots {
    /// The binding that stands for `slot`: the same where the target numbers as naga does.
    pub fn binding(&mut self, slot: Slot) -> naga::ResourceBinding {
        if let Some((ours, _)) = self.0.iter().find(|(_, s)| *s == slot) {
            return *ours;
        }
        let ours = match slot.kind {
            Kind::Binding => naga::ResourceBinding { group: slot.space, binding: slot.index },
            Kind::ConstantBuffer
            | Kind::ShaderResource
            | Kind::UnorderedAccess
            | Kind::Sampler
            | Kind::Texture
            | Kind::Buffer => naga::ResourceBinding { group: 0, binding: self.0.len() as u32 },
            Kind::PushConstant => naga::ResourceBinding { group: u32::MAX, binding: 0 },
        };
        self.0.push((ours, slot));
        ours
    }

    fn iter(&self) -> impl Iterator<Item = (naga::ResourceBinding, Slot)> {
        self.0.iter().copied()
    }
}

fn invalid(what: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(codes::INVALID, Span::none(), format!("the emitted shader is invalid: {what}")))
}

/// Validates a module and writes it.
pub(crate) fn write(module: &naga::Module, slots: &Slots, target: Target) -> Result<Emitted> {
    let work = || {
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        let info = validator.validate(module).map_err(|e| invalid(&format!("{:?}", e.into_inner())))?;
        let text = match target {
            Target::Wgsl => write_wgsl(module, &info)?,
            Target::SpirV => return Ok(Emitted::Words(write_spirv(module, &info, slots)?)),
            Target::Glsl => write_glsl(module, &info, slots)?,
            Target::Hlsl => write_hlsl(module, &info, slots)?,
            Target::Metal => write_metal(module, &info, slots)?,
            Target::Cuda | Target::Cpp => return Err(invalid("naga does not write this language")),
        };
        Ok(Emitted::Text(text))
    };
    // What was half written is thrown away with the panic.
    CATCHING.set(true);
    let written = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    written.unwrap_or_else(|_| Err(invalid(&format!("naga cannot write it as {}", title(target)))))
}

/// Whether a panic of this thread would be caught here and told in a diagnostic, so that whoever reports panics need not.
pub fn is_catching() -> bool {
    CATCHING.get()
}

fn write_wgsl(module: &naga::Module, info: &ModuleInfo) -> Result<String> {
    let text = wgsl::write_string(module, info, wgsl::WriterFlags::empty());
    let text = text.map_err(|e| invalid(&e.to_string()))?;
    // naga looks at the types of variables only; halves may occur in nothing but expressions.
    let asks = text.lines().any(|line| line.starts_with("enable f16"));
    if !asks && computes_in_halves(module) { Ok(format!("enable f16;\n\n{text}")) } else { Ok(text) }
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

fn write_spirv(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<Vec<u32>> {
    let binding = |slot: Slot| spv::BindingInfo {
        descriptor_set: slot.space,
        binding: slot.index,
        ..Default::default()
    };
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        binding_map: slots.iter().map(|(ours, slot)| (ours, binding(slot))).collect(),
        bounds_check_policies: BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    spv::write_vec(module, info, &options, None).map_err(|e| invalid(&e.to_string()))
}

/// SPIR-V as text.
pub fn disassemble(words: &[u32]) -> Result<String> {
    use rspirv::binary::Disassemble;
    let module = rspirv::dr::load_words(words).map_err(|e| invalid(&format!("{e:?}")))?;
    Ok(module.disassemble() + "\n")
}

/// GLSL numbers resources in one sequence. Descriptor sets and push constants are Vulkan's, which naga does not write:
/// they are given numbers that nothing else has, and renamed in the text.
fn write_glsl(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<String> {
    let entry = module.entry_points.first().ok_or_else(|| invalid("there is no entry point"))?;
    let mut renamed = Vec::new();
    let mut number = |slot: Slot| {
        let plain = slot.space == 0 && slot.kind == Kind::Binding;
        u8::try_from(slot.index).ok().filter(|_| plain).unwrap_or_else(|| {
            renamed.push(slot);
            (256 - renamed.len()) as u8
        })
    };
    let options = glsl::Options {
        version: glsl::Version::Desktop(450),
        writer_flags: glsl::WriterFlags::empty(),
        binding_map: slots.iter().map(|(ours, slot)| (ours, number(slot))).collect(),
        zero_initialize_workgroup_memory: false,
    };
    let pipeline =
        glsl::PipelineOptions { shader_stage: entry.stage, entry_point: entry.name.clone(), multiview: None };
    let mut out = String::new();
    let policies = BoundsCheckPolicies::default();
    glsl::Writer::new(&mut out, module, info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write())
        .map_err(|e| invalid(&e.to_string()))?;
    for (i, slot) in renamed.iter().enumerate() {
        let number = 255 - i;
        if slot.kind == Kind::PushConstant {
            out = out.replace(&format!("layout(std140, binding = {number})"), "layout(push_constant)");
        } else {
            let place = format!("set = {}, binding = {})", slot.space, slot.index);
            out = out.replace(&format!("binding = {number})"), &place);
        }
    }
    Ok(with_names(out, module))
}

/// naga calls resources in GLSL by their numbers. They get the names of the source back, with their numbers behind them, so
/// that they are no words of the language; unless something else is called so.
fn with_names(mut text: String, module: &naga::Module) -> String {
    for (_, var) in module.global_variables.iter() {
        let (Some(binding), Some(name)) = (&var.binding, &var.name) else { continue };
        let naga::ResourceBinding { group, binding } = binding;
        for stage in ["cs", "vs", "fs"] {
            let theirs = format!("_group_{group}_binding_{binding}_{stage}");
            let ours = match *group {
                0 | u32::MAX => format!("{}_{binding}", crate::func::plain_name(name.as_str().into())),
                _ => format!("{}_{group}_{binding}", crate::func::plain_name(name.as_str().into())),
            };
            if !text.contains(&ours) {
                text = text.replace(&theirs, &ours);
            }
        }
    }
    text
}

fn write_hlsl(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<String> {
    let target =
        |slot: Slot| hlsl::BindTarget { space: slot.space as u8, register: slot.index, ..Default::default() };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_2,
        binding_map: slots.iter().map(|(ours, slot)| (ours, target(slot))).collect(),
        fake_missing_bindings: false,
        zero_initialize_workgroup_memory: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..Default::default()
    };
    let (mut out, pipeline) = (String::new(), hlsl::PipelineOptions::default());
    hlsl::Writer::new(&mut out, &options, &pipeline)
        .write(module, info, None)
        .map_err(|e| invalid(&e.to_string()))?;
    Ok(out)
}

/// Metal has no way to ask how long a buffer is: the host says so in a buffer of sizes, the first index that is free.
fn write_metal(module: &naga::Module, info: &ModuleInfo, slots: &Slots) -> Result<String> {
    let target = |slot: Slot, mutable| msl::BindTarget {
        buffer: Some(slot.index as u8),
        mutable,
        ..Default::default()
    };
    let mutable = |ours: naga::ResourceBinding| {
        let found = module.global_variables.iter().find(|(_, v)| v.binding == Some(ours));
        found.is_some_and(|(_, v)| {
            matches!(v.space, naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE))
        })
    };
    let resources = msl::EntryPointResources {
        resources: slots.iter().map(|(ours, slot)| (ours, target(slot, mutable(ours)))).collect(),
        immediates_buffer: None,
        sizes_buffer: Some(slots.iter().map(|(_, slot)| slot.index as u8 + 1).max().unwrap_or(0)),
    };
    let names = module.entry_points.iter().map(|e| e.name.clone());
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: names.map(|name| (name, resources.clone())).collect(),
        fake_missing_bindings: false,
        bounds_check_policies: BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { vertex_pulling_transform: false, ..Default::default() };
    let (text, _) =
        msl::write_string(module, info, &options, &pipeline).map_err(|e| invalid(&e.to_string()))?;
    Ok(text)
}
