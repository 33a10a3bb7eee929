//! Runs a tree: a second opinion about what derivatives and effects mean, which uses nothing of the compiler. Input: a tree, a
//! mode (values, forward or reverse) and a point. Output: the numbers and the memory that the program must give.
//!
//! All threads run together under a mask of the active ones, so wave operations are simple. Reverse mode records a tape and plays
//! it backwards. So the effects of the program happen once and in order, followed by those of the custom backward derivatives
//! in the opposite order.

mod derivative;
mod expr;

use super::tape::{Num, Tape, Value};
use super::tree::{Atomic, CELLS, Call, Expr, Func, Mem, Stmt, Tree, Ty, Way};
use expr::waved;
use std::collections::BTreeMap;

/// A set of threads.
type Mask = u32;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Values.
    Value,
    /// `fwd_diff`.
    Forward,
    /// `bwd_diff`.
    Backward,
}

/// The cells of all memory. Integers are stored as `f64`, which holds them exactly.
pub type Memory = BTreeMap<&'static str, Vec<f64>>;

/// The inputs of the function for every thread, with a tangent for each parameter that has a derivative.
#[derive(Clone, Debug)]
pub struct Point {
    /// Per parameter, per thread.
    pub values: Vec<Vec<f64>>,
    pub tangents: Vec<Vec<f64>>,
    /// The cotangent of the result, per thread.
    pub weight: Vec<f64>,
    pub memory: Memory,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Per thread: in value mode the result and what `inout` parameters become; in forward mode the same with their derivatives
    /// after them; in reverse mode the derivative of each parameter that has one.
    pub numbers: Vec<Vec<f64>>,
    pub memory: Memory,
    /// How close the closest comparison was, and the largest number seen.
    pub margin: f64,
    pub largest: f64,
}

/// The tree is not a valid program. Shrinking makes such trees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Senseless;

type Values = Vec<Value>;

#[derive(Default)]
struct Frame {
    vars: BTreeMap<String, Values>,
    loops: Vec<Loop>,
    result: Option<Values>,
}

/// Which threads left a loop, and which wait for its next iteration.
struct Loop {
    label: String,
    left: Mask,
    continued: Mask,
}

struct Machine<'t> {
    tree: &'t Tree,
    mode: Mode,
    /// Whether values are for a derivative, for which substitutes run.
    substitutes: bool,
    tape: Tape,
    memory: Memory,
    margin: f64,
    largest: f64,
    steps: usize,
}

/// Runs the last function of a tree.
pub fn run(tree: &Tree, mode: Mode, point: &Point) -> Result<Outcome, Senseless> {
    let (memory, margin) = (point.memory.clone(), f64::INFINITY);
    let tape = Tape::default();
    let mut machine =
        Machine { tree, mode, substitutes: false, tape, memory, margin, largest: 0.0, steps: 0 };
    let numbers = machine.root(point)?;
    let Machine { memory, margin, largest, .. } = machine;
    Ok(Outcome { numbers, memory, margin, largest })
}

fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask & (1 << lane) != 0)
}

fn zero(ty: Ty) -> Value {
    match ty {
        Ty::Float => Value::Float(Num::default()),
        Ty::Int => Value::Int(0),
        Ty::Bool => Value::Bool(false),
    }
}

