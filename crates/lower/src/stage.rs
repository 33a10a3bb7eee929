//! Lowers entry points of vertex and fragment shaders. Their inputs from the previous stage and outputs to the next are
//! *varyings*.
//!
//! Parameters and results are split into scalars and vectors: structures by field, arrays by element, matrices by row. Each
//! is a system value or has a location. Locations are numbered in declaration order, inputs and outputs separately, `out`
//! parameters before the result; numbers that `[[vk::location(n)]]` reserves are skipped. `SV_Target2` has location 2. A
//! semantic on a composite value numbers its parts consecutively and overrides their semantics.
//!
//! The entry point becomes a function that assembles its parameters, calls the user's function, which is inlined, and splits
//! the result.
//!
//! ```text
//! [shader("fragment")] float4 main(V v) : SV_Target          struct V { float2 uv : UV; float4 at : SV_Position; };
//!
//! func @main(%uv: f32x2, %at: f32x4, out target: f32x4) fragment(location 0 perspective UV, position) gives(location 0 ..) {
//!   %v = pack %uv, %at    %1 = call @main_0(%v)    return %1
//! }
//! ```

use crate::codes;
use crate::entry::unsuitable;
use crate::func::Frame;
use crate::instance::{Lowerer, Origin};
use crate::varying::{Interface, Leaf, Tree};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_ir::{
    self as ir, Dir, Entry, Func, FuncKind, Link, Op, Path, Stage, Step, SystemValue, Ty, Value,
};
use cotangent_sema::hir::{self, FuncRef};

/// A stage of the language in the IR.
pub(crate) fn ir_stage(stage: hir::Stage) -> Stage {
    match stage {
        hir::Stage::Compute => Stage::Compute,
        hir::Stage::Vertex => Stage::Vertex,
        hir::Stage::Fragment => Stage::Fragment,
    }
}

/// Declares an entry point with varyings.
pub(crate) fn declare(lowerer: &mut Lowerer<'_>, func: FuncRef, stage: Stage) -> Func {
    let hir::Func { name, span, .. } = lowerer.queries.program.funcs[func.func].clone();
    let interface = Interface::of(lowerer, func, stage);
    if stage == Stage::Vertex && !interface.gives(SystemValue::Position) {
        let message = format!("the vertex shader `{name}` has no position output");
        unsuitable(lowerer, span, message, "mark a `float4` output with `: SV_Position`");
    }
    let mut sig = ir::Signature::default();
    let leaves = |leaves: &[Leaf], dir| -> Vec<ir::Param> {
        leaves.iter().map(|l| ir::Param { name: l.name, ty: l.ty, dir, diff: false }).collect()
    };
    sig.params.extend(leaves(&interface.inputs, Dir::In));
    sig.params.extend(leaves(&interface.outputs, Dir::Out));
    let mut declared = Func::new(name, sig, span);
    let links = |leaves: &[Leaf]| -> Vec<Link> { leaves.iter().map(|l| l.link).collect() };
    declared.entry = Some(Entry {
        stage,
        threads: [1; 3],
        inputs: links(&interface.inputs),
        outputs: links(&interface.outputs),
    });
    declared
}

/// Writes the body of an entry point with varyings.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: ir::FuncId, func: FuncRef, stage: Stage) {
    // What is wrong with the interface was said when it was declared.
    let Some(interface) = lowerer.quietly(|l| Interface::of(l, func, stage)) else { return };
    let Some(callee) = lowerer.origin(Origin::Func(func)) else { return };
    lowerer.module.funcs[callee].inline = ir::Inline::Early;
    let Some((body, subst)) = lowerer.instance_body(func) else { return };
    let params = lowerer.queries.program.funcs[func.func].params.clone();
    let mut frame = Frame::new(lowerer, id, subst, body);
    let inputs = frame.func.inputs().to_vec();
    let mut arguments = Vec::new();
    for (number, (param, plan)) in params.iter().zip(&interface.params).enumerate() {
        frame.span = param.span;
        if let Some(tree) = &plan.input {
            arguments.push(frame.put_together(tree, &inputs));
        } else if plan.output.is_none() {
            arguments.push(frame.uniform_param(func.func, number, param));
        }
    }
    let types: Vec<Ty> = frame.lowerer.module.funcs[callee].sig.outputs().map(|o| o.ty).collect();
    let call = frame.b().emit(Op::Call(callee), &arguments, &types);
    let results = frame.func.insts[call].results.to_vec();
    // A function gives its result first; its locations come after those of `out` parameters.
    let trees = interface.result.iter().chain(interface.params.iter().filter_map(|p| p.output.as_ref()));
    let mut outputs: Vec<Option<Value>> = vec![None; interface.outputs.len()];
    for (tree, result) in trees.zip(results) {
        frame.take_apart(tree, result, &mut vec![], &interface.outputs, &mut outputs);
    }
    let outputs: Vec<Value> = outputs.into_iter().flatten().collect();
    frame.b().emit(Op::Return, &outputs, &[]);
    frame.close(id);
}

