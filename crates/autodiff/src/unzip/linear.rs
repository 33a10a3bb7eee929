//! Writes the linear half of a function.

use super::primal::{Primal, counter_type, place};
use super::{LinearFunc, Whole, param, sources};
use crate::checkpoint::nest::init_of;
use crate::checkpoint::{Field, Leaving, Residual, Source};
use crate::kind::{Kind, kind};
use crate::steep::steep;
use cotangent_base::{EntitySet, Map, Scalar, Symbol};
use cotangent_ir::{
    Builder, Const, DiffCall, Dir, Func, Inst, InstData, LinCall, LoopInfo, Math, Mode, Module, Op, Param,
    Region, Signature, Ty, Type, Value,
};

/// The linear half of a function, under the name `<name>.linear`.
pub fn half(module: &mut Module, name: Symbol, whole: Whole<'_>, context: Option<Ty>) -> LinearFunc {
    let source = &whole.linearized.func;
    let sig = signature(module, whole, context);
    let is_steep = steep(module, source, &whole.linearized.lin);
    let mut func = Func::new(Symbol::new(&format!("{name}.linear")), sig, source.span);
    func.origin = source.origin;
    func.diff.differentiable = Some(Mode::Backward);
    let mut b = Builder::new(&mut module.types, &mut func);
    let mut linear = Linear {
        whole,
        primal: Primal::new(whole),
        context: None,
        counters: Map::default(),
        trips: Map::default(),
        last: Map::default(),
        flags: Map::default(),
        lin: EntitySet::new(),
        is_steep,
        steep: EntitySet::new(),
        choices: EntitySet::new(),
        sources: EntitySet::new(),
    };
    linear.inputs(&b, context.is_some());
    linear.region(&mut b, source.body);
    let outputs = linear.exit_values(source.body);
    b.emit(Op::Return, &outputs, &[]);
    let Linear { lin, steep, choices, sources: calls, .. } = linear;
    let sources = sources(&func, |inst| calls.contains(inst));
    LinearFunc { name, func, lin, steep, choices, sources }
}

/// The context, the inputs needed, a tangent for each active input; gives a tangent for each active output.
fn signature(module: &mut Module, whole: Whole<'_>, context: Option<Ty>) -> Signature {
    let linearized = whole.linearized;
    let count = linearized.inputs.len();
    let (primal, tangents) = linearized.func.inputs().split_at(count);
    let mut params: Vec<Param> =
        context.into_iter().map(|ty| param(module, "context", ty, Dir::In)).collect();
    let named = |v: &Value, prefix: &str| {
        let name = linearized.func.values[*v].name.map_or("", Symbol::as_str);
        (format!("{prefix}{name}"), linearized.func.ty(*v))
    };
    let needed = primal.iter().zip(&whole.plan.needed).filter(|(_, needed)| **needed);
    let mut all: Vec<(String, Ty, Dir)> = Vec::new();
    all.extend(needed.map(|(v, _)| named(v, "")).map(|(n, t)| (n, t, Dir::In)));
    all.extend(tangents.iter().map(|v| named(v, "")).map(|(n, t)| (n, t, Dir::In)));
    let outputs = &linearized.func.exit(linearized.func.body).operands;
    let linear = outputs.iter().filter(|v| linearized.lin.contains(**v));
    all.extend(linear.enumerate().map(|(i, v)| (format!("out{i}_t"), linearized.func.ty(*v), Dir::Out)));
    params.extend(all.into_iter().map(|(name, ty, dir)| param(module, &name, ty, dir)));
    Signature { params, ret: None }
}

struct Linear<'a> {
    whole: Whole<'a>,
    /// Copies primal instructions into prologues; knows all names.
    primal: Primal<'a>,
    context: Option<Value>,
    /// The counters of the loops we are in.
    counters: Map<Inst, Value>,
    /// How many iterations each `while` ran.
    trips: Map<Inst, Value>,
    /// The number of the last iteration of each `while` that a stored flag ends.
    last: Map<Inst, Value>,
    /// The fields of the context that hold such flags.
    flags: Map<u32, Value>,
    /// The linear values of the new function.
    lin: EntitySet<Value>,
    /// What is steep in the original.
    is_steep: EntitySet<Value>,
    /// What is steep in the new function.
    steep: EntitySet<Value>,
    /// What the original chooses.
    choices: EntitySet<Value>,
    /// The calls of the new function that are sources.
    sources: EntitySet<Inst>,
}

