//! A program of any length that looks like what people write: structures, helpers, overloads, generics, loops, branches,
//! and differentiable functions that call each other.

/// A program of about `lines` lines with the entry point `main`, which writes to the buffer `result`.
pub fn program(lines: usize) -> String {
    let mut text = String::from(HEAD);
    let unit_lines = unit(0).lines().count();
    let units = (lines.saturating_sub(HEAD.lines().count() + 12) / unit_lines).max(1);
    (0..units).for_each(|i| text.push_str(&unit(i)));
    text.push_str("\n[shader(\"compute\")]\n[numthreads(1, 1, 1)]\nvoid main()\n{\n    float sum = 0.0;\n");
    // A part of the program is used, as in a library of which each shader needs a little.
    for i in (0..units).step_by(8) {
        text.push_str(&format!("    sum += run_{i}(0.5 + sum * 0.001);\n"));
    }
    text.push_str("    result[0] = sum;\n}\n");
    text
}

const HEAD: &str = "RWStructuredBuffer<float> result;

interface IShape
{
    [Differentiable]
    float distance(float3 p);
}

[Differentiable]
float smoothMin(float a, float b, float k)
{
    float h = clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
    return lerp(b, a, h) - k * h * (1.0 - h);
}
";

/// One piece of the program; they differ in their number.
fn unit(i: usize) -> String {
    UNIT.replace("@", &i.to_string())
}

const UNIT: &str = "
struct Shape_@ : IShape, IDifferentiable
{
    float3 centre;
    float radius;
    int kind;

    [Differentiable]
    float distance(float3 p)
    {
        float3 q = p - centre;
        if (kind == 1)
            return max(abs(q.x), max(abs(q.y), abs(q.z))) - radius;
        return length(q) - radius;
    }
}

[Differentiable]
float blend_@(Shape_@ a, Shape_@ b, float3 p)
{
    return smoothMin(a.distance(p), b.distance(p), 0.25);
}

// Marches along a ray, a few steps at most.
[Differentiable]
float march_@(Shape_@ s, float3 origin, float3 direction)
{
    float t = 0.0;
    [MaxIters(8)]
    for (int i = 0; i < 8; i++)
    {
        float d = s.distance(origin + direction * t);
        if (d < 0.001)
            break;
        t += d;
    }
    return t;
}

float weight_@(int n) { return float(n) * 0.5; }
float weight_@(float x) { return x * x; }

T twice_@<T : IFloat>(T x)
{
    return x + x;
}

float run_@(float x)
{
    Shape_@ s;
    s.centre = float3(x, 0.0, 2.0);
    s.radius = 0.5;
    s.kind = @ % 2;
    float3x3 m = float3x3(1, 0, 0, 0, 1, 0, 0, 0, 1);
    float3 direction = normalize(mul(m, float3(0.1 * x, 0.0, 1.0)));
    var ps = diffPair(s);
    var po = diffPair(float3(0.0, 0.0, 0.0));
    var pd = diffPair(direction);
    bwd_diff(march_@)(ps, po, pd, 1.0);
    float total = po.d.x + pd.d.z;
    for (int i = 0; i < 3; i++)
        total += weight_@(i) + weight_@(twice_@(x));
    return total;
}
";

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_program_has_the_lines_asked_for() {
        for lines in [500, 5000] {
            let made = program(lines).lines().count();
            assert!(made.abs_diff(lines) < 120, "{made} for {lines}");
        }
    }
}
