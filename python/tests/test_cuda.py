"""What only shows on a CUDA device: streams, graphs, devices and traps. Other tests run there by the fixture `arrays`."""

import numpy as np
import pytest

import cotangent
import cotangent.slangtorch as slangtorch

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

TEXT = """
[Differentiable] float wave(float a, float x) { return a * sin(x); }
[Differentiable] float at(float w[4], int i) { return w[i] * w[i]; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void sq(DiffTensorView a, DiffTensorView b)
{ uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x; if (i < a.size(0)) b.storeOnce(i, a[i] * a[i]); }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=TEXT)


def test_launches_go_to_the_current_stream(m):
    x = torch.rand(1000, device="cuda")
    m.wave(2.0, x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        y = m.wave(2.0, x)
        # The call returned although the stream is still asleep: nothing waits.
        assert not stream.query()
    stream.synchronize()
    torch.testing.assert_close(y, 2 * torch.sin(x))


def test_calls_can_be_captured_in_a_graph(m):
    """A capture fails if anything synchronizes, copies from pageable memory or uses another stream."""
    x, y = torch.rand(256, device="cuda"), torch.zeros(256, device="cuda")
    launch = lambda: m.sq(a=x, b=y).launch(1, 256)
    m.wave(torch.tensor(3.0, device="cuda"), x)
    launch()
    torch.cuda.synchronize()
    graph, a = torch.cuda.CUDAGraph(), torch.tensor(3.0, device="cuda")
    with torch.cuda.graph(graph):
        z = m.wave(a, x)
        launch()
    x.copy_(torch.rand(256, device="cuda"))
    graph.replay()
    torch.testing.assert_close(z, 3 * torch.sin(x))
    torch.testing.assert_close(y, x * x)


def test_memory_is_passed_without_a_copy(m):
    x = torch.rand(1 << 22, device="cuda")
    m.wave(2.0, x[:1])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    m.wave(2.0, x)
    # The result, and a number: no copy of the argument.
    assert torch.cuda.max_memory_allocated() - before < x.numel() * 4 + (1 << 20)


def test_a_trap_is_an_exception_with_its_line(m):
    w = torch.rand(4, device="cuda", requires_grad=True)
    with pytest.raises(cotangent.Trap, match=r"source.slang:3: .*index"):
        m.at(w.detach(), torch.tensor([1, 7], device="cuda", dtype=torch.int32))
        cotangent.synchronize()
    # The device goes on.
    m.at(w, 2).backward()
    torch.testing.assert_close(w.grad.cpu()[2], 2 * w.detach().cpu()[2])
    cotangent.synchronize()


def test_arrays_on_several_devices(m):
    x = torch.rand(3, device="cuda")
    with pytest.raises(ValueError, match="`x` is on c.*, but another argument is on c"):
        m.wave(torch.rand(3), x)
    with pytest.raises(RuntimeError, match="several devices"):
        m.sq(a=x, b=torch.zeros(3)).launch(1, 3)
    # A number is moved.
    torch.testing.assert_close(m.wave(torch.tensor(2.0, device="cuda"), x), 2 * torch.sin(x))


def test_a_group_that_is_too_large(m):
    x = torch.rand(3, device="cuda")
    with pytest.raises(ValueError, match="at most 1024"):
        m.sq(a=x, b=torch.zeros_like(x)).launch(1, 2048)


def test_numpy_and_tensors_give_the_same(m):
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    on_device = m.wave(1.5, torch.from_numpy(x).cuda()).cpu().numpy()
    np.testing.assert_allclose(on_device, m.wave(1.5, x), rtol=1e-5, atol=1e-6)


def test_every_device_has_its_own_kernels(tmp_path):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one CUDA device")
    path = tmp_path / "sq.slang"
    path.write_text(TEXT)
    m = slangtorch.loadModule(str(path))
    for index in range(2):
        x = torch.rand(5, device=f"cuda:{index}")
        y = torch.zeros_like(x)
        m.sq(a=x, b=y).launchRaw(blockSize=(32, 1, 1), gridSize=(1, 1, 1))
        torch.testing.assert_close(y, x * x)
