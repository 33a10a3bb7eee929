//! Expressions: C++ text with its precedence and the variables and memory that it reads.

use crate::func::FuncEmitter;
use crate::{Language, Result};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{Const, InstData, Math, Op, Path, Step, Ty, Type, Value, math_group, type_group};
use cotangent_passes::place::Slot;
use cotangent_passes::precedence::{BOTH, CHOICE, EITHER, EQUALITY, PRIMARY, PRODUCT, RELATION, SUM, UNARY};

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub text: String,
    /// How tightly it binds.
    pub level: u8,
    /// The variables it reads that may change.
    pub slots: Vec<Slot>,
    /// Whether it reads memory.
    pub memory: bool,
    /// Whether it must be evaluated here, and once.
    pub effect: bool,
}

impl Expr {
    pub fn name(text: String) -> Expr {
        Expr { text, level: PRIMARY, slots: vec![], memory: false, effect: false }
    }

    pub fn slot(text: String, slot: Slot) -> Expr {
        Expr { slots: vec![slot], ..Expr::name(text) }
    }

    /// The text, in parentheses if it binds less tightly than asked.
    pub fn at_least(&self, level: u8) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    /// Something made of these parts.
    pub fn of(text: String, level: u8, parts: &[Expr]) -> Expr {
        let mut slots: Vec<Slot> = parts.iter().flat_map(|p| p.slots.iter().copied()).collect();
        slots.dedup();
        let (memory, effect) = (parts.iter().any(|p| p.memory), parts.iter().any(|p| p.effect));
        Expr { text, level, slots, memory, effect }
    }

    /// One of two, by a condition.
    pub fn choice(condition: Expr, a: Expr, b: Expr) -> Expr {
        let parts = [condition, a, b];
        let [c, a, b] = [0, 1, 2].map(|i: usize| parts[i].at_least(CHOICE + 1));
        Expr::of(format!("{c} ? {a} : {b}"), CHOICE, &parts)
    }

    /// This, after others of which nobody wants the value: what of them is more than a name may trap.
    pub fn after<'e>(self, others: impl IntoIterator<Item = &'e Expr>) -> Expr {
        let calls = others.into_iter().filter(|other| other.text.contains('('));
        let first: String = calls.map(|other| format!("(void)({}), ", other.text)).collect();
        match first.is_empty() {
            true => self,
            false => Expr { text: format!("({first}{})", self.text), level: PRIMARY, ..self },
        }
    }

    pub fn call(name: &str, parts: &[Expr]) -> Expr {
        let args: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
        Expr::of(format!("{name}({})", args.join(", ")), PRIMARY, parts)
    }

    fn infix(a: Expr, sign: &str, b: Expr, level: u8) -> Expr {
        // Compilers warn of a comparison in a comparison and of `&&` in `||` that have no parentheses.
        let (left, right) = match level {
            EQUALITY | RELATION => (RELATION + 1, RELATION + 1),
            EITHER if a.level == BOTH => (BOTH + 1, BOTH + 1),
            EITHER => (EITHER, BOTH + 1),
            _ => (level, level + 1),
        };
        let text = format!("{} {sign} {}", a.at_least(left), b.at_least(right));
        Expr::of(text, level, &[a, b])
    }
}

/// A constant of a scalar type.
pub(crate) fn literal(language: Language, constant: Const, s: Scalar) -> Expr {
    let scalar = |s| language.scalar(s);
    let text = match (constant, s) {
        (Const::Bool(b), _) => b.to_string(),
        (Const::Int(n), Scalar::I32) if n == i64::from(i32::MIN) => "(-2147483647 - 1)".to_string(),
        (Const::Int(n), Scalar::I32) => (n as i32).to_string(),
        (Const::Int(n), Scalar::U32) => format!("{}u", n as u32),
        (Const::Int(n), Scalar::U64) => format!("{}({}u)", scalar(s), n as u64),
        (Const::Int(i64::MIN), _) => format!("{}({} - 1)", scalar(s), -i64::MAX),
        (Const::Int(n), s) => format!("{}({n})", scalar(s)),
        (Const::Float(bits), s) => float(f64::from_bits(bits), s),
    };
    let level = if text.starts_with('-') { UNARY } else { PRIMARY };
    Expr { level, ..Expr::name(text) }
}

fn float(x: f64, s: Scalar) -> String {
    let x = cotangent_ir::eval::round(x, s);
    let kind = if s == Scalar::F64 { "double" } else { "float" };
    let mut text = if x.is_nan() {
        format!("ct::not_a_number<{kind}>()")
    } else if x.is_infinite() {
        let sign = if x < 0.0 { "-" } else { "" };
        format!("{sign}ct::infinity<{kind}>()")
    } else if s == Scalar::F64 {
        format!("{x:?}")
    } else {
        format!("{:?}f", x as f32)
    };
    if s == Scalar::F16 {
        text = format!("ct::half({text})");
    }
    text
}

