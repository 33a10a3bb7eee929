//! The work list: every function of the module, from its first mention to its body.
//!
//! An [`Origin`] says where an IR function comes from. [`Lowerer::origin`] gives the function of an origin; the first
//! time it declares it (name, signature, what is known of its derivatives) and notes that the body is missing.
//! [`Lowerer::run`] writes bodies until none is missing, and links custom derivatives where they are needed
//! ([`crate::demand`]). Declaring mentions other origins (rules of the library), but only bodies take time, so declaring is
//! done at once.

use crate::demand::Demands;
use crate::dispatch::Deferred;
use crate::func::Frame;
use crate::roots::Options;
use crate::sums::Sums;
use crate::types::TypeCache;
use crate::{codes, diff, dispatch, entry, intrinsic, synth};
use cotangent_base::{Code, Diagnostic, Diagnostics, Map, Scalar, Span, Symbol};
use cotangent_ir as ir;
use cotangent_ir::Mode;
use cotangent_sema::capability::Targets;
use cotangent_sema::hir::{self, Args, FuncRef, GlobalId, Synth, Witness};
use cotangent_sema::{Checked, Subst};
use std::collections::VecDeque;

/// Generic arguments may nest this deep. Real programs stay below ten.
const MAX_NESTING: u32 = 40;

/// Most instances of one generic function.
const MAX_INSTANCES: u32 = 2000;

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
    /// The accessor of a requirement for which the field of that number stands.
    Field(FuncRef, u32),
    /// A requirement for which the compiler stands.
    Synth(FuncRef, Synth),
    /// The initializer of a `static` variable.
    Init(GlobalId, Args),
    /// A derivative.
    Request(Mode, ir::FuncId),
    /// A function that depends on all members of an interface type.
    Deferred(Deferred),
}

/// A signature with types of the language, which know their differentials.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceSig {
    /// The parameters, `this` first.
    pub params: Vec<SourceParam>,
    /// The result unless it is `void`, and whether it carries a derivative.
    pub ret: Option<(hir::Ty, bool)>,
}

/// A parameter of a [`SourceSig`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceParam {
    pub name: Symbol,
    pub ty: hir::Ty,
    pub dir: ir::Dir,
    pub diff: bool,
    /// Whether it is a pointer to the argument.
    pub by_ref: bool,
    /// If it says where derivatives are kept, the type of its pair.
    pub pair: Option<hir::Ty>,
}

/// The state of lowering a program.
pub(crate) struct Lowerer<'c> {
    pub checked: &'c mut Checked,
    pub module: ir::Module,
    pub diagnostics: Diagnostics,
    pub types: TypeCache,
    pub globals: Map<(GlobalId, Args), crate::global::GlobalRef>,
    /// Parameters of entry points that are parameters of the shader.
    pub uniforms: Map<(hir::FuncId, usize), crate::global::Uniform>,
    /// Buffers that the program counts with, and their counters.
    pub counters: Vec<(ir::Global, ir::Global)>,
    functions: Map<Origin, ir::FuncId>,
    signatures: Map<ir::FuncId, SourceSig>,
    origins: Map<ir::FuncId, Origin>,
    missing: VecDeque<(Origin, ir::FuncId)>,
    /// Functions that depend on the members of an interface type, and how many there were when the body was written.
    deferred: Vec<(Deferred, ir::FuncId, Option<usize>)>,
    /// Where functions that depend on members were first mentioned.
    pub mentions: Map<ir::FuncId, Span>,
    pub sums: Sums,
    /// Which numbers the user gave to conforming types.
    pub options: Options,
    /// How many instances each generic function has.
    instances: Map<hir::FuncId, u32>,
    /// Which functions derivatives are taken of.
    pub demands: Demands,
}

impl<'c> Lowerer<'c> {
    pub fn new(checked: &'c mut Checked, options: Options) -> Self {
        Lowerer {
            checked,
            module: ir::Module::default(),
            diagnostics: Diagnostics::new(),
            types: TypeCache::default(),
            globals: Map::default(),
            uniforms: Map::default(),
            counters: Vec::new(),
            functions: Map::default(),
            signatures: Map::default(),
            origins: Map::default(),
            missing: VecDeque::new(),
            deferred: Vec::new(),
            mentions: Map::default(),
            sums: Sums::default(),
            options,
            instances: Map::default(),
            demands: Demands::default(),
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
            .note("this is a fault of the compiler, not of the program; please report it");
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
            } else if !self.meet_demand() && !self.seal() {
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
            _ => self.missing.push_back((origin, id)),
        }
        if let Origin::Func(func)
        | Origin::Paired(func)
        | Origin::Copying(func, _)
        | Origin::Entry(func)
        | Origin::Field(func, _)
        | Origin::Synth(func, _) = origin
        {
            self.module.funcs[id].diff = diff::info(self, func);
            let hir::Func { intrinsic, diff, .. } = &self.checked.program.funcs[func.func];
            if intrinsic.is_some() && !diff.is_custom() {
                intrinsic::inline(&mut self.module.funcs[id]);
            }
        }
        Some(id)
    }

