//! Every kind of resource in every position: a global, a parameter of an entry point, a field, an array, a block, a handle, an argument,
//! a variable. One program per kind has an entry point per position. Each gives the same number on the interpreter and as native code,
//! and the program is accepted by each target or refused with what the guide's table of targets lists.

mod support;

use cotangent::interp::{Interpreter, Options};
use cotangent::jit::{Limits, Native};
use cotangent::runtime::{Backend, Data, Launch, Runner};
use cotangent::{Code, Request, Roots, Session, Setting, Symbol, Texts, capabilities};
use std::sync::Arc;
use support::validators::listed;

/// A kind of resource: its type, an expression of one, what is set, and what the expression gives.
struct Kind {
    ty: &'static str,
    value: &'static str,
    set: &'static [(&'static str, &'static str)],
    gives: f32,
    /// Whether a global of the type must say `uniform`.
    uniform: bool,
}

const fn kind(ty: &'static str, value: &'static str, set: &'static [(&'static str, &'static str)]) -> Kind {
    Kind { ty, value, set, gives: 7.0, uniform: false }
}

const NUMBERS: &[(&str, &str)] = &[("", "f32[1, 7]")];
const BEFORE: &[(&str, &str)] = &[("", "f32[1, 6]")];
const LINE: &[(&str, &str)] = &[("", "image(2, f32[1, 7])")];
const ROW: &[(&str, &str)] = &[("", "image(2x1, f32[1, 7])")];
const LAYER: &[(&str, &str)] = &[("", "image(2x1x1, f32[1, 7])")];
const SIDES: &[(&str, &str)] = &[("", "image(1x1x6, f32[7, 2, 3, 4, 5, 6])")];

/// `@` is the resource.
const KINDS: &[Kind] = &[
    kind("StructuredBuffer<float>", "@[1]", NUMBERS),
    kind("RWStructuredBuffer<float>", "more(@)", BEFORE),
    kind("Buffer<float>", "@[1]", NUMBERS),
    kind("RWBuffer<float>", "more(@)", BEFORE),
    kind("ByteAddressBuffer", "asfloat(@.Load(4))", NUMBERS),
    kind("RWByteAddressBuffer", "more(@)", BEFORE),
    kind("AppendStructuredBuffer<float>", "more(@)", &[(".elements", "f32[1, 6]"), (".counter", "u32[1]")]),
    kind(
        "ConsumeStructuredBuffer<float>",
        "@.Consume()",
        &[(".elements", "f32[1, 7]"), (".counter", "u32[2]")],
    ),
    kind("RWStructuredBuffer<Atomic<uint>>", "float(@[1].add(1))", &[("", "u32[1, 7]")]),
    kind("ConstantBuffer<Pair>", "@.v.y", NUMBERS),
    kind("ParameterBlock<Pair>", "@.v.y", NUMBERS),
    kind("TextureBuffer<Pair>", "@.v.y", NUMBERS),
    kind("Texture1D<float>", "@[1]", LINE),
    kind("Texture1DArray<float>", "@[uint2(1, 0)]", ROW),
    kind("Texture2D<float>", "@.Load(int3(1, 0, 0))", ROW),
    kind("Texture2DArray<float>", "@[uint3(1, 0, 0)]", LAYER),
    kind("Texture3D<float>", "@[uint3(1, 0, 0)]", LAYER),
    kind("TextureCube<float>", "@.SampleLevel(plain, float3(1, 0, 0), 0)", SIDES),
    kind("RWTexture1D<float>", "more(@)", &[("", "image(2, f32[1, 6])")]),
    kind("RWTexture2D<float>", "more(@)", &[("", "image(2x1, f32[1, 6])")]),
    kind("RWTexture2DArray<float>", "more(@)", &[("", "image(2x1x1, f32[1, 6])")]),
    kind("RWTexture3D<float>", "more(@)", &[("", "image(2x1x1, f32[1, 6])")]),
    kind("WTexture2D<float>", "more(@)", &[("", "image(2x1, f32[1, 6])")]),
    kind("SamplerState", "ramp.SampleLevel(@, float2(0.75, 0.5), 0)", &[("", "nearest")]),
    kind(
        "SamplerComparisonState",
        "7 * depths.SampleCmpLevelZero(@, float2(0.25, 0.5), 0.5)",
        &[("", "less-equal")],
    ),
    kind(
        "Sampler2D<float>",
        "@.SampleLevel(float2(0.75, 0.5), 0)",
        &[(".texture", "image(2x1, f32[1, 7])"), (".sampler", "nearest")],
    ),
    kind(
        "SamplerCube<float>",
        "@.SampleLevel(float3(1, 0, 0), 0)",
        &[(".texture", "image(1x1x6, f32[7, 2, 3, 4, 5, 6])")],
    ),
    kind(
        "Sampler2DShadow",
        "7 * @.SampleCmpLevelZero(float2(0.25, 0.5), 0.5)",
        &[(".texture", "image(2x1, f32[1, 0])"), (".sampler", "nearest,less-equal")],
    ),
    Kind { uniform: true, ..kind("float*", "@[1]", NUMBERS) },
    Kind { uniform: true, ..kind("float2", "@.y", NUMBERS) },
];

