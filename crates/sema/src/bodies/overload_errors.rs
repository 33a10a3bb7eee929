//! Reports why no function accepts the arguments of a call.

use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Fit};
use crate::bodies::place::Fixed;
use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{Bound, DiffMode, FuncId, GenericParamId, Ty, TyKind, Types};
use cotangent_base::{Diagnostic, Span};

/// Why a candidate cannot be called.
pub(crate) enum Misfit {
    /// The number of arguments is wrong: the least, the most and the given number.
    Count(usize, usize, usize),
    /// A generic argument cannot be inferred.
    Open(GenericParamId),
    /// A bound does not hold.
    Bound(Bound),
    /// An argument does not convert: its number, what it is, what it must be.
    Argument(usize, String, Ty),
    /// An argument that is written to has another type: its number, what it is, what it must be.
    Written(usize, String, Ty),
    /// An argument that is written to is no place: its number and why.
    Place(usize, Fixed),
    /// It takes `this`.
    NoThis,
    /// Too many explicit generic arguments.
    Explicit,
}

impl BodyCx<'_> {
    pub(crate) fn report_misfits(
        &mut self,
        callee: &Callee,
        args: &[Argument],
        misfits: Vec<(FuncId, Misfit)>,
        span: Span,
    ) {
        if self.cx.program.any_wrong(args) {
            return;
        }
        if callee.this.as_ref().is_some_and(|t| self.cx.program.types.is_error(t.ty)) {
            return;
        }
        let diagnostic = match misfits.as_slice() {
            [(func, misfit)] => self.single_misfit(callee, *func, misfit, args, span),
            _ => {
                let shown: Vec<String> = args.iter().map(|a| self.cx.facts().show_argument(a)).collect();
                let message = format!("no function `{}` accepts ({})", callee.shown(), shown.join(", "));
                let mut diagnostic = Diagnostic::new(codes::NO_OVERLOAD, span, message);
                let mut notes: Vec<String> = vec![];
                // Of library functions, whatever an argument does not fit says more than a bound it does not meet.
                let about_arguments = |(_, misfit): &(FuncId, Misfit)| {
                    matches!(misfit, Misfit::Argument(..) | Misfit::Written(..) | Misfit::Place(..))
                };
                let told = misfits.iter().any(about_arguments)
                    && misfits.iter().all(|(func, _)| self.cx.is_library(*func));
                for (func, misfit) in misfits.iter().filter(|m| !told || about_arguments(m)) {
                    let note = format!(
                        "`{}`: {}",
                        self.cx.facts().show_func(*func),
                        self.cx.facts().describe_misfit(misfit)
                    );
                    // Overloads that differ in their bounds alone look the same.
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
                let rest = notes.len().saturating_sub(8);
                for note in notes.into_iter().take(8) {
                    diagnostic = diagnostic.note(note);
                }
                if rest > 0 {
                    diagnostic = diagnostic.note(format!("and {rest} more"));
                }
                match self.cx.program.types.other_shape(callee.name.as_str(), args) {
                    Some(help) => diagnostic.help(help),
                    None => diagnostic,
                }
            }
        };
        self.report(diagnostic);
    }

    fn single_misfit(
        &mut self,
        callee: &Callee,
        func: FuncId,
        misfit: &Misfit,
        args: &[Argument],
        span: Span,
    ) -> Diagnostic {
        let declared = self.cx.program.funcs[func].span;
        let name = self.cx.facts().show_func(func);
        let why = self.cx.facts().describe_misfit(misfit);
        let (code, at) = match misfit {
            Misfit::Count(..) => (codes::ARGUMENT_COUNT, span),
            Misfit::Open(_) | Misfit::Explicit => (codes::CANNOT_INFER, span),
            Misfit::Bound(bound) => (crate::derive::unmet_code(self.cx, *bound), span),
            Misfit::Argument(number, ..) | Misfit::Written(number, ..) => {
                (codes::MISMATCH, argument_span(args, *number, span))
            }
            Misfit::Place(0, _) => (codes::NOT_A_PLACE, callee.this.as_ref().map_or(span, |t| t.span)),
            Misfit::Place(number, _) => (codes::NOT_A_PLACE, argument_span(args, *number, span)),
            Misfit::NoThis => (codes::NO_THIS, callee.span),
        };
        let shown = callee.shown();
        let diagnostic = Diagnostic::new(code, at, format!("cannot call `{shown}`: {why}"));
        let mut diagnostic = diagnostic.label(declared, format!("`{name}` is declared here"));
        if !callee.diff.is_empty() {
            let signature = self.called_signature(callee, func);
            let signature = self.cx.facts().show_signature(&signature);
            diagnostic = diagnostic.note(format!("the signature of `{shown}` is `{signature}`"));
        }
        match misfit {
            Misfit::Open(param) => {
                let param = self.cx.program.params[*param].name;
                diagnostic
                    .help(format!("give it explicitly: `{}<..>(..)` with a value for `{param}`", callee.name))
            }
            Misfit::Place(number, fixed) => match self.unpaired(callee, func, args, *number) {
                Some(help) => diagnostic.help(help),
                None => fixed.explain(diagnostic),
            },
            Misfit::Written(_, _, to) if matches!(self.kind(*to), TyKind::Interface(..)) => {
                let to = self.show(*to);
                diagnostic.help(format!(
                    "take any conforming type by a generic parameter: `<T : {to}>(inout T ..)`"
                ))
            }
            Misfit::Argument(number, ..) | Misfit::Written(number, ..) => {
                match self.unpaired(callee, func, args, *number) {
                    Some(help) => diagnostic.help(help),
                    None => diagnostic,
                }
            }
            Misfit::Count(..) if callee.shown() == "atan" && args.len() == 2 => {
                diagnostic.help("write `atan2(y, x)`")
            }
            _ => diagnostic,
        }
    }

    /// What to do with an argument of a derivative that is a number where a pair must stand.
    fn unpaired(
        &mut self,
        callee: &Callee,
        func: FuncId,
        args: &[Argument],
        number: usize,
    ) -> Option<String> {
        let mode = callee.diff.last()?;
        let signature = self.called_signature(callee, func);
        let given = match args.get(number.wrapping_sub(1))? {
            Argument::Value(value) => value.ty,
            Argument::List(..) => return None,
        };
        let wanted = signature.params.get(number.wrapping_sub(1))?.ty;
        if self.cx.facts().is_pair(given) || !self.cx.facts().is_pair(wanted) {
            return None;
        }
        Some(match mode {
            DiffMode::Forward => "pass the value with its derivative: `diffPair(x, 1.0)`".into(),
            DiffMode::Backward => {
                "pass a variable that holds a pair and takes the derivative: `var x_pair = diffPair(x);`, then read `x_pair.d`".into()
            }
        })
    }
}

