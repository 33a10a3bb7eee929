//! Shader parameters as declared.
//!
//! In the code of a module, a parameter is one [`Global`] per leaf: a buffer, or a value without buffers. The binding of a
//! leaf depends on all declared parameters, used or not, and on the structures around it. This module stores those
//! declarations beside the module, for [`layout::bind`](crate::layout::bind).

use crate::{Global, Ty};
use cotangent_base::{Span, Symbol, Wish};

/// All parameters of a program.
#[derive(Clone, Default, Debug)]
pub struct ShaderParams {
    /// The globals, in the order of declaration.
    pub globals: Vec<ShaderParam>,
    /// The entry points with their uniform parameters, in the order they were asked for.
    pub entries: Vec<(Symbol, Vec<ShaderParam>)>,
    /// For each of them, what it takes from the stage before and gives to the one after.
    pub varyings: Vec<Vec<ShaderVarying>>,
    /// The parameters that hold derivatives, if an entry point is the derivative of a kernel.
    pub shadows: Vec<ShaderShadow>,
    /// The buffers that such an entry point writes although the host must not see it: it takes a copy.
    pub copies: Vec<Symbol>,
    /// The parameters of such an entry point that say what a sampler does: the sampler, and an integer
    /// ([`SamplerState::word`](crate::texture::SamplerState::word)).
    pub samplers: Vec<(Symbol, Symbol)>,
    /// Those of the shadows of which each thread has elements of its own.
    pub owned: Vec<Global>,
    /// Whether such an entry point may be launched with groups along x only.
    pub along_x: bool,
    /// Whether a derived kernel sums in waves where all lanes add to one element.
    pub wave_sums: bool,
    /// Where a parameter is declared of which we do not know the layout, so that we do not know those behind it either.
    pub unknown: Option<Span>,
}

/// A parameter that holds the derivatives of another: a buffer of scalars.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShaderShadow {
    /// The parameter, `weights` or `params.scale`.
    pub of: Symbol,
    /// The one that holds its derivatives.
    pub name: Symbol,
    /// How many scalars there are for each element of a buffer or texel, or for the whole of another parameter.
    pub scalars: u32,
    /// Whether the parameter is a buffer or texture.
    pub is_buffer: bool,
    /// Whether the kernel reads the parameter: after a backward launch, its shadow has a gradient.
    pub read: bool,
    /// Whether the kernel writes it: it is a result, whose cotangent a backward launch takes.
    pub written: bool,
    /// Whether it has a copy for each thread of the dispatch, one after the other: the gradient is their sum.
    pub sliced: bool,
}

/// Something that an entry point takes from the stage before or gives to the one after.
#[derive(Clone, PartialEq, Debug)]
pub struct ShaderVarying {
    /// The way to it from a parameter, `v.uv`.
    pub name: Symbol,
    /// Its type as the language writes it.
    pub ty: Symbol,
    /// Whether it is taken.
    pub input: bool,
    /// Its semantic, with its number.
    pub semantic: Symbol,
    /// Which input or output of the entry point it begins with: a matrix has one for each row.
    pub leaf: usize,
    /// How many it has.
    pub count: u32,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct ShaderParam {
    /// Its name.
    pub name: Symbol,
    /// Where it was declared.
    pub span: Span,
    /// Its type as the language writes it; that of a `cbuffer` has no name.
    pub ty: Option<Symbol>,
    /// What it is made of.
    pub shape: Shape,
    /// Whether it is a buffer that is addressed by bytes, or an array of such buffers. In the code it has words.
    pub bytes: bool,
    /// What the program says about its place.
    pub wish: Wish,
    /// Its leaves in the code, in order, arrays element by element; empty if nothing uses it.
    pub leaves: Vec<Global>,
}

/// What a parameter is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// A value without resources in it.
    Value(Ty),
    /// Such a structure, with the offsets that `packoffset` gives to some of its fields.
    Packed(Ty, Vec<Option<u32>>),
    /// A resource, by the type of its handle.
    Resource(Ty),
    /// The counter of a buffer, by the type of its handle. HLSL hides it in the buffer's register, so that there it comes after
    /// all that has registers of its own.
    Counter(Ty),
    /// What lies in memory of its own.
    Block(Block, Box<Shape>),
    /// A structure with resources in it.
    Struct(Vec<Field>),
    /// An array of something with resources in it.
    Array(Box<Shape>, u32),
}

/// A field of a shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Its name.
    pub name: Symbol,
    /// What it is.
    pub shape: Shape,
    /// Whether it is the sampler of a combined one. In SPIR-V and GLSL it shares the binding of the texture, the field before it.
    pub beside: bool,
}

/// Kinds of memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// `ConstantBuffer<T>` and `cbuffer`.
    Constant,
    /// `ParameterBlock<T>`.
    Parameters,
}
