//! The parameters of a program: one block of host memory each, and access by path.

use crate::data::{MOST_DIMENSIONS, room_for};
use crate::image::Image;
use crate::path::{descend, split};
use crate::{Compiled, Data, Error, Tree, bail, data};
use cotangent_base::{Map, Scalar, Symbol};
use cotangent_ir::shader::{ShaderParams, Shape};
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Texture};
use cotangent_ir::{Access, Global, GlobalKind, Module, Ty, Type, Types, layout, type_group};

/// The memory of all shader parameters of a module, in C layout.
#[derive(Clone)]
pub struct Params {
    /// The parameters with matrices that were turned, since they lie column by column: parts of matrices cannot be named there.
    pub turned: Vec<Symbol>,
    types: Types,
    names: Vec<Symbol>,
    blocks: Map<Symbol, Block>,
}

#[derive(Clone)]
struct Block {
    global: Global,
    ty: Ty,
    bytes: Vec<u8>,
    /// What numbers mean to a buffer of words.
    words: Words,
    /// The scalar type a buffer's bytes were written in.
    given: Option<Scalar>,
    /// How large a texture is.
    extent: Extent,
    /// What a sampler says.
    sampler: SamplerState,
    /// Whether it was set since a back end was given it.
    changed: bool,
}

/// What the words of a buffer are. One that is addressed by bytes has them too, and takes any numbers as the bytes they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Numbers,
    Bytes,
    Unknown,
}

/// A texture that was not set.
const NOTHING: Extent = Extent { size: [0; 3], layers: 0, levels: 0 };

/// A part of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    name: Symbol,
    offset: usize,
    ty: Ty,
}

impl Params {
    /// The parameters of a program, with all that is known of them.
    pub fn of(compiled: &Compiled) -> Params {
        let mut params = Params::new(&compiled.module);
        params.turned = compiled.turned.to_vec();
        params.declare(&compiled.params);
        params
    }

    /// Zero for every uniform, no elements for every buffer.
    pub fn new(module: &Module) -> Params {
        let mut params =
            Params { turned: vec![], types: module.types.clone(), names: vec![], blocks: Map::default() };
        for (global, data) in module.globals.iter().filter(|(_, g)| g.kind == GlobalKind::Param) {
            let size = layout::layout(&module.types, data.ty).map_or(0, |l| l.size as usize);
            params.names.push(data.name);
            let block = Block {
                global,
                ty: data.ty,
                bytes: vec![0; size],
                words: Words::Unknown,
                given: None,
                extent: NOTHING,
                sampler: SamplerState::default(),
                changed: true,
            };
            params.blocks.insert(data.name, block);
        }
        params
    }

    /// Takes over what the declarations say beyond the types: which buffers are addressed by bytes. What is inside of structures
    /// stays unknown.
    pub fn declare(&mut self, declared: &ShaderParams) {
        let of_entries = declared.entries.iter().flat_map(|(_, params)| params);
        for param in declared.globals.iter().chain(of_entries) {
            let words = match &param.shape {
                _ if param.bytes => Words::Bytes,
                Shape::Resource(_) | Shape::Counter(_) => Words::Numbers,
                Shape::Value(_)
                | Shape::Packed(..)
                | Shape::Block(..)
                | Shape::Struct(_)
                | Shape::Array(..) => Words::Unknown,
            };
            let blocks = self.blocks.values_mut().filter(|block| param.leaves.contains(&block.global));
            blocks.for_each(|block| block.words = words);
        }
    }

