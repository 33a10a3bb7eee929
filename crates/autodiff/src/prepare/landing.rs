//! Landings: where the values at the end of a region go.

use super::Preparer;
use super::exits::{Code, FALL, Group, RETURN, break_of, continue_of, group, groups};
use super::versions::Met;
use cotangent_ir::{Math, Ty, Value};

/// What a region gives, in this order.
#[derive(Clone, Debug)]
pub(super) enum Landing {
    /// The body of the function: the outputs.
    Function,
    /// The body of a loop: its slots; the next counter, if it counts; `live`, if it can be left; and if it can be
    /// left for something further out, the code and the values for that.
    Loop {
        /// Its depth, counted from the outermost.
        depth: usize,
        /// The counter of a counted loop that can be left.
        counter: Option<Value>,
        /// Whether it can be left.
        live: bool,
        /// The exits that lead further out.
        outer: Vec<Code>,
    },
    /// A branch: if exits leave it, the code; its own values; the values that go with the exits.
    Branch {
        /// The types of its own values.
        fall: Vec<Ty>,
        /// The exits that leave it.
        exits: Vec<Code>,
        /// What its own values are versions of.
        met: Met,
    },
}

/// How a path ends.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// In a way known here, with the values for it.
    Known(Code, Vec<Value>),
    /// As an earlier construct has decided.
    Carried {
        /// How.
        code: Value,
        /// The ways it may have decided for, the end not among them.
        exits: Vec<Code>,
        /// The values for each of those.
        slots: Vec<(Group, Vec<Value>)>,
    },
}

