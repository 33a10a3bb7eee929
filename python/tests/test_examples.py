"""The examples run, and get better at what they fit."""

import re
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
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
