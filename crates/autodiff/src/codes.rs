//! The diagnostics of the autodiff passes: E06 and W06.

cotangent_base::codes! {
    /// `fwd_diff` and `bwd_diff` need a function with a derivative: one marked `[Differentiable]`, or with a custom derivative
    /// (`[ForwardDerivative(g)]`, `[BackwardDerivative(g)]`) or a substitute (`[PrimalSubstitute(g)]`).
    ///
    /// Mark the function, or write a custom derivative.
    E0601 NOT_DIFFERENTIABLE = "function is not differentiable";

    /// A function that is marked `[ForwardDifferentiable]`, or that has only a custom forward derivative, has no backward
    /// derivative.
    ///
    /// Mark it `[Differentiable]`, or give it a backward derivative with `[BackwardDerivative(g)]`.
    E0602 NO_REVERSE = "function has no backward derivative";

    /// A function that has only a custom backward derivative, and is not marked `[Differentiable]`, has no forward derivative.
    ///
    /// Mark it `[Differentiable]`, or give it a forward derivative with `[ForwardDerivative(g)]`.
    E0603 NO_FORWARD = "function has no forward derivative";

    /// There is no derivative rule for an operation of the IR: text of a target language has none. The library wraps every other
    /// such operation in a function with a rule, so there it is a bug in the library or the compiler.
    ///
    /// Give the function a custom derivative, or drop the derivative: `no_diff f(x)`, `detach(x)`.
    E0604 NO_RULE = "no derivative rule for an operation";

    /// A derivative rule of the library computes the tangent of a function. It must be linear in its tangents: it cannot multiply
    /// two tangents, and no condition or index can depend on one.
    E0605 NONLINEAR_RULE = "derivative rule is not linear";

    /// The body of the function uses its own derivative. Each derivative would need the next higher one first, without end.
    ///
    /// Break the cycle with a custom derivative, or with `no_diff` on the inner call.
    E0606 ENDLESS_ORDER = "derivative depends on itself";

    /// The parameters of the derivative do not match those of the function.
    E0607 WRONG_SIGNATURE = "derivative has the wrong signature";

    /// The backward pass runs a loop in reverse. Every iteration needs values that the forward pass computed in that iteration.
    /// They are stored in an array, so the compiler must know the largest iteration count. It infers the count of loops that count
    /// to a constant, and of many others. On the CPU, other loops are cut into segments that run again. Shaders and CUDA need a
    /// bound. So does a loop that must not run twice, for example because it writes memory.
    ///
    /// Write `[MaxIters(n)]` before the loop. A loop that exceeds it stops the program. Or write `[Checkpoint(log)]`: then the
    /// backward pass runs parts of the loop again, and needs no bound.
    E0608 NO_BOUND = "loop has no known bound";

    /// The backward pass needs a buffer or variable that is chosen at run time, such as `(i < 3 ? bufferA : bufferB)[i]`. A
    /// resource cannot be stored between the passes.
    ///
    /// Load from both and choose between the values.
    E0609 NOT_STORABLE = "backward pass needs a resource chosen at run time";

    /// The context of a function contains the contexts of its callees, so the context of a recursive function would contain
    /// itself. The backward pass therefore runs a recursive function again at every level. That is possible only if the function
    /// writes no memory and reads no memory that changes. If the derivative is differentiated again, the function must not call
    /// functions with custom derivatives either: those would run twice per call.
    ///
    /// Write the recursion as a loop with `[MaxIters(n)]`, or write a custom backward derivative.
    E0610 RECURSION = "cannot recompute a recursive function";

    /// A loop marked `[ForceUnroll]` is unrolled before differentiation, so its iteration count must be a constant.
    ///
    /// Make its bounds constants, or remove the attribute; a backward derivative then needs `[MaxIters(n)]`.
    E0611 NOT_UNROLLED = "cannot unroll a loop";

    /// The derivative of a function with a custom derivative calls the custom derivative. If that derivative is differentiated
    /// again, as in `fwd_diff(fwd_diff(f))`, the custom derivative must be differentiable.
    ///
    /// A custom forward derivative that reads memory has no second derivative if the backward derivative of the function writes the
    /// gradient of that memory: as with `DiffBuffer` in `bwd_diff` of a function that calls `fwd_diff`.
    ///
    /// Mark it `[Differentiable]`, or give it a custom derivative too. Read memory outside, and pass the value.
    E0612 CUSTOM_NOT_DIFFERENTIABLE = "custom derivative is not differentiable";
    /// The backward pass stores values for every iteration of a loop, and the bound of the loop is so large that the context
    /// would exceed 256 MiB.
    ///
    /// Make the backward pass run parts of the loop again, with `[Checkpoint(log)]` or `[Checkpoint(sqrt)]`, or state the actual
    /// bound with `[MaxIters(..)]`.
    E0613 TOO_LARGE = "backward pass would store too much";

    /// The function is too large to differentiate. Usually it is itself a derivative of high order: `fwd_diff(fwd_diff(f))` has
    /// four times the code of `f`, and so on.
    ///
    /// Use a lower order, mark inlined functions `[noinline]`, or write a custom derivative. Control flow that nests a thousand
    /// levels deep, such as a chain of `else if`, is refused too: use a `switch` or a table.
    E0614 TOO_MUCH_CODE = "function is too large to differentiate";

    /// The derivative of a kernel propagates derivatives through the memory that the kernel accesses: buffers, uniforms,
    /// group-shared and `static` variables. Some accesses have no derivative: atomic operations on floats other than additions, the
    /// old value of an atomic addition, interface values in memory, and memory that is chosen at run time. A derivative is also
    /// lost where a value passes through an operation on waves, quads or the bits of a float, also by way of memory of integers, or
    /// through data that the derivative of a structure or a custom derivative leaves out. A custom derivative also leaves out what
    /// its function reads from memory, unless it writes to memory itself. Only compute kernels can be differentiated.
    ///
    /// Rewrite the code as the message says, move it to a function with a custom derivative, or write `detach` or `no_diff` where
    /// no derivative is intended.
    E0615 KERNEL = "kernel has no derivative";

    /// A kernel can be differentiated if no thread touches an element of a buffer that another thread writes in the same dispatch.
    /// Otherwise its result depends on the order of the threads, and the derivative is not defined.
    ///
    /// The same holds for elements that several threads write: the last one wins, and which one that is, is not defined.
    ///
    /// Write to another buffer than the kernel reads from, or dispatch twice. In a group, group-shared memory with barriers works.
    E0616 KERNEL_RACE = "threads of a kernel race";

    /// `[Checkpoint(..)]` cuts a loop into segments, and the backward pass runs each segment again. A loop that writes memory,
    /// reads memory that is written elsewhere, or waits for other threads must not run twice. If the derivative is differentiated
    /// again, neither must one that calls functions with custom derivatives.
    ///
    /// Remove the attribute, or move what cannot run twice out of the loop: collect the values in an array, for example, and write
    /// them to memory afterwards.
    E0617 NOT_CUT = "cannot cut a loop into segments";

    /// `--context BYTES` limits what a backward pass stores at a time. Recomputing everything that can be recomputed, and cutting
    /// loops into segments, was not enough: some values cannot be recomputed, such as what was loaded from memory that changes, and
    /// the loop over the segments of a loop stores something for each.
    ///
    /// Allow as many bytes as the message says.
    E0618 BUDGET = "backward pass exceeds its budget";

    /// A custom derivative serves one mode: `[ForwardDerivative(g)]` provides the forward derivative, `[BackwardDerivative(g)]`
    /// the backward derivative. Here a function with a custom derivative of one mode is called in code that is differentiated in
    /// the other mode. The function has no differentiable result, so the other mode has nothing to differentiate, and drops what
    /// the custom derivative would read from memory or write to it.
    ///
    /// ```slang
    /// [BackwardDerivative(store_bwd)] void store(int i, float v) { values[i] = v; }
    /// [Differentiable] void square(float x) { store(0, x * x); }
    /// fwd_diff(square)(diffPair(3.0, 1.0)); // warning: no tangent is stored
    /// ```
    ///
    /// Give the function a custom derivative of the other mode. If no derivative is intended, write `no_diff` before the call;
    /// then no custom derivative of it runs in any mode. A derivative of the other mode that does nothing serves one mode alone.
    W0601 ONE_MODE = "custom derivative serves the other mode only";

    /// A derived kernel reads and writes a buffer, and its indices do not show that each thread has elements of its own. The
    /// derivative is right only if no thread touches an element that another thread writes in the same dispatch. The same holds for
    /// group-shared memory between two barriers.
    ///
    /// ```slang
    /// heat[next[id.x]] = 0.5 * heat[id.x]; // warning: `next` could lead to the element of another thread
    /// ```
    ///
    /// `cotangent gradcheck --entry` compares the gradients with finite differences. To avoid the warning, read from one buffer and
    /// write to another. An index such as `4 * id.x + k`, with `k` from 0 to 3, shows that elements belong to one thread.
    W0602 KERNEL_SHARES = "threads of a kernel may share elements";
}
