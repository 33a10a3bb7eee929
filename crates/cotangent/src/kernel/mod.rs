//! Derivatives of entry points.
//!
//! [`Roots::Kernel`](crate::Roots) compiles the derivative of an entry point to a program of its own. Each parameter that carries
//! derivatives has a *shadow* there, a buffer of floats ([`ShaderShadow`]). In forward mode shadows hold tangents. In reverse mode
//! they hold the cotangents of results before the launch, and gradients after it.
//!
//! [`make_shadows`] and [`seed`] fill them on the host; any back end launches the program. [`check`](mod@check) compares reverse
//! mode with finite differences of the whole dispatch. [`sequence`] differentiates many launches as one.

mod check;
mod derive;
mod double;
pub mod sequence;

pub use check::{Options, Row, Stop, check};
pub(crate) use derive::derive;

use cotangent_base::Scalar;
use cotangent_ir::shader::ShaderShadow;
use cotangent_ir::{Type, layout};
use cotangent_lower::Lowered;
use cotangent_runtime::{Data, Error, Number, Params};

/// The scalars of a shadow.
fn scalar(lowered: &Lowered, shadow: &ShaderShadow) -> Scalar {
    let types = &lowered.module.types;
    let ty =
        lowered.module.global_named(shadow.name).map(|global| types.get(lowered.module.globals[global].ty));
    match ty {
        Some(Type::Buffer(elem, _)) => types.scalar_of(elem).unwrap_or(Scalar::F32),
        _ => Scalar::F32,
    }
}

/// How many elements a parameter has on the host.
fn elements(lowered: &Lowered, params: &Params, shadow: &ShaderShadow) -> Result<usize, Error> {
    if !shadow.is_buffer {
        return Ok(1);
    }
    let types = &lowered.module.types;
    if let Some((_, extent, _)) = params.texture(shadow.of.as_str()) {
        return match extent.texels() {
            0 => Err(Error(format!("`{0}` has no texels: set it, as in `{0}=image(4x4)`", shadow.of))),
            texels => Ok(texels),
        };
    }
    let (_, bytes) = params.get(shadow.of.as_str())?;
    let of =
        lowered.module.global_named(shadow.of).map(|global| types.get(lowered.module.globals[global].ty));
    let stride = match of {
        Some(Type::Buffer(elem, _)) => layout::Rules::C.stride(types, elem).unwrap_or(1) as usize,
        _ => 1,
    };
    match bytes.len() / stride {
        0 => Err(Error(format!("`{0}` has no elements: set it, as in `{0}=zeros(f32, 8)`", shadow.of))),
        elements => Ok(elements),
    }
}

/// Says what the samplers of a derived kernel do.
fn set_samplers(lowered: &Lowered, params: &mut Params) -> Result<(), Error> {
    for (sampler, state) in &lowered.params.samplers {
        let says = lowered.module.global_named(*sampler).map(|global| params.sampler(global));
        let word = says.unwrap_or_default().word();
        params.set(state.as_str(), &Data::Number(Number::Int(word.into())))?;
    }
    Ok(())
}

/// Makes the shadows of a derived kernel whose parameters are set: as long as these, and zero. Says what its samplers do.
pub fn make_shadows(lowered: &Lowered, params: &mut Params) -> Result<(), Error> {
    make_shadows_for(lowered, params, [1; 3])
}

/// The same for a launch of so many groups: some shadows have a copy for each thread, if a fixed order of additions was asked for.
pub fn make_shadows_for(lowered: &Lowered, params: &mut Params, groups: [u32; 3]) -> Result<(), Error> {
    let entry = lowered.entries.first().and_then(|entry| lowered.module.funcs[*entry].entry.as_ref());
    let threads = entry.map_or([1; 3], |entry| entry.threads);
    let threads: usize = groups.iter().chain(&threads).map(|n| *n as usize).product();
    set_samplers(lowered, params)?;
    for shadow in &lowered.params.shadows {
        let scalar = scalar(lowered, shadow);
        let copies = if shadow.sliced { threads } else { 1 };
        let length = elements(lowered, params, shadow)? * shadow.scalars as usize * copies;
        if length > u32::MAX as usize {
            return Err(Error(format!(
                "the gradient of `{}` has {length} numbers, which are too many",
                shadow.of
            )));
        }
        let zeros = vec![0; length * scalar.bytes() as usize];
        params.set(shadow.name.as_str(), &Data::Bytes(Some(scalar), zeros))?;
    }
    Ok(())
}

/// Sets the shadow of the parameter `of`: every number to one, or all of them to a list as long as the shadow.
pub fn seed(lowered: &Lowered, params: &mut Params, of: &str, data: &Data) -> Result<(), Error> {
    let Some(shadow) = lowered.params.shadows.iter().find(|shadow| shadow.of == *of) else {
        let known: Vec<&str> = lowered.params.shadows.iter().map(|shadow| shadow.of.as_str()).collect();
        return Err(Error(format!("`{of}` carries no derivative; these do: {}", known.join(", "))));
    };
    let (scalar, name) = (scalar(lowered, shadow), shadow.name.as_str());
    let length = params.get(name)?.1.len() / scalar.bytes() as usize;
    let numbers: Vec<f64> = match data {
        Data::Number(number) => vec![number.as_f64(); length],
        Data::Bytes(Some(from), bytes) => {
            cotangent_runtime::data::numbers(*from, bytes).map(|number| number.as_f64()).collect()
        }
        _ => return Err(Error(format!("the derivative of `{of}` is a number or a list of numbers"))),
    };
    if numbers.len() != length {
        let given = numbers.len();
        return Err(Error(format!("the derivative of `{of}` has {length} numbers, but {given} were given")));
    }
    let mut bytes = Vec::new();
    for number in numbers {
        Number::Float(number).write(scalar, &mut bytes)?;
    }
    params.set(name, &Data::Bytes(Some(scalar), bytes))
}

/// The numbers of a shadow.
pub fn numbers(lowered: &Lowered, params: &Params, shadow: &ShaderShadow) -> Result<Vec<f64>, Error> {
    let (_, bytes) = params.get(shadow.name.as_str())?;
    let scalar = scalar(lowered, shadow);
    let all: Vec<f64> =
        cotangent_runtime::data::numbers(scalar, bytes).map(|number| number.as_f64()).collect();
    if !shadow.sliced {
        return Ok(all);
    }
    let mut sums = vec![0.0; elements(lowered, params, shadow)? * shadow.scalars as usize];
    for copy in all.chunks(sums.len().max(1)) {
        sums.iter_mut().zip(copy).for_each(|(sum, number)| *sum += number);
    }
    Ok(sums)
}
