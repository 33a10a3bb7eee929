//! Prints derivatives as Slang.
//!
//! Input: a function and its derivative, optimized. Output: a module of its own with the derivative and everything that it calls.
//! Interface values are written as structures with a number and a field per type.

use crate::targets::Refusal;
use cotangent_autodiff::prepare::prepare;
use cotangent_base::{Diagnostic, Set, Sources, Span};
use cotangent_emit_slang::{Root, codes, emit, needs_preparation};
use cotangent_ir::{FuncId, Global, GlobalData, GlobalKind, Mode, Module, StructId, Ty, Type, Types};
use cotangent_lower::Lowered;
use cotangent_passes::calls::Calls;
use cotangent_passes::sums;

/// The derivative in `lowered`, which has a function and that derivative as its roots.
pub(crate) fn print(lowered: &Lowered, mode: Mode, sources: &Sources) -> Result<String, Refusal> {
    let [of, derivative] = lowered.roots[..] else {
        let message = "there is no derivative to print";
        return Err(Box::new(Diagnostic::new(codes::UNSUPPORTED, Span::none(), message)));
    };
    let mut module = lowered.module.clone();
    if module.types.structs().any(|(_, def)| def.sum) {
        if let Some(global) = in_memory(&module) {
            let data = &module.globals[global];
            let message = format!(
                "`{}` contains interface values, which are not supported in a printed derivative",
                data.name
            );
            return Err(Box::new(Diagnostic::new(codes::UNSUPPORTED, data.span, message)));
        }
        sums::sums(&mut module);
    }
    remove_exits(&mut module, derivative);
    let suffix = match mode {
        Mode::Forward => "fwd_diff",
        Mode::Backward => "bwd_diff",
    };
    let name = format!("{}_{suffix}", module.funcs[of].plain_name());
    let lines = |span: Span| line_of(sources, span);
    let head = format!("// `{suffix}({})`\n\n", module.funcs[of].plain_name());
    Ok(head + &emit(&module, &[Root { func: derivative, name }], &lines)?)
}

/// Rewrites functions with exits that Slang has no words for.
fn remove_exits(module: &mut Module, root: FuncId) {
    for id in Calls::below(module, [root]).callees_first {
        if needs_preparation(&module.funcs[id]) {
            let func = module.funcs[id].clone();
            let name = func.name;
            module.funcs[id] = prepare(&mut module.types, &func).func;
            module.funcs[id].name = name;
        }
    }
}

/// A shader parameter that holds a value of a sum type, if there is one.
fn in_memory(module: &Module) -> Option<Global> {
    let mut seen = Set::default();
    let param = |(id, data): (Global, &GlobalData)| {
        (matches!(data.kind, GlobalKind::Param) && holds_sum(&module.types, data.ty, &mut seen)).then_some(id)
    };
    module.globals.iter().find_map(param)
}

/// Whether there is a sum in a type; in the structures that were `seen` there is none, or it is known by now.
fn holds_sum(types: &Types, ty: Ty, seen: &mut Set<StructId>) -> bool {
    match types.get(ty) {
        Type::Sum(_) => true,
        Type::Array(inner, _) | Type::Buffer(inner, _) | Type::Ref(inner) => holds_sum(types, inner, seen),
        Type::Struct(id) => {
            seen.insert(id) && types.struct_def(id).fields.iter().any(|f| holds_sum(types, f.ty, seen))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => false,
    }
}

/// The line of the user's source that a span begins on.
fn line_of(sources: &Sources, span: Span) -> Option<(String, u32, String)> {
    let known = !span.is_none() && !sources.is_library(span.file);
    known.then(|| {
        let (_, line, text) = sources.lines_of(Span { end: span.start, ..span });
        (sources.path(span.file).to_string(), line, text.lines().next().unwrap_or_default().to_string())
    })
}
