//! Writes the primal half of a function, and the primal half of single instructions for prologues.

use super::{Whole, param};
use crate::checkpoint::nest::{Nest, constant_count};
use crate::checkpoint::{Field, Residual, Source};
use crate::kind::{Kind, kind};
use cotangent_base::{EntitySet, Map, Scalar, Symbol};
use cotangent_ir::{
    Builder, Copier, Dir, Func, Inst, InstData, LoopInfo, Math, Mode, Module, Op, Path, Region, Step, Trap,
    Ty, Value,
};

/// The primal half of a function: the function itself, with a context as one more output.
pub fn half(module: &mut Module, name: Symbol, whole: Whole<'_>, context: Option<Ty>) -> Func {
    let source = &whole.linearized.func;
    let mut sig = whole.sig.clone();
    sig.params.extend(context.map(|ty| param(module, "context", ty, Dir::Out)));
    let mut func = Func::new(Symbol::new(&format!("{name}.primal")), sig, source.span);
    func.origin = Some(source.plain_name());
    func.diff.differentiable = Some(Mode::Backward);
    let mut b = Builder::new(&mut module.types, &mut func);
    let mut primal = Primal::new(whole);
    for (index, _) in whole.linearized.inputs.iter().enumerate() {
        primal.copy.rename(source.inputs()[index], b.func.inputs()[index]);
    }
    if let Some(ty) = context {
        primal.keep_in(&mut b, ty);
    }
    primal.insts(&mut b, source.body);
    let mut outputs = primal.exit_values(source.body);
    outputs.extend(primal.context());
    b.emit(Op::Return, &outputs, &[]);
    func
}

/// Copies the primal part of instructions. With a context it also stores what the plan says.
pub struct Primal<'a> {
    whole: Whole<'a>,
    /// What values of the original are called here.
    pub copy: Copier,
    /// What calls of this half gave besides their outputs.
    pub contexts: Map<Inst, Value>,
    filling: Option<Filling>,
}

/// The context while it is filled.
struct Filling {
    /// The context so far.
    now: Value,
    ty: Ty,
    /// The counters of the loops we are in.
    counters: Map<Inst, Value>,
    /// The instructions that contain a stored value.
    carriers: EntitySet<Inst>,
}

impl<'a> Primal<'a> {
    /// Copies without storing.
    pub fn new(whole: Whole<'a>) -> Self {
        Primal { whole, copy: Copier::new(), contexts: Map::default(), filling: None }
    }

    /// From now on stores what the plan says in a context of type `ty`.
    fn keep_in(&mut self, b: &mut Builder<'_>, ty: Ty) {
        let func = &self.whole.linearized.func;
        let nest = Nest::of(func);
        let mut carriers = EntitySet::new();
        for field in &self.whole.plan.fields {
            let region = match field.residual {
                Residual::Value(value) => nest.region_of_value(func, value),
                Residual::Trips(inst) | Residual::Context(inst) => nest.region_of(inst),
            };
            carriers.extend(nest.around(region));
        }
        let now = b.undef(ty);
        self.filling = Some(Filling { now, ty, counters: Map::default(), carriers });
    }

    fn context(&self) -> Option<Value> {
        self.filling.as_ref().map(|t| t.now)
    }

