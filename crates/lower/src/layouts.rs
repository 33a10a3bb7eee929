//! Checks the layouts that buffers name: `StructuredBuffer<T, ScalarDataLayout>`.
//!
//! Every target lays out buffers by its own rules. A layout that a program names is accepted if it puts each part of the element
//! where the target puts it, and reported otherwise.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_ir::layout::{Matrices, Memory, Rules, Set, Target};
use cotangent_ir::{self as ir, Type, Types};
use cotangent_sema::hir::{Arg, Ty, TyKind};

/// Reports the layouts that the target does not have. A program that is only checked has no target.
pub(crate) fn check(lowerer: &mut Lowerer<'_>) {
    let Some(target) = lowerer.options.target else { return };
    let mut named = lowerer.queries.program.buffer_layouts.clone();
    named.sort_by_key(|(.., span)| (span.file, span.start));
    named.dedup();
    for (buffer, layout, span) in named {
        if layout == *"DefaultDataLayout" || is_as_usual(lowerer, target, buffer, layout, span) {
            continue;
        }
        let message =
            format!("the layout `{layout}` of this buffer is not supported for target `{}`", target.name());
        lowerer.diagnostics.push(
            Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message)
                .note("the target puts some part of the element elsewhere")
                .help("remove the layout, and fill the buffer as `cotangent reflect` shows it"),
        );
    }
}

/// Whether a layout puts all parts of a buffer's element where the target puts them.
fn is_as_usual(lowerer: &mut Lowerer<'_>, target: Target, buffer: Ty, layout: Symbol, span: Span) -> bool {
    let types = &lowerer.queries.program.types;
    let TyKind::Struct(_, args) = types.kind(buffer) else { return false };
    let Some(&Arg::Ty(elem)) = types.list(args).first() else { return false };
    let set = match layout.as_str() {
        "ScalarDataLayout" | "CDataLayout" => Set::C,
        "Std140DataLayout" => Set::Std140,
        "Std430DataLayout" => Set::Std430,
        _ => return false,
    };
    let memory = if lowerer.is_block(buffer) { Memory::Constant } else { Memory::Buffer };
    let (own, named) = (target.rules(memory, Matrices::Rows), Rules { set, matrices: Matrices::Rows });
    let elem = lowerer.quietly(|lowerer| lowerer.lower_ty(elem, span));
    elem.is_some_and(|elem| agree(&lowerer.module.types, own, named, elem))
}

/// Whether two sets of rules lay out a type alike.
fn agree(types: &Types, a: Rules, b: Rules, ty: ir::Ty) -> bool {
    if a.layout(types, ty).map(|l| l.size) != b.layout(types, ty).map(|l| l.size) {
        return false;
    }
    let same_stride = |elem| a.stride(types, elem) == b.stride(types, elem);
    match types.get(ty) {
        Type::Struct(id) => (0..types.struct_def(id).fields.len() as u32).all(|index| {
            let (here, there) = (a.part(types, ty, index), b.part(types, ty, index));
            here == there && here.is_some_and(|(_, part)| agree(types, a, b, part))
        }),
        Type::Array(elem, _) => same_stride(elem) && agree(types, a, b, elem),
        Type::Matrix(..) => types.part(ty, Some(0)).is_some_and(same_stride),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) => true,
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}
