//! Finds which inputs a custom backward derivative reads. Input: a function with a custom backward derivative. Output: a mask over
//! the inputs of the function. The primal half stores only what is read.
//!
//! ```text
//! void store_bwd(int i, inout DifferentialPair<float> v) { v = diffPair(v.p, grad[i]); }     reads i, but not v.p
//! ```
//!
//! The value in a pair that is only returned in that pair is not read: what a caller gets back is the value it passed.

use crate::driver::{Context, Reported};
use crate::transpose::{DERIVATIVE, PRIMAL, Role, roles};
use cotangent_base::Map;
use cotangent_ir::{Func, FuncId, InputMask, Inst, Op, Step, Value};

/// The inputs that the backward derivative `custom` of `func` reads.
pub(crate) fn needs(cx: &mut Context<'_>, func: FuncId, custom: FuncId) -> Result<InputMask, Reported> {
    if let Some(known) = cx.reverse.needs.get(&func) {
        return Ok(known.clone());
    }
    let sig = cx.module.funcs[func].sig.clone();
    let body = cx.body_of(custom)?;
    let roles = roles(&sig);
    let mut needs = InputMask::filled(false, sig.inputs().count());
    let uses = Uses::of(&body);
    // A derivative with too few parameters is reported when it is called.
    for (role, &value) in roles.iter().zip(body.inputs()) {
        match *role {
            Role::Plain(input) if !uses.of_value(value).is_empty() => needs.set(input),
            Role::Pair { input, .. } if uses.reads_primal(value) => needs.set(input),
            Role::Plain(_) | Role::Pair { .. } | Role::Seed(_) => {}
        }
    }
    cx.reverse.needs.insert(func, needs.clone());
    Ok(needs)
}

/// Which instructions use each value.
struct Uses<'f> {
    func: &'f Func,
    users: Map<Value, Vec<Inst>>,
}

impl<'f> Uses<'f> {
    fn of(func: &'f Func) -> Self {
        let mut users: Map<Value, Vec<Inst>> = Map::default();
        for inst in func.all_insts() {
            for operand in &func.insts[inst].operands {
                users.entry(*operand).or_default().push(inst);
            }
        }
        Uses { func, users }
    }

    fn of_value(&self, value: Value) -> &[Inst] {
        self.users.get(&value).map_or(&[], |users| users)
    }

    /// Whether something depends on the value in a pair, other than the pair that is returned.
    fn reads_primal(&self, pair: Value) -> bool {
        self.of_value(pair).iter().any(|user| {
            let data = &self.func.insts[*user];
            let first = data.op.path().and_then(|path| path.0.first());
            if let Op::Extract(path) = &data.op {
                first != Some(&Step::Part(DERIVATIVE))
                    && (path.0.len() > 1
                        || first != Some(&Step::Part(PRIMAL))
                        || self.is_read(data.results[0]))
            } else if let Op::Insert(_) = data.op {
                // The pair itself, not what is put into it.
                let is_base = data.operands[0] == pair && !data.operands[1..].contains(&pair);
                !is_base || first != Some(&Step::Part(DERIVATIVE)) || self.reads_primal(data.results[0])
            } else {
                !matches!(data.op, Op::Return)
            }
        })
    }

    /// Whether the value of a pair is used for more than to make the pair that is returned.
    fn is_read(&self, primal: Value) -> bool {
        self.of_value(primal).iter().any(|user| {
            let data = &self.func.insts[*user];
            let makes_pair = matches!(data.op, Op::Pack)
                && data.operands.len() == 2
                && data.operands[PRIMAL as usize] == primal
                && data.operands[DERIVATIVE as usize] != primal;
            !makes_pair || self.reads_primal(data.results[0])
        })
    }
}
