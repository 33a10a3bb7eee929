//! Emits wave operations, which naga calls subgroup operations.
//!
//! The lane index and the number of lanes are available to entry points only, so an entry point stores them in variables of
//! the thread. naga provides them for one-dimensional groups. In other groups, a thread computes its index at the start, when
//! all lanes are active, by counting the lanes before it.

use crate::func::FuncEmitter;
use crate::{Emitter, Result};
use cotangent_base::Scalar;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::wave::Wave;
use cotangent_ir::{FuncId, InstData, Module, Op, Type, type_group};
use naga::{
    BuiltIn, CollectiveOperation, Direction, Expression, GatherMode, Handle, Literal, Statement,
    SubgroupOperation, TypeInner,
};

type Expr = Handle<Expression>;

/// Directives that standard WGSL requires, and that naga neither writes nor reads. They turn off warnings about divergent lanes.
pub(crate) const DIRECTIVES: &str = "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n\n";

/// The variables that say which lane a thread is, and how many lanes a wave has.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    index: Handle<naga::GlobalVariable>,
    count: Handle<naga::GlobalVariable>,
}

/// Whether functions ask which lane a thread is.
pub(crate) fn asks_for_lanes(module: &Module, funcs: &[FuncId]) -> bool {
    let asks = |op: &Op| matches!(op, Op::Wave(Wave::LaneIndex | Wave::LaneCount));
    funcs
        .iter()
        .map(|id| &module.funcs[*id])
        .any(|func| func.all_insts().into_iter().any(|inst| asks(&func.insts[inst].op)))
}

/// Whether naga's module has operations on waves.
pub(crate) fn has_waves(module: &naga::Module) -> bool {
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let mut functions = module.functions.iter().map(|(_, function)| function).chain(entries);
    let about_waves = |expression: &Expression| {
        matches!(expression, Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. })
    };
    let told = |function: &naga::Function| {
        function.arguments.iter().any(|argument| {
            let builtin = |b| argument.binding == Some(naga::Binding::BuiltIn(b));
            builtin(BuiltIn::SubgroupInvocationId) || builtin(BuiltIn::SubgroupSize)
        })
    };
    functions.any(|f| told(f) || f.expressions.iter().any(|(_, e)| about_waves(e)))
}

impl Emitter<'_> {
    /// Declares the variables behind questions for lanes.
    pub fn lane_variables(&mut self) -> Lanes {
        let word = self.plain(TypeInner::Scalar(naga::Scalar::U32));
        Lanes { index: self.private("lane", word, None), count: self.private("lanes", word, None) }
    }
}

impl FuncEmitter<'_, '_> {
    /// An entry point begins by writing down which lane it is, if something asks.
    pub fn note_lane(&mut self) {
        let Some(lanes) = self.emitter.lanes else { return };
        let [_, y, z] = self.func.entry.as_ref().map_or([1; 3], |entry| entry.threads);
        let count = self.told("wave_lanes", BuiltIn::SubgroupSize);
        let index = if y == 1 && z == 1 {
            self.told("wave_lane", BuiltIn::SubgroupInvocationId)
        } else {
            let one = self.expr(Expression::Literal(Literal::U32(1)));
            let word = self.emitter.plain(TypeInner::Scalar(naga::Scalar::U32));
            self.collective(SubgroupOperation::Add, CollectiveOperation::ExclusiveScan, one, word)
        };
        for (var, value) in [(lanes.index, index), (lanes.count, count)] {
            let pointer = self.expr(Expression::GlobalVariable(var));
            self.statement(Statement::Store { pointer, value });
        }
    }

    /// A number that an entry point receives.
    fn told(&mut self, name: &str, builtin: BuiltIn) -> Expr {
        let ty = self.emitter.plain(TypeInner::Scalar(naga::Scalar::U32));
        let binding = Some(naga::Binding::BuiltIn(builtin));
        self.out.arguments.push(naga::FunctionArgument { name: Some(name.into()), ty, binding });
        self.expr(Expression::FunctionArgument(self.out.arguments.len() as u32 - 1))
    }

