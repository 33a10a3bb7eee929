//! Resolves operators to functions and methods.
//!
//! A declared `operator+` takes precedence over the method of a library interface, such as `add` of `IArithmetic`.

use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Expr, ExprKind, FuncId, FuncKind, InterfaceRef, Program, Ty, TyKind, UnaryOp};
use crate::names::lookup::Found;
use crate::tables::{FuncSource, Item};
use crate::types::show::binary_text;
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast::BinaryOp;

impl BodyCx<'_> {
    /// An operator declared as a function, or the method that an interface of a generic parameter gives for it.
    pub(super) fn user_operation(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let text = binary_text(op);
        if let Some(result) = self.declared_operator(text, &[a.clone(), b.clone()], span) {
            return result;
        }
        if let Some(result) = self.method_operator(op, &a, &b, span) {
            return result;
        }
        self.no_operator(text, &[&a, &b], span, None)
    }

    /// A call of `operator+` if one fits; reports ambiguity only.
    pub(crate) fn declared_operator(&mut self, text: &str, operands: &[Expr], span: Span) -> Option<Expr> {
        let name = attrs::operator_name(text);
        let scope = self.scope;
        let found = self.cx.lookup(scope, name);
        if found.is_empty() {
            return None;
        }
        let callee = Callee::new(name, &found, span);
        let args: Vec<Argument> = operands.iter().cloned().map(Argument::Value).collect();
        match self.choose(&callee, &args) {
            Choice::One(fit) => Some(self.emit_call(&callee, *fit, args, span)),
            Choice::Many(_) => Some(self.call(&callee, args, span)),
            Choice::None(_) => None,
        }
    }

    fn method_operator(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
        let (name, swap, negate) = operator_method(op)?;
        let (this, other) = if swap { (b, a) } else { (a, b) };
        let result = self.interface_method(this.clone(), name, vec![other.clone()], span)?;
        if !negate {
            return Some(result);
        }
        let ty = result.ty;
        Some(Expr::new(ExprKind::Unary(UnaryOp::Not, result.into()), ty, span))
    }

    /// A call of a method that the library's interfaces promise of a generic type, or of one that conforms to them, by the name in its
    /// `[__lang("..")]`.
    fn interface_method(&mut self, this: Expr, lang: &str, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let Item::Func(promised) = *self.cx.tables.lang.get(&Symbol::new(lang))? else { return None };
        let name = self.cx.facts().lang_method(lang)?;
        let mut found: Vec<Found> = match self.kind(this.ty) {
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.cx.members(this.ty, name)
            }
            TyKind::Struct(..) | TyKind::Tuple(_) if self.keeps(this.ty, promised) => {
                let found = self.cx.members(this.ty, name);
                let wanted = self.cx.program.promised_result(promised, this.ty);
                let call = self.chosen_method(name, &found, this, args, span)?;
                // The declaration warned of what the conversion may lose.
                return Some(match self.cx.cost(&call, wanted) {
                    Some(_) if call.ty != wanted => self.cx.converted(call, wanted),
                    _ => call,
                });
            }
            _ => return None,
        };
        found.retain(|f| self.cx.facts().is_library_func(f.item));
        self.chosen_method(name, &found, this, args, span)
    }

    /// Whether a type conforms to the library interface that promises the method of that `[__lang("..")]`.
    pub(super) fn is_promised(&mut self, ty: Ty, lang: &str) -> bool {
        match self.cx.tables.lang.get(&Symbol::new(lang)) {
            Some(Item::Func(promised)) => self.keeps(ty, *promised),
            _ => true,
        }
    }

    /// Whether a type conforms to the interface that promises a method.
    fn keeps(&mut self, ty: Ty, promised: FuncId) -> bool {
        let FuncKind::Requirement(interface) = self.cx.program.funcs[promised].kind else { return false };
        let args = self.cx.program.types.args(&[]);
        self.cx.conforms(ty, InterfaceRef { interface, args })
    }

    /// A call of the one method that fits, if there is one.
    fn chosen_method(
        &mut self,
        name: Symbol,
        found: &[Found],
        this: Expr,
        args: Vec<Expr>,
        span: Span,
    ) -> Option<Expr> {
        let mut callee = Callee::new(name, found, span);
        callee.this = Some(this);
        let args: Vec<Argument> = args.into_iter().map(Argument::Value).collect();
        match self.choose(&callee, &args) {
            Choice::One(fit) => Some(self.emit_call(&callee, *fit, args, span)),
            Choice::None(_) | Choice::Many(_) => None,
        }
    }

    /// Reports that an operator does not exist for its operands.
    pub(crate) fn no_operator(
        &mut self,
        text: &str,
        operands: &[&Expr],
        span: Span,
        why: Option<&str>,
    ) -> Expr {
        let types: Vec<String> = operands.iter().map(|e| format!("`{}`", self.show(e.ty))).collect();
        let message = format!("no operator `{text}` for {}", types.join(" and "));
        let mut diagnostic = Diagnostic::new(codes::NO_OPERATOR, span, message);
        if let Some(why) = why {
            diagnostic = diagnostic.note(why);
        }
        let generic = operands.iter().any(|e| matches!(self.kind(e.ty), TyKind::Param(_)));
        let literal = operands.iter().any(|e| matches!(e.kind, ExprKind::Const(_)));
        let is_struct = operands.iter().any(|e| matches!(self.kind(e.ty), TyKind::Struct(..)));
        if generic && literal {
            diagnostic = diagnostic.help("convert the number to the generic type, as in `T(2.0)`");
        } else if generic {
            diagnostic =
                diagnostic.help("give the generic parameter a bound such as `IFloat` or `IArithmetic`");
        } else if is_struct {
            diagnostic = diagnostic.help(format!("declare a function `operator{text}` for these types"));
        }
        self.report(diagnostic);
        self.error(span)
    }

    pub(super) fn user_unary(&mut self, op: Option<UnaryOp>, text: &str, operand: Expr, span: Span) -> Expr {
        if let Some(result) = self.declared_operator(text, std::slice::from_ref(&operand), span) {
            return result;
        }
        let method = op.map(|op| match op {
            UnaryOp::Neg => "neg",
            UnaryOp::Not => "not",
            UnaryOp::BitNot => "bitNot",
        });
        if let Some(method) = method
            && let Some(result) = self.interface_method(operand.clone(), method, vec![], span)
        {
            return result;
        }
        self.no_operator(text, &[&operand], span, None)
    }
}

