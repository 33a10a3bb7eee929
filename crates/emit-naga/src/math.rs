//! Emits operations that are one naga expression, or a few.

use crate::func::FuncEmitter;
use crate::narrow::may_overflow;
use crate::types::{is_native_matrix, vector_size};
use crate::words::is_narrow;
use crate::{Result, unsupported};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::Target;
use cotangent_ir::{Const, InstData, Math, Op, Ty, Type, Value, math_group, op_group, type_group};
use naga::{BinaryOperator, Expression, Handle, MathFunction, ScalarKind, UnaryOperator};

type Expr = Handle<Expression>;

impl FuncEmitter<'_, '_> {
    /// The result of an operation without regions or effects, in the bits that its type has.
    pub fn operation(&mut self, data: &InstData) -> Result<Expr> {
        let result = self.plain_operation(data)?;
        let Some(ty) = data.results.first().map(|v| self.func.ty(*v)) else { return Ok(result) };
        match self.module().types.get(ty) {
            Type::Scalar(s) if may_overflow(&data.op) => Ok(self.wrapped(result, s, None)),
            Type::Vector(s, n) if may_overflow(&data.op) => Ok(self.wrapped(result, s, vector_size(n))),
            Type::Matrix(s, r, c) if may_overflow(&data.op) && is_narrow(s) => {
                let rows = (0..u32::from(r)).map(|index| {
                    let row = self.expr(Expression::AccessIndex { base: result, index });
                    self.wrapped(row, s, vector_size(c))
                });
                let rows = rows.collect();
                self.compose(ty, rows)
            }
            type_group!(unit | number | composite | handle) => Ok(result),
        }
    }

    fn plain_operation(&mut self, data: &InstData) -> Result<Expr> {
        let ty = data.results.first().map(|v| self.func.ty(*v));
        let Some(ty) = ty else {
            return unsupported(self.span, format!("`{}` is not supported", data.op.name()));
        };
        match &data.op {
            Op::Math(math) => self.math(*math, data, ty),
            Op::Const(constant) => self.literal(*constant, ty),
            Op::Zero | Op::Undef => self.zero(ty),
            Op::Select => self.select(data, ty),
            Op::Convert => self.convert(data.operands[0], ty, true),
            Op::Bitcast => self.bitcast(data.operands[0], ty),
            Op::Splat => {
                let a = self.value(data.operands[0]);
                self.splat(a, ty)
            }
            Op::Sum => self.sum(data.operands[0], ty),
            Op::Swizzle(lanes) => self.swizzle(data.operands[0], lanes, ty),
            Op::Dot => Ok(self.dot(data)),
            Op::MatVec | Op::VecMat | Op::MatMat => self.product(data, ty),
            Op::Outer => self.outer(data, ty),
            Op::Transpose => self.transpose(data, ty),
            Op::Pack => {
                let parts = data.operands.iter().map(|v| self.value(*v)).collect();
                self.compose(ty, parts)
            }
            Op::Extract(path) => self.extract(data, path),
            Op::Detach => Ok(self.value(data.operands[0])),
            Op::Load(path) => self.load(data, path),
            Op::Length => Ok(self.length(data.operands[0])),
            Op::Sample(how) => self.sample(data, *how),
            Op::Texel => self.texel(data),
            Op::Dimensions => self.dimensions(data),
            Op::Screen(screen) => self.screen(data, *screen),
            Op::Insert(_)
            | Op::InsertAdd(_)
            | Op::StoreTexel
            | Op::Discard
            | op_group!(sum | memory | pointer | threads | host | call | control | exit) => {
                unsupported(self.span, format!("`{}` is not supported here", data.op.name()))
            }
        }
    }

    pub fn scalar_of(&self, value: Value) -> Scalar {
        self.module().types.scalar_of(self.func.ty(value)).unwrap_or(Scalar::F32)
    }

    pub fn binary(&mut self, op: BinaryOperator, left: Expr, right: Expr) -> Expr {
        self.expr(Expression::Binary { op, left, right })
    }