    fn source(&self) -> &'a Func {
        &self.whole.linearized.func
    }

    fn is_primal(&self, value: Value) -> bool {
        !self.whole.linearized.lin.contains(value)
    }

    fn primal_results(&self, data: &InstData) -> Vec<Value> {
        data.results.iter().copied().filter(|v| self.is_primal(*v)).collect()
    }

    /// The primal ones of `values`, which belong to `slots`, under their names here.
    fn primal_slots(&self, values: &[Value], slots: &[Value]) -> Vec<Value> {
        let pairs = values.iter().zip(slots).filter(|(_, slot)| self.is_primal(**slot));
        pairs.map(|(v, _)| self.copy.get(*v)).collect()
    }

    /// The primal operands of a region's exit.
    fn exit_values(&self, region: Region) -> Vec<Value> {
        let operands = &self.source().exit(region).operands;
        operands.iter().filter(|v| self.is_primal(**v)).map(|v| self.copy.get(*v)).collect()
    }

    /// Copies the primal part of a region, without its exit.
    fn insts(&mut self, b: &mut Builder<'_>, region: Region) {
        let source = self.source();
        for &arg in &source.regions[region].args {
            self.keep_value(b, arg);
        }
        let (_, insts) = source.regions[region].insts.split_last().expect("a region ends in an exit");
        for &inst in insts {
            self.inst(b, inst);
        }
    }

    /// Copies the primal part of `inst`, if it has one.
    pub fn inst(&mut self, b: &mut Builder<'_>, inst: Inst) {
        let data = &self.source().insts[inst];
        let outer = std::mem::replace(&mut b.span, data.span);
        match kind(&data.op) {
            Kind::Branches => self.branches(b, inst, data),
            Kind::Counted(info) => self.counted(b, inst, data, info),
            Kind::Conditional(info) => self.conditional(b, inst, data, info),
            Kind::DiffCall(_) => self.call(b, inst, data),
            Kind::Plain | Kind::Memory | Kind::Call(_) | Kind::LinCall(_) | Kind::Exit => {
                if data.results.iter().all(|v| self.is_primal(*v)) {
                    self.copy.inst(self.source(), inst, b);
                }
            }
        }
        for &result in &data.results {
            self.keep_value(b, result);
        }
        b.span = outer;
    }

    /// A call: of the primal half if its context is wanted, else of the function itself.
    fn call(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData) {
        let callee = &self.whole.calls[&inst];
        let context = callee.context.filter(|_| self.wants_context(inst));
        let inputs = self.copy.all(&data.operands[..callee.needed.len()]);
        let primal = self.primal_results(data);
        let mut types: Vec<Ty> = primal.iter().map(|v| self.source().ty(*v)).collect();
        types.extend(context);
        let target = if context.is_some() { callee.primal } else { callee.func };
        let call = b.emit(Op::Call(target), &inputs, &types);
        self.rename_results(b, &primal, call);
        if context.is_some() {
            let context = *b.func.insts[call].results.last().expect("the context is the last output");
            self.contexts.insert(inst, context);
            self.store(b, Residual::Context(inst), context);
        }
    }

    /// Whether the context of a call is used: this half stores it, or a prologue recomputes it.
    fn wants_context(&self, inst: Inst) -> bool {
        let source = self.whole.plan.sources.get(&Residual::Context(inst));
        match self.filling {
            Some(_) => matches!(source, Some(Source::Kept(_))),
            None => matches!(source, Some(Source::Repeated)),
        }
    }

    /// Results of `new` stand for `old`, in order; `new` may have more.
    fn rename_results(&mut self, b: &mut Builder<'_>, old: &[Value], new: Inst) {
        for (i, &old) in old.iter().enumerate() {
            let value = b.func.insts[new].results[i];
            b.func.values[value].name = self.source().values[old].name;
            self.copy.rename(old, value);
        }
    }

    fn branches(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData) {
        let carries = self.carries(inst);
        let before = self.context();
        let mut regions: Vec<Region> = Vec::new();
        for &branch in &data.regions {
            if let Some(filling) = &mut self.filling {
                filling.now = before.expect("there is a context");
            }
            regions.push(b.region(&[], |b, _| {
                self.insts(b, branch);
                let mut values = self.primal_slots(&self.source().exit(branch).operands, &data.results);
                values.extend(carries.and_then(|_| self.context()));
                b.yield_(&values);
            }));
        }
        let primal = self.primal_results(data);
        let mut types: Vec<Ty> = primal.iter().map(|v| self.source().ty(*v)).collect();
        types.extend(carries);
        let new = b.emit(data.op.clone(), &self.copy.all(&data.operands), &types);
        b.func.insts[new].regions.extend(regions);
        self.rename_results(b, &primal, new);
        self.leave(b, new, carries, before);
    }

    /// The type of the context, if something is stored inside `inst`.
    fn carries(&self, inst: Inst) -> Option<Ty> {
        self.filling.as_ref().filter(|t| t.carriers.contains(inst)).map(|t| t.ty)
    }

    /// After `new`: the context is its last result if it carries one, else what it was before.
    fn leave(&mut self, b: &Builder<'_>, new: Inst, carries: Option<Ty>, before: Option<Value>) {
        if let Some(filling) = &mut self.filling {
            let last = b.func.insts[new].results.last().copied().filter(|_| carries.is_some());
            filling.now = last.or(before).expect("there is a context");
        }
    }

    fn counted(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData, info: LoopInfo) {
        let n = self.copy.get(data.operands[0]);
        self.check_count(b, inst, data.operands[0], n);
        let carries = self.carries(inst);
        let before = self.context();
        let mut inits = vec![n];
        inits.extend(self.primal_slots(&data.operands[1..], &data.results));
        inits.extend(carries.and(before));
        let types: Vec<Ty> = inits.iter().map(|v| b.ty(*v)).collect();
        let body = data.regions[0];
        let region = b.region(&types, |b, args| {
            self.enter(b, body, &data.results, &args[1..], 1);
            self.copy.rename(self.source().regions[body].args[0], args[0]);
            if let Some(filling) = &mut self.filling {
                filling.counters.insert(inst, args[0]);
                filling.now =
                    carries.map_or(filling.now, |_| *args.last().expect("the context is the last argument"));
            }
            self.insts(b, body);
            let mut next = self.primal_slots(&self.source().exit(body).operands, &data.results);
            next.extend(carries.and_then(|_| self.context()));
            b.yield_(&next);
        });
        let new = b.emit(Op::For(info), &inits, &types[1..]);
        b.func.insts[new].regions.push(region);
        let primal = self.primal_results(data);
        self.rename_results(b, &primal, new);
        self.leave(b, new, carries, before);
    }

    /// A `while`. If something in it is stored, or its number of iterations is, it also carries a counter.
    fn conditional(&mut self, b: &mut Builder<'_>, inst: Inst, data: &InstData, info: LoopInfo) {
        let counts =
            self.filling.is_some() && (self.room(inst).is_some() || self.is_stored(Residual::Trips(inst)));
        let carries = self.carries(inst);
        let before = self.context();
        let mut inits = self.primal_slots(&data.operands, &data.results);
        let counter = inits.len();
        if counts {
            inits.push(b.int(0));
        }
        inits.extend(carries.and(before));
        let types: Vec<Ty> = inits.iter().map(|v| b.ty(*v)).collect();
        let [cond, body] = data.regions[..] else { unreachable!("a `while` has two regions") };
        let cond = b.region(&types, |b, args| {
            self.enter(b, cond, &data.results, args, 0);
            self.insts(b, cond);
            let values = self.exit_values(cond);
            b.yield_(&values);
        });
        let body = b.region(&types, |b, args| {
            self.enter(b, body, &data.results, args, 0);
            if let Some(filling) = &mut self.filling {
                filling.now =
                    carries.map_or(filling.now, |_| *args.last().expect("the context is the last argument"));
            }
            if counts {
                self.begin_round(b, inst, args[counter]);
            }
            self.insts(b, body);
            let mut next = self.primal_slots(&self.source().exit(body).operands, &data.results);
            if counts {
                let one = b.int(1);
                next.push(b.add(args[counter], one));
            }
            next.extend(carries.and_then(|_| self.context()));
            b.yield_(&next);
        });
        let new = b.emit(Op::While(info), &inits, &types);
        b.func.insts[new].regions.extend([cond, body]);
        let primal = self.primal_results(data);
        self.rename_results(b, &primal, new);
        self.leave(b, new, carries, before);
        if counts {
            let trips = b.func.insts[new].results[counter];
            self.store(b, Residual::Trips(inst), trips);
        }
    }

    /// The arguments of a loop's region, from `first` on, get their new names.
    fn enter(&mut self, b: &mut Builder<'_>, region: Region, slots: &[Value], new: &[Value], first: usize) {
        let args = &self.source().regions[region].args[first..];
        let primal = args.iter().zip(slots).filter(|(_, slot)| self.is_primal(**slot));
        let pairs: Vec<(Value, Value)> = primal.map(|(arg, _)| *arg).zip(new.iter().copied()).collect();
        for (old, new) in pairs {
            b.func.values[new].name = self.source().values[old].name;
            self.copy.rename(old, new);
        }
    }

    fn begin_round(&mut self, b: &mut Builder<'_>, inst: Inst, counter: Value) {
        if let Some(filling) = &mut self.filling {
            filling.counters.insert(inst, counter);
        }
        if let Some(room) = self.room(inst) {
            let room = b.int(room.into());
            let fits = b.math(Math::Lt, &[counter, room]);
            b.emit(Op::Assert(Trap::LoopBound), &[fits], &[]);
        }
    }

    /// Before a counted loop that stores something: it must not run more iterations than the context has fields for.
    fn check_count(&mut self, b: &mut Builder<'_>, inst: Inst, original: Value, n: Value) {
        let Some(room) = self.room(inst).filter(|_| self.filling.is_some()) else {
            return;
        };
        if constant_count(self.source(), original).is_none_or(|n| n > room) {
            let room = b.int(room.into());
            let fits = b.math(Math::Le, &[n, room]);
            b.emit(Op::Assert(Trap::LoopBound), &[fits], &[]);
        }
    }

    /// How many iterations of a loop the context has room for, if anything in the loop is stored.
    fn room(&self, inst: Inst) -> Option<u32> {
        let all = self.whole.plan.fields.iter().flat_map(|f| &f.loops);
        all.filter(|(l, _)| *l == inst).map(|(_, room)| *room).next()
    }

    fn is_stored(&self, residual: Residual) -> bool {
        matches!(self.whole.plan.sources.get(&residual), Some(Source::Kept(_)))
    }

    fn keep_value(&mut self, b: &mut Builder<'_>, original: Value) {
        if self.filling.is_some() && self.is_stored(Residual::Value(original)) {
            self.store(b, Residual::Value(original), self.copy.get(original));
        }
    }

    /// Writes `value` into the context if the plan says so.
    fn store(&mut self, b: &mut Builder<'_>, residual: Residual, value: Value) {
        let Some(filling) = &mut self.filling else { return };
        let Some(Source::Kept(number)) = self.whole.plan.sources.get(&residual) else {
            return;
        };
        let field = &self.whole.plan.fields[*number as usize];
        let (path, indices) = place(field, *number, &filling.counters);
        filling.now = b.insert(filling.now, value, path, &indices);
    }
}

/// Where in the context a field's value of this iteration is.
pub fn place(field: &Field, number: u32, counters: &Map<Inst, Value>) -> (Path, Vec<Value>) {
    let mut path = Path::part(number);
    path.0.extend(field.loops.iter().map(|_| Step::Index));
    (path, field.loops.iter().map(|(l, _)| counters[l]).collect())
}

/// The type of counters.
pub fn counter_type(b: &mut Builder<'_>) -> Ty {
    b.types.scalar(Scalar::I32)
}
