"""slangpy's calls: scenario 14, and the surface that its users use."""

import numpy as np
import pytest

import cotangent
import cotangent.slangpy as spy

TEXT = """
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
float table(float a, float b) { return 10 * a + b; }
int place(int2 p) { return 100 * p.y + p.x; }
int cell(int p[2]) { return 100 * p[0] + p[1]; }
uint same(uint n) { return n; }
uint3 triple(uint3 n) { return n; }
float flat(float x) { return x; }
float3 color(float3 c, float k) { return c * k; }
struct Pair { float first; float2 second; }
Pair made(float x) { return { x, float2(2 * x, 3 * x) }; }
float used(Pair pair, float k) { return k * (pair.first + pair.second.x * pair.second.y); }
void parts(float x, out float y, out float3 z) { y = 2 * x; z = float3(x, 0, 1); }
void adam(inout float p, inout float g, inout float m, inout float v, float lr, int t)
{
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    p -= lr * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
    g = 0;
}
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
struct Net : IDifferentiable { Layer<2, 8> first; Layer<8, 1> last; }
[Differentiable] float loss(Net net, no_diff float2 p)
{
    float x[2] = { p.x, p.y };
    float h[8] = net.first.eval(x);
    for (int i = 0; i < 8; i++) h[i] = tanh(h[i]);
    float e = net.last.eval(h)[0] - sin(3 * p.x) * p.y;
    return e * e;
}
uniform float gain;
float scaled(float x) { return gain * x; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void square(int count, DiffTensorView input, DiffTensorView output)
{ int i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x; if (i < count) output.storeOnce(i, input[i] * input[i]); }
RWStructuredBuffer<uint> image;
[shader("compute")] [numthreads(4, 4, 1)]
void fill(uint3 id : SV_DispatchThreadID, uniform uint2 size) { if (all(id.xy < size)) image[id.y * size.x + id.x] = id.x + 10 * id.y; }
"""


@pytest.fixture(scope="module")
def device():
    return spy.create_device()


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "program", TEXT)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def full(*values, dtype=np.float32):
    return np.array(values, dtype)


class TestResults:
    def test_numbers_give_numbers(self, m):
        found = m.poly(2, 3)
        assert found == 21 and type(found) is float and m.poly(a=2, x=3) == m.poly(2, x=3) == 21
        assert m.made(1.0)["second"].tolist() == [2, 3]

    def test_containers_of_arguments(self, m, device):
        x = np.arange(30, dtype=np.float32).reshape(10, 3)
        a = full(1, 2, 3)
        for given in (x, spy.Tensor.from_numpy(device, x)):
            found = m.poly(a, given)
            assert isinstance(found, spy.Tensor) and found.shape == (10, 3) and found.dtype == "float"
            np.testing.assert_array_equal(found.to_numpy(), a * x * x + x)
        assert m.flat(range(4), _result="numpy").tolist() == [0, 1, 2, 3]

    def test_result_as_a_name_a_type_or_a_container(self, m, device):
        x = full(1, 2, 3)
        for wanted in ("numpy", np.ndarray):
            assert isinstance(m.poly(2, x, _result=wanted), np.ndarray)
        for wanted in ("tensor", spy.Tensor):
            assert isinstance(m.poly(2, x, _result=wanted), spy.Tensor)
        out = np.zeros(3, np.float32)
        assert m.poly(2, x, _result=out) is out and out.tolist() == [3, 10, 21]
        tensor = spy.Tensor.zeros(device, (2, 3), "float")
        m.poly(2, 3, _result=tensor)
        assert (tensor.to_numpy() == 21).all()
        with pytest.raises(ValueError, match="_result of poly is 'numpy', 'tensor' or a container, not 'texture'"):
            m.poly(2, x, _result="texture")

    def test_a_wrong_container(self, m):
        with pytest.raises(ValueError, match="Shape mismatch"):
            m.poly(2, full(1, 2, 3), _result=np.zeros(2, np.float32))
        with pytest.raises(ValueError, match=r"_result of poly has shape \(1,\), but was to be written with \(3,\)"):
            m.poly(2, full(1, 2, 3), _result=np.zeros(1, np.float32))

    def test_structures(self, m):
        pairs = {"_type": "Pair", "first": full(1, 2), "second": {"x": full(3, 4), "y": 5.0}}
        assert m.used(pairs, 2.0, _result="numpy").tolist() == [32, 44]
        assert m.color({"x": 1, "y": 2, "z": 3}, 2).tolist() == [2, 4, 6]
        assert m.color(spy.float3(1, 2, 3), full(1, 2)).to_numpy().shape == (2, 3)

    def test_out_and_inout(self, m, device):
        y, z = spy.floatRef(), spy.ValueRef()
        assert m.parts(3.0, y, z) is None
        assert y.value == 6 and z.value.tolist() == [3, 0, 1]
        y, z = np.zeros(2, np.float32), spy.Tensor.zeros(device, (2,), "float3")
        m.parts(full(1, 2), y, z)
        assert y.tolist() == [2, 4] and z.to_numpy()[:, 0].tolist() == [1, 2]
        with pytest.raises(TypeError, match=r"`p` of adam is written: give a tensor, an array, or floatRef\(\), not float"):
            m.adam(1.0, y, y, y, 0.1, 1)
        with pytest.raises(TypeError, match="`y` of parts is written"):
            m.parts(1.0)


