//! Forward mode. Input: a linearized function. Output: the same function, in which each
//! [`DiffCall`](cotangent_ir::Op::DiffCall) is a call of a forward derivative.
//!
//! ```text
//! f(x, y) -> r           f.fwd(x, y, x_t, y_t) -> r, r_t         f.fwd.10(x, y, x_t) -> r, r_t
//! ```
//!
//! There is one such function for each set of active inputs. If not all inputs are active, the digits in its name list those
//! that are. The function that the user requests takes pairs: it unpacks them, calls this function, and packs the results. A
//! custom forward derivative takes pairs too, so a call of one packs its arguments and unpacks its results.

use crate::driver::{Context, Reported};
use crate::linearize::{self, Linearized, linearize};
use crate::stages::LINEARIZE;
use crate::{codes, tangent};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use cotangent_ir::{
    Builder, DiffCall, Func, FuncId, FuncKind, InputMask, Inst, InstData, Mode, Op, OutputMask, Region, Ty,
    Value,
};
use cotangent_passes::optimize::tidy;
use cotangent_passes::pass::{Facts, When};

/// The forward derivatives written so far, by function and inputs with a tangent.
#[derive(Default)]
pub struct Cache {
    functions: Map<(FuncId, InputMask), FuncId>,
}

/// Gives `request`, the forward derivative of `of`, its body.
pub(crate) fn request(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    let span = cx.module.funcs[request].span;
    require_forward(cx, of, span)?;
    let original = &cx.module.funcs[of].sig;
    let inputs: InputMask = original.inputs().map(|p| p.diff).collect();
    let outputs: OutputMask = original.outputs().map(|o| o.diff).collect();
    let plain: Vec<Ty> = original.outputs().map(|o| o.ty).collect();

    let mut func = cx.module.funcs[request].clone();
    let results: Vec<Ty> = func.sig.outputs().map(|o| o.ty).collect();
    let pairs = func.inputs().to_vec();
    if pairs.len() != inputs.len() || results.len() != outputs.len() {
        return Err(wrong_signature(cx, of, span));
    }
    let mut b = Builder::new(&mut cx.module.types, &mut func);
    let (mut primals, mut tangents) = (Vec::new(), Vec::new());
    for (&pair, &active) in pairs.iter().zip(&inputs) {
        primals.push(if active { b.part(pair, 0) } else { pair });
        if active {
            tangents.push(b.part(pair, 1));
        }
    }
    let mut types = plain.clone();
    for (&ty, _) in plain.iter().zip(&outputs).filter(|(_, active)| **active) {
        types.extend(cx.module.diff.differential(b.types, ty));
    }
    let call = DiffCall { func: of, inputs, outputs: outputs.clone() };
    let call = b.emit(Op::DiffCall(call), &[primals, tangents].concat(), &types);
    let values = b.func.insts[call].results.to_vec();
    let (primals, tangents) = values.split_at(plain.len());
    let mut tangents = tangents.iter();
    let mut packed = Vec::new();
    for ((&primal, &active), &ty) in primals.iter().zip(&outputs).zip(&results) {
        packed.push(if active {
            b.pack(&[primal, *tangents.next().expect("one for each active output")], ty)
        } else {
            primal
        });
    }
    b.emit(Op::Return, &packed, &[]);
    resolve(cx, &mut func)?;
    cx.module.funcs[request] = func;
    Ok(())
}

/// The function that computes `func` and, given tangents for `inputs`, the tangents of its outputs.
pub fn function(cx: &mut Context<'_>, func: FuncId, inputs: &InputMask) -> Result<FuncId, Reported> {
    let key = (func, inputs.clone());
    if let Some(&known) = cx.forward.functions.get(&key) {
        return Ok(known);
    }
    let body = cx.body_of(func)?;
    let (sig, _) = linearize::signature(&mut cx.module.types, &cx.module.diff, &body.sig, inputs);
    let mut declared = Func::new(forward_name(&body, inputs), sig, body.span);
    declared.origin = body.origin;
    declared.diff = cx.derived_diff(func);
    declared.kind = FuncKind::Request(Mode::Forward, func);
    let id = cx.module.add_func(declared);
    cx.forward.functions.insert(key, id);

    let written = write(cx, id, body, inputs);
    if written.is_err() {
        cx.give_up(id);
    }
    written.map(|()| id)
}

/// Writes the body of the forward derivative `id`, which has been declared.
fn write(cx: &mut Context<'_>, id: FuncId, body: Func, inputs: &InputMask) -> Result<(), Reported> {
    let told = cx.diagnostics.len();
    cx.watch.begin(LINEARIZE, || body.size());
    let Linearized { mut func, lin, .. } =
        linearize(cx.module, body, inputs, Mode::Forward, &mut cx.diagnostics);
    cx.watch.end(|| func.size());
    if cx.has_errors_since(told) {
        return Err(Reported);
    }
    cx.after(LINEARIZE, &func, Some(&lin));
    resolve(cx, &mut func)?;
    let facts = Facts { effects: &cx.effects, when: When::BeforeDerivatives };
    tidy(cx.module, &mut func, &facts, &mut cx.watch);
    let declared = &cx.module.funcs[id];
    func.name = declared.name;
    func.diff = declared.diff.clone();
    func.kind = FuncKind::Defined;
    func.entry = None;
    cx.module.funcs[id] = func;
    Ok(())
}

/// `f.fwd`, and which inputs have a tangent if some that could have none.
fn forward_name(func: &Func, inputs: &InputMask) -> Symbol {
    let could = || func.sig.inputs().map(|p| p.diff);
    if could().eq(inputs.iter().copied()) {
        return Symbol::new(&format!("{}.fwd", func.name));
    }
    let digits: String =
        could().zip(inputs).filter(|(c, _)| *c).map(|(_, i)| if *i { '1' } else { '0' }).collect();
    Symbol::new(&format!("{}.fwd.{digits}", func.name))
}