const COMMON: &str = "
struct Pair { float2 v; }
RWStructuredBuffer<float> o;
uniform int one;
SamplerState plain;
Texture2D<float> ramp;
Texture2D<float> depths;
float more(RWStructuredBuffer<float> b) { b[1] += 1; return b[1]; }
float more(RWBuffer<float> b) { b[1] = b[1] + 1; return b[1]; }
float more(RWByteAddressBuffer b) { b.Store(4, asuint(asfloat(b.Load(4)) + 1)); return asfloat(b.Load(4)); }
float more(AppendStructuredBuffer<float> b) { b.Append(3); return 7; }
float more(RWTexture1D<float> t) { t[1] = t[1] + 1; return t[1]; }
float more(RWTexture2D<float> t) { t[uint2(1, 0)] = t[uint2(1, 0)] + 1; return t[uint2(1, 0)]; }
float more(RWTexture2DArray<float> t) { t[uint3(1, 0, 0)] = t[uint3(1, 0, 0)] + 1; return t[uint3(1, 0, 0)]; }
float more(RWTexture3D<float> t) { t[uint3(1, 0, 0)] = t[uint3(1, 0, 0)] + 1; return t[uint3(1, 0, 0)]; }
float more(WTexture2D<float> t) { t.Store(uint2(1, 0), 3); return 7; }
T same<T>(T x) { return x; }
";

/// A position: declarations, parameters of the entry point, statements, the resource, and the path by which it is set. `$T` is the type,
/// `$n` a number of its own, `$u` the word `uniform` where it is needed, and `$v(x)` the value of `x`.
struct Position {
    declares: &'static str,
    params: &'static str,
    before: &'static str,
    place: &'static str,
    path: &'static str,
}

const fn at(
    declares: &'static str,
    params: &'static str,
    before: &'static str,
    place: &'static str,
    path: &'static str,
) -> Position {
    Position { declares, params, before, place, path }
}

