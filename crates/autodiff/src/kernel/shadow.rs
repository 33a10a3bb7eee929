//! Shadows: the memory beside a parameter or variable that holds derivatives, and access to the parts of it.

use super::Asked;
use super::accesses::{Accesses, Done};
use cotangent_base::{EntityMap, Map, Scalar, Set, Symbol};
use cotangent_ir::{
    Access, Atomic, AtomicKind, Builder, Const, DiffTable, Global, GlobalData, GlobalKind, LoopInfo, Mode,
    Module, Op, Path, Step, Ty, Type, Types, Value,
};

/// Arrays of more elements than this are accessed in a loop.
const UNROLLED: u32 = 4;

/// The shadow of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow {
    /// The parameter.
    pub of: Global,
    /// Its shadow, a buffer of scalars.
    pub global: Global,
    /// How many scalars each element of a buffer has in it; of a uniform, how many there are.
    pub scalars: u32,
    /// Whether the parameter is a buffer. The shadow of a uniform has one element.
    pub is_buffer: bool,
    /// Whether the kernel reads it.
    pub read: bool,
    /// Whether the kernel writes it.
    pub written: bool,
}

/// What is known about one shadow.
#[derive(Clone, Copy)]
struct Data {
    /// What holds the derivatives.
    global: Global,
    /// The type of the memory that it belongs to, of one element if that is a buffer.
    of: Ty,
    /// How many scalars that has.
    scalars: u32,
    scalar: Scalar,
    is_buffer: bool,
    done: Done,
    /// Whether other threads may add to it at the same time.
    atomic: bool,
}

/// The shadows of a kernel.
pub(super) struct Shadows {
    known: Map<Global, Data>,
    /// In the order in which they were made.
    order: Vec<Global>,
}

/// A part of a shadow: the first of its scalars, and the type of the derivatives there.
pub(super) struct Place {
    /// The shadow.
    pub global: Global,
    /// The type of the derivatives.
    pub ty: Ty,
    scalar: Scalar,
    atomic: bool,
    fixed: u32,
    /// For each index, how many scalars it skips.
    strides: Vec<u32>,
}

impl Shadows {
    /// Makes the shadows that a derivative needs.
    pub fn new(module: &mut Module, accesses: &Accesses, asked: &Asked) -> Self {
        let mut shadows = Shadows { known: Map::default(), order: vec![] };
        let is_in = |set: &Option<Set<Global>>, global| set.as_ref().is_none_or(|set| set.contains(&global));
        for global in module.globals.keys().collect::<Vec<_>>() {
            let Some(done) = accesses.done_to(global) else { continue };
            // What nobody reads matters only as a result; what nobody writes only if its derivative is wanted.
            let needed = match (done.read, done.written) {
                (true, false) => is_in(&asked.wrt, global),
                (false, true) => is_in(&asked.results, global),
                (read, written) => read && written,
            };
            if needed && let Some(data) = make(module, global, done, asked.mode) {
                shadows.known.insert(global, data);
                shadows.order.push(global);
            }
        }
        shadows
    }

    /// Those of parameters.
    pub fn of_params(&self, module: &Module) -> Vec<Shadow> {
        let shadow = |of: &Global| {
            let Data { global, scalars, is_buffer, done: Done { read, written }, .. } = self.known[of];
            let is_param = module.globals[*of].kind == GlobalKind::Param;
            is_param.then_some(Shadow { of: *of, global, scalars, is_buffer, read, written })
        };
        self.order.iter().filter_map(shadow).collect()
    }

    /// Those of group-shared variables, with their lengths.
    pub fn of_group(&self, module: &Module) -> Vec<(Global, u32)> {
        let data = self.order.iter().map(|of| &self.known[of]);
        let shared = data.filter(|data| module.globals[data.global].kind == GlobalKind::Shared);
        shared.map(|data| (data.global, data.scalars)).collect()
    }

    /// Whether some memory has a shadow.
    pub fn has(&self, of: Global) -> bool {
        self.known.contains_key(&of)
    }

