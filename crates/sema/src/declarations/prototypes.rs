//! Prototypes: functions declared without a body and defined elsewhere in their scope.
//!
//! A prototype and its definition are one function. They are matched by their types, so this runs when types can be resolved,
//! and before functions are looked up. The definition takes over default arguments and attributes, and the prototype is removed.
//! A prototype without a definition stays, so that calls of it can be reported.

use crate::Checked;
use crate::codes;
use crate::declarations::table::Funcs;
use crate::facts::Facts;
use crate::hir::{Dir, Func, FuncId, FuncKind, GenericParamId, Ty};
use crate::tables::{FuncSource, Item, ScopeId, Tables};
use cotangent_base::{Diagnostic, Entity, Span, Symbol};
use cotangent_syntax::ast;

impl Checked {
    /// Forgets prototypes of functions that are defined in the same scope: they may add default arguments and attributes.
    /// Looks at the scopes from `first` on.
    pub(crate) fn drop_prototypes(&mut self, first: ScopeId) {
        for scope in self.tables.scopes.keys().skip(first.index()) {
            for (prototypes, definitions) in self.facts().declared_and_defined(scope) {
                for prototype in prototypes {
                    let twin = definitions.iter().find(|d| self.is_prototype_of(prototype, **d));
                    if let Some(definition) = twin {
                        self.check_no_diff(prototype, *definition);
                        self.tables.funcs.take_defaults(prototype, *definition);
                        self.tables.funcs.take_attributes(prototype, *definition);
                        self.tables.forget(scope, prototype);
                    }
                }
            }
        }
    }

    pub(crate) fn is_prototype_of(&mut self, prototype: FuncId, definition: FuncId) -> bool {
        let directions = |params: Vec<(Ty, Dir)>| params.into_iter().map(|(_, dir)| dir).collect::<Vec<_>>();
        self.same_types(prototype, definition)
            && directions(self.written_params(prototype)) == directions(self.written_params(definition))
    }

    /// Whether the parameters of two functions have the same types, up to the names of generic parameters.
    pub(crate) fn same_types(&mut self, a: FuncId, b: FuncId) -> bool {
        let (params_a, params_b) = (self.written_params(a), self.written_params(b));
        let (own_a, own_b) = (self.facts().all_generic_params(a), self.facts().all_generic_params(b));
        let is_pack = |param: &GenericParamId| self.program.params[*param].pack;
        let same_kinds = own_a.iter().map(is_pack).eq(own_b.iter().map(is_pack));
        if params_a.len() != params_b.len() || !same_kinds {
            return false;
        }
        let args = self.program.identity_of(&own_a);
        if !params_a.iter().zip(&params_b).all(|((x, _), (y, _))| *x == self.replace(*y, &own_b, args)) {
            return false;
        }
        let bounds_a = self.bounds(self.tables.funcs[a].generics);
        let bounds_b = self.bounds(self.tables.funcs[b].generics);
        bounds_a.len() == bounds_b.len()
            && bounds_b.iter().all(|bound| {
                let bound = self.replace_bound(*bound, &own_b, args);
                bounds_a.contains(&bound)
            })
    }

    /// The types and directions of parameters as they are written.
    fn written_params(&mut self, func: FuncId) -> Vec<(Ty, Dir)> {
        let info = &self.tables.funcs[func];
        let (source, scope, generics) = (info.source.clone(), info.scope, info.generics);
        let FuncSource::Func(decl) = source else { return vec![] };
        let saved = self.enter(generics);
        let params = decl.params.iter().map(|p| self.resolve_param(p, scope));
        let params = params.map(|p| (p.ty, p.dir)).collect();
        self.leave(saved);
        params
    }

    /// Reports a definition that says `no_diff` elsewhere than its declaration: callers would not know which derivatives there are.
    pub(crate) fn check_no_diff(&mut self, declared: FuncId, defined: FuncId) {
        let (a, b) = (self.no_diff_words(declared), self.no_diff_words(defined));
        let Some(at) = a.iter().zip(&b).position(|(a, b)| a.1 != b.1) else { return };
        let (name, there) = b[at];
        let what = if at == 0 { "the result".to_string() } else { format!("`{name}`") };
        let [here, there] = [there, !there].map(|there| if there { "is" } else { "is not" });
        let message = format!("{what} {here} `no_diff` here, and {there} where the function is declared");
        let [declared, span] = [declared, defined].map(|func| self.program.funcs[func].span);
        self.diagnostics.push(
            Diagnostic::new(codes::BAD_LINK, span, message)
                .label(declared, "declared here")
                .help("write `no_diff` in both places or in neither"),
        );
    }

