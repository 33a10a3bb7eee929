//! Emits parameter values, which are in uniform buffers and push constants.
//!
//! If a block holds one value and has naga's layout, it is a variable of that type. Otherwise it is a structure with a member
//! for each used value, at the offset that the target's rules specify. A member has its own type if naga lays it out in the
//! same way, `u32` for a boolean, and words for any other type ([`words`](crate::words)). If naga does not accept the offset
//! of a member, the whole block is words.

use crate::func::FuncEmitter;
use crate::words::{Form, Words, has_small_parts, is_native};
use crate::{Emitter, LeafPlace, Result, unsupported, variable};
use cotangent_base::Scalar;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::bind::{BlockPlace, Kind, Slot};
use cotangent_ir::layout::{Rules, Set, Target};
use cotangent_ir::{Global, Path, Ty, Type, type_group};
use naga::{
    AddressSpace, ArraySize, BinaryOperator, Expression, Handle, Literal, Span as NoSpan, StructMember,
    TypeInner,
};
use std::num::NonZeroU32;

/// Where a value is.
#[derive(Clone, Copy)]
pub(crate) enum Uniform {
    /// A variable of its own.
    Whole(Handle<naga::GlobalVariable>),
    /// A member of a block.
    Member(Handle<naga::GlobalVariable>, u32),
    /// A boolean, as a member of a block that is a word.
    Truth(Handle<naga::GlobalVariable>, u32),
    /// Words.
    Words(Words),
}

/// A value of a block: what it is, and where.
#[derive(Clone, Copy)]
struct Leaf {
    global: Global,
    offset: u32,
}

