//! Where parameters lie, as Python reads it.
//!
//! A type is a tuple that begins with its kind:
//!
//! ```text
//! ("scalar", "f32")                     ("vector", "f32", 3)          ("matrix", "f32", 2, 3, bytes of a row)
//! ("array", element, count, stride)     ("struct", [(name, offset, type)])
//! ("buffer", element, stride, writes)   ("other", what)
//! ```
//!
//! Devices differ: where C++ aligns a vector as its numbers, CUDA aligns it as a whole.

use cotangent::ir::layout::{Rules, bind::Bound as Placed};
use cotangent::ir::shader::{ShaderParam, Shape};
use cotangent::ir::{Access, Global, Ty, Type, Types};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A part of a block of parameters that is one parameter in the code.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    pub global: Global,
    pub offset: usize,
    pub kind: LeafKind,
}

/// What is at the place of a leaf.
#[derive(Clone, Copy, Debug)]
pub enum LeafKind {
    /// So many bytes of a value.
    Value(usize),
    /// An address and a number of elements of so many bytes.
    Buffer(usize),
    /// Something that this package cannot pass.
    Other,
}

/// The leaves of a parameter. One that nothing uses has none.
pub fn leaves(types: &Types, param: &ShaderParam, placed: &Placed) -> Vec<Leaf> {
    let mut found = vec![];
    collect(types, placed, 0, &mut found);
    let pairs = param.leaves.iter().zip(found);
    pairs.map(|(global, (offset, kind))| Leaf { global: *global, offset, kind }).collect()
}

fn collect(types: &Types, placed: &Placed, shift: usize, found: &mut Vec<(usize, LeafKind)>) {
    let offset = shift + placed.data.map_or(0, |data| data.offset as usize);
    match &placed.shape {
        Shape::Value(ty) | Shape::Packed(ty, _) => {
            found.push((offset, LeafKind::Value(size(types, placed.rules, *ty))))
        }
        Shape::Resource(ty) => found.push((
            offset,
            match types.get(*ty) {
                Type::Buffer(elem, _) => LeafKind::Buffer(step(types, placed.rules, elem)),
                _ => LeafKind::Other,
            },
        )),
        Shape::Counter(_) => found.push((offset, LeafKind::Other)),
        Shape::Block(..) | Shape::Struct(_) => {
            placed.parts.iter().for_each(|part| collect(types, part, shift, found));
        }
        Shape::Array(_, count) => {
            let stride = placed.data.map_or(0, |data| data.size as usize) / (*count).max(1) as usize;
            for index in 0..*count as usize {
                placed.parts.iter().for_each(|part| collect(types, part, shift + index * stride, found));
            }
        }
    }
}

fn size(types: &Types, rules: Rules, ty: Ty) -> usize {
    rules.layout(types, ty).map_or(0, |l| l.size as usize)
}

/// From one element of a buffer or array to the next.
fn step(types: &Types, rules: Rules, elem: Ty) -> usize {
    rules.stride(types, elem).unwrap_or(0) as usize
}

/// Parameters: name, type as the language writes it, where it lies, its type as above, and whether the program uses it.
pub fn describe<'py>(
    py: Python<'py>,
    types: &Types,
    declared: &[ShaderParam],
    placed: &[Placed],
) -> PyResult<Bound<'py, PyList>> {
    let params = PyList::empty(py);
    for (param, placed) in declared.iter().zip(placed) {
        let text = param.ty.map_or_else(String::new, |ty| ty.to_string());
        let offset = placed.data.map_or(0, |data| data.offset);
        let used = !param.leaves.is_empty();
        params.append((param.name.to_string(), text, offset, of_shape(py, types, placed)?, used))?;
    }
    Ok(params)
}

type Node<'py> = PyResult<Bound<'py, PyTuple>>;

fn of_shape<'py>(py: Python<'py>, types: &Types, placed: &Placed) -> Node<'py> {
    match &placed.shape {
        Shape::Value(ty) | Shape::Packed(ty, _) => of_type(py, types, placed.rules, *ty),
        Shape::Resource(ty) => match types.get(*ty) {
            Type::Buffer(elem, access) => {
                let writes = access == Access::ReadWrite;
                let stride = step(types, placed.rules, elem);
                ("buffer", of_type(py, types, placed.rules, elem)?, stride, writes).into_pyobject(py)
            }
            _ => ("other", "a texture or sampler").into_pyobject(py),
        },
        Shape::Counter(_) => ("other", "the counter of a buffer").into_pyobject(py),
        Shape::Block(..) => ("other", "a block of constants").into_pyobject(py),
        Shape::Struct(_) => {
            let start = placed.data.map_or(0, |data| data.offset);
            let fields = PyList::empty(py);
            for part in &placed.parts {
                let offset = part.data.map_or(start, |data| data.offset) - start;
                fields.append((part.name.to_string(), offset, of_shape(py, types, part)?))?;
            }
            ("struct", fields).into_pyobject(py)
        }
        Shape::Array(_, count) => {
            let stride = placed.data.map_or(0, |data| data.size) / (*count).max(1);
            match placed.parts.first() {
                Some(first) => ("array", of_shape(py, types, first)?, *count, stride).into_pyobject(py),
                None => ("other", "an array without elements").into_pyobject(py),
            }
        }
    }
}

fn of_type<'py>(py: Python<'py>, types: &Types, rules: Rules, ty: Ty) -> Node<'py> {
    match types.get(ty) {
        Type::Scalar(scalar) => ("scalar", scalar.name()).into_pyobject(py),
        Type::Vector(scalar, lanes) => ("vector", scalar.name(), lanes).into_pyobject(py),
        Type::Matrix(scalar, rows, columns) => {
            let (row, _) = rules.matrix_steps(scalar, rows, columns);
            ("matrix", scalar.name(), rows, columns, row).into_pyobject(py)
        }
        Type::Array(elem, count) => {
            let stride = step(types, rules, elem);
            ("array", of_type(py, types, rules, elem)?, count, stride).into_pyobject(py)
        }
        Type::Struct(id) => {
            let fields = PyList::empty(py);
            for (index, field) in types.struct_def(id).fields.iter().enumerate() {
                if let Some((offset, inner)) = rules.part(types, ty, index as u32) {
                    let node = of_type(py, types, rules, inner)?.into_bound_py_any(py)?;
                    fields.append((field.name.to_string(), offset, node))?;
                }
            }
            ("struct", fields).into_pyobject(py)
        }
        Type::Unit => ("struct", PyList::empty(py)).into_pyobject(py),
        Type::Sum(_) => ("other", "a value of interface type").into_pyobject(py),
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => ("other", "a resource").into_pyobject(py),
    }
}
