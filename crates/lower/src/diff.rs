//! Records what autodiff needs: the differentials of structures, and requests for derivatives.
//!
//! **Rows.** Every lowered structure that conforms to `IDifferentiable` gets a row: its differential type, the field that
//! holds the derivative of each field, and the user's `dzero` and `dadd` if they exist. The differential type is lowered too
//! and gets its own row, so the table is closed.
//!
//! **Requests.** A call of `fwd_diff(f)` or `bwd_diff(f)` is a call of a function without a body. Its signature follows from
//! that of `f`:
//!
//! | parameter of `f`   | of `fwd_diff(f)`     | of `bwd_diff(f)`             |
//! | ------------------ | -------------------- | ---------------------------- |
//! | `in T`, diff       | `in Pair<T>`         | `inout Pair<T>`              |
//! | `out T`, diff      | `out Pair<T>`        | `in T.Differential`          |
//! | `inout T`, diff    | `inout Pair<T>`      | `inout Pair<T>`              |
//! | `in T`             | `in T`               | `in T`                       |
//! | `out T`            | `out T`              | none                         |
//! | `inout T`          | `inout T`            | `in T`                       |
//! | `in P`, a pointer  | `in PtrPair<P>`      | `in PtrPair<P>`              |
//! | result `T`, diff   | result `Pair<T>`     | last: `in T.Differential`    |
//! | result `T`         | result `T`           | none                         |
//!
//! A request is an ordinary function, so it can be requested again: `fwd_diff(bwd_diff(f))`.

use crate::declare::{SourceParam, SourceSig};
use crate::demand;
use crate::instance::{Lowerer, Origin};
use cotangent_base::Symbol;
use cotangent_ir::{self as ir, Apply, DiffInfo, DiffRow, Dir, FuncKind, Mode, Prefer, StructId, Type};
use cotangent_sema::hir::{self, Arg, FuncRef, Ty, TyKind, Witness};
use cotangent_sema::kind_group;

/// What is known of an instance's derivatives, but for those that users wrote: [`link_customs`].
pub(crate) fn info(lowerer: &mut Lowerer<'_>, func: FuncRef) -> DiffInfo {
    let declared = &lowerer.queries.program.funcs[func.func];
    let (diff, held_result) = (declared.diff, declared.no_diff_result);
    DiffInfo {
        held: held(lowerer, func),
        held_result,
        differentiable: diff.differentiable.map(mode),
        rule: link(lowerer, func, diff.rule),
        constant: diff.constant,
        prefer: match diff.prefer {
            hir::Prefer::Auto => Prefer::Auto,
            hir::Prefer::Recompute => Prefer::Recompute,
            hir::Prefer::Checkpoint => Prefer::Checkpoint,
            hir::Prefer::Rerun => Prefer::Rerun,
        },
        ..DiffInfo::default()
    }
}

/// The parameters that are marked `no_diff`. A pack is several.
fn held(lowerer: &mut Lowerer<'_>, func: FuncRef) -> Vec<Symbol> {
    let hir::Func { this, params, .. } = &lowerer.queries.program.funcs[func.func];
    let mut held: Vec<Symbol> =
        this.iter().filter(|this| this.no_diff).map(|_| Symbol::new("this")).collect();
    let marked: Vec<(Symbol, Ty)> = params.iter().filter(|p| p.no_diff).map(|p| (p.name, p.ty)).collect();
    for (name, ty) in marked {
        let subst = lowerer.subst(func);
        let ty = lowerer.queries.subst(ty, &subst);
        match lowerer.pack_elements(ty) {
            Some(elements) => held.extend((0..elements.len()).map(|i| Symbol::new(&format!("{name}_{i}")))),
            None => held.push(name),
        }
    }
    held
}

