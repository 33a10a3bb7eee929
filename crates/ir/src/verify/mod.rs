//! The verifier: checks the invariants of a module, after every pass.
//!
//! - **Tree.** Every instruction and region below a function's body is used once. An exit is the last instruction of its
//!   region, and only there. The recorded definition of every value is correct.
//! - **Scope.** An operand is an argument of an enclosing region, or a result of an earlier instruction of the same or an
//!   enclosing region.
//! - **Types.** Every instruction matches the table in [`op`](crate::op); [`types`] has one function per family.
//! - **Exits.** A `yield` matches the instruction that owns the region, `break` and `continue` the slots of an enclosing
//!   loop, and `return` the outputs of the function. The body of a function ends in a `return`. Only its `yield` leaves the
//!   condition of a `while`.
//! - **Module.** Names are unique, references to functions and globals are valid, and derivative rows match their types.
//!
//! [`verify_linear`] also checks the invariants of linearized functions.

mod linear;
mod module;
mod types;

use crate::{Control, Exit, Func, FuncId, Inst, InstData, Module, Region, Type, Value, ValueDef, text};
use cotangent_base::{EntitySet, Scalar, Symbol};
use std::fmt;

pub use linear::verify_linear;

/// A rule that is broken: a bug of ours, never of the user's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function, unless it is about the module.
    pub func: Option<Symbol>,
    /// The instruction as text, if it is about one.
    pub inst: Option<String>,
    /// What is wrong, in a sentence without a full stop.
    pub rule: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(func) = self.func {
            write!(f, "@{func}: ")?;
        }
        if let Some(inst) = &self.inst {
            write!(f, "`{inst}`: ")?;
        }
        f.write_str(&self.rule)
    }
}

impl std::error::Error for VerifyError {}

/// What a check gives: nothing, or the rule that is broken.
type Check = Result<(), String>;

/// Fails with a message unless the condition holds.
macro_rules! ensure {
    ($cond:expr, $($message:tt)+) => {
        if !$cond {
            return Err(format!($($message)+));
        }
    };
}
use ensure;

/// Checks a whole module.
pub fn verify(module: &Module) -> Result<(), VerifyError> {
    module::check(module).map_err(|rule| VerifyError { func: None, inst: None, rule })?;
    for func in module.funcs.values() {
        verify_func(module, func)?;
    }
    Ok(())
}

/// Checks one function, which need not be in the module.
pub fn verify_func(module: &Module, func: &Func) -> Result<(), VerifyError> {
    let mut verifier = Verifier {
        module,
        func,
        scope: EntitySet::new(),
        insts: EntitySet::new(),
        regions: EntitySet::new(),
        loops: Vec::new(),
        in_condition: false,
        current: None,
    };
    verifier.function().map_err(|rule| VerifyError {
        func: Some(func.name),
        inst: verifier.current.map(|i| text::print_inst(module, func, i)),
        rule,
    })
}

/// What may end a region normally.
#[derive(Clone)]
enum Ending {
    /// A `yield` of these types.
    Yield(Vec<Type>),
    /// Only a `return`: the body of a function.
    Return,
}

struct Verifier<'a> {
    module: &'a Module,
    func: &'a Func,
    /// The values visible here.
    scope: EntitySet<Value>,
    /// The instructions met so far.
    insts: EntitySet<Inst>,
    /// The regions met so far.
    regions: EntitySet<Region>,
    /// The slots of the enclosing loops, innermost last.
    loops: Vec<Vec<Type>>,
    /// Whether the innermost enclosing loop region is a condition.
    in_condition: bool,
    /// The instruction being checked.
    current: Option<Inst>,
}

