"""Gradients by torch's autograd."""

import numpy as np
import pytest

import cotangent

torch = pytest.importorskip("torch", reason="torch is not installed")

TEXT = """
[Differentiable] float wave(float2 v, float k) { return sin(v.x * k) * v.y * v.y; }
[Differentiable] double smooth(double x, double y) { return sin(x) * exp(y) * x; }
struct Blob : IDifferentiable { float2 mu; float width; }
[Differentiable] float blob(Blob b, float2 p) { float2 d = p - b.mu; return exp(-dot(d, d) / b.width); }
[Differentiable] float3 rotate(float3 v, inout float angle) { angle = angle * 2; return float3(v.x * cos(angle), v.y * sin(angle), v.z); }
int cell(float x) { return int(x); }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=TEXT)


@pytest.fixture(params=["cpu", "cuda"])
def on(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return request.param


def wave(v, k):
    return torch.sin(v[..., 0] * k) * v[..., 1] ** 2


def test_gradients_are_those_of_torch(m, on):
    torch.manual_seed(1)
    v = torch.randn(6, 2, device=on, requires_grad=True)
    k = torch.tensor(1.5, device=on, requires_grad=True)
    c = torch.randn(6, device=on)
    (m.wave(v, k) * c).sum().backward()
    v64, k64 = v.detach().double().requires_grad_(), k.detach().double().requires_grad_()
    (wave(v64, k64) * c).sum().backward()
    torch.testing.assert_close(v.grad, v64.grad.float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(k.grad, k64.grad.float(), rtol=1e-4, atol=1e-5)


def test_gradcheck_in_double(m, on):
    x = torch.randn(4, 1, dtype=torch.float64, device=on, requires_grad=True)
    y = torch.randn(3, dtype=torch.float64, device=on, requires_grad=True)
    assert torch.autograd.gradcheck(m.smooth, (x, y))
    assert torch.autograd.gradgradcheck(m.smooth, (x, y))


def test_structures_and_several_outputs(m, on):
    mu = torch.zeros(2, device=on, requires_grad=True)
    width = torch.tensor(2.0, device=on, requires_grad=True)
    p = torch.randn(5, 2, device=on)
    m.blob({"mu": mu, "width": width}, p).sum().backward()
    mu2, width2 = torch.zeros(2, device=on, requires_grad=True), torch.tensor(2.0, device=on, requires_grad=True)
    torch.exp(-((p - mu2) ** 2).sum(-1) / width2).sum().backward()
    torch.testing.assert_close(mu.grad, mu2.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(width.grad, width2.grad, rtol=1e-4, atol=1e-5)
    angle = torch.tensor([0.1, 0.2], device=on, requires_grad=True)
    turned, doubled = m.rotate(torch.ones(3, device=on), angle)
    torch.testing.assert_close(doubled, 2 * angle)
    (turned.sum() + doubled.sum()).backward()
    expected = 2 * (-torch.sin(2 * angle) + torch.cos(2 * angle)) + 2
    torch.testing.assert_close(angle.grad, expected.detach(), rtol=1e-4, atol=1e-5)


def test_layouts_of_structures(on):
    m = cotangent.load(source="""
