"""The examples of adapters run, each in a process of its own, in under a minute."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import pyscatter

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "adapters"
NEEDS = {
    "keras_batch_scatter": ("keras", "tensorflow"),
    "gradient_accumulation": ("tensorflow",),
    "sparse_products": ("torch",),
    "partial_updates": ("keras", "tensorflow", "torch"),
    "watching_change": ("keras", "tensorflow", "tensorboardX"),
}


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.py")))
def test_example_runs(name):
    for package in NEEDS[name]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    package = pathlib.Path(pyscatter.__file__).resolve().parent.parent
    env = {**os.environ, "PYTHONPATH": str(package), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
