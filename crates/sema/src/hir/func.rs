//! Functions of the typed program: their parameters, what is known of their derivatives, and entry points.

use super::{FuncRef, Generics, InterfaceId, Ty, Val};
use crate::capability::Targets;
use cotangent_base::{Span, Symbol};
use cotangent_syntax::ast::DiffMode;

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Its name, with the names around it: `Ray.at`.
    pub name: Symbol,
    /// Where its name stands.
    pub span: Span,
    /// What it is.
    pub kind: FuncKind,
    /// Its generic parameters and those around it.
    pub generics: Generics,
    /// Its `this`, if it has one.
    pub this: Option<This>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result type.
    pub result: Ty,
    /// `no_diff` before the result type.
    pub no_diff_result: bool,
    /// `throws E`: there is a last parameter, an optional `E` that is written, which `params` does not list.
    pub throws: Option<Ty>,
    /// `[__intrinsic("..")]`: the operation it stands for; it has no body then.
    pub intrinsic: Option<Symbol>,
    /// What is known of its derivatives.
    pub diff: FuncDiff,
    /// Whether calls are replaced by the body.
    pub inline: Inline,
    /// Set if the host can start it.
    pub entry: Option<Entry>,
    /// The stage of an entry point that no target of ours has, such as `miss`. It is checked like any function.
    pub other_stage: Option<Symbol>,
    /// What its result is to the stages after, if the host starts it.
    pub varying: Varying,
    /// `[require(..)]`: the targets it may be compiled for.
    pub targets: Targets,
    /// Whether there is a body to ask the checker for.
    pub has_body: bool,
}

/// Kinds of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncKind {
    /// A function or method.
    Plain,
    /// A constructor. Its result is the new value, it has no `this`, and its body declares, fills and returns one.
    Constructor,
    /// A requirement of an interface. Its first generic argument is the conforming type; who calls it looks up
    /// the witness. It has a body if it has a default.
    Requirement(InterfaceId),
}

/// The `this` of a method: its first parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct This {
    /// Its type.
    pub ty: Ty,
    /// Whether the method may change it: `inout` instead of `in`.
    pub mutating: bool,
    /// `[NoDiffThis]`.
    pub no_diff: bool,
    /// `[__ref]`: the method works on the object where it lies, not on a copy that is written back.
    pub by_ref: bool,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// Its direction.
    pub dir: Dir,
    /// `__ref`: an argument that lies in memory is worked on there. Of others a copy is written back, as for `inout`.
    pub by_ref: bool,
    /// Whether it carries no derivative though its type could.
    pub no_diff: bool,
    /// What it is to the stages before and after, if an entry point has it.
    pub varying: Varying,
    /// Whether its matrix lies in memory row by row, if `row_major` or `column_major` says so.
    pub row_major: Option<bool>,
    /// Where it is declared.
    pub span: Span,
}

/// What a parameter or result of an entry point, or a field of one, is to the stages of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Varying {
    /// `SV_DispatchThreadID`, `TEXCOORD0` and their kin, as written; upper and lower case mean the same.
    pub semantic: Option<Symbol>,
    /// What becomes of it between vertices.
    pub interpolation: Interpolation,
    /// `[[vk::location(n)]]`.
    pub location: Option<u32>,
    /// `uniform`: it is a parameter of the shader instead.
    pub uniform: bool,
}

/// How a value for a pixel is made of those of vertices.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Interpolation {
    /// Nothing is said: with perspective, or flat if it is not a float.
    #[default]
    Auto,
    /// `linear`: with perspective.
    Linear,
    /// `noperspective`: linear on the screen.
    NoPerspective,
    /// `nointerpolation`: that of one vertex.
    Flat,
    /// `centroid`: with perspective, at a place inside the triangle.
    Centroid,
    /// `sample`: with perspective, for each sample.
    Sample,
}

/// The direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Dir {
    In,
    Out,
    InOut,
}

/// What is known of a function's derivatives. References are in terms of the function's own generic parameters.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FuncDiff {
    /// `[Differentiable]` and `[BackwardDifferentiable]` are `Backward`, which implies forward.
    pub differentiable: Option<DiffMode>,
    /// `[__rule(f)]`: the library's forward rule.
    pub rule: Option<FuncRef>,
    /// `[ForwardDerivative(f)]`.
    pub forward: Option<FuncRef>,
    /// `[BackwardDerivative(f)]`.
    pub backward: Option<FuncRef>,
    /// `__func_extension __apply(f)`.
    pub apply: Option<Apply>,
    /// `[PrimalSubstitute(f)]`.
    pub substitute: Option<FuncRef>,
    /// `[TreatAsDifferentiable]`.
    pub constant: bool,
    /// `[PreferRecompute]`, `[PreferCheckpoint]`, `[Checkpoint]`.
    pub prefer: Prefer,
}

/// A backward derivative in two steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Apply {
    /// Computes what the function computes, and an object beside it.
    pub primal: FuncRef,
    /// The `operator()` of that object, which computes the derivatives.
    pub pullback: FuncRef,
}

impl Func {
    /// Whether something of it is `no_diff`.
    pub fn stops_derivatives(&self) -> bool {
        let this = self.this.is_some_and(|this| this.no_diff);
        this || self.no_diff_result || self.params.iter().any(|param| param.no_diff)
    }
}

impl FuncDiff {
    /// Whether the function may stand under `fwd_diff` or `bwd_diff`, or be called where derivatives flow.
    pub fn is_differentiable(&self) -> bool {
        self.differentiable.is_some()
            || self.rule.is_some()
            || self.forward.is_some()
            || self.backward.is_some()
            || self.apply.is_some()
            || self.substitute.is_some()
            || self.constant
    }

    /// Whether somebody wrote a derivative of the function, or named a function that stands in for it.
    pub fn is_custom(&self) -> bool {
        self.forward.is_some() || self.backward.is_some() || self.apply.is_some() || self.substitute.is_some()
    }
}

/// Whether results of a call are stored for the backward pass or computed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Prefer {
    #[default]
    Auto,
    Recompute,
    Checkpoint,
    Rerun,
}

/// Whether calls are replaced by the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Inline {
    #[default]
    Auto,
    /// `[ForceInline]`, `[__unsafeForceInlineEarly]`.
    Early,
    /// `[noinline]`.
    Never,
}

/// Whether to unroll a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unroll {
    #[default]
    Auto,
    /// `[ForceUnroll]`; `[unroll]` is a wish and stays `Auto`.
    Force,
    /// `[loop]`.
    Never,
}

/// How the host starts a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where in the pipeline it stands.
    pub stage: Stage,
    /// `[numthreads(x, y, z)]`.
    pub threads: [Val; 3],
    /// Whether the launch says how many threads a group has: `[CudaKernel]`.
    pub launched: bool,
    /// Whether the host may also ask for its derivatives, as entry points with the same parameters: `[AutoPyBindCUDA]`.
    pub bound: bool,
    /// Where that is written; the function's name if nowhere.
    pub span: Span,
}

/// A programmable stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Stage {
    Compute,
    Vertex,
    Fragment,
}

impl Stage {
    /// The stage of that name. `pixel` is the older one for `fragment`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "compute" => Some(Stage::Compute),
            "vertex" => Some(Stage::Vertex),
            "fragment" | "pixel" => Some(Stage::Fragment),
            _ => None,
        }
    }
}
