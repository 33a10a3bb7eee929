//! Checks construction: `T(..)`, casts, and their explicit conversions. Implicit conversions are in [`coerce`].

mod coerce;

use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Const, EnumId, Expr, ExprKind, Program, Stmt, StmtKind, StructId, Ty, TyKind, Val};
use crate::names::lookup::Found;
use crate::tables::Item;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};

impl BodyCx<'_> {
    /// `T(args)`.
    pub(crate) fn construct(&mut self, ty: Ty, mut args: Vec<Argument>, span: Span) -> Expr {
        if self.cx.program.types.is_error(ty)
            || args.iter().any(|a| matches!(a, Argument::Value(e) if self.cx.program.types.is_error(e.ty)))
        {
            return Expr::new(ExprKind::Error, ty, span);
        }
        if let [Argument::List(items, at)] = args.as_slice()
            && !matches!(self.kind(ty), TyKind::Struct(..))
        {
            let (items, at) = (items.clone(), *at);
            return self.list_as(&items, ty, at);
        }
        match self.kind(ty) {
            TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::String => match (args.len(), args.pop()) {
                (1, Some(Argument::Value(value))) => self.cast(value, ty, span),
                (0, _) => self.zero(ty, span),
                (n, _) => self.wrong_count(ty, n, "1", span),
            },
            TyKind::Vector(element, n) => self.construct_vector(ty, element, n, args, span),
            TyKind::Matrix(..) => self.construct_matrix(ty, args, span),
            TyKind::UnsizedArray(element) if !args.is_empty() => {
                // `float2[](a, b)` has as many elements as are given.
                let count = self.cx.program.types.int_val(args.len() as i64);
                let ty = self.ty(TyKind::Array(element, count));
                self.aggregate(ty, args, span)
            }
            TyKind::Array(..) if args.is_empty() => self.default_value(ty, span),
            TyKind::Array(..) | TyKind::Tuple(_) => self.aggregate(ty, args, span),
            TyKind::Struct(id, _) => self.construct_struct(ty, id, args, span),
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.construct_generic(ty, args, span)
            }
            TyKind::Interface(..) if args.len() == 1 => match args.pop() {
                Some(Argument::Value(value)) => self.coerce(value, ty),
                _ => self.error(span),
            },
            TyKind::Interface(..)
            | TyKind::Error
            | TyKind::Void
            | TyKind::UnsizedArray(_)
            | TyKind::Pack(_)
            | TyKind::Expand(..)
            | TyKind::None => {
                let message = format!("`{}` has no constructor", self.show(ty));
                self.report(Diagnostic::new(codes::NO_OVERLOAD, span, message));
                self.error(span)
            }
        }
    }

    /// All zero.
    pub(crate) fn zero(&mut self, ty: Ty, span: Span) -> Expr {
        let kind = match self.kind(ty) {
            TyKind::Scalar(Scalar::Bool) => ExprKind::Const(Const::Bool(false)),
            TyKind::Scalar(s) if s.is_float() => ExprKind::Const(Const::Float(0.0)),
            TyKind::Scalar(_) => ExprKind::Const(Const::Int(0)),
            _ => ExprKind::Zero,
        };
        Expr::new(kind, ty, span)
    }

    fn wrong_count(&mut self, ty: Ty, given: usize, wanted: &str, span: Span) -> Expr {
        let message = format!("`{}` takes {wanted} value(s), {given} given", self.show(ty));
        self.report(Diagnostic::new(codes::ARGUMENT_COUNT, span, message));
        self.error(span)
    }

    /// `(T)value` and `T(value)`.
    pub(crate) fn cast(&mut self, value: Expr, to: Ty, span: Span) -> Expr {
        if value.ty == to || self.cx.program.types.is_error(value.ty) || self.cx.program.types.is_error(to) {
            return Expr { ty: to, ..value };
        }
        let from = self.kind(value.ty);
        match (from, self.kind(to)) {
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Enum(id)) => {
                return self.cast_to_enum(value, id, to, span);
            }
            (TyKind::Enum(id), TyKind::Scalar(_)) => {
                self.cx.ensure_enum(id);
                let mut converted = self.cx.converted(value, to);
                converted.span = span;
                return converted;
            }
            (TyKind::Matrix(a, ..), TyKind::Matrix(b, ..)) if self.cx.program.truncates(value.ty, to) => {
                let TyKind::Matrix(_, r, c) = self.kind(to) else { return value };
                let small = self.ty(TyKind::Matrix(a, r, c));
                let cut = Expr::new(ExprKind::Truncate(value.into()), small, span);
                return if a == b { cut } else { self.cx.converted(cut, to) };
            }
            (TyKind::Matrix(_, rows, columns), TyKind::Vector(element, _))
                if self.cx.program.same_count(value.ty, to) =>
            {
                let shape = self.ty(TyKind::Matrix(element, rows, columns));
                let value = self.cast(value, shape, span);
                return Expr::new(ExprKind::Concat(vec![value]), to, span);
            }
            (TyKind::Vector(_, count), TyKind::Matrix(element, ..))
                if self.cx.program.same_count(to, value.ty) =>
            {
                let shape = self.ty(TyKind::Vector(element, count));
                let value = self.cast(value, shape, span);
                return Expr::new(ExprKind::Concat(vec![value]), to, span);
            }
            (TyKind::Scalar(_), TyKind::Struct(id, _))
                if matches!(value.kind, ExprKind::Const(Const::Int(_))) && !self.has_constructor(id, 1) =>
            {
                return self.zero_of_literal(value, to, id, span);
            }
            _ => {}
        }
        if self.cx.cost(&value, to).is_some() {
            let mut converted = self.cx.converted(value, to);
            converted.span = span;
            return converted;
        }
        match self.kind(to) {
            TyKind::Struct(..)
            | TyKind::Param(_)
            | TyKind::Each(_)
            | TyKind::Part(..)
            | TyKind::Assoc(..) => self.construct(to, vec![Argument::Value(value)], span),
            TyKind::Scalar(_) | TyKind::Vector(..) | TyKind::Matrix(..) => {
                self.constructor_of_builtin(value, to, span)
            }
            _ => {
                self.cx.rules().mismatch(&value, to);
                self.error(span)
            }
        }
    }

    /// A number or another enumerator, as a value of an enumeration.
    fn cast_to_enum(&mut self, value: Expr, id: EnumId, to: Ty, span: Span) -> Expr {
        self.cx.ensure_enum(id);
        let underlying = self.cx.program.enums[id].underlying;
        if let TyKind::Enum(_) = self.kind(value.ty) {
            let value = self.coerce(value, underlying);
            return self.cast(value, to, span);
        }
        let value = self.cx.converted(value, underlying);
        let kind = match value.kind {
            ExprKind::Const(constant) => ExprKind::Const(constant),
            kind => ExprKind::Convert(Expr { kind, ..value }.into()),
        };
        Expr::new(kind, to, span)
    }

    /// `(S)0` is what `{}` makes of any structure; another literal is its first field.
    fn zero_of_literal(&mut self, value: Expr, to: Ty, id: StructId, span: Span) -> Expr {
        match value.kind {
            ExprKind::Const(Const::Int(0)) => self.list_as(&[], to, span),
            _ => self.construct_struct(to, id, vec![Argument::Value(value)], span),
        }
    }

    /// A constructor that an extension gives a built-in type, for values that do not convert.
    fn constructor_of_builtin(&mut self, value: Expr, to: Ty, span: Span) -> Expr {
        let found = self.cx.own_members(to, attrs::INIT.into());
        let generic = matches!(
            self.kind(value.ty),
            TyKind::Struct(..) | TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..)
        );
        if found.is_empty() || !generic {
            self.cx.rules().mismatch(&value, to);
            return self.error(span);
        }
        let callee = Callee::new(self.cx.facts().type_name(to), &found, span);
        self.call(&callee, vec![Argument::Value(value)], span)
    }

    fn construct_vector(&mut self, ty: Ty, element: Ty, n: Val, args: Vec<Argument>, span: Span) -> Expr {
        if args.is_empty() {
            return self.zero(ty, span);
        }
        if args.len() == 1
            && let Some(Argument::Value(value)) = args.first()
        {
            let value = value.clone();
            return self.cast(value, ty, span);
        }
        let Some(mut parts) = self.values(args) else {
            return self.error(span);
        };
        let count = parts.len();
        let mut lanes = 0;
        for part in &mut parts {
            let taken = std::mem::replace(part, self.zero(element, span));
            let (wanted, width) = match self.kind(taken.ty) {
                TyKind::Vector(_, m) => (self.ty(TyKind::Vector(element, m)), self.cx.program.types.known(m)),
                _ => (element, Some(1)),
            };
            lanes += width.unwrap_or(0);
            *part = match self.kind(taken.ty) {
                TyKind::Struct(..) => self.coerce(taken, wanted),
                _ => self.cast(taken, wanted, span),
            };
        }
        match self.cx.program.types.known(n) {
            Some(n) if n != lanes && !self.splats_last(&mut parts, element, n, lanes) => {
                let message = format!("`{}` needs {n} components, {lanes} given", self.show(ty));
                self.report(
                    Diagnostic::new(codes::ARGUMENT_COUNT, span, message)
                        .help("give exactly that many components, or one scalar for all of them"),
                );
                return self.error(span);
            }
            None => {
                let message =
                    format!("`{}` has an unknown number of components, {count} given", self.show(ty));
                self.report(Diagnostic::new(codes::ARGUMENT_COUNT, span, message));
                return self.error(span);
            }
            Some(_) => {}
        }
        Expr::new(ExprKind::Concat(parts), ty, span)
    }

    /// `float4(float2, scalar)`: the scalar fills the other two. Deprecated, but written.
    fn splats_last(&mut self, parts: &mut [Expr], element: Ty, n: i64, lanes: i64) -> bool {
        let [first, last] = parts else { return false };
        let fits =
            n == 4 && lanes == 3 && matches!(self.kind(first.ty), TyKind::Vector(..)) && last.ty == element;
        if fits {
            let two = self.cx.program.types.int_val(2);
            let ty = self.ty(TyKind::Vector(element, two));
            let scalar = std::mem::replace(last, self.zero(element, first.span));
            *last = self.cx.converted(scalar, ty);
        }
        fits
    }

    fn construct_matrix(&mut self, ty: Ty, args: Vec<Argument>, span: Span) -> Expr {
        let TyKind::Matrix(element, r, c) = self.kind(ty) else {
            return self.error(span);
        };
        if args.is_empty() {
            return self.zero(ty, span);
        }
        if args.len() == 1
            && let Some(Argument::Value(value)) = args.first()
        {
            let value = value.clone();
            return self.cast(value, ty, span);
        }
        let Some(parts) = self.values(args) else {
            return self.error(span);
        };
        let row = self.ty(TyKind::Vector(element, c));
        let by_rows = parts.iter().all(|p| matches!(self.kind(p.ty), TyKind::Vector(..)));
        let types = &self.cx.program.types;
        let wanted = match (by_rows, types.known(r), types.known(c)) {
            (true, Some(r), _) => Some(r),
            (false, Some(r), Some(c)) => Some(r * c),
            _ => None,
        };
        if wanted != Some(parts.len() as i64) {
            let wanted = wanted.map_or("a known number of".into(), |n| n.to_string());
            return self.wrong_count(ty, parts.len(), &wanted, span);
        }
        let part_ty = if by_rows { row } else { element };
        let parts = parts.into_iter().map(|p| self.coerce(p, part_ty)).collect();
        Expr::new(ExprKind::Concat(parts), ty, span)
    }

    /// Arguments as values; lists inside have no type to go by.
    fn values(&mut self, args: Vec<Argument>) -> Option<Vec<Expr>> {
        let mut values = vec![];
        for arg in args {
            match arg {
                Argument::Value(value) => values.push(value),
                Argument::List(_, span) => {
                    let message = "an initializer list is not allowed here";
                    self.report(Diagnostic::new(codes::BAD_LIST, span, message));
                    return None;
                }
            }
        }
        Some(values)
    }

    /// Constructors that a structure and extensions of it declare.
    pub(crate) fn constructors(&mut self, ty: Ty) -> Vec<Found> {
        self.cx.own_members(ty, attrs::INIT.into())
    }

    /// Whether a structure declares, in its own body, a constructor with that many parameters.
    fn has_constructor(&mut self, id: StructId, count: usize) -> bool {
        let scope = self.cx.tables.structs[id].scope;
        let items = self.cx.tables.scopes[scope].items(attrs::INIT.into()).to_vec();
        items.into_iter().any(|item| match item {
            Item::Func(func) => {
                self.cx.ensure_func(func);
                self.cx.program.funcs[func].params.len() == count
            }
            _ => false,
        })
    }

    /// Whether `T()` is a constructor somebody wrote.
    pub(crate) fn has_default_constructor(&mut self, ty: Ty) -> bool {
        let found = match self.kind(ty) {
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.cx.members(ty, attrs::INIT.into())
            }
            _ => self.constructors(ty),
        };
        found.iter().any(|f| match f.item {
            Item::Func(func) => {
                self.cx.ensure_func(func);
                self.cx.program.funcs[func].params.is_empty()
            }
            _ => false,
        })
    }

    fn construct_struct(&mut self, ty: Ty, id: StructId, args: Vec<Argument>, span: Span) -> Expr {
        if let [Argument::Value(value)] = args.as_slice()
            && value.ty == ty
        {
            return value.clone();
        }
        match (self.cx.facts().optional_content(ty), args.as_slice()) {
            (Some(_), [Argument::Value(value)]) => return self.coerce(value.clone(), ty),
            (Some(content), [Argument::List(items, at)]) => {
                let (items, at) = (items.clone(), *at);
                let value = self.list_as(&items, content, at);
                return self.cx.program.present(value, ty);
            }
            _ => {}
        }
        if args.is_empty() && self.cx.facts().is_resource(id) {
            let message = format!("only the host can create a value of `{}`", self.show(ty));
            self.report(
                Diagnostic::new(codes::NO_OVERLOAD, span, message).help("initialize it with a resource"),
            );
            return self.error(span);
        }
        if args.is_empty() && self.cx.program.structs[id].magic.is_some() {
            // A null pointer.
            return self.zero(ty, span);
        }
        let found = self.constructors(ty);
        let name = format!("{}.{}", self.cx.facts().type_name(ty), attrs::INIT);
        let Some(found) = self.seen(found, Symbol::new(&name), span) else {
            return self.error(span);
        };
        if self.cx.facts().suppresses_memberwise(id) || (args.is_empty() && self.has_default_constructor(ty))
        {
            let callee = Callee::new(self.cx.facts().type_name(ty), &found, span);
            return self.call(&callee, args, span);
        }
        match self.by_extension(ty, &found, &args, span) {
            Some(call) => call,
            None => self.memberwise(ty, args, span),
        }
    }

    /// A call of a constructor that an extension declares. It is preferred to construction from fields if it fits at least as well.
    pub(crate) fn by_extension(
        &mut self,
        ty: Ty,
        found: &[Found],
        args: &[Argument],
        span: Span,
    ) -> Option<Expr> {
        if found.is_empty() || args.is_empty() {
            return None;
        }
        let callee = Callee::new(self.cx.facts().type_name(ty), found, span);
        let (choice, _) = self.quietly(|cx| cx.choose(&callee, args));
        let Choice::One(fit) = choice else { return None };
        if self.memberwise_cost(ty, args).is_some_and(|cost| cost < fit.cost) {
            return None;
        }
        Some(self.emit_call(&callee, *fit, args.to_vec(), span))
    }

    fn construct_generic(&mut self, ty: Ty, args: Vec<Argument>, span: Span) -> Expr {
        if let [Argument::Value(value)] = args.as_slice()
            && value.ty == ty
        {
            return value.clone();
        }
        let found = self.cx.members(ty, attrs::INIT.into());
        if found.is_empty() {
            if args.is_empty() {
                return self.zero(ty, span);
            }
            let message = format!("`{}` has no constructor in its bounds", self.show(ty));
            self.report(
                Diagnostic::new(codes::NO_OVERLOAD, span, message)
                    .help("add a bound that requires `__init`, such as `IFloat`"),
            );
            return self.error(span);
        }
        let callee = Callee::new(self.cx.facts().type_name(ty), &found, span);
        self.call(&callee, args, span)
    }

    /// A constructor's body begins with a new value: member initializers have run.
    pub(crate) fn begin_constructor(&mut self, ty: Ty, span: Span, block: &mut Vec<Stmt>) {
        let this = self.temp("this", ty, span);
        self.this = Some(this);
        self.constructor = true;
        let value = match self.kind(ty) {
            TyKind::Struct(id, _) => self.initialized_fields(ty, id, span),
            _ => None,
        };
        block.push(Stmt { kind: StmtKind::Let(this, value), span });
    }
}

