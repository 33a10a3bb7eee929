//! Random programs: every statement maps one state (three floats, an array, an integer) to the next, so any statement
//! may stand anywhere, inside loops, branches and switches, with exits to every depth.
//!
//! Conditions look at integers only, so that a program is smooth in its floats and finite differences mean
//! something. Values stay tame: products are with small factors, divisors are above one. All loops end.

use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{
    Builder, Const, DiffInfo, Dir, Func, FuncId, LoopInfo, Math, Mode, Module, Op, Param, Path, Ret,
    Signature, Ty, Type, Types, Value,
};

/// Elements of the array in the state.
pub const ELEMENTS: u32 = 4;

/// A small generator of random numbers (xorshift); the same everywhere.
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A float between -1 and 1.
    pub fn float(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}

/// Three floats, an array, an integer.
type State = [Value; 5];

/// A loop around the statement being made.
#[derive(Clone, Copy)]
struct Around {
    /// The counter of a `while`, which its exits carry after the state.
    counter: Option<Value>,
}

struct Program<'r> {
    random: &'r mut Random,
    callee: Option<FuncId>,
    /// Statements left to make.
    budget: usize,
    types: [Ty; 5],
}

/// A module with the random function `f`, its callee `g`, and library functions with rules.
pub fn module(seed: u64) -> Module {
    let mut random = Random::new(seed);
    let mut module = Module::default();
    let callee = function(&mut module, "g", &mut random, 8, None);
    function(&mut module, "f", &mut random, 30, Some(callee));
    module
}

fn state_types(types: &mut Types, float: Scalar) -> [Ty; 5] {
    let f = types.scalar(float);
    let array = types.intern(Type::Array(f, ELEMENTS));
    let int = types.scalar(Scalar::I32);
    [f, f, f, array, int]
}

/// Adds `name(x, y, z, inout a, inout i) -> float`.
fn function(
    module: &mut Module,
    name: &str,
    random: &mut Random,
    budget: usize,
    callee: Option<FuncId>,
) -> FuncId {
    let types = state_types(&mut module.types, Scalar::F32);
    let names = ["x", "y", "z", "a", "i"];
    let param = |(i, name): (usize, &str)| Param {
        name: Symbol::new(name),
        ty: types[i],
        dir: if i < 3 { Dir::In } else { Dir::InOut },
        diff: i < 4,
    };
    let params = names.into_iter().enumerate().map(param).collect();
    let sig = Signature { params, ret: Some(Ret { ty: types[0], diff: true }) };
    let mut func = Func::new(Symbol::new(name), sig, Span::none());
    func.diff = DiffInfo { differentiable: Some(Mode::Backward), ..DiffInfo::default() };
    let inputs: State = func.inputs().try_into().expect("five inputs");
    let mut program = Program { random, callee, budget, types };
    let mut b = Builder::new(&mut module.types, &mut func);
    let state = program.block(&mut b, inputs, &mut Vec::new(), 6);
    finish(&mut b, &state);
    module.add_func(func)
}

/// `return x + y * z, a, i`.
fn finish(b: &mut Builder<'_>, state: &State) {
    let product = b.mul(state[1], state[2]);
    let sum = b.add(state[0], product);
    b.emit(Op::Return, &[sum, state[3], state[4]], &[]);
}

