//! Resolves the names that `--fn` takes.
//!
//! A name, such as `energy` or `Ray.at`, selects all overloads. A name with parameter types, `f(float2, int)`, selects one of
//! them. A name with generic arguments, `sum<float, 3>`, selects an instance; the arguments of the enclosing type come first.
//! Commands that accept any number of functions use every differentiable function of the file if `--fn` is absent.

use crate::Stop;
use crate::session::State;
use crate::specialization::read_instance;
use cotangent_base::{Diagnostic, Diagnostics, Span, Symbol};
use cotangent_sema::{Checked, hir};
use cotangent_syntax::Limits;

/// A function that is asked for.
pub(crate) struct Chosen {
    /// The function with its generic arguments; none if they are not known.
    pub(crate) instance: Option<hir::FuncRef>,
    pub(crate) func: hir::FuncId,
    /// As it is shown.
    pub(crate) name: Symbol,
}

/// Where wishes are read, and what is wrong with them reported.
pub(crate) struct Asking<'s> {
    pub state: &'s State,
    pub limits: Limits,
    pub diagnostics: Diagnostics,
}

/// A wish, taken apart.
struct Wish<'t> {
    text: &'t str,
    name: &'t str,
    args: Option<&'t str>,
    params: Option<&'t str>,
}

impl<'t> Wish<'t> {
    fn of(text: &'t str) -> Self {
        let text = text.trim();
        let (front, params) = match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
            Some((front, params)) => (front.trim(), Some(params)),
            None => (text, None),
        };
        let (name, args) = match front.strip_suffix('>').and_then(|t| t.split_once('<')) {
            Some((name, args)) => (name.trim(), Some(args)),
            None => (front, None),
        };
        Wish { text, name, args, params }
    }

    fn is_for(&self, checked: &Checked, func: hir::FuncId) -> bool {
        let data = &checked.program.funcs[func];
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        data.name == *self.name
            && self.params.is_none_or(|params| squeezed(params) == squeezed(&param_types(checked, func)))
    }
}

/// The types of a function's parameters: `float2, int`.
fn param_types(checked: &Checked, func: hir::FuncId) -> String {
    let params = checked.program.funcs[func].params.iter();
    params.map(|p| checked.show(p.ty)).collect::<Vec<_>>().join(", ")
}

/// The functions that are asked for, in the order of the program.
pub(crate) fn choose(
    asking: &mut Asking<'_>,
    checked: &mut Checked,
    path: &str,
    wishes: &[String],
) -> Result<Vec<Chosen>, Stop> {
    let mut chosen = vec![];
    if wishes.is_empty() {
        for func in checked.program.user_funcs.clone() {
            let span = checked.program.funcs[func].span;
            let here = !span.is_none() && asking.state.sources().path(span.file) == path;
            if here && is_candidate(checked, func) {
                chosen.push(plain(checked, func));
            }
        }
        return Ok(chosen);
    }
    for wish in wishes.iter().map(|text| Wish::of(text)) {
        let named: Vec<hir::FuncId> =
            checked.program.user_funcs.iter().copied().filter(|f| wish.is_for(checked, *f)).collect();
        let candidates: Vec<hir::FuncId> =
            named.iter().copied().filter(|f| is_candidate(checked, *f)).collect();
        match (wish.args, named.first()) {
            (_, None) => no_such(asking, checked, &wish),
            (_, Some(first)) if candidates.is_empty() => not_differentiable(asking, checked, *first),
            (None, _) => {
                chosen.extend(candidates.into_iter().map(|func| plain(checked, func)));
                // What the command line gives may not fit.
                asking.diagnostics.append(std::mem::take(&mut checked.diagnostics));
            }
            (Some(args), _) => chosen.extend(instances(asking, checked, &candidates, &wish, args)),
        }
    }
    chosen.sort_by_key(|c| checked.program.user_funcs.iter().position(|f| *f == c.func));
    if asking.diagnostics.has_errors() { Err(Stop::Errors) } else { Ok(chosen) }
}

/// Whether a text says more than a name.
pub(crate) fn is_exact(text: &str) -> bool {
    text.contains(['(', '<'])
}

