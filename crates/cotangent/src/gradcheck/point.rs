//! Chooses the points to check at.
//!
//! Real numbers come from a range that changes from point to point, so that functions with a restricted domain (logarithms,
//! inverse sines) are defined at some points. Integers are small and not negative, because they tend to be indices and
//! counts. Buffers and uniforms that a function reads are filled in the same way.

use crate::gradient::{Evaluator, Named};
use cotangent_base::Scalar;
use cotangent_interp::Val;
use cotangent_ir::{Const, FuncId, Global, GlobalData, GlobalKind, Module, Ty, Type, Types, layout};

/// Where real numbers lie.
pub(crate) type Range = (f64, f64);

/// For random points.
pub(super) const RANGES: &[Range] =
    &[(-1.0, 1.0), (0.05, 1.0), (0.5, 3.0), (-3.0, 3.0), (1.05, 6.0), (-0.4, 0.4)];

/// Points where kinks like to be.
pub(super) const SPECIAL: [Range; 3] = [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)];

/// How many elements a buffer has.
const ELEMENTS: usize = 16;

/// Random numbers that are the same everywhere: splitmix64.
pub(crate) struct Random(u64);

impl Random {
    /// Functions get points of their own.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let mut random = Random(seed);
        for byte in name.bytes() {
            random.0 = random.next() ^ u64::from(byte);
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn between(&mut self, (low, high): Range) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        // Few digits read better in a report, and are exact in any type.
        let x = low + (high - low) * unit;
        (x * 1024.0).round() / 1024.0
    }
}

/// Makes a buffer for every input that is one; gives inputs and buffers in order.
pub(super) fn give_buffers(module: &mut Module, func: FuncId) -> Vec<(usize, Global)> {
    let inputs: Vec<_> = module.funcs[func].sig.inputs().map(|p| (p.name, p.ty)).collect();
    let span = module.funcs[func].span;
    let is_buffer = |(_, (_, ty)): &(usize, (_, Ty))| matches!(module.types.get(*ty), Type::Buffer(..));
    let buffers: Vec<_> = inputs.into_iter().enumerate().filter(is_buffer).collect();
    let give = |(input, (name, ty))| {
        (input, module.add_global(GlobalData { name, ty, kind: GlobalKind::Param, span }))
    };
    buffers.into_iter().map(give).collect()
}

/// The most bytes of a point: it is drawn and computed number by number.
const MOST_BYTES: u64 = 1 << 24;

/// Whether a function takes and reads more than a point may have.
pub(super) fn is_too_large(module: &Module, func: FuncId) -> bool {
    let inputs = module.funcs[func].sig.inputs().map(|param| param.ty);
    let params = module.globals.values().filter(|data| data.kind == GlobalKind::Param).map(|data| data.ty);
    let elements = |ty| match module.types.get(ty) {
        Type::Buffer(elem, _) => (elem, ELEMENTS as u64),
        _ => (ty, 1),
    };
    let size = |ty| layout::layout(&module.types, ty).map_or(0, |layout| u64::from(layout.size));
    inputs.chain(params).map(elements).map(|(ty, count)| count * size(ty)).sum::<u64>() > MOST_BYTES
}

/// An input that is more than a buffer and has a resource in it.
pub(super) fn without_value(module: &Module, evaluator: &Evaluator) -> Option<String> {
    let types = &module.types;
    let has_no_value = |input: &&Named| {
        !matches!(types.get(input.ty), Type::Buffer(..)) && layout::layout(types, input.ty).is_none()
    };
    evaluator.inputs.iter().find(has_no_value).map(|input| input.name.clone())
}

/// Moves to a point: every input, uniform and buffer gets new values.
pub(super) fn set_all(
    evaluator: &mut Evaluator,
    module: &Module,
    handles: &[(usize, Global)],
    range: Range,
    random: &mut Random,
) {
    let types = &module.types;
    for (i, input) in evaluator.inputs.iter_mut().enumerate() {
        input.value = match handles.iter().find(|(at, _)| *at == i) {
            Some((_, global)) => Val::Handle(*global),
            None => value(types, input.ty, range, random),
        };
    }
    // At special points what is read stays ordinary, so that a kink is not hidden by a factor of zero.
    let range = if range.0 < range.1 { range } else { RANGES[2] };
    let params = module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
    let filled = params.map(|(global, data)| match types.get(data.ty) {
        Type::Buffer(elem, _) => {
            let elements = (0..ELEMENTS).map(|_| value(types, elem, range, random));
            (global, Val::aggregate(elements))
        }
        _ => (global, value(types, data.ty, range, random)),
    });
    evaluator.set_globals(filled.collect());
}

fn value(types: &Types, ty: Ty, range: Range, random: &mut Random) -> Val {
    if let Type::Scalar(scalar) = types.get(ty) {
        return Val::Scalar(match scalar {
            Scalar::F16 | Scalar::F32 | Scalar::F64 => Const::float(random.between(range)),
            Scalar::Bool => Const::Bool(random.below(2) == 1),
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => Const::Int(random.below(4) as i64),
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Const::Int(random.below(4) as i64),
        });
    }
    match types.arity(ty) {
        Some(n) => {
            let part = |i| types.part(ty, Some(i)).expect("a part for each of the arity");
            Val::aggregate((0..n).map(|i| value(types, part(i), range, random)))
        }
        None => Val::zero(types, ty),
    }
}
