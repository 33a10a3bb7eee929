//! Reports elements that one thread of a group writes and another accesses without a barrier between them.
//!
//! ```text
//! tile[t] = x[i];
//! y[i] = tile[t + 1];      no barrier: thread t + 1 may not have written yet
//! ```
//!
//! Input: the entry point, and the memory with floats that it writes and reads. The walk executes all threads of a group together
//! on values that are known before a launch: thread numbers, constants, and loops whose iteration count follows from them
//! ([`walk`](mod@walk)). Numbers from memory are symbols ([`lanes`]). Between two barriers, each access is compared with all others
//! ([`clash`]). Output: errors where threads certainly access one element, warnings where they may access one of group-shared
//! memory, and the buffers and textures of which each thread has elements of its own.

mod access;
mod clash;
mod lanes;
mod loops;
mod values;
mod walk;

use super::accesses::{Accesses, holds_floats, memory};
use super::samples::texture_of;
use crate::codes;
use clash::{Clash, Kind};
use cotangent_base::{Diagnostic, Diagnostics, Set, Span};
use cotangent_ir::{Func, FuncId, Global, GlobalKind, Module, Op, Type, Value};
use walk::Found;

/// The most operations through which an index is followed.
const MOST_OPERATIONS: usize = 256;

/// Reports accesses of threads of a group to elements of other threads. Returns the buffers and textures of which each thread has
/// elements of its own.
pub(super) fn phases(
    module: &Module,
    entry: FuncId,
    accesses: &Accesses,
    diagnostics: &mut Diagnostics,
) -> Set<Global> {
    let is_watched = |global: &Global| {
        let done = accesses.done_to(*global).unwrap_or_default();
        let is_touched = || done.read || is_shared(module, *global) || is_scattered(module, *global);
        done.written && has_floats(module, *global) && is_touched()
    };
    let watched: Set<Global> = module.globals.keys().filter(is_watched).collect();
    if watched.is_empty() {
        return Set::default();
    }
    let mut done = walk::walk(module, entry, &watched);
    done.found.sort_by_key(|found| std::cmp::Reverse(found.clash));
    let mut told = Told { module, seen: Set::default(), diagnostics };
    let mut apart = if done.is_complete { done.apart } else { Set::default() };
    for found in &done.found {
        apart.remove(&found.first.memory);
        let done = accesses.done_to(found.first.memory).unwrap_or_default();
        told.tell(found, !done.read && found.by_data);
    }
    if !done.is_complete {
        let shared = watched.iter().filter(|global| is_shared(module, **global));
        shared.for_each(|global| told.not_followed(*global, module.funcs[entry].span));
    }
    apart
}

fn is_shared(module: &Module, global: Global) -> bool {
    module.globals[global].kind == GlobalKind::Shared
}

/// Whether something is stored to a buffer at an index that does not only consist of thread numbers and loop counters: data may
/// have chosen it.
fn is_scattered(module: &Module, global: Global) -> bool {
    module.funcs.values().any(|func| {
        func.all_insts().into_iter().any(|inst| {
            let data = &func.insts[inst];
            matches!(data.op, Op::Store(_))
                && memory(func, inst) == Some(global)
                && data.operands.get(2).is_some_and(|index| !is_counted(func, *index, &mut Set::default()))
        })
    })
}

/// Whether a number is computed from arguments and constants, by few operations that are not `seen` yet.
fn is_counted(func: &Func, value: Value, seen: &mut Set<Value>) -> bool {
    let Some(data) = func.def(value) else { return true };
    if !seen.insert(value) {
        return true;
    }
    let is_arithmetic = matches!(data.op, Op::Math(_) | Op::Convert | Op::Bitcast | Op::Const(_));
    let is_part = matches!(data.op, Op::Extract(_) | Op::Swizzle(_) | Op::Pack | Op::Global(_));
    (is_arithmetic || is_part || data.op.is_loop())
        && seen.len() <= MOST_OPERATIONS
        && data.operands.iter().all(|operand| is_counted(func, *operand, seen))
}

/// Whether memory that other threads see holds floats.
fn has_floats(module: &Module, global: Global) -> bool {
    let data = &module.globals[global];
    match (&data.kind, module.types.get(data.ty)) {
        (GlobalKind::Static(_), _) => false,
        (_, Type::Buffer(elem, _)) => holds_floats(module, elem),
        (_, Type::Ref(inner)) => holds_floats(module, inner),
        _ => texture_of(module, global).is_some_and(|texture| texture.scalar.is_float()),
    }
}

struct Told<'a> {
    module: &'a Module,
    /// Spans that have a report, and variables that have one.
    seen: Set<(Option<Span>, Global)>,
    diagnostics: &'a mut Diagnostics,
}

impl Told<'_> {
    /// Reports a clash. For buffers and textures, uncertain clashes are reported only if the stores are `scattered`: `races`
    /// reports buffers that are read and written.
    fn tell(&mut self, Found { first, second, clash, .. }: &Found, scattered: bool) {
        // The report is at the read, otherwise at the later write.
        let (at, other) = if first.kind == Kind::Read { (first, second) } else { (second, first) };
        let is_error = *clash == Clash::Always;
        // An uncertain clash gets one warning for each variable.
        let is_known = self.diagnostics.iter().any(|known| known.primary.span == at.span)
            || !self.seen.insert((Some(at.span), at.memory))
            || !is_error
                && (self.seen.contains(&(None, at.memory))
                    || !scattered && !is_shared(self.module, at.memory));
        self.seen.insert((None, at.memory));
        if is_known {
            return;
        }
        let name = self.module.globals[at.memory].name;
        let does = if at.kind == Kind::Read { "reads" } else { "writes" };
        let (code, message) = match (is_error, at == other) {
            (true, true) => (codes::KERNEL_RACE, format!("several threads write one element of `{name}`")),
            (true, false) => (
                codes::KERNEL_RACE,
                format!(
                    "a thread {does} an element of `{name}` that another thread writes, without a barrier between"
                ),
            ),
            (false, true) => {
                let when = if scattered { "" } else { " between two barriers" };
                let message =
                    format!("cannot determine whether several threads write one element of `{name}`{when}");
                (codes::KERNEL_SHARES, message)
            }
            (false, false) => (
                codes::KERNEL_SHARES,
                format!(
                    "cannot determine whether a thread {does} an element of `{name}` that another thread writes before the next barrier"
                ),
            ),
        };
        let help = match at == other {
            true => "give each thread an element of its own, let one thread write, or add atomically",
            false if is_shared(self.module, at.memory) => {
                "put `GroupMemoryBarrierWithGroupSync()` between the two"
            }
            false => "read from one buffer and write to another",
        };
        let mut diagnostic = Diagnostic::new(code, at.span, message).help(help);
        if other.span != at.span {
            diagnostic = diagnostic
                .label(other.span, if other.kind == Kind::Read { "read here" } else { "written here" });
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reports that the kernel is too long to analyze.
    fn not_followed(&mut self, global: Global, span: Span) {
        let name = self.module.globals[global].name;
        let message =
            format!("cannot determine whether threads share elements of `{name}` between two barriers");
        let diagnostic = Diagnostic::new(codes::KERNEL_SHARES, span, message);
        self.diagnostics.push(diagnostic.help("compare with `cotangent gradcheck --entry`"));
    }
}
