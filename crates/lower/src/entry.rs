//! Lowers compute entry points.
//!
//! The host provides each system value in one type: three `u32` for ids, one for the index. A parameter may have fewer
//! components or another integer type; the body starts with the conversion. A parameter without a semantic is a shader
//! parameter and becomes a global of the same name.

use crate::codes;
use crate::func::Frame;
use crate::global::Uniform;
use crate::instance::{Lowerer, Origin};
use crate::stage;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_ir::{
    self as ir, Dir, Entry, Func, Link, Mode, Op, Stage, SystemValue, Type, Value, type_group,
};
use cotangent_sema::Subst;
use cotangent_sema::hir::{self, FuncRef};

/// What the host gives for a semantic.
fn system_value(semantic: &str) -> Option<SystemValue> {
    Some(match semantic.to_ascii_lowercase().as_str() {
        "sv_dispatchthreadid" => SystemValue::DispatchThreadId,
        "sv_groupid" => SystemValue::GroupId,
        "sv_groupthreadid" => SystemValue::GroupThreadId,
        "sv_groupindex" => SystemValue::GroupIndex,
        _ => return None,
    })
}

/// Whether a parameter may have that type.
fn accepts(value: SystemValue, ty: Type) -> bool {
    match (value.ty(), ty) {
        (_, Type::Scalar(s)) => s.is_int(),
        (Type::Vector(_, most), Type::Vector(s, n)) => s.is_int() && n <= most,
        _ => false,
    }
}

/// The parameters, with what the host gives for those that have a semantic.
fn semantics(lowerer: &Lowerer<'_>, func: FuncRef) -> Vec<(hir::Param, Option<SystemValue>)> {
    let params = &lowerer.queries.program.funcs[func.func].params;
    params.iter().map(|p| (*p, p.varying.semantic.and_then(|s| system_value(s.as_str())))).collect()
}

/// The most threads that devices run in one group.
const MOST_THREADS: u64 = 1024;

const SYSTEM_VALUES: &str =
    "use `SV_DispatchThreadID`, `SV_GroupID`, `SV_GroupThreadID` or `SV_GroupIndex` with integers";

pub(crate) fn unsuitable(lowerer: &mut Lowerer<'_>, span: Span, message: String, help: &str) {
    lowerer.diagnostics.push(Diagnostic::new(codes::ENTRY_PARAMETER, span, message).help(help));
}

/// Reports a uniform parameter that is to be written.
pub(crate) fn set_by_host(lowerer: &mut Lowerer<'_>, param: &hir::Param) {
    let message = format!("the parameter `{}` is set by the host and cannot be written", param.name);
    unsuitable(lowerer, param.span, message, "remove `out` or `inout`");
}

/// The stage of an entry point.
fn stage_of(lowerer: &Lowerer<'_>, func: FuncRef) -> Stage {
    lowerer.entry(func.func).map_or(Stage::Compute, |entry| stage::ir_stage(entry.stage))
}

/// Declares an entry point.
pub(crate) fn declare(lowerer: &mut Lowerer<'_>, func: FuncRef) -> Func {
    lowerer.resolve(func.func);
    let hir::Func { name, span, this, .. } = lowerer.queries.program.funcs[func.func].clone();
    if this.is_some() {
        let message = format!("the entry point `{name}` needs an object, which a host cannot provide");
        unsuitable(lowerer, span, message, "declare it `static`, or outside the structure");
    }
    if stage_of(lowerer, func) != Stage::Compute {
        return stage::declare(lowerer, func, stage_of(lowerer, func));
    }
    let hir::Func { name, span, result, .. } = lowerer.queries.program.funcs[func.func].clone();
    let entry = lowerer.entry(func.func);
    if lowerer.queries.program.types.kind(result) != hir::TyKind::Void {
        let message = format!("the entry point `{name}` has a result");
        unsuitable(lowerer, span, message, "declare it `void`, and write its result to a buffer");
    }
    if entry.is_some_and(|entry| entry.launched || entry.bound) {
        check_constant(lowerer, func);
    }
    let mut sig = ir::Signature::default();
    let mut inputs = Vec::new();
    for (param, value) in semantics(lowerer, func) {
        let Some(value) = value else {
            if let Some(semantic) = param.varying.semantic {
                let message = format!("compute shaders have no semantic `{semantic}`");
                unsuitable(lowerer, param.span, message, SYSTEM_VALUES);
            } else if param.dir != hir::Dir::In {
                set_by_host(lowerer, &param);
            }
            continue;
        };
        let ty = lowerer.module.types.intern(value.ty());
        sig.params.push(ir::Param { name: param.name, ty, dir: Dir::In, diff: false });
        inputs.push(Link::System(value));
    }
    let mut declared = Func::new(name, sig, span);
    let subst = lowerer.subst(func);
    let launched = lowerer.options.threads.filter(|_| entry.is_some_and(|e| e.launched));
    let written = entry.map(|e| e.threads.map(|val| thread_count(lowerer, val, &subst, e.span)));
    let threads = launched.or(written).unwrap_or([1; 3]);
    let all = threads.iter().fold(1, |all: u64, n| all.saturating_mul(u64::from(*n)));
    if let (Some(entry), true) = (entry, all > MOST_THREADS) {
        let message = format!("a group of {all} threads exceeds the {MOST_THREADS} that devices support");
        let warning = Diagnostic::new(codes::LARGE_GROUP, entry.span, message);
        lowerer.diagnostics.push(warning.help("make the groups smaller and dispatch more of them"));
    }
    declared.entry = Some(Entry { stage: Stage::Compute, threads, inputs, outputs: vec![] });
    declared
}

