"""Scenario 15: tensors of the module `slangpy` in structures and parameters, with the names of all versions."""

import numpy as np
import pytest

import cotangent
import cotangent.slangpy as spy

TRAINING = """
import slangpy;

struct Layer<int I, int O>
{
    Tensor<float, 2> w;
    RWTensor<float, 1> b;
    AtomicTensor<float, 2> gw;
    AtomicTensor<float, 1> gb;

    [Differentiable] float get(int o, int i) { return w.getv(int2(i, o)); }
    [BackwardDerivativeOf(get)] void get_bwd(int o, int i, float d) { gw.set({o, i}, d); }
    [Differentiable] float bias(int o) { return b.load(o); }
    [BackwardDerivativeOf(bias)] void bias_bwd(int o, float d) { gb.add(o, d); }

    [Differentiable] float[O] forward(float x[I])
    {
        float y[O];
        [ForceUnroll] for (int o = 0; o < O; o++)
        {
            y[o] = bias(o);
            [ForceUnroll] for (int i = 0; i < I; i++) y[o] += get(o, i) * x[i];
        }
        return y;
    }
}
struct Net
{
    Layer<4, 32> first;
    Layer<32, 1> last;
    [Differentiable] float eval(no_diff float2 p)
    {
        float x[4] = { p.x, p.y, sin(6 * p.x), sin(6 * p.y) };
        float h[32] = first.forward(x);
        [ForceUnroll] for (int i = 0; i < 32; i++) h[i] = max(h[i], 0.1 * h[i]);
        return last.forward(h)[0];
    }
}
float2 place(int2 pixel, uint2 noise) { return (float2(pixel) + float2(noise & 0xffff) / 65536.0) / 64.0; }
float wanted(float2 p) { return sin(9 * p.x) * cos(7 * p.y); }
[Differentiable] float loss(Net net, no_diff float2 p) { float e = net.eval(p) - wanted(p); return e * e; }
void train(Net net, int2 pixel, uint2 noise, float scale) { bwd_diff(loss)(net, place(pixel, noise), scale); }
float shown(Net net, int2 pixel, uint2 noise) { return loss(net, place(pixel, noise)); }
void adam(inout float p, inout float g, inout float m, inout float v, float lr, int t)
{
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    p -= lr * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
    g = 0;
}
"""
ACCESS = """
import slangpy;
void rows(Tensor<float, 2> t, RWTensor<float, 2> out_, int2 i) { out_[i] = 10 * t.load(i.y, i.x) + t.getv(i); }
void sums(Tensor<float3, 1> t, AtomicTensor<float3, 1> all, int i) { all.add(0, t[i]); all.set({1}, t[i]); }
[Differentiable] float picked(DiffTensor<float, 2> t, int2 i) { return t[i] * t.load(0, 0); }
[Differentiable] void put(DiffTensor<float, 1> x, WDiffTensor<float, 1> y, int i) { y.store(i, x[i] * x[i]); }
[Differentiable] float mixed(DiffTensor<float, 1> x, float k, int i) { return k * x[i]; }
float line(Tensor<float, 1> t, int i) { return t[i]; }
"""


@pytest.fixture(scope="module")
def m():
    return spy.Module.load_from_source(spy.create_device(), "access", ACCESS)


@pytest.fixture(params=["numpy", "torch"])
def tensor(request):
    """Makes tensors over memory of numpy and of torch."""
    if request.param == "numpy":
        return lambda values, dtype="float": spy.Tensor.from_numpy(None, values, dtype)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return lambda values, dtype="float": spy.Tensor.from_torch(None, torch.tensor(np.asarray(values), dtype=torch.float32), dtype)


