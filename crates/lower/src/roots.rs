//! The roots of lowering: the functions and entry points that the user selected by name.

use crate::instance::{Lowerer, Origin};
use crate::{codes, entry, params};
use cotangent_base::{CowMap, Diagnostic, Diagnostics, Span, Symbol};
use cotangent_ir::layout::{Matrices, Target};
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{FuncId, Mode, Module, Prefer, Segments, Stage};

use cotangent_sema::hir::{self, GenericParam, GenericParamId};
use cotangent_sema::{Checked, Queries};

/// What to lower. Whatever it needs comes along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Roots {
    /// The entry points of these names; all there are if there is no name.
    Entries(Vec<Symbol>),
    /// All entry points and all functions of the user's modules that are not generic.
    Module,
    /// One function of the user's.
    Function(Symbol),
    /// The derivative of an entry point. Lowering makes the entry point itself; `autodiff::kernel` derives it afterwards.
    Kernel(KernelRoot),
    /// An entry point to be compared with its derivative: what the derivative holds constant is shown as detached, after lowering.
    Held(Symbol),
    /// One function of the user's and its derivatives.
    Derivatives {
        /// The function.
        func: Symbol,
        /// Which derivatives, in the order wanted.
        modes: Vec<Mode>,
    },
    /// The same for functions that a name may not say enough of, such as one of several overloads or an instance of a generic
    /// one: each with its derivatives, in order.
    DerivativesOf {
        /// The functions, with their generic arguments if they take any.
        funcs: Vec<hir::FuncRef>,
        /// Which derivatives of each, in the order wanted.
        modes: Vec<Mode>,
    },
}

/// A derivative of an entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelRoot {
    /// The entry point.
    pub entry: Symbol,
    /// The direction.
    pub mode: Mode,
    /// The parameters whose gradients are wanted, or which have tangents; without a list, all that can.
    pub wrt: Option<Vec<Symbol>>,
    /// The parameters that are results: those that have cotangents, or whose tangents are wanted. Without a list, all.
    pub results: Option<Vec<Symbol>>,
    /// Whether it is launched with groups along x only, `[n, 1, 1]`: then atomic additions are left out where threads have elements
    /// of their own.
    pub along_x: bool,
    /// Whether gradients are added in an order that is always the same. The shadow of what is read has a copy for each thread then.
    pub deterministic: bool,
    /// Whether it may use operations on waves: where all lanes add to one element, it sums first.
    pub wave_sums: bool,
}

impl KernelRoot {
    /// The derivative of an entry point by everything, launched in any way.
    pub fn new(entry: Symbol, mode: Mode) -> Self {
        let (along_x, deterministic, wave_sums) = (false, false, false);
        KernelRoot { entry, mode, wrt: None, results: None, along_x, deterministic, wave_sums }
    }
}

/// The result of lowering.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The module; valid if there are no errors.
    pub module: Module,
    /// What lowering reports, and what is wrong in library bodies that were checked on the way.
    pub diagnostics: Diagnostics,
    /// The entry points among the roots, in the order asked for.
    pub entries: Vec<FuncId>,
    /// What was asked for, in that order: entry points and functions. For [`Roots::Derivatives`], the function and
    /// then each derivative.
    pub roots: Vec<FuncId>,
    /// The parameters of the shader, used or not.
    pub params: ShaderParams,
    /// The parameters whose matrices were turned, since they lie column by column; none before that pass.
    pub turned: Vec<Symbol>,
}

