"""Torch: everything around a gradient that a training loop meets."""

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cotangent

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch.autograd import forward_ad  # noqa: E402

TEXT = """
struct Mix : IDifferentiable { double2x2 m; double w[3]; no_diff int k; }
[Differentiable] double2 mix(Mix x, double2 v) { return (x.m[0] * v.x + x.m[1] * v.y) * x.w[0] * x.w[1] + x.w[2] * double(x.k); }
[Differentiable] double scaled(no_diff double k, double x) { return k * x * x * x; }
[Differentiable] void both(inout double a, out double2 b, double c) { b = double2(a * c, sin(c)); a = a * a; }
[Differentiable] float wave(float2 v, float k) { return sin(v.x * k) * v.y * v.y; }
[Differentiable] void parts(float x, out float y, out int n, out float z) { y = x * x; n = int(x); z = 3 * x; }
float plain(float x) { return x * x; }
[Differentiable] half narrow(half x) { return x * x; }
uint count(uint n, int64_t m, uint8_t k) { return n + uint(m) + k; }
uniform float gain; StructuredBuffer<float> table;
[Differentiable] float lookup(float x, int i) { return gain * table[i] * x; }
[Differentiable] float first(StructuredBuffer<float> all, float x) { return all[0] * x; }
[Differentiable] float dot64(float w[64], float x[64]) { float s = 0; for (int i = 0; i < 64; i++) s += w[i] * x[i]; return s; }
float two() { return 2.0; }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=TEXT)


@pytest.fixture(params=["cpu", "cuda"])
def on(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return request.param


def make(*shape, on, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, device=on, requires_grad=True)


def test_gradcheck_of_structures_matrices_and_arrays(m, on):
    torch.manual_seed(0)
    inputs = make(3, 2, 2, on=on), make(3, on=on), make(3, 2, on=on)
    f = lambda a, w, v: m.mix({"m": a, "w": w, "k": 2}, v)
    assert torch.autograd.gradcheck(f, inputs)
    assert torch.autograd.gradgradcheck(f, inputs)
    a, w, v = inputs
    expected = (a[:, 0] * v[:, :1] + a[:, 1] * v[:, 1:]) * w[0] * w[1] + w[2] * 2
    torch.testing.assert_close(f(*inputs), expected)


def test_gradcheck_of_out_and_inout(m, on):
    torch.manual_seed(0)
    inputs = make(4, on=on), make(on=on)
    assert torch.autograd.gradcheck(m.both, inputs)
    assert torch.autograd.gradgradcheck(m.both, inputs)


def test_what_is_no_diff_has_no_gradient(m, on):
    k, x = make(on=on), make(3, on=on)
    m.scaled(k, x).sum().backward()
    assert k.grad is None
    torch.testing.assert_close(x.grad, 3 * k.detach() * x.detach() ** 2)
    assert torch.autograd.gradcheck(lambda x: m.scaled(2.0, x), (x,))


def test_a_third_derivative(m, on):
    x = make(4, on=on)
    y = m.scaled(2.0, x)
    for expected in (6 * x**2, 12 * x, torch.full_like(x, 12.0)):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        torch.testing.assert_close(y, expected)


def test_outputs_of_which_some_are_used(m, on):
    x = torch.tensor([1.5, 2.5], device=on, requires_grad=True)
    y, n, z = m.parts(x)
    assert n.tolist() == [1, 2] and not n.requires_grad
    z.sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 3.0))


def test_methods_give_tensors_on_the_same_device(m, on):
    x = make(3, on=on)
    g = m.scaled.grad(2.0, x, wrt="x")
    assert g.device == x.device and g.requires_grad
    value, tangent = m.scaled.jvp(2.0, x, tangents={"x": torch.ones_like(x)})
    torch.testing.assert_close(tangent, g)
    h = m.scaled.hessian(2.0, x, wrt="x")
    torch.testing.assert_close(h, 12 * x)
    v = make(5, 2, on=on, dtype=torch.float32)
    j = m.wave.jacobian(v, 0.5, wrt="v")
    assert j.shape == (5, 2)
    own = torch.func.vmap(torch.func.jacrev(lambda v: torch.sin(v[0] * 0.5) * v[1] ** 2))(v.detach())
    torch.testing.assert_close(j, own, rtol=1e-4, atol=1e-5)


def test_a_gradient_that_would_be_lost_is_an_error(m, on):
    x = make(3, on=on, dtype=torch.float32)
    with pytest.raises(TypeError, match="`x` requires a gradient, but `plain` is not differentiable"):
        m.plain(x)
    assert m.plain(x.detach()).shape == (3,)
    with torch.no_grad():
        m.plain(x)
    with pytest.raises(TypeError, match="`table` requires a gradient, but buffers and uniforms of lookup carry none"):
        m.lookup.bind(gain=1.0, table=x)(x, 0)
    with pytest.raises(TypeError, match="`all` requires a gradient"):
        m.first(x, 1.0)


def test_buffers_and_uniforms(m, on):
    table = torch.tensor([1.0, 5.0], device=on)
    x = torch.tensor([2.0, 3.0], device=on, requires_grad=True)
    f = m.lookup.bind(gain=3.0, table=table)
    f(x, 1).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 15.0))
    with pytest.raises(ValueError, match="lookup uses `gain` of the program, which is not set"):
        m.lookup(x, 1)
    with pytest.raises(TypeError, match="no buffer or uniform `gian`; it has gain, table"):
        m.lookup.bind(gian=3.0)


def test_numbers_of_all_kinds(m, on):
    x = torch.tensor([1.5, 2.0], dtype=torch.float16, device=on, requires_grad=True)
    m.narrow(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([3.0, 4.0], dtype=torch.float16, device=on))
    n = torch.tensor([7, 8], device=on)
    found = m.count(n, 2**33 + 1, torch.tensor(3, dtype=torch.uint8, device=on))
    assert found.dtype == torch.uint32 and found.tolist() == [11, 12]
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match="`n` of .* takes numbers of type uint, but was given"):
            m.count(torch.tensor(wrong, device=on), 1, 1)
        with pytest.raises(ValueError, match="`n` of .* takes numbers of type uint"):
            m.count(wrong, 1, 1)
    with pytest.raises(TypeError, match="`k` of .* takes numbers of type uint8_t, but was given torch.float32"):
        m.count(1, 1, torch.tensor(1.0, device=on))
    with pytest.raises(TypeError, match="`i` of .* takes numbers of type int, but was given float64"):
        m.lookup.bind(gain=1, table=torch.zeros(2, device=on))(torch.zeros(1, device=on), 0.5)


def test_lists_of_tensors_keep_their_gradients(m, on):
    a, b = (torch.tensor(x, device=on, requires_grad=True) for x in (0.5, 2.0))
    m.wave([a, b], 1.0).backward()
    torch.testing.assert_close(b.grad, 4 * torch.sin(a.detach()))


def test_expanded_and_strided_tensors(m, on):
    base = make(6, on=on, dtype=torch.float32)
    v = base[::2].unsqueeze(1).expand(3, 2)
    m.wave(v, torch.ones(1, device=on).expand(3)).sum().backward()
    own = base.detach().clone().requires_grad_()
    w = own[::2].unsqueeze(1).expand(3, 2)
    (torch.sin(w[:, 0]) * w[:, 1] ** 2).sum().backward()
    torch.testing.assert_close(base.grad, own.grad, rtol=1e-4, atol=1e-5)


def test_only_inputs_are_saved(m):
    """A backward pass needs no more memory than the inputs: everything else is computed again."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        w, x = make(64, on="cpu", dtype=torch.float32), make(100, 64, on="cpu", dtype=torch.float32)
        y = m.dot64(w, x)
    assert sum(t.numel() for t in saved) <= w.numel() + x.numel()
    y.sum().backward()
    torch.testing.assert_close(w.grad, x.detach().sum(0), rtol=1e-4, atol=1e-4)


