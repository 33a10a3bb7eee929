//! Checks `a[i]`.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Expr, ExprKind, FuncId, FuncRef, Ty, TyKind, Val};
use crate::names::lookup::Found;
use crate::tables::{FuncSource, Item, PropId, PropInfo};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// `base[indices]`: an element, a subscript, or an array type.
    pub(super) fn index(&mut self, base: &ast::Expr, indices: &[ast::Expr], span: Span) -> Entity {
        let base = match self.entity(base) {
            Entity::Type(element) => return Entity::Type(self.array_type(element, indices)),
            Entity::Open(found) => {
                let scope = self.scope;
                let element = self.cx.apply(&found, &[], span, scope);
                return Entity::Type(self.array_type(element, indices));
            }
            entity => self.value_of(entity, base.span),
        };
        let indices: Vec<Expr> = indices.iter().map(|i| self.expr(i)).collect();
        if self.cx.program.types.is_error(base.ty)
            || indices.iter().any(|i| self.cx.program.types.is_error(i.ty))
        {
            return Entity::Value(self.error(span));
        }
        let element = match self.kind(base.ty) {
            TyKind::Array(t, n) => Some((t, Some(n))),
            TyKind::Vector(t, n) => Some((t, Some(n))),
            TyKind::Matrix(t, r, c) => Some((self.ty(TyKind::Vector(t, c)), Some(r))),
            TyKind::UnsizedArray(t) => Some((t, None)),
            _ => None,
        };
        Entity::Value(match element {
            Some((ty, count)) => self.element_of(base, ty, count, indices, span),
            None => self.subscript(base, indices, span),
        })
    }

    fn array_type(&mut self, element: Ty, sizes: &[ast::Expr]) -> Ty {
        let scope = self.scope;
        match sizes.first() {
            None => self.ty(TyKind::UnsizedArray(element)),
            Some(size) => {
                let n = self.cx.const_val(size, scope);
                self.ty(TyKind::Array(element, n))
            }
        }
    }

    fn element_of(
        &mut self,
        base: Expr,
        ty: Ty,
        count: Option<Val>,
        mut indices: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let given = indices.len();
        let (1, Some(index)) = (given, indices.pop()) else {
            let message = format!("`{}` takes one index, {given} given", self.show(base.ty));
            self.report(
                Diagnostic::new(codes::ARGUMENT_COUNT, span, message).help("write two indices: `a[i][j]`"),
            );
            return self.error(span);
        };
        let index = self.index_value(index);
        self.check_range(&base, &index, count);
        Expr::new(ExprKind::Element(base.into(), index.into()), ty, span)
    }

    /// An index as an integer of any type.
    fn index_value(&mut self, index: Expr) -> Expr {
        match self.kind(index.ty) {
            TyKind::Scalar(s) if s.is_int() => index,
            _ => {
                let int = self.scalar(Scalar::I32);
                self.coerce(index, int)
            }
        }
    }

    /// A constant index must be in range.
    fn check_range(&mut self, base: &Expr, index: &Expr, count: Option<Val>) {
        let known = |cx: &Self, val: Option<Val>| val.and_then(|v| cx.cx.program.types.known(v));
        let Some(count) = known(self, count) else { return };
        let folded = match index.kind {
            ExprKind::Const(_) | ExprKind::Val(_) | ExprKind::Global(..) | ExprKind::Local(_) => {
                self.fold(index)
            }
            _ => None,
        };
        let Some(index_value) = known(self, folded) else { return };
        if index_value < 0 || index_value >= count {
            let message = format!("index {index_value} is out of range for `{}`", self.show(base.ty));
            self.report(
                Diagnostic::new(codes::OUT_OF_RANGE, index.span, message)
                    .note(format!("there are {count} elements, numbered from 0")),
            );
        }
    }

    /// A subscript that a type declares.
    pub(crate) fn subscript(&mut self, base: Expr, indices: Vec<Expr>, span: Span) -> Expr {
        let found = self.cx.members(base.ty, attrs::SUBSCRIPT.into());
        let subscripts: Vec<(PropId, Found)> = found
            .into_iter()
            .filter_map(|f| match f.item {
                Item::Property(id) => Some((id, f)),
                _ => None,
            })
            .collect();
        if subscripts.is_empty() {
            if let Some(content) = self.cx.program.block_content(base.ty) {
                let inner = self.cx.program.block_value(base, content);
                let ty = match self.kind(content) {
                    TyKind::Array(t, _) => t,
                    _ => return self.subscript(inner, indices, span),
                };
                return self.element_of(inner, ty, None, indices, span);
            }
            let message = format!("`{}` cannot be indexed", self.show(base.ty));
            let tables = &self.cx.tables;
            let is_own = matches!(self.kind(base.ty), TyKind::Struct(id, _) if !tables.scopes[tables.structs[id].scope].is_library());
            let help = match is_own {
                true => "declare a `__subscript` in the type, or in an extension of it",
                false => "arrays, vectors, matrices, buffers and types with a `__subscript` can be indexed",
            };
            self.report(Diagnostic::new(codes::NO_SUBSCRIPT, span, message).help(help));
            return self.error(span);
        }
        if subscripts.iter().any(|(id, found)| self.cx.facts().is_called(*id, *found)) {
            return self.called_subscript(&subscripts, base, indices, span);
        }
        match self.best_subscript(&subscripts, &indices) {
            Some((id, found, types)) => self.emit_subscript(id, found, base, indices, &types, span),
            None => {
                let types: Vec<Ty> = indices.iter().map(|index| index.ty).collect();
                self.no_subscript(base.ty, &types, span)
            }
        }
    }

    /// Reports that no subscript of a type takes indices of these types.
    fn no_subscript(&mut self, base: Ty, indices: &[Ty], span: Span) -> Expr {
        let shown: Vec<String> = indices.iter().map(|ty| self.show(*ty)).collect();
        let message = format!("no subscript of `{}` takes [{}]", self.show(base), shown.join(", "));
        self.report(Diagnostic::new(codes::NO_SUBSCRIPT, span, message));
        self.error(span)
    }

    /// A subscript that is chosen, and whose indices are passed, as if its `get` were called. One without a `get` is chosen as if
    /// its `set` were called, with a value of any type.
    fn called_subscript(
        &mut self,
        subscripts: &[(PropId, Found)],
        base: Expr,
        indices: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let named = |accessor: &str, found: Vec<Found>| Callee {
            this: Some(base.clone()),
            ..Callee::new(Symbol::new(accessor), &found, span)
        };
        let accessors = |of: fn(&PropInfo) -> Option<FuncId>| {
            let found = subscripts.iter().filter_map(|(id, found)| {
                Some(Found { item: Item::Func(of(&self.cx.tables.props[*id])?), ..*found })
            });
            found.collect::<Vec<Found>>()
        };
        let getters = named("subscript.get", accessors(|prop| prop.get));
        let setters = named("subscript.set", accessors(|prop| prop.set.filter(|_| prop.get.is_none())));
        let types: Vec<Ty> = indices.iter().map(|index| index.ty).collect();
        let mut args: Vec<Argument> = indices.into_iter().map(Argument::Value).collect();
        let unread =
            matches!(self.choose(&getters, &args), Choice::None(_)) && !setters.candidates.is_empty();
        if unread {
            args.push(Argument::Value(self.error(span)));
        }
        let call = self.call(if unread { &setters } else { &getters }, args, span);
        let ExprKind::Call(call) = call.kind else {
            // A call with an argument of the error type fails without a report.
            return match unread && !types.iter().any(|ty| self.cx.program.types.is_error(*ty)) {
                true => self.no_subscript(base.ty, &types, span),
                false => self.error(span),
            };
        };
        let FuncRef { func, args } = call.callee;
        let FuncSource::Accessor(id, _) = self.cx.tables.funcs[func].source else { return self.error(span) };
        let mut passed: Vec<Expr> = call.args.iter().map(|(_, arg)| arg.clone()).collect();
        if unread {
            passed.pop();
        }
        let this = self.cx.program.funcs[func].this.is_some().then(|| passed.remove(0));
        let found = Found::plain(Item::Property(id), args);
        self.property(id, found, this, passed, span)
    }

    /// The subscript whose indices cost least to convert; the writable one of equals, as in interfaces that refine
    /// others.
    fn best_subscript(
        &mut self,
        subscripts: &[(PropId, Found)],
        indices: &[Expr],
    ) -> Option<(PropId, Found, Vec<Ty>)> {
        let mut best: Option<(u32, bool, PropId, Found, Vec<Ty>)> = None;
        for (id, found) in subscripts {
            let types = self.index_types(*id, *found);
            if types.len() != indices.len() {
                continue;
            }
            let costs: Option<Vec<u32>> =
                indices.iter().zip(&types).map(|(i, t)| self.cx.cost(i, *t)).collect();
            let Some(costs) = costs else { continue };
            let cost = costs.iter().sum();
            let writable = self.cx.tables.props[*id].set.is_some();
            let better = best.as_ref().is_none_or(|(c, w, ..)| cost < *c || (cost == *c && writable && !w));
            if better {
                best = Some((cost, writable, *id, *found, types));
            }
        }
        best.map(|(_, _, id, found, types)| (id, found, types))
    }

    fn index_types(&mut self, id: PropId, found: Found) -> Vec<Ty> {
        let info = &self.cx.tables.props[id];
        let (params, scope, generics) = (info.params.clone(), info.scope, info.generics);
        let saved = self.cx.enter(generics);
        let types: Vec<Ty> = params.iter().map(|p| self.cx.resolve_ty(&p.ty, scope)).collect();
        self.cx.leave(saved);
        let params = self.cx.tables.generics[generics].params.clone();
        types.into_iter().map(|t| self.cx.replace(t, &params, found.args)).collect()
    }

    fn emit_subscript(
        &mut self,
        id: PropId,
        found: Found,
        base: Expr,
        indices: Vec<Expr>,
        types: &[Ty],
        span: Span,
    ) -> Expr {
        if self.cx.tables.props[id].element.is_some() {
            let ty = self.subscript_type(id, found);
            let mut indices = indices;
            return match (indices.len(), indices.pop()) {
                (1, Some(index)) => {
                    let index = match self.kind(types[0]) {
                        TyKind::Scalar(_) => self.index_value(index),
                        _ => self.coerce(index, types[0]),
                    };
                    Expr::new(ExprKind::Element(base.into(), index.into()), ty, span)
                }
                _ => self.error(span),
            };
        }
        let indices = indices.into_iter().zip(types).map(|(i, t)| self.coerce(i, *t)).collect();
        self.property(id, found, Some(base), indices, span)
    }

    fn subscript_type(&mut self, id: PropId, found: Found) -> Ty {
        let info = &self.cx.tables.props[id];
        let (ty, scope, generics) = (info.ty.clone(), info.scope, info.generics);
        let saved = self.cx.enter(generics);
        let ty = self.cx.resolve_ty(&ty, scope);
        self.cx.leave(saved);
        let params = self.cx.tables.generics[generics].params.clone();
        self.cx.replace(ty, &params, found.args)
    }
}

impl Facts<'_> {
    /// Whether the indices of a subscript must be passed like arguments: some have defaults, or types yet to be inferred.
    fn is_called(self, id: PropId, found: Found) -> bool {
        let info = &self.tables.props[id];
        let generic = self.tables.generics[info.generics].params.len();
        generic > self.program.types.list(found.args).len() || info.params.iter().any(|p| p.default.is_some())
    }
}
