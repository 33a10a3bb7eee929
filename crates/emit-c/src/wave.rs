//! Emits wave operations, and the votes that track active lanes ([`lanes`](crate::lanes)).

use crate::Result;
use crate::expr::Expr;
use crate::func::FuncEmitter;
use crate::lanes::Vote;
use cotangent_base::Scalar;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Const, Inst, InstData, Value};
use cotangent_passes::precedence::PRIMARY;

/// A branch or loop around what is emitted, with the names of the lanes that came to it and of those in its round.
pub(crate) struct Open {
    inst: Inst,
    came: String,
    round: Option<String>,
}

impl FuncEmitter<'_, '_> {
    pub fn wave(&mut self, data: &InstData, kind: Wave) {
        let mut args = vec![Expr::name(self.lanes.clone())];
        for operand in &data.operands {
            args.push(self.value(*operand));
        }
        self.write_memory();
        let call = Expr::call(function(kind), &args);
        self.returned_value(data.results[0], Expr { effect: true, ..call });
    }

    /// Emits a branch or loop, and the vote after it.
    pub fn within(&mut self, inst: Inst, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.open.push(Open { inst, came: self.lanes.clone(), round: None });
        emit(self)?;
        self.lanes = self.open.pop().expect("it was opened above").came;
        if self.votes.joins(inst) {
            let here = self.names.fresh("lanes");
            self.line(&format!("const ct::Lanes {here} = ct::stay({});", self.lanes));
            self.lanes = here;
        }
        Ok(())
    }

    /// Makes a variable of the lanes that are together, which will change.
    pub fn fresh_lanes(&mut self) {
        let name = self.names.fresh("lanes");
        self.line(&format!("ct::Lanes {name} = {};", self.lanes));
        self.lanes = name;
    }

    /// Lanes go apart by a condition.
    pub fn part(&mut self, condition: Expr) -> Expr {
        Expr::of(self.part_text(&condition.text), PRIMARY, &[condition])
    }

    pub fn part_text(&self, condition: &str) -> String {
        format!("ct::part({}, {condition})", self.lanes)
    }

    /// Lanes go apart by the case they take; gives what selects it.
    pub fn part_by(&mut self, value: Value, selector: Expr, cases: &[i64]) -> Expr {
        let scalar = self.shape(value).scalar().unwrap_or(Scalar::I32);
        let name = self.names.fresh("which");
        self.line(&format!("const {} {name} = {};", self.e.scalar(scalar), selector.text));
        let mut number = String::new();
        for (index, case) in cases.iter().enumerate() {
            let label = self.literal(Const::Int(*case), scalar).text;
            number += &format!("{name} == {label} ? {index}u : ");
        }
        self.fresh_lanes();
        self.line(&format!("ct::part_by({}, {number}{}u);", self.lanes, cases.len()));
        Expr::name(name)
    }

    /// Before a loop: makes a variable of those in its iteration, if they vote. Says whether they do so by its condition.
    pub fn begin_rounds(&mut self, looped: Inst) -> bool {
        if !self.votes.has_rounds(looped) {
            return false;
        }
        self.fresh_lanes();
        let round = self.lanes.clone();
        self.open.last_mut().expect("the loop is open").round = Some(round);
        true
    }

    /// Before an exit: those that leave say so wherever others would wait for them.
    pub fn say_no(&mut self, exit: Inst) {
        let open: Vec<Inst> = self.open.iter().map(|open| open.inst).collect();
        let votes = self.votes.left(self.func, exit, &open);
        if !votes.is_empty() {
            self.write_memory();
        }
        for vote in votes {
            let (Vote::Round(inst) | Vote::Join(inst)) = vote;
            let open = self.open.iter().find(|open| open.inst == inst).expect("it is around the exit");
            let name = match vote {
                Vote::Round(_) => open.round.clone(),
                Vote::Join(_) => None,
            };
            let name = name.unwrap_or_else(|| open.came.clone());
            self.line(&format!("ct::leave({name});"));
        }
    }
}

/// The function of the prelude.
fn function(kind: Wave) -> &'static str {
    match kind {
        Wave::LaneIndex => "ct::lane_index",
        Wave::LaneCount => "ct::lane_count",
        Wave::Sum => "ct::wave_sum",
        Wave::Product => "ct::wave_product",
        Wave::Min => "ct::wave_min",
        Wave::Max => "ct::wave_max",
        Wave::And => "ct::wave_and",
        Wave::Or => "ct::wave_or",
        Wave::Xor => "ct::wave_xor",
        Wave::All => "ct::wave_all",
        Wave::Any => "ct::wave_any",
        Wave::Ballot => "ct::wave_ballot",
        Wave::PrefixSum => "ct::wave_prefix_sum",
        Wave::PrefixProduct => "ct::wave_prefix_product",
        Wave::ReadAt => "ct::wave_read_at",
        Wave::ReadFirst => "ct::wave_read_first",
        Wave::QuadX => "ct::wave_across<1>",
        Wave::QuadY => "ct::wave_across<2>",
        Wave::QuadDiagonal => "ct::wave_across<3>",
    }
}
