//! `a.b`: members of values, types and namespaces; swizzles.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee};
use crate::codes;
use crate::hir::{Arg, Expr, ExprKind, FuncId, FuncRef, Program, Ty, TyKind};
use crate::names::lookup::Found;
use crate::tables::{Item, PropId};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

impl BodyCx<'_> {
    /// `base.name`.
    pub(super) fn member(&mut self, base: &ast::Expr, name: ast::Ident, span: Span) -> Entity {
        match self.entity(base) {
            Entity::Namespace(scope) => self.namespace_member(scope, base, name, span),
            Entity::Type(ty) => self.type_member(ty, name, span),
            Entity::Open(found) => {
                let scope = self.scope;
                let ty = self.cx.apply(&found, &[], base.span, scope);
                self.type_member(ty, name, span)
            }
            Entity::Value(value) => self.value_member(value, name, span),
            Entity::Funcs(callee) => {
                let message = format!("`{}` is a function; it has no members", callee.name);
                self.report(Diagnostic::new(codes::NOT_A_VALUE, base.span, message));
                Entity::Value(self.error(span))
            }
        }
    }

    /// `pointer->name`. What a block holds may be reached in the same way.
    pub(super) fn arrow(&mut self, base: &ast::Expr, name: ast::Ident, span: Span) -> Entity {
        let value = self.expr(base);
        let leads =
            self.cx.program.pointee(value.ty).is_some() || self.cx.program.block_content(value.ty).is_some();
        if !leads && !self.cx.program.types.is_error(value.ty) {
            let message = format!("`->` follows a pointer, but this is a `{}`", self.show(value.ty));
            self.report(Diagnostic::new(codes::NOT_IN_MEMORY, value.span, message).help("write `.`"));
            return Entity::Value(self.error(span));
        }
        self.value_member(value, name, span)
    }

    fn namespace_member(
        &mut self,
        scope: crate::tables::ScopeId,
        base: &ast::Expr,
        name: ast::Ident,
        span: Span,
    ) -> Entity {
        let found = self.cx.lookup_in_namespace(scope, name.name);
        let Some(found) = self.seen(found, name.name, name.span) else {
            return Entity::Value(self.error(span));
        };
        match found.first() {
            Some(first) if matches!(first.item, Item::Func(_)) => {
                Entity::Funcs(Callee::named(name, &found, span))
            }
            Some(first) => {
                self.note_use(name.span, *first);
                self.found(*first, None, name.name, span)
            }
            None => {
                let message = format!(
                    "there is no `{}` in namespace `{}`",
                    name.name,
                    crate::types::show::syntax(base)
                );
                let names: Vec<Symbol> =
                    self.cx.tables.scopes[scope].entries().map(|(name, _)| name).collect();
                self.report_unknown(message, name, &names);
                Entity::Value(self.error(span))
            }
        }
    }

    fn report_unknown(&mut self, message: String, name: ast::Ident, names: &[Symbol]) {
        let mut diagnostic = Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message);
        if self.cx.suggests()
            && let Some(near) = cotangent_base::nearest(name.name.as_str(), names.iter().map(|n| n.as_str()))
        {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }

    fn type_member(&mut self, ty: Ty, name: ast::Ident, span: Span) -> Entity {
        if self.cx.program.types.is_error(ty) {
            return Entity::Value(self.error(span));
        }
        let found = self.cx.members(ty, name.name);
        let Some(found) = self.seen(found, name.name, name.span) else {
            return Entity::Value(self.error(span));
        };
        match found.first() {
            Some(first) if matches!(first.item, Item::Func(_)) => {
                let mut callee = Callee::named(name, &found, span);
                // Inside a method of the type, `Base.f()` means this object.
                callee.this = self.this.map(|t| self.local(t, span)).filter(|t| t.ty == ty);
                Entity::Funcs(callee)
            }
            Some(first) => {
                self.note_use(name.span, *first);
                self.found(*first, None, name.name, span)
            }
            None => {
                self.unknown_member(ty, name);
                Entity::Value(self.error(span))
            }
        }
    }

    /// A member of a value by a name the compiler gives.
    pub(crate) fn named_member(&mut self, value: Expr, name: &str, span: Span) -> Expr {
        let ident = ast::Ident { name: name.into(), span };
        let entity = self.value_member(value, ident, span);
        self.value_of(entity, span)
    }

    fn value_member(&mut self, value: Expr, name: ast::Ident, span: Span) -> Entity {
        if self.cx.program.types.is_error(value.ty) {
            return Entity::Value(self.error(span));
        }
        let value = match self.swizzle(value, name, span) {
            Ok(swizzle) => return Entity::Value(swizzle),
            Err(value) => value,
        };
        if let Some(field) = self.cx.program.tuple_member(&value, name, span) {
            return Entity::Value(field);
        }
        let found = self.cx.members(value.ty, name.name);
        let Some(found) = self.seen(found, name.name, name.span) else {
            return Entity::Value(self.error(span));
        };
        if let Some(first) = found.first() {
            return self.member_found(value, &found, *first, name, span);
        }
        let content = self.cx.program.block_content(value.ty).or_else(|| self.cx.program.pointee(value.ty));
        if let Some(content) = content {
            let inner = self.cx.program.block_value(value, content);
            return self.value_member(inner, name, span);
        }
        self.unknown_member(value.ty, name);
        Entity::Value(self.error(span))
    }

    fn unknown_member(&mut self, ty: Ty, name: ast::Ident) {
        let shown = self.show(ty);
        if let Some(interface) = self.cx.optional_promise(ty, name.name) {
            let interface = self.cx.facts().show_interface(interface);
            let message = format!("`{shown}` has `{}` only if it conforms to `{interface}`", name.name);
            let help = format!("test it first: `if ({shown} is {interface}) {{ .. }}`");
            return self.report(Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message).help(help));
        }
        let mut message = format!("`{shown}` has no member `{}`", name.name);
        if let TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) = self.kind(ty) {
            let bounds = self.bounds_to_show(ty);
            message.push_str(&match bounds.as_slice() {
                [] => ": it has no bounds".to_string(),
                [bound] => format!(": its bound {bound} does not declare it"),
                bounds => format!(": its bounds {} do not declare it", bounds.join(" and ")),
            });
        }
        if let Some(half) = half_of_pair(name.name.as_str()).filter(|_| self.cx.facts().is_pair(ty)) {
            let help = format!("a pair has a value, `.p`, and a derivative, `.d`: write `.{half}`");
            return self.report(Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message).help(help));
        }
        let instead = match (name.name.as_str(), self.kind(ty)) {
            ("size" | "length" | "len" | "Length", TyKind::Array(..)) => Some("write `getCount()`"),
            (
                "length" | "normalize" | "dot" | "cross" | "abs" | "sin" | "cos" | "sqrt",
                TyKind::Vector(..),
            ) => Some("it is a function: `length(v)`, `dot(v, w)`"),
            ("s" | "t" | "p" | "q" | "st" | "stp" | "stpq", TyKind::Vector(..)) => {
                Some("components are `x`, `y`, `z`, `w` or `r`, `g`, `b`, `a`")
            }
            _ => None,
        };
        if let Some(instead) = instead {
            return self.report(Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message).help(instead));
        }
        let names = self.cx.member_names(ty);
        self.report_unknown(message, name, &names);
    }

    /// The bounds of a type that no other of its bounds inherits.
    fn bounds_to_show(&mut self, ty: Ty) -> Vec<String> {
        let all = self.cx.bounds_of(ty);
        let mut shown = vec![];
        for bound in &all {
            if !all.iter().any(|other| self.inherits(other.interface, bound.interface)) {
                shown.push(format!("`{}`", self.cx.facts().show_interface(*bound)));
            }
        }
        shown
    }

    fn member_found(
        &mut self,
        value: Expr,
        found: &[Found],
        first: Found,
        name: ast::Ident,
        span: Span,
    ) -> Entity {
        if let Item::Func(_) = first.item {
            let mut callee = Callee::named(name, found, span);
            callee.this = Some(value);
            return Entity::Funcs(callee);
        }
        self.note_use(name.span, first);
        self.found(first, Some(value), name.name, span)
    }

    /// A property or subscript of an object.
    pub(super) fn property(
        &mut self,
        id: PropId,
        found: Found,
        this: Option<Expr>,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let info = &self.cx.tables.props[id];
        let (get, set, is_static) = (info.get, info.set, info.is_static);
        if !is_static && this.is_none() {
            self.report(Diagnostic::new(codes::NO_THIS, span, "a property needs an object"));
            return self.error(span);
        }
        if get.is_none() && set.is_none() {
            // A `ref` was reported where it is declared.
            if self.cx.tables.props[id].accessors.is_empty() {
                let message = "this has neither a `get` nor a `set`";
                self.report(Diagnostic::new(codes::NOT_READABLE, span, message));
            }
            return self.error(span);
        }
        let mut ty = self.cx.program.types.error();
        let (mut mutating, mut changes) = (false, false);
        if let Some(set) = set {
            self.cx.ensure_func(set);
            let func = &self.cx.program.funcs[set];
            ty = func.params.last().map_or(ty, |p| p.ty);
            mutating = func.this.is_some_and(|t| t.mutating);
        }
        if let Some(get) = get {
            self.cx.ensure_func(get);
            let func = &self.cx.program.funcs[get];
            ty = func.result;
            changes = func.this.is_some_and(|t| t.mutating);
            if changes {
                let call = self.mutating_get(get, found, this.clone(), args.clone(), span);
                if set.is_none() || self.cx.program.types.is_error(call.ty) {
                    return call;
                }
            }
        }
        let generics = self.cx.tables.props[id].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        let ty = self.cx.replace(ty, &params, found.args);
        let this = match this {
            Some(this) if !is_static => Some(Arc::new(self.as_base(this, found.base))),
            _ => None,
        };
        let reference = |func| FuncRef { func, args: found.args };
        Expr::new(
            ExprKind::Property {
                this,
                args,
                get: get.map(reference),
                set: set.map(reference),
                mutating: mutating || changes,
                changes,
            },
            ty,
            span,
        )
    }

    /// Reading what has a `[mutating] get` is a call of it as of any method that changes its object. Where there is a `set` too, what
    /// stands around says whether it is read; the object must be a place then in any case.
    fn mutating_get(
        &mut self,
        get: FuncId,
        found: Found,
        this: Option<Expr>,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let getter = [Found { item: Item::Func(get), ..found }];
        let mut callee = Callee::new(self.cx.program.funcs[get].name, &getter, span);
        callee.this = this.map(|this| self.as_base(this, found.base));
        self.call(&callee, args.into_iter().map(Argument::Value).collect(), span)
    }

    /// Lanes of a vector or scalar, elements of a matrix. What the name picks nothing of is given back.
    fn swizzle(&mut self, value: Expr, name: ast::Ident, span: Span) -> Result<Expr, Expr> {
        let (element, lanes) = match self.kind(value.ty) {
            TyKind::Scalar(_) => (value.ty, Some(1)),
            TyKind::Vector(t, n) => (t, self.cx.program.types.known(n)),
            TyKind::Matrix(..) => return self.matrix_swizzle(value, name, span),
            _ => return Err(value),
        };
        let Some(picked) = swizzle_lanes(name.name.as_str()) else {
            return Err(value);
        };
        let limit = lanes.unwrap_or(4);
        if picked.iter().any(|l| i64::from(*l) >= limit) {
            // A scalar type may have a member that only looks like a swizzle.
            if !self.cx.members(value.ty, name.name).is_empty() {
                return Err(value);
            }
            let message = format!("`{}` has no component for `.{}`", self.show(value.ty), name.name);
            self.report(Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message));
            return Ok(self.error(span));
        }
        let ty = self.cx.program.lanes(element, picked.len());
        Ok(Expr::new(ExprKind::Swizzle(value.into(), picked), ty, span))
    }

    fn matrix_swizzle(&mut self, value: Expr, name: ast::Ident, span: Span) -> Result<Expr, Expr> {
        let TyKind::Matrix(element, r, c) = self.kind(value.ty) else {
            return Err(value);
        };
        let Some(picked) = matrix_elements(name.name.as_str()) else {
            return Err(value);
        };
        let types = &self.cx.program.types;
        let (rows, columns) = (types.known(r).unwrap_or(4), types.known(c).unwrap_or(4));
        if picked.iter().any(|(i, j)| i64::from(*i) >= rows || i64::from(*j) >= columns) {
            let message = format!("`{}` has no element for `.{}`", self.show(value.ty), name.name);
            self.report(
                Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message)
                    .help("`_m01` numbers rows and columns from 0, `_12` from 1"),
            );
            return Ok(self.error(span));
        }
        let ty = self.cx.program.lanes(element, picked.len());
        Ok(Expr::new(ExprKind::MatrixSwizzle(value.into(), picked), ty, span))
    }
}

