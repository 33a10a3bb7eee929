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

    /// The program was given a number of steps, and used them up. It may not end at all.
    E0804 STEP_LIMIT = "step limit reached";

    /// Calls nested more deeply than the interpreter allows. A recursion may have no end.
    E0805 CALL_DEPTH = "calls nest too deeply";
}
