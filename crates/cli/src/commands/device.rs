//! `cotangent devices`, and runs on a device.

use super::quiet::quietly;
use super::run::Job;
use crate::args::{Devices, Format, RunTarget};
use crate::output::print;
use crate::report::{Failure, note};
use cotangent::gpu::{has_idle_lanes, may_exceed, translate};
use cotangent::ir::layout::Target;
use cotangent_gpu::{Device, Error, Gpu};
use serde_json::json;

/// How many iterations llvmpipe allows a thread in all loops together.
const LLVMPIPE_ITERATIONS: u64 = 65_535;

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

/// Opens the device that a program is to run on.
pub fn open(job: &Job<'_>) -> Result<Gpu, Failure> {
    let args = job.args;
    let target = match args.target {
        Some(RunTarget::Spirv) => Target::SpirV,
        Some(RunTarget::Wgsl) | None => Target::Wgsl,
    };
    let device = quietly(|| Device::open(args.device.as_deref()))?;
    if device.info().driver.contains("llvmpipe") {
        if may_exceed(job.lowered, LLVMPIPE_ITERATIONS) {
            let message = "the driver llvmpipe silently ends loops after 65,535 iterations of a thread: compare with the \
                           interpreter if loops may run longer";
            note(message, args.format);
        }
        if has_idle_lanes(job.lowered) {
            let message = "the driver llvmpipe runs lanes without a thread in this group, and may silently end loops early: make the \
                           first size of the group a multiple of 16, or compare with the interpreter";
            note(message, args.format);
        }
    }
    Ok(Gpu::new(device, target, translate))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Device(error.0)
    }
}
