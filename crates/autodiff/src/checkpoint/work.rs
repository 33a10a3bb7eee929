//! What an operation costs to run once more, in units of one addition.

use super::nest::Nest;
use super::size::scalars;
use cotangent_ir::{Func, FuncId, InstData, Math, Module, Op};

/// Calls nested deeper than this count as [`DEEP`]; recursion ends here too.
const MAX_DEPTH: u32 = 12;
/// The work of a call nobody wants to repeat.
const DEEP: u64 = 1 << 30;

/// The work of one run of `inst`, without that of its regions.
pub fn of_inst(module: &Module, func: &Func, inst: &InstData, depth: u32) -> u64 {
    let width =
        |value: Option<&cotangent_ir::Value>| value.map_or(1, |v| scalars(&module.types, func.ty(*v)).max(1));
    let result = width(inst.results.first());
    let operand = width(inst.operands.first());
    match &inst.op {
        Op::Const(_) | Op::Undef | Op::Global(_) | Op::Detach => 0,
        Op::Math(math) => of_math(*math) * result,
        Op::Extract(_) => 1,
        Op::Zero
        | Op::Select
        | Op::Convert
        | Op::Bitcast
        | Op::Splat
        | Op::Swizzle(_)
        | Op::Transpose
        | Op::Pack
        | Op::Insert(_)
        | Op::InsertAdd(_)
        | Op::Outer => result,
        Op::Sum | Op::Dot => 2 * operand,
        Op::MatVec => 2 * operand,
        Op::VecMat => 2 * width(inst.operands.get(1)),
        Op::MatMat => 4 * operand.max(result) * 2,
        Op::Load(_) => 4 * result,
        Op::Length => 1,
        Op::Store(_) | Op::Assert(_) => 4,
        Op::Call(callee) => of_func(module, *callee, depth + 1),
        Op::DiffCall(call) => of_func(module, call.func, depth + 1),
        Op::LinCall(call) => of_func(module, call.call.func, depth + 1),
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => 1,
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => 0,
    }
}

/// The work of a call, its loops included.
pub fn of_func(module: &Module, id: FuncId, depth: u32) -> u64 {
    if depth > MAX_DEPTH {
        return DEEP;
    }
    let func = &module.funcs[id];
    let nest = Nest::of(func);
    let mut work = 2u64;
    func.walk(func.body, &mut |inst| {
        let trips = nest.trips(func, nest.region_of(inst));
        let once = of_inst(module, func, &func.insts[inst], depth);
        work = work.saturating_add(once.saturating_mul(trips)).min(DEEP);
    });
    work
}

fn of_math(math: Math) -> u64 {
    match math {
        Math::Add
        | Math::Sub
        | Math::Mul
        | Math::Neg
        | Math::Abs
        | Math::Sign
        | Math::Min
        | Math::Max
        | Math::Fma => 1,
        Math::And | Math::Or | Math::Xor | Math::Not | Math::Shl | Math::Shr => 1,
        Math::CountBits | Math::FirstBitLow | Math::FirstBitHigh | Math::ReverseBits => 2,
        Math::Eq | Math::Ne | Math::Lt | Math::Le | Math::Gt | Math::Ge | Math::IsNan | Math::IsInf => 1,
        Math::Floor | Math::Ceil | Math::Round | Math::RoundEven | Math::Trunc => 1,
        Math::Div | Math::Rem | Math::Sqrt | Math::Rsqrt => 4,
        Math::Exp | Math::Exp2 | Math::Log | Math::Log2 | Math::Log10 | Math::Sin | Math::Cos => 8,
        Math::Tan | Math::Sinh | Math::Cosh | Math::Tanh => 12,
        Math::Pow
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Atan2
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => 16,
    }
}
