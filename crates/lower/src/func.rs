//! The state while a body is lowered.
//!
//! Lowering constructs SSA form directly from the structured code, in one pass. [`Frame::vars`] holds the current value of
//! each variable; an assignment replaces it. Where control flow joins (after an `if` or `switch`, at the head of a loop), the
//! variables that are assigned inside become results or carried slots. [`assigned`](crate::assigned) finds them in advance.
//! Variables declared inside are out of scope by then.
//!
//! No instruction may follow an exit in a region, so statements after one are dropped; [`Frame::is_done`] tests for this.

use crate::codes;
use crate::counter::Counters;
use crate::instance::Lowerer;
use crate::loops::Target;
use cotangent_base::{EntityMap, EntitySet, Map, Span, Symbol};
use cotangent_ir::{self as ir, Builder, Const, Dir, Func, Op, Path, Region, Ty, Value};
use cotangent_sema::Subst;
use cotangent_sema::hir::{self, Body, FuncRef, GlobalId, LocalId};
use std::sync::Arc;

/// The function under construction.
pub(crate) struct Frame<'a, 'c> {
    pub lowerer: &'a mut Lowerer<'c>,
    pub func: Func,
    /// Where instructions go.
    pub region: Region,
    /// The source they stand for.
    pub span: Span,
    /// Whether they stand for the place of the call instead, which inlining knows: in small functions of the library.
    transparent: bool,
    /// What the generic parameters are.
    pub subst: Subst,
    pub body: Arc<Body>,
    /// The current value of each variable in scope.
    pub vars: EntityMap<LocalId, Option<Value>>,
    /// The loops around, outermost first.
    pub targets: Vec<Target>,
    /// The variables that are `out` and `inout` parameters.
    outs: Vec<LocalId>,
    /// Constants of the module that were needed. They go before the body, so that every use sees them.
    prologue: Region,
    pub constants: Map<GlobalId, Option<Value>>,
    types: Map<hir::Ty, Ty>,
    /// Variables that are in memory, so that their value is a pointer: parameters that refer to their arguments, and `pinned`.
    pub by_ref: EntitySet<LocalId>,
    /// Variables whose address is taken, which are in memory of the thread.
    pub pinned: EntitySet<LocalId>,
    /// The counters of buffers that the function is given.
    pub counters: Counters,
    /// For a function of the library, where the program calls it first: errors inside are reported there.
    site: Option<Span>,
    /// The answers of `fold` so far.
    pub numbers: Map<Value, Option<Const>>,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// A function whose body is empty so far.
    pub fn new(lowerer: &'a mut Lowerer<'c>, id: ir::FuncId, subst: Subst, body: Arc<Body>) -> Self {
        let mut func = lowerer.module.funcs[id].clone();
        let site = lowerer.mentions.get(&id).copied().filter(|_| lowerer.in_library(id));
        let prologue = func.new_region();
        Frame {
            region: func.body,
            span: func.span,
            transparent: false,
            vars: EntityMap::filled(None, body.locals.len()),
            func,
            lowerer,
            subst,
            body,
            targets: vec![],
            outs: vec![],
            prologue,
            constants: Map::default(),
            types: Map::default(),
            by_ref: EntitySet::new(),
            pinned: EntitySet::new(),
            counters: Counters::new(),
            site,
            numbers: Map::default(),
        }
    }

    /// Writes the body of an instance.
    pub fn define(lowerer: &'a mut Lowerer<'c>, id: ir::FuncId, func: FuncRef) {
        let Some((body, subst)) = lowerer.instance_body(func) else {
            let hir::Func { name, span, .. } = &lowerer.queries.program.funcs[func.func];
            let (message, span) = (format!("`{name}` has no body"), *span);
            return lowerer.error(codes::UNSUPPORTED_CONSTRUCT, span, message);
        };
        let transparent = lowerer.is_transparent(func.func);
        let mut frame = Frame::new(lowerer, id, subst, body);
        frame.transparent = transparent;
        frame.bind_params();
        frame.finish(id);
    }

    /// Writes the function that computes the first value of a `static` variable.
    pub fn define_init(lowerer: &'a mut Lowerer<'c>, id: ir::FuncId, global: GlobalId, args: hir::Args) {
        let Some(body) = lowerer.queries.initializer(global) else {
            let span = lowerer.queries.program.globals[global].span;
            return lowerer.internal(span, "the initializer of a variable is gone");
        };
        let subst = lowerer.global_subst(global, args);
        let (body, subst) = lowerer.without_packs(body, subst);
        let frame = Frame::new(lowerer, id, subst, body);
        frame.finish(id);
    }

    /// Gives the parameters their first values.
    pub fn bind_params(&mut self) {
        let locals = self.body.params.clone();
        let params = self.func.sig.params.clone();
        if locals.len() != params.len() {
            let message = format!("the body of `{}` has {} parameters", self.func.name, locals.len());
            return self.internal(message);
        }
        let mut inputs = self.func.inputs().to_vec().into_iter();
        for (&local, param) in locals.iter().zip(&params) {
            self.vars[local] = match param.dir {
                Dir::In | Dir::InOut => inputs.next(),
                Dir::Out => Some(self.b().undef(param.ty)),
            };
            if param.dir != Dir::In {
                self.outs.push(local);
            }
        }
        self.bind_references(&locals);
    }

    /// Lowers the statements and puts the function into the module.
    pub fn finish(mut self, id: ir::FuncId) {
        let body = Arc::clone(&self.body);
        self.pin(&body);
        self.block(&body.block);
        if !self.is_done() {
            self.span = self.func.span;
            self.leave(None);
        }
        self.close(id);
    }

