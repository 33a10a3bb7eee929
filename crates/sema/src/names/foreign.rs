//! Names of other shading languages, C++, CUDA, Python and Rust, with what to write instead.
//!
//! Input: a name that the program uses and nothing declares. Output: the help for the message, if the name is one that people
//! bring along.

/// What to write instead of a name.
pub(crate) fn instead_of(name: &str) -> Option<String> {
    let known = match name {
        "auto" => "declare the variable with `let` if it does not change, otherwise with `var`",
        "mix" => "write `lerp`",
        "mod" => "write `fmod(x, y)`, which truncates; `x - y * floor(x / y)` floors as in GLSL",
        "fract" => "write `frac`",
        "inversesqrt" | "inverseSqrt" => "write `rsqrt`",
        "dFdx" | "dpdx" => "write `ddx`",
        "dFdy" | "dpdy" => "write `ddy`",
        "texelFetch" | "texture" | "texture2D" | "textureLod" | "texture2DLod" | "textureSample"
        | "tex2D" | "tex2Dlod" | "tex3D" | "texCUBE" => {
            "call a method of the texture: `t.Sample(s, uv)`, `t.SampleLevel(s, uv, lod)`, `t.Load(int3(xy, lod))`"
        }
        "imageLoad" | "imageStore" => "index the texture: `image[xy]`",
        "gl_GlobalInvocationID" => "take a parameter `uint3 id : SV_DispatchThreadID`",
        "gl_LocalInvocationID" => "take a parameter `uint3 id : SV_GroupThreadID`",
        "gl_LocalInvocationIndex" => "take a parameter `uint index : SV_GroupIndex`",
        "gl_WorkGroupID" => "take a parameter `uint3 id : SV_GroupID`",
        "gl_VertexID" | "gl_VertexIndex" => "take a parameter `uint id : SV_VertexID`",
        "gl_InstanceID" | "gl_InstanceIndex" => "take a parameter `uint id : SV_InstanceID`",
        "gl_FragCoord" | "gl_Position" => "declare a parameter or result with the semantic `SV_Position`",
        "threadIdx" => {
            "take a parameter `uint3 id : SV_GroupThreadID`, or call `cudaThreadIdx()` in a `[CudaKernel]`"
        }
        "blockIdx" => {
            "take a parameter `uint3 id : SV_GroupID`, or call `cudaBlockIdx()` in a `[CudaKernel]`"
        }
        "blockDim" => {
            "take a parameter `uint3 id : SV_DispatchThreadID` for the whole index, or call `cudaBlockDim()` in a `[CudaKernel]`"
        }
        "floatBitsToInt" | "__float_as_int" => "write `asint`",
        "floatBitsToUint" | "__float_as_uint" => "write `asuint`",
        "intBitsToFloat" | "uintBitsToFloat" | "__int_as_float" | "__uint_as_float" => "write `asfloat`",
        "lessThan" | "greaterThan" | "lessThanEqual" | "greaterThanEqual" | "equal" | "notEqual" => {
            "write the operator: it compares vectors component by component"
        }
        "matrixCompMult" => "write `a * b`, which is element by element",
        "barrier" | "__syncthreads" | "workgroupBarrier" | "threadgroup_barrier" => {
            "write `GroupMemoryBarrierWithGroupSync()`"
        }
        "memoryBarrier" | "__threadfence" => "write `DeviceMemoryBarrier()`",
        "atomicAdd" | "atomicMin" | "atomicMax" | "atomicExchange" | "atomicCompSwap" | "atomicCAS" => {
            "write `InterlockedAdd(x, value)` and so on; the first argument is the variable itself"
        }
        "subgroupAdd" | "__reduce_add_sync" => "write `WaveActiveSum`",
        "subgroupBallot" | "__ballot_sync" => "write `WaveActiveBallot`",
        "__shfl_sync" | "__shfl_xor_sync" | "__shfl_down_sync" | "subgroupShuffle" => {
            "write `WaveReadLaneAt(x, lane)`; `WaveGetLaneIndex()` is the lane that runs"
        }
        "__ldg" => "index the pointer or buffer: `x[i]`",
        "__expf" | "expf" => "write `exp`",
        "__logf" | "logf" => "write `log`",
        "__sinf" => "write `sin`",
        "__cosf" => "write `cos`",
        "__powf" => "write `pow`",
        "__fdividef" => "write `a / b`",
        "fabsf" => "write `abs`",
        "make_float2" | "make_float3" | "make_float4" => "write the type: `float3(x, y, z)`",
        "make_int2" | "make_int3" | "make_int4" => "write the type: `int3(x, y, z)`",
        "static_cast" | "const_cast" => "write the type: `float(x)`",
        "reinterpret_cast" => "write `bit_cast<T>(x)`, or `asuint(x)` and `asfloat(x)` for numbers",
        "assert" => {
            "there are no assertions at run time: return early, or report with `printf`; `static_assert` tests constants"
        }
        "M_PI" | "PI" | "TAU" => "declare it: `static const float PI = 3.14159265;`",
        "FLT_MAX" | "DBL_MAX" | "INT_MAX" | "UINT_MAX" => "write `float.maxValue`, `int.maxValue` and so on",
        "FLT_EPSILON" => "declare it: `static const float EPSILON = 1.1920929e-7;`",
        "INFINITY" | "inf" => "write `asfloat(0x7f800000)`",
        "NAN" | "nan" => "write `asfloat(0x7fc00000)`",
        "rand" | "random" => {
            "there are no random numbers in the library: hash an index, for example with PCG"
        }
        "console" | "println" | "cout" => "write `printf(\"%f\\n\", x)`",
        "lambda" => "a lambda is `(float x) => x * 2`",
        "foreach" => "write `for (int i = 0; i < a.getCount(); i++)`",
        "sinf" => "write `sin`",
        "cosf" => "write `cos`",
        "tanf" => "write `tan`",
        "tanhf" => "write `tanh`",
        "sqrtf" => "write `sqrt`",
        "rsqrtf" => "write `rsqrt`",
        "powf" => "write `pow`",
        "floorf" => "write `floor`",
        "ceilf" => "write `ceil`",
        "fmodf" => "write `fmod`",
        "fminf" => "write `min`",
        "fmaxf" => "write `max`",
        "atan2f" => "write `atan2`",
        "len" => "arrays and buffers know their length: `a.getCount()`",
        "range" => "write `for (int i = 0; i < n; i++)`",
        "True" => "write `true`",
        "False" => "write `false`",
        "None" => "write `none` for an `Optional`",
        "self" => "write `this`, or only the name of the member",
        "grad" | "jacrev" | "vjp" | "backward" => {
            "write `bwd_diff(f)(..)`, which takes pairs: `var x_pair = diffPair(x);`"
        }
        "jvp" | "jacfwd" => "write `fwd_diff(f)(diffPair(x, x_t))`",
        "malloc" | "free" | "delete" => {
            "memory is not allocated at run time: declare an array of fixed length, or a buffer"
        }
        "nullptr_t" | "NULL" | "null" | "nil" => "write `nullptr`, or `none` for an `Optional`",
        "std" | "glm" | "metal" | "math" | "Math" | "np" | "torch" => {
            "names of the library need no namespace: write `min`, not `std::min`; arrays are `float[4]`"
        }
        "long" | "i64" => "write `int64_t`",
        "u64" => "write `uint64_t`",
        "short" | "i16" => "write `int16_t`",
        "u16" => "write `uint16_t`",
        "char" | "i8" => "write `int8_t`",
        "u8" | "uchar" => "write `uint8_t`",
        "f16" | "__half" => "write `half`",
        "f32" => "write `float`",
        "f64" => "write `double`",
        "i32" => "write `int`",
        "u32" => "write `uint`",
        "usize" | "size_type" => "write `uint`",
        "sampler2D" => "write `Sampler2D`, or `Texture2D` and `SamplerState`",
        "samplerCube" => "write `SamplerCube`, or `TextureCube` and `SamplerState`",
        "string" | "str" => "write `String`",
        "function" | "def" | "fn" => "write `func f(x : float) -> float { .. }` or `float f(float x) { .. }`",
        _ => return shape(&name.replacen('V', "v", 1)).map(|ty| format!("write `{ty}`")),
    };
    Some(known.into())
}