impl Emitter<'_> {
    /// Declares a block with all of its values that are used.
    pub fn block(&mut self, block: BlockPlace, used: &cotangent_base::EntitySet<Global>) -> Result<()> {
        let mut leaves: Vec<Leaf> = Vec::new();
        for (&global, place) in self.places.iter().filter(|(g, _)| used.contains(**g)) {
            if let LeafPlace::Value(b, offset) = place
                && b.slot == block.slot
            {
                leaves.push(Leaf { global, offset: *offset });
            }
        }
        leaves.sort_by_key(|leaf| (leaf.offset, leaf.global));
        let span =
            leaves.first().map_or(cotangent_base::Span::none(), |l| self.module.globals[l.global].span);
        self.fits(u64::from(block.size).next_multiple_of(16), span)?;
        let Some(slot) = block.slot else {
            let what = "a constant buffer in a `ParameterBlock` is not supported";
            self.require(Feature::ParameterBlock, span, what)?;
            return unsupported(span, "a uniform value outside a buffer is not supported");
        };
        let (space, binding) = self.block_space(slot, span)?;
        let alone = self.alone_in(block);
        if let ([leaf], true) = (&leaves[..], alone) {
            let data = &self.module.globals[leaf.global];
            if leaf.offset == 0 && self.is_native_uniform(data.ty, block) {
                let ty = self.ty(data.ty, data.span)?;
                let var = variable(data.name.as_str(), space, ty, binding, None);
                let var = self.out.global_variables.append(var, NoSpan::UNDEFINED);
                self.values.insert(leaf.global, Uniform::Whole(var));
            } else {
                self.worded(data.name.as_str(), &leaves, block, space, binding);
            }
            return Ok(());
        }
        match self.members(&leaves, block)? {
            Some(members) => self.structured(&leaves, members, block, space, binding),
            None => self.worded("parameters", &leaves, block, space, binding),
        }
        Ok(())
    }

    /// Whether naga lays a value out as the block does, and takes it in a uniform buffer, which asks for more than others,
    /// or in a push constant, which has no `half`.
    fn is_native_uniform(&self, ty: Ty, block: BlockPlace) -> bool {
        let uniform = Rules { set: Set::Std140, ..block.rules };
        let pushed = block.slot.is_some_and(|s| s.kind == Kind::PushConstant) && self.target == Target::SpirV;
        let types = &self.module.types;
        let immediate =
            block.slot.is_some_and(|s| s.kind == Kind::PushConstant) && self.target != Target::Glsl;
        if immediate && has_small_parts(types, ty, block.rules) {
            return false;
        }
        is_native(types, ty, block.rules) && (pushed || is_native(types, ty, uniform))
    }

    /// Whether a block holds one value only, used or not.
    fn alone_in(&self, block: BlockPlace) -> bool {
        let inside = |place: &&LeafPlace| matches!(place, LeafPlace::Value(b, _) if b.slot == block.slot);
        self.places.values().filter(inside).count() == 1
    }

    /// GLSL's push constants are a uniform block to naga.
    fn block_space(
        &mut self,
        slot: Slot,
        span: cotangent_base::Span,
    ) -> Result<(AddressSpace, Option<naga::ResourceBinding>)> {
        if slot.kind == Kind::PushConstant && self.target != Target::Glsl {
            return Ok((AddressSpace::Immediate, None));
        }
        Ok((AddressSpace::Uniform, Some(self.binding(slot, span)?)))
    }

    /// The members of a block, unless one is at a place that naga does not take.
    fn members(&mut self, leaves: &[Leaf], block: BlockPlace) -> Result<Option<Vec<StructMember>>> {
        let (mut members, mut end, mut behind_aggregate) = (Vec::new(), 0, false);
        let pushed = block.slot.is_some_and(|s| s.kind == Kind::PushConstant) && self.target != Target::Glsl;
        // Some writers go by the order of members alone, so that what is not used must be there.
        let word = self.plain(TypeInner::Scalar(naga::Scalar::U32));
        for leaf in leaves {
            let data = &self.module.globals[leaf.global];
            let ty = if self.is_native_uniform(data.ty, block) {
                self.ty(data.ty, data.span)?
            } else if self.module.types.get(data.ty) == Type::Scalar(Scalar::Bool)
                && block.rules.scalar_bytes(Scalar::Bool) == 4
            {
                self.plain(TypeInner::Scalar(naga::Scalar::U32))
            } else {
                let size = block.rules.layout(&self.module.types, data.ty).map_or(0, |l| l.size);
                self.quads(size)
            };
            let (size, natural) = self.size_and_align(ty);
            let is_aggregate =
                matches!(self.out.types[ty].inner, TypeInner::Struct { .. } | TypeInner::Array { .. });
            let align = if is_aggregate { natural.max(16) } else { natural };
            let shares_aggregate =
                behind_aggregate && !pushed && leaf.offset < u32::next_multiple_of(end, 16);
            if !leaf.offset.is_multiple_of(align) || leaf.offset < end || shares_aggregate {
                return Ok(None);
            }
            // WGSL says no offsets: they follow from the order. And it takes nothing in the same 16 bytes after an aggregate.
            let reached = if self.target == Target::Wgsl { natural } else { align };
            if behind_aggregate && end.next_multiple_of(reached) < leaf.offset.min(end.next_multiple_of(16)) {
                return Ok(None);
            }
            while u32::next_multiple_of(end, reached) < leaf.offset {
                // Nothing may share 16 bytes with an aggregate.
                let offset = end.next_multiple_of(if behind_aggregate { 16 } else { 4 });
                behind_aggregate = false;
                let quads = (leaf.offset - offset) / 16;
                let ty = if offset.is_multiple_of(16) && quads > 0 { self.quads(16 * quads) } else { word };
                let name = format!("unused_{offset}");
                members.push(StructMember { name: Some(name), ty, binding: None, offset });
                end = offset + self.size_and_align(ty).0;
            }
            (end, behind_aggregate) = (leaf.offset + size, is_aggregate);
            let name = crate::func::plain_name(data.name);
            members.push(StructMember { name: Some(name), ty, binding: None, offset: leaf.offset });
        }
        Ok((end <= block.size.next_multiple_of(16)).then_some(members))
    }

    fn structured(
        &mut self,
        leaves: &[Leaf],
        members: Vec<StructMember>,
        block: BlockPlace,
        space: AddressSpace,
        binding: Option<naga::ResourceBinding>,
    ) {
        let index_of = |leaf: &Leaf| members.iter().position(|m| m.offset == leaf.offset).unwrap_or(0) as u32;
        let indices: Vec<u32> = leaves.iter().map(index_of).collect();
        let inner = TypeInner::Struct { members, span: block.size.next_multiple_of(16) };
        let ty = naga::Type { name: Some("Parameters".to_string()), inner };
        let ty = self.out.types.insert(ty, NoSpan::UNDEFINED);
        let var = variable("parameters", space, ty, binding, None);
        let var = self.out.global_variables.append(var, NoSpan::UNDEFINED);
        for (index, leaf) in indices.into_iter().zip(leaves) {
            let ty = self.module.globals[leaf.global].ty;
            let uniform = match self.module.types.get(ty) {
                _ if self.is_native_uniform(ty, block) => Uniform::Member(var, index),
                Type::Scalar(Scalar::Bool) if block.rules.scalar_bytes(Scalar::Bool) == 4 => {
                    Uniform::Truth(var, index)
                }
                type_group!(unit | number | composite | handle) => Uniform::Words(Words {
                    memory: var,
                    element: None,
                    member: Some(index),
                    form: Form::Quads,
                    rules: block.rules,
                    offset: 0,
                }),
            };
            self.values.insert(leaf.global, uniform);
        }
    }

    fn worded(
        &mut self,
        name: &str,
        leaves: &[Leaf],
        block: BlockPlace,
        space: AddressSpace,
        binding: Option<naga::ResourceBinding>,
    ) {
        let ty = self.quads(block.size);
        let var = variable(name, space, ty, binding, None);
        let memory = self.out.global_variables.append(var, NoSpan::UNDEFINED);
        for leaf in leaves {
            let (form, rules, offset) = (Form::Quads, block.rules, leaf.offset);
            self.values.insert(
                leaf.global,
                Uniform::Words(Words { memory, element: None, member: None, form, rules, offset }),
            );
        }
    }

    /// So many bytes as words.
    fn quads(&mut self, size: u32) -> Handle<naga::Type> {
        let base = self.plain(TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::U32 });
        let count = NonZeroU32::new(size.div_ceil(16)).unwrap_or(NonZeroU32::MIN);
        self.plain(TypeInner::Array { base, size: ArraySize::Constant(count), stride: 16 })
    }
}