    /// Puts a function with all its instructions into the module.
    pub fn close(mut self, id: ir::FuncId) {
        let prologue = std::mem::take(&mut self.func.regions[self.prologue].insts);
        self.func.regions[self.func.body].insts.splice(0..0, prologue);
        if self.lowerer.in_library(id) {
            // What the library does is done by whoever calls it.
            self.func.insts.values_mut().for_each(|data| data.span = Span::none());
        }
        if !self.counters.is_empty() {
            self.lowerer.passed.insert(id, self.counters);
        }
        self.lowerer.module.funcs[id] = self.func;
    }

    /// Where to report an error about a call.
    pub fn site(&self) -> Span {
        self.site.unwrap_or(self.span)
    }

    /// Emits into the region at hand.
    pub fn b(&mut self) -> Builder<'_> {
        let types = &mut self.lowerer.module.types;
        let span = if self.transparent { Span::none() } else { self.span };
        Builder { types, func: &mut self.func, region: self.region, span }
    }

    /// Whether nothing may follow in the region at hand.
    pub fn is_done(&mut self) -> bool {
        self.b().is_done()
    }

    /// Builds a region. Variables have their old values again afterwards.
    pub fn nested<R>(&mut self, args: &[Ty], build: impl FnOnce(&mut Self, &[Value]) -> R) -> (Region, R) {
        let region = self.func.new_region();
        let args: Vec<Value> = args.iter().map(|ty| self.func.add_arg(region, *ty)).collect();
        let outer = std::mem::replace(&mut self.region, region);
        let vars = self.vars.clone();
        let result = build(self, &args);
        self.vars = vars;
        self.region = outer;
        (region, result)
    }

    /// Computes a constant of the module ahead of the body. `build` sees the variables of another body.
    pub fn ahead(
        &mut self,
        body: Arc<Body>,
        build: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let vars = EntityMap::filled(None, body.locals.len());
        let outer = (
            std::mem::replace(&mut self.region, self.prologue),
            std::mem::replace(&mut self.vars, vars),
            std::mem::replace(&mut self.body, body),
            self.span,
        );
        let value = build(self);
        (self.region, self.vars, self.body, self.span) = outer;
        value
    }

    /// Leaves the function with a result and the current values of the `out` and `inout` parameters.
    pub fn leave(&mut self, result: Option<Value>) {
        let mut outputs = Vec::new();
        if let Some(ret) = self.func.sig.ret {
            let fitting = result.filter(|v| self.func.ty(*v) == ret.ty);
            if result.is_some() && fitting.is_none() {
                self.internal("a function returns a value of another type");
            }
            outputs.push(fitting.unwrap_or_else(|| self.b().undef(ret.ty)));
        }
        for local in self.outs.clone() {
            let value = self.var(local);
            let is_pinned = self.pinned.contains(local);
            outputs.push(if is_pinned { self.b().load(value, Path::default(), &[]) } else { value });
        }
        self.b().emit(Op::Return, &outputs, &[]);
    }

    /// Ends a region whose end is never reached.
    pub fn unreachable(&mut self) {
        let types: Vec<Ty> = self.func.sig.outputs().map(|o| o.ty).collect();
        let outputs: Vec<Value> = types.into_iter().map(|ty| self.b().undef(ty)).collect();
        self.b().emit(Op::Return, &outputs, &[]);
    }

    /// The current value of a variable.
    pub fn var(&mut self, local: LocalId) -> Value {
        if let Some(value) = self.vars[local] {
            return value;
        }
        let ty = self.local_ty(local);
        let value = self.b().undef(ty);
        self.vars[local] = Some(value);
        value
    }

    /// Assigns a variable. A value without a name gets that of the variable, for people who read the output.
    pub fn set_var(&mut self, local: LocalId, value: Value) {
        let name = self.body.locals[local].name;
        if !name.as_str().is_empty() {
            self.func.values[value].name.get_or_insert(name);
        }
        self.vars[local] = Some(value);
    }

    /// The IR type of a variable.
    pub fn local_ty(&mut self, local: LocalId) -> Ty {
        let hir::Local { ty, span, .. } = self.body.locals[local];
        let outer = std::mem::replace(&mut self.span, span);
        let ty = self.ty(ty);
        self.span = outer;
        ty
    }

    /// The IR type of a type that may mention generic parameters.
    pub fn ty(&mut self, ty: hir::Ty) -> Ty {
        if let Some(&lowered) = self.types.get(&ty) {
            return lowered;
        }
        let concrete = self.lowerer.queries.subst(ty, &self.subst);
        let lowered = self.lowerer.lower_ty(concrete, self.span);
        self.types.insert(ty, lowered);
        lowered
    }

    /// A compile-time integer, if it is known by now, as it should be.
    pub fn known(&mut self, val: hir::Val) -> Option<i64> {
        let val = self.lowerer.queries.subst_val(val, &self.subst);
        let known = self.lowerer.queries.program.types.known(val);
        if known.is_none() {
            self.internal("a compile-time value is not known");
        }
        known
    }

    /// Says that we contradict ourselves at the place at hand.
    pub fn internal(&mut self, message: impl Into<String>) {
        self.lowerer.internal(self.span, message);
    }

    /// Says that something at the place at hand is not supported.
    pub fn unsupported(&mut self, what: impl std::fmt::Display) {
        let message = format!("{what} not supported yet");
        self.lowerer.error(codes::UNSUPPORTED_CONSTRUCT, self.span, message);
    }

    /// Names a value unless it has a name.
    pub fn name(&mut self, value: Value, name: Symbol) {
        self.func.values[value].name.get_or_insert(name);
    }
}
