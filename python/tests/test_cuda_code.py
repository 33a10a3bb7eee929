"""What is launched on CUDA, as far as it shows without a device: NVRTC compiles it, and it takes the blocks that are packed."""

import multiprocessing
import re

import pytest

import cotangent
from cotangent import _nvrtc

PROGRAM = """
struct Ray : IDifferentiable { float3 o; float3 d; no_diff int id; }
[Differentiable] float f(float a, float x) { return a * x * x; }
[Differentiable] float3 at(Ray r, float t) { return r.o + r.d * t; }
[Differentiable] double deep(double x, half y) { return exp(x) * x + y; }
[Differentiable] void step(inout float3 p, out float speed, float dt) { p = p + p * dt; speed = p.x * dt; }
uniform float gain;
StructuredBuffer<float> table;
[Differentiable] float scaled(float x, int i) { return gain * table[i] * x; }
RWStructuredBuffer<float> sums;
[numthreads(64, 1, 1)] void total(uint3 id : SV_DispatchThreadID, uniform float by)
{ InterlockedAddF32(sums, id.x, table[id.x] * by); }
void InterlockedAddF32(RWStructuredBuffer<float> b, uint i, float x) { b[i] += x * gain; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void sq(DiffTensorView a, DiffTensorView b, no_diff float2 k)
{ uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = a[i] * a[i] * k.x; }
"""


@pytest.fixture(scope="module")
def nvrtc():
    try:
        return _nvrtc.library()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=PROGRAM)


def entries(m):
    for name in ("f", "at", "deep", "step", "scaled"):
        for function in (m[name], m[name]._vjp, m[name]._jvp, m[name]._vjp._vjp):
            yield function._points_on_cuda.entry
    yield m.total.entry(cuda=True)
    for mode in ("fwd", "bwd"):
        yield m.total.entry(cuda=True, derivative=mode)
    for kernel in (m.sq, m.sq.fwd, m.sq.bwd):
        yield kernel.entry((32, 2, 1), cuda=True)


def test_kernels_take_the_blocks_that_are_packed(m, nvrtc):
    """The sizes of a kernel's parameters, as NVRTC sees them, are those of the blocks."""
    from_torch = pytest.importorskip("torch", reason="the prelude of kernels on devices is torch's")
    from cotangent import _cuda

    del from_torch
    for entry in entries(m):
        text, symbol, takes_own = entry.kernel.cuda()
        code = _nvrtc.compile_text(_cuda._PRELUDE + text, "compute_90").decode()
        found = re.search(rf"\.entry {symbol}\((.*?)\)", code, re.DOTALL)
        assert found, f"{symbol} is no kernel"
        sizes = [int(size) for size in re.findall(r"\.b8 \w+\[(\d+)\]", found.group(1))]
        assert len(sizes) == 1 + takes_own
        assert sizes[0] == max(entry.globals_size, 1)
        assert sizes[1:] == [entry.own_size] * takes_own
        threads = entry.group[0] * entry.group[1] * entry.group[2]
        assert f".maxntid {threads}" in code or f".reqntid {threads}" in code


def test_views_lie_alike_on_all_devices(m):
    for cuda in (False, True):
        (_, _, pair), *_ = ((p.name, p.offset, p.node) for p in m.sq.entry((1, 1, 1), cuda).own)
        view = dict((name, part) for name, _, part in pair[1])["primal"]
        assert [(name, at) for name, at, _ in view[1]] == [("data", 0), ("strides", 16), ("sizes", 36), ("dimensions", 56)]


def test_machine_code_for_a_device(m, nvrtc):
    assert _nvrtc.architecture((9, 0)) == "sm_90"
    text, symbol, _ = m.f._points_on_cuda.entry.kernel.cuda()
    code = _nvrtc.compile_text(text, "sm_90")
    assert code.startswith(b"\x7fELF") and symbol.encode() in code
    # A device that the compiler does not know yet runs portable code.
    assert _nvrtc.architecture((99, 9)).startswith("compute_")


def test_what_was_compiled_is_kept(m, nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("COTANGENT_CACHE", str(tmp_path))
    text, _, _ = m.f._points_on_cuda.entry.kernel.cuda()
    code = _nvrtc.compile_text(text, "sm_90")
    (kept,) = (tmp_path / "cuda").iterdir()
    assert kept.read_bytes() == code
    monkeypatch.setattr(_nvrtc, "_compile", lambda *_: pytest.fail("it was compiled again"))
    assert _nvrtc.compile_text(text, "sm_90") == code
    _nvrtc.clear_cache()
    assert not kept.exists()


def _compile_in_a_process(text):
    return len(_nvrtc.compile_text(text, "sm_90"))


def test_processes_share_what_they_compile(m, nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("COTANGENT_CACHE", str(tmp_path))
    text, _, _ = m.f._points_on_cuda.entry.kernel.cuda()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        sizes = pool.map(_compile_in_a_process, [text] * 4)
    assert len(set(sizes)) == 1 and sizes[0] > 0
    (kept,) = (tmp_path / "cuda").iterdir()
    assert kept.stat().st_size == sizes[0]


def test_a_cache_that_cannot_be_written_is_none(m, nvrtc, tmp_path, monkeypatch):
    (tmp_path / "cuda").write_text("a file")
    monkeypatch.setenv("COTANGENT_CACHE", str(tmp_path))
    text, _, _ = m.f._points_on_cuda.entry.kernel.cuda()
    assert _nvrtc.compile_text(text, "sm_90").startswith(b"\x7fELF")


def test_a_wrong_path_is_told(monkeypatch):
    monkeypatch.setenv("COTANGENT_NVRTC", "/nowhere/libnvrtc.so")
    with pytest.raises(RuntimeError, match="COTANGENT_NVRTC does not name"):
        _nvrtc.library.__wrapped__()
