//! The known attributes and where they are allowed. Unknown attributes cause a warning.
//!
//! The language ignores unknown attributes. That is right for attributes of other tools, but hides misspellings: a function
//! marked `[Diferentiable]` has no derivative.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Rules;
use crate::hir::FuncId;
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Span, Symbol, nearest};
use cotangent_syntax::ast::{Attribute, ExprKind};

/// Where an attribute may stand: one bit for each kind of place.
pub(crate) type Places = u8;
/// Before a function, method, constructor or accessor.
pub(crate) const FUNCTION: Places = 1;
/// Before a loop.
pub(crate) const LOOP: Places = 2;
/// Before an `if` or `switch`.
pub(crate) const BRANCH: Places = 4;
/// Before an enumeration.
pub(crate) const ENUM: Places = 8;
/// Before an interface.
pub(crate) const INTERFACE: Places = 16;
/// Before a variable or field.
pub(crate) const VARIABLE: Places = 32;
/// Before any other declaration.
pub(crate) const OTHER: Places = 64;
/// Before any declaration.
const DECLARATION: Places = FUNCTION | ENUM | INTERFACE | VARIABLE | OTHER;
const ANY: Places = Places::MAX;

/// An attribute of the language: its name, where it may stand, and how many arguments it takes.
struct Known {
    name: &'static str,
    places: Places,
    least: usize,
    most: usize,
}

const fn known(name: &'static str, places: Places, least: usize, most: usize) -> Known {
    Known { name, places, least, most }
}

/// Attributes of the language, whether or not they change anything here. Those that do nothing here may stand anywhere. Where a
/// missing argument has a diagnostic of its own, none is asked for here.
const KNOWN: &[Known] = &[
    // Derivatives.
    known("Differentiable", FUNCTION, 0, 1),
    known("ForwardDifferentiable", FUNCTION, 0, 0),
    known("BackwardDifferentiable", FUNCTION, 0, 1),
    known("ForwardDerivative", FUNCTION, 0, 1),
    known("BackwardDerivative", FUNCTION, 0, 1),
    known("ForwardDerivativeOf", FUNCTION, 0, 1),
    known("BackwardDerivativeOf", FUNCTION, 0, 1),
    known("PrimalSubstitute", FUNCTION, 0, 1),
    known("PrimalSubstituteOf", FUNCTION, 0, 1),
    known("TreatAsDifferentiable", FUNCTION, 0, 0),
    known("NoDiffThis", FUNCTION, 0, 0),
    known("DerivativeMember", VARIABLE, 1, 1),
    known("PreferRecompute", FUNCTION, 0, 9),
    known("PreferCheckpoint", FUNCTION, 0, 9),
    known("Checkpoint", FUNCTION | LOOP, 0, 1),
    known("MaxIters", LOOP, 0, 1),
    known("ForceUnroll", LOOP, 0, 1),
    // Statements.
    known("unroll", LOOP, 0, 1),
    known("loop", LOOP, 0, 0),
    known("branch", BRANCH, 0, 0),
    known("flatten", BRANCH, 0, 0),
    known("call", BRANCH, 0, 0),
    known("forcecase", BRANCH, 0, 0),
    known("fastopt", LOOP, 0, 0),
    known("allow_uav_condition", LOOP, 0, 0),
    // Functions, methods, types.
    known("mutating", FUNCTION, 0, 9),
    known("nonmutating", FUNCTION, 0, 9),
    known("constref", FUNCTION, 0, 9),
    known("ForceInline", FUNCTION, 0, 0),
    known("noinline", FUNCTION, 0, 0),
    known("OverloadRank", FUNCTION, 1, 1),
    known("Flags", ENUM, 0, 0),
    known("UnscopedEnum", ENUM, 0, 0),
    known("anyValueSize", INTERFACE, 1, 1),
    known("Specialize", INTERFACE, 0, 9),
    known("NoDiscard", FUNCTION, 0, 0),
    known("NonUniformReturn", FUNCTION, 0, 9),
    known("deprecated", DECLARATION, 1, 1),
    known("RemovedSince", DECLARATION, 2, 2),
    known("require", DECLARATION, 0, 9),
    known("sealed", INTERFACE | ENUM | OTHER, 0, 9),
    known("open", INTERFACE | ENUM | OTHER, 0, 9),
    known("builtin", ANY, 0, 9),
    known("KnownBuiltin", ANY, 0, 9),
    known("COM", ANY, 0, 9),
    known("DllImport", ANY, 0, 9),
    known("DllExport", ANY, 0, 9),
    // Shaders.
    known("shader", FUNCTION, 1, 1),
    known("numthreads", FUNCTION, 1, 3),
    known("WaveSize", FUNCTION, 1, 3),
    known("DerivativeGroupLinear", ANY, 0, 9),
    known("DerivativeGroupQuad", ANY, 0, 9),
    known("earlydepthstencil", ANY, 0, 9),
    known("maxvertexcount", ANY, 0, 9),
    known("instance", ANY, 0, 9),
    known("domain", ANY, 0, 9),
    known("partitioning", ANY, 0, 9),
    known("outputtopology", ANY, 0, 9),
    known("outputcontrolpoints", ANY, 0, 9),
    known("patchconstantfunc", ANY, 0, 9),
    known("raypayload", ANY, 0, 9),
    known("payload", ANY, 0, 9),
    known("format", VARIABLE, 0, 9),
    known("SpecializationConstant", VARIABLE, 0, 0),
    known("register", ANY, 0, 9),
    known("packoffset", ANY, 0, 9),
    known("allow", ANY, 0, 9),
    // Bindings to Python and CUDA.
    known("AutoPyBindCUDA", FUNCTION, 0, 9),
    known("PyExport", ANY, 0, 9),
    known("TorchEntryPoint", FUNCTION, 0, 9),
    known("CudaKernel", FUNCTION, 0, 9),
    known("CudaHost", FUNCTION, 0, 9),
    known("CudaDeviceExport", ANY, 0, 9),
];

