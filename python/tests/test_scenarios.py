"""Larger programs in the style of slangtorch and slangpy, with gradients compared with the same program in double precision."""

import math

import numpy as np
import pytest
from reference import gradients

import cotangent
import cotangent.slangtorch as slangtorch

U = "uint3 u = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();"


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        path = tmp_path / "program.slang"
        path.write_text(text.replace("$u;", U))
        return slangtorch.loadModule(str(path), **options)

    return load


BLEND = """
struct Splat : IDifferentiable { float3 color; float alpha; }
struct State : IDifferentiable { float3 color; float through; }

[Differentiable] Splat loadSplat(int id, DiffTensorView c)
{
    Splat s;
    s.color = float3(c[uint2(id, 0)], c[uint2(id, 1)], c[uint2(id, 2)]);
    s.alpha = c[uint2(id, 3)];
    return s;
}

[Differentiable] State step(State s, Splat p)
{
    State t;
    t.color = s.color + s.through * p.alpha * p.color;
    t.through = s.through * (1.0 - p.alpha);
    return t;
}

[BackwardDerivative(blend_bwd)]
float4 blend(TensorView<int32_t> ids, DiffTensorView c, uint2 px, uint n)
{
    State s = { float3(0.0), 1.0 };
    for (uint i = 0; i < n; i++)
        s = step(s, loadSplat(ids[i], c));
    return float4(s.color, s.through);
}

void blend_bwd(TensorView<int32_t> ids, DiffTensorView c, uint2 px, uint n, float4 g)
{
    // The states before each splat come back from the last one, by division.
    float4 last = blend(ids, c, px, n);
    State s = { last.xyz, last.w };
    State.Differential d = { g.xyz, g.w };
    for (uint k = n; k > 0; k--)
    {
        Splat p = loadSplat(ids[k - 1], c);
        s.through /= 1.0 - p.alpha;
        s.color -= s.through * p.alpha * p.color;
        var dpState = diffPair(s);
        var dpSplat = diffPair(p);
        bwd_diff(step)(dpState, dpSplat, d);
        bwd_diff(loadSplat)(ids[k - 1], c, dpSplat.d);
        d = dpState.d;
    }
}

[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void render(TensorView<int32_t> ids, DiffTensorView c, DiffTensorView img)
{
    $u;
    if (u.x >= img.size(1) || u.y >= img.size(0)) return;
    float4 color = blend(ids, c, uint2(u.x, u.y), ids.size(0));
    for (uint k = 0; k < 4; k++)
        img.storeOnce(uint3(u.y, u.x, k), color[k]);
}
"""


def test_a_reverse_loop_by_hand(load, arrays):
    m = load(BLEND)
    random = np.random.default_rng(7)
    c, ids = random.uniform(0.1, 0.8, (5, 4)), np.array([3, 0, 4, 1, 3], np.int32)
    g = random.normal(size=(3, 2, 4))

    def blend(lib, c):
        color, through = 0 * c[0, :3], 1.0
        for i in ids:
            color, through = color + through * c[i, 3] * c[i, :3], through * (1 - c[i, 3])
        return lib.broadcast_to(lib.concatenate([color, through.reshape(1)]), (3, 2, 4))

    img, gc = arrays.zeros((3, 2, 4)), arrays.zeros((5, 4))
    launch = {"blockSize": (2, 2, 1), "gridSize": (1, 2, 1)}
    m.render(ids=arrays(ids, "int32"), c=arrays(c), img=img).launchRaw(**launch)
    np.testing.assert_allclose(arrays.read(img), blend(np, c), rtol=1e-5)
    m.render.bwd(ids=arrays(ids, "int32"), c=(arrays(c), gc), img=(img, arrays(g))).launchRaw(**launch)
    (expected,) = gradients(blend, [c], g)
    np.testing.assert_allclose(arrays.read(gc), expected, rtol=1e-4, atol=1e-4)


