//! `cotangent devices`, and runs on one of them.

use super::quiet::quietly;
use crate::args::{Devices, Format, Run, RunTarget};
use crate::output::print;
use crate::report::{Failure, note, show_one, trapped};
use cotangent::gpu::{Prepared, computes_in, prepare};
use cotangent::ir::layout::Target;
use cotangent::ir::texture::{Extent, Texture, Touched};
use cotangent::runtime::Params;
use cotangent::runtime::device::{Kind, Slotted};
use cotangent::{Emitted, Lowered, Scalar, Sources, ir};
use cotangent_gpu::{
    self as gpu, Binding, Code, Content, Device, Dispatch, Error, Image, Needs, Program, Storage, Time,
};
use serde_json::json;
use std::time::Duration;

/// Lists the devices.
pub fn devices(args: &Devices) -> Result<(), Failure> {
    // That there is none is a result, and reason enough to show what drivers said.
    let found = quietly(|| match cotangent_gpu::devices() {
        all if all.is_empty() => Err(all),
        all => Ok(all),
    });
    let (Ok(all) | Err(all)) = found;
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
        Failure::Refused
    })?;
    let slots = prepared.slots(&lowered.module, params)?;
    let program = program(&prepared, lowered, &slots);
    let device = quietly(|| Device::open(args.device.as_deref()))?;
    if device.info().driver.contains("llvmpipe") && has_long_loops(&lowered.module) {
        let message = "the driver llvmpipe ends loops after 65,535 iterations of a thread, without an error: compare with the \
                       interpreter if loops may run longer";
        note(message, args.format);
    }
    let mut dispatch = Dispatch { timed: args.timings, ..Dispatch::new(groups) };
    dispatch.limit = args.max_seconds.map_or(dispatch.limit, Duration::from_secs);
    let outcome = device.run(&program, dispatch)?;
    prepared
        .finish(&lowered.module, params, &slots, &outcome.written)
        .map_err(|stopped| trapped(sources, &stopped, args.format))?;
    Ok(outcome.time)
}

/// Whether some loop may make more iterations than llvmpipe allows a thread in all. Counts of nested loops are not multiplied.
fn has_long_loops(module: &ir::Module) -> bool {
    let bound = |func: &ir::Func, inst| {
        let data = &func.insts[inst];
        let count = data.operands.first().and_then(|count| func.op(*count));
        match (&data.op, count) {
            (ir::Op::For(_), Some(ir::Op::Const(ir::Const::Int(count)))) => u32::try_from(*count).ok(),
            (ir::Op::For(info) | ir::Op::While(info), _) => info.max_iters,
            _ => Some(0),
        }
    };
    let is_long = |func: &ir::Func, inst| bound(func, inst).is_none_or(|count| count > 65_535);
    module.funcs.values().any(|func| func.all_insts().into_iter().any(|inst| is_long(func, inst)))
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
        Kind::Sampler(state) => Content::Sampler(state),
        Kind::Comparison(state) => Content::Comparison(state),
    };
    Binding { name: slot.name.to_string(), group: slot.group, index: slot.index, content }
}

fn image(texture: Texture, extent: Extent, touched: Touched) -> Image {
    Image {
        dim: texture.dim,
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Device(error.0)
    }
}
