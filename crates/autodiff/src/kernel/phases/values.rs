//! The results of operations on values, in all threads of a group.

use super::lanes::{Known, Lane, Lanes, Name, Symbols, of_const};
use super::walk::{Frame, Walk};
use crate::kernel::accesses::is_handle;
use cotangent_ir::{Const, Func, Global, GlobalKind, InstData, Op, Path, Step, Ty, Type, Value};
use std::rc::Rc;

/// The most parts of an aggregate whose parts are followed.
const MOST_PARTS: u32 = 16;

impl Walk<'_> {
    /// The value that a load reads.
    pub(super) fn loaded(&mut self, frame: &Frame<'_>, data: &InstData, global: Global) -> Known {
        let path = data.op.path().cloned().unwrap_or_default();
        let indices: Vec<Lanes> = data.operands[data.operands.len() - path.indices()..]
            .iter()
            .map(|i| frame.of(*i).number())
            .collect();
        let ty = frame.func.ty(data.results[0]);
        let kind = &self.module.globals[global].kind;
        let is_whole =
            indices.iter().all(|lanes| matches!(lanes, Lanes::All(lane) if *lane != Lane::Unknown));
        if *kind == GlobalKind::Shared && is_whole {
            // All threads read one element, which is written before a barrier.
            return self.symbolic(ty, &mut |symbols, _| Lanes::All(Lane::Moved(symbols.fresh(1), 0)));
        }
        if *kind != GlobalKind::Param || self.written.contains(&global) {
            return Known::Nothing;
        }
        let (threads, all): (usize, Vec<&Lanes>) = (self.threads, indices.iter().collect());
        self.symbolic(ty, &mut |symbols, number| {
            Lanes::map(threads, &all, |lanes| {
                if lanes.contains(&Lane::Unknown) {
                    return Lane::Unknown;
                }
                let name = Name::Loaded(global, path.clone(), lanes.to_vec(), number);
                if is_whole { symbols.named(name, 1) } else { symbols.chosen(name) }
            })
        })
    }

    /// A value of a type, whose numbers are made one by one.
    fn symbolic(&mut self, ty: Ty, number: &mut dyn FnMut(&mut Symbols, u32) -> Lanes) -> Known {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Scalar(_) => Known::Number(number(&mut self.symbols, 0)),
            Type::Vector(_, n) => {
                Known::Parts((0..n.into()).map(|i| Known::Number(number(&mut self.symbols, i))).collect())
            }
            Type::Unit | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => {
                Known::Nothing
            }
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => Known::Nothing,
        }
    }

    /// A uniform, or a part of it.
    fn uniform(&mut self, global: Global, ty: Ty, path: &mut Vec<u32>) -> Known {
        let types = &self.module.types;
        let count = types.arity(ty).unwrap_or(0);
        if let Type::Scalar(_) = types.get(ty) {
            return Known::Number(Lanes::All(self.symbols.named(Name::Uniform(global, path.clone()), 1)));
        }
        if count == 0 || count > MOST_PARTS || is_handle(self.module, ty) {
            return Known::Nothing;
        }
        let mut parts = vec![];
        for i in 0..count {
            let Some(part) = types.part(ty, Some(i)) else { return Known::Nothing };
            path.push(i);
            parts.push(self.uniform(global, part, path));
            path.pop();
        }
        Known::Parts(parts.into())
    }

    /// The result of an operation on values.
    pub(super) fn computed(&mut self, frame: &Frame<'_>, data: &InstData) -> Known {
        let types = &self.module.types;
        let ty = frame.func.ty(data.results[0]);
        let operands = frame.all(&data.operands);
        if let Op::Const(constant) = data.op {
            let symbols = &mut self.symbols;
            let mut float = |bits| symbols.named(Name::Float(bits), 1);
            let lane = match constant {
                Const::Float(bits) => float(bits),
                Const::Bool(_) | Const::Int(_) => of_const(constant).unwrap_or(Lane::Unknown),
            };
            return Known::Number(Lanes::All(lane));
        }
        if data.op == Op::Zero {
            let is_float = types.scalar_of(ty).is_some_and(|scalar| scalar.is_float());
            return self.symbolic(ty, &mut |symbols, _| {
                Lanes::All(if is_float { symbols.named(Name::Float(0), 1) } else { Lane::Known(0) })
            });
        }
        if let Op::Global(global) = data.op {
            let of = self.module.globals[global].ty;
            return if is_handle(self.module, of) {
                Known::Nothing
            } else {
                self.uniform(global, of, &mut vec![])
            };
        }
        if data.op == Op::Length {
            let Some(global) = memory_of(frame.func, data) else { return Known::UNKNOWN };
            let name = Name::Loaded(global, Path::default(), vec![], u32::MAX);
            return Known::Number(Lanes::All(self.symbols.named(name, 1)));
        }
        if let Op::Pack = data.op {
            let few = operands.len() <= MOST_PARTS as usize;
            return if few { Known::Parts(operands.into()) } else { Known::Nothing };
        }
        if let Op::Splat = data.op {
            let count = types.arity(ty).unwrap_or(0);
            let few = (1..=MOST_PARTS).contains(&count)
                && matches!(types.get(ty), Type::Vector(..) | Type::Array(..));
            return if few {
                Known::Parts(vec![operands[0].clone(); count as usize].into())
            } else {
                Known::Nothing
            };
        }
        if let Op::Swizzle(lanes) = &data.op {
            let parts: Rc<[Known]> = lanes.iter().map(|lane| operands[0].part(usize::from(*lane))).collect();
            return if parts.len() == 1 { parts[0].clone() } else { Known::Parts(parts) };
        }
        if let Op::Extract(path) = &data.op {
            return extracted(operands[0].clone(), path, &operands[1..]);
        }
        if let (Op::Insert(path), Some(Known::Parts(parts))) = (&data.op, operands.first())
            && let [step] = path.0[..]
            && let Some(number) = number_of(step, &mut operands[2..].iter())
            && number < parts.len()
        {
            let mut parts = parts.to_vec();
            parts[number] = operands[1].clone();
            return Known::Parts(parts.into());
        }
        if data.op == Op::Detach {
            return operands[0].clone();
        }
        self.arithmetic(frame, data, &operands)
    }

    fn arithmetic(&mut self, frame: &Frame<'_>, data: &InstData, operands: &[Known]) -> Known {
        let types = &self.module.types;
        let scalar_of = |value: Value| types.scalar_of(frame.func.ty(value));
        let (from, to) = (data.operands.last().and_then(|v| scalar_of(*v)), scalar_of(data.results[0]));
        let (Some(from), Some(to)) = (from, to) else { return Known::Nothing };
        let (threads, eval) = (self.threads, types.eval());
        let symbols = &mut self.symbols;
        if let Op::Math(math) = data.op {
            return each(operands, &mut |all| {
                Lanes::map(threads, all, |lanes| symbols.math(eval, math, from, lanes))
            });
        }
        if data.op == Op::Select {
            return each(operands, &mut |all| {
                Lanes::map(threads, all, |lanes| symbols.select(lanes[0], lanes[1], lanes[2]))
            });
        }
        if let Op::Convert | Op::Bitcast = data.op {
            let is_bits = data.op == Op::Bitcast;
            return each(operands, &mut |all| {
                Lanes::map(threads, all, |lanes| match lanes[0] {
                    Lane::Known(n) if from.is_int() && to.is_int() => {
                        of_const(eval.convert(Const::Int(n), from, to)).unwrap_or(Lane::Unknown)
                    }
                    Lane::Moved(s, x) if from.is_int() && to.is_int() => Lane::Moved(s, x),
                    Lane::Unknown => Lane::Unknown,
                    lane @ (Lane::Known(_) | Lane::Moved(..)) => {
                        let name = if is_bits { Name::Select(vec![lane]) } else { Name::Convert(to, lane) };
                        symbols.named(name, 1)
                    }
                })
            });
        }
        Known::Nothing
    }
}

