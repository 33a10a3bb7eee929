//! Walks a parameter and assigns the allocated slots and offsets to its parts.

use super::slots::{Kind, Slot, Usage};
use super::{BlockPlace, Bound, Span};
use crate::layout::rules::Measure;
use crate::layout::{Matrices, Memory, Rules, Target};
use crate::shader::{Block, Field, ShaderParam, Shape};
use crate::texture::Opaque;
use crate::{Access, Type, Types};
use cotangent_base::{Map, Symbol};

/// What placing needs to know.
pub(super) struct Placer<'t> {
    pub types: &'t Types,
    pub target: Target,
    pub matrices: Matrices,
}

/// What is next of each kind.
#[derive(Clone, Default)]
pub(super) struct Cursor {
    next: Map<Kind, Slot>,
    /// The next space of its own that a block gets.
    pub space: u32,
}

impl Cursor {
    /// Hands out `slot` and what follows it.
    pub fn start(&mut self, slot: Slot) {
        self.next.insert(slot.kind, slot);
    }

    pub fn next(&mut self, kind: Kind, count: u32) -> Slot {
        let start = Slot { kind, space: 0, index: 0, count: 0 };
        let next = self.next.entry(kind).or_insert(start);
        let slot = Slot { count, ..*next };
        next.index += count;
        slot
    }

    /// Hands out what a texture has, to its sampler.
    fn beside(texture: &Bound) -> Cursor {
        let mut cursor = Cursor::default();
        texture.slots.iter().for_each(|slot| cursor.start(*slot));
        cursor
    }

    /// What would be handed out for `usage`.
    fn peek(&self, usage: &Usage) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.next.values().copied().collect();
        slots.sort_by_key(|slot| slot.kind);
        slots.retain(|slot| usage.get(slot.kind) > 0);
        slots.into_iter().map(|slot| Slot { count: usage.get(slot.kind), ..slot }).collect()
    }
}

impl<'t> Placer<'t> {
    pub fn rules(&self, memory: Memory) -> Rules {
        self.target.rules(memory, self.matrices)
    }

    fn buffer_kind(&self, access: Access) -> Option<Kind> {
        match self.target {
            Target::Wgsl | Target::SpirV | Target::Glsl => Some(Kind::Binding),
            Target::Hlsl => Some(match access {
                Access::Read => Kind::ShaderResource,
                Access::ReadWrite => Kind::UnorderedAccess,
            }),
            Target::Metal => Some(Kind::Buffer),
            Target::Cuda | Target::Cpp => None,
        }
    }

    fn opaque_kind(&self, opaque: Opaque) -> Option<Kind> {
        match (self.target, opaque) {
            (Target::Wgsl | Target::SpirV | Target::Glsl, _) => Some(Kind::Binding),
            (Target::Hlsl, Opaque::Texture(texture)) => self.buffer_kind(texture.access),
            (Target::Hlsl | Target::Metal, Opaque::Sampler | Opaque::Comparison) => Some(Kind::Sampler),
            (Target::Metal, Opaque::Texture(_)) => Some(Kind::Texture),
            (Target::Cuda | Target::Cpp, _) => None,
        }
    }

    /// The slot that memory for values takes.
    pub fn block_kind(&self, memory: Memory) -> Option<Kind> {
        match self.target {
            Target::Wgsl | Target::SpirV | Target::Glsl if memory == Memory::Push => None,
            Target::Wgsl | Target::SpirV | Target::Glsl => Some(Kind::Binding),
            Target::Hlsl => Some(Kind::ConstantBuffer),
            Target::Metal => Some(Kind::Buffer),
            Target::Cuda | Target::Cpp => None,
        }
    }

    /// The place of push constants, where there are any.
    pub fn push_slot(&self, memory: Memory) -> Option<Slot> {
        let vulkan = matches!(self.target, Target::Wgsl | Target::SpirV | Target::Glsl);
        let slot = Slot { kind: Kind::PushConstant, space: 0, index: 0, count: 1 };
        (vulkan && memory == Memory::Push).then_some(slot)
    }

    /// Whether the register of a buffer stands for its counter too, so that what is declared after it does not move.
    pub fn hides_counters(&self) -> bool {
        self.target == Target::Hlsl
    }

    pub fn resource_kind(&self, ty: crate::Ty) -> Option<Kind> {
        match self.types.get(ty) {
            Type::Buffer(_, access) => self.buffer_kind(access),
            Type::Opaque(opaque) => self.opaque_kind(opaque),
            Type::Ref(_) | Type::Unit | Type::Scalar(_) | Type::Vector(..) => None,
            Type::Matrix(..) | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => None,
        }
    }