const POSITIONS: &[Position] = &[
    at("$u$T x$n;", "", "", "x$n", "x$n"),
    at("", "uniform $T x$n", "", "x$n", "x$n"),
    at("struct S$n { $T x; float pad; }\nuniform S$n s$n;", "", "", "s$n.x", "s$n.x"),
    at(
        "struct I$n { float q; $T x; }\nstruct S$n { I$n i; float pad; }\nuniform S$n s$n;",
        "",
        "",
        "s$n.i.x",
        "s$n.i.x",
    ),
    at("$u$T x$n[2];", "", "", "x$n[1]", "x$n[1]"),
    at("$u$T x$n[2];", "", "", "x$n[one]", "x$n[1]"),
    at("$u$T x$n[2][2];", "", "", "x$n[1][one]", "x$n[1][1]"),
    at("struct S$n { $T x; float pad; }\nuniform S$n s$n[2];", "", "", "s$n[one].x", "s$n[1].x"),
    at("struct S$n { $T x[2]; float pad; }\nuniform S$n s$n;", "", "", "s$n.x[1]", "s$n.x[1]"),
    at("struct S$n { $T x; float pad; }", "uniform S$n s$n", "", "s$n.x", "s$n.x"),
    at("", "uniform $T x$n[2]", "", "x$n[1]", "x$n[1]"),
    at("cbuffer C$n { $T x$n; float pad$n; }", "", "", "x$n", "C$n.x$n"),
    at("struct S$n { $T x; float pad; }\nConstantBuffer<S$n> s$n;", "", "", "s$n.x", "s$n.x"),
    at("struct S$n { $T x; float pad; }\nParameterBlock<S$n> s$n;", "", "", "s$n.x", "s$n.x"),
    at("struct S$n { $T x; float pad; }", "ParameterBlock<S$n> s$n", "", "s$n.x", "s$n.x"),
    at("struct S$n { $T x[2]; float pad; }\nParameterBlock<S$n> s$n;", "", "", "s$n.x[1]", "s$n.x[1]"),
    at("uniform DescriptorHandle<$T> x$n;", "", "$T y = x$n;", "y", "x$n"),
    at("struct S$n { DescriptorHandle<$T> x; }\nConstantBuffer<S$n> s$n;", "", "$T y = s$n.x;", "y", "s$n.x"),
    at("$u$T x$n;", "", "$T y = x$n;", "y", "x$n"),
    at("$u$T x$n;", "", "", "same(x$n)", "x$n"),
    at("$u$T x$n;\n$T f$n() { return x$n; }", "", "let y = f$n();", "y", "x$n"),
    at(
        "$u$T x$n;\nstruct L$n { $T x; int n; float get() { return $v(x); } }",
        "",
        "L$n l; l.x = x$n; l.n = 1;",
        "=l.get()",
        "x$n",
    ),
    at(
        "struct S$n { $T x; float pad; float get() { return $v(x); } }\nParameterBlock<S$n> s$n;",
        "",
        "",
        "=s$n.get()",
        "s$n.x",
    ),
    at("$u$T x$n[2];\nfloat f$n($T y[2], int i) { return $v(y[i]); }", "", "", "=f$n(x$n, one)", "x$n[1]"),
    at("$u$T open$n[];", "", "", "open$n[1]", "open$n[1]"),
    at("$u$T open$n[];", "", "", "open$n[one]", "open$n[1]"),
    at("$u$T open$n[];\nfloat f$n($T y) { return $v(y); }", "", "", "=f$n(open$n[1])", "open$n[1]"),
];

impl Kind {
    fn value(&self, of: &str) -> String {
        self.value.replace('@', of)
    }

    /// A text of a position.
    fn text(&self, text: &str, number: usize) -> String {
        let uniform = if self.uniform { "uniform " } else { "" };
        let text = text.replace("$u", uniform).replace("$n", &number.to_string()).replace("$T", self.ty);
        let Some((before, rest)) = text.split_once("$v(") else { return text };
        let (of, after) = rest.split_once(')').expect("a parenthesis");
        format!("{before}{}{after}", self.value(of))
    }

    /// Whether the type may stand there: there are no arrays of parameter blocks.
    fn fits(&self, position: &Position) -> bool {
        !self.ty.starts_with("ParameterBlock")
            || !["[2]", "[]"].iter().any(|of| position.declares.contains(of) || position.params.contains(of))
            || position.declares.contains("s$n[2]")
    }

    /// The positions that the type may have, with their numbers.
    fn positions(&self) -> impl Iterator<Item = (usize, &'static Position)> {
        POSITIONS.iter().enumerate().filter(|(_, position)| self.fits(position))
    }

    fn program(&self) -> String {
        let mut text = COMMON.to_string();
        for (number, position) in self.positions() {
            let place = self.text(position.place, number);
            let value = place.strip_prefix('=').map_or_else(|| self.value(&place), str::to_string);
            text += &format!(
                "{}\n[numthreads(1, 1, 1)] void main{number}({}) {{ {} o[0] = {value}; }}\n",
                self.text(position.declares, number),
                self.text(position.params, number),
                self.text(position.before, number),
            );
        }
        text
    }

    fn session(&self) -> cotangent::Program {
        let text: &'static str = Box::leak(self.program().into_boxed_str());
        let open = self.positions().filter(|(_, position)| position.declares.contains("[]"));
        let length = |(number, _)| (Setting::Global, format!("open{number}"), "2".to_string());
        let request = Request { settings: open.map(length).collect(), ..Request::new("program.slang") };
        Session::new(Texts::new([("program.slang", text)])).program(&request)
    }

