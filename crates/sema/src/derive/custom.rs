//! Resolves the functions that attributes name: custom derivatives, substitutes, and rules of the library.
//!
//! An attribute contains a name, which may be overloaded and generic. It refers to the function that has the signature of the
//! derivative. Its generic arguments follow from that signature. So the original records a reference in terms of its own
//! parameters:
//!
//! ```slang
//! [ForwardDerivative(square_fwd)] T square<T : IFloat>(T x) { .. }          // records square_fwd<T>
//! DifferentialPair<U> square_fwd<U : IFloat>(DifferentialPair<U> x) { .. }
//! ```
//!
//! Arguments that occur in no signature, such as that of `power<let N : int>(float x)`, are written after the name,
//! `[ForwardDerivative(power_fwd<N>)]`. If they are omitted, they are the original's parameters at the same positions.
//!
//! `[ForwardDerivativeOf(f)]` and similar attributes are on the derivative. They are resolved before anything is checked, so
//! that all code sees the same derivatives. `__func_extension fwd_diff(f)(..) {..}` has the same meaning, for a derivative
//! without a name.

use super::flags::{REFERENCES, Role, flags};
use super::{Signature, codes};
use crate::Checked;
use crate::declarations::attrs::all;
use crate::facts::{Facts, Rules};
use crate::hir::{Arg, DiffMode, FuncDiff, FuncId, FuncRef, GenericParamId, Program, Ty};
use crate::names::Names;
use crate::names::lookup::Found;
use crate::tables::{Item, PropInfo, ScopeId};
use crate::types::resolve::Path;
use cotangent_base::{Diagnostic, Entity, Span, Symbol};
use cotangent_syntax::ast::{Attribute, Expr, ExprKind};

/// Why a function cannot serve as a derivative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Misfit {
    /// Its parameters or result differ.
    Signature,
    /// Its generic parameters cannot be chosen, or their bounds do not hold.
    Generics,
}

/// A function that a path can mean.
pub(super) struct Named<'a> {
    /// The function.
    pub func: FuncId,
    /// Generic arguments known from what it stands in.
    pub around: Vec<Arg>,
    /// Generic arguments written after its name.
    pub explicit: &'a [Expr],
}

/// Where the user says that one function is something to another.
pub(super) struct Mention {
    /// How it is said, as messages quote it.
    pub word: String,
    /// The name of the other function.
    pub path: Expr,
    /// All of it.
    pub span: Span,
}

impl Checked {
    /// Reads the attributes of a function whose signature was just resolved.
    pub(crate) fn resolve_derivatives(&mut self, func: FuncId) {
        let attributes = self.tables.funcs[func].prefix.attributes.clone();
        let declared = flags(&attributes);
        let diff = &mut self.program.funcs[func].diff;
        // Others may have left their mark already, by an `..Of` attribute.
        diff.differentiable = diff.differentiable.max(declared.differentiable);
        diff.constant = declared.constant;
        diff.prefer = declared.prefer;
        let scope = self.tables.funcs[func].scope;
        for reference in REFERENCES.iter().filter(|r| !r.of) {
            for attribute in all(&attributes, reference.name) {
                if let Some(mention) = self.rules().mentioned(attribute) {
                    self.named_derivative(func, &mention, reference.role, scope);
                }
            }
        }
    }

    /// Records what `..Of` attributes and `__func_extension` say on the functions they name: those from `first` on.
    pub(crate) fn attach_derivatives(&mut self, first: FuncId) {
        for func in self.tables.funcs.keys().skip(first.index()) {
            let attributes = self.tables.funcs[func].prefix.attributes.clone();
            for reference in REFERENCES.iter().filter(|r| r.of) {
                for attribute in all(&attributes, reference.name) {
                    if let Some(mention) = self.rules().mentioned(attribute) {
                        self.ensure_func(func);
                        self.derivative_of(func, &mention, reference.role);
                    }
                }
            }
            self.attach_extension(func);
        }
    }

