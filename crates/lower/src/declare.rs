//! Declares functions: their names, signatures, and whether they are inlined. Bodies are written later.
//!
//! A signature is made twice. The first, [`SourceSig`], has types of the language, which know their differentials; the
//! signatures of derivatives are made from it. The second has types of the IR.

use crate::codes;
use crate::dispatch::Deferred;
use crate::instance::{Lowerer, Origin};
use crate::{diff, entry};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_ir as ir;
use cotangent_sema::hir::{self, FuncRef};

/// Generic arguments may nest this deep. Real programs stay below ten.
const MAX_NESTING: u32 = 300;

/// Most instances of one generic function.
const MAX_INSTANCES: u32 = 2000;

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
    /// Whether it is marked `no_diff`.
    pub no_diff: bool,
    /// If it says where derivatives are kept, the type of its pair.
    pub pair: Option<hir::Ty>,
}

impl SourceParam {
    /// One that is given by value.
    fn input(name: &str, ty: hir::Ty, diff: bool) -> Self {
        let name = Symbol::new(name);
        SourceParam { name, ty, dir: ir::Dir::In, diff, by_ref: false, no_diff: false, pair: None }
    }
}

impl Lowerer<'_> {
    /// Everything but the body.
    pub fn declare(&mut self, origin: Origin) -> Option<(ir::Func, SourceSig)> {
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
            Origin::DerivedEntry(mode, func) => {
                Some((entry::declare_derived(self, func, mode), SourceSig::default()))
            }
            Origin::Request(mode, of) => diff::request(self, mode, of),
            Origin::Companions(..) => None,
            Origin::Frozen(of) => Some(self.declare_frozen(of)),
            Origin::Deferred(deferred) => self.declare_deferred(deferred),
            Origin::Init(global, args) => {
                let span = self.queries.program.globals[global].span;
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
        let data = &self.queries.program.funcs[func.func];
        let (span, inline) = (data.span, data.inline);
        let count = self.instances.entry(func.func).or_default();
        *count += 1;
        let many = *count > MAX_INSTANCES;
        if many || self.types.nesting(self.queries, func.args) > MAX_NESTING {
            let message = match many {
                true => {
                    format!(
                        "`{}` has more than {MAX_INSTANCES} instances, perhaps infinitely many",
                        data.name
                    )
                }
                false => format!("`{}` has infinitely many instances", data.name),
            };
            let at = if self.mention.is_none() { span } else { self.mention };
            let mut diagnostic = Diagnostic::new(codes::ENDLESS_INSTANCES, at, message);
            if at != span {
                diagnostic = diagnostic.label(span, "declared here");
            }
            let help = "end the recursion with a condition known at compile time: `if (N > 0)`";
            self.diagnostics.push(diagnostic.help(help));
            return None;
        }
        let name = self.instance_name(func);
        let sig = self.source_signature(func);
        let mut declared = ir::Func::new(name, self.ir_sig(&sig, span), span);
        declared.origin = self.origin_name(func, name);
        declared.inline = match inline {
            hir::Inline::Auto => ir::Inline::Auto,
            hir::Inline::Early => ir::Inline::Early,
            hir::Inline::Never => ir::Inline::Never,
        };
        Some((declared, sig))
    }

    fn declare_deferred(&mut self, deferred: Deferred) -> Option<(ir::Func, SourceSig)> {
        // What it is called, what goes in and comes out, and the type that it is called after beside the first input's.
        let (name, inputs, result, to) = match deferred {
            Deferred::Open(func, _) | Deferred::Differential(func, ..) => return self.declare_func(func),
            Deferred::Static(func, through) => {
                let (_, mut sig) = self.declare_func(func)?;
                sig.params.insert(0, SourceParam::input("through", through, false));
                let span = self.queries.program.funcs[func.func].span;
                let name = self.instance_name(func);
                let mut declared = ir::Func::new(name, self.ir_sig(&sig, span), span);
                declared.origin = self.origin_name(func, name);
                return Some((declared, sig));
            }
            Deferred::Convert(from, to) => ("convert", vec![from], to, to),
            Deferred::Is(from, to) => ("is", vec![from], self.queries.scalar_ty(Scalar::Bool), to),
            Deferred::As(from, to, optional) => ("as", vec![from], optional, to),
            Deferred::Create(interface, data) => {
                let id = self.queries.scalar_ty(Scalar::U32);
                ("createDynamicObject", vec![id, data], interface, interface)
            }
        };
        let none = Span::none();
        let mut sig = SourceSig::default();
        let diff = self.queries.differential(result).is_some();
        for (i, ty) in inputs.into_iter().enumerate() {
            let diff = diff && self.queries.differential(ty).is_some();
            sig.params.push(SourceParam::input(["value", "data"][i], ty, diff));
        }
        sig.ret = Some((result, diff));
        let from = self.types.name(self.queries, sig.params[0].ty);
        let full = format!("{name}<{from},{}>", self.types.name(self.queries, to));
        let mut declared = ir::Func::new(Symbol::new(&full), self.ir_sig(&sig, none), none);
        declared.origin = Some(Symbol::new(name));
        Some((declared, sig))
    }

    /// `f<f32,3>`.
    fn instance_name(&mut self, func: FuncRef) -> Symbol {
        let name = self.queries.program.funcs[func.func].name;
        let args = self.types.args_name(self.queries, func.args);
        Symbol::new(&format!("{name}{args}"))
    }

    /// The name in the program of an instance called `name`, if it differs.
    fn origin_name(&self, func: FuncRef, name: Symbol) -> Option<Symbol> {
        Some(self.queries.program.funcs[func.func].name).filter(|plain| *plain != name)
    }

    /// The signature of an instance.
    fn source_signature(&mut self, func: FuncRef) -> SourceSig {
        let subst = self.subst(func);
        let hir::Func { this, params, result, no_diff_result, throws, .. } =
            self.queries.program.funcs[func.func].clone();
        let mut sig = SourceSig::default();
        // An instance with a derivative of its own has derivatives wherever its types have them.
        let special = self.queries.diff_of(func) != self.queries.program.funcs[func.func].diff;
        if let Some(this) = this {
            let dir = if this.mutating { ir::Dir::InOut } else { ir::Dir::In };
            let unseen = !special && !self.queries.sees_derivatives(func.func, this.ty);
            let ty = self.queries.subst(this.ty, &subst);
            let param = self.source_param(Symbol::new("this"), ty, dir, this.no_diff || unseen);
            sig.params.push(SourceParam { by_ref: this.by_ref, no_diff: this.no_diff, ..param });
        }
        for hir::Param { name, ty, dir, by_ref, no_diff, .. } in params {
            let unseen = !special && !self.queries.sees_derivatives(func.func, ty);
            let ty = self.queries.subst(ty, &subst);
            let Some(elements) = self.pack_elements(ty) else {
                let param = self.source_param(name, ty, ir_dir(dir), no_diff || unseen);
                sig.params.push(SourceParam { by_ref, no_diff, ..param });
                continue;
            };
            for (i, ty) in elements.into_iter().enumerate() {
                let name = Symbol::new(&format!("{name}_{i}"));
                let param = self.source_param(name, ty, ir_dir(dir), no_diff || unseen);
                sig.params.push(SourceParam { no_diff, ..param });
            }
        }
        if let Some(error) = throws.and_then(|error| self.queries.optional_of(error)) {
            let ty = self.queries.subst(error, &subst);
            sig.params.push(self.source_param(Symbol::new("error"), ty, ir::Dir::Out, true));
        }
        let no_diff_result = no_diff_result || !special && !self.queries.sees_derivatives(func.func, result);
        let result = self.queries.subst(result, &subst);
        if self.queries.program.types.kind(result) != hir::TyKind::Void {
            let diff = !no_diff_result && self.queries.differential(result).is_some();
            sig.ret = Some((result, diff));
        }
        sig
    }

    fn source_param(&mut self, name: Symbol, ty: hir::Ty, dir: ir::Dir, no_diff: bool) -> SourceParam {
        let diff = !no_diff && self.queries.differential(ty).is_some();
        let pair = if no_diff || dir != ir::Dir::In { None } else { self.queries.pointer_pair(ty) };
        SourceParam { name, ty, dir, diff, by_ref: false, no_diff, pair }
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
}

/// A direction of the language in the IR.
pub(crate) fn ir_dir(dir: hir::Dir) -> ir::Dir {
    match dir {
        hir::Dir::In => ir::Dir::In,
        hir::Dir::Out => ir::Dir::Out,
        hir::Dir::InOut => ir::Dir::InOut,
    }
}