/// The one function that a text asks for.
pub(crate) fn choose_one(
    asking: &mut Asking<'_>,
    checked: &mut Checked,
    text: &str,
) -> Result<hir::FuncRef, Stop> {
    let chosen = choose(asking, checked, "", &[text.to_string()])?;
    let instances: Vec<hir::FuncRef> = chosen.iter().filter_map(|c| c.instance).collect();
    match instances[..] {
        [instance] => return Ok(instance),
        [] => no_such(asking, checked, &Wish::of(text)),
        [_, _, ..] => {
            let spans = chosen.iter().map(|c| checked.program.funcs[c.func].span);
            let mut diagnostic = Diagnostic::new(
                cotangent_lower::codes::NO_SUCH_FUNCTION,
                Span::none(),
                format!("more than one function matches `{text}`"),
            );
            for span in spans {
                diagnostic = diagnostic.label(span, "one of them");
            }
            asking.diagnostics.push(diagnostic.help("add the parameter types"));
        }
    }
    Err(Stop::Errors)
}

fn is_candidate(checked: &Checked, func: hir::FuncId) -> bool {
    let data = &checked.program.funcs[func];
    data.has_body && data.diff.is_differentiable()
}

/// A function as it is; its parameters are shown if its name does not tell it from others.
fn plain(checked: &mut Checked, func: hir::FuncId) -> Chosen {
    let data = &checked.program.funcs[func];
    let (name, is_generic) = (data.name, !data.generics.params.is_empty());
    let same = |f: &hir::FuncId| checked.program.funcs[*f].name == name && is_candidate(checked, *f);
    let overloaded = checked.program.user_funcs.iter().filter(|f| same(f)).count() > 1;
    let shown = match overloaded {
        true => Symbol::new(&format!("{name}({})", param_types(checked, func))),
        false => name,
    };
    let args = match is_generic {
        true if checked.is_given(func) => checked.root_args(func),
        true => None,
        false => Some(checked.program.types.args(&[])),
    };
    let instance = args.map(|args| hir::FuncRef { func, args });
    Chosen { instance, func, name: shown }
}

/// The instances of generic functions under written arguments. What is wrong with them is told where only one function could be
/// meant; of several nobody knows which.
fn instances(
    asking: &mut Asking<'_>,
    checked: &mut Checked,
    candidates: &[hir::FuncId],
    wish: &Wish<'_>,
    args: &str,
) -> Vec<Chosen> {
    let written = {
        let text = format!("{}<{args}>", wish.name);
        read_instance(asking.state, asking.limits, &text, &mut asking.diagnostics)
    };
    if asking.diagnostics.has_errors() {
        return vec![];
    }
    let (mut found, mut wrong) = (vec![], vec![]);
    for func in candidates.iter().copied() {
        match checked.instance(func, &written) {
            Some(instance) => {
                found.push(Chosen { instance: Some(instance), func, name: Symbol::new(wish.text) })
            }
            None => wrong.push(std::mem::take(&mut checked.diagnostics)),
        }
    }
    match (&found[..], &mut wrong[..]) {
        ([_, ..], _) => {}
        ([], [only]) if only.has_errors() => asking.diagnostics.append(std::mem::take(only)),
        ([], _) => no_such(asking, checked, wish),
    }
    found
}

fn no_such(asking: &mut Asking<'_>, checked: &Checked, wish: &Wish<'_>) {
    let named = checked.program.user_funcs.iter().filter(|f| checked.program.funcs[**f].name == *wish.name);
    let others: Vec<String> = named
        .map(|f| {
            let generics = &checked.program.funcs[*f].generics.params;
            let generics: Vec<&str> =
                generics.iter().map(|p| checked.program.params[*p].name.as_str()).collect();
            let generics =
                if generics.is_empty() { String::new() } else { format!("<{}>", generics.join(", ")) };
            format!("`{}{generics}({})`", wish.name, param_types(checked, *f))
        })
        .collect();
    if others.is_empty() {
        let known = checked.program.user_funcs.iter().map(|f| checked.program.funcs[*f].name);
        let diagnostic = cotangent_lower::no_such(Symbol::new(wish.text), "function", known);
        asking.diagnostics.push(diagnostic);
        return;
    }
    let message = format!("there is no function named `{}`", wish.text);
    let diagnostic = Diagnostic::new(cotangent_lower::codes::NO_SUCH_FUNCTION, Span::none(), message);
    asking.diagnostics.push(diagnostic.note(format!("there is {}", others.join(", "))));
}

fn not_differentiable(asking: &mut Asking<'_>, checked: &Checked, func: hir::FuncId) {
    let data = &checked.program.funcs[func];
    let message = format!("`{}` is not differentiable", data.name);
    let diagnostic = Diagnostic::new(cotangent_lower::codes::NOT_DIFFERENTIABLE, data.span, message);
    asking.diagnostics.push(diagnostic.help("mark it `[Differentiable]`"));
}
