//! Expressions: Slang text with its precedence and the variables that it reads.

use crate::func::{FuncEmitter, Var};
use crate::{Result, types};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::{
    Const, InstData, Math, Op, Path, Step, Ty, Type, Value, math_group, op_group, type_group,
};
use cotangent_passes::precedence::{
    BIT_AND, BIT_OR, BIT_XOR, BOTH, CHOICE, EITHER, EQUALITY, PRIMARY, PRODUCT, RELATION, SHIFT, SUM, UNARY,
};

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub text: String,
    /// How tightly it binds; 0 for a list in braces.
    pub level: u8,
    /// The variables it reads that may change.
    pub reads: Vec<Var>,
}

impl Expr {
    pub fn name(text: String) -> Expr {
        Expr { text, level: PRIMARY, reads: vec![] }
    }

    /// Something made of these parts.
    pub fn of(text: String, level: u8, parts: &[Expr]) -> Expr {
        let mut reads: Vec<Var> = parts.iter().flat_map(|p| p.reads.iter().copied()).collect();
        reads.dedup();
        Expr { text, level, reads }
    }

    pub fn call(name: &str, parts: &[Expr]) -> Expr {
        let args: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
        Expr::of(format!("{name}({})", args.join(", ")), PRIMARY, parts)
    }

    /// The text, in parentheses if it binds less tightly than asked.
    pub fn at_least(&self, level: u8) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    pub fn is_name(&self) -> bool {
        self.level == PRIMARY && self.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    }

    pub fn is_list(&self) -> bool {
        self.level == 0
    }

    /// Operators of one level group from left to right; those on bits and relations stand in parentheses in each other.
    fn infix(parts: &[Expr], sign: &str, level: u8) -> Expr {
        let (left, right) = match level {
            PRODUCT | SUM => (level, level + 1),
            BOTH | EITHER => (level.max(BOTH), BOTH + 1),
            _ => (UNARY, UNARY),
        };
        let text = format!("{} {sign} {}", parts[0].at_least(left), parts[1].at_least(right));
        Expr::of(text, level, parts)
    }
}

impl FuncEmitter<'_, '_> {
    pub fn shape(&self, value: Value) -> Type {
        self.e.module.types.get(self.func.ty(value))
    }

    /// The scalar that a value is made of.
    pub fn scalar(&self, value: Value) -> Scalar {
        self.shape(value).scalar().unwrap_or(Scalar::F32)
    }

    /// A constant of a scalar type.
    pub fn literal(&self, constant: Const, s: Scalar) -> Expr {
        let text = match (constant, s) {
            (Const::Bool(b), _) => b.to_string(),
            (Const::Int(n), Scalar::I32) if n == i64::from(i32::MIN) => "int(-2147483647 - 1)".to_string(),
            (Const::Int(n), Scalar::I32) => (n as i32).to_string(),
            (Const::Int(n), Scalar::U32) => format!("{}u", n as u32),
            (Const::Int(n), Scalar::U64) => format!("{}ull", n as u64),
            (Const::Int(i64::MIN), _) => format!("({}ll - 1ll)", -i64::MAX),
            (Const::Int(n), Scalar::I64) => format!("{n}ll"),
            (Const::Int(n), s) => format!("{}({n})", types::scalar(s)),
            (Const::Float(bits), s) => float(f64::from_bits(bits), s),
        };
        let level = if text.starts_with('-') { UNARY } else { PRIMARY };
        Expr { level, ..Expr::name(text) }
    }

