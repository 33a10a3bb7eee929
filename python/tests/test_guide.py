"""What the guide shows is what happens."""

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"
SQUARE = """
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void square(DiffTensorView a, DiffTensorView b)
{
    uint i = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).x;
    if (i < a.size(0))
        b.storeOnce(i, a[i] * a[i]);
}
"""


def test_the_examples_of_the_guide():
    found = doctest.testfile(str(GUIDE), module_relative=False)
    assert found.attempted > 10 and found.failed == 0


def test_the_programs_of_the_guide_with_torch(tmp_path, monkeypatch):
    """Those without results beside them run after the examples before them. torch's own launcher has a test of its own."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "square.slang").write_text(SQUARE)
    monkeypatch.chdir(tmp_path)
    known, ran = {}, 0
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        if "DistributedDataParallel" in block:
            continue
        if ">>>" in block:
            block = "".join(example.source for example in doctest.DocTestParser().get_examples(block))
        elif "k.layer.function" in block:
            known.update(x=torch.rand(100), w=torch.rand(1, requires_grad=True), scale=2.0)
        exec(block, known)
        ran += 1
    assert ran >= 9
    square = known["Square"].apply(x := torch.tensor([1.0, -3.0], requires_grad=True))
    square.sum().backward()
    assert square.tolist() == [1, 9] and x.grad.tolist() == [2, -6]
    y = known["layer"](x=torch.ones(4), weights=(w := torch.ones(1, requires_grad=True)), scale=2.0, n=4)
    y.sum().backward()
    torch.testing.assert_close(w.grad, torch.tensor([8.0]) * (1 - torch.tanh(torch.tensor(1.0)) ** 2))
