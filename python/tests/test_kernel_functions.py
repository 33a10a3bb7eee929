"""Kernels over plain buffers: launches, their derived kernels, and kernels as functions of torch."""

import numpy as np
import pytest

import cotangent

NETWORK = """
StructuredBuffer<float> x;
StructuredBuffer<float> weights;
RWStructuredBuffer<float> y;
uniform float scale;
uniform float2 shift;

[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uniform uint n)
{
    if (id.x >= n) return;
    float sum = 0;
    for (int j = 0; j < 3; j++)
        sum += tanh(x[id.x] * weights[j]);
    y[id.x] = scale * sum + shift.x * shift.y;
}
"""
STATE = """
RWStructuredBuffer<float> state;
uniform float k;
[numthreads(4, 1, 1)] void step(uint3 id : SV_DispatchThreadID) { state[id.x] = sin(state[id.x]) * k; }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=NETWORK)


def network(x, w, scale, shift):
    return scale * np.tanh(np.outer(x, w)).sum(1) + shift[0] * shift[1]


def test_a_derived_kernel_adds_gradients(m, arrays):
    random = np.random.default_rng(5)
    x, w, c = random.normal(size=40), random.normal(size=3), random.normal(size=40)
    gx, gw, gs, gshift = arrays.zeros(40), arrays(np.ones(3)), arrays.zeros(1), arrays.zeros(2)
    gy = arrays(c)
    call = m.main.bwd(
        x=(arrays(x), gx), weights=(arrays(w), gw), y=(arrays.zeros(40), gy), n=40, scale=(2.0, gs), shift=((3.0, 5.0), gshift)
    )
    call.launch(2)
    slope = 1 - np.tanh(np.outer(x, w)) ** 2
    np.testing.assert_allclose(arrays.read(gx), 2 * c * (slope * w).sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(arrays.read(gw), 1 + 2 * (c[:, None] * slope * x[:, None]).sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(arrays.read(gs), (c * np.tanh(np.outer(x, w)).sum(1)).sum(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(arrays.read(gshift), c.sum() * np.array([5, 3]), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(arrays.read(gy), np.zeros(40))


def test_a_forward_kernel_gives_tangents(m, arrays):
    x, w, t = np.linspace(-1, 1, 32), np.array([1.0, 2.0, 3.0]), np.cos(np.arange(32.0))
    ty = arrays.zeros(32)
    m.main.fwd(
        x=(arrays(x), arrays(t)), weights=arrays(w), y=(arrays.zeros(32), ty), n=32, scale=2.0, shift=(0.0, 0.0)
    ).launch(1)
    expected = 2 * t * ((1 - np.tanh(np.outer(x, w)) ** 2) * w).sum(1)
    np.testing.assert_allclose(arrays.read(ty), expected, rtol=1e-4, atol=1e-5)


def test_what_a_kernel_overwrites_stays(arrays):
    m = cotangent.load(source=STATE)
    state, g = arrays([0.1, 0.2, 0.3, 0.4]), arrays(np.ones(4))
    m.step.bwd(state=(state, g), k=2.0).launch(1)
    np.testing.assert_allclose(arrays.read(state), [0.1, 0.2, 0.3, 0.4], rtol=1e-6)
    np.testing.assert_allclose(arrays.read(g), 2 * np.cos([0.1, 0.2, 0.3, 0.4]), rtol=1e-5)


def test_derivatives_pass_through_what_nobody_asks_for(arrays):
    m = cotangent.load(source="""
StructuredBuffer<float> x; RWStructuredBuffer<float> between; RWStructuredBuffer<float> y;
[numthreads(4, 1, 1)] void both(uint3 id : SV_DispatchThreadID)
{ between[id.x] = x[id.x] * x[id.x]; y[id.x] = sin(between[id.x]); }
""")
    x = np.array([0.5, 1, 1.5, 2], np.float32)
    gx = arrays.zeros(4)
    m.both.bwd(x=(arrays(x), gx), between=arrays.zeros(4), y=(arrays.zeros(4), arrays(np.ones(4)))).launch(1)
    np.testing.assert_allclose(arrays.read(gx), np.cos(x * x) * 2 * x, rtol=1e-4)


def test_buffers_of_structures(arrays):
    m = cotangent.load(source="""
