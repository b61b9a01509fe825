#!/usr/bin/env bash
# The compiler of the address sanitizer's build: UBSan for all but the kernels of the
# levels above the baseline, whose sources it has seen once by then. Kernels take most of
# the time: of theirs the names are enough, without line numbers (a seventh), and null
# pointers and sizes of objects are what the address sanitizer sees anyway (a sixth).
set -euo pipefail
undefined="-fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all"
case "$*" in
*csrc/kernels/isa_avx*) exec ${PYSCATTER_CC:-cc} "$@" -g0 ;;
*csrc/kernels/isa_*)
    exec ${PYSCATTER_CC:-cc} "$@" -g0 $undefined -fno-sanitize=null,object-size
    ;;
*) exec ${PYSCATTER_CC:-cc} "$@" $undefined ;;
esac
