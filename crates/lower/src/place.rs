//! Lowers places: expressions that can be read and assigned.
//!
//! A place is evaluated once, its indices in order, and can then be read and written. Most are a [`Path`] from a root: a
//! variable, the memory of a handle, or a plain value (which is read-only). A read is one `extract` or `load`, a write one
//! `insert` or `store`. Other places are views of a place: components, elements of a matrix, fields of a tuple, a conversion,
//! a property. A write to a view writes the underlying place.

use crate::func::Frame;
use crate::number::cell_path;
use cotangent_base::Scalar;
use cotangent_ir::eval::Eval;
use cotangent_ir::layout;
use cotangent_ir::{Const, Path, Step, Ty, Type, Value, type_group};
use cotangent_sema::hir::{self, Expr, ExprKind, FuncRef, LocalId};

/// Elements of a buffer up to this byte are named by a constant index. The index of later ones is computed at run time, so
/// that byte offsets do not overflow.
const LONGEST: u32 = 1 << 28;

/// A place.
pub(crate) enum Place {
    /// A part of something.
    Part(Root, Steps),
    /// Lanes of a vector.
    Lanes(Box<Place>, Vec<u8>),
    /// Fields of a tuple, as a tuple of that type.
    Fields(Box<Place>, Vec<u8>, Ty),
    /// Elements of a matrix.
    Cells(Box<Place>, Vec<(u8, u8)>),
    /// Another type, the second; writing converts back to the first.
    Converted(Box<Place>, Ty, Ty),
    /// A part of one of these.
    Inner(Box<Place>, Steps),
    /// A property or subscript.
    Property(Box<Property>),
}

/// Where a path starts.
#[derive(Clone, Copy)]
pub(crate) enum Root {
    /// A variable.
    Local(LocalId),
    /// A buffer, or a variable in memory.
    Handle(Value),
    /// A value, not to be written.
    Value(Value),
}

/// A path with its indices.
#[derive(Clone, Default)]
pub(crate) struct Steps {
    pub path: Path,
    pub indices: Vec<Value>,
}

/// One step.
pub(crate) enum Index {
    Known(u32),
    Dynamic(Value),
}

/// A property with its object and arguments evaluated.
pub(crate) struct Property {
    this: Option<This>,
    args: Vec<Value>,
    get: Option<FuncRef>,
    set: Option<FuncRef>,
    ty: Ty,
    /// Whether it is read without its derivative.
    no_diff: bool,
}

/// The object of a property: a place if an accessor changes it.
enum This {
    Place(Place),
    Value(Value),
}