    /// Whether a field has no binding of its own.
    fn is_beside(&self, field: &Field) -> bool {
        field.beside && matches!(self.target, Target::SpirV | Target::Glsl)
    }

    fn has_own_space(&self, block: Block) -> bool {
        block == Block::Parameters && matches!(self.target, Target::Wgsl | Target::SpirV | Target::Glsl)
    }

    fn is_argument_buffer(&self, block: Block) -> bool {
        block == Block::Parameters && self.target == Target::Metal
    }

    /// What a parameter takes.
    pub fn usage(&self, param: &ShaderParam) -> Usage {
        if param.wish.push_constant && self.push_slot(Memory::Push).is_some() {
            return Usage::default();
        }
        self.usage_of(&param.shape)
    }

    fn usage_of(&self, shape: &Shape) -> Usage {
        let mut usage = Usage::default();
        match shape {
            Shape::Value(_) | Shape::Packed(..) => {}
            Shape::Resource(ty) => {
                if let Some(kind) = self.resource_kind(*ty) {
                    usage.add(kind, 1);
                }
            }
            Shape::Counter(_) if self.hides_counters() => {}
            Shape::Counter(ty) => {
                if let Some(kind) = self.resource_kind(*ty) {
                    usage.add(kind, 1);
                }
            }
            Shape::Array(elem, n) => {
                let bindings = matches!(self.target, Target::Wgsl | Target::SpirV | Target::Glsl);
                usage = self.usage_of(elem).times(if bindings { 1 } else { *n });
            }
            Shape::Struct(fields) => {
                let own = fields.iter().filter(|f| !self.is_beside(f));
                own.for_each(|f| usage.join(&self.usage_of(&f.shape)));
            }
            Shape::Block(block, inner) if self.is_argument_buffer(*block) => {
                usage = self.usage_within(inner);
                usage.add(Kind::Buffer, 1);
            }
            Shape::Block(_, _) if self.target.has_pointers() => {}
            Shape::Block(block, inner) if self.has_own_space(*block) => {
                usage.spaces = 1 + self.usage_of(inner).spaces;
            }
            Shape::Block(_, inner) => {
                usage = self.usage_of(inner);
                if let Some(kind) = self.block_slot(inner) {
                    usage.add(kind, 1);
                }
            }
        }
        usage
    }

    /// What takes slots although it is in an argument buffer: the resources in constant buffers there.
    fn usage_within(&self, shape: &Shape) -> Usage {
        match shape {
            Shape::Value(_) | Shape::Packed(..) | Shape::Resource(_) | Shape::Counter(_) => Usage::default(),
            Shape::Block(Block::Parameters, _) => Usage::default(),
            Shape::Block(Block::Constant, inner) => self.usage_of(inner),
            Shape::Array(elem, n) => self.usage_within(elem).times(*n),
            Shape::Struct(fields) => {
                let mut usage = Usage::default();
                fields.iter().for_each(|f| usage.join(&self.usage_within(&f.shape)));
                usage
            }
        }
    }

    /// The slot of a block itself: one without values has none, except on Metal.
    fn block_slot(&self, inner: &Shape) -> Option<Kind> {
        let kind = self.block_kind(Memory::Constant)?;
        let empty = self.measure(inner, self.rules(Memory::Constant), Handles::Elsewhere).size == 0;
        (self.target == Target::Metal || !empty).then_some(kind)
    }

    /// Whether what a parameter asks for was said of Direct3D, and is taken over for this target.
    pub fn takes_over(&self, param: &ShaderParam) -> bool {
        match self.target {
            Target::Wgsl | Target::SpirV | Target::Glsl => param.wish.binding.is_none(),
            Target::Metal => true,
            Target::Hlsl | Target::Cuda | Target::Cpp => false,
        }
    }

