//! Names of other shading languages and of C++, with what to write instead.
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
        "inversesqrt" => "write `rsqrt`",
        "dFdx" => "write `ddx`",
        "dFdy" => "write `ddy`",
        "texelFetch" | "textureLod" | "texture2DLod" => {
            "call a method of the texture: `t.Sample(s, uv)`, `t.SampleLevel(s, uv, lod)`, `t.Load(int3(xy, lod))`"
        }
        "gl_GlobalInvocationID" => "take a parameter `uint3 id : SV_DispatchThreadID`",
        "gl_LocalInvocationID" => "take a parameter `uint3 id : SV_GroupThreadID`",
        "gl_WorkGroupID" => "take a parameter `uint3 id : SV_GroupID`",
        "gl_FragCoord" | "gl_Position" => "declare a parameter or result with the semantic `SV_Position`",
        "floatBitsToInt" => "write `asint`",
        "floatBitsToUint" => "write `asuint`",
        "intBitsToFloat" | "uintBitsToFloat" => "write `asfloat`",
        "lessThan" | "greaterThan" => "write the operator: it compares vectors component by component",
        "nullptr_t" | "NULL" => "write `nullptr`, or `none` for an `Optional`",
        "std" => "names of the library need no namespace: write `min`, not `std::min`",
        "long" => "write `int64_t`",
        "short" => "write `int16_t`",
        "char" => "write `int8_t` or `uint8_t`",
        "size_type" => "write `uint`",
        _ => return shape(name).map(|ty| format!("write `{ty}`")),
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
        assert_eq!(shape("vec5"), None);
        assert_eq!(shape("vector"), None);
    }
}
