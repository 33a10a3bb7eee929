//! The derivative of an entry point, as a program of its own.
//!
//! Input: a lowered program with the entry point that a [`KernelRoot`] names. Output: the same program with the derivative as its
//! only entry point, and the parameters that hold derivatives declared after all others, so that they can be bound, reflected and
//! emitted like any parameter. The passes after lowering write the derivative.

use cotangent_autodiff::codes;
use cotangent_autodiff::kernel::{Asked, Kernel, Shadow, State, kernel};
use cotangent_base::{Diagnostic, Diagnostics, Scalar, Set, Span, Symbol, Wish, nearest};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_ir::shader::{ShaderParam, ShaderShadow, Shape};
use cotangent_ir::{Global, GlobalKind, Module, Type};
use cotangent_lower::{KernelRoot, Lowered};

/// Replaces the entry point by its derivative, for a target if it is known. `matrices` is the layout of matrices.
pub(crate) fn derive(
    lowered: &mut Lowered,
    asked: &KernelRoot,
    target: Option<Target>,
    matrices: Matrices,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let Some(&entry) = lowered.entries.first() else { return diagnostics };
    let span = lowered.module.funcs[entry].span;
    let mut find = |names: &Option<Vec<Symbol>>| {
        let names = names.as_ref()?;
        Some(names.iter().filter_map(|n| param(&lowered.module, *n, span, &mut diagnostics)).collect())
    };
    let (wrt, results): (Option<Set<Global>>, _) = (find(&asked.wrt), find(&asked.results));
    if diagnostics.has_errors() {
        return diagnostics;
    }
    match kernel(
        &mut lowered.module,
        &Asked {
            entry,
            mode: asked.mode,
            wrt,
            results,
            along_x: asked.along_x,
            deterministic: asked.deterministic,
            matrices,
            is_library: crate::library::contains,
        },
    ) {
        Ok(derived) => {
            declare(lowered, asked.entry, &derived);
            // In a fixed order, each thread makes its own additions.
            lowered.params.wave_sums = asked.wave_sums && !asked.deterministic;
            if target == Some(Target::Cuda) {
                // A device adds to memory without waiting for what was there: plain additions are slower.
                lowered.params.owned.clear();
            }
            diagnostics.append(derived.warnings);
            diagnostics
        }
        Err(found) => found,
    }
}

/// The parameter of that name.
fn param(module: &Module, name: Symbol, span: Span, diagnostics: &mut Diagnostics) -> Option<Global> {
    let params = || module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
    if let Some((global, _)) = params().find(|(_, data)| data.name == name) {
        return Some(global);
    }
    let message = format!("the kernel has no parameter `{name}`");
    let mut diagnostic = Diagnostic::new(codes::KERNEL, span, message);
    let names: Vec<Symbol> = params().map(|(_, data)| data.name).collect();
    if let Some(similar) = nearest(name.as_str(), names.iter().map(|name| name.as_str())) {
        diagnostic = diagnostic.help(format!("did you mean `{similar}`?"));
    }
    diagnostics.push(diagnostic);
    None
}

/// Declares the new entry point and its parameters.
fn declare(lowered: &mut Lowered, of: Symbol, derived: &Kernel) {
    let Lowered { module, params, .. } = lowered;
    lowered.entries = vec![derived.entry];
    lowered.roots = vec![derived.entry];
    let name = module.funcs[derived.entry].name;
    params.entries.iter_mut().filter(|(entry, _)| *entry == of).for_each(|(entry, _)| *entry = name);
    for &Shadow { of, global, scalars, is_buffer, read, written, sliced } in &derived.shadows {
        let data = &module.globals[global];
        let scalar = match module.types.get(data.ty) {
            Type::Buffer(elem, _) => module.types.scalar_of(elem),
            _ => None,
        };
        let ty = if scalar == Some(Scalar::F64) { "double" } else { "float" };
        params.globals.push(ShaderParam {
            name: data.name,
            span: data.span,
            ty: Some(Symbol::new(&format!("RWStructuredBuffer<{ty}>"))),
            shape: Shape::Resource(data.ty),
            bytes: false,
            wish: Wish::default(),
            leaves: vec![global],
        });
        let of = module.globals[of].name;
        params.shadows.push(ShaderShadow { of, name: data.name, scalars, is_buffer, read, written, sliced });
    }
    for State { of, global } in &derived.samplers {
        let data = &module.globals[*global];
        params.globals.push(ShaderParam {
            name: data.name,
            span: data.span,
            ty: Some(Symbol::new("uint")),
            shape: Shape::Value(data.ty),
            bytes: false,
            wish: Wish::default(),
            leaves: vec![*global],
        });
        params.samplers.push((module.globals[*of].name, data.name));
    }
    params.along_x = !derived.owned.is_empty() || derived.shadows.iter().any(|shadow| shadow.sliced);
    params.owned.clone_from(&derived.owned);
    params.copies = derived.copies.iter().map(|global| module.globals[*global].name).collect();
}
