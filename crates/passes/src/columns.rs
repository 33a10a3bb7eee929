//! Matrices that the host lays out column by column.
//!
//! A matrix of `r` rows and `c` columns that lies column by column is one of `c` rows and `r` columns that lies row by row. So in
//! memory that the host sees such matrices become their transposes, and what is read and written is transposed on the way. From
//! then on all matrices lie row by row, on every target.
//!
//! ```text
//! global @m: buffer<f32x2x3> param
//! func @f(%i: u32, out z: f32) -> f32x2x3 {
//!   %b: buffer<f32x2x3> = global @m
//!   %y: f32x2x3 = load %b [%i]
//!   %z: f32 = load %b [%i, 1, %i]
//!   return %y, %z
//! }
//! ```
//! becomes
//! ```text
//! global @m: buffer<f32x3x2> param
//! func @f(%i: u32, out z: f32) -> f32x2x3 {
//!   %b: buffer<f32x3x2> = global @m
//!   %t: f32x3x2 = load %b [%i]
//!   %y: f32x2x3 = transpose %t
//!   %z: f32 = load %b [%i, %i, 1]
//!   return %y, %z
//! }
//! ```
//!
//! A field may say itself how its matrix lies. A structure with such matrices becomes another one in memory, and values of it are
//! taken apart and put together again. Memory of groups and threads stays as it is: nobody but the program sees it.
//!
//! What this does not do: follow pointers. It comes behind [`pointers`](mod@crate::pointers), and gives the global back that a
//! pointer to such a matrix, or to a part of it, is left of; so it does with interface values that hold matrices.

use cotangent_base::{EntityMap, Map, Span, Symbol};
use cotangent_ir::layout::Matrices;
use cotangent_ir::shader::{ShaderParams, Shape};
use cotangent_ir::{
    Builder, Func, Global, GlobalData, GlobalKind, Inst, Module, Op, Path, Region, Step, StructDef,
    StructField, Ty, Type, Types, Value,
};

/// Whether the pass has anything to do.
pub fn is_needed(types: &Types, matrices: Matrices) -> bool {
    matrices == Matrices::Columns || types.structs().any(|(_, def)| !def.matrices.is_empty())
}

/// Turns matrices that lie column by column; `matrices` says how those lie that say nothing themselves. `Err` tells where
/// something is that it cannot turn.
pub fn columns(module: &mut Module, params: &mut ShaderParams, matrices: Matrices) -> Result<(), Span> {
    let mut turner = Turner { matrices, turned: Map::default() };
    turner.check(module)?;
    for func in module.funcs.values_mut() {
        turner.function(&mut module.types, func, &module.globals);
    }
    for data in module.globals.values_mut().filter(|g| g.kind == GlobalKind::Param) {
        data.ty = turner.stored(&mut module.types, data.ty);
    }
    let entries = params.entries.iter_mut().flat_map(|(_, params)| params);
    for param in params.globals.iter_mut().chain(entries) {
        turner.shape(&mut module.types, &mut param.shape);
    }
    Ok(())
}

/// Knows the types of memory.
struct Turner {
    matrices: Matrices,
    /// What structures become.
    turned: Map<Ty, Ty>,
}

/// What is left of a path where it comes to a matrix that is turned.
enum Rest {
    /// Nothing: a whole value with such matrices in it.
    Whole,
    /// A row.
    Row,
    /// A row and a lane of it, or a way past all such matrices.
    None,
}

impl Turner {
    /// Finds what cannot be turned.
    fn check(&self, module: &Module) -> Result<(), Span> {
        let types = &module.types;
        for data in module.globals.values().filter(|g| g.kind == GlobalKind::Param) {
            if self.is_beyond(types, data.ty) {
                return Err(data.span);
            }
        }
        for func in module.funcs.values() {
            for inst in func.all_insts() {
                let data = &func.insts[inst];
                let Op::Point(path) = &data.op else { continue };
                if let Some((_, _, Rest::Row | Rest::Whole)) = self.turned_path(types, func, inst, path, 1) {
                    return Err(data.span);
                }
            }
        }
        Ok(())
    }

    /// How a field lies.
    fn field(&self, def: &StructDef, index: usize) -> Matrices {
        def.own_matrices(index).unwrap_or(self.matrices)
    }

    /// Whether values of a type look different in memory.
    fn differs(&self, types: &Types, ty: Ty) -> bool {
        self.differs_as(types, ty, self.matrices)
    }