    fn collective(
        &mut self,
        op: SubgroupOperation,
        collective_op: CollectiveOperation,
        argument: Expr,
        ty: Handle<naga::Type>,
    ) -> Expr {
        let result = self.expr(Expression::SubgroupOperationResult { ty });
        self.statement(Statement::SubgroupCollectiveOperation { op, collective_op, argument, result });
        result
    }

    fn gather(&mut self, mode: GatherMode, argument: Expr, ty: Handle<naga::Type>) -> Expr {
        let result = self.expr(Expression::SubgroupOperationResult { ty });
        self.statement(Statement::SubgroupGather { mode, argument, result });
        result
    }

    fn lane_variable(&mut self, of: impl Fn(Lanes) -> Handle<naga::GlobalVariable>) -> Result<Expr> {
        let Some(lanes) = self.emitter.lanes else {
            return crate::unsupported(self.span, "a wave without an entry point is not supported");
        };
        let pointer = self.expr(Expression::GlobalVariable(of(lanes)));
        Ok(self.expr(Expression::Load { pointer }))
    }

    pub fn wave(&mut self, data: &InstData, kind: Wave) -> Result<Expr> {
        use CollectiveOperation::{ExclusiveScan, Reduce};
        use SubgroupOperation as Sub;
        self.emitter.require(Feature::Wave, self.span, "an operation on a wave is not supported")?;
        let ty = self.func.ty(data.results[0]);
        let naga_ty = self.emitter.ty(ty, self.span)?;
        let args: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        let collective = |e: &mut Self, op, how| e.collective(op, how, args[0], naga_ty);
        let result = match kind {
            Wave::LaneIndex => return self.lane_variable(|lanes| lanes.index),
            Wave::LaneCount => return self.lane_variable(|lanes| lanes.count),
            Wave::Sum => collective(self, Sub::Add, Reduce),
            Wave::Product => collective(self, Sub::Mul, Reduce),
            Wave::Min => collective(self, Sub::Min, Reduce),
            Wave::Max => collective(self, Sub::Max, Reduce),
            Wave::And => collective(self, Sub::And, Reduce),
            Wave::Or => collective(self, Sub::Or, Reduce),
            Wave::Xor => collective(self, Sub::Xor, Reduce),
            Wave::All => collective(self, Sub::All, Reduce),
            Wave::Any => collective(self, Sub::Any, Reduce),
            Wave::PrefixSum => collective(self, Sub::Add, ExclusiveScan),
            Wave::PrefixProduct => collective(self, Sub::Mul, ExclusiveScan),
            Wave::Ballot => {
                let result = self.expr(Expression::SubgroupBallotResult);
                self.statement(Statement::SubgroupBallot { result, predicate: Some(args[0]) });
                result
            }
            Wave::ReadFirst => self.gather(GatherMode::BroadcastFirst, args[0], naga_ty),
            Wave::ReadAt => self.gather(GatherMode::Shuffle(args[1]), args[0], naga_ty),
            Wave::QuadX => self.gather(GatherMode::QuadSwap(Direction::X), args[0], naga_ty),
            Wave::QuadY => self.gather(GatherMode::QuadSwap(Direction::Y), args[0], naga_ty),
            Wave::QuadDiagonal => self.gather(GatherMode::QuadSwap(Direction::Diagonal), args[0], naga_ty),
        };
        let (scalar, lanes) = match self.module().types.get(ty) {
            Type::Scalar(s) => (s, None),
            Type::Vector(s, n) => (s, crate::types::vector_size(n)),
            Type::Matrix(..) | type_group!(unit | composite | handle) => (Scalar::U32, None),
        };
        Ok(if kind.math().is_some() { self.wrapped(result, scalar, lanes) } else { result })
    }
}