    /// The attribute stands on the original and names the derivative.
    fn named_derivative(&mut self, func: FuncId, mention: &Mention, role: Role, scope: ScopeId) {
        let Some(found) = self.named_functions(&mention.path, scope) else {
            return;
        };
        if role == Role::Rule {
            let generics = self.tables.funcs[func].generics;
            let args = self.names().identity(generics);
            let rule = found[0].func;
            self.program.funcs[func].diff.rule = Some(FuncRef { func: rule, args });
            return;
        }
        // Parameters of interface type have become generic ones, with bounds of their own.
        let saved = self.enter(self.tables.funcs[func].generics);
        let wanted = self.wanted_signature(func, role);
        let fits: Vec<_> = found.iter().map(|named| self.fit(named, func, &wanted)).collect();
        let misfit = fits.iter().filter_map(|fit| fit.err()).max().unwrap_or(Misfit::Signature);
        let fitting = fits.into_iter().find_map(Result::ok);
        let fitting = fitting.or_else(|| self.adapted(func, &found, &wanted, misfit));
        self.leave(saved);
        if let Some(derivative) = fitting {
            return self.record(func, derivative, role, mention.span);
        }
        self.misfit(misfit, mention, &wanted, func, found[0].func);
    }

    /// What calls one of the named functions as a derivative of `func` is called, where only types of parameters differ.
    fn adapted(
        &mut self,
        func: FuncId,
        named: &[Named],
        wanted: &Signature,
        misfit: Misfit,
    ) -> Option<FuncRef> {
        if misfit != Misfit::Signature || named.iter().any(|n| !n.explicit.is_empty()) {
            return None;
        }
        let mut members = vec![];
        for Named { func: named, around, .. } in named {
            let own = Signature::of(&self.program.funcs[*named]);
            let dirs = own.params.iter().map(|p| p.dir).eq(wanted.params.iter().map(|p| p.dir));
            // Arguments convert, results do not.
            let fits = dirs && own.result == wanted.result && self.program.types.same_numbers(&own, wanted);
            let fits = fits && !self.program.refers_more(*named, func);
            if fits && self.program.funcs[*named].this.is_none() {
                let args = self.program.types.args(around);
                members.push(Found::plain(Item::Func(*named), args));
            }
        }
        self.derivative_wrapper(func, wanted, &members)
    }

    /// The attribute stands on the derivative and names the original.
    pub(super) fn derivative_of(&mut self, derivative: FuncId, mention: &Mention, role: Role) {
        let Some(found) = self.originals(derivative, mention) else {
            return;
        };
        let mut misfit = Misfit::Signature;
        let standing = Named { func: derivative, around: vec![], explicit: &[] };
        for &original in &found {
            self.ensure_func(original);
            let saved = self.enter(self.tables.funcs[original].generics);
            let wanted = self.wanted_signature(original, role);
            let fit = self.fit(&standing, original, &wanted);
            let adapted = match (&fit, &found[..]) {
                (Err(why), [_]) => self.adapted(original, std::slice::from_ref(&standing), &wanted, *why),
                _ => None,
            };
            self.leave(saved);
            let fit = match fit {
                Ok(fitting) if self.promises_less(original, fitting) => Err(Misfit::Generics),
                fit => fit,
            };
            match fit.or_else(|why| adapted.ok_or(why)) {
                Ok(fitting) => {
                    self.rules().check_substitute(original, derivative, role, mention.span);
                    return self.record(original, fitting, role, mention.span);
                }
                Err(why) => misfit = misfit.max(why),
            }
        }
        if self.attach_special(derivative, mention, role) {
            return;
        }
        let original = found[0];
        let saved = self.enter(self.tables.funcs[original].generics);
        let wanted = self.wanted_signature(original, role);
        self.leave(saved);
        self.misfit(misfit, mention, &wanted, original, derivative);
    }

    /// The functions that `derivative` may be a derivative of. Its own generic parameters may occur in their path.
    pub(super) fn originals(&mut self, derivative: FuncId, mention: &Mention) -> Option<Vec<FuncId>> {
        let info = &self.tables.funcs[derivative];
        let (scope, generics) = (info.scope, info.generics);
        let saved = self.enter(generics);
        let found = self.named_functions(&mention.path, scope);
        self.leave(saved);
        found.map(|found| found.into_iter().map(|named| named.func).collect())
    }

