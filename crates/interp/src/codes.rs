//! The diagnostics of runs: why a program stopped before its end.

cotangent_base::codes! {
    /// An index lies outside its array, vector, matrix or buffer. Negative indices count as outside, too.
    ///
    /// Where an index may run past the end, clamp it or test it before the access.
    E0801 OUT_OF_BOUNDS = "index outside its array";

    /// A loop ran for more rounds than its `[MaxIters(n)]` allows, or than the compiler found that it could.
    ///
    /// The derivative has room for that many rounds only. State a larger bound.
    E0802 LOOP_BOUND = "loop ran longer than its bound";

    /// An integer was divided by zero, by `/` or by `%`.
    E0803 DIVISION_BY_ZERO = "integer division by zero";

    /// The program ran for as many steps as it may take. It may not end at all.
    ///
    /// `--max-steps N` sets another limit.
    E0804 STEP_LIMIT = "step limit reached";

    /// Calls nested more deeply than the interpreter allows. A recursion may have no end.
    E0805 CALL_DEPTH = "calls nest too deeply";

    /// A pointer that is null, or was never set, was followed.
    ///
    /// Where a pointer may be null, compare it with `nullptr` first.
    E0806 NULL_POINTER = "null pointer followed";

    /// An address in a byte-address buffer is not a multiple of what the access asks for: four bytes, or the alignment of the
    /// type if that is less; for `LoadAligned` and `StoreAligned` the alignment given.
    E0807 MISALIGNED = "misaligned address";

    /// A barrier at which threads wait for each other was not reached by all threads of the group, or some of them wait at
    /// another one. On a GPU such a program hangs or computes anything.
    ///
    /// Put the barrier where all threads pass: not behind a `return`, and not in a branch or loop that depends on the thread.
    E0808 BARRIER = "barrier that not all threads of the group reach";

    /// The program called `abort()`.
    E0809 ABORT = "the program aborted";

    /// The `value` of an `Optional` was read that holds none. Ask first: `if (let v = o)`, or `o.hasValue`.
    E0810 NO_VALUE = "value of an empty optional";

    /// A value of interface type that came from a buffer, or was made by `createDynamicObject`, has a number that belongs to no
    /// type of the program.
    ///
    /// The types that conform to an interface are numbered from 0 in the order of the program, or as the command line says:
    /// `--conformance 'Circle:IShape=3'`; then only those that it names are known. In memory a value of interface type is 16
    /// bytes, of which the third word is the number, and then the data.
    E0811 UNKNOWN_TYPE = "unknown type of an interface value";

    /// `discard`, `clip`, `ddx` and their like were met where there are no pixels: the function was run by itself, and only a
    /// fragment shader on a graphics processor has neighbours on the screen.
    E0812 NO_PIXEL = "something that only pixels can do";
}
