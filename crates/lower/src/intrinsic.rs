//! Lowers library functions that stand for one operation: `[__intrinsic("sqrt")]`.
//!
//! The name is that of the operation in the IR's table, followed by its kind if it has one (`atomic_add`). So no list of
//! built-in functions exists here. A few names are not in the table:
//!
//! - `load_bytes` and `store_bytes` are in [`bytes`]; `flat_load`, `flat_store` and `flat_add` in [`mod@flat`].
//! - `present` asserts that there is a value.
//! - `element` is the accessor of an aggregate or buffer and becomes `extract`, `insert` or `load`.
//! - `stride` is the constant number of bytes between elements of a buffer.
//! - `thread_index`, `group_index` and `group_size` are in [`thread`]; `reinterpret` is in [`mod@crate::reinterpret`].
//!
//! The result is an ordinary function whose body is that operation (for `reinterpret`, several). If the library declares a
//! derivative rule for it, calls stay until autodiff has applied the rule. Otherwise the operation replaces the call as soon
//! as possible.
//!
//! ```text
//! [__intrinsic("sqrt")] float sqrt(float x);      func @sqrt(%x: f32) -> f32 { %1: f32 = sqrt %x  return %1 }
//! ```

use crate::bytes;
use crate::flat;
use crate::instance::Lowerer;
use crate::reinterpret::reinterpret;
use crate::thread;
use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::texture::{Opaque, Sampling};
use cotangent_ir::wave::Wave;
use cotangent_ir::{
    self as ir, Atomic, AtomicKind, Barrier, Builder, DiffInfo, Dir, Effect, Func, Inline, Memory, Op, Path,
    Screen, Step, Trap, Type, Types, Value, type_group,
};

/// A path of dynamic indices only.
fn dynamic(indices: usize) -> Path {
    Path((0..indices).map(|_| Step::Index).collect())
}

/// The operation of that name with that many operands. Those with a path take the last operands as indices.
fn named(name: &str, operands: usize) -> Option<Op> {
    if let Some(op) = with_kind(name) {
        return Some(op);
    }
    if let Some(op) = Op::named(name) {
        let fits = if let Op::Math(math) = op { math.arity() == operands } else { true };
        let texel = matches!(op, Op::Texel | Op::StoreTexel | Op::Discard);
        return (fits && (op.effect() == Effect::None || texel)).then_some(op);
    }
    let one = operands.checked_sub(1).map(dynamic);
    let two = operands.checked_sub(2).map(dynamic);
    let with_path = [
        one.clone().map(Op::Load),
        one.map(Op::Extract),
        two.clone().map(Op::Store),
        two.clone().map(Op::Insert),
        two.map(Op::InsertAdd),
    ];
    with_path.into_iter().flatten().find(|op| op.name() == name)
}

/// Operations of several kinds: `atomic_add`, `barrier_group_sync`, `assert_abort`.
fn with_kind(name: &str) -> Option<Op> {
    fn find<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
        all.iter().find(|(n, _)| *n == name).map(|(_, t)| *t)
    }
    let (family, kind) = name.split_once('_')?;
    match family {
        "atomic" => Some(Op::Atomic(Atomic { kind: find(&AtomicKind::ALL, kind)?, path: Path::default() })),
        "assert" => find(&Trap::ALL, kind).map(Op::Assert),
        "wave" => find(&Wave::ALL, kind).map(Op::Wave),
        "sample" => find(&Sampling::ALL, kind).map(Op::Sample),
        "screen" => find(&Screen::ALL, kind).map(Op::Screen),
        "barrier" => {
            let (memory, sync) = kind.strip_suffix("_sync").map_or((kind, false), |memory| (memory, true));
            Some(Op::Barrier(Barrier { memory: find(&Memory::ALL, memory)?, sync }))
        }
        _ => None,
    }
}

/// `element`: reads or writes the part of `this` at the other arguments.
fn element(types: &Types, func: &Func) -> Option<(Op, Vec<Value>)> {
    let inputs = func.inputs();
    let (&this, indices) = inputs.split_first()?;
    if func.sig.params[0].dir == Dir::InOut {
        let (&value, indices) = indices.split_last()?;
        let operands = [&[this, value], indices].concat();
        return Some((Op::Insert(dynamic(indices.len())), operands));
    }
    let mut path = dynamic(indices.len());
    let op = match types.get(func.ty(this)) {
        Type::Buffer(elem, _) if types.element_value(elem).is_some() => {
            path.0.push(Step::Part(0));
            Op::Load(path)
        }
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => Op::Load(path),
        type_group!(unit | number | composite) => Op::Extract(path),
    };
    Some((op, inputs.to_vec()))
}

