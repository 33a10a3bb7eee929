//! Shadows: the memory beside a parameter or variable that holds derivatives, and access to the parts of it.

use super::Asked;
use super::accesses::{Accesses, Done};
use super::samples::texture_of;
use super::texels;
use crate::codes;
use crate::tangent;
use cotangent_base::{Diagnostic, Diagnostics, EntityMap, Map, Scalar, Set, Span, Symbol};
use cotangent_ir::flat::{self, Lie, Order};
use cotangent_ir::layout::Matrices;
use cotangent_ir::{
    Access, Builder, Const, DiffTable, Global, GlobalData, GlobalKind, LoopInfo, Math, Mode, Module, Op,
    Path, Step, Ty, Type, Types, Value,
};

/// The shadow of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow {
    /// The parameter.
    pub of: Global,
    /// Its shadow, a buffer of scalars.
    pub global: Global,
    /// How many scalars each element of a buffer has in it, or each texel; of a uniform, how many there are.
    pub scalars: u32,
    /// Whether the parameter is a buffer or texture. The shadow of a uniform has one element.
    pub is_buffer: bool,
    /// Whether the kernel reads it.
    pub read: bool,
    /// Whether the kernel writes it.
    pub written: bool,
    /// Whether it has a copy for each thread.
    pub sliced: bool,
}

/// What is known about one shadow.
#[derive(Clone, Copy)]
struct Data {
    /// What holds the derivatives.
    global: Global,
    /// The type of the memory that it belongs to, of one element if that is a buffer, of one texel if that is a texture.
    of: Ty,
    /// How many scalars that has.
    scalars: u32,
    is_buffer: bool,
    is_texture: bool,
    done: Done,
    /// Whether other threads may add to it at the same time.
    atomic: bool,
    sliced: bool,
    /// Whether it belongs to group-shared memory and has a copy for each thread. Its value is the sum of the group's copies.
    of_group: bool,
}

/// The shadows of a kernel.
pub(super) struct Shadows {
    known: Map<Global, Data>,
    /// In the order in which they were made.
    all: Vec<Global>,
    /// The variable with the number of the thread, if there are shadows with a copy for each.
    slice: Option<Global>,
    /// The layout of matrices.
    order: Order,
    /// How many threads a group has.
    threads: u32,
}

/// A part of a shadow: the first of its scalars, and the type of the derivatives there.
pub(super) struct Place<'s> {
    /// The shadow.
    pub global: Global,
    /// The type of the derivatives.
    pub ty: Ty,
    atomic: bool,
    fixed: u32,
    /// For each index, how many scalars it skips.
    strides: Vec<u32>,
    /// The layout of the part.
    lie: Lie<'s>,
    /// The texture whose texels it belongs to.
    texture: Option<Global>,
    /// The variable with the number of the thread and the memory, if each thread has a copy.
    slice: Option<(Global, Global)>,
    /// How many scalars an element has.
    scalars: u32,
    /// The number of copies to sum: one for each thread of a group.
    copies: Option<u32>,
}

impl Shadows {
    /// Makes the shadows that a derivative needs.
    /// Interface values in memory have none yet.
    pub fn new(
        module: &mut Module,
        accesses: &Accesses,
        asked: &Asked,
        owned: &Set<Global>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let size = module.funcs[asked.entry].entry.as_ref().map_or([1; 3], |entry| entry.threads);
        let threads = size.iter().fold(1, |all: u32, n| all.saturating_mul(*n));
        let order = order(module, asked.matrices);
        let mut shadows = Shadows { known: Map::default(), all: vec![], slice: None, order, threads };
        let is_in = |set: &Option<Set<Global>>, global| set.as_ref().is_none_or(|set| set.contains(&global));
        for global in module.globals.keys().collect::<Vec<_>>() {
            let Some(done) = accesses.done_to(global) else { continue };
            // What nobody reads matters only as a result; what nobody writes only if its derivative is wanted.
            let needed = match (done.read, done.written) {
                (true, false) => is_in(&asked.wrt, global),
                (false, true) => is_in(&asked.results, global),
                (read, written) => read && written,
            };
            let is_ordered = asked.deterministic && asked.mode == Mode::Backward;
            let is_shared = module.globals[global].kind == GlobalKind::Shared;
            if needed && let Some(mut data) = make(module, global, done, asked.mode, is_ordered && is_shared)
            {
                if holds_sum(module, data.of) {
                    diagnostics.push(interface_values(&module.globals[global]));
                }
                let is_param = module.globals[global].kind == GlobalKind::Param;
                if is_ordered && is_param && !owned.contains(&global) {
                    // What is written is read by the thread that wrote it.
                    data.sliced = done.read && !done.written;
                    data.atomic &= !data.sliced;
                }
                if data.sliced && shadows.slice.is_none() {
                    shadows.slice = Some(variable(module));
                }
                shadows.known.insert(global, data);
                shadows.all.push(global);
            }
        }
        shadows
    }

