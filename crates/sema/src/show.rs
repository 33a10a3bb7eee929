//! Types as the user writes them, for messages.

use crate::Checked;
use crate::hir::{Arg, Args, FuncId, InterfaceRef, Measure, Ty, TyKind, Val, ValKind};
use crate::tables::{Builtin, FuncSource};
use cotangent_base::Scalar;
use cotangent_syntax::ast;

impl Checked {
    /// A type as the user would write it.
    pub(crate) fn show_ty(&self, ty: Ty) -> String {
        let types = &self.program.types;
        match types.kind(ty) {
            TyKind::Error => "<error>".into(),
            TyKind::Void => "void".into(),
            TyKind::Scalar(scalar) => self.show_scalar(scalar),
            TyKind::Vector(t, n) => match (types.kind(t), types.known(n)) {
                (TyKind::Scalar(_), Some(n)) => format!("{}{n}", self.show_ty(t)),
                _ => format!("vector<{}, {}>", self.show_ty(t), self.show_val(n)),
            },
            TyKind::Matrix(t, r, c) => match (types.kind(t), types.known(r), types.known(c)) {
                (TyKind::Scalar(_), Some(r), Some(c)) => format!("{}{r}x{c}", self.show_ty(t)),
                _ => format!("matrix<{}, {}, {}>", self.show_ty(t), self.show_val(r), self.show_val(c)),
            },
            TyKind::Array(t, n) => format!("{}[{}]", self.show_ty(t), self.show_val(n)),
            TyKind::UnsizedArray(t) => format!("{}[]", self.show_ty(t)),
            TyKind::Struct(id, args) => format!("{}{}", self.program.structs[id].name, self.show_args(args)),
            TyKind::Enum(id) => self.program.enums[id].name.to_string(),
            TyKind::Interface(id, args) => {
                format!("{}{}", self.program.interfaces[id].name, self.show_args(args))
            }
            TyKind::Param(id) => self.program.params[id].name.to_string(),
            TyKind::Assoc(t, assoc, _) => format!("{}.{}", self.show_ty(t), self.program.assocs[assoc].name),
            TyKind::Tuple(args) => format!("Tuple{}", self.show_args(args)),
            TyKind::String => "String".into(),
            TyKind::None => "none".into(),
        }
    }

    fn show_scalar(&self, scalar: Scalar) -> String {
        match self.tables.builtins.get(&Builtin::Scalar(scalar)) {
            Some(id) => self.program.structs[*id].name.to_string(),
            None => scalar.to_string(),
        }
    }

    /// A compile-time integer.
    pub(crate) fn show_val(&self, val: Val) -> String {
        match self.program.types.val_kind(val) {
            ValKind::Int(n) => n.to_string(),
            ValKind::Param(id) => self.program.params[id].name.to_string(),
            ValKind::Binary(op, _, a, b) => {
                format!("{} {} {}", self.show_val(a), binary_text(op), self.show_val(b))
            }
            ValKind::Measure(Measure::Size, ty) => format!("sizeof({})", self.show_ty(ty)),
            ValKind::Measure(Measure::Align, ty) => format!("alignof({})", self.show_ty(ty)),
            ValKind::Error => "<error>".into(),
        }
    }

    /// `<A, B>`, or nothing.
    pub(crate) fn show_args(&self, args: Args) -> String {
        let list = self.program.types.list(args);
        if list.is_empty() {
            return String::new();
        }
        let shown: Vec<String> = list
            .iter()
            .map(|arg| match arg {
                Arg::Ty(ty) => self.show_ty(*ty),
                Arg::Val(val) => self.show_val(*val),
            })
            .collect();
        format!("<{}>", shown.join(", "))
    }

    /// An interface with its arguments.
    pub(crate) fn show_interface(&self, interface: InterfaceRef) -> String {
        let name = self.program.interfaces[interface.interface].name;
        format!("{name}{}", self.show_args(interface.args))
    }

    /// `name(int, inout float)`.
    pub(crate) fn show_func(&self, id: FuncId) -> String {
        let func = &self.program.funcs[id];
        let own = match &self.tables.funcs[id].source {
            FuncSource::Func(decl) => decl.generics.params.iter().map(|p| p.name.name.as_str()).collect(),
            FuncSource::Accessor(..) => vec![],
        };
        let generics = if own.is_empty() { String::new() } else { format!("<{}>", own.join(", ")) };
        let params: Vec<String> = func
            .params
            .iter()
            .map(|p| match p.dir {
                crate::hir::Dir::In => self.show_ty(p.ty),
                crate::hir::Dir::Out => format!("out {}", self.show_ty(p.ty)),
                crate::hir::Dir::InOut => format!("inout {}", self.show_ty(p.ty)),
            })
            .collect();
        format!("{}{generics}({})", func.name, params.join(", "))
    }
}

/// An operator's text.
pub(crate) fn binary_text(op: ast::BinaryOp) -> &'static str {
    use ast::BinaryOp::*;
    match op {
        Add => "+",
        Sub => "-",
        Mul => "*",
        Div => "/",
        Rem => "%",
        And => "&&",
        Or => "||",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        Shl => "<<",
        Shr => ">>",
        Eq => "==",
        Ne => "!=",
        Lt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
        Comma => ",",
    }
}

/// A short form of an expression that names something, for display only.
pub(crate) fn syntax(expr: &ast::Expr) -> String {
    match &expr.kind {
        ast::ExprKind::Name(name) => name.to_string(),
        ast::ExprKind::Member(base, name) => format!("{}.{}", syntax(base), name.name),
        ast::ExprKind::Apply(base, args) => {
            let args: Vec<String> = args.iter().map(syntax).collect();
            format!("{}<{}>", syntax(base), args.join(", "))
        }
        ast::ExprKind::Int(n, _) => n.to_string(),
        ast::ExprKind::Index(base, _) => format!("{}[]", syntax(base)),
        ast::ExprKind::Paren(inner) => syntax(inner),
        ast::ExprKind::ThisType => "This".into(),
        ast::ExprKind::This => "this".into(),
        _ => "..".into(),
    }
}
