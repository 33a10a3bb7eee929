//! An entry point that calls a function at many points.
//!
//! ```text
//! global @in0: buffer<f32> param        the inputs at all points
//! global @out0: rwbuffer<f32> param     and the outputs
//! global @count: u32 param
//! func @points(%id: vec3<u32>) entry(64, 1, 1)(dispatch_thread_id) {
//!   if %id.x < @count { store @out0, call @f(load @in0 [%id.x]) [%id.x] }
//! }
//! ```
//!
//! A point is a thread, so points run in groups, in lanes and on all cores as threads do. A function that uses memory of its group,
//! or meets other threads, is alone in its group.

use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{
    Access, Builder, Dir, Entry, Func, FuncId, Global, GlobalData, GlobalKind, Link, Math, Module, Op, Param,
    Path, Signature, Stage, Step, SystemValue, Ty, Type, layout,
};

/// Threads of a group, where they do not meet.
const THREADS: u32 = 64;

/// A module with an entry point that calls a function, and its parameters.
pub(crate) struct Points {
    pub module: Module,
    pub entry: FuncId,
    /// Where the inputs and outputs of the function are; none for what takes no bytes.
    pub inputs: Vec<Option<Global>>,
    pub outputs: Vec<Option<Global>>,
    pub count: Global,
    /// Threads of a group.
    pub threads: u32,
}

impl Points {
    /// Adds the entry point to a copy of a module.
    pub fn new(module: &Module, func: FuncId) -> Points {
        let mut module = module.clone();
        let sig = module.funcs[func].sig.clone();
        let inputs: Vec<(Ty, Option<Global>)> = sig
            .inputs()
            .enumerate()
            .map(|(i, p)| (p.ty, array(&mut module, &format!("in{i}"), p.ty, Access::Read)))
            .collect();
        let outputs: Vec<(Ty, Option<Global>)> = sig
            .outputs()
            .enumerate()
            .map(|(i, p)| (p.ty, array(&mut module, &format!("out{i}"), p.ty, Access::ReadWrite)))
            .collect();
        let word = module.types.scalar(Scalar::U32);
        let count = global(&mut module, "count", word);
        let threads = if meets_others(&module) { 1 } else { THREADS };
        let entry = write(&mut module, func, &inputs, &outputs, count, threads);
        let globals = |all: Vec<(Ty, Option<Global>)>| all.into_iter().map(|(_, global)| global).collect();
        Points { module, entry, inputs: globals(inputs), outputs: globals(outputs), count, threads }
    }
}

/// Whether threads of a group have something in common.
fn meets_others(module: &Module) -> bool {
    let shares = module.globals.values().any(|global| global.kind == GlobalKind::Shared);
    let waits = |func: &Func| {
        let ops = func.all_insts().into_iter().map(|inst| &func.insts[inst].op);
        ops.into_iter().any(|op| matches!(op, Op::Wave(_) | Op::Barrier(_)))
    };
    shares || module.funcs.values().any(waits)
}

fn global(module: &mut Module, name: &str, ty: Ty) -> Global {
    // Names of the program have no blanks.
    let name = Symbol::new(&format!("{name} of all points"));
    module.globals.push(GlobalData { name, ty, kind: GlobalKind::Param, span: Span::none() })
}

/// A buffer of values, unless they take no bytes.
fn array(module: &mut Module, name: &str, ty: Ty, access: Access) -> Option<Global> {
    layout::layout(&module.types, ty).filter(|layout| layout.size > 0)?;
    let ty = module.types.intern(Type::Buffer(ty, access));
    Some(global(module, name, ty))
}

fn write(
    module: &mut Module,
    func: FuncId,
    inputs: &[(Ty, Option<Global>)],
    outputs: &[(Ty, Option<Global>)],
    count: Global,
    threads: u32,
) -> FuncId {
    let (word, id) = (module.types.scalar(Scalar::U32), module.types.intern(Type::Vector(Scalar::U32, 3)));
    let param = Param { name: Symbol::new("id"), ty: id, dir: Dir::In, diff: false };
    let sig = Signature { params: vec![param], ret: None };
    let name = Symbol::new(&format!("{} at all points", module.funcs[func].name));
    let mut entry = Func::new(name, sig, Span::none());
    entry.entry = Some(Entry {
        stage: Stage::Compute,
        threads: [threads, 1, 1],
        inputs: vec![Link::System(SystemValue::DispatchThreadId)],
        outputs: vec![],
    });
    let id = entry.inputs()[0];
    let types: Vec<Ty> = module.globals.values().map(|global| global.ty).collect();
    let ty_of = |global: Global| types[cotangent_base::Entity::index(global)];
    let mut b = Builder::new(&mut module.types, &mut entry);
    let point = b.part(id, 0);
    let count = b.emit1(Op::Global(count), &[], word);
    let is_there = b.math(Math::Lt, &[point, count]);
    let element = Path([Step::Index].into_iter().collect());
    b.if_(
        is_there,
        &[],
        |b| {
            let mut given = Vec::new();
            for (ty, array) in inputs {
                given.push(match array {
                    Some(array) => {
                        let array = b.emit1(Op::Global(*array), &[], ty_of(*array));
                        b.load(array, element.clone(), &[point])
                    }
                    None => b.zero(*ty),
                });
            }
            let types: Vec<Ty> = outputs.iter().map(|(ty, _)| *ty).collect();
            let call = b.emit(Op::Call(func), &given, &types);
            let results = b.func.insts[call].results.clone();
            for ((_, array), result) in outputs.iter().zip(results) {
                if let Some(array) = array {
                    let array = b.emit1(Op::Global(*array), &[], ty_of(*array));
                    b.store(array, result, element.clone(), &[point]);
                }
            }
            b.yield_(&[]);
        },
        |b| b.yield_(&[]),
    );
    b.emit(Op::Return, &[], &[]);
    module.funcs.push(entry)
}
