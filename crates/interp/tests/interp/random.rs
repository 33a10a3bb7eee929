//! Random programs against a second evaluator that walks the tree, copies everything and knows no last uses.
//!
//! A value taken too early shows as a read of an emptied slot, which the machine counts; one kept too long is only a
//! copy. Exits are frequent, because that is where last uses are hardest to get right.

use cotangent_base::{EntityMap, Scalar, Span, Symbol};
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{
    Builder, Const, Dir, Func, LoopInfo, Math, Module, Op, Param, Path, Region, Ret, Signature, Step,
    StructField, Ty, Type, Value, text, verify,
};

/// A source of choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

/// The types programs use: a float, an integer, an array and a structure of an array and a float.
#[derive(Clone, Copy)]
struct Kinds {
    float: Ty,
    int: Ty,
    array: Ty,
    structure: Ty,
}

impl Kinds {
    fn new(module: &mut Module) -> Self {
        let float = module.types.scalar(Scalar::F32);
        let int = module.types.scalar(Scalar::I32);
        let array = module.types.intern(Type::Array(float, 4));
        let field = |name, ty| StructField { name: Symbol::new(name), ty };
        let id = module.types.add_struct(Symbol::new("S"), vec![field("a", array), field("x", float)]);
        let structure = module.types.intern(Type::Struct(id));
        Kinds { float, int, array, structure }
    }

    fn any(&self, dice: &mut Dice) -> Ty {
        [self.float, self.int, self.array, self.structure][dice.roll(4)]
    }
}

/// Writes a random function.
struct Writer {
    dice: Dice,
    kinds: Kinds,
    /// The values in scope.
    scope: Vec<Value>,
    /// The types of the slots of enclosing loops.
    loops: Vec<Vec<Ty>>,
    outputs: Vec<Ty>,
    budget: usize,
}

impl Writer {
    /// Some value of a type; there is one of each, for the inputs are.
    fn pick(&mut self, b: &Builder<'_>, ty: Ty) -> Value {
        let fitting: Vec<Value> = self.scope.iter().copied().filter(|v| b.ty(*v) == ty).collect();
        // Prefer recent values, so that programs have some depth.
        let recent = fitting.len() - 1 - self.dice.roll(fitting.len()).min(self.dice.roll(fitting.len()));
        fitting[recent]
    }

    fn picks(&mut self, b: &Builder<'_>, types: &[Ty]) -> Vec<Value> {
        types.iter().map(|ty| self.pick(b, *ty)).collect()
    }

    fn some_types(&mut self) -> Vec<Ty> {
        (0..self.dice.roll(4)).map(|_| self.kinds.any(&mut self.dice)).collect()
    }

    /// Statements, then an exit: mostly a `yield` of the given types.
    fn block(&mut self, b: &mut Builder<'_>, yields: &[Ty]) {
        let outer = self.scope.len();
        for _ in 0..self.dice.roll(6) {
            self.statement(b);
        }
        self.exit(b, yields);
        self.scope.truncate(outer);
    }

    fn exit(&mut self, b: &mut Builder<'_>, yields: &[Ty]) {
        let out = self.dice.roll(self.loops.len().max(1));
        let target = self.loops.iter().rev().nth(out).cloned();
        match (self.dice.roll(10), target) {
            (0, Some(slots)) => self.leave(b, Op::Break(out as u32), &slots),
            (1, Some(slots)) => self.leave(b, Op::Continue(out as u32), &slots),
            (2, _) if self.dice.roll(2) == 0 => {
                let outputs = self.outputs.clone();
                self.leave(b, Op::Return, &outputs);
            }
            _ => self.leave(b, Op::Yield, yields),
        }
    }

    fn leave(&mut self, b: &mut Builder<'_>, op: Op, types: &[Ty]) {
        let values = self.picks(b, types);
        b.emit(op, &values, &[]);
    }