    /// Shadows that the host provides: those of parameters, and copies of group-shared variables.
    pub fn of_params(&self, module: &Module) -> Vec<Shadow> {
        let shadow = |of: &Global| {
            let Data { global, scalars, is_buffer, is_texture, done, sliced, of_group, .. } = self.known[of];
            // The host has no group-shared variables.
            let Done { read, written } = if of_group { Done::default() } else { done };
            let is_buffer = is_buffer || is_texture;
            let is_param = module.globals[global].kind == GlobalKind::Param;
            is_param.then_some(Shadow { of: *of, global, scalars, is_buffer, read, written, sliced })
        };
        self.all.iter().filter_map(shadow).collect()
    }

    /// The variable with the number of the thread, if it is needed.
    pub fn slice(&self) -> Option<Global> {
        self.slice
    }

    /// Whether shadows of group-shared variables are in device memory.
    pub fn leave_the_group(&self) -> bool {
        self.known.values().any(|data| data.of_group)
    }

    /// Those of group-shared variables, with their lengths.
    pub fn of_group(&self, module: &Module) -> Vec<(Global, u32)> {
        let data = self.all.iter().map(|of| &self.known[of]);
        let shared = data.filter(|data| module.globals[data.global].kind == GlobalKind::Shared);
        shared.map(|data| (data.global, data.scalars)).collect()
    }

    /// Whether some memory has a shadow.
    pub fn has(&self, of: Global) -> bool {
        self.known.contains_key(&of)
    }

    /// The place of the part at `path` of a buffer, variable or uniform, or of a texel, if that carries a derivative.
    pub fn place(&self, types: &Types, diff: &DiffTable, of: Global, path: &Path) -> Option<Place<'_>> {
        let data = self.known.get(&of)?;
        let mut place = Place {
            global: data.global,
            ty: diff.find_differential(types, data.of)?,
            atomic: data.atomic,
            fixed: 0,
            strides: vec![],
            lie: Lie::new(&self.order),
            texture: data.is_texture.then_some(of),
            slice: self.slice.filter(|_| data.sliced).map(|slice| (slice, of)),
            scalars: data.scalars,
            copies: data.of_group.then_some(self.threads),
        };
        if data.is_texture {
            place.strides.push(data.scalars);
        }
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
                place.fixed += fields[..at as usize].iter().map(|f| flat::floats(types, f.ty)).sum::<u32>();
                place.ty = fields[at as usize].ty;
                place.lie = place.lie.field(types, inner, at);
            } else {
                let (stride, lie) = place.lie.parts(types, place.ty);
                place.ty = types.part(place.ty, step.known())?;
                place.lie = lie;
                place.step(*step, stride);
            }
            ty = types.part(ty, step.known())?;
        }
        Some(place)
    }
}

