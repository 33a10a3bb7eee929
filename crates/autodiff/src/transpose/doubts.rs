//! Finds the *doubtful* cotangents: those that may be zero because the value is not used.
//!
//! ```text
//! %root = sqrt %x
//! for .. { if c { sum += root } }         sum_ct reaches root_ct in some iterations, perhaps in none
//! ```
//!
//! An unused value has a zero cotangent. Zero times a derivative that is infinite or NaN is NaN, which must not spread.
//! [`sink`](mod@cotangent_passes::sink) has moved most such values to where they are used. This pass finds those that it
//! could not move: values that only some iterations of a loop use, only some parts of an aggregate, or only the callee. Their
//! products are guarded:
//!
//! ```text
//! ~root = mul %slope ~x       p = slope * root_ct;  x_ct += select(root_ct == 0 & p is NaN, 0, p)
//! ```
//!
//! Only [`steep`](mod@crate::steep) products with a doubtful cotangent are guarded. A value that is used but has a zero
//! cotangent counts as unused, so its product is zero too where the derivative is infinite. Where the derivative is finite,
//! nothing changes, since a second derivative depends on how the product grows with the cotangent.
//!
//! **Certain cotangents.** One backward sweep, as in [`reach`](super::reach), finds the cotangents that are not doubtful.
//! Those of outputs are certain. The cotangent of an operand is as certain as that of the result, part by part. A value that
//! an `if` captures is certain if every branch makes it so. A value that a loop captures is certain if the loop surely has an
//! iteration. A slot of a loop is first assumed to be as certain as the result; if the sweep of the body finds less, the body
//! is swept again.
//!
//! The pass does not guard products with matrices, nor custom derivatives.

use super::reach::is_wanted;
use super::sure::Sure;
use crate::Context;
use crate::driver::Reported;
use crate::kind::{Kind, kind};
use crate::reverse::backward;
use crate::unzip::LinearFunc;
use cotangent_base::{EntitySet, Map};
use cotangent_ir::{Const, Func, FuncId, InstData, Math, Op, OutputMask, Path, Region, TangentMask, Value};

/// How often the body of a loop is swept, before none of its slots counts as sure.
const ROUNDS: usize = 4;

/// What is not sure in a linear function, and which of its inputs are.
pub struct Doubts {
    /// The results of steep operations and of calls whose cotangent may be zero because nobody used them.
    pub doubtful: EntitySet<Value>,
    /// The tangent inputs that get a cotangent for sure.
    pub inputs: TangentMask,
}

impl Doubts {
    /// What is not sure in `linear` if the given outputs have a cotangent, which is there for sure or not. The values that get a
    /// cotangent are those in `reach`.
    pub fn of(
        cx: &mut Context<'_>,
        linear: &LinearFunc,
        reach: &EntitySet<Value>,
        outputs: &OutputMask,
        certain: bool,
    ) -> Result<Self, Reported> {
        let mut sweep = Sweep { cx, source: linear, reach, sure: Map::default(), doubtful: EntitySet::new() };
        let returned = &linear.func.exit(linear.func.body).operands;
        for (&value, _) in returned.iter().zip(outputs).filter(|(_, seeded)| **seeded && certain) {
            sweep.add(value, Some(Sure::Whole));
        }
        sweep.region(linear.func.body)?;
        let inputs = super::tangents(linear).iter().map(|t| sweep.is_sure(*t)).collect();
        Ok(Doubts { doubtful: sweep.doubtful, inputs })
    }
}

/// What is sure of some values.
type Table = Map<Value, Sure>;

struct Sweep<'a, 'm> {
    cx: &'a mut Context<'m>,
    source: &'a LinearFunc,
    reach: &'a EntitySet<Value>,
    /// What is sure of the values whose users have been seen, given that the region we are in runs.
    sure: Table,
    doubtful: EntitySet<Value>,
}