def test_a_training_loop(tensor):
    """Layers in nested InstanceLists, samples from a grid and a hash, and an optimizer over tensors in place."""
    m = spy.Module.load_from_source(spy.create_device(), "network", TRAINING)

    class Layer(spy.InstanceList):
        def __init__(self, inputs, outputs):
            super().__init__(m[f"Layer<{inputs},{outputs}>"])
            random = np.random.default_rng(inputs)
            self.w, self.b = tensor(random.normal(0, inputs**-0.5, (outputs, inputs))), tensor(np.zeros(outputs))
            self.gw, self.gb = spy.Tensor.zeros_like(self.w), spy.Tensor.zeros_like(self.b)
            self.moments = [spy.Tensor.zeros_like(t) for t in (self.w, self.w, self.b, self.b)]

        def step(self, t):
            m.adam(self.w, self.gw, *self.moments[:2], 0.01, t)
            m.adam(self.b, self.gb, *self.moments[2:], 0.01, t)

    net = spy.InstanceList(m.Net, {"first": Layer(4, 32), "last": Layer(32, 1)})
    losses = []
    for t in range(1, 61):
        noise = spy.wang_hash(seed=t, warmup=2)
        m.train(net, spy.grid((32, 32)), noise, 1 / 1024)
        if t == 1:
            gradients = [net.first.gw.to_numpy(), net.last.gb.to_numpy()]
            weights = [t.to_numpy() for t in (net.first.w, net.first.b, net.last.w, net.last.b)]
        net.first.step(t)
        net.last.step(t)
        if t in (1, 60):
            shown = m.shown(net, spy.grid((32, 32)), noise)
            losses.append(float(np.mean(shown.to_numpy() if isinstance(shown, spy.Tensor) else shown.numpy())))
    assert losses[1] < 0.25 * losses[0]

    # The gradient of the first step, by hand in double.
    w, b, v, c = [t.astype(np.float64) for t in weights]
    pixels = np.stack(np.meshgrid(np.arange(32), np.arange(32)), -1)
    p = m.place(pixels, spy.wang_hash(seed=1, warmup=2), _result="numpy").astype(np.float64).reshape(-1, 2)
    x = np.concatenate([p, np.sin(6 * p)], 1)
    h = x @ w.T + b
    slope = np.where(h > 0.1 * h, 1, 0.1)
    e = (h * slope) @ v.T + c - (np.sin(9 * p[:, 0]) * np.cos(7 * p[:, 1]))[:, None]
    d = 2 * e / 1024
    np.testing.assert_allclose(gradients[0], ((d @ v) * slope).T @ x, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(gradients[1], d.sum(0), rtol=2e-3, atol=1e-5)


def test_indices_and_strides(m, tensor):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = tensor(np.zeros((2, 3)))
    m.rows(tensor(values), out, spy.grid((2, 3)))
    np.testing.assert_array_equal(out.to_numpy(), 11 * values)
    wide = tensor(np.arange(24).reshape(4, 6))
    m.rows(wide[::2, ::2], out, spy.grid((2, 3)))
    np.testing.assert_array_equal(out.to_numpy(), 11 * wide.to_numpy()[::2, ::2])
    if isinstance(out.storage, np.ndarray):
        m.rows(values[::-1, ::-1], out, spy.grid((2, 3)))
        np.testing.assert_array_equal(out.to_numpy(), 11 * values[::-1, ::-1])


def test_vectors_and_atomic_additions(m, tensor):
    total = tensor(np.zeros((2, 3)), "float3")
    m.sums(tensor(np.arange(12).reshape(4, 3), "float3"), total, spy.grid((4,)))
    assert total.to_numpy().tolist() == [[18, 22, 26]] * 2


def test_tensors_with_gradients(m, tensor):
    values = np.array([[2, 3], [4, 5]], np.float32)
    t = tensor(values).with_grads()
    out = spy.Tensor.zeros(None, (2, 2)).with_grads()
    m.picked(t, spy.grid((2, 2)), _result=out)
    np.testing.assert_array_equal(out.to_numpy(), 2 * values)
    out.grad.copy_from_numpy(np.array([[1, 10], [100, 1000]]))
    m.picked.bwds(t, spy.grid((2, 2)), _result=out)
    assert t.grad.to_numpy().tolist() == [[2 + 2 + 30 + 400 + 5000, 20], [200, 2000]]
    # Without gradients it is a constant.
    m.picked.bwds(t.detach(), spy.grid((2, 2)), _result=out)


def test_outputs_with_gradients(m, tensor):
    x, y = tensor([1, 2, 3]).with_grads(), tensor([0, 0, 0]).with_grads()
    m.put(x, y, spy.grid((3,)))
    assert y.to_numpy().tolist() == [1, 4, 9]
    y.grad.copy_from_numpy(np.array([1, 10, 100]))
    m.put.bwds(x, y, spy.grid((3,)))
    assert x.grad.to_numpy().tolist() == [2, 40, 600] and y.grad.to_numpy().tolist() == [1, 10, 100]


def test_numbers_beside_tensors(m, tensor):
    x, k = tensor([1, 2, 3]).with_grads(), spy.diffPair(2.0)
    out = spy.Tensor.zeros(None, (3,)).with_grads()
    out.grad.copy_from_numpy(np.ones(3))
    m.mixed.bwds(x, k, spy.grid((3,)), _result=out)
    assert x.grad.to_numpy().tolist() == [2, 2, 2] and k.grad == 6


def test_mistakes(m):
    one = np.ones(3, np.float32)
    with pytest.raises(RuntimeError, match=r"t is a tensor of 1 dimensions, but was given shape \(3, 3\)"):
        m.line(np.ones((3, 3), np.float32), spy.grid((3,)))
    with pytest.raises(RuntimeError, match="t takes elements of type float32, but was given float64"):
        m.line(np.ones(3), spy.grid((3,)))
    with pytest.raises(RuntimeError, match="t takes an array or a tensor, but was given list"):
        m.line([1, 2, 3], spy.grid((3,)))
    with pytest.raises(RuntimeError, match="all is read-only"):
        m.sums(np.ones((3, 3), np.float32), np.broadcast_to(one, (2, 3)), spy.grid((3,)))
    with pytest.raises(cotangent.Trap, match="out of bounds"):
        m.line(one, spy.grid((4,)))
    # An index beyond a size is not the index of another element.
    with pytest.raises(cotangent.Trap, match="out of bounds"):
        m.rows(np.ones((2, 3), np.float32), np.zeros((3, 2), np.float32), spy.grid((3, 2)))
    wrong = spy.Tensor(np.ones((2, 2), np.float32), grad_in=spy.Tensor(one), grad_out=spy.Tensor(one))
    with pytest.raises(ValueError, match=r"t: the gradient has shape \(3,\), but the tensor has \(2, 2\)"):
        m.picked(wrong, spy.grid((2, 2)))
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="`t` requires a gradient, but buffers and uniforms of line carry none"):
        m.line(torch.ones(3, requires_grad=True), spy.grid((3,)))
