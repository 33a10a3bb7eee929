//! Types, interned: two [`Ty`] are equal exactly if they are the same type.

use crate::Path;
use crate::eval::Eval;
use crate::layout::Matrices;
use crate::module::unique;
use crate::texture::Opaque;
use cotangent_base::{EntityMap, Map, Scalar, Symbol, entity};

entity!(
    /// An interned type.
    Ty,
    "ty"
);
entity!(
    /// A structure type.
    StructId,
    "struct"
);

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// One value; takes no room. An instruction without a result has no value at all, not a unit one.
    Unit,
    /// A scalar.
    Scalar(Scalar),
    /// A vector of 1 to 4 scalars.
    Vector(Scalar, u8),
    /// A matrix: scalar, rows, columns. Its elements are its rows.
    Matrix(Scalar, u8, u8),
    /// An array of known length.
    Array(Ty, u32),
    /// A structure, by name: two with equal fields are different types.
    Struct(StructId),
    /// One of a closed set of member types, by name. Its definition is that of a structure whose fields are the
    /// members, of which a value holds one: see [`StructDef::sum`].
    Sum(StructId),
    /// A handle to a structured buffer of elements.
    Buffer(Ty, Access),
    /// A texture or a sampler.
    Opaque(Opaque),
    /// A handle to a `static` or group-shared variable.
    Ref(Ty),
}

impl Type {
    /// The scalar that a scalar, vector or matrix is made of.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => Some(s),
            Type::Unit | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => None,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => None,
        }
    }

    /// The same shape with scalars of another type, if it is a scalar, vector or matrix.
    pub fn with_scalar(self, scalar: Scalar) -> Option<Type> {
        match self {
            Type::Scalar(_) => Some(Type::Scalar(scalar)),
            Type::Vector(_, n) => Some(Type::Vector(scalar, n)),
            Type::Matrix(_, r, c) => Some(Type::Matrix(scalar, r, c)),
            Type::Unit | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => None,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => None,
        }
    }
}

/// What may be done with a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Loads.
    Read,
    /// Loads and stores.
    ReadWrite,
}

/// A structure's definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructDef {
    /// Unique in the module.
    pub name: Symbol,
    /// The fields, in order.
    pub fields: Vec<StructField>,
    /// Whether a value has only one of the fields: the definition of a [`Type::Sum`]. Zero of such a type is zero of
    /// its first member. In the differential of a sum that member is empty: nothing was added yet.
    pub sum: bool,
    /// Of a sum that lies in memory the host sees: the numbers by which the host knows the members. The structure that such a sum
    /// becomes ([`Types::sum_to_struct`]) still has them, and lies in memory as the sum did.
    pub ids: Vec<u32>,
    /// Of a sum: how many bytes of memory that the host sees are for what it holds, if the interface says so.
    pub room: Option<u32>,
    /// The fields whose matrix lies in memory in a way of its own.
    pub matrices: Vec<(u32, Matrices)>,
    /// Whether it is the element of a resource that lies in a way of its own: to the program it is its only field.
    pub element: bool,
}

impl StructDef {
    /// What values of a sum, or of the structure that it became, may hold.
    pub fn members(&self) -> &[StructField] {
        if self.sum { &self.fields } else { self.fields.get(1..).unwrap_or_default() }
    }

    /// How the matrix that a field is lies in memory, if the field says so.
    pub fn own_matrices(&self, index: usize) -> Option<Matrices> {
        self.matrices.iter().find(|(field, _)| *field as usize == index).map(|(_, matrices)| *matrices)
    }
}

/// A field of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructField {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
}

/// All types of a module. The parts of a type in it are in it too, so that asking for them changes nothing.
#[derive(Clone, Default, Debug)]
pub struct Types {
    list: EntityMap<Ty, Type>,
    numbers: Map<Type, Ty>,
    structs: EntityMap<StructId, StructDef>,
    names: Map<Symbol, StructId>,
    /// How many parts each structure has, written out.
    weights: EntityMap<StructId, u64>,
    /// Whether half and float stand for binary64: what is computed at compile time is not rounded to them either.
    pub wide: bool,
}

impl Types {
    /// What scalar operations mean in this module.
    pub fn eval(&self) -> Eval {
        Eval { wide: self.wide }
    }