def test_keys_are_sorted_and_their_ranges_found(load, arrays):
    m = load("""
[AutoPyBindCUDA] [CUDAKernel]
void keys(TensorView<float> z, TensorView<int32_t> tile, TensorView<int64_t> keys)
{ $u; if (u.x >= z.size(0)) return;
  uint64_t k = tile[u.x]; k <<= 32; k |= reinterpret<int32_t>(z[u.x]); keys[u.x] = k; }
[AutoPyBindCUDA] [CUDAKernel]
void ranges(TensorView<int64_t> keys, TensorView<int32_t> range)
{ $u; uint i = u.x; if (i >= keys.size(0)) return;
  int tile = int(keys[i] >> 32);
  if (i == 0) range[uint2(tile, 0)] = 0;
  else { int before = int(keys[i - 1] >> 32); if (before != tile) { range[uint2(before, 1)] = int(i); range[uint2(tile, 0)] = int(i); } }
  if (i == keys.size(0) - 1) range[uint2(tile, 1)] = int(i + 1); }
""")
    random = np.random.default_rng(3)
    z, tile = random.uniform(0.1, 9, 300).astype(np.float32), random.integers(0, 3, 300).astype(np.int32)
    keys, range_ = arrays.zeros(300, "int64"), arrays.zeros((3, 2), "int32")
    total = np.int64(300) if arrays.device == "numpy" else __import__("torch").tensor(300)
    grid = (math.ceil(total / 256), 1, 1)
    m.keys(z=arrays(z), tile=arrays(tile, "int32"), keys=keys).launchRaw(blockSize=(256, 1, 1), gridSize=grid)
    sorted_ = np.sort(keys) if arrays.device == "numpy" else keys.sort().values
    m.ranges(keys=sorted_, range=range_).launchRaw(blockSize=(256, 1, 1), gridSize=grid)
    ends = np.cumsum(np.bincount(tile))
    np.testing.assert_array_equal(arrays.read(range_), np.stack([ends - np.bincount(tile), ends], 1))
    order = np.lexsort((z, tile))
    np.testing.assert_array_equal(arrays.read(sorted_) >> 32, tile[order])


MODEL = """
struct Model
{
    TensorView<float> a; TensorView<float> b; TensorView<float> c; TensorView<float> x; TensorView<float> y;
    TensorView<float> dLdy; TensorView<float> dLda; TensorView<float> dLdb; TensorView<float> dLdc;
    TensorView<int32_t> steps; TensorView<float> unused1; TensorView<float> unused2; TensorView<float> unused3;
}
float3 get3(TensorView<float> t, uint i) { return float3(t[i, 0], t[i, 1], t[i, 2]); }
float3 get3(TensorView<float> t, uint i, uint j) { return float3(t[i, j, 0], t[i, j, 1], t[i, j, 2]); }
[Differentiable] float3 advance(float3 a, float3 b, float3 c, float3 s) { return sin(a * s + b) * c; }
[AutoPyBindCUDA] [CUDAKernel]
void run(Model m)
{ $u; if (u.x >= m.x.size(0)) return;
  float3 s = get3(m.x, u.x);
  for (int j = 0; j < m.steps[0]; j++) s = advance(get3(m.a, 0, j), get3(m.b, 0, j), get3(m.c, 0, j), s);
  for (uint k = 0; k < 3; k++) m.y[u.x, k] = s[k]; }
void scatter(TensorView<float> t, uint i, uint j, float3 v)
{ for (uint k = 0; k < 3; k++) { float old; t.InterlockedAdd(uint3(i, j, k), v[k], old); } }
[AutoPyBindCUDA] [CUDAKernel]
void adjoint(Model m)
{ $u; if (u.x >= m.x.size(0)) return;
  float3 states[8];
  states[0] = get3(m.x, u.x);
  int n = m.steps[0];
  for (int j = 0; j < n; j++) states[j + 1] = advance(get3(m.a, 0, j), get3(m.b, 0, j), get3(m.c, 0, j), states[j]);
  float3 d = get3(m.dLdy, u.x);
  for (int j = n - 1; j >= 0; j--)
  {
    var a = diffPair(get3(m.a, 0, j)); var b = diffPair(get3(m.b, 0, j)); var c = diffPair(get3(m.c, 0, j)); var s = diffPair(states[j]);
    bwd_diff(advance)(a, b, c, s, d);
    scatter(m.dLda, 0, j, a.d); scatter(m.dLdb, 0, j, b.d); scatter(m.dLdc, 0, j, c.d);
    d = s.d;
  } }
"""


