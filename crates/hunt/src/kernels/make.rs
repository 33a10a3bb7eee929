//! Generates kernels, prints them, and makes them smaller.
//!
//! All variables are declared first, so that any statement may be left out.

use crate::random::Random;

/// What every kernel begins with. Buffers have the lengths that [`check`](super::check) gives them.
const HEAD: &str = "\
struct Body { float mass; int id; float at[2]; };
struct Params { float2 q; int n; float r[3]; };
struct Layer { column_major float2x3 w; float2 b; };
struct Net { Layer layers[2]; StructuredBuffer<float> scales; };
interface ISource { float get(int k); }
struct Plain : ISource { StructuredBuffer<float> from; float get(int k) { return from[k % 16]; } };
struct Squared<S : ISource> : ISource { S of; float get(int k) { float x = of.get(k); return x * of.get(k + 1); } };
StructuredBuffer<float> a;
StructuredBuffer<float3> v;
StructuredBuffer<Body> bodies;
StructuredBuffer<float> own;
RWStructuredBuffer<float> state;
RWStructuredBuffer<float> result;
RWStructuredBuffer<float> sums;
RWByteAddressBuffer words;
RWStructuredBuffer<float2x2> squares;
Texture2D<float2> image;
SamplerState linear;
uniform float scale;
uniform Params params;
uniform Net net;
groupshared float tile[4];
groupshared float2 pair[2][4];
groupshared float total;
static float memo[2];

float look(float x, int k) { return sin(x * a[k % 16]) + scale * x; }
float sum<S : ISource>(S source, int n)
{
    float x = 0;
    for (int k = 0; k < 3; k++)
        x += source.get(n + k);
    return x;
}
float2 layer(float2 x, int k)
{
    Layer l = net.layers[k % 2];
    return tanh(mul(l.w, float3(x, net.scales[k % 4]))) + l.b;
}
void change(inout float a, inout float b) { float t = a; a = sin(b); b = t * b; }
float seen(float2 at, float level) { return dot(image.SampleLevel(linear, at, level), float2(1, 0.5)); }
float walk(float x, int n)
{
    [MaxIters(8)]
    for (int k = 0; k < n; k++)
    {
        x = tanh(x + a[k % 16] * params.r[k % 3]);
        if (x > 0.9)
            break;
    }
    return x;
}

";

/// How many variables there are.
const VARIABLES: usize = 4;

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug)]
enum Stmt {
    Line(String),
    /// A loop or branch, and what is done otherwise.
    Block(String, Vec<Stmt>, Vec<Stmt>),
}

/// The kernel that belongs to a seed.
pub(super) fn kernel(seed: u64) -> Kernel {
    let mut make = Make { random: Random::new(seed), counters: 0 };
    let count = 3 + make.random.below(6);
    let mut body: Vec<Stmt> = (0..count).map(|_| make.top()).collect();
    // There is a result.
    let last = make.float(2);
    body.push(Stmt::Line(format!("result[i] = x0 + x1 * {last};")));
    Kernel { body }
}

struct Make {
    random: Random,
    /// The loops around.
    counters: usize,
}

