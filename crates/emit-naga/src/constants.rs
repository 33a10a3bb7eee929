//! Prevents WGSL from rejecting constant expressions. Input: a naga expression. Output: an equal expression with at least one
//! operand that is not constant.
//!
//! WGSL evaluates constant expressions when a shader is created, and rejects the shader if a result overflows, is not finite,
//! or shifts bits out. Slang allows such results. So one operand is hidden from the WGSL compiler: a literal goes through a
//! variable, and any other expression gets a name (`let`).

use crate::func::FuncEmitter;
use cotangent_ir::layout::Target;
use naga::{BinaryOperator, Expression, Handle, MathFunction, UnaryOperator};

impl FuncEmitter<'_, '_> {
    /// The expression, with one operand hidden if evaluating it early could fail.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    pub fn at_run_time(&mut self, expression: Expression) -> Expression {
        if self.emitter.target != Target::Wgsl {
            return expression;
        }
        match expression {
            Expression::Binary { op, left, right } if self.may_fail(op, left, right) => {
                Expression::Binary { op, left: self.hidden(left), right }
            }
            Expression::Unary { op: op @ UnaryOperator::Negate, expr } if self.is_constant(expr) => {
                Expression::Unary { op, expr: self.hidden(expr) }
            }
            Expression::As { expr, kind, convert } if self.is_constant(expr) => {
                Expression::As { expr: self.hidden(expr), kind, convert }
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } if !never_fails(fun) => {
                let args = [Some(arg), arg1, arg2, arg3];
                let all = args.into_iter().flatten().all(|arg| self.is_constant(arg));
                let arg = if all { self.hidden(arg) } else { arg };
                Expression::Math { fun, arg, arg1, arg2, arg3 }
            }
            other => other,
        }
    }

    /// Whether both operands are constants and evaluating the operation on them may fail.
    fn may_fail(&self, op: BinaryOperator, left: Handle<Expression>, right: Handle<Expression>) -> bool {
        use BinaryOperator as B;
        match op {
            B::Add | B::Subtract | B::Multiply | B::Divide | B::Modulo | B::ShiftLeft | B::ShiftRight => {
                self.is_constant(left) && self.is_constant(right)
            }
            B::And | B::ExclusiveOr | B::InclusiveOr | B::LogicalAnd | B::LogicalOr => false,
            B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual => false,
        }
    }

    /// Whether WGSL knows a value when the shader is created. A named expression is a `let`, which is never constant.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn is_constant(&self, expr: Handle<Expression>) -> bool {
        if self.out.named_expressions.contains_key(&expr) {
            return false;
        }
        match &self.out.expressions[expr] {
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => true,
            Expression::Compose { components, .. } => components.iter().all(|part| self.is_constant(*part)),
            Expression::Splat { value: of, .. }
            | Expression::Swizzle { vector: of, .. }
            | Expression::AccessIndex { base: of, .. }
            | Expression::Unary { expr: of, .. }
            | Expression::As { expr: of, .. }
            | Expression::Relational { argument: of, .. } => self.is_constant(*of),
            Expression::Access { base: a, index: b } | Expression::Binary { left: a, right: b, .. } => {
                self.is_constant(*a) && self.is_constant(*b)
            }
            Expression::Select { condition, accept, reject } => {
                [condition, accept, reject].into_iter().all(|part| self.is_constant(*part))
            }
            Expression::Math { arg, arg1, arg2, arg3, .. } => {
                [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().all(|arg| self.is_constant(arg))
            }
            _ => false,
        }
    }

    /// The same value, but not a constant of WGSL.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn hidden(&mut self, expr: Handle<Expression>) -> Handle<Expression> {
        let ty = match self.out.expressions[expr] {
            Expression::Literal(literal) => self.emitter.plain(naga::TypeInner::Scalar(literal.scalar())),
            Expression::ZeroValue(ty) => ty,
            _ => {
                self.out.named_expressions.insert(expr, "t".to_string());
                return expr;
            }
        };
        let var = self.new_naga_variable(ty, None);
        self.store_var(var, expr);
        self.load_var(var)
    }
}

/// Whether a function is finite for all finite arguments.
fn never_fails(fun: MathFunction) -> bool {
    use MathFunction as M;
    matches!(
        fun,
        M::Abs
            | M::Min
            | M::Max
            | M::Floor
            | M::Ceil
            | M::Round
            | M::Trunc
            | M::Fract
            | M::Sign
            | M::Sin
            | M::Cos
            | M::Atan
            | M::Tanh
            | M::CountOneBits
            | M::FirstLeadingBit
            | M::FirstTrailingBit
            | M::ReverseBits
    )
}