    /// Zero of any type; a list if the type has no literals.
    pub fn zero(&self, ty: Ty) -> Result<Expr> {
        Ok(match self.e.module.types.get(ty) {
            Type::Scalar(s) => self.literal(cotangent_ir::eval::zero(s), s),
            Type::Vector(s, _) => {
                let zero = self.literal(cotangent_ir::eval::zero(s), s);
                Expr::name(format!("{}({})", self.ty(ty)?, zero.text))
            }
            Type::Unit | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
                Expr { level: 0, ..Expr::name("{}".to_string()) }
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
                return self.e.refuse(self.span, "an empty handle is not supported");
            }
        })
    }

    /// The expression of an instruction without regions that changes nothing.
    pub fn pure(&mut self, data: &InstData) -> Result<Expr> {
        let result = data.results[0];
        let ty = self.func.ty(result);
        if let Op::Extract(path) = &data.op {
            let base = self.value(data.operands[0]);
            return self.access(base, self.func.ty(data.operands[0]), path, &data.operands[1..]);
        }
        if let Op::Sum | Op::Outer = data.op {
            data.operands.iter().try_for_each(|v| self.named(*v).map(drop))?;
        }
        let args: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        Ok(match &data.op {
            Op::Math(math) => self.math(*math, data, &args)?,
            Op::Const(constant) => self.literal(*constant, self.scalar(result)),
            Op::Zero | Op::Undef => self.zero(ty)?,
            Op::Select => {
                if let Type::Scalar(_) = self.shape(data.operands[0]) {
                    let [c, a, b] = [0, 1, 2].map(|i: usize| args[i].at_least(CHOICE + 1));
                    Expr::of(format!("{c} ? {a} : {b}"), CHOICE, &args)
                } else {
                    Expr::call("select", &args)
                }
            }
            Op::Convert | Op::Splat => Expr::call(&self.ty(ty)?, &args),
            Op::Bitcast => Expr::call(&format!("bit_cast<{}>", self.ty(ty)?), &args),
            Op::Sum => self.sum(data.operands[0], &args),
            Op::Swizzle(lanes) => {
                let lanes: String = lanes.iter().map(|lane| LANES[usize::from(*lane)]).collect();
                let text = format!("{}.{lanes}", args[0].at_least(PRIMARY));
                if let Type::Vector(_, 1) = self.shape(result) {
                    Expr::of(format!("{}({text})", self.ty(ty)?), PRIMARY, &args)
                } else {
                    Expr::of(text, PRIMARY, &args)
                }
            }
            Op::Dot => Expr::call("dot", &args),
            Op::MatVec | Op::VecMat | Op::MatMat => Expr::call("mul", &args),
            Op::Outer => {
                let Type::Matrix(_, rows, _) = self.shape(result) else { return self.misplaced(data) };
                let row = |r: u8| format!("{}[{r}] * {}", args[0].text, args[1].text);
                let rows: Vec<String> = (0..rows).map(row).collect();
                Expr::of(format!("{}({})", self.ty(ty)?, rows.join(", ")), PRIMARY, &args)
            }
            Op::Transpose => Expr::call("transpose", &args),
            Op::Pack => Expr::call(&self.ty(ty)?, &args),
            Op::Detach => args.into_iter().next().expect("it has an operand"),
            Op::Global(global) => Expr::name(self.e.globals[global].clone()),
            Op::Length => Expr::of(format!("{}.getCount()", args[0].at_least(PRIMARY)), PRIMARY, &args),
            op_group!(
                aggregate | sum | memory | pointer | texture | threads | host | pixel | call | control | exit
            ) => return self.misplaced(data),
        })
    }

    fn misplaced(&self, data: &InstData) -> Result<Expr> {
        self.e.refuse(self.span, format!("`{}` is not supported", data.op.name()))
    }

    /// The sum of the elements, in order.
    fn sum(&self, value: Value, args: &[Expr]) -> Expr {
        let name = &args[0].text;
        let elements: Vec<String> = match self.shape(value) {
            Type::Matrix(_, r, c) => {
                (0..r).flat_map(|r| (0..c).map(move |c| format!("{name}[{r}][{c}]"))).collect()
            }
            Type::Vector(_, n) => (0..n).map(|lane| format!("{name}.{}", LANES[usize::from(lane)])).collect(),
            Type::Scalar(_) | type_group!(unit | composite | handle) => vec![name.clone()],
        };
        Expr::of(elements.join(" + "), SUM, args)
    }

    /// Follows a path from a value.
    pub fn access(&mut self, base: Expr, ty: Ty, path: &Path, indices: &[Value]) -> Result<Expr> {
        let (mut ty, mut indices) = (ty, indices.iter());
        let mut text = base.at_least(PRIMARY);
        let mut parts = vec![base];
        for step in &path.0 {
            match (self.e.module.types.get(ty), step) {
                (Type::Struct(id), Step::Part(number)) => {
                    text += &format!(".{}", self.e.structs.field(id, *number))
                }
                (Type::Vector(_, n), Step::Part(lane)) if n > 1 => {
                    text += &format!(".{}", LANES[*lane as usize]);
                }
                (_, Step::Part(number)) => text += &format!("[{number}]"),
                (_, Step::Index) => {
                    let index = self.value(*indices.next().expect("an index"));
                    text += &format!("[{}]", index.text);
                    parts.push(index);
                }
            }
            ty = self.e.module.types.part(ty, step.known()).expect("the path fits");
        }
        Ok(Expr::of(text, PRIMARY, &parts))
    }

    fn function(&self, math: Math, data: &InstData, args: &[Expr]) -> Result<Expr> {
        match function(math) {
            Some(name) => Ok(Expr::call(name, args)),
            None => self.misplaced(data),
        }
    }

    fn math(&self, math: Math, data: &InstData, args: &[Expr]) -> Result<Expr> {
        let s = self.scalar(data.operands[0]);
        let is_bool = s == Scalar::Bool;
        let infix = |sign: &str, level: u8| Expr::infix(args, sign, level);
        let prefix = |sign: &str| Expr::of(format!("{sign}{}", args[0].at_least(PRIMARY)), UNARY, args);
        let expr = match math {
            Math::Add => infix("+", SUM),
            Math::Sub => infix("-", SUM),
            Math::Mul => infix("*", PRODUCT),
            Math::Div => infix("/", PRODUCT),
            Math::Rem if s.is_float() => self.function(math, data, args)?,
            Math::Rem => infix("%", PRODUCT),
            Math::Neg => prefix("-"),
            Math::And if is_bool => infix("&&", BOTH),
            Math::Or if is_bool => infix("||", EITHER),
            Math::Xor if is_bool => infix("!=", EQUALITY),
            Math::Not if is_bool => prefix("!"),
            Math::And => infix("&", BIT_AND),
            Math::Or => infix("|", BIT_OR),
            Math::Xor => infix("^", BIT_XOR),
            Math::Not => prefix("~"),
            Math::Shl => infix("<<", SHIFT),
            Math::Shr => infix(">>", SHIFT),
            Math::Eq => infix("==", EQUALITY),
            Math::Ne => infix("!=", EQUALITY),
            Math::Lt => infix("<", RELATION),
            Math::Le => infix("<=", RELATION),
            Math::Gt => infix(">", RELATION),
            Math::Ge => infix(">=", RELATION),
            Math::Sign | Math::Abs | Math::Min | Math::Max | Math::Fma => self.function(math, data, args)?,
            Math::CountBits | Math::FirstBitLow | Math::FirstBitHigh | Math::ReverseBits => {
                self.function(math, data, args)?
            }
            math_group!(test | round | elementary) => self.function(math, data, args)?,
        };
        // Small integers become `int` in arithmetic.
        if types::is_small(s) && expr.level < PRIMARY && !matches!(expr.level, RELATION | EQUALITY) {
            let whole = self.ty(self.func.ty(data.results[0]))?;
            return Ok(Expr::of(format!("{whole}({})", expr.text), PRIMARY, args));
        }
        Ok(expr)
    }
}

