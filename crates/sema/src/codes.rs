//! What can be wrong with names and types (E03), generics and interfaces (E04), what is not supported yet (E07), and what is
//! likely a mistake (W03).

cotangent_base::codes! {
    /// A name stands for nothing that can be seen from here. It may be misspelt, declared in another block that has
    /// ended, or a member of a type or namespace that must be named with it: `S.f`, `a.b.f`.
    E0301 UNKNOWN_NAME = "unknown name";

    /// A type of this name cannot be seen from here. Scalars are `bool`, `int`, `uint`, `half`, `float`, `double`, `int8_t`
    /// to `uint64_t`; a vector is `float3`, a matrix of three rows and two columns `float3x2`.
    E0302 UNKNOWN_TYPE = "unknown type";

    /// The type or namespace has no member of this name. Members are its fields, methods, properties and nested types, those
    /// that extensions add, and what its interfaces provide. Of a generic parameter only what its bounds promise is known.
    E0303 UNKNOWN_MEMBER = "unknown member";

    /// Two declarations in one scope have the same name. Only functions may share a name, if their parameters differ.
    E0304 REDECLARED = "a name is declared twice";

    /// The value has another type than the one that is needed here, and does not convert to it implicitly. Numbers
    /// convert to each other, a scalar to a vector or matrix with all elements equal, an enumeration to integers, a structure
    /// to the one it inherits from. Vectors are never shortened by conversion: use a swizzle. A constructor is not an
    /// implicit conversion: write `S(x)`.
    E0305 MISMATCH = "mismatched types";

    /// A type must stand here.
    E0306 NOT_A_TYPE = "not a type";

    /// A value must stand here, but the name is that of a type, a namespace or a function that is not called.
    E0307 NOT_A_VALUE = "not a value";

    /// None of the functions of this name takes these arguments. The notes say for each why not.
    E0308 NO_OVERLOAD = "no function fits the call";

    /// Several functions of this name take these arguments, and the costs of the conversions are equal. The costs of all
    /// arguments are added up; there is no other preference between conversions. Convert an argument to the type you mean.
    ///
    /// Or several namespaces that `using namespace` makes visible declare the name. Among functions that fit equally well the
    /// nearest declaration wins, among types the least nested one. Otherwise the name is ambiguous: write the namespace before it.
    E0309 AMBIGUOUS = "the meaning is ambiguous";

    /// The function, constructor or type takes another number of values. A vector is made of exactly as many components as
    /// it has, or of one scalar for all of them.
    E0310 ARGUMENT_COUNT = "wrong number of arguments";

    /// The operator is not defined for these types. On vectors and matrices operators work element by element, so the shapes must
    /// be equal or one operand a scalar; `mul` multiplies matrices. For structures declare a function such as
    /// `S operator+(S a, S b)` outside the structure. For a generic parameter a bound such as `IFloat` gives the arithmetic
    /// operators; numbers must be converted to it: `x * T(2.0)`.
    E0311 NO_OPERATOR = "no such operator for these types";

    /// Only places can be assigned or passed as `out` and `inout`: variables, fields and elements of places, swizzles without
    /// repetition, and properties and subscripts that have a `set`. Not variables declared by `let` or `const`, shader
    /// parameters, or `this` in a method without `[mutating]`.
    E0312 NOT_A_PLACE = "this cannot be assigned";

    /// A property or subscript that has only a `set` can be assigned as a whole or passed as `out`. Everything else reads it:
    /// `x += 1` and an `inout` parameter do so first, and so does an assignment to a part of it. Declare a `get` as well.
    E0355 NOT_READABLE = "this cannot be read";

    /// The value is needed while compiling: as the size of an array, a generic argument, an enumerator, a `case` label.
    /// Literals, `static const` variables, `const` locals with such a value, enumerators, generic value parameters and arithmetic on
    /// these will do. A `let` will not.
    E0313 NOT_CONSTANT = "not known at compile time";

    /// An initializer list takes its meaning from the type it initializes. It may have fewer values than there are elements
    /// (the rest is zero or what the field's initializer says) but not more. Inner braces may be left out.
    E0314 BAD_LIST = "the initializer list does not fit";

    /// There is no object here that could be meant: a static method, a free function, or a member named through its type.
    E0315 NO_THIS = "there is no object";

    /// Indices count from 0, and a constant one must be less than the number of elements.
    E0316 OUT_OF_RANGE = "index out of range";

    /// Arrays, vectors, matrices, buffers and types that declare `__subscript` can be indexed.
    E0317 NO_SUBSCRIPT = "this cannot be indexed";

    /// Functions, types (which are constructed) and objects with `operator()` can be called.
    E0318 NOT_CALLABLE = "this cannot be called";

    /// `break` leaves the innermost loop or `switch`, or the one with the label; `continue` stands in a loop.
    E0319 BAD_JUMP = "a jump to nowhere";

    /// The declaration cannot stand where it stands.
    E0320 MISPLACED = "misplaced declaration";

    /// The definition leads back to itself.
    E0321 CYCLE = "defined by itself";

    /// `using` makes the names of a namespace visible, not those of a type.
    E0322 NOT_A_NAMESPACE = "not a namespace";

    /// Each value may stand in one `case` of a `switch`.
    E0323 DUPLICATE_CASE = "two cases for one value";

    /// A function that is called must have a body. A declaration without one promises a definition in the same scope
    /// whose parameters have the same types; with others it is another function.
    E0324 NOT_DEFINED = "a function without a definition";

    /// A vector has 1 to 4 lanes, a matrix 1 to 4 rows and columns, an array no negative number of elements, and a loop
    /// with `[MaxIters(n)]` runs at least once.
    E0325 BAD_SIZE = "a size out of range";

    /// All `return`s of a lambda give a value of one type, which is that of the first.
    E0329 LAMBDA_RESULTS = "a lambda returns different types";

    /// The declaration cannot be seen from here. `private` members are seen in their type, its extensions and what is nested in it;
    /// `internal` declarations in their module; `public` ones wherever the module is imported. What is unmarked is public in a module
    /// that does not speak of visibility at all, and internal in any other (one with a `module` line, an `__include`, or any of
    /// the three words).
    E0327 NOT_ACCESSIBLE = "a declaration that cannot be seen";

    /// A member is at most as visible as the type it belongs to; a function or variable is at most as visible as the types in its
    /// declaration, since whoever sees the one must be able to name the others. Only members of structures can be `private`.
    E0328 BAD_ACCESS = "visible to more than what it depends on";

    /// A declaration leaves open what it stands for: `extern struct Impl : IFoo;`, `extern static const int N;` or `type_param T;`.
    /// Nothing says what that is.
    ///
    /// Another module of the program may: `export struct Impl : IFoo = Real;`, `export static const int N = 8;`. Import it, or name
    /// its file on the command line behind that of the program. Or say so on the command line:
    /// `--specialize-global Impl=Real`. With a default, `extern struct Impl : IFoo = Simple;`, nobody needs to say anything.
    E0350 NOT_LINKED = "an `extern` declaration that nothing defines";

    /// Two modules export the same name, so that an `extern` declaration of it could mean both.
    E0351 EXPORTED_TWICE = "a name is exported twice";

    /// What one module exports is not what another declares `extern`: a constant of another type, or a function with another result. Or a
    /// function says `no_diff` where it is declared and not where it is defined, or the other way round.
    E0352 BAD_LINK = "a definition does not fit its declaration";

    /// The command line says something about a name that the program does not have, or has for something else.
    ///
    /// `--specialize f=float,4` gives the generic arguments of a function, `--specialize-global T=Real` what a `type_param` or an
    /// `extern` declaration stands for, `--set-type p=Real` the type of a shader parameter of interface type.
    E0353 NOT_GENERIC = "nothing to specialize";

    /// The condition of a `static_assert` is false. It is checked while compiling: at once if it is known, and for each
    /// choice of generic arguments otherwise.
    E0340 ASSERTION_FAILS = "a static assertion fails";

    /// The first argument of `printf` is a literal with one conversion for each further argument: `%d`, `%u` or `%x` for an integer,
    /// `%f`, `%e` or `%g` for a floating-point number, `%s` for a literal string. Vectors are printed lane by lane. `%%` is a
    /// percent sign.
    E0341 BAD_FORMAT = "a format does not fit";

    /// `&x` is the place of an element of a buffer that can be written, of a `groupshared` variable, or of a part of these.
    /// Local variables have no place in memory, nor have parameters, constants and results.
    E0342 NOT_IN_MEMORY = "no pointer leads there";

    /// The attribute is known, but it belongs before something else, or takes other arguments.
    E0330 BAD_ATTRIBUTE = "an attribute out of place";

    /// Something that may stand behind the colon of a generic parameter or type must be an interface (or, for a structure,
    /// another structure; classes inherit from interfaces only).
    E0401 NOT_AN_INTERFACE = "not an interface";

    /// The generic declaration takes another number of arguments, or the thing takes none at all. Arguments may be left out if
    /// they have defaults, and in a call if they follow from the arguments of the call.
    E0402 GENERIC_ARGS = "wrong generic arguments";

    /// Generic arguments are inferred from the types of the arguments of a call, never from what is done with the result.
    /// A parameter that occurs in no argument must be given: `f<float>(x)`.
    E0403 CANNOT_INFER = "a generic argument cannot be inferred";

    /// A generic argument does not satisfy the bounds of its parameter. A type conforms to an interface if it says so where it is
    /// declared, `struct S : IFoo`, or in an extension, `extension S : IFoo`.
    E0404 UNMET_BOUND = "a bound does not hold";

    /// A type that conforms to an interface must provide all that the interface requires: methods with the same
    /// parameters and result, and a type for each associated type.
    E0405 MISSING_REQUIREMENT = "a requirement is missing";

    /// An interface may give a default for a requirement. A type that replaces it marks its own with `override`.
    E0406 MISSING_OVERRIDE = "a default is replaced without `override`";

    /// A method is marked `override`, but no interface that its type conforms to has a method of that name.
    E0418 NOTHING_TO_OVERRIDE = "`override` without anything to replace";

    /// A place for a parameter is written `register(u1)` or `register(b0, space2)`, with a class of `b` (constants), `t` (read),
    /// `u` (written) or `s` (samplers); `packoffset(c2.y)` for a member of a `cbuffer`, in rows of 16 bytes; or
    /// `[[vk::binding(binding, set)]]`.
    E0326 BAD_PLACE = "no place for a parameter";

    /// `is` and `as` ask which type a value of interface type is, or what a generic parameter stands for. Between two known types
    /// the answer is always no.
    E0408 NEVER_OF_TYPE = "a value of a known type is asked for another";

    /// `each`, `countof` and conditions on packs speak of packs: generic parameters declared with `each`, parameters of such a type, and
    /// (for values) tuples.
    E0409 NOT_A_PACK = "not a pack";

    /// `each x` is the element of a pack that the `expand` around it is at. Without one, nobody knows which element is meant:
    /// write `expand f(each x)`.
    E0410 EACH_ALONE = "`each` outside `expand`";

    /// `expand` repeats what follows for each element of the packs that stand under `each` in it. There must be one.
    E0411 EXPANDS_NOTHING = "`expand` without `each`";

    /// A pack stands for any number of types or values, so it can be neither the type of a field nor that of a result, and a parameter
    /// that is a pack cannot be `out` or `inout`. A tuple holds what is in a pack: `Tuple<expand each T>`.
    E0412 MISPLACED_PACK = "a pack cannot stand here";

    /// A call of a function that `throws` stands under `try`, so that whoever reads it sees where control may leave: `let y = try f(x);`.
    /// Under `try` nothing else may stand.
    E0413 UNTRIED = "a call that may throw without `try`";

    /// An error goes to the innermost `catch` around it, or to whoever called the function if that is declared with `throws`. One of
    /// them must be there, for an error of that type.
    E0414 UNCAUGHT = "an error that nobody takes";

    /// `T is IFoo` asks whether an optional constraint holds: `where optional T : IFoo`. Without one nobody passes the answer on. A
    /// constraint that is not optional always holds.
    E0419 NO_OPTIONAL = "no optional constraint to ask for";

    /// `[require(hlsl)]`, `case hlsl:` in a `__target_switch` and `case compute:` in a `__stage_switch` name capabilities: targets
    /// (`hlsl`, `cpp_cuda`), stages, versions (`sm_6_0`) and features (`atomic64`). `[require(a, b)]` asks for both; a second `[require]`
    /// allows something else.
    E0420 UNKNOWN_CAPABILITY = "a capability that nothing has";

    /// A bit field is a field of a structure, of a built-in integer type, and takes at least one bit and at most as many as its
    /// type has: `uint kind : 4;`.
    E0354 BAD_BIT_FIELD = "a bit field that cannot be";

    /// Arguments are left out from the end, so the default of a parameter is of no use where one without a default stands behind it.
    ///
    /// Move the parameters with defaults to the end, or give all that follow one too.
    E0356 DEFAULT_BEFORE = "a default that no call can use";

    /// An integer is divided by one that is known to be zero, or the remainder of that is taken. There is no such number; on floats the
    /// quotient is infinite or not a number: `1.0 / 0.0`.
    E0357 DIVIDED_BY_ZERO = "an integer is divided by zero";

    /// A variable has a length, and a constant a value. Both may come from an initializer: `static int primes[] = { 2, 3, 5 };`. Arrays
    /// without a length are shader parameters.
    E0358 INCOMPLETE = "a variable that is not complete";

    /// The construct is part of the language, but this compiler cannot translate it yet.
    E0701 UNSUPPORTED = "not supported yet";

    /// An implicit conversion drops information: a fraction, large values, or precision. If that is meant, write the conversion out:
    /// `int(x)`.
    W0301 LOSSY_CONVERSION = "a conversion may lose information";

    /// A variable at the outer level that is not `static` is a parameter of the shader, set by the host. Its initializer is
    /// ignored. Write `static const` for a constant, and `static` for a variable of each thread.
    W0302 IGNORED_INITIALIZER = "an initializer without effect";

    /// Control can reach the end of a function that must return a value. What the caller gets then is undefined.
    W0304 MISSING_RETURN = "a function may end without a value";

    /// An attribute of this name means nothing here, so it is skipped. An attribute of your own is a structure whose name ends
    /// in `Attribute`.
    W0305 UNKNOWN_ATTRIBUTE = "unknown attribute";

    /// No path to this place assigns the variable, so what it holds is undefined.
    W0306 UNASSIGNED = "a variable is read before it is assigned";

    /// Some path to this place does not assign the variable, so what it holds then is undefined. If that path is never taken, give
    /// the variable a value where it is declared, and nobody needs to know.
    W0307 MAYBE_UNASSIGNED = "a variable may be read before it is assigned";

    /// The function may return without having assigned an `out` parameter, so that the caller's variable is undefined.
    W0308 OUT_UNASSIGNED = "an `out` parameter is not assigned";

    /// Every path leaves before it comes to this statement.
    W0309 UNREACHABLE = "a statement is never reached";

    /// One variable is passed to two parameters that are `out` or `inout`. Each works on a copy, and they are copied back in the order
    /// of the parameters, so that what the first wrote is lost.
    W0310 ALIASED = "a variable given to two parameters that write";

    /// The number does not fit the type it is converted to, so it becomes another: integers wrap around, fractions are cut off.
    W0311 DOES_NOT_FIT = "a number does not fit its type";

    /// The function is marked `[deprecated("..")]`, and the text says what to use instead.
    W0312 DEPRECATED = "a function that should not be used any more";

    /// `no_diff` before a variable of a function changes nothing: the derivative of what is assigned to it goes on. It has a
    /// meaning before a parameter, a field, a result and a call.
    ///
    /// To drop the derivative write `detach(..)` around the value.
    W0313 NO_DIFF_VARIABLE = "`no_diff` before a variable";

    /// A structure does not conform to an interface because the structure it derives from does. So what is derived from a
    /// differentiable structure is not differentiable, and a parameter of its type has no derivative, unless it says so:
    ///
    /// ```text
    /// struct D : Base, IDifferentiable { float c; }
    /// ```
    ///
    /// In a differentiable structure whose base is not, the fields of the base have no derivatives.
    W0314 BASE_LOSES = "a structure loses the derivatives of its base";

    /// The value is computed and dropped.
    W0303 NO_EFFECT = "a statement without effect";
}