impl Types {
    /// What else was meant by a call of a library function that no overload accepts.
    fn other_shape(&self, name: &str, args: &[Argument]) -> Option<&'static str> {
        let kind = |number: usize| match args.get(number) {
            Some(Argument::Value(value)) => Some(self.kind(value.ty)),
            _ => None,
        };
        match (name, kind(0), kind(1)) {
            ("mul", Some(TyKind::Matrix(..)), Some(TyKind::Vector(..))) => Some(
                "make the shapes fit: `mul(m, float4(p, 1))` for a point, `mul((float3x3)m, v)` for a direction",
            ),
            ("Sample" | "SampleLevel" | "SampleGrad" | "SampleCmp", Some(TyKind::Vector(..)), _) => Some(
                "a texture and its sampler are separate: pass a `SamplerState` first, or declare a `Sampler2D`",
            ),
            ("Load", Some(TyKind::Vector(..)), None) => Some(
                "the last coordinate of a texture is the level: `t.Load(int3(at, 0))`; `t[at]` reads level 0",
            ),
            _ => None,
        }
    }
}

impl Facts<'_> {
    fn describe_misfit(self, misfit: &Misfit) -> String {
        match misfit {
            Misfit::Count(1, 1, given) => format!("it takes 1 argument, not {given}"),
            Misfit::Count(least, most, given) if least == most => {
                format!("it takes {least} arguments, not {given}")
            }
            Misfit::Count(least, most, given) => format!("it takes {least} to {most} arguments, not {given}"),
            Misfit::Open(param) => {
                format!("`{}` cannot be inferred from the arguments", self.program.params[*param].name)
            }
            Misfit::Bound(bound) => self.describe_unmet(*bound),
            Misfit::Argument(number, from, to) => {
                format!("argument {number} is {from}, which does not convert to `{}`", self.show(*to))
            }
            Misfit::Written(number, from, to) => {
                let to = self.show(*to);
                format!("argument {number} is written to, so it must be a `{to}` variable, but it is {from}")
            }
            Misfit::Place(0, fixed) => format!("it modifies its object, but {}", fixed.why),
            Misfit::Place(number, fixed) => format!("argument {number} is written to, but {}", fixed.why),
            Misfit::NoThis => "it needs an object".into(),
            Misfit::Explicit => "it takes fewer generic arguments".into(),
        }
    }

    fn show_argument(self, arg: &Argument) -> String {
        match arg {
            Argument::Value(expr) => self.show(expr.ty),
            Argument::List(..) => "{..}".into(),
        }
    }
}

impl Rules<'_> {
    pub(crate) fn report_ambiguity(&mut self, callee: &Callee, fits: &[Fit], span: Span) {
        let message = format!("several functions named `{}` match equally well", callee.name);
        let mut diagnostic = Diagnostic::new(codes::AMBIGUOUS, span, message);
        for fit in fits.iter().take(8) {
            diagnostic = diagnostic.note(format!("`{}`", self.facts().show_func(fit.candidate.func)));
        }
        let types = |fit: &Fit| -> Vec<Ty> { fit.signature.params.iter().map(|param| param.ty).collect() };
        let alike = fits.windows(2).all(|pair| types(&pair[0]) == types(&pair[1]));
        let help = match alike && callee.this.is_none() {
            true => "write the namespace before it",
            false => "convert an argument to the intended type",
        };
        self.diagnostics.push(diagnostic.help(help));
    }
}

fn argument_span(args: &[Argument], number: usize, otherwise: Span) -> Span {
    args.get(number.wrapping_sub(1)).map_or(otherwise, Argument::span)
}