/// The function of the library that computes an element-wise operation, if it is not an operator and the library has it.
pub(crate) fn function(math: Math) -> Option<&'static str> {
    match math {
        Math::Rem => Some("fmod"),
        Math::Sign => Some("__signum"),
        Math::CountBits => Some("__countbits"),
        Math::FirstBitLow => Some("__firstbitlow"),
        Math::FirstBitHigh => Some("__firstbithigh"),
        Math::RoundEven | Math::Add | Math::Sub | Math::Mul | Math::Div | Math::Neg => None,
        Math::Shl | Math::Shr | math_group!(logic | compare) => None,
        Math::Abs | Math::Min | Math::Max | Math::Fma | Math::ReverseBits => Some(math.name()),
        Math::Floor | Math::Ceil | Math::Round | Math::Trunc | math_group!(test | elementary) => {
            Some(math.name())
        }
    }
}

const LANES: [&str; 4] = ["x", "y", "z", "w"];

fn float(x: f64, s: Scalar) -> String {
    let x = cotangent_ir::eval::round(x, s);
    let of_bits = |bits: u32| match s {
        Scalar::F32 => format!("asfloat({bits:#x}u)"),
        Scalar::Bool | scalar_group!(int | float) => format!("{}(asfloat({bits:#x}u))", types::scalar(s)),
    };
    if x.is_nan() {
        of_bits(0x7fc0_0000)
    } else if x.is_infinite() {
        of_bits(if x < 0.0 { 0xff80_0000 } else { 0x7f80_0000 })
    } else {
        match s {
            Scalar::F64 => format!("{x:?}l"),
            Scalar::F16 => format!("half({:?})", x as f32),
            Scalar::Bool | Scalar::F32 | scalar_group!(int) => format!("{:?}", x as f32),
        }
    }
}
