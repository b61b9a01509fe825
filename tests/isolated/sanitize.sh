#!/usr/bin/env bash
# Build an instrumented copy of the project in build/<kind> and run tests there.
#
#   address   ASan and UBSan: each kernel and each error once, the corpus of hostile
#             calls, threads; what measures memory, needs speed or only repeats stays out
#   thread    TSan: the tests of threads, forks and signals
#   coverage  gcov figures of csrc (needs gcovr)
#
# The sanitizers get no suppression file: whatever they say is a fault.
set -euo pipefail
kind=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$root/build/$kind
python=$root/.venv/bin/python
mkdir -p "$copy"
for part in csrc pyscatter tests benchmarks docs examples setup.py pyproject.toml \
    README.md LICENSE Makefile .gitignore MANIFEST.in; do
    [ -e "$root/$part" ] && rm -rf "${copy:?}/$part" &&
        cp -a "$root/$part" "$copy/$part"
done
rm -f "$copy"/pyscatter/*.so
cd "$copy"
tests=()
spread=(-n "$(nproc)" --dist loadfile)
case $kind in
address)
    flags="-fsanitize=address -fno-omit-frame-pointer -Og -DPS_SHARED_KERNELS"
    export PYSCATTER_CC=${CC:-cc} CC="bash tests/isolated/instrument.sh"
    export LD_PRELOAD PYTHONMALLOC=malloc
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:use_sigaltstack=0
    export UBSAN_OPTIONS=print_stacktrace=1
    # The interpreter itself is not instrumented; its runtime has to come first.
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    tests=(-m "not slow")
    export PYSCATTER_TESTS=brief
    for name in bench compat_groupies demo determinism docs documents examples house \
        mask_determinism memory peer_groupies peer_numpy peer_onnx \
        segment_determinism; do
        tests+=("--ignore-glob=*/test_$name.py")
    done
    tests+=(-k "not same_on_every_level")
    ;;
thread)
    flags="-fsanitize=thread -fno-omit-frame-pointer -O1 -DPS_BASELINE_ONLY"
    export LD_PRELOAD TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0
    LD_PRELOAD=$(gcc -print-file-name=libtsan.so)
    tests=(tests/families/test_threads.py -m "not slow")
    spread=()
    ;;
coverage)
    flags="--coverage -O0"
    spread=()
    ;;
esac
preload=${LD_PRELOAD:-}
LD_PRELOAD="" PYSCATTER_CFLAGS="$flags" PYSCATTER_LDFLAGS="$flags" \
    "$python" setup.py -q build_ext --inplace
LD_PRELOAD=$preload PYSCATTER_SANITIZER=$kind \
    "$python" -m pytest -q -s -p no:cacheprovider "${spread[@]}" "${tests[@]}"
if [ "$kind" = coverage ]; then
    "$python" -m pip install --quiet gcovr
    "$python" -m gcovr --root . --filter csrc/ build/temp* --print-summary
fi