impl FuncEmitter<'_, '_> {
    pub fn shape(&self, value: Value) -> Type {
        self.e.module.types.get(self.func.ty(value))
    }

    /// A constant of a scalar type.
    pub fn literal(&self, constant: Const, s: Scalar) -> Expr {
        literal(self.e.options.language, constant, s)
    }

    /// Zero of any type.
    pub fn zero(&self, ty: Ty) -> Expr {
        if let Type::Scalar(s) = self.e.module.types.get(ty) {
            self.literal(cotangent_ir::eval::zero(s), s)
        } else {
            Expr::name(format!("{}{{}}", self.e.ty(ty)))
        }
    }

    /// The expression of an instruction without regions that changes nothing.
    pub fn pure(&mut self, data: &InstData) -> Result<Expr> {
        let result = data.results[0];
        let ty = self.func.ty(result);
        let to = self.e.ty(ty);
        let args: Vec<Expr> = if let Op::Extract(_) | Op::Load(_) | Op::Point(_) = &data.op {
            vec![]
        } else {
            data.operands.iter().map(|v| self.value(*v)).collect()
        };
        Ok(match &data.op {
            Op::Math(math) => self.math(*math, data, args),
            Op::Const(constant) => {
                if let Type::Scalar(s) = self.e.module.types.get(ty) {
                    self.literal(*constant, s)
                } else {
                    return self.e.unsupported(self.span, "a constant of this type is not supported");
                }
            }
            Op::Zero | Op::Undef => self.zero(ty),
            Op::Select => self.select(data, args),
            Op::Convert => self.convert(data, args),
            Op::Bitcast => Expr::call(&format!("ct::bitcast<{to}>"), &args),
            Op::Splat => Expr::call(&format!("ct::splat<{to}>"), &args),
            Op::Sum => Expr::call("ct::sum", &args),
            Op::Swizzle(lanes) => self.swizzle(lanes, ty, args),
            Op::Dot => Expr::call("ct::dot", &args),
            Op::MatVec => Expr::call("ct::mat_vec", &args),
            Op::VecMat => Expr::call("ct::vec_mat", &args),
            Op::MatMat => Expr::call("ct::mat_mat", &args),
            Op::Outer => Expr::call("ct::outer", &args),
            Op::Transpose => Expr::call("ct::transpose", &args),
            Op::Pack => self.pack(data, ty, &args),
            Op::Extract(path) => {
                let base = self.value(data.operands[0]);
                self.access(base, self.func.ty(data.operands[0]), path, &data.operands[1..])
            }
            Op::Inject(member) => Expr::call(&format!("{to}::make_{}", self.member(ty, *member)), &args),
            Op::Project(member) => {
                let field = self.member(self.func.ty(data.operands[0]), *member);
                let (sum, line) = (args[0].at_least(PRIMARY), self.line_number());
                Expr::of(format!("{sum}.get_{field}({line})"), PRIMARY, &args)
            }
            Op::Tag => {
                let (sum, line) = (args[0].at_least(PRIMARY), self.line_number());
                Expr::of(format!("{sum}.tag({line})"), PRIMARY, &args)
            }
            Op::Detach => args.into_iter().next().expect("it has an operand"),
            Op::Global(_) => self.misplaced(data)?,
            Op::Load(path) => self.load(data, path),
            Op::Length => {
                let word = self.e.scalar(Scalar::U32);
                Expr::of(format!("{word}({}.count)", args[0].at_least(PRIMARY)), PRIMARY, &args)
            }
            Op::Insert(_) | Op::InsertAdd(_) | Op::Store(_) | Op::Assert(_) | Op::Discard => {
                self.misplaced(data)?
            }
            Op::Atomic(_)
            | Op::Barrier(_)
            | Op::Wave(_)
            | Op::Print(_)
            | Op::TargetText(_)
            | Op::StoreTexel => self.misplaced(data)?,
            Op::Sample(how) => self.sample(*how, args),
            Op::Texel => Expr { memory: true, ..Expr::call("ct::texel", &args) },
            Op::Dimensions => Expr::call("ct::dimensions", &args),
            Op::Screen(_) => {
                let what = "an operation on neighbouring pixels is not supported";
                return self.e.refuse(Feature::Screen, self.span, what);
            }
            Op::Point(path) => self.point(data, path),
            Op::Offset => self.offset(&args),
            Op::Address => self.address(&args),
            Op::Pointer => self.cast_pointer(data, &args),
            Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => self.misplaced(data)?,
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => self.misplaced(data)?,
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => self.misplaced(data)?,
        })
    }