    /// The functions a path can mean; there is one.
    fn named_functions<'a>(&mut self, path: &'a Expr, scope: ScopeId) -> Option<Vec<Named<'a>>> {
        let found = self.functions_at(path, scope);
        if found.is_empty() {
            let message = format!("no function `{}` is visible here", crate::types::show::syntax(path));
            let help = "qualify a function inside a type or namespace, as in `MyType.derivative`";
            self.diagnostics.push(Diagnostic::new(codes::NOT_FOUND, path.span, message).help(help));
            return None;
        }
        Some(found)
    }

    pub(super) fn functions_at<'a>(&mut self, path: &'a Expr, scope: ScopeId) -> Vec<Named<'a>> {
        let found: Vec<Found> = match &path.kind {
            ExprKind::Name(name) => self.lookup(scope, *name),
            ExprKind::Paren(inner) => return self.functions_at(inner, scope),
            ExprKind::Apply(inner, args) => {
                let mut named = self.functions_at(inner, scope);
                named.iter_mut().for_each(|n| n.explicit = args);
                return named;
            }
            ExprKind::Member(base, name) => {
                let mut found = self.accessors_at(base, name.name, scope);
                found.extend(self.items_at(base, name.name, scope));
                found
            }
            _ => vec![],
        };
        found
            .into_iter()
            .filter_map(|f| match f.item {
                Item::Func(func) => {
                    let around = self.program.types.list(f.args).to_vec();
                    Some(Named { func, around, explicit: &[] })
                }
                _ => None,
            })
            .collect()
    }

    /// The accessors that a path such as `S.property.get` names, if it is one; none of them if there is no such accessor.
    pub(crate) fn accessors_named(&mut self, path: &Expr, scope: ScopeId) -> Option<Vec<Found>> {
        let ExprKind::Member(property, word) = &path.kind else { return None };
        let ExprKind::Member(base, name) = &property.kind else { return None };
        let is_word = ["get", "set"].contains(&word.name.as_str());
        let is_property = |found: &Found| matches!(found.item, Item::Property(_));
        let named = is_word && self.items_at(base, name.name, scope).iter().any(is_property);
        named.then(|| self.accessors_at(property, word.name, scope))
    }

    /// `S.property.get`, `S.__subscript.set`.
    fn accessors_at(&mut self, property: &Expr, word: Symbol, scope: ScopeId) -> Vec<Found> {
        let ExprKind::Member(base, name) = &property.kind else { return vec![] };
        let pick = match word.as_str() {
            "get" => |property: &PropInfo| property.get,
            "set" => |property: &PropInfo| property.set,
            _ => return vec![],
        };
        let found = self.items_at(base, name.name, scope).into_iter();
        let accessor = |f: Found| match f.item {
            Item::Property(id) => {
                pick(&self.tables.props[id]).map(|func| Found { item: Item::Func(func), ..f })
            }
            _ => None,
        };
        found.filter_map(accessor).collect()
    }

    /// What a name after a type or namespace means.
    fn items_at(&mut self, base: &Expr, name: Symbol, scope: ScopeId) -> Vec<Found> {
        match self.type_path(base, scope, false) {
            Some(Path::Namespace(inner)) => self.lookup_in_namespace(inner, name),
            Some(path) => {
                let ty = self.path_ty(path, base.span, scope);
                self.members(ty, name)
            }
            None => vec![],
        }
    }

    /// The signature that a function in that role for `func` must have.
    fn wanted_signature(&mut self, func: FuncId, role: Role) -> Signature {
        let own = Signature::of(&self.program.funcs[func]);
        match role {
            Role::Forward => self.derived(&own, DiffMode::Forward),
            Role::Backward => self.derived(&own, DiffMode::Backward),
            Role::Substitute | Role::Rule => own,
        }
    }

    /// The generic arguments with which `candidate` has the wanted signature.
    pub(super) fn fit(
        &mut self,
        candidate: &Named,
        original: FuncId,
        wanted: &Signature,
    ) -> Result<FuncRef, Misfit> {
        self.ensure_func(candidate.func);
        let own = Signature::of(&self.program.funcs[candidate.func]);
        self.fit_as(candidate, &own, original, wanted)
    }

    /// The generic arguments with which `candidate` has the wanted signature, if its own is taken to be `own`.
    pub(super) fn fit_as(
        &mut self,
        candidate: &Named,
        own: &Signature,
        original: FuncId,
        wanted: &Signature,
    ) -> Result<FuncRef, Misfit> {
        let same_shape = own.params.len() == wanted.params.len()
            && !self.program.refers_more(candidate.func, original)
            && own.params.iter().zip(&wanted.params).all(|(a, b)| a.dir == b.dir);
        if !same_shape {
            return Err(Misfit::Signature);
        }
        let generics = self.tables.funcs[candidate.func].generics;
        let params = self.tables.generics[generics].params.clone();
        let mut bindings = self.given_args(candidate, original)?;
        let pairs: Vec<(Ty, Ty)> = own.types().zip(wanted.types()).collect();
        for (pattern, ty) in &pairs {
            // Dependent types such as `T.Differential` bind nothing; all are compared below.
            self.matcher(&params, &mut bindings).ty(*pattern, *ty);
        }
        self.names().bind_by_place(&mut bindings, candidate.func, original);
        let args = bindings.into_iter().collect::<Option<Vec<Arg>>>().ok_or(Misfit::Generics)?;
        let args = self.program.types.args(&args);
        for (pattern, ty) in pairs {
            let ours = self.replace(pattern, &params, args);
            if ours != ty && !self.program.types.is_error(ours) && !self.program.types.is_error(ty) {
                return Err(Misfit::Signature);
            }
        }
        match self.unmet_bound(generics, args) {
            None => Ok(FuncRef { func: candidate.func, args }),
            Some(_) => Err(Misfit::Generics),
        }
    }

    /// The generic arguments of a candidate that are known from around it or written after its name.
    fn given_args(&mut self, candidate: &Named, original: FuncId) -> Result<Vec<Option<Arg>>, Misfit> {
        let generics = self.tables.funcs[candidate.func].generics;
        let params = self.tables.generics[generics].params.clone();
        let own = self.facts().written_generics(candidate.func);
        if candidate.explicit.len() > own.len() {
            return Err(Misfit::Generics);
        }
        let mut bindings: Vec<Option<Arg>> = candidate.around.iter().copied().map(Some).collect();
        bindings.resize(params.len(), None);
        let scope = self.tables.generics[self.tables.funcs[original].generics].scope;
        for (param, expr) in own.iter().zip(candidate.explicit) {
            let arg = self.generic_arg(*param, expr, scope);
            let place = params.iter().position(|p| p == param).expect("an own parameter is a parameter");
            bindings[place] = Some(arg);
        }
        Ok(bindings)
    }

    fn record(&mut self, func: FuncId, derivative: FuncRef, role: Role, span: Span) {
        let FuncDiff { rule, forward, backward, substitute, apply, .. } = &mut self.program.funcs[func].diff;
        if let (Role::Backward, Some(other)) = (role, *apply) {
            return self.second_derivative(func, other.primal.func, span);
        }
        let slot = match role {
            Role::Forward => forward,
            Role::Backward => backward,
            Role::Substitute => substitute,
            Role::Rule => rule,
        };
        if let Some(other) = slot.replace(derivative).filter(|other| *other != derivative) {
            *slot = Some(other);
            self.second_derivative(func, other.func, span);
        }
        if role == Role::Substitute {
            // It is there to be differentiated, so it need not say so.
            let diff = &mut self.program.funcs[derivative.func].diff;
            diff.differentiable.get_or_insert(DiffMode::Backward);
        }
    }

    pub(super) fn second_derivative(&mut self, func: FuncId, other: FuncId, span: Span) {
        let message = format!("`{}` already has a derivative of this kind", self.program.funcs[func].name);
        let other = self.program.funcs[other].span;
        self.diagnostics
            .push(Diagnostic::new(codes::TWO_DERIVATIVES, span, message).label(other, "the other one"));
    }
}

