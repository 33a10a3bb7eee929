"""What type checkers see: `py.typed`, stubs that say what is there, and annotations that agree."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cotangent
from cotangent import _native

FOLDER = Path(cotangent.__file__).parent
CONFIG = Path(__file__).parents[1] / "pyproject.toml"
PROGRAM = """
import numpy as np
import cotangent
import cotangent.slangpy as spy

m: cotangent.Module = cotangent.load("file.slang", defines={"N": 3}, include=["folder"])
loaded: cotangent.Module = cotangent.load(source="float f(float x) { return x; }")
check: cotangent.Check = m.f.check(samples=3)
if check:
    print(check.error + 1.0)
x = spy.Tensor.from_numpy(None, np.ones(3)).with_grads()
shape: tuple[int, ...] = x.shape
cotangent.synchronize()
"""


def test_the_package_is_typed():
    assert (FOLDER / "py.typed").exists()


def test_the_stubs_of_the_native_half_are_what_there_is():
    """Every class, method and property in `_native.pyi` exists, and nothing is missing there."""
    stubs = ast.parse((FOLDER / "_native.pyi").read_text()).body
    names = {node.name for node in stubs if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert names == {name for name in dir(_native) if not name.startswith("__")}
    for node in (node for node in stubs if isinstance(node, ast.ClassDef)):
        own = getattr(_native, node.name)
        if issubclass(own, Exception):
            continue
        stated = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__"}
        assert stated == {name for name in vars(own) if not name.startswith("__")}, node.name


def test_annotations_agree(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIG), "--cache-dir", str(tmp_path / "cache")]
    told = subprocess.run([*command, str(FOLDER), str(program)], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
