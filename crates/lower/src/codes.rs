//! The diagnostics of lowering. Most say that something is not supported yet; the last is our own fault.

cotangent_base::codes! {
    /// A value has a type that has no form in the IR yet: an interface used as a value, an array without a length,
    /// a string, a resource that is not a structured buffer, or a type whose values take more than 2 GiB.
    ///
    /// Use a concrete type, a generic parameter in place of the interface, an array of known length, or a buffer.
    E0720 UNSUPPORTED_TYPE = "type not supported yet";

    /// A statement or expression has no form in the IR yet. The message names it.
    E0721 UNSUPPORTED_CONSTRUCT = "construct not supported yet";

    /// A generic function asks for itself with ever larger arguments (`f<T>` calls `f<Box<T>>`), so that there
    /// would be infinitely many instances.
    ///
    /// Make the chain end, for instance with a depth that is a generic value and an instance that stops at zero.
    E0722 ENDLESS_INSTANCES = "generic instances nest without end";

    /// A generic function was named as the thing to lower, but nothing says for which arguments.
    ///
    /// Write a small function that calls it with concrete types, and name that one.
    E0723 GENERIC_ROOT = "a generic function needs arguments";

    /// No function of the user's modules has the name that was asked for, or more than one has.
    E0724 NO_SUCH_FUNCTION = "no such function";

    /// The derivative of a function was asked for that has none: it is not marked `[Differentiable]` and has
    /// no derivative of its own.
    E0725 NOT_DIFFERENTIABLE = "function is not differentiable";

    /// A parameter of an entry point asks for a value that compute shaders do not get, or gives it a type that it
    /// cannot have.
    ///
    /// Known are `SV_DispatchThreadID`, `SV_GroupID`, `SV_GroupThreadID` (up to three integers) and
    /// `SV_GroupIndex` (one integer).
    E0726 ENTRY_PARAMETER = "unsuitable entry-point parameter";

    /// The compiler contradicts itself. It is not the program's fault; please report it.
    E0729 INTERNAL = "internal error in lowering";
}
