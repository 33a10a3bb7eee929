//! Checks initializer lists and construction from fields.
//!
//! The initialized type determines the meaning of a list:
//!
//! - For a structure with a constructor, the list is a call of that constructor. A constructor in an extension is called if
//!   it fits as well as the fields.
//! - For an optional value, the list holds the value.
//! - Otherwise, if every element converts to its part, each initializes one part: for `float3 a; float b;`, the list `{1, 2}`
//!   makes `a` three ones and `b` two. `{1}` for a `float3` is three ones.
//! - If not, the elements fill the parts in order, and inner braces are optional: `{1, 2, 3, 4}` fills two `float2`.
//!
//! Missing values are zero or the field's initializer. The fields of a base come before those of the structure, and are
//! always initialized as wholes.

mod defaults;

use crate::bodies::body::BodyCx;
use crate::bodies::convert::Cost;
use crate::bodies::overload::Argument;
use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{Expr, ExprKind, StructId, Ty, TyKind};
use crate::names::access::Access;
use crate::tables::Item;
use crate::types::leaves::MOST_FIELDS;
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;
use std::collections::VecDeque;

/// What is left of a list.
type Items = VecDeque<Argument>;

/// The most elements of an array that are filled from a list.
const MOST_LISTED: usize = 1 << 20;