/// Turns every call beside its derivative in `func` into a call of a forward derivative.
fn resolve(cx: &mut Context<'_>, func: &mut Func) -> Result<(), Reported> {
    let mut renamed = Map::default();
    let mut failed = false;
    for region in func.regions.keys() {
        for inst in std::mem::take(&mut func.regions[region].insts) {
            let Op::DiffCall(call) = func.insts[inst].op.clone() else {
                func.regions[region].insts.push(inst);
                continue;
            };
            failed |= resolve_call(cx, func, region, inst, &call, &mut renamed).is_err();
        }
    }
    if failed {
        return Err(Reported);
    }
    func.replace_uses(|v| renamed.get(&v).copied());
    Ok(())
}

fn resolve_call(
    cx: &mut Context<'_>,
    func: &mut Func,
    region: Region,
    inst: Inst,
    call: &DiffCall,
    renamed: &mut Map<Value, Value>,
) -> Result<(), Reported> {
    let span = func.insts[inst].span;
    require_forward(cx, call.func, span)?;
    if let Some(custom) = cx.module.funcs[call.func].diff.forward {
        cx.fill(custom)?;
        return call_custom(cx, func, region, inst, call, custom, renamed);
    }
    func.insts[inst].op = Op::Call(function(cx, call.func, &call.inputs)?);
    func.regions[region].insts.push(inst);
    Ok(())
}

/// Packs pairs, calls the user's derivative, unpacks.
///
/// ```text
/// r, r_t = diff_call f[10] x, y, x_t        a = pack x, x_t     b = pack y, zero
///                                           c = call f_fwd a, b
///                                           r = extract c 0     r_t = extract c 1
/// ```
fn call_custom(
    cx: &mut Context<'_>,
    func: &mut Func,
    region: Region,
    inst: Inst,
    call: &DiffCall,
    custom: FuncId,
    renamed: &mut Map<Value, Value>,
) -> Result<(), Reported> {
    let InstData { operands, results, span, .. } = func.insts[inst].clone();
    let module = &mut *cx.module;
    let (original, translated) = (&module.funcs[call.func].sig, &module.funcs[custom].sig);
    let (primals, tangents) = operands.split_at(call.inputs.len());
    if translated.inputs().count() != primals.len() || translated.outputs().count() != call.outputs.len() {
        return Err(wrong_signature(cx, call.func, span));
    }
    let mut b = Builder { types: &mut module.types, func, region, span };
    let mut tangents = tangents.iter().copied();
    let mut arguments = Vec::new();
    for (i, (param, pair)) in original.inputs().zip(translated.inputs()).enumerate() {
        if !param.diff {
            arguments.push(primals[i]);
            continue;
        }
        let given = if call.inputs[i] { tangents.next() } else { None };
        let ty = module
            .diff
            .differential(b.types, param.ty)
            .expect("a differentiable parameter has a differential");
        let x_t = given.unwrap_or_else(|| tangent::zero(&mut b, &module.diff, ty));
        arguments.push(b.pack(&[primals[i], x_t], pair.ty));
    }
    let types: Vec<Ty> = translated.outputs().map(|o| o.ty).collect();
    let new = b.emit(Op::Call(custom), &arguments, &types);
    let pairs = b.func.insts[new].results.to_vec();
    let (old, old_tangents) = results.split_at(pairs.len());
    let mut old_tangents = old_tangents.iter();
    for ((&old, &pair), &active) in old.iter().zip(&pairs).zip(&call.outputs) {
        renamed.insert(old, if active { b.part(pair, 0) } else { pair });
        if active {
            renamed.insert(*old_tangents.next().expect("one for each active output"), b.part(pair, 1));
        }
    }
    Ok(())
}

/// Complains unless `func` has a forward derivative.
fn require_forward(cx: &mut Context<'_>, func: FuncId, span: Span) -> Result<(), Reported> {
    let f = &cx.module.funcs[func];
    let diff = cx.derived_diff(func);
    if diff.differentiable.is_none() && !matches!(f.kind, FuncKind::Request(..)) {
        let message = format!("`{}` is not differentiable", f.name);
        let diagnostic = Diagnostic::new(codes::NOT_DIFFERENTIABLE, span, message)
            .label(f.span, "declared here")
            .help("mark it `[Differentiable]` or give it a custom derivative");
        return Err(cx.report(diagnostic));
    }
    let by_hand = f.diff.forward.is_some() || !f.diff.is_from_body();
    if f.diff.differentiable.is_none() && !by_hand && f.diff.has_custom_backward() {
        let message = format!("`{}` has a backward derivative only", f.name);
        let diagnostic = Diagnostic::new(codes::NO_FORWARD, span, message)
            .label(f.span, "declared here")
            .help("mark it `[Differentiable]` or give it a forward derivative with `[ForwardDerivative(g)]`");
        return Err(cx.report(diagnostic));
    }
    Ok(())
}

fn wrong_signature(cx: &mut Context<'_>, func: FuncId, span: Span) -> Reported {
    let f = &cx.module.funcs[func];
    let message = format!("the forward derivative of `{}` has the wrong number of parameters", f.name);
    let diagnostic = Diagnostic::new(codes::WRONG_SIGNATURE, span, message)
        .label(f.span, "declared here")
        .help("a forward derivative takes a pair for each differentiable parameter and returns a pair for each differentiable result");
    cx.report(diagnostic)
}