struct Odd : IDifferentiable { float a; float3 v; float2x3 m; float3 w[2]; float2 z; }
[Differentiable] float all(Odd o) { return o.a * o.v.z + o.m[1][2] * o.w[1].y + o.z.y * o.m[0][1]; }
Odd same(Odd o) { return o; }
""")
    torch.manual_seed(4)
    shapes = {"a": (), "v": (3,), "m": (2, 3), "w": (2, 3), "z": (2,)}
    o = {name: torch.randn(5, *shape, device=on, requires_grad=True) for name, shape in shapes.items()}
    for name, own in m.same({name: part.detach() for name, part in o.items()}).items():
        torch.testing.assert_close(own, o[name])
    found = m.all(o)
    mat = o["m"]
    expected = o["a"] * o["v"][:, 2] + mat[:, 1, 2] * o["w"][:, 1, 1] + o["z"][:, 1] * mat[:, 0, 1]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    gradients = torch.autograd.grad(found.sum(), list(o.values()))
    for own, other in zip(gradients, torch.autograd.grad(expected.sum(), list(o.values()))):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


def test_without_gradients_first(m, on):
    v = torch.randn(3, 2, device=on, requires_grad=True)
    with torch.no_grad():
        assert not m.wave(v, 1.0).requires_grad
    y = m.wave(v, 1.0).sum()
    y.backward(retain_graph=True)
    first = v.grad.clone()
    y.backward()
    torch.testing.assert_close(v.grad, 2 * first)


def test_expanded_cotangents_and_strided_inputs(m, on):
    base = torch.randn(2, 8, device=on, requires_grad=True)
    v = base.t()[::2]
    m.wave(v, 1.0).sum().backward()
    base2 = base.detach().clone().requires_grad_()
    wave(base2.t()[::2], 1.0).sum().backward()
    torch.testing.assert_close(base.grad, base2.grad, rtol=1e-4, atol=1e-5)


def test_types_and_devices(m, on):
    assert m.cell(torch.tensor([1.5, 2.5], device=on)).dtype == torch.int32
    v = torch.randn(3, 2, dtype=torch.float64, device=on, requires_grad=True)
    m.wave(v, 1.0).sum().backward()
    assert v.grad.dtype == torch.float64
    with pytest.raises(TypeError, match="complex"):
        m.cell(torch.zeros(1, dtype=torch.complex64, device=on))


def test_torch_compile(m):
    @torch.compile(backend="aot_eager", fullgraph=True)
    def loss(v, k):
        return (m.wave(v, k) * 2).sum()

    v = torch.randn(4, 2, requires_grad=True)
    k = torch.tensor(0.5, requires_grad=True)
    loss(v, k).backward()
    v2, k2 = v.detach().clone().requires_grad_(), k.detach().clone().requires_grad_()
    (wave(v2, k2) * 2).sum().backward()
    torch.testing.assert_close(v.grad, v2.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(k.grad, k2.grad, rtol=1e-4, atol=1e-5)


def test_an_autograd_function_around_a_kernel(tmp_path, on):
    import cotangent.slangtorch as slangtorch

    path = tmp_path / "sq.slang"
    path.write_text("""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void sq(DiffTensorView a, DiffTensorView b)
{ uint3 u = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx(); if (u.x >= a.size(0)) return; b.storeOnce(u.x, a[u.x] * a[u.x]); }
""")
    m = slangtorch.loadModule(str(path))

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            m.sq(a=x, b=y).launchRaw(blockSize=(32, 1, 1), gridSize=(1, 1, 1))
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, gy):
            x, y = ctx.saved_tensors
            gx = torch.zeros_like(x)
            # That of a sum is expanded, which does not matter since the kernel only reads it.
            m.sq.bwd(a=(x, gx), b=(y, gy)).launchRaw(blockSize=(32, 1, 1), gridSize=(1, 1, 1))
            return gx

    x = torch.randn(20, device=on, requires_grad=True)
    Square.apply(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    with pytest.raises(RuntimeError, match="contiguous"), torch.no_grad():
        m.sq.bwd(a=(x, torch.ones(1, device=on).expand(20)), b=(x, x))


def test_training_fits_a_picture(m, on):
    torch.manual_seed(0)
    grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij"), -1).to(on)
    target = m.blob({"mu": [0.3, -0.2], "width": 0.3}, grid)
    mu = torch.zeros(2, device=on, requires_grad=True)
    width = torch.tensor(1.0, device=on, requires_grad=True)
    optimizer = torch.optim.Adam([mu, width], lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((m.blob({"mu": mu, "width": width}, grid) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(mu.detach().cpu(), torch.tensor([0.3, -0.2]), atol=1e-2, rtol=0)
    assert abs(width.item() - 0.3) < 1e-2
    assert np.isfinite(loss.item())
