//! Folds chains of factors in a linearized function, so that one product is stored for the backward pass and not two factors.
//!
//! ```text
//! ~s = mul %cos ~u              %p = mul %w %cos
//! ~t = mul %w ~s                ~t = mul %p ~u
//! ```
//!
//! This is done after the cut, where it stores both factors and only these two products read them; then the cut is made again.
//! Folding before the cut would hide from it what is cheap to compute again. A factor that may be infinite stays alone, since
//! [`steep`](mod@crate::steep) products are guarded one by one where a cotangent may be zero. Products of `half` stay alone,
//! since they leave its range too easily.

use crate::checkpoint::nest::Nest;
use crate::checkpoint::{Plan, Residual};
use crate::linearize::Linearized;
use crate::steep::steep;
use cotangent_base::{EntityMap, EntitySet, Map, Scalar};
use cotangent_ir::{Inst, Math, Module, Op, Region, Type, Value, ValueDef};

/// Folds the factors that `plan` stores; says whether there were any. Linear values keep their numbers.
pub(super) fn fold_factors(module: &Module, linearized: &mut Linearized, plan: &Plan) -> bool {
    // In how many loops each value is stored.
    let stored: Map<Value, usize> = (plan.fields.iter())
        .filter_map(|field| match field.residual {
            Residual::Value(value) => Some((value, field.loops.len())),
            Residual::Trips(_) | Residual::Context(_) => None,
        })
        .collect();
    if stored.len() < 2 {
        return false;
    }
    let nest = Nest::of(&linearized.func);
    let steep = steep(module, &linearized.func, &linearized.lin);
    // How many linear operations read a value.
    let mut readers: EntityMap<Value, u32> = EntityMap::filled(0, linearized.func.values.len());
    for inst in linearized.func.all_insts() {
        let data = &linearized.func.insts[inst];
        // The derivative of a function that only writes memory is linear and has no result.
        let mut values = data.results.iter().chain(&data.operands);
        if data.op.is_exit() || values.any(|value| linearized.lin.contains(*value)) {
            data.operands.iter().for_each(|operand| readers[*operand] += 1);
        }
    }
    let is_alone = |v: Value| readers.get(v) == Some(&1);
    let mut any = false;
    let regions: Vec<Region> = linearized.func.regions.keys().collect();
    for region in regions {
        let loops = nest.loops(&linearized.func, region).len();
        let before = std::mem::take(&mut linearized.func.regions[region].insts);
        let mut after: Vec<Inst> = Vec::with_capacity(before.len());
        let (mut seen, mut folded) = (EntitySet::new(), EntitySet::new());
        for inst in before {
            let inner = product(module, linearized, inst).and_then(|(factor, linear)| {
                let ValueDef::Result(inner, _) = linearized.func.values[linear].def else { return None };
                let is_single = is_alone(linear) && seen.contains(inner);
                let is_tame =
                    ![inst, inner].iter().any(|i| steep.contains(linearized.func.insts[*i].results[0]));
                let (other, linear) = product(module, linearized, inner).filter(|_| is_single && is_tame)?;
                let is_gain = [factor, other].iter().all(|v| stored.get(v) == Some(&loops) && is_alone(*v));
                is_gain.then_some((inner, factor, other, linear))
            });
            if let Some((inner, factor, other, linear)) = inner {
                let func = &mut linearized.func;
                let (ty, span) = (func.ty(factor), func.insts[inst].span);
                let both = func.new_inst(Op::Math(Math::Mul), &[factor, other], &[ty], span);
                func.insts[inst].operands = [func.insts[both].results[0], linear].into_iter().collect();
                folded.insert(inner);
                any = true;
                after.push(both);
            }
            seen.insert(inst);
            after.push(inst);
        }
        after.retain(|inst| !folded.contains(*inst));
        linearized.func.regions[region].insts = after;
    }
    any
}

/// The factor and the linear operand of a linear product of numbers.
fn product(module: &Module, linearized: &Linearized, inst: Inst) -> Option<(Value, Value)> {
    let Linearized { func, lin, .. } = linearized;
    let data = &func.insts[inst];
    let ([a, b], Op::Math(Math::Mul)) = (&data.operands[..], &data.op) else { return None };
    let (factor, linear) = match (lin.contains(*a), lin.contains(*b)) {
        (false, true) => (*a, *b),
        (true, false) => (*b, *a),
        _ => return None,
    };
    let (Type::Scalar(scalar) | Type::Vector(scalar, _) | Type::Matrix(scalar, ..)) =
        module.types.get(func.ty(factor))
    else {
        return None;
    };
    matches!(scalar, Scalar::F32 | Scalar::F64).then_some((factor, linear))
}