impl<'a> Linear<'a> {
    fn source(&self) -> &'a Func {
        &self.whole.linearized.func
    }

    fn is_linear(&self, value: Value) -> bool {
        self.whole.linearized.lin.contains(value)
    }

    fn get(&self, value: Value) -> Value {
        self.primal.copy.get(value)
    }

    fn rename(&mut self, old: Value, new: Value) {
        self.primal.copy.rename(old, new);
    }

    /// `new` is the linear value `old`.
    fn rename_linear(&mut self, b: &mut Builder<'_>, old: Value, new: Value) {
        b.func.values[new].name = self.source().values[old].name;
        self.rename(old, new);
        self.lin.insert(new);
    }

    fn inputs(&mut self, b: &Builder<'_>, context: bool) {
        let (primal, tangents) = self.source().inputs().split_at(self.whole.linearized.inputs.len());
        let mut new = b.func.inputs().iter().copied();
        self.context = if context { new.next() } else { None };
        for (&old, _) in primal.iter().zip(&self.whole.plan.needed).filter(|(_, needed)| **needed) {
            self.primal.copy.rename(old, new.next().expect("an input for each that is needed"));
        }
        for (&old, new) in tangents.iter().zip(new) {
            self.rename(old, new);
            self.lin.insert(new);
        }
    }

    /// Makes what is needed of the arguments of a loop's body.
    fn arguments(&mut self, b: &mut Builder<'_>, inst: Inst, body: Region) {
        for &arg in &self.source().regions[body].args {
            match self.whole.plan.sources.get(&Residual::Value(arg)) {
                Some(Source::Kept(number)) => {
                    let value = self.fetch(b, *number);
                    self.rename(arg, value);
                }
                Some(Source::Repeated) => self.induction(b, inst, arg),
                Some(Source::Input(_)) | None => {}
            }
        }
    }

    /// The prologue and the linear instructions of a region, without its exit.
    fn region(&mut self, b: &mut Builder<'_>, region: Region) {
        self.prologue(b, region);
        for &inst in &self.source().regions[region].insts {
            let data = &self.source().insts[inst];
            if data.results.iter().any(|v| self.is_linear(*v)) || self.whole.sources.contains(inst) {
                let outer = std::mem::replace(&mut b.span, data.span);
                self.linear_inst(b, inst, data);
                b.span = outer;
            }
        }
    }

    /// The linear operands of a region's exit.
    fn exit_values(&self, region: Region) -> Vec<Value> {
        let operands = &self.source().exit(region).operands;
        operands.iter().filter(|v| self.is_linear(**v)).map(|v| self.get(*v)).collect()
    }

    /// Makes what is needed of the values that the mirrored region makes, in its order.
    fn prologue(&mut self, b: &mut Builder<'_>, region: Region) {
        for &inst in &self.source().regions[region].insts {
            self.prologue_inst(b, inst);
        }
    }

    fn prologue_inst(&mut self, b: &mut Builder<'_>, inst: Inst) {
        let source = |r: Residual| self.whole.plan.sources.get(&r).copied();
        let data = &self.source().insts[inst];
        let results: Vec<(Value, Option<Source>)> =
            data.results.iter().map(|v| (*v, source(Residual::Value(*v)))).collect();
        let (trips, context) = (source(Residual::Trips(inst)), source(Residual::Context(inst)));
        let outer = std::mem::replace(&mut b.span, data.span);
        let repeated = |s: Option<Source>| s == Some(Source::Repeated);
        if repeated(context) || results.iter().any(|(_, s)| repeated(*s)) {
            self.primal.inst(b, inst);
        }
        for (old, source) in results {
            if let Some(Source::Kept(number)) = source {
                let value = self.fetch(b, number);
                b.func.values[value].name = self.source().values[old].name;
                self.rename(old, value);
            }
        }
        if let Some(Source::Kept(number)) = context {
            let value = self.fetch(b, number);
            self.primal.contexts.insert(inst, value);
        }
        if let Some(Source::Kept(number)) = trips {
            let trips = self.fetch(b, number);
            self.trips.insert(inst, trips);
            self.flags_of(b, inst, trips);
        }
        b.span = outer;
    }

    /// Reads the flags that end a loop with this iteration count. They do not change between iterations, so the code is before the
    /// loop.
    fn flags_of(&mut self, b: &mut Builder<'_>, looped: Inst, trips: Value) {
        let fields = (0..).zip(&self.whole.plan.fields);
        let ends = |field: &Field| field.leaving.is_some_and(|leaving| leaving.looped == looped);
        let flags: Vec<u32> = fields.filter(|(_, field)| ends(field)).map(|(number, _)| number).collect();
        if flags.is_empty() {
            return;
        }
        let one = b.int(1);
        self.last.insert(looped, b.math(Math::Sub, &[trips, one]));
        for number in flags {
            let flag = self.read(b, number);
            self.flags.insert(number, flag);
        }
    }

    /// A field of the context, of this iteration of the loops we are in.
    fn fetch(&mut self, b: &mut Builder<'_>, number: u32) -> Value {
        let field = &self.whole.plan.fields[number as usize];
        let Some(Leaving { looped, with }) = field.leaving else {
            return self.read(b, number);
        };
        // The stored value is that of the last iteration. In all others the flag did not end the loop.
        let flag = self.flags[&number];
        let (compare, join) = if with { (Math::Eq, Math::And) } else { (Math::Ne, Math::Or) };
        let ty = b.ty(flag);
        let compared = b.emit1(Op::Math(compare), &[self.counters[&looped], self.last[&looped]], ty);
        b.emit1(Op::Math(join), &[flag, compared], ty)
    }

    /// Reads a field of the context.
    fn read(&mut self, b: &mut Builder<'_>, number: u32) -> Value {
        let (path, indices) = place(&self.whole.plan.fields[number as usize], number, &self.counters);
        let context = self.context.expect("a half that stores something has a context");
        b.extract(context, path, &indices)
    }

    /// An argument of the loop `inst` that is known in every iteration: `init + step * iteration`.
    fn induction(&mut self, b: &mut Builder<'_>, inst: Inst, arg: Value) {
        let Some(&step) = self.whole.induction.get(&arg) else {
            return;
        };
        let source = self.source();
        let init = init_of(source, inst, arg).expect("a slot has an initial value");
        let mut round = self.round(b, inst);
        let ty = source.ty(arg);
        if b.types.get(ty) != Type::Scalar(Scalar::I32) {
            round = b.emit1(Op::Convert, &[round], ty);
        }
        let step = b.constant(Const::Int(step), ty);
        let way = b.mul(step, round);
        let value = b.add(self.get(init), way);
        b.func.values[value].name = source.values[arg].name;
        self.rename(arg, value);
    }

    /// The number of the iteration of a loop we are in: its counter, or, if it counts down, the rest.
    fn round(&mut self, b: &mut Builder<'_>, inst: Inst) -> Value {
        let counter = self.counters[&inst];
        let data = &self.source().insts[inst];
        if !matches!(&data.op, Op::For(info) if info.reversed) {
            return counter;
        }
        let one = b.int(1);
        let last = b.math(Math::Sub, &[self.get(data.operands[0]), one]);
        b.math(Math::Sub, &[last, counter])
    }

    fn linear_inst(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData) {
        match kind(&data.op) {
            Kind::Branches => self.branches(b, data),
            Kind::Counted(info) => {
                let n = self.get(data.operands[0]);
                self.counted(b, inst, data, n, info);
            }
            Kind::Conditional(info) => {
                let n = self.trips[&inst];
                self.counted(b, inst, data, n, info);
            }
            Kind::DiffCall(call) => self.call(b, inst, data, call),
            Kind::Plain | Kind::Memory | Kind::Call(_) | Kind::LinCall(_) | Kind::Exit => {
                let new = self.primal.copy.inst(self.source(), inst, b);
                for (&old, &new) in data.results.iter().zip(&b.func.insts[new].results) {
                    self.lin.insert(new);
                    self.steep.extend(self.is_steep.contains(old).then_some(new));
                    self.choices.extend(self.whole.linearized.choices.contains(old).then_some(new));
                }
            }
        }
    }

    fn linear_results(&self, data: &InstData) -> Vec<Value> {
        data.results.iter().copied().filter(|v| self.is_linear(*v)).collect()
    }

    fn types(&self, values: &[Value]) -> Vec<Ty> {
        values.iter().map(|v| self.source().ty(*v)).collect()
    }

    /// Results of `new` stand for the linear values `old`.
    fn rename_results(&mut self, b: &mut Builder<'_>, old: &[Value], new: Inst) {
        for (i, &old) in old.iter().enumerate() {
            let value = b.func.insts[new].results[i];
            self.rename_linear(b, old, value);
        }
    }

    fn branches(&mut self, b: &mut Builder<'_>, data: &InstData) {
        let results = self.linear_results(data);
        let branch = |linear: &mut Self, b: &mut Builder<'_>, region: Region| {
            b.region(&[], |b, _| {
                linear.region(b, region);
                let values = linear.slots(&linear.source().exit(region).operands, &data.results);
                b.yield_(&values);
            })
        };
        let regions: Vec<Region> = data.regions.iter().map(|r| branch(self, b, *r)).collect();
        let selector = self.get(data.operands[0]);
        let new = b.emit(data.op.clone(), &[selector], &self.types(&results));
        b.func.insts[new].regions.extend(regions);
        self.rename_results(b, &results, new);
    }

    /// The linear ones of `values`, which belong to `slots`.
    fn slots(&self, values: &[Value], slots: &[Value]) -> Vec<Value> {
        let linear = values.iter().zip(slots).filter(|(_, slot)| self.is_linear(**slot));
        linear.map(|(v, _)| self.get(*v)).collect()
    }

    /// A loop of either kind, as a counted one.
    fn counted(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData, n: Value, info: LoopInfo) {
        let counts = matches!(data.op, Op::For(_));
        let first = usize::from(counts);
        let results = self.linear_results(data);
        let body = *data.regions.last().expect("a loop has a body");
        let mut inits = vec![n];
        inits.extend(self.slots(&data.operands[first..], &data.results));
        let types: Vec<Ty> = std::iter::once(counter_type(b)).chain(self.types(&results)).collect();
        let region = b.region(&types, |b, args| {
            self.counters.insert(inst, args[0]);
            let old = &self.source().regions[body].args;
            if counts {
                self.rename(old[0], args[0]);
            }
            let linear = old[first..].iter().zip(&data.results).filter(|(_, slot)| self.is_linear(**slot));
            let old: Vec<Value> = linear.map(|(arg, _)| *arg).collect();
            for (old, new) in old.into_iter().zip(&args[1..]) {
                self.rename_linear(b, old, *new);
            }
            self.arguments(b, inst, body);
            self.region(b, body);
            let next = self.slots(&self.source().exit(body).operands, &data.results);
            b.yield_(&next);
        });
        let new = b.emit(Op::For(info), &inits, &types[1..]);
        b.func.insts[new].regions.push(region);
        self.counters.remove(&inst);
        self.rename_results(b, &results, new);
    }

    /// A call of the linear half, or, if the user wrote the backward derivative, an opaque one.
    fn call(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData, call: &DiffCall) {
        let callee = &self.whole.calls[&inst];
        let (inputs, tangents) = data.operands.split_at(callee.needed.len());
        let context = callee.context.map(|_| self.primal.contexts[&inst]);
        let needed =
            inputs.iter().zip(&callee.needed).filter(|(_, needed)| **needed).map(|(v, _)| self.get(*v));
        let mut operands: Vec<Value> = context.into_iter().chain(needed).collect();
        let primals = operands.len() as u32;
        operands.extend(tangents.iter().map(|v| self.get(*v)));
        let op = match callee.linear {
            Some(func) => Op::Call(func),
            None => Op::LinCall(LinCall { call: call.clone(), primals }),
        };
        let results = self.linear_results(data);
        let new = b.emit(op, &operands, &self.types(&results));
        self.sources.extend(callee.source.then_some(new));
        self.rename_results(b, &results, new);
    }
}
