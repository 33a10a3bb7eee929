//! Lowers compute entry points.
//!
//! The host provides each system value in one type: three `u32` for ids, one for the index. A parameter may have fewer
//! components or another integer type; the body starts with the conversion. A parameter without a semantic is a shader
//! parameter and becomes a global of the same name.

use crate::codes;
use crate::func::Frame;
use crate::global::Uniform;
use crate::instance::Lowerer;
use crate::stage;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_ir::{self as ir, Dir, Entry, Func, Link, Stage, SystemValue, Type, Value};
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
    let mut inputs = frame.func.inputs().to_vec().into_iter();
    for (number, (&local, (param, value))) in locals.iter().zip(&params).enumerate() {
        frame.span = param.span;
        let value = match value {
            Some(value) => inputs.next().map(|input| frame.system_value(input, *value, param)),
            None => Some(frame.uniform_param(func.func, number, param)),
        };
        if let Some(value) = value {
            frame.set_var(local, value);
        }
    }
    frame.finish(id);
}

impl Frame<'_, '_> {
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
            _ => input,
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