    /// What the program asks for, as this target takes it.
    pub fn wished(&self, param: &ShaderParam) -> Vec<Slot> {
        let usage = self.usage(param);
        let of = |kind: Kind, index, space| Slot { kind, space, index, count: usage.get(kind) };
        let register = param.wish.register;
        let slot = match self.target {
            Target::Wgsl | Target::SpirV | Target::Glsl => match (param.wish.binding, register) {
                (Some((index, set)), _) => Some(of(Kind::Binding, index, set)),
                (None, register) => register.map(|r| of(Kind::Binding, r.index, r.space)),
            },
            Target::Hlsl => register.and_then(|r| {
                let kind = match r.class {
                    'b' => Kind::ConstantBuffer,
                    't' => Kind::ShaderResource,
                    'u' => Kind::UnorderedAccess,
                    's' => Kind::Sampler,
                    _ => return None,
                };
                Some(of(kind, r.index, r.space))
            }),
            Target::Metal => register.and_then(|r| {
                let kinds = [Kind::Buffer, Kind::Texture, Kind::Sampler].into_iter();
                let kind = kinds.into_iter().find(|kind| usage.get(*kind) > 0)?;
                Some(of(kind, r.index, r.space))
            }),
            Target::Cuda | Target::Cpp => None,
        };
        slot.into_iter().filter(|slot| slot.count > 0).collect()
    }

    /// A parameter, whose values are at `offset` of the block around it.
    pub fn top(&self, param: &ShaderParam, offset: u32, around: Rules, cursor: &mut Cursor) -> Bound {
        let pushed = param.wish.push_constant.then(|| self.push_slot(Memory::Push)).flatten();
        if let (Some(slot), Shape::Block(_, inner)) = (pushed, &param.shape) {
            return self.pushed(param, slot, inner);
        }
        let handles = if self.target.has_pointers() { Handles::Fat } else { Handles::Elsewhere };
        self.place(param.name, &param.shape, offset, around, handles, cursor)
    }

    fn pushed(&self, param: &ShaderParam, slot: Slot, inner: &Shape) -> Bound {
        let rules = self.rules(Memory::Push);
        let size = self.measure(inner, rules, Handles::Elsewhere).size as u32;
        let mut cursor = Cursor::default();
        let part = self.place(param.name, inner, 0, rules, Handles::Elsewhere, &mut cursor);
        Bound {
            name: param.name,
            shape: param.shape.clone(),
            slots: vec![slot],
            space: None,
            data: None,
            rules,
            block: Some(BlockPlace { slot: Some(slot), size, rules }),
            parts: vec![part],
        }
    }

    fn place(
        &self,
        name: Symbol,
        shape: &Shape,
        offset: u32,
        around: Rules,
        handles: Handles,
        cursor: &mut Cursor,
    ) -> Bound {
        let usage = self.usage_of(shape);
        let slots = if handles == Handles::Elsewhere { cursor.peek(&usage) } else { vec![] };
        let size = self.measure(shape, around, handles).size as u32;
        let mut bound = Bound {
            name,
            shape: shape.clone(),
            slots,
            space: None,
            data: (size > 0).then_some(Span { offset, size }),
            rules: around,
            block: None,
            parts: vec![],
        };
        match shape {
            Shape::Value(_) | Shape::Packed(..) => {}
            Shape::Counter(_) if self.hides_counters() => bound.rules = self.rules(Memory::Buffer),
            Shape::Resource(ty) | Shape::Counter(ty) => {
                bound.rules = self.rules(Memory::Buffer);
                if let (Some(kind), Handles::Elsewhere) = (self.resource_kind(*ty), handles) {
                    cursor.next(kind, 1);
                }
            }
            Shape::Array(elem, _) => {
                let mut first = cursor.clone();
                bound.parts.push(self.place(name, elem, offset, around, handles, &mut first));
                for slot in &bound.slots {
                    cursor.next(slot.kind, slot.count);
                }
                cursor.space += usage.spaces;
            }
            Shape::Struct(fields) => {
                let offsets = self.field_offsets(fields, around, handles);
                for (field, at) in fields.iter().zip(offsets) {
                    let at = offset + at;
                    let mut beside = match bound.parts.last() {
                        Some(texture) if self.is_beside(field) => Some(Cursor::beside(texture)),
                        _ => None,
                    };
                    let cursor = beside.as_mut().unwrap_or(cursor);
                    let mut part = self.place(field.name, &field.shape, at, around, handles, cursor);
                    if self.is_beside(field) {
                        part.slots.iter_mut().for_each(|slot| slot.kind = Kind::Beside);
                    }
                    bound.parts.push(part);
                }
            }
            Shape::Block(block, inner) => self.block(*block, inner, handles, cursor, &mut bound),
        }
        bound
    }

