//! The work list: every function of the module, from its first use to its body.
//!
//! An [`Origin`] says where an IR function comes from. [`Lowerer::origin`] returns the function of an origin. On the first
//! use, it declares the function ([`crate::declare`]) and adds its body to the work list.
//!
//! [`Lowerer::run`] writes bodies until the list is empty, and links custom derivatives where they are needed
//! ([`crate::demand`]). Declaring a function uses other origins (rules of the library), but only bodies take time, so
//! declarations are made immediately.

use crate::counter::Counters;
use crate::declare::SourceSig;
use crate::demand::Demands;
use crate::dispatch::Deferred;
use crate::func::Frame;
use crate::pairing::Pairing;
use crate::roots::Options;
use crate::sums::Sums;
use crate::types::TypeCache;
use crate::{codes, diff, dispatch, entry, intrinsic, synth};
use cotangent_base::{Code, Diagnostic, Diagnostics, Map, Span};
use cotangent_ir as ir;
use cotangent_ir::Mode;
use cotangent_ir::layout::Target;
use cotangent_sema::hir::{self, Args, FuncRef, GlobalId, Synth, Witness};
use cotangent_sema::{Queries, Subst};
use std::collections::VecDeque;

/// How often a requirement may stand for another one before we give up.
const MAX_WITNESSES: u32 = 32;

/// Where an IR function comes from. All references are concrete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Origin {
    /// A function with a body or an intrinsic.
    Func(FuncRef),
    /// The same function, for derivatives: what says where values are also says where their derivatives are.
    Paired(FuncRef),
    /// The same function, with those `__ref` parameters copied in and out whose bits are set.
    Copying(FuncRef, u64),
    /// A function started by the host.
    Entry(FuncRef),
    /// A derivative of such a function, started by the host with the same parameters.
    DerivedEntry(Mode, FuncRef),
    /// The accessor of a requirement for which the field of that number stands.
    Field(FuncRef, u32),
    /// A requirement for which the compiler stands.
    Synth(FuncRef, Synth),
    /// The initializer of a `static` variable.
    Init(GlobalId, Args),
    /// A derivative.
    Request(Mode, ir::FuncId),
    /// The same function without derivatives, for calls under `no_diff`.
    Frozen(ir::FuncId),
    /// A function that depends on all members of an interface type.
    Deferred(Deferred),
    /// A copy of a function that also takes where the derivatives of those inputs are whose bits are set.
    Companions(ir::FuncId, u64),
}

/// The state of lowering a program.
pub(crate) struct Lowerer<'c> {
    /// The typed program, and what is found out about it while it is lowered.
    pub queries: &'c mut Queries,
    /// Functions that become entry points although the program does not declare them as such.
    pub made_entries: Map<hir::FuncId, hir::Entry>,
    pub module: ir::Module,
    pub diagnostics: Diagnostics,
    pub types: TypeCache,
    pub globals: Map<(GlobalId, Args), crate::global::GlobalRef>,
    /// Parameters of entry points that are parameters of the shader.
    pub uniforms: Map<(hir::FuncId, usize), crate::global::Uniform>,
    /// Buffers that the program counts with, and their counters.
    pub counters: Vec<(ir::Global, ir::Global)>,
    /// Functions that count with buffers they are given.
    pub passed: Map<ir::FuncId, Counters>,
    functions: Map<Origin, ir::FuncId>,
    signatures: Map<ir::FuncId, SourceSig>,
    origins: Map<ir::FuncId, Origin>,
    missing: VecDeque<(Origin, ir::FuncId)>,
    /// Functions that depend on the members of an interface type, and how many there were when the body was written.
    deferred: Vec<(Deferred, ir::FuncId, Option<usize>)>,
    /// The first call of each function.
    pub mentions: Map<ir::FuncId, Span>,
    pub sums: Sums,
    /// The call for which a function is being declared.
    pub mention: Span,
    /// Which numbers the user gave to conforming types.
    pub options: Options,
    /// How many instances each generic function has.
    pub instances: Map<hir::FuncId, u32>,
    /// Which functions derivatives are taken of.
    pub demands: Demands,
    /// The variables that hold numbers of the thread.
    pub thread_numbers: Vec<(crate::thread::Number, ir::Global)>,
    /// Specialization constants of which it was said that they are fixed.
    pub warned: cotangent_base::Set<GlobalId>,
    /// Functions with code that the target cannot take, with where that is and what it is.
    pub refused: Vec<(ir::FuncId, Span, crate::target_code::Refused)>,
    /// The variables that specialization constants are.
    pub specialized: Vec<(GlobalId, ir::Global)>,
    /// Functions with a variable whose address is taken, with where that is declared.
    pub pinned: Vec<(ir::FuncId, Span)>,
    /// Functions that take values which say where derivatives are.
    pub pairing: Pairing,
}