/// The memory that an operation names.
fn memory_of(func: &Func, data: &InstData) -> Option<Global> {
    match func.op(*data.operands.first()?) {
        Some(Op::Global(global)) => Some(*global),
        _ => None,
    }
}

/// The number of a step, if it is the same in all threads.
fn number_of<'k>(step: Step, indices: &mut impl Iterator<Item = &'k Known>) -> Option<usize> {
    match step {
        Step::Part(number) => Some(number as usize),
        Step::Index => match indices.next()?.number() {
            Lanes::All(Lane::Known(number)) => usize::try_from(number).ok(),
            Lanes::All(_) | Lanes::Each(_) => None,
        },
    }
}

fn extracted(mut known: Known, path: &Path, indices: &[Known]) -> Known {
    let mut indices = indices.iter();
    for step in &path.0 {
        let Some(number) = number_of(*step, &mut indices) else { return Known::Nothing };
        known = known.part(number);
    }
    known
}

/// Applies a function of numbers to the numbers of vectors. What is no vector is the same for all.
fn each(operands: &[Known], f: &mut dyn FnMut(&[&Lanes]) -> Lanes) -> Known {
    let parts = operands
        .iter()
        .find_map(|known| if let Known::Parts(parts) = known { Some(parts.len()) } else { None });
    let Some(count) = parts else {
        let lanes: Vec<Lanes> = operands.iter().map(Known::number).collect();
        return Known::Number(f(&lanes.iter().collect::<Vec<_>>()));
    };
    let part = |number: usize| {
        let parts: Vec<Known> = operands
            .iter()
            .map(|known| if let Known::Number(_) = known { known.clone() } else { known.part(number) })
            .collect();
        each(&parts, f)
    };
    Known::Parts((0..count).map(part).collect())
}
