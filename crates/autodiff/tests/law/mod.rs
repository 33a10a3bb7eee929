//! The laws that tie a function to its derivatives, checked by running them in binary64.
//!
//! For a function `f` with Jacobian `J` at random inputs, a random direction `v` and random seeds `u`:
//!
//! ```text
//! <u, J v>  from the forward derivative
//! <u, D v>  from the linear half, fed by the primal half
//! <J' u, v> from the backward derivative
//! (<u, f(x + hv)> - <u, f(x - hv)>) / 2h
//! ```
//!
//! are one number. The first three agree to rounding, the last to the error of the difference.

use crate::random::Random;
use crate::requests;
use cotangent_autodiff::Context;
use cotangent_autodiff::report::{Report, report};
use cotangent_base::Symbol;
use cotangent_interp::{Counters, Machine, Options, Val};
use cotangent_ir::{Dir, FuncId, Module, Prefer, Ty, Type, text, verify};

/// A random value of a type: floats between -1 and 1, small integers.
pub fn random_value(module: &Module, ty: Ty, random: &mut Random) -> Val {
    let many = |n: u64, ty: Ty, random: &mut Random| {
        Val::aggregate((0..n).map(|_| random_value(module, ty, random)))
    };
    match module.types.get(ty) {
        Type::Scalar(s) if s.is_float() => Val::float(random.float()),
        Type::Scalar(cotangent_base::Scalar::Bool) => Val::bool(random.once_in(2)),
        Type::Scalar(_) => Val::int(random.below(4) as i64),
        Type::Vector(s, n) => many(n.into(), scalar(module, s), random),
        Type::Matrix(s, rows, columns) => {
            let row = |random: &mut Random| many(columns.into(), scalar(module, s), random);
            Val::aggregate((0..rows).map(|_| row(random)))
        }
        Type::Array(elem, n) => many(n.into(), elem, random),
        Type::Struct(id) => {
            let fields = &module.types.struct_def(id).fields;
            Val::aggregate(fields.iter().map(|f| random_value(module, f.ty, random)))
        }
        other => panic!("no random value of {other:?}"),
    }
}

fn scalar(module: &Module, s: cotangent_base::Scalar) -> Ty {
    module.types.find(Type::Scalar(s)).expect("the type is there")
}

/// `x + h * v`, where `v` is of the differential of `x`'s type.
fn moved(module: &Module, ty: Ty, x: &Val, v: &Val, h: f64) -> Val {
    if let Type::Matrix(..) | Type::Vector(..) = module.types.get(ty) {
        return moved_number(x, v, h);
    }
    let part = |i: usize, ty: Ty| moved(module, ty, &x.parts()[i], &v.parts()[i], h);
    match module.types.get(ty) {
        Type::Scalar(_) => Val::float(float(x) + h * float(v)),
        Type::Array(elem, n) => Val::aggregate((0..n as usize).map(|i| part(i, elem))),
        Type::Struct(id) => {
            let row = module.diff.get(id).expect("the structure is differentiable");
            let fields = module.types.struct_def(id).fields.iter().zip(&row.fields).enumerate();
            Val::aggregate(fields.map(|(i, (field, place))| match place {
                Some(place) => moved(module, field.ty, &x.parts()[i], &v.parts()[*place as usize], h),
                None => x.parts()[i].clone(),
            }))
        }
        other => panic!("{other:?} has no derivative"),
    }
}

/// The same for a number of any shape.
fn moved_number(x: &Val, v: &Val, h: f64) -> Val {
    match x {
        Val::Scalar(_) => Val::float(float(x) + h * float(v)),
        _ => Val::aggregate(x.parts().iter().zip(v.parts()).map(|(x, v)| moved_number(x, v, h))),
    }
}

fn float(value: &Val) -> f64 {
    value.as_float().unwrap_or_else(|| panic!("{value:?} is no float"))
}

fn floats(value: &Val) -> Vec<f64> {
    match value {
        Val::Scalar(_) => value.as_float().into_iter().collect(),
        _ => value.parts().iter().flat_map(floats).collect(),
    }
}

