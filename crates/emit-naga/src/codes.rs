//! What cannot be emitted.

cotangent_base::codes! {
    /// The target language has no way to express this part of the program.
    ///
    /// WGSL has no 64-bit floats, no 8- and 16-bit integers, no recursion and no buffers passed to functions that
    /// stay functions. The interpreter (`cotangent run`) has all of them.
    E0761 UNSUPPORTED = "not possible in the target language";
    /// naga, the library that checks and prints shaders, refused what we built. This is our fault: please report
    /// it with the program.
    E0762 INVALID = "the emitted shader is invalid";
}
