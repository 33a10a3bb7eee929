//! Emits entry points of vertex and fragment shaders. Inputs from the previous stage are arguments with bindings. Outputs to
//! the next stage are a result, or members of a structure of results.
//!
//! In naga, `discard` ends a block. In our IR it does not: the thread continues, because its neighbours may need its values.
//! So `discard` is emitted in its own `if`, unless it is the last statement.

use crate::distances::{Member, array_name, distance, members};
use crate::func::{FuncEmitter, plain_name};
use crate::refuse::refuse;
use crate::{Emitter, Result};
use cotangent_base::{EntitySet, Scalar};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::Target;
use cotangent_ir::{
    Axis, Detail, Entry, Func, FuncId, InstData, Interpolation, Link, Location, Module, Op, Screen, Stage,
    SystemValue, Type,
};
use naga::{Arena, Block, Expression, Handle, Literal, Statement};

/// The functions that shaders of some stages run.
#[derive(Default)]
pub(crate) struct Reached {
    pixels: EntitySet<FuncId>,
    others: EntitySet<FuncId>,
}

impl Reached {
    /// Finds them. What no entry point comes to belongs to no stage.
    pub fn of(module: &Module) -> Self {
        let mut reached = Reached::default();
        for (id, func) in module.funcs.iter() {
            let Some(entry) = &func.entry else { continue };
            let set = match entry.stage {
                Stage::Fragment => &mut reached.pixels,
                Stage::Compute | Stage::Vertex => &mut reached.others,
            };
            reach(module, id, set);
        }
        reached
    }
}

fn reach(module: &Module, id: FuncId, set: &mut EntitySet<FuncId>) {
    if !set.insert(id) {
        return;
    }
    let func = &module.funcs[id];
    for inst in func.all_insts() {
        if let Op::Call(callee) = func.insts[inst].op {
            reach(module, callee, set);
        }
    }
}

/// What naga calls a stage.
pub(crate) fn naga_stage(stage: Stage) -> naga::ShaderStage {
    match stage {
        Stage::Compute => naga::ShaderStage::Compute,
        Stage::Vertex => naga::ShaderStage::Vertex,
        Stage::Fragment => naga::ShaderStage::Fragment,
    }
}

fn builtin(value: SystemValue) -> naga::BuiltIn {
    match value {
        SystemValue::DispatchThreadId => naga::BuiltIn::GlobalInvocationId,
        SystemValue::GroupId => naga::BuiltIn::WorkGroupId,
        SystemValue::GroupThreadId => naga::BuiltIn::LocalInvocationId,
        SystemValue::GroupIndex => naga::BuiltIn::LocalInvocationIndex,
        SystemValue::VertexId | SystemValue::VulkanVertexId => naga::BuiltIn::VertexIndex,
        SystemValue::InstanceId | SystemValue::VulkanInstanceId => naga::BuiltIn::InstanceIndex,
        SystemValue::Position => naga::BuiltIn::Position { invariant: false },
        SystemValue::FrontFacing => naga::BuiltIn::FrontFacing,
        SystemValue::SampleIndex => naga::BuiltIn::SampleIndex,
        SystemValue::Coverage => naga::BuiltIn::SampleMask,
        SystemValue::PrimitiveId => naga::BuiltIn::PrimitiveIndex,
        SystemValue::Depth => naga::BuiltIn::FragDepth,
        SystemValue::ViewId => naga::BuiltIn::ViewIndex,
        SystemValue::FirstVertex => naga::BuiltIn::BaseVertex,
        SystemValue::FirstInstance => naga::BuiltIn::BaseInstance,
        SystemValue::DrawIndex => naga::BuiltIn::DrawIndex,
        SystemValue::Barycentrics => naga::BuiltIn::Barycentric { perspective: true },
        SystemValue::PointSize => naga::BuiltIn::PointSize,
        SystemValue::ClipDistance => naga::BuiltIn::ClipDistances,
        SystemValue::CullDistance => naga::BuiltIn::CullDistance,
    }
}

/// What a draw call adds to a number, where `SV_VertexID` and `SV_InstanceID` leave it out and the target does not.
fn base(value: SystemValue, target: Target) -> Option<naga::BuiltIn> {
    match (target, value) {
        (Target::SpirV | Target::Glsl, SystemValue::VertexId) => Some(naga::BuiltIn::BaseVertex),
        (Target::SpirV | Target::Glsl, SystemValue::InstanceId) => Some(naga::BuiltIn::BaseInstance),
        _ => None,
    }
}

