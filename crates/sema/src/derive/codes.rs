//! What can be wrong with derivatives before there is any IR: the E05 family.

cotangent_base::codes! {
    /// `fwd_diff` and `bwd_diff` need a function that has a derivative. A function has one if it is marked
    /// `[Differentiable]`, if somebody wrote a derivative or a substitute for it (`[ForwardDerivative(f)]`,
    /// `[BackwardDerivative(f)]`, `[PrimalSubstitute(f)]` and their `..Of` forms), or if it is marked
    /// `[TreatAsDifferentiable]`, which makes its derivative zero.
    ///
    /// ```slang
    /// float square(float x) { return x * x; }
    /// let d = fwd_diff(square)(diffPair(3.0, 1.0)); // error: mark `square` with [Differentiable]
    /// ```
    E0501 NO_DERIVATIVE = "the function has no derivative";

    /// A value that depends on a differentiable input goes into a function that has no derivative, and what comes
    /// out goes on to an output. The derivative would be lost on the way, and the result would be wrong.
    ///
    /// If the callee should have a derivative, mark it `[Differentiable]`. If its derivative should count as zero,
    /// say so at the call:
    ///
    /// ```slang
    /// [Differentiable]
    /// float f(float x) { return no_diff noise(x) + x * x; }
    /// ```
    ///
    /// Where a part is taken of what the call gives, put both in parentheses: `(no_diff image.SampleLevel(s, uv, 0)).x`.
    ///
    /// Calls of the library that have no derivative, such as those that sample textures, can be given one. Call them in a function
    /// of your own, and name another that stands for it wherever derivatives are taken:
    ///
    /// ```slang
    /// [PrimalSubstitute(smooth)] float fetch(float2 uv) { return image.SampleLevel(s, uv, 0).x; }
    /// [Differentiable] float smooth(float2 uv) { return uv.x * uv.y; }
    /// ```
    E0502 LOST_AT_CALL = "a derivative is lost in a call";

    /// A value that has a derivative is stored where none can be kept: a `no_diff` field, a field of a structure
    /// that is not `IDifferentiable`, a global variable, a buffer. What is read from there later has no derivative.
    ///
    /// If that is what you want, say so with `detach(value)`. Otherwise make the place differentiable: drop the
    /// `no_diff`, or let the structure conform to `IDifferentiable`.
    E0503 LOST_IN_STORE = "a derivative is lost in an assignment";

    /// A type that conforms to `IDifferentiablePtrType` says where derivatives are kept. A differentiable function may
    /// take such a value, but may neither return it nor hand it out through `out` or `inout`.
    E0504 POINTER_OUTPUT = "a differentiable function gives out a pointer";

    /// A function named as a derivative must have the signature that the derivative of the original has.
    ///
    /// Forward: each differentiable parameter and result `T` becomes `DifferentialPair<T>`; the rest stays.
    ///
    /// Backward: the result is `void`; `in T` and `inout T` become `inout DifferentialPair<T>`; `out T` becomes
    /// `T.Differential`; other `out` parameters disappear, other `inout` ones become `in`; a differentiable result `R`
    /// adds a last parameter `R.Differential`.
    E0505 WRONG_SIGNATURE = "a derivative has the wrong signature";

    /// A derivative of a generic function is generic itself, with the same parameters and the same constraints.
    E0506 WRONG_GENERICS = "a derivative has other generic parameters than its function";

    /// An interface says that a method is `[Differentiable]`, so calls through it may be differentiated. Each
    /// conforming type must provide a method that has a derivative: marked `[Differentiable]`, with a derivative
    /// written by hand, or marked `[TreatAsDifferentiable]` if its derivative is zero.
    E0507 REQUIREMENT = "a method that must be differentiable is not";

    /// `DifferentialPair<T>`, `diffPair` and `detach` are about values that have derivatives, so their type must conform to
    /// `IDifferentiable`, and so must every argument for a generic parameter `T : IDifferentiable`. Numbers with a fraction
    /// do, and vectors, matrices and arrays of them; integers and `bool` do not. A structure does if it says so:
    ///
    /// ```slang
    /// struct Ray : IDifferentiable { float3 origin; float3 dir; }
    /// ```
    E0508 NOT_DIFFERENTIABLE = "a type without derivatives where one is needed";

    /// The type named by `typealias Differential = D` must conform to `IDifferentiable` itself, because derivatives are
    /// added up and can be differentiated again. Usually it is enough to say `struct D : IDifferentiable`.
    E0509 DIFFERENTIAL_CONFORMS = "a `Differential` is not differentiable";

    /// The differential of a differential is the differential: if `typealias Differential = D`, then `D.Differential`
    /// must be `D`.
    E0510 DIFFERENTIAL_ITSELF = "a `Differential` is not its own differential";

    /// `no_diff` in an expression stands before a call and drops the derivative of that call. For the derivative of any
    /// other expression use `detach(expression)`.
    E0511 NO_DIFF_CALL = "`no_diff` before something that is no call";

    /// The function named in a derivative attribute cannot be found from where the attribute stands. A function
    /// inside a type or namespace is named with it: `[ForwardDerivative(MyType.derivative)]`.
    E0512 NOT_FOUND = "the function in a derivative attribute is unknown";

    /// `[DerivativeMember(D.x)]` ties a field to the field of the differential type that holds its derivative. `D` must be
    /// the `Differential` of the structure, `x` one of its fields, and the type of `x` the differential of the field's type.
    E0513 DERIVATIVE_MEMBER = "`[DerivativeMember]` does not fit";

    /// The function has a derivative in the other direction only. A derivative written by hand serves the direction it was
    /// written for: `[ForwardDerivative]` gives `fwd_diff`, `[BackwardDerivative]` gives `bwd_diff`. Mark the function
    /// `[Differentiable]` as well to have the missing one generated from its body.
    E0514 ONE_DIRECTION = "the function has no derivative in this direction";

    /// A function can have one derivative of each kind. Two attributes, perhaps one on the function and one on its
    /// derivative, name different ones.
    E0515 TWO_DERIVATIVES = "two derivatives of one kind for one function";

    /// The structure chose its `Differential` by hand, so the compiler cannot tell where the derivative of this field is
    /// kept. Tie the field to one of the differential with `[DerivativeMember(D.x)]`, or mark it `no_diff`.
    E0516 UNTIED_FIELD = "a field without a place for its derivative";

    /// A structure that does not conform to `IDifferentiable` has no derivative, so a value that has one loses it when it
    /// becomes a field. Let the structure conform, or say `detach(value)`.
    E0517 LOST_IN_STRUCT = "a derivative is lost in a structure";

    /// A derivative attribute needs one argument, the name of a function: `[BackwardDerivative(f_bwd)]`.
    E0518 ATTRIBUTE = "a derivative attribute is incomplete";

    /// An object that carries a derivative becomes a value of an interface type, or of a base structure, that has no
    /// derivative. What is computed through it later has none by the object.
    ///
    /// ```slang
    /// interface IShape { [Differentiable] float area(float scale); }
    /// [Differentiable] float f(float r) { IShape s = Circle(r); return s.area(2.0); } // error: `r` would not count
    /// ```
    ///
    /// Let the interface extend `IDifferentiable` (`interface IShape : IDifferentiable`), or drop the derivative of the object
    /// with `detach(..)`; the arguments of methods keep theirs.
    E0519 LOST_IN_CONVERSION = "a derivative is lost in a conversion";

    /// `__func_extension __apply(f)` gives, beside what `f` gives, an object that is called to go backward. Its `operator()`
    /// takes a derivative for every differentiable parameter of `f`, the other way round (`out` for what goes in, `in` for
    /// what comes out, `inout` for `inout`), and last the derivative of the result.
    ///
    /// ```slang
    /// float f(float x, int n) { .. }
    /// struct Context { float x; void operator()(out float dx, float d) { dx = 2.0 * x * d; } }
    /// __func_extension __apply(f)(float x, int n) -> Tuple<float, Context> { .. }
    /// ```
    E0520 WRONG_CONTEXT = "a context cannot be called to go backward";

    /// A substitute is differentiated in place of the function that names it, and what it names in turn in place of that. Here this leads
    /// back to the function itself, so that there is no body left to differentiate.
    E0521 SUBSTITUTE_CIRCLE = "substitutes go round in a circle";

    /// Integers have no derivatives. Where a number becomes one, as in `int(x)` and `asuint(x)`, its derivative ends. That is nothing to
    /// speak of where the integer is an index or a count. But here it becomes a number again, and the derivative of that number is
    /// asked for: it is taken for zero.
    ///
    /// ```slang
    /// [Differentiable] float f(float x) { return x * float(int(4.0 * x)); } // the second factor counts as a constant
    /// ```
    ///
    /// The difference `x - int(x)` is fine: what is left of `x` has its derivative. Integers are followed through variables and their fields,
    /// not through memory and functions.
    ///
    /// If zero is meant, say so: `x * detach(float(int(4.0 * x)))`, or `no_diff` before the call that the number goes into. If
    /// not, compute it without integers, or give a function that does so a derivative of its own.
    W0315 ENDS_IN_INTEGER = "a derivative ends in an integer";

    /// A structure has derivatives only if it says so. One that does not is a constant to a differentiable function, and if nothing else
    /// comes in, the function has no derivative at all: forward mode gives zero, and reverse mode nothing.
    ///
    /// ```slang
    /// struct Ray { float a; float b; }
    /// [Differentiable] float f(Ray r) { return r.a * r.b; } // warning
    /// ```
    ///
    /// Declare it `struct Ray : IDifferentiable`; its fields say `no_diff` if they are constants. If the whole is one, mark the
    /// parameter `no_diff`.
    W0316 NOTHING_TO_VARY = "a differentiable function of constants only";
}
