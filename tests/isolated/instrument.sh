#!/usr/bin/env bash
# The compiler of the address sanitizer's build: UBSan for all but the kernels of the
# levels above the baseline, whose sources it has seen once by then. It makes them three
# times as long to compile, 130 s a level instead of 80.
set -euo pipefail
case "$*" in
*csrc/kernels/isa_avx*) exec ${PYSCATTER_CC:-cc} "$@" ;;
*) exec ${PYSCATTER_CC:-cc} "$@" -fsanitize=undefined,float-cast-overflow \
    -fno-sanitize-recover=all ;;
esac