impl Place<'_> {
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
        if let Some((slice, of)) = self.slice {
            let before = self.before(b, globals, slice, of);
            at = b.add(at, before);
        }
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

    /// How many scalars the copies of the threads before this one have.
    fn before(&self, b: &mut Builder<'_>, globals: &Globals, slice: Global, of: Global) -> Value {
        let unsigned = b.types.scalar(Scalar::U32);
        let variable = b.emit1(Op::Global(slice), &[], globals[slice].ty);
        let thread = b.load(variable, Path::default(), &[]);
        let scalars = b.constant(Const::Int(self.scalars.into()), unsigned);
        let before = b.mul(thread, scalars);
        if self.texture.is_some() {
            let texels = texels::count(b, of, globals);
            return b.mul(before, texels);
        }
        if !matches!(b.types.get(globals[of].ty), Type::Buffer(..)) {
            return before;
        }
        let handle = b.emit1(Op::Global(of), &[], globals[of].ty);
        let length = b.emit1(Op::Length, &[handle], unsigned);
        b.mul(before, length)
    }

    /// Adds the derivative `d` to what is there.
    pub fn add(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value], d: Value) {
        self.within(b, globals, indices, |b, handle, at| {
            flat::add(b, self.lie, (handle, at), d, self.atomic);
        });
    }

    /// Replaces what is there.
    pub fn store(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value], d: Value) {
        if let Some(copies) = self.copies {
            return self.store_all(b, globals, indices, (d, copies));
        }
        self.within(b, globals, indices, |b, handle, at| {
            flat::store(b, self.lie, (handle, at), d);
        });
    }

    /// What is there.
    pub fn load(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value]) -> Value {
        if let Some(copies) = self.copies {
            return self.sum(b, globals, indices, copies);
        }
        let Some(texture) = self.texture else {
            let (handle, at) = self.begin(b, globals, indices);
            return flat::load(b, self.lie, (handle, at), self.ty);
        };
        let texel = texels::Texel::new(b, texture, globals, indices);
        let found = b.if_(
            texel.inside,
            &[self.ty],
            |b| {
                let number = texel.number(b);
                let (handle, at) = self.begin(b, globals, &[number]);
                let found = flat::load(b, self.lie, (handle, at), self.ty);
                b.yield_(&[found]);
            },
            |b| {
                let zero = b.zero(self.ty);
                b.yield_(&[zero]);
            },
        );
        found[0]
    }

    /// The sum of the copies of the group's threads, in order.
    fn sum(&self, b: &mut Builder<'_>, globals: &Globals, indices: &[Value], copies: u32) -> Value {
        let (handle, first) = self.first_copy(b, globals, indices, copies);
        let (count, zero) = (b.int(copies.into()), b.zero(self.ty));
        let info = LoopInfo { max_iters: Some(copies), ..LoopInfo::default() };
        let sums = b.for_(info, count, &[zero], |b, thread, carried| {
            let at = self.copy(b, first, thread);
            let more = flat::load(b, self.lie, (handle, at), self.ty);
            let sum = tangent::add(b, &DiffTable::default(), carried[0], more);
            b.yield_(&[sum]);
        });
        sums[0]
    }

    /// Replaces the copies of all threads of the group.
    fn store_all(
        &self,
        b: &mut Builder<'_>,
        globals: &Globals,
        indices: &[Value],
        (d, copies): (Value, u32),
    ) {
        let (handle, first) = self.first_copy(b, globals, indices, copies);
        let count = b.int(copies.into());
        let info = LoopInfo { max_iters: Some(copies), ..LoopInfo::default() };
        b.for_(info, count, &[], |b, thread, _| {
            let at = self.copy(b, first, thread);
            flat::store(b, self.lie, (handle, at), d);
            b.yield_(&[]);
        });
    }

    /// The handle, and the index of the first scalar in the copy of the group's first thread.
    fn first_copy(
        &self,
        b: &mut Builder<'_>,
        globals: &Globals,
        indices: &[Value],
        copies: u32,
    ) -> (Value, Value) {
        let (handle, own) = self.begin(b, globals, indices);
        let Some((slice, _)) = self.slice else { return (handle, own) };
        let unsigned = b.types.scalar(Scalar::U32);
        let variable = b.emit1(Op::Global(slice), &[], globals[slice].ty);
        let thread = b.load(variable, Path::default(), &[]);
        let copies = b.constant(Const::Int(copies.into()), unsigned);
        let inside = b.math(Math::Rem, &[thread, copies]);
        let scalars = b.constant(Const::Int(self.scalars.into()), unsigned);
        let before = b.mul(inside, scalars);
        (handle, b.math(Math::Sub, &[own, before]))
    }

    /// The same scalar in the copy of a thread of the group.
    fn copy(&self, b: &mut Builder<'_>, first: Value, thread: Value) -> Value {
        let unsigned = b.types.scalar(Scalar::U32);
        let thread = b.emit1(Op::Bitcast, &[thread], unsigned);
        let scalars = b.constant(Const::Int(self.scalars.into()), unsigned);
        let before = b.mul(thread, scalars);
        b.add(first, before)
    }

    /// Runs `act` on the element. Does nothing outside a texture.
    fn within(
        &self,
        b: &mut Builder<'_>,
        globals: &Globals,
        indices: &[Value],
        act: impl FnOnce(&mut Builder<'_>, Value, Value),
    ) {
        let Some(texture) = self.texture else {
            let (handle, at) = self.begin(b, globals, indices);
            return act(b, handle, at);
        };
        let texel = texels::Texel::new(b, texture, globals, indices);
        b.if_(
            texel.inside,
            &[],
            |b| {
                let number = texel.number(b);
                let (handle, at) = self.begin(b, globals, &[number]);
                act(b, handle, at);
                b.yield_(&[]);
            },
            |b| b.yield_(&[]),
        );
    }
}

