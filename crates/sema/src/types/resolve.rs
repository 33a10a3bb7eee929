//! Resolves types as written to types of the typed program. [`named`] resolves names.

mod laid;
mod named;
mod packs;
mod storage;

use crate::Checked;
use crate::codes;
use crate::facts::Facts;
use crate::hir::{Arg, GenericParam, InterfaceRef, Program, Ty, TyKind, Types, Val, ValKind};
use crate::names::lookup::Found;
use crate::tables::{Builtin, GenericsId, Item, ScopeId};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast::{self, ExprKind};

/// What a path stands for where a type or namespace may stand.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// A type.
    Ty(Ty),
    /// A namespace.
    Namespace(ScopeId),
    /// A declaration that still wants its generic arguments.
    Open(Found),
}

impl Checked {
    /// The type an expression denotes; reports what is wrong and gives the error type then.
    pub(crate) fn resolve_ty(&mut self, expr: &ast::Expr, scope: ScopeId) -> Ty {
        match self.type_path(expr, scope, true) {
            Some(path) => self.path_ty(path, expr.span, scope),
            None => self.program.types.error(),
        }
    }

    /// A path that must be a type.
    pub(crate) fn path_ty(&mut self, path: Path, span: Span, scope: ScopeId) -> Ty {
        match path {
            Path::Ty(ty) => ty,
            Path::Open(found) => self.apply(&found, &[], span, scope),
            Path::Namespace(_) => {
                self.diagnostics.push(Diagnostic::new(
                    codes::NOT_A_TYPE,
                    span,
                    "this is a namespace, not a type",
                ));
                self.program.types.error()
            }
        }
    }

    /// The interface an expression denotes.
    pub(crate) fn resolve_interface(&mut self, expr: &ast::Expr, scope: ScopeId) -> Option<InterfaceRef> {
        let ty = self.resolve_ty(expr, scope);
        match self.program.types.kind(ty) {
            TyKind::Interface(interface, args) => Some(InterfaceRef { interface, args }),
            TyKind::Error => None,
            _ => {
                let message = format!("`{}` is not an interface", self.show(ty));
                self.diagnostics.push(
                    Diagnostic::new(codes::NOT_AN_INTERFACE, expr.span, message)
                        .help("only interfaces can be bounds of generic parameters"),
                );
                None
            }
        }
    }

