//! The diagnostics of the checker: names and types (E03), generics and interfaces (E04), unsupported constructs (E07), and
//! warnings (W03).

cotangent_base::codes! {
    /// No declaration with this name is visible here. The name may be misspelt, declared in a block that has ended, or a member
    /// of a type or namespace that must precede it: `S.f`, `a.b.f`.
    E0301 UNKNOWN_NAME = "unknown name";

    /// No type with this name is visible here. The scalar types are `bool`, `int`, `uint`, `half`, `float`, `double`, and
    /// `int8_t` to `uint64_t`. A vector is written `float3`, a matrix of three rows and two columns `float3x2`.
    E0302 UNKNOWN_TYPE = "unknown type";

    /// The type or namespace has no member with this name. The members of a type are its fields, methods, properties and nested
    /// types, those that extensions add, and those of its interfaces. A generic parameter has only the members that its bounds
    /// declare.
    E0303 UNKNOWN_MEMBER = "unknown member";

    /// Two declarations in one scope have the same name. Only functions can share a name, if their parameters differ.
    E0304 REDECLARED = "duplicate declaration";

    /// The value has the wrong type and does not convert to the expected type implicitly. Numbers convert to each other, a scalar
    /// to a vector or matrix with all elements equal, an enumeration to integers, and a structure to the one it inherits from.
    /// Conversions never shorten a vector: use a swizzle. Constructors are not implicit conversions: write `S(x)`.
    E0305 MISMATCH = "mismatched types";

    /// A type is expected here.
    E0306 NOT_A_TYPE = "not a type";

    /// A value is expected here, but the name refers to a type, a namespace, or a function that is not called.
    E0307 NOT_A_VALUE = "not a value";

    /// No function with this name accepts these arguments. The notes give the reason for each candidate.
    E0308 NO_OVERLOAD = "no matching function";

    /// Several functions with this name accept these arguments, and their conversions cost the same. The costs of all arguments
    /// are added up; there is no other preference between conversions. Convert an argument to the intended type.
    ///
    /// Or several namespaces made visible by `using namespace` declare the name. Among functions that match equally well, the
    /// nearest declaration wins; among types, the least nested one. Otherwise the name is ambiguous: write the namespace before
    /// it.
    E0309 AMBIGUOUS = "ambiguous name or call";

    /// The function, constructor or type takes a different number of values. A vector takes exactly as many components as it has,
    /// or one scalar for all of them.
    E0310 ARGUMENT_COUNT = "wrong number of arguments";

    /// The operator is not defined for these types. On vectors and matrices, operators work element by element, so the shapes
    /// must be equal or one operand must be a scalar; `mul` multiplies matrices. For structures, declare a function such as `S
    /// operator+(S a, S b)` outside the structure. For a generic parameter, a bound such as `IFloat` provides the arithmetic
    /// operators; numbers must be converted to the parameter's type: `x * T(2.0)`.
    E0311 NO_OPERATOR = "operator not defined for these types";

    /// These can be assigned, or passed as `out` or `inout`: variables; fields and elements of assignable expressions; swizzles
    /// that repeat no component; and properties and subscripts with a `set`. Variables declared with `let` or `const`, shader parameters,
    /// and `this` in a method without `[mutating]` are not assignable.
    E0312 NOT_A_PLACE = "expression is not assignable";

    /// A property or subscript with only a `set` can be assigned as a whole or passed as `out`. Everything else reads it: `x +=
    /// 1`, an `inout` parameter, and an assignment to a part of it. Declare a `get` as well.
    E0355 NOT_READABLE = "expression is not readable";

    /// The value must be known at compile time: the size of an array, a generic argument, an enumerator, or a `case` label. Use
    /// literals, `static const` variables, `const` locals with such a value, enumerators, generic value parameters, and
    /// arithmetic on these. A `let` is not a constant.
    E0313 NOT_CONSTANT = "not known at compile time";

    /// The type that an initializer list initializes determines its meaning. The list can have fewer values than there are
    /// elements; the rest is zero or the field's initializer. It cannot have more. Inner braces are optional. A structure with very
    /// many fields, counting nested ones, cannot be made from a list.
    E0314 BAD_LIST = "invalid initializer list";

    /// There is no object here: the code is in a static method or a free function, or names a member through its type.
    E0315 NO_THIS = "member needs an object";

    /// Indices start from 0. A constant index must be less than the number of elements.
    E0316 OUT_OF_RANGE = "index out of range";

    /// Only arrays, vectors, matrices, buffers, and types with a `__subscript` can be indexed.
    E0317 NO_SUBSCRIPT = "value cannot be indexed";

    /// Only functions, types (to construct a value), and objects with `operator()` can be called.
    E0318 NOT_CALLABLE = "value cannot be called";

    /// `break` leaves the innermost loop or `switch`, or the one with the given label. `continue` is allowed in loops only.
    E0319 BAD_JUMP = "invalid `break` or `continue`";

    /// The declaration is not allowed here.
    E0320 MISPLACED = "misplaced declaration";

    /// The definition depends on itself.
    E0321 CYCLE = "cyclic definition";

    /// `using` makes the names of a namespace visible, not those of a type.
    E0322 NOT_A_NAMESPACE = "not a namespace";

    /// A `switch` can have only one `case` for each value.
    E0323 DUPLICATE_CASE = "duplicate case";

    /// A function that is called must have a body. A declaration without a body needs a definition in the same scope, with
    /// parameters of the same types; otherwise it declares a different function.
    E0324 NOT_DEFINED = "function without a definition";

    /// A vector has 1 to 4 components, and a matrix 1 to 4 rows and columns. An array cannot have a negative number of elements,
    /// and the bound in `[MaxIters(n)]` must be at least 1.
    E0325 BAD_SIZE = "size out of range";

    /// All `return` statements of a lambda must return the type of the first one.
    E0329 LAMBDA_RESULTS = "lambda returns different types";

    /// The declaration is not visible here. `private` members are visible in their type, its extensions and nested types;
    /// `internal` declarations in their module; `public` ones wherever the module is imported. Unmarked declarations are
    /// `internal` if the module uses visibility (a `module` line, an `__include`, or one of these three keywords), and `public`
    /// otherwise.
    E0327 NOT_ACCESSIBLE = "declaration not visible";

    /// A member cannot be more visible than its type, and a function or variable cannot be more visible than the types in its
    /// declaration. Only members of structures can be `private`.
    E0328 BAD_ACCESS = "more visible than its type";

    /// A declaration such as `extern struct Impl : IFoo;`, `extern static const int N;` or `type_param T;` has no definition.
    ///
    /// Define it in another module of the program: `export struct Impl : IFoo = Real;`, `export static const int N = 8;`. Import
    /// that module, or name its file on the command line after the program. Or define it on the command line:
    /// `--specialize-global Impl=Real`. A declaration with a default, `extern struct Impl : IFoo = Simple;`, needs no definition.
    E0350 NOT_LINKED = "`extern` declaration without a definition";

    /// Two modules export the same name, so an `extern` declaration of it is ambiguous.
    E0351 EXPORTED_TWICE = "name exported twice";

    /// The exported definition does not match the `extern` declaration: a constant has a different type, or a function a
    /// different result. Or `no_diff` is on only one of the declaration and the definition of a function.
    E0352 BAD_LINK = "definition does not match its declaration";

    /// The command line specializes a name that the program does not declare or that cannot be specialized.
    ///
    /// `--specialize f=float,4` gives the generic arguments of a function. `--specialize-global T=Real` defines a `type_param` or
    /// an `extern` declaration. `--set-type p=Real` sets the type of a shader parameter of interface type.
    E0353 NOT_GENERIC = "nothing to specialize";

    /// The condition of a `static_assert` is false. The compiler evaluates it at once if it can, and otherwise for each instance
    /// of the generic.
    E0340 ASSERTION_FAILS = "static assertion failed";

    /// The first argument of `printf` is a literal with one conversion for each further argument: `%d`, `%u` or `%x` for an
    /// integer, `%f`, `%e` or `%g` for a floating-point number, `%s` for a literal string. A vector prints its components in
    /// turn. `%%` prints a percent sign.
    E0341 BAD_FORMAT = "invalid `printf` format";

    /// `&x` points to a variable, an element of a writable buffer, or a part of these. Constants, what is declared with `let`, shader
    /// parameters and results have no address.
    E0342 NOT_IN_MEMORY = "value has no address";

    /// The attribute exists, but does not apply to this declaration or takes different arguments.
    E0330 BAD_ATTRIBUTE = "invalid use of an attribute";

    /// An interface is expected after the colon of a generic parameter or type. A structure can also inherit from another
    /// structure; a class cannot.
    E0401 NOT_AN_INTERFACE = "not an interface";

    /// The generic declaration takes a different number of arguments, or the declaration is not generic. Arguments with defaults
    /// can be omitted, and so can arguments that a call infers.
    E0402 GENERIC_ARGS = "wrong generic arguments";

    /// Generic arguments are inferred from the types of the call's arguments, never from the use of its result. A parameter that
    /// occurs in no argument must be given: `f<float>(x)`.
    E0403 CANNOT_INFER = "cannot infer a generic argument";

    /// A generic argument does not satisfy the bounds of its parameter. A type conforms to an interface if its declaration or an
    /// extension says so: `struct S : IFoo`, `extension S : IFoo`.
    E0404 UNMET_BOUND = "bound not satisfied";

    /// A type must provide everything that its interfaces require: methods with the same parameters and result, and a type for
    /// each associated type.
    E0405 MISSING_REQUIREMENT = "missing requirement";

    /// An interface can have a default for a requirement. A type that replaces the default must mark its own member `override`.
    E0406 MISSING_OVERRIDE = "missing `override`";

    /// A method is marked `override`, but no interface of its type has a method with that name.
    E0418 NOTHING_TO_OVERRIDE = "nothing to override";

    /// Write the binding of a parameter as `register(u1)`, `register(b0, space2)` or `[[vk::binding(binding, set)]]`. The classes of
    /// registers are `b` (constants), `t` (read-only), `u` (writable) and `s` (samplers). Write the offset of a `cbuffer` member as
    /// `packoffset(c2.y)`; a row has 16 bytes.
    E0326 BAD_BINDING = "invalid binding";

    /// `is` and `as` test the type of an interface value or of a generic parameter. Between two known types, the test is always
    /// false.
    E0408 NEVER_OF_TYPE = "type test is always false";

    /// `each`, `countof` and conditions on packs need a pack: a generic parameter declared with `each`, a parameter of such a
    /// type, or (for values) a tuple.
    E0409 NOT_A_PACK = "not a pack";

    /// `each x` is the current element of the enclosing `expand`. Write `expand f(each x)`.
    E0410 EACH_ALONE = "`each` outside `expand`";

    /// `expand` repeats its operand for each element of the packs under `each`. The operand contains no such pack.
    E0411 EXPANDS_NOTHING = "`expand` without `each`";

    /// A pack stands for any number of types or values. A field or result cannot be a pack, and a pack parameter cannot be `out`
    /// or `inout`. Use a tuple of the pack instead: `Tuple<expand each T>`.
    E0412 MISPLACED_PACK = "pack not allowed here";

    /// A call of a function that `throws` must be marked with `try`, so that the exit is visible in the source: `let y = try
    /// f(x);`. Nothing else can be marked with `try`.
    E0413 UNTRIED = "missing or misplaced `try`";

    /// A thrown error goes to the innermost enclosing `catch`, or to the caller if the function is declared with `throws`.
    /// Neither accepts this error.
    E0414 UNCAUGHT = "error is not caught";

    /// `T is IFoo` tests an optional constraint, `where optional T : IFoo`. There is no such constraint. A constraint that is not
    /// optional always holds.
    E0419 NO_OPTIONAL = "no optional constraint to test";

    /// `[require(hlsl)]`, `case hlsl:` in a `__target_switch` and `case compute:` in a `__stage_switch` name capabilities:
    /// targets (`hlsl`, `cpp_cuda`), stages, versions (`sm_6_0`) and features (`atomic64`). `[require(a, b)]` requires both; a
    /// second `[require]` is an alternative.
    E0420 UNKNOWN_CAPABILITY = "unknown capability";

    /// A function that states with `[require(..)]` which features of SPIR-V it needs may use no others, also through functions that
    /// it calls. So may a function that meets a requirement of an interface with such an attribute.
    ///
    /// Add the feature to the attribute. A function without the attribute needs whatever its callees need.
    E0423 UNDECLARED_FEATURE = "feature is not stated";

    /// A bit field is a field of a structure with a built-in integer type. Its width is at least one bit and at most that of its
    /// type: `uint kind : 4;`.
    E0354 BAD_BIT_FIELD = "invalid bit field";

    /// Only trailing arguments can be omitted, so a default has no effect before a parameter without one.
    ///
    /// Move the parameters with defaults to the end, or give all following parameters a default.
    E0356 DEFAULT_BEFORE = "default before a parameter without one";

    /// The divisor of an integer division or remainder is a constant zero. Floats may be divided by zero: `1.0 / 0.0` is
    /// infinite.
    E0357 DIVIDED_BY_ZERO = "integer division by zero";

    /// An array variable needs a length, and a constant needs a value. An initializer provides both: `static int primes[] = { 2,
    /// 3, 5 };`. Only shader parameters can be arrays without a length.
    E0358 INCOMPLETE = "incomplete variable";

    /// The declaration is marked `[RemovedSince(version, "..")]`, or the construct does not exist in this version of the language.
    /// The first line of a file can state its version: `#language slang 2026`. `--language` sets it for all other files. Since 2026, structures inherit only from interfaces, and `volatile` is removed.
    E0359 REMOVED = "not part of this version of the language";

    /// The function is marked `[NoDiscard]`: its result says something that the caller must not ignore. Use it, or write `(void)`
    /// before the call.
    E0360 DISCARDED = "result is not used";

    /// No path to this use assigns the variable, so there is no type whose method could be called.
    E0361 NOTHING_HELD = "use of an unassigned interface value";

    /// A resource, such as a texture or a buffer, is bound by the host. There is no value that stands for none, so it cannot be
    /// in an `Optional`.
    E0362 BAD_OPTIONAL = "optional resource";

    /// A deferred statement is repeated at every exit of its block: at its end and at each `return`, `break` and `continue` that
    /// leaves it. This function has so many exits and deferred statements, or such long statements, that it becomes very large.
    /// Leave the block at fewer places, or put the deferred statements into a function and defer its call.
    E0363 DEFERRED_TOO_OFTEN = "deferred statements are repeated too often";

    /// From version 2025 of the language on, a generic function cannot be called for the type of an interface value, which is
    /// known only when the program runs. Take a parameter of interface type instead of a generic one, or find out the type with
    /// `as` before the call. Files without a `#language` line are exempt.
    E0421 OPEN_TYPE = "generic function called for an interface value";

    /// A `__ref` parameter needs a variable of a fixed layout. An interface value, alone or in a structure, array or tuple, has
    /// none.
    E0422 REF_TO_INTERFACE = "reference to an interface value";

    /// The construct is part of the language, but this compiler does not support it yet.
    E0701 UNSUPPORTED = "not supported yet";

    /// An implicit conversion drops information: a fraction, large values, or precision. If that is intended, write the
    /// conversion: `int(x)`.
    W0301 LOSSY_CONVERSION = "conversion may lose information";

    /// A global variable that is not `static` is a shader parameter. The host sets it, and its initializer is ignored. Write
    /// `static const` for a constant, and `static` for a variable of each thread.
    W0302 IGNORED_INITIALIZER = "initializer has no effect";

    /// Control can reach the end of a function that must return a value. The result is then undefined.
    W0304 MISSING_RETURN = "missing return";

    /// There is no attribute with this name, so it is ignored. A user-defined attribute is a structure whose name ends in
    /// `Attribute`.
    W0305 UNKNOWN_ATTRIBUTE = "unknown attribute";

    /// No path to this use assigns the variable, so its value is undefined.
    W0306 UNASSIGNED = "use of an unassigned variable";

    /// Some path to this use does not assign the variable, so its value may be undefined. If that path is never taken, give the
    /// variable a value in its declaration.
    W0307 MAYBE_UNASSIGNED = "use of a possibly unassigned variable";

    /// The function can return without assigning an `out` parameter. The caller's variable is then undefined.
    W0308 OUT_UNASSIGNED = "`out` parameter not assigned";

    /// Every path leaves before this statement.
    W0309 UNREACHABLE = "unreachable statement";

    /// One variable is passed to two `out` or `inout` parameters. Each parameter is a copy. They are copied back in order, so the
    /// value of the first is lost.
    W0310 ALIASED = "variable passed to two `out` or `inout` parameters";

    /// The number does not fit the target type, so its value changes: integers wrap around, and fractions are truncated.
    W0311 DOES_NOT_FIT = "number does not fit its type";

    /// The function is marked `[deprecated("..")]`. The message says what to use instead.
    W0312 DEPRECATED = "deprecated function";

    /// `no_diff` on a local variable has no effect: values assigned to it keep their derivative. It has an effect on parameters,
    /// fields, results and calls.
    ///
    /// To drop the derivative, write `detach(..)` around the value.
    W0313 NO_DIFF_VARIABLE = "`no_diff` on a variable has no effect";

    /// A structure does not inherit the conformances of its base. A structure derived from a differentiable one is not
    /// differentiable, and a parameter of its type has no derivative, unless it names the interface too:
    ///
    /// ```text
    /// struct D : Base, IDifferentiable { float c; }
    /// ```
    ///
    /// In a differentiable structure whose base is not differentiable, the fields of the base have no derivatives.
    W0314 BASE_LOSES = "structure loses the derivatives of its base";

    /// The attribute, modifier or semantic is part of the language, but means nothing where it stands, or this compiler does not
    /// act on it yet. Semantics count for entry points, their parameters, and the fields of structures that they pass.
    W0318 IDLE_WORD = "attribute, modifier or semantic has no effect";

    /// No parameter of this compute shader has a semantic, so the host sets all of them, and all threads get the same values. A
    /// vector of integers is usually intended to be the index of the thread.
    ///
    /// ```text
    /// [numthreads(64, 1, 1)] void main(uint3 id) { .. }
    /// ```
    ///
    /// Write `uint3 id : SV_DispatchThreadID`, or `uniform uint3 id` if the host sets it.
    W0319 NO_THREAD_INDEX = "parameter that may be meant as the number of the thread";

    /// The value is computed and not used.
    W0303 NO_EFFECT = "statement has no effect";
}
