//! Writes random programs.
//!
//! A program is a chain of statements, each of which maps one state (two floats, an integer, an array and a truth
//! value) to the next. So every statement fits everywhere, every region yields a state, and every exit carries one.
//! Programs always end, never trap, and write to a buffer now and then. Exits are frequent: that is where passes go
//! wrong.

use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{
    Access, Builder, Const, Dir, Func, FuncId, Global, GlobalData, GlobalKind, LoopInfo, Math, Module, Op,
    Param, Path, Ret, Segments, Signature, Step, Ty, Type, Unroll, Value,
};

/// The length of the array and of the buffer.
pub const LENGTH: u32 = 4;

/// A source of choices that is the same on every machine (splitmix64).
pub struct Choices(u64);

impl Choices {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Self {
        Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// The variables of a program: x, y, i, a, c.
type State = [Value; 5];
const X: usize = 0;
const Y: usize = 1;
const I: usize = 2;
const A: usize = 3;
const C: usize = 4;

/// A loop around the code being written: what precedes the state in its slots when the next round starts.
#[derive(Clone)]
struct Around {
    lead: Option<Value>,
}

struct Generator {
    choices: Choices,
    types: [Ty; 5],
    buffer: Global,
    earlier: Vec<FuncId>,
    loops: Vec<Around>,
    /// How many statements may still be written.
    budget: u32,
}

/// A module with a few functions, the last of which calls the others. All have the state as inputs and outputs.
pub fn module(seed: u64) -> Module {
    let mut module = Module::default();
    let float = module.types.scalar(Scalar::F32);
    let int = module.types.scalar(Scalar::I32);
    let bool = module.types.scalar(Scalar::Bool);
    let array = module.types.intern(Type::Array(float, LENGTH));
    let ty = module.types.intern(Type::Buffer(float, Access::ReadWrite));
    let name = Symbol::new("out");
    let buffer = module.add_global(GlobalData { name, ty, kind: GlobalKind::Param, span: Span::none() });
    let types = [float, float, int, array, bool];
    let choices = Choices::new(seed);
    let mut generator =
        Generator { choices, types, buffer, earlier: Vec::new(), loops: Vec::new(), budget: 0 };
    for name in ["helper", "main"] {
        generator.budget = 4 + generator.choices.below(12) as u32;
        let func = generator.func(&mut module, name);
        generator.earlier.push(func);
    }
    module
}

impl Generator {
    fn func(&mut self, module: &mut Module, name: &str) -> FuncId {
        let names = ["x", "y", "i", "a", "c"];
        let dirs = [Dir::In, Dir::InOut, Dir::InOut, Dir::InOut, Dir::InOut];
        let param =
            |n: usize| Param { name: Symbol::new(names[n]), ty: self.types[n], dir: dirs[n], diff: false };
        let ret = Some(Ret { ty: self.types[X], diff: false });
        let sig = Signature { params: (0..5).map(param).collect(), ret };
        let mut func = Func::new(Symbol::new(name), sig, Span::none());
        let inputs = func.inputs().to_vec();
        let mut b = Builder::new(&mut module.types, &mut func);
        let state = self.block(&mut b, [inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]], 3);
        b.emit(Op::Return, &state, &[]);
        module.add_func(func)
    }

    fn block(&mut self, b: &mut Builder<'_>, mut state: State, depth: u32) -> State {
        let count = 1 + self.choices.below(4);
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            state = self.statement(b, state, depth);
        }
        state
    }

    fn statement(&mut self, b: &mut Builder<'_>, state: State, depth: u32) -> State {
        let kinds = if depth == 0 { 6 } else { 12 };
        match self.choices.below(kinds) {
            0 => self.float(b, state),
            1 => self.int(b, state),
            2 => self.array(b, state),
            3 => self.compare(b, state),
            4 => self.vector(b, state),
            5 => self.memory(b, state),
            6 | 7 => self.if_(b, state, depth - 1),
            8 => self.switch(b, state, depth - 1),
            9 => self.while_(b, state, depth - 1),
            10 => self.for_(b, state, depth - 1),
            _ => self.call(b, state),
        }
    }

    fn number(&mut self, b: &mut Builder<'_>) -> Value {
        let n = self.choices.pick(&[0.0, -0.0, 1.0, 2.0, -1.5, 0.25]);
        b.constant(Const::float(n), self.types[X])
    }

