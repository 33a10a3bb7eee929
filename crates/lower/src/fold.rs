//! Finds values that are constant while a body is lowered. Input: values of the function being built. Output: their
//! constants.
//!
//! The condition of a branch often depends only on generic arguments and constants. If it is known, only the branch that runs
//! is lowered. Programs rely on this: the other branch may need infinitely many instances, or members that a type does not
//! have.
//!
//! ```slang
//! float f<let N : int>(float x) { if (N > 0) return f<N - 1>(x) + 1; return x; }     // f<0> mentions no f<-1>
//! float third<let N : int>(float v[N]) { return N > 2 ? v[2] : v[0]; }               // third<2> has no v[2]
//! ```
//!
//! The analysis examines the instructions, not the source, so the form of a condition does not matter. It does not look
//! through calls, loops and memory.

use crate::func::Frame;
use cotangent_base::{Map, Scalar};
use cotangent_ir::eval::{self, Eval};
use cotangent_ir::{
    Const, Control, Effect, Exit, Func, Inst, Math, Op, Region, Step, Type, Types, Value, ValueDef,
};

/// How many instructions deep the search goes. Conditions made of constants are far below that; without a limit the search
/// would follow a long computation to its beginning.
const MAX_DEPTH: u32 = 100;

/// The result of an instruction without regions, if enough is known of its operands.
pub(crate) fn result(
    types: &Types,
    func: &Func,
    inst: Inst,
    operand: impl Fn(usize) -> Option<Const>,
) -> Option<Const> {
    let data = &func.insts[inst];
    let scalar =
        |value: Value| if let Type::Scalar(scalar) = types.get(func.ty(value)) { Some(scalar) } else { None };
    if let Op::Const(number) = data.op {
        return Some(number);
    }
    if let Op::Splat = data.op {
        return operand(0);
    }
    let to: Scalar = scalar(*data.results.first()?)?;
    if let Op::Zero = data.op {
        return Some(eval::zero(to));
    }
    if let Op::Select = data.op {
        return match operand(0) {
            Some(cond) => operand(if cond == Const::Bool(true) { 1 } else { 2 }),
            None => operand(1).filter(|number| operand(2) == Some(*number)),
        };
    }
    let from = scalar(*data.operands.first()?)?;
    if let Op::Convert = data.op {
        return Some(Eval::default().convert(operand(0)?, from, to));
    }
    let Op::Math(math) = data.op else { return None };
    if let Math::And | Math::Or = math {
        let decides = Const::Bool(math == Math::Or);
        if (0..data.operands.len()).any(|n| operand(n) == Some(decides)) {
            return Some(decides);
        }
    }
    let operands = (0..data.operands.len()).map(&operand);
    Eval::default().math(math, from, &operands.collect::<Option<Vec<_>>>()?).ok()
}

/// The number that all of `given` are, if they are the same.
pub(crate) fn agreed(mut given: impl Iterator<Item = Option<Const>>) -> Option<Const> {
    let first = given.next()??;
    given.all(|number| number == Some(first)).then_some(first)
}

/// A search for numbers in the instructions of a function.
struct Search<'f> {
    types: &'f Types,
    func: &'f Func,
    /// The answers so far; `None` for values that are not known.
    found: &'f mut Map<Value, Option<Const>>,
}

