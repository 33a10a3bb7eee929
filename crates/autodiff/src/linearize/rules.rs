//! Linearizes operations, by linearity class.
//!
//! An operation that is jointly linear in its operands acts on tangents as on values. One that is linear in each operand
//! follows the product rule, and division the quotient rule. No other operation of the IR has a rule here: library functions
//! bring their own rules.
//!
//! ```text
//! y = op a, b      jointly     y_t = op a_t, b_t
//! y = op a, b      each        y_t = op(a_t, b) + op(a, b_t)
//! y = div a, b                 y_t = (a_t - y * b_t) / b
//! ```

use super::Linearizer;
use crate::{codes, tangent};
use cotangent_base::Diagnostic;
use cotangent_ir::{Class, Inst, InstData, Linear, Math, Op, Path, Ty, Type, Value, math_group};

/// Whether tangents of operands may reach the result of this operation, as far as the operation goes.
pub(crate) fn passes_tangents(op: &Op) -> bool {
    if let Op::Math(math) = op {
        return match math.class() {
            Class::Number | Class::Float => !is_stepwise(*math),
            Class::Integer | Class::Bits | Class::Compare | Class::Test => false,
        };
    }
    match op.linear() {
        Linear::Jointly | Linear::Each | Linear::First => true,
        Linear::Inner => !op.is_exit(),
        Linear::No => false,
    }
}

/// Whether it is constant but for jumps.
fn is_stepwise(math: Math) -> bool {
    match math {
        Math::Sign | math_group!(round) => true,
        math_group!(arithmetic | logic | bits | compare | test | elementary) => false,
    }
}

/// The way to the derivative of a part of `from`.
pub(super) fn path(l: &mut Linearizer<'_>, from: Value, path: &Path) -> Option<Path> {
    tangent::differential_path(l.types, l.diff, l.func.ty(from), path)
}