impl Steps {
    fn push(&mut self, index: Index) {
        match index {
            Index::Known(part) => self.path.0.push(Step::Part(part)),
            Index::Dynamic(value) => {
                self.path.0.push(Step::Index);
                self.indices.push(value);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.path.0.is_empty()
    }
}

impl Place {
    /// Whether reading it is a call.
    pub fn has_getter(&self) -> bool {
        matches!(self, Place::Property(property) if property.get.is_some())
    }

    /// The part of this place that one more step leads to.
    fn part(self, index: Index) -> Place {
        match self {
            Place::Part(root, mut steps) => {
                steps.push(index);
                Place::Part(root, steps)
            }
            Place::Inner(base, mut steps) => {
                steps.push(index);
                Place::Inner(base, steps)
            }
            other @ (Place::Lanes(..)
            | Place::Fields(..)
            | Place::Cells(..)
            | Place::Converted(..)
            | Place::Property(_)) => {
                let mut steps = Steps::default();
                steps.push(index);
                Place::Inner(Box::new(other), steps)
            }
        }
    }
}

impl Frame<'_, '_> {
    /// Evaluates a place. An expression that is none gives its value, which can be read.
    pub fn place(&mut self, e: &Expr) -> Place {
        let outer = std::mem::replace(&mut self.span, e.span);
        let place = self.place_kind(e);
        self.span = outer;
        place
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is a value")]
    fn place_kind(&mut self, e: &Expr) -> Place {
        match &e.kind {
            ExprKind::Local(local) if self.by_ref.contains(*local) => {
                Place::Part(Root::Handle(self.var(*local)), Steps::default())
            }
            ExprKind::Local(local) => Place::Part(Root::Local(*local), Steps::default()),
            ExprKind::Global(global, args) => Place::Part(self.global(*global, *args), Steps::default()),
            ExprKind::Field(base, field) => self.place(base).part(Index::Known(*field)),
            ExprKind::Element(base, index) => self.element(base, index),
            ExprKind::Swizzle(base, lanes) => self.lanes_place(base, lanes, e.ty),
            ExprKind::MatrixSwizzle(base, cells) => {
                let base = self.place(base);
                match cells[..] {
                    [(row, column)] => base.part(Index::Known(row.into())).part(Index::Known(column.into())),
                    _ => Place::Cells(Box::new(base), cells.clone()),
                }
            }
            ExprKind::Convert(base) => self.converted_place(base, e.ty),
            ExprKind::Property { this, args, get, set, mutating, .. } => {
                let this = this.as_ref().map(|this| match mutating {
                    true => This::Place(self.place(this)),
                    false => This::Value(self.expr(this)),
                });
                let args = args.iter().map(|a| self.expr(a)).collect();
                let ty = self.ty(e.ty);
                Place::Property(Box::new(Property { this, args, get: *get, set: *set, ty, no_diff: false }))
            }
            _ => Place::Part(Root::Value(self.expr(e)), Steps::default()),
        }
    }

    fn element(&mut self, base: &Expr, index: &Expr) -> Place {
        let ty = self.ty(base.ty);
        let source = self.lowerer.queries.subst(base.ty, &self.subst);
        if self.lowerer.is_block(source) {
            return self.place(base);
        }
        let base = match self.lowerer.module.types.get(ty) {
            Type::Ref(_) => return self.behind_pointer(base, index),
            Type::Buffer(..) => Place::Part(Root::Handle(self.expr(base)), Steps::default()),
            Type::Opaque(_) | type_group!(unit | number | composite) => self.place(base),
        };
        let index = self.index_below(index, self.parts(ty));
        let types = &self.lowerer.module.types;
        if let Type::Buffer(elem, _) = types.get(ty)
            && types.element_value(elem).is_some()
        {
            base.part(index).part(Index::Known(0))
        } else {
            base.part(index)
        }
    }

    /// How many parts of a type a constant index can name. The length of a buffer is not known; [`LONGEST`] limits it.
    fn parts(&self, ty: Ty) -> Option<u32> {
        let types = &self.lowerer.module.types;
        let Type::Buffer(element, _) = types.get(ty) else { return types.arity(ty) };
        let size = layout::layout(types, element).map_or(4, |layout| layout.size.max(1));
        Some(LONGEST / size)
    }

    /// An index into `parts` parts, if their number is known. A constant index outside is left to run time, where it traps:
    /// the access may never run.
    fn index_below(&mut self, index: &Expr, parts: Option<u32>) -> Index {
        match self.index(index) {
            Index::Known(n) if parts.is_some_and(|parts| n >= parts) => Index::Dynamic(self.expr(index)),
            found @ (Index::Known(_) | Index::Dynamic(_)) => found,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is a value")]
    pub(crate) fn index(&mut self, index: &Expr) -> Index {
        let known = match index.kind {
            ExprKind::Const(hir::Const::Int(n)) => Some(n),
            ExprKind::Val(val) => self.known(val),
            _ => None,
        };
        match known.and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Index::Known(n),
            None => Index::Dynamic(self.expr(index)),
        }
    }

    fn lanes_place(&mut self, base: &Expr, lanes: &[u8], result: hir::Ty) -> Place {
        let ty = self.ty(base.ty);
        let base = self.place(base);
        match (self.lowerer.module.types.get(ty), lanes) {
            (Type::Struct(_), _) => Place::Fields(Box::new(base), lanes.to_vec(), self.ty(result)),
            (Type::Scalar(_), [_]) => base,
            (Type::Vector(..), &[lane]) => base.part(Index::Known(lane.into())),
            _ => Place::Lanes(Box::new(base), lanes.to_vec()),
        }
    }

    /// A structure's base is its first field; other conversions are of numbers.
    fn converted_place(&mut self, base: &Expr, to: hir::Ty) -> Place {
        let (from, to) = (self.ty(base.ty), self.ty(to));
        let mut place = self.place(base);
        if from == to {
            return place;
        }
        if !self.is_base(from, to) {
            return Place::Converted(Box::new(place), from, to);
        }
        let mut ty = from;
        while ty != to {
            place = place.part(Index::Known(0));
            ty = self.lowerer.module.types.part(ty, Some(0)).unwrap_or(to);
        }
        place
    }

    /// The value in a place, with no derivative. A getter need not be differentiable then.
    pub fn read_no_diff(&mut self, mut place: Place) -> Value {
        if let Place::Property(property) = &mut place {
            property.no_diff = true;
        }
        let value = self.read(&place);
        self.detach(value)
    }

    /// The value in a place.
    pub fn read(&mut self, place: &Place) -> Value {
        match place {
            Place::Part(Root::Handle(handle), steps) => self.load(*handle, steps),
            Place::Part(Root::Local(local), steps) => {
                let value = self.var(*local);
                self.extract(value, steps)
            }
            Place::Part(Root::Value(value), steps) => self.extract(*value, steps),
            Place::Inner(base, steps) => {
                let value = self.read(base);
                self.extract(value, steps)
            }
            Place::Lanes(base, lanes) => {
                let value = self.read(base);
                self.swizzle(value, lanes)
            }
            Place::Fields(base, fields, ty) => {
                let value = self.read(base);
                let parts: Vec<Value> = fields.iter().map(|i| self.b().part(value, (*i).into())).collect();
                self.b().pack(&parts, *ty)
            }
            Place::Cells(base, cells) => {
                let value = self.read(base);
                self.matrix_swizzle(value, cells)
            }
            Place::Converted(base, _, to) => {
                let value = self.read(base);
                self.convert(value, *to)
            }
            Place::Property(property) => self.get(property),
        }
    }

    fn extract(&mut self, value: Value, steps: &Steps) -> Value {
        if steps.is_empty() {
            return value;
        }
        if !self.fits(value, steps) {
            return value;
        }
        self.b().extract(value, steps.path.clone(), &steps.indices)
    }

    fn load(&mut self, handle: Value, steps: &Steps) -> Value {
        if !self.fits(handle, steps) {
            return handle;
        }
        self.b().load(handle, steps.path.clone(), &steps.indices)
    }

    /// Whether the path exists in the type; it does unless something went wrong before.
    pub fn fits(&mut self, value: Value, steps: &Steps) -> bool {
        let ty = self.func.ty(value);
        let fits = self.lowerer.module.types.part_at(ty, &steps.path).is_some();
        if !fits {
            self.internal("a place has no such part");
        }
        fits
    }

    /// Writes a place.
    pub fn write(&mut self, place: &Place, value: Value) {
        match place {
            Place::Part(Root::Local(local), steps) => {
                let value = if steps.is_empty() {
                    value
                } else {
                    let whole = self.var(*local);
                    self.insert(whole, value, steps)
                };
                self.set_var(*local, value);
            }
            Place::Part(Root::Handle(handle), steps) => {
                if self.fits(*handle, steps) {
                    self.b().store(*handle, value, steps.path.clone(), &steps.indices);
                }
            }
            Place::Part(Root::Value(_), _) => self.internal("a value that is no place is assigned"),
            Place::Inner(base, steps) => {
                let whole = self.read(base);
                let whole = self.insert(whole, value, steps);
                self.write(base, whole);
            }
            Place::Lanes(base, lanes) | Place::Fields(base, lanes, _) => self.write_lanes(base, lanes, value),
            Place::Cells(base, cells) => self.write_cells(base, cells, value),
            Place::Converted(base, from, _) => {
                let value = self.convert(value, *from);
                self.write(base, value);
            }
            Place::Property(property) => self.set(property, value),
        }
    }

    fn insert(&mut self, whole: Value, part: Value, steps: &Steps) -> Value {
        if !self.fits(whole, steps) {
            return whole;
        }
        self.b().insert(whole, part, steps.path.clone(), &steps.indices)
    }

    /// `v.wx = ..`: each lane of the value goes to its lane of the vector, or field of the tuple.
    fn write_lanes(&mut self, base: &Place, lanes: &[u8], value: Value) {
        let paths = lanes.iter().map(|lane| Path::part((*lane).into())).collect();
        self.scatter(base, paths, value);
    }

    fn write_cells(&mut self, base: &Place, cells: &[(u8, u8)], value: Value) {
        let paths = cells.iter().map(|cell| cell_path(*cell)).collect();
        self.scatter(base, paths, value);
    }

    /// Writes the lanes of a vector to parts of a place. In memory each goes by itself: other threads may be writing
    /// the parts in between.
    fn scatter(&mut self, base: &Place, paths: Vec<Path>, value: Value) {
        let arity = self.lowerer.module.types.arity(self.func.ty(value));
        if arity != Some(paths.len() as u32) {
            return self.internal("lanes are assigned a value with other lanes");
        }
        let parts: Vec<Value> = (0..paths.len()).map(|i| self.b().part(value, i as u32)).collect();
        let parts = paths.into_iter().zip(parts);
        if let Place::Part(root @ Root::Handle(_), steps) = base {
            for (path, part) in parts {
                let mut steps = steps.clone();
                steps.path.0.extend(path.0);
                self.write(&Place::Part(*root, steps), part);
            }
            return;
        }
        let mut whole = self.read(base);
        for (path, part) in parts {
            whole = self.insert(whole, part, &Steps { path, indices: vec![] });
        }
        self.write(base, whole);
    }

    fn get(&mut self, property: &Property) -> Value {
        let Some(get) = property.get else {
            self.internal("a property that cannot be read is read");
            return self.b().undef(property.ty);
        };
        if let Some(known) = self.required_constant(property, get) {
            return known;
        }
        let inputs = self.property_inputs(property);
        let Some((result, outs)) = self.call_values(get, inputs, property.no_diff) else {
            return self.b().undef(property.ty);
        };
        if let (Some(This::Place(this)), Some(&new)) = (&property.this, outs.first()) {
            self.write(this, new);
        }
        result.unwrap_or_else(|| self.b().undef(property.ty))
    }

    /// The value of `T.N` in this instance, if it is an integer or a truth value, so that conditions on it are known.
    fn required_constant(&mut self, property: &Property, get: FuncRef) -> Option<Value> {
        let Type::Scalar(scalar) = self.lowerer.module.types.get(property.ty) else { return None };
        if property.this.is_some() || scalar.is_float() {
            return None;
        }
        let get = self.lowerer.queries.subst_func(get, &self.subst);
        let known = self.lowerer.queries.required_constant(get)?;
        let known = if scalar == Scalar::Bool {
            Const::Bool(known != 0)
        } else {
            Eval::default().constant(Const::Int(known), scalar)
        };
        Some(self.b().constant(known, property.ty))
    }

    fn set(&mut self, property: &Property, value: Value) {
        let Some(set) = property.set else {
            return self.internal("a property that cannot be written is assigned");
        };
        let mut inputs = self.property_inputs(property);
        inputs.push(value);
        let Some((_, outs)) = self.call_values(set, inputs, false) else {
            return;
        };
        if let (Some(This::Place(this)), Some(&new)) = (&property.this, outs.first()) {
            self.write(this, new);
        }
    }

    fn property_inputs(&mut self, property: &Property) -> Vec<Value> {
        let this = property.this.as_ref().map(|this| match this {
            This::Place(place) => self.read(place),
            This::Value(value) => *value,
        });
        this.into_iter().chain(property.args.iter().copied()).collect()
    }
}