    fn statement(&mut self, b: &mut Builder<'_>) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let Kinds { float, int, array, structure } = self.kinds;
        let new = match self.dice.roll(13) {
            0 => b.constant(Const::float(self.dice.roll(8) as f64 * 0.25), float),
            1 => b.int(self.dice.roll(4) as i64),
            2 => {
                let op = [Math::Add, Math::Sub, Math::Mul, Math::Max][self.dice.roll(4)];
                let operands = self.picks(b, &[float, float]);
                b.math(op, &operands)
            }
            3 => {
                let operands = self.picks(b, &[int, int]);
                b.math([Math::Add, Math::Xor][self.dice.roll(2)], &operands)
            }
            4 => {
                let (a, i) = (self.pick(b, array), self.index(b));
                b.extract(a, Path::index(), &[i])
            }
            5 | 6 => {
                let (a, x, i) = (self.pick(b, array), self.pick(b, float), self.index(b));
                b.insert(a, x, Path::index(), &[i])
            }
            7 => {
                let (a, x, i) = (self.pick(b, structure), self.pick(b, float), self.index(b));
                b.insert_add(a, x, Path([Step::Part(0), Step::Index].into()), &[i])
            }
            8 => {
                let s = self.pick(b, structure);
                b.part(s, self.dice.roll(2) as u32)
            }
            9 => {
                let (s, a) = (self.pick(b, structure), self.pick(b, array));
                b.insert(s, a, Path::part(0), &[])
            }
            10 => return self.branch(b),
            11 => return self.counted(b),
            _ => return self.conditional_loop(b),
        };
        self.scope.push(new);
    }

    /// An integer from 0 to 3.
    fn index(&mut self, b: &mut Builder<'_>) -> Value {
        let (i, three) = (self.pick(b, self.kinds.int), b.int(3));
        b.math(Math::And, &[i, three])
    }

    fn branch(&mut self, b: &mut Builder<'_>) {
        let types = self.some_types();
        let selector = self.index(b);
        let cases = self.dice.roll(3) + 1;
        let regions: Vec<Region> = (0..=cases).map(|_| b.region(&[], |b, _| self.block(b, &types))).collect();
        let inst = if cases == 1 {
            let two = b.int(2);
            let cond = b.math(Math::Lt, &[selector, two]);
            b.emit(Op::If, &[cond], &types)
        } else {
            b.emit(Op::Switch((0..cases as i64).collect()), &[selector], &types)
        };
        b.func.insts[inst].regions.extend(regions);
        self.scope.extend(b.func.insts[inst].results.iter());
    }

    fn counted(&mut self, b: &mut Builder<'_>) {
        let types = self.some_types();
        let init = self.picks(b, &types);
        let n = self.index(b);
        let info = LoopInfo { reversed: self.dice.roll(2) == 0, ..LoopInfo::default() };
        let results = b.for_(info, n, &init, |b, k, slots| {
            let outer = self.scope.len();
            self.scope.push(k);
            self.scope.extend(slots);
            self.loops.push(types.clone());
            self.block(b, &types);
            self.loops.pop();
            self.scope.truncate(outer);
        });
        self.scope.extend(results);
    }

    /// Slot 0 counts down, so that the loop ends unless a `continue` keeps it; then the step limit ends it.
    fn conditional_loop(&mut self, b: &mut Builder<'_>) {
        let types = [vec![self.kinds.int], self.some_types()].concat();
        let mut init = self.picks(b, &types);
        init[0] = self.index(b);
        let body_types = types.clone();
        let outer = self.scope.len();
        let (loops, mut saved) = (&types, std::mem::take(&mut self.loops));
        let cond = b.region(&types, |b, slots| {
            let zero = b.int(0);
            let more = b.math(Math::Gt, &[slots[0], zero]);
            b.yield_(&[more]);
        });
        saved.push(loops.clone());
        self.loops = saved;
        let body = b.region(&body_types, |b, slots| {
            self.scope.extend(slots);
            let one = b.int(1);
            let less = b.math(Math::Sub, &[slots[0], one]);
            self.scope.push(less);
            for _ in 0..self.dice.roll(5) {
                self.statement(b);
            }
            let mut values = self.picks(b, &types);
            values[0] = less;
            b.yield_(&values);
        });
        self.loops.pop();
        self.scope.truncate(outer);
        let inst = b.emit(Op::While(LoopInfo::default()), &init, &types);
        b.func.insts[inst].regions.extend([cond, body]);
        self.scope.extend(b.func.insts[inst].results.iter());
    }
}

