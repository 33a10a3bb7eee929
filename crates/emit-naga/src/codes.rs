//! The diagnostics of the shader emitter.

cotangent_base::codes! {
    /// The target language cannot express this part of the program.
    ///
    /// No shader language has recursion or pointers, and some have no 64-bit or 16-bit floats; the guide's page on targets has
    /// the complete table. The interpreter (`cotangent run`) supports all of them.
    E0761 UNSUPPORTED = "not supported by the target language";
    /// naga, the library that validates and prints shaders, rejected the emitted shader. This is a bug in cotangent: please
    /// report it with the program.
    E0762 INVALID = "the emitted shader is invalid";
}
