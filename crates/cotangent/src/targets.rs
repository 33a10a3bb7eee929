//! Emits programs in the target languages.

use crate::reflect::Printed;
use cotangent_base::{Code, Diagnostic, Location, Map, Sources, Span};
use cotangent_emit_c::Language;
pub use cotangent_emit_naga::{Emitted, disassemble, is_catching};
use cotangent_emit_naga::{Line, Options, codes};
pub use cotangent_ir::capabilities;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::bind::{self, Bindings, BlockPlace, Kind, LeafPlace, Slot};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_ir::shader::{ShaderParam, ShaderParams};
use cotangent_ir::{Func, FuncId, Global, Module, Op, Stage};
use cotangent_lower::Lowered;
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::Effects;
use cotangent_passes::{dce, prints, private_atomics, resource_arrays, sums};
use std::borrow::Cow;

/// Why a target cannot express a program.
pub type Refusal = Box<Diagnostic>;

/// The program as WGSL.
pub fn wgsl(lowered: &Lowered) -> Result<String, Refusal> {
    match shader(lowered, Target::Wgsl, None)? {
        Emitted::Text(text) => Ok(text),
        Emitted::Words(words) => disassemble(&words),
    }
}

/// The program in one of the languages that naga writes. With `lines`, it says where in these sources each statement comes from.
pub fn shader(lowered: &Lowered, target: Target, lines: Option<&Sources>) -> Result<Emitted, Refusal> {
    check_layout(&lowered.params, codes::UNSUPPORTED)?;
    let bindings = bind::bind(&lowered.module.types, &lowered.params, target, Matrices::Rows);
    check_push_constants(&lowered.params, &bindings)?;
    let mut places = bindings.leaves(&lowered.params);
    let module = without_choices(with_prints(for_naga(&lowered.module)?, &mut places, target));
    let locate = |span| lines.and_then(|sources| locate(sources, span));
    let options = Options { lines: lines.is_some().then_some(&locate) };
    cotangent_emit_naga::emit(&module, &places, target, options)
}

/// Has a module store what it prints, in a buffer after all parameters.
fn with_prints<'m>(
    mut module: Cow<'m, Module>,
    places: &mut Map<Global, LeafPlace>,
    target: Target,
) -> Cow<'m, Module> {
    if !prints::formats(&module).is_empty()
        && let Some(buffer) = prints::prints(module.to_mut())
    {
        let slot = print_slot(places, target);
        places.insert(buffer, LeafPlace::Slot(slot));
    }
    module
}

/// The slot after all others of its kind.
fn print_slot(places: &Map<Global, LeafPlace>, target: Target) -> Slot {
    let kind = match target {
        Target::Hlsl => Kind::UnorderedAccess,
        Target::Metal => Kind::Buffer,
        Target::Wgsl | Target::SpirV | Target::Glsl | Target::Cpp | Target::Cuda => Kind::Binding,
    };
    let slot = |place: &LeafPlace| match place {
        LeafPlace::Slot(slot) | LeafPlace::Element(slot, _) => Some(*slot),
        LeafPlace::Value(block, _) | LeafPlace::Packed(block) => block.slot,
    };
    let alike = |slot: &Slot| slot.space == 0 && (slot.kind == kind || slot.kind == Kind::Beside);
    let after = places.values().filter_map(slot).filter(alike).map(|slot| slot.index + slot.count.max(1));
    Slot { kind, space: 0, index: after.max().unwrap_or(0), count: 1 }
}

/// The buffer in which the shader of a program stores what it prints.
pub(crate) fn printed(lowered: &Lowered, target: Target) -> Option<Printed> {
    let formats = prints::formats(&lowered.module);
    if formats.is_empty() || target.has_pointers() {
        return None;
    }
    let bindings = bind::bind(&lowered.module.types, &lowered.params, target, Matrices::Rows);
    let slot = print_slot(&bindings.leaves(&lowered.params), target);
    Some(Printed { slot, formats })
}

/// What the entry points of a program are called in the code for a target.
pub fn entry_names(lowered: &Lowered, target: Target) -> Result<Map<FuncId, String>, Refusal> {
    let module = &lowered.module;
    match target {
        Target::Cpp => Ok(cotangent_emit_c::entry_names(module, Language::Cpp)),
        Target::Cuda => Ok(cotangent_emit_c::entry_names(module, Language::Cuda)),
        Target::Wgsl | Target::SpirV | Target::Glsl | Target::Hlsl | Target::Metal => {
            let mut places =
                bind::bind(&module.types, &lowered.params, target, Matrices::Rows).leaves(&lowered.params);
            let module = without_choices(with_prints(for_naga(module)?, &mut places, target));
            cotangent_emit_naga::entry_names(&module, &places, target)
        }
    }
}

/// Where a span is in the user's files.
fn locate(sources: &Sources, span: Span) -> Option<Line> {
    let known = !span.is_none() && !sources.is_library(span.file);
    known.then(|| {
        let Location { line, column } = sources.location(span.file, span.start);
        Line { file: sources.path(span.file).to_string(), line, column }
    })
}