    fn differs_as(&self, types: &Types, ty: Ty, matrices: Matrices) -> bool {
        match types.get(ty) {
            Type::Matrix(..) => matrices == Matrices::Columns,
            Type::Array(elem, _) | Type::Buffer(elem, _) => self.differs(types, elem),
            Type::Struct(id) => {
                let def = types.struct_def(id);
                let fields = def.fields.iter().enumerate();
                fields.into_iter().any(|(i, f)| self.differs_as(types, f.ty, self.field(def, i)))
            }
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Sum(_)
            | Type::Opaque(_)
            | Type::Ref(_) => false,
        }
    }

    /// Whether memory of a type holds matrices to turn where this pass does not get at them.
    fn is_beyond(&self, types: &Types, ty: Ty) -> bool {
        match types.get(ty) {
            Type::Sum(id) => {
                let fields = &types.struct_def(id).fields;
                fields.iter().any(|f| self.differs(types, f.ty) || self.is_beyond(types, f.ty))
            }
            Type::Ref(inner) => self.differs(types, inner) || self.is_beyond(types, inner),
            Type::Array(inner, _) | Type::Buffer(inner, _) => self.is_beyond(types, inner),
            Type::Struct(id) => types.struct_def(id).fields.iter().any(|f| self.is_beyond(types, f.ty)),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => false,
        }
    }

    /// The type of memory that holds values of type `ty`.
    fn stored(&mut self, types: &mut Types, ty: Ty) -> Ty {
        self.stored_as(types, ty, self.matrices)
    }

    fn stored_as(&mut self, types: &mut Types, ty: Ty, matrices: Matrices) -> Ty {
        match types.get(ty) {
            Type::Matrix(s, r, c) if matrices == Matrices::Columns => types.intern(Type::Matrix(s, c, r)),
            Type::Array(elem, n) => {
                let elem = self.stored(types, elem);
                types.intern(Type::Array(elem, n))
            }
            Type::Buffer(elem, access) => {
                let elem = self.stored(types, elem);
                types.intern(Type::Buffer(elem, access))
            }
            Type::Struct(_) => self.stored_struct(types, ty),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Sum(_)
            | Type::Opaque(_)
            | Type::Ref(_) => ty,
        }
    }

    fn stored_struct(&mut self, types: &mut Types, ty: Ty) -> Ty {
        let Type::Struct(id) = types.get(ty) else { return ty };
        if let Some(known) = self.turned.get(&ty) {
            return *known;
        }
        let def = types.struct_def(id).clone();
        let mut fields = Vec::new();
        for (index, StructField { name, ty }) in def.fields.iter().enumerate() {
            let ty = self.stored_as(types, *ty, self.field(&def, index));
            fields.push(StructField { name: *name, ty });
        }
        // What says something of its own has said it; in memory nothing is left to say.
        let new = if fields == def.fields && def.matrices.is_empty() {
            ty
        } else {
            let id = types.add_struct(Symbol::new(&format!("{}_columns", def.name)), fields);
            types.intern(Type::Struct(id))
        };
        self.turned.insert(ty, new);
        new
    }

    fn shape(&mut self, types: &mut Types, shape: &mut Shape) {
        match shape {
            Shape::Value(ty) | Shape::Packed(ty, _) | Shape::Resource(ty) | Shape::Counter(ty) => {
                *ty = self.stored(types, *ty);
            }
            Shape::Block(_, inner) | Shape::Array(inner, _) => self.shape(types, inner),
            Shape::Struct(fields) => fields.iter_mut().for_each(|f| self.shape(types, &mut f.shape)),
        }
    }

