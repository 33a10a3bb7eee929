//! Lowers variables whose address is taken.
//!
//! Values have no address. A local variable or parameter under `&` is therefore a `static` variable of its function: memory of
//! the thread, which pointers can lead to. All calls of the function share it, so such a function must not be recursive.
//!
//! ```text
//! float x = 1;  g(&x);      %x: ref<f32> = global @f.x    store %x, 1    call @g %x
//! ```

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use crate::target_code::reached;
use cotangent_base::{Diagnostic, EntitySet, Span, Symbol};
use cotangent_ir::{self as ir, GlobalData, Path, Type, Value};
use cotangent_sema::hir::{Body, ExprKind, LocalId, each_expr};

impl Frame<'_, '_> {
    /// Gives the variables of a body whose address is taken their memory. Parameters keep their values.
    pub fn pin(&mut self, body: &Body) {
        let mut addressed: EntitySet<LocalId> = EntitySet::new();
        each_expr(&body.block, &mut |e| {
            if let ExprKind::AddressOf(place) = &e.kind {
                addressed.extend(place.root_local(&self.lowerer.queries.program.types));
            }
        });
        for local in addressed.iter() {
            if self.by_ref.contains(local) {
                continue;
            }
            let value = self.vars[local];
            let ty = self.local_ty(local);
            let name = Symbol::new(&format!("{}.{}", self.func.name, body.locals[local].name));
            let (ty, span) = (self.lowerer.module.types.intern(Type::Ref(ty)), body.locals[local].span);
            let kind = ir::GlobalKind::Static(None);
            let memory = self.lowerer.module.add_global(GlobalData { name, ty, kind, span });
            let handle = self.global_value(memory);
            self.vars[local] = Some(handle);
            self.by_ref.insert(local);
            self.pinned.insert(local);
            if let Some(value) = value {
                self.set_pinned(local, value);
            }
            self.note_pinned(span);
        }
    }

    /// Writes a variable that has memory.
    pub fn set_pinned(&mut self, local: LocalId, value: Value) {
        let handle = self.var(local);
        self.b().store(handle, value, Path::default(), &[]);
    }

    fn note_pinned(&mut self, span: Span) {
        if let Some(id) = self.lowerer.module.func_named(self.func.name) {
            self.lowerer.pinned.push((id, span));
        }
    }
}

/// Reports variables whose address is taken in functions that call themselves.
pub(crate) fn check(lowerer: &mut Lowerer<'_>) {
    for (id, span) in std::mem::take(&mut lowerer.pinned) {
        let func = &lowerer.module.funcs[id];
        let callees: Vec<ir::FuncId> =
            func.all_insts().into_iter().filter_map(|inst| func.insts[inst].op.callee()).collect();
        if reached(lowerer, &callees).contains(id) {
            let message = "the address of a variable of a recursive function is not supported";
            let help = "pass the variable to an `inout` parameter instead of a pointer";
            lowerer.diagnostics.push(Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message).help(help));
        }
    }
}