impl BodyCx<'_> {
    /// `{items}` as a value of a type.
    pub(crate) fn list_as(&mut self, items: &[ast::Expr], ty: Ty, span: Span) -> Expr {
        if self.cx.program.types.is_error(ty) {
            return self.error(span);
        }
        let args = self.arguments(items);
        if let (Some(content), false) = (self.cx.facts().optional_content(ty), args.is_empty()) {
            return self.present(ty, content, args, span);
        }
        if let Some(call) = self.list_by_extension(ty, &args, span) {
            return call;
        }
        match self.kind(ty) {
            TyKind::Struct(id, _) if self.cx.facts().suppresses_memberwise(id) => {
                self.construct(ty, args, span)
            }
            TyKind::Struct(..) if args.is_empty() => self.construct(ty, args, span),
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.construct(ty, args, span)
            }
            TyKind::Scalar(_) | TyKind::Enum(_) => match args.len() {
                0 => self.zero(ty, span),
                _ => self.aggregate(ty, args, span),
            },
            TyKind::Vector(..) | TyKind::Matrix(..) | TyKind::Array(..) if args.is_empty() => {
                self.default_value(ty, span)
            }
            TyKind::Interface(..) if args.len() == 1 => self.construct(ty, args, span),
            TyKind::Interface(..) | TyKind::Void | TyKind::String | TyKind::None => {
                let message = format!("cannot initialize `{}` from a list", self.show(ty));
                self.report(Diagnostic::new(codes::BAD_LIST, span, message));
                self.error(span)
            }
            TyKind::Struct(id, _) if self.has_base(id) => self.memberwise(ty, args, span),
            _ if self.is_whole(ty, &args) => self.compose(ty, args, span),
            _ => self.aggregate(ty, args, span),
        }
    }

    /// A list as the arguments of a constructor in an extension, for a structure that declares no constructor itself.
    fn list_by_extension(&mut self, ty: Ty, args: &[Argument], span: Span) -> Option<Expr> {
        let TyKind::Struct(id, _) = self.kind(ty) else { return None };
        if args.is_empty() || self.cx.facts().suppresses_memberwise(id) {
            return None;
        }
        let scope = self.scope;
        let mut found = self.constructors(ty);
        found.retain(|found| self.cx.can_see(found.access, scope));
        self.by_extension(ty, &found, args, span)
    }

    /// The cost of converting values to the fields of a structure, if there is one for each field.
    pub(crate) fn memberwise_cost(&mut self, ty: Ty, args: &[Argument]) -> Option<Cost> {
        let fields = self.flat_fields(ty);
        if fields.len() != args.len() {
            return None;
        }
        let costs = args.iter().zip(fields).map(|(arg, field)| match arg {
            Argument::Value(value) => self.cx.cost(value, field),
            Argument::List(..) => Some(0),
        });
        costs.sum()
    }

    /// A list for an optional value: its only element is the value.
    fn present(&mut self, ty: Ty, content: Ty, args: Vec<Argument>, span: Span) -> Expr {
        let mut items: Items = args.into();
        let value = match items.pop_front() {
            Some(Argument::Value(value)) => self.coerce(value, content),
            Some(Argument::List(inner, at)) => self.list_as(&inner, content, at),
            None => self.zero(content, span),
        };
        self.cx.rules().no_more(ty, &items);
        self.cx.program.present(value, ty)
    }

    /// The types a list of so many elements gives values to, if it gives each of them as a whole.
    fn wholes(&mut self, ty: Ty, count: usize) -> Option<Vec<Ty>> {
        match self.kind(ty) {
            TyKind::Vector(..) | TyKind::Matrix(..) if count == 1 => Some(vec![ty]),
            TyKind::Matrix(element, rows, columns) => {
                let row = self.ty(TyKind::Vector(element, columns));
                (self.cx.program.types.known(rows) == Some(count as i64)).then(|| vec![row; count])
            }
            TyKind::Struct(..) => Some(self.flat_fields(ty)).filter(|f| count <= f.len()),
            _ => None,
        }
    }

    /// The types of a structure's fields that can be seen from here, those of its base in place of it.
    fn flat_fields(&mut self, ty: Ty) -> Vec<Ty> {
        let TyKind::Struct(id, args) = self.kind(ty) else { return vec![] };
        let fields = self.cx.fields_under(id, args);
        let has_base = self.has_base(id);
        let mut all = vec![];
        for (number, field) in fields.into_iter().enumerate() {
            if has_base && number == 0 {
                all.extend(self.flat_fields(field));
            } else if self.can_fill(id, number) {
                all.push(field);
            }
        }
        all
    }

    fn has_base(&mut self, id: StructId) -> bool {
        self.cx.ensure_struct(id);
        self.cx.tables.structs[id].base.is_some()
    }

    /// `S(..)` for a structure without constructor: a value for each field, in order, as far as there are values.
    pub(crate) fn memberwise(&mut self, ty: Ty, args: Vec<Argument>, span: Span) -> Expr {
        let fields = self.flat_fields(ty).len();
        if args.len() > fields {
            let takes = if fields == 1 { "1 value".into() } else { format!("up to {fields} values") };
            let message = format!("`{}` takes {takes}, {} given", self.show(ty), args.len());
            self.report(
                Diagnostic::new(codes::ARGUMENT_COUNT, span, message)
                    .help("give at most one value per field"),
            );
            return self.error(span);
        }
        if self.cx.has_too_many_fields(ty) {
            let message =
                format!("`{}` has more than {MOST_FIELDS} fields, counting nested ones", self.show(ty));
            self.report(
                Diagnostic::new(codes::BAD_LIST, span, message)
                    .help("use arrays in place of nested structures"),
            );
            return self.error(span);
        }
        self.compose_struct(ty, &mut args.into(), span)
    }

    /// A structure whose fields are the elements, each converted; the rest is what the initializers say.
    fn compose_struct(&mut self, ty: Ty, items: &mut Items, span: Span) -> Expr {
        let TyKind::Struct(id, args) = self.kind(ty) else { return self.error(span) };
        let types = self.cx.fields_under(id, args);
        let has_base = self.has_base(id);
        let mut parts = vec![];
        for (number, field) in types.into_iter().enumerate() {
            if has_base && number == 0 && !items.is_empty() {
                parts.push(self.compose_struct(field, items, span));
                continue;
            }
            let item = if self.can_fill(id, number) { items.pop_front() } else { None };
            parts.push(match item {
                Some(Argument::Value(value)) => self.coerce(value, field),
                Some(Argument::List(items, at)) => self.list_as(&items, field, at),
                None => self.field_default(ty, id, number, field, span),
            });
        }
        Expr::new(ExprKind::Construct(parts), ty, span)
    }

    /// Whether every element converts to the part it stands for.
    fn is_whole(&mut self, ty: Ty, args: &[Argument]) -> bool {
        let Some(parts) = self.wholes(ty, args.len()) else { return false };
        args.iter().zip(parts).all(|(arg, part)| match arg {
            Argument::Value(value) => {
                self.cx.program.types.is_error(value.ty) || self.cx.cost(value, part).is_some()
            }
            Argument::List(..) => part != ty,
        })
    }

    /// A value whose parts are the elements, each converted.
    fn compose(&mut self, ty: Ty, args: Vec<Argument>, span: Span) -> Expr {
        if let TyKind::Struct(..) = self.kind(ty) {
            return self.compose_struct(ty, &mut args.into(), span);
        }
        let types = self.wholes(ty, args.len()).unwrap_or_default();
        let mut parts: Vec<Expr> = args
            .into_iter()
            .zip(&types)
            .map(|(arg, part)| match arg {
                Argument::Value(value) => self.coerce(value, *part),
                Argument::List(items, at) => self.list_as(&items, *part, at),
            })
            .collect();
        match parts.as_slice() {
            [only] if only.ty == ty => parts.remove(0),
            _ => Expr::new(ExprKind::Construct(parts), ty, span),
        }
    }

    /// The arguments of a call, or the elements of a list.
    pub(crate) fn arguments(&mut self, exprs: &[ast::Expr]) -> Vec<Argument> {
        let mut args = vec![];
        for e in exprs {
            match &e.kind {
                ast::ExprKind::List(items) => args.push(Argument::List(items.clone(), e.span)),
                _ => {
                    let value = self.expr(e);
                    match self.taken_apart(&value) {
                        Some(parts) => args.extend(parts.into_iter().map(Argument::Value)),
                        None => args.push(Argument::Value(value)),
                    }
                }
            }
        }
        args
    }

    /// `expand each t` of a tuple of known length stands for its elements.
    fn taken_apart(&mut self, value: &Expr) -> Option<Vec<Expr>> {
        let ExprKind::Expand(inner) = &value.kind else { return None };
        let ExprKind::Each(tuple) = &inner.kind else { return None };
        let TyKind::Tuple(list) = self.kind(tuple.ty) else { return None };
        let items = self.cx.program.types.list(list).to_vec();
        // What is not a variable would be evaluated once for each element.
        let place = matches!(tuple.kind, ExprKind::Local(_) | ExprKind::Field(..) | ExprKind::Global(..));
        if !place || items.iter().any(|item| self.cx.program.is_pack_arg(*item)) {
            return None;
        }
        let span = value.span;
        Some(
            (0..items.len())
                .map(|at| self.named_member((**tuple).clone(), &format!("_{at}"), span))
                .collect(),
        )
    }

    /// Fills a type with the given values.
    pub(crate) fn aggregate(&mut self, ty: Ty, args: Vec<Argument>, span: Span) -> Expr {
        let mut items: Items = args.into();
        let value = if let TyKind::UnsizedArray(element) = self.kind(ty) {
            let mut elements = vec![];
            while !items.is_empty() {
                let before = items.len();
                elements.push(self.element(element, &mut items, span));
                if items.len() == before {
                    break;
                }
            }
            let count = self.cx.program.types.int_val(elements.len() as i64);
            let ty = self.ty(TyKind::Array(element, count));
            Expr::new(ExprKind::Construct(elements), ty, span)
        } else {
            self.fill(ty, &mut items, span)
        };
        self.cx.rules().no_more(value.ty, &items);
        value
    }

    /// Takes what a type needs from the front of a list, element by element.
    fn fill(&mut self, ty: Ty, items: &mut Items, span: Span) -> Expr {
        let known = |cx: &Self, val| cx.cx.program.types.known(val).and_then(|n| usize::try_from(n).ok());
        let parts = match self.kind(ty) {
            TyKind::Vector(element, n) => match known(self, n) {
                Some(n) => return self.fill_vector(ty, element, n, items, span),
                None => None,
            },
            TyKind::Matrix(element, r, c) => known(self, r).map(|r| {
                let row = self.ty(TyKind::Vector(element, c));
                vec![row; r]
            }),
            TyKind::Array(element, n) => match known(self, n) {
                Some(n) if n > MOST_LISTED => return self.too_long(ty, items, span),
                n => n.map(|n| vec![element; n]),
            },
            TyKind::Tuple(args) => {
                Some(self.cx.program.types.list(args).iter().filter_map(|arg| arg.ty()).collect())
            }
            TyKind::Struct(id, args) if self.cx.facts().has_fields(id, ty) => {
                return self.fill_struct(ty, id, args, items, span);
            }
            _ => {
                return match items.pop_front() {
                    Some(Argument::Value(value)) => self.coerce(value, ty),
                    Some(Argument::List(inner, at)) => self.list_as(&inner, ty, at),
                    None => self.default_value(ty, span),
                };
            }
        };
        let Some(parts) = parts else {
            let message =
                format!("cannot initialize `{}` from a list, because its size is unknown", self.show(ty));
            self.report(
                Diagnostic::new(codes::BAD_LIST, span, message).help("use `{}` for all zeros, or a loop"),
            );
            items.clear();
            return self.error(span);
        };
        if parts.len() > 1 << 16 && items.is_empty() {
            return self.default_value(ty, span);
        }
        let parts = parts.into_iter().map(|part| self.element(part, items, span)).collect();
        Expr::new(ExprKind::Construct(parts), ty, span)
    }

    /// An array that is too long to be listed: all elements are alike, or there is an error.
    fn too_long(&mut self, ty: Ty, items: &mut Items, span: Span) -> Expr {
        if items.is_empty() {
            return self.default_value(ty, span);
        }
        items.clear();
        let message = format!("`{}` is too long to initialize from a list", self.show(ty));
        let error = Diagnostic::new(codes::BAD_LIST, span, message);
        self.report(error.help("use `{}` for all zeros, and assign the other elements"));
        self.error(span)
    }

    /// Lanes from scalars and vectors, until there are enough.
    fn fill_vector(&mut self, ty: Ty, element: Ty, n: usize, items: &mut Items, span: Span) -> Expr {
        let mut parts = vec![];
        let mut lanes = 0;
        while lanes < n {
            match items.pop_front() {
                None => {
                    parts.push(self.zero(element, span));
                    lanes += 1;
                }
                Some(Argument::List(inner, at)) => {
                    parts.push(self.list_as(&inner, element, at));
                    lanes += 1;
                }
                Some(Argument::Value(value)) => {
                    let (wanted, width) = match self.kind(value.ty) {
                        TyKind::Vector(_, m) => {
                            let width = self.cx.program.types.known(m).unwrap_or(1);
                            (self.ty(TyKind::Vector(element, m)), width as usize)
                        }
                        _ => (element, 1),
                    };
                    lanes += width;
                    parts.push(self.coerce(value, wanted));
                }
            }
        }
        if lanes > n {
            let message = format!("the values do not match `{}`", self.show(ty));
            self.report(Diagnostic::new(codes::BAD_LIST, span, message));
            return self.error(span);
        }
        if let [only] = parts.as_slice()
            && only.ty == ty
        {
            return parts.remove(0);
        }
        Expr::new(ExprKind::Concat(parts), ty, span)
    }

    fn fill_struct(
        &mut self,
        ty: Ty,
        id: StructId,
        args: crate::hir::Args,
        items: &mut Items,
        span: Span,
    ) -> Expr {
        let types = self.cx.fields_under(id, args);
        let mut parts = vec![];
        for (number, field) in types.into_iter().enumerate() {
            let part = if items.is_empty() || !self.can_fill(id, number) {
                self.field_default(ty, id, number, field, span)
            } else {
                self.element(field, items, span)
            };
            parts.push(part);
        }
        Expr::new(ExprKind::Construct(parts), ty, span)
    }

    /// Whether a list has an element for a field: the field is visible here, and wherever its structure is.
    fn can_fill(&mut self, id: StructId, number: usize) -> bool {
        let info = &self.cx.tables.structs[id];
        let inherited = self.cx.program.structs[id].fields.len() - info.fields.len();
        let Some(own) = number.checked_sub(inherited) else { return true };
        let access = self.cx.tables.scopes.item_access(info.scope, Item::Field(own as u32));
        let around = self.cx.tables.scopes[info.scope].parent();
        let whole = around
            .map_or(Access::Public, |around| self.cx.tables.scopes.item_access(around, Item::Struct(id)));
        let scope = self.scope;
        !access.is_less_than(whole) && self.cx.can_see(access, scope)
    }

    /// One element: the next value if it converts and has the shape, else several, as if there were braces.
    fn element(&mut self, ty: Ty, items: &mut Items, span: Span) -> Expr {
        match items.front() {
            None => self.default_value(ty, span),
            Some(Argument::List(..)) => match items.pop_front() {
                Some(Argument::List(inner, at)) => self.list_as(&inner, ty, at),
                _ => self.error(span),
            },
            Some(Argument::Value(value)) => {
                let value = value.clone();
                let is_scalar = matches!(self.kind(value.ty), TyKind::Scalar(_) | TyKind::Enum(_));
                let has_parts = match self.kind(ty) {
                    TyKind::Vector(..) | TyKind::Matrix(..) | TyKind::Array(..) | TyKind::Tuple(_) => true,
                    TyKind::Struct(id, _) => {
                        !self.cx.facts().suppresses_memberwise(id) && self.cx.facts().has_fields(id, ty)
                    }
                    _ => false,
                };
                let whole = self.cx.program.types.is_error(value.ty) || self.cx.cost(&value, ty).is_some();
                if !has_parts || (whole && !is_scalar) {
                    items.pop_front();
                    return self.coerce(value, ty);
                }
                self.fill(ty, items, span)
            }
        }
    }
}

impl Rules<'_> {
    /// Reports the elements of a list that its type does not take.
    fn no_more(&mut self, ty: Ty, items: &Items) {
        if let Some(extra) = items.front() {
            let message = format!("too many values for `{}`", self.show(ty));
            self.diagnostics.push(Diagnostic::new(codes::BAD_LIST, extra.span(), message));
        }
    }
}

impl Facts<'_> {
    /// Whether a structure has fields that a list fills. Pointers, resources and optional values have none.
    fn has_fields(self, id: StructId, ty: Ty) -> bool {
        self.program.structs[id].magic.is_none() && self.optional_content(ty).is_none()
    }
}