    /// The place of the part at `path` of a buffer, variable or uniform, if that carries a derivative.
    pub fn place(&self, types: &Types, diff: &DiffTable, of: Global, path: &Path) -> Option<Place> {
        let data = self.known.get(&of)?;
        let mut place = Place {
            global: data.global,
            ty: diff.find_differential(types, data.of)?,
            scalar: data.scalar,
            atomic: data.atomic,
            fixed: 0,
            strides: vec![],
        };
        let mut ty = data.of;
        let mut steps = path.0.iter();
        if data.is_buffer {
            place.step(*steps.next()?, data.scalars);
        }
        for step in steps {
            if let Type::Struct(id) = types.get(ty) {
                let field = step.known()?;
                let at = diff.get(id)?.fields[field as usize]?;
                let Type::Struct(inner) = types.get(place.ty) else { return None };
                let fields = &types.struct_def(inner).fields;
                place.fixed += fields[..at as usize].iter().map(|f| scalars(types, f.ty)).sum::<u32>();
                place.ty = fields[at as usize].ty;
            } else {
                place.ty = types.part(place.ty, step.known())?;
                place.step(*step, scalars(types, place.ty));
            }
            ty = types.part(ty, step.known())?;
        }
        Some(place)
    }
}

impl Place {
    fn step(&mut self, step: Step, scalars: u32) {
        match step {
            Step::Part(index) => self.fixed += index * scalars,
            Step::Index => self.strides.push(scalars),
        }
    }

    /// The handle of the shadow, and the number of the first scalar.
    fn begin(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value]) -> (Value, Value) {
        let handle = b.emit1(Op::Global(self.global), &[], globals[self.global].ty);
        let unsigned = b.types.scalar(Scalar::U32);
        let mut at = b.constant(Const::Int(self.fixed.into()), unsigned);
        for (&index, &stride) in indices.iter().zip(&self.strides) {
            let index = match b.types.scalar_of(b.ty(index)) {
                Some(Scalar::U32) => index,
                Some(Scalar::I32) => b.emit1(Op::Bitcast, &[index], unsigned),
                _ => b.emit1(Op::Convert, &[index], unsigned),
            };
            let stride = b.constant(Const::Int(stride.into()), unsigned);
            let skipped = b.mul(index, stride);
            at = b.add(at, skipped);
        }
        (handle, at)
    }

    /// Adds the derivative `d` to what is there.
    pub fn add(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value], d: Value) {
        let (handle, at) = self.begin(b, globals, indices);
        each(b, d, at, &|b, d, at| {
            let d = convert(b, d, self.scalar);
            if self.atomic {
                let add = Atomic { kind: AtomicKind::Add, path: Path::index() };
                let ty = b.ty(d);
                b.emit(Op::Atomic(add), &[handle, d, at], &[ty]);
            } else {
                let old = b.load(handle, Path::index(), &[at]);
                let new = b.add(old, d);
                b.store(handle, new, Path::index(), &[at]);
            }
        });
    }

    /// Replaces what is there.
    pub fn store(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value], d: Value) {
        let (handle, at) = self.begin(b, globals, indices);
        each(b, d, at, &|b, d, at| {
            let d = convert(b, d, self.scalar);
            b.store(handle, d, Path::index(), &[at]);
        });
    }

    /// What is there.
    pub fn load(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value]) -> Value {
        let (handle, at) = self.begin(b, globals, indices);
        gather(b, self.ty, at, handle)
    }
}

/// The globals of a module.
pub(super) type Globals = EntityMap<Global, GlobalData>;

/// Makes the shadow of some memory, if its type carries derivatives.
fn make(module: &mut Module, of: Global, done: Done, mode: Mode) -> Option<Data> {
    let GlobalData { name, ty, kind, span } = module.globals[of].clone();
    let (of, is_buffer) = match (&kind, module.types.get(ty)) {
        (GlobalKind::Param, Type::Buffer(elem, _)) => (elem, true),
        (GlobalKind::Shared | GlobalKind::Static(_), Type::Ref(ty)) => (ty, false),
        _ => (ty, false),
    };
    let differential = module.diff.differential(&mut module.types, of)?;
    let scalars = scalars(&module.types, differential);
    let is_double = holds_double(&module.types, differential);
    let scalar = if is_double { Scalar::F64 } else { Scalar::F32 };
    let element = module.types.scalar(scalar);
    let (ty, kind) = match kind {
        GlobalKind::Param => (Type::Buffer(element, Access::ReadWrite), GlobalKind::Param),
        GlobalKind::Shared => (Type::Ref(module.types.intern(Type::Array(element, scalars))), kind),
        GlobalKind::Static(_) => {
            (Type::Ref(module.types.intern(Type::Array(element, scalars))), GlobalKind::Static(None))
        }
    };
    let ending = match mode {
        Mode::Forward => "tangent",
        Mode::Backward => "grad",
    };
    let atomic = !matches!(kind, GlobalKind::Static(_));
    let ty = module.types.intern(ty);
    let name = Symbol::new(&format!("{}_{ending}", name.as_str().replace('.', "_")));
    let global = module.add_global(GlobalData { name, ty, kind, span });
    Some(Data { global, of, scalars, scalar, is_buffer, done, atomic })
}

