//! Printed derivatives of the programs in `tests/grad` compile again and compute the same numbers.
//!
//! At each point of a law, with random derivatives: the derivative and what was compiled from its text give the same bits (a
//! zero may lose its sign). Interface values are structures in the text, and so they are compared as such.

use cotangent::gradient::{Evaluator, Functions, Named};
use cotangent::interp::{Machine, Options, Val};
use cotangent::ir::{Const, FuncId, Mode, Module, Ty, Type};
use cotangent::{Disk, Request, Roots, Session, Symbol, Texts};
use std::path::Path;

mod support;

fn main() {
    support::each_law(check)
}

/// A macro and its value.
type Define = (String, String);

/// The macros, the function and the point of a law: `//grad: -D N=2 f(x=3) = 18`.
fn parse(line: &str) -> Option<(Vec<Define>, &str, &str)> {
    let mut rest = line.strip_prefix("//grad:").or_else(|| line.strip_prefix("//kink:"))?.trim();
    let mut defines = vec![];
    while let Some(more) = rest.strip_prefix("-D ") {
        let (define, tail) = more.split_once(' ')?;
        let (name, value) = define.split_once('=')?;
        defines.push((name.to_string(), value.to_string()));
        rest = tail.trim();
    }
    let (function, rest) = rest.split_once('(')?;
    Some((defines, function, rest.rsplit_once(')')?.0))
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    for line in text.lines() {
        let Some((defines, function, point)) = parse(line) else { continue };
        for mode in [Mode::Forward, Mode::Backward] {
            let mut request = Request::new(path.display().to_string());
            request.defines.clone_from(&defines);
            hold(&request, function, point, mode).map_err(|e| format!("{line}\n{mode:?}: {e}"))?;
        }
    }
    Ok(())
}

fn hold(request: &Request, function: &str, point: &str, mode: Mode) -> Result<(), String> {
    let program = Session::new(Disk::default()).program(request);
    let function = Symbol::new(function);
    let roots = Roots::Derivatives { func: function, modes: vec![mode] };
    let lowered = program.compile(roots).accept().map_err(|rejected| rejected.complaints)?;
    let text = program.derivative(function, mode).accept().map_err(|rejected| rejected.complaints)?;
    let again =
        Session::new(Texts::new([("again.slang", text.as_str())])).program(&Request::new("again.slang"));
    let suffix = if mode == Mode::Forward { "_fwd_diff" } else { "_bwd_diff" };
    let named = |line: &str| {
        let (name, _) = line.split_once('(')?;
        let name = name.rsplit(' ').next()?;
        (!line.starts_with([' ', '/']) && name.contains(suffix)).then(|| Symbol::new(name))
    };
    let name = text.lines().rev().find_map(named).ok_or_else(|| format!("no derivative in\n{text}"))?;
    let compiled = again.compile(Roots::Function(name)).accept();
    let compiled = compiled.map_err(|rejected| format!("{}\n{text}", rejected.complaints))?;
    let functions = Functions::of(&lowered, &[mode]);
    let mut evaluator = Evaluator::new(lowered.module.clone(), functions, Options::default());
    evaluator.set_point(point).map_err(|e| e.to_string())?;
    let inputs = inputs(&lowered.module, lowered.roots[1], &evaluator.inputs);
    let plain: Vec<Val> = inputs.iter().map(|(ty, val)| plain(&lowered.module, *ty, val)).collect();
    let given = inputs.into_iter().map(|(_, val)| val).collect();
    let expected = call(&lowered.module, lowered.roots[1], given)?;
    let outputs: Vec<Ty> = lowered.module.funcs[lowered.roots[1]].sig.outputs().map(|o| o.ty).collect();
    let found = call(&compiled.module, compiled.roots[0], plain)?;
    let expected: Vec<Val> =
        outputs.iter().zip(&expected).map(|(ty, val)| self::plain(&lowered.module, *ty, val)).collect();
    if expected.len() == found.len() && expected.iter().zip(&found).all(|(a, b)| same(a, b)) {
        Ok(())
    } else {
        Err(format!("expected {expected:?}\nfound {found:?}\n{text}"))
    }
}

fn call(module: &Module, func: FuncId, inputs: Vec<Val>) -> Result<Vec<Val>, String> {
    Machine::new(module, Options::default()).call(func, inputs).map_err(|stopped| format!("{stopped:?}"))
}

/// What a derivative is given: the values of the point, and other numbers for derivatives.
fn inputs(module: &Module, derivative: FuncId, point: &[Named]) -> Vec<(Ty, Val)> {
    let mut number = 0;
    let params = module.funcs[derivative].sig.inputs();
    let values = params.map(|param| {
        let named = point.iter().find(|named| named.name == param.name.as_str());
        let value = match (named, module.types.get(param.ty)) {
            (Some(named), _) if named.ty == param.ty => named.value.clone(),
            (Some(named), Type::Struct(id)) => {
                let fields = &module.types.struct_def(id).fields;
                Val::aggregate([named.value.clone(), numbers(module, fields[1].ty, &mut number)])
            }
            _ => numbers(module, param.ty, &mut number),
        };
        (param.ty, value)
    });
    values.collect()
}

/// A value with different numbers everywhere.
fn numbers(module: &Module, ty: Ty, number: &mut u32) -> Val {
    let types = &module.types;
    let mut many = |count: u32| {
        let parts = (0..count).map(|part| types.part(ty, Some(part)).expect("it has that many parts"));
        Val::aggregate(parts.map(|part| numbers(module, part, number)).collect::<Vec<_>>())
    };
    match types.get(ty) {
        Type::Scalar(s) if s.is_float() => {
            *number += 1;
            Val::float(f64::from(*number % 7) * 0.25 - 0.625)
        }
        Type::Vector(_, n) => many(n.into()),
        Type::Matrix(_, rows, _) => many(rows.into()),
        Type::Array(_, n) => many(n),
        Type::Struct(id) => many(types.struct_def(id).fields.len() as u32),
        _ => Val::zero(types, ty),
    }
}

/// A value with interface values as structures: the number, and a field for each type.
fn plain(module: &Module, ty: Ty, value: &Val) -> Val {
    let types = &module.types;
    let each = |element: Ty| Val::aggregate(value.parts().iter().map(|part| plain(module, element, part)));
    match types.get(ty) {
        Type::Array(element, _) => each(element),
        Type::Struct(id) => {
            let fields = types.struct_def(id).fields.iter().zip(value.parts().iter());
            Val::aggregate(fields.map(|(field, part)| plain(module, field.ty, part)))
        }
        Type::Sum(id) => {
            let Val::Scalar(Const::Int(member)) = value.parts()[0] else { return value.clone() };
            let fields = types.struct_def(id).fields.iter().enumerate().map(|(number, field)| {
                let held = match number as i64 == member {
                    true => value.parts()[1].clone(),
                    false => Val::zero(types, field.ty),
                };
                plain(module, field.ty, &held)
            });
            Val::aggregate([Val::int(member)].into_iter().chain(fields))
        }
        _ => value.clone(),
    }
}

/// Whether two values are the same, but for the sign of a zero and what a NaN says.
fn same(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Scalar(Const::Float(x)), Val::Scalar(Const::Float(y))) => {
            let (x, y) = (f64::from_bits(*x), f64::from_bits(*y));
            x == y || x.is_nan() && y.is_nan()
        }
        (Val::Aggregate(a), Val::Aggregate(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}