    /// The result and the parameters of a function, each with whether it is `no_diff`.
    fn no_diff_words(&mut self, func: FuncId) -> Vec<(Symbol, bool)> {
        let info = &self.tables.funcs[func];
        let (source, scope, generics) = (info.source.clone(), info.scope, info.generics);
        let FuncSource::Func(decl) = source else { return vec![] };
        let saved = self.enter(generics);
        let params = decl.params.iter().map(|p| self.resolve_param(p, scope)).map(|p| (p.name, p.no_diff));
        let words = [(decl.name.name, decl.no_diff_result)].into_iter().chain(params).collect();
        self.leave(saved);
        words
    }
}

impl Facts<'_> {
    /// For each name of a scope that has both, the functions without a body and those with one.
    fn declared_and_defined(self, scope: ScopeId) -> Vec<(Vec<FuncId>, Vec<FuncId>)> {
        let funcs = &self.program.funcs;
        let split = |(_, items): (Symbol, &[Item])| -> (Vec<FuncId>, Vec<FuncId>) {
            items.iter().filter_map(as_func).partition(|f| !funcs[*f].has_body)
        };
        let named = self.tables.scopes[scope].entries().map(split);
        let named = named.map(|(mut declared, defined)| {
            let is_prototype =
                |f: &Func| f.intrinsic.is_none() && !matches!(f.kind, FuncKind::Requirement(_));
            declared.retain(|f| is_prototype(&funcs[*f]));
            (declared, defined)
        });
        let both = named.filter(|(declared, defined)| !declared.is_empty() && !defined.is_empty());
        let mut both: Vec<_> = both.collect();
        both.sort_by_key(|(declared, _)| declared[0].index());
        both
    }

    fn all_generic_params(self, func: FuncId) -> std::sync::Arc<[GenericParamId]> {
        self.tables.generics[self.tables.funcs[func].generics].params.clone()
    }
}

impl Funcs {
    /// Gives a definition the default arguments that its prototype declares.
    fn take_defaults(&mut self, prototype: FuncId, definition: FuncId) {
        let funcs = &self;
        let (FuncSource::Func(from), FuncSource::Func(to)) =
            (&funcs[prototype].source, &funcs[definition].source)
        else {
            return;
        };
        let mut decl = ast::FuncDecl::clone(to);
        for (param, prototype) in decl.params.iter_mut().zip(&from.params) {
            param.default = param.default.take().or_else(|| prototype.default.clone());
        }
        self.set_source(definition, FuncSource::Func(decl.into()));
    }

    /// Gives a definition the attributes that only its prototype has.
    fn take_attributes(&mut self, prototype: FuncId, definition: FuncId) {
        let declared = self[prototype].prefix.attributes.clone();
        let prefix = &self[definition].prefix;
        let added: Vec<ast::Attribute> = declared
            .iter()
            .filter(|a| prefix.attributes.iter().all(|own| own.name.name != a.name.name))
            .cloned()
            .collect();
        if !added.is_empty() {
            self.add_attributes(definition, added);
        }
    }
}

impl Tables {
    fn forget(&mut self, scope: ScopeId, func: FuncId) {
        self.scopes[scope].forget_func(func);
        self.funcs.forget(func);
    }
}

impl Checked {
    /// Reports a call of a function that is only a prototype.
    pub(crate) fn require_definition(&mut self, func: FuncId, span: Span) {
        let called = &self.program.funcs[func];
        let defined = called.has_body || called.intrinsic.is_some();
        let library = self.tables.scopes[self.tables.funcs[func].scope].is_library();
        if defined || library || matches!(called.kind, FuncKind::Requirement(_)) {
            return;
        }
        if self.tables.links.stays_open() {
            return;
        }
        let called = &self.program.funcs[func];
        let declared = called.span;
        let message = format!("`{}` is declared but not defined", self.facts().show_func(func));
        self.diagnostics.push(
            Diagnostic::new(codes::NOT_DEFINED, span, message)
                .label(declared, "declared here")
                .help("define it with parameters of the same types, in the same scope or as an `export` of another module"),
        );
    }
}

fn as_func(item: &Item) -> Option<FuncId> {
    match item {
        Item::Func(id) => Some(*id),
        _ => None,
    }
}
