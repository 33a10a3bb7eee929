//! Programs of many differentiable functions, whose gradients the entry point `main` takes, one after the other.

/// How the functions are related.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Each calls nothing.
    Apart,
    /// Each calls the one before it, up to a depth.
    Chained,
}

/// The most functions of a chain that call each other: contexts hold those of calls, and what is deep is large.
const DEPTH: usize = 20;

/// A program of `count` differentiable functions.
pub fn functions(count: usize, shape: Shape) -> String {
    let mut text = String::from("RWStructuredBuffer<float> result;\n");
    for i in 0..count {
        let inner = match shape {
            Shape::Chained if i % DEPTH > 0 => format!("f_{}(y, n)", i - 1),
            Shape::Chained | Shape::Apart => "sin(y)".to_string(),
        };
        text += &FUNCTION.replace('@', &i.to_string()).replace("INNER", &inner);
    }
    text +=
        "\n[shader(\"compute\")]\n[numthreads(1, 1, 1)]\nvoid main()\n{\n    var x = diffPair(0.5, 0.0);\n";
    for i in 0..count {
        text += &format!("    bwd_diff(f_{i})(x, 3, 1.0);\n");
    }
    text + "    result[0] = x.d;\n}\n"
}

const FUNCTION: &str = "
[Differentiable]
float f_@(float x, int n)
{
    float y = x;
    [MaxIters(4)]
    for (int i = 0; i < n; i++)
        y = y * y + x * @.5;
    return INNER * y;
}
";