impl Make {
    /// A statement that all threads of the group come to.
    fn top(&mut self) -> Stmt {
        if !self.random.once_in(4) {
            return self.stmt(2);
        }
        let (x, shift, value) = (self.variable(), self.random.below(4), self.float(2));
        let barrier = "GroupMemoryBarrierWithGroupSync();";
        let mix = *self.random.pick(&["+=", "*=", "-="]);
        Stmt::Line(match self.random.below(7) {
            0 => {
                let read = format!("for (int k = 0; k < 4; k++) {x} {mix} sin(tile[k]);");
                format!("tile[t] = {value}; {barrier} {read} {barrier}")
            }
            1 => {
                // A reduction.
                let step = format!("if (t < k) tile[t] {mix} tanh(tile[t + k]); {barrier}");
                let reduce = format!("for (int k = 2; k > 0; k /= 2) {{ {step} }}");
                format!("tile[t] = sin({value}); {barrier} {reduce} {x} += tile[0]; {barrier}")
            }
            2 => {
                // Steps that read one half and write the other.
                let next = format!(
                    "pair[1 - k % 2][t] = 0.5 * pair[k % 2][t] {mix_of} pair[k % 2][(t + {shift}) % 4].yx;",
                    mix_of = &mix[..1]
                );
                let steps = format!("for (int k = 0; k < 3; k++) {{ {next} {barrier} }}");
                format!(
                    "pair[0][t] = float2({value}, {x}); {barrier} {steps} {x} = sin(pair[1][t].x) + pair[1][3 - t].y; {barrier}"
                )
            }
            3 => {
                let add = format!("InterlockedAdd(total, sin({value}));");
                format!(
                    "if (t == 0) total = 0.5 * {x}; {barrier} {add} {barrier} {x} {mix} tanh(total); {barrier}"
                )
            }
            4 => {
                // A loop whose end only the host knows.
                let step = format!(
                    "tile[t] = sin({value}) * (k + 1); {barrier} {x} {mix} tile[(t + {shift}) % 4]; {barrier}"
                );
                format!("[MaxIters(8)] for (int k = 0; k < params.n; k++) {{ {step} }}")
            }
            _ => {
                let read = format!("{x} {mix} sin(tile[(t + {shift}) % 4]);");
                format!("tile[t] = {value}; {barrier} {read} {barrier}")
            }
        })
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        if depth > 0 && self.random.once_in(3) {
            return self.block(depth - 1);
        }
        let value = self.float(3);
        let k = self.random.below(2);
        Stmt::Line(match self.random.below(14) {
            9 => format!("words.Store(8 * i + 4 * {k}, asuint(sin({value})));"),
            10 => format!("squares[i][{k}] = float2(sin({value}), asfloat(words.Load(8 * i)));"),
            11 => format!("change({}, state[2 * i + {k}]);", self.variable()),
            12 => format!("change(squares[i][{k}].y, {});", self.variable()),
            13 => format!(
                "{} = layer(float2({value}, {}), {}).x;",
                self.variable(),
                self.variable(),
                self.int()
            ),
            0 => format!("state[2 * i + {k}] = sin({value});"),
            1 => format!("state[2 * i + {k}] += sin({value});"),
            2 => format!("InterlockedAdd(sums[{} % 3], {value});", self.int()),
            3 => format!("memo[{} % 2] = tanh({value});", self.int()),
            4 => format!("result[i] = {value};"),
            5 => format!("{} += 0.5 * sin({value});", self.variable()),
            6 => format!("{} *= tanh({value});", self.variable()),
            _ => format!("{} = sin({value});", self.variable()),
        })
    }

    fn block(&mut self, depth: usize) -> Stmt {
        let count = 1 + self.random.below(3);
        if self.random.once_in(2) {
            let head = match self.random.below(4) {
                0 => format!("if ({} < {})", self.float(1), self.float(1)),
                1 => format!("if (i % 2 == {})", self.random.below(2)),
                2 => format!("if ({} % 3 != 0)", self.int()),
                _ => format!("if ({} > 0)", self.variable()),
            };
            let then = (0..count).map(|_| self.stmt(depth)).collect();
            let others = self.random.below(3);
            return Stmt::Block(head, then, (0..others).map(|_| self.stmt(depth)).collect());
        }
        let j = format!("j{}", self.counters);
        let head = match self.random.below(4) {
            0 => format!("for (int {j} = 0; {j} < {}; {j}++)", 1 + self.random.below(5)),
            1 => format!("for (int {j} = 3; {j} >= 0; {j} -= {})", 1 + self.random.below(2)),
            2 => format!("[MaxIters(8)] for (int {j} = 0; {j} < i; {j}++)"),
            _ => format!("[MaxIters(8)] for (int {j} = 0; {j} < params.n; {j}++)"),
        };
        self.counters += 1;
        let mut body: Vec<Stmt> = (0..count).map(|_| self.stmt(depth)).collect();
        if self.random.once_in(4) {
            let exit = *self.random.pick(&["break", "continue"]);
            let at = self.random.below(body.len() + 1);
            body.insert(at, Stmt::Line(format!("if ({} > 0.7) {exit};", self.variable())));
        }
        self.counters -= 1;
        Stmt::Block(head, body, vec![])
    }

    fn variable(&mut self) -> String {
        format!("x{}", self.random.below(VARIABLES))
    }

    /// A number from zero on.
    fn int(&mut self) -> String {
        match self.random.below(5) {
            0 if self.counters > 0 => format!("j{}", self.random.below(self.counters)),
            1 if self.counters > 0 => format!("(2 * j{} + i)", self.random.below(self.counters)),
            2 => "i".to_string(),
            3 => format!("(3 * i + {})", self.random.below(5)),
            _ => self.random.below(7).to_string(),
        }
    }