def test_what_all_points_share_gets_the_sum(m, on):
    """The gradients of many points are summed in parts, so that they are never all there at once."""
    torch.manual_seed(3)
    n = 300_000
    w, x = make(64, on=on, dtype=torch.float32), torch.randn(64, device=on)
    c = torch.rand(n, device=on)
    (m.dot64(w, x.expand(n, 64)) * c).sum().backward()
    torch.testing.assert_close(w.grad, x * c.double().sum().float(), rtol=1e-3, atol=1e-3)


def test_copies_of_models_share_the_program(m):
    model = torch.nn.Linear(1, 1)
    model.module, model.f, model.g = m, m.wave, m.wave.bind()
    copied = copy.deepcopy(model)
    assert copied.module is m and copied.f is m.wave


def test_arguments_that_are_no_dense_arrays(m):
    with pytest.raises(TypeError, match="`x` of plain is a sparse tensor"):
        m.plain(torch.eye(3).to_sparse())
    with pytest.raises(RuntimeError, match="arrays are on meta"):
        m.plain(torch.zeros(3, device="meta"))
    with pytest.raises(ValueError, match="`x` of .* takes an array: .*inhomogeneous"):
        m.plain([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match=r"do not fit together: `v` \(2,\), `k` \(3,\)"):
        m.wave(torch.zeros(2, 2), torch.zeros(3))
    with pytest.raises(ValueError, match="takes 2 tangents, of v, k, by these names or in a list, but was given {'z': 1}"):
        m.wave.jvp([1, 2], 3, tangents={"z": 1})
    with pytest.raises(ValueError, match="the cotangent of the result has last dimensions"):
        m.mix.vjp({"m": np.eye(2), "w": [1, 2, 3], "k": 1}, [1, 2], cotangents=[1, 2, 3])


def test_functions_without_arguments(m):
    assert m.two() == 2.0


def test_many_threads(m):
    def run(k):
        x = torch.full((2000, 2), float(k), requires_grad=True)
        m.wave(x, 0.1).sum().backward()
        return x.grad

    def bound(k):
        return m.lookup.bind(gain=float(k), table=torch.ones(1))(torch.ones(1000), 0)

    with ThreadPoolExecutor(8) as pool:
        for k, g in enumerate(pool.map(run, range(40))):
            torch.testing.assert_close(g[:, 1], 2 * k * torch.sin(torch.full((2000,), 0.1 * k)), rtol=1e-4, atol=1e-4)
        for k, y in enumerate(pool.map(bound, range(40))):
            assert (y == k).all()


class TestTransforms:
    """`torch.func` and forward mode."""

    def test_gradients_and_batches(self, m, on):
        torch.manual_seed(4)
        k, x = torch.randn(5, dtype=torch.float64, device=on), torch.randn(5, dtype=torch.float64, device=on)
        torch.testing.assert_close(torch.func.vmap(m.scaled)(k, x), k * x**3)
        torch.testing.assert_close(torch.func.vmap(m.scaled, in_dims=(None, 0))(k, x), k * x[:, None] ** 3)
        one = torch.func.grad(lambda x: m.scaled(2.0, x).sum())
        torch.testing.assert_close(one(x), 6 * x**2)
        torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda x: m.scaled(2.0, x)))(x), 6 * x**2)
        torch.testing.assert_close(torch.func.hessian(lambda x: m.scaled(2.0, x).sum())(x), torch.diag(12 * x))
        v = torch.randn(3, 2, device=on)
        own = torch.func.vmap(torch.func.jacrev(lambda v: m.wave(v, 0.5)))(v)
        torch.testing.assert_close(own, m.wave.jacobian(v, 0.5, wrt="v"))

    def test_batches_of_structures(self, m, on):
        w, v = torch.randn(4, 3, dtype=torch.float64, device=on), torch.randn(6, 4, 2, dtype=torch.float64, device=on)
        eye = torch.eye(2, dtype=torch.float64, device=on)
        f = lambda w, v: m.mix({"m": eye, "w": w, "k": 2}, v)
        batched = torch.func.vmap(f, in_dims=(0, 1))(w, v)
        torch.testing.assert_close(batched, torch.stack([f(w[i], v[:, i]) for i in range(4)]))

    def test_forward_mode(self, m, on):
        x = torch.randn(4, dtype=torch.float64, device=on)
        value, tangent = torch.func.jvp(lambda x: m.scaled(2.0, x), (x,), (torch.ones_like(x),))
        torch.testing.assert_close(value, 2 * x**3)
        torch.testing.assert_close(tangent, 6 * x**2)
        with forward_ad.dual_level():
            a, b = m.both(forward_ad.make_dual(x, 2 * torch.ones_like(x)), x)
            torch.testing.assert_close(forward_ad.unpack_dual(a).tangent, 4 * x)
            torch.testing.assert_close(forward_ad.unpack_dual(b).tangent, torch.stack([2 * x, torch.zeros_like(x)], -1))
        assert torch.autograd.gradcheck(m.both, (make(4, on=on), make(4, on=on)), check_forward_ad=True)