impl Rules<'_> {
    /// What an attribute names, which must be one function.
    fn mentioned(&mut self, attribute: &Attribute) -> Option<Mention> {
        let [path] = &attribute.args[..] else {
            let message = format!("`[{}]` takes the name of one function", attribute.name.name);
            self.diagnostics.push(Diagnostic::new(codes::ATTRIBUTE, attribute.span, message));
            return None;
        };
        let word = format!("[{}]", attribute.name.name);
        Some(Mention { word, path: path.clone(), span: attribute.span })
    }

    /// What is differentiated in place of a differentiable function must say that it is one.
    fn check_substitute(&mut self, original: FuncId, substitute: FuncId, role: Role, span: Span) {
        let marked = |func: FuncId| self.program.funcs[func].diff.differentiable.is_some();
        if role != Role::Substitute || !marked(original) || marked(substitute) {
            return;
        }
        let name = self.program.funcs[substitute].name;
        let message = format!("`{name}` stands for a differentiable function, but is not differentiable");
        self.diagnostics
            .push(Diagnostic::new(codes::ATTRIBUTE, span, message).help("mark it `[Differentiable]`"));
    }
}

impl Checked {
    pub(super) fn misfit(
        &mut self,
        misfit: Misfit,
        mention: &Mention,
        wanted: &Signature,
        func: FuncId,
        named: FuncId,
    ) {
        // As if it had a derivative, so that calls of it are not reported too.
        self.program.funcs[func].diff.constant = true;
        let original = self.program.funcs[func].name;
        let (name, declared) = (self.program.funcs[named].name, self.program.funcs[named].span);
        let expected = self.facts().show_signature(wanted);
        let own = Signature::of(&self.program.funcs[named]);
        let own = self.facts().show_signature(&own);
        self.diagnostics.push(match misfit {
            Misfit::Signature => {
                let message = format!("`{name}` does not match `{original}` in `{}`", mention.word);
                let is = match self.program.refers_more(named, func) {
                    true => "this parameter is a reference".to_string(),
                    false => format!("this is `{own}`"),
                };
                Diagnostic::new(codes::WRONG_SIGNATURE, mention.span, message)
                    .label(declared, is)
                    .help(format!("the signature must be `{expected}`"))
            }
            Misfit::Generics => {
                let message =
                    format!("the generic parameters of `{name}` do not match those of `{original}`");
                Diagnostic::new(codes::WRONG_GENERICS, mention.span, message)
                    .label(self.program.funcs[func].span, format!("the parameters of `{original}`"))
                    .label(declared, "the parameters of its derivative")
                    .help("declare both with the same generic parameters, in order and with the same bounds")
            }
        });
    }
}

