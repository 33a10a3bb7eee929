//! Data-flow check of differentiable functions: finds derivatives that get lost.
//!
//! A derivative flows from the differentiable parameters to the outputs. Some operations stop it: a call of a function
//! without a derivative, an assignment to a variable without one. Unless the user requested that (`no_diff`, `detach`), the
//! program would compute wrong derivatives, so it is refused. Two questions decide:
//!
//! * Does the value *carry* a derivative? It does if it is computed from a parameter that does. [`carry`] answers this,
//!   forwards through the body.
//! * Is its derivative *wanted*? It is if an output is computed from it. [`want`] answers this, backwards.
//!
//! A call of a function without a derivative is an error if an argument carries one and that of the result is wanted. A value
//! that only decides a branch or becomes an integer is not wanted, and a constant does not carry; neither is reported.
//!
//! Both passes track which value a variable holds at each point of the body: they keep one set of variables, which an
//! assignment changes, branches split and join, and loops iterate until it is stable. The check runs once on generic bodies
//! as written, whether or not the function is called.
//!
//! A function that is inlined early is differentiated in its caller, marked or not. So derivatives pass through it, and if
//! one enters, its body is checked too, when all bodies are available.
//!
//! A derivative that ends in an integer is a warning, if the integer becomes a float again whose derivative is wanted.
//!
//! If a derivative is lost, both passes run again and record a [`trail`], from which [`report`] makes the labels.

mod carry;
mod given;
mod report;
mod trail;
mod want;

use self::carry::integers::Ending;
use self::given::Given;
pub(super) use self::given::Givers;
use super::flags::flags;
use crate::Checked;
use crate::hir::{
    Body, Call, Dir, Expr, ExprId, ExprKind, Func, FuncId, Inline, LocalId, Ty, TyKind, Types, each_expr,
};
use crate::tables::Item;
use cotangent_base::{Diagnostic, EntitySet, Map, Span, Symbol};
use trail::{Step, Trail};

/// Variables, or rather the values they hold at some point.
type Locals = EntitySet<LocalId>;

/// What both passes share.
struct Flow<'a> {
    checked: &'a mut Checked,
    func: FuncId,
    body: &'a Body,
    /// Variables whose address is taken: they lie in memory, which keeps no derivative.
    addressed: Locals,
    /// Whether types have derivatives, as far as asked.
    differentiable: Map<Ty, bool>,
    /// Calls (also of accessors) of functions without derivative into which one goes, and how it came there.
    fed: Map<ExprId, Vec<Step>>,
    /// Where a number is made of an integer that a derivative ended in.
    returned: Map<ExprId, Ending>,
    /// Where derivatives came from and where they would go, if that is reported.
    trails: Option<Trails>,
    /// What to report, with the places in order and once each.
    reports: Vec<(Span, Diagnostic)>,
}

/// The two directions of the way.
#[derive(Default)]
struct Trails {
    came: Trail,
    goes: Trail,
}

/// What is assigned to, as far as derivatives are concerned.
enum Target {
    /// All of a variable.
    Whole(LocalId),
    /// A part of a variable that has a derivative if the variable has.
    Part(LocalId),
    /// What a setter makes of it, which is checked in the setter: the object that it belongs to keeps no derivative.
    Setter,
    /// Something that keeps no derivative, and why.
    Lossy(Loss),
}

/// Why a place keeps no derivative.
#[derive(Clone, Copy)]
enum Loss {
    /// A field marked `no_diff`.
    NoDiffField(Ty, u32),
    /// A parameter marked `no_diff` that the caller gets back.
    NoDiffParam(Symbol),
    /// A field of a structure that is not differentiable.
    PlainStruct(Ty, u32),
    /// A tuple with a member that is not differentiable.
    PlainTuple(Ty),
    /// A type without derivatives to which an object that has one is converted.
    Conversion(Ty),
    /// A global variable or an element of a buffer.
    Memory,
    /// A property or subscript whose setter has no derivative.
    Setter(FuncId),
    /// A place that is wrong and was reported.
    Reported,
    /// A variable of a type without derivatives, or something written through a function.
    Other,
}