impl<'c> Lowerer<'c> {
    pub fn new(queries: &'c mut Queries, options: Options) -> Self {
        Lowerer {
            queries,
            made_entries: Map::default(),
            module: ir::Module {
                prefer: options.prefer,
                segments: options.segments,
                // Compilers for GPUs would copy every level of segments into the one above.
                cuts_long_loops: options.target.is_none_or(|target| target == Target::Cpp),
                budget: options.budget,
                ..ir::Module::default()
            },
            diagnostics: Diagnostics::new(),
            types: TypeCache::default(),
            globals: Map::default(),
            uniforms: Map::default(),
            counters: Vec::new(),
            passed: Map::default(),
            functions: Map::default(),
            signatures: Map::default(),
            origins: Map::default(),
            missing: VecDeque::new(),
            deferred: Vec::new(),
            mentions: Map::default(),
            sums: Sums::default(),
            mention: Span::none(),
            options,
            instances: Map::default(),
            demands: Demands::default(),
            thread_numbers: Vec::new(),
            warned: Default::default(),
            refused: Vec::new(),
            pinned: Vec::new(),
            specialized: Vec::new(),
            pairing: Pairing::default(),
        }
    }

    /// Says that something is wrong.
    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(code, span, message));
    }

    /// Says that we contradict ourselves, unless that may be the consequence of something already said.
    pub fn internal(&mut self, span: Span, message: impl Into<String>) {
        if self.diagnostics.has_errors() {
            return;
        }
        let diagnostic = Diagnostic::new(codes::INTERNAL, span, message)
            .note("this is a bug in the compiler, not in the program; please report it");
        self.diagnostics.push(diagnostic);
    }

    /// Writes what is missing until nothing is: rows of the table of differentials, and bodies.
    pub fn run(&mut self) {
        loop {
            if let Some((ty, id)) = self.types.take_row() {
                diff::row(self, ty, id);
            } else if let Some((origin, id)) = self.missing.pop_front() {
                self.define(origin, id);
                self.spread_demand(id);
            } else if !self.meet_demand() && !self.seal() && !self.pair_next() {
                return;
            }
        }
    }

    /// Writes what depends on the members of interface types. Says whether there was anything to do.
    fn seal(&mut self) -> bool {
        let mut changed = self.sum_rows();
        for i in 0..self.deferred.len() {
            let (deferred, id, written) = self.deferred[i];
            let count = dispatch::member_count(self, deferred);
            if written != Some(count) {
                self.deferred[i].2 = Some(count);
                dispatch::define(self, id, deferred);
                self.spread_demand(id);
                changed = true;
            }
        }
        changed
    }

    /// The function of an origin, or `None` if something is wrong with it, which was said.
    pub fn origin(&mut self, origin: Origin) -> Option<ir::FuncId> {
        if let Some(&id) = self.functions.get(&origin) {
            return Some(id);
        }
        let func = self.declare(origin)?;
        let id = self.module.add_func(func.0);
        self.functions.insert(origin, id);
        self.origins.insert(id, origin);
        self.signatures.insert(id, func.1);
        match origin {
            Origin::Request(_, of) => self.demand(of, 1),
            Origin::Deferred(deferred) => {
                self.module.funcs[id].diff = dispatch::info(self, deferred);
                self.module.funcs[id].inline = dispatch::inline(deferred);
                self.deferred.push((deferred, id, None));
            }
            Origin::Func(_)
            | Origin::Paired(_)
            | Origin::Copying(..)
            | Origin::Entry(_)
            | Origin::DerivedEntry(..)
            | Origin::Field(..)
            | Origin::Synth(..)
            | Origin::Init(..)
            | Origin::Frozen(_)
            | Origin::Companions(..) => self.missing.push_back((origin, id)),
        }
        if let Origin::Func(func)
        | Origin::Paired(func)
        | Origin::Copying(func, _)
        | Origin::Entry(func)
        | Origin::Field(func, _)
        | Origin::Synth(func, _) = origin
        {
            self.module.funcs[id].diff = diff::info(self, func);
            let hir::Func { intrinsic, diff, .. } = &self.queries.program.funcs[func.func];
            if intrinsic.is_some() && !diff.is_custom() {
                intrinsic::inline(&mut self.module.funcs[id]);
            }
        }
        Some(id)
    }

    /// Adds a function that was made here.
    pub fn adopt(&mut self, origin: Origin, func: ir::Func) -> ir::FuncId {
        let id = self.module.add_func(func);
        self.functions.insert(origin, id);
        self.origins.insert(id, origin);
        id
    }

    /// Whether bodies are missing.
    pub fn has_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Notes of a function what was noted of the one whose body it has.
    pub fn take_notes(&mut self, from: ir::FuncId, to: ir::FuncId) {
        if let Some(counters) = self.passed.get(&from) {
            self.passed.insert(to, counters.clone());
        }
        let pinned: Vec<_> = self.pinned.iter().filter(|(id, _)| *id == from).cloned().collect();
        self.pinned.extend(pinned.into_iter().map(|(_, span)| (to, span)));
        let refused: Vec<_> = self.refused.iter().filter(|(id, ..)| *id == from).cloned().collect();
        self.refused.extend(refused.into_iter().map(|(_, span, what)| (to, span, what)));
    }

    /// Where a function comes from.
    pub fn origin_of(&self, id: ir::FuncId) -> Origin {
        self.origins[&id]
    }

    /// The function that a concrete reference stands for: a requirement is resolved through the conformance.
    pub fn callee(&mut self, func: FuncRef, span: Span) -> Option<ir::FuncId> {
        let outer = std::mem::replace(&mut self.mention, span);
        let callee = self.resolved(func, span);
        self.mention = outer;
        if let Some(id) = callee {
            self.mentions.entry(id).or_insert(span);
        }
        callee
    }

    fn resolved(&mut self, mut func: FuncRef, span: Span) -> Option<ir::FuncId> {
        for _ in 0..MAX_WITNESSES {
            if let Some(deferred) = dispatch::deferred(self, func, span) {
                return self.origin(Origin::Deferred(deferred));
            }
            if !matches!(self.queries.program.funcs[func.func].kind, hir::FuncKind::Requirement(_)) {
                self.require_target(func.func, span);
                return self.origin(Origin::Func(func));
            }
            match self.queries.witness(func) {
                Some(Witness::Func(to)) if to.func == func.func => return self.origin(Origin::Func(to)),
                Some(Witness::Func(to)) => func = to,
                Some(Witness::Field(field)) => return self.origin(Origin::Field(func, field)),
                Some(Witness::Synth(synth)) => return self.origin(Origin::Synth(func, synth)),
                None => break,
            }
        }
        let name = self.queries.program.funcs[func.func].name;
        self.internal(span, format!("nothing stands for the requirement `{name}`"));
        None
    }

    /// The function of the program that an IR function is an instance of.
    pub fn func_of(&self, id: ir::FuncId) -> Option<FuncRef> {
        match self.origins.get(&id)? {
            Origin::Func(func) | Origin::Paired(func) | Origin::Copying(func, _) | Origin::Entry(func) => {
                Some(*func)
            }
            Origin::DerivedEntry(..) | Origin::Field(..) | Origin::Synth(..) | Origin::Init(..) => None,
            Origin::Request(..) | Origin::Frozen(_) | Origin::Deferred(_) | Origin::Companions(..) => None,
        }
    }

    /// Whether a function takes something that says where derivatives are kept, without a place for the derivatives.
    pub fn has_pointers(&self, id: ir::FuncId) -> bool {
        self.signatures.get(&id).is_some_and(|sig| sig.params.iter().any(|p| p.pair.is_some()))
    }

    /// The function that derivatives are taken of in place of `id`: the same one unless it takes pointers.
    pub fn paired(&mut self, id: ir::FuncId) -> Option<ir::FuncId> {
        match self.origins.get(&id) {
            Some(&Origin::Func(func)) if self.has_pointers(id) => self.origin(Origin::Paired(func)),
            Some(&Origin::Func(_)) => self.copying(id, u64::MAX),
            _ => Some(id),
        }
    }

    /// The function that copies those `__ref` parameters in and out whose bits are set: the same one if it has none.
    pub fn copying(&mut self, id: ir::FuncId, copied: u64) -> Option<ir::FuncId> {
        let params = &self.signatures.get(&id)?.params;
        let bits = (0..64).zip(params).filter(|(i, p)| p.by_ref && copied >> i & 1 == 1);
        let copied = bits.fold(0, |bits, (i, _)| bits | 1 << i);
        match self.origins.get(&id) {
            Some(&Origin::Func(func)) if copied != 0 => self.origin(Origin::Copying(func, copied)),
            _ => Some(id),
        }
    }

    /// How the host starts a function, if it is an entry point.
    pub fn entry(&self, func: hir::FuncId) -> Option<hir::Entry> {
        self.made_entries.get(&func).copied().or(self.queries.program.funcs[func].entry)
    }

    /// Makes sure that what the program says of a function is complete: of the library, the checker knows only what
    /// somebody asked for.
    pub fn resolve(&mut self, func: hir::FuncId) {
        self.queries.body(func);
    }

    /// The signature a function was declared with, in types of the language.
    pub fn source_sig(&self, id: ir::FuncId) -> SourceSig {
        self.signatures.get(&id).cloned().unwrap_or_default()
    }

    /// Whether a function is the library's and replaces its calls: what goes wrong in it went wrong there.
    pub fn is_transparent(&self, func: hir::FuncId) -> bool {
        self.queries.is_library(func) && self.queries.program.funcs[func].inline == hir::Inline::Early
    }

    /// The arguments of an instance, by parameter.
    pub fn subst(&self, func: FuncRef) -> Subst {
        Subst::new(&self.queries.program.funcs[func.func].generics, func.args)
    }

    /// Writes the body of a declared function.
    fn define(&mut self, origin: Origin, id: ir::FuncId) {
        match origin {
            Origin::Func(func) => match self.queries.program.funcs[func.func].intrinsic {
                Some(name) => intrinsic::define(self, id, name),
                None => Frame::define(self, id, func),
            },
            Origin::Copying(func, _) => match self.queries.program.funcs[func.func].intrinsic {
                Some(_) => self.internal(self.module.funcs[id].span, "an operation on memory is given none"),
                None => Frame::define(self, id, func),
            },
            Origin::Paired(func) => self.pair_later(id, func),
            Origin::Entry(func) => entry::define(self, id, func),
            Origin::DerivedEntry(mode, func) => entry::define_derived(self, id, func, mode),
            Origin::Field(_, field) => synth::accessor(self, id, field),
            Origin::Synth(func, synth) => synth::member(self, id, func, synth),
            Origin::Init(global, args) => Frame::define_init(self, id, global, args),
            Origin::Frozen(of) => self.define_frozen(id, of),
            Origin::Request(..) | Origin::Deferred(_) | Origin::Companions(..) => {}
        }
    }
}
