//! What a function with companions calls.
//!
//! | the callee                                            | what is called                                          |
//! |-------------------------------------------------------|---------------------------------------------------------|
//! | takes pointers, all with companions                   | its paired function, which may have custom derivatives  |
//! | takes some with and some without, or holds them in other values, or returns them | a copy that takes the companions after all else, and returns those of its results |
//! | has no derivative and returns no pointer              | the function itself                                     |

use super::flow::{self, Flow};
use super::{Companion, Loss, write};
use crate::codes;
use crate::instance::{Lowerer, Origin};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use cotangent_ir::{Dir, Func, FuncId, FuncKind, Inline, Inst, Param, Value};

/// A copy of a function that takes companions.
#[derive(Clone)]
pub(super) struct Copied {
    id: FuncId,
    /// What is known of its outputs.
    outputs: Vec<Companion>,
    /// Whether it was called before its body was finished.
    is_recursive: bool,
}

/// What to call.
pub(super) enum Called {
    /// The function itself.
    Plain,
    /// The paired function, and which inputs become pairs.
    Paired(FuncId, Vec<usize>),
    /// A copy, which inputs give it their companions, and which outputs have some.
    Copy(FuncId, Vec<usize>, Vec<usize>),
    /// Nothing: derivatives would be missing.
    Refused(Loss),
}

