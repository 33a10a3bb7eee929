//! The diagnostics of lowering. Most report constructs that are not supported yet; the last reports a bug in lowering.

cotangent_base::codes! {
    /// A value has a type that the compiler does not support yet: an array without a length, a handle in a shader, a type larger than 2 GiB,
    /// or a shader parameter of a structure with more than 65536 fields, counting nested ones.
    ///
    /// Give the array a length, or use a buffer. The command line can specify the length of a shader parameter:
    /// `--specialize-global textures=8`, or `run --set 'textures[7]=..'`.
    E0720 UNSUPPORTED_TYPE = "type not supported yet";

    /// The compiler does not support this statement or expression yet. The message names it.
    E0721 UNSUPPORTED_CONSTRUCT = "construct not supported yet";

    /// A generic function instantiates itself with ever larger arguments (`f<T>` calls `f<Box<T>>`), so it would have infinitely
    /// many instances.
    ///
    /// End the recursion, for instance with a generic value parameter as depth and an instance that stops at zero.
    E0722 ENDLESS_INSTANCES = "infinitely many generic instances";

    /// The function is generic, and its generic arguments are not given.
    ///
    /// Give them with `--specialize f=float`, or write a small function that calls it with concrete types, and name that one.
    E0723 GENERIC_ROOT = "generic function needs arguments";

    /// No function has the requested name, or more than one has.
    E0724 NO_SUCH_FUNCTION = "no such function";

    /// The function has no derivative: it is not marked `[Differentiable]` and has no custom derivative.
    E0725 NOT_DIFFERENTIABLE = "function is not differentiable";

    /// A parameter or result of an entry point has a system value that its stage does not support, has the wrong type for it, or
    /// uses a location that is taken. A vertex shader must also output a position.
    ///
    /// Inputs of compute shaders are `SV_DispatchThreadID`, `SV_GroupID`, `SV_GroupThreadID` (up to three integers) and
    /// `SV_GroupIndex` (one integer). Inputs of vertex shaders are `SV_VertexID`, `SV_InstanceID`, `SV_VulkanVertexID`,
    /// `SV_VulkanInstanceID`, `SV_StartVertexLocation`, `SV_StartInstanceLocation`, `SV_DrawIndex` and `SV_ViewID`; outputs are
    /// `SV_Position`, `SV_PointSize`, and up to eight numbers in total for `SV_ClipDistance0`, `SV_CullDistance0` and so on. Inputs
    /// of fragment shaders are `SV_Position`, `SV_IsFrontFace`, `SV_SampleIndex`, `SV_Coverage`, `SV_PrimitiveID`,
    /// `SV_Barycentrics` and `SV_ViewID`; outputs are `SV_Target0` and so on, `SV_Depth` and `SV_Coverage`. Any other semantic is a
    /// user-defined name for a value passed between stages.
    E0726 ENTRY_PARAMETER = "invalid entry-point parameter";

    /// `discard`, `clip`, `ddx` and related functions need a fragment shader: only pixels can be discarded, and only pixels have
    /// neighbours. Here a shader of another stage reaches one.
    E0734 WRONG_STAGE = "only allowed in fragment shaders";

    /// An interface value has space for the largest conforming type. A conforming type that contains a value of the same
    /// interface would contain itself.
    ///
    /// Store the inner values in a buffer or an array, and use an index.
    E0727 ENDLESS_MEMBER = "interface value contains itself";

    /// A member of an interface is used on an interface value, but no argument determines the type: a static method or
    /// constructor takes no such value, and two values of type `This` can have different types.
    ///
    /// Call it in a generic function, where the type parameter determines the type.
    E0728 UNKNOWN_MEMBER = "type of the call is unknown";

    /// `[anyValueSize(n)]` limits the conforming types of an interface to `n` bytes. A conforming type that is used in interface
    /// values is larger than that.
    ///
    /// The attribute is optional: without it, interface values have space for the largest type that is used.
    E0731 TOO_LARGE_MEMBER = "type is larger than its interface allows";

    /// An interface value that `createDynamicObject` makes is made from bytes. Every type that conforms to
    /// the interface may be in it, so none may contain what has no bytes: resources, atomics, strings, classes, and arrays
    /// without a length.
    E0738 UNPACKABLE = "type cannot be made from bytes";

    /// `--conformance 'Type:Interface=number'` names an unknown type or interface, a type that does not conform, or the same
    /// number for two types.
    E0730 BAD_CONFORMANCE = "invalid conformance";

    /// An atomic operation needs memory that other threads can access: an element of a writable buffer, a `groupshared` variable,
    /// or a number inside one of these. Other threads cannot access a local variable.
    E0732 NOT_SHARED = "atomic operation on memory of one thread";

    /// `expand` iterates over all packs under `each` together, so they must have the same length. State that with `where
    /// countof(A) == countof(B)` after the parameters; then the offending call is reported.
    E0733 PACK_LENGTHS = "packs of different lengths";

    /// A thread group is larger than most devices support: Direct3D, CUDA and most Vulkan and Metal devices run up to 1024
    /// threads per group, and WebGPU 256 by default. C++ and `cotangent run` have no limit.
    ///
    /// Make the groups smaller and dispatch more of them.
    W0701 LARGE_GROUP = "very large thread group";

    /// `row_major` and `column_major` set the memory layout of a matrix. On an array of matrices or a structure they have no
    /// effect, as in slangc, and here the layout differs from the requested one.
    ///
    /// Give each matrix a field of its own, or set the layout of all matrices with `--matrix-layout`.
    W0702 IDLE_WORD = "matrix layout has no effect";

    /// Hosts may set a specialization constant (`[SpecializationConstant]`, `[[vk::constant_id(n)]]`) when they make a pipeline. The
    /// emitted code has this one with its default value, and offers no such constant: the language has none (HLSL, C++ and CUDA),
    /// a size or a type depends on it, or it is not a 32-bit number or a `bool`.
    ///
    /// Compile the program once for each value; a macro can be the default.
    W0703 FIXED_CONSTANT = "specialization constant is fixed";

    /// A `__target_switch` or `__stage_switch` has neither a `default` nor a case for the target or stage. The stage is known
    /// only if all entry points have the same one.
    E0736 NO_CASE = "no case for this target";

    /// A function marked `[require(..)]` is called in a program for a target that does not support its requirements. Select the
    /// call with `__target_switch`.
    E0735 WRONG_TARGET = "function not available for this target";

    /// A function contains code that is not Slang: text of a target language (`__intrinsic_asm "..."`, `__target_intrinsic`), assembly
    /// (`spirv_asm { .. }`) or an operation (`__intrinsic_op(..)`) that is not known here. C++ and CUDA take text as it is. The
    /// interpreter and the shading languages, which are emitted from an intermediate form, cannot.
    ///
    /// Give the `__target_switch` a `default` in Slang: it is used where the text cannot be.
    E0737 TARGET_CODE = "code of another language";

    /// This is a bug in the compiler, not in the program; please report it.
    E0729 INTERNAL = "internal error in lowering";
}
