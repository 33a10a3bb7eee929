//! Integers that are divided by zero in every run that comes there.
//!
//! The checker finds divisors that are zero as they are written. One that is made of generic arguments is known in the instance only:
//!
//! ```slang
//! int share<let N : int>(int x) { return x / N; }     // share<0> divides by zero, share<2> does not
//! ```
//!
//! So all that can be reached from what was asked for is walked once, with the numbers that are known on the way. What a known condition
//! keeps from running is not looked at, nor are functions that only it calls: `if (N > 0) x /= N;` is fine. Numbers are not followed
//! through calls and memory, and a loop is known for its first question only.

use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntitySet, Map, Scalar, Span};

use cotangent_ir::eval::{self, Eval};
use cotangent_ir::{
    Const, Control, Exit, Func, FuncId, FuncKind, Inst, Math, Module, Op, Region, Type, Value,
};
use cotangent_sema::codes::DIVIDED_BY_ZERO;

/// Reports divisions by zero in all that `roots` come to.
pub(crate) fn check(lowerer: &mut Lowerer<'_>, roots: impl Iterator<Item = FuncId>) {
    let (mut open, mut seen, mut places) = (roots.collect::<Vec<_>>(), EntitySet::new(), vec![]);
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let func = &lowerer.module.funcs[id];
        if let FuncKind::Request(_, of) = func.kind {
            open.push(of);
            continue;
        }
        open.extend(func.diff.links());
        let mut walk =
            Walk { module: &lowerer.module, func, known: Map::default(), calls: vec![], zeros: vec![] };
        walk.region(func.body);
        open.append(&mut walk.calls);
        places.extend(walk.zeros.into_iter().map(|span| (span, func.name)));
    }
    // One place may be wrong in many instances.
    places.sort_by_key(|(span, _)| (span.file, span.start, span.end));
    places.dedup_by_key(|(span, _)| *span);
    for (span, name) in places {
        let message = format!("division by zero in `{name}`");
        lowerer.diagnostics.push(Diagnostic::new(DIVIDED_BY_ZERO, span, message));
    }
}

/// The walk through a function.
struct Walk<'m> {
    module: &'m Module,
    func: &'m Func,
    /// Scalars that are known, and the elements of vectors that have but one.
    known: Map<Value, Const>,
    calls: Vec<FuncId>,
    zeros: Vec<Span>,
}

impl Walk<'_> {
    /// Walks through a region. Says whether its `yield` is reached.
    fn region(&mut self, region: Region) -> bool {
        for &inst in &self.func.regions[region].insts {
            let goes_on = match self.func.insts[inst].op.control() {
                Control::Plain => {
                    self.plain(inst);
                    true
                }
                Control::Call(callee) => {
                    self.calls.push(callee);
                    true
                }
                Control::If => {
                    let arm = self.operand(inst, 0).map(|cond| usize::from(cond != Const::Bool(true)));
                    self.choice(inst, arm)
                }
                Control::Switch(cases) => {
                    let arm = self.operand(inst, 0).map(|selector| {
                        let case = cases.iter().position(|case| Const::Int(*case) == selector);
                        case.unwrap_or(cases.len())
                    });
                    self.choice(inst, arm)
                }
                Control::While(_) => {
                    self.repeat(inst);
                    true
                }
                Control::For(_) => {
                    if self.operand(inst, 0) != Some(Const::Int(0)) {
                        self.region(self.func.insts[inst].regions[0]);
                    }
                    true
                }
                Control::Exit(exit) => return exit == Exit::Yield,
                // Only autodiff makes these.
                Control::DiffCall(_) | Control::LinCall(_) => true,
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn operand(&self, inst: Inst, number: usize) -> Option<Const> {
        self.known.get(self.func.insts[inst].operands.get(number)?).copied()
    }

    /// Walks through the arm that is chosen, or through all if that is not known. Says whether one of them goes on behind.
    fn choice(&mut self, inst: Inst, arm: Option<usize>) -> bool {
        let regions = self.func.insts[inst].regions.clone();
        let reached: Vec<Region> = match arm {
            Some(arm) => regions.get(arm..=arm).unwrap_or_default().to_vec(),
            None => regions.to_vec(),
        };
        // All of them are walked through, also behind one that goes on.
        let ends: Vec<Region> = reached.into_iter().filter(|region| self.region(*region)).collect();
        for (number, result) in self.func.insts[inst].results.iter().enumerate() {
            let given = ends.iter().map(|end| self.known.get(self.func.exit(*end).operands.get(number)?));
            if let Some(number) = agreed(given) {
                self.known.insert(*result, number);
            }
        }
        !ends.is_empty()
    }

    /// Walks through a loop, unless it ends before its first round.
    fn repeat(&mut self, inst: Inst) {
        let [cond, body] = self.func.insts[inst].regions[..] else { return };
        if self.first_answer(inst, cond) != Some(Const::Bool(false)) {
            self.region(cond);
            self.region(body);
        }
    }

    /// The first answer of the condition of a loop, if it is known.
    fn first_answer(&mut self, inst: Inst, cond: Region) -> Option<Const> {
        let known = self.known.clone();
        for (arg, first) in self.func.regions[cond].args.iter().zip(&self.func.insts[inst].operands) {
            if let Some(number) = known.get(first) {
                self.known.insert(*arg, *number);
            }
        }
        self.region(cond);
        let answer = self.func.exit(cond).operands.first().and_then(|answer| self.known.get(answer).copied());
        self.known = known;
        answer
    }

    /// Computes what an instruction gives, and notes a division by zero.
    fn plain(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        if let Op::Math(Math::Div | Math::Rem) = data.op
            && self.operand(inst, 1) == Some(Const::Int(0))
            && !data.span.is_none()
        {
            self.zeros.push(data.span);
        }
        if let ([result], Some(number)) = (&data.results[..], self.result(inst)) {
            self.known.insert(*result, number);
        }
    }

    fn result(&self, inst: Inst) -> Option<Const> {
        let data = &self.func.insts[inst];
        if let Op::Const(number) = data.op {
            return Some(number);
        }
        if let Op::Splat = data.op {
            return self.operand(inst, 0);
        }
        let to = self.scalar(*data.results.first()?)?;
        if let Op::Zero = data.op {
            return Some(eval::zero(to));
        }
        if let Op::Select = data.op {
            return match self.operand(inst, 0) {
                Some(cond) => self.operand(inst, if cond == Const::Bool(true) { 1 } else { 2 }),
                None => self.operand(inst, 1).filter(|number| self.operand(inst, 2) == Some(*number)),
            };
        }
        let from = self.scalar(*data.operands.first()?)?;
        if let Op::Convert = data.op {
            return Some(Eval::default().convert(self.operand(inst, 0)?, from, to));
        }
        let Op::Math(math) = data.op else { return None };
        if let Math::And | Math::Or = math {
            let decides = Const::Bool(math == Math::Or);
            if (0..data.operands.len()).any(|n| self.operand(inst, n) == Some(decides)) {
                return Some(decides);
            }
        }
        let operands = (0..data.operands.len()).map(|n| self.operand(inst, n));
        Eval::default().math(math, from, &operands.collect::<Option<Vec<_>>>()?).ok()
    }

    fn scalar(&self, value: Value) -> Option<Scalar> {
        match self.module.types.get(self.func.ty(value)) {
            Type::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// The number that is given everywhere, if it is one.
fn agreed<'n>(mut given: impl Iterator<Item = Option<&'n Const>>) -> Option<Const> {
    let first = *given.next()??;
    given.all(|number| number == Some(&first)).then_some(first)
}
