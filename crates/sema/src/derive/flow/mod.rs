//! Where derivatives get lost: the data-flow check of differentiable functions.
//!
//! A derivative flows from the differentiable parameters to the outputs. Some operations stop it: a call of a function
//! without derivative, an assignment to something that keeps none. If the user did not ask for that (`no_diff`, `detach`)
//! the program would compute wrong derivatives, so it is refused. Two questions decide:
//!
//! * Does the value *carry* a derivative? It does if it is computed from a parameter that does. Asked forwards through
//!   the body by [`carry`].
//! * Is its derivative *wanted*? It is if an output is computed from it. Asked backwards by [`want`].
//!
//! A call of a function without derivative is an error if an argument carries one and the result's is wanted. A value that
//! only decides a branch or becomes an integer is not wanted, and a constant does not carry; neither is reported.
//!
//! Both passes know which value a variable holds at each point of the body: they keep one set of variables, which an
//! assignment changes, branches split and join, and loops iterate until it is stable. The check works on generic
//! bodies as they were written, once, whether or not somebody calls the function.
//!
//! What is inlined early is differentiated where it ends up, marked or not. So derivatives pass through such a function,
//! and if one goes in, its body is checked too, when all bodies are there.
//!
//! What an integer drops is a warning, if a number is made of it again whose derivative is wanted.
//!
//! If something is lost both run again and leave a [`trail`], by which [`report`] tells the way.

mod carry;
mod report;
mod trail;
mod want;

use self::carry::integers::Ending;
use super::flags::flags;
use crate::Checked;
use crate::hir::{Body, Call, Dir, Expr, ExprKind, Func, FuncId, Inline, LocalId, Ty, TyKind};
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
    /// Whether types have derivatives, as far as asked.
    differentiable: Map<Ty, bool>,
    /// Calls (also of accessors) of functions without derivative into which one goes, by address, and how it came there.
    fed: Map<usize, Vec<Step>>,
    /// Where a number is made of an integer that a derivative ended in, by address.
    returned: Map<usize, Ending>,
    /// How derivatives came and were to go on, if that is to be told.
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
            let found = std::mem::take(&mut self.tables.inlined);
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
        let Some(body) = self.tables.funcs[func].body.clone() else { return };
        let name = self.program.funcs[func].name;
        for diagnostic in self.told_losses(func, &body) {
            let note = format!("`{name}` is inlined into a function that is differentiated");
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

    /// What gets lost, in the order of the source; the way is told if there are trails for it.
    fn losses(&mut self, func: FuncId, body: &Body, trails: Option<Trails>) -> Vec<(Span, Diagnostic)> {
        let mut flow = Flow {
            checked: self,
            func,
            body,
            differentiable: Map::default(),
            fed: Map::default(),
            returned: Map::default(),
            trails,
            reports: vec![],
        };
        flow.carry();
        flow.want();
        let mut reports = flow.reports;
        reports.sort_by_key(|(span, _)| (span.start, span.end));
        reports.dedup_by_key(|(span, _)| *span);
        reports
    }
}

impl Flow<'_> {
    fn has_derivative(&mut self, ty: Ty) -> bool {
        if let Some(known) = self.differentiable.get(&ty) {
            return *known;
        }
        let types = match self.checked.is_pack(ty) {
            true => self.checked.members_to_satisfy(ty),
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
    fn passes(&self, call: &Call) -> bool {
        !call.diff.is_empty() || self.func_passes(call.callee.func)
    }

    /// Whether derivatives pass through a function. What is inlined early is differentiated where it ends up.
    fn func_passes(&self, func: FuncId) -> bool {
        let Func { diff, inline, .. } = &self.checked.program.funcs[func];
        diff.is_differentiable() || *inline == Inline::Early || self.is_detach(func)
    }

    /// Whether the result of a call carries a derivative even if no argument does.
    fn gives(&self, call: &Call) -> bool {
        self.is_source(call) && !self.checked.program.funcs[call.callee.func].no_diff_result
    }

    /// Whether a call runs a custom derivative, so that its outputs may carry a derivative even if no argument does.
    fn is_source(&self, call: &Call) -> bool {
        let diff = &self.checked.program.funcs[call.callee.func].diff;
        let by_hand = diff.forward.is_some() || diff.backward.is_some() || diff.apply.is_some();
        by_hand && !diff.constant && call.diff.is_empty()
    }

    /// Remembers a function that a derivative goes into, if its body becomes a part of those that are checked.
    fn note_inlined(&mut self, func: FuncId) {
        let Func { diff, inline, .. } = &self.checked.program.funcs[func];
        let scope = self.checked.tables.funcs[func].scope;
        let unseen = *inline == Inline::Early && !diff.is_differentiable();
        let tables = &mut self.checked.tables;
        if unseen && !tables.scopes[scope].library {
            tables.inlined.insert(func);
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
        signature
            .params
            .iter()
            .map(|p| plain && !p.no_diff && !self.checked.sees_derivatives(func, p.ty))
            .collect()
    }

    /// What an assignment to a place changes.
    fn target(&mut self, place: &Expr) -> Target {
        match &place.kind {
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
            ExprKind::Property { this: Some(this), .. } => part_of(self.target(this)),
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

fn part_of(target: Target) -> Target {
    match target {
        Target::Whole(local) | Target::Part(local) => Target::Part(local),
        Target::Lossy(loss) => Target::Lossy(loss),
    }
}

/// An expression as a key: bodies do not move while they are looked at.
fn key<T>(expr: &T) -> usize {
    std::ptr::from_ref(expr).addr()
}

/// Adds all of `more`; says whether something was new.
fn join(set: &mut Locals, more: &Locals) -> bool {
    let mut changed = false;
    for local in more.iter() {
        changed |= set.insert(local);
    }
    changed
}