impl Program {
    /// The result that a library interface promises of an operator on `this`: a method may meet it by a conversion.
    fn promised_result(&self, promised: FuncId, this: Ty) -> Ty {
        let result = self.funcs[promised].result;
        if let TyKind::Scalar(_) = self.types.kind(result) { result } else { this }
    }
}

impl Facts<'_> {
    /// What the library calls the method that it marks with a name of the language.
    fn lang_method(self, lang: &str) -> Option<Symbol> {
        let Item::Func(func) = *self.tables.lang.get(&Symbol::new(lang))? else { return None };
        match &self.tables.funcs[func].source {
            FuncSource::Func(decl) => Some(decl.name.name),
            FuncSource::Accessor(..) => None,
        }
    }

    fn is_library_func(self, item: Item) -> bool {
        match item {
            Item::Func(id) => self.tables.scopes[self.tables.funcs[id].scope].is_library(),
            _ => false,
        }
    }
}

/// The method that stands for an operator on a generic parameter; whether the operands are swapped, and whether the
/// result is negated.
fn operator_method(op: BinaryOp) -> Option<(&'static str, bool, bool)> {
    use BinaryOp::*;
    Some(match op {
        Add => ("add", false, false),
        Sub => ("sub", false, false),
        Mul => ("mul", false, false),
        Div => ("div", false, false),
        Rem => ("mod", false, false),
        BitAnd => ("bitAnd", false, false),
        BitOr => ("bitOr", false, false),
        BitXor => ("bitXor", false, false),
        Shl => ("shl", false, false),
        Shr => ("shr", false, false),
        And => ("and", false, false),
        Or => ("or", false, false),
        Eq => ("equals", false, false),
        Ne => ("equals", false, true),
        Lt => ("lessThan", false, false),
        Gt => ("lessThan", true, false),
        Le => ("lessThanOrEquals", false, false),
        Ge => ("lessThanOrEquals", true, false),
        Comma => return None,
    })
}
