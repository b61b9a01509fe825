#!/usr/bin/env bash
# Make the environment $1 of the tests of adapters, with every package that they speak to.
# torch is named by the exact version that is the CPU build. Python compiles the modules
# that are imported; compiling all of them takes half of the installation.
set -euo pipefail
packages=(
    torch==2.13.0 tensorflow-cpu keras jax autograd "dask[array]" tensorboard tensorboardX
    scipy ml_dtypes numpy matplotlib "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100"
)
"${PYTHON:-python3}" -m venv "$1"
"$1/bin/python" -m pip install -qq --no-compile "${packages[@]}"
