//! Checks lambdas: `(float x) => x * k`, `(float x) => { .. }`.
//!
//! A lambda is a value of an anonymous structure, which is declared at the lambda:
//!
//! ```text
//! float k = 2;
//! let f = (float x) => x * k;        struct lambda : IFunc<float, float>
//!                                    {
//!                                        float k;
//!                                        float operator()(float x) { return x * k; }
//!                                    }
//!                                    let f = lambda(k);
//! ```
//!
//! The body is checked twice. The first check, in the enclosing scope, computes its [`Outline`]: the result type and the
//! variables that it reads. These become fields: they are captured by value, and cannot be assigned since `this` is
//! read-only. The second check is that of the method's body. A lambda in a method that uses the object captures it as a field
//! [`OBJECT`]; `this` and members of the object then refer to that field ([`BodyCx::object`]).
//!
//! Each enclosing lambda checks an inner lambda again. The first outline is cached, and only the method is checked again,
//! because there the captured variables are fields. So `n` nested lambdas take `n` squared steps.
//!
//! In a differentiable function, a lambda is differentiable, with its captures. A function used as a value, for example for a
//! parameter of type `functype(float) -> float`, becomes a lambda that calls it.

use crate::bodies::body::BodyCx;
use crate::bodies::overload::Callee;
use crate::codes;
use crate::declarations::attrs;
use crate::declarations::parameters::hands_back;
use crate::facts::Facts;
use crate::hir::{
    Arg, Args, Expr, ExprKind, FuncId, InterfaceId, InterfaceRef, LocalId, StmtKind, StructId, Ty, TyKind,
    each_expr,
};
use crate::names::Names;
use crate::names::access::ModuleId;
use crate::tables::{AliasInfo, Item, Progress, ScopeId, Tables};
use cotangent_base::{Diagnostic, Entity, Map, Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

/// The field that holds the object of the method around a lambda. No program can write this name.
const OBJECT: &str = "(this)";
/// The alias of the result type.
const RESULT: &str = "(result)";

/// What the first look at a lambda tells.
#[derive(Clone, Debug)]
struct Outline {
    /// The type of its result.
    result: Ty,
    /// The names of the variables around it that it reads; none for the object of the method it stands in.
    captured: Vec<Option<Symbol>>,
}

/// What is known of lambdas.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lambdas {
    /// Their outlines, none of those in which something is wrong.
    outlines: Map<Written, Option<Outline>>,
    /// How many lambdas the checker made.
    made: usize,
    /// The structures behind them.
    structs: Map<StructId, (Written, Arc<ast::Lambda>)>,
    /// The structures that stand for a lambda whose result is converted: of the lambda and the result.
    converted: Map<(StructId, Ty), Ty>,
}

impl Lambdas {
    /// The identity of a lambda in a module.
    fn identify(&mut self, lambda: &ast::Lambda, module: ModuleId) -> Written {
        match lambda.id {
            Some(id) => Written::Parsed(module, id),
            None => {
                self.made += 1;
                Written::Made(self.made)
            }
        }
    }

    /// Whether a structure stands behind a lambda.
    pub(crate) fn contains(&self, id: StructId) -> bool {
        self.structs.contains_key(&id)
    }

    /// Whether one type is that of a lambda, and the other that of the same lambda with another result.
    pub(crate) fn is_converted(&self, from: StructId, to: Ty) -> bool {
        self.converted.iter().any(|((of, _), ty)| *of == from && *ty == to)
    }
}

/// Which lambda it is. Two that are written alike are two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Written {
    /// One of a module: files that several modules include may be read differently in each.
    Parsed(ModuleId, ast::LambdaId),
    /// One that the checker made.
    Made(usize),
}

