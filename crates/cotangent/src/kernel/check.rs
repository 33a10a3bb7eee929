//! Compares the gradient of a kernel with finite differences of the whole dispatch.
//!
//! The results get random cotangents, so that the dispatch computes one number: their inner product with the results. For each
//! parameter, the derivative of that number along random directions is computed twice: from the gradient, and as a central
//! difference of two dispatches. Everything runs in the interpreter's wide mode, where `float` is evaluated in double precision, so
//! the difference has many correct digits. A direction in which differences of two widths disagree crosses a kink and is not judged.

use super::{make_shadows, numbers, seed};
use crate::gradcheck::Random;
use cotangent_base::{Scalar, Symbol};
use cotangent_interp::{Interpreter, Options as Interpreting};
use cotangent_ir::shader::ShaderShadow;
use cotangent_ir::{FuncId, Type};
use cotangent_lower::Lowered;
use cotangent_runtime::path::{Leaf, leaves};
use cotangent_runtime::{Data, Failure, Launch, Number, Params, Runner, Stopped};
use std::sync::Arc;

/// Half the width of a difference, relative to the size of the number.
const STEP: f64 = 1.0 / 1024.0;

/// How far apart, relative to the size of what is added up, gradient and difference may be.
const TOLERANCE: f64 = 1e-4;

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of groups.
    pub groups: [u32; 3],
    /// The number of directions for each parameter.
    pub samples: u32,
    /// Where random numbers start.
    pub seed: u64,
}

/// What was found about one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The parameter.
    pub name: Symbol,
    /// Whether gradient and differences agree in all directions that were judged.
    pub agrees: bool,
    /// The number of directions that were judged.
    pub judged: u32,
    /// The largest relative error.
    pub error: f64,
    /// The derivative along the worst direction: from the gradient, and by differences.
    pub worst: (f64, f64),
}

/// Why there is no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// The kernel cannot be launched so.
    Failure(Failure),
    /// The kernel trapped.
    Trap(Box<Stopped>),
}

impl From<cotangent_runtime::Error> for Stop {
    fn from(error: cotangent_runtime::Error) -> Self {
        Stop::Failure(error.into())
    }
}

