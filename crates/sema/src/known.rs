//! The attributes that mean something, and a warning for those that do not.
//!
//! An attribute nobody knows is skipped, as the language says. That is fine for one that is meant for another tool and a
//! trap for a misspelt one: a function marked `[Diferentiable]` has no derivative.

use crate::Checked;
use crate::codes;
use crate::suggest::nearest;
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast::Attribute;

/// Attributes of the language, whether or not they change anything here.
const KNOWN: &[&str] = &[
    // Derivatives.
    "Differentiable",
    "ForwardDifferentiable",
    "BackwardDifferentiable",
    "ForwardDerivative",
    "BackwardDerivative",
    "ForwardDerivativeOf",
    "BackwardDerivativeOf",
    "PrimalSubstitute",
    "PrimalSubstituteOf",
    "TreatAsDifferentiable",
    "NoDiffThis",
    "DerivativeMember",
    "PreferRecompute",
    "PreferCheckpoint",
    "MaxIters",
    "ForceUnroll",
    // Statements.
    "unroll",
    "loop",
    "branch",
    "flatten",
    "call",
    "forcecase",
    "fastopt",
    "allow_uav_condition",
    // Functions, methods, types.
    "mutating",
    "nonmutating",
    "constref",
    "ForceInline",
    "noinline",
    "OverloadRank",
    "Flags",
    "UnscopedEnum",
    "anyValueSize",
    "Specialize",
    "NoDiscard",
    "NonUniformReturn",
    "deprecated",
    "RemovedSince",
    "require",
    "sealed",
    "open",
    "builtin",
    "KnownBuiltin",
    "COM",
    "DllImport",
    "DllExport",
    // Shaders.
    "shader",
    "numthreads",
    "WaveSize",
    "DerivativeGroupLinear",
    "DerivativeGroupQuad",
    "earlydepthstencil",
    "maxvertexcount",
    "instance",
    "domain",
    "partitioning",
    "outputtopology",
    "outputcontrolpoints",
    "patchconstantfunc",
    "raypayload",
    "payload",
    "format",
    "register",
    "packoffset",
    "allow",
    // Bindings to Python and CUDA.
    "AutoPyBindCUDA",
    "PyExport",
    "TorchEntryPoint",
    "CudaKernel",
    "CudaHost",
    "CudaDeviceExport",
];

impl Checked {
    /// Warns of attributes of the user's functions that stand for nothing.
    pub(crate) fn check_attributes(&mut self) {
        for func in self.tables.user_funcs.clone() {
            let (attributes, scope) =
                (self.tables.funcs[func].prefix.attributes.clone(), self.tables.funcs[func].scope);
            self.warn_unknown_attributes(&attributes, scope);
        }
    }

    /// Warns of attributes that stand for nothing. A user's own is a structure, `FooAttribute` for `[Foo]`.
    pub(crate) fn warn_unknown_attributes(&mut self, attributes: &[Attribute], scope: ScopeId) {
        if self.tables.scopes[scope].library {
            return;
        }
        for attribute in attributes {
            let (name, span) = (attribute.name.name.as_str(), attribute.name.span);
            let reserved = name.starts_with("__") || name.contains("::");
            let own = Symbol::new(&format!("{name}Attribute"));
            if reserved
                || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name))
                || self.lookup_type(scope, own).is_some()
            {
                continue;
            }
            let message = format!("unknown attribute `{name}`, which has no effect");
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_ATTRIBUTE, span, message);
            if let Some(near) = nearest(name, KNOWN.iter().copied()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            self.diagnostics.push(diagnostic);
        }
    }
}
