//! The diagnostics of the autodiff passes: E06.

cotangent_base::codes! {
    /// `fwd_diff` and `bwd_diff` need a function that has a derivative: one marked `[Differentiable]`, one with a
    /// custom derivative (`[ForwardDerivative(g)]`, `[BackwardDerivative(g)]`) or one with a substitute
    /// (`[PrimalSubstitute(g)]`).
    ///
    /// Mark the function, or give it a derivative of your own.
    E0601 NOT_DIFFERENTIABLE = "the function is not differentiable";

    /// A function marked `[ForwardDifferentiable]`, or one with a custom forward derivative only, has no backward
    /// derivative: its body was not promised to work in reverse.
    ///
    /// Mark it `[Differentiable]`, or give it a backward derivative with `[BackwardDerivative(g)]`.
    E0602 NO_REVERSE = "the function has no backward derivative";

    /// A function with a custom backward derivative only, and which is not marked `[Differentiable]`, has no forward
    /// derivative.
    ///
    /// Mark it `[Differentiable]`, or give it a forward derivative with `[ForwardDerivative(g)]`.
    E0603 NO_FORWARD = "the function has no forward derivative";

    /// The derivative reached an operation of the IR for which there is no rule. The library gives every such
    /// operation a name and a rule, so this is a fault of the library or of the compiler.
    ///
    /// Call the library's function instead of the operation, or wrap the call: `no_diff f(x)`, `detach(x)`.
    E0604 NO_RULE = "no derivative rule for an operation";

    /// A rule of the library says how a function carries tangents. It must be linear in them: no product of two
    /// tangents, no condition or index that depends on one.
    E0605 NONLINEAR_RULE = "a derivative rule is not linear";

    /// A function whose body uses its own derivative has derivatives of unlimited order: to write one, the compiler
    /// would first need the next.
    ///
    /// Break the circle with a custom derivative, or with `no_diff` on the inner call.
    E0606 ENDLESS_ORDER = "a derivative needs a derivative of itself";

    /// The derivative function does not have the parameters that the derivative of this function has.
    E0607 WRONG_SIGNATURE = "a derivative has the wrong signature";

    /// The backward pass runs a loop in the other direction. Every iteration needs values that the forward pass computed in
    /// that iteration. They are kept in an array, so the compiler must know the largest iteration count. It finds it for
    /// loops that count to a constant, and for many others.
    ///
    /// Write `[MaxIters(n)]` before the loop. A loop that exceeds it stops the program.
    E0608 NO_BOUND = "a loop has no known bound";

    /// The backward pass needs a buffer or variable that was chosen while the program ran, such as
    /// `(i < 3 ? bufferA : bufferB)[i]`. A handle cannot be kept between the passes.
    ///
    /// Load from both and choose between the values.
    E0609 NOT_KEEPABLE = "the backward pass needs a resource chosen at run time";

    /// What the forward pass keeps for the backward pass is a structure that contains those of the functions called.
    /// That of a function which calls itself, directly or through others, would contain itself. So the backward pass of
    /// such a function runs it again at every level instead, and it must be one that may run again: one that writes no
    /// memory and reads none that changes.
    ///
    /// Write the recursion as a loop with `[MaxIters(n)]`, or give the function a backward derivative of your own.
    E0610 RECURSION = "a recursive function cannot run again";

    /// A loop marked `[ForceUnroll]` is unrolled before derivatives are taken, so how often it runs must follow from
    /// constants.
    ///
    /// Make its bounds constants, or remove the attribute; a backward derivative then wants `[MaxIters(n)]`.
    E0611 NOT_UNROLLED = "a loop cannot be unrolled";

    /// The derivative of a function with a custom derivative calls that. If the derivative is itself differentiated, as in
    /// `fwd_diff(fwd_diff(f))`, the custom derivative must be differentiable.
    ///
    /// Mark it `[Differentiable]`, or give it a custom derivative in turn.
    E0612 CUSTOM_NOT_DIFFERENTIABLE = "a custom derivative is not differentiable";
    /// A loop may run so often that the values which the backward pass keeps would not fit in memory: one in every
    /// iteration, as many as its bound allows.
    ///
    /// Say with `[MaxIters(..)]` how often it really runs, or let the backward pass compute the values again: move the
    /// body to a function marked `[PreferRecompute]`.
    E0613 TOO_LARGE = "the backward pass would keep too much";

    /// The function has more instructions than any program that people write, so its derivative would be larger still.
    /// Usually it is itself a derivative of high order: `fwd_diff(fwd_diff(f))` has four times the code of `f`, and so on.
    ///
    /// Use a lower order, mark functions that are inlined `[noinline]`, or write a custom derivative. Control flow that nests
    /// a thousand deep, as a chain of `else if` of that length does, is refused as well: use a `switch` or a table.
    E0614 TOO_MUCH_CODE = "a function is too large to be differentiated";
}