    fn float(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let other = if self.choices.below(2) == 0 { self.number(b) } else { state[Y] };
        let (target, x) = self.choices.pick(&[(X, X), (Y, X), (X, Y)]);
        state[target] = match self.choices.below(5) {
            0 => b.math(Math::Neg, &[state[x]]),
            1 => b.select(state[C], state[x], other),
            _ => {
                let math = self.choices.pick(&[Math::Add, Math::Sub, Math::Mul, Math::Min, Math::Max]);
                b.math(math, &[state[x], other])
            }
        };
        state
    }

    fn int(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let n = self.choices.pick(&[0, 1, 2, 3, 7, -1]);
        let n = b.int(n);
        let math =
            self.choices.pick(&[Math::Add, Math::Sub, Math::Mul, Math::And, Math::Or, Math::Xor, Math::Shl]);
        state[I] = b.math(math, &[state[I], n]);
        state
    }

    /// An index inside the array.
    fn index(&mut self, b: &mut Builder<'_>, state: State) -> Value {
        let n = self.choices.below(LENGTH.into()) as i64;
        let n = b.int(n);
        if self.choices.below(2) == 0 {
            return n;
        }
        let mask = b.int(i64::from(LENGTH) - 1);
        b.math(Math::And, &[state[I], mask])
    }

    fn array(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let index = self.index(b, state);
        match self.choices.below(5) {
            0 | 1 => state[X] = b.extract(state[A], Path::index(), &[index]),
            2 => state[A] = b.insert(state[A], state[X], Path::index(), &[index]),
            3 => {
                let zero = b.zero(self.types[X]);
                let cleared = b.insert(state[A], zero, Path::index(), &[index]);
                state[A] = b.insert_add(cleared, state[X], Path::index(), &[index]);
            }
            _ => {
                let zero = b.zero(self.types[A]);
                let base = if self.choices.below(2) == 0 { zero } else { state[A] };
                state[A] = b.insert_add(base, state[Y], Path::index(), &[index]);
            }
        }
        state
    }

    fn compare(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let math = self.choices.pick(&[Math::Lt, Math::Le, Math::Gt, Math::Ge, Math::Eq, Math::Ne]);
        state[C] = match self.choices.below(4) {
            0 => b.math(math, &[state[X], state[Y]]),
            1 => {
                let n = b.int(2);
                b.math(math, &[state[I], n])
            }
            2 => b.math(Math::Not, &[state[C]]),
            _ => {
                let n = self.choices.below(2) == 0;
                let n = b.bool(n);
                let math = self.choices.pick(&[Math::And, Math::Or, Math::Xor]);
                b.math(math, &[state[C], n])
            }
        };
        state
    }

    fn vector(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let ty = b.types.intern(Type::Vector(Scalar::F32, 3));
        let constant = self.number(b);
        let part = self.choices.pick(&[state[X], state[Y], constant]);
        let mut v = b.pack(&[state[X], part, state[Y]], ty);
        for _ in 0..self.choices.below(3) {
            let lane = self.choices.below(3);
            v = match self.choices.below(4) {
                0 => b.emit1(
                    Op::Swizzle(self.choices.pick(&[[2, 1, 0], [0, 0, 2], [0, 1, 2]])[..].into()),
                    &[v],
                    ty,
                ),
                1 => b.insert(v, state[Y], Path::part(lane as u32), &[]),
                2 => {
                    let s = b.emit1(Op::Splat, &[part], ty);
                    b.add(v, s)
                }
                _ => {
                    let (x, y, z) = (b.part(v, 0), b.part(v, 1), b.part(v, 2));
                    b.pack(&[x, y, z], ty)
                }
            };
        }
        state[X] = b.part(v, self.choices.below(3) as u32);
        state
    }

    fn memory(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let ty = b.types.intern(Type::Buffer(self.types[X], Access::ReadWrite));
        let buffer = b.emit1(Op::Global(self.buffer), &[], ty);
        let index = self.index(b, state);
        let path = Path([Step::Index].into_iter().collect());
        if self.choices.below(3) == 0 {
            b.store(buffer, state[X], path, &[index]);
        } else {
            state[Y] = b.load(buffer, path, &[index]);
        }
        state
    }

    fn call(&mut self, b: &mut Builder<'_>, state: State) -> State {
        let Some(&callee) = self.earlier.last() else { return self.float(b, state) };
        let inst = b.emit(Op::Call(callee), &state, &self.types);
        state_of(&b.func.insts[inst].results)
    }