/// What the user says about the whole program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The numbers by which the host knows the types that conform to interfaces. An interface for which there is none here
    /// has its conforming types numbered from 0, in the order of the program.
    pub conformances: Vec<ConformanceId>,
    /// The stage of entry points that do not say theirs: a function that is asked for as an entry point becomes one. In a program
    /// without entry points, so does `main` or `computeMain`.
    pub stage: Option<Stage>,
    /// The threads of a group, for kernels that leave them to the launch: `[CudaKernel]`.
    pub threads: Option<[u32; 3]>,
    /// What the program is compiled for; if that is open, nothing is refused because of it.
    pub target: Option<Target>,
    /// Whether the program is run, and not emitted for others: then it cannot take text of the target.
    pub runs: bool,
    /// How matrices lie in memory that the host sees, where the program does not say.
    pub matrices: Matrices,
    /// What backward derivatives are to do with values of which no function says anything.
    pub prefer: Prefer,
    /// How backward derivatives cut loops that say nothing about it.
    pub segments: Segments,
    /// The most bytes that a backward derivative may store at a time.
    pub budget: Option<u64>,
    /// Whether what calls drop the derivative of, because a parameter or result is `no_diff`, is shown as detached. Whoever
    /// compares derivatives with differences must hold it still.
    pub show_dropped: bool,
}

/// `Circle:IShape=3`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConformanceId {
    /// The conforming type.
    pub ty: Symbol,
    /// The interface.
    pub interface: Symbol,
    /// The number; the next free one if none is given.
    pub id: Option<u32>,
}

impl ConformanceId {
    /// Reads `TYPE:INTERFACE=ID`, or `TYPE:INTERFACE` for the next number.
    pub fn parse(text: &str) -> Option<Self> {
        let (names, id) = match text.split_once('=') {
            Some((names, id)) => (names, Some(id.trim().parse().ok()?)),
            None => (text, None),
        };
        let (ty, interface) = names.rsplit_once(':')?;
        Some(ConformanceId { ty: Symbol::new(ty.trim()), interface: Symbol::new(interface.trim()), id })
    }
}

/// Lowers what was asked for and all that it needs.
pub fn lower(checked: &Checked, roots: Roots) -> Lowered {
    lower_with(checked, roots, Options::default())
}

/// The same under options. The program stays as it is.
pub fn lower_with(checked: &Checked, roots: Roots, options: Options) -> Lowered {
    lower_from(&mut checked.queries(), roots, options)
}

/// The same through a query handle. To lower several roots of one program, pass one handle to all calls: library bodies that
/// were checked for one are ready for the next.
pub fn lower_from(queries: &mut Queries, roots: Roots, options: Options) -> Lowered {
    let mut lowerer = Lowerer::new(queries, options);
    let mut found = Found::default();
    match roots {
        Roots::Entries(names) => entries(&mut lowerer, &names, &mut found),
        Roots::Held(name) => entries(&mut lowerer, &[name], &mut found),
        Roots::Module => whole(&mut lowerer, &mut found),
        Roots::Kernel(kernel) => {
            entries(&mut lowerer, &[kernel.entry], &mut found);
            found.entries.iter().for_each(|entry| lowerer.demand(*entry, 1));
        }
        Roots::Function(name) => {
            if let Some(id) = function(&mut lowerer, name, &mut found) {
                found.roots.extend(lowerer.origin(Origin::Func(id)));
            }
        }
        Roots::Derivatives { func, modes } => {
            if let Some(func) = function(&mut lowerer, func, &mut found) {
                derivatives(&mut lowerer, func, &modes, &mut found);
            }
        }
        Roots::DerivativesOf { funcs, modes } => {
            for func in funcs {
                derivatives(&mut lowerer, func, &modes, &mut found);
            }
        }
    }
    lowerer.check_options();
    lowerer.run();
    crate::target_code::settle(&mut lowerer, &found.entries, &mut found.roots);
    crate::pinned::check(&mut lowerer);
    lowerer.pass_counters();
    crate::statics::order(&mut lowerer.module);
    crate::thread::set_numbers(&mut lowerer, &found.entries);
    lowerer.number_members();
    lowerer.check_sizes();
    crate::stage::check_pixels(&mut lowerer, &found.entries);
    crate::allowed::check_stages(&mut lowerer, &found.entries);
    let params = params::collect(&mut lowerer, &found.entry_sources);
    crate::layouts::check(&mut lowerer);
    crate::specialized::check(&mut lowerer);
    crate::matrices::check(&mut lowerer, &found.entry_sources);
    crate::pairs_again::check(&mut lowerer);
    crate::zero::check(&mut lowerer, found.entries.iter().chain(&found.roots).copied());
    check(&mut lowerer);
    let mut diagnostics = lowerer.queries.take_diagnostics();
    diagnostics.append(found.diagnostics);
    diagnostics.append(lowerer.diagnostics);
    Lowered {
        module: lowerer.module,
        diagnostics,
        entries: found.entries,
        roots: found.roots,
        params,
        turned: vec![],
    }
}