    /// What a path denotes among types and namespaces. With `report`, says why if it is nothing.
    pub(crate) fn type_path(&mut self, expr: &ast::Expr, scope: ScopeId, report: bool) -> Option<Path> {
        match &expr.kind {
            ExprKind::Name(name) => self.name_path(*name, expr.span, scope, report),
            ExprKind::ThisType => match self.this_type(scope) {
                Some(ty) => Some(Path::Ty(ty)),
                None if report => {
                    let message = "`This` outside a type";
                    self.diagnostics.push(Diagnostic::new(codes::MISPLACED, expr.span, message));
                    None
                }
                None => None,
            },
            ExprKind::Root => Some(Path::Namespace(self.facts().file_scope(scope))),
            ExprKind::Call(callee, args)
                if let Some(part) = crate::bodies::expr::pack::query(callee, args) =>
            {
                let path = self.type_path(&args[0], scope, report)?;
                let pack = self.path_ty(path, args[0].span, scope);
                self.part_path(part, pack, expr.span, report).map(Path::Ty)
            }
            ExprKind::Call(callee, args)
                if let (ExprKind::Name(name), [pack, empty, filled]) = (&callee.kind, &args[..])
                    && *name == *"__packBranch" =>
            {
                let path = self.type_path(pack, scope, report)?;
                let over = self.path_ty(path, pack.span, scope);
                let [empty, filled] = [empty, filled].map(|branch| self.resolve_ty(branch, scope));
                self.branch_path(over, empty, filled, pack.span, report).map(Path::Ty)
            }
            ExprKind::Paren(inner) | ExprKind::NoDiff(inner) => self.type_path(inner, scope, report),
            ExprKind::Laid(row_major, inner) => {
                self.note_idle_word(*row_major, expr.span);
                self.type_path(inner, scope, report)
            }
            ExprKind::Member(base, name) => self.member_path(base, *name, scope, report),
            ExprKind::Apply(base, args) => self.applied_path(base, args, expr.span, scope, report),
            ExprKind::Index(base, sizes) => {
                let path = self.type_path(base, scope, report)?;
                let element = self.path_ty(path, base.span, scope);
                Some(Path::Ty(self.array_of(element, sizes, scope)))
            }
            ExprKind::Tuple(items) => {
                let items: Vec<Arg> = items.iter().map(|i| Arg::Ty(self.resolve_ty(i, scope))).collect();
                Some(Path::Ty(self.program.types.tuple_ty(&items)))
            }
            ExprKind::Pointer(to) => {
                let to = self.resolve_ty(to, scope);
                Some(Path::Ty(self.pointer_to(to)))
            }
            ExprKind::FuncType(params, result) => {
                let all = std::iter::once(&**result).chain(params);
                let types: Vec<Ty> = all.map(|ty| self.resolve_ty(ty, scope)).collect();
                match self.names().function_interface("IFunc", &types) {
                    Some(ty) => Some(Path::Ty(ty)),
                    None => self.unsupported_ty(expr.span, "a function type of so many parameters", report),
                }
            }
            ExprKind::Each(inner) => {
                let path = self.type_path(inner, scope, report)?;
                let pack = self.path_ty(path, inner.span, scope);
                self.each_path(pack, expr.span, report).map(Path::Ty)
            }
            ExprKind::Expand(inner) => self.expanded_path(inner, expr.span, scope, report),
            ExprKind::Error => Some(Path::Ty(self.program.types.error())),
            _ => {
                if report {
                    let message = "expected a type";
                    self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, expr.span, message));
                }
                None
            }
        }
    }

    fn name_path(&mut self, name: Symbol, span: Span, scope: ScopeId, report: bool) -> Option<Path> {
        let Some(found) = self.lookup_type(scope, name) else {
            let shaped = self.shaped_type(scope, name);
            if shaped.is_none() && report {
                self.unknown_type(name, span, scope);
            }
            return shaped.map(Path::Ty);
        };
        if report && self.is_ambiguous(scope, name, span) {
            return Some(Path::Ty(self.program.types.error()));
        }
        self.found_path(found, span, scope, report)
    }

    /// `Base<..>`.
    fn applied_path(
        &mut self,
        base: &ast::Expr,
        args: &[ast::Expr],
        span: Span,
        scope: ScopeId,
        report: bool,
    ) -> Option<Path> {
        match self.type_path(base, scope, report)? {
            Path::Open(found) => Some(Path::Ty(self.apply(&found, args, span, scope))),
            Path::Ty(ty) if self.program.types.is_error(ty) => Some(Path::Ty(ty)),
            Path::Ty(_) | Path::Namespace(_) => {
                if report {
                    let message =
                        format!("`{}` takes no generic arguments", crate::types::show::syntax(base));
                    self.diagnostics.push(Diagnostic::new(codes::GENERIC_ARGS, span, message));
                }
                None
            }
        }
    }

    /// `expand Inner`.
    fn expanded_path(&mut self, inner: &ast::Expr, span: Span, scope: ScopeId, report: bool) -> Option<Path> {
        self.tables.resolving.begin_expand();
        let path = self.type_path(inner, scope, report);
        let pattern = path.map(|path| self.path_ty(path, inner.span, scope));
        let packs = self.tables.resolving.end_expand();
        let pattern = pattern?;
        if self.program.types.is_error(pattern) {
            return Some(Path::Ty(pattern));
        }
        let over = self.rules().expanded_over(&packs, span, report)?;
        Some(Path::Ty(self.expand_ty(Arg::Ty(pattern), over)))
    }

    fn unsupported_ty(&mut self, span: Span, what: &str, report: bool) -> Option<Path> {
        if report {
            self.rules().unsupported(span, what);
        }
        report.then(|| Path::Ty(self.program.types.error()))
    }

    fn array_of(&mut self, element: Ty, sizes: &[ast::Expr], scope: ScopeId) -> Ty {
        if let TyKind::Struct(id, _) = self.program.types.kind(element)
            && self.program.structs[id].magic.is_some_and(|magic| magic == *"parameterblock")
        {
            let message = format!("there are no arrays of `{}`", self.show(element));
            let span = sizes.first().map_or(Span::none(), |size| size.span);
            self.diagnostics
                .push(Diagnostic::new(codes::MISPLACED, span, message).help("put an array into the block"));
            return self.program.types.error();
        }
        let kind = match sizes.first() {
            None => TyKind::UnsizedArray(element),
            Some(size) => {
                let count = self.const_val(size, scope);
                TyKind::Array(element, self.checked_count(count, size.span))
            }
        };
        self.program.types.ty(kind)
    }

    fn member_path(
        &mut self,
        base: &ast::Expr,
        name: ast::Ident,
        scope: ScopeId,
        report: bool,
    ) -> Option<Path> {
        let path = match self.held_type(base, scope) {
            Some(ty) => Path::Ty(ty),
            None => self.type_path(base, scope, report)?,
        };
        if let Path::Namespace(inner) = path {
            let found = self.lookup_in_namespace(inner, name.name);
            let found = self.seen(found, name.name, name.span, scope, report)?;
            let found = found.into_iter().find(|f| self.program.is_type_item(f.item));
            if found.is_none() && report {
                let message =
                    format!("no type `{}` in namespace `{}`", name.name, crate::types::show::syntax(base));
                self.diagnostics.push(Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message));
            }
            return self.found_path(found?, name.span, scope, report);
        }
        let ty = self.path_ty(path, base.span, scope);
        if self.program.types.is_error(ty) {
            return Some(Path::Ty(ty));
        }
        let is_differential =
            self.program.lang.differential.is_some_and(|d| self.program.assocs[d].name == name.name);
        if let (TyKind::Tuple(_), true) = (self.program.types.kind(ty), is_differential)
            && let Some(differential) = self.differential_of(ty)
        {
            return Some(Path::Ty(differential));
        }
        let found = self.members(ty, name.name);
        let found = self.seen(found, name.name, name.span, scope, report)?;
        let found = found.into_iter().find(|f| self.program.is_type_item(f.item));
        if found.is_none()
            && name.name == *"Handle"
            && let Some(handle) = self.handle_of(ty)
        {
            return Some(Path::Ty(handle));
        }
        if found.is_none() && report {
            let message = format!("`{}` has no member type `{}`", self.show(ty), name.name);
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_MEMBER, name.span, message);
            if is_differential {
                diagnostic = diagnostic
                    .help("only differentiable types have one; declare the type with `: IDifferentiable`");
            }
            self.diagnostics.push(diagnostic);
        }
        self.found_path(found?, name.span, scope, report)
    }

    /// The type of `value` in `value.Key`, where `value` is a variable of interface type and `Key` an associated type.
    fn held_type(&mut self, base: &ast::Expr, scope: ScopeId) -> Option<Ty> {
        let ExprKind::Name(name) = base.kind else { return None };
        let ty = self.tables.around.ty(name)?;
        let is_interface = matches!(self.program.types.kind(ty), TyKind::Interface(..));
        (is_interface && self.lookup_type(scope, name).is_none()).then_some(ty)
    }

    /// A found item as a path; generic ones stay open.
    pub(crate) fn found_path(
        &mut self,
        found: Found,
        span: Span,
        scope: ScopeId,
        report: bool,
    ) -> Option<Path> {
        self.note_use(span, found, scope);
        match found.item {
            Item::Namespace(scope) => Some(Path::Namespace(scope)),
            Item::Param(param) => {
                let GenericParam { value, pack, .. } = self.program.params[param];
                if value.is_some() && !pack {
                    if report {
                        let name = self.program.params[param].name;
                        let message = format!("`{name}` is a value, not a type");
                        self.diagnostics.push(Diagnostic::new(codes::NOT_A_TYPE, span, message));
                    }
                    return None;
                }
                let ty = self.program.types.ty(TyKind::Param(param));
                Some(Path::Ty(self.packs().known_equal(ty).unwrap_or(ty)))
            }
            Item::Enum(id) => Some(Path::Ty(self.program.types.ty(TyKind::Enum(id)))),
            Item::Assoc(assoc) => {
                let list = self.program.types.list(found.args).to_vec();
                let Some((Arg::Ty(this), rest)) = list.split_first() else {
                    return None;
                };
                let rest = self.program.types.args(rest);
                Some(Path::Ty(self.project(*this, assoc, rest)))
            }
            Item::Struct(_) | Item::Interface(_) | Item::Alias(_) => {
                if self.facts().wants_args(&found) {
                    return Some(Path::Open(found));
                }
                Some(Path::Ty(self.apply(&found, &[], span, scope)))
            }
            _ => None,
        }
    }

    /// A declaration with generic arguments, defaults filled in.
    pub(crate) fn apply(&mut self, found: &Found, explicit: &[ast::Expr], span: Span, scope: ScopeId) -> Ty {
        if let Item::Struct(id) = found.item
            && self.tables.structs[id].builtin == Some(Builtin::Tuple)
        {
            let items: Vec<Arg> = explicit.iter().map(|e| Arg::Ty(self.resolve_ty(e, scope))).collect();
            return self.program.types.tuple_ty(&items);
        }
        let mut found = *found;
        let mut explicit = explicit;
        let mut layout = None;
        if let Item::Struct(id) = found.item {
            let stored = self.without_storage(id, explicit, scope);
            (found.item, explicit, layout) = (Item::Struct(stored.meant), stored.args, stored.layout);
        }
        if let Item::Interface(id) = found.item {
            found.item = Item::Interface(self.facts().of_arity(id, explicit.len()));
        }
        let Some(generics) = self.facts().item_generics(found.item) else {
            return self.program.types.error();
        };
        let params = self.tables.generics[generics].params.clone();
        let hidden = self.facts().hidden_this(found.item);
        let around = self.program.types.list(found.args).to_vec();
        let own = &params[(around.len() + hidden).min(params.len())..];
        if let Item::Struct(id) = found.item
            && let [ast::Expr { kind: ExprKind::Laid(row_major, elem), span: word }] = explicit
            && self.program.is_resource(id)
        {
            let arg = self.laid_arg(elem, *row_major, *word, scope);
            let args = self.program.types.args(&[arg]);
            return self.struct_ty(id, args);
        }
        let Some(args) = self.generic_args(generics, around, own, explicit, span, scope) else {
            return self.program.types.error();
        };
        let args = self.program.types.args(&args);
        self.owe_bounds(generics, args, span, scope, hidden);
        match found.item {
            Item::Struct(id) => {
                let ty = self.struct_ty(id, args);
                self.program.buffer_layouts.extend(layout.map(|name| (ty, name, span)));
                let ty = self.checked_optional(ty, span, scope);
                self.checked_shape(ty, span)
            }
            Item::Interface(id) => self.program.types.ty(TyKind::Interface(id, args)),
            Item::Alias(id) => {
                let ty = self.alias_ty(id);
                let ty = self.replace(ty, &params, args);
                self.checked_shape(ty, span)
            }
            _ => self.program.types.error(),
        }
    }

    /// The number of elements of an array as written, if it can be one.
    fn checked_count(&mut self, count: Val, span: Span) -> Val {
        match self.program.types.known(count) {
            Some(n) if n < 0 => {
                let message = format!("an array cannot have {n} elements");
                self.diagnostics.push(Diagnostic::new(codes::BAD_SIZE, span, message));
                self.program.types.val(ValKind::Error)
            }
            _ => count,
        }
    }

    /// A type as written, if it is no optional resource: there is no value for one that is absent.
    fn checked_optional(&mut self, ty: Ty, span: Span, scope: ScopeId) -> Ty {
        let Some(TyKind::Struct(id, _)) =
            self.facts().optional_content(ty).map(|ty| self.program.types.kind(ty))
        else {
            return ty;
        };
        let magic = self.program.structs[id].magic;
        if self.tables.scopes[scope].is_library() || magic.is_none_or(|magic| magic == *"ptr") {
            return ty;
        }
        let message = format!("`{}` cannot hold a resource", self.show(ty));
        self.diagnostics.push(
            Diagnostic::new(codes::BAD_OPTIONAL, span, message)
                .help("pass the resource and a flag that says whether it is used"),
        );
        self.program.types.error()
    }

    /// A type as written, if its sizes are possible.
    fn checked_shape(&mut self, ty: Ty, span: Span) -> Ty {
        let (what, sizes) = match self.program.types.kind(ty) {
            TyKind::Vector(_, n) => ("a vector has 1 to 4 components", vec![n]),
            TyKind::Matrix(_, rows, columns) => ("a matrix has 1 to 4 rows and columns", vec![rows, columns]),
            TyKind::Array(element, n) => {
                let n = self.checked_count(n, span);
                return self.program.types.ty(TyKind::Array(element, n));
            }
            _ => return ty,
        };
        let mut known = sizes.into_iter().filter_map(|n| self.program.types.known(n));
        // No value has a type of length 0, but an extension may be for it: it ends a recursion over lengths.
        let least = if self.tables.resolving.in_head() { 0 } else { 1 };
        let Some(bad) = known.find(|n| !(least..=4).contains(n)) else {
            return ty;
        };
        let message = format!("{what}, not {bad}");
        self.diagnostics.push(
            Diagnostic::new(codes::BAD_SIZE, span, message).help("use an array for more or fewer elements"),
        );
        self.program.types.error()
    }
}

