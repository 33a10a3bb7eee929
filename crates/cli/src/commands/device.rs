//! `cotangent devices`, and runs on one of them.

use crate::args::{Devices, Format, Run, RunTarget};
use crate::output::print;
use crate::report::{Failure, show_one, trapped};
use cotangent::gpu::{Prepared, computes_in, prepare};
use cotangent::ir::layout::Target;
use cotangent::ir::texture::{Address, Compare, Dim, Extent, Filter, SamplerState, Texture, Touched};
use cotangent::runtime::Params;
use cotangent::runtime::device::{Kind, Slotted};
use cotangent::{Emitted, Lowered, Scalar, Sources, ir};
use cotangent_gpu::{
    self as gpu, Binding, Code, Content, Device, Error, Image, Needs, Program, Sampler, Storage, Time,
};
use serde_json::json;

/// Lists the devices.
pub fn devices(args: &Devices) -> Result<(), Failure> {
    let all = cotangent_gpu::devices();
    if args.format == Format::Json {
        let device = |d: &cotangent_gpu::Info| json!({ "name": d.name, "backend": d.backend, "kind": d.kind, "driver": d.driver });
        return print(&format!("{}\n", json!(all.iter().map(device).collect::<Vec<_>>())));
    }
    if all.is_empty() {
        return print("no devices\n");
    }
    let line = |(i, d): (usize, &cotangent_gpu::Info)| {
        format!("{i}  {}  {}, {}, {}\n", d.name, d.backend, d.kind, d.driver)
    };
    print(&all.iter().enumerate().map(line).collect::<String>())
}

/// Runs the only entry point of a program on a device; what it writes is in `params` afterwards.
pub fn run(
    args: &Run,
    sources: &Sources,
    lowered: &Lowered,
    groups: [u32; 3],
    params: &mut Params,
) -> Result<Option<Time>, Failure> {
    let target = match args.target {
        Some(RunTarget::Spirv) => Target::SpirV,
        Some(RunTarget::Wgsl) | None => Target::Wgsl,
    };
    let prepared = prepare(lowered, params, target).map_err(|refusal| {
        show_one(sources, &refusal, args.format);
        Failure::Program
    })?;
    let slots = prepared.slots(&lowered.module, params)?;
    let program = program(&prepared, lowered, &slots);
    let device = Device::open(args.device.as_deref())?;
    let outcome = device.run(&program, groups, args.timings)?;
    prepared
        .finish(&lowered.module, params, &slots, &outcome.written)
        .map_err(|stopped| trapped(sources, &stopped, args.format))?;
    Ok(outcome.time)
}

fn program(prepared: &Prepared, lowered: &Lowered, slots: &[Slotted]) -> Program {
    let any = |scalars: &[Scalar]| scalars.iter().any(|s| computes_in(&lowered.module, *s));
    Program {
        code: match &prepared.code {
            Emitted::Text(text) => Code::Wgsl(text.clone()),
            Emitted::Words(words) => Code::SpirV(words.clone()),
        },
        entry: prepared.entry.clone(),
        needs: Needs {
            f16: any(&[Scalar::F16]),
            f64: any(&[Scalar::F64]),
            i64: any(&[Scalar::I64, Scalar::U64]),
            waves: lowered.module.has_waves(),
        },
        bindings: slots.iter().map(binding).collect(),
    }
}

fn binding(slot: &Slotted) -> Binding {
    let bytes = slot.bytes.clone();
    let content = match slot.kind {
        Kind::Uniform => Content::Uniform(bytes),
        Kind::Pushed => Content::Pushed(bytes),
        Kind::Read => Content::Read(bytes),
        Kind::Write => Content::Write(bytes),
        Kind::Texture(texture, extent, touched) => Content::Texture(image(texture, extent, touched), bytes),
        Kind::Sampler(state) => Content::Sampler(sampler(state, None)),
        Kind::Comparison(state) => Content::Sampler(sampler(state, Some(comparison(state.compare)))),
    };
    Binding { name: slot.name.to_string(), group: slot.group, index: slot.index, content }
}

fn image(texture: Texture, extent: Extent, touched: Touched) -> Image {
    Image {
        dim: match texture.dim {
            Dim::D1 => gpu::Dim::D1,
            Dim::D2 => gpu::Dim::D2,
            Dim::D3 => gpu::Dim::D3,
            Dim::Cube => gpu::Dim::Cube,
        },
        array: texture.array,
        size: extent.size,
        layers: extent.layers,
        levels: extent.levels,
        number: match texture.scalar {
            Scalar::I32 => gpu::Number::I32,
            Scalar::U32 => gpu::Number::U32,
            Scalar::F16 => gpu::Number::F16,
            _ if touched.compared => gpu::Number::Depth,
            _ => gpu::Number::F32,
        },
        lanes: texture.lanes,
        storage: (texture.access == ir::Access::ReadWrite)
            .then_some(Storage { read: touched.read, write: touched.written || !touched.read }),
    }
}

fn comparison(compare: Compare) -> gpu::Compare {
    match compare {
        Compare::Never => gpu::Compare::Never,
        Compare::Less => gpu::Compare::Less,
        Compare::Equal => gpu::Compare::Equal,
        Compare::LessEqual => gpu::Compare::LessEqual,
        Compare::Greater => gpu::Compare::Greater,
        Compare::NotEqual => gpu::Compare::NotEqual,
        Compare::GreaterEqual => gpu::Compare::GreaterEqual,
        Compare::Always => gpu::Compare::Always,
    }
}

fn sampler(state: SamplerState, compare: Option<gpu::Compare>) -> Sampler {
    let linear = |filter| filter == Filter::Linear;
    Sampler {
        mag_linear: linear(state.mag),
        min_linear: linear(state.min),
        mip_linear: linear(state.mip),
        address: state.address.map(|address| match address {
            Address::Clamp => gpu::Address::Clamp,
            Address::Repeat => gpu::Address::Repeat,
            Address::Mirror => gpu::Address::Mirror,
            Address::Border => gpu::Address::Border,
        }),
        compare,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Device(error.0)
    }
}
