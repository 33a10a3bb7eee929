//! What operations other than control flow and calls make of companions.

use super::flow::Flow;
use super::{Companion, Loss};
use crate::instance::Lowerer;
use cotangent_ir::{Func, Inst, InstData, Op, Path, Ty, Type, Value, op_group};

const CHANGED: &str = "a field of the pointer is changed here, but not of its derivative pointer";
const MADE: &str = "the pointer is constructed here from parts of another one, without a derivative pointer";
const TAKEN: &str = "a part of the pointer is read here that its derivative pointer does not have";
const HIDDEN: &str = "an interface value does not store the derivative pointer";

/// What is known of the result of an operation.
pub(super) fn result(lowerer: &mut Lowerer<'_>, func: &Func, flow: &Flow, inst: Inst) -> Companion {
    let InstData { op, operands, results, span, .. } = &func.insts[inst];
    let ty = func.ty(results[0]);
    let lost = |how| Companion::Lost(Loss { span: *span, how });
    let join =
        |values: &[Value]| values.iter().fold(Companion::Any, |known, v| known.join(flow.of(*v), *span));
    let loss = || operands.iter().map(|v| flow.of(*v)).find(|known| matches!(known, Companion::Lost(_)));
    match op {
        Op::Undef | Op::Zero if lowerer.holds_pointer(ty) => Companion::Any,
        Op::Select if lowerer.holds_pointer(ty) => join(&operands[1..]),
        Op::Splat if lowerer.holds_pointer(ty) => flow.of(operands[0]),
        Op::Pack if is_pointer(lowerer, ty) => {
            let of = operands.iter().map(|v| flow.of(*v));
            of.fold(Companion::None, |made, part| match part {
                Companion::Lost(_) | Companion::Known => lost(MADE),
                Companion::Any | Companion::None => made,
            })
        }
        Op::Pack if lowerer.holds_pointer(ty) => {
            let parts: Vec<Value> =
                operands.iter().copied().filter(|v| lowerer.holds_pointer(func.ty(*v))).collect();
            join(&parts)
        }
        Op::Extract(path) => match flow.of(operands[0]) {
            Companion::Known if lowerer.companion(ty).is_some() => {
                let way = lowerer.companion_path(func.ty(operands[0]), path);
                if way.is_some() { Companion::Known } else { lost(TAKEN) }
            }
            Companion::Known
                if leads_elsewhere(lowerer, ty) && ends_in_pointer(lowerer, func.ty(operands[0]), path) =>
            {
                lost(TAKEN)
            }
            Companion::Known => Companion::None,
            known if lowerer.holds_pointer(ty) || leads_elsewhere(lowerer, ty) => known,
            Companion::Any | Companion::None | Companion::Lost(_) => Companion::None,
        },
        Op::Insert(path) if lowerer.holds_pointer(ty) => {
            let whole = flow.of(operands[0]);
            if ends_in_pointer(lowerer, ty, path) {
                return if whole == Companion::Known { lost(CHANGED) } else { whole };
            }
            if !lowerer.holds_pointer(func.ty(operands[1])) {
                return whole;
            }
            whole.join(flow.of(operands[1]), *span)
        }
        Op::Inject(_) if flow.of(operands[0]) == Companion::Known => lost(HIDDEN),
        Op::Inject(_) | Op::Project(_) => flow.of(operands[0]),
        // Numbers that are computed of what a pointer consists of.
        Op::Math(_) | Op::Convert | Op::Bitcast | Op::Swizzle(_) | Op::Offset | Op::Select | Op::Pack
            if leads_elsewhere(lowerer, ty) =>
        {
            loss().unwrap_or(Companion::None)
        }
        op_group!(plain | call | control | exit) => Companion::None,
    }
}

/// Whether a path ends in a field of a pointer type, or in a part of one.
fn ends_in_pointer(lowerer: &mut Lowerer<'_>, mut ty: Ty, path: &Path) -> bool {
    let mut inside = false;
    for step in &path.0 {
        inside |= is_pointer(lowerer, ty);
        let Some(part) = lowerer.module.types.part(ty, step.known()) else { return inside };
        ty = part;
    }
    inside
}

fn is_pointer(lowerer: &mut Lowerer<'_>, ty: Ty) -> bool {
    if let Type::Struct(id) = lowerer.module.types.get(ty) { lowerer.is_pointer_struct(id) } else { false }
}

/// Whether a pointer can be made of such values: handles, and integers as offsets.
fn leads_elsewhere(lowerer: &Lowerer<'_>, ty: Ty) -> bool {
    let is_integer = |ty| lowerer.module.types.scalar_of(ty).is_some_and(|scalar| scalar.is_int());
    is_integer(ty) || lowerer.holds_handle(ty)
}