impl Search<'_> {
    fn value(&mut self, value: Value, depth: u32) -> Option<Const> {
        if let Some(found) = self.found.get(&value) {
            return *found;
        }
        let number = match self.func.values[value].def {
            ValueDef::Result(inst, number) if depth < MAX_DEPTH => {
                self.result(inst, number as usize, depth + 1)
            }
            ValueDef::Result(..) | ValueDef::Arg(..) => None,
        };
        self.found.insert(value, number);
        number
    }

    fn result(&mut self, inst: Inst, number: usize, depth: u32) -> Option<Const> {
        let data = &self.func.insts[inst];
        match data.op.control() {
            Control::Plain => self.plain(inst, depth),
            Control::If | Control::Switch(_) => {
                let selector = self.value(*data.operands.first()?, depth);
                let chosen = selector.and_then(|selector| arm(&data.op, selector));
                let regions = match chosen {
                    Some(chosen) => data.regions.get(chosen..=chosen)?,
                    None => &data.regions[..],
                };
                let yields: Vec<Value> = regions
                    .iter()
                    .map(|region| self.func.exit(*region))
                    .filter(|last| last.op.control() == Control::Exit(Exit::Yield))
                    .map(|last| last.operands.get(number).copied())
                    .collect::<Option<_>>()?;
                let given: Vec<Option<Const>> = yields.into_iter().map(|v| self.value(v, depth)).collect();
                agreed(given.into_iter())
            }
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => None,
            Control::While(_) | Control::For(_) | Control::Exit(_) => None,
        }
    }

    fn plain(&mut self, inst: Inst, depth: u32) -> Option<Const> {
        let data = &self.func.insts[inst];
        if let Op::Extract(path) = &data.op {
            let &[Step::Part(part)] = &path.0[..] else { return None };
            let &ValueDef::Result(whole, _) = &self.func.values[*data.operands.first()?].def else {
                return None;
            };
            let whole = &self.func.insts[whole];
            if let Op::Pack = whole.op {
                return self.value(*whole.operands.get(part as usize)?, depth);
            }
            let Type::Scalar(scalar) = self.types.get(self.func.ty(data.results[0])) else { return None };
            return matches!(whole.op, Op::Zero).then(|| eval::zero(scalar));
        }
        let operands: Vec<Option<Const>> = data.operands.iter().map(|v| self.value(*v, depth)).collect();
        result(self.types, self.func, inst, |n| operands.get(n).copied().flatten())
    }
}

/// Which region of an `if` or `switch` runs for a selector.
pub(crate) fn arm(op: &Op, selector: Const) -> Option<usize> {
    match op.control() {
        Control::If => Some(usize::from(selector != Const::Bool(true))),
        Control::Switch(cases) => {
            Some(cases.iter().position(|case| Const::Int(*case) == selector).unwrap_or(cases.len()))
        }
        Control::Plain
        | Control::Call(_)
        | Control::DiffCall(_)
        | Control::LinCall(_)
        | Control::While(_)
        | Control::For(_)
        | Control::Exit(_) => None,
    }
}

impl Frame<'_, '_> {
    /// The number that a value is in every run, if it is known.
    pub fn number(&mut self, value: Value) -> Option<Const> {
        if self.lowerer.diagnostics.has_errors() {
            // After an error the instructions may be inconsistent.
            return None;
        }
        let Frame { lowerer, func, numbers, .. } = self;
        Search { types: &lowerer.module.types, func, found: numbers }.value(value, 0)
    }

    /// Whether a loop with these initial values makes no iteration, and its condition has no effect.
    pub fn never_runs(&mut self, cond: Region, init: &[Value]) -> bool {
        if !self.only_computes(cond) {
            return false;
        }
        let mut found = Map::default();
        for (i, &value) in init.iter().enumerate() {
            found.insert(self.func.regions[cond].args[i], self.number(value));
        }
        let answer = self.func.exit(cond).operands.first().copied();
        let Frame { lowerer, func, .. } = self;
        let mut search = Search { types: &lowerer.module.types, func, found: &mut found };
        answer.and_then(|answer| search.value(answer, 0)) == Some(Const::Bool(false))
    }

    fn only_computes(&self, region: Region) -> bool {
        self.func.regions[region].insts.iter().all(|inst| {
            let data = &self.func.insts[*inst];
            match data.op.control() {
                Control::Plain => data.op.effect() == Effect::None && data.op.trap_cause().is_none(),
                Control::If | Control::Switch(_) => data.regions.iter().all(|r| self.only_computes(*r)),
                Control::Exit(exit) => exit == Exit::Yield,
                Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => false,
                Control::While(_) | Control::For(_) => false,
            }
        })
    }
}