class TestShapes:
    def test_broadcasting(self, m):
        assert m.poly(np.ones((10, 1)), np.ones(3)).shape == (10, 3)
        with pytest.raises(ValueError, match="the arguments of poly do not fit together"):
            m.poly(np.ones(2), np.ones(3))

    def test_maps(self, m):
        a, b = np.arange(2.0), np.arange(3.0)
        expected = 10 * a[:, None] + b
        np.testing.assert_array_equal(m.table.map((0,), (1,))(a, b, _result="numpy"), expected)
        np.testing.assert_array_equal(m.table.map(a=(1,), b=(0,))(a, b, _result="numpy"), expected.T)
        turned = m.flat.map((1, 0))(expected, _result="numpy")
        np.testing.assert_array_equal(turned, expected.T)
        with pytest.raises(ValueError, match="`a` of table has 1 dimensions to map, but map has 2"):
            m.table.map((0, 1), (1,))(a, b)

    def test_elements_of_vectors(self, m, device):
        c = spy.Tensor.from_numpy(device, np.arange(6).reshape(2, 3).astype(np.float32), "float3")
        assert c.shape == (2,) and c.element_count == 2
        tinted = m.color(c, 2.0)
        assert tinted.shape == (2,) and tinted.dtype == "float3" and m.color(c, 2.0, _result="tensor").dtype == "float3"
        found = m.color(c, 2.0, _result="numpy")
        assert found.tolist() == [[0, 2, 4], [6, 8, 10]]
        with pytest.raises(TypeError, match="`x` of poly is of type float, but was given elements of type float3"):
            m.poly(2, c)
        flat = spy.Tensor.from_numpy(device, np.ones((2, 3), np.float32))
        assert m.color(flat, 1.0, _result="numpy").shape == (2, 3)

    def test_uniforms(self, m):
        assert m.scaled.set({"gain": 3})(2.0) == m.scaled.set(gain=3)(2.0) == 6


class TestGenerators:
    def test_indices(self, m):
        """Vectors are (x, y), which is (column, row); arrays are in the order of the dimensions."""
        expected = 100 * np.arange(2)[:, None] + np.arange(3)
        np.testing.assert_array_equal(m.place(spy.grid((2, 3)), _result="numpy"), expected)
        np.testing.assert_array_equal(m.cell(spy.grid((2, 3)), _result="numpy"), expected)
        np.testing.assert_array_equal(m.place(spy.call_id(), _result=np.zeros((2, 3), np.int32)), expected)
        np.testing.assert_array_equal(m.cell(spy.grid((2, 3), offset=(4, 5), stride=(2, 1)), _result="numpy"),
                                      100 * (4 + 2 * np.arange(2))[:, None] + 5 + np.arange(3))
        assert m.same(spy.thread_id(), _result=np.zeros((2, 2), np.uint32)).tolist() == [[0, 1], [2, 3]]
        with pytest.raises(ValueError, match="`p` of place takes 2 numbers, but the call has 1 dimensions"):
            m.place(spy.grid((4,)))

    def test_hashes(self, m):
        def w(s):
            s = (s ^ 61 ^ (s >> 16)) & 0xFFFFFFFF
            s = s * 9 & 0xFFFFFFFF
            s ^= s >> 4
            s = s * 0x27D4EB2D & 0xFFFFFFFF
            return s ^ (s >> 15)

        found = m.same(spy.wang_hash(seed=7, warmup=2), _result=np.zeros(5, np.uint32))
        assert found.tolist() == [w(w(w(i)) ^ w(7)) for i in range(5)]
        found = m.triple(spy.wang_hash(seed=7, hash_seed=False), _result="numpy")
        assert found.tolist() == [w(7), w(w(7)), w(w(w(7)))]
        wide = m.triple(spy.wang_hash(seed=1), _result=spy.Tensor.zeros(None, (2,), "uint3")).to_numpy()
        assert wide[1].tolist() == [w(3 ^ w(1)), w(w(3 ^ w(1))), w(w(w(3 ^ w(1))))]
        parts = m.flat(spy.rand_float(min=2, max=4, seed=3), _result=np.zeros(100, np.float32))
        assert parts.min() >= 2 and parts.max() < 4 and parts.std() > 0.3
        np.testing.assert_allclose(parts[9], 2 + 2 * (w(9 ^ w(3)) & 0x7FFFFF) / 2**23, rtol=1e-6)

    def test_sizes_from_other_arguments(self, m):
        found = m.table(spy.grid((-1,)), np.zeros(3), _result="numpy")
        assert found.tolist() == [0, 10, 20]


