#!/usr/bin/env bash
# The tests of adapters, in an environment of their own with every package, on the tree
# as it is built. The environment is build/adapters, and is filled again when this file
# changes. torch is named by the exact version that is the CPU build. Python compiles the
# modules that are imported; compiling all of them takes half of the installation. Files
# of tests are spread over as many processes as there are processors.
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/../.."
place=$PWD/build/adapters
python=$place/bin/python
packages=(
    torch==2.13.0 tensorflow-cpu keras jax autograd "dask[array]" tensorboard tensorboardX
    scipy ml_dtypes numpy matplotlib "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100"
)
if [ ! -e "$place/installed" ] || [ "$script" -nt "$place/installed" ]; then
    "${PYTHON:-python3}" -m venv "$place"
    "$python" -m pip install -qq --no-compile "${packages[@]}"
    touch "$place/installed"
fi
JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 PYTHONPATH=$PWD \
    "$python" -m pytest -q -n "${JOBS:-$(nproc)}" --dist loadfile tests/compat tests/adapters
