//! The diagnostics of the Slang emitter.

cotangent_base::codes! {
    /// `cotangent derivative` prints functions that use only values, uniforms, structured buffers and `static` variables.
    /// Textures, pointers, atomic operations, barriers and operations on waves are not supported there, nor are interface values
    /// in memory. `run`, `grad` and `compile` accept the derivative.
    E0765 UNSUPPORTED = "not supported in a printed derivative";
}