struct P { float2 at; int kind; float w; };
StructuredBuffer<P> all; RWStructuredBuffer<float> y;
[numthreads(2, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { P p = all[id.x]; y[id.x] = p.at.x * p.at.y + p.kind * p.w; }
""")
    if arrays.device != "numpy":
        pytest.skip("torch has no arrays of structures")
    all = np.zeros(2, [("at", np.float32, 2), ("kind", np.int32), ("w", np.float32)])
    all["at"], all["kind"], all["w"] = [[2, 3], [4, 5]], [1, 2], [10, 100]
    y, g = np.zeros(2, np.float32), np.zeros(6, np.float32)
    m.k(all=all, y=y).launch(1)
    np.testing.assert_array_equal(y, [16, 220])
    m.k.bwd(all=(all, g), y=(y, np.ones(2, np.float32))).launch(1)
    # Three floats of each: at.x, at.y, w.
    np.testing.assert_array_equal(g, [3, 2, 1, 5, 4, 2])
    with pytest.raises(RuntimeError, match="structured dtype of 16 bytes"):
        m.k(all=np.zeros(8, np.float32), y=y)


def test_mistakes(m, arrays):
    a = arrays.zeros(4)
    with pytest.raises(ValueError, match="lacks scale, shift; it has n, x, weights, y, scale, shift"):
        m.main(x=a, weights=a, y=a, n=1)
    with pytest.raises(ValueError, match="n of main carries no derivative; these do: x, weights, y, scale, shift"):
        m.main.bwd(x=a, weights=a, y=a, n=(1, a), scale=1, shift=(1, 1))
    with pytest.raises(ValueError, match="the derivative of x has 4 numbers, but was given 3 numbers"):
        m.main.bwd(x=(a, arrays.zeros(3)), weights=a, y=a, n=1, scale=1, shift=(1, 1))
    with pytest.raises(TypeError, match="scale takes a number of type float, but was given '1'"):
        m.main(x=a, weights=a, y=a, n=1, scale="1", shift=(1, 1))
    with pytest.raises(TypeError, match=r"shift is float2 and takes 2 values, but was given 3 values"):
        m.main(x=a, weights=a, y=a, n=1, scale=1, shift=(1, 1, 1))
    with pytest.raises(RuntimeError, match="x takes elements of type .*float32, but was given .*float64"):
        m.main(x=arrays.zeros(4, "float64"), weights=a, y=a, n=1, scale=1, shift=(1, 1))
    with pytest.raises(ValueError, match="x is a buffer: its array must be contiguous"):
        m.main(x=arrays.zeros(8)[::2], weights=a, y=a, n=1, scale=1, shift=(1, 1))
    with pytest.raises(TypeError, match="blocks are one to three integers, not 1.5"):
        m.main(x=a, weights=a, y=a, n=1, scale=1, shift=(1, 1)).launch(1.5)


def test_code_of_kernels(m):
    assert "@compute" in m.main.code("wgsl")
    assert "weights_grad" in m.main.bwd.code("wgsl") and "__global__" in m.main.fwd.code("cuda")
    with pytest.raises(ValueError, match="no target `fortran`: the targets are cpp, cuda"):
        m.main.code("fortran")


def test_arrays_that_cannot_be_written(m):
    a = np.zeros(4, np.float32)
    a.flags.writeable = False
    m.main(x=a, weights=a, y=np.zeros(4, np.float32), n=4, scale=1, shift=(1, 1)).launch(1)
    with pytest.raises(RuntimeError, match="y is read-only"):
        m.main(x=a, weights=a, y=a, n=1, scale=1, shift=(1, 1))


def test_vectors_of_buffers_have_their_shape():
    m = cotangent.load(source="""
StructuredBuffer<float3> v; RWStructuredBuffer<float> y;
[numthreads(1, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { y[id.x] = v[id.x].z; }
""")
    y = np.zeros(2, np.float32)
    m.k(v=np.arange(6, dtype=np.float32).reshape(2, 3), y=y).launch(2)
    np.testing.assert_array_equal(y, [2, 5])
    with pytest.raises(ValueError, match=r"elements of type float3: the last dimensions of its array must be \(3,\)"):
        m.k(v=np.zeros((3, 2), np.float32), y=y)


class TestFunctions:
    """Kernels as functions of torch."""

    @pytest.fixture(params=["cpu", "cuda"])
    def on(self, request):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        if request.param == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        return request.param

    def test_gradients_are_those_of_torch(self, m, on):
        import torch

        torch.manual_seed(2)
        make = lambda *shape: torch.randn(*shape, device=on, requires_grad=True)
        x, w, scale, shift = make(40), make(3), make(()), make(2)
        f = m.main.function(out={"y": lambda a: a["x"].shape}, blocks=lambda a: -(-a["x"].numel() // 32))
        c = torch.randn(40, device=on)
        (f(x=x, weights=w, scale=scale, shift=shift, n=40) * c).sum().backward()
        own = [t.detach().double().requires_grad_() for t in (x, w, scale, shift)]
        expected = own[2] * torch.tanh(own[0][:, None] * own[1]).sum(1) + own[3][0] * own[3][1]
        (expected * c).sum().backward()
        for mine, other in zip((x, w, scale, shift), own):
            torch.testing.assert_close(mine.grad, other.grad.float(), rtol=1e-4, atol=1e-4)

    def test_strided_and_expanded_arguments(self, m, on):
        import torch

        base, one = torch.randn(16, 2, device=on, requires_grad=True), torch.ones(1, device=on, requires_grad=True)
        f = m.main.function(out={"y": 16}, blocks=1)
        f(x=base[:, 1], weights=one.expand(3), scale=1.0, shift=(0, 0), n=16).sum().backward()
        x = base.detach()[:, 1].double()
        slope = 3 * (1 - torch.tanh(x) ** 2)
        torch.testing.assert_close(base.grad[:, 1], slope.float(), rtol=1e-4, atol=1e-5)
        assert (base.grad[:, 0] == 0).all()
        torch.testing.assert_close(one.grad, (slope * x).sum().float()[None], rtol=1e-4, atol=1e-4)

    def test_arguments_are_not_changed(self, on):
        import torch

        m = cotangent.load(source=STATE + """
RWStructuredBuffer<float> after;
[numthreads(4, 1, 1)] void next(uint3 id : SV_DispatchThreadID) { state[id.x] *= k; after[id.x] = state[id.x] * state[id.x]; }
""")
        state = torch.tensor([1.0, 2, 3, 4], device=on, requires_grad=True)
        f = m.next.function(out={"after": 4}, blocks=1)
        f(state=state, k=3.0).sum().backward()
        torch.testing.assert_close(state.detach().cpu(), torch.tensor([1.0, 2, 3, 4]))
        torch.testing.assert_close(state.grad.cpu(), 18 * torch.tensor([1.0, 2, 3, 4]))

    def test_kernels_of_slangtorch(self, on):
        import torch

        m = cotangent.load(source="""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void sq(DiffTensorView a, DiffTensorView b)
{ uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x; if (i < a.size(0)) b.storeOnce(i, a[i] * a[i]); }
""")
        f = m.sq.function(out={"b": lambda a: a["a"].shape}, blocks=1, threads=32)
        a = torch.randn(20, device=on, requires_grad=True)
        f(a=a).sum().backward()
        torch.testing.assert_close(a.grad, 2 * a.detach())
        with torch.no_grad():
            assert not f(a=a).requires_grad

    def test_mistakes(self, m, on):
        import torch

        with pytest.raises(ValueError, match="main has no parameter z"):
            m.main.function(out={"z": 1}, blocks=1)
        f = m.main.function(out={"y": 4}, blocks=1)
        a = torch.zeros(4, device=on)
        with pytest.raises(ValueError, match="y of main is a result"):
            f(x=a, weights=a, y=a)
        with pytest.raises(ValueError, match="main lacks scale"):
            f(x=a, weights=a, n=4, shift=(1, 1))

    def test_second_derivatives_are_reported(self, on):
        import torch

        m = cotangent.load(source="""
            StructuredBuffer<float> x;
            RWStructuredBuffer<float> y;
            [numthreads(1, 1, 1)]
            void square(uint3 id : SV_DispatchThreadID) { y[id.x] = x[id.x] * x[id.x]; }
        """)
        square = m.square.function(out={"y": lambda a: a["x"].shape}, blocks=lambda a: a["x"].numel())
        x = torch.tensor([3.0], device=on, requires_grad=True)
        (gradient,) = torch.autograd.grad(square(x=x).sum(), x, create_graph=True)
        assert gradient.tolist() == [6.0]
        with pytest.raises(RuntimeError, match="first order"):
            (gradient * x).sum().backward()

    def test_tensors_in_structures_of_tensors(self, on):
        import torch

        m = cotangent.load(source="""
struct Linear { DiffTensorView w; DiffTensorView b; TensorView<float> gain; float scale; }
struct Net { Linear layers[2]; int n; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void apply(Net net, DiffTensorView x, DiffTensorView y)
{
    uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x;
    if (i >= x.size(0)) return;
    float v = x[i];
    [ForceUnroll] for (int l = 0; l < 2; l++)
        v = net.layers[l].gain[0] * net.layers[l].scale * tanh(net.layers[l].w[i] * v + net.layers[l].b[0]);
    y.storeOnce(i, v);
}
""")
        torch.manual_seed(3)
        make = lambda *shape: torch.randn(*shape, device=on, requires_grad=True)
        f = m.apply.function(out={"y": lambda a: a["x"].shape}, blocks=1, threads=32)
        x, w, b, v, gain = make(20), make(20), make(1), make(20), torch.full((1,), 1.5, device=on)
        constant = torch.randn(1, device=on)
        layers = [{"w": w, "b": b, "gain": gain, "scale": 0.5}, (v, (constant,), gain, 2.0)]
        f(net={"layers": layers, "n": 2}, x=x).square().sum().backward()
        own = [t.detach().double().requires_grad_() for t in (x, w, b, v)]
        first = 0.75 * torch.tanh(own[1] * own[0] + own[2])
        (3 * torch.tanh(own[3] * first + constant.double())).square().sum().backward()
        for mine, other in zip((x, w, b, v), own):
            torch.testing.assert_close(mine.grad, other.grad.float(), rtol=1e-4, atol=1e-4)
        layers[0]["gain"] = gain.clone().requires_grad_()
        with pytest.raises(TypeError, match=r"net.layers\[0\].gain of apply requires a gradient, but carries none: make it a `DiffT"):
            f(net={"layers": layers, "n": 2}, x=x)
        with torch.no_grad():
            assert f(net={"layers": layers, "n": 2}, x=x).shape == (20,)
        with pytest.raises(TypeError, match="lacks n: its fields are layers, n"):
            f(net={"layers": layers}, x=x)
        with pytest.raises(TypeError, match="x of apply was given a gradient, but a function makes it"):
            f(net={"layers": layers, "n": 2}, x=(x, x))

    def test_tensors_in_structures_of_buffers_and_numbers(self, on):
        import torch

        m = cotangent.load(source="""
struct Curve { StructuredBuffer<float> knots; float2 slope; float gain; }
uniform Curve curve;
RWStructuredBuffer<float> y;
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uniform uint n)
{
    if (id.x < n) y[id.x] = curve.gain * curve.knots[id.x] * curve.slope.x + curve.slope.y;
}
""")
        make = lambda *shape: torch.randn(*shape, device=on, requires_grad=True)
        knots, slope, gain = make(9), make(2), make(())
        f = m.main.function(out={"y": 9}, blocks=1)
        f(curve={"knots": knots, "slope": slope, "gain": gain}, n=9).square().sum().backward()
        own = [t.detach().double().requires_grad_() for t in (knots, slope, gain)]
        (own[2] * own[0] * own[1][0] + own[1][1]).square().sum().backward()
        for mine, other in zip((knots, slope, gain), own):
            torch.testing.assert_close(mine.grad, other.grad.float(), rtol=1e-4, atol=1e-4)

    def test_lists_of_tensors_are_one_tensor(self, m, on):
        import torch

        x = torch.randn(4, device=on)
        shift = [torch.tensor(2.0, device=on, requires_grad=True), torch.tensor(3.0, device=on, requires_grad=True)]
        f = m.main.function(out={"y": 4}, blocks=1)
        f(x=x, weights=torch.ones(3, device=on), scale=1.0, shift=shift, n=4).sum().backward()
        assert [t.grad.item() for t in shift] == [12, 8]
        with pytest.raises(ValueError, match="`shift` of main was given a list of tensors that are not alike"):
            f(x=x, weights=x, scale=1.0, shift=[x, torch.ones(2, device=on)], n=4)

    def test_tensors_that_the_kernel_writes_beside_its_results(self, on):
        import torch

        m = cotangent.load(source="""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void count(DiffTensorView a, TensorView<int> counts, DiffTensorView b)
{ uint i = cudaThreadIdx().x; counts[i] = counts[i] + 1; b.storeOnce(i, a[i] * counts[i]); }
""")
        a, counts = torch.ones(3, device=on, requires_grad=True), torch.tensor([1, 2, 3], dtype=torch.int32, device=on)
        b = m.count.function(out={"b": 3}, blocks=1, threads=3)(a=a, counts=counts)
        b.sum().backward()
        assert b.tolist() == a.grad.tolist() == [2, 3, 4] and counts.tolist() == [1, 2, 3]
