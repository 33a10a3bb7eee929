//! What dependences go through memory. Input: an instruction, or a call of a function with a custom derivative. Output: nodes and
//! edges of the graph.
//!
//! ```text
//! %a = load w [i]          %a begins, if `w` has a shadow
//! store y, %b [i]          %b ends
//! store n, %bits [i]       %bits -> the integers in `n`, of which each load may read any
//! ```

use super::super::accesses::memory;
use super::{Carries, Loss, MOST_SITES, Node, Place, Scan, Why};
use cotangent_ir::{FuncId, Global, Inst, InstData, Op, Value};

impl Scan<'_> {
    /// Where memory is read, values begin, and where it is written, they end.
    pub(super) fn memory(&mut self, inst: Inst, data: &InstData) -> bool {
        let place = memory(self.func, inst);
        let shadowed = place.is_some_and(self.has_shadow);
        if let Op::Load(_) | Op::Texel | Op::Sample(_) = data.op {
            self.begin(data.results[0], place, shadowed);
            // A sample depends on where it is taken, too.
            return !matches!(data.op, Op::Sample(_));
        }
        if let Op::Store(_) = data.op {
            self.end(inst, data.operands[1], place, shadowed);
        } else if data.op == Op::StoreTexel {
            self.end(inst, data.operands[2], place, shadowed);
        } else if let Op::Atomic(atomic) = &data.op {
            for value in &data.operands[1..=atomic.kind.values()] {
                self.end(inst, *value, place, shadowed);
            }
            data.results.iter().for_each(|result| self.begin(*result, place, false));
        } else if let Op::Global(global) = data.op {
            self.begin(data.results[0], Some(global), (self.has_shadow)(global));
        } else {
            return false;
        }
        true
    }

    fn begin(&mut self, value: Value, place: Option<Global>, shadowed: bool) {
        let what = self.carries(value);
        if what == Carries::Bits {
            self.edge(Node::Memory(place), self.value(value));
        } else if what == Carries::Derivatives && shadowed {
            self.found.begins.push(self.value(value));
        }
    }

    fn end(&mut self, inst: Inst, value: Value, place: Option<Global>, shadowed: bool) {
        let (what, node) = (self.carries(value), self.value(value));
        if what == Carries::Bits {
            self.edge(node, Node::Memory(place));
        } else if what == Carries::Derivatives && shadowed {
            self.found.ends.push(node);
            if let Some(func) = self.by_hand {
                let at = Place { site: self.site, func: self.id, inst };
                let (takes, gives) = (vec![node], vec![node]);
                self.found.losses.push(Loss { why: Why::Memory(func), at, takes, gives });
            }
        }
    }

    /// What a function reads that has a custom derivative, and what it writes of that, is lost.
    pub(super) fn memory_left_out(&mut self, inst: Inst, callee: FuncId, gives: Vec<Node>) {
        if self.found.sites.len() >= MOST_SITES {
            return;
        }
        let site = self.new_site(inst);
        let outputs = self.funcs[callee].sig.outputs().enumerate().filter(|(_, output)| output.diff);
        let takes = outputs.map(|(i, _)| Node::Output(site, callee, i)).collect();
        self.lose(inst, takes, gives, Why::Memory(callee));
        self.by_hand = Some(callee);
        self.inside_of(site, callee);
        self.by_hand = None;
    }
}
