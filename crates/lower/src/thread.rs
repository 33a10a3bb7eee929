//! System values of a thread for code that does not get them as parameters of the entry point: `cudaThreadIdx()` and its
//! relatives.
//!
//! Each is stored in a `static` variable, which every entry point sets first:
//!
//! ```text
//! func @cudaThreadIdx() -> u32x3 { return load @thread_index }
//! func @main(%i: u32x3) entry(..)(group_thread_id) { store @thread_index, %i  .. }
//! ```

use crate::instance::Lowerer;
use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{
    self as ir, Builder, Const, Dir, Func, FuncId, GlobalData, GlobalKind, Link, Op, Param, Path, Stage,
    SystemValue, Type, Value,
};

/// A number that belongs to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Number {
    /// Its place in the group.
    Thread,
    /// The place of the group.
    Group,
    /// How many threads a group has.
    Size,
}

impl Number {
    /// The number that an intrinsic of that name gives.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "thread_index" => Number::Thread,
            "group_index" => Number::Group,
            "group_size" => Number::Size,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Number::Thread => "thread_index",
            Number::Group => "group_index",
            Number::Size => "group_size",
        }
    }
}

/// Writes the body of an intrinsic that gives such a number.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: FuncId, number: Number) {
    let global = variable(lowerer, number);
    let mut func = lowerer.module.funcs[id].clone();
    let ty = lowerer.module.globals[global].ty;
    let mut b = Builder::new(&mut lowerer.module.types, &mut func);
    b.span = Span::none();
    let handle = b.emit1(Op::Global(global), &[], ty);
    let value = b.load(handle, Path::default(), &[]);
    b.emit(Op::Return, &[value], &[]);
    lowerer.module.funcs[id] = func;
}

fn variable(lowerer: &mut Lowerer<'_>, number: Number) -> ir::Global {
    if let Some(known) = lowerer.thread_numbers.iter().find(|(other, _)| *other == number) {
        return known.1;
    }
    let triple = lowerer.module.types.intern(Type::Vector(Scalar::U32, 3));
    let ty = lowerer.module.types.intern(Type::Ref(triple));
    let (name, kind) = (Symbol::new(number.name()), GlobalKind::Static(None));
    let global = lowerer.module.add_global(GlobalData { name, ty, kind, span: Span::none() });
    lowerer.thread_numbers.push((number, global));
    global
}

/// Has the entry points set the variables that are used.
pub(crate) fn set_numbers(lowerer: &mut Lowerer<'_>, entries: &[FuncId]) {
    for (number, global) in lowerer.thread_numbers.clone() {
        for &entry in entries {
            set(lowerer, entry, number, global);
        }
    }
}

fn set(lowerer: &mut Lowerer<'_>, entry: FuncId, number: Number, global: ir::Global) {
    let ir::Module { types, globals, funcs, .. } = &mut lowerer.module;
    let func = &mut funcs[entry];
    let Some(data) = func.entry.clone().filter(|data| data.stage == Stage::Compute) else { return };
    let body = std::mem::take(&mut func.regions[func.body].insts);
    let value = match number {
        Number::Thread => input(types, func, SystemValue::GroupThreadId),
        Number::Group => input(types, func, SystemValue::GroupId),
        Number::Size => {
            let ty = types.intern(Type::Vector(Scalar::U32, 3));
            let mut b = Builder::new(types, func);
            let unsigned = b.types.scalar(Scalar::U32);
            let threads = data.threads.map(|n| b.constant(Const::Int(n.into()), unsigned));
            b.pack(&threads, ty)
        }
    };
    let mut b = Builder::new(types, func);
    b.span = Span::none();
    let handle = b.emit1(Op::Global(global), &[], globals[global].ty);
    b.store(handle, value, Path::default(), &[]);
    let region = func.body;
    func.regions[region].insts.extend(body);
}

/// The input that has a system value; a new one if there is none.
fn input(types: &mut ir::Types, func: &mut Func, value: SystemValue) -> Value {
    let link = Link::System(value);
    let entry = func.entry.as_mut().expect("an entry point");
    if let Some(known) = entry.inputs.iter().position(|other| *other == link) {
        return func.inputs()[known];
    }
    entry.inputs.push(link);
    let ty = types.intern(value.ty());
    func.sig.params.push(Param { name: Symbol::new("thread"), ty, dir: Dir::In, diff: false });
    func.add_arg(func.body, ty)
}