impl FuncEmitter<'_, '_> {
    /// A known part of the value of a parameter that is words.
    pub fn uniform_part(&mut self, global: Global, path: &Path) -> Result<Handle<Expression>> {
        let Some(Uniform::Words(words)) = self.emitter.values.get(&global).copied() else {
            return unsupported(self.span, "a part of this parameter is not supported");
        };
        let ty = self.module().globals[global].ty;
        let (at, ty) = self.follow(words, ty, path, &[])?;
        self.read_words(at, ty)
    }

    /// The value of a parameter.
    pub fn uniform(&mut self, global: Global, uniform: Uniform) -> Result<Handle<Expression>> {
        let (var, member) = match uniform {
            Uniform::Words(words) => {
                let ty = self.module().globals[global].ty;
                let (at, ty) = self.follow(words, ty, &Path::default(), &[])?;
                return self.read_words(at, ty);
            }
            Uniform::Whole(var) => (var, None),
            Uniform::Member(var, index) | Uniform::Truth(var, index) => (var, Some(index)),
        };
        let mut pointer = self.expr(Expression::GlobalVariable(var));
        if let Some(index) = member {
            pointer = self.expr(Expression::AccessIndex { base: pointer, index });
        }
        let value = self.expr(Expression::Load { pointer });
        if !matches!(uniform, Uniform::Truth(..)) {
            return Ok(value);
        }
        let right = self.expr(Expression::Literal(Literal::U32(0)));
        Ok(self.expr(Expression::Binary { op: BinaryOperator::NotEqual, left: value, right }))
    }
}