    /// All parameters with their globals, types and bytes, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, Global, Ty, &[u8])> {
        self.names.iter().map(|name| {
            let block = &self.blocks[name];
            (*name, block.global, block.ty, &block.bytes[..])
        })
    }

    fn of_global(&self, global: Global) -> Option<&Block> {
        self.blocks.values().find(|block| block.global == global)
    }

    /// How large a texture is.
    pub fn extent(&self, global: Global) -> Extent {
        self.of_global(global).map_or(NOTHING, |block| block.extent)
    }

    /// What a sampler says.
    pub fn sampler(&self, global: Global) -> SamplerState {
        self.of_global(global).map_or_else(SamplerState::default, |block| block.sampler)
    }

    /// The texture at `path`, if it is one: its type, how large it is, and its texels.
    pub fn texture(&self, path: &str) -> Option<(Texture, Extent, &[u8])> {
        let block = &self.blocks[&self.find(path).ok()?.name];
        if let Type::Opaque(Opaque::Texture(texture)) = self.types.get(block.ty) {
            Some((texture, block.extent, &block.bytes))
        } else {
            None
        }
    }

    /// The names of the buffers a program may write, in the order of declaration.
    pub fn writable(&self) -> Vec<Symbol> {
        let writable = |ty| {
            if let Type::Buffer(_, access) | Type::Opaque(Opaque::Texture(Texture { access, .. })) =
                self.types.get(ty)
            {
                access == Access::ReadWrite
            } else {
                false
            }
        };
        self.names.iter().copied().filter(|name| writable(self.blocks[name].ty)).collect()
    }

    /// The place `path` names: `gain`, `params.scale`, `lights[2].pos`, `a.0`.
    pub fn find(&self, path: &str) -> Result<Place, Error> {
        let (name, steps) = split(path)?;
        let (mut place, taken) = match self.part_of_split(name, &steps) {
            Some(found) => found,
            None => (self.root(name, path)?, 0),
        };
        for step in &steps[taken..] {
            place = self.step(place, step, path)?;
        }
        Ok(place)
    }

    /// A parameter that holds buffers is one parameter for each of its parts, named by its path: `block.weights`,
    /// `inputs.0`. Gives it with the number of steps that the name takes.
    fn part_of_split(&self, name: &str, steps: &[String]) -> Option<(Place, usize)> {
        (1..=steps.len()).rev().find_map(|taken| {
            let name = Symbol::new(&format!("{name}.{}", steps[..taken].join(".")));
            let block = self.blocks.get(&name)?;
            Some((Place { name, offset: 0, ty: block.ty }, taken))
        })
    }

    /// The parameter called `name`, or the member of that name of a `cbuffer`, whose members are visible around it.
    fn root(&self, name: &str, path: &str) -> Result<Place, Error> {
        let whole = |name: Symbol, block: &Block| Place { name, offset: 0, ty: block.ty };
        if let Some(block) = self.blocks.get(&Symbol::new(name)) {
            return Ok(whole(Symbol::new(name), block));
        }
        let has_member = |block: &Block| {
            if let Type::Struct(id) = self.types.get(block.ty) {
                self.types.struct_def(id).fields.iter().any(|f| f.name == *name)
            } else {
                false
            }
        };
        match self.names.iter().find(|n| has_member(&self.blocks[*n])) {
            Some(around) => self.step(whole(*around, &self.blocks[around]), name, path),
            None => {
                let known: Vec<&str> = self.names.iter().map(|n| n.as_str()).collect();
                bail!("the program has no parameter `{name}`{}", hint(&known));
            }
        }
    }

    fn step(&self, place: Place, step: &str, path: &str) -> Result<Place, Error> {
        if let Type::Buffer(elem, _) = self.types.get(place.ty) {
            let (Ok(index), Some(size)) = (step.parse::<usize>(), layout::layout(&self.types, elem)) else {
                bail!("`{step}` in `{path}` is not an element of a buffer");
            };
            let Some(offset) = index.checked_mul(size.size as usize).filter(|at| *at < 1 << 48) else {
                bail!("`{path}` is outside any buffer");
            };
            return Ok(Place { offset, ty: elem, ..place });
        }
        if self.turned.contains(&place.name) && matches!(self.types.get(place.ty), Type::Matrix(..)) {
            bail!("`{path}` names a part of a matrix that is not contiguous; set the whole matrix");
        }
        match descend(&self.types, place.ty, step) {
            Some((offset, ty)) => Ok(Place { offset: place.offset + offset as usize, ty, ..place }),
            None => bail!("there is no `{step}` in `{path}`"),
        }
    }

    /// Writes `data` at `path`. A whole buffer takes the length of the data.
    pub fn set(&mut self, path: &str, data: &Data) -> Result<(), Error> {
        if let Data::Bytes(_, bytes) | Data::Tensor(_, _, bytes) = data {
            room_for(bytes.len())?;
        }
        if let Data::Tensor(sizes, scalar, bytes) = data {
            return self.set_tensor(path, sizes, *scalar, bytes);
        }
        let place = self.find(path)?;
        if let Type::Buffer(elem, _) = self.types.get(place.ty) {
            return self.set_buffer(path, place, elem, data);
        }
        if let Type::Opaque(opaque) = self.types.get(place.ty) {
            return self.set_opaque(path, place, opaque, data);
        }
        let Some(size) = layout::layout(&self.types, place.ty) else { bail!("`{path}` cannot be set") };
        let bytes = match (data, self.types.get(place.ty)) {
            (Data::Image(Image { scalar, bytes: Some(bytes), .. }), _) => {
                self.as_numbers_of(path, place, *scalar, bytes)?.1
            }
            (Data::Image(_) | Data::Sampler(_) | Data::Tensor(..), _) => {
                bail!("`{path}` is neither a texture nor a sampler")
            }
            (Data::Bytes(_, bytes), _) => bytes.clone(),
            (Data::Number(number), Type::Scalar(scalar)) => {
                let mut bytes = vec![];
                number.write(scalar, &mut bytes)?;
                bytes
            }
            (Data::Number(_), _) => bail!("`{path}` is not a single number: write f32[..] or another list"),
        };
        if bytes.len() != size.size as usize {
            bail!("`{path}` takes {} bytes, but the value has {}", size.size, bytes.len());
        }
        let block = self.blocks.get_mut(&place.name).expect("find checked the name");
        block.changed = true;
        let Some(target) = block.bytes.get_mut(place.offset..place.offset + bytes.len()) else {
            bail!(
                "`{path}` is outside the buffer, which has {} bytes: set the whole buffer first",
                block.bytes.len()
            );
        };
        target.copy_from_slice(&bytes);
        Ok(())
    }

    /// Sets a tensor: the view at `path`, or the one in the pair or gradient there. Parts that the program does not use are not there.
    fn set_tensor(&mut self, path: &str, sizes: &[u32], scalar: Scalar, bytes: &[u8]) -> Result<(), Error> {
        let inside = ["", ".primal", ".diff"].map(|part| format!("{path}{part}"));
        let Some(view) = inside.iter().find(|view| self.find(&format!("{view}.data")).is_ok()) else {
            bail!("`{path}` is not a tensor")
        };
        let data = Data::Bytes(Some(scalar), bytes.to_vec());
        self.set(&format!("{view}.data"), &data)?;
        // An element may be a vector: then it takes the last size.
        let elements = self.elements(&format!("{view}.data"))?;
        let given: usize = sizes.iter().map(|size| *size as usize).product();
        let lanes = given.checked_div(elements).unwrap_or(1).max(1);
        if elements * lanes != given || lanes > 1 && sizes.last() != Some(&(lanes as u32)) {
            bail!("`{path}` has {elements} elements, but its sizes ask for {given}");
        }
        let (mut all, mut strides) = ([1u32; MOST_DIMENSIONS], [1u32; MOST_DIMENSIONS]);
        let outer = if lanes > 1 { &sizes[..sizes.len() - 1] } else { sizes };
        let mut stride = 1;
        for (k, size) in outer.iter().enumerate().rev() {
            strides[k] = stride;
            stride *= size;
        }
        all[..sizes.len()].copy_from_slice(sizes);
        let words = |numbers: &[u32]| {
            let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            Data::Bytes(Some(Scalar::U32), bytes)
        };
        for (part, data) in [
            ("sizes", words(&all)),
            ("strides", words(&strides)),
            ("dimensions", words(&[sizes.len() as u32])),
        ] {
            let part = format!("{view}.{part}");
            if self.find(&part).is_ok() {
                self.set(&part, &data)?;
            }
        }
        Ok(())
    }

    /// How many elements a buffer has.
    fn elements(&self, path: &str) -> Result<usize, Error> {
        let place = self.find(path)?;
        let stride = if let Type::Buffer(elem, _) = self.types.get(place.ty) {
            layout::Rules::C.stride(&self.types, elem).unwrap_or(1).max(1)
        } else {
            1
        };
        Ok(self.get(path)?.1.len() / stride as usize)
    }

    fn set_opaque(&mut self, path: &str, place: Place, opaque: Opaque, data: &Data) -> Result<(), Error> {
        let block = self.blocks.get_mut(&place.name).expect("find checked the name");
        block.changed = true;
        match (opaque, data) {
            (Opaque::Texture(texture), Data::Image(image)) => {
                (block.extent, block.bytes) = match image.texels(texture) {
                    Ok(found) => found,
                    Err(e) => bail!("`{path}`: {e}"),
                };
                if texture.access == Access::ReadWrite && block.extent.levels > 1 {
                    bail!("`{path}` is writable and has only one level");
                }
            }
            (Opaque::Texture(_), _) => {
                bail!("`{path}` is a texture: write @image.png, @image.npy or image(4x4, f32[..])")
            }
            (Opaque::Sampler, Data::Sampler(state)) if state.compare != SamplerState::default().compare => {
                bail!("`{path}` cannot compare; only a SamplerComparisonState can")
            }
            (Opaque::Sampler | Opaque::Comparison, Data::Sampler(state)) => block.sampler = *state,
            (Opaque::Sampler | Opaque::Comparison, _) => {
                bail!(
                    "`{path}` is a sampler: write linear,clamp or other settings of {}",
                    crate::sampler::words()
                )
            }
        }
        Ok(())
    }

    fn set_buffer(&mut self, path: &str, place: Place, elem: Ty, data: &Data) -> Result<(), Error> {
        let (given, bytes) = match data {
            Data::Bytes(given, bytes) => (*given, bytes.clone()),
            Data::Image(Image { scalar, bytes: Some(bytes), .. }) => {
                let (scalar, bytes) = self.as_numbers_of(path, place, *scalar, bytes)?;
                (Some(scalar), bytes)
            }
            Data::Image(_) | Data::Number(_) | Data::Sampler(_) | Data::Tensor(..) => {
                bail!("`{path}` is a buffer: write f32[..] or another list")
            }
        };
        let size = layout::layout(&self.types, elem).map_or(0, |l| l.size as usize);
        if size == 0 || bytes.len() % size != 0 {
            bail!("an element of `{path}` has {size} bytes, and {} is not a multiple of that", bytes.len());
        }
        let block = self.blocks.get_mut(&place.name).expect("find checked the name");
        block.changed = true;
        (block.bytes, block.given) = (bytes, given);
        Ok(())
    }

    /// The numbers of a file as a type holds them: a file of `f64` is for a buffer of `f32` what it says, not what its bytes would
    /// be. Only what is addressed by bytes takes them as they are, and what has numbers of several types a file of bytes.
    fn as_numbers_of(
        &self,
        path: &str,
        place: Place,
        from: Scalar,
        bytes: &[u8],
    ) -> Result<(Scalar, Vec<u8>), Error> {
        let ty = if let Type::Buffer(elem, _) = self.types.get(place.ty) { elem } else { place.ty };
        let words = self.blocks[&place.name].words;
        let to = match self.uniform_scalar(ty).or_else(|| self.only_scalar(ty)) {
            Some(Scalar::U32) if words == Words::Bytes => return Ok((from, bytes.to_vec())),
            Some(Scalar::U32) if words == Words::Unknown && from.is_float() => {
                bail!(
                    "`{path}` may be accessed by bytes, so the meaning of a file of {from} is ambiguous: \
                       write a list, or give a file of u32"
                )
            }
            Some(to) => to,
            None if from == Scalar::U8 => return Ok((from, bytes.to_vec())),
            None => {
                bail!("`{path}` has elements of several types, and the file {from}: give its bytes, as u8")
            }
        };
        if from == to {
            return Ok((from, bytes.to_vec()));
        }
        let mut converted = vec![];
        for number in data::numbers(from, bytes) {
            if let Err(Error(why)) = number.write(to, &mut converted) {
                bail!("`{path}` has elements of type {to}, and the file {from}: {why}");
            }
        }
        Ok((to, converted))
    }

    /// The bytes of a whole parameter; none if there is none of that name.
    pub(crate) fn bytes(&self, name: Symbol) -> &[u8] {
        self.blocks.get(&name).map_or(&[], |block| &block.bytes)
    }

    /// Sets a parameter to what the parameter of the same name has in another program.
    pub fn copy(&mut self, name: Symbol, from: &Params) {
        if let (Some(block), Some(other)) = (self.blocks.get_mut(&name), from.blocks.get(&name)) {
            let Block { bytes, given, extent, sampler, .. } = other.clone();
            *block = Block { bytes, given, extent, sampler, changed: true, ..block.clone() };
        }
    }

    /// Replaces the bytes of a whole parameter by what a back end left there.
    pub fn replace(&mut self, name: Symbol, bytes: Vec<u8>) {
        if let Some(block) = self.blocks.get_mut(&name) {
            block.bytes = bytes;
        }
    }

    /// Has all parameters uploaded, as to another back end.
    pub(crate) fn touch_all(&mut self) {
        self.blocks.values_mut().for_each(|block| block.changed = true);
    }

    /// The parameters that were set since this was last asked for, all of them at first.
    pub(crate) fn take_changed(&mut self) -> Vec<(Symbol, Global)> {
        let changed = |name: &Symbol| {
            let block = self.blocks.get_mut(name)?;
            std::mem::take(&mut block.changed).then_some((*name, block.global))
        };
        self.names.iter().filter_map(changed).collect()
    }

    /// The bytes at `path`, and the scalar type to show them in: that of the elements, or for structures the
    /// one they were set in, if they hold nothing else.
    pub fn get(&self, path: &str) -> Result<(Option<Scalar>, &[u8]), Error> {
        let place = self.find(path)?;
        let (elem, whole) = match self.types.get(place.ty) {
            Type::Buffer(elem, _) => (elem, true),
            Type::Opaque(_) => (place.ty, true),
            Type::Ref(_) | type_group!(unit | number | composite) => (place.ty, false),
        };
        let scalar = self.uniform_scalar(elem);
        let size = layout::layout(&self.types, place.ty).map_or(0, |l| l.size as usize);
        let block = &self.blocks[&place.name];
        let end = if whole { block.bytes.len() } else { place.offset + size };
        match block.bytes.get(place.offset..end) {
            Some(bytes) => Ok((scalar.or(block.given.filter(|s| self.holds_only(elem, *s))), bytes)),
            None => bail!("`{path}` is outside the buffer, which has {} bytes", block.bytes.len()),
        }
    }

    /// The value at `path` as a tree, if [`get`](Self::get) knows no scalar type for it.
    pub fn tree(&self, path: &str) -> Result<Option<Tree>, Error> {
        let (scalar, bytes) = self.get(path)?;
        let ty = self.find(path)?.ty;
        Ok(match self.types.get(ty) {
            _ if scalar.is_some() => None,
            Type::Buffer(elem, _) => Some(Tree::of_buffer(&self.types, elem, bytes)),
            Type::Opaque(_) => None,
            Type::Ref(_) | type_group!(unit | number | composite) => Some(Tree::of(&self.types, ty, bytes)),
        })
    }

    /// Whether all numbers in a type are of one scalar type.
    fn holds_only(&self, ty: Ty, scalar: Scalar) -> bool {
        self.only_scalar(ty) == Some(scalar)
    }

    /// The scalar type of all numbers in a type, if they have one.
    fn only_scalar(&self, ty: Ty) -> Option<Scalar> {
        match self.types.get(ty) {
            Type::Array(elem, _) => self.only_scalar(elem),
            Type::Struct(id) => {
                let mut fields = self.types.struct_def(id).fields.iter().map(|f| self.only_scalar(f.ty));
                let first = fields.next()?;
                first.filter(|_| fields.all(|other| other == first))
            }
            Type::Sum(_) | type_group!(unit | number | handle) => self.types.scalar_of(ty),
        }
    }

    /// The scalar type of a type that is not a structure.
    fn uniform_scalar(&self, ty: Ty) -> Option<Scalar> {
        match self.types.get(ty) {
            Type::Array(elem, _) => self.uniform_scalar(elem),
            Type::Opaque(Opaque::Texture(texture)) => Some(texture.scalar),
            type_group!(unit | number | composite | handle) => self.types.scalar_of(ty),
        }
    }
}

fn hint(known: &[&str]) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) }
}
