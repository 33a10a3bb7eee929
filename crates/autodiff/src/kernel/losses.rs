//! Reports derivatives that a kernel would lose in silence.
//!
//! A result that depends on floats that the kernel reads must have a derivative all the way, unless the program says `detach` or
//! `no_diff`. Operations on waves, bits of a float that become a float again, and types whose derivative leaves data out have none.
//! Input: the marked functions below the entry point, and the shadows. Output: diagnostics for what `dependences` finds between
//! memory that is read and memory that is written. A loss within the library is reported at the calls that lead to it.

use super::dependences::{Dependences, Loss, Node, Place, Why};
use super::shadow::Shadows;
use crate::by_hand::takes_care;
use crate::codes;
use cotangent_base::{Diagnostic, Diagnostics, Set, Span, Symbol};
use cotangent_ir::{Func, FuncId, Mode, Module, StructId, Ty, Type};

/// Reports what is lost. `made` are the structures that carry derivatives in kernels only.
pub(super) fn losses(
    module: &mut Module,
    followed: &[FuncId],
    mode: Mode,
    (shadows, made): (&Shadows, &Set<StructId>),
    is_library: fn(Span) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let is_own = |func: &Func| !is_foreign(func.span, is_library);
    let custom = module.funcs.iter().filter(|(_, func)| func.diff.is_custom()).map(|(id, _)| id);
    let caring = custom.filter(|id| takes_care(&module.funcs, *id, mode)).collect();
    let found = Dependences::of(module, followed, (shadows, &caring, made), &is_own);
    let (varied, useful) = (found.varied(), found.useful());
    let is_in = |set: &Set<Node>, nodes: &[Node]| nodes.iter().any(|node| set.contains(node));
    let report = Report { module, found: &found, is_library };
    let mut seen = Set::default();
    for Loss { why, at, takes, gives } in &found.losses {
        if is_in(&varied, takes) && is_in(&useful, gives) {
            let (span, name) = report.place(*at);
            if seen.insert(span) {
                diagnostics.push(report.diagnostic(*why, span, name));
            }
        }
    }
}

/// Whether nobody who reads the program sees that place.
fn is_foreign(span: Span, is_library: fn(Span) -> bool) -> bool {
    span.is_none() || is_library(span)
}

struct Report<'a> {
    module: &'a Module,
    found: &'a Dependences,
    is_library: fn(Span) -> bool,
}

impl Report<'_> {
    /// Where in the program it is, and the library function called there, if it is one.
    fn place(&self, mut at: Place) -> (Span, Option<Symbol>) {
        let mut name = None;
        loop {
            let func = &self.module.funcs[at.func];
            let Some(call) = self.found.call(at.site) else {
                let span = func.insts[at.inst].span;
                return (if span.is_none() { func.span } else { span }, name);
            };
            // What the compiler writes for interfaces has no name in the library.
            if (self.is_library)(func.span) {
                name = Some(func.plain_name());
            }
            at = call;
        }
    }

    fn diagnostic(&self, why: Why, span: Span, name: Option<Symbol>) -> Diagnostic {
        let what = name.map_or("this".to_string(), |name| format!("`{name}`"));
        let (message, help) = match why {
            Why::Operation => (
                format!("{what} has no derivative, but a result of the kernel depends on it"),
                "write a custom derivative for a function that calls it, or `detach` its argument"
                    .to_string(),
            ),
            Why::Bits => (
                format!("{what} has no derivative: it converts the bits of a float"),
                "compute with floats, or `detach` the float whose bits are taken".to_string(),
            ),
            Why::Data(ty) => (
                format!("the derivative of the structure leaves `{}` out", self.name(ty)),
                format!("make `{}` differentiable, or `detach` the value", self.name(ty)),
            ),
            Why::Memory(func) => (
                format!(
                    "the custom derivative of `{}` leaves out what `{0}` reads from memory",
                    self.module.funcs[func].plain_name()
                ),
                "pass what it reads as arguments, `detach` it there, or name the parameters whose gradients you want with `--wrt`"
                    .to_string(),
            ),
            Why::Custom(func, ty) => (
                format!(
                    "the derivative of `{}` leaves `{}` out",
                    self.module.funcs[func].plain_name(),
                    self.name(ty)
                ),
                format!("make `{}` differentiable, or mark the parameter `no_diff`", self.name(ty)),
            ),
        };
        Diagnostic::new(codes::KERNEL, span, message).help(help)
    }

    fn name(&self, ty: Ty) -> String {
        if let Type::Struct(id) | Type::Sum(id) = self.module.types.get(ty) {
            self.module.types.struct_def(id).name.to_string()
        } else if let Type::Array(elem, n) = self.module.types.get(ty) {
            format!("{}[{n}]", self.name(elem))
        } else {
            "this".to_string()
        }
    }
}
