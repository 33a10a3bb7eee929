"""The examples run, and get better at what they fit."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import cotangent

torch = pytest.importorskip("torch", reason="torch is not installed")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("splats", ["--steps", "40", "--size", "32", "--splats", "40"], 0.02),
        ("field", ["--steps", "80", "--size", "32", "--batch", "512"], 0.03),
        ("brdf", ["--steps", "120", "--size", "24"], 0.01),
    ],
)
def test_examples(name, options, most, monkeypatch, capsys, tmp_path):
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text().splitlines()) < 100
    picture = tmp_path / "out.png"
    monkeypatch.setattr(sys, "argv", [str(path), "--device", "cpu", "--out", str(picture), *options])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    runpy.run_path(str(path), run_name="__main__")
    told = capsys.readouterr()
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", told.err)]
    assert losses[-1] < most and losses[-1] < losses[0] / 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_several_processes_train_one_field(tmp_path):
    """Data-parallel training by torch's launcher, with two processes over gloo."""
    if not torch.distributed.is_available():
        pytest.skip("torch has no torch.distributed")
    path, picture = EXAMPLES / "parallel.py", tmp_path / "out.png"
    assert len(path.read_text().splitlines()) < 100
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    options = ["--device", "cpu", "--steps", "60", "--size", "32", "--batch", "256", "--out", str(picture)]
    # The processes find the package where this one did.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(cotangent.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    told = subprocess.run([*launcher, str(path), *options], capture_output=True, text=True, timeout=300, env=env)
    assert told.returncode == 0, told.stderr
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", told.stderr)]
    assert "2 processes have the same weights" in told.stdout and losses[-1] < losses[0] / 2
    assert picture.read_bytes().startswith(b"\x89PNG")
