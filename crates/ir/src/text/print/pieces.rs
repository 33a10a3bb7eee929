//! Prints the parts of listings: names, types, constants, lists.

use crate::texture::{Dim, Opaque};
use crate::{
    Access, Const, FuncId, Interpolation, Link, Location, Mode, Module, SystemValue, Ty, Type, Types,
};
use cotangent_base::{Scalar, Symbol};
use std::fmt::{self, Display};

/// A name, quoted if it must be.
pub(super) struct Name(pub(super) Symbol);

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if !text.is_empty() && text.chars().all(plain) {
            return f.write_str(text);
        }
        write!(f, "{}", Quoted(self.0))
    }
}

/// Any text in quotation marks.
pub(super) struct Quoted(pub(super) Symbol);

impl Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        write!(f, "\"{text}\"")
    }
}

/// A type.
pub(in crate::text) struct TypeText<'a>(pub(in crate::text) &'a Types, pub(in crate::text) Ty);

impl Display for TypeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeText(types, ty) = *self;
        match types.get(ty) {
            Type::Unit => f.write_str("unit"),
            Type::Scalar(s) => write!(f, "{s}"),
            Type::Vector(s, n) => write!(f, "{s}x{n}"),
            Type::Matrix(s, r, c) => write!(f, "{s}x{r}x{c}"),
            Type::Array(elem, n) => write!(f, "[{}; {n}]", TypeText(types, elem)),
            Type::Struct(id) | Type::Sum(id) => write!(f, "${}", Name(types.struct_def(id).name)),
            Type::Buffer(elem, Access::Read) => write!(f, "buffer<{}>", TypeText(types, elem)),
            Type::Buffer(elem, Access::ReadWrite) => write!(f, "rwbuffer<{}>", TypeText(types, elem)),
            Type::Opaque(Opaque::Sampler) => f.write_str("sampler"),
            Type::Opaque(Opaque::Comparison) => f.write_str("comparison_sampler"),
            Type::Opaque(Opaque::Texture(t)) => {
                let written = if t.access == Access::ReadWrite { "rw" } else { "" };
                let array = if t.array { " array" } else { "" };
                write!(f, "{written}texture<{}{array} {}x{}>", name_in(&Dim::ALL, t.dim), t.scalar, t.lanes)
            }
            Type::Ref(inner) => write!(f, "ref<{}>", TypeText(types, inner)),
        }
    }
}

/// A list with commas.
pub(super) struct List<I>(pub(super) I);

impl<I: Iterator<Item: Display> + Clone> Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.clone().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A list in braces.
pub(super) struct Braces<I>(pub(super) I);

impl<I: Iterator<Item: Display> + Clone> Display for Braces<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = List(self.0.clone()).to_string();
        if text.is_empty() { f.write_str("{}") } else { write!(f, "{{ {text} }}") }
    }
}

/// Whether parameters of this type carry a derivative unless marked otherwise.
pub(in crate::text) fn differentiable(module: &Module, ty: Ty) -> bool {
    match module.types.get(ty) {
        Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => s.is_float(),
        Type::Array(elem, _) => differentiable(module, elem),
        Type::Struct(id) | Type::Sum(id) => module.diff.get(id).is_some(),
        Type::Unit | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

/// The name of a mode.
pub(in crate::text) const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Forward => "forward",
        Mode::Backward => "backward",
    }
}

/// `position` or `location 2 flat TEXCOORD0`.
pub(super) fn link_text(link: &Link) -> String {
    match link {
        Link::System(value) => {
            let found = SystemValue::ALL.iter().find(|(_, _, v)| v == value);
            found.map_or("?", |(name, ..)| name).to_string()
        }
        Link::Location(Location { index, interpolation, semantic }) => {
            format!("location {index} {} {semantic}", name_in(&Interpolation::ALL, *interpolation))
        }
    }
}

/// The name of one of some things that are listed with their names.
pub(super) fn name_in<T: Copy + PartialEq>(all: &[(&'static str, T)], one: T) -> &'static str {
    all.iter().find(|(_, t)| *t == one).map_or("?", |(name, _)| name)
}

/// A function's name, also if there is no such function.
pub(super) fn func_name(module: &Module, id: FuncId) -> String {
    module.funcs.get(id).map_or_else(|| format!("@?{id}"), |f| format!("@{}", Name(f.name)))
}

/// A literal, the shortest that reads back as the same bits.
pub(super) fn const_text(value: Const, scalar: Option<Scalar>) -> String {
    let bits = match value {
        Const::Bool(b) => return b.to_string(),
        Const::Int(i) => return i.to_string(),
        Const::Float(bits) => bits,
    };
    let float = f64::from_bits(bits);
    if float.is_nan() {
        return if bits == f64::NAN.to_bits() { "nan".into() } else { format!("nan.{bits:016x}") };
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf".into() } else { "-inf".into() };
    }
    match scalar {
        Some(scalar @ (Scalar::F16 | Scalar::F32)) if crate::eval::round(float, scalar) == float => {
            format!("{:?}", float as f32)
        }
        Some(Scalar::F16 | Scalar::F32) => format!("{float:?}d"),
        _ => format!("{float:?}"),
    }
}