def test_an_adjoint_by_hand(load, arrays):
    m = load(MODEL)
    random = np.random.default_rng(11)
    a, b, c = random.normal(size=(3, 1, 4, 3))
    x, g = random.normal(size=(2, 70, 3))

    def run(lib, a, b, c):
        s = lib.zeros((70, 3), dtype=lib.float64) + lib.asarray(x)
        for j in range(4):
            s = lib.sin(a[0, j] * s + b[0, j]) * c[0, j]
        return s

    y, grads, empty = arrays.zeros((70, 3)), [arrays.zeros((1, 4, 3)) for _ in range(3)], arrays.zeros((0,))
    model = (arrays(a), arrays(b), arrays(c), arrays(x), y, arrays(g), *grads, arrays([4], "int32"), empty, empty, empty)
    geometry = {"blockSize": (64, 1, 1), "gridSize": (2, 1, 1)}
    m.run(m=model).launchRaw(**geometry)
    np.testing.assert_allclose(arrays.read(y), run(np, a, b, c), rtol=1e-4, atol=1e-5)
    m.adjoint(m=m.Model(*model)).launchRaw(**geometry)
    for own, other in zip(grads, gradients(run, [a, b, c], g)):
        np.testing.assert_allclose(arrays.read(own), other, rtol=1e-4, atol=1e-4)


EXTENDED = """
static const int TERM_COUNT = TERMS;

extension<T : __BuiltinFloatingPointType, A : IDiffTensorWrapper> DiffTensorView<T, A>
{
    void __loadVec_bwd<let N : int>(uint2 i, vector<T, N>.Differential d)
    {
        uint2 x = i;
        [ForceUnroll] for (int k = 0; k < N; k++) { diff.load_backward<T, 2>(x, d[k]); x[1] += 1; }
    }
    [NoDiffThis] [BackwardDerivative(__loadVec_bwd)]
    vector<T, N> loadVec<let N : int>(uint2 i)
    {
        vector<T, N> v;
        uint2 x = i;
        [ForceUnroll] for (int k = 0; k < N; k++) { v[k] = primal.load<2>(x); x[1] += 1; }
        return v;
    }
    void __storeVec_bwd<let N : int>(uint2 i, inout DifferentialPair<vector<T, N>> v)
    {
        vector<T, N>.Differential d;
        [ForceUnroll] for (int k = 0; k < N; k++) d[k] = diff.storeOnce_backward<T, 2>(uint2(i.x, i.y + k));
        v = diffPair(v.p, d);
    }
    [NoDiffThis] [BackwardDerivative(__storeVec_bwd)]
    void storeVec<let N : int>(uint2 i, vector<T, N> v)
    {
        [ForceUnroll] for (int k = 0; k < N; k++) primal.store<2>(uint2(i.x, i.y + k), v[k]);
    }
    void __loadUniform_bwd(uint i, T.Differential d)
    {
        float all = WaveActiveSum(reinterpret<float>(d));
        if (WaveIsFirstLane()) diff.load_backward<float>(i, all);
    }
    [NoDiffThis] [BackwardDerivative(__loadUniform_bwd)]
    T loadUniform(uint i) { return primal.load(i); }
}

[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void isp(DiffTensorView image, DiffTensorView gains, TensorView<float2> offset, TensorView<int16_t> levels, DiffTensorView out)
{
    $u;
    if (u.x >= image.size(0)) return;
    float3 c = image.loadVec<3>(uint2(u.x, 0));
    float3 sum = float3(0.0);
    [MaxIters(8)]
    for (int k = 0; k < TERM_COUNT; k++) { float gain = gains.loadUniform(k); sum += gain * pow(c, k + 1); }
    float2 o = offset[u.x];
    out.storeVec<3>(uint2(u.x, 0), sum + float3(o.x, o.y, float(levels[0])));
}
"""


def test_accessors_of_ones_own(load, arrays):
    m = load(EXTENDED, defines={"TERMS": "3"})
    random = np.random.default_rng(13)
    image, gains = random.uniform(0.2, 1, (64, 3)), random.normal(size=3)
    offset, g = random.normal(size=(64, 2)), random.normal(size=(64, 3))

    def isp(lib, image, gains):
        terms = sum(gains[k] * image ** (k + 1) for k in range(3))
        return terms + lib.asarray(np.concatenate([offset, np.full((64, 1), 7)], 1))

    out, gi, gg = arrays.zeros((64, 3)), arrays.zeros((64, 3)), arrays.zeros(3)
    arguments = {"offset": arrays(offset), "levels": arrays([7], "int16")}
    m.isp.bwd(image=(arrays(image), gi), gains=(arrays(gains), gg), out=(out, arrays(g)), **arguments).launchRaw(
        blockSize=(32, 1, 1), gridSize=(2, 1, 1)
    )
    np.testing.assert_allclose(arrays.read(out), isp(np, image, gains), rtol=1e-4)
    for own, other in zip((gi, gg), gradients(isp, [image, gains], g)):
        np.testing.assert_allclose(arrays.read(own), other, rtol=1e-4, atol=1e-4)