    /// Where a function comes from.
    pub fn origin_of(&self, id: ir::FuncId) -> Origin {
        self.origins[&id]
    }

    /// The function that a concrete reference stands for: a requirement is resolved through the conformance.
    pub fn callee(&mut self, mut func: FuncRef, span: Span) -> Option<ir::FuncId> {
        for _ in 0..MAX_WITNESSES {
            if let Some(deferred) = dispatch::deferred(self, func, span) {
                let id = self.origin(Origin::Deferred(deferred))?;
                self.mentions.entry(id).or_insert(span);
                return Some(id);
            }
            if !matches!(self.checked.program.funcs[func.func].kind, hir::FuncKind::Requirement(_)) {
                self.require_target(func.func, span);
                return self.origin(Origin::Func(func));
            }
            match self.checked.witness(func) {
                Some(Witness::Func(to)) if to.func == func.func => return self.origin(Origin::Func(to)),
                Some(Witness::Func(to)) => func = to,
                Some(Witness::Field(field)) => return self.origin(Origin::Field(func, field)),
                Some(Witness::Synth(synth)) => return self.origin(Origin::Synth(func, synth)),
                None => break,
            }
        }
        let name = self.checked.program.funcs[func.func].name;
        self.internal(span, format!("nothing stands for the requirement `{name}`"));
        None
    }

    /// Refuses a function that is not for the target or the stage. If there are several stages, [`crate::stage::check_required`]
    /// finds out later which of them come to it.
    fn require_target(&mut self, func: hir::FuncId, span: Span) {
        self.resolve(func);
        let Some(target) = self.options.target else { return };
        let allowed = self.checked.program.funcs[func].targets;
        if allowed == Targets::ALL {
            return;
        }
        if !allowed.contains(target.name()) {
            self.wrong_target(func, &format!("program for `{}`", target.name()), &allowed.names(), span);
        } else if let Some(stage) = self.stage() {
            self.require_stage(func, stage, span);
        }
    }

    /// Refuses a function that is not for the stage.
    pub fn require_stage(&mut self, func: hir::FuncId, stage: ir::Stage, span: Span) {
        let allowed = self.checked.program.funcs[func].targets;
        if !allowed.contains_stage(stage.name()) {
            self.wrong_target(func, &format!("{} shader", stage.name()), &allowed.stages(), span);
        }
    }

    fn wrong_target(&mut self, func: hir::FuncId, what: &str, all: &[&str], span: Span) {
        let name = self.checked.program.funcs[func].name;
        let message = format!("`{name}` cannot be called in a {what}");
        let diagnostic = Diagnostic::new(codes::WRONG_TARGET, span, message)
            .label(self.checked.program.funcs[func].span, format!("it is for {}", all.join(", ")));
        self.diagnostics.push(diagnostic.help("choose by `__target_switch` what is called"));
    }

    /// The stage of all entry points, if it is one.
    pub fn stage(&self) -> Option<ir::Stage> {
        let mut stages = self.module.funcs.values().filter_map(|f| f.entry.as_ref()).map(|entry| entry.stage);
        let first = stages.next().unwrap_or(ir::Stage::Compute);
        stages.all(|stage| stage == first).then_some(first)
    }

