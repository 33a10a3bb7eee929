//! Prints types in source form, for messages.

use crate::facts::Facts;
use crate::hir::{
    Arg, Args, Bound, FuncId, GenericParamId, InterfaceRef, Measure, StructId, Ty, TyKind, Val, ValKind,
};
use crate::tables::{Builtin, FuncSource, Item};
use cotangent_base::Scalar;
use cotangent_syntax::ast;

/// Where the text of a type is cut off.
const MAX_SHOWN: usize = 400;

impl Facts<'_> {
    /// A type as the user would write it, cut off where nobody would read on.
    pub(crate) fn show(self, ty: Ty) -> String {
        let mut out = String::new();
        self.write_ty(ty, &mut out);
        out
    }

    /// A structure or interface as its declaration names it: `Box<T>` for every `Box`.
    pub(crate) fn show_declared(self, ty: Ty) -> String {
        let (name, generics) = match self.program.types.kind(ty) {
            TyKind::Struct(id, _) => (self.program.structs[id].name, self.tables.structs[id].generics),
            TyKind::Interface(id, _) => {
                (self.program.interfaces[id].name, self.tables.interfaces[id].generics)
            }
            _ => return self.show(ty),
        };
        let info = &self.tables.generics[generics];
        let written = info.own.iter().filter(|param| !self.program.params[**param].witness);
        let own: Vec<String> = written.map(|param| self.show_generic(*param, &info.own_bounds)).collect();
        if own.is_empty() { name.to_string() } else { format!("{name}<{}>", own.join(", ")) }
    }

    /// A generic parameter as it would be written.
    pub(crate) fn show_generic(self, param: GenericParamId, bounds: &[Bound]) -> String {
        let data = &self.program.params[param];
        if let Some(ty) = data.value {
            return format!("let {} : {}", data.name, self.show(ty));
        }
        let bounds = bounds.iter().filter_map(|bound| match bound {
            Bound::Conforms(ty, interface) if self.program.types.kind(*ty) == TyKind::Param(param) => {
                Some(self.show_interface(*interface))
            }
            _ => None,
        });
        let bounds: Vec<String> = bounds.collect();
        if bounds.is_empty() {
            data.name.to_string()
        } else {
            format!("{} : {}", data.name, bounds.join(" & "))
        }
    }

    /// What stands around the argument of a structure of the library that programs write in another way.
    fn shown_around(self, id: StructId) -> Option<(&'static str, &'static str)> {
        let is = |lang: &str| self.tables.lang.get(&lang.into()) == Some(&Item::Struct(id));
        match () {
            () if is("ReadPtr") => Some(("Ptr<", ", Access.Read>")),
            () if is("OptionalDifferential") => Some(("Optional<", ">.Differential")),
            () => None,
        }
    }

    /// Types share their parts, so that one may be far longer than the program that writes it.
    fn write_ty(self, ty: Ty, out: &mut String) {
        if out.len() > MAX_SHOWN {
            return out.push_str("..");
        }
        let types = &self.program.types;
        match types.kind(ty) {
            TyKind::Error => out.push_str("<error>"),
            TyKind::Void => out.push_str("void"),
            TyKind::Scalar(scalar) => out.push_str(&self.show_scalar(scalar)),
            TyKind::Vector(t, n) => match (types.kind(t), types.known(n)) {
                (TyKind::Scalar(s), Some(n)) => *out += &format!("{}{n}", self.show_scalar(s)),
                _ => self.write_list("vector", &[Arg::Ty(t), Arg::Val(n)], out),
            },
            TyKind::Matrix(t, r, c) => match (types.kind(t), types.known(r), types.known(c)) {
                (TyKind::Scalar(s), Some(r), Some(c)) => *out += &format!("{}{r}x{c}", self.show_scalar(s)),
                _ => self.write_list("matrix", &[Arg::Ty(t), Arg::Val(r), Arg::Val(c)], out),
            },
            TyKind::Array(t, n) => {
                self.write_ty(t, out);
                *out += &format!("[{}]", self.show_val(n));
            }
            TyKind::UnsizedArray(t) => {
                self.write_ty(t, out);
                out.push_str("[]");
            }
            TyKind::Struct(id, args) => {
                let written = self.written_args_of(id, types.list(args));
                if let Some((before, after)) = self.shown_around(id)
                    && let [Arg::Ty(inner), ..] = written
                {
                    out.push_str(before);
                    self.write_ty(*inner, out);
                    return out.push_str(after);
                }
                self.write_list(self.program.structs[id].name.as_str(), written, out);
            }
            TyKind::Enum(id) => out.push_str(self.program.enums[id].name.as_str()),
            TyKind::Interface(id, args) => {
                self.write_list(self.program.interfaces[id].name.as_str(), types.list(args), out);
            }
            TyKind::Param(id) => out.push_str(self.program.params[id].name.as_str()),
            TyKind::Assoc(t, assoc, _) => {
                self.write_ty(t, out);
                *out += &format!(".{}", self.program.assocs[assoc].name);
            }
            TyKind::Tuple(args) => self.write_list("Tuple", types.list(args), out),
            TyKind::Pack(args) => self.write_items(types.list(args), out),
            TyKind::Expand(pattern, _) => {
                out.push_str("expand ");
                self.write_arg(pattern, out);
            }
            TyKind::Each(pack) => {
                out.push_str("each ");
                self.write_ty(pack, out);
            }
            TyKind::Part(part, pack) => {
                *out += part.name();
                out.push('(');
                self.write_ty(pack, out);
                out.push(')');
            }
            TyKind::String => out.push_str("String"),
            TyKind::None => out.push_str("none"),
        }
    }

    /// The arguments of a structure without those, the last ones, that nobody writes.
    fn written_args_of(self, id: StructId, args: &[Arg]) -> &[Arg] {
        let params = &self.tables.generics[self.tables.structs[id].generics].params;
        let hidden = params.iter().rev().take_while(|p| self.program.params[**p].witness).count();
        &args[..args.len().saturating_sub(hidden)]
    }

    /// `Name<A, B>`, or the name alone.
    fn write_list(self, name: &str, args: &[Arg], out: &mut String) {
        out.push_str(name);
        if !args.is_empty() {
            out.push('<');
            self.write_items(args, out);
            out.push('>');
        }
    }

    fn write_items(self, args: &[Arg], out: &mut String) {
        let mut first = true;
        for arg in args {
            if matches!(*arg, Arg::Ty(ty) if self.program.types.is_empty_pack(ty)) {
                continue;
            }
            out.push_str(if first { "" } else { ", " });
            first = false;
            self.write_arg(*arg, out);
        }
    }

    fn write_arg(self, arg: Arg, out: &mut String) {
        match arg {
            Arg::Ty(ty) => self.write_ty(ty, out),
            Arg::Val(val) => out.push_str(&self.show_val(val)),
            Arg::Laid(ty, row_major) => {
                out.push_str(if row_major { "row_major " } else { "column_major " });
                self.write_ty(ty, out);
            }
        }
    }

    pub(crate) fn show_scalar(self, scalar: Scalar) -> String {
        match self.tables.lang.builtin(Builtin::Scalar(scalar)) {
            Some(id) => self.program.structs[id].name.to_string(),
            None => scalar.to_string(),
        }
    }

    /// A compile-time integer.
    pub(crate) fn show_val(self, val: Val) -> String {
        match self.program.types.val_kind(val) {
            ValKind::Int(n) => n.to_string(),
            ValKind::Param(id) => self.program.params[id].name.to_string(),
            ValKind::Binary(op, _, a, b) => {
                format!("{} {} {}", self.show_val(a), binary_text(op), self.show_val(b))
            }
            ValKind::Measure(Measure::Size, ty) => format!("sizeof({})", self.show(ty)),
            ValKind::Measure(Measure::Align, ty) => format!("alignof({})", self.show(ty)),
            ValKind::Each(pack) => format!("each {}", self.show(pack)),
            ValKind::Part(part, pack) => format!("{}({})", part.name(), self.show(pack)),
            ValKind::Choice(c, a, b) => {
                format!("{} ? {} : {}", self.show_val(c), self.show_val(a), self.show_val(b))
            }
            ValKind::Count(pack) => format!("countof({})", self.show(pack)),
            ValKind::Required(func) => {
                let mut out = String::new();
                self.program
                    .types
                    .list(func.args)
                    .iter()
                    .take(1)
                    .for_each(|of| self.write_arg(*of, &mut out));
                let name = self.program.funcs[func.func].name.as_str();
                out + "." + name.strip_suffix(".get").unwrap_or(name)
            }
            ValKind::Conforms(ty, interface) => {
                format!("{} is {}", self.show(ty), self.show_interface(interface))
            }
            ValKind::Error => "<error>".into(),
        }
    }

    /// `<A, B>`, or nothing.
    pub(crate) fn show_args(self, args: Args) -> String {
        let mut out = String::new();
        self.write_list("", self.program.types.list(args), &mut out);
        out
    }

    /// An interface with its arguments.
    pub(crate) fn show_interface(self, interface: InterfaceRef) -> String {
        let name = self.program.interfaces[interface.interface].name;
        format!("{name}{}", self.show_args(interface.args))
    }

    /// `name(int, inout float)`.
    pub(crate) fn show_func(self, id: FuncId) -> String {
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
                crate::hir::Dir::In => self.show(p.ty),
                crate::hir::Dir::Out => format!("out {}", self.show(p.ty)),
                crate::hir::Dir::InOut => format!("inout {}", self.show(p.ty)),
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
        ast::ExprKind::Each(inner) => format!("each {}", syntax(inner)),
        ast::ExprKind::Expand(inner) => format!("expand {}", syntax(inner)),
        ast::ExprKind::Laid(true, inner) => format!("row_major {}", syntax(inner)),
        ast::ExprKind::Laid(false, inner) => format!("column_major {}", syntax(inner)),
        _ => "..".into(),
    }
}