impl Frame<'_, '_> {
    /// The value that a tree stands for.
    fn put_together(&mut self, tree: &Tree, inputs: &[Value]) -> Value {
        match tree {
            Tree::Leaf(number, ty) => {
                let input = inputs[*number];
                let narrow = self.lowerer.module.types.with_scalar(*ty, self.scalar_of(input));
                let cut = self.truncate(input, narrow);
                self.convert(cut, *ty)
            }
            Tree::Parts(ty, parts) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.put_together(part, inputs)).collect();
                self.b().pack(&parts, *ty)
            }
        }
    }

    /// Finds the values of outputs in one of whose part a tree stands for. Each is read by its whole way, so that what was written
    /// there last is found without the aggregates around it.
    fn take_apart(
        &mut self,
        tree: &Tree,
        whole: Value,
        way: &mut Vec<Step>,
        leaves: &[Leaf],
        outputs: &mut [Option<Value>],
    ) {
        match tree {
            Tree::Leaf(number, _) => {
                let value = self.b().extract(whole, Path(way.iter().copied().collect()), &[]);
                outputs[*number] = Some(self.convert(value, leaves[*number].ty));
            }
            Tree::Parts(_, parts) => {
                for (index, part) in (0..).zip(parts) {
                    way.push(Step::Part(index));
                    self.take_apart(part, whole, way, leaves, outputs);
                    way.pop();
                }
            }
        }
    }

    fn scalar_of(&self, value: Value) -> cotangent_base::Scalar {
        let scalar = self.lowerer.module.types.scalar_of(self.func.ty(value));
        scalar.unwrap_or(cotangent_base::Scalar::F32)
    }
}

/// Reports what only fragment shaders can do where another entry point comes to it.
pub(crate) fn check_pixels(lowerer: &mut Lowerer<'_>, entries: &[ir::FuncId]) {
    for &entry in entries {
        let func = &lowerer.module.funcs[entry];
        let (name, stage) = (func.name, func.entry.as_ref().map_or(Stage::Compute, |e| e.stage));
        let mut seen = cotangent_base::EntitySet::new();
        let checks = lowerer.options.target.is_none();
        let found =
            (stage != Stage::Fragment).then(|| pixels(lowerer, entry, func.span, &mut seen)).flatten();
        let Some((what, span)) = found else { continue };
        // Some targets have neighbours in compute shaders, in groups of quads.
        if checks && what != "discard" && what != "clip" {
            continue;
        }
        let message = format!(
            "`{what}` is only allowed in fragment shaders, but `{name}` is a {} shader",
            stage.name()
        );
        let mut diagnostic = Diagnostic::new(codes::WRONG_STAGE, span, message);
        if what == "discard" {
            diagnostic = diagnostic.help("`return` ends the thread");
        }
        lowerer.diagnostics.push(diagnostic);
    }
}

/// The first thing that only pixels have, and where the user wrote it.
fn pixels(
    lowerer: &Lowerer<'_>,
    id: ir::FuncId,
    span: Span,
    seen: &mut cotangent_base::EntitySet<ir::FuncId>,
) -> Option<(Symbol, Span)> {
    if !seen.insert(id) {
        return None;
    }
    let func = &lowerer.module.funcs[id];
    if let FuncKind::Request(_, of) = func.kind {
        return pixels(lowerer, of, span, seen);
    }
    func.all_insts().into_iter().find_map(|inst| {
        let data = &func.insts[inst];
        let here = if data.span.is_none() { span } else { data.span };
        if data.op == Op::Discard && !data.span.is_none() {
            return Some(("discard".into(), here));
        }
        if matches!(data.op, Op::Discard | Op::Screen(_)) {
            // A function of the library, by its name.
            let name = func.name.as_str();
            return Some((name.split('<').next().unwrap_or(name).into(), here));
        }
        data.op.callee().and_then(|callee| pixels(lowerer, callee, here, seen))
    })
}
