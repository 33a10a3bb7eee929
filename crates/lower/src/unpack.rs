//! Expands packs: produces the body of an instance without them.
//!
//! In a checked body, a variable may be a pack, and `expand e` stands for any number of expressions. In an instance, the
//! number is known. A pack variable becomes one variable per element, and `expand e` becomes one copy of `e` per element, in
//! which `each x` is that element:
//!
//! ```text
//! void f<each T>(expand each T x)        void f<int, float>(int x_0, float x_1)
//! {                                      {
//!     expand g(each x);                      g(x_0);
//!                                            g(x_1);
//! }                                      }
//! ```
//!
//! Afterwards all types are those of the instance. Elements of a tuple are its fields. The operand of `each` is evaluated
//! once per element.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntityMap, Map, Scalar, Span, Symbol};
use cotangent_sema::Subst;
use cotangent_sema::hir::{
    self, Block, Body, Case, Expr, ExprKind, FuncRef, Local, LocalId, Loop, PackPart, Stmt, StmtKind, Ty,
    TyKind,
};
use std::sync::Arc;

impl Lowerer<'_> {
    /// The body of an instance and what generic parameters in it are.
    pub fn instance_body(&mut self, func: FuncRef) -> Option<(Arc<Body>, Subst)> {
        let body = self.queries.body(func.func)?;
        let subst = self.subst(func);
        Some(self.without_packs(body, subst))
    }

    /// A body without packs.
    pub fn without_packs(&mut self, body: Arc<Body>, subst: Subst) -> (Arc<Body>, Subst) {
        if !body.packs {
            return (body, subst);
        }
        let args = self.queries.args(&[]);
        let unpacked = Unpacker::run(self, &body, subst);
        (Arc::new(unpacked), Subst { params: vec![], args, at: None })
    }

    /// The elements of a pack, which is known.
    pub fn pack_elements(&self, pack: Ty) -> Option<Vec<Ty>> {
        if let TyKind::Pack(list) = self.queries.program.types.kind(pack) {
            Some(self.tuple_types(list))
        } else {
            None
        }
    }
}

/// The state while a body is taken apart.
struct Unpacker<'l, 'c> {
    lowerer: &'l mut Lowerer<'c>,
    body: &'l Body,
    subst: Subst,
    locals: EntityMap<LocalId, Local>,
    /// The variables that stand for each that is a pack.
    packs: Map<LocalId, Vec<LocalId>>,
    /// Variables that an expression brings along, in the copy at hand.
    renamed: Map<LocalId, LocalId>,
}

impl<'l, 'c> Unpacker<'l, 'c> {
    fn run(lowerer: &'l mut Lowerer<'c>, body: &'l Body, subst: Subst) -> Body {
        let mut unpacker = Unpacker {
            lowerer,
            body,
            subst,
            locals: body.locals.clone(),
            packs: Map::default(),
            renamed: Map::default(),
        };
        for (id, local) in body.locals.iter() {
            unpacker.split(id, local);
        }
        let params = body.params.iter().flat_map(|local| unpacker.parts(*local)).collect();
        let block = unpacker.block(&body.block);
        Body::new(unpacker.locals, params, block, false)
    }

    /// Gives a variable its type, or variables for its elements.
    fn split(&mut self, id: LocalId, local: &Local) {
        let ty = self.ty(local.ty);
        self.locals[id].ty = ty;
        if let Some(elements) = self.lowerer.pack_elements(ty) {
            let named = |i: usize| Symbol::new(&format!("{}_{i}", local.name));
            let parts = elements.into_iter().enumerate();
            let parts = parts.map(|(i, ty)| self.locals.push(Local { name: named(i), ty, span: local.span }));
            let parts = parts.collect();
            self.packs.insert(id, parts);
        }
    }

    fn parts(&self, local: LocalId) -> Vec<LocalId> {
        self.packs.get(&local).cloned().unwrap_or_else(|| vec![local])
    }

    fn ty(&mut self, ty: Ty) -> Ty {
        self.lowerer.queries.subst(ty, &self.subst)
    }

    fn func(&mut self, func: &mut FuncRef) {
        *func = self.lowerer.queries.subst_func(*func, &self.subst);
    }