impl Lowerer<'_> {
    /// What is known of the outputs of a call.
    pub(super) fn outputs_with(
        &mut self,
        callee: FuncId,
        func: &Func,
        flow: &Flow,
        inst: Inst,
    ) -> Vec<Companion> {
        let data = &func.insts[inst];
        match self.called(callee, func, flow, inst) {
            Called::Copy(..) => {
                let mask = known_mask(flow, &data.operands);
                self.pairing.copies[&(callee, mask)].outputs.clone()
            }
            Called::Refused(loss) => vec![Companion::Lost(loss); data.results.len()],
            Called::Plain | Called::Paired(..) => {
                let lost = data.operands.iter().map(|v| flow.of(*v));
                let lost = lost.into_iter().find(|known| matches!(known, Companion::Lost(_)));
                vec![lost.unwrap_or(Companion::None); data.results.len()]
            }
        }
    }

    /// What a call runs in a function with companions.
    pub(super) fn called(&mut self, callee: FuncId, func: &Func, flow: &Flow, inst: Inst) -> Called {
        let data = &func.insts[inst];
        let Func { kind, diff, inline, sig, .. } = self.module.funcs[callee].clone();
        let is_frozen = diff.constant || matches!(self.origin_of(callee), Origin::Frozen(_));
        if is_frozen || kind != FuncKind::Defined {
            return Called::Plain;
        }
        let params = self.source_sig(callee).params;
        let params: Vec<_> = params.into_iter().filter(|param| param.dir != Dir::Out).collect();
        let is_open = |i: usize| params.get(i).is_none_or(|param| !param.no_diff);
        let mut given = Vec::new();
        let mut loss = None;
        for (i, &value) in data.operands.iter().enumerate() {
            if !is_open(i) || !self.holds_pointer(func.ty(value)) {
                continue;
            }
            match flow.of(value) {
                Companion::Known => given.push(i),
                Companion::Lost(lost) => loss = loss.or(Some(lost)),
                Companion::Any | Companion::None => {}
            }
        }
        if given.is_empty() && loss.is_none() {
            return Called::Plain;
        }
        let hand = self.by_hand(callee);
        let gives = sig.outputs().any(|output| self.holds_pointer(output.ty));
        let is_differentiated = diff.differentiable.is_some() || hand || inline == Inline::Early;
        match loss {
            Some(loss) if is_differentiated => return Called::Refused(loss),
            Some(_) => return Called::Plain,
            None if !is_differentiated && !gives => return Called::Plain,
            None => {}
        }
        let pointers: Vec<usize> = (0..params.len()).filter(|i| params[*i].pair.is_some()).collect();
        let fits = |i: &usize| given.contains(i) || flow.of(data.operands[*i]) == Companion::Any;
        let is_whole = pointers.iter().all(fits) && given.iter().all(|i| pointers.contains(i));
        if is_whole
            && !gives
            && let Origin::Func(of) = self.origin_of(callee)
        {
            let paired = self.origin(Origin::Paired(of));
            return paired.map_or(Called::Plain, |paired| Called::Paired(paired, pointers));
        }
        if hand || diff.substitute.is_some() {
            let how = "one pointer argument has derivatives, and another has none";
            return match pointers.is_empty() {
                true => Called::Plain,
                false => Called::Refused(Loss { span: data.span, how }),
            };
        }
        self.copy(callee, known_mask(flow, &data.operands), &given)
    }

    /// Whether somebody wrote the derivatives of a function, or it is an operation.
    fn by_hand(&self, id: FuncId) -> bool {
        self.func_of(id).is_some_and(|func| {
            let data = &self.queries.program.funcs[func.func];
            data.diff.is_custom() || data.diff.rule.is_some() || data.intrinsic.is_some()
        })
    }

    /// The copy of a function that takes the companions of those inputs.
    fn copy(&mut self, of: FuncId, mask: u64, given: &[usize]) -> Called {
        if let Some(copied) = self.pairing.copies.get_mut(&(of, mask)) {
            copied.is_recursive = true;
            let outputs = known(&copied.outputs);
            return Called::Copy(copied.id, given.to_vec(), outputs);
        }
        let mut body = self.module.funcs[of].clone();
        body.origin = Some(body.plain_name());
        body.name = Symbol::new(&format!("{}.companions", body.name));
        body.entry = None;
        let inputs = body.inputs().to_vec();
        let mut companions = Map::default();
        for &i in given {
            let Some(ty) = self.companion(body.ty(inputs[i])) else { continue };
            companions.insert(inputs[i], body.add_arg(body.body, ty));
            let name = Symbol::new("derivatives");
            body.sig.params.push(Param { name, ty, dir: Dir::In, diff: false });
        }
        let id = self.adopt(Origin::Companions(of, mask), body.clone());
        let how = "a recursive call returns the pointer";
        let unknown = Companion::Lost(Loss { span: body.span, how });
        let outputs = vec![unknown; body.sig.outputs().count()];
        self.pairing.copies.insert((of, mask), Copied { id, outputs, is_recursive: false });
        let taken: Vec<Value> = given.iter().map(|i| inputs[*i]).collect();
        let flow = flow::find(self, &body, &taken);
        let copied = self.pairing.copies.get_mut(&(of, mask)).expect("it was just inserted");
        if !copied.is_recursive {
            copied.outputs.clone_from(&flow.outputs);
        }
        let outputs = known(&copied.outputs);
        let plain: Vec<_> = body.sig.outputs().map(|output| output.ty).collect();
        for &i in &outputs {
            let Some(ty) = self.companion(plain[i]) else { continue };
            let name = Symbol::new("derivatives");
            body.sig.params.push(Param { name, ty, dir: Dir::Out, diff: false });
        }
        write::write(self, &mut body, flow, companions, &outputs);
        body.name = self.module.funcs[id].name;
        self.module.funcs[id] = body;
        self.take_notes(of, id);
        self.spread_demand(id);
        Called::Copy(id, given.to_vec(), outputs)
    }

    /// Reports a call that would lose derivatives.
    pub(super) fn refuse(&mut self, callee: FuncId, span: Span, loss: Loss) {
        let name = self.module.funcs[callee].plain_name();
        let message = format!("the pointer that `{name}` takes here has lost its derivatives");
        let mut diagnostic = Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message);
        diagnostic = if loss.span == span || loss.span.is_none() {
            diagnostic.note(loss.how)
        } else {
            diagnostic.label(loss.span, loss.how)
        };
        let help = "pass pointers on as they are, or write `no_diff` before the call to treat what it loads as constant";
        self.diagnostics.push(diagnostic.help(help));
    }
}

/// The outputs that have companions.
fn known(outputs: &[Companion]) -> Vec<usize> {
    (0..outputs.len()).filter(|i| outputs[*i] == Companion::Known).collect()
}

/// Which of the first 64 values have companions.
fn known_mask(flow: &Flow, values: &[Value]) -> u64 {
    let known = (0..64).zip(values).filter(|(_, value)| flow.of(**value) == Companion::Known);
    known.fold(0, |mask, (i, _)| mask | 1 << i)
}
