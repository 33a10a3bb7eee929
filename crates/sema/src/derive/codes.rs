//! The diagnostics of derivatives in the checker (E05).

cotangent_base::codes! {
    /// `fwd_diff` and `bwd_diff` need a function with a derivative. A function has one if it is marked `[Differentiable]`, has a
    /// custom derivative or a substitute (`[ForwardDerivative(f)]`, `[BackwardDerivative(f)]`, `[PrimalSubstitute(f)]` and their
    /// `..Of` forms), or is marked `[TreatAsDifferentiable]`, which makes its derivative zero.
    ///
    /// ```slang
    /// float square(float x) { return x * x; }
    /// let d = fwd_diff(square)(diffPair(3.0, 1.0)); // error: mark `square` with [Differentiable]
    /// ```
    E0501 NO_DERIVATIVE = "function has no derivative";

    /// A value that depends on a differentiable input is passed to a function without a derivative, and an output depends on the
    /// result. The derivative would be lost, and the gradient would be wrong.
    ///
    /// If the callee should have a derivative, mark it `[Differentiable]`. If its derivative should be zero, write `no_diff`
    /// before the call:
    ///
    /// ```slang
    /// [Differentiable]
    /// float f(float x) { return no_diff noise(x) + x * x; }
    /// ```
    ///
    /// To select a component of the result, use parentheses: `(no_diff image.SampleLevel(s, uv, 0)).x`.
    ///
    /// Some library functions, such as those that sample textures, have no derivative. To give one a derivative, call it in a
    /// function of your own, and name a substitute that the compiler differentiates instead:
    ///
    /// ```slang
    /// [PrimalSubstitute(smooth)] float fetch(float2 uv) { return image.SampleLevel(s, uv, 0).x; }
    /// [Differentiable] float smooth(float2 uv) { return uv.x * uv.y; }
    /// ```
    E0502 LOST_AT_CALL = "derivative lost in a call";

    /// A value with a derivative is stored where no derivative can be stored: in a `no_diff` field, a field of a structure that
    /// is not `IDifferentiable`, a global variable, or a buffer. Reading it back gives no derivative.
    ///
    /// If that is intended, write `detach(value)`. Otherwise make the destination differentiable: remove the `no_diff`, or make
    /// the structure conform to `IDifferentiable`.
    E0503 LOST_IN_STORE = "derivative lost in an assignment";

    /// A type that conforms to `IDifferentiablePtrType` points to derivatives. A differentiable function can take such a value,
    /// but cannot return it or pass it out through `out` or `inout`.
    E0504 POINTER_OUTPUT = "differentiable function outputs a pointer";

    /// A custom derivative must have the signature of the generated derivative.
    ///
    /// Forward: each differentiable parameter and result `T` becomes `DifferentialPair<T>`; the rest is unchanged.
    ///
    /// Backward: the result is `void`; `in T` and `inout T` become `inout DifferentialPair<T>`; `out T` becomes `T.Differential`;
    /// other `out` parameters disappear; other `inout` parameters become `in`; a differentiable result `R` adds a last parameter
    /// `R.Differential`.
    E0505 WRONG_SIGNATURE = "derivative has the wrong signature";

    /// A derivative of a generic function must be generic, with the same parameters and the same constraints.
    E0506 WRONG_GENERICS = "derivative has the wrong generic parameters";

    /// An interface marks a method `[Differentiable]`, so calls through it can be differentiated. Each conforming type must
    /// provide a method with a derivative: marked `[Differentiable]`, with a custom derivative, or marked
    /// `[TreatAsDifferentiable]` if its derivative is zero.
    E0507 REQUIREMENT = "method must be differentiable";

    /// `DifferentialPair<T>`, `diffPair` and `detach` require a type that conforms to `IDifferentiable`. So does every generic
    /// parameter `T : IDifferentiable`. Floating-point numbers conform, and so do vectors, matrices and arrays of them; integers
    /// and `bool` do not. A structure conforms if its declaration says so:
    ///
    /// ```slang
    /// struct Ray : IDifferentiable { float3 origin; float3 dir; }
    /// ```
    E0508 NOT_DIFFERENTIABLE = "type is not differentiable";

    /// The type in `typealias Differential = D` must conform to `IDifferentiable`, because derivatives are added up and can be
    /// differentiated again. Usually `struct D : IDifferentiable` is enough.
    E0509 DIFFERENTIAL_CONFORMS = "`Differential` is not differentiable";

    /// A differential must be its own differential: if `typealias Differential = D`, then `D.Differential` must be `D`.
    E0510 DIFFERENTIAL_ITSELF = "`Differential` is not its own differential";

    /// In an expression, `no_diff` applies to a call and drops its derivative. For any other expression, use
    /// `detach(expression)`.
    E0511 NO_DIFF_CALL = "`no_diff` before something other than a call";

    /// The function in a derivative attribute is not visible here. Qualify a function inside a type or namespace:
    /// `[ForwardDerivative(MyType.derivative)]`.
    E0512 NOT_FOUND = "unknown function in a derivative attribute";

    /// `[DerivativeMember(D.x)]` names the field of the differential that holds the derivative of a field. `D` must be the
    /// `Differential` of the structure, `x` one of its fields, and the type of `x` the differential of the field's type.
    E0513 DERIVATIVE_MEMBER = "invalid `[DerivativeMember]`";

    /// The function has a derivative in the other mode only. A custom derivative serves one mode: `[ForwardDerivative]` provides
    /// `fwd_diff`, `[BackwardDerivative]` provides `bwd_diff`. Mark the function `[Differentiable]` as well to generate the
    /// missing one from its body.
    E0514 ONE_DIRECTION = "function has no derivative in this mode";

    /// A function can have one derivative of each kind. Two attributes name different ones, perhaps one on the function and one
    /// on its derivative.
    E0515 TWO_DERIVATIVES = "two derivatives of one kind";

    /// The structure has a hand-written `Differential`, which has no field for the derivative of this field. Name one with
    /// `[DerivativeMember(D.x)]`, or mark the field `no_diff`.
    E0516 UNTIED_FIELD = "field without a derivative field";

    /// A structure that does not conform to `IDifferentiable` has no derivative, so a value loses its derivative when it becomes
    /// a field. Make the structure conform, or write `detach(value)`.
    E0517 LOST_IN_STRUCT = "derivative lost in a structure";

    /// A derivative attribute needs one argument, the name of a function: `[BackwardDerivative(f_bwd)]`.
    E0518 ATTRIBUTE = "incomplete derivative attribute";

    /// An object that carries a derivative is converted to an interface type or base structure without derivatives. Results
    /// computed through it have no derivative with respect to the object.
    ///
    /// ```slang
    /// interface IShape { [Differentiable] float area(float scale); }
    /// [Differentiable] float f(float r) { IShape s = Circle(r); return s.area(2.0); } // error: `r` loses its derivative
    /// ```
    ///
    /// Make the interface extend `IDifferentiable` (`interface IShape : IDifferentiable`), or drop the derivative of the object
    /// with `detach(..)`. Arguments of its methods keep their derivatives.
    E0519 LOST_IN_CONVERSION = "derivative lost in a conversion";

    /// `__func_extension __apply(f)` returns the result of `f` and a context that the backward pass calls. The `operator()` of
    /// the context takes a derivative for each differentiable parameter of `f`, with the direction reversed (`out` for `in`, `in`
    /// for `out`, `inout` for `inout`), and last the derivative for the result.
    ///
    /// ```slang
    /// float f(float x, int n) { .. }
    /// struct Context { float x; void operator()(out float dx, float d) { dx = 2.0 * x * d; } }
    /// __func_extension __apply(f)(float x, int n) -> Tuple<float, Context> { .. }
    /// ```
    E0520 WRONG_CONTEXT = "context cannot be called by the backward pass";

    /// The compiler differentiates a substitute instead of the function that names it. Here the chain of substitutes leads back
    /// to the function, so there is no body to differentiate.
    E0521 SUBSTITUTE_CIRCLE = "cyclic substitutes";

    /// Integers have no derivatives, so the derivative of a float ends where it becomes an integer, as in `int(x)` and
    /// `asuint(x)`. Here the integer becomes a float again, and its derivative is needed. It is taken as zero.
    ///
    /// ```slang
    /// [Differentiable] float f(float x) { return x * float(int(4.0 * x)); } // the second factor counts as a constant
    /// ```
    ///
    /// The difference `x - int(x)` gives no warning: it has the derivative of `x`. The analysis follows integers through
    /// variables and their fields, but not through memory and functions.
    ///
    /// If zero is intended, write `x * detach(float(int(4.0 * x)))`, or `no_diff` before the call that takes the number.
    /// Otherwise compute the value without integers, or write a custom derivative.
    W0315 ENDS_IN_INTEGER = "derivative ends in an integer";

    /// A structure without `IDifferentiable` is a constant for a differentiable function. If all inputs are constants, the
    /// function has no derivative: forward mode gives zero, and reverse mode nothing.
    ///
    /// ```slang
    /// struct Ray { float a; float b; }
    /// [Differentiable] float f(Ray r) { return r.a * r.b; } // warning
    /// ```
    ///
    /// Declare `struct Ray : IDifferentiable`, and mark its constant fields `no_diff`. If the whole value is a constant, mark the
    /// parameter `no_diff`.
    W0316 NOTHING_TO_VARY = "differentiable function without differentiable inputs";
}