    /// Memory of its own, and what lies in it.
    fn block(&self, block: Block, inner: &Shape, around: Handles, cursor: &mut Cursor, bound: &mut Bound) {
        let memory = if block == Block::Parameters { Memory::Parameters } else { Memory::Constant };
        let rules = self.rules(memory);
        let handles = match self.target {
            Target::Cuda | Target::Cpp => Handles::Fat,
            Target::Metal if self.is_argument_buffer(block) => Handles::Thin,
            Target::Wgsl | Target::SpirV | Target::Glsl | Target::Hlsl | Target::Metal => Handles::Elsewhere,
        };
        let size = self.measure(inner, rules, handles).size as u32;
        let mut slot = None;
        if self.has_own_space(block) {
            let mut own = Cursor::default();
            bound.space = Some(cursor.space);
            own.start(Slot { kind: Kind::Binding, space: cursor.space, index: 0, count: 0 });
            own.space = cursor.space + 1;
            cursor.space += self.usage_of(&bound.shape).spaces;
            slot = self.block_slot(inner).map(|kind| own.next(kind, 1));
            bound.parts.push(self.place(bound.name, inner, 0, rules, handles, &mut own));
        } else if self.is_argument_buffer(block) {
            slot = bound.slots.first().map(|_| cursor.next(Kind::Buffer, 1));
            bound.parts.push(self.place(bound.name, inner, 0, rules, handles, cursor));
        } else {
            if around == Handles::Elsewhere {
                slot = self.block_slot(inner).map(|kind| cursor.next(kind, 1));
            }
            bound.parts.push(self.place(bound.name, inner, 0, rules, handles, cursor));
        }
        bound.block = (size > 0 || slot.is_some()).then_some(BlockPlace { slot, size, rules });
    }
}

/// What a handle takes in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Handles {
    /// Nothing: it has a slot.
    Elsewhere,
    /// A pointer, and for a buffer how many elements there are.
    Fat,
    /// A pointer.
    Thin,
}

impl Placer<'_> {
    fn handles(&self) -> Handles {
        if self.target.has_pointers() { Handles::Fat } else { Handles::Elsewhere }
    }

    /// How many bytes the values of some fields take.
    pub fn data_size(&self, fields: &[Field], rules: Rules) -> u32 {
        self.measure(&Shape::Struct(fields.to_vec()), rules, self.handles()).size as u32
    }

    /// Where the values of each field begin.
    pub fn offsets(&self, fields: &[Field], rules: Rules) -> Vec<u32> {
        self.field_offsets(fields, rules, self.handles())
    }

    fn field_offsets(&self, fields: &[Field], rules: Rules, handles: Handles) -> Vec<u32> {
        self.lay(fields, rules, handles).0
    }

    /// Offsets of fields, and all of them together.
    fn lay(&self, fields: &[Field], rules: Rules, handles: Handles) -> (Vec<u32>, Measure) {
        let mut all = Measure::EMPTY;
        let mut offsets = Vec::new();
        for field in fields {
            let at;
            let field = match field.shape {
                Shape::Value(ty) => rules.field(self.types, ty, 0),
                Shape::Packed(..)
                | Shape::Resource(_)
                | Shape::Counter(_)
                | Shape::Block(..)
                | Shape::Struct(_)
                | Shape::Array(..) => (self.measure(&field.shape, rules, handles), false),
            };
            (at, all) = rules.followed_by(all, field);
            offsets.push(at as u32);
        }
        (offsets, all)
    }

    fn measure(&self, shape: &Shape, rules: Rules, handles: Handles) -> Measure {
        let pointer = Measure { size: 8, align: 8, handle: false };
        match (shape, handles) {
            (Shape::Value(ty), _) => rules.measure(self.types, *ty, 0),
            (Shape::Packed(ty, at), _) => rules.packed(self.types, *ty, at).1,
            (Shape::Resource(_) | Shape::Counter(_) | Shape::Block(..), Handles::Elsewhere) => Measure::EMPTY,
            (Shape::Resource(ty), Handles::Fat) if matches!(self.types.get(*ty), Type::Opaque(_)) => pointer,
            (Shape::Resource(_) | Shape::Counter(_), Handles::Fat) => Measure { size: 16, ..pointer },
            (Shape::Resource(_) | Shape::Counter(_), Handles::Thin) => pointer,
            (Shape::Block(..), Handles::Fat | Handles::Thin) => pointer,
            (Shape::Array(elem, n), _) => {
                let elem = self.measure(elem, rules, handles);
                rules.array(elem, *n)
            }
            (Shape::Struct(fields), _) => rules.structure(self.lay(fields, rules, handles).1),
        }
    }
}