    /// The type `ty`.
    pub fn intern(&mut self, ty: Type) -> Ty {
        match ty {
            Type::Vector(s, _) => _ = self.scalar(s),
            Type::Matrix(s, _, c) => _ = self.intern(Type::Vector(s, c)),
            Type::Unit | Type::Scalar(_) | Type::Array(..) => {}
            Type::Struct(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {}
        }
        *self.numbers.entry(ty).or_insert_with(|| self.list.push(ty))
    }

    /// The type `ty`, if it has been made.
    pub fn find(&self, ty: Type) -> Option<Ty> {
        self.numbers.get(&ty).copied()
    }

    /// How many types there are: each is less than this.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// What `ty` is.
    pub fn get(&self, ty: Ty) -> Type {
        self.list[ty]
    }

    /// The scalar type `scalar`.
    pub fn scalar(&mut self, scalar: Scalar) -> Ty {
        self.intern(Type::Scalar(scalar))
    }

    /// Makes a structure. A name already taken gets a number appended.
    pub fn add_struct(&mut self, name: Symbol, fields: Vec<StructField>) -> StructId {
        let name = unique(name, |name| self.names.contains_key(&name));
        let weight = self.weight_of(&fields);
        let def =
            StructDef { name, fields, sum: false, ids: vec![], room: None, matrices: vec![], element: false };
        let id = self.structs.push(def);
        self.weights.push(weight);
        self.names.insert(name, id);
        id
    }

    /// Makes a sum of these members and gives its type. A name already taken gets a number appended.
    pub fn add_sum(&mut self, name: Symbol, members: Vec<StructField>) -> StructId {
        let id = self.add_struct(name, members);
        self.structs[id].sum = true;
        id
    }

    /// Gives the members of a sum the numbers by which the host knows them.
    pub fn set_ids(&mut self, id: StructId, ids: Vec<u32>) {
        self.structs[id].ids = ids;
    }

    /// Says how many bytes of memory a sum has for what it holds.
    pub fn set_room(&mut self, id: StructId, bytes: u32) {
        self.structs[id].room = Some(bytes);
    }

    /// Says how the matrices of some fields lie in memory.
    pub fn set_matrices(&mut self, id: StructId, matrices: Vec<(u32, Matrices)>) {
        self.structs[id].matrices = matrices;
    }

    /// The element of a resource whose matrices lie in a way of its own.
    pub fn add_element(&mut self, name: Symbol, ty: Ty, matrices: Matrices) -> Ty {
        let id = self.add_struct(name, vec![StructField { name: "element".into(), ty }]);
        self.structs[id].matrices = vec![(0, matrices)];
        self.structs[id].element = true;
        self.intern(Type::Struct(id))
    }

    /// What an element of a resource is to the program, if that differs from what lies there.
    pub fn element_value(&self, ty: Ty) -> Option<Ty> {
        let Type::Struct(id) = self.get(ty) else { return None };
        let def = &self.structs[id];
        def.element.then(|| def.fields[0].ty)
    }

    /// Makes a sum a structure of these fields: the index of the member, and the members. Its type stays the same number, and in
    /// memory that the host sees it lies where the sum did.
    pub fn sum_to_struct(&mut self, id: StructId, fields: Vec<StructField>) {
        let def = &mut self.structs[id];
        (def.fields, def.sum) = (fields, false);
        if let Some(ty) = self.numbers.remove(&Type::Sum(id)) {
            self.list[ty] = Type::Struct(id);
            self.numbers.insert(Type::Struct(id), ty);
        }
    }

    /// Replaces half and float by binary64 in all types. Gives the new number of each type; structures keep theirs.
    pub fn widen(&mut self) -> EntityMap<Ty, Ty> {
        let old = std::mem::take(&mut self.list);
        self.numbers.clear();
        let mut new: EntityMap<Ty, Ty> = EntityMap::new();
        for ty in old.values() {
            let wide = match *ty {
                Type::Scalar(scalar) => Type::Scalar(widened(scalar)),
                Type::Vector(scalar, n) => Type::Vector(widened(scalar), n),
                Type::Matrix(scalar, rows, columns) => Type::Matrix(widened(scalar), rows, columns),
                // The parts of a type were interned before it.
                Type::Array(elem, n) => Type::Array(new[elem], n),
                Type::Buffer(elem, access) => Type::Buffer(new[elem], access),
                Type::Ref(inner) => Type::Ref(new[inner]),
                Type::Unit | Type::Struct(_) | Type::Sum(_) | Type::Opaque(_) => *ty,
            };
            new.push(self.intern(wide));
        }
        for def in self.structs.values_mut() {
            def.fields.iter_mut().for_each(|field| field.ty = new[field.ty]);
        }
        new
    }

    /// The type of a definition: a structure or a sum.
    pub fn defined(&mut self, id: StructId) -> Ty {
        let ty = if self.structs[id].sum { Type::Sum(id) } else { Type::Struct(id) };
        self.intern(ty)
    }

    /// The members of a sum, by number.
    pub fn members(&self, ty: Ty) -> Option<&[StructField]> {
        match self.get(ty) {
            Type::Sum(id) => Some(&self.structs[id].fields),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => None,
        }
    }

    /// Gives a structure or sum made with no fields its fields, for types that refer to themselves.
    pub fn set_fields(&mut self, id: StructId, fields: Vec<StructField>) {
        self.weights[id] = self.weight_of(&fields);
        self.structs[id].fields = fields;
    }

    fn weight_of(&self, fields: &[StructField]) -> u64 {
        fields.iter().fold(1, |all: u64, field| all.saturating_add(self.weight(field.ty)))
    }

    /// How many parts a type has, written out; the elements of an array count once. Structures that each hold two of the
    /// one before have more than anybody can visit.
    pub fn weight(&self, ty: Ty) -> u64 {
        match self.get(ty) {
            Type::Array(elem, _) => self.weight(elem).saturating_add(1),
            Type::Struct(id) | Type::Sum(id) => self.weights[id],
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => 1,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 1,
        }
    }

    /// The definition of a structure.
    pub fn struct_def(&self, id: StructId) -> &StructDef {
        &self.structs[id]
    }

    /// The structure of that name.
    pub fn struct_named(&self, name: Symbol) -> Option<StructId> {
        self.names.get(&name).copied()
    }

    /// All structures, in the order they were made.
    pub fn structs(&self) -> impl Iterator<Item = (StructId, &StructDef)> {
        self.structs.iter()
    }

    /// The scalar a type is made of, if it is a scalar, vector or matrix.
    pub fn scalar_of(&self, ty: Ty) -> Option<Scalar> {
        self.get(ty).scalar()
    }

    /// The same shape with scalars of another type.
    pub fn with_scalar(&mut self, ty: Ty, scalar: Scalar) -> Ty {
        self.get(ty).with_scalar(scalar).map_or(ty, |other| self.intern(other))
    }

    /// How many parts an aggregate has: lanes, rows, elements or fields. `None` for what has none.
    pub fn arity(&self, ty: Ty) -> Option<u32> {
        match self.get(ty) {
            Type::Vector(_, n) | Type::Matrix(_, n, _) => Some(n.into()),
            Type::Array(_, n) => Some(n),
            Type::Struct(id) => Some(self.structs[id].fields.len() as u32),
            Type::Unit
            | Type::Scalar(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => None,
        }
    }

    /// The type of part `index` of an aggregate; for a dynamic index, of any part (never of a structure).
    pub fn part(&self, ty: Ty, index: Option<u32>) -> Option<Ty> {
        if index.is_some_and(|i| self.arity(ty).is_none_or(|n| i >= n)) {
            return None;
        }
        match self.get(ty) {
            Type::Vector(s, _) => self.find(Type::Scalar(s)),
            Type::Matrix(s, _, c) => self.find(Type::Vector(s, c)),
            Type::Array(elem, _) => Some(elem),
            Type::Struct(id) => Some(self.structs[id].fields[index? as usize].ty),
            Type::Unit
            | Type::Scalar(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => None,
        }
    }

    /// The type of the part of `ty` at `path`. For a buffer the first step is the element; for a variable the
    /// path starts inside it. `None` if the path does not fit.
    pub fn part_at(&self, ty: Ty, path: &Path) -> Option<Ty> {
        let (start, steps) = match self.get(ty) {
            Type::Buffer(elem, _) => (elem, path.0.get(1..)?),
            Type::Ref(inner) => (inner, &path.0[..]),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Opaque(_) => (ty, &path.0[..]),
        };
        steps.iter().try_fold(start, |ty, step| self.part(ty, step.known()))
    }
}

/// Binary64 in place of a narrower float.
fn widened(scalar: Scalar) -> Scalar {
    if scalar.is_float() { Scalar::F64 } else { scalar }
}