/// `vec3` is `float3`; `mat3x4` of GLSL has 3 columns and 4 rows.
fn shape(name: &str) -> Option<String> {
    let digit = |c: char| ('2'..='4').contains(&c);
    let scalars = [("vec", "float"), ("ivec", "int"), ("uvec", "uint"), ("bvec", "bool"), ("dvec", "double")];
    for (prefix, scalar) in scalars {
        if let Some(count) = name.strip_prefix(prefix)
            && count.len() == 1
            && count.chars().all(digit)
        {
            return Some(format!("{scalar}{count}"));
        }
    }
    for (suffix, scalar) in [("f", "float"), ("i", "int"), ("u", "uint"), ("h", "half")] {
        if let Some(count) = name.strip_prefix("vec").and_then(|rest| rest.strip_suffix(suffix))
            && count.len() == 1
            && count.chars().all(digit)
        {
            return Some(format!("{scalar}{count}"));
        }
    }
    let sizes: Vec<char> = name.strip_prefix("mat")?.chars().collect();
    match sizes[..] {
        [n] if digit(n) => Some(format!("float{n}x{n}")),
        [columns, 'x', rows] if digit(columns) && digit(rows) => Some(format!("float{rows}x{columns}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_glsl_have_names_here() {
        assert_eq!(shape("vec3"), Some("float3".into()));
        assert_eq!(shape("uvec2"), Some("uint2".into()));
        assert_eq!(shape("mat4"), Some("float4x4".into()));
        assert_eq!(shape("mat2x3"), Some("float3x2".into()));
        assert_eq!(shape("vec2h"), Some("half2".into()));
        assert_eq!(shape("vec5"), None);
        assert_eq!(shape("vector"), None);
    }
}