impl<'a> Sweep<'a, '_> {
    fn func(&self) -> &'a Func {
        &self.source.func
    }

    fn add(&mut self, to: Value, sure: Option<Sure>) {
        let Some(sure) = sure.filter(|_| is_wanted(self.cx, self.source, to)) else { return };
        let sure = match self.sure.remove(&to) {
            Some(known) => known.or(sure),
            None => sure,
        };
        self.sure.insert(to, sure);
    }

    fn is_sure(&self, value: Value) -> bool {
        let ty = self.func().ty(value);
        self.sure.get(&value).is_some_and(|sure| sure.is_whole(&self.cx.module.types, ty))
    }

    fn region(&mut self, region: Region) -> Result<(), Reported> {
        for &inst in self.func().regions[region].insts.iter().rev() {
            let data = &self.func().insts[inst];
            if data.results.iter().any(|result| self.reach.contains(*result)) || !data.regions.is_empty() {
                self.inst(data)?;
            }
        }
        Ok(())
    }

    fn inst(&mut self, data: &'a InstData) -> Result<(), Reported> {
        match kind(&data.op) {
            Kind::Branches => self.branches(data),
            Kind::Counted(_) => self.counted(data),
            Kind::Call(callee) if self.cx.reverse.is_linear_half(callee) => self.call(data, callee),
            Kind::Plain | Kind::Call(_) | Kind::LinCall(_) => {
                self.plain(data);
                Ok(())
            }
            Kind::Memory | Kind::Conditional(_) | Kind::DiffCall(_) | Kind::Exit => Ok(()),
        }
    }

    /// Sweeps a region by itself; gives what it makes sure of values outside of it.
    fn alone(&mut self, region: Region, yields: &[(Value, Option<Sure>)]) -> Result<Table, Reported> {
        let outer = std::mem::take(&mut self.sure);
        for (value, sure) in yields {
            self.add(*value, sure.clone());
        }
        self.region(region)?;
        Ok(std::mem::replace(&mut self.sure, outer))
    }

    fn branches(&mut self, data: &'a InstData) -> Result<(), Reported> {
        let results: Vec<Option<Sure>> = data.results.iter().map(|r| self.sure.remove(r)).collect();
        let mut all: Option<Table> = None;
        for &branch in &data.regions {
            let yields = self.func().exit(branch).operands.iter().copied();
            let table = self.alone(branch, &yields.zip(results.iter().cloned()).collect::<Vec<_>>())?;
            all = Some(match all {
                Some(all) => both(&all, &table),
                None => table,
            });
        }
        for (value, sure) in all.unwrap_or_default() {
            self.add(value, Some(sure));
        }
        Ok(())
    }

    fn counted(&mut self, data: &'a InstData) -> Result<(), Reported> {
        let body = data.regions[0];
        let args = &self.func().regions[body].args[1..];
        let next = &self.func().exit(body).operands;
        let results: Vec<Option<Sure>> = data.results.iter().map(|r| self.sure.remove(r)).collect();
        let mut slots = results.clone();
        for round in 0.. {
            let yields: Vec<_> = next.iter().copied().zip(slots.iter().cloned()).collect();
            let mut table = self.alone(body, &yields)?;
            let begun: Vec<Option<Sure>> = args.iter().map(|arg| table.remove(arg)).collect();
            let and = |(a, b): (&Option<Sure>, &Option<Sure>)| a.as_ref()?.and(b.as_ref()?);
            let less: Vec<Option<Sure>> = results.iter().zip(&begun).map(and).collect();
            if less != slots {
                slots = if round < ROUNDS { less } else { vec![None; results.len()] };
                continue;
            }
            let runs = matches!(self.func().op(data.operands[0]), Some(Op::Const(Const::Int(n))) if *n > 0);
            for (&init, sure) in data.operands[1..].iter().zip(if runs { begun } else { slots }) {
                self.add(init, sure);
            }
            if runs {
                table.into_iter().for_each(|(value, sure)| self.add(value, Some(sure)));
            }
            break;
        }
        Ok(())
    }

    fn call(&mut self, data: &'a InstData, callee: FuncId) -> Result<(), Reported> {
        let outputs: OutputMask = data.results.iter().map(|r| self.reach.contains(*r)).collect();
        let reached: Vec<Value> = data.results.iter().copied().filter(|r| self.reach.contains(*r)).collect();
        if reached.iter().all(|result| self.is_sure(*result)) {
            let inputs = backward::certain(self.cx, callee, &outputs)?;
            let tangents = &data.operands[data.operands.len() - inputs.len()..];
            for (&tangent, _) in tangents.iter().zip(&inputs).filter(|(_, sure)| **sure) {
                self.add(tangent, Some(Sure::Whole));
            }
        } else {
            self.doubtful.extend(reached);
        }
        Ok(())
    }

    fn plain(&mut self, data: &'a InstData) {
        let is_whole = data.results.iter().all(|result| self.is_sure(*result));
        let Some(&result) = data.results.first() else { return };
        if !is_whole && self.source.steep.contains(result) {
            self.doubtful.insert(result);
        }
        let Some(y) = self.sure.remove(&result) else { return };
        self.rule(data, y, is_whole);
    }

    /// Hands on what is sure of the result of an operation: all of it, or some parts.
    fn rule(&mut self, data: &'a InstData, y: Sure, is_whole: bool) {
        let operands = &data.operands[..];
        match &data.op {
            Op::Math(Math::Add | Math::Sub | Math::Neg | Math::Mul | Math::Div) | Op::Convert => {
                operands.iter().for_each(|operand| self.add(*operand, Some(y.clone())));
            }
            // One lane is enough for a sum.
            Op::Splat | Op::Sum => self.add(operands[0], Some(Sure::Whole)),
            Op::Swizzle(lanes) => {
                for (i, &lane) in lanes.iter().enumerate() {
                    let part =
                        if lanes.len() == 1 { Some(y.clone()) } else { y.part(&Path::part(i as u32).0) };
                    self.add(operands[0], part.and_then(|part| part.at(&Path::part(lane.into()).0)));
                }
            }
            Op::Pack => {
                for (i, &operand) in operands.iter().enumerate() {
                    self.add(operand, y.part(&Path::part(i as u32).0));
                }
            }
            Op::Extract(path) => self.add(operands[0], y.at(&path.0)),
            Op::Insert(path) => {
                self.add(operands[1], y.part(&path.0));
                let ty = self.func().ty(operands[0]);
                let rest = y.without(&self.cx.module.types, ty, &path.0);
                self.add(operands[0], rest);
            }
            Op::InsertAdd(path) => {
                self.add(operands[1], y.part(&path.0));
                self.add(operands[0], Some(y));
            }
            // The user's sum.
            Op::Call(_) => operands.iter().for_each(|operand| self.add(*operand, Some(y.clone()))),
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer | Op::Transpose => {
                self.add_all(operands, is_whole);
            }
            Op::Inject(_) | Op::Project(_) | Op::LinCall(_) => self.add_all(operands, is_whole),
            // Whichever it is, the other one is not used. Rules choose without a doubt: that is about slopes, not about use.
            Op::Select if self.source.choices.contains(data.results[0]) => {}
            Op::Select => operands[1..].iter().for_each(|operand| self.add(*operand, Some(y.clone()))),
            // These are not linear, or have no operands.
            Op::Math(_) | Op::Const(_) | Op::Zero | Op::Undef | Op::Bitcast | Op::Tag | Op::Detach => {}
            Op::DiffCall(_) | Op::Global(_) | Op::Load(_) | Op::Store(_) | Op::Atomic(_) => {}
            Op::Barrier(_)
            | Op::Wave(_)
            | Op::Print(_)
            | Op::TargetText(_)
            | Op::Point(_)
            | Op::Offset
            | Op::Address
            | Op::Pointer => {}
            Op::Length | Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => {}
            Op::Assert(_) | Op::Discard | Op::Screen(_) => {}
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => {}
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => {}
        }
    }

    fn add_all(&mut self, operands: &[Value], is_whole: bool) {
        let sure = is_whole.then_some(Sure::Whole);
        operands.iter().for_each(|operand| self.add(*operand, sure.clone()));
    }
}

/// What is sure in both of two branches.
fn both(a: &Table, b: &Table) -> Table {
    a.iter().filter_map(|(value, sure)| Some((*value, sure.and(b.get(value)?)?))).collect()
}