/// `stride`: the size of the elements of a buffer.
fn stride(types: &Types, func: &Func) -> Option<(Op, Vec<Value>)> {
    let &[buffer] = func.inputs() else {
        return None;
    };
    if let Type::Buffer(elem, _) = types.get(func.ty(buffer)) {
        let size = crate::sums::seen_layout(types, elem)?.size;
        Some((Op::Const(ir::Const::Int(size.into())), vec![]))
    } else {
        None
    }
}

/// The operation and its operands.
fn operation(types: &Types, func: &Func, name: &str) -> Option<(Op, Vec<Value>)> {
    match name {
        "element" => return element(types, func),
        "stride" => return stride(types, func),
        "present" => return Some((Op::Assert(Trap::NoValue), func.inputs().to_vec())),
        _ => {}
    }
    let inputs = func.inputs();
    Some((named(name, inputs.len())?, inputs.to_vec()))
}

/// Writes the body of an intrinsic: the inputs go into the operation, the result comes out.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: ir::FuncId, name: Symbol) {
    if let Some(bytes) = bytes::named(name.as_str()) {
        return bytes::define(lowerer, id, bytes);
    }
    if let Some(flat) = flat::named(name.as_str()) {
        return flat::define(lowerer, id, flat);
    }
    if let Some(number) = thread::Number::named(name.as_str()) {
        return thread::define(lowerer, id, number);
    }
    let mut func = lowerer.module.funcs[id].clone();
    let (span, text) = (func.span, func.name);
    let outputs: Vec<ir::Ty> = func.sig.outputs().map(|o| o.ty).collect();
    if name == "reinterpret" {
        return define_reinterpret(lowerer, id, func);
    }
    let found = operation(&lowerer.module.types, &func, name.as_str());
    let Some((op, operands)) = found.filter(|(op, _)| fits(op, &func.sig)) else {
        let message =
            format!("`{text}` names the operation `{name}`, which does not exist or does not fit it");
        return lowerer.internal(span, message);
    };
    if let Some(message) = refused(&lowerer.module.types, &func, &op) {
        return lowerer.error(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
    }
    let mut b = Builder::new(&mut lowerer.module.types, &mut func);
    // A trap in the operation is reported at the call.
    b.span = Span::none();
    let results = match operands[..] {
        [only] if changes_nothing(&op, b.ty(only), &outputs) => vec![only],
        _ if is_texel_operation(&op) => emit_with_scalar_texels(&mut b, op, operands, &outputs),
        _ => {
            let inst = b.emit(op, &operands, &outputs);
            b.func.insts[inst].results.to_vec()
        }
    };
    b.emit(Op::Return, &results, &[]);
    lowerer.module.funcs[id] = func;
}

/// Whether an operation takes or gives a texel.
fn is_texel_operation(op: &Op) -> bool {
    matches!(op, Op::Sample(_) | Op::Texel | Op::StoreTexel)
}

/// Emits an operation on texels. In the IR a texel with one component is a scalar; `Texture2D<float1>` has vectors.
fn emit_with_scalar_texels(
    b: &mut Builder<'_>,
    op: Op,
    mut operands: Vec<Value>,
    outputs: &[ir::Ty],
) -> Vec<Value> {
    let scalar = |b: &mut Builder<'_>, ty: ir::Ty| {
        if let Type::Vector(scalar, 1) = b.types.get(ty) { Some(b.types.scalar(scalar)) } else { None }
    };
    if let (Op::StoreTexel, Some(texel)) = (&op, operands.last_mut())
        && let Some(to) = scalar(b, b.ty(*texel))
    {
        *texel = b.emit1(Op::Extract(Path::part(0)), &[*texel], to);
    }
    let given: Vec<ir::Ty> = outputs.iter().map(|ty| scalar(b, *ty).unwrap_or(*ty)).collect();
    let inst = b.emit(op, &operands, &given);
    let results = b.func.insts[inst].results.to_vec();
    let declared = |(value, ty)| if b.ty(value) == ty { value } else { b.emit1(Op::Pack, &[value], ty) };
    results.into_iter().zip(outputs.iter().copied()).map(declared).collect()
}

