"""Functions over numbers and arrays, and their derivatives."""

import numpy as np
import pytest

import cotangent

TEXT = """
struct Ray : IDifferentiable { float3 o; float3 d; no_diff int id; }
[Differentiable] float f(float a, float x) { return a * x * x; }
[Differentiable] float3 at(Ray r, float t) { return r.o + r.d * t; }
[Differentiable] float norm(float3 v) { return sqrt(dot(v, v)); }
[Differentiable] float2 polar(float2 p) { return float2(p.x * cos(p.y), p.x * sin(p.y)); }
[Differentiable] float2 mul(float2x2 m, float2 v) { return m[0] * v.x + m[1] * v.y; }
[Differentiable] float sum(float w[3], no_diff float x, int n) { float s = 0; for (int i = 0; i < n; i++) s += w[i] * pow(x, i); return s; }
[Differentiable] void step(inout float3 p, out float speed, float dt) { p = p + p * dt; speed = p.x * dt; }
[Differentiable] double deep(double x) { return exp(x) * x; }
int twice(int n) { return 2 * n; }
bool positive(float x) { return x > 0; }
float pick(StructuredBuffer<float> all, int i) { return all[i]; }
uniform float gain;
StructuredBuffer<float> table;
[Differentiable] float scaled(float x) { return gain * table[1] * x; }
float checked(float x, int i) { float a[2] = { x, x }; return a[i]; }
[Differentiable] float cubed(float x) { return x * x * x; }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=TEXT)


def differences(f, x, h=1e-4):
    """Central differences of a function of an array, in double."""
    x = np.asarray(x, np.float64)
    columns = []
    for i in range(x.size):
        d = np.zeros_like(x)
        d.flat[i] = h
        columns.append((f(x + d) - f(x - d)) / (2 * h))
    return np.moveaxis(np.array(columns), 0, -1)


def test_numbers_and_arrays(m):
    assert m.f(2.0, 3.0) == 18
    assert isinstance(m.f(2.0, 3.0), np.float32)
    np.testing.assert_array_equal(m.f(2.0, np.arange(4.0)), [0, 2, 8, 18])
    np.testing.assert_array_equal(m.f(a=np.ones((2, 1)), x=np.arange(3.0)), [[0, 1, 4]] * 2)
    np.testing.assert_array_equal(m.twice(np.arange(3)), [0, 2, 4])
    np.testing.assert_array_equal(m.positive([-1.0, 1.0]), [False, True])
    assert m.f(np.zeros((0,)), 1.0).shape == (0,)


def test_structures_are_dictionaries(m):
    ray = {"o": [0, 0, 1], "d": [[1, 0, 0], [0, 2, 0]], "id": 7}
    np.testing.assert_array_equal(m.at(ray, [3.0, 4.0]), [[3, 0, 1], [0, 8, 1]])
    g, gt = m.at.vjp(ray, [3.0, 4.0], cotangents=[[1, 2, 3], [1, 2, 3]])
    assert sorted(g) == ["d", "o"]
    np.testing.assert_array_equal(g["o"], [2, 4, 6])
    np.testing.assert_array_equal(g["d"], [[3, 6, 9], [4, 8, 12]])
    np.testing.assert_array_equal(gt, [1, 4])


def test_gradients(m):
    assert m.f.grad(2.0, 3.0) == (9, 12)
    ga, gx = m.f.grad(2.0, np.arange(4.0))
    assert ga == 14
    np.testing.assert_array_equal(gx, [0, 4, 8, 12])
    assert m.f.grad(2.0, 3.0, wrt="x") == 12
    value, gradient = m.norm.value_and_grad([3.0, 0.0, 4.0])
    assert value == 5
    np.testing.assert_allclose(gradient, [0.6, 0, 0.8], rtol=1e-6)
    g = m.sum.grad([1, 2, 3], 2.0, 3)
    np.testing.assert_array_equal(g, [1, 2, 4])


def test_inout_and_out(m):
    p, speed = m.step([1, 2, 3], 0.5)
    np.testing.assert_array_equal(p, [1.5, 3, 4.5])
    assert speed == 0.75
    gp, gdt = m.step.vjp([1, 2, 3], 0.5, cotangents=([1, 0, 0], 1.0))
    # p.x (1 + dt) and p.x (1 + dt) dt: by p.x it is 1.5 + 0.75, by dt it is 1 + 1 + 2 dt.
    np.testing.assert_array_equal(gp, [2.25, 0, 0])
    assert gdt == 3


def test_forward_mode_agrees_with_reverse_mode(m):
    random = np.random.default_rng(3)
    p, t, c = random.normal(size=(3, 5, 2))
    value, tangent = m.polar.jvp(p, tangents=t)
    np.testing.assert_array_equal(value, m.polar(p))
    g = m.polar.vjp(p, cotangents=c)
    np.testing.assert_allclose((tangent * c).sum(-1), (g * t).sum(-1), rtol=1e-4, atol=1e-5)


def test_jacobians(m):
    p = np.array([[1.0, 0.5], [2.0, 0.25]])
    j = m.polar.jacobian(p)
    assert j.shape == (2, 2, 2)
    for own, point in zip(j, p):
        polar = lambda q: np.array([q[0] * np.cos(q[1]), q[0] * np.sin(q[1])])
        np.testing.assert_allclose(own, differences(polar, point), rtol=1e-4, atol=1e-6)
    jm, jv = m.mul.jacobian([[1, 2], [3, 4]], [5, 6])
    assert jm.shape == (2, 2, 2)
    np.testing.assert_array_equal(jm, [[[5, 0], [6, 0]], [[0, 5], [0, 6]]])
    np.testing.assert_array_equal(jv, [[1, 3], [2, 4]])


def test_hessians(m):
    h = m.norm.hessian([[3.0, 0.0, 4.0], [1.0, 2.0, 2.0]])
    for own, v in zip(h, np.array([[3.0, 0.0, 4.0], [1.0, 2.0, 2.0]])):
        n = np.linalg.norm(v)
        np.testing.assert_allclose(own, np.eye(3) / n - np.outer(v, v) / n**3, atol=1e-6)
    (haa, hax), (hxa, hxx) = m.f.hessian(2.0, 3.0)
    assert (haa, hax, hxa, hxx) == (0, 6, 6, 4)


def test_doubles(m):
    assert m.deep(1.0) == pytest.approx(np.e, rel=1e-12)
    assert m.deep.grad(1.0) == pytest.approx(2 * np.e, rel=1e-12)
    assert m.deep.hessian(1.0) == pytest.approx(3 * np.e, rel=1e-12)


def test_buffers_and_uniforms(m):
    table = np.array([1, 5, 7], np.float32)
    np.testing.assert_array_equal(m.pick(table, [2, 0]), [7, 1])
    f = m.scaled.bind(gain=3.0, table=table)
    np.testing.assert_array_equal(f([1.0, 2.0]), [15, 30])
    assert f.grad(1.0) == 15


def test_checks_reports_and_code(m):
    check = m.polar.check()
    assert check and check.points > 0 and "agrees" in str(check)
    assert "<b>polar</b>" in check._repr_html_()
    report = m.sum.report()
    assert report.bytes >= 0 and "sum" in str(report) and "<table>" in report._repr_html_()
    assert "__global__" in m.f.code("cuda")
    assert "@compute" in m.f.code("wgsl")
    assert "f(a: float, x: float) -> float" in m._repr_html_() or "f(a: float" in repr(m.f)


def test_mistakes(m):
    with pytest.raises(TypeError, match="f lacks x: it takes a, x"):
        m.f(1.0)
    with pytest.raises(TypeError, match="no parameter `y`"):
        m.f(1.0, y=2.0)
    with pytest.raises(TypeError, match="`n` of .* takes numbers of type int, but was given float64"):
        m.sum([1, 2, 3], 1.0, 2.5)
    with pytest.raises(ValueError, match=r"last dimensions are \(3,\)"):
        m.norm([1, 2])
    with pytest.raises(ValueError, match="do not fit together"):
        m.f(np.zeros(2), np.zeros(3))
    with pytest.raises(TypeError, match="lacks d: its fields are o, d, id"):
        m.at({"o": [0, 0, 0], "id": 1}, 1.0)
    with pytest.raises(TypeError, match="no backward derivative"):
        m.twice.grad(1)
    with pytest.raises(ValueError, match="more than one number"):
        m.polar.grad([1, 2])
    with pytest.raises(ValueError, match="carries no derivative"):
        m.sum.grad([1, 2, 3], 1.0, 2, wrt="x")
    with pytest.raises(cotangent.CompileError, match="E0"):
        cotangent.load(source="float f() { return y; }")
    with pytest.raises(AttributeError, match="no function or entry point `missing`"):
        m.missing


def test_a_trap_names_the_line(m):
    with pytest.raises(cotangent.Trap, match="source.slang:17"):
        m.checked(1.0, 2)


def test_files_includes_and_macros(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shared.slang").write_text("float half_of(float x) { return x * 0.5; }")
    main = tmp_path / "main.slang"
    main.write_text("import shared;\nfloat f(float x) { return half_of(x) + BIAS; }")
    m = cotangent.load(main, include=[tmp_path / "lib"], defines={"BIAS": 2})
    assert m.f(4.0) == 4
    with pytest.raises(cotangent.CompileError, match="nothing.slang"):
        cotangent.load(tmp_path / "nothing.slang")


def test_entry_points_over_buffers():
    m = cotangent.load(source="""
        RWStructuredBuffer<float> x; uniform float a;
        [numthreads(4, 1, 1)] void grow(uint3 id : SV_DispatchThreadID) { if (id.x < 6) x[id.x] *= a; }
    """)
    x = np.arange(6, dtype=np.float32)
    m.grow(x=x, a=10.0).launch(2)
    np.testing.assert_array_equal(x, [0, 10, 20, 30, 40, 50])
    call = m.grow(x=x, a=10.0)
    with pytest.raises(ValueError, match="groups of"):
        call.launch(2, 8)
    call.launch(2)


def test_other_threads_run_while_a_kernel_does(m):
    from concurrent.futures import ThreadPoolExecutor

    x = np.linspace(0, 1, 10000)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: m.cubed(x * k), range(8)))
    for k, own in enumerate(found):
        np.testing.assert_allclose(own, (x * k) ** 3, rtol=1e-5)


def _sum_in_a_fork(m, x, queue):
    queue.put(float(m.cubed(x).sum()))


def test_forks_run_programs(m):
    """A fork has none of the threads that share the work of a launch."""
    import multiprocessing

    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    x = np.linspace(0, 1, 1_000_000).astype(np.float32)
    expected, context = float(m.cubed(x).sum()), multiprocessing.get_context("fork")
    queue = context.Queue()
    processes = [context.Process(target=_sum_in_a_fork, args=(m, x, queue)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert found == [expected] * 2 and [process.exitcode for process in processes] == [0, 0]


def test_ctrl_c_ends_a_launch(tmp_path):
    import os
    import signal
    import subprocess
    import sys
    import time

    if os.name == "nt":
        pytest.skip("on Windows, Ctrl-C waits for the end of a launch")
    text = """