/// Attributes that would change a program's meaning but are ignored, with a warning.
const IDLE: &[&str] = &[
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
    "COM",
    "DllImport",
    "DllExport",
    "sealed",
    "raypayload",
    "payload",
    "format",
    "allow",
    "builtin",
    "KnownBuiltin",
];

/// Attributes in a namespace (`vk::`) that have an effect; others of this form are ignored with a warning.
const ACTED: &[&str] = &["vk::binding", "vk::push_constant", "vk::constant_id", "vk::location"];

impl BodyCx<'_> {
    /// Warns of a call of a function that is marked `[deprecated("..")]`.
    pub(crate) fn warn_deprecated(&mut self, func: FuncId, span: Span) {
        let attributes = self.cx.tables.funcs[func].prefix.attributes.clone();
        if let Some(text) = attrs::string(&attributes, "deprecated") {
            let message = format!("`{}` is deprecated: {text}", self.cx.program.funcs[func].name);
            let declared = self.cx.program.funcs[func].span;
            self.report(Diagnostic::new(codes::DEPRECATED, span, message).label(declared, "declared here"));
        }
        let scope = self.scope;
        let name = self.cx.program.funcs[func].name;
        self.cx.rules().check_not_removed(&attributes, name, span, scope);
    }
}

impl Checked {
    /// Warns of attributes of the user's functions that stand for nothing.
    pub(crate) fn check_attributes(&mut self) {
        let with_stages = self.facts().modules_with_stages();
        for func in self.tables.funcs.user().to_vec() {
            let (attributes, scope) =
                (self.tables.funcs[func].prefix.attributes.clone(), self.tables.funcs[func].scope);
            self.warn_unknown_attributes(&attributes, scope);
            self.check_wave_size(&attributes, scope);
            self.rules().check_semantics(func, &with_stages);
        }
    }

    /// Warns of attributes that stand for nothing. A user's own is a structure, `FooAttribute` for `[Foo]`.
    pub(crate) fn warn_unknown_attributes(&mut self, attributes: &[Attribute], scope: ScopeId) {
        if self.tables.scopes[scope].is_library() {
            return;
        }
        for attribute in attributes {
            let (name, span) = (attribute.name.name.as_str(), attribute.name.span);
            let own = Symbol::new(&format!("{name}Attribute"));
            if is_known(name) || self.lookup_type(scope, own).is_some() {
                continue;
            }
            let message = format!("unknown attribute `{name}` has no effect");
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_ATTRIBUTE, span, message);
            if let Some(near) = nearest(name, KNOWN.iter().map(|known| known.name)) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            self.diagnostics.push(diagnostic);
        }
    }
}

