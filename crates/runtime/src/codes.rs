//! The diagnostics of runs: why a program stopped before its end.

cotangent_base::codes! {
    /// An index is negative or not less than the number of elements of its array, vector, matrix or buffer.
    ///
    /// Clamp the index or test it before the access.
    E0801 OUT_OF_BOUNDS = "index out of bounds";

    /// A loop exceeded its `[MaxIters(n)]`, or the bound that the compiler inferred.
    ///
    /// The derivative has space for that many iterations only. State a larger bound.
    ///
    /// A loop for which the backward derivative stores nothing per iteration, such as a sum, is not stopped: its derivative is
    /// right however often it runs. Neither are loops outside of backward derivatives.
    E0802 LOOP_BOUND = "loop exceeded its bound";

    /// The divisor of an integer `/` or `%` was zero.
    E0803 DIVISION_BY_ZERO = "integer division by zero";

    /// The program reached the step limit. It may not terminate.
    ///
    /// `--max-steps N` sets another limit.
    E0804 STEP_LIMIT = "step limit reached";

    /// Calls nest more deeply than the interpreter allows. The recursion may not terminate.
    E0805 CALL_DEPTH = "calls nest too deeply";

    /// The program dereferenced a pointer that is null or was never set.
    ///
    /// If a pointer can be null, compare it with `nullptr` first.
    E0806 NULL_POINTER = "null pointer dereference";

    /// An address in a byte-address buffer has the wrong alignment. It must be a multiple of four bytes, or of the type's
    /// alignment if that is less; for `LoadAligned` and `StoreAligned`, of the given alignment.
    E0807 MISALIGNED = "misaligned address";

    /// Not all threads of the group reached a barrier, or some of them wait at another one. On a GPU, such a program hangs or
    /// computes garbage.
    ///
    /// Put the barrier where all threads pass: not after a `return`, and not in a branch or loop that depends on the thread.
    E0808 BARRIER = "barrier not reached by all threads of the group";

    /// The program called `abort()`.
    E0809 ABORT = "the program aborted";

    /// The program read the `value` of an empty `Optional`. Test it first: `if (let v = o)`, or `o.hasValue`.
    E0810 NO_VALUE = "value of an empty optional";

    /// An interface value from a buffer or from `createDynamicObject` has a number that belongs to no type of the program.
    ///
    /// The types that conform to an interface are numbered from 0 in source order. With `--conformance 'Circle:IShape=3'`, only
    /// the types that it names are known. In memory, an interface value consists of 16 bytes, of which the third word is the
    /// number, and then the data.
    E0811 UNKNOWN_TYPE = "unknown type of an interface value";

    /// `discard`, `clip`, `ddx` and related functions need a fragment shader on a GPU. Here it ran outside a fragment shader,
    /// where there are no pixels.
    E0812 NO_PIXEL = "pixel operation outside a fragment shader";

    /// The program ran for as long as it was allowed to. It may not terminate.
    ///
    /// `--max-seconds N` sets another limit. The line is where one of the threads was at that time.
    E0813 TIME_LIMIT = "time limit reached";

    /// Ctrl-C, or the program that launched this one, stopped it. The line is where one of the threads was at that time.
    ///
    /// What was written before stays in the buffers.
    E0814 INTERRUPTED = "interrupted";

    /// The local arrays of the functions that run, or the global variables and uniform parameters, have more elements than the
    /// interpreter allows: 32 Mi.
    /// An element takes several times as many bytes there as in a buffer or in native code.
    E0815 OUT_OF_MEMORY = "memory limit reached";
}
