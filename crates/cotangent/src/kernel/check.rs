//! Compares the gradient of a kernel with finite differences of the whole dispatch.
//!
//! The results get random cotangents, so that the dispatch computes one number: their inner product with the results. For each
//! parameter, the derivative of that number along random directions is computed twice: from the gradient, and as a central
//! difference of two dispatches. Everything runs in double precision ([`double`](super::double)), so the difference has many
//! correct digits. What the kernel detaches stays as it is in the first dispatch. A direction in which differences of two widths
//! disagree crosses a kink and is not judged.

use super::double::{Double, Ended, carries};
use super::{make_shadows, numbers, seed};
use crate::gradcheck::Random;
use cotangent_base::{Scalar, Symbol};
use cotangent_ir::Type;
use cotangent_ir::shader::ShaderShadow;
use cotangent_lower::Lowered;
use cotangent_runtime::path::{Leaf, leaves};
use cotangent_runtime::{Data, Failure, Number, Params, Stopped};
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
    let launched = Double::new(derived).launch(&params, options)?;
    let mut undifferentiated = Double::holding(original);
    let base = set(original)?;
    undifferentiated.launch(&base, options)?;
    let mut rows = vec![];
    for shadow in shadows.iter().filter(|shadow| shadow.read) {
        let gradient = launched.floats(shadow.name);
        let Some(leaves) = float_leaves(original, &base, shadow, gradient.len()) else { continue };
        let mut value = |params: &Params| -> Result<f64, Stop> {
            let ended = undifferentiated.launch(params, options)?;
            // Where other values are detached than at the point, there is no difference.
            Ok(if undifferentiated.has_strayed() { f64::NAN } else { inner_product(&ended, &cotangents) })
        };
        let skipped = integers(derived, &base, shadow, &leaves);
        let mut row = Row { name: shadow.of, agrees: true, judged: 0, error: 0.0, worst: (0.0, 0.0) };
        for _ in 0..options.samples {
            let mut direction: Vec<f64> = leaves.iter().map(|_| random.between((-1.0, 1.0))).collect();
            skipped.iter().for_each(|leaf| direction[*leaf] = 0.0);
            let mut along =
                |step: f64| difference(&base, shadow.of, &leaves, &direction, step, gradient, &mut value);
            let (expected, found, size) = along(STEP)?;
            let (narrow_expected, narrow, _) = along(STEP / 4.0)?;
            let scale = size.max(expected.abs()).max(found.abs()).max(1e-6);
            let change = (found - expected - narrow + narrow_expected).abs();
            if change.is_nan() || change > TOLERANCE * scale {
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

/// Which words of memory that is declared as integers are taken for integers: those that are no normal floats. Others hold floats.
fn integers(derived: &Lowered, params: &Params, shadow: &ShaderShadow, leaves: &[Leaf]) -> Vec<usize> {
    let types = &derived.module.types;
    let ty =
        derived.module.global_named(shadow.of).map(|global| types.get(derived.module.globals[global].ty));
    let is_words = match ty {
        Some(Type::Buffer(elem, _)) => types.scalar_of(elem).is_some_and(Scalar::is_int),
        _ => false,
    };
    let (true, Ok((_, bytes))) = (is_words, params.get(shadow.of.as_str())) else { return vec![] };
    let float = |leaf: &Leaf| Number::read(leaf.scalar, &bytes[leaf.offset..]).as_f64() as f32;
    (0..leaves.len()).filter(|leaf| !float(&leaves[*leaf]).is_normal()).collect()
}

/// The derivative along a direction: from the gradient, by a central difference, and the size of what is added up.
fn difference(
    base: &Params,
    name: Symbol,
    leaves: &[Leaf],
    direction: &[f64],
    step: f64,
    gradient: &[f64],
    value: &mut dyn FnMut(&Params) -> Result<f64, Stop>,
) -> Result<(f64, f64, f64), Stop> {
    let mut sides = [base.clone(), base.clone()];
    let (mut expected, mut size) = (0.0, 0.0f64);
    let mut bytes = [base.get(name.as_str())?.1.to_vec(), base.get(name.as_str())?.1.to_vec()];
    for ((leaf, t), g) in leaves.iter().zip(direction).zip(gradient) {
        let x = Number::read(leaf.scalar, &bytes[0][leaf.offset..]).as_f64();
        let moved = apart(leaf.scalar, x, step * t * x.abs().max(1.0))?;
        for (bytes, moved) in bytes.iter_mut().zip(moved) {
            let mut written = vec![];
            Number::Float(moved).write(leaf.scalar, &mut written)?;
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

/// Two numbers of a type, one as far above `x` as the other is below, in the order that the sign of `by` says. They differ from `x`
/// by about `by`, or by more if numbers of the type are further apart.
fn apart(scalar: Scalar, x: f64, by: f64) -> Result<[f64; 2], cotangent_runtime::Error> {
    let rounded = |number: f64| -> Result<f64, cotangent_runtime::Error> {
        let mut written = vec![];
        Number::Float(number).write(scalar, &mut written)?;
        Ok(Number::read(scalar, &written).as_f64())
    };
    // Numbers further from zero are further apart, so a step rounded there has an exact counterpart on the other side.
    let outward = if x < 0.0 { -1.0 } else { 1.0 };
    let mut distance = by.abs();
    let mut far = rounded(x + outward * distance)?;
    while far == x && distance > 0.0 && distance.is_finite() {
        distance *= 2.0;
        far = rounded(x + outward * distance)?;
    }
    let near = rounded(2.0 * x - far)?;
    Ok(if (by < 0.0) == (outward < 0.0) { [far, near] } else { [near, far] })
}

fn list(numbers: &[f64]) -> Result<Data, cotangent_runtime::Error> {
    let mut bytes = vec![];
    for number in numbers {
        Number::Float(*number).write(Scalar::F64, &mut bytes)?;
    }
    Ok(Data::Bytes(Some(Scalar::F64), bytes))
}

/// The inner product of the results with their cotangents, in double precision.
fn inner_product(ended: &Ended, cotangents: &[(Symbol, Vec<f64>)]) -> f64 {
    let product = |name, cotangent: &[f64]| -> f64 {
        ended.floats(name).iter().zip(cotangent).map(|(float, ct)| float * ct).sum()
    };
    cotangents.iter().map(|(name, cotangent)| product(*name, cotangent)).sum()
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
    let floats = leaves(types, elem).into_iter().zip(carries(lowered, elem)).filter(|(_, carries)| *carries);
    let floats: Vec<Leaf> = floats.map(|(leaf, _)| leaf).collect();
    let length = params.get(shadow.of.as_str()).ok()?.1.len();
    let elements = if stride == usize::MAX { 1 } else { length / stride };
    let all = (0..elements).flat_map(|element| {
        floats.iter().map(move |leaf| Leaf { offset: leaf.offset + element * stride, ..leaf.clone() })
    });
    let all: Vec<Leaf> = all.collect();
    (all.len() == count).then_some(all)
}