impl Rules<'_> {
    /// Reports known attributes that are not allowed here, or not with these arguments.
    pub(crate) fn check_placement(&mut self, attributes: &[Attribute], here: Places) {
        for attribute in attributes {
            let (name, span) = (attribute.name.name, attribute.name.span);
            let Some(known) = KNOWN.iter().find(|k| k.name.eq_ignore_ascii_case(name.as_str())) else {
                let is_of_target = name.as_str().contains("::");
                if is_of_target && !ACTED.iter().any(|acted| acted.eq_ignore_ascii_case(name.as_str())) {
                    self.warn_without_effect(&format!("[{name}]"), span);
                }
                continue;
            };
            let given = attribute.args.len();
            let message = if known.places & here == 0 {
                format!("`[{name}]` is not allowed here: it applies to {}", applies_to(known.places))
            } else if known.name == "Checkpoint" && here & LOOP == 0 && given > 0 {
                "`[Checkpoint]` of a function takes no argument: its calls run again as a whole".to_string()
            } else if given < known.least || given > known.most {
                let wanted = match (known.least, known.most) {
                    (least, most) if least == most => format!("{least}"),
                    (least, most) => format!("{least} to {most}"),
                };
                format!(
                    "`[{name}]` takes {wanted} argument{}, not {given}",
                    if wanted == "1" { "" } else { "s" }
                )
            } else {
                if IDLE.contains(&known.name) {
                    self.warn_without_effect(&format!("[{name}]"), span);
                }
                continue;
            };
            self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, span, message));
        }
        self.check_flag_arguments(attributes);
    }

    /// `[BackwardDifferentiable(f)]` is a slip for `[BackwardDerivative(f)]`: the former takes at most the order of derivatives.
    fn check_flag_arguments(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            let name = attribute.name.name.as_str();
            let [argument] = &attribute.args[..] else { continue };
            let is_flag =
                ["Differentiable", "BackwardDifferentiable"].iter().any(|f| f.eq_ignore_ascii_case(name));
            if is_flag && !matches!(argument.kind, ExprKind::Int(..)) {
                let message = format!("`[{name}]` takes no function");
                let help = "`[BackwardDerivative(f)]` and `[ForwardDerivative(f)]` name custom derivatives";
                let diagnostic = Diagnostic::new(codes::BAD_ATTRIBUTE, argument.span, message);
                self.diagnostics.push(diagnostic.help(help));
            }
        }
    }

    /// Reports attributes before a statement that takes none, or before a variable of a function.
    pub(crate) fn refuse_attributes(&mut self, attributes: &[Attribute], before: &str) {
        for attribute in attributes {
            let (name, span) = (attribute.name.name, attribute.name.span);
            if KNOWN.iter().any(|k| k.name.eq_ignore_ascii_case(name.as_str())) {
                let message = format!("`[{name}]` is not allowed before {before}");
                self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, span, message).help("remove it"));
            }
        }
    }

    /// Warns of a word that means nothing where it stands.
    pub(crate) fn warn_no_effect(&mut self, message: &str, span: Span) {
        self.diagnostics.push(Diagnostic::new(codes::IDLE_WORD, span, message).help("remove it"));
    }

    /// Warns of something that is read and not acted on.
    pub(crate) fn warn_without_effect(&mut self, word: &str, span: Span) {
        let message = format!("`{word}` has no effect yet");
        self.diagnostics.push(Diagnostic::new(codes::IDLE_WORD, span, message));
    }

    /// Reports an attribute that stands before one declaration twice, and of which one would not count.
    pub(crate) fn check_said_once(&mut self, attributes: &[Attribute], name: &str) {
        let mut all = attrs::all(attributes, name);
        let Some(first) = all.next() else { return };
        for second in all {
            let message = format!("duplicate `[{name}]`");
            let diagnostic = Diagnostic::new(codes::BAD_ATTRIBUTE, second.span, message);
            self.diagnostics.push(diagnostic.label(first.span, "first one here"));
        }
    }
}

/// Whether the language, not the program, has an attribute of that name.
pub(crate) fn is_known(name: &str) -> bool {
    name.starts_with("__") || name.contains("::") || KNOWN.iter().any(|k| k.name.eq_ignore_ascii_case(name))
}

/// What an attribute applies to, as messages name it.
fn applies_to(places: Places) -> &'static str {
    match places {
        FUNCTION => "a function",
        places if places == FUNCTION | LOOP => "a function or a loop",
        LOOP => "a loop",
        BRANCH => "an `if` or `switch`",
        ENUM => "an enumeration",
        INTERFACE => "an interface",
        VARIABLE => "a field",
        DECLARATION => "a declaration",
        _ if places & (LOOP | BRANCH | FUNCTION | VARIABLE) == 0 => "a type",
        _ => "something else",
    }
}