/// Instantiates the derivatives that users wrote of an instance.
///
/// A function with pointers but without pairs of them cannot be differentiated by hand: there is nowhere to add the
/// derivatives to. What it loads is a constant then.
pub(crate) fn link_customs(lowerer: &mut Lowerer<'_>, id: ir::FuncId, func: FuncRef) {
    let diff = lowerer.queries.diff_of(func);
    let substitute = link(lowerer, func, diff.substitute);
    // What stands in for a function that takes pairs of pointers takes them as well.
    let substitute = match (substitute.map(|plain| (plain, lowerer.origin_of(plain))), lowerer.origin_of(id))
    {
        (Some((plain, Origin::Func(of))), Origin::Paired(_)) if lowerer.has_pointers(plain) => {
            lowerer.origin(Origin::Paired(of))
        }
        _ => substitute,
    };
    lowerer.module.funcs[id].diff.substitute = substitute;
    if lowerer.has_pointers(id) {
        return;
    }
    let forward = link(lowerer, func, diff.forward);
    let backward = link(lowerer, func, diff.backward);
    let apply = diff.apply.and_then(|apply| {
        let [primal, pullback] = [apply.primal, apply.pullback].map(|step| link(lowerer, func, Some(step)));
        Some(Apply { primal: primal?, pullback: pullback? })
    });
    let info = &mut lowerer.module.funcs[id].diff;
    (info.forward, info.backward, info.apply) = (forward, backward, apply);
}

/// The instance of what is written for `func`, under the arguments of that.
fn link(lowerer: &mut Lowerer<'_>, func: FuncRef, to: Option<FuncRef>) -> Option<ir::FuncId> {
    let subst = lowerer.subst(func);
    let to = lowerer.queries.subst_func(to?, &subst);
    let span = lowerer.queries.program.funcs[func.func].span;
    lowerer.callee(to, span)
}

/// A mode of the language in the IR.
pub(crate) fn mode(mode: hir::DiffMode) -> Mode {
    match mode {
        hir::DiffMode::Forward => Mode::Forward,
        hir::DiffMode::Backward => Mode::Backward,
    }
}

/// Writes the row of a differentiable structure.
pub(crate) fn row(lowerer: &mut Lowerer<'_>, ty: Ty, id: StructId) {
    let Some(differential) = lowerer.queries.differential(ty) else {
        return;
    };
    let places = derivative_names(lowerer, ty);
    let span = struct_span(lowerer, ty);
    let made = is_synthesised(lowerer, differential);
    let differential = lowerer.lower_ty(differential, span);
    let targets: Vec<Symbol> = if let Type::Struct(id) = lowerer.module.types.get(differential) {
        lowerer.module.types.struct_def(id).fields.iter().map(|f| f.name).collect()
    } else {
        vec![]
    };
    let mut fields = Vec::new();
    for place in places {
        let Some(name) = place else {
            fields.push(None);
            continue;
        };
        let found = targets.iter().position(|target| *target == name);
        // A field of parameter type is left out of a synthesised differential if the parameter's bounds do not make it
        // differentiable, whatever the argument.
        if found.is_none() && !made {
            let text = lowerer.queries.show(ty);
            lowerer.internal(span, format!("the differential of `{text}` has no field `{name}`"));
        }
        fields.push(found.map(|i| i as u32));
    }
    let zero = written(lowerer, ty, lowerer.queries.program.lang.dzero);
    let add = written(lowerer, ty, lowerer.queries.program.lang.dadd);
    // Derivatives of any order call them, and so are taken of them.
    [zero, add].into_iter().flatten().for_each(|func| lowerer.demand(func, demand::MOST));
    let row = DiffRow { differential, fields, zero, add };
    lowerer.module.diff.set(id, row);
}

/// Whether the compiler made this differential type.
fn is_synthesised(lowerer: &Lowerer<'_>, differential: Ty) -> bool {
    if let TyKind::Struct(id, _) = lowerer.queries.program.types.kind(differential) {
        lowerer.queries.program.structs[id].differential_of.is_some()
    } else {
        false
    }
}

fn struct_span(lowerer: &Lowerer<'_>, ty: Ty) -> cotangent_base::Span {
    if let TyKind::Struct(id, _) = lowerer.queries.program.types.kind(ty) {
        lowerer.queries.program.structs[id].span
    } else {
        cotangent_base::Span::none()
    }
}

/// For each field, the name of the field of the differential that holds its derivative, if it has one.
fn derivative_names(lowerer: &mut Lowerer<'_>, ty: Ty) -> Vec<Option<Symbol>> {
    let (names, types): (Vec<Option<Symbol>>, Vec<Ty>) = match lowerer.queries.program.types.kind(ty) {
        TyKind::Struct(id, args) => {
            let types = lowerer.queries.field_types(id, args);
            let fields = &lowerer.queries.program.structs[id].fields;
            let name = |f: &hir::Field| (!f.no_diff).then(|| f.derivative.unwrap_or(f.name));
            let names = fields.iter().map(name).collect();
            (names, types)
        }
        TyKind::Tuple(args) => {
            let types = lowerer.tuple_types(args);
            let names = (0..types.len()).map(|i| Some(Symbol::new(&format!("_{i}"))));
            (names.collect(), types)
        }
        kind_group!(number | list | named | open | special) => (vec![], vec![]),
    };
    let pairs = names.into_iter().zip(types);
    pairs.map(|(name, ty)| name.filter(|_| lowerer.queries.differential(ty).is_some())).collect()
}

