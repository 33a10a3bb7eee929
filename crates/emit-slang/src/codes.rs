//! The diagnostics of the Slang emitter.

cotangent_base::codes! {
    /// `cotangent derivative` prints functions over values, uniforms, structured buffers and `static` variables. Textures, pointers,
    /// atomic operations, barriers and operations on waves have no form there. The derivative itself exists: `run`, `grad` and
    /// `compile` take it.
    E0765 UNSUPPORTED = "not supported in a printed derivative";
}
