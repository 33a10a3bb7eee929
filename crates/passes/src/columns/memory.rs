//! Finds the types whose form in memory differs from that of their values, and computes that form.
//!
//! Structures may contain one another many times and may point to themselves. So the analysis handles all types at once: the
//! difference starts at column-major matrices and propagates to the types that contain them.

use cotangent_base::{Map, Set, Symbol};
use cotangent_ir::layout::Matrices;
use cotangent_ir::shader::Shape;
use cotangent_ir::{StructDef, StructField, StructId, Ty, Type, Types};

/// Knows the types of memory.
pub(super) struct Memory {
    /// How matrices lie that say nothing themselves.
    pub matrices: Matrices,
    /// The structures with matrices that are turned.
    differing: Set<StructId>,
    /// The structures and sums with matrices to turn where the pass does not get at them.
    beyond: Set<StructId>,
    /// The structures with buffers of what looks different.
    holding: Set<StructId>,
    /// What structures become in memory.
    turned: Map<Ty, Ty>,
    /// What structures with such buffers become.
    held: Map<Ty, Ty>,
}

impl Memory {
    pub fn new(types: &Types, matrices: Matrices) -> Memory {
        let (differing, beyond, holding) = (Set::default(), Set::default(), Set::default());
        let (turned, held) = (Map::default(), Map::default());
        let mut memory = Memory { matrices, differing, beyond, holding, turned, held };
        while memory.spread(types) {}
        memory
    }

    /// Takes in what holds something known; whether there was any.
    fn spread(&mut self, types: &Types) -> bool {
        let known = self.known();
        for (id, def) in types.structs() {
            let mut fields = def.fields.iter().enumerate();
            if fields.any(|(i, f)| self.differs_as(types, f.ty, self.field(def, i))) {
                self.differing.insert(id);
            }
            if def.fields.iter().any(|f| self.is_beyond(types, f.ty)) {
                self.beyond.insert(id);
            }
            if def.fields.iter().any(|f| self.holds_buffer(types, f.ty)) {
                self.holding.insert(id);
            }
        }
        known != self.known()
    }

    fn known(&self) -> [usize; 3] {
        [&self.differing, &self.beyond, &self.holding].map(Set::len)
    }

    /// How a field lies.
    pub fn field(&self, def: &StructDef, index: usize) -> Matrices {
        def.own_matrices(index).unwrap_or(self.matrices)
    }

    /// Whether values of a type look different in memory.
    pub fn differs(&self, types: &Types, ty: Ty) -> bool {
        self.differs_as(types, ty, self.matrices)
    }

    /// The same of what lies as `matrices` says, if it is a matrix or an array of matrices.
    pub fn differs_as(&self, types: &Types, ty: Ty, matrices: Matrices) -> bool {
        match types.get(ty) {
            Type::Matrix(..) => matrices == Matrices::Columns,
            Type::Array(elem, _) => self.differs_as(types, elem, matrices),
            Type::Buffer(elem, _) => self.differs(types, elem),
            Type::Struct(id) => self.differing.contains(&id),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Sum(_)
            | Type::Opaque(_)
            | Type::Ref(_) => false,
        }
    }

    /// Whether memory of a type holds matrices to turn where the pass does not get at them.
    pub fn is_beyond(&self, types: &Types, ty: Ty) -> bool {
        match types.get(ty) {
            // What a sum holds is known of its definition, as if it were a structure.
            Type::Sum(id) => self.differing.contains(&id) || self.beyond.contains(&id),
            Type::Ref(inner) => self.differs(types, inner) || self.is_beyond(types, inner),
            Type::Array(inner, _) | Type::Buffer(inner, _) => self.is_beyond(types, inner),
            Type::Struct(id) => self.beyond.contains(&id),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => false,
        }
    }

    /// Whether a value of type `ty` holds a buffer whose elements change.
    pub fn holds_buffer(&self, types: &Types, ty: Ty) -> bool {
        match types.get(ty) {
            Type::Buffer(elem, _) => self.differs(types, elem),
            Type::Array(inner, _) => self.holds_buffer(types, inner),
            Type::Struct(id) => self.holding.contains(&id),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Sum(_)
            | Type::Opaque(_)
            | Type::Ref(_) => false,
        }
    }

    /// What a value is that holds such buffers: they become others, the rest of it stays.
    pub fn held(&mut self, types: &mut Types, ty: Ty) -> Ty {
        if !self.holds_buffer(types, ty) {
            return ty;
        }
        match types.get(ty) {
            Type::Array(elem, n) => {
                let elem = self.held(types, elem);
                types.intern(Type::Array(elem, n))
            }
            Type::Struct(id) => self.held_struct(types, ty, id),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => self.stored(types, ty),
        }
    }

    fn held_struct(&mut self, types: &mut Types, ty: Ty, id: StructId) -> Ty {
        if let Some(known) = self.held.get(&ty) {
            return *known;
        }
        let def = types.struct_def(id).clone();
        let fields = def.fields.iter().map(|f| StructField { ty: self.held(types, f.ty), ..f.clone() });
        let fields = fields.collect();
        let id = types.add_struct(Symbol::new(&format!("{}_held", def.name)), fields);
        let new = types.intern(Type::Struct(id));
        self.held.insert(ty, new);
        new
    }

    /// The type of memory that holds values of type `ty`.
    pub fn stored(&mut self, types: &mut Types, ty: Ty) -> Ty {
        self.stored_as(types, ty, self.matrices)
    }

    /// The same of what lies as `matrices` says, if it is a matrix or an array of matrices.
    pub fn stored_as(&mut self, types: &mut Types, ty: Ty, matrices: Matrices) -> Ty {
        if !self.differs_as(types, ty, matrices) {
            return ty;
        }
        match types.get(ty) {
            Type::Matrix(s, r, c) => types.intern(Type::Matrix(s, c, r)),
            Type::Array(elem, n) => {
                let elem = self.stored_as(types, elem, matrices);
                types.intern(Type::Array(elem, n))
            }
            Type::Buffer(elem, access) => {
                let elem = self.stored(types, elem);
                types.intern(Type::Buffer(elem, access))
            }
            Type::Struct(id) => self.stored_struct(types, ty, id),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Sum(_)
            | Type::Opaque(_)
            | Type::Ref(_) => ty,
        }
    }

    fn stored_struct(&mut self, types: &mut Types, ty: Ty, id: StructId) -> Ty {
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
        let id = types.add_struct(Symbol::new(&format!("{}_columns", def.name)), fields);
        let new = types.intern(Type::Struct(id));
        self.turned.insert(ty, new);
        new
    }

    /// The structures that became others in memory.
    pub fn turned_structs(&self, types: &Types) -> Vec<(StructId, StructId)> {
        let id = |ty: Ty| if let Type::Struct(id) = types.get(ty) { Some(id) } else { None };
        let mut all: Vec<_> = self.turned.iter().filter_map(|(of, to)| Some((id(*of)?, id(*to)?))).collect();
        all.sort_by_key(|(_, to)| *to);
        all
    }

    /// Turns the types of a parameter.
    pub fn shape(&mut self, types: &mut Types, shape: &mut Shape) {
        match shape {
            Shape::Value(ty) | Shape::Packed(ty, _) | Shape::Resource(ty) | Shape::Counter(ty) => {
                *ty = self.stored(types, *ty);
            }
            Shape::Block(_, inner) | Shape::Array(inner, _) => self.shape(types, inner),
            Shape::Struct(fields) => fields.iter_mut().for_each(|f| self.shape(types, &mut f.shape)),
        }
    }
}