/// Compares the gradient that `derived` computes with differences of `original`, at these parameters. Both programs have one entry
/// point, the kernel and its backward derivative. `set` gives a program its parameters.
pub fn check(
    original: &Arc<Lowered>,
    derived: &Arc<Lowered>,
    set: &dyn Fn(&Lowered) -> Result<Params, cotangent_runtime::Error>,
    options: &Options,
) -> Result<Vec<Row>, Stop> {
    let mut random = Random::new(options.seed, "kernel");
    let shadows = &derived.params.shadows;
    let mut params = set(derived)?;
    make_shadows(derived, &mut params)?;
    let mut cotangents: Vec<(Symbol, Vec<f64>)> = vec![];
    for shadow in shadows.iter().filter(|shadow| shadow.written) {
        let length = numbers(derived, &params, shadow)?.len();
        let cotangent: Vec<f64> = (0..length).map(|_| random.between((-1.0, 1.0))).collect();
        seed(derived, &mut params, shadow.of.as_str(), &list(&cotangent)?)?;
        cotangents.push((shadow.of, cotangent));
    }
    let launched = launch(derived, params, options)?;
    let base = set(original)?;
    let mut rows = vec![];
    for shadow in shadows.iter().filter(|shadow| shadow.read) {
        let gradient = numbers(derived, &launched.params, shadow)?;
        let Some(leaves) = float_leaves(original, &base, shadow, gradient.len()) else { continue };
        let value = |params: &Params| -> Result<f64, Stop> {
            let ended = launch(original, params.clone(), options)?;
            inner_product(original, &ended, &cotangents)
        };
        let mut row = Row { name: shadow.of, agrees: true, judged: 0, error: 0.0, worst: (0.0, 0.0) };
        for _ in 0..options.samples {
            let direction: Vec<f64> = leaves.iter().map(|_| random.between((-1.0, 1.0))).collect();
            let along =
                |step: f64| difference(&base, shadow.of, &leaves, &direction, step, &gradient, &value);
            let (expected, found, size) = along(STEP)?;
            let (narrow_expected, narrow, _) = along(STEP / 4.0)?;
            let scale = size.max(expected.abs()).max(found.abs()).max(1e-6);
            if (found - expected - narrow + narrow_expected).abs() > TOLERANCE * scale {
                continue;
            }
            let error = (narrow - narrow_expected).abs() / scale;
            row.judged += 1;
            row.agrees &= error <= TOLERANCE;
            if error >= row.error {
                (row.error, row.worst) = (error, (narrow_expected, narrow));
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The derivative along a direction: from the gradient, by a central difference, and the size of what is added up.
fn difference(
    base: &Params,
    name: Symbol,
    leaves: &[Leaf],
    direction: &[f64],
    step: f64,
    gradient: &[f64],
    value: &dyn Fn(&Params) -> Result<f64, Stop>,
) -> Result<(f64, f64, f64), Stop> {
    let mut sides = [base.clone(), base.clone()];
    let (mut expected, mut size) = (0.0, 0.0f64);
    let mut bytes = [base.get(name.as_str())?.1.to_vec(), base.get(name.as_str())?.1.to_vec()];
    for ((leaf, t), g) in leaves.iter().zip(direction).zip(gradient) {
        let x = Number::read(leaf.scalar, &bytes[0][leaf.offset..]).as_f64();
        let mut moved = [0.0; 2];
        for ((bytes, sign), moved) in bytes.iter_mut().zip([1.0, -1.0]).zip(&mut moved) {
            let mut written = vec![];
            Number::Float(x + sign * step * t * x.abs().max(1.0)).write(leaf.scalar, &mut written)?;
            // What was written is rounded.
            *moved = Number::read(leaf.scalar, &written).as_f64();
            bytes[leaf.offset..leaf.offset + written.len()].copy_from_slice(&written);
        }
        let term = g * (moved[0] - moved[1]) / (2.0 * step);
        expected += term;
        size = size.max(term.abs());
    }
    for (side, bytes) in sides.iter_mut().zip(bytes) {
        side.replace(name, bytes);
    }
    let found = (value(&sides[0])? - value(&sides[1])?) / (2.0 * step);
    Ok((expected, found, size))
}

fn list(numbers: &[f64]) -> Result<Data, cotangent_runtime::Error> {
    let mut bytes = vec![];
    for number in numbers {
        Number::Float(*number).write(Scalar::F64, &mut bytes)?;
    }
    Ok(Data::Bytes(Some(Scalar::F64), bytes))
}

fn launch(lowered: &Arc<Lowered>, params: Params, options: &Options) -> Result<Runner<Interpreter>, Stop> {
    let wide = Interpreting { wide: true, ..Interpreting::default() };
    let backend = Arc::new(Interpreter::new(wide));
    let entry: FuncId = lowered.entries[0];
    let compiled = crate::compiled(lowered);
    let mut runner = Runner::with_params(backend, compiled, params).map_err(Stop::Failure)?;
    let launched = runner.launch_id(entry, options.groups, Launch::default()).map_err(Stop::Failure)?;
    launched.ended.map_err(|stopped| Stop::Trap(Box::new(stopped)))?;
    runner.download().map_err(Stop::Failure)?;
    Ok(runner)
}

/// The inner product of the results with their cotangents, in double precision.
fn inner_product(
    lowered: &Lowered,
    ended: &Runner<Interpreter>,
    cotangents: &[(Symbol, Vec<f64>)],
) -> Result<f64, Stop> {
    let mut sum = 0.0;
    for (name, cotangent) in cotangents {
        let is_float = floats_of(lowered, *name);
        let words = match ended.texture(name.as_str()) {
            Ok(texture) => ended.backend().wide_texels(&texture),
            Err(_) => ended.backend().wide_words(&ended.buffer(name.as_str()).map_err(Stop::Failure)?),
        };
        let floats = words.iter().zip(is_float.iter().cycle()).filter(|(_, is_float)| **is_float);
        sum += floats.zip(cotangent).map(|((word, _), ct)| f64::from_bits(*word) * ct).sum::<f64>();
    }
    Ok(sum)
}

/// For each scalar of an element, whether it is a float.
fn floats_of(lowered: &Lowered, name: Symbol) -> Vec<bool> {
    let types = &lowered.module.types;
    let ty = lowered.module.global_named(name).map(|global| lowered.module.globals[global].ty);
    match ty.map(|ty| types.get(ty)) {
        Some(Type::Buffer(elem, _)) => {
            leaves(types, elem).iter().map(|leaf| leaf.scalar.is_float()).collect()
        }
        Some(Type::Opaque(_)) => vec![true],
        _ => vec![],
    }
}

/// The floats of a parameter, in order, if the gradient has one number for each.
fn float_leaves(
    lowered: &Lowered,
    params: &Params,
    shadow: &ShaderShadow,
    count: usize,
) -> Option<Vec<Leaf>> {
    let types = &lowered.module.types;
    let ty = lowered.module.globals[lowered.module.global_named(shadow.of)?].ty;
    if let Some((texture, extent, _)) = params.texture(shadow.of.as_str()) {
        let size = texture.scalar.bytes() as usize;
        let all: Vec<Leaf> = (0..extent.texels() * usize::from(texture.lanes))
            .map(|number| Leaf { path: String::new(), scalar: texture.scalar, offset: number * size })
            .collect();
        return (all.len() == count).then_some(all);
    }
    let (elem, stride) = match types.get(ty) {
        Type::Buffer(elem, _) => (elem, cotangent_ir::layout::Rules::C.stride(types, elem)? as usize),
        _ => (ty, usize::MAX),
    };
    let floats: Vec<Leaf> = leaves(types, elem).into_iter().filter(|leaf| leaf.scalar.is_float()).collect();
    let length = params.get(shadow.of.as_str()).ok()?.1.len();
    let elements = if stride == usize::MAX { 1 } else { length / stride };
    let all = (0..elements).flat_map(|element| {
        floats.iter().map(move |leaf| Leaf { offset: leaf.offset + element * stride, ..leaf.clone() })
    });
    let all: Vec<Leaf> = all.collect();
    (all.len() == count).then_some(all)
}
