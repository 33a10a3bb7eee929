//! A program of any length over many modules: interfaces, generic types and functions, conformances by extension, values of
//! interface type, and derivatives through all of them.

/// The files of a program of about `lines` lines; the first has the entry point `main`, which writes to the buffer `result`.
pub fn modules(lines: usize) -> Vec<(String, String)> {
    let unit_lines = module(1).lines().count();
    let count = (lines.saturating_sub(HEAD.lines().count() + 8) / unit_lines).max(1);
    let mut main: String = (0..count).map(|i| format!("import part_{i};\n")).collect();
    main.push_str(HEAD);
    for i in 0..count {
        main.push_str(&format!("    sum += run_{i}(0.5 + sum * 0.001, {});\n", i % 3));
    }
    main.push_str("    result[0] = sum;\n}\n");
    let mut files = vec![("main.slang".to_string(), main)];
    files.extend((0..count).map(|i| (format!("part_{i}.slang"), module(i))));
    files
}

const HEAD: &str = "
RWStructuredBuffer<float> result;

[numthreads(1, 1, 1)]
void main()
{
    float sum = 0.0;
";

/// One module; it imports the one before it.
fn module(i: usize) -> String {
    let before = match i.checked_sub(1) {
        Some(before) => format!("import part_{before};\n"),
        None => String::new(),
    };
    before + &MODULE.replace('@', &i.to_string())
}

const MODULE: &str = "
interface ICurve_@ : IDifferentiable
{
    associatedtype Point : IFloat;
    static Point origin();
    [Differentiable]
    float at(float x);
    float twice(float x) { return at(x) + at(2.0 * x); }
}

struct Line_@ : ICurve_@
{
    typealias Point = float;
    float slope, offset;
    static float origin() { return 0.5; }
    [Differentiable]
    float at(float x) { return slope * x + offset; }
}

struct Arc_@ : ICurve_@
{
    typealias Point = float2;
    float radius;
    static float2 origin() { return float2(1.0, 2.0); }
    [Differentiable]
    float at(float x) { return sqrt(abs(radius * radius - x * x)); }
    override float twice(float x) { return 2.0 * at(x); }
}

struct Wave_@ { float rate; }

extension Wave_@ : ICurve_@
{
    typealias Point = float3;
    static float3 origin() { return float3(0.0, 1.0, 2.0); }
    [Differentiable]
    float at(float x) { return sin(rate * x); }
}

struct Sum_@<A : ICurve_@, B : ICurve_@>
{
    A a;
    B b;
    float at(float x) { return a.at(x) + b.at(x); }
}

T scaled_@<T : IFloat, let N : int>(T x)
{
    T total = T(0);
    for (int i = 0; i < N; i++)
        total = total + x * T(i);
    return total;
}

[Differentiable]
float energy_@<C : ICurve_@>(C c, float x)
{
    float y = c.at(x);
    return y * y;
}

ICurve_@ choose_@(int kind, float x)
{
    if (kind == 0) { Line_@ line = { x, 1.0 }; return line; }
    if (kind == 1) { Arc_@ arc = { 2.0 + x }; return arc; }
    Wave_@ wave = { x };
    return wave;
}

float run_@(float x, int kind)
{
    Sum_@<Line_@, Arc_@> both;
    both.a.slope = x;
    both.a.offset = 1.0;
    both.b.radius = 3.0;
    Line_@ line = { x, 0.5 };
    var pl = diffPair(line);
    var px = diffPair(x);
    bwd_diff(energy_@<Line_@>)(pl, px, 1.0);
    let curve = choose_@(kind, x);
    return both.at(x) + scaled_@<float, 3>(x) + pl.d.slope + px.d + curve.at(x) + curve.twice(x) + Line_@.origin();
}
";

#[cfg(test)]
mod tests {
    use super::modules;

    #[test]
    fn the_program_has_the_lines_asked_for() {
        for lines in [500, 5000] {
            let made: usize = modules(lines).iter().map(|(_, text)| text.lines().count()).sum();
            assert!(made.abs_diff(lines) < 120, "{made} for {lines}");
        }
    }
}
