"""The Keras layers, on each backend that is installed, in a process of its own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import pyscatter

HERE = pathlib.Path(__file__).resolve().parent
BACKENDS = ("tensorflow", "torch", "jax")


@pytest.mark.parametrize("backend", BACKENDS)
def test_layers(backend):
    for package in ("keras", backend):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    package = pathlib.Path(pyscatter.__file__).resolve().parent.parent
    path = os.pathsep.join([str(package), str(HERE.parent.parent)])
    env = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": path}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [
        "-W",
        "ignore",
        "-c",
        os.devnull,
        *map(str, sorted(HERE.glob("keras_*cases.py"))),
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
