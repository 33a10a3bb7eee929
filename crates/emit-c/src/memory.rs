//! Emits loads, stores, atomic operations and pointers.
//!
//! A pointer consists of an address and the array that it may move in. As on the interpreter, bounds are checked when the
//! pointer is dereferenced (`ct::Ptr` in the prelude).

use crate::expr::Expr;
use crate::func::{FuncEmitter, Val};
use cotangent_base::Scalar;
use cotangent_ir::{Atomic, AtomicKind, Inst, InstData, Path, Step, Ty, Type, Value, type_group};
use cotangent_passes::precedence::PRIMARY;

impl FuncEmitter<'_, '_> {
    /// An element of a buffer or a part of a variable, as a place.
    pub fn memory(&mut self, handle: Value, path: &Path, indices: &[Value]) -> Expr {
        if let Some(Val::Variable(name)) = self.values.get(&handle).cloned() {
            let Type::Ref(inner) = self.shape(handle) else { return Expr::name(name) };
            return self.access(Expr::name(name), inner, path, indices);
        }
        let base = self.value(handle);
        let line = self.line_number();
        match self.shape(handle) {
            Type::Buffer(elem, _) => {
                let buffer = base.at_least(PRIMARY);
                let rest = Path(path.0[1..].into());
                let (index, rest_indices) = self.first_index(path, indices);
                let text = format!("{buffer}.at({}, {line})", index.text);
                self.access(Expr::of(text, PRIMARY, &[base, index]), elem, &rest, rest_indices)
            }
            Type::Ref(inner) => {
                let text = format!("{}.at({line})", base.at_least(PRIMARY));
                self.access(Expr::of(text, PRIMARY, &[base]), inner, path, indices)
            }
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => base,
            Type::Array(..) | Type::Struct(_) | Type::Sum(_) | Type::Opaque(_) => base,
        }
    }