/// The layout of matrices in shadows: that of the memory which they belong to. `matrices` is the layout where nothing specifies
/// one.
fn order(module: &Module, matrices: Matrices) -> Order {
    let mut order = Order::new(matrices);
    for (id, row) in module.diff.iter() {
        let Type::Struct(differential) = module.types.get(row.differential) else { continue };
        let def = module.types.struct_def(id);
        for (index, place) in row.fields.iter().enumerate() {
            if let (Some(own), Some(place)) = (def.own_matrices(index), place) {
                order.own.insert((differential, *place), own);
            }
        }
    }
    order
}

/// A variable for the number of the thread.
fn variable(module: &mut Module) -> Global {
    let unsigned = module.types.scalar(Scalar::U32);
    let ty = module.types.intern(Type::Ref(unsigned));
    let name = Symbol::new("thread_number");
    module.add_global(GlobalData { name, ty, kind: GlobalKind::Static(None), span: Span::none() })
}

/// Whether the differential of a type has interface values inside, which are no fixed run of floats.
fn holds_sum(module: &mut Module, ty: Ty) -> bool {
    fn inside(types: &Types, ty: Ty) -> bool {
        match types.get(ty) {
            Type::Sum(_) => true,
            Type::Array(elem, _) => inside(types, elem),
            Type::Struct(id) => types.struct_def(id).fields.iter().any(|field| inside(types, field.ty)),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }
    let differential = module.diff.differential(&mut module.types, ty);
    differential.is_some_and(|differential| inside(&module.types, differential))
}

fn interface_values(global: &GlobalData) -> Diagnostic {
    let message = format!("`{}` holds interface values, which have no derivatives in memory", global.name);
    let help = match global.kind {
        GlobalKind::Param => {
            "name the parameters whose gradients you want with `--wrt`, or keep the data as structures"
        }
        GlobalKind::Shared | GlobalKind::Static(_) => {
            "keep the data as structures, and make the interface value where it is used"
        }
    };
    Diagnostic::new(codes::KERNEL, global.span, message).help(help)
}

/// The globals of a module.
pub(super) type Globals = EntityMap<Global, GlobalData>;

/// Makes the shadow of some memory, if its type carries derivatives. With `apart`, group-shared memory has a copy for each thread.
fn make(module: &mut Module, of: Global, done: Done, mode: Mode, apart: bool) -> Option<Data> {
    let texture = texture_of(module, of);
    let GlobalData { name, ty, kind, span } = module.globals[of].clone();
    let (of, is_buffer) = match (&kind, module.types.get(ty)) {
        (GlobalKind::Param, Type::Buffer(elem, _)) => (elem, true),
        (GlobalKind::Param, Type::Opaque(_)) => (module.types.intern(texture?.texel()), false),
        (GlobalKind::Shared | GlobalKind::Static(_), Type::Ref(ty)) => (ty, false),
        _ => (ty, false),
    };
    let differential = module.diff.differential(&mut module.types, of)?;
    let scalars = flat::floats(&module.types, differential);
    let is_double = flat::holds_double(&module.types, differential);
    let element = module.types.scalar(if is_double { Scalar::F64 } else { Scalar::F32 });
    let (ty, kind) = match kind {
        GlobalKind::Param => (Type::Buffer(element, Access::ReadWrite), GlobalKind::Param),
        GlobalKind::Shared if apart => (Type::Buffer(element, Access::ReadWrite), GlobalKind::Param),
        GlobalKind::Shared => (Type::Ref(module.types.intern(Type::Array(element, scalars))), kind),
        GlobalKind::Static(_) => {
            (Type::Ref(module.types.intern(Type::Array(element, scalars))), GlobalKind::Static(None))
        }
    };
    let ending = match mode {
        Mode::Forward => "tangent",
        Mode::Backward => "grad",
    };
    let atomic = !apart && !matches!(kind, GlobalKind::Static(_));
    let ty = module.types.intern(ty);
    let name = Symbol::new(&format!("{}_{ending}", name.as_str().replace('.', "_")));
    let global = module.add_global(GlobalData { name, ty, kind, span });
    let is_texture = texture.is_some();
    Some(Data { global, of, scalars, is_buffer, is_texture, done, atomic, sliced: apart, of_group: apart })
}
