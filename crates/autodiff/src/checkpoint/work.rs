//! The cost of recomputing an operation, in units of one addition.

use super::nest::Nest;
use cotangent_base::Map;
use cotangent_ir::{Func, FuncId, InstData, Math, Module, Op, Ty, Type, Types};
use std::cell::RefCell;

/// The work of a call nobody wants to repeat; also that of a function which calls itself.
const DEEP: u64 = 1 << 30;

/// What functions cost, each worked out once.
#[derive(Default)]
pub struct Works {
    known: RefCell<Map<FuncId, u64>>,
}

impl Works {
    /// The work of a call of `id`, its loops included.
    pub fn func(&self, module: &Module, id: FuncId) -> u64 {
        if let Some(&known) = self.known.borrow().get(&id) {
            return known;
        }
        self.known.borrow_mut().insert(id, DEEP);
        let func = &module.funcs[id];
        let nest = Nest::of(func);
        let mut work = 2u64;
        func.walk(func.body, &mut |inst| {
            let trips = nest.trips(func, nest.region_of(inst));
            let once = self.inst(module, func, &func.insts[inst]);
            work = work.saturating_add(once.saturating_mul(trips)).min(DEEP);
        });
        self.known.borrow_mut().insert(id, work);
        work
    }

    /// The work of one run of `inst`, without that of its regions.
    pub fn inst(&self, module: &Module, func: &Func, inst: &InstData) -> u64 {
        let width = |value: Option<&cotangent_ir::Value>| {
            value.map_or(1, |v| scalars(&module.types, func.ty(*v)).max(1))
        };
        let result = width(inst.results.first());
        let operand = width(inst.operands.first());
        match &inst.op {
            Op::Const(_) | Op::Undef | Op::Global(_) | Op::Detach => 0,
            Op::Math(math) => of_math(*math) * result,
            Op::Extract(_) | Op::Project(_) | Op::Tag => 1,
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
            | Op::Inject(_)
            | Op::Outer => result,
            Op::Sum | Op::Dot => 2 * operand,
            Op::MatVec => 2 * operand,
            Op::VecMat => 2 * width(inst.operands.get(1)),
            Op::MatMat => 4 * operand.max(result) * 2,
            Op::Load(_) => 4 * result,
            Op::Sample(_) => 64 * result,
            Op::Texel => 4 * result,
            Op::Dimensions | Op::Discard => 4,
            Op::Screen(_) => 4 * result,
            Op::Wave(_) => 8 * result,
            Op::Length | Op::Point(_) | Op::Offset | Op::Address | Op::Pointer => 1,
            Op::StoreTexel
            | Op::Store(_)
            | Op::Atomic(_)
            | Op::Barrier(_)
            | Op::Print(_)
            | Op::TargetText(_)
            | Op::Assert(_) => 4,
            Op::Call(callee) => self.func(module, *callee),
            Op::DiffCall(call) => self.func(module, call.func),
            Op::LinCall(call) => self.func(module, call.call.func),
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => 1,
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => 0,
        }
    }
}

/// An elementary function is a call of some thirty instructions on a CPU. On GPUs it costs less, but in all kernels of
/// `bench/kernels` storing these values was as fast as recomputing them, or faster, there too.
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
        Math::Exp | Math::Exp2 | Math::Log | Math::Log2 | Math::Log10 | Math::Sin | Math::Cos => 28,
        Math::Tan | Math::Sinh | Math::Cosh | Math::Tanh => 36,
        Math::Pow
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Atan2
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => 48,
    }
}

/// How many scalars a value of the type has; a handle counts one.
fn scalars(types: &Types, ty: Ty) -> u64 {
    match types.get(ty) {
        Type::Unit => 0,
        Type::Scalar(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 1,
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => u64::from(r) * u64::from(c),
        Type::Array(elem, n) => scalars(types, elem).saturating_mul(n.into()),
        Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| scalars(types, f.ty)).sum(),
        Type::Sum(id) => {
            let members = types.struct_def(id).fields.iter().map(|f| scalars(types, f.ty));
            members.max().unwrap_or(0).saturating_add(1)
        }
    }
}
