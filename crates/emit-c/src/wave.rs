//! Operations on waves: CUDA's warps. In C++ threads run one after the other, and there are none.

use crate::expr::Expr;
use crate::func::FuncEmitter;
use crate::{Language, Result};
use cotangent_ir::InstData;
use cotangent_ir::wave::Wave;

impl FuncEmitter<'_, '_> {
    pub fn wave(&mut self, data: &InstData, kind: Wave) -> Result<()> {
        if self.e.options.language == Language::Cpp {
            return self.e.unsupported(self.span, "an operation on a wave is not possible");
        }
        let args: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        let call = Expr::call(function(kind), &args);
        self.returned_value(data.results[0], Expr { effect: true, ..call });
        Ok(())
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
