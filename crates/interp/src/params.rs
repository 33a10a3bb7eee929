//! The memory of parameters: bytes, read and written element by element.
//!
//! Buffers and textures have the layout of [`layout`](crate::layout). A launch shares memory that it only reads, and owns
//! memory that it writes while it runs. Several parameters may share memory. A uniform is decoded to a value when it is first
//! read.

use crate::layout::Shape;
use crate::program::Program;
use crate::stop::Outside;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::texture::{Extent, Opaque, SamplerState};
use cotangent_ir::{Global, GlobalKind, Trap, Ty, Type, type_group};
use std::sync::Arc;

/// What a parameter was given.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    /// Nothing, or this is no parameter.
    Unset,
    /// The bytes of a value.
    Value(Arc<Vec<u8>>),
    /// A memory, and how far its elements are apart.
    Buffer {
        store: usize,
        stride: usize,
    },
    /// A memory of texels.
    Texture {
        store: usize,
        extent: Extent,
    },
    Sampler(SamplerState),
}

/// A piece of memory.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// It may be written.
    Own(Vec<u8>),
    /// It is only read.
    Shared(Arc<Vec<u8>>),
}

impl Store {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Store::Own(bytes) => bytes,
            Store::Shared(bytes) => bytes,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Store::Own(bytes) => bytes,
            Store::Shared(bytes) => Arc::make_mut(bytes).as_mut_slice(),
        }
    }
}

/// Values for the parameters of a program, to be used by many machines: they are converted once.
#[derive(Clone, Default, Debug)]
pub struct Values(Vec<(Global, Prepared)>);

#[derive(Clone, Debug)]
enum Prepared {
    Value(Val),
    Bytes(Param, Option<Arc<Vec<u8>>>),
}

impl Values {
    /// Gives a uniform its value, or a buffer its elements, given as an aggregate of any length. Resources that have no
    /// values are left as they are.
    pub fn set(&mut self, program: &Program, global: Global, value: &Val) {
        let machine = program.machine();
        if let Some(prepared) = machine.prepared(global, value) {
            self.put(global, prepared);
        }
    }

    /// Gives a parameter the bytes of a value or of the elements of a buffer, in C layout.
    pub fn set_bytes(&mut self, program: &Program, global: Global, bytes: &[u8]) {
        let param = program.memory_of(global, bytes);
        self.put(global, param);
    }

    /// Gives a parameter a texture.
    pub fn set_texture(&mut self, program: &Program, global: Global, extent: Extent, texels: &[u8]) {
        let module = program.module();
        let Type::Opaque(Opaque::Texture(texture)) = module.types.get(module.globals[global].ty) else {
            return;
        };
        let texels = program.texels(texture.scalar, texels);
        self.put(global, Prepared::Bytes(Param::Texture { store: 0, extent }, Some(Arc::new(texels))));
    }

    /// Gives a parameter a sampler.
    pub fn set_sampler(&mut self, global: Global, state: SamplerState) {
        self.put(global, Prepared::Bytes(Param::Sampler(state), None));
    }

    fn put(&mut self, global: Global, prepared: Prepared) {
        self.0.retain(|(other, _)| *other != global);
        self.0.push((global, prepared));
    }
}

impl Program {
    fn memory_of(&self, global: Global, bytes: &[u8]) -> Prepared {
        let module = self.module();
        if let Type::Buffer(elem, _) = module.types.get(module.globals[global].ty) {
            let bytes = self.elements(elem, bytes);
            let stride = self.stride(elem);
            Prepared::Bytes(Param::Buffer { store: 0, stride }, Some(Arc::new(bytes)))
        } else {
            let ty = module.globals[global].ty;
            Prepared::Value(self.value(ty, bytes))
        }
    }

    /// How far elements are apart in memory.
    pub(crate) fn stride(&self, elem: Ty) -> usize {
        self.layouts().shape(&self.module().types, elem).map_or(0, |shape| shape.size).max(1)
    }
}