/// The binding of an input or output. Only what goes from vertices to pixels is interpolated.
fn binding(link: Link, between: bool) -> naga::Binding {
    let Location { index, interpolation, .. } = match link {
        Link::System(value) => return naga::Binding::BuiltIn(builtin(value)),
        Link::Location(location) => location,
    };
    let (interpolation, sampling) = match interpolation {
        Interpolation::Perspective => (naga::Interpolation::Perspective, Some(naga::Sampling::Center)),
        Interpolation::Linear => (naga::Interpolation::Linear, Some(naga::Sampling::Center)),
        Interpolation::Flat => (naga::Interpolation::Flat, None),
        Interpolation::Centroid => (naga::Interpolation::Perspective, Some(naga::Sampling::Centroid)),
        Interpolation::Sample => (naga::Interpolation::Perspective, Some(naga::Sampling::Sample)),
    };
    naga::Binding::Location {
        location: index,
        interpolation: between.then_some(interpolation),
        sampling: sampling.filter(|_| between),
        blend_src: None,
        per_primitive: false,
    }
}

impl Emitter<'_> {
    /// Refuses system values that the target, or naga's writer for it, does not have.
    pub fn check_links(&self, func: &Func, entry: &Entry) -> Result<()> {
        let taken = entry.inputs.iter().filter(|link| distance(**link).is_none());
        for link in taken.chain(&entry.outputs) {
            let Link::System(value) = link else { continue };
            let feature = match value {
                SystemValue::Coverage => Feature::Coverage,
                SystemValue::PrimitiveId => Feature::PrimitiveId,
                SystemValue::ViewId => Feature::ViewId,
                SystemValue::FirstVertex | SystemValue::FirstInstance => Feature::First,
                SystemValue::VulkanVertexId | SystemValue::VulkanInstanceId => Feature::VulkanIndex,
                SystemValue::DrawIndex => Feature::DrawIndex,
                SystemValue::Barycentrics => Feature::Barycentrics,
                SystemValue::PointSize => Feature::PointSize,
                SystemValue::ClipDistance => Feature::ClipDistance,
                SystemValue::CullDistance => Feature::CullDistance,
                SystemValue::DispatchThreadId
                | SystemValue::GroupId
                | SystemValue::GroupThreadId
                | SystemValue::GroupIndex
                | SystemValue::VertexId
                | SystemValue::InstanceId
                | SystemValue::Position
                | SystemValue::FrontFacing
                | SystemValue::SampleIndex
                | SystemValue::Depth => continue,
            };
            self.require(feature, func.span, &format!("`{}` is not supported", value.semantic()))?;
        }
        self.check_distances(func, entry)
    }

    /// The binding of an argument of an entry point.
    pub fn input_binding(&self, entry: &Entry, number: usize) -> Option<naga::Binding> {
        let link = entry.inputs.get(number)?;
        Some(binding(*link, entry.stage == Stage::Fragment))
    }

    /// The arguments of an entry point that no parameter stands for: what draw calls add to the numbers it takes.
    pub fn base_arguments(&mut self, entry: &Entry) -> Vec<naga::FunctionArgument> {
        let ty = self.plain(naga::TypeInner::Scalar(naga::Scalar::U32));
        let mut arguments: Vec<naga::FunctionArgument> = Vec::new();
        for link in &entry.inputs {
            let Link::System(value) = link else { continue };
            let Some(base) = base(*value, self.target) else { continue };
            // The program may ask for it, too.
            if entry.inputs.iter().any(|link| matches!(link, Link::System(v) if builtin(*v) == base)) {
                continue;
            }
            let name = if *value == SystemValue::VertexId { "first_vertex" } else { "first_instance" };
            let (name, binding) = (Some(name.to_string()), Some(naga::Binding::BuiltIn(base)));
            arguments.push(naga::FunctionArgument { name, ty, binding });
        }
        arguments
    }

    /// What an entry point gives: one value with a binding, or a structure whose members have them.
    pub fn entry_result(
        &mut self,
        id: FuncId,
        func: &Func,
        entry: &Entry,
    ) -> Result<Option<naga::FunctionResult>> {
        let between = entry.stage == Stage::Vertex;
        let names = func.sig.params.iter().filter(|p| p.dir != cotangent_ir::Dir::In).map(|p| p.name);
        let outputs: Vec<_> = names.zip(func.sig.outputs().map(|o| o.ty)).collect();
        let [.., _] = outputs[..] else { return Ok(None) };
        if let (&[(_, ty)], &[link]) = (&outputs[..], &entry.outputs[..]) {
            let ty = self.ty(ty, func.span)?;
            return Ok(Some(naga::FunctionResult { ty, binding: Some(binding(link, between)) }));
        }
        let mut fields: Vec<(String, _, _)> = Vec::new();
        for member in members(&entry.outputs) {
            let (mut free, ty, number) = match member {
                Member::Output(number) => {
                    let (name, ty) = outputs[number];
                    (plain_name(name), self.ty(ty, func.span)?, number)
                }
                Member::Distances(value, numbers) => {
                    (array_name(value).to_string(), self.distances(numbers.len()), numbers[0])
                }
            };
            while fields.iter().any(|(taken, ..)| *taken == free) {
                free.push('_');
            }
            fields.push((free, ty, Some(binding(entry.outputs[number], between))));
        }
        let ty = self.bound_structure(&format!("{}_outputs", plain_name(func.name)), fields);
        self.results.insert(id, ty);
        Ok(Some(naga::FunctionResult { ty, binding: None }))
    }
}