impl BodyCx<'_> {
    /// A lambda as an object.
    pub(crate) fn lambda(&mut self, lambda: &Arc<ast::Lambda>, span: Span) -> Expr {
        let module = self.cx.tables.scopes[self.scope].module();
        let written = self.cx.tables.lambdas.identify(lambda, module);
        let outline = match self.cx.tables.lambdas.outlines.get(&written) {
            Some(outline) => outline.clone(),
            None => {
                let (outline, fine) = self.quietly(|cx| cx.lambda_outline(&lambda.params, &lambda.body));
                let outline = fine.then_some(outline);
                self.cx.tables.lambdas.outlines.insert(written, outline.clone());
                outline
            }
        };
        let Some(outline) = outline else {
            // Once more, to hear what is wrong.
            self.lambda_outline(&lambda.params, &lambda.body);
            return self.error(span);
        };
        let captured = self.captured(&outline);
        let ty = self.lambda_type(written, lambda, outline.result, &captured, span);
        let fields = captured.iter().map(|local| self.local(*local, span)).collect();
        Expr::new(ExprKind::Construct(fields), ty, span)
    }

    /// The type of a lambda with this result, and its method checked.
    fn lambda_type(
        &mut self,
        written: Written,
        lambda: &Arc<ast::Lambda>,
        result: Ty,
        captured: &[LocalId],
        span: Span,
    ) -> Ty {
        let id = self.lambda_struct(written, lambda, result, captured, span);
        let generics = self.cx.tables.structs[id].generics;
        let args = self.cx.names().identity(generics);
        let ty = self.cx.struct_ty(id, args);
        self.cx.ensure_struct(id);
        let scope = self.cx.tables.structs[id].scope;
        for item in self.cx.tables.scopes[scope].items(attrs::operator_name("()")).to_vec() {
            if let Item::Func(func) = item {
                self.cx.check_body(func);
            }
        }
        ty
    }

    /// The type of a lambda whose result is converted, if that is what it takes to be an `IFunc` of this kind.
    pub(crate) fn lambda_as(&mut self, lambda: Ty, interface: InterfaceRef) -> Option<Ty> {
        let TyKind::Struct(id, _) = self.kind(lambda) else { return None };
        let (written, source) = self.cx.tables.lambdas.structs.get(&id)?.clone();
        let [own] = self.cx.conformances_to(lambda, interface.interface)[..] else { return None };
        let own = self.cx.program.types.list(own.args).to_vec();
        let wanted = self.cx.program.types.list(interface.args).to_vec();
        let ([Arg::Ty(given), params @ ..], [Arg::Ty(result), others @ ..]) = (&own[..], &wanted[..]) else {
            return None;
        };
        if params != others || self.cx.type_cost(*given, *result).is_none() {
            return None;
        }
        if let Some(known) = self.cx.tables.lambdas.converted.get(&(id, *result)) {
            return Some(*known);
        }
        let outline = self.cx.tables.lambdas.outlines.get(&written)?.clone()?;
        let captured = self.captured(&outline);
        let span = self.cx.program.structs[id].span;
        let ty = self.lambda_type(written, &source, *result, &captured, span);
        self.cx.tables.lambdas.converted.insert((id, *result), ty);
        Some(ty)
    }

    /// The variables that a lambda captures where it stands now. In the method of a lambda around it, what that one captured
    /// are fields of its object.
    fn captured(&self, outline: &Outline) -> Vec<LocalId> {
        let mut captured = vec![];
        for name in &outline.captured {
            let local = name.and_then(|name| self.vars.iter().rev().find_map(|block| block.get(&name)));
            if let Some(local) = local.copied().or(self.this)
                && !captured.contains(&local)
            {
                captured.push(local);
            }
        }
        captured
    }

    /// The type a lambda returns, and the variables around it that it reads.
    fn lambda_outline(&mut self, params: &[ast::Param], body: &ast::Stmt) -> Outline {
        let first = self.locals.next_key();
        let (targets, defers) = (std::mem::take(&mut self.targets), std::mem::take(&mut self.defers));
        let (result, constructor) = (self.result.take(), std::mem::take(&mut self.constructor));
        let infer = std::mem::replace(&mut self.infer, true);
        let errors = std::mem::take(&mut self.errors);
        let block = self.scoped(|cx| {
            for param in params {
                let ty = cx.param_type(param);
                if let Some(name) = param.name {
                    cx.declare(name, ty);
                }
            }
            cx.single(body)
        });
        let found = std::mem::replace(&mut self.result, result);
        (self.targets, self.defers, self.constructor, self.infer) = (targets, defers, constructor, infer);
        self.errors = errors;
        let mut captured = vec![];
        each_expr(&block, &mut |expr| {
            if let ExprKind::Local(local) = expr.kind
                && local.index() < first.index()
                && !captured.contains(&local)
            {
                captured.push(local);
            }
        });
        let name = |local: &LocalId| (self.this != Some(*local)).then(|| self.locals[*local].name);
        let captured = captured.iter().map(name).collect();
        let void = self.ty(TyKind::Void);
        Outline { result: found.unwrap_or(void), captured }
    }

    fn param_type(&mut self, param: &ast::Param) -> Ty {
        let scope = self.scope;
        self.cx.resolve_ty(&param.ty, scope)
    }

    /// `return` in a lambda: the first one decides the type of the result.
    pub(crate) fn lambda_return(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        let value = value.map(|v| self.expr(v));
        let void = self.ty(TyKind::Void);
        let ty = value.as_ref().map_or(void, |v| v.ty);
        match self.result {
            None => self.result = Some(ty),
            Some(first)
                if first != ty
                    && !self.cx.program.types.is_error(ty)
                    && !self.cx.program.types.is_error(first) =>
            {
                let (first, ty) = (self.show(first), self.show(ty));
                let message = format!("this lambda returned `{first}` before, but returns `{ty}` here");
                let at = value.as_ref().map_or(span, |v| v.span);
                self.report(
                    Diagnostic::new(codes::LAMBDA_RESULTS, at, message)
                        .help(format!("convert one of them: `{first}(..)`")),
                );
            }
            Some(_) => {}
        }
        StmtKind::Return(value)
    }

    /// Declares the structure behind a lambda.
    fn lambda_struct(
        &mut self,
        written: Written,
        lambda: &Arc<ast::Lambda>,
        result: Ty,
        captured: &[LocalId],
        span: Span,
    ) -> StructId {
        let ast::Lambda { params, body, .. } = &**lambda;
        self.open_scope();
        let scope = self.scope;
        let mut members = vec![];
        for (number, local) in captured.iter().enumerate() {
            let variable = &self.locals[*local];
            let name = if self.this == Some(*local) { Symbol::new(OBJECT) } else { variable.name };
            let ty = self.cx.tables.name_type(&format!("({number})"), variable.ty, scope, span);
            let var = ast::VarDecl {
                name: ident(name, variable.span),
                ty: Some(ty),
                init: None,
                semantic: None,
                bits: None,
                is_let: false,
            };
            members.push(decl(ast::DeclKind::Var(var.into()), vec![], span));
        }
        let result_name = self.cx.tables.name_type(RESULT, result, scope, span);
        let mut attributes = vec![];
        if self.differentiable {
            attributes.push(ast::Attribute {
                name: ident("Differentiable".into(), span),
                args: vec![],
                span,
            });
        }
        let block = match &body.kind {
            ast::StmtKind::Block(block) => block.clone(),
            _ => ast::Block { stmts: vec![body.clone()], span: body.span },
        };
        let call = ast::FuncDecl {
            kind: ast::FuncKind::Operator,
            name: ident("()".into(), span),
            generics: ast::Generics::default(),
            params: params.clone(),
            result: Some(result_name),
            no_diff_result: false,
            throws: None,
            semantic: None,
            body: Some(block.into()),
            extends: None,
        };
        members.push(decl(ast::DeclKind::Func(call.into()), attributes, span));
        let bases = self.lambda_bases(params, result, span);
        let structure = ast::StructDecl {
            name: ident("lambda".into(), span),
            is_class: false,
            generics: ast::Generics::default(),
            bases,
            members,
        };
        let id = self.cx.tables.structs.next_key();
        self.cx.tables.lambdas.structs.insert(id, (written, lambda.clone()));
        self.cx.collector().collect_local(decl(ast::DeclKind::Struct(structure.into()), vec![], span), scope);
        id
    }

    /// The interfaces a lambda conforms to. One that writes to its arguments conforms to none.
    fn lambda_bases(&mut self, params: &[ast::Param], result: Ty, span: Span) -> Vec<ast::Expr> {
        let writes = |p: &ast::Param| p.modifiers.iter().any(|m| hands_back(m.kind));
        if params.iter().any(writes) {
            return vec![];
        }
        let scope = self.scope;
        let types: Vec<Ty> =
            std::iter::once(result).chain(params.iter().map(|p| self.param_type(p))).collect();
        let family = if self.differentiable { "IDifferentiableFunc" } else { "IFunc" };
        let func = self.cx.names().function_interface(family, &types);
        let differentiable = self.cx.program.lang.differentiable.filter(|_| self.differentiable);
        let differentiable = differentiable.map(|interface| {
            let args = self.cx.program.types.args(&[]);
            self.ty(TyKind::Interface(interface, args))
        });
        let all = func.into_iter().chain(differentiable).enumerate();
        all.map(|(number, ty)| self.cx.tables.name_type(&format!("(base {number})"), ty, scope, span))
            .collect()
    }

    /// A function where a value is wanted: an object that calls it. Not for overloaded and generic functions and methods, which
    /// do not say which types they would be called with.
    pub(crate) fn function_object(&mut self, callee: &Callee, span: Span) -> Option<Expr> {
        let [candidate] = callee.candidates[..] else { return None };
        let func = candidate.func;
        self.cx.ensure_func(func);
        let (signature, scope) = (self.cx.program.funcs[func].clone(), self.scope);
        let instance = self.explicit_instance(callee, func)?;
        let generics = signature.generics.params.clone();
        let plain = signature.this.is_none() && callee.diff.is_empty();
        if !plain || self.cx.tables.scopes[self.cx.tables.funcs[func].scope].is_library() {
            return None;
        }
        let mut params = vec![];
        let mut args = vec![];
        for (number, param) in signature.params.iter().enumerate() {
            let name = Symbol::new(&format!("({number} of {})", callee.name));
            let ty = self.cx.replace(param.ty, &generics, instance);
            let ty = self.cx.tables.name_type(name.as_str(), ty, scope, span);
            args.push(ast::Expr { kind: ast::ExprKind::Name(name), span });
            params.push(ast::Param {
                attributes: vec![],
                modifiers: vec![],
                name: Some(ident(name, span)),
                ty,
                default: None,
                semantic: None,
                span,
            });
        }
        let mut function = ast::Expr { kind: ast::ExprKind::Name(callee.name), span };
        if !callee.explicit.is_empty() {
            function =
                ast::Expr { kind: ast::ExprKind::Apply(function.into(), callee.explicit.clone()), span };
        }
        let call = ast::Expr { kind: ast::ExprKind::Call(function.into(), args), span };
        let body = ast::Stmt { attributes: vec![], kind: ast::StmtKind::Return(Some(call)), span };
        let around = std::mem::replace(&mut self.differentiable, signature.diff.is_differentiable());
        let object = self.lambda(&Arc::new(ast::Lambda { id: None, params, body }), span);
        self.differentiable = around;
        Some(object)
    }

    /// The generic arguments of a function that is named as a value: those written, if they are all.
    fn explicit_instance(&mut self, callee: &Callee, func: FuncId) -> Option<Args> {
        let generics = self.cx.tables.funcs[func].generics;
        let given = self.written_args(callee, callee.candidates[0]).ok()?;
        let given: Vec<Arg> = given.into_iter().collect::<Option<_>>()?;
        let args = self.cx.program.types.args(&given);
        self.cx.unmet_bound(generics, args).is_none().then_some(args)
    }

    /// The object whose member of type `owner` is meant by a plain name: `this`, or the object that a lambda captured.
    pub(crate) fn object(&mut self, owner: Option<Ty>, span: Span) -> Option<Expr> {
        let mut object = self.this.map(|this| self.local(this, span))?;
        while owner != Some(object.ty) {
            match self.captured_object(&object, span) {
                Some(inner) => object = inner,
                None => break,
            }
        }
        Some(object)
    }

    /// The object of the method around a lambda, if this is a lambda that captured it.
    pub(crate) fn captured_object(&mut self, lambda: &Expr, span: Span) -> Option<Expr> {
        let TyKind::Struct(id, args) = self.kind(lambda.ty) else { return None };
        let fields = &self.cx.tables.structs[id].fields;
        let number = fields.iter().position(|(field, _)| field.name.name == OBJECT)?;
        let ty = self.cx.fields_under(id, args)[number];
        Some(Expr::new(ExprKind::Field(lambda.clone().into(), number as u32), ty, span))
    }
}