    pub fn call1(&mut self, fun: MathFunction, arg: Expr) -> Expr {
        self.expr(Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None })
    }

    fn math(&mut self, math: Math, data: &InstData, ty: Ty) -> Result<Expr> {
        if let Type::Matrix(s, r, c) = self.module().types.get(self.func.ty(data.operands[0])) {
            let whole = matches!(math, Math::Add | Math::Sub) && is_native_matrix(s, r, c);
            if !whole {
                return self.by_rows(math, data, ty, (s, r, c));
            }
        }
        let mut operands: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        if matches!(math, Math::Div | Math::Rem) && self.is_zero_somewhere(data.operands[1]) {
            operands[1] = self.unseen(data.operands[1])?;
        }
        if matches!(math, Math::Shl | Math::Shr)
            && let Some(Op::Const(Const::Int(n))) = self.func.op(data.operands[1])
        {
            // A number of 64 bits that is known is not converted: naga does not read that.
            operands[1] = self.expr(Expression::Literal(naga::Literal::U32(*n as u32)));
        }
        let shape = self.func.ty(data.operands[0]);
        self.scalar_math(math, self.scalar_of(data.operands[0]), shape, &operands)
    }

    /// Whether an integer, or one of several, is known to be zero.
    fn is_zero_somewhere(&self, value: Value) -> bool {
        let Some(data) = self.func.def(value).filter(|_| self.scalar_of(value).is_int()) else {
            return false;
        };
        if let Op::Const(constant) = &data.op {
            return *constant == Const::Int(0);
        }
        // What was not assigned is written as zero.
        matches!(data.op, Op::Zero | Op::Undef)
            || matches!(data.op, Op::Splat | Op::Pack)
                && data.operands.iter().any(|v| self.is_zero_somewhere(*v))
    }

    /// An element-wise operation on scalars or vectors of `s`.
    pub fn scalar_math(&mut self, math: Math, s: Scalar, shape: Ty, v: &[Expr]) -> Result<Expr> {
        use BinaryOperator as B;
        use MathFunction as M;
        let boolean = s == Scalar::Bool;
        self.check_math(math, s)?;
        let fun = match math {
            Math::Add => return Ok(self.binary(B::Add, v[0], v[1])),
            Math::Sub => return Ok(self.binary(B::Subtract, v[0], v[1])),
            Math::Mul => return Ok(self.binary(B::Multiply, v[0], v[1])),
            Math::Div => return Ok(self.binary(B::Divide, v[0], v[1])),
            Math::Rem => return Ok(self.binary(B::Modulo, v[0], v[1])),
            Math::And => return Ok(self.binary(B::And, v[0], v[1])),
            Math::Or => return Ok(self.binary(B::InclusiveOr, v[0], v[1])),
            Math::Xor if boolean => return Ok(self.binary(B::NotEqual, v[0], v[1])),
            Math::Xor => return Ok(self.binary(B::ExclusiveOr, v[0], v[1])),
            Math::Eq => return Ok(self.binary(B::Equal, v[0], v[1])),
            Math::Ne if s.is_float() && matches!(self.emitter.target, Target::SpirV | Target::Wgsl) => {
                // naga's SPIR-V, which wgpu makes of WGSL too, takes a NaN for equal to itself.
                let expr = self.binary(B::Equal, v[0], v[1]);
                return Ok(self.expr(Expression::Unary { op: UnaryOperator::LogicalNot, expr }));
            }
            Math::Ne => return Ok(self.binary(B::NotEqual, v[0], v[1])),
            Math::Lt => return Ok(self.binary(B::Less, v[0], v[1])),
            Math::Le => return Ok(self.binary(B::LessEqual, v[0], v[1])),
            Math::Gt => return Ok(self.binary(B::Greater, v[0], v[1])),
            Math::Ge => return Ok(self.binary(B::GreaterEqual, v[0], v[1])),
            Math::Shl => return self.shift(B::ShiftLeft, s, shape, v),
            Math::Shr => return self.shift(B::ShiftRight, s, shape, v),
            Math::Neg => return self.negate(s, shape, v[0]),
            Math::Not => {
                let op = if boolean { UnaryOperator::LogicalNot } else { UnaryOperator::BitwiseNot };
                return Ok(self.expr(Expression::Unary { op, expr: v[0] }));
            }
            Math::IsNan => return self.classify(s, shape, v[0], B::Greater),
            Math::IsInf => return self.classify(s, shape, v[0], B::Equal),
            Math::Round => return self.round_away(shape, v[0]),
            Math::Log10 => return self.log10(shape, v[0]),
            Math::Abs => M::Abs,
            // naga's SPIR-V has no sign of unsigned numbers.
            Math::Sign if !s.is_float() && !s.is_signed() => {
                let arg1 = Some(self.constant(Const::Int(1), shape)?);
                let (fun, arg) = (M::Min, v[0]);
                return Ok(self.expr(Expression::Math { fun, arg, arg1, arg2: None, arg3: None }));
            }
            Math::Sign => M::Sign,
            Math::Min => M::Min,
            Math::Max => M::Max,
            Math::Fma => M::Fma,
            Math::CountBits => M::CountOneBits,
            Math::FirstBitLow => M::FirstTrailingBit,
            Math::FirstBitHigh => M::FirstLeadingBit,
            Math::ReverseBits => M::ReverseBits,
            Math::Floor => M::Floor,
            Math::Ceil => M::Ceil,
            Math::RoundEven => M::Round,
            Math::Trunc => M::Trunc,
            Math::Sqrt => M::Sqrt,
            Math::Rsqrt => M::InverseSqrt,
            Math::Exp => M::Exp,
            Math::Exp2 => M::Exp2,
            Math::Log => M::Log,
            Math::Log2 => M::Log2,
            Math::Pow => return self.power(s, shape, v),
            Math::Sin => M::Sin,
            Math::Cos => M::Cos,
            Math::Tan => M::Tan,
            Math::Asin => M::Asin,
            Math::Acos => M::Acos,
            Math::Atan => M::Atan,
            Math::Atan2 => M::Atan2,
            Math::Sinh => M::Sinh,
            Math::Cosh => M::Cosh,
            Math::Tanh => M::Tanh,
            Math::Asinh => M::Asinh,
            Math::Acosh => M::Acosh,
            Math::Atanh => M::Atanh,
        };
        Ok(self.expr(Expression::Math {
            fun,
            arg: v[0],
            arg1: v.get(1).copied(),
            arg2: v.get(2).copied(),
            arg3: None,
        }))
    }

    /// Refuses what the target does not do to numbers of this size.
    fn check_math(&self, math: Math, s: Scalar) -> Result<()> {
        let counts_bits = match math {
            Math::CountBits | Math::FirstBitLow | Math::FirstBitHigh | Math::ReverseBits => true,
            Math::Shl | Math::Shr => false,
            math_group!(arithmetic | logic | compare | test | round | elementary) => false,
        };
        if counts_bits && (is_narrow(s) || s.bits() == 64) {
            return unsupported(self.span, format!("`{}` of {s} is not supported", math.name()));
        }
        if s != Scalar::F64 {
            return Ok(());
        }
        use Math as M;
        let feature = match math {
            M::Sqrt | M::Rsqrt | M::Floor | M::Ceil | M::RoundEven | M::Round | M::Trunc | M::Rem => {
                Feature::DoubleRounding
            }
            M::Exp | M::Exp2 | M::Log | M::Log2 | M::Log10 | M::Pow | M::Sin | M::Cos | M::Tan => {
                Feature::DoubleMath
            }
            M::Asin | M::Acos | M::Atan | M::Atan2 | M::Sinh | M::Cosh | M::Tanh => Feature::DoubleMath,
            M::Asinh | M::Acosh | M::Atanh => Feature::DoubleMath,
            M::Add | M::Sub | M::Mul | M::Div | M::Neg | M::Abs | M::Sign | M::Min | M::Max | M::Fma => {
                return Ok(());
            }
            M::And | M::Or | M::Xor | M::Not | M::Shl | M::Shr | M::CountBits => return Ok(()),
            M::FirstBitLow | M::FirstBitHigh | M::ReverseBits => return Ok(()),
            M::Eq | M::Ne | M::Lt | M::Le | M::Gt | M::Ge | M::IsNan | M::IsInf => return Ok(()),
        };
        self.emitter.require(feature, self.span, &format!("`{}` of a double is not supported", math.name()))
    }

    /// Shift amounts are unsigned there. naga takes them modulo the width, which for narrow integers is ours to do.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn shift(&mut self, op: BinaryOperator, s: Scalar, shape: Ty, v: &[Expr]) -> Result<Expr> {
        // A front end of WGSL does not take a 64-bit constant for a 32-bit one.
        let (amount, lanes) = match self.out.expressions[v[1]] {
            Expression::Splat { size, value } => (value, Some(size)),
            _ => (v[1], None),
        };
        let known = match self.out.expressions[amount] {
            Expression::Literal(naga::Literal::I64(n)) => Some(n as u32),
            Expression::Literal(naga::Literal::U64(n)) => Some(n as u32),
            Expression::Literal(naga::Literal::I32(n)) => Some(n as u32),
            Expression::Literal(naga::Literal::U32(n)) => Some(n),
            _ => None,
        };
        if let Some(n) = known {
            let amount = self.expr(Expression::Literal(naga::Literal::U32(n % s.bits())));
            let amount = lanes.map_or(amount, |size| self.expr(Expression::Splat { size, value: amount }));
            return Ok(self.binary(op, v[0], amount));
        }
        let mut amount = self.expr(Expression::As { expr: v[1], kind: ScalarKind::Uint, convert: Some(4) });
        if is_narrow(s) || self.emitter.target != Target::Wgsl {
            let lanes =
                if let Type::Vector(_, n) = self.module().types.get(shape) { vector_size(n) } else { None };
            let one = self.expr(Expression::Literal(naga::Literal::U32(s.bits() - 1)));
            let mask = lanes.map_or(one, |size| self.expr(Expression::Splat { size, value: one }));
            amount = self.binary(BinaryOperator::And, amount, mask);
        }
        Ok(self.binary(op, v[0], amount))
    }

    /// `a` to the power `b`. WGSL says nothing of a negative base, nor of a zero to the power zero or one to that of infinity: the
    /// magnitude is raised, and what is raised to an odd number keeps its sign.
    fn power(&mut self, s: Scalar, shape: Ty, v: &[Expr]) -> Result<Expr> {
        let [zero, one, two] = [0.0, 1.0, 2.0].map(|x| self.float(x, s, shape));
        let (zero, one, two) = (zero?, one?, two?);
        let base = self.call1(MathFunction::Abs, v[0]);
        let power =
            |arg| Expression::Math { fun: MathFunction::Pow, arg, arg1: Some(v[1]), arg2: None, arg3: None };
        let raised = self.expr(power(base));
        let half = self.binary(BinaryOperator::Divide, v[1], two);
        let floor = self.call1(MathFunction::Floor, half);
        let even = self.binary(BinaryOperator::Equal, half, floor);
        let whole = self.call1(MathFunction::Floor, v[1]);
        let whole = self.binary(BinaryOperator::Equal, v[1], whole);
        let negated = self.expr(Expression::Unary { op: UnaryOperator::Negate, expr: raised });
        let signed = self.expr(Expression::Select { condition: even, accept: raised, reject: negated });
        // For a number that is not an integer, the device returns NaN.
        let other = self.expr(power(v[0]));
        let below = self.expr(Expression::Select { condition: whole, accept: signed, reject: other });
        let negative = self.binary(BinaryOperator::Less, v[0], zero);
        let result = self.expr(Expression::Select { condition: negative, accept: below, reject: raised });
        let none = self.binary(BinaryOperator::Equal, v[1], zero);
        let unit = self.binary(BinaryOperator::Equal, v[0], one);
        let condition = self.binary(BinaryOperator::InclusiveOr, none, unit);
        Ok(self.expr(Expression::Select { condition, accept: one, reject: result }))
    }

    /// A number in every lane.
    fn float(&mut self, x: f64, s: Scalar, shape: Ty) -> Result<Expr> {
        let Some(scalar) = self.module().types.find(Type::Scalar(s)) else {
            return unsupported(self.span, "this number is not supported");
        };
        let value = self.literal(Const::float(x), scalar)?;
        if shape == scalar { Ok(value) } else { self.splat(value, shape) }
    }

    fn negate(&mut self, s: Scalar, shape: Ty, a: Expr) -> Result<Expr> {
        if s.is_float() || s.is_signed() {
            return Ok(self.expr(Expression::Unary { op: UnaryOperator::Negate, expr: a }));
        }
        let zero = self.zero(shape)?;
        Ok(self.binary(BinaryOperator::Subtract, zero, a))
    }

    /// A constant in the shape of `ty`.
    fn constant(&mut self, value: Const, ty: Ty) -> Result<Expr> {
        let Type::Vector(s, n) = self.module().types.get(ty) else {
            return self.literal(value, ty);
        };
        let Some(scalar) = self.module().types.find(Type::Scalar(s)) else {
            return unsupported(self.span, "this constant is not supported");
        };
        let one = self.literal(value, scalar)?;
        Ok(vector_size(n).map_or(one, |size| self.expr(Expression::Splat { size, value: one })))
    }

    /// Compares the bits without the sign with those of infinity.
    fn classify(&mut self, s: Scalar, shape: Ty, a: Expr, op: BinaryOperator) -> Result<Expr> {
        let a = match s {
            // The numbers between its largest and infinity become infinite too, in a test for NaN only.
            Scalar::F64 if op == BinaryOperator::Equal => {
                let largest = self.constant(Const::float(f64::MAX), shape)?;
                let magnitude = self.call1(MathFunction::Abs, a);
                return Ok(self.binary(BinaryOperator::Greater, magnitude, largest));
            }
            Scalar::F16 | Scalar::F64 => {
                self.expr(Expression::As { expr: a, kind: ScalarKind::Float, convert: Some(4) })
            }
            Scalar::Bool | Scalar::F32 | scalar_group!(int) => a,
        };
        let bits = self.expr(Expression::As { expr: a, kind: ScalarKind::Uint, convert: None });
        let lanes =
            if let Type::Vector(_, n) = self.module().types.get(shape) { vector_size(n) } else { None };
        let word = |e: &mut Self, n: u32| {
            let one = e.expr(Expression::Literal(naga::Literal::U32(n)));
            lanes.map_or(one, |size| e.expr(Expression::Splat { size, value: one }))
        };
        let (mask, infinity) = (word(self, 0x7fff_ffff), word(self, 0x7f80_0000));
        let magnitude = self.binary(BinaryOperator::And, bits, mask);
        Ok(self.binary(op, magnitude, infinity))
    }

    /// Halves away from zero: the integer part, and one more if what it leaves is a half or more. (Adding a half
    /// first would round once too often.)
    fn round_away(&mut self, shape: Ty, a: Expr) -> Result<Expr> {
        let half = self.constant(Const::float(0.5), shape)?;
        let (whole, sign) = (self.call1(MathFunction::Trunc, a), self.call1(MathFunction::Sign, a));
        let rest = self.binary(BinaryOperator::Subtract, a, whole);
        let rest = self.call1(MathFunction::Abs, rest);
        let condition = self.binary(BinaryOperator::GreaterEqual, rest, half);
        let accept = self.binary(BinaryOperator::Add, whole, sign);
        Ok(self.expr(Expression::Select { condition, accept, reject: whole }))
    }

    fn log10(&mut self, shape: Ty, a: Expr) -> Result<Expr> {
        let factor = self.constant(Const::float(std::f64::consts::LOG10_2), shape)?;
        let log2 = self.call1(MathFunction::Log2, a);
        Ok(self.binary(BinaryOperator::Multiply, log2, factor))
    }

    fn select(&mut self, data: &InstData, ty: Ty) -> Result<Expr> {
        let [condition, accept, reject] = [0, 1, 2].map(|i| self.value(data.operands[i]));
        let types = &self.module().types;
        match (types.get(ty), types.get(self.func.ty(data.operands[0]))) {
            (Type::Scalar(_) | Type::Vector(..), _) => {
                Ok(self.expr(Expression::Select { condition, accept, reject }))
            }
            (_, Type::Scalar(_)) => {
                let var = self.new_variable(ty, self.name_of(data.results[0]))?;
                let [accept, reject] = [accept, reject].map(|value| {
                    self.block(|e| {
                        e.store_var(var, value);
                        Ok(())
                    })
                });
                self.statement(naga::Statement::If { condition, accept: accept?, reject: reject? });
                Ok(self.load_var(var))
            }
            _ => {
                let rows = types.arity(ty).unwrap_or(0);
                let mut parts = Vec::new();
                for index in 0..rows {
                    let [condition, accept, reject] = [condition, accept, reject]
                        .map(|base| self.expr(Expression::AccessIndex { base, index }));
                    parts.push(self.expr(Expression::Select { condition, accept, reject }));
                }
                self.compose(ty, parts)
            }
        }
    }

    fn sum(&mut self, a: Value, ty: Ty) -> Result<Expr> {
        let (base, shape) = (self.value(a), self.func.ty(a));
        let types = &self.module().types;
        let (count, inner) = match types.get(shape) {
            Type::Vector(_, 1) => return Ok(base),
            Type::Matrix(s, r, c) => (u32::from(r), types.find(Type::Vector(s, c))),
            type_group!(unit | number | composite | handle) => (types.arity(shape).unwrap_or(0), None),
        };
        let mut total = None;
        for index in 0..count {
            let part = self.expr(Expression::AccessIndex { base, index });
            total = Some(match total {
                None => part,
                Some(sum) => self.add(sum, part, inner.unwrap_or(ty))?,
            });
        }
        match (total, inner, self.module().types.get(shape)) {
            // A row of one number is that number.
            (Some(row), Some(_), Type::Matrix(_, _, 1)) => Ok(row),
            (Some(row), Some(_), Type::Matrix(_, _, c)) => {
                let mut sum = self.expr(Expression::AccessIndex { base: row, index: 0 });
                for index in 1..u32::from(c) {
                    let lane = self.expr(Expression::AccessIndex { base: row, index });
                    sum = self.binary(BinaryOperator::Add, sum, lane);
                }
                Ok(sum)
            }
            (Some(sum), ..) => Ok(sum),
            (None, ..) => self.zero(ty),
        }
    }

    fn swizzle(&mut self, a: Value, lanes: &[u8], ty: Ty) -> Result<Expr> {
        let vector = self.value(a);
        let from_one =
            matches!(self.module().types.get(self.func.ty(a)), Type::Vector(_, 1) | Type::Scalar(_));
        if from_one {
            return self.splat(vector, ty);
        }
        let Some(size) = vector_size(lanes.len() as u8) else {
            return Ok(self.expr(Expression::AccessIndex { base: vector, index: lanes[0].into() }));
        };
        let mut pattern = [naga::SwizzleComponent::X; 4];
        for (slot, lane) in pattern.iter_mut().zip(lanes) {
            *slot = naga::SwizzleComponent::XYZW[*lane as usize];
        }
        Ok(self.expr(Expression::Swizzle { size, vector, pattern }))
    }

    fn dot(&mut self, data: &InstData) -> Expr {
        let [a, b] = [0, 1].map(|i| self.value(data.operands[i]));
        if matches!(self.module().types.get(self.func.ty(data.operands[0])), Type::Vector(_, 1)) {
            return self.binary(BinaryOperator::Multiply, a, b);
        }
        self.expr(Expression::Math { fun: MathFunction::Dot, arg: a, arg1: Some(b), arg2: None, arg3: None })
    }
}