impl FuncEmitter<'_, '_> {
    /// The value of an argument, without what the draw call added to it.
    pub fn without_first(&mut self, number: usize, argument: Handle<Expression>) -> Handle<Expression> {
        let link = self.func.entry.as_ref().and_then(|entry| entry.inputs.get(number));
        let Some(Link::System(value)) = link else { return argument };
        let Some(base) = base(*value, self.emitter.target) else { return argument };
        let binding = Some(naga::Binding::BuiltIn(base));
        let Some(at) = self.out.arguments.iter().position(|a| a.binding == binding) else { return argument };
        let right = self.expr(Expression::FunctionArgument(at as u32));
        self.expr(Expression::Binary { op: naga::BinaryOperator::Subtract, left: argument, right })
    }

    /// Whether the function runs for pixels alone, so that levels of textures follow from their neighbours. Refuses where one
    /// function would have to do both.
    pub fn for_pixels(&self) -> Result<bool> {
        let Reached { pixels, others } = &self.emitter.reached;
        match (pixels.contains(self.id), others.contains(self.id)) {
            (true, true) => {
                let what = "sampling without a level in both fragment shaders and other stages is not supported in one file \
                            (choose one with `--entry`)";
                refuse(Feature::SeveralEntries, self.span, what)
            }
            (for_pixels, _) => Ok(for_pixels),
        }
    }

    /// The pixel is not written.
    pub fn discard(&mut self) {
        let condition = self.expr(Expression::Literal(Literal::Bool(true)));
        let mut accept = Block::new();
        accept.push(Statement::Kill, naga::Span::UNDEFINED);
        self.statement(Statement::If { condition, accept, reject: Block::new() });
    }

    /// The difference of a value between neighbouring pixels, matrices row by row.
    pub fn screen(&mut self, data: &InstData, screen: Screen) -> Result<Handle<Expression>> {
        let (operand, ty) = (self.value(data.operands[0]), self.func.ty(data.operands[0]));
        if self.scalar_of(data.operands[0]) != Scalar::F32 {
            return refuse(
                Feature::ScreenOther,
                self.span,
                "a difference between pixels of a type other than `float` is not supported",
            );
        }
        let Type::Matrix(_, rows, _) = self.module().types.get(ty) else {
            return Ok(self.difference(operand, screen));
        };
        let rows = (0..rows.into()).map(|index| {
            let row = self.expr(Expression::AccessIndex { base: operand, index });
            self.difference(row, screen)
        });
        let rows = rows.collect();
        self.compose(ty, rows)
    }

    fn difference(&mut self, expr: Handle<Expression>, screen: Screen) -> Handle<Expression> {
        let axis = match screen.axis {
            Axis::X => naga::DerivativeAxis::X,
            Axis::Y => naga::DerivativeAxis::Y,
            Axis::Width => naga::DerivativeAxis::Width,
        };
        let ctrl = match screen.detail {
            Detail::Any => naga::DerivativeControl::None,
            Detail::Coarse => naga::DerivativeControl::Coarse,
            Detail::Fine => naga::DerivativeControl::Fine,
        };
        self.expr(Expression::Derivative { axis, ctrl, expr })
    }
}

/// A block that ends with a discarded pixel, said without the `if` that [`FuncEmitter::discard`] puts around it. An `if` of the
/// program stays, whatever its branches end with.
pub(crate) fn tidy(block: &mut Block, expressions: &Arena<Expression>) {
    let Some((Statement::If { condition, accept, reject }, &span)) = block.span_iter().last() else { return };
    let always = matches!(expressions[*condition], Expression::Literal(Literal::Bool(true)));
    if always && reject.is_empty() && matches!(accept[..], [Statement::Kill]) {
        let end = block.len();
        block.cull(end - 1..);
        block.push(Statement::Kill, span);
    }
}