/// Why an operation does not exist on these types: an atomic operation on what is no number, a texture that cannot be sampled so.
fn refused(types: &Types, func: &Func, op: &Op) -> Option<String> {
    let output = func.sig.outputs().next();
    if let (Op::Atomic(_), Some(output)) = (op, output)
        && !matches!(types.get(output.ty), Type::Scalar(scalar) if scalar != Scalar::Bool)
    {
        return Some(format!("`{}` is not supported: atomic operations change one number", func.name));
    }
    let (Op::Sample(how), Type::Opaque(Opaque::Texture(texture))) =
        (op, types.get(func.ty(*func.inputs().first()?)))
    else {
        return None;
    };
    match how {
        _ if !texture.scalar.is_float() => {
            Some(format!("`{}` on a texture of integers is not supported", func.name))
        }
        Sampling::Gather(_) if texture.scalar != Scalar::F32 => {
            Some(format!("`{}` on a texture of `half` is not supported yet", func.name))
        }
        Sampling::Gather(lane) if *lane >= texture.lanes => {
            Some(format!("`{}` on a texture without that component is not supported", func.name))
        }
        Sampling::Implicit
        | Sampling::Bias
        | Sampling::Level
        | Sampling::Gradient
        | Sampling::Compare
        | Sampling::CompareZero
        | Sampling::Gather(_) => None,
    }
}

/// Writes the body of `reinterpret`, whose type of result says what it does.
fn define_reinterpret(lowerer: &mut Lowerer<'_>, id: ir::FuncId, mut func: Func) {
    let (span, text) = (func.span, func.name);
    let to = func.sig.outputs().next().map(|o| o.ty);
    let mut b = Builder::new(&mut lowerer.module.types, &mut func);
    b.span = Span::none();
    let input = b.func.inputs().first().copied();
    let result = input.zip(to).and_then(|(value, to)| reinterpret(&mut b, value, to));
    let Some(result) = result else {
        let message = format!("`{text}` on a type that is empty or too large is not supported yet");
        return lowerer.error(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
    };
    b.emit(Op::Return, &[result], &[]);
    lowerer.module.funcs[id] = func;
}

/// Lets the operation take the place of calls where the call itself says nothing: a derivative that follows from the
/// operation, or no derivative at all. An operation on floats that is not differentiable stays a call, so that
/// autodiff can refuse it by name.
pub(crate) fn inline(func: &mut Func) {
    let DiffInfo { differentiable, constant, .. } = func.diff;
    let by_hand = func.diff.links().next().is_some() || constant;
    let carries = func.sig.inputs().any(|p| p.diff) && func.sig.outputs().any(|o| o.diff);
    if !by_hand && (differentiable.is_some() || !carries) && func.inline == Inline::Auto {
        func.inline = Inline::Early;
    }
}

/// Whether the signature has the form of the operation, as far as that can be seen without its types; the
/// verifier looks at those.
fn fits(op: &Op, sig: &ir::Signature) -> bool {
    let gives = usize::from(!matches!(
        op,
        Op::Store(_) | Op::StoreTexel | Op::Barrier(_) | Op::Assert(_) | Op::Discard
    ));
    sig.outputs().count() == gives && sig.params.iter().all(|p| p.dir != Dir::Out)
}

/// Whether a generic conversion or splat was instantiated for a type and itself.
fn changes_nothing(op: &Op, from: ir::Ty, to: &[ir::Ty]) -> bool {
    matches!(op, Op::Convert | Op::Splat | Op::Bitcast) && *to == [from]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_ir::Math;

    #[test]
    fn an_operation_is_found_by_its_name_in_the_table() {
        assert_eq!(named("sqrt", 1), Some(Op::Math(Math::Sqrt)));
        assert_eq!(named("sqrt", 2), None);
        assert_eq!(named("load", 2), Some(Op::Load(Path::index())));
        assert_eq!(named("store", 3), Some(Op::Store(Path::index())));
        assert_eq!(named("length", 1), Some(Op::Length));
        assert_eq!(named("no_such_operation", 1), None);
    }
}
