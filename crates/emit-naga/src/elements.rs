//! Declares arrays of resources.
//!
//! The elements of an array are globals of their own that share a slot, in order. HLSL and Metal give an array consecutive registers,
//! so that each element is a variable with a register of its own. In SPIR-V and WGSL an array has one binding, and an element is
//! `array[3]`; naga wants a structure around a buffer there. naga's GLSL has no such arrays. An element that an index chooses was
//! replaced by a choice between accesses before.

use crate::refuse::refuse;
use crate::write::invalid;
use crate::{Emitter, Result, variable};
use cotangent_base::Map;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::Target;
use cotangent_ir::layout::bind::{LeafPlace, Slot};
use cotangent_ir::{Global, Type};
use naga::{ArraySize, GlobalVariable, Handle, StructMember, TypeInner};
use std::num::NonZeroU32;

impl Emitter<'_> {
    /// The elements of each array.
    fn element_groups(&self) -> impl Iterator<Item = Vec<Global>> + use<> {
        let (mut numbers, mut groups) = (Map::default(), Vec::new());
        for global in self.module.globals.keys() {
            let Some(LeafPlace::Element(slot, Some(_))) = self.places.get(&global) else { continue };
            let number = *numbers.entry(*slot).or_insert(groups.len());
            if number == groups.len() {
                groups.push(vec![]);
            }
            groups[number].push(global);
        }
        groups.into_iter()
    }

    /// All elements of an array have one type, so what is done to one may be done to all.
    pub fn unite_elements(&mut self) {
        for group in self.element_groups() {
            for changed in [&mut self.atomics, &mut self.lanes_changed] {
                if group.iter().any(|element| changed.contains(*element)) {
                    group.iter().for_each(|element| _ = changed.insert(*element));
                }
            }
            let touched = group.iter().filter_map(|element| self.touched.get(element).copied());
            if let Some(united) = touched.reduce(|a, b| a.or(b)) {
                self.touched.extend(group.iter().map(|element| (*element, united)));
            }
        }
    }

    /// Whether a global is an element of an array that has one binding.
    pub fn is_in_binding_array(&self, global: Global) -> bool {
        matches!(self.places.get(&global), Some(LeafPlace::Element(..)))
            && matches!(self.target, Target::SpirV | Target::Wgsl)
    }

    /// Where an element is, the number that it has, and how many there are.
    fn numbered(&self, global: Global) -> Result<(Slot, u32, u32)> {
        let span = self.module.globals[global].span;
        self.require(Feature::ResourceArray, span, "an array of resources is not supported")?;
        match self.places.get(&global) {
            Some(LeafPlace::Element(slot, Some((number, count)))) => Ok((*slot, *number, *count)),
            _ => {
                let what = "an array of arrays or structures with resources is not supported";
                refuse(Feature::ResourceArrayOfStructs, span, what)
            }
        }
    }

    /// The register of an element, where arrays have consecutive ones.
    pub fn register_of_element(&self, global: Global) -> Result<Slot> {
        let (slot, number, _) = self.numbered(global)?;
        Ok(Slot { index: slot.index + number, ..slot })
    }

    /// The array that a global of this type is an element of.
    pub fn element(&mut self, global: Global, ty: Handle<naga::Type>) -> Result<Handle<GlobalVariable>> {
        let data = &self.module.globals[global];
        let (slot, number, count) = self.numbered(global)?;
        self.elements.insert(global, number);
        if let Some(array) = self.binding_arrays.get(&slot) {
            return Ok(*array);
        }
        let base =
            if let Type::Buffer(..) = self.module.types.get(data.ty) { self.in_structure(ty) } else { ty };
        let size = NonZeroU32::new(count).ok_or_else(|| invalid("an array without resources"))?;
        let ty = self.plain(TypeInner::BindingArray { base, size: ArraySize::Constant(size) });
        let binding = self.binding(slot, data.span)?;
        let name = data.name.as_str().split('.').next().unwrap_or_default();
        let var = variable(name, self.address_space(global), ty, Some(binding), None);
        let array = self.out.global_variables.append(var, naga::Span::UNDEFINED);
        self.binding_arrays.insert(slot, array);
        Ok(array)
    }

    /// A structure that has nothing but a buffer.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn in_structure(&mut self, buffer: Handle<naga::Type>) -> Handle<naga::Type> {
        let span = match self.out.types[buffer].inner {
            TypeInner::Array { stride, .. } => stride,
            _ => 4,
        };
        let member = StructMember { name: Some("elements".into()), ty: buffer, binding: None, offset: 0 };
        self.plain(TypeInner::Struct { members: vec![member], span })
    }
}