    fn function(&mut self, types: &mut Types, func: &mut Func, globals: &EntityMap<Global, GlobalData>) {
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                let at = At { region, inst };
                let data = &func.insts[inst];
                match &data.op {
                    Op::Global(global) if globals[*global].kind == GlobalKind::Param => {
                        let ty = globals[*global].ty;
                        if !matches!(types.get(ty), Type::Buffer(..)) && self.differs(types, ty) {
                            self.read(types, func, at, ty);
                        }
                    }
                    Op::Load(path) => {
                        let path = path.clone();
                        self.load(types, func, at, &path);
                    }
                    Op::Store(path) => {
                        let path = path.clone();
                        self.store(types, func, at, &path);
                    }
                    Op::Atomic(atomic) => {
                        let (mut atomic, skip) =
                            (atomic.clone(), data.operands.len() - atomic.path.indices());
                        if let Some((path, indices, Rest::None)) =
                            self.turned_path(types, func, inst, &atomic.path, skip)
                        {
                            atomic.path = path;
                            self.put_back(func, inst, Op::Atomic(atomic), skip, &indices);
                        }
                    }
                    Op::Point(path) => {
                        let path = path.clone();
                        if let Some((path, indices, Rest::None)) =
                            self.turned_path(types, func, inst, &path, 1)
                        {
                            self.put_back(func, inst, Op::Point(path), 1, &indices);
                        }
                    }
                    _ => {}
                }
                func.regions[region].insts.push(inst);
            }
        }
        self.handles(types, func);
    }

    /// Handles of buffers have other types.
    fn handles(&mut self, types: &mut Types, func: &mut Func) {
        let mut turn = |ty: &mut Ty| {
            if matches!(types.get(*ty), Type::Buffer(..)) {
                *ty = self.stored(types, *ty);
            }
        };
        func.values.values_mut().for_each(|value| turn(&mut value.ty));
        func.sig.params.iter_mut().for_each(|param| turn(&mut param.ty));
        func.sig.ret.iter_mut().for_each(|result| turn(&mut result.ty));
    }

    /// Gives an instruction another path and other indices; `kept` operands come before them.
    fn put_back(&self, func: &mut Func, inst: Inst, op: Op, kept: usize, indices: &[Value]) {
        let data = &mut func.insts[inst];
        data.op = op;
        data.operands.truncate(kept);
        data.operands.extend(indices.iter().copied());
    }

    /// The path of an access to a buffer, its index operands and what is left to do; `None` if nothing changes. The indices are the
    /// operands from `skip` on.
    fn turned_path(
        &self,
        types: &Types,
        func: &Func,
        inst: Inst,
        path: &Path,
        skip: usize,
    ) -> Option<(Path, Vec<Value>, Rest)> {
        let operands = &func.insts[inst].operands;
        let Type::Buffer(elem, _) = types.get(func.ty(operands[0])) else { return None };
        if !self.differs(types, elem) {
            return None;
        }
        let mut indices = operands[skip..].iter().copied();
        let mut steps: Vec<(Step, Option<Value>)> = path
            .0
            .iter()
            .map(|step| (*step, if *step == Step::Index { indices.next() } else { None }))
            .collect();
        let (mut ty, mut matrices) = (elem, self.matrices);
        for at in 1..steps.len() {
            match types.get(ty) {
                Type::Matrix(..) if matrices == Matrices::Columns => {
                    let element = steps.len() - at == 2;
                    if element {
                        steps.swap(at, at + 1);
                    }
                    return Some(joined(&steps, if element { Rest::None } else { Rest::Row }));
                }
                Type::Struct(id) => {
                    let index = steps[at].0.known().unwrap_or(0);
                    matrices = self.field(types.struct_def(id), index as usize);
                }
                _ => matrices = self.matrices,
            }
            ty = types.part(ty, steps[at].0.known())?;
        }
        self.differs_as(types, ty, matrices).then(|| joined(&steps, Rest::Whole))
    }

    fn load(&mut self, types: &mut Types, func: &mut Func, at: At, path: &Path) {
        let Some((path, indices, rest)) = self.turned_path(types, func, at.inst, path, 1) else { return };
        let ty = func.ty(func.insts[at.inst].results[0]);
        let handle = func.insts[at.inst].operands[0];
        match rest {
            Rest::None => self.put_back(func, at.inst, Op::Load(path), 1, &indices),
            Rest::Whole => {
                let stored = self.stored_whole(types, func, at, ty, &path);
                let mut b = at.builder(types, func);
                let operands: Vec<Value> = [handle].into_iter().chain(indices).collect();
                let value = b.emit1(Op::Load(path), &operands, stored);
                self.finish(types, func, at, value, ty);
            }
            Rest::Row => {
                let lanes = types.arity(ty).unwrap_or(0);
                let scalar = types.part(ty, None).expect("a row has lanes");
                let mut b = at.builder(types, func);
                // The handle still has its old type, which these paths do not fit.
                let lanes: Vec<Value> = (0..lanes)
                    .map(|lane| {
                        let (path, indices) = across(&path, &indices, lane);
                        b.emit1(Op::Load(path), &[&[handle], &indices[..]].concat(), scalar)
                    })
                    .collect();
                func.insts[at.inst].op = Op::Pack;
                func.insts[at.inst].operands = lanes.into();
            }
        }
    }

    fn store(&mut self, types: &mut Types, func: &mut Func, at: At, path: &Path) {
        let Some((path, indices, rest)) = self.turned_path(types, func, at.inst, path, 2) else { return };
        let (handle, value) = (func.insts[at.inst].operands[0], func.insts[at.inst].operands[1]);
        match rest {
            Rest::None => self.put_back(func, at.inst, Op::Store(path), 2, &indices),
            Rest::Whole => {
                let matrices = self.own(types, func, at.inst, &path);
                let mut b = at.builder(types, func);
                let turned = self.turn(&mut b, value, matrices, true);
                func.insts[at.inst].operands[1] = turned;
            }
            Rest::Row => {
                let ty = func.ty(value);
                let count = types.arity(ty).unwrap_or(0);
                for lane in 0..count {
                    let (path, indices) = across(&path, &indices, lane);
                    let mut b = at.builder(types, func);
                    let part = b.part(value, lane);
                    if lane + 1 < count {
                        b.store(handle, part, path, &indices);
                    } else {
                        func.insts[at.inst].operands[1] = part;
                        self.put_back(func, at.inst, Op::Store(path), 2, &indices);
                    }
                }
            }
        }
    }

    /// How the matrix lies that a path to memory ends at.
    fn own(&self, types: &Types, func: &Func, inst: Inst, path: &Path) -> Matrices {
        let Type::Buffer(mut ty, _) = types.get(func.ty(func.insts[inst].operands[0])) else {
            return self.matrices;
        };
        let mut matrices = self.matrices;
        for step in &path.0[1..] {
            matrices = match types.get(ty) {
                Type::Struct(id) => self.field(types.struct_def(id), step.known().unwrap_or(0) as usize),
                _ => self.matrices,
            };
            ty = types.part(ty, step.known()).unwrap_or(ty);
        }
        matrices
    }

    fn stored_whole(&mut self, types: &mut Types, func: &Func, at: At, ty: Ty, path: &Path) -> Ty {
        let matrices = self.own(types, func, at.inst, path);
        self.stored_as(types, ty, matrices)
    }

    /// The value of a uniform.
    fn read(&mut self, types: &mut Types, func: &mut Func, at: At, ty: Ty) {
        let stored = self.stored(types, ty);
        let op = func.insts[at.inst].op.clone();
        let value = at.builder(types, func).emit1(op, &[], stored);
        self.finish(types, func, at, value, ty);
    }

    /// Makes an instruction give what was stored as `value`, of type `ty`.
    fn finish(&mut self, types: &mut Types, func: &mut Func, at: At, value: Value, ty: Ty) {
        let (op, operands) = match types.get(ty) {
            Type::Matrix(..) => (Op::Transpose, vec![value]),
            _ => (Op::Pack, self.parts(&mut at.builder(types, func), value, ty, false)),
        };
        func.insts[at.inst].op = op;
        func.insts[at.inst].operands = operands.into();
    }

    /// The parts of an aggregate of type `ty` as values, or as they are stored.
    fn parts(&mut self, b: &mut Builder<'_>, value: Value, ty: Ty, store: bool) -> Vec<Value> {
        let count = b.types.arity(ty).unwrap_or(0);
        let def = match b.types.get(ty) {
            Type::Struct(id) => Some(b.types.struct_def(id).clone()),
            _ => None,
        };
        let mut parts = Vec::new();
        for index in 0..count {
            let inner = b.types.part(ty, Some(index)).expect("it has that many parts");
            let matrices = def.as_ref().map_or(self.matrices, |def| self.field(def, index as usize));
            let part = b.part(value, index);
            parts.push(self.turn_as(b, part, inner, matrices, store));
        }
        parts
    }

    fn turn(&mut self, b: &mut Builder<'_>, value: Value, matrices: Matrices, store: bool) -> Value {
        let ty = b.ty(value);
        self.turn_as(b, value, ty, matrices, store)
    }

    /// A part of type `ty` as a value, or as it is stored.
    fn turn_as(
        &mut self,
        b: &mut Builder<'_>,
        value: Value,
        ty: Ty,
        matrices: Matrices,
        store: bool,
    ) -> Value {
        if !self.differs_as(b.types, ty, matrices) {
            return value;
        }
        let result = if store { self.stored_as(b.types, ty, matrices) } else { ty };
        match b.types.get(ty) {
            Type::Matrix(..) => b.emit1(Op::Transpose, &[value], result),
            _ => {
                let parts = self.parts(b, value, ty, store);
                b.pack(&parts, result)
            }
        }
    }
}

/// An instruction and the region that it is in.
#[derive(Clone, Copy)]
struct At {
    region: Region,
    inst: Inst,
}

impl At {
    /// Builds in front of it.
    fn builder<'b>(self, types: &'b mut Types, func: &'b mut Func) -> Builder<'b> {
        let span = func.insts[self.inst].span;
        Builder { types, func, region: self.region, span }
    }
}

fn joined(steps: &[(Step, Option<Value>)], rest: Rest) -> (Path, Vec<Value>, Rest) {
    let path = Path(steps.iter().map(|(step, _)| *step).collect());
    (path, steps.iter().filter_map(|(_, index)| *index).collect(), rest)
}

/// The path of one lane of a row, which is one row of what is stored: the lane comes before the row.
fn across(path: &Path, indices: &[Value], lane: u32) -> (Path, Vec<Value>) {
    let mut path = path.clone();
    let last = path.0.len() - 1;
    path.0.insert(last, Step::Part(lane));
    (path, indices.to_vec())
}