impl Machine<'_> {
    fn all(&self) -> Mask {
        (1 << self.tree.threads) - 1
    }

    fn blank(&self, ty: Ty) -> Values {
        vec![zero(ty); self.tree.threads]
    }

    fn root(&mut self, point: &Point) -> Result<Vec<Vec<f64>>, Senseless> {
        let tree = self.tree;
        let root = tree.root();
        let mut args = Vec::new();
        for (at, param) in root.params.iter().enumerate() {
            let one = |lane: usize| {
                let value = point.values[at][lane];
                match param.ty {
                    Ty::Int => Value::Int(value as i32),
                    Ty::Bool => Value::Bool(value != 0.0),
                    Ty::Float => {
                        let varies = param.varies() && self.mode == Mode::Forward;
                        let tangent = if varies { point.tangents[at][lane] } else { 0.0 };
                        Value::Float(Num { value, tangent, id: None })
                    }
                }
            };
            args.push((0..tree.threads).map(one).collect::<Values>());
        }
        if self.mode == Mode::Backward {
            for (param, values) in root.params.iter().zip(&mut args).filter(|(p, _)| p.varies()) {
                debug_assert!(param.varies());
                for value in values {
                    let num = Num { id: Some(self.tape.place()), ..value.num() };
                    *value = Value::Float(num);
                }
            }
        }
        let (result, written) = self.apply(root, &args, self.all())?;
        let result = result.unwrap_or_default();
        let mut numbers = vec![Vec::new(); tree.threads];
        if self.mode == Mode::Backward {
            let mut cotangents = vec![0.0; self.tape.places];
            for lane in 0..tree.threads {
                if let Some(id) = result.get(lane).and_then(|v| v.num().id) {
                    cotangents[id] += point.weight[lane];
                }
                for (at, values) in written.iter().enumerate() {
                    if let Some(id) = values.as_ref().and_then(|v| v[lane].num().id) {
                        cotangents[id] += point.tangents[at][lane];
                    }
                }
            }
            self.unwind(&mut cotangents)?;
            for (lane, numbers) in numbers.iter_mut().enumerate() {
                let ids = args.iter().filter_map(|values| values[lane].num().id);
                numbers.extend(ids.map(|id| cotangents[id]));
            }
            return Ok(numbers);
        }
        for (lane, numbers) in numbers.iter_mut().enumerate() {
            let outputs = result.get(lane).into_iter().chain(written.iter().flatten().map(|v| &v[lane]));
            for value in outputs {
                match value {
                    Value::Float(num) if self.mode == Mode::Forward => {
                        numbers.extend([num.value, num.tangent]);
                    }
                    Value::Float(num) => numbers.push(num.value),
                    Value::Int(int) => numbers.push(f64::from(*int)),
                    Value::Bool(bool) => numbers.push(f64::from(u8::from(*bool))),
                }
            }
        }
        Ok(numbers)
    }

    /// The variables that a method or a generic function sees besides its parameters.
    fn constants(&self, frame: &mut Frame) {
        frame.vars.insert("w".into(), vec![Value::Float(Num::constant(0.5)); self.tree.threads]);
        frame.vars.insert("N".into(), vec![Value::Int(3); self.tree.threads]);
    }

    /// Runs a function in the current mode. Gives its result and the new values of its `inout` parameters.
    fn apply(
        &mut self,
        func: &Func,
        args: &[Values],
        mask: Mask,
    ) -> Result<(Option<Values>, Vec<Option<Values>>), Senseless> {
        match self.mode {
            Mode::Value if self.substitutes => self.frozen(func, args, mask),
            Mode::Value => self.body(func, args, mask),
            Mode::Forward | Mode::Backward => self.apply_derivative(func, args, mask),
        }
    }

    fn body(
        &mut self,
        func: &Func,
        args: &[Values],
        mask: Mask,
    ) -> Result<(Option<Values>, Vec<Option<Values>>), Senseless> {
        let mut frame = Frame::default();
        for (param, arg) in func.params.iter().zip(args) {
            let arg = match param.way {
                Way::NoDiff => arg.iter().map(|v| v.plain()).collect(),
                Way::In | Way::InOut => arg.clone(),
            };
            frame.vars.insert(param.name.clone(), arg);
        }
        self.constants(&mut frame);
        frame.result = func.ret.map(|ty| self.blank(ty));
        let fell = self.block(&mut frame, &func.body, mask)?;
        if fell != 0 && func.ret.is_some() {
            return Err(Senseless);
        }
        let written = func.params.iter().map(|p| match p.way {
            Way::InOut => frame.vars.get(&p.name).cloned(),
            Way::In | Way::NoDiff => None,
        });
        let written = written.collect();
        Ok((frame.result, written))
    }

    /// Runs statements, and gives the threads that reach their end.
    fn block(&mut self, frame: &mut Frame, block: &[Stmt], mut mask: Mask) -> Result<Mask, Senseless> {
        for statement in block {
            if mask == 0 {
                break;
            }
            mask = self.statement(frame, statement, mask)?;
        }
        Ok(mask)
    }

    fn statement(&mut self, frame: &mut Frame, statement: &Stmt, mask: Mask) -> Result<Mask, Senseless> {
        self.steps += 1;
        if self.steps > 200_000 {
            return Err(Senseless);
        }
        match statement {
            Stmt::Let(ty, name, value) => {
                let values = self.expr(frame, value, mask)?;
                let mut new = frame.vars.remove(name).unwrap_or_else(|| self.blank(*ty));
                lanes(mask).for_each(|lane| new[lane] = values[lane]);
                frame.vars.insert(name.clone(), new);
            }
            Stmt::Set(name, value) => {
                let values = self.expr(frame, value, mask)?;
                self.write(frame, name, &values, mask)?;
            }
            Stmt::Store(mem, at, value) => {
                let at = self.expr(frame, at, mask)?;
                let values = self.expr(frame, value, mask)?;
                self.store(*mem, &at, &values, mask)?;
            }
            Stmt::Atomic { mem, op, at, value, old } => {
                let at = self.expr(frame, at, mask)?;
                let values = self.expr(frame, value, mask)?;
                let before = self.atomic(*mem, *op, &at, &values, mask);
                if let Some(old) = old {
                    frame.vars.insert(old.clone(), before);
                }
            }
            Stmt::Wave { name, op, value } => {
                let values = self.expr(frame, value, mask)?;
                let new = waved(*op, &values, mask);
                frame.vars.insert(name.clone(), new);
            }
            Stmt::Do(call) => {
                self.call(frame, call, mask)?;
            }
            Stmt::If(condition, then, other) => {
                let values = self.expr(frame, condition, mask)?;
                let yes: Mask = lanes(mask).filter(|l| values[*l].bool()).map(|l| 1 << l).sum();
                let a = self.block(frame, then, yes)?;
                let b = self.block(frame, other, mask & !yes)?;
                return Ok(a | b);
            }
            Stmt::For { label, counter, bound, body, .. } => {
                return self.looped(frame, label, counter, body, mask, &mut |m, frame, lane, i| {
                    Ok(i < m.expr(frame, bound, 1 << lane)?[lane].int())
                });
            }
            Stmt::While { label, counter, most, condition, body } => {
                return self.looped(frame, label, counter, body, mask, &mut |m, frame, lane, i| {
                    Ok(i64::from(i) < *most && m.expr(frame, condition, 1 << lane)?[lane].bool())
                });
            }
            Stmt::Once { label, body } => {
                frame.loops.push(Loop { label: label.clone(), left: 0, continued: 0 });
                let fell = self.block(frame, body, mask)?;
                let own = frame.loops.pop().ok_or(Senseless)?;
                return Ok(fell | own.left | own.continued);
            }
            Stmt::Break(label) => {
                let target = frame.loops.iter_mut().find(|l| l.label == *label).ok_or(Senseless)?;
                target.left |= mask;
                return Ok(0);
            }
            Stmt::Continue => {
                frame.loops.last_mut().ok_or(Senseless)?.continued |= mask;
                return Ok(0);
            }
            Stmt::Return(value) => {
                if let Some(value) = value {
                    let values = self.expr(frame, value, mask)?;
                    let result = frame.result.as_mut().ok_or(Senseless)?;
                    lanes(mask).for_each(|lane| result[lane] = values[lane]);
                } else if frame.result.is_some() {
                    return Err(Senseless);
                }
                return Ok(0);
            }
        }
        Ok(mask)
    }

    fn store(&mut self, mem: Mem, at: &Values, values: &Values, mask: Mask) -> Result<(), Senseless> {
        for lane in lanes(mask) {
            *self.cell(mem, lane, at[lane].int()) = match values[lane] {
                Value::Float(num) => num.value,
                Value::Int(int) => f64::from(int),
                Value::Bool(_) => return Err(Senseless),
            };
        }
        Ok(())
    }

    /// Threads take turns, in order. Gives what each found.
    fn atomic(&mut self, mem: Mem, op: Atomic, at: &Values, values: &Values, mask: Mask) -> Values {
        let mut before = self.blank(Ty::Int);
        for lane in lanes(mask) {
            let cell = self.cell(mem, lane, at[lane].int());
            let (was, by) = (*cell as i32, values[lane].int());
            before[lane] = Value::Int(was);
            *cell = f64::from(match op {
                Atomic::Add => was.wrapping_add(by),
                Atomic::Max => was.max(by),
                Atomic::Min => was.min(by),
                Atomic::Or => was | by,
                Atomic::Exchange => by,
            });
        }
        before
    }

    /// Runs the iterations of all threads together. `goes` says which threads begin iteration `i`.
    #[expect(clippy::type_complexity, reason = "a closure with what it needs")]
    fn looped(
        &mut self,
        frame: &mut Frame,
        label: &str,
        counter: &str,
        body: &[Stmt],
        mask: Mask,
        goes: &mut dyn FnMut(&mut Self, &mut Frame, usize, i32) -> Result<bool, Senseless>,
    ) -> Result<Mask, Senseless> {
        let (mut active, mut done) = (mask, 0);
        for i in 0.. {
            let mut counters = frame.vars.remove(counter).unwrap_or_else(|| self.blank(Ty::Int));
            lanes(active).for_each(|lane| counters[lane] = Value::Int(i));
            frame.vars.insert(counter.to_string(), counters);
            let mut going = 0;
            for lane in lanes(active) {
                if goes(self, frame, lane, i)? {
                    going |= 1 << lane;
                }
            }
            done |= active & !going;
            if going == 0 || i > 64 {
                break;
            }
            frame.loops.push(Loop { label: label.to_string(), left: 0, continued: 0 });
            let fell = self.block(frame, body, going)?;
            let own = frame.loops.pop().ok_or(Senseless)?;
            done |= own.left;
            active = fell | own.continued;
        }
        Ok(done)
    }

    fn write(
        &mut self,
        frame: &mut Frame,
        name: &str,
        values: &[Value],
        mask: Mask,
    ) -> Result<(), Senseless> {
        let var = frame.vars.get_mut(name).ok_or(Senseless)?;
        lanes(mask).for_each(|lane| var[lane] = values[lane]);
        Ok(())
    }

    fn cell(&mut self, mem: Mem, lane: usize, at: i32) -> &mut f64 {
        let cells = self.memory.entry(mem.name()).or_insert_with(|| vec![0.0; self.tree.threads * CELLS]);
        &mut cells[lane * CELLS + (at & 3) as usize]
    }

    fn call(&mut self, frame: &mut Frame, call: &Call, mask: Mask) -> Result<Option<Values>, Senseless> {
        let tree = self.tree;
        let func = tree.func(&call.func).ok_or(Senseless)?;
        let mut args = Vec::new();
        for arg in &call.args {
            args.push(self.expr(frame, arg, mask)?);
        }
        if args.len() != func.params.len() {
            return Err(Senseless);
        }
        let (result, written) = if call.no_diff {
            let plain: Vec<Values> = args.iter().map(|a| a.iter().map(|v| v.plain()).collect()).collect();
            let derives = self.mode != Mode::Value || self.substitutes;
            self.valued(|m| if derives { m.frozen(func, &plain, mask) } else { m.body(func, &plain, mask) })?
        } else {
            self.apply(func, &args, mask)?
        };
        for (arg, written) in call.args.iter().zip(written) {
            if let Some(written) = written {
                let Expr::Var(name) = arg else { return Err(Senseless) };
                self.write(frame, name, &written, mask)?;
            }
        }
        Ok(result)
    }
}