impl Preparer<'_> {
    /// Ends the region being built.
    pub(super) fn land(&mut self, landing: &Landing, outcome: &Outcome) {
        let mut values = Vec::new();
        match landing {
            Landing::Function => values = self.slot_values(Group::Return, outcome),
            Landing::Loop { depth, counter, live, outer } => {
                values = self.loop_slots(*depth, outcome);
                if let Some(counter) = *counter {
                    let mut b = self.b();
                    let one = b.int(1);
                    values.push(b.add(counter, one));
                }
                if *live {
                    values.push(self.stays_live(*depth, outcome));
                }
                if !outer.is_empty() {
                    values.push(self.outer_code(*depth, outcome));
                }
                for group in groups(outer) {
                    values.extend(self.slot_values(group, outcome));
                }
            }
            Landing::Branch { fall, exits, met } => {
                if !exits.is_empty() {
                    values.push(self.code(outcome));
                }
                match outcome {
                    Outcome::Known(FALL, own) => {
                        met.branch(&self.current, own);
                        values.extend(own);
                    }
                    Outcome::Known(..) | Outcome::Carried { .. } => {
                        values.extend(fall.iter().map(|ty| self.b().undef(*ty)));
                    }
                }
                for group in groups(exits) {
                    values.extend(self.slot_values(group, outcome));
                }
            }
        }
        self.terminate(&values);
    }

    /// The types of what a region gives.
    pub(super) fn layout(&mut self, landing: &Landing) -> Vec<Ty> {
        let code = self.types.scalar(cotangent_base::Scalar::I32);
        let mut types = Vec::new();
        match landing {
            Landing::Function => types = self.slot_types(Group::Return),
            Landing::Loop { depth, counter, live, outer } => {
                types = self.slot_types(Group::Loop(*depth));
                types.extend(counter.map(|_| code));
                types.extend(live.then(|| self.types.scalar(cotangent_base::Scalar::Bool)));
                types.extend((!outer.is_empty()).then_some(code));
                types.extend(groups(outer).into_iter().flat_map(|g| self.slot_types(g)));
            }
            Landing::Branch { fall, exits, .. } => {
                types.extend((!exits.is_empty()).then_some(code));
                types.extend(fall);
                types.extend(groups(exits).into_iter().flat_map(|g| self.slot_types(g)));
            }
        }
        types
    }

    /// Takes apart what the branches of a construct gave: their own values, and what to hand on.
    pub(super) fn unpack(&mut self, landing: &Landing, results: &[Value]) -> (Vec<Value>, Outcome) {
        let Landing::Branch { fall, exits, .. } = landing else {
            unreachable!("only branches are taken apart")
        };
        let (own, slots) = results[1..].split_at(fall.len());
        (own.to_vec(), self.carried(results[0], exits, slots))
    }

    /// An outcome decided earlier, from its code and the values of all groups, in order.
    pub(super) fn carried(&mut self, code: Value, exits: &[Code], mut values: &[Value]) -> Outcome {
        let mut slots = Vec::new();
        for group in groups(exits) {
            let (these, others) = values.split_at(self.slot_types(group).len());
            slots.push((group, these.to_vec()));
            values = others;
        }
        Outcome::Carried { code, exits: exits.to_vec(), slots }
    }

    pub(super) fn slot_types(&self, group: Group) -> Vec<Ty> {
        match group {
            Group::Return => self.from.sig.outputs().map(|o| o.ty).collect(),
            Group::Loop(depth) => self.slots[depth].clone(),
        }
    }

    /// The values of a group's slots: those the outcome sets, or the current ones.
    fn slot_values(&mut self, wanted: Group, outcome: &Outcome) -> Vec<Value> {
        match outcome {
            Outcome::Known(code, values) if *code != FALL && group(*code) == wanted => values.clone(),
            Outcome::Carried { slots, .. } if slots.iter().any(|(g, _)| *g == wanted) => {
                slots.iter().find(|(g, _)| *g == wanted).map(|(_, v)| v.clone()).unwrap_or_default()
            }
            Outcome::Known(..) | Outcome::Carried { .. } => self.current_values(wanted),
        }
    }

    /// What a path passes through that leaves the slots of `group` unset.
    pub(super) fn current_values(&mut self, group: Group) -> Vec<Value> {
        if let Some(values) = self.current.get(group) {
            return values.to_vec();
        }
        let types = self.slot_types(group);
        types.into_iter().map(|ty| self.b().undef(ty)).collect()
    }

    /// The slots of the loop whose body ends here.
    fn loop_slots(&mut self, depth: usize, outcome: &Outcome) -> Vec<Value> {
        match outcome {
            Outcome::Known(FALL, values) => values.clone(),
            Outcome::Known(..) | Outcome::Carried { .. } => self.slot_values(Group::Loop(depth), outcome),
        }
    }

    fn code(&mut self, outcome: &Outcome) -> Value {
        match outcome {
            Outcome::Known(code, _) => self.b().int((*code).into()),
            Outcome::Carried { code, .. } => *code,
        }
    }

    /// Whether the loop goes on after this iteration.
    fn stays_live(&mut self, depth: usize, outcome: &Outcome) -> Value {
        match outcome {
            Outcome::Known(code, _) => {
                let live = *code == FALL || *code == continue_of(depth);
                self.b().bool(live)
            }
            Outcome::Carried { code, exits, .. } => {
                if !exits.contains(&continue_of(depth)) {
                    self.b().bool(false)
                } else if exits.len() == 1 {
                    self.b().bool(true)
                } else {
                    self.is_code(*code, continue_of(depth))
                }
            }
        }
    }

    /// The code with which the loop is left for something further out, or 0.
    fn outer_code(&mut self, depth: usize, outcome: &Outcome) -> Value {
        let own = break_of(depth);
        match outcome {
            Outcome::Known(code, _) => {
                let code = if *code < own { *code } else { FALL };
                self.b().int(code.into())
            }
            Outcome::Carried { code, exits, .. } if exits.iter().all(|c| (RETURN..own).contains(c)) => *code,
            Outcome::Carried { code, .. } => {
                let mut b = self.b();
                let (own, none) = (b.int(own.into()), b.int(FALL.into()));
                let outer = b.math(Math::Lt, &[*code, own]);
                b.select(outer, *code, none)
            }
        }
    }
}