class TestCompiledGraphs:
    """`torch.compile`: a call is an operation of the graph."""

    def test_forward_and_backward(self, m):
        @torch.compile(backend="aot_eager", fullgraph=True)
        def loss(v, k):
            y, n, z = m.parts(v.sum(-1))
            return (m.wave(v, k) * 2).sum() + y.sum() + n.sum()

        v, k = make(4, 2, on="cpu", dtype=torch.float32), torch.tensor(0.5, requires_grad=True)
        loss(v, k).backward()
        own, k2 = v.detach().clone().requires_grad_(), k.detach().clone().requires_grad_()
        s = own.sum(-1)
        ((torch.sin(own[:, 0] * k2) * own[:, 1] ** 2 * 2).sum() + (s * s).sum()).backward()
        torch.testing.assert_close(v.grad, own.grad, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(k.grad, k2.grad, rtol=1e-4, atol=1e-5)

    def test_the_first_call_is_in_a_graph(self):
        fresh = cotangent.load(source=TEXT)
        f = torch.compile(lambda v: fresh.wave(v, 1.0) + 1, backend="aot_eager", fullgraph=True)
        v = torch.rand(3, 2, requires_grad=True)
        f(v).sum().backward()
        torch.testing.assert_close(v.grad[:, 1], (2 * v[:, 1] * torch.sin(v[:, 0])).detach())

    def test_other_shapes(self, m):
        f = torch.compile(lambda v: m.wave(v, 1.0) + 1, backend="aot_eager", dynamic=True)
        for n in (3, 5, 8):
            v = torch.rand(n, 2)
            torch.testing.assert_close(f(v), m.wave(v, 1.0) + 1)

    def test_buffers_are_beside_the_graph(self, m):
        lookup = m.lookup.bind(gain=3.0, table=torch.tensor([1.0, 5.0]))
        f = torch.compile(lambda x: lookup(x, 1) * 2, backend="aot_eager")
        torch.testing.assert_close(f(torch.ones(3)), torch.full((3,), 30.0))

    def test_the_operation_is_a_good_one(self, m):
        from cotangent import _torch

        leaves = [torch.rand(3, 2, requires_grad=True), torch.rand(())]
        m.wave._vjp._points  # noqa: B018
        torch.library.opcheck(_torch._operation, (m.wave.handle, leaves))


def test_modules_of_one_file_with_other_macros(tmp_path):
    path = tmp_path / "power.slang"
    path.write_text("[Differentiable] float power(float x) { return pow(x, N); }")
    powers = {n: cotangent.load(path, defines={"N": n}) for n in (1, 2, 3)}
    x = torch.tensor(2.0, requires_grad=True)
    for n, module in powers.items():
        (g,) = torch.autograd.grad(module.power(x), x)
        assert g.item() == pytest.approx(n * 2 ** (n - 1), rel=1e-5)
    path.write_text("[Differentiable] float power(float x) { return -x; }")
    # What was loaded stays; what is loaded anew is new.
    assert powers[2].power.grad(2.0) == pytest.approx(4)
    assert cotangent.load(path).power.grad(2.0) == -1


def test_warnings_of_the_compiler_are_shown():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cotangent.load(source="float f(float x) { return x; } float g(float x) { x; return x; }")
    assert all("warning" in str(w.message) for w in told)


def test_readonly_and_odd_arrays(m):
    x = np.broadcast_to(np.float32(2.0), (3,))
    np.testing.assert_array_equal(m.plain(x), [4, 4, 4])
    raw = np.zeros(13, np.uint8)[1:].view(np.float32)
    np.testing.assert_array_equal(m.plain(raw), [0, 0, 0])
    np.testing.assert_array_equal(m.plain(np.array([1, 2], ">f4")), [1, 4])
    np.testing.assert_array_equal(m.plain(np.arange(3)), [0, 1, 4])