/// Reports parameters of a differentiable kernel that would carry derivatives. Nothing could return theirs: the derivatives of
/// a kernel take the same parameters.
fn check_constant(lowerer: &mut Lowerer<'_>, func: FuncRef) {
    let hir::Func { params, diff, .. } = lowerer.queries.program.funcs[func.func].clone();
    if !diff.is_differentiable() {
        return;
    }
    let subst = lowerer.subst(func);
    for param in params.iter().filter(|param| !param.no_diff) {
        let ty = lowerer.queries.subst(param.ty, &subst);
        if lowerer.queries.differential(ty).is_none() {
            continue;
        }
        let message = format!("the parameter `{}` of a differentiable kernel must be `no_diff`", param.name);
        let shown = lowerer.queries.show(ty);
        let help = format!("write `no_diff {shown} {}`; a `DiffTensorView` carries derivatives", param.name);
        unsuitable(lowerer, param.span, message, &help);
    }
}

fn thread_count(lowerer: &mut Lowerer<'_>, val: hir::Val, subst: &Subst, span: Span) -> u32 {
    let val = lowerer.queries.subst_val(val, subst);
    let known = lowerer.queries.program.types.known(val).and_then(|n| u32::try_from(n).ok());
    known.filter(|n| *n > 0).unwrap_or_else(|| {
        let message = "the group size is not a positive constant";
        unsuitable(
            lowerer,
            span,
            message.into(),
            "a group has at least one thread: `[numthreads(64, 1, 1)]`",
        );
        1
    })
}

/// Writes the body of an entry point.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: ir::FuncId, func: FuncRef) {
    if stage_of(lowerer, func) != Stage::Compute {
        return stage::define(lowerer, id, func, stage_of(lowerer, func));
    }
    let Some((body, subst)) = lowerer.instance_body(func) else {
        return;
    };
    let params = semantics(lowerer, func);
    let locals = body.params.clone();
    let mut frame = Frame::new(lowerer, id, subst, body);
    for (&local, value) in locals.iter().zip(frame.entry_values(func, &params)) {
        frame.set_var(local, value);
    }
    frame.finish(id);
}

/// What the name of a derivative adds to that of the entry point.
const DERIVED: [(&str, Mode); 2] = [("_fwd_diff", Mode::Forward), ("_bwd_diff", Mode::Backward)];

/// The entry point and the mode that the name of a derived one stands for: `k_bwd_diff` for `k` with `[AutoPyBindCUDA]`.
pub(crate) fn derived(
    lowerer: &Lowerer<'_>,
    entries: &[hir::FuncId],
    name: Symbol,
) -> Option<(hir::FuncId, Mode)> {
    let funcs = &lowerer.queries.program.funcs;
    DERIVED.iter().find_map(|&(suffix, mode)| {
        let of = name.as_str().strip_suffix(suffix)?;
        let is_it = |func: &&hir::FuncId| {
            funcs[**func].name == *of
                && funcs[**func].diff.is_differentiable()
                && funcs[**func].entry.is_some_and(|entry| entry.bound && entry.stage == hir::Stage::Compute)
        };
        entries.iter().find(is_it).map(|func| (*func, mode))
    })
}

