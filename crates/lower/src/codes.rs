//! The diagnostics of lowering. Most say that something is not supported yet; the last is our own fault.

cotangent_base::codes! {
    /// A value has a type that has no form in the IR yet: an array without a length, a string, or a type whose values take
    /// more than 2 GiB.
    ///
    /// Give the array a length, or use a buffer.
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
    /// Say so with `--specialize f=float`, or write a small function that calls it with concrete types, and name that one.
    E0723 GENERIC_ROOT = "a generic function needs arguments";

    /// No function of the user's modules has the name that was asked for, or more than one has.
    E0724 NO_SUCH_FUNCTION = "no such function";

    /// The derivative of a function was asked for that has none: it is not marked `[Differentiable]` and has
    /// no derivative of its own.
    E0725 NOT_DIFFERENTIABLE = "function is not differentiable";

    /// A parameter or result of an entry point asks for a value that shaders of its stage do not get or give, gives it a type
    /// that it cannot have, or takes a place that another one has. And a vertex shader must give a position.
    ///
    /// Compute shaders take `SV_DispatchThreadID`, `SV_GroupID`, `SV_GroupThreadID` (up to three integers) and
    /// `SV_GroupIndex` (one integer). Vertex shaders take `SV_VertexID`, `SV_InstanceID`, `SV_StartVertexLocation`,
    /// `SV_StartInstanceLocation`, `SV_DrawIndex` and `SV_ViewID` and give `SV_Position`, `SV_PointSize`, and up to eight
    /// numbers or elements of arrays that are `SV_ClipDistance0`, `SV_CullDistance0` and their like. Fragment
    /// shaders take `SV_Position`, `SV_IsFrontFace`, `SV_SampleIndex`, `SV_Coverage`, `SV_PrimitiveID`, `SV_Barycentrics` and
    /// `SV_ViewID` and give `SV_Target0` and its like, `SV_Depth` and `SV_Coverage`. Any other semantic is a name of your own for
    /// something that goes from stage to stage.
    E0726 ENTRY_PARAMETER = "unsuitable entry-point parameter";

    /// Only pixels can be discarded, and only pixels have neighbours on the screen to differ from: `discard`, `clip`, `ddx` and
    /// their like belong to fragment shaders, and here a shader of another stage comes to one.
    E0734 WRONG_STAGE = "only in fragment shaders";

    /// A value of interface type is one of the types that conform, kept in room for the largest of them. A type that holds
    /// such a value and is one of those types would have to hold itself.
    ///
    /// Keep the inner values in a buffer or an array, and hold an index.
    E0727 ENDLESS_MEMBER = "a value of interface type would hold itself";

    /// A member of an interface was asked for on a value of interface type, and nothing says which type is meant: a
    /// static method or constructor takes no such value, and with two values of type `This` they may be of different types.
    ///
    /// Call it in a generic function: there the type parameter names the type.
    E0728 UNKNOWN_MEMBER = "no value says which type is meant";

    /// `[anyValueSize(n)]` before an interface says that conforming types take at most `n` bytes. One that is used as a value
    /// of the interface takes more.
    ///
    /// The attribute is not needed: without it there is room for the largest type that is used.
    E0731 TOO_LARGE_MEMBER = "a type is larger than its interface allows";

    /// `--conformance 'Type:Interface=number'` names a type or an interface that the program does not have, a type that does
    /// not conform, or gives two types one number.
    E0730 BAD_CONFORMANCE = "unsuitable conformance";

    /// An atomic operation reads and writes in one step something that other threads see: an element of a buffer that
    /// can be written, a `groupshared` variable, or a number inside one of these. A local variable is seen by nobody else.
    E0732 NOT_SHARED = "an atomic operation on a local variable";

    /// `expand` goes through all packs under `each` in it at once, so they must be equally long. `where countof(A) == countof(B)`
    /// behind the parameters says so, and then a call that breaks it is the one that is reported.
    E0733 PACK_LENGTHS = "packs of different lengths";

    /// A group of threads is larger than devices run: Direct3D, CUDA and most Vulkan and Metal devices run up to 1024 threads in
    /// one group, WebGPU 256 unless more is asked for. As C++ and in `cotangent run` there is no limit.
    ///
    /// Make the groups smaller and dispatch more of them.
    W0701 LARGE_GROUP = "a group of very many threads";

    /// `row_major` and `column_major` say how a matrix lies in memory. Before anything else, an array of matrices or a structure of
    /// them, they have no effect, in slangc neither, and here something else was asked for than there is.
    ///
    /// Give each matrix a field of its own, or choose for all matrices with `--matrix-layout`.
    W0702 IDLE_WORD = "a layout for what is no matrix";

    /// A `__target_switch` or `__stage_switch` without `default` has no case for the target or stage, so there is nothing to run.
    /// The stage is known only where all entry points are of one.
    E0736 NO_CASE = "nothing for this target";

    /// A function marked `[require(..)]` is called in a program for a target that cannot have what it requires. Choose by
    /// `__target_switch` what is called.
    E0735 WRONG_TARGET = "a function is not for this target";

    /// The compiler contradicts itself. It is not the program's fault; please report it.
    E0729 INTERNAL = "internal error in lowering";
}