import cotangent
m = cotangent.load(source="float spin(float x) { float s = x; for (int i = 0; i < 2000000000; i++) s = s * 0.99 + 1.0 / (s + i); return s; }")
m.spin._points
print("ready", flush=True)
try:
    m.spin(1.0)
except KeyboardInterrupt:
    print("interrupted", m.spin._points is not None)
"""
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=20)
    assert told == "interrupted True\n"


def test_notebooks():
    text = "float f(float x) { return x; } float f(int x) { return x; } [Differentiable] float g(float x) { return sin(x); }"
    shown = cotangent.load(source=text)._repr_html_()
    # What is overloaded is shown by its name.
    assert "<code>f</code>" in shown and "g(x: float) -&gt; float" in shown


def test_a_differential_of_other_names_is_an_error():
    m = cotangent.load(source="""
struct D : IDifferentiable { float slope; typealias Differential = D; }
struct P : IDifferentiable { typealias Differential = D; [DerivativeMember(D.slope)] float at; }
[Differentiable] float f(P p) { return p.at * p.at; }
""")
    assert m.f({"at": 3.0}) == 9
    with pytest.raises(TypeError, match="the gradients `p.slope` of f belong to no field of its parameters"):
        m.f.grad({"at": 3.0})


def test_gradients_of_many_points_are_summed_in_parts(monkeypatch):
    from cotangent import _function

    m = cotangent.load(source="""
struct S : IDifferentiable { float a; float2 b; }
[Differentiable] float f(float w[3], S s, float x) { return w[0] * x + w[1] * x * x + w[2] * s.a + dot(s.b, s.b) * x; }
""")
    random = np.random.default_rng(1)
    w, x, b = random.normal(size=3), random.normal(size=(4, 25)), random.normal(size=(25, 2))
    arguments = {"w": w, "s": {"a": 2.0, "b": b}, "x": x}
    whole = m.f.grad(**arguments)
    monkeypatch.setattr(_function, "MOST_SHARED", 16)
    parts = m.f.grad(**arguments)
    for one, other in ((whole[0], parts[0]), (whole[1]["a"], parts[1]["a"]), (whole[1]["b"], parts[1]["b"]), (whole[2], parts[2])):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(whole[0], [x.sum(), (x * x).sum(), 200], rtol=1e-4)