impl Program<'_> {
    /// Up to `most` statements.
    fn block(
        &mut self,
        b: &mut Builder<'_>,
        mut state: State,
        around: &mut Vec<Around>,
        most: usize,
    ) -> State {
        for _ in 0..=self.random.below(most) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            state = self.statement(b, state, around);
        }
        state
    }

    fn statement(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) -> State {
        match self.random.below(if around.len() > 2 { 9 } else { 14 }) {
            0 | 1 => self.arithmetic(b, state),
            2 => self.write(b, state),
            3 => self.read(b, state),
            4 => self.count(b, state),
            5..8 => self.choose(b, state, around),
            8 => self.switch(b, state, around),
            9 | 10 => self.counted(b, state, around),
            11 | 12 => self.while_(b, state, around),
            _ => self.call(b, state),
        }
    }

    fn float(&mut self, b: &mut Builder<'_>) -> Value {
        let value = Const::float(self.random.float());
        b.constant(value, self.types[0])
    }

    /// `x = x * 0.5 + y * z`, `x = x / (1 + y * y)`, `x = k - x`, and the like.
    fn arithmetic(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let (to, from) = (self.random.below(3), self.random.below(3));
        let k = self.float(b);
        let scaled = b.mul(state[to], k);
        state[to] = match self.random.below(4) {
            0 => b.add(scaled, state[from]),
            1 => b.math(Math::Sub, &[scaled, state[from]]),
            2 => {
                let product = b.mul(state[from], k);
                b.mul(product, state[to])
            }
            _ => {
                let one = b.constant(Const::float(1.5), self.types[0]);
                let square = b.mul(state[from], state[from]);
                let divisor = b.add(square, one);
                b.math(Math::Div, &[state[to], divisor])
            }
        };
        state
    }

    /// An index inside the array that depends on the integer.
    fn index(&mut self, b: &mut Builder<'_>, state: &State) -> Value {
        let (offset, mask) = (b.int(self.random.below(4) as i64), b.int(i64::from(ELEMENTS) - 1));
        let sum = b.add(state[4], offset);
        b.math(Math::And, &[sum, mask])
    }

    fn write(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let (index, from) = (self.index(b, &state), self.random.below(3));
        state[3] = if self.random.once_in(3) {
            b.insert_add(state[3], state[from], Path::index(), &[index])
        } else {
            b.insert(state[3], state[from], Path::index(), &[index])
        };
        state
    }

    fn read(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let (index, to) = (self.index(b, &state), self.random.below(3));
        state[to] = b.extract(state[3], Path::index(), &[index]);
        state
    }

    fn count(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let step = b.int(self.random.below(5) as i64);
        state[4] = b.add(state[4], step);
        state
    }

    /// `i & mask == k`.
    fn condition(&mut self, b: &mut Builder<'_>, i: Value) -> Value {
        let (mask, k) = (b.int(1 + self.random.below(3) as i64), b.int(self.random.below(2) as i64));
        let bits = b.math(Math::And, &[i, mask]);
        b.math(Math::Eq, &[bits, k])
    }

    fn choose(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) -> State {
        let by_counter = around.last().and_then(|a| a.counter).filter(|_| self.random.once_in(2));
        let condition = self.condition(b, by_counter.unwrap_or(state[4]));
        let then = b.region(&[], |b, _| self.branch(b, state, around));
        let otherwise = b.region(&[], |b, _| self.branch(b, state, around));
        let inst = b.emit(Op::If, &[condition], &self.types);
        b.func.insts[inst].regions.extend([then, otherwise]);
        b.func.insts[inst].results.as_slice().try_into().expect("a state")
    }

    fn branch(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) {
        let state = self.block(b, state, around, 3);
        if self.random.once_in(if around.is_empty() { 8 } else { 3 }) {
            self.exit(b, &state, around);
        } else {
            b.yield_(&state);
        }
    }

    fn switch(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) -> State {
        let three = b.int(3);
        let selector = b.math(Math::And, &[state[4], three]);
        let regions: Vec<_> = (0..4).map(|_| b.region(&[], |b, _| self.branch(b, state, around))).collect();
        let inst = b.emit(Op::Switch(vec![0, 2, 3]), &[selector], &self.types);
        b.func.insts[inst].regions.extend(regions);
        b.func.insts[inst].results.as_slice().try_into().expect("a state")
    }

    fn counted(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) -> State {
        let n = b.int(self.random.below(4) as i64);
        let info = LoopInfo { reversed: self.random.once_in(2), ..LoopInfo::default() };
        let results = b.for_(info, n, &state, |b, k, slots| {
            let mut state: State = slots.try_into().expect("a state");
            if self.random.once_in(2) {
                state[4] = b.add(state[4], k);
            }
            around.push(Around { counter: None });
            let state = self.block(b, state, around, 4);
            around.pop();
            b.yield_(&state);
        });
        results.as_slice().try_into().expect("a state")
    }

    /// `while (c < n)`, which `continue` must not make endless.
    fn while_(&mut self, b: &mut Builder<'_>, state: State, around: &mut Vec<Around>) -> State {
        let (zero, n) = (b.int(0), b.int(1 + self.random.below(4) as i64));
        let init = [&state[..], &[zero]].concat();
        let results = b.while_(
            LoopInfo::default(),
            &init,
            |b, slots| {
                let more = b.math(Math::Lt, &[slots[5], n]);
                b.yield_(&[more]);
            },
            |b, slots| {
                let state: State = slots[..5].try_into().expect("a state");
                around.push(Around { counter: Some(slots[5]) });
                let state = self.block(b, state, around, 4);
                around.pop();
                let next = increment(b, slots[5]);
                b.yield_(&[&state[..], &[next]].concat());
            },
        );
        results[..5].try_into().expect("a state")
    }

    fn call(&mut self, b: &mut Builder<'_>, mut state: State) -> State {
        let Some(callee) = self.callee else {
            return self.arithmetic(b, state);
        };
        let results = [self.types[0], self.types[3], self.types[4]];
        let inst = b.emit(Op::Call(callee), &state, &results);
        let results = b.func.insts[inst].results.clone();
        state[self.random.below(3)] = results[0];
        (state[3], state[4]) = (results[1], results[2]);
        state
    }

    /// Leaves a loop, goes on with one, or returns.
    fn exit(&mut self, b: &mut Builder<'_>, state: &State, around: &[Around]) {
        let target = self.random.below(2 * around.len() + 1);
        let Some(loops_out) = target.checked_sub(1).map(|t| t / 2) else {
            return finish(b, state);
        };
        let target_loop = around[around.len() - 1 - loops_out];
        let goes_on = target.is_multiple_of(2);
        let counter = target_loop.counter.map(|c| if goes_on { increment(b, c) } else { c });
        let values: Vec<Value> = state.iter().copied().chain(counter).collect();
        let depth = loops_out as u32;
        b.emit(if goes_on { Op::Continue(depth) } else { Op::Break(depth) }, &values, &[]);
    }
}

fn increment(b: &mut Builder<'_>, value: Value) -> Value {
    let one = b.int(1);
    b.add(value, one)
}