fn random_module(seed: u64) -> Module {
    let mut module = Module::default();
    let kinds = Kinds::new(&mut module);
    let types = [kinds.float, kinds.int, kinds.array, kinds.structure];
    let param = |ty| Param { name: Symbol::new("p"), ty, dir: Dir::InOut, diff: false };
    let sig = Signature { params: types.map(param).to_vec(), ret: None::<Ret> };
    let mut func = Func::new(Symbol::new("f"), sig, Span::none());
    let mut writer = Writer {
        dice: Dice(seed),
        kinds,
        scope: func.inputs().to_vec(),
        loops: vec![],
        outputs: types.to_vec(),
        budget: 60,
    };
    let mut builder = Builder::new(&mut module.types, &mut func);
    for _ in 0..12 {
        writer.statement(&mut builder);
    }
    writer.leave(&mut builder, Op::Return, &types);
    module.add_func(func);
    module
}

/// How a region ended.
enum End {
    Yield(Vec<Val>),
    Break(u32, Vec<Val>),
    Continue(u32, Vec<Val>),
    Return(Vec<Val>),
    /// Too long; nothing is known about the rest.
    Tired,
}

/// Walks the tree and copies everything.
struct Walker<'a> {
    func: &'a Func,
    values: EntityMap<Value, Val>,
    patience: usize,
}

impl Walker<'_> {
    fn get(&self, value: Value) -> Val {
        self.values[value].clone()
    }

    fn int(&self, value: Value) -> i64 {
        self.values[value].as_int().expect("an integer")
    }

    fn all(&self, values: &[Value]) -> Vec<Val> {
        values.iter().map(|v| self.get(*v)).collect()
    }

    fn set(&mut self, values: &[Value], to: Vec<Val>) {
        for (value, to) in values.iter().zip(to) {
            self.values[*value] = to;
        }
    }

    fn region(&mut self, region: Region, args: Vec<Val>) -> End {
        let func = self.func;
        self.set(&func.regions[region].args, args);
        for &inst in &func.regions[region].insts {
            if self.patience == 0 {
                return End::Tired;
            }
            self.patience -= 1;
            let data = &func.insts[inst];
            let carried = self.all(&data.operands);
            let results = match &data.op {
                Op::Yield => return End::Yield(carried),
                Op::Break(out) => return End::Break(*out, carried),
                Op::Continue(out) => return End::Continue(*out, carried),
                Op::Return => return End::Return(carried),
                Op::If | Op::Switch(_) => {
                    let chosen = self.choice(&data.op, &carried[0]);
                    match self.region(data.regions[chosen], vec![]) {
                        End::Yield(values) => values,
                        end => return end,
                    }
                }
                Op::While(_) | Op::For(_) => match self.rounds(&data.op, carried, &data.regions) {
                    Ok(values) => values,
                    Err(end) => return end,
                },
                _ => vec![self.simple(&data.op, &data.operands)],
            };
            self.set(&data.results, results);
        }
        unreachable!("a region ends in an exit")
    }

    fn choice(&self, op: &Op, selector: &Val) -> usize {
        match op {
            Op::Switch(cases) => {
                cases.iter().position(|c| selector.as_int() == Some(*c)).unwrap_or(cases.len())
            }
            _ => usize::from(!selector.as_bool().expect("a condition")),
        }
    }

    fn rounds(&mut self, op: &Op, mut init: Vec<Val>, regions: &[Region]) -> Result<Vec<Val>, End> {
        let (count, reversed) = match op {
            Op::For(info) => (Some(init.remove(0).as_int().expect("a count")), info.reversed),
            _ => (None, false),
        };
        let mut slots = init;
        for round in 0.. {
            let mut args = slots.clone();
            match count {
                Some(n) if round >= n => break,
                Some(n) => args.insert(0, Val::int(if reversed { n - 1 - round } else { round })),
                None => match self.region(regions[0], slots.clone()) {
                    End::Yield(more) if more[0] == Val::bool(true) => {}
                    End::Yield(_) => break,
                    end => return Err(end),
                },
            }
            match self.region(*regions.last().expect("a body"), args) {
                End::Yield(values) | End::Continue(0, values) => slots = values,
                End::Break(0, values) => return Ok(values),
                End::Break(out, values) => return Err(End::Break(out - 1, values)),
                End::Continue(out, values) => return Err(End::Continue(out - 1, values)),
                end @ (End::Return(_) | End::Tired) => return Err(end),
            }
        }
        Ok(slots)
    }

    fn simple(&self, op: &Op, operands: &[Value]) -> Val {
        let float = |v: Value| self.values[v].as_float().expect("a float") as f32;
        let result = |x: f32| Val::float(if x.is_nan() { f64::NAN } else { x.into() });
        let replaced = |path: &Path, add: bool| {
            let place = self.place(path, &operands[2..]);
            replace(&self.values[operands[0]], &place, &|old| {
                if add {
                    result(old.as_float().expect("a float") as f32 + float(operands[1]))
                } else {
                    self.get(operands[1])
                }
            })
        };
        match op {
            Op::Const(c) => Val::Scalar(*c),
            Op::Math(Math::Add) if self.values[operands[0]].as_int().is_some() => {
                Val::int((self.int(operands[0]) as i32).wrapping_add(self.int(operands[1]) as i32).into())
            }
            Op::Math(Math::Sub) if self.values[operands[0]].as_int().is_some() => {
                Val::int((self.int(operands[0]) as i32).wrapping_sub(self.int(operands[1]) as i32).into())
            }
            Op::Math(Math::And) => Val::int(self.int(operands[0]) & self.int(operands[1])),
            Op::Math(Math::Xor) => Val::int(self.int(operands[0]) ^ self.int(operands[1])),
            Op::Math(Math::Lt) => Val::bool(self.int(operands[0]) < self.int(operands[1])),
            Op::Math(Math::Gt) => Val::bool(self.int(operands[0]) > self.int(operands[1])),
            Op::Math(Math::Add) => result(float(operands[0]) + float(operands[1])),
            Op::Math(Math::Sub) => result(float(operands[0]) - float(operands[1])),
            Op::Math(Math::Mul) => result(float(operands[0]) * float(operands[1])),
            Op::Math(Math::Max) => result(float(operands[0]).max(float(operands[1]))),
            Op::Extract(path) => {
                let place = self.place(path, &operands[1..]);
                place.iter().fold(self.get(operands[0]), |value, i| value.parts()[*i].clone())
            }
            Op::Insert(path) => replaced(path, false),
            Op::InsertAdd(path) => replaced(path, true),
            other => panic!("no program has a `{}`", other.name()),
        }
    }

    fn place(&self, path: &Path, indices: &[Value]) -> Vec<usize> {
        let mut indices = indices.iter();
        let step = |step: &Step| match step {
            Step::Part(part) => *part as usize,
            Step::Index => self.int(*indices.next().expect("an index")) as usize,
        };
        path.0.iter().map(step).collect()
    }
}

