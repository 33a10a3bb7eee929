//! Finds the custom derivatives that are needed: those of functions that are differentiated.
//!
//! A custom derivative may call its function with other generic arguments: that of `power<N>` calls `power<N - 1>`. If every
//! instance required its derivative, there would be infinitely many. So each function has an *order*, the number of times
//! that it may be differentiated in sequence:
//!
//! | from                                  | to                                  | order of the latter |
//! | ------------------------------------- | ----------------------------------- | ------------------- |
//! | a request, not differentiated itself  | its function                        | 1                   |
//! | a request of order `n`                | its function                        | `n + 1`             |
//! | a function of order `n`               | what its body calls, its substitute | `n`                 |
//! | a function of order `n`               | the derivatives written for it      | `n - 1`             |
//!
//! Custom derivatives are linked only to functions of order one or more. Autodiff never differentiates the others.

use crate::diff;
use crate::instance::{Lowerer, Origin};
use cotangent_base::Map;
use cotangent_ir::{Apply, Control, DiffInfo, FuncId};

/// Orders are no higher. A function that takes its own derivative would have none that is highest.
pub(crate) const MOST: u32 = 64;

/// The orders, and which of them are news.
#[derive(Default)]
pub(crate) struct Demands {
    orders: Map<FuncId, u32>,
    news: Vec<FuncId>,
}

impl Demands {
    fn order(&self, id: FuncId) -> u32 {
        self.orders.get(&id).copied().unwrap_or(0)
    }
}

impl Lowerer<'_> {
    /// Notes that derivatives up to that order may be taken of a function.
    pub fn demand(&mut self, id: FuncId, order: u32) {
        let order = order.min(MOST);
        if self.demands.order(id) < order {
            self.demands.orders.insert(id, order);
            self.demands.news.push(id);
        }
    }

    /// Sees to what the last news asks for. Says whether there was any.
    pub fn meet_demand(&mut self) -> bool {
        let Some(id) = self.demands.news.pop() else { return false };
        let order = self.demands.order(id);
        match self.origin_of(id) {
            Origin::Request(_, of) => self.demand(of, order + 1),
            Origin::Func(func)
            | Origin::Paired(func)
            | Origin::Copying(func, _)
            | Origin::Entry(func)
            | Origin::Field(func, _)
            | Origin::Synth(func, _) => {
                diff::link_customs(self, id, func);
                self.demand_customs(id, order);
                self.spread_demand(id);
            }
            Origin::DerivedEntry(..) | Origin::Init(..) | Origin::Deferred(_) => self.spread_demand(id),
            Origin::Frozen(_) | Origin::Companions(..) => self.spread_demand(id),
        }
        true
    }

    fn demand_customs(&mut self, id: FuncId, order: u32) {
        let DiffInfo { forward, backward, apply, substitute, .. } = self.module.funcs[id].diff;
        let steps = apply.map(|Apply { primal, pullback }| [primal, pullback]);
        let customs = [forward, backward].into_iter().flatten().chain(steps.into_iter().flatten());
        customs.for_each(|custom| self.demand(custom, order - 1));
        if let Some(substitute) = substitute {
            self.demand(substitute, order);
        }
    }

    /// What the body of a function calls is asked for as often as the function is.
    pub fn spread_demand(&mut self, id: FuncId) {
        let order = self.demands.order(id);
        if order == 0 {
            return;
        }
        let called = |data: &cotangent_ir::InstData| match data.op.control() {
            Control::Call(callee) => Some(callee),
            Control::DiffCall(_) | Control::LinCall(_) => None,
            Control::Plain | Control::If | Control::Switch(_) => None,
            Control::While(_) | Control::For(_) | Control::Exit(_) => None,
        };
        let callees: Vec<FuncId> = self.module.funcs[id].insts.values().filter_map(called).collect();
        callees.into_iter().for_each(|callee| self.demand(callee, order));
    }
}
