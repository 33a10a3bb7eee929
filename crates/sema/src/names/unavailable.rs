//! Names of Slang's standard library that this library does not have yet.
//!
//! Such a name is reported as not supported yet, instead of unknown.

/// Types and functions by their whole names.
const NAMES: &[&str] = &[
    "WaveGetNumWaves",
    "__apply",
    "loadCoherent",
    "storeCoherent",
    "BFloat16",
    "FloatE4M3",
    "FloatE5M2",
    "NativeString",
    "IOpaqueDescriptor",
    "GetAttributeAtVertex",
    "CheckAccessFullyMapped",
    "WaveGetWaveIndex",
    "saturated_cooperation",
    "TorchTensor",
];

/// Families of types and functions by how their names begin.
const FAMILIES: &[&str] = &["RasterizerOrdered", "EvaluateAttribute", "FeedbackTexture2D", "Sampler2DMS"];

/// Whether the language's library has this name and ours does not.
pub(crate) fn is_missing(name: &str) -> bool {
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}