impl Checked {
    /// Checks the body of a function that is to be differentiated; does nothing for others.
    pub(crate) fn find_losses(&mut self, func: FuncId, body: &Body) {
        let diff = self.program.funcs[func].diff;
        let backward = diff.backward.is_some() || diff.apply.is_some();
        // A substitute with a custom derivative needs no other derivative unless it is marked itself.
        let marked = flags(&self.tables.funcs[func].prefix.attributes).differentiable.is_some();
        let any = diff.forward.is_some() || backward;
        let by_hand = (diff.forward.is_some() && backward) || diff.substitute.is_some() || any && !marked;
        if diff.differentiable.is_none() || diff.constant || by_hand {
            return;
        }
        for diagnostic in self.told_losses(func, body) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Checks the bodies of functions that are inlined early and that a derivative goes into.
    pub(crate) fn find_losses_inlined(&mut self) {
        let mut checked = EntitySet::new();
        loop {
            let found = self.tables.derivatives.take_inlined();
            let open: Vec<FuncId> = found.iter().filter(|func| checked.insert(*func)).collect();
            if open.is_empty() {
                return;
            }
            for func in open {
                self.find_losses_in_inlined(func);
            }
        }
    }

    fn find_losses_in_inlined(&mut self, func: FuncId) {
        let Some(body) = self.check_body(func) else { return };
        let name = self.program.funcs[func].name;
        for diagnostic in self.told_losses(func, &body) {
            let note = format!("`{name}` is inlined into a differentiated function");
            self.diagnostics.push(diagnostic.note(note));
        }
    }

    fn told_losses(&mut self, func: FuncId, body: &Body) -> Vec<Diagnostic> {
        let generics = self.tables.funcs[func].generics;
        let saved = self.enter(generics);
        let mut reports = self.losses(func, body, None);
        if !reports.is_empty() {
            reports = self.losses(func, body, Some(Trails::default()));
        }
        self.leave(saved);
        reports.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    /// What gets lost, in the order of the source; with their paths, if there are trails.
    fn losses(&mut self, func: FuncId, body: &Body, trails: Option<Trails>) -> Vec<(Span, Diagnostic)> {
        let mut flow = Flow::new(self, func, body);
        flow.trails = trails;
        flow.carry();
        flow.want();
        let mut reports = flow.reports;
        reports.sort_by_key(|(span, _)| (span.start, span.end));
        reports.dedup_by_key(|(span, _)| *span);
        reports
    }
}

impl<'a> Flow<'a> {
    fn new(checked: &'a mut Checked, func: FuncId, body: &'a Body) -> Self {
        let addressed = addressed(&checked.program.types, body);
        Flow {
            checked,
            func,
            body,
            addressed,
            differentiable: Map::default(),
            fed: Map::default(),
            returned: Map::default(),
            trails: None,
            reports: vec![],
        }
    }
}

impl Flow<'_> {
    fn has_derivative(&mut self, ty: Ty) -> bool {
        if let Some(known) = self.differentiable.get(&ty) {
            return *known;
        }
        let types = match self.checked.program.is_pack(ty) {
            true => self.checked.packs().members_to_satisfy(ty),
            false => vec![ty],
        };
        let answer = types.iter().any(|ty| self.checked.differential_of(*ty).is_some());
        self.differentiable.insert(ty, answer);
        answer
    }

    /// The parameters that carry derivatives, `this` first: the variable, its direction.
    fn carriers(&mut self) -> Vec<(LocalId, Dir)> {
        let signature = super::Signature::of(&self.checked.program.funcs[self.func]);
        let params: Vec<_> = self.body.params.iter().copied().zip(signature.params).collect();
        params
            .into_iter()
            .filter(|(_, p)| !p.no_diff && self.has_derivative(p.ty))
            .map(|(local, p)| (local, p.dir))
            .collect()
    }

    /// Whether derivatives pass through a call.
    fn passes(&mut self, call: &Call) -> bool {
        !call.diff.is_empty()
            || self.func_passes(call.callee.func)
            || self.checked.diff_of_instance(call.callee).is_differentiable()
    }

    /// Whether derivatives pass through a function. What is inlined early is differentiated where it ends up.
    fn func_passes(&self, func: FuncId) -> bool {
        let Func { diff, inline, .. } = &self.checked.program.funcs[func];
        let lang = &self.checked.program.lang;
        // Sums of derivatives and zeros are linear, whoever defines them.
        let is_arithmetic = lang.dadd == Some(func) || lang.dzero == Some(func);
        diff.is_differentiable() || *inline == Inline::Early || is_arithmetic || self.is_detach(func)
    }

    /// Which outputs of a call carry a derivative even if no argument does.
    fn given(&mut self, call: &Call) -> Given {
        match call.diff.is_empty() {
            true => self.checked.given_by(call.callee.func),
            false => Given::default(),
        }
    }

    /// Whether a call may use the derivatives of its arguments although none comes out: it runs a custom derivative, or it calls
    /// a differentiable function without differentiable outputs, which may call one that does.
    fn takes(&mut self, call: &Call) -> bool {
        let func = call.callee.func;
        if !call.diff.is_empty() || self.checked.program.is_by_hand(func) {
            return call.diff.is_empty();
        }
        let scope = self.checked.tables.funcs[func].scope;
        let Func { diff, result, no_diff_result, .. } = &self.checked.program.funcs[func];
        let (result, gives) = (*result, !no_diff_result);
        let silent = diff.differentiable.is_none() || diff.constant;
        if silent || self.checked.tables.scopes[scope].is_library() {
            return false;
        }
        let open = self.open_args(call);
        let out = call.args.iter().zip(open).any(|((dir, _), open)| *dir != Dir::In && open);
        !(out || gives && self.has_derivative(result))
    }

    /// Remembers a function that a derivative goes into, if its body becomes a part of those that are checked.
    fn note_inlined(&mut self, func: FuncId) {
        let Func { diff, inline, .. } = &self.checked.program.funcs[func];
        let scope = self.checked.tables.funcs[func].scope;
        let unseen = *inline == Inline::Early && !diff.is_differentiable();
        let tables = &mut self.checked.tables;
        if unseen && !tables.scopes[scope].is_library() {
            tables.derivatives.note_inlined(func);
        }
    }

    fn is_detach(&self, func: FuncId) -> bool {
        self.checked.tables.lang.get(&"detach".into()) == Some(&Item::Func(func))
    }

    /// For each argument of a call, whether a derivative may go in or out there.
    fn open_args(&mut self, call: &Call) -> Vec<bool> {
        let mut signature = super::Signature::of(&self.checked.program.funcs[call.callee.func]);
        for mode in &call.diff {
            signature = self.checked.derived(&signature, *mode);
        }
        let closed: Vec<bool> = signature.params.iter().map(|p| p.no_diff).collect();
        (call.args.iter().enumerate())
            .map(|(n, (_, arg))| !closed.get(n).copied().unwrap_or(false) && self.has_derivative(arg.ty))
            .collect()
    }

    /// For each argument of a plain call, whether the callee's generic parameters hide that it has a derivative.
    fn hidden_args(&mut self, call: &Call) -> Vec<bool> {
        let func = call.callee.func;
        let signature = super::Signature::of(&self.checked.program.funcs[func]);
        // What is inlined early is seen with its arguments.
        let plain = call.diff.is_empty() && self.checked.program.funcs[func].inline != Inline::Early;
        let special = self.checked.diff_of_instance(call.callee) != self.checked.program.funcs[func].diff;
        signature
            .params
            .iter()
            .map(|p| plain && !p.no_diff && !special && !self.checked.sees_derivatives(func, p.ty))
            .collect()
    }

    /// What an assignment to a place changes.
    fn target(&mut self, place: &Expr) -> Target {
        match &place.kind {
            ExprKind::Local(local) if self.addressed.contains(*local) => Target::Lossy(Loss::Memory),
            ExprKind::Local(local) => match (self.has_derivative(place.ty), self.no_diff_param(*local)) {
                (true, None) => Target::Whole(*local),
                (true, Some(name)) => Target::Lossy(Loss::NoDiffParam(name)),
                (false, _) => Target::Lossy(Loss::Other),
            },
            ExprKind::Global(..) => Target::Lossy(Loss::Memory),
            ExprKind::Field(base, number) => self.field_target(base, *number),
            ExprKind::Element(base, _) if self.is_buffer(base.ty) => Target::Lossy(Loss::Memory),
            ExprKind::Element(base, _)
            | ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Convert(base) => part_of(self.target(base)),
            ExprKind::Property { set: Some(set), .. } if !self.func_passes(set.func) => {
                Target::Lossy(Loss::Setter(set.func))
            }
            ExprKind::Property { this: Some(this), .. } if self.has_derivative(this.ty) => {
                part_of(self.target(this))
            }
            ExprKind::Property { set: Some(_), .. } => Target::Setter,
            ExprKind::Error | ExprKind::Assign(..) | ExprKind::Modify { .. } => Target::Lossy(Loss::Reported),
            _ => Target::Lossy(Loss::Other),
        }
    }

    /// The name of a variable that is a `no_diff` parameter which the caller gets back.
    fn no_diff_param(&self, local: LocalId) -> Option<Symbol> {
        let func = &self.checked.program.funcs[self.func];
        let at = self.body.params.iter().position(|param| *param == local)?;
        let param = func.params.get(at.checked_sub(usize::from(func.this.is_some()))?)?;
        (param.no_diff && param.dir != Dir::In).then_some(param.name)
    }

    fn field_target(&mut self, base: &Expr, number: u32) -> Target {
        if self.field_is_no_diff(base.ty, number) {
            return Target::Lossy(Loss::NoDiffField(base.ty, number));
        }
        if !self.has_derivative(base.ty) && !self.is_in_memory(base) {
            return Target::Lossy(Loss::PlainStruct(base.ty, number));
        }
        part_of(self.target(base))
    }

    fn field_is_no_diff(&self, ty: Ty, number: u32) -> bool {
        match self.checked.program.types.kind(ty) {
            TyKind::Struct(id, _) => {
                let field = self.checked.program.structs[id].fields.get(number as usize);
                field.is_some_and(|f| f.no_diff)
            }
            _ => false,
        }
    }

    fn is_buffer(&self, ty: Ty) -> bool {
        match self.checked.program.types.kind(ty) {
            TyKind::Struct(id, _) => self.checked.program.structs[id].magic.is_some(),
            _ => false,
        }
    }

    /// Whether a place is part of a global or a buffer.
    fn is_in_memory(&self, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Global(..) => true,
            ExprKind::Element(base, _) => self.is_buffer(base.ty) || self.is_in_memory(base),
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) | ExprKind::MatrixSwizzle(base, _) => {
                self.is_in_memory(base)
            }
            _ => false,
        }
    }
}

/// The variables whose address a body takes.
fn addressed(types: &Types, body: &Body) -> Locals {
    let mut found = Locals::new();
    each_expr(&body.block, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind
            && let Some(local) = place.root_local(types)
        {
            found.insert(local);
        }
    });
    found
}

fn part_of(target: Target) -> Target {
    match target {
        Target::Whole(local) | Target::Part(local) => Target::Part(local),
        Target::Setter => Target::Setter,
        Target::Lossy(loss) => Target::Lossy(loss),
    }
}

/// Adds all of `more`; says whether something was new.
fn join(set: &mut Locals, more: &Locals) -> bool {
    let mut changed = false;
    for local in more.iter() {
        changed |= set.insert(local);
    }
    changed
}