impl Tables {
    /// An expression that denotes a type that is already known, by an alias in `scope`.
    fn name_type(&mut self, name: &str, ty: Ty, scope: ScopeId, span: Span) -> ast::Expr {
        let name = Symbol::new(name);
        let expr = ast::Expr { kind: ast::ExprKind::Name(name), span };
        let decl = ast::AliasDecl {
            name: ident(name, span),
            generics: Default::default(),
            bases: vec![],
            ty: Some(expr.clone()),
        };
        let alias = self.aliases.push(AliasInfo {
            decl: Arc::new(decl),
            scope,
            generics: self.scopes[scope].generics(),
            resolved: Progress::Done,
            ty: Some(ty),
        });
        self.scopes[scope].set(name, Item::Alias(alias));
        expr
    }
}

impl Names<'_> {
    /// `IFunc<R, A, ..>`, or another interface of functions, for the types of a result and of parameters. There is none if
    /// there are too many parameters.
    pub(crate) fn function_interface(&mut self, family: &str, types: &[Ty]) -> Option<Ty> {
        let core = self.tables.lang.scope()?;
        let item = *self.tables.scopes[core].items(Symbol::new(family)).first()?;
        let Item::Interface(first) = item else { return None };
        let interface = self.facts().of_arity(first, types.len());
        let wanted = self.tables.generics[self.tables.interfaces[interface].generics].params.len() - 1;
        let args: Vec<Arg> = types.iter().map(|ty| Arg::Ty(*ty)).collect();
        let args = self.program.types.args(&args);
        (wanted == types.len()).then(|| self.program.types.ty(TyKind::Interface(interface, args)))
    }
}

impl Facts<'_> {
    /// Among the interfaces of the library that share a name, as those of functions do, the one that takes so many arguments;
    /// otherwise the given one.
    pub(crate) fn of_arity(self, interface: InterfaceId, count: usize) -> InterfaceId {
        let info = &self.tables.interfaces[interface];
        let around = self.tables.scopes[info.scope].parent().map(|scope| &self.tables.scopes[scope]);
        let Some(around) = around.filter(|scope| scope.is_library()) else { return interface };
        let same = around.items(info.decl.name.name).iter();
        let arity =
            |id: InterfaceId| self.tables.generics[self.tables.interfaces[id].generics].params.len() - 1;
        let mut fitting = same.filter_map(|item| match item {
            Item::Interface(id) if arity(*id) == count => Some(*id),
            _ => None,
        });
        fitting.next().unwrap_or(interface)
    }
}

fn ident(name: Symbol, span: Span) -> ast::Ident {
    ast::Ident { name, span }
}

fn decl(kind: ast::DeclKind, attributes: Vec<ast::Attribute>, span: Span) -> ast::Decl {
    ast::Decl { attributes, modifiers: vec![], kind, span }
}
