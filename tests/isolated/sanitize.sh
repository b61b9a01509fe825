#!/usr/bin/env bash
# Build an instrumented copy of the project in build/<kind> and run the tests there.
#
#   address   ASan and UBSan, all tests but those that measure memory or need speed
#   thread    TSan, the tests of threads
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
case $kind in
address)
    flags="-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
    flags="$flags -fno-omit-frame-pointer -O1"
    export LD_PRELOAD PYTHONMALLOC=malloc
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:use_sigaltstack=0
    export UBSAN_OPTIONS=print_stacktrace=1
    # The interpreter itself is not instrumented; its runtime has to come first.
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    tests=(-m "not slow" --ignore=tests/test_memory.py --ignore=tests/test_house.py
        --ignore=tests/test_bench.py --ignore=tests/test_peer_numpy.py
        --ignore=tests/test_documents.py)
    ;;
thread)
    flags="-fsanitize=thread -fno-omit-frame-pointer -O1"
    export LD_PRELOAD TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0
    LD_PRELOAD=$(gcc -print-file-name=libtsan.so)
    tests=(tests/test_threads.py -m "not slow")
    ;;
coverage)
    flags="--coverage -O0"
    tests=()
    ;;
esac
preload=${LD_PRELOAD:-}
LD_PRELOAD="" PYSCATTER_CFLAGS="$flags" PYSCATTER_LDFLAGS="$flags" \
    "$python" setup.py -q build_ext --inplace
LD_PRELOAD=$preload PYSCATTER_SANITIZER=$kind \
    "$python" -m pytest -q -s -p no:cacheprovider "${tests[@]}"
if [ "$kind" = coverage ]; then
    "$python" -m pip install --quiet gcovr
    "$python" -m gcovr --root . --filter csrc/ build/temp* --print-summary
fi