    /// The name of a member of a sum.
    fn member(&self, sum: Ty, member: u32) -> String {
        if let Type::Struct(id) | Type::Sum(id) = self.e.module.types.get(sum) {
            self.e.structs.field(id, member).to_string()
        } else {
            String::new()
        }
    }

    fn misplaced(&self, data: &InstData) -> Result<Expr> {
        self.e.unsupported(self.span, format!("`{}` is not supported here", data.op.name()))
    }

    /// A vector, array or structure of parts. A structure has no fields for what is empty.
    fn pack(&self, data: &InstData, ty: Ty, args: &[Expr]) -> Expr {
        let is_struct = matches!(self.e.module.types.get(ty), Type::Struct(_));
        let left_out = |at: usize| is_struct && self.e.is_empty(self.func.ty(data.operands[at]));
        let (gone, kept): (Vec<_>, Vec<_>) = args.iter().enumerate().partition(|(at, _)| left_out(*at));
        let kept: Vec<&str> = kept.iter().map(|(_, a)| a.text.as_str()).collect();
        let whole = Expr::of(format!("{}{{{}}}", self.e.ty(ty), kept.join(", ")), PRIMARY, args);
        whole.after(gone.into_iter().map(|(_, a)| a))
    }

    /// Follows a path from a value.
    pub fn access(&mut self, base: Expr, ty: Ty, path: &Path, indices: &[Value]) -> Expr {
        let (mut ty, mut indices) = (ty, indices.iter());
        let mut text = base.at_least(PRIMARY);
        let mut parts = vec![base];
        // No object is there from here on: only the indices are checked.
        let mut nowhere = self.e.is_empty(ty);
        for step in &path.0 {
            let part = self.e.module.types.part(ty, step.known()).expect("the path fits");
            nowhere |= self.e.is_empty(part);
            match (self.e.module.types.get(ty), step) {
                (_, Step::Part(_)) if nowhere => {}
                (Type::Struct(id) | Type::Sum(id), Step::Part(index)) => {
                    text += &format!(".{}", self.e.structs.field(id, *index));
                }
                (_, Step::Part(index)) => text += &format!("[{index}]"),
                (_, Step::Index) => {
                    let operand = *indices.next().expect("an index");
                    let index = self.value(operand);
                    let count = self.e.module.types.arity(ty).unwrap_or(0);
                    let checked = self.index(operand, &index, count);
                    match nowhere {
                        true => text = Expr::name(checked).after([&Expr::name(text)]).text,
                        false => text += &format!("[{checked}]"),
                    }
                    parts.push(index);
                }
            }
            ty = part;
        }
        match nowhere {
            true => Expr::of(self.zero(ty).after([&Expr::name(text)]).text, PRIMARY, &parts),
            false => Expr::of(text, PRIMARY, &parts),
        }
    }

    /// Whether a path leads to nothing, since what it passes has no data.
    pub fn is_nowhere(&self, ty: Ty, steps: &[Step]) -> bool {
        let mut ty = ty;
        self.e.is_empty(ty)
            || steps.iter().any(|step| {
                ty = self.e.module.types.part(ty, step.known()).expect("the path fits");
                self.e.is_empty(ty)
            })
    }

    /// An index into that many elements, checked unless it is one of them for sure.
    fn index(&self, operand: Value, index: &Expr, count: u32) -> String {
        if self.bounds.is_below(&self.e.module.types, self.func, operand, count) {
            return index.text.clone();
        }
        format!("ct::at({}, {count}, {})", index.text, self.line_number())
    }

    fn select(&self, data: &InstData, args: Vec<Expr>) -> Expr {
        if !matches!(self.shape(data.operands[0]), Type::Scalar(_)) {
            return Expr::call("ct::select", &args);
        }
        let [c, a, b] = [0, 1, 2].map(|i: usize| args[i].clone());
        Expr::choice(c, a, b)
    }

    fn swizzle(&self, lanes: &[u8], ty: Ty, args: Vec<Expr>) -> Expr {
        let list: Vec<String> = lanes.iter().map(|lane| lane.to_string()).collect();
        match self.e.module.types.get(ty) {
            Type::Vector(_, 1) => Expr::call(&format!("ct::swizzle1<{}>", list[0]), &args),
            Type::Scalar(_) => {
                Expr::of(format!("{}[{}]", args[0].at_least(PRIMARY), list[0]), PRIMARY, &args)
            }
            type_group!(unit | number | composite | handle) => {
                Expr::call(&format!("ct::swizzle<{}>", list.join(", ")), &args)
            }
        }
    }