impl Program {
    /// `t._1`, and `t._1_0` for a tuple of several.
    fn tuple_member(&mut self, value: &Expr, name: ast::Ident, span: Span) -> Option<Expr> {
        let TyKind::Tuple(args) = self.types.kind(value.ty) else { return None };
        let picked = tuple_fields(name.name.as_str())?;
        let list = self.types.list(args);
        let types: Vec<Arg> =
            picked.iter().map(|i| list.get(usize::from(*i)).copied()).collect::<Option<_>>()?;
        let base = Arc::new(value.clone());
        if let (&[number], &[Arg::Ty(ty)]) = (picked.as_slice(), types.as_slice()) {
            return Some(Expr::new(ExprKind::Field(base, number.into()), ty, span));
        }
        let types = self.types.args(&types);
        let ty = self.types.ty(TyKind::Tuple(types));
        Some(Expr::new(ExprKind::Swizzle(base, picked), ty, span))
    }

    fn lanes(&mut self, element: Ty, count: usize) -> Ty {
        if count == 1 {
            return element;
        }
        let n = self.types.int_val(count as i64);
        self.types.ty(TyKind::Vector(element, n))
    }
}

/// The lanes that `xyzw` or `rgba` letters pick.
fn swizzle_lanes(name: &str) -> Option<Vec<u8>> {
    if name.len() > 4 {
        return None;
    }
    let lane = |c| match c {
        'x' | 'r' => Some(0),
        'y' | 'g' => Some(1),
        'z' | 'b' => Some(2),
        'w' | 'a' => Some(3),
        _ => None,
    };
    name.chars().map(lane).collect()
}