/// Verifies what was made, in debug builds. What is not supported leaves holes, so errors are enough.
fn check(lowerer: &mut Lowerer<'_>) {
    if !cfg!(debug_assertions) || lowerer.diagnostics.has_errors() {
        return;
    }
    if let Err(error) = cotangent_ir::verify(&lowerer.module) {
        let func = error.func.and_then(|name| lowerer.module.func_named(name));
        let span = func.map_or(Span::none(), |id| lowerer.module.funcs[id].span);
        lowerer.internal(span, format!("the module made is invalid: {error}"));
    }
}

#[derive(Default)]
struct Found {
    entries: Vec<FuncId>,
    roots: Vec<FuncId>,
    /// The entry points with what they come from.
    entry_sources: Vec<(FuncId, hir::FuncRef)>,
    diagnostics: Diagnostics,
}

impl Found {
    fn entry(&mut self, lowerer: &mut Lowerer<'_>, func: hir::FuncRef) {
        self.add(lowerer, Origin::Entry(func), func);
    }

    fn add(&mut self, lowerer: &mut Lowerer<'_>, origin: Origin, func: hir::FuncRef) {
        let id = lowerer.origin(origin);
        self.entries.extend(id);
        self.roots.extend(id);
        self.entry_sources.extend(id.map(|id| (id, func)));
    }
}

/// The reference to a function that nobody calls, under what the command line says of its generic parameters. Reports if
/// that is not enough.
fn root(lowerer: &mut Lowerer<'_>, func: hir::FuncId, found: &mut Found) -> Option<hir::FuncRef> {
    let args = lowerer.queries.root_args(func);
    if args.is_none() && !lowerer.queries.diagnostics.has_errors() {
        let program = &lowerer.queries.program;
        found.diagnostics.push(generic_root(&program.params, &program.funcs[func]));
    }
    args.map(|args| hir::FuncRef { func, args })
}

fn generic_root(params: &CowMap<GenericParamId, GenericParam>, func: &hir::Func) -> Diagnostic {
    // A parameter of interface type is a generic one in disguise, declared where the parameter is.
    let is_disguised = |g: &GenericParamId| func.params.iter().any(|p| p.span == params[*g].span);
    let written = || func.generics.params.iter().filter(|g| !params[**g].witness);
    let message = if written().all(is_disguised) {
        format!("`{}` takes an interface value, whose type is not specified", func.name)
    } else {
        format!("`{}` is generic, and its arguments are not specified", func.name)
    };
    let word = |g: &GenericParamId| if params[*g].value.is_some() { "NUMBER" } else { "TYPE" };
    let words: Vec<&str> = written().map(word).collect();
    Diagnostic::new(codes::GENERIC_ROOT, func.span, message).help(format!(
        "specify them: `--specialize {}={}`",
        func.name,
        words.join(",")
    ))
}

fn user_entries(lowerer: &Lowerer<'_>) -> Vec<hir::FuncId> {
    let program = &lowerer.queries.program;
    let is_entry = |f: &hir::FuncId| program.funcs[*f].entry.is_some() && program.funcs[*f].has_body;
    program.user_funcs.iter().copied().filter(is_entry).collect()
}