    /// The function of the program that an IR function is an instance of.
    pub fn func_of(&self, id: ir::FuncId) -> Option<FuncRef> {
        match self.origins.get(&id)? {
            Origin::Func(func) | Origin::Paired(func) | Origin::Copying(func, _) | Origin::Entry(func) => {
                Some(*func)
            }
            Origin::Field(..) | Origin::Synth(..) | Origin::Init(..) => None,
            Origin::Request(..) | Origin::Deferred(_) => None,
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

    /// Makes sure that what the program says of a function is complete: of the library, the checker knows only what
    /// somebody asked for.
    pub fn resolve(&mut self, func: hir::FuncId) {
        self.checked.body(func);
    }

    /// The signature a function was declared with, in types of the language.
    pub fn source_sig(&self, id: ir::FuncId) -> SourceSig {
        self.signatures.get(&id).cloned().unwrap_or_default()
    }

    /// Whether a function is the library's and replaces its calls: what goes wrong in it went wrong there.
    pub fn is_transparent(&self, func: hir::FuncId) -> bool {
        self.checked.is_library(func) && self.checked.program.funcs[func].inline == hir::Inline::Early
    }

    /// The arguments of an instance, by parameter.
    pub fn subst(&self, func: FuncRef) -> Subst {
        Subst::new(&self.checked.program.funcs[func.func].generics, func.args)
    }

    /// Everything but the body.
    fn declare(&mut self, origin: Origin) -> Option<(ir::Func, SourceSig)> {
        match origin {
            Origin::Func(func) | Origin::Field(func, _) | Origin::Synth(func, _) => self.declare_func(func),
            Origin::Copying(func, copied) => {
                let (declared, sig) = self.declare_func(func)?;
                Some(crate::by_ref::copying(self, declared, sig, copied))
            }
            Origin::Paired(func) => {
                let (declared, sig) = self.declare_func(func)?;
                Some(crate::pairing::pair(self, declared, sig))
            }
            Origin::Entry(func) => Some((entry::declare(self, func), SourceSig::default())),
            Origin::Request(mode, of) => diff::request(self, mode, of),
            Origin::Deferred(deferred) => self.declare_deferred(deferred),
            Origin::Init(global, args) => {
                let span = self.checked.program.globals[global].span;
                let (name, ty) = self.global_instance(global, args);
                let sig = SourceSig { params: vec![], ret: Some((ty, false)) };
                let func =
                    ir::Func::new(Symbol::new(&format!("init({name})")), self.ir_sig(&sig, span), span);
                Some((func, sig))
            }
        }
    }

    fn declare_func(&mut self, func: FuncRef) -> Option<(ir::Func, SourceSig)> {
        self.resolve(func.func);
        let data = &self.checked.program.funcs[func.func];
        let (span, inline) = (data.span, data.inline);
        let count = self.instances.entry(func.func).or_default();
        *count += 1;
        let many = *count > MAX_INSTANCES;
        if many || self.types.nesting(self.checked, func.args) > MAX_NESTING {
            let message = match many {
                true => {
                    format!("`{}` has more than {MAX_INSTANCES} instances, perhaps without end", data.name)
                }
                false => format!("`{}` needs instances of itself without end", data.name),
            };
            let diagnostic = Diagnostic::new(codes::ENDLESS_INSTANCES, span, message)
                .help("make the chain of generic arguments end");
            self.diagnostics.push(diagnostic);
            return None;
        }
        let name = self.instance_name(func);
        let sig = self.source_signature(func);
        let mut declared = ir::Func::new(name, self.ir_sig(&sig, span), span);
        declared.inline = match inline {
            hir::Inline::Auto => ir::Inline::Auto,
            hir::Inline::Early => ir::Inline::Early,
            hir::Inline::Never => ir::Inline::Never,
        };
        Some((declared, sig))
    }

    fn declare_deferred(&mut self, deferred: Deferred) -> Option<(ir::Func, SourceSig)> {
        let (name, inputs, result) = match deferred {
            Deferred::Open(func, _) | Deferred::Differential(func, ..) => return self.declare_func(func),
            Deferred::Static(func, through) => {
                let (_, mut sig) = self.declare_func(func)?;
                let name = Symbol::new("through");
                sig.params.insert(
                    0,
                    SourceParam {
                        name,
                        ty: through,
                        dir: ir::Dir::In,
                        diff: false,
                        by_ref: false,
                        pair: None,
                    },
                );
                let span = self.checked.program.funcs[func.func].span;
                let func = ir::Func::new(self.instance_name(func), self.ir_sig(&sig, span), span);
                return Some((func, sig));
            }
            Deferred::Convert(from, to) => ("convert", vec![from], to),
            Deferred::Is(from, _) => ("is", vec![from], self.checked.scalar_ty(Scalar::Bool)),
            Deferred::As(from, _, optional) => ("as", vec![from], optional),
            Deferred::Create(interface, data) => {
                ("createDynamicObject", vec![self.checked.scalar_ty(Scalar::U32), data], interface)
            }
        };
        let none = Span::none();
        let mut sig = SourceSig::default();
        let diff = self.checked.differential(result).is_some();
        for (i, ty) in inputs.into_iter().enumerate() {
            let name = Symbol::new(["value", "data"][i]);
            let diff = diff && self.checked.differential(ty).is_some();
            sig.params.push(SourceParam { name, ty, dir: ir::Dir::In, diff, by_ref: false, pair: None });
        }
        sig.ret = Some((result, diff));
        let to = match deferred {
            Deferred::Is(_, to) | Deferred::As(_, to, _) => to,
            _ => result,
        };
        let from = self.types.name(self.checked, sig.params[0].ty);
        let name = format!("{name}<{from},{}>", self.types.name(self.checked, to));
        Some((ir::Func::new(Symbol::new(&name), self.ir_sig(&sig, none), none), sig))
    }

    /// `f<f32,3>`.
    fn instance_name(&mut self, func: FuncRef) -> Symbol {
        let name = self.checked.program.funcs[func.func].name;
        let args = self.types.args_name(self.checked, func.args);
        Symbol::new(&format!("{name}{args}"))
    }

    /// The signature of an instance.
    fn source_signature(&mut self, func: FuncRef) -> SourceSig {
        let subst = self.subst(func);
        let hir::Func { this, params, result, no_diff_result, throws, .. } =
            self.checked.program.funcs[func.func].clone();
        let mut sig = SourceSig::default();
        if let Some(this) = this {
            let dir = if this.mutating { ir::Dir::InOut } else { ir::Dir::In };
            let no_diff = this.no_diff || !self.checked.sees_derivatives(func.func, this.ty);
            let ty = self.checked.subst(this.ty, &subst);
            let param = self.source_param(Symbol::new("this"), ty, dir, no_diff);
            sig.params.push(SourceParam { by_ref: this.by_ref, ..param });
        }
        for hir::Param { name, ty, dir, by_ref, no_diff, .. } in params {
            let no_diff = no_diff || !self.checked.sees_derivatives(func.func, ty);
            let ty = self.checked.subst(ty, &subst);
            let Some(elements) = self.pack_elements(ty) else {
                let param = self.source_param(name, ty, ir_dir(dir), no_diff);
                sig.params.push(SourceParam { by_ref, ..param });
                continue;
            };
            for (i, ty) in elements.into_iter().enumerate() {
                let name = Symbol::new(&format!("{name}_{i}"));
                let param = self.source_param(name, ty, ir_dir(dir), no_diff);
                sig.params.push(param);
            }
        }
        if let Some(error) = throws.and_then(|error| self.checked.optional_of(error)) {
            let ty = self.checked.subst(error, &subst);
            sig.params.push(self.source_param(Symbol::new("error"), ty, ir::Dir::Out, true));
        }
        let no_diff_result = no_diff_result || !self.checked.sees_derivatives(func.func, result);
        let result = self.checked.subst(result, &subst);
        if self.checked.program.types.kind(result) != hir::TyKind::Void {
            let diff = !no_diff_result && self.checked.differential(result).is_some();
            sig.ret = Some((result, diff));
        }
        sig
    }

    fn source_param(&mut self, name: Symbol, ty: hir::Ty, dir: ir::Dir, no_diff: bool) -> SourceParam {
        let diff = !no_diff && self.checked.differential(ty).is_some();
        let pair = if no_diff || dir != ir::Dir::In { None } else { self.checked.pointer_pair(ty) };
        SourceParam { name, ty, dir, diff, by_ref: false, pair }
    }

    /// The same signature in types of the IR.
    pub fn ir_sig(&mut self, sig: &SourceSig, span: Span) -> ir::Signature {
        let mut lowered = ir::Signature::default();
        for &SourceParam { name, ty, dir, diff, by_ref, .. } in &sig.params {
            let ty = self.lower_ty(ty, span);
            lowered.params.push(if by_ref {
                let ty = self.module.types.intern(ir::Type::Ref(ty));
                ir::Param { name, ty, dir: ir::Dir::In, diff: false }
            } else {
                ir::Param { name, ty, dir, diff }
            });
        }
        lowered.ret = sig.ret.map(|(ty, diff)| ir::Ret { ty: self.lower_ty(ty, span), diff });
        lowered
    }

    /// Writes the body of a declared function.
    fn define(&mut self, origin: Origin, id: ir::FuncId) {
        match origin {
            Origin::Func(func) => match self.checked.program.funcs[func.func].intrinsic {
                Some(name) => intrinsic::define(self, id, name),
                None => Frame::define(self, id, func),
            },
            Origin::Copying(func, _) => match self.checked.program.funcs[func.func].intrinsic {
                Some(_) => self.internal(self.module.funcs[id].span, "an operation on memory is given none"),
                None => Frame::define(self, id, func),
            },
            Origin::Paired(func) => Frame::define_paired(self, id, func),
            Origin::Entry(func) => entry::define(self, id, func),
            Origin::Field(_, field) => synth::accessor(self, id, field),
            Origin::Synth(func, synth) => synth::member(self, id, func, synth),
            Origin::Init(global, args) => Frame::define_init(self, id, global, args),
            Origin::Request(..) | Origin::Deferred(_) => {}
        }
    }
}

/// A direction of the language in the IR.
pub(crate) fn ir_dir(dir: hir::Dir) -> ir::Dir {
    match dir {
        hir::Dir::In => ir::Dir::In,
        hir::Dir::Out => ir::Dir::Out,
        hir::Dir::InOut => ir::Dir::InOut,
    }
}