/// How many floats a differential has.
fn scalars(types: &Types, ty: Ty) -> u32 {
    match types.get(ty) {
        Type::Scalar(s) if s.is_float() => 1,
        Type::Vector(s, n) if s.is_float() => n.into(),
        Type::Matrix(s, rows, columns) if s.is_float() => u32::from(rows) * u32::from(columns),
        Type::Array(elem, n) => n * scalars(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| scalars(types, f.ty)).sum(),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => 0,
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 0,
    }
}

fn holds_double(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Array(elem, _) => holds_double(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|f| holds_double(types, f.ty)),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {
            types.scalar_of(ty) == Some(Scalar::F64)
        }
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

/// A number as a float of another width.
fn convert(b: &mut Builder<'_>, value: Value, to: Scalar) -> Value {
    let to = b.types.scalar(to);
    if b.ty(value) == to { value } else { b.emit1(Op::Convert, &[value], to) }
}

/// `at` and `count` further scalars.
fn skip(b: &mut Builder<'_>, at: Value, count: u32) -> Value {
    if count == 0 {
        return at;
    }
    let ty = b.ty(at);
    let count = b.constant(Const::Int(count.into()), ty);
    b.add(at, count)
}

/// Where the element `k` of an array begins, whose elements have `stride` scalars each.
fn element(b: &mut Builder<'_>, at: Value, k: Value, stride: u32) -> Value {
    let ty = b.ty(at);
    let k = b.emit1(Op::Bitcast, &[k], ty);
    let stride = b.constant(Const::Int(stride.into()), ty);
    let skipped = b.mul(k, stride);
    b.add(at, skipped)
}

/// Calls `act` for each float of the derivative `d`, with the number of the scalar that belongs to it.
fn each(b: &mut Builder<'_>, d: Value, at: Value, act: &dyn Fn(&mut Builder<'_>, Value, Value)) {
    let ty = b.ty(d);
    match b.types.get(ty) {
        Type::Scalar(s) if s.is_float() => act(b, d, at),
        Type::Array(elem, n) if n > UNROLLED => {
            let stride = scalars(b.types, elem);
            let count = b.int(n.into());
            let info = LoopInfo { max_iters: Some(n), ..LoopInfo::default() };
            b.for_(info, count, &[], |b, k, _| {
                let part = b.extract(d, Path::index(), &[k]);
                let at = element(b, at, k, stride);
                each(b, part, at, act);
                b.yield_(&[]);
            });
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            let mut skipped = 0;
            for i in 0..b.types.arity(ty).unwrap_or(0) {
                let part = b.part(d, i);
                let (count, at) = (scalars(b.types, b.ty(part)), skip(b, at, skipped));
                if count > 0 {
                    each(b, part, at, act);
                }
                skipped += count;
            }
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {}
    }
}

/// The derivative of type `ty` whose first scalar is the one of number `at`.
fn gather(b: &mut Builder<'_>, ty: Ty, at: Value, handle: Value) -> Value {
    match b.types.get(ty) {
        Type::Scalar(s) if s.is_float() => {
            let value = b.load(handle, Path::index(), &[at]);
            convert(b, value, s)
        }
        Type::Array(elem, n) if n > UNROLLED => {
            let stride = scalars(b.types, elem);
            let (count, zero) = (b.int(n.into()), b.zero(ty));
            let info = LoopInfo { max_iters: Some(n), ..LoopInfo::default() };
            let filled = b.for_(info, count, &[zero], |b, k, carried| {
                let at = element(b, at, k, stride);
                let part = gather(b, elem, at, handle);
                let next = b.insert(carried[0], part, Path::index(), &[k]);
                b.yield_(&[next]);
            });
            filled[0]
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            let (mut skipped, mut parts) = (0, Vec::new());
            for i in 0..b.types.arity(ty).unwrap_or(0) {
                let part = b.types.part(ty, Some(i)).expect("a part for each number");
                let at = skip(b, at, skipped);
                skipped += scalars(b.types, part);
                parts.push(gather(b, part, at, handle));
            }
            b.pack(&parts, ty)
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
            b.zero(ty)
        }
    }
}