fn entries(lowerer: &mut Lowerer<'_>, names: &[Symbol], found: &mut Found) {
    let all = user_entries(lowerer);
    if names.is_empty() && all.is_empty() && lowerer.options.stage.is_some() {
        let usual = ["main", "computeMain"].map(Symbol::new);
        if let Some(name) = usual.into_iter().find(|name| plain(lowerer, *name).is_some()) {
            return entries(lowerer, &[name], found);
        }
    }
    if names.is_empty() {
        let single = all.len() == 1;
        for func in all {
            // What is generic may be left out if there is something else to run.
            let skipped = !single && lowerer.queries.root_args(func).is_none();
            if let Some(func) = (!skipped).then(|| root(lowerer, func, found)).flatten() {
                found.entry(lowerer, func);
            }
        }
        return;
    }
    for &name in names {
        let all = if lowerer.options.stage.is_some() {
            make_entry(lowerer, name, all.clone())
        } else {
            all.clone()
        };
        let funcs = &lowerer.queries.program.funcs;
        let Some(&func) = all.iter().find(|f| funcs[**f].name == name) else {
            if let Some((func, mode)) = entry::derived(lowerer, &all, name) {
                if let Some(func) = root(lowerer, func, found) {
                    found.add(lowerer, Origin::DerivedEntry(mode, func), func);
                }
                continue;
            }
            let funcs = &lowerer.queries.program.funcs;
            let missing = no_such(name, "entry point", all.iter().map(|f| funcs[*f].name));
            let plain = plain(lowerer, name);
            let other = plain.and_then(|func| Some((funcs[func].other_stage?, funcs[func].span)));
            if let Some((stage, span)) = other {
                found.diagnostics.push(other_stage(stage, span));
                continue;
            }
            found.diagnostics.push(plain.map_or(missing, |func| no_stage(name, funcs[func].span)));
            continue;
        };
        if let Some(func) = root(lowerer, func, found) {
            found.entry(lowerer, func);
        }
    }
}

/// The function of that name which the user defines, whether or not it has a stage.
fn plain(lowerer: &Lowerer<'_>, name: Symbol) -> Option<hir::FuncId> {
    let program = &lowerer.queries.program;
    let named = |f: &hir::FuncId| program.funcs[*f].name == name && program.funcs[*f].has_body;
    program.user_funcs.iter().copied().find(named)
}

/// An entry point of a stage that no target has.
fn other_stage(stage: Symbol, span: Span) -> Diagnostic {
    Diagnostic::new(
        codes::UNSUPPORTED_CONSTRUCT,
        span,
        format!("a `{stage}` entry point is not supported yet"),
    )
}

/// A function was named that could be an entry point, if only it said of which stage.
fn no_stage(name: Symbol, span: Span) -> Diagnostic {
    let message = format!("`{name}` has no shader stage");
    Diagnostic::new(codes::NO_SUCH_FUNCTION, span, message)
        .help("write `[shader(\"compute\")]` before it (or `vertex`, `fragment`), or add `--stage compute`")
}

/// The entry points, with the function of that name made one if it is none.
fn make_entry(lowerer: &mut Lowerer<'_>, name: Symbol, mut all: Vec<hir::FuncId>) -> Vec<hir::FuncId> {
    let program = &lowerer.queries.program;
    let named = |f: &hir::FuncId| program.funcs[*f].name == name && program.funcs[*f].has_body;
    let (Some(stage), false) = (lowerer.options.stage, all.iter().any(named)) else { return all };
    let has_none = |func: &hir::FuncId| program.funcs[*func].other_stage.is_none();
    let Some(func) = plain(lowerer, name).filter(has_none) else { return all };
    let (span, one) = (program.funcs[func].span, lowerer.queries.int_val(1));
    let stage = match stage {
        Stage::Compute => hir::Stage::Compute,
        Stage::Vertex => hir::Stage::Vertex,
        Stage::Fragment => hir::Stage::Fragment,
    };
    lowerer
        .made_entries
        .insert(func, hir::Entry { stage, threads: [one; 3], launched: false, bound: false, span });
    all.push(func);
    all
}