impl Linearizer<'_> {
    /// Emits the tangent of the result of `inst`, unless it is zero.
    pub(super) fn rule(&mut self, inst: Inst) -> Option<Value> {
        let data = self.func.insts[inst].clone();
        if !data.operands.iter().any(|x| self.get(*x).is_some()) {
            return None;
        }
        let ty = data.results.first().and_then(|y| self.differential(*y));
        let ty = ty.filter(|_| passes_tangents(&data.op))?;
        let (a, b) = (data.operands[0], data.operands.get(1).copied());
        match &data.op {
            Op::Math(math) => self.math(*math, &data, ty),
            Op::Convert | Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Transpose => {
                let a_t = self.get(a)?;
                Some(self.linear(data.op.clone(), &[a_t], ty))
            }
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => self.product(&data.op, a, b?, ty),
            Op::Select => {
                let (x_t, y_t) = (self.carried(data.operands[1]), self.carried(data.operands[2]));
                let chosen = self.linear(Op::Select, &[a, x_t, y_t], ty);
                if !self.in_rule() {
                    self.choices.insert(chosen);
                }
                Some(chosen)
            }
            Op::Pack => Some(self.pack(&data, ty)),
            Op::Extract(p) => self.extract(&data, p, ty),
            Op::Insert(p) => self.insert(&data, p, ty),
            Op::InsertAdd(p) => self.insert_add(&data, p, ty),
            Op::Inject(member) => self.inject(&data, *member, ty),
            Op::Project(member) => self.project(&data, *member, ty),
            Op::DiffCall(_) | Op::LinCall(_) | Op::TargetText(_) => self.no_rule(&data),
            // Constructs have files of their own, and the others pass no tangents.
            Op::Call(_) | Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => None,
            Op::Const(_) | Op::Zero | Op::Undef | Op::Bitcast | Op::Detach | Op::Global(_) | Op::Load(_) => {
                None
            }
            Op::Tag | Op::Store(_) | Op::Length | Op::Assert(_) => None,
            Op::Atomic(_) | Op::Barrier(_) | Op::Wave(_) | Op::Print(_) => None,
            Op::Discard | Op::Screen(_) => None,
            Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => None,
            Op::Point(_) | Op::Offset | Op::Address | Op::Pointer => None,
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => None,
        }
    }

    fn math(&mut self, math: Math, data: &InstData, ty: Ty) -> Option<Value> {
        let (a, b) = (data.operands[0], data.operands.get(1).copied());
        match math.linear() {
            Linear::Jointly if math == Math::Add => self.sum(a, b?, ty),
            Linear::Jointly if math == Math::Sub => {
                let (a_t, b_t) = (self.get(a), self.get(b?));
                self.difference(a_t, b_t, ty)
            }
            Linear::Jointly if math == Math::Neg => {
                let a_t = self.get(a)?;
                Some(self.linear(Op::Math(Math::Neg), &[a_t], ty))
            }
            Linear::Each => self.product(&data.op, a, b?, ty),
            Linear::First if math == Math::Div => self.quotient(data.results[0], a, b?, ty),
            Linear::Jointly | Linear::First | Linear::No | Linear::Inner => self.no_rule(data),
        }
    }

    fn sum(&mut self, a: Value, b: Value, ty: Ty) -> Option<Value> {
        match (self.get(a), self.get(b)) {
            (Some(a_t), Some(b_t)) => Some(self.linear(Op::Math(Math::Add), &[a_t, b_t], ty)),
            (a_t, b_t) => a_t.or(b_t),
        }
    }

    fn difference(&mut self, a_t: Option<Value>, b_t: Option<Value>, ty: Ty) -> Option<Value> {
        match (a_t, b_t) {
            (Some(a_t), Some(b_t)) => Some(self.linear(Op::Math(Math::Sub), &[a_t, b_t], ty)),
            (None, Some(b_t)) => Some(self.linear(Op::Math(Math::Neg), &[b_t], ty)),
            (a_t, None) => a_t,
        }
    }

    /// The product rule, for any operation linear in each of two operands alone.
    fn product(&mut self, op: &Op, a: Value, b: Value, ty: Ty) -> Option<Value> {
        let left = self.get(a).map(|a_t| {
            self.coefficient(b);
            self.linear(op.clone(), &[a_t, b], ty)
        });
        let right = self.get(b).map(|b_t| self.linear(op.clone(), &[a, b_t], ty));
        match (left, right) {
            (Some(left), Some(right)) => Some(self.linear(Op::Math(Math::Add), &[left, right], ty)),
            (left, right) => left.or(right),
        }
    }

    /// The quotient rule, in the form that needs no more than `y = a / b` already has.
    fn quotient(&mut self, y: Value, a: Value, b: Value, ty: Ty) -> Option<Value> {
        let a_t = self.get(a);
        let scaled = self.get(b).map(|b_t| {
            self.coefficient(b);
            self.linear(Op::Math(Math::Mul), &[y, b_t], ty)
        });
        let top = self.difference(a_t, scaled, ty)?;
        Some(self.linear(Op::Math(Math::Div), &[top, b], ty))
    }

    /// Parts without a tangent have zero. A structure's parts are found by its row; what no part stands for is
    /// zero as well.
    fn pack(&mut self, data: &InstData, ty: Ty) -> Value {
        let Type::Struct(id) = self.types.get(self.func.ty(data.results[0])) else {
            let parts: Vec<Value> = data.operands.iter().map(|x| self.carried(*x)).collect();
            return self.linear(Op::Pack, &parts, ty);
        };
        let fields = self.diff.get(id).map(|row| row.fields.clone()).unwrap_or_default();
        let mut tangents = vec![None; self.types.arity(ty).unwrap_or(0) as usize];
        for (field, &x) in fields.iter().zip(&data.operands) {
            if let Some(field) = field {
                tangents[*field as usize] = self.get(x);
            }
        }
        if let Some(parts) = tangents.iter().copied().collect::<Option<Vec<Value>>>() {
            return self.linear(Op::Pack, &parts, ty);
        }
        let mut packed = self.zero(ty);
        for (i, x_t) in tangents.into_iter().enumerate() {
            if let Some(x_t) = x_t {
                packed = self.linear(Op::Insert(Path::part(i as u32)), &[packed, x_t], ty);
            }
        }
        packed
    }

    fn extract(&mut self, data: &InstData, part: &Path, ty: Ty) -> Option<Value> {
        let a_t = self.get(data.operands[0])?;
        let part = path(self, data.operands[0], part)?;
        let operands: Vec<Value> = [&[a_t], &data.operands[1..]].concat();
        Some(self.linear(Op::Extract(part), &operands, ty))
    }

    /// `insert(a_t, v_t)`; a part that carries no derivative leaves the tangent alone.
    fn insert(&mut self, data: &InstData, part: &Path, ty: Ty) -> Option<Value> {
        let (a, v) = (data.operands[0], data.operands[1]);
        let Some(part) = path(self, a, part) else {
            return self.get(a);
        };
        let (a_t, v_t) = (self.carried(a), self.carried(v));
        let operands: Vec<Value> = [&[a_t, v_t], &data.operands[2..]].concat();
        Some(self.linear(Op::Insert(part), &operands, ty))
    }

    fn insert_add(&mut self, data: &InstData, part: &Path, ty: Ty) -> Option<Value> {
        let (a, v) = (data.operands[0], data.operands[1]);
        let part = path(self, a, part).filter(|_| self.get(v).is_some());
        let Some(part) = part else { return self.get(a) };
        let (a_t, v_t) = (self.carried(a), self.carried(v));
        let operands: Vec<Value> = [&[a_t, v_t], &data.operands[2..]].concat();
        Some(self.linear(Op::InsertAdd(part), &operands, ty))
    }

    /// The differential of a sum is the sum of its members' differentials: `inject(v_t)`, of the member that holds the
    /// derivative of that member.
    fn inject(&mut self, data: &InstData, member: u32, ty: Ty) -> Option<Value> {
        let v_t = self.get(data.operands[0])?;
        let member = self.derivative_of_member(data.results[0], member)?;
        Some(self.linear(Op::Inject(member), &[v_t], ty))
    }

    /// `project(s_t)`: zero where nothing was added yet.
    fn project(&mut self, data: &InstData, member: u32, ty: Ty) -> Option<Value> {
        let s_t = self.get(data.operands[0])?;
        let member = self.derivative_of_member(data.operands[0], member)?;
        Some(self.linear(Op::Project(member), &[s_t], ty))
    }

    /// The member of the differential that holds the derivative of a member of `sum`.
    fn derivative_of_member(&self, sum: Value, member: u32) -> Option<u32> {
        let Type::Sum(id) = self.types.get(self.func.ty(sum)) else { return None };
        *self.diff.get(id)?.fields.get(member as usize)?
    }

    /// `x` multiplies a tangent. Inside a rule it must not itself stand for one.
    fn coefficient(&mut self, x: Value) {
        if self.in_rule() && self.get(x).is_some() {
            self.nonlinear("a derivative rule multiplies or divides by a tangent".into());
        }
    }

    fn no_rule(&mut self, data: &InstData) -> Option<Value> {
        if self.in_rule() {
            return None;
        }
        let message = format!("no derivative rule for `{}` in `{}`", data.op.name(), self.func.name);
        let diagnostic = Diagnostic::new(codes::NO_RULE, data.span, message).help(
            "call the library function of that name, which has a rule, or drop the derivative with `detach`",
        );
        self.diagnostics.push(diagnostic);
        None
    }
}