class TestGradients:
    def test_poly(self, m, device):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = spy.Tensor.from_numpy(device, x).with_grads()
        a = spy.Tensor.from_numpy(device, full(1, 2, 3)).with_grads()
        out = m.poly(a, tensor).with_grads()
        out.grad_in.copy_from_numpy(np.full((2, 3), 2))
        assert m.poly.bwds(a=a, x=tensor, _result=out) is None
        np.testing.assert_allclose(tensor.grad.to_numpy(), 2 * (2 * a.to_numpy() * x + 1))
        np.testing.assert_allclose(a.grad_out.to_numpy(), 2 * (x * x).sum(0))
        m.poly.bwds(2, tensor, _result=out)
        np.testing.assert_allclose(tensor.grad.to_numpy(), 2 * (2 * a.to_numpy() * x + 1) + 2 * (4 * x + 1))
        assert (out.grad_in.to_numpy() == 2).all()

    def test_pairs_and_maps(self, m, device):
        p = spy.diffPair(3.0)
        out = spy.Tensor.zeros(device, ()).with_grads()
        out.grad.copy_from_numpy(np.ones(()))
        m.poly.bwds(2.0, p, _result=out)
        assert p.grad == 13
        m = spy.Module.load_from_source(device, "outer", "[Differentiable] float outer(float a, float b) { return a * b; }")
        a, b = (spy.Tensor.from_numpy(device, full(*v)).with_grads() for v in ((1, 2), (3, 4, 5)))
        out = m.outer.map((1,), (0,))(a, b).with_grads()
        assert out.shape == (3, 2)
        out.grad.copy_from_numpy(np.ones((3, 2)))
        m.outer.map((1,), (0,)).bwds(a, b, _result=out)
        assert a.grad.to_numpy().tolist() == [12, 12] and b.grad.to_numpy().tolist() == [3, 3, 3]

    def test_mistakes(self, m, device):
        x = spy.Tensor.zeros(device, (3,)).with_grads()
        with pytest.raises(TypeError, match=r"`table` has no backward derivative: mark it \[Differentiable\]"):
            m.table.bwds(1.0, x, _result=x)
        with pytest.raises(ValueError, match="poly.bwds reads the gradient of _result"):
            m.poly.bwds(1.0, x)
        with pytest.raises(ValueError, match="poly.bwds reads the gradient of _result"):
            m.poly.bwds(1.0, x, _result=x.detach())

    def test_torch(self, m, torch):
        """After a call without gradients, and twice."""
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        assert not m.poly(2.0, x.detach()).requires_grad
        y = m.poly(2.0, x)
        assert isinstance(y, torch.Tensor)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        assert x.grad.tolist() == [10, 18]
        out = torch.zeros(2)
        m.poly(2.0, x, _result=out)
        assert out.requires_grad and out.tolist() == [3, 10]
        x.grad = None
        out.sum().backward()
        assert x.grad.tolist() == [5, 9]
        g = torch.zeros(2)
        m.poly.bwds(2.0, spy.diff_pair(x.detach(), g), _result=spy.diff_pair(out.detach(), torch.ones(2)))
        assert g.tolist() == [5, 9]