/// The module without what naga does not have: sums, and atomic operations on variables of one thread.
pub(crate) fn for_naga(module: &Module) -> Result<Cow<'_, Module>, Refusal> {
    refuse_pixels_elsewhere(module)?;
    let mut module = Cow::Borrowed(module);
    if module.types.structs().any(|(_, def)| def.sum) {
        sums::sums(module.to_mut());
    }
    if private_atomics::has_any(&module) {
        private_atomics::private_atomics(module.to_mut());
    }
    Ok(module)
}

/// The same without resources that an index chooses.
pub(crate) fn without_choices(mut module: Cow<'_, Module>) -> Cow<'_, Module> {
    if resource_arrays::widest(&module).is_some() {
        let module = module.to_mut();
        resource_arrays::resource_arrays(module);
        // What packed the resources is of no more use.
        let effects = Effects::of(module);
        for func in module.funcs.values_mut() {
            dce::dce(func, &effects);
        }
    }
    module
}

/// Only pixels have neighbours. Lowering reports this, unless it was not told the target.
fn refuse_pixels_elsewhere(module: &Module) -> Result<(), Refusal> {
    let stage = |func: &Func| func.entry.as_ref().map(|entry| entry.stage);
    let others = module.funcs.iter().filter(|(_, func)| stage(func).is_some_and(|s| s != Stage::Fragment));
    for id in Calls::below(module, others.map(|(id, _)| id)).callees_first {
        let func = &module.funcs[id];
        let screen = func.all_insts().into_iter().find(|i| matches!(func.insts[*i].op, Op::Screen(_)));
        if let Some(inst) = screen {
            let message = "differences between neighbouring pixels exist in fragment shaders only";
            let diagnostic = Diagnostic::new(codes::UNSUPPORTED, func.insts[inst].span, message);
            return Err(Box::new(diagnostic.note(Feature::Screen.note())));
        }
    }
    Ok(())
}

/// The program at `file` as C++, in a namespace called like the file. With `lines`, `#line` directives say where each
/// statement comes from.
pub fn cpp(lowered: &Lowered, sources: &Sources, file: &str, lines: bool) -> Result<String, Refusal> {
    c_like(Language::Cpp, lowered, sources, file, lines)
}

/// The program at `file` as CUDA, as [`cpp`] gives it as C++.
pub fn cuda(lowered: &Lowered, sources: &Sources, file: &str, lines: bool) -> Result<String, Refusal> {
    c_like(Language::Cuda, lowered, sources, file, lines)
}

fn c_like(
    language: Language,
    lowered: &Lowered,
    sources: &Sources,
    file: &str,
    lines: bool,
) -> Result<String, Refusal> {
    check_layout(&lowered.params, cotangent_emit_c::codes::UNSUPPORTED)?;
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let name = name.strip_suffix(".slang").unwrap_or(name);
    let place = |span: Span| locate(sources, span).map(|at| (at.file, at.line));
    let options = cotangent_emit_c::Options { language, name, file, place: &place, lines };
    cotangent_emit_c::emit(&lowered.module, &lowered.params, options)
}

/// How many bytes of push constants naga counts.
const MOST_PUSHED: u32 = 256;

/// A shader has one block of push constants: another would lie in the same bytes.
pub(crate) fn check_push_constants(params: &ShaderParams, bindings: &Bindings) -> Result<(), Refusal> {
    let is_pushed = |block: Option<BlockPlace>| {
        block.and_then(|block| block.slot).is_some_and(|slot| slot.kind == Kind::PushConstant)
    };
    let used = |param: &&ShaderParam| !param.leaves.is_empty();
    let globals = params.globals.iter().zip(&bindings.params);
    let pushed: Vec<Span> = globals
        .filter(|(param, bound)| used(param) && is_pushed(bound.block))
        .map(|(param, _)| param.span)
        .collect();
    for ((_, own_params), entry) in params.entries.iter().zip(&bindings.entries) {
        let own = own_params.iter().find(used).filter(|_| is_pushed(entry.block)).map(|param| param.span);
        if let (Some(first), Some(block)) = (own, entry.block)
            && block.size > MOST_PUSHED
            && bindings.target == Target::SpirV
        {
            let message = format!(
                "the uniform parameters of `{}` take {} bytes, but push constants have {MOST_PUSHED}",
                entry.name, block.size
            );
            return Err(Box::new(
                Diagnostic::new(codes::UNSUPPORTED, first, message)
                    .note(Feature::LargePushed.note())
                    .help("declare them outside the entry point, or in a `ConstantBuffer`"),
            ));
        }
        let mut all = pushed.iter().copied().chain(own);
        if let (Some(first), Some(second)) = (all.next(), all.next()) {
            let target = bindings.target.title();
            let message = format!("{target} supports only one block of push constants");
            return Err(Box::new(
                Diagnostic::new(codes::UNSUPPORTED, second, message)
                    .label(first, "the other is here; uniform parameters of an entry point count too")
                    .note(Feature::SeveralPushed.note())
                    .help("remove `vk::push_constant` from all but one"),
            ));
        }
    }
    Ok(())
}

/// Where parameters are bound can only be said if all of them are known.
pub(crate) fn check_layout(params: &ShaderParams, code: Code) -> Result<(), Refusal> {
    let Some(span) = params.unknown else { return Ok(()) };
    let message = "cannot determine the layout of this parameter, nor of the parameters after it";
    Err(Box::new(
        Diagnostic::new(code, span, message).help("remove the parameter if the program does not use it"),
    ))
}