POLY = "[Differentiable] float poly(float a, float x) { return a * x * x + x; }"


def test_functions_over_anything(arrays):
    """What slangpy's users write: a function over numbers, arrays and tensors of different shapes."""
    m = cotangent.load(source=POLY)
    assert m.poly(2, 3) == 21
    x = np.arange(30, dtype=np.float32).reshape(10, 3)
    a = np.array([1, 2, 3], np.float32)
    found = m.poly(arrays(a), arrays(x))
    assert tuple(found.shape) == (10, 3)
    np.testing.assert_array_equal(arrays.read(found), a * x * x + x)
    c = np.random.default_rng(5).normal(size=(10, 3))
    for own, other in zip(m.poly.vjp(arrays(a), arrays(x), cotangents=arrays(c)), gradients(lambda _, a, x: a * x * x + x, [a, x], c)):
        np.testing.assert_allclose(arrays.read(own), other, rtol=1e-4, atol=1e-4)


TRAINING = """
uint wang_hash(uint s) { s = (s ^ 61) ^ (s >> 16); s *= 9; s ^= s >> 4; s *= 0x27d4eb2d; return s ^ (s >> 15); }

struct Layer<let I : int, let O : int> : IDifferentiable
{
    float w[O * I];
    float b[O];
    [Differentiable] float[O] eval(float x[I])
    {
        float y[O];
        for (int o = 0; o < O; o++) { y[o] = b[o]; for (int i = 0; i < I; i++) y[o] += w[o * I + i] * x[i]; }
        return y;
    }
}
typealias First = Layer<2, 8>;
typealias Last = Layer<8, 1>;

[Differentiable] float net(First first, Last last, no_diff float2 p)
{
    float x[2] = { p.x, p.y };
    float h[8] = first.eval(x);
    for (int i = 0; i < 8; i++) h[i] = tanh(h[i]);
    float y[1] = last.eval(h);
    return y[0];
}
float2 sample(int2 cell, int seed)
{
    uint h = wang_hash(uint(cell.y * 64 + cell.x) ^ uint(seed));
    uint k = wang_hash(h);
    return float2(h & 0xffff, k & 0xffff) / 65536.0;
}
void adam(inout float p, float g, inout float m, inout float v, float lr, int t)
{
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    p -= lr * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
}
"""


def test_a_network_is_trained_without_torch():
    """Layers as generic structures, samples by a hash, and an optimizer that is a function too."""
    m = cotangent.load(source=TRAINING)
    random = np.random.default_rng(0)
    shapes = {"first": {"w": 16, "b": 8}, "last": {"w": 8, "b": 1}}
    net = {n: {k: random.normal(0, 0.7, s).astype(np.float32) for k, s in own.items()} for n, own in shapes.items()}
    state = {n: {k: [np.zeros(s, np.float32)] * 2 for k, s in own.items()} for n, own in shapes.items()}
    cells = np.stack(np.meshgrid(np.arange(32), np.arange(32), indexing="xy"), -1)
    target = lambda p: np.sin(3 * p[..., 0]) * p[..., 1]
    losses = []
    for t in range(1, 301):
        p = m.sample(cells, 7 * t)
        error = m.net(net["first"], net["last"], p) - target(p)
        losses.append(float((error**2).mean()))
        gradients = m.net.vjp(net["first"], net["last"], p, cotangents=2 * error / error.size)
        for n, g in zip(net, gradients):
            for k in net[n]:
                net[n][k], *state[n][k] = m.adam(net[n][k], g[k], *state[n][k], 0.02, t)
    assert losses[-1] < 0.05 * losses[0]


def test_a_network_has_the_gradient_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    m = cotangent.load(source=TRAINING)
    torch.manual_seed(1)
    make = lambda *shape: torch.randn(*shape, requires_grad=True)
    w, b, v, c, p = make(16), make(8), make(8), make(1), torch.randn(50, 2)
    m.net({"w": w, "b": b}, {"w": v, "b": c}, p).square().sum().backward()
    own = [t.detach().double().requires_grad_() for t in (w, b, v, c)]
    expected = torch.tanh(p.double() @ own[0].reshape(8, 2).T + own[1]) @ own[2] + own[3]
    expected.square().sum().backward()
    for mine, other in zip((w, b, v, c), own):
        torch.testing.assert_close(mine.grad, other.grad.float(), rtol=1e-4, atol=1e-4)