    fn float(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.once_in(4) {
            return self.leaf();
        }
        let (x, y) = (self.float(depth - 1), self.float(depth - 1));
        match self.random.below(16) {
            12 => format!("seen(float2({x}, {y}), 0)"),
            13 => format!("image.Load(int3({} % 3, {k} % 2, 0)).y", self.int(), k = self.int()),
            14 => format!("sum(squared, {})", self.int()),
            15 => format!("dot(layer(float2({x}, {y}), {}), float2(1, 2))", self.int()),
            0 | 1 => format!("({x} + {y})"),
            2 => format!("({x} - {y})"),
            3 | 4 => format!("({x} * {y})"),
            5 => format!("sin({x})"),
            6 => format!("tanh({x})"),
            7 => format!("({x} < {y} ? {x} : 0.5 * {y})"),
            8 => format!("look({x}, {})", self.int()),
            9 => format!("walk({x}, {})", 1 + self.random.below(4)),
            10 => format!("dot(v[{} % 8], float3({x}, {y}, 0.5))", self.int()),
            _ => format!("max({x}, {y})"),
        }
    }

    fn leaf(&mut self) -> String {
        match self.random.below(17) {
            11 => format!("asfloat(words.Load(8 * i + {}))", 4 * self.random.below(2)),
            12 => format!("squares[i]._{}{}", self.random.pick(&["m0", "m1"]), self.random.below(2)),
            13 => format!("sum(plain, {})", self.int()),
            0 => format!("a[{} % 16]", self.int()),
            1 => format!("v[{} % 8].{}", self.int(), self.random.pick(&["x", "y", "z"])),
            2 => format!("bodies[{} % 4].at[{} % 2]", self.int(), self.int()),
            3 => "bodies[i % 4].mass".to_string(),
            4 => format!("state[2 * i + {}]", self.random.below(2)),
            5 => format!("own[4 * i + {} % 4]", self.int()),
            6 => "scale".to_string(),
            7 => format!("params.r[{} % 3]", self.int()),
            8 => "params.q.y".to_string(),
            9 => format!("memo[{} % 2]", self.int()),
            10 => format!("{:.2}", self.random.float()),
            _ => self.variable(),
        }
    }
}

impl Kernel {
    /// Its text.
    pub fn source(&self) -> String {
        let mut out = HEAD.to_string();
        out += "[numthreads(4, 1, 1)]\nvoid main(uint3 id : SV_DispatchThreadID, uint thread : SV_GroupIndex)\n{\n";
        out += "    int i = int(id.x), t = int(thread);\n    memo[0] = 0.3; memo[1] = a[i];\n";
        out += "    Plain plain; plain.from = a; Squared<Plain> squared; squared.of = plain;\n";
        out += "    float x0 = 0.5, x1 = a[i], x2 = state[2 * i], x3 = scale;\n";
        print(&self.body, 1, &mut out);
        out + "}\n"
    }

    /// A kernel for which `fails` holds, too, and that has no statement that it could do without.
    pub(super) fn shrunk(&self, fails: &dyn Fn(&Kernel) -> bool) -> Kernel {
        let mut kernel = self.clone();
        let mut at = 0;
        loop {
            let mut smaller: Vec<Kernel> = vec![];
            for how in [How::Remove, How::Unwrap] {
                let (mut body, mut count) = (kernel.body.clone(), at);
                if change(&mut body, &mut count, how) {
                    smaller.push(Kernel { body });
                }
            }
            if smaller.is_empty() {
                return kernel;
            }
            match smaller.into_iter().find(|smaller| fails(smaller)) {
                Some(smaller) => kernel = smaller,
                None => at += 1,
            }
        }
    }
}

#[derive(Clone, Copy)]
enum How {
    Remove,
    /// A block becomes what is in it, if that has no counter.
    Unwrap,
}

/// Changes the statement with a number, counted down in `at`. Says whether there is one.
fn change(body: &mut Vec<Stmt>, at: &mut usize, how: How) -> bool {
    for index in 0..body.len() {
        if *at == 0 {
            match (how, body[index].clone()) {
                (How::Unwrap, Stmt::Block(head, inner, other)) if head.starts_with("if") => {
                    body.splice(index..=index, inner.into_iter().chain(other));
                }
                _ => _ = body.remove(index),
            }
            return true;
        }
        *at -= 1;
        if let Stmt::Block(_, inner, other) = &mut body[index]
            && (change(inner, at, how) || change(other, at, how))
        {
            return true;
        }
    }
    false
}

fn print(body: &[Stmt], depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    for stmt in body {
        match stmt {
            Stmt::Line(text) => *out += &format!("{indent}{text}\n"),
            Stmt::Block(head, inner, other) => {
                *out += &format!("{indent}{head}\n{indent}{{\n");
                print(inner, depth + 1, out);
                *out += &format!("{indent}}}\n");
                if !other.is_empty() {
                    *out += &format!("{indent}else\n{indent}{{\n");
                    print(other, depth + 1, out);
                    *out += &format!("{indent}}}\n");
                }
            }
        }
    }
}
