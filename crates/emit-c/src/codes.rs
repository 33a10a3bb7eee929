//! What cannot be emitted.

cotangent_base::codes! {
    /// C++ or CUDA output has no way to express this part of the program. The interpreter (`cotangent run`) has.
    E0763 UNSUPPORTED = "not possible in C++ or CUDA";
}
