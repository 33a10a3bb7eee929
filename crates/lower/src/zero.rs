//! Reports integer divisions by zero that every execution of the line would reach.
//!
//! The checker finds divisors that are literally zero. A divisor that depends on generic arguments is known only in the
//! instance:
//!
//! ```slang
//! int share<let N : int>(int x) { return x / N; }     // share<0> divides by zero, share<2> does not
//! ```
//!
//! So one walk over everything that the roots reach tracks known constants. It skips branches that a known condition
//! excludes, and functions that only those branches call: `if (N > 0) x /= N;` is fine. It does not track constants through
//! calls and memory, and evaluates only the first test of a loop condition.

use crate::fold;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntitySet, Map, Span};
use cotangent_ir::{Const, Control, Exit, Func, FuncId, FuncKind, Inst, Math, Module, Op, Region, Value};
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
                Control::If | Control::Switch(_) => {
                    let selector = self.operand(inst, 0);
                    let arm = selector.and_then(|number| fold::arm(&self.func.insts[inst].op, number));
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

    /// Walks through the arm that is chosen, or through all if that is not known. Says whether one of them goes on after.
    fn choice(&mut self, inst: Inst, arm: Option<usize>) -> bool {
        let regions = self.func.insts[inst].regions.clone();
        let reached: Vec<Region> = match arm {
            Some(arm) => regions.get(arm..=arm).unwrap_or_default().to_vec(),
            None => regions.to_vec(),
        };
        // All of them are walked through, also after one that goes on.
        let ends: Vec<Region> = reached.into_iter().filter(|region| self.region(*region)).collect();
        for (number, result) in self.func.insts[inst].results.iter().enumerate() {
            let given =
                ends.iter().map(|end| self.known.get(self.func.exit(*end).operands.get(number)?).copied());
            if let Some(number) = fold::agreed(given) {
                self.known.insert(*result, number);
            }
        }
        !ends.is_empty()
    }

    /// Walks through a loop, unless it ends before its first iteration.
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
        fold::result(&self.module.types, self.func, inst, |number| self.operand(inst, number))
    }
}
