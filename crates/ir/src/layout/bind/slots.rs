//! Allocates slots: tracks those that are taken, and finds the first free ones.

use super::place::Cursor;
use cotangent_base::Map;

/// Kinds of slots; each is numbered on its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A binding of WGSL, SPIR-V and GLSL.
    Binding,
    /// A `b` register of HLSL.
    ConstantBuffer,
    /// A `t` register of HLSL.
    ShaderResource,
    /// A `u` register of HLSL.
    UnorderedAccess,
    /// An `s` register of HLSL, a sampler index of Metal.
    Sampler,
    /// A texture index of Metal.
    Texture,
    /// A buffer index of Metal.
    Buffer,
    /// The push constants; there is one.
    PushConstant,
    /// The binding of the texture that a combined sampler has, in SPIR-V and GLSL: one descriptor holds both.
    Beside,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Binding,
        Kind::ConstantBuffer,
        Kind::ShaderResource,
        Kind::UnorderedAccess,
        Kind::Sampler,
        Kind::Texture,
        Kind::Buffer,
    ];

    /// The name in reflection.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Binding => "binding",
            Kind::ConstantBuffer => "b",
            Kind::ShaderResource => "t",
            Kind::UnorderedAccess => "u",
            Kind::Sampler => "s",
            Kind::Texture => "texture",
            Kind::Buffer => "buffer",
            Kind::PushConstant => "push_constant",
            Kind::Beside => "binding",
        }
    }
}

/// A range of slots.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// Of which kind.
    pub kind: Kind,
    /// In which space: `@group`, `set` or `space`.
    pub space: u32,
    /// The first.
    pub index: u32,
    /// How many.
    pub count: u32,
}

impl Slot {
    /// Whether two ranges have a slot in common.
    fn meets(&self, other: Slot) -> bool {
        let is_before = |a: &Slot, b: &Slot| a.index.saturating_add(a.count) <= b.index;
        let apart = is_before(self, &other) || is_before(&other, self);
        self.kind == other.kind && self.space == other.space && !apart
    }
}

/// How many slots of each kind something takes, and how many spaces.
#[derive(Clone, Default)]
pub(super) struct Usage {
    counts: Map<Kind, u32>,
    pub spaces: u32,
}

impl Usage {
    pub fn add(&mut self, kind: Kind, count: u32) {
        *self.counts.entry(kind).or_default() += count;
    }

    pub fn join(&mut self, other: &Usage) {
        for kind in Kind::ALL {
            if let Some(count) = other.counts.get(&kind) {
                self.add(kind, *count);
            }
        }
        self.spaces += other.spaces;
    }

    pub fn times(mut self, n: u32) -> Usage {
        self.counts.values_mut().for_each(|count| *count = count.saturating_mul(n));
        self.spaces = self.spaces.saturating_mul(n);
        self
    }

    pub fn remove(&mut self, kind: Kind) {
        self.counts.remove(&kind);
    }

    pub fn get(&self, kind: Kind) -> u32 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    pub fn needs_default_space(&self) -> bool {
        self.counts.values().any(|count| *count > 0)
    }
}

/// What is taken so far.
#[derive(Default)]
pub(super) struct Allocator {
    ranges: Vec<Slot>,
    spaces: Vec<u32>,
}

impl Allocator {
    pub fn reserve(&mut self, slot: Slot) {
        self.ranges.push(slot);
        self.use_space(slot.space);
    }

    /// Whether nothing is in a range.
    pub fn has(&self, slot: Slot) -> bool {
        !self.ranges.iter().any(|range| range.meets(slot))
    }

    pub fn use_space(&mut self, space: u32) {
        self.spaces.push(space);
    }

    /// The first free range of each kind in the default space, and the first free spaces.
    pub fn take(&mut self, usage: &Usage) -> Cursor {
        let mut cursor = Cursor::default();
        for kind in Kind::ALL {
            let count = usage.get(kind);
            if count > 0 {
                let slot = Slot { kind, space: 0, index: self.first(kind, count), count };
                self.reserve(slot);
                cursor.start(slot);
            }
        }
        cursor.space = self.first_space(usage.spaces);
        (0..usage.spaces).for_each(|i| self.use_space(cursor.space + i));
        cursor
    }

    fn first(&self, kind: Kind, count: u32) -> u32 {
        let taken = |at: u32| {
            let wanted = Slot { kind, space: 0, index: at, count };
            self.ranges.iter().filter(|range| range.meets(wanted)).map(|r| r.index + r.count).max()
        };
        let mut at = 0;
        while let Some(behind) = taken(at) {
            at = behind;
        }
        at
    }

    fn first_space(&self, count: u32) -> u32 {
        let free = |at: u32| (at..at.saturating_add(count)).all(|space| !self.spaces.contains(&space));
        (0..).find(|at| free(*at)).unwrap_or(0)
    }
}