class TestStructures:
    def test_instances_are_arguments(self, m):
        layer = m["Layer<2, 8>"]
        assert layer.fields == ["w", "b"] and m["Layer<2,8>"].fields == m.require_struct("Layer<2, 8>").fields
        with pytest.raises(AttributeError, match="has no field `weights`: its fields are w, b"):
            spy.InstanceList(layer, {"weights": 1})
        with pytest.raises(AttributeError, match="no function or structure `Missing`"):
            m.Missing
        with pytest.raises(AttributeError):
            m["Layer<none>"]
        assert m.find_struct("Missing") is None and m.find_function("poly").name == "poly"

    def test_a_nested_network_is_trained(self, m, device):
        """Layers in a network as InstanceLists, samples by a hash, and an optimizer that works in place."""

        class Layer(spy.InstanceList):
            def __init__(self, inputs, outputs):
                super().__init__(m[f"Layer<{inputs},{outputs}>"])
                random = np.random.default_rng(inputs)
                self.w = spy.Tensor.from_numpy(device, random.normal(0, 0.7, outputs * inputs).astype(np.float32)).with_grads()
                self.b = spy.Tensor.zeros(device, (outputs,), "float").with_grads()
                self.moments = [(spy.Tensor.zeros_like(t), spy.Tensor.zeros_like(t)) for t in (self.w, self.b)]

            def step(self, t):
                for tensor, (m1, m2) in zip((self.w, self.b), self.moments):
                    m.adam(tensor, tensor.grad, m1, m2, 0.02, t)

        layers = [Layer(2, 8), Layer(8, 1)]
        net = spy.InstanceList(m.Net, {"first": layers[0], "last": layers[1]})
        losses = []
        for t in range(1, 301):
            p = spy.Tensor.empty(device, (256,), "float2")
            random = np.random.default_rng(t)
            p.copy_from_numpy(random.uniform(0, 1, (256, 2)))
            loss = m.loss(net, p).with_grads()
            losses.append(loss.to_numpy().mean())
            loss.grad.copy_from_numpy(np.full(256, 1 / 256))
            m.loss.bwds(net, p, _result=loss)
            for layer in layers:
                layer.step(t)
        assert losses[-1] < 0.06 * losses[0]
        assert (layers[0].w.grad.to_numpy() == 0).all()

    def test_an_object_with_get_this(self, m):
        class Pair:
            def get_this(self):
                return {"first": 1.0, "second": [2.0, 3.0]}

        assert m.used(Pair(), 2.0) == 14


class TestKernels:
    def test_kernels_over_tensors(self, m):
        x, y = full(1, 2, 3), np.zeros(3, np.float32)
        m.square(count=3, input=x, output=y, _thread_count=3)
        assert y.tolist() == [1, 4, 9]
        gx = np.zeros(3, np.float32)
        m.square.bwds(count=3, input=spy.diff_pair(x, gx), output=spy.diff_pair(y, np.ones(3, np.float32)), _thread_count=3)
        assert gx.tolist() == [2, 4, 6]

    def test_dispatch(self, m):
        image = np.zeros(12, np.uint32)
        m.fill.dispatch((6, 2, 1), vars={"image": image}, size=[6, 2])
        assert image.reshape(2, 6)[1].tolist() == [10, 11, 12, 13, 14, 15]


class TestTensors:
    def test_views_and_copies(self, device):
        t = spy.Tensor.from_numpy(device, np.arange(12, dtype=np.float32).reshape(2, 2, 3), "float3")
        assert t.shape == (2, 2) and t.strides == (2, 1) and t.is_contiguous() and t[1, 0].to_numpy().tolist() == [6, 7, 8]
        assert t[:, 1].shape == (2,) and not t[:, 1].is_contiguous() and t.view((4,)).shape == (4,)
        assert t[0].broadcast_to((5, 2)).shape == (5, 2)
        t[0].clear()
        assert t.to_numpy()[0].sum() == 0 and t.to_numpy()[1].sum() > 0
        with pytest.raises(IndexError, match="has no element"):
            t[0, 0, 0]
        with pytest.raises(ValueError, match=r"elements of type float3 have shape \(3,\), but the array has \(2,\)"):
            spy.Tensor(np.zeros(2, np.float32), "float3")
        assert spy.Tensor.zeros(device, (2,), dtype=float).dtype == "float"
        assert spy.Tensor.zeros(device, (2,), dtype="int").to_numpy().dtype == np.int32

    def test_types_of_modules(self, m, device):
        assert spy.Tensor.empty(device, shape=(2,), dtype=m.float3).to_numpy().shape == (2, 3)
        with pytest.raises(TypeError, match="Pair is a structure: use InstanceTensor"):
            spy.Tensor.empty(device, (2,), m.Pair)
        pairs = spy.InstanceTensor(m.Pair, (4,))
        pairs.first[...] = 2
        assert m.used(pairs, 1.0, _result="numpy").tolist() == [2] * 4

    def test_torch(self, device, torch):
        t = torch.zeros(3)
        own = spy.Tensor.from_torch(device, t)
        own.copy_from_numpy([1, 2, 3])
        assert t.tolist() == [1, 2, 3] and own.to_torch() is t and spy.Tensor.from_numpy(device, full(1)).to_torch().tolist() == [1]


def test_modules_from_files(tmp_path, device):
    (tmp_path / "own.slang").write_text('#include "other.slang"\nfloat f(float x) { return SCALE * twice(x); }')
    (tmp_path / "other.slang").write_text("float twice(float x) { return 2 * x; }")
    found = spy.Module.load_from_file(
        spy.Device(include_paths=[tmp_path], compiler_options={"defines": {"SCALE": 3}}), "own.slang"
    )
    assert found.f(1) == 6
    with pytest.raises(cotangent.CompileError):
        spy.Module.load_from_source(device, "wrong", "float f() { return y; }")
    with pytest.raises(TypeError, match="poly lacks x"):
        spy.Module.load_from_source(device, "m", TEXT).poly(1)