impl Verifier<'_> {
    fn ty(&self, value: Value) -> Type {
        self.module.types.get(self.func.ty(value))
    }

    fn tys(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|v| self.ty(*v)).collect()
    }

    fn outputs(&self, func: &Func) -> Vec<Type> {
        func.sig.outputs().map(|r| self.module.types.get(r.ty)).collect()
    }

    fn inputs(&self, func: &Func) -> Vec<Type> {
        func.sig.inputs().map(|p| self.module.types.get(p.ty)).collect()
    }

    fn function(&mut self) -> Check {
        let body = self.func.body;
        ensure!(self.func.regions.get(body).is_some(), "the function has no body");
        for &value in self.func.inputs() {
            ensure!(self.func.values.get(value).is_some(), "an input is no value");
        }
        ensure!(
            self.tys(self.func.inputs()) == self.inputs(self.func),
            "the arguments of the body are not the inputs of the signature"
        );
        module::check_func(self.module, self.func)?;
        let written = matches!(self.func.kind, crate::FuncKind::Defined);
        if written || !self.func.regions[body].insts.is_empty() {
            self.region(body, &Ending::Return)?;
        }
        Ok(())
    }

    /// Checks a region; its values are gone from the scope afterwards.
    fn region(&mut self, region: Region, ending: &Ending) -> Check {
        ensure!(self.func.regions.get(region).is_some(), "{region} does not exist");
        ensure!(self.regions.insert(region), "{region} is used twice");
        let func = self.func;
        let data = &func.regions[region];
        let mut defined = Vec::new();
        for (i, &arg) in data.args.iter().enumerate() {
            self.define(arg, ValueDef::Arg(region, i as u32))?;
            defined.push(arg);
        }
        ensure!(!data.insts.is_empty(), "{region} is empty");
        for (i, &inst) in data.insts.iter().enumerate() {
            ensure!(func.insts.get(inst).is_some(), "{inst} does not exist");
            self.current = Some(inst);
            ensure!(self.insts.insert(inst), "the instruction is used twice");
            let last = i + 1 == data.insts.len();
            let is_exit = func.insts[inst].op.is_exit();
            ensure!(!is_exit || last, "an exit must be the last instruction of its region");
            ensure!(is_exit || !last, "the last instruction of a region must be an exit");
            self.inst(inst, ending)?;
            for (i, &result) in func.insts[inst].results.iter().enumerate() {
                self.define(result, ValueDef::Result(inst, i as u32))?;
                defined.push(result);
            }
        }
        for value in defined {
            self.scope.remove(value);
        }
        Ok(())
    }

    fn define(&mut self, value: Value, def: ValueDef) -> Check {
        let data = self.func.values.get(value);
        ensure!(data.is_some_and(|d| d.def == def), "{value} does not say where it is made");
        ensure!(self.scope.insert(value), "{value} is defined twice");
        Ok(())
    }

    fn inst(&mut self, inst: Inst, ending: &Ending) -> Check {
        let func = self.func;
        let data = &func.insts[inst];
        for (i, &operand) in data.operands.iter().enumerate() {
            ensure!(self.scope.contains(operand), "operand {i} is not in scope");
        }
        for &result in &data.results {
            ensure!(func.values.get(result).is_some(), "{result} does not exist");
        }
        types::check(self, data)?;
        match data.op.control() {
            Control::If | Control::Switch(_) => {
                let yields = Ending::Yield(self.tys(&data.results));
                data.regions.iter().try_for_each(|r| self.region(*r, &yields))?;
            }
            Control::While(_) => {
                self.condition(data.regions[0])?;
                self.loop_body(data.regions[1], self.tys(&data.results))?;
            }
            Control::For(_) => self.loop_body(data.regions[0], self.tys(&data.results))?,
            Control::Exit(exit) => self.exit(data, exit, ending)?,
            Control::Plain | Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => {
                ensure!(data.regions.is_empty(), "the operation has no regions");
            }
        }
        self.current = Some(inst);
        Ok(())
    }

    fn condition(&mut self, region: Region) -> Check {
        let loops = std::mem::take(&mut self.loops);
        let outer = std::mem::replace(&mut self.in_condition, true);
        let bool = Type::Scalar(Scalar::Bool);
        self.region(region, &Ending::Yield(vec![bool]))?;
        self.loops = loops;
        self.in_condition = outer;
        Ok(())
    }

    fn loop_body(&mut self, region: Region, slots: Vec<Type>) -> Check {
        self.loops.push(slots.clone());
        self.region(region, &Ending::Yield(slots))?;
        self.loops.pop();
        Ok(())
    }

    fn exit(&self, data: &InstData, exit: Exit, ending: &Ending) -> Check {
        ensure!(data.results.is_empty() && data.regions.is_empty(), "an exit gives nothing");
        let carried = self.tys(&data.operands);
        match exit {
            Exit::Return => {
                ensure!(!self.in_condition, "the condition of a loop must end in `yield`");
                let outputs = self.outputs(self.func);
                ensure!(carried == outputs, "the values are not the outputs of the function");
            }
            Exit::Break(out) | Exit::Continue(out) => {
                let slots = self.loops.len().checked_sub(1 + out as usize).map(|i| &self.loops[i]);
                ensure!(slots.is_some(), "there is no such loop to leave");
                ensure!(slots == Some(&carried), "the values are not the slots of the loop");
            }
            Exit::Yield => {
                let Ending::Yield(types) = ending else {
                    return Err("the body of a function must end in `return`".into());
                };
                ensure!(carried == *types, "the values are not what the region must yield");
            }
        }
        Ok(())
    }

    /// The function called, if it exists.
    fn callee(&self, func: FuncId) -> Result<&Func, String> {
        self.module.funcs.get(func).ok_or_else(|| "there is no such function".to_string())
    }
}