/// The inner product of two values of one differential type.
fn inner(a: &Val, b: &Val) -> f64 {
    let (a, b) = (floats(a), floats(b));
    assert_eq!(a.len(), b.len(), "two values of one type");
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

/// A function with both its derivatives.
pub struct Trio {
    /// The module with all of them.
    pub module: Module,
    /// The function.
    pub f: FuncId,
    /// Its forward derivative.
    pub fwd: FuncId,
    /// Its backward derivative.
    pub bwd: FuncId,
    /// What that costs.
    pub report: Report,
}

impl Trio {
    /// Has the derivatives of the function `f` of a program written.
    pub fn parse(program: &str, prefer: Prefer) -> Self {
        let module = text::parse_module(program).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let f = module.func_named(Symbol::new("f")).expect("the program has a function `f`");
        Trio::of(module, f, prefer)
    }

    /// Has the derivatives of `f` written.
    pub fn of(mut module: Module, f: FuncId, prefer: Prefer) -> Self {
        let fwd = requests::forward(&mut module, f, "forward");
        let bwd = requests::backward(&mut module, f, "backward");
        module.prefer = prefer;
        let mut cx = Context::new(&mut module);
        for request in [fwd, bwd] {
            assert!(cx.fill(request).is_ok(), "{:?}", cx.diagnostics);
        }
        let report = report(&cx, bwd);
        verify(&module).unwrap_or_else(|e| panic!("{e}\n{}", text::print_module(&module)));
        Trio { module, f, fwd, bwd, report }
    }

    /// Runs a function in binary64.
    pub fn run(&self, func: FuncId, inputs: Vec<Val>) -> (Vec<Val>, Counters) {
        let mut machine = Machine::new(&self.module, Options { wide: true, ..Options::default() });
        let outputs = machine.call(func, inputs).unwrap_or_else(|stop| {
            panic!("{stop:?}\n{}", text::print_module(&self.module));
        });
        (outputs, machine.counters())
    }

    /// Checks the laws at a random point. `tolerance` is that of the finite difference.
    pub fn check(&self, random: &mut Random, tolerance: f64) {
        let sig = &self.module.funcs[self.f].sig;
        let mut random_of = |ty: Ty| random_value(&self.module, ty, random);
        let differential = |ty: Ty| {
            let mut types = self.module.types.clone();
            self.module.diff.differential(&mut types, ty).expect("it is differentiable")
        };
        let x: Vec<Val> = sig.inputs().map(|p| random_of(p.ty)).collect();
        let v: Vec<Option<Val>> =
            sig.inputs().map(|p| p.diff.then(|| random_of(differential(p.ty)))).collect();
        let u: Vec<Option<Val>> =
            sig.outputs().map(|o| o.diff.then(|| random_of(differential(o.ty)))).collect();

        let forward = self.forward(&x, &v, &u);
        let backward = self.backward(&x, &v, &u);
        if let Some(halves) = self.halves(&x, &v, &u) {
            let size = 1.0 + forward.abs();
            assert!((forward - halves).abs() <= 1e-10 * size, "forward {forward}, linear half {halves}");
        }
        let at = |h: f64| {
            let moved = |((p, x), v): ((&cotangent_ir::Param, &Val), &Option<Val>)| match v {
                Some(v) => moved(&self.module, p.ty, x, v, h),
                None => x.clone(),
            };
            let inputs = sig.inputs().zip(&x).zip(&v).map(moved).collect();
            let outputs = self.run(self.f, inputs).0;
            outputs.iter().zip(&u).filter_map(|(y, u)| u.as_ref().map(|u| inner(y, u))).sum::<f64>()
        };
        let h = 1e-5;
        let difference = (at(h) - at(-h)) / (2.0 * h);
        let size = 1.0 + forward.abs();
        assert!(
            (forward - backward).abs() <= 1e-10 * size,
            "forward {forward}, backward {backward}, difference {difference}"
        );
        assert!(
            (difference - backward).abs() <= tolerance * size,
            "difference {difference}, backward {backward}"
        );
    }

    /// `<u, J v>`; also checks that the forward derivative gives the values of the function.
    fn forward(&self, x: &[Val], v: &[Option<Val>], u: &[Option<Val>]) -> f64 {
        let paired = |(x, v): (&Val, &Option<Val>)| match v {
            Some(v) => Val::aggregate([x.clone(), v.clone()]),
            None => x.clone(),
        };
        let (outputs, _) = self.run(self.fwd, x.iter().zip(v).map(paired).collect());
        let plain = self.run(self.f, x.to_vec()).0;
        let mut sum = 0.0;
        for ((output, u), plain) in outputs.iter().zip(u).zip(&plain) {
            if let Some(u) = u {
                assert_eq!(&output.parts()[0], plain, "the forward derivative gives the values");
                sum += inner(&output.parts()[1], u);
            }
        }
        sum
    }

    /// `<u, D v>` from the two halves of the function, if it was taken apart; also checks that the primal half gives the
    /// values of the function, bit for bit.
    fn halves(&self, x: &[Val], v: &[Option<Val>], u: &[Option<Val>]) -> Option<f64> {
        let f = &self.module.funcs[self.f];
        let named = |suffix: &str| self.module.func_named(Symbol::new(&format!("{}.{suffix}", f.name)));
        let linear = named("linear")?;
        let mut context = None;
        if let Some(primal) = named("primal") {
            let mut outputs = self.run(primal, x.to_vec()).0;
            context = outputs.pop();
            assert_eq!(outputs, self.run(self.f, x.to_vec()).0, "the primal half gives the values");
        }
        let is_tangent = |name: &str| f.sig.inputs().all(|p| p.name != *name) && name.ends_with("_t");
        let of = |name: Symbol| match f.sig.inputs().position(|p| p.name == name) {
            Some(input) => Some(x[input].clone()),
            None => context.clone().filter(|_| name == "context"),
        };
        let params: Vec<Symbol> = self.module.funcs[linear].sig.inputs().map(|p| p.name).collect();
        let primal = params.iter().filter(|name| !is_tangent(name.as_str())).map(|name| of(*name));
        let tangents = v.iter().flatten().cloned().map(Some);
        let inputs: Option<Vec<Val>> = primal.chain(tangents).collect();
        let outputs = self.run(linear, inputs?).0;
        Some(outputs.iter().zip(u.iter().flatten()).map(|(y, u)| inner(y, u)).sum())
    }

    /// `<J' u, v>`; also checks that values in pairs come back as they were.
    fn backward(&self, x: &[Val], v: &[Option<Val>], u: &[Option<Val>]) -> f64 {
        let sig = &self.module.funcs[self.f].sig;
        let mut inputs = Vec::new();
        let (mut input, mut output) = (0, usize::from(sig.ret.is_some()));
        let mut directions = Vec::new();
        for param in &sig.params {
            match (param.dir, param.diff) {
                (Dir::In | Dir::InOut, true) => {
                    // What an `in` pair holds on entry must not matter.
                    let seed = if param.dir == Dir::InOut { u[output].clone() } else { v[input].clone() };
                    inputs.push(Val::aggregate([x[input].clone(), seed.expect("it carries a derivative")]));
                    directions.push((x[input].clone(), v[input].clone().expect("it carries a derivative")));
                }
                (Dir::Out, true) => inputs.push(u[output].clone().expect("it carries a derivative")),
                (Dir::In | Dir::InOut, false) => inputs.push(x[input].clone()),
                (Dir::Out, false) => {}
            }
            input += usize::from(param.dir != Dir::Out);
            output += usize::from(param.dir != Dir::In);
        }
        if sig.ret.is_some() {
            inputs.extend(u[0].clone());
        }
        let (outputs, _) = self.run(self.bwd, inputs);
        assert_eq!(outputs.len(), directions.len(), "a pair comes back for every direction");
        let mut sum = 0.0;
        for (pair, (x, v)) in outputs.iter().zip(&directions) {
            assert_eq!(&pair.parts()[0], x, "the backward derivative leaves values alone");
            sum += inner(&pair.parts()[1], v);
        }
        sum
    }
}