    /// Runs every position; says what was wrong.
    fn run<B: Backend>(&self, backend: &Arc<B>, name: &str, wrong: &mut String) {
        let program = self.session();
        for (number, position) in self.positions() {
            let entry = format!("main{number}");
            let roots = Roots::Entries(vec![Symbol::new(&entry)]);
            let lowered = match program.compile(roots).accept() {
                Ok(lowered) => lowered,
                Err(rejected) => {
                    *wrong += &format!("{} in {}: {rejected}\n", self.ty, position.declares);
                    continue;
                }
            };
            let found = self.launch(backend, cotangent::compiled(&lowered), &entry, (number, position));
            if found != Ok(self.gives) {
                *wrong += &format!(
                    "{name}: {} in `{}`: {found:?}\n",
                    self.ty,
                    self.text(position.declares, number)
                );
            }
        }
    }

    fn launch<B: Backend>(
        &self,
        backend: &Arc<B>,
        compiled: cotangent::runtime::Compiled,
        entry: &str,
        (number, position): (usize, &Position),
    ) -> Result<f32, String> {
        let mut runner = Runner::new(backend.clone(), compiled).map_err(|e| format!("{e:?}"))?;
        let path = self.text(position.path, number);
        let own = self.set.iter().map(|(part, value)| (format!("{path}{part}"), *value));
        // Of these a program has what the entry point uses.
        let common = [("one", "1"), ("ramp", "image(2x1, f32[1, 7])"), ("depths", "image(2x1, f32[1, 0])")];
        for (name, value) in common {
            let data = Data::parse(value).map_err(|e| format!("{e:?}"))?;
            _ = runner.params.set(name, &data);
        }
        for (name, value) in own.chain([("o".to_string(), "zeros(f32, 1)")]) {
            let data = Data::parse(value).map_err(|e| format!("{e:?}"))?;
            runner.params.set(&name, &data).map_err(|e| format!("{name}: {e:?}"))?;
        }
        runner.upload().map_err(|e| format!("{e:?}"))?;
        let launched = runner.launch(entry, [1, 1, 1], Launch::default()).map_err(|e| format!("{e:?}"))?;
        launched.ended.map_err(|e| format!("{e:?}"))?;
        let bytes = runner.read("o").map_err(|e| format!("{e:?}"))?;
        bytes.first_chunk().map(|bytes| f32::from_le_bytes(*bytes)).ok_or("no result".to_string())
    }
}

#[test]
fn every_resource_runs_on_the_interpreter_in_every_position() {
    let (backend, mut wrong) = (Arc::new(Interpreter::new(Options::default())), String::new());
    KINDS.iter().for_each(|kind| kind.run(&backend, "interpreter", &mut wrong));
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_resource_runs_as_native_code_in_every_position() {
    let (backend, mut wrong) = (Arc::new(Native::new(Limits::default())), String::new());
    KINDS.iter().for_each(|kind| kind.run(&backend, "native", &mut wrong));
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_resource_is_emitted_in_every_position_or_refused_as_the_table_says() {
    let mut wrong = String::new();
    for kind in KINDS {
        let program = kind.session();
        for (number, position) in kind.positions() {
            let roots = Roots::Entries(vec![Symbol::new(&format!("main{number}"))]);
            let Ok(lowered) = program.compile(roots).result else {
                wrong += &format!("{} in `{}` does not compile\n", kind.ty, position.declares);
                continue;
            };
            for target in capabilities::SHADERS {
                if let Err(refusal) = cotangent::shader(&lowered, target, None)
                    && listed(&refusal, target).is_none()
                {
                    let Code { name, .. } = refusal.code;
                    let declared = kind.text(position.declares, number);
                    wrong += &format!("{} in `{declared}`: {name} {}\n", kind.ty, refusal.message);
                }
            }
            for cuda in [false, true] {
                let sources = program.sources();
                let emitted = match cuda {
                    true => cotangent::cuda(&lowered, &sources, "program.slang", false),
                    false => cotangent::cpp(&lowered, &sources, "program.slang", false),
                };
                if let Err(refusal) = emitted {
                    wrong += &format!("{} in `{}`: {}\n", kind.ty, position.declares, refusal.message);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
