//! Lowers accesses to gradients: buffers of floats that hold derivatives of any type, one float after another.
//!
//! `flat_load`, `flat_store` and `flat_add` of a type access the floats of one element ([`flat`](mod@flat)). The number of the
//! element counts values of that type:
//!
//! ```text
//! flat_add(gradient, i, d: f32x2)     atomic_add gradient[2 i], d.x   atomic_add gradient[2 i + 1], d.y
//! ```
//!
//! An element whose floats have numbers beyond 32 bits is beyond every buffer, and traps.

use crate::bytes::has_sum;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::flat::{self, Lie, Order};
use cotangent_ir::{Builder, Const, FuncId, Math, Op, Ty, Value};

/// What to do with the floats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flat {
    Load,
    Store,
    Add,
}

/// The operation of that name.
pub(crate) fn named(name: &str) -> Option<Flat> {
    match name {
        "flat_load" => Some(Flat::Load),
        "flat_store" => Some(Flat::Store),
        "flat_add" => Some(Flat::Add),
        _ => None,
    }
}

/// Writes the body of `D load(gradient, element)` or `void store(gradient, element, d)`.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: FuncId, what: Flat) {
    let mut func = lowerer.module.funcs[id].clone();
    let inputs = func.inputs().to_vec();
    let (ty, value) = match (what, &inputs[..], func.sig.ret) {
        (Flat::Load, [_, _], Some(ret)) => (ret.ty, None),
        (Flat::Store | Flat::Add, &[_, _, value], None) => (func.ty(value), Some(value)),
        _ => return lowerer.internal(func.span, "a function of gradients has another form".to_string()),
    };
    if has_sum(&lowerer.module.types, ty) {
        let span = lowerer.mentions.get(&id).copied().unwrap_or(func.span);
        let message = "the gradient of a value of interface type is not supported yet";
        let diagnostic = Diagnostic::new(crate::codes::UNSUPPORTED_CONSTRUCT, span, message);
        return lowerer.diagnostics.push(diagnostic.help("use a buffer of one conforming type"));
    }
    let order = Order::new(lowerer.options.matrices);
    let lie = Lie::new(&order);
    let mut b = Builder::new(&mut lowerer.module.types, &mut func);
    // What goes wrong in an access went wrong where it was called.
    b.span = Span::none();
    let at = first_float(&mut b, inputs[1], ty);
    let results = match value {
        None => vec![flat::load(&mut b, lie, (inputs[0], at), ty)],
        Some(value) => {
            if what == Flat::Add {
                flat::add(&mut b, lie, (inputs[0], at), value, true);
            } else {
                flat::store(&mut b, lie, (inputs[0], at), value);
            }
            vec![]
        }
    };
    b.emit(Op::Return, &results, &[]);
    lowerer.module.funcs[id] = func;
}

/// The number of the first float of an element.
fn first_float(b: &mut Builder<'_>, element: Value, ty: Ty) -> Value {
    let floats = flat::floats(b.types, ty).max(1);
    if floats == 1 {
        return element;
    }
    let unsigned = b.ty(element);
    let last = (u64::from(u32::MAX) + 1 - u64::from(floats)) / u64::from(floats);
    let last = b.constant(Const::Int(last as i64), unsigned);
    let element = b.emit1(Op::Math(Math::Min), &[element, last], unsigned);
    let floats = b.constant(Const::Int(floats.into()), unsigned);
    b.mul(element, floats)
}