impl Program {
    /// Whether a matrix has as many numbers as a vector.
    fn same_count(&self, matrix: Ty, vector: Ty) -> bool {
        let types = &self.types;
        let (TyKind::Matrix(_, r, c), TyKind::Vector(_, n)) =
            (self.types.kind(matrix), self.types.kind(vector))
        else {
            return false;
        };
        matches!((types.known(r), types.known(c), types.known(n)), (Some(r), Some(c), Some(n)) if r * c == n)
    }

    fn truncates(&self, from: Ty, to: Ty) -> bool {
        let types = &self.types;
        let (TyKind::Matrix(_, r, c), TyKind::Matrix(_, s, d)) = (self.types.kind(from), self.types.kind(to))
        else {
            return false;
        };
        match (types.known(r), types.known(c), types.known(s), types.known(d)) {
            (Some(r), Some(c), Some(s), Some(d)) => s <= r && d <= c && (s, d) != (r, c),
            _ => false,
        }
    }
}

impl Facts<'_> {
    /// The name under which messages speak of a type's constructors.
    fn type_name(self, ty: Ty) -> Symbol {
        Symbol::new(&self.show(ty))
    }

    /// Whether a structure declares a constructor, which replaces construction from its fields.
    pub(crate) fn suppresses_memberwise(self, id: StructId) -> bool {
        let scope = self.tables.structs[id].scope;
        self.tables.scopes[scope].has(attrs::INIT.into())
    }

    /// Whether a structure of the library is a resource, which only the host can create. A pointer is not one: it may be null.
    fn is_resource(self, id: StructId) -> bool {
        self.program.structs[id].magic.is_some_and(|magic| magic != *"ptr")
    }
}