    fn block(&mut self, block: &Block) -> Block {
        let mut out = vec![];
        for stmt in block {
            self.stmt(stmt, &mut out);
        }
        out
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Block) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            StmtKind::Expr(expr) => {
                let all = self.splice(expr.clone());
                out.extend(all.into_iter().map(|expr| Stmt { kind: StmtKind::Expr(expr), span }));
                return;
            }
            StmtKind::Let(local, value) => {
                let values: Vec<Expr> = value.iter().flat_map(|value| self.splice(value.clone())).collect();
                let mut values = values.into_iter();
                for local in self.parts(*local) {
                    out.push(Stmt { kind: StmtKind::Let(local, values.next()), span });
                }
                return;
            }
            StmtKind::Block(block) => StmtKind::Block(self.block(block)),
            StmtKind::If(cond, then, other) => {
                StmtKind::If(self.expr(cond), self.block(then), self.block(other))
            }
            StmtKind::Loop(looping) => StmtKind::Loop(Box::new(Loop {
                label: looping.label,
                kind: looping.kind,
                cond: looping.cond.as_ref().map(|cond| self.expr(cond)),
                step: looping.step.as_ref().map(|step| self.sequence(step)),
                body: self.block(&looping.body),
                attrs: hir::LoopAttrs {
                    max_iters: looping
                        .attrs
                        .max_iters
                        .map(|n| self.lowerer.queries.subst_val(n, &self.subst)),
                    ..looping.attrs
                },
            })),
            StmtKind::Switch(label, selector, cases) => {
                let selector = self.expr(selector);
                let case = |case: &Case| Case { body: self.block(&case.body), ..case.clone() };
                StmtKind::Switch(*label, selector, cases.iter().map(case).collect())
            }
            StmtKind::Return(value) => StmtKind::Return(value.as_ref().map(|value| self.expr(value))),
            StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Discard => stmt.kind.clone(),
        };
        out.push(Stmt { kind, span });
    }

    /// An expression for its effects, which may be a pack.
    fn sequence(&mut self, expr: &Expr) -> Expr {
        let mut all = self.splice(expr.clone()).into_iter();
        let Some(first) = all.next() else { return self.nothing(expr.span) };
        all.fold(first, |a, b| {
            let (ty, span) = (b.ty, b.span);
            Expr::new(ExprKind::Sequence(a.into(), b.into()), ty, span)
        })
    }

    /// A value that stands for what is missing.
    fn nothing(&mut self, span: Span) -> Expr {
        let ty = self.lowerer.queries.scalar_ty(Scalar::Bool);
        Expr::new(ExprKind::Zero, ty, span)
    }

    /// The expressions that an expression stands for: its elements if it is a pack.
    #[expect(clippy::wildcard_enum_match_arm, reason = "in every other expression only the operands change")]
    fn splice(&mut self, expr: Expr) -> Vec<Expr> {
        let span = expr.span;
        match expr.kind {
            ExprKind::Local(local) if self.packs.contains_key(&local) => {
                let part = |local| Expr::new(ExprKind::Local(local), self.locals[local].ty, span);
                self.parts(local).into_iter().map(part).collect()
            }
            ExprKind::Pack(elements) => self.splice_all(elements),
            ExprKind::Expand(inner) => self.copies(&inner, expr.ty, span),
            ExprKind::Part(PackPart::TrimFirst, pack) => {
                self.splice(Arc::unwrap_or_clone(pack)).into_iter().skip(1).collect()
            }
            ExprKind::Part(PackPart::TrimLast, pack) => {
                let mut all = self.splice(Arc::unwrap_or_clone(pack));
                all.pop();
                all
            }
            _ => {
                let mut expr = expr;
                self.rewrite(&mut expr);
                vec![expr]
            }
        }
    }

    fn splice_all(&mut self, parts: Vec<Expr>) -> Vec<Expr> {
        parts.into_iter().flat_map(|part| self.splice(part)).collect()
    }

    /// A copy of what `expand` repeats for each element.
    fn copies(&mut self, inner: &Expr, ty: Ty, span: Span) -> Vec<Expr> {
        let at = self.subst.at.take();
        let ty = self.ty(ty);
        let Some(count) = self.lowerer.pack_elements(ty).map(|elements| elements.len()) else {
            self.lowerer.internal(span, "a pack is still not known");
            return vec![];
        };
        self.check_lengths(inner, count);
        let mut all = vec![];
        for index in 0..count {
            self.subst.at = Some(index);
            let outer = self.renamed.clone();
            all.push(self.expr(inner));
            self.renamed = outer;
        }
        self.subst.at = at;
        all
    }

    /// All packs under `each` in one `expand` must be equally long.
    fn check_lengths(&mut self, expr: &Expr, count: usize) {
        if let ExprKind::Each(pack) = &expr.kind {
            let ty = self.ty(pack.ty);
            let length = if let TyKind::Pack(list) | TyKind::Tuple(list) =
                self.lowerer.queries.program.types.kind(ty)
            {
                self.lowerer.tuple_types(list).len()
            } else {
                count
            };
            if length != count {
                let message = format!("a pack of {length} elements is expanded together with one of {count}");
                let diagnostic = Diagnostic::new(codes::PACK_LENGTHS, expr.span, message)
                    .help("require equal lengths in their declaration: `where countof(A) == countof(B)`");
                self.lowerer.diagnostics.push(diagnostic);
            }
        }
        if !matches!(expr.kind, ExprKind::Expand(_)) {
            expr.operands().into_iter().for_each(|inner| self.check_lengths(inner, count));
        }
    }

    /// A copy of an expression that is no pack.
    fn expr(&mut self, expr: &Expr) -> Expr {
        let mut copy = expr.clone();
        self.rewrite(&mut copy);
        copy
    }

    /// Replaces parameters, packs and variables in an expression that is no pack.
    #[expect(clippy::wildcard_enum_match_arm, reason = "in every other expression only the operands change")]
    fn rewrite(&mut self, expr: &mut Expr) {
        let span = expr.span;
        expr.ty = self.ty(expr.ty);
        match &mut expr.kind {
            ExprKind::Each(pack) => {
                let pack = Expr::clone(pack);
                *expr = self.element(pack, span);
                return;
            }
            ExprKind::Part(part, pack) => {
                let first = *part == PackPart::First;
                let pack = Expr::clone(pack);
                let mut all = self.splice(pack).into_iter();
                let end = if first { all.next() } else { all.next_back() };
                *expr = end.unwrap_or_else(|| self.nothing(span));
                return;
            }
            ExprKind::Measure(_, ty) | ExprKind::Is(_, ty) | ExprKind::As(_, ty) => *ty = self.ty(*ty),
            ExprKind::Global(_, args) => *args = self.lowerer.queries.subst_args(*args, &self.subst),
            ExprKind::Val(val) | ExprKind::Assert(val, _) => {
                *val = self.lowerer.queries.subst_val(*val, &self.subst);
            }
            ExprKind::Local(local) => *local = self.renamed.get(local).copied().unwrap_or(*local),
            ExprKind::Property { get, set, .. } => {
                get.iter_mut().chain(set).for_each(|func| self.func(func));
            }
            ExprKind::Modify { old, right, .. } => {
                self.rename(old);
                if let Some((local, _)) = right {
                    self.rename(local);
                }
            }
            ExprKind::Call(call) => {
                let call = Arc::make_mut(call);
                self.func(&mut call.callee);
                for (dir, arg) in std::mem::take(&mut call.args) {
                    call.args.extend(self.splice(arg).into_iter().map(|arg| (dir, arg)));
                }
                call.through.iter_mut().for_each(|through| self.rewrite(through));
                return;
            }
            ExprKind::Concat(parts)
            | ExprKind::Construct(parts)
            | ExprKind::Print(_, parts)
            | ExprKind::TargetCode(_, _, parts) => {
                *parts = self.splice_all(std::mem::take(parts));
                return;
            }
            _ => {}
        }
        expr.operands_mut().into_iter().for_each(|inner| self.rewrite(inner));
    }

    /// `each pack` in the copy at hand.
    fn element(&mut self, pack: Expr, span: Span) -> Expr {
        let index = self.subst.at.unwrap_or_default();
        let ty = self.ty(pack.ty);
        let element = if let TyKind::Tuple(list) = self.lowerer.queries.program.types.kind(ty) {
            let ty = self.lowerer.tuple_types(list).get(index).copied();
            ty.map(|ty| {
                let kind = ExprKind::Field(self.expr(&pack).into(), index as u32);
                Expr::new(kind, ty, span)
            })
        } else {
            self.splice(pack).into_iter().nth(index)
        };
        element.unwrap_or_else(|| self.nothing(span))
    }

    /// A variable that an expression brings along is another one in each copy.
    fn rename(&mut self, local: &mut LocalId) {
        let Local { name, ty, span } = self.body.locals[*local].clone();
        let ty = self.ty(ty);
        let fresh = self.locals.push(Local { name, ty, span });
        self.renamed.insert(*local, fresh);
        *local = fresh;
    }
}
