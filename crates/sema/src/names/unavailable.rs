//! Names of Slang's standard library that this library does not have yet.
//!
//! Such a name is reported as not supported yet, instead of unknown.

/// Types and functions by their whole names.
const NAMES: &[&str] = &[
    "__apply",
    "loadCoherent",
    "storeCoherent",
    "BFloat16",
    "FloatE4M3",
    "FloatE5M2",
    "NativeString",
    "saturated_cooperation",
];

/// Whether the language's library has this name and ours does not.
pub(crate) fn is_missing(name: &str) -> bool {
    NAMES.contains(&name)
}
