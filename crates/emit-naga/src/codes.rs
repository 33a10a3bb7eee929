//! What cannot be emitted.

cotangent_base::codes! {
    /// The target language has no way to express this part of the program.
    ///
    /// No shader language has recursion or pointers, some have no 64-bit floats or no 16-bit ones; the guide's page on targets
    /// has the whole table. The interpreter (`cotangent run`) has all of them.
    E0761 UNSUPPORTED = "not possible in the target language";
    /// naga, the library that checks and prints shaders, refused what we built. This is our fault: please report
    /// it with the program.
    E0762 INVALID = "the emitted shader is invalid";
}