    /// Ends a branch: mostly with a `yield`, now and then with an exit.
    fn end(&mut self, b: &mut Builder<'_>, state: State) {
        let depth = self.loops.len() as u64;
        match self.choices.below(8) {
            0 => _ = b.emit(Op::Return, &state, &[]),
            n @ 1..=4 if depth > 0 => {
                let out = self.choices.below(depth);
                let around = self.loops[(depth - 1 - out) as usize].clone();
                let lead: Vec<Value> = around.lead.into_iter().map(|i| next(b, i)).collect();
                let op = if n <= 2 { Op::Break(out as u32) } else { Op::Continue(out as u32) };
                b.emit(op, &[&lead[..], &state].concat(), &[]);
            }
            _ => b.yield_(&state),
        }
    }

    fn if_(&mut self, b: &mut Builder<'_>, state: State, depth: u32) -> State {
        let leaves = self.choices.below(3);
        let then = b.region(&[], |b, _| {
            let state = self.block(b, state, depth);
            if leaves == 1 { self.end(b, state) } else { b.yield_(&state) }
        });
        let otherwise = b.region(&[], |b, _| {
            let state = if leaves == 1 { state } else { self.block(b, state, depth) };
            if leaves == 2 { self.end(b, state) } else { b.yield_(&state) }
        });
        let inst = b.emit(Op::If, &[state[C]], &self.types);
        b.func.insts[inst].regions.extend([then, otherwise]);
        state_of(&b.func.insts[inst].results)
    }

    fn switch(&mut self, b: &mut Builder<'_>, state: State, depth: u32) -> State {
        let mask = b.int(3);
        let selector = b.math(Math::And, &[state[I], mask]);
        let regions: Vec<_> = (0..3)
            .map(|_| {
                b.region(&[], |b, _| {
                    let state = self.block(b, state, depth);
                    self.end(b, state);
                })
            })
            .collect();
        let inst = b.emit(Op::Switch(vec![0, 2]), &[selector], &self.types);
        b.func.insts[inst].regions.extend(regions);
        state_of(&b.func.insts[inst].results)
    }

    fn info(&mut self) -> LoopInfo {
        let unroll = if self.choices.below(2) == 0 { Unroll::Force } else { Unroll::Auto };
        LoopInfo { unroll, reversed: false, max_iters: None, segments: Segments::Auto }
    }

    /// `for (j = 0; j < n; j++)`, also counting down, as a `while`.
    fn while_(&mut self, b: &mut Builder<'_>, state: State, depth: u32) -> State {
        let three = b.int(3);
        let bound = if self.choices.below(2) == 0 { three } else { b.math(Math::And, &[state[I], three]) };
        let start = b.int(0);
        let compare = self.choices.pick(&[Math::Lt, Math::Le, Math::Ne]);
        let info = self.info();
        let inits = [&[start], &state[..]].concat();
        let results = b.while_(
            info,
            &inits,
            |b, args| {
                let goes_on = b.math(compare, &[args[0], bound]);
                b.yield_(&[goes_on]);
            },
            |b, args| {
                self.loops.push(Around { lead: Some(args[0]) });
                let state = self.block(b, state_of(&args[1..]), depth);
                self.loops.pop();
                let j = next(b, args[0]);
                b.yield_(&[&[j], &state[..]].concat());
            },
        );
        state_of(&results[1..])
    }

    fn for_(&mut self, b: &mut Builder<'_>, state: State, depth: u32) -> State {
        let n = self.choices.below(4) as i64 - 1;
        let n = b.int(n);
        let three = b.int(3);
        let n = if self.choices.below(2) == 0 { n } else { b.math(Math::And, &[state[I], three]) };
        let info = LoopInfo { reversed: self.choices.below(2) == 0, ..self.info() };
        let results = b.for_(info, n, &state, |b, k, args| {
            self.loops.push(Around { lead: None });
            let mut state = state_of(args);
            state[I] = b.add(state[I], k);
            let state = self.block(b, state, depth);
            self.loops.pop();
            b.yield_(&state);
        });
        state_of(&results)
    }
}

fn next(b: &mut Builder<'_>, i: Value) -> Value {
    let one = b.int(1);
    b.add(i, one)
}

fn state_of(values: &[Value]) -> State {
    [values[X], values[Y], values[I], values[A], values[C]]
}
