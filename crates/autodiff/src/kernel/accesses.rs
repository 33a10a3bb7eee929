//! Finds what a kernel does to its memory. Input: the functions below an entry point. Output: per global, whether it is read and
//! written; diagnostics for accesses that have no derivative.

use crate::codes;
use cotangent_base::{Diagnostic, Diagnostics, Map, Set};
use cotangent_ir::{Atomic, AtomicKind, Func, FuncId, Global, Inst, Module, Op, Ty, Type, Value};
use cotangent_passes::calls::Calls;

/// What is done to some memory.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Done {
    /// Whether its contents matter to the kernel.
    pub read: bool,
    pub written: bool,
}

/// What a kernel does to its memory.
pub(super) struct Accesses {
    done: Map<Global, Done>,
}

impl Accesses {
    /// Looks at all functions below `entry`. Those in `followed` are differentiated: what they do must have a derivative.
    pub fn of(module: &Module, entry: FuncId, followed: &[FuncId], diagnostics: &mut Diagnostics) -> Self {
        let mut accesses = Accesses { done: Map::default() };
        let followed: Set<FuncId> = followed.iter().copied().collect();
        for id in Calls::below(module, [entry]).callees_first {
            let func = &module.funcs[id];
            let used = used(func);
            for inst in func.all_insts() {
                accesses.add(module, func, inst, &used);
                if followed.contains(&id) {
                    refuse(module, func, inst, &used, diagnostics);
                }
            }
        }
        accesses
    }

    /// What is done to a global; none if nothing is.
    pub fn done_to(&self, global: Global) -> Option<Done> {
        self.done.get(&global).copied()
    }

    fn add(&mut self, module: &Module, func: &Func, inst: Inst, used: &Set<Value>) {
        let data = &func.insts[inst];
        if let Op::Global(global) = data.op {
            let is_value = !is_handle(module, module.globals[global].ty);
            self.done.entry(global).or_default().read |= is_value;
            return;
        }
        let Some(global) = memory(func, inst) else { return };
        let done = self.done.entry(global).or_default();
        done.read |= matches!(data.op, Op::Load(_) | Op::Texel | Op::Sample(_));
        done.written |= matches!(data.op, Op::Store(_) | Op::StoreTexel | Op::Atomic(_));
        if let Op::Atomic(_) = data.op {
            done.read |= data.results.iter().any(|result| used.contains(result));
        }
        // Where a pointer leads is not followed.
        if let Op::Point(_) = data.op {
            *done = Done { read: true, written: true };
        }
    }
}

/// The values that some instruction takes.
pub(super) fn used(func: &Func) -> Set<Value> {
    func.all_insts().into_iter().flat_map(|inst| func.insts[inst].operands.clone()).collect()
}

/// The global that an instruction accesses, if it names one.
pub(super) fn memory(func: &Func, inst: Inst) -> Option<Global> {
    let data = &func.insts[inst];
    match func.op(*data.operands.first()?) {
        Some(Op::Global(global)) => Some(*global),
        _ => None,
    }
}

/// Whether a global of this type is accessed by its handle.
pub(super) fn is_handle(module: &Module, ty: Ty) -> bool {
    matches!(module.types.get(ty), Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_))
}

/// Whether floats are in a value of this type.
pub(super) fn holds_floats(module: &Module, ty: Ty) -> bool {
    module.diff.find_differential(&module.types, ty).is_some()
}

/// Reports an access that has no derivative.
fn refuse(module: &Module, func: &Func, inst: Inst, used: &Set<Value>, diagnostics: &mut Diagnostics) {
    let data = &func.insts[inst];
    let mut report = |message: String, help: &str| {
        let at = if data.span.is_none() { func.span } else { data.span };
        diagnostics.push(Diagnostic::new(codes::KERNEL, at, message).help(help));
    };
    let is_load = matches!(data.op, Op::Load(_));
    let is_access = is_load || matches!(data.op, Op::Store(_) | Op::Atomic(_));
    let accessed = if is_load { data.results.first() } else { data.operands.get(1) };
    if let Some(&value) = accessed.filter(|_| is_access)
        && holds_floats(module, func.ty(value))
        && memory(func, inst).is_none()
    {
        return report(
            "cannot differentiate an access to memory that is chosen at run time".to_string(),
            "access each buffer by its name, and choose between the values",
        );
    }
    if let Op::Atomic(Atomic { kind, .. }) = &data.op
        && holds_floats(module, func.ty(data.operands[1]))
    {
        let is_used = data.results.iter().any(|result| used.contains(result));
        if *kind != AtomicKind::Add {
            report(
                "this atomic operation on floats has no derivative".to_string(),
                "atomic additions have one; otherwise write a custom derivative for the function",
            );
        } else if is_used {
            report(
                "the old value of an atomic addition has no derivative".to_string(),
                "do not use the old value: it depends on the order of the threads",
            );
        }
    }
    // What has a derivative is no sample any more.
    if let Op::Sample(_) = data.op
        && holds_floats(module, func.ty(data.results[0]))
    {
        report(
            "this sample has no derivative in a kernel".to_string(),
            "`Sample`, `SampleBias`, `SampleLevel` and `Gather` of textures that are no cubes have one, and `Load` has; otherwise write a \
             custom derivative for the function",
        );
    }
    if let Op::Texel | Op::StoreTexel = data.op
        && let Some(&texel) = data.results.first().or(data.operands.get(2))
        && holds_floats(module, func.ty(texel))
        && memory(func, inst).is_none()
    {
        report(
            "cannot differentiate an access to a texture that is chosen at run time".to_string(),
            "access each texture by its name, and choose between the texels",
        );
    }
}
