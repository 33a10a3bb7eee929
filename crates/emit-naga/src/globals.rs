//! Global variables: their types, bindings and address spaces.

use crate::refuse::refuse;
use crate::words::{Form, Words};
use crate::{Emitter, Result, words};
use cotangent_base::{EntitySet, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::Target;
use cotangent_ir::layout::bind::{Kind, LeafPlace, Slot};
use cotangent_ir::{Access, FuncId, Global, GlobalKind, Op, Ty, Type, Types, type_group};
use naga::{Handle, Span as NoSpan};

impl Emitter<'_> {
    /// Declares the globals that `funcs` mention, parameters with bindings in the order of declaration.
    pub(super) fn global_variables(&mut self, funcs: &[FuncId]) -> Result<()> {
        let module = self.module;
        let mut used = EntitySet::new();
        for func in funcs.iter().map(|f| &module.funcs[*f]) {
            let globals = func
                .all_insts()
                .into_iter()
                .filter_map(|i| if let Op::Global(global) = func.insts[i].op { Some(global) } else { None });
            used.extend(globals);
        }
        let mut next = 0;
        for (global, data) in module.globals.iter().filter(|(g, _)| used.contains(*g)) {
            if let Some(LeafPlace::Value(block, _)) = self.places.get(&global) {
                if !self.values.contains_key(&global) {
                    self.block(*block, &used)?;
                }
                continue;
            }
            let space = self.address_space(global);
            if let Type::Ref(inner) = module.types.get(data.ty) {
                self.require_room(inner, data.span)?;
            }
            if self.is_in_binding_array(global) {
                let (ty, form) = self.global_type(global)?;
                let memory = self.element(global, ty)?;
                self.globals.insert(global, memory);
                if let Some(form) = form {
                    let element = self.elements.get(&global).copied();
                    let words = Words { memory, element, member: None, form, rules: self.rules, offset: 0 };
                    self.words.insert(global, words);
                }
                continue;
            }
            let binding = match data.kind {
                GlobalKind::Param => {
                    let slot = self.slot(global, &mut next)?;
                    Some(self.binding(slot, data.span)?)
                }
                GlobalKind::Shared | GlobalKind::Static(_) => None,
            };
            let (ty, form) = self.global_type(global)?;
            let first = self.mark_of(global);
            let var = variable(data.name.as_str(), space, ty, binding, first);
            let memory = self.out.global_variables.append(var, NoSpan::UNDEFINED);
            self.globals.insert(global, memory);
            if let Some(form) = form {
                let words = Words { memory, element: None, member: None, form, rules: self.rules, offset: 0 };
                self.words.insert(global, words);
            }
        }
        Ok(())
    }

    /// What a global is declared as, and how if it is words.
    fn global_type(&mut self, global: Global) -> Result<(Handle<naga::Type>, Option<Form>)> {
        let data = &self.module.globals[global];
        let types = &self.module.types;
        let atomic = self.atomics.contains(global);
        if let Type::Buffer(elem, _) = types.get(data.ty)
            && holds_resource(types, elem)
        {
            let (feature, what) = match holds_more_than_pointers(types, elem) {
                true => (Feature::ResourceValue, "resource"),
                false => (Feature::PointerInMemory, "pointer"),
            };
            let message = format!("a {what} in the elements of `{}` is not supported", data.name);
            return refuse(feature, data.span, message);
        }
        let ty = match types.get(data.ty) {
            Type::Buffer(elem, access)
                if self.lanes_changed.contains(global)
                    || !words::is_native_element(types, elem, self.rules) =>
            {
                let parts = access == Access::ReadWrite && words::has_small_parts(types, elem, self.rules);
                let form = if atomic || parts { Form::Atomic } else { Form::Plain };
                let word = match form {
                    Form::Atomic => naga::TypeInner::Atomic(naga::Scalar::U32),
                    Form::Plain | Form::Quads => naga::TypeInner::Scalar(naga::Scalar::U32),
                };
                let word = self.plain(word);
                return Ok((self.runtime_array_of(word), Some(form)));
            }
            Type::Buffer(elem, _) if atomic => self.atomic_buffer(elem, data.span)?,
            Type::Ref(inner) if atomic => self.atomic_ty(inner, data.span)?,
            Type::Buffer(elem, _) => self.runtime_array(elem, data.span)?,
            Type::Opaque(opaque) => self.opaque(opaque, global, data.span)?,
            Type::Ref(inner) => self.ty(inner, data.span)?,
            type_group!(unit | number | composite) => self.ty(data.ty, data.span)?,
        };
        Ok((ty, None))
    }

    /// Where a resource is bound, or the next number.
    fn slot(&self, global: Global, next: &mut u32) -> Result<Slot> {
        let span = self.module.globals[global].span;
        match self.places.get(&global) {
            Some(LeafPlace::Slot(slot)) => return Ok(*slot),
            Some(LeafPlace::Element(..)) => return self.register_of_element(global),
            Some(LeafPlace::Packed(_)) => {
                self.require(Feature::PackOffset, span, "`packoffset` is not supported")?;
            }
            None if !self.places.is_empty() => {
                self.require(
                    Feature::ParameterBlock,
                    span,
                    "a resource in a `ParameterBlock` is not supported",
                )?;
            }
            Some(LeafPlace::Value(..)) | None => {}
        }
        let index = *next;
        *next += 1;
        Ok(Slot { kind: Kind::Binding, space: 0, index, count: 1 })
    }

    /// The binding that stands for `slot`, unless its numbers are too large for the target.
    pub(super) fn binding(&mut self, slot: Slot, span: Span) -> Result<naga::ResourceBinding> {
        let binding = self.slots.binding(slot);
        match self.target {
            Target::Hlsl if slot.space > 255 => {
                let what = format!("the register space {} (the last is 255) is not supported", slot.space);
                refuse(Feature::LargeNumbers, span, what)
            }
            // The buffer of sizes comes after.
            Target::Metal if slot.index > 254 => {
                let what = format!("the index {} (the last is 254) is not supported", slot.index);
                refuse(Feature::LargeNumbers, span, what)
            }
            Target::Glsl if self.slots.len() > 256 => {
                refuse(Feature::LargeNumbers, span, "a resource beyond the first 256 is not supported")
            }
            Target::Wgsl
            | Target::SpirV
            | Target::Glsl
            | Target::Hlsl
            | Target::Metal
            | Target::Cuda
            | Target::Cpp => Ok(binding),
        }
    }

    pub(super) fn address_space(&self, global: Global) -> naga::AddressSpace {
        let data = &self.module.globals[global];
        let storage = |access| naga::AddressSpace::Storage { access };
        match (&data.kind, self.module.types.get(data.ty)) {
            (GlobalKind::Param, Type::Buffer(_, Access::ReadWrite)) => {
                storage(naga::StorageAccess::LOAD | naga::StorageAccess::STORE)
            }
            (GlobalKind::Param, Type::Opaque(_)) => naga::AddressSpace::Handle,
            (GlobalKind::Param, _) => storage(naga::StorageAccess::LOAD),
            (GlobalKind::Shared, _) => naga::AddressSpace::WorkGroup,
            (GlobalKind::Static(_), _) => naga::AddressSpace::Private,
        }
    }
}

pub(crate) fn variable(
    name: &str,
    space: naga::AddressSpace,
    ty: Handle<naga::Type>,
    binding: Option<naga::ResourceBinding>,
    init: Option<Handle<naga::Expression>>,
) -> naga::GlobalVariable {
    let memory_decorations = naga::MemoryDecorations::empty();
    naga::GlobalVariable { name: Some(name.to_string()), space, binding, ty, init, memory_decorations }
}

/// Whether there are buffers, textures or pointers in a type.
fn holds_resource(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => true,
        Type::Array(elem, _) => holds_resource(types, elem),
        Type::Struct(id) | Type::Sum(id) => {
            types.struct_def(id).fields.iter().any(|f| holds_resource(types, f.ty))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
    }
}

/// Whether resources other than pointers are in values of a type.
fn holds_more_than_pointers(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Buffer(..) | Type::Opaque(_) => true,
        Type::Array(elem, _) => holds_more_than_pointers(types, elem),
        Type::Struct(id) | Type::Sum(id) => {
            types.struct_def(id).fields.iter().any(|f| holds_more_than_pointers(types, f.ty))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Ref(_) => false,
    }
}
