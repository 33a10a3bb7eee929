//! The diagnostics of the C++ and CUDA emitter.

cotangent_base::codes! {
    /// C++ or CUDA output cannot express this part of the program. The interpreter (`cotangent run`) supports it.
    E0763 UNSUPPORTED = "not supported in C++ or CUDA";
}