impl Machine<'_> {
    /// Sets a uniform, or the elements of a buffer, given as an aggregate of any length.
    pub fn set_global(&mut self, global: Global, value: Val) {
        if let Some(prepared) = self.prepared(global, &value) {
            self.give_one(global, &prepared);
        }
    }

    /// Gives parameters these values.
    pub fn give(&mut self, values: &Values) {
        for (global, prepared) in &values.0 {
            self.give_one(*global, prepared);
        }
    }

    fn give_one(&mut self, global: Global, prepared: &Prepared) {
        match prepared {
            Prepared::Value(value) => self.memory[global] = value.clone(),
            Prepared::Bytes(param, bytes) => {
                let mut param = param.clone();
                if let (Some(bytes), Param::Buffer { store, .. } | Param::Texture { store, .. }) =
                    (bytes, &mut param)
                {
                    *store = self.add_store(Store::Shared(bytes.clone()));
                }
                self.params[global] = param;
            }
        }
    }

    pub(crate) fn add_store(&mut self, store: Store) -> usize {
        self.stores.push(store);
        self.stores.len() - 1
    }

    fn prepared(&self, global: Global, value: &Val) -> Option<Prepared> {
        let types = &self.module.types;
        let ty = self.module.globals[global].ty;
        let value = value.conform(types, ty, self.eval);
        match types.get(ty) {
            Type::Buffer(elem, _) => {
                let shape = self.loaded.layouts.shape(types, elem)?;
                let stride = shape.size.max(1);
                let mut bytes = vec![0; stride * value.parts().len()];
                for (chunk, element) in bytes.chunks_exact_mut(stride).zip(value.parts()) {
                    shape.encode(element, chunk);
                }
                Some(Prepared::Bytes(Param::Buffer { store: 0, stride }, Some(Arc::new(bytes))))
            }
            Type::Opaque(_) => None,
            Type::Ref(_) | type_group!(unit | number | composite) => Some(Prepared::Value(value)),
        }
    }

    /// What a global holds now: the elements of a buffer are the parts of an aggregate.
    pub fn global(&mut self, global: Global) -> Val {
        match self.module.types.get(self.module.globals[global].ty) {
            Type::Buffer(elem, _) => match (self.params[global].clone(), self.shape(elem)) {
                (Param::Buffer { store, stride }, Some(shape)) => {
                    let elements = self.stores[store].bytes().chunks_exact(stride);
                    Val::aggregate(elements.map(|element| shape.decode(element)))
                }
                _ => Val::aggregate([]),
            },
            Type::Opaque(_) => Val::Undef,
            Type::Ref(_) | type_group!(unit | number | composite) => self.value_of(global),
        }
    }

    pub(crate) fn shape(&self, ty: Ty) -> Option<&Arc<Shape>> {
        self.loaded.layouts.shape(&self.module.types, ty)
    }

    /// The value of a uniform or variable. That of a uniform is made when it is first asked for.
    pub(crate) fn value_of(&mut self, global: Global) -> Val {
        let is_param = self.module.globals[global].kind == GlobalKind::Param;
        if is_param && matches!(self.memory[global], Val::Undef) {
            let ty = self.module.globals[global].ty;
            let bytes =
                if let Param::Value(bytes) = &self.params[global] { Some(bytes.clone()) } else { None };
            self.memory[global] = match (self.shape(ty), bytes) {
                (Some(shape), Some(bytes)) if bytes.len() >= shape.size => shape.decode(&bytes),
                // The number 0 is that of the first type, if there is one.
                (Some(shape), _) => shape.decode(&vec![0; shape.size]),
                (None, _) => {
                    if let Type::Sum(_) = self.module.types.get(ty) {
                        Val::unknown(0)
                    } else {
                        Val::zero(&self.module.types, ty)
                    }
                }
            };
        }
        self.memory[global].clone()
    }

    /// The memory of a buffer, how far its elements are apart, and how many there are. Variables have none.
    pub(crate) fn buffer(&self, global: Global) -> Option<(usize, usize, usize)> {
        if let Param::Buffer { store, stride } = self.params[global] {
            Some((store, stride, self.stores[store].bytes().len() / stride))
        } else {
            None
        }
    }

    /// Whether accesses to a global go to bytes.
    pub(crate) fn is_buffer(&self, global: Global) -> bool {
        matches!(self.module.types.get(self.module.globals[global].ty), Type::Buffer(..))
    }

    /// Whether the elements of a buffer are words.
    pub(crate) fn has_words(&self, global: Global) -> bool {
        if let Type::Buffer(elem, _) = self.module.types.get(self.module.globals[global].ty) {
            self.module.types.get(elem) == Type::Scalar(Scalar::U32)
        } else {
            false
        }
    }

    /// Notes that an index is outside.
    pub(crate) fn out_of_bounds(&mut self, index: i64, len: usize) -> Trap {
        self.outside = Some(Outside { index, len });
        Trap::OutOfBounds
    }
}