    /// The element of a buffer that a path begins with, and the indices after it.
    fn first_index<'i>(&mut self, path: &Path, indices: &'i [Value]) -> (Expr, &'i [Value]) {
        match path.0[0] {
            Step::Part(index) => (Expr::name(format!("{index}u")), indices),
            Step::Index => (self.value(indices[0]), &indices[1..]),
        }
    }

    pub fn load(&mut self, data: &InstData, path: &Path) -> Expr {
        let place = self.memory(data.operands[0], path, &data.operands[1..]);
        Expr { memory: true, ..place }
    }

    pub fn store(&mut self, data: &InstData, path: &Path) {
        let value = self.value(data.operands[1]);
        let place = self.memory(data.operands[0], path, &data.operands[2..]);
        self.write_memory();
        let nowhere = match self.shape(data.operands[0]) {
            Type::Buffer(elem, _) => self.is_nowhere(elem, &path.0[1..]),
            Type::Ref(inner) => self.is_nowhere(inner, &path.0),
            Type::Opaque(_) | type_group!(unit | number | composite) => false,
        };
        if nowhere {
            return self.unwritten(&place, &value);
        }
        self.line(&format!("{} = {};", place.text, value.text));
    }

    /// Reads and writes a place in one step.
    pub fn atomic(&mut self, inst: Inst, data: &InstData, atomic: &Atomic) {
        let count = atomic.kind.values();
        let values: Vec<Expr> = data.operands[1..=count].iter().map(|v| self.value(*v)).collect();
        let indices = &data.operands[1 + count..];
        let place = match self.two_words(data, &atomic.path) {
            true => self.words(data, &atomic.path, indices),
            false => self.memory(data.operands[0], &atomic.path, indices),
        };
        self.write_memory();
        if self.together.contains(&inst) {
            return self.line(&format!("ct::atomic_add_together({}, {});", place.text, values[0].text));
        }
        let args: Vec<Expr> = [place].into_iter().chain(values).collect();
        let call = Expr::call(atomic_function(atomic.kind), &args);
        let update = Expr { effect: true, slots: vec![], memory: false, ..call };
        match data.results.first() {
            Some(result) => self.returned_value(*result, update),
            None => self.line(&format!("{};", update.text)),
        }
    }

    /// Whether an atomic operation takes a word and the next.
    fn two_words(&self, data: &InstData, path: &Path) -> bool {
        let word = Type::Scalar(Scalar::U32);
        let part = match self.shape(data.operands[0]) {
            Type::Buffer(elem, _) if path.0.len() == 1 => Some(elem),
            Type::Ref(inner) if path.0.is_empty() => Some(inner),
            type_group!(unit | number | composite | handle) => None,
        };
        let is_wide = matches!(self.shape(data.results[0]), Type::Scalar(s) if s.bytes() == 8);
        is_wide && part.is_some_and(|part| self.e.module.types.get(part) == word)
    }

    /// A word of a buffer and the next as one place of 64 bits.
    fn words(&mut self, data: &InstData, path: &Path, indices: &[Value]) -> Expr {
        let (base, ty) = (self.value(data.operands[0]), self.e.ty(self.func.ty(data.results[0])));
        let line = self.line_number();
        let pointer = if let Type::Buffer(..) = self.shape(data.operands[0]) {
            let (index, _) = self.first_index(path, indices);
            let text = format!("{}.point({})", base.at_least(PRIMARY), index.text);
            Expr::of(text, PRIMARY, &[base, index])
        } else {
            base
        };
        let text = format!("{}.wide<{ty}>({line})", pointer.at_least(PRIMARY));
        Expr::of(text, PRIMARY, &[pointer])
    }

    /// A pointer to a part, without looking whether it is there.
    pub fn point(&mut self, data: &InstData, path: &Path) -> Expr {
        let handle = data.operands[0];
        let base = self.value(handle);
        let mut indices = &data.operands[1..];
        let mut parts = vec![base.clone()];
        let (mut ty, mut text, steps) = match self.shape(handle) {
            Type::Buffer(elem, _) => {
                let (index, rest) = self.first_index(path, indices);
                indices = rest;
                let text = format!("{}.point({})", base.at_least(PRIMARY), index.text);
                parts.push(index);
                (elem, text, &path.0[1..])
            }
            Type::Ref(inner) => (inner, base.at_least(PRIMARY), &path.0[..]),
            Type::Opaque(_) | type_group!(unit | number | composite) => {
                (self.func.ty(handle), base.at_least(PRIMARY), &path.0[..])
            }
        };
        for step in steps {
            match (self.e.module.types.get(ty), step) {
                (Type::Struct(_), step) if self.is_left_out(ty, *step) => {
                    let part = self.e.module.types.part(ty, step.known()).expect("the path fits");
                    text += &format!(".template nothing<{}>()", self.e.ty(part));
                }
                (Type::Struct(id) | Type::Sum(id), Step::Part(index)) => {
                    let (name, field) = (self.e.ty(ty), self.e.structs.field(id, *index));
                    text += &format!(".field(&{name}::{field})");
                }
                (_, Step::Part(index)) => text += &format!(".element({index})"),
                (_, Step::Index) => {
                    let index = self.value(indices[0]);
                    indices = &indices[1..];
                    text += &format!(".element({})", index.text);
                    parts.push(index);
                }
            }
            ty = self.e.module.types.part(ty, step.known()).expect("the path fits");
        }
        Expr::of(text, PRIMARY, &parts)
    }

    /// Whether a structure has no field for a part.
    fn is_left_out(&self, ty: Ty, step: Step) -> bool {
        self.e.module.types.part(ty, step.known()).is_some_and(|part| self.e.is_empty(part))
    }

    /// `p` so many elements further on.
    pub fn offset(&self, args: &[Expr]) -> Expr {
        let (pointer, n) = (args[0].at_least(PRIMARY), &args[1].text);
        Expr::of(format!("{pointer}.moved({n})"), PRIMARY, args)
    }

    /// The address of a pointer.
    pub fn address(&self, args: &[Expr]) -> Expr {
        let (word, pointer) = (self.e.scalar(Scalar::U64), args[0].at_least(PRIMARY));
        Expr::of(format!("{word}({pointer}.address())"), PRIMARY, args)
    }

    /// A pointer made of another one, with its bounds, or of a number, without any.
    pub fn cast_pointer(&self, data: &InstData, args: &[Expr]) -> Expr {
        let to = if let Type::Ref(inner) = self.shape(data.results[0]) {
            self.e.ty(inner)
        } else {
            self.e.ty(self.func.ty(data.results[0]))
        };
        let text = if let Type::Ref(_) = self.shape(data.operands[0]) {
            format!("ct::cast<{to}>({})", args[0].text)
        } else {
            format!("ct::at_address<{to}>({})", args[0].text)
        };
        Expr::of(text, PRIMARY, args)
    }
}

/// The function of the prelude for an atomic operation.
fn atomic_function(kind: AtomicKind) -> &'static str {
    match kind {
        AtomicKind::Add => "ct::atomic_add",
        AtomicKind::And => "ct::atomic_and",
        AtomicKind::Or => "ct::atomic_or",
        AtomicKind::Xor => "ct::atomic_xor",
        AtomicKind::Min => "ct::atomic_min",
        AtomicKind::Max => "ct::atomic_max",
        AtomicKind::Exchange => "ct::atomic_exchange",
        AtomicKind::CompareExchange => "ct::atomic_compare_exchange",
    }
}