/// Declares the entry point that runs the derivative of another. It has the same parameters: those that carry derivatives say
/// where these lie.
pub(crate) fn declare_derived(lowerer: &mut Lowerer<'_>, func: FuncRef, mode: Mode) -> Func {
    let mut declared = declare(lowerer, func);
    let suffix = DERIVED.iter().find(|(_, m)| *m == mode).map_or("", |(suffix, _)| suffix);
    declared.name = Symbol::new(&format!("{}{suffix}", declared.name));
    declared
}

/// Writes the body of an entry point that runs the derivative of another: a call of it.
pub(crate) fn define_derived(lowerer: &mut Lowerer<'_>, id: ir::FuncId, func: FuncRef, mode: Mode) {
    let plain = lowerer.origin(Origin::Func(func));
    let Some(varied) = plain.and_then(|plain| lowerer.paired(plain)) else { return };
    let Some(derivative) = lowerer.origin(Origin::Request(mode, varied)) else { return };
    let Some((body, subst)) = lowerer.instance_body(func) else { return };
    let params = semantics(lowerer, func);
    let mut frame = Frame::new(lowerer, id, subst, body);
    let values = frame.entry_values(func, &params);
    let sig = &frame.lowerer.module.funcs[derivative].sig;
    // Parameters that would need a pair were reported when the entry point was declared.
    let fits = sig.inputs().map(|p| p.ty).eq(values.iter().map(|value| frame.func.ty(*value)));
    if !fits || sig.outputs().count() != 0 {
        frame.internal("the derivative of a kernel takes other parameters than the kernel");
        return;
    }
    frame.b().emit(Op::Call(derivative), &values, &[]);
    frame.b().emit(Op::Return, &[], &[]);
    frame.close(id);
}

impl Frame<'_, '_> {
    /// The parameters of a compute entry point, as its body sees them.
    fn entry_values(&mut self, func: FuncRef, params: &[(hir::Param, Option<SystemValue>)]) -> Vec<Value> {
        let mut inputs = self.func.inputs().to_vec().into_iter();
        let mut values = Vec::new();
        for (number, (param, value)) in params.iter().enumerate() {
            self.span = param.span;
            let input = value.and_then(|value| Some((inputs.next()?, value)));
            values.push(match input {
                Some((input, value)) => self.system_value(input, value, param),
                None => self.uniform_param(func.func, number, param),
            });
        }
        values
    }

    /// A system value in the type of the parameter.
    fn system_value(&mut self, input: Value, value: SystemValue, param: &hir::Param) -> Value {
        let to = self.ty(param.ty);
        if !accepts(value, self.lowerer.module.types.get(to)) {
            let text = self.lowerer.queries.show(param.ty);
            let message = format!("a system value cannot have the type `{text}`");
            unsuitable(self.lowerer, param.span, message, SYSTEM_VALUES);
            return self.b().undef(to);
        }
        let scalar = self.lowerer.module.types.scalar(Scalar::U32);
        let shape = self.lowerer.module.types.with_scalar(to, Scalar::U32);
        let cut = match self.lowerer.module.types.get(self.func.ty(input)) {
            Type::Vector(..) if shape == scalar => self.b().part(input, 0),
            Type::Vector(..) => self.truncate(input, shape),
            type_group!(unit | number | composite | handle) => input,
        };
        self.convert(cut, to)
    }

    /// A parameter without a semantic.
    pub fn uniform_param(&mut self, func: hir::FuncId, number: usize, param: &hir::Param) -> Value {
        let uniform = self.param_global(func, number, param.name, param);
        self.uniform_value(&uniform)
    }

    fn param_global(
        &mut self,
        func: hir::FuncId,
        number: usize,
        name: Symbol,
        param: &hir::Param,
    ) -> Uniform {
        if let Some(uniform) = self.lowerer.uniforms.get(&(func, number)) {
            return uniform.clone();
        }
        let concrete = self.lowerer.queries.subst(param.ty, &self.subst);
        self.lowerer.check_matrix(param.row_major, concrete, param.span);
        let (shape, ty) = (self.lowerer.shape(concrete, param.span), self.ty(param.ty));
        let uniform = self.lowerer.uniform(name.as_str(), &shape, ty, param.span);
        self.lowerer.uniforms.insert((func, number), uniform.clone());
        uniform
    }
}
