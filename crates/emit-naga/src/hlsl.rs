//! Gives HLSL samplers their own registers.
//!
//! naga accesses samplers through a heap that wgpu binds:
//!
//! ```text
//! SamplerState nagaSamplerHeap[2048]: register(s0, space0);
//! SamplerComparisonState nagaComparisonSamplerHeap[2048]: register(s0, space1);
//! StructuredBuffer<uint> nagaGroup0SamplerIndexArray : register(t0, space255);
//! static const SamplerState smooth = nagaSamplerHeap[nagaGroup0SamplerIndexArray[1]];
//! ```
//!
//! The corrected output is `SamplerState smooth : register(s0);`, with the register of the sampler whose naga binding is 1.

use crate::write::Slots;
use cotangent_ir::layout::bind::Kind;
use naga::back::hlsl;

/// Whether a slot is one of a sampler.
pub(crate) fn is_sampler(kind: Kind) -> bool {
    kind == Kind::Sampler
}

/// Where the numbers of samplers would be bound, which nothing is left of.
pub(crate) fn sampler_buffers() -> hlsl::SamplerIndexBufferBindingMap {
    let unused = hlsl::BindTarget { space: u8::MAX, register: 0, ..Default::default() };
    [(hlsl::SamplerIndexBufferKey { group: 0 }, unused)].into_iter().collect()
}

/// The text with samplers in their registers.
pub(crate) fn with_registers(text: &str, slots: &Slots) -> String {
    text.split_inclusive('\n').map(|line| placed(line, slots).unwrap_or_else(|| line.to_string())).collect()
}

/// What a line about samplers becomes; `None` if it is about something else.
fn placed(line: &str, slots: &Slots) -> Option<String> {
    let heap = ["SamplerState nagaSamplerHeap[", "SamplerComparisonState nagaComparisonSamplerHeap["];
    if heap.iter().any(|start| line.starts_with(start))
        || line.starts_with("StructuredBuffer<uint> nagaGroup0SamplerIndexArray ")
    {
        return Some(String::new());
    }
    let (declared, rest) = line.strip_prefix("static const ")?.split_once(" = ")?;
    let (_, number) = rest.split_once("SamplerHeap[nagaGroup0SamplerIndexArray[")?;
    let number: u32 = number.split_once(']')?.0.parse().ok()?;
    let (_, slot) = slots.iter().find(|(ours, slot)| ours.binding == number && is_sampler(slot.kind))?;
    let space = if slot.space == 0 { String::new() } else { format!(", space{}", slot.space) };
    Some(format!("{declared} : register(s{}{space});\n", slot.index))
}