impl Names<'_> {
    /// Takes for each parameter of `candidate` that nothing binds the one of `original` in the same place, if the two
    /// have as many. One that both stand inside of is itself.
    fn bind_by_place(&mut self, bindings: &mut [Option<Arg>], candidate: FuncId, original: FuncId) {
        let params = self.tables.generics[self.tables.funcs[candidate].generics].params.clone();
        let around = self.tables.generics[self.tables.funcs[original].generics].params.clone();
        let (ours, theirs) =
            (self.facts().written_generics(candidate), self.facts().written_generics(original));
        for (param, binding) in params.iter().zip(bindings) {
            let place = ours.iter().position(|p| p == param).filter(|_| ours.len() == theirs.len());
            let same = if around.contains(param) { Some(*param) } else { place.map(|n| theirs[n]) };
            let value = |p: GenericParamId| self.program.params[p].value;
            if let Some(same) = same.filter(|same| value(*same) == value(*param)) {
                binding.get_or_insert(self.program.param_arg(same));
            }
        }
    }
}

impl Facts<'_> {
    /// The generic parameters written before a function's own parameters.
    pub(super) fn written_generics(self, func: FuncId) -> Vec<GenericParamId> {
        let info = &self.tables.funcs[func];
        let mut generics = &self.tables.generics[info.generics];
        // Each hidden parameter is the only one of a list of its own, within the list that is written.
        for _ in 0..info.hidden {
            let Some(parent) = generics.parent else { break };
            generics = &self.tables.generics[parent];
        }
        generics.own.clone()
    }

    /// A signature as the user would write it, without names.
    pub(crate) fn show_signature(self, signature: &Signature) -> String {
        let params: Vec<String> =
            signature.params.iter().map(|p| format!("{}{}", p.dir_word(), self.show(p.ty))).collect();
        format!("{}({})", self.show(signature.result), params.join(", "))
    }
}

impl Program {
    /// Whether `derivative` takes references (`__ref`) although `original` takes none. Pairs are passed by value.
    fn refers_more(&self, derivative: FuncId, original: FuncId) -> bool {
        let refers = |func: FuncId| self.funcs[func].params.iter().any(|p| p.by_ref);
        refers(derivative) && !refers(original)
    }
}