/// The function the user wrote for a requirement of `IDifferentiable`.
fn written(lowerer: &mut Lowerer<'_>, ty: Ty, requirement: Option<hir::FuncId>) -> Option<ir::FuncId> {
    let func = requirement?;
    let args = lowerer.queries.args(&[Arg::Ty(ty)]);
    let span = struct_span(lowerer, ty);
    match lowerer.queries.witness(FuncRef { func, args })? {
        Witness::Func(func) => lowerer.callee(func, span),
        Witness::Field(_) | Witness::Synth(_) => None,
    }
}

/// Declares the derivative of a function.
pub(crate) fn request(
    lowerer: &mut Lowerer<'_>,
    mode: Mode,
    of: ir::FuncId,
) -> Option<(ir::Func, SourceSig)> {
    let sig = lowerer.source_sig(of);
    let ir::Func { name, span, .. } = lowerer.module.funcs[of];
    let sig = match mode {
        Mode::Forward => forward(lowerer, &sig)?,
        Mode::Backward => backward(lowerer, &sig)?,
    };
    let word = match mode {
        Mode::Forward => "fwd_diff",
        Mode::Backward => "bwd_diff",
    };
    let mut func = ir::Func::new(Symbol::new(&format!("{word}({name})")), lowerer.ir_sig(&sig, span), span);
    func.kind = FuncKind::Request(mode, of);
    func.diff.differentiable = Some(Mode::Backward);
    Some((func, sig))
}

/// `DifferentialPair<T>`, and whether it is differentiable itself.
fn pair(lowerer: &mut Lowerer<'_>, ty: Ty) -> Option<(Ty, bool)> {
    let Some(pair) = lowerer.queries.program.lang.pair else {
        lowerer.internal(cotangent_base::Span::none(), "the library has no pair type");
        return None;
    };
    let args = lowerer.queries.args(&[Arg::Ty(ty)]);
    let pair = lowerer.queries.ty(TyKind::Struct(pair, args));
    let diff = lowerer.queries.differential(pair).is_some();
    Some((pair, diff))
}

/// The type of derivatives, and whether it is differentiable itself.
fn tangent(lowerer: &mut Lowerer<'_>, ty: Ty) -> Option<(Ty, bool)> {
    let tangent = lowerer.queries.differential(ty)?;
    let diff = lowerer.queries.differential(tangent).is_some();
    Some((tangent, diff))
}

fn forward(lowerer: &mut Lowerer<'_>, sig: &SourceSig) -> Option<SourceSig> {
    let mut derived = SourceSig::default();
    for &param in &sig.params {
        let (ty, diff) = if param.diff { pair(lowerer, param.ty)? } else { (param.ty, false) };
        derived.params.push(SourceParam { ty, diff, by_ref: false, pair: None, ..param });
    }
    derived.ret = match sig.ret {
        Some((ty, true)) => Some(pair(lowerer, ty)?),
        other => other,
    };
    Some(derived)
}

fn backward(lowerer: &mut Lowerer<'_>, sig: &SourceSig) -> Option<SourceSig> {
    let mut derived = SourceSig::default();
    for &param in &sig.params {
        let (ty, dir, diff) = match (param.dir, param.diff) {
            (Dir::In | Dir::InOut, true) => {
                let (ty, diff) = pair(lowerer, param.ty)?;
                (ty, Dir::InOut, diff)
            }
            (Dir::Out, true) => {
                let (ty, diff) = tangent(lowerer, param.ty)?;
                (ty, Dir::In, diff)
            }
            (Dir::Out, false) => continue,
            (Dir::In | Dir::InOut, false) => (param.ty, Dir::In, false),
        };
        derived.params.push(SourceParam { ty, dir, diff, by_ref: false, pair: None, ..param });
    }
    if let Some((ty, true)) = sig.ret {
        let (ty, diff) = tangent(lowerer, ty)?;
        derived.params.push(SourceParam {
            name: Symbol::new("resultGradient"),
            ty,
            dir: Dir::In,
            diff,
            by_ref: false,
            no_diff: false,
            pair: None,
        });
    }
    Some(derived)
}
