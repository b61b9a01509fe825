#!/usr/bin/env bash
# The quick tests on the newest Python that this machine has, with the NumPy that pip
# picks for it, and on NumPy 2.0, the oldest that is supported, with the developers'
# Python and the extension as it is built. Those that ask kernels alone, or the tree,
# depend on neither and are left out. Arguments are passed on to pytest.
#
# Each run has a virtual environment and a copy of the tree in build/, so the plain build
# stays as it is; it only shares the objects that do not depend on Python. Both run at
# the same time; the end of what each prints is shown when it has ended.
set -euo pipefail
cd "$(dirname "$0")/../.."
own=$PWD/.venv/bin/python
export rooms=$PWD/build/pythons
mkdir -p "$rooms"

# Every python3.N on PATH and among pyenv's versions, the newest first.
candidates() {
    local versions minor
    versions=$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")/versions
    for minor in $(seq 30 -1 11); do
        type -aP "python3.$minor" || true
        ls "$versions/3.$minor".*/bin/"python3.$minor" 2>/dev/null | sort -rV || true
    done
}

# What a Python is called, if it starts (a shim of pyenv may not), if it has headers to
# compile with, and if it has a GIL.
name_of() {
    "$1" - 2>/dev/null <<'END'
import os, platform, sysconfig, venv
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
if not os.path.exists(headers) or sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(1)
print(platform.python_version())
END
}

# A virtual environment at $1 of the Python $2 with all that tests need, from wheels.
make_new() {
    [ "$1/installed" -nt pyproject.toml ] && return
    rm -rf "$1"
    "$2" -m venv "$1" || return
    "$1/bin/python" -m pip install --quiet --upgrade "pip>=25.1" || return
    "$1/bin/python" -m pip install --quiet --only-binary :all: \
        numpy "setuptools>=77" --group test || return
    touch "$1/installed"
}

# One at $1 of the developers' Python, with NumPy 2.0 before their other packages.
make_old() {
    [ "$1/installed" -nt .venv/installed ] && return
    rm -rf "$1"
    "$own" -m venv --without-pip "$1" || return
    "$own" -m pip --python "$1/bin/python" install --quiet --no-deps \
        --only-binary :all: "numpy==2.0.*" || return
    packages='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$own" -c "$packages" >"$("$1/bin/python" -c "$packages")/developers.pth"
    touch "$1/installed"
}

# A fresh copy of the tree at $1, without what was built.
copy_tree() {
    rm -rf "$1"
    mkdir -p "$1"
    tar -c --exclude=./build --exclude='./.venv*' --exclude=./.git --exclude='*.so' \
        --exclude=__pycache__ . | tar -x -C "$1"
}

described() {
    "$rooms/$1/bin/python" -c 'import platform, numpy
print(f"Python {platform.python_version()}, NumPy {numpy.__version__}")'
}

# The quick tests in room $1, with more arguments for pytest.
run_tests() {
    local status=0 log=$rooms/$1.log left_out=() name
    cd "$rooms/$1-tree"
    for name in bench build demo determinism documents elements gather_ways house \
        keys_peers mask_determinism masked masked_sizes rows sddmm segment_determinism \
        segment_kernels spmm; do
        left_out+=("--ignore-glob=*/test_$name.py")
    done
    PYSCATTER_TESTS=brief "$rooms/$1/bin/python" -m pytest -q -m "not slow" \
        -k "not every_kernel" -p no:cacheprovider "${left_out[@]}" "${@:2}" >"$log" 2>&1 ||
        status=$?
    echo "--- $(described "$1") (all of it: $log)"
    tail -n $((status ? 200 : 1)) "$log"
    return $status
}

runs=()
while read -r python; do
    version=$(name_of "$python") || continue
    if make_new "$rooms/newest-$version" "$python"; then
        copy_tree "$rooms/newest-$version-tree"
        PYSCATTER_WERROR=1 "$rooms/newest-$version/bin/python" setup.py -q build_ext \
            --debug --build-lib "$rooms/newest-$version-tree"
        runs+=("newest-$version")
        break
    fi
    echo "$python ($version): some package has no wheel for it"
done < <(candidates)
if make_old "$rooms/oldest"; then
    copy_tree "$rooms/oldest-tree"
    cp pyscatter/_core.*.so "$rooms/oldest-tree/pyscatter/"
    runs+=(oldest)
else
    echo "NumPy 2.0 has no wheel for $("$own" --version)"
fi

for run in "${runs[@]}"; do
    echo "found $(described "$run")"
done
# By xargs: the shell's own background jobs do not hear Ctrl-C, nor do their tests.
export -f run_tests described
printf '%s\0' "${runs[@]}" |
    xargs -0 -P 2 -I {} bash -c 'run_tests "$@"' run_tests {} "$@"