    fn convert(&self, data: &InstData, args: Vec<Expr>) -> Expr {
        let types = &self.e.module.types;
        let [from, to] = [data.operands[0], data.results[0]].map(|v| types.scalar_of(self.func.ty(v)));
        let (Some(from), Some(to)) = (from, to) else { return args[0].clone() };
        let scalar_shape = matches!(self.shape(data.results[0]), Type::Scalar(_));
        let plain = from != Scalar::Bool && from.is_int() && to.is_int()
            || from.is_int() && matches!(to, Scalar::F32 | Scalar::F64)
            || from == Scalar::F32 && to == Scalar::F64;
        let name = if scalar_shape && plain {
            self.e.scalar(to).to_string()
        } else {
            format!("ct::convert<{}>", self.e.scalar(to))
        };
        Expr::call(&name, &args)
    }

    fn math(&self, math: Math, data: &InstData, args: Vec<Expr>) -> Expr {
        let shape = self.shape(data.operands[0]);
        let s = shape.scalar().unwrap_or(Scalar::F32);
        let is_scalar = matches!(shape, Type::Scalar(_));
        // Unsigned integers wrap by themselves; signed ones must not have to, and small ones become `int`.
        let plain = match s {
            Scalar::U32 | Scalar::U64 => true,
            Scalar::I32 | Scalar::I64 if is_scalar => {
                self.bounds.stays(&self.e.module.types, self.func, data)
            }
            Scalar::Bool | scalar_group!(int | float) => s.is_float() || !is_scalar,
        };
        let infix = |sign: &str, level: u8| Expr::infix(args[0].clone(), sign, args[1].clone(), level);
        match math {
            Math::Add if plain => infix("+", SUM),
            Math::Sub if plain => infix("-", SUM),
            Math::Mul if plain => infix("*", PRODUCT),
            Math::Div if s.is_float() || self.divides(data, s) => infix("/", PRODUCT),
            Math::Rem if self.divides(data, s) => infix("%", PRODUCT),
            Math::Neg if s.is_float() => Expr::of(format!("-{}", args[0].at_least(PRIMARY)), UNARY, &args),
            Math::And if is_scalar && s == Scalar::Bool => infix("&&", BOTH),
            Math::Or if is_scalar && s == Scalar::Bool => infix("||", EITHER),
            Math::Not if is_scalar && s == Scalar::Bool => {
                Expr::of(format!("!{}", args[0].at_least(UNARY)), UNARY, &args)
            }
            Math::Eq if is_scalar => infix("==", EQUALITY),
            Math::Ne if is_scalar => infix("!=", EQUALITY),
            Math::Lt if is_scalar => infix("<", RELATION),
            Math::Le if is_scalar => infix("<=", RELATION),
            Math::Gt if is_scalar => infix(">", RELATION),
            Math::Ge if is_scalar => infix(">=", RELATION),
            math_group!(arithmetic | logic | bits | compare | test | round | elementary) => {
                Expr::call(&format!("ct::{}", function(math)), &args)
            }
        }
    }

    /// Whether an integer division neither traps nor overflows: by a constant other than 0 and -1, in at least 32 bits.
    fn divides(&self, data: &InstData, s: Scalar) -> bool {
        let divisor = self.func.op(data.operands[1]);
        s.bits() >= 32
            && s.is_int()
            && matches!(divisor, Some(Op::Const(Const::Int(n))) if !(-1..=0).contains(n))
    }
}

/// The function of the prelude for an operation.
pub(crate) fn function(math: Math) -> &'static str {
    match math {
        Math::And => "bit_and",
        Math::Or => "bit_or",
        Math::Xor => "bit_xor",
        Math::Not => "bit_not",
        Math::CountBits => "count_bits",
        Math::FirstBitLow => "first_bit_low",
        Math::FirstBitHigh => "first_bit_high",
        Math::ReverseBits => "reverse_bits",
        Math::IsNan => "is_nan",
        Math::IsInf => "is_inf",
        Math::Shl | Math::Shr | math_group!(arithmetic | compare | round | elementary) => math.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::function;
    use cotangent_ir::Math;

    #[test]
    fn the_prelude_has_a_function_for_every_operation() {
        let prelude = include_str!("prelude/common.h");
        for math in Math::ALL {
            let name = function(*math);
            // A macro with the name as its first argument defines it, or it is written out.
            let by_macro =
                ["UNARY", "BINARY", "WRAPPING", "COMPARE", "FLOAT"].map(|kind| format!("CT_{kind}({name},"));
            let written = format!(" {name}(T a");
            let is_defined = by_macro.iter().any(|text| prelude.contains(text)) || prelude.contains(&written);
            assert!(is_defined, "`ct::{name}` is missing in prelude/common.h");
        }
    }
}