fn replace(value: &Val, place: &[usize], change: &dyn Fn(&Val) -> Val) -> Val {
    let [first, rest @ ..] = place else { return change(value) };
    let part =
        |(i, part): (usize, &Val)| if i == *first { replace(part, rest, change) } else { part.clone() };
    Val::aggregate(value.parts().iter().enumerate().map(part))
}

#[test]
fn random_programs_mean_the_same_to_an_evaluator_that_copies_everything() {
    let mut finished = 0;
    for seed in 0..3000 {
        let module = random_module(seed);
        let (id, func) = module.funcs.iter().next().expect("a function");
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", text::print_module(&module)));
        let array = Val::floats(&[1.0, 0.5, -2.0, 3.0]);
        let inputs =
            vec![Val::float(0.75), Val::int(2), array.clone(), Val::aggregate([array, Val::float(1.25)])];
        let values = EntityMap::filled(Val::Undef, func.values.len());
        let mut walker = Walker { func, values, patience: 20_000 };
        let End::Return(expected) = walker.region(func.body, inputs.clone()) else { continue };
        finished += 1;
        let mut machine = Machine::new(&module, Options::default());
        let got = machine.call(id, inputs).expect("the program ends");
        assert_eq!(got, expected, "seed {seed}\n{}", text::print_module(&module));
        assert_eq!(machine.counters().undef_reads, 0, "seed {seed}\n{}", text::print_module(&module));
    }
    assert!(finished > 2000, "only {finished} programs ended");
}
