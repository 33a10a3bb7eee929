//! Whether what a caller gives fits the program: arguments of parameters, texels, inputs of a function at points.
//!
//! All back ends refuse the same arguments with the same sentences, since they ask here. What only one of them requires (a texture
//! that was made for the same use, for example) it checks itself.

use crate::backend::{Argument, Arguments, Backend, TextureType};
use crate::{Element, Failure};
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Texture};
use cotangent_ir::{Access, FuncId, Global, GlobalKind, Module, Ty, Type, layout};
use std::sync::Arc;

/// An argument that fits its parameter.
pub enum Fitting<'a, B: Backend + ?Sized> {
    /// A buffer with elements of that type, and whether the program may write it.
    Buffer(&'a B::Buffer, Ty, bool),
    /// A texture of that type, and whether the program may write it.
    Texture(&'a B::Texture, bool),
    /// What a sampler does.
    Sampler(SamplerState),
    /// As many bytes as the value takes in C layout.
    Value(&'a [u8]),
}

/// All arguments as their parameters take them, in the order of declaration.
pub fn fittings<'a, B: Backend + ?Sized>(
    module: &Arc<Module>,
    arguments: &'a Arguments<B>,
    exact: bool,
) -> Result<Vec<(Global, Fitting<'a, B>)>, Failure> {
    let params = module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
    let given = params.filter_map(|(param, _)| Some((param, arguments.get(param)?)));
    given.map(|(param, argument)| Ok((param, fitting(module, param, argument, exact)?))).collect()
}

/// An argument as its parameter takes it. Where elements need not be `exact`, integers and floats of one size count as the same.
pub fn fitting<'a, B: Backend + ?Sized>(
    module: &Arc<Module>,
    param: Global,
    argument: &'a Argument<B>,
    exact: bool,
) -> Result<Fitting<'a, B>, Failure> {
    let data = &module.globals[param];
    let (name, types) = (data.name, &module.types);
    let wrong = |what: String| Err(Failure::usage(what));
    match (types.get(data.ty), argument) {
        (Type::Buffer(elem, access), Argument::Buffer(buffer)) => {
            if !B::element(buffer).is_like(&Element::new(module, elem), exact) {
                return wrong(format!("the buffer given for `{name}` has other elements"));
            }
            Ok(Fitting::Buffer(buffer, elem, access == Access::ReadWrite))
        }
        (Type::Opaque(Opaque::Texture(ty)), Argument::Texture(texture)) => {
            if (Texture { access: ty.access, ..B::texels(texture) }) != ty {
                return wrong(format!("the texture given for `{name}` is of another type"));
            }
            Ok(Fitting::Texture(texture, ty.access == Access::ReadWrite))
        }
        (Type::Opaque(Opaque::Sampler | Opaque::Comparison), Argument::Sampler(state)) => {
            Ok(Fitting::Sampler(*state))
        }
        (Type::Buffer(..) | Type::Opaque(_), _) => {
            wrong(format!("`{name}` was given an argument of another kind"))
        }
        (_, Argument::Value(bytes)) => {
            let size = layout::layout(types, data.ty).map_or(0, |l| l.size as usize);
            if bytes.len() != size {
                let given = bytes.len();
                return wrong(format!("`{name}` takes {size} bytes, but was given {given}"));
            }
            Ok(Fitting::Value(bytes))
        }
        (_, Argument::Buffer(_) | Argument::Texture(_) | Argument::Sampler(_)) => {
            wrong(format!("`{name}` is a value"))
        }
    }
}

impl TextureType {
    /// Refuses texels that are fewer than a texture of that extent has.
    pub fn check(&self, extent: Extent, texels: &[u8]) -> Result<(), Failure> {
        let texel = usize::from(self.texture.lanes) * self.texture.scalar.bytes() as usize;
        let (size, given) = (extent.texels() * texel, texels.len());
        if given < size {
            return Err(Failure::usage(format!("the texels take {size} bytes, but {given} were given")));
        }
        Ok(())
    }
}

/// Checks that the inputs of a function have as many bytes as all points take. Returns the size of each output.
pub fn check_inputs(
    module: &Module,
    func: FuncId,
    points: usize,
    inputs: &[&[u8]],
) -> Result<Vec<usize>, Failure> {
    let sig = &module.funcs[func].sig;
    let size = |ty| layout::layout(&module.types, ty).map(|l| l.size as usize);
    for (index, input) in sig.inputs().enumerate() {
        let name = input.name;
        let Some(size) = size(input.ty) else {
            return Err(Failure::usage(format!("`{name}` has no layout in memory")));
        };
        if inputs.get(index).is_none_or(|bytes| bytes.len() != points * size) {
            return Err(Failure::usage(format!("`{name}` takes {size} bytes for each of {points} points")));
        }
    }
    Ok(sig.outputs().map(|output| size(output.ty).unwrap_or(0)).collect())
}