/// The elements that `_m01` (from 0) or `_12` (from 1) pick, one or several.
fn matrix_elements(name: &str) -> Option<Vec<(u8, u8)>> {
    let rest = name.strip_prefix('_')?;
    let element = |part: &str| {
        let (digits, base) = match part.strip_prefix('m') {
            Some(digits) => (digits, b'0'),
            None => (part, b'1'),
        };
        match digits.as_bytes() {
            [i, j] if *i >= base && *j >= base && i.is_ascii_digit() && j.is_ascii_digit() => {
                Some((i - base, j - base))
            }
            _ => None,
        }
    };
    let parts: Option<Vec<_>> = rest.split('_').map(element).collect();
    parts.filter(|p| p.len() <= 4)
}

/// The numbers in `_0` or `_2_0_0`.
fn tuple_fields(name: &str) -> Option<Vec<u8>> {
    name.strip_prefix('_')?.split('_').map(|number| number.parse().ok()).collect()
}

/// The half of a pair that somebody means who calls it otherwise.
fn half_of_pair(name: &str) -> Option<&'static str> {
    match name {
        "primal" | "value" | "val" | "v" | "primalValue" => Some("p"),
        "differential" | "derivative" | "diff" | "dual" | "tangent" | "grad" | "gradient" => Some("d"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_both_sets_may_be_mixed() {
        assert_eq!(swizzle_lanes("xg"), Some(vec![0, 1]));
        assert_eq!(swizzle_lanes("wzyx"), Some(vec![3, 2, 1, 0]));
        assert_eq!(swizzle_lanes("size"), None);
    }

    #[test]
    fn fields_of_a_tuple_are_numbers() {
        assert_eq!(tuple_fields("_2_0"), Some(vec![2, 0]));
        assert_eq!(tuple_fields("_m0"), None);
    }

    #[test]
    fn matrix_elements_count_from_zero_or_one() {
        assert_eq!(matrix_elements("_m01"), Some(vec![(0, 1)]));
        assert_eq!(matrix_elements("_12"), Some(vec![(0, 1)]));
        assert_eq!(matrix_elements("_m00_m11"), Some(vec![(0, 0), (1, 1)]));
        assert_eq!(matrix_elements("_0"), None);
    }
}