fn whole(lowerer: &mut Lowerer<'_>, found: &mut Found) {
    for func in lowerer.queries.program.user_funcs.clone() {
        let data = &lowerer.queries.program.funcs[func];
        if let (Some(stage), Some(_)) = (data.other_stage, lowerer.options.target) {
            found.diagnostics.push(other_stage(stage, data.span));
            continue;
        }
        let requirement = matches!(data.kind, hir::FuncKind::Requirement(_));
        if requirement || !data.has_body {
            continue;
        }
        let is_entry = lowerer.entry(func).is_some();
        if !data.generics.params.is_empty() && !is_entry && !lowerer.queries.is_given(func) {
            continue;
        }
        let Some(args) = lowerer.queries.root_args(func) else { continue };
        let func = hir::FuncRef { func, args };
        if is_entry {
            found.entry(lowerer, func);
        } else {
            found.roots.extend(lowerer.origin(Origin::Func(func)));
        }
    }
}

fn function(lowerer: &mut Lowerer<'_>, name: Symbol, found: &mut Found) -> Option<hir::FuncRef> {
    let program = &lowerer.queries.program;
    let named = |f: &hir::FuncId| program.funcs[*f].name == name && program.funcs[*f].has_body;
    let all: Vec<hir::FuncId> = program.user_funcs.iter().copied().filter(named).collect();
    let is_concrete =
        |f: &hir::FuncId| program.funcs[*f].generics.params.is_empty() != lowerer.queries.is_given(*f);
    let concrete: Vec<hir::FuncId> = all.iter().copied().filter(is_concrete).collect();
    match (&concrete[..], &all[..]) {
        (&[func], _) => root(lowerer, func, found),
        (&[first, second, ..], _) => {
            let types: Vec<String> =
                program.funcs[first].params.iter().map(|p| lowerer.queries.show(p.ty)).collect();
            let [first, second] = [first, second].map(|f| program.funcs[f].span);
            let message = format!("more than one function is named `{name}`");
            let diagnostic = Diagnostic::new(codes::NO_SUCH_FUNCTION, first, message)
                .label(second, "another one")
                .help(format!("add the parameter types, as in `{name}({})`", types.join(", ")));
            found.diagnostics.push(diagnostic);
            None
        }
        (&[], &[generic, ..]) => {
            found.diagnostics.push(generic_root(&program.params, &program.funcs[generic]));
            None
        }
        (&[], &[]) => {
            let known = program.user_funcs.iter().map(|f| program.funcs[*f].name);
            found.diagnostics.push(no_such(name, "function", known));
            None
        }
    }
}

fn derivatives(lowerer: &mut Lowerer<'_>, func: hir::FuncRef, modes: &[Mode], found: &mut Found) {
    let data = &lowerer.queries.program.funcs[func.func];
    if !data.diff.is_differentiable() {
        let message = format!("`{}` is not differentiable", data.name);
        let diagnostic =
            Diagnostic::new(codes::NOT_DIFFERENTIABLE, data.span, message).help("mark it `[Differentiable]`");
        found.diagnostics.push(diagnostic);
        return;
    }
    let Some(plain) = lowerer.origin(Origin::Func(func)) else { return };
    // What a `__ref` parameter refers to is a variable of the caller's.
    let (Some(value), Some(varied)) = (lowerer.copying(plain, u64::MAX), lowerer.paired(plain)) else {
        return;
    };
    found.roots.push(value);
    for &mode in modes {
        found.roots.extend(lowerer.origin(Origin::Request(mode, varied)));
    }
}

/// Most functions that a message lists.
const MOST_NAMED: usize = 20;

/// Says that there is no such function or entry point, and which there are.
pub fn no_such(name: Symbol, what: &str, known: impl Iterator<Item = Symbol>) -> Diagnostic {
    let message = format!("there is no {what} named `{name}`");
    let diagnostic = Diagnostic::new(codes::NO_SUCH_FUNCTION, Span::none(), message);
    let mut names: Vec<String> = known.map(|n| format!("`{n}`")).collect();
    names.dedup();
    if names.is_empty() {
        return diagnostic.note(format!("the program has no {what}"));
    }
    let others = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let others = if others > 0 { format!(" or {others} others") } else { String::new() };
    diagnostic.help(format!("one of {}{others}", names.join(", ")))
}
