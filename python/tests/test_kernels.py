"""Kernels through slangtorch's surface: the scenarios that its programs consist of."""

import math

import numpy as np
import pytest
from reference import gradients

import cotangent.slangtorch as slangtorch

U = "uint3 u = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();"


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        path = tmp_path / "program.slang"
        path.write_text(text.replace("$u;", U))
        return slangtorch.loadModule(str(path), **options)

    return load


MAP = """
[AutoPyBindCUDA] [CUDAKernel]
void scale(TensorView<float> a, TensorView<float> b, float k)
{ $u; uint i = u.x; if (i >= a.size(0)) return; b[i] = a[i] * k; }
"""
SQUARE = """
[CUDAKernel] [Differentiable] [AutoPyBindCUDA]
void sq(DiffTensorView a, DiffTensorView b)
{ $u; if (u.x >= a.size(0)) return; b[u.x] = a[u.x] * a[u.x]; }
"""


def launch(call, n, block=256):
    call.launchRaw(blockSize=(block, 1, 1), gridSize=((n + block - 1) // block, 1, 1))


def test_a_map_with_a_guarded_tail(load, arrays):
    m = load(MAP)
    x, y = arrays(np.arange(300)), arrays.zeros(300)
    launch(m.scale(a=x, b=y, k=2), 300)
    np.testing.assert_array_equal(arrays.read(y), 2 * np.arange(300, dtype=np.float32))


def test_strides_are_honoured(load, arrays):
    m = load(MAP)
    x = arrays(np.arange(12).reshape(3, 4))
    y = arrays.zeros((4, 2))
    launch(m.scale(a=x[:, 1], b=y[:3, 0], k=10.0), 3)
    np.testing.assert_array_equal(arrays.read(y), [[10, 0], [50, 0], [90, 0], [0, 0]])


def test_the_derivatives_of_a_map(load, arrays):
    m = load(SQUARE)
    x, y = arrays([1, 2, 3]), arrays.zeros(3)
    launch(m.sq(a=x, b=y), 3)
    np.testing.assert_array_equal(arrays.read(y), [1, 4, 9])
    gx, gy = arrays.zeros(3), arrays([1, 10, 100])
    launch(m.sq.bwd(a=(x, gx), b=(y, gy)), 3)
    (expected,) = gradients(lambda _, x: x * x, [[1, 2, 3]], [1, 10, 100])
    np.testing.assert_allclose(arrays.read(gx), expected, rtol=1e-6)
    np.testing.assert_array_equal(arrays.read(gy), [0, 0, 0])
    tx, ty = arrays([1, 1, 2]), arrays.zeros(3)
    launch(m.sq.fwd(a=m.DiffTensorView(x, tx), b=m.DiffTensorView(value=y, grad=ty)), 3)
    np.testing.assert_array_equal(arrays.read(ty), [2, 4, 12])


def test_a_missing_gradient_is_dropped(load, arrays):
    m = load(SQUARE)
    x, y, gy = arrays([1, 2]), arrays.zeros(2), arrays([1, 1])
    launch(m.sq.bwd(a=x, b=(y, gy)), 2)
    launch(m.sq.bwd(a=(x,), b=(y, gy)), 2)
    np.testing.assert_array_equal(arrays.read(x), [1, 2])


def test_shared_reads_add_up(load, arrays):
    m = load("""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void gather(DiffTensorView w, TensorView<int32_t> idx, DiffTensorView out)
{ $u; if (u.x >= idx.size(0)) return;
  uint j = uint(idx[u.x]);
  float3 c = float3(w[uint2(j, 0)], w[uint2(j, 1)], w[uint2(j, 2)]);
  c *= c;
  out.storeOnce(uint2(u.x, 0), c.x); out.storeOnce(uint2(u.x, 1), c.y); out.storeOnce(uint2(u.x, 2), c.z); }
""")
    n = 500
    random = np.random.default_rng(1)
    w, idx = random.normal(size=(4, 3)).astype(np.float32), random.integers(0, 4, n).astype(np.int32)
    gy = random.normal(size=(n, 3)).astype(np.float32)
    gw, g = arrays.zeros((4, 3)), arrays(gy)
    launch(m.gather.bwd(w=(arrays(w), gw), idx=arrays(idx, "int32"), out=(arrays.zeros((n, 3)), g)), n)
    (expected,) = gradients(lambda _, w: w[idx] ** 2, [w], gy)
    np.testing.assert_allclose(arrays.read(gw), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(arrays.read(g), gy)


def test_a_mixed_signature(load, arrays):
    m = load("""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void proj(DiffTensorView p, TensorView<float> cam, TensorView<int32_t> count, DiffTensorView q, no_diff float fovy, uint w)
{ $u; if (u.x >= p.size(0)) return;
  float z = p[u.x];
  if (z < 0.0) return;
  count[u.x] = int(w);
  q[u.x] = cam[0] * z * fovy; }
""")
    p, q, count = arrays([1, -1, 3]), arrays.zeros(3), arrays.zeros(3, "int32")
    gp, gq = arrays.zeros(3), arrays([1, 1, 1])
    launch(m.proj.bwd(p=(p, gp), cam=arrays([2]), count=count, q=(q, gq), fovy=0.5, w=7), 3)
    (expected,) = gradients(lambda lib, p: lib.where(p < 0, 0 * p, 2 * p * 0.5), [[1, -1, 3]], [1, 1, 1])
    np.testing.assert_allclose(arrays.read(gp), expected, rtol=1e-6)
    np.testing.assert_array_equal(arrays.read(count), [7, 0, 7])


def test_a_differentiable_number_must_be_no_diff(load):
    with pytest.raises(slangtorch.CompileError, match="no_diff"):
        m = load("""[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
            void k(DiffTensorView a, float x) { a[0] = x; }""")
        launch(m.k.bwd(a=np.zeros(1, np.float32), x=1.0), 1)


def test_tiles_with_shared_memory(load, arrays):
    text = """
static const uint T = TILE;
groupshared float4 s[T * T];
[AutoPyBindCUDA] [CUDAKernel]
void tile(TensorView<float> a, TensorView<float> b)
{ uint3 u = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
  uint own = cudaThreadIdx().y * T + cudaThreadIdx().x;
  s[own] = float4(a[u.y, u.x]);
  AllMemoryBarrierWithGroupSync();
  float sum = 0;
  for (uint i = 0; i < T * T; i++) sum += s[i].x;
  b[u.y, u.x] = sum; }
"""
    modules = {tile: load(text, defines={"TILE": tile}) for tile in (4, 8, 16)}
    a = np.random.default_rng(2).normal(size=(32, 32)).astype(np.float32)
    for tile, m in modules.items():
        b = arrays.zeros((32, 32))
        m.tile(a=arrays(a), b=b).launchRaw(blockSize=(tile, tile, 1), gridSize=(32 // tile, 32 // tile, 1))
        blocks = a.reshape(32 // tile, tile, 32 // tile, tile).sum(axis=(1, 3), dtype=np.float64)
        np.testing.assert_allclose(arrays.read(b), np.kron(blocks, np.ones((tile, tile))), rtol=1e-3, atol=1e-3)


def test_keys_of_64_bits(load, arrays):
    m = load("""
[AutoPyBindCUDA] [CUDAKernel]
void keys(TensorView<float> z, TensorView<int64_t> keys)
{ $u; if (u.x >= z.size(0)) return;
  uint64_t k = u.x / 2; k <<= 32; k |= reinterpret<int32_t>(z[u.x]); keys[u.x] = k; }
""")
    z = np.array([0.5, 1.5, 2.5], np.float32)
    keys = arrays.zeros(3, "int64")
    launch(m.keys(z=arrays(z), keys=keys), math.ceil(3 / 256))
    np.testing.assert_array_equal(arrays.read(keys), [int(b) + ((i // 2) << 32) for i, b in enumerate(z.view(np.int32))])


def test_structures_as_dictionaries_tuples_and_types(load, arrays):
    m = load("""
struct Cam { TensorView<float> view; float3 o; int w; float f; }
[AutoPyBindCUDA] [CUDAKernel]
void k(Cam cam, TensorView<float> b) { b[0] = cam.view[1] + cam.o.y * 10 + cam.w * 100 + cam.f * 1000; }
""")
    view, o = arrays([1, 2]), [1.0, 3.0, 5.0]
    for cam in ({"view": view, "o": o, "w": 4, "f": 5}, (view, o, 4, 5), m.Cam(view, o, 4, 5), m.Cam(view=view, o=o, w=4, f=5)):
        b = arrays.zeros(1)
        launch(m.k(cam=cam, b=b), 1)
        assert arrays.read(b)[0] == 2 + 30 + 400 + 5000
    with pytest.raises(TypeError, match=r"cam \(Cam\) lacks o: its fields are view, o, w, f"):
        m.k(cam={"view": view, "w": 4, "f": 5}, b=b)


def test_nested_structures_of_pairs(load, arrays):
    m = load("""
struct Lin { DiffTensorView w; DiffTensorView b; }
struct Net { Lin l[3]; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void net(Net net, DiffTensorView x, DiffTensorView y)
{ $u; if (u.x >= x.size(0)) return;
  float v = x[u.x];
  [ForceUnroll] for (int i = 0; i < 3; i++) v = net.l[i].w[0] * v + net.l[i].b[0];
  y.storeOnce(u.x, v); }
""")
    ws, bs = [arrays([2.0]), arrays([3.0]), arrays([5.0])], [arrays([0.5]), arrays([0.25]), arrays([1.0])]
    gw = [arrays.zeros(1) for _ in range(3)]
    x, gx, y, gy = arrays([1, 2]), arrays.zeros(2), arrays.zeros(2), arrays([1, 1])
    layers = [m.Lin((ws[0], gw[0]), bs[0]), m.Lin((ws[1], gw[1]), bs[1]), m.Lin(ws[2], bs[2])]
    launch(m.net.bwd(net=m.Net(layers), x=(x, gx), y=(y, gy)), 2)
    np.testing.assert_array_equal(arrays.read(y), [39.75, 69.75])
    affine = lambda _, x, w0, w1: 5 * (w1 * (w0 * x + 0.5) + 0.25) + 1
    for own, expected in zip((gx, gw[0], gw[1]), gradients(affine, [[1, 2], [2], [3]], [1, 1])):
        np.testing.assert_allclose(arrays.read(own), expected, rtol=1e-6)
    np.testing.assert_array_equal(arrays.read(gw[2]), [0])


def test_host_functions(load):
    m = load("""
struct Out { float a; float3 b; }
[TorchEntryPoint] Out eval(float3 a, float s) { Out o; o.a = dot(a, a); o.b = a * s; return o; }
""")
    assert m.eval([1.0, 2.0, 3.0], 2) == (14.0, (2.0, 4.0, 6.0))


def test_host_functions_take_lists_and_nested_tuples(load):
    m = load("""
struct Inner { float2 v; int n; }
struct State { Inner a[2]; float2x2 m; bool flag; }
[TorchEntryPoint] State turn(float3 by, State s, float w[2])
{ State t = s; t.a[0] = s.a[1]; t.a[1].v *= by.z * w[1]; t.a[1].n += 1; t.m[0][1] = by.x; t.flag = !s.flag; return t; }
""")
    state = [([1, 2], 3), ((4, 5), 6)], [[1, 2], (3, 4)], True
    assert m.turn([10, 20, 30], state, (0, 2)) == ((((4, 5), 6), ((240, 300), 7)), ((1, 10), (3, 4)), False)
    with pytest.raises(TypeError, match=r"`s` has 3 fields \(a, m, flag\), but was given 2 values"):
        m.turn([10, 20, 30], state[:2], (0, 2))
    with pytest.raises(ValueError, match="`s.a` has 2 elements, but was given 1"):
        m.turn([10, 20, 30], (state[0][:1], *state[1:]), (0, 2))


HOST = """
[CudaKernel] void square(TensorView<float> a, TensorView<float> b)
{ $u; if (u.x < a.size(0) && u.y < a.size(1)) b[u.x, u.y] = a[u.x, u.y] * a[u.x, u.y]; }
[CudaKernel] void add(TensorView<float> a, TensorView<float2> b, float by, float3 v, int64_t n, bool minus)
{ $u; a[u.x, u.y] += (minus ? -1 : 1) * (by + v.y + float(n >> 33)) + b[u.x].y; }
struct Pair { TorchTensor<float> first; int rank; }

[TorchEntryPoint]
TorchTensor<float> squared(TorchTensor<float> a)
{
    var result = TorchTensor<float>.zerosLike(a);
    uint3 threads = uint3(4, 4, 1);
    __dispatch_kernel(square, uint3((a.size(0) + 3) / 4, (a.size(1) + 3) / 4, 1), threads)(a, result);
    return result;
}
[TorchEntryPoint]
Pair added(Pair p, float by)
{
    var b = TorchTensor<float2>.alloc(p.first.size(0));
    b.fillValue(float2(10, 20));
    if (p.rank == p.first.dims())
        for (uint j = 0; j < p.first.size(1); j++)
            __dispatch_kernel(add, uint3(1), uint3(p.first.size(0), 1, 1))(p.first, b.getView(), by, float3(1, 2, 3), int64_t(1) << 33, j > 0);
    Pair q = { TorchTensor<int>.alloc(1, 2, 3).dims() == 3 ? squared(p.first) : p.first, int(p.first.stride(0)) };
    syncTorchCudaStream();
    return q;
}
"""


def test_host_functions_make_tensors_and_launch_kernels(load, arrays):
    m = load(HOST)
    a = np.arange(15).reshape(5, 3)
    np.testing.assert_array_equal(arrays.read(m.squared(arrays(a))), a * a)
    # What is in tensors is not known to the host; strides are.
    given = arrays(np.zeros((2, 4)))[:, ::2]
    squares, stride = m.added((given, 2), 0.5)
    # The first launch adds 0.5 + 2 + 1 + 20, the second subtracts 3.5 and adds 20.
    np.testing.assert_array_equal(arrays.read(given)[:, 0], [40, 40])
    np.testing.assert_array_equal(arrays.read(squares)[:, 0], [1600, 1600])
    assert stride == 4
    assert set(dir(m)) == {"square", "add", "squared", "added", "syncTorchCudaStream", "Pair", "DiffTensorView"}
    with pytest.raises(TypeError, match="`a` takes an array or a tensor, but was given list"):
        m.squared([1, 2])
    with pytest.raises(RuntimeError, match="takes elements of type .*float32"):
        m.squared(arrays(a, "int32"))


def test_what_a_host_function_launches_must_be_a_kernel(load):
    m = load("""
[CudaKernel] void one(TensorView<float> a) { a[0] = 1; }
void none(TensorView<float> a) {}
[TorchEntryPoint] void f(TorchTensor<float> a) { __dispatch_kernel(none, uint3(1), uint3(1))(a); }
[TorchEntryPoint] void g(TorchTensor<float> a) { __dispatch_kernel(one, uint3(1), uint3(1))(a, 1.0); }
[TorchEntryPoint] void many(TorchTensor<float> a) { for (int i = 0; i < 3000; i++) a.fillValue(i); }
""")
    a = np.zeros(1, np.float32)
    with pytest.raises(TypeError, match="`none` is launched by __dispatch_kernel, but it is no kernel"):
        m.f(a)
    with pytest.raises(TypeError, match=r"one takes 1 arguments \(a\), but was launched with 2"):
        m.g(a)
    m.many(a)
    assert a[0] == 2999


def test_arguments_are_checked(load, arrays):
    m = load(MAP + SQUARE)
    x, y = arrays([1, 2]), arrays.zeros(2)
    with pytest.raises(ValueError, match="by name"):
        m.scale(x, y, 2)
    with pytest.raises(ValueError, match="lacks k; it has a, b, k"):
        m.scale(a=x, b=y)
    with pytest.raises(ValueError, match="no parameter c"):
        m.scale(a=x, b=y, k=1, c=2)
    with pytest.raises(ValueError, match="no backward derivative"):
        m.scale.bwd
    call = m.scale(a=x, b=y, k=1)
    with pytest.raises(ValueError, match="tuple of three integers"):
        call.launchRaw(blockSize=[1, 1, 1], gridSize=(1, 1, 1))
    call.launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
    with pytest.raises(RuntimeError, match="b takes elements of type .*float32"):
        launch(m.scale(a=x, b=arrays([1], "int32"), k=1), 1)
    with pytest.raises(TypeError, match="k takes a number of type float, but was given 'x'"):
        m.scale(a=x, b=y, k="x")
    with pytest.raises(ValueError, match="gradient has shape"):
        m.sq.bwd(a=(x, arrays.zeros(1)), b=(y, y))
    with pytest.raises(ValueError, match="gridSize must be a tuple of three integers from 0 up"):
        m.scale(a=x, b=y, k=1).launchRaw(blockSize=(1, 1, 1), gridSize=(np.int64(1), 1, 1))
    with pytest.raises(AttributeError, match="no function or entry point `nothing`"):
        m.nothing


def test_values_that_are_no_arrays_are_checked(load, arrays):
    m = load("""
struct Ball { float3 at; float w[2]; uint n; }
[AutoPyBindCUDA] [CUDAKernel] void k(TensorView<float> out, Ball ball, float2x3 m, int three[3], bool flag) { out[0] = ball.at.x + three[2]; }
""")
    out, ball, three, one = arrays.zeros(1), ([1, 2, 3], [4, 5], 6), (1, 2, 3), [[1, 2, 3], [4, 5, 6]]

    def call(**other):
        m.k(**{"out": out, "ball": ball, "m": one, "three": three, "flag": True, **other}).launchRaw((1, 1, 1), (1, 1, 1))

    call()
    assert arrays.read(out)[0] == 4
    call(ball=m.Ball(at=arrays([1, 2, 3]), w=arrays([4, 5]), n=np.uint32(6)), m=arrays(one))
    for wrong, error, text in [
        ({"ball": ([1, 2], [4, 5], 6)}, TypeError, "ball.at is float3 and takes 3 values, but was given 2 values"),
        ({"ball": ([1, 2, 3], [4], 6)}, ValueError, "ball.w is an array and takes 2 values, but was given 1"),
        ({"ball": ([1, 2, 3], [4, 5], -1)}, TypeError, "ball.n takes a number of type uint, but was given -1"),
        ({"ball": ([1, 2, 3], [4, 5])}, TypeError, r"ball \(Ball\) has 3 fields \(at, w, n\), but was given 2 values"),
        ({"ball": 7}, ValueError, r"ball \(Ball\) is a structure"),
        ({"m": [[1, 2], [3, 4]]}, TypeError, r"m\[0\] is float3 and takes 3 values"),
        ({"three": (1, 2)}, TypeError, "three is an array and takes 3 values, but was given 2"),
        ({"three": (1, 2, 2.5)}, TypeError, r"three\[2\] takes a number of type int, but was given 2.5"),
        ({"flag": 2}, TypeError, "flag takes a number of type bool, but was given 2"),
    ]:
        with pytest.raises(error, match=text):
            call(**wrong)


def test_a_call_without_launch_warns(load, arrays):
    m = load(MAP)
    with pytest.warns(UserWarning, match="not launched"):
        m.scale(a=arrays([1]), b=arrays([1]), k=1)


def test_a_trap_has_its_line(load, arrays):
    import cotangent

    m = load("""[AutoPyBindCUDA] [CUDAKernel]
void k(TensorView<float> a, uint n)
{
    a[n] = 1;
}
""")
    a = arrays([1, 2])
    with pytest.raises(cotangent.Trap, match="program.slang:4"):
        launch(m.k(a=a, n=2), 1)
        cotangent.synchronize()
    launch(m.k(a=a, n=1), 1)
    cotangent.synchronize()
    np.testing.assert_array_equal(arrays.read(a), [1, 1])


def test_flags_of_the_compiler(load, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "shared.slang").write_text("float shared() { return BY; }")
    text = "import shared;\n[TorchEntryPoint] float f() { return shared() * N; }"
    m = load(text, extraSlangFlags=["-DN=3", f"-I{tmp_path / 'more'}"], defines={"BY": "2.0"})
    assert m.f() == 6
    assert load(text, extraSlangFlags=["-DN", "-DBY=5"], includePaths=[tmp_path / "more"]).f() == 5
    with pytest.warns(UserWarning, match="extraSlangFlags has no effect: -O3"):
        load(text, extraSlangFlags=["-O3", "-DN=1", "-DBY=1"], includePaths=tmp_path / "more")


def test_errors_of_the_compiler_are_exceptions(load):
    with pytest.raises(slangtorch.CompileError, match="program.slang:1"):
        load("void f() { return x; }")


def test_editing_a_file_and_loading_again(load, arrays):
    first = load(MAP)
    second = load(MAP.replace("* k", "+ k"))
    for m, expected in ((first, 6), (second, 5), (first, 6)):
        y = arrays.zeros(1)
        launch(m.scale(a=arrays([2]), b=y, k=3), 1)
        assert arrays.read(y)[0] == expected