impl Facts<'_> {
    /// Whether a declaration has generic parameters beyond those around it.
    fn wants_args(self, found: &Found) -> bool {
        let Some(generics) = self.item_generics(found.item) else {
            return false;
        };
        let given = self.program.types.list(found.args).len() + self.hidden_this(found.item);
        self.tables.generics[generics].params.len() > given
    }

    /// Interfaces count `This` among their parameters, but it is never written.
    fn hidden_this(self, item: Item) -> usize {
        usize::from(matches!(item, Item::Interface(_)))
    }

    fn item_generics(self, item: Item) -> Option<GenericsId> {
        match item {
            Item::Struct(id) => Some(self.tables.structs[id].generics),
            Item::Interface(id) => Some(self.tables.interfaces[id].generics),
            Item::Alias(id) => Some(self.tables.aliases[id].generics),
            _ => None,
        }
    }
}

impl Program {
    /// Whether an item can stand where a type stands.
    pub(crate) fn is_type_item(&self, item: Item) -> bool {
        match item {
            Item::Struct(_)
            | Item::Interface(_)
            | Item::Enum(_)
            | Item::Alias(_)
            | Item::Assoc(_)
            | Item::Namespace(_) => true,
            Item::Param(param) => {
                let param = &self.params[param];
                param.value.is_none() || param.pack
            }
            _ => false,
        }
    }
}

impl Types {
    /// `Tuple<..>`; known packs among the members are replaced by their elements.
    pub(crate) fn tuple_ty(&mut self, items: &[Arg]) -> Ty {
        if items.iter().any(|item| matches!(*item, Arg::Ty(ty) if self.is_error(ty))) {
            return self.error();
        }
        let list = self.args(items);
        let list = self.spliced(list);
        self.ty(TyKind::Tuple(list))
    }
}
