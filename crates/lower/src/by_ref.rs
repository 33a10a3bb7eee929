//! Lowers `__ref` parameters and pointers.
//!
//! A `__ref` parameter refers to its argument. If the argument is in memory (an element of a buffer, a `groupshared` or
//! `static` variable, the target of a pointer, or a part of these), a pointer is passed, and the parameter stands for the
//! pointer's target. A local variable has no address. A function that is called with one has a second instance in which that
//! parameter is `inout`. This is equivalent, since no other code sees the variable during the call. Atomics are refused,
//! since they need memory that other threads see.

use crate::codes;
use crate::declare::SourceSig;
use crate::func::Frame;
use crate::instance::Lowerer;
use crate::place::{Index, Place, Root, Steps};
use cotangent_base::{Diagnostic, Symbol};
use cotangent_ir::{self as ir, Func, Op, Type, Value};
use cotangent_sema::hir::{Call, Expr, LocalId};

/// The declaration of an instance that copies some `__ref` parameters in and out, given the one that copies none.
pub(crate) fn copying(
    lowerer: &mut Lowerer<'_>,
    plain: Func,
    mut sig: SourceSig,
    copied: u64,
) -> (Func, SourceSig) {
    for (i, param) in sig.params.iter_mut().enumerate() {
        param.by_ref &= i >= 64 || copied >> i & 1 == 0;
    }
    let name = Symbol::new(&format!("copying({})", plain.name));
    let mut func = Func::new(name, lowerer.ir_sig(&sig, plain.span), plain.span);
    func.origin = Some(plain.plain_name());
    func.inline = plain.inline;
    (func, sig)
}

impl Lowerer<'_> {
    /// Whether a function is the library's.
    pub fn in_library(&self, id: ir::FuncId) -> bool {
        self.func_of(id).is_some_and(|func| self.queries.is_library(func.func))
    }
}

impl Frame<'_, '_> {
    /// Notes which parameters are pointers to their arguments.
    pub fn bind_references(&mut self, locals: &[LocalId]) {
        for (&local, param) in locals.iter().zip(self.func.sig.params.clone()) {
            let plain = self.local_ty(local);
            if let Type::Ref(to) = self.lowerer.module.types.get(param.ty)
                && to == plain
            {
                self.by_ref.insert(local);
            }
        }
    }

    /// A pointer to an argument that lies in memory, or else its place.
    pub fn reference(&mut self, arg: &Expr) -> Result<Value, Place> {
        let place = self.place(arg);
        match place {
            Place::Part(Root::Handle(handle), steps) => Ok(self.point(handle, &steps)),
            other @ (Place::Part(..)
            | Place::Lanes(..)
            | Place::Fields(..)
            | Place::Cells(..)
            | Place::Converted(..)
            | Place::Inner(..)
            | Place::Property(_)) => Err(other),
        }
    }

    fn point(&mut self, handle: Value, steps: &Steps) -> Value {
        let ty = self.func.ty(handle);
        if steps.is_empty() && matches!(self.lowerer.module.types.get(ty), Type::Ref(_)) {
            return handle;
        }
        if !self.fits(handle, steps) {
            return handle;
        }
        let types = &mut self.lowerer.module.types;
        let part = types.part_at(ty, &steps.path).expect("it fits");
        let to = types.intern(Type::Ref(part));
        let operands = [&[handle], &steps.indices[..]].concat();
        self.b().emit1(Op::Point(steps.path.clone()), &operands, to)
    }

    /// The instance of a function for arguments that do not lie in memory.
    pub fn copying_callee(&mut self, call: &Call, callee: ir::FuncId, copied: u64) -> Option<ir::FuncId> {
        // All that the library takes by reference is meant for memory.
        if !self.lowerer.queries.is_library(call.callee.func) {
            return self.lowerer.copying(callee, copied);
        }
        let message = "an atomic operation needs memory that other threads can access";
        let diagnostic = Diagnostic::new(codes::NOT_SHARED, self.span, message)
            .help("use an element of a writable buffer, or a `groupshared` variable");
        self.lowerer.diagnostics.push(diagnostic);
        None
    }

    /// An atomic operation on the result of an accessor, such as a texel. No target supports it, so it is refused once a target
    /// is known.
    pub fn texel_atomic(&mut self) -> Option<Value> {
        if self.lowerer.options.target.is_some() {
            let message = "an atomic operation on a texel is not supported";
            let diagnostic = Diagnostic::new(codes::NOT_SHARED, self.span, message);
            self.lowerer.diagnostics.push(diagnostic.help("use an element of a writable buffer"));
        }
        None
    }

    /// `&place`.
    pub fn address_of(&mut self, place: &Expr) -> Option<Value> {
        match self.reference(place) {
            Ok(pointer) => Some(pointer),
            Err(_) => {
                self.unsupported("a pointer to a value without an address is");
                None
            }
        }
    }

    /// `p[i]`.
    pub fn behind_pointer(&mut self, pointer: &Expr, index: &Expr) -> Place {
        let pointer = self.expr(pointer);
        let n = match self.index(index) {
            Index::Known(0) => return Place::Part(Root::Handle(pointer), Steps::default()),
            Index::Known(n) => self.b().int(n.into()),
            Index::Dynamic(n) => n,
        };
        let ty = self.func.ty(pointer);
        let moved = self.b().emit1(Op::Offset, &[pointer, n], ty);
        Place::Part(Root::Handle(moved), Steps::default())
    }
}
